/* Files read in pieces from their beginning; those compressed by xz are unpacked on the way. */
#ifndef NVDP_SRC_INPUT_H
#define NVDP_SRC_INPUT_H

#include "base/base.h"

struct nvdp__input;

/* xz is recognised by a file's first bytes, not by its name.  Files of another compressor are
 * NVDP_ERR_INPUT by its name. */
nvdp_status nvdp__input_open(struct nvdp_context *ctx, const char *path, struct nvdp__input **out);
void nvdp__input_close(struct nvdp__input *input);
/* Up to `room` bytes; *count is 0 at the end only.  A damaged or cut xz file is NVDP_ERR_INPUT. */
nvdp_status nvdp__input_read(struct nvdp__input *input, size_t room, char *bytes, size_t *count);

#endif
