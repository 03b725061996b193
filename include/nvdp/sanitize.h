/** @file sanitize.h
 * Sanitizers: a mechanism of nvdp/dchi.h with the words that the rows of the table stand for.
 *
 * The table is a file of word vectors or an encoder's word embeddings. The tokens of a file of word vectors are the
 * words of a text as BERT's basic tokenizer makes them: lower case, no accents, punctuation marks separate. The
 * tokens of an encoder are its regular WordPieces: all but [PAD], [UNK], [CLS], [SEP], [MASK] and [unused...].
 *
 * @code{.c}
 *     struct nvdp_config *config = NULL;
 *     nvdp_config_create(ctx, "sanitizer", &config);
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
#include <nvdp/result.h>
#include <nvdp/tokenizer.h>

NVDP_BEGIN_DECLS

/** A mechanism, its table, and the table's words; opaque. */
struct nvdp_sanitizer;

/** Tokens of a text: rows of the table. Zero the struct before the first use; nvdp_token_list_free() frees it. */
struct nvdp_token_list {
    size_t count;    /**< number of tokens */
    size_t unknown;  /**< number of words without a vector, including dropped ones */
    size_t capacity; /**< number of tokens that fit the allocated memory */
    int32_t *token;  /**< [count] below V, or NVDP_DCHI_UNKNOWN */
};

/** Description of a sanitizer. */
struct nvdp_sanitizer_info {
    size_t struct_size;                 /**< NVDP_RESULT() sets it */
    enum nvdp_dchi_mechanism mechanism; /**< the mechanism */
    double eta;                         /**< nats per unit of distance; unused by random */
    double p;                           /**< p of santext-plus */
    size_t tokens;                      /**< V, number of tokens */
    size_t dim;                         /**< length of a vector */
    /** Number of tokens of V_S; V for mechanisms other than santext-plus; 0 until they are chosen. */
    size_t sensitive;
    /** Number of tokens whose vector equals that of another token: no output distinguishes them. */
    size_t equal;
    int32_t equal_a; /**< one of two such tokens; -1 if there is none */
    int32_t equal_b; /**< the other of the two tokens */
    bool pieces;     /**< tokens are an encoder's WordPieces, not words */
    /** Words without a vector are dropped; if false, a uniformly drawn token replaces each of them. */
    bool drops;
    /** V_S or the vocabulary is derived from the texts, and is not chosen yet. */
    bool counting;
    /** The vocabulary consists of the words of the texts (vocabulary-from TASK), which is not private. */
    bool own_words;
    /** Number of words in the table before vocabulary-from selects words; equal to `tokens` without this option. */
    size_t table;
    /** Number of words that no text can contain, because texts are read in lower case, without accents and with
     * separate punctuation. They can still be outputs. */
    size_t unmatched;
};

/** Reads the table and creates the mechanism.
 *
 * A file of word vectors is text, plain or compressed by xz, and is read sequentially, twice. A line has a word and
 * its n numbers, separated by blanks; the first line may be `V n`. Memory: 12 V n bytes, and 4 V n more while an
 * encoder is read.
 *
 * V_S of santext-plus are the floor(w V) tokens with the lowest counts in the lines of sensitive-from (ties: the
 * lower row first), or the words of sensitive-list. With sensitive-from-data, the mechanism is
 * created when nvdp_sanitize() or nvdp_text_privacy() has counted the words of the texts.
 *
 * vocabulary-from keeps the words of a file of vectors that occur in a public file (one text per line). If the option
 * is the name of a task, the words of the task's texts are kept, and the mechanism is created when these words are
 * counted. A vocabulary from a task is not private.
 *
 * The texts of the files sensitive-from and vocabulary-from are compared with every text that is privatized. A private
 * text that is in one of these files is refused, because the mechanism depends on it. With public-independent, the
 * owner declares that these files were chosen independently of the private texts. Then nothing is compared, and
 * statements say so.
 *
 * Options (kind "sanitizer"): mechanism; model or vectors; vocabulary-from; eta (or epsilon);
 * oov; for santext-plus p, sensitive and one of sensitive-from, sensitive-list, sensitive-from-data;
 * public-independent.
 * @param ctx      records messages: a notice about equal vectors, a warning about words that no text can contain
 * @param config   of kind "sanitizer"
 * @param[out] out the sanitizer, freed with nvdp_sanitizer_free(); untouched on error
 * @return NVDP_ERR_ARGUMENT for options out of range; NVDP_ERR_IO; NVDP_ERR_INPUT, whose message names file and
 *         line, for vectors of unequal length, a number that is not finite, a repeated word, a first line that
 *         contradicts the rest, a list with unknown words, or a vocabulary without a regular token;
 *         NVDP_ERR_UNSUPPORTED for an encoder without WordPieces; NVDP_ERR_MEMORY */
