/* Tests exports: the contents of a file, the data that must not be in it, and the refusals. */
#include "fixture.h"
#include "rdp/report.h"
#include "share/reader.h"
#include <regex.h>

#include "test_context.h"

static const struct run_choice hidden_run = {NVDP_METHOD_NVDP, NVDP_LENGTH_HIDDEN, .kappa = 2,
                                             .latent_dim = 4, .epochs = 1};
static const struct run_choice public_run = {NVDP_METHOD_NVDP, NVDP_LENGTH_PUBLIC, .kappa = 1,
                                             .latent_dim = 4, .epochs = 1};

struct bench {
    struct nvdp_context *ctx;
    const char *run, *out;
    struct nvdp_config *config;
};

/* Sets options: names and values, then NULL. */
static __attribute__((sentinel)) void set(const struct bench *bench, ...) {
    va_list options;
    va_start(options, bench);
    support_set_list(bench->ctx, bench->config, options);
    va_end(options);
}

/* Opens a run with options of its exports: names and values, then NULL. */
static __attribute__((sentinel)) struct bench bench_open(const struct run_choice *choice, ...) {
    struct bench bench = {.ctx = support_context(), .out = support_scratch_path("shared.h5")};
    va_list options;
    bench.run = task_run(bench.ctx, "run", choice, NULL);
    bench.config = support_config(bench.ctx, "export", "run", bench.run, "split", "train,dev",
                                  "batch", "7", "measure-texts", "30", "publish-measured", "true",
                                  "budget-samples", "1000", NULL);
    va_start(options, choice);
    support_set_list(bench.ctx, bench.config, options);
    va_end(options);
    return bench;
}

static struct nvdp_export_result must_export(const struct bench *bench) {
    struct nvdp_export_result *result = support_keep(malloc(sizeof *result));
    *result = (struct nvdp_export_result)NVDP_RESULT(struct nvdp_export_result);
    support_set(bench->ctx, bench->config, "out", bench->out);
    ok(nvdp_export(bench->ctx, bench->config, result));
    return *result;
}

static struct nvdp_shared *must_read(const struct bench *bench) {
    struct nvdp_shared *file = NULL;
    ok(nvdp_shared_read(bench->ctx, bench->out, &file));
    return support_keep(file);
}

static struct nvdp_shared *exported(const struct bench *bench) {
    must_export(bench);
    return must_read(bench);
}

/* --- the contents of a file --- */

/* Names of attributes. Every file has the first ones. Those of a bound need a sequence clip, those of a certificate a proof,
 * those of training privacy, those of noise vib-fixed or vib-learned, and the others a signature. */
static const char allowed[] =
    " bdp_delta bdp_epsilon bdp_gamma bdp_moment bdp_published_epsilon bdp_published_floor "
    "bdp_published_moment bdp_releases clip_alpha_max clip_alpha_min clip_logvar_max "
    "clip_logvar_min clip_mu_radius clip_sequence certificate created nvib_delta "
    "divergence_adjacency divergence_infinite_share divergence_normalisations divergence_order "
    "divergence_pairs divergence_per_component_dim_max divergence_per_component_dim_mean "
    "divergence_sum_max divergence_sum_mean divergence_texts generator grid kappa lambda_d "
    "lambda_g latent_heads ledger log_pi_step length length_policy method model_id nvdp_format "
    "nvdp_version pad_alpha pool prior_alpha regularizer releases row_index statement task "
    "training_texts texts weights weights_distance z_step divergence_bound divergence_bound_order "
    "certificate_epsilon certificate_delta training_epsilon training_delta certificate_mu "
    "noise_logvar_min noise_logvar_max public_key statement_words signature ";
enum { ALLOWED = 55 };

/* docs/formats.md must name all of them. */
Test(export, attributes_are_documented) {
    const char *text = support_read(support_path("%s/docs/formats.md", NVDP_SOURCE_DIR));
    for (const char *name = allowed + 1; *name != '\0'; name = strchr(name, ' ') + 1)
        support_contains(text, support_path("`%.*s`", (int)strcspn(name, " "), name));
}

struct listing {
    char text[4096];
    size_t count;
};

static void list_dataset(const char *name, int rank, const size_t *shape, const char *type,
                         void *user) {
    struct listing *listing = user;
    char entry[128];
    int used = snprintf(entry, sizeof entry, "%s:%s", name, type);
    for (int d = 0; d < rank; d++)
        used += snprintf(entry + used, sizeof entry - (size_t)used, ":%zu", shape[d]);
    strcat(listing->text, entry);
    strcat(listing->text, " ");
    listing->count++;
}

static nvdp_status list_attribute(const struct nvdp__h5_value *value, void *user) {
    struct listing *listing = user;
    cr_assert_not_null(strstr(allowed, support_path(" %s ", value->name)),
                       "attribute %s has no place in a file that is given away", value->name);
    listing->count++;
    return NVDP_OK;
}

/* Opens the exported file. */
static struct nvdp__h5 *opened(const struct bench *bench, int format) {
    struct nvdp__h5 *file = NULL;
    ok(nvdp__h5_open(bench->ctx, bench->out, "embeddings", format, &file));
    return file;
}

static void holds_exactly(struct bench *bench, const char *datasets, size_t attributes) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = opened(bench, 2);
    struct listing found = {0}, named = {0};
    ok(nvdp__h5_list(file, list_dataset, &found));
    cr_assert_str_eq(found.text, datasets);
    ok(nvdp__h5_list_attributes(file, list_attribute, &named));
    cr_assert_eq(named.count, attributes, "found %zu attributes", named.count);
}

static const char *attribute(const struct bench *bench, int format, const char *name) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = opened(bench, format);
    char *text = NULL;
    ok(nvdp__h5_get_string(file, name, &text));
    return support_keep(text);
}

/* Checks that the bytes of a file do not contain a text. */
static void lacks(const char *path, const char *text) {
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    static char bytes[1 << 20];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    cr_assert_lt(size, sizeof bytes);
    cr_assert_null(memmem(bytes, size, text, strlen(text)), "'%s' is in %s", text, path);
}

