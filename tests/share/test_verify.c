/* Shared files that verify themselves: what exports write holds, and one changed value does not. */
#include "base/bound.h"
#include "base/file.h"
#include "base/hdf5.h"
#include "made_embeddings.h"
#include "share/formats.h"
#include "share/release.h"
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <nvdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OPTIONS = 4 };

struct choice {
    struct run_choice run;
    const char *option[OPTIONS][2];
};

struct bench {
    struct nvdp_context *ctx;
    char run[512], file[512], key[512], public_key[520];
};

static struct bench bench_open(const struct choice *choice) {
    struct bench bench = {.ctx = support_context()};
    struct nvdp_config *config = NULL;
    snprintf(bench.run, sizeof bench.run, "%s", task_run(bench.ctx, "run", &choice->run, NULL));
    snprintf(bench.file, sizeof bench.file, "%s", support_scratch_path("shared.h5"));
    snprintf(bench.key, sizeof bench.key, "%s", support_scratch_path("sender.key"));
    snprintf(bench.public_key, sizeof bench.public_key, "%s.pub", bench.key);
    cr_assert_eq(nvdp_export_config_create(bench.ctx, &config), NVDP_OK);
    support_set(bench.ctx, config, "run", bench.run);
    support_set(bench.ctx, config, "out", bench.file);
    support_set(bench.ctx, config, "split", "dev");
    support_set(bench.ctx, config, "overwrite", "true");
    support_set(bench.ctx, config, "measure-texts", "10");
    support_set(bench.ctx, config, "budget-samples", "1000"); /* of one run folder */
    for (int i = 0; i < OPTIONS && choice->option[i][0] != NULL; i++) {
        const bool sign = strcmp(choice->option[i][0], "sign") == 0;
        if (sign)
            cr_assert_eq(nvdp_key_create(bench.ctx, bench.key), NVDP_OK, "%s",
                         nvdp_context_error(bench.ctx));
        support_set(bench.ctx, config, choice->option[i][0],
                    sign ? bench.key : choice->option[i][1]);
    }
    cr_assert_eq(nvdp_export(bench.ctx, config, NULL), NVDP_OK, "%s",
                 nvdp_context_error(bench.ctx));
    nvdp_config_free(config);
    return bench;
}

static struct nvdp_verification verified(const struct bench *bench, const char *key) {
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    cr_assert_eq(nvdp_verify(bench->ctx, bench->file, key, &found), NVDP_OK, "%s",
                 nvdp_context_error(bench->ctx));
    cr_assert_lt(found.checks, NVDP_CHECKS);
    return found;
}

/* The check whose words begin so; fails the test where there is none. */
static const struct nvdp_check *check_of(const struct nvdp_verification *found, const char *what) {
    for (size_t i = 0; i < found->checks; i++) {
        if (strncmp(found->check[i].what, what, strlen(what)) == 0) return &found->check[i];
    }
    cr_assert_fail("no check '%s'", what);
    return NULL;
}

static void all_hold(const struct nvdp_verification *found) {
    for (size_t i = 0; i < found->checks; i++) {
        cr_expect_neq(found->check[i].verdict, NVDP_VERDICT_NO, "%s: %s", found->check[i].what,
                      found->check[i].found);
    }
    cr_assert(found->holds);
}

/* --- what exports write --- */

static const struct choice hidden = {{.method = NVDP_METHOD_NVDP,
                                      .policy = NVDP_LENGTH_HIDDEN,
                                      .kappa = 2,
                                      .latent_dim = 4,
                                      .epochs = 1},
                                     {{"samples", "3"}, {"with-labels", "true"}}};
static const struct choice clipped = {
    {.method = NVDP_METHOD_NVDP, .kappa = 1, .clip_sequence = 2, .latent_dim = 4, .epochs = 1},
    {{"sign", NULL}, {"samples", "2"}}};

