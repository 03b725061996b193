/* What a file of embeddings says about itself: attributes, and the same in plain English. */
#ifndef NVDP_SRC_SHARE_STATEMENT_H
#define NVDP_SRC_SHARE_STATEMENT_H

#include "base/hdf5.h"
#include "mechanism/mechanism.h"
#include <nvdp/model.h>
#include <nvdp/share.h>

/* Everything that is said.  All of it is public. */
struct nvdp__release_facts {
    const struct nvdp_model_info *info;
    struct nvdp__form form;    /* of the samples */
    double lambda_g, lambda_d; /* NaN: unknown */
    size_t texts, samples;
    bool labels;
    bool insecure_seed;
    bool measured;
    struct nvdp_privacy_report privacy; /* of one release but for `bdp`, which is of all of them */
    double delta;                       /* of the Bayesian accounting */
    char created[32];                   /* ISO 8601, UTC */
};

/* Now, or $SOURCE_DATE_EPOCH. */
void nvdp__creation_date(char out[32]);
/* Rounded up to three digits.  A summary of texts is published without noise: its last digits would
 * say more about single texts than anybody needs. */
double nvdp__public_number(double value);
void nvdp__statement(const struct nvdp__release_facts *facts, size_t room, char *out);
/* Sets every attribute of embeddings/1 but nvdp_format. */
nvdp_status nvdp__release_attributes(struct nvdp__h5 *file,
                                     const struct nvdp__release_facts *facts);

#endif
