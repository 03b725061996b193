/* Tests the ledger: its counts, its refusals, and that no death of a process hides a sample. */
#include "fixture.h"
#include <sys/resource.h>
#include <sys/syscall.h>

/* --- the file alone --- */

struct book {
    struct nvdp_context *ctx;
    const char *path, *key, *state;
    struct nvdp__spent spent; /* after the last release, of its text that spent most */
};

static struct book book_open(void) {
    return (struct book){.ctx = support_context(),
                         .path = support_scratch_path("ledger"),
                         .key = support_scratch_path("ledger.key"),
                         .state = support_scratch_path("ledger.state")};
}

/* Removes a ledger with all that remembers it. */
static void forget(const struct book *book) {
    (void)!unlink(book->path);
    (void)!unlink(book->key);
    (void)!unlink(book->state);
}

enum { MAX_TEXTS = 8 };

/* Opens the ledger for writing, or with `words` NULL for reading. */
static struct nvdp__ledger *opened(const struct book *book, const char *words) {
    struct nvdp__ledger *ledger = NULL;
    ok(nvdp__ledger_open(book->ctx, book->path, book->key, words, &ledger));
    return ledger;
}

static size_t records_of(const struct book *book) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = opened(book, NULL);
    return nvdp__ledger_count(ledger);
}

/* Adds one sample of one text. */
static nvdp_status add_one(struct nvdp__ledger *ledger) {
    struct nvdp__spent spent;
    struct nvdp__ledger_release release = {.texts = 1, .samples = 1, .mu = 1};
    const nvdp__text_hash hash = {1};
    return nvdp__ledger_add(ledger, &release, &hash, 9, &spent);
}

/* Adds a release of texts of one word each, by a run that promised `promise` samples, of each row if `each` is set.
 * `code` is that of its record. */
static nvdp_status reserve(struct book *book, size_t texts, const int32_t *word, uint64_t samples,
                           double mu, struct nvdp__budget budget, uint64_t promise, bool each,
                           nvdp__ledger_code code) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    nvdp__text_hash hash[MAX_TEXTS];
    const int32_t type = 0;
    struct nvdp__ledger_release release = {
        .texts = texts, .samples = samples, .budget = budget, .mu = mu};
    NVDP_TRY(nvdp__ledger_open(book->ctx, book->path, book->key, "words", &ledger));
    for (size_t i = 0; i < texts; i++)
        nvdp__ledger_text(ledger, 1, &word[i], &type, hash[i]);
    for (size_t k = 0; k < NVDP__LEDGER_ORDERS; k++)
        release.divergence[k] = nvdp__ledger_orders[k] * mu * mu / 2;
    memset(release.id, (char)('a' + nvdp__ledger_count(ledger)), sizeof release.id);
    snprintf(release.file, sizeof release.file, "%c.h5", 'a' + (int)nvdp__ledger_count(ledger));
    nvdp__ledger_set_names(ledger, &(struct nvdp__ledger_names){.each = each});
    const nvdp_status status =
        nvdp__ledger_add(ledger, &release, (const nvdp__text_hash *)hash, promise, &book->spent);
    nvdp__ledger_added(ledger, code);
    return status;
}

static nvdp_status settle(const struct book *book, nvdp__ledger_code code, bool published) {
    return nvdp__ledger_settle(book->ctx, book->path, book->key, "words", code, published);
}

/* The same for a release whose file is published. */
static nvdp_status add_rows(struct book *book, size_t texts, const int32_t *word, uint64_t samples,
                            double mu, struct nvdp__budget budget, uint64_t promise, bool each) {
    nvdp__ledger_code code;
    NVDP_TRY(reserve(book, texts, word, samples, mu, budget, promise, each, code));
    return settle(book, code, true);
}

static nvdp_status add_promised(struct book *book, size_t texts, const int32_t *word,
                                uint64_t samples, double mu, struct nvdp__budget budget,
                                uint64_t promise) {
    return add_rows(book, texts, word, samples, mu, budget, promise, false);
}

/* Adds a release by a run whose promise never limits it. */
static nvdp_status add(struct book *book, size_t texts, const int32_t *word, uint64_t samples,
                       double mu, struct nvdp__budget budget) {
    return add_promised(book, texts, word, samples, mu, budget, 1000);
}

static struct nvdp__spent added(struct book *book, size_t texts, const int32_t *word,
                                uint64_t samples, double mu, struct nvdp__budget budget) {
    ok(add(book, texts, word, samples, mu, budget));
    return book->spent;
}

static void is_private(const char *path) {
    struct stat info;
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(info.st_mode & 07777, 0600);
}

static const struct nvdp__budget any = {0};

Test(ledger, adds_up_what_a_text_has_spent) {
    struct book book = book_open();
    struct nvdp__spent spent = added(&book, 3, (int32_t[]){1, 2, 3}, 2, 0.5, any);
    cr_assert_eq(spent.samples, 2);
    near(spent.epsilon, nvdp_gdp_epsilon(sqrt(2 * 0.25), 1e-5), 1e-12);
    spent = added(&book, 2, (int32_t[]){4, 3}, 1, 2, any);
    cr_assert_eq(spent.samples, 3);
    near(spent.epsilon, nvdp_gdp_epsilon(sqrt(2 * 0.25 + 4), 1e-5), 1e-12);
    spent = added(&book, 3, (int32_t[]){5, 5, 1}, 4, 0.1, any); /* a text that occurs twice */
    cr_assert_eq(spent.samples, 8);
    spent = added(&book, 1, (int32_t[]){2}, 1, INFINITY, any); /* nothing is proven for it */
    cr_assert_eq(spent.samples, 3);
    cr_assert_eq(spent.epsilon, INFINITY);
}

