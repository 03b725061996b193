/* Tests the verification of shared files: unchanged exports pass, and one changed value fails. */
#include "fixture.h"
#include "share/verify.h"
#include <gsl/gsl_cdf.h>
#include <hdf5.h>

#include "test_context.h"

enum { OPTIONS = 4 };

struct choice {
    struct run_choice run;
    const char *option[OPTIONS][2];
};

struct bench {
    struct nvdp_context *ctx;
    const char *run, *file, *whole, *key, *public_key; /* whole: a copy of the file */
};

static void copy(const char *from, const char *to) {
    support_write(to, support_read(from), support_size(from));
}

static struct bench bench_open(const struct choice *choice) {
    struct bench bench = {.ctx = support_context(),
                          .file = support_scratch_path("shared.h5"),
                          .whole = support_scratch_path("whole.h5"),
                          .key = support_scratch_path("sender.key"),
                          .public_key = support_scratch_path("sender.key.pub")};
    bench.run = task_run(bench.ctx, "run", &choice->run, NULL);
    /* the budget is for exports of one run folder */
    struct nvdp_config *config =
        support_config(bench.ctx, "export", "run", bench.run, "out", bench.file, "split", "dev",
                       "overwrite", "true", "measure-texts", "10", "budget-samples", "1000", NULL);
    for (int i = 0; i < OPTIONS && choice->option[i][0] != NULL; i++) {
        const bool sign = strcmp(choice->option[i][0], "sign") == 0;
        if (sign) ok(nvdp_key_create(bench.ctx, bench.key));
        support_set(bench.ctx, config, choice->option[i][0],
                    sign ? bench.key : choice->option[i][1]);
    }
    ok(nvdp_export(bench.ctx, config, NULL));
    copy(bench.file, bench.whole);
    return bench;
}

static struct nvdp_verification verified(const struct bench *bench, const char *key) {
    return share_verified(bench->ctx, bench->file, key);
}

/* Compares a verdict; `words` are in what the check found. */
static void check_says(const struct nvdp_verification *found, const char *what,
                       enum nvdp_verdict verdict, const char *words) {
    check_is(found, what, verdict);
    support_contains(check_of(found, what)->found, words);
}

/* Verifies the file without a key, and compares the verdict of one check. */
static void verdict_is(const struct bench *bench, const char *what, enum nvdp_verdict verdict) {
    const struct nvdp_verification found = verified(bench, NULL);
    check_is(&found, what, verdict);
}

/* --- unchanged exports --- */

static const struct choice hidden = {{.method = NVDP_METHOD_NVDP,
                                      .policy = NVDP_LENGTH_HIDDEN,
                                      .kappa = 2,
                                      .latent_dim = 4,
                                      .epochs = 1},
                                     {{"samples", "3"}, {"with-labels", "true"}}};
static const struct choice clipped = {
    {.method = NVDP_METHOD_NVDP, .kappa = 1, .clip_sequence = 2, .latent_dim = 4, .epochs = 1},
    {{"sign", NULL}, {"samples", "2"}}};

/* Verifies the file again as safetensors and as Parquet. */
static void in_other_formats(const struct bench *bench) {
    static const char *const names[] = {"shared.safetensors", "shared.parquet"};
    for (size_t i = 0; i < 2; i++) {
        struct bench other = *bench;
        other.file = support_scratch_path(names[i]);
        converted_embeddings(bench->ctx, nvdp__formats, bench->file, other.file);
        struct nvdp_verification found = verified(&other, NULL);
        all_hold(&found);
    }
}

Test(verify, holds_of_every_kind_of_export) {
    const struct choice choices[] = {
        hidden,
        {{.method = NVDP_METHOD_NVDP, .policy = NVDP_LENGTH_PUBLIC, .kappa = 1, .epochs = 1},
         {{"publish-measured", "true"}, {"samples", "2"}}},
        {{.method = NVDP_METHOD_NVDP, .kappa = 1, .epochs = 1},
         {{"grid", "float16"}, {"measure-texts", "0"}}},
        {{.method = NVDP_METHOD_VIB_FIXED, .kappa = 1, .epochs = 1}, {{NULL, NULL}}},
        {{.method = NVDP_METHOD_VIB_LEARNED, .kappa = 1, .epochs = 1}, {{NULL, NULL}}},
        {{.method = NVDP_METHOD_VIB_LEARNED, .kappa = 1, .clip_sequence = 1, .epochs = 1},
         {{"samples", "4"}}},
        {{.method = NVDP_METHOD_VTDP,
          .kappa = 1,
          .vtdp_pool = NVDP__VTDP_POOL_FIRST,
          .clip_sequence = 20,
          .epochs = 1},
         {{"publish-measured", "true"}, {"order", "2"}}},
        {{.method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 2, .epochs = 1}, {{NULL, NULL}}},
        {clipped.run, {{"samples", "2"}}},
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        struct bench bench = bench_open(&choices[i]);
        struct nvdp_verification found = verified(&bench, NULL);
        const double clip = choices[i].run.clip_sequence;
        all_hold(&found);
        in_other_formats(&bench);
        cr_assert_eq(found.certified, clip > 0, "choice %zu", i);
        cr_assert_eq(check_of(&found, "the statement agrees")->verdict, NVDP_VERDICT_YES,
                     "choice %zu", i);
        if (clip > 0) {
            const int samples = i == 5 ? 4 : i == 8 ? 2 : 1;
            char words[64];
            near(found.mu, 2 * clip * sqrt(samples), 1e-12);
            near(found.epsilon, nvdp_gdp_epsilon(found.mu, 1e-5), 1e-12);
            snprintf(words, sizeof words, "%s at delta 1e-05", nvdp__bound(found.epsilon).text);
            support_contains(found.statement, words);
            check_is(&found, "the values spread", NVDP_VERDICT_YES);
        } else {
            support_contains(found.statement, "No guarantee over all texts");
        }
    }
}

