/* Tables and mechanisms that live until the test's process ends. */
#ifndef NVDP_TESTS_DCHI_MADE_TABLES_H
#define NVDP_TESTS_DCHI_MADE_TABLES_H

#include "dchi/dchi.h"
#include "dchi/token_options.h"
#include "support.h"
#include <nvdp/dchi.h>
#include <nvdp/text_privacy.h>

static inline struct nvdp_vectors *vectors_of(struct nvdp_context *ctx, size_t count, size_t dim,
                                              const double *rows) {
    struct nvdp_vectors *vectors = NULL;
    ok(nvdp_vectors_create(ctx, count, dim, rows, &vectors));
    return support_keep(vectors);
}

/* With `sensitive`, p is 0.3. */
static inline struct nvdp_dchi *dchi_of(struct nvdp_context *ctx,
                                        const struct nvdp_vectors *vectors,
                                        enum nvdp_dchi_mechanism mechanism, double eta,
                                        const unsigned char *sensitive) {
    struct nvdp_dchi *dchi = NULL;
    ok(nvdp_dchi_create(ctx, vectors, mechanism, eta, sensitive != NULL ? .3 : 0, sensitive,
                        &dchi));
    return support_keep(dchi);
}

#endif
