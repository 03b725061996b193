/** @file model.h
 * Models: an encoder, a bottleneck and a classifier, loaded from a model directory.
 *
 * A model directory has the Hugging Face layout (config.json, vocab.txt, model.safetensors). An object "nvdp" in
 * config.json describes the parts that BERT does not have (docs/formats.md).
 *
 * Stable: later versions add to it. */
#ifndef NVDP_MODEL_H
#define NVDP_MODEL_H

#include <nvdp/bert.h>
#include <nvdp/config.h>
#include <nvdp/dataset.h>
#include <nvdp/export.h>
#include <nvdp/method.h>
#include <nvdp/posteriors.h>

NVDP_BEGIN_DECLS

/** A loaded model and its tokenizer. Only one call at a time may use the model. */
struct nvdp_model;

/** Properties of a model, from nvdp_model_info(). The model owns the strings. */
struct nvdp_model_info {
    size_t struct_size;        /**< NVDP_RESULT() sets it */
    enum nvdp_method method;   /**< bottleneck between encoder and classifier */
    const char *task;          /**< name of the training task: "sst2", "tsv", ... */
    size_t outputs;            /**< outputs per text: number of classes, or 1 for a regression */
    const char *const *labels; /**< names of the classes [outputs]; NULL for a regression */
    /** Length in tokens to which texts were cut, including [CLS] and [SEP]. */
    size_t max_length;
    size_t hidden_size; /**< length of the encoder's hidden states */
    size_t latent_dim;  /**< length of a vector of the sample; 0 without a bottleneck */
    size_t kappa;       /**< vectors per component of the sample; 0 without a bottleneck */
    /** Length in tokens to which all samples are padded; 0 without padding. */
    size_t length;
    size_t parameters;    /**< number of trained parameters */
    char fingerprint[65]; /**< SHA-256 of model.safetensors, hexadecimal */
};

/** Loads a directory that training wrote (RUN/model): tokenizer, configuration, weights. O(size of the weights).
 * @param ctx       memory, threads, precision, messages; must outlive the model
 * @param directory path
 * @param out       the model, freed with nvdp_model_free(); untouched on error
 * @return NVDP_OK; NVDP_ERR_IO if a file cannot be read; NVDP_ERR_INPUT, whose message names file, key or tensor,
 *         what was expected and what was found; NVDP_ERR_STATE for an unfinished run; NVDP_ERR_MEMORY */
nvdp_status nvdp_model_load(struct nvdp_context *ctx, const char *directory,
                            struct nvdp_model **out);

/** Frees a model.
 * @param model may be NULL */
void nvdp_model_free(struct nvdp_model *model);

/** Describes a model.
 * @param ctx   records an error
 * @param model a model
 * @param out   made with NVDP_RESULT(); filled up to its struct_size
 * @return NVDP_OK, or NVDP_ERR_ARGUMENT if `out` has no struct_size */
nvdp_status nvdp_model_info(struct nvdp_context *ctx, const struct nvdp_model *model,
                            struct nvdp_model_info *out);

/** Returns the tokenizer of a model.
 * @param model a loaded model
 * @return owned by the model */
const struct nvdp_tokenizer *nvdp_model_tokenizer(const struct nvdp_model *model);

/** Computes the posterior of every text, the distribution of its samples. Draws nothing. O(tokens) passes through
 * the encoder.
 * @param ctx     messages, progress and cancelling
 * @param model   a loaded model
 * @param dataset texts, tokenized with the model's tokenizer
 * @param batch   texts per forward pass, at least 1
 * @param out     the result, freed with nvdp_posteriors_free(); untouched on error
 * @return NVDP_OK; NVDP_ERR_ARGUMENT for a method without a bottleneck, batch 0, or a text longer than the
 *         bottleneck's length; NVDP_ERR_NUMERIC if a number is not finite; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_model_posteriors(struct nvdp_context *ctx, struct nvdp_model *model,
                                  const struct nvdp_dataset *dataset, size_t batch,
                                  struct nvdp_posteriors **out);

NVDP_END_DECLS
#endif
