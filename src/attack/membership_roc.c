/* The ROC curve of scores of members and of other texts, and the curve above which no test lies.  The order: what is
 * proven, scores. */
#include "attack/membership.h"
#include "rdp/pairs.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <nvdp/guess.h>
#include <stdlib.h>

static const double CONFIDENCE = .95, OF_TWO = .975;
const double nvdp__membership_rates[NVDP__MEMBERSHIP_RATES] = {.01, .001};

/* --- what is proven --- */

void nvdp__tradeoff_add(struct nvdp__tradeoff *proven, double epsilon, double delta) {
    const double point[][2] = {{epsilon, delta}, {-epsilon, 1 - exp(-epsilon) * (1 - delta)}};
    for (size_t i = 0; i < 2; i++) {
        if (!isfinite(epsilon) || proven->points == 2 * NVDP_EXACT_POINTS) return;
        proven->epsilon[proven->points] = point[i][0];
        proven->delta[proven->points++] = point[i][1];
    }
}

bool nvdp__tradeoff_proves(const struct nvdp__tradeoff *proven) {
    return isfinite(proven->mu) || proven->points > 0;
}

double nvdp__tradeoff_tpr(const struct nvdp__tradeoff *proven, double fpr) {
    const double normal =
        isinf(proven->mu) ? 1 : gsl_cdf_ugaussian_P(gsl_cdf_ugaussian_Pinv(fpr) + proven->mu);
    return fmin(normal, nvdp_guess_from_curve(fpr, proven->points, proven->epsilon, proven->delta));
}

/* Sums over cells of the FPR the TPR at their upper end, which is at most 1/CELLS above the integral. */
enum { CELLS = 20000 };

/* Only mu is proven: the integrals have closed forms. */
static bool is_normal(const struct nvdp__tradeoff *proven) {
    return isfinite(proven->mu) && proven->points == 0;
}

double nvdp__tradeoff_auc(const struct nvdp__tradeoff *proven) {
    double sum = 0;
    if (is_normal(proven)) return gsl_cdf_ugaussian_P(proven->mu / M_SQRT2);
    for (int i = 1; i <= CELLS; i++)
        sum += nvdp__tradeoff_tpr(proven, i / (double)CELLS) / CELLS;
    return sum;
}

double nvdp__tradeoff_accuracy(const struct nvdp__tradeoff *proven) {
    double best = 0;
    if (is_normal(proven)) return gsl_cdf_ugaussian_P(proven->mu / 2);
    for (int i = 1; i <= CELLS; i++)
        best = fmax(best, nvdp__tradeoff_tpr(proven, i / (double)CELLS) - (i - 1) / (double)CELLS);
    return fmin((1 + best) / 2, 1);
}

/* --- scores --- */

struct scored {
    double score;
    bool in;
};

/* Sorts by descending score. */
static int by_score(const void *x, const void *y) {
    return nvdp__by_double(&((const struct scored *)y)->score, &((const struct scored *)x)->score);
}

/* The variance of the area under the curve is (DeLong, DeLong & Clarke-Pearson 1988)
 *
 *     var over members of P(another text scores below it)/members + the same for the others,
 *
 * where a tie counts half.  A curve without any error shows no variance, so its interval is that of a share of the
 * smaller number of texts. */
