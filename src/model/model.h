/* The model, internal: encoder + bottleneck + head over one parameter vector and one arena.
 *
 * build -> (initialise | load weights) -> plan -> forward / backward.  Planning again for larger
 * batches replaces the arena. */
#ifndef NVDP_SRC_MODEL_MODEL_H
#define NVDP_SRC_MODEL_MODEL_H

#include "base/cache.h"
#include "mechanism/mechanism.h"
#include "model/noise.h"
#include <jansson.h>
#include <nvdp/model.h>

struct nvdp__prefix;

/* What config.json says beyond BERT, under the key "nvdp". */
struct nvdp__model_info {
    struct nvdp_bert_config bert;
    enum nvdp_method method;
    struct nvdp__nvib_config nvib;    /* resolved; meaningful for private methods */
    struct nvdp_task task;            /* labels owned by the model */
    struct nvdp_task_options columns; /* of a "tsv" task; owned by the model */
    size_t max_length;
    size_t outputs;
    size_t parameters;    /* elements */
    char fingerprint[65]; /* SHA-256 of model.safetensors */
};

struct nvdp_model {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__model_info info;
    struct nvdp_tokenizer *tokenizer; /* NULL for a model built in memory */
    struct nvdp__params params;
    struct nvdp__bert bert;
    struct nvdp__bottleneck bottleneck;
    size_t above; /* the first tensor above the encoder: the bottleneck's, or the classifier's */
    struct nvdp__dense classifier;
    bool per_example;     /* before the plan: gradients of each text alone (tensor/per_example.h) */
    size_t frozen_layers; /* the embeddings and so many layers are never trained; 0: all are */
    char frozen[NVDP__DIGEST_HEX]; /* digest of their weights, once asked for */
    const double *class_weight;    /* borrowed: of each class in the loss; NULL: all 1 */
    struct nvdp__prefix *prefix; /* borrowed: gives the frozen layers' states; NULL: they are run */
    struct nvdp__token_noise *noise; /* borrowed: what texts become before they are read; NULL */
    struct nvdp__bert_cache cache;
    struct nvdp__arena arena;
    char *owned_text; /* backing of task and column names in info */
    const char **owned_labels;
    /* planned */
    bool training;
    size_t max_tokens, max_texts, longest;
    float *head_input; /* [nvdp__model_heads, width] pooled after dropout, or words' states */
    float *logits;     /* [nvdp__model_heads, outputs] */
    float *d_logits, *d_pooled, *d_hidden;
    double *loss_g, *loss_d; /* host [max_texts] */
};

/* What a training step weighs and reports. */
struct nvdp__step_losses {
    double task;   /* mean over texts */
    double loss_g; /* mean over texts, before lambda */
    double loss_d;
};

/* Declares and allocates the parameters for info (bert, method, nvib resolved, outputs); values are
 * zero until initialised or loaded. */
nvdp_status nvdp__model_build(struct nvdp_context *ctx, const struct nvdp__model_info *info,
                              bool with_grad, struct nvdp_model **out);
/* Fixes the embeddings and the first `layers` layers (1 to all of them): no gradients, no updates.
 * Before the optimiser and the plan are made.  info.parameters counts what is left. */
nvdp_status nvdp__model_freeze(struct nvdp_model *model, size_t layers);
/* Fixes the word embeddings alone, likewise. */
void nvdp__model_freeze_words(struct nvdp_model *model);
/* Random encoder and classifier; the bottleneck is initialised by
 * nvdp__model_initialise_bottleneck, after the encoder's weights are in place. */
void nvdp__model_initialise(struct nvdp_model *model, uint64_t seed);
/* What a checkpoint may lack: the pooler, the classifier. */
void nvdp__model_initialise_head(struct nvdp_model *model, uint64_t seed);
void nvdp__model_initialise_classifier(struct nvdp_model *model, uint64_t seed);
/* Where the mechanism wants them, from the encoder's outputs on the data set's first texts in
 * epoch-0 order; that needs a plan.  dataset NULL: from no texts, at random in their place. */
nvdp_status nvdp__model_initialise_bottleneck(struct nvdp_model *model,
                                              const struct nvdp_dataset *dataset, uint64_t seed);
/* Activations for batches of at most `texts` texts of at most `longest` tokens. */
nvdp_status nvdp__model_plan(struct nvdp_model *model, size_t texts, size_t longest, bool training);
/* Floats of activations such a plan takes, without allocating them. */
nvdp_status nvdp__model_plan_size(struct nvdp_model *model, size_t texts, size_t longest,
                                  bool training, size_t *floats);

/* Where a pass begins: after the frozen layers where the model has a prefix. */
size_t nvdp__model_first_layer(const struct nvdp_model *model);
/* model->logits [texts, outputs]. */
nvdp_status nvdp__model_forward(struct nvdp_model *model, const struct nvdp__batch *batch,
                                const struct nvdp__pass *pass, const struct nvdp__draw *draw,
                                float classifier_dropout);