/* Expects success or this failure; `what` and `number` name the change that was made. */
static void ok_or(nvdp_status failure, nvdp_status found, const char *what, size_t number) {
    cr_assert(found == NVDP_OK || found == failure, "%s %zu: %s", what, number,
              nvdp_status_name(found));
}

/* Lack of memory is not a fault of the file. */
Test(verify, survives_failing_allocations) {
    const struct bench bench = bench_open(&clipped);
    const struct nvdp_verification whole = verified(&bench, NULL);
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    uint64_t k = 0;
    for (nvdp_status status = NVDP_ERR_MEMORY; status != NVDP_OK;) {
        nvdp__fail_allocation(bench.ctx, ++k);
        status = nvdp_verify(bench.ctx, bench.file, NULL, &found);
        nvdp__fail_allocation(bench.ctx, 0);
        ok_or(NVDP_ERR_MEMORY, status, "allocation", k);
    }
    cr_expect_gt(k, 40);
    all_hold(&found);
    cr_expect_eq(found.checks, whole.checks);
}

Test(verify, certificate_takes_the_sampler_into_account) {
    const struct nvdp__release_grids grids = nvdp__release_grids(1);
    struct nvdp__release_facts facts = {.form = {.weights = true, .kappa = 1, .prior_alpha = 1},
                                        .samples = 1,
                                        .rows = 5,
                                        .grids = &grids,
                                        .limits = {.struct_size = sizeof facts.limits,
                                                   .method = "nvdp",
                                                   .noise = true,
                                                   .sealed = true,
                                                   .rows = 4,
                                                   .dim = 8,
                                                   .kappa = 1,
                                                   .same_noise = true,
                                                   .clip_sequence = 1,
                                                   .clip_mu = INFINITY,
                                                   .weights = true,
                                                   .alpha_min = 1,
                                                   .alpha_max = 1.5,
                                                   .prior_alpha = 1,
                                                   .pad_alpha = 1}};
    ok(nvdp__release_certify(ctx, &facts));
    cr_assert(facts.certified);
    cr_assert_eq(facts.certificate.theorem, NVDP_THEOREM_SEQUENCE_WEIGHTS);
    cr_assert_lt(facts.certificate.epsilon, 29);
    facts.limits.alpha_min = 0.1;
    ok(nvdp__release_certify(ctx, &facts));
    cr_assert_not(facts.certified);
    cr_assert_eq(facts.certificate.theorem, NVDP_THEOREM_SEQUENCE_WEIGHTS);
    cr_assert_gt(facts.certificate.epsilon, 29);
}

/* A file with noise from a known seed promises nothing, and states that. */
Test(verify, takes_no_noise_from_a_seed) {
    struct choice choice = clipped;
    choice.option[0][0] = "insecure-seed";
    choice.option[0][1] = "1";
    struct bench bench = bench_open(&choice);
    struct nvdp_verification found = verified(&bench, NULL);
    cr_assert_not(found.holds);
    cr_assert_not(found.certified);
    check_is(&found, "the noise does not come from a seed", NVDP_VERDICT_NO);
    check_is(&found, "the statement agrees", NVDP_VERDICT_YES);
    check_is(&found, "the stated guarantee", NVDP_VERDICT_YES);
    support_contains(found.statement,
                     "With noise from the operating system's generator, no two texts are more than",
                     "INSECURE: the noise comes from a seed.");
    support_lacks(found.statement, "Proven", "exact Gaussian draws");
}

/* Files of other programs state less, but fail no check. */
Test(verify, takes_files_of_other_programs) {
    struct bench bench = {.ctx = support_context()};
    struct made_embeddings made = made_embeddings_default();
    for (int i = 0; i < 2; i++) {
        made.policy = i == 0 ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC;
        bench.file = made_embeddings(bench.ctx, "made.h5", &made);
        struct nvdp_verification found = verified(&bench, NULL);
        all_hold(&found);
        cr_assert_not(found.certified || found.is_signed);
        check_is(&found, "the mechanism is described", NVDP_VERDICT_OPEN);
        check_is(&found, "the weights of every", NVDP_VERDICT_YES);
        cr_assert_str_empty(found.statement);
    }
}

/* --- tampering --- */

static void close_id(const hid_t *id) {
    H5Idec_ref(*id);
}
/* Declares identifiers of HDF5 that are closed where their scope ends. */
#define CLOSED FREED(close_id) hid_t

static hid_t open_file(const char *path) {
    return H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
}

static void restore(const struct bench *bench) {
    copy(bench->whole, bench->file);
}

static void append(const char *path, const void *bytes, size_t count) {
    nvdp__autoptr(fclose) FILE *file = fopen(path, "ab");
    cr_assert_eq(fwrite(bytes, 1, count, file), count);
}

/* Replaces the n-th value of a dataset, or adds to it. */
static void change_value(const char *path, const char *name, size_t n, bool add, double value) {
    CLOSED file = open_file(path), set = H5Dopen2(file, name, H5P_DEFAULT);
    CLOSED space = H5Dget_space(set);
    const size_t count = (size_t)H5Sget_simple_extent_npoints(space);
    nvdp__autofree double *all = malloc(count * sizeof *all);
    cr_assert_lt(n, count);
    cr_assert_geq(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all), 0);
    all[n] = add ? all[n] + value : value;
    cr_assert_geq(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all), 0);
}

static void change_real(const char *path, const char *name, double value) {
    CLOSED file = open_file(path);
    CLOSED attribute = H5Aopen(file, name, H5P_DEFAULT);
    cr_assert_geq(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value), 0, "%s", name);
}

