/* Tests the ledger: its counts, its refusals, and that no death of a process hides a sample. */
#include "base/file.h"
#include "base/sentence.h"
#include "share/ledger.h"
#include "tiny_task.h"
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <nvdp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- the file alone --- */

struct book {
    struct nvdp_context *ctx;
    char path[512], key[512];
};

static struct book book_open(void) {
    struct book book = {.ctx = support_context()};
    snprintf(book.path, sizeof book.path, "%s", support_scratch_path("ledger"));
    snprintf(book.key, sizeof book.key, "%s", support_scratch_path("ledger.key"));
    return book;
}

enum { MAX_TEXTS = 8 };

/* Adds a release of texts of one word each, by a run that promised `promise` samples, of each row if `each` is set. */
static nvdp_status add_rows(const struct book *book, size_t texts, const int32_t *word,
                            uint64_t samples, double mu, struct nvdp__budget budget,
                            uint64_t promise, bool each, struct nvdp__spent *worst) {
    nvdp_status status = NVDP_OK;
    struct nvdp__ledger *ledger = NULL;
    nvdp__text_hash hash[MAX_TEXTS];
    const int32_t type = 0;
    struct nvdp__ledger_release release = {
        .texts = texts, .samples = samples, .budget = budget, .mu = mu};
    NVDP_TRY(nvdp__ledger_open(book->ctx, book->path, book->key, "words", &ledger));
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
cleanup:
    nvdp__ledger_close(ledger);
    return status;
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
    cr_assert_eq(add(book, texts, word, samples, mu, budget, &worst), NVDP_OK, "%s",
                 nvdp_context_error(book->ctx));
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
    nvdp_context_free(book.ctx);
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
    cr_assert_eq(nvdp__ledger_open(book.ctx, book.path, book.key, "words", &ledger), NVDP_OK);
    cr_assert_eq(nvdp__ledger_add(ledger, &release, (const nvdp__text_hash *)&hash, 3, &spent),
                 NVDP_OK);
    nvdp__ledger_close(ledger);
    cr_assert_float_eq(spent.epsilon, smallest, 1e-12);
    cr_assert_gt(spent.epsilon, nvdp_gdp_epsilon(sqrt(3), 1e-5));
    cr_assert_lt(spent.epsilon, 1.2 * nvdp_gdp_epsilon(sqrt(3), 1e-5));
    cr_assert_eq(nvdp__ledger_open(book.ctx, book.path, book.key, NULL, &ledger), NVDP_OK);
    char id[NVDP__LEDGER_ID + 1] = {0};
    memset(id, 'f', NVDP__LEDGER_ID);
    const struct nvdp__ledger_release *found = nvdp__ledger_find(ledger, id, "", 1, 3);
    cr_assert_not_null(found);
    cr_assert_eq(found->samples, 3);
    cr_assert_eq(nvdp__ledger_worst(ledger, found, &spent, &budget), NVDP_OK);
    cr_assert_float_eq(spent.epsilon, smallest, 1e-12);
    id[0] = 'e';
    cr_assert_null(nvdp__ledger_find(ledger, id, "", 1, 3));
    nvdp__ledger_close(ledger);
    nvdp_context_free(book.ctx);
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
        cr_assert_eq(nvdp__ledger_open(book.ctx, book.path, book.key, "words", &ledger), NVDP_OK);
        nvdp__ledger_set_names(ledger, &(struct nvdp__ledger_names){.distance = 1e-20});
        cr_assert_eq(nvdp__ledger_add(ledger, &release, &hash, 9, &spent), NVDP_OK);
        nvdp__ledger_close(ledger);
        cr_expect_eq(isfinite(spent.epsilon), negligible, "%g", spent.epsilon);
        cr_expect_eq(negligible, count < 3);
    }
    nvdp_context_free(book.ctx);
}

