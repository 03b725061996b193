/* A tiny trained run to give away from, and files of embeddings made by hand. */
#ifndef NVDP_TESTS_SHARE_RIG_H
#define NVDP_TESTS_SHARE_RIG_H

#include "share/embeddings_file.h"
#include "support.h"
#include <nvdp.h>

struct rig_choice {
    enum nvdp_method method;
    enum nvdp_length_policy policy;
    enum nvdp_query query;
    int kappa;
    size_t latent_dim; /* 0: the encoder's 16 */
    size_t epochs;     /* 1 where the weights do not matter */
    enum nvdp_vtdp_pool vtdp_pool;
};
/* Trains on sentences that one word decides; returns the run directory (name: under the scratch
 * folder).  120 training and 40 dev texts of 5 to 8 tokens, at most 10. */
const char *rig_run(struct nvdp_context *ctx, const char *name, const struct rig_choice *choice,
                    double *accuracy);
enum { RIG_TRAIN = 120, RIG_DEV = 40, RIG_LENGTH = 10 };

/* A file that somebody else might have written. */
struct rig_file {
    size_t texts, samples, dim;
    enum nvdp_length_policy policy;
    size_t length;     /* L */
    double separation; /* the classes' means lie so far apart, in standard deviations */
    size_t classes;    /* 0: scores */
    bool labels, splits;
    const char *task; /* NULL: not said */
    uint64_t seed;
};
struct rig_file rig_file_default(void);
/* Writes it under `name` in the scratch folder: every text's label (its number modulo the classes,
 * or a score) shifts the mean of its token vectors. */
const char *rig_embeddings(struct nvdp_context *ctx, const char *name, const struct rig_file *file);
float rig_label(const struct rig_file *file, size_t text);

#endif
