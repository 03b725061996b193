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

/* Fails for a model that must not be used as a plain encoder; called with the path of its
 * config.json before weights are read. */
typedef nvdp_status nvdp__encoder_accept(struct nvdp_context *ctx, const char *path);
/* nvdp_encode() and nvdp_encoder_load() for the models that `accept` allows. */
nvdp_status nvdp__encode_file(struct nvdp_context *ctx, const struct nvdp_config *config,
                              nvdp__encoder_accept *accept, struct nvdp_encoding *out);
nvdp_status nvdp__encoder_create(struct nvdp_context *ctx, const struct nvdp_config *config,
                                 nvdp__encoder_accept *accept, struct nvdp_encoder **out);

/* ==== texts (encode_texts.c) ==== */

enum { NVDP__MIN_PAIR = 3 }; /* tokens of a pair with its special tokens, at least */

/* All lines as a data set without labels; `index` numbers the texts from 0. */
struct nvdp__encode_input {
    struct nvdp_dataset data;
    size_t text_capacity, id_capacity, type_capacity, index_capacity;
};

struct nvdp__encode_limits {
    const struct nvdp_bert_config *config;
    size_t max_length;     /* of texts that do not state one; at most max_position_embeddings */
    const char *directory; /* of the tokenizer, which is loaded at the first line with a text */
    const char *prompt;    /* put before each text; NULL: nothing */
    bool only_objects;     /* refuse everything but JSON lines */
    const char *text_column, *text_pair_column; /* of tables; NULL: "text", and none */
    struct nvdp__public_texts *public;          /* gets every text, too; NULL: not wanted */
};

/* Reads a whole file: a table by its name (.tsv, .csv) or first line, one text per line (nvdp__texts_format()), or one
 * JSON object per line, where blank lines are skipped. An array of objects in a file named .json is a table, and so are
 * objects if another column than "text" is named.
 *   {"text": "...", "pair": "..." or null, "max_length": 128}   pair and max_length are optional
 *   {"input_ids": [...], "token_type_ids": [...]}               types are optional, default 0
 * Other members are ignored; token ids take precedence over a text. Errors name PATH:LINE. */
nvdp_status nvdp__encode_input_read(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__encode_limits *limits,
                                    struct nvdp__encode_input *out);
void nvdp__encode_input_release(struct nvdp__encode_input *input);
/* Reads such a file as texts without labels, or a file of words with tags as its sentences (nvdp__dataset_load_tagged(),
 * without the prompt). `index` of a text is its number in the file. With `limit`, draws that many of the file's *all
 * texts by `seed`. The caller frees *out. */
nvdp_status nvdp__texts_read(struct nvdp_context *ctx, const char *path,
                             const struct nvdp__encode_limits *limits, size_t limit, uint64_t seed,
                             size_t *all, struct nvdp_dataset **out);

/* Loads the tokenizer of a model's folder, and fails if one of its pieces has no row in the table of embeddings. */
nvdp_status nvdp__encoder_tokenizer_load(struct nvdp_context *ctx, const char *directory,
                                         const struct nvdp_bert_config *config,
                                         struct nvdp_tokenizer **out);

#endif
