/**
 * @file
 * BERT's WordPiece tokenizer, exactly as published: control characters dropped, ideographs spaced,
 * lower case, accents stripped (NFD without category Mn), punctuation marks apart, then the longest
 * piece of the vocabulary first (Wu et al. 2016).  Words over 200 characters are unknown.
 */
#ifndef NVDP_TOKENIZER_H
#define NVDP_TOKENIZER_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** A vocabulary and the rules by which texts become its pieces; never changes once it is read. */
struct nvdp_tokenizer;

/** The pieces that stand for no text. */
enum nvdp_special {
    NVDP_TOKEN_PAD, /**< "[PAD]", which fills rows in padded formats. */
    NVDP_TOKEN_UNK, /**< "[UNK]", a word that the pieces do not cover. */
    NVDP_TOKEN_CLS, /**< "[CLS]", before every text. */
    NVDP_TOKEN_SEP, /**< "[SEP]", behind every text. */
    NVDP_TOKEN_MASK /**< "[MASK]", a token that is to be predicted in pretraining. */
};

/** Token ids of a text or pair: [CLS] a [SEP] or [CLS] a [SEP] b [SEP].  Zero it before its first
 * use; nvdp_tokens_release() frees what it holds. */
struct nvdp_tokens {
    size_t count;    /**< Tokens, special ones included. */
    size_t capacity; /**< Tokens for which there is memory. */
    int32_t *ids;    /**< [count] rows of the vocabulary. */
    int32_t *types;  /**< [count] 0 for the first text and its [SEP], 1 for the second. */
};

/**
 * Reads vocab.txt and, where there is one, tokenizer_config.json (do_lower_case, strip_accents,
 * tokenize_chinese_chars, the special tokens) of a Hugging Face directory.  O(bytes).
 *
 * @param ctx where errors are recorded; NULL allowed.
 * @param directory folder of the two files.
 * @param out the tokenizer, for nvdp_tokenizer_free(); untouched on error.
 * @return NVDP_ERR_IO where a file cannot be read; NVDP_ERR_INPUT, naming the file and line, where
 * a line is empty, twice there or not UTF-8, or a special token is missing; NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_tokenizer_load(struct nvdp_context *ctx, const char *directory,
                                struct nvdp_tokenizer **out);

/**
 * Frees a tokenizer.
 *
 * @param tokenizer NULL allowed.
 */
void nvdp_tokenizer_free(struct nvdp_tokenizer *tokenizer);

/**
 * Pieces of the vocabulary, special ones included.  O(1).
 *
 * @param tokenizer a tokenizer.
 * @return the number of pieces; ids are below it.
 */
size_t nvdp_tokenizer_size(const struct nvdp_tokenizer *tokenizer);

/**
 * A piece's text, such as "un" or "##able".  O(1).
 *
 * @param tokenizer a tokenizer.
 * @param id a row of the vocabulary.
 * @return the text, which the tokenizer owns; NULL where `id` is out of range.
 */
const char *nvdp_tokenizer_piece(const struct nvdp_tokenizer *tokenizer, int32_t id);

/**
 * A piece's id.  O(bytes of the piece).
 *
 * @param tokenizer a tokenizer.
 * @param piece the text, "##" included.
 * @return the id, -1 where the vocabulary has no such piece.
 */
int32_t nvdp_tokenizer_find(const struct nvdp_tokenizer *tokenizer, const char *piece);

/**
 * The id of a special token.  O(1).
 *
 * @param tokenizer a tokenizer.
 * @param which the token.
 * @return its id, -1 where `which` is none.
 */
int32_t nvdp_tokenizer_special(const struct nvdp_tokenizer *tokenizer, enum nvdp_special which);

/**
 * Encodes a text, or a pair of texts, in place of what `tokens` held.  Where they are longer than
 * max_length, tokens are dropped from the longer text's end, one at a time, from the second on a
 * tie (Devlin et al.'s rule; the `tokenizers` library leaves the shorter of two long texts half the
 * room, rounded down).  Several threads may encode at once into different `tokens`.  O(bytes).
 *
 * @param tokenizer a tokenizer.
 * @param text UTF-8; invalid sequences count as U+FFFD and are dropped.
 * @param text_size bytes of `text`.
 * @param pair the second text, NULL where there is none.
 * @param pair_size bytes of `pair`.
 * @param max_length most tokens, special ones included: 2 or more, 3 or more with a pair.
 * @param tokens the outcome; untouched on error.
 * @return NVDP_ERR_ARGUMENT where `text` is NULL or max_length too small; NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_tokenizer_encode(const struct nvdp_tokenizer *tokenizer, const char *text,
                                  size_t text_size, const char *pair, size_t pair_size,
                                  size_t max_length, struct nvdp_tokens *tokens);

/**
 * Frees the arrays and zeroes the struct.
 *
 * @param tokens what nvdp_tokenizer_encode() filled, or zeros.
 */
void nvdp_tokens_release(struct nvdp_tokens *tokens);

NVDP_END_DECLS
#endif
