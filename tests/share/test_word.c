/* A run of method word from training to a verified file: what is stated per word. */
#include "fixture.h"

#include <hdf5.h>

#include "test_context.h"

static struct nvdp__train_options options_of(const char *out) {
    const struct task task = task_make(ctx);
    struct nvdp__train_options config = task_config(&task, NVDP_METHOD_WORD, out);
    config.data = support_path("%s", task.data);
    config.model = support_path("%s", task.model);
    task_set(&config, "word-epsilon 2 stdev-tau 1 latent-dim 2 overwrite true");
    return config;
}

/* Exports the dev texts to `file`; seed NULL: with noise from the operating system. */
static struct nvdp_export_result exported_to(const char *run, const char *file, const char *seed) {
    return share_exported(ctx, "run", run, "split", "dev", "out", file, "budget-samples", "100",
                          "insecure-seed", seed, NULL);
}

static struct nvdp_verification verified(const char *path) {
    return share_verified(ctx, path, NULL);
}

static struct nvdp_guarantee guarantee_of(const char *run) {
    struct nvdp_guarantee guarantee = NVDP_RESULT(struct nvdp_guarantee);
    ok(nvdp_run_guarantee(ctx, run, &guarantee));
    return guarantee;
}

static const char *line_of(const struct nvdp_guarantee *guarantee) {
    char *line = NULL;
    ok(nvdp_guarantee_line(ctx, guarantee, &line));
    return support_keep(line);
}

/* The sums of the ledger of the run, and the refusal of one more sample, name the epsilon per word. */
static void ledger_says_per_word(const char *folder, double stated) {
    const char *ledger = support_path("%s/ledger", folder);
    char *json = NULL;
    struct nvdp_ledger_summary sums = NVDP_RESULT(struct nvdp_ledger_summary);
    ok(nvdp_ledger_summarize(ctx, ledger, NULL, &sums));
    near(sums.word_epsilon, stated, 1e-4);
    ok(nvdp_describe(ctx, ledger, NVDP_DESCRIPTION_JSON, &json));
    support_contains(support_keep(json), "\"word_epsilon\": ");
    support_lacks(json, "budget"); /* there is none */
    struct nvdp_config *options =
        support_config(ctx, "export", "run", folder, "split", "dev", "out",
                       support_scratch_path("refused.h5"), "budget-samples", "1", NULL);
    fails(nvdp_export(ctx, options, NULL), NVDP_ERR_STATE, "(per word ");
}

static void release_and_verify(size_t window) {
    const char *folder = support_scratch_path("word"), *file = support_scratch_path("word.h5");
    struct nvdp__train_options config = options_of(folder);
    config.nvib.clip.window = window;
    const struct nvdp_train_result result = task_train(ctx, &config);
    cr_expect_gt(result.certified_epsilon, NVDP_USEFUL_EPSILON);

    const struct nvdp_guarantee guarantee = guarantee_of(folder);
    cr_assert(guarantee.word.holds);
    cr_expect_leq(guarantee.word.epsilon, 2);
    cr_expect_gt(guarantee.word.epsilon, 1.99);
    const char *line = line_of(&guarantee);
    support_contains(line, "Proven per word: epsilon 2 at delta 1e-05, one sample",
                     "No useful guarantee: epsilon ");

    struct nvdp_export_result exported = exported_to(folder, file, NULL);
    support_contains(exported.guarantee, "Proven per word: epsilon 2 at delta 1e-05, one sample");
    support_contains(exported.statement, "2 rows together: epsilon ",
                     " at delta 1e-05 (per word 2.954); 10 rows together: ",
                     "No useful guarantee for a text as a whole");
    const double rows =
        nvdp_gdp_epsilon(sqrt(3) * guarantee.word.mu, 1e-5); /* one text is in three rows */
    near(exported.spent_word_epsilon, rows, 1e-4);
    support_contains(exported.statement, "Proven for each single occurrence of a word",
                     "for 3 adjacent words epsilon is ", "its size may tell the length.");
    struct nvdp_verification found = verified(file);
    cr_expect(found.holds && found.certified && !found.useful, "%s", found.statement);
    for (size_t i = 0; i < found.checks; i++)
        support_lacks(found.check[i].what, "length");
    near(found.word_mu, guarantee.word.mu, 1e-6);
    near(found.word_epsilon, nvdp_gdp_epsilon(found.word_mu, 1e-5), 1e-4);

    /* A second file of the texts: n samples have sqrt(n) times the mu of one. */
    file = support_scratch_path("word2.h5");
    exported = exported_to(folder, file, NULL);
    cr_expect_eq(exported.spent_samples, 6); /* a text is in three rows */
    const double all = nvdp_gdp_epsilon(sqrt(6) * guarantee.word.mu, 1e-5);
    near(exported.spent_word_epsilon, all, 1e-4);
    cr_expect_gt(exported.spent_epsilon, NVDP_USEFUL_EPSILON);
    ledger_says_per_word(folder, all);
    support_lacks(exported.statement, "Proven: ");
    found = verified(file);
    cr_expect(found.holds, "%s", found.statement);

    /* After a file whose noise can be removed nothing is proven of all together. */
    for (int secure = 0; secure < 2; secure++) {
        file = support_scratch_path(secure ? "word4.h5" : "word3.h5");
        exported = exported_to(folder, file, secure ? NULL : "1");
        cr_expect_eq(exported.spent_word_epsilon, INFINITY);
        cr_expect_eq(strstr(exported.guarantee, "Proven per word") != NULL, secure);
        found = verified(file);
        cr_expect_eq(found.holds, secure != 0, "%s", found.statement);
        cr_expect_eq(isinf(found.word_epsilon), !secure);
    }
}