Test(export, holds_the_samples_and_nothing_else) {
    struct bench bench = bench_open(&hidden_run, NULL);
    struct nvdp_export_result result = must_export(&bench);
    cr_assert_eq(result.texts, TASK_TRAIN + TASK_DEV);
    cr_assert_eq(result.samples, 1);
    cr_assert_eq(result.components, TASK_LENGTH + 1);
    cr_assert_eq(result.dim, 4);
    cr_assert_not_null(result.privacy);
    cr_assert_eq(result.privacy->pairs->texts, 30);
    holds_exactly(&bench, "id:i64:160 log_pi:i16:160:1:22 split:i32:160 z:i32:160:1:22:4 ",
                  ALLOWED);
    /* neither the texts nor any paths */
    static const char *const words[] = {"good", "bad ", "[CLS]", "/run", "train.tsv"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        lacks(bench.out, words[i]);
    lacks(bench.out, support_scratch());
}

/* Unless requested, the file has nothing that was computed from the texts without noise, in words or numbers.  It
 * has nothing that a digest of the model could confirm. */
Test(export, keeps_what_was_measured_for_the_owner) {
    struct bench bench = bench_open(&hidden_run, "publish-measured", NULL, NULL);
    struct nvdp_export_result result = must_export(&bench);
    cr_assert_not_null(result.privacy);
    cr_assert_gt(result.privacy->pairs->sum.max, 0);
    holds_exactly(&bench, "id:i64:160 log_pi:i16:160:1:22 split:i32:160 z:i32:160:1:22:4 ",
                  ALLOWED - 18);
    support_contains(result.statement, "What was measured on these texts is not published");
    support_lacks(result.statement, "nats and", "epsilon at", "omeone who has the model");
    cr_expect_gt(result.privacy->linkage->trials, 0);
    const char *id[2];
    for (int i = 0; i < 2; i++) {
        set(&bench, "overwrite", "true", NULL);
        if (i > 0) result = must_export(&bench);
        id[i] = attribute(&bench, 2, "model_id");
        cr_assert_eq(strlen(id[i]), 32);
        cr_assert_str_eq(attribute(&bench, 2, "statement"), result.statement);
    }
    cr_assert_str_neq(id[0], id[1]); /* equal with chance 2^-128 */
    char digest[65];
    const char *weights = support_path("%s/model/model.safetensors", bench.run);
    ok(nvdp__file_sha256(bench.ctx, weights, digest));
    lacks(bench.out, digest);
}

/* A statement claims private training only if the result of the training has a guarantee. */
Test(export, says_of_training_what_its_result_promises) {
    static const struct {
        const char *dp;
        bool private_;
    } runs[] = {
        {"{'dp': {'delta': 1e-5, 'pld': {'epsilon': 3}, 'insecure_seed': false}}", true},
        {"{'dp': {'delta': 1e-5, 'pld': {'epsilon': null}, 'insecure_seed': false}}", false},
        {"{'dp': {'delta': 1e-5, 'pld': {'epsilon': 3}, 'insecure_seed': true}}", false},
    };
    struct bench bench = bench_open(&hidden_run, "split", "dev", "overwrite", "true", NULL);
    /* options that ask for privacy */
    edit_json(support_path("%s/run.json", bench.run), "config/dp", "dp_batch", json_integer(8));
    const char *path = support_path("%s/result.json", bench.run);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        support_write_text(path, support_quoted(runs[i].dp));
        struct nvdp_export_result result = must_export(&bench);
        const char *says =
            runs[i].private_
                ? "Its owner states that this encoder was trained so, with epsilon 3 at delta 1e-05"
                : "this encoder was not trained so";
        support_contains(result.statement, says);
        if (runs[i].private_)
            support_contains(result.statement, "what it knew before is not part of that");
        else
            support_lacks(result.statement, "Its owner states");
    }
}

Test(export, says_little_where_little_was_asked) {
    struct bench bench = bench_open(&public_run, "measure-texts", "0", "split", "dev", NULL);
    struct nvdp_export_result result = must_export(&bench);
    cr_assert_null(result.privacy);
    support_contains(result.statement, "Nothing was measured on these texts.");
    /* without the 17 attributes of the measurement and the two of hidden lengths */
    const struct nvdp_shared *file = must_read(&bench);
    const char *datasets =
        support_path("id:i64:40 log_pi:i16:%zu offset:i64:41 split:i32:40 z:i32:%zu:4 ",
                     file->shape.rows, file->shape.rows);
    holds_exactly(&bench, datasets, ALLOWED - 18 - 2);
}

static float value_of(const struct nvdp_shared *file, size_t i) {
    float value;
    nvdp__embeddings_values(file, i, 1, &value);
    return value;
}

static void all_finite(const struct nvdp_shared *file) {
    for (size_t i = 0; i < file->shape.rows * file->shape.dim; i++)
        cr_assert(isfinite(value_of(file, i)));
}

/* Checks that weights sum to 1 and that all values are finite. */
static void samples_are_sound(const struct nvdp_shared *file) {
    const struct nvdp__embeddings_shape *shape = &file->shape;
    for (size_t k = 0; k < shape->texts * shape->samples; k++) {
        double whole = 0;
        for (int64_t r = file->offset[k]; r < file->offset[k + 1]; r++)
            whole += exp(file->log_pi[r]);
        /* every logarithm is rounded to a multiple of 2^-8, or in float16 to 11 bits, which is 2^-9 for large
         * weights */
        cr_assert_lt(fabs(whole - 1), 1e-2, "sample %zu: weights sum to %g", k, whole);
    }
    all_finite(file);
}

/* Sets numbers [first, first + count) of a parameter of the run's model to a value. */
static void poison(struct bench *bench, const char *name, size_t first, size_t count, float value) {
    nvdp__autoptr(nvdp_model_free) struct nvdp_model *model = NULL;
    const char *path = support_path("%s/model", bench->run);
    ok(nvdp_model_load(bench->ctx, path, &model));
    const size_t index = nvdp__params_find(&model->params, name);
    cr_assert_neq(index, SIZE_MAX, "%s", name);
    cr_assert_leq(first + count, model->params.entry[index].count);
    for (size_t i = first; i < first + count; i++)
        nvdp__value(&model->params, index)[i] = value;
    ok(nvdp__model_save(model, path, path));
}

static void warned(enum nvdp_log_level level, const char *message, void *user) {
    if (level == NVDP_LOG_WARNING && strstr(message, "not finite") != NULL) ++*(int *)user;
}

