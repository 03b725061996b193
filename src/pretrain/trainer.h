/* A pretraining run in memory: what nvdp_pretrain's parts share. */
#ifndef NVDP_SRC_PRETRAIN_TRAINER_H
#define NVDP_SRC_PRETRAIN_TRAINER_H

#include "pretrain/batch.h"
#include "pretrain/config.h"
#include "pretrain/evaluate.h"
#include "pretrain/model.h"
#include "train/optimizer.h"
#include <stdio.h>

/* What changes from step to step beyond parameters and moments; saved with them. */
struct nvdp__pretrain_state {
    uint64_t step;      /* steps done */
    uint64_t epoch;     /* running, from 0 */
    uint64_t epoch_row; /* examples used of it */
    uint64_t tokens, masked;
    uint64_t metrics_bytes; /* length of metrics.jsonl that belongs to this state */
    double seconds;         /* of training steps */
    /* since the last line in metrics.jsonl */
    double sum_nll, sum_masked, sum_right, sum_next, sum_next_right, sum_steps;
    double loss, accuracy; /* of that last line */
};

struct nvdp__pretrainer {
    struct nvdp_context *ctx;
    struct nvdp_pretrain_config config; /* resolved */
    json_t *config_owner;               /* backs the strings after a resume, with `lists` */
    const char **lists;
    char (*digest)[NVDP__DIGEST_HEX]; /* [texts + eval_texts] SHA-256 of the files */
    /* the vocabulary: vocab.txt, tokenizer_config.json, and what they make */
    char *vocabulary;
    size_t vocabulary_size;
    json_t *tokenizer_config;
    json_t *init_record; /* how the model it starts from was pretrained; NULL: not known */
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__pieces pieces;
    struct nvdp__corpus corpus, eval_corpus;
    struct nvdp_coverage coverage, eval_coverage;
    struct nvdp__pretrain_model model;
    struct nvdp__optimizer optimizer;
    struct nvdp__examples examples;
    int64_t *order;
    size_t order_capacity;
    struct nvdp__batcher batcher;
    struct nvdp__mlm_evaluator evaluator;
    struct nvdp__pretrain_state state;
    struct nvdp_mlm_scores eval; /* the last; windows 0: none */
    FILE *metrics;
    double saved_at;
};

/* vocabulary.c: copies, or trains, the vocabulary in memory and makes the tokenizer. */
nvdp_status nvdp__pretrain_vocabulary(struct nvdp__pretrainer *t);
/* Writes vocab.txt and tokenizer_config.json. */
nvdp_status nvdp__pretrain_write_vocabulary(const struct nvdp__pretrainer *t);

/* open.c: texts' digests, vocabulary, model (initialised or loaded); then directory, tokenised
 * texts, memory. */
nvdp_status nvdp__pretrainer_open(struct nvdp__pretrainer *t);
void nvdp__pretrainer_close(struct nvdp__pretrainer *t);
/* BERT's configuration: from `init`, or from the options and a vocabulary of so many pieces. */
nvdp_status nvdp__pretrainer_bert(struct nvdp__pretrainer *t, size_t pieces,
                                  struct nvdp_bert_config *bert);
/* The model, in the run's precision; the context's stays the caller's. */
nvdp_status nvdp__pretrainer_model(struct nvdp__pretrainer *t, const struct nvdp_bert_config *bert);

/* loop.c: all steps from the present state on. */
nvdp_status nvdp__pretrainer_run(struct nvdp__pretrainer *t);

/* state.c: DIR/state.ckpt. */
nvdp_status nvdp__pretrain_state_save(struct nvdp__pretrainer *t);
nvdp_status nvdp__pretrain_state_load(struct nvdp__pretrainer *t);

/* save.c: the model directory; pretrain.json, which a resume reads; result.json. */
nvdp_status nvdp__pretrain_config_save(struct nvdp__pretrainer *t); /* config.json alone */
nvdp_status nvdp__pretrain_model_save(struct nvdp__pretrainer *t);  /* weights and config.json */
nvdp_status nvdp__pretrain_write_run(struct nvdp__pretrainer *t);
nvdp_status nvdp__pretrain_read_run(struct nvdp__pretrainer *t, const char *directory);
/* The "nvdp_pretraining" object of the model that `init` names, if there is one. */
nvdp_status nvdp__pretrain_read_init(struct nvdp__pretrainer *t);
/* The texts must still be those that pretrain.json names. */
nvdp_status nvdp__pretrain_check_texts(struct nvdp__pretrainer *t);
nvdp_status nvdp__pretrain_write_result(struct nvdp__pretrainer *t,
                                        const struct nvdp_pretrain_result *result);
json_t *nvdp__mlm_scores_json(const struct nvdp_mlm_scores *scores);

#endif
