/* The guess bound (include/nvdp/guess.h): an upper bound on the success probability of every
 * guess about a text from its samples.
 *
 * Theorem. The text x is secret, with any prior, and P_x is the distribution of its sample z. phi_x(z) is the
 * probability that the guess made from z is right for x. Q is a distribution that depends on neither x nor z. b is the
 * probability of the best guess without a sample. Under Q the sample has no information, so E_x E_Q phi_x <= b. Let
 * P_x(S) <= T(Q(S)) for every x and every randomized test S, with one increasing concave T. Then
 *
 *     success  =  E_x E_{P_x} phi_x  <=  E_x T(E_Q phi_x)  <=  T(E_x E_Q phi_x)  <=  T(b)    (Jensen).
 *
 * S samples of one text have the sufficient statistic N(M, I/S), so they count as one sample with radius R = C sqrt(S).
 *
 * 1. Q = N(0, I).  T(b) = Phi(Phi^-1(b) + |M|) by Neyman & Pearson; the worst case is |M| = R.
 * 2. Q = N(0, s^2 I), s > 1, k = s^2 - 1.  The density ratio decreases with |z - c|, c = M s^2/k, so the best tests
 * are balls around c.  Q gives the ball of squared radius r the probability ncx2cdf(r/s^2; d, (R s/k)^2), P_x
 * ncx2cdf(r; d, (R/k)^2).  The curve increases with |M|.
 * 3. Success <= b times int sup_M phi(z - M) dz.  The density is at most (2 pi)^(-d/2) in the ball of radius R, and
 * the normal density of the distance to the ball outside; Steiner's formula gives W.
 * 4. KL(Ber(success) || Ber(b)) <= I(x; z) <= (d/2) log(1 + R^2/d), the capacity of d channels with total power R^2
 * (Fano in the form of Polyanskiy & Verdu 2010). */
#include "base/json.h"
#include "base/sentence.h"
#include "rdp/divergence.h"
#include "rdp/likelihood.h"
#include "rdp/options.h"
#include "rdp/pairs.h"
#include "rdp/report.h"
#include <gsl/gsl_cdf.h>
#include <nvdp/guess.h>
#include <nvdp/rdp.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* ---- the noncentral chi-square distribution ---- */

/* Max noncentrality. Up to this value, the Poisson weights, which are computed upward from e^(-lambda/2), remain
 * normal numbers. */
static const double NONCENTRALITY = 1200;
/* Number of standard deviations of a Poisson distribution beyond which terms are omitted: they are less than 1e-30
 * of the sum. */
static const double TAIL = 12;

/* P(X <= x), X noncentral chi-square with d degrees of freedom. With a = d/2, y = x/2, m =
 * lambda/2:
 *
 *     sum_j Poisson(j; m) P(a + j, y)  =  sum_i y^(a+i) e^-y / Gamma(a+i+1)  sum_(j <= i) Poisson(j; m),
 *
 * because P(a, y) = sum_i y^(a+i) e^-y / Gamma(a+i+1). All terms are positive, so nothing
 * cancels. */
static double ncx2_cdf(double x, double d, double lambda) {
    const double a = d / 2, y = x / 2, m = lambda / 2;
    if (!(x > 0)) return 0;
    if (x > d + lambda + 20 * sqrt(2 * (d + 2 * lambda)) + 400) return 1; /* 1 up to e^-40 */
    const double peak = fmax(y - a, 0), reach = TAIL * (sqrt(y) + TAIL);
    const double first = floor(fmax(peak - reach, 0));
    const double last = ceil(fmax(peak, m) + reach + TAIL * (sqrt(m) + TAIL));
    double term = exp((a + first) * log(y) - y - nvdp__log_gamma(a + first + 1));
    double weight = exp(-m), below = 0, sum = 0;
    for (double i = 0; i <= last; i++) {
        below += weight;
        weight *= m / (i + 1);
        if (i < first) continue;
        sum += term * fmin(below, 1);
        term *= y / (a + i + 1);
    }
    return fmin(sum, 1);
}

