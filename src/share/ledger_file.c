/* Reads, locks and writes the file of a ledger.  Read ledger.h first.  The order: kinds and MACs, the key, reading,
 * writing, opening. */
#include "base/array.h"
#include "base/file.h"
#include "share/ledger.h"
#include "share/release.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    KEY = NVDP__LEDGER_SUBKEY,
    MAC = NVDP__LEDGER_MAC,
    HASH = NVDP__LEDGER_HASH,
    WAIT_MS = 50,
    MAX_WAITS = 1200
};
#define FAIL NVDP__LEDGER_FAIL
static const char key_words[] = "nvdp-ledger-key/1 ";

/* --- kinds and MACs --- */

enum { FIRST, WITH_NAMES, PRESENT, KINDS }; /* ledger/1, ledger/2, ledger/3 */
static const struct {
    char name[sizeof((struct nvdp__ledger_head *)NULL)->kind];
    size_t head, release; /* sizes of head and release in the file */
} kinds[KINDS] = {
    {"nvdp ledger/1\n", offsetof(struct nvdp__ledger_head, frames) + MAC,
     offsetof(struct nvdp__ledger_release, file)},
    {"nvdp ledger/2\n", offsetof(struct nvdp__ledger_head, frames) + MAC,
     offsetof(struct nvdp__ledger_release, type)},
    {"nvdp ledger/3\n", sizeof(struct nvdp__ledger_head), sizeof(struct nvdp__ledger_release)}};

_Static_assert(sizeof(struct nvdp__ledger_release) ==
                       32 + 8 * (3 + 2 + 1 + NVDP__LEDGER_ORDERS) + NVDP__LEDGER_FILE + 8 &&
                   sizeof(struct nvdp__ledger_head) == 16 + 3 * 32 + 8 &&
                   __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "unchanged records");

static nvdp_status io_error(const struct nvdp__ledger *ledger, const char *what) {
    return nvdp__fail_errno(ledger->ctx, errno, "%s: cannot %s", ledger->path.text, what);
}

static void compute_mac(const struct nvdp__ledger *ledger, const unsigned char *before, size_t size,
                        const void *bytes, unsigned char mac[MAC]) {
    crypto_generichash_state state;
    crypto_generichash_init(&state, ledger->key + KEY, KEY, MAC);
    crypto_generichash_update(&state, before, MAC);
    crypto_generichash_update(&state, bytes, size);
    crypto_generichash_final(&state, mac, MAC);
    sodium_memzero(&state, sizeof state);
}

static void start_mac(const struct nvdp__ledger *ledger, const char *kind,
                      const unsigned char *tokens, unsigned char mac[MAC]) {
    static const unsigned char nothing[MAC] = {0};
    struct nvdp__ledger_head start;
    memcpy(start.kind, kind, sizeof start.kind);
    memcpy(start.tokens, tokens, sizeof start.tokens);
    compute_mac(ledger, nothing, offsetof(struct nvdp__ledger_head, frames), &start, mac);
}

/* Computes the MAC of the numbers in a head of the current kind. */
static void head_mac(const struct nvdp__ledger *ledger, const struct nvdp__ledger_head *head,
                     unsigned char mac[MAC]) {
    compute_mac(ledger, ledger->id, sizeof head->frames + MAC, &head->frames, mac);
}

/* Returns the record that begins at `at`. */
static struct nvdp__ledger_record record_at(const struct nvdp__ledger *ledger, size_t at) {
    const struct nvdp__ledger_release *release = (const void *)(ledger->bytes + at);
    const void *text = ledger->bytes + at + kinds[ledger->kind].release + MAC;
    return (struct nvdp__ledger_record){
        .release = release, .text = text, .file = ledger->kind == FIRST ? "" : release->file};
}

/* Returns the last MAC of the first n frames. */
static const unsigned char *code_at(const struct nvdp__ledger *ledger, size_t frames) {
    if (frames == 0)
        return ledger->kind == PRESENT ? ledger->id : ledger->bytes + kinds[0].head - MAC;
    const struct nvdp__ledger_record record = record_at(ledger, ledger->frame[frames - 1].at);
    return (const unsigned char *)(record.text + record.release->texts);
}

/* ---- the state beside the key ---- */

/* Stores the number of frames of a ledger, and the last MAC, in another file.  This shows an older copy of the ledger,
 * which has fewer frames, or other frames.  A state that is behind the ledger is accepted, because the state is written
 * last.  Read ledger.h first. */

