/* Labels for a reader: from a file of embeddings or from a text file, as classes or scores. */
#ifndef NVDP_SRC_SHARE_LABELS_H
#define NVDP_SRC_SHARE_LABELS_H

#include "share/embeddings_file.h"

/* One label a text: a class number, or a score; NaN where a text has none. */
struct nvdp__labels {
    size_t count;
    float *value;   /* [count] */
    size_t classes; /* 1 for scores */
    char **name;    /* [classes] where the labels are words, else NULL */
};

/* From `path` (one label a line, in the order of the file's texts; an empty line: none), or where
 * it is NULL from the file's own `label`.  Lines that are all whole numbers from 0 are class
 * numbers; other words are classes in the order of their bytes.  `like` (NULL: none) gives the
 * classes that may occur: those a reader was trained on. */
nvdp_status nvdp__labels_read(struct nvdp_context *ctx, const char *path,
                              const char *embeddings_path,
                              const struct nvdp__embeddings *embeddings, bool regression,
                              const struct nvdp__labels *like, struct nvdp__labels *out);
void nvdp__labels_release(struct nvdp__labels *labels);

#endif
