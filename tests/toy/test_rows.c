/* Every row of the table of encoders, and the two toys, in every combination with what a run can ask for: it is
 * trained, saved and scored, or is refused by name, as the row claims. A new row is tested here without a change. */
#include "encoder/row.h"
#include "encoder/transformer.h"
#include "mechanism/mechanism.h"
#include "tensor/int8.h"
#include "tiny_task.h"
#include "toy_corpus.h"

#include "test_context.h"

enum { WIDTH = 32, LAYERS = 2 };

/* Writes the vocabulary as a tokenizer.json with BERT's rules, which every type reads. */
static void write_tokenizer(const char *vocabulary, const char *model) {
    char *words = support_read(vocabulary), *rest = NULL;
    cr_assert_eq(remove(support_path("%s/vocab.txt", model)), 0);
    support_write_text(
        support_path("%s/tokenizer_config.json", model),
        "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"pad_token\": \"[PAD]\", "
        "\"unk_token\": \"[UNK]\", \"cls_token\": \"[CLS]\", \"sep_token\": "
        "\"[SEP]\", \"mask_token\": \"[MASK]\"}");
    nvdp__autoptr(fclose) FILE *file = fopen(support_path("%s/tokenizer.json", model), "w");
    cr_assert_not_null(file);
    fprintf(file, "{\"version\": \"1.0\", \"added_tokens\": [");
    for (int i = 0; i < 5; i++) {
        static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
        fprintf(file,
                "%s{\"id\": %d, \"content\": \"%s\", \"single_word\": false, \"lstrip\": false, "
                "\"rstrip\": false, \"normalized\": false, \"special\": true}",
                i > 0 ? ", " : "", i, special[i]);
    }
    fprintf(file,
            "], \"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": true, "
            "\"handle_chinese_chars\": true, \"strip_accents\": null, \"lowercase\": true}, "
            "\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, \"post_processor\": {\"type\": "
            "\"BertProcessing\", \"sep\": [\"[SEP]\", 3], \"cls\": [\"[CLS]\", 2]}, \"model\": "
            "{\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"continuing_subword_prefix\": "
            "\"##\", \"max_input_chars_per_word\": 100, \"vocab\": {");
    int id = 0;
    for (char *word = strtok_r(words, "\n", &rest); word != NULL;
         word = strtok_r(NULL, "\n", &rest))
        fprintf(file, "%s\"%s\": %d", id > 0 ? ", " : "", word, id), id++;
    fprintf(file, "}}}");
}

/* Writes a random model of the row over the task's vocabulary; returns its number of layers. */
static size_t model_of(const struct task *task, int type, const char **model) {
    const struct nvdp__encoder_row *row = nvdp__encoders[type];
    struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
    ok(nvdp_bert_config_read(ctx, task->model, &config));
    config.model_type = (enum nvdp_model_type)type;
    config.hidden_size = WIDTH;
    config.num_attention_heads = 1;
    config.intermediate_size = 3 * WIDTH;
    config.num_hidden_layers = row->tensors_below != NULL ? LAYERS : 1;
    config.embedding_size = WIDTH - 8;
    config.pad_token_id = row->pad_token_id < (int64_t)config.vocab_size ? row->pad_token_id : 0;
    config.local_attention = 4;
    config.global_attn_every_n_layers = 2;
    const struct nvdp__over_words how = {.units = WIDTH / 2, .window = 1, .layers = 1};
    if (row->word_local) config.model_type = NVDP_MODEL_BERT;
    if (row->over_words != NULL) config = row->over_words(&config, &how);
    const char *vocabulary = support_path("%s/vocab.txt", task->model);
    *model = support_scratch_path(row->names.type);
    cr_assert_eq(nvdp_bert_create_random(ctx, &config, 3, vocabulary, *model), NVDP_OK, "%s: %s",
                 row->names.type, nvdp_context_error(ctx));
    if (!row->masked_lm) write_tokenizer(vocabulary, *model); /* pretraining needs vocab.txt */
    return config.num_hidden_layers;
}

