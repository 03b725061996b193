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
 * A declared tensor with the flag OPTIONAL that the file lacks keeps its initial value and is listed in a notice.
 * The same holds for a tensor above the encoder that the file has in another shape. For any other missing tensor or
 * wrong shape, fails with NVDP_ERR_INPUT; the message has the tensor, what was expected and what was found. A notice
 * lists undeclared tensors, except the buffer embeddings.position_ids. NaN and infinite values fail with
 * NVDP_ERR_INPUT, the model of an unfinished run with NVDP_ERR_STATE. */
nvdp_status nvdp__checkpoint_load(const struct nvdp__device *dev, const char *directory,
                                  struct nvdp__params *params);
/* Fills the parameters in the same way from one named file. */
nvdp_status nvdp__checkpoint_load_file(const struct nvdp__device *dev, const char *path,
                                       struct nvdp__params *params);
/* Reads the checkpoint's values of the trained tensors, or of the frozen tensors, into `to` [params->total], without
 * notices. The values of all other tensors, and of tensors that the file lacks, are unchanged. */
nvdp_status nvdp__checkpoint_values(const struct nvdp__device *dev, const char *directory,
                                    const struct nvdp__params *params, bool frozen, float *to);
/* Writes DIR/model.safetensors (float32) with all declared parameters; atomic. */
nvdp_status nvdp__checkpoint_save(const struct nvdp__device *dev, const char *directory,
                                  const struct nvdp__params *params);
/* Writes the same file in F32, F16 or BF16; fails with NVDP_ERR_ARGUMENT for a value beyond the type's range. */
nvdp_status nvdp__checkpoint_save_as(const struct nvdp__device *dev, const char *directory,
                                     const struct nvdp__params *params, enum nvdp__dtype dtype);
/* Returns the configuration of BERT-base-uncased. */
struct nvdp_bert_config nvdp__bert_config_default(void);
/* Copies a caller's configuration. Members that the caller's struct does not have get their defaults. Fails with
 * NVDP_ERR_ARGUMENT if the caller did not set the size. */
nvdp_status nvdp__bert_config_take(struct nvdp_context *ctx, const struct nvdp_bert_config *given,
                                   struct nvdp_bert_config *out);
/* Reads a configuration as nvdp_bert_config_read() does, from a directory or a named file, into a struct whose size
 * need not be set. */
nvdp_status nvdp__bert_config_read(struct nvdp_context *ctx, const char *directory,
                                   struct nvdp_bert_config *out);
nvdp_status nvdp__bert_config_read_file(struct nvdp_context *ctx, const char *path,
                                        struct nvdp_bert_config *out);
/* Checks that the table of word embeddings has a row for every piece. More rows may pad the table to a round size.
 * Code that draws from all rows must call nvdp__bert_check_vocabulary() instead. */
nvdp_status nvdp__bert_check_rows(struct nvdp_context *ctx, const char *directory,
                                  const struct nvdp_bert_config *config, size_t tokenizer_size);
/* Writes DIR/config.json from the configuration; adds the members of `extra` (may be NULL) at
 * the top level. */
nvdp_status nvdp__bert_config_write(struct nvdp_context *ctx, const char *directory,
                                    const struct nvdp_bert_config *config, const char *architecture,
                                    json_t *extra);

/* Copies elements [first, first + n) of tensor `index` to `out`, in the memory type of the tensor's dtype. */
typedef void (*nvdp__tensor_fetch)(size_t index, size_t first, size_t n, void *out, void *user);

/* Makes the bytes of a file before the data (*bytes, which the caller frees with free()), and computes the first
 * byte of every tensor, start[count]. */
nvdp_status nvdp__safetensors_header(struct nvdp_context *ctx, const char *path, size_t count,
                                     const struct nvdp__tensor_source *tensors,
                                     const char *const *metadata, char **bytes, size_t *size,
                                     uint64_t *start);
/* Writes a file as nvdp__safetensors_write() does, but gets the data from `fetch`. */
nvdp_status nvdp__safetensors_stream(struct nvdp_context *ctx, const char *path, size_t count,
                                     const struct nvdp__tensor_source *tensors,
                                     const char *const *metadata, nvdp__tensor_fetch fetch,
                                     void *user);

