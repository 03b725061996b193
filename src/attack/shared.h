/* Texts that are attacked by their samples in a shared file. */
#ifndef NVDP_SRC_ATTACK_SHARED_H
#define NVDP_SRC_ATTACK_SHARED_H

#include "rdp/linkage.h"
#include "share/embeddings_file.h"
#include "share/sampler.h"

/* Zeroed before; released also where it could not be opened. */
struct nvdp__shared_texts {
    const char *path;
    struct nvdp__embeddings *file;
    size_t *text;    /* [texts] their numbers in the file; SIZE_MAX: not there */
    size_t releases; /* samples that are known to be of one text */
    /* Stands for the first `releases` samples of a text, the next one for those behind. */
    uint64_t first_seed;
};
/* Reads the file; n texts are found by their `id` (NULL, or a file that has none: both are in one order), within a split (-1:
 * whichever).  NVDP_ERR_INPUT for a file that is none, or in which an id stands for two texts. */
nvdp_status nvdp__shared_open(struct nvdp_context *ctx, const char *path, size_t n,
                              const int64_t *id, int split, struct nvdp__shared_texts *out);
/* Of the n texts those that are in the file: there [n] has the numbers of the `found` ones, whose places in the file come first in
 * `shared` now.  NVDP_ERR_INPUT for fewer than 2. */
nvdp_status nvdp__shared_present(struct nvdp_context *ctx, size_t n,
                                 struct nvdp__shared_texts *shared, size_t *there, size_t *found);
/* NVDP_ERR_INPUT where the file's samples are not what the set's mechanism draws of these texts, all of which are there: by their
 * shapes, and by telling texts apart less often than drawn ones do; NVDP_ERR_ARGUMENT for more releases than it has. */
nvdp_status nvdp__shared_check(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                               const struct nvdp__shared_texts *shared);
/* Of struct nvdp__shared_texts, as struct nvdp__sample_source wants it. */
void nvdp__shared_take(const void *shared, size_t i, size_t sample, size_t vectors, double *z,
                       double *log_pi);
void nvdp__shared_release(struct nvdp__shared_texts *shared);

#endif
