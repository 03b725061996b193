/* Internals of the tokenizers: encoding by WordPiece, byte-level BPE and Unigram, with memory that is reused from
 * text to text. */
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

/* One step; it never changes after its creation. */
struct nvdp__change {
    const struct nvdp__change_row *row;
    bool left, right; /* Strip: true to remove white space at this end */
    bool white_space; /* Replace: true if the pattern is a run of white space */
    /* for Replace: the pattern is a run of at least this many `pattern`; 0 if it is `pattern` itself */
    size_t least;
    char *pattern, *content; /* for Replace and Prepend */
    size_t pattern_size, content_size;
    /* for Precompiled: the table of SentencePiece, which is a double array (Aoe 1989) over the bytes of characters;
     * its values are places in `content` where a NUL-terminated string begins */
    uint32_t *unit;
    size_t units;
};
/* The steps of a normalizer. The caller sets the struct to zero, sets ctx, and releases it with
 * nvdp__normalizer_release(). */
struct nvdp__normalizer {
    struct nvdp_context *ctx;
    struct nvdp__change *change;
    size_t count, capacity;
};

/* Adds the steps of `json`, which `path` has under the key 'normalizer'; null and NULL have no steps. Fails with
 * NVDP_ERR_UNSUPPORTED for a step that is not implemented; the message has path, key and value. */
nvdp_status nvdp__normalizer_read(struct nvdp__normalizer *normalizer, const char *path,
                                  const json_t *json);
/* Adds a step that replaces bytes that are not UTF-8 by U+FFFD. */
nvdp_status nvdp__normalizer_add_decoding(struct nvdp__normalizer *normalizer);
/* Adds a step with the table bytes[0..size) of a SentencePiece file. Fails with NVDP_ERR_INPUT if the bytes are no
 * table. */
nvdp_status nvdp__normalizer_add_table(struct nvdp__normalizer *normalizer, const char *path,
                                       const void *bytes, size_t size);
/* Performs the steps on text[0..size); *out is a copy if there are no steps. `ctx` is NULL in parallel regions. */
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
 * In files, each byte is written as a character: as itself if the byte is printable in Latin-1, else as a character
 * from U+0100 on, so that "Ġ" is a space. */

/* The model; it never changes after its creation. */
struct nvdp__bpe {
    int32_t byte[NVDP__BYTE_VALUES]; /* pieces of single bytes */
    struct nvdp__strings merges;     /* pairs of ids, in order of rank */
    int32_t *merged;                 /* [merges.count] the piece that results from each merge */
};

/* Reads merges.txt: two pieces per line, separated by a space, the most frequent pair first. A first line that
 * begins with "#version" is skipped. CRLF and a missing last newline are accepted. Fails with NVDP_ERR_INPUT if a
 * line is not a pair of pieces, is a duplicate, or forms no piece; the message has `path` and the line. Also fails
 * if one of the 256 bytes is not a piece; the message then has `vocabulary`. */
nvdp_status nvdp__bpe_create(struct nvdp_context *ctx, const char *vocabulary,
                             const struct nvdp__strings *pieces, const char *path,
                             const char *bytes, size_t count, struct nvdp__bpe **out);

/* Returns the bytes of the first word of text[0..size), size > 0. */
size_t nvdp__bpe_word(const char *text, size_t size);

/* Memory that is reused from word to word. The caller sets the struct to zero, and frees the arrays with free(). */
struct nvdp__bpe_work {
    struct nvdp__bpe_symbol *symbol;
    struct nvdp__heap_item *heap;
    size_t symbol_capacity, heap_capacity;
};

/* ---- unigram.c ---- */

/* A unigram language model, as in SentencePiece (Kudo 2018). Each piece has a log probability. A word becomes the
 * sequence of pieces with the largest sum of log probabilities, found by Viterbi's algorithm. A character that is no
 * piece is unknown, and a run of unknown characters is one token.
 *
 * A text is first split into words: at white space, which is dropped; before each "▁", which stands for a space; or
 * not at all. */

