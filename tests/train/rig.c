#include "rig.h"

#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const words[] = {"good", "bad", "cat",  "dog", "sun",
                                    "sea",  "red", "blue", "one", "two"};
enum { WORDS = sizeof words / sizeof words[0], PIECES = 5 + WORDS };

static void write_texts(const char *path, int n, unsigned seed) {
    FILE *file = fopen(path, "w");
    fprintf(file, "sentence\tlabel\n");
    for (int i = 0; i < n; i++) {
        int label = (int)((seed + (unsigned)i) % 2);
        int pair = i / 2; /* both labels see the same other words */
        int length = 2 + (pair * 7 + (int)seed) % 4;
        for (int k = 0; k < length; k++)
            fprintf(file, "%s ", words[2 + (pair * 5 + k * 3) % (WORDS - 2)]);
        fprintf(file, "%s\t%d\n", words[label == 1 ? 0 : 1], label);
    }
    fclose(file);
}

static void write_vocabulary(const char *path) {
    FILE *file = fopen(path, "w");
    fprintf(file, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    for (int i = 0; i < WORDS; i++)
        fprintf(file, "%s\n", words[i]);
    fclose(file);
}

static struct rig make(struct nvdp_context *ctx, size_t hidden) {
    struct rig rig;
    char path[600];
    snprintf(rig.data, sizeof rig.data, "%s", support_scratch_path("data"));
    snprintf(rig.model, sizeof rig.model, "%s", support_scratch_path("model"));
    mkdir(rig.data, 0777);
    snprintf(path, sizeof path, "%s/train.tsv", rig.data);
    write_texts(path, 120, 0);
    snprintf(path, sizeof path, "%s/dev.tsv", rig.data);
    write_texts(path, 40, 1);
    snprintf(path, sizeof path, "%s/vocab.txt", rig.data);
    write_vocabulary(path);
    struct nvdp_bert_config config = nvdp_bert_config_default();
    config.hidden_size = hidden;
    config.num_hidden_layers = 1;
    config.num_attention_heads = 2;
    config.intermediate_size = 2 * hidden;
    config.vocab_size = PIECES;
    config.max_position_embeddings = 16;
    cr_assert_eq(nvdp_bert_create_random(ctx, &config, 3, path, rig.model), NVDP_OK, "%s",
                 nvdp_context_error(ctx));
    return rig;
}

struct rig rig_make(struct nvdp_context *ctx) {
    return make(ctx, 16);
}

struct rig rig_make_wide(struct nvdp_context *ctx) {
    return make(ctx, 64);
}

struct nvdp_train_config rig_config(const struct rig *rig, enum nvdp_method method,
                                    const char *out) {
    struct nvdp_train_config config = nvdp_train_config_default();
    config.task = "sst2";
    config.data = rig->data;
    config.model = rig->model;
    config.out = out;
    config.method = method;
    config.nvib.alpha_tau = 0; /* 16 wide: |x|^2/(2 sqrt h) is small */
    config.lambda_g = 1e-3;
    config.lambda_d = 1e-3;
    config.epochs = 10;
    config.batch = 8;
    config.lr = 1e-2;
    config.max_length = 10;
    config.patience = 0;
    config.log_every = 5;
    config.eval_draws = 3;
    return config;
}

struct nvdp_train_result rig_train(struct nvdp_context *ctx,
                                   const struct nvdp_train_config *config) {
    struct nvdp_train_result result;
    cr_assert_eq(nvdp_train(ctx, config, &result), NVDP_OK, "%s", nvdp_context_error(ctx));
    return result;
}

struct stop_after {
    int calls;
};

static bool stop(void *user) {
    struct stop_after *after = user;
    return --after->calls < 0;
}

void rig_resumes_exactly(struct nvdp_context *ctx, struct nvdp_train_config config) {
    char whole[512], parts[512];
    snprintf(whole, sizeof whole, "%s", support_scratch_path("whole"));
    snprintf(parts, sizeof parts, "%s", support_scratch_path("parts"));
    config.out = whole;
    config.epochs = 3;
    config.checkpoint_seconds = 1e6;
    struct nvdp_train_result expected = rig_train(ctx, &config), result;
    struct stop_after after = {11};
    nvdp_context_set_cancel(ctx, stop, &after);
    config.out = parts;
    nvdp_status status = nvdp_train(ctx, &config, &result);
    config.resume = true;
    int stops = 0;
    while (status == NVDP_ERR_CANCELLED) {
        cr_assert_not_null(strstr(nvdp_context_error(ctx), "--resume"), "%s",
                           nvdp_context_error(ctx));
        cr_assert_lt(++stops, 100);
        after.calls = 7 + stops;
        status = nvdp_train(ctx, &config, &result);
    }
    /* the last stop may fall into the final score, where nothing is left to save */
    cr_assert_eq(status, NVDP_OK, "%s", nvdp_context_error(ctx));
    cr_assert_gt(stops, 2);
    cr_assert(rig_same_file(whole, parts, "model/model.safetensors"));
    cr_assert_eq(result.test.mean[0], expected.test.mean[0]);
    cr_assert_eq(result.best_validation, expected.best_validation);
    cr_assert_eq(result.loss_g, expected.loss_g);
}

bool rig_same_file(const char *directory_a, const char *directory_b, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", directory_a, name);
    FILE *a = fopen(path, "rb");
    snprintf(path, sizeof path, "%s/%s", directory_b, name);
    FILE *b = fopen(path, "rb");
    cr_assert(a != NULL && b != NULL, "cannot read %s", path);
    int x, y;
    do {
        x = getc(a);
        y = getc(b);
    } while (x == y && x != EOF);
    fclose(a);
    fclose(b);
    return x == y;
}
