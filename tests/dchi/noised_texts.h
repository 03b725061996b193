/* One noised vector per text, drawn by nvdp__sequence_perturb() after its check. */
#ifndef NVDP_TESTS_DCHI_NOISED_TEXTS_H
#define NVDP_TESTS_DCHI_NOISED_TEXTS_H

#include "dchi/dchi.h"

static inline nvdp_status noised_texts(struct nvdp_context *ctx, double eta, double clip,
                                       size_t dim, const double *in, double *out) {
    const struct nvdp__noise noise = {.seed = 1};
    const struct nvdp__token_place place[2] = {{.text = 0}, {.text = 1}};
    double scratch[8];
    NVDP_TRY(nvdp__sequence_check(ctx, eta, clip, dim));
    nvdp__sequence_perturb(&noise, 1, eta, clip, 2, dim, place, in, scratch, out);
    return NVDP_OK;
}

#endif