/* Puts a "▁" before a text that does not begin with one: never, at the start of the input, or always. */
enum nvdp__leading { NVDP__LEADING_NEVER, NVDP__LEADING_FIRST, NVDP__LEADING_ALWAYS };
struct nvdp__unigram_rules {
    int32_t unknown;
    /* true if pieces "<0x00>" to "<0xFF>", where they exist, replace unknown characters */
    bool byte_fallback;
    bool at_white_space; /* WhitespaceSplit: true if words end at white space */
    bool marks_spaces;   /* Metaspace: true if `mark` replaces spaces */
    bool at_marks;       /* Metaspace: true if a word begins at each mark */
    enum nvdp__leading prefix;
    char mark[4]; /* UTF-8 */
    size_t mark_size;
};
struct nvdp__unigram;
/* Creates the model; takes over *score [pieces->count]. The later one of two equal pieces is used. Fails with
 * NVDP_ERR_INPUT for a score that is no number; the message has `path`. */
nvdp_status nvdp__unigram_create(struct nvdp_context *ctx, const char *path,
                                 const struct nvdp__strings *pieces, double **score,
                                 const struct nvdp__unigram_rules *rules,
                                 struct nvdp__unigram **out);
/* Memory that is reused from word to word. The caller sets the struct to zero, and frees the member with free(). */
struct nvdp__unigram_work {
    struct nvdp__unigram_node *node;
    size_t capacity;
};

/* ---- the table of models ---- */

struct nvdp__encoder;
struct nvdp__tokenizer_row {
    const char *name; /* name for messages */
    /* true if the model folds words, so that a text need not be normalized as a whole */
    bool folds;
    bool spaced_words; /* true if a word is recognized by the space before it */
    bool word_local;   /* true if the pieces of a word depend only on this word */
    /* Adds the ids of text[0..size), size > 0, which contains no added token, to the encoder's ids until there are
     * `limit` or more. */
    nvdp_status (*encode)(struct nvdp__encoder *encoder, const char *text, size_t size,
                          size_t limit);
    /* Adds the model to the digest; NULL if the members of struct nvdp_tokenizer describe the model completely. */
    void (*digest)(const struct nvdp_tokenizer *tokenizer, struct nvdp__digest *digest);
    void (*free)(void *model);
};
/* BPE reads a byte that is not UTF-8 as U+FFFD. */
extern const struct nvdp__tokenizer_row nvdp__wordpiece_row, nvdp__bpe_row, nvdp__unigram_row;

/* ---- added_tokens.c: tokens whose names may occur in texts, with the rules of the `tokenizers` library ---- */

struct nvdp__added_token {
    char *name;
    size_t size; /* bytes of the name */
    int32_t id;
    bool special;
    /* true if texts are searched after normalization, for the normalized name */
    bool normalized;
    bool single_word;               /* true if no letter, digit or mark may touch the name */
    bool left_spaces, right_spaces; /* true if the token includes the white space around the name */
};

/* The added tokens. The caller sets the struct to zero and releases it with nvdp__added_release(). */
struct nvdp__added {
    struct nvdp__added_token *token; /* [count] the tokens */
    size_t count, capacity;
    size_t normalized; /* number of tokens that are normalized */
    /* by `normalized`: true for the bytes with which names begin; and the byte, if there is only one */
    bool begins[2][NVDP__BYTE_VALUES];
    int only[2]; /* -1 if there is none, or if there are several */
};
/* Adds a token, or replaces the token with the same id; copies the name. */
nvdp_status nvdp__added_put(struct nvdp_context *ctx, struct nvdp__added *added,
                            const struct nvdp__added_token *token);
void nvdp__added_release(struct nvdp__added *added);
/* Finds the first name in text[*at..size) and sets *at and *end to the place of the name, including white space.
 * White space before `start` belongs to another token. *next is the place to search for the next name. If
 * `ordinary`, names of special tokens are ordinary text. Returns NULL if there is no name. */
const struct nvdp__added_token *nvdp__added_find(const struct nvdp__added *added, bool normalized,
                                                 bool ordinary, const char *text, size_t size,
                                                 size_t start, size_t *at, size_t *end,
                                                 size_t *next);

/* ---- the tokenizer ---- */

