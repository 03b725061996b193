/* Text privatization, internal: declarations shared by the files of this module.
 *
 *     vectors.c       the table of word vectors, distances, scratch buffers that a call reuses
 *     mechanisms.c    the table of mechanisms                            (members.inc)
 *     nearest.c       the nearest row, by float32 products and a check in double
 *     distribution.c  exact distributions, divergences, the worst case over the vocabulary
 *     loss.c          delta and epsilon of pairs of texts; all pairs of noised vectors of texts
 *     sample.c        draws
 *     analyses.c      distances within a table, plausible deniability, attackers that guess the token
 *     privacy.c       all pairs of texts in a data set
 *     token_options.c the options of a mechanism                         (token_options.h) */
#ifndef NVDP_DCHI_DCHI_H
#define NVDP_DCHI_DCHI_H

#include "base/array.h"
#include "base/random.h"
#include "tensor/bf16.h"
#include "tensor/vector.h"
#include "text/vectors.h"
#include <nvdp/dchi.h>
#include <stdbool.h>

/* ---- the table of mechanisms ----
 *
 * No other file depends on the name of a mechanism: other files read a property of the row. The rows are defined
 * with the mathematics (distribution.c, sample.c) and listed in members.inc. The value of an option that names a
 * mechanism is 0 for "none", else 1 plus the index of the row, which is enum nvdp_dchi_mechanism. */
struct nvdp__token_row {
    const char *citation; /* name, kind of output and source of the mechanism, for statements */
    const char *scale;    /* the paper's name for eta */
    /* True if the mechanism draws tokens with known probabilities: if uses_eta is false, uniformly for any input,
     * else by the exponential mechanism over distances. False if draws are the word's vector plus Laplace noise. */
    bool exact;
    bool uses_eta; /* if false, eta must be 0 */
    /* protects only the sensitive tokens; leaves other tokens unchanged with probability 1 - p */
    bool uses_p;
    bool gives_vectors; /* outputs noised word vectors instead of tokens */
    bool on_sequence;   /* outputs one noised vector per text */
    /* If gives_vectors: the mechanism that outputs the token nearest to the vector. */
    enum nvdp_dchi_mechanism nearest;
    /* the mechanism whose divergences are upper bounds for this mechanism; NULL if the divergences of this mechanism
     * are known exactly */
    const char *bound_of;
    /* The largest log ratio between a word without a vector and another word, as a multiple of the worst case of two
     * words with vectors; +inf if no bound is proven. statement.c derives this number. */
    double unknown;
    int place; /* position in reports, where the order differs from the order of the table */
};

/* Returns the row of an option's value: a row without properties for 0 ("none"), NULL if the option has no such
 * value. */
const struct nvdp__token_row *nvdp__token_row(int choice);
/* Returns the row of a mechanism over a table; NULL if the value is no mechanism. */
const struct nvdp__token_row *nvdp__dchi_row(enum nvdp_dchi_mechanism mechanism);
const char *nvdp__dchi_name(enum nvdp_dchi_mechanism mechanism);

/* The values of options: "none" and the mechanisms of tokens. The second list also has the mechanisms of one vector
 * per text. */
extern const char *const nvdp__token_mechanism_names[];
extern const char *const nvdp__text_noise_names[];

/* Some rows of a table in 8 bits: c_j ~ step_j q_j. `sum` is step sum_k q_k, and `half` is |c|^2/2. `length` and
 * `rest` are upper bounds of |step q| and |c - step q|. */
struct nvdp__coarse {
    struct nvdp__memory memory; /* owner of the arrays; empty if another struct owns the arrays */
    int8_t *q;                  /* [rows, dim] quantized rows */
    float *step, *sum, *half, *length, *rest;
};

struct nvdp_vectors {
    size_t count, dim;
    struct nvdp__vector_rows rows;
    struct nvdp__memory memory; /* owner of mean, norm and centered */
    /* The numbers from which nearest.c computes scores: c_j = scale (row_j - mean), with scale a power of two and
     * |c_jk| <= 2. */
    double *mean; /* [dim] mean of the rows */
    double scale;
    double *norm; /* [count] |c_j| */
    /* c of all rows in small tables; else NULL, and c is computed for some rows at a time. */
    float *centered; /* [count, dim] centered rows */
    struct nvdp__coarse coarse;
};

