/* The privacy loss distribution of DP-SGD: delta(eps) of all steps together, never told too small.
 *
 * Of two distributions P, Q the loss is L = log p/q, and delta(eps) = E_P (1 - e^(eps - L))_+ = E_Q (e^L - e^eps)_+ is a
 * convex function of e^L under Q.  Mass of Q at a loss between two points a < b of a grid with step h is therefore
 * divided among the two,
 *
 *     (e^b - e^L) / (e^b - e^a)  to a,      the rest to b,
 *
 * which keeps the masses of both P and Q, and can only enlarge delta ("connecting the dots" of delta over e^eps,
 * Doroshenko et al. 2022); the pair on the grid dominates the true one, and so do their compositions (Zhu et al.
 * 2022, Theorem 10).  The log moment of order k grows by k (k+1) h^2/12 a step, from which h is chosen (account.c).
 *
 * As in loss.h, masses are tilted by e^(k L) and have sum 1, so that delta(eps) has its digits however small it is:
 * a tilted mass m that was left out is at most m e^(M - k eps) of delta.  Left out are tails of a step, what of the
 * sum lies beyond the transform's window (Chernoff), and the transform's rounding (Higham 2002, Theorem 24.2).
 *
 * A step that draws the one example with probability q compares N(0, sigma^2) with the mixture of account.h.  Which
 * of them is P depends on whether the example is there; both directions are computed, and the larger counts. */
#include "rdp/account.h"

#include "rdp/loss.h"

#include <complex.h>
#include <float.h>
#include <stdlib.h>

static const double CUT = 1e-18;   /* tilted mass that a tail of all steps may have */
static const double CHERNOFF = 44; /* e^-44: the same for the window */
static const double REACH = 13;    /* standard deviations beyond which a step is cut off */
static const size_t MOST_CELLS = (size_t)1 << 22;
static const double MOST_PANELS = 2e7; /* of a step: some seconds */
static const double NOTHING = -760;    /* log of what is 0 in double */

/* ---- one step ---- */

/* Of P over Q where the example is there: P is the mixture.  Otherwise the reverse. */
struct step {
    double noise, rate, k, sign;
};

/* log of the density of t under the tilted P. */
static double tilted(const struct step *of, double t) {
    const double loss = nvdp__step_loss(t, of->noise, of->rate);
    return (of->sign > 0 ? of->k + 1 : -of->k) * loss - t * t / 2;
}

/* Where nvdp__step_loss is `loss`. */
static double place_of(const struct step *of, double loss) {
    if (of->rate < 1 && loss <= log1p(-of->rate)) return -INFINITY;
    const double c = of->rate == 1 ? loss
                     : loss > 700  ? loss - log(of->rate)
                                   : log1p(expm1(loss) / of->rate);
    return of->noise * c + 1 / (2 * of->noise);
}

/* Gauss-Legendre's five points. */
static const double node[5] = {-0.9061798459386640, -0.5384693101056831, 0, 0.5384693101056831,
                               0.9061798459386640};
static const double weight[5] = {0.2369268850561891, 0.4786286704993665, 0.5688888888888889,
                                 0.4786286704993665, 0.2369268850561891};

/* A loss's tilted mass at the ends of the cell from a to a + h. */
static void divide(const struct step *of, double loss, double a, double h, double mass,
                   double *ends) {
    const double x = fmin(fmax(loss - a, 0), h), up = expm1(x) / expm1(h);
    ends[0] += mass * (1 - up) * exp(-(of->k + 1) * x);
    ends[1] += mass * up * exp((of->k + 1) * (h - x));
}

