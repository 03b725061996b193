/** @file certificate.h
 * Certificates: proven privacy guarantees of a mechanism over all texts, seen or not (docs/certified.md).
 *
 * A certificate holds for the mechanism as a function of a text, for a fixed model. It reads no text and measures
 * nothing. Each theorem has conditions, which are checked one by one; if one fails, the theorem proves nothing.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_CERTIFICATE_H
#define NVDP_CERTIFICATE_H

#include <nvdp/guess.h>
#include <nvdp/privacy.h>

NVDP_BEGIN_DECLS

struct nvdp_model;

/** Limits of the posteriors over all texts. Rows are the vectors of a sample, except the prior's vector, which has mean
 * 0 and variance 1 for every text. */
struct nvdp_limits {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    char method[32];    /**< "nvdp", "vtdp", "vib-fixed", ... */
    bool noise;         /**< false: the method shares no random sample */
    bool sealed;        /**< after the noise, the model reads only the sample */
    /** Tokens and padding per sample; 1 for methods with one vector per text; 0 if lengths are public. */
    size_t rows;
    size_t dim;      /**< p, length of a row */
    int kappa;       /**< number of vectors drawn per row */
    bool same_noise; /**< variances are the same for every text and row */
    /** Upper bound of the norm of all means of a text together; INFINITY if there is none. */
    double clip_sequence;
    /** Upper bound of the norm of each row's mean; INFINITY if there is none. */
    double clip_mu;
    double logvar_min; /**< minimum log variance of a token's row; -INFINITY if there is none */
    /** Maximum log variance of a token's row; the log variance of padding is 0. */
    double logvar_max;
    bool weights;       /**< rows have weights, which are shared */
    double alpha_min;   /**< minimum pseudo-count of a token; 0 if there is none */
    double alpha_max;   /**< maximum pseudo-count of a token; INFINITY if there is none */
    double prior_alpha; /**< pseudo-count of the prior's component */
    double pad_alpha;   /**< pseudo-count of padding */
    /** Upper bound of the norm of one word's part in the sum of a text, for a method with a certificate per word; 0
     * for other methods. */
    double clip_word;
    double word_window; /**< words on either side of a word on which the word's part depends */
    double reserved[2]; /**< 0 */
};

/** The theorems, in the order in which they are tried. */
enum nvdp_theorem {
    /** (a) A Gaussian mechanism: all means of a text have a bounded norm together, and every text has the same
     * noise. */
    NVDP_THEOREM_SEQUENCE,
    /** (b) Theorem (a) plus Dirichlet weights with bounded pseudo-counts. */
    NVDP_THEOREM_SEQUENCE_WEIGHTS,
    NVDP_THEOREM_CLIP_SET,            /**< (c) every row has its own bounds */
    NVDP_THEOREMS,                    /**< number of theorems */
    NVDP_THEOREM_NONE = NVDP_THEOREMS /**< nothing is proven */
};

/** Maximum number of conditions of a theorem. */
#define NVDP_CONDITIONS 6

/** Number of adjacent words, such as a name, number or address, that a certificate per word bounds together, too. */
#define NVDP_PHRASE_WORDS 3

/** Largest useful epsilon. Above it, any two texts may be distinguishable. A guarantee is useful if its epsilon is at
 * most this number and its `named_bound` is at most NVDP_USEFUL_NAMED. The certificate alone determines both
 * numbers. */
#define NVDP_USEFUL_EPSILON 100
/** Number of equally likely texts among which an attacker identifies the right one, for `named_bound`. */
#define NVDP_USEFUL_CANDIDATES 100
/** Largest useful `named_bound`: one half. */
#define NVDP_USEFUL_NAMED 0.5

/** One condition of a theorem. */
struct nvdp_condition {
    bool holds;      /**< the mechanism meets the condition */
    char what[64];   /**< required property: "the same noise for every text" */
    char found[96];  /**< property of this mechanism */
    char option[96]; /**< training option that would meet the condition; "" if it is met */
};

/** One theorem: its conditions, and the epsilon that it proves if all of them hold. */
struct nvdp_claim {
    bool holds;                                       /**< all conditions hold */
    size_t conditions;                                /**< number of conditions checked */
    struct nvdp_condition condition[NVDP_CONDITIONS]; /**< the conditions */
    double epsilon; /**< epsilon at the certificate's delta; +inf if the theorem does not hold */
};

/** The guarantee of one occurrence of a word. It holds for any two texts that differ in this occurrence, where any
 * other word replaces the word. An attacker may know all other words. An attacker may recognize the text as a whole. */
struct nvdp_word_claim {
    bool holds; /**< something is proven per word; otherwise the numbers are NaN */
    /** c, the largest norm of one word's part in the sum, in standard deviations of the noise. */
    double clip;
    double window;  /**< R: a word affects 2R + 1 parts of the sum */
    double mu;      /**< mu of Gaussian differential privacy, for all samples together */
    double epsilon; /**< epsilon at `delta`, in nats */
    double delta;   /**< the option delta */
    double radius;  /**< radius for guesses about one word from one sample */
    size_t guesses; /**< number of entries of `guess` */
    /** Upper bounds of the success of a guess about the word, if all other words are known. */
    struct nvdp_bounded_guess guess[NVDP_GUESSES];
    double phrase_mu;      /**< mu if NVDP_PHRASE_WORDS adjacent words are replaced */
    double phrase_epsilon; /**< epsilon of that replacement at `delta`, in nats */
    double phrase_radius;  /**< radius for guesses about these words from one sample */
    /** `guesses` upper bounds of the success of a guess about these words. */
    struct nvdp_bounded_guess phrase_guess[NVDP_GUESSES];
};

