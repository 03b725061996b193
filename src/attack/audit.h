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

#endif
