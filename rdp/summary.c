/* Statistics over all pairs.  An infinite divergence takes part in every one of them: it makes the
 * maximum and the mean infinite, and stands above all others in the quantiles.  What is said of the
 * finite pairs alone has a name of its own. */
#include "rdp/summary.h"
#include "rdp/pairs.h"
#include "rdp/sampled.h"
#include <math.h>
#include <stdlib.h>

const double nvdp_pair_quantile_level[NVDP_PAIR_QUANTILES] = {.5, .9, .95, .99, .999};

struct nvdp_pairs_config nvdp_pairs_config_default(void) {
    return (struct nvdp_pairs_config){.order = 1.1, .adjacency = NVDP_ADJACENT_ALL, .seed = 1};
}

static void swap(double *a, double *b) {
    double t = *a;
    *a = *b;
    *b = t;
}

static double middle(double a, double b, double c) {
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Puts the value that sorting would put at `place` there, smaller ones before it (Hoare 1961).
 * No NaN among them. */
static void select_place(double *values, size_t first, size_t n, size_t place) {
    size_t low = first;
    size_t high = n - 1;
    while (low < high) {
        double pivot = middle(values[low], values[low + (high - low) / 2], values[high]);
        size_t i = low;
        size_t j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i > j) break;
            swap(&values[i], &values[j]);
            i++;
            if (j == 0) break;
            j--;
        }
        if (place <= j) {
            high = j;
        } else if (place >= i) {
            low = i;
        } else {
            return;
        }
    }
}

double nvdp__quantile(size_t n, size_t first, double level, double *values, size_t *place) {
    double rank = ceil(level * (double)n - 1e-9); /* .95 * 20 is 19 */
    size_t at = rank < 1 ? 0 : (size_t)rank - 1;
    if (at >= n) at = n - 1;
    if (at >= first) select_place(values, first, n, at);
    *place = at;
    return values[at];
}

double nvdp__divisor(const struct nvdp_posteriors *set, enum nvdp__unit unit, size_t i) {
    if (unit == NVDP__SUM) return 1;
    double components = (double)nvdp_sample_components(set, i) * set->kappa;
    return unit == NVDP__PER_COMPONENT ? components : components * (double)set->dim;
}

/* One pass over the matrix: values[] receives those of the adjacent pairs, row by row. */
static size_t collect(const struct nvdp_posteriors *set, enum nvdp_adjacency adjacency,
                      enum nvdp__unit unit, const double *matrix, double *values,
                      struct nvdp_divergence_summary *out, size_t *infinite) {
    size_t pairs = 0;
    double sum = 0;
    *out = (struct nvdp_divergence_summary){.max = -INFINITY, .max_finite = -INFINITY};
    *infinite = 0;
    for (size_t i = 0; i < set->texts; i++) {
        double row = 0;
        double by = nvdp__divisor(set, unit, i); /* finite pairs have samples of one size */
        for (size_t j = 0; j < set->texts; j++) {
            if (!nvdp__adjacent(set, adjacency, i, j)) continue;
            double value = matrix[i * set->texts + j] / by;
            values[pairs++] = value;
            if (value > out->max) {
                out->max = value;
                out->max_p = i;
                out->max_q = j;
            }
            if (isinf(value)) {
                *infinite += 1;
            } else {
                row += value;
                out->max_finite = fmax(out->max_finite, value);
            }
        }
        sum += row;
    }
    size_t finite = pairs - *infinite;
    out->mean_finite = finite > 0 ? sum / (double)finite : NAN;
    if (finite == 0) out->max_finite = NAN;
    out->mean = *infinite > 0 ? INFINITY : out->mean_finite;
    return pairs;
}

static size_t count_pairs(const struct nvdp_posteriors *set, enum nvdp_adjacency adjacency) {
    size_t pairs = 0;
    for (size_t i = 0; i < set->texts; i++) {
        for (size_t j = 0; j < set->texts; j++) {
            pairs += nvdp__adjacent(set, adjacency, i, j) ? 1 : 0;
        }
    }
    return pairs;
}

