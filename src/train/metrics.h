/* Scores of the GLUE tasks, in double. */
#ifndef NVDP_SRC_TRAIN_METRICS_H
#define NVDP_SRC_TRAIN_METRICS_H

#include "base/base.h"
#include <nvdp/dataset.h>
#include <nvdp/train.h>

/* outputs [n, classes] (classes 1: regression), label [n].  Degenerate cases (no positive, constant
 * values) give 0, as in GLUE's scripts. */
double nvdp__metric(enum nvdp_metric metric, size_t n, size_t classes, const float *outputs,
                    const float *label);
/* Index of the largest output, the first on ties. */
size_t nvdp__argmax(size_t classes, const float *outputs);
/* Share of the most frequent class; NaN for regression. */
double nvdp__majority(size_t n, size_t classes, const float *label);
/* Metrics of a task over draws: outputs[k] are draw k's. */
void nvdp__score(const struct nvdp_task *task, size_t n, const float *label, size_t draws,
                 const float *const *outputs, struct nvdp_scores *scores);
/* Adds each metric's 95 % interval over texts to what nvdp__score() made of the same arguments.  NaN where there is none. */
nvdp_status nvdp__add_intervals(struct nvdp_context *ctx, const struct nvdp_task *task, size_t n,
                                const float *label, size_t draws, const float *const *outputs,
                                struct nvdp_scores *scores);

/* Entities among tagged words, counted as CoNLL's script conlleval does. */

struct nvdp__entities {
    size_t gold, found, right; /* right: found with both ends and type of a gold one */
};

/* Of a data set with tags, `predicted` a class for each of its words in order (Tjong Kim Sang &
 * De Meulder 2003, conlleval): an entity begins at B-X, at I-X behind O or at a sentence's start,
 * and where the type changes.  `type` (NULL: all) counts the entities of one type alone. */
void nvdp__entities_count(const struct nvdp_dataset *dataset, const int32_t *predicted,
                          const char *type, struct nvdp__entities *out);
/* NVDP_METRIC_PRECISION, _RECALL or _ENTITY_F1, their harmonic mean; 0 where it is 0 / 0. */
double nvdp__entities_metric(const struct nvdp__entities *entities, enum nvdp_metric metric);

#endif