/* Replaces a number of the file, and returns it. */
static double write_number(const char *file, const char *name, double value) {
    double before = NAN;
    hid_t h5 = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT), at = H5Aopen(h5, name, H5P_DEFAULT);
    cr_assert_geq(H5Aread(at, H5T_NATIVE_DOUBLE, &before), 0, "%s", name);
    cr_assert_geq(H5Awrite(at, H5T_NATIVE_DOUBLE, &value), 0, "%s", name);
    H5Aclose(at);
    H5Fclose(h5);
    return before;
}

/* Makes a file state that most of its texts are named, as older versions did. */
static void old_attributes(const char *file) {
    static const char words[] = "above 50 %";
    hid_t h5 = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1),
          space = H5Screate(H5S_SCALAR);
    cr_assert_geq(H5Tset_size(type, sizeof words), 0);
    hid_t at = H5Acreate2(h5, "named_share", type, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(H5Awrite(at, type, words), 0);
    H5Aclose(at);
    H5Sclose(space);
    H5Tclose(type);
    H5Fclose(h5);
}

/* Counts the checks of this name that fail. */
static size_t refused(const char *file, const char *what) {
    const struct nvdp_verification found = verified(file);
    size_t wrong = 0;
    for (size_t i = 0; i < found.checks; i++)
        wrong +=
            found.check[i].verdict == NVDP_VERDICT_NO && strcmp(found.check[i].what, what) == 0;
    return wrong;
}

/* `ledger`: NULL, that of the run; "", none. */
static void export_texts(const char *run, const char *rows, const char *file, const char *ledger) {
    const char *input = support_scratch_path("texts.tsv");
    const bool none = ledger != NULL && *ledger == '\0';
    support_write_text(input, support_path("sentence\tlabel\n%s", rows));
    share_exported(ctx, "run", run, "input", input, "out", file, "budget-samples",
                   none ? NULL : "9", "model-id", "0123456789abcdef0123456789abcdef", "no-ledger",
                   none ? "true" : NULL, "ledger", none ? NULL : ledger, NULL);
}

/* A text in two rows has two samples, though no earlier file has it. */
Test(word_release, counts_all_rows_of_a_text) {
    const char *run = support_scratch_path("word");
    const char *file = support_scratch_path("rows.h5");
    struct nvdp__train_options config = options_of(run);
    task_train(ctx, &config);
    export_texts(run, "good cat\t1\nGood  cat\t0\nbad\t0\n", file, NULL);
    struct nvdp_verification found = verified(file);
    cr_expect(found.holds);
    cr_expect_eq(found.spent_samples, 0); /* the ledger's owner knows */
    support_contains(found.guarantee, "Proven per word: epsilon 2 at delta 1e-05, one sample");
    found = share_counted(ctx, file, support_path("%s/ledger", run), NULL);
    cr_expect_eq(found.spent_samples, 2);
    support_contains(found.guarantee, "(per word 2.954). The file states of one row: Proven per ");
    /* without a budget of the caller the rows of a text are refused: word-epsilon is for one of them */
    struct nvdp_config *options = support_config(
        ctx, "export", "run", run, "input", support_scratch_path("texts.tsv"), "ledger",
        support_scratch_path("none"), "out", support_scratch_path("none.h5"), NULL);
    fails(nvdp_export(ctx, options, NULL), NVDP_ERR_STATE,
          "1 text stands twice in these texts: expected at most 1 sample of a text, which the run "
          "guarantees");
    support_contains(nvdp_context_error(ctx), " (per word 2.954) together, those of one row ",
                     " (per word 2). Nothing was drawn");
    cr_assert_neq(access(support_scratch_path("none"), F_OK), 0);
    /* an epsilon above 100 is no useful guarantee */
    config.word_epsilon = 300;
    task_train(ctx, &config);
    file = support_scratch_path("weak.h5");
    export_texts(run, "good\t1\n", file, support_scratch_path("another"));
    found = verified(file);
    support_contains(
        found.statement,
        "\nNo useful guarantee per word: the proven epsilon is 300 at delta 1e-05, one sample.\n");
    const struct nvdp_guarantee guarantee = guarantee_of(run);
    support_contains(line_of(&guarantee),
                     "No useful guarantee per word: the proven epsilon is 300 at ");
}

