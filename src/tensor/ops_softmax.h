/* Cross-entropy over many classes: the vocabulary. */
#ifndef NVDP_SRC_TENSOR_OPS_SOFTMAX_H
#define NVDP_SRC_TENSOR_OPS_SOFTMAX_H

#include "tensor/device.h"

/* For each row of logits [rows, classes]: nll = -log softmax(logits)[label] in nats, and the first
 * of the largest logits.  Then the logits become scale * (softmax - one-hot label), the gradient of
 * scale * nll; scale 0 leaves them undefined.  label, nll, best [rows] are host memory, labels are
 * below `classes`.  NaN where a logit is NaN.  Rows are independent of each other and of threads.
 */
void nvdp__softmax_loss(const struct nvdp__device *dev, size_t rows, size_t classes, float *logits,
                        const int32_t *label, double scale, double *nll, int32_t *best);

#endif
