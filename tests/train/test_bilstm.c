/* Tests runs of a BiLSTM over a model's word embeddings. */
#include "train_test.h"

#include "test_context.h"

enum { BILSTM = 1 }; /* index in nvdp__encoder_choices */

static struct nvdp__train_options config_of(const struct task *task, const char *out) {
    struct nvdp__train_options config =
        task_config(task, NVDP_METHOD_BASE, support_scratch_path(out));
    config.encoder = BILSTM;
    config.lstm_hidden = 9;
    return config;
}

static double *values(const char *directory, const char *name, size_t *count) {
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    ok(nvdp__safetensors_open(ctx, support_path("%s/model.safetensors", directory), &file));
    const struct nvdp__tensor_info *info = nvdp__safetensors_find(file, name);
    cr_assert_not_null(info, "%s", name);
    double *read = malloc(info->count * sizeof *read);
    support_read_f64(info, read);
    *count = info->count;
    return support_keep(read);
}

/* The label depends on one word; the word embeddings stay those of the checkpoint. */
Test(bilstm, learns_over_embeddings_that_stay) {
    struct task task = task_make(ctx);
    struct nvdp__train_options config = config_of(&task, "run");
    config.adamw.lr = 0.03; /* random embeddings are small numbers */
    config.epochs = 20;
    struct nvdp_train_result result = task_train(ctx, &config);
    cr_expect_gt(result.test->mean[0], 0.9);
    struct nvdp_evaluation evaluated = task_evaluate(ctx, config.out, 1);
    cr_expect_eq(evaluated.scores->mean[0], result.test->mean[0]);
    size_t before, after;
    const char *model = support_path("%s/model", config.out);
    double *a = values(task.model, "bert.embeddings.word_embeddings.weight", &before);
    double *b = values(model, "bilstm.embeddings.word_embeddings.weight", &after);
    cr_assert_eq(before, after);
    cr_expect_arr_eq(a, b, before * sizeof *a);
    struct nvdp_bert_config bert = NVDP_RESULT(struct nvdp_bert_config);
    ok(nvdp_bert_config_read(ctx, model, &bert));
    cr_expect_eq(bert.model_type, NVDP_MODEL_BILSTM);
    cr_expect_eq(bert.hidden_size, 18);
    cr_expect_eq(bert.embedding_size, 16);
}

Test(bilstm, resumes_exactly) {
    struct task task = task_make(ctx);
    struct nvdp__train_options config = config_of(&task, "unused");
    task_set(&config, "dropout 0.2 classifier-dropout 0.1");
    task_resumes_exactly(ctx, config);
}

/* A trained BiLSTM can be trained further, and a BiLSTM can start from the embeddings of any
 * type. */
Test(bilstm, starts_from_its_own_and_from_other_types) {
    struct task task = task_make(ctx);
    struct nvdp__train_options config = config_of(&task, "first");
    struct nvdp_train_result first = task_train(ctx, &config);
    const char *run = support_path("%s", config.out);
    config = config_of(&task, "second");
    config.model = NULL;
    config.from_base = run;
    task_set(&config, "lr 0 epochs 1");
    cr_expect_eq(task_train(ctx, &config).test->mean[0], first.test->mean[0],
                 "weights as they were");
    task_set(&config, "lstm-hidden 8 overwrite true");
    task_fails(ctx, &config, NVDP_ERR_INPUT, "expected --encoder bilstm --lstm-hidden 9");
    static const char *const types[] = {"roberta", "distilbert", "mpnet", "electra", "modernbert"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        config = config_of(&task, types[i]);
        config.model = support_golden(types[i]);
        task_set(&config, "max-length 24 epochs 1");
        task_train(ctx, &config);
    }
}

Test(bilstm, what_does_not_go_with_it_is_refused) {
    struct task task = task_make(ctx);
    struct nvdp__train_options config = config_of(&task, "run");
    config.method = NVDP_METHOD_NVDP;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, "expected method base or reg, found nvdp");
    config.method = NVDP_METHOD_BASE;
    config.freeze_layers = 1;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, "expected freeze-layers 0");
}
