/* Tests the ledger: its counts, its refusals, and that no death of a process hides a sample. */
#include "base/file.h"
#include "base/sentence.h"
#include "share/ledger.h"
#include "tiny_task.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <nvdp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- the file alone --- */

struct book {
    struct nvdp_context *ctx;
    char path[512], key[512], state[512];
};

static struct book book_open(void) {
    struct book book = {.ctx = support_context()};
    snprintf(book.path, sizeof book.path, "%s", support_scratch_path("ledger"));
    snprintf(book.key, sizeof book.key, "%s", support_scratch_path("ledger.key"));
    snprintf(book.state, sizeof book.state, "%s", support_scratch_path("ledger.state"));
    return book;
}

/* Removes a ledger with all that remembers it. */
static void forget(const struct book *book) {
    (void)!unlink(book->path);
    (void)!unlink(book->key);
    (void)!unlink(book->state);
}

enum { MAX_TEXTS = 8 };

/* Adds a release of texts of one word each, by a run that promised `promise` samples, of each row if `each` is set.
 * `code` is that of its record. */
static nvdp_status reserve(const struct book *book, size_t texts, const int32_t *word,
                           uint64_t samples, double mu, struct nvdp__budget budget,
                           uint64_t promise, bool each, struct nvdp__spent *worst,
                           nvdp__ledger_code code) {
    nvdp_status status = NVDP_OK;
    struct nvdp__ledger *ledger = NULL;
    nvdp__text_hash hash[MAX_TEXTS];
    const int32_t type = 0;
    struct nvdp__ledger_release release = {
        .texts = texts, .samples = samples, .budget = budget, .mu = mu};
    NVDP_TRY_OR_CLEAN(nvdp__ledger_open(book->ctx, book->path, book->key, "words", &ledger));
    for (size_t i = 0; i < texts; i++) {
        nvdp__ledger_text(ledger, 1, &word[i], &type, hash[i]);
    }
    for (size_t k = 0; k < NVDP__LEDGER_ORDERS; k++) {
        release.divergence[k] = nvdp__ledger_orders[k] * mu * mu / 2;
    }
    memset(release.id, (char)('a' + nvdp__ledger_count(ledger)), sizeof release.id);
    snprintf(release.file, sizeof release.file, "%c.h5", 'a' + (int)nvdp__ledger_count(ledger));
    nvdp__ledger_set_names(ledger, &(struct nvdp__ledger_names){.each = each});
    status = nvdp__ledger_add(ledger, &release, (const nvdp__text_hash *)hash, promise, worst);
    nvdp__ledger_added(ledger, code);
cleanup:
    nvdp__ledger_close(ledger);
    return status;
}

/* The same for a release whose file is published. */
static nvdp_status add_rows(const struct book *book, size_t texts, const int32_t *word,
                            uint64_t samples, double mu, struct nvdp__budget budget,
                            uint64_t promise, bool each, struct nvdp__spent *worst) {
    nvdp__ledger_code code;
    NVDP_TRY(reserve(book, texts, word, samples, mu, budget, promise, each, worst, code));
    return nvdp__ledger_settle(book->ctx, book->path, book->key, "words", code, true);
}

static nvdp_status add_promised(const struct book *book, size_t texts, const int32_t *word,
                                uint64_t samples, double mu, struct nvdp__budget budget,
                                uint64_t promise, struct nvdp__spent *worst) {
    return add_rows(book, texts, word, samples, mu, budget, promise, false, worst);
}

/* Adds a release by a run whose promise never limits it. */
static nvdp_status add(const struct book *book, size_t texts, const int32_t *word, uint64_t samples,
                       double mu, struct nvdp__budget budget, struct nvdp__spent *worst) {
    return add_promised(book, texts, word, samples, mu, budget, 1000, worst);
}

static struct nvdp__spent added(const struct book *book, size_t texts, const int32_t *word,
                                uint64_t samples, double mu, struct nvdp__budget budget) {
    struct nvdp__spent worst;
    ok(add(book, texts, word, samples, mu, budget, &worst));
    return worst;
}

static void refused(const struct book *book, nvdp_status expected, nvdp_status found,
                    const char *message) {
    cr_assert_eq(found, expected, "%s", nvdp_status_name(found));
    support_contains(nvdp_context_error(book->ctx), message);
}

static const struct nvdp__budget any = {0};

Test(ledger, adds_up_what_a_text_has_spent) {
    const struct book book = book_open();
    struct nvdp__spent spent = added(&book, 3, (int32_t[]){1, 2, 3}, 2, 0.5, any);
    cr_assert_eq(spent.samples, 2);
    cr_assert_float_eq(spent.epsilon, nvdp_gdp_epsilon(sqrt(2 * 0.25), 1e-5), 1e-12);
    spent = added(&book, 2, (int32_t[]){4, 3}, 1, 2, any);
    cr_assert_eq(spent.samples, 3);
    cr_assert_float_eq(spent.epsilon, nvdp_gdp_epsilon(sqrt(2 * 0.25 + 4), 1e-5), 1e-12);
    spent = added(&book, 3, (int32_t[]){5, 5, 1}, 4, 0.1, any); /* a text that occurs twice */
    cr_assert_eq(spent.samples, 8);
    spent = added(&book, 1, (int32_t[]){2}, 1, INFINITY, any); /* nothing is proven for it */
    cr_assert_eq(spent.samples, 3);
    cr_assert_eq(spent.epsilon, INFINITY);
}

/* If one mechanism is not Gaussian, epsilons compose by Renyi divergences.  Those of the same Gaussian give the
 * epsilon of the best order, slightly above the exact one. */
Test(ledger, composes_other_mechanisms_by_renyi_divergences) {
    const struct book book = book_open();
    struct nvdp__ledger *ledger = NULL;
    struct nvdp__spent spent;
    struct nvdp__budget budget;
    struct nvdp__ledger_release release = {.texts = 1, .samples = 3, .mu = INFINITY};
    nvdp__text_hash hash = {1};
    double smallest = INFINITY;
    memset(release.id, 'f', sizeof release.id);
    for (size_t k = 0; k < NVDP__LEDGER_ORDERS; k++) {
        const double order = nvdp__ledger_orders[k];
        release.divergence[k] = order > 40 ? INFINITY : order / 2;
        if (order < 40) smallest = fmin(smallest, nvdp_renyi_epsilon(order, 3 * order / 2, 1e-5));
    }
    ok(nvdp__ledger_open(book.ctx, book.path, book.key, "words", &ledger));
    ok(nvdp__ledger_add(ledger, &release, (const nvdp__text_hash *)&hash, 3, &spent));
    nvdp__ledger_close(ledger);
    cr_assert_float_eq(spent.epsilon, smallest, 1e-12);
    cr_assert_gt(spent.epsilon, nvdp_gdp_epsilon(sqrt(3), 1e-5));
    cr_assert_lt(spent.epsilon, 1.2 * nvdp_gdp_epsilon(sqrt(3), 1e-5));
    ok(nvdp__ledger_open(book.ctx, book.path, book.key, NULL, &ledger));
    char id[NVDP__LEDGER_ID + 1] = {0};
    memset(id, 'f', NVDP__LEDGER_ID);
    const struct nvdp__ledger_release *found = nvdp__ledger_find(ledger, id, "", 1, 3);
    cr_assert_not_null(found);
    cr_assert_eq(found->samples, 3);
    ok(nvdp__ledger_worst(ledger, found, &spent, &budget));
    cr_assert_float_eq(spent.epsilon, smallest, 1e-12);
    id[0] = 'e';
    cr_assert_null(nvdp__ledger_find(ledger, id, "", 1, 3));
    nvdp__ledger_close(ledger);
}

/* The distance of the weights from a Dirichlet's adds (1 + e^epsilon) times itself to delta: with the epsilon of all
 * samples, not with that of a file. */
