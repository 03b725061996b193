/* The pretraining model on the plain kernels: the model's source is compiled again with these kernels. */
#ifndef NVDP_TESTS_SUPPORT_PLAIN_MODEL_H
#define NVDP_TESTS_SUPPORT_PLAIN_MODEL_H

#include "pretrain/model.h"

nvdp_status plain_pretrain_model_step(struct nvdp__pretrain_model *model,
                                      const struct nvdp__batch *batch,
                                      const struct nvdp__masked *masked,
                                      const struct nvdp__pass *pass,
                                      struct nvdp__pretrain_losses *losses);

#endif