/* Replaces words of an attribute by words of the same length; without words, flips the last bit of the first byte. */
static void edit(const char *path, const char *name, const char *from, const char *to) {
    CLOSED file = open_file(path);
    CLOSED attribute = H5Aopen(file, name, H5P_DEFAULT), type = H5Aget_type(attribute);
    char value[NVDP_STATEMENT_SIZE] = {0};
    cr_assert_leq(H5Tget_size(type), sizeof value);
    cr_assert_geq(H5Aread(attribute, type, value), 0);
    char *at = from != NULL ? strstr(value, from) : value;
    cr_assert(at != NULL && (from == NULL || strlen(from) == strlen(to)), "%s", value);
    if (from != NULL)
        memcpy(at, to, strlen(to));
    else
        *at ^= 1;
    cr_assert_geq(H5Awrite(attribute, type, value), 0);
}

static void add_real(const char *path, const char *dataset, const char *name) {
    const double value = 1;
    CLOSED file = open_file(path), space = H5Screate(H5S_SCALAR);
    CLOSED at = H5Oopen(file, dataset, H5P_DEFAULT);
    CLOSED made = H5Acreate2(at, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(H5Awrite(made, H5T_NATIVE_DOUBLE, &value), 0);
}

/* Rewrites a 64-bit attribute in the other byte order. */
static void swap_bytes(const char *path, const char *name) {
    int64_t value = 0;
    CLOSED file = open_file(path), space = H5Screate(H5S_SCALAR);
    CLOSED attribute = H5Aopen(file, name, H5P_DEFAULT);
    cr_assert_geq(H5Aread(attribute, H5T_NATIVE_INT64, &value), 0);
    H5Aclose(attribute);
    H5Adelete(file, name);
    attribute = H5Acreate2(file, name, H5T_STD_I64BE, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(H5Awrite(attribute, H5T_NATIVE_INT64, &value), 0);
}

/* Changes that fail without a signature, with the check that detects them. */
Test(verify, sees_what_contradicts_itself) {
    static const struct {
        const char *dataset, *attribute;
        size_t n;
        double value;
        const char *check;
    } change[] = {
        {"z", NULL, 5, -32768, "the values are finite and within the grid"},
        {"z", NULL, 5, 20000, "the values spread like noise"},
        {"id", NULL, 5, 4, "no row number of the texts' file occurs twice"},
        {"split", NULL, 5, 9, "the datasets have the shapes"},
        {NULL, "texts", 0, 41, "the number of texts"},
        {NULL, "releases", 0, 3, "the datasets have the shapes"},
        {NULL, "length", 0, 11, "the datasets have the shapes"},
        {NULL, "z_step", 0, 0x1p-11, "the grid is the mechanism's"},
        {NULL, "certificate_epsilon", 0, 8, "the stated epsilon follows"},
        {NULL, "certificate_delta", 0, 1e-6, "the stated epsilon follows"},
        {NULL, "certificate_mu", 0, 1, "the stated mu follows"},
        {NULL, "clip_sequence", 0, 1, "the stated epsilon follows"},
        {NULL, "clip_sequence", 0, INFINITY, "the certificate names the theorem"},
        {NULL, "clip_sequence", 0, INFINITY, "the same noise for every text"},
        {NULL, "clip_sequence", 0, -1, "the statement agrees"},
        {NULL, "divergence_bound", 0, 1, "the divergence bound"},
        {NULL, "divergence_bound_order", 0, 2, "the divergence bound"},
        {NULL, "kappa", 0, 2, "the divergence bound"},
    };
    struct bench bench = bench_open(&clipped);
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        restore(&bench);
        if (change[i].dataset != NULL)
            change_value(bench.file, change[i].dataset, change[i].n, false, change[i].value);
        else
            change_real(bench.file, change[i].attribute, change[i].value);
        struct nvdp_verification found = verified(&bench, NULL);
        cr_expect_not(found.holds);
        cr_expect_not(found.is_signed);
        cr_expect_eq(check_of(&found, change[i].check)->verdict, NVDP_VERDICT_NO, "change %zu: %s",
                     i, change[i].check);
    }
    /* the same file without noise: only its means */
    restore(&bench);
    for (size_t i = 0; i < 4; i++)
        change_real(bench.file, "z_step", 0x1p-20);
    verdict_is(&bench, "the values spread", NVDP_VERDICT_NO);
    restore(&bench);
    edit(bench.file, "generator", NULL, NULL);
    verdict_is(&bench, "the noise does not come from a seed", NVDP_VERDICT_NO);
    restore(&bench);
    add_real(bench.file, "/", "secret");
    verdict_is(&bench, "the file has only what the format defines", NVDP_VERDICT_NO);
}

/* Published measurements follow from their attributes, and nothing can be said after them. */
Test(verify, compares_what_was_measured) {
    const struct choice choice = {clipped.run, {{"publish-measured", "true"}, {"samples", "2"}}};
    struct bench bench = bench_open(&choice);
    static const char *const words[][2] = {{"two of ", "all of "},
                                           {"rounded up", "proven all"},
                                           {" The Renyi", "\nThe Renyi"},
                                           {"names the right text", "never names any text"},
                                           {"95 % interval", "95 % nonsense"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        edit(bench.file, "statement", words[i][0], words[i][1]);
        struct nvdp_verification found = verified(&bench, NULL);
        cr_expect_eq(check_of(&found, "the statement agrees")->verdict, NVDP_VERDICT_NO, "%zu", i);
        edit(bench.file, "statement", words[i][1], words[i][0]);
        verdict_is(&bench, "the statement agrees", NVDP_VERDICT_YES);
    }
    change_real(bench.file, "divergence_sum_max", 0.001);
    verdict_is(&bench, "the statement agrees", NVDP_VERDICT_NO);
}

/* Sets an attribute to a text of any length. */
static void change_text(const char *path, const char *name, const char *text) {
    CLOSED file = open_file(path), space = H5Screate(H5S_SCALAR);
    CLOSED type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(text) + 1);
    H5Tset_cset(type, H5T_CSET_UTF8);
    if (H5Aexists(file, name) > 0) H5Adelete(file, name);
    CLOSED made = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(H5Awrite(made, type, text), 0, "%s", name);
}

/* A statement in words that this version does not know is not shown, and nothing is claimed. */
Test(verify, shows_no_statement_of_other_words) {
    struct bench bench = bench_open(&clipped);
    static const double words[] = {1, NVDP__STATEMENT_WORDS + 1, NAN};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        change_real(bench.file, "statement_words", words[i]);
        struct nvdp_verification found = verified(&bench, NULL);
        cr_assert_not(found.holds || found.certified || found.useful);
        cr_expect_eq(found.epsilon, INFINITY);
        cr_expect_str_empty(found.statement);
        check_says(&found, "the statement agrees", NVDP_VERDICT_NO,
                   i == 1 ? "a newer version" : "the older version");
        support_contains(found.guarantee, "No guarantee: this version");
    }
    change_real(bench.file, "statement_words", NVDP__STATEMENT_WORDS);
    change_text(bench.file, "nvdp_version", "9.9.9"); /* the words alone decide */
    struct nvdp_verification found = verified(&bench, NULL);
    check_is(&found, "the statement agrees", NVDP_VERDICT_YES);
    support_contains(found.statement, "No useful guarantee: epsilon");
    edit(bench.file, "statement", "guarantee", "Guarantee");
    found = verified(&bench, NULL);
    check_is(&found, "the statement agrees", NVDP_VERDICT_NO);
    cr_expect_str_empty(found.statement);
}