Test(ledger, counts_the_distance_of_the_weights_of_all_samples) {
    const struct book book = book_open();
    struct nvdp__ledger *ledger = NULL;
    struct nvdp__spent spent;
    struct nvdp__ledger_release release = {.texts = 1, .samples = 1, .mu = INFINITY};
    const nvdp__text_hash hash = {1};
    memset(release.id, 'f', sizeof release.id);
    for (size_t k = 0; k < NVDP__LEDGER_ORDERS; k++)
        release.divergence[k] = 4 * nvdp__ledger_orders[k];
    for (uint64_t count = 1; count <= 4; count++) { /* every record is read again */
        const double exact = nvdp_gdp_epsilon(sqrt(8 * (double)count), 1e-5);
        const bool negligible = (1 + exp(exact)) * (double)count * 1e-20 < 1e-8;
        ok(nvdp__ledger_open(book.ctx, book.path, book.key, "words", &ledger));
        nvdp__ledger_set_names(ledger, &(struct nvdp__ledger_names){.distance = 1e-20});
        ok(nvdp__ledger_add(ledger, &release, &hash, 9, &spent));
        nvdp__ledger_close(ledger);
        cr_expect_eq(isfinite(spent.epsilon), negligible, "%g", spent.epsilon);
        cr_expect_eq(negligible, count < 3);
    }
}

/* A record in a file that is no longer at the ledger's path would be lost, and its samples drawn. */
Test(ledger, notices_that_its_file_was_replaced) {
    const struct book book = book_open();
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    struct nvdp__spent spent;
    struct nvdp__ledger_release release = {.texts = 1, .samples = 1, .mu = 1};
    const nvdp__text_hash hash = {1};
    nvdp__autofree char *bytes = NULL;
    size_t size = 0;
    added(&book, 1, (int32_t[]){1}, 1, 1, any);
    ok(nvdp__read_file(book.ctx, book.path, 1 << 20, &bytes, &size));
    ok(nvdp__ledger_open(book.ctx, book.path, book.key, "words", &ledger));
    cr_assert_eq(unlink(book.path), 0);
    for (int copy = 0; copy < 2; copy++) {
        if (copy) support_write(book.path, bytes, size);
        refused(&book, NVDP_ERR_STATE, nvdp__ledger_add(ledger, &release, &hash, 9, &spent),
                "it was replaced meanwhile");
    }
}

Test(ledger, refuses_what_is_beyond_the_budget) {
    const struct book book = book_open();
    struct nvdp__spent spent;
    struct stat before, after;
    added(&book, 2, (int32_t[]){1, 2}, 2, 0.5, (struct nvdp__budget){.samples = 3});
    cr_assert_eq(stat(book.path, &before), 0);
    cr_assert_eq(before.st_mode & 07777, 0600);
    const struct nvdp__budget three = {.samples = 3};
    refused(
        &book, NVDP_ERR_STATE, add(&book, 3, (int32_t[]){7, 2, 1}, 2, 0.5, three, &spent),
        "expected in total at most 3 samples of a text, found 4 including this export: 2 of its 3 "
        "texts were shared before, in a.h5; together, all samples of a text would have epsilon "
        "4.378 at "
        "delta 1e-05. Nothing was drawn; --budget-samples 4 allows the export");
    cr_assert_eq(stat(book.path, &after), 0);
    cr_assert_eq(before.st_size, after.st_size);
    added(&book, 2, (int32_t[]){1, 3}, 1, 0.5, three);
    refused(&book, NVDP_ERR_STATE, add(&book, 1, (int32_t[]){1}, 1, 0.5, three, &spent),
            "in total at most 3 samples of a text, found 4 including this export: 1 of its 1 texts "
            "were "
            "shared before, in b.h5, a.h5; ");
    const double exact = nvdp_gdp_epsilon(sqrt(4 * 0.25), 1e-5);
    refused(
        &book, NVDP_ERR_STATE,
        add(&book, 2, (int32_t[]){9, 1}, 1, 0.5,
            (struct nvdp__budget){.samples = 9, .epsilon = 0.999 * exact}, &spent),
        "for all samples of a text together, found epsilon 4.378 at delta 1e-05 including this "
        "export: 1 of its 2 texts "
        "were shared before, in b.h5, a.h5. Nothing was drawn; --budget-epsilon 4.378 allows the "
        "export");
    added(&book, 1, (int32_t[]){1}, 1, 0.5,
          (struct nvdp__budget){.samples = 9, .epsilon = 1.001 * exact});
    refused(&book, NVDP_ERR_STATE,
            add(&book, 1, (int32_t[]){8}, 1, INFINITY, any, &spent), /* this budget stays */
            "found epsilon inf at delta 1e-05 including this export. Nothing was drawn");
}

/* Without a budget a text has at most the promised samples, all of its rows together unless each row is drawn on
 * request.  A row that was never shared may have any number.  All samples are counted. */
Test(ledger, keeps_what_the_run_promised) {
    const struct book book = book_open();
    struct nvdp__spent spent;
    const int32_t words[] = {1, 2, 3, 3};
    const struct nvdp__budget two = {.samples = 2};
    refused(&book, NVDP_ERR_STATE, add_promised(&book, 4, words, 1, 0.5, any, 1, &spent),
            "expected in total at most 1 sample of a text, which the run guarantees, found 2");
    ok(add_rows(&book, 4, words, 1, 0.5, any, 1, true, &spent));
    cr_assert_eq(spent.samples, 2);
    cr_assert_eq(spent.seen_before, 0);
    for (size_t i = 0; i < 3; i++)
        refused(&book, NVDP_ERR_STATE, add_promised(&book, 1, words + i, 1, 0.5, any, 1, &spent),
                "expected in total at most 1 sample of a text, which the run guarantees, found");
    ok(add_promised(&book, 1, words, 1, 0.5, two, 1, &spent));
    cr_assert_eq(spent.samples, 2);
    cr_assert_eq(spent.seen_before, 1);
    cr_assert_str_eq(spent.files, "a.h5");
    refused(&book, NVDP_ERR_STATE, add_promised(&book, 1, words + 1, 1, 0.5, any, 1, &spent),
            "1 of its 1 texts were shared before, in a.h5"); /* that budget was for one export */
    ok(add_promised(&book, 1, words + 1, 1, 0.5, any, 2, &spent));
    refused(&book, NVDP_ERR_STATE, add_promised(&book, 1, words + 1, 1, 0.5, any, 2, &spent),
            "--budget-samples 3 allows the export");
    ok(add_promised(&book, 1, (int32_t[]){4}, 5, 0.5, any, 1, &spent));
    cr_assert_eq(spent.samples, 5);
    refused(&book, NVDP_ERR_STATE, add_promised(&book, 1, (int32_t[]){4}, 5, 0.5, any, 1, &spent),
            "found 10");
    /* rows and earlier samples add up: one sample and two rows are within 3, three rows are not, unless each counts */
    const int32_t rows[] = {5, 5, 5};
    ok(add_promised(&book, 1, rows, 1, 0.5, any, 3, &spent));
    refused(&book, NVDP_ERR_STATE, add_promised(&book, 3, rows, 1, 0.5, any, 3, &spent), "found 4");
    ok(add_promised(&book, 2, rows, 1, 0.5, any, 3, &spent));
    cr_assert_eq(spent.samples, 3);
    ok(add_promised(&book, 1, (int32_t[]){6}, 1, 0.5, any, 3, &spent));
    ok(add_rows(&book, 3, (int32_t[]){6, 6, 6}, 1, 0.5, any, 3, true, &spent));
    cr_assert_eq(spent.samples, 4);
}

