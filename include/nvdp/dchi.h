/** @file dchi.h
 * Text privatization one token at a time: d_chi-private mechanisms over word vectors.
 *
 * A token x has a vector phi(x) in R^d; |.| is the Euclidean norm, logarithms are natural.  Draws of
 * a text's positions are independent.
 *
 * @verbatim
 *     laplace           phi(x) + N, density of N ~ exp(-eta |N|)      Qu et al. 2021, Eq. 3
 *     laplace-nearest   the token nearest to that, ties: the lowest   Feyisetan et al. 2020; Qu, Eq. 4
 *     santext           P(y|x) ~ exp(-eta/2 |phi(x) - phi(y)|)        Yue et al. 2021, Eq. 1
 *     santext-plus      x sensitive: santext over the sensitive       Yue et al. 2021, Algorithm 2
 *                       tokens; else x itself with probability
 *                       1 - p, and santext over them with p
 *     random            uniform
 * @endverbatim
 *
 * The first three are eta d-private: no output tells x from x' by a log ratio above
 * eta |phi(x) - phi(x')|.  eta is per unit of distance (SanText writes epsilon for it).  santext-plus
 * protects the sensitive tokens alone: what it leaves as it is, is told apart with certainty.
 *
 * A table holds the tokens that may come in and go out: special tokens are not put into it, and
 * tokens are numbers of its rows.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_DCHI_H
#define NVDP_DCHI_H

#include <nvdp/config.h>
#include <nvdp/export.h>
#include <nvdp/rdp.h>

NVDP_BEGIN_DECLS

/** A table of word vectors, opaque and never changed. */
struct nvdp_vectors;

/** Makes a table from an array, which is copied.  O(count x dim), 13 bytes an element.
 * @param ctx    records messages
 * @param count  tokens V, 1 to 2^31 - 1
 * @param dim    d, at least 1
 * @param values [V, d] finite, at most 1e150
 * @param[out] out the table; nvdp_vectors_free()
 * @return NVDP_ERR_ARGUMENT for a size out of its range, NVDP_ERR_INPUT for another value, NVDP_ERR_MEMORY */
nvdp_status nvdp_vectors_create(struct nvdp_context *ctx, size_t count, size_t dim,
                                const double *values, struct nvdp_vectors **out);
/** Releases a table; mechanisms over it are released before.
 * @param vectors NULL is allowed */
void nvdp_vectors_free(struct nvdp_vectors *vectors);
/** How many tokens.
 * @param vectors table
 * @return V */
size_t nvdp_vectors_count(const struct nvdp_vectors *vectors);
/** How many dimensions.
 * @param vectors table
 * @return d */
size_t nvdp_vectors_dim(const struct nvdp_vectors *vectors);
/** A token's vector.
 * @param vectors table
 * @param token   below V
 * @return [d], the table's own */
const double *nvdp_vectors_row(const struct nvdp_vectors *vectors, size_t token);

/** The token nearest to each of n points, in the Euclidean norm; of equals the lowest.
 *
 * Scores |c|^2/2 - y.c come from products of blocks, of 32 points or more in 8-bit integers where the
 * processor has such products, else in float32; the tokens which their error cannot rule out are compared
 * again in double: the result is that of a search in double.  O(n V d), memory 16 MiB and
 * 4 d for each of at most 1,024 points, or 32 rows of scores.
 * @param ctx     records messages, lends threads: the same result on any number
 * @param vectors table
 * @param n       points
 * @param points  [n, d] finite
 * @param nearest [n] tokens
 * @return NVDP_ERR_ARGUMENT for a point that is not finite, NVDP_ERR_MEMORY */
nvdp_status nvdp_vectors_nearest(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                 size_t n, const double *points, int32_t *nearest);

/** The mechanisms. */
enum nvdp_dchi_mechanism {
    NVDP_DCHI_LAPLACE,         /**< the noised vector */
    NVDP_DCHI_LAPLACE_NEAREST, /**< the token nearest to it */
    NVDP_DCHI_SANTEXT,         /**< exponential mechanism over all tokens */
    NVDP_DCHI_SANTEXT_PLUS,    /**< the same for and over the sensitive tokens */
    NVDP_DCHI_RANDOM           /**< any token, whatever the input */
};

