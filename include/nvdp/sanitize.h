/** @file sanitize.h
 * Sanitizers: a mechanism of nvdp/dchi.h with the words that its table's rows stand for.
 *
 * The table is a file of word vectors, whose tokens are the words of a text as BERT's basic
 * tokenizer makes them (lower case, no accents, punctuation marks apart), or an encoder's word
 * embeddings, whose tokens are its WordPieces: the regular ones, all but [PAD], [UNK], [CLS], [SEP],
 * [MASK] and [unused...].
 *
 * @code{.c}
 *     struct nvdp_config *config = NULL;
 *     nvdp_sanitizer_config_create(ctx, &config);
 *     nvdp_config_set(config, "vectors", "glove.6B.300d.txt");
 *     nvdp_config_set(config, "mechanism", "santext");
 *     nvdp_config_set(config, "epsilon", "2");
 *     nvdp_sanitizer_create(ctx, config, &sanitizer);
 *     nvdp_sanitizer_tokenize(ctx, sanitizer, text, strlen(text), &tokens);
 *     nvdp_dchi_sample(ctx, nvdp_sanitizer_dchi(sanitizer), 1, (size_t[]){0, tokens.count},
 *                      tokens.token, NULL, 0, tokens.token);
 *     nvdp_sanitizer_text(ctx, sanitizer, tokens.count, tokens.token, &private_text);
 * @endcode
 *
 * Experimental: may change in any version. */
#ifndef NVDP_SANITIZE_H
#define NVDP_SANITIZE_H

#include <nvdp/dchi.h>
#include <nvdp/tokenizer.h>

NVDP_BEGIN_DECLS

/** A mechanism, its table, and the table's words; opaque. */
struct nvdp_sanitizer;

/** Tokens of a text: rows of the table.  Zero it before its first use; nvdp_token_list_free(). */
struct nvdp_token_list {
    size_t count;    /**< tokens */
    size_t unknown;  /**< words without a vector, also where they were left out */
    size_t capacity; /**< tokens for which there is memory */
    int32_t *token;  /**< [count] below V, or NVDP_DCHI_UNKNOWN */
};

/** What there is to know of a sanitizer. */
struct nvdp_sanitizer_info {
    size_t struct_size;                 /**< NVDP_RESULT() sets it */
    enum nvdp_dchi_mechanism mechanism; /**< which */
    double eta;                         /**< nats per unit of distance; unread by random */
    double p;                           /**< of santext-plus */
    size_t tokens;                      /**< V */
    size_t dim;                         /**< of a vector */
    size_t
        sensitive; /**< tokens of V_S; V where the mechanism is not santext-plus; 0 as long as they are
                           not chosen */
    size_t equal;    /**< tokens whose vector another token has too: no output tells them apart */
    int32_t equal_a; /**< two such tokens, -1 where there are none */
    int32_t equal_b; /**< the other */
    bool pieces;     /**< tokens are an encoder's WordPieces, not words */
    bool drops; /**< words without a vector are left out; else a uniform draw stands for them */
    bool
        counting; /**< V_S or the vocabulary is to come from the texts themselves: nvdp_sanitizer_count() */
    bool
        own_words; /**< the vocabulary is that of the texts themselves (vocabulary-from TASK), which is not private */
    size_t table; /**< words of the table before vocabulary-from left some out; V without it */
    size_t
        unmatched; /**< words that no text can have, as it is read in lower case, without accents and with
                           punctuation apart; they come out all the same */
};