/* Returns the smallest x with ncx2_cdf(x) >= b, approached from above. */
static double ncx2_inverse(double b, double d, double lambda) {
    double low = -1500, high = log(d + lambda + 40 * sqrt(d + 2 * lambda) + 800); /* log x */
    if (ncx2_cdf(exp(high), d, lambda) < b) return INFINITY;
    while (high - low > 1e-13 * fmax(fabs(high), 1)) {
        const double middle = (low + high) / 2;
        *(ncx2_cdf(exp(middle), d, lambda) < b ? &low : &high) = middle;
    }
    return exp(high);
}

/* ---- the four forms of the bound, R = C sqrt(S) ---- */

/* Rounds up a value with a relative rounding error of at most `error`. */
static double raised(double value, double error) {
    return value * (1 + error);
}

static double normal_form(double b, double r) {
    const double at = gsl_cdf_ugaussian_Pinv(b);
    return raised(gsl_cdf_ugaussian_P(at + r), 4e-15 + 1e-15 * at * at);
}

static double ball_at(double b, double r, double d, double log_k) {
    const double k = exp(log_k), s2 = 1 + k;
    const double x = ncx2_inverse(b, d, r * r * s2 / (k * k));
    return isinf(x) ? 1 : ncx2_cdf(s2 * x, d, r * r / (k * k));
}

/* Minimizes the bound over k by a grid and golden section search: every k gives a valid bound. */
static double ball_form(double b, double r, double d) {
    enum { GRID = 24, SECTIONS = 20 };
    const double golden = (sqrt(5) - 1) / 2;
    /* the smallest k with r^2 (1 + k) / k^2 <= NONCENTRALITY */
    const double smallest =
        log((r * r + r * sqrt(r * r + 4 * NONCENTRALITY)) / (2 * NONCENTRALITY));
    const double step = 12. / GRID;
    double best = 1, at = smallest;
    for (int i = 0; i <= GRID; i++) {
        const double here = ball_at(b, r, d, smallest + i * step);
        if (here < best) at = smallest + i * step;
        best = fmin(best, here);
    }
    double low = fmax(at - step, smallest), high = at + step;
    double x = high - golden * (high - low), z = low + golden * (high - low);
    double of_x = ball_at(b, r, d, x), of_z = ball_at(b, r, d, z);
    for (int i = 0; i < SECTIONS; i++) {
        best = fmin(best, fmin(of_x, of_z));
        if (of_x < of_z) {
            high = z, z = x, of_z = of_x;
            x = high - golden * (high - low);
            of_x = ball_at(b, r, d, x);
        } else {
            low = x, x = z, of_x = of_z;
            z = low + golden * (high - low);
            of_z = ball_at(b, r, d, z);
        }
    }
    return best;
}

static double log_ball_volume(double n) {
    return n / 2 * log(M_PI) - nvdp__log_gamma(n / 2 + 1);
}

/* Returns log W. The ratio of consecutive terms decreases with j; terms are added until they become negligible. */
static double log_leakage(double r, double d) {
    const double step = log(r) - log(2 * M_PI) / 2, all = log_ball_volume(d);
    double sum = 0; /* the term of j = 0 is 1 */
    for (double j = 1; j <= d; j++) {
        const double choose =
            nvdp__log_gamma(d + 1) - nvdp__log_gamma(j + 1) - nvdp__log_gamma(d - j + 1);
        const double term = choose + all - log_ball_volume(d - j) + j * step;
        sum = nvdp__log_add(sum, term);
        if (term < sum - 50) break;
    }
    return sum;
}

/* Beyond this dimension, the forms that use d never improve on the first one by a printed digit. */
static const double MANY = 65536;

double nvdp_guess_information(double clip, int releases, size_t dim) {
    const double power = clip * clip * releases, d = (double)dim;
    if (!(clip >= 0) || releases < 1) return NAN;
    return raised(dim == 0 || isinf(power) ? power / 2 : d / 2 * log1p(power / d), 2e-15);
}

