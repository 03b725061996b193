#include "share/ledger.h"

#include "base/file.h"
#include "share/sign.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <nvdp/privacy.h>
#include <nvdp/rdp.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- the file --- */

enum { KEY = 32, MAC = 32, WAIT_MS = 50, MOST_WAITS = 1200 };
static const char key_words[] = "nvdp-ledger-key/1 ";

/* Then records, each:  release, MAC, texts [release.texts], MAC.  A MAC is of the one before it, and of what
 * stands between the two. */
struct head {
    char kind[16];
    unsigned char tokens[MAC]; /* keyed hash of what texts become tokens by */
    unsigned char mac[MAC];
};
static const char kind[sizeof((struct head *)NULL)->kind] = "nvdp ledger/1\n";

_Static_assert(sizeof(struct nvdp__ledger_release) == 32 + 8 * (3 + 2 + 1 + NVDP__LEDGER_ORDERS) &&
                   __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "records are written as they are");

const double nvdp__ledger_orders[NVDP__LEDGER_ORDERS] = {1.05, 1.1, 1.25, 1.5, 1.75, 2,  2.5, 3,
                                                         4,    6,   8,    12,  16,   32, 64,  256};

struct record {
    const struct nvdp__ledger_release *release;
    const nvdp__text_hash *text;
};

/* What lies in the file from `at` on. */
static struct record record_at(const unsigned char *at) {
    const void *text = at + sizeof(struct nvdp__ledger_release) + MAC;
    return (struct record){(const void *)at, text};
}

struct nvdp__ledger {
    struct nvdp_context *ctx;
    char *path;
    int fd;
    unsigned char *key;   /* [2 KEY] for texts, for MACs: protected */
    unsigned char *bytes; /* the file's */
    size_t size, whole;   /* its size; of it, in whole records */
    struct record *record;
    size_t count, capacity;
    unsigned char mac[MAC]; /* the last */
};

#define FAIL(ledger, status, format, ...)                                                          \
    nvdp__fail((ledger)->ctx, NVDP_ERR_##status, "%s: " format, (ledger)->path, __VA_ARGS__)

static nvdp_status io_error(const struct nvdp__ledger *ledger, const char *what) {
    return nvdp__fail_errno(ledger->ctx, errno, "%s: cannot %s", ledger->path, what);
}

static const unsigned char *text_key(const struct nvdp__ledger *ledger) {
    return ledger->key;
}

static void make_mac(const struct nvdp__ledger *ledger, const unsigned char *before, size_t size,
                     const void *bytes, unsigned char mac[MAC]) {
    crypto_generichash_state state;
    crypto_generichash_init(&state, ledger->key + KEY, KEY, MAC);
    crypto_generichash_update(&state, before, MAC);
    crypto_generichash_update(&state, bytes, size);
    crypto_generichash_final(&state, mac, MAC);
    sodium_memzero(&state, sizeof state);
}

static void head_mac(const struct nvdp__ledger *ledger, const struct head *head,
                     unsigned char mac[MAC]) {
    static const unsigned char nothing[MAC] = {0};
    make_mac(ledger, nothing, offsetof(struct head, mac), head, mac);
}

/* Subkeys of the owner's, one a purpose; a new one where the ledger is new and there is none. */
static nvdp_status take_key(struct nvdp__ledger *ledger, const char *path, bool make) {
    nvdp_status status = NVDP_OK;
    unsigned char owners[NVDP__KEY] = {0};
    ledger->key = sodium_malloc(2 * KEY);
    if (ledger->key == NULL) return FAIL(ledger, MEMORY, "out of %s", "memory");
    if (make && !nvdp__exists(path)) {
        randombytes_buf(owners, sizeof owners);
        NVDP_TRY(nvdp__secret_write(ledger->ctx, path, key_words, owners));
    } else {
        NVDP_TRY(nvdp__secret_read(ledger->ctx, path, key_words, owners));
    }
    for (unsigned i = 0; i < 2; i++) {
        crypto_kdf_derive_from_key(ledger->key + (size_t)i * KEY, KEY, i + 1, "nvdpledg", owners);
    }
cleanup:
    sodium_memzero(owners, sizeof owners);
    return status;
}

/* --- reading --- */

/* The whole file; it is the writers' own, and locked. */
static nvdp_status read_bytes(struct nvdp__ledger *ledger) {
    struct stat info;
    if (fstat(ledger->fd, &info) != 0) return io_error(ledger, "read");
    if (!S_ISREG(info.st_mode))
        return FAIL(ledger, INPUT, "expected a %s, found something else", "regular file");
    ledger->size = (size_t)info.st_size;
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ledger->ctx, ledger->bytes, ledger->size));
    for (size_t have = 0; have < ledger->size;) {
        ssize_t got = pread(ledger->fd, ledger->bytes + have, ledger->size - have, (off_t)have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return io_error(ledger, "read");
        if (got == 0) ledger->size = have;
        have += (size_t)got;
    }
    return NVDP_OK;
}