/* The tokenizer; it changes only until it is shared. */
struct nvdp_tokenizer {
    struct nvdp__strings pieces; /* an id that no piece has is an empty string */
    /* number of pieces of words; the pieces from this index on are added tokens */
    size_t vocabulary;
    const struct nvdp__tokenizer_row *row;
    void *model; /* the model of the row; NULL if there is none */
    /* BPE: true if a space is put before every range of text that does not begin with one */
    bool prefix_space;
    struct nvdp__normalizer normalizer; /* BPE and Unigram: the steps that change a text first */
    /* for WordPiece */
    struct nvdp__word_rules rules;
    /* max characters of a word, at most NVDP__WORD_CHARACTERS; longer words are unknown */
    size_t longest_word;
    int32_t special[NVDP__SPECIALS];
    struct nvdp__added added;
    bool names_are_text; /* true if names of special tokens in texts are ordinary text */
    bool words;          /* true if a text is a sequence of words: nvdp__tokenizer_read_words() */
    /* true if no special tokens stand around a text, and a pair is one text after the other */
    bool bare;
    int32_t dropped; /* with `bare`: the token that texts lose; -1 if there is none */
    /* with `bare`: a text is cut to this many characters per token of the max length; 0 if it is not cut */
    size_t characters;
    /* For [CLS] a [SEP], or [CLS] a, `separators` times [SEP], b [SEP]. With `bare` and `words`, 0 means that the
     * vocabulary has no [SEP]. */
    size_t separators;
    bool types; /* true if the second text has type 1 */
    /* true if vocab.txt and the usual keys of tokenizer_config.json describe the tokenizer completely */
    bool plain;
    char digest[NVDP__DIGEST_HEX]; /* digest of everything that affects the encoding of a text */
};

/* Returns true if a byte of UTF-8 begins a character. */
static inline bool nvdp__begins_character(char byte) {
    return ((unsigned char)byte & 0xC0) != 0x80;
}

/* Creates a WordPiece tokenizer, as BERT's, from the bytes of vocab.txt, with the given names of the special tokens. */
nvdp_status nvdp__tokenizer_create(struct nvdp_context *ctx, const char *path, const char *bytes,
                                   size_t count, const char *const special[NVDP__SPECIALS],
                                   const struct nvdp__normalization *normalization,
                                   struct nvdp_tokenizer **out);
/* The keys of special tokens in tokenizer_config.json: "pad_token" and so on. */
extern const char *const nvdp__special_keys[NVDP__SPECIALS];
/* Finds the ids of the special tokens by name; fails with NVDP_ERR_INPUT if a name is not a piece. */
nvdp_status nvdp__tokenizer_specials(struct nvdp_context *ctx, const char *path,
                                     const char *const special[NVDP__SPECIALS],
                                     struct nvdp_tokenizer *tokenizer);
/* Normalizes a text as a whole; this comes before the search for names of added tokens. */
nvdp_status nvdp__tokenizer_normalize(struct nvdp_context *ctx,
                                      const struct nvdp_tokenizer *tokenizer, const char *text,
                                      size_t size, struct nvdp__normalized *out);
/* Completes a tokenizer that has everything but its digest. */
void nvdp__tokenizer_finish(struct nvdp_tokenizer *tokenizer);
/* Makes the tokenizer read names of special tokens in texts as ordinary text. Code that replaces or predicts the
 * tokens of a text needs this, because such code leaves special tokens unchanged. */
void nvdp__tokenizer_read_names_as_text(struct nvdp_tokenizer *tokenizer);
/* Makes the tokenizer read a text as a sequence of words, without a cut: the pieces of each word depend only on this
 * word. There is no [CLS], no [SEP] at the end and no max length; names of special tokens are ordinary text. A pair
 * is one sequence with [SEP] as the border word. Fails with NVDP_ERR_INPUT if the pieces of a word can depend on the
 * text around the word; the message has the kind of the tokenizer. */
nvdp_status nvdp__tokenizer_read_words(struct nvdp_context *ctx, const char *directory,
                                       struct nvdp_tokenizer *tokenizer);
/* The token types of a tokenizer that reads words: the place of a token in its word. */
enum nvdp__word_mark { NVDP__WORD_BEGINS, NVDP__WORD_CONTINUES, NVDP__WORD_BORDER };
/* Returns the end of the word, or of the border, that begins at token t of a text of n tokens. */
size_t nvdp__word_end(const int32_t *mark, size_t t, size_t n);
/* Sets the marks of `n` tokens of a tokenizer that reads words. */
void nvdp__mark_words(const struct nvdp_tokenizer *tokenizer, size_t n, const int32_t *ids,
                      int32_t *mark);

/* ---- tokenizer_files.c ---- */

