/* Folders of sentence-transformers: modules.json states where the encoder's files are and how
 * its hidden states become one vector (Reimers & Gurevych 2019, Sentence-BERT). */
#ifndef NVDP_SRC_TEXT_SENTENCE_FOLDER_H
#define NVDP_SRC_TEXT_SENTENCE_FOLDER_H

#include "base/array.h"
#include "tensor/ops.h"
#include <jansson.h>

/* Poolings: they make one vector from the hidden states of a text. */
enum nvdp__pooling {
    NVDP__POOLING_AUTO,          /* as the folder states */
    NVDP__POOLING_NONE,          /* no pooling */
    NVDP__POOLING_MEAN,          /* mean of all tokens, including special ones */
    NVDP__POOLING_CLS,           /* the first token */
    NVDP__POOLING_MAX,           /* max of each dimension over the tokens */
    NVDP__POOLING_MEAN_SQRT_LEN, /* sum of all n tokens, divided by sqrt(n) */
    NVDP__POOLING_WEIGHTED_MEAN, /* mean weighted by the position of each token, from 1 */
    NVDP__POOLING_LAST,          /* the last token */
    NVDP__POOLINGS
};
extern const char *const nvdp__pooling_names[]; /* ends with NULL */

/* A module after the pooling: a dense layer, a cut of the vectors, or a scaling to unit length. */
struct nvdp__sentence_step {
    bool dense;
    size_t in,
        out; /* of the dense layer; without one, the first `out` numbers are kept, or 0: all, scaled */
    bool bias, residual; /* adds a bias; adds the input, projected if in and out differ */
    bool identity;       /* no activation */
    enum nvdp__act act;  /* unless identity */
    char *folder;        /* of its weights */
};

enum { NVDP__SENTENCE_STEPS = 9, NVDP__POOLING_TEXT = 64 };
struct nvdp__sentence {
    enum nvdp__pooling pooling[NVDP__POOLINGS]; /* their vectors are concatenated in this order */
    size_t poolings;                            /* 0: no pooling */
    struct nvdp__sentence_step step[NVDP__SENTENCE_STEPS];
    size_t steps;
    size_t width;      /* of the vector after all steps */
    size_t max_length; /* tokens to which a text is truncated; 0: not stated */
    char *prompt;      /* put before each text; NULL: nothing */
};
/* "none", "mean", or "cls+mean" for several. */
const char *nvdp__pooling_text(const struct nvdp__sentence *sentence,
                               char text[NVDP__POOLING_TEXT]);
/* True if the vectors have unit length. */
bool nvdp__sentence_normalizes(const struct nvdp__sentence *sentence);
/* Replaces the poolings by one, without further steps and without a prompt. The second function sets
 * whether vectors have unit length. */
void nvdp__sentence_pool(struct nvdp__sentence *sentence, enum nvdp__pooling pooling,
                         size_t hidden_size);
void nvdp__sentence_normalize(struct nvdp__sentence *sentence, bool normalize);
void nvdp__sentence_release(struct nvdp__sentence *sentence); /* accepts a zeroed struct */

/* Path of the encoder's file `name` in a model directory: DIR/name; if that does not exist and
 * modules.json names a subfolder for the Transformer or StaticEmbedding, the path in the subfolder. Logs a notice if modules.json cannot
 * be read; fails only without memory. */
nvdp_status nvdp__model_path(struct nvdp_context *ctx, const char *directory, const char *name,
                             struct nvdp__path *out);
/* Reads the encoder's config.json, whose path is *path. A StaticEmbedding has none: it gets an object with its
 * model_type. *out stays NULL if there is no configuration. */
nvdp_status nvdp__model_config(struct nvdp_context *ctx, const char *directory,
                               struct nvdp__path *path, json_t **out);
/* Fails with NVDP_ERR_IO, describing a model folder, if there is no folder of that name. */
nvdp_status nvdp__model_folder(struct nvdp_context *ctx, const char *directory);

/* Reads the length of texts and, if `modules`, the pooling and the steps after it from the folder;
 * sets none if it has no such files. NVDP_ERR_INPUT, naming file and key, for an unsupported module
 * or value, and for states of another width than `hidden_size`. */
nvdp_status nvdp__sentence_read(struct nvdp_context *ctx, const char *directory, bool modules,
                                size_t hidden_size, struct nvdp__sentence *out);

#endif
