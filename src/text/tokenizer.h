/* Internals of the tokenizers: encoding by WordPiece and byte-level BPE, with memory reused from
 * text to text. */
#ifndef NVDP_SRC_TEXT_TOKENIZER_H
#define NVDP_SRC_TEXT_TOKENIZER_H

#include "base/cache.h"
#include "text/vocabulary.h"
#include <jansson.h>

/* Byte-level byte-pair encoding, as in GPT-2 (Radford et al. 2019) and RoBERTa. A text is a
 * sequence of bytes, each of which is a piece. Within a word, the adjacent pair that is first in
 * the list of merges becomes one piece, repeatedly (Sennrich, Haddow & Birch 2016). Text is not
 * normalized, and nothing is unknown.
 *
 * Words are the matches of GPT-2's pattern:
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * In files each byte is written as a character: itself if it is printable in Latin-1, otherwise
 * a character from U+0100 on, so that "Ġ" is a space. */

/* A token that texts may name directly; on request it includes the spaces around it. */
struct nvdp__added_token {
    int32_t id; /* the piece is its name */
    bool left_spaces, right_spaces;
};

/* Never changes after creation. */
struct nvdp__bpe {
    int32_t byte[NVDP__BYTE_VALUES]; /* pieces of single bytes */
    struct nvdp__strings merges;     /* pairs of ids, in order of rank */
    int32_t *merged;                 /* [merges.count] the resulting pieces */
    struct nvdp__added_token *added; /* [added_count] */
    size_t added_count;
    /* true if the name of an added token begins with this byte */
    bool begins_added[NVDP__BYTE_VALUES];
};

/* Reads merges.txt: two pieces per line, separated by a space, the most frequent pair first. A
 * first line that begins with "#version" is skipped. CRLF and a missing last newline are
 * accepted. NVDP_ERR_INPUT, naming `path` and the line, if a line is not a pair of pieces, is a
 * duplicate, or forms no piece; naming `vocabulary` if one of the 256 bytes is not a piece. */
nvdp_status nvdp__bpe_create(struct nvdp_context *ctx, const char *vocabulary,
                             const struct nvdp__strings *pieces, const char *path,
                             const char *bytes, size_t count, struct nvdp__bpe **out);
/* Adds another token that texts may name; `id` is a piece. */
nvdp_status nvdp__bpe_add(struct nvdp_context *ctx, struct nvdp__bpe *bpe,
                          const struct nvdp__strings *pieces, struct nvdp__added_token token);
void nvdp__bpe_free(struct nvdp__bpe *bpe); /* NULL allowed */

/* Bytes of the first word of text[0..size), size > 0. */
size_t nvdp__bpe_word(const char *text, size_t size);

/* Memory reused from word to word. Zero it; release it with nvdp__bpe_work_release. */
struct nvdp__bpe_work {
    struct nvdp__bpe_symbol *symbol;
    struct nvdp__bpe_candidate *heap;
    size_t symbol_capacity, heap_capacity;
};
void nvdp__bpe_work_release(struct nvdp__bpe_work *work);

struct nvdp__encoder;
/* Adds the ids of text[0..size) to the encoder's until there are `limit` or more. A byte that is
 * not UTF-8 counts as U+FFFD. */
nvdp_status nvdp__bpe_encode(struct nvdp__encoder *encoder, const char *text, size_t size,
                             size_t limit);

/* ---- the tokenizer ---- */

struct nvdp_tokenizer {
    struct nvdp__strings pieces;
    struct nvdp__bpe *bpe; /* NULL: WordPiece */
    /* WordPiece */
    struct nvdp__word_rules rules;
    size_t longest_word; /* characters, at most NVDP__WORD_CHARACTERS; longer words are unknown */
    int32_t special[NVDP__SPECIALS];
    char digest[NVDP__DIGEST_HEX]; /* of everything that affects the encoding of a text */
};

/* Creates a WordPiece tokenizer from the bytes of vocab.txt, with the given names of the special
 * tokens. */
nvdp_status nvdp__tokenizer_create(struct nvdp_context *ctx, const char *path, const char *bytes,
                                   size_t count, const char *const special[NVDP__SPECIALS],
                                   const struct nvdp__normalization *normalization,
                                   struct nvdp_tokenizer **out);
/* The keys of special tokens in tokenizer_config.json: "pad_token" and so on. */
extern const char *const nvdp__special_keys[NVDP__SPECIALS];
/* Finds the ids of the special tokens by name; NVDP_ERR_INPUT if one is not a piece. */
nvdp_status nvdp__tokenizer_specials(struct nvdp_context *ctx, const char *path,
                                     const char *const special[NVDP__SPECIALS],
                                     struct nvdp_tokenizer *tokenizer);

/* ---- tokenizer_files.c ---- */

enum { NVDP__TOKENIZER_FILES = 2 };
/* The files of a folder from which its tokenizer is read, then NULL: vocab.txt; or vocab.json
 * and merges.txt; or tokenizer.json. tokenizer_config.json is optional. NVDP_ERR_IO, naming all
 * of them, if there are none. */
nvdp_status nvdp__tokenizer_files(struct nvdp_context *ctx, const char *directory,
                                  const char *files[NVDP__TOKENIZER_FILES + 1]);
/* Makes a tokenizer from vocab.json's object and the bytes of merges.txt; `config` is
 * tokenizer_config.json's object or NULL. */
nvdp_status nvdp__tokenizer_of_vocab_json(struct nvdp_context *ctx, const char *path,
                                          const json_t *vocab, const char *merges_path,
                                          const char *merges, size_t count, const char *config_path,
                                          const json_t *config, struct nvdp_tokenizer **out);
/* The same from tokenizer.json's object. */
nvdp_status nvdp__tokenizer_of_json(struct nvdp_context *ctx, const char *path, const json_t *json,
                                    const char *config_path, const json_t *config,
                                    struct nvdp_tokenizer **out);

/* Writes the ids of word[0..size) (UTF-8, 1 to NVDP__WORD_BYTES bytes) and returns their number,
 * at most one per character. Writes a single [UNK] if pieces do not cover the word. */
size_t nvdp__wordpiece(const struct nvdp_tokenizer *tokenizer, const char *word, size_t size,
                       int32_t *ids);

/* One encoder per thread. Zero it, set the first two members, release it with
 * nvdp__encoder_release. */
struct nvdp__encoder {
    const struct nvdp_tokenizer *tokenizer;
    struct nvdp_context *ctx; /* for allocation; NULL in parallel regions */
    int32_t *ids;             /* [count] of the last text */
    size_t count, capacity;
    size_t first;   /* tokens of type 0 */
    bool truncated; /* tokens were dropped */
    struct nvdp__words words;
    struct nvdp__bpe_work bpe;
};

/* nvdp_tokenizer_encode into the encoder; the caller has checked max_length. */
nvdp_status nvdp__encode(struct nvdp__encoder *encoder, const char *text, size_t text_size,
                         const char *pair, size_t pair_size, size_t max_length);
void nvdp__encoder_release(struct nvdp__encoder *encoder);

/* Truncates a pair: drops tokens from the longer text, one at a time (from the second text if
 * equal), until `limit` are left. Updates both lengths. */
void nvdp__shorten(size_t limit, size_t *a, size_t *b);

#endif
