/* The workers' seats: who sits down to which run, how it ends, what is still to be had. */
#include "seats.h"

#include <math.h>

static const double LOOK_INTERVAL = 0.5; /* seconds between looks for something to begin */
static const double BUSY_INTERVAL = 5;   /* the same, while every worker has work: for the counts */
static const double RENEWALS = 8;        /* of a claim within its timeout */

static const char *name_of(const struct nvdp__sweep *sweep, size_t i) {
    return sweep->grid.run[i].name;
}

size_t nvdp__seats(const struct nvdp__sweep *sweep) {
    return (size_t)sweep->config->jobs;
}

/* --- beginning and ending a run --- */

static nvdp_status begin(struct nvdp__sweep *sweep, struct nvdp__seat *seat, size_t i) {
    seat->taken = true; /* now, so that the claim is given back where there is no process */
    seat->run = i;
    seat->begun = nvdp__now();
    return nvdp__worker_start(sweep->ctx, &sweep->place, &sweep->grid.run[i], &seat->worker);
}

static void say(struct nvdp__sweep *sweep, size_t i, double seconds,
                const struct nvdp__failure *outcome) {
    struct nvdp_sweep_state state;
    nvdp__ledger_count(&sweep->ledger, &state);
    if (outcome->status == NVDP_OK) {
        nvdp__log(sweep->ctx, NVDP_LOG_INFO, "%zu of %zu: %s: done in %.1f s",
                  state.done + state.failed, state.runs, name_of(sweep, i), seconds);
    } else {
        nvdp__log(sweep->ctx, NVDP_LOG_WARNING, "%zu of %zu: %s: failed: %s",
                  state.done + state.failed, state.runs, name_of(sweep, i), outcome->message);
    }
}

static nvdp_status settle_done(struct nvdp__sweep *sweep, size_t i) {
    struct nvdp__entry *entry = &sweep->ledger.entry[i];
    entry->state = NVDP__ENTRY_DONE;
    (void)nvdp__sweep_is_done(sweep->ctx, sweep->config->out, name_of(sweep, i), &entry->seconds);
    sweep->made++;
    return nvdp__sweep_forget_failure(sweep->ctx, sweep->config->out, name_of(sweep, i));
}

static nvdp_status settle_failed(struct nvdp__sweep *sweep, size_t i,
                                 const struct nvdp__failure *outcome) {
    int64_t attempts =
        1 + nvdp__sweep_failures(sweep->ctx, sweep->config->out, name_of(sweep, i), NULL);
    sweep->ledger.entry[i].state = NVDP__ENTRY_FAILED;
    return nvdp__sweep_write_failure(sweep->ctx, sweep->config->out, &sweep->grid.run[i],
                                     &sweep->ledger.self, attempts, outcome);
}

/* A worker stopped on request, by its parent or by the user's own signal, has failed in nothing. */
static bool was_stopped(const struct nvdp__sweep *sweep, const struct nvdp__failure *outcome) {
    if (outcome->status == NVDP_ERR_CANCELLED) return true;
    return sweep->stopping && outcome->status == NVDP_STATUS_COUNT;
}

static nvdp_status end(struct nvdp__sweep *sweep, struct nvdp__seat *seat,
                       const struct nvdp__failure *outcome) {
    size_t i = seat->run;
    double seconds = nvdp__now() - seat->begun;
    const char *word = "interrupted";
    sweep->looked = 0;
    if (was_stopped(sweep, outcome)) {
        sweep->stopping = true;
        sweep->ledger.entry[i].state = NVDP__ENTRY_WAITING;
    } else if (outcome->status == NVDP_OK) {
        word = "done";
        NVDP_RETURN_IF_FAILED(settle_done(sweep, i));
        say(sweep, i, seconds, outcome);
    } else {
        word = "failed";
        NVDP_RETURN_IF_FAILED(settle_failed(sweep, i, outcome));
        say(sweep, i, seconds, outcome);
    }
    seat->taken = false;
    return nvdp__claim_release(sweep->ctx, sweep->config->out, name_of(sweep, i),
                               &sweep->ledger.self, word, &sweep->ledger.entry[i].claim);
}