static nvdp_status add_auc(struct nvdp__text_attack *a, enum nvdp__observed observed, size_t n,
                           const size_t count[2], struct scored *all,
                           const struct nvdp__tradeoff *proven) {
    double above[2] = {0, 0}, sum[2] = {0, 0}, square[2] = {0, 0}, variance = 0;
    qsort(all, n, sizeof *all, by_score);
    for (size_t i = 0, end; i < n; i = end) {
        double here[2] = {0, 0};
        for (end = i; end < n && all[end].score == all[i].score; end++)
            here[all[end].in]++;
        for (size_t s = 0; s < 2; s++) { /* of the other kind, those that the order puts right */
            const double before = above[!s] + here[!s] / 2;
            const double right = (s ? (double)count[0] - before : before) / (double)count[!s];
            sum[s] += here[s] * right;
            square[s] += here[s] * right * right;
        }
        above[0] += here[0];
        above[1] += here[1];
    }
    const double auc = sum[1] / (double)count[1];
    for (size_t s = 0; s < 2; s++) {
        const double N = (double)count[s];
        variance += fmax(0, square[s] / N - auc * auc) / (N - 1);
    }
    const size_t fewest = nvdp__min(count[0], count[1]);
    const double off =
        auc == 0 || auc == 1 ? nvdp__unseen(fewest) : nvdp__half_width(variance, fewest, 0, 1);
    NVDP_TRY(nvdp__add_value(a, observed, NVDP_TEXT_METRIC_AUC, auc, off, 0));
    if (proven != NULL) nvdp__bound_score(a, .5, nvdp__tradeoff_auc(proven));
    return NVDP_OK;
}

static void set_interval(struct nvdp__text_attack *a, double low, double high) {
    a->score[a->scores - 1].interval = (struct nvdp_interval){low, high};
}

static size_t count_above(size_t n, const double *score, size_t first, size_t step,
                          double threshold) {
    size_t above = 0;
    for (size_t i = first; i < n; i += step)
        above += score[i] > threshold;
    return above;
}

/* Every second text of each kind chooses the threshold with the largest TPR - FPR; the others measure it.  The ends of
 * the interval come from those of both rates, so it is wider than needed. */
static nvdp_status add_accuracy(struct nvdp__text_attack *a, enum nvdp__observed observed,
                                const size_t count[2], const double *const score[2],
                                struct scored *half, const struct nvdp__tradeoff *proven) {
    const size_t half_of[2] = {(count[0] + 1) / 2, (count[1] + 1) / 2};
    double rate[2] = {0, 0}, best = 0, threshold = INFINITY;
    struct nvdp_interval interval[2];
    size_t n = 0;
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < count[s]; i += 2)
            half[n++] = (struct scored){score[s][i], s};
    qsort(half, n, sizeof *half, by_score);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && half[end].score == half[i].score; end++)
            rate[half[end].in] += 1 / (double)half_of[half[end].in];
        if (end == n || !(rate[1] - rate[0] > best)) continue;
        best = rate[1] - rate[0];
        threshold = half[end].score;
    }
    for (size_t s = 0; s < 2; s++) {
        const size_t held = count[s] / 2, above = count_above(count[s], score[s], 1, 2, threshold);
        rate[s] = (double)above / (double)held;
        interval[s] = nvdp__interval_share(CONFIDENCE, held, above);
    }
    NVDP_TRY(
        nvdp__add_value(a, observed, NVDP_TEXT_METRIC_ACCURACY, (1 + rate[1] - rate[0]) / 2, 0, 0));
    set_interval(a, (1 + interval[1].low - interval[0].high) / 2,
                 (1 + interval[1].high - interval[0].low) / 2);
    if (proven != NULL) nvdp__bound_score(a, .5, nvdp__tradeoff_accuracy(proven));
    return NVDP_OK;
}

/* Returns the number of members whose scores are above that of the k-th other text from the top, or at least it. */
static size_t members_above(const size_t count[2], const double *in, const double *sorted, size_t k,
                            bool equal) {
    const double score = sorted[count[0] - k];
    size_t found = 0;
    for (size_t i = 0; i < count[1]; i++)
        found += equal ? in[i] >= score : in[i] > score;
    return found;
}

/* Sets the interval of the TPR at exactly this FPR.  The FPR of a threshold is known by Clopper & Pearson's limits
 * alone, as a quantile of Beta: the ends are those of the TPR at the thresholds whose FPR is surely at most, and at
 * least, the rate.  All limits are of 97.5 % intervals, so each end fails in at most 1 of 40 cases. */
