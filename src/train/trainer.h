/* A training run in memory, shared by the parts of nvdp_train. */
#ifndef NVDP_SRC_TRAIN_TRAINER_H
#define NVDP_SRC_TRAIN_TRAINER_H

#include "base/cache.h"
#include "job/job.h"
#include "job/lineage.h"
#include "model/model.h"
#include "text/batch.h"
#include "train/training_options.h"
#include <nvdp/certificate.h>
#include <nvdp/evaluate.h>

/* The counters that training adds to the counters of the job; all counters are saved together. */
struct nvdp__train_state {
    uint64_t epoch_step; /* steps done in the running epoch */
    uint64_t best_epoch; /* counted from 1; 0 if there is none yet */
    double best_value;
    uint64_t since_best;           /* number of epochs since the best epoch */
    double sum_task, sum_g, sum_d; /* sums of losses over this epoch's steps */
    double epoch_g, epoch_d;       /* mean losses of the last complete epoch */
    double score_seconds;          /* time of validation */
    bool finished, early_stopped;
};

struct nvdp__trainer {
    struct nvdp_context *ctx;
    struct nvdp__train_options config; /* resolved */
    json_t *config_owner;              /* owns the strings after a resume */
    char *base_model;                  /* owns config.model with --from-base */
    char *base_run;                    /* owns config.from_base with --base-epochs */
    struct nvdp_tokenizer *tokenizer;
    bool plan;   /* the run is only planned, not trained */
    bool warned; /* the warning that nothing is learned was logged */
    struct nvdp__token_noise *noise;
    struct nvdp__token_file *given; /* source of `noise`; NULL if there is none */
    struct nvdp_dataset *all, *train, *validation,
        *test; /* `train` may be `all`; `validation` may be `test` */
    /* Weights of losses (owned by the model) or of clipped gradients; may be NULL. */
    double *class_weight;
    struct nvdp_model *model;
    /* Prefixes of `all` and `test`; NULL if nothing is frozen, or not needed yet. */
    struct nvdp__prefix *prefix, *test_prefix;
    /* Digest of the values towards which decay pulls; "" if these are 0. */
    char anchor[NVDP__DIGEST_HEX];
    struct nvdp__batch *batch;    /* this process's texts */
    struct nvdp__part part;       /* this process's part of the batch */
    struct nvdp__lineage lineage; /* data that the model will have seen */
    bool texts_known;             /* the lineage lists every train text, not only the file */
    char texts[NVDP__DIGEST_HEX]; /* SHA-256 of the train file */
    /* Guarantee of earlier training for these texts; 0, 0 if earlier training did not read the texts. */
    struct nvdp_dp_guarantee start;
    struct nvdp__job job;
    /* Losses of the last step; kl_weight weighs the regularizers. */
    struct nvdp__step_losses losses;
    double kl_weight;
    uint64_t epoch_steps;
    struct nvdp__train_state state;
    struct nvdp_certificate proven; /* certificate of the kept weights, set by the final score */
};

/* --- start.c --- */

/* nvdp__base_first returns whether a base run in RUN/base comes first. If so, nvdp__base_options sets *base to the
 * options of the base run, except `out` and `resume`, which keep the values of this run, and sets this run's frozen
 * layers. */
bool nvdp__base_first(const struct nvdp__train_options *config);
nvdp_status nvdp__base_options(struct nvdp_context *ctx, struct nvdp__train_options *config,
                               struct nvdp__train_options *base);
/* With --from-base, sets config.model to the base run's model; returns NVDP_ERR_INPUT if there is no model. Do not call
 * it for a resumed run, whose configuration has the model already. */
nvdp_status nvdp__trainer_take_base(struct nvdp__trainer *trainer);
/* Sets lineage, texts and start. Returns NVDP_ERR_ARGUMENT in private training if the initial model read the texts
 * without a guarantee, which this run's noise cannot undo. Returns it with folds, too, if the initial model was trained
 * on texts that score the fold. */
nvdp_status nvdp__trainer_take_lineage(struct nvdp__trainer *trainer);
/* Sets *takes to true if this run starts from the classifier of config.model. The classifier of a base run is used only
 * for the same outputs, and only for methods base and reg. With `tell`, logs a notice if the outputs differ. */