/* The mass of t in [from, to], whose losses are in one cell. */
static void add_cell(const struct step *of, double from, double to, double a, double h, double top,
                     double panel, double *ends) {
    const double panels = ceil((to - from) / panel), half = (to - from) / panels / 2;
    if (!(half > 0)) return;
    for (double j = 0; j < panels; j++) {
        for (int g = 0; g < 5; g++) {
            const double t = from + (2 * j + 1 + node[g]) * half;
            const double loss = of->sign * nvdp__step_loss(t, of->noise, of->rate);
            divide(of, loss, a, h, half * weight[g] * exp(tilted(of, t) - top), ends);
        }
    }
}

/* Whether the mass of t in [from, to] is 0 in double: the loss rises with t. */
static bool vanishes(const struct step *of, double from, double to, double top) {
    const double exponent = of->sign > 0 ? of->k + 1 : -of->k;
    const double loss = nvdp__step_loss(exponent > 0 ? to : from, of->noise, of->rate);
    const double least = from > 0 ? from : to < 0 ? to : 0;
    return exponent * loss - least * least / 2 - top < NOTHING;
}

static nvdp_status too_fine(struct nvdp_context *ctx, const char *what, double most, double found) {
    return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                      "privacy loss distribution: expected at most %.3g %s, found %.3g", most, what,
                      found);
}

/* Beyond its ends the tilted density falls faster than e^(-REACH |t|). */
static nvdp_status step_part(struct nvdp_context *ctx, const struct step *of, double h, double cut,
                             struct nvdp__loss_part *out) {
    struct nvdp__loss_part part = {0};
    const double low = of->sign > 0 ? -REACH : -of->k / of->noise - REACH;
    const double high = (of->sign > 0 ? (of->k + 1) / of->noise : 0) + REACH;
    const double panel = 0.5 * fmin(1, of->noise) / sqrt(1 + (of->k + 1) / (of->noise * of->noise));
    const double x = of->sign * nvdp__step_loss(low, of->noise, of->rate);
    const double y = of->sign * nvdp__step_loss(high, of->noise, of->rate);
    double top = -INFINITY, size = 0;
    if ((high - low) / panel > MOST_PANELS)
        return too_fine(ctx, "panels", MOST_PANELS, (high - low) / panel);
    for (double t = low; t <= high; t += 0.5)
        top = fmax(top, tilted(of, t));
    part.first = (int64_t)floor(fmin(x, y) / h);
    part.n = (size_t)((int64_t)floor(fmax(x, y) / h) - part.first) + 2;
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, part.mass, part.n));
    for (size_t i = 0; i + 1 < part.n; i++) {
        const double a = (double)(part.first + (int64_t)i) * h;
        const double b = (double)(part.first + (int64_t)i + 1) * h;
        const double from = place_of(of, of->sign > 0 ? a : -b);
        const double to = place_of(of, of->sign > 0 ? b : -a);
        if (!vanishes(of, fmax(from, low), fmin(to, high), top))
            add_cell(of, fmax(from, low), fmin(to, high), a, h, top, panel, part.mass + i);
    }
    const double tails = (exp(tilted(of, low) - top) + exp(tilted(of, high) - top)) / REACH;
    nvdp__loss_finish(&part, top - NVDP__HALF_LOG_2PI, tails, cut);
    /* exp() of a number x, and the sums in it, are good to a few units of |x| in the last place. */
    for (size_t i = 0; i < part.n; i++)
        size += part.mass[i] * fabs((double)(part.first + (int64_t)i) * h);
    part.log_mean += 8 * DBL_EPSILON * ((of->k + 1) * (size + 1) + REACH * REACH);
    *out = part;
    return NVDP_OK;
}

