/** @file train.h
 * Training: one call trains a model from a configuration and writes a run directory (docs/formats.md).
 *
 * Stable: later versions add to it. */
#ifndef NVDP_TRAIN_H
#define NVDP_TRAIN_H

#include <nvdp/account.h>
#include <nvdp/config.h>
#include <nvdp/export.h>
#include <nvdp/model.h>
#include <nvdp/precision.h>
#include <nvdp/result.h>

NVDP_BEGIN_DECLS

/** Scores of a model on a split: mean and standard deviation of each metric over draws of the noise. */
struct nvdp_scores {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    int metrics; /**< number of metrics of the task: 1 to NVDP_METRICS_MAX */
    enum nvdp_metric metric[NVDP_METRICS_MAX]; /**< the metrics; the first one selects epochs */
    double mean[NVDP_METRICS_MAX];             /**< mean over draws, in [-1, 1] */
    double sd[NVDP_METRICS_MAX]; /**< standard deviation over draws; 0 if there is one draw */
    /** Accuracy of always predicting the most frequent class; NaN for regression. */
    double majority;
    size_t n;     /**< number of texts, or of words for tasks with tags */
    size_t draws; /**< number of draws of the noise; 1 for methods without noise */
    /** 95 % interval of each mean over texts, by bootstrap: the range for other texts from the same source. F1,
     * macro-F1 and Matthews' correlation keep the number of texts per class. Accuracies of 0 and 1 have the
     * interval of Clopper & Pearson. NaN if all samples give the same value (as for a constant classifier), for
     * tasks with tags, and in validation, where no interval is computed. */
    double low[NVDP_METRICS_MAX];
    double high[NVDP_METRICS_MAX]; /**< upper end of the interval */
};

/** Result of nvdp_train(), freed with nvdp_result_free(). RUN/result.json has the same numbers. */
struct nvdp_train_result {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    size_t epochs_run;                   /**< number of finished epochs */
    size_t best_epoch;                   /**< epoch whose weights were kept, from 1 */
    uint64_t steps;                      /**< number of optimizer steps */
    double best_validation;              /**< first metric at the best epoch */
    /** Scores of the kept weights on the dev file, with fresh noise. */
    struct nvdp_scores *test;
    double seconds;           /**< time of the training steps */
    double tokens_per_second; /**< speed of training steps, which have no padding */
    double loss_g;            /**< Gaussian regularizer, mean over the last epoch, before lambda */
    double loss_d;            /**< Dirichlet regularizer, mean over the last epoch, before lambda */
    bool early_stopped;       /**< patience ran out before the last epoch */
    /** Upper bound of the divergence of any two texts, seen or not, at order 1.1, in nats
     * (nvdp_renyi_sequence_bound()); +inf if nothing is proven. */
    double bound;
    /** Proven epsilon of the mechanism over all texts (nvdp_model_certificate()), at certified_delta, for
     * certified_releases samples per text; +inf if nothing is proven. */
    double certified_epsilon;
    double certified_delta;    /**< the option certified-delta */
    size_t certified_releases; /**< the option certified-releases */
    double certified_right;    /**< nvdp_certificate.right; 1 if nothing is proven */
    double score_seconds;      /**< time of validation and final score; `seconds` excludes it */
};

/** Trains and scores a model and writes the run directory. The option "resume" continues a run that was cancelled or
 * killed. The result of a resumed run has the same bits, for the same number of threads.
 *
 * nvdp_train_plan() estimates memory, and nvdp_train_plan_measured() time, too. A step allocates no memory.
 *
 * The options are of kind "train"; nvdp_config_option() describes each option. Some values imply values of other
 * options, unless these are set:
 *
 * - method "reg": dropout and classifier-dropout 0.1, weight-decay 0.01, decay-to pretrained;
 * - regularizer "kl": kl-schedule warmup, kl-delay 0.2 and kl-ramp 0.5. At full weight from the first step, the
 *   exact divergence would overwhelm an untrained classifier.
 * @param ctx    reports progress, records messages, can cancel
 * @param config of kind "train". With "resume", options that affect the result must equal those of the
 *               run if they are set; other options take effect
 * @param out    must not be NULL; the result of an earlier call is freed; untouched on error
 * @return NVDP_ERR_ARGUMENT for options out of range and a directory that is not empty; NVDP_ERR_INPUT and
 *         NVDP_ERR_IO for data and checkpoint; NVDP_ERR_NUMERIC if the loss diverges; NVDP_ERR_CANCELLED after
 *         saving the state; NVDP_ERR_MEMORY */
nvdp_status nvdp_train(struct nvdp_context *ctx, const struct nvdp_config *config,
                       struct nvdp_train_result *out);

