/** @file summary.h
 * Releases one noisy matrix of a whole collection in place of a sample of each text: enough to train a reader, to
 * compare groups, or to look at a distribution, at a far smaller epsilon.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_SUMMARY_H
#define NVDP_SUMMARY_H

#include <nvdp/config.h>
#include <nvdp/share.h>

NVDP_BEGIN_DECLS

/** Result of nvdp_summarize(), freed with nvdp_result_free(). */
struct nvdp_summary_result {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    bool written;                        /**< false for option "dry-run" */
    size_t units;                        /**< n, number of rows of the collection, or of persons */
    size_t dim;                          /**< d, numbers of a vector */
    /** K, numbers of an answer: 1 for two classes or a score, else the number of classes; 0 if there is none. */
    size_t answers;
    size_t width; /**< D, width of the matrix */
    size_t rows;  /**< number of synthetic rows */
    /** Proven epsilon for the replacement of any one unit, in nats; +inf if the noise came from a seed. */
    double epsilon;
    double delta;      /**< delta of `epsilon` */
    double mu;         /**< mu of Gaussian differential privacy for the replacement of one unit */
    double epsilon_2;  /**< epsilon of two units that change together */
    double epsilon_10; /**< epsilon of ten units that change together */
    double noise;      /**< standard deviation of the noise of an entry off the diagonal */
    /** Distance between the means of two equally frequent classes that noise alone would show, in lengths of a row.
     * Smaller differences cannot be seen. Without classes, the distance by which noise alone would move the mean of
     * all rows. Depends on n, d and epsilon alone. */
    double resolution;
    uint64_t bytes;                      /**< size of the file; 0 if it was not written */
    bool useful;                         /**< the guarantee is useful (NVDP_USEFUL_EPSILON) */
    char guarantee[NVDP_GUARANTEE_SIZE]; /**< the guarantee, or why there is no useful one */
    char statement[NVDP_STATEMENT_SIZE]; /**< the file's statement, in plain English */
    /** As in nvdp_export_result, in which a summary counts as one; 0 if there is no ledger. */
    uint64_t spent_samples;
    /** Epsilon of a text with all its rows, by the ledger; NaN if there is no ledger. */
    double spent_epsilon;
    char run[1024]; /**< folder of the run, which this call may have made */
    char unit[8];   /**< unit of privacy: "row", or for option "person" "person" with all rows */
};

/** Writes a summary of the texts: a file of kind summary/1 (formats.md). The matrix is the exact sum of the products
 * of each row's numbers, plus exact Gaussian noise with the operating system's randomness (docs/proofs.md, 11). For
 * persons, the products are averaged over each person's rows first. Synthetic rows are computed from the matrix. The
 * ledger counts the summary before anything is drawn. One pass of the encoder over the texts; O(n D^2 + D^3).
 *
 * Options (kind "summarize"): run, model, center, public-independent, reduce, text-column, text-pair-column, input,
 * task, data, limit, label-column, classes, range, out, summary-epsilon, summary-delta, rows, dry-run, card, model-id, sign,
 * ledger, ledger-key, no-ledger, budget-samples, budget-epsilon, person, person-epsilon, receiver, overwrite, batch,
 * insecure-seed.
 * @param ctx      reports progress, records messages, can cancel
 * @param config   of kind "summarize"
 * @param[out] out the result; untouched on error; may be NULL
 * @return as nvdp_export(); NVDP_ERR_ARGUMENT also for classes or a range that are not well-formed, and for an
 *         epsilon so small that the noise exceeds the grid */
nvdp_status nvdp_summarize(struct nvdp_context *ctx, const struct nvdp_config *config,
                           struct nvdp_summary_result *out);

