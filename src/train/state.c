/* RUN/state.ckpt: parameters, moments and counters, enough to continue bit for bit. */
#include "base/file.h"
#include "base/json.h"
#include "train/state_file.h"
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

enum { COUNTERS = 7, QUANTITIES = 8 };

struct members {
    struct nvdp__counter counter[COUNTERS];
    struct nvdp__quantity quantity[QUANTITIES];
};

/* The table of a state's members; it points into `members`. */
static struct nvdp__state_table table_of(struct nvdp__train_state *s, uint64_t *optimizer_steps,
                                         struct members *members) {
    *members = (struct members){
        .counter = {{"optimizer_steps", optimizer_steps},
                    {"epoch", &s->epoch},
                    {"epoch_step", &s->epoch_step},
                    {"step", &s->step},
                    {"best_epoch", &s->best_epoch},
                    {"since_best", &s->since_best},
                    {"metrics_bytes", &s->metrics_bytes}},
        .quantity = {{"best_value", &s->best_value},
                     {"sum_task", &s->sum_task},
                     {"sum_g", &s->sum_g},
                     {"sum_d", &s->sum_d},
                     {"epoch_g", &s->epoch_g},
                     {"epoch_d", &s->epoch_d},
                     {"seconds", &s->seconds},
                     {"tokens", &s->tokens}},
    };
    return (struct nvdp__state_table){members->counter, COUNTERS, members->quantity, QUANTITIES};
}

nvdp_status nvdp__state_save(struct nvdp__trainer *t) {
    struct members members;
    struct nvdp__state_table table = table_of(&t->state, &t->optimizer.steps_taken, &members);
    char *path = nvdp__join(t->ctx, t->config.out, "state.ckpt");
    if (path == NULL) return NVDP_ERR_MEMORY;
    json_t *object = nvdp__state_object(&table);
    json_object_set_new(object, "finished", json_boolean(t->state.finished));
    json_object_set_new(object, "early_stopped", json_boolean(t->state.early_stopped));
    json_object_set_new(object, "anchor", json_string(t->anchor));
    nvdp_status status = nvdp__state_file_write(path, object, &t->model->params, &t->optimizer);
    if (status == NVDP_OK) t->saved_at = nvdp__now();
    free(path);
    return status;
}

static nvdp_status read_state(struct nvdp__trainer *t, const char *path, const json_t *object) {
    struct nvdp__train_state s = {0};
    uint64_t optimizer_steps = 0;
    struct members members;
    struct nvdp__state_table table = table_of(&s, &optimizer_steps, &members);
    NVDP_RETURN_IF_FAILED(nvdp__state_values(t->ctx, path, object, &table));
    NVDP_RETURN_IF_FAILED(nvdp__json_bool(t->ctx, path, object, "finished", false, &s.finished));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_bool(t->ctx, path, object, "early_stopped", false, &s.early_stopped));
    const char *anchor = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(t->ctx, path, object, "anchor", "", &anchor));
    if (strcmp(anchor, t->anchor) != 0) {
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "%s: expected the weights that the run decays towards, found others in "
                          "%s: the checkpoint changed since",
                          path, t->config.model);
    }
    if (s.step > t->steps || s.epoch_step > t->epoch_steps) {
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "%s: expected at most %llu steps, found %llu: the data changed since",
                          path, (unsigned long long)t->steps, (unsigned long long)s.step);
    }
    t->state = s;
    t->optimizer.steps_taken = optimizer_steps;
    return NVDP_OK;
}

nvdp_status nvdp__state_load(struct nvdp__trainer *t, bool *found) {
    json_t *object = NULL;
    char *path = nvdp__join(t->ctx, t->config.out, "state.ckpt");
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = NVDP_OK;
    *found = nvdp__exists(path);
    if (*found) status = nvdp__state_file_read(path, &t->model->params, &t->optimizer, &object);
    if (*found && status == NVDP_OK) status = read_state(t, path, object);
    nvdp__weights_changed(&t->model->dev);
    json_decref(object);
    free(path);
    return status;
}
