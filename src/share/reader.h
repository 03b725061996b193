/* A reader: the sealed block and a classifier, which see samples and nothing else; and the labels
 * that it learns.
 *
 * The sender's own model has one inside (the public part of it); `reuse` trains one from a file. */
#ifndef NVDP_SRC_SHARE_READER_H
#define NVDP_SRC_SHARE_READER_H

#include "nvib/nvib.h"
#include "share/embeddings_file.h"
#include "tensor/params.h"

struct nvdp__reader_shape {
    size_t dim, heads, inner, outputs;
    enum nvdp_activation act;
    double eps;          /* LayerNorm */
    enum nvdp_pool pool; /* first, mean or weighted */
    int kappa;
    bool weights;  /* samples have weights, and the prior's rows */
    bool residual; /* the block's */
    bool regression;
};

struct nvdp__reader {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__reader_shape shape;
    struct nvdp__params params;
    struct nvdp__sealed_block block;
    struct nvdp__dense classifier;
    /* planned */
    struct nvdp__arena arena;
    size_t max_rows, max_texts;
    bool training;
    int32_t *offset;    /* [texts + 1] of the batch */
    size_t texts, rows; /* of the batch */
    float *host;        /* [rows, p] on the way to the device */
    float *z, *log_pi;
    float *pooled; /* of the last forward pass */
    float *logits, *d_logits, *d_pooled;
};

/* NVDP_ERR_ARGUMENT naming what is out of its range: heads must divide dim. */
nvdp_status nvdp__reader_create(struct nvdp_context *ctx, const struct nvdp__reader_shape *shape,
                                bool with_grad, struct nvdp__reader **out);
void nvdp__reader_free(struct nvdp__reader *reader);
void nvdp__reader_initialise(struct nvdp__reader *reader, uint64_t seed);
/* Takes over every tensor that `from` has under the same name and shape; returns how many. */
size_t nvdp__reader_adopt(struct nvdp__reader *reader, const struct nvdp__params *from);
/* For batches of at most `texts` samples of at most `longest` rows. */
nvdp_status nvdp__reader_plan(struct nvdp__reader *reader, size_t texts, size_t longest,
                              bool training);

/* The batch: n samples of a file, by their numbers. */
void nvdp__reader_fill(struct nvdp__reader *reader, const struct nvdp__embeddings *from, size_t n,
                       const size_t *samples);
/* Outputs of the batch into reader->logits [texts, outputs]. */
nvdp_status nvdp__reader_forward(struct nvdp__reader *reader);
/* After a forward pass: adds the gradients of the mean loss, *loss. */
void nvdp__reader_backward(struct nvdp__reader *reader, const float *label, double *loss);

/* The contents of a reader's directory beside its shape; strings may be NULL. */
struct nvdp__reader_info {
    const char *task;
    const char *const *labels; /* [outputs] class names, NULL: unknown */
    const char *model_id;      /* of the file of embeddings that it belongs to */
    const char *statement;
};
/* DIR/config.json (kind reader/1) and DIR/model.safetensors. */
nvdp_status nvdp__reader_save(const struct nvdp__reader *reader,
                              const struct nvdp__reader_info *story, const char *directory);
nvdp_status nvdp__reader_shape_read(struct nvdp_context *ctx, const char *directory,
                                    struct nvdp__reader_shape *shape);
/* Shape and weights.  With other outputs than the directory's (0: the same) the classifier keeps
 * its initial values. */
nvdp_status nvdp__reader_load(struct nvdp_context *ctx, const char *directory, size_t outputs,
                              bool with_grad, uint64_t seed, struct nvdp__reader **out);

/* --- labels, from a file of embeddings or from a text file --- */

/* One label per text: a class number, or a score; NaN where a text has none. */
struct nvdp__labels {
    size_t count;
    float *value;      /* [count] */
    size_t classes;    /* 1 for scores */
    const char **name; /* [classes] where the labels are words, else NULL; one block */
};

/* From `path` (one label per line, in the order of the file's texts; an empty line: none), or where
 * it is NULL from the file's own `label`.  Lines that are all whole numbers from 0 are class
 * numbers; other words are classes in the order of their bytes.  `like` (NULL: none) gives the
 * classes that may occur: those a reader was trained on. */
nvdp_status nvdp__labels_read(struct nvdp_context *ctx, const char *path,
                              const char *embeddings_path,
                              const struct nvdp__embeddings *embeddings, bool regression,
                              const struct nvdp__labels *like, struct nvdp__labels *out);
void nvdp__labels_release(struct nvdp__labels *labels);

#endif
