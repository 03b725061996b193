/* Entities among tagged words, counted as CoNLL's script conlleval does. */
#ifndef NVDP_SRC_TRAIN_ENTITIES_H
#define NVDP_SRC_TRAIN_ENTITIES_H

#include "base/base.h"
#include <nvdp/dataset.h>

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