/** The options of nvdp_sanitizer_create(): mechanism; model or vectors; vocabulary-from; eta (or epsilon); oov; of
 * santext-plus p, sensitive and one of sensitive-from, sensitive-list, sensitive-from-data.
 * @param ctx outlives the configuration
 * @param[out] out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_sanitizer_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** Reads the table and makes the mechanism.
 *
 * A file of word vectors is text, plain or packed by xz, read twice from its beginning to its end: a
 * line is a word and its n numbers, apart by blanks; the first may be `V n`.  12 V n bytes of memory,
 * and 4 V n more for an encoder's while it is read.
 *
 * V_S of santext-plus are the floor(w V) tokens with the lowest counts in the lines of
 * sensitive-from, of equals the lower row; or the words of sensitive-list.  With sensitive-from-data
 * the mechanism is made by nvdp_sanitizer_choose().
 *
 * vocabulary-from keeps those words of a file of vectors that a public text has (one text per line).  If it is the name
 * of a task, the words are those of the texts that nvdp_sanitizer_count() is given, and nvdp_sanitizer_choose() makes
 * the mechanism over them.  That vocabulary is not private.
 * @param ctx    records messages; a notice tells of equal vectors, a warning of words that no text can have
 * @param config of nvdp_sanitizer_config_create()
 * @param[out] out the sanitizer; nvdp_sanitizer_free(); untouched on error
 * @return NVDP_ERR_ARGUMENT for options out of range; NVDP_ERR_IO; NVDP_ERR_INPUT, naming file and
 *         line, for vectors of unequal length, what is no finite number, a word that is there twice, a
 *         first line that does not say what follows, a list with unknown words, a vocabulary without a
 *         regular token; NVDP_ERR_UNSUPPORTED for an encoder without WordPieces; NVDP_ERR_MEMORY */
nvdp_status nvdp_sanitizer_create(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  struct nvdp_sanitizer **out);
/** Releases a sanitizer with its table and mechanism.
 * @param sanitizer NULL is allowed */
void nvdp_sanitizer_free(struct nvdp_sanitizer *sanitizer);

/** What it is.
 * @param sanitizer sanitizer
 * @param[in,out] out filled as far as its struct_size reaches
 * @return NVDP_ERR_ARGUMENT for a struct without its size */
nvdp_status nvdp_sanitizer_describe(const struct nvdp_sanitizer *sanitizer,
                                    struct nvdp_sanitizer_info *out);
/** The table.
 * @param sanitizer sanitizer
 * @return the sanitizer's own */
const struct nvdp_vectors *nvdp_sanitizer_vectors(const struct nvdp_sanitizer *sanitizer);
/** The mechanism.
 * @param sanitizer sanitizer
 * @return the sanitizer's own; NULL before nvdp_sanitizer_choose(), where that is needed */
struct nvdp_dchi *nvdp_sanitizer_dchi(const struct nvdp_sanitizer *sanitizer);
/** Which tokens are sensitive.
 * @param sanitizer sanitizer
 * @return [V] 1 or 0, the sanitizer's own; NULL where the mechanism is not santext-plus, or they are
 *         not chosen yet */
const unsigned char *nvdp_sanitizer_sensitive(const struct nvdp_sanitizer *sanitizer);

/** A token's word or WordPiece.
 * @param sanitizer sanitizer
 * @param token     below V
 * @return text, the sanitizer's own; "[UNK]" for NVDP_DCHI_UNKNOWN; NULL for another number */
const char *nvdp_sanitizer_word(const struct nvdp_sanitizer *sanitizer, int32_t token);
/** The token of a word or WordPiece.
 * @param sanitizer sanitizer
 * @param word      UTF-8, as it stands in the file or the vocabulary
 * @return the token, or NVDP_DCHI_UNKNOWN */
int32_t nvdp_sanitizer_find(const struct nvdp_sanitizer *sanitizer, const char *word);
/** The row of a WordPiece.
 * @param sanitizer of an encoder's table
 * @param id        of the tokenizer
 * @return token, or NVDP_DCHI_UNKNOWN for what is not regular and for all ids where tokens are words */
int32_t nvdp_sanitizer_token(const struct nvdp_sanitizer *sanitizer, int32_t id);
/** The reverse.
 * @param sanitizer of an encoder's table
 * @param token     below V
 * @return id, or -1 where there is none */
int32_t nvdp_sanitizer_piece(const struct nvdp_sanitizer *sanitizer, int32_t token);

/** A text's tokens.  Words that have no vector ([UNK] of WordPieces) are NVDP_DCHI_UNKNOWN, or left out
 * where oov is drop.  Several threads may do so at once, into different lists, without a context.
 * @param ctx       records messages; NULL allowed
 * @param sanitizer sanitizer
 * @param text      UTF-8; bytes that are not are dropped
 * @param size      bytes
 * @param out       takes the place of what it held
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_sanitizer_tokenize(struct nvdp_context *ctx,
                                    const struct nvdp_sanitizer *sanitizer, const char *text,
                                    size_t size, struct nvdp_token_list *out);
/** Frees the array and zeroes the struct.
 * @param list what nvdp_sanitizer_tokenize() filled, or zeros */
