/* The tensors of a model folder, whatever files hold them: model.safetensors, pytorch_model.bin, or shards of
 * either with an index. */
#ifndef NVDP_SRC_BERT_WEIGHTS_H
#define NVDP_SRC_BERT_WEIGHTS_H

#include "base/base.h"
#include <nvdp/safetensors.h>

struct nvdp__weight {
    struct nvdp_tensor_info info;         /* data: the first element */
    size_t stride[NVDP_SAFETENSORS_RANK]; /* elements between neighbors along each dimension */
    bool dense;                           /* row-major without gaps */
    const char *path;                     /* the file with this tensor */
};

struct nvdp__weights;

#define NVDP__WEIGHTS_FILE "model.safetensors"

/* Finds the weights of a model folder. If there are none, fails with NVDP_ERR_INPUT, naming the
 * files of other formats that are there and how to convert them. The path is for free(). */
nvdp_status nvdp__weights_find(struct nvdp_context *ctx, const char *directory, char **path);
/* Opens the weights of a model folder, or one file: *.index.json is read as an index of shards,
 * *.bin as a file of torch.save, and any other as safetensors. */
nvdp_status nvdp__weights_open(struct nvdp_context *ctx, const char *directory,
                               struct nvdp__weights **out);
nvdp_status nvdp__weights_open_file(struct nvdp_context *ctx, const char *path,
                                    struct nvdp__weights **out);
void nvdp__weights_close(struct nvdp__weights *weights); /* may be NULL */
NVDP__AUTOPTR(struct nvdp__weights, nvdp__weights_close)
/* The file, or the index of the shards. */
const char *nvdp__weights_path(const struct nvdp__weights *weights);
size_t nvdp__weights_count(const struct nvdp__weights *weights);
const struct nvdp__weight *nvdp__weights_at(const struct nvdp__weights *weights, size_t i);
/* NULL: there is no tensor of that name. */
const struct nvdp__weight *nvdp__weights_find_tensor(const struct nvdp__weights *weights,
                                                     const char *name);
/* Reads elements [first, first + count) in row-major order, as nvdp_safetensors_read_f32. */
void nvdp__weight_read_f32(const struct nvdp__weight *weight, size_t first, size_t count,
                           float *out);
/* The SHA-256 of the file; for shards, of the lines "SHA-256 NAME\n" of all shards, sorted by name. */
nvdp_status nvdp__weights_sha256(const struct nvdp__weights *weights, char hex[65]);

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
