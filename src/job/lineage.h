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
 * seen_texts.bin beside the record (seen_texts.c); without it only whole files can be compared.  List and digests are for whoever
 * has the texts: no file that goes with a model has them. */
#ifndef NVDP_SRC_JOB_LINEAGE_H
#define NVDP_SRC_JOB_LINEAGE_H

#include "base/base.h"
#include "base/cache.h"
#include <jansson.h>
#include <nvdp/account.h>

/* The texts that trainings saw, as digests: they show whether a model that private training begins from saw some of the same texts
 * without privacy, in whatever file and order.
 *
 * A text is compared by its words in lower case and without accents.  Line ends, white space, capitals and the rest of the file do
 * not matter; a text that was changed or cut otherwise is another one.  DIR/seen_texts.bin keeps 64 bits of a keyed BLAKE2b per
 * text, under a key of each training's own that stands beside them (docs/formats.md).  Whoever has the file can test whether a
 * text that they know is among those of the training: it is as private as the texts, and no file that is given away has any of
 * it. */

/* ---- the texts of a training, in memory ---- */

struct nvdp__seen_text {
    unsigned char hash[16];
    uint32_t words;
    size_t row;
};
/* Zero it, add to it, release it. */
struct nvdp__seen_texts {
    struct nvdp__seen_text *text;
    size_t count, capacity;
    size_t rows; /* that have texts */
};
/* Adds a text of a row, 0 or more of them, with rows in rising order.  One without words is left out. */
nvdp_status nvdp__seen_texts_add(struct nvdp_context *ctx, struct nvdp__seen_texts *texts,
                                 size_t row, const char *text, size_t size);
/* The lines of plain text files, each a row. */
nvdp_status nvdp__seen_texts_of_files(struct nvdp_context *ctx, const char *const *path,
                                      size_t files, struct nvdp__seen_texts *texts);
void nvdp__seen_texts_release(struct nvdp__seen_texts *texts);

/* ---- digests, as a file keeps them ---- */

enum { NVDP__SEEN_KEY = 32, NVDP__SEEN_NAME = 17 };

struct nvdp__seen_digests {
    char name[NVDP__SEEN_NAME]; /* 16 hexadecimal digits, drawn: records name it */
    unsigned char key[NVDP__SEEN_KEY];
    uint64_t *digest; /* [count] rising, each once */
    size_t count;
};
/* Under a new name and key. */
nvdp_status nvdp__seen_digests_make(struct nvdp_context *ctx, const struct nvdp__seen_texts *texts,
                                    struct nvdp__seen_digests *out);
void nvdp__seen_digests_release(struct nvdp__seen_digests *digests);

/* Reads DIR/seen_texts.bin: *out [*count], each to be released, and free(); none where there is no file.  NVDP_ERR_INPUT for a
 * damaged one. */
nvdp_status nvdp__seen_digests_read(struct nvdp_context *ctx, const char *directory,
                                    struct nvdp__seen_digests **out, size_t *count);
/* Writes the file, readable by its owner alone. */
nvdp_status nvdp__seen_digests_write(struct nvdp_context *ctx, const char *directory,
                                     const struct nvdp__seen_digests *digests, size_t count);

/* ---- texts against digests ---- */

/* Texts of fewer words are found anywhere: alone they do not show that a training saw these texts. */
enum { NVDP__SEEN_LONG = 6 };

struct nvdp__overlap {
    size_t rows;   /* of which every text was seen */
    size_t longer; /* of these, with NVDP__SEEN_LONG words or more */
    size_t partly; /* rows of which some text was seen, and not all */
    size_t first;  /* of `rows` */
};
struct nvdp__overlap nvdp__seen_digests_compare(const struct nvdp__seen_digests *digests,
                                                const struct nvdp__seen_texts *texts);
/* Returns true if a training with this overlap counts as one that saw these texts: a longer one, or a tenth of all. */
static inline bool nvdp__overlap_counts(const struct nvdp__overlap *overlap,
                                        const struct nvdp__seen_texts *texts) {
    return overlap->longer > 0 || (overlap->rows > 0 && 10 * overlap->rows >= texts->rows);
}

/* ---- lineage ---- */

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
