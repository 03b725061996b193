/* Renyi divergence of Dirichlets.
 *
 * With s = l - 1, c = a_p + s (a_p - a_q) and lnB(a) = sum lnG(a_i) - lnG(sum a)
 *     D_l = [ lnB(c) - lnB(a_p) ] / s - [ lnB(a_p) - lnB(a_q) ]
 * (Gil, Alajaji & Linder 2013; also written [lnB(c) - l lnB(a_p)]/(l-1) + lnB(a_q)).  Domain: +inf
 * where any c_i <= 0.  Printed like this it loses every digit for large pseudo-counts: at a = e^10
 * and a hundred components lnB is about 1e7, divided by s = 0.1, while the answer may be 1e-2.
 *
 * Stable form.  Write lnG(x) = x log x - x + w(x).  The part x log x of all components and of their
 * total is a difference of two large numbers; jointly it is a sum of Bregman divergences of x log
 * x, each >= 0 (for s > 0), in d_i = k_i - K, k_i = 1 - a_qi/a_pi, K = 1 - A_q/A_p: a_pi {
 * (A_c/A_p) phi(y1) / s + (A_q/A_p) phi(y2) },   phi(y) = (1+y) log(1+y) - y, 1 + y1 = (c_i/a_pi) /
 * (A_c/A_p),  1 + y2 = (a_qi/a_pi) / (A_q/A_p), the terms linear in d_i summing to zero over the
 * components.  What is left, w, is of order log x: its second differences are taken in closed form
 * (below). s = 0 replaces the quotients by their limits: Kullback-Leibler.
 *
 * Order infinity: sup over the simplex of log p/q = lnB(a_q) - lnB(a_p) + sup sum delta_i log x_i
 * with delta = a_p - a_q; finite iff every delta_i >= 0, attained at x_i = delta_i / sum delta.  It
 * is the limit of the form above: (A_c/A_p) phi(y1)/s -> K phi(d_i/K), the second difference of w
 * -> w(a_q) - w(a_p). */
#include "rdp/dirichlet.h"
#include "rdp/clones.h"
#include "rdp/gap.h"
#include "rdp/order.h"
#include <nvdp/rdp.h>

/* From here on Stirling's series is exact to rounding with the six terms below. */
enum { SHIFTS = 16 };
static const double stirling_from = SHIFTS;
/* lnG(x) - (x - 1/2) log x + x - 1/2 log 2 pi = sum_n b_n / x^(2n-1), b_n = B_2n / (2n (2n-1)). */
static const double stirling[6] = {1.0 / 12,    -1.0 / 360, 1.0 / 1260,
                                   -1.0 / 1680, 1.0 / 1188, -691.0 / 360360};

/* Second difference of x^-j summed over Stirling's series, for arguments >= stirling_from.
 * (c^-j - p^-j)/s = -p^-j k r (1 + r + ... + r^(j-1)) with r = p/c, likewise at q: no division by
 * s. */
static double stirling_gap(double p, double k, double ratio_q, double ratio_c) {
    double rq = 1 / ratio_q;
    double rc = 1 / ratio_c;
    double geometric_q = 1, geometric_c = 1; /* 1 + r + ... + r^(j-1), for j = 1 */
    double power_q = 1, power_c = 1;         /* r^(j-1) */
    double scale = 1 / p;
    double sum = 0;
    for (int n = 0; n < 6; n++) {
        sum += stirling[n] * scale * (rq * geometric_q - rc * geometric_c);
        scale /= p * p;
        geometric_q += power_q * rq * (1 + rq);
        geometric_c += power_c * rc * (1 + rc);
        power_q *= rq * rq;
        power_c *= rc * rc;
    }
    return k * sum;
}

/* w(x) - 1/2 log 2 pi */
static double remainder_value(double x) {
    if (x < stirling_from) {
        int sign;
        return lgamma_r(x, &sign) - x * log(x) + x - 0.918938533204672741780329736406;
    }
    double scale = 1 / x;
    double sum = 0;
    for (int n = 0; n < 6; n++) {
        sum += stirling[n] * scale;
        scale /= x * x;
    }
    return sum - 0.5 * log(x);
}

/* sum_{r < shift} of the gaps of log(x + r). */
static double far_logs(double s, double p, double q, double c, double delta, int shift) {
    double sum = 0;
    for (int r = 0; r < shift; r++) {
        double x = p + r;
        sum += nvdp__log_gap(s, delta / x, (q + r) / x, (c + r) / x);
    }
    return sum;
}

/* The same where every k and s k is inside the series' range: no branch, sixteen at once. */
NVDP_CLONES
static double near_logs(double s, double p, double delta, int shift) {
    double inverse = s == 0 ? 0 : 1 / s;
    double part[SHIFTS];
    for (int r = 0; r < SHIFTS; r++) {
        double k = r < shift ? delta / (p + r) : 0;
        part[r] = nvdp__log1pmx_near(s * k) * inverse + nvdp__log1pmx_near(-k);
    }
    double sum = 0;
    for (int r = 0; r < SHIFTS; r++) {
        sum += part[r];
    }
    return -sum;
}

/* Second difference of w(x) = lnG(x) - x log x + x for finite s.  Points far apart are taken from
 * the values (w is of order log x: nothing to lose).  Close ones are taken term by term, small
 * arguments raised by n through lnG(x) = lnG(x + n) - sum_{r<n} log(x + r). */
