/** @file gate.h
 * A gate for releases: a policy limits measures of a run or of a shared file, and the gate measures and compares them.
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
    char name[NVDP_GATE_NAME_SIZE]; /**< name of the measure in the policy */
    double at_most;                 /**< upper limit; NaN if there is none */
    double at_least;                /**< lower limit; NaN if there is none */
    double found;                   /**< the measured number; NaN if it could not be measured */
    bool passed; /**< the number is finite and within the limits, and `reason` is empty */
    char reason[NVDP_GATE_REASON]; /**< why the check fails; "" if it passes */
    /** Time of the measurement; 0 if an earlier check measured it. */
    double seconds;
    /** Interval of `found`, whose ends are compared with the limits. NaN if there is none; then `found` is compared. */
    struct nvdp_interval interval;
    size_t texts; /**< texts that were measured or attacked; 0 for a proof, which reads no text */
};

/** Result of nvdp_gate(), freed with nvdp_result_free(). */
struct nvdp_gate_result {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    bool passed;                         /**< all checks pass */
    size_t checks;                       /**< number of checks, at least 1 */
    size_t failed;                       /**< number of checks that fail */
    struct nvdp_gate_check *check;       /**< [checks] in the order of the policy */
    double delta;                        /**< delta of the policy */
    /** Samples of a text: the number of the policy, or the number of the ledger or file if that is larger. */
    size_t releases;
    char split[24]; /**< split of the run that was measured; "" if the target is a file */
    bool summary;   /**< the target is a summary: numbers are for the replacement of one unit */
    /** The target is a file with samples of persons: numbers are for all rows of one person. */
    bool persons;
};

/** Measures the numbers that a policy limits, and compares them with the limits. Recomputes the certificate, the
 * ledger's sums and every attack. Uses the run's record of nvdp_privacy_measure() if the record has the same options
 * and the digest of the same posteriors; otherwise measures again. Writes nothing. The number of samples of a text is
 * the number of the policy, of the run's ledger or of the file, whichever is the largest. The option limit must be at
 * least the policy's min_texts, and needs that key.
 *
 * A check fails if its number cannot be measured, is not finite, or is beyond a limit. It also fails if an attack
 * contradicts a proof, or if an attack is too weak to show that anything is below an upper limit. Numbers are compared
 * without rounding. If a measured number has an interval, at_most is compared with the upper end and at_least with the
 * lower end.
 *
 * nvdp_verify() checks the shared file once; if it finds a fault, every check fails. If the target is a shared file
 * without its run, only statements of the file can be checked, and all other checks fail.
 *
 * Options (kind "gate"): policy (a JSON file, presets/policies/README.md, or the name of a policy of the library:
 * certified, attacks), target (the directory of a run, or a shared file), split, data, limit, public, prior, shared,
 * seed, ledger, ledger-key.
 * @param ctx    reports progress, records messages, can cancel
 * @param config of kind "gate"
 * @param out    the result, even if checks fail; untouched on error
 * @return NVDP_ERR_INPUT for a file that is no policy: the message names line and key; NVDP_ERR_IO for a target
 *         that does not exist; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_gate(struct nvdp_context *ctx, const struct nvdp_config *config,
                      struct nvdp_gate_result *out);

/** Writes a result as JUnit XML, with one test case per check.
 * @param ctx    records messages
 * @param result from nvdp_gate()
 * @param name   name of the test suite, such as the name of the run
 * @param out    the text; the caller frees it with free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_gate_junit(struct nvdp_context *ctx, const struct nvdp_gate_result *result,
                            const char *name, char **out);

NVDP_END_DECLS
#endif
