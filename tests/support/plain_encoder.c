/* See the header of this name; declarations come with the source. */
#define PLAIN_KERNELS
#include "plain_kernels.h"

#define nvdp__bert_forward plain_bert_forward
#define nvdp__bert_backward plain_bert_backward
#define nvdp__pooler_forward plain_pooler_forward
#define nvdp__pooler_backward plain_pooler_backward
/* Not called, but not to be there twice. */
#define nvdp__bert_cache_create plain_bert_cache_create
#define nvdp__bert_cache_release plain_bert_cache_release
#define nvdp__bert_lanes plain_bert_lanes
#define nvdp__bert_plan plain_bert_plan
#define nvdp__bert_prefix plain_bert_prefix
#define nvdp__pooler_plan plain_pooler_plan
#define nvdp__dense_linear plain_dense_linear
#define nvdp__extra_declare plain_extra_declare
#define nvdp__extra_release plain_extra_release
#define nvdp__extra_initialise plain_extra_initialise
#define nvdp__extra_plan plain_extra_plan
#define nvdp__extra_forward plain_extra_forward
#define nvdp__extra_backward plain_extra_backward

#include "bert/transformer.c"