void nvdp_token_list_free(struct nvdp_token_list *list);

/** The text that tokens make: words apart by blanks, a WordPiece "##x" behind what is before it.
 * Read again, such a text can have other WordPieces; those of a text's own tokens are the same.
 * @param ctx       records messages; NULL allowed
 * @param sanitizer sanitizer
 * @param n         tokens
 * @param token     [n] below V
 * @param[out] out  the text; free()
 * @return NVDP_ERR_ARGUMENT for a token that is none; NVDP_ERR_MEMORY */
nvdp_status nvdp_sanitizer_text(struct nvdp_context *ctx, const struct nvdp_sanitizer *sanitizer,
                                size_t n, const int32_t *token, char **out);

/** Counts a text's tokens, where V_S or the vocabulary is to come from the texts themselves.
 * @param sanitizer with sensitive-from-data or vocabulary-from TASK, before nvdp_sanitizer_choose()
 * @param n         tokens
 * @param token     [n]; those that are not below V are passed over */
void nvdp_sanitizer_count(struct nvdp_sanitizer *sanitizer, size_t n, const int32_t *token);
/** Chooses vocabulary and V_S by the counts and makes the mechanism; harmless where there is one already.  A vocabulary
 * that is chosen here gives the tokens other numbers.
 * @param ctx       records messages
 * @param sanitizer sanitizer
 * @return NVDP_ERR_ARGUMENT where the share w leaves no sensitive token; NVDP_ERR_INPUT where no word was counted, and
 *         what nvdp_sanitizer_create() refuses of sensitive-from and sensitive-list; NVDP_ERR_IO; NVDP_ERR_MEMORY */
nvdp_status nvdp_sanitizer_choose(struct nvdp_context *ctx, struct nvdp_sanitizer *sanitizer);

/* ---- files ---- */

/** Sizes of what nvdp_sanitize() tells. */
enum {
    NVDP_SANITIZE_EXAMPLES = 5,       /**< texts, at most */
    NVDP_SANITIZE_EXAMPLE_SIZE = 256, /**< bytes of each, its NUL included; longer ones are cut */
    NVDP_SANITIZE_STATEMENT_SIZE = 4096, /**< bytes of the statement, its NUL included */
};

/** What became of texts. */
struct nvdp_sanitize_result {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    uint64_t texts;     /**< texts; a pair is two */
    uint64_t tokens;    /**< tokens that were put out */
    double changed;     /**< share of them that are not what was there; NaN of laplace */
    double oov;         /**< share of the words that have no vector */
    size_t measured;    /**< tokens drawn from the texts of which n_w and s_w are means */
    size_t draws;       /**< of each */
    double n_w;         /**< probability of a token to come out as itself */
    double s_w;         /**< number of different tokens in so many draws */
    double
        epsilon; /**< of local differential privacy for one token, at most, of two words with vectors: eta times the
                         bound on distances; +inf of santext-plus */
    struct nvdp_geometry geometry;                /**< distances in the table */
    struct nvdp_sanitizer_info sanitizer;         /**< table and mechanism */
    char statement[NVDP_SANITIZE_STATEMENT_SIZE]; /**< what may be said, in plain English */
    size_t examples; /**< texts below.  They are private: not for files that are given away */
    char before[NVDP_SANITIZE_EXAMPLES][NVDP_SANITIZE_EXAMPLE_SIZE]; /**< as they were */
    char after[NVDP_SANITIZE_EXAMPLES][NVDP_SANITIZE_EXAMPLE_SIZE];  /**< as they came out */
    double
        oov_epsilon; /**< of a word without a vector beside one with a vector, at most; +inf: nothing is proven */
    bool insecure_seed; /**< drawn from a seed: whoever knows the seed can undo the draws */
};

