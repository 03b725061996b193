/** @file train.h
 * Training: one call from a configuration to a run directory (docs/formats.md).
 *
 * Stable: later versions add to it. */
#ifndef NVDP_TRAIN_H
#define NVDP_TRAIN_H

#include <nvdp/account.h>
#include <nvdp/config.h>
#include <nvdp/export.h>
#include <nvdp/model.h>
#include <nvdp/precision.h>

NVDP_BEGIN_DECLS

/** The options of training, with their defaults; nvdp_config_option() tells each.  Method "reg"
 * implies dropout and classifier-dropout 0.1, weight-decay 0.01 and decay-to pretrained; regularizer
 * "kl" implies kl-schedule warmup, kl-delay 0.2 and kl-ramp 0.5, because at full weight from the
 * first step the exact divergence overwhelms an untrained classifier.  Implied values give way to
 * given ones.
 * @param ctx outlives the configuration.
 * @param out nvdp_config_free().
 * @return NVDP_ERR_MEMORY. */
nvdp_status nvdp_train_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** How well a model did on a split: each metric's mean and spread over draws of the noise. */
struct nvdp_scores {
    size_t struct_size;                    /**< NVDP_RESULT() sets it */
    int metrics;                           /**< of the task: 1 to NVDP_METRICS */
    enum nvdp_metric metric[NVDP_METRICS]; /**< which; the first one selects epochs */
    double mean[NVDP_METRICS];             /**< over draws, in [-1, 1]; Welford's running mean */
    double sd[NVDP_METRICS];               /**< standard deviation over draws; 0 for one */
    double majority; /**< accuracy of always saying the most frequent class; NaN for
                                     regression */
    size_t n;        /**< texts; words of a task with tags */
    size_t draws;    /**< of the noise; 1 for methods without noise */
    /** 95 % interval over texts of each mean: what another sample of texts from where these come from might give.  By
     * bootstrap; of F1, macro-F1 and Matthews' correlation every class keeps its number of texts; of an accuracy of 0 or 1
     * Clopper & Pearson's.  NaN where no sample differs, as of a classifier that always says the same, of tasks with tags,
     * and where nobody computed it (validation). */
    double low[NVDP_METRICS];
    double high[NVDP_METRICS]; /**< its upper end */
    double reserved[2];        /**< 0: the struct stands inside others and keeps its size */
};

/** What nvdp_train() tells of a finished run; RUN/result.json has the same. */
struct nvdp_train_result {
    size_t struct_size;       /**< NVDP_RESULT() sets it */
    size_t epochs_run;        /**< finished */
    size_t best_epoch;        /**< the one whose weights were kept, from 1 */
    uint64_t steps;           /**< of the optimiser */
    double best_validation;   /**< the first metric at the best epoch */
    struct nvdp_scores test;  /**< of the kept weights on the dev file, with fresh noise */
    double seconds;           /**< in training steps */
    double tokens_per_second; /**< in training steps; there is no padding */
    double loss_g;            /**< Gaussian regulariser, mean over the last epoch, before lambda */
    double loss_d;            /**< Dirichlet regulariser, likewise */
    bool early_stopped;       /**< patience ran out before the last epoch */
    double bound;             /**< nats at order 1.1 that no two texts, seen or not, exceed
                       (nvdp_renyi_sequence_bound()); +inf where none is proven */
    /** What is proven of the mechanism over all texts (nvdp_model_certificate()) at certified-delta, of
     * certified-releases samples of a text; +inf where nothing is. */
    double certified_epsilon;
    double certified_delta;    /**< as of the option */
    size_t certified_releases; /**< likewise */
    double certified_right;    /**< nvdp_certificate.right; 1 where nothing is proven */
    double score_seconds;      /**< beside `seconds`: of validation and of the final score */
};

/** Trains, scores and writes the run directory.  A run that was cancelled or killed continues with
 * the option "resume" to the same result bit for bit (with the same number of threads).
 * @param ctx progress, messages and the wish to stop pass through its callbacks.
 * @param config of nvdp_train_config_create().  With "resume", options that affect the result must
 *     be those of the run where they are given at all; the others are taken.
 * @param out NULL is not allowed; untouched on error.
 * @return NVDP_ERR_ARGUMENT for options out of range and a directory that is not empty;
 *     NVDP_ERR_INPUT and NVDP_ERR_IO for data and checkpoint; NVDP_ERR_NUMERIC where the loss
 *     diverges; NVDP_ERR_CANCELLED after the state was saved; NVDP_ERR_MEMORY.
 *
 * Time and memory are those of nvdp_train_plan(); nothing is allocated within a step. */
nvdp_status nvdp_train(struct nvdp_context *ctx, const struct nvdp_config *config,
                       struct nvdp_train_result *out);

