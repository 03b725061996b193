#include "share/public_model.h"

#include "base/file.h"
#include "share/reader.h"
#include <stdlib.h>

static const char statement[] = "The sealed block and the classifier of a sender's model.  They "
                                "were trained on the sender's texts "
                                "and labels; the divergences of a file of embeddings say nothing "
                                "about what these weights show.";

nvdp_status nvdp__public_model_check(struct nvdp_context *ctx, const char *directory,
                                     bool overwrite) {
    if (overwrite || nvdp__directory_empty(directory)) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "%s: the output directory is not empty; use --overwrite", directory);
}

/* The feed-forward width is not in the configuration: the weights have it. */
static size_t inner_width(const struct nvdp_model *model) {
    size_t i = nvdp__params_find(&model->params, "nvdp.intermediate.dense.weight");
    return i != SIZE_MAX ? model->params.entry[i].shape[0] : 0;
}

nvdp_status nvdp__public_model_write(const struct nvdp_model *model, const char *directory) {
    nvdp_status status = NVDP_OK;
    const struct nvdp_model_info *info = &model->info;
    struct nvdp__reader *reader = NULL;
    struct nvdp__reader_shape shape = {
        .dim = info->nvib.latent_dim,
        .heads = info->nvib.latent_heads,
        .inner = inner_width(model),
        .outputs = info->outputs,
        .act = info->bert.hidden_act,
        .eps = info->bert.layer_norm_eps,
        .pool = info->nvib.pool,
        .kappa = info->nvib.kappa,
        .regression = info->task.regression,
    };
    struct nvdp__reader_story story = {
        .task = info->task.name,
        .labels = info->task.labels,
        .fingerprint = info->fingerprint,
        .statement = statement,
    };
    NVDP_TRY(nvdp__reader_create(model->ctx, &shape, false, &reader));
    if (nvdp__reader_adopt(reader, &model->params) != reader->params.count)
        NVDP_TRY(nvdp__fail(model->ctx, NVDP_ERR_UNSUPPORTED,
                            "%s: a model of method %s has no public part", directory,
                            nvdp_method_name(info->method)));
    NVDP_TRY(nvdp__reader_save(reader, &story, directory));
cleanup:
    nvdp__reader_free(reader);
    return status;
}
