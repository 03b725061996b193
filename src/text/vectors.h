/* Tables of word vectors in memory, and their files. A table takes four bytes per number if these bytes give the same
 * double.
 *
 *     decimals        a number of a text file, +-m / 10^k with m < 2^31 and one k per row
 *     near decimals   +-m / 10^(k + i) with m < 2^28 and 0 <= i < 8 per number
 *     floats          the row's numbers are float32
 *     doubles         all other rows, eight bytes per number
 *
 * m and 10^k, k <= 22, are exact doubles, so one division rounds as strtod does (Clinger 1990). */
#ifndef NVDP_SRC_TEXT_VECTORS_H
#define NVDP_SRC_TEXT_VECTORS_H

#include "base/array.h"
#include "text/vocabulary.h"
#include <stdint.h>

/* Forms of a row. The values from 0 on are the k of decimals; the values from NVDP__ROW_NEAR on are the k of near
 * decimals. */
enum {
    NVDP__ROW_NEAR = 32,
    NVDP__ROW_FLOATS = 64,
    NVDP__ROW_DOUBLES,
    NVDP__ROW_WIDEST =
        /* max length of a row in another form than doubles, so that a row in scratch memory fits the stack */
    1024,
    NVDP__ROW_DECIMALS = 22 /* max decimals of a number in a text file, with at most 15 digits */
};

extern const double nvdp__powers_of_ten[NVDP__ROW_DECIMALS + 1];

struct nvdp__vector_rows {
    struct nvdp_context *ctx;
    size_t count, dim;
    const void **at;     /* [count] the numbers of each row */
    unsigned char *form; /* [count] form of each row */
    size_t at_capacity, form_capacity;
    struct nvdp__pool pool; /* memory of the rows */
};

/* Packs numbers +-digits / 10^decimals into out [dim]; the sign is the upper bit of `digits`. Returns
 * NVDP__ROW_DOUBLES if the numbers do not fit. */
unsigned char nvdp__row_of_decimals(size_t dim, const uint64_t *digits,
                                    const unsigned char *decimals, uint32_t *out);
/* Returns memory for the numbers of a row, which the caller writes; the table frees the memory. */
nvdp_status nvdp__vector_rows_space(struct nvdp__vector_rows *rows, size_t bytes, void *out);
/* Appends a row that is stored in the form `form`. nvdp__vector_rows_space() returned `numbers`. */
nvdp_status nvdp__vector_rows_put(struct nvdp__vector_rows *rows, unsigned char form,
                                  const void *numbers);
/* Doubles below this become 0, so that the square of any difference is 0 or a normal number. Otherwise two different
 * vectors could have a distance of 0. */
#define NVDP__ROW_SMALLEST 1e-130
/* Append a copy of a row: of floats; of doubles, in the shortest form that keeps them exactly. */
nvdp_status nvdp__vector_rows_add_floats(struct nvdp__vector_rows *rows, const float *row);
nvdp_status nvdp__vector_rows_add_doubles(struct nvdp__vector_rows *rows, const double *row);
/* Appends a row of another table of equal width. */
nvdp_status nvdp__vector_rows_copy(struct nvdp__vector_rows *rows,
                                   const struct nvdp__vector_rows *from, size_t row);
/* Turns all rows into doubles, which are then read fastest. */
nvdp_status nvdp__vector_rows_expand(struct nvdp__vector_rows *rows);
void nvdp__vector_rows_release(struct nvdp__vector_rows *rows);
/* Returns the numbers of a row: a pointer into the table, or to scratch [NVDP__ROW_WIDEST]. */
const double *nvdp__vector_row(const struct nvdp__vector_rows *rows, size_t row, double *scratch);
/* Copies numbers [first, first + n) of a row. */
void nvdp__vector_row_part(const struct nvdp__vector_rows *rows, size_t row, size_t first, size_t n,
                           double *out);

/* ---- files of word vectors (word_vectors.c) ---- */

/* Reads a file into structs of zeros; `words` receives the words in the order of the rows. Fails with
 * NVDP_ERR_INPUT; the message has the line. */
nvdp_status nvdp__word_vectors_read(struct nvdp_context *ctx, const char *path,
                                    struct nvdp__strings *words, struct nvdp__vector_rows *out);

#endif
