/* Sums of independent privacy losses on a grid: parts, their sum by Fourier transforms, then
 * delta of epsilon and epsilon of delta; then the divergence of two Laplace distributions. */
#include "rdp/loss.h"
#include <gsl/gsl_sf_bessel.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- parts ---- */

void nvdp__loss_finish(struct nvdp__loss_part *part, double scale, double tails, double cut) {
    double sum = 0, low = 0, high = 0;
    size_t begin = 0, end = part->n;
    for (size_t i = 0; i < part->n; i++)
        sum += part->mass[i];
    /* NaN or 0: nothing is known, and no epsilon is large enough */
    if (!(sum > 0 && isfinite(sum))) {
        part->n = 1;
        part->mass[0] = part->cut = 1;
        part->log_mean = INFINITY;
        return;
    }
    for (size_t i = 0; i < part->n; i++)
        part->mass[i] /= sum;
    part->log_mean = scale + log(sum);
    while (begin + 1 < end && low + part->mass[begin] <= cut)
        low += part->mass[begin++];
    while (begin + 1 < end && high + part->mass[end - 1] <= cut)
        high += part->mass[--end];
    memmove(part->mass, part->mass + begin, (end - begin) * sizeof *part->mass);
    part->first += (int64_t)begin;
    part->n = end - begin;
    part->cut = low + high + tails / sum;
}

double nvdp__loss_log_mean(size_t n, const double *log_p, const double *log_q, double k) {
    double top = -INFINITY, sum = 0;
    for (size_t y = 0; y < n; y++)
        if (log_p[y] > -INFINITY && log_q[y] > -INFINITY)
            top = fmax(top, log_p[y] + k * (log_p[y] - log_q[y]));
    if (top == -INFINITY) return top;
    for (size_t y = 0; y < n; y++)
        if (log_p[y] > -INFINITY && log_q[y] > -INFINITY)
            sum += exp(log_p[y] + k * (log_p[y] - log_q[y]) - top);
    return top + log(sum);
}

/* Returns the log of an outcome's mass, tilted by the loss rounded down to the grid: log p + k h floor(loss/h), h =
 * step. All masses use the rounded loss. A scale from the exact loss could be up to k h larger, and for k h of
 * several hundred every mass would underflow to 0. */
static double tilted(double log_p, double log_q, double k, double step) {
    return log_p + k * (floor((log_p - log_q) / step) * step);
}

nvdp_status nvdp__loss_discrete(struct nvdp_context *ctx, size_t n, const double *log_p,
                                const double *log_q, double k, double step, double cut,
                                struct nvdp__loss_part *out) {
    double low = INFINITY, high = -INFINITY, infinite = 0;
    struct nvdp__loss_part part = {0};
    for (size_t y = 0; y < n; y++) {
        if (log_p[y] == -INFINITY) continue;
        if (log_q[y] == -INFINITY) {
            infinite += exp(log_p[y]);
            continue;
        }
        low = fmin(low, log_p[y] - log_q[y]);
        high = fmax(high, log_p[y] - log_q[y]);
    }
    part.log_finite = low <= high ? log1p(-fmin(infinite, 1)) : -INFINITY;
    if (low <= high && !(low == 0 && high == 0)) {
        part.first = (int64_t)floor(low / step);
        part.n = (size_t)((int64_t)floor(high / step) - part.first) + 1;
        NVDP_TRY(NVDP__NEW(ctx, part.mass, part.n));
        double top = -INFINITY;
        for (size_t y = 0; y < n; y++)
            if (log_p[y] > -INFINITY && log_q[y] > -INFINITY)
                top = fmax(top, tilted(log_p[y], log_q[y], k, step));
        for (size_t y = 0; y < n; y++) {
            if (log_p[y] == -INFINITY || log_q[y] == -INFINITY) continue;
            const int64_t place = (int64_t)floor((log_p[y] - log_q[y]) / step);
            part.mass[place - part.first] += exp(tilted(log_p[y], log_q[y], k, step) - top);
        }
        nvdp__loss_finish(&part, top, 0, cut);
    }
    *out = part;
    return NVDP_OK;
}

/* Returns the loss of cell i of a part. */
static double cell(const struct nvdp__loss_part *part, size_t i, double step) {
    return (double)(part->first + (int64_t)i) * step;
}

/* Dimension d = 1: the loss L is s with probability 1/2, -s with probability e^-s / 2, and has the density e^(-(s -
 * L)/2) / 4 between. All masses are multiplied by e^(-k l), where l is the loss of the last cell. Returns k l. */