/* The files of a folder that determine how texts are tokenized. */
enum nvdp__tokenizer_file {
    /* tokenizer.json: the vocabulary and, with most classes, all other settings */
    NVDP__FILE_TOKENIZER,
    NVDP__FILE_VOCAB_TXT,
    NVDP__FILE_VOCAB_JSON,
    NVDP__FILE_MERGES,
    NVDP__FILE_SENTENCEPIECE,
    /* a file of SentencePiece, which takes precedence over the other one */
    NVDP__FILE_TOKENIZER_MODEL,
    NVDP__FILE_CONFIG,   /* tokenizer_config.json */
    NVDP__FILE_SPECIALS, /* special_tokens_map.json */
    NVDP__FILE_ADDED,    /* added_tokens.json */
    NVDP__FILE_SENTENCE, /* sentence_bert_config.json: do_lower_case */
    NVDP__FILE_MODEL,    /* config.json: model_type, tokenizer_class */
    NVDP__TOKENIZER_FILES
};
extern const char *const nvdp__tokenizer_file_names[NVDP__TOKENIZER_FILES];
/* Finds the files of a folder's tokenizer except config.json, then NULL; they include vocabularies that the class
 * does not read. *class is the tokenizer class if tokenizer_config.json does not state it, else NULL. Fails with
 * NVDP_ERR_IO if there is no vocabulary; the message has the files that exist and those that are missing. */
nvdp_status nvdp__tokenizer_files(struct nvdp_context *ctx, const char *directory,
                                  const char *files[NVDP__TOKENIZER_FILES + 1], const char **class);

/* The contents of the files, indexed by enum nvdp__tokenizer_file. */
struct nvdp__tokenizer_source {
    char *path[NVDP__TOKENIZER_FILES];   /* paths for messages */
    json_t *json[NVDP__TOKENIZER_FILES]; /* NULL if there is no such file, or if it is not JSON */
    /* contents of files that are not JSON; NULL if there is no such file */
    char *text[NVDP__TOKENIZER_FILES];
    size_t size[NVDP__TOKENIZER_FILES];
};
/* Makes a tokenizer from the contents of the files. */
nvdp_status nvdp__tokenizer_of_source(struct nvdp_context *ctx,
                                      const struct nvdp__tokenizer_source *source,
                                      struct nvdp_tokenizer **out);

/* Writes the ids of word[0..size) (UTF-8, 1 to NVDP__WORD_BYTES bytes) and returns the number of ids, at most one
 * per character. Writes a single [UNK] if pieces do not cover the word. */
size_t nvdp__wordpiece(const struct nvdp_tokenizer *tokenizer, const char *word, size_t size,
                       int32_t *ids);

/* An encoder of one thread. The caller sets the struct to zero, sets the first two members, and releases it with
 * nvdp__encoder_release(). */
struct nvdp__encoder {
    const struct nvdp_tokenizer *tokenizer;
    struct nvdp_context *ctx; /* for allocation; NULL in parallel regions */
    int32_t *ids;             /* [count] ids of the last text */
    size_t count, capacity;
    size_t first;        /* number of tokens of type 0 */
    bool truncated;      /* true if tokens were dropped */
    bool names_are_text; /* set by the caller: as in the tokenizer */
    struct nvdp__words words;
    struct nvdp__normalized normalized;
    struct nvdp__bpe_work bpe;
    struct nvdp__unigram_work unigram;
    bool at_start; /* true if the range to encode is at the start of the input */
    /* Copy of the range, with a space before it (BPE), or with U+2581 in place of spaces (Unigram). */
    char *spaced;
    size_t spaced_capacity;
};

/* Does what nvdp_tokenizer_encode() does, into the encoder; the caller has checked max_length. */
nvdp_status nvdp__encode(struct nvdp__encoder *encoder, const char *text, size_t text_size,
                         const char *pair, size_t pair_size, size_t max_length);
void nvdp__encoder_release(struct nvdp__encoder *encoder);

/* Truncates a pair to `limit` tokens, as the `tokenizers` library does: the longer text loses tokens until it is as
 * long as the other text; then both lose tokens. An odd token remains in the text that was longer; if the lengths
 * were equal, in the second text. Updates both lengths. */
void nvdp__shorten(size_t limit, size_t *a, size_t *b);

#endif
