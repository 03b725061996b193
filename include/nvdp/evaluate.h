/** @file evaluate.h
 * Using a finished run: scores, predictions and posteriors of its model. Also encodes texts without noise.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_EVALUATE_H
#define NVDP_EVALUATE_H

#include <nvdp/export.h>
#include <nvdp/train.h>

NVDP_BEGIN_DECLS

/** Scores of a run on a split, freed with nvdp_result_free(). */
struct nvdp_evaluation {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    char task[16];                       /**< "sst2", ... */
    char method[16];                     /**< "nvdp", ... */
    char split[24];                      /**< "dev", ... */
    char protocol[16];                   /**< data that selected the epoch: "holdout", "dev" */
    struct nvdp_scores *scores;          /**< mean and standard deviation over draws of the noise */
};

/** Scores a run's best model on a split with fresh noise. Takes `draws` forward passes over the split, or one pass for
 * methods without noise.
 *
 * Options (kind "evaluate"): run, split (default dev), data, limit, batch, seed, draws.
 * @param ctx    reports progress, records messages, can cancel
 * @param config of kind "evaluate"
 * @param out    the result of an earlier call is freed; untouched on error
 * @return NVDP_ERR_IO if there is no such run; NVDP_ERR_STATE for an unfinished run; NVDP_ERR_INPUT for a split
 *         without labels; NVDP_ERR_NUMERIC for outputs that are not finite; NVDP_ERR_CANCELLED */
nvdp_status nvdp_evaluate(struct nvdp_context *ctx, const struct nvdp_config *config,
                          struct nvdp_evaluation *out);

/** Scores of one class, means over draws of the noise. */
struct nvdp_class_score {
    char name[64]; /**< the label, possibly cut */
    size_t n;      /**< number of texts of the class */
    double said;   /**< number of texts predicted as the class */
    /** Share of the texts predicted as the class that are correct; 0 if there are none. */
    double precision;
    double recall; /**< share of the texts of the class that are correct; 0 if there are none */
    double f1;     /**< harmonic mean of precision and recall */
};

/** Scores a run's best model as nvdp_evaluate() does, and each class separately.
 * @param ctx          as in nvdp_evaluate()
 * @param config       as in nvdp_evaluate()
 * @param out          as in nvdp_evaluate()
 * @param[out] count   number of classes; 0 for tasks with scores or tags
 * @param[out] classes [count] in the order of their names; NULL if count is 0; the caller frees it with free()
 * @return as nvdp_evaluate() */
nvdp_status nvdp_evaluate_classes(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  struct nvdp_evaluation *out, size_t *count,
                                  struct nvdp_class_score **classes);

/** Writes the predictions for a split in the format of GLUE's leaderboard: lines "index<TAB>prediction".
 *
 * Options (kind "predict"): run, split (default test), data, limit, batch, seed, out; and those of
 * nvdp_predict_texts(): run, input, model, text-column, samples, probabilities, batch, seed, out.
 * @param ctx     reports progress, records messages, can cancel
 * @param config  of kind "predict"; without "out", the file is RUN/predictions_SPLIT.tsv
 * @param written the path; the caller frees it with free(); may be NULL
 * @return as nvdp_evaluate() */
nvdp_status nvdp_predict(struct nvdp_context *ctx, const struct nvdp_config *config,
                         char **written);

/** Predicts new texts and writes one JSON object per line. The object has `index` (number of the line or table row,
 * from 0), `id` if the table has ids, `label`, and the label's `probability`. With "probabilities", the object has the
 * probabilities of all classes by name. For a regression, the object has `score` in place of label and probability.
 *
 * "input" is a table, FILE.tsv, .csv or .jsonl, with the task's columns, or a text file with one text per line. For
 * tasks with pairs, a tab separates the two texts of a line. Predictions are means of probabilities or of scores
 * over "samples" draws of the noise; methods without noise take one draw.
 *
 * "run" may be a reader of a summary (nvdp_reuse()), which has no splits. Such a reader reads the column "text-column"
 * of tables, and needs the encoder "model". Probabilities are the estimates of the reader's regression, cut to [0, 1].
 * @param ctx    reports progress, records messages, can cancel
 * @param config of kind "predict"
 * @param write  receives the lines if "out" is not set; if it is NULL, "out" is required
 * @param user   passed to write
 * @param texts  number of texts; may be NULL
 * @return as nvdp_evaluate(); NVDP_ERR_INPUT, whose message names file and line, for a line of a pair without exactly
 *         one tab; NVDP_ERR_ARGUMENT for runs that read tagged words or token representations, and if "out" is the
 *         same file as "input" */
nvdp_status nvdp_predict_texts(struct nvdp_context *ctx, const struct nvdp_config *config,
                               nvdp_write_fn write, void *user, size_t *texts);

