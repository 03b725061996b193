/* Reads files of word vectors. */
#ifndef NVDP_SRC_TEXT_WORD_VECTORS_H
#define NVDP_SRC_TEXT_WORD_VECTORS_H

#include "text/vector_rows.h"
#include "text/vocabulary.h"

/* Reads a file into zeroed structs; `words` receives the words in the order of the rows. NVDP_ERR_INPUT names the
 * line. */
nvdp_status nvdp__word_vectors_read(struct nvdp_context *ctx, const char *path,
                                    struct nvdp__strings *words, struct nvdp__vector_rows *out);

#endif