/* A record in a file that is no longer at the ledger's path would be lost, and its samples drawn. */
Test(ledger, notices_that_its_file_was_replaced) {
    const struct book book = book_open();
    struct nvdp__ledger *ledger = NULL;
    struct nvdp__spent spent;
    struct nvdp__ledger_release release = {.texts = 1, .samples = 1, .mu = 1};
    const nvdp__text_hash hash = {1};
    char *bytes = NULL;
    size_t size = 0;
    added(&book, 1, (int32_t[]){1}, 1, 1, any);
    cr_assert_eq(nvdp__read_file(book.ctx, book.path, 1 << 20, &bytes, &size), NVDP_OK);
    cr_assert_eq(nvdp__ledger_open(book.ctx, book.path, book.key, "words", &ledger), NVDP_OK);
    cr_assert_eq(unlink(book.path), 0);
    for (int copy = 0; copy < 2; copy++) {
        if (copy) support_write(book.path, bytes, size);
        refused(&book, NVDP_ERR_STATE, nvdp__ledger_add(ledger, &release, &hash, 9, &spent),
                "it was replaced meanwhile");
    }
    nvdp__ledger_close(ledger);
    free(bytes);
    nvdp_context_free(book.ctx);
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
    nvdp_context_free(book.ctx);
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
    cr_assert_eq(add_rows(&book, 4, words, 1, 0.5, any, 1, true, &spent), NVDP_OK);
    cr_assert_eq(spent.samples, 2);
    cr_assert_eq(spent.seen_before, 0);
    for (size_t i = 0; i < 3; i++)
        refused(&book, NVDP_ERR_STATE, add_promised(&book, 1, words + i, 1, 0.5, any, 1, &spent),
                "expected in total at most 1 sample of a text, which the run guarantees, found");
    cr_assert_eq(add_promised(&book, 1, words, 1, 0.5, two, 1, &spent), NVDP_OK);
    cr_assert_eq(spent.samples, 2);
    cr_assert_eq(spent.seen_before, 1);
    cr_assert_str_eq(spent.files, "a.h5");
    refused(&book, NVDP_ERR_STATE, add_promised(&book, 1, words + 1, 1, 0.5, any, 1, &spent),
            "1 of its 1 texts were shared before, in a.h5"); /* that budget was for one export */
    cr_assert_eq(add_promised(&book, 1, words + 1, 1, 0.5, any, 2, &spent), NVDP_OK);
    refused(&book, NVDP_ERR_STATE, add_promised(&book, 1, words + 1, 1, 0.5, any, 2, &spent),
            "--budget-samples 3 allows the export");
    cr_assert_eq(add_promised(&book, 1, (int32_t[]){4}, 5, 0.5, any, 1, &spent), NVDP_OK);
    cr_assert_eq(spent.samples, 5);
    refused(&book, NVDP_ERR_STATE, add_promised(&book, 1, (int32_t[]){4}, 5, 0.5, any, 1, &spent),
            "found 10");
    /* rows and earlier samples add up: one sample and two rows are within 3, three rows are not, unless each counts */
    const int32_t rows[] = {5, 5, 5};
    cr_assert_eq(add_promised(&book, 1, rows, 1, 0.5, any, 3, &spent), NVDP_OK);
    refused(&book, NVDP_ERR_STATE, add_promised(&book, 3, rows, 1, 0.5, any, 3, &spent), "found 4");
    cr_assert_eq(add_promised(&book, 2, rows, 1, 0.5, any, 3, &spent), NVDP_OK);
    cr_assert_eq(spent.samples, 3);
    cr_assert_eq(add_promised(&book, 1, (int32_t[]){6}, 1, 0.5, any, 3, &spent), NVDP_OK);
    cr_assert_eq(add_rows(&book, 3, (int32_t[]){6, 6, 6}, 1, 0.5, any, 3, true, &spent), NVDP_OK);
    cr_assert_eq(spent.samples, 4);
    nvdp_context_free(book.ctx);
}

