/* Tokenized files kept between runs (docs/formats.md, Cache). */
#ifndef NVDP_SRC_TEXT_TOKENS_CACHE_H
#define NVDP_SRC_TEXT_TOKENS_CACHE_H

#include "text/rows.h"

/* The cached file of a data set: its name is the hash of the file's bytes and of everything else
 * that decides what it becomes. */
nvdp_status nvdp__tokens_path(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                              const struct nvdp_dataset_config *config, enum nvdp__label_use use,
                              const char *bytes, size_t count, char **path);
/* *out stays NULL where there is none. */
nvdp_status nvdp__tokens_load(struct nvdp_context *ctx, const char *path,
                              const struct nvdp_tokenizer *tokenizer,
                              const struct nvdp_dataset_config *config, struct nvdp_dataset **out);
/* The bytes of such a file; *out stays NULL where they are not sound. */
nvdp_status nvdp__tokens_unpack(struct nvdp_context *ctx, const char *bytes, size_t count,
                                size_t vocabulary, const struct nvdp_dataset_config *config,
                                struct nvdp_dataset **out);
/* Makes the folder and the file.  Where that fails it is a notice, not an error. */
void nvdp__tokens_save(struct nvdp_context *ctx, const char *directory, const char *path,
                       const struct nvdp_dataset *dataset);

#endif
