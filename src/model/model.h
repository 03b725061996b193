/* The model (internal): encoder, bottleneck and head over one parameter vector and one arena.
 *
 * build -> (initialize | load weights) -> plan -> forward / backward. A second plan for larger
 * batches replaces the arena. */
#ifndef NVDP_SRC_MODEL_MODEL_H
#define NVDP_SRC_MODEL_MODEL_H

#include "base/array.h"
#include "base/cache.h"
#include "mechanism/mechanism.h"
#include "model/noise.h"
#include "text/dataset.h"
#include <jansson.h>
#include <nvdp/encoder.h>
#include <nvdp/model.h>

struct nvdp__prefix;

/* The settings of config.json in addition to BERT's, under the key "nvdp". */
struct nvdp__model_info {
    struct nvdp_bert_config bert;
    enum nvdp_method method;
    struct nvdp__nvib_config nvib; /* "auto" options are resolved; meaningful for private methods */
    struct nvdp_task task;         /* the model owns the labels */
    struct nvdp__columns columns;  /* columns of a "tsv" task; owned by the model */
    size_t max_length;
    size_t outputs;
    size_t parameters;    /* number of elements of all parameters */
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
    /* first tensor above the encoder: a tensor of the bottleneck or of the classifier */
    size_t above;
    struct nvdp__dense classifier;
    /* set before the plan: true for per-example gradients (tensor/per_example.h) */
    bool per_example;
    /* the embeddings and this many layers are frozen; 0 if nothing is frozen */
    size_t frozen_layers;
    char frozen[NVDP__DIGEST_HEX]; /* digest of the frozen weights; "" until first requested */
    /* weight per class in the loss, not owned; NULL if all weights are 1 */
    const double *class_weight;
    /* source of the states of the frozen layers, not owned; NULL if the states are computed */
    struct nvdp__prefix *prefix;
    /* noise that replaces texts before encoding, not owned; NULL if there is none */
    struct nvdp__token_noise *noise;
    struct nvdp__bert_cache cache;
    struct nvdp__arena arena;
    char *owned_text; /* memory of task and column names in info */
    const char **owned_labels;
    /* set by the plan */
    bool training;
    size_t max_tokens, max_texts, longest;
    /* [nvdp__model_heads(), width] pooled vectors after dropout, or states of words */
    float *head_input;
    float *logits; /* [nvdp__model_heads(), outputs] */
    float *d_logits, *d_pooled, *d_hidden;
    double *loss_g, *loss_d; /* host [max_texts] */
    struct nvdp__memory losses;
};

/* The terms of the loss that a training step weights and reports. */
struct nvdp__step_losses {
    double task;   /* mean over texts */
    double loss_g; /* mean over texts, before multiplication by lambda */
    double loss_d;
};

/* Declares and allocates the parameters for info (bert, method, nvib resolved, outputs); values are zero until
 * initialized or loaded. Without layers (bert.num_hidden_layers 0), the model has no encoder, and
 * nvdp__model_infer() takes the states from batch->words. */
nvdp_status nvdp__model_build(struct nvdp_context *ctx, const struct nvdp__model_info *info,
                              bool with_grad, struct nvdp_model **out);
/* Freezes the embeddings and the first `layers` layers (1 to all): they get no gradients and no updates. To be
 * called before the optimizer and the plan are made. info.parameters then counts the remaining parameters. */
nvdp_status nvdp__model_freeze(struct nvdp_model *model, size_t layers);
/* Freezes only the word embeddings, under the same conditions. */
void nvdp__model_freeze_words(struct nvdp_model *model);
/* Initializes encoder and classifier at random. nvdp__model_initialise_bottleneck() initializes the bottleneck,
 * after the encoder has its weights. */
void nvdp__model_initialise(struct nvdp_model *model, uint64_t seed);
/* Initializes the parts that a checkpoint may lack: the pooler and the classifier. */
void nvdp__model_initialise_head(struct nvdp_model *model, uint64_t seed);
void nvdp__model_initialise_classifier(struct nvdp_model *model, uint64_t seed);
/* Initializes the bottleneck. Mechanisms that need hidden states use the encoder's outputs on the first texts of the
 * data set in the order of epoch 0, which requires a plan. If dataset is NULL, such mechanisms are initialized at
 * random. */