/* The same of the file as safetensors and as Parquet. */
static void in_other_formats(const struct bench *bench) {
    static const char *const names[] = {"shared.safetensors", "shared.parquet"};
    struct nvdp__embeddings *held = NULL;
    struct nvdp__h5 *file = NULL;
    cr_assert_eq(nvdp__embeddings_read(bench->ctx, bench->file, &held), NVDP_OK);
    cr_assert_eq(nvdp__embeddings_open(bench->ctx, bench->file, &file), NVDP_OK);
    const struct nvdp__shared shared = {bench->ctx, file, &held->shape, held->offset};
    for (size_t i = 0; i < 2; i++) {
        struct bench other = *bench;
        struct nvdp__output output;
        snprintf(other.file, sizeof other.file, "%s", support_scratch_path(names[i]));
        cr_assert_eq(nvdp__output_open(bench->ctx, other.file, &output), NVDP_OK);
        cr_assert_eq(nvdp__shared_put(&shared, nvdp__shared_format_of(other.file), &output),
                     NVDP_OK);
        cr_assert_eq(nvdp__output_commit(&output, true), NVDP_OK);
        struct nvdp_verification found = verified(&other, NULL);
        all_hold(&found);
    }
    nvdp__h5_free(file);
    nvdp__embeddings_free(held);
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
        clipped,
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        struct bench bench = bench_open(&choices[i]);
        struct nvdp_verification found = verified(&bench, NULL);
        const double clip = choices[i].run.clip_sequence;
        all_hold(&found);
        in_other_formats(&bench);
        cr_assert_eq(found.certified, clip > 0, "choice %zu", i);
        cr_assert_eq(check_of(&found, "the statement says")->verdict, NVDP_VERDICT_YES,
                     "choice %zu", i);
        if (clip > 0) {
            const int samples = i == 5 ? 4 : i == 8 ? 2 : 1;
            char words[64];
            cr_assert_float_eq(found.mu, 2 * clip * sqrt(samples), 1e-12);
            cr_assert_float_eq(found.epsilon, nvdp_gdp_epsilon(found.mu, 1e-5), 1e-12);
            char bound[NVDP__BOUND_TEXT];
            snprintf(words, sizeof words, "epsilon %s at delta 1e-05",
                     nvdp__bound(bound, found.epsilon, NVDP__UP));
            support_contains(found.statement, words);
            cr_assert_eq(check_of(&found, "values spread")->verdict, NVDP_VERDICT_YES);
        } else {
            support_contains(found.statement, "No worst-case bound is claimed.");
        }
        nvdp_context_free(bench.ctx);
    }
}

/* (b): e^epsilon times what the weights' sampler is off adds to delta, so that a large epsilon proves nothing of a file. */
/* Memory that is short is no fault of the file's. */
Test(verify, survives_failing_allocations) {
    const struct bench bench = bench_open(&clipped);
    const struct nvdp_verification whole = verified(&bench, NULL);
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    uint64_t k = 0;
    for (nvdp_status status = NVDP_ERR_MEMORY; status != NVDP_OK;) {
        nvdp__fail_allocation(bench.ctx, ++k);
        status = nvdp_verify(bench.ctx, bench.file, NULL, &found);
        nvdp__fail_allocation(bench.ctx, 0);
        cr_assert(status == NVDP_OK || status == NVDP_ERR_MEMORY, "k = %d: %s", (int)k,
                  nvdp_context_error(bench.ctx));
    }
    cr_expect_gt(k, 40);
    all_hold(&found);
    cr_expect_eq(found.checks, whole.checks);
    nvdp_context_free(bench.ctx);
}

Test(verify, certificate_takes_the_sampler_into_account) {
    struct nvdp_context *ctx = support_context();
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
    cr_assert_eq(nvdp__release_certify(ctx, &facts), NVDP_OK, "%s", nvdp_context_error(ctx));
    cr_assert(facts.certified);
    cr_assert_eq(facts.certificate.theorem, NVDP_THEOREM_SEQUENCE_WEIGHTS);
    cr_assert_lt(facts.certificate.epsilon, 29);
    facts.limits.alpha_min = 0.1;
    cr_assert_eq(nvdp__release_certify(ctx, &facts), NVDP_OK);
    cr_assert_not(facts.certified);
    cr_assert_eq(facts.certificate.theorem, NVDP_THEOREM_SEQUENCE_WEIGHTS);
    cr_assert_gt(facts.certificate.epsilon, 29);
    nvdp_context_free(ctx);
}

