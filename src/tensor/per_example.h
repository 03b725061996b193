/* Gradients of the single texts of a batch, without ever computing the gradient of one text. One
 * backward pass yields the norm of each text's gradient over all parameters (ghost norms: Li et al.
 * 2022) and the sum of the gradients with a weight per text (book-keeping: Bu et al. 2023).
 *
 *     begin -> a backward pass -> norms -> add
 *
 * While a device has `per_example`, _backward operations do not compute parameter gradients but
 * record the factors of these gradients here; gradients with respect to activations are computed
 * as usual. Rows offset[i]..offset[i+1] of an operation belong to text i; if offset is NULL, row
 * i belongs to text i. The input x of a product must stay unchanged until
 * nvdp__per_example_add(), or is recomputed there (layer->recompute). Output gradients (dy) are
 * copied. */
#ifndef NVDP_SRC_TENSOR_PER_EXAMPLE_H
#define NVDP_SRC_TENSOR_PER_EXAMPLE_H

#include "base/base.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"

struct nvdp__per_example;

/* Creates the records for batches of at most max_texts texts with at most `longest` rows each
 * per operation. `decoded` is the max number of rows that are multiplied with the table of word
 * embeddings as a decoder; 0 if there are none. */
nvdp_status nvdp__per_example_create(const struct nvdp__device *dev,
                                     const struct nvdp__params *params, size_t max_texts,
                                     size_t longest, size_t decoded,
                                     struct nvdp__per_example **out);
void nvdp__per_example_free(struct nvdp__per_example *examples); /* NULL is allowed */
NVDP__AUTOPTR(struct nvdp__per_example, nvdp__per_example_free)
/* Forgets the previous batch. */
void nvdp__per_example_begin(struct nvdp__per_example *examples, size_t texts);
size_t nvdp__per_example_texts(const struct nvdp__device *dev); /* number of texts of the batch */
/* Computes the norms; to be called after the backward pass. norm [texts] is an upper bound of the
 * norm that nvdp__per_example_add() would add for a text with weight 1; for another weight, the
 * bound is multiplied by the weight. The bound includes the possible errors of float32 sums and of
 * rounding rows to bfloat16. square [texts] receives the squared norms themselves; NULL if not
 * wanted.
 *
 * Fails with NVDP_ERR_STATE if an operation did not fit the plan. Also fails in the first call
 * if params->grad is not zero: some gradient was then added outside these records, and would not
 * be clipped. */
nvdp_status nvdp__per_example_norms(const struct nvdp__device *dev, double *square, double *norm);
/* Returns true until the first call of nvdp__per_example_norms(). */
bool nvdp__per_example_first(const struct nvdp__per_example *examples);
/* Adds to params->grad the sum over texts of weight[i] times the gradient of text i; sets SET
 * matrices if `first`. Weight 0 leaves a text out even if its numbers are not finite: the inputs
 * of the text's rows are overwritten by 0. To be called once per backward pass. */
void nvdp__per_example_add(const struct nvdp__device *dev, const float *weight, bool first);

/* ---- called by operations ---- */

/* Records dw = dy^T x and db = sum of the rows of dy, if the layer has these gradients. On a
 * bfloat16 device, dy is bfloat16 unless layer->f32. */
void nvdp__per_example_linear(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                              struct nvdp__tensor x, struct nvdp__tensor dy);
/* Returns zeros [texts, n] for each text's gradient of the n parameters with gradient `grad`;
 * NULL if the gradients do not fit the plan. */
float *nvdp__per_example_vectors(const struct nvdp__device *dev, float *grad, size_t n);
/* Returns such zeros for parameters that several operations read: each call in a batch returns
 * the same memory, so that the gradients add up. The tensor has the flag NVDP__PARAM_SHARED. */
float *nvdp__per_example_shared(const struct nvdp__device *dev, float *grad, size_t n);
/* Returns true if the rows are split among the texts of the batch; if not,
 * nvdp__per_example_norms() fails. */
bool nvdp__per_example_splits(const struct nvdp__device *dev, const int32_t *offset, size_t rows);
/* Records that the gradients of the tables are rows of dy. Only nvdp__per_example_add() may
 * overwrite dy. */
void nvdp__per_example_embedding(const struct nvdp__device *dev,
                                 const struct nvdp__embedding *gradients, struct nvdp__tensor dy);

/* ---- noise ---- */

/* Adds sd times a standard normal to the gradient of every trained parameter; the sum is
 * computed in double and rounded once. The key of a stream has the lower 32 bits of the step,
 * and the higher bits of the step together with the position in the vector. */
void nvdp__gradient_noise(const struct nvdp__device *dev, const struct nvdp__params *params,
                          const struct nvdp__noise *noise, uint64_t step, double sd);

#endif