static nvdp_status take_record(struct nvdp__ledger *ledger, const struct record *record) {
    NVDP_RETURN_IF_FAILED(nvdp__reserve(ledger->ctx, &ledger->record, &ledger->capacity,
                                        ledger->count + 1, sizeof *ledger->record));
    ledger->record[ledger->count++] = *record;
    return NVDP_OK;
}

/* Nothing of a record is believed before its MAC is right. */
static nvdp_status read_records(struct nvdp__ledger *ledger) {
    const size_t head = sizeof(struct nvdp__ledger_release);
    for (;;) {
        unsigned char mac[MAC];
        const unsigned char *at = ledger->bytes + ledger->whole;
        size_t left = ledger->size - ledger->whole;
        if (left < head + MAC) return NVDP_OK;
        const struct record record = record_at(at);
        make_mac(ledger, ledger->mac, head, at, mac);
        bool right = sodium_memcmp(mac, at + head, MAC) == 0;
        at += head + MAC;
        left -= head + MAC;
        size_t size = 0;
        if (right && nvdp__mul((size_t)record.release->texts, NVDP__LEDGER_HASH, &size) &&
            (left < MAC || left - MAC < size))
            return NVDP_OK; /* cut short */
        if (right) make_mac(ledger, mac, size, at, ledger->mac);
        if (!right || sodium_memcmp(ledger->mac, at + size, MAC) != 0)
            return FAIL(ledger, INPUT,
                        "expected records as they were written, found record %zu, at byte %zu, "
                        "changed",
                        ledger->count + 1, ledger->whole);
        NVDP_RETURN_IF_FAILED(take_record(ledger, &record));
        ledger->whole += head + MAC + size + MAC;
    }
}

static nvdp_status read_head(struct nvdp__ledger *ledger, const unsigned char *tokens) {
    const struct head *head = (const struct head *)(const void *)ledger->bytes;
    unsigned char mac[MAC];
    head_mac(ledger, head, mac);
    if (sodium_memcmp(mac, head->mac, MAC) != 0)
        return FAIL(ledger, INPUT, "expected the ledger of the given %s, found that of another",
                    "key");
    if (tokens != NULL && sodium_memcmp(tokens, head->tokens, MAC) != 0)
        return FAIL(ledger, ARGUMENT,
                    "expected a model with the %s that its texts are known by, found another",
                    "tokenizer and greatest length");
    memcpy(ledger->mac, mac, MAC);
    ledger->whole = sizeof *head;
    return NVDP_OK;
}

/* Whether the first bytes may be those of a ledger, a new one's if need be. */
static bool is_ledger(const struct nvdp__ledger *ledger) {
    size_t size = nvdp__least(ledger->size, sizeof kind);
    return memcmp(ledger->bytes, kind, size) == 0;
}

/* --- writing --- */

static nvdp_status append(struct nvdp__ledger *ledger, size_t at, size_t count, const void *bytes) {
    const unsigned char *from = bytes;
    while (count > 0) {
        ssize_t put = pwrite(ledger->fd, from, count, (off_t)at);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return io_error(ledger, "write");
        from += put;
        at += (size_t)put;
        count -= (size_t)put;
    }
    return NVDP_OK;
}

static nvdp_status begin(struct nvdp__ledger *ledger, const unsigned char tokens[MAC]) {
    struct head head;
    memcpy(head.kind, kind, sizeof head.kind);
    memcpy(head.tokens, tokens, sizeof head.tokens);
    head_mac(ledger, &head, head.mac);
    NVDP_RETURN_IF_FAILED(append(ledger, 0, sizeof head, &head));
    if (fsync(ledger->fd) != 0) return io_error(ledger, "write");
    nvdp__sync_directory(ledger->path);
    memcpy(ledger->mac, head.mac, MAC);
    ledger->whole = ledger->size = sizeof head;
    return NVDP_OK;
}

