/* The privacy of a data set's texts under a mechanism, internal. */
#ifndef NVDP_DCHI_PRIVACY_H
#define NVDP_DCHI_PRIVACY_H

#include "dchi/dchi.h"
#include "dchi/options.h"
#include "rdp/options.h"
#include <nvdp/text_privacy.h>

nvdp_status nvdp__dchi_privacy(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                               const struct nvdp_token_texts *texts,
                               const struct nvdp__privacy_options *options, double *matrix,
                               struct nvdp_dchi_report *out);
nvdp_status nvdp__sequence_privacy(struct nvdp_context *ctx, double eta, double clip, size_t texts,
                                   size_t dim, const double *states,
                                   const struct nvdp__privacy_options *options, double *matrix,
                                   struct nvdp_privacy_report *out);

#endif
