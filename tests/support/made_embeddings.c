/* Writes files of embeddings for tests (made_embeddings.h): samples whose means depend on the
 * label, the columns, the attributes, and signatures of the present and of older versions. */
#include "made_embeddings.h"

struct made_embeddings made_embeddings_default(void) {
    return (struct made_embeddings){.texts = 300,
                                    .samples = 1,
                                    .dim = 4,
                                    .policy = NVDP_LENGTH_HIDDEN,
                                    .length = 3,
                                    .separation = 3,
                                    .classes = 2,
                                    .labels = true,
                                    .seed = 1};
}

float made_label(const struct made_embeddings *file, size_t text) {
    if (file->classes > 0) return (float)(text % file->classes);
    return (float)(text % 11) / 2;
}

/* Returns a component of the mean of a class's token vectors: its own direction, of length
 * `separation`. */
static double mean(const struct made_embeddings *file, size_t text, size_t d) {
    float label = made_label(file, text);
    if (file->classes == 0) return d == 0 ? file->separation * (label - 2.5) / 2.5 : 0;
    size_t class = (size_t)label;
    double sign = class / file->dim % 2 == 0 ? 1 : -1;
    return d == class % file->dim ? sign * file->separation : 0;
}

static size_t tokens(const struct made_embeddings *file, size_t text) {
    return file->policy == NVDP_LENGTH_HIDDEN ? file->length : 1 + text % 3;
}

static void write_columns(const struct made_embeddings *file, struct nvdp__h5 *h5) {
    nvdp__autofree float *label = calloc(file->texts, sizeof *label);
    int32_t *split = calloc(file->texts, sizeof *split);
    for (size_t i = 0; i < file->texts; i++) {
        label[i] = made_label(file, i);
        split[i] = i % 7 == 6; /* every class in both */
    }
    if (file->labels) ok(nvdp__h5_write(h5, "label", NVDP__H5_F32, 1, &file->texts, label));
    if (file->splits) ok(nvdp__h5_write(h5, "split", NVDP__H5_I32, 1, &file->texts, split));
    free(split);
}

static void write_attributes(const struct made_embeddings *file, struct nvdp__h5 *h5) {
    bool hidden = file->policy == NVDP_LENGTH_HIDDEN;
    nvdp__h5_set_string(h5, "length_policy", hidden ? "hidden" : "public");
    if (hidden) nvdp__h5_set_int(h5, "length", (int64_t)file->length);
    nvdp__h5_set_int(h5, "kappa", 1);
    nvdp__h5_set_int(h5, "releases", (int64_t)file->samples);
    nvdp__h5_set_string(h5, "method", "nvdp");
    if (file->task != NULL) nvdp__h5_set_string(h5, "task", file->task);
}

/* Signs values and attributes, not bytes. */
static void sign_values(const struct nvdp__sign_key *key, struct nvdp__h5 *file) {
    unsigned char message[64] = "nvdp embeddings, signed/1", signature[crypto_sign_BYTES];
    char hex[2 * crypto_sign_BYTES + 1];
    sodium_bin2hex(hex, sizeof hex, key->open, sizeof key->open);
    ok(nvdp__h5_set_string(file, "public_key", hex));
    ok(nvdp__h5_digest(file, "signature", message + 32));
    crypto_sign_detached(signature, NULL, message, sizeof message, key->secret);
    sodium_bin2hex(hex, sizeof hex, signature, sizeof signature);
    ok(nvdp__h5_set_string(file, "signature", hex));
}

const char *made_embeddings(struct nvdp_context *ctx, const char *name,
                            const struct made_embeddings *file) {
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
    nvdp__round_f16(rows * file->dim, z, NVDP__LARGEST_F16, grid_z);
    nvdp__round_f16(rows, log_pi, 0, grid_pi);
    struct nvdp__embeddings_shape shape = {.texts = file->texts,
                                           .samples = file->samples,
                                           .dim = file->dim,
                                           .kappa = 1,
                                           .policy = file->policy,
                                           .length = file->length,
                                           .sample_rows = 1 + file->length,
                                           .rows = rows,
                                           .weights = true};
    struct nvdp__h5 *written = NULL;
    ok(nvdp__embeddings_create(ctx, path, &shape, offset, &written));
    write_attributes(file, written);
    write_columns(file, written);
    ok(nvdp__embeddings_write(written, &shape, 0, file->texts, 0, rows, grid_z, grid_pi));
    if (file->key != NULL) {
        struct nvdp__sign_key key = {0};
        ok(nvdp__sign_key_read(ctx, file->key, &key));
        sign_values(&key, written);
        nvdp__sign_key_wipe(&key);
    }
    ok(nvdp__h5_commit(written, true));
    nvdp__h5_free(written);
    free(offset);
    free(z);
    free(log_pi);
    free(grid_z);
    free(grid_pi);
    return path;
}

void converted_embeddings(struct nvdp_context *ctx, const struct nvdp__format *const *formats,
                          const char *from, const char *to) {
    struct nvdp_shared *held = NULL;
    struct nvdp__release read = {0};
    ok(nvdp__release_read(ctx, formats, from, &read));
    ok(nvdp__embeddings_take(&read, NULL, NULL, &held));
    struct nvdp__release made = read; /* shares the memory of `read` */
    made.of = NULL;
    made.h5 = NULL;
    ok(nvdp__attributes_set_whole(&made.attributes, "texts", (int64_t)made.shape.texts));
    ok(nvdp__release_create(&made, nvdp__format_by_ending(formats, to), to));
    ok(nvdp__release_copy(&read, &made));
    ok(nvdp__release_commit(&made, true));
    if (made.format->close != NULL) made.format->close(&made);
    nvdp__h5_free(made.h5);
    free(made.of);
    read.attributes = made.attributes;
    nvdp__release_close(&read);
    nvdp_shared_free(held);
}
