/** @file dchi.h
 * Text privatization token by token: d_chi-private mechanisms on word vectors.
 *
 * A token x has a vector phi(x) in R^d; |.| is the Euclidean norm, logarithms are natural. Draws at different
 * positions of a text are independent.
 *
 * @verbatim
 *     laplace           phi(x) + N, density of N ~ exp(-eta |N|)      Qu et al. 2021, Eq. 3
 *     laplace-nearest   the token nearest to this vector; ties go     Feyisetan et al. 2020; Qu, Eq. 4
 *                       to the lowest token number
 *     santext           P(y|x) ~ exp(-eta/2 |phi(x) - phi(y)|)        Yue et al. 2021, Eq. 1
 *     santext-plus      x sensitive: santext over the sensitive       Yue et al. 2021, Algorithm 2
 *                       tokens; else x itself with probability
 *                       1 - p, and santext over the sensitive
 *                       tokens with probability p
 *     random            a uniformly drawn token
 * @endverbatim
 *
 * The first three are eta d-private: for every output, the log ratio of its probabilities for x and x' is at most
 * eta |phi(x) - phi(x')|. eta is per unit of distance (SanText calls it epsilon). santext-plus protects only the
 * sensitive tokens: an unchanged token is identified with certainty.
 *
 * A table has the possible inputs and outputs, without special tokens. A token is a row number of the table.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_DCHI_H
#define NVDP_DCHI_H

#include <nvdp/config.h>
#include <nvdp/export.h>
#include <nvdp/rdp.h>

NVDP_BEGIN_DECLS

/** A table of word vectors; opaque and immutable. */
struct nvdp_vectors;

/** Creates a table from a copy of an array. O(count x dim). Up to 2^25 elements take 13 bytes each. In a larger table,
 * an element takes 4 bytes if all values of its row are float32 values, else 8 bytes.
 * @param ctx      records messages
 * @param count    V, number of tokens, 1 to 2^31 - 1
 * @param dim      d, at least 1
 * @param values   [V, d] finite, at most 1e150 in magnitude; values below 1e-130 in magnitude become 0
 * @param[out] out the table, freed with nvdp_vectors_free()
 * @return NVDP_ERR_ARGUMENT for a size out of its range, NVDP_ERR_INPUT for another value, NVDP_ERR_MEMORY */
nvdp_status nvdp_vectors_create(struct nvdp_context *ctx, size_t count, size_t dim,
                                const double *values, struct nvdp_vectors **out);
/** Frees a table. Free the mechanisms that use it first.
 * @param vectors may be NULL */
void nvdp_vectors_free(struct nvdp_vectors *vectors);
/** Returns the number of tokens.
 * @param vectors table
 * @return V */
size_t nvdp_vectors_count(const struct nvdp_vectors *vectors);
/** Returns the number of dimensions.
 * @param vectors table
 * @return d */
size_t nvdp_vectors_dim(const struct nvdp_vectors *vectors);

/** Mechanisms. */
enum nvdp_dchi_mechanism {
    NVDP_DCHI_LAPLACE,         /**< the noised vector */
    NVDP_DCHI_LAPLACE_NEAREST, /**< the token nearest to the noised vector */
    NVDP_DCHI_SANTEXT,         /**< exponential mechanism over all tokens */
    NVDP_DCHI_SANTEXT_PLUS,    /**< santext over the sensitive tokens */
    NVDP_DCHI_RANDOM           /**< a uniform token for every input */
};

/** Properties of a mechanism of text privatization. */
struct nvdp_text_mechanism_info {
    size_t struct_size;   /**< NVDP_RESULT() sets it */
    const char *name;     /**< name in options and files; static */
    const char *citation; /**< name, output and source; static; NULL for "none" */
    int mechanism;        /**< enum nvdp_dchi_mechanism; -1 for "none" and on_sequence */
    /** The mechanism outputs tokens with known probabilities; false for Laplace noise. */
    bool exact;
    bool uses_eta;      /**< the mechanism has the parameter eta; if false, eta must be 0 */
    bool uses_p;        /**< protects only the sensitive tokens, and uses p */
    bool gives_vectors; /**< gives noised word vectors instead of tokens */
    bool on_sequence;   /**< gives one noised vector per text */
    int place;          /**< position in reports, from 0 */
};
/** Describes a mechanism of text privatization.
 * @param ctx  records an error; may be NULL
 * @param name a value of the options mechanism and token-noise: "none", "santext" ...
 * @param out  the properties
 * @return NVDP_ERR_ARGUMENT if there is no such mechanism or *out has no struct_size */
