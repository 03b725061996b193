/* Opens a finished run: its configuration, its best model, one split of its data; measurements of a run; scores. */
#ifndef NVDP_SRC_TRAIN_RUN_H
#define NVDP_SRC_TRAIN_RUN_H

#include "base/base.h"
#include "model/model.h"
#include "model/noise.h"
#include "train/training_options.h"
#include <jansson.h>
#include <nvdp/dataset.h>
#include <nvdp/evaluate.h>
#include <nvdp/guarantee.h>
#include <nvdp/text_privacy.h>
#include <nvdp/train.h>

struct nvdp__run {
    struct nvdp__train_options config;
    json_t *config_owner;
    struct nvdp_model *model;
    struct nvdp_dataset *dataset; /* NULL if no split was requested */
    struct nvdp__token_noise *noise;
    struct nvdp__token_file *given;
};

/* Reads the configuration in RUN/run.json. If *record is NULL, sets it to run.json; otherwise *record must be run.json,
 * which was read before. *record owns the strings of the configuration. */
nvdp_status nvdp__run_read_config(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp__train_options *config, json_t **record);
/* Fails if the data of the configuration is missing. */
nvdp_status nvdp__run_check_data(struct nvdp_context *ctx, const char *directory,
                                 const struct nvdp__train_options *config);
/* Divides the train file's texts, as a run does, into training texts and validation texts. */
nvdp_status nvdp__train_holdout(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                                const struct nvdp_dataset *all, struct nvdp_dataset **train,
                                struct nvdp_dataset **held);
/* Reads RUN/run.json and RUN/model; loads config->split of config->data unless split is NULL. Returns
 * NVDP_ERR_ARGUMENT, before loading anything, for a run without a task: it has no labels and predicts nothing. */
nvdp_status nvdp__run_open(struct nvdp_context *ctx, const struct nvdp__run_options *config,
                           struct nvdp__run *run);
/* Does nvdp__run_open() for work on texts that are shared through a bottleneck.  For a run without a task, config->data
 * is a file of texts, and no split is read.  Returns NVDP_ERR_ARGUMENT, before loading anything, if the run's users add
 * noise to their texts (token-noise). */
nvdp_status nvdp__run_open_bottleneck(struct nvdp_context *ctx,
                                      const struct nvdp__run_options *config,
                                      struct nvdp__run *run);
/* Selects the first n texts of a data set, which has at least as many. */
nvdp_status nvdp__first_texts(struct nvdp_context *ctx, const struct nvdp_dataset *from, size_t n,
                              struct nvdp_dataset **out);
/* Loads config->split of config->data, or of the data of the training, into an open run that has no texts yet. */
nvdp_status nvdp__run_load_texts(struct nvdp_context *ctx, const struct nvdp__run_options *config,
                                 struct nvdp__run *run);
/* Logs a notice about the number of texts that were read from the train split, if the run was trained on a sample of
 * the split. */
void nvdp__run_note_sample(struct nvdp_context *ctx, const struct nvdp__run *run,
                           enum nvdp_split split, size_t texts);
/* Privatizes run->dataset, which the caller has set, as the run's users do: with the word embeddings with which the run
 * began. */
nvdp_status nvdp__run_privatize(struct nvdp_context *ctx, struct nvdp__run *run);
void nvdp__run_close(struct nvdp__run *run);
/* Do the work of the public functions with these names (nvdp/evaluate.h, nvdp/text_privacy.h), without reading run.json
 * again.  `record` is as in struct nvdp__run_options. */
nvdp_status nvdp__run_posteriors(struct nvdp_context *ctx, const struct nvdp_config *config,
                                 json_t *record, struct nvdp_posteriors **out);
nvdp_status nvdp__run_text_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                                   json_t *record, double **matrix, struct nvdp_dchi_report *out);
nvdp_status nvdp__run_sequence_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                                       json_t *record, double **matrix,
                                       struct nvdp_privacy_report *out);
nvdp_status nvdp__run_guarantee(struct nvdp_context *ctx, const char *run, json_t *record,
                                struct nvdp_guarantee *out);
/* Adds to a report the options that differ from their defaults (`settings`). If the report has a number of texts, adds
 * `complete`, which is true if these are all texts of the split. */
void nvdp__measured_label(const struct nvdp_config *config, json_t *report);
/* Returns true for a run without a task (method sentence). Such a run has no data: its texts are read from files
 * (nvdp__texts_read()). */
bool nvdp__run_has_no_task(const struct nvdp__run *run);
/* Reads a file of texts for the open run in config->run. With `limit`, draws that many texts by `seed`. */
nvdp_status nvdp__run_texts(struct nvdp_context *ctx, const struct nvdp__run_options *config,
                            const struct nvdp__run *run, const char *path, size_t limit,
                            uint64_t seed, struct nvdp_dataset **out);
/* Returns the configuration for reading the run's texts, without a limit. If `data` is NULL, the texts are in the
 * folder of the training data. */
struct nvdp_dataset_config nvdp__run_dataset_config(const struct nvdp__run *run, const char *data);

/* The measurements of a run (include/nvdp/measured.h), read from its files. */

