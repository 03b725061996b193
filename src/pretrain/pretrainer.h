/* A pretraining run in memory: what its parts share. */
#ifndef NVDP_SRC_PRETRAIN_PRETRAINER_H
#define NVDP_SRC_PRETRAIN_PRETRAINER_H

#include "dchi/options.h"
#include "job/dp.h"
#include "job/job.h"
#include "job/lineage.h"
#include "job/optimizer.h"
#include "pretrain/evaluate.h"
#include "text/private_words.h"
#include <jansson.h>
#include <nvdp/safetensors.h>

/* A pretraining run: its options, and the run. */

enum nvdp__start {
    NVDP__START_NORMAL,    /* as BERT: everything normal, initializer_range wide */
    NVDP__START_NEIGHBOURS /* heads of the first two layers attend to neighbouring tokens */
};
/* How weights are written. */
enum nvdp__weight_format { NVDP__WEIGHTS_F32, NVDP__WEIGHTS_F16, NVDP__WEIGHTS_BF16 };
extern const char *const nvdp__objective_names[], *const nvdp__start_names[],
                                                      *const nvdp__optimizer_names[];

/* The plain struct that the table of options.c fills, which tells each. */
struct nvdp__pretrain_options {
    const char *text_list, *eval_text_list;     /* as given; what is read are */
    const char *const *text, *const *eval_text; /* [texts], [eval_texts] */
    size_t texts, eval_texts;
    const char *out, *init, *vocab, *cache, *arch;
    const char *plant; /* file of secrets; NULL: none */
    size_t vocab_size, alphabet;
    struct nvdp__private_words words; /* epsilon 0: the vocabulary is not private */
    bool cased;
    size_t hidden, layers, heads, intermediate, max_positions; /* where there is no `init` */
    enum nvdp__start start;                                    /* likewise */
    size_t freeze_layers;
    enum nvdp__objective objective;
    size_t length;
    double mask_prob;
    bool whole_word;
    struct nvdp__sanitizer_options sanitizer; /* of an adaptive objective */
    uint64_t steps, stop_after;
    size_t batch;
    struct nvdp__dp_options dp;
    enum nvdp_precision precision; /* where bf16 is not to be had: f32, with a notice */
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

/* ---- trainer.c: nvdp_pretrain of a plain struct ---- */

nvdp_status nvdp__pretrain(struct nvdp_context *ctx, const struct nvdp__pretrain_options *options,
                           struct nvdp_pretrain_result *out);

/* ---- the run in memory ---- */

/* What pretraining adds to the job's counters; saved with them. */
struct nvdp__pretrain_state {
    uint64_t epoch_row; /* examples used of the running epoch */
    uint64_t masked;
    double drawing; /* of the seconds, for privatized input and targets */
    /* since the last line in metrics.jsonl */
    double sum_nll, sum_masked, sum_right, sum_next, sum_next_right, sum_steps;
    double loss, accuracy; /* of that last line */
};

/* Losses and counts of a step. */
struct nvdp__pretrain_sums {
    struct nvdp__pretrain_losses losses;
    double masked;
};

/* Means that the progress line shows. */
struct nvdp__recent {
    double weight, loss, accuracy;
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
    struct nvdp__private_words words; /* how private it is; epsilon 0: not, or nothing says so */
    json_t *tokenizer_config;
    json_t *init_record;          /* how the model it starts from was pretrained; NULL: not known */
    struct nvdp__lineage lineage; /* what the model will have learned from */
    /* What the training before promises to these texts; 0, 0: it did not see them. */
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
    struct nvdp__privatizer privatizer; /* of an adaptive objective */
    struct nvdp__mlm_evaluator evaluator;
    struct nvdp__job job;
    struct nvdp__pretrain_sums sums; /* of the last step */
    struct nvdp__pretrain_state state;
    struct nvdp__recent recent;
    struct nvdp_mlm_scores eval; /* the last; windows 0: none */
};

/* ---- vocabulary.c ---- */

/* Whether the vocabulary is trained on noised counts. */
bool nvdp__private_vocabulary(const struct nvdp__pretrainer *trainer);
/* With the tokenizer that it makes. */
nvdp_status nvdp__pretrainer_open_vocabulary(struct nvdp__pretrainer *trainer);
/* vocab.txt and what belongs to it. */
nvdp_status nvdp__pretrainer_write_vocabulary(const struct nvdp__pretrainer *trainer);

/* ---- open.c ---- */

/* BERT's configuration for so many pieces, that of the model it starts from where there is one; the model, without weights. */
nvdp_status nvdp__pretrainer_bert(struct nvdp__pretrainer *trainer, size_t pieces,
                                  struct nvdp_bert_config *bert);
nvdp_status nvdp__pretrainer_model(struct nvdp__pretrainer *trainer,
                                   const struct nvdp_bert_config *bert);
/* All of it, from resolved options to the first step, or that to go on with. */
nvdp_status nvdp__pretrainer_open(struct nvdp__pretrainer *trainer);
void nvdp__pretrainer_close(struct nvdp__pretrainer *trainer);

/* ---- records.c ---- */

/* The parts of DIR/state.ckpt that pretraining adds (struct nvdp__job_kind). */
extern const struct nvdp__state_member nvdp__pretrain_members[];
nvdp_status nvdp__pretrainer_check_state(void *trainer, const char *path, const json_t *object);
/* config.json; with model.safetensors. */
nvdp_status nvdp__pretrainer_save_config(const struct nvdp__pretrainer *trainer);
nvdp_status nvdp__pretrainer_save_model(struct nvdp__pretrainer *trainer);
/* pretrain.json; that of a run to go on with, whose texts must be as they were. */
nvdp_status nvdp__pretrainer_write_run(const struct nvdp__pretrainer *trainer);
nvdp_status nvdp__pretrainer_read_run(struct nvdp__pretrainer *trainer, const char *directory);
nvdp_status nvdp__pretrainer_check_texts(const struct nvdp__pretrainer *trainer);
nvdp_status nvdp__pretrainer_write_result(const struct nvdp__pretrainer *trainer,
                                          const struct nvdp_pretrain_result *result);
/* Digest of the weights that stay as the model it starts from has them, the word embeddings or whole layers; there are some. */
void nvdp__pretrainer_frozen(const struct nvdp__pretrainer *trainer, char hex[NVDP__DIGEST_HEX]);
json_t *nvdp__mlm_scores_json(const struct nvdp_mlm_scores *scores);

/* ---- step.c ---- */

extern const struct nvdp__job_kind nvdp__pretrain_kind;
/* Scores the held-out texts, if there are any, and logs the scores. */
nvdp_status nvdp__pretrainer_evaluate(struct nvdp__pretrainer *trainer);

#endif
