/* Options that training and pretraining share. */
#ifndef NVDP_SRC_JOB_OPTIONS_H
#define NVDP_SRC_JOB_OPTIONS_H

#include "options/schema.h"

/* AdamW and its schedule.  Decay is decoupled from the gradient: a step at rate lr moves the weights w of matrices and embeddings,
 * not biases and LayerNorm, by -lr weight_decay (w - w0).  That is a step down the penalty lambda |w - w0|^2 with
 * lambda = weight_decay / 2, for each weight alike.  As a part of the gradient, Adam would divide it by the size of the weight's
 * gradients, and clipping would shrink it with them. */
struct nvdp__adamw_options {
    double lr, warmup, weight_decay, clip_norm, beta1, beta2,
        adam_eps; /* clip_norm 0: no clipping */
};
/* The rows of its options (options/schema.h), for a struct that has it as the member `adamw`. */
/* clang-format off */
#define NVDP__ADAMW_ROWS(type, lr_, warmup_, eps_)                                                 \
    {"lr", NVDP_OPTION_REAL, "X", "largest learning rate", lr_, NVDP_OPTION_AT(type, adamw.lr),          \
     .max = 10},                                                                                   \
    {"warmup", NVDP_OPTION_REAL, "X", "share of the steps over which the learning rate rises",     \
     warmup_, NVDP_OPTION_AT(type, adamw.warmup), .max = 1},                                             \
    {"weight-decay", NVDP_OPTION_REAL, "X", "decoupled weight decay", "0.01",                      \
     NVDP_OPTION_AT(type, adamw.weight_decay), .max = 10},                                               \
    {"clip-norm", NVDP_OPTION_REAL, "X", "largest norm of the gradient; 0: no clipping", "1",      \
     NVDP_OPTION_AT(type, adamw.clip_norm), .max = 1e9},                                                 \
    {"beta1", NVDP_OPTION_REAL, "X", "Adam's first-moment decay", "0.9",                           \
     NVDP_OPTION_AT(type, adamw.beta1), .max = 0.999999},                                                \
    {"beta2", NVDP_OPTION_REAL, "X", "Adam's second-moment decay", "0.999",                        \
     NVDP_OPTION_AT(type, adamw.beta2), .max = 0.999999999},                                             \
    {"adam-eps", NVDP_OPTION_REAL, "X", "Adam's epsilon", eps_, NVDP_OPTION_AT(type, adamw.adam_eps),    \
     .min = 1e-30, .max = 1}
/* clang-format on */

#endif
