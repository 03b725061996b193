/* Files of embeddings made for tests. */
#ifndef NVDP_TESTS_SUPPORT_MADE_EMBEDDINGS_H
#define NVDP_TESTS_SUPPORT_MADE_EMBEDDINGS_H

#include "share/release.h"
#include "tiny_task.h"

/* A file as another program might have written it. */
struct made_embeddings {
    size_t texts, samples, dim;
    enum nvdp_length_policy policy;
    size_t length;     /* L */
    double separation; /* distance of the classes' means, in standard deviations */
    size_t classes;    /* 0 if labels are scores */
    bool labels, splits;
    const char *task; /* NULL if not recorded */
    const char *key;  /* key that signs as older versions did; NULL if not signed */
    uint64_t seed;
};
struct made_embeddings made_embeddings_default(void);
/* Writes the file under `name` in the scratch folder. The label of a text (the text's number modulo
 * the classes, or a score) shifts the mean of the text's token vectors. */
const char *made_embeddings(struct nvdp_context *ctx, const char *name,
                            const struct made_embeddings *file);
/* Copies the file `from` to `to`, in the format that `formats` has for the name `to`, with the
 * attribute `texts`. */
void converted_embeddings(struct nvdp_context *ctx, const struct nvdp__format *const *formats,
                          const char *from, const char *to);
float made_label(const struct made_embeddings *file, size_t text);

#endif