static double line(double s, double k, double step, struct nvdp__loss_part *part) {
    const double last = cell(part, part->n - 1, step);
    for (size_t i = 0; i < part->n; i++) {
        const double from = fmax(cell(part, i, step), -s), to = fmin(cell(part, i + 1, step), s);
        double mass = to > from ? -exp((to - s) / 2) * expm1((from - to) / 2) / 2 : 0;
        mass += i == 0 ? exp(-s) / 2 : 0;
        mass += i + 1 == part->n ? 0.5 : 0;
        part->mass[i] = mass * exp(k * (cell(part, i, step) - last));
    }
    return k * last;
}

/* Log density of the angle, tilted, up to a constant. With L = -s cos(angle) and the integral over xi of the divergence
 * below, the density is
 *
 *     e^(-w cos) sin^(d-2) [ (d-1)/z K_{n+1}(z)/K_n(z) + sin^2 ],    w = (2k+1) z. */
struct angles {
    double w, power, constant;
};
static double log_density(const struct angles *of, double angle) {
    const double half = cos(angle / 2), sine = sin(angle);
    const double root = of->power > 0 ? of->power * log(sine) : 0;
    return -2 * of->w * half * half + root + log(of->constant + sine * sine);
}

/* The derivative of the log density divided by the sine, for x = cos(angle):
 *
 *     w + (d-2) x/(1 - x^2) + 2 x/(c + 1 - x^2),
 *
 * The derivative increases with x, so there is a single peak, at x <= 0. */
static double log_density_slope(const struct angles *of, double angle) {
    const double x = cos(angle), square = sin(angle) * sin(angle);
    return of->w + (of->power > 0 ? of->power * x / square : 0) + 2 * x / (of->constant + square);
}

/* The angle at which the density crosses `smallest`, between an angle above it and one below it. */
static double crossing(const struct angles *of, double smallest, double above, double below) {
    for (int i = 0; i < 60; i++) {
        const double middle = above + (below - above) / 2;
        *(log_density(of, middle) > smallest ? &above : &below) = middle;
    }
    return below;
}

static double loss_angle(double loss, double s) {
    return acos(fmin(fmax(-loss / s, -1), 1));
}

/* Dimensions d >= 2: three-point Gauss-Legendre in panels of at most a quarter of the narrowest scale, in which k L
 * changes by at most about 1/4. Masses are tilted by the loss at the beginning of the cell. Angles whose density is
 * more than 60 nats below the peak are negligible. Returns the mass in which each loss is tilted exactly. */
static double sphere(size_t dim, double s, double k, double step, struct nvdp__loss_part *part) {
    static const double at[3] = {-0.7745966692414834, 0, 0.7745966692414834}; /* sqrt(3/5) */
    const double z = s / 2, d = (double)dim, far = 60;
    const struct angles of = {(2 * k + 1) * z, d - 2, (d - 1) / z * nvdp__laplace_k_ratio(dim, z)};
    const double scale = 0.25 / sqrt(of.w + d);
    double peak = M_PI / 2, end = M_PI, all = 0;
    for (int i = 0; i < 60; i++) {
        const double middle = peak + (end - peak) / 2;
        *(log_density_slope(&of, middle) > 0 ? &peak : &end) = middle;
    }
    const double largest = log_density(&of, peak);
    const double first = crossing(&of, largest - far, peak, 0);
    const double last = crossing(&of, largest - far, peak, M_PI);
    for (size_t i = 0; i < part->n; i++) {
        const double from = fmax(loss_angle(cell(part, i, step), s), first);
        const double to = fmin(loss_angle(cell(part, i + 1, step), s), last);
        if (!(to > from)) continue;
        const double tilts = k * s * (cos(from) - cos(to));
        const double panels = ceil(fmax((to - from) / scale, 4 * tilts));
        const double half = (to - from) / panels / 2;
        for (double j = 0; j < panels; j++) {
            for (int g = 0; g < 3; g++) {
                const double angle = from + (2 * j + 1 + at[g]) * half;
                const double mass =
                    half * (g == 1 ? 8 : 5) * exp(log_density(&of, angle) - largest);
                all += mass;
                part->mass[i] += mass * exp(k * (cell(part, i, step) + s * cos(angle)));
            }
        }
    }
    return all;
}

