/* The weights of two samples. */
#ifndef NVDP_RDP_SAMPLE_H
#define NVDP_RDP_SAMPLE_H

#include <nvdp/posteriors.h>

/* The Dirichlet part of nvdp_renyi_texts, in its stable form; an order from nvdp__order. Not +inf
 * for lack of equal lengths: the caller decides that. */
double nvdp__sample_weights(double order, const struct nvdp_posteriors *set, size_t i, size_t j);

#endif
