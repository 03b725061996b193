/* Method sentence: an encoder's own sentence embedding with noise, without training. The parameters are set once, from
 * public texts (train/sentence.c). */
#ifndef NVDP_VIB_SENTENCE_H
#define NVDP_VIB_SENTENCE_H

#include "base/base.h"

extern const struct nvdp__mechanism nvdp__mechanism_sentence;

/* The parameters: m [D]; A [p, D], only for p < D; the number of tokens of an empty text [1]. */
#define NVDP__SENTENCE_CENTER "sentence.center"
#define NVDP__SENTENCE_MAP "sentence.map"
#define NVDP__SENTENCE_EMPTY "sentence.empty"

/* Sets v [p] to the unit vector of A (x/|x| - m); overwrites x [d]. `map` NULL: the identity. Returns false, with any v,
 * if x or the result is 0. Numbers that are not finite remain in v. */
bool nvdp__sentence_direction(size_t d, size_t p, const float *center, const float *map, float *x,
                              float *v);

#endif