/* The proposal distribution for the outputs of a token (sample.c). */
struct nvdp__proposal {
    /* [count] upper bounds of the outputs' weights; NULL in a large table, which computes the weights when needed */
    nvdp__bf16 *weight;
    double *sum;  /* [blocks + 1] sum of the weights before each block */
    double shift; /* the distance that has weight 1 */
    float bound;  /* `shift` times the scale of the table */
};

struct nvdp_dchi {
    const struct nvdp_vectors *vectors;
    enum nvdp_dchi_mechanism mechanism;
    const struct nvdp__token_row *row;
    double eta, p;
    /* [count] true for tokens that can be outputs; NULL if all tokens can */
    unsigned char *sensitive;
    struct nvdp__proposal *kept; /* [count] cached proposals; NULL before the first draw */
    size_t kept_bytes;
};

/* Max numbers of a table that keeps them as doubles, with 5 more bytes per number for products, for speed. A larger
 * table has what text/vectors.h needs, as a rule 4 bytes per number, and recomputes the rest for each pass over the
 * table. */
enum { NVDP__FEW_NUMBERS = 1 << 25 };
/* Creates a table of at least one row. Takes over the rows, even on error. `few` is NVDP__FEW_NUMBERS except in
 * tests. */
nvdp_status nvdp__vectors_adopt(struct nvdp_context *ctx, struct nvdp__vector_rows *rows,
                                size_t few, struct nvdp_vectors **out);
/* Returns the number of threads for one pass over so many numbers; a small table gets one thread. */
static inline int nvdp__table_threads(const struct nvdp_context *ctx, size_t numbers) {
    return numbers < NVDP__PARALLEL_MIN ? 1 : nvdp_context_threads(ctx);
}
/* Returns the numbers of a row: a pointer into the table, or to scratch [NVDP__ROW_WIDEST]. */
static inline const double *nvdp__row(const struct nvdp_vectors *vectors, size_t token,
                                      double *scratch) {
    return nvdp__vector_row(&vectors->rows, token, scratch);
}
/* Returns the distance |point - row| from a token's row. */
double nvdp__distance_from(const struct nvdp_vectors *vectors, const double *point, size_t token);

/* Writes c_j of a row, rounded to float32. */
void nvdp__vectors_center_row(const struct nvdp_vectors *vectors, size_t token, float *c);

/* Number of inputs whose distances are computed together, so that each row of the table is read once for all of
 * them. */
enum { NVDP__DCHI_BLOCK = 8 };

/* Computes |a_i - row_j| for n <= NVDP__DCHI_BLOCK vectors and all rows: out [n, count]. Each difference of
 * coordinates is squared in double, so nothing cancels. */
void nvdp__vectors_distances(const struct nvdp_vectors *vectors, size_t n, const double *const *a,
                             double *out);
/* Computes the distances |from - a_i| of n vectors. */
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

/* Sorts n tokens. Returns the number of distinct tokens, which come first. */
size_t nvdp__sort_distinct(size_t n, int32_t *token);
/* Computes P(x|x) of n tokens, for known probabilities; skips unknown tokens. */
nvdp_status nvdp__dchi_unchanged(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                                 const int32_t *tokens, double *same);

/* Returns eta times the distance between two inputs of a Laplace mechanism. An unknown token stands for a mixture
 * over the noised vectors of all tokens. The distance of the mixture from a token is at most the distance of the
 * farthest token: Renyi divergences are jointly quasi-convex (van Erven & Harremoes 2014, Theorem 13), and
 * delta(eps) is jointly convex. laplace-nearest adds no noise to unknown tokens: +inf. */
double nvdp__dchi_distance(const struct nvdp_dchi *dchi, int32_t a, int32_t b);
/* Computes D_l(a || b) of one position at m orders. rows [2, V] is a scratch buffer, which Laplace mechanisms do not
 * use. */
void nvdp__dchi_position(const struct nvdp_dchi *dchi, size_t m, const double *orders, int32_t a,
                         int32_t b, double *rows, double *out);
/* Computes nvdp_dchi_epsilon() of texts of the same length, as an interval of width at most `precision`. */
nvdp_status nvdp__dchi_epsilon(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double delta,
                               double precision, size_t length, const int32_t *a, const int32_t *b,
                               struct nvdp_interval *out);

