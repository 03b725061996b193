/* Small texts, a vocabulary and a model of a moment, for the tests of this room. */
#ifndef NVDP_TESTS_PRETRAIN_RIG_H
#define NVDP_TESTS_PRETRAIN_RIG_H

#include "pretrain/corpus.h"
#include "pretrain/evaluate.h"

struct rig {
    struct nvdp_context *ctx;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__pieces pieces;
    struct nvdp__corpus corpus;
    const char *text; /* its file */
};

/* Writes documents of made-up sentences, in which words follow from the words before them; path in
 * the scratch directory. */
const char *rig_text(const char *name, size_t documents, uint64_t seed);
/* The same with twelve sentences a document, all on one subject. */
const char *rig_topics(const char *name, size_t documents, uint64_t seed);
/* Writes a vocab.txt that covers them; returns its path. */
const char *rig_vocabulary(void);
/* The text, tokenised. */
struct rig rig_open(size_t documents);
void rig_close(struct rig *rig);

/* A small configuration that learns the text; out in the scratch directory. */
struct nvdp_pretrain_config rig_config(const char *const *text, const char *out);
/* Whether two files of two directories have the same bytes. */
bool rig_same_file(const char *directory_a, const char *directory_b, const char *name);

#endif
