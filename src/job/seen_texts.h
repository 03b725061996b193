/* The texts that trainings saw, as digests: they show whether a model that private training begins from saw some of the same texts
 * without privacy, in whatever file and order.
 *
 * A text is compared by its words in lower case and without accents.  Line ends, white space, capitals and the rest of the file do
 * not matter; a text that was changed or cut otherwise is another one.  DIR/seen_texts.bin keeps 64 bits of a keyed BLAKE2b per
 * text, under a key of each training's own that stands beside them (docs/formats.md).  Whoever has the file can test whether a
 * text that they know is among those of the training: it is as private as the texts, and no file that is given away has any of
 * it. */
#ifndef NVDP_SRC_JOB_SEEN_TEXTS_H
#define NVDP_SRC_JOB_SEEN_TEXTS_H

#include "base/base.h"

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
extern const char nvdp__seen_digests_file[];

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

#endif
