/* Hidden states of texts from a plain encoder, in a file or in memory, and the files with texts or token ids. */
#ifndef NVDP_SRC_BERT_ENCODE_H
#define NVDP_SRC_BERT_ENCODE_H

#include "base/base.h"
#include "text/dataset.h"
#include <nvdp/bert.h>
#include <nvdp/dataset.h>
#include <nvdp/encoder.h>
#include <nvdp/evaluate.h>
#include <nvdp/tokenizer.h>

/* Fails for a model that must not be used as a plain encoder. Called with the path of the model's config.json before
 * weights are read. */
typedef nvdp_status nvdp__encoder_accept(struct nvdp_context *ctx, const char *path);
/* Do what nvdp_encode() and nvdp_encoder_load() do, for the models that `accept` allows. */
nvdp_status nvdp__encode_file(struct nvdp_context *ctx, const struct nvdp_config *config,
                              nvdp__encoder_accept *accept, struct nvdp_encoding *out);
nvdp_status nvdp__encoder_create(struct nvdp_context *ctx, const struct nvdp_config *config,
                                 nvdp__encoder_accept *accept, struct nvdp_encoder **out);

/* ==== texts (encode_texts.c) ==== */

enum { NVDP__MIN_PAIR = 3 }; /* min number of tokens of a pair, with special tokens */

/* All lines as a data set without labels; `index` numbers the texts from 0. */
struct nvdp__encode_input {
    struct nvdp_dataset data;
    size_t text_capacity, id_capacity, type_capacity, index_capacity;
};

struct nvdp__encode_limits {
    const struct nvdp_bert_config *config;
    /* max length of texts that state none; at most max_position_embeddings */
    size_t max_length;
    /* directory of the tokenizer, which is loaded at the first line with a text */
    const char *directory;
    const char *prompt; /* put before each text; NULL if there is no prompt */
    bool only_objects;  /* true to refuse everything but JSON lines */
    const char *text_column, *text_pair_column; /* columns of tables; NULL: "text", and no pair */
    struct nvdp__public_texts *public;          /* also receives every text; NULL if not wanted */
};

/* Reads a whole file: a table by its name (.tsv, .csv) or first line, one text per line (nvdp__texts_format()), or one
 * JSON object per line, where blank lines are skipped. An array of objects in a file named .json is a table. Objects
 * are a table, too, if the caller names another column than "text".
 *   {"text": "...", "pair": "..." or null, "max_length": 128}   pair and max_length are optional
 *   {"input_ids": [...], "token_type_ids": [...]}               types are optional, default 0
 * Other members are ignored; token ids take precedence over a text. Errors name PATH:LINE. */
nvdp_status nvdp__encode_input_read(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__encode_limits *limits,
                                    struct nvdp__encode_input *out);
void nvdp__encode_input_release(struct nvdp__encode_input *input);
/* Reads a file of nvdp__encode_input_read() as texts without labels, or a file of words with tags as sentences
 * (nvdp__dataset_load_tagged(), without the prompt). `index` of a text is the text's number in the file. If `limit`
 * is not 0, draws this number of texts from the file's *all texts by `seed`. The caller frees *out. */
nvdp_status nvdp__texts_read(struct nvdp_context *ctx, const char *path,
                             const struct nvdp__encode_limits *limits, size_t limit, uint64_t seed,
                             size_t *all, struct nvdp_dataset **out);

/* Loads the tokenizer of a model's folder, and fails if one of its pieces has no row in the table of embeddings. */
nvdp_status nvdp__encoder_tokenizer_load(struct nvdp_context *ctx, const char *directory,
                                         const struct nvdp_bert_config *config,
                                         struct nvdp_tokenizer **out);

#endif
