/** @file
 * Training one step at a time, on random weights and without a run directory: to measure a
 * machine, to size a job, to look at what a step sees.  Whole runs are nvdp_train's.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_TRAINER_H
#define NVDP_TRAINER_H

#include <nvdp/export.h>
#include <nvdp/train.h>

NVDP_BEGIN_DECLS

/** A model with random weights, texts, and an optimiser.  One calling thread at a time. */
struct nvdp_trainer;

/** What a trainer is. */
struct nvdp_trainer_info {
    struct nvdp_bert_config bert;  /**< sizes of the encoder */
    enum nvdp_precision precision; /**< of products; f32 where bf16 is not to be had */
    size_t parameters;             /**< elements of encoder, mechanism and head */
    double weights_seconds;        /**< that drawing the random weights took */
};

/** What a step worked on.  Token t of text i, at offset[i] + t, is ids[offset[i] + t]. */
struct nvdp_trainer_step {
    size_t texts;          /**< texts in the batch, B */
    size_t tokens;         /**< tokens in the batch, T; there is no padding */
    const int32_t *offset; /**< [B + 1] where the texts begin and end */
    const int32_t *ids;    /**< [T] token ids */
    const int32_t *types;  /**< [T] segment of the token, 0 or 1 */
    const float *label;    /**< [B] class index or score; NaN where there is none */
    double seconds;        /**< of the step, the batch's gathering included */
    double loss; /**< mean over the batch, nats, with regularisers; NaN without training */
};

/** Makes a trainer.
 *
 * The configuration is that of nvdp_train; `out` and what belongs to whole runs (epochs, patience,
 * evaluation) are not used.  With `data` (and then `task` and, for its vocabulary, `model`) the
 * texts are those of the task's train file in the order of the epochs; without, `max_length`
 * random tokens each, of two random classes.
 *
 * @param ctx      context; must outlive the trainer
 * @param config   of nvdp_train_config_create; only read
 * @param bert     sizes of the encoder
 * @param training true: a step is forward, backward, clipping, AdamW; false: a forward pass
 * @param steps    how many steps the learning rate's schedule is for, at least 1; of random texts
 *                 as many batches are made, 64 at most, and then come round again
 * @param[out] out the trainer; release with nvdp_trainer_free
 * @return NVDP_ERR_ARGUMENT for options out of range, NVDP_ERR_INPUT for unreadable data,
 *         NVDP_ERR_MEMORY
 *
 * Time and memory: those of `bert`'s parameters, four times in training. */
nvdp_status nvdp_trainer_create(struct nvdp_context *ctx, const struct nvdp_config *config,
                                const struct nvdp_bert_config *bert, bool training, size_t steps,
                                struct nvdp_trainer **out);
/** Releases a trainer.
 * @param trainer trainer, or NULL */
void nvdp_trainer_free(struct nvdp_trainer *trainer);

/** What the trainer is.
 * @param trainer trainer
 * @return valid until the trainer is released */
const struct nvdp_trainer_info *nvdp_trainer_info(const struct nvdp_trainer *trainer);

/** Does the next step.
 * @param trainer  trainer
 * @param[out] out what it worked on, valid until the next step
 * @return NVDP_ERR_NUMERIC where the loss is not a number, NVDP_ERR_MEMORY */
nvdp_status nvdp_trainer_step(struct nvdp_trainer *trainer, const struct nvdp_trainer_step **out);

/** How fast this machine multiplies large matrices in the trainer's precision and on its context's
 * threads: what other speeds are measured by.  Takes about half a second.
 * @param trainer  trainer
 * @param[out] out flop/s of the fastest of nine products of 2048 x 2048 x 2048
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_trainer_peak(const struct nvdp_trainer *trainer, double *out);

NVDP_END_DECLS
#endif
