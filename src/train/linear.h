/* Linear readers: a regression on the embeddings of a public encoder, without noise. nvdp reuse computes a reader
 * from a summary (share/summarize.h), and nvdp predict applies the reader to the receiver's texts. */
#ifndef NVDP_SRC_TRAIN_LINEAR_H
#define NVDP_SRC_TRAIN_LINEAR_H

#include "train/sentence_run.h"
#include <nvdp/encoder.h>

/* --- embeddings of texts by the map of a file --- */

/* Loads the encoder of a map and checks the encoder's weights. If `model` is NULL, the folder is NAME or models/NAME,
 * where the map states NAME. NVDP_ERR_IO if there is no folder; NVDP_ERR_INPUT for other weights, or vectors of another
 * width. */
nvdp_status nvdp__query_encoder(struct nvdp_context *ctx, const struct nvdp__query_map *query,
                                const char *model, struct nvdp_encoder **out);
/* Computes the unit vector u [p] of a vector x [width] of the map's encoder; overwrites x. Returns false, with u = 0, for
 * a vector without a direction. */
bool nvdp__query_direction(const struct nvdp__query_map *query, float *x, float *u);
/* Computes the unit vectors u [texts, p] of texts that the encoder's tokenizer made, of at most query->max_length
 * tokens. The vector of a text without tokens, or with an embedding of 0, is 0, and there [texts] is false. */
nvdp_status nvdp__query_embed(struct nvdp_context *ctx, const struct nvdp__query_map *query,
                              struct nvdp_encoder *encoder, const struct nvdp_dataset *texts,
                              float *u, bool *there);

/* The name of the features of nvdp__join_pair(), and of the embedding of both texts together. */
#define NVDP__PAIR_FEATURES "product-difference"
#define NVDP__PAIR_JOINT "joint"
static inline const char *nvdp__pair_features(bool joint) {
    return joint ? NVDP__PAIR_JOINT : NVDP__PAIR_FEATURES;
}
/* Joins the vectors u and v of two texts: x [2p] has u in its first half, second [p] is v. x becomes (sqrt(p) u v, |u -
 * v|), scaled to length 1 (formats.md, pair_features). */
void nvdp__join_pair(size_t p, const float *second, float *x);

/* --- the reader --- */

/* y = weight u + bias estimates the answer of a text with the unit vector u:
 *
 *     a score     y in [-1, 1], the map of [label_min, label_max]
 *     2 classes   y in [-1, 1], the probability of the second class minus that of the first class
 *     K classes   y in R^K, the probabilities of the classes */
struct nvdp__linear_reader {
    struct nvdp_context *ctx;
    struct nvdp__query_map query;
    struct nvdp_task task; /* its labels are in `names` */
    bool pairs;            /* u is the joined vector of two texts */
    bool joint;            /* of pairs: u is the embedding of both texts together */
    size_t answers;        /* number of values of y */
    const char **names;    /* [classes], one block; NULL if the answers are scores */
    float *weight, *bias;  /* [answers, p or 2p], [answers] */
};

/* Texts for a reader, or pairs that are embedded together; for other pairs, the second texts, too. */
struct nvdp__linear_input {
    struct nvdp_dataset *first, *second;
};
void nvdp__linear_input_release(struct nvdp__linear_input *input);

/* Returns the names of classes as a JSON array, or JSON's null if there are no names. */
json_t *nvdp__label_names(const char *const *labels, size_t count);
/* Returns the number of outputs of nvdp__linear_outputs(): the number of classes, or 1. */
size_t nvdp__linear_width(const struct nvdp__linear_reader *reader);
/* Sets the task of a reader: `count` names of classes, or scores from `low` to `high` if there are no names. */
nvdp_status nvdp__linear_set_task(struct nvdp__linear_reader *reader, size_t count,
                                  const char *const *name, double low, double high);
/* Writes config.json and model.safetensors to a folder, which is made if needed. `statement` is the statement of the
 * summary from which the reader was computed. */
nvdp_status nvdp__linear_save(const struct nvdp__linear_reader *reader, const char *statement,
                              const char *directory);
/* Returns whether the folder holds a linear reader. */
bool nvdp__linear_is(const char *directory);
/* Reads a reader. NVDP_ERR_INPUT for a missing or wrong key, and for tensors of other shapes; the message names the key
 * or the tensor. */
nvdp_status nvdp__linear_load(struct nvdp_context *ctx, const char *directory,
                              struct nvdp__linear_reader *out);
void nvdp__linear_release(struct nvdp__linear_reader *reader);

/* Reads a table of texts for the encoder, from the column `text` and, for a reader of pairs only, the column `pair`.
 * With `label`, reads the column of the answers, too; the reader must know all answers. */
nvdp_status nvdp__linear_texts(const struct nvdp__linear_reader *reader,
                               const struct nvdp_encoder *encoder, const char *path,
                               const char *text, const char *pair, const char *label,
                               struct nvdp__linear_input *out);
/* Computes outputs [texts, width] like the outputs of a model: a score in its range, or logarithms of the classes'
 * probabilities. The probabilities are the estimates y, cut to [0, 1]. */
nvdp_status nvdp__linear_outputs(const struct nvdp__linear_reader *reader,
                                 struct nvdp_encoder *encoder,
                                 const struct nvdp__linear_input *input, float *outputs);
/* The same for vectors x [n, query.width] by the encoder of the summary, which are overwritten. Not for pairs. */
nvdp_status nvdp__linear_vectors(const struct nvdp__linear_reader *reader, size_t n, float *x,
                                 float *outputs);

#endif
