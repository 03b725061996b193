/* The gradients of a batch's texts one by one, without ever forming one: the norm of each over all
 * parameters (ghost norms: Li et al. 2022), and their sum with a weight for each, from what one
 * backward pass leaves behind (book-keeping: Bu et al. 2023).
 *
 *     begin -> a backward pass -> norms -> add
 *
 * While a device has `per_example`, _backward operations leave the gradients of parameters alone and
 * tell what these are made of; gradients with respect to activations are computed as ever.  An
 * operation's rows offset[i]..offset[i+1] are text i's; offset NULL: row i is text i's.  What a
 * product read (x) stays unchanged until nvdp__per_example_add, or is computed once more there (layer->again); output
 * gradients (dy) are copied. */
#ifndef NVDP_SRC_TENSOR_PER_EXAMPLE_H
#define NVDP_SRC_TENSOR_PER_EXAMPLE_H

#include "tensor/ops.h"
#include "tensor/params.h"

struct nvdp__per_example;

/* For batches of at most max_texts texts, of which an operation has at most `longest` rows each.
 * decoded: most rows that the table of word embeddings is multiplied with, as a decoder; 0: none. */
nvdp_status nvdp__per_example_create(const struct nvdp__device *dev,
                                     const struct nvdp__params *params, size_t max_texts,
                                     size_t longest, size_t decoded,
                                     struct nvdp__per_example **out);
void nvdp__per_example_free(struct nvdp__per_example *examples); /* NULL allowed */
/* Forgets the last batch. */
void nvdp__per_example_begin(struct nvdp__per_example *examples, size_t texts);
size_t nvdp__per_example_texts(const struct nvdp__device *dev); /* of the batch */
/* After the backward pass.  norm [texts]: at least the norm of what nvdp__per_example_add would add for
 * a text with weight 1, and, times a weight, of that with this weight: what float32 sums and the
 * rounding of bfloat16 rows may err by is in it.  square [texts] (NULL: skip): the squared norm
 * itself.  NVDP_ERR_STATE where an operation did not fit the plan, and, on the first call, where
 * params->grad is not zero: some gradient went another way, and nobody would clip it. */
nvdp_status nvdp__per_example_norms(const struct nvdp__device *dev, double *square, double *norm);
/* Whether the next call of it is the first. */
bool nvdp__per_example_first(const struct nvdp__per_example *examples);
/* params->grad += sum over texts of weight[i] times text i's gradient; matrices that are SET are set
 * where `first`.  Weight 0 leaves a text out, whatever its numbers: what its rows read is overwritten by 0.  Once after a
 * backward pass. */
void nvdp__per_example_add(const struct nvdp__device *dev, const float *weight, bool first);

/* ---- what operations tell ---- */

/* dw and db of a layer, where there are any: dy^T x and the sum of dy's rows.  On a bfloat16 device,
 * unless layer->f32, dy is bfloat16. */
void nvdp__per_example_linear(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                              struct nvdp__tensor x, struct nvdp__tensor dy);
/* [texts, n] zeros, to become each text's gradient of the n parameters whose gradient `grad` is. NULL
 * where it does not fit. */
float *nvdp__per_example_vectors(const struct nvdp__device *dev, float *grad, size_t n);
/* Whether so many rows are those of the batch's texts; where not, the norms will say so. */
bool nvdp__per_example_cut(const struct nvdp__device *dev, const int32_t *offset, size_t rows);
/* The tables' gradients are rows of dy, which may be overwritten by nvdp__per_example_add only. */
void nvdp__per_example_embedding(const struct nvdp__device *dev,
                                 const struct nvdp__embedding *gradients, struct nvdp__tensor dy);

/* ---- noise ---- */

/* Every trained parameter's gradient += sd times a standard normal, in double, rounded once.  Streams
 * are keyed by the step's lower 32 bits, and by its higher ones with the place in the vector. */
void nvdp__gradient_noise(const struct nvdp__device *dev, const struct nvdp__params *params,
                          const struct nvdp__noise *noise, uint64_t step, double sd);

#endif
