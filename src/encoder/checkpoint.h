/* Reading and writing models in Hugging Face directories, and the tensors of their files. */
#ifndef NVDP_SRC_BERT_CHECKPOINT_H
#define NVDP_SRC_BERT_CHECKPOINT_H

#include "base/base.h"
#include "base/file.h"
#include "encoder/encoder.h"
#include "encoder/safetensors.h"
#include "tensor/tensor.h"
#include <jansson.h>
#include <nvdp/bert.h>

/* Fills the declared parameters from the weights of a model folder. The encoder's prefix (`bert.`,
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
                                     const struct nvdp__params *params, enum nvdp__dtype dtype);
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
 * size. Code that draws from all rows needs nvdp__bert_check_vocabulary. */
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
                                     const struct nvdp__tensor_source *tensors,
                                     const char *const *metadata, char **bytes, size_t *size,
                                     uint64_t *start);
/* nvdp__safetensors_write, with fetch instead of the sources' data. */
nvdp_status nvdp__safetensors_stream(struct nvdp_context *ctx, const char *path, size_t count,
                                     const struct nvdp__tensor_source *tensors,
                                     const char *const *metadata, nvdp__tensor_fetch fetch,
                                     void *user);

/* ==== the tensors of a folder (weights.c) ==== */

struct nvdp__weight {
    struct nvdp__tensor_info info;         /* data: the first element */
    size_t stride[NVDP__SAFETENSORS_RANK]; /* elements between neighbors along each dimension */
    bool dense;                            /* row-major without gaps */
    const char *path;                      /* the file with this tensor */
    /* A matrix whose row i is row `row`[i] of the file's, times `factor`[i]; NULL: i and 1. */
    const struct nvdp__weight *row, *factor;
};

struct nvdp__weight_files {
    struct nvdp_context *ctx;
    char *path;                      /* the file, or the index of the shards */
    struct nvdp__weights_part *part; /* in order of their names */
    size_t parts, part_capacity;
    struct nvdp__weight *tensor; /* in the order of the files */
    size_t count, capacity;
    const struct nvdp__weight **by_name;
};

#define NVDP__WEIGHTS_FILE "model.safetensors"

/* Finds the weights of a model folder. If there are none, fails with NVDP_ERR_INPUT, naming the
 * files of other formats that are there and how to convert them. The path is for free(). */
nvdp_status nvdp__weights_find(struct nvdp_context *ctx, const char *directory, char **path);
/* Opens the weights of a model folder, or one file: *.index.json is read as an index of shards,
 * *.bin as a file of torch.save, and any other as safetensors. */
nvdp_status nvdp__weights_open(struct nvdp_context *ctx, const char *directory,
                               struct nvdp__weight_files **out);
nvdp_status nvdp__weights_open_file(struct nvdp_context *ctx, const char *path,
                                    struct nvdp__weight_files **out);
void nvdp__weights_close(struct nvdp__weight_files *weights); /* may be NULL */
NVDP__AUTOPTR(struct nvdp__weight_files, nvdp__weights_close)
/* NULL: there is no tensor of that name. The tensors of Model2Vec, 'embeddings' with 'mapping' and 'weights', are one tensor
 * 'embedding.weight' with a row per token. */
const struct nvdp__weight *nvdp__weights_find_tensor(const struct nvdp__weight_files *weights,
                                                     const char *name);
/* Reads elements [first, first + count) in row-major order, as nvdp__safetensors_read_f32. */
void nvdp__weight_read_f32(const struct nvdp__weight *weight, size_t first, size_t count,
                           float *out);
/* The SHA-256 of the file; for shards, of the lines "SHA-256 NAME\n" of all shards, sorted by name. */
nvdp_status nvdp__weights_sha256(const struct nvdp__weight_files *weights, char hex[65]);

/* ---- parts of weights.c ---- */

/* Files of torch.save with a state dict: a zip archive with a pickle and one entry per storage
 * (PyTorch 1.6 and later). */
struct nvdp__torch_file;

/* Opens a file and reads its pickle. The reader executes nothing: it knows the few opcodes and
 * globals of a state dict, and NVDP_ERR_INPUT names any other. The message has the command that
 * converts the file. `path` must outlive the file. */
nvdp_status nvdp__torch_open(struct nvdp_context *ctx, const char *path,
                             struct nvdp__torch_file **out);
void nvdp__torch_close(struct nvdp__torch_file *file); /* may be NULL */
NVDP__AUTOPTR(struct nvdp__torch_file, nvdp__torch_close)
/* The tensors, sorted by name; they are valid while the file is open. */
const struct nvdp__weight *nvdp__torch_tensors(const struct nvdp__torch_file *file, size_t *count);

/* Maps a regular file into memory; release with munmap(). `min` is the size that its format needs for
 * `what`. */
nvdp_status nvdp__map_file(struct nvdp_context *ctx, const char *path, size_t min, const char *what,
                           unsigned char **map, size_t *size);

#endif
