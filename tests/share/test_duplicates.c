/* Tests texts that stand several times in an export: what they cost is said, and beyond the run's budget they are
 * refused, before anything is drawn. */
#include "fixture.h"

struct bench {
    struct nvdp_context *ctx;
    struct nvdp_config *config;
    const char *run;
    char heard[8192];
};

static void hear(enum nvdp_log_level level, const char *message, void *user) {
    const size_t used = strlen(user);
    if (level != NVDP_LOG_INFO) snprintf((char *)user + used, 8192 - used, "%s\n", message);
}

/* Sets an option of the run's record. */
static void record(const struct bench *bench, const char *key, json_t *value) {
    edit_json(support_path("%s/run.json", bench->run), "config", key, value);
}

/* Opens a run with the clip of epsilon 16 at delta 1e-5, one sample. `budget`: as certified-epsilon asked for. */
static void bench_open(struct bench *bench, bool budget) {
    const struct run_choice choice = {.method = NVDP_METHOD_VTDP,
                                      .kappa = 1,
                                      .clip_sequence = nvdp_gdp_mu(16, 1e-5) / 2,
                                      .epochs = 1};
    *bench = (struct bench){.ctx = support_context()};
    ok(nvdp_context_set_threads(bench->ctx, 1));
    bench->run = task_run(bench->ctx, "run", &choice, NULL);
    if (budget) record(bench, "certified_epsilon", json_real(16));
    bench->config =
        support_config(bench->ctx, "export", "run", bench->run, "measure-texts", "0", NULL);
    nvdp_context_set_log(bench->ctx, hear, bench->heard);
}

/* Sets options: names and values, then NULL. */
static __attribute__((sentinel)) void set(const struct bench *bench, ...) {
    va_list options;
    va_start(options, bench);
    support_set_list(bench->ctx, bench->config, options);
    va_end(options);
}

/* Sets texts as the input: three that stand once, and more. */
static void input(struct bench *bench, const char *more) {
    const char *path = support_scratch_path("texts.tsv");
    support_write_text(
        path, support_path("sentence\tlabel\nred cat\t1\nblue cat\t0\nred dog\t1\n%s", more));
    set(bench, "input", path, NULL);
}

static nvdp_status export_to(struct bench *bench, const char *name,
                             struct nvdp_export_result *out) {
    bench->heard[0] = '\0';
    set(bench, "out", support_scratch_path(name), NULL);
    const nvdp_status status = nvdp_export(bench->ctx, bench->config, out);
    if (status == NVDP_OK) nvdp_result_free(out);
    return status;
}

static void accepted(struct bench *bench, const char *name, struct nvdp_export_result *out) {
    ok(export_to(bench, name, out));
}

/* Expects a refusal that leaves neither file nor ledger. */
static void refused(struct bench *bench, const char *message) {
    fails(export_to(bench, "refused.h5", NULL), NVDP_ERR_STATE, message);
    cr_assert_not(nvdp__exists(support_scratch_path("refused.h5")));
    cr_assert_not(nvdp__exists(support_path("%s/ledger", bench->run)));
    cr_assert_not(nvdp__exists(support_path("%s/ledger.key", bench->run)));
    support_lacks(bench->heard, "every row is drawn");
}

static const char twice[] = "good sea\t1\nbad sun\t0\ngood sea\t1\n";

/* mu of two rows is sqrt(2) times the mu of one: epsilon 25.29 in place of 16. */
Test(duplicates, budget_refuses_before_anything_is_drawn) {
    struct bench bench;
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    bench_open(&bench, true);
    input(&bench, twice);
    refused(&bench,
            "1 text stands twice in these texts: expected at most 1 sample of a text, which the "
            "run guarantees, found 2; the 2 samples of the text that stands most often have "
            "epsilon 25.29 at delta 1e-05 together, those of one row epsilon 16 at delta 1e-05. "
            "Nothing was drawn: keep one row of each text, or --duplicates each draws every row at "
            "this cost");
    set(&bench, "duplicates", "refuse", NULL);
    refused(&bench, "1 text stands twice in these texts");
    set(&bench, "duplicates", NULL, "no-ledger", "true", NULL);
    refused(&bench, "1 text stands twice in these texts");
    set(&bench, "insecure-seed", "1", NULL);
    refused(&bench, "have no proven epsilon together"); /* for its noise, not for its texts */
    set(&bench, "insecure-seed", NULL, "no-ledger", NULL, NULL);
    input(&bench, "good sea\t1\nbad sun\t0\n");
    accepted(&bench, "once.h5", &result); /* the same texts, once each */
    cr_expect_eq(strstr(bench.heard, "every row"), NULL);
    cr_expect_eq(result.spent_samples, 1);
}

Test(duplicates, each_row_is_drawn_and_counted_on_request) {
    struct bench bench;
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    bench_open(&bench, true);
    input(&bench, "good sea\t1\ngood sea\t0\ngood sea\t1\nbad sea\t1\nbad sea\t1\n"
                  "good sea\t1\ngood sea\t0\ngood sea\t1\n");
    set(&bench, "duplicates", "each", NULL);
    accepted(&bench, "each.h5", &result);
    support_contains(bench.heard,
                     "1 text stands twice, 1 stands 6 times in these texts, and every row is "
                     "drawn: the 6 samples of the text that stands most often have epsilon 54.9 at "
                     "delta 1e-05 together, those of one row epsilon 16 at delta 1e-05\n");
    cr_expect_eq(result.texts, 11);
    cr_expect_eq(result.spent_samples, 6);
    const double mu = nvdp_gdp_mu(16, 1e-5);
    near(result.spent_epsilon, nvdp_gdp_epsilon(mu * sqrt(6), 1e-5), 1e-6);
    near(nvdp_gdp_epsilon(mu * sqrt(2), 1e-5), 25.285, 0.005); /* rounded up: 25.29 */
}

