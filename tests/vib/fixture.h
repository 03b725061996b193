/* A mechanism without weights on a small encoder, with a batch of made-up hidden states. */
#ifndef NVDP_TESTS_VIB_FIXTURE_H
#define NVDP_TESTS_VIB_FIXTURE_H

#include "encoder/checkpoint.h"
#include "encoder/row.h"
#include "support.h"
#include "vib/vib.h"

enum { WIDTH = 8, HEADS = 2, INNER = 12, TEXTS = 3, TOKENS = 8, LENGTH = 5 };

struct fixture {
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

/* A mechanism and, where it has a choice, its pool. */
struct kind {
    const struct nvdp__mechanism *mechanism;
    enum nvdp__vtdp_pool vtdp_pool;
};
enum { KINDS = 4 };
extern const struct kind kinds[KINDS];

/* Length 5, clip off; vtdp_pool from the kind. */
struct nvdp__nvib_config fixture_config(const struct kind *kind);
/* Returns fixture_config() with a sequence clip. All texts exceed the radius of choice 0, some texts the radius of choice 1,
 * and no text the radius of choice 2. */
struct nvdp__nvib_config fixture_sequence(const struct kind *kind, int choice);
/* Planned for training, two layers, random parameters (normal, 0.3), texts of 3, 1 and 4 tokens. */
struct fixture *fixture_build(const struct kind *kind, const struct nvdp__nvib_config *config,
                              uint64_t seed);
nvdp_status fixture_try_forward(struct fixture *fixture, const struct nvdp__draw *draw,
                                float **pooled);
float *fixture_forward(struct fixture *fixture, const struct nvdp__draw *draw);
/* Adds to the parameters' gradients and to d_hidden; sets the losses. */
void fixture_backward(struct fixture *fixture, const struct nvdp__penalty *penalty,
                      float *d_pooled);
struct nvdp__draw fixture_draw(uint64_t seed, uint32_t epoch);
float *fixture_value(struct fixture *fixture, const char *name);

#endif
