/** @file audit.h
 * Lower bounds on epsilon from what an attacker found out (docs/dp-bert.md, Memorisation).
 *
 * One run is enough (Steinke, Nasr & Jagielski 2023): m canaries are each in the training set or not, by
 * independent fair coins; whoever has the model guesses for some of them, and says nothing of the others.
 * A mechanism that is (epsilon, delta)-differentially private where one canary is added or removed lets
 * at most so many guesses be right, whatever the attacker does. */
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

NVDP_END_DECLS
#endif
