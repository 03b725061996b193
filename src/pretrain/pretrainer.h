/* A pretraining run in memory, shared by the parts of pretraining. */
#ifndef NVDP_SRC_PRETRAIN_PRETRAINER_H
#define NVDP_SRC_PRETRAIN_PRETRAINER_H

#include "job/job.h"
#include "job/lineage.h"
#include "pretrain/trainer.h"

/* The counters that pretraining adds to the job's; they are saved together. */
struct nvdp__pretrain_state {
    uint64_t epoch_row; /* examples of the running epoch already used */
    uint64_t masked;
    double drawing; /* seconds spent on privatized input and targets */
    /* sums since the last line in metrics.jsonl */
    double sum_nll, sum_masked, sum_right, sum_next, sum_next_right, sum_steps;
    double loss, accuracy; /* values of that last line */
};

/* Losses and counts of a step. */
struct nvdp__pretrain_sums {
    struct nvdp__pretrain_losses losses;
    double masked;
};

/* Moving averages for the progress line. */
struct nvdp__recent {
    double weight, loss, accuracy;
};

struct nvdp__pretrainer {
    struct nvdp_context *ctx;
    struct nvdp__pretrain_options config; /* resolved */
    json_t *config_owner;                 /* owns the strings after a resume, with `lists` */
    const char **lists;
    char (*digest)[NVDP__DIGEST_HEX]; /* [texts + eval_texts] SHA-256 of the files */
    /* the vocabulary: vocab.txt, tokenizer_config.json, and objects made from them */
    char *vocabulary;
    size_t vocabulary_size;
    struct nvdp__private_words words; /* the vocabulary's privacy; epsilon 0: none or unknown */
    json_t *tokenizer_config;
    json_t *init_record;          /* pretraining of the start model; NULL: not known */
    struct nvdp__lineage lineage; /* data that the model will have seen */
    /* Guarantee of earlier training for these texts; 0, 0 if it did not see them. */
    struct nvdp_dp_guarantee start;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__piece_table pieces;
    struct nvdp__corpus corpus, eval_corpus;
    struct nvdp__secrets secrets; /* count 0: none */
    struct nvdp__plants plants;
    struct nvdp_coverage coverage, eval_coverage;
    struct nvdp__pretrain_model model;
    struct nvdp__examples examples;
    size_t order_capacity; /* of job.order */
    struct nvdp__batcher batcher;
    struct nvdp__privatizer privatizer; /* for an adaptive objective */
    struct nvdp__mlm_evaluator evaluator;
    struct nvdp__job job;
    struct nvdp__pretrain_sums sums; /* of the last step */
    struct nvdp__pretrain_state state;
    struct nvdp__recent recent;
    struct nvdp_mlm_scores eval; /* last evaluation; windows 0: none */
};

/* ---- vocabulary.c ---- */

/* Returns whether the vocabulary is trained on noised counts. */
bool nvdp__private_vocabulary(const struct nvdp__pretrainer *trainer);
/* Opens the vocabulary and creates its tokenizer. */
nvdp_status nvdp__pretrainer_open_vocabulary(struct nvdp__pretrainer *trainer);
/* Writes vocab.txt and the files that belong to it. */
nvdp_status nvdp__pretrainer_write_vocabulary(const struct nvdp__pretrainer *trainer);

/* ---- open.c ---- */

/* nvdp__pretrainer_bert returns BERT's configuration for a vocabulary of `pieces` pieces, or the
 * start model's configuration if there is one. nvdp__pretrainer_model creates the model, without
 * weights. */
nvdp_status nvdp__pretrainer_bert(struct nvdp__pretrainer *trainer, size_t pieces,
                                  struct nvdp_bert_config *bert);
nvdp_status nvdp__pretrainer_model(struct nvdp__pretrainer *trainer,
                                   const struct nvdp_bert_config *bert);
/* Opens the whole run, from resolved options up to the first step or, for a resumed run, its
 * next step. */
nvdp_status nvdp__pretrainer_open(struct nvdp__pretrainer *trainer);
void nvdp__pretrainer_close(struct nvdp__pretrainer *trainer);

/* ---- records.c ---- */

/* The parts of DIR/state.ckpt that pretraining adds (struct nvdp__job_kind). */
extern const struct nvdp__state_member nvdp__pretrain_members[];
nvdp_status nvdp__pretrainer_check_state(void *trainer, const char *path, const json_t *object);
/* Writes config.json, the second function also model.safetensors. */
nvdp_status nvdp__pretrainer_save_config(const struct nvdp__pretrainer *trainer);
nvdp_status nvdp__pretrainer_save_model(struct nvdp__pretrainer *trainer);
/* Write pretrain.json; read that of a run to resume; check that its texts are unchanged. */
nvdp_status nvdp__pretrainer_write_run(const struct nvdp__pretrainer *trainer);
nvdp_status nvdp__pretrainer_read_run(struct nvdp__pretrainer *trainer, const char *directory);
nvdp_status nvdp__pretrainer_check_texts(const struct nvdp__pretrainer *trainer);
nvdp_status nvdp__pretrainer_write_result(const struct nvdp__pretrainer *trainer,
                                          const struct nvdp_pretrain_result *result);
/* Computes the digest of the frozen weights, either the word embeddings or whole layers; there
 * must be some. */
void nvdp__pretrainer_frozen(const struct nvdp__pretrainer *trainer, char hex[NVDP__DIGEST_HEX]);
json_t *nvdp__mlm_scores_json(const struct nvdp_mlm_scores *scores);

/* ---- step.c ---- */

extern const struct nvdp__job_kind nvdp__pretrain_kind;
/* Scores the held-out texts, if there are any, and logs the scores. */
nvdp_status nvdp__pretrainer_evaluate(struct nvdp__pretrainer *trainer);

#endif