nvdp_status nvdp__trainer_takes_head(struct nvdp__trainer *trainer, bool tell, bool *takes);
/* Loads the pretrained weights and initializes the rest. */
nvdp_status nvdp__trainer_start_weights(struct nvdp__trainer *trainer);

/* --- open.c --- */

/* Opens data and model, then (except for a plan) allocates arena, optimizer (for training) and
 * batch. */
nvdp_status nvdp__trainer_open(struct nvdp__trainer *trainer);
nvdp_status nvdp__trainer_allocate(struct nvdp__trainer *trainer, bool training);
void nvdp__trainer_close(struct nvdp__trainer *trainer);
/* Parts of opening: load a split of config.data; build the model for the task of `all`, check the size of the model and
 * resolve config.nvib; count the steps. */
nvdp_status nvdp__trainer_load_split(struct nvdp__trainer *trainer, enum nvdp_split split,
                                     struct nvdp_dataset **out);
nvdp_status nvdp__trainer_build(struct nvdp__trainer *trainer, const struct nvdp_bert_config *bert,
                                bool with_grad);
nvdp_status nvdp__trainer_count_steps(struct nvdp__trainer *trainer);
size_t nvdp__trainer_longest(const struct nvdp__trainer *trainer);

/* Opens the prefixes. Call it after the weights are set. Does nothing if no layer is frozen. */
nvdp_status nvdp__trainer_open_prefix(struct nvdp__trainer *trainer);
/* Switches the model to the prefix of `test`. */
nvdp_status nvdp__trainer_test_prefix(struct nvdp__trainer *trainer);

/* --- records.c --- */

/* Only rank 0 writes files. */
/* Makes the folder of a new run, locks it, and removes the files of an earlier run. */
nvdp_status nvdp__trainer_prepare_directory(struct nvdp__trainer *trainer);
/* Begins RUN with run.json and removes the files of an earlier run. Call it after data and weights were checked. */
nvdp_status nvdp__trainer_begin_records(struct nvdp__trainer *trainer);
/* Begins RUN, or, for a resumed run, restores metrics.jsonl to the content that it had when the state was saved. */
nvdp_status nvdp__trainer_open_records(struct nvdp__trainer *trainer);
/* The parts of RUN/state.ckpt that training adds (struct nvdp__job_kind). */
extern const struct nvdp__state_member nvdp__train_members[];
nvdp_status nvdp__trainer_write_state(void *trainer, json_t *object);
nvdp_status nvdp__trainer_check_state(void *trainer, const char *path, const json_t *object);
/* Saves the current model as RUN/model. */
nvdp_status nvdp__trainer_keep_model(struct nvdp__trainer *trainer);
nvdp_status nvdp__trainer_write_result(struct nvdp__trainer *trainer,
                                       const struct nvdp_train_result *result);

/* --- the parts of a step --- */

/* Fills `batch` with this process's share of the running epoch's next texts of `order`. */
void nvdp__trainer_next_batch(struct nvdp__trainer *trainer);
extern const struct nvdp__job_kind nvdp__train_kind;
/* Returns the weight s_t of the regularizers at a step. */
double nvdp__kl_weight(const struct nvdp__train_options *config, uint64_t step, uint64_t steps);

/* --- train.c --- */

/* Sets the options of a run. A resumed run keeps the configuration with which it was started; `given` must not
 * contradict this configuration. If `given` is NULL, this is not checked. */
nvdp_status nvdp__trainer_take_config(struct nvdp__trainer *trainer,
                                      const struct nvdp__train_options *options,
                                      const struct nvdp_config *given);

/* Certifies the mechanism of the model.  Sets the bound and the certificate in the result (may be NULL). */
nvdp_status nvdp__train_certify(const struct nvdp__train_options *config, struct nvdp_model *model,
                                struct nvdp_train_result *result, struct nvdp_certificate *out);

/* --- metrics.c --- */

/* Scores a model on a data set, over `draws` draws of the model's noise from first_draw on, and on request with
 * intervals over texts. For classification tasks, *classes gets the scores of each class, which the caller frees with
 * free(); `classes` may be NULL. For other tasks, *classes is unchanged. */
nvdp_status nvdp__score_model(struct nvdp_context *ctx, struct nvdp_model *model,
                              const struct nvdp_dataset *dataset, size_t batch, uint64_t seed,
                              uint32_t first_draw, size_t draws, bool intervals,
                              struct nvdp_scores *scores, struct nvdp_class_score **classes);

#endif
