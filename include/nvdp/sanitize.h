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
 */
#ifndef NVDP_SANITIZE_H
#define NVDP_SANITIZE_H

#include <nvdp/dchi.h>
#include <nvdp/tokenizer.h>

NVDP_BEGIN_DECLS

/** A mechanism, its table, and the table's words; opaque. */
struct nvdp_sanitizer;

/** Tokens of a text: rows of the table.  Zero it before its first use; nvdp_token_list_release(). */
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
    bool drops;    /**< words without a vector are left out; else a uniform draw stands for them */
    bool counting; /**< V_S is to come from the texts themselves: nvdp_sanitizer_count() */
};

/** The options of nvdp_sanitizer_create(): mechanism; model or vectors; eta (or epsilon); oov; of
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
 * @param ctx    records messages; notices tell of equal vectors
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
void nvdp_token_list_release(struct nvdp_token_list *list);

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

/** Counts a text's tokens, where V_S is to come from the texts themselves.
 * @param sanitizer with sensitive-from-data, before nvdp_sanitizer_choose()
 * @param n         tokens
 * @param token     [n]; those that are not below V are passed over */
void nvdp_sanitizer_count(struct nvdp_sanitizer *sanitizer, size_t n, const int32_t *token);
/** Chooses V_S by the counts and makes the mechanism; harmless where there is one already.
 * @param ctx       records messages
 * @param sanitizer sanitizer
 * @return NVDP_ERR_ARGUMENT where the share w leaves no sensitive token; NVDP_ERR_MEMORY */
nvdp_status nvdp_sanitizer_choose(struct nvdp_context *ctx, struct nvdp_sanitizer *sanitizer);

NVDP_END_DECLS
#endif
