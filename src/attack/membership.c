/* The ROC curve of scores of members and of other texts, and the curve above which no test lies.  The order: the proven
 * curve, scores. */
#include "attack/membership.h"
#include "attack/attack.h"
#include "attack/audit.h"
#include "rdp/pairs.h"
#include "rdp/report.h"
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <nvdp/guess.h>
#include <stdlib.h>
#include <string.h>

static const double CONFIDENCE = .95, OF_TWO = .975;
const double nvdp__membership_rates[NVDP__MEMBERSHIP_RATES] = {.01, .001};

/* --- the proven curve --- */

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
    return fmin(normal,
                nvdp__guess_from_curve(fpr, proven->points, proven->epsilon, proven->delta));
}

/* Number of cells of the FPR.  The sum of the TPR at the upper ends of the cells is at most 1/CELLS above the
 * integral. */
enum { CELLS = 20000 };

/* Returns true if only mu is proven: then the integrals have closed forms. */
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

/* The variance of the area under the curve is (DeLong, DeLong & Clarke-Pearson 1988)
 *
 *     var over members of P(another text scores below it)/members + the same for the others,
 *
 * where a tie counts half.  A curve without any error shows no variance, so it gets the interval of a share of the
 * smaller number of texts. */
static nvdp_status add_auc(struct nvdp__text_attack *a, enum nvdp__observed observed, size_t n,
                           const size_t count[2], struct scored *all,
                           const struct nvdp__tradeoff *proven) {
    double above[2] = {0, 0}, sum[2] = {0, 0}, square[2] = {0, 0}, variance = 0;
    NVDP__SORT(all, n, NVDP__DOWN(struct scored, score));
    for (size_t i = 0, end; i < n; i = end) {
        double here[2] = {0, 0};
        for (end = i; end < n && all[end].score == all[i].score; end++)
            here[all[end].in]++;
        for (size_t s = 0; s < 2; s++) { /* texts of the other kind that are in the right order */
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
    NVDP_TRY(nvdp__add_value(a, observed, NVDP__TEXT_METRIC_AUC, auc, off, 0));
    if (proven != NULL) nvdp__bound_score(a, .5, nvdp__tradeoff_auc(proven));
    return NVDP_OK;
}

/* Every second text of each kind chooses the threshold with the largest TPR - FPR; the other texts measure the accuracy
 * at this threshold.  The ends of the interval come from the ends of both rates, so the interval is wider than
 * needed. */
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
    NVDP__SORT(half, n, NVDP__DOWN(struct scored, score));
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && half[end].score == half[i].score; end++)
            rate[half[end].in] += 1 / (double)half_of[half[end].in];
        if (end == n || !(rate[1] - rate[0] > best)) continue;
        best = rate[1] - rate[0];
        threshold = half[end].score;
    }
    for (size_t s = 0; s < 2; s++) {
        const size_t held = count[s] / 2;
        size_t above = 0;
        for (size_t i = 1; i < count[s]; i += 2)
            above += score[s][i] > threshold;
        rate[s] = (double)above / (double)held;
        interval[s] = nvdp__interval_share(CONFIDENCE, held, above);
    }
    NVDP_TRY(nvdp__add_value(a, observed, NVDP__TEXT_METRIC_ACCURACY, (1 + rate[1] - rate[0]) / 2,
                             0, 0));
    a->score[a->scores - 1].interval = (struct nvdp_interval){
        (1 + interval[1].low - interval[0].high) / 2, (1 + interval[1].high - interval[0].low) / 2};
    if (proven != NULL) nvdp__bound_score(a, .5, nvdp__tradeoff_accuracy(proven));
    return NVDP_OK;
}

/* Returns the number of members whose scores are above (with `equal`, at least) the score of the k-th other text from
 * the top. */
static size_t members_above(const size_t count[2], const double *in, const double *sorted, size_t k,
                            bool equal) {
    const double score = sorted[count[0] - k];
    size_t found = 0;
    for (size_t i = 0; i < count[1]; i++)
        found += equal ? in[i] >= score : in[i] > score;
    return found;
}

/* Sets the interval of the TPR at exactly this FPR.  The FPR of a threshold is known only within the limits of
 * Clopper & Pearson, which are quantiles of Beta.  The lower end is the lower limit of the TPR at a threshold whose
 * FPR is surely at most the rate; the upper end is the upper limit at a threshold whose FPR is surely at least the
 * rate.  All limits are of 97.5 % intervals, so each end fails in at most 1 of 40 cases. */
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
    a->score[a->scores - 1].interval = (struct nvdp_interval){low, high};
}

/* Adds the TPR at an FPR.  With n other texts, k = rate n of these texts have scores above the threshold.  The bound is
 * the TPR that is proven at the upper limit of the threshold's FPR, which is more than the interval needs.  If rate n <
 * 1, the rate cannot be measured. */
