/* Training a reader, in memory: what its parts share. */
#ifndef NVDP_SRC_SHARE_REUSE_H
#define NVDP_SRC_SHARE_REUSE_H

#include "share/labels.h"
#include "share/reader.h"
#include "train/optimizer.h"
#include <nvdp/share.h>

/* Texts of a file by their numbers. */
struct nvdp__reuse_texts {
    const struct nvdp__embeddings *file;
    const struct nvdp__labels *labels;
    size_t count;
    size_t *row;
};

struct nvdp__reuse {
    struct nvdp_context *ctx;
    const struct nvdp_reuse_config *options;
    struct nvdp__embeddings *file, *eval_file; /* eval_file NULL: the same */
    struct nvdp__labels labels, eval_labels;
    struct nvdp_task task; /* metrics */
    struct nvdp__reuse_texts train, validation, test;
    struct nvdp__reader *reader;
    struct nvdp__optimizer optimizer;
    size_t batch;
    int64_t *order;  /* [train] */
    size_t *samples; /* [batch] */
    float *target;   /* [batch] */
    float *best;     /* parameters of the best epoch */
    double best_value;
    size_t best_epoch;
};

/* reuse_texts.c: which texts are for training, validation and scoring.  Texts without a label are
 * for nothing. */
nvdp_status nvdp__reuse_divide(struct nvdp__reuse *reuse);
/* reuse_train.c: all epochs; the best one's parameters are left in the reader. */
nvdp_status nvdp__reuse_train(struct nvdp__reuse *reuse);
/* Scores over all samples of the texts, a draw each. */
nvdp_status nvdp__reuse_score(struct nvdp__reuse *reuse, const struct nvdp__reuse_texts *texts,
                              struct nvdp_scores *scores);

#endif
