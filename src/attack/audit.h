/* Audits of a mechanism by samples of two inputs, from scores of these samples. */
#ifndef NVDP_SRC_ATTACK_AUDIT_H
#define NVDP_SRC_ATTACK_AUDIT_H

#include "base/base.h"
#include <nvdp/audit.h>

/* nvdp_audit_samples() of samples that are scored already: count[s] of P and of Q, in an order that is independent of
 * them; the first halves choose direction and threshold, the others measure. */
nvdp_status nvdp__audit_scores(struct nvdp_context *ctx, const size_t count[2],
                               double *const score[2], double delta, double confidence,
                               struct nvdp_sample_audit *out);

/* ---- npy.c: arrays of numpy: the NPY format, versions 1.0 and 2.0, as numpy.save writes it ---- */

#define NVDP__NPY_LARGEST 1e100 /* squares of differences, and their sums, stay in double */

/* A [shape[0], shape[1]] array, float32 or float64 in the file, little-endian, in C order: neither side 0, all
 * numbers finite and within +-NVDP__NPY_LARGEST.  *value is to be freed.  Anything else is NVDP_ERR_INPUT. */
nvdp_status nvdp__npy_read(struct nvdp_context *ctx, const char *path, size_t shape[2],
                           double **value);

#endif