nvdp_status nvdp__loss_laplace(struct nvdp_context *ctx, size_t dim, double s, double k,
                               double step, double cut, struct nvdp__loss_part *out) {
    struct nvdp__loss_part part = {0};
    if (s > 0) {
        part.first = (int64_t)floor(-s / step);
        part.n = (size_t)((int64_t)floor(s / step) - part.first) + 1;
        NVDP_TRY(NVDP__NEW(ctx, part.mass, part.n));
        const double scale =
            dim == 1 ? line(s, k, step, &part)
                     : k * nvdp_renyi_laplace(1 + k, dim, s) - log(sphere(dim, s, k, step, &part));
        nvdp__loss_finish(&part, scale, 0, cut);
    }
    *out = part;
    return NVDP_OK;
}

/* ---- the sum ---- */

/* Discrete Fourier transform (Cooley & Tukey 1965) of re + i im, n a power of 2. root: [n/2]
 * cosines, then [n/2] sines of -2 pi j/n, each computed directly, without the accumulated
 * rounding of a recurrence. Exchanging im and re in input and output gives n times the inverse. */
static void transform(size_t n, const double *root, double *re, double *im) {
    for (size_t i = 0, j = 0; i < n; i++) { /* j: i with its bits reversed */
        if (i < j) {
            double swap[2] = {re[i], im[i]};
            re[i] = re[j];
            im[i] = im[j];
            re[j] = swap[0];
            im[j] = swap[1];
        }
        size_t bit = n / 2;
        for (; bit > 0 && (j & bit) != 0; bit /= 2)
            j ^= bit;
        j ^= bit;
    }
    for (size_t half = 1; half < n; half *= 2) {
        const size_t stride = n / 2 / half;
        for (size_t from = 0; from < n; from += 2 * half) {
            for (size_t j = 0; j < half; j++) {
                const size_t x = from + j, y = x + half;
                const double c = root[j * stride], s = root[n / 2 + j * stride];
                const double up = c * re[y] - s * im[y], down = c * im[y] + s * re[y];
                re[y] = re[x] - up;
                im[y] = im[x] - down;
                re[x] += up;
                im[x] += down;
            }
        }
    }
}

/* The transforms A, B of two real sequences follow from Z, the transform of the first sequence plus i times the
 * second, with Y_j = conj Z_{n-j}: A B = (Z^2 - Y^2) / 4i. Computes sum *= A B. */
static void multiply(size_t n, const double *re, const double *im, double *sum_re, double *sum_im) {
    for (size_t j = 0; j < n; j++) {
        const size_t k = (n - j) & (n - 1);
        const double square_re = re[j] * re[j] - im[j] * im[j] - re[k] * re[k] + im[k] * im[k];
        const double square_im = 2 * (re[j] * im[j] + re[k] * im[k]);
        const double x = square_im / 4, y = -square_re / 4, old = sum_re[j];
        sum_re[j] = old * x - sum_im[j] * y;
        sum_im[j] = old * y + sum_im[j] * x;
    }
}

/* Multiplies the transforms of two parts into the sum. One transform serves two parts; an odd last part is paired
 * with 1. */
static void add(size_t n, const double *root, const struct nvdp__loss_part *a,
                const struct nvdp__loss_part *b, double *work, double *sum) {
    memset(work, 0, 2 * n * sizeof *work);
    memcpy(work, a->mass, a->n * sizeof *work);
    if (b != NULL)
        memcpy(work + n, b->mass, b->n * sizeof *work);
    else
        work[n] = 1;
    transform(n, root, work, work + n);
    multiply(n, work, work + n, sum, sum + n);
}

