/* The attacker that writes texts: a masked language model that reads a sample beside the text.
 *
 * The vectors of the sample, or projections of the only one, become rows after the text's tokens: [CLS] text [SEP] z_1
 * z_2 ...  A row takes the place of a word embedding, the position of its token, and token type 1.  The model starts
 * as a pretrained one and learns public texts with their samples: a random share of the tokens, up to all of them, is
 * masked and predicted.  At [CLS] before no text at all it predicts the number of tokens, as the piece of that number
 * (Ghazvininejad et al. 2019 have a token for it). */
#ifndef NVDP_SRC_ATTACK_INVERT_H
#define NVDP_SRC_ATTACK_INVERT_H

#include "attack/texts.h"
#include "job/optimizer.h"
#include "pretrain/evaluate.h"

/* The samples that the model reads beside texts.  "prior": the sample of another text, in training and in the attack.  So scores
 * without information differ from those of samples by chance alone, whatever a varied guess is worth. */
struct nvdp__sight {
    const struct nvdp__texts *corpus;
    enum nvdp__observed observed;
    uint64_t seed;
    uint32_t draw;
};

/* Set to zero before use, then `attack`. */
struct nvdp__inverter {
    struct nvdp__text_attack *attack;
    struct nvdp_bert_config bert;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__pretrain_model model;
    struct nvdp_dataset *known, *attacked; /* the texts, in the model's tokens */
    size_t held;                           /* the last known texts choose the weights */
    size_t length;                         /* max. tokens of a text, with [CLS] and [SEP] */
    bool guess_length;                     /* the number of tokens is not public */
    size_t rows, spread;        /* max. vectors that are read of a sample; rows that each becomes */
    size_t inputs;              /* dim, plus 1 if there are weights */
    double *shift, *scale;      /* [inputs] */
    struct nvdp__params params; /* of `in`: inputs -> spread * hidden */
    struct nvdp__dense in;
    struct nvdp__optimizer optimizer[2]; /* of the model; of `in` */
    float *start, *best[2];              /* weights of the model as read; the best ones of both */
    struct nvdp__arena arena;
    float *x, *out, *words; /* [vectors, inputs], [vectors * spread, D], [tokens, D] */
    struct nvdp__batch *batch;
    struct nvdp__masked masked;
    size_t vectors;      /* in the batch */
    float *host;         /* [vectors, inputs] */
    int32_t *place, *at; /* [tokens] row of `out`, -1: none; [vectors * spread] token */
    double *z, *log_pi;  /* of one sample */
    int64_t *order;
    unsigned char *ordinary; /* [vocabulary] pieces that a text may have */
};

/* ---- invert_model.c ---- */

/* Opens the model `prior`.  NVDP_ERR_ARGUMENT if the option is missing, NVDP_ERR_INPUT if it has no masked-LM head. */
nvdp_status nvdp__inverter_open(struct nvdp__inverter *inverter);
/* After inverter->known and ->attacked are set: plans and allocates. */
nvdp_status nvdp__inverter_reserve(struct nvdp__inverter *inverter);
void nvdp__inverter_release(struct nvdp__inverter *inverter);
/* Returns the number of vectors that are read beside text i. */
size_t nvdp__inverter_rows(const struct nvdp__inverter *inverter, const struct nvdp__sight *sight,
                           size_t i);
/* Computes these vectors [rows, inputs], not standardized. */
void nvdp__inverter_observe(struct nvdp__inverter *inverter, const struct nvdp__sight *sight,
                            size_t i, float *x);
/* Returns the number of steps of one training. */
size_t nvdp__inverter_steps(const struct nvdp__inverter *inverter);
/* Trains from the pretrained weights; `done` counts steps for the meter. */
nvdp_status nvdp__inverter_train(struct nvdp__inverter *inverter, enum nvdp__observed observed,
                                 size_t *done, struct nvdp__meter *meter);

/* Build a batch: remove all texts; add [CLS], n pieces (NULL: no text, for the length), [SEP] and the vectors of text i,
 * and return the row of [CLS]; run the model without training.  Answers are in model.nll, model.best and, for at most
 * model.heads.block rows, model.heads.logits. */
void nvdp__inverter_clear(struct nvdp__inverter *inverter);
size_t nvdp__inverter_put(struct nvdp__inverter *inverter, const struct nvdp__sight *sight,
                          size_t i, size_t n, const int32_t *piece);
void nvdp__inverter_ask(struct nvdp__inverter *inverter, size_t row, int32_t label);
nvdp_status nvdp__inverter_run(struct nvdp__inverter *inverter, const struct nvdp__pass *pass,
                               struct nvdp__pretrain_losses *losses);

/* ---- invert_decode.c ---- */

/* A candidate text and its mean log likelihood per token. */
struct nvdp__written {
    size_t n;
    int32_t *id; /* [n] */
    double score;
};
/* Writes `beam` candidates for each of n texts from `first` on, [n, beam], by iterative unmasking; the memory of ids
 * is the caller's: [n * beam, length].  Fewer than `beam` lengths, or a public length: further candidates begin from
 * sampled tokens. */
nvdp_status nvdp__inverter_write(struct nvdp__inverter *inverter, const struct nvdp__sight *sight,
                                 size_t first, size_t n, int32_t *ids,
                                 struct nvdp__written *written);

/* ---- invert_align.c: without the victim's encoder ---- */

struct nvdp__alignment {
    size_t pairs, from, to; /* dimensions of samples and of the attacker's encoder */
    double *x, *y;          /* [pairs, from], [pairs, to], centered by the fit */
    double *mean;           /* [from + to] */
    double *gram, *product; /* two of [from, from], [from, to] */
    double *map;            /* two of [from, to]: the map, and a trial */
    double *error;          /* two of [to]: variance of the map's error on held-out pairs */
    double *row;            /* [to] */
};
/* Release it also after an error.  The caller fills x and y before the fit. */
nvdp_status nvdp__alignment_create(struct nvdp_context *ctx, size_t pairs, size_t from, size_t to,
                                   struct nvdp__alignment *out);
nvdp_status nvdp__alignment_fit(struct nvdp_context *ctx, struct nvdp__alignment *alignment);
/* Maps a sample; overwrites x. */
void nvdp__alignment_apply(const struct nvdp__alignment *alignment, double *x, double *out);
void nvdp__alignment_release(struct nvdp__alignment *alignment);

#endif