/** The privacy of a model's training for its training texts. */
struct nvdp_training_privacy {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    /** Whether it was trained with differential privacy; what follows is 0 otherwise. */
    bool is_private;
    bool finished;               /**< otherwise `steps` are those planned */
    bool seeded;                 /**< the noise came from a seed: whoever knows it can undo it */
    bool delta_default;          /**< delta is half of 1/N because nobody chose one */
    uint64_t examples;           /**< N, public */
    double clip;                 /**< C; +inf: none */
    struct nvdp_dp_steps steps;  /**< noise multiplier, sampling probability, number of steps */
    struct nvdp_account account; /**< epsilon at delta, under zero-out adjacency (account.h) */
    struct nvdp_account_risk
        risk; /**< mu, replacement, membership, guesses of baselines 1/2 and 1/1000 */
};

/** Reads how a folder's model was trained and accounts it anew, together with a private vocabulary of the same texts and
 * with the private training of the model that it began from if that saw them.  Of a run's folder its own training counts: not that
 * of the model it began from on other texts.  Half a second; see nvdp_account_risk().
 * @param ctx       records messages.
 * @param directory a run of nvdp_train() or nvdp_pretrain(), or a model that nvdp_pretrain() wrote.
 * @param out       untouched on error.
 * @param statement the guarantee in words (nvdp_account_statement()), NULL for one that is not private; free().  NULL: not
 *     wanted.
 * @return NVDP_ERR_IO and NVDP_ERR_INPUT for files; NVDP_ERR_ARGUMENT for numbers that no training has;
 *     NVDP_ERR_MEMORY. */
nvdp_status nvdp_training_privacy(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp_training_privacy *out, char **statement);

/** Whether model and data are there and fit the options; reads no text and no weight.
 * @param ctx records messages.
 * @param config of nvdp_train_config_create(); what nvdp_config_check() finds is not looked for.
 * @return NVDP_ERR_IO for files that cannot be read; NVDP_ERR_INPUT and NVDP_ERR_ARGUMENT where the
 *     model does not fit. */
nvdp_status nvdp_train_check(struct nvdp_context *ctx, const struct nvdp_config *config);

/** Scores as one JSON object, as result.json has them: n, draws, metrics, majority.
 * @param ctx records messages.
 * @param scores what is written.
 * @param out the text; free().
 * @return NVDP_ERR_MEMORY. */
nvdp_status nvdp_scores_json(struct nvdp_context *ctx, const struct nvdp_scores *scores,
                             char **out);

/** What a run would take. */
struct nvdp_train_plan {
    size_t struct_size;       /**< NVDP_RESULT() sets it */
    size_t train_texts;       /**< that are trained on */
    size_t validation_texts;  /**< that select the epoch */
    size_t test_texts;        /**< of the dev file */
    size_t parameters;        /**< trained ones */
    size_t frozen_parameters; /**< of frozen layers */
    uint64_t steps;           /**< of all epochs */
    size_t prefix_bytes;      /**< of the frozen layers' states of all texts that are looked at in
                                   every epoch, in the cache */
    size_t memory_bytes;      /**< parameters, optimiser and activations */
    /** Of nvdp_train_plan_measured(), else NaN: a training step; all of them; validation after every
     * epoch and the final score; the frozen layers' states, once. */
    double step_seconds;
    double train_seconds;  /**< likewise */
    double score_seconds;  /**< likewise */
    double prefix_seconds; /**< likewise; 0 where no layer is frozen */
    double
        base_seconds; /**< likewise: the base run that comes first with base-epochs; 0: none.  What
                                stands above, but memory, is of the bottleneck's run */
};

/** Reads data and checkpoint and counts; trains and writes nothing.
 * @param ctx records messages.
 * @param config of nvdp_train_config_create().
 * @param resolved the configuration with zeros and "auto" resolved for the model; NULL: not
 *     wanted; nvdp_config_free().
 * @param out the plan.
 * @return as nvdp_train(). */
nvdp_status nvdp_train_plan(struct nvdp_context *ctx, const struct nvdp_config *config,
                            struct nvdp_config **resolved, struct nvdp_train_plan *out);

/** The same, and what it takes in time: a few steps are trained and a few texts scored, some seconds
 * long, and thrown away; where the machine has less memory than it takes they stay NaN.  Texts of the first steps stand for all: by tokens, so that lengths count.
 * @param ctx records messages.
 * @param config as of nvdp_train_plan().
 * @param resolved likewise.
 * @param out the plan with its times.
 * @return as nvdp_train(). */
nvdp_status nvdp_train_plan_measured(struct nvdp_context *ctx, const struct nvdp_config *config,
                                     struct nvdp_config **resolved, struct nvdp_train_plan *out);

NVDP_END_DECLS
#endif