/* Rows of other splits count.  A run without a budget draws each row unless its owner refuses. */
Test(duplicates, splits_and_runs_without_a_budget) {
    struct bench bench;
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    bench_open(&bench, false);
    const char *path = support_scratch_path("data/train.tsv");
    support_write_text(path, "sentence\tlabel\nred cat\t1\nblue cat\t0\n");
    path = support_scratch_path("data/dev.tsv");
    support_write_text(path, "sentence\tlabel\nred sea\t1\nred cat\t0\n");
    set(&bench, "data", support_scratch_path("data"), "split", "train,dev", "duplicates", "refuse",
        NULL);
    refused(&bench, "1 text stands twice in these texts");
    set(&bench, "duplicates", NULL, NULL);
    accepted(&bench, "both.h5", &result);
    support_contains(bench.heard, "1 text stands twice in these texts, and every row is drawn",
                     "epsilon 25.29 at delta 1e-05 together");
    cr_expect_eq(result.spent_samples, 2);
    record(&bench, "certified_guess", json_string("0.01:0.2"));
    fails(export_to(&bench, "refused.h5", NULL), NVDP_ERR_STATE,
          "1 text stands twice in these texts: expected");
}

/* A run that was certified for two samples keeps its budget with two rows.  The ledger goes on counting. */
Test(duplicates, rows_count_against_the_certified_samples) {
    struct bench bench;
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    bench_open(&bench, true);
    record(&bench, "certified_releases", json_integer(2));
    input(&bench, twice);
    accepted(&bench, "two.h5", &result);
    support_contains(bench.heard, "1 text stands twice in these texts, and every row is drawn");
    cr_expect_eq(result.spent_samples, 2);
    input(&bench, "");
    accepted(&bench, "more.h5", &result); /* the second sample of the other texts */
    input(&bench, "good sea\t1\n");
    fails(export_to(&bench, "refused.h5", NULL), NVDP_ERR_STATE,
          "at most 2 samples of a text, which the run guarantees, found 3 including this export");
    support_write_text(support_scratch_path("texts.tsv"), "sentence\tlabel\nsea sea\t1\n");
    accepted(&bench, "first.h5", NULL);
    support_write_text(support_scratch_path("texts.tsv"),
                       "sentence\tlabel\nsea sea\t1\nsea sea\t1\n");
    fails(export_to(&bench, "refused.h5", NULL), NVDP_ERR_STATE, "found 3 including this export");
    set(&bench, "budget-samples", "3", NULL); /* a budget of the caller replaces that of the run */
    accepted(&bench, "budget.h5", &result);
    cr_expect_eq(result.spent_samples, 3);
}

/* The file does not record which option drew it. */
Test(duplicates, files_do_not_show_the_option) {
    struct bench bench;
    const char *bytes[2];
    size_t size[2];
    bench_open(&bench, true);
    cr_assert_eq(setenv("SOURCE_DATE_EPOCH", "1", 1), 0); /* the same date in both files */
    input(&bench, "good sea\t1\nbad sun\t0\n");
    set(&bench, "insecure-seed", "7", "overwrite", "true", NULL);
    for (int each = 0; each < 2; each++) {
        set(&bench, "duplicates", each ? "each" : "refuse", "ledger",
            support_scratch_path(each ? "each" : "refuse"), NULL);
        accepted(&bench, "file.safetensors", NULL);
        bytes[each] = support_read(support_scratch_path("file.safetensors"));
        size[each] = support_size(support_scratch_path("file.safetensors"));
        cr_expect_eq(memmem(bytes[each], size[each], "duplicates", 10), NULL);
    }
    cr_assert_eq(size[0], size[1]);
    cr_expect_arr_eq(bytes[0], bytes[1], size[0]);
}

/* All rows of a person are added up before they are drawn, too. */
Test(duplicates, rows_of_a_person_are_announced) {
    struct bench bench;
    const char *path = support_scratch_path("texts.tsv");
    bench_open(&bench, true);
    support_write_text(path, "sentence\tlabel\tauthor\nred cat\t1\tann\nred dog\t1\tann\n"
                             "blue cat\t0\tbob\n");
    set(&bench, "input", path, "person", "author", NULL);
    accepted(&bench, "persons.h5", NULL);
    support_contains(bench.heard, "with this file, one person has up to 2 samples of 2 texts; all "
                                  "of them together have epsilon 25.29 at delta 1e-05\n");
}

/* With --limit-train, an export has the whole train file and a measurement only the sample; the program says so. */
Test(duplicates, split_train_is_the_whole_file_whatever_the_run_read) {
    struct bench bench;
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *measured = NULL;
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    bench_open(&bench, false);
    set(&bench, "split", "train", "duplicates", "each", "no-ledger", "true", NULL);
    accepted(&bench, "all.h5", &result);
    support_lacks(bench.heard, "on which the run was trained");
    record(&bench, "limit_train", json_integer(3));
    accepted(&bench, "more.h5", &result);
    support_contains(bench.heard, support_path("split train: %d texts, not only the 3 on which the "
                                               "run was trained: its --limit-train limits training",
                                               TASK_TRAIN));
    ok(nvdp_run_posteriors(
        bench.ctx, support_config(bench.ctx, "run", "run", bench.run, "split", "train", NULL),
        &measured));
    support_contains(bench.heard,
                     "split train: only the 3 texts that the run's --limit-train selected");
}
