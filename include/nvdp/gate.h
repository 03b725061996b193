/** @file gate.h
 * A gate for releases: a policy limits named numbers of a run or of a shared file, and the gate measures them.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_GATE_H
#define NVDP_GATE_H

#include <nvdp/config.h>
#include <nvdp/context.h>
#include <nvdp/export.h>
#include <nvdp/rdp.h>
#include <nvdp/result.h>

#include <stdbool.h>
#include <stddef.h>

NVDP_BEGIN_DECLS

/** Size in bytes of a check's name, including its NUL. */
#define NVDP_GATE_NAME_SIZE 160
/** Size in bytes of a check's reason, including its NUL. */
#define NVDP_GATE_REASON 512

/** One check of a policy. */
struct nvdp_gate_check {
    char name[NVDP_GATE_NAME_SIZE]; /**< the measure, as the policy names it */
    double at_most;                 /**< upper limit; NaN if there is none */
    double at_least;                /**< lower limit; NaN if there is none */
    double found;                   /**< the number; NaN: it could not be measured */
    bool passed; /**< the number is finite and within the limits, and nothing speaks against it */
    char reason[NVDP_GATE_REASON]; /**< why the check fails; "" if it passes */
    double seconds;                /**< time to measure it; 0 if an earlier check measured it too */
    /** Interval of `found`, whose ends are compared with the limits. NaN if there is none; then `found` is compared. */
    struct nvdp_interval interval;
    size_t texts; /**< texts that were measured or attacked; 0: none, as for a proof */
};

/** Result of nvdp_gate(); nvdp_result_free(). */
struct nvdp_gate_result {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    bool passed;                         /**< all checks pass */
    size_t checks;                       /**< number of checks, at least 1 */
    size_t failed;                       /**< number of checks that fail */
    struct nvdp_gate_check *check;       /**< [checks] in the order of the policy */
    double delta;                        /**< delta of the policy */
    size_t
        /** Samples of a text: of the policy, or more if the ledger or the file counts more. */
        releases;
    char split[24]; /**< texts of the run that were measured; "": the target is a file */
    bool summary;   /**< the target is a summary: numbers are for the replacement of one unit */
    bool
        /** The target is a file with samples of persons: numbers are for all rows of one. */
        persons;
};

/** Measures what a policy limits, and compares. Computes the certificate, the ledger's sums and every attack anew. Uses
 * the run's record of nvdp_privacy_measure() if it has the same options and the digest of the same posteriors, and else
 * measures. Writes nothing. The samples of a text that count are those of the policy, or of the run's ledger or of the
 * file if that counts more of one. NVDP_ERR_ARGUMENT for a limit below the policy's min_texts, or without that key.
 *
 * A check fails if its number cannot be measured, is not finite, or is beyond a limit; if an attack contradicts a
 * proof; or if an attack is too weak to show that anything is below an upper limit. Numbers are compared without
 * rounding. A measured number with an interval is compared by it: the upper end with at_most, the lower end with
 * at_least.
 *
 * nvdp_verify() checks the shared file once; if it finds a fault, every check fails. A shared file without its run
 * shows only what it states, so checks of anything else fail.
 *
 * Options (kind "gate"): policy (a JSON file, presets/policies/README.md, or the name of one in the library: certified,
 * attacks), target (the directory of a run, or a shared file), split, data, limit, public, prior, shared, seed,
 * ledger, ledger-key.
 * @param ctx    reports progress, records messages, can cancel
 * @param config of kind "gate"
 * @param out    the result, also if checks fail; untouched on error
 * @return NVDP_ERR_INPUT for a file that is no policy: the message names line and key; NVDP_ERR_IO for a target
 *         that does not exist; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_gate(struct nvdp_context *ctx, const struct nvdp_config *config,
                      struct nvdp_gate_result *out);

/** Writes a result as JUnit XML, a test case per check.
 * @param ctx    records messages
 * @param result from nvdp_gate()
 * @param name   name of the test suite, such as the run's
 * @param out    the text; the caller frees it with free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_gate_junit(struct nvdp_context *ctx, const struct nvdp_gate_result *result,
                            const char *name, char **out);

NVDP_END_DECLS
#endif
