/* Sanitizers, internal. */
#ifndef NVDP_DCHI_SANITIZER_H
#define NVDP_DCHI_SANITIZER_H

#include "dchi/dchi.h"
#include "dchi/options.h"
#include "text/tokenizer.h"

/* Of an encoder's table in memory: pieces of the tokenizer x dim floats.  The tokenizer must outlive
 * it.  options->vectors is not read. */
nvdp_status nvdp__sanitizer_of_table(struct nvdp_context *ctx,
                                     const struct nvdp__sanitizer_options *options,
                                     const struct nvdp_tokenizer *tokenizer, size_t dim,
                                     const float *table, struct nvdp_sanitizer **out);
/* Of options->vectors, or of the folder `model`. */
nvdp_status nvdp__sanitizer_create(struct nvdp_context *ctx,
                                   const struct nvdp__sanitizer_options *options, const char *model,
                                   struct nvdp_sanitizer **out);

/* Reads a file of word vectors; `words`, zeroed, gets the words by rows.  word_vectors.c. */
nvdp_status nvdp__word_vectors_read(struct nvdp_context *ctx, const char *path,
                                    struct nvdp__strings *words, struct nvdp_vectors **out);

#endif
