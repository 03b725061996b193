/* Statistics: quantiles and confidence intervals, then statistics of all pairs from a sample of the pairs.
 *
 * No call of GSL here can reach its error handler, which aborts: arguments are checked before.
 * GSL's iterative inverse of the beta distribution may fail to converge, so bisection replaces
 * it. */
#include "base/random.h"
#include "rdp/pairs.h"
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <stdlib.h>

const double nvdp__pair_quantile_level[NVDP_PAIR_QUANTILES] = {.5, .9, .95, .99, .999};

size_t nvdp__quantile_place(size_t n, double level) {
    /* keeps .95 * 20 = 19 from being rounded up to 20 */
    double rank = ceil(level * (double)n - 1e-9);
    return nvdp__min(rank < 1 ? 0 : (size_t)rank - 1, n - 1);
}

double nvdp__quantile(size_t n, size_t first, double level, double *values, size_t *place) {
    size_t at = nvdp__quantile_place(n, level);
    if (at >= first) gsl_stats_select(values + first, 1, n - first, at - first);
    *place = at;
    return values[at];
}

double nvdp__student_quantile(double tail, double freedom) {
    if (!(tail > 0 && tail < 1 && freedom >= 1)) return NAN;
    return gsl_cdf_tdist_Qinv(tail, freedom);
}

struct nvdp_interval nvdp__interval_student(double confidence, size_t n, double mean, double sd) {
    if (n < 2) return (struct nvdp_interval){NAN, NAN};
    double t = nvdp__student_quantile((1 - confidence) / 2, (double)(n - 1));
    double reach = t * sd / sqrt((double)n);
    return (struct nvdp_interval){mean - reach, mean + reach};
}

/* Maurer & Pontil 2009, Theorem 4, each side fails with probability alpha/2 = 1/x:
 *
 *     sd sqrt(2 log(2x) / n)  +  7 max log(2x) / (3 (n-1)),    sd with n-1. */
struct nvdp_interval nvdp__interval_bernstein(double confidence, size_t n, double mean, double sd,
                                              double max) {
    if (n < 2) return (struct nvdp_interval){0, max};
    double tail = log(2 / ((1 - confidence) / 2));
    double reach = sd * sqrt(2 * tail / (double)n) + 7 * max * tail / (3 * ((double)n - 1));
    return (struct nvdp_interval){fmax(mean - reach, 0), fmin(mean + reach, max)};
}

/* P(Binomial(n, p) <= k) = 1 - I_p(k+1, n-k). */
static double binomial(size_t n, double p, size_t k) {
    return k >= n ? 1 : gsl_cdf_beta_Q(p, (double)k + 1, (double)(n - k));
}