/* A number below the one that follows from the file itself is found. Sums of a ledger, which older files state, are not
 * read. */
Test(word_release, what_a_file_states_per_word_is_checked) {
    const char *file[2], *run = support_scratch_path("word"), *folder = support_scratch_path("all");
    struct nvdp__train_options config = options_of(run);
    task_train(ctx, &config);
    cr_assert_eq(mkdir(folder, 0700), 0);
    for (int i = 0; i < 2; i++) {
        file[i] = support_path("%s/%d.h5", folder, i);
        export_texts(run, i == 0 ? "good\t1\nbad\t0\n" : "good\t1\ncat\t0\n", file[i], NULL);
    }
    struct nvdp_verification found = verified(folder);
    cr_expect(found.holds);
    cr_expect(found.counted);
    static const char says[] =
        "If a text is in several of these files, its epsilon grows with each file. ";
    cr_expect_eq(strstr(found.guarantee, says), found.guarantee);
    support_contains(found.statement, says);
    support_contains(found.guarantee, "Proven per word: epsilon 2 at ");
    export_texts(run, "sea\t1\n", support_scratch_path("all/2.h5"), "");
    found = verified(folder);
    cr_expect_not(found.counted);
    old_attributes(file[1]);
    found = verified(file[1]);
    cr_expect(found.holds);
    cr_expect_eq(checks_that_found(&found, NVDP_VERDICT_OPEN, "it states 'named_share'"), 1);
    static const char *const changed[][2] = {
        {"certificate_word_mu", "the stated epsilon per word follows from the certificate"},
        {"certificate_word_epsilon", "the stated epsilon per word follows from the certificate"}};
    for (size_t k = 0; k < sizeof changed / sizeof *changed; k++) {
        const double before = write_number(file[1], changed[k][0], 1e-6);
        cr_expect_eq(refused(file[1], changed[k][1]), 1, "%s", changed[k][0]);
        write_number(file[1], changed[k][0], before);
        cr_expect_eq(refused(file[1], changed[k][1]), 0, "%s", changed[k][0]);
    }
}

/* The ledger's checks of a folder show the largest sum of each kind over several releases. */
Test(word_release, a_folder_has_the_largest_sums_of_each_kind) {
    static const double word[] = {2, 0.05, 8}, text[] = {8, 20, 9};
    const char *run[3], *file = NULL;
    const char *folder = support_scratch_path("all"), *ledger = support_scratch_path("ledger");
    for (int i = 0; i < 3; i++) {
        run[i] = support_scratch_path(support_path("run%d", i));
        struct nvdp__train_options config = options_of(run[i]);
        config.word_epsilon = word[i];
        config.certified_epsilon = text[i];
        task_train(ctx, &config);
    }
    export_texts(run[1], "good\t1\n", support_scratch_path("1.h5"), ledger);
    export_texts(run[2], "bad\t1\n", support_scratch_path("2.h5"), ledger);
    cr_assert_eq(mkdir(folder, 0700), 0);
    for (int i = 0; i < 2; i++) {
        file = support_path("%s/%d.h5", folder, i);
        export_texts(run[0], i == 0 ? "good\t1\n" : "bad\t1\n", file, ledger);
    }
    struct nvdp_verification found = verified(folder);
    cr_expect(found.holds);
    near(found.word_epsilon, 2, 1e-3);
    /* so are those of the ledger's checks */
    const char *beside = support_path("%s.key", ledger);
    found = share_counted(ctx, folder, ledger, beside);
    cr_expect_gt(found.spent_epsilon, 20);
    const char *spent = support_path(": at most 2 samples (budget: 9), epsilon %s ",
                                     nvdp__bound(found.spent_epsilon).text);
    support_contains(found.check[found.checks - 2].found, support_path("0.h5%s", spent));
    support_contains(found.check[found.checks - 1].found, "epsilon 8.4");
    const char *words = support_path("%s", found.check[found.checks - 1].found);
    /* a file with another name could be either */
    const char *renamed = support_scratch_path("renamed.h5");
    for (int i = 0; i < 2; i++) {
        file = support_path("%s/%d.h5", folder, i);
        cr_assert_eq(link(file, renamed), 0);
        found = share_counted(ctx, renamed, ledger, beside);
        support_contains(found.check[found.checks - 2].found, spent);
        cr_expect_str_eq(found.check[found.checks - 1].found, words);
        cr_assert_eq(unlink(renamed), 0);
    }
    /* three adjacent words are not more than the text */
    found = verified(file);
    support_contains(found.statement, "adjacent words epsilon is ");
}

