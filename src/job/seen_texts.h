/* Digests of the texts that trainings saw. They show whether the start model of a private
 * training saw some of the same texts without privacy, in any file and order.
 *
 * A text is compared by its words in lower case and without accents. Line ends, white space,
 * capitals and the rest of the file do not matter; a text that was changed or cut differently
 * counts as another text. DIR/seen_texts.bin keeps 64 bits of a keyed BLAKE2b per text. Each
 * training has its own key, which is stored in the file (docs/formats.md). With the file one can
 * test whether a known text is among those of the training. The file is therefore as private as
 * the texts, and no published file contains any part of it. */
#ifndef NVDP_SRC_JOB_SEEN_TEXTS_H
#define NVDP_SRC_JOB_SEEN_TEXTS_H

#include "base/base.h"

/* ---- the texts of a training, in memory ---- */

struct nvdp__seen_text {
    unsigned char hash[16];
    uint32_t words;
    size_t row;
};
/* Zero the struct, add to it, release it. */
struct nvdp__seen_texts {
    struct nvdp__seen_text *text;
    size_t count, capacity;
    size_t rows; /* number of rows that have texts */
};
/* Adds a text of a row. A row may have several texts; rows must come in rising order. A text
 * without words is left out. */
nvdp_status nvdp__seen_texts_add(struct nvdp_context *ctx, struct nvdp__seen_texts *texts,
                                 size_t row, const char *text, size_t size);
/* Adds the lines of plain text files, each as a row. */
nvdp_status nvdp__seen_texts_of_files(struct nvdp_context *ctx, const char *const *path,
                                      size_t files, struct nvdp__seen_texts *texts);
void nvdp__seen_texts_release(struct nvdp__seen_texts *texts);

/* ---- digests, as a file keeps them ---- */

enum { NVDP__SEEN_KEY = 32, NVDP__SEEN_NAME = 17 };

struct nvdp__seen_digests {
    char name[NVDP__SEEN_NAME]; /* 16 random hexadecimal digits, by which records refer to it */
    unsigned char key[NVDP__SEEN_KEY];
    uint64_t *digest; /* [count] in rising order, without duplicates */
    size_t count;
};
/* Makes digests under a new name and key. */
nvdp_status nvdp__seen_digests_make(struct nvdp_context *ctx, const struct nvdp__seen_texts *texts,
                                    struct nvdp__seen_digests *out);
void nvdp__seen_digests_release(struct nvdp__seen_digests *digests);

/* Reads DIR/seen_texts.bin into *out [*count]: release each, and free() the array. Without a
 * file there are none. Returns NVDP_ERR_INPUT for a damaged file. */
nvdp_status nvdp__seen_digests_read(struct nvdp_context *ctx, const char *directory,
                                    struct nvdp__seen_digests **out, size_t *count);
/* Writes the file, readable only by its owner. */
nvdp_status nvdp__seen_digests_write(struct nvdp_context *ctx, const char *directory,
                                     const struct nvdp__seen_digests *digests, size_t count);
extern const char nvdp__seen_digests_file[];

/* ---- texts against digests ---- */

/* Shorter texts, in words, occur everywhere: alone they do not show that a training saw these
 * texts. */
enum { NVDP__SEEN_LONG = 6 };

struct nvdp__overlap {
    size_t rows;   /* rows of which every text was seen */
    size_t longer; /* `rows` with at least NVDP__SEEN_LONG words */
    size_t partly; /* rows of which some texts were seen, but not all */
    size_t first;  /* index of the first of `rows` */
};
struct nvdp__overlap nvdp__seen_digests_compare(const struct nvdp__seen_digests *digests,
                                                const struct nvdp__seen_texts *texts);
/* Returns whether a training with this overlap counts as having seen these texts: it saw a
 * longer text, or a tenth of all. */
static inline bool nvdp__overlap_counts(const struct nvdp__overlap *overlap,
                                        const struct nvdp__seen_texts *texts) {
    return overlap->longer > 0 || (overlap->rows > 0 && 10 * overlap->rows >= texts->rows);
}

#endif
