/* A pretraining run in memory: what nvdp_pretrain's parts share. */
#ifndef NVDP_SRC_PRETRAIN_TRAINER_H
#define NVDP_SRC_PRETRAIN_TRAINER_H

#include "pretrain/evaluate.h"
#include "train/optimizer.h"
#include <jansson.h>
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

/* ---- options.c ---- */

/* Every field but resume, overwrite and the cache folder, which are of the call. */
json_t *nvdp__pretrain_config_json(const struct nvdp_pretrain_config *config);
/* The reverse, from `object` of the file `path`.  Strings stay owned by the object, the lists of
 * files by *lists (free()). */
nvdp_status nvdp__pretrain_config_from_json(struct nvdp_context *ctx, const char *path,
                                            const json_t *object,
                                            struct nvdp_pretrain_config *config,
                                            const char ***lists);
/* Zeros that stand for a rule are replaced by what it gives. */
void nvdp__pretrain_config_resolve(struct nvdp_pretrain_config *config);
/* BERT's configuration for a vocabulary of so many pieces; the configuration is resolved. */
struct nvdp_bert_config nvdp__pretrain_bert(const struct nvdp_pretrain_config *config,
                                            size_t pieces);

/* ---- records.c: what a run reads besides its texts, and what it leaves ---- */

/* Copies, or trains, the vocabulary in memory and makes the tokenizer. */
nvdp_status nvdp__pretrain_vocabulary(struct nvdp__pretrainer *t);
/* Writes vocab.txt and tokenizer_config.json. */
nvdp_status nvdp__pretrain_write_vocabulary(const struct nvdp__pretrainer *t);
/* The "nvdp_pretraining" object of the model that `init` names, if there is one. */
nvdp_status nvdp__pretrain_read_init(struct nvdp__pretrainer *t);
/* config.json; the same and the weights. */
nvdp_status nvdp__pretrain_config_save(const struct nvdp__pretrainer *t);
nvdp_status nvdp__pretrain_model_save(struct nvdp__pretrainer *t);
/* pretrain.json, which a resume reads, and whether the texts are still those that it names. */
nvdp_status nvdp__pretrain_write_run(const struct nvdp__pretrainer *t);
nvdp_status nvdp__pretrain_read_run(struct nvdp__pretrainer *t, const char *directory);
nvdp_status nvdp__pretrain_check_texts(const struct nvdp__pretrainer *t);
nvdp_status nvdp__pretrain_write_result(const struct nvdp__pretrainer *t,
                                        const struct nvdp_pretrain_result *result);
json_t *nvdp__mlm_scores_json(const struct nvdp_mlm_scores *scores);

#endif