/* Sums are made for one block of texts or persons after the other: more texts, and more persons, than a block has. */
Test(ledger, adds_up_many_texts_and_persons) {
    enum { TEXTS = 150000, MORE = 3, OF = 7 };
    struct book book = book_open();
    nvdp__autofree nvdp__text_hash *text = calloc(TEXTS + MORE, sizeof *text),
                                   *person = calloc(TEXTS + MORE, sizeof *person);
    struct nvdp__spent spent;
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = opened(&book, "words");
    for (int32_t i = 0, type = 0; i < TEXTS + MORE; i++) {
        const int32_t word = i < TEXTS ? i : OF, name = word / 2;
        nvdp__ledger_text(ledger, 1, &word, &type, text[i]);
        nvdp__ledger_text(ledger, 1, &name, &type, person[i]);
    }
    nvdp__ledger_set_names(ledger,
                           &(struct nvdp__ledger_names){.person = (const nvdp__text_hash *)person});
    struct nvdp__ledger_release release = {.texts = TEXTS, .samples = 1, .mu = .5};
    ok(nvdp__ledger_add(ledger, &release, (const nvdp__text_hash *)text, 9, &spent));
    cr_expect_eq(spent.samples, 1);
    cr_expect_eq(spent.persons, TEXTS / 2);
    cr_expect_eq(spent.person_samples, 2);
    nvdp__ledger_close(ledger);
    ledger = opened(&book, "words");
    nvdp__ledger_set_names(ledger,
                           &(struct nvdp__ledger_names){.person = (const nvdp__text_hash *)person});
    for (uint64_t promise = 4; promise < 6; promise++) { /* the text has 1 + 1 + MORE samples */
        release = (struct nvdp__ledger_release){.texts = TEXTS + MORE, .samples = 1, .mu = 1};
        const nvdp_status status =
            nvdp__ledger_check(ledger, &release, (const nvdp__text_hash *)text, promise, &spent);
        cr_expect_eq(status, promise == 4 ? NVDP_ERR_STATE : NVDP_OK);
    }
    cr_expect_eq(spent.samples, 2 + MORE);
    cr_expect_eq(spent.seen_before, TEXTS);
    near(spent.epsilon, nvdp_gdp_epsilon(sqrt(.25 + 1 + MORE), 1e-5), 1e-12);
    cr_expect_eq(spent.persons, TEXTS / 2);
    cr_expect_eq(spent.person_texts, 2);
    cr_expect_eq(spent.person_samples, 4 + MORE);
    near(spent.person_epsilon, nvdp_gdp_epsilon(sqrt(2 * .25 + 2 + MORE), 1e-5), 1e-12);
}

/* If one mechanism is not Gaussian, epsilons compose by Renyi divergences.  Those of the same Gaussian give the
 * epsilon of the best order, slightly above the exact one. */
Test(ledger, composes_other_mechanisms_by_renyi_divergences) {
    struct book book = book_open();
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
    struct nvdp__ledger *ledger = opened(&book, "words");
    ok(nvdp__ledger_add(ledger, &release, (const nvdp__text_hash *)&hash, 3, &spent));
    nvdp__ledger_close(ledger);
    near(spent.epsilon, smallest, 1e-12);
    cr_assert_gt(spent.epsilon, nvdp_gdp_epsilon(sqrt(3), 1e-5));
    cr_assert_lt(spent.epsilon, 1.2 * nvdp_gdp_epsilon(sqrt(3), 1e-5));
    ledger = opened(&book, NULL);
    char id[NVDP__LEDGER_ID + 1] = {0};
    memset(id, 'f', NVDP__LEDGER_ID);
    const struct nvdp__ledger_release *found = nvdp__ledger_find(ledger, false, id, "", 1, 3);
    cr_assert_not_null(found);
    cr_assert_eq(found->samples, 3);
    ok(nvdp__ledger_worst(ledger, found, &spent, &budget));
    near(spent.epsilon, smallest, 1e-12);
    id[0] = 'e';
    cr_assert_null(nvdp__ledger_find(ledger, true, id, "", 1, 3));
    cr_assert_null(nvdp__ledger_find(ledger, false, id, "", 1, 3));
    nvdp__ledger_close(ledger);
}

/* The distance of the weights from a Dirichlet's adds (1 + e^epsilon) times itself to delta: with the epsilon of all
 * samples, not with that of a file. */
Test(ledger, counts_the_distance_of_the_weights_of_all_samples) {
    struct book book = book_open();
    struct nvdp__spent spent;
    struct nvdp__ledger_release release = {.texts = 1, .samples = 1, .mu = INFINITY};
    const nvdp__text_hash hash = {1};
    memset(release.id, 'f', sizeof release.id);
    for (size_t k = 0; k < NVDP__LEDGER_ORDERS; k++)
        release.divergence[k] = 4 * nvdp__ledger_orders[k];
    for (uint64_t count = 1; count <= 4; count++) { /* every record is read again */
        const double exact = nvdp_gdp_epsilon(sqrt(8 * (double)count), 1e-5);
        const bool negligible = (1 + exp(exact)) * (double)count * 1e-20 < 1e-8;
        struct nvdp__ledger *ledger = opened(&book, "words");
        nvdp__ledger_set_names(ledger, &(struct nvdp__ledger_names){.distance = 1e-20});
        ok(nvdp__ledger_add(ledger, &release, &hash, 9, &spent));
        nvdp__ledger_close(ledger);
        cr_expect_eq(isfinite(spent.epsilon), negligible, "%g", spent.epsilon);
        cr_expect_eq(negligible, count < 3);
    }
}

/* A record in a file that is no longer at the ledger's path would be lost, and its samples drawn. */
Test(ledger, notices_that_its_file_was_replaced) {
    struct book book = book_open();
    added(&book, 1, (int32_t[]){1}, 1, 1, any);
    const char *bytes = support_read(book.path);
    const size_t size = support_size(book.path);
    struct nvdp__ledger *ledger = opened(&book, "words");
    cr_assert_eq(unlink(book.path), 0);
    for (int copy = 0; copy < 2; copy++) {
        if (copy) support_write(book.path, bytes, size);
        fails(add_one(ledger), NVDP_ERR_STATE, "it was replaced meanwhile");
    }
    nvdp__ledger_close(ledger);
}

