/* Counts entities among tagged words as CoNLL's script conlleval does. */
#ifndef NVDP_SRC_TRAIN_ENTITIES_H
#define NVDP_SRC_TRAIN_ENTITIES_H

#include "base/base.h"
#include <nvdp/dataset.h>

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