/* An older ledger without file names is read and continued in the present kind. */
Test(ledger, goes_on_with_older_files) {
    struct nvdp_context *ctx = support_context();
    struct nvdp__ledger *ledger = NULL;
    struct nvdp__spent spent = {0};
    const char *path = support_scratch_path("old"), *key = support_scratch_path("old.key");
    nvdp__autofree char *bytes = NULL, *name = nvdp__format(ctx, "%s/tests/fuzz/corpus/ledger/two",
                                                            NVDP_SOURCE_DIR);
    size_t count = 0;
    const int32_t word = 77, type = 0;
    ok(nvdp__read_file(ctx, name, 1 << 20, &bytes, &count));
    support_write(path, bytes, count);
    support_write_text(key, "nvdp-ledger-key/1 "
                            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n");
    cr_assert_eq(chmod(key, 0600), 0);
    for (size_t records = 2; records < 4; records++) {
        nvdp__text_hash hash;
        struct nvdp__ledger_release release = {.texts = 1, .samples = 1, .mu = 1, .file = "new.h5"};
        memset(release.id, 'n', sizeof release.id);
        ok(nvdp__ledger_open(ctx, path, key, "words", &ledger));
        cr_assert_eq(nvdp__ledger_count(ledger), records);
        nvdp__ledger_text(ledger, 1, &word, &type, hash);
        ok(nvdp__ledger_add(ledger, &release, (const nvdp__text_hash *)&hash, 9, &spent));
        nvdp__ledger_close(ledger);
    }
    cr_assert_str_eq(spent.files, "new.h5 (unfinished)");
    char *kept = support_read(path);
    cr_assert_eq(strncmp(kept, "nvdp ledger/3\n", 14), 0);
}

Test(ledger, refuses_other_keys_tokenizers_and_files) {
    const struct book book = book_open();
    struct book other = book;
    struct nvdp__ledger *ledger = NULL;
    struct nvdp__spent spent;
    const int32_t word = 1;
    struct stat info;
    refused(&book, NVDP_ERR_IO, nvdp__ledger_open(book.ctx, book.path, book.key, NULL, &ledger),
            "cannot read");
    added(&book, 1, &word, 1, 1, any);
    cr_assert_eq(stat(book.key, &info), 0);
    cr_assert_eq(info.st_mode & 07777, 0600);
    refused(
        &book, NVDP_ERR_ARGUMENT,
        nvdp__ledger_open(book.ctx, book.path, book.key, "letters", &ledger),
        "tokenizer and maximum length, by which this ledger recognizes texts (to it, method word");
    snprintf(other.key, sizeof other.key, "%s", support_scratch_path("other.key"));
    refused(&other, NVDP_ERR_IO, add(&other, 1, &word, 1, 1, any, &spent), "other.key");
    snprintf(other.path, sizeof other.path, "%s", support_scratch_path("other"));
    added(&other, 1, &word, 1, 1, any);
    snprintf(other.path, sizeof other.path, "%s", book.path);
    refused(&other, NVDP_ERR_INPUT, add(&other, 1, &word, 1, 1, any, &spent),
            "expected the ledger that belongs to the given key");
    cr_assert_eq(chmod(book.key, 0640), 0);
    refused(&book, NVDP_ERR_ARGUMENT, add(&book, 1, &word, 1, 1, any, &spent), "found mode 0640");
    cr_assert_eq(chmod(book.key, 0600), 0);
    snprintf(other.path, sizeof other.path, "%s", support_scratch_path("text"));
    support_write_text(other.path, "precious");
    refused(&other, NVDP_ERR_INPUT, add(&other, 1, &word, 1, 1, any, &spent),
            "expected a ledger, found another kind");
    char *kept = support_read(other.path);
    cr_assert_str_eq(kept, "precious");
    static const char *const moved[] = {"nvdp ledger moved\n/of/another run\n",
                                        "nvdp ledger moved\n"};
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        support_write_text(other.path, moved[i]);
        refused(&other, i == 0 ? NVDP_ERR_STATE : NVDP_ERR_INPUT,
                add(&other, 1, &word, 1, 1, any, &spent),
                i == 0 ? "moved to the run /of/another run, which alone" : "another kind");
        kept = support_read(other.path);
        cr_assert_str_eq(kept, moved[i]);
    }
}

/* Returns what a reader, or a writer, says about the ledger with these bytes and this state (NULL: none). */
static nvdp_status opened(const struct book *book, bool add, size_t size, const char *bytes,
                          size_t state_size, const char *state) {
    struct nvdp__ledger *ledger = NULL;
    support_write(book->path, bytes, size);
    (void)!unlink(book->state);
    if (state != NULL) support_write(book->state, state, state_size);
    nvdp_status status =
        nvdp__ledger_open(book->ctx, book->path, book->key, add ? "words" : NULL, &ledger);
    nvdp__ledger_close(ledger);
    return status;
}

static size_t size_of(const char *path) {
    struct stat info;
    cr_assert_eq(stat(path, &info), 0);
    return (size_t)info.st_size;
}

/* Any changed byte is detected, and any cut of what the head counts. */
Test(ledger, tells_changes_and_cuts) {
    const struct book book = book_open();
    added(&book, 2, (int32_t[]){1, 2}, 1, 1, any);
    const size_t one = size_of(book.path);
    char *first = support_read(book.path), *state_one = support_read(book.state);
    added(&book, 3, (int32_t[]){1, 2, 3}, 1, 1, any);
    const size_t size = size_of(book.path), mark = size_of(book.state);
    char *bytes = support_read(book.path), *state = support_read(book.state);
    for (size_t i = 0; i < size; i += 3) {
        bytes[i] ^= 1;
        nvdp_status status = opened(&book, i % 2, size, bytes, mark, state);
        cr_assert(status == NVDP_ERR_INPUT || status == NVDP_ERR_ARGUMENT, "byte %zu: %s", i,
                  nvdp_status_name(status));
        bytes[i] ^= 1;
    }
    for (size_t cut = 0; cut < size; cut += cut < 301 ? 1 : 11)
        for (int add = 0; add < 2; add++)
            cr_assert_eq(opened(&book, add, cut, bytes, mark, state), NVDP_ERR_STATE, "%zu bytes",
                         cut);
    /* an older copy of the whole file, with its own head; then with its own state */
    for (int add = 0; add < 2; add++) {
        refused(&book, NVDP_ERR_STATE, opened(&book, add, one, first, mark, state),
                "an older copy of the ledger, or another one, is in its place");
        ok(opened(&book, add, one, first, mark, state_one));
    }
    /* a state that lags is that of a death; a missing one, a changed one and another one are not */
    ok(opened(&book, 0, size, bytes, mark, state_one));
    refused(&book, NVDP_ERR_STATE, opened(&book, 0, size, bytes, 0, NULL), "found none; put it");
    ok(opened(&book, 0, size, bytes, 0, ""));
    state[60] ^= 1;
    refused(&book, NVDP_ERR_STATE, opened(&book, 0, size, bytes, mark, state), "it was changed");
    state[60] ^= 1;
    state[30] ^= 1;
    refused(&book, NVDP_ERR_STATE, opened(&book, 0, size, bytes, mark, state), "another ledger");
}

/* A writer that dies leaves an incomplete record, or one record more than the head counts; not two. */
Test(ledger, takes_what_a_death_leaves) {
    const struct book book = book_open();
    enum { HEAD = 120 };
    char *head[4], *state[4], *all = NULL;
    size_t size[4];
    for (size_t r = 0; r < 4; r++) {
        struct nvdp__ledger *ledger = NULL;
        struct nvdp__spent spent;
        struct nvdp__ledger_release release = {.texts = 1, .samples = 1, .mu = 1};
        const nvdp__text_hash hash = {1};
        ok(nvdp__ledger_open(book.ctx, book.path, book.key, "words", &ledger));
        nvdp__ledger_set_names(ledger, &(struct nvdp__ledger_names){.word_mu = 1});
        if (r > 0) ok(nvdp__ledger_add(ledger, &release, &hash, 9, &spent));
        nvdp__ledger_close(ledger);
        free(all);
        all = support_read(book.path);
        head[r] = memcpy(malloc(HEAD), all, HEAD);
        state[r] = support_read(book.state);
        size[r] = size_of(book.path);
    }
    const size_t mark = size_of(book.state);
    for (size_t r = 0; r < 3; r++) {
        memcpy(all, head[r], HEAD);
        for (size_t end = size[r]; end <= size[3]; end += 7) {
            const size_t two = size[nvdp__min(r + 2, (size_t)3)];
            const nvdp_status status = opened(&book, end % 2, end, all, mark, state[r]);
            cr_assert_eq(status, r < 2 && end >= two - 408 ? NVDP_ERR_STATE : NVDP_OK,
                         "%zu counted, %zu of %zu bytes: %s", r, end, size[3],
                         nvdp_context_error(book.ctx));
        }
    }
    /* the next writer counts it, and drops what is incomplete */
    memcpy(all, head[1], HEAD);
    support_write(book.path, all, size[2] + 5);
    support_write(book.state, state[1], mark);
    cr_assert_eq(added(&book, 1, (int32_t[]){1}, 5, 1, any).samples, 5);
    struct nvdp__ledger *ledger = NULL;
    ok(nvdp__ledger_open(book.ctx, book.path, book.key, NULL, &ledger));
    cr_assert_eq(nvdp__ledger_count(ledger), 3);
    nvdp__ledger_close(ledger);
    for (size_t r = 0; r < 4; r++) {
        free(head[r]);
        free(state[r]);
    }
    free(all);
}

