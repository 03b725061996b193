/* NVDP: nonparametric variational differential privacy for text embeddings.  Takes all headers. */
#ifndef NVDP_H
#define NVDP_H

#include <nvdp/bert.h>
#include <nvdp/context.h>
#include <nvdp/dataset.h>
#include <nvdp/evaluate.h>
#include <nvdp/method.h>
#include <nvdp/model.h>
#include <nvdp/posteriors.h>
#include <nvdp/precision.h>
#include <nvdp/pretrain.h>
#include <nvdp/privacy.h>
#include <nvdp/rdp.h>
#include <nvdp/safetensors.h>
#include <nvdp/share.h>
#include <nvdp/status.h>
#include <nvdp/tokenizer.h>
#include <nvdp/train.h>
#include <nvdp/trainer.h>
#include <nvdp/version.h>

#endif
