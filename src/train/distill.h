/* Trains the map and the decoder of the objective distill (vib/distill.h) on the embeddings of public texts. */
#ifndef NVDP_SRC_TRAIN_DISTILL_H
#define NVDP_SRC_TRAIN_DISTILL_H

#include "train/options.h"

/* The embeddings of the public texts, and what is learned from them. */
struct nvdp__distilled {
    size_t texts, width, dim; /* n, D, p */
    double clip;              /* C */
    const float *x;           /* [n, D] s/|s| - m */
    float *map;               /* [p, D] on entry where to start, such as principal directions */
    float *decoder;           /* [D, p] G: G z estimates x */
};

/* NVDP_ERR_INPUT for too few texts to train, or to score. */
nvdp_status nvdp__distill_check(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                                size_t texts);
/* Sets map and decoder, and the result's steps, times and score: Spearman's correlation, over pairs of texts held out, of
 * the cosines of G z and those of x, both samples noised; half of the pairs are nearest neighbours. The same bits for the
 * same seed and number of threads. NVDP_ERR_INPUT for too few texts; NVDP_ERR_NUMERIC if the loss diverges;
 * NVDP_ERR_CANCELLED. */
nvdp_status nvdp__distill_train(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                                const struct nvdp__distilled *made,
                                struct nvdp_train_result *result);

#endif
