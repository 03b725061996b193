/* A training run in memory: what nvdp_train's parts share. */
#ifndef NVDP_SRC_TRAIN_TRAINER_H
#define NVDP_SRC_TRAIN_TRAINER_H

#include "base/cache.h"
#include "job/job.h"
#include "job/lineage.h"
#include "model/model.h"
#include "text/batch.h"
#include "train/options.h"
#include <nvdp/certificate.h>
#include <nvdp/evaluate.h>

/* What training adds to the job's counters; saved with them. */
struct nvdp__train_state {
    uint64_t epoch_step; /* steps done in the running epoch */
    uint64_t best_epoch; /* 1-based, 0: none yet */
    double best_value;
    uint64_t since_best;           /* epochs */
    double sum_task, sum_g, sum_d; /* over this epoch's steps */
    double epoch_g, epoch_d;       /* means of the last whole epoch */
    double score_seconds;          /* of validation */
    bool finished, early_stopped;
};

struct nvdp__trainer {
    struct nvdp_context *ctx;
    struct nvdp__train_options config; /* resolved */
    json_t *config_owner;              /* backs the strings after a resume */
    char *base_model;                  /* backs config.model with --from-base */
    char *base_run;                    /* backs config.from_base with --base-epochs */
    struct nvdp_tokenizer *tokenizer;
    bool plan; /* nothing is to be trained */
    bool told; /* that nothing is learned */
    struct nvdp__token_noise *noise;
    struct nvdp__token_file *given; /* what noise reads; NULL: nothing */
    struct nvdp_dataset *all, *train, *validation,
        *test;            /* `train` may be `all`, `validation` `test` */
    double *class_weight; /* of losses, the model's, or of clipped gradients; NULL: none */
    struct nvdp_model *model;
    /* Of `all` and `test`; NULL: nothing frozen, or not needed yet. */
    struct nvdp__prefix *prefix, *test_prefix;
    char anchor[NVDP__DIGEST_HEX]; /* digest of what decay pulls towards; "": 0 */
    struct nvdp__batch *batch;     /* this process's texts */
    struct nvdp__part part;        /* of what they are a part */
    struct nvdp__lineage lineage;  /* what the model will have learned from */
    bool texts_known;              /* each of the train file, and not the file alone */
    char texts[NVDP__DIGEST_HEX];  /* SHA-256 of the train file */
    /* What the training before promises to them; 0, 0: it did not see them. */
    struct nvdp_dp_guarantee start;
    struct nvdp__job job;
    struct nvdp__step_losses
        losses; /* of the last step, with kl_weight, the weight of its regularizers */
    double kl_weight;
    uint64_t epoch_steps;
    struct nvdp__train_state state;
    struct nvdp_certificate proven; /* of the kept weights, when they are scored */
};

/* --- start.c --- */

/* Whether a base run comes first, into RUN/base; then *base are its options (but `out` and `resume`, which are still this
 * run's), and this run's frozen layers are known. */
bool nvdp__base_first(const struct nvdp__train_options *config);
nvdp_status nvdp__base_options(struct nvdp_context *ctx, struct nvdp__train_options *config,
                               struct nvdp__train_options *base);
/* With --from-base, the base run's model as config.model; NVDP_ERR_INPUT where it is none.  Not for a resumed run, whose
 * configuration has it. */
nvdp_status nvdp__trainer_take_base(struct nvdp__trainer *trainer);
/* lineage, texts, start.  Of private training NVDP_ERR_ARGUMENT where what it begins from saw the texts otherwise: no noise of
 * this run's takes that back; of a fold where that was trained on what the fold is scored on. */
nvdp_status nvdp__trainer_take_lineage(struct nvdp__trainer *trainer);
/* Whether the classifier of config.model is this run's to start from: a base run's only for the same outputs, and for base and
 * reg.  `tell`: a notice where the outputs are others. */
nvdp_status nvdp__trainer_takes_head(struct nvdp__trainer *trainer, bool tell, bool *takes);
/* Loads the pretrained weights and initializes the rest. */
nvdp_status nvdp__trainer_start_weights(struct nvdp__trainer *trainer);

