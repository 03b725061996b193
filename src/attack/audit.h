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

#endif