static nvdp_status wait_for_lock(struct nvdp__ledger *ledger) {
    for (int waits = 0; !nvdp__lock_whole(ledger->fd); waits++) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return io_error(ledger, "lock"); /* a file system without locks, say */
        if (nvdp_context_cancelled(ledger->ctx)) return FAIL(ledger, CANCELLED, "%s", "cancelled");
        if (waits == MOST_WAITS)
            return FAIL(ledger, IO, "cannot lock: another process has held it for %d seconds",
                        MOST_WAITS * WAIT_MS / 1000);
        nanosleep(&(struct timespec){.tv_nsec = WAIT_MS * 1000000L}, NULL);
    }
    return NVDP_OK;
}

nvdp_status nvdp__ledger_open(struct nvdp_context *ctx, const char *path, const char *key,
                              const char *tokens, struct nvdp__ledger **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__ledger *ledger = NULL;
    unsigned char mark[MAC];
    const bool add = tokens != NULL;
    if (sodium_init() < 0)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "libsodium: cannot be initialised");
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, ledger, 1));
    ledger->ctx = ctx;
    ledger->fd = -1;
    ledger->path = nvdp__strdup(ctx, path);
    if (ledger->path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    if (nvdp__exists(path)) NVDP_TRY(nvdp__check_regular(ctx, path));
    ledger->fd =
        open(path, (add ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NONBLOCK, S_IRUSR | S_IWUSR);
    if (ledger->fd < 0) NVDP_TRY(io_error(ledger, add ? "write" : "read"));
    if (add) NVDP_TRY(wait_for_lock(ledger));
    NVDP_TRY(read_bytes(ledger));
    const bool made = ledger->size >= sizeof(struct head);
    if (!is_ledger(ledger) || !(made || add))
        NVDP_TRY(FAIL(ledger, INPUT, "expected a %s, found another kind of file", "ledger"));
    NVDP_TRY(take_key(ledger, key, !made));
    if (add)
        crypto_generichash(mark, sizeof mark, (const unsigned char *)tokens, strlen(tokens),
                           text_key(ledger), KEY);
    NVDP_TRY(made ? read_head(ledger, add ? mark : NULL) : begin(ledger, mark));
    NVDP_TRY(read_records(ledger));
    NVDP__HAND_OVER(out, ledger);
cleanup:
    nvdp__ledger_close(ledger);
    return status;
}

void nvdp__ledger_close(struct nvdp__ledger *ledger) {
    if (ledger == NULL) return;
    if (ledger->fd >= 0) close(ledger->fd); /* and its lock is given back */
    sodium_free(ledger->key);
    free(ledger->bytes);
    free(ledger->record);
    free(ledger->path);
    free(ledger);
}

/* --- what texts have spent --- */

void nvdp__ledger_text(const struct nvdp__ledger *ledger, size_t n, const int32_t *ids,
                       const int32_t *types, nvdp__text_hash hash) {
    const uint64_t count = n;
    crypto_generichash_state state;
    crypto_generichash_init(&state, text_key(ledger), KEY, NVDP__LEDGER_HASH);
    crypto_generichash_update(&state, (const unsigned char *)&count, sizeof count);
    crypto_generichash_update(&state, (const unsigned char *)ids, n * sizeof *ids);
    crypto_generichash_update(&state, (const unsigned char *)types, n * sizeof *types);
    crypto_generichash_final(&state, hash, NVDP__LEDGER_HASH);
    sodium_memzero(&state, sizeof state);
}

/* One of the texts that are asked about, and what its releases add up to. */
struct sum {
    nvdp__text_hash text;
    uint64_t samples;
    double mu_square, divergence[NVDP__LEDGER_ORDERS];
};

static int by_text(const void *a, const void *b) {
    return memcmp(a, b, NVDP__LEDGER_HASH); /* what struct sum begins with */
}

/* A text that is in the release twice counts twice. */
static void add_release(struct sum *sum, size_t count, const struct record *record) {
    const struct nvdp__ledger_release *release = record->release;
    const double samples = (double)release->samples;
    for (size_t i = 0; i < release->texts; i++) {
        struct sum *of = bsearch(record->text[i], sum, count, sizeof *sum, by_text);
        if (of == NULL) continue;
        of->samples += release->samples;
        of->mu_square += samples * release->mu * release->mu;
        for (size_t k = 0; k < NVDP__LEDGER_ORDERS; k++) {
            of->divergence[k] += samples * release->divergence[k];
        }
    }
}

/* Different texts of a record, by their hashes, with what all records say of them. */
static nvdp_status add_up(const struct nvdp__ledger *ledger, const struct record *of,
                          struct sum **out, size_t *count) {
    struct sum *sum = NULL;
    size_t n = 0;
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ledger->ctx, sum, (size_t)of->release->texts));
    for (size_t i = 0; i < of->release->texts; i++) {
        memcpy(sum[i].text, of->text[i], NVDP__LEDGER_HASH);
    }
    qsort(sum, (size_t)of->release->texts, sizeof *sum, by_text);
    for (size_t i = 0; i < of->release->texts; i++) {
        if (n == 0 || by_text(&sum[n - 1], &sum[i]) != 0) sum[n++] = sum[i];
    }
    for (size_t r = 0; r < ledger->count; r++) {
        add_release(sum, n, &ledger->record[r]);
    }
    *out = sum;
    *count = n;
    return NVDP_OK;
}