/* A combination of what a run asks for beyond method base. */
struct combination {
    const char *name;
    enum nvdp_method method;
    bool frozen, all_frozen, private_gradients, word_noise, bf16;
    size_t window;
};
static const struct combination combinations[] = {
    {.name = "base"},
    {.name = "reg", .method = NVDP_METHOD_REG},
    {.name = "vib-fixed", .method = NVDP_METHOD_VIB_FIXED},
    {.name = "vib-learned", .method = NVDP_METHOD_VIB_LEARNED, .bf16 = true},
    {.name = "vtdp", .method = NVDP_METHOD_VTDP},
    {.name = "vtdp in bf16", .method = NVDP_METHOD_VTDP, .bf16 = true},
    {.name = "vtdp above frozen layers", .method = NVDP_METHOD_VTDP, .all_frozen = true},
    {.name = "vtdp with DP-SGD", .method = NVDP_METHOD_VTDP, .private_gradients = true},
    {.name = "nvdp", .method = NVDP_METHOD_NVDP},
    {.name = "nvdp in bf16", .method = NVDP_METHOD_NVDP, .bf16 = true},
    {.name = "nvdp above frozen layers", .method = NVDP_METHOD_NVDP, .all_frozen = true},
    {.name = "a frozen layer", .frozen = true},
    {.name = "a frozen layer in bf16", .frozen = true, .bf16 = true},
    {.name = "DP-SGD", .private_gradients = true},
    {.name = "DP-SGD in bf16", .private_gradients = true, .bf16 = true},
    {.name = "DP-SGD above a frozen layer", .private_gradients = true, .frozen = true},
    {.name = "noise on words", .word_noise = true},
    {.name = "a certificate per word", .method = NVDP_METHOD_WORD},
    {.name = "a certificate per word, windows", .method = NVDP_METHOD_WORD, .window = 1},
};
enum { COMBINATIONS = sizeof combinations / sizeof *combinations };

/* A value of the option `encoder`; other rows over words belong to a method. */
static bool is_choice(const struct nvdp__encoder_row *row) {
    return row->over_words != NULL && !row->word_local;
}

/* The only encoder of a method; NULL: the model's own. */
static const char *encoder_of(const struct combination *c) {
    const struct nvdp__method *method = nvdp__method_row(c->method);
    return c->window > 0 ? method->window_encoder : method->encoder;
}

static bool claimed(const struct nvdp__encoder_row *row, const struct combination *c) {
    const struct nvdp__method *method = nvdp__method_row(c->method);
    if (method->encoder != NULL && row->word_local) /* further training */
        return strcmp(row->names.type, encoder_of(c)) == 0;
    if (method->encoder != NULL)
        return !is_choice(row) && (c->window == 0 || row->pass == &nvdp__transformer_pass);
    return !row->word_local && (!nvdp_method_is_private(c->method) || row->bottleneck) &&
           (c->method != NVDP_METHOD_VTDP || row->pass->declare_extra != NULL) &&
           (!(c->frozen || c->all_frozen) || row->tensors_below != NULL) &&
           (!c->private_gradients || row->per_example) && (!c->word_noise || row->word_vectors);
}

static struct nvdp__train_options options_of(const struct task *task,
                                             const struct nvdp__encoder_row *row, const char *model,
                                             const struct combination *c, size_t layers) {
    struct nvdp__train_options config = task_config(task, c->method, support_scratch_path("run"));
    config.model = model;
    while (is_choice(row) && strcmp(nvdp__encoder_choices[config.encoder], row->names.type) != 0)
        config.encoder++;
    if (is_choice(row)) config.lstm_hidden = WIDTH / 2;
    if (c->method == NVDP_METHOD_WORD) {
        config.nvib.clip.window = c->window;
        config.lambda_g = config.lambda_d = 0;
        task_set(&config, "word-epsilon 8 stdev-tau 1");
    }
    config.freeze_layers = c->all_frozen ? layers : c->frozen ? 1 : 0;
    config.precision = c->bf16 ? NVDP_PRECISION_BF16 : NVDP_PRECISION_F32;
    task_set(&config, "overwrite true epochs 1 batch 40 eval-draws 1");
    if (c->private_gradients)
        config.dp = (struct nvdp__dp_options){.noise = 1, .clip = 1, .batch = 8};
    if (c->word_noise) {
        config.noise.mechanism = NVDP__NOISE_LAPLACE;
        config.noise.sanitizer.eta = 1;
    }
    return config;
}

