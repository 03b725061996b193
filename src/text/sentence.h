/* Folders of sentence-transformers: modules.json states where the encoder's files are and how
 * its hidden states become one vector (Reimers & Gurevych 2019, Sentence-BERT). */
#ifndef NVDP_SRC_TEXT_SENTENCE_H
#define NVDP_SRC_TEXT_SENTENCE_H

#include "base/base.h"

/* Poolings: they make one vector from the hidden states of a text. */
enum nvdp__pooling {
    NVDP__POOLING_AUTO, /* as the folder states */
    NVDP__POOLING_NONE, /* no pooling */
    NVDP__POOLING_MEAN, /* mean of all tokens, including special ones */
    NVDP__POOLING_CLS,  /* the first token */
    NVDP__POOLING_MAX   /* max of each dimension over the tokens */
};
extern const char *const nvdp__pooling_names[]; /* ends with NULL */

struct nvdp__sentence {
    enum nvdp__pooling pooling;
    bool normalize;    /* scale to unit length */
    size_t max_length; /* tokens to which a text is truncated; 0: not stated */
};

/* Path of the encoder's file `name` in a model directory: DIR/name; if that does not exist and
 * modules.json names a subfolder for the Transformer, the path in the subfolder. free() it;
 * NULL: no memory. */
char *nvdp__model_path(struct nvdp_context *ctx, const char *directory, const char *name);
/* Fails with NVDP_ERR_IO, describing a model folder, if there is no folder of that name. */
nvdp_status nvdp__model_folder(struct nvdp_context *ctx, const char *directory);

/* Reads the length of texts and, if `modules`, the pooling from the folder; sets none if it has
 * no such files. NVDP_ERR_INPUT, naming file and key, for an unsupported module or pooling, and
 * for states of another width than `hidden_size`. */
nvdp_status nvdp__sentence_read(struct nvdp_context *ctx, const char *directory, bool modules,
                                size_t hidden_size, struct nvdp__sentence *out);

#endif
