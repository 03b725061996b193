/* Tests whole pretraining runs on small generated texts. */
#include "toy_corpus.h"

#include "model/model.h"

/* The words that follow from a subject are learned, far better than word frequencies (accuracy
 * about .12, the share of the most frequent word; perplexity about 25). */
Test(pretrain, learns_masked_tokens) {
    struct nvdp_context *ctx = toy_context();
    const char *text = toy_text("train.txt", 300, 1);
    const char *held = toy_text("held.txt", 60, 2);
    struct nvdp__pretrain_options config = toy_options(
        &text, support_scratch_path("learn"), "hidden 32 steps 400 batch 32 eval-every 200");
    config.eval_text = &held;
    config.eval_texts = 1;
    struct nvdp_pretrain_result result = toy_train(ctx, &config);
    cr_assert_eq(result.steps, 400);
    cr_assert_gt(result.eval->accuracy, 0.5);
    cr_assert_lt(result.eval->perplexity, 6);
    cr_assert_float_eq(result.eval->perplexity, exp(result.eval->nll), 1e-9);
    cr_assert_float_eq(result.loss, result.eval->nll, 0.6); /* the same language */
    cr_assert_eq(result.coverage->unknown, 0);
    cr_assert(result.coverage->pieces_per_word >= 1 && result.coverage->pieces_per_word < 1.2);
    /* Scores the same windows and masks with the saved model. */
    struct nvdp__mlm_options eval;
    nvdp__schema_default(&nvdp__mlm_schema, &eval);
    struct nvdp_mlm_scores scores;
    eval.model = config.out;
    eval.text = &held;
    eval.texts = 1;
    eval.length = config.length;
    eval.batch = 7;
    ok(nvdp__mlm_evaluate(ctx, &eval, &scores));
    cr_assert_eq(scores.masked, result.eval->masked);
    cr_assert_float_eq(scores.nll, result.eval->nll, 1e-5); /* other batches, other roundings */
    cr_assert_float_eq(scores.accuracy, result.eval->accuracy, 2e-3);
}

/* Documents keep to one of five subjects, so most random segments can be recognized: .8 here,
 * where always predicting the more frequent class gives about .55. */
Test(pretrain, learns_what_follows) {
    const char *text = toy_topics("train.txt", 300, 1);
    struct nvdp__pretrain_options config = toy_options(
        &text, support_scratch_path("next"),
        "objective mlm+nsp hidden 32 layers 2 steps 400 batch 32 length 40 lr 3e-3 log-every 100");
    toy_train(toy_context(), &config);
    char *lines = support_read(support_scratch_path("next/metrics.jsonl"));
    const char *last = lines;
    for (const char *at = lines; (at = strstr(at, "{\"event\":\"step\"")) != NULL; at++)
        last = at;
    const char *accuracy = strstr(last, "\"next_accuracy\":");
    cr_assert_not_null(accuracy);
    cr_assert_gt(strtod(strchr(accuracy, ':') + 1, NULL), 0.7, "%s", last);
}

struct stopper {
    uint64_t step, stop_at;
};

static void watch(const struct nvdp_progress *progress, void *user) {
    struct stopper *stopper = user;
    if (strcmp(progress->phase, "pretrain") == 0) stopper->step = progress->done;
}

static bool stop(void *user) {
    const struct stopper *stopper = user;
    return stopper->step >= stopper->stop_at;
}

Test(pretrain, one_process_trains_in_a_folder) {
    struct nvdp_context *ctx = toy_context();
    const char *text = toy_text("train.txt", 30, 1), *out = support_scratch_path("held");
    struct nvdp__pretrain_options config = toy_config(&text, out);
    DIR *lock = NULL;
    ok(nvdp__outdir_lock(ctx, out, &lock));
    fails(toy_status(ctx, &config), NVDP_ERR_STATE,
          "held: another process is writing to this folder");
    cr_expect(nvdp__directory_empty(out));
    nvdp__outdir_unlock(lock);
}

/* Stops and continues a run, and expects the same bits: weights, and every line of metrics.jsonl
 * except the speed. */
