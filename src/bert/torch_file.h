/* Files of torch.save with a state dict: a zip archive with a pickle and one entry per storage (PyTorch 1.6 and later). */
#ifndef NVDP_SRC_BERT_TORCH_FILE_H
#define NVDP_SRC_BERT_TORCH_FILE_H

#include "bert/weights.h"

struct nvdp__torch_file;

/* Opens a file and reads its pickle. The reader executes nothing: it knows the few opcodes and
 * globals of a state dict, and NVDP_ERR_INPUT names any other. The message has the command that
 * converts the file. `path` must outlive the file. */
nvdp_status nvdp__torch_open(struct nvdp_context *ctx, const char *path,
                             struct nvdp__torch_file **out);
void nvdp__torch_close(struct nvdp__torch_file *file); /* may be NULL */
/* The tensors, sorted by name; they are valid while the file is open. */
const struct nvdp__weight *nvdp__torch_tensors(const struct nvdp__torch_file *file, size_t *count);

#endif