static double remainder_gap(double s, double p, double q, double c, double delta) {
    if (delta == 0) return 0;
    if (fabs(delta) >= 0.5 * p && fabs(s * delta) >= 0.5 * p) {
        double at_p = remainder_value(p);
        return (remainder_value(c) - at_p) / s - (at_p - remainder_value(q));
    }
    double least = fmin(p, fmin(q, c));
    int shift = least < stirling_from ? (int)ceil(stirling_from - least) : 0;
    double sum = 0;
    if (shift > 0) {
        sum += fabs(delta) * fmax(1, fabs(s)) < 0.24 * p ? near_logs(s, p, delta, shift)
                                                         : far_logs(s, p, q, c, delta, shift);
        double x = p + shift;
        sum += x * nvdp__xlogx_gap(s, delta / x, (q + shift) / x, (c + shift) / x);
        sum -= p * nvdp__xlogx_gap(s, delta / p, q / p, c / p);
        p += shift;
        q += shift;
        c += shift;
    }
    double k = delta / p;
    return sum + 0.5 * nvdp__log_gap(s, k, q / p, c / p) + stirling_gap(p, k, q / p, c / p);
}

/* The Bregman part of one component, divided by a_p; d = k_i - K. */
static double bregman(const struct nvdp__dirichlet *line, double d, double ratio_q,
                      double ratio_c) {
    double y2 = -d / line->ratio_q;
    double near = ratio_q / line->ratio_q; /* 1 + y2 */
    if (isinf(line->order)) {
        double y1 = d / line->k;
        return line->k * nvdp__xlogx(y1, 1 + y1) + line->ratio_q * nvdp__xlogx(y2, near);
    }
    double s = line->s;
    double y1 = s * d / line->ratio_c;
    double far = ratio_c / line->ratio_c; /* 1 + y1 */
    if (fabs(y2) < 0.5) {
        double first = s == 0 ? 0 : line->ratio_c * nvdp__xlogx(y1, far) / s;
        return first + line->ratio_q * nvdp__xlogx(y2, near);
    }
    /* the linear terms, +d and -d, are large here: leave them out */
    double first = s == 0 ? d : ratio_c * nvdp__log_ratio(y1, far) / s;
    return first + (near > 0 ? ratio_q * log(near) : 0);
}

struct nvdp__dirichlet nvdp__dirichlet_begin(double order, double total_p, double total_q,
                                             double delta) {
    struct nvdp__dirichlet line = {.order = order, .s = order - 1, .total_p = total_p};
    line.total_q = total_q;
    line.delta = delta;
    line.k = delta / total_p;
    line.ratio_q = total_q / total_p;
    if (!isinf(order)) line.ratio_c = nvdp__far_point(order, total_p, total_q) / total_p;
    return line;
}

void nvdp__dirichlet_add(struct nvdp__dirichlet *line, double alpha_p, double alpha_q, int kappa,
                         double count) {
    if (count == 0) return;
    double delta = alpha_p - alpha_q;
    double d = delta / alpha_p - line->k;
    if (isinf(line->order)) {
        if (delta < 0) {
            line->sum = INFINITY;
        } else if (line->k > 0) {
            double part = alpha_p * bregman(line, d, alpha_q / alpha_p, 0);
            if (delta != 0) {
                part +=
                    kappa * (remainder_value(alpha_q / kappa) - remainder_value(alpha_p / kappa));
            }
            line->sum += count * part;
        }
        return;
    }
    double c = nvdp__far_point(line->order, alpha_p, alpha_q);
    if (c <= 0) {
        line->sum = INFINITY;
        return;
    }
    double part = alpha_p * bregman(line, d, alpha_q / alpha_p, c / alpha_p);
    part +=
        kappa * remainder_gap(line->s, alpha_p / kappa, alpha_q / kappa, c / kappa, delta / kappa);
    line->sum += count * part;
}

double nvdp__dirichlet_end(const struct nvdp__dirichlet *line) {
    if (isinf(line->sum)) return INFINITY;
    double total;
    if (isinf(line->order)) {
        total =
            line->delta == 0 ? 0 : remainder_value(line->total_q) - remainder_value(line->total_p);
    } else {
        double c = nvdp__far_point(line->order, line->total_p, line->total_q);
        total = remainder_gap(line->s, line->total_p, line->total_q, c, line->delta);
    }
    double value = line->sum - total;
    /* NaN only where ratios of pseudo-counts leave the range of double: overstate, never
     * understate. */
    return isnan(value) ? INFINITY : fmax(value, 0);
}

double nvdp_renyi_dirichlet(double order, size_t m, const double *alpha_p, const double *alpha_q) {
    order = nvdp__order(order);
    if (isnan(order)) return NAN;
    double total_p = 0, total_q = 0, delta = 0;
    for (size_t i = 0; i < m; i++) {
        if (!(alpha_p[i] > 0) || !(alpha_q[i] > 0)) return NAN;
        if (isinf(alpha_p[i]) || isinf(alpha_q[i])) return NAN;
        total_p += alpha_p[i];
        total_q += alpha_q[i];
        delta += alpha_p[i] - alpha_q[i];
    }
    if (m < 2) return 0; /* one weight is always 1 */
    struct nvdp__dirichlet line = nvdp__dirichlet_begin(order, total_p, total_q, delta);
    for (size_t i = 0; i < m; i++) {
        nvdp__dirichlet_add(&line, alpha_p[i], alpha_q[i], 1, 1);
    }
    return nvdp__dirichlet_end(&line);
}