Test(ledger, refuses_what_is_beyond_the_budget) {
    struct book book = book_open();
    struct stat before, after;
    added(&book, 2, (int32_t[]){1, 2}, 2, 0.5, (struct nvdp__budget){.samples = 3});
    cr_assert_eq(stat(book.path, &before), 0);
    cr_assert_eq(before.st_mode & 07777, 0600);
    const struct nvdp__budget three = {.samples = 3};
    fails(add(&book, 3, (int32_t[]){7, 2, 1}, 2, 0.5, three), NVDP_ERR_STATE,
          "expected in total at most 3 samples of a text, found 4 including this export: 2 of its "
          "3 texts were shared before, in a.h5; together, all samples of a text would have epsilon "
          "4.378 at delta 1e-05. Nothing was drawn; --budget-samples 4 allows the export");
    cr_assert_eq(stat(book.path, &after), 0);
    cr_assert_eq(before.st_size, after.st_size);
    added(&book, 2, (int32_t[]){1, 3}, 1, 0.5, three);
    fails(add(&book, 1, (int32_t[]){1}, 1, 0.5, three), NVDP_ERR_STATE,
          "in total at most 3 samples of a text, found 4 including this export: 1 of its 1 texts "
          "were shared before, in b.h5, a.h5; ");
    const double exact = nvdp_gdp_epsilon(sqrt(4 * 0.25), 1e-5);
    fails(add(&book, 2, (int32_t[]){9, 1}, 1, 0.5,
              (struct nvdp__budget){.samples = 9, .epsilon = 0.999 * exact}),
          NVDP_ERR_STATE,
          "for all samples of a text together, found epsilon 4.378 at delta 1e-05 including this "
          "export: 1 of its 2 texts were shared before, in b.h5, a.h5. Nothing was drawn; "
          "--budget-epsilon 4.378 allows the export");
    added(&book, 1, (int32_t[]){1}, 1, 0.5,
          (struct nvdp__budget){.samples = 9, .epsilon = 1.001 * exact});
    fails(add(&book, 1, (int32_t[]){8}, 1, INFINITY, any), NVDP_ERR_STATE, /* this budget stays */
          "found epsilon inf at delta 1e-05 including this export. Nothing was drawn");
}

/* Without a budget a text has at most the promised samples, all of its rows together unless each row is drawn on
 * request.  A row that was never shared may have any number.  All samples are counted. */
Test(ledger, keeps_what_the_run_promised) {
    struct book book = book_open();
    const int32_t words[] = {1, 2, 3, 3};
    const struct nvdp__budget two = {.samples = 2};
    fails(add_promised(&book, 4, words, 1, 0.5, any, 1), NVDP_ERR_STATE,
          "expected in total at most 1 sample of a text, which the run guarantees, found 2");
    ok(add_rows(&book, 4, words, 1, 0.5, any, 1, true));
    cr_assert_eq(book.spent.samples, 2);
    cr_assert_eq(book.spent.seen_before, 0);
    for (size_t i = 0; i < 3; i++)
        fails(add_promised(&book, 1, words + i, 1, 0.5, any, 1), NVDP_ERR_STATE,
              "expected in total at most 1 sample of a text, which the run guarantees, found");
    ok(add_promised(&book, 1, words, 1, 0.5, two, 1));
    cr_assert_eq(book.spent.samples, 2);
    cr_assert_eq(book.spent.seen_before, 1);
    cr_assert_str_eq(book.spent.files, "a.h5");
    fails(add_promised(&book, 1, words + 1, 1, 0.5, any, 1), NVDP_ERR_STATE,
          "1 of its 1 texts were shared before, in a.h5"); /* that budget was for one export */
    ok(add_promised(&book, 1, words + 1, 1, 0.5, any, 2));
    fails(add_promised(&book, 1, words + 1, 1, 0.5, any, 2), NVDP_ERR_STATE,
          "--budget-samples 3 allows the export");
    ok(add_promised(&book, 1, (int32_t[]){4}, 5, 0.5, any, 1));
    cr_assert_eq(book.spent.samples, 5);
    fails(add_promised(&book, 1, (int32_t[]){4}, 5, 0.5, any, 1), NVDP_ERR_STATE, "found 10");
    /* rows and earlier samples add up: one sample and two rows are within 3, three rows are not, unless each counts */
    const int32_t rows[] = {5, 5, 5};
    ok(add_promised(&book, 1, rows, 1, 0.5, any, 3));
    fails(add_promised(&book, 3, rows, 1, 0.5, any, 3), NVDP_ERR_STATE, "found 4");
    ok(add_promised(&book, 2, rows, 1, 0.5, any, 3));
    cr_assert_eq(book.spent.samples, 3);
    ok(add_promised(&book, 1, (int32_t[]){6}, 1, 0.5, any, 3));
    ok(add_rows(&book, 3, (int32_t[]){6, 6, 6}, 1, 0.5, any, 3, true));
    cr_assert_eq(book.spent.samples, 4);
}

/* An older ledger without file names is read and continued in the present kind. */
Test(ledger, goes_on_with_older_files) {
    struct nvdp_context *ctx = support_context();
    struct nvdp__ledger *ledger = NULL;
    struct nvdp__spent spent = {0};
    const char *path = support_scratch_path("old"), *key = support_scratch_path("old.key");
    const char *old = support_path("%s/tests/fuzz/corpus/ledger/two", NVDP_SOURCE_DIR);
    const int32_t word = 77, type = 0;
    support_write(path, support_read(old), support_size(old));
    support_write_text(
        key,
        "nvdp-ledger-key/1 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n");
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
    cr_assert_eq(strncmp(support_read(path), "nvdp ledger/3\n", 14), 0);
}

Test(ledger, refuses_other_keys_tokenizers_and_files) {
    struct book book = book_open();
    struct book other = book;
    struct nvdp__ledger *ledger = NULL;
    const int32_t word = 1;

    fails(nvdp__ledger_open(book.ctx, book.path, book.key, NULL, &ledger), NVDP_ERR_IO,
          "cannot read");
    added(&book, 1, &word, 1, 1, any);
    is_private(book.key);
    fails(
        nvdp__ledger_open(book.ctx, book.path, book.key, "letters", &ledger), NVDP_ERR_ARGUMENT,
        "tokenizer and maximum length, by which this ledger recognizes texts (to it, method word");
    other.key = support_scratch_path("other.key");
    fails(add(&other, 1, &word, 1, 1, any), NVDP_ERR_IO, "other.key");
    other.path = support_scratch_path("other");
    added(&other, 1, &word, 1, 1, any);
    other.path = book.path;
    fails(add(&other, 1, &word, 1, 1, any), NVDP_ERR_INPUT,
          "expected the ledger that belongs to the given key");
    cr_assert_eq(chmod(book.key, 0640), 0);
    fails(add(&book, 1, &word, 1, 1, any), NVDP_ERR_ARGUMENT, "found mode 0640");
    cr_assert_eq(chmod(book.key, 0600), 0);
    other.path = support_scratch_path("text");
    support_write_text(other.path, "precious");
    fails(add(&other, 1, &word, 1, 1, any), NVDP_ERR_INPUT,
          "expected a ledger, found another kind");
    cr_assert_str_eq(support_read(other.path), "precious");
    static const char *const moved[] = {"nvdp ledger moved\n/of/another run\n",
                                        "nvdp ledger moved\n"};
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        support_write_text(other.path, moved[i]);
        fails(add(&other, 1, &word, 1, 1, any), i == 0 ? NVDP_ERR_STATE : NVDP_ERR_INPUT,
              i == 0 ? "moved to the run /of/another run, which alone" : "another kind");
        cr_assert_str_eq(support_read(other.path), moved[i]);
    }
}

