/* Sums the gradients of processes that train together (base/ranks.h), and shares their parameters.  Backward passes complete the
 * gradient vector from its end on; the complete part is summed while they go on. */
#ifndef NVDP_SRC_JOB_GRAD_SUM_H
#define NVDP_SRC_JOB_GRAD_SUM_H

#include "base/ranks.h"
#include "tensor/params.h"
#include <jansson.h>

struct nvdp__grad_sum;

/* *out NULL if this process is alone; most_rows: maximum number of rows of the tracked table in a step (0: always dense). */
nvdp_status nvdp__grad_sum_create(struct nvdp_context *ctx, struct nvdp__params *params,
                                  size_t most_rows, struct nvdp__grad_sum **out);
void nvdp__grad_sum_free(struct nvdp__grad_sum *sum); /* NULL allowed, as below */
/* Before a step's gradient.  All processes must know the same rows of the tracked table, in the same order (nvdp__grad_rows).
 * `overlapped`: one backward pass follows, which reports complete parts; otherwise the gradient is complete only at the end. */
void nvdp__grad_sum_begin(struct nvdp__grad_sum *sum, bool overlapped);
/* Replaces params->grad by the sum. */
nvdp_status nvdp__grad_sum_finish(struct nvdp__grad_sum *sum, const struct nvdp__device *dev);
/* Gives rank 0's parameters to all processes: sums, and with them initial values, may depend on the number of threads. */
nvdp_status nvdp__params_share(struct nvdp_context *ctx, const struct nvdp__params *params);
/* NVDP_ERR_STATE if the parameters differ between processes.  Call it before they are used or given away. */
nvdp_status nvdp__params_same(struct nvdp_context *ctx, const struct nvdp__params *params);
/* {processes, bytes of the last step's sum, steps of this process, seconds of waiting in them}; NULL if this process is alone. */
json_t *nvdp__grad_sum_json(const struct nvdp__grad_sum *sum);

#endif