/* A ledger that is gone is refused by everybody who finds its key or its state; a death at the beginning is not. */
Test(ledger, is_missed) {
    const struct book book = book_open();
    struct nvdp_ledger_summary found = NVDP_RESULT(struct nvdp_ledger_summary);
    added(&book, 1, (int32_t[]){1}, 1, 1, any);
    char *state = support_read(book.state);
    const size_t mark = size_of(book.state);
    cr_assert_eq(unlink(book.path), 0);
    for (int key = 1; key >= 0; key--) {
        if (!key) cr_assert_eq(unlink(book.key), 0);
        struct nvdp__spent spent;
        refused(&book, NVDP_ERR_STATE, add(&book, 1, (int32_t[]){1}, 1, 1, any, &spent),
                "expected the ledger of the key");
        refused(&book, NVDP_ERR_STATE, nvdp_ledger_summarize(book.ctx, book.path, NULL, &found),
                "expected the ledger of the key");
        refused(&book, NVDP_ERR_STATE, opened(&book, 1, 7, "nvdp le", mark, state), "was cut");
        cr_assert_eq(unlink(book.path), 0);
    }
    forget(&book);
    /* an empty state accepts a ledger, but not one that was cut before its first record */
    added(&book, 1, (int32_t[]){1}, 1, 1, any);
    support_write(book.path, "nvdp le", 7);
    support_write(book.state, "", 0);
    struct nvdp__spent again;
    refused(&book, NVDP_ERR_STATE, add(&book, 1, (int32_t[]){1}, 1, 1, any, &again), "was cut");
    forget(&book);
    support_write(book.path, "nvdp le", 7); /* of a writer that died before the state */
    added(&book, 1, (int32_t[]){1}, 1, 1, any);
}

/* A ledger elsewhere, with its key and state: the run remembers it, too. */
Test(ledger, is_remembered_by_its_run) {
    const struct book book = book_open();
    struct nvdp__ledger *ledger = NULL;
    const char *run = support_scratch_path("run");
    char *bytes[2], *state[2];
    size_t size[2];
    ok(nvdp__make_directory(book.ctx, run));
    for (size_t r = 0; r < 2; r++) {
        struct nvdp__spent spent;
        struct nvdp__ledger_release release = {.texts = 1, .samples = 1, .mu = 1};
        const nvdp__text_hash hash = {1};
        ok(nvdp__ledger_open(book.ctx, book.path, book.key, "words", &ledger));
        ok(nvdp__ledger_of_run(ledger, run));
        ok(nvdp__ledger_add(ledger, &release, &hash, 9, &spent));
        nvdp__ledger_close(ledger);
        bytes[r] = support_read(book.path);
        state[r] = support_read(book.state);
        size[r] = size_of(book.path);
    }
    for (size_t r = 0; r < 2; r++) {
        support_write(book.path, bytes[r], size[r]);
        support_write(book.state, state[r], size_of(book.state));
        ok(nvdp__ledger_open(book.ctx, book.path, book.key, NULL, &ledger));
        if (r == 0)
            refused(&book, NVDP_ERR_STATE, nvdp__ledger_of_run(ledger, run), "/run/ledgers.state");
        else
            ok(nvdp__ledger_of_run(ledger, run));
        nvdp__ledger_close(ledger);
        free(bytes[r]);
        free(state[r]);
    }
    /* a run that cannot be written: the ledger counts, and stays readable */
    for (size_t r = 2; r < 4; r++) {
        struct nvdp__spent spent;
        struct nvdp__ledger_release release = {.texts = 1, .samples = 1, .mu = 1};
        const nvdp__text_hash hash = {1};
        ok(nvdp__ledger_open(book.ctx, book.path, book.key, "words", &ledger));
        ok(nvdp__ledger_of_run(ledger, support_scratch_path("gone")));
        cr_assert_eq(nvdp__ledger_count(ledger), r);
        ok(nvdp__ledger_add(ledger, &release, &hash, 9, &spent));
        nvdp__ledger_close(ledger);
    }
}

Test(ledger, survives_failing_allocations) {
    const struct book book = book_open();
    struct nvdp__spent spent;
    uint64_t records = 0;
    for (uint64_t k = 1;; k++) {
        nvdp__fail_allocation(book.ctx, k);
        nvdp__ledger_code code;
        nvdp_status status =
            reserve(&book, 2, (int32_t[]){1, 2}, 1, 1, any, 9, false, &spent, code);
        nvdp__fail_allocation(book.ctx, 0);
        if (status == NVDP_OK) break;
        cr_assert_eq(status, NVDP_ERR_MEMORY);
        records++;
    }
    cr_assert_gt(records, 4);
    cr_assert_eq(spent.samples, 1);
}

/* Makes the locking of files fail, as on a file system without locks. */
static void lose_locks(void) {
    support_lose(SYS_fcntl, 1, F_OFD_SETLK, ENOLCK);
}

/* The message must not claim that another process has held the lock for a minute. */
Test(ledger, says_so_where_files_cannot_be_locked) {
    const struct book book = book_open();
    const int32_t word[] = {1};
    struct nvdp__spent worst;
    lose_locks();
    fails(add(&book, 1, word, 1, 1, (struct nvdp__budget){0}, &worst), NVDP_ERR_IO,
          "cannot lock: No locks available");
}

/* Concurrent writers: each finds the records of the others. */
Test(ledger, writers_wait_for_one_another) {
    enum { WRITERS = 4, EACH = 5 };
    const struct book book = book_open();
    for (int w = 0; w < WRITERS; w++) {
        pid_t pid = fork();
        cr_assert_geq(pid, 0);
        if (pid > 0) continue;
        bool right = true;
        struct nvdp__spent spent;
        for (int i = 0; i < EACH; i++) {
            right = add(&book, 1, (int32_t[]){1}, 1, 1, any, &spent) == NVDP_OK && right;
        }
        _exit(right ? 0 : 1);
    }
    for (int w = 0; w < WRITERS; w++) {
        int raw = 0;
        cr_assert_gt(wait(&raw), 0);
        cr_assert(WIFEXITED(raw) && WEXITSTATUS(raw) == 0);
    }
    cr_assert_eq(added(&book, 1, (int32_t[]){1}, 1, 1, any).samples, WRITERS * EACH + 1);
}

/* --- exports --- */

static const struct run_choice clipped_run = {
    .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.5, .epochs = 1};
static const char samples[] = "150"; /* over a MB of values */

struct bench {
    struct book book;
    char run[512];
    struct nvdp_config *config;
};

/* Writes texts [first, first + count), all different. */
static const char *texts(const char *name, size_t first, size_t count) {
    static const char *const words[] = {"good", "bad", "cat", "sea", "red", "one"};
    char line[64], all[8192] = "sentence\tlabel\n";
    for (size_t i = first; i < first + count; i++) {
        snprintf(line, sizeof line, "%s %s %s\t1\n", words[i % 6], words[i / 6 % 6],
                 words[i / 36 % 6]);
        strcat(all, line);
    }
    const char *path = support_scratch_path(name);
    support_write_text(path, all);
    return path;
}

static struct bench bench_open(void) {
    struct bench bench = {.book = book_open()};
    struct nvdp_context *ctx = bench.book.ctx;
    ok(nvdp_context_set_threads(ctx, 1)); /* other threads do not survive a fork */
    snprintf(bench.run, sizeof bench.run, "%s", task_run(ctx, "run", &clipped_run, NULL));
    ok(nvdp_config_create(ctx, "export", &bench.config));
    support_set(ctx, bench.config, "run", bench.run);
    support_set(ctx, bench.config, "input", texts("forty.tsv", 0, 40));
    support_set(ctx, bench.config, "measure-texts", "0");
    support_set(ctx, bench.config, "ledger", bench.book.path);
    support_set(ctx, bench.config, "ledger-key", bench.book.key);
    return bench;
}