/** The options of nvdp_sanitize(): task and data, or text; text-column, text-pair-column, label-column; out,
 * overwrite; mechanism, model or vectors, and the others of nvdp_sanitizer_config_create();
 * insecure-seed; measure-tokens, draws.  "seed" is for the program's analyses and refused here.
 * @param ctx outlives the configuration
 * @param[out] out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_sanitize_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** Privatizes a task's files, or a text, token by token.
 *
 * Of a task every split that is there is written again to the folder `out`, in its own columns: texts
 * privatized; columns that say a text again (named after it, as MNLI's sentence1_parse) empty; labels,
 * ids and all others as they are.  With `text`, a text a line becomes a text a line in the file `out`, or
 * in the stream.  Beside them statement.txt and privacy.json (docs/formats.md).  With
 * laplace, `out` is one file of kind representations/1 with every token's noised vector.  One pass, two with
 * sensitive-from-data or vocabulary-from TASK; memory for some thousand rows (laplace: two passes, memory for the
 * texts).  Files appear when all are complete.
 *
 * Draws are nvdp_dchi_sample()'s, from the operating system's generator.  With insecure-seed they come from that
 * seed, for tests and experiments: a warning, the statement and privacy.json say so.
 * @param ctx    progress and the wish to stop pass through its callbacks; a warning where more than half
 *               of the words have no vector
 * @param config of nvdp_sanitize_config_create()
 * @param write  takes the lines without `out`; NULL: `out` is needed
 * @param user   passed to write
 * @param[out] out what became of the texts; untouched on error; NULL: not wanted
 * @return NVDP_ERR_ARGUMENT for options out of range or that exclude each other, and an existing
 *         output without "overwrite"; NVDP_ERR_INPUT, naming file and line, for a row of another number
 *         of columns, a missing column, and what nvdp_sanitizer_create() refuses; NVDP_ERR_IO;
 *         NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_sanitize(struct nvdp_context *ctx, const struct nvdp_config *config,
                          nvdp_write_fn write, void *user, struct nvdp_sanitize_result *out);

/* ---- token representations ---- */

/** A file of kind representations/1, open for reading; opaque. */
struct nvdp_representations;

/** What such a file holds.  Arrays are the file's own, until it is closed. */
struct nvdp_representations_info {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    size_t rows;        /**< N: rows of the task, or texts */
    size_t columns;     /**< texts of a row: 1, or 2 of a task of pairs */
    size_t tokens;      /**< of all texts: regular ones alone, no [CLS], no [SEP], nothing cut */
    size_t dim;         /**< d, of a vector */
    double eta;         /**< of the noise, nats per unit of distance */
    double step;        /**< every value is a multiple of it */
    bool pieces;        /**< tokens are WordPieces, not words */
    const char *task;   /**< "sst2", ...; "none" of a text a line */
    const int64_t
        *offset; /**< [N columns + 1] text c of row i is number t = i columns + c, its tokens are
                                offset[t] to offset[t + 1]; a text may have none */
    const int64_t *id;    /**< [N] the row's number in its file, from 0, header not counted */
    const int32_t *split; /**< [N] enum nvdp_split; NULL: none */
    const float
        *label; /**< [N] class number or score, NaN where there is none; NULL: none at all */
};

/** Opens a file and reads all but the vectors, everything checked.
 * @param ctx  records messages; outlives the file
 * @param path the file
 * @param[out] out the file; nvdp_representations_close(); untouched on error
 * @return NVDP_ERR_IO; NVDP_ERR_INPUT for another kind, a missing part, shapes that do not agree, offsets
 *         that fall; NVDP_ERR_MEMORY */
nvdp_status nvdp_representations_open(struct nvdp_context *ctx, const char *path,
                                      struct nvdp_representations **out);
/** Closes it.
 * @param file NULL is allowed */
void nvdp_representations_close(struct nvdp_representations *file);
/** What it holds.
 * @param file file
 * @param[in,out] out filled as far as its struct_size reaches
 * @return NVDP_ERR_ARGUMENT for a struct without its size */
nvdp_status nvdp_representations_describe(const struct nvdp_representations *file,
                                          struct nvdp_representations_info *out);
/** Reads vectors: those of rows a to b are tokens offset[a columns] to offset[b columns].
 * @param file   file
 * @param first  token from which on
 * @param tokens how many
 * @param z      [tokens, d]
 * @return NVDP_ERR_ARGUMENT for tokens that the file does not have, NVDP_ERR_INPUT for one that is not
 *         finite, NVDP_ERR_IO */
nvdp_status nvdp_representations_read(struct nvdp_representations *file, size_t first,
                                      size_t tokens, float *z);

NVDP_END_DECLS
#endif
