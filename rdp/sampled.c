/* Statistics of all pairs from some of them.
 *
 * The largest divergence comes from nvdp__pairs_largest and is exact, and so is whether any pair is
 * infinite.  Pairs are drawn uniformly among the adjacent ordered ones, with replacement, from a
 * stream of their own: pair k depends on the seed and k alone.  Mean and quantiles are those of the
 * drawn pairs, with intervals (rdp/interval.h). */
#include "rdp/sampled.h"
#include "base/base.h"
#include "base/random.h"
#include "rdp/interval.h"
#include "rdp/order.h"
#include "rdp/search.h"
#include "rdp/subset.h"
#include "rdp/summary.h"
#include <math.h>
#include <stdlib.h>

static const double confidence = 0.95;

nvdp_status nvdp__pairs_is_sampled(struct nvdp_context *ctx,
                                   const struct nvdp_posteriors *posteriors,
                                   const struct nvdp_pairs_config *config, bool *sampled) {
    struct nvdp__groups groups;
    *sampled = false;
    if (config->max_pairs == 0) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__groups_create(ctx, posteriors, config->adjacency, &groups));
    *sampled = groups.pairs > config->max_pairs;
    nvdp__groups_free(&groups);
    return NVDP_OK;
}

struct sampled {
    struct nvdp_context *ctx;
    const struct nvdp_posteriors *set;
    const struct nvdp_pairs_config *config;
    double order;
    struct nvdp__groups groups;
    struct nvdp__pairs *pairs;
    double *value;  /* [drawn] */
    size_t *from;   /* [drawn] the pair's P */
    double *sorted; /* [drawn] in one unit */
};

/* Public lengths that differ: +inf, without a look at the posteriors. */
static bool apart(const struct sampled *work, size_t *p, size_t *q) {
    const struct nvdp_posteriors *set = work->set;
    if (set->policy != NVDP_LENGTH_PUBLIC || work->config->adjacency != NVDP_ADJACENT_ALL) {
        return false;
    }
    for (size_t i = 1; i < set->texts; i++) {
        if (nvdp__rows(set, i) == nvdp__rows(set, 0)) continue;
        *p = 0;
        *q = i;
        return true;
    }
    return false;
}

static void keep_largest(const struct sampled *work, const struct nvdp__largest *found,
                         struct nvdp_pairs_summary *to) {
    struct nvdp_divergence_summary *part[3] = {&to->sum, &to->per_component,
                                               &to->per_component_dim};
    for (int unit = NVDP__SUM; unit <= NVDP__PER_COMPONENT_DIM; unit++) {
        double value = found->value / nvdp__divisor(work->set, (enum nvdp__unit)unit, found->p);
        if (!(value > part[unit]->max)) continue;
        part[unit]->max = value;
        part[unit]->max_p = found->p;
        part[unit]->max_q = found->q;
    }
}

/* The maxima of every unit: within a group all samples have one size, unless a pair is infinite. */
static nvdp_status find_largest(struct sampled *work, struct nvdp_pairs_summary *to) {
    struct nvdp__largest found = {.value = INFINITY};
    to->sum.max = to->per_component.max = to->per_component_dim.max = -INFINITY;
    if (apart(work, &found.p, &found.q)) {
        keep_largest(work, &found, to);
        return NVDP_OK;
    }
    for (size_t g = 0; g < work->groups.count; g++) {
        NVDP_RETURN_IF_FAILED(
            nvdp__pairs_largest(work->pairs, work->order, &work->groups.group[g], &found));
        to->sample.summed += found.summed;
        keep_largest(work, &found, to);
    }
    return NVDP_OK;
}

/* Pair number k of the draw. */
static void draw(const struct sampled *work, size_t k, size_t *i, size_t *j) {
    const struct nvdp__noise noise = {.seed = work->config->seed};
    struct nvdp__stream stream =
        nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, NVDP__EPOCH_PAIRS, k);
    __extension__ typedef unsigned __int128 wide;
    wide at = (wide)nvdp__stream_u64(&stream) * work->groups.pairs;
    nvdp__groups_pair(&work->groups, (uint64_t)(at >> 64), i, j);
}

