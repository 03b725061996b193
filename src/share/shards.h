/* A release in shards: all files of embeddings in a folder, which several exports of one run wrote. */
#ifndef NVDP_SRC_SHARE_SHARDS_H
#define NVDP_SRC_SHARE_SHARDS_H

#include "share/release.h"

struct nvdp__shards {
    char **path; /* [count] in the order of their names */
    size_t count;
};

/* Lists the files.  A path that is no folder is its only file.  The files of a folder must have the same attributes
 * except those that describe one file (its texts, its date, its measurements): NVDP_ERR_INPUT names the first file
 * that differs, and the attribute. */
nvdp_status nvdp__shards_open(struct nvdp_context *ctx, const char *path, struct nvdp__shards *out);
void nvdp__shards_close(struct nvdp__shards *shards);
/* True if the folder has a file with the extension of a release. */
bool nvdp__shards_in(const char *folder);
/* True if the attribute describes a single file, so that it may differ between shards. */
bool nvdp__shard_attribute(const char *name);
/* Returns the name of a shard without its folder. */
const char *nvdp__shard_name(const char *path);

#endif
