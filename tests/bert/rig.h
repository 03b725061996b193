/* An encoder with pooler and classifier on a batch, for the tests of this room. */
#ifndef NVDP_TESTS_BERT_RIG_H
#define NVDP_TESTS_BERT_RIG_H

#include "bert/encoder.h"
#include <nvdp/safetensors.h>

struct rig {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__params params;
    struct nvdp__bert bert;
    struct nvdp__dense classifier;
    size_t outputs;
    struct nvdp__arena arena;
    struct nvdp__bert_cache cache;
    struct nvdp__pass pass;
    float *logits, *d_logits, *d_pooled, *d_last;
};

/* A small network; every size differs from the others. */
struct nvdp_bert_config rig_config(void);
/* Declared and allocated with gradients where training; values zero. */
struct rig *rig_create_in(enum nvdp_precision precision, const struct nvdp_bert_config *config,
                          size_t outputs, bool training, bool keep_hidden);
/* In f32. */
struct rig *rig_create(const struct nvdp_bert_config *config, size_t outputs, bool training,
                       bool keep_hidden);
void rig_plan(struct rig *rig, size_t texts, size_t longest);
void rig_free(struct rig *rig);
/* Random values in all tensors, LayerNorms' and biases' too: nothing is zero that a mistake could
 * hide in. */
void rig_randomise(struct rig *rig, double sd, uint64_t seed);

/* A batch of texts of the given lengths with random ids, types and labels below `outputs`. */
struct nvdp__batch *rig_batch(struct rig *rig, size_t texts, const size_t *lengths, uint64_t seed);
/* Text `index` of a batch alone. */
struct nvdp__batch *rig_one_text(struct rig *rig, const struct nvdp__batch *batch, size_t index);
/* Tokens of `ids` [texts, width] where `mask` is not 0. */
struct nvdp__batch *rig_pack(struct rig *rig, size_t texts, size_t width, const int64_t *ids,
                             const int64_t *types, const int64_t *mask, const int64_t *label);

/* Mean cross-entropy of the classifier. */
double rig_forward(struct rig *rig, const struct nvdp__batch *batch);
/* Zeroes the gradients, then rig_forward and its gradients. */
double rig_backward(struct rig *rig, const struct nvdp__batch *batch);
/* The same without zeroing. */
double rig_add_backward(struct rig *rig, const struct nvdp__batch *batch);
/* n floats of tensor memory; free(). */
float *rig_download(struct rig *rig, size_t n, const float *tensor);
/* The last hidden state [tokens, hidden_size]; free(). */
float *rig_last(struct rig *rig, const struct nvdp__batch *batch);

/* max |a - b| */
double rig_difference(size_t n, const float *a, const float *b);
/* All values of a tensor as double; free().  Fails the test where there is none. */
double *rig_expected(const struct nvdp_safetensors *file, const char *name);
int64_t *rig_expected_i64(const struct nvdp_safetensors *file, const char *name);
struct nvdp_safetensors *rig_open(struct nvdp_context *ctx, const char *path);

#endif
