/* Privatizes a task's files, or a text, token by token. These files share this header:
 *
 *     sanitizer.c            a mechanism over the words or WordPieces of a table
 *     sanitize.c             the options, the pass over the texts, the output files
 *     representations.c      vectors of tokens in place of texts (their reader: src/text/representations.c)
 *     statement.c            the description of the output: numbers, privacy.json, plain English
 *     analyse.c              distances and deniability of a table's tokens (nvdp/text_privacy.h) */
#ifndef NVDP_SRC_SANITIZE_SANITIZE_H
#define NVDP_SRC_SANITIZE_SANITIZE_H

#include "base/cache.h"
#include "dchi/dchi.h"
#include "dchi/token_options.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include <jansson.h>
#include <nvdp/dataset.h>
#include <nvdp/share.h>
#include <nvdp/text_privacy.h>

/* ---- sanitizers ---- */

/* The public texts from which the vocabulary and the sensitive tokens were chosen. */
enum { NVDP__OF_VOCABULARY, NVDP__OF_SENSITIVE, NVDP__PUBLIC_CHOICES };

struct nvdp_sanitizer {
    struct nvdp__sanitizer_options options; /* the options, without strings */
    struct nvdp_vectors *vectors;
    struct nvdp_dchi *dchi; /* NULL until V_S is chosen */
    /* [V] 1 for a sensitive token, else 0; NULL for other mechanisms, and until V_S is chosen */
    unsigned char *sensitive;
    size_t sensitives;
    uint64_t *times; /* [V] counts that determine the vocabulary or V_S; NULL if there are none */
    /* number of words of the table before vocabulary-from; number of words of V that no text can contain */
    size_t table, unmatched;
    /* true if the vocabulary consists of the words in the texts of `task` */
    bool own_words;
    bool uncounted;         /* true while the vocabulary is still the whole table */
    enum nvdp_task_id task; /* task of own_words */
    struct nvdp__public_texts public[NVDP__PUBLIC_CHOICES];
    char *path[NVDP__PUBLIC_CHOICES]; /* paths of the texts in public[] */
    /* files of sensitive-from and sensitive-list, which are read when the words are known */
    char *later[2];
    size_t equal;
    int32_t equal_pair[2];
    /* the words of a file; the row is the index of the word */
    struct nvdp__strings words;
    struct nvdp__word_rules rules;
    /* or WordPieces */
    const struct nvdp_tokenizer *tokenizer;
    struct nvdp_tokenizer *own; /* the tokenizer, if the sanitizer owns it */
    int32_t *row, *piece;       /* [pieces] and [V]: inverse maps; -1 if there is no row or piece */
};

/* Creates a sanitizer from an encoder's table in memory: pieces of the tokenizer x dim floats. The tokenizer must
 * outlive the sanitizer. Ignores options->vectors. */
nvdp_status nvdp__sanitizer_of_table(struct nvdp_context *ctx,
                                     const struct nvdp__sanitizer_options *options,
                                     const struct nvdp_tokenizer *tokenizer, size_t dim,
                                     const float *table, struct nvdp_sanitizer **out);
/* Creates a sanitizer from options->vectors or from the folder `model`. */
nvdp_status nvdp__sanitizer_create(struct nvdp_context *ctx,
                                   const struct nvdp__sanitizer_options *options, const char *model,
                                   struct nvdp_sanitizer **out);

/* Compares a private text of this row with the public texts. */
nvdp_status nvdp__sanitizer_compare(struct nvdp_sanitizer *sanitizer, struct nvdp__field text,
                                    size_t row);
/* Returns NVDP_ERR_ARGUMENT if a compared text was public. */
nvdp_status nvdp__sanitizer_check_public(const struct nvdp_sanitizer *sanitizer);
/* Tokenizes a text that was compared, or that will not be released. */
nvdp_status nvdp__sanitizer_tokenize(struct nvdp_context *ctx,
                                     const struct nvdp_sanitizer *sanitizer, const char *text,
                                     size_t size, struct nvdp_token_list *out);

/* Writes a digest that identifies the table: tokens and vectors in order. */
void nvdp__sanitizer_table_digest(const struct nvdp_sanitizer *sanitizer,
                                  char hex[NVDP__DIGEST_HEX]);
/* Writes a digest of V_S over this table; "" if the mechanism has no V_S. */
void nvdp__sanitizer_sensitive_digest(const struct nvdp_sanitizer *sanitizer,
                                      char hex[NVDP__DIGEST_HEX]);

/* Texts that are sanitized together; the memory is reused from batch to batch. The caller sets the struct to zero
 * and releases it. */