enum { MAX_MARKS = 1 << 12 };
static const char kind[sizeof((struct nvdp__ledger_mark *)NULL)->kind] = "nvdp ledger-state/1\n";

_Static_assert(sizeof(struct nvdp__ledger_mark) == 24 + 3 * 32 + 8, "unchanged files");

/* Returns the path of the state beside the key: NAME.state for NAME.key. */
static struct nvdp__path state_path(const char *key) {
    static const char ending[] = ".key";
    const size_t size = strlen(key) - (nvdp__ends_with(key, ending) ? sizeof ending - 1 : 0);
    return nvdp__path_format("%.*s.state", (int)size, key);
}

/* Reads the file state->path, which may be missing. */
static nvdp_status state_read(struct nvdp_context *ctx, struct nvdp__ledger_state *state) {
    const size_t one = sizeof *state->mark;
    char *bytes = NULL;
    size_t size = 0;
    state->there = nvdp__exists(state->path.text);
    if (!state->there) return NVDP_OK;
    NVDP_TRY(nvdp__read_file(ctx, state->path.text, MAX_MARKS * one, &bytes, &size));
    free(state->mark);
    state->mark = (void *)bytes; /* from malloc: aligned */
    state->marks = size / one;
    bool right = size % one == 0;
    for (size_t i = 0; i < state->marks && right; i++)
        right = memcmp(state->mark[i].kind, kind, sizeof kind) == 0;
    return right ? NVDP_OK
                 : nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: expected the state of a ledger, found another file",
                              state->path.text);
}

static void state_release(struct nvdp__ledger_state *state) {
    free(state->mark);
    *state = (struct nvdp__ledger_state){0};
}

/* Returns true if the state records frames of any ledger. */
static bool state_counts(const struct nvdp__ledger_state *state) {
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
    compute_mac(ledger, ledger->id, offsetof(struct nvdp__ledger_mark, mac), mark, mac);
}

/* Fails if the open ledger lacks frames that the state records.  If `needed` is set, fails also if the state has no
 * record of this ledger.  An empty state accepts any ledger. */
static nvdp_status state_check(const struct nvdp__ledger *ledger,
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
                                 state->path.text);
    if (mark == NULL)
        return needed && state->marks > 0
                   ? NVDP__LEDGER_FAIL(ledger, STATE,
                                       "expected its state in %s, found the state of another "
                                       "ledger; put the right one back",
                                       state->path.text)
                   : NVDP_OK;
    mark_mac(ledger, mark, mac);
    if (sodium_memcmp(mac, mark->mac, sizeof mac) != 0)
        return NVDP__LEDGER_FAIL(ledger, STATE,
                                 "expected an unchanged state in %s, but it was changed; put the "
                                 "right one back",
                                 state->path.text);
    if (mark->frames <= ledger->frames &&
        memcmp(code_at(ledger, (size_t)mark->frames), mark->last, sizeof mark->last) == 0)
        return NVDP_OK;
    return NVDP__LEDGER_FAIL(ledger, STATE,
                             "expected the %" PRIu64 " records that %s remembers, found %zu: an "
                             "older copy of the ledger, or another one, is in its place; %s",
                             mark->frames, state->path.text, ledger->frames, next);
}

/* Writes the current number of frames and the last MAC.  Does nothing without a path. */
static nvdp_status state_write(const struct nvdp__ledger *ledger,
                               struct nvdp__ledger_state *state) {
    nvdp__autofree struct nvdp__ledger_mark *all = NULL;
    struct nvdp__ledger_mark mark = {.frames = ledger->head.frames};
    if (state->path.text[0] == '\0') return NVDP_OK;
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
    return nvdp__write_file(ledger->ctx, state->path.text, all, count * sizeof *all);
}

/* --- the key --- */

static void derive(struct nvdp__ledger *ledger, const unsigned char owners[NVDP__KEY]) {
    for (unsigned i = 0; i < 2; i++)
        crypto_kdf_derive_from_key(ledger->key + (size_t)i * KEY, KEY, i + 1, "nvdpledg", owners);
}

