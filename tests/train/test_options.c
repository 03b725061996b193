/* Tests the table of training's options, row by row: each row's values hold wherever the option
 * is used. */
#include "train_test.h"

#include "test_context.h"

static struct nvdp_config *fresh(void) {
    return support_config(ctx, "train", NULL);
}

/* Returns a value that differs from the default. */
static void another(const struct nvdp_option *row, char text[64]) {
    double usual = row->default_value != NULL ? strtod(row->default_value, NULL) : 0;
    bool bounded = row->min != 0 || row->max != 0;
    if (row->traits & NVDP_TRAIT_PRESET) {
        snprintf(text, 64, "per-nat");
        return;
    }
    switch (row->type) {
    case NVDP_OPTION_FLAG:
        snprintf(text, 64, "true");
        return;
    case NVDP_OPTION_CHOICE:
        snprintf(text, 64, "%s",
                 row->choices[strcmp(row->choices[0], row->default_value) == 0 ? 1 : 0]);
        return;
    case NVDP_OPTION_REAL:
        snprintf(text, 64, "%g", usual == 0.5 || !(row->max > 0.5) ? 0.25 : 0.5);
        return;
    case NVDP_OPTION_INTEGER:
    case NVDP_OPTION_SEED:
        snprintf(text, 64, "%.0f", bounded && usual + 1 > row->max ? usual - 1 : usual + 1);
        return;
    default:
        snprintf(text, 64, "another");
        return;
    }
}

Test(options, every_row_is_whole_and_its_default_fits) {
    struct nvdp_config *config = fresh();
    static const size_t width[] = {
        [NVDP_OPTION_FLAG] = sizeof(bool),   [NVDP_OPTION_SEED] = sizeof(uint64_t),
        [NVDP_OPTION_REAL] = sizeof(double), [NVDP_OPTION_TEXT] = sizeof(char *),
        [NVDP_OPTION_LIST] = sizeof(char *), [NVDP_OPTION_CHOICE] = sizeof(int)};
    for (size_t i = 0; i < nvdp_config_count(config); i++) {
        const struct nvdp_option *row = nvdp_config_option(config, i);
        cr_expect_not_null(row->help, "%s", row->name);
        cr_expect_eq(row->placeholder == NULL, row->type == NVDP_OPTION_FLAG, "%s", row->name);
        cr_expect_eq(row->choices != NULL, row->type == NVDP_OPTION_CHOICE, "%s", row->name);
        if (row->sets != NULL) continue;
        cr_expect(row->type == NVDP_OPTION_INTEGER
                      ? row->width == sizeof(int) || row->width == sizeof(size_t)
                      : row->width == width[row->type],
                  "%s fills %zu bytes", row->name, row->width);
        cr_expect_eq(nvdp_config_set(config, row->name, row->default_value), NVDP_OK, "%s: %s",
                     row->name, nvdp_context_error(ctx));
    }
}

Test(options, what_is_set_is_got_and_set_again) {
    for (size_t i = 0;; i++) {
        struct nvdp_config *config = fresh();
        const struct nvdp_option *row = nvdp_config_option(config, i);
        char value[64];
        if (row == NULL) break;
        another(row, value);
        cr_assert_eq(nvdp_config_set(config, row->name, value), NVDP_OK, "%s: %s", row->name,
                     nvdp_context_error(ctx));
        cr_expect_str_eq(nvdp_config_get(config, row->name), value);
        ok(nvdp_config_set(config, row->name, value));
        cr_expect_str_eq(nvdp_config_get(config, row->name), value);
        cr_expect(nvdp_config_is_set(config, row->name));
    }
}

/* Writes all options to JSON, reads them with the public reader and as run.json, and writes them
 * again. */
Test(options, files_keep_every_value) {
    struct nvdp_config *config = fresh(), *copied = fresh();
    const char *path = support_scratch_path("options.json");
    nvdp__autofree char *text = NULL, *same = NULL;
    for (size_t i = 0; i < nvdp_config_count(config); i++) {
        const struct nvdp_option *row = nvdp_config_option(config, i);
        char value[64];
        another(row, value);
        if (row->sets == NULL) ok(nvdp_config_set(config, row->name, value));
    }
    ok(nvdp_config_json(config, &text));
    support_write_text(path, text);
    ok(nvdp_config_load(copied, path));
    ok(nvdp_config_json(copied, &same));
    cr_expect_str_eq(text, same);
    struct nvdp__train_options read = nvdp__train_defaults();
    nvdp__autoptr(json_decref) json_t *object = json_loads(text, 0, NULL);
    ok(nvdp__schema_read(ctx, path, object, &nvdp__train_schema, &read));
    nvdp__autoptr(json_decref) json_t *written = nvdp__schema_json(&nvdp__train_schema, &read);
    cr_expect(json_equal(object, written));
}