double nvdp_guess_bound(double baseline, double clip, int releases, size_t dim) {
    const double b = baseline, r = clip * sqrt(releases), d = (double)dim;
    if (!(b >= 0 && b <= 1) || !(clip >= 0) || releases < 1) return NAN;
    if (b == 0 || b == 1 || r == 0) return b;
    if (isinf(r)) return 1;
    double best = normal_form(b, r);
    if (dim > 0 && d <= MANY && b > 1e-280 && r < 50) {
        best = fmin(
            best, nvdp_renyi_probability_bound(1, nvdp_guess_information(clip, releases, dim), b));
        const double leaked = exp(fmin(log(b) + log_leakage(r, d), 0));
        /* rounds up by the error of log-gamma terms, which are as large as d log d */
        best = fmin(best, raised(fmin(leaked, ball_form(b, r, d)), 1e-11 + 1e-14 * d));
    }
    return fmin(fmax(best, b), 1);
}

/* Bounds guesses of an attribute. The best test of two hypotheses N(+-R) with priors p and 1-p compares the
 * projection with a threshold. The result is convex in p, so it holds for one p, not on average over an attacker's
 * other knowledge. */
double nvdp_guess_attribute(double prior, double clip, int releases) {
    const double p = prior, r = clip * sqrt(releases);
    if (!(p >= 0 && p <= 1) || !(clip >= 0) || releases < 1) return NAN;
    if (p == 0 || p == 1 || r == 0) return fmax(p, 1 - p);
    const double h = (log(p) - log1p(-p)) / (2 * r);
    const double both = p * gsl_cdf_ugaussian_P(r + h) + (1 - p) * gsl_cdf_ugaussian_P(r - h);
    return fmin(fmax(raised(both, 2e-15), fmax(p, 1 - p)), 1);
}

/* Uses, for every lambda = e^epsilon, the inequality success = E_x E_{P_x} phi_x <= lambda b + E_x delta_x(log
 * lambda), because E_x E_Q phi_x <= b. */
double nvdp__guess_from_curve(double baseline, size_t n, const double *epsilon,
                              const double *delta) {
    double best = 1;
    if (!(baseline >= 0 && baseline <= 1)) return NAN;
    for (size_t i = 0; i < n; i++)
        best = fmin(best, raised(exp(epsilon[i]) * baseline + delta[i], 1e-15));
    return fmax(best, baseline);
}

double nvdp_guess_clip(double baseline, double target, int releases, size_t dim) {
    const double b = baseline;
    if (!(b > 0 && b < 1) || !(target >= b && target < 1) || releases < 1) return NAN;
    const double normal =
        (gsl_cdf_ugaussian_Pinv(target) - gsl_cdf_ugaussian_Pinv(b)) / sqrt(releases);
    const double precision = dim == 0 ? 1e-15 : 1e-9, smallest = 1e-9 * normal;
    double low = 0, high = normal;
    if (!(normal > 0)) return 0;
    while (nvdp_guess_bound(b, high, releases, dim) <= target)
        low = high, high *= 2;
    while (high - low > precision * high && high > smallest) {
        const double middle = (low + high) / 2;
        if (middle <= low || middle >= high) break;
        *(nvdp_guess_bound(b, middle, releases, dim) <= target ? &low : &high) = middle;
    }
    return low;
}

/* ---- text and JSON ---- */

json_t *nvdp__guesses_json(size_t guesses, const struct nvdp_bounded_guess *guess) {
    json_t *list = json_array();
    for (size_t i = 0; i < guesses; i++)
        json_array_append_new(list, json_pack("{s:o, s:o}", "baseline",
                                              nvdp__json_number(guess[i].baseline), "bound",
                                              nvdp__json_number(guess[i].bound)));
    return list;
}

struct nvdp__claim_text nvdp__baselines_text(size_t guesses,
                                             const struct nvdp_bounded_guess *guess) {
    struct nvdp__claim_text made = {""};
    struct nvdp__writer to = {made.text, sizeof made.text, 0};
    for (size_t i = 0; i < guesses; i++)
        nvdp__append(&to, "%s%.4g %%", i > 0 ? " / " : "", 100 * guess[i].baseline);
    return made;
}