/* A refusal would reveal which texts make the model overflow, so each text gets a sample, also without a clip. */
Test(export, refuses_no_text_for_its_numbers) {
    static const struct run_choice runs[] = {
        {.method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 2, .epochs = 1},
        {.method = NVDP_METHOD_NVDP, .kappa = 1, .epochs = 1}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const bool nvdp = runs[i].method == NVDP_METHOD_NVDP;
        const char *bias = nvdp ? "nvib.mu.bias" : "vib.mu.bias",
                   *weight = nvdp ? "nvib.mu.weight" : "vib.mu.weight";
        struct bench bench = bench_open(&runs[i], "overwrite", "true", NULL);
        int warnings = 0;
        nvdp_context_set_log(bench.ctx, warned, &warnings);
        poison(&bench, bias, 0, 16, 3e38F);
        struct nvdp_export_result result = must_export(&bench);
        cr_expect(result.replaced == 0 && warnings == 0, "%zu: %zu", i, result.replaced);
        /* mean 0 of a token is 2e38 times its first four states, infinite if they exceed 1.7 */
        poison(&bench, bias, 0, 1, 0);
        poison(&bench, weight, 0, 16, 0);
        poison(&bench, weight, 0, 4, 2e38F);
        result = must_export(&bench);
        cr_expect(result.replaced > 0 && result.replaced <= result.texts, "%zu: %zu of %zu", i,
                  result.replaced, result.texts);
        cr_expect_gt(warnings, 0, "%zu", i);
        all_finite(must_read(&bench));
    }
}

Test(export, lays_samples_out_as_documented) {
    struct bench bench = bench_open(&hidden_run, "samples", "3", "with-labels", "true", NULL);
    struct nvdp_shared *file = exported(&bench);
    cr_assert_eq(file->shape.samples, 3);
    cr_assert_eq(file->shape.sample_rows, 22);
    cr_assert_eq(file->shape.kappa, 2);
    cr_assert_eq(file->heads, 2);
    cr_assert_str_eq(file->method, "nvdp");
    cr_assert_str_eq(file->task, "sst2");
    cr_assert_str_eq(file->label_names, "[\"0\",\"1\"]");
    samples_are_sound(file);
    for (size_t i = 0; i < file->shape.texts; i++) {
        bool train = i < TASK_TRAIN;
        cr_assert_eq(file->split[i], train ? 0 : 1);
        cr_assert_eq(file->id[i], (int64_t)(train ? i : i - TASK_TRAIN)); /* in the input's order */
        cr_assert_eq(file->label[i], (float)(train ? i % 2 : (i + 1) % 2));
    }
    /* row 3 of train and row 3 of dev are different texts with different noise, as are samples of one text */
    const size_t p = file->shape.dim;
    float prior[3][4];
    const size_t number[] = {3 * 3, 3 * 3 + 1, 3 * (3 + TASK_TRAIN)};
    cr_assert_eq(p, 4);
    for (int k = 0; k < 3; k++)
        nvdp__embeddings_values(file, (size_t)file->offset[number[k]] * p, p, prior[k]);
    cr_assert_neq(memcmp(prior[0], prior[1], sizeof prior[0]), 0);
    cr_assert_neq(memcmp(prior[0], prior[2], sizeof prior[0]), 0);
}

/* The bounds in the statement also hold for many samples and a small delta. */
Test(export, many_samples_at_a_small_delta) {
    struct bench bench = bench_open(&hidden_run, "samples", "40", "delta", "1e-7", NULL);
    struct nvdp_shared *file = exported(&bench);
    cr_assert_eq(file->shape.samples, 40);
}

Test(export, lays_ragged_samples_out_as_documented) {
    struct bench bench = bench_open(&public_run, "samples", "2", NULL);
    struct nvdp_shared *file = exported(&bench);
    cr_assert_eq(file->shape.policy, NVDP_LENGTH_PUBLIC);
    cr_assert_null(file->label);
    size_t shortest = SIZE_MAX, longest = 0;
    for (size_t i = 0; i < file->shape.texts; i++) {
        size_t rows = (size_t)(file->offset[2 * i + 1] - file->offset[2 * i]);
        cr_assert_eq((size_t)(file->offset[2 * i + 2] - file->offset[2 * i + 1]), rows);
        shortest = nvdp__min(rows, shortest);
        longest = nvdp__max(rows, longest);
    }
    cr_assert_eq(shortest, 1 + 2 + 3); /* prior, [CLS] and [SEP], three words */
    cr_assert_eq(longest, 1 + 2 + 6);
    samples_are_sound(file);
}

Test(export, reads_a_file_of_texts) {
    struct bench bench = bench_open(&hidden_run, NULL);
    const char *input = support_scratch_path("mine.tsv");
    support_write_text(input, "sentence\tlabel\ngood cat\t1\nbad sea\t0\nred one\t1\n");
    set(&bench, "input", input, "with-labels", "true", NULL);
    struct nvdp_export_result result = must_export(&bench);
    cr_assert_eq(result.texts, 3);
    struct nvdp_shared *file = must_read(&bench);
    cr_assert_null(file->split);
    cr_assert_eq(file->label[2], 1);
    cr_assert_eq(file->id[2], 2);
}

/* --- noise --- */

/* Older readers need float16, which is available on request, but not for a model whose bound assumes exact noise. */
Test(export, writes_float16_on_request) {
    struct bench bench = bench_open(&hidden_run, "split", "dev", "grid", "float16", NULL);
    struct nvdp_export_result result = must_export(&bench);
    support_contains(result.statement, "ends at 8.57 standard deviations");
    cr_assert_str_eq(attribute(&bench, 1, "grid"), "float16");
    samples_are_sound(must_read(&bench));
}

Test(export, says_that_its_noise_is_exact) {
    struct bench bench = bench_open(&hidden_run, "split", "dev", NULL);
    struct nvdp_export_result result = must_export(&bench);
    support_contains(result.statement, "Released values are exact Gaussian draws",
                     "rounded to a grid of 0.000244; rounding reveals nothing",
                     "The error of the weight sampler is at most 2.7");
}

static struct nvdp_shared *exported_to(struct bench *bench, const char *name) {
    bench->out = support_scratch_path(name);
    return exported(bench);
}