static void bench_close(struct bench *bench) {
    nvdp_config_free(bench->config);
}

static nvdp_status export_to(struct bench *bench, const char *name,
                             struct nvdp_export_result *out) {
    support_set(bench->book.ctx, bench->config, "out", support_scratch_path(name));
    const nvdp_status status = nvdp_export(bench->book.ctx, bench->config, out);
    if (status == NVDP_OK) nvdp_result_free(out);
    return status;
}

static void verdicts(const struct bench *bench, const char *name, size_t checks,
                     enum nvdp_verdict there, enum nvdp_verdict within) {
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    struct nvdp_context *ctx = bench->book.ctx;
    const char *path = support_scratch_path(name);
    ok(nvdp_verify(ctx, path, NULL, &found));
    cr_assert(found.holds);
    const size_t before = found.checks;
    ok(nvdp_verify_ledger(ctx, path, bench->book.path, bench->book.key, &found));
    cr_assert_eq(found.checks, before + checks);
    cr_assert_eq(found.check[before].verdict, there, "%s", found.check[before].found);
    if (checks > 1)
        cr_assert_eq(found.check[before + 1].verdict, within, "%s", found.check[before + 1].found);
    cr_assert_eq(found.holds, there == NVDP_VERDICT_YES && within == NVDP_VERDICT_YES);
}