/* (epsilon, delta): P has delta by itself, and losses epsilon and -epsilon else (Kairouz, Oh & Viswanath 2015). */
static nvdp_status guarantee_part(struct nvdp_context *ctx, const struct nvdp_dp_guarantee *of,
                                  double k, double h, struct nvdp__loss_part *out) {
    struct nvdp__loss_part part = {.log_finite = log1p(-of->delta)};
    const struct step step = {.k = k};
    const double cells[2] = {floor(-of->epsilon / h), floor(of->epsilon / h)};
    if (of->epsilon > 0) {
        part.first = (int64_t)cells[0];
        part.n = (size_t)((int64_t)cells[1] - part.first) + 2;
        NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, part.mass, part.n));
        for (int i = 0; i < 2; i++) { /* p = e^L / (e^L + 1), tilted, by e^(k epsilon) */
            const double loss = i == 0 ? -of->epsilon : of->epsilon;
            const double p = 1 / (1 + exp(-loss));
            divide(&step, loss, cells[i] * h, h, p * exp(k * (loss - of->epsilon)),
                   part.mass + ((int64_t)cells[i] - part.first));
        }
        nvdp__loss_finish(&part, k * of->epsilon, 0, 0);
    }
    *out = part;
    return NVDP_OK;
}

/* ---- all steps ---- */

/* Discrete Fourier transform (Cooley & Tukey 1965), n a power of 2; root: [n/2] e^(-2 pi i j/n).  Long double: a
 * million steps multiply its rounding. */
static void transform(size_t n, const long double complex *root, long double complex *x) {
    for (size_t i = 0, j = 0; i < n; i++) { /* j: i with its bits reversed */
        if (i < j) {
            const long double complex swap = x[i];
            x[i] = x[j];
            x[j] = swap;
        }
        size_t bit = n / 2;
        for (; bit > 0 && (j & bit) != 0; bit /= 2)
            j ^= bit;
        j ^= bit;
    }
    for (size_t half = 1; half < n; half *= 2) {
        for (size_t from = 0; from < n; from += 2 * half) {
            for (size_t j = 0; j < half; j++) {
                const long double complex w = root[j * (n / 2 / half)], b = x[from + half + j];
                const long double re = creall(w) * creall(b) - cimagl(w) * cimagl(b);
                const long double im = creall(w) * cimagl(b) + cimagl(w) * creall(b);
                x[from + half + j] = x[from + j] - (re + im * I);
                x[from + j] += re + im * I;
            }
        }
    }
}

static long double complex power(long double complex x, uint64_t n) {
    long double complex product = 1;
    for (; n > 0; n /= 2) {
        if (n % 2 == 1) product *= x;
        x *= x;
    }
    return product;
}

/* The parts of one direction, each `times`. */
struct parts {
    size_t count;
    struct nvdp__loss_part *part;
    uint64_t *times;
    double h;
};

static double loss_at(const struct parts *parts, size_t p, size_t i) {
    return (double)(parts->part[p].first + (int64_t)i) * parts->h;
}

/* The least x with tilted P(S - mean >= x) <= e^-CHERNOFF, sign 1, or <= -x, sign -1, by Chernoff's bound; `mean` of
 * each part, `deviation` of the sum. */
static double reach(const struct parts *parts, const double *mean, double deviation, int sign) {
    double least = 0;
    for (size_t p = 0; p < parts->count; p++) { /* what cannot be exceeded */
        const struct nvdp__loss_part *part = &parts->part[p];
        if (part->n == 0) continue;
        const double end =
            sign > 0 ? loss_at(parts, p, part->n - 1) - mean[p] : mean[p] - loss_at(parts, p, 0);
        least += (double)parts->times[p] * end;
    }
    for (double s = 1.0 / 16; s <= 32; s *= 1.4142135623730951) {
        double sum = CHERNOFF;
        const double l = s / deviation;
        for (size_t p = 0; p < parts->count; p++) {
            double moment = 0;
            for (size_t i = 0; i < parts->part[p].n; i++)
                moment += parts->part[p].mass[i] * exp(l * sign * (loss_at(parts, p, i) - mean[p]));
            if (parts->part[p].n > 0) sum += (double)parts->times[p] * log(moment);
        }
        if (sum / l < least) least = sum / l;
    }
    return least;
}