Test(options, texts_that_no_json_file_holds_are_named) {
    struct nvdp_config *config = support_config(ctx, "train", "task", "sst2", "data", "d", "model",
                                                "m", "out", "run-\xe9", NULL);
    char *text = NULL;
    fails(nvdp_config_check(config), NVDP_ERR_ARGUMENT, "out: expected a value in UTF-8");
    fails(nvdp_config_json(config, &text), NVDP_ERR_ARGUMENT, "out: expected a value in UTF-8");
}

Test(options, resuming_refuses_a_change_exactly_where_it_affects_the_result) {
    for (size_t i = 0;; i++) {
        struct nvdp_config *config = fresh();
        const struct nvdp_option *row = nvdp_config_option(config, i);
        struct nvdp__train_options run = nvdp__train_defaults();
        char value[64];
        if (row == NULL) break;
        another(row, value);
        run.task = "sst2";
        ok(nvdp_config_set(config, row->name, value));
        nvdp_status status = nvdp__config_continue(ctx, config, &nvdp__train_schema, &run);
        bool affects = (row->traits & NVDP_TRAIT_NO_EFFECT) == 0;
        cr_expect_eq(status, affects ? NVDP_ERR_ARGUMENT : NVDP_OK, "%s", row->name);
        if (affects) support_contains(nvdp_context_error(ctx), "keeps its configuration");
    }
}

/* The same through nvdp_train, on a finished run. */
Test(options, a_resumed_run_compares) {
    struct nvdp__train_options options = task_options(ctx, NVDP_METHOD_BASE, "run");
    nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    options.epochs = 1;
    task_train(ctx, &options);
    struct nvdp_config *config = fresh();
    ok(nvdp_config_set(config, "resume", options.out));
    ok(nvdp_config_set(config, "log-every", "7"));
    cr_assert_eq(nvdp_config_set(config, "lr", "1e-2"), NVDP_OK, "the run's own");
    ok(nvdp_train(ctx, config, &result));
    ok(nvdp_config_set(config, "lr", "2e-2"));
    fails(nvdp_train(ctx, config, &result), NVDP_ERR_ARGUMENT,
          "option --lr: a resumed run keeps its");
    ok(nvdp_config_set(config, "lr", NULL));
    ok(nvdp_config_set(config, "out", "elsewhere"));
    fails(nvdp_train(ctx, config, &result), NVDP_ERR_ARGUMENT,
          "option --out: a resumed run keeps its");
}

Test(options, a_plan_resolves_a_copy) {
    struct task task = task_make(ctx);
    struct nvdp_config *config =
        support_config(ctx, "train", "task", "sst2", "data", task.data, "model", task.model, "out",
                       "nowhere", "max-length", "10", NULL);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *resolved = NULL;
    struct nvdp_train_plan plan = NVDP_RESULT(struct nvdp_train_plan);
    ok(nvdp_train_plan(ctx, config, &resolved, &plan));
    cr_assert_eq(plan.train_texts, 108);
    cr_assert_str_eq(nvdp_config_get(config, "length"), "0");
    cr_assert_str_eq(nvdp_config_get(resolved, "length"), "10");
    cr_assert_str_eq(nvdp_config_get(resolved, "latent-dim"), "16");
    cr_assert_str_neq(nvdp_config_get(resolved, "pool"), "auto");
}

/* --- presets --- */

/* Options of the preset file that the tests write. */
static const char preset_text[] =
    "{\"description\": \"ours\", \"lambda\": 0.25, \"nvib\": {\"delta\": 3}, "
    "\"regularizer\": \"kl\", \"kl-delay\": 0.05}";

static void expect(const struct nvdp_config *config, const char *name, const char *value) {
    cr_expect_str_eq(nvdp_config_get(config, name), value, "%s", name);
}

