/* Parts of the benchmarks. */
#ifndef NVDP_SRC_TRAIN_BENCH_H
#define NVDP_SRC_TRAIN_BENCH_H

#include "base/file.h"
#include "train/trainer.h"
#include <nvdp/bench.h>

/* bench_texts.c: `count` texts of `length` random tokens, [CLS] first and [SEP] last where the
 * vocabulary has them, of two random classes. */
nvdp_status nvdp__bench_texts(struct nvdp_context *ctx, size_t count, size_t length,
                              size_t vocabulary, uint64_t seed, struct nvdp_dataset **out);

/* bench_measure.c */
/* Sorts the seconds. */
struct nvdp_bench_times nvdp__bench_times(size_t count, double *seconds);
/* What a pass forward over the batch multiplies and adds in the encoder, twice: dense products and
 * attention. */
double nvdp__bench_flops(const struct nvdp_bert_config *bert, const struct nvdp__batch *batch);
/* Appends a batch as a line {"input_ids", "token_type_ids", "labels"}. */
nvdp_status nvdp__bench_write_batch(struct nvdp__output *file, const struct nvdp__batch *batch);

#endif
