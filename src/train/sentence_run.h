/* Runs of method sentence: an encoder's own sentence embedding (vib/sentence.c), without training, or with a trained
 * map and decoder (the objective distill). Such a run has the files of every run, so export, verify, explain and
 * attacks read it as they read another one. */
#ifndef NVDP_SRC_TRAIN_SENTENCE_RUN_H
#define NVDP_SRC_TRAIN_SENTENCE_RUN_H

#include "base/base.h"
#include "model/model.h"
#include "train/training_options.h"

struct nvdp__trainer; /* train/trainer.h */
struct nvdp__sentence_options {
    const char *model;       /* folder of a public encoder */
    const char *center;      /* public texts: one per line, or a table */
    const char *text_column; /* of tables */
    size_t reduce;           /* p; 0: the encoder's width */
    double clip, epsilon;    /* C, or the epsilon from which it follows; exactly one is above 0 */
    size_t releases;         /* samples per text for which the run is certified */
    size_t batch;
    /* Options of the objective distill, which trains the map and a decoder; NULL if nothing is trained. */
    const struct nvdp__train_options *distill;
    struct nvdp__trainer *trainer; /* of the training: makes a new run's folder, holds its lock */
    struct nvdp_train_result *result; /* of the training, with its scores */
};

/* Makes the run, or, if the folder holds one, checks that it was made with the same options and from the same files.
 * NVDP_ERR_INPUT for too few public texts, and for an embedding that the method cannot compute (a pooling other than
 * mean or cls, dense layers, a prompt); NVDP_ERR_ARGUMENT for a run with other options, and for the model of a trained
 * run as the encoder. */
nvdp_status nvdp__sentence_run(struct nvdp_context *ctx,
                               const struct nvdp__sentence_options *options, const char *run);

struct nvdp__run;
struct nvdp__query_map;
/* Makes such a run in memory, without an encoder and without files, for vectors that another program computed.
 * options: center names the file of the public vectors, for messages; reduce, clip or epsilon, and releases
 * x: [n, width] public vectors, finite and not 0; given unit length
 * run: its configuration and model; the model takes vectors in place of texts (nvdp__model_build)
 * query: center and map
 * NVDP_ERR_INPUT for too few public vectors. */
nvdp_status nvdp__sentence_vectors(struct nvdp_context *ctx,
                                   const struct nvdp__sentence_options *options, size_t n,
                                   size_t width, float *x, struct nvdp__run *run,
                                   struct nvdp__query_map *query);

/* Trains such a run with the objective distill: nvdp_train() for the trainer's checked configuration. A resumed run is
 * locked. An earlier run in the folder stays until the options, the encoder and the texts are known to be good. */
nvdp_status nvdp__distill_run(struct nvdp__trainer *trainer, struct nvdp_train_result *result);

/* The public facts from which a searcher computes the mean of a query. */
struct nvdp__query_map {
    char encoder[64];      /* name of the encoder's folder */
    char sha256[65];       /* of its weights */
    char pool[8];          /* mean or cls */
    char *texts;           /* path of the file of public texts; NULL: the run states none */
    char texts_sha256[65]; /* of this file; files do not state these two */
    bool independent;      /* declared of the public texts; set by an export, or by the file */
    /* The caller gave vectors: the encoder is unknown, and the members above are empty. */
    bool vectors;
    bool given_ids;           /* and ids of the vectors */
    size_t max_length, empty; /* tokens of a text; of an empty text */
    size_t width, dim;        /* D, p */
    float *center, *map;      /* [D]; [p, D], NULL for p = D */
    float *decoder;           /* [D, p] G, for receivers; NULL if there is none */
};
/* Reads them from a run of this method. NVDP_ERR_INPUT for a run.json without them. */
nvdp_status nvdp__sentence_query_map(struct nvdp_context *ctx, const char *run,
                                     const struct nvdp_model *model, struct nvdp__query_map *out);
void nvdp__query_map_release(struct nvdp__query_map *map);

/* --- the map and the decoder of the objective distill (vib/vib.h), trained on the embeddings of public texts --- */

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
/* Sets map and decoder, and the result's steps, times and score: Spearman's correlation, over pairs of texts held
 * out, of the cosines of G z and those of x, both samples noised; half of the pairs are nearest neighbours. The same
 * bits for the same seed and number of threads. NVDP_ERR_INPUT for too few texts; NVDP_ERR_NUMERIC if the loss
 * diverges; NVDP_ERR_CANCELLED. */
nvdp_status nvdp__distill_train(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                                const struct nvdp__distilled *made,
                                struct nvdp_train_result *result);

#endif