static nvdp_status read_key(struct nvdp__ledger *ledger, const char *path) {
    nvdp__auto(nvdp__key_wipe) unsigned char owners[NVDP__KEY] = {0};
    if (!nvdp__exists(path))
        return FAIL(ledger, IO,
                    "expected the ledger's key at %s, found none; the texts cannot be recognized "
                    "without it; name the key with {ledger-key}",
                    path);
    NVDP_TRY(nvdp__secret_read(ledger->ctx, path, key_words, owners));
    derive(ledger, owners);
    return NVDP_OK;
}

/* --- reading --- */

/* Reads the whole file. */
static nvdp_status read_bytes(struct nvdp__ledger *ledger) {
    struct stat info;
    if (fstat(ledger->fd, &info) != 0) return io_error(ledger, "read");
    if (!S_ISREG(info.st_mode))
        return FAIL(ledger, INPUT, "expected a %s, found another kind of file", "regular file");
    ledger->size = (size_t)info.st_size;
    NVDP_TRY(NVDP__NEW(ledger->ctx, ledger->bytes, ledger->size));
    const ssize_t got = nvdp__read_at(ledger->fd, ledger->bytes, ledger->size, 0);
    if (got < 0) return io_error(ledger, "read");
    ledger->size = (size_t)got;
    return NVDP_OK;
}

static nvdp_status refuse_cut(const struct nvdp__ledger *ledger, uint64_t expected, size_t found) {
    return FAIL(ledger, STATE,
                "expected %" PRIu64 " records, found %zu: the ledger was cut, or part of it was "
                "replaced by an older copy; restore it from a copy",
                expected, found);
}

/* Reads the frame after the complete frames.  Uses nothing of a frame before the frame's MAC is verified.  *more is
 * false at the end, and before a frame that was cut. */
static nvdp_status read_frame(struct nvdp__ledger *ledger, bool *more) {
    const size_t release = kinds[ledger->kind].release, left = ledger->size - ledger->whole;
    const unsigned char *at = ledger->bytes + ledger->whole;
    unsigned char mac[MAC];
    size_t size = 0;
    *more = left >= release + MAC;
    if (!*more) return NVDP_OK;
    const struct nvdp__ledger_record record = record_at(ledger, ledger->whole);
    compute_mac(ledger, ledger->mac, release, at, mac);
    bool right = sodium_memcmp(mac, at + release, MAC) == 0;
    *more = !right || (nvdp__mul((size_t)record.release->texts, HASH, &size) &&
                       left - release - MAC >= MAC && left - release - 2 * (size_t)MAC >= size);
    if (!*more) return NVDP_OK;
    const unsigned char *code = at + release + MAC + size;
    if (right) compute_mac(ledger, mac, size, record.text, ledger->mac);
    if (!right || sodium_memcmp(ledger->mac, code, MAC) != 0)
        return FAIL(ledger, INPUT,
                    "expected unchanged records, but record %zu, at byte %zu, was changed; "
                    "restore the ledger from a copy",
                    ledger->frames + 1, ledger->whole);
    uint64_t type = ledger->kind == PRESENT ? record.release->type : (uint64_t)NVDP__LEDGER_OLD;
    NVDP_TRY(nvdp__ledger_take(ledger, &record, &type, code));
    NVDP_TRY(NVDP__PUSH(ledger->ctx, ledger->frame, ledger->frames, ledger->frame_capacity,
                        (struct nvdp__ledger_place){ledger->whole, type}));
    ledger->whole += release + 2 * (size_t)MAC + size;
    return NVDP_OK;
}

/* Reads all frames.  The frames that the head counts must exist.  One more record, with its names, may follow them:
 * then the writer died before it wrote the head. */
static nvdp_status read_frames(struct nvdp__ledger *ledger) {
    const bool counted = ledger->kind == PRESENT;
    uint64_t beyond = 0;
    for (bool more = true; more;) {
        if (counted && ledger->frames == ledger->head.frames &&
            memcmp(ledger->mac, ledger->head.last, MAC) != 0)
            return refuse_cut(ledger, ledger->head.frames, ledger->frames);
        NVDP_TRY(read_frame(ledger, &more));
        const uint64_t type = more ? ledger->frame[ledger->frames - 1].type : 0;
        if (more && counted && ledger->frames > ledger->head.frames)
            beyond += type != NVDP__LEDGER_NAMES && type != NVDP__LEDGER_LOOKS;
        if (beyond > 1) return refuse_cut(ledger, ledger->head.frames, ledger->frames);
    }
    if (counted && ledger->frames < ledger->head.frames)
        return refuse_cut(ledger, ledger->head.frames, ledger->frames);
    return NVDP_OK;
}

