/* The library's tensor operations on the reference kernels, under other names. A source that is
 * compiled after this header, such as an encoder, uses these kernels. Only float32. */
#ifndef NVDP_TESTS_SUPPORT_PLAIN_KERNELS_H
#define NVDP_TESTS_SUPPORT_PLAIN_KERNELS_H

#include "tensor/ops.h"
#include "tensor/optimizer.h"

void plain_dense_forward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                         struct nvdp__tensor x, struct nvdp__tensor y);
void plain_dense_backward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                          struct nvdp__tensor x, struct nvdp__tensor dy, struct nvdp__tensor dx,
                          bool add);
void plain_activation_forward(const struct nvdp__device *dev, enum nvdp__act act,
                              struct nvdp__tensor x, struct nvdp__tensor y);
void plain_activation_backward(const struct nvdp__device *dev, enum nvdp__act act,
                               struct nvdp__tensor x, struct nvdp__tensor dy,
                               struct nvdp__tensor dx, struct nvdp__tensor y);
void plain_dropout_apply(const struct nvdp__device *dev, const struct nvdp__dropout *drop, size_t n,
                         float *x);
void plain_norm_forward(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                        struct nvdp__tensor x, struct nvdp__tensor residual,
                        struct nvdp__tensor sum, struct nvdp__tensor y,
                        struct nvdp__tensor rounded);
void plain_norm_backward(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                         struct nvdp__tensor sum, struct nvdp__tensor d, struct nvdp__tensor d_x);
void plain_attend_forward(const struct nvdp__device *dev, const struct nvdp__attention *att);
void plain_attend_backward(const struct nvdp__device *dev, const struct nvdp__attention *att,
                           const struct nvdp__attention_gradient *d);
void plain_embed_forward(const struct nvdp__device *dev, const struct nvdp__embedding *tables,
                         struct nvdp__tensor y);
void plain_embed_backward(const struct nvdp__device *dev, const struct nvdp__embedding *gradients,
                          struct nvdp__tensor dy);
void plain_rows_scatter_add(const struct nvdp__device *dev, size_t rows, size_t dim,
                            const int32_t *index, const float *y, float *x);
void plain_softmax_loss(const struct nvdp__device *dev, size_t rows, size_t classes, float *logits,
                        size_t labels, const int32_t *label, double scale, double *nll,
                        int32_t *best);

/* ---- on the library's operations ---- */

/* Takes one step of AdamW over n elements, all with decay. */
void support_adamw_step(const struct nvdp__device *dev, const struct nvdp__adamw *opt, size_t n,
                        const float *g, const float *anchor, float *m, float *v, float *x);
double support_dot(size_t n, const float *x, const float *y);

#ifdef PLAIN_KERNELS
#define nvdp__dense_forward plain_dense_forward
#define nvdp__dense_backward plain_dense_backward
#define nvdp__activation_forward plain_activation_forward
#define nvdp__activation_backward plain_activation_backward
#define nvdp__dropout_apply plain_dropout_apply
#define nvdp__norm_forward plain_norm_forward
#define nvdp__norm_backward plain_norm_backward
#define nvdp__attend_forward plain_attend_forward
#define nvdp__attend_backward plain_attend_backward
#define nvdp__embed_forward plain_embed_forward
#define nvdp__embed_backward plain_embed_backward
#define nvdp__rows_scatter_add plain_rows_scatter_add
#define nvdp__softmax_loss plain_softmax_loss
#endif

#endif
