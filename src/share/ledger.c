/* Implements the ledger, which nvdp export writes and nvdp verify reads.  Read ledger.h first.  The order: file,
 * reading, writing, hashes, budgets, appending a record, queries.  spending.c adds up the records. */
#include "share/ledger.h"

#include "base/file.h"
#include "base/sentence.h"
#include "share/sign.h"
#include "share/spending.h"
#include "text/normalize.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utf8proc.h>

/* --- the file --- */

enum { KEY = 32, MAC = 32, WAIT_MS = 50, MAX_WAITS = 1200 };
static const char key_words[] = "nvdp-ledger-key/1 ";

/* The head of the file.  Records follow, each:  release, MAC, texts [release.texts], MAC.  A MAC covers the previous
 * MAC and the bytes between them.
 *
 * A record of 0 samples with the id of the record before it has that record's names: a hash per person in place of the
 * texts (or none), the hash of the receiver in the first two divergences, mu per word in the third (0: none), the
 * distance of the weights in the fourth, and the budget of a person in mu.  A program that does not know names counts 0 samples for it. */
struct head {
    char kind[16];
    unsigned char tokens[MAC]; /* keyed hash of the tokenizer and the max. length */
    unsigned char mac[MAC];
};
enum { WITHOUT_NAMES, WITH_NAMES, KINDS }; /* ledger/1, ledger/2 */
static const char kinds[KINDS][sizeof((struct head *)NULL)->kind] = {"nvdp ledger/1\n",
                                                                     "nvdp ledger/2\n"};
static const size_t release_size[KINDS] = {offsetof(struct nvdp__ledger_release, file),
                                           sizeof(struct nvdp__ledger_release)};

_Static_assert(sizeof(struct nvdp__ledger_release) ==
                       32 + 8 * (3 + 2 + 1 + NVDP__LEDGER_ORDERS) + NVDP__LEDGER_FILE &&
                   __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "unchanged records");

const double nvdp__ledger_orders[NVDP__LEDGER_ORDERS] = {1.05, 1.1, 1.25, 1.5, 1.75, 2,  2.5, 3,
                                                         4,    6,   8,    12,  16,   32, 64,  256};

struct nvdp__ledger {
    struct nvdp_context *ctx;
    char *path;
    int fd;
    unsigned char *key;   /* [2 KEY] protected: one for texts, one for MACs */
    unsigned char *bytes; /* contents of the file */
    size_t size, whole;   /* bytes in the file, and in its whole records */
    int kind;
    struct nvdp__ledger_record *record;
    size_t count, capacity;
    unsigned char mac[MAC];          /* of the last record */
    struct nvdp__ledger_names names; /* of the next record */
};

/* Returns the record that begins at `at`. */
static struct nvdp__ledger_record record_at(const struct nvdp__ledger *ledger,
                                            const unsigned char *at) {
    const void *text = at + release_size[ledger->kind] + MAC;
    const struct nvdp__ledger_release *release = (const void *)at;
    return (struct nvdp__ledger_record){
        .release = release, .text = text, .file = ledger->kind == WITH_NAMES ? release->file : ""};
}

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

