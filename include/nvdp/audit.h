/** @file audit.h
 * Audits: lower bounds on epsilon from the success of an attacker. An audit tests training (docs/dp-bert.md), or any
 * mechanism by its samples, even a mechanism of another program (docs/threat-model.md, Auditing a mechanism).
 *
 * An audit of training needs one run (Steinke, Nasr & Jagielski 2023). Independent fair coins decide for m canaries
 * whether each is in the training set. The attacker has the model, guesses for some canaries and abstains for the
 * other canaries. If the training is (epsilon, delta)-differentially private for adding or removing one canary, the
 * number of correct guesses is bounded for every attacker.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_AUDIT_H
#define NVDP_AUDIT_H

#include <nvdp/config.h>
#include <nvdp/export.h>
#include <nvdp/rdp.h>

NVDP_BEGIN_DECLS

/** Samples of a mechanism on one input. */
struct nvdp_samples {
    size_t count;  /**< n, number of independent samples */
    size_t dim;    /**< d, numbers per sample */
    double *value; /**< [n, d] */
};

/** Reads samples from a NumPy array (.npy, versions 1.0 and 2.0): [n, d], float32 or float64, little-endian, C
 * order, finite. O(n d).
 * @param ctx  records messages
 * @param path the file, at most 8 GiB
 * @param out  the samples, freed with nvdp_samples_free(); untouched on error
 * @return NVDP_ERR_INPUT for another kind of file or version, Python objects, other types, Fortran order, another
 *         rank, a wrong size, NaN, infinities and numbers beyond 1e100; the message names what was expected and
 *         found. NVDP_ERR_IO; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_samples_read(struct nvdp_context *ctx, const char *path, struct nvdp_samples *out);

/** Frees the array and zeroes the struct.
 * @param samples filled by nvdp_samples_read(), or zeros */
void nvdp_samples_free(struct nvdp_samples *samples);

/** Scores of a sample: the log ratio of two normal densities that are fitted to samples of P and Q. */
enum nvdp_audit_score {
    NVDP_AUDIT_LINEAR,  /**< one covariance for both densities: linear discriminant analysis */
    NVDP_AUDIT_GAUSSIAN /**< one covariance per density */
};

/** Minimum number of samples per input of nvdp_audit_samples(). */
#define NVDP_AUDIT_FEWEST 100
/** Maximum number of values per sample. */
#define NVDP_AUDIT_WIDEST 4096

/** Result of nvdp_audit_samples(). */
struct nvdp_sample_audit {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    double delta;       /**< delta of epsilon */
    double confidence;  /**< confidence of the bound */
    double epsilon;     /**< lower bound; 0 if nothing is shown */
    double ceiling;     /**< lower bound that a perfect test would have shown with these samples */
    enum nvdp_audit_score score; /**< score of the selected test */
    bool favors_q;               /**< the test detects Q: scores are negated, P and Q exchanged */
    /** A sample with a score above this counts as P (Q if favors_q); log density ratio in nats. */
    double threshold;
    size_t held[2]; /**< number of held-out samples of P and of Q */
    size_t hits[2]; /**< number of held-out samples above the threshold */
    /** Lower confidence limit of the true positive rate, of P (Q if favors_q). */
    double least_true;
    /** Upper confidence limit of the false positive rate, of Q (P if favors_q). */
    double most_false;
    double reserved[2]; /**< 0 */
};