nvdp_status nvdp__model_initialise_bottleneck(struct nvdp_model *model,
                                              const struct nvdp_dataset *dataset, uint64_t seed);
/* Allocates the activations for batches of up to `texts` texts of up to `longest` tokens. */
nvdp_status nvdp__model_plan(struct nvdp_model *model, size_t texts, size_t longest, bool training);
/* Returns the number of floats of activations that such a plan needs, without allocating them. */
nvdp_status nvdp__model_plan_size(struct nvdp_model *model, size_t texts, size_t longest,
                                  bool training, size_t *floats);

/* Returns the layer at which a pass begins: the first layer above the frozen layers if the model has a prefix, else
 * 0. */
size_t nvdp__model_first_layer(const struct nvdp_model *model);
/* Writes model->logits [texts, outputs]. */
nvdp_status nvdp__model_forward(struct nvdp_model *model, const struct nvdp__batch *batch,
                                const struct nvdp__pass *pass, const struct nvdp__draw *draw,
                                float classifier_dropout);
/* Computes only the posterior, in the mechanism's `posterior`: draws no noise and skips the sealed part. */
nvdp_status nvdp__model_infer(struct nvdp_model *model, const struct nvdp__batch *batch);
/* Copies the posteriors of the last batch's texts to rows [first_row, ...) of out. */
nvdp_status nvdp__model_posterior(const struct nvdp_model *model, size_t first_row,
                                  struct nvdp_posteriors *out);
/* nvdp__model_replaced() returns the number of texts in the last batch whose posterior had non-finite numbers, which
 * were replaced (nvib/clip.c). nvdp__model_warn_replaced() warns the owner if there are such texts. */
size_t nvdp__model_replaced(const struct nvdp_model *model);
void nvdp__model_warn_replaced(const struct nvdp_model *model, size_t replaced, size_t texts);
/* Computes the task loss and adds the gradients of L_task + weight_g mean(L_G) + weight_d mean(L_D) to params.grad.
 * To be called after nvdp__model_forward() with the same batch, pass and draw. */
nvdp_status nvdp__model_backward(struct nvdp_model *model, const struct nvdp__batch *batch,
                                 const struct nvdp__pass *pass, double weight_g, double weight_d,
                                 float classifier_dropout, struct nvdp__step_losses *losses);
/* Creates the per-example gradients of a model that was planned with `per_example` (tensor/per_example.h), for
 * batches of up to `texts` texts. The caller gives the result to the device. */
nvdp_status nvdp__model_per_example(struct nvdp_model *model, size_t texts,
                                    struct nvdp__per_example **out);
/* Returns the layout of a private model's posteriors and samples. */
struct nvdp__form nvdp__model_form(const struct nvdp_model *model);
/* Fills in the values that are the same for all posteriors: prior, padding, kappa, length,
 * method. */
void nvdp__model_describe(const struct nvdp_model *model, struct nvdp_posteriors *posteriors);
/* Returns the number of rows of the head for a batch: the number of texts, or of words for tagging tasks. */
size_t nvdp__model_heads(const struct nvdp_model *model, const struct nvdp__batch *batch);
/* Copies the logits of the last forward pass to the host. */
void nvdp__model_logits(const struct nvdp_model *model, size_t rows, float *out);
/* Returns the draw number `draw` of an evaluation under `seed`. */
struct nvdp__draw nvdp__draw_evaluation(uint64_t seed, uint32_t draw);

/* Writes the last states of first tokens to out [texts, H], without the noise of model->noise. */
nvdp_status nvdp__model_first_states(struct nvdp_model *model, const struct nvdp_dataset *dataset,
                                     size_t batch, double *out);