nvdp_status nvdp__loss_sum(struct nvdp_context *ctx, size_t parts,
                           const struct nvdp__loss_part *part, double k, double step,
                           struct nvdp__loss *out) {
    nvdp__auto(nvdp__loss_free) struct nvdp__loss made = {.k = k, .step = step, .n = 1};
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    double *sum, *work, *root;
    const struct nvdp__loss_part *waiting = NULL;
    size_t size = 1, used = 0;
    for (size_t i = 0; i < parts; i++) {
        made.log_mean += part[i].log_mean;
        made.log_finite += part[i].log_finite;
        if (part[i].n == 0) continue;
        made.first += part[i].first;
        made.n += part[i].n - 1;
        made.slack += part[i].cut;
        used++;
    }
    made.width = (double)used * step;
    while (size < made.n)
        size *= 2;
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(sum, 2 * size), NVDP__ITEMS(work, 2 * size),
                          NVDP__ITEMS(root, size)));
    NVDP_TRY(NVDP__ARRAYS(ctx, &made.memory, NVDP__ITEMS(made.above, made.n),
                          NVDP__ITEMS(made.weighted, made.n)));
    for (size_t j = 0; j < size / 2; j++) {
        root[j] = cos(2 * M_PI * (double)j / (double)size);
        root[size / 2 + j] = -sin(2 * M_PI * (double)j / (double)size);
    }
    for (size_t j = 0; j < size; j++)
        sum[j] = 1;
    for (size_t i = 0; i < parts; i++) {
        if (part[i].n == 0) continue;
        if (waiting != NULL) add(size, root, waiting, &part[i], work, sum);
        waiting = waiting == NULL ? &part[i] : NULL;
    }
    if (waiting != NULL) add(size, root, waiting, NULL, work, sum);
    /* the front of `sum` keeps the real part of the inverse transform */
    transform(size, root, sum + size, sum);
    /* The error of a transform is 8 u log2(size) times its norm (Higham 2002, Theorem 24.2); no factor exceeds 1,
     * and a sum is at most sqrt(size) norms. */
    made.slack += 8 * 0x1p-53 * log2((double)size + 1) * (double)(used + 1) * sqrt((double)size);
    double above = 0, weighted = 0;
    for (size_t i = made.n; i-- > 0;) {
        const double mass = fmax(sum[i] / (double)size, 0);
        above = made.above[i] = mass + exp(-k * step) * above;
        weighted = made.weighted[i] = mass + exp(-(k + 1) * step) * weighted;
    }
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

void nvdp__loss_free(struct nvdp__loss *loss) {
    nvdp__memory_release(&loss->memory);
}

/* Returns the sum over grid points above eps of p (1 - e^(eps - L)). */
static double beyond(const struct nvdp__loss *loss, double epsilon) {
    const int64_t place = (int64_t)floor(epsilon / loss->step) + 1 - loss->first;
    if (place >= (int64_t)loss->n) return 0;
    const size_t i = place < 0 ? 0 : (size_t)place;
    const double at = (double)(loss->first + (int64_t)i) * loss->step;
    const double rest = loss->above[i] - exp(epsilon - at) * loss->weighted[i];
    return rest > 0 ? fmin(exp(loss->log_mean - loss->k * at + log(rest)), 1) : 0;
}

static double unsure(const struct nvdp__loss *loss, double epsilon) {
    return loss->slack * exp(loss->log_mean - loss->k * epsilon);
}

static double lower(const struct nvdp__loss *loss, double epsilon) {
    return -expm1(loss->log_finite) + fmax(beyond(loss, epsilon) - unsure(loss, epsilon), 0);
}

static double upper(const struct nvdp__loss *loss, double epsilon) {
    const double up = epsilon - loss->width;
    return fmin(-expm1(loss->log_finite) + beyond(loss, up) + unsure(loss, up), 1);
}

struct nvdp_interval nvdp__loss_delta(const struct nvdp__loss *loss, double epsilon) {
    return (struct nvdp_interval){lower(loss, epsilon), upper(loss, epsilon)};
}

struct nvdp_interval nvdp__loss_epsilon(const struct nvdp__loss *loss, double delta) {
    const double rest = delta + expm1(loss->log_finite);
    if (!(rest > 0)) return (struct nvdp_interval){INFINITY, INFINITY};
    /* Markov: P(L > eps) <= e^(M - k eps). */
    const double largest = (loss->log_mean + log1p(loss->slack) - log(rest)) / loss->k;
    if (!(largest < INFINITY)) return (struct nvdp_interval){0, INFINITY};
    struct nvdp_interval made = {0, fmax(largest, 0) + loss->width + 1e-9};
    double low = 0;
    if (upper(loss, 0) <= delta) return (struct nvdp_interval){0, 0};
    for (int i = 0; i < 100 && made.high - low > 1e-15 * made.high; i++) {
        const double middle = low + (made.high - low) / 2;
        *(upper(loss, middle) <= delta ? &made.high : &low) = middle;
    }
    /* At high - width, S itself has this delta up to the uncertainty, which grows as e^(k t) at distance t below. */
    for (double t = 1e-9 * (1 + made.high); made.low == 0 && t < made.high; t *= 2) {
        const double at = made.high - loss->width - t;
        if (at > 0 && lower(loss, at) > delta) made.low = at;
    }
    return made;
}

/* ---- Laplace distributions ---- */