/* A file whose noise somebody knows promises nothing, and says so. */
Test(verify, takes_no_noise_from_a_seed) {
    struct choice choice = clipped;
    choice.option[0][0] = "insecure-seed";
    choice.option[0][1] = "1";
    struct bench bench = bench_open(&choice);
    struct nvdp_verification found = verified(&bench, NULL);
    cr_assert_not(found.holds);
    cr_assert_not(found.certified);
    cr_assert_eq(check_of(&found, "nobody knows the noise")->verdict, NVDP_VERDICT_NO);
    cr_assert_eq(check_of(&found, "the statement says")->verdict, NVDP_VERDICT_YES);
    cr_assert_eq(check_of(&found, "what is proven")->verdict, NVDP_VERDICT_YES);
    support_contains(found.statement, "Would hold with noise from the operating system's "
                                      "generator: in one sample no two texts");
    support_contains(found.statement, "INSECURE: the noise comes from a seed.");
    support_lacks(found.statement, "Proven");
    support_lacks(found.statement, "Noise is exact");
    nvdp_context_free(bench.ctx);
}

/* What another program wrote says less: nothing of it fails. */
Test(verify, takes_files_of_other_programs) {
    struct bench bench = {.ctx = support_context()};
    struct made_embeddings made = made_embeddings_default();
    for (int i = 0; i < 2; i++) {
        made.policy = i == 0 ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC;
        snprintf(bench.file, sizeof bench.file, "%s", made_embeddings(bench.ctx, "made.h5", &made));
        struct nvdp_verification found = verified(&bench, NULL);
        all_hold(&found);
        cr_assert_not(found.certified || found.is_signed);
        cr_assert_eq(check_of(&found, "the mechanism is told")->verdict, NVDP_VERDICT_OPEN);
        cr_assert_eq(check_of(&found, "the weights of every")->verdict, NVDP_VERDICT_YES);
        cr_assert_str_empty(found.statement);
    }
    nvdp_context_free(bench.ctx);
}

/* --- tampering --- */

static void copy(const char *from, const char *to) {
    struct stat info;
    cr_assert_eq(stat(from, &info), 0);
    char *bytes = malloc((size_t)info.st_size);
    FILE *file = fopen(from, "rb");
    cr_assert_eq(fread(bytes, 1, (size_t)info.st_size, file), (size_t)info.st_size);
    fclose(file);
    support_write(to, bytes, (size_t)info.st_size);
    free(bytes);
}

/* Replaces the n-th value of a dataset, or adds to it. */
static void change_value(const char *path, const char *name, size_t n, bool add, double value) {
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t space = H5Dget_space(set);
    const size_t count = (size_t)H5Sget_simple_extent_npoints(space);
    double *all = malloc(count * sizeof *all);
    cr_assert_lt(n, count);
    cr_assert_geq(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all), 0);
    all[n] = add ? all[n] + value : value;
    cr_assert_geq(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all), 0);
    free(all);
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(file);
}

static void change_real(const char *path, const char *name, double value) {
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
    cr_assert_geq(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value), 0, "%s", name);
    H5Aclose(attribute);
    H5Fclose(file);
}

/* The least that can be done to an attribute: a character, the last bit of a number. */
static void nudge(const char *path, const char *name) {
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t attribute = H5Aopen(file, name, H5P_DEFAULT), type = H5Aget_type(attribute);
    unsigned char value[NVDP_STATEMENT_SIZE] = {0};
    cr_assert_leq(H5Tget_size(type), sizeof value);
    cr_assert_geq(H5Aread(attribute, type, value), 0);
    value[0] ^= 1;
    cr_assert_geq(H5Awrite(attribute, type, value), 0);
    H5Tclose(type);
    H5Aclose(attribute);
    H5Fclose(file);
}