/* The run is scored, in int8 too where the processor has it, and its model is of the same type. */
static void check_run(const struct nvdp__encoder_row *row, const char *run,
                      const struct combination *c) {
    const char *what = c->name, *own = encoder_of(c);
    struct nvdp_bert_config saved = NVDP_RESULT(struct nvdp_bert_config);
    const double score = task_evaluate(ctx, run, 1).scores->mean[0];
    cr_expect(score >= 0 && score <= 1, "%s, %s: %g", row->names.type, what, score);
    const char *folder = support_path("%s/model", run);
    cr_assert_eq(nvdp_bert_config_read(ctx, folder, &saved), NVDP_OK, "%s, %s: %s", row->names.type,
                 what, nvdp_context_error(ctx));
    cr_expect_str_eq(nvdp__model_type_name(saved.model_type), own != NULL ? own : row->names.type);
    if (nvdp__int8_missing() != NULL) return;
    nvdp_context_set_precision(ctx, NVDP_PRECISION_INT8);
    near(task_evaluate(ctx, run, 1).scores->mean[0], score, .5);
    nvdp_context_set_precision(ctx, NVDP_PRECISION_F32);
}

Test(rows, every_combination_works_or_is_refused_by_name) {
    struct task task = task_make(ctx);
    nvdp__allow_plain_bf16(ctx);
    ok(nvdp_context_set_threads(ctx, 1)); /* such small steps would wait */
    for (int type = 0; nvdp__encoders[type] != NULL; type++) {
        const struct nvdp__encoder_row *row = nvdp__encoders[type];
        const char *model;
        if (row->bare_texts) continue; /* tests/encoder/test_static.c */
        const size_t layers = model_of(&task, type, &model);
        for (size_t i = 0; i < COMBINATIONS; i++) {
            const struct combination *c = &combinations[i];
            const struct nvdp__train_options config = options_of(&task, row, model, c, layers);
            struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
            const nvdp_status status = nvdp__train(ctx, &config, &result);
            const char *message = nvdp_context_error(ctx);
            if (claimed(row, c)) {
                cr_assert_eq(status, NVDP_OK, "%s, %s: %s", row->names.type, c->name, message);
                check_run(row, config.out, c);
                nvdp_result_free(&result);
            } else {
                cr_expect_eq(status, row->word_local ? NVDP_ERR_INPUT : NVDP_ERR_ARGUMENT,
                             "%s, %s: %s", row->names.type, c->name, message);
                cr_expect(strstr(message, row->title) != NULL ||
                              strstr(message, row->names.type) != NULL,
                          "%s: %s", c->name, message);
            }
        }
    }
}

Test(rows, pretraining_works_or_is_refused_by_name) {
    struct task task = task_make(ctx);
    const char *text[] = {toy_text("text.txt", 20, 3)};
    for (int type = 0; nvdp__encoders[type] != NULL; type++) {
        const struct nvdp__encoder_row *row = nvdp__encoders[type];
        struct nvdp__pretrain_options config = toy_config(text, support_scratch_path("made"));
        if (row->bare_texts) continue;
        model_of(&task, type, &config.init);
        nvdp__autoresult struct nvdp_pretrain_result result =
            NVDP_RESULT(struct nvdp_pretrain_result);
        config.overwrite = true;
        config.steps = 2;
        config.length = 16;
        const nvdp_status status = nvdp__pretrain(ctx, &config, &result);
        const char *message = nvdp_context_error(ctx);
        if (row->masked_lm) {
            cr_expect_eq(status, NVDP_OK, "%s: %s", row->names.type, message);
        } else {
            cr_expect_eq(status, NVDP_ERR_UNSUPPORTED, "%s: %s", row->names.type, message);
            support_contains(message, row->names.type);
        }
    }
}