Test(export, takes_its_noise_from_the_system_or_says_so) {
    struct bench bench =
        bench_open(&hidden_run, "split", "dev", "insecure-seed", "1", "batch", "1", NULL);
    struct nvdp_shared *a = exported_to(&bench, "seeded-a.h5");
    cr_assert_str_eq(attribute(&bench, 2, "generator"), "insecure-seed");
    support_contains(attribute(&bench, 2, "statement"), "INSECURE");
    set(&bench, "batch", "40", NULL);
    struct nvdp_shared *b = exported_to(&bench, "seeded-b.h5");
    size_t values = a->shape.rows * a->shape.dim;
    size_t equal = 0;
    for (size_t i = 0; i < values; i++) {
        float x = value_of(a, i), y = value_of(b, i);
        /* sums in another order may move a value to its neighbor on the grid */
        cr_assert_lt(fabsf(x - y), 2e-3F * fmaxf(1, fabsf(x)));
        equal += x == y;
    }
    cr_assert_gt((double)equal, 0.98 * (double)values);
    set(&bench, "insecure-seed", NULL, NULL);
    struct nvdp_shared *c = exported_to(&bench, "secret-a.h5");
    struct nvdp_shared *d = exported_to(&bench, "secret-b.h5");
    equal = 0;
    for (size_t i = 0; i < values; i++)
        equal += (value_of(c, i) == value_of(d, i)) + (value_of(c, i) == value_of(a, i));
    /* two values of about 10^3 likely ones: by chance one in some hundreds is equal */
    cr_assert_lt((double)equal, 0.02 * (double)values);
}

/* With a seed, exports are bit-identical. */
Test(export, is_the_same_whatever_the_threads) {
    struct bench bench = bench_open(&hidden_run, NULL);
    struct nvdp_shared *file[2];
    set(&bench, "split", "dev", "insecure-seed", "1", NULL);
    for (int i = 0; i < 2; i++) {
        ok(nvdp_context_set_threads(bench.ctx, i == 0 ? 1 : 2));
        file[i] = exported_to(&bench, i == 0 ? "one.h5" : "two.h5");
    }
    const size_t rows = file[0]->shape.rows;
    cr_assert_arr_eq(file[0]->z, file[1]->z, rows * file[0]->shape.dim * sizeof(int32_t));
    cr_assert_arr_eq(file[0]->log_pi, file[1]->log_pi, rows * sizeof *file[0]->log_pi);
}

/* --- refusals --- */

/* Expects a refusal after more options: names and values, then NULL. */
static __attribute__((sentinel)) void refused(struct bench *bench, nvdp_status status,
                                              const char *message, ...) {
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    va_list options;
    va_start(options, message);
    support_set_list(bench->ctx, bench->config, options);
    va_end(options);
    support_set(bench->ctx, bench->config, "out", bench->out);
    fails(nvdp_export(bench->ctx, bench->config, &result), status, message);
}

Test(export, refuses_models_that_give_no_privacy) {
    static const struct run_choice base = {.method = NVDP_METHOD_BASE, .kappa = 1, .epochs = 1};
    static const struct run_choice clean = {
        .method = NVDP_METHOD_NVDP, .query = NVDP__QUERY_CLEAN, .kappa = 1, .epochs = 1};
    struct bench bench = bench_open(&base, NULL);
    refused(&bench, NVDP_ERR_ARGUMENT, "method base adds no noise", NULL);
    cr_assert_not(nvdp__exists(bench.out));
    task_run(bench.ctx, "run", &clean, NULL);
    refused(&bench, NVDP_ERR_ARGUMENT, "query clean", NULL);
    cr_assert_not(nvdp__exists(bench.out));
}

Test(export, refuses_inexact_noise_where_a_bound_is_claimed) {
    static const struct run_choice clipped = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 2, .epochs = 1};
    struct bench bench = bench_open(&clipped, "grid", "float16", NULL);
    refused(&bench, NVDP_ERR_ARGUMENT, "--grid: expected fixed for a model with --clip-sequence 2",
            NULL);
    cr_assert_not(nvdp__exists(bench.out));
}

Test(export, refuses_wrong_options) {
    struct bench bench = bench_open(&hidden_run, "split", "train,nothing", NULL);
    refused(&bench, NVDP_ERR_ARGUMENT, "split 'nothing'", NULL);
    refused(&bench, NVDP_ERR_ARGUMENT, "named twice", "split", "dev,dev", NULL);
    refused(&bench, NVDP_ERR_ARGUMENT, "expected at least one", "split", ",", NULL);
    refused(&bench, NVDP_ERR_ARGUMENT, "--input or --splits", "split", NULL, NULL);
    refused(&bench, NVDP_ERR_ARGUMENT, "expected a run with public texts, found one of method",
            "split", "test", "public-independent", "true", NULL);
    refused(&bench, NVDP_ERR_INPUT, "these texts have none", "public-independent", "false",
            "with-labels", "true", NULL);
    set(&bench, "with-labels", "false", NULL);
    support_refused(bench.ctx, bench.config, "samples", "0", "samples");
    support_refused(bench.ctx, bench.config, "batch", "0", "batch");
    refused(&bench, NVDP_ERR_ARGUMENT, "order", "order", "0", NULL);
    refused(&bench, NVDP_ERR_ARGUMENT, "delta", "order", "1.1", "delta", "0", NULL);
    refused(&bench, NVDP_ERR_IO, "/nowhere", "delta", "1e-5", "run", "/nowhere", NULL);
    refused(&bench, NVDP_ERR_ARGUMENT, "run", "run", NULL, NULL);
    cr_assert_not(nvdp__exists(bench.out));
}

Test(export, overwrites_only_on_request) {
    struct bench bench = bench_open(&hidden_run, "split", "test", "measure-texts", "4", NULL);
    support_write_text(bench.out, "precious");
    refused(&bench, NVDP_ERR_ARGUMENT, "the file exists", NULL);
    char *kept = support_read(bench.out);
    cr_assert_str_eq(kept, "precious");
    set(&bench, "overwrite", "true", NULL);
    cr_assert_eq(must_export(&bench).texts, 6);
    set(&bench, "overwrite", "false", NULL);
    bench.out = support_scratch_path("other.h5");
    refused(&bench, NVDP_ERR_ARGUMENT, "not empty", "model-out", bench.run, NULL);
}

static bool stop(void *user) {
    int *left = user;
    return --*left < 0;
}

static void write_there(const struct nvdp_progress *progress, void *user) {
    const struct bench *bench = user;
    (void)progress;
    support_write_text(bench->out, "theirs");
}

