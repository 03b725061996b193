/** @file evaluate.h
 * What is done with a finished run: scores, predictions, posteriors; and plain encoding.
 *
 * Stable: later versions add to it. */
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

/** The options of nvdp_predict(): run, split (default test), data, limit, batch, seed, out; of
 * nvdp_predict_texts(): run, input, samples, probabilities, batch, seed, out.
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
 * @return NVDP_ERR_IO where there is no such run; NVDP_ERR_STATE for a run that has not ended;
 *     NVDP_ERR_INPUT for a split without labels; NVDP_ERR_NUMERIC for outputs that are not finite;
 *     NVDP_ERR_CANCELLED.
 *
 * Takes `draws` forward passes over the split; methods without noise take one. */
nvdp_status nvdp_evaluate(struct nvdp_context *ctx, const struct nvdp_config *config,
                          struct nvdp_evaluation *out);

/** How well one class is told, means over draws of the noise. */
struct nvdp_class_score {
    char name[64];    /**< the label, cut where it is longer */
    size_t n;         /**< texts of it */
    double said;      /**< texts that are called it */
    double precision; /**< share of those that are it; 0 where none is called it */
    double recall;    /**< share of its texts that are called it; 0 where there is none */
    double f1;        /**< their harmonic mean */
};

/** nvdp_evaluate(), and each class by itself.
 * @param ctx as there.
 * @param config as there.
 * @param out as there.
 * @param[out] count classes; 0 of tasks with scores or tags.
 * @param[out] classes [count] in the order of their names; NULL where count is 0; free().
 * @return as there. */
nvdp_status nvdp_evaluate_classes(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  struct nvdp_evaluation *out, size_t *count,
                                  struct nvdp_class_score **classes);

/** Writes the file that GLUE's leaderboard takes, lines "index<TAB>prediction", of a split.
 * @param ctx progress and the wish to stop pass through its callbacks.
 * @param config of nvdp_predict_config_create(); without "out", RUN/predictions_SPLIT.tsv.
 * @param written the path; free(); NULL: not wanted.
 * @return as nvdp_evaluate(). */
nvdp_status nvdp_predict(struct nvdp_context *ctx, const struct nvdp_config *config,
                         char **written);

/** Predicts new texts, and writes a JSON object a line of each: `index` (number of the line, or of the table's
 * row, from 0; `id` where a table has one), and `label` and its `probability`, with "probabilities" those of
 * all classes by name, or of a regression `score`.
 *
 * "input" is a text with a text a line, of tasks with pairs two apart by a tab, or a table, FILE.tsv, .csv or .jsonl, with the task's
 * columns.  Predictions are means over "samples" draws of the noise, of probabilities or of scores;
 * methods without noise take one.
 * @param ctx   progress and the wish to stop pass through its callbacks.
 * @param config of nvdp_predict_config_create().
 * @param write takes the lines without "out"; NULL: "out" is needed.
 * @param user  passed to write.
 * @param texts how many; NULL: not wanted.
 * @return as nvdp_evaluate(); NVDP_ERR_INPUT, naming file and line, for a line without its tab, or with
 *     one too many; NVDP_ERR_ARGUMENT for runs that read tagged words or token representations, and
 *     where "out" is "input". */
nvdp_status nvdp_predict_texts(struct nvdp_context *ctx, const struct nvdp_config *config,
                               nvdp_write_fn write, void *user, size_t *texts);

/** The posteriors of a split's texts.
 * @param ctx progress and the wish to stop pass through its callbacks.
 * @param config of nvdp_run_config_create().
 * @param out nvdp_posteriors_free().
 * @return as nvdp_evaluate(); NVDP_ERR_ARGUMENT for methods without a bottleneck, and runs with token-noise
 *     (nvdp_run_text_privacy(), nvdp_run_sequence_privacy()). */
nvdp_status nvdp_run_posteriors(struct nvdp_context *ctx, const struct nvdp_config *config,
                                struct nvdp_posteriors **out);

/** The options of nvdp_encode(): model, jsonl, out, all-layers, max-length, batch, pool, normalize.
 * @param ctx outlives the configuration.
 * @param out nvdp_config_free().
 * @return NVDP_ERR_MEMORY. */
nvdp_status nvdp_encode_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** What nvdp_encode() wrote, and what it took from the model's folder where no option said it. */
struct nvdp_encoding {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    size_t texts;       /**< N */
    size_t max_length;  /**< tokens a text was cut to where its line did not say */
    char pooling[8];    /**< "none", "mean", "cls", "max" */
    bool normalized;    /**< whether the pooled vectors have unit length */
};

/** Writes BERT's hidden states of texts, without noise: not private, for analysis.
 *
 * A line of "jsonl" is {"text", "pair", "max_length"} or {"input_ids", "token_type_ids"}; "out" is
 * an HDF5 file of kind encoding/1: `offset` [N+1], `hidden` [T, d] or with all-layers `hidden_0` to
 * `hidden_L`, `pooled` [N, d] where the model has a pooler, `logits` [N, outputs] where it has a
 * classifier, and `sentence_embedding` [N, d] with a "pool": mean, first or largest of the last
 * states of a text's tokens, divided by its norm where "normalize" says so.  Both, and the length to
 * which texts are cut, are by default what a folder of sentence-transformers says in modules.json,
 * 1_Pooling/config.json and sentence_bert_config.json: the result is theirs (Reimers & Gurevych
 * 2019).
 * @param ctx progress and the wish to stop pass through its callbacks.
 * @param config of nvdp_encode_config_create().
 * @param out what was written; NULL: not wanted.
 * @return NVDP_ERR_ARGUMENT for options out of range, for models with a bottleneck, and where "out" is "jsonl";
 *     NVDP_ERR_INPUT, naming the line, for what is no such text, and, naming file and key, for
 *     modules and poolings other than these; NVDP_ERR_IO; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY. */
nvdp_status nvdp_encode(struct nvdp_context *ctx, const struct nvdp_config *config,
                        struct nvdp_encoding *out);

NVDP_END_DECLS
#endif
