/* Folders of sentence-transformers: modules.json states where the encoder's files are and how the hidden states
 * become one vector (Reimers & Gurevych 2019, Sentence-BERT). */
#ifndef NVDP_SRC_TEXT_SENTENCE_FOLDER_H
#define NVDP_SRC_TEXT_SENTENCE_FOLDER_H

#include "base/array.h"
#include "tensor/ops.h"
#include <jansson.h>

/* Poolings, which make one vector from the hidden states of a text. */
enum nvdp__pooling {
    NVDP__POOLING_AUTO,          /* the pooling of the folder */
    NVDP__POOLING_NONE,          /* no pooling */
    NVDP__POOLING_MEAN,          /* mean of all tokens, including special tokens */
    NVDP__POOLING_CLS,           /* the first token */
    NVDP__POOLING_MAX,           /* maximum over the tokens, in each dimension */
    NVDP__POOLING_MEAN_SQRT_LEN, /* sum of all n tokens, divided by sqrt(n) */
    NVDP__POOLING_WEIGHTED_MEAN, /* mean weighted by the position of each token, from 1 */
    NVDP__POOLING_LAST,          /* the last token */
    NVDP__POOLINGS
};
extern const char *const nvdp__pooling_names[]; /* ended by NULL */

/* A module after the pooling: a dense layer, a cut of the vectors, or a scaling to unit length. */
struct nvdp__sentence_step {
    bool dense;
    size_t in,
        /* sizes of a dense layer; without a layer, the first `out` numbers are kept; if out is 0, all numbers are
         * kept and scaled */
        out;
    /* true to add a bias; true to add the input, projected if in and out differ */
    bool bias, residual;
    bool identity;      /* true if there is no activation */
    enum nvdp__act act; /* the activation, unless `identity` */
    char *folder;       /* folder of the weights */
};

enum { NVDP__SENTENCE_STEPS = 9, NVDP__POOLING_TEXT = 64 };
struct nvdp__sentence {
    /* the vectors of these poolings are concatenated in this order */
    enum nvdp__pooling pooling[NVDP__POOLINGS];
    size_t poolings; /* 0 if there is no pooling */
    struct nvdp__sentence_step step[NVDP__SENTENCE_STEPS];
    size_t steps;
    size_t width;      /* width of the vector after all steps */
    size_t max_length; /* number of tokens to which a text is truncated; 0 if not stated */
    char *prompt;      /* put before each text; NULL if there is no prompt */
};
/* Returns "none", "mean", or "cls+mean" for several poolings. */
const char *nvdp__pooling_text(const struct nvdp__sentence *sentence,
                               char text[NVDP__POOLING_TEXT]);
/* Returns true if the vectors have unit length. */
bool nvdp__sentence_normalizes(const struct nvdp__sentence *sentence);
/* Replaces the poolings by one pooling, without further steps and without a prompt. The second function decides if
 * vectors get unit length. */
void nvdp__sentence_pool(struct nvdp__sentence *sentence, enum nvdp__pooling pooling,
                         size_t hidden_size);
void nvdp__sentence_normalize(struct nvdp__sentence *sentence, bool normalize);
void nvdp__sentence_release(struct nvdp__sentence *sentence); /* accepts a struct of zeros */

/* Returns the path of the encoder's file `name` in a model directory: DIR/name; if DIR/name does not exist and
 * modules.json states a subfolder for the Transformer or StaticEmbedding, the path in the subfolder. Logs a notice
 * if modules.json cannot be read; fails only if memory is exhausted. */
nvdp_status nvdp__model_path(struct nvdp_context *ctx, const char *directory, const char *name,
                             struct nvdp__path *out);
/* Reads the encoder's config.json, whose path is *path. A StaticEmbedding has no config.json: it gets an object with
 * its model_type. *out stays NULL if there is no configuration. */
nvdp_status nvdp__model_config(struct nvdp_context *ctx, const char *directory,
                               struct nvdp__path *path, json_t **out);
/* Fails with NVDP_ERR_IO if there is no folder of that name; the message describes a model folder. */
nvdp_status nvdp__model_folder(struct nvdp_context *ctx, const char *directory);

/* Reads from the folder the length of texts and, if `modules`, the pooling and the steps after the pooling; sets
 * none of these if the folder has no such files. Fails with NVDP_ERR_INPUT for an unsupported module or value, and
 * for states of another width than `hidden_size`; the message has the file and the key. */
nvdp_status nvdp__sentence_read(struct nvdp_context *ctx, const char *directory, bool modules,
                                size_t hidden_size, struct nvdp__sentence *out);

#endif
