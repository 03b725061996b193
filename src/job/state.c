/* state.ckpt, of training and of pretraining: parameters, moments and counters, enough to continue
 * bit for bit. */
#include "job/state.h"

#include "base/json.h"
#include <nvdp/safetensors.h>
#include <stdlib.h>
#include <string.h>

json_t *nvdp__state_object(const struct nvdp__state_member *members, const void *state) {
    json_t *object = json_pack("{s:i}", "version", NVDP__STATE_VERSION);
    int failed = object == NULL;
    for (const struct nvdp__state_member *m = members; m->key != NULL; m++) {
        const void *at = (const char *)state + m->offset;
        json_t *value = m->real ? json_real(*(const double *)at)
                                : json_integer((json_int_t) * (const uint64_t *)at);
        failed |= json_object_set_new(object, m->key, value);
    }
    if (failed == 0) return object;
    json_decref(object);
    return NULL;
}

nvdp_status nvdp__state_values(struct nvdp_context *ctx, const char *path, const json_t *object,
                               const struct nvdp__state_member *members, void *state) {
    int64_t version = 0;
    NVDP_RETURN_IF_FAILED(nvdp__json_int_required(ctx, path, object, "version", NVDP__STATE_VERSION,
                                                  NVDP__STATE_VERSION, &version));
    for (const struct nvdp__state_member *m = members; m->key != NULL; m++) {
        void *at = (char *)state + m->offset;
        NVDP_RETURN_IF_FAILED(
            m->real ? nvdp__json_real(ctx, path, object, m->key, 0, -1e300, 1e300, at)
                    : nvdp__json_int_required(ctx, path, object, m->key, 0, INT64_MAX, at));
    }
    return NVDP_OK;
}

nvdp_status nvdp__state_file_write(const char *path, json_t *object,
                                   const struct nvdp__params *params,
                                   const struct nvdp__optimizer *optimizer) {
    char *text = object == NULL ? NULL : json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(object);
    if (text == NULL) return nvdp__fail(params->ctx, NVDP_ERR_MEMORY, "%s: out of memory", path);
    size_t from = nvdp__params_frozen(params), count = params->total - from;
    const struct nvdp_tensor_source tensors[] = {
        {"parameters", NVDP_DTYPE_F32, 1, {count}, params->value + from},
        {"first_moment", NVDP_DTYPE_F32, 1, {count}, optimizer->m + from},
        {"second_moment", NVDP_DTYPE_F32, 1, {count}, optimizer->v + from},
    };
    const char *const metadata[] = {"format", "nvdp-state", "state", text, NULL};
    nvdp_status status = nvdp_safetensors_write(params->ctx, path, 3, tensors, metadata);
    free(text);
    return status;
}

static nvdp_status read_vector(const char *path, const struct nvdp_safetensors *file,
                               const char *name, const struct nvdp__params *params, float *to) {
    const struct nvdp_tensor_info *info = nvdp_safetensors_find(file, name);
    size_t from = nvdp__params_frozen(params), count = params->total - from;
    if (info == NULL || info->dtype != NVDP_DTYPE_F32 || info->count != count) {
        return nvdp__fail(params->ctx, NVDP_ERR_INPUT,
                          "%s: tensor '%s': expected %zu F32 values, found %zu", path, name, count,
                          info == NULL ? (size_t)0 : info->count);
    }
    nvdp_safetensors_read_f32(info, to + from);
    return NVDP_OK;
}

nvdp_status nvdp__state_file_read(const char *path, struct nvdp__params *params,
                                  struct nvdp__optimizer *optimizer, json_t **object) {
    nvdp_status status = NVDP_OK;
    struct nvdp_safetensors *file = NULL;
    json_t *state = NULL;
    NVDP_TRY(nvdp_safetensors_open(params->ctx, path, &file));
    const char *text = nvdp_safetensors_metadata(file, "state");
    state = text == NULL ? NULL : json_loads(text, 0, NULL);
    if (state == NULL) {
        status = nvdp__fail(params->ctx, NVDP_ERR_INPUT,
                            "%s: expected a training state, found none", path);
        goto cleanup;
    }
    NVDP_TRY(read_vector(path, file, "parameters", params, params->value));
    NVDP_TRY(read_vector(path, file, "first_moment", params, optimizer->m));
    NVDP_TRY(read_vector(path, file, "second_moment", params, optimizer->v));
    nvdp__optimizer_restored(optimizer, params);
    NVDP__HAND_OVER(object, state);
cleanup:
    nvdp_safetensors_close(file);
    json_decref(state);
    return status;
}