/* Returns the smallest k with P(Binomial(n, p) <= k) >= probability. */
static size_t binomial_inverse(size_t n, double p, double probability) {
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (binomial(n, p, middle) >= probability) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* The number of values at or below the quantile is Binomial(n, >= level), the number below it
 * Binomial(n, <= level). Value `low` is above it with P(Bin <= low - 1) <= alpha/2, value `high`
 * below it with P(Bin >= high) <= alpha/2. */
void nvdp__interval_ranks(double confidence, size_t n, double level, size_t *low, size_t *high) {
    double tail = (1 - confidence) / 2;
    size_t smallest = binomial_inverse(n, level, tail);
    *low = binomial(n, level, smallest) <= tail ? smallest + 1 : smallest;
    *high = binomial_inverse(n, level, 1 - tail) + 1;
}

/* Returns the x in (0, 1) at which gsl_cdf_beta_P(x, a, b) reaches `probability`, to the last bit.
 * gsl_cdf_beta_Pinv() fails, through the error handler, from a + b = 1e5 on. */
static double beta_inverse(double probability, double a, double b) {
    double low = 0, high = 1;
    for (;;) {
        double x = low + (high - low) / 2;
        if (!(x > low && x < high)) return x;
        *(gsl_cdf_beta_P(x, a, b) < probability ? &low : &high) = x;
    }
}

/* Uses the interval of Clopper & Pearson 1934; the upper end is one minus the lower end of the complement. */
struct nvdp_interval nvdp__interval_share(double confidence, size_t n, size_t successes) {
    double tail = (1 - confidence) / 2;
    struct nvdp_interval made = {0, 1};
    if (successes > 0)
        made.low = beta_inverse(tail, (double)successes, (double)(n - successes) + 1);
    if (successes < n)
        made.high = 1 - beta_inverse(tail, (double)(n - successes), (double)successes + 1);
    return made;
}

double nvdp__share_error(double share, size_t n) {
    const double one = 1 / (double)n, inner = fmin(fmax(share, one), 1 - one);
    return sqrt(inner * (1 - inner) / (double)n);
}

/* ---- statistics of all pairs from a sample of them ---- */

/* Statistics of all pairs from a sample of them.
 *
 * The largest divergence comes from nvdp__pairs_largest() and is exact. The decision if any pair is infinite is
 * exact, too. Pairs are drawn uniformly from the adjacent ordered pairs, with replacement, from a separate random
 * stream: pair k depends only on the seed and k. Mean and quantiles are those of the drawn pairs, with confidence
 * intervals. */
/* --- Groups of adjacent texts: any two texts of a group are adjacent, texts of different groups
 * are not --- */

struct groups {
    /* [N] indices, group after group, ascending within each group */
    size_t *text;
    struct nvdp__adjacent_texts *group; /* [count] groups of at least two texts each */
    size_t count;
    uint64_t pairs; /* number of ordered pairs */
};

/* Groups the texts; `memory` owns the arrays. If lengths decide, the groups are in ascending order of length. */
static nvdp_status groups_create(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                 enum nvdp_adjacency adjacency, struct nvdp__memory *memory,
                                 struct groups *out) {
    bool by_length = adjacency == NVDP_ADJACENT_SAME_LENGTH;
    /* [rows + 1] index of the first text that has this number of rows */
    nvdp__autofree size_t *first = NULL;
    size_t rows = 0;
    for (size_t i = 0; by_length && i < set->texts; i++) {
        rows = nvdp__max(rows, nvdp__row_count(set, i));
    }
    NVDP_TRY(NVDP__NEW(ctx, first, rows + 2));
    NVDP_TRY(NVDP__ARRAYS(ctx, memory, NVDP__ITEMS(out->text, set->texts),
                          NVDP__ITEMS(out->group, set->texts)));
    for (size_t i = 0; i < set->texts; i++) {
        first[(by_length ? nvdp__row_count(set, i) : 0) + 1]++;
    }
    for (size_t length = 0; length <= rows; length++) {
        size_t n = first[length + 1];
        first[length + 1] += first[length];
        if (n < 2) continue;
        out->group[out->count++] =
            (struct nvdp__adjacent_texts){.text = out->text + first[length], .n = n};
        out->pairs += (uint64_t)n * (n - 1);
    }
    for (size_t i = 0; i < set->texts; i++) {
        out->text[first[by_length ? nvdp__row_count(set, i) : 0]++] = i;
    }
    return NVDP_OK;
}

nvdp_status nvdp__pairs_is_sampled(struct nvdp_context *ctx,
                                   const struct nvdp_posteriors *posteriors,
                                   const struct nvdp__pairs_options *config, bool *sampled) {
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct groups groups = {0};
    *sampled = false;
    if (config->max_pairs == 0) return NVDP_OK;
    NVDP_TRY(groups_create(ctx, posteriors, config->adjacency, &memory, &groups));
    *sampled = groups.pairs > config->max_pairs;
    return NVDP_OK;
}

/* --- The largest pair, and the drawn pairs --- */

static const double confidence = 0.95;

struct sampled {
    struct nvdp_context *ctx;
    const struct nvdp_posteriors *set;
    const struct nvdp__pairs_options *config;
    double order;
    struct groups groups;
    struct nvdp__pairs *pairs;
    double *value;  /* [drawn] divergences */
    size_t *from;   /* [drawn] index of the pair's P */
    double *sorted; /* [drawn] sorted values in one unit */
};

static void keep_largest(const struct sampled *work, const struct nvdp__largest *found,
                         struct nvdp_pairs_summary *to) {
    for (enum nvdp__unit unit = NVDP__SUM; unit < NVDP__UNITS; unit++) {
        struct nvdp_divergence_summary *part = nvdp__unit_summary(to, unit);
        double value = found->value / nvdp__divisor(work->set, unit, found->p);
        if (!(value > part->max)) continue;
        part->max = value;
        part->max_p = found->p;
        part->max_q = found->q;
    }
}

/* Finds the maximum per unit: within a group all samples have the same size, unless a pair is infinite. */
static nvdp_status find_largest(struct sampled *work, struct nvdp_pairs_summary *to) {
    const struct nvdp_posteriors *set = work->set;
    struct nvdp__largest found = {.value = INFINITY};
    to->sum.max = to->per_component.max = to->per_component_dim.max = -INFINITY;
    bool all = work->config->adjacency == NVDP_ADJACENT_ALL;
    /* texts with different public lengths: +inf, regardless of the posteriors */
    for (size_t i = 1; set->policy == NVDP_LENGTH_PUBLIC && all && i < set->texts; i++) {
        if (nvdp__row_count(set, i) == nvdp__row_count(set, 0)) continue;
        found.q = i;
        keep_largest(work, &found, to);
        return NVDP_OK;
    }
    for (size_t g = 0; g < work->groups.count; g++) {
        NVDP_TRY(nvdp__pairs_largest(work->pairs, work->order, &work->groups.group[g], &found));
        to->sample.summed += found.summed;
        keep_largest(work, &found, to);
    }
    return NVDP_OK;
}

/* Draws pair k: the ordered pair with index `at` among the pairs of all groups. */
static void draw(const struct sampled *work, size_t k, size_t *i, size_t *j) {
    const struct nvdp__noise noise = {.seed = work->config->seed};
    struct nvdp__stream stream =
        nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, NVDP__EPOCH_PAIRS, k);
    __extension__ typedef unsigned __int128 wide;
    uint64_t at = (uint64_t)((wide)nvdp__stream_u64(&stream) * work->groups.pairs >> 64);
    const struct nvdp__adjacent_texts *group = work->groups.group;
    for (; at >= (uint64_t)group->n * (group->n - 1); group++)
        at -= (uint64_t)group->n * (group->n - 1);
    const size_t a = (size_t)(at / (group->n - 1)), b = (size_t)(at % (group->n - 1));
    *i = group->text[a];
    *j = group->text[b < a ? b : b + 1];
}