static void check_resume(enum nvdp__objective objective, enum nvdp_precision precision) {
    struct nvdp_context *ctx = toy_context();
    if (precision == NVDP_PRECISION_BF16) support_bf16(ctx);
    const char *text = toy_text("train.txt", 30, 1);
    const char *whole = support_scratch_path("whole");
    const char *parts = support_scratch_path("parts");
    struct nvdp__pretrain_options config = toy_config(&text, whole);
    config.objective = objective;
    config.precision = precision;
    config.hidden = 64; /* heads of 32, as bf16 requires */
    config.dropout = 0.1;
    config.steps = 50; /* some epochs */
    struct nvdp_pretrain_result once = toy_train(ctx, &config);
    config.out = parts;
    struct stopper stopper = {.stop_at = 1};
    struct nvdp_pretrain_result result;
    nvdp_status status = NVDP_ERR_CANCELLED;
    nvdp_context_set_progress(ctx, watch, &stopper);
    nvdp_context_set_cancel(ctx, stop, &stopper);
    int stops = 0;
    while (status == NVDP_ERR_CANCELLED) {
        status = toy_try(ctx, &config, &result);
        stopper.stop_at = stopper.step + 13;
        if (status == NVDP_ERR_CANCELLED)
            cr_assert_not_null(strstr(nvdp_context_error(ctx), "--resume"));
        stops += status == NVDP_ERR_CANCELLED;
        config = (struct nvdp__pretrain_options){.resume = parts};
        usleep(110000); /* progress is reported ten times per second */
    }
    ok(status);
    cr_assert_geq(stops, 1);
    cr_assert_eq(once.tokens, result.tokens);
    cr_assert_eq(once.loss, result.loss);
    cr_assert(support_same_file(whole, parts, "model.safetensors"));
    cr_assert(support_same_file(whole, parts, "vocab.txt"));
}

Test(pretrain, resumes_to_the_same_bits) {
    check_resume(NVDP__OBJECTIVE_MLM, NVDP_PRECISION_F32);
}

Test(pretrain, resumes_pairs_to_the_same_bits) {
    check_resume(NVDP__OBJECTIVE_MLM_NSP, NVDP_PRECISION_F32);
}

Test(pretrain, resumes_in_bf16_to_the_same_bits) {
    check_resume(NVDP__OBJECTIVE_MLM, NVDP_PRECISION_BF16);
}

/* Precision changes only the rounding: after the same steps on the same masks the losses agree
 * to a few per cent. */
Test(pretrain, learns_the_same_in_bf16) {
    struct nvdp_context *ctx = toy_context();
    support_bf16(ctx);
    const char *text = toy_text("train.txt", 100, 1);
    struct nvdp_pretrain_result result[2];
    for (int i = 0; i < 2; i++) {
        struct nvdp__pretrain_options config =
            toy_options(&text, support_scratch_path(i == 0 ? "f32" : "bf16"),
                        "hidden 64 intermediate 128 lr 2e-3 steps 400");
        config.precision = i == 0 ? NVDP_PRECISION_F32 : NVDP_PRECISION_BF16;
        result[i] = toy_train(ctx, &config);
    }
    cr_assert_eq(result[0].tokens, result[1].tokens);
    cr_assert_lt(result[0].loss, 2.6, "%g", result[0].loss); /* word frequencies: about 3.2 */
    cr_assert_float_eq(result[1].loss / result[0].loss, 1, 0.05, "%g %g", result[0].loss,
                       result[1].loss);
}

Test(pretrain, a_changed_text_cannot_be_resumed) {
    struct nvdp_context *ctx = toy_context();
    const char *text = toy_text("train.txt", 30, 1);
    struct nvdp__pretrain_options config =
        toy_options(&text, support_scratch_path("changed"), "steps 1");
    toy_train(ctx, &config);
    toy_text("train.txt", 30, 2);
    config.resume = config.out;
    fails(toy_status(ctx, &config), NVDP_ERR_INPUT,
          "expected the same text as at the beginning of the run");
}

/* A second run with another length from the first one's directory begins with the loss at which
 * that ended. */
