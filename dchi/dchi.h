/* Text privatization, internal: declarations shared by the files of this module.
 *
 *     vectors.c       the table of word vectors, distances
 *     mechanisms.c    the table of mechanisms                            (mechanism.h, members.inc)
 *     nearest.c       the nearest row, by float32 products and a check in double
 *     distribution.c  exact distributions, divergences, the worst case over the vocabulary
 *     loss.c          delta and epsilon of pairs of texts
 *     sample.c        draws
 *     scratch.c       scratch memory that a call reuses
 *     geometry.c      distances within a table, plausible deniability
 *     inversion.c     attackers that guess the token
 *     privacy.c       all pairs of texts in a data set                   (privacy.h)
 *     sequence.c      the same for one noised vector per text            (privacy.h)
 *     options.c       the options of a mechanism                         (options.h)
 *     sanitizer.c     a mechanism over the words or WordPieces of a table  (sanitizer.h) */
#ifndef NVDP_DCHI_DCHI_H
#define NVDP_DCHI_DCHI_H

#include "base/random.h"
#include "dchi/mechanism.h"
#include "tensor/bf16.h"
#include "tensor/vector.h"
#include "text/vector_rows.h"
#include <nvdp/dchi.h>

/* c_j ~ step_j q_j, in 8 bits, of some rows of a table. sum: step sum_k q_k; half: |c|^2/2; length, rest: upper bounds
 * of |step q|, |c - step q|. */
struct nvdp__coarse {
    int8_t *q; /* [rows, dim] */
    float *step, *sum, *half, *length, *rest;
};

struct nvdp_vectors {
    size_t count, dim;
    struct nvdp__vector_rows rows;
    /* Scores of nearest.c: c_j = scale (row_j - mean), scale a power of two, |c_jk| <= 2. */
    double *mean; /* [dim] */
    double scale;
    double *norm; /* [count] |c_j| */
    /* Kept by tables of few numbers; else NULL, and made for some rows at a time. */
    float *centered; /* [count, dim] */
    struct nvdp__coarse coarse;
};

/* The proposal distribution for the outputs of a token (sample.c). */
struct nvdp__proposal {
    /* [count] upper bounds of the outputs' weights; NULL: of a large table, computed when needed */
    nvdp__bf16 *weight;
    double *sum;  /* [blocks + 1] sum of the weights before each block */
    double shift; /* distance of weight 1 */
    float bound;  /* the same, times the table's scale */
};

struct nvdp_dchi {
    const struct nvdp_vectors *vectors;
    enum nvdp_dchi_mechanism mechanism;
    const struct nvdp__token_row *row;
    double eta, p;
    unsigned char *sensitive;    /* [count] tokens that can be outputs; NULL: all */
    struct nvdp__proposal *kept; /* [count] cached proposals; NULL before the first draw */
    size_t kept_bytes;
};

/* A table of at most NVDP__FEW_NUMBERS keeps them as doubles, with 5 bytes more for products: for speed. A larger one
 * has what vector_rows.h needs, 4 bytes per number as a rule, and computes the rest again for each pass over it. */
enum { NVDP__FEW_NUMBERS = 1 << 25 };
/* Creates a table of at least one row; takes over the rows, even on error. `few` is NVDP__FEW_NUMBERS except in
 * tests. */
nvdp_status nvdp__vectors_adopt(struct nvdp_context *ctx, struct nvdp__vector_rows *rows,
                                size_t few, struct nvdp_vectors **out);
/* The number of threads for one pass over so many numbers: a small table starts none. */
static inline int nvdp__table_threads(const struct nvdp_context *ctx, size_t numbers) {
    return numbers < NVDP__PARALLEL_MIN ? 1 : nvdp_context_threads(ctx);
}
/* The numbers of a row: in the table, or written to scratch [NVDP__ROW_WIDEST]. */
static inline const double *nvdp__row(const struct nvdp_vectors *vectors, size_t token,
                                      double *scratch) {
    return nvdp__vector_row(&vectors->rows, token, scratch);
}
/* |point - row| of a token. */
double nvdp__distance_from(const struct nvdp_vectors *vectors, const double *point, size_t token);
double nvdp__token_distance(const struct nvdp_vectors *vectors, size_t a, size_t b);
/* Writes c_j of a row, rounded to float32. */
void nvdp__vectors_center_row(const struct nvdp_vectors *vectors, size_t token, float *c);