/* The posterior alone, for the mechanism's `posterior`: nothing is drawn, nothing sealed is run. */
nvdp_status nvdp__model_infer(struct nvdp_model *model, const struct nvdp__batch *batch);
/* Of the last batch's texts into rows [first_row, ...) of out. */
nvdp_status nvdp__model_posterior(const struct nvdp_model *model, size_t first_row,
                                  struct nvdp_posteriors *out);
/* The number of the last batch's texts with a posterior of which numbers were replaced, as they were not finite
 * (nvib/clip.c); and the warning for the owner, if there are such texts. */
size_t nvdp__model_replaced(const struct nvdp_model *model);
void nvdp__model_warn_replaced(const struct nvdp_model *model, size_t replaced, size_t texts);
/* Task loss and gradients of L_task + weight_g mean(L_G) + weight_d mean(L_D), added to
 * params.grad.  After nvdp__model_forward with the same batch, pass and draw. */
nvdp_status nvdp__model_backward(struct nvdp_model *model, const struct nvdp__batch *batch,
                                 const struct nvdp__pass *pass, double weight_g, double weight_d,
                                 float classifier_dropout, struct nvdp__step_losses *losses);
/* For per-example gradients of a model that was planned with `per_example` (tensor/per_example.h), in batches of at
 * most `texts`: to become its device's. */
nvdp_status nvdp__model_per_example(struct nvdp_model *model, size_t texts,
                                    struct nvdp__per_example **out);
/* What a private model's posteriors and samples are made of. */
struct nvdp__form nvdp__model_form(const struct nvdp_model *model);
/* What is the same for every text of its posteriors: prior, padding, kappa, length, method. */
void nvdp__model_describe(const struct nvdp_model *model, struct nvdp_posteriors *posteriors);
/* How many rows a batch's head has: its texts, or with tags its words. */
size_t nvdp__model_heads(const struct nvdp_model *model, const struct nvdp__batch *batch);
/* Host logits of the last forward. */
void nvdp__model_logits(const struct nvdp_model *model, size_t rows, float *out);
/* Draw for evaluation number `draw` under `seed`. */
struct nvdp__draw nvdp__draw_evaluation(uint64_t seed, uint32_t draw);

/* Without what model->noise adds: out [texts, H], the last states of first tokens. */
nvdp_status nvdp__model_first_states(struct nvdp_model *model, const struct nvdp_dataset *dataset,
                                     size_t batch, double *out);
/* nvdp_model_predict for draws first_draw, +1, ... : outputs [draws, N, outputs], N as
 * nvdp__dataset_outputs. */
nvdp_status nvdp__model_predict(struct nvdp_model *model, const struct nvdp_dataset *dataset,
                                size_t batch, uint64_t seed, uint32_t first_draw, size_t draws,
                                float *outputs);

/* Writes DIR: config.json with the "nvdp" object, the tokenizer's files (copied from
 * vocabulary_from), weights. */
nvdp_status nvdp__model_save(const struct nvdp_model *model, const char *directory,
                             const char *vocabulary_from);
/* Reads DIR/config.json's "nvdp" object into info; NVDP_ERR_INPUT where there is none. Strings are
 * owned by *owned and *labels (free() both). */
nvdp_status nvdp__model_info_read(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp__model_info *info, char **owned,
                                  const char ***labels);

/* Options of training and commands, by what they remedy (certificate.c). */
extern const struct nvdp__remedies nvdp__remedies;
/* The limits of a method's posteriors for every text and all weights (certificate.c).  The configuration is resolved. */
struct nvdp_limits nvdp__method_limits(enum nvdp_method method,
                                       const struct nvdp__nvib_config *config);

/* ---- prefix.c: the frozen part of an encoder; what it makes of a text never changes ---- */

struct nvdp__prefix_store;

struct nvdp__prefix {
    struct nvdp_model *model; /* frozen and, whenever it is used, planned */
    size_t layers;
    struct nvdp__device dev;          /* the model's, with rowwise products in float32 */
    struct nvdp__prefix_store *store; /* NULL: computed each time */
    float *row;                       /* host, with a store: room for its longest text */
};

/* Of a model with frozen layers, whose weights are in place: their digest. */
nvdp_status nvdp__prefix_digest(struct nvdp_model *model, const char **hex);
/* For a model with frozen layers. */
nvdp_status nvdp__prefix_create(struct nvdp_model *model, struct nvdp__prefix **out);
void nvdp__prefix_free(struct nvdp__prefix *prefix); /* NULL allowed */

/* Keeps the states of all texts of `dataset`, which must outlive the prefix, in a file of
 * `directory`; makes it where it is not there, `batch` texts at a time.  One process makes it, the
 * others wait.  Where it cannot be kept (no room, say) a notice tells, and states are computed. */
nvdp_status nvdp__prefix_keep(struct nvdp__prefix *prefix, const char *directory,
                              const struct nvdp_dataset *dataset, size_t batch);
/* Bytes of such a file. */
size_t nvdp__prefix_bytes(const struct nvdp_bert_config *bert, const struct nvdp_dataset *dataset);

/* The states of the batch's texts into the model's cache. */
nvdp_status nvdp__prefix_fill(struct nvdp__prefix *prefix, const struct nvdp__batch *batch);

#endif
