/* The texts that a model was trained on: for each training that led to the model, in order,
 * digests of its texts and its privacy guarantee for them.
 *
 * A run's record (run.json, pretrain.json) holds the list as `learned_from`, with the run's own
 * training last:
 *   {"run": "runs/base", "sha256": ["..."], "files": ["SST-2/train.tsv"], "digests": "0123456789abcdef",
 *   "dp": [epsilon, delta], "own": [epsilon, delta], "seed": true, "vocabulary": true}
 * `dp` is missing if the training was not private. The guarantee `dp` is for one example, and includes what the
 * training counted for earlier trainings. `own` is the part of the training itself (missing: all of `dp`, because
 * nothing was counted, or because an earlier version did not record the part). `word_dp` is the guarantee, for a
 * document, of a private vocabulary that the run trained ([]: there is none for a whole document). `word_dp` takes
 * the place of `dp`, and `vocabulary` is "private", in the list of a run that took only the vocabulary.
 * `counts_words` is present if `dp` includes the private vocabulary that the run used. If examples are windows of a
 * document, pairs of its parts, or parts of a sentence with tags, `windows` is the largest number of examples that
 * one document or sentence gives (0: an earlier version did not record this number), and `length` is the length of
 * the windows (only for windows). `seed` is present if the noise came from a seed, `vocabulary` if the vocabulary
 * was trained on the original texts. `sha256` is missing if the texts are not known. `digests` identifies a part of
 * seen_texts.bin in the record's folder (seen_texts.c); without `digests`, only whole files can be compared. List
 * and digests are for the owner of the texts: no file that is published with a model contains them. */
#ifndef NVDP_SRC_JOB_LINEAGE_H
#define NVDP_SRC_JOB_LINEAGE_H

#include "base/base.h"
#include "base/cache.h"
#include <jansson.h>
#include <nvdp/account.h>

/* Digests of the texts that trainings saw. They show whether the start model of a private
 * training saw some of the same texts without privacy, in any file and order.
 *
 * A text is compared by its words in lower case and without accents. Line ends, white space, capitals and the rest
 * of the file do not matter; a text that was changed or cut differently counts as another text. DIR/seen_texts.bin
 * keeps 64 bits of a keyed BLAKE2b per text. Each training has its own key, which is stored in the file
 * (docs/formats.md). Anyone who has the file can test if a known text is among the texts of the training. The file
 * is therefore as private as the texts, and no published file contains any part of it. */

/* ---- the texts of a training, in memory ---- */

struct nvdp__seen_text {
    unsigned char hash[16];
    uint32_t words;
    size_t row;
};
/* Texts in memory. The caller sets the struct to zero, adds texts to it, and releases it. */
struct nvdp__seen_texts {
    struct nvdp__seen_text *text;
    size_t count, capacity;
    size_t rows; /* number of rows that have texts */
};
/* Adds a text of a row. A row may have several texts; rows must come in ascending order. A text without words is
 * left out. */
nvdp_status nvdp__seen_texts_add(struct nvdp_context *ctx, struct nvdp__seen_texts *texts,
                                 size_t row, const char *text, size_t size);
/* Adds the lines of plain text files; each line is a row. */
nvdp_status nvdp__seen_texts_of_files(struct nvdp_context *ctx, const char *const *path,
                                      size_t files, struct nvdp__seen_texts *texts);
void nvdp__seen_texts_release(struct nvdp__seen_texts *texts);

/* ---- digests in the form in which a file stores them ---- */

enum { NVDP__SEEN_KEY = 32, NVDP__SEEN_NAME = 17 };

struct nvdp__seen_digests {
    /* 16 random hexadecimal digits, by which records refer to the digests */
    char name[NVDP__SEEN_NAME];
    unsigned char key[NVDP__SEEN_KEY];
    uint64_t *digest; /* [count] in ascending order, without duplicates */
    size_t count;
};
/* Makes digests under a new name and key. */
nvdp_status nvdp__seen_digests_make(struct nvdp_context *ctx, const struct nvdp__seen_texts *texts,
                                    struct nvdp__seen_digests *out);
void nvdp__seen_digests_release(struct nvdp__seen_digests *digests);

/* Reads DIR/seen_texts.bin into *out [*count]. The caller releases each item and frees the array with free(), also
 * after an error. *count is 0 if there is no file. Returns NVDP_ERR_INPUT for a damaged file. */
nvdp_status nvdp__seen_digests_read(struct nvdp_context *ctx, const char *directory,
                                    struct nvdp__seen_digests **out, size_t *count);
/* Writes the file, readable only by its owner. */
nvdp_status nvdp__seen_digests_write(struct nvdp_context *ctx, const char *directory,
                                     const struct nvdp__seen_digests *digests, size_t count);

/* ---- texts against digests ---- */

/* Min number of words of a long text. Shorter texts occur everywhere: alone they do not show that a training saw
 * these texts. */
