/** @file evaluate.h
 * What is done with a finished run: scores, predictions, posteriors; and plain encoding. */
#ifndef NVDP_EVALUATE_H
#define NVDP_EVALUATE_H

#include <nvdp/export.h>
#include <nvdp/train.h>

NVDP_BEGIN_DECLS

/** The options of nvdp_evaluate(): run, split (default dev), data, limit, batch, seed, draws.
 * @param ctx outlives the configuration.
 * @param out nvdp_config_free().
 * @return NVDP_ERR_MEMORY. */
nvdp_status nvdp_evaluate_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** The options of nvdp_predict(): run, split (default test), data, limit, batch, seed, out.
 * @param ctx outlives the configuration.
 * @param out nvdp_config_free().
 * @return NVDP_ERR_MEMORY. */
nvdp_status nvdp_predict_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** The options of nvdp_run_posteriors(): run, split (default dev), data, limit, batch, seed.
 * @param ctx outlives the configuration.
 * @param out nvdp_config_free().
 * @return NVDP_ERR_MEMORY. */
nvdp_status nvdp_run_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** A run's scores on a split, and what they are scores of. */
struct nvdp_evaluation {
    size_t struct_size;        /**< NVDP_RESULT() sets it */
    char task[16];             /**< "sst2", ... */
    char method[16];           /**< "nvdp", ... */
    char split[24];            /**< "dev", ... */
    char protocol[16];         /**< on what the epoch was selected: "holdout", "dev" */
    struct nvdp_scores scores; /**< mean and standard deviation over draws of the noise */
};

/** Scores a run's best model on a split with fresh noise.
 * @param ctx progress and the wish to stop pass through its callbacks.
 * @param config of nvdp_evaluate_config_create().
 * @param out untouched on error.
 * @return NVDP_ERR_IO where there is no such run; NVDP_ERR_STATE before its first epoch ended;
 *     NVDP_ERR_INPUT for a split without labels; NVDP_ERR_NUMERIC for outputs that are not finite;
 *     NVDP_ERR_CANCELLED.
 *
 * Takes `draws` forward passes over the split; methods without noise take one. */
nvdp_status nvdp_evaluate(struct nvdp_context *ctx, const struct nvdp_config *config,
                          struct nvdp_evaluation *out);

/** Writes the file that GLUE's leaderboard takes, lines "index<TAB>prediction", of a split.
 * @param ctx progress and the wish to stop pass through its callbacks.
 * @param config of nvdp_predict_config_create(); without "out", RUN/predictions_SPLIT.tsv.
 * @param written the path; free(); NULL: not wanted.
 * @return as nvdp_evaluate(). */
nvdp_status nvdp_predict(struct nvdp_context *ctx, const struct nvdp_config *config,
                         char **written);

/** The posteriors of a split's texts.
 * @param ctx progress and the wish to stop pass through its callbacks.
 * @param config of nvdp_run_config_create().
 * @param out nvdp_posteriors_free().
 * @return as nvdp_evaluate(); NVDP_ERR_ARGUMENT for methods without a bottleneck. */
nvdp_status nvdp_run_posteriors(struct nvdp_context *ctx, const struct nvdp_config *config,
                                struct nvdp_posteriors **out);

struct nvdp_encode_config {
    const char *model; /* Hugging Face directory, or RUN/model of a base run */
    const char
        *input; /* JSON lines {"text", "pair", "max_length"} or {"input_ids", "token_type_ids"} */
    const char
        *out; /* HDF5: offset, hidden | hidden_0..L, pooled, logits where there is a classifier */
    bool all_layers;
    size_t max_length, batch;
};
struct nvdp_encode_config nvdp_encode_config_default(void);
/* Plain hidden states: not private, for analysis.  *texts (may be NULL) counts what was written. */
nvdp_status nvdp_encode(struct nvdp_context *ctx, const struct nvdp_encode_config *config,
                        size_t *texts);

NVDP_END_DECLS
#endif