static nvdp_status evaluate(struct sampled *work) {
    const size_t drawn = work->config->max_pairs;
    const int threads = nvdp_context_threads(work->ctx);
    const struct nvdp__plan plan = nvdp__plan(work->order, work->config->arithmetic);
    const double elements = (double)work->set->offset[work->set->texts] * (double)work->set->dim /
                            (double)work->set->texts;
    const size_t round = (size_t)fmin(fmax(2e8 * threads / (1 + elements), 16.0 * threads), 1e6);
    struct nvdp__meter meter;
    nvdp__pairs_padding(work->pairs, &plan);
    nvdp__meter_begin(&meter, work->ctx, "pairs", "pair", 0, drawn);
    for (size_t first = 0; first < drawn; first += round) {
        const size_t end = nvdp__min(first + round, drawn);
        NVDP_TRY(nvdp__pairs_go_on(&meter, first, drawn, "drawn pairs"));
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
        for (size_t k = first; k < end; k++) {
            size_t j;
            draw(work, k, &work->from[k], &j);
            work->value[k] = nvdp__pair_value(work->pairs, &plan, work->from[k], j);
        }
        nvdp__meter_update(&meter, end, (double)end, "pair", NAN);
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

/* --- Statistics of the drawn pairs --- */

static double at_rank(const struct sampled *work, size_t rank, double none, double beyond) {
    if (rank == 0) return none;
    return rank > work->config->max_pairs ? beyond : work->sorted[rank - 1];
}

/* Computes mean and quantiles in one unit; infinite values come last. */
static void describe(struct sampled *work, enum nvdp__unit unit, size_t finite,
                     struct nvdp_divergence_summary *to, double *sd) {
    size_t drawn = work->config->max_pairs;
    for (size_t k = 0; k < drawn; k++) {
        work->sorted[k] = work->value[k] / nvdp__divisor(work->set, unit, work->from[k]);
    }
    gsl_sort(work->sorted, 1, drawn);
    double sum = 0, squares = 0;
    for (size_t k = 0; k < finite; k++) {
        sum += work->sorted[k];
    }
    double mean = sum / (double)finite;
    for (size_t k = 0; k < finite; k++) {
        squares += (work->sorted[k] - mean) * (work->sorted[k] - mean);
    }
    *sd = finite > 1 ? sqrt(squares / ((double)finite - 1)) : NAN;
    bool infinite = isinf(to->max);
    to->mean_finite = finite > 0 ? mean : NAN;
    to->mean = infinite ? INFINITY : to->mean_finite;
    to->max_finite = infinite ? NAN : to->max;
    for (int level = 0; level < NVDP_PAIR_QUANTILES; level++) {
        to->quantile[level] =
            work->sorted[nvdp__quantile_place(drawn, nvdp__pair_quantile_level[level])];
    }
}

/* Computes the intervals of the sum; `sorted` must hold the sums. */
static void intervals(const struct sampled *work, size_t finite, double sd,
                      struct nvdp_pairs_summary *to) {
    struct nvdp_pairs_sample *sample = &to->sample;
    size_t drawn = work->config->max_pairs;
    sample->drawn = drawn;
    sample->confidence = confidence;
    sample->mean = nvdp__interval_student(confidence, finite, to->sum.mean_finite, sd);
    sample->mean_bound = (struct nvdp_interval){NAN, NAN};
    if (!isinf(to->sum.max))
        sample->mean_bound =
            nvdp__interval_bernstein(confidence, drawn, to->sum.mean, sd, to->sum.max);
    for (int level = 0; level < NVDP_PAIR_QUANTILES; level++) {
        size_t low, high;
        nvdp__interval_ranks(confidence, drawn, nvdp__pair_quantile_level[level], &low, &high);
        sample->quantile[level].low = at_rank(work, low, 0, to->sum.max);
        sample->quantile[level].high = at_rank(work, high, 0, to->sum.max);
    }
    sample->infinite_share = nvdp__interval_share(confidence, drawn, drawn - finite);
    /* no pair is infinite if the maximum is finite */
    if (!isinf(to->sum.max)) sample->infinite_share.high = 0;
}

static void summarize(struct sampled *work, struct nvdp_pairs_summary *to) {
    size_t drawn = work->config->max_pairs;
    size_t finite = 0;
    for (size_t k = 0; k < drawn; k++) {
        /* fast arithmetic has an error, but no value may exceed the largest */
        work->value[k] = fmin(work->value[k], to->sum.max);
        finite += work->value[k] < INFINITY ? 1 : 0;
    }
    to->infinite = drawn - finite;
    for (enum nvdp__unit unit = NVDP__SUM; unit < NVDP__UNITS; unit++) {
        double sd;
        describe(work, unit, finite, nvdp__unit_summary(to, unit), &sd);
        if (unit == NVDP__SUM) intervals(work, finite, sd, to);
    }
}

/* Explains the largest pair and the first infinite drawn pairs. */
static nvdp_status explain(const struct sampled *work, const struct nvdp_pairs_summary *made,
                           struct nvdp_infinite_summary *out) {
    size_t n = 0;
    nvdp__autofree size_t *pair = NULL;
    *out = (struct nvdp_infinite_summary){.struct_size = sizeof *out, .order = work->config->order};
    if (!isinf(made->sum.max)) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(work->ctx, pair, 2 * (size_t)NVDP__MAX_INFINITE));
    pair[0] = made->sum.max_p;
    pair[1] = made->sum.max_q;
    n = 1;
    for (size_t k = 0; k < work->config->max_pairs && n < NVDP__MAX_INFINITE; k++) {
        if (!isinf(work->value[k])) continue;
        draw(work, k, &pair[2 * n], &pair[2 * n + 1]);
        n++;
    }
    return nvdp__renyi_infinite(work->ctx, work->config->order, work->set, n, pair, out);
}

nvdp_status nvdp__pairs_sampled(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                const struct nvdp__pairs_options *config,
                                struct nvdp_pairs_summary *out,
                                struct nvdp_infinite_summary *infinite) {
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    nvdp__autoptr(nvdp__pairs_free) struct nvdp__pairs *pairs = NULL;
    struct sampled work = {
        .ctx = ctx, .set = posteriors, .config = config, .order = nvdp__order(config->order)};
    struct nvdp_pairs_summary made = {.struct_size = sizeof made,
                                      .order = config->order,
                                      .adjacency = config->adjacency,
                                      .arithmetic = config->arithmetic,
                                      .texts = posteriors->texts};
    NVDP_TRY(groups_create(ctx, posteriors, config->adjacency, &memory, &work.groups));
    made.pairs = work.groups.pairs;
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(work.value, config->max_pairs),
                          NVDP__ITEMS(work.from, config->max_pairs),
                          NVDP__ITEMS(work.sorted, config->max_pairs)));
    NVDP_TRY(nvdp__pairs_create(ctx, posteriors, &pairs));
    work.pairs = pairs;
    NVDP_TRY(find_largest(&work, &made));
    NVDP_TRY(evaluate(&work));
    summarize(&work, &made);
    if (infinite != NULL) NVDP_TRY(explain(&work, &made, infinite));
    *out = made;
    return NVDP_OK;
}
