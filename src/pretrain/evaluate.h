/* Masked-LM scores on held-out text.  Windows and masks are functions of the text, the length, the
 * share and the seed: every model is asked the same. */
#ifndef NVDP_SRC_PRETRAIN_EVALUATE_H
#define NVDP_SRC_PRETRAIN_EVALUATE_H

#include "pretrain/examples.h"
#include "pretrain/model.h"

struct nvdp__mlm_evaluator {
    struct nvdp_context *ctx;
    struct nvdp__batcher batcher;
    struct nvdp__examples windows;
    int64_t *order; /* [count] windows that are scored, ascending: all, or evenly spread ones */
    size_t count;
    size_t batch;
    uint64_t seed;
};

/* What a batch of windows gave. */
typedef nvdp_status (*nvdp__mlm_visit)(const struct nvdp__batcher *batcher, const double *nll,
                                       const int32_t *best, void *user);

nvdp_status nvdp__mlm_evaluator_create(struct nvdp_context *ctx, const struct nvdp__corpus *corpus,
                                       const struct nvdp__pieces *pieces,
                                       const struct nvdp_mlm_config *config,
                                       struct nvdp__mlm_evaluator *evaluator);
void nvdp__mlm_evaluator_release(struct nvdp__mlm_evaluator *evaluator);
/* The model is planned for batches of config->batch windows of config->length tokens.  `visit`
 * (NULL allowed) sees every batch. */
nvdp_status nvdp__mlm_score(struct nvdp__mlm_evaluator *evaluator,
                            struct nvdp__pretrain_model *model, nvdp__mlm_visit visit, void *user,
                            struct nvdp_mlm_scores *scores);

/* A corpus's words, unknown words and tokens. */
struct nvdp_coverage nvdp__corpus_coverage(const struct nvdp__corpus *corpus,
                                           const struct nvdp__pieces *pieces, int32_t unknown);

#endif