enum { NVDP__SEEN_LONG = 6 };

struct nvdp__overlap {
    size_t rows;   /* number of rows of which a text was seen; one text of a pair is enough */
    size_t longer; /* number of these rows whose seen texts have at least NVDP__SEEN_LONG words */
    size_t first;  /* index of the first of these rows */
};
struct nvdp__overlap nvdp__seen_digests_compare(const struct nvdp__seen_digests *digests,
                                                const struct nvdp__seen_texts *texts);
/* Returns true if an overlap with a training without privacy is a reason to refuse: the training saw a longer text,
 * or a tenth of all texts. A private training is counted if it saw any text. */
static inline bool nvdp__overlap_refuses(const struct nvdp__overlap *overlap,
                                         const struct nvdp__seen_texts *texts) {
    return overlap->longer > 0 || (overlap->rows > 0 && 10 * overlap->rows >= texts->rows);
}

/* ---- lineage ---- */

/* Key of the list. */
#define NVDP__LINEAGE "learned_from"

/* The texts of a training. */
struct nvdp__seen {
    size_t files;
    const char (*sha256)[NVDP__DIGEST_HEX];
    const char *const *path;              /* [files]; NULL if the files are not recorded */
    const struct nvdp__seen_texts *texts; /* NULL if individual texts are not known */
    /* length of an example in tokens, if an example may hold several texts; 0 if an example is a row */
    size_t length;
};

/* The trainings that led to a model. The caller sets the struct to zero, reads it, and releases it. */
struct nvdp__lineage {
    json_t *list;
    struct nvdp__seen_digests *digests; /* [digest_lists] which entries refer to */
    size_t digest_lists;
    /* True if the statement of this training counts the private vocabulary that the training uses. To be set before
     * nvdp__lineage_promise() and nvdp__lineage_add(). */
    bool counts_words;
};

/* Reads the list of the model in a directory. The source is the record of the run that wrote the model:
 * pretrain.json in the directory, or run.json in the parent directory; without a record, the pretraining in
 * config.json. The list is empty if nothing is known or `model` is NULL. */
nvdp_status nvdp__lineage_read(struct nvdp_context *ctx, const char *model,
                               struct nvdp__lineage *out);
void nvdp__lineage_release(struct nvdp__lineage *lineage);
/* Keeps only the trainings of a vocabulary, for a run that takes only the vocabulary. A private vocabulary keeps its
 * guarantee. */
void nvdp__lineage_vocabularies(struct nvdp__lineage *lineage);
/* Adds the training of this run, whose guarantee is in the run's records. */
nvdp_status nvdp__lineage_add(struct nvdp_context *ctx, struct nvdp__lineage *lineage,
                              const char *run, struct nvdp__seen seen, bool vocabulary);
/* Records, in the entry that was added last, how the training divides a document or sentence: the max number of
 * examples of one document or sentence, and the length of a window in tokens (0: no windows). */
void nvdp__lineage_divides(struct nvdp__lineage *lineage, size_t windows, size_t length);
/* Records, in the entry that was added last, that the run trained a private vocabulary with this guarantee for one
 * document. Epsilon is +inf if there is no guarantee because all words of a document count. */
void nvdp__lineage_words(struct nvdp__lineage *lineage, struct nvdp_dp_guarantee of);
/* Returns true if one of the trainings saw the text file with this digest. */
bool nvdp__lineage_saw(const struct nvdp__lineage *lineage, const char *sha256);
/* Computes the guarantee of all entries for an example of these texts; 0, 0 if no entry saw any of the texts. The
 * guarantees of all entries that saw any of these texts, or may have seen them, add up; what an entry counted for
 * earlier entries is not added again. If the examples of an entry were smaller, the entry counts for a group of its
 * examples. Logs for the owner which entries are counted. Returns NVDP_ERR_ARGUMENT if an entry saw the texts, or
 * may have seen them, without privacy or with noise from a seed. Noise from a seed is accepted if `seeded`, because
 * the statement of this training then mentions a seed as well. */
nvdp_status nvdp__lineage_promise(struct nvdp_context *ctx, const struct nvdp__lineage *lineage,
                                  struct nvdp__seen seen, bool seeded,
                                  struct nvdp_dp_guarantee *out);
/* Describes the first `entries` entries in words for a statement: the data on which the model in the directory was
 * trained without privacy, and how these data were compared with the texts of the training. `own` is true if
 * individual texts of the training are known. The caller frees the result with free(). */
nvdp_status nvdp__lineage_sentences(struct nvdp_context *ctx, const struct nvdp__lineage *lineage,
                                    size_t entries, const char *model, bool own, char **out);
/* Writes the digests into the folder of the record that has the list. */
nvdp_status nvdp__lineage_write(struct nvdp_context *ctx, const struct nvdp__lineage *lineage,
                                const char *directory);

#endif