struct nvdp__text_batch {
    size_t texts, capacity;
    struct nvdp__batch_text {
        struct nvdp__field text;     /* input text */
        struct nvdp_token_list list; /* tokens of the input text */
        char *out;                   /* output text */
    } * item;                        /* [capacity] the texts of the batch */
    size_t *offset;                  /* [texts + 1] first token of each text */
    int32_t *token, *drawn;          /* [offset[texts]] tokens of the input, and of the output */
    size_t offset_capacity, token_capacity, drawn_capacity;
};
/* Adds a text, whose bytes must remain valid. */
nvdp_status nvdp__text_batch_add(struct nvdp_context *ctx, struct nvdp__text_batch *batch,
                                 struct nvdp__field text);
/* Sets the lists, offset and token of all texts, with the context's threads. */
nvdp_status nvdp__text_batch_tokenize(struct nvdp_context *ctx,
                                      const struct nvdp_sanitizer *sanitizer,
                                      struct nvdp__text_batch *batch);
/* Sets `drawn` and the output texts, with the streams of nvdp_dchi_sample() from text `first` on. */
nvdp_status nvdp__text_batch_draw(struct nvdp_context *ctx, const struct nvdp_sanitizer *sanitizer,
                                  struct nvdp__text_batch *batch, const uint64_t *seed,
                                  uint64_t first);
/* prepares the batch for the next texts */
void nvdp__text_batch_clear(struct nvdp__text_batch *batch);
void nvdp__text_batch_release(struct nvdp__text_batch *batch);

/* Chooses vocabulary and V_S by the counts and creates the mechanism. Does nothing if there is one already.
 * Choosing the vocabulary renumbers the tokens.
 * ctx: records messages
 * sanitizer: sanitizer
 * Returns NVDP_ERR_ARGUMENT if the share w leaves no sensitive token; NVDP_ERR_INPUT if no word was counted, and for
 *         invalid sensitive-from and sensitive-list as in nvdp_sanitizer_create(); NVDP_ERR_IO; NVDP_ERR_MEMORY */
nvdp_status nvdp__sanitizer_choose(struct nvdp_context *ctx, struct nvdp_sanitizer *sanitizer);

/* Returns the WordPiece id of a token.
 * sanitizer: with an encoder's table
 * token: below V
 * Returns id, or -1 if there is none */
int32_t nvdp__sanitizer_piece(const struct nvdp_sanitizer *sanitizer, int32_t token);

/* Returns the token of a WordPiece id.
 * sanitizer: with an encoder's table
 * id: id of the tokenizer
 * Returns token; NVDP_DCHI_UNKNOWN for ids that are not regular, and for all ids if tokens are words */
int32_t nvdp__sanitizer_token(const struct nvdp_sanitizer *sanitizer, int32_t id);

/* Counts a text's tokens, if V_S or the vocabulary comes from the texts.
 * sanitizer: with sensitive-from-data or vocabulary-from TASK, before nvdp__sanitizer_choose()
 * n: number of tokens
 * token: [n]; skips those that are not below V */
void nvdp__sanitizer_count_tokens(struct nvdp_sanitizer *sanitizer, size_t n, const int32_t *token);

/* ---- texts ---- */

/* The facts about privatized texts that are reported. */
struct nvdp__sanitized {
    const struct nvdp_sanitizer *sanitizer;
    struct nvdp_sanitizer_info info;
    const char *source; /* file or folder name of the vectors */
    const char *from;   /* task or file whose words are the vocabulary; NULL for the whole table */
    const char *chosen; /* santext-plus: the option that defines the sensitive tokens */
    /* santext-plus: true if the sensitive tokens were counted in the private texts */
    bool own_choice;
    /* "compared" if the public texts were compared with the private texts, "declared" if the owner declares that
     * they were chosen independently; NULL if there are no public texts. */
    const char *public;
    /* name of the file of public texts that chose the sensitive tokens; NULL if there is none */
    const char *sensitive_from;
    /* share w of the vocabulary that is sensitive; NaN if the tokens come from a list */
    double rare;
    char table[NVDP__DIGEST_HEX], sensitive[NVDP__DIGEST_HEX]; /* digests of the vectors and V_S */
    const char *generator;                                     /* "os" or "insecure-seed" */
    size_t measured; /* max number of tokens of the corpus whose deniability is measured */
    size_t draws;    /* number of draws per token */
    uint64_t seed;   /* seed of the choice of tokens */
    uint64_t *seen;  /* [V] number of occurrences of each token */
    /* `kept` is the number of tokens that are not sensitive */
    uint64_t texts, tokens, changed, unknown, kept;
    uint64_t longest; /* number of output tokens of the longest row */
    json_t *files;    /* {"train.tsv": {"privatized": [...], ...}} */
    /* set by nvdp__sanitized_measure() */
    struct nvdp_geometry geometry;
    size_t sampled;
    double same, distinct; /* N_w and S_w, means over the sample */
};

/* Counts the texts of a batch, with `columns` texts per row, and their tokens (texts, tokens, unknown, longest, seen).
 * Returns the number of rows without a word. */
size_t nvdp__sanitized_count(struct nvdp__sanitized *done, const struct nvdp__text_batch *batch,
                             size_t columns);
