/* The texts that a model was trained on: for each training that led to the model, in order,
 * digests of its texts and its privacy guarantee for them.
 *
 * A run's record (run.json, pretrain.json) holds the list as `learned_from`, with the run's own
 * training last:
 *   {"run": "runs/base", "sha256": ["..."], "files": ["SST-2/train.tsv"], "digests": "0123456789abcdef",
 *   "dp": [epsilon, delta], "seed": true, "vocabulary": true}
 * `dp` is missing if the training was not private. `seed` is present if its noise came from a
 * seed, `vocabulary` if the vocabulary was trained on the original texts. `sha256` is missing if
 * the texts are not known. `digests` names a part of seen_texts.bin in the record's folder
 * (seen_texts.h); without it only whole files can be compared. List and digests are for the
 * owner of the texts: no file that is published with a model contains them. */
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
    const char *const *path;              /* [files]; NULL: not recorded */
    const struct nvdp__seen_texts *texts; /* NULL: individual texts are not known */
};

/* Zero the struct, read it, release it. */
struct nvdp__lineage {
    json_t *list;
    struct nvdp__seen_digests *digests; /* [digest_lists], referenced by entries */
    size_t digest_lists;
};

/* Reads the list of the model in a directory. The source is the record of the run that wrote the
 * model: pretrain.json in the directory, or run.json in its parent; without a record, the
 * pretraining in config.json. The list is empty if nothing is known or `model` is NULL. */
nvdp_status nvdp__lineage_read(struct nvdp_context *ctx, const char *model,
                               struct nvdp__lineage *out);
void nvdp__lineage_release(struct nvdp__lineage *lineage);
/* Keeps only the trainings of a vocabulary, for a run that takes only the vocabulary. */
void nvdp__lineage_vocabularies(struct nvdp__lineage *lineage);
/* Adds the run's own training, whose guarantee is in its records. */
nvdp_status nvdp__lineage_add(struct nvdp_context *ctx, struct nvdp__lineage *lineage,
                              const char *run, struct nvdp__seen seen, bool vocabulary);
/* Returns whether one of the trainings saw the text file with this digest. */
bool nvdp__lineage_saw(const struct nvdp__lineage *lineage, const char *sha256);
/* Computes the guarantee of all entries for an example of these texts; 0, 0 if none saw any.
 * Returns NVDP_ERR_ARGUMENT if an entry saw them, or may have seen them, without privacy or with
 * noise from a seed. Noise from a seed is accepted if `seeded`, because the statement of this
 * training then mentions a seed as well. */
nvdp_status nvdp__lineage_promise(struct nvdp_context *ctx, const struct nvdp__lineage *lineage,
                                  struct nvdp__seen seen, bool seeded,
                                  struct nvdp_dp_guarantee *out);
/* Describes the first `entries` entries in words for a statement: the data that the model in the
 * directory had learned from without privacy, and how these were compared with the texts of the
 * training. `own`: individual texts of the training are known. free() the result. */
nvdp_status nvdp__lineage_story(struct nvdp_context *ctx, const struct nvdp__lineage *lineage,
                                size_t entries, const char *model, bool own, char **out);
/* Writes the digests into the folder of the record that has the list. */
nvdp_status nvdp__lineage_write(struct nvdp_context *ctx, const struct nvdp__lineage *lineage,
                                const char *directory);

#endif
