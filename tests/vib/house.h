/* A mechanism without weights on top of a small encoder, with a batch of made-up hidden states. */
#ifndef NVDP_TESTS_VIB_HOUSE_H
#define NVDP_TESTS_VIB_HOUSE_H

#include "vib/vib.h"

enum { WIDTH = 8, HEADS = 2, INNER = 12, TEXTS = 3, TOKENS = 8, LENGTH = 5 };

struct house {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    const struct nvdp__mechanism *mechanism;
    struct nvdp__bert bert;
    struct nvdp__params params;
    struct nvdp__vib *vib;
    struct nvdp__arena arena;
    struct nvdp__batch batch;
    int32_t offset[TEXTS + 1];
    uint64_t key[TEXTS];
    float hidden[TOKENS * WIDTH], d_hidden[TOKENS * WIDTH];
};

/* One of the room's kinds: a mechanism, and where it has a choice, which. */
struct kind {
    const struct nvdp__mechanism *mechanism;
    enum nvdp__vtdp_pool vtdp_pool;
};
enum { KINDS = 4 };
extern const struct kind kinds[KINDS];

/* Length 5, clip off; vtdp_pool as the kind's. */
struct nvdp__nvib_config house_config(const struct kind *kind);
/* Planned for training, two layers, random parameters (normal, 0.3), texts of 3, 1 and 4 tokens. */
void house_build(struct house *house, const struct kind *kind,
                 const struct nvdp__nvib_config *config, uint64_t seed);
void house_free(struct house *house);
nvdp_status house_try_forward(struct house *house, const struct nvdp__draw *draw, float **pooled);
float *house_forward(struct house *house, const struct nvdp__draw *draw);
/* Into the parameters' gradients and d_hidden; the losses are set. */
void house_backward(struct house *house, const struct nvdp__penalty *penalty, float *d_pooled);
struct nvdp__draw house_draw(uint64_t seed, uint32_t epoch);
float *house_value(struct house *house, const char *name);

#endif