/* Mean of each part; returns the standard deviation of the sum. */
static double moments(const struct parts *parts, double *mean) {
    double variance = 0;
    for (size_t p = 0; p < parts->count; p++) {
        const struct nvdp__loss_part *part = &parts->part[p];
        double square = 0;
        mean[p] = 0;
        for (size_t i = 0; i < part->n; i++)
            mean[p] += part->mass[i] * loss_at(parts, p, i);
        for (size_t i = 0; i < part->n; i++)
            square += part->mass[i] * pow(loss_at(parts, p, i) - mean[p], 2);
        variance += (double)parts->times[p] * square;
    }
    return sqrt(variance);
}

/* transform ^ times of every part, multiplied into sum[0..n). */
static void convolve(const struct parts *parts, size_t n, const long double complex *root,
                     long double complex *work, long double complex *sum) {
    for (size_t j = 0; j < n; j++)
        sum[j] = 1;
    for (size_t p = 0; p < parts->count; p++) {
        const struct nvdp__loss_part *part = &parts->part[p];
        if (part->n == 0) continue;
        memset(work, 0, n * sizeof *work);
        for (size_t i = 0; i < part->n; i++) /* n divides 2^64 */
            work[(uint64_t)(part->first + (int64_t)i) & (n - 1)] += part->mass[i];
        transform(n, root, work);
        for (size_t j = 0; j < n; j++)
            sum[j] *= power(work[j], parts->times[p]);
    }
    for (size_t j = 0; j < n; j++)
        sum[j] = conjl(sum[j]);
    transform(n, root, sum);
}

/* The sum of all, as loss.h has it; _free. */
static nvdp_status add_up(struct nvdp_context *ctx, const struct parts *parts, double k,
                          struct nvdp__loss *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__loss made = {.k = k, .step = parts->h, .n = 2};
    long double complex *root = NULL, *work = NULL, *sum = NULL;
    double *mean = NULL, total = 0, middle = 0, norm = 0;
    NVDP_TRY(NVDP__NEW(ctx, mean, parts->count));
    const double deviation = moments(parts, mean);
    for (size_t p = 0; p < parts->count; p++) {
        const double times = (double)parts->times[p];
        double square = 0;
        middle += times * mean[p];
        total += times;
        made.log_mean += times * parts->part[p].log_mean;
        made.log_finite += times * parts->part[p].log_finite;
        made.slack += times * parts->part[p].cut;
        for (size_t i = 0; i < parts->part[p].n; i++)
            square += parts->part[p].mass[i] * parts->part[p].mass[i];
        norm = fmax(norm, sqrt(square));
    }
    if (deviation > 0) {
        const double down = reach(parts, mean, deviation, -1),
                     up = reach(parts, mean, deviation, 1);
        made.first = (int64_t)floor((middle - down) / parts->h) - 1;
        while ((double)made.n < (down + up) / parts->h + 4)
            made.n *= 2;
        made.slack += 2 * exp(-CHERNOFF);
    } else {
        made.first = (int64_t)floor(middle / parts->h + 0.5);
    }
    const size_t n = made.n;
    if (n > 4 * MOST_CELLS) NVDP_TRY(too_fine(ctx, "cells", 4. * (double)MOST_CELLS, (double)n));
    NVDP_TRY(NVDP__NEW(ctx, root, n / 2));
    NVDP_TRY(NVDP__NEW(ctx, work, n));
    NVDP_TRY(NVDP__NEW(ctx, sum, n));
    NVDP_TRY(NVDP__NEW(ctx, made.above, n));
    NVDP_TRY(NVDP__NEW(ctx, made.weighted, n));
    for (size_t j = 0; j < n / 2; j++) {
        const long double angle = -2 * acosl(-1) * (long double)j / (long double)n;
        root[j] = cosl(angle) + sinl(angle) * I;
    }
    convolve(parts, n, root, work, sum);
    made.slack += 8 * (double)LDBL_EPSILON * log2((double)n) * (total + 1) * sqrt((double)n) * norm;
    made.log_mean += 4 * DBL_EPSILON * (double)n; /* of the sums that follow */
    double above = 0, weighted = 0;
    for (size_t i = n; i-- > 0;) {
        const size_t at = (uint64_t)(made.first + (int64_t)i) & (n - 1);
        const double mass = fmax((double)(creall(sum[at]) / (long double)n), 0);
        above = made.above[i] = mass + exp(-k * parts->h) * above;
        weighted = made.weighted[i] = mass + exp(-(k + 1) * parts->h) * weighted;
    }
    *out = made;
    made.above = made.weighted = NULL;
cleanup:
    nvdp__loss_free(&made);
    free(mean);
    free(root);
    free(work);
    free(sum);
    return status;
}

