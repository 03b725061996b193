/** @file analysis.h
 * Analyses of a mechanism on words: what it does to a vocabulary, and what an attacker makes of its outputs.
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

/** The result of nvdp_analyse(). It owns everything that it points to, but the names: nvdp_result_free(). */
struct nvdp_analysis {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    const char *analysis;                /**< the option analyse; owned by the configuration */
    const char *
        mechanism; /**< name of the mechanism; "none": the vectors, or the texts as they are; static */
    double eta;    /**< nats per unit of distance */
    bool pieces;         /**< tokens are WordPieces, not words */
    size_t vocabulary;   /**< number of tokens with a vector */
    size_t dim;          /**< length of a vector */
    size_t tokens;       /**< number of analyzed tokens */
    size_t texts;        /**< number of texts; 0: the vocabulary alone */
    size_t text_tokens;  /**< number of their tokens, including words without a vector */
    size_t text_unknown; /**< number of words without a vector */
    uint64_t seed;       /**< the option seed */
    double noise;        /**< geometry: mean norm of the noise; NaN: no noise on vectors */
    struct nvdp_distances *distances;           /**< of geometry, else NULL */
    struct nvdp_deniability *deniability;       /**< of deniability, else NULL */
    struct nvdp_inversion *inversion;           /**< of inversion, else NULL */
    struct nvdp_mask_inference *mask_inference; /**< of mask-inference, else NULL */
    size_t replacements;                        /**< number of entries of `replacement` */
    struct nvdp_replacement
        *replacement; /**< of replacements, in the order of the texts; else NULL */
    size_t draws;     /**< number of draws of each of these tokens */
};

/** Analyzes a mechanism on words, for the tokens of texts or of its vocabulary.
 * @param ctx    reports progress, records messages, can cancel
 * @param config options of the kind "sanitize", with these (nvdp_config_add()): analyse (geometry, deniability, inversion,
 *               mask-inference or replacements), split, limit, top, mask-model, max-length, precision
 * @param out    the analysis; untouched on error
 * @return NVDP_ERR_ARGUMENT for options that do not fit the analysis; NVDP_ERR_INPUT for texts without a known word;
 *         otherwise as nvdp_sanitizer_create(), and for the texts as nvdp_text_privacy() */
nvdp_status nvdp_analyse(struct nvdp_context *ctx, const struct nvdp_config *config,
                         struct nvdp_analysis *out);

NVDP_END_DECLS
#endif