/* Returns what a reader, or a writer, says about the ledger with these bytes and this state (NULL: none). */
static nvdp_status tried(const struct book *book, bool add, size_t size, const char *bytes,
                         size_t state_size, const char *state) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    support_write(book->path, bytes, size);
    (void)!unlink(book->state);
    if (state != NULL) support_write(book->state, state, state_size);
    return nvdp__ledger_open(book->ctx, book->path, book->key, add ? "words" : NULL, &ledger);
}

/* Any changed byte is detected, and any cut of what the head counts. */
Test(ledger, tells_changes_and_cuts) {
    struct book book = book_open();
    added(&book, 2, (int32_t[]){1, 2}, 1, 1, any);
    const size_t one = support_size(book.path);
    char *first = support_read(book.path), *state_one = support_read(book.state);
    added(&book, 3, (int32_t[]){1, 2, 3}, 1, 1, any);
    const size_t size = support_size(book.path), mark = support_size(book.state);
    char *bytes = support_read(book.path), *state = support_read(book.state);
    for (size_t i = 0; i < size; i += 3) {
        bytes[i] ^= 1;
        nvdp_status status = tried(&book, i % 2, size, bytes, mark, state);
        cr_assert(status == NVDP_ERR_INPUT || status == NVDP_ERR_ARGUMENT, "byte %zu: %s", i,
                  nvdp_status_name(status));
        bytes[i] ^= 1;
    }
    for (size_t cut = 0; cut < size; cut += cut < 301 ? 1 : 11)
        for (int add = 0; add < 2; add++)
            cr_assert_eq(tried(&book, add, cut, bytes, mark, state), NVDP_ERR_STATE, "%zu bytes",
                         cut);
    /* an older copy of the whole file, with its own head; then with its own state */
    for (int add = 0; add < 2; add++) {
        fails(tried(&book, add, one, first, mark, state), NVDP_ERR_STATE,
              "an older copy of the ledger, or another one, is in its place");
        ok(tried(&book, add, one, first, mark, state_one));
    }
    /* a state that lags is that of a death; a missing one, a changed one and another one are not */
    ok(tried(&book, 0, size, bytes, mark, state_one));
    fails(tried(&book, 0, size, bytes, 0, NULL), NVDP_ERR_STATE, "found none; put it");
    ok(tried(&book, 0, size, bytes, 0, ""));
    state[60] ^= 1;
    fails(tried(&book, 0, size, bytes, mark, state), NVDP_ERR_STATE, "it was changed");
    state[60] ^= 1;
    state[30] ^= 1;
    fails(tried(&book, 0, size, bytes, mark, state), NVDP_ERR_STATE, "another ledger");
}

