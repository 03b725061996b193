/** @file attack.h
 * Attacks: experiments that measure what an attacker can learn from shared samples or from a model (docs/attacks.md;
 * docs/dp-bert.md).
 *
 * Experimental: may change in any version. */
#ifndef NVDP_ATTACK_H
#define NVDP_ATTACK_H

#include <nvdp/audit.h>
#include <nvdp/linkage.h>
#include <nvdp/rdp.h>

NVDP_BEGIN_DECLS

/** Input of an attack. */
enum nvdp_attack_target {
    NVDP_ATTACK_MODEL,     /**< a model of nvdp pretrain: option model */
    NVDP_ATTACK_RUN,       /**< a run of nvdp train: option run */
    NVDP_ATTACK_POSTERIORS /**< a run or a file of posteriors: option run or posteriors */
};

/** An entry of the table of attacks, which nvdp_attack() runs by name. */
struct nvdp_attack_info {
    size_t struct_size;             /**< NVDP_RESULT() sets it */
    const char *name;               /**< value of the option kind; static */
    const char *help;               /**< short description; static */
    enum nvdp_attack_target target; /**< input of the attack */
    const char *const *options;     /**< options that apply, terminated by NULL; static */
    const char *exclusive[2];       /**< two mutually exclusive options; NULL if there are none */
    size_t attacks;                 /**< number of attacks */
    /** The object that the guesses of the attack identify, a static string for notes of reports. NULL if the attack
     * does not guess. */
    const char *right;
};
/** Describes an attack.
 * @param ctx    records an error; may be NULL
 * @param attack index, 0 to nvdp_attack_info.attacks - 1
 * @param out    the description
 * @return NVDP_ERR_ARGUMENT if there is no such attack or *out has no struct_size */
nvdp_status nvdp_attack_describe(struct nvdp_context *ctx, size_t attack,
                                 struct nvdp_attack_info *out);

/** The result of an attack; opaque. */
struct nvdp_attack_result;
/** Runs the attack named by the option kind. Ignores options that do not apply to it.
 *
 * The options are of kind "attack": kind (the attack's name), the options that nvdp_attack_describe() lists for the
 * attack, the options of nvdp_run_posteriors() for an attack on a run, posteriors (a file in place of a run), and
 * claimed (an epsilon to which pairs are compared).
 * @param ctx      reports progress, can cancel; outlives the result
 * @param config   of kind "attack"; copied
 * @param[out] out the result, freed with nvdp_attack_free(), even if it exceeds a bound; untouched on error
 * @return as nvdp_run_posteriors(); NVDP_ERR_UNSUPPORTED or NVDP_ERR_INPUT for a model, a file or texts that the attack
 *         cannot use; NVDP_ERR_ARGUMENT if the input is missing or given twice */
nvdp_status nvdp_attack(struct nvdp_context *ctx, const struct nvdp_config *config,
                        struct nvdp_attack_result **out);
/** Writes a sentence about a result that exceeds a proven or claimed bound. In that case, the sampler, the densities,
 * the training or the proof is wrong, or the excess is chance.
 * @param ctx      records messages
 * @param result   from nvdp_attack()
 * @param[out] out one sentence, "" if nothing exceeds a bound; the caller frees it with free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_attack_verdict(struct nvdp_context *ctx, const struct nvdp_attack_result *result,
                                char **out);
/** Frees a result.
 * @param result from nvdp_attack(); may be NULL */
void nvdp_attack_free(struct nvdp_attack_result *result);

NVDP_END_DECLS
#endif