Test(ledger, exports_are_counted_and_verified) {
    nvdp__auto(bench_close) struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    support_set(ctx, bench.config, "samples", "2");
    support_set(ctx, bench.config, "budget-samples", "3");
    ok(export_to(&bench, "a.h5", &result));
    cr_assert_eq(result.spent_samples, 2);
    cr_assert_float_eq(result.spent_epsilon, nvdp_gdp_epsilon(sqrt(2), 1e-5), 1e-9);
    verdicts(&bench, "a.h5", 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
    refused(&bench.book, NVDP_ERR_STATE, export_to(&bench, "b.h5", NULL), "at most 3 samples");
    cr_assert_not(nvdp__exists(support_scratch_path("b.h5")));
    support_set(ctx, bench.config, "input", texts("others.tsv", 40, 6));
    ok(export_to(&bench, "b.h5", &result));
    support_set(ctx, bench.config, "input", texts("all.tsv", 0, 46));
    support_set(ctx, bench.config, "samples", "1");
    ok(export_to(&bench, "c.h5", &result));
    cr_assert_eq(result.spent_samples, 3);
    cr_assert_float_eq(result.spent_epsilon, nvdp_gdp_epsilon(sqrt(3), 1e-5), 1e-9);
    /* a file states the guarantee of one row; the ledger knows of other files */
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    const char *old = support_scratch_path("a.h5");
    char first[128];
    ok(nvdp_verify(ctx, old, NULL, &found));
    support_contains(found.guarantee, ", 2 samples, any two texts. ");
    ok(nvdp_verify_ledger(ctx, old, bench.book.path, bench.book.key, &found));
    snprintf(first, sizeof first,
             "The ledger counts up to 3 samples of a text, which together have epsilon %s at ",
             nvdp__bound(result.spent_epsilon).text);
    cr_assert_eq(strncmp(found.guarantee, first, strlen(first)), 0, "%s", found.guarantee);
    ok(nvdp_verify(ctx, support_scratch_path("c.h5"), NULL, &found));
    cr_expect(found.counted);
    cr_expect_eq(found.spent_samples, 0);
    cr_expect(isnan(found.spent_epsilon));
    ok(nvdp_verify_ledger(ctx, support_scratch_path("c.h5"), bench.book.path, bench.book.key,
                          &found));
    cr_assert_eq(strncmp(found.guarantee, first, strlen(first)), 0, "%s", found.guarantee);
    cr_expect_eq(found.spent_samples, 3);
    cr_expect_float_eq(found.spent_epsilon, result.spent_epsilon, 1e-9);
    /* Other texts have their own budget. */
    support_set(ctx, bench.config, "input", texts("new.tsv", 100, 3));
    support_set(ctx, bench.config, "budget-samples", "1");
    ok(export_to(&bench, "d.h5", &result));
    verdicts(&bench, "a.h5", 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
    verdicts(&bench, "d.h5", 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
    /* a lost ledger does not begin anew without a word */
    cr_assert_eq(unlink(bench.book.path), 0);
    support_set(ctx, bench.config, "overwrite", "true");
    refused(&bench.book, NVDP_ERR_STATE, export_to(&bench, "d.h5", NULL),
            "found none. Restore it from a copy, or name it with --ledger. A new ledger forgets "
            "all that was shared: to begin one, remove this key and ");
    cr_assert_not(nvdp__exists(bench.book.path));
    char *described = NULL;
    refused(&bench.book, NVDP_ERR_STATE,
            nvdp_verify_ledger(ctx, old, bench.book.path, bench.book.key, &found),
            "expected the ledger of the key");
    for (int empty = 0; empty < 2; empty++) {
        if (empty) support_write(bench.book.path, "", 0);
        refused(&bench.book, NVDP_ERR_STATE,
                nvdp_describe(ctx, bench.book.path, NVDP_DESCRIPTION_JSON, &described),
                "expected the ledger of the key");
    }
    forget(&bench.book);
    ok(export_to(&bench, "d.h5", &result));
    verdicts(&bench, "a.h5", 1, NVDP_VERDICT_NO, NVDP_VERDICT_NO);

    support_set(ctx, bench.config, "no-ledger", "true");
    refused(&bench.book, NVDP_ERR_ARGUMENT, export_to(&bench, "d.h5", NULL),
            "option --no-ledger excludes --ledger");
    support_set(ctx, bench.config, "ledger", NULL);
    support_set(ctx, bench.config, "ledger-key", NULL);
    refused(&bench.book, NVDP_ERR_ARGUMENT, export_to(&bench, "d.h5", NULL),
            "option --no-ledger excludes a budget");
}

/* A ledger that an older copy replaced does not list a file that was counted since, even if a file before has the same
 * model_id and counts, nor one that no ledger counts, nor the second of two such files. */
Test(ledger, lists_only_the_files_that_it_counts) {
    nvdp__auto(bench_close) struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    nvdp__autofree char *before = NULL, *after = NULL;
    size_t size = 0, more = 0;
    const char *folder = support_scratch_path("folder");
    ok(nvdp__make_directory(ctx, folder));
    support_set(ctx, bench.config, "model-id", "0123456789abcdef0123456789abcdef");
    ok(export_to(&bench, "folder/a.h5", &result));
    ok(nvdp__read_file(ctx, bench.book.path, 1 << 20, &before, &size));
    support_set(ctx, bench.config, "budget-samples", "2");
    ok(export_to(&bench, "folder/b.h5", &result));
    ok(nvdp__read_file(ctx, bench.book.path, 1 << 20, &after, &more));
    for (int old = 0; old < 2; old++) {
        if (old) support_write(bench.book.path, before, size);
        if (old) support_write(bench.book.state, "", 0); /* the owner accepts the older copy */
        const enum nvdp_verdict there = old ? NVDP_VERDICT_NO : NVDP_VERDICT_YES;
        verdicts(&bench, "folder/a.h5", 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
        /* alone it could be the file that the shorter ledger lists, under another name */
        verdicts(&bench, "folder/b.h5", 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
        verdicts(&bench, "folder", 2, there, NVDP_VERDICT_YES);
    }
    support_write(bench.book.path, after, more);
    support_set(ctx, bench.config, "budget-samples", NULL);
    support_set(ctx, bench.config, "ledger", support_scratch_path("another"));
    support_set(ctx, bench.config, "ledger-key", support_scratch_path("another.key"));
    support_set(ctx, bench.config, "input", texts("other.tsv", 40, 40));
    ok(export_to(&bench, "folder/c.h5", &result));
    verdicts(&bench, "folder", 2, NVDP_VERDICT_NO, NVDP_VERDICT_YES); /* the third of two */
    support_set(ctx, bench.config, "ledger", NULL);
    support_set(ctx, bench.config, "ledger-key", NULL);
    support_set(ctx, bench.config, "no-ledger", "true");
    ok(export_to(&bench, "none.h5", &result));
    verdicts(&bench, "none.h5", 2, NVDP_VERDICT_NO, NVDP_VERDICT_YES);
}

/* A row of a split in two files has the samples of both, whichever ledger counts them: the guarantee says so. */
Test(ledger, rows_of_several_files_are_noticed) {
    static const char says[] = "The samples of a text that is in several of these files add up. ";
    nvdp__auto(bench_close) struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    const char *folder = support_scratch_path("rows");
    ok(nvdp__make_directory(ctx, folder));
    support_set(ctx, bench.config, "model-id", "0123456789abcdef0123456789abcdef");
    support_set(ctx, bench.config, "input", NULL);
    support_set(ctx, bench.config, "split", "dev");
    support_set(ctx, bench.config, "limit", "1"); /* others are equal */
    support_set(ctx, bench.config, "budget-samples", "9");
    support_set(ctx, bench.config, "overwrite", "true");
    ok(export_to(&bench, "rows/a.h5", NULL));
    for (int other = 0; other < 2; other++) {
        support_set(ctx, bench.config, "ledger",
                    other ? support_scratch_path("another") : bench.book.path);
        support_set(ctx, bench.config, "ledger-key",
                    other ? support_scratch_path("another.key") : bench.book.key);
        ok(export_to(&bench, "rows/b.h5", NULL));
        ok(nvdp_verify(ctx, folder, NULL, &found));
        cr_expect(found.holds);
        cr_expect_eq(strncmp(found.guarantee, says, strlen(says)), 0, "%s", found.guarantee);
        size_t open = 0;
        for (size_t i = 0; i < found.checks; i++)
            open += found.check[i].verdict == NVDP_VERDICT_OPEN &&
                    strstr(found.check[i].found, " is in 2 files") != NULL;
        cr_expect_eq(open, 1);
    }
}

/* Gives a run with learned weights bounds under which certificate (b) holds. */
static void bound_weights(const char *run) {
    const char *path = support_path("%s/model/config.json", run);
    nvdp__autoptr(json_decref) json_t *config = json_load_file(path, 0, NULL);
    json_t *nvib = support_at(config, "nvdp/nvib");
    const double pad = 1 / (1 + number_at(nvib, "length"));
    cr_assert(pad > 0 && pad < 1);
    json_object_set_new(nvib, "stdev_tau", json_real(1));
    json_object_set_new(nvib, "clip_sequence", json_real(1.3));
    json_object_set_new(nvib, "clip_alpha_min", json_real(pad * 0.999));
    json_object_set_new(nvib, "clip_alpha_max", json_real(pad * 1.001));
    cr_assert_eq(json_dump_file(config, path, 0), 0);
}

/* One file of so many samples has no certificate, because of the sampler of the weights.  Neither have several files. */
Test(ledger, exports_count_the_distance_of_the_weights) {
    nvdp__auto(bench_close) struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    static const struct run_choice weighted = {.method = NVDP_METHOD_NVDP, .kappa = 1, .epochs = 1};
    const char *run = task_run(ctx, "weighted", &weighted, NULL);
    bound_weights(run);
    support_set(ctx, bench.config, "run", run);
    support_set(ctx, bench.config, "budget-samples", "100");
    support_set(ctx, bench.config, "samples", "8");
    ok(export_to(&bench, "eight.h5", &result));
    cr_assert_not(result.useful);
    forget(&bench.book);
    support_set(ctx, bench.config, "samples", "1");
    for (size_t count = 1; count <= 8; count++) {
        char name[16];
        snprintf(name, sizeof name, "one%zu.h5", count);
        ok(export_to(&bench, name, &result));
        cr_expect(result.useful, "%zu samples: %s", count, result.guarantee);
    }
    cr_assert_eq(result.spent_epsilon, INFINITY);
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    const char *last = support_scratch_path("one8.h5");
    ok(nvdp_verify(ctx, last, NULL, &found));
    cr_expect(found.useful);
    support_contains(found.statement, "10 rows together: nothing is proven");
    ok(nvdp_verify_ledger(ctx, last, bench.book.path, bench.book.key, &found));
    cr_expect_not(found.useful);
}

static void says(struct bench *bench, const char *name, const char *words) {
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    ok(nvdp_verify(bench->book.ctx, support_scratch_path(name), NULL, &found));
    for (size_t i = 0; i < found.checks; i++)
        cr_assert_neq(found.check[i].verdict, NVDP_VERDICT_NO, "%s: %s", found.check[i].what,
                      found.check[i].found);
    support_contains(found.statement, words);
}

/* Runs have a ledger by default: the second export of a text is counted, reported, and refused beyond the promise. */
Test(ledger, runs_keep_one_by_default) {
    nvdp__auto(bench_close) struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    struct stat info;
    support_set(ctx, bench.config, "ledger", NULL);
    support_set(ctx, bench.config, "ledger-key", NULL);
    ok(export_to(&bench, "a.h5", &result));
    cr_assert_eq(result.spent_samples, 1);
    says(&bench, "a.h5", "\nThe sender's ledger counts this file. All samples of a text, ");
    const char *path = support_path("%s/ledger", bench.run);
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(info.st_mode & 07777, 0600);
    path = support_path("%s/ledger.key", bench.run);
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(info.st_mode & 07777, 0600);

    refused(&bench.book, NVDP_ERR_STATE, export_to(&bench, "b.h5", NULL),
            "/run/ledger: expected in total at most 1 sample of a text, which the run guarantees, "
            "found 2 including this export: 40 of its 40 texts were shared before, in ");
    support_contains(nvdp_context_error(ctx),
                     "/a.h5; together, all samples of a text would have epsilon 6.573");
    support_contains(nvdp_context_error(ctx),
                     "Nothing was drawn; --budget-samples 2 allows the export");
    cr_assert_not(nvdp__exists(support_scratch_path("b.h5")));
    support_set(ctx, bench.config, "insecure-seed", "7"); /* a seed does not avoid the ledger */
    refused(&bench.book, NVDP_ERR_STATE, export_to(&bench, "b.h5", NULL),
            "expected in total at most 1");
    support_set(ctx, bench.config, "insecure-seed", NULL);

    support_set(ctx, bench.config, "budget-samples", "2");
    ok(export_to(&bench, "b.h5", &result));
    cr_assert_eq(result.spent_samples, 2);
    cr_assert_float_eq(result.spent_epsilon, nvdp_gdp_epsilon(sqrt(2), 1e-5), 1e-9);
    says(&bench, "b.h5", "Proven: epsilon 4.378 at delta 1e-05, one sample, any two texts. ");
    says(&bench, "b.h5", "2 rows together: epsilon 6.573 at delta 1e-05; 10 rows together: ");
    support_set(ctx, bench.config, "budget-samples", NULL);
    refused(&bench.book, NVDP_ERR_STATE, export_to(&bench, "c.h5", NULL), "found 3");

    support_set(ctx, bench.config, "no-ledger", "true");
    ok(export_to(&bench, "c.h5", &result));
    cr_assert_eq(result.spent_samples, 0);
    says(&bench, "c.h5",
         "No ledger counts this file. All samples of a text, or of one person, add up, over rows "
         "and files");
}

/* A run that was certified for two samples per text may export a text twice. */
Test(ledger, takes_the_promise_from_the_certificate) {
    nvdp__auto(bench_close) struct bench bench = bench_open();
    const char *path = support_path("%s/run.json", bench.run);
    json_t *run = json_load_file(path, 0, NULL);
    cr_assert_eq(
        json_object_set_new(json_object_get(run, "config"), "certified_releases", json_integer(2)),
        0);
    cr_assert_eq(json_dump_file(run, path, 0), 0);
    json_decref(run);
    ok(export_to(&bench, "a.h5", NULL));
    ok(export_to(&bench, "b.h5", NULL));
    refused(&bench.book, NVDP_ERR_STATE, export_to(&bench, "c.h5", NULL),
            "expected in total at most 2 samples of a text, which the run guarantees, found 3");
}

/* A run folder that cannot be written: a link into a file system that accepts no files. */
Test(ledger, names_the_ways_out_of_a_folder_that_cannot_be_written) {
    nvdp__auto(bench_close) struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    support_set(ctx, bench.config, "ledger", NULL);
    support_set(ctx, bench.config, "ledger-key", NULL);
    const char *path = support_path("%s/ledger", bench.run);
    cr_assert_eq(symlink("/proc/nvdp", path), 0);
    refused(&bench.book, NVDP_ERR_IO, export_to(&bench, "a.h5", NULL), "/run/ledger: cannot ");
    support_contains(nvdp_context_error(ctx),
                     "use --ledger FILE for a ledger elsewhere, or --no-ledger");
    cr_assert_not(nvdp__exists(support_scratch_path("a.h5")));
    support_set(ctx, bench.config, "ledger", bench.book.path);
    ok(export_to(&bench, "a.h5", NULL));
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rename(bench.book.path, path), 0); /* without its key */
    support_set(ctx, bench.config, "ledger", NULL);
    refused(&bench.book, NVDP_ERR_IO, export_to(&bench, "b.h5", NULL),
            "name the key with --ledger-key");
}

/* Returns the size of the largest file, complete or not, in the scratch folder whose name begins with `name`. */
static size_t largest(const char *name) {
    char folder[512], path[1024];
    struct stat info;
    size_t size = 0;
    snprintf(folder, sizeof folder, "%s", support_scratch());
    DIR *directory = opendir(folder);
    cr_assert_not_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strncmp(entry->d_name, name, strlen(name)) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (stat(path, &info) == 0 && (size_t)info.st_size > size) size = (size_t)info.st_size;
    }
    closedir(directory);
    return size;
}

static void rest(double seconds) {
    nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * seconds)}, NULL);
}