/* If another file appears meanwhile, no card is written: it would describe the wrong file. */
Test(export, leaves_no_card_without_its_file) {
    struct bench bench = bench_open(&hidden_run, NULL);
    const char *card = support_scratch_path("README.md");
    set(&bench, "split", "test", "card", card, NULL);
    nvdp_context_set_progress(bench.ctx, write_there, &bench);
    refused(&bench, NVDP_ERR_ARGUMENT, "the file exists", NULL);
    cr_expect_not(nvdp__exists(card));
    nvdp_context_set_progress(bench.ctx, NULL, NULL);
    set(&bench, "overwrite", "true", NULL);
    must_export(&bench);
    cr_expect(nvdp__exists(card));
}

/* The ledger, the account of all releases, is not replaced even with --overwrite. */
Test(export, never_replaces_its_ledger) {
    struct bench bench = bench_open(&hidden_run, "split", "test", "overwrite", "true", "ledger",
                                    support_scratch_path("ledger"), "ledger-key",
                                    support_scratch_path("ledger.key"), NULL);
    must_export(&bench);
    bench.out = support_scratch_path("ledger");
    refused(&bench, NVDP_ERR_ARGUMENT, "out: expected a file or folder other than the input", NULL);
    cr_assert_eq(symlink("ledger.key", support_scratch_path("link")), 0);
    bench.out = support_scratch_path("link");
    refused(&bench, NVDP_ERR_ARGUMENT, "out: expected a file or folder other than the input", NULL);
    bench.out = support_scratch_path("again.h5");
    refused(&bench, NVDP_ERR_ARGUMENT, "card: expected a file or folder other than the input",
            "card", bench.out, NULL);
}

Test(export, leaves_nothing_when_stopped) {
    struct bench bench = bench_open(&hidden_run, "measure-texts", "0", NULL);
    int left = 3;
    nvdp_context_set_cancel(bench.ctx, stop, &left);
    refused(&bench, NVDP_ERR_CANCELLED, "cancelled", NULL);
    cr_assert_not(nvdp__exists(bench.out));
}

Test(export, survives_failing_allocations) {
    struct bench bench = bench_open(&hidden_run, NULL);
    const char *model = support_scratch_path("public");
    set(&bench, "split", "test", "model-out", model, "overwrite", "true", "out", bench.out, NULL);
    for (uint64_t k = 1;; k += 1 + k / 24) {
        nvdp__fail_allocation(bench.ctx, k);
        nvdp_status status = nvdp_export(bench.ctx, bench.config, NULL);
        if (status == NVDP_OK) break;
        cr_assert_eq(status, NVDP_ERR_MEMORY, "allocation %d: %s", (int)k,
                     nvdp_context_error(bench.ctx));
        cr_assert_not(nvdp__exists(bench.out));
    }
}

/* --- the public model --- */

/* From the file alone, the public model computes the sender's outputs for the same sample. */
static void public_model_reads(const struct run_choice *choice) {
    const char *directory = support_scratch_path(choice->clip_sequence > 0 ? "public2" : "public");
    struct bench bench =
        bench_open(choice, "overwrite", "true", "split", "test", "model-out", directory, NULL);
    struct nvdp_shared *file = exported(&bench);
    struct nvdp__reader *reader = NULL;
    ok(nvdp__reader_load(bench.ctx, directory, 0, false, 1, &reader));
    ok(nvdp__reader_plan(reader, 6, file->shape.sample_rows, false));
    static const size_t samples[] = {0, 1, 2, 3, 4, 5};
    nvdp__reader_fill(reader, file, 6, samples);
    ok(nvdp__reader_forward(reader));

    nvdp__autoptr(nvdp_model_free) struct nvdp_model *model = NULL;
    ok(nvdp_model_load(bench.ctx, support_path("%s/model", bench.run), &model));
    ok(nvdp__model_plan(model, 6, TASK_LENGTH, false));
    const struct nvdp__sample sample = {6,
                                        reader->rows,
                                        file->shape.dim,
                                        reader->offset,
                                        reader->z,
                                        file->log_pi != NULL ? reader->log_pi : NULL};
    float *pooled = NULL;
    ok(model->bottleneck.mechanism->forward_sample(model->bottleneck.self, &model->dev,
                                                   &model->params, &sample, &pooled));
    cr_assert_arr_eq(pooled, reader->pooled, 6 * file->shape.dim * sizeof(float));
    nvdp__reader_free(reader);
}

Test(export, public_model_reads_as_the_sender_does) {
    public_model_reads(&hidden_run);
    public_model_reads(&(struct run_choice){
        .method = NVDP_METHOD_NVDP, .clip_sequence = 2, .latent_dim = 4, .epochs = 1});
}

Test(export, public_model_has_the_public_part_alone) {
    const char *directory = support_scratch_path("public");
    struct bench bench = bench_open(&hidden_run, "split", "test", "model-out", directory, NULL);
    must_export(&bench);
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *weights = NULL;
    const char *path = support_path("%s/model.safetensors", directory);
    ok(nvdp__safetensors_open(bench.ctx, path, &weights));
    cr_assert_eq(nvdp__safetensors_count(weights), 18);
    for (size_t i = 0; i < 18; i++) {
        const char *name = nvdp__safetensors_at(weights, i)->name;
        cr_assert(strncmp(name, "nvdp.", 5) == 0 || strncmp(name, "classifier.", 11) == 0, "%s",
                  name);
    }
    cr_assert_not(nvdp__exists(support_path("%s/vocab.txt", directory)));
}

/* --- statements --- */

