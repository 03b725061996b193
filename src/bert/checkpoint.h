/* Hugging Face directories in and out. */
#ifndef NVDP_SRC_BERT_CHECKPOINT_H
#define NVDP_SRC_BERT_CHECKPOINT_H

#include "base/file.h"
#include "tensor/params.h"
#include <jansson.h>
#include <nvdp/bert.h>
#include <nvdp/safetensors.h>

/* Fills the declared parameters from DIR/model.safetensors.  The encoder's prefix (`bert.`,
 * `distilbert.`, `roberta.`) is optional in the file, LayerNorm.gamma/beta are accepted, F64, F32,
 * F16, BF16 read.  A declared tensor flagged OPTIONAL that the file lacks keeps its initial value and
 * is named in one notice, and so does one above the encoder that the file has in another shape;
 * another missing one, or a wrong shape, is NVDP_ERR_INPUT naming the tensor, expected, found.
 * Tensors nobody declared are listed in a notice (but not embeddings.position_ids, a buffer).  NaN or
 * inf values are NVDP_ERR_INPUT too.  NVDP_ERR_STATE for the model of a run that has not ended. */
nvdp_status nvdp__checkpoint_load(const struct nvdp__device *dev, const char *directory,
                                  struct nvdp__params *params);
/* The same for one named file. */
nvdp_status nvdp__checkpoint_load_file(const struct nvdp__device *dev, const char *path,
                                       struct nvdp__params *params);
/* The same values into `to` [params->total], and no notices: what the checkpoint says of the
 * tensors that are trained, or of the frozen ones.  The rest of `to` stays: the others, and those
 * that the file lacks. */
nvdp_status nvdp__checkpoint_values(const struct nvdp__device *dev, const char *directory,
                                    const struct nvdp__params *params, bool frozen, float *to);
/* Writes DIR/model.safetensors (float32) with all declared parameters; atomic. */
nvdp_status nvdp__checkpoint_save(const struct nvdp__device *dev, const char *directory,
                                  const struct nvdp__params *params);
/* The same in F32, F16 or BF16; a value beyond the type's range is NVDP_ERR_ARGUMENT. */
nvdp_status nvdp__checkpoint_save_as(const struct nvdp__device *dev, const char *directory,
                                     const struct nvdp__params *params, enum nvdp_dtype dtype);
/* nvdp_bert_config_read of one named file. */
nvdp_status nvdp__bert_config_read_file(struct nvdp_context *ctx, const char *path,
                                        struct nvdp_bert_config *out);
/* DIR/config.json from the configuration; `extra` (may be NULL) members are added at the top level.
 */
nvdp_status nvdp__bert_config_write(struct nvdp_context *ctx, const char *directory,
                                    const struct nvdp_bert_config *config, const char *architecture,
                                    json_t *extra);

/* Copies elements [first, first + n) of tensor `index` to `out`, in the type that its source's
 * dtype has in memory. */
typedef void (*nvdp__tensor_fetch)(size_t index, size_t first, size_t n, void *out, void *user);

/* Makes the first bytes of a file, up to the data (*bytes: free()), and finds the first byte of every tensor, start[count]. */
nvdp_status nvdp__safetensors_header(struct nvdp_context *ctx, const char *path, size_t count,
                                     const struct nvdp_tensor_source *tensors,
                                     const char *const *metadata, char **bytes, size_t *size,
                                     uint64_t *start);
/* nvdp_safetensors_write, with fetch in place of the sources' data. */
nvdp_status nvdp__safetensors_write(struct nvdp_context *ctx, const char *path, size_t count,
                                    const struct nvdp_tensor_source *tensors,
                                    const char *const *metadata, nvdp__tensor_fetch fetch,
                                    void *user);

#endif