static void add_real(const char *path, const char *dataset, const char *name) {
    const double value = 1;
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
    hid_t at = dataset != NULL ? H5Dopen2(file, dataset, H5P_DEFAULT) : file;
    hid_t made = H5Acreate2(at, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(H5Awrite(made, H5T_NATIVE_DOUBLE, &value), 0);
    H5Aclose(made);
    if (dataset != NULL) H5Dclose(at);
    H5Sclose(space);
    H5Fclose(file);
}

/* An attribute of 64 bits in the other order of bytes. */
static void swap_bytes(const char *path, const char *name) {
    int64_t value = 0;
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
    cr_assert_geq(H5Aread(attribute, H5T_NATIVE_INT64, &value), 0);
    H5Aclose(attribute);
    H5Adelete(file, name);
    attribute = H5Acreate2(file, name, H5T_STD_I64BE, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(H5Awrite(attribute, H5T_NATIVE_INT64, &value), 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Fclose(file);
}

/* What fails without a signature, by the check that sees it. */
Test(verify, sees_what_contradicts_itself) {
    static const struct {
        const char *dataset, *attribute;
        size_t n;
        double value;
        const char *check;
    } change[] = {
        {"z", NULL, 5, -32768, "values are finite and within the grid"},
        {"z", NULL, 5, 20000, "values spread as noise"},
        {"id", NULL, 5, 4, "no row of the texts' file is there twice"},
        {"split", NULL, 5, 9, "datasets have the shapes"},
        {NULL, "texts", 0, 41, "as many texts"},
        {NULL, "releases", 0, 3, "datasets have the shapes"},
        {NULL, "length", 0, 11, "datasets have the shapes"},
        {NULL, "z_step", 0, 0x1p-11, "the grid is the same"},
        {NULL, "certificate_epsilon", 0, 8, "epsilon is what"},
        {NULL, "certificate_delta", 0, 1e-6, "epsilon is what"},
        {NULL, "certificate_mu", 0, 1, "mu is what"},
        {NULL, "clip_sequence", 0, 1, "epsilon is what"},
        {NULL, "clip_sequence", 0, INFINITY, "the certificate is the theorem"},
        {NULL, "clip_sequence", 0, INFINITY, "the same noise for every text"},
        {NULL, "clip_sequence", 0, -1, "the statement says"},
        {NULL, "divergence_bound", 0, 1, "the divergence bound"},
        {NULL, "divergence_bound_order", 0, 2, "the divergence bound"},
        {NULL, "kappa", 0, 2, "the divergence bound"},
    };
    struct bench bench = bench_open(&clipped);
    char whole[512];
    snprintf(whole, sizeof whole, "%s", support_scratch_path("whole.h5"));
    copy(bench.file, whole);
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        copy(whole, bench.file);
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
    /* the same file without noise: its means alone */
    copy(whole, bench.file);
    for (size_t i = 0; i < 4; i++) {
        change_real(bench.file, "z_step", 0x1p-20);
    }
    struct nvdp_verification found = verified(&bench, NULL);
    cr_expect_eq(check_of(&found, "values spread")->verdict, NVDP_VERDICT_NO);
    copy(whole, bench.file);
    nudge(bench.file, "generator");
    found = verified(&bench, NULL);
    cr_expect_eq(check_of(&found, "nobody knows the noise")->verdict, NVDP_VERDICT_NO);
    copy(whole, bench.file);
    add_real(bench.file, NULL, "secret");
    found = verified(&bench, NULL);
    cr_expect_eq(check_of(&found, "nothing but what the format has")->verdict, NVDP_VERDICT_NO);
    nvdp_context_free(bench.ctx);
}

/* Other words are not compared: this program knows its own alone. */
Test(verify, compares_no_statement_of_other_words) {
    struct bench bench = bench_open(&hidden);
    hid_t file = H5Fopen(bench.file, H5F_ACC_RDWR, H5P_DEFAULT);
    cr_assert_geq(H5Adelete(file, "statement_words"), 0);
    H5Fclose(file);
    nudge(bench.file, "statement");
    struct nvdp_verification found = verified(&bench, NULL);
    all_hold(&found);
    cr_assert_eq(check_of(&found, "the statement says")->verdict, NVDP_VERDICT_OPEN);
    nvdp_context_free(bench.ctx);
}

Test(verify, sees_weights_that_are_none) {
    struct bench bench = bench_open(&hidden);
    struct nvdp_verification found = verified(&bench, NULL);
    all_hold(&found);
    change_value(bench.file, "log_pi", 30, false, -1);
    found = verified(&bench, NULL);
    cr_assert_eq(check_of(&found, "the weights of every sample")->verdict, NVDP_VERDICT_NO);
    support_contains(check_of(&found, "the weights of every sample")->found, "sample 1 of text 0");
    nvdp_context_free(bench.ctx);
}

struct names {
    char name[80][64];
    size_t count;
};

static void take(const char *name, const char *value, void *user) {
    struct names *names = user;
    (void)value;
    snprintf(names->name[names->count++], 64, "%s", name);
}

/* Every attribute by its least change, every dataset by one value: the signature no longer holds. */
Test(verify, signature_sees_every_change) {
    static const char *const datasets[] = {"id", "split", "z"};
    struct bench bench = bench_open(&clipped);
    struct nvdp__h5 *file = NULL;
    struct names names = {0};
    char whole[512];
    snprintf(whole, sizeof whole, "%s", support_scratch_path("whole.h5"));
    copy(bench.file, whole);
    struct nvdp_verification found = verified(&bench, bench.public_key);
    all_hold(&found);
    cr_assert(found.is_signed && found.is_known);
    cr_assert_eq(nvdp__h5_open(bench.ctx, bench.file, NULL, 0, &file), NVDP_OK);
    cr_assert_eq(nvdp__h5_list_attributes(file, take, &names), NVDP_OK);
    nvdp__h5_free(file);
    cr_assert_gt(names.count, 30);
    for (size_t i = 0; i < names.count; i++) {
        copy(whole, bench.file);
        nudge(bench.file, names.name[i]);
        found = (struct nvdp_verification)NVDP_RESULT(struct nvdp_verification);
        if (strcmp(names.name[i], "nvdp_format") == 0) {
            cr_assert_eq(nvdp_verify(bench.ctx, bench.file, bench.public_key, &found),
                         NVDP_ERR_INPUT);
            continue;
        }
        found = verified(&bench, bench.public_key);
        cr_expect_not(found.holds, "%s", names.name[i]);
        cr_expect_not(found.is_signed, "%s", names.name[i]);
        cr_expect_not(found.is_known, "%s", names.name[i]);
    }
    for (size_t i = 0; i < sizeof datasets / sizeof *datasets; i++) {
        copy(whole, bench.file);
        change_value(bench.file, datasets[i], 39, true, 1);
        found = verified(&bench, bench.public_key);
        cr_expect_not(found.holds || found.is_signed, "%s", datasets[i]);
    }
    copy(whole, bench.file);
    add_real(bench.file, NULL, "lambda_d2");
    cr_expect_not(verified(&bench, NULL).is_signed);
    copy(whole, bench.file);
    add_real(bench.file, "z", "comment");
    cr_expect_not(verified(&bench, NULL).is_signed);
    copy(whole, bench.file);
    swap_bytes(bench.file, "texts"); /* the same number */
    cr_expect_not(verified(&bench, NULL).is_signed);
    nvdp_context_free(bench.ctx);
}

/* --- another layout, the same values --- */

static herr_t copy_attribute(hid_t from, const char *name, const H5A_info_t *info, void *user) {
    hid_t to = *(hid_t *)user, old = H5Aopen(from, name, H5P_DEFAULT), type = H5Aget_type(old);
    hid_t space = H5Aget_space(old), made;
    char value[NVDP_STATEMENT_SIZE];
    (void)info;
    cr_assert_geq(H5Aread(old, type, value), 0);
    made = H5Acreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(H5Awrite(made, type, value), 0);
    H5Aclose(made);
    H5Aclose(old);
    H5Sclose(space);
    H5Tclose(type);
    return 0;
}

/* As h5repack does: contiguous, uncompressed, in the other order. */
static void repack(const char *from, const char *to) {
    static const char *const datasets[] = {"z", "split", "id"};
    hid_t old = H5Fopen(from, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t new = H5Fcreate(to, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (size_t i = 0; i < sizeof datasets / sizeof *datasets; i++) {
        hid_t set = H5Dopen2(old, datasets[i], H5P_DEFAULT), type = H5Dget_type(set);
        hid_t space = H5Dget_space(set);
        void *bytes = malloc((size_t)H5Sget_simple_extent_npoints(space) * H5Tget_size(type));
        cr_assert_geq(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes), 0);
        hid_t made =
            H5Dcreate2(new, datasets[i], type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        cr_assert_geq(H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes), 0);
        free(bytes);
        H5Dclose(made);
        H5Dclose(set);
        H5Sclose(space);
        H5Tclose(type);
    }
    H5Aiterate2(old, H5_INDEX_NAME, H5_ITER_DEC, NULL, copy_attribute, &new);
    H5Fclose(new);
    H5Fclose(old);
}

Test(verify, signature_survives_another_layout) {
    struct bench bench = bench_open(&clipped);
    char packed[512];
    snprintf(packed, sizeof packed, "%s", support_scratch_path("packed.h5"));
    repack(bench.file, packed);
    snprintf(bench.file, sizeof bench.file, "%s", packed);
    struct nvdp_verification found = verified(&bench, bench.public_key);
    all_hold(&found);
    cr_assert(found.is_known);
    nvdp_context_free(bench.ctx);
}

/* --- keys --- */

static void refused(struct bench *bench, const char *key, const char *message) {
    struct nvdp_config *config = NULL;
    cr_assert_eq(nvdp_export_config_create(bench->ctx, &config), NVDP_OK);
    support_set(bench->ctx, config, "run", bench->run);
    support_set(bench->ctx, config, "out", support_scratch_path("refused.h5"));
    support_set(bench->ctx, config, "split", "dev");
    support_set(bench->ctx, config, "sign", key);
    cr_assert_neq(nvdp_export(bench->ctx, config, NULL), NVDP_OK);
    support_contains(nvdp_context_error(bench->ctx), message);
    cr_assert_not(nvdp__exists(support_scratch_path("refused.h5")));
    nvdp_config_free(config);
}

Test(verify, keys_are_kept) {
    struct bench bench = bench_open(&clipped);
    struct stat info;
    char path[600];
    cr_assert_eq(stat(bench.key, &info), 0);
    cr_assert_eq(info.st_mode & 07777, 0600);
    cr_assert_eq(nvdp_key_create(bench.ctx, bench.key), NVDP_ERR_IO); /* never over another */
    snprintf(path, sizeof path, "%s/model/key", bench.run);
    cr_assert_eq(nvdp_key_create(bench.ctx, path), NVDP_ERR_ARGUMENT);
    support_contains(nvdp_context_error(bench.ctx), "in the folder of a run");
    cr_assert_not(nvdp__exists(path));
    copy(bench.key, path);
    cr_assert_eq(chmod(path, 0600), 0);
    refused(&bench, path, "in the folder of a run");
    cr_assert_eq(chmod(bench.key, 0640), 0);
    refused(&bench, bench.key, "chmod 600");
    cr_assert_eq(chmod(bench.public_key, 0600), 0);
    refused(&bench, bench.public_key, "expected a secret key");
    /* another's key, and what is none */
    snprintf(path, sizeof path, "%s", support_scratch_path("other.key"));
    cr_assert_eq(nvdp_key_create(bench.ctx, path), NVDP_OK);
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    cr_assert_eq(nvdp_verify(bench.ctx, bench.file, path, &found), NVDP_ERR_INPUT);
    support_contains(nvdp_context_error(bench.ctx), "expected a public key");
    found = verified(&bench, support_scratch_path("other.key.pub"));
    cr_assert(found.is_signed);
    cr_assert_not(found.is_known || found.holds);
    cr_assert_eq(check_of(&found, "by whom one trusts")->verdict, NVDP_VERDICT_NO);
    nvdp_context_free(bench.ctx);
}

Test(verify, a_wanted_signature_must_be_there) {
    struct bench bench = bench_open(&hidden);
    cr_assert_eq(nvdp_key_create(bench.ctx, bench.key), NVDP_OK);
    cr_assert(verified(&bench, NULL).holds);
    cr_assert_not(verified(&bench, bench.public_key).holds);
    nvdp_context_free(bench.ctx);
}

Test(verify, refuses_other_files) {
    struct nvdp_context *ctx = support_context();
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    const char *path = support_scratch_path("text");
    support_write_text(path, "no HDF5");
    cr_assert_eq(nvdp_verify(ctx, path, NULL, &found), NVDP_ERR_INPUT);
    cr_assert_eq(nvdp_verify(ctx, "/nowhere", NULL, &found), NVDP_ERR_IO);
    cr_assert_eq(nvdp_verify(ctx, NULL, NULL, &found), NVDP_ERR_ARGUMENT);
    nvdp_context_free(ctx);
}

/* --- files with a damage --- */

/* One byte of an export is changed, all over the file and most often where HDF5's own structures are: every file is
 * verified, told about, read as a whole or refused with a message, in no time.  $NVDP_MUTATIONS: as many. */
Test(verify, survives_changed_bytes, .timeout = 36000) {
    enum { STRUCTURES = 12 << 10, SECONDS = 20 };
    struct bench bench = bench_open(&clipped);
    const char *wanted = getenv("NVDP_MUTATIONS");
    const int mutations = wanted != NULL ? atoi(wanted) : 200;
    unsigned seed = wanted != NULL ? (unsigned)time(NULL) : 1;
    FILE *nowhere = fopen("/dev/null", "we");
    char *bytes = NULL;
    size_t count = 0;
    int refused = 0, told = 0;
    cr_assert_eq(nvdp__read_file(bench.ctx, bench.file, 1 << 26, &bytes, &count), NVDP_OK);
    for (int m = 0; m < mutations; m++) {
        struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
        struct nvdp__embeddings *held = NULL;
        const size_t most = m % 4 > 0 && count > STRUCTURES ? STRUCTURES : count;
        const size_t at = (size_t)((double)rand_r(&seed) / ((double)RAND_MAX + 1) * (double)most);
        const char kept = bytes[at];
        bytes[at] = m % 3 == 0 ? '\377' : (char)(kept ^ 1 << rand_r(&seed) % 8);
        support_write(bench.file, bytes, count);
        alarm(SECONDS); /* nothing spins */
        nvdp_status status = nvdp_verify(bench.ctx, bench.file, bench.public_key, &found);
        cr_assert(status == NVDP_OK || status == NVDP_ERR_INPUT, "byte %zu: %s", at,
                  nvdp_status_name(status));
        refused += status != NVDP_OK;
        told += status == NVDP_OK && !found.holds;
        status = nvdp__embeddings_read(bench.ctx, bench.file, &held);
        cr_assert(status == NVDP_OK || status == NVDP_ERR_INPUT, "byte %zu: %s", at,
                  nvdp_status_name(status));
        nvdp__embeddings_free(held);
        status = nvdp_describe(bench.ctx, bench.file, NVDP_DESCRIPTION_JSON, nowhere);
        cr_assert(status == NVDP_OK || status == NVDP_ERR_INPUT, "byte %zu: %s", at,
                  nvdp_status_name(status));
        bytes[at] = kept;
    }
    alarm(0);
    cr_log_info("of %d changes %d were refused, %d told", mutations, refused, told);
    cr_assert_gt(refused, mutations / 50);
    cr_assert_gt(told, mutations / 20);
    fclose(nowhere);
    free(bytes);
    nvdp_context_free(bench.ctx);
}
