/* Texts that are attacked by their samples in a shared file. */
#ifndef NVDP_SRC_ATTACK_SHARED_H
#define NVDP_SRC_ATTACK_SHARED_H

#include "rdp/linkage.h"
#include "share/embeddings_file.h"
#include "share/sampler.h"

/* Set to zero before use.  Release it even after a failure to open it. */
struct nvdp__shared_texts {
    const char *path;
    struct nvdp__embeddings *file;
    size_t *text;    /* [texts] their numbers in the file; SIZE_MAX: not in the file */
    size_t releases; /* samples that are known to belong to one text */
    /* This seed selects the first `releases` samples of a text, the next seed the following ones. */
    uint64_t first_seed;
};
/* Reads the file and finds n texts by their `id`, within a split (-1: any).  If `id` is NULL or the file has none,
 * both are in the same order.  NVDP_ERR_INPUT if the file is not a release, or an id occurs for two texts. */
nvdp_status nvdp__shared_open(struct nvdp_context *ctx, const char *path, size_t n,
                              const int64_t *id, int split, struct nvdp__shared_texts *out);
/* Finds the texts that the file contains: there [n] gets the numbers of the *found ones, and `shared` then lists
 * their places in the file first.  NVDP_ERR_INPUT for fewer than 2. */
nvdp_status nvdp__shared_present(struct nvdp_context *ctx, size_t n,
                                 struct nvdp__shared_texts *shared, size_t *there, size_t *found);
/* Checks that the file's samples are those of the set's texts, all of which must be in the file.  NVDP_ERR_INPUT if
 * their shapes do not match the mechanism, or if they distinguish texts less often than drawn samples do;
 * NVDP_ERR_ARGUMENT for more releases than the file has. */
nvdp_status nvdp__shared_check(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                               const struct nvdp__shared_texts *shared);
/* Copies a sample of the file, for struct nvdp__sample_source.  `shared` is a struct nvdp__shared_texts. */
void nvdp__shared_take(const void *shared, size_t i, size_t sample, size_t vectors, double *z,
                       double *log_pi);
void nvdp__shared_release(struct nvdp__shared_texts *shared);

#endif
