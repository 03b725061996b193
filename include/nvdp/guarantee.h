/** @file guarantee.h
 * The privacy summary of a run, one line long: the guarantee, the number of samples, whether it is proven or
 * measured, and what is not covered. Every view of a run shows it first.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_GUARANTEE_H
#define NVDP_GUARANTEE_H

#include <nvdp/certificate.h>
#include <nvdp/context.h>
#include <nvdp/guess.h>

NVDP_BEGIN_DECLS

/** The known facts about the privacy of a run's samples. */
struct nvdp_guarantee {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    char method[32];    /**< "nvdp", "vtdp", "base", ... */
    bool noise;         /**< a random sample is shared; false for "base" and "reg" */
    bool token_noise;   /**< users replace or noise single tokens before encoding */
    /** Proven epsilon for any two texts, at `delta`, for all `releases` samples of a text together; +inf if nothing is
     * proven. */
    double epsilon;
    double delta;    /**< delta of `epsilon` */
    size_t releases; /**< number of samples per text */
    double clip;     /**< C, in standard deviations of the noise; NaN without a clip */
    size_t numbers;  /**< numbers per sample; 0 if unknown */
    size_t guesses;  /**< number of entries of `guess` */
    struct nvdp_bounded_guess guess[NVDP_GUESSES]; /**< proven guess bounds */
    double information; /**< proven bound of the mutual information, in nats; NaN if unknown */
    size_t texts;       /**< number of measured texts; 0 if there is none */
    double order;       /**< order of the Renyi divergences below */
    /** Largest divergence between one sample each of two measured texts, in nats; may be +inf. */
    double largest;
    double infinite_share; /**< share of the pairs whose divergence is infinite */
    /** Share of samples whose text an attacker identifies among the measured texts; NaN if unknown. */
    double named;
    /** Epsilon of private training for one training example that is zeroed out (account.h). NaN if training is not
     * private; +inf if training is private at an unknown epsilon. */
    double training_epsilon;
    double training_delta;       /**< delta of training_epsilon */
    double training_mu;          /**< nvdp_example_risk.mu; +inf if it is not recorded */
    bool partial;                /**< `texts` are a subset of the texts of a split */
    size_t of_texts;             /**< number of texts of the split; 0 if unknown */
    struct nvdp_word_claim word; /**< the guarantee per word */
    /** nvdp_certificate.named_bound; NaN or 0 if it is unknown. Then an upper bound that follows from `epsilon` is
     * used. */
    double named_bound;
};

/** Writes the summary as one paragraph without line ends. Bounds are rounded in the safe direction.
 * @param ctx records messages; may be NULL
 * @param of  the guarantee
 * @param out the text; the caller frees it with free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_guarantee_line(struct nvdp_context *ctx, const struct nvdp_guarantee *of,
                                char **out);

/** Writes the proven guess bounds as one or two sentences; "" if there is no useful guarantee.
 * @param ctx records messages; may be NULL
 * @param of  the guarantee
 * @param out the text; the caller frees it with free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_guarantee_guesses(struct nvdp_context *ctx, const struct nvdp_guarantee *of,
                                   char **out);

/** Reads the records of a finished run: result.json (certificate, private training) and privacy*.json
 * (measurements). Prefers a complete measurement of one sample per text.
 * @param ctx records messages
 * @param run directory of the run
 * @param out the guarantee
 * @return NVDP_ERR_IO, NVDP_ERR_INPUT for a directory that is not a finished run, NVDP_ERR_ARGUMENT for NULL,
 *         NVDP_ERR_MEMORY */
nvdp_status nvdp_run_guarantee(struct nvdp_context *ctx, const char *run,
                               struct nvdp_guarantee *out);

NVDP_END_DECLS
#endif