/** Privacy of a model's training for the training texts, freed with nvdp_result_free(). */
struct nvdp_training_privacy {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    /** The model was trained with differential privacy. If false, the members below are 0 or NULL. */
    bool is_private;
    bool finished;      /**< the training has ended */
    bool seeded;        /**< the noise came from a seed: whoever knows the seed can remove it */
    bool delta_default; /**< delta was not set: half of 1/N */
    uint64_t examples;  /**< N, which is public */
    double clip;        /**< C; +inf without a clip */
    /** Noise multiplier, sampling probability, number of planned steps. Epsilon counts all planned steps, because the
     * model may decide when training stops, and which state is kept. */
    struct nvdp_dp_steps steps;
    struct nvdp_account *account; /**< epsilon at delta, under zero-out adjacency (account.h) */
    /** Risk of one example, with guesses at baselines 1/2 and 1/1000. */
    struct nvdp_example_risk *risk;
    uint64_t steps_done; /**< number of steps that were done; 0 if unknown */
};

/** Reads how the model in a directory was trained, and recomputes the privacy of the training. Includes a private
 * vocabulary of the same texts, and the private training of the initial model if it read the same texts. For a run,
 * training of the initial model on other texts does not count. Takes half a second; see nvdp_example_risk().
 * @param ctx       records messages
 * @param directory a run of nvdp_train() or nvdp_pretrain(), or a model that nvdp_pretrain() wrote
 * @param out       untouched on error
 * @param statement the guarantee in words (nvdp_account_statement()); set to NULL if training was not private; the
 *                  caller frees it with free(). May be NULL
 * @return NVDP_ERR_IO and NVDP_ERR_INPUT for files; NVDP_ERR_ARGUMENT for recorded numbers that are out of range;
 *         NVDP_ERR_MEMORY */
nvdp_status nvdp_training_privacy(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp_training_privacy *out, char **statement);

/** Checks that model and data exist and fit the options. Reads no text and no weight.
 * @param ctx    records messages
 * @param config of kind "train"; does not repeat the checks of nvdp_config_check()
 * @return NVDP_ERR_IO for files that cannot be read; NVDP_ERR_INPUT and NVDP_ERR_ARGUMENT if the model does not fit */
nvdp_status nvdp_train_check(struct nvdp_context *ctx, const struct nvdp_config *config);

/** Size of nvdp_train_plan.repeats. */
#define NVDP_REPEATS_SIZE 400

/** Size and time of a run. */
struct nvdp_train_plan {
    size_t struct_size;       /**< NVDP_RESULT() sets it */
    size_t train_texts;       /**< number of training texts */
    size_t validation_texts;  /**< number of texts that select the epoch */
    size_t test_texts;        /**< number of texts of the dev file */
    size_t parameters;        /**< number of trained parameters */
    size_t frozen_parameters; /**< number of parameters of frozen layers */
    uint64_t steps;           /**< number of steps of all epochs */
    /** Size in the cache of the frozen layers' states, for all texts that are read in every epoch. */
    size_t prefix_bytes;
    size_t memory_bytes; /**< parameters, optimizer state and activations */
    /** Duration of a training step. This and the other times are from nvdp_train_plan_measured(), else NaN. */
    double step_seconds;
    double train_seconds; /**< duration of all training steps */
    double score_seconds; /**< duration of validation and of the final score */
    /** Duration of computing the frozen layers' states once; 0 without frozen layers. */
    double prefix_seconds;
    /** Duration of the base run that base-epochs adds; 0 without a base run. The members above, except memory_bytes,
     * exclude the base run. */
    double base_seconds;
    /** Largest number of rows of one text in the train and dev files together, for a run with certified-epsilon,
     * certified-guess or word-epsilon; 0 for other runs. Texts are equal if their tokens are equal. */
    size_t repeat_rows;
    /** Epsilon of these rows together, with one sample per row, at certified-delta. If only word-epsilon bounds texts,
     * epsilon for one word at word-delta. NaN if `repeat_rows` is 0. */
    double repeat_epsilon;
    /** States how often texts repeat in these files, the epsilon of the repeated rows, and whether nvdp_export()
     * refuses them; "" if no text repeats. */
    char repeats[NVDP_REPEATS_SIZE];
};

/** Plans a run: reads data and checkpoint, and computes sizes. Trains and writes nothing.
 * @param ctx      records messages
 * @param config   of kind "train"
 * @param resolved the configuration with zeros and "auto" resolved for the model, freed with nvdp_config_free(); may
 *                 be NULL
 * @param out      the plan
 * @return as nvdp_train() */
nvdp_status nvdp_train_plan(struct nvdp_context *ctx, const struct nvdp_config *config,
                            struct nvdp_config **resolved, struct nvdp_train_plan *out);

/** Plans a run and measures its time: trains a few steps and scores a few texts, for some seconds, and discards the
 * results. Times stay NaN if the machine has less memory than the run needs. Times of the first steps are scaled by
 * tokens, so that text lengths count.
 * @param ctx      records messages
 * @param config   as in nvdp_train_plan()
 * @param resolved as in nvdp_train_plan()
 * @param out      the plan with its times
 * @return as nvdp_train() */
nvdp_status nvdp_train_plan_measured(struct nvdp_context *ctx, const struct nvdp_config *config,
                                     struct nvdp_config **resolved, struct nvdp_train_plan *out);

NVDP_END_DECLS
#endif