static pid_t begin(struct bench *bench, const char *name) {
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) support_lose_unnamed(); /* its incomplete file can be seen */
    if (pid == 0) _exit(export_to(bench, name, NULL) == NVDP_OK ? 0 : 1);
    return pid;
}

/* With a budget of one export, exporters are killed at random moments.  If a file has values, complete or not, the
 * ledger has the record, and no second export succeeds. */
Test(ledger, no_death_hides_a_sample) {
    nvdp__auto(bench_close) struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    const int kills = (int)support_repeats("NVDP_KILLS", 6);
    unsigned seed = support_seed("NVDP_KILLS");
    int counted = 0, with_values = 0, whole = 0;
    support_set(ctx, bench.config, "samples", samples);
    support_set(ctx, bench.config, "budget-samples", samples);
    const double begun = nvdp__now();
    cr_assert_eq(waitpid(begin(&bench, "calm"), NULL, 0) > 0, true);
    const double takes = nvdp__now() - begun;
    const size_t values = largest("calm") / 10; /* a file without values is far smaller */
    for (int life = 0; life < kills; life++) {
        char name[32], second[32];
        snprintf(name, sizeof name, "killed%d.", life);
        snprintf(second, sizeof second, "again%d.", life);
        forget(&bench.book);
        support_set(ctx, bench.config, "samples", samples);
        pid_t pid = begin(&bench, name);
        if (life % 2 == 0)
            rest(life == 0 ? 0 : takes * rand_r(&seed) / RAND_MAX);
        else /* while it writes values */
            while (largest(name) < 2 * values && waitpid(pid, NULL, WNOHANG) == 0)
                rest(1e-4);
        (void)!kill(pid, SIGKILL);
        (void)!waitpid(pid, NULL, 0);

        struct nvdp__ledger *ledger = NULL;
        size_t records = 0;
        if (nvdp__ledger_open(ctx, bench.book.path, bench.book.key, NULL, &ledger) == NVDP_OK) {
            records = nvdp__ledger_count(ledger);
            nvdp__ledger_close(ledger);
        }
        const bool written = largest(name) > values;
        if (nvdp__exists(support_scratch_path(name))) {
            verdicts(&bench, name, 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
            whole++;
        }
        cr_assert(!written || records == 1, "life %d: values, but no record", life);
        support_set(ctx, bench.config, "samples", "1");
        nvdp_status status = export_to(&bench, second, NULL);
        cr_assert_eq(status, records == 1 ? NVDP_ERR_STATE : NVDP_OK, "life %d: %s", life,
                     nvdp_context_error(ctx));
        cr_assert_eq(nvdp__exists(support_scratch_path(second)), records == 0);
        counted += records == 1;
        with_values += written;
    }
    cr_expect(counted > 0 && counted < kills, "%d of %d counted, %d with values, %d whole", counted,
              kills, with_values, whole);
    cr_expect_gt(with_values, 0);
}

/* --- the end of a release --- */

/* Cancels from the n-th question on. */
static bool cancel_at(void *user) {
    int *left = user;
    return --*left < 0;
}

static size_t records_of(const struct bench *bench) {
    struct nvdp__ledger *ledger = NULL;
    ok(nvdp__ledger_open(bench->book.ctx, bench->book.path, bench->book.key, NULL, &ledger));
    const size_t count = nvdp__ledger_count(ledger);
    nvdp__ledger_close(ledger);
    return count;
}

/* An export that is interrupted while it draws spends nothing and leaves nothing, in every format.  With a named file it is
 * counted, and the message says why, what it costs, and never that a file was shared. */
Test(ledger, an_interrupted_export_is_returned) {
    static const char *const names[] = {"int.h5", "int.safetensors", "int.parquet"};
    nvdp__auto(bench_close) struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    support_set(ctx, bench.config, "batch", "4");
    for (size_t f = 0; f < 3; f++) {
        forget(&bench.book);
        for (int questions = 1; questions <= 9; questions += 4) {
            int left = questions; /* in the first, in a later batch */
            nvdp_context_set_cancel(ctx, cancel_at, &left);
            const nvdp_status status = export_to(&bench, names[f], NULL);
            nvdp_context_set_cancel(ctx, NULL, NULL);
            refused(&bench.book, NVDP_ERR_CANCELLED, status,
                    "export: cancelled. Nothing was shared, and the ledger does not count this "
                    "export");
            cr_assert_eq(largest("int."), 0, "%s: something was left", names[f]);
            cr_assert_eq(records_of(&bench), 0);
        }
        ok(export_to(&bench, names[f], NULL));
        cr_assert_eq(records_of(&bench), 1);
        verdicts(&bench, names[f], 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
        cr_assert_eq(unlink(support_scratch_path(names[f])), 0);
    }
}

Test(ledger, an_interrupted_export_counts_if_its_file_had_a_name) {
    nvdp__auto(bench_close) struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    int left = 5;
    support_lose_unnamed();
    support_set(ctx, bench.config, "batch", "4");
    nvdp_context_set_cancel(ctx, cancel_at, &left);
    const nvdp_status status = export_to(&bench, "int2.h5", NULL);
    nvdp_context_set_cancel(ctx, NULL, NULL);
    fails(status, NVDP_ERR_CANCELLED,
          "export: cancelled. The ledger counts this export, because its incomplete "
          "file had a name, and could be read");
    cr_assert_eq(records_of(&bench), 1);
    refused(&bench.book, NVDP_ERR_STATE, export_to(&bench, "b.h5", NULL),
            "40 of its 40 texts were counted before, for ");
    support_contains(nvdp_context_error(ctx), "/int2.h5 (unfinished); together, all samples of a "
                                              "text would have epsilon 6.573 at delta 1e-05. "
                                              "Nothing was drawn; --budget-samples 2 allows");
    support_lacks(nvdp_context_error(ctx), "shared before");
    support_set(ctx, bench.config, "budget-samples", "2");
    ok(export_to(&bench, "b.h5", NULL));
}

/* A full disk is found before anything is counted. */
Test(ledger, a_full_disk_counts_nothing) {
    nvdp__auto(bench_close) struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    support_set(ctx, bench.config, "samples", "5000");
    support_set(ctx, bench.config, "budget-samples", "5000");
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, RLIM_INFINITY}), 0);
    refused(&bench.book, NVDP_ERR_IO, export_to(&bench, "full.h5", NULL), "cannot write");
    cr_assert_eq(records_of(&bench), 0);
    support_set(ctx, bench.config, "samples", "1");
    ok(export_to(&bench, "full.h5", NULL));
}