/* An older ledger without file names is read and continued. */
Test(ledger, goes_on_with_older_files) {
    struct nvdp_context *ctx = support_context();
    struct nvdp__ledger *ledger = NULL;
    struct nvdp__spent spent = {0};
    const char *path = support_scratch_path("old"), *key = support_scratch_path("old.key");
    char *bytes = NULL,
         *name = nvdp__format(ctx, "%s/tests/fuzz/corpus/ledger/two", NVDP_SOURCE_DIR);
    size_t count = 0;
    const int32_t word = 77, type = 0;
    cr_assert_eq(nvdp__read_file(ctx, name, 1 << 20, &bytes, &count), NVDP_OK);
    support_write(path, bytes, count);
    support_write_text(key, "nvdp-ledger-key/1 "
                            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n");
    cr_assert_eq(chmod(key, 0600), 0);
    for (size_t records = 2; records < 4; records++) {
        nvdp__text_hash hash;
        struct nvdp__ledger_release release = {.texts = 1, .samples = 1, .mu = 1, .file = "new.h5"};
        memset(release.id, 'n', sizeof release.id);
        cr_assert_eq(nvdp__ledger_open(ctx, path, key, "words", &ledger), NVDP_OK, "%s",
                     nvdp_context_error(ctx));
        cr_assert_eq(nvdp__ledger_count(ledger), records);
        nvdp__ledger_text(ledger, 1, &word, &type, hash);
        cr_assert_eq(nvdp__ledger_add(ledger, &release, (const nvdp__text_hash *)&hash, 9, &spent),
                     NVDP_OK, "%s", nvdp_context_error(ctx));
        nvdp__ledger_close(ledger);
    }
    support_contains(spent.files, "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn");
    char *kept = support_read(path);
    cr_assert_eq(strncmp(kept, "nvdp ledger/1\n", 14), 0);
    free(kept);
    free(bytes);
    free(name);
    nvdp_context_free(ctx);
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
    free(kept);
    static const char *const moved[] = {"nvdp ledger moved\n/of/another run\n",
                                        "nvdp ledger moved\n"};
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        support_write_text(other.path, moved[i]);
        refused(&other, i == 0 ? NVDP_ERR_STATE : NVDP_ERR_INPUT,
                add(&other, 1, &word, 1, 1, any, &spent),
                i == 0 ? "moved to the run /of/another run, which alone" : "another kind");
        kept = support_read(other.path);
        cr_assert_str_eq(kept, moved[i]);
        free(kept);
    }
    nvdp_context_free(book.ctx);
}

/* Any changed byte is detected.  A file of any length, as left by a death, is read as the whole records in it. */
Test(ledger, tells_changes_and_takes_every_cut) {
    const struct book book = book_open();
    struct nvdp__ledger *ledger = NULL;
    added(&book, 2, (int32_t[]){1, 2}, 1, 1, any);
    struct stat first, both;
    cr_assert_eq(stat(book.path, &first), 0);
    added(&book, 3, (int32_t[]){1, 2, 3}, 1, 1, any);
    cr_assert_eq(stat(book.path, &both), 0);
    const size_t size = (size_t)both.st_size;
    char *bytes = support_read(book.path);
    for (size_t i = 0; i < size; i += 3) {
        bytes[i] ^= 1;
        support_write(book.path, bytes, size);
        nvdp_status status = nvdp__ledger_open(book.ctx, book.path, book.key, "words", &ledger);
        cr_assert(status == NVDP_ERR_INPUT || status == NVDP_ERR_ARGUMENT, "byte %zu: %s", i,
                  nvdp_status_name(status));
        bytes[i] ^= 1;
    }
    for (size_t cut = 0; cut < size; cut += 11) {
        support_write(book.path, bytes, cut);
        cr_assert_eq(nvdp__ledger_open(book.ctx, book.path, book.key, "words", &ledger), NVDP_OK,
                     "%zu bytes: %s", cut, nvdp_context_error(book.ctx));
        cr_assert_eq(nvdp__ledger_count(ledger), cut >= (size_t)first.st_size);
        nvdp__ledger_close(ledger);
    }
    support_write(book.path, bytes, size - 1);
    struct nvdp__spent spent = added(&book, 1, (int32_t[]){1}, 5, 1, any);
    cr_assert_eq(spent.samples, 6); /* the incomplete record is ignored */
    free(bytes);
    nvdp_context_free(book.ctx);
}

