/* The table of methods: one row for each value of the option "method".
 *
 * No other file depends on a method's name: it reads a property of the row. The rows are defined
 * with the mathematics (nvib/nvib.c, vib/vib.c, none.c) and listed in members.inc. */
#ifndef NVDP_SRC_MECHANISM_METHOD_H
#define NVDP_SRC_MECHANISM_METHOD_H

#include "mechanism/mechanism.h"
#include "text/tokenizer.h"
#include <nvdp/certificate.h>
#include <nvdp/method.h>

struct nvdp__method {
    const struct nvdp__mechanism *mechanism;
    const char *description; /* one line, for reports */
    bool weights;   /* samples have Dirichlet weights, unless the option weights is constant */
    bool own_noise; /* the noise scale belongs to the model and does not depend on the text */
    bool block;     /* a sealed block reads the sample and can be published without the encoder */
    /* Has a certificate per word: a text is a sequence of words, read whole by a word-local
     * encoder (nvdp__tokenizer_read_words, struct nvdp__encoder_row). */
    bool words;
    /* model_type of the only encoder that it takes, and of the one that runs layers over windows of
     * words; NULL: the model's own */
    const char *encoder, *window_encoder;
    /* Training options that this method does not read, NULL-terminated; NULL: none. A method without a bottleneck reads
     * none of a bottleneck. */
    const char *const *unread;
    /* Releases the encoder's own embedding: the encoder is not trained, and the map only with the objective distill.
     * Training for a task refuses it; nvdp export and the objective distill make its runs, whose files can be searched
     * (train/sentence.h, share/search.c). */
    bool untrained;
    bool (*single)(
        const struct nvdp__nvib_config *config); /* one vector per text; NULL: one per token */
    /* Narrows the limits that follow from the configuration alone; NULL: none do. */
    void (*limits)(const struct nvdp__nvib_config *config, struct nvdp_limits *limits);
    /* Narrows the limits that depend on trained parameters; NULL: none do. */
    nvdp_status (*trained_limits)(struct nvdp_context *ctx, const struct nvdp__device *dev,
                                  const struct nvdp__params *params, struct nvdp_limits *limits);
};

/* Returns the row of a method; NULL for any other value. */
const struct nvdp__method *nvdp__method_row(enum nvdp_method method);
/* The same by name. */
const struct nvdp__method *nvdp__method_named(const char *name);
size_t nvdp__method_count(void);
/* True if samples under this configuration have weights; if they are one vector per text. */
bool nvdp__method_weighted(const struct nvdp__method *method,
                           const struct nvdp__nvib_config *config);
bool nvdp__method_single(const struct nvdp__method *method, const struct nvdp__nvib_config *config);
/* Upper bound, in nats at this order, for the samples of any two texts; +inf if no bound is
 * proven for everything that is shared. */
double nvdp__method_bound(enum nvdp_method method, const struct nvdp__nvib_config *config,
                          double order);
/* Loads the tokenizer of a model directory as a method reads texts: whole words for a method with a
 * certificate per word (nvdp__tokenizer_read_words). */
nvdp_status nvdp__method_tokenizer_load(struct nvdp_context *ctx, enum nvdp_method method,
                                        const char *directory, struct nvdp_tokenizer **out);
/* Checks the bottleneck's configuration for an encoder and resolves "auto"; does nothing for a
 * method without a bottleneck. */
nvdp_status nvdp__method_resolve(struct nvdp_context *ctx, enum nvdp_method method,
                                 const struct nvdp_bert_config *bert,
                                 struct nvdp__nvib_config *config);

#endif