struct nvdp__measurement {
    char *name;      /* file name, such as "privacy-limit-20.json" */
    json_t *report;  /* the file's object */
    bool complete;   /* all texts of the split were measured */
    double releases; /* samples of a text that are released together */
    size_t texts, of_texts;
    bool single, main; /* releases is 1; the name is "privacy.json" */
};

struct nvdp__measurements {
    struct nvdp__measurement *list; /* the first is the run's main report: nvdp_measured_list() */
    size_t count, capacity;
};

/* Reads all measurements. `run` is run.json, or NULL if unknown; it supplies the number of texts for reports of earlier
 * versions. Returns NVDP_ERR_IO or NVDP_ERR_INPUT for a broken file. */
nvdp_status nvdp__measurements_read(struct nvdp_context *ctx, const char *directory,
                                    const json_t *run, struct nvdp__measurements *out);
void nvdp__measurements_release(struct nvdp__measurements *all);

/* Trains from token representations: a file of kind representations/1 replaces the texts. */

struct nvdp__token_file; /* an open file, and the positions of the texts' vectors */

/* Opens options->representations. The file must be of options->task, with vectors as wide as the
 * word embeddings of options->model. *noise passes the vectors to a model. */
nvdp_status nvdp__token_file_open(struct nvdp_context *ctx,
                                  const struct nvdp__train_options *options,
                                  const struct nvdp_tokenizer *tokenizer,
                                  struct nvdp__token_file **out, struct nvdp__token_noise **noise);
void nvdp__token_file_close(struct nvdp__token_file *given); /* NULL allowed */
NVDP__AUTOPTR(struct nvdp__token_file, nvdp__token_file_close)
/* Builds a data set from the texts of a split. [CLS], [SEP] and the cut to max_length are as the
 * tokenizer would set them. All other tokens are [UNK], because the file does not state the tokens. With `limit`, takes
 * a random sample of the texts; 0 means all texts. */
nvdp_status nvdp__token_file_texts(struct nvdp_context *ctx, const struct nvdp__token_file *given,
                                   const struct nvdp_tokenizer *tokenizer, size_t max_length,
                                   enum nvdp_split split, size_t limit, uint64_t seed,
                                   struct nvdp_dataset **out);

/* Returns true if the samples have a useful guarantee over all texts: samples have noise, the proven epsilon is at most
 * NVDP_USEFUL_EPSILON, and `named_bound` is at most NVDP_USEFUL_NAMED. The result is the same for a run and for the
 * files of its samples. */
bool nvdp__guarantee_is_useful(const struct nvdp_guarantee *of);

/* --- scores of the GLUE tasks, in double (metrics.c) --- */

/* Returns a metric of outputs [n, classes] against label [n], where classes is 1 for a regression. Degenerate cases (no
 * positive text, constant values) give 0, as in GLUE's scripts. */
double nvdp__metric(enum nvdp_metric metric, size_t n, size_t classes, const float *outputs,
                    const float *label);
/* Returns the index of the largest output; ties go to the first. */
size_t nvdp__argmax(size_t classes, const float *outputs);
/* Returns the share of the most frequent class; NaN for regression. */
double nvdp__majority(size_t n, size_t classes, const float *label);
/* Computes the metrics of a task over draws; outputs[k] holds the outputs of draw k. */
void nvdp__score(const struct nvdp_task *task, size_t n, const float *label, size_t draws,
                 const float *const *outputs, struct nvdp_scores *scores);
/* Adds each metric's 95 % interval over texts to the result of nvdp__score() for the same
 * arguments; NaN if there is none. */
nvdp_status nvdp__add_intervals(struct nvdp_context *ctx, const struct nvdp_task *task, size_t n,
                                const float *label, size_t draws, const float *const *outputs,
                                struct nvdp_scores *scores);

/* Warns if an accuracy is below the accuracy of always guessing the most frequent class. With 100 or more texts, warns
 * if the two accuracies do not differ significantly, too. With fewer texts, the interval is always wide. */
void nvdp__warn_of_chance(struct nvdp_context *ctx, const struct nvdp_scores *scores);
/* Warns if there are too few training texts to learn anything. */
void nvdp__warn_of_few(struct nvdp_context *ctx, size_t train_texts);

/* Counts entities among tagged words as CoNLL's script conlleval does. */

struct nvdp__entities {
    size_t gold, found, right; /* `right` have both ends and the type of a gold entity */
};

/* Counts the entities of a data set with tags; `predicted` has one class per word, in order
 * (Tjong Kim Sang & De Meulder 2003, conlleval). An entity begins at B-X, at I-X after O or at a
 * sentence's start, and at a change of type. With `type`, counts only entities of this type; NULL counts all types. */
void nvdp__entities_count(const struct nvdp_dataset *dataset, const int32_t *predicted,
                          const char *type, struct nvdp__entities *out);
/* Returns NVDP_METRIC_PRECISION, _RECALL or _ENTITY_F1, the harmonic mean of precision and recall; 0 for 0 / 0. */
double nvdp__entities_metric(const struct nvdp__entities *entities, enum nvdp_metric metric);

extern const struct nvdp_result_kind nvdp__scores_kind;

#endif