/* A writer that dies leaves an incomplete record, or one record more than the head counts; not two. */
Test(ledger, takes_what_a_death_leaves) {
    struct book book = book_open();
    enum { HEAD = 120 };
    char *head[4], *state[4], *all = NULL;
    size_t size[4];
    for (size_t r = 0; r < 4; r++) {
        struct nvdp__ledger *ledger = NULL;
        ledger = opened(&book, "words");
        nvdp__ledger_set_names(ledger, &(struct nvdp__ledger_names){.word_mu = 1});
        if (r > 0) ok(add_one(ledger));
        nvdp__ledger_close(ledger);
        all = support_read(book.path);
        head[r] = support_keep(memcpy(malloc(HEAD), all, HEAD));
        state[r] = support_read(book.state);
        size[r] = support_size(book.path);
    }
    const size_t mark = support_size(book.state);
    for (size_t r = 0; r < 3; r++) {
        memcpy(all, head[r], HEAD);
        for (size_t end = size[r]; end <= size[3]; end += 7) {
            const size_t two = size[nvdp__min(r + 2, (size_t)3)];
            const nvdp_status status = tried(&book, end % 2, end, all, mark, state[r]);
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
    cr_assert_eq(records_of(&book), 3);
}

/* A ledger that is gone is refused by everybody who finds its key or its state; a death at the beginning is not. */
Test(ledger, is_missed) {
    struct book book = book_open();
    struct nvdp_ledger_summary found = NVDP_RESULT(struct nvdp_ledger_summary);
    added(&book, 1, (int32_t[]){1}, 1, 1, any);
    char *state = support_read(book.state);
    const size_t mark = support_size(book.state);
    cr_assert_eq(unlink(book.path), 0);
    for (int key = 1; key >= 0; key--) {
        if (!key) cr_assert_eq(unlink(book.key), 0);
        fails(add(&book, 1, (int32_t[]){1}, 1, 1, any), NVDP_ERR_STATE,
              "expected the ledger of the key");
        fails(nvdp_ledger_summarize(book.ctx, book.path, NULL, &found), NVDP_ERR_STATE,
              "expected the ledger of the key");
        fails(tried(&book, 1, 7, "nvdp le", mark, state), NVDP_ERR_STATE, "was cut");
        cr_assert_eq(unlink(book.path), 0);
    }
    forget(&book);
    /* an empty state accepts a ledger, but not one that was cut before its first record */
    added(&book, 1, (int32_t[]){1}, 1, 1, any);
    support_write(book.path, "nvdp le", 7);
    support_write(book.state, "", 0);
    fails(add(&book, 1, (int32_t[]){1}, 1, 1, any), NVDP_ERR_STATE, "was cut");
    forget(&book);
    support_write(book.path, "nvdp le", 7); /* of a writer that died before the state */
    added(&book, 1, (int32_t[]){1}, 1, 1, any);
}

/* A ledger elsewhere, with its key and state: the run remembers it, too. */
Test(ledger, is_remembered_by_its_run) {
    struct book book = book_open();
    struct nvdp__ledger *ledger = NULL;
    const char *run = support_scratch_path("run");
    char *bytes[2], *state[2];
    size_t size[2];
    ok(nvdp__make_directory(book.ctx, run));
    for (size_t r = 0; r < 2; r++) {
        ledger = opened(&book, "words");
        ok(nvdp__ledger_of_run(ledger, run));
        ok(add_one(ledger));
        nvdp__ledger_close(ledger);
        bytes[r] = support_read(book.path);
        state[r] = support_read(book.state);
        size[r] = support_size(book.path);
    }
    for (size_t r = 0; r < 2; r++) {
        support_write(book.path, bytes[r], size[r]);
        support_write(book.state, state[r], support_size(book.state));
        ledger = opened(&book, NULL);
        if (r == 0)
            fails(nvdp__ledger_of_run(ledger, run), NVDP_ERR_STATE, "/run/ledgers.state");
        else
            ok(nvdp__ledger_of_run(ledger, run));
        nvdp__ledger_close(ledger);
    }
    /* a run that cannot be written: the ledger counts, and stays readable */
    for (size_t r = 2; r < 4; r++) {
        ledger = opened(&book, "words");
        ok(nvdp__ledger_of_run(ledger, support_scratch_path("gone")));
        cr_assert_eq(nvdp__ledger_count(ledger), r);
        ok(add_one(ledger));
        nvdp__ledger_close(ledger);
    }
}

Test(ledger, survives_failing_allocations) {
    struct book book = book_open();
    uint64_t records = 0;
    for (uint64_t k = 1;; k++) {
        nvdp__fail_allocation(book.ctx, k);
        nvdp__ledger_code code;
        nvdp_status status = reserve(&book, 2, (int32_t[]){1, 2}, 1, 1, any, 9, false, code);
        nvdp__fail_allocation(book.ctx, 0);
        if (status == NVDP_OK) break;
        cr_assert_eq(status, NVDP_ERR_MEMORY);
        records++;
    }
    cr_assert_gt(records, 4);
    cr_assert_eq(book.spent.samples, 1);
}

/* Makes the locking of files fail, as on a file system without locks. */
static void lose_locks(void) {
    support_lose(SYS_fcntl, 1, F_OFD_SETLK, ENOLCK);
}

/* The message must not claim that another process has held the lock for a minute. */
Test(ledger, says_so_where_files_cannot_be_locked) {
    struct book book = book_open();
    const int32_t word[] = {1};
    lose_locks();
    fails(add(&book, 1, word, 1, 1, (struct nvdp__budget){0}), NVDP_ERR_IO,
          "cannot lock: No locks available");
}

/* Concurrent writers: each finds the records of the others. */
Test(ledger, writers_wait_for_one_another) {
    enum { WRITERS = 4, EACH = 5 };
    struct book book = book_open();
    for (int w = 0; w < WRITERS; w++) {
        pid_t pid = fork();
        cr_assert_geq(pid, 0);
        if (pid > 0) continue;
        bool right = true;
        for (int i = 0; i < EACH; i++) {
            right = add(&book, 1, (int32_t[]){1}, 1, 1, any) == NVDP_OK && right;
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
    const char *run;
    struct nvdp_config *config;
    struct nvdp_export_result result; /* the last one */
};

/* Sets options: names and values, then NULL. */
static __attribute__((sentinel)) void set(const struct bench *bench, ...) {
    va_list options;
    va_start(options, bench);
    support_set_list(bench->book.ctx, bench->config, options);
    va_end(options);
}

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
    const struct book book = book_open();
    ok(nvdp_context_set_threads(book.ctx, 1)); /* other threads do not survive a fork */
    const char *run = task_run(book.ctx, "run", &clipped_run, NULL);
    return (struct bench){.book = book,
                          .run = run,
                          .config =
                              support_config(book.ctx, "export", "run", run, "input",
                                             texts("forty.tsv", 0, 40), "measure-texts", "0",
                                             "ledger", book.path, "ledger-key", book.key, NULL)};
}

static nvdp_status export_to(struct bench *bench, const char *name) {
    bench->result = (struct nvdp_export_result)NVDP_RESULT(struct nvdp_export_result);
    set(bench, "out", support_scratch_path(name), NULL);
    const nvdp_status status = nvdp_export(bench->book.ctx, bench->config, &bench->result);
    if (status == NVDP_OK) nvdp_result_free(&bench->result);
    return status;
}

static void export_fails(struct bench *bench, const char *name, nvdp_status status,
                         const char *words) {
    fails(export_to(bench, name), status, words);
}

static struct nvdp_verification verified(const struct bench *bench, const char *name) {
    return share_verified(bench->book.ctx, support_scratch_path(name), NULL);
}

/* The same with what the ledger says of the file. */
static struct nvdp_verification counted(const struct bench *bench, const char *name) {
    return share_counted(bench->book.ctx, support_scratch_path(name), bench->book.path,
                         bench->book.key);
}

static void verdicts(const struct bench *bench, const char *name, size_t checks,
                     enum nvdp_verdict there, enum nvdp_verdict within) {
    struct nvdp_verification found = verified(bench, name);
    cr_assert(found.holds);
    const size_t before = found.checks;
    found = counted(bench, name);
    cr_assert_eq(found.checks, before + checks);
    cr_assert_eq(found.check[before].verdict, there, "%s", found.check[before].found);
    if (checks > 1)
        cr_assert_eq(found.check[before + 1].verdict, within, "%s", found.check[before + 1].found);
    cr_assert_eq(found.holds, there == NVDP_VERDICT_YES && within == NVDP_VERDICT_YES);
}

Test(ledger, exports_are_counted_and_verified) {
    struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    set(&bench, "samples", "2", "budget-samples", "3", NULL);
    ok(export_to(&bench, "a.h5"));
    cr_assert_eq(bench.result.spent_samples, 2);
    near(bench.result.spent_epsilon, nvdp_gdp_epsilon(sqrt(2), 1e-5), 1e-9);
    verdicts(&bench, "a.h5", 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
    export_fails(&bench, "b.h5", NVDP_ERR_STATE, "at most 3 samples");
    cr_assert_not(nvdp__exists(support_scratch_path("b.h5")));
    set(&bench, "input", texts("others.tsv", 40, 6), NULL);
    ok(export_to(&bench, "b.h5"));
    set(&bench, "input", texts("all.tsv", 0, 46), "samples", "1", NULL);
    ok(export_to(&bench, "c.h5"));
    cr_assert_eq(bench.result.spent_samples, 3);
    near(bench.result.spent_epsilon, nvdp_gdp_epsilon(sqrt(3), 1e-5), 1e-9);
    /* a file states the guarantee of one row; the ledger knows of other files */
    support_contains(verified(&bench, "a.h5").guarantee, ", 2 samples, any two texts. ");
    struct nvdp_verification found = counted(&bench, "a.h5");
    const char *first = support_path(
        "The ledger counts up to 3 samples of a text, which together have epsilon %s at ",
        nvdp__bound(bench.result.spent_epsilon).text);
    cr_assert_eq(strncmp(found.guarantee, first, strlen(first)), 0, "%s", found.guarantee);
    found = verified(&bench, "c.h5");
    cr_expect(found.counted);
    cr_expect_eq(found.spent_samples, 0);
    cr_expect(isnan(found.spent_epsilon));
    found = counted(&bench, "c.h5");
    cr_assert_eq(strncmp(found.guarantee, first, strlen(first)), 0, "%s", found.guarantee);
    cr_expect_eq(found.spent_samples, 3);
    near(found.spent_epsilon, bench.result.spent_epsilon, 1e-9);
    /* Other texts have their own budget. */
    set(&bench, "input", texts("new.tsv", 100, 3), "budget-samples", "1", NULL, NULL);
    ok(export_to(&bench, "d.h5"));
    verdicts(&bench, "a.h5", 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
    verdicts(&bench, "d.h5", 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
    /* a lost ledger does not begin anew without a word */
    cr_assert_eq(unlink(bench.book.path), 0);
    set(&bench, "overwrite", "true", NULL);
    export_fails(&bench, "d.h5", NVDP_ERR_STATE,
                 "found none. Restore it from a copy, or name it with --ledger. A new ledger "
                 "forgets all that was shared: to begin one, remove this key and ");
    cr_assert_not(nvdp__exists(bench.book.path));
    char *described = NULL;
    fails(nvdp_verify_ledger(ctx, support_scratch_path("a.h5"), bench.book.path, bench.book.key,
                             &found),
          NVDP_ERR_STATE, "expected the ledger of the key");
    for (int empty = 0; empty < 2; empty++) {
        if (empty) support_write(bench.book.path, "", 0);
        fails(nvdp_describe(ctx, bench.book.path, NVDP_DESCRIPTION_JSON, &described),
              NVDP_ERR_STATE, "expected the ledger of the key");
    }
    forget(&bench.book);
    ok(export_to(&bench, "d.h5"));
    verdicts(&bench, "a.h5", 1, NVDP_VERDICT_NO, NVDP_VERDICT_NO);

    set(&bench, "no-ledger", "true", NULL);
    export_fails(&bench, "d.h5", NVDP_ERR_ARGUMENT, "option --no-ledger excludes --ledger");
    set(&bench, "ledger", NULL, "ledger-key", NULL, NULL);
    export_fails(&bench, "d.h5", NVDP_ERR_ARGUMENT, "option --no-ledger excludes a budget");
}

/* A ledger that an older copy replaced does not list a file that was counted since, even if a file before has the same
 * model_id and counts, nor one that no ledger counts, nor the second of two such files. */
Test(ledger, lists_only_the_files_that_it_counts) {
    struct bench bench = bench_open();
    ok(nvdp__make_directory(bench.book.ctx, support_scratch_path("folder")));
    set(&bench, "model-id", "0123456789abcdef0123456789abcdef", NULL);
    ok(export_to(&bench, "folder/a.h5"));
    const char *before = support_read(bench.book.path);
    const size_t size = support_size(bench.book.path);
    set(&bench, "budget-samples", "2", NULL);
    ok(export_to(&bench, "folder/b.h5"));
    const char *after = support_read(bench.book.path);
    const size_t more = support_size(bench.book.path);
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
    set(&bench, "budget-samples", NULL, "ledger", support_scratch_path("another"), "ledger-key",
        support_scratch_path("another.key"), "input", texts("other.tsv", 40, 40), NULL);
    ok(export_to(&bench, "folder/c.h5"));
    verdicts(&bench, "folder", 2, NVDP_VERDICT_NO, NVDP_VERDICT_YES); /* the third of two */
    set(&bench, "ledger", NULL, "ledger-key", NULL, "no-ledger", "true", NULL, NULL);
    ok(export_to(&bench, "none.h5"));
    verdicts(&bench, "none.h5", 2, NVDP_VERDICT_NO, NVDP_VERDICT_YES);
}

/* A row of a split in two files has the samples of both, whichever ledger counts them: the guarantee says so. */
Test(ledger, rows_of_several_files_are_noticed) {
    static const char says[] =
        "If a text is in several of these files, its epsilon grows with each file. ";
    struct bench bench = bench_open();
    ok(nvdp__make_directory(bench.book.ctx, support_scratch_path("rows")));
    /* one text, as others are equal */
    set(&bench, "model-id", "0123456789abcdef0123456789abcdef", "input", NULL, "split", "dev",
        "limit", "1", "budget-samples", "9", "overwrite", "true", NULL);
    ok(export_to(&bench, "rows/a.h5"));
    for (int other = 0; other < 2; other++) {
        set(&bench, "ledger", other ? support_scratch_path("another") : bench.book.path,
            "ledger-key", other ? support_scratch_path("another.key") : bench.book.key, NULL);
        ok(export_to(&bench, "rows/b.h5"));
        const struct nvdp_verification found = verified(&bench, "rows");
        cr_expect(found.holds);
        cr_expect_eq(strncmp(found.guarantee, says, strlen(says)), 0, "%s", found.guarantee);
        cr_expect_eq(checks_that_found(&found, NVDP_VERDICT_OPEN, " is in 2 files"), 1);
    }
}

/* Gives a run with learned weights bounds under which certificate (b) holds. */
static void bound_weights(const char *run) {
    const char *path = support_path("%s/model/config.json", run);
    json_t *config = support_json(path);
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
    struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    static const struct run_choice weighted = {.method = NVDP_METHOD_NVDP, .kappa = 1, .epochs = 1};
    const char *run = task_run(ctx, "weighted", &weighted, NULL);
    bound_weights(run);
    set(&bench, "run", run, "budget-samples", "100", "samples", "8", NULL);
    ok(export_to(&bench, "eight.h5"));
    cr_assert_not(bench.result.useful);
    forget(&bench.book);
    set(&bench, "samples", "1", NULL);
    for (size_t count = 1; count <= 8; count++) {
        ok(export_to(&bench, support_path("one%zu.h5", count)));
        cr_expect(bench.result.useful, "%zu samples: %s", count, bench.result.guarantee);
    }
    cr_assert_eq(bench.result.spent_epsilon, INFINITY);
    const struct nvdp_verification last = verified(&bench, "one8.h5");
    cr_expect(last.useful);
    support_contains(last.statement, "10 rows together: nothing is proven");
    cr_expect_not(counted(&bench, "one8.h5").useful);
}

static void says(struct bench *bench, const char *name, const char *words) {
    const struct nvdp_verification found = verified(bench, name);
    all_hold(&found);
    support_contains(found.statement, words);
}

/* Runs have a ledger by default: the second export of a text is counted, reported, and refused beyond the promise. */
Test(ledger, runs_keep_one_by_default) {
    struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    set(&bench, "ledger", NULL, "ledger-key", NULL, NULL);
    ok(export_to(&bench, "a.h5"));
    cr_assert_eq(bench.result.spent_samples, 1);
    says(&bench, "a.h5", "\nThe sender's ledger counts this file. All samples of a text, ");
    const char *path = support_path("%s/ledger", bench.run);
    is_private(path);
    is_private(support_path("%s.key", path));
    export_fails(
        &bench, "b.h5", NVDP_ERR_STATE,
        "/run/ledger: expected in total at most 1 sample of a text, which the run guarantees, "
        "found 2 including this export: 40 of its 40 texts were shared before, in ");
    support_contains(nvdp_context_error(ctx),
                     "/a.h5; together, all samples of a text would have epsilon 6.573",
                     "Nothing was drawn; --budget-samples 2 allows the export");
    cr_assert_not(nvdp__exists(support_scratch_path("b.h5")));
    set(&bench, "insecure-seed", "7", NULL); /* a seed does not avoid the ledger */
    export_fails(&bench, "b.h5", NVDP_ERR_STATE, "expected in total at most 1");
    set(&bench, "insecure-seed", NULL, "budget-samples", "2", NULL);
    ok(export_to(&bench, "b.h5"));
    cr_assert_eq(bench.result.spent_samples, 2);
    near(bench.result.spent_epsilon, nvdp_gdp_epsilon(sqrt(2), 1e-5), 1e-9);
    says(&bench, "b.h5", "Proven: epsilon 4.378 at delta 1e-05, one sample, any two texts. ");
    says(&bench, "b.h5", "2 rows together: epsilon 6.573 at delta 1e-05; 10 rows together: ");
    set(&bench, "budget-samples", NULL, NULL);
    export_fails(&bench, "c.h5", NVDP_ERR_STATE, "found 3");
    set(&bench, "no-ledger", "true", NULL);
    ok(export_to(&bench, "c.h5"));
    cr_assert_eq(bench.result.spent_samples, 0);
    says(&bench, "c.h5",
         "No ledger counts this file. All samples of a text, or of one person, add up, over rows "
         "and files");
}

/* A run that was certified for two samples per text may export a text twice. */
Test(ledger, takes_the_promise_from_the_certificate) {
    struct bench bench = bench_open();
    edit_json(support_path("%s/run.json", bench.run), "config", "certified_releases",
              json_integer(2));
    ok(export_to(&bench, "a.h5"));
    ok(export_to(&bench, "b.h5"));
    export_fails(
        &bench, "c.h5", NVDP_ERR_STATE,
        "expected in total at most 2 samples of a text, which the run guarantees, found 3");
}

/* A run folder that cannot be written: a link into a file system that accepts no files. */
Test(ledger, names_the_ways_out_of_a_folder_that_cannot_be_written) {
    struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    set(&bench, "ledger", NULL, "ledger-key", NULL, NULL);
    const char *path = support_path("%s/ledger", bench.run);
    cr_assert_eq(symlink("/proc/nvdp", path), 0);
    export_fails(&bench, "a.h5", NVDP_ERR_IO, "/run/ledger: cannot ");
    support_contains(nvdp_context_error(ctx),
                     "use --ledger FILE for a ledger elsewhere, or --no-ledger");
    cr_assert_not(nvdp__exists(support_scratch_path("a.h5")));
    set(&bench, "ledger", bench.book.path, NULL);
    ok(export_to(&bench, "a.h5"));
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rename(bench.book.path, path), 0); /* without its key */
    set(&bench, "ledger", NULL, NULL);
    export_fails(&bench, "b.h5", NVDP_ERR_IO, "name the key with --ledger-key");
}

/* Returns the size of the largest file, complete or not, in the scratch folder whose name begins with `name`. */
static size_t largest(const char *name) {
    struct stat info;
    size_t size = 0;
    DIR *directory = opendir(support_scratch());
    cr_assert_not_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strncmp(entry->d_name, name, strlen(name)) != 0) continue;
        if (stat(support_scratch_path(entry->d_name), &info) == 0)
            size = nvdp__max(size, (size_t)info.st_size);
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
    if (pid == 0) _exit(export_to(bench, name) == NVDP_OK ? 0 : 1);
    return pid;
}

/* With a budget of one export, exporters are killed at random moments.  If a file has values, complete or not, the
 * ledger has the record, and no second export succeeds. */
Test(ledger, no_death_hides_a_sample) {
    struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    const int kills = (int)support_repeats("NVDP_KILLS", 6);
    unsigned seed = support_seed("NVDP_KILLS");
    int counted = 0, with_values = 0, whole = 0;
    set(&bench, "samples", samples, "budget-samples", samples, NULL);
    const double begun = nvdp__now();
    cr_assert_eq(waitpid(begin(&bench, "calm"), NULL, 0) > 0, true);
    const double takes = nvdp__now() - begun;
    const size_t values = largest("calm") / 10; /* a file without values is far smaller */
    for (int life = 0; life < kills; life++) {
        const char *name = support_path("killed%d.", life),
                   *second = support_path("again%d.", life);
        forget(&bench.book);
        set(&bench, "samples", samples, NULL);
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
        set(&bench, "samples", "1", NULL);
        nvdp_status status = export_to(&bench, second);
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

/* Exports, and cancels at the n-th question. */
static nvdp_status cancelled_export(struct bench *bench, const char *name, int questions) {
    nvdp_context_set_cancel(bench->book.ctx, cancel_at, &questions);
    const nvdp_status status = export_to(bench, name);
    nvdp_context_set_cancel(bench->book.ctx, NULL, NULL);
    return status;
}

/* An export that is interrupted while it draws spends nothing and leaves nothing, in every format.  With a named file it is
 * counted, and the message says why, what it costs, and never that a file was shared. */
Test(ledger, an_interrupted_export_is_returned) {
    static const char *const names[] = {"int.h5", "int.safetensors", "int.parquet"};
    struct bench bench = bench_open();
    set(&bench, "batch", "4", NULL);
    for (size_t f = 0; f < 3; f++) {
        forget(&bench.book);
        for (int questions = 1; questions <= 9; questions += 4) {
            /* in the first, in a later batch */
            fails(
                cancelled_export(&bench, names[f], questions), NVDP_ERR_CANCELLED,
                "export: cancelled. Nothing was shared, and the ledger does not count this export");
            cr_assert_eq(largest("int."), 0, "%s: something was left", names[f]);
            cr_assert_eq(records_of(&bench.book), 0);
        }
        ok(export_to(&bench, names[f]));
        cr_assert_eq(records_of(&bench.book), 1);
        verdicts(&bench, names[f], 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
        cr_assert_eq(unlink(support_scratch_path(names[f])), 0);
    }
}

Test(ledger, an_interrupted_export_counts_if_its_file_had_a_name) {
    struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    support_lose_unnamed();
    set(&bench, "batch", "4", NULL);
    fails(cancelled_export(&bench, "int2.h5", 5), NVDP_ERR_CANCELLED,
          "export: cancelled. The ledger counts this export, because its incomplete file had a "
          "name, and could be read");
    cr_assert_eq(records_of(&bench.book), 1);
    export_fails(&bench, "b.h5", NVDP_ERR_STATE, "40 of its 40 texts were counted before, for ");
    support_contains(nvdp_context_error(ctx),
                     "/int2.h5 (unfinished); together, all samples of a text would have epsilon "
                     "6.573 at delta 1e-05. Nothing was drawn; --budget-samples 2 allows");
    support_lacks(nvdp_context_error(ctx), "shared before");
    set(&bench, "budget-samples", "2", NULL);
    ok(export_to(&bench, "b.h5"));
}

/* A full disk is found before anything is counted. */
Test(ledger, a_full_disk_counts_nothing) {
    struct bench bench = bench_open();
    set(&bench, "samples", "5000", "budget-samples", "5000", NULL);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, RLIM_INFINITY}), 0);
    export_fails(&bench, "full.h5", NVDP_ERR_IO, "cannot write");
    cr_assert_eq(records_of(&bench.book), 0);
    set(&bench, "samples", "1", NULL);
    ok(export_to(&bench, "full.h5"));
}

/* A returned release does not count, but stays in the file.  A release ends once. */
Test(ledger, a_returned_release_does_not_count) {
    struct book book = book_open();
    nvdp__ledger_code one, two;
    struct nvdp_ledger_summary found = NVDP_RESULT(struct nvdp_ledger_summary);
    const int32_t word[] = {1};
    ok(reserve(&book, 1, word, 1, 1, any, 9, false, one));
    ok(reserve(&book, 1, word, 1, 2, any, 9, false, two));
    const size_t before = support_size(book.path);
    ok(settle(&book, one, false));
    cr_assert_gt(support_size(book.path), before);
    for (int published = 0; published < 2; published++)
        fails(settle(&book, one, published), NVDP_ERR_STATE,
              "the record of this export, found none");
    ok(settle(&book, two, true));
    fails(settle(&book, two, false), NVDP_ERR_STATE, "the record of this export, found none");
    ok(nvdp_ledger_summarize(book.ctx, book.path, NULL, &found));
    cr_assert_eq(found.releases, 1);
    near(found.epsilon, nvdp_gdp_epsilon(2, 1e-5), 1e-12);
}

/* A first export that is refused raised no budget. */
Test(ledger, says_what_a_larger_budget_costs) {
    struct book book = book_open();
    const struct nvdp__budget six = {9, 6};
    const int32_t word[] = {1};
    for (size_t r = 0; r < 2; r++) {
        fails(add(&book, 1, word, 2, 1, six), NVDP_ERR_STATE, "allows the export");
        if (r == 0) support_lacks(nvdp_context_error(book.ctx), "but raises the budget");
        if (r == 1) support_contains(nvdp_context_error(book.ctx), "but raises the budget");
        if (r == 0) added(&book, 1, word, 1, 1, six);
    }
}

/* A budget ends with the last release that counts under it: then no budget is in force, and none is proven. */
Test(ledger, returned_releases_prove_no_budget) {
    struct book book = book_open();
    nvdp__ledger_code code[2];
    const int32_t word[] = {1};
    const struct nvdp__budget eight = {9, 8};
    for (size_t r = 0; r < 2; r++) {
        ok(reserve(&book, 1, word, 1, 1, eight, 9, false, code[r]));
        cr_assert_eq(book.spent.proven, 8);
    }
    for (size_t r = 0; r < 2; r++)
        ok(settle(&book, code[r], false));
    added(&book, 1, word, 9, 1, any);
    cr_assert_gt(book.spent.epsilon, 8);
    cr_assert_eq(book.spent.proven, 0);
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
    near(printed, 5.85e-5, 2e-7, "%g", printed);
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
