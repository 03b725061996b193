/* Tests that a new encoder needs one file (encoder.c, kin.c) and one row (encoders.inc).
 * Configuration, checkpoints, encoding and training accept it without changes to the library. */
#include "encoder.h"
#include "hdf5/hdf5.h"
#include "tiny_task.h"

#include "test_context.h"

enum { WORDS = 4, WIDTH = 3, TOKENS = 4 };
enum { TOY = NVDP_MODEL_MODEL2VEC + 1, KIN }; /* the positions of their rows */

/* Writes a folder with a toy's config.json and weights; tensor names lack the prefix, which is
 * optional. */
static const char *tiny_checkpoint(const float *words, const float *weight, const float *bias) {
    const char *folder = support_scratch_path("tiny");
    const struct nvdp__tensor_source tensors[] = {
        {"embeddings.word_embeddings.weight", NVDP__DTYPE_F32, 2, {WORDS, WIDTH}, words},
        {"dense.weight", NVDP__DTYPE_F32, 2, {WIDTH, WIDTH}, weight},
        {"toy.dense.bias", NVDP__DTYPE_F32, 1, {WIDTH}, bias}};
    mkdir(folder, 0700);
    support_write_text(support_path("%s/config.json", folder),
                       "{\"model_type\": \"toy\", \"width\": 3, \"layers\": 1, \"words\": 4}");
    ok(nvdp__safetensors_write(ctx, support_path("%s/model.safetensors", folder), 3, tensors,
                               NULL));
    return folder;
}

Test(encoder, a_checkpoint_is_read_and_encoded) {
    static const float words[WORDS * WIDTH] = {0, 0, 0, 1, 2, 3, -1, 0.5F, 4, 8, -2, 0.25F};
    static const float weight[WIDTH * WIDTH] = {1, 0, 2, 0.5F, -1, 0, 0, 3, 1};
    static const float bias[WIDTH] = {0.125F, -1, 7};
    static const int ids[TOKENS] = {1, 3, 2, 0};
    struct nvdp_bert_config read = NVDP_RESULT(struct nvdp_bert_config);
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    const char *folder = tiny_checkpoint(words, weight, bias);
    const char *out = support_scratch_path("out.h5"),
               *texts = support_file("texts.jsonl",
                                     "{\"input_ids\": [1, 3, 2]}\n{\"input_ids\": [0]}\n");
    ok(nvdp_bert_config_read(ctx, folder, &read));
    cr_expect_eq((int)read.model_type, TOY);
    cr_expect_str_eq(nvdp__model_type_name(read.model_type), "toy");
    cr_expect_eq(read.hidden_size, WIDTH);
    cr_expect_eq(nvdp__bert_parameter_count(&read), (WORDS + WIDTH + 1) * WIDTH);
    struct nvdp_config *config =
        support_config(ctx, "encode", "model", folder, "jsonl", texts, "out", out, NULL);
    ok(nvdp_encode(ctx, config, NULL));
    ok(nvdp__h5_open(ctx, out, "encoding", 1, &file));
    float got[TOKENS * WIDTH];
    ok(nvdp__h5_read_rows(file, "hidden", NVDP__H5_F32, 0, TOKENS, got));
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t i = 0; i < WIDTH; i++) {
            float want = bias[i]; /* all sums are exact in float32 */
            for (size_t j = 0; j < WIDTH; j++)
                want += weight[i * WIDTH + j] * words[(size_t)ids[t] * WIDTH + j];
            cr_expect_eq(got[t * WIDTH + i], want, "token %zu, %zu: %g, not %g", t, i,
                         (double)got[t * WIDTH + i], (double)want);
        }
    support_set(ctx, config, "all-layers", "true");
    fails(nvdp_encode(ctx, config, NULL), NVDP_ERR_ARGUMENT, "a toy gives only its last states");
}

Test(encoder, its_configuration_is_checked) {
    struct nvdp_bert_config read = NVDP_RESULT(struct nvdp_bert_config);
    const char *path = support_file(
        "config.json", "{\"model_type\": \"toy\", \"width\": 3, \"layers\": 2, \"words\": 4}");
    fails(nvdp__bert_config_read_file(ctx, path, &read), NVDP_ERR_INPUT,
          "config.json: 'layers': expected 1, found 2");
    support_write_text(path, "{\"model_type\": \"toy\", \"layers\": 1, \"words\": 4}");
    fails(nvdp__bert_config_read_file(ctx, path, &read), NVDP_ERR_INPUT, "'width'");
    support_write_text(path, "{\"model_type\": \"game\"}");
    fails(nvdp__bert_config_read_file(ctx, path, &read), NVDP_ERR_INPUT,
          "expected bert, distilbert, roberta, bilstm, mpnet, "
          "electra, xlm-roberta, modernbert, words, word-windows, static-embedding, "
          "model2vec, toy or kin");
}

