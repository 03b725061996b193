/** @file summary.h
 * Releases one noisy matrix of a whole collection in place of a sample of each text: enough to train a reader, to compare
 * groups, or to look at a distribution, at a far smaller epsilon.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_SUMMARY_H
#define NVDP_SUMMARY_H

#include <nvdp/config.h>
#include <nvdp/share.h>

NVDP_BEGIN_DECLS

/** Result of nvdp_summarize(); nvdp_result_free(). */
struct nvdp_summary_result {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    bool written;                        /**< false for option "dry-run" */
    size_t units;                        /**< n, rows of the collection, or its persons */
    size_t dim;                          /**< d, numbers of a vector */
    size_t answers; /**< K: 1 for two classes or a score, else the number of classes; 0: none */
    size_t width;   /**< D, width of the matrix */
    size_t rows;    /**< synthetic rows */
    double
        epsilon; /**< proven for the replacement of any one unit, in nats; +inf: noise from a seed */
    double delta;      /**< its delta */
    double mu;         /**< its mu */
    double epsilon_2;  /**< epsilon of two units that change together */
    double epsilon_10; /**< epsilon of ten units */
    double noise;      /**< standard deviation of the noise of an entry off the diagonal */
    /** The distance between the means of two equally frequent classes that the noise alone would show, in lengths of a row:
     * differences below it cannot be seen. For all rows without classes: that of their mean. From n, d and epsilon. */
    double resolution;
    uint64_t bytes;                      /**< size of the file; 0: not written */
    bool useful;                         /**< the guarantee limits every attacker */
    char guarantee[NVDP_GUARANTEE_SIZE]; /**< the guarantee, or why there is no useful one */
    char statement[NVDP_STATEMENT_SIZE]; /**< the file's statement, in plain English */
    uint64_t
        spent_samples; /**< as in nvdp_export_result, in which a summary counts as one; 0: no ledger */
    double spent_epsilon; /**< by the ledger, for a text with all its rows; NaN: no ledger */
    char run[1024];       /**< folder of the run, which this call may have made */
    char unit[8]; /**< what is replaced: "row", or "person" with all rows, for option "person" */
};

/** Writes a summary of the texts: a file of kind summary/1 (formats.md). The matrix is the exact sum of the products of each
 * row's numbers, or for each person of the averages of these products over the person's rows, with exact Gaussian noise from the operating system (proofs.md, 11); synthetic rows are computed from it.
 * The ledger counts the summary before anything is drawn. One pass of the encoder over the texts; O(n D^2 + D^3).
 *
 * Options (kind "summarize"): run, model, center, public-independent, reduce, text-column, text-pair-column, input, limit, label-column,
 * classes, range, out, summary-epsilon, summary-delta, rows, dry-run, card, model-id, sign, ledger, ledger-key, no-ledger,
 * budget-samples, budget-epsilon, person, person-epsilon, receiver, overwrite, batch, insecure-seed.
 * @param ctx      reports progress, records messages, can cancel
 * @param config   of kind "summarize"
 * @param[out] out the result; untouched on error; NULL: not wanted
 * @return as nvdp_export(); NVDP_ERR_ARGUMENT also for classes or a range that are not well-formed, and for an epsilon so small
 *         that the noise exceeds the grid */
nvdp_status nvdp_summarize(struct nvdp_context *ctx, const struct nvdp_config *config,
                           struct nvdp_summary_result *out);

NVDP_END_DECLS
#endif
