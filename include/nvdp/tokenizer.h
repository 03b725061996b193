/**
 * @file
 * Texts as the pieces that an encoder reads.
 *
 * BERT's WordPiece tokenizer, exactly as published: control characters dropped, ideographs spaced,
 * lower case, accents stripped (NFD without category Mn), punctuation marks apart, then the longest
 * piece of the vocabulary first (Wu et al. 2016).  Words over 200 characters are unknown.
 *
 * RoBERTa's byte-level byte-pair encoding (Radford et al. 2019; Liu et al. 2019): words by GPT-2's
 * pattern, their bytes merged in pairs by rank (Sennrich, Haddow & Birch 2016).  Here the names of
 * special tokens in a text stand for these tokens, as elsewhere with this encoding.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_TOKENIZER_H
#define NVDP_TOKENIZER_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** A vocabulary and the rules by which texts become its pieces; never changes once it is read. */
struct nvdp_tokenizer;

/** The pieces that stand for no text, by BERT's names and RoBERTa's. */
enum nvdp_special {
    NVDP_TOKEN_PAD, /**< "[PAD]", "\<pad>": fills rows in padded formats. */
    NVDP_TOKEN_UNK, /**< "[UNK]", "\<unk>": a word that the pieces do not cover. */
    NVDP_TOKEN_CLS, /**< "[CLS]", "\<s>": before every text. */
    NVDP_TOKEN_SEP, /**< "[SEP]", "\</s>": behind every text. */
    NVDP_TOKEN_MASK /**< "[MASK]", "\<mask>": a token that is to be predicted in pretraining. */
};

/** Token ids of a text or pair: [CLS] a [SEP] or [CLS] a [SEP] b [SEP], RoBERTa's \<s> a \</s> or
 * \<s> a \</s>\</s> b \</s>.  Zero it before its first use; nvdp_tokens_free() frees what it holds. */
struct nvdp_tokens {
    size_t count;    /**< Tokens, special ones included. */
    size_t capacity; /**< Tokens for which there is memory. */
    int32_t *ids;    /**< [count] rows of the vocabulary. */
    int32_t
        *types; /**< [count] 0 for the first text and its [SEP], 1 for the second; RoBERTa: 0. */
};

/**
 * Reads the tokenizer of a Hugging Face directory: vocab.txt (WordPiece); where there is none
 * vocab.json and merges.txt (byte-level BPE); where these are missing too tokenizer.json, which has
 * either.  tokenizer_config.json is read where it is there (the special tokens; with vocab.txt
 * do_lower_case, strip_accents, tokenize_chinese_chars).  O(bytes).
 *
 * @param ctx where errors are recorded; NULL allowed.
 * @param directory folder of the files.
 * @param out the tokenizer, for nvdp_tokenizer_free(); untouched on error.
 * @return NVDP_ERR_IO where a file is missing (the message names those that would do) or cannot be
 * read; NVDP_ERR_INPUT, naming the file and line or piece, where a line is empty, twice there or not
 * UTF-8, a merge is no pair of pieces, ids are not 0 to n - 1, or a special token is missing;
 * NVDP_ERR_UNSUPPORTED where tokenizer.json asks for something else; NVDP_ERR_MEMORY.
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
 * A piece's text as it stands in the vocabulary, such as "un", "##able", or "Ġun", byte-level
 * BPE's piece with a space before it.  O(1).
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
 * How many special tokens a text, or a pair of texts, gets: the least that max_length can be.  O(1).
 *
 * @param tokenizer a tokenizer.
 * @param pair whether there is a second text.
 * @return 2; with a pair 3, RoBERTa's 4.
 */
size_t nvdp_tokenizer_specials(const struct nvdp_tokenizer *tokenizer, bool pair);

/**
 * Encodes a text, or a pair of texts, in place of what `tokens` held.  Where they are longer than
 * max_length, tokens are dropped from the longer text's end, one at a time, from the second on a
 * tie (Devlin et al.'s rule; the `tokenizers` library leaves the shorter of two long texts half the
 * room, rounded down).  Several threads may encode at once into different `tokens`.  O(bytes).
 *
 * @param tokenizer a tokenizer.
 * @param text UTF-8; bytes that are not count as U+FFFD, which WordPiece drops.
 * @param text_size bytes of `text`.
 * @param pair the second text, NULL where there is none.
 * @param pair_size bytes of `pair`.
 * @param max_length most tokens, special ones included: at least nvdp_tokenizer_specials().
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
void nvdp_tokens_free(struct nvdp_tokens *tokens);

NVDP_END_DECLS
#endif
