/* The largest divergences, evaluated once more in exact arithmetic. */
#include "rdp/pair.h"
#include "rdp/summary.h"
#include <math.h>
#include <stdlib.h>

/* Above twice the error of the fast arithmetic: nothing below can be the maximum. */
static const double doubt = 2e-6;

struct pair {
    size_t i, j;
};

struct list {
    struct pair *pairs;
    size_t count, capacity;
};

static double largest(const struct nvdp_posteriors *set, enum nvdp_adjacency adjacency,
                      enum nvdp__unit unit, const double *matrix) {
    double most = 0;
    for (size_t i = 0; i < set->texts; i++) {
        double by = nvdp__divisor(set, unit, i);
        for (size_t j = 0; j < set->texts; j++) {
            double value = matrix[i * set->texts + j] / by;
            if (value > most && value < INFINITY && nvdp__adjacent(set, adjacency, i, j)) {
                most = value;
            }
        }
    }
    return most;
}

/* The pairs that may hold the unit's largest finite value. */
static nvdp_status find(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                        enum nvdp_adjacency adjacency, enum nvdp__unit unit, const double *matrix,
                        struct list *to) {
    double from = (1 - doubt) * largest(set, adjacency, unit, matrix);
    to->count = 0;
    if (from == 0) return NVDP_OK;
    for (size_t i = 0; i < set->texts; i++) {
        double by = nvdp__divisor(set, unit, i);
        for (size_t j = 0; j < set->texts; j++) {
            double value = matrix[i * set->texts + j] / by;
            if (!(value >= from && value < INFINITY)) continue;
            if (!nvdp__adjacent(set, adjacency, i, j)) continue;
            NVDP_RETURN_IF_FAILED(
                nvdp__reserve(ctx, &to->pairs, &to->capacity, to->count + 1, sizeof *to->pairs));
            to->pairs[to->count++] = (struct pair){.i = i, .j = j};
        }
    }
    return NVDP_OK;
}

nvdp_status nvdp__pairs_refine(const struct nvdp__pairs *pairs, const struct nvdp__pass *pass,
                               double *matrix) {
    nvdp_status status = NVDP_OK;
    const struct nvdp_posteriors *set = pairs->set;
    struct list list = {0};
    if (pass->arithmetic == NVDP_PAIRS_EXACT) return NVDP_OK;
    const struct nvdp__gaussian_plan plan = nvdp__gaussian_plan(pass->order, NVDP_PAIRS_EXACT);
    const int threads = nvdp_context_threads(pairs->ctx);
    for (int unit = NVDP__SUM; unit <= NVDP__PER_COMPONENT_DIM; unit++) {
        NVDP_TRY(find(pairs->ctx, set, pass->adjacency, (enum nvdp__unit)unit, matrix, &list));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t k = 0; k < list.count; k++) {
            size_t i = list.pairs[k].i;
            size_t j = list.pairs[k].j;
            matrix[i * set->texts + j] = nvdp__pair_exact(pairs, &plan, i, j);
        }
    }
cleanup:
    free(list.pairs);
    return status;
}