/* Inputs whose distances are computed together: each row of the table is then read once for all. */
enum { NVDP__DCHI_BLOCK = 8 };

/* Computes |a_i - row_j| for n <= NVDP__DCHI_BLOCK vectors and all rows: out [n, count]. Squares the
 * difference of each coordinate in double, so nothing cancels. */
void nvdp__vectors_distances(const struct nvdp_vectors *vectors, size_t n, const double *const *a,
                             double *out);
/* |from - a_i| of n vectors. */
void nvdp__distances(size_t dim, const double *from, size_t n, const double *const *a, double *out);
double nvdp__square_distance(size_t dim, const double *a, const double *b);
double nvdp__distance(size_t dim, const double *a, const double *b);

/* True if outputs are tokens with known probabilities. */
static inline bool nvdp__dchi_exact(const struct nvdp_dchi *dchi) {
    return dchi->row->exact;
}
/* True if the output is a uniform draw for every input. */
static inline bool nvdp__dchi_uniform(const struct nvdp_dchi *dchi) {
    return dchi->row->exact && !dchi->row->uses_eta;
}
static inline bool nvdp__comes_out(const struct nvdp_dchi *dchi, size_t y) {
    return dchi->sensitive == NULL || dchi->sensitive[y] != 0;
}
nvdp_status nvdp__dchi_check(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                             const int32_t *tokens);
/* Turns the distances of n <= NVDP__DCHI_BLOCK tokens [n, count] into their log probabilities. */
void nvdp__dchi_rows(const struct nvdp_dchi *dchi, size_t n, const int32_t *tokens, double *rows);

/* P(x|x) of n tokens, for known probabilities; leaves those of unknown tokens. */
nvdp_status nvdp__dchi_unchanged(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                                 const int32_t *tokens, double *same);

/* eta times the distance between the inputs of a Laplace mechanism. An unknown token represents
 * a mixture over the noised vectors of all tokens. Its distance from a token is at most that of
 * the farthest one (van Erven & Harremoes 2014, Theorem 13: Renyi divergences are jointly
 * quasi-convex; delta(eps) is jointly convex). laplace-nearest does not noise unknown tokens:
 * +inf. */
double nvdp__dchi_distance(const struct nvdp_dchi *dchi, int32_t a, int32_t b);
/* D_l(a || b) of one position at m orders; rows [2, V] is scratch, which Laplace mechanisms do
 * not use. */
void nvdp__dchi_position(const struct nvdp_dchi *dchi, size_t m, const double *orders, int32_t a,
                         int32_t b, double *rows, double *out);
/* nvdp_dchi_epsilon of texts of the same length, as an interval of width at most `precision`. */
nvdp_status nvdp__dchi_epsilon(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double delta,
                               double precision, size_t length, const int32_t *a, const int32_t *b,
                               struct nvdp_interval *out);

/* Moves n of token[0..all), drawn uniformly without replacement, to the front. */
void nvdp__dchi_draw(struct nvdp__stream *stream, size_t n, size_t all, int32_t *token);

/* Scratch memory that draws and searches of one table reuse; initially all zeros. It grows to
 * the size that the largest batch needs. */
