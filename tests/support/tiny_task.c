/* A tiny task and model for tests of training (tiny_task.h): first the texts, vocabulary and
 * model, then training on them. */
#include "tiny_task.h"
#include "bert_sizes.h"

#include "encoder/checkpoint.h"

/* --- texts and vocabulary --- */

static const char *const words[] = {"good", "bad", "cat",  "dog", "sun",
                                    "sea",  "red", "blue", "one", "two"};
enum { WORDS = sizeof words / sizeof words[0], PIECES = 5 + WORDS };

static void write_texts(const char *path, int n, unsigned seed) {
    nvdp__autoptr(fclose) FILE *file = fopen(path, "w");
    fprintf(file, "sentence\tlabel\n");
    for (int i = 0; i < n; i++) {
        int label = (int)((seed + (unsigned)i) % 2);
        int pair = i / 2; /* both labels occur with the same other words */
        int length = 2 + (pair * 7 + (int)seed) % 4;
        for (int k = 0; k < length; k++)
            fprintf(file, "%s ", words[2 + (pair * 5 + k * 3) % (WORDS - 2)]);
        fprintf(file, "%s\t%d\n", words[label == 1 ? 0 : 1], label);
    }
}

static void write_test(const char *path, int n) {
    nvdp__autoptr(fclose) FILE *file = fopen(path, "w");
    fprintf(file, "index\tsentence\n");
    for (int i = 0; i < n; i++) {
        fprintf(file, "%d\t%s %s\n", i, words[2 + i % 8], words[i % 2]);
    }
}

static void write_model(struct nvdp_context *ctx, size_t hidden, const char *vocabulary,
                        const char *directory) {
    struct nvdp_bert_config config = bert_of(.hidden = hidden, .layers = 1, .heads = 2,
                                             .inner = 2 * hidden, .pieces = PIECES, .longest = 16);
    ok(nvdp_bert_create_random(ctx, &config, 3, vocabulary, directory));
}