nvdp_status nvdp__pairs_summarize(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                  const struct nvdp__pass *pass, const double *matrix,
                                  struct nvdp_pairs_summary *out) {
    enum nvdp_adjacency adjacency = pass->adjacency;
    struct nvdp_pairs_summary made = {.order = pass->order,
                                      .texts = set->texts,
                                      .adjacency = adjacency,
                                      .arithmetic = pass->arithmetic};
    struct nvdp_divergence_summary *part[3] = {&made.sum, &made.per_component,
                                               &made.per_component_dim};
    size_t room = count_pairs(set, adjacency);
    if (room == 0) {
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "pairs: no two of the %zu texts have the same length", set->texts);
    }
    double *values = nvdp__calloc(ctx, room, sizeof *values);
    if (values == NULL) return NVDP_ERR_MEMORY;
    for (int unit = NVDP__SUM; unit <= NVDP__PER_COMPONENT_DIM; unit++) {
        made.pairs = collect(set, adjacency, (enum nvdp__unit)unit, matrix, values, part[unit],
                             &made.infinite);
        size_t place = 0;
        for (int level = 0; level < NVDP_PAIR_QUANTILES; level++) {
            part[unit]->quantile[level] =
                nvdp__quantile(made.pairs, place, nvdp_pair_quantile_level[level], values, &place);
        }
    }
    free(values);
    *out = made;
    return NVDP_OK;
}

nvdp_status nvdp__pairs_check(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                              const struct nvdp_pairs_config *config) {
    bool sampled = false;
    if (!(config->order > 0)) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "order: expected a number > 0, found %g",
                          config->order);
    }
    if (config->adjacency != NVDP_ADJACENT_ALL && config->adjacency != NVDP_ADJACENT_SAME_LENGTH) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "adjacency: expected all or same-length, found %d",
                          (int)config->adjacency);
    }
    if (config->arithmetic != NVDP_PAIRS_FAST && config->arithmetic != NVDP_PAIRS_EXACT) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "arithmetic: expected fast or exact, found %d",
                          (int)config->arithmetic);
    }
    NVDP_RETURN_IF_FAILED(nvdp_posteriors_check(ctx, posteriors, ""));
    if (config->max_pairs == 1) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "max_pairs: expected 0 or at least 2, found 1");
    }
    if (posteriors->texts < 2) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "pairs: expected at least 2 texts, found %zu",
                          posteriors->texts);
    }
    NVDP_RETURN_IF_FAILED(nvdp__pairs_is_sampled(ctx, posteriors, config, &sampled));
    if (sampled && config->matrix != NULL) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "pairs: every pair's divergence was asked for, and at most %zu pairs: "
                          "expected one of both",
                          config->max_pairs);
    }
    if (!sampled && posteriors->texts > NVDP__PAIRS_TEXTS) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "pairs: expected at most %d texts for all their pairs, found %zu (set "
                          "max_pairs to draw some, or take a sample of the texts)",
                          NVDP__PAIRS_TEXTS, posteriors->texts);
    }
    return NVDP_OK;
}

nvdp_status nvdp_renyi_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                             const struct nvdp_pairs_config *config,
                             struct nvdp_pairs_summary *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__pairs *pairs = NULL;
    double *own = NULL;
    bool sampled = false;
    NVDP_RETURN_IF_FAILED(nvdp__pairs_check(ctx, posteriors, config));
    NVDP_RETURN_IF_FAILED(nvdp__pairs_is_sampled(ctx, posteriors, config, &sampled));
    if (sampled) return nvdp__pairs_sampled(ctx, posteriors, config, out);
    double *matrix = config->matrix;
    if (matrix == NULL) {
        own = nvdp__calloc(ctx, posteriors->texts * posteriors->texts, sizeof *own);
        if (own == NULL) return NVDP_ERR_MEMORY;
        matrix = own;
    }
    struct nvdp__pass pass = {
        .order = config->order, .adjacency = config->adjacency, .arithmetic = config->arithmetic};
    NVDP_TRY(nvdp__pairs_create(ctx, posteriors, &pairs));
    NVDP_TRY(nvdp__pairs_pass(pairs, &pass, matrix));
    NVDP_TRY(nvdp__pairs_refine(pairs, &pass, matrix));
    NVDP_TRY(nvdp__pairs_summarize(ctx, posteriors, &pass, matrix, out));
cleanup:
    nvdp__pairs_free(pairs);
    free(own);
    return status;
}
