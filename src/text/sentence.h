/* Folders of sentence-transformers: modules.json says where the encoder's files lie and what becomes
 * of its hidden states (Reimers & Gurevych 2019, Sentence-BERT). */
#ifndef NVDP_SRC_TEXT_SENTENCE_H
#define NVDP_SRC_TEXT_SENTENCE_H

#include "base/base.h"

/* How a text's hidden states become one vector. */
enum nvdp__pooling {
    NVDP__POOLING_AUTO, /* as the folder says */
    NVDP__POOLING_NONE, /* not at all */
    NVDP__POOLING_MEAN, /* of all its tokens, special ones included */
    NVDP__POOLING_CLS,  /* the first token's */
    NVDP__POOLING_MAX   /* each dimension's largest over the tokens */
};
extern const char *const nvdp__pooling_names[]; /* ends with NULL */

struct nvdp__sentence {
    enum nvdp__pooling pooling;
    bool normalize;    /* to unit length */
    size_t max_length; /* tokens a text is cut to; 0: the folder does not say */
};

/* Path of the encoder's file `name` in a model directory: DIR/name; where that is not there but
 * modules.json names a subfolder for the Transformer, in that.  free(); NULL: no memory. */
char *nvdp__model_path(struct nvdp_context *ctx, const char *directory, const char *name);
/* NVDP_ERR_IO, telling what a model's folder holds, where there is none of that name. */
nvdp_status nvdp__model_folder(struct nvdp_context *ctx, const char *directory);

/* What the folder says of texts' length, and, where `modules`, of pooling; none where it has no
 * such files.  NVDP_ERR_INPUT, naming file and key, for a module or a pooling other than the above,
 * and for states of another width than `hidden_size`. */
nvdp_status nvdp__sentence_read(struct nvdp_context *ctx, const char *directory, bool modules,
                                size_t hidden_size, struct nvdp__sentence *out);

#endif
