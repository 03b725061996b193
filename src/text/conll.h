/* Files in CoNLL format, words with tags (Tjong Kim Sang & De Meulder 2003): one word per line, its
 * tag in the last column, an empty line after each sentence. BIO, IOB1, IOBES (BMES) and BILOU are told apart by the
 * whole file and read as BIO. */
#ifndef NVDP_SRC_TEXT_CONLL_H
#define NVDP_SRC_TEXT_CONLL_H

#include "text/task.h"

struct nvdp__conll_word {
    struct nvdp__field text, tag; /* tag as in the file: size 0 if it has none */
    struct nvdp__field type;      /* of the entity; size 0 outside */
    char kind;                    /* of the tag in BIO: 'B', 'I' or 'O' */
    size_t line;
};

/* Describes the tags of a file. */
struct nvdp__tag_scheme {
    size_t first[256];  /* line of the first tag with this letter; 0: none */
    size_t typed, bare; /* lines of the first tags with and without a type */
    size_t entities;
    size_t inner_starts; /* entities whose first tag is not one that begins an entity */
    size_t odd_starts;   /* B where IOB1 writes I */
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
    struct nvdp__tag_scheme scheme;
};

/* Columns are separated by tabs, or by spaces in a line without tabs; all lines have the same
 * number. A line whose first column is -DOCSTART- begins a document. NVDP_ERR_INPUT, naming the
 * line, for another number of columns, a tag of no scheme, tags of two schemes, or a file without words. An I after
 * another type or after nothing begins an entity, as in conlleval. */
nvdp_status nvdp__conll_read(struct nvdp_context *ctx, const char *path, const char *bytes,
                             size_t count, struct nvdp__conll *out);
/* The same from a file. */
nvdp_status nvdp__conll_open(struct nvdp_context *ctx, const char *path, struct nvdp__conll *out);
/* Writes the words of a sentence into *text, each followed by a space. Zero *text and *capacity at first; free(*text). */
nvdp_status nvdp__conll_sentence(struct nvdp_context *ctx, const struct nvdp__conll *conll,
                                 size_t sentence, char **text, size_t *capacity, size_t *size);
/* Returns true for a name that ends in .conll, or if the first lines of a regular file that are not empty have two
 * columns, a word and a tag O, B-TYPE or I-TYPE. */
bool nvdp__conll_recognize(struct nvdp_context *ctx, const char *path);
/* The next step if such a file is found where texts are expected. */
#define NVDP__CONLL_HINT "write each sentence in one line, without tags"
void nvdp__conll_release(struct nvdp__conll *conll);

/* Finds the file of a split in a folder: train, dev (or devel, valid) or test, with extension
 * .tsv, .txt or .conll; free() it. NVDP_ERR_IO, naming all candidates, if there is none. */
nvdp_status nvdp__conll_file(struct nvdp_context *ctx, const char *directory, enum nvdp_split split,
                             char **path);

/* Reads and tokenizes: one sentence per text, with the tag on the first piece of each word. The
 * part of a sentence that exceeds config->max_length becomes another text, so that no word is
 * lost. Types that config->labels_from lacks get classes beyond task.classes, which no model predicts. The `index` of a text counts the words before it in the file. */
nvdp_status nvdp__conll_dataset(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                const struct nvdp_dataset_config *config, const char *path,
                                struct nvdp_dataset **out);

#endif
