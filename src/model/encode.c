/* Encodes texts without noise, for nvdp_encode() and nvdp_encoder_load(). In addition to
 * src/encoder, the code only checks that the folder does not hold a model of a private method. */
#include "encoder/encode.h"

#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "model/model.h"
#include "options/result.h"
#include <nvdp/method.h>
#include <string.h>

/* Refuses private models: the classifier of a private model does not read BERT's pooled vector,
 * so encoding could not give the model's logits. */
static nvdp_status refuse_private(struct nvdp_context *ctx, const char *path) {
    nvdp__autoptr(json_decref) json_t *config = NULL;
    const char *method = NULL;
    enum nvdp_method found;
    if (nvdp__exists(path))
        NVDP_TRY(nvdp__json_read(ctx, path, &config)); /* tables of vectors have no config.json */
    const json_t *ours = json_object_get(config, "nvdp");
    if (!json_is_object(ours)) return NVDP_OK;
    NVDP_TRY(
        nvdp__json_string(ctx, path, ours, "method", nvdp_method_name(NVDP_METHOD_BASE), &method));
    if (nvdp_method_find(NULL, method, &found) != NVDP_OK || nvdp_method_is_private(found))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "%s: expected a plain BERT or a model of method base or reg, found "
                          "method %s; to share its texts use nvdp export",
                          path, method);
    return NVDP_OK;
}

nvdp_status nvdp_encode(struct nvdp_context *ctx, const struct nvdp_config *config,
                        struct nvdp_encoding *out) {
    return nvdp__encode_file(ctx, config, refuse_private, out);
}

nvdp_status nvdp_encoder_load(struct nvdp_context *ctx, const struct nvdp_config *config,
                              struct nvdp_encoder **out) {
    return nvdp__encoder_create(ctx, config, refuse_private, out);
}

nvdp_status nvdp__encoder_open(struct nvdp_context *ctx, const char *const *settings,
                               struct nvdp_encoder **out, struct nvdp_encoder_info *info) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    NVDP_TRY(nvdp_config_create(ctx, "encoder", &config));
    for (; *settings != NULL; settings += 2)
        NVDP_TRY(nvdp_config_set(config, settings[0], settings[1]));
    NVDP_TRY(nvdp_encoder_load(ctx, config, out));
    info->struct_size = sizeof *info;
    return nvdp_encoder_describe(*out, info);
}

/* --- the result table --- */

#define ROW(member, ...) NVDP_RESULT_ROW(struct nvdp_encoding, member, __VA_ARGS__)

static void print_pooling(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_encoding *r = result;
    if (strcmp(r->pooling, "none") != 0)
        nvdp_result_line(to, "sentence vectors", "%s%s", r->pooling,
                         r->normalized ? ", of unit length" : "");
}

const struct nvdp_result_table nvdp__result_encoding = {
    .name = "encoding",
    .help = "a file of plain hidden states",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        ROW(texts, "texts", NVDP_SCOPE_FILE, 0, "number of texts", .label = "texts"),
        ROW(max_length, "tokens", NVDP_SCOPE_TEXT, 0, "length at which texts were cut",
            .label = "longest text", .after = " tokens at most"),
        ROW(pooling, NULL, NVDP_SCOPE_MODEL, 0, "how a sentence vector is made; none: without",
            .print = print_pooling),
        ROW(normalized, NULL, NVDP_SCOPE_MODEL, 0, "sentence vectors have unit length"),
        {0}}};
