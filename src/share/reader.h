/* A reader is a sealed block and a classifier, which see only samples.  This header also declares the labels that a
 * reader learns.
 *
 * The sender's model contains a reader, which is its public part; `reuse` trains a reader on a file. */
#ifndef NVDP_SRC_SHARE_READER_H
#define NVDP_SRC_SHARE_READER_H

#include "base/base.h"
#include "nvib/nvib.h"
#include "share/release.h"
#include "tensor/tensor.h"
#include "train/linear.h"

struct nvdp__reader_shape {
    size_t dim, heads, inner, outputs;
    enum nvdp_activation act;
    double eps;          /* epsilon of LayerNorm */
    enum nvdp_pool pool; /* first, mean or weighted */
    int kappa;
    bool weights;  /* samples have weights, and rows of the prior */
    bool residual; /* the block has a residual connection */
    bool regression;
};

struct nvdp__reader {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__reader_shape shape;
    struct nvdp__params params;
    struct nvdp__sealed_block block;
    struct nvdp__dense classifier;
    /* set by nvdp__reader_plan */
    struct nvdp__arena arena;
    size_t max_rows, max_texts;
    bool training;
    int32_t *offset;    /* [texts + 1] of the batch */
    size_t texts, rows; /* numbers of texts and of rows in the batch */
    float *host;        /* [rows, p] staging memory for the device */
    float *z, *log_pi;
    float *pooled; /* pooled vectors of the last forward pass */
    float *logits, *d_logits, *d_pooled;
};

/* Creates a reader.  NVDP_ERR_ARGUMENT, whose message names the value that is out of range: heads must divide dim. */
nvdp_status nvdp__reader_create(struct nvdp_context *ctx, const struct nvdp__reader_shape *shape,
                                bool with_grad, struct nvdp__reader **out);
void nvdp__reader_free(struct nvdp__reader *reader);
NVDP__AUTOPTR(struct nvdp__reader, nvdp__reader_free)
void nvdp__reader_initialise(struct nvdp__reader *reader, uint64_t seed);
/* Copies every tensor that `from` has with the same name and shape.  Returns the number of copied tensors. */
size_t nvdp__reader_adopt(struct nvdp__reader *reader, const struct nvdp__params *from);
/* Allocates memory for batches of at most `texts` samples with at most `longest` rows each. */
nvdp_status nvdp__reader_plan(struct nvdp__reader *reader, size_t texts, size_t longest,
                              bool training);

/* Fills the batch with n samples of a file, given by their numbers. */
void nvdp__reader_fill(struct nvdp__reader *reader, const struct nvdp_shared *from, size_t n,
                       const size_t *samples);
/* Computes the outputs of the batch in reader->logits [texts, outputs]. */
nvdp_status nvdp__reader_forward(struct nvdp__reader *reader);
/* Adds the gradients of the mean loss after a forward pass, and sets *loss. */
void nvdp__reader_backward(struct nvdp__reader *reader, const float *label, double *loss);

/* The metadata in a reader's directory, except its shape.  Strings may be NULL. */
struct nvdp__reader_info {
    const char *task;
    const char *const *labels; /* [outputs] class names; NULL if unknown */
    const char *model_id;      /* model id in the file of embeddings that the reader reads */
    const char *statement;
};
/* Writes DIR/config.json (kind reader/1) and DIR/model.safetensors. */
nvdp_status nvdp__reader_save(const struct nvdp__reader *reader,
                              const struct nvdp__reader_info *info, const char *directory);
nvdp_status nvdp__reader_shape_read(struct nvdp_context *ctx, const char *directory,
                                    struct nvdp__reader_shape *shape);
/* Reads shape and weights.  If `outputs` is 0, the reader has the directory's number of outputs.  If `outputs` is
 * another number, the classifier keeps its initial values. */
nvdp_status nvdp__reader_load(struct nvdp_context *ctx, const char *directory, size_t outputs,
                              bool with_grad, uint64_t seed, struct nvdp__reader **out);

/* --- labels, from a file of embeddings or a text file --- */

/* One label per text: a class number or a score; NaN for texts without a label. */
struct nvdp__labels {
    size_t count;
    float *value;      /* [count] */
    size_t classes;    /* 1 for scores */
    const char **name; /* [classes] if the labels are words, else NULL; one block */
};

/* Reads labels from `path`: one label per line, in the order of the file's texts; a text with an empty line has no
 * label.  If `path` is NULL, takes `label` of the embeddings.  If all lines are whole numbers >= 0, they are class
 * numbers; otherwise the words are classes, sorted by their bytes.  `like` (or NULL) limits the classes to the classes
 * on which a reader was trained. */
nvdp_status nvdp__labels_read(struct nvdp_context *ctx, const char *path,
                              const char *embeddings_path, const struct nvdp_shared *embeddings,
                              bool regression, const struct nvdp__labels *like,
                              struct nvdp__labels *out);
void nvdp__labels_release(struct nvdp__labels *labels);

#endif