static nvdp_status read_head(struct nvdp__ledger *ledger, const unsigned char *tokens) {
    unsigned char mac[MAC];
    struct nvdp__ledger_head *head = &ledger->head;
    const size_t size = kinds[ledger->kind].head;
    memcpy(head, ledger->bytes, size);
    start_mac(ledger, kinds[PRESENT].name, head->tokens, ledger->id);
    if (ledger->kind == PRESENT)
        head_mac(ledger, head, mac);
    else
        start_mac(ledger, head->kind, head->tokens, mac);
    if (sodium_memcmp(mac, ledger->bytes + size - MAC, MAC) != 0)
        return FAIL(ledger, INPUT,
                    "expected the ledger that belongs to the given %s, found another ledger",
                    "key");
    if (tokens != NULL && sodium_memcmp(tokens, head->tokens, MAC) != 0)
        return FAIL(
            ledger, ARGUMENT,
            "expected a model with the same %s, by which this ledger recognizes texts "
            "(to it, method word reads with another tokenizer), or vectors with {ids}, or without, "
            "as before, found others; a separate ledger, {ledger} FILE, does not count the samples "
            "of this one",
            "tokenizer and maximum length");
    memcpy(ledger->mac, ledger->kind == PRESENT ? ledger->id : mac, MAC);
    ledger->whole = size;
    return NVDP_OK;
}

/* Finds the kind from the first bytes, even if a killed writer left only a few bytes.  Returns false for other files.
 * */
static bool is_ledger(struct nvdp__ledger *ledger) {
    const size_t size = nvdp__min(ledger->size, sizeof kinds[0].name);
    for (ledger->kind = KINDS; ledger->kind-- > 0;) {
        if (memcmp(ledger->bytes, kinds[ledger->kind].name, size) == 0) return true;
    }
    return false;
}

/* Fails for a file that is no ledger.  nvdp.PrivateEncoder.save_pretrained() moves a ledger and leaves this mark. */
static nvdp_status no_ledger(const struct nvdp__ledger *ledger) {
    static const char moved[] = "nvdp ledger moved\n";
    const size_t size = sizeof moved - 1;
    if (ledger->size <= size || memcmp(ledger->bytes, moved, size) != 0)
        return FAIL(ledger, INPUT, "expected a %s, found another kind of file", "ledger");
    const char *to = (const char *)ledger->bytes + size;
    const char *end = memchr(to, '\n', ledger->size - size);
    return FAIL(ledger, STATE,
                "expected a ledger, but it was moved to the run %.*s, which alone releases these "
                "texts; use that run",
                (int)(end != NULL ? end - to : 0), to);
}

/* --- writing --- */

static nvdp_status put_bytes(const struct nvdp__ledger *ledger, int fd, size_t at, size_t count,
                             const void *bytes) {
    return nvdp__write_at(fd, bytes, count, at) ? NVDP_OK : io_error(ledger, "write");
}

static void set_head(struct nvdp__ledger *ledger, uint64_t frames, const unsigned char last[MAC]) {
    ledger->head.frames = frames;
    memcpy(ledger->head.last, last, MAC);
    head_mac(ledger, &ledger->head, ledger->head.mac);
}

static nvdp_status write_head(const struct nvdp__ledger *ledger) {
    NVDP_TRY(put_bytes(ledger, ledger->fd, 0, sizeof ledger->head, &ledger->head));
    return fsync(ledger->fd) == 0 ? NVDP_OK : io_error(ledger, "write");
}

/* Writes a frame of the current kind to a file, from byte *at on, which becomes the end, and replaces the previous MAC by
 * the frame's last MAC. */
static nvdp_status put_frame(const struct nvdp__ledger *ledger,
                             const struct nvdp__ledger_frame *frame, size_t release, uint64_t type,
                             int fd, size_t *at, unsigned char mac[MAC]) {
    const size_t texts = (size_t)frame->release->texts * HASH;
    struct {
        struct nvdp__ledger_release release;
        unsigned char mac[MAC];
    } head = {0};
    memcpy(&head.release, frame->release, release); /* the rest is zero */
    head.release.type = type;
    compute_mac(ledger, mac, sizeof head.release, &head.release, head.mac);
    compute_mac(ledger, head.mac, texts, frame->text, mac);
    NVDP_TRY(put_bytes(ledger, fd, *at, sizeof head, &head));
    if (texts > 0) NVDP_TRY(put_bytes(ledger, fd, *at + sizeof head, texts, frame->text));
    NVDP_TRY(put_bytes(ledger, fd, *at + sizeof head + texts, MAC, mac));
    *at += sizeof head + texts + MAC;
    return NVDP_OK;
}

