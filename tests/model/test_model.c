/* Tests a model on disk and in use: saving and loading restores it, and results depend only on
 * the texts. */
#include "model_test.h"

#include "test_context.h"

static const char vocabulary[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nred\ngreen\nblue\nwarm\ncold\n";
enum { PIECES = 10, TEXTS = 9 };
static const char *const texts[TEXTS] = {"red",           "green blue", "warm",
                                         "cold cold red", "blue",       "red green blue warm",
                                         "cold",          "warm warm",  "green"};

static struct nvdp__model_info info_for(enum nvdp_method method) {
    static const char *const labels[] = {"no", "yes", "maybe"};
    struct nvdp__model_info info = {.method = method, .max_length = 8, .outputs = 3};
    info.bert = bert_of(.hidden = 16, .layers = 2, .heads = 4, .inner = 24, .pieces = PIECES,
                        .longest = 12);
    info.nvib = nvdp__nvib_config_default();
    info.nvib.length = 8;
    info.nvib.alpha_tau = 0;
    info.nvib.kappa = 2;
    info.nvib.vib.sigma = 0.25;
    info.nvib.vib.vtdp_pool = NVDP__VTDP_POOL_FIRST;
    ok(nvdp__method_resolve(ctx, method, &info.bert, &info.nvib));
    info.task = (struct nvdp_task){
        .id = NVDP_TASK_TSV, .name = "tsv", .classes = 3, .labels = labels, .metrics = 1};
    info.columns.text_column = "text";
    info.columns.label_column = "label";
    return info;
}

/* Builds, initializes, saves and loads a model. */
static struct nvdp_model *saved_and_loaded(enum nvdp_method method, const char *directory) {
    struct nvdp__model_info info = info_for(method);
    struct nvdp_model *loaded = NULL;
    nvdp__autoptr(nvdp_model_free) struct nvdp_model *model = NULL;
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *tokenizer = NULL;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    const char *source = support_scratch();
    support_file("vocab.txt", vocabulary);
    ok(nvdp_tokenizer_load(ctx, source, &tokenizer));
    ok(nvdp_dataset_from_texts(ctx, tokenizer, 8, TEXTS, texts, NULL, &dataset));
    ok(nvdp__model_build(ctx, &info, true, &model));
    nvdp__model_initialise(model, 5);
    ok(nvdp__model_plan(model, 32, 8, false));
    ok(nvdp__model_initialise_bottleneck(model, dataset, 5));
    ok(nvdp__model_save(model, directory, source));
    ok(nvdp_model_load(ctx, directory, &loaded));
    cr_assert_eq(loaded->params.total, model->params.total);
    cr_assert_arr_eq(loaded->params.value, model->params.value,
                     model->params.total * sizeof(float));
    return support_keep(loaded);
}

Test(model, what_is_saved_comes_back) {
    struct nvdp_model *model = saved_and_loaded(NVDP_METHOD_NVDP, support_scratch_path("model"));
    const struct nvdp__model_info *info = &model->info;
    cr_assert_eq(info->method, NVDP_METHOD_NVDP);
    cr_assert_eq(info->nvib.kappa, 2);
    cr_assert_eq(info->nvib.length, 8);
    cr_assert_eq(info->nvib.pool, NVDP_POOL_FIRST);
    cr_assert(isinf(info->nvib.clip.mu_radius));
    cr_assert_eq(info->outputs, 3);
    cr_assert_str_eq(info->task.labels[2], "maybe");
    cr_assert_str_eq(info->columns.text_column, "text");
    cr_assert_null(info->columns.text_pair_column);
    cr_assert_eq(strlen(info->fingerprint), 64);
}

Test(model, tells_what_it_is) {
    struct nvdp_model *model = saved_and_loaded(NVDP_METHOD_NVDP, support_scratch_path("model"));
    struct nvdp_model_info info = NVDP_RESULT(struct nvdp_model_info);
    ok(nvdp_model_info(ctx, model, &info));
    cr_expect_eq(info.method, NVDP_METHOD_NVDP);
    cr_expect_str_eq(info.task, "tsv");
    cr_expect(info.outputs == 3 && info.kappa == 2 && info.length == 8);
    cr_expect_eq(info.latent_dim, info.hidden_size);
    cr_expect_str_eq(info.labels[2], "maybe");
    cr_expect_eq(strlen(info.fingerprint), 64);
    info.struct_size = 0;
    cr_expect_eq(nvdp_model_info(ctx, model, &info), NVDP_ERR_ARGUMENT);
}

/* A file without newer keys gets their defaults. */
Test(model, gaussian_methods_come_back_also_without_newer_keys) {
    const char *directory = support_scratch_path("model");
    const char *path = support_path("%s/config.json", directory);
    for (int older = 0; older < 2; older++) {
        struct nvdp_model *model = saved_and_loaded(NVDP_METHOD_VTDP, directory);
        if (older) {
            char *text = support_read(path);
            memcpy(strstr(text, "vib_sigma"), "was_other", 9);
            support_write_text(path, text);
            ok(nvdp_model_load(ctx, directory, &model));
            support_keep(model);
        }
        const struct nvdp__model_info *info = &model->info;
        cr_expect_eq(info->method, NVDP_METHOD_VTDP);
        cr_expect_eq(info->nvib.vib.sigma, older ? 0.55 : 0.25);
        cr_expect_eq(info->nvib.vib.vtdp_pool, NVDP__VTDP_POOL_FIRST);
        cr_expect_eq(info->nvib.pool, NVDP_POOL_FIRST);
        cr_expect_eq(info->nvib.kappa, 1);
    }
}

static struct nvdp_dataset *dataset_of(const struct nvdp_model *model) {
    struct nvdp_dataset *dataset = NULL;
    ok(nvdp_dataset_from_texts(ctx, nvdp_model_tokenizer(model), 8, TEXTS, texts, NULL, &dataset));
    return support_keep(dataset);
}

/* Noise is keyed by text, so batches of any size draw the same noise. Matrix products of other
 * shapes may round differently, so outputs agree to float32 rounding, not bit for bit. */
Test(model, outputs_do_not_depend_on_the_batch) {
    struct nvdp_model *model = saved_and_loaded(NVDP_METHOD_NVDP, support_scratch_path("model"));
    struct nvdp_dataset *dataset = dataset_of(model);
    float one[TEXTS * 3], all[TEXTS * 3], other[TEXTS * 3];
    ok(nvdp__model_predict(model, dataset, 1, 7, 0, 1, one));
    ok(nvdp__model_predict(model, dataset, 4, 7, 0, 1, all));
    ok(nvdp__model_predict(model, dataset, 4, 7, 1, 1, other));
    double moved = 0;
    for (int i = 0; i < TEXTS * 3; i++) {
        near(one[i], all[i], 1e-5);
        moved += fabs(all[i] - other[i]);
    }
    cr_assert_gt(moved, 1e-3, "another draw is other noise");
}

Test(model, posteriors_describe_every_text) {
    struct nvdp_model *model = saved_and_loaded(NVDP_METHOD_NVDP, support_scratch_path("model"));
    struct nvdp_dataset *dataset = dataset_of(model);
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *p = NULL;
    ok(nvdp_model_posteriors(ctx, model, dataset, 4, &p));
    cr_assert_eq(p->texts, TEXTS);
    cr_assert_eq(p->dim, 16);
    cr_assert_eq(p->kappa, 2);
    cr_assert_eq(p->length, 8);
    near(p->pad_alpha, 1.0 / 9, 1e-15);
    for (size_t i = 0; i <= TEXTS; i++)
        cr_assert_eq(p->offset[i], dataset->offset[i]);
    /* a text's posterior does not depend on the batch */
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *other_batch = NULL;
    ok(nvdp_model_posteriors(ctx, model, dataset, 1, &other_batch));
    for (size_t r = 0; r < p->offset[TEXTS]; r++)
        near(p->alpha[r], other_batch->alpha[r], 1e-5 * p->alpha[r]);
}

Test(model, base_has_no_posterior) {
    struct nvdp_model *model = saved_and_loaded(NVDP_METHOD_BASE, support_scratch_path("model"));
    struct nvdp_dataset *dataset = dataset_of(model);
    struct nvdp_posteriors *p = NULL;
    cr_assert_eq(nvdp_model_posteriors(ctx, model, dataset, 4, &p), NVDP_ERR_ARGUMENT);
    cr_assert_null(p);
    support_contains(nvdp_context_error(ctx), "base");
}

/* Replaces the first occurrence of `from` in config.json and expects loading to fail with `words`.
 */
static void refuses_edit(const char *directory, const char *from, const char *to,
                         const char *words) {
    const char *path = support_path("%s/config.json", directory);
    char *text = support_read(path);
    char *at = strstr(text, from);
    cr_assert_not_null(at, "%s not in %s", from, text);
    support_write_text(path,
                       support_path("%.*s%s%s", (int)(at - text), text, to, at + strlen(from)));
    struct nvdp_model *model = NULL;
    fails(nvdp_model_load(ctx, directory, &model), NVDP_ERR_INPUT, words);
    support_write_text(path, text);
}

/* Without these keys transformers assumes two outputs. */
Test(model, outputs_are_told_to_transformers) {
    const char *directory = support_scratch_path("model");
    const char *path = support_path("%s/config.json", directory);
    saved_and_loaded(NVDP_METHOD_BASE, directory);
    const json_t *config = support_json(path);
    cr_assert_eq(json_object_size(json_object_get(config, "id2label")), 3);
    support_has(config, "{'id2label/2': 'maybe', 'label2id/yes': 1, "
                        "'problem_type': 'single_label_classification'}");
}

Test(model, damaged_configurations_are_refused_by_key) {
    const char *directory = support_scratch_path("model");
    saved_and_loaded(NVDP_METHOD_NVDP, directory);
    refuses_edit(directory, "\"nvdp\":", "\"other\":", "nvdp");
    refuses_edit(directory, "\"version\": 1", "\"version\": 9", "version");
    refuses_edit(directory, "\"hidden\"", "\"secret\"", "length_policy");
    refuses_edit(directory, "\"maybe\"", "17", "labels");
    refuses_edit(directory, "\"tsv\"", "\"sst3\"", "sst3");
    refuses_edit(directory, "\"outputs\": 3", "\"outputs\": 4", "labels");
}

Test(model, methods_are_found_by_name) {
    enum nvdp_method method = NVDP_METHOD_BASE;
    ok(nvdp_method_find(ctx, "nvdp", &method));
    cr_assert_eq(method, NVDP_METHOD_NVDP);
    cr_assert_eq(nvdp_method_find(ctx, "nvpd", &method), NVDP_ERR_ARGUMENT);
    cr_assert_eq(method, NVDP_METHOD_NVDP);
    cr_assert_str_eq(nvdp_method_name(NVDP_METHOD_VIB_LEARNED), "vib-learned");
}
