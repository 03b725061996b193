/* A pretraining run in memory, shared by the parts of pretraining. */
#ifndef NVDP_SRC_PRETRAIN_PRETRAINER_H
#define NVDP_SRC_PRETRAIN_PRETRAINER_H

#include "dchi/token_options.h"
#include "encoder/safetensors.h"
#include "job/dp.h"
#include "job/job.h"
#include "job/lineage.h"
#include "job/optimizer.h"
#include "pretrain/evaluate.h"
#include "pretrain/private_words.h"
#include <jansson.h>

/* The options of a pretraining run, and the run. */

enum nvdp__start {
    NVDP__START_NORMAL,   /* as in BERT: normal weights with standard deviation initializer_range */
    NVDP__START_NEIGHBORS /* heads of the first two layers attend to neighboring tokens */
};
/* Format of the written weights. */
enum nvdp__weight_format { NVDP__WEIGHTS_F32, NVDP__WEIGHTS_F16, NVDP__WEIGHTS_BF16 };
extern const char *const nvdp__objective_names[], *const nvdp__start_names[],
                                                      *const nvdp__optimizer_names[];

/* The plain struct that the table of pretraining_options.c fills and describes. */
struct nvdp__pretrain_options {
    const char *text_list, *eval_text_list;     /* lists as given; split into the lists below */
    const char *const *text, *const *eval_text; /* [texts], [eval_texts] paths of the texts */
    size_t texts, eval_texts;
    const char *out, *init, *vocab, *cache, *arch;
    const char *plant; /* file of secrets; NULL if there is none */
    size_t vocab_size, alphabet;
    struct nvdp__private_words words; /* epsilon is 0 if the vocabulary is not private */
    bool cased;
    size_t hidden, layers, heads, intermediate, max_positions; /* read only without `init` */
    enum nvdp__start start;                                    /* read only without `init` */
    size_t freeze_layers;
    enum nvdp__objective objective;
    size_t length;
    double mask_prob;
    bool whole_word;
    struct nvdp__sanitizer_options sanitizer; /* read only with an adaptive objective */
    uint64_t steps, stop_after;
    size_t batch;
    struct nvdp__dp_options dp;
    enum nvdp_precision precision; /* f32, with a notice, if bf16 is not available */
    enum nvdp__optimizer_kind optimizer;
    struct nvdp__adamw_options adamw;
    double momentum, dropout;
    uint64_t seed;
    enum nvdp__weight_format dtype;
    size_t log_every, save_every, eval_every, eval_limit;
    double checkpoint_seconds;
    const char *resume; /* directory of the run to continue */
    bool overwrite;
};
extern const struct nvdp__schema nvdp__pretrain_schema;

/* ---- pretraining_options.c ---- */

/* Returns the options in the form of pretrain.json, with the lists of files. */
json_t *nvdp__pretrain_options_json(const struct nvdp__pretrain_options *options);
/* Reads options in this form from `object` of the file `path`. The object still owns the
 * strings; *lists owns the lists of files, and the caller frees it with free(). */
nvdp_status nvdp__pretrain_options_read(struct nvdp_context *ctx, const char *path,
                                        const json_t *object,
                                        struct nvdp__pretrain_options *options,
                                        const char ***lists);
/* Replaces zeros that stand for a rule by the result of the rule. */
void nvdp__pretrain_resolve(struct nvdp__pretrain_options *options);
enum nvdp__dtype nvdp__pretrain_dtype(const struct nvdp__pretrain_options *options);
/* Returns BERT's configuration for a vocabulary of `pieces` pieces; the options must be
 * resolved. */
struct nvdp_bert_config nvdp__pretrain_bert(const struct nvdp__pretrain_options *options,
                                            size_t pieces);

/* ---- trainer.c: nvdp_pretrain() for a plain struct ---- */

nvdp_status nvdp__pretrain(struct nvdp_context *ctx, const struct nvdp__pretrain_options *options,
                           struct nvdp_pretrain_result *out);

/* ---- the run in memory ---- */

