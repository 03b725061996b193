/* A pretraining run in memory: what nvdp_pretrain's parts share. */
#ifndef NVDP_SRC_PRETRAIN_TRAINER_H
#define NVDP_SRC_PRETRAIN_TRAINER_H

#include "pretrain/evaluate.h"
#include "train/optimizer.h"
#include <jansson.h>
#include <nvdp/safetensors.h>
#include <stdio.h>

enum nvdp__start {
    NVDP__START_NORMAL,    /* as BERT: everything normal, initializer_range wide */
    NVDP__START_NEIGHBOURS /* heads of the first two layers attend to neighbouring tokens */
};
enum nvdp__optimizer_kind {
    NVDP__OPTIMIZER_ADAMW,
    NVDP__OPTIMIZER_MUON /* for the matrices of linear maps; AdamW for everything else */
};
/* How weights are written. */
enum nvdp__weights { NVDP__WEIGHTS_F32, NVDP__WEIGHTS_F16, NVDP__WEIGHTS_BF16 };
extern const char *const nvdp__objective_names[], *const nvdp__start_names[],
                                                      *const nvdp__optimizer_names[];

/* The plain struct that the table of options.c fills, which tells each. */
struct nvdp__pretrain_options {
    const char *text_list, *eval_text_list;     /* as given; what is read are */
    const char *const *text, *const *eval_text; /* [texts], [eval_texts] */
    size_t texts, eval_texts;
    const char *out, *init, *vocab, *cache, *arch;
    size_t vocab_size, alphabet;
    bool cased;
    size_t hidden, layers, heads, intermediate, max_positions; /* where there is no `init` */
    enum nvdp__start start;                                    /* likewise */
    enum nvdp__objective objective;
    size_t length;
    double mask_prob;
    bool whole_word;
    uint64_t steps, stop_after;
    size_t batch;
    enum nvdp_precision precision; /* where bf16 is not to be had: f32, with a notice */
    enum nvdp__optimizer_kind optimizer;
    double lr, warmup, weight_decay, clip_norm, beta1, beta2, adam_eps;
    double momentum, dropout;
    uint64_t seed;
    enum nvdp__weights dtype;
    size_t log_every, save_every, eval_every, eval_limit;
    double checkpoint_seconds;
    const char *resume; /* directory of the run to continue */
    bool overwrite;
};
extern const struct nvdp__schema nvdp__pretrain_schema;

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
    struct nvdp__pretrain_options config; /* resolved */
    json_t *config_owner;                 /* backs the strings after a resume, with `lists` */
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

/* As pretrain.json has them, with the lists of files. */
json_t *nvdp__pretrain_options_json(const struct nvdp__pretrain_options *options);
/* The reverse, from `object` of the file `path`.  Strings stay owned by the object, the lists of
 * files by *lists (free()). */
nvdp_status nvdp__pretrain_options_read(struct nvdp_context *ctx, const char *path,
                                        const json_t *object,
                                        struct nvdp__pretrain_options *options,
                                        const char ***lists);
/* Zeros that stand for a rule are replaced by what it gives. */
void nvdp__pretrain_resolve(struct nvdp__pretrain_options *options);
enum nvdp_dtype nvdp__pretrain_dtype(const struct nvdp__pretrain_options *options);
/* BERT's configuration for a vocabulary of so many pieces; the options are resolved. */
struct nvdp_bert_config nvdp__pretrain_bert(const struct nvdp__pretrain_options *options,
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

/* ---- trainer.c: nvdp_pretrain of a plain struct ---- */

nvdp_status nvdp__pretrain(struct nvdp_context *ctx, const struct nvdp__pretrain_options *options,
                           struct nvdp_pretrain_result *out);

#endif