nvdp_status nvdp_text_mechanism_describe(struct nvdp_context *ctx, const char *name,
                                         struct nvdp_text_mechanism_info *out);

/** A mechanism and the table that it uses; opaque. */
struct nvdp_dchi;

/** Special token numbers. */
enum {
    /** A word that is not in the table. A uniformly drawn token replaces it, so the output does not depend on the
     * word. */
    NVDP_DCHI_UNKNOWN = -1
};

/** Creates a mechanism. O(V).
 * @param ctx       records messages
 * @param vectors   table, which must outlive the mechanism
 * @param mechanism the mechanism
 * @param eta       eta (epsilon of SanText), in nats per unit of distance, > 0 and finite; random ignores it
 * @param p         probability, in (0, 1), that a token that is not sensitive is replaced; only santext-plus reads it
 * @param sensitive [V] not 0 for sensitive tokens, at least one of them; only santext-plus reads it
 * @param[out] out  the mechanism, freed with nvdp_dchi_free()
 * @return NVDP_ERR_ARGUMENT for a value out of its range, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_create(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                             enum nvdp_dchi_mechanism mechanism, double eta, double p,
                             const unsigned char *sensitive, struct nvdp_dchi **out);
/** Frees a mechanism.
 * @param dchi may be NULL */
void nvdp_dchi_free(struct nvdp_dchi *dchi);

