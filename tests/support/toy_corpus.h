/* Small texts, a vocabulary and a small model, for tests of pretraining. */
#ifndef NVDP_TESTS_SUPPORT_TOY_CORPUS_H
#define NVDP_TESTS_SUPPORT_TOY_CORPUS_H

#include "base/file.h"
#include "base/json.h"
#include "encoder/checkpoint.h"
#include "encoder/safetensors.h"
#include "pretrain/examples.h"
#include "pretrain/model.h"
#include "pretrain/pretrainer.h"
#include "support.h"

struct toy {
    struct nvdp_context *ctx;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__piece_table pieces;
    struct nvdp__corpus corpus;
    const char *text; /* path of the text's file */
};

/* Writes documents of made-up sentences, in which words follow from the words before them. Returns the path in the
 * scratch directory. */
const char *toy_text(const char *name, size_t documents, uint64_t seed);
/* Does toy_text() with twelve sentences per document, all on one subject. */
const char *toy_topics(const char *name, size_t documents, uint64_t seed);
/* Writes a vocab.txt that covers the texts; returns its path. */
const char *toy_vocabulary(void);
/* Opens the tokenized text. */
struct toy toy_open(size_t documents);
void toy_close(struct toy *toy);

/* Returns a context with one thread, because small steps would mostly wait with two threads. */
struct nvdp_context *toy_context(void);
/* Returns a small configuration that learns the text; out is in the scratch directory. */
struct nvdp__pretrain_options toy_config(const char *const *text, const char *out);
/* Does toy_config() with more options by name, as in "steps 12 optimizer sgd". */
struct nvdp__pretrain_options toy_options(const char *const *text, const char *out,
                                          const char *options);
void toy_set(struct nvdp__pretrain_options *config, const char *options);

/* Trains, which must succeed. */
struct nvdp_pretrain_result toy_train(struct nvdp_context *ctx,
                                      const struct nvdp__pretrain_options *config);
/* Trains until the cancel callback is called for the calls-th time, and stops the training there. */
void toy_stop(struct nvdp_context *ctx, const struct nvdp__pretrain_options *config, int calls);
/* Trains, and returns the status, for tests of refusals. */
nvdp_status toy_status(struct nvdp_context *ctx, const struct nvdp__pretrain_options *config);
/* Does toy_status(), and sets the result after a success. */
nvdp_status toy_try(struct nvdp_context *ctx, const struct nvdp__pretrain_options *config,
                    struct nvdp_pretrain_result *result);

#endif