/* Gaussian mechanisms compose into one, exactly; others by the divergences of an order, which add up
 * (van Erven & Harremoes 2014), at the order where least follows. */
static double epsilon_of(const struct sum *sum) {
    double least = isfinite(sum->mu_square)
                       ? nvdp_gdp_epsilon(sqrt(sum->mu_square), NVDP__LEDGER_DELTA)
                       : INFINITY;
    for (size_t k = 0; k < NVDP__LEDGER_ORDERS && !isfinite(sum->mu_square); k++) {
        if (isfinite(sum->divergence[k]))
            least = fmin(least, nvdp_renyi_epsilon(nvdp__ledger_orders[k], sum->divergence[k],
                                                   NVDP__LEDGER_DELTA));
    }
    return least;
}

static bool spent_alike(const struct sum *a, const struct sum *b) {
    return memcmp(&a->samples, &b->samples, sizeof *a - offsetof(struct sum, samples)) == 0;
}

/* Text after text; most have the same history, so that one is computed. */
static struct nvdp__spent worst_of(const struct sum *sum, size_t count) {
    struct nvdp__spent worst = {0};
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && spent_alike(&sum[i - 1], &sum[i])) continue;
        if (sum[i].samples > worst.samples) worst.samples = sum[i].samples;
        worst.epsilon = fmax(worst.epsilon, epsilon_of(&sum[i]));
    }
    return worst;
}

bool nvdp__within_budget(const struct nvdp__budget *budget, const struct nvdp__spent *spent) {
    return (budget->samples == 0 || spent->samples <= budget->samples) &&
           (budget->epsilon == 0 || spent->epsilon <= budget->epsilon);
}

/* The first of the record's texts that is beyond the budget, and how many are. */
static nvdp_status check_budget(const struct nvdp__ledger *ledger, const struct record *record,
                                const struct sum *sum, size_t count) {
    const struct nvdp__budget *budget = &record->release->budget;
    const struct sum *first = NULL, *last = NULL;
    double epsilon = 0, first_epsilon = 0;
    size_t number = 0, over = 0;
    for (size_t i = 0; i < record->release->texts; i++) {
        const struct sum *of = bsearch(record->text[i], sum, count, sizeof *sum, by_text);
        if (budget->epsilon > 0 && (last == NULL || !spent_alike(last, of)))
            epsilon = epsilon_of(of);
        last = of;
        if (nvdp__within_budget(budget, &(struct nvdp__spent){of->samples, epsilon})) continue;
        if (over++ > 0) continue;
        first = of;
        first_epsilon = epsilon;
        number = i;
    }
    if (over == 0) return NVDP_OK;
    if (budget->samples > 0 && first->samples > budget->samples)
        return FAIL(ledger, ARGUMENT,
                    "expected at most %" PRIu64 " samples of a text in all, found %" PRIu64
                    " of text %zu with the %" PRIu64 " that are asked for; beyond the budget are "
                    "%zu of %" PRIu64 " texts",
                    budget->samples, first->samples, number, record->release->samples, over,
                    record->release->texts);
    return FAIL(ledger, ARGUMENT,
                "expected at most epsilon %g at delta %g of all releases of a text, found %g of "
                "text %zu with this one; beyond the budget are %zu of %" PRIu64 " texts",
                budget->epsilon, NVDP__LEDGER_DELTA, first_epsilon, number, over,
                record->release->texts);
}

