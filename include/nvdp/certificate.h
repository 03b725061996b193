/** @file certificate.h
 * Certificates: what is proven of a mechanism over all texts, seen or not (docs/certified.md).
 *
 * A certificate is of the mechanism as a function of a text, the model being given: nothing is measured, no
 * text is read.  Each rests on conditions, which are checked one by one; where one fails there is none.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_CERTIFICATE_H
#define NVDP_CERTIFICATE_H

#include <nvdp/guess.h>
#include <nvdp/privacy.h>

NVDP_BEGIN_DECLS

struct nvdp_model;

/** What no text's posterior leaves, and what is the same for every text.  Rows are the vectors of a sample but for
 * the prior's, whose mean is 0 and variance 1 for every text. */
struct nvdp_limits {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    char method[32];    /**< "nvdp", "vtdp", "vib-fixed", ... */
    bool noise;         /**< false: a method that shares no random sample */
    bool sealed;        /**< nothing but the sample is read after the noise */
    size_t
        rows; /**< tokens and padding of every sample, 1 of one vector a text; 0: lengths are public */
    size_t dim;           /**< p, of a row */
    int kappa;            /**< vectors drawn a row */
    bool same_noise;      /**< the variances are the same for every text and row */
    double clip_sequence; /**< all means of a text together have this norm at most; INFINITY: any */
    double clip_mu;       /**< likewise the mean of each row */
    double logvar_min;    /**< least log variance of a token's row; -INFINITY: any */
    double logvar_max;    /**< largest; padding has 0 */
    bool weights;         /**< rows have weights, which are shared */
    double alpha_min;     /**< least pseudo-count of a token; 0: any */
    double alpha_max;     /**< largest; INFINITY: any */
    double prior_alpha;   /**< of the prior's component */
    double pad_alpha;     /**< of padding */
    double reserved[4];   /**< 0 */
};

/** The theorems, in the order in which they are tried. */
enum nvdp_theorem {
    NVDP_THEOREM_SEQUENCE, /**< (a) one norm for all means of a text, the same noise for all: a Gaussian mechanism */
    NVDP_THEOREM_SEQUENCE_WEIGHTS,    /**< (b) the same, and Dirichlet weights within bounds */
    NVDP_THEOREM_CLIP_SET,            /**< (c) every row within bounds of its own */
    NVDP_THEOREMS,                    /**< how many there are */
    NVDP_THEOREM_NONE = NVDP_THEOREMS /**< nothing is proven */
};

/** How many conditions a theorem has at most. */
#define NVDP_CONDITIONS 6

/** The largest epsilon that a statement calls useful: above it any two texts may be told apart. */
#define NVDP_USEFUL_EPSILON 100

/** One condition of a theorem. */
struct nvdp_condition {
    bool holds;      /**< what was found is enough */
    char what[64];   /**< that must hold: "the same noise for every text" */
    char found[96];  /**< what does */
    char option[96]; /**< of training, that would make it hold; "": it does */
};

/** One theorem: its conditions, and what it proves where all of them hold. */
struct nvdp_claim {
    bool holds;                                       /**< all of its conditions do */
    size_t conditions;                                /**< that were checked */
    struct nvdp_condition condition[NVDP_CONDITIONS]; /**< they */
    double epsilon; /**< at the certificate's delta; +inf where it does not hold */
};

/** What is proven: for any two texts x, x' and every set S, P_x(S) <= e^epsilon P_x'(S) + delta, of all `releases`
 * samples of a text together. */
