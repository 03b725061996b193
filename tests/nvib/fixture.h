/* An nvdp bottleneck on its own: parameters, plan, a batch of made-up texts. */
#ifndef NVDP_TESTS_NVIB_FIXTURE_H
#define NVDP_TESTS_NVIB_FIXTURE_H

#include "nvib/nvib.h"
#include "support.h"

struct fixture {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__bert bert; /* only the configuration: no encoder parameters */
    struct nvdp__params params;
    struct nvdp__nvib *nvib;
    struct nvdp__arena arena;
    struct nvdp__batch batch;
    int32_t offset[16]; /* the batch's tables */
    uint64_t key[16];
    float *hidden;   /* [tokens, D] */
    float *d_hidden; /* [tokens, D] */
};

/* A configuration whose tests are quick: latent_dim 0, length as given. */
struct nvdp__nvib_config fixture_config(size_t length);
/* The same with a sequence clip and constant weights. */
struct nvdp__nvib_config fixture_sequence(size_t length, double radius);
/* Returns bounds of a token's posterior, without the other clips. */
struct nvdp__clip_config fixture_clip(double mu_radius, double logvar_min, double logvar_max,
                                      double alpha_min, double alpha_max);
/* Takes the encoder's width D, heads and feed-forward width, and the lengths of the texts.
 * Parameters are normal with a deviation near 0.3, hidden states standard normal. The batch is
 * planned for training. The fixture lives until the test's process ends. */
struct fixture *fixture_create(const struct nvdp__nvib_config *config, size_t hidden_size,
                               size_t heads, size_t inner, size_t texts, const int32_t *lengths,
                               uint64_t seed);
nvdp_status fixture_forward(struct fixture *f, const struct nvdp__draw *draw, float **pooled);
/* Returns the pooled vectors of a forward pass, which must succeed. */
float *fixture_pooled(struct fixture *f, const struct nvdp__draw *draw);
/* Returns the last forward pass's sample. */
struct nvdp__sample fixture_sample(const struct fixture *f);
/* Adds to the parameters' gradients and to d_hidden. */
void fixture_backward(struct fixture *f, const struct nvdp__penalty *penalty, float *d_pooled);
/* Computes the last forward's losses before weights, without gradients. */
void fixture_losses(struct fixture *f, double *loss_g, double *loss_d);
/* Returns the seed's draw of an epoch. */
struct nvdp__draw fixture_draw(uint64_t seed, uint32_t epoch);
float *fixture_value(struct fixture *f, const char *name, size_t *count);

#endif