/* Other frameworks get the options of a bottleneck as training resolves them. */
Test(options, a_bottleneck_resolves_without_a_model) {
    struct nvdp_config *config = fresh();
    struct nvdp_limits limits = NVDP_RESULT(struct nvdp_limits);
    nvdp__autofree char *made = NULL;
    char *none = NULL;
    ok(nvdp_config_set(config, "certified-epsilon", "8"));
    ok(nvdp_config_set(config, "max-length", "20"));
    ok(nvdp_bottleneck_resolve(ctx, config, 64, 4, &limits, &made));
    cr_expect_eq(limits.rows, 20);
    cr_expect_eq(limits.dim, 64);
    cr_expect(limits.same_noise && !limits.weights);
    near(2 * limits.clip_sequence, nvdp_gdp_mu(8, 1e-5), 1e-9);
    support_contains(made, "\"pool\": \"first\"", "\"lambda_g\": 0");
    ok(nvdp_config_set(config, "latent-dim", "65"));
    cr_expect_eq(nvdp_bottleneck_resolve(ctx, config, 64, 4, &limits, &none), NVDP_ERR_ARGUMENT);
    ok(nvdp_config_set(config, "latent-dim", "0"));
    ok(nvdp_config_set(config, "method", "reg"));
    fails(nvdp_bottleneck_resolve(ctx, config, 64, 4, NULL, &none), NVDP_ERR_ARGUMENT, "found reg");
    cr_expect_null(none);
}

Test(presets, stand_where_nothing_was_given_whatever_the_order) {
    const char *path = support_file("ours.json", preset_text);
    for (int first = 0; first < 2; first++) {
        struct nvdp_config *config = fresh();
        nvdp__autoptr(nvdp_config_free) struct nvdp_config *copy = NULL;
        if (first == 0) ok(nvdp_config_set(config, "preset", path));
        ok(nvdp_config_set(config, "lambda-g", "0.5"));
        ok(nvdp_config_load_text(config, "text", "{\"delta\": 0}"));
        if (first == 1) ok(nvdp_config_set(config, "preset", path));
        expect(config, "lambda-g", "0.5");
        expect(config, "lambda-d", "0.25");
        expect(config, "delta", "0");
        expect(config, "kl-delay", "0.05");      /* not the value that kl implies */
        expect(config, "kl-schedule", "warmup"); /* the value that kl implies */
        cr_expect(nvdp_config_is_preset(config, "lambda-d"));
        cr_expect_not(nvdp_config_is_set(config, "lambda-d"));
        cr_expect_not(nvdp_config_is_preset(config, "lambda-g"));
        cr_expect_not(nvdp_config_is_preset(config, "lambda"), "one of the two was given");
        cr_expect_not(nvdp_config_is_preset(config, "delta"));
        cr_expect_not(nvdp_config_is_preset(config, "kl-schedule"));
        cr_expect_not(nvdp_config_is_preset(config, "nothing"));
        ok(nvdp_config_copy(config, &copy));
        ok(nvdp_config_set(copy, "delta", NULL));
        expect(copy, "delta", "3"); /* back to the preset's value */
        ok(nvdp_config_set(copy, "preset", NULL));
        expect(copy, "lambda-g", "0.5");
        expect(copy, "lambda-d", "0.01");
        expect(copy, "delta", "0");
        expect(copy, "regularizer", "published");
        expect(copy, "kl-schedule", "constant");
        expect(copy, "kl-delay", "0.2");
        expect(config, "lambda-d", "0.25");
    }
}

Test(presets, that_come_with_the_library_hold_and_are_recorded) {
    size_t i = 0;
    const char *text = NULL;
    for (; nvdp_preset(i, &text) != NULL; i++) {
        const char *name = nvdp_preset(i, NULL);
        struct nvdp_config *config = fresh();
        nvdp__autofree char *written = NULL;
        cr_assert_eq(nvdp_config_set(config, "preset", name), NVDP_OK, "%s: %s", name,
                     nvdp_context_error(ctx));
        const char *const needed[] = {"task", "data", "model", "out"};
        for (int k = 0; k < 4; k++)
            ok(nvdp_config_set(config, needed[k], "rte"));
        ok(nvdp_config_check(config));
        ok(nvdp_config_json(config, &written));
        nvdp__autoptr(json_decref) json_t *object = json_loads(text, 0, NULL),
                                          *saved = json_loads(written, 0, NULL);
        cr_expect_gt(json_string_length(json_object_get(object, "description")), 10);
        cr_expect_str_eq(text_at(saved, "preset"), name);
        json_object_del(object, "description");
        const char *key;
        json_t *value;
        json_object_foreach(object, key, value)
            cr_expect(nvdp_config_is_preset(config, key), "%s", key);
    }
    cr_expect_geq(i, 1);
}

