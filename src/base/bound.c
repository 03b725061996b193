/* Bounds as text: see bound.h. */
#include "base/bound.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>

/* The multiple of `step` next to `value` on the given side, or the nearest multiple if it is
 * within 1e-9 of the value. */
static double multiple(double value, double step, enum nvdp__side side) {
    const double quotient = value / step, nearest = round(quotient);
    if (fabs(quotient - nearest) <= 1e-9 * fabs(quotient)) return nearest;
    return side == NVDP__UP ? ceil(quotient) : floor(quotient);
}

/* Rounds to `digits` significant digits. Scales by a power of ten with nonnegative exponent,
 * because only those are exact. */
static double rounded(double value, int digits, enum nvdp__side side) {
    const int place = (int)floor(log10(fabs(value))) + 1 - digits;
    const double power = pow(10, abs(place));
    return place < 0 ? multiple(value * power, 1, side) / power
                     : multiple(value, power, side) * power;
}

const char *nvdp__bound(char text[NVDP__BOUND_TEXT], double value, enum nvdp__side side) {
    enum { DIGITS = 4 };
    const double made = isfinite(value) && value != 0 ? rounded(value, DIGITS, side) : value;
    const bool plain = fabs(made) < 1e9 && fabs(made) >= 1e3; /* "12720", not "1.272e+04" */
    nvdp__snprintf(text, NVDP__BOUND_TEXT, plain ? "%.0f" : "%.4g", made);
    return text;
}

const char *nvdp__share_bound(char text[NVDP__BOUND_TEXT], double probability,
                              enum nvdp__side side) {
    const double percent = 100 * probability;
    if (percent > 0 && percent < 0.1)
        nvdp__snprintf(text, NVDP__BOUND_TEXT, "%.2g %%", rounded(percent, 2, side));
    else
        nvdp__snprintf(text, NVDP__BOUND_TEXT, "%.5g %%", multiple(10 * percent, 1, side) / 10);
    return text;
}
