/* Optimizers: AdamW or SGD over a parameter table, or Muon for the matrices of linear maps and AdamW for all other
 * parameters; clipping of the global norm; the schedule of the learning rate. */
#ifndef NVDP_SRC_JOB_OPTIMIZER_H
#define NVDP_SRC_JOB_OPTIMIZER_H

#include "job/options.h"
#include "tensor/ops.h"
#include "tensor/optimizer.h"
#include "tensor/tensor.h"

enum nvdp__optimizer_kind {
    NVDP__OPTIMIZER_ADAMW,
    NVDP__OPTIMIZER_SGD,
    NVDP__OPTIMIZER_MUON /* for the matrices of linear maps; AdamW for all other parameters */
};

/* The learning rate of AdamW or SGD from this tensor on. */
struct nvdp__rate {
    size_t tensor;
    double lr;
    size_t span; /* the first span of the tensor */
};
enum { NVDP__RATES = 2 };

struct nvdp__optimizer {
    struct nvdp__adamw_options adamw;
    enum nvdp__optimizer_kind kind;      /* set before create */
    double momentum;                     /* momentum of Muon and SGD */
    struct nvdp__rate rate[NVDP__RATES]; /* set before create; tensors in ascending order */
    size_t rates;                        /* 0: adamw.lr for all tensors */
    /* members that create sets, and that release sets to 0, so that create may follow again */
    uint64_t steps_taken;
    float *m, *v;  /* [params->total] moments of AdamW; m is also the momentum */
    float *anchor; /* [params->total] target of weight decay; NULL stands for 0, and is required
                    * for Muon. The optimizer owns this array. */
    /* The parameters in parts, without frozen tensors; each row of the tracked table is a part. */
    struct nvdp__span *span;
    double *part; /* [spans] sum of squares of each span */
    size_t spans, capacity;
    struct nvdp__matrix *matrix; /* matrices that Muon updates */
    size_t matrices, matrix_capacity;
    float *scratch;
    size_t first_row, rows; /* spans of the tracked table; `rows` is 0 if there is no such table */
};

/* Creates the optimizer; the caller releases it, also after an error. */
nvdp_status nvdp__optimizer_create(struct nvdp_context *ctx, const struct nvdp__params *params,
                                   struct nvdp__optimizer *optimizer);
/* Creates AdamW with this learning rate and weight decay, and default values of all other options, for a network
 * that is trained beside a job. Releases an earlier optimizer. */
nvdp_status nvdp__adamw_create(struct nvdp_context *ctx, const struct nvdp__params *params,
                               double rate, double decay, struct nvdp__optimizer *optimizer);
/* Updates the optimizer after m and v were read from a file. */
void nvdp__optimizer_restored(const struct nvdp__optimizer *optimizer,
                              const struct nvdp__params *params);
void nvdp__optimizer_release(struct nvdp__optimizer *optimizer);
/* Takes one step at lr * factor along params->grad and updates prepared copies of weights. *norm is the gradient's
 * norm before clipping; if the norm is not finite, returns NVDP_ERR_NUMERIC and changes nothing. */
nvdp_status nvdp__optimizer_step(struct nvdp__optimizer *optimizer, const struct nvdp__device *dev,
                                 struct nvdp__params *params, double factor, double *norm);
/* Returns the factor of the learning rate: linear warm-up over warmup * steps, then linear decay
 * to 0. `step` counts from 0. */
double nvdp__lr_factor(uint64_t step, uint64_t steps, double warmup);

#endif