static nvdp_status add_rate(struct nvdp__text_attack *a, enum nvdp__observed observed, double rate,
                            enum nvdp__text_metric metric, const size_t count[2],
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
    NVDP_TRY(NVDP__ARRAYS(a->ctx, NULL, NVDP__ITEMS(all, members + others),
                          NVDP__ITEMS(sorted, others)));
    for (size_t i = 0; i < members + others; i++)
        all[i] =
            i < members ? (struct scored){in[i], true} : (struct scored){out[i - members], false};
    memcpy(sorted, out, others * sizeof *sorted);
    qsort(sorted, others, sizeof *sorted, nvdp__by_double);
    NVDP_TRY(add_auc(a, observed, members + others, count, all, proven));
    NVDP_TRY(add_accuracy(a, observed, count, score, all, proven));
    NVDP_TRY(add_rate(a, observed, nvdp__membership_rates[0], NVDP__TEXT_METRIC_TPR_PERCENT, count,
                      score, sorted, proven));
    return add_rate(a, observed, nvdp__membership_rates[1], NVDP__TEXT_METRIC_TPR_PERMILLE, count,
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

/* ---- the row in the table of attacks, and the result table ---- */

static nvdp_status run(const struct nvdp__attacked *attacked, void *found) {
    struct nvdp__membership *out = found;
    /* Each of the two functions below opens the options itself. */
    const char *of = nvdp_config_get(attacked->config, "members");
    const bool training = strcmp(of, nvdp__member_source_names[NVDP__MEMBERS_TRAINING]) == 0;
    out->of = training ? NVDP__MEMBERS_TRAINING : NVDP__MEMBERS_SHARED;
    NVDP_TRY(training ? nvdp__membership_training(attacked, out)
                      : nvdp__membership_file(attacked, out));
    /* Training has no control; the intervals show whether it works. */
    if (training) out->scores.weak = false;
    return NVDP_OK;
}

/* --- the result --- */

static bool has_audit(const void *found) {
    return ((const struct nvdp__membership *)found)->audit.canaries > 0;
}

/* clang-format off */
#define ROW(member, unit, better, ...) \
    NVDP_RESULT_ROW(struct nvdp__membership, member, unit, NVDP_SCOPE_RUN, better, __VA_ARGS__)
#define SCORES(name, type, member, help_) \
    {name, type, .help = help_, NVDP_RESULT_AT(struct nvdp__membership, scores.member)}

const struct nvdp_result_table nvdp__result_membership = {
    .name = "membership", .help = "an attacker who looks for texts among shared or training texts", .sized = true,
    .rows = (const struct nvdp_result_row[]){
        {"of", NVDP_RESULT_ENUM, .words = nvdp__member_source_names, .help = "shared: texts of a file; training: of the training set",
         NVDP_RESULT_AT(struct nvdp__membership, of)},
        ROW(members, "texts", 0, "texts that are in the file or training set"),
        ROW(others, "texts", 0, "texts that are not"),
        ROW(repeated, "texts", 0, "texts left out because they occur more than once"),
        ROW(shadows, "runs", 0, "shadow runs"),
        SCORES("public_texts", NVDP_RESULT_COUNT, public_texts, "public texts"),
        SCORES("both", NVDP_RESULT_COUNT, both, "attacked texts that are also public"),
        SCORES("weak", NVDP_RESULT_FLAG, weak, "shared: texts of the file and others have the same posteriors"),
        SCORES("holds", NVDP_RESULT_FLAG, holds, "no score exceeds its bound"),
        ROW(delta, NULL, 0, "delta of the epsilons"),
        ROW(epsilon, "nats", -1, "proven epsilon at delta"),
        ROW(mu, NULL, -1, "proven mu of Gaussian differential privacy"),
        {"proven_tpr", NVDP_RESULT_REAL, .help = "proven upper bounds of the TPR at FPR 1 % and 0.1 %", .array = NVDP__MEMBERSHIP_RATES,
         NVDP_RESULT_AT(struct nvdp__membership, tpr[0])},
        {"scores", NVDP_RESULT_LIST, .help = "the scores", .label = "", .indirect = true, .of = &nvdp__result_text_score,
         NVDP_RESULT_AT(struct nvdp__membership, scores.score), NVDP_RESULT_LENGTH(struct nvdp__membership, scores.scores)},
        {"audit", NVDP_RESULT_TABLE, .help = "audit of the coins that chose which texts are shared",
         NVDP_RESULT_AT(struct nvdp__membership, audit), .present = has_audit, .of = &nvdp__result_canary_audit},
        {0}},
    .views = (const struct nvdp_result_view[]){
        {"terminal", .keys = (const struct nvdp_result_key[]){{.row = "audit", .absent = NVDP_ABSENT_HIDDEN}, {0}}},
        {0}}};
/* clang-format on */

/* Prints the lower bounds of the audit, which make different assumptions about the curve.  No bound is always the
 * largest. */
static void print_audit(const struct nvdp__membership *found, FILE *to) {
    const struct nvdp__canary_audit *audit = &found->audit;
    const struct nvdp__short_text epsilon = nvdp__bound(found->epsilon);
    nvdp__print_row(to, "shown",
                    "by the coins that chose the texts of the file, at delta %g:", found->delta);
    nvdp__print_row(to, "  one run", "epsilon >= %.3f (proven: at most %s), Steinke et al. 2023",
                    nvdp__lower_bound(audit->epsilon, 3), epsilon.text);
    nvdp__print_row(to, "  curve", "epsilon >= %.3f (proven: at most %s), Mahloujifar et al. 2024",
                    nvdp__lower_bound(audit->curve_epsilon, 3), epsilon.text);
    nvdp__print_row(to, "  mu", "mu >= %.3f (proven: at most %s), if the curve is Gaussian",
                    nvdp__lower_bound(audit->mu, 3), nvdp__bound(found->mu).text);
}

static void head(const struct nvdp__attacked *attacked, const void *of, FILE *to) {
    const struct nvdp__membership *found = of;
    const char *file = nvdp_config_get(attacked->config, "shared");
    const bool training = found->of == NVDP__MEMBERS_TRAINING;
    nvdp__print_row(to, "texts", "%zu %s, %zu not", found->members,
                    training ? "in the training set" : "in the file", found->others);
    if (found->repeated > 0)
        nvdp__print_row(to, "left out", "%zu that occur more than once", found->repeated);
    if (found->scores.both > 0 && !training)
        nvdp__print_row(to, "CAUTION", "%zu of the attacked texts are also public",
                        found->scores.both);
    if (file != NULL) nvdp__print_row(to, "samples", "from %s", file);
    if (isnan(found->tpr[0]))
        nvdp__print_row(to, "proven", "nothing");
    else
        nvdp__print_row(
            to, "proven", "TPR at most %s at FPR 1 %%, %s at FPR 0.1 %%: %s",
            nvdp__share_bound(found->tpr[0]).text, nvdp__share_bound(found->tpr[1]).text,
            training       ? "a text in the training set, or any other text in its place"
            : file != NULL ? "a text in the file, or any other text in its place; this file alone"
                           : "a text in the file, or any other text in its place");
    if (!training)
        nvdp__print_row(to, "states", "show only whether the texts have different posteriors");
    for (size_t i = 0; i < NVDP__MEMBERSHIP_RATES; i++)
        if (nvdp__membership_rates[i] * (double)found->others * (1 + 1e-12) < 1) {
            nvdp__print_row(to, "too few",
                            "FPR %g %% and less cannot be measured with %zu other texts",
                            100 * nvdp__membership_rates[i], found->others);
            break;
        }
    if (has_audit(found)) print_audit(found, to);
    putc('\n', to);
}

/* Reports a score above its bound; then an audited epsilon above the proven one. */
static void verdict(const struct nvdp__attacked *attacked, const void *of,
                    struct nvdp__writer *say) {
    const struct nvdp__membership *found = of;
    const struct nvdp__canary_audit *audit = &found->audit;
    const double shown = fmax(audit->epsilon, audit->curve_epsilon);
    nvdp__learner_verdict(attacked, &found->scores, say);
    if (say->used > 0 || !has_audit(found) || (shown <= found->epsilon && audit->mu <= found->mu))
        return;
    nvdp__append(say,
                 "%s: VIOLATION: the coins that chose the shared texts show epsilon >= %s at "
                 "delta %g or mu >= %s with confidence %g %%, but at most %s and %s are proven",
                 attacked->name, nvdp__bound_below(shown).text, found->delta,
                 nvdp__bound_below(audit->mu).text, 100 * audit->confidence,
                 nvdp__bound(found->epsilon).text, nvdp__bound(found->mu).text);
}

static const char *const row_options[] = {NVDP__ATTACK_RUN_OPTIONS,
                                          "shared",
                                          "public",
                                          "public-limit",
                                          "releases",
                                          "delta",
                                          "members",
                                          "shadows",
                                          "shadow-runs",
                                          NULL};

const struct nvdp__attack nvdp__attack_row_membership = {.target = NVDP_ATTACK_RUN,
                                                         .options = row_options,
                                                         .size = sizeof(struct nvdp__membership),
                                                         .run = run,
                                                         .table = &nvdp__result_membership,
                                                         .add = nvdp__add_source,
                                                         .head = head,
                                                         .weak = nvdp__learner_weak,
                                                         .verdict = verdict,
                                                         .release = nvdp__text_attack_free};