enum nvdp__scratch_block {
    NVDP__SCRATCH_PLACE,
    NVDP__SCRATCH_DRAWN,
    NVDP__SCRATCH_HEAD,
    NVDP__SCRATCH_NEXT,
    NVDP__SCRATCH_DISTINCT,
    NVDP__SCRATCH_FLOATS,
    NVDP__SCRATCH_PRODUCTS,
    NVDP__SCRATCH_WEIGHTS,
    NVDP__SCRATCH_SUMS,
    NVDP__SCRATCH_ROWS,
    NVDP__SCRATCH_SPANS,
    NVDP__SCRATCH_MADE,
    NVDP__SCRATCH_FRESH,
    NVDP__SCRATCH_FRESH_TOKENS,
    NVDP__SCRATCH_POINTS,
    NVDP__SCRATCH_NORMALS,
    NVDP__SCRATCH_ROUGH,
    NVDP__SCRATCH_BYTES,
    NVDP__SCRATCH_BEST,
    NVDP__SCRATCH_CENTRED,
    NVDP__SCRATCH_BLOCKS
};
struct nvdp__dchi_scratch {
    struct {
        void *at;
        size_t bytes;
    } block[NVDP__SCRATCH_BLOCKS];
    struct nvdp__bf16_engine *integers; /* holds rows of the table in its own layout */
    struct nvdp__coarse coarse;         /* rows that the table does not keep */
};
void *nvdp__dchi_scratch(struct nvdp_context *ctx, struct nvdp__dchi_scratch *scratch,
                         enum nvdp__scratch_block block, size_t count, size_t size);
/* Like NVDP__NEW, but the memory keeps its previous content. */
#define NVDP__SCRATCH(ctx, scratch, block, pointer, count)                                         \
    (((pointer) = nvdp__dchi_scratch(ctx, scratch, block, count, sizeof *(pointer))) != NULL       \
         ? NVDP_OK                                                                                 \
         : NVDP_ERR_MEMORY)
void nvdp__dchi_scratch_release(struct nvdp__dchi_scratch *scratch);

/* nvdp_dchi_sample(), nvdp_vectors_nearest() and nvdp_dchi_perturb() with reused memory. */
nvdp_status nvdp__dchi_sample(struct nvdp_context *ctx, struct nvdp_dchi *dchi,
                              struct nvdp__dchi_scratch *scratch, size_t texts,
                              const size_t *offset, const int32_t *tokens, const uint64_t *seed,
                              uint64_t first, int32_t *out);
nvdp_status nvdp__vectors_nearest(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                  struct nvdp__dchi_scratch *scratch, size_t n,
                                  const double *points, int32_t *nearest);
nvdp_status nvdp__dchi_perturb_texts(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                     struct nvdp__dchi_scratch *scratch, size_t texts,
                                     const size_t *offset, const int32_t *tokens,
                                     const uint64_t *seed, uint64_t first, double *out);

/* The text of a token and its position: the key of its stream. */
struct nvdp__token_place {
    uint64_t text;
    uint32_t position;
};
/* The draws of nvdp_dchi_perturb(), and for one vector per text those of
 * nvdp_sequence_laplace(), for tokens and texts in any order. Neither checks nor allocates.
 * scratch [threads, dim]; out may be in. */
void nvdp__dchi_perturb(const struct nvdp_dchi *dchi, const struct nvdp__noise *noise, int threads,
                        size_t n, const struct nvdp__token_place *place, const int32_t *tokens,
                        double *scratch, double *out);
/* NVDP_ERR_ARGUMENT unless eta, clip and dimension are positive. */
nvdp_status nvdp__sequence_check(struct nvdp_context *ctx, double eta, double clip, size_t dim);
/* Scales in [dim] to norm at most `clip`, which rounding never exceeds; out is 0 if in is not
 * finite. */
void nvdp__sequence_clip(size_t dim, double clip, const double *in, double *out);
void nvdp__sequence_perturb(const struct nvdp__noise *noise, int threads, double eta, double clip,
                            size_t texts, size_t dim, const struct nvdp__token_place *place,
                            const double *in, double *scratch, double *out);

/* Releases cached proposals (sample.c). */
void nvdp__dchi_forget(struct nvdp_dchi *dchi);
/* Computes mean, scale and norm, and with `keep` what a table of few numbers has (nearest.c); nvdp_vectors_free
 * releases them. */
nvdp_status nvdp__vectors_center(struct nvdp_context *ctx, struct nvdp_vectors *vectors, bool keep);
void nvdp__coarse_release(struct nvdp__coarse *coarse);
/* Distances of n tokens to the nearest and to the farthest other token, equal to those of a comparison of all in
 * double; INFINITY and 0 if there is no other one. */
nvdp_status nvdp__vectors_extremes(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                   size_t n, const int32_t *tokens, double *nearest,
                                   double *farthest);

#endif