Test(ledger, survives_failing_allocations) {
    const struct book book = book_open();
    struct nvdp__spent spent;
    uint64_t records = 0;
    for (uint64_t k = 1;; k++) {
        nvdp__fail_allocation(book.ctx, k);
        nvdp_status status = add(&book, 2, (int32_t[]){1, 2}, 1, 1, any, &spent);
        nvdp__fail_allocation(book.ctx, 0);
        if (status == NVDP_OK) break;
        cr_assert_eq(status, NVDP_ERR_MEMORY);
        records++;
    }
    cr_assert_gt(records, 4);
    cr_assert_eq(spent.samples, 1);
    nvdp_context_free(book.ctx);
}

/* Makes the locking of files fail in this process, as on a file system without locks. */
static void lose_locks(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_OFD_SETLK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOLCK),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        cr_skip_test("no filters of system calls here");
}

/* The message must not claim that another process has held the lock for a minute. */
Test(ledger, says_so_where_files_cannot_be_locked) {
    const struct book book = book_open();
    const int32_t word[] = {1};
    struct nvdp__spent worst;
    lose_locks();
    cr_expect_eq(add(&book, 1, word, 1, 1, (struct nvdp__budget){0}, &worst), NVDP_ERR_IO);
    support_contains(nvdp_context_error(book.ctx), "cannot lock: No locks available");
    nvdp_context_free(book.ctx);
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
    nvdp_context_free(book.ctx);
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
    cr_assert_eq(nvdp_context_set_threads(ctx, 1),
                 NVDP_OK); /* other threads do not survive a fork */
    snprintf(bench.run, sizeof bench.run, "%s", task_run(ctx, "run", &clipped_run, NULL));
    cr_assert_eq(nvdp_export_config_create(ctx, &bench.config), NVDP_OK);
    support_set(ctx, bench.config, "run", bench.run);
    support_set(ctx, bench.config, "input", texts("forty.tsv", 0, 40));
    support_set(ctx, bench.config, "measure-texts", "0");
    support_set(ctx, bench.config, "ledger", bench.book.path);
    support_set(ctx, bench.config, "ledger-key", bench.book.key);
    return bench;
}

static void bench_close(struct bench *bench) {
    nvdp_config_free(bench->config);
    nvdp_context_free(bench->book.ctx);
}

static nvdp_status export_to(struct bench *bench, const char *name,
                             struct nvdp_export_result *out) {
    support_set(bench->book.ctx, bench->config, "out", support_scratch_path(name));
    const nvdp_status status = nvdp_export(bench->book.ctx, bench->config, out);
    if (status == NVDP_OK) nvdp_export_result_free(out);
    return status;
}

static void verdicts(const struct bench *bench, const char *name, size_t checks,
                     enum nvdp_verdict there, enum nvdp_verdict within) {
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    struct nvdp_context *ctx = bench->book.ctx;
    const char *path = support_scratch_path(name);
    cr_assert_eq(nvdp_verify(ctx, path, NULL, &found), NVDP_OK);
    cr_assert(found.holds);
    const size_t before = found.checks;
    cr_assert_eq(nvdp_verify_ledger(ctx, path, bench->book.path, bench->book.key, &found), NVDP_OK,
                 "%s", nvdp_context_error(ctx));
    cr_assert_eq(found.checks, before + checks);
    cr_assert_eq(found.check[before].verdict, there, "%s", found.check[before].found);
    if (checks > 1)
        cr_assert_eq(found.check[before + 1].verdict, within, "%s", found.check[before + 1].found);
    cr_assert_eq(found.holds, there == NVDP_VERDICT_YES && within == NVDP_VERDICT_YES);
}