/** Properties of a mechanism of text privatization. */
struct nvdp_text_mechanism_info {
    size_t struct_size;   /**< NVDP_RESULT() sets it */
    const char *name;     /**< as options and files have it; static */
    const char *citation; /**< name, what comes out, and the source; static; NULL for "none" */
    int mechanism;        /**< enum nvdp_dchi_mechanism; -1 for "none" and on_sequence */
    bool exact; /**< gives tokens, whose probabilities are known; else the noise is Laplace noise */
    bool uses_eta;      /**< else eta must be 0 */
    bool uses_p;        /**< protects the sensitive tokens alone, and reads p */
    bool gives_vectors; /**< gives noised word vectors in place of tokens */
    bool on_sequence;   /**< gives one noised vector per text: nvdp_sequence_laplace() */
    int place;          /**< order in reports, from 0 */
};
/** Describes a mechanism of text privatization.
 * @param ctx  where an error is recorded; NULL: nowhere
 * @param name a value of the options mechanism and token-noise: "none", "santext" ...
 * @param out  the properties
 * @return NVDP_ERR_ARGUMENT: no such mechanism, or *out does not tell its size */
nvdp_status nvdp_text_mechanism_describe(struct nvdp_context *ctx, const char *name,
                                         struct nvdp_text_mechanism_info *out);

/** A mechanism over a table, opaque. */
struct nvdp_dchi;

/** What stands in the place of a token. */
enum {
    NVDP_DCHI_UNKNOWN =
        -1 /**< a word that is not in the table: what comes out for it is a uniform draw
                                from the table, and of laplace such a token's noised vector; it says
                                nothing of the word */
};

/** Makes a mechanism.  O(V).
 * @param ctx       records messages
 * @param vectors   table, which must outlive it
 * @param mechanism which
 * @param eta       > 0 and finite, in nats per unit of distance: eta, or SanText's epsilon; unread by
 *                  random
 * @param p         of santext-plus: the probability, in (0, 1), that a token which is not sensitive is
 *                  replaced; unread by the others
 * @param sensitive [V] of santext-plus: not 0 where the token is sensitive, at least once; unread by
 *                  the others
 * @param[out] out  the mechanism; nvdp_dchi_free()
 * @return NVDP_ERR_ARGUMENT for a value out of its range, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_create(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                             enum nvdp_dchi_mechanism mechanism, double eta, double p,
                             const unsigned char *sensitive, struct nvdp_dchi **out);
/** Releases a mechanism.
 * @param dchi NULL is allowed */
void nvdp_dchi_free(struct nvdp_dchi *dchi);