/* Draws n of token[0..all) uniformly without replacement, and moves them to the front. */
void nvdp__dchi_draw(struct nvdp__stream *stream, size_t n, size_t all, int32_t *token);

/* Scratch buffers that draws and searches of one table reuse; initially all zeros. They grow to the size that the
 * largest batch needs. */
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
    struct nvdp__bf16_engine *integers; /* holds rows of the table in the engine's layout */
    struct nvdp__coarse coarse;         /* rows that the table does not keep */
};
struct nvdp__scratch_array {
    enum nvdp__scratch_block block;
    struct nvdp__array array;
};
nvdp_status nvdp__dchi_scratch(struct nvdp_context *ctx, struct nvdp__dchi_scratch *scratch,
                               const struct nvdp__scratch_array *array, size_t arrays);
/* Allocates as NVDP__ARRAYS does, but each block keeps its previous content. Example: NVDP__SCRATCH(ctx, scratch,
 * NVDP__IN_BLOCK(PLACE, place, n), NVDP__IN_BLOCK(ROWS, rows, n * dim)). */
#define NVDP__SCRATCH(ctx, scratch, ...)                                                           \
    nvdp__dchi_scratch(ctx, scratch, (const struct nvdp__scratch_array[]){__VA_ARGS__},            \
                       sizeof((const struct nvdp__scratch_array[]){__VA_ARGS__}) /                 \
                           sizeof(struct nvdp__scratch_array))
