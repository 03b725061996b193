/* Columns of words and their BIO tags (Tjong Kim Sang & De Meulder 2003): a word a line, its tag in
 * the last column, an empty line behind each sentence. */
#ifndef NVDP_SRC_TEXT_CONLL_H
#define NVDP_SRC_TEXT_CONLL_H

#include "text/task.h"

struct nvdp__conll_word {
    struct nvdp__field text, tag; /* tag: size 0 where the file has none */
    size_t line;
};

/* A file's sentences; zero it, read it, release it.  Fields point into the file's bytes. */
struct nvdp__conll {
    char *bytes; /* owned; NULL where the caller has them */
    struct nvdp__conll_word *word;
    size_t words, word_capacity;
    size_t *start;    /* [sentences + 1] */
    size_t *document; /* [sentences] number of the document, from 0; all 0 without -DOCSTART- */
    size_t sentences, start_capacity, document_capacity;
    bool tagged; /* lines have a last column of tags */
};

/* Columns are separated by tabs, or where a line has none by spaces; all lines have as many.  A
 * line whose first column is -DOCSTART- begins a document.  NVDP_ERR_INPUT, naming the line, for
 * another number of columns, a tag that is not O, B-TYPE or I-TYPE, a file without words. */
nvdp_status nvdp__conll_read(struct nvdp_context *ctx, const char *path, const char *bytes,
                             size_t count, struct nvdp__conll *out);
/* The same of a file. */
nvdp_status nvdp__conll_open(struct nvdp_context *ctx, const char *path, struct nvdp__conll *out);
void nvdp__conll_release(struct nvdp__conll *conll);

/* The file of a split in a folder: train, dev (or devel, valid) or test, with .tsv, .txt or .conll;
 * free().  NVDP_ERR_IO where there is none, naming all. */
nvdp_status nvdp__conll_file(struct nvdp_context *ctx, const char *directory, enum nvdp_split split,
                             char **path);

/* Reads and tokenizes: a sentence a text, the tag on a word's first piece.  What does not fit into
 * config->max_length goes on as a text of its own, so that every word has its place.
 * A text's `index` counts the words before it in the file. */
nvdp_status nvdp__conll_dataset(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                const struct nvdp_dataset_config *config, const char *path,
                                struct nvdp_dataset **out);

#endif
