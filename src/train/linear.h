/* Linear readers: a regression on the embeddings of a public encoder, without noise. nvdp reuse computes one from a
 * summary (share/summarize.h), and nvdp predict applies it to the receiver's texts. */
#ifndef NVDP_SRC_TRAIN_LINEAR_H
#define NVDP_SRC_TRAIN_LINEAR_H

#include "train/sentence_run.h"
#include <nvdp/encoder.h>

/* --- embeddings of texts by the map of a file --- */

/* Loads the encoder of a map and checks its weights; `model` NULL: the folder of its name, or models/NAME.
 * NVDP_ERR_IO if there is none; NVDP_ERR_INPUT for other weights, or vectors of another width. */
nvdp_status nvdp__query_encoder(struct nvdp_context *ctx, const struct nvdp__query_map *query,
                                const char *model, struct nvdp_encoder **out);
/* Computes the unit vectors u [texts, p] of texts that the encoder's tokenizer made, of at most query->max_length
 * tokens. The vector of a text without tokens, or with an embedding of 0, is 0, and there [texts] is false. */
nvdp_status nvdp__query_embed(struct nvdp_context *ctx, const struct nvdp__query_map *query,
                              struct nvdp_encoder *encoder, const struct nvdp_dataset *texts,
                              float *u, bool *there);

/* Joins the vectors of two texts: x [2p] has that of the first text, second [p] that of the other one. x becomes
 * (sqrt(p) u v, |u - v|), scaled to length 1 (formats.md, pair_features). */
void nvdp__join_pair(size_t p, const float *second, float *x);

/* --- the reader --- */

/* y = weight u + bias estimates the answer of a text with the unit vector u:
 *
 *     a score     y in [-1, 1], the map of [label_min, label_max]
 *     2 classes   y in [-1, 1], minus the probability of the first class plus that of the second
 *     K classes   y in R^K, their probabilities */
struct nvdp__linear_reader {
    struct nvdp_context *ctx;
    struct nvdp__query_map query;
    struct nvdp_task task; /* its labels are in `names` */
    bool pairs;            /* u is the joined vector of two texts */
    size_t answers;        /* numbers of y */
    const char **names;    /* [classes], one block; NULL if the answers are scores */
    float *weight, *bias;  /* [answers, p or 2p], [answers] */
};

/* Texts for a reader; of pairs, also the second ones. */
struct nvdp__linear_input {
    struct nvdp_dataset *first, *second;
};
void nvdp__linear_input_release(struct nvdp__linear_input *input);

/* Returns the names of classes as a JSON array; null: there are none. */
json_t *nvdp__label_names(const char *const *labels, size_t count);
/* Returns the number of outputs of nvdp__linear_outputs(): the number of classes, or 1. */
size_t nvdp__linear_width(const struct nvdp__linear_reader *reader);
/* Sets the task of a reader: `count` names of classes, or scores from `low` to `high` if there are none. */
nvdp_status nvdp__linear_set_task(struct nvdp__linear_reader *reader, size_t count,
                                  const char *const *name, double low, double high);
/* Writes config.json and model.safetensors to a folder, which is made if needed. `statement`: what the reader was
 * computed from. */
nvdp_status nvdp__linear_save(const struct nvdp__linear_reader *reader, const char *statement,
                              const char *directory);
/* Returns whether the folder holds a linear reader. */
bool nvdp__linear_is(const char *directory);
/* NVDP_ERR_INPUT for a missing or wrong key, and for tensors of other shapes; the message names the key or the
 * tensor. */
nvdp_status nvdp__linear_load(struct nvdp_context *ctx, const char *directory,
                              struct nvdp__linear_reader *out);
void nvdp__linear_release(struct nvdp__linear_reader *reader);

/* Reads a table of texts for the encoder, from the columns `text` and, for a reader of pairs and only for it, `pair`.
 * With `label`, the column of the answers, which must be those of the reader. */
nvdp_status nvdp__linear_texts(const struct nvdp__linear_reader *reader,
                               const struct nvdp_encoder *encoder, const char *path,
                               const char *text, const char *pair, const char *label,
                               struct nvdp__linear_input *out);
/* Computes outputs [texts, width], as those of a model: a score in its range, or logarithms of the classes'
 * probabilities, which are the estimates y, cut to [0, 1]. */
nvdp_status nvdp__linear_outputs(const struct nvdp__linear_reader *reader,
                                 struct nvdp_encoder *encoder,
                                 const struct nvdp__linear_input *input, float *outputs);

#endif