/** Predicts vectors with a reader of a summary, and writes the lines of nvdp_predict_texts().
 * @param ctx    records messages
 * @param config of kind "predict": run (the reader), probabilities, out
 * @param n      number of vectors
 * @param width  numbers per vector, as the encoder of the summary has
 * @param x      [n, width] vectors of any length by that encoder
 * @param write  receives the lines if "out" is not set; if it is NULL, "out" is required
 * @param user   passed to write
 * @return NVDP_ERR_ARGUMENT for another folder, a reader of pairs, and another width; NVDP_ERR_MEMORY */
nvdp_status nvdp_predict_vectors(struct nvdp_context *ctx, const struct nvdp_config *config,
                                 size_t n, size_t width, const float *x, nvdp_write_fn write,
                                 void *user);

/** Predicts texts with a loaded model and writes the lines of nvdp_predict_texts(). The model and the split of the data
 * set determine the noise; nvdp_predict_texts() takes the noise of NVDP_SPLIT_TEST.
 * @param ctx     reports progress, records messages, can cancel
 * @param model   from nvdp_model_load(), without token-noise
 * @param dataset texts, tokenized with the model's tokenizer
 * @param config  of kind "predict": samples, probabilities, batch, seed, out
 * @param write   receives the lines if "out" is not set; if it is NULL, "out" is required
 * @param user    passed to write
 * @return as nvdp_model_posteriors(); NVDP_ERR_ARGUMENT for a model that tags words */
nvdp_status nvdp_predict_dataset(struct nvdp_context *ctx, struct nvdp_model *model,
                                 const struct nvdp_dataset *dataset,
                                 const struct nvdp_config *config, nvdp_write_fn write, void *user);

/** Computes the posteriors of a split's texts.
 *
 * Options (kind "run"): run, split (default dev), data, limit, batch, seed.
 * @param ctx    reports progress, records messages, can cancel
 * @param config of kind "run"
 * @param out    the result, freed with nvdp_posteriors_free()
 * @return as nvdp_evaluate(); NVDP_ERR_ARGUMENT for methods without a bottleneck, and runs with token-noise
 *         (nvdp_run_text_privacy(), nvdp_run_sequence_privacy()) */
nvdp_status nvdp_run_posteriors(struct nvdp_context *ctx, const struct nvdp_config *config,
                                struct nvdp_posteriors **out);

/** Result of nvdp_encode(): the size of the output, and the settings in force. A setting that no option sets comes from
 * the model's directory. */
struct nvdp_encoding {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    size_t texts;       /**< N */
    /** Length in tokens to which texts were cut; a line can set another length. */
    size_t max_length;
    char pooling[64]; /**< as in struct nvdp_encoder_info */
    bool normalized;  /**< the pooled vectors have unit length */
};

/** Writes an encoder's hidden states of texts, without noise. The states are not private: use them for analysis.
 *
 * A line of "jsonl" is {"text", "pair", "max_length"} or {"input_ids", "token_type_ids"}. "out" is an HDF5 file of
 * kind encoding/1:
 *
 * - `offset` [N+1];
 * - `hidden` [T, d], or with all-layers `hidden_0` to `hidden_L`;
 * - `pooler_output` [N, d] if the model has a pooler: tanh(W h + b) of the first token's last state, which is made for
 *   classifiers and is no sentence embedding (`pooled` in files of older versions);
 * - `logits` [N, outputs] if the model has a classifier;
 * - `sentence_embedding` [N, p] with a "pool", for example the mean of the last states of a text's tokens. With
 *   "normalize", the embedding is divided by its norm.
 *
 * The defaults of pool, normalize and the length to which texts are cut come from a sentence-transformers directory:
 * modules.json, the folders of its modules (Pooling, Dense, Normalize) and sentence_bert_config.json. The result then
 * equals the result of sentence-transformers (Reimers & Gurevych 2019). The directory's default prompt is put before
 * each text. With another "pool", Dense modules and the prompt are left out.
 *
 * Options (kind "encode"): model, jsonl, out, all-layers, max-length, batch, pool, normalize.
 * @param ctx    reports progress, records messages, can cancel
 * @param config of kind "encode"
 * @param out    the result; may be NULL
 * @return NVDP_ERR_ARGUMENT for options out of range, for models with a bottleneck, and if "out" is the same file as
 *         "jsonl"; NVDP_ERR_INPUT for an invalid text (the message names the line) and for other modules and poolings
 *         (the message names file and key); NVDP_ERR_IO; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_encode(struct nvdp_context *ctx, const struct nvdp_config *config,
                        struct nvdp_encoding *out);

NVDP_END_DECLS
#endif