static void cover_rate(struct nvdp__text_attack *a, double rate, const size_t count[2],
                       const double *in, const double *sorted) {
    double low = 0, high = 1;
    size_t few = 0, many = 1;
    while (few < count[0] && nvdp__interval_share(OF_TWO, count[0], few).high <= rate)
        few++;
    while (many <= count[0] && nvdp__interval_share(OF_TWO, count[0], many).low < rate)
        many++;
    if (few > 0)
        low = nvdp__interval_share(OF_TWO, count[1], members_above(count, in, sorted, few, false))
                  .low;
    if (many <= count[0])
        high = nvdp__interval_share(OF_TWO, count[1], members_above(count, in, sorted, many, true))
                   .high;
    set_interval(a, low, high);
}

/* With n other texts, the threshold is the score of which k = rate n of them are above.  The bound is the TPR that is
 * proven at the upper limit of its FPR, which is more than the interval needs.  If rate n < 1, the rate cannot be
 * measured. */
static nvdp_status add_rate(struct nvdp__text_attack *a, enum nvdp__observed observed, double rate,
                            enum nvdp_text_metric metric, const size_t count[2],
                            const double *const score[2], const double *sorted,
                            const struct nvdp__tradeoff *proven) {
    const size_t k = (size_t)(rate * (double)count[0] * (1 + 1e-12));
    if (k < 1) return nvdp__add_value(a, observed, metric, NAN, NAN, 0);
    const size_t hits = members_above(count, score[1], sorted, k + 1, false);
    NVDP_TRY(nvdp__add_value(a, observed, metric, (double)hits / (double)count[1], 0, 0));
    cover_rate(a, rate, count, score[1], sorted);
    if (proven == NULL) return NVDP_OK;
    const double most = nvdp__interval_share(OF_TWO, count[0], k).high;
    nvdp__bound_score(a, most, nvdp__tradeoff_tpr(proven, most));
    return NVDP_OK;
}

nvdp_status nvdp__add_roc(struct nvdp__text_attack *a, enum nvdp__observed observed, size_t members,
                          const double *in, size_t others, const double *out,
                          const struct nvdp__tradeoff *proven) {
    const size_t count[2] = {others, members};
    const double *const score[2] = {out, in};
    nvdp__autofree struct scored *all = NULL;
    nvdp__autofree double *sorted = NULL;
    if (proven != NULL && !nvdp__tradeoff_proves(proven)) proven = NULL;
    NVDP_TRY(NVDP__NEW(a->ctx, all, members + others));
    NVDP_TRY(NVDP__NEW(a->ctx, sorted, others));
    for (size_t i = 0; i < members + others; i++)
        all[i] =
            i < members ? (struct scored){in[i], true} : (struct scored){out[i - members], false};
    memcpy(sorted, out, others * sizeof *sorted);
    qsort(sorted, others, sizeof *sorted, nvdp__by_double);
    NVDP_TRY(add_auc(a, observed, members + others, count, all, proven));
    NVDP_TRY(add_accuracy(a, observed, count, score, all, proven));
    NVDP_TRY(add_rate(a, observed, nvdp__membership_rates[0], NVDP_TEXT_METRIC_TPR_PERCENT, count,
                      score, sorted, proven));
    return add_rate(a, observed, nvdp__membership_rates[1], NVDP_TEXT_METRIC_TPR_PERMILLE, count,
                    score, sorted, proven);
}

void nvdp__membership_proven(const struct nvdp__tradeoff *proven, double epsilon, double delta,
                             struct nvdp__membership *out) {
    out->epsilon = epsilon;
    out->delta = delta;
    out->mu = proven->mu;
    for (size_t i = 0; i < NVDP__MEMBERSHIP_RATES; i++)
        out->tpr[i] = nvdp__tradeoff_proves(proven)
                          ? nvdp__tradeoff_tpr(proven, nvdp__membership_rates[i])
                          : NAN;
}
