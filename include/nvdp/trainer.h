/** @file
 * Training one step at a time, with random weights and without a run directory: to measure a machine, to plan the
 * size of a job, or to inspect a step. nvdp_train() does whole runs.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_TRAINER_H
#define NVDP_TRAINER_H

#include <nvdp/export.h>
#include <nvdp/train.h>

NVDP_BEGIN_DECLS

/** A model with random weights, texts, and an optimizer. Only one thread at a time may use it. */
struct nvdp_trainer;

/** Properties of a trainer. */
struct nvdp_trainer_info {
    const struct nvdp_bert_config *bert; /**< encoder sizes; owned by the trainer */
    enum nvdp_precision precision;       /**< precision of products; f32 if bf16 is unavailable */
    size_t parameters;                   /**< number of parameters of encoder, mechanism and head */
    double weights_seconds;              /**< duration of drawing the random weights */
};

/** Data and result of a step. Token t of text i, at offset[i] + t, is ids[offset[i] + t]. */
struct nvdp_trainer_step {
    size_t texts;          /**< B, number of texts in the batch */
    size_t tokens;         /**< T, number of tokens in the batch; there is no padding */
    const int32_t *offset; /**< [B + 1] first token of each text, and T */
    const int32_t *ids;    /**< [T] token ids */
    const int32_t *types;  /**< [T] segment of the token, 0 or 1 */
    const float *label;    /**< [B] class index or score; NaN if there is no label */
    double seconds;        /**< duration of the step, including the assembly of the batch */
    /** Mean over the batch with regularizers, nats; NaN without training. */
    double loss;
};

/** Creates a trainer.
 *
 * The configuration is the same as for nvdp_train(). `out` and the options of whole runs (epochs, patience, evaluation)
 * are ignored. With `data`, the texts of the task's train file are read in the order of the epochs; this needs `task`,
 * and `model` for the vocabulary. Without `data`, texts have `max_length` random tokens, in two random classes.
 *
 * Takes time and memory in proportion to the parameters of `bert`, four times as much for training.
 * @param ctx      context; must outlive the trainer
 * @param config   of kind "train"; only read
 * @param bert     encoder sizes
 * @param training if true, a step is forward, backward, clipping, AdamW; if false, a forward pass
 * @param steps    number of steps of the learning rate schedule, at least 1. As many random batches are made, but at
 *                 most 64, which are then reused
 * @param[out] out the trainer, freed with nvdp_trainer_free()
 * @return NVDP_ERR_ARGUMENT for options out of range, NVDP_ERR_INPUT for unreadable data, NVDP_ERR_MEMORY */
nvdp_status nvdp_trainer_create(struct nvdp_context *ctx, const struct nvdp_config *config,
                                const struct nvdp_bert_config *bert, bool training, size_t steps,
                                struct nvdp_trainer **out);
/** Frees a trainer.
 * @param trainer may be NULL */
void nvdp_trainer_free(struct nvdp_trainer *trainer);

/** Describes a trainer.
 * @param trainer trainer
 * @return valid until the trainer is freed */
const struct nvdp_trainer_info *nvdp_trainer_info(const struct nvdp_trainer *trainer);

/** Runs the next step.
 * @param trainer  trainer
 * @param[out] out data and result of the step, valid until the next step
 * @return NVDP_ERR_NUMERIC if the loss is not a number, NVDP_ERR_MEMORY */
nvdp_status nvdp_trainer_step(struct nvdp_trainer *trainer, const struct nvdp_trainer_step **out);

/** Measures the speed of large matrix products in the trainer's precision and on the threads of its context, as a
 * reference for other speeds. Takes about half a second.
 * @param trainer  trainer
 * @param[out] out flop/s of the fastest of three to nine products of 2048 x 2048 x 2048
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_trainer_peak(const struct nvdp_trainer *trainer, double *out);

NVDP_END_DECLS
#endif