/* ==== the tensors of a folder (weights.c) ==== */

struct nvdp__weight {
    struct nvdp__tensor_info info; /* `data` points to the first element */
    /* number of elements between neighbors along each dimension */
    size_t stride[NVDP__SAFETENSORS_RANK];
    bool dense;       /* true if the elements are row-major without gaps */
    const char *path; /* path of the file with this tensor */
    /* For a matrix whose row i is row row[i] of the file's matrix, times factor[i]. `row` NULL stands for i,
     * `factor` NULL for 1. */
    const struct nvdp__weight *row, *factor;
};

struct nvdp__weight_files {
    struct nvdp_context *ctx;
    char *path;                      /* path of the file, or of the index of the shards */
    struct nvdp__weights_part *part; /* parts, ordered by name */
    size_t parts, part_capacity;
    struct nvdp__weight *tensor; /* [tensors] in the order of the files */
    size_t count, capacity;
    const struct nvdp__weight **by_name;
};

#define NVDP__WEIGHTS_FILE "model.safetensors"

/* Finds the weights of a model folder; the caller frees the path with free(). If there are no weights, fails with
 * NVDP_ERR_INPUT; the message lists the files in other formats and how to convert them. */
nvdp_status nvdp__weights_find(struct nvdp_context *ctx, const char *directory, char **path);
/* Opens the weights of a model folder, or one file. *.index.json is read as an index of shards, *.bin as a file of
 * torch.save, and any other file as safetensors. */
nvdp_status nvdp__weights_open(struct nvdp_context *ctx, const char *directory,
                               struct nvdp__weight_files **out);
nvdp_status nvdp__weights_open_file(struct nvdp_context *ctx, const char *path,
                                    struct nvdp__weight_files **out);
void nvdp__weights_close(struct nvdp__weight_files *weights); /* may be NULL */
NVDP__AUTOPTR(struct nvdp__weight_files, nvdp__weights_close)
/* Returns the tensor of that name; NULL if there is none. The tensors of Model2Vec, 'embeddings' with 'mapping' and
 * 'weights', count as one tensor 'embedding.weight' with a row per token. */
const struct nvdp__weight *nvdp__weights_find_tensor(const struct nvdp__weight_files *weights,
                                                     const char *name);
/* Reads elements [first, first + count) in row-major order, as nvdp__safetensors_read_f32() does. */
void nvdp__weight_read_f32(const struct nvdp__weight *weight, size_t first, size_t count,
                           float *out);
/* Computes the SHA-256 of the file; for shards, of the lines "SHA-256 NAME\n" of all shards, sorted by name. */
nvdp_status nvdp__weights_sha256(const struct nvdp__weight_files *weights, char hex[65]);

/* ---- parts of weights.c ---- */

/* A file of torch.save with a state dict: a zip archive with a pickle and one entry per storage (PyTorch 1.6 and
 * later). */
struct nvdp__torch_file;

/* Opens a file and reads the pickle. The reader executes nothing: it knows only the few opcodes and globals of a
 * state dict. For any other opcode or global, it fails with NVDP_ERR_INPUT; the message has this opcode or global
 * and the command that converts the file. `path` must outlive the file. */
nvdp_status nvdp__torch_open(struct nvdp_context *ctx, const char *path,
                             struct nvdp__torch_file **out);
void nvdp__torch_close(struct nvdp__torch_file *file); /* may be NULL */
NVDP__AUTOPTR(struct nvdp__torch_file, nvdp__torch_close)
/* Returns the tensors, sorted by name; they are valid while the file is open. */
const struct nvdp__weight *nvdp__torch_tensors(const struct nvdp__torch_file *file, size_t *count);

/* Maps a regular file into memory; the caller releases it with munmap(). `min` is the size that the format `what`
 * needs. */
nvdp_status nvdp__map_file(struct nvdp_context *ctx, const char *path, size_t min, const char *what,
                           unsigned char **map, size_t *size);

#endif
