/* Sums the gradients of processes that train together (base/ranks.h), and shares their
 * parameters. Backward passes complete the gradient vector from its end on; complete parts are
 * summed while the backward pass continues. */
#ifndef NVDP_SRC_JOB_GRAD_SUM_H
#define NVDP_SRC_JOB_GRAD_SUM_H

#include "base/ranks.h"
#include "tensor/params.h"
#include <jansson.h>

struct nvdp__grad_sum;

/* Sets *out to NULL if there is only one process. max_rows is the maximum number of rows of the
 * tracked table in a step (0: always dense). */
nvdp_status nvdp__grad_sum_create(struct nvdp_context *ctx, struct nvdp__params *params,
                                  size_t max_rows, struct nvdp__grad_sum **out);
void nvdp__grad_sum_free(struct nvdp__grad_sum *sum); /* NULL allowed, as below */
/* Call before a step's gradient. All processes must know the same rows of the tracked table, in
 * the same order (nvdp__grad_rows). With `overlapped`, one backward pass follows that reports
 * complete parts; otherwise the gradient is complete only at the end. */
void nvdp__grad_sum_begin(struct nvdp__grad_sum *sum, bool overlapped);
/* Replaces params->grad by the sum. */
nvdp_status nvdp__grad_sum_finish(struct nvdp__grad_sum *sum, const struct nvdp__device *dev);
/* Copies rank 0's parameters to all processes. Sums, and therefore initial values, may depend on
 * the number of threads. */
nvdp_status nvdp__params_share(struct nvdp_context *ctx, const struct nvdp__params *params);
/* Returns NVDP_ERR_STATE if the parameters differ between processes. Call it before the
 * parameters are used or published. */
nvdp_status nvdp__params_same(struct nvdp_context *ctx, const struct nvdp__params *params);
/* Returns {processes, bytes of the last step's sum, steps of this process, seconds of waiting};
 * NULL for a single process. */
json_t *nvdp__grad_sum_json(const struct nvdp__grad_sum *sum);

#endif