Test(pretrain, starts_from_a_model) {
    struct nvdp_context *ctx = toy_context();
    const char *text = toy_text("train.txt", 200, 1);
    const char *first = support_scratch_path("first");
    struct nvdp__pretrain_options config = toy_options(&text, first, "steps 300 batch 32");
    struct nvdp_pretrain_result before = toy_train(ctx, &config);
    config =
        toy_options(&text, support_scratch_path("second"), "length 40 steps 10 lr 1e-5 dtype f16");
    config.init = first;
    struct nvdp_pretrain_result after = toy_train(ctx, &config);
    cr_assert_eq(after.vocab_size, before.vocab_size);
    cr_assert_eq(after.parameters, before.parameters);
    cr_expect_eq(after.drawing_seconds, 0);      /* nothing is drawn */
    cr_assert_lt(after.loss, before.loss + 0.5); /* untrained: log 47 = 3.9 */
    cr_assert(support_same_file(first, config.out, "vocab.txt"));
    for (int resumed = 0; resumed < 2; resumed++) { /* the record of the first training is kept */
        json_t *json = NULL;
        ok(nvdp__json_read(ctx, support_scratch_path("second/config.json"), &json));
        const json_t *init = support_at(json, "nvdp_pretraining/init");
        cr_assert_str_eq(text_at(init, "name"), "first");
        cr_assert_eq(integer_at(json_object_get(init, "pretraining"), "steps"), 300);
        json_decref(json);
        config.resume = config.out;
        toy_train(ctx, &config);
    }
}

/* Checks that the tensors whose names begin with `same` are equal in both directories and that
 * all others differ. */
static void compare(struct nvdp_context *ctx, const char *before, const char *after,
                    const char *const *same) {
    struct nvdp__safetensors *file[2] = {NULL};
    const char *const directory[2] = {before, after};
    for (int i = 0; i < 2; i++) {
        const char *path = support_path("%s/model.safetensors", directory[i]);
        ok(nvdp__safetensors_open(ctx, path, &file[i]));
    }
    for (size_t t = 0; t < nvdp__safetensors_count(file[0]); t++) {
        const struct nvdp__tensor_info *info = nvdp__safetensors_at(file[0], t);
        const struct nvdp__tensor_info *other = nvdp__safetensors_find(file[1], info->name);
        nvdp__autofree float *x = calloc(info->count, sizeof *x),
                             *y = calloc(info->count, sizeof *y);
        nvdp__safetensors_read_f32(info, x);
        nvdp__safetensors_read_f32(other, y);
        bool stays = false;
        for (size_t i = 0; same[i] != NULL; i++)
            stays |= strncmp(info->name, same[i], strlen(same[i])) == 0;
        const bool equal = memcmp(x, y, info->count * sizeof *x) == 0;
        /* Keys' biases have only a gradient of rounding. */
        if (strstr(info->name, "key.bias") == NULL) cr_expect_eq(equal, stays, "%s", info->name);
    }
    nvdp__safetensors_close(file[0]);
    nvdp__safetensors_close(file[1]);
}

/* Frozen layers keep the bits of the start model, and the layers above are trained. A stopped
 * run continues to the same bits, unless the start model changed in the meantime. */
Test(pretrain, frozen_layers_stay) {
    static const char *const kept[2][6] = {
        {"bert.embeddings.", "bert.encoder.layer.0.", "bert.pooler.", "cls.seq_relationship."},
        {"bert.embeddings.", "bert.encoder.", "bert.pooler.", "cls.seq_relationship."}};
    struct nvdp_context *ctx = toy_context();
    const char *text = toy_text("train.txt", 30, 1);
    const char *first = support_scratch_path("first");
    const char *whole = support_scratch_path("whole");
    const char *parts = support_scratch_path("parts");
    struct nvdp__pretrain_options start = toy_config(&text, first);
    toy_set(&start, "layers 2 steps 5");
    toy_train(ctx, &start);
    for (size_t layers = 1; layers <= 2; layers++) {
        struct nvdp__pretrain_options config =
            toy_options(&text, whole, "dropout 0.1 steps 30 overwrite true");
        config.init = first;
        config.freeze_layers = layers;
        struct nvdp_pretrain_result once = toy_train(ctx, &config);
        compare(ctx, first, whole, kept[layers - 1]);
        config.out = parts;
        struct stopper stopper = {.stop_at = 1};
        nvdp_context_set_progress(ctx, watch, &stopper);
        nvdp_context_set_cancel(ctx, stop, &stopper);
        cr_assert_eq(toy_status(ctx, &config), NVDP_ERR_CANCELLED);
        nvdp_context_set_progress(ctx, NULL, NULL);
        nvdp_context_set_cancel(ctx, NULL, NULL);
        const struct nvdp__pretrain_options resumed = {.resume = parts};
        cr_expect_eq(toy_train(ctx, &resumed).loss, once.loss);
        cr_expect(support_same_file(whole, parts, "model.safetensors"));
    }
    toy_set(&start, "seed 2 overwrite true");
    toy_train(ctx, &start);
    const struct nvdp__pretrain_options resumed = {.resume = parts};
    fails(toy_status(ctx, &resumed), NVDP_ERR_INPUT,
          "first: expected the same frozen layers as at the beginning of the run");
}

