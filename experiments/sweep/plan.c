/* nvdp_sweep_plan: the runs of a grid, how far they are, what they cost. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* The plan and what its texts stand in. */
struct whole_plan {
    struct nvdp_sweep_plan plan; /* first: the user's pointer */
    struct nvdp_sweep_plan_run *run;
    struct nvdp__grid grid;
    char **owned; /* [2 plan.runs]: `varied`, then `message` */
};

const char *nvdp_sweep_run_state_name(enum nvdp_sweep_run_state state) {
    static const char *const names[] = {"waiting", "running", "done", "failed"};
    return (size_t)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

static enum nvdp_sweep_run_state state_of(const struct nvdp__entry *entry) {
    switch (entry->state) {
    case NVDP__ENTRY_WAITING:
        return NVDP_SWEEP_WAITING;
    case NVDP__ENTRY_DONE:
        return NVDP_SWEEP_DONE;
    case NVDP__ENTRY_FAILED:
        return NVDP_SWEEP_FAILED;
    default:
        return NVDP_SWEEP_RUNNING;
    }
}

/* "latent_dim=8, lr=0.001" */
static char *varied_text(struct nvdp_context *ctx, const json_t *varied) {
    char *text = nvdp__strdup(ctx, "");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)varied, key, value) {
        char *word = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        char *longer = NULL;
        if (text != NULL && word != NULL)
            longer = nvdp__format(ctx, "%s%s%s=%s", text, text[0] != '\0' ? ", " : "", key, word);
        free(word);
        free(text);
        text = longer;
    }
    return text;
}

static nvdp_status fill(struct nvdp_context *ctx, const struct nvdp__table *table, size_t i,
                        struct whole_plan *whole) {
    const struct nvdp__sweep_run *run = &whole->grid.run[i];
    char **varied = &whole->owned[2 * i], **message = &whole->owned[2 * i + 1];
    *varied = varied_text(ctx, run->varied);
    if (*varied == NULL) return NVDP_ERR_MEMORY;
    enum nvdp_method method = NVDP_METHOD_BASE;
    NVDP_RETURN_IF_FAILED(nvdp_method_find(ctx, nvdp_config_get(run->config, "method"), &method));
    if (table->entry[i].state == NVDP__ENTRY_FAILED)
        (void)nvdp__sweep_failures(ctx, table->directory, run->name, message);
    whole->run[i] = (struct nvdp_sweep_plan_run){
        .name = run->name,
        .task = run->task,
        .label = run->label,
        .varied = *varied,
        .method = method,
        .lambda_g = nvdp__run_number(run, "lambda-g"),
        .lambda_d = nvdp__run_number(run, "lambda-d"),
        .seed = strtoull(nvdp_config_get(run->config, "seed"), NULL, 10),
        .state = state_of(&table->entry[i]),
        .message = *message,
    };
    return NVDP_OK;
}

/* --- cost --- */

/* Whether two runs have the same steps and the same memory: all is equal but lambda and seed. */
static bool same_cost(const struct nvdp__sweep_run *a, const struct nvdp__sweep_run *b) {
    return strcmp(a->task, b->task) == 0 && strcmp(a->label, b->label) == 0 &&
           json_equal(a->varied, b->varied);
}

static nvdp_status add_costs(struct nvdp_context *ctx, struct whole_plan *whole) {
    for (size_t i = 0; i < whole->grid.count; i++) {
        const struct nvdp__sweep_run *run = &whole->grid.run[i];
        struct nvdp_train_plan plan = NVDP_RESULT(struct nvdp_train_plan);
        size_t k = 0;
        while (k < i && !same_cost(run, &whole->grid.run[k])) {
            k++;
        }
        if (k == i) {
            struct nvdp_config *config = NULL;
            NVDP_RETURN_IF_FAILED(nvdp_config_copy(run->config, &config));
            nvdp_status status = nvdp_config_set(config, "out", "runs");
            if (status == NVDP_OK) status = nvdp_train_plan(ctx, config, NULL, &plan);
            nvdp_config_free(config);
            NVDP_RETURN_IF_FAILED(status);
            whole->run[i].steps = plan.steps;
            whole->run[i].memory_bytes = plan.memory_bytes;
        } else {
            whole->run[i].steps = whole->run[k].steps;
            whole->run[i].memory_bytes = whole->run[k].memory_bytes;
        }
    }
    return NVDP_OK;
}

nvdp_status nvdp_sweep_plan(struct nvdp_context *ctx, const struct nvdp_sweep_config *config,
                            bool cost, struct nvdp_sweep_plan **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__table table = {0};
    struct nvdp_sweep_state state;
    struct whole_plan *whole = nvdp__calloc(ctx, 1, sizeof *whole);
    if (whole == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__sweep_read_grid(ctx, config, &whole->grid));
    NVDP_TRY(nvdp__table_open(ctx, config->out, &whole->grid, config->retry_failed, &table));
    size_t count = whole->grid.count;
    whole->run = nvdp__calloc(ctx, count, sizeof *whole->run);
    whole->owned = nvdp__calloc(ctx, 2 * count, sizeof *whole->owned);
    if (whole->run == NULL || whole->owned == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    for (size_t i = 0; i < count; i++) {
        NVDP_TRY(fill(ctx, &table, i, whole));
    }
    if (cost) NVDP_TRY(add_costs(ctx, whole));
    nvdp__table_count(&table, &state);
    whole->plan = (struct nvdp_sweep_plan){
        .runs = count, .run = whole->run, .seconds = nvdp__table_waiting_seconds(&table)};
    *out = &whole->plan;
    whole = NULL;
cleanup:
    nvdp__table_close(&table);
    if (whole != NULL) nvdp_sweep_plan_free(&whole->plan);
    return status;
}

void nvdp_sweep_plan_free(struct nvdp_sweep_plan *plan) {
    struct whole_plan *whole = (struct whole_plan *)plan;
    if (whole == NULL) return;
    for (size_t i = 0; whole->owned != NULL && i < 2 * whole->grid.count; i++) {
        free(whole->owned[i]);
    }
    nvdp__grid_release(&whole->grid);
    free(whole->run);
    free(whole->owned);
    free(whole);
}
