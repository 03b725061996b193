/* Scores of the GLUE tasks, in double. */
#ifndef NVDP_SRC_TRAIN_METRICS_H
#define NVDP_SRC_TRAIN_METRICS_H

#include "base/base.h"
#include <nvdp/dataset.h>
#include <nvdp/train.h>

/* Returns a metric of outputs [n, classes] (classes 1: regression) against label [n]. Degenerate
 * cases (no positive, constant values) give 0, as in GLUE's scripts. */
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

/* Warns if an accuracy is below that of always guessing the most frequent class, or, with 100 or more texts, does not
 * differ from it significantly: a few texts may score above chance by luck, and their interval is always wide. */
void nvdp__warn_of_chance(struct nvdp_context *ctx, const struct nvdp_scores *scores);
/* Warns of so few training texts that nothing can be learned from them. */
void nvdp__warn_of_few(struct nvdp_context *ctx, size_t train_texts);

/* Counts entities among tagged words as CoNLL's script conlleval does. */

struct nvdp__entities {
    size_t gold, found, right; /* right: found with both ends and type of a gold entity */
};

/* Counts the entities of a data set with tags; `predicted` has one class per word, in order
 * (Tjong Kim Sang & De Meulder 2003, conlleval). An entity begins at B-X, at I-X after O or at a
 * sentence's start, and at a change of type. With `type`, only entities of this type are counted
 * (NULL: all). */
void nvdp__entities_count(const struct nvdp_dataset *dataset, const int32_t *predicted,
                          const char *type, struct nvdp__entities *out);
/* Returns NVDP_METRIC_PRECISION, _RECALL or _ENTITY_F1, which is their harmonic mean; 0 for 0 /
 * 0. */
double nvdp__entities_metric(const struct nvdp__entities *entities, enum nvdp_metric metric);

#endif