/* The output is a BertForPreTraining directory: its tensors, its configuration, its types. */
Test(pretrain, writes_a_hugging_face_directory) {
    struct nvdp_context *ctx = toy_context();
    const char *text = toy_text("train.txt", 30, 1);
    struct nvdp__pretrain_options config =
        toy_options(&text, support_scratch_path("hf"), "steps 2 dtype f16");
    toy_train(ctx, &config);
    struct nvdp__safetensors *file = NULL;
    ok(nvdp__safetensors_open(ctx, support_scratch_path("hf/model.safetensors"), &file));
    static const struct {
        const char *name;
        size_t rows, cols; /* 0: one dimension */
    } want[] = {{"bert.embeddings.word_embeddings.weight", 0, 16},
                {"bert.embeddings.position_embeddings.weight", 128, 16},
                {"bert.pooler.dense.weight", 16, 16},
                {"cls.predictions.transform.dense.weight", 16, 16},
                {"cls.predictions.transform.dense.bias", 16, 0},
                {"cls.predictions.transform.LayerNorm.weight", 16, 0},
                {"cls.predictions.transform.LayerNorm.bias", 16, 0},
                {"cls.predictions.bias", 0, 0},
                {"cls.seq_relationship.weight", 2, 16},
                {"cls.seq_relationship.bias", 2, 0}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const struct nvdp__tensor_info *info = nvdp__safetensors_find(file, want[i].name);
        cr_assert_not_null(info, "%s", want[i].name);
        cr_assert_eq(info->dtype, NVDP__DTYPE_F16);
        cr_assert_eq(info->rank, want[i].cols > 0 ? 2 : 1);
        if (want[i].rows > 0) cr_assert_eq(info->shape[0], want[i].rows);
    }
    cr_assert_str_eq(nvdp__safetensors_metadata(file, "format"), "pt");
    nvdp__safetensors_close(file);
    nvdp__autoptr(json_decref) json_t *json = NULL;
    ok(nvdp__json_read(ctx, support_scratch_path("hf/config.json"), &json));
    support_has(json, "{'architectures/0': 'BertForPreTraining', 'torch_dtype': 'float16'}");
    const json_t *from = json_object_get(json, "nvdp_pretraining");
    const json_t *source = support_at(from, "text/0");
    char digest[65];
    ok(nvdp__file_sha256(ctx, text, digest));
    cr_assert_str_eq(text_at(source, "name"), "train.txt");
    cr_assert_str_eq(text_at(source, "sha256"), digest);
    cr_assert_eq(integer_at(from, "steps"), 2);
}

/* Draws depend only on the seed, not on threads: the first step's loss is the same up to
 * rounding, and so are the masked tokens. */
Test(pretrain, draws_the_same_on_one_thread_and_two) {
    struct nvdp_context *ctx = toy_context();
    const char *text = toy_text("train.txt", 100, 1);
    struct nvdp_pretrain_result result[2];
    for (int i = 0; i < 2; i++) {
        struct nvdp__pretrain_options config =
            toy_options(&text, support_scratch_path(i == 0 ? "one" : "two"), "steps 5");
        nvdp_context_set_threads(ctx, i + 1);
        result[i] = toy_train(ctx, &config);
    }
    cr_assert_eq(result[0].tokens, result[1].tokens);
    cr_assert_eq(result[0].masked, result[1].masked);
    cr_assert_float_eq(result[0].loss, result[1].loss, 1e-4);
}