nvdp_status nvdp_sanitizer_create(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  struct nvdp_sanitizer **out);
/** Frees a sanitizer with its table and mechanism.
 * @param sanitizer may be NULL */
void nvdp_sanitizer_free(struct nvdp_sanitizer *sanitizer);

/** Describes a sanitizer.
 * @param sanitizer sanitizer
 * @param[in,out] out filled up to its struct_size
 * @return NVDP_ERR_ARGUMENT for a struct without struct_size */
nvdp_status nvdp_sanitizer_describe(const struct nvdp_sanitizer *sanitizer,
                                    struct nvdp_sanitizer_info *out);
/** Returns the table.
 * @param sanitizer sanitizer
 * @return owned by the sanitizer */
const struct nvdp_vectors *nvdp_sanitizer_vectors(const struct nvdp_sanitizer *sanitizer);
/** Returns the mechanism.
 * @param sanitizer sanitizer
 * @return owned by the sanitizer; NULL until the words of the texts have chosen the mechanism */
struct nvdp_dchi *nvdp_sanitizer_dchi(const struct nvdp_sanitizer *sanitizer);

/** Returns a token's word or WordPiece.
 * @param sanitizer sanitizer
 * @param token     below V
 * @return text, owned by the sanitizer; "[UNK]" for NVDP_DCHI_UNKNOWN; NULL for another number */
const char *nvdp_sanitizer_word(const struct nvdp_sanitizer *sanitizer, int32_t token);
/** Finds the token of a word or WordPiece.
 * @param sanitizer sanitizer
 * @param word      UTF-8, as in the file or the vocabulary
 * @return the token, or NVDP_DCHI_UNKNOWN */
int32_t nvdp_sanitizer_find(const struct nvdp_sanitizer *sanitizer, const char *word);

/** Tokenizes a text. Words without a vector ([UNK] for WordPieces) become NVDP_DCHI_UNKNOWN, or are dropped if the
 * option oov is drop. Several threads may call this function at the same time, with different lists and without a
 * context.
 * @param ctx       records messages; may be NULL
 * @param sanitizer sanitizer
 * @param text      UTF-8; invalid bytes are dropped
 * @param size      bytes
 * @param out       the tokens, which replace the previous content
 * @return NVDP_ERR_ARGUMENT for a text that is among the public texts of sensitive-from or vocabulary-from, unless
 *         public-independent is set; the message is for the owner of the texts alone; NVDP_ERR_MEMORY */
nvdp_status nvdp_sanitizer_tokenize(struct nvdp_context *ctx,
                                    const struct nvdp_sanitizer *sanitizer, const char *text,
                                    size_t size, struct nvdp_token_list *out);
/** Frees the array and zeroes the struct.
 * @param list filled by nvdp_sanitizer_tokenize(), or zeros */
void nvdp_token_list_free(struct nvdp_token_list *list);

/** Joins tokens to a text: words separated by blanks, a WordPiece "##x" appended to the previous one. Tokenizing the
 * result can give other WordPieces, except for the tokens of an original text.
 * @param ctx       records messages; may be NULL
 * @param sanitizer sanitizer
 * @param n         number of tokens
 * @param token     [n] below V
 * @param[out] out  the text; the caller frees it with free()
 * @return NVDP_ERR_ARGUMENT for an invalid token; NVDP_ERR_MEMORY */
nvdp_status nvdp_sanitizer_text(struct nvdp_context *ctx, const struct nvdp_sanitizer *sanitizer,
                                size_t n, const int32_t *token, char **out);

/* ---- files ---- */

/** Sizes of nvdp_sanitize_result. */
enum {
    NVDP_SANITIZE_EXAMPLES = 5, /**< maximum number of example texts */
    /** Bytes per example, including its NUL; longer examples are cut. */
    NVDP_SANITIZE_EXAMPLE_SIZE = 256,
    NVDP_SANITIZE_STATEMENT_SIZE = 4096, /**< bytes of the statement, including its NUL */
};