/** Computes a lower bound of epsilon of a mechanism from samples P and Q on two adjacent inputs. If the mechanism is
 * (epsilon, delta)-indistinguishable on these inputs, no test has
 *
 *     TPR > e^epsilon FPR + delta,        so that    epsilon >= log((TPR - delta) / FPR)
 *
 * for any test that detects P, and any that detects Q (Kairouz, Oh & Viswanath 2015). In an order drawn from the
 * seed, a third of each set fits the scores, and a sixth selects score, direction and threshold. The held-out half
 * measures this one test: lower limit of TPR and upper limit of FPR by Clopper & Pearson, each wrong with
 * probability at most (1 - confidence)/2. For every mechanism, the bound exceeds the true epsilon with probability
 * at most 1 - confidence. The samples must be independent. The audit gives no upper bound.
 *
 * O((n + d) d^2), with a copy of the samples.
 * @param ctx        records messages
 * @param p          samples on one input, at least NVDP_AUDIT_FEWEST
 * @param q          samples on the other input, with the same number of values, at most NVDP_AUDIT_WIDEST
 * @param delta      [0, 1)
 * @param confidence (0, 1)
 * @param seed       seed of the order; choose it before looking at the samples
 * @param out        the audit; untouched on error
 * @return NVDP_ERR_ARGUMENT, whose message names value and range; NVDP_ERR_NUMERIC if no normal density can be
 *         fitted; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_audit_samples(struct nvdp_context *ctx, const struct nvdp_samples *p,
                               const struct nvdp_samples *q, double delta, double confidence,
                               uint64_t seed, struct nvdp_sample_audit *out);

/** Number of points of the curve that nvdp_audit_summary() measures. */
#define NVDP_AUDIT_POINTS 8

/** delta(epsilon) of a pair of collections, measured at one epsilon. */
struct nvdp_audit_point {
    double epsilon; /**< nats */
    /** P(loss > epsilon) - e^epsilon Q(loss > epsilon), mean of both directions. */
    double measured;
    double low;    /**< lower confidence bound of delta(epsilon), larger direction */
    double proven; /**< upper bound of delta(epsilon) by theorem 1 of the summary */
};

/** Result of nvdp_audit_summary(). Bounds hold together with the confidence. */
struct nvdp_summary_audit {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    size_t releases;    /**< number of releases drawn per collection */
    size_t rows;        /**< k, number of rows that change together */
    double confidence;  /**< confidence of all bounds together */
    double mu;          /**< proven mu for k rows: k times the mu of one row */
    double attained;    /**< mu of the two collections that were compared */
    double right;       /**< share of releases whose collection the likelihood ratio identifies */
    struct nvdp_interval right_interval; /**< interval of `right` (Clopper & Pearson 1934) */
    double right_bound;                  /**< proven upper bound, Phi(mu / 2) */
    size_t points;                       /**< NVDP_AUDIT_POINTS */
    struct nvdp_audit_point point[NVDP_AUDIT_POINTS]; /**< from epsilon 0 to delta 1e-3 */
    bool holds;                                       /**< no lower bound is above the proven one */
};

/** Audits the mechanism of a summary (nvdp_summarize()) against the mechanism's proof. The file states the deviations,
 * weights, precision and grid, from which the mechanism is made. Two collections differ in k rows. In the second
 * collection, rows with another label and an orthogonal vector replace them, which is the worst case of the proof.
 *
 * The sampler of nvdp_summarize(), with its integers and its rounding, draws releases of both collections. It draws
 * only the entries of the matrix in which the collections differ, at most 15. All other entries have the same
 * distribution under both collections, and are independent of the drawn entries. The log likelihood ratio of a release
 * estimates delta(epsilon) in both directions, with bounds by Clopper & Pearson.
 *
 * n releases show nothing about a delta far below 1/n: the largest epsilon is the one that is proven at delta 1e-3.
 * O(n).
 * @param ctx        records messages, reports progress, can cancel
 * @param path       file of kind summary/1
 * @param rows       k, from 1 to the number of rows
 * @param releases   n, releases per collection, at least 1000; the usual number is 100000
 * @param confidence (0, 1), the usual one is .999
 * @param seed       seed of the noise of this audit
 * @param out        the audit; untouched on error
 * @return NVDP_ERR_INPUT for another file, or one that contradicts itself; NVDP_ERR_ARGUMENT, whose message names
 *         value and range; NVDP_ERR_IO; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_audit_summary(struct nvdp_context *ctx, const char *path, size_t rows,
                               size_t releases, double confidence, uint64_t seed,
                               struct nvdp_summary_audit *out);

NVDP_END_DECLS
#endif
