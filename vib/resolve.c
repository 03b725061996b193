/* The configuration of a mechanism without weights. */
#include "vib/vib.h"

#include <math.h>

nvdp_status nvdp__vib_resolve(struct nvdp_context *ctx, const struct nvdp_bert_config *bert,
                              const char *method, enum nvdp_pool pool,
                              struct nvdp_nvib_config *config) {
    struct nvdp_nvib_config made = *config;
    made.latent_heads = 0;
    made.kappa = 1;
    made.query = NVDP_QUERY_SAMPLED;
    made.clip.alpha_min = 0;
    made.clip.alpha_max = INFINITY;
    NVDP_RETURN_IF_FAILED(
        nvdp_nvib_config_check(ctx, &made, bert->hidden_size, bert->num_attention_heads));
    if (made.latent_dim == 0) made.latent_dim = bert->hidden_size;
    if (made.pool == NVDP_POOL_AUTO) made.pool = pool;
    if (made.pool == NVDP_POOL_WEIGHTED)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "pool: expected auto, first or mean for method %s, which has no weights, "
                          "found weighted",
                          method);
    *config = made;
    return NVDP_OK;
}
