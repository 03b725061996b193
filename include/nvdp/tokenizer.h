/** @file
 * Tokenizers: split texts into the pieces that an encoder reads.
 *
 * BERT's WordPiece tokenizer: control characters are dropped, ideographs get spaces, text is lower case, accents are
 * stripped (NFD without category Mn), punctuation marks are separate. Then the longest piece of the vocabulary is
 * taken first (Wu et al. 2016). Words over 100 characters are unknown.
 *
 * RoBERTa's byte-level byte-pair encoding (Radford et al. 2019; Liu et al. 2019): words by GPT-2's pattern, whose
 * bytes are merged in pairs by rank (Sennrich, Haddow & Birch 2016).
 *
 * Token ids equal the ids of transformers 5. Names of special and added tokens in a text become these tokens.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_TOKENIZER_H
#define NVDP_TOKENIZER_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** A vocabulary and the rules that split texts into its pieces; immutable. */
struct nvdp_tokenizer;

/** The special tokens, with the names of BERT and RoBERTa. */
enum nvdp_special {
    NVDP_TOKEN_PAD, /**< "[PAD]", "\<pad>": fills rows in padded formats */
    NVDP_TOKEN_UNK, /**< "[UNK]", "\<unk>": a word that the pieces do not cover */
    NVDP_TOKEN_CLS, /**< "[CLS]", "\<s>": before every text */
    NVDP_TOKEN_SEP, /**< "[SEP]", "\</s>": after every text */
    NVDP_TOKEN_MASK /**< "[MASK]", "\<mask>": a token to predict in pretraining */
};

/** Token ids of a text or pair: [CLS] a [SEP] or [CLS] a [SEP] b [SEP], for RoBERTa and MPNet \<s> a \</s> or \<s> a
 * \</s>\</s> b \</s>, and without special tokens for a table of static embeddings. Zero the struct before its
 * first use; nvdp_tokens_free() frees its content. */
struct nvdp_tokens {
    size_t count;    /**< number of tokens, including special ones */
    size_t capacity; /**< number of tokens that fit the allocated memory */
    int32_t *ids;    /**< [count] rows of the vocabulary */
    /** [count] 0 for the first text and its [SEP], 1 for the second text; always 0 for RoBERTa and MPNet. */
    int32_t *types;
};

/** Reads the tokenizer of a Hugging Face directory. The tokenizer class decides which files count, as in transformers:
 * tokenizer.json; vocab.txt (WordPiece); vocab.json and merges.txt (byte-level BPE); sentencepiece.bpe.model
 * (Unigram); tokenizer_config.json, special_tokens_map.json and added_tokens.json. docs/formats.md has the rules.
 * O(bytes).
 * @param ctx       records errors; may be NULL
 * @param directory directory of the files
 * @param out       the tokenizer, freed with nvdp_tokenizer_free(); untouched on error
 * @return NVDP_ERR_IO if a file is missing (the message names the possible files) or cannot be read; NVDP_ERR_INPUT,
 *         whose message names the file and line, key or piece, for a line that is not UTF-8, a merge that is not a
 *         pair of pieces, ids that are not 0 to n - 1, or a missing special token; NVDP_ERR_UNSUPPORTED for a key
 *         with an unsupported value that would change ids; NVDP_ERR_MEMORY */
nvdp_status nvdp_tokenizer_load(struct nvdp_context *ctx, const char *directory,
                                struct nvdp_tokenizer **out);

/** Frees a tokenizer.
 * @param tokenizer may be NULL */
void nvdp_tokenizer_free(struct nvdp_tokenizer *tokenizer);

/** Returns the number of pieces of the vocabulary, including special ones. O(1).
 * @param tokenizer a tokenizer
 * @return number of pieces; ids are below it */
size_t nvdp_tokenizer_size(const struct nvdp_tokenizer *tokenizer);

/** Returns the text of a piece as in the vocabulary, such as "un", "##able", or "Ġun" (a piece of byte-level BPE
 * with a leading space). O(1).
 * @param tokenizer a tokenizer
 * @param id        a row of the vocabulary
 * @return the text, owned by the tokenizer; NULL if `id` is out of range */
const char *nvdp_tokenizer_piece(const struct nvdp_tokenizer *tokenizer, int32_t id);

/** Finds the id of a piece. O(bytes of the piece).
 * @param tokenizer a tokenizer
 * @param piece     the text, including "##"
 * @return the id; -1 if the vocabulary has no such piece */
int32_t nvdp_tokenizer_find(const struct nvdp_tokenizer *tokenizer, const char *piece);

/** Returns the id of a special token. O(1).
 * @param tokenizer a tokenizer
 * @param which     the token
 * @return the id; -1 if `which` is invalid */
int32_t nvdp_tokenizer_special(const struct nvdp_tokenizer *tokenizer, enum nvdp_special which);

/** Returns the number of special tokens of a text or pair: the minimum of max_length. O(1).
 * @param tokenizer a tokenizer
 * @param pair      true for a pair of texts
 * @return 2; 3 for a pair, 4 for a pair with RoBERTa or MPNet; 0 if the texts are for a table of static
 * embeddings */
size_t nvdp_tokenizer_specials(const struct nvdp_tokenizer *tokenizer, bool pair);

/** Encodes a text or a pair of texts, and replaces the content of `tokens`. If the result is longer than max_length,
 * drops tokens from the end of the longer text until both texts have the same length, then from both texts. An odd
 * token remains in the text that was longer, or in the second text if both had the same length, as in the `tokenizers`
 * library.
 * Several threads may encode at the same time into different `tokens`. O(bytes).
 * @param tokenizer  a tokenizer
 * @param text       UTF-8; invalid bytes count as U+FFFD, which WordPiece drops
 * @param text_size  bytes of `text`
 * @param pair       the second text; NULL if there is none
 * @param pair_size  bytes of `pair`
 * @param max_length maximum number of tokens, including special ones; at least nvdp_tokenizer_specials()
 * @param tokens     the result; untouched on error
 * @return NVDP_ERR_ARGUMENT if `text` is NULL or max_length is too small; NVDP_ERR_MEMORY */
nvdp_status nvdp_tokenizer_encode(const struct nvdp_tokenizer *tokenizer, const char *text,
                                  size_t text_size, const char *pair, size_t pair_size,
                                  size_t max_length, struct nvdp_tokens *tokens);

/** Frees the arrays and zeroes the struct.
 * @param tokens filled by nvdp_tokenizer_encode(), or zeros */
void nvdp_tokens_free(struct nvdp_tokens *tokens);

NVDP_END_DECLS
#endif