/* Writes a random toy over the task's vocabulary and returns its folder. */
static const char *toy_of(const struct task *task) {
    struct nvdp_bert_config toy = NVDP_RESULT(struct nvdp_bert_config);
    ok(nvdp_bert_config_read(ctx, task->model, &toy));
    toy.model_type = (enum nvdp_model_type)TOY;
    toy.num_hidden_layers = 1;
    const char *vocabulary = support_path("%s/vocab.txt", task->model),
               *model = support_scratch_path("toy");
    ok(nvdp_bert_create_random(ctx, &toy, 3, vocabulary, model));
    return model;
}

/* The label depends on one word, which the mean of the states shows. */
Test(encoder, it_is_trained_saved_and_scored) {
    struct task task = task_make(ctx);
    struct nvdp_bert_config saved = NVDP_RESULT(struct nvdp_bert_config);
    struct nvdp__train_options config =
        task_config(&task, NVDP_METHOD_BASE, support_scratch_path("run"));
    config.model = toy_of(&task);
    struct nvdp_train_result result = task_train(ctx, &config);
    cr_expect_gt(result.test->mean[0], 0.9);
    struct nvdp_evaluation evaluated = task_evaluate(ctx, config.out, 1);
    cr_expect_eq(evaluated.scores->mean[0], result.test->mean[0]);
    ok(nvdp_bert_config_read(ctx, support_path("%s/model", config.out), &saved));
    cr_expect_eq((int)saved.model_type, TOY);
}

static void refused(struct nvdp__train_options config, const char *expected) {
    config.out = support_scratch_path("refused");
    config.overwrite = true;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, expected);
}

/* Features that the row does not claim are refused, above all those on which a privacy statement
 * would rest. */
Test(encoder, what_it_does_not_offer_is_refused) {
    struct task task = task_make(ctx);
    const struct nvdp__train_options usual =
        task_config(&task, NVDP_METHOD_BASE, support_scratch_path("run"));
    struct nvdp__train_options config = usual;
    config.model = toy_of(&task);
    config.freeze_layers = 1;
    refused(config, "--freeze-layers: expected 0 with a toy, found 1");
    config.freeze_layers = 0;
    config.method = NVDP_METHOD_NVDP;
    refused(config, "method: expected base or reg with a toy, found nvdp");
    config.method = NVDP_METHOD_BASE;
    config.noise.mechanism = NVDP__NOISE_LAPLACE;
    config.noise.sanitizer.eta = 1;
    refused(config, "a toy accepts only its own word vectors");
    config.noise = usual.noise;
    task_set(&config, "dp-noise 1 dp-clip 1 dp-batch 8");
    refused(config, "a toy has no per-example gradients");
}

/* The same values under other names give the same loss and gradients, and are read from a
 * checkpoint with these names. */
Test(encoder, kin_of_bert_computes_the_same) {
    static const size_t lengths[] = {3, 9, 1, 5};
    struct nvdp_bert_config config = encoder_config(), read = NVDP_RESULT(struct nvdp_bert_config);
    struct encoder *bert = encoder_create(&config, 3, true, false);
    config.model_type = (enum nvdp_model_type)KIN;
    struct encoder *kin = encoder_create(&config, 3, true, false);
    encoder_randomize(bert, 0.3, 5);
    cr_assert_eq(kin->params.total, bert->params.total);
    memcpy(kin->params.value, bert->params.value, bert->params.total * sizeof(float));
    encoder_plan(bert, 4, 9);
    encoder_plan(kin, 4, 9);
    struct nvdp__batch *batch = encoder_batch(bert, 4, lengths, 6);
    cr_expect_eq(encoder_backward(kin, batch), encoder_backward(bert, batch));
    cr_expect_arr_eq(kin->params.grad, bert->params.grad, bert->params.total * sizeof(float));
    const char *folder = support_scratch_path("kin");
    mkdir(folder, 0700);
    ok(nvdp__bert_config_write(kin->ctx, folder, &config, "KinModel", NULL));
    ok(nvdp__checkpoint_save(&kin->dev, folder, &kin->params));
    memset(kin->params.value, 0, kin->params.total * sizeof(float));
    ok(nvdp_bert_config_read(kin->ctx, folder, &read));
    cr_expect_eq((int)read.model_type, KIN);
    cr_expect_eq(read.intermediate_size, config.intermediate_size);
    ok(nvdp__checkpoint_load(&kin->dev, folder, &kin->params));
    cr_expect_arr_eq(kin->params.value, bert->params.value, bert->params.total * sizeof(float));
}