/** Result of nvdp_sanitize(), freed with nvdp_result_free(). */
struct nvdp_sanitize_result {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    uint64_t texts;                      /**< number of texts; a pair counts as two */
    uint64_t tokens;                     /**< number of output tokens */
    double changed;  /**< share of tokens that were changed, or NaN if the output is vectors */
    double oov;      /**< share of words without a vector */
    size_t measured; /**< number of tokens drawn from the texts to measure n_w and s_w */
    size_t draws;    /**< number of draws per measured token */
    double n_w;      /**< mean probability that a token is unchanged */
    double s_w;      /**< mean number of distinct outputs of `draws` draws */
    /** Upper bound of epsilon of local differential privacy for one token, over any two words with vectors: eta
     * times the bound on distances; +inf for santext-plus. */
    double epsilon;
    struct nvdp_geometry *geometry;               /**< distances in the table */
    struct nvdp_sanitizer_info *sanitizer;        /**< table and mechanism */
    char statement[NVDP_SANITIZE_STATEMENT_SIZE]; /**< the privacy statement, in plain English */
    /** Number of example texts below. They are private: do not write them to files that are shared. */
    size_t examples;
    char before[NVDP_SANITIZE_EXAMPLES][NVDP_SANITIZE_EXAMPLE_SIZE]; /**< original texts */
    char after[NVDP_SANITIZE_EXAMPLES][NVDP_SANITIZE_EXAMPLE_SIZE];  /**< privatized texts */
    /** Upper bound of epsilon between a word without a vector and one with a vector; +inf if nothing is proven. */
    double oov_epsilon;
    bool insecure_seed; /**< draws came from a seed: whoever knows the seed can undo them */
    /** `epsilon` times the number of output tokens of the longest row: the bound for a whole row of words with
     * vectors. */
    double row_epsilon;
};

/** Privatizes a task's files, or a text, token by token.
 *
 * For a task, writes every existing split to the directory `out`, with the same columns. Texts are privatized.
 * Columns that repeat a text, whose names begin with the name of the text's column (such as MNLI's sentence1_parse),
 * become empty. Labels, ids and all other columns are copied. For `text`, writes one text per line to the file `out`,
 * or to the stream. Adds
 * statement.txt and privacy.json (docs/formats.md). For laplace, `out` is one file of kind representations/1 with
 * every token's noised vector.
 *
 * Before anything is written, every text is compared with the public texts of sensitive-from and vocabulary-from, as in
 * nvdp_sanitizer_create(). This comparison needs files that can be read twice.
 *
 * Takes one pass over the texts, and one more pass for public texts, for sensitive-from-data or vocabulary-from TASK,
 * and for laplace. Memory for some thousand rows; for laplace, memory for the texts. The files appear when all of them
 * are complete.
 *
 * nvdp_dchi_sample() draws, with the operating system's generator. With insecure-seed, the draws come from this seed,
 * for tests and experiments; a warning, the statement and privacy.json say so.
 *
 * Options (kind "sanitize"): task and data, or text; text-column, text-pair-column, label-column; out,
 * overwrite; mechanism, model or vectors, and the others of kind "sanitizer"; insecure-seed;
 * measure-tokens, draws. "seed" is for the program's analyses and is rejected here.
 * @param ctx      reports progress, can cancel; warns if more than half of the words have no vector
 * @param config   of kind "sanitize"
 * @param write    receives the lines if `out` is not set; if it is NULL, `out` is required
 * @param user     passed to write
 * @param[out] out the result; the result of an earlier call is freed; untouched on error; may be NULL
 * @return NVDP_ERR_ARGUMENT for options out of range, mutually exclusive options, an existing output without
 *         "overwrite", and a private text among the public texts; NVDP_ERR_INPUT, whose message names file and line,
 *         for a row with another number of columns, a missing column, and invalid tables as in nvdp_sanitizer_create();
 *         NVDP_ERR_IO; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_sanitize(struct nvdp_context *ctx, const struct nvdp_config *config,
                          nvdp_write_fn write, void *user, struct nvdp_sanitize_result *out);

/* ---- token representations ---- */

NVDP_END_DECLS
#endif