/** Exact distributions of outputs, of santext, santext-plus and random.  O(n V d), on the context's
 * threads, with the same bits on any number of them.
 * @param ctx    records messages
 * @param dchi   mechanism
 * @param n      inputs
 * @param tokens [n] below V, or NVDP_DCHI_UNKNOWN
 * @param log_p  [n, V] log P(y|x), -inf where y never comes out
 * @return NVDP_ERR_UNSUPPORTED for the two others, whose distributions have no closed form,
 *     NVDP_ERR_ARGUMENT for a token that is none, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_log_probabilities(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                        size_t n, const int32_t *tokens, double *log_p);

/** Draws a token for every token: santext, santext-plus, random, laplace-nearest.
 *
 * The noise of a position comes from its own stream, keyed by seed, number of the text and position:
 * the same on any number of threads, in any batch.  A second draw of a text takes another number or
 * seed.  Without a seed it comes from the operating system's generator, under a new key each call:
 * what is given away is drawn so.  Uniforms have 53 bits: what is less likely than about 2^-53 may
 * never come out, though its probability is not 0.
 *
 * santext proposes outputs by weights from float32 distances and keeps or rejects them by their exact
 * probabilities.  A token's weights are kept, 2 V bytes, 256 MiB of them in all; those beyond are made
 * again.  O(V d) a distinct token without them, O(d + log V) a draw.
 * @param ctx    records messages, lends threads
 * @param dchi   mechanism, used by one call at a time
 * @param texts  how many
 * @param offset [texts + 1] where each text's tokens begin, from 0
 * @param tokens [offset[texts]] below V, or NVDP_DCHI_UNKNOWN
 * @param seed   NULL: the operating system's generator, never repeated; else for tests and experiments alone:
 *               whoever knows the seed can undo the draws
 * @param first  number of the first text; the others follow
 * @param out    [offset[texts]] tokens; may be tokens
 * @return NVDP_ERR_UNSUPPORTED for laplace, NVDP_ERR_ARGUMENT for a token that is none,
 *     NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_sample(struct nvdp_context *ctx, struct nvdp_dchi *dchi, size_t texts,
                             const size_t *offset, const int32_t *tokens, const uint64_t *seed,
                             uint64_t first, int32_t *out);

/** Draws a noised vector for every token: laplace, and what laplace-nearest draws before it looks for
 * the nearest, of the same streams.
 *
 *     phi(x) + r u,    r ~ Gamma(d, 1/eta),  u uniform on the sphere:  E r = d/eta.
 *
 * Parameters and errors are those of nvdp_dchi_sample().
 * @param ctx    records messages, lends threads
 * @param dchi   laplace or laplace-nearest
 * @param texts  how many
 * @param offset [texts + 1]
 * @param tokens [offset[texts]]
 * @param seed   as in nvdp_dchi_sample()
 * @param first  number of the first text
 * @param out    [offset[texts], d]
 * @return NVDP_ERR_UNSUPPORTED for the others, NVDP_ERR_ARGUMENT, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_perturb(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t texts,
                              const size_t *offset, const int32_t *tokens, const uint64_t *seed,
                              uint64_t first, double *out);

/** The same noise on one vector a text (Qu et al. 2021, section 3.2.3): eta |s - s'|-private, and with
 * vectors scaled to norm C at most 2 C eta-private for any two.  O(texts d).
 * @param ctx   records messages, lends threads
 * @param eta   > 0 and finite
 * @param clip  C > 0; INFINITY: as they are
 * @param texts how many
 * @param dim   d, at least 1
 * @param in    [texts, d]; a vector with a number that is not finite counts as 0, so that no text is refused
 * @param seed  as in nvdp_dchi_sample()
 * @param first number of the first text
 * @param out   [texts, d]; may be in
 * @return NVDP_ERR_ARGUMENT for a value out of its range, NVDP_ERR_UNSUPPORTED without a source of
 *     randomness */
nvdp_status nvdp_sequence_laplace(struct nvdp_context *ctx, double eta, double clip, size_t texts,
                                  size_t dim, const double *in, const uint64_t *seed,
                                  uint64_t first, double *out);