/* Derives one subkey per purpose.  Creates a missing key if `make` is set. */
static nvdp_status take_key(struct nvdp__ledger *ledger, const char *path, bool make) {
    nvdp_status status = NVDP_OK;
    unsigned char owners[NVDP__KEY] = {0};
    ledger->key = sodium_malloc(2 * KEY);
    if (ledger->key == NULL) return FAIL(ledger, MEMORY, "out of %s", "memory");
    if (make && !nvdp__exists(path)) {
        randombytes_buf(owners, sizeof owners);
        NVDP_TRY(nvdp__secret_write(ledger->ctx, path, key_words, owners));
    } else if (!nvdp__exists(path)) {
        NVDP_TRY(FAIL(ledger, IO,
                      "expected the ledger's key at %s, found none; the texts cannot be recognized "
                      "without it; name the key with {ledger-key}",
                      path));
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

/* Reads the whole file. */
static nvdp_status read_bytes(struct nvdp__ledger *ledger) {
    struct stat info;
    if (fstat(ledger->fd, &info) != 0) return io_error(ledger, "read");
    if (!S_ISREG(info.st_mode))
        return FAIL(ledger, INPUT, "expected a %s, found another kind of file", "regular file");
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

/* Places of mu per word and of the weights' distance in a record of names. */
enum { WORD = NVDP__LEDGER_HASH / sizeof(double), DISTANCE };

static const nvdp__text_hash nobody = {0};

static bool is_nobody(const unsigned char *hash) {
    return memcmp(hash, nobody, sizeof nobody) == 0;
}

/* Takes the names of the last record.  Returns false if the record does not hold them. */
static bool take_names(struct nvdp__ledger *ledger, const struct nvdp__ledger_record *names) {
    const struct nvdp__ledger_release *from = names->release;
    if (ledger->count == 0 || from->samples != 0) return false;
    struct nvdp__ledger_record *to = ledger->record + ledger->count - 1;
    if (to->named || memcmp(from->id, to->release->id, sizeof from->id) != 0 ||
        (from->texts != 0 && from->texts != to->release->texts))
        return false;
    const unsigned char *receiver = (const unsigned char *)from->divergence;
    to->named = true;
    to->person = from->texts > 0 ? names->text : NULL;
    to->receiver = is_nobody(receiver) ? NULL : receiver;
    to->person_epsilon = from->mu;
    to->word_mu = from->divergence[WORD];
    to->distance = from->divergence[DISTANCE];
    return true;
}

static nvdp_status take_record(struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_record *record) {
    if (take_names(ledger, record)) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__reserve(ledger->ctx, &ledger->record, &ledger->capacity,
                                        ledger->count + 1, sizeof *ledger->record));
    ledger->record[ledger->count++] = *record;
    return NVDP_OK;
}

/* Reads all whole records.  Uses nothing of a record before its MAC is verified. */
static nvdp_status read_records(struct nvdp__ledger *ledger) {
    const size_t head = release_size[ledger->kind];
    for (;;) {
        unsigned char mac[MAC];
        const unsigned char *at = ledger->bytes + ledger->whole;
        size_t left = ledger->size - ledger->whole;
        if (left < head + MAC) return NVDP_OK;
        const struct nvdp__ledger_record record = record_at(ledger, at);
        make_mac(ledger, ledger->mac, head, at, mac);
        bool right = sodium_memcmp(mac, at + head, MAC) == 0;
        at += head + MAC;
        left -= head + MAC;
        size_t size = 0;
        if (right && nvdp__mul((size_t)record.release->texts, NVDP__LEDGER_HASH, &size) &&
            (left < MAC || left - MAC < size))
            return NVDP_OK; /* the last record is incomplete */
        if (right) make_mac(ledger, mac, size, at, ledger->mac);
        if (!right || sodium_memcmp(ledger->mac, at + size, MAC) != 0)
            return FAIL(ledger, INPUT,
                        "expected unchanged records, but record %zu, at byte %zu, was changed; "
                        "restore the ledger from a copy",
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
        return FAIL(ledger, INPUT,
                    "expected the ledger that belongs to the given %s, found another ledger",
                    "key");
    if (tokens != NULL && sodium_memcmp(tokens, head->tokens, MAC) != 0)
        return FAIL(
            ledger, ARGUMENT,
            "expected a model with the same %s, by which this ledger recognizes texts "
            "(to it, method word reads with another tokenizer), found another one; a separate "
            "ledger, {ledger} FILE, does not count the samples of this one",
            "tokenizer and maximum length");
    memcpy(ledger->mac, mac, MAC);
    ledger->whole = sizeof *head;
    return NVDP_OK;
}

/* Finds the kind from the first bytes, even if a killed writer left few of them.  Returns false for other files. */
static bool is_ledger(struct nvdp__ledger *ledger) {
    const size_t size = nvdp__min(ledger->size, sizeof kinds[0]);
    for (ledger->kind = KINDS; ledger->kind-- > 0;) {
        if (memcmp(ledger->bytes, kinds[ledger->kind], size) == 0) return true;
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
    memcpy(head.kind, kinds[WITH_NAMES], sizeof head.kind);
    memcpy(head.tokens, tokens, sizeof head.tokens);
    head_mac(ledger, &head, head.mac);
    NVDP_RETURN_IF_FAILED(append(ledger, 0, sizeof head, &head));
    if (fsync(ledger->fd) != 0) return io_error(ledger, "write");
    nvdp__sync_directory(ledger->path);
    memcpy(ledger->mac, head.mac, MAC);
    ledger->whole = ledger->size = sizeof head;
    ledger->kind = WITH_NAMES;
    return NVDP_OK;
}

static nvdp_status wait_for_lock(struct nvdp__ledger *ledger) {
    for (int waits = 0; !nvdp__lock_whole(ledger->fd); waits++) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return io_error(ledger, "lock"); /* for example, a file system without locks */
        if (nvdp_context_cancelled(ledger->ctx)) return FAIL(ledger, CANCELLED, "%s", "cancelled");
        if (waits == MAX_WAITS)
            return FAIL(ledger, IO,
                        "cannot lock the file, because another process has held it for %d seconds; "
                        "try again later",
                        MAX_WAITS * WAIT_MS / 1000);
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
    /* first the key: a writer that begins a ledger creates its file first */
    const bool lost = add && nvdp__exists(key) && !nvdp__exists(path);
    if (sodium_init() < 0)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "libsodium failed to initialize");
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, ledger, 1));
    ledger->ctx = ctx;
    ledger->fd = -1;
    ledger->path = nvdp__strdup(ctx, path);
    if (ledger->path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    if (lost)
        NVDP_TRY(FAIL(ledger, STATE,
                      "expected the ledger of the key %s, found none. Restore it from a copy, or "
                      "name it with {ledger}. A new ledger forgets all that was shared: to begin "
                      "one, remove this key, or name another one with {ledger-key}",
                      key));
    if (nvdp__exists(path)) NVDP_TRY(nvdp__check_regular(ctx, path));
    ledger->fd =
        open(path, (add ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NONBLOCK, S_IRUSR | S_IWUSR);
    if (ledger->fd < 0) NVDP_TRY(io_error(ledger, add ? "write" : "read"));
    if (add) NVDP_TRY(wait_for_lock(ledger));
    NVDP_TRY(read_bytes(ledger));
    const bool made = ledger->size >= sizeof(struct head);
    if (!is_ledger(ledger) || !(made || add)) NVDP_TRY(no_ledger(ledger));
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
    if (ledger->fd >= 0) close(ledger->fd); /* also releases the lock */
    sodium_free(ledger->key);
    free(ledger->bytes);
    free(ledger->record);
    free(ledger->path);
    free(ledger);
}

/* --- hashes --- */

void nvdp__ledger_text(const struct nvdp__ledger *ledger, size_t n, const int32_t *ids,
                       const int32_t *types, nvdp__text_hash hash) {
    nvdp__text_digest(text_key(ledger), n, ids, types, hash);
}

/* True for white space and for characters without a glyph, such as zero-width spaces. */
static bool is_blank(int32_t rune) {
    return nvdp__is_white_space(rune) || nvdp__has_category(rune, NVDP__IN(CC) | NVDP__IN(CF));
}

/* Removes blanks around a name, or all blanks if `within` is set. */
static void drop_blanks(struct nvdp__runes *runes, bool within) {
    size_t kept = 0, end = runes->count;
    while (end > 0 && is_blank(runes->at[end - 1]))
        end--;
    for (size_t i = 0; i < end; i++)
        if (!is_blank(runes->at[i]) || (kept > 0 && !within)) runes->at[kept++] = runes->at[i];
    runes->count = kept;
}

/* Writes a name in NFC without blanks around it.  `fold`: in NFKC, in lower case, without any blanks.  Bytes that are not
 * UTF-8 stay. */
static nvdp_status normalize_name(struct nvdp_context *ctx, const char *name, bool fold,
                                  struct nvdp__normalized *out) {
    static const struct nvdp__normalization lower = {.lower_case = true};
    name += strspn(name, " \t\r\n");
    size_t size = strlen(name);
    while (size > 0 && strchr(" \t\r\n", name[size - 1]) != NULL)
        size--;
    NVDP_RETURN_IF_FAILED(nvdp__reserve(ctx, &out->text, &out->capacity, size + 1, 1));
    memcpy(out->text, name, size);
    out->size = size;
    if (!nvdp__is_utf8(name, size)) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__runes_read(ctx, name, size, &out->run));
    NVDP_RETURN_IF_FAILED(nvdp__normal_form(ctx, &out->run, fold, true, &out->folded));
    drop_blanks(&out->folded, fold);
    if (!fold) return nvdp__runes_write(ctx, &out->folded, out);
    NVDP_RETURN_IF_FAILED(nvdp__fold(ctx, &lower, &out->folded, &out->run));
    return nvdp__runes_write(ctx, &out->run, out);
}

nvdp_status nvdp__ledger_name(const struct nvdp__ledger *ledger, enum nvdp__ledger_naming kind,
                              const char *name, nvdp__text_hash hash) {
    nvdp_status status = NVDP_OK;
    const uint64_t mark = UINT64_MAX - (uint64_t)kind; /* no text has so many tokens */
    crypto_generichash_state state;
    struct nvdp__normalized normal = {0};
    memset(hash, 0, NVDP__LEDGER_HASH);
    if (name == NULL) return NVDP_OK;
    NVDP_TRY(normalize_name(ledger->ctx, name, kind == NVDP__LEDGER_LOOK, &normal));
    if (normal.size == 0) goto cleanup;
    crypto_generichash_init(&state, text_key(ledger), KEY, NVDP__LEDGER_HASH);
    crypto_generichash_update(&state, (const unsigned char *)&mark, sizeof mark);
    crypto_generichash_update(&state, (const unsigned char *)normal.text, normal.size);
    crypto_generichash_final(&state, hash, NVDP__LEDGER_HASH);
    sodium_memzero(&state, sizeof state);
cleanup:
    nvdp__normalized_release(&normal);
    return status;
}

void nvdp__ledger_set_names(struct nvdp__ledger *ledger, const struct nvdp__ledger_names *names) {
    ledger->names = *names;
}

bool nvdp__within_budget(const struct nvdp__budget *budget, const struct nvdp__spent *spent) {
    return (budget->samples == 0 || spent->samples <= budget->samples) &&
           (budget->epsilon == 0 || spent->epsilon <= budget->epsilon);
}

double nvdp__spent_word_epsilon(const struct nvdp__spent *spent) {
    return isfinite(spent->word_mu)
               ? fmin(nvdp_gdp_epsilon(spent->word_mu, NVDP__LEDGER_DELTA), spent->epsilon)
               : spent->epsilon;
}

const char *nvdp__spent_text(double epsilon, double word, char text[NVDP__SPENT_TEXT]) {
    char a[NVDP__BOUND_TEXT], b[NVDP__BOUND_TEXT];
    const bool less = word < epsilon * (1 - 1e-9);
    nvdp__snprintf(text, NVDP__SPENT_TEXT, "epsilon %s at delta %g%s%s%s", nvdp__bound(a, epsilon),
                   NVDP__LEDGER_DELTA, less ? " (per word " : "", less ? nvdp__bound(b, word) : "",
                   less ? ")" : "");
    return text;
}

/* --- budgets --- */

/* Writes ": 40 of its 40 texts were shared before, in dev.h5", or "" if none was. */
static const char *format_earlier(const struct nvdp__account *account, size_t size, char *text) {
    const struct nvdp__spent *spent = &account->spent;
    text[0] = '\0';
    if (spent->seen_before > 0)
        nvdp__snprintf(text, size, ": %" PRIu64 " of its %zu texts were shared before, in %s",
                       spent->seen_before, account->count, spent->files);
    return text;
}

enum { EARLIER_SIZE = NVDP__LEDGER_FILES + 96 };

static nvdp_status refuse_samples(const struct nvdp__ledger *ledger,
                                  const struct nvdp__budget *budget,
                                  const struct nvdp__account *account, bool promised) {
    char earlier[EARLIER_SIZE], epsilon[NVDP__SPENT_TEXT], together[160];
    const struct nvdp__spent *spent = &account->spent;
    nvdp__snprintf(together, sizeof together, "together, all samples of a text would have %s",
                   nvdp__spent_text(spent->epsilon, nvdp__spent_word_epsilon(spent), epsilon));
    return FAIL(ledger, STATE,
                "expected in total at most %" PRIu64 " sample%s of a text%s, found %" PRIu64
                " including this export%s; %s. Nothing was drawn; {budget-samples} %" PRIu64
                " allows the export",
                budget->samples, budget->samples == 1 ? "" : "s",
                promised ? ", which the run guarantees" : "", spent->samples,
                format_earlier(account, sizeof earlier, earlier),
                isfinite(spent->epsilon)
                    ? together
                    : "together, the samples of a text would have no proven epsilon",
                spent->samples);
}

static nvdp_status refuse_epsilon(const struct nvdp__ledger *ledger,
                                  const struct nvdp__budget *budget,
                                  const struct nvdp__account *account) {
    const struct nvdp__spent *spent = &account->spent;
    char earlier[EARLIER_SIZE], epsilon[NVDP__BOUND_TEXT], found[NVDP__SPENT_TEXT], allows[96] = "";
    nvdp__bound(epsilon, spent->epsilon);
    if (isfinite(spent->epsilon))
        nvdp__snprintf(allows, sizeof allows, "; %s %s allows the export",
                       nvdp__as_option(ledger->ctx, "budget-epsilon").text, epsilon);
    return FAIL(
        ledger, STATE,
        "expected at most epsilon %g for all samples of a text together, found %s including "
        "this export%s. Nothing was drawn%s",
        budget->epsilon, nvdp__spent_text(spent->epsilon, nvdp__spent_word_epsilon(spent), found),
        format_earlier(account, sizeof earlier, earlier), allows);
}

/* Checks the promise of training for every text of the release, whose record is in the account.  `each`: one row of a
 * text counts, else all of them. */
static bool keeps_promise(const struct nvdp__account *account, uint64_t samples, uint64_t promise,
                          bool each) {
    for (size_t i = 0; i < account->count; i++) {
        const struct nvdp__sum *sum = &account->sum[i];
        const uint64_t drawn = each ? samples : sum->spending.samples - sum->before;
        if (!nvdp__keeps_promise(sum->before, drawn, samples, promise)) return false;
    }
    return true;
}

/* Returns the records, and the next one or NULL. */
static struct nvdp__records records_of(const struct nvdp__ledger *ledger,
                                       const struct nvdp__ledger_record *next) {
    return (struct nvdp__records){.ctx = ledger->ctx,
                                  .record = ledger->record,
                                  .count = ledger->count,
                                  .next = next,
                                  .delta = NVDP__LEDGER_DELTA};
}

struct nvdp__records nvdp__ledger_records(const struct nvdp__ledger *ledger) {
    return records_of(ledger, NULL);
}

static nvdp_status refuse_persons(const struct nvdp__ledger *ledger, double budget, size_t over,
                                  size_t persons, double epsilon) {
    char bound[NVDP__BOUND_TEXT], allows[96] = "";
    nvdp__bound(bound, epsilon);
    if (isfinite(epsilon))
        nvdp__snprintf(allows, sizeof allows, "; %s %s allows the export",
                       nvdp__as_option(ledger->ctx, "person-epsilon").text, bound);
    return FAIL(ledger, STATE,
                "expected at most epsilon %g at delta %g for all texts of a person together, found "
                "up to %s including this export: %zu of %zu persons exceed the budget. Nothing was "
                "drawn%s",
                budget, NVDP__LEDGER_DELTA, bound, over, persons, allows);
}

/* Adds up the persons and the receivers, and checks the budget of a person. */
static nvdp_status check_names(const struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_record *record,
                               struct nvdp__spent *spent) {
    const struct nvdp__records records = records_of(ledger, record);
    size_t over = 0, persons = 0;
    const double budget = record->person_epsilon;
    if (record->person == NULL && budget > 0)
        return FAIL(
            ledger, STATE,
            "the ledger has a budget of epsilon %g for all texts of a person: expected {person}, "
            "the column that names the person of each text, found none. Nothing was drawn",
            budget);
    if (record->person != NULL || !nvdp__name_persons(&records)) spent->unnamed = 0;
    if (record->person != NULL)
        NVDP_RETURN_IF_FAILED(
            nvdp__spent_of_persons(&records, record, budget, spent, &over, &persons));
    if (over > 0) return refuse_persons(ledger, budget, over, persons, spent->person_epsilon);
    return nvdp__spent_of_receivers(&records, record, spent);
}

/* Returns the next record with its names. */
static struct nvdp__ledger_record next_record(const struct nvdp__ledger *ledger,
                                              const struct nvdp__ledger_release *release,
                                              const nvdp__text_hash *text) {
    const struct nvdp__ledger_names *names = &ledger->names;
    return (struct nvdp__ledger_record){
        .release = release,
        .text = text,
        .file = release->file,
        .person = names->person,
        .receiver = names->receiver,
        .named = names->person != NULL || names->receiver != NULL || names->person_epsilon > 0 ||
                 names->word_mu > 0 || names->distance > 0,
        .word_mu = names->word_mu,
        .distance = names->distance,
        .person_epsilon = names->person_epsilon > 0
                              ? names->person_epsilon
                              : nvdp__person_budget(ledger->record, ledger->count)};
}

nvdp_status nvdp__ledger_check(struct nvdp__ledger *ledger, struct nvdp__ledger_release *release,
                               const nvdp__text_hash *text, uint64_t promise,
                               struct nvdp__spent *spent) {
    nvdp_status status = NVDP_OK;
    struct nvdp__account account = {0};
    const struct nvdp__ledger_record record = next_record(ledger, release, text);
    const struct nvdp__records records = nvdp__ledger_records(ledger);
    struct nvdp__budget *budget = &release->budget;
    const bool promised = budget->samples == 0 && budget->epsilon == 0;
    if (budget->epsilon == 0 && ledger->count > 0)
        budget->epsilon = ledger->record[ledger->count - 1].release->budget.epsilon;
    NVDP_TRY(nvdp__account_open(&records, &record, &account));
    nvdp__account_add(&account, &record);
    nvdp__account_close(&account);
    const bool kept =
        !promised || keeps_promise(&account, release->samples, promise, ledger->names.each);
    if (promised) budget->samples = kept ? nvdp__max(promise, account.spent.samples) : promise;
    if (budget->samples > 0 && account.spent.samples > budget->samples)
        NVDP_TRY(refuse_samples(ledger, budget, &account, promised));
    if (budget->epsilon > 0 && account.spent.epsilon > budget->epsilon)
        NVDP_TRY(refuse_epsilon(ledger, budget, &account));
    NVDP_TRY(check_names(ledger, &record, &account.spent));
    *spent = account.spent;
cleanup:
    free(account.sum);
    return status;
}

/* --- appending a record --- */

/* Puts a record at `to`, and replaces the MAC before it by its own. */
static void put_record(const struct nvdp__ledger *ledger,
                       const struct nvdp__ledger_release *release, const nvdp__text_hash *text,
                       unsigned char *to, unsigned char mac[MAC]) {
    const size_t head = release_size[ledger->kind];
    const size_t texts = (size_t)release->texts * NVDP__LEDGER_HASH;
    memcpy(to, release, head);
    make_mac(ledger, mac, head, to, to + head);
    if (texts > 0) memcpy(to + head + MAC, text, texts);
    make_mac(ledger, to + head, texts, to + head + MAC, mac);
    memcpy(to + head + MAC + texts, mac, MAC);
}

/* Makes the record that holds the names of `record`. */
static struct nvdp__ledger_release names_of(const struct nvdp__ledger_record *record) {
    struct nvdp__ledger_release names = {.texts =
                                             record->person != NULL ? record->release->texts : 0,
                                         .seconds = record->release->seconds,
                                         .budget = record->release->budget,
                                         .mu = record->person_epsilon};
    memcpy(names.id, record->release->id, sizeof names.id);
    if (record->receiver != NULL) memcpy(names.divergence, record->receiver, NVDP__LEDGER_HASH);
    names.divergence[WORD] = record->word_mu;
    names.divergence[DISTANCE] = record->distance;
    return names;
}

/* Fails if another file, or none, is at the ledger's path now, such as a copy that was put back: the next export would
 * not find a record in this one. */
static nvdp_status check_place(const struct nvdp__ledger *ledger) {
    struct stat opened, there;
    if (fstat(ledger->fd, &opened) == 0 && stat(ledger->path, &there) == 0 &&
        opened.st_ino == there.st_ino && opened.st_dev == there.st_dev)
        return NVDP_OK;
    return FAIL(ledger, STATE,
                "expected the ledger that this export opened, found %s: it was replaced "
                "meanwhile. Nothing was drawn; export again",
                "another file or none");
}

/* Writes the record, and its names if it has any, after the last whole record, all at once, and syncs it to disk.  If a
 * process dies in between, nothing was drawn, and at worst the record counts without its names. */
static nvdp_status write_record(struct nvdp__ledger *ledger,
                                const struct nvdp__ledger_record *record) {
    nvdp_status status = NVDP_OK;
    const struct nvdp__ledger_release names = names_of(record);
    const size_t frame = release_size[ledger->kind] + 2 * (size_t)MAC;
    const size_t one = frame + (size_t)record->release->texts * NVDP__LEDGER_HASH;
    const size_t more = record->named ? frame + (size_t)names.texts * NVDP__LEDGER_HASH : 0;
    unsigned char mac[MAC];
    unsigned char *bytes = nvdp__calloc(ledger->ctx, one + more, 1);
    if (bytes == NULL) return NVDP_ERR_MEMORY;
    memcpy(mac, ledger->mac, MAC);
    put_record(ledger, record->release, record->text, bytes, mac);
    if (record->named) put_record(ledger, &names, record->person, bytes + one, mac);
    if (ledger->size > ledger->whole) {
        nvdp__log(ledger->ctx, NVDP_LOG_NOTICE,
                  "%s: removed an incomplete record; no samples were drawn for its release",
                  ledger->path);
        if (ftruncate(ledger->fd, (off_t)ledger->whole) != 0) NVDP_TRY(io_error(ledger, "write"));
    }
    status = append(ledger, ledger->whole, one + more, bytes);
    if (status == NVDP_OK && fsync(ledger->fd) != 0) status = io_error(ledger, "write");
    if (status == NVDP_OK) status = check_place(ledger);
    if (status != NVDP_OK) (void)!ftruncate(ledger->fd, (off_t)ledger->whole);
cleanup:
    free(bytes);
    return status;
}

nvdp_status nvdp__ledger_add(struct nvdp__ledger *ledger, struct nvdp__ledger_release *release,
                             const nvdp__text_hash *text, uint64_t promise,
                             struct nvdp__spent *spent) {
    NVDP_RETURN_IF_FAILED(nvdp__ledger_check(ledger, release, text, promise, spent));
    release->seconds = (int64_t)time(NULL);
    const struct nvdp__ledger_record record = next_record(ledger, release, text);
    return write_record(ledger, &record);
}

/* --- queries --- */

size_t nvdp__ledger_count(const struct nvdp__ledger *ledger) {
    return ledger->count;
}

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

const struct nvdp__ledger_release *nvdp__ledger_find(const struct nvdp__ledger *ledger,
                                                     const char *id, const char *file,
                                                     uint64_t texts, uint64_t samples) {
    const struct nvdp__ledger_release *best = NULL;
    int most = 0;
    if (strlen(id) != NVDP__LEDGER_ID) return NULL;
    for (size_t r = ledger->count; r-- > 0 && most < 3;) {
        const struct nvdp__ledger_release *of = ledger->record[r].release;
        if (memcmp(of->id, id, NVDP__LEDGER_ID) != 0) continue;
        const bool fits = of->texts == texts && of->samples == samples;
        const bool named =
            ledger->kind == WITH_NAMES && strcmp(name_of(of->file), name_of(file)) == 0;
        const int match = 1 + fits + (fits && named);
        if (match > most) best = of;
        if (match > most) most = match;
    }
    return best;
}

/* Finds the record of this release. */
static const struct nvdp__ledger_record *find_record(const struct nvdp__ledger *ledger,
                                                     const struct nvdp__ledger_release *release) {
    const struct nvdp__ledger_record *record = ledger->record;
    while (record->release != release)
        record++;
    return record;
}

static bool is_like(const struct nvdp__ledger_release *one,
                    const struct nvdp__ledger_release *other) {
    return memcmp(one->id, other->id, NVDP__LEDGER_ID) == 0 && one->texts == other->texts &&
           one->samples == other->samples;
}

size_t nvdp__ledger_alike(const struct nvdp__ledger *ledger,
                          const struct nvdp__ledger_release *of) {
    size_t alike = 0;
    for (size_t r = 0; r < ledger->count; r++)
        alike += is_like(ledger->record[r].release, of);
    return alike;
}

const struct nvdp__ledger_release *nvdp__ledger_like(const struct nvdp__ledger *ledger,
                                                     const struct nvdp__ledger_release *of) {
    for (const struct nvdp__ledger_record *record = find_record(ledger, of);
         record-- > ledger->record;)
        if (is_like(record->release, of)) return record->release;
    return NULL;
}

nvdp_status nvdp__ledger_worst(const struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_release *release,
                               struct nvdp__spent *worst, struct nvdp__budget *budget) {
    nvdp_status status = NVDP_OK;
    struct nvdp__account account = {0};
    const struct nvdp__ledger_record *record = find_record(ledger, release);
    const struct nvdp__records records = nvdp__ledger_records(ledger);
    size_t over, persons;
    NVDP_TRY(nvdp__account_open(&records, record, &account));
    nvdp__account_close(&account);
    if (record->person != NULL)
        NVDP_TRY(nvdp__spent_of_persons(&records, record, 0, &account.spent, &over, &persons));
    NVDP_TRY(nvdp__spent_of_receivers(&records, record, &account.spent));
    account.spent.person_budget = nvdp__person_budget(ledger->record, ledger->count);
    *worst = account.spent;
    *budget = (account.last != NULL ? account.last : release)
                  ->budget; /* last is NULL if the release has no text */
cleanup:
    free(account.sum);
    return status;
}
