/* Keeps the number of frames of a ledger, and the last MAC, in another file: an older copy of the ledger has fewer
 * frames, or other ones.  A state that lags is right, because it is written last.  Read ledger_file.h first. */
#include "share/ledger_file.h"

#include "base/file.h"
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>

enum { MAX_MARKS = 1 << 12 };
static const char kind[sizeof((struct nvdp__ledger_mark *)NULL)->kind] = "nvdp ledger-state/1\n";

_Static_assert(sizeof(struct nvdp__ledger_mark) == 24 + 3 * 32 + 8, "unchanged files");

char *nvdp__ledger_state_path(struct nvdp_context *ctx, const char *key) {
    static const char ending[] = ".key";
    const size_t size = strlen(key) - (nvdp__ends_with(key, ending) ? sizeof ending - 1 : 0);
    return nvdp__format(ctx, "%.*s.state", (int)size, key);
}

nvdp_status nvdp__ledger_state_read(struct nvdp_context *ctx, struct nvdp__ledger_state *state) {
    const size_t one = sizeof *state->mark;
    char *bytes = NULL;
    size_t size = 0;
    state->there = nvdp__exists(state->path);
    if (!state->there) return NVDP_OK;
    NVDP_TRY(nvdp__read_file(ctx, state->path, MAX_MARKS * one, &bytes, &size));
    free(state->mark);
    state->mark = (void *)bytes; /* from malloc: aligned */
    state->marks = size / one;
    bool right = size % one == 0;
    for (size_t i = 0; i < state->marks && right; i++)
        right = memcmp(state->mark[i].kind, kind, sizeof kind) == 0;
    return right
               ? NVDP_OK
               : nvdp__fail(ctx, NVDP_ERR_INPUT,
                            "%s: expected the state of a ledger, found another file", state->path);
}

void nvdp__ledger_state_release(struct nvdp__ledger_state *state) {
    free(state->path);
    free(state->mark);
    *state = (struct nvdp__ledger_state){0};
}

bool nvdp__ledger_state_counts(const struct nvdp__ledger_state *state) {
    for (size_t i = 0; i < state->marks; i++)
        if (state->mark[i].frames > 0) return true;
    return false;
}

static struct nvdp__ledger_mark *find_mark(const struct nvdp__ledger *ledger,
                                           const struct nvdp__ledger_state *state) {
    for (size_t i = 0; i < state->marks; i++)
        if (memcmp(state->mark[i].ledger, ledger->id, sizeof ledger->id) == 0)
            return &state->mark[i];
    return NULL;
}

static void mark_mac(const struct nvdp__ledger *ledger, const struct nvdp__ledger_mark *mark,
                     unsigned char mac[NVDP__LEDGER_MAC]) {
    nvdp__ledger_mac(ledger, ledger->id, offsetof(struct nvdp__ledger_mark, mac), mark, mac);
}

nvdp_status nvdp__ledger_state_check(const struct nvdp__ledger *ledger,
                                     const struct nvdp__ledger_state *state, bool needed) {
    static const char next[] =
        "put the newest ledger back.  If it is lost, an empty file in place of the state accepts "
        "this ledger, which then does not count what it lacks";
    unsigned char mac[NVDP__LEDGER_MAC];
    const struct nvdp__ledger_mark *mark = find_mark(ledger, state);
    if (mark == NULL && needed && !state->there)
        return NVDP__LEDGER_FAIL(ledger, STATE,
                                 "expected its state in %s, found none; put it back: without it an "
                                 "older copy of the ledger is not noticed. If it is lost, an empty "
                                 "file of that name accepts the ledger as it is",
                                 state->path);
    if (mark == NULL)
        return needed && state->marks > 0
                   ? NVDP__LEDGER_FAIL(ledger, STATE,
                                       "expected its state in %s, found the state of another "
                                       "ledger; put the right one back",
                                       state->path)
                   : NVDP_OK;
    mark_mac(ledger, mark, mac);
    if (sodium_memcmp(mac, mark->mac, sizeof mac) != 0)
        return NVDP__LEDGER_FAIL(ledger, STATE,
                                 "expected an unchanged state in %s, but it was changed; put the "
                                 "right one back",
                                 state->path);
    if (mark->frames <= ledger->frames && memcmp(nvdp__ledger_code_at(ledger, (size_t)mark->frames),
                                                 mark->last, sizeof mark->last) == 0)
        return NVDP_OK;
    return NVDP__LEDGER_FAIL(ledger, STATE,
                             "expected the %" PRIu64 " records that %s remembers, found %zu: an "
                             "older copy of the ledger, or another one, is in its place; %s",
                             mark->frames, state->path, ledger->frames, next);
}

nvdp_status nvdp__ledger_state_write(const struct nvdp__ledger *ledger,
                                     struct nvdp__ledger_state *state) {
    nvdp__autofree struct nvdp__ledger_mark *all = NULL;
    struct nvdp__ledger_mark mark = {.frames = ledger->head.frames};
    if (state->path == NULL) return NVDP_OK;
    memcpy(mark.kind, kind, sizeof kind);
    memcpy(mark.ledger, ledger->id, sizeof mark.ledger);
    memcpy(mark.last, ledger->head.last, sizeof mark.last);
    mark_mac(ledger, &mark, mark.mac);
    const struct nvdp__ledger_mark *old = find_mark(ledger, state);
    const size_t at = old != NULL ? (size_t)(old - state->mark) : state->marks,
                 count = state->marks + (old == NULL);
    NVDP_TRY(NVDP__NEW(ledger->ctx, all, count));
    if (state->marks > 0) memcpy(all, state->mark, state->marks * sizeof *all);
    all[at] = mark;
    return nvdp__write_file(ledger->ctx, state->path, all, count * sizeof *all);
}
