/** @file encoder.h
 * An encoder in memory: hidden states and sentence vectors of texts, without noise. States and vectors are not
 * private: use them for analysis and comparison.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_ENCODER_H
#define NVDP_ENCODER_H

#include <nvdp/config.h>
#include <nvdp/dataset.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** A loaded encoder and its tokenizer. Only one call at a time may use the encoder. */
struct nvdp_encoder;

/** Properties of an encoder. */
struct nvdp_encoder_info {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    size_t hidden_size; /**< d, length of a state */
    size_t max_length;  /**< length to which texts should be cut, including special tokens */
    /** Pooling of states to a vector: "none", "mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean" or
     * "lasttoken". The results of several poolings are concatenated; such a pooling is written as "cls+mean". */
    char pooling[64];
    bool normalized; /**< the vectors have unit length */
    /** SHA-256, hexadecimal, of the file of weights, or of the list of the shards' names and SHA-256s. */
    char fingerprint[65];
    size_t vector_size; /**< p, length of a vector; 0 without a pooling */
    /** Text that the caller puts before each text to get the vectors of sentence-transformers; NULL if there is none.
     * The encoder owns it. */
    const char *prompt;
};

/** Loads a directory in Hugging Face or sentence-transformers layout, or RUN/model of a run of method base or reg.
 * O(size of the weights).
 *
 * Options (kind "encoder"): model, max-length, pool, normalize, batch, with the meanings of nvdp_encode().
 * @param ctx      outlives the encoder
 * @param config   of kind "encoder"
 * @param[out] out the encoder, freed with nvdp_encoder_free(); untouched on error
 * @return as nvdp_encode() and nvdp_tokenizer_load() */
nvdp_status nvdp_encoder_load(struct nvdp_context *ctx, const struct nvdp_config *config,
                              struct nvdp_encoder **out);

/** Frees an encoder.
 * @param encoder may be NULL */
void nvdp_encoder_free(struct nvdp_encoder *encoder);

/** Describes an encoder.
 * @param encoder encoder
 * @param[in,out] out filled up to its struct_size
 * @return NVDP_ERR_ARGUMENT for a struct without struct_size */
nvdp_status nvdp_encoder_describe(const struct nvdp_encoder *encoder,
                                  struct nvdp_encoder_info *out);

/** Returns the tokenizer of an encoder.
 * @param encoder encoder
 * @return owned by the encoder */
const struct nvdp_tokenizer *nvdp_encoder_tokenizer(const struct nvdp_encoder *encoder);

/** Computes the states of texts, and one vector per text, as nvdp_encode() writes them. O(T) passes through the
 * encoder; memory for one batch.
 * @param ctx     as in nvdp_encoder_load(); reports progress, can cancel
 * @param encoder encoder
 * @param dataset N texts with T tokens in total, by the encoder's tokenizer (nvdp_dataset_from_texts())
 * @param states  [T, d] last states, text after text; may be NULL
 * @param vectors [N, p] pooled vectors; may be NULL
 * @return NVDP_ERR_ARGUMENT for tokens that the encoder does not have, texts that are too long, and vectors of an
 *         encoder without pooling; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_encoder_run(struct nvdp_context *ctx, struct nvdp_encoder *encoder,
                             const struct nvdp_dataset *dataset, float *states, float *vectors);

NVDP_END_DECLS
#endif