Test(pretrain, bad_configurations_are_refused) {
    struct nvdp_context *ctx = toy_context();
    const char *text = toy_text("train.txt", 30, 1), *nowhere = "nowhere.txt";
    const struct nvdp__pretrain_options good = toy_config(&text, support_scratch_path("bad"));
    static const char *const bad[][2] = {
        {"momentum 1", "momentum: expected 0 to 0.999999"},
        {"heads 3", "num_attention_heads"},
        {"max-positions 20", "--length: expected at most --max-positions 20, found 24"},
        {"vocab-size 10", "--vocab-size: expected at least"},
        {"vocab v init x", "exclude each other"},
        {"freeze-layers 1", "--init: --freeze-layers needs a model"},
    };
    struct nvdp__pretrain_options c;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        c = good;
        toy_set(&c, bad[i][0]);
        fails(toy_status(ctx, &c), NVDP_ERR_ARGUMENT, bad[i][1]);
    }
    c = good;
    c.mask_prob = NAN;
    fails(toy_status(ctx, &c), NVDP_ERR_ARGUMENT, "--mask-prob: expected 0.001 to 0.9");
    c = good;
    c.texts = 0;
    fails(toy_status(ctx, &c), NVDP_ERR_ARGUMENT, "text: expected at least one file");
    c = good;
    c.vocab = text;
    fails(toy_status(ctx, &c), NVDP_ERR_INPUT, "train.txt");
    c = good;
    c.text = &nowhere;
    fails(toy_status(ctx, &c), NVDP_ERR_IO, "nowhere.txt");
    cr_assert(!nvdp__exists(good.out));
    c = good;
    toy_set(&c, "steps 0");
    toy_train(ctx, &c);
    c.init = c.out;
    c.out = support_scratch_path("frozen");
    c.freeze_layers = 2;
    fails(toy_status(ctx, &c), NVDP_ERR_ARGUMENT,
          "--freeze-layers: expected at most 1, the num_hidden_layers of ");
    cr_assert(!nvdp__exists(c.out));
    c = good; /* x -= 100 x at every step */
    toy_set(&c, "overwrite true lr 10 weight-decay 10 warmup 0 steps 100");
    fails(toy_status(ctx, &c), NVDP_ERR_NUMERIC, "pretraining diverged");
}

/* Every failed allocation gives an error and leaks nothing. */
Test(pretrain, without_memory) {
    struct nvdp_context *ctx = toy_context();
    const char *text = toy_text("train.txt", 4, 1);
    struct nvdp__pretrain_options config = toy_config(&text, support_scratch_path("memory"));
    nvdp_status status = NVDP_ERR_MEMORY;
    toy_set(&config, "overwrite true steps 1");
    config.vocab = toy_vocabulary();
    uint64_t k = 1;
    for (; status != NVDP_OK && k < 4000; k += 1 + k / 24) {
        nvdp__fail_allocation(ctx, k);
        status = toy_status(ctx, &config);
        nvdp__fail_allocation(ctx, 0);
        cr_assert(status == NVDP_OK || status == NVDP_ERR_MEMORY, "%d: %s", (int)status,
                  nvdp_context_error(ctx));
    }
    ok(status);
    cr_assert_gt(k, 30);
}

/* Returns member `key` of line `number` of `directory`'s metrics.jsonl, counted from 0. */
static double logged(const char *directory, size_t number, const char *key) {
    char *line = support_read(support_path("%s/metrics.jsonl", directory));
    for (size_t i = 0; i < number; i++)
        line = strchr(line, '\n') + 1;
    *strchr(line, '\n') = '\0';
    nvdp__autoptr(json_decref) json_t *object = json_loads(line, 0, NULL);
    cr_assert_not_null(object);
    double value = json_number_value(json_object_get(object, key));
    return value;
}

/* A run that ends early equals the first part of a longer run, because the schedule covers all
 * steps. */