Test(statement, rounds_up) {
    static const double cases[][2] = {{1.234567, 1.24}, {1.23, 1.23},        {99.91, 100},
                                      {0, 0},           {1e-7, 1e-7},        {-1.239, -1.23},
                                      {123456, 124000}, {INFINITY, INFINITY}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_assert_eq(nvdp__public_number(cases[i][0]), cases[i][1], "%g became %.17g", cases[i][0],
                     nvdp__public_number(cases[i][0]));
    cr_assert(isnan(nvdp__public_number(NAN)));
}

static struct nvdp__release_facts long_facts(const struct nvdp__model_info *info) {
    struct nvdp__release_facts facts = {.info = info,
                                        .training_epsilon = NAN,
                                        .form = {.weights = true},
                                        .texts = 123456789,
                                        .samples = 65536,
                                        .labels = true,
                                        .insecure_seed = true,
                                        .measured = true,
                                        .publish = true,
                                        .delta = 1.234567e-10};
    static struct nvdp_pairs_summary pairs = {.order = 1.0101010101,
                                              .texts = 20000,
                                              .pairs = 399980000,
                                              .infinite = 123456,
                                              .sum = {.max = INFINITY, .mean = 1.23e100}};
    static struct nvdp_bdp_column best = {.worst.epsilon = INFINITY};
    static struct nvdp_linkage linkage;
    facts.privacy.pairs = &pairs;
    facts.privacy.bdp.best = facts.privacy.bdp.published = &best;
    facts.privacy.linkage = &linkage;
    facts.privacy.bdp.small_population = true;
    ok(nvdp__release_guarantee(NULL, &facts));
    return facts;
}

/* People who know no mathematics read statements: at most ten lines. */
static void has_few_lines(const char *text) {
    size_t lines = 1;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    cr_expect_leq(lines, 10, "%s", text);
}

/* Returns the statement, which must fit and have few lines. */
static const char *statement_of(const struct nvdp__release_facts *facts) {
    char *text = support_keep(calloc(1, NVDP_STATEMENT_SIZE));
    nvdp__statement(facts, NVDP_STATEMENT_SIZE, text);
    cr_assert_lt(strlen(text), NVDP_STATEMENT_SIZE - 1, "cut: %s", text);
    has_few_lines(text);
    return text;
}

Test(statement, is_whole_and_honest) {
    struct nvdp__model_info info = {.method = NVDP_METHOD_NVDP};
    info.nvib = nvdp__nvib_config_default();
    info.nvib.length = 65536;
    struct nvdp__release_facts facts = long_facts(&info);
    const char *text = statement_of(&facts);
    cr_assert_eq(text[strlen(text) - 1], '.');
    static const char *const said[] = {"65536 random samples of each of 123456789 texts",
                                       "mechanism nvdp",
                                       "hidden",
                                       "exact labels",
                                       "Measured on these texts, not proven for others",
                                       "two of 20000 texts",
                                       "order 1.0101",
                                       "at most infinite",
                                       "of the pairs infinite",
                                       "; of 65536 samples at most infinite",
                                       "epsilon infinite",
                                       "not proven for others",
                                       "maybe on some of these texts",
                                       "this encoder was not trained so",
                                       "No guarantee",
                                       "INSECURE",
                                       "floating point"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        support_contains(text, said[i]);
}

/* Returns the facts of a certified file: any two texts, C = 1.45274, epsilon 16. */
static struct nvdp__release_facts certified_facts(struct nvdp__model_info *info, double clip,
                                                  double grid) {
    struct nvdp__release_grids *grids = support_keep(malloc(sizeof *grids));
    *grids = nvdp__release_grids(grid);
    *info = (struct nvdp__model_info){.method = NVDP_METHOD_VIB_FIXED, .task.name = "sst2"};
    info->nvib = nvdp__nvib_config_default();
    info->nvib.clip.sequence = clip;
    struct nvdp__release_facts facts = {.info = info,
                                        .training_epsilon = NAN,
                                        .form = {.single = true},
                                        .texts = 200,
                                        .samples = 1,
                                        .grids = grids,
                                        .bound_order = 1.1,
                                        .limits = {.struct_size = sizeof facts.limits,
                                                   .method = "vib-fixed",
                                                   .noise = true,
                                                   .sealed = true,
                                                   .rows = 1,
                                                   .dim = 16,
                                                   .kappa = 1,
                                                   .same_noise = true,
                                                   .clip_sequence = clip,
                                                   .clip_mu = INFINITY}};
    ok(nvdp__release_certify(ctx, &facts));
    cr_assert(facts.certified);
    return facts;
}

static void first_line(struct nvdp__release_facts *facts, bool useful, const char *line) {
    ok(nvdp__release_guarantee(NULL, facts));
    cr_expect_eq(facts->useful, useful, "%s", facts->guarantee);
    cr_expect_str_eq(facts->guarantee, line);
    const char *text = statement_of(facts);
    cr_expect_eq(strncmp(text, facts->guarantee, strlen(facts->guarantee)), 0, "%s", text);
}

/* A certificate's delta of one text or more in the whole file is explained. */
Test(statement, explains_a_delta_above_one_in_all_texts) {
    struct nvdp__model_info info;
    struct nvdp__release_facts facts = certified_facts(&info, 1.45274, 1);
    for (int many = 0; many < 2; many++) {
        facts.texts = many ? 1000000 : 99999;
        ok(nvdp__release_guarantee(NULL, &facts));
        cr_expect_eq(nvdp__release_exposed(&facts), many ? 10 : 0);
        const bool says =
            strstr(statement_of(&facts),
                   "Delta is for each text: for 1000000 texts, delta 1e-05 alone would allow 10 of "
                   "them to be exposed on average. This mechanism publishes no text") != NULL;
        cr_expect_eq(says, many);
    }
    facts.training_epsilon = 3;
    facts.training_delta = 1e-6;
    facts.certified = false;

    cr_expect_eq(nvdp__release_exposed(&facts), 0);
    support_contains(statement_of(&facts),
                     "with epsilon 3 at delta 1e-06 for one training example (zero-out, for exact "
                     "arithmetic, which the training's noise lacks)");
}

/* A guarantee is useful if epsilon is at most 100, and if the right one of 100 texts is named at most half of the time. */
Test(statement, begins_with_the_guarantee) {
    struct nvdp__model_info info;
    struct nvdp__release_facts facts = certified_facts(&info, 1.45274, 1);
    first_line(&facts, true,
               "Proven: epsilon 16.01 at delta 1e-05, one sample, any two texts. Not covered: the "
               "texts that the encoder was trained on.");
    for (int pair = 0; pair < 2; pair++) {
        info.task.pair = pair;
        const char *text = statement_of(&facts);
        cr_expect_eq(strstr(text, " pairs of texts, drawn by") != NULL, pair);
        cr_expect_eq(strstr(text, "the samples of all pairs in which a text occurs add up") != NULL,
                     pair);
    }
    for (int counted = 0; counted < 2; counted++) { /* the ledger's sums have no noise */
        facts.counted = counted;
        const char *text = statement_of(&facts);
        support_contains(text,
                         counted ? "\nThe sender's ledger counts this file. All samples of a "
                                 : "\nNo ledger counts this file. All samples of a ",
                         "k rows have sqrt(k) times its mu. 2 rows together: epsilon 25.29 at "
                         "delta 1e-05; 10 rows together: epsilon 80.58 at delta 1e-05. ");
        support_lacks(text, "shared before");
    }
    facts.certified = false;
    first_line(&facts, false, "No guarantee over all texts: nothing is proven of these samples.");
    facts.insecure_seed = true;
    first_line(&facts, false,
               "No guarantee: the noise comes from a seed, and whoever knows the seed can remove "
               "the noise.");
    static const struct {
        double clip;
        const char *epsilon, *share;
    } useless[] = {{6, "122.4", "100"}, {2.668, "36.27", "54.2"}};
    for (size_t i = 0; i < 2; i++) {
        facts = certified_facts(&info, useless[i].clip, 1);
        first_line(
            &facts, false,
            support_path("No useful guarantee: epsilon %s at delta 1e-05, one sample, is proven "
                         "for any two texts; somebody who has the model and 100 equally likely "
                         "texts may name the right one more than half of the time (at most %s %%).",
                         useless[i].epsilon, useless[i].share));
    }
    facts.labels =
        true; /* without them, the 100 texts are equally likely; with them, they are not */
    support_contains(statement_of(&facts), "named 2/N of the time without its sample, not 1/N.\n");
}

/* Checks that every number that the pattern's group matches is written alike, and is not below the exact value. */
static void one_number(const char *text, const char *pattern, size_t min, double exact) {
    regex_t expression;
    regmatch_t match[2];
    char first[32] = "", number[32];
    size_t found = 0;
    cr_assert_eq(regcomp(&expression, pattern, REG_EXTENDED), 0);
    for (; regexec(&expression, text, 2, match, 0) == 0; text += match[0].rm_eo, found++) {
        snprintf(number, sizeof number, "%.*s", (int)(match[1].rm_eo - match[1].rm_so),
                 text + match[1].rm_so);
        if (found == 0) memcpy(first, number, sizeof first);
        cr_expect_str_eq(number, first, "%s", pattern);
        cr_expect_geq(strtod(number, NULL), exact * (1 - 1e-9), "%s: %s", pattern, number);
        cr_expect_leq(strtod(number, NULL), exact * 1.001, "%s: %s", pattern, number);
    }
    regfree(&expression);
    cr_expect_geq(found, min, "%s: found %zu times in %s", pattern, found, text);
}

/* A norm was once printed as "1.46 at most" and elsewhere as "1.45274". */
Test(statement, writes_one_quantity_one_way) {
    static const double clips[] = {1.45274, 0.333333, 3.0000004, 5};
    struct nvdp__model_info info;
    for (size_t i = 0; i < sizeof clips / sizeof *clips; i++) {
        struct nvdp__release_facts facts = certified_facts(&info, clips[i], clips[i]);
        nvdp__autofree char *proof = NULL;
        ok(nvdp__release_guarantee(ctx, &facts));
        ok(nvdp__certificate_statement(ctx, &facts.certificate, &proof));
        const char *text = statement_of(&facts);
        for (int k = 0; k < 2; k++) {
            if (facts.useful) one_number(k == 0 ? text : proof, "[(]C = ([0-9.]+)[)]", 1, clips[i]);
            one_number(k == 0 ? text : proof, "epsilon ([0-9.]+) at delta 1e-05, one sample", 1,
                       facts.certificate.epsilon);
        }
        one_number(proof, "norm C = ([0-9.]+)", 1, clips[i]);
        one_number(proof, "mu = ([0-9.]+)", 1, facts.certificate.mu);
        has_few_lines(proof);
        facts.certified = false; /* then the clip's bound stands in the statement */
        text = statement_of(&facts);
        one_number(text, "have norm ([0-9.]+)", 1, clips[i]);
        one_number(text, "more than ([0-9.]+) nats", 1, nvdp__release_bound(&facts));
    }
}

/* --- the training of the encoder --- */

/* The warning in the log, and whether a file existed by then. */
struct warned {
    const char *out;
    char text[600];
    bool late;
};

static void take_warning(enum nvdp_log_level level, const char *message, void *user) {
    struct warned *warned = user;
    if (level != NVDP_LOG_WARNING || warned->text[0] != '\0') return;
    snprintf(warned->text, sizeof warned->text, "%s", message);
    warned->late = nvdp__exists(warned->out);
}

Test(export, says_which_texts_the_encoder_was_trained_on) {
    static const struct {
        const char *split, *training, *says;
    } cases[] = {
        {"train", "all", "By their splits, which are public, it was trained on these texts. "},
        {"train,dev", "some",
         "By their splits, which are public, it was trained on some of these texts. "},
        {"dev,test", "maybe", "It was trained on task sst2, maybe on some of these texts. "},
        {NULL, "maybe", "It was trained on task sst2, maybe on some of these texts. "}};
    struct bench bench = bench_open(&hidden_run, NULL);
    const char *input = support_scratch_path("mine.tsv");
    support_write_text(input, "sentence\tlabel\ngood cat\t1\nbad sea\t0\n");
    set(&bench, "overwrite", "true", "measure-texts", "0", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set(&bench, "split", cases[i].split, NULL);
        if (cases[i].split == NULL) set(&bench, "input", input, NULL);
        struct nvdp_export_result result = must_export(&bench);
        cr_expect_str_eq(result.training_texts, cases[i].training);
        support_contains(result.statement, cases[i].says,
                         "Not covered: what the encoder reveals about its training texts. ",
                         "Only training with differential privacy limits that");
        const struct nvdp_verification found = share_verified(bench.ctx, bench.out, NULL);
        cr_expect(found.holds);
        cr_expect_str_eq(found.training_texts, cases[i].training);
        cr_expect_str_eq(found.statement, result.statement);
        bool checked = false;
        for (size_t k = 0; k < found.checks; k++)
            checked |=
                strstr(found.check[k].what, "training texts agree with the splits") != NULL &&
                found.check[k].verdict == NVDP_VERDICT_YES;
        cr_expect(checked);
    }
}

Test(export, warns_before_it_writes) {
    static const struct run_choice certified = {
        .method = NVDP_METHOD_VIB_FIXED, .kappa = 1, .clip_sequence = 1, .epochs = 1};
    struct bench bench = bench_open(&hidden_run, "split", "test", NULL);
    struct warned warned = {.out = bench.out};
    nvdp_context_set_log(bench.ctx, take_warning, &warned);
    struct nvdp_export_result result = must_export(&bench);
    cr_expect_not(warned.late);
    cr_expect_not(result.useful);
    cr_expect_str_eq(warned.text,
                     "No guarantee over all texts: nothing is proven of these samples.");
    cr_expect_str_eq(result.guarantee, warned.text);
    support_contains(result.statement, warned.text);
    task_run(bench.ctx, "run", &certified, NULL);
    set(&bench, "overwrite", "true", "no-ledger", "true", "budget-samples", NULL, NULL);
    nvdp_context_set_log(bench.ctx, take_warning, &warned);
    warned.text[0] = '\0';
    result = must_export(&bench);
    cr_expect(result.useful);
    cr_expect_str_empty(warned.text);
    support_contains(result.guarantee, "Proven: epsilon 9.99");
}

/* Copies the attributes of a file, except those that two exports of the same texts do not share either. */
static nvdp_status list_value(const struct nvdp__h5_value *value, void *user) {
    struct listing *listing = user;
    static const char *const own[] = {"created", "public_key", "signature"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(value->name, own[i]) == 0) return NVDP_OK;
    const size_t used = strlen(listing->text);
    snprintf(listing->text + used, sizeof listing->text - used, "%s=%s\n", value->name,
             value->text);
    return NVDP_OK;
}

static void values_of(struct bench *bench, struct listing *out) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = opened(bench, 2);
    *out = (struct listing){0};
    ok(nvdp__h5_list_attributes(file, list_value, out));
    cr_assert_lt(strlen(out->text), sizeof out->text - 1);
}

/* Two inputs that differ in one text give files with the same attributes and the same samples of the other texts: whatever
 * the text repeats or was shared before. With 100 texts at C 2.668 one text once decided the first line. */
Test(export, one_text_changes_nothing_but_its_own_sample) {
    enum { TEXTS = 100 };
    static const char *const last[] = {"good cat of the sea", "w0 w1 good", "bad", ""};
    static const struct run_choice certified = {
        .method = NVDP_METHOD_VIB_FIXED, .kappa = 1, .clip_sequence = 2.668, .epochs = 1};
    for (int insecure = 0; insecure < 2; insecure++) {
        const struct nvdp_shared *first = NULL;
        struct listing before = {0}, now;
        const char *line = "";
        for (size_t k = 0; k < sizeof last / sizeof *last; k++) {
            struct bench bench = bench_open(&certified, NULL);
            const char *input = support_scratch_path("neighbour.tsv");
            char text[TEXTS * 64] = "sentence\tlabel\n";
            for (int i = 0; i < TEXTS - 1; i++)
                sprintf(text + strlen(text), "%s cat %s%d%d\t1\n", i % 2 > 0 ? "good" : "bad",
                        i % 3 > 0 ? "sea" : "", i / 10, i % 10);
            sprintf(text + strlen(text), "%s\t0\n",
                    last[k][0] != '\0' ? last[k] : "good cat sea11");
            support_write_text(input, text);
            set(&bench, "split", NULL, "input", input, "publish-measured", NULL, "measure-texts",
                k == 2 ? "2" : "100", "model-id", "0123456789abcdef0123456789abcdef", "overwrite",
                "true", "insecure-seed", insecure > 0 ? "7" : NULL, NULL);
            if (k % 2 > 0) must_export(&bench); /* shared before */
            struct nvdp_export_result result = must_export(&bench);
            values_of(&bench, &now);
            const struct nvdp_shared *file = must_read(&bench);
            if (k > 0) {
                cr_expect_str_eq(now.text, before.text);
                cr_expect_str_eq(result.guarantee, line);
                if (insecure > 0)
                    cr_expect_arr_eq(file->z, first->z,
                                     (TEXTS - 1) * file->shape.dim *
                                         nvdp__embeddings_item(&file->shape));
            }
            if (insecure == 0)
                support_contains(result.guarantee, "No useful guarantee: epsilon 36.2");
            before = now;
            line = support_path("%s", result.guarantee);
            first = file;
        }
    }
}

/* The run, its file and the checks of the file give one verdict, whatever was measured. */
Test(export, run_and_file_have_one_verdict) {
    static const double clips[] = {2.2, 2.668, 5};
    for (size_t i = 0; i < sizeof clips / sizeof *clips; i++) {
        const struct run_choice certified = {
            .method = NVDP_METHOD_VIB_FIXED, .kappa = 1, .clip_sequence = clips[i], .epochs = 1};
        struct bench bench = bench_open(&certified, NULL);
        struct nvdp_guarantee run = NVDP_RESULT(struct nvdp_guarantee);
        ok(nvdp_run_guarantee(bench.ctx, bench.run, &run));
        set(&bench, "overwrite", "true", NULL);
        for (int texts = 0; texts < 2; texts++) {
            set(&bench, "measure-texts", texts == 0 ? "2" : "1000", NULL);
            const struct nvdp_export_result result = must_export(&bench);
            const struct nvdp_verification found = share_verified(bench.ctx, bench.out, NULL);
            cr_expect(found.holds);
            cr_expect_eq(result.useful, nvdp__guarantee_is_useful(&run), "C %g", clips[i]);
            cr_expect_eq(found.useful, result.useful);
            cr_expect_eq(result.useful, nvdp_guess_bound(.01, clips[i], 1, result.dim) <= .5);
            cr_expect_str_eq(found.guarantee, result.guarantee);
        }
        cr_expect_eq(nvdp__guarantee_is_useful(&run), clips[i] < 2.3);
    }
}

Test(statement, honours_the_source_date) {
    char date[32];
    setenv("SOURCE_DATE_EPOCH", "86400", 1);
    ok(nvdp__creation_date(ctx, date));
    cr_assert_str_eq(date, "1970-01-02T00:00:00Z");
    static const char *const wrong[] = {"yesterday", "-1", "99999999999999999999", "86400 "};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("SOURCE_DATE_EPOCH", wrong[i], 1);
        fails(nvdp__creation_date(ctx, date), NVDP_ERR_ARGUMENT, wrong[i]);
        cr_assert_gt(strcmp(date, "2024"), 0);
    }
    unsetenv("SOURCE_DATE_EPOCH");
}
