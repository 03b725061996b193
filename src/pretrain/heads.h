/* BERT's pretraining heads (Devlin et al. 2019), with Hugging Face's names:
 *
 *   masked LM      t = LN(gelu(W h + b)),  logits = E t + c     cls.predictions.transform.*, .bias
 *   next sentence  logits = W' tanh(pooler) + b'                cls.seq_relationship.*
 *
 * E is the table of word embeddings itself: its gradient has a part from here and one from the
 * encoder's input.  Only masked tokens pass the first head, and their logits [masked, V] exist a
 * block of rows at a time: loss and gradient of a block are computed before the next. */
#ifndef NVDP_SRC_PRETRAIN_HEADS_H
#define NVDP_SRC_PRETRAIN_HEADS_H

#include "bert/encoder.h"
#include "pretrain/mask.h"

struct nvdp__heads {
    struct nvdp__dense transform, norm;
    size_t bias; /* [V] */
    struct nvdp__dense next;
    /* planned, tensor memory: [masked, D], means and rstds [masked] */
    float *gathered, *inner, *activated, *normed, *mean, *rstd, *d_normed;
    nvdp__operand *gathered_operand, *normed_operand, *d_inner; /* the same, for products */
    float *logits;                                              /* [block, V] */
    nvdp__operand *d_logits;
    size_t block;
    float *next_logits, *d_next, *d_pooled; /* [texts, 2] x2, [texts, D] */
};

/* `flags` of every tensor, NVDP__PARAM_OPTIONAL where a checkpoint may lack them. */
nvdp_status nvdp__heads_declare(struct nvdp__heads *heads, const struct nvdp_bert_config *config,
                                unsigned flags, struct nvdp__params *params);
void nvdp__heads_initialise(const struct nvdp__heads *heads, const struct nvdp_bert_config *config,
                            const struct nvdp__device *dev, struct nvdp__params *params,
                            uint64_t seed);
void nvdp__heads_plan(struct nvdp__heads *heads, const struct nvdp_bert_config *config,
                      const struct nvdp__device *dev, size_t max_masked, size_t max_texts,
                      struct nvdp__arena *arena);

/* What the heads work on: the last hidden states of a forward pass. */
struct nvdp__heads_pass {
    const struct nvdp__bert *bert;
    const struct nvdp__device *dev;
    const struct nvdp__params *params;
    const struct nvdp__batch *batch;
    struct nvdp__bert_cache *cache;
};

/* nll [masked] (host, nats) and best [masked], the predictions.  Where d_last (else NULL) the
 * gradient of the mean nll is added to it and to the parameters'. */
void nvdp__mlm_loss(struct nvdp__heads *heads, const struct nvdp__heads_pass *pass,
                    const struct nvdp__masked *masked, float *d_last, double *nll, int32_t *best);
/* Mean cross-entropy of batch->label (0: the second segment follows the first; 1: it is random) and
 * the share that is right.  d_last is SET to the gradient. */
double nvdp__next_loss(struct nvdp__heads *heads, const struct nvdp__heads_pass *pass,
                       float *d_last, double *accuracy);

#endif
