/* AdamW or SGD over a parameter table, or Muon for the matrices of linear maps and AdamW for the
 * rest; global-norm clipping, the schedule of the learning rate. */
#ifndef NVDP_SRC_JOB_OPTIMIZER_H
#define NVDP_SRC_JOB_OPTIMIZER_H

#include "job/options.h"
#include "tensor/ops.h"
#include "tensor/optimizer.h"
#include "tensor/tensor.h"

enum nvdp__optimizer_kind {
    NVDP__OPTIMIZER_ADAMW,
    NVDP__OPTIMIZER_SGD,
    NVDP__OPTIMIZER_MUON /* for the matrices of linear maps; AdamW for everything else */
};

/* The learning rate of AdamW or SGD from this tensor on. */
struct nvdp__rate {
    size_t tensor;
    double lr;
    size_t span; /* the tensor's first span */
};
enum { NVDP__RATES = 2 };

struct nvdp__optimizer {
    struct nvdp__adamw_options adamw;
    enum nvdp__optimizer_kind kind;      /* set before create */
    double momentum;                     /* of Muon and SGD */
    struct nvdp__rate rate[NVDP__RATES]; /* set before create; tensors rising */
    size_t rates;                        /* 0: adamw.lr for all tensors */
    /* what create sets, and release sets to 0, so that create may follow again */
    uint64_t steps_taken;
    float *m, *v;  /* [params->total] */
    float *anchor; /* [params->total] target of weight decay; NULL: 0, as for Muon. Released with
                    * the rest */
    /* The parameters in parts, without frozen tensors; each row of the tracked table is a part. */
    struct nvdp__span *span;
    double *part; /* [spans] */
    size_t spans, capacity;
    struct nvdp__matrix *matrix; /* matrices that Muon updates */
    size_t matrices, matrix_capacity;
    float *scratch;
    size_t first_row, rows; /* spans of the tracked table; rows 0: no such table */
};

/* Release the optimizer, also after an error. */
nvdp_status nvdp__optimizer_create(struct nvdp_context *ctx, const struct nvdp__params *params,
                                   struct nvdp__optimizer *optimizer);
/* Creates AdamW with this learning rate and weight decay, and the usual other options, for a network that is trained beside
 * a job. Releases an earlier optimizer. */
nvdp_status nvdp__adamw_create(struct nvdp_context *ctx, const struct nvdp__params *params,
                               double rate, double decay, struct nvdp__optimizer *optimizer);
/* Call it after m and v were read from a file. */
void nvdp__optimizer_restored(const struct nvdp__optimizer *optimizer,
                              const struct nvdp__params *params);
void nvdp__optimizer_release(struct nvdp__optimizer *optimizer);
/* Takes one step at lr * factor along params->grad and updates prepared copies of weights. *norm
 * is the gradient's norm before clipping; if it is not finite, returns NVDP_ERR_NUMERIC and
 * changes nothing. */
nvdp_status nvdp__optimizer_step(struct nvdp__optimizer *optimizer, const struct nvdp__device *dev,
                                 struct nvdp__params *params, double factor, double *norm);
/* Returns the factor of the learning rate: linear warm-up over warmup * steps, then linear decay
 * to 0. `step` counts from 0. */
double nvdp__lr_factor(uint64_t step, uint64_t steps, double warmup);

#endif
