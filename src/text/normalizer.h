/* The `normalizer` of a tokenizer.json: steps that change a text before it is split into tokens,
 * as the `tokenizers` library performs them. */
#ifndef NVDP_SRC_TEXT_NORMALIZER_H
#define NVDP_SRC_TEXT_NORMALIZER_H

#include "base/cache.h"
#include "text/normalize.h"
#include <jansson.h>

/* Never changes after creation. */
struct nvdp__change {
    const struct nvdp__change_row *row;
    bool left, right;          /* Strip */
    bool compatible, composed; /* NFC, NFD, NFKC, NFKD */
    bool white_space;          /* Replace: the pattern is a run of white space */
    size_t least; /* Replace: the pattern is a run of so many `pattern`; 0: the pattern itself */
    char *pattern, *content; /* Replace, Prepend */
    size_t pattern_size, content_size;
    /* Precompiled: a table of SentencePiece, a double array (Aoe 1989) over the bytes of characters
     * whose values are places in `content`, where a string begins that ends with a NUL */
    uint32_t *unit;
    size_t units;
};
/* Zero it, set ctx; release it with nvdp__normalizer_release. */
struct nvdp__normalizer {
    struct nvdp_context *ctx;
    struct nvdp__change *change;
    size_t count, capacity;
};

/* Adds the steps of `json`, which `path` has under the key 'normalizer'; null and NULL have none.
 * NVDP_ERR_UNSUPPORTED, naming path, key and value, for a step that is not implemented. */
nvdp_status nvdp__normalizer_read(struct nvdp__normalizer *normalizer, const char *path,
                                  const json_t *json);
/* Adds a step that replaces bytes that are not UTF-8 by U+FFFD. */
nvdp_status nvdp__normalizer_add_decoding(struct nvdp__normalizer *normalizer);
/* Adds a step by the table bytes[0..size) of a SentencePiece file. NVDP_ERR_INPUT if it is no table. */
nvdp_status nvdp__normalizer_add_table(struct nvdp__normalizer *normalizer, const char *path,
                                       const void *bytes, size_t size);
/* Performs the steps on text[0..size); without any, *out is a copy. `ctx` is NULL in parallel regions. */
nvdp_status nvdp__normalizer_apply(struct nvdp_context *ctx,
                                   const struct nvdp__normalizer *normalizer, const char *text,
                                   size_t size, struct nvdp__normalized *out);
void nvdp__normalizer_digest(const struct nvdp__normalizer *normalizer,
                             struct nvdp__digest *digest);
void nvdp__normalizer_release(struct nvdp__normalizer *normalizer);

#endif
