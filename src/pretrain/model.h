/* BERT with its pretraining heads over one parameter vector and one arena. */
#ifndef NVDP_SRC_PRETRAIN_MODEL_H
#define NVDP_SRC_PRETRAIN_MODEL_H

#include "pretrain/heads.h"
#include <nvdp/pretrain.h>

struct nvdp__pretrain_model {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__params params;
    struct nvdp__bert bert;
    struct nvdp__heads heads;
    struct nvdp__bert_cache cache;
    struct nvdp__arena arena;
    enum nvdp_objective objective;
    float *d_last; /* [tokens, D] */
    double *nll;   /* host [masked] */
    int32_t *best; /* host [masked] */
    bool training;
};

/* Declares and allocates the parameters, for a device in the context's precision.  Under
 * NVDP_OBJECTIVE_MLM the pooler and the next-sentence head are frozen: they are written as they
 * were initialised or read. */
nvdp_status nvdp__pretrain_model_create(struct nvdp_context *ctx,
                                        const struct nvdp_bert_config *config,
                                        enum nvdp_objective objective, bool training,
                                        struct nvdp__pretrain_model *model);
void nvdp__pretrain_model_release(struct nvdp__pretrain_model *model);
void nvdp__pretrain_model_initialise(struct nvdp__pretrain_model *model, uint64_t seed);
/* Weights of a directory; the heads and the pooler may be missing unless `all`. */
nvdp_status nvdp__pretrain_model_load(struct nvdp__pretrain_model *model, const char *directory,
                                      bool all);
/* Memory for batches of at most `texts` texts of `longest` tokens, `masked` of them masked; *floats
 * (or NULL) tells how many and allocates nothing. */
nvdp_status nvdp__pretrain_model_plan(struct nvdp__pretrain_model *model, size_t texts,
                                      size_t longest, size_t masked, size_t *floats);

struct nvdp__pretrain_losses {
    double nll;  /* sum over masked positions, nats */
    double next; /* mean over pairs */
    double next_accuracy;
    size_t right; /* masked positions predicted right */
};
/* Loss and, in a training pass, gradients of mean nll + next-sentence loss (set, not added). */
nvdp_status nvdp__pretrain_model_step(struct nvdp__pretrain_model *model,
                                      const struct nvdp__batch *batch,
                                      const struct nvdp__masked *masked,
                                      const struct nvdp__pass *pass,
                                      struct nvdp__pretrain_losses *losses);

#endif
