/* Runs of a method that has nothing to train: an encoder's own sentence embedding (vib/sentence.c). Such a run has the
 * files of every run, so export, verify, explain and attacks read it as they read a trained one. */
#ifndef NVDP_SRC_TRAIN_SENTENCE_H
#define NVDP_SRC_TRAIN_SENTENCE_H

#include "base/base.h"
#include "model/model.h"

struct nvdp__sentence_options {
    const char *model;       /* folder of a public encoder */
    const char *center;      /* public texts: one per line, or a table */
    const char *text_column; /* of tables */
    size_t reduce;           /* p; 0: the encoder's width */
    double clip, epsilon;    /* C, or the epsilon from which it follows; exactly one is above 0 */
    size_t releases;         /* samples per text for which the run is certified */
    size_t batch;
};

/* Makes the run, or, if the folder holds one, checks that it was made with the same options and from the same files.
 * NVDP_ERR_INPUT for too few public texts, and for an embedding that the method cannot compute (a pooling other than
 * mean or cls, dense layers, a prompt); NVDP_ERR_ARGUMENT for a run with other options, and for the model of a trained
 * run as the encoder. */
nvdp_status nvdp__sentence_run(struct nvdp_context *ctx,
                               const struct nvdp__sentence_options *options, const char *run);

/* The public facts from which a searcher computes the mean of a query. */
struct nvdp__query_map {
    char encoder[64];         /* name of the encoder's folder */
    char sha256[65];          /* of its weights */
    char pool[8];             /* mean or cls */
    size_t max_length, empty; /* tokens of a text; of an empty text */
    size_t width, dim;        /* D, p */
    float *center, *map;      /* [D]; [p, D], NULL for p = D */
};
/* Reads them from a run of this method. NVDP_ERR_INPUT for a run.json without them. */
nvdp_status nvdp__sentence_query_map(struct nvdp_context *ctx, const char *run,
                                     const struct nvdp_model *model, struct nvdp__query_map *out);
void nvdp__query_map_release(struct nvdp__query_map *map);

#endif
