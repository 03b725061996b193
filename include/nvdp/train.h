/* Training: one call from a configuration to a run directory (docs/formats.md). */
#ifndef NVDP_TRAIN_H
#define NVDP_TRAIN_H

#include <nvdp/export.h>
#include <nvdp/model.h>
#include <nvdp/precision.h>

NVDP_BEGIN_DECLS

enum nvdp_protocol {
    NVDP_PROTOCOL_HOLDOUT, /* select on a fixed tenth of train; test = the dev file */
    NVDP_PROTOCOL_DEV      /* select on the dev file itself (optimistic; said in every report) */
};
const char *nvdp_protocol_name(enum nvdp_protocol protocol); /* "holdout", "dev" */

/* Weight s_t of the regularisers over training. */
enum nvdp_kl_schedule { NVDP_KL_CONSTANT, NVDP_KL_WARMUP, NVDP_KL_DECAY };

/* What weight decay pulls towards. */
enum nvdp_decay_to {
    NVDP_DECAY_TO_ZERO,
    NVDP_DECAY_TO_PRETRAINED /* the checkpoint's value; 0 for what the checkpoint lacks, such as
                                the classifier */
};

struct nvdp_train_config {
    const char *task;  /* "sst2", ..., "tsv" */
    const char *data;  /* folder with train.tsv, dev.tsv */
    const char *model; /* Hugging Face directory to start from */
    const char *out;   /* run directory */
    struct nvdp_task_options columns;
    enum nvdp_method method;
    struct nvdp_nvib_config nvib; /* length 0: max_length */
    double lambda_g, lambda_d;
    enum nvdp_kl_schedule kl_schedule;
    double kl_delay; /* warm-up: fraction of the steps with weight 0 */
    double kl_ramp;  /* warm-up: fraction over which the weight rises to 1 */
    size_t epochs, batch, max_length;
    double lr, weight_decay, warmup, clip_norm, beta1, beta2, adam_eps;
    /* Decay is apart from the gradient, as in AdamW: a step at rate lr moves the weights w of
     * matrices and embeddings, not biases and LayerNorm, by -lr weight_decay (w - w0).  That is a
     * step down the penalty lambda |w - w0|^2 with lambda = weight_decay / 2, for each weight
     * alike: in the gradient, Adam would divide it by the size of the weight's gradients, and
     * clipping would shrink it with them. */
    enum nvdp_decay_to decay_to;
    double dropout; /* hidden and attention dropout; negative: the checkpoint's */
    double classifier_dropout;
    /* The embeddings and so many of the first layers keep the checkpoint's weights and run without
     * dropout; 0: everything is trained. */
    size_t freeze_layers;
    /* Folder that keeps tokenized files and the frozen layers' states between runs
     * (docs/formats.md, Cache); NULL: none.  In float32, on one kind of processor, no result
     * depends on it, and run.json does not name it. */
    const char *cache;
    bool recompute_prefix; /* frozen layers' states are computed in each step, not kept */
    size_t patience;       /* epochs without improvement before stopping; 0: never */
    enum nvdp_protocol protocol;
    double holdout; /* fraction of train for validation, 0.1 */
    size_t eval_batch;
    size_t eval_draws;  /* noise draws of the final test score */
    size_t limit_train; /* 0: all */
    bool skip_bad_rows;
    enum nvdp_precision precision; /* where bf16 is not to be had: f32, with a notice */
    uint64_t seed;
    size_t log_every;          /* steps between lines in metrics.jsonl */
    double checkpoint_seconds; /* between saved states inside an epoch */
    bool resume;               /* continue `out` (its run.json is the configuration) */
    bool overwrite;            /* empty a non-empty `out` first */
};
struct nvdp_train_config nvdp_train_config_default(void);
/* Sets the defaults that follow from config->method and config->nvib.regularizer; to be called when
 * these two are set, before anything else is.
 * - method reg: dropout and classifier_dropout 0.1, weight_decay 0.01, decay_to pretrained;
 * - regulariser kl: kl_schedule warm-up, kl_delay 0.2, kl_ramp 0.5.  At full weight from the first
 *   step it overwhelms an untrained classifier, and the posterior collapses to the prior. */
void nvdp_train_config_imply(struct nvdp_train_config *config);
/* One pass over the fields; names the field, the value, the allowed range. */
nvdp_status nvdp_train_config_check(struct nvdp_context *ctx,
                                    const struct nvdp_train_config *config);

struct nvdp_scores {
    int metrics;
    enum nvdp_metric metric[2];
    double mean[2];
    double sd[2];    /* over draws; 0 for one */
    double majority; /* accuracy of always saying the most frequent class; NaN for regression */
    size_t n, draws;
};

struct nvdp_train_result {
    size_t epochs_run, best_epoch; /* 1-based */
    uint64_t steps;
    double best_validation;  /* of the selecting metric */
    struct nvdp_scores test; /* the dev file, fresh noise */
    double seconds, tokens_per_second;
    double loss_g, loss_d; /* mean over the last epoch, before lambdas */
    bool early_stopped;
};

/* What --dry-run prints. */
struct nvdp_train_plan {
    size_t train_texts, validation_texts, test_texts;
    size_t parameters; /* trained */
    size_t frozen_parameters;
    uint64_t steps;
    size_t prefix_bytes;          /* of the frozen layers' states of all texts that are looked at
                                     in every epoch */
    size_t memory_bytes;          /* parameters, optimiser, activations */
    struct nvdp_nvib_config nvib; /* zeros and `auto` resolved for the model and max_length */
};
nvdp_status nvdp_train_plan(struct nvdp_context *ctx, const struct nvdp_train_config *config,
                            struct nvdp_train_plan *out);
/* The resolved configuration as a JSON object; free(). */
nvdp_status nvdp_train_config_json(struct nvdp_context *ctx, const struct nvdp_train_config *config,
                                   char **out);

/* Trains.  Stops on NaN with NVDP_ERR_NUMERIC; on cancel saves the state and returns
 * NVDP_ERR_CANCELLED; a killed run continues with resume to the same result bit for bit (same
 * thread count). */
nvdp_status nvdp_train(struct nvdp_context *ctx, const struct nvdp_train_config *config,
                       struct nvdp_train_result *out);

NVDP_END_DECLS
#endif