/** Renyi divergences D_l(M(a) || M(b)) between the outputs of two texts: the sums over their
 * positions.  A text of one token makes it a token's.  Order INFINITY is the largest log ratio that
 * any output has.  Lengths are public: texts of different length are +inf.
 *
 * Of laplace by nvdp_renyi_laplace(), of order INFINITY the sum of eta |phi(a_i) - phi(b_i)|, which bounds
 * every order; by post-processing all these are bounds for laplace-nearest.  A noised uniform draw, which
 * laplace makes of an unknown token, counts with the largest distance from the other to any token, which
 * bounds it (Renyi divergences are quasi-convex); laplace-nearest does not noise its uniform draw: +inf.
 * O(length x V x (d + m)).
 * @param ctx      records messages
 * @param dchi     mechanism
 * @param m        orders
 * @param orders   [m] l > 0; 1 is the Kullback-Leibler divergence
 * @param length_a tokens of the first text
 * @param a        [length_a] below V, or NVDP_DCHI_UNKNOWN
 * @param length_b tokens of the second
 * @param b        [length_b] below V, or NVDP_DCHI_UNKNOWN
 * @param[out] out [m] nats, >= 0 or +inf
 * @return NVDP_ERR_ARGUMENT for an order <= 0 or a token that is none, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_divergence(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t m,
                                 const double *orders, size_t length_a, const int32_t *a,
                                 size_t length_b, const int32_t *b, double *out);

/** The least epsilon at which the outputs of text a are (epsilon, delta)-indistinguishable from those of
 * text b: P_a(S) <= e^epsilon P_b(S) + delta for every set S of outputs.  With the privacy loss
 * L = log P_a(y)/P_b(y), y ~ P_a, the sum over positions of independent losses,
 *
 *     delta(epsilon) = E (1 - e^(epsilon - L))_+.
 *
 * The loss of a position is known: a sum over V outputs, or one integral for laplace (rdp/loss.c).  They are
 * added on a grid, rounded down, and up for the other end: what is looked for is between low and high, whose
 * distance is a thousandth of it (1e-4 where it is small; more than that where the grid would need 2^22
 * points).  Of laplace-nearest high is the bound that laplace gives, and low is 0; so it is with an unknown
 * token of laplace, which is bounded as by nvdp_dchi_divergence().  Where a Laplace mechanism's distances
 * have a sum above 5e11, low is 0 and high that sum.
 * O(length (V d + G log G)), G points.
 * @param ctx      records messages, lends threads
 * @param dchi     mechanism
 * @param delta    in (0, 1)
 * @param length_a tokens of the first text
 * @param a        [length_a] below V, or NVDP_DCHI_UNKNOWN
 * @param length_b tokens of the second; another length: +inf
 * @param b        [length_b] below V, or NVDP_DCHI_UNKNOWN
 * @param[out] out nats; +inf where something of a probability above delta tells them apart for certain
 * @return NVDP_ERR_ARGUMENT for a delta out of its range or a token that is none, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_epsilon(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double delta,
                              size_t length_a, const int32_t *a, size_t length_b, const int32_t *b,
                              struct nvdp_interval *out);

/** The same the other way round: delta(epsilon).
 * @param ctx      records messages, lends threads
 * @param dchi     mechanism
 * @param epsilon  >= 0, finite
 * @param length_a tokens of the first text
 * @param a        [length_a] below V, or NVDP_DCHI_UNKNOWN
 * @param length_b tokens of the second; another length: 1
 * @param b        [length_b] below V, or NVDP_DCHI_UNKNOWN
 * @param[out] out what delta lies in
 * @return NVDP_ERR_ARGUMENT, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_delta(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double epsilon,
                            size_t length_a, const int32_t *a, size_t length_b, const int32_t *b,
                            struct nvdp_interval *out);

/** The vocabulary's worst, in nats. */
struct nvdp_dchi_worst {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    double value; /**< the largest log ratio of any output between two inputs; +inf where any is */
    double infinite; /**< share of the ordered pairs of different tokens where it is +inf, exact */
    double finite;   /**< the largest finite one: x is protected, which is any token but those that
                          santext-plus may leave as they are; 0 where there is none */
    size_t x;        /**< the token x of log P(y|x)/P(y|x') that attains finite */
    size_t x2;       /**< its x' */
    double
        bound; /**< above all finite ratios: eta times the largest distance, for a token x' that is
                        not protected log 1/p more */
    size_t inputs; /**< protected tokens that were searched as x */
};

/** The largest log ratio over pairs of the vocabulary: exact, or over drawn tokens.
 *
 * Of santext the largest over y of log P(y|x)/P(y|x') is attained at y = x (triangle inequality):
 *
 *     eta/2 |phi(x) - phi(x')|  +  log C_x  -  log C_x',    1/C_x = sum_y exp(-eta/2 |phi(x) - phi(y)|);
 *
 * of santext-plus as well where x is protected, with sums over the protected y, and log 1/p more where x'
 * is not: eta0 of its UMLDP.  Where x is not protected the ratio is +inf: nothing else puts x out.  Of
 * laplace it is eta times the distance, which bounds laplace-nearest's.  O(n (V + n) d), memory
 * O(V) a thread.  Where tokens are drawn, bound rests on distances from the mean, and holds for all.
 * @param ctx    records messages, is asked to cancel, lends threads: the same bits on any number
 * @param dchi   mechanism
 * @param inputs n: how many protected tokens are drawn, without replacement, and as many of the others;
 *               0: all
 * @param seed   of the drawing
 * @param[out] out the worst
 * @return NVDP_ERR_ARGUMENT for a struct without its size, NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_worst(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t inputs,
                            uint64_t seed, struct nvdp_dchi_worst *out);

/** How far apart a table's vectors are. */
struct nvdp_geometry {
    size_t struct_size;    /**< NVDP_RESULT() sets it */
    size_t tokens;         /**< that were measured, against all */
    double nearest_median; /**< median distance to the nearest other token */
    double pair_median;    /**< median distance of two of the tokens */
    double pair_max;       /**< the largest distance of one of the tokens from any */
    double
        diameter_bound; /**< no two of all tokens are further apart: twice the largest distance from the
                                mean, or pair_max where all were measured */
};

