/** @file audit.h
 * Lower bounds on epsilon from what an attacker found out: of a training (docs/dp-bert.md, Memorisation), and of
 * any mechanism, also one of another program, from its samples (docs/threat-model.md, Auditing a mechanism).
 *
 * Of a training one run is enough (Steinke, Nasr & Jagielski 2023): m canaries are each in the training set or not, by
 * independent fair coins; whoever has the model guesses for some of them, and says nothing of the others.
 * A mechanism that is (epsilon, delta)-differentially private where one canary is added or removed lets
 * at most so many guesses be right, whatever the attacker does.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_AUDIT_H
#define NVDP_AUDIT_H

#include <nvdp/config.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** The largest probability with which so many guesses or more are right under an (epsilon, delta)-private
 * mechanism (Steinke, Nasr & Jagielski 2023, Theorem 5.2): with q = e^epsilon / (1 + e^epsilon) and
 * f(v) = P[Binomial(r, q) >= v]
 *
 *     P[v or more right] <= f(v) + 2 m delta max_{i = 1..v} (f(v - i) - f(v)) / i.
 *
 * O(r).
 * @param canaries m
 * @param guesses  r <= m, chosen before the coins are known
 * @param correct  v <= r
 * @param epsilon  >= 0
 * @param delta    [0, 1]
 * @return at most 1; NaN for anything else */
double nvdp_audit_p_value(uint64_t canaries, uint64_t guesses, uint64_t correct, double epsilon,
                          double delta);

/** A lower bound on epsilon at a delta: the largest epsilon found at which the probability above is at most
 * 1 - confidence.  It is above the truth with probability 1 - confidence at most.  O(r).
 * @param canaries   m
 * @param guesses    r <= m
 * @param correct    v <= r
 * @param delta      [0, 1]
 * @param confidence (0, 1)
 * @return >= 0, 0 where nothing is shown; NaN for arguments out of range */
double nvdp_audit_epsilon(uint64_t canaries, uint64_t guesses, uint64_t correct, double delta,
                          double confidence);

/** One way to guess, and what it showed. */
struct nvdp_audit_guesses {
    uint64_t in;      /**< canaries of the largest scores, said to have been in the training set */
    uint64_t out;     /**< of the smallest, said not to have been */
    uint64_t correct; /**< of both, right */
    double epsilon;   /**< the lower bound */
};

/** Most ways that nvdp_audit_canaries() tries. */
#define NVDP_AUDIT_WAYS 6

/** What nvdp_audit_canaries() found.  Stands inside other structs and keeps its size. */
struct nvdp_canary_audit {
    size_t struct_size;                             /**< NVDP_RESULT() sets it */
    uint64_t canaries;                              /**< m; 0: no audit was made */
    uint64_t included;                              /**< of them, in the training set */
    double delta;                                   /**< at which epsilon is told */
    double confidence;                              /**< of all ways together */
    double epsilon;                                 /**< the largest of the lower bounds */
    double auc;                                     /**< area under the scores' ROC curve */
    size_t ways;                                    /**< how many were tried */
    struct nvdp_audit_guesses way[NVDP_AUDIT_WAYS]; /**< [ways] */
    double reserved[2];                             /**< 0 */
};

/** The audit of scored canaries: guesses that the `in` with the largest scores were in the training set and
 * that the `out` with the smallest were not.  Where both are 0: in = out = m/64, m/32, m/16, m/8, m/4 and
 * m/2, each bound at a confidence such that all of them hold together.  Equal scores are in the order of
 * their canaries.  O(m log m).
 * @param ctx        records messages
 * @param canaries   m > 0
 * @param score      [m] the larger, the more a canary seems to have been trained on; no NaN
 * @param included   [m] whether it was
 * @param in         guesses of the first kind
 * @param not_in     of the second
 * @param delta      [0, 1]
 * @param confidence (0, 1)
 * @param out        the audit; untouched on error
 * @return NVDP_ERR_ARGUMENT, naming value and range; NVDP_ERR_MEMORY */
nvdp_status nvdp_audit_canaries(struct nvdp_context *ctx, size_t canaries, const double *score,
                                const unsigned char *included, size_t in, size_t not_in,
                                double delta, double confidence, struct nvdp_canary_audit *out);

