/* Reading and writing models in Hugging Face directories. */
#ifndef NVDP_SRC_BERT_CHECKPOINT_H
#define NVDP_SRC_BERT_CHECKPOINT_H

#include "base/file.h"
#include "tensor/params.h"
#include <jansson.h>
#include <nvdp/bert.h>
#include <nvdp/safetensors.h>

/* Fills the declared parameters from the weights of a model folder (weights.h). The encoder's prefix (`bert.`,
 * `distilbert.`, `roberta.`) is optional in the file; LayerNorm.gamma/beta are accepted; F64,
 * F32, F16 and BF16 are read.
 *
 * A declared tensor flagged OPTIONAL that the file lacks keeps its initial value and is named in
 * a notice; so is one above the encoder that the file has in another shape. For any other
 * missing tensor or wrong shape, fails with NVDP_ERR_INPUT, naming the tensor, what was expected
 * and found. A notice lists undeclared tensors, except the buffer embeddings.position_ids. NaN
 * and infinite values fail with NVDP_ERR_INPUT, the model of an unfinished run with
 * NVDP_ERR_STATE. */
nvdp_status nvdp__checkpoint_load(const struct nvdp__device *dev, const char *directory,
                                  struct nvdp__params *params);
/* The same for one named file. */
nvdp_status nvdp__checkpoint_load_file(const struct nvdp__device *dev, const char *path,
                                       struct nvdp__params *params);
/* Reads the checkpoint's values of the trained or of the frozen tensors into `to`
 * [params->total], without notices. The rest of `to` is unchanged: other tensors, and those that
 * the file lacks. */
nvdp_status nvdp__checkpoint_values(const struct nvdp__device *dev, const char *directory,
                                    const struct nvdp__params *params, bool frozen, float *to);
/* Writes DIR/model.safetensors (float32) with all declared parameters; atomic. */
nvdp_status nvdp__checkpoint_save(const struct nvdp__device *dev, const char *directory,
                                  const struct nvdp__params *params);
/* The same in F32, F16 or BF16; NVDP_ERR_ARGUMENT for a value beyond the type's range. */
nvdp_status nvdp__checkpoint_save_as(const struct nvdp__device *dev, const char *directory,
                                     const struct nvdp__params *params, enum nvdp_dtype dtype);
/* The configuration of BERT-base-uncased. */
struct nvdp_bert_config nvdp__bert_config_default(void);
/* Copies a caller's configuration. Members that the caller's struct does not have get their defaults.
 * NVDP_ERR_ARGUMENT if it does not carry its size. */
nvdp_status nvdp__bert_config_take(struct nvdp_context *ctx, const struct nvdp_bert_config *given,
                                   struct nvdp_bert_config *out);
/* nvdp_bert_config_read into a struct that need not carry its size, from a directory or a named file. */
nvdp_status nvdp__bert_config_read(struct nvdp_context *ctx, const char *directory,
                                   struct nvdp_bert_config *out);
nvdp_status nvdp__bert_config_read_file(struct nvdp_context *ctx, const char *path,
                                        struct nvdp_bert_config *out);
/* Checks that the table of word embeddings has a row for every piece. Further rows pad it to a round
 * size. Code that draws from all rows needs nvdp_bert_check_vocabulary. */
nvdp_status nvdp__bert_check_rows(struct nvdp_context *ctx, const char *directory,
                                  const struct nvdp_bert_config *config, size_t tokenizer_size);
/* Writes DIR/config.json from the configuration; adds the members of `extra` (may be NULL) at
 * the top level. */
nvdp_status nvdp__bert_config_write(struct nvdp_context *ctx, const char *directory,
                                    const struct nvdp_bert_config *config, const char *architecture,
                                    json_t *extra);

/* Copies elements [first, first + n) of tensor `index` to `out`, in the memory type of its
 * source's dtype. */
typedef void (*nvdp__tensor_fetch)(size_t index, size_t first, size_t n, void *out, void *user);

/* Makes the bytes of a file before the data (*bytes: free()), and computes the first byte of
 * every tensor, start[count]. */
nvdp_status nvdp__safetensors_header(struct nvdp_context *ctx, const char *path, size_t count,
                                     const struct nvdp_tensor_source *tensors,
                                     const char *const *metadata, char **bytes, size_t *size,
                                     uint64_t *start);
/* nvdp_safetensors_write, with fetch instead of the sources' data. */
nvdp_status nvdp__safetensors_write(struct nvdp_context *ctx, const char *path, size_t count,
                                    const struct nvdp_tensor_source *tensors,
                                    const char *const *metadata, nvdp__tensor_fetch fetch,
                                    void *user);

#endif