struct nvdp__claim_text nvdp__bounds_text(size_t guesses, const struct nvdp_bounded_guess *guess) {
    struct nvdp__claim_text made = {""};
    struct nvdp__writer to = {made.text, sizeof made.text, 0};
    for (size_t i = 0; i < guesses; i++)
        nvdp__append(&to, "%s%s", i > 0 ? " / " : "", nvdp__share_bound(guess[i].bound).text);
    return made;
}

const char nvdp__guess_limits[] =
    " Single guesses can be nearly certain. Further samples of this text or of related texts add "
    "up.";

void nvdp__write_guesses(size_t releases, double clip, size_t guesses,
                         const struct nvdp_bounded_guess *guess, FILE *to) {
    nvdp__fprintf(to,
                  "Proven for %s and any attacker, with any other knowledge: a guess that is right "
                  "%s of the time without the sample is right at most %s of the time with the "
                  "sample, on average over texts and noise",
                  nvdp__samples_text(releases).text, nvdp__baselines_text(guesses, guess).text,
                  nvdp__bounds_text(guesses, guess).text);
    if (!isnan(clip)) nvdp__fprintf(to, " (C = %s)", nvdp__bound(clip).text);
    nvdp__fprintf(to, ".%s", nvdp__guess_limits);
}

/* --- guess bounds of measured posteriors --- */

/* The guess bound of measured posteriors for the prior "one of these texts, equally likely".
 *
 * The reference Q is also a posterior. In each row it has the mean of the texts' pseudo-counts,
 * the mean of their means, and the mean of their variances plus the variance of their means.
 * With D_x = D_l(P_x || Q), S samples and l > 1, the joint distribution of text and sample has
 * the divergence
 *
 *     D  =  log E_x e^((l-1) S D_x) / (l-1)    (at order 1: S E_x D_x, an upper bound of the mutual information)
 *
 * from the distribution in which they are independent. Processing never increases a divergence,
 * so a guess with baseline b is right with probability at most the largest p with d_l(p || b) <=
 * D (nvdp_renyi_probability_bound()). The result is the minimum over orders and, under a sequence
 * clip, of the bound for any texts. */

static const double orders[] = {1, 1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2, 3, 4, 6, 8, 12, 16, 32};

enum { ORDERS = sizeof orders / sizeof *orders };

/* Fits row r of Q. Texts that end before row r have padding there, or no row under public lengths. */
static void fit_row(const struct nvdp_posteriors *set, size_t r, struct nvdp_posteriors *to,
                    double *square) {
    const bool hidden = set->policy == NVDP_LENGTH_HIDDEN;
    const size_t dim = set->dim;
    double *mean = to->mu + r * dim, *variance = to->logvar + r * dim, alpha = 0, texts = 0;
    for (size_t i = 0; i < set->texts; i++)
        texts += hidden || r < nvdp__row_count(set, i);
    memset(square, 0, dim * sizeof *square);
    for (size_t i = 0; i < set->texts; i++) {
        const bool there = r < nvdp__row_count(set, i);
        const size_t row = set->offset[i] + r;
        if (!there && !hidden) continue;
        if (set->alpha != NULL) alpha += there ? set->alpha[row] : set->pad_alpha;
        for (size_t k = 0; k < dim; k++) {
            const double mu = there ? set->mu[row * dim + k] : 0;
            mean[k] += mu / texts;
            square[k] += mu * mu / texts;
            variance[k] += (there ? exp(set->logvar[row * dim + k]) : 1) / texts;
        }
    }
    if (set->alpha != NULL) to->alpha[r] = alpha / texts;
    for (size_t k = 0; k < dim; k++)
        variance[k] = log(variance[k] + fmax(square[k] - mean[k] * mean[k], 0));
}