/* Renyi divergence of two Laplace distributions in R^d, and the distribution of its loss.
 *
 * P has the density c exp(-eta |y - x|), Q the same around x'; s = eta |x - x'|.  In the prolate
 * spheroidal coordinates of the two centers,
 *
 *     xi  = (|y - x| + |y - x'|) / |x - x'|  >= 1,   nu = (|y - x| - |y - x'|) / |x - x'|  in [-1, 1],
 *     dy  ~ (xi^2 - nu^2) [(xi^2 - 1) (1 - nu^2)]^((d-3)/2) dxi dnu,
 *
 * P^l Q^(1-l) = c exp(-s/2 xi - (2l-1) s/2 nu).  With xi^2 - nu^2 = (xi^2 - 1) + (1 - nu^2) the integral is
 * a sum of two products of one-dimensional integrals, which are modified Bessel functions (DLMF 10.32.2,
 * 10.32.8).  With z = s/2, w = |2l-1| s/2, n = d/2 - 1 and the Wronskian (DLMF 10.28.2),
 *
 *     E e^((l-1) L)  =  z (z/w)^n [ K_{n+1}(z) I_n(w)  +  z/w K_n(z) I_{n+1}(w) ].
 *
 * For d = 1 this is Mironov 2017, Proposition 6.  It is evaluated without the values of Bessel functions:
 * with r_n = I_{n+1}/I_n and k = K_{n+1}/K_n,
 *
 *     E e^((l-1) L)  =  a e^G_n + (1-a) e^G_{n+1},     a = k(z) / (k(z) + r_n(z)),
 *     G_n            =  log w^-n I_n(w) - log z^-n I_n(z)  =  int_z^w r_n(x) dx          (DLMF 10.29.4),
 *
 * and l -> 1 gives E L = 2z [ a r_n(z) + (1-a) r_{n+1}(z) ].  Nothing cancels. */

/* r_n(x). For large q = sqrt(n^2 + x^2), the derivative of Debye's expansion of log x^-n I_n(x)
 * (DLMF 10.41.3), p = n/q:
 *
 *     r_n  =  x/(n+q) - x/(2 q^2) + x (5p^2 - 1)/(8 q^3) + x (12p^2 - 1 - 15p^4)/(8 q^4) + O(x q^-5),
 *
 * with a relative error below 1e-16. Otherwise the continued fraction of r_n (DLMF 10.33.1), started at an order
 * where the approximation of Amos 1974 is close. The error of the start shrinks by the product of the r^2, about
 * exp(-K^2/x). */
static double bessel_ratio(double n, double x) {
    const double far = 2e4, q = hypot(n, x), p = n / q * (n / q);
    if (q > far)
        return x / (n + q) +
               x / q / q * (-0.5 + (5 * p - 1) / (8 * q) + (12 * p - 1 - 15 * p * p) / (8 * q * q));
    const double steps = ceil(sqrt(40 * x)) + 20, top = n + steps;
    double r = x / (top + 0.5 + sqrt(x * x + (top + 1.5) * (top + 1.5)));
    for (double k = steps; k > 0; k--)
        r = 1 / (2 * (n + k) / x + r);
    return r;
}

/* The positive nodes of Gauss-Legendre with 20 points. */
static const double node[10] = {0.076526521133497338, 0.22778585114164507, 0.37370608871541955,
                                0.51086700195082713,  0.63605368072651502, 0.7463319064601508,
                                0.83911697182221878,  0.91223442825132595, 0.96397192727791381,
                                0.993128599185095};
static const double weight[10] = {0.15275338713072628,  0.14917298647260424, 0.1420961093183824,
                                  0.13168863844917689,  0.11819453196151861, 0.10193011981724071,
                                  0.083276741576704713, 0.06267204833410879, 0.040601429800386446,
                                  0.017614007139150893};

/* int_from^{from + width} r_n, accurate for any small width. The poles of r_n are at +-i j; the zeros j of J_n are
 * above n + 2. Panels of twice this distance have an error below 1e-17. */
static double integral(double n, double from, double width) {
    double sum = 0;
    for (double at = 0, end; at < width; at = end) {
        end = fmin(at + 2 * fmax(from + at, n + 1.5), width);
        const double half = (end - at) / 2, middle = from + (at + half);
        for (int k = 0; k < 10; k++)
            sum += half * weight[k] *
                   (bessel_ratio(n, middle - half * node[k]) +
                    bessel_ratio(n, middle + half * node[k]));
    }
    return sum;
}

