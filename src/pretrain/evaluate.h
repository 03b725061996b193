/* Masked-LM scores on held-out text.  Windows and masks are functions of the text, the length, the
 * share and the seed: every model is asked the same. */
#ifndef NVDP_SRC_PRETRAIN_EVALUATE_H
#define NVDP_SRC_PRETRAIN_EVALUATE_H

#include "options/schema.h"
#include "pretrain/examples.h"
#include "pretrain/model.h"
#include "pretrain/privatize.h"
#include <nvdp/pretrain.h>

struct nvdp__mlm_options {
    const char *model;       /* directory with the masked-LM head */
    const char *text_list;   /* as given; what is read are */
    const char *const *text; /* [texts] */
    size_t texts;
    size_t length, batch;
    double mask_prob;
    bool whole_word;
    uint64_t seed;         /* of the masks */
    size_t limit;          /* windows; 0: all */
    const char *cache;     /* folder for tokenised texts; NULL: they are not kept */
    const char *positions; /* file of what was predicted; NULL: none */
};
extern const struct nvdp__schema nvdp__mlm_schema;

/* The model of a directory with its masked-LM head (NVDP_ERR_INPUT where it has none), to be planned; *model and
 * *tokenizer are to be released, also on error. */
nvdp_status nvdp__mlm_open(struct nvdp_context *ctx, const char *directory,
                           struct nvdp_bert_config *config, struct nvdp_tokenizer **tokenizer,
                           struct nvdp__pretrain_model *model);
/* NVDP_ERR_ARGUMENT where it takes no such texts. */
nvdp_status nvdp__mlm_check_length(struct nvdp_context *ctx, const struct nvdp_bert_config *config,
                                   size_t length);

struct nvdp__mlm_evaluator {
    struct nvdp_context *ctx;
    struct nvdp__batcher batcher;
    struct nvdp__examples windows;
    int64_t *order; /* [count] windows that are scored, ascending: all, or evenly spread ones */
    size_t count;
    size_t batch;
    uint64_t seed;
    struct nvdp__privatizer *privatizer; /* another's; NULL: the text as it is */
};

nvdp_status nvdp__mlm_evaluator_create(struct nvdp_context *ctx, const struct nvdp__corpus *corpus,
                                       const struct nvdp__piece_table *pieces,
                                       const struct nvdp__mlm_options *config,
                                       struct nvdp__mlm_evaluator *evaluator);
void nvdp__mlm_evaluator_release(struct nvdp__mlm_evaluator *evaluator);
/* The model is planned for batches of config->batch windows of config->length tokens.  `positions`
 * (NULL: nowhere) gets what was predicted. */
struct nvdp__positions;
nvdp_status nvdp__mlm_score(struct nvdp__mlm_evaluator *evaluator,
                            struct nvdp__pretrain_model *model, struct nvdp__positions *positions,
                            struct nvdp_mlm_scores *scores);

/* A corpus's words, unknown words and tokens. */
struct nvdp_coverage nvdp__corpus_coverage(const struct nvdp__corpus *corpus,
                                           const struct nvdp__piece_table *pieces, int32_t unknown);

/* nvdp_mlm_evaluate of a plain struct. */
nvdp_status nvdp__mlm_evaluate(struct nvdp_context *ctx, const struct nvdp__mlm_options *options,
                               struct nvdp_mlm_scores *out);

#endif
