/** @file model.h
 * Models: an encoder, a bottleneck and a classifier, loaded from a model directory.
 *
 * A model directory is in Hugging Face layout (config.json, vocab.txt, model.safetensors), with an
 * object "nvdp" in config.json that says what the model is beyond BERT (docs/formats.md).
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

/** A loaded model, with its tokenizer.  One call at a time may use it. */
struct nvdp_model;

/** What a model is, from nvdp_model_info().  Texts live as long as the model. */
struct nvdp_model_info {
    size_t struct_size;        /**< NVDP_RESULT() sets it */
    enum nvdp_method method;   /**< which bottleneck stands between encoder and classifier */
    const char *task;          /**< name of the task that it was trained on: "sst2", "tsv", ... */
    size_t outputs;            /**< numbers per text: the classes, or 1 of a regression */
    const char *const *labels; /**< names of the classes [outputs]; NULL of a regression */
    size_t max_length;    /**< tokens to which longer texts were cut, [CLS] and [SEP] included */
    size_t hidden_size;   /**< width of the encoder's hidden states */
    size_t latent_dim;    /**< width of a vector of the sample; 0 without a bottleneck */
    size_t kappa;         /**< vectors per component of the sample; 0 without a bottleneck */
    size_t length;        /**< tokens to which the sample of every text is padded; 0: not */
    size_t parameters;    /**< numbers that training changes */
    char fingerprint[65]; /**< SHA-256 of model.safetensors, hexadecimal */
};

/** Loads a directory that training wrote (RUN/model): tokenizer, configuration, weights.
 * @param ctx memory, threads, precision, messages; it must outlive the model
 * @param directory path
 * @param out the model, to be freed with nvdp_model_free(); untouched on error
 * @return NVDP_OK; NVDP_ERR_IO where a file cannot be read; NVDP_ERR_INPUT naming the file, the key or
 *     the tensor, what was expected and what was found; NVDP_ERR_STATE for a run that has not ended;
 *     NVDP_ERR_MEMORY.  O(size of the weights). */
nvdp_status nvdp_model_load(struct nvdp_context *ctx, const char *directory,
                            struct nvdp_model **out);

/** Frees a model.
 * @param model NULL is allowed */
void nvdp_model_free(struct nvdp_model *model);

/** What a model is.
 * @param ctx where an error is recorded
 * @param model a model
 * @param out made with NVDP_RESULT(); filled as far as its size says
 * @return NVDP_OK, or NVDP_ERR_ARGUMENT where `out` does not tell its size */
nvdp_status nvdp_model_info(struct nvdp_context *ctx, const struct nvdp_model *model,
                            struct nvdp_model_info *out);

/** The tokenizer of a model's directory.
 * @param model a loaded model
 * @return it; owned by the model */
const struct nvdp_tokenizer *nvdp_model_tokenizer(const struct nvdp_model *model);

/** The classifier's outputs for every text, from one sample each with fresh noise.  Results depend
 * on (seed, draw, the text's index in its data set) and neither on batches nor on threads.
 * @param ctx messages, progress and cancelling
 * @param model a loaded model
 * @param dataset texts, tokenized with the model's tokenizer
 * @param batch texts per forward pass, at least 1
 * @param seed of the noise; methods without a bottleneck have none
 * @param draw number of the sample: another one, other noise
 * @param outputs [dataset->count, outputs], row by row: logits, or the regression's value
 * @return NVDP_OK; NVDP_ERR_ARGUMENT for batch 0 or a text longer than the bottleneck's length;
 *     NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY.  O(tokens) passes through the encoder. */
nvdp_status nvdp_model_predict(struct nvdp_context *ctx, struct nvdp_model *model,
                               const struct nvdp_dataset *dataset, size_t batch, uint64_t seed,
                               uint32_t draw, float *outputs);

/** The posterior of every text: what its samples are drawn from.  Nothing is drawn.
 * @param ctx messages, progress and cancelling
 * @param model a loaded model
 * @param dataset texts, tokenized with the model's tokenizer
 * @param batch texts per forward pass, at least 1
 * @param out to be freed with nvdp_posteriors_free(); untouched on error
 * @return NVDP_OK; NVDP_ERR_ARGUMENT for a method without a bottleneck, batch 0, or a text longer than
 *     the bottleneck's length; NVDP_ERR_NUMERIC where a number is not finite; NVDP_ERR_CANCELLED;
 *     NVDP_ERR_MEMORY.  O(tokens) passes through the encoder. */
nvdp_status nvdp_model_posteriors(struct nvdp_context *ctx, struct nvdp_model *model,
                                  const struct nvdp_dataset *dataset, size_t batch,
                                  struct nvdp_posteriors **out);

NVDP_END_DECLS
#endif