#define NVDP__IN_BLOCK(name, pointer, count)                                                       \
    { NVDP__SCRATCH_##name, NVDP__ITEMS(pointer, count) }
void nvdp__dchi_scratch_release(struct nvdp__dchi_scratch *scratch);

/* Do what nvdp_dchi_sample(), nvdp__vectors_nearest() and nvdp_dchi_perturb() do, with reused scratch buffers. */
nvdp_status nvdp__dchi_sample(struct nvdp_context *ctx, struct nvdp_dchi *dchi,
                              struct nvdp__dchi_scratch *scratch, size_t texts,
                              const size_t *offset, const int32_t *tokens, const uint64_t *seed,
                              uint64_t first, int32_t *out);
nvdp_status nvdp__vectors_nearest_reusing(struct nvdp_context *ctx,
                                          const struct nvdp_vectors *vectors,
                                          struct nvdp__dchi_scratch *scratch, size_t n,
                                          const double *points, int32_t *nearest);
nvdp_status nvdp__dchi_perturb_texts(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                     struct nvdp__dchi_scratch *scratch, size_t texts,
                                     const size_t *offset, const int32_t *tokens,
                                     const uint64_t *seed, uint64_t first, double *out);

/* The text of a token and the token's position, which are the key of a random stream. */
struct nvdp__token_place {
    uint64_t text;
    uint32_t position;
};
/* Makes the draws of nvdp_dchi_perturb() for tokens in any order, without checks and allocations. scratch [threads,
 * dim]. */
void nvdp__dchi_perturb(const struct nvdp_dchi *dchi, const struct nvdp__noise *noise, int threads,
                        size_t n, const struct nvdp__token_place *place, const int32_t *tokens,
                        double *scratch, double *out);
/* Fails with NVDP_ERR_ARGUMENT unless eta, clip and dimension are positive. */
nvdp_status nvdp__sequence_check(struct nvdp_context *ctx, double eta, double clip, size_t dim);
/* Scales in [dim] to a norm of at most `clip`, which rounding never exceeds; out is 0 if `in` is not finite. */
void nvdp__sequence_clip(size_t dim, double clip, const double *in, double *out);
/* Clips the norm of one vector per text and adds the noise of laplace (Qu et al. 2021, section 3.2.3). The result is
 * eta |s - s'|-private and, with norms of at most C, 2 C eta-private for any two texts. A vector with a number that
 * is not finite counts as 0, so that no text is rejected. The function neither checks nor allocates. scratch
 * [threads, dim]; out may be in. */
void nvdp__sequence_perturb(const struct nvdp__noise *noise, int threads, double eta, double clip,
                            size_t texts, size_t dim, const struct nvdp__token_place *place,
                            const double *in, double *scratch, double *out);

/* Releases cached proposals (sample.c). */
void nvdp__dchi_forget(struct nvdp_dchi *dchi);
/* Computes mean, scale and norm and, if `keep`, the arrays of a small table (nearest.c); nvdp_vectors_free()
 * releases all of them. */
nvdp_status nvdp__vectors_center(struct nvdp_context *ctx, struct nvdp_vectors *vectors, bool keep);
void nvdp__coarse_release(struct nvdp__coarse *coarse);
/* Computes the distances of n tokens to the nearest and to the farthest other token, equal to the result of
 * comparing all tokens in double; INFINITY and 0 if there is no other token. */
nvdp_status nvdp__vectors_extremes(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                   size_t n, const int32_t *tokens, double *nearest,
                                   double *farthest);

/* Measures plausible deniability of tokens (Feyisetan et al. 2020; Yue et al. 2021, section 5.5). N_w is the
 * probability that a token is unchanged; S_w is the number of distinct outputs in `draws` draws. For laplace, the
 * output is the token nearest to the vector. N_w is exact if the distribution is known.
 * ctx: records messages, can cancel, provides threads
 * dchi: mechanism
 * n: number of tokens
 * tokens: [n] below V, or NVDP_DCHI_UNKNOWN
 * draws: number of draws per token
 * seed: seed of the draws
 * same: [n] N_w in [0, 1]
 * distinct: [n] S_w, at most draws
 * Returns NVDP_ERR_ARGUMENT for an invalid token, NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp__dchi_deniability(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                                   const int32_t *tokens, size_t draws, uint64_t seed, double *same,
                                   double *distinct);

/* Counts S*_y (Yue et al. 2021, section 5.5): the number of inputs that became y at least once in `draws` draws
 * each, with the draws of nvdp__dchi_deniability().
 * ctx: records messages, can cancel, provides threads
 * dchi: mechanism
 * n: number of inputs
 * tokens: [n] below V, or NVDP_DCHI_UNKNOWN
 * draws: number of draws per input
 * seed: seed of the draws
 * inputs: [V] S*_y, at most n
 * Returns as nvdp__dchi_deniability() */
nvdp_status nvdp__dchi_sources(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                               const int32_t *tokens, size_t draws, uint64_t seed, double *inputs);

/* Measures the distances of a table. O(n V d).
 * ctx: records messages, provides threads; the same bits for any number
 * vectors: table
 * tokens: n: number of tokens drawn without replacement; 0: all
 * seed: seed of the draws
 * out: the distances
 * Returns NVDP_ERR_ARGUMENT for a struct without its size, NVDP_ERR_MEMORY */
nvdp_status nvdp__vectors_geometry(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                   size_t tokens, uint64_t seed, struct nvdp_geometry *out);

/* Finds the token nearest to each of n points, in the Euclidean norm; ties give the lowest token.
 *
 * Products of blocks compute the scores |c|^2/2 - y.c: for 32 points or more in 8-bit integers if the processor
 * supports such products, else in float32. Tokens that could still be nearest, given the error of the scores, are
 * compared again in double, so the result equals that of a search in double. O(n V d); memory 16 MiB and 4 d for
 * each of at most 1,024 points, and for 4,096 tokens of a large table.
 * ctx: records messages, provides threads; the result is the same for any number
 * vectors: table
 * n: number of points
 * points: [n, d] finite
 * nearest: [n] tokens
 * Returns NVDP_ERR_ARGUMENT for a point that is not finite, NVDP_ERR_MEMORY */
nvdp_status nvdp__vectors_nearest(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                  size_t n, const double *points, int32_t *nearest);

/* Computes distances to the k-th nearest other token (Qu et al. 2021, Figure 3). O(n V (d + log V)).
 * ctx: records messages, can cancel, provides threads; the same bits for any number
 * vectors: table
 * n: number of tokens
 * tokens: [n] below V
 * m: number of neighbor ranks
 * k: [m] neighbor ranks, 1 (the nearest) to V - 1
 * distance: [n, m]
 * Returns NVDP_ERR_ARGUMENT for an invalid token or k, NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp__vectors_neighbors(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                    size_t n, const int32_t *tokens, size_t m, const size_t *k,
                                    double *distance);

/* Copies the vector of a token.
 * vectors: table
 * token: below V
 * out: [d] */
void nvdp__vectors_row(const struct nvdp_vectors *vectors, size_t token, double *out);

#endif