static void noticed(enum nvdp_log_level level, const char *message, void *user) {
    if (level == NVDP_LOG_NOTICE && strstr(message, "gives no guarantee over all texts") != NULL)
        ++*(int *)user;
}

/* The old name "private" could be read as a guarantee. It still works with a notice and is
 * recorded under the present name; older runs have it. */
Test(presets, an_old_name_goes_on) {
    struct nvdp_config *old = fresh(), *present = fresh();
    int notices = 0;
    nvdp_context_set_log(ctx, noticed, &notices);
    ok(nvdp_config_set(present, "preset", "per-nat"));
    cr_expect_eq(notices, 0);
    ok(nvdp_config_set(old, "preset", "private"));
    cr_expect_eq(notices, 1);
    for (size_t i = 0; i < nvdp_config_count(old); i++) {
        const char *name = nvdp_config_option(old, i)->name;
        const char *a = nvdp_config_get(old, name), *b = nvdp_config_get(present, name);
        cr_expect(a == b || (a != NULL && b != NULL && strcmp(a, b) == 0), "%s", name);
    }
    struct nvdp__train_options options = nvdp__train_defaults();
    nvdp__autoptr(json_decref) json_t *run = json_pack("{s:s}", "preset", "private");
    ok(nvdp__schema_read(ctx, "run.json", run, &nvdp__train_schema, &options));
    cr_expect_str_eq(options.preset, "per-nat");
}

Test(presets, faults_are_named_and_change_nothing) {
    struct nvdp_config *config = fresh();
    const char *path = support_file("ours.json", preset_text);
    ok(nvdp_config_set(config, "preset", path));
    static const struct {
        const char *text, *message;
        nvdp_status status;
    } cases[] = {
        {"{\"lambda\": 1, \"modle\": 2}", "unknown key 'modle'; did you mean 'model'?",
         NVDP_ERR_ARGUMENT},
        {"{\"lambda\": 1, \"delta\": -2}", "delta: expected 0 to 100000, found -2",
         NVDP_ERR_ARGUMENT},
        {"{\"lambda\": 1, \"epochs\": \"x\"}", "key 'epochs': expected a whole number",
         NVDP_ERR_ARGUMENT},
        {"{\"lambda\": 1, \"preset\": \"private\"}", "a preset cannot name another",
         NVDP_ERR_ARGUMENT},
        {"{\"lambda\": 1, \"description\": 1}", "unknown key 'description'", NVDP_ERR_ARGUMENT},
        {"[1]", "expected an object of options", NVDP_ERR_INPUT},
    };
    const char *bad = support_scratch_path("bad.json");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        support_write_text(bad, cases[i].text);
        cr_expect_eq(nvdp_config_set(config, "preset", bad), cases[i].status, "%s", cases[i].text);
        support_contains(nvdp_context_error(ctx), "bad.json: ", cases[i].message);
        expect(config, "preset", support_scratch_path("ours.json"));
        expect(config, "lambda", "0.25");
        expect(config, "delta", "3");
    }
    cr_expect_eq(nvdp_config_set(config, "preset", "./nowhere"), NVDP_ERR_IO);
    fails(nvdp_config_set(config, "preset", "list"), NVDP_ERR_ARGUMENT,
          "per-nat (a price per nat of divergence, and no guarantee");
    support_contains(nvdp_context_error(ctx), "found 'list'");
}

/* A preset of a run is recorded with its options and equals those options given one by one. */
Test(presets, train_as_their_options_do) {
    struct task task = task_make(ctx);
    const char *out[2];
    const char *path = support_file("ours.json", preset_text);
    for (int i = 0; i < 2; i++) {
        nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
        out[i] = support_scratch_path(i == 0 ? "preset" : "single");
        struct nvdp_config *config =
            support_config(ctx, "train", "task", "sst2", "data", task.data, "epochs", "1", "model",
                           task.model, "max-length", "10", "batch", "8", "out", out[i], NULL);
        support_options(ctx, config, "%s",
                        i == 0 ? support_path("preset %s", path)
                               : "lambda 0.25 delta 3 regularizer kl kl-delay 0.05");
        ok(nvdp_train(ctx, config, &result));
    }
    cr_expect(support_same_file(out[0], out[1], "model/model.safetensors"));
    const char *file = support_path("%s/run.json", out[0]);
    char *text = support_read(file);
    support_contains(text, "\"preset\": \"", "\"kl_delay\": 0.05");
}