/** Measures a table.  O(n V d).
 * @param ctx     records messages, lends threads: the same bits on any number
 * @param vectors table
 * @param tokens  n: how many are drawn, without replacement; 0: all
 * @param seed    of the drawing
 * @param[out] out the distances
 * @return NVDP_ERR_ARGUMENT for a struct without its size, NVDP_ERR_MEMORY */
nvdp_status nvdp_vectors_geometry(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                  size_t tokens, uint64_t seed, struct nvdp_geometry *out);

/** Plausible deniability of tokens (Feyisetan et al. 2020; Yue et al. 2021, section 5.5): N_w, how often a
 * token comes out as itself, and S_w, how many different ones come out in so many draws.  Of laplace those
 * of the token nearest to what comes out.  N_w is exact where the distribution is known.
 * @param ctx      records messages, is asked to cancel, lends threads
 * @param dchi     mechanism
 * @param n        tokens
 * @param tokens   [n] below V, or NVDP_DCHI_UNKNOWN
 * @param draws    of each
 * @param seed     of the draws
 * @param same     [n] N_w in [0, 1]
 * @param distinct [n] S_w, at most draws
 * @return NVDP_ERR_ARGUMENT for a token that is none, NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_deniability(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                                  const int32_t *tokens, size_t draws, uint64_t seed, double *same,
                                  double *distinct);

/** S*_y (Yue et al. 2021, section 5.5): how many of the inputs became y at least once in so many draws of
 * each; the draws of nvdp_dchi_deniability().
 * @param ctx    records messages, is asked to cancel, lends threads
 * @param dchi   mechanism
 * @param n      inputs
 * @param tokens [n] below V, or NVDP_DCHI_UNKNOWN
 * @param draws  of each
 * @param seed   of the draws
 * @param inputs [V] S*_y, at most n
 * @return as nvdp_dchi_deniability() */
nvdp_status nvdp_dchi_sources(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                              const int32_t *tokens, size_t draws, uint64_t seed, double *inputs);

/** Distances to the k-th nearest other token (Qu et al. 2021, Figure 3).  O(n V (d + log V)).
 * @param ctx      records messages, is asked to cancel, lends threads: the same bits on any number
 * @param vectors  table
 * @param n        tokens
 * @param tokens   [n] below V
 * @param m        how many neighbours are asked for
 * @param k        [m] which, 1 (the nearest) to V - 1
 * @param distance [n, m]
 * @return NVDP_ERR_ARGUMENT for a token or a k that is none, NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp_vectors_neighbors(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                   size_t n, const int32_t *tokens, size_t m, const size_t *k,
                                   double *distance);

/** How often an attacker who sees one token's output names the token, inputs being drawn by a prior. */
struct nvdp_inversion {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    double prior;       /**< who sees nothing and names the most frequent */
    double nearest;     /**< who names the token nearest to what came out (Qu et al. 2021, Table 3):
                               of mechanisms that give tokens, that token itself */
    double bayes; /**< who knows prior and mechanism, and names argmax_x prior(x) P(out|x): the
                               most from one token, on average over that prior.  Of laplace-nearest the one who sees the noised vector, which
                               bounds the one who sees the token */
    double nearest_error; /**< standard error; 0: exact */
    double bayes_error;   /**< standard error; 0: exact */
    size_t draws;         /**< that they rest on; 0: none, exact */
};

/** Accuracy of token inversion: exact for santext, santext-plus and random, O(inputs V d); of the
 * Laplace mechanisms estimated from draws, O(draws V d).
 * @param ctx   records messages, is asked to cancel, lends threads
 * @param dchi  mechanism
 * @param prior [V] weights of the inputs, such as a corpus's counts; at least one above 0
 * @param draws of the Laplace mechanisms; unread by the others
 * @param seed  of the draws
 * @param[in,out] out filled as far as its struct_size reaches
 * @return NVDP_ERR_ARGUMENT for another prior, no draws, a struct without its size; NVDP_ERR_CANCELLED,
 *     NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_inversion(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                const double *prior, size_t draws, uint64_t seed,
                                struct nvdp_inversion *out);

NVDP_END_DECLS
#endif
