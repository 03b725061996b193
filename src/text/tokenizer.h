/* Internals of the tokenizers: encoding by WordPiece, byte-level BPE and Unigram, with memory reused
 * from text to text. */
#ifndef NVDP_SRC_TEXT_TOKENIZER_H
#define NVDP_SRC_TEXT_TOKENIZER_H

#include "base/array.h"
#include "base/cache.h"
#include "text/normalize.h"
#include "text/vocabulary.h"
#include <jansson.h>

/* ---- normalizer.c ---- */

/* The `normalizer` of a tokenizer.json: steps that change a text before it is split into tokens,
 * as the `tokenizers` library performs them. */

/* Never changes after creation. */
struct nvdp__change {
    const struct nvdp__change_row *row;
    bool left, right; /* Strip */
    bool white_space; /* Replace: the pattern is a run of white space */
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

/* ---- bpe.c ---- */

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

/* Never changes after creation. */
struct nvdp__bpe {
    int32_t byte[NVDP__BYTE_VALUES]; /* pieces of single bytes */
    struct nvdp__strings merges;     /* pairs of ids, in order of rank */
    int32_t *merged;                 /* [merges.count] the resulting pieces */
};

/* Reads merges.txt: two pieces per line, separated by a space, the most frequent pair first. A
 * first line that begins with "#version" is skipped. CRLF and a missing last newline are
 * accepted. NVDP_ERR_INPUT, naming `path` and the line, if a line is not a pair of pieces, is a
 * duplicate, or forms no piece; naming `vocabulary` if one of the 256 bytes is not a piece. */
nvdp_status nvdp__bpe_create(struct nvdp_context *ctx, const char *vocabulary,
                             const struct nvdp__strings *pieces, const char *path,
                             const char *bytes, size_t count, struct nvdp__bpe **out);

/* Bytes of the first word of text[0..size), size > 0. */
size_t nvdp__bpe_word(const char *text, size_t size);

/* Memory reused from word to word. Zero it; free() its arrays. */
struct nvdp__bpe_work {
    struct nvdp__bpe_symbol *symbol;
    struct nvdp__heap_item *heap;
    size_t symbol_capacity, heap_capacity;
};

/* ---- unigram.c ---- */

/* A unigram language model, as in SentencePiece (Kudo 2018). Each piece has a log probability. A word
 * becomes the pieces with the largest sum, found by Viterbi's algorithm. A character that is no piece
 * is unknown, and a run of them is one token.
 *
 * A text becomes words first: at white space, which is dropped, or before each "▁", which stands for
 * a space, or not at all. */

/* Puts a "▁" before a text that begins without one: never, at the start of the input, or always. */
enum nvdp__leading { NVDP__LEADING_NEVER, NVDP__LEADING_FIRST, NVDP__LEADING_ALWAYS };
struct nvdp__unigram_rules {
    int32_t unknown;
    bool byte_fallback;  /* pieces "<0x00>" to "<0xFF>", if they are there, instead of unknown */
    bool at_white_space; /* WhitespaceSplit */
    bool marks_spaces;   /* Metaspace: replaces spaces by `mark` */
    bool at_marks;       /* and begins a word at each */
    enum nvdp__leading prefix;
    char mark[4]; /* UTF-8 */
    size_t mark_size;
};
struct nvdp__unigram;
/* Takes over *score [pieces->count]. The later one of two equal pieces counts. NVDP_ERR_INPUT, naming `path`, for a score
 * that is no number. */
nvdp_status nvdp__unigram_create(struct nvdp_context *ctx, const char *path,
                                 const struct nvdp__strings *pieces, double **score,
                                 const struct nvdp__unigram_rules *rules,
                                 struct nvdp__unigram **out);
/* Memory reused from word to word. Zero it; free() its member. */
struct nvdp__unigram_work {
    struct nvdp__unigram_node *node;
    size_t capacity;
};

/* ---- the table of models ---- */

struct nvdp__encoder;
struct nvdp__tokenizer_row {
    const char *name;  /* for messages */
    bool folds;        /* its words are folded, so that a text need not be normalized as a whole */
    bool spaced_words; /* recognizes a word by the space before it */
    bool word_local;   /* the pieces of a word depend on this word alone */
    /* Adds the ids of text[0..size), size > 0, which names no added token, to the encoder's until
     * there are `limit` or more. */
    nvdp_status (*encode)(struct nvdp__encoder *encoder, const char *text, size_t size,
                          size_t limit);
    /* NULL: there is nothing but the members of struct nvdp_tokenizer. */
    void (*digest)(const struct nvdp_tokenizer *tokenizer, struct nvdp__digest *digest);
    void (*free)(void *model);
};
/* BPE takes a byte that is not UTF-8 as U+FFFD. */
extern const struct nvdp__tokenizer_row nvdp__wordpiece_row, nvdp__bpe_row, nvdp__unigram_row;

/* ---- added_tokens.c: tokens that texts may name, with the rules of the `tokenizers` library ---- */

struct nvdp__added_token {
    char *name;
    size_t size; /* bytes of the name */
    int32_t id;
    bool special;
    bool normalized;                /* looked for after normalization, as a normalized name */
    bool single_word;               /* only where no letter, digit or mark touches it */
    bool left_spaces, right_spaces; /* includes the white space around it */
};

/* Zero it; release it with nvdp__added_release. */
struct nvdp__added {
    struct nvdp__added_token *token; /* [count] */
    size_t count, capacity;
    size_t normalized; /* tokens among them that are normalized */
    /* by `normalized`: the bytes with which names begin, and the byte if there is only one */
    bool begins[2][NVDP__BYTE_VALUES];
    int only[2]; /* -1: none or several */
};
/* Adds a token, or replaces the one with its id; copies the name. */
nvdp_status nvdp__added_put(struct nvdp_context *ctx, struct nvdp__added *added,
                            const struct nvdp__added_token *token);
void nvdp__added_release(struct nvdp__added *added);
/* Finds the first name in text[*at..size) and sets *at and *end to its place, including white
 * space; the white space before `start` belongs to another token. *next is where to look for the
 * next name. With `ordinary`, names of special tokens are text. NULL: there is no name. */
const struct nvdp__added_token *nvdp__added_find(const struct nvdp__added *added, bool normalized,
                                                 bool ordinary, const char *text, size_t size,
                                                 size_t start, size_t *at, size_t *end,
                                                 size_t *next);

/* ---- the tokenizer ---- */

/* Changes only until it is shared. */
struct nvdp_tokenizer {
    struct nvdp__strings pieces; /* an id that no piece has is an empty string */
    size_t vocabulary;           /* pieces of words; those from here on are added tokens */
    const struct nvdp__tokenizer_row *row;
    void *model;       /* of the row; NULL: none */
    bool prefix_space; /* BPE: a space before every range of text that begins without one */
    struct nvdp__normalizer normalizer; /* BPE and Unigram: change a text first */
    /* WordPiece */
    struct nvdp__word_rules rules;
    size_t longest_word; /* characters, at most NVDP__WORD_CHARACTERS; longer words are unknown */
    int32_t special[NVDP__SPECIALS];
    struct nvdp__added added;
    bool names_are_text; /* names of special tokens in texts are text */
    bool words;          /* a text is a sequence of words: nvdp__tokenizer_read_words */
    bool bare;       /* no special tokens stand around a text; a pair is one text after the other */
    int32_t dropped; /* `bare`: the token that texts lose; -1: none */
    size_t
        characters; /* `bare`: a text is cut to so many times its maximum number of tokens; 0: it is not */
    /* [CLS] a [SEP], or [CLS] a, `separators` times [SEP], b [SEP]. With `bare` and `words`, 0 says that the vocabulary
     * has no [SEP]. */
    size_t separators;
    bool types; /* the second text has type 1 */
    bool plain; /* vocab.txt and the usual keys of tokenizer_config.json describe it fully */
    char digest[NVDP__DIGEST_HEX]; /* of everything that affects the encoding of a text */
};

/* Returns whether a byte of UTF-8 begins a character. */
static inline bool nvdp__begins_character(char byte) {
    return ((unsigned char)byte & 0xC0) != 0x80;
}

/* Creates a WordPiece tokenizer from the bytes of vocab.txt, with the given names of the special
 * tokens, as BERT's. */
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
/* Normalizes a text as a whole, as is done before names of added tokens are looked for in it. */
nvdp_status nvdp__tokenizer_normalize(struct nvdp_context *ctx,
                                      const struct nvdp_tokenizer *tokenizer, const char *text,
                                      size_t size, struct nvdp__normalized *out);
/* Completes a tokenizer that has everything but its digest. */
void nvdp__tokenizer_finish(struct nvdp_tokenizer *tokenizer);
/* Reads names of special tokens in texts as text. Code that replaces or predicts the tokens of a
 * text needs this, since it leaves special tokens as they are. */
void nvdp__tokenizer_read_names_as_text(struct nvdp_tokenizer *tokenizer);
/* Reads a text as a sequence of words, whole: the pieces of each word depend on this word alone. No
 * [CLS], no [SEP] at the end and no maximum length; names of special tokens are text. A pair is one
 * sequence with [SEP] as the border word. NVDP_ERR_INPUT, naming the kind of the tokenizer, if the
 * pieces of a word can depend on the text around it. */
nvdp_status nvdp__tokenizer_read_words(struct nvdp_context *ctx, const char *directory,
                                       struct nvdp_tokenizer *tokenizer);
/* The token types of a tokenizer that reads words: a token's place in its word. */
enum nvdp__word_mark { NVDP__WORD_BEGINS, NVDP__WORD_CONTINUES, NVDP__WORD_BORDER };
/* Returns the end of the word, or of the border, that begins at token t of a text of n tokens. */
size_t nvdp__word_end(const int32_t *mark, size_t t, size_t n);
/* Sets the marks of `n` tokens of such a tokenizer. */
void nvdp__mark_words(const struct nvdp_tokenizer *tokenizer, size_t n, const int32_t *ids,
                      int32_t *mark);

/* ---- tokenizer_files.c ---- */

/* The files of a folder that say how texts are tokenized. */
enum nvdp__tokenizer_file {
    NVDP__FILE_TOKENIZER, /* tokenizer.json: the vocabulary, and with most classes all the rest */
    NVDP__FILE_VOCAB_TXT,
    NVDP__FILE_VOCAB_JSON,
    NVDP__FILE_MERGES,
    NVDP__FILE_SENTENCEPIECE,
    NVDP__FILE_TOKENIZER_MODEL, /* of SentencePiece, and counts before the other one */
    NVDP__FILE_CONFIG,          /* tokenizer_config.json */
    NVDP__FILE_SPECIALS,        /* special_tokens_map.json */
    NVDP__FILE_ADDED,           /* added_tokens.json */
    NVDP__FILE_SENTENCE,        /* sentence_bert_config.json: do_lower_case */
    NVDP__FILE_MODEL,           /* config.json: model_type, tokenizer_class */
    NVDP__TOKENIZER_FILES
};
extern const char *const nvdp__tokenizer_file_names[NVDP__TOKENIZER_FILES];
/* The files of a folder's tokenizer except config.json, then NULL; they include vocabularies that
 * its class does not read. *class is
 * the tokenizer class if tokenizer_config.json does not state it, otherwise NULL.
 * NVDP_ERR_IO, naming what is there and what is missing, if there is no vocabulary. */
nvdp_status nvdp__tokenizer_files(struct nvdp_context *ctx, const char *directory,
                                  const char *files[NVDP__TOKENIZER_FILES + 1], const char **class);

/* The contents of the files, by enum nvdp__tokenizer_file. */
struct nvdp__tokenizer_source {
    char *path[NVDP__TOKENIZER_FILES];   /* for messages */
    json_t *json[NVDP__TOKENIZER_FILES]; /* NULL: there is no such file, or it is no JSON */
    char *text[NVDP__TOKENIZER_FILES];   /* of files that are no JSON; NULL: there is none */
    size_t size[NVDP__TOKENIZER_FILES];
};
/* Makes a tokenizer as the files say. */
nvdp_status nvdp__tokenizer_of_source(struct nvdp_context *ctx,
                                      const struct nvdp__tokenizer_source *source,
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
    size_t first;        /* tokens of type 0 */
    bool truncated;      /* tokens were dropped */
    bool names_are_text; /* set by the caller: as in the tokenizer */
    struct nvdp__words words;
    struct nvdp__normalized normalized;
    struct nvdp__bpe_work bpe;
    struct nvdp__unigram_work unigram;
    bool at_start; /* the range to encode is at the start of the input */
    char *spaced;  /* a range of text with spaces or marks added */
    size_t spaced_capacity;
};

/* nvdp_tokenizer_encode into the encoder; the caller has checked max_length. */
nvdp_status nvdp__encode(struct nvdp__encoder *encoder, const char *text, size_t text_size,
                         const char *pair, size_t pair_size, size_t max_length);
void nvdp__encoder_release(struct nvdp__encoder *encoder);

/* Truncates a pair to `limit` tokens as the `tokenizers` library does: the longer text loses
 * tokens until it has as many as the other one, then both do. An odd token remains in the text
 * that was longer, or in the second one if both had the same length. Updates both lengths. */
void nvdp__shorten(size_t limit, size_t *a, size_t *b);

#endif