/* Rewrites an older file in the current kind, under the same name and with a lock, and opens it in place of the older
 * file. */
static nvdp_status migrate(struct nvdp__ledger *ledger) {
    size_t size = sizeof ledger->head;
    unsigned char mac[MAC];
    nvdp__autofree char *temporary = NULL;
    nvdp__auto(nvdp__close_owned) int fd = -1;
    NVDP_TRY(nvdp__create_temporary(ledger->ctx, ledger->path.text, &temporary, &fd));
    if (!nvdp__lock_whole(fd)) return io_error(ledger, "lock");
    memcpy(mac, ledger->id, MAC);
    for (size_t i = 0; i < ledger->frames; i++) {
        const struct nvdp__ledger_record record = record_at(ledger, ledger->frame[i].at);
        const struct nvdp__ledger_frame frame = {record.release, record.text};
        NVDP_TRY(put_frame(ledger, &frame, kinds[ledger->kind].release, ledger->frame[i].type, fd,
                           &size, mac));
    }
    memcpy(ledger->head.kind, kinds[PRESENT].name, sizeof ledger->head.kind);
    set_head(ledger, ledger->frames, mac);
    NVDP_TRY(put_bytes(ledger, fd, 0, sizeof ledger->head, &ledger->head));
    NVDP_TRY(nvdp__publish(ledger->ctx, temporary, ledger->path.text, true));
    close(ledger->fd);
    ledger->fd = fd;
    fd = -1;
    ledger->whole = ledger->size = size;
    ledger->kind = PRESENT;
    memcpy(ledger->mac, mac, MAC);
    return NVDP_OK;
}

/* Returns true if the open file is at the ledger's path. */
static bool is_in_place(const struct nvdp__ledger *ledger) {
    struct stat opened, there;
    return fstat(ledger->fd, &opened) == 0 && stat(ledger->path.text, &there) == 0 &&
           opened.st_ino == there.st_ino && opened.st_dev == there.st_dev;
}

nvdp_status nvdp__ledger_append(struct nvdp__ledger *ledger, size_t count,
                                const struct nvdp__ledger_frame *frame) {
    nvdp_status status = NVDP_OK;
    unsigned char mac[MAC];
    if (ledger->size > ledger->whole)
        nvdp__log(ledger->ctx, NVDP_LOG_NOTICE,
                  "%s: removed an incomplete record; no samples were drawn for its release",
                  ledger->path.text);
    if (ledger->kind == PRESENT && ledger->size > ledger->whole &&
        ftruncate(ledger->fd, (off_t)ledger->whole) != 0)
        return io_error(ledger, "write");
    if (ledger->kind != PRESENT) NVDP_TRY(migrate(ledger));
    const struct nvdp__ledger_head before = ledger->head;
    size_t at = ledger->whole;
    memcpy(mac, ledger->mac, MAC);
    for (size_t i = 0; i < count; i++) {
        NVDP_TRY_OR_CLEAN(put_frame(ledger, &frame[i], sizeof *frame->release,
                                    frame[i].release->type, ledger->fd, &at, mac));
        if (i == 0) memcpy(ledger->added, mac, MAC);
    }
    if (fsync(ledger->fd) != 0) NVDP_TRY_OR_CLEAN(io_error(ledger, "write"));
    /* If a copy was put in place of the file, the next export would not find these records. */
    if (!is_in_place(ledger))
        NVDP_TRY_OR_CLEAN(FAIL(
            ledger, STATE,
            "expected the ledger that this export opened, found %s: it was replaced meanwhile. "
            "Nothing was drawn; export again",
            "another file or none"));
    set_head(ledger, ledger->frames + count, mac);
    NVDP_TRY_OR_CLEAN(write_head(ledger));
    NVDP_TRY_OR_CLEAN(state_write(ledger, &ledger->state));
    /* The record counts from here on.  Only a notice is logged if the state in the run's folder cannot be written: this
 * state may be behind the ledger. */
    if (state_write(ledger, &ledger->copy) != NVDP_OK)
        nvdp__log(ledger->ctx, NVDP_LOG_NOTICE,
                  "%s; the ledger counts, but the run lacks this copy",
                  nvdp_context_error(ledger->ctx));
cleanup:
    if (status != NVDP_OK) { /* nothing was drawn for these records */
        ledger->head = before;
        (void)!(pwrite(ledger->fd, &before, sizeof before, 0) == (ssize_t)sizeof before &&
                ftruncate(ledger->fd, (off_t)ledger->whole) == 0);
    }
    return status;
}