/** A proven guarantee. For any two texts x, x' and every set S, P_x(S) <= e^epsilon P_x'(S) + delta, where P_x is
 * the distribution of all `releases` samples of x together. */
struct nvdp_certificate {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    /** The theorem with the smallest epsilon; NVDP_THEOREM_NONE: nothing is proven. */
    enum nvdp_theorem theorem;
    double delta;   /**< the option delta */
    int releases;   /**< S, samples per text */
    double epsilon; /**< epsilon at `delta`, in nats; +inf if nothing is proven */
    /** mu = 2 C sqrt(S) of Gaussian differential privacy, which gives the exact privacy curve; NaN unless theorem (a)
     * holds. */
    double mu;
    /** C, in standard deviations of the noise; NaN unless theorem (a) or (b) holds. */
    double radius;
    /** Upper bound of the probability that an attacker identifies the right one of two equally likely texts from all
     * samples; 1 if nothing is proven. */
    double right;
    /** Order of the Renyi divergence that gave epsilon; NaN unless the theorem is (b) or (c). */
    double order;
    /** Theorems (b) and (c): proven upper bound of the divergence of the vectors of one sample at `order`, in nats. */
    double vectors;
    /** Proven upper bound of the divergence of the weights of one sample at `order`, in nats; 0 if no weights are
     * shared. */
    double weights;
    /** Largest divergence of the weights that the search attained with two sets of pseudo-counts: a lower bound. */
    double weights_found;
    size_t points; /**< number of points of the curve */
    struct {
        double epsilon;
        double delta;
    } curve[NVDP_EXACT_POINTS];             /**< delta at each epsilon of the option at-epsilon */
    struct nvdp_claim claim[NVDP_THEOREMS]; /**< all theorems, whether they hold or not */
    size_t numbers;                         /**< numbers per sample: vectors times dimensions */
    size_t guesses; /**< number of baselines of the option baseline; 0 if nothing is proven */
    /** Upper bounds of the success of any guess from the samples. */
    struct nvdp_bounded_guess guess[NVDP_GUESSES];
    /** Upper bound of the mutual information between a text and its samples, over all priors, in nats; +inf if
     * nothing is proven. */
    double information;
    struct nvdp_word_claim word; /**< the claim per word, for a method that clips words */
    /** Upper bound of the probability that an attacker who has the model and NVDP_USEFUL_CANDIDATES equally likely
     * texts identifies the right text from all samples. It is 1 if nothing is proven. */
    double named_bound;
};

/** Checks which theorems hold for a mechanism with the given limits, and computes the guarantees that they prove.
 *
 *     (a)  M: all means of a text in units of the noise, |M| <= C: two texts are N(M, 1), N(M', 1) with |M - M'| <= 2C,
 *          delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), mu = 2C sqrt(S), attained (nvdp_gdp_delta())
 *     (b)  the Renyi divergences l (2C)^2 / 2 of (a) plus the largest divergence of the Dirichlets (rdp/worst.c),
 *          converted by nvdp_renyi_epsilon(), minimized over orders
 *     (c)  as (b), with the largest divergence of a row's Gaussians, summed over rows, in place of l (2C)^2 / 2:
 *          linear in the number of rows
 *
 * For (a), the guess bounds are nvdp_guess_bound(). For (b) and (c), the guess bounds are
 * nvdp_renyi_probability_bound(), minimized over orders, for the Renyi divergence between a text and the center of the
 * bounds. The center is half as far away as another text.
 *
 * Tries about 70 orders; each takes milliseconds.
 * @param ctx    records messages; may be NULL
 * @param limits limits of a mechanism
 * @param config configuration of kind "privacy", of which delta, releases, at-epsilon and baseline are read; NULL for
 *               the defaults
 * @param out    the certificate; NVDP_OK with NVDP_THEOREM_NONE if no theorem holds
 * @return NVDP_ERR_ARGUMENT for options or limits out of their range, NVDP_ERR_MEMORY */
nvdp_status nvdp_certify(struct nvdp_context *ctx, const struct nvdp_limits *limits,
                         const struct nvdp_config *config, struct nvdp_certificate *out);

/** Calls nvdp_certify() with the limits of a model, including the model's trained standard deviations.
 * @param ctx    records messages
 * @param model  a loaded model
 * @param config as in nvdp_certify()
 * @param out    the certificate
 * @return as nvdp_certify() */
nvdp_status nvdp_model_certificate(struct nvdp_context *ctx, const struct nvdp_model *model,
                                   const struct nvdp_config *config, struct nvdp_certificate *out);

NVDP_END_DECLS
#endif
