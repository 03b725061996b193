/* BERT's uncased WordPiece tokenizer, exactly as published (spec: cleaning, CJK spacing, lower
 * case, NFD without category Mn, punctuation, greedy longest match; words over 200 characters are
 * unknown). */
#ifndef NVDP_TOKENIZER_H
#define NVDP_TOKENIZER_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

struct nvdp_tokenizer;

/* Token ids of a text or pair: [CLS] a [SEP] or [CLS] a [SEP] b [SEP]. */
struct nvdp_tokens {
    size_t count;
    size_t capacity;
    int32_t *ids;
    int32_t *types; /* 0 for the first text and its [SEP], 1 for the second */
};

/* Reads vocab.txt and, where there is one, tokenizer_config.json (do_lower_case, strip_accents,
 * tokenize_chinese_chars, the special tokens) of a Hugging Face directory. */
nvdp_status nvdp_tokenizer_load(struct nvdp_context *ctx, const char *directory,
                                struct nvdp_tokenizer **out);
void nvdp_tokenizer_free(struct nvdp_tokenizer *tokenizer);

size_t nvdp_tokenizer_size(const struct nvdp_tokenizer *tokenizer);
/* The piece's text, NULL when id is out of range. */
const char *nvdp_tokenizer_piece(const struct nvdp_tokenizer *tokenizer, int32_t id);
/* The piece's id, -1 where it is not in the vocabulary. */
int32_t nvdp_tokenizer_find(const struct nvdp_tokenizer *tokenizer, const char *piece);
enum nvdp_special { NVDP_PAD, NVDP_UNK, NVDP_CLS, NVDP_SEP, NVDP_MASK };
int32_t nvdp_tokenizer_special(const struct nvdp_tokenizer *tokenizer, enum nvdp_special which);

/* Encodes `text` (text_size bytes of UTF-8; invalid sequences count as U+FFFD and are dropped) and
 * the pair (NULL: none) into *tokens, replacing its contents.  Longer than max_length (>= 2, >= 3
 * with a pair): tokens are dropped from the longer side's end, one at a time, from the second on a
 * tie.  Thread-safe for distinct *tokens. O(bytes). */
nvdp_status nvdp_tokenizer_encode(const struct nvdp_tokenizer *tokenizer, const char *text,
                                  size_t text_size, const char *pair, size_t pair_size,
                                  size_t max_length, struct nvdp_tokens *tokens);
/* Releases the arrays and zeroes the struct. */
void nvdp_tokens_release(struct nvdp_tokens *tokens);

NVDP_END_DECLS
#endif
