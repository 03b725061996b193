/* The certificate per word (word.h has the theorem and its proof). Every result is rounded to the safe side. */
#include "rdp/word.h"

#include <math.h>

static const double SLACK = 0x1p-21; /* of both texts: above 2 (3 2^-24 + 2^-30) */
static const double STEP = 0x1p-30;  /* above 2 2^-32 */
static const double UP = 1 + 0x1p-50;
static const double SPARE = 256;

double nvdp__word_shift(const struct nvdp__word_clip *clip, size_t before, size_t after) {
    const double windows = 4 * clip->window + (double)before + (double)after;
    return before + after > 0 ? windows * clip->word : 0;
}

static double slack(const struct nvdp__word_clip *clip) {
    return SLACK * clip->text + STEP;
}

double nvdp__word_mu(const struct nvdp__word_clip *clip, size_t before, size_t after,
                     int releases) {
    const double moved = (nvdp__word_shift(clip, before, after) + slack(clip)) * UP;
    return sqrt((double)releases) * fmin(moved, 2 * clip->text) * UP;
}

/* |M - M_0| <= min(c (2r + K), C), K = words. M_0 is 0 for C. Else M_0 lacks the windows centered on the K words or on
 * one of the r words on either side, and no others; each adds at most c. The arithmetic moves M alone: half the slack
 * of two texts. */
double nvdp__word_radius(const struct nvdp__word_clip *clip, size_t words) {
    const double windows = 2 * clip->window + (double)words;
    return fmin((windows * clip->word + slack(clip) / 2) * UP, clip->text);
}

double nvdp__word_spare(double word) {
    return SPARE * word;
}

/* mu = 2cR + SLACK C + STEP, with C given or C = SPARE c. */
double nvdp__word_clip_for(const struct nvdp__word_clip *clip, double mu) {
    const double windows = 4 * clip->window + 2;
    const double fixed = isinf(clip->text) ? STEP : slack(clip);
    const double slope = isinf(clip->text) ? windows + SLACK * SPARE : windows;
    const double word = (mu - fixed) / slope * (1 - 0x1p-48);
    return word > 0 ? word : NAN;
}