static struct task make(struct nvdp_context *ctx, size_t hidden) {
    struct task task;
    snprintf(task.data, sizeof task.data, "%s", support_scratch_path("data"));
    snprintf(task.model, sizeof task.model, "%s", support_scratch_path("model"));
    if (mkdir(task.data, 0777) != 0) return task; /* made before */
    const char *path = support_path("%s/train.tsv", task.data);
    write_texts(path, TASK_TRAIN, 0);
    path = support_path("%s/dev.tsv", task.data);
    write_texts(path, TASK_DEV, 1);
    path = support_path("%s/test.tsv", task.data);
    write_test(path, TASK_TEST);
    path = support_path("%s/vocab.txt", task.data);
    FILE *file = fopen(path, "w");
    fprintf(file, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    for (int i = 0; i < WORDS; i++) {
        fprintf(file, "%s\n", words[i]);
    }
    fclose(file);
    write_model(ctx, hidden, path, task.model);
    return task;
}

struct task task_make(struct nvdp_context *ctx) {
    return make(ctx, 16);
}

struct task task_make_wide(struct nvdp_context *ctx) {
    return make(ctx, 64);
}

/* --- training on it --- */

struct nvdp__train_options task_config(const struct task *task, enum nvdp_method method,
                                       const char *out) {
    struct nvdp__train_options config = nvdp__train_defaults();
    config.task = "sst2";
    config.data = task->data;
    config.model = task->model;
    config.out = out;
    config.method = method;
    config.nvib.alpha_tau = 0; /* 16 wide: |x|^2/(2 sqrt h) is small */
    config.lambda_g = 1e-3;
    config.lambda_d = 1e-3;
    config.epochs = 10;
    config.batch = 8;
    config.adamw.lr = 1e-2;
    config.max_length = TASK_LENGTH;
    config.patience = 0;
    config.log_every = 5;
    config.eval_draws = 3;
    return config;
}

struct nvdp__train_options task_options(struct nvdp_context *ctx, enum nvdp_method method,
                                        const char *out) {
    struct task *made = support_keep(malloc(sizeof *made));
    *made = task_make(ctx);
    return task_config(made, method, *out == '/' ? out : support_scratch_path(out));
}

struct nvdp__train_options task_implied(struct nvdp_context *ctx, const char *name,
                                        const char *value) {
    struct nvdp__train_options options;
    struct nvdp_config *config = NULL;
    ok(nvdp_config_create(ctx, "train", &config));
    ok(nvdp_config_set(config, name, value));
    ok(nvdp__config_values(ctx, config, &nvdp__train_schema, &options));
    nvdp_config_free(config);
    return options;
}

void task_set(struct nvdp__train_options *config, const char *options) {
    support_values(&nvdp__train_schema, config, options);
}

struct nvdp_train_result task_train(struct nvdp_context *ctx,
                                    const struct nvdp__train_options *config) {
    struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    ok(nvdp__train(ctx, config, &result));
    support_keep(result.test);
    return result;
}

void task_fails(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                nvdp_status status, const char *part) {
    nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    fails(nvdp__train(ctx, config, &result), status, part);
}

static bool last_call(void *calls) {
    return --*(int *)calls < 0;
}

void task_stop(struct nvdp_context *ctx, const struct nvdp__train_options *config, int calls) {
    nvdp_context_set_cancel(ctx, last_call, &calls);
    task_fails(ctx, config, NVDP_ERR_CANCELLED, "");
    nvdp_context_set_cancel(ctx, NULL, NULL);
}

struct nvdp_evaluation task_evaluate(struct nvdp_context *ctx, const char *run, int draws) {
    struct nvdp_evaluation evaluation = NVDP_RESULT(struct nvdp_evaluation);
    const struct nvdp_config *config =
        support_config(ctx, "evaluate", "run", run, "draws", support_path("%d", draws), NULL);
    ok(nvdp_evaluate(ctx, config, &evaluation));
    support_keep(evaluation.scores);
    return evaluation;
}

const char *task_run(struct nvdp_context *ctx, const char *name, const struct run_choice *choice,
                     double *accuracy) {
    struct task task = task_make(ctx);
    const char *run = support_scratch_path(name);
    struct nvdp__train_options config = task_config(&task, choice->method, run);
    config.nvib.latent_dim = choice->latent_dim;
    config.nvib.length_policy = choice->policy;
    config.nvib.query = choice->query;
    config.nvib.kappa = choice->kappa > 0 ? choice->kappa : 1;
    if (choice->clip_sequence > 0) {
        struct nvdp__train_options implied = task_implied(ctx, "clip-sequence", "1");
        config.nvib.clip.sequence = choice->clip_sequence;
        config.nvib.vib.sigma = implied.nvib.vib.sigma;
        config.nvib.stdev_tau = implied.nvib.stdev_tau;
        config.nvib.weights = implied.nvib.weights;
        config.nvib.row_index = implied.nvib.row_index;
        config.lambda_g = implied.lambda_g;
        config.lambda_d = implied.lambda_d;
    }
    if (choice->clip_word > 0) {
        config.nvib.clip.word = choice->clip_word;
        config.nvib.stdev_tau = 1;
    }
    config.nvib.vib.vtdp_pool = choice->vtdp_pool;
    config.epochs = choice->epochs;
    config.overwrite = true;
    struct nvdp_train_result result = task_train(ctx, &config);
    if (accuracy != NULL) *accuracy = result.test->mean[0];
    return run;
}

struct stop_after {
    int calls;
};

static bool stop(void *user) {
    struct stop_after *after = user;
    return --after->calls < 0;
}

void task_resumes_exactly(struct nvdp_context *ctx, struct nvdp__train_options config) {
    const char *whole = support_scratch_path("whole");
    const char *parts = support_scratch_path("parts");
    config.out = whole;
    config.epochs = 3;
    config.checkpoint_seconds = 1e6;
    struct nvdp_train_result expected = task_train(ctx, &config);
    FREED(nvdp_result_free)
    struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    struct stop_after after = {11};
    nvdp_context_set_cancel(ctx, stop, &after);
    config.out = parts;
    nvdp_status status = nvdp__train(ctx, &config, &result);
    config.resume = config.out;
    int stops = 0;
    while (status == NVDP_ERR_CANCELLED) {
        /* or while its data are read, before there is anything to save */
        cr_assert(strstr(nvdp_context_error(ctx), "--resume") != NULL ||
                      strstr(nvdp_context_error(ctx), ".h5: cancelled") != NULL,
                  "%s", nvdp_context_error(ctx));
        cr_assert_lt(++stops, 100);
        after.calls = 7 + stops;
        status = nvdp__train(ctx, &config, &result);
    }
    /* the last stop may fall into the final score, where nothing is left to save */
    ok(status);
    cr_assert_gt(stops, 2);
    cr_assert(support_same_file(whole, parts, "model/model.safetensors"));
    cr_assert_eq(result.test->mean[0], expected.test->mean[0]);
    cr_assert_eq(result.best_validation, expected.best_validation);
    cr_assert_eq(result.loss_g, expected.loss_g);
}
