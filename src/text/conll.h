/* Files in CoNLL format, words with BIO tags (Tjong Kim Sang & De Meulder 2003): one word per
 * line, its tag in the last column, an empty line after each sentence. */
#ifndef NVDP_SRC_TEXT_CONLL_H
#define NVDP_SRC_TEXT_CONLL_H

#include "text/task.h"

struct nvdp__conll_word {
    struct nvdp__field text, tag; /* tag: size 0 if the file has none */
    size_t line;
};

/* The sentences of a file; zero it, read it, release it. Fields point into the file's bytes. */
struct nvdp__conll {
    char *bytes; /* owned; NULL if the caller owns them */
    struct nvdp__conll_word *word;
    size_t words, word_capacity;
    size_t *start;    /* [sentences + 1] */
    size_t *document; /* [sentences] index of the document; all 0 without -DOCSTART- */
    size_t sentences, start_capacity, document_capacity;
    bool tagged; /* the last column of lines is a tag */
};

/* Columns are separated by tabs, or by spaces in a line without tabs; all lines have the same
 * number. A line whose first column is -DOCSTART- begins a document. NVDP_ERR_INPUT, naming the
 * line, for another number of columns, a tag other than O, B-TYPE and I-TYPE, or a file without
 * words. */
nvdp_status nvdp__conll_read(struct nvdp_context *ctx, const char *path, const char *bytes,
                             size_t count, struct nvdp__conll *out);
/* The same from a file. */
nvdp_status nvdp__conll_open(struct nvdp_context *ctx, const char *path, struct nvdp__conll *out);
void nvdp__conll_release(struct nvdp__conll *conll);

/* Finds the file of a split in a folder: train, dev (or devel, valid) or test, with extension
 * .tsv, .txt or .conll; free() it. NVDP_ERR_IO, naming all candidates, if there is none. */
nvdp_status nvdp__conll_file(struct nvdp_context *ctx, const char *directory, enum nvdp_split split,
                             char **path);

/* Reads and tokenizes: one sentence per text, with the tag on the first piece of each word. The
 * part of a sentence that exceeds config->max_length becomes another text, so that no word is
 * lost. The `index` of a text counts the words before it in the file. */
nvdp_status nvdp__conll_dataset(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                const struct nvdp_dataset_config *config, const char *path,
                                struct nvdp_dataset **out);

#endif
