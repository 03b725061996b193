/* Files of kind representations/1, which nvdp sanitize writes: the vector of every token, with noise. */
#ifndef NVDP_SRC_TEXT_REPRESENTATIONS_H
#define NVDP_SRC_TEXT_REPRESENTATIONS_H

#include "base/base.h"

/* A file of kind representations/1, open for reading; opaque. */
struct nvdp__representations;

/* The contents of such a file. The arrays belong to the file and live until the file is closed. */
struct nvdp__representations_info {
    size_t rows;    /* N, number of rows of the task, or of texts */
    size_t columns; /* number of texts per row: 1, or 2 for a task of pairs */
    /* Number of tokens of all texts. These are only regular tokens, without [CLS] and [SEP]; texts are not cut. */
    size_t tokens;
    size_t dim;       /* d, length of a vector */
    double eta;       /* eta of the noise, nats per unit of distance */
    double step;      /* every value is a multiple of this step */
    bool pieces;      /* true if tokens are WordPieces, not words */
    const char *task; /* "sst2", ...; "none" for one text per line */
    /* [N columns + 1] Text c of row i has the number t = i columns + c and the tokens offset[t] to offset[t + 1]; a
     * text may have no tokens. */
    int64_t *offset;
    int64_t *id;    /* [N] row number in the input file, from 0, without the header */
    int32_t *split; /* [N] enum nvdp_split; NULL if there are no splits */
    /* [N] class index or score; NaN for a row without a label; NULL if there are no labels. */
    float *label;
};

/* Opens a file. Reads and checks everything except the vectors.
 * ctx: records messages; outlives the file
 * path: the file
 * out: the file; nvdp__representations_close(); untouched on error
 * info: its content; untouched on error
 * Returns NVDP_ERR_IO; NVDP_ERR_INPUT for another kind, a missing part, inconsistent shapes, or decreasing offsets;
 *         NVDP_ERR_MEMORY */
nvdp_status nvdp__representations_open(struct nvdp_context *ctx, const char *path,
                                       struct nvdp__representations **out,
                                       struct nvdp__representations_info *info);

/* Closes a file.
 * file: may be NULL */
void nvdp__representations_close(struct nvdp__representations *file);

/* Reads vectors. Rows a to b have the tokens offset[a columns] to offset[b columns].
 * file: file
 * first: first token
 * tokens: number of tokens
 * z: [tokens, d]
 * Returns NVDP_ERR_ARGUMENT for tokens that the file does not have, NVDP_ERR_INPUT for a number that is not finite,
 *         NVDP_ERR_IO */
nvdp_status nvdp__representations_read(struct nvdp__representations *file, size_t first,
                                       size_t tokens, float *z);

NVDP__AUTOPTR(struct nvdp__representations, nvdp__representations_close)

#endif
