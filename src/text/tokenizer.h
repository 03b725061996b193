/* The WordPiece tokenizer's inside: encoding with memory that is kept from text to text. */
#ifndef NVDP_SRC_TEXT_TOKENIZER_H
#define NVDP_SRC_TEXT_TOKENIZER_H

#include "base/cache.h"
#include "text/vocabulary.h"

struct nvdp_tokenizer {
    struct nvdp__strings pieces;
    struct nvdp__word_rules rules;
    int32_t special[NVDP__SPECIALS];
    char digest[NVDP__DIGEST_HEX]; /* of vocabulary, special tokens, normalization */
};

/* A tokenizer from the bytes of vocab.txt, with the given names of the special tokens. */
nvdp_status nvdp__tokenizer_create(struct nvdp_context *ctx, const char *path, const char *bytes,
                                   size_t count, const char *const special[NVDP__SPECIALS],
                                   const struct nvdp__normalization *normalization,
                                   struct nvdp_tokenizer **out);

/* Writes the ids of word[0..size) (UTF-8, 1 to NVDP__WORD_BYTES bytes) and returns how many they
 * are, at most one a character; a single [UNK] where pieces do not cover the word. */
size_t nvdp__wordpiece(const struct nvdp_tokenizer *tokenizer, const char *word, size_t size,
                       int32_t *ids);

/* One encoder per thread.  Zero it, set the first two members, release it with
 * nvdp__encoder_release. */
struct nvdp__encoder {
    const struct nvdp_tokenizer *tokenizer;
    struct nvdp_context *ctx; /* for allocation; NULL within parallel regions */
    int32_t *ids;             /* [count] the last text */
    size_t count, capacity;
    size_t first;   /* tokens of type 0 */
    bool truncated; /* whether tokens were dropped */
    struct nvdp__words words;
};

/* nvdp_tokenizer_encode into the encoder; the caller has checked max_length. */
nvdp_status nvdp__encode(struct nvdp__encoder *encoder, const char *text, size_t text_size,
                         const char *pair, size_t pair_size, size_t max_length);
void nvdp__encoder_release(struct nvdp__encoder *encoder);

#endif
