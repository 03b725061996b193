/* Initial weights with which attention looks at neighbouring tokens.
 *
 * From small normal weights masked-LM training first learns how frequent pieces are and then stands
 * still, until some heads have found out about positions, one pair of positions at a time.  Here
 * they begin there: position embeddings are sinusoids in the last 2K dimensions, in which word
 * embeddings begin at 0; there a shift by d positions is a rotation (Vaswani et al. 2017, section
 * 3.5), which queries and keys of a head carry out, so that the head attends to the token d places
 * on (initialising by imitation: Trockman & Kolter 2023).  Only initial values differ: the model is
 * an ordinary BERT, and everything is trained.  What it gains: docs/pretraining.md. */
#ifndef NVDP_SRC_PRETRAIN_NEIGHBOURS_H
#define NVDP_SRC_PRETRAIN_NEIGHBOURS_H

#include "bert/encoder.h"

/* After nvdp__bert_initialise: up to four heads of the first two layers.  Their values and outputs
 * are normal with variance 1/D.  Wants heads of an even size, D >= 8. */
nvdp_status nvdp__initialise_neighbours(const struct nvdp__bert *bert,
                                        const struct nvdp__device *dev, struct nvdp__params *params,
                                        uint64_t seed);

#endif
