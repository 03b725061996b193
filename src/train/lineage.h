/* What a model has learned from, in the order in which it did: of each training on the way to it, digests of its texts and what
 * that training promises to them.
 *
 * A run's record (run.json, pretrain.json) holds the list as `learned_from`, the run's own training last:
 *
 *     {"run": "runs/base", "sha256": ["..."], "dp": [epsilon, delta], "seed": true, "vocabulary": true}
 *
 * without `dp` where it was not private; with `seed` where its noise came from one; with `vocabulary` where the vocabulary was
 * trained on the texts as they are; without `sha256` where nobody knows what texts these were.  The list is for whoever has
 * the texts, and in no file that goes with a model. */
#ifndef NVDP_SRC_TRAIN_LINEAGE_H
#define NVDP_SRC_TRAIN_LINEAGE_H

#include "base/cache.h"
#include <jansson.h>
#include <nvdp/account.h>

/* The list's key. */
#define NVDP__LINEAGE "learned_from"

/* Texts of a training: SHA-256 of their files. */
struct nvdp__seen {
    size_t files;
    const char (*sha256)[NVDP__DIGEST_HEX];
};

/* The list of the model in a directory, from the record of the run that wrote it: pretrain.json beside it, or run.json in the
 * folder around it; else what config.json tells of its pretraining.  Empty where nothing is known.  NULL `model`: likewise. */
nvdp_status nvdp__lineage_read(struct nvdp_context *ctx, const char *model, json_t **list);
/* Of a list only what trained a vocabulary: all that who takes the vocabulary alone begins from. */
void nvdp__lineage_vocabularies(json_t *list);
/* The run's own training, whose promise its records tell. */
nvdp_status nvdp__lineage_add(struct nvdp_context *ctx, json_t *list, const char *run,
                              struct nvdp__seen seen, bool vocabulary);
/* Whether one of them saw the text file of this digest. */
bool nvdp__lineage_saw(const json_t *list, const char *sha256);
/* What all of them promise to an example of these texts: 0, 0 where none saw them.  NVDP_ERR_ARGUMENT where one did without
 * privacy, or with noise from a seed (unless `seeded`: this one says so as well), or may have. */
nvdp_status nvdp__lineage_promise(struct nvdp_context *ctx, const json_t *list,
                                  struct nvdp__seen seen, bool seeded,
                                  struct nvdp_dp_guarantee *out);

#endif