/* --- open.c --- */

/* Data and model; then, unless it is a dry run, arena, optimiser (for training) and batch. */
nvdp_status nvdp__trainer_open(struct nvdp__trainer *trainer);
nvdp_status nvdp__trainer_allocate(struct nvdp__trainer *trainer, bool training);
void nvdp__trainer_close(struct nvdp__trainer *trainer);
/* Parts of opening: a split of config.data; the model for the task of `all`, its size checked and
 * config.nvib resolved; the numbers of steps. */
nvdp_status nvdp__trainer_load_split(struct nvdp__trainer *trainer, enum nvdp_split split,
                                     struct nvdp_dataset **out);
nvdp_status nvdp__trainer_build(struct nvdp__trainer *trainer, const struct nvdp_bert_config *bert,
                                bool with_grad);
nvdp_status nvdp__trainer_count_steps(struct nvdp__trainer *trainer);
size_t nvdp__trainer_longest(const struct nvdp__trainer *trainer);

/* After the weights are in place; nothing where no layer is frozen. */
nvdp_status nvdp__trainer_open_prefix(struct nvdp__trainer *trainer);
/* From now on the model is given texts of `test`. */
nvdp_status nvdp__trainer_test_prefix(struct nvdp__trainer *trainer);

/* --- records.c --- */

/* Files are rank 0's: nothing else writes in the functions below. */
/* RUN as it begins, with run.json; and whatever an earlier run left in it goes.  To be called when data and weights are known
 * good. */
nvdp_status nvdp__trainer_begin_records(struct nvdp__trainer *trainer);
/* That, but for a resumed run; metrics.jsonl as it was when the state was saved. */
nvdp_status nvdp__trainer_open_records(struct nvdp__trainer *trainer);
/* The parts of RUN/state.ckpt that training adds (struct nvdp__job_kind). */
extern const struct nvdp__state_member nvdp__train_members[];
nvdp_status nvdp__trainer_write_state(void *trainer, json_t *object);
nvdp_status nvdp__trainer_check_state(void *trainer, const char *path, const json_t *object);
/* The model as it is becomes RUN/model. */
nvdp_status nvdp__trainer_keep_model(struct nvdp__trainer *trainer);
nvdp_status nvdp__trainer_write_result(struct nvdp__trainer *trainer,
                                       const struct nvdp_train_result *result);

/* --- step.c --- */

/* Fills `batch` with this process's share of the running epoch's next texts of `order`. */
void nvdp__trainer_next_batch(struct nvdp__trainer *trainer);
extern const struct nvdp__job_kind nvdp__train_kind;
/* Weight s_t of the regularisers at a step. */
double nvdp__kl_weight(const struct nvdp__train_options *config, uint64_t step, uint64_t steps);

/* --- train.c --- */

/* The options of a run; on a resume the configuration is the run's own, and what is given
 * (`given`, NULL: only what the plain struct says of the call) must not contradict it. */
nvdp_status nvdp__trainer_take_config(struct nvdp__trainer *trainer,
                                      const struct nvdp__train_options *options,
                                      const struct nvdp_config *given);

/* --- metrics.c --- */

/* A model's scores on a data set, over `draws` draws of its noise from first_draw on. */
nvdp_status nvdp__score_model(struct nvdp_context *ctx, struct nvdp_model *model,
                              const struct nvdp_dataset *dataset, size_t batch, uint64_t seed,
                              uint32_t first_draw, size_t draws, struct nvdp_scores *scores);
/* From draw 0 on, with intervals over texts, and of a classification each class's (NULL: not wanted; free(); of
 * other tasks it stays as it is). */
nvdp_status nvdp__score_whole(struct nvdp_context *ctx, struct nvdp_model *model,
                              const struct nvdp_dataset *dataset, size_t batch, uint64_t seed,
                              size_t draws, struct nvdp_scores *scores,
                              struct nvdp_class_score **classes);

#endif