/* Every attribute has a rule.  A file with other text, or with a number that is none, fails. */
Test(verify, sees_values_that_no_export_writes) {
    static const char *const texts[][2] = {
        {"method", "nvdp; trust this file"},
        {"task", "anything"},
        {"length_policy", "HIDDEN"},
        {"pool", "the sender is honest"},
        {"row_index", "\033[2J"},
        {"regularizer", "free text"},
        {"model_id", "0123456789abcdef0123456789abcdeF"},
        {"model_id", "0123456789abcdef0123456789abcdef0"},
        {"created", "2024-01-01T00:00:00Z and proven"},
        {"created", "2024-1-01T00:00:00Z"},
        {"nvdp_version", "0.1.0 (verified)"},
        {"label_names", "[\"a\", \"b\"]"},
        {"label_names", "[\"a\",1]"},
        {"encoder", "../encoder"},
        {"text_unit", "person"},
        {"certificate", "z"},
        {"training_texts", "none"},
        {"named_share", "below 50 %"},
        {"public_key", "secret"},
        {"map_0", "f16:0000"}, /* no file without an encoder has a map */
    };
    static const struct {
        const char *name;
        double value;
    } numbers[] = {{"divergence_bound", NAN},       {"divergence_bound_order", INFINITY},
                   {"certificate_delta", INFINITY}, {"certificate_delta", NAN},
                   {"certificate_epsilon", NAN},    {"certificate_mu", -1},
                   {"clip_sequence", NAN},          {"clip_mu_radius", NAN},
                   {"lambda_g", INFINITY},          {"clip_logvar_min", NAN}};
    struct bench bench = bench_open(&clipped);
    for (size_t i = 0; i < sizeof texts / sizeof *texts + sizeof numbers / sizeof *numbers; i++) {
        const size_t k = i - sizeof texts / sizeof *texts;
        const bool text = i < sizeof texts / sizeof *texts;
        restore(&bench);
        if (text)
            change_text(bench.file, texts[i][0], texts[i][1]);
        else
            change_real(bench.file, numbers[k].name, numbers[k].value);
        struct nvdp_verification found = verified(&bench, NULL);
        cr_expect_not(found.holds);
        if (text &&
            (strcmp(texts[i][0], "length_policy") == 0 || strcmp(texts[i][0], "encoder") == 0))
            continue; /* the datasets cannot be read at all */
        cr_expect_eq(check_of(&found, "every attribute has")->verdict, NVDP_VERDICT_NO, "%s",
                     text ? texts[i][0] : numbers[k].name);
        for (size_t c = 0; c < found.checks; c++)
            cr_expect(strchr(found.check[c].found, '\033') == NULL);
    }
}

Test(verify, sees_weights_that_are_none) {
    struct bench bench = bench_open(&hidden);
    struct nvdp_verification found = verified(&bench, NULL);
    all_hold(&found);
    change_value(bench.file, "log_pi", 30, false, -1);
    found = verified(&bench, NULL);
    check_says(&found, "the weights of every sample", NVDP_VERDICT_NO, "sample 1 of text 0");
}

/* Each fault of a single row is found, and the sums over all rows do not show it. */
Test(verify, sees_rows_without_their_own_noise) {
    enum { DIM = 8, ROW = 30 };
    static const char *const words[] = {"row 30, counted from 0, is zero", "are equal", "too short",
                                        "too long"};
    struct choice wide = clipped;
    wide.run.latent_dim = DIM;
    wide.option[0][0] = NULL;
    struct bench bench = bench_open(&wide);
    for (int i = 0; i < 4; i++) {
        restore(&bench);
        for (size_t d = 0; d < DIM; d++) {
            const double value = i == 0   ? 0
                                 : i == 1 ? 1000 - 200 * (double)d
                                 : i == 2 ? 1
                                 : d == 0 ? 12288
                                          : 100;
            change_value(bench.file, "z", ROW * DIM + d, false, value);
            if (i == 1) change_value(bench.file, "z", 2 * ROW * DIM + d, false, value);
        }
        struct nvdp_verification found = verified(&bench, NULL);
        check_says(&found, "every row has noise of its own", NVDP_VERDICT_NO, words[i]);
        check_is(&found, "the values spread", NVDP_VERDICT_YES);
    }
}