static nvdp_status evaluate(struct sampled *work) {
    const size_t drawn = work->config->max_pairs;
    const int threads = nvdp_context_threads(work->ctx);
    const struct nvdp__gaussian_plan plan =
        nvdp__gaussian_plan(work->order, work->config->arithmetic);
    const double elements = (double)work->set->offset[work->set->texts] * (double)work->set->dim /
                            (double)work->set->texts;
    const size_t round = (size_t)fmin(fmax(2e8 * threads / (1 + elements), 16.0 * threads), 1e6);
    struct nvdp__meter meter;
    nvdp__pairs_padding(work->pairs, &plan);
    nvdp__meter_begin(&meter, work->ctx, "pairs", "pair", 0, drawn);
    for (size_t first = 0; first < drawn; first += round) {
        const size_t end = nvdp__least(first + round, drawn);
        if (nvdp__cancelled(work->ctx)) {
            nvdp__meter_end(&meter);
            return nvdp__fail(work->ctx, NVDP_ERR_CANCELLED,
                              "pairs: cancelled after %zu of %zu drawn pairs", first, drawn);
        }
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

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double at_rank(const struct sampled *work, size_t rank, double none, double beyond) {
    if (rank == 0) return none;
    return rank > work->config->max_pairs ? beyond : work->sorted[rank - 1];
}

/* Mean and quantiles in one unit; what is infinite stands last. */
static void describe(struct sampled *work, enum nvdp__unit unit, size_t finite,
                     struct nvdp_divergence_summary *to, double *sd) {
    size_t drawn = work->config->max_pairs;
    for (size_t k = 0; k < drawn; k++) {
        work->sorted[k] = work->value[k] / nvdp__divisor(work->set, unit, work->from[k]);
    }
    qsort(work->sorted, drawn, sizeof *work->sorted, ascending);
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
        double rank = ceil(nvdp_pair_quantile_level[level] * (double)drawn - 1e-9);
        to->quantile[level] = at_rank(work, rank < 1 ? 1 : (size_t)rank, 0, INFINITY);
    }
}

/* After the sum's description, while `sorted` holds it. */
static void intervals(const struct sampled *work, size_t finite, double sd,
                      struct nvdp_pairs_summary *to) {
    struct nvdp_pairs_sample *sample = &to->sample;
    size_t drawn = work->config->max_pairs;
    sample->drawn = drawn;
    sample->confidence = confidence;
    sample->mean = nvdp__interval_student(confidence, finite, to->sum.mean_finite, sd);
    sample->mean_bound = (struct nvdp_interval){NAN, NAN};
    if (!isinf(to->sum.max)) {
        sample->mean_bound =
            nvdp__interval_bernstein(confidence, drawn, to->sum.mean, sd, to->sum.max);
    }
    for (int level = 0; level < NVDP_PAIR_QUANTILES; level++) {
        size_t low, high;
        nvdp__interval_ranks(confidence, drawn, nvdp_pair_quantile_level[level], &low, &high);
        sample->quantile[level].low = at_rank(work, low, 0, to->sum.max);
        sample->quantile[level].high = at_rank(work, high, 0, to->sum.max);
    }
    sample->infinite_share = nvdp__interval_share(confidence, drawn, drawn - finite);
    if (!isinf(to->sum.max)) sample->infinite_share.high = 0; /* known: none is */
}

static nvdp_status allocate(struct sampled *work) {
    size_t drawn = work->config->max_pairs;
    work->value = nvdp__calloc(work->ctx, drawn, sizeof *work->value);
    if (work->value == NULL) return NVDP_ERR_MEMORY;
    work->from = nvdp__calloc(work->ctx, drawn, sizeof *work->from);
    if (work->from == NULL) return NVDP_ERR_MEMORY;
    work->sorted = nvdp__calloc(work->ctx, drawn, sizeof *work->sorted);
    return work->sorted != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

static void summarize(struct sampled *work, struct nvdp_pairs_summary *to) {
    struct nvdp_divergence_summary *part[3] = {&to->sum, &to->per_component,
                                               &to->per_component_dim};
    size_t drawn = work->config->max_pairs;
    size_t finite = 0;
    for (size_t k = 0; k < drawn; k++) {
        /* the error of the fast arithmetic does not lead above the largest */
        if (work->value[k] > to->sum.max) work->value[k] = to->sum.max;
        finite += work->value[k] < INFINITY ? 1 : 0;
    }
    to->infinite = drawn - finite;
    for (int unit = NVDP__SUM; unit <= NVDP__PER_COMPONENT_DIM; unit++) {
        double sd;
        describe(work, (enum nvdp__unit)unit, finite, part[unit], &sd);
        if (unit == NVDP__SUM) intervals(work, finite, sd, to);
    }
}

nvdp_status nvdp__pairs_sampled(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                const struct nvdp_pairs_config *config,
                                struct nvdp_pairs_summary *out) {
    nvdp_status status = NVDP_OK;
    struct sampled work = {
        .ctx = ctx, .set = posteriors, .config = config, .order = nvdp__order(config->order)};
    struct nvdp_pairs_summary made = {.order = config->order,
                                      .adjacency = config->adjacency,
                                      .arithmetic = config->arithmetic,
                                      .texts = posteriors->texts};
    NVDP_TRY(nvdp__groups_create(ctx, posteriors, config->adjacency, &work.groups));
    made.pairs = work.groups.pairs;
    NVDP_TRY(allocate(&work));
    NVDP_TRY(nvdp__pairs_create(ctx, posteriors, &work.pairs));
    NVDP_TRY(find_largest(&work, &made));
    NVDP_TRY(evaluate(&work));
    summarize(&work, &made);
    *out = made;
cleanup:
    nvdp__pairs_free(work.pairs);
    nvdp__groups_free(&work.groups);
    free(work.value);
    free(work.from);
    free(work.sorted);
    return status;
}