/** Samples of a mechanism on one input. */
struct nvdp_samples {
    size_t count;  /**< n, independent of one another */
    size_t dim;    /**< d numbers each */
    double *value; /**< [n, d] */
};

/** Reads samples from an array of numpy (.npy, versions 1.0 and 2.0): [n, d], float32 or float64, little-endian,
 * C order, finite.  O(n d).
 * @param ctx  records messages
 * @param path the file, of 8 GiB at most
 * @param out  the samples; nvdp_samples_free(); untouched on error
 * @return NVDP_ERR_INPUT, naming what was expected and what was found: another kind of file or version, Python
 * objects, other types, Fortran order, another rank, a wrong size, NaN, infinities and numbers beyond 1e100;
 * NVDP_ERR_IO; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_samples_read(struct nvdp_context *ctx, const char *path, struct nvdp_samples *out);

/** Frees the array and zeroes the struct.
 * @param samples what nvdp_samples_read() filled, or zeros */
void nvdp_samples_free(struct nvdp_samples *samples);

/** How a sample is scored: the log ratio of two normal densities that were fitted to samples of P and Q. */
enum nvdp_audit_score {
    NVDP_AUDIT_LINEAR,  /**< with the covariance of both together: linear discriminant analysis */
    NVDP_AUDIT_GAUSSIAN /**< each with its own */
};

/** The fewest samples of each input that nvdp_audit_samples() takes. */
#define NVDP_AUDIT_FEWEST 100
/** The most numbers that a sample may have. */
#define NVDP_AUDIT_WIDEST 4096

/** What nvdp_audit_samples() found. */
struct nvdp_sample_audit {
    size_t struct_size;          /**< NVDP_RESULT() sets it */
    double delta;                /**< at which epsilon is told */
    double confidence;           /**< of the bound */
    double epsilon;              /**< the lower bound; 0 where nothing is shown */
    double ceiling;              /**< what a perfect test would have shown with so many samples */
    enum nvdp_audit_score score; /**< the score of the test that was chosen */
    bool
        favours_q; /**< the test says "Q" above its threshold: scores are negated, P and Q in each other's place */
    double
        threshold; /**< a sample with a score above it is said to be of P (Q), log density ratio in nats */
    size_t held[2];    /**< samples of P and of Q that the test was measured on, and nothing else */
    size_t hits[2];    /**< of them, above the threshold */
    double least_true; /**< limit of the true positives' share: of P (Q), it is above that */
    double most_false; /**< limit of the false positives' share: of Q (P), it is below that */
    double reserved[2]; /**< 0 */
};

/** A lower bound on epsilon of a mechanism, from samples on two adjacent inputs: P those on the one, Q those on the
 * other.  Where the mechanism is (epsilon, delta)-indistinguishable on these, no test has
 *
 *     TPR > e^epsilon FPR + delta,        so that    epsilon >= log((TPR - delta) / FPR)
 *
 * for any test that says "P", and for any that says "Q" (Kairouz, Oh & Viswanath 2015).  In an order drawn from the
 * seed a third of each file fits the scores, a sixth chooses score, direction and threshold, and the held-out half
 * measures that one test: TPR from below and FPR from above by Clopper & Pearson, each wrong with probability
 * (1 - confidence)/2 at most.  The bound is above the truth with probability 1 - confidence at most, whatever the
 * mechanism; it needs samples that are independent, and tells nothing from above.
 *
 * O((n + d) d^2), with a copy of the samples.
 * @param ctx        records messages
 * @param p          samples on one input, at least NVDP_AUDIT_FEWEST
 * @param q          on the other, with as many numbers each, at most NVDP_AUDIT_WIDEST
 * @param delta      [0, 1)
 * @param confidence (0, 1)
 * @param seed       of the order; to be chosen before anything is known
 * @param out        the audit; untouched on error
 * @return NVDP_ERR_ARGUMENT, naming value and range; NVDP_ERR_NUMERIC where no normal density can be fitted;
 * NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_audit_samples(struct nvdp_context *ctx, const struct nvdp_samples *p,
                               const struct nvdp_samples *q, double delta, double confidence,
                               uint64_t seed, struct nvdp_sample_audit *out);

NVDP_END_DECLS
#endif