Test(word_release, states_the_guarantee_of_a_word) {
    release_and_verify(0);
}

/* The smaller clip proves the same. */
Test(word_release, states_the_guarantee_of_a_word_in_windows) {
    release_and_verify(2);
}

/* Words of the exported texts and the training texts are both protected, by two mechanisms. */
Test(word_release, with_private_training_both_are_stated) {
    const char *run = support_scratch_path("word"), *file = support_scratch_path("word.h5");
    struct nvdp__train_options config = options_of(run);
    task_set(&config, "dp-batch 8 target-epsilon 3");
    task_train(ctx, &config);
    const struct nvdp_guarantee guarantee = guarantee_of(run);
    cr_expect(guarantee.training_epsilon > 2.9 && guarantee.training_epsilon <= 3);
    const char *line = line_of(&guarantee);
    support_contains(line, "Proven per word: epsilon 2 at delta 1e-05, one sample");
    const char *training =
        support_path("epsilon %s at delta %s", nvdp__bound(guarantee.training_epsilon).text,
                     nvdp__bound(guarantee.training_delta).text);
    support_contains(line, support_path("One training example (zero-out): %s", training));
    const struct nvdp_export_result exported = exported_to(run, file, NULL);
    support_contains(exported.statement, "Proven per word: epsilon 2 at delta 1e-05, one sample");
    const char *owner = support_path("%s for one training example (zero-out, for exact arithmetic, "
                                     "which the training's noise lacks)",
                                     training);
    support_contains(exported.statement, owner);
    struct nvdp_verification found = verified(file);
    cr_expect(found.holds, "%s", found.statement);
    support_contains(found.statement, owner);
    cr_expect_eq(checks_that_found(&found, NVDP_VERDICT_OPEN, owner), 1);
}

Test(word_release, refusals_and_both_budgets) {
    const char *folder = support_scratch_path("word");
    nvdp__autofree char *text = NULL;
    struct nvdp__train_options config = options_of(folder), other = config;
    struct nvdp_guarantee guarantee = NVDP_RESULT(struct nvdp_guarantee);
    other.method = NVDP_METHOD_VIB_FIXED;
    other.nvib.vib.sigma = 1;
    fails(nvdp__train_calibrate(ctx, &other), NVDP_ERR_ARGUMENT, "word-epsilon");
    other.word_epsilon = 0;
    other.nvib.clip.window = 1;
    fails(nvdp__train_calibrate(ctx, &other), NVDP_ERR_ARGUMENT,
          "option --word-window: expected a method with a");
    other = config;
    other.nvib.length_policy = NVDP_LENGTH_PUBLIC;
    struct nvdp_train_result none = NVDP_RESULT(struct nvdp_train_result);
    fails(nvdp__train(ctx, &other, &none), NVDP_ERR_ARGUMENT, "--length-policy: method word");
    other = config;
    other.word_epsilon = 0;
    other.nvib.clip.word = 1e7;
    fails(nvdp__train(ctx, &other, &none), NVDP_ERR_ARGUMENT,
          "--clip-word: expected at most 1e+06");
    other = config;
    other.nvib.clip.window = 1;
    other.word_layers = 9;
    struct nvdp_train_result refused = NVDP_RESULT(struct nvdp_train_result);
    fails(nvdp__train(ctx, &other, &refused), NVDP_ERR_ARGUMENT,
          "option --word-layers: expected at most");
    other = config;
    other.certified_epsilon = 8;
    other.certified_releases = 4;
    task_train(ctx, &other);
    ok(nvdp_run_guarantee(ctx, folder, &guarantee));
    cr_expect(guarantee.word.holds && guarantee.word.epsilon <= 2 && guarantee.releases == 4);
    cr_expect_leq(guarantee.epsilon, 8 * (1 + 1e-9));
    cr_expect_lt(guarantee.word.phrase_epsilon, 8); /* capped: the text's */
    cr_expect_gt(guarantee.word.phrase_guess[0].bound, guarantee.word.guess[0].bound);
    ok(nvdp_guarantee_guesses(ctx, &guarantee, &text));
    support_contains(text, "Proven for each single occurrence of a word");
    support_lacks(text, "may be recognized");
}
