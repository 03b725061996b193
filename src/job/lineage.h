/* What a model has learned from, in the order in which it did: of each training on the way to it, digests of its texts and what
 * that training promises to them.
 *
 * A run's record (run.json, pretrain.json) holds the list as `learned_from`, the run's own training last:
 *
 *     {"run": "runs/base", "sha256": ["..."], "files": ["SST-2/train.tsv"], "digests": "0123456789abcdef",
 *      "dp": [epsilon, delta], "seed": true, "vocabulary": true}
 *
 * without `dp` if the training was not private; with `seed` if its noise came from a seed; with `vocabulary` if the vocabulary was
 * trained on the texts as they are; without `sha256` if it is not known which texts it saw.  `digests` names its part of
 * seen_texts.bin beside the record (seen_texts.h); without it only whole files can be compared.  List and digests are for whoever
 * has the texts: no file that goes with a model has them. */
#ifndef NVDP_SRC_JOB_LINEAGE_H
#define NVDP_SRC_JOB_LINEAGE_H

#include "base/cache.h"
#include "job/seen_texts.h"
#include <jansson.h>
#include <nvdp/account.h>

/* The list's key. */
#define NVDP__LINEAGE "learned_from"

/* The texts of a training. */
struct nvdp__seen {
    size_t files;
    const char (*sha256)[NVDP__DIGEST_HEX];
    const char *const *path;              /* [files]; NULL: not told */
    const struct nvdp__seen_texts *texts; /* NULL: not known one by one */
};

/* Zero it, read it, release it. */
struct nvdp__lineage {
    json_t *list;
    struct nvdp__seen_digests *digests; /* [digest_lists] that entries name */
    size_t digest_lists;
};

/* Reads the list of the model in a directory from the record of the run that wrote it: pretrain.json beside it, or run.json in
 * the folder around it; otherwise from what config.json says about its pretraining.  Empty if nothing is known, or `model` is
 * NULL. */
nvdp_status nvdp__lineage_read(struct nvdp_context *ctx, const char *model,
                               struct nvdp__lineage *out);
void nvdp__lineage_release(struct nvdp__lineage *lineage);
/* Keeps only the trainings of a vocabulary: all that matters to a run that takes the vocabulary alone. */
void nvdp__lineage_vocabularies(struct nvdp__lineage *lineage);
/* Adds the run's own training, whose promise stands in its records. */
nvdp_status nvdp__lineage_add(struct nvdp_context *ctx, struct nvdp__lineage *lineage,
                              const char *run, struct nvdp__seen seen, bool vocabulary);
/* Whether one of them saw the text file of this digest. */
bool nvdp__lineage_saw(const struct nvdp__lineage *lineage, const char *sha256);
/* Adds up what all entries promise to an example of these texts: 0, 0 if none saw any.  NVDP_ERR_ARGUMENT if one did without privacy, or
 * with noise from a seed (unless `seeded`: this training says so as well), or may have. */
nvdp_status nvdp__lineage_promise(struct nvdp_context *ctx, const struct nvdp__lineage *lineage,
                                  struct nvdp__seen seen, bool seeded,
                                  struct nvdp_dp_guarantee *out);
/* The first `entries` in words, for a statement: what the model in the directory had learned from without privacy, and how that was
 * compared with the texts of the training; `own`: these are known one by one.  free(). */
nvdp_status nvdp__lineage_story(struct nvdp_context *ctx, const struct nvdp__lineage *lineage,
                                size_t entries, const char *model, bool own, char **out);
/* Writes the digests beside a record that has the list. */
nvdp_status nvdp__lineage_write(struct nvdp_context *ctx, const struct nvdp__lineage *lineage,
                                const char *directory);

#endif