/* --- between --- */

nvdp_status nvdp__seats_reap(struct nvdp__sweep *sweep) {
    for (size_t k = 0; k < nvdp__seats(sweep); k++) {
        bool ended = false;
        struct nvdp__failure outcome;
        struct nvdp__seat *seat = &sweep->seat[k];
        if (!seat->taken) continue;
        NVDP_RETURN_IF_FAILED(nvdp__worker_poll(sweep->ctx, &seat->worker, &ended, &outcome));
        if (ended) NVDP_RETURN_IF_FAILED(end(sweep, seat, &outcome));
    }
    return NVDP_OK;
}

/* Somebody has taken this process for dead, after its machine slept, say: the run is theirs. */
static nvdp_status give_up(struct nvdp__sweep *sweep, struct nvdp__seat *seat) {
    size_t i = seat->run;
    nvdp__worker_free(&seat->worker);
    nvdp__claim_forget(&sweep->ledger.entry[i].claim);
    sweep->ledger.entry[i].state = NVDP__ENTRY_ELSEWHERE;
    seat->taken = false;
    nvdp__log(sweep->ctx, NVDP_LOG_WARNING,
              "%s: another process has taken it over, as this one was silent for too long",
              name_of(sweep, i));
    return nvdp__worker_create(sweep->ctx, &seat->worker);
}

nvdp_status nvdp__seats_renew(struct nvdp__sweep *sweep) {
    double interval = fmin(10, sweep->config->stale_seconds / RENEWALS);
    if (nvdp__now() - sweep->renewed < interval) return NVDP_OK;
    sweep->renewed = nvdp__now();
    for (size_t k = 0; k < nvdp__seats(sweep); k++) {
        bool lost = false;
        size_t i = sweep->seat[k].run;
        if (!sweep->seat[k].taken) continue;
        NVDP_RETURN_IF_FAILED(nvdp__claim_renew(sweep->ctx, sweep->config->out, name_of(sweep, i),
                                                &sweep->ledger.entry[i].claim, &lost));
        if (lost) NVDP_RETURN_IF_FAILED(give_up(sweep, &sweep->seat[k]));
    }
    return NVDP_OK;
}

/* NULL where all workers are busy. */
static struct nvdp__seat *free_seat(const struct nvdp__sweep *sweep) {
    for (size_t k = 0; k < nvdp__seats(sweep); k++) {
        if (!sweep->seat[k].taken) return &sweep->seat[k];
    }
    return NULL;
}

nvdp_status nvdp__seats_fill(struct nvdp__sweep *sweep) {
    struct nvdp__seat *seat = free_seat(sweep);
    double interval = seat != NULL ? LOOK_INTERVAL : BUSY_INTERVAL;
    if (sweep->looked > 0 && nvdp__now() - sweep->looked < interval) return NVDP_OK;
    for (size_t i = 0; i < sweep->grid.count; i++) {
        struct nvdp__entry *entry = &sweep->ledger.entry[i];
        if (entry->state == NVDP__ENTRY_HERE || nvdp__entry_is_settled(entry)) continue;
        NVDP_RETURN_IF_FAILED(nvdp__ledger_look(sweep->ctx, &sweep->ledger, i));
        if (entry->state != NVDP__ENTRY_WAITING || seat == NULL) continue;
        NVDP_RETURN_IF_FAILED(
            nvdp__ledger_take(sweep->ctx, &sweep->ledger, i, sweep->config->stale_seconds));
        if (entry->state != NVDP__ENTRY_HERE) continue;
        NVDP_RETURN_IF_FAILED(begin(sweep, seat, i));
        seat = free_seat(sweep);
    }
    sweep->looked = nvdp__now();
    return NVDP_OK;
}
