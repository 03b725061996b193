/** @file analysis.h
 * Analyses of a mechanism on words: how it changes a vocabulary, and what an attacker infers from its outputs.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_ANALYSIS_H
#define NVDP_ANALYSIS_H

#include <nvdp/config.h>
#include <nvdp/dchi.h>
#include <nvdp/pretrain.h>
#include <nvdp/text_privacy.h>

NVDP_BEGIN_DECLS

/** An output of a token. */
struct nvdp_replaced {
    char *token;  /**< the output */
    double share; /**< share of the draws */
};

/** Outputs of a token. */
struct nvdp_replacement {
    char *token;                         /**< the token */
    size_t count;                        /**< occurrences in the texts */
    size_t outputs;                      /**< number of different outputs */
    size_t listed;                       /**< number of entries of most_frequent */
    struct nvdp_replaced *most_frequent; /**< the most frequent outputs, in this order */
};

/** The result of nvdp_analyse(), freed with nvdp_result_free(). It owns everything that it points to, except names. */
struct nvdp_analysis {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    const char *analysis;                /**< the option analyse; owned by the configuration */
    /** Name of the mechanism, a static string; "none" for the vectors or the texts without a mechanism. */
    const char *mechanism;
    double eta;          /**< nats per unit of distance */
    bool pieces;         /**< tokens are WordPieces, not words */
    size_t vocabulary;   /**< number of tokens with a vector */
    size_t dim;          /**< length of a vector */
    size_t tokens;       /**< number of analyzed tokens */
    size_t texts;        /**< number of texts; 0 if only the vocabulary is analyzed */
    size_t text_tokens;  /**< tokens of the texts, including words without a vector */
    size_t text_unknown; /**< number of words without a vector */
    uint64_t seed;       /**< the option seed */
    double noise;        /**< geometry: mean norm of the noise; NaN without noise on vectors */
    struct nvdp_distances *distances;           /**< NULL unless geometry */
    struct nvdp_deniability *deniability;       /**< NULL unless deniability */
    struct nvdp_inversion *inversion;           /**< NULL unless inversion */
    struct nvdp_mask_inference *mask_inference; /**< NULL unless mask-inference */
    size_t replacements;                        /**< number of entries of `replacement` */
    /** Outputs of tokens, in the order of the texts; NULL unless the analysis is replacements. */
    struct nvdp_replacement *replacement;
    size_t draws; /**< number of draws per token of `replacement` */
};

/** Analyzes a mechanism on words, for the tokens of texts or of the mechanism's vocabulary.
 * @param ctx    reports progress, records messages, can cancel
 * @param config options of the kind "sanitize", and these, which the caller adds with nvdp_config_add(): analyse
 *               (geometry, deniability, inversion, mask-inference or replacements), split, limit, top, mask-model,
 *               max-length, precision
 * @param out    the analysis; untouched on error
 * @return NVDP_ERR_ARGUMENT for options that do not fit the analysis; NVDP_ERR_INPUT for texts without a known word;
 *         otherwise as nvdp_sanitizer_create(), and for the texts as nvdp_text_privacy() */
nvdp_status nvdp_analyse(struct nvdp_context *ctx, const struct nvdp_config *config,
                         struct nvdp_analysis *out);

NVDP_END_DECLS
#endif