Test(pretrain, ends_early_where_asked) {
    struct nvdp_context *ctx = toy_context();
    const char *text = toy_text("train.txt", 50, 1);
    const char *early = support_scratch_path("early");
    const char *late = support_scratch_path("late");
    struct nvdp__pretrain_options config = toy_options(&text, late, "steps 40");
    cr_assert_eq(toy_train(ctx, &config).steps, 40);
    config.out = early;
    config.stop_after = 20;
    cr_assert_eq(toy_train(ctx, &config).steps, 20);
    for (size_t line = 0; line < 2; line++) { /* of steps 10 and 20 */
        cr_assert_eq(logged(early, line, "loss"), logged(late, line, "loss"));
        cr_assert_eq(logged(early, line, "lr"), logged(late, line, "lr"));
    }
    cr_assert_gt(logged(early, 1, "lr"), config.adamw.lr / 3);
}

/* Sets options by name, as programs do: a list with a comma in a file's name, sizes by name,
 * zeros that stand for rules. */
Test(pretrain, options_by_name) {
    struct nvdp_context *ctx = toy_context();
    const char *text = toy_text("with,comma.txt", 30, 1);
    const char *held = toy_text("held.txt", 30, 2);
    struct nvdp_config *config = support_config(ctx, "pretrain", NULL);
    const char *list =
        support_path("%.*s\\,comma.txt,%s", (int)(strchr(text, ',') - text), text, held);
    const char *const options[][2] = {{"text", list},    {"vocab", toy_vocabulary()},
                                      {"arch", "tiny"},  {"length", "24"},
                                      {"batch", "4"},    {"steps", "2"},
                                      {"seed", "3"},     {"eval-text", held},
                                      {"dtype", "bf16"}, {"out", support_scratch_path("by-name")}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        ok(nvdp_config_set(config, options[i][0], options[i][1]));
    cr_assert_str_eq(nvdp_config_get(config, "hidden"), "128");
    nvdp__autofree char *json = NULL;
    ok(nvdp_pretrain_config_json(ctx, config, &json));
    nvdp__autoptr(json_decref) json_t *object = json_loads(json, 0, NULL);
    cr_assert_eq(json_array_size(json_object_get(object, "text")), 2);
    cr_assert_str_eq(text_at(object, "text/0"), text);
    support_has(object, "{'dtype': 'BF16', 'heads': 2, 'lr': 3e-3}");
    struct nvdp_pretrain_plan plan = NVDP_RESULT(struct nvdp_pretrain_plan);
    ok(nvdp_pretrain_plan(ctx, config, &plan));
    FREED(nvdp_result_free)
    struct nvdp_pretrain_result result = NVDP_RESULT(struct nvdp_pretrain_result);
    ok(nvdp_pretrain(ctx, config, &result));
    cr_assert_eq(result.parameters, plan.parameters);
    cr_assert_eq(result.vocab_size, plan.vocab_size);
    cr_assert_eq(plan.tokens, 2 * 4 * 24);
    /* The same scores by name. */
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *eval = NULL;
    struct nvdp_mlm_scores scores = NVDP_RESULT(struct nvdp_mlm_scores);
    ok(nvdp_config_create(ctx, "mlm", &eval));
    nvdp_config_set(eval, "model", nvdp_config_get(config, "out"));
    nvdp_config_set(eval, "text", held);
    nvdp_config_set(eval, "length", "24");
    nvdp_config_set(eval, "seed", "3");
    ok(nvdp_mlm_evaluate(ctx, eval, &scores));
    cr_assert_eq(scores.masked, result.eval->masked);
    cr_assert_float_eq(scores.nll, result.eval->nll, 0.02); /* written in bfloat16 */
    /* A result without its size, and an unknown size name. */
    result.struct_size = 0;
    fails(nvdp_pretrain(ctx, config, &result), NVDP_ERR_ARGUMENT, "struct_size");
    nvdp_config_set(config, "arch", "huge");
    nvdp_result_free(&result);
    result = (struct nvdp_pretrain_result)NVDP_RESULT(struct nvdp_pretrain_result);
    fails(nvdp_pretrain(ctx, config, &result), NVDP_ERR_ARGUMENT, "arch: expected tiny");
}
