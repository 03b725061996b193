/** @file guarantee.h
 * The one line about privacy that comes first wherever a run is shown: what holds, for how many samples, proven or
 * measured, and what is not covered.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_GUARANTEE_H
#define NVDP_GUARANTEE_H

#include <nvdp/context.h>
#include <nvdp/guess.h>

NVDP_BEGIN_DECLS

/** The known facts about the privacy of a run's samples. */
struct nvdp_guarantee {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    char method[32];    /**< "nvdp", "vtdp", "base", ... */
    bool noise;         /**< a random sample is shared; false for "base" and "reg" */
    bool token_noise;   /**< users replace or noise single tokens before the encoder reads them */
    /** Proven for any two texts, at `delta`, for all `releases` samples of a text together; +inf: nothing is proven. */
    double epsilon;
    double delta;                          /**< of epsilon */
    size_t releases;                       /**< samples of a text, together */
    double clip;                           /**< C, in standard deviations of the noise; NaN: none */
    size_t numbers;                        /**< per sample; 0: unknown */
    size_t guesses;                        /**< entries of guess */
    struct nvdp_guess guess[NVDP_GUESSES]; /**< proven guess bounds */
    double information;                    /**< proven bound in nats; NaN: unknown */
    size_t texts;                          /**< that were measured; 0: none */
    double order;                          /**< of the Renyi divergences below */
    double largest; /**< divergence of one sample of any two measured texts, nats; may be +inf */
    double infinite_share; /**< of the pairs whose divergence is infinite */
    double
        named; /**< share of the samples whose text an attacker names among the measured; NaN: unknown */
    double
        training_epsilon; /**< DP training: of one training text that is zeroed out (account.h); NaN: not
                             private; +inf: private, at an epsilon that is not known */
    double training_delta; /**< of training_epsilon */
    double training_mu;    /**< nvdp_account_risk.mu; +inf: not recorded */
    bool partial;          /**< `texts` are a sample of the texts of their split */
    size_t of_texts;       /**< of the split; 0: unknown */
};

/** Largest share of samples whose text is named that still counts as useful: one half. */
#define NVDP_USEFUL_NAMED 0.5

/** True if something useful is known: a proven epsilon of at most NVDP_USEFUL_EPSILON.
 * @param of the guarantee
 * @return whether samples have a useful guarantee over all texts */
bool nvdp_guarantee_is_useful(const struct nvdp_guarantee *of);

/** Writes the line: one paragraph without line ends.  Bounds are rounded in the safe direction.
 * @param ctx records messages; may be NULL
 * @param of  the guarantee
 * @param out the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_guarantee_line(struct nvdp_context *ctx, const struct nvdp_guarantee *of,
                                char **out);

/** Writes the proven guess bounds as a sentence or two; an empty text if there is no useful guarantee.
 * @param ctx records messages; may be NULL
 * @param of  the guarantee
 * @param out the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_guarantee_guesses(struct nvdp_context *ctx, const struct nvdp_guarantee *of,
                                   char **out);

/** Reads what a finished run's records say: result.json (certificate, private training) and privacy*.json (what
 * was measured: a complete measurement, of one sample per text, where there is one).
 * @param ctx records messages
 * @param run directory of the run
 * @param out the guarantee
 * @return NVDP_ERR_IO, NVDP_ERR_INPUT for a folder that is no finished run, NVDP_ERR_MEMORY */
nvdp_status nvdp_run_guarantee(struct nvdp_context *ctx, const char *run,
                               struct nvdp_guarantee *out);

NVDP_END_DECLS
#endif
