/* Scores of masked language models on held-out text. Windows and masks depend only on the text,
 * the length, the share and the seed, so all models are scored on the same masks. */
#ifndef NVDP_SRC_PRETRAIN_EVALUATE_H
#define NVDP_SRC_PRETRAIN_EVALUATE_H

#include "options/schema.h"
#include "pretrain/examples.h"
#include "pretrain/model.h"
#include <nvdp/pretrain.h>

struct nvdp__mlm_options {
    const char *model;       /* directory of a model with a masked-LM head */
    const char *text_list;   /* list of files as given; split into `text` */
    const char *const *text; /* [texts] paths of the texts */
    size_t texts;
    size_t length, batch;
    double mask_prob;
    bool whole_word;
    uint64_t seed;         /* seed of the masks */
    size_t limit;          /* max number of windows; 0: all */
    const char *cache;     /* folder for tokenized texts; NULL if they are not kept */
    const char *positions; /* file for the predictions; NULL if there is none */
};
extern const struct nvdp__schema nvdp__mlm_schema;

/* Opens the model of a directory with its masked-LM head, ready to be planned, and with
 * gradients if `training`. Returns NVDP_ERR_INPUT if the model has no such head. The caller
 * releases *model and *tokenizer, also after an error. */
nvdp_status nvdp__mlm_open(struct nvdp_context *ctx, const char *directory, bool training,
                           struct nvdp_bert_config *config, struct nvdp_tokenizer **tokenizer,
                           struct nvdp__pretrain_model *model);
/* Returns NVDP_ERR_ARGUMENT if the model does not accept windows of this length. */
nvdp_status nvdp__mlm_check_length(struct nvdp_context *ctx, const struct nvdp_bert_config *config,
                                   size_t length);

struct nvdp__mlm_evaluator {
    struct nvdp_context *ctx;
    struct nvdp__batcher batcher;
    struct nvdp__examples windows;
    int64_t *order; /* [count] windows to score, ascending: all windows, or evenly spaced windows */
    size_t count;
    size_t batch;
    uint64_t seed;
    struct nvdp__privatizer *privatizer; /* not owned; NULL for the original text */
};

nvdp_status nvdp__mlm_evaluator_create(struct nvdp_context *ctx, const struct nvdp__corpus *corpus,
                                       const struct nvdp__piece_table *pieces,
                                       const struct nvdp__mlm_options *config,
                                       struct nvdp__mlm_evaluator *evaluator);
void nvdp__mlm_evaluator_release(struct nvdp__mlm_evaluator *evaluator);
/* Scores the model, which must be planned for batches of config->batch windows of config->length
 * tokens. `positions` receives the predictions; NULL if not wanted. */
struct nvdp__positions;
nvdp_status nvdp__mlm_score(struct nvdp__mlm_evaluator *evaluator,
                            struct nvdp__pretrain_model *model, struct nvdp__positions *positions,
                            struct nvdp_mlm_scores *scores);

/* Counts a corpus's words, unknown words and pieces per word. */
struct nvdp_coverage nvdp__corpus_coverage(const struct nvdp__corpus *corpus,
                                           const struct nvdp__piece_table *pieces, int32_t unknown);

/* Does what nvdp_mlm_evaluate() does, for a plain struct. */
nvdp_status nvdp__mlm_evaluate(struct nvdp_context *ctx, const struct nvdp__mlm_options *options,
                               struct nvdp_mlm_scores *out);

#endif
