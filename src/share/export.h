/* An export in memory: what its parts share. */
#ifndef NVDP_SRC_SHARE_EXPORT_H
#define NVDP_SRC_SHARE_EXPORT_H

#include "model/model.h"
#include "share/embeddings_file.h"
#include "share/release.h"
#include "share/statement.h"
#include "text/batch.h"
#include "train/run.h"
#include <nvdp/share.h>

enum { NVDP__EXPORT_PARTS = 5 }; /* as many as there are splits */

/* Texts of one source: a split, or the input file. */
struct nvdp__export_part {
    struct nvdp_dataset *data;
    int32_t split;
};

struct nvdp__export {
    struct nvdp_context *ctx;
    const struct nvdp_export_config *options;
    struct nvdp__run run;
    struct nvdp__export_part part[NVDP__EXPORT_PARTS];
    size_t parts;
    size_t texts;
    struct nvdp__release_key key;
    struct nvdp__noise noise;
    struct nvdp__form form;      /* of the model's samples */
    struct nvdp_posteriors like; /* no rows: what is the same for every text */
    struct nvdp__embeddings_shape shape;
    int64_t *offset; /* [N*S+1] rows, public lengths */
    struct nvdp__release_facts facts;
    struct nvdp__embeddings_writer writer;
    /* one batch */
    size_t batch_texts; /* at most */
    struct nvdp__batch *batch;
    struct nvdp_posteriors *posteriors;
    size_t longest_rows; /* of one sample */
    double *wide;        /* [threads][longest_rows, p] */
    double *log_weights; /* [threads][longest_rows] */
    float *z, *log_pi;   /* [batch samples' rows, p], [rows] */
    size_t *first_row;   /* [batch + 1] rows of the batch's texts, all samples */
};

/* export_texts.c: the splits or the input file. */
nvdp_status nvdp__export_load(struct nvdp__export *export);
/* The columns beside the samples: id, split, label. */
nvdp_status nvdp__export_columns(struct nvdp__export *export);
/* export_measure.c: fills the report in `facts`; nothing where there are fewer than two texts. */
nvdp_status nvdp__export_measure(struct nvdp__export *export);
/* export_draw.c: offsets and shape of the file; then memory for batches of at most the configured
 * size, and all samples. */
nvdp_status nvdp__export_plan(struct nvdp__export *export);
nvdp_status nvdp__export_allocate(struct nvdp__export *export);
nvdp_status nvdp__export_release(struct nvdp__export *export);

#endif
