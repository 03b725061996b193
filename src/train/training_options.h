/* The options of training: the plain struct that the table of training_options.c fills. */
#ifndef NVDP_SRC_TRAIN_TRAINING_OPTIONS_H
#define NVDP_SRC_TRAIN_TRAINING_OPTIONS_H

#include "job/dp.h"
#include "job/optimizer.h"
#include "job/options.h"
#include "mechanism/bottleneck_options.h"
#include "model/noise.h"
#include "text/dataset.h"
#include <nvdp/train.h>

enum nvdp_protocol {
    NVDP_PROTOCOL_HOLDOUT, /* select on a fixed tenth of train, test on the dev file */
    NVDP_PROTOCOL_DEV      /* select and test on the dev file (optimistic; noted in every report) */
};
extern const char *const nvdp__protocol_names[];

/* Schedule of the regularizers' weight s_t over training. */
enum nvdp__kl_schedule { NVDP__KL_CONSTANT, NVDP__KL_WARMUP, NVDP__KL_DECAY };
extern const char *const nvdp__kl_schedule_names[];

/* The values towards which weight decay pulls. */
enum nvdp__decay_to {
    NVDP__DECAY_TO_ZERO,
    NVDP__DECAY_TO_PRETRAINED /* the checkpoint's value; 0 for tensors that the checkpoint lacks,
                               * such as the classifier */
};

/* The aim of training: a task, or, without one, to keep the geometry of an encoder's embeddings (vib/vib.h). */
enum nvdp__train_objective { NVDP__TRAIN_TASK, NVDP__TRAIN_DISTILL };

/* The epoch whose model is kept. */
enum nvdp__select { NVDP__SELECT_BEST, NVDP__SELECT_LAST };

struct nvdp__train_options {
    const char *preset; /* preset of the options that were not given, for the record */
    const char *task;   /* "sst2", ..., "tsv" */
    const char *data, *model, *out;
    enum nvdp__train_objective objective;
    const char *input;                 /* distill: public texts */
    double temperature, cosine_weight; /* distill: parameters of the loss */
    const char *representations;       /* file that replaces data's texts; NULL if there is none */
    const char *from_base; /* run of base or reg to start from; NULL to start from `model` */
    size_t base_epochs;    /* epochs of a base run that is trained first; 0 if there is none */
    struct nvdp__columns columns;
    /* Index into nvdp__encoder_choices (encoder/row.h); 0 for the model's encoder. */
    int encoder;
    size_t lstm_hidden; /* units per direction */
    size_t word_layers; /* lower layers over windows of words */
    struct nvdp__token_noise_options noise;
    bool freeze_words;
    enum nvdp_method method;
    struct nvdp__nvib_config nvib; /* length 0 means max_length */
    /* Budget for the bottleneck; epsilon is 0 without a budget. */
    double certified_epsilon, certified_delta;
    size_t certified_releases;
    const char *certified_guess;     /* "B:P"; NULL if there is none */
    double word_epsilon, word_delta; /* budget per word; epsilon is 0 without a budget */
    double lambda_g, lambda_d;
    enum nvdp__kl_schedule kl_schedule;
    double kl_delay, kl_ramp; /* warm-up: shares of the steps */
    size_t epochs, batch, max_length;
    struct nvdp__dp_options dp;
    enum nvdp__select select;
    enum nvdp__optimizer_kind optimizer; /* ADAMW or SGD */
    double momentum;
    struct nvdp__adamw_options adamw; /* adamw.lr is the learning rate of the encoder */
    double lr_bottleneck, lr_head;    /* negative values mean adamw.lr */
    enum nvdp__decay_to decay_to;
    double dropout; /* negative for the checkpoint's dropout */
    double classifier_dropout;
    size_t freeze_layers;
    /* Folder that keeps tokenized files and the frozen layers' states between runs
     * (docs/formats.md, Cache); NULL if there is none. In float32, on one kind of processor, no result
     * depends on it. */
    const char *cache;
    bool no_prefix_cache;
    size_t patience;
    enum nvdp_protocol protocol;
    double holdout;
    size_t eval_batch, eval_draws, limit_train, limit_dev, folds, fold;
    const char *class_weights; /* "none", "balanced", "1,2.5" */
    bool skip_bad_rows;
    enum nvdp_precision precision; /* f32, with a notice, if bf16 is not available */
    uint64_t seed;
    size_t log_every;
    double checkpoint_seconds;
    const char *resume; /* run directory to continue */
    bool overwrite;     /* empty a non-empty `out` first */
};
extern const struct nvdp__schema nvdp__train_schema;
struct nvdp__train_options nvdp__train_defaults(void);
/* Reads the options of a configuration and checks them. For a resumed run, the options of the run are checked later. */
nvdp_status nvdp__train_open(struct nvdp_context *ctx, const struct nvdp_config *config,
                             struct nvdp__train_options *out);
/* Sets the largest sequence clip that keeps the budgets, if there are any: mu = 2 C sqrt(S) for
 * certified-epsilon, nvdp_guess_clip() for certified-guess. Sets the largest clip of a
 * word's vector for word-epsilon (rdp/word.h). */
nvdp_status nvdp__train_calibrate(struct nvdp_context *ctx, struct nvdp__train_options *config);

/* A split of a finished run. */
struct nvdp__run_options {
    const char *run, *split, *data, *out, *input;
    const char *model, *text_column, *pair_column; /* for a linear reader (train/linear.h) */
    size_t limit, batch, draws;
    uint64_t seed;
    bool probabilities;
    /* Run.json if it was read before, else NULL; the caller owns it, no option sets it. */
    json_t *record;
};
extern const struct nvdp__schema nvdp__run_schema, nvdp__evaluate_schema, nvdp__predict_schema;

/* Returns true if the run was trained for a budget of a text, for all samples of the text together. */
bool nvdp__has_budget(const struct nvdp__train_options *config);
/* Do nvdp_train(), and nvdp_train_plan() or nvdp_train_plan_measured(), with a plain struct. The plan resolves the
 * struct. */
nvdp_status nvdp__train(struct nvdp_context *ctx, const struct nvdp__train_options *options,
                        struct nvdp_train_result *out);
nvdp_status nvdp__train_plan(struct nvdp_context *ctx, struct nvdp__train_options *options,
                             bool measured, struct nvdp_train_plan *out);

#endif
