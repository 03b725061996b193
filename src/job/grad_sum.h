/* The sum of the gradients of processes that train together (base/ranks.h), of training and of
 * pretraining, and their parameters.  Backward passes complete the gradient vector from its end on; what is
 * complete is added up while they go on. */
#ifndef NVDP_SRC_JOB_GRAD_SUM_H
#define NVDP_SRC_JOB_GRAD_SUM_H

#include "base/ranks.h"
#include "tensor/params.h"
#include <jansson.h>

struct nvdp__grad_sum;

/* *out NULL where this process is alone; most_rows: rows of the tracked table that a step may use (0: they
 * are never a few). */
nvdp_status nvdp__grad_sum_create(struct nvdp_context *ctx, struct nvdp__params *params,
                                  size_t most_rows, struct nvdp__grad_sum **out);
void nvdp__grad_sum_free(struct nvdp__grad_sum *sum); /* NULL allowed, as in the others */
/* Before a step's gradient, of which the rows of the tracked table are known in all processes
 * (nvdp__grad_rows with the same rows in the same order).  `overlapped`: it is complete where the one
 * backward pass that follows tells so; else only at the end. */
void nvdp__grad_sum_begin(struct nvdp__grad_sum *sum, bool overlapped);
/* params->grad is the sum. */
nvdp_status nvdp__grad_sum_finish(struct nvdp__grad_sum *sum, const struct nvdp__device *dev);
/* Everybody has rank 0's parameters from here on: sums, and with them initial values, may depend on the number of
 * threads. */
nvdp_status nvdp__params_share(struct nvdp_context *ctx, const struct nvdp__params *params);
/* NVDP_ERR_STATE where they are not the same in all processes: before they are used or given away. */
nvdp_status nvdp__params_same(struct nvdp_context *ctx, const struct nvdp__params *params);
/* What it took: {processes, bytes of the last step's sum, steps of this process, the seconds of them in which
 * nothing was done but wait}; NULL where this process is alone. */
json_t *nvdp__grad_sum_json(const struct nvdp__grad_sum *sum);

#endif