/* The bounds are not below the exact probabilities, and not much above them. */
Test(verify, bounds_of_rows_hold) {
    for (size_t dim = 1; dim <= 1024; dim *= 4) {
        struct nvdp__row_law law = {.dim = dim,
                                    .rows = 1,
                                    .radius = 0,
                                    .variance_min = 1,
                                    .variance_max = 1,
                                    .step = 0x1p-30,
                                    .limit = INFINITY};
        const double p = (double)dim;
        for (double alarm = 1e-12; alarm < 0.1; alarm *= 10) {
            double low = 0, high = 0;
            law.alarm = 4 * alarm;
            while (nvdp__row_too_short(&law, low + p / 4096))
                low += p / 4096;
            while (!nvdp__row_too_long(&law, high + p / 64))
                high += p / 64;
            cr_expect_leq(gsl_cdf_chisq_P(low, p), alarm);
            cr_expect_leq(gsl_cdf_chisq_Q(high + p / 64, p), alarm);
            if (dim >= 16) {
                cr_expect_gt(gsl_cdf_chisq_P(low + p / 2048, p), alarm * 1e-2 / sqrt(p));
                cr_expect_gt(gsl_cdf_chisq_Q(high, p), alarm * alarm * 1e-3);
            }
        }
    }
}

/* Honest files fail with at most the stated probability.  At an alarm of 0.08 and a fixed seed, 1000 files of 40 rows fail
 * 80 times on average if the bound is tight: more than 120 would be 4.6 standard deviations away. */
Test(verify, honest_rows_rarely_fail) {
    enum { FILES = 1000, ROWS = 40 };
    for (size_t dim = 1; dim <= 16; dim *= 4) {
        const struct nvdp__noise noise = {.seed = dim};
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
        const double steps[] = {0x1p-3, 0x1p-10};
        for (int s = 0; s < 2; s++) {
            const struct nvdp__row_law law = {.dim = dim,
                                              .rows = ROWS,
                                              .radius = 3,
                                              .variance_min = 1,
                                              .variance_max = 1,
                                              .step = steps[s],
                                              .limit = 32,
                                              .alarm = 0.08};
            int failed = 0;
            for (int f = 0; f < FILES; f++) {
                float row[ROWS][16];
                bool fault = false;
                for (int r = 0; r < ROWS; r++) {
                    double draw[16], square = 0;
                    nvdp__stream_normals_f64(&stream, dim, draw);
                    if (r % 2 == 0) draw[0] += 3;
                    for (size_t d = 0; d < dim; d++) {
                        row[r][d] = (float)(steps[s] * round(draw[d] / steps[s]));
                        square += (double)row[r][d] * row[r][d];
                    }
                    fault = fault || nvdp__row_too_short(&law, square) ||
                            nvdp__row_too_long(&law, square) ||
                            (square == 0 && nvdp__row_is_fault(&law, row[r], false));
                    for (int k = 0; k < r && !fault; k++)
                        fault = memcmp(row[k], row[r], dim * sizeof(float)) == 0 &&
                                nvdp__row_is_fault(&law, row[r], true);
                }
                failed += fault;
            }
            cr_expect_leq(failed, 120, "dim %zu, step %g: %d", dim, steps[s], failed);
        }
    }
}

struct names {
    char name[80][64];
    size_t count;
};

static nvdp_status take(const struct nvdp__h5_value *value, void *user) {
    struct names *names = user;
    snprintf(names->name[names->count++], 64, "%s", value->name);
    return NVDP_OK;
}

/* The smallest change of any attribute, or of one value in any dataset, invalidates the signature. */
Test(verify, signature_sees_every_change) {
    static const char *const datasets[] = {"id", "split", "z"};
    struct bench bench = bench_open(&clipped);
    struct nvdp__h5 *file = NULL;
    struct names names = {0};
    struct nvdp_verification found = verified(&bench, bench.public_key);
    all_hold(&found);
    cr_assert(found.is_signed && found.is_known);
    ok(nvdp__h5_open(bench.ctx, bench.file, NULL, 0, &file));
    ok(nvdp__h5_list_attributes(file, take, &names));
    nvdp__h5_free(file);
    cr_assert_gt(names.count, 30);
    for (size_t i = 0; i < names.count; i++) {
        restore(&bench);
        edit(bench.file, names.name[i], NULL, NULL);
        if (strcmp(names.name[i], "nvdp_format") == 0) {
            fails(nvdp_verify(bench.ctx, bench.file, bench.public_key, &found), NVDP_ERR_INPUT, "");
            continue;
        }
        found = verified(&bench, bench.public_key);
        cr_expect_not(found.holds, "%s", names.name[i]);
        cr_expect_not(found.is_signed, "%s", names.name[i]);
        cr_expect_not(found.is_known, "%s", names.name[i]);
    }
    for (size_t i = 0; i < sizeof datasets / sizeof *datasets; i++) {
        restore(&bench);
        change_value(bench.file, datasets[i], 39, true, 1);
        found = verified(&bench, bench.public_key);
        cr_expect_not(found.holds || found.is_signed, "%s", datasets[i]);
    }
    restore(&bench);
    add_real(bench.file, "/", "lambda_d2");
    cr_expect_not(verified(&bench, NULL).is_signed);
    restore(&bench);
    add_real(bench.file, "z", "comment");
    cr_expect_not(verified(&bench, NULL).is_signed);
    restore(&bench);
    swap_bytes(bench.file, "texts"); /* the same number */
    cr_expect_not(verified(&bench, NULL).is_signed);
}

/* --- another layout, the same values --- */

