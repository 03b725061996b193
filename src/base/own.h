/* Owners of the objects of the public interface and of other libraries, for nvdp__autoptr (base/base.h). The owner
 * of an object of this library is defined beside the declaration of the function that releases the object. */
#ifndef NVDP_SRC_BASE_OWN_H
#define NVDP_SRC_BASE_OWN_H

#include "base/base.h"
#include <dirent.h>
#include <jansson.h>
#include <nvdp/attack.h>
#include <nvdp/config.h>
#include <nvdp/context.h>
#include <nvdp/dataset.h>
#include <nvdp/dchi.h>
#include <nvdp/encoder.h>
#include <nvdp/model.h>
#include <nvdp/posteriors.h>
#include <nvdp/rdp.h>
#include <nvdp/sanitize.h>
#include <nvdp/search.h>
#include <nvdp/share.h>
#include <nvdp/summary.h>
#include <nvdp/tokenizer.h>
#include <nvdp/trainer.h>

NVDP__AUTOPTR(DIR, closedir)
NVDP__AUTOPTR(json_t, json_decref)
NVDP__AUTOPTR(struct nvdp_dataset, nvdp_dataset_free)
NVDP__AUTOPTR(struct nvdp_config, nvdp_config_free)
NVDP__AUTOPTR(struct nvdp_posteriors, nvdp_posteriors_free)
NVDP__AUTOPTR(struct nvdp_exact, nvdp_exact_free)
NVDP__AUTOPTR(struct nvdp_tokenizer, nvdp_tokenizer_free)
NVDP__AUTOPTR(struct nvdp_sanitizer, nvdp_sanitizer_free)
NVDP__AUTOPTR(struct nvdp_model, nvdp_model_free)
NVDP__AUTOPTR(struct nvdp_attack_result, nvdp_attack_free)
NVDP__AUTOPTR(struct nvdp_trainer, nvdp_trainer_free)
NVDP__AUTOPTR(struct nvdp_dchi, nvdp_dchi_free)
NVDP__AUTOPTR(struct nvdp_vectors, nvdp_vectors_free)
NVDP__AUTOPTR(struct nvdp_encoder, nvdp_encoder_free)
NVDP__AUTOPTR(struct nvdp_search, nvdp_search_free)
NVDP__AUTOPTR(struct nvdp_shared, nvdp_shared_free)
NVDP__AUTOPTR(struct nvdp_collection, nvdp_collection_free)

#endif