/** Computes the exact output distributions of santext, santext-plus and random. O(n V d), on the context's threads;
 * the same bits for any number of threads.
 * @param ctx    records messages
 * @param dchi   mechanism
 * @param n      number of inputs
 * @param tokens [n] below V, or NVDP_DCHI_UNKNOWN
 * @param log_p  [n, V] log P(y|x); -inf for probability 0
 * @return NVDP_ERR_UNSUPPORTED for the Laplace mechanisms, whose distributions have no closed form;
 *         NVDP_ERR_ARGUMENT for an invalid token; NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_log_probabilities(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                        size_t n, const int32_t *tokens, double *log_p);

/** Draws an output token for every token: santext, santext-plus, random, laplace-nearest.
 *
 * With a seed, every position has its own random stream, keyed by seed, number of the text and position. The result
 * is the same for any number of threads and any batches. Use another number or seed to draw a text again. Without a
 * seed, randomness comes from the operating system's generator, with a new key per call; use this for data that are
 * shared. Uniform numbers have 53 bits, so outputs with a probability below about 2^-53 may never occur.
 *
 * santext proposes outputs by weights from float32 distances, and accepts or rejects them by their exact
 * probabilities. The weights of a token take 2 V bytes. They are cached up to a total of 256 MiB; weights that are not
 * cached are recomputed. For a large table (nvdp_vectors_create()), V / 8 bytes per token are cached, and each draw
 * recomputes 64 weights. O(V d) per distinct token that is not cached, O(d + log V) per draw.
 * @param ctx    records messages, provides threads
 * @param dchi   mechanism; one call at a time may use it
 * @param texts  number of texts
 * @param offset [texts + 1] first token of each text, from 0
 * @param tokens [offset[texts]] below V, or NVDP_DCHI_UNKNOWN
 * @param seed   NULL for the operating system's generator, which never repeats a draw. Give a seed only in tests and
 *               experiments, because whoever knows the seed can undo the draws
 * @param first  number of the first text; the following texts have the next numbers
 * @param out    [offset[texts]] tokens; may be the array @p tokens
 * @return NVDP_ERR_UNSUPPORTED for laplace, NVDP_ERR_ARGUMENT for an invalid token, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_sample(struct nvdp_context *ctx, struct nvdp_dchi *dchi, size_t texts,
                             const size_t *offset, const int32_t *tokens, const uint64_t *seed,
                             uint64_t first, int32_t *out);

/** Draws a noised vector for every token. This is the output of laplace, and the vector whose nearest token
 * laplace-nearest returns. Uses the same random streams as nvdp_dchi_sample().
 *
 *     phi(x) + r u,    r ~ Gamma(d, 1/eta),  u uniform on the sphere:  E r = d/eta.
 *
 * Parameters and errors are the same as in nvdp_dchi_sample().
 * @param ctx    records messages, provides threads
 * @param dchi   laplace or laplace-nearest
 * @param texts  number of texts
 * @param offset [texts + 1]
 * @param tokens [offset[texts]]
 * @param seed   as in nvdp_dchi_sample()
 * @param first  number of the first text
 * @param out    [offset[texts], d]
 * @return NVDP_ERR_UNSUPPORTED for the other mechanisms, NVDP_ERR_ARGUMENT, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_perturb(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t texts,
                              const size_t *offset, const int32_t *tokens, const uint64_t *seed,
                              uint64_t first, double *out);

/** Computes Renyi divergences D_l(M(a) || M(b)) between the outputs of two texts, as sums over the positions of the
 * texts. For texts of one token, these are the divergences of the tokens. Order INFINITY is the largest log ratio of
 * any output. Lengths are public: the divergence of texts of different lengths is +inf.
 *
 * laplace uses nvdp_renyi_laplace(); order INFINITY is the sum of eta |phi(a_i) - phi(b_i)|, which bounds every
 * order. By post-processing, these values are upper bounds for laplace-nearest. For an unknown token, laplace noises
 * a uniformly drawn token. The bound is then the divergence at the largest distance from the other token to any
 * token, because Renyi divergences are quasi-convex. laplace-nearest adds no noise to the uniformly drawn token, so the
 * divergence is +inf.
 * O(length x V x (d + m)).
 * @param ctx      records messages
 * @param dchi     mechanism
 * @param m        number of orders
 * @param orders   [m] l > 0; 1 is the Kullback-Leibler divergence
 * @param length_a number of tokens of the first text
 * @param a        [length_a] below V, or NVDP_DCHI_UNKNOWN
 * @param length_b number of tokens of the second text
 * @param b        [length_b] below V, or NVDP_DCHI_UNKNOWN
 * @param[out] out [m] nats, >= 0 or +inf
 * @return NVDP_ERR_ARGUMENT for an order <= 0 or an invalid token, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_divergence(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t m,
                                 const double *orders, size_t length_a, const int32_t *a,
                                 size_t length_b, const int32_t *b, double *out);

/** Computes the smallest epsilon for which the outputs of text a are (epsilon, delta)-indistinguishable from the
 * outputs of text b: P_a(S) <= e^epsilon P_b(S) + delta for every set S of outputs. The privacy loss L = log
 * P_a(y)/P_b(y), y ~ P_a, is the sum of independent losses over positions, and
 *
 *     delta(epsilon) = E (1 - e^(epsilon - L))_+.
 *
 * The distribution of the loss at a position is known: a sum over V outputs, or one integral for laplace
 * (rdp/loss.c). The losses are added on a grid, rounded down for `low` and up for `high`. The exact value lies
 * between `low` and `high`. Their difference is about a thousandth of the value (1e-4 for small values), or more if
 * the grid would need more than 2^22 points.
 *
 * For laplace-nearest, `high` is the upper bound of laplace and `low` is 0. For an unknown token of laplace, `high`
 * uses the upper bound of nvdp_dchi_divergence(), and `low` is 0. If the distances of a Laplace mechanism, times eta,
 * sum to more than 5e11, `low` is 0 and `high` is the sum. O(length (V d + G log G)), where G is the number of points.
 * @param ctx      records messages, provides threads
 * @param dchi     mechanism
 * @param delta    in (0, 1)
 * @param length_a number of tokens of the first text
 * @param a        [length_a] below V, or NVDP_DCHI_UNKNOWN
 * @param length_b number of tokens of the second text; another length: +inf
 * @param b        [length_b] below V, or NVDP_DCHI_UNKNOWN
 * @param[out] out nats; +inf if an event with probability above delta identifies the text with certainty
 * @return NVDP_ERR_ARGUMENT for a delta out of its range or an invalid token, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_epsilon(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double delta,
                              size_t length_a, const int32_t *a, size_t length_b, const int32_t *b,
                              struct nvdp_interval *out);

/** Computes delta(epsilon), the inverse of nvdp_dchi_epsilon().
 * @param ctx      records messages, provides threads
 * @param dchi     mechanism
 * @param epsilon  >= 0, finite
 * @param length_a number of tokens of the first text
 * @param a        [length_a] below V, or NVDP_DCHI_UNKNOWN
 * @param length_b number of tokens of the second text; another length: 1
 * @param b        [length_b] below V, or NVDP_DCHI_UNKNOWN
 * @param[out] out interval that contains delta
 * @return NVDP_ERR_ARGUMENT, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_delta(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double epsilon,
                            size_t length_a, const int32_t *a, size_t length_b, const int32_t *b,
                            struct nvdp_interval *out);

/** Largest log ratio over pairs of the vocabulary, in nats. */
struct nvdp_dchi_worst {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    /** Largest log ratio of any output between two inputs; +inf if any ratio is infinite. */
    double value;
    /** Exact share of the ordered pairs of different tokens with an infinite ratio. */
    double infinite;
    /** Largest finite ratio over protected x; 0 if there is none. Protected are all tokens, except the tokens that
     * santext-plus may leave unchanged. */
    double finite;
    size_t x;  /**< token x of the ratio log P(y|x)/P(y|x') that attains `finite` */
    size_t x2; /**< token x' of the same ratio */
    /** Upper bound of all finite ratios: eta times the largest distance, plus log 1/p if x' is not protected. */
    double bound;
    size_t inputs; /**< number of protected tokens that were searched as x */
};

