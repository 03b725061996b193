/* An encoder with pooler and classifier on a batch, for tests of the encoder and of its files. */
#ifndef NVDP_TESTS_SUPPORT_ENCODER_H
#define NVDP_TESTS_SUPPORT_ENCODER_H

#include "base/file.h"
#include "base/json.h"
#include "encoder/checkpoint.h"
#include "encoder/encode.h"
#include "encoder/encoder.h"
#include "encoder/row.h"
#include "encoder/safetensors.h"
#include "support.h"
#include "tensor_values.h"

struct encoder {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__params params;
    struct nvdp__bert bert;
    struct nvdp__dense classifier;
    size_t outputs;
    struct nvdp__arena arena;
    struct nvdp__bert_cache cache;
    struct nvdp__pass pass;
    bool plain; /* use the plain kernels */
    float *logits, *d_logits, *d_pooled, *d_last;
};

/* Returns a small network; every size differs from the others. */
struct nvdp_bert_config encoder_config(void);
/* Turns a configuration into one of another type with the same sizes; ELECTRA's word embeddings
 * are narrower, and every second layer of ModernBERT reads windows of 5 tokens. */
struct nvdp_bert_config encoder_of_type(enum nvdp_model_type type, struct nvdp_bert_config config);
/* Returns the next type after `type` that has layers, and does not read windows of another model. Begin with -1,
 * which is also returned after the last type. */
int encoder_next_type(int type);
/* Returns a small BiLSTM with different sizes. */
struct nvdp_bert_config encoder_bilstm(void);
/* Declares and allocates an encoder, with gradients if `training`; values are zero. */
struct encoder *encoder_create_in(enum nvdp_precision precision,
                                  const struct nvdp_bert_config *config, size_t outputs,
                                  bool training, bool keep_hidden);
/* Does encoder_create_in() in f32. */
struct encoder *encoder_create(const struct nvdp_bert_config *config, size_t outputs, bool training,
                               bool keep_hidden);
void encoder_plan(struct encoder *encoder, size_t texts, size_t longest);
/* Sets random values in all tensors, including LayerNorms and biases, because zeros could hide
 * errors. */
void encoder_randomize(struct encoder *encoder, double sd, uint64_t seed);

/* Returns a batch of texts of the given lengths with random ids, types and labels below
 * `outputs`. */
struct nvdp__batch *encoder_batch(struct encoder *encoder, size_t texts, const size_t *lengths,
                                  uint64_t seed);
/* Returns a batch with only text `index` of another batch. */
struct nvdp__batch *encoder_one_text(struct encoder *encoder, const struct nvdp__batch *batch,
                                     size_t index);
/* Packs the tokens of `ids` [texts, width] where `mask` is not 0. */
struct nvdp__batch *encoder_pack(struct encoder *encoder, size_t texts, size_t width,
                                 const int64_t *ids, const int64_t *types, const int64_t *mask,
                                 const int64_t *label);

/* Returns the mean cross-entropy of the classifier. */
double encoder_forward(struct encoder *encoder, const struct nvdp__batch *batch);
/* Zeroes the gradients, runs encoder_forward() and computes the gradients of the loss. */
double encoder_backward(struct encoder *encoder, const struct nvdp__batch *batch);
/* Does encoder_backward() without zeroing: adds to the gradients. */
double encoder_add_backward(struct encoder *encoder, const struct nvdp__batch *batch);
/* Copies n floats of tensor memory; the caller frees it with free(). */
float *encoder_download(struct encoder *encoder, size_t n, const float *tensor);
/* Copies the last hidden state [tokens, hidden_size]; the caller frees it with free(). */
float *encoder_last(struct encoder *encoder, const struct nvdp__batch *batch);

/* Returns max |a - b|. */
double encoder_difference(size_t n, const float *a, const float *b);
/* Returns all values of a tensor as double; the caller frees it with free(). Fails the test if there is none. */
double *encoder_expected(const struct nvdp__safetensors *file, const char *name);
int64_t *encoder_expected_i64(const struct nvdp__safetensors *file, const char *name);
struct nvdp__safetensors *encoder_open(struct nvdp_context *ctx, const char *path);

#endif