static herr_t copy_attribute(hid_t from, const char *name, const H5A_info_t *info, void *user) {
    CLOSED old = H5Aopen(from, name, H5P_DEFAULT), type = H5Aget_type(old);
    CLOSED space = H5Aget_space(old);
    char value[NVDP_STATEMENT_SIZE];
    (void)info;
    cr_assert_geq(H5Aread(old, type, value), 0);
    CLOSED made = H5Acreate2(*(hid_t *)user, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(H5Awrite(made, type, value), 0);
    return 0;
}

/* Copies a file as h5repack does: contiguous, uncompressed, in the other order. */
static void repack(const char *from, const char *to) {
    static const char *const datasets[] = {"z", "log_pi", "split", "label", "id"};
    CLOSED old = H5Fopen(from, H5F_ACC_RDONLY, H5P_DEFAULT);
    CLOSED new = H5Fcreate(to, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (size_t i = 0; i < sizeof datasets / sizeof *datasets; i++) {
        if (H5Lexists(old, datasets[i], H5P_DEFAULT) <= 0) continue;
        CLOSED set = H5Dopen2(old, datasets[i], H5P_DEFAULT), type = H5Dget_type(set);
        CLOSED space = H5Dget_space(set);
        void *bytes = malloc((size_t)H5Sget_simple_extent_npoints(space) * H5Tget_size(type));
        cr_assert_geq(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes), 0);
        CLOSED made =
            H5Dcreate2(new, datasets[i], type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        cr_assert_geq(H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes), 0);
        free(bytes);
    }
    H5Aiterate2(old, H5_INDEX_NAME, H5_ITER_DEC, NULL, copy_attribute, &new);
}

static const char in_every_byte[] = "the file is signed and unchanged since";
static const char nothing_else[] = "the file has only what the format defines";

Test(verify, signature_is_of_every_byte) {
    struct bench bench = bench_open(&clipped);
    struct nvdp_verification found = verified(&bench, bench.public_key);
    all_hold(&found);
    support_contains(check_of(&found, in_every_byte)->found,
                     ", which covers every byte of the file");
    const char *packed = support_scratch_path("packed.h5");
    repack(bench.file, packed);
    bench.file = packed;
    found = verified(&bench, bench.public_key);
    cr_assert_not(found.is_signed || found.is_known);
    check_is(&found, in_every_byte, NVDP_VERDICT_NO);
    check_is(&found, nothing_else, NVDP_VERDICT_YES);
}

/* Older versions signed only values and attributes.  The rest of such a file is checked and reported as unsigned. */
Test(verify, older_signatures_are_of_values) {
    struct bench bench = {.ctx = support_context()};
    struct made_embeddings made = made_embeddings_default();
    const char *path = support_scratch_path("old.key");
    ok(nvdp_key_create(bench.ctx, path));
    made.key = path;
    bench.file = made_embeddings(bench.ctx, "old.h5", &made);
    const char *packed = support_scratch_path("packed.h5");
    path = support_scratch_path("old.key.pub");
    repack(bench.file, packed);
    for (int i = 0; i < 2; i++) {
        struct nvdp_verification found = verified(&bench, path);
        all_hold(&found);
        cr_assert(found.is_signed && found.is_known);
        check_is(&found, "the file is signed, and its values and attributes are unchanged",
                 NVDP_VERDICT_YES);
        check_is(&found, in_every_byte, NVDP_VERDICT_OPEN);
        bench.file = packed;
    }
    append(packed, "secret", 6);
    struct nvdp_verification found = verified(&bench, path);
    cr_assert_not(found.holds);
    check_is(&found, nothing_else, NVDP_VERDICT_NO);
}

/* --- payloads that no reader of the format sees --- */

static void change_file(const char *path, void (*change)(hid_t file)) {
    CLOSED file = open_file(path);
    change(file);
}

static void hide_attribute(hid_t file) {
    CLOSED space = H5Screate(H5S_SCALAR), z = H5Dopen2(file, "z", H5P_DEFAULT);
    H5Aclose(H5Acreate2(z, "t", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT));
}

static void hide_group(hid_t file) {
    CLOSED space = H5Screate(H5S_SCALAR);
    CLOSED group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Aclose(H5Acreate2(group, "t", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT));
}

static void hide_soft_link(hid_t file) {
    H5Lcreate_soft("/z", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
}

static void hide_external_link(hid_t file) {
    H5Lcreate_external("other.h5", "/z", file, "external", H5P_DEFAULT, H5P_DEFAULT);
}

static void hide_hard_link(hid_t file) {
    H5Lcreate_hard(file, "z", file, "hard", H5P_DEFAULT, H5P_DEFAULT);
}

static void hide_type(hid_t file) {
    CLOSED type = H5Tcopy(H5T_IEEE_F64LE);
    H5Tcommit2(file, "type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
}

static void hide_comment(hid_t file) {
    H5Oset_comment_by_name(file, "z", "secret", H5P_DEFAULT);
}

/* The text of the attribute ends at the NUL for readers. */
static void hide_behind_nul(hid_t file) {
    static const char text[32] = "os\0secret";
    CLOSED type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, sizeof text);
    H5Adelete(file, "generator");
    CLOSED made = H5Acreate2(file, "generator", type, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(H5Awrite(made, type, text), 0);
}

static void write_floats(hid_t file, const char *name, hid_t type, hsize_t count, hsize_t chunk,
                         hsize_t kept) {
    CLOSED space = H5Screate_simple(1, &count, (hsize_t[]){H5S_UNLIMITED});
    CLOSED plist = H5Pcreate(H5P_DATASET_CREATE);
    double *values = malloc(count * sizeof *values);
    for (hsize_t i = 0; i < count; i++)
        values[i] = (double)i + 0.1;
    H5Pset_chunk(plist, 1, &chunk);
    CLOSED set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    cr_assert_geq(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
    H5Dset_extent(set, &kept);
    free(values);
}

/* Deleted objects remain in the file. */
static void hide_deleted(hid_t file) {
    write_floats(file, "gone", H5T_IEEE_F64LE, 1000, 1000, 1000);
    H5Fflush(file, H5F_SCOPE_LOCAL);
    H5Ldelete(file, "gone", H5P_DEFAULT);
}

static void hide_digits(hid_t file) {
    write_floats(file, "label", H5T_IEEE_F64LE, 40, 40, 40);
}

static void hide_dataset(hid_t file) { /* only files of public lengths have it */
    write_floats(file, "offset", H5T_STD_I64LE, 40, 40, 40);
}

Test(verify, sees_hidden_payloads) {
    static void (*const hide[])(hid_t file) = {hide_attribute,     hide_group,      hide_soft_link,
                                               hide_external_link, hide_hard_link,  hide_type,
                                               hide_comment,       hide_behind_nul, hide_deleted,
                                               hide_digits,        hide_dataset};
    const struct choice unsigned_choice = {clipped.run, {{"samples", "1"}}};
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        struct bench bench = bench_open(is_signed ? &clipped : &unsigned_choice);
        for (size_t i = 0; i < sizeof hide / sizeof *hide; i++) {
            restore(&bench);
            change_file(bench.file, hide[i]);
            struct nvdp_verification found = verified(&bench, NULL);
            cr_expect_not(found.holds, "payload %zu", i);
            cr_expect_not(found.is_signed, "payload %zu", i);
            check_is(&found, nothing_else, NVDP_VERDICT_NO);
        }
        /* a megabyte after the end, also of zeros; a block before the start */
        nvdp__autofree char *bytes = calloc(1 << 20, 1);
        for (int i = 0; i < 2; i++) {
            restore(&bench);
            append(bench.file, bytes, 1 << 20);
            struct nvdp_verification found = verified(&bench, NULL);
            cr_expect_not(found.is_signed);
            support_contains(check_of(&found, nothing_else)->found, "1048576 bytes after the end");
            memset(bytes, 'x', 1 << 20);
        }
        support_write(bench.file, bytes, 512);
        append(bench.file, support_read(bench.whole), support_size(bench.whole));
        struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
        fails(nvdp_verify(bench.ctx, bench.file, NULL, &found), NVDP_ERR_INPUT, "");
    }
}

static void write_label(hid_t file) {
    write_floats(file, "label", H5T_IEEE_F32LE, 300, 400, 300); /* chunks may be larger */
}

/* The chunks of a dataset that was once larger have values outside its shape. */
Test(verify, sees_values_outside_a_shape) {
    struct bench bench = {.ctx = support_context()};
    struct made_embeddings made = made_embeddings_default();
    made.labels = false;
    bench.file = made_embeddings(bench.ctx, "made.h5", &made);
    change_file(bench.file, write_label);
    verdict_is(&bench, nothing_else, NVDP_VERDICT_YES);
    haddr_t address = 0;
    hsize_t size = 0;
    unsigned skipped = 0;
    {
        CLOSED file = open_file(bench.file), set = H5Dopen2(file, "label", H5P_DEFAULT);
        cr_assert_geq(H5Dget_chunk_info_by_coord(set, (hsize_t[]){0}, &skipped, &address, &size),
                      0);
    }
    nvdp__autoptr(fclose) FILE *raw = fopen(bench.file, "r+b");
    cr_assert_eq(fseek(raw, (long)(address + 350 * sizeof(float)), SEEK_SET), 0);
    cr_assert_eq(fwrite("secret", 1, 6, raw) + (size_t)fflush(raw), 6);
    const struct nvdp_verification found = verified(&bench, NULL);
    check_says(&found, nothing_else, NVDP_VERDICT_NO,
               "values outside the shape of dataset 'label'");
}

/* --- keys --- */

static void refused(struct bench *bench, const char *key, const char *message) {
    struct nvdp_config *config =
        support_config(bench->ctx, "export", "run", bench->run, "out",
                       support_scratch_path("refused.h5"), "split", "dev", "sign", key, NULL);
    cr_assert_neq(nvdp_export(bench->ctx, config, NULL), NVDP_OK);
    support_contains(nvdp_context_error(bench->ctx), message);
    cr_assert_not(nvdp__exists(support_scratch_path("refused.h5")));
}

Test(verify, keys_are_kept) {
    struct bench bench = bench_open(&clipped);
    struct stat info;
    cr_assert_eq(stat(bench.key, &info), 0);
    cr_assert_eq(info.st_mode & 07777, 0600);
    cr_assert_eq(nvdp_key_create(bench.ctx, bench.key), NVDP_ERR_IO); /* never overwrites a file */
    const char *path = support_path("%s/model/key", bench.run);
    fails(nvdp_key_create(bench.ctx, path), NVDP_ERR_ARGUMENT,
          "outside of run folders, found it in the run");
    cr_assert_not(nvdp__exists(path));
    copy(bench.key, path);
    cr_assert_eq(chmod(path, 0600), 0);
    refused(&bench, path, "outside of run folders, found it in the run");
    cr_assert_eq(chmod(bench.key, 0640), 0);
    refused(&bench, bench.key, "chmod 600");
    cr_assert_eq(chmod(bench.public_key, 0600), 0);
    refused(&bench, bench.public_key, "expected a secret key");
    /* the key of somebody else, and a file that is no key */
    path = support_scratch_path("other.key");
    ok(nvdp_key_create(bench.ctx, path));
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    fails(nvdp_verify(bench.ctx, bench.file, path, &found), NVDP_ERR_INPUT,
          "expected a public key");
    found = verified(&bench, support_scratch_path("other.key.pub"));
    cr_assert(found.is_signed);
    cr_assert_not(found.is_known || found.holds);
    check_is(&found, "the signature is the expected sender's", NVDP_VERDICT_NO);
}

Test(verify, a_wanted_signature_must_be_there) {
    struct bench bench = bench_open(&hidden);
    ok(nvdp_key_create(bench.ctx, bench.key));
    cr_assert(verified(&bench, NULL).holds);
    cr_assert_not(verified(&bench, bench.public_key).holds);
}

Test(verify, refuses_other_files) {
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    const char *path = support_scratch_path("text");
    support_write_text(path, "no HDF5");
    cr_assert_eq(nvdp_verify(ctx, path, NULL, &found), NVDP_ERR_INPUT);
    cr_assert_eq(nvdp_verify(ctx, "/nowhere", NULL, &found), NVDP_ERR_IO);
    cr_assert_eq(nvdp_verify(ctx, NULL, NULL, &found), NVDP_ERR_ARGUMENT);
}

/* --- folders --- */

/* The files of one release are checked and read as one, whatever memory there is. */
Test(verify, takes_the_files_of_a_folder_as_one) {
    struct bench bench = bench_open(&clipped);
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *shared = NULL;
    struct nvdp_shared_info info = NVDP_RESULT(struct nvdp_shared_info);
    const char *folder = support_scratch_path("shards");
    ok(nvdp__make_directory(bench.ctx, folder));
    fails(nvdp_verify(bench.ctx, folder, NULL, &found), NVDP_ERR_INPUT, "found none");
    for (const char *name = "ab"; *name != '\0'; name++)
        copy(bench.file, support_path("%s/%c.h5", folder, *name));
    const struct nvdp_verification one = verified(&bench, NULL);
    for (uint64_t k = 1, done = 0; !done; k += 1 + k / 10) { /* some of them, for time */
        nvdp__fail_allocation(bench.ctx, k);
        const nvdp_status status = nvdp_verify(bench.ctx, folder, NULL, &found);
        nvdp__fail_allocation(bench.ctx, 0);
        ok_or(NVDP_ERR_MEMORY, status, "allocation", k);
        done = status == NVDP_OK;
    }
    all_hold(&found);
    cr_expect_eq(found.checks, one.checks + 1);
    cr_expect(found.is_signed && found.certified);
    cr_expect_eq(strncmp(found.guarantee, "If a text is in several of these files, ", 40), 0);
    support_contains(found.guarantee, one.guarantee);
    cr_expect_str_eq(found.public_key, one.public_key);
    support_contains(found.statement, "2 files of one release", one.statement);
    for (uint64_t k = 1; shared == NULL; k += 1 + k / 10) {
        nvdp__fail_allocation(bench.ctx, k);
        const nvdp_status status = nvdp_shared_read(bench.ctx, folder, &shared);
        nvdp__fail_allocation(bench.ctx, 0);
        ok_or(NVDP_ERR_MEMORY, status, "allocation", k);
    }
    ok(nvdp_shared_describe(bench.ctx, shared, &info));
    const size_t numbers = info.texts * info.samples;
    cr_expect_eq(numbers % 2, 0);
    cr_expect_eq(info.offset[numbers], (int64_t)info.rows);
    cr_expect_eq(2 * info.offset[numbers / 2], (int64_t)info.rows);
    char *text = NULL;
    ok(nvdp_describe(bench.ctx, folder, NVDP_DESCRIPTION_JSON, &text));
    support_contains(support_keep(text), "\"files\": 2");
    support_contains(text, support_path("\"texts\": %zu", info.texts), "\"method\"");
    support_lacks(text, "\"signature\""); /* of one file */
    ok(nvdp_describe(bench.ctx, folder, NVDP_DESCRIPTION_BRIEF, &text));
    support_contains(support_keep(text), "files                      2");
}

/* --- damaged files --- */

/* Changes one byte of an export, anywhere but mostly in HDF5's own structures.  Every file must be verified,
 * reported, read completely or refused with a message, within seconds.  NVDP_MUTATIONS is the number of changes. */
Test(verify, survives_changed_bytes, .timeout = 36000) {
    enum { STRUCTURES = 12 << 10, SECONDS = 20 };
    struct bench bench = bench_open(&clipped);
    const int mutations = (int)support_repeats("NVDP_MUTATIONS", 100);
    unsigned seed = support_seed("NVDP_MUTATIONS");
    char *described = NULL;
    char *bytes = support_read(bench.file);
    const size_t count = support_size(bench.file);
    int refused = 0, reported = 0;
    for (int m = 0; m < mutations; m++) {
        struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
        struct nvdp_shared *held = NULL;
        const size_t range = m % 4 > 0 && count > STRUCTURES ? STRUCTURES : count;
        const size_t at = (size_t)((double)rand_r(&seed) / ((double)RAND_MAX + 1) * (double)range);
        const char kept = bytes[at];
        bytes[at] = m % 3 == 0 ? '\377' : (char)(kept ^ 1 << rand_r(&seed) % 8);
        support_write(bench.file, bytes, count);
        alarm(SECONDS); /* nothing may loop */
        nvdp_status status = nvdp_verify(bench.ctx, bench.file, bench.public_key, &found);
        ok_or(NVDP_ERR_INPUT, status, "byte", at);
        refused += status != NVDP_OK;
        reported += status == NVDP_OK && !found.holds;
        status = nvdp_shared_read(bench.ctx, bench.file, &held);
        ok_or(NVDP_ERR_INPUT, status, "byte", at);
        nvdp_shared_free(held);
        status = nvdp_describe(bench.ctx, bench.file, NVDP_DESCRIPTION_JSON, &described);
        free(described);
        described = NULL;
        ok_or(NVDP_ERR_INPUT, status, "byte", at);
        bytes[at] = kept;
    }
    alarm(0);
    cr_log_info("of %d changes %d were refused, %d told", mutations, refused, reported);
    cr_assert_gt(refused, mutations / 50);
    cr_assert_gt(reported, mutations / 20);
}