struct nvdp_certificate {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    enum nvdp_theorem
        theorem;    /**< the one with the least epsilon; NVDP_THEOREM_NONE: nothing is proven */
    double delta;   /**< as asked for */
    int releases;   /**< S */
    double epsilon; /**< at that delta, in nats; +inf where nothing is proven */
    double
        mu; /**< (a): Gaussian differential privacy, 2 C sqrt(S): a mechanism's exact curve; NaN */
    double radius; /**< (a), (b): C, in standard deviations of the noise; NaN */
    /** Who is given the samples of a text, and knows that it is one of two, equally likely ones, names the right
     * one with this probability at most; 1 where nothing is proven. */
    double right;
    double order; /**< (b), (c): Renyi order whose divergence gave epsilon; NaN */
    double
        vectors; /**< (b), (c): divergence of that order by the vectors of one sample, at most; nats */
    double weights; /**< likewise by its weights: proven; 0 where none are shared */
    double
        weights_found; /**< of the weights' divergences the largest found: of two given sets of pseudo-counts */
    size_t points; /**< of the curve */
    struct {
        double epsilon;
        double delta;
    } curve[NVDP_EXACT_POINTS];             /**< delta(epsilon) at the option at-epsilon's */
    struct nvdp_claim claim[NVDP_THEOREMS]; /**< all, whether they hold or not */
    size_t numbers;                         /**< per sample: vectors times dimensions */
    size_t guesses; /**< baselines of the option baseline; 0 where nothing is proven */
    struct nvdp_guess
        guess[NVDP_GUESSES]; /**< how often any guess is right with the samples, at most */
    /** Largest mutual information of a text and its samples, over all priors, in nats; +inf where nothing is proven. */
    double information;
};

/** Which theorems hold of a mechanism with such limits, and what they prove.
 *
 *     (a)  M: all means of a text in units of the noise, |M| <= C: two texts are N(M, 1), N(M', 1) with |M - M'| <= 2C,
 *          delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), mu = 2C sqrt(S), attained (nvdp_gdp_delta())
 *     (b)  (a)'s Renyi divergences l (2C)^2 / 2, and the Dirichlets' largest (rdp/worst.c), converted by
 *          nvdp_renyi_epsilon(), the least over orders
 *     (c)  the rows' Gaussians' largest in place of the former, added over rows; linear in their number
 *
 * The guess bounds are nvdp_guess_bound() for (a).  For (b) and (c) they follow from the Renyi divergences between a text
 * and the center of the bounds, which is half as far away as another text: nvdp_renyi_most(), minimised over orders.
 *
 * Some 70 orders are tried, milliseconds each.
 * @param ctx    records messages; may be NULL
 * @param limits of nvdp_model_limits(), or one's own
 * @param config of nvdp_privacy_config_create(), of which delta, releases, at-epsilon and baseline are read; NULL: the defaults
 * @param out    the certificate; where no theorem holds, NVDP_OK with NVDP_THEOREM_NONE
 * @return NVDP_ERR_ARGUMENT for options or limits out of their range, NVDP_ERR_MEMORY */
nvdp_status nvdp_certify(struct nvdp_context *ctx, const struct nvdp_limits *limits,
                         const struct nvdp_config *config, struct nvdp_certificate *out);

/** The limits that a model's mechanism keeps to, trained standard deviations among them.
 * @param ctx   records messages
 * @param model a loaded model
 * @param out   made with NVDP_RESULT(); of a method without noise, `noise` is false
 * @return NVDP_OK, or NVDP_ERR_ARGUMENT where `out` does not tell its size */
nvdp_status nvdp_model_limits(struct nvdp_context *ctx, const struct nvdp_model *model,
                              struct nvdp_limits *out);

/** nvdp_certify() of nvdp_model_limits().
 * @param ctx    records messages
 * @param model  a loaded model
 * @param config as of nvdp_certify()
 * @param out    the certificate
 * @return as nvdp_certify() */
nvdp_status nvdp_model_certificate(struct nvdp_context *ctx, const struct nvdp_model *model,
                                   const struct nvdp_config *config, struct nvdp_certificate *out);

/** A certificate in plain English, a paragraph without line ends: what is promised, on what it rests, what it leaves
 * out; or which condition fails, and the option that would make it hold.
 * @param ctx         records messages; may be NULL
 * @param certificate of nvdp_certify()
 * @param out         the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_certificate_statement(struct nvdp_context *ctx,
                                       const struct nvdp_certificate *certificate, char **out);

/** The same as one JSON object (docs/formats.md).
 * @param ctx         records messages; may be NULL
 * @param certificate of nvdp_certify()
 * @param out         the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_certificate_json(struct nvdp_context *ctx,
                                  const struct nvdp_certificate *certificate, char **out);

/** The same for people: the theorems with their conditions, the curve, the statement.
 * @param ctx         records messages
 * @param certificate of nvdp_certify()
 * @param out         the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_certificate_text(struct nvdp_context *ctx,
                                  const struct nvdp_certificate *certificate, char **out);

NVDP_END_DECLS
#endif