/* Computes the classifier's outputs for every text, for draws first_draw, first_draw + 1, ...; each output comes
 * from one sample with fresh noise. outputs [draws, N, outputs], with N of nvdp__dataset_outputs(), are logits, or
 * the value of the regression. Results depend on the seed, the draw and the index of the text in its data set, but
 * not on batches or threads. The seed is unused for methods without a bottleneck. Fails with NVDP_ERR_ARGUMENT for a
 * text longer than the bottleneck's length. */
nvdp_status nvdp__model_predict(struct nvdp_model *model, const struct nvdp_dataset *dataset,
                                size_t batch, uint64_t seed, uint32_t first_draw, size_t draws,
                                float *outputs);

/* Writes a model to DIR: config.json with the "nvdp" object, the files of the tokenizer (copied from
 * vocabulary_from), and the weights. */
nvdp_status nvdp__model_save(const struct nvdp_model *model, const char *directory,
                             const char *vocabulary_from);
/* Reads the "nvdp" object of DIR/config.json into info; fails with NVDP_ERR_INPUT if there is none. *owned and
 * *labels own the strings; the caller frees each with free(). */
nvdp_status nvdp__model_info_read(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp__model_info *info, char **owned,
                                  const char ***labels);

/* The options of training and commands, by the problem that they solve (certificate.c). */
extern const struct nvdp__remedies nvdp__remedies;
/* Returns the limits of a method's posteriors for every text and all weights (certificate.c). "auto" options of the
 * configuration must be resolved. */
struct nvdp_limits nvdp__method_limits(enum nvdp_method method,
                                       const struct nvdp__nvib_config *config);

/* ---- prefix.c: the frozen part of an encoder, whose states for a text never change ---- */

struct nvdp__prefix_store;

struct nvdp__prefix {
    struct nvdp_model *model; /* frozen layers; planned before each use */
    size_t layers;
    struct nvdp__device dev;          /* device of the model, with rowwise products in float32 */
    struct nvdp__prefix_store *store; /* NULL if the states are computed each time */
    float *row;                       /* host buffer for the longest text of the store */
};

/* Returns the digest of the frozen weights, which must be loaded. */
nvdp_status nvdp__prefix_digest(struct nvdp_model *model, const char **hex);
/* Creates a prefix; the model must have frozen layers. */
nvdp_status nvdp__prefix_create(struct nvdp_model *model, struct nvdp__prefix **out);
void nvdp__prefix_free(struct nvdp__prefix *prefix); /* NULL is allowed */
NVDP__AUTOPTR(struct nvdp__prefix, nvdp__prefix_free)

/* Keeps the states of all texts of `dataset`, which must outlive the prefix, in a file of `directory`. If the file
 * does not exist, one process writes it, `batch` texts at a time, and the other processes wait. If the file cannot
 * be kept, for example because the disk is full, a notice is logged and the states are computed in each step. */
nvdp_status nvdp__prefix_keep(struct nvdp__prefix *prefix, const char *directory,
                              const struct nvdp_dataset *dataset, size_t batch);
/* Returns the size of the file of nvdp__prefix_keep() in bytes. */
size_t nvdp__prefix_bytes(const struct nvdp_bert_config *bert, const struct nvdp_dataset *dataset);

/* Writes the states of the batch's texts into the model's cache. */
nvdp_status nvdp__prefix_fill(struct nvdp__prefix *prefix, const struct nvdp__batch *batch);

/* Opens an encoder and describes it. `settings` are names and values of the encoder's options, ended by NULL. */
nvdp_status nvdp__encoder_open(struct nvdp_context *ctx, const char *const *settings,
                               struct nvdp_encoder **out, struct nvdp_encoder_info *info);

/* Returns the limits of a model's mechanism, including its trained standard deviations.
 * ctx: records messages
 * model: a loaded model
 * out: made with NVDP_RESULT(); `noise` is false for a method without noise
 * Returns NVDP_OK, or NVDP_ERR_ARGUMENT if `out` has no struct_size */
nvdp_status nvdp__model_limits(struct nvdp_context *ctx, const struct nvdp_model *model,
                               struct nvdp_limits *out);

#endif
