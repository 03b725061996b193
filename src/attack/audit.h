/* Audits a mechanism by scores of samples of two inputs. */
#ifndef NVDP_SRC_ATTACK_AUDIT_H
#define NVDP_SRC_ATTACK_AUDIT_H

#include "base/base.h"
#include <nvdp/audit.h>

/* Audits scored samples like nvdp_audit_samples(): score[s] has count[s] scores of P and of Q, in an order that is
 * independent of them.  The first halves choose direction and threshold, the others measure. */
nvdp_status nvdp__audit_scores(struct nvdp_context *ctx, const size_t count[2],
                               double *const score[2], double delta, double confidence,
                               struct nvdp_sample_audit *out);

/* ---- npy.c: arrays of numpy: the NPY format, versions 1.0 and 2.0, as numpy.save writes it ---- */

#define NVDP__NPY_LARGEST                                                                          \
    1e100 /* keeps squares of differences, and their sums, in the range of double */

/* Reads a [shape[0], shape[1]] array: float32 or float64 in the file, little-endian, in C order.  Both sides must be
 * positive, and all numbers finite and within +-NVDP__NPY_LARGEST; otherwise NVDP_ERR_INPUT.  The caller frees
 * *value. */
nvdp_status nvdp__npy_read(struct nvdp_context *ctx, const char *path, size_t shape[2],
                           double **value);

#endif