Test(ledger, exports_are_counted_and_verified) {
    struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    support_set(ctx, bench.config, "samples", "2");
    support_set(ctx, bench.config, "budget-samples", "3");
    cr_assert_eq(export_to(&bench, "a.h5", &result), NVDP_OK, "%s", nvdp_context_error(ctx));
    cr_assert_eq(result.spent_samples, 2);
    cr_assert_float_eq(result.spent_epsilon, nvdp_gdp_epsilon(sqrt(2), 1e-5), 1e-9);
    verdicts(&bench, "a.h5", 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
    refused(&bench.book, NVDP_ERR_STATE, export_to(&bench, "b.h5", NULL), "at most 3 samples");
    cr_assert_not(nvdp__exists(support_scratch_path("b.h5")));
    support_set(ctx, bench.config, "input", texts("others.tsv", 40, 6));
    cr_assert_eq(export_to(&bench, "b.h5", &result), NVDP_OK, "%s", nvdp_context_error(ctx));
    support_set(ctx, bench.config, "input", texts("all.tsv", 0, 46));
    support_set(ctx, bench.config, "samples", "1");
    cr_assert_eq(export_to(&bench, "c.h5", &result), NVDP_OK, "%s", nvdp_context_error(ctx));
    cr_assert_eq(result.spent_samples, 3);
    cr_assert_float_eq(result.spent_epsilon, nvdp_gdp_epsilon(sqrt(3), 1e-5), 1e-9);
    /* the file is older than this release: its guarantee is that of the ledger now */
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    const char *old = support_keep(strdup(support_scratch_path("a.h5")));
    char first[128], bound[NVDP__BOUND_TEXT];
    cr_assert_eq(nvdp_verify(ctx, old, NULL, &found), NVDP_OK);
    support_contains(found.guarantee, ", 2 samples, any two texts. ");
    cr_assert_eq(nvdp_verify_ledger(ctx, old, bench.book.path, bench.book.key, &found), NVDP_OK);
    snprintf(first, sizeof first,
             "The ledger now counts up to 3 samples of a text, which together have epsilon %s at ",
             nvdp__bound(bound, result.spent_epsilon));
    cr_assert_eq(strncmp(found.guarantee, first, strlen(first)), 0, "%s", found.guarantee);
    cr_assert_eq(nvdp_verify(ctx, support_scratch_path("c.h5"), NULL, &found), NVDP_OK);
    support_contains(found.statement,
                     "Further samples of this text or of related texts add up. These "
                     "bounds are for one row of this file, not for all 3 samples of "
                     "a text.\n");
    const size_t length = strlen(found.guarantee);
    cr_assert_eq(nvdp_verify_ledger(ctx, support_scratch_path("c.h5"), bench.book.path,
                                    bench.book.key, &found),
                 NVDP_OK);
    cr_assert_eq(strlen(found.guarantee), length, "%s", found.guarantee);
    /* Other texts have their own budget. */
    support_set(ctx, bench.config, "input", texts("new.tsv", 100, 3));
    support_set(ctx, bench.config, "budget-samples", "1");
    cr_assert_eq(export_to(&bench, "d.h5", &result), NVDP_OK, "%s", nvdp_context_error(ctx));
    verdicts(&bench, "a.h5", 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
    verdicts(&bench, "d.h5", 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
    /* a lost ledger does not begin anew without a word */
    cr_assert_eq(unlink(bench.book.path), 0);
    support_set(ctx, bench.config, "overwrite", "true");
    refused(&bench.book, NVDP_ERR_STATE, export_to(&bench, "d.h5", NULL),
            "found none. Restore it from a copy, or name it with --ledger. A new ledger forgets "
            "all that was shared: to begin one, remove this key, or name another one with "
            "--ledger-key");
    cr_assert_not(nvdp__exists(bench.book.path));
    cr_assert_eq(unlink(bench.book.key), 0);
    cr_assert_eq(export_to(&bench, "d.h5", &result), NVDP_OK, "%s", nvdp_context_error(ctx));
    verdicts(&bench, "a.h5", 1, NVDP_VERDICT_NO, NVDP_VERDICT_NO);

    support_set(ctx, bench.config, "no-ledger", "true");
    refused(&bench.book, NVDP_ERR_ARGUMENT, export_to(&bench, "d.h5", NULL),
            "option --no-ledger excludes --ledger");
    support_set(ctx, bench.config, "ledger", NULL);
    support_set(ctx, bench.config, "ledger-key", NULL);
    refused(&bench.book, NVDP_ERR_ARGUMENT, export_to(&bench, "d.h5", NULL),
            "option --no-ledger excludes a budget");
    bench_close(&bench);
}

/* A ledger that an older copy replaced does not list a file that was counted since, even if a file before has the same
 * model_id and counts, nor one that no ledger counts, nor the second of two such files. */
Test(ledger, lists_only_the_files_that_it_counts) {
    struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    char *before = NULL, *after = NULL, folder[512];
    size_t size = 0, more = 0;
    snprintf(folder, sizeof folder, "%s", support_scratch_path("folder"));
    cr_assert_eq(nvdp__make_directory(ctx, folder), NVDP_OK);
    support_set(ctx, bench.config, "model-id", "0123456789abcdef0123456789abcdef");
    cr_assert_eq(export_to(&bench, "folder/a.h5", &result), NVDP_OK);
    cr_assert_eq(nvdp__read_file(ctx, bench.book.path, 1 << 20, &before, &size), NVDP_OK);
    support_set(ctx, bench.config, "budget-samples", "2");
    cr_assert_eq(export_to(&bench, "folder/b.h5", &result), NVDP_OK);
    cr_assert_eq(nvdp__read_file(ctx, bench.book.path, 1 << 20, &after, &more), NVDP_OK);
    for (int old = 0; old < 2; old++) {
        if (old) support_write(bench.book.path, before, size);
        const enum nvdp_verdict there = old ? NVDP_VERDICT_NO : NVDP_VERDICT_YES;
        verdicts(&bench, "folder/a.h5", 2, NVDP_VERDICT_YES, NVDP_VERDICT_YES);
        verdicts(&bench, "folder/b.h5", 2, there, NVDP_VERDICT_YES);
        verdicts(&bench, "folder", 2, there, NVDP_VERDICT_YES);
    }
    support_write(bench.book.path, after, more);
    support_set(ctx, bench.config, "budget-samples", NULL);
    support_set(ctx, bench.config, "ledger", support_scratch_path("another"));
    support_set(ctx, bench.config, "ledger-key", support_scratch_path("another.key"));
    support_set(ctx, bench.config, "input", texts("other.tsv", 40, 40));
    cr_assert_eq(export_to(&bench, "folder/c.h5", &result), NVDP_OK);
    verdicts(&bench, "folder", 2, NVDP_VERDICT_NO, NVDP_VERDICT_YES); /* the third of two */
    support_set(ctx, bench.config, "ledger", NULL);
    support_set(ctx, bench.config, "ledger-key", NULL);
    support_set(ctx, bench.config, "no-ledger", "true");
    cr_assert_eq(export_to(&bench, "none.h5", &result), NVDP_OK, "%s", nvdp_context_error(ctx));
    verdicts(&bench, "none.h5", 2, NVDP_VERDICT_NO, NVDP_VERDICT_YES);
    free(before);
    free(after);
    bench_close(&bench);
}

/* A row of a split in two files has the samples of both: if one ledger does not count them, the guarantee says so. */
Test(ledger, a_folder_of_several_ledgers_is_noticed) {
    static const char says[] = "No ledger counts all of these files, unless they are of different "
                               "data: the samples of a text that is in several of them add up. ";
    struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    const char *folder = support_keep(strdup(support_scratch_path("rows")));
    cr_assert_eq(nvdp__make_directory(ctx, folder), NVDP_OK);
    support_set(ctx, bench.config, "model-id", "0123456789abcdef0123456789abcdef");
    support_set(ctx, bench.config, "input", NULL);
    support_set(ctx, bench.config, "split", "dev");
    support_set(ctx, bench.config, "limit", "1"); /* others are equal */
    support_set(ctx, bench.config, "budget-samples", "9");
    support_set(ctx, bench.config, "overwrite", "true");
    cr_assert_eq(export_to(&bench, "rows/a.h5", NULL), NVDP_OK, "%s", nvdp_context_error(ctx));
    for (int other = 0; other < 2; other++) {
        support_set(ctx, bench.config, "ledger",
                    other ? support_scratch_path("another") : bench.book.path);
        support_set(ctx, bench.config, "ledger-key",
                    other ? support_scratch_path("another.key") : bench.book.key);
        cr_assert_eq(export_to(&bench, "rows/b.h5", NULL), NVDP_OK, "%s", nvdp_context_error(ctx));
        cr_assert_eq(nvdp_verify(ctx, folder, NULL, &found), NVDP_OK);
        cr_expect(found.holds);
        cr_expect_eq(strncmp(found.guarantee, says, strlen(says)) == 0, other, "%s",
                     found.guarantee);
        size_t open = 0;
        for (size_t i = 0; i < found.checks; i++)
            open += found.check[i].verdict == NVDP_VERDICT_OPEN &&
                    strstr(found.check[i].found, " is in 2 files") != NULL;
        cr_expect_eq(open, (size_t)other);
    }
    bench_close(&bench);
}

/* Gives a run with learned weights bounds under which certificate (b) holds. */
static void bound_weights(const char *run) {
    char path[1024];
    snprintf(path, sizeof path, "%s/model/config.json", run);
    json_t *config = json_load_file(path, 0, NULL);
    json_t *nvib = json_object_get(json_object_get(config, "nvdp"), "nvib");
    const double pad = 1 / (1 + json_number_value(json_object_get(nvib, "length")));
    cr_assert(pad > 0 && pad < 1);
    json_object_set_new(nvib, "stdev_tau", json_real(1));
    json_object_set_new(nvib, "clip_sequence", json_real(1.3));
    json_object_set_new(nvib, "clip_alpha_min", json_real(pad * 0.999));
    json_object_set_new(nvib, "clip_alpha_max", json_real(pad * 1.001));
    cr_assert_eq(json_dump_file(config, path, 0), 0);
    json_decref(config);
}

/* One file of so many samples has no certificate, because of the sampler of the weights.  Neither have several files. */
Test(ledger, exports_count_the_distance_of_the_weights) {
    struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    static const struct run_choice weighted = {.method = NVDP_METHOD_NVDP, .kappa = 1, .epochs = 1};
    const char *run = task_run(ctx, "weighted", &weighted, NULL);
    bound_weights(run);
    support_set(ctx, bench.config, "run", run);
    support_set(ctx, bench.config, "budget-samples", "100");
    support_set(ctx, bench.config, "samples", "8");
    cr_assert_eq(export_to(&bench, "eight.h5", &result), NVDP_OK, "%s", nvdp_context_error(ctx));
    cr_assert_not(result.useful);
    cr_assert_eq(unlink(bench.book.path) + unlink(bench.book.key), 0);
    support_set(ctx, bench.config, "samples", "1");
    for (size_t count = 1; count <= 8; count++) {
        char name[16];
        snprintf(name, sizeof name, "one%zu.h5", count);
        cr_assert_eq(export_to(&bench, name, &result), NVDP_OK, "%s", nvdp_context_error(ctx));
        cr_expect_eq(result.useful, result.spent_epsilon < 35, "%zu samples: %s", count,
                     result.guarantee);
        if (count == 1) cr_assert(result.useful);
    }
    cr_assert_eq(result.spent_epsilon, INFINITY);
    bench_close(&bench);
}

static void says(struct bench *bench, const char *name, const char *words) {
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    cr_assert_eq(nvdp_verify(bench->book.ctx, support_scratch_path(name), NULL, &found), NVDP_OK);
    for (size_t i = 0; i < found.checks; i++)
        cr_assert_neq(found.check[i].verdict, NVDP_VERDICT_NO, "%s: %s", found.check[i].what,
                      found.check[i].found);
    support_contains(found.statement, words);
}

/* Runs have a ledger by default: the second export of a text is counted, reported, and refused beyond the promise. */
Test(ledger, runs_keep_one_by_default) {
    struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    struct stat info;
    char path[600];
    support_set(ctx, bench.config, "ledger", NULL);
    support_set(ctx, bench.config, "ledger-key", NULL);
    cr_assert_eq(export_to(&bench, "a.h5", &result), NVDP_OK, "%s", nvdp_context_error(ctx));
    cr_assert_eq(result.spent_samples, 1);
    says(&bench, "a.h5", "By its sender's ledger none of these texts was shared before.\n");
    snprintf(path, sizeof path, "%s/ledger", bench.run);
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(info.st_mode & 07777, 0600);
    snprintf(path, sizeof path, "%s/ledger.key", bench.run);
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
    cr_assert_eq(export_to(&bench, "b.h5", &result), NVDP_OK, "%s", nvdp_context_error(ctx));
    cr_assert_eq(result.spent_samples, 2);
    cr_assert_float_eq(result.spent_epsilon, nvdp_gdp_epsilon(sqrt(2), 1e-5), 1e-9);
    says(&bench, "b.h5", "Proven: epsilon 6.573 at delta 1e-05, 2 samples, any two texts. ");
    says(&bench, "b.h5",
         "By its sender's ledger some of these texts were shared before; with this file a text has "
         "up to 2 samples, which together have epsilon 6.573 at delta 1e-05.\n");
    support_set(ctx, bench.config, "budget-samples", NULL);
    refused(&bench.book, NVDP_ERR_STATE, export_to(&bench, "c.h5", NULL), "found 3");

    support_set(ctx, bench.config, "no-ledger", "true");
    cr_assert_eq(export_to(&bench, "c.h5", &result), NVDP_OK, "%s", nvdp_context_error(ctx));
    cr_assert_eq(result.spent_samples, 0);
    says(&bench, "c.h5",
         "No ledger counts this file: a text may be in several of its rows, and in other files.");
    bench_close(&bench);
}

/* A run that was certified for two samples per text may export a text twice. */
Test(ledger, takes_the_promise_from_the_certificate) {
    struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    char path[600];
    snprintf(path, sizeof path, "%s/run.json", bench.run);
    json_t *run = json_load_file(path, 0, NULL);
    cr_assert_eq(
        json_object_set_new(json_object_get(run, "config"), "certified_releases", json_integer(2)),
        0);
    cr_assert_eq(json_dump_file(run, path, 0), 0);
    json_decref(run);
    cr_assert_eq(export_to(&bench, "a.h5", NULL), NVDP_OK, "%s", nvdp_context_error(ctx));
    cr_assert_eq(export_to(&bench, "b.h5", NULL), NVDP_OK, "%s", nvdp_context_error(ctx));
    refused(&bench.book, NVDP_ERR_STATE, export_to(&bench, "c.h5", NULL),
            "expected in total at most 2 samples of a text, which the run guarantees, found 3");
    bench_close(&bench);
}

/* A run folder that cannot be written: a link into a file system that accepts no files. */
Test(ledger, names_the_ways_out_of_a_folder_that_cannot_be_written) {
    struct bench bench = bench_open();
    struct nvdp_context *ctx = bench.book.ctx;
    char path[600];
    support_set(ctx, bench.config, "ledger", NULL);
    support_set(ctx, bench.config, "ledger-key", NULL);
    snprintf(path, sizeof path, "%s/ledger", bench.run);
    cr_assert_eq(symlink("/proc/nvdp", path), 0);
    refused(&bench.book, NVDP_ERR_IO, export_to(&bench, "a.h5", NULL), "/run/ledger: cannot ");
    support_contains(nvdp_context_error(ctx),
                     "use --ledger FILE for a ledger elsewhere, or --no-ledger");
    cr_assert_not(nvdp__exists(support_scratch_path("a.h5")));
    support_set(ctx, bench.config, "ledger", bench.book.path);
    cr_assert_eq(export_to(&bench, "a.h5", NULL), NVDP_OK, "%s", nvdp_context_error(ctx));
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rename(bench.book.path, path), 0); /* without its key */
    support_set(ctx, bench.config, "ledger", NULL);
    refused(&bench.book, NVDP_ERR_IO, export_to(&bench, "b.h5", NULL),
            "name the key with --ledger-key");
    bench_close(&bench);
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
    if (pid == 0) _exit(export_to(bench, name, NULL) == NVDP_OK ? 0 : 1);
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
        (void)!unlink(bench.book.path);
        (void)!unlink(bench.book.key);
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
    bench_close(&bench);
}