/** A summary in memory, for the receiver; opaque. Only one call at a time may use a summary. */
struct nvdp_collection;
/** The public facts of a summary. The summary owns the strings. */
struct nvdp_collection_info {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    size_t units;       /**< n, rows of the collection */
    size_t dim;         /**< d, numbers of a vector x */
    size_t answers;     /**< K, numbers of an answer y, as in nvdp_summary_result */
    size_t width;       /**< D, width of the matrix */
    size_t rows;        /**< N, synthetic rows */
    bool scores;        /**< answers are scores; if false, they are classes, or there are none */
    double low;         /**< the score that has y = -1; NaN if there are no scores */
    double high;        /**< the score that has y = 1; NaN if there are no scores */
    /** Stated epsilon for the replacement of any one row, in nats; nvdp_verify() checks the number. */
    double epsilon;
    double delta; /**< delta of `epsilon` */
    /** Alpha of a row z = (alpha, beta x, tau y); 0 if z has no constant. */
    double weight_constant;
    double weight_vector;      /**< beta */
    double weight_answer;      /**< tau */
    double noise_diagonal;     /**< standard deviation of the noise on the diagonal */
    double noise_off_diagonal; /**< standard deviation of the noise off the diagonal */
    const char *label_names;   /**< names of the classes, a JSON array; NULL if there is none */
    const char *statement;     /**< the file's statement */
};

/** Moments that are estimated from the matrix alone (summary/moments.c). The summary owns the arrays. */
struct nvdp_collection_moments {
    size_t struct_size;       /**< NVDP_RESULT() sets it */
    size_t classes;           /**< C; 0 if the answers are scores or there are none */
    const double *mean;       /**< [d] mean of x */
    const double *answer;     /**< [K] mean of y */
    const double *covariance; /**< [d, d] covariance of x */
    const double *cross;      /**< [K, d] covariances of y and x */
    const double *share;      /**< [C] shares of the classes */
    const double *class_mean; /**< [C, d] means of x in each class */
    double noise; /**< standard deviation of the noise of a covariance off the diagonal */
};

/** Reads a summary and checks the facts that a reader needs; nvdp_verify() checks more. O(D^2 + N D).
 * @param ctx      records messages; outlives the summary
 * @param path     a file of kind summary/1
 * @param[out] out the summary, freed with nvdp_collection_free(); untouched on error
 * @return NVDP_ERR_IO; NVDP_ERR_INPUT, whose message names the attribute, for another kind of file and for facts that
 *         contradict each other; NVDP_ERR_MEMORY */
nvdp_status nvdp_collection_read(struct nvdp_context *ctx, const char *path,
                                 struct nvdp_collection **out);
/** Frees a summary.
 * @param summary may be NULL */
void nvdp_collection_free(struct nvdp_collection *summary);
/** Returns the facts of a summary.
 * @param ctx     records messages
 * @param summary summary
 * @param[in,out] out filled up to its struct_size
 * @return NVDP_ERR_ARGUMENT for a struct without struct_size */
nvdp_status nvdp_collection_describe(struct nvdp_context *ctx,
                                     const struct nvdp_collection *summary,
                                     struct nvdp_collection_info *out);
/** Copies the matrix M + E, the noisy sum of z z^T over all rows.
 * @param ctx     records messages
 * @param summary summary
 * @param matrix  [D, D]
 * @return NVDP_OK */
nvdp_status nvdp_collection_matrix(struct nvdp_context *ctx, const struct nvdp_collection *summary,
                                   double *matrix);
/** Copies synthetic rows, none of which belongs to a text.
 * @param ctx     records messages
 * @param summary summary
 * @param first   first row
 * @param rows    number of rows
 * @param x       [rows, d] vectors
 * @param y       [rows] numbers of classes, or scores; NaN if there are no answers
 * @return NVDP_ERR_ARGUMENT for rows that the file does not have */
nvdp_status nvdp_collection_rows(struct nvdp_context *ctx, const struct nvdp_collection *summary,
                                 size_t first, size_t rows, float *x, float *y);
/** Estimates moments from the matrix at the first call; later calls return the same arrays. O(d^3).
 * @param ctx     records messages
 * @param summary summary
 * @param[in,out] out filled up to its struct_size
 * @return NVDP_ERR_ARGUMENT for a struct without struct_size; NVDP_ERR_MEMORY */
nvdp_status nvdp_collection_moments(struct nvdp_context *ctx, struct nvdp_collection *summary,
                                    struct nvdp_collection_moments *out);

NVDP_END_DECLS
#endif