/* A returned release does not count, but stays in the file.  A release ends once. */
Test(ledger, a_returned_release_does_not_count) {
    const struct book book = book_open();
    struct nvdp__spent spent;
    nvdp__ledger_code one, two;
    struct nvdp_ledger_summary found = NVDP_RESULT(struct nvdp_ledger_summary);
    const int32_t word[] = {1};
    ok(reserve(&book, 1, word, 1, 1, any, 9, false, &spent, one));
    ok(reserve(&book, 1, word, 1, 2, any, 9, false, &spent, two));
    const size_t before = size_of(book.path);
    ok(nvdp__ledger_settle(book.ctx, book.path, book.key, "words", one, false));
    cr_assert_gt(size_of(book.path), before);
    for (int published = 0; published < 2; published++)
        refused(&book, NVDP_ERR_STATE,
                nvdp__ledger_settle(book.ctx, book.path, book.key, "words", one, published),
                "the record of this export, found none");
    ok(nvdp__ledger_settle(book.ctx, book.path, book.key, "words", two, true));
    refused(&book, NVDP_ERR_STATE,
            nvdp__ledger_settle(book.ctx, book.path, book.key, "words", two, false),
            "the record of this export, found none");
    ok(nvdp_ledger_summarize(book.ctx, book.path, NULL, &found));
    cr_assert_eq(found.releases, 1);
    cr_assert_float_eq(found.epsilon, nvdp_gdp_epsilon(2, 1e-5), 1e-12);
}

/* A first export that is refused raised no budget. */
Test(ledger, says_what_a_larger_budget_costs) {
    const struct book book = book_open();
    struct nvdp__spent spent;
    const struct nvdp__budget six = {9, 6};
    const int32_t word[] = {1};
    for (size_t r = 0; r < 2; r++) {
        refused(&book, NVDP_ERR_STATE, add(&book, 1, word, 2, 1, six, &spent), "allows the export");
        if (r == 0) support_lacks(nvdp_context_error(book.ctx), "but raises the budget");
        if (r == 1) support_contains(nvdp_context_error(book.ctx), "but raises the budget");
        if (r == 0) added(&book, 1, word, 1, 1, six);
    }
}

/* A budget ends with the last release that counts under it: then no budget is in force, and none is proven. */
Test(ledger, returned_releases_prove_no_budget) {
    const struct book book = book_open();
    struct nvdp__spent spent;
    nvdp__ledger_code code[2];
    const int32_t word[] = {1};
    const struct nvdp__budget eight = {9, 8};
    for (size_t r = 0; r < 2; r++) {
        ok(reserve(&book, 1, word, 1, 1, eight, 9, false, &spent, code[r]));
        cr_assert_eq(spent.proven, 8);
    }
    for (size_t r = 0; r < 2; r++)
        ok(nvdp__ledger_settle(book.ctx, book.path, book.key, "words", code[r], false));
    spent = added(&book, 1, word, 9, 1, any);
    cr_assert_gt(spent.epsilon, 8);
    cr_assert_eq(spent.proven, 0);
}

/* --- a budget as a filter --- */

static double normal_tail(double x) {
    return erfc(x / sqrt(2)) / 2;
}

/* Exports of epsilon 8 each go on until the loss exceeds the epsilon that the ledger prints, at most ten.  The stop
 * depends on samples: the printed epsilon holds with delta 5.8e-5, not 1e-5.  The budget's epsilon keeps its delta. */
Test(ledger, a_stopped_sum_breaks_its_delta_and_a_budget_keeps_it) {
    enum { EXPORTS = 10, CELLS = 2001 };
    const double mu = nvdp_gdp_mu(8, 1e-5), width = 12 * mu * sqrt(EXPORTS);
    static double now[CELLS], next[CELLS];
    const double step = 2 * width / (CELLS - 1);
    double printed = 0, kept = 0;
    const double total = nvdp_gdp_epsilon(mu * sqrt(EXPORTS), 1e-5);
    /* The loss is a sum of N(mu^2/2, mu^2); delta at a stop of loss l is 1 - exp(e - l).  now[]: masses of losses that go
     * on, by the density of the sum, cell by cell. */
    memset(now, 0, sizeof now);
    for (int k = 1; k <= EXPORTS; k++) {
        const double epsilon = nvdp_gdp_epsilon(mu * sqrt(k), 1e-5);
        memset(next, 0, sizeof next);
        for (int j = 0; j < CELLS; j++) {
            const double to = -width + j * step;
            double mass = 0;
            if (k == 1) {
                const double z = (to - mu * mu / 2) / mu;
                mass = (normal_tail(z - step / mu / 2) - normal_tail(z + step / mu / 2));
            } else
                for (int i = 0; i < CELLS; i++) {
                    if (now[i] == 0) continue;
                    const double z = (to - (-width + i * step) - mu * mu / 2) / mu;
                    if (fabs(z) < 8) mass += now[i] * exp(-z * z / 2) / sqrt(2 * M_PI) * step / mu;
                }
            if (to > epsilon)
                printed += mass * -expm1(epsilon - to);
            else
                next[j] = mass;
            if (k == EXPORTS || to > epsilon) kept += mass * fmax(0, -expm1(total - to));
        }
        memcpy(now, next, sizeof now);
    }
    cr_expect_float_eq(printed, 5.85e-5, 2e-7, "%g", printed);
    cr_expect_lt(kept, 1e-5, "%g", kept);
}

/* The ledger states the budget that was set with the first release and never raised, and refuses beyond it. */
Test(ledger, states_a_budget_that_holds_whatever_releases_depend_on) {
    static const struct {
        double budget[3], mu[3], proven[3]; /* mu < 0: not Gaussian; proven < 0: refused */
    } cases[] = {
        {{20, 0, 0}, {1, 1, 1}, {20, 20, 20}},    {{20, 20, 4}, {1, .5, .01}, {20, 20, -1}},
        {{20, 10, 0}, {1, .5, .5}, {20, 20, 20}}, /* lowered */
        {{20, 30, 0}, {1, 1, 1}, {20, 0, 0}},     /* raised */
        {{0, 20, 0}, {1, 1, 1}, {0, 0, 0}},       /* late */
        {{20, 0, 0}, {1, -1, 1}, {20, -1, 20}},   /* the filter is of Gaussian releases */
        {{20, 21, 0}, {1, -1, 1}, {20, 0, 0}},    {{20, 0, 0}, {-1, -1, -1}, {20, 20, 20}},
        {{20, 0, 0}, {-1, 1, 4}, {20, 20, -1}},
    };
    struct nvdp_context *ctx = support_context();
    const nvdp__text_hash hash = {1};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct book book = book_open();
        book.ctx = ctx;
        for (size_t r = 0; r < 3; r++) {
            struct nvdp__ledger *ledger = NULL;
            struct nvdp__spent spent;
            const double mu = cases[c].mu[r], proven = cases[c].proven[r];
            struct nvdp__ledger_release release = {.texts = 1,
                                                   .samples = 1,
                                                   .budget = {9, cases[c].budget[r]},
                                                   .mu = mu > 0 ? mu : INFINITY};
            for (size_t k = 0; k < NVDP__LEDGER_ORDERS; k++)
                release.divergence[k] = nvdp__ledger_orders[k] * mu * mu / 2;
            ok(nvdp__ledger_open(ctx, book.path, book.key, "words", &ledger));
            const nvdp_status status = nvdp__ledger_add(ledger, &release, &hash, 9, &spent);
            nvdp__ledger_close(ledger);
            cr_assert_eq(status, proven < 0 ? NVDP_ERR_STATE : NVDP_OK, "case %zu, release %zu: %s",
                         c, r, nvdp_context_error(ctx));
            if (proven >= 0) cr_expect_eq(spent.proven, proven, "case %zu, release %zu", c, r);
        }
        forget(&book);
    }
}
