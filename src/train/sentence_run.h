/* Runs of method sentence: the sentence embedding of an encoder (vib/sentence.c), without training, or with a trained
 * map and decoder (the objective distill). Such a run has the same files as other runs, so export, verify, explain and
 * attacks can read it. */
#ifndef NVDP_SRC_TRAIN_SENTENCE_RUN_H
#define NVDP_SRC_TRAIN_SENTENCE_RUN_H

#include "base/base.h"
#include "model/model.h"
#include "train/training_options.h"

struct nvdp__trainer; /* train/trainer.h */
struct nvdp__sentence_options {
    const char *model;       /* folder of a public encoder */
    const char *center;      /* public texts: one text per line, or a table */
    const char *text_column; /* text column of tables */
    /* Column of second texts, for pairs that the encoder reads together; NULL for single texts. */
    const char *pair_column;
    size_t reduce;        /* p; 0 for the encoder's width */
    double clip, epsilon; /* C, or the epsilon from which it follows; exactly one is above 0 */
    size_t releases;      /* samples per text for which the run is certified */
    size_t batch;
    /* The encoder may be the model of a trained run, because the file states what is proven of both. */
    bool trained;
    /* Options of the objective distill, which trains the map and a decoder; NULL if nothing is trained. */
    const struct nvdp__train_options *distill;
    /* Trainer, which makes a new run's folder and holds the folder's lock. */
    struct nvdp__trainer *trainer;
    struct nvdp_train_result *result; /* result of the training, with scores */
};

/* Makes the run. If the folder has a run, checks that it was made with the same options and from the same files.
 * NVDP_ERR_INPUT for too few public texts, and for an embedding that the method cannot compute (a pooling other than
 * mean or cls, dense layers, a prompt); NVDP_ERR_ARGUMENT for a run with other options, and for the model of a trained
 * run as the encoder, unless `trained`. */
nvdp_status nvdp__sentence_run(struct nvdp_context *ctx,
                               const struct nvdp__sentence_options *options, const char *run);

struct nvdp__run;
struct nvdp__query_map;
/* Makes a run of method sentence in memory, without an encoder and without files, for vectors of another program.
 * options: center is the file of the public vectors, for messages; reduce, clip or epsilon, and releases
 * x: [n, width] public vectors, finite and not 0; scaled to unit length
 * run: configuration and model of the run; the model takes vectors in place of texts (nvdp__model_build)
 * query: center and map
 * NVDP_ERR_INPUT for too few public vectors. */
nvdp_status nvdp__sentence_vectors(struct nvdp_context *ctx,
                                   const struct nvdp__sentence_options *options, size_t n,
                                   size_t width, float *x, struct nvdp__run *run,
                                   struct nvdp__query_map *query);

/* Trains a run of method sentence with the objective distill: does nvdp_train() for the trainer's checked
 * configuration. Locks a resumed run. Removes an earlier run in the folder only after options, encoder and texts were
 * checked. */
nvdp_status nvdp__distill_run(struct nvdp__trainer *trainer, struct nvdp_train_result *result);

/* The public facts from which a search computes the mean of a query. */
struct nvdp__query_map {
    char encoder[64]; /* name of the encoder's folder */
    char sha256[65];  /* SHA-256 of the encoder's weights */
    char pool[8];     /* pooling: mean or cls */
    /* Path of the file of public texts, or NULL; shared files do not state it. */
    char *texts;
    char texts_sha256[65]; /* SHA-256 of this file; shared files do not state it */
    bool independent;      /* true if an export or a file declares the texts independent */
    /* True if the caller gave vectors: the encoder is unknown, and the members above are empty. */
    bool vectors;
    bool given_ids; /* true if the caller also gave ids of the vectors */
    /* The caller's name of the encoder as a JSON string in ASCII, with its quotes (nvdp__source_text()); "" without one. */
    char source[256];
    size_t max_length, empty; /* max. tokens per text; tokens of the empty text */
    size_t width, dim;        /* D, p */
    float *center, *map;      /* [D]; [p, D], NULL for p = D */
    float *decoder;           /* [D, p] G, for receivers; NULL if there is none */
};
/* Reads the map from a run of method sentence. NVDP_ERR_INPUT for a run.json without a map. */
nvdp_status nvdp__sentence_query_map(struct nvdp_context *ctx, const char *run,
                                     const struct nvdp_model *model, struct nvdp__query_map *out);
void nvdp__query_map_release(struct nvdp__query_map *map);

/* --- the map and the decoder of the objective distill (vib/vib.h), trained on the embeddings of public texts --- */

/* The embeddings of the public texts, and the map and decoder that are learned from them. */
struct nvdp__distilled {
    size_t texts, width, dim; /* n, D, p */
    double clip;              /* C */
    const float *x;           /* [n, D] s/|s| - m */
    float *map;               /* [p, D] on entry the initial map, such as principal directions */
    float *decoder;           /* [D, p] G: G z estimates x */
};

/* Fails with NVDP_ERR_INPUT if there are too few texts to train, or to score. */
nvdp_status nvdp__distill_check(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                                size_t texts);
/* Sets map and decoder, and the result's steps, times and score. The score is Spearman's correlation, over pairs of
 * held-out texts, between the cosines of G z, where both samples have noise, and the cosines of x. Half of the pairs
 * are nearest neighbours. The result has the same bits for the same seed and number of threads. NVDP_ERR_INPUT for
 * too few texts; NVDP_ERR_NUMERIC if the loss diverges; NVDP_ERR_CANCELLED. */
nvdp_status nvdp__distill_train(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                                const struct nvdp__distilled *made,
                                struct nvdp_train_result *result);

#endif