/* Begins a file that has no records.  Writes the state first, then the key, then the head.  If the process dies in
 * between, the state records nothing, and the next writer begins again. */
static nvdp_status begin(struct nvdp__ledger *ledger, const char *tokens, const char *key) {
    nvdp__auto(nvdp__key_wipe) unsigned char owners[NVDP__KEY] = {0};
    const bool make = !nvdp__exists(key);
    randombytes_buf(owners, sizeof owners);
    if (make)
        derive(ledger, owners);
    else
        NVDP_TRY(read_key(ledger, key));
    memcpy(ledger->head.kind, kinds[PRESENT].name, sizeof ledger->head.kind);
    crypto_generichash(ledger->head.tokens, MAC, (const unsigned char *)tokens, strlen(tokens),
                       ledger->key, KEY);
    start_mac(ledger, ledger->head.kind, ledger->head.tokens, ledger->id);
    set_head(ledger, 0, ledger->id);
    ledger->state.marks = 0; /* drops marks of an earlier attempt, whose key no ledger has */
    NVDP_TRY(state_write(ledger, &ledger->state));
    if (make) NVDP_TRY(nvdp__key_write(ledger->ctx, key, S_IRUSR | S_IWUSR, key_words, owners));
    NVDP_TRY(write_head(ledger));
    nvdp__sync_directory(ledger->path.text);
    memcpy(ledger->mac, ledger->id, MAC);
    ledger->whole = ledger->size = sizeof ledger->head;
    ledger->kind = PRESENT;
    return NVDP_OK;
}

/* --- opening --- */

/* Locks the file, exclusively for a writer, shared for readers.  A reader continues if files cannot be locked. */
static bool lock(int fd, bool add) {
    struct flock shared = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    if (add) return nvdp__lock_whole(fd);
    return fcntl(fd, F_OFD_SETLK, &shared) == 0 ||
           (errno != EAGAIN && errno != EACCES && errno != EINTR);
}

static nvdp_status wait_for_lock(struct nvdp__ledger *ledger, bool add, bool patient) {
    for (int waits = 0; !lock(ledger->fd, add); waits++) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return io_error(ledger, "lock"); /* for example, a file system without locks */
        if (!patient && nvdp_context_cancelled(ledger->ctx))
            return FAIL(ledger, CANCELLED, "%s", "cancelled");
        if (waits == MAX_WAITS)
            return FAIL(ledger, IO,
                        "cannot lock the file, because another process has held it for %d seconds; "
                        "try again later",
                        MAX_WAITS * WAIT_MS / 1000);
        nanosleep(&(struct timespec){.tv_nsec = WAIT_MS * 1000000L}, NULL);
    }
    return NVDP_OK;
}

