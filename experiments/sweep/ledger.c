#include "ledger.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- groups --- */

static bool is_of(const struct nvdp_sweep_group *group, const struct nvdp__sweep_run *run) {
    return strcmp(group->task, run->config.task) == 0 && strcmp(group->label, run->label) == 0;
}

static void find_groups(struct nvdp__ledger *ledger) {
    for (size_t i = 0; i < ledger->grid->count; i++) {
        const struct nvdp__sweep_run *run = &ledger->grid->run[i];
        size_t at = 0;
        while (at < ledger->groups && !is_of(&ledger->group[at], run)) {
            at++;
        }
        if (at == ledger->groups)
            ledger->group[ledger->groups++] =
                (struct nvdp_sweep_group){.task = run->config.task, .label = run->label};
        ledger->entry[i].group = at;
        ledger->group[at].runs++;
    }
}

/* --- looking --- */

bool nvdp__entry_is_settled(const struct nvdp__entry *entry) {
    return entry->state == NVDP__ENTRY_DONE || entry->state == NVDP__ENTRY_FAILED;
}

/* Whether the run's files say that it is done or failed. */
static bool settle(struct nvdp_context *ctx, const struct nvdp__ledger *ledger, size_t i) {
    struct nvdp__entry *entry = &ledger->entry[i];
    const char *name = ledger->grid->run[i].name;
    if (nvdp__sweep_is_done(ctx, ledger->directory, name, &entry->seconds)) {
        entry->state = NVDP__ENTRY_DONE;
    } else if (nvdp__sweep_failures(ctx, ledger->directory, name, NULL) > entry->pardoned) {
        entry->state = NVDP__ENTRY_FAILED;
    }
    return nvdp__entry_is_settled(entry);
}

nvdp_status nvdp__ledger_look(struct nvdp_context *ctx, struct nvdp__ledger *ledger, size_t i) {
    static const enum nvdp__entry_state state_of[] = {
        [NVDP__CLAIM_FREE] = NVDP__ENTRY_WAITING,
        [NVDP__CLAIM_HELD] = NVDP__ENTRY_ELSEWHERE,
        [NVDP__CLAIM_SILENT] = NVDP__ENTRY_SILENT,
    };
    struct nvdp__entry *entry = &ledger->entry[i];
    enum nvdp__claim_state state = NVDP__CLAIM_FREE;
    if (entry->state == NVDP__ENTRY_HERE || nvdp__entry_is_settled(entry)) return NVDP_OK;
    if (settle(ctx, ledger, i)) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__claim_look(ctx, ledger->directory, ledger->grid->run[i].name,
                                           &ledger->self, &entry->claim, &state));
    entry->state = state_of[state];
    return NVDP_OK;
}

nvdp_status nvdp__ledger_take(struct nvdp_context *ctx, struct nvdp__ledger *ledger, size_t i,
                              double timeout) {
    struct nvdp__entry *entry = &ledger->entry[i];
    const char *name = ledger->grid->run[i].name;
    bool won = false;
    NVDP_RETURN_IF_FAILED(nvdp__claim_take(ctx, ledger->directory, name, &ledger->self, timeout,
                                           &entry->claim, &won));
    if (!won) return nvdp__ledger_look(ctx, ledger, i);
    /* it may have been finished between the look and the claim */
    if (settle(ctx, ledger, i))
        return nvdp__claim_release(ctx, ledger->directory, name, &ledger->self, "settled",
                                   &entry->claim);
    entry->state = NVDP__ENTRY_HERE;
    return NVDP_OK;
}

/* --- the whole --- */

nvdp_status nvdp__ledger_open(struct nvdp_context *ctx, const char *directory,
                              const struct nvdp__grid *grid, bool retry_failed,
                              struct nvdp__ledger *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__ledger ledger = {
        .directory = directory, .grid = grid, .self = nvdp__holder_self()};
    ledger.entry = nvdp__calloc(ctx, grid->count, sizeof *ledger.entry);
    ledger.group = nvdp__calloc(ctx, grid->count, sizeof *ledger.group);
    if (ledger.entry == NULL || ledger.group == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    find_groups(&ledger);
    for (size_t i = 0; i < grid->count; i++) {
        ledger.entry[i].seconds = NAN;
        if (retry_failed)
            ledger.entry[i].pardoned =
                nvdp__sweep_failures(ctx, directory, grid->run[i].name, NULL);
        NVDP_TRY(nvdp__ledger_look(ctx, &ledger, i));
    }
    *out = ledger;
    ledger = (struct nvdp__ledger){0};
cleanup:
    nvdp__ledger_close(&ledger);
    return status;
}

void nvdp__ledger_close(struct nvdp__ledger *ledger) {
    for (size_t i = 0; ledger->entry != NULL && i < ledger->grid->count; i++) {
        nvdp__claim_forget(&ledger->entry[i].claim);
    }
    free(ledger->entry);
    free(ledger->group);
    *ledger = (struct nvdp__ledger){0};
}

/* --- counting --- */

double nvdp__ledger_usual_seconds(const struct nvdp__ledger *ledger, size_t group) {
    double own = ledger->group[group].seconds;
    return isnan(own) ? ledger->seconds : own;
}

/* Means of the times that finished runs left. */
static void count_seconds(struct nvdp__ledger *ledger) {
    double sum = 0;
    size_t known = 0;
    for (size_t g = 0; g < ledger->groups; g++) {
        double group_sum = 0;
        size_t group_known = 0;
        for (size_t i = 0; i < ledger->grid->count; i++) {
            const struct nvdp__entry *entry = &ledger->entry[i];
            if (entry->group != g || isnan(entry->seconds)) continue;
            group_sum += entry->seconds;
            group_known++;
        }
        ledger->group[g].seconds = group_known == 0 ? NAN : group_sum / (double)group_known;
        sum += group_sum;
        known += group_known;
    }
    ledger->seconds = known == 0 ? NAN : sum / (double)known;
}

static void count_entry(const struct nvdp__entry *entry, struct nvdp_sweep_group *group,
                        struct nvdp_sweep_state *state) {
    bool elsewhere = entry->state == NVDP__ENTRY_ELSEWHERE || entry->state == NVDP__ENTRY_SILENT;
    bool running = elsewhere || entry->state == NVDP__ENTRY_HERE;
    bool done = entry->state == NVDP__ENTRY_DONE, failed = entry->state == NVDP__ENTRY_FAILED;
    group->done += done;
    group->failed += failed;
    group->running += running;
    state->done += done;
    state->failed += failed;
    state->running += running;
    state->elsewhere += elsewhere;
}

void nvdp__ledger_count(struct nvdp__ledger *ledger, struct nvdp_sweep_state *state) {
    *state = (struct nvdp_sweep_state){.runs = ledger->grid->count,
                                       .groups = ledger->groups,
                                       .group = ledger->group,
                                       .eta_seconds = NAN};
    for (size_t g = 0; g < ledger->groups; g++) {
        struct nvdp_sweep_group *group = &ledger->group[g];
        group->done = 0;
        group->failed = 0;
        group->running = 0;
    }
    for (size_t i = 0; i < ledger->grid->count; i++) {
        count_entry(&ledger->entry[i], &ledger->group[ledger->entry[i].group], state);
    }
    count_seconds(ledger);
}
