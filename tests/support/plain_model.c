/* Compiles the pretraining model's source again over the plain kernels (plain_model.h), which
 * also brings the declarations. */
#define PLAIN_KERNELS
#include "plain_kernels.h"

#define nvdp__bert_forward plain_bert_forward
#define nvdp__bert_backward plain_bert_backward
#define nvdp__pooler_forward plain_pooler_forward
#define nvdp__pooler_backward plain_pooler_backward
#define nvdp__pretrain_model_step plain_pretrain_model_step
/* Not called; renamed to avoid duplicate symbols. */
#define nvdp__pretrain_model_create plain_pretrain_model_create
#define nvdp__pretrain_model_freeze plain_pretrain_model_freeze
#define nvdp__pretrain_model_release plain_pretrain_model_release
#define nvdp__pretrain_model_initialise plain_pretrain_model_initialise
#define nvdp__pretrain_model_load plain_pretrain_model_load
#define nvdp__pretrain_model_plan plain_pretrain_model_plan
#define nvdp__initialize_neighbor_heads plain_initialize_neighbor_heads

#include "pretrain/model.c"
