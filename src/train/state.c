/* RUN/state.ckpt: parameters, moments and counters, enough to continue bit for bit.  A safetensors
 * file, so that it is read with the same distrust as any other. */
#include "base/file.h"
#include "base/json.h"
#include "train/trainer.h"

#include <nvdp/safetensors.h>
#include <stdlib.h>
#include <string.h>

enum { STATE_VERSION = 2 };

static json_t *state_json(const struct nvdp__trainer *t) {
    const struct nvdp__train_state *s = &t->state;
    return json_pack(
        "{s:i,s:I,s:I,s:I,s:I,s:I,s:f,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:I,s:b,s:b}", "version",
        STATE_VERSION, "optimizer_steps", (json_int_t)t->optimizer.steps_taken, "epoch",
        (json_int_t)s->epoch, "epoch_step", (json_int_t)s->epoch_step, "step", (json_int_t)s->step,
        "best_epoch", (json_int_t)s->best_epoch, "best_value", s->best_value, "since_best",
        (json_int_t)s->since_best, "sum_task", s->sum_task, "sum_g", s->sum_g, "sum_d", s->sum_d,
        "epoch_g", s->epoch_g, "epoch_d", s->epoch_d, "seconds", s->seconds, "tokens", s->tokens,
        "metrics_bytes", (json_int_t)s->metrics_bytes, "finished", s->finished, "early_stopped",
        s->early_stopped);
}

nvdp_status nvdp__state_save(struct nvdp__trainer *t) {
    nvdp_status status = NVDP_ERR_MEMORY;
    size_t total = t->model->params.total;
    char *path = nvdp__join(t->ctx, t->config.out, "state.ckpt");
    json_t *object = state_json(t);
    char *text = object == NULL ? NULL : json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (path == NULL || text == NULL) goto cleanup;
    const struct nvdp_tensor_source tensors[] = {
        {"parameters", NVDP_F32, 1, {total}, t->model->params.value},
        {"first_moment", NVDP_F32, 1, {total}, t->optimizer.m},
        {"second_moment", NVDP_F32, 1, {total}, t->optimizer.v},
    };
    const char *const metadata[] = {"format", "nvdp-state", "state", text, NULL};
    NVDP_TRY(nvdp_safetensors_write(t->ctx, path, 3, tensors, metadata));
    t->saved_at = nvdp__now();
cleanup:
    json_decref(object);
    free(text);
    free(path);
    return status;
}

struct counter {
    const char *key;
    uint64_t *to;
};
struct quantity {
    const char *key;
    double *to;
};

static nvdp_status read_state(struct nvdp__trainer *t, const char *path, const json_t *object) {
    struct nvdp__train_state s = {0};
    uint64_t optimizer_steps = 0;
    int64_t version = 0;
    const struct counter counters[] = {
        {"optimizer_steps", &optimizer_steps}, {"epoch", &s.epoch},
        {"epoch_step", &s.epoch_step},         {"step", &s.step},
        {"best_epoch", &s.best_epoch},         {"since_best", &s.since_best},
        {"metrics_bytes", &s.metrics_bytes}};
    const struct quantity quantities[] = {{"best_value", &s.best_value}, {"sum_task", &s.sum_task},
                                          {"sum_g", &s.sum_g},           {"sum_d", &s.sum_d},
                                          {"epoch_g", &s.epoch_g},       {"epoch_d", &s.epoch_d},
                                          {"seconds", &s.seconds},       {"tokens", &s.tokens}};
    NVDP_RETURN_IF_FAILED(nvdp__json_int_required(t->ctx, path, object, "version", STATE_VERSION,
                                                  STATE_VERSION, &version));
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        int64_t value = 0;
        NVDP_RETURN_IF_FAILED(
            nvdp__json_int_required(t->ctx, path, object, counters[i].key, 0, INT64_MAX, &value));
        *counters[i].to = (uint64_t)value;
    }
    for (size_t i = 0; i < sizeof quantities / sizeof quantities[0]; i++) {
        NVDP_RETURN_IF_FAILED(nvdp__json_real(t->ctx, path, object, quantities[i].key, 0, -1e300,
                                              1e300, quantities[i].to));
    }
    NVDP_RETURN_IF_FAILED(nvdp__json_bool(t->ctx, path, object, "finished", false, &s.finished));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_bool(t->ctx, path, object, "early_stopped", false, &s.early_stopped));
    if (s.step > t->steps || s.epoch_step > t->epoch_steps) {
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "%s: expected at most %llu steps, found %llu: the data changed since",
                          path, (unsigned long long)t->steps, (unsigned long long)s.step);
    }
    t->state = s;
    t->optimizer.steps_taken = optimizer_steps;
    return NVDP_OK;
}

static nvdp_status read_vector(struct nvdp__trainer *t, const char *path,
                               const struct nvdp_safetensors *file, const char *name, float *to) {
    size_t total = t->model->params.total;
    const struct nvdp_tensor_info *info = nvdp_safetensors_find(file, name);
    if (info == NULL || info->dtype != NVDP_F32 || info->count != total) {
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "%s: tensor '%s': expected %zu F32 values, found %zu", path, name, total,
                          info == NULL ? (size_t)0 : info->count);
    }
    nvdp_safetensors_read_f32(info, to);
    return NVDP_OK;
}

nvdp_status nvdp__state_load(struct nvdp__trainer *t, bool *found) {
    nvdp_status status = NVDP_OK;
    struct nvdp_safetensors *file = NULL;
    json_t *object = NULL;
    char *path = nvdp__join(t->ctx, t->config.out, "state.ckpt");
    if (path == NULL) return NVDP_ERR_MEMORY;
    *found = nvdp__exists(path);
    if (!*found) goto cleanup;
    NVDP_TRY(nvdp_safetensors_open(t->ctx, path, &file));
    const char *text = nvdp_safetensors_metadata(file, "state");
    object = text == NULL ? NULL : json_loads(text, 0, NULL);
    if (object == NULL) {
        status =
            nvdp__fail(t->ctx, NVDP_ERR_INPUT, "%s: expected a training state, found none", path);
        goto cleanup;
    }
    NVDP_TRY(read_state(t, path, object));
    NVDP_TRY(read_vector(t, path, file, "parameters", t->model->params.value));
    NVDP_TRY(read_vector(t, path, file, "first_moment", t->optimizer.m));
    NVDP_TRY(read_vector(t, path, file, "second_moment", t->optimizer.v));
    nvdp__optimizer_restored(&t->optimizer, &t->model->params);
    nvdp__weights_changed(&t->model->dev);
cleanup:
    nvdp_safetensors_close(file);
    json_decref(object);
    free(path);
    return status;
}