/** Computes the largest log ratio over pairs of the vocabulary: exact, or over randomly drawn tokens.
 *
 * For santext, y = x attains the maximum over y of log P(y|x)/P(y|x') (triangle inequality):
 *
 *     eta/2 |phi(x) - phi(x')|  +  log C_x  -  log C_x',    1/C_x = sum_y exp(-eta/2 |phi(x) - phi(y)|).
 *
 * The same holds for santext-plus if x is protected, with sums over the protected y, and plus log 1/p if x' is not
 * protected: eta0 of the UMLDP of SanText+. If x is not protected, the ratio is +inf, because no other input has the
 * output x. For laplace, the ratio is eta times the distance, which is an upper bound of the ratio of laplace-nearest.
 * O(n (V + n) d), memory O(V) per thread. If tokens are drawn, `bound` uses distances from the mean, and holds for all
 * tokens.
 * @param ctx      records messages, can cancel, provides threads; the same bits for any number
 * @param dchi     mechanism
 * @param inputs   n, number of protected tokens, and number of other tokens, drawn without replacement; 0 for all
 * @param seed     seed of the draws
 * @param[out] out the maximum
 * @return NVDP_ERR_ARGUMENT for a struct without struct_size, NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_worst(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t inputs,
                            uint64_t seed, struct nvdp_dchi_worst *out);

/** Distances between the vectors of a table. */
struct nvdp_geometry {
    size_t struct_size;    /**< NVDP_RESULT() sets it */
    size_t tokens;         /**< number of measured tokens; each is compared with all tokens */
    double nearest_median; /**< median distance to the nearest other token */
    double pair_median;    /**< median distance between two of the measured tokens */
    /** Largest distance of a measured token from any token. */
    double pair_max;
    /** Upper bound of the distance between any two tokens: twice the largest distance from the mean, or pair_max if
     * all tokens were measured. */
    double diameter_bound;
};

/** Accuracy of attackers who guess a token from the output of the mechanism. The inputs are drawn from the prior. */
struct nvdp_inversion {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    double prior;       /**< accuracy of guessing the most frequent token, without the output */
    /** Accuracy of guessing the token nearest to the output (Qu et al. 2021, Table 3). If the output is a token, this
     * is the output. */
    double nearest;
    /** Accuracy of guessing argmax_x prior(x) P(out|x), if prior and mechanism are known. No guess from one output is
     * more accurate, on average over the prior. For laplace-nearest, the attacker sees the noised vector, so the
     * accuracy is an upper bound for an attacker who sees the token. */
    double bayes;
    double nearest_error; /**< standard error of `nearest`; 0 if exact */
    double bayes_error;   /**< standard error of `bayes`; 0 if exact */
    size_t draws;         /**< number of draws of the estimate; 0 if exact */
};

/** Computes the accuracy of token inversion: exact for santext, santext-plus and random, O(inputs V d); estimated
 * from draws for the Laplace mechanisms, O(draws V d).
 * @param ctx   records messages, can cancel, provides threads
 * @param dchi  mechanism
 * @param prior [V] weights of the inputs, such as counts in a corpus; at least one above 0
 * @param draws number of draws for the Laplace mechanisms; other mechanisms ignore it
 * @param seed  seed of the draws
 * @param[in,out] out filled up to its struct_size
 * @return NVDP_ERR_ARGUMENT for another prior, no draws, a struct without struct_size; NVDP_ERR_CANCELLED,
 *         NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_inversion(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                const double *prior, size_t draws, uint64_t seed,
                                struct nvdp_inversion *out);

NVDP_END_DECLS
#endif