/* Opens and locks the file.  Opens it again if another file took its place meanwhile. */
static nvdp_status open_file(struct nvdp__ledger *ledger, bool add, bool patient) {
    const int flags = (add ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NONBLOCK;
    do {
        if (ledger->fd >= 0) close(ledger->fd);
        if (nvdp__exists(ledger->path.text))
            NVDP_TRY(nvdp__check_regular(ledger->ctx, ledger->path.text));
        ledger->fd = open(ledger->path.text, flags, S_IRUSR | S_IWUSR);
        if (ledger->fd < 0) return io_error(ledger, add ? "write" : "read");
        NVDP_TRY(wait_for_lock(ledger, add, patient));
    } while (!is_in_place(ledger));
    return NVDP_OK;
}

bool nvdp__ledger_expected(const char *path, const char *key) {
    return nvdp__exists(path) || nvdp__exists(key) || nvdp__exists(state_path(key).text);
}

static nvdp_status open_ledger(struct nvdp__ledger *ledger, const char *key, const char *tokens,
                               bool patient) {
    unsigned char mark[MAC];
    const bool add = tokens != NULL;
    /* Looks for key and state before the file, because a writer that begins a ledger creates the file first. */
    const bool there = nvdp__exists(key) || nvdp__exists(ledger->state.path.text);
    if (there && !nvdp__exists(ledger->path.text))
        return FAIL(ledger, STATE,
                    "expected the ledger of the key %s, found none. Restore it from a copy, or "
                    "name it with {ledger}. A new ledger forgets all that was shared: to begin "
                    "one, remove this key and %s, or name another key with {ledger-key}",
                    key, ledger->state.path.text);
    NVDP_TRY(open_file(ledger, add, patient));
    NVDP_TRY(read_bytes(ledger));
    if (!is_ledger(ledger)) return no_ledger(ledger);
    NVDP_TRY(state_read(ledger->ctx, &ledger->state));
    ledger->key = sodium_malloc(2 * (size_t)KEY);
    if (ledger->key == NULL) return FAIL(ledger, MEMORY, "out of %s", "memory");
    if (ledger->size < kinds[ledger->kind].head) {
        /* Otherwise nothing was counted in the file: the writer that began it died. */
        if (state_counts(&ledger->state) || (ledger->state.marks == 0 && nvdp__exists(key)))
            return FAIL(
                ledger, STATE,
                "expected the ledger of the key %s, found %zu bytes: the ledger was cut. Restore "
                "it from a copy. A new ledger forgets all that was shared: to begin one, remove "
                "this file, the key and %s",
                key, ledger->size, ledger->state.path.text);
        return add ? begin(ledger, tokens, key) : no_ledger(ledger);
    }
    NVDP_TRY(read_key(ledger, key));
    if (add)
        crypto_generichash(mark, sizeof mark, (const unsigned char *)tokens, strlen(tokens),
                           ledger->key, KEY);
    NVDP_TRY(read_head(ledger, add ? mark : NULL));
    NVDP_TRY(read_frames(ledger));
    return state_check(ledger, &ledger->state, ledger->kind == PRESENT);
}

nvdp_status nvdp__ledger_open_patient(struct nvdp_context *ctx, const char *path, const char *key,
                                      const char *tokens, bool patient, struct nvdp__ledger **out) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    if (sodium_init() < 0)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "libsodium failed to initialize");
    NVDP_TRY(NVDP__NEW(ctx, ledger, 1));
    *ledger = (struct nvdp__ledger){.ctx = ctx,
                                    .fd = -1,
                                    .path = nvdp__path_format("%s", path),
                                    .state = {.path = state_path(key)}};
    NVDP_TRY(open_ledger(ledger, key, tokens, patient));
    return NVDP__HAND_OVER(out, ledger);
}

nvdp_status nvdp__ledger_open(struct nvdp_context *ctx, const char *path, const char *key,
                              const char *tokens, struct nvdp__ledger **out) {
    return nvdp__ledger_open_patient(ctx, path, key, tokens, false, out);
}

static const char copies[] = "ledgers.state";

nvdp_status nvdp__ledger_elsewhere(struct nvdp_context *ctx, const char *run) {
    nvdp__auto(state_release) struct nvdp__ledger_state copy = {.path = nvdp__path(run, copies)};
    NVDP_TRY(state_read(ctx, &copy));
    return state_counts(&copy)
               ? nvdp__fail(ctx, NVDP_ERR_STATE,
                            "%s: ledgers outside of the run count its releases; name the one that "
                            "counts, or the run's own, with {ledger}",
                            copy.path.text)
               : NVDP_OK;
}

nvdp_status nvdp__ledger_of_run(struct nvdp__ledger *ledger, const char *run) {
    struct nvdp__ledger_state *copy = &ledger->copy;
    const struct nvdp__path beside = nvdp__path(run, "ledger.state");
    if (strcmp(beside.text, ledger->state.path.text) == 0 ||
        nvdp__same_file(beside.text, ledger->state.path.text))
        return NVDP_OK;
    copy->path = nvdp__path(run, copies);
    NVDP_TRY(state_read(ledger->ctx, copy));
    return state_check(ledger, copy, false);
}

void nvdp__ledger_close(struct nvdp__ledger *ledger) {
    if (ledger == NULL) return;
    if (ledger->fd >= 0) close(ledger->fd); /* also releases the lock */
    sodium_free(ledger->key);
    state_release(&ledger->state);
    state_release(&ledger->copy);
    free(ledger->bytes);
    free(ledger->frame);
    free(ledger->record);
    free(ledger);
}