/* ---- a run ---- */

static nvdp_status direction(struct nvdp_context *ctx, const struct nvdp_dp_run *run, double k,
                             double h, int sign, struct nvdp__loss *out) {
    nvdp_status status = NVDP_OK;
    struct parts parts = {.count = run->phases + run->besides, .h = h};
    NVDP_TRY(NVDP__NEW(ctx, parts.part, parts.count));
    NVDP_TRY(NVDP__NEW(ctx, parts.times, parts.count));
    for (size_t i = 0; i < parts.count; i++) {
        const bool trains = i < run->phases;
        parts.times[i] = trains ? run->phase[i].steps : 1;
        if (parts.times[i] == 0) continue;
        if (trains) {
            const struct step step = {run->phase[i].noise, run->phase[i].rate, k, sign};
            NVDP_TRY(step_part(ctx, &step, h, CUT / (double)parts.times[i], &parts.part[i]));
        } else {
            NVDP_TRY(guarantee_part(ctx, &run->beside[i - run->phases], k, h, &parts.part[i]));
        }
    }
    NVDP_TRY(add_up(ctx, &parts, k, out));
cleanup:
    for (size_t i = 0; parts.part != NULL && i < parts.count; i++)
        free(parts.part[i].mass);
    free(parts.part);
    free(parts.times);
    return status;
}

static nvdp_status both(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                        const struct nvdp__bound *bound, struct nvdp__loss loss[2]) {
    const double k = bound->tilt;
    double most = 0;
    for (size_t i = 0; i < run->phases; i++) {
        const struct nvdp_dp_steps *phase = &run->phase[i];
        most =
            fmax(most, nvdp__step_loss((k + 1) / phase->noise + REACH, phase->noise, phase->rate));
    }
    const double h = fmax(bound->step, 2 * most / (double)MOST_CELLS);
    memset(loss, 0, 2 * sizeof *loss);
    NVDP_RETURN_IF_FAILED(direction(ctx, run, k, h, -1, &loss[0]));
    nvdp_status status = direction(ctx, run, k, h, 1, &loss[1]);
    if (status != NVDP_OK) nvdp__loss_free(&loss[0]);
    return status;
}

nvdp_status nvdp__pld_epsilon(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                              const struct nvdp__bound *bound, double delta, double *epsilon) {
    struct nvdp__loss loss[2];
    NVDP_RETURN_IF_FAILED(both(ctx, run, bound, loss));
    *epsilon =
        fmax(nvdp__loss_epsilon(&loss[0], delta).high, nvdp__loss_epsilon(&loss[1], delta).high);
    nvdp__loss_free(&loss[0]);
    nvdp__loss_free(&loss[1]);
    return NVDP_OK;
}

nvdp_status nvdp__pld_delta(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                            const struct nvdp__bound *bound, double epsilon, double delta[2]) {
    struct nvdp__loss loss[2];
    NVDP_RETURN_IF_FAILED(both(ctx, run, bound, loss));
    for (int i = 0; i < 2; i++) {
        delta[i] = nvdp__loss_delta(&loss[i], epsilon).high;
        nvdp__loss_free(&loss[i]);
    }
    return NVDP_OK;
}