/* Returns D as defined above; d [n] has the divergences of the texts at this order. */
static double joint(double order, size_t n, const double *d, double releases) {
    double largest = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, releases * d[i]);
    if (isinf(largest)) return INFINITY;
    for (size_t i = 0; i < n; i++)
        sum += order > 1 ? exp((order - 1) * (releases * d[i] - largest)) : releases * d[i];
    const double mean = order > 1 ? largest + log(sum / (double)n) / (order - 1) : sum / (double)n;
    return mean * (1 + 1e-12);
}

/* Computes d[o N + i] = D_l(P_i || Q) at order o. pair [threads] has a set of two texts per thread: Q, and room for
 * any text of the set. */
static nvdp_status measure_all(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                               struct nvdp_posteriors **pair, double *d) {
    enum { TEXTS_PER_CHECK = 512 };
    const size_t n = set->texts;
    for (size_t first = 0; first < n; first += TEXTS_PER_CHECK) {
        const size_t end = nvdp__min(first + TEXTS_PER_CHECK, n);
        NVDP_TRY(nvdp__check_cancelled(ctx, "privacy: cancelled"));
#pragma omp parallel for schedule(dynamic, 8) num_threads(nvdp_context_threads(ctx))
        for (size_t i = first; i < end; i++) {
            struct nvdp_posteriors *own = pair[omp_get_thread_num()];
            own->offset[2] = own->offset[1] + nvdp__row_count(set, i); /* text i follows Q */
            nvdp__posteriors_copy(set, set->offset[i], nvdp__row_count(set, i), own,
                                  own->offset[1]);
            for (size_t o = 0; o < ORDERS; o++)
                d[o * n + i] = nvdp_renyi_texts(orders[o], own, 1, 0);
        }
    }
    return NVDP_OK;
}

struct pairs {
    size_t n;
    struct nvdp_posteriors **pair; /* [n] one set per thread */
};

static void release(struct pairs *pairs) {
    for (size_t t = 0; t < pairs->n && pairs->pair != NULL; t++)
        nvdp_posteriors_free(pairs->pair[t]);
    free(pairs->pair);
}

nvdp_status nvdp__measure_guesses(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                  int releases, struct nvdp_guess_summary *to) {
    const size_t n = set->texts;
    nvdp__auto(release) struct pairs own = {.n = (size_t)nvdp_context_threads(ctx)};
    nvdp__autofree double *d = NULL, *square = NULL;
    size_t rows = 0;
    for (size_t i = 0; i < n; i++)
        rows = nvdp__max(rows, nvdp__row_count(set, i));
    to->information = log((double)n); /* the information of the prior alone */
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(own.pair, own.n), NVDP__ITEMS(d, ORDERS * n),
                          NVDP__ITEMS(square, set->dim)));
    for (size_t t = 0; t < own.n; t++) {
        NVDP_TRY(nvdp__posteriors_like(ctx, set, 2, 2 * rows, &own.pair[t]));
        own.pair[t]->offset[1] = own.pair[t]->offset[2] = rows;
    }
    for (size_t r = 0; r < rows; r++) {
        NVDP_TRY(nvdp__check_cancelled(ctx, "privacy: cancelled"));
        fit_row(set, r, own.pair[0], square);
    }
    for (size_t t = 1; t < own.n; t++)
        nvdp__posteriors_copy(own.pair[0], 0, rows, own.pair[t], 0);
    NVDP_TRY(measure_all(ctx, set, own.pair, d));
    for (size_t g = 0; g < to->count; g++)
        to->guess[g].bound =
            fmin(to->guess[g].bound, nvdp__guess_limit(set, to->guess[g].baseline, releases));
    for (size_t o = 0; o < ORDERS; o++) {
        const double divergence = joint(orders[o], n, d + o * n, releases);
        if (!isfinite(divergence)) break; /* infinite also at every larger order */
        if (orders[o] == 1) to->information = fmin(to->information, divergence);
        for (size_t g = 0; g < to->count; g++)
            to->guess[g].bound =
                fmin(to->guess[g].bound,
                     nvdp_renyi_probability_bound(orders[o], divergence, to->guess[g].baseline));
    }
    return NVDP_OK;
}
