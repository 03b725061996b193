#include "rig.h"

#include "base/random.h"
#include "share/release.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- a run --- */

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
        for (int k = 0; k < length; k++) {
            fprintf(file, "%s ", words[2 + (pair * 5 + k * 3) % (WORDS - 2)]);
        }
        fprintf(file, "%s\t%d\n", words[label == 1 ? 0 : 1], label);
    }
    fclose(file);
}

static void write_test(const char *path, int n) {
    FILE *file = fopen(path, "w");
    fprintf(file, "index\tsentence\n");
    for (int i = 0; i < n; i++) {
        fprintf(file, "%d\t%s %s\n", i, words[2 + i % 8], words[i % 2]);
    }
    fclose(file);
}

static void write_task(const char *directory) {
    char path[600];
    mkdir(directory, 0777);
    snprintf(path, sizeof path, "%s/train.tsv", directory);
    write_texts(path, RIG_TRAIN, 0);
    snprintf(path, sizeof path, "%s/dev.tsv", directory);
    write_texts(path, RIG_DEV, 1);
    snprintf(path, sizeof path, "%s/test.tsv", directory);
    write_test(path, 6);
    snprintf(path, sizeof path, "%s/vocab.txt", directory);
    FILE *file = fopen(path, "w");
    fprintf(file, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    for (int i = 0; i < WORDS; i++) {
        fprintf(file, "%s\n", words[i]);
    }
    fclose(file);
}

static void write_model(struct nvdp_context *ctx, const char *task, const char *directory) {
    char path[600];
    snprintf(path, sizeof path, "%s/vocab.txt", task);
    struct nvdp_bert_config config = nvdp_bert_config_default();
    config.hidden_size = 16;
    config.num_hidden_layers = 1;
    config.num_attention_heads = 2;
    config.intermediate_size = 32;
    config.vocab_size = PIECES;
    config.max_position_embeddings = 16;
    cr_assert_eq(nvdp_bert_create_random(ctx, &config, 3, path, directory), NVDP_OK, "%s",
                 nvdp_context_error(ctx));
}

const char *rig_run(struct nvdp_context *ctx, const char *name, const struct rig_choice *choice,
                    double *accuracy) {
    char task[512], model[512];
    snprintf(task, sizeof task, "%s", support_scratch_path("task"));
    snprintf(model, sizeof model, "%s", support_scratch_path("bert"));
    const char *run = support_scratch_path(name);
    struct stat info;
    if (stat(task, &info) != 0) {
        write_task(task);
        write_model(ctx, task, model);
    }
    struct nvdp_train_config config = nvdp_train_config_default();
    config.task = "sst2";
    config.data = task;
    config.model = model;
    config.out = run;
    config.method = choice->method;
    config.nvib.alpha_tau = 0; /* 16 wide: |x|^2/(2 sqrt h) is small */
    config.nvib.latent_dim = choice->latent_dim;
    config.nvib.length_policy = choice->policy;
    config.nvib.query = choice->query;
    config.nvib.kappa = choice->kappa;
    config.nvib.vib.vtdp_pool = choice->vtdp_pool;
    config.lambda_g = 1e-3;
    config.lambda_d = 1e-3;
    config.epochs = choice->epochs;
    config.batch = 8;
    config.lr = 1e-2;
    config.max_length = RIG_LENGTH;
    config.overwrite = true;
    config.patience = 0;
    config.eval_draws = 3;
    struct nvdp_train_result result;
    cr_assert_eq(nvdp_train(ctx, &config, &result), NVDP_OK, "%s", nvdp_context_error(ctx));
    if (accuracy != NULL) *accuracy = result.test.mean[0];
    return run;
}

/* --- embeddings --- */

struct rig_file rig_file_default(void) {
    return (struct rig_file){.texts = 300,
                             .samples = 1,
                             .dim = 4,
                             .policy = NVDP_LENGTH_HIDDEN,
                             .length = 3,
                             .separation = 3,
                             .classes = 2,
                             .labels = true,
                             .seed = 1};
}

float rig_label(const struct rig_file *file, size_t text) {
    if (file->classes > 0) return (float)(text % file->classes);
    return (float)(text % 11) / 2;
}

/* Token vectors of a class: its own direction, `separation` long. */
static double mean(const struct rig_file *file, size_t text, size_t d) {
    float label = rig_label(file, text);
    if (file->classes == 0) return d == 0 ? file->separation * (label - 2.5) / 2.5 : 0;
    size_t class = (size_t)label;
    double sign = class / file->dim % 2 == 0 ? 1 : -1;
    return d == class % file->dim ? sign * file->separation : 0;
}

static size_t tokens(const struct rig_file *file, size_t text) {
    return file->policy == NVDP_LENGTH_HIDDEN ? file->length : 1 + text % 3;
}

static void write_columns(const struct rig_file *file, struct nvdp__h5 *h5) {
    float *label = calloc(file->texts, sizeof *label);
    int32_t *split = calloc(file->texts, sizeof *split);
    for (size_t i = 0; i < file->texts; i++) {
        label[i] = rig_label(file, i);
        split[i] = i % 7 == 6; /* every class in both */
    }
    if (file->labels)
        cr_assert_eq(nvdp__h5_write(h5, "label", NVDP__H5_F32, 1, &file->texts, label), NVDP_OK);
    if (file->splits)
        cr_assert_eq(nvdp__h5_write(h5, "split", NVDP__H5_I32, 1, &file->texts, split), NVDP_OK);
    free(label);
    free(split);
}

static void write_attributes(const struct rig_file *file, struct nvdp__h5 *h5) {
    bool hidden = file->policy == NVDP_LENGTH_HIDDEN;
    nvdp__h5_set_string(h5, "length_policy", hidden ? "hidden" : "public");
    if (hidden) nvdp__h5_set_int(h5, "length", (int64_t)file->length);
    nvdp__h5_set_int(h5, "kappa", 1);
    nvdp__h5_set_int(h5, "releases", (int64_t)file->samples);
    nvdp__h5_set_string(h5, "grid", "float16");
    nvdp__h5_set_string(h5, "method", "nvdp");
    if (file->task != NULL) nvdp__h5_set_string(h5, "task", file->task);
}

const char *rig_embeddings(struct nvdp_context *ctx, const char *name,
                           const struct rig_file *file) {
    const char *path = support_scratch_path(name);
    size_t samples = file->texts * file->samples;
    int64_t *offset = calloc(samples + 1, sizeof *offset);
    for (size_t k = 0; k < samples; k++) {
        offset[k + 1] = offset[k] + (int64_t)(1 + tokens(file, k / file->samples));
    }
    size_t rows = (size_t)offset[samples];
    double *z = calloc(rows * file->dim, sizeof *z);
    double *log_pi = calloc(rows, sizeof *log_pi);
    float *grid_z = calloc(rows * file->dim, sizeof *grid_z);
    float *grid_pi = calloc(rows, sizeof *grid_pi);
    const struct nvdp__noise noise = {.seed = file->seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    nvdp__stream_normals_f64(&stream, rows * file->dim, z);
    for (size_t k = 0; k < samples; k++) {
        double count = (double)(offset[k + 1] - offset[k]);
        for (int64_t r = offset[k]; r < offset[k + 1]; r++) {
            log_pi[r] = -log(count);
            for (size_t d = 0; d < file->dim && r > offset[k]; d++) {
                z[(size_t)r * file->dim + d] += mean(file, k / file->samples, d);
            }
        }
    }
    nvdp__grid_vectors(rows * file->dim, z, grid_z);
    nvdp__grid_log_weights(rows, log_pi, grid_pi);
    struct nvdp__embeddings_shape shape = {.texts = file->texts,
                                           .samples = file->samples,
                                           .dim = file->dim,
                                           .kappa = 1,
                                           .policy = file->policy,
                                           .length = file->length,
                                           .sample_rows = 1 + file->length,
                                           .rows = rows,
                                           .weights = true};
    struct nvdp__embeddings_writer writer;
    cr_assert_eq(nvdp__embeddings_create(ctx, path, &shape, offset, &writer), NVDP_OK);
    write_attributes(file, writer.file);
    write_columns(file, writer.file);
    cr_assert_eq(nvdp__embeddings_write(&writer, 0, file->texts, 0, rows, grid_z, grid_pi),
                 NVDP_OK);
    cr_assert_eq(nvdp__embeddings_commit(&writer), NVDP_OK, "%s", nvdp_context_error(ctx));
    free(offset);
    free(z);
    free(log_pi);
    free(grid_z);
    free(grid_pi);
    return path;
}