double nvdp__laplace_k_ratio(size_t dim, double z) {
    double k = dim % 2 == 1 ? 1 : gsl_sf_bessel_K1_scaled(z) / gsl_sf_bessel_K0_scaled(z);
    for (double n = dim % 2 == 1 ? 0.5 : 1; n < (double)dim / 2 - 0.75; n++)
        k = 2 * n / z + 1 / k; /* DLMF 10.29.1 */
    return k;
}

double nvdp_renyi_laplace(double order, size_t dim, double distance) {
    order = nvdp__order(order);
    if (isnan(order) || dim < 1 || !(distance >= 0)) return NAN;
    if (isinf(order) || isinf(distance)) return distance;
    const double s = order - 1, z = distance / 2;
    if (fmax(order, 1) * distance < 1e-17) return order * distance * distance / (2 * (double)dim);
    const double n = (double)dim / 2 - 1, r = bessel_ratio(n, z);
    const double k = nvdp__laplace_k_ratio(dim, z), a = k / (k + r), b = r / (k + r);
    if (s == 0) return 2 * z * (a * r + b * bessel_ratio(n + 1, z));
    const double w = fabs(2 * order - 1) * z, sign = s < 0 ? -1 : 1;
    const double width = order < 0.5 ? 2 * order * z : 2 * fabs(s) * z; /* |w - z| */
    /* the distance is at least 1e208, so its difference from the divergence is relatively negligible */
    if (isinf(w)) return distance;
    const double g = sign * integral(n, fmin(w, z), width);
    const double h = sign * integral(n + 1, fmin(w, z), width);
    const double largest =
        fmax(g, h); /* differences g - h of 1e16 and more have no accurate digits */
    const double log_mean = fabs(g) < 0.5
                                ? log1p(a * expm1(g) + b * expm1(h))
                                : largest + log(a * exp(g - largest) + b * exp(h - largest));
    return fmin(fmax(log_mean / s, 0), distance);
}

/* ---- many distances ----
 *
 * D(s)/s is smooth, and its singularities lie on the imaginary axis or left of it. Chebyshev
 * interpolation at 20 points in [2^e, 2^(e+1)] has an error of (3 + sqrt 8)^-20 = 5e-16. */
enum { NODES = 20 };

static void interpolate(size_t dim, double order, int exponent, double *c) {
    double f[NODES];
    for (int i = 0; i < NODES; i++) {
        const double s = ldexp(1.5 + 0.5 * cos(M_PI * (i + 0.5) / NODES), exponent);
        f[i] = nvdp_renyi_laplace(order, dim, s) / s;
    }
    for (int k = 0; k < NODES; k++) {
        c[k] = 0;
        for (int i = 0; i < NODES; i++)
            c[k] += (k > 0 ? 2.0 : 1.0) / NODES * f[i] * cos(M_PI * k * (i + 0.5) / NODES);
    }
}

static double clenshaw(const double *c, double x) {
    double b1 = 0, b2 = 0;
    for (int k = NODES - 1; k > 0; k--) {
        const double b = c[k] + 2 * x * b1 - b2;
        b2 = b1;
        b1 = b;
    }
    return c[0] + x * b1 - b2;
}

nvdp_status nvdp__renyi_laplaces(struct nvdp_context *ctx, double order, size_t dim, size_t n,
                                 const double *distance, double *out) {
    const int threads = nvdp_context_threads(ctx);
    const bool largest = isinf(nvdp__order(order)) != 0;
    nvdp__autofree double *panel = NULL;
    int low = INT_MAX, high = INT_MIN;
    for (size_t i = 0; i < n && !largest; i++) {
        if (distance[i] == 0 || isinf(distance[i])) continue;
        const int exponent = ilogb(distance[i]);
        low = exponent < low ? exponent : low;
        high = exponent > high ? exponent : high;
    }
    const size_t panels = low > high ? 0 : (size_t)(high - low) + 1;
    NVDP_TRY(NVDP__NEW(ctx, panel, panels * NODES));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < panels; i++)
        interpolate(dim, order, low + (int)i, panel + i * NODES);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n; i++) {
        const double s = distance[i];
        out[i] = s;
        if (largest || s == 0 || isinf(s)) continue;
        const int exponent = ilogb(s);
        const double *c = panel + (size_t)(exponent - low) * NODES;
        out[i] = fmin(fmax(s * clenshaw(c, 2 * ldexp(s, -exponent) - 3), 0), s);
    }
    return NVDP_OK;
}
