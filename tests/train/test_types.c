/* Tests runs that start from BERT's relatives: the saved model has the same type and
 * can be loaded. */
#include "train_test.h"

#include "test_context.h"

struct type {
    const char *name;
    const char *files[4];   /* the tokenizer's files */
    const char *tensors[3]; /* of the encoder, the head's inner and outer layer */
};
static const struct type types[] = {
    {"roberta",
     {"vocab.json", "merges.txt"},
     {"roberta.encoder.layer.1.attention.self.query.weight", "classifier.dense.weight",
      "classifier.out_proj.weight"}},
    {"distilbert",
     {"tokenizer.json"},
     {"distilbert.transformer.layer.1.attention.q_lin.weight", "pre_classifier.weight",
      "classifier.weight"}},
    {"mpnet",
     {"vocab.txt"},
     {"mpnet.encoder.relative_attention_bias.weight", "classifier.dense.weight",
      "classifier.out_proj.weight"}},
    {"electra",
     {"vocab.txt"},
     {"electra.embeddings_project.weight", "classifier.dense.weight",
      "classifier.out_proj.weight"}},
    {"modernbert",
     {"tokenizer.json", "tokenizer_config.json"},
     {"model.layers.3.attn.Wqkv.weight", "head.dense.weight", "classifier.weight"}}};
enum { TYPES = sizeof types / sizeof types[0] };

static const char *in_run(const char *run, const char *name) {
    return support_path("%s/model/%s", run, name);
}

/* The golden model's head has 3 outputs, the task 2, so the head is initialized. */
static struct nvdp__train_options config_of(const struct task *task, const struct type *type,
                                            enum nvdp_method method) {
    struct nvdp__train_options config = task_config(task, method, support_scratch_path(type->name));
    config.model = support_golden(type->name);
    task_set(&config, "max-length 24 epochs 1 overwrite true");
    return config;
}

static void check_saved(const struct type *type, const char *run, size_t tensors) {
    for (size_t i = 0; type->files[i] != NULL; i++) {
        const char *path = in_run(run, type->files[i]);
        cr_expect(nvdp__exists(path), "%s", path);
    }
    struct nvdp_bert_config bert = NVDP_RESULT(struct nvdp_bert_config);
    support_contains(support_read(in_run(run, "config.json")), "ForSequenceClassification");
    ok(nvdp_bert_config_read(ctx, in_run(run, ""), &bert));
    cr_expect_str_eq(nvdp__model_type_name(bert.model_type), type->name);
    cr_expect_eq(bert.max_position_embeddings, 32);
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    ok(nvdp__safetensors_open(ctx, in_run(run, "model.safetensors"), &file));
    for (size_t i = 0; i < tensors; i++)
        cr_expect_not_null(nvdp__safetensors_find(file, type->tensors[i]), "%s", type->tensors[i]);
}

Test(types, base_runs) {
    struct task task = task_make(ctx);
    for (size_t i = 0; i < TYPES; i++) {
        struct nvdp__train_options config = config_of(&task, &types[i], NVDP_METHOD_BASE);
        struct nvdp_train_result result = task_train(ctx, &config);
        check_saved(&types[i], config.out, 3);
        struct nvdp_evaluation evaluated = task_evaluate(ctx, config.out, 1);
        cr_expect_eq(evaluated.scores->mean[0], result.test->mean[0], "%s", types[i].name);
    }
}

/* With a bottleneck: the model is trained and scored, and its posteriors are finite. */
Test(types, private_runs) {
    struct task task = task_make(ctx);
    for (size_t i = 0; i < TYPES; i++) {
        struct nvdp__train_options config = config_of(&task, &types[i], NVDP_METHOD_NVDP);
        task_train(ctx, &config);
        check_saved(&types[i], config.out, 1);
        struct nvdp_evaluation score = task_evaluate(ctx, config.out, 2);
        cr_expect(score.scores->mean[0] >= 0 && score.scores->mean[0] <= 1);
    }
}

/* RoBERTa's 34 positions hold 32 tokens. */
Test(types, positions_of_padding_hold_no_tokens) {
    struct task task = task_make(ctx);
    struct nvdp__train_options config = config_of(&task, &types[0], NVDP_METHOD_BASE);
    config.max_length = 33;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT,
               "max_position_embeddings (without the positions of config.json that are "
               "reserved for padding), found 33");
}

/* Only config.json determines the first position: states that are cached for one first position
 * are not used for another. */
Test(types, kept_states_know_where_positions_begin) {
    struct task task = task_make(ctx);
    struct nvdp__train_options config = config_of(&task, &types[0], NVDP_METHOD_BASE);
    const char *kept = support_scratch_path("kept"), *computed = support_scratch_path("computed");
    const char *model = support_scratch_path("model3");
    static const char *const files[] = {"model.safetensors", "vocab.json", "merges.txt"};
    cr_assert_eq(mkdir(model, 0700), 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        cr_assert_eq(symlink(support_path("%s/%s", config.model, files[i]),
                             support_path("%s/%s", model, files[i])),
                     0);
    char *text = support_read(support_path("%s/config.json", config.model)),
         *padding = strstr(text, "\"pad_token_id\": 1");
    cr_assert_not_null(padding);
    padding[strlen("\"pad_token_id\": ")] = '3';
    support_write_text(support_path("%s/config.json", model), text);
    config.freeze_layers = 1;
    config.cache = support_scratch_path("cache");
    task_train(ctx, &config);
    config.model = model;
    config.out = kept;
    task_train(ctx, &config);
    config.out = computed;
    config.no_prefix_cache = true;
    task_train(ctx, &config);
    cr_expect(support_same_file(kept, computed, "model/model.safetensors"));
}