/* Returns part / all; 0 if `all` is 0. */
static inline double nvdp__share(uint64_t part, uint64_t all) {
    return all > 0 ? (double)part / (double)all : 0;
}
/* Returns the number of words, including omitted ones. */
uint64_t nvdp__sanitized_words(const struct nvdp__sanitized *done);
/* Sets geometry, same and distinct. */
nvdp_status nvdp__sanitized_measure(struct nvdp_context *ctx, struct nvdp__sanitized *done);
/* Returns the worst case of epsilon over all pairs of tokens: eta times the largest distance, +inf for santext-plus,
 * 0 for random. */
double nvdp__sanitized_epsilon(const struct nvdp__sanitized *done);
/* Returns the worst case of epsilon for a text with as many tokens as the longest row. */
double nvdp__sanitized_row_epsilon(const struct nvdp__sanitized *done);
/* Returns the worst case of epsilon for a word without a vector and a word with a vector; +inf if nothing is proven. */
double nvdp__sanitized_oov_epsilon(const struct nvdp__sanitized *done);
/* Writes the statement in plain English, cut to `size` bytes. */
void nvdp__sanitized_statement(const struct nvdp__sanitized *done, size_t size, char *out);
/* Returns the object of privacy.json; NULL if memory is exhausted. */
json_t *nvdp__sanitized_json(const struct nvdp__sanitized *done, const char *statement);

/* ---- text_privacy.c ---- */

/* Reads the texts of a task's split, or of a file, as tokens of a sanitizer. If V_S or the vocabulary comes from the
 * texts, first counts the texts of every split, as nvdp_sanitize() does, and chooses V_S or the vocabulary. O(bytes);
 * memory for the file. config: of kind "token-texts": task, data, text-column, text-pair-column, split (default dev);
 * or text, a file with
 *     one text per line; limit, seed
 * out: the texts; with `limit` a seeded sample in the file's order; nvdp__token_texts_free(); untouched on error
 * Returns NVDP_ERR_ARGUMENT for options out of range; NVDP_ERR_INPUT, whose message names file and line; NVDP_ERR_IO;
 *         NVDP_ERR_MEMORY */
nvdp_status nvdp__token_texts_read(struct nvdp_context *ctx, const struct nvdp_config *config,
                                   struct nvdp_sanitizer *sanitizer, struct nvdp__token_texts *out);
/* Frees the arrays and zeroes the struct. */
void nvdp__token_texts_free(struct nvdp__token_texts *texts);
/* Counts each token of texts, as the prior of an attacker. O(V + tokens).
 * counts: [V] number of occurrences of each token
 * Returns the number of tokens with a vector, the sum of the counts */
size_t nvdp__token_texts_count(const struct nvdp__token_texts *texts, size_t vocabulary,
                               double *counts);

/* Returns the JSON object of a struct nvdp_dchi_report; NULL if memory is exhausted. */
json_t *nvdp__dchi_report_pack(const void *report);

/* ---- sanitize.c ---- */

/* The source of texts: a task's folder, or a file with one text per line. */
struct nvdp__sanitize_source {
    const char *task, *data; /* instead of `text`: */
    const char *text;
    struct nvdp__columns columns;
};
extern const struct nvdp_option
    nvdp__sanitize_source_rows[]; /* rows of this struct, except label-column */
nvdp_status nvdp__sanitize_source_check(struct nvdp_context *ctx,
                                        const struct nvdp__sanitize_source *source);
/* Returns the configuration for a table in source->text: a task of the user. The text is in the column `text` unless
 * the source has another name. */
struct nvdp_dataset_config nvdp__sanitize_table(const struct nvdp__sanitize_source *source);
/* Counts the tokens of all texts that nvdp_sanitize() would privatize, in all splits. V_S is chosen from these
 * counts. */
nvdp_status nvdp__sanitize_count(struct nvdp_context *ctx,
                                 const struct nvdp__sanitize_source *source,
                                 struct nvdp_sanitizer *sanitizer);

/* ---- representations.c ---- */

enum { NVDP__SANITIZE_SPLITS = NVDP_SPLIT_TEST_MISMATCHED + 1 };

struct nvdp__represent {
    const struct nvdp_sanitizer *sanitizer;
    bool lines;                        /* true if path[0] has one text per line */
    struct nvdp_dataset_config config; /* task and columns, unless `lines` */
    /* paths of the splits; NULL for a split that does not exist */
    const char *path[NVDP__SANITIZE_SPLITS];
    const char *out;
    const uint64_t *noise; /* seed of the noise; NULL for the randomness of the operating system */
};
/* Writes the file and the statement. The caller sets done->info, source, generator and the options of measurement. */
nvdp_status nvdp__represent(struct nvdp_context *ctx, const struct nvdp__represent *of,
                            struct nvdp__sanitized *done, size_t size, char *statement);

#endif
