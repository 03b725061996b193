/* Options that training and pretraining share. Some of them also apply to other trained models
 * (attack/reuse.c). */
#ifndef NVDP_SRC_JOB_OPTIONS_H
#define NVDP_SRC_JOB_OPTIONS_H

#include "options/rows.h"

/* AdamW and its schedule. Decay is decoupled from the gradient: a step at rate lr moves the
 * weights w of matrices and embeddings, but not biases and LayerNorm, by -lr weight_decay (w -
 * w0). This is a descent step on the penalty lambda |w - w0|^2 with lambda = weight_decay / 2,
 * equal for all weights. If decay were a part of the gradient, Adam would divide it by the size
 * of the weight's gradients, and clipping would shrink it. */
struct nvdp__adamw_options {
    double lr, warmup, weight_decay, clip_norm, beta1, beta2,
        adam_eps; /* clip_norm 0 turns clipping off */
};
/* Rows of the option table (options/rows.h). */
/* clang-format off */
#define NVDP__LR_ROW(help, lr_, ...)                                                               \
    {"lr", NVDP_OPTION_REAL, "X", help, lr_, .max = 10, .traits = NVDP_TRAIT_BASIC, __VA_ARGS__}
#define NVDP__WARMUP_ROW(warmup_, ...)                                                             \
    {"warmup", NVDP_OPTION_REAL, "X", "share of the steps in which the learning rate rises",     \
     warmup_, .max = 1, __VA_ARGS__}
#define NVDP__WEIGHT_DECAY_ROW(...)                                                                \
    {"weight-decay", NVDP_OPTION_REAL, "X", "decoupled weight decay", "0.01", .max = 10, __VA_ARGS__}
/* All rows of a struct that has the options as the member `adamw`. */
#define NVDP__ADAMW_ROWS(type, lr_help_, lr_, warmup_, eps_)                                       \
    NVDP__LR_ROW(lr_help_, lr_, NVDP_OPTION_AT(type, adamw.lr)),                                   \
    NVDP__WARMUP_ROW(warmup_, NVDP_OPTION_AT(type, adamw.warmup)),                                 \
    NVDP__WEIGHT_DECAY_ROW(NVDP_OPTION_AT(type, adamw.weight_decay)),                              \
    {"clip-norm", NVDP_OPTION_REAL, "X", "maximum norm of the gradient; 0: no clipping", "1",      \
     NVDP_OPTION_AT(type, adamw.clip_norm), .max = 1e9},                                           \
    {"beta1", NVDP_OPTION_REAL, "X", "Adam's first-moment decay rate", "0.9",                           \
     NVDP_OPTION_AT(type, adamw.beta1), .max = 0.999999},                                          \
    {"beta2", NVDP_OPTION_REAL, "X", "Adam's second-moment decay rate", "0.999",                        \
     NVDP_OPTION_AT(type, adamw.beta2), .max = 0.999999999},                                       \
    {"adam-eps", NVDP_OPTION_REAL, "X", "Adam's epsilon", eps_, NVDP_OPTION_AT(type, adamw.adam_eps), \
     .min = 1e-30, .max = 1}
#define NVDP__MOMENTUM_ROW(help, momentum_, ...)                                                   \
    {"momentum", NVDP_OPTION_REAL, "X", help, momentum_, .max = 0.999999, __VA_ARGS__}
#define NVDP__EPOCHS_ROW(epochs_, ...)                                                             \
    {"epochs", NVDP_OPTION_INTEGER, "N", "number of passes over the training texts", epochs_, .min = 1, .max = 10000, .traits = NVDP_TRAIT_BASIC, __VA_ARGS__}
#define NVDP__PATIENCE_ROW(patience_, ...)                                                         \
    {"patience", NVDP_OPTION_INTEGER, "N", "number of epochs without improvement after which training stops; 0: never stop early", \
     patience_, .unit = "epochs", __VA_ARGS__}
#define NVDP__FREEZE_LAYERS_ROW(help, ...)                                                         \
    {"freeze-layers", NVDP_OPTION_INTEGER, "K", help, "0", .unit = "layers", .max = 1024, __VA_ARGS__}
#define NVDP__PRECISION_ROW(...)                                                                   \
    {"precision", NVDP_OPTION_CHOICE, "P", "precision of matrix products: f32 or bf16", "f32", __VA_ARGS__}

/* Options of a run's folder: states, lines of metrics.jsonl, and the cache of `what`. */
#define NVDP__CACHE_ROW(what, ...)                                                                 \
    {"cache", NVDP_OPTION_TEXT, "DIR",                                                             \
     "folder that caches " what " between runs (default $XDG_CACHE_HOME/nvdp or ~/.cache/nvdp); "   \
     "the files reveal the texts",                                                               \
     NULL, __VA_ARGS__}
#define NVDP__RESUME_ROW(...)                                                                      \
    {"resume", NVDP_OPTION_TEXT, "RUN",                                                            \
     "continue the run in this directory with its own configuration", NULL,                        \
     .traits = NVDP_TRAIT_BASIC | NVDP__OF_THE_CALL, __VA_ARGS__}
#define NVDP__LOG_EVERY_ROW(...)                                                                   \
    {"log-every", NVDP_OPTION_INTEGER, "N", "number of steps between lines of metrics.jsonl", "50",          \
     .unit = "steps", .min = 1, .max = 1e9, .traits = NVDP_TRAIT_NO_EFFECT, __VA_ARGS__}
#define NVDP__CHECKPOINT_SECONDS_ROW(...)                                                          \
    {"checkpoint-seconds", NVDP_OPTION_REAL, "X", "number of seconds between saved states", "300",           \
     .unit = "s", .max = 1e9, .traits = NVDP_TRAIT_NO_EFFECT, __VA_ARGS__}
/* clang-format on */

#endif
