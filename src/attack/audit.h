/* Audits a mechanism by scores of samples of two inputs. */
#ifndef NVDP_SRC_ATTACK_AUDIT_H
#define NVDP_SRC_ATTACK_AUDIT_H

#include "base/base.h"
#include <nvdp/audit.h>

/* Audits scored samples like nvdp_audit_samples(): score[s] has count[s] scores of P and of Q, in an order that is
 * independent of the scores.  The first half of each array chooses direction and threshold, the second half measures.
 * */
nvdp_status nvdp__audit_scores(struct nvdp_context *ctx, const size_t count[2],
                               double *const score[2], double delta, double confidence,
                               struct nvdp_sample_audit *out);

/* ---- npy.c: arrays of numpy: the NPY format, versions 1.0 and 2.0, as numpy.save writes it ---- */

#define NVDP__NPY_LARGEST                                                                          \
    1e100 /* so that sums of squared differences stay in the range of double */

/* Reads a [shape[0], shape[1]] array: float32 or float64 in the file, little-endian, in C order.  Both sides must be
 * positive, and all numbers finite and within +-NVDP__NPY_LARGEST; otherwise NVDP_ERR_INPUT.  The caller frees
 * *value. */
nvdp_status nvdp__npy_read(struct nvdp_context *ctx, const char *path, size_t shape[2],
                           double **value);

/* Bounds the probability of v or more correct guesses under an (epsilon, delta)-private mechanism (Steinke, Nasr &
 * Jagielski 2023, Theorem 5.2). With q = e^epsilon / (1 + e^epsilon) and f(v) = P[Binomial(r, q) >= v],
 *
 *     P[v or more right] <= f(v) + 2 m delta max_{i = 1..v} (f(v - i) - f(v)) / i.
 *
 * O(r).
 * canaries: m
 * guesses: r <= m, chosen before the coins are known
 * correct: v <= r
 * epsilon: >= 0
 * delta: [0, 1]
 * Returns at most 1; NaN for anything else */
double nvdp__audit_p_value(uint64_t canaries, uint64_t guesses, uint64_t correct, double epsilon,
                           double delta);

/* Computes a lower bound of epsilon at a delta: the largest epsilon found for which nvdp__audit_p_value() is at most
 * 1 - confidence. The bound exceeds the true epsilon with probability at most 1 - confidence. O(r).
 * canaries: m
 * guesses: r <= m
 * correct: v <= r
 * delta: [0, 1]
 * confidence: (0, 1)
 * Returns >= 0; 0 if nothing is shown; NaN for arguments out of range */
double nvdp__audit_epsilon(uint64_t canaries, uint64_t guesses, uint64_t correct, double delta,
                           double confidence);

/* Computes a lower bound of epsilon at a delta, as nvdp__audit_epsilon() does, from the whole curve of an (epsilon,
 * delta)-private mechanism (Mahloujifar, Melis & Chaudhuri 2024). The larger of the two bounds holds with the same
 * confidence, because both bounds increase with `correct`. O(r).
 * canaries: m
 * guesses: r <= m
 * correct: v <= r
 * delta: [0, 1]
 * confidence: (0, 1)
 * Returns >= 0; 0 if nothing is shown; NaN for arguments out of range */
double nvdp__audit_curve_epsilon(uint64_t canaries, uint64_t guesses, uint64_t correct,
                                 double delta, double confidence);

/* Computes a lower bound of mu: with this confidence, the mechanism is not mu'-Gaussian differentially private for any
 * mu' below the bound (Dong, Roth & Su 2022), by the theorem of nvdp__audit_curve_epsilon(). Only if the mechanism's
 * curve is Gaussian, nvdp_gdp_epsilon() of the bound is a lower bound of epsilon. O(r).
 * canaries: m
 * guesses: r <= m
 * correct: v <= r
 * confidence: (0, 1)
 * Returns >= 0; 0 if nothing is shown; NaN for arguments out of range */
double nvdp__audit_mu(uint64_t canaries, uint64_t guesses, uint64_t correct, double confidence);

/* Numbers of guesses, and the resulting bound. */
struct nvdp__audit_guesses {
    uint64_t in;      /* canaries with the largest scores, guessed to be in the training set */
    uint64_t out;     /* canaries with the smallest scores, guessed not to be in the training set */
    uint64_t correct; /* number of correct guesses of both kinds */
    double epsilon;   /* lower bound of epsilon */
};

/* Maximum number of ways to guess that nvdp__audit_canaries() tries. */
#define NVDP__AUDIT_WAYS 6

/* Result of nvdp__audit_canaries(). Other structs contain this one, so its size is fixed. */
struct nvdp__canary_audit {
    size_t struct_size;                               /* NVDP_RESULT() sets it */
    uint64_t canaries;                                /* m; 0 if no audit was made */
    uint64_t included;                                /* number of canaries in the training set */
    double delta;                                     /* delta of all epsilons */
    double confidence;                                /* simultaneous confidence of all ways */
    double epsilon;                                   /* largest lower bound */
    double auc;                                       /* area under the ROC curve of the scores */
    size_t ways;                                      /* number of ways tried */
    struct nvdp__audit_guesses way[NVDP__AUDIT_WAYS]; /* [ways] */
    /* Largest nvdp__audit_curve_epsilon() of all ways, for any mechanism, at the confidence of `epsilon`. */
    double curve_epsilon;
    double mu; /* largest nvdp__audit_mu() of all ways, at this confidence */
};

/* Audits scored canaries. Guesses that the `in` canaries with the largest scores were in the training set, and that
 * the `not_in` canaries with the smallest scores were not. If both numbers are 0, tries in = out = m/64, m/32, m/16,
 * m/8, m/4 and m/2, with bounds that hold simultaneously. Ties keep the order of the canaries. O(m log m).
 * ctx: records messages
 * canaries: m > 0
 * score: [m] larger for canaries that seem to have been trained on; no NaN
 * included: [m] not 0 for canaries in the training set
 * in: number of guesses "in the training set"
 * not_in: number of guesses "not in the training set"
 * delta: [0, 1]
 * confidence: (0, 1)
 * out: the audit; untouched on error
 * Returns NVDP_ERR_ARGUMENT, whose message names value and range; NVDP_ERR_MEMORY */
nvdp_status nvdp__audit_canaries(struct nvdp_context *ctx, size_t canaries, const double *score,
                                 const unsigned char *included, size_t in, size_t not_in,
                                 double delta, double confidence, struct nvdp__canary_audit *out);

#endif