/* The counters that pretraining adds to the job's counters; they are saved together. */
struct nvdp__pretrain_state {
    uint64_t epoch_row; /* number of examples of the running epoch that were used */
    uint64_t masked;
    double drawing; /* seconds spent on privatized input and targets */
    /* sums since the last line in metrics.jsonl */
    double sum_nll, sum_masked, sum_right, sum_next, sum_next_right, sum_steps;
    double loss, accuracy; /* values of the last line in metrics.jsonl */
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
    struct nvdp__pretrain_options config; /* resolved options */
    /* owner of the strings after a resume, together with `lists` */
    json_t *config_owner;
    const char **lists;
    char (*digest)[NVDP__DIGEST_HEX]; /* [texts + eval_texts] SHA-256 of the files */
    /* the vocabulary: vocab.txt, tokenizer_config.json, and objects made from them */
    char *vocabulary;
    size_t vocabulary_size;
    /* privacy of the vocabulary; epsilon is 0 if there is none or it is unknown */
    struct nvdp__private_words words;
    json_t *tokenizer_config;
    /* record of the start model's pretraining; NULL if it is not known */
    json_t *init_record;
    struct nvdp__lineage lineage; /* data that the model has seen before this run, or sees in it */
    /* Guarantee of earlier training for these texts; 0, 0 if earlier training did not see the
     * texts. */
    struct nvdp_dp_guarantee start;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__piece_table pieces;
    struct nvdp__corpus corpus, eval_corpus;
    struct nvdp__secrets secrets; /* count is 0 if there are no secrets */
    struct nvdp__plants plants;
    struct nvdp_coverage coverage, eval_coverage;
    struct nvdp__pretrain_model model;
    struct nvdp__examples examples;
    size_t order_capacity; /* capacity of job.order */
    struct nvdp__batcher batcher;
    struct nvdp__privatizer privatizer; /* read only with an adaptive objective */
    struct nvdp__mlm_evaluator evaluator;
    struct nvdp__job job;
    struct nvdp__pretrain_sums sums; /* sums of the last step */
    struct nvdp__pretrain_state state;
    struct nvdp__recent recent;
    /* scores of the last evaluation; `windows` is 0 if there was none */
    struct nvdp_mlm_scores eval;
};

/* ---- vocabulary.c ---- */

/* Returns true if the vocabulary is trained on counts with noise. */
bool nvdp__private_vocabulary(const struct nvdp__pretrainer *trainer);
/* Opens the vocabulary and creates the tokenizer. */
nvdp_status nvdp__pretrainer_open_vocabulary(struct nvdp__pretrainer *trainer);
/* Writes vocab.txt and the files that belong to it. */
nvdp_status nvdp__pretrainer_write_vocabulary(const struct nvdp__pretrainer *trainer);

/* ---- open.c ---- */

/* nvdp__pretrainer_bert() returns BERT's configuration for a vocabulary of `pieces` pieces, or
 * the start model's configuration if there is one. nvdp__pretrainer_model() creates the model,
 * without weights. */
nvdp_status nvdp__pretrainer_bert(struct nvdp__pretrainer *trainer, size_t pieces,
                                  struct nvdp_bert_config *bert);
nvdp_status nvdp__pretrainer_model(struct nvdp__pretrainer *trainer,
                                   const struct nvdp_bert_config *bert);
/* Opens the whole run from resolved options, up to the first step; for a resumed run, up to the
 * next step. */
nvdp_status nvdp__pretrainer_open(struct nvdp__pretrainer *trainer);
void nvdp__pretrainer_close(struct nvdp__pretrainer *trainer);

/* ---- records.c ---- */

/* The parts of DIR/state.ckpt that pretraining adds (struct nvdp__job_kind). */
extern const struct nvdp__state_member nvdp__pretrain_members[];
nvdp_status nvdp__pretrainer_check_state(void *trainer, const char *path, const json_t *object);
/* Writes config.json; the second function also writes model.safetensors. */
nvdp_status nvdp__pretrainer_save_config(const struct nvdp__pretrainer *trainer);
nvdp_status nvdp__pretrainer_save_model(struct nvdp__pretrainer *trainer);
/* Write pretrain.json; read pretrain.json of a run to resume; check that the texts of this run
 * are unchanged. */
nvdp_status nvdp__pretrainer_write_run(const struct nvdp__pretrainer *trainer);
nvdp_status nvdp__pretrainer_read_run(struct nvdp__pretrainer *trainer, const char *directory);
nvdp_status nvdp__pretrainer_check_texts(const struct nvdp__pretrainer *trainer);
nvdp_status nvdp__pretrainer_write_result(const struct nvdp__pretrainer *trainer,
                                          const struct nvdp_pretrain_result *result);
/* Computes the digest of the frozen weights: either the word embeddings or whole layers. Some
 * weights must be frozen. */
void nvdp__pretrainer_frozen(const struct nvdp__pretrainer *trainer, char hex[NVDP__DIGEST_HEX]);

/* ---- the parts of a step ---- */

extern const struct nvdp__job_kind nvdp__pretrain_kind;
/* Scores the held-out texts, if there are any, and logs the scores. */
nvdp_status nvdp__pretrainer_evaluate(struct nvdp__pretrainer *trainer);

#endif