/* --- the next record --- */

/* Written at the end of what is whole, all at once; then it is on the disk. */
static nvdp_status write_record(struct nvdp__ledger *ledger, const struct record *record) {
    nvdp_status status = NVDP_OK;
    const size_t head = sizeof *record->release;
    const size_t texts = (size_t)record->release->texts * NVDP__LEDGER_HASH;
    const size_t all = head + MAC + texts + MAC;
    unsigned char *bytes = nvdp__calloc(ledger->ctx, all, 1);
    if (bytes == NULL) return NVDP_ERR_MEMORY;
    memcpy(bytes, record->release, head);
    make_mac(ledger, ledger->mac, head, bytes, bytes + head);
    memcpy(bytes + head + MAC, record->text, texts);
    make_mac(ledger, bytes + head, texts, record->text, bytes + head + MAC + texts);
    if (ledger->size > ledger->whole) {
        nvdp__log(ledger->ctx, NVDP_LOG_NOTICE,
                  "%s: removed a record that was not whole; of its release nothing was drawn",
                  ledger->path);
        if (ftruncate(ledger->fd, (off_t)ledger->whole) != 0) NVDP_TRY(io_error(ledger, "write"));
    }
    status = append(ledger, ledger->whole, all, bytes);
    if (status == NVDP_OK && fsync(ledger->fd) != 0) status = io_error(ledger, "write");
    if (status != NVDP_OK) (void)!ftruncate(ledger->fd, (off_t)ledger->whole);
cleanup:
    free(bytes);
    return status;
}

nvdp_status nvdp__ledger_add(struct nvdp__ledger *ledger, struct nvdp__ledger_release *release,
                             const nvdp__text_hash *text, struct nvdp__spent *worst) {
    nvdp_status status = NVDP_OK;
    struct sum *sum = NULL;
    size_t count = 0;
    const struct record record = {release, text};
    const struct nvdp__ledger_release *last =
        ledger->count > 0 ? ledger->record[ledger->count - 1].release : NULL;
    if (release->budget.samples == 0 && last != NULL)
        release->budget.samples = last->budget.samples;
    if (release->budget.epsilon == 0 && last != NULL)
        release->budget.epsilon = last->budget.epsilon;
    release->seconds = (int64_t)time(NULL);
    NVDP_TRY(add_up(ledger, &record, &sum, &count));
    add_release(sum, count, &record);
    NVDP_TRY(check_budget(ledger, &record, sum, count));
    NVDP_TRY(write_record(ledger, &record));
    *worst = worst_of(sum, count);
cleanup:
    free(sum);
    return status;
}

/* --- looking things up --- */

size_t nvdp__ledger_count(const struct nvdp__ledger *ledger) {
    return ledger->count;
}

const struct nvdp__ledger_release *nvdp__ledger_find(const struct nvdp__ledger *ledger,
                                                     const char *id) {
    if (strlen(id) != NVDP__LEDGER_ID) return NULL;
    for (size_t r = ledger->count; r-- > 0;) {
        if (memcmp(ledger->record[r].release->id, id, NVDP__LEDGER_ID) == 0)
            return ledger->record[r].release;
    }
    return NULL;
}

nvdp_status nvdp__ledger_worst(const struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_release *release,
                               struct nvdp__spent *worst, struct nvdp__budget *budget) {
    struct sum *sum = NULL;
    size_t count = 0;
    const struct record record = record_at((const unsigned char *)release);
    NVDP_RETURN_IF_FAILED(add_up(ledger, &record, &sum, &count));
    *worst = worst_of(sum, count);
    *budget = ledger->record[ledger->count - 1].release->budget;
    free(sum);
    return NVDP_OK;
}
