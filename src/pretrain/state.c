#include "base/file.h"
#include "pretrain/trainer.h"
#include "train/state_file.h"

#include <inttypes.h>
#include <stdlib.h>

enum { COUNTERS = 7, QUANTITIES = 9 };

struct members {
    struct nvdp__counter counter[COUNTERS];
    struct nvdp__quantity quantity[QUANTITIES];
};

/* The table of a state's members; it points into `members`. */
static struct nvdp__state_table table_of(struct nvdp__pretrain_state *s, uint64_t *optimizer_steps,
                                         struct members *members) {
    *members = (struct members){
        .counter = {{"optimizer_steps", optimizer_steps},
                    {"step", &s->step},
                    {"epoch", &s->epoch},
                    {"epoch_row", &s->epoch_row},
                    {"tokens", &s->tokens},
                    {"masked", &s->masked},
                    {"metrics_bytes", &s->metrics_bytes}},
        .quantity = {{"seconds", &s->seconds},
                     {"sum_nll", &s->sum_nll},
                     {"sum_masked", &s->sum_masked},
                     {"sum_right", &s->sum_right},
                     {"sum_next", &s->sum_next},
                     {"sum_next_right", &s->sum_next_right},
                     {"sum_steps", &s->sum_steps},
                     {"loss", &s->loss},
                     {"accuracy", &s->accuracy}},
    };
    return (struct nvdp__state_table){members->counter, COUNTERS, members->quantity, QUANTITIES};
}

nvdp_status nvdp__pretrain_state_save(struct nvdp__pretrainer *t) {
    struct members members;
    struct nvdp__state_table table = table_of(&t->state, &t->optimizer.steps_taken, &members);
    char *path = nvdp__join(t->ctx, t->config.out, "state.ckpt");
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status =
        nvdp__state_file_write(path, nvdp__state_object(&table), &t->model.params, &t->optimizer);
    if (status == NVDP_OK) t->saved_at = nvdp__now();
    free(path);
    return status;
}

nvdp_status nvdp__pretrain_state_load(struct nvdp__pretrainer *t) {
    nvdp_status status = NVDP_OK;
    json_t *object = NULL;
    struct members members;
    struct nvdp__pretrain_state state = {0};
    uint64_t optimizer_steps = 0;
    struct nvdp__state_table table = table_of(&state, &optimizer_steps, &members);
    char *path = nvdp__join(t->ctx, t->config.out, "state.ckpt");
    if (path == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__state_file_read(path, &t->model.params, &t->optimizer, &object));
    NVDP_TRY(nvdp__state_values(t->ctx, path, object, &table));
    if (state.step > t->config.steps)
        NVDP_TRY(nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                            "%s: expected at most %" PRIu64 " steps, found %" PRIu64, path,
                            t->config.steps, state.step));
    nvdp__weights_changed(&t->model.dev);
    t->state = state;
    t->optimizer.steps_taken = optimizer_steps;
cleanup:
    json_decref(object);
    free(path);
    return status;
}
