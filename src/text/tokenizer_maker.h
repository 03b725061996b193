/* Makes a tokenizer from the files of a folder, with the token ids that AutoTokenizer of transformers 5 gives. This
 * header has what the readers of the files share. tokenizer_files.c has the classes, the folder and the special
 * tokens around a text, added_tokens.c special and added tokens, tokenizer_models.c WordPiece and BPE, unigram.c
 * Unigram. */
#ifndef NVDP_SRC_TEXT_TOKENIZER_MAKER_H
#define NVDP_SRC_TEXT_TOKENIZER_MAKER_H

#include "base/json.h"
#include "text/tokenizer.h"

enum { NVDP__MAX_PIECES = 1 << 24 };

/* Special tokens, in the order in which they are added. */
enum nvdp__name {
    NVDP__BOS,
    NVDP__EOS,
    NVDP__UNK,
    NVDP__SEP,
    NVDP__PAD,
    NVDP__CLS,
    NVDP__MASK,
    NVDP__NAMES
};

struct nvdp__maker;
/* Tokenizer classes with the same rules: a row of the table in tokenizer_files.c. */
struct nvdp__class {
    const char *name;  /* the name that is written; NULL at the end of the table */
    const char *names; /* all names, each between spaces, without "Fast" at the end */
    const char *types; /* the model_types that have this class, each between spaces */
    /* the default names of special tokens; NULL if there is no default */
    const char *usual[NVDP__NAMES];
    bool backend; /* true if only tokenizer.json is used */
    bool bare;    /* true if no special tokens stand around a text */
    /* true if texts lose their unknown tokens, and are first cut by their number of characters */
    bool model2vec;
    /* true if the class applies only when a file states the class or the model_type */
    bool stated;
    bool spaces_before_mask; /* true if the mask token includes the white space before it */
    size_t separators;       /* as in struct nvdp_tokenizer */
    bool types_of_pair;
    const char *wanted; /* the vocabularies of the class, for messages */
    /* the vocabulary that is read if there is no tokenizer.json, unless `backend` */
    enum nvdp__tokenizer_file vocabulary;
    /* Makes the pieces, the model and the rules; NULL if the type of the model in tokenizer.json selects the
     * function */
    nvdp_status (*make)(struct nvdp__maker *m);
};
enum { NVDP__CLASS_BERT /* number of classes in the table */ };
extern const struct nvdp__class nvdp__classes[];

/* A tokenizer that is being made. */
struct nvdp__maker {
    struct nvdp_context *ctx;
    const struct nvdp__tokenizer_source *source;
    const struct nvdp__class *class; /* NULL if the files state no class */
    struct nvdp_tokenizer *made;
    size_t distinct; /* number of pieces of the vocabulary, including the empty piece */
    size_t listed;   /* number of added tokens that a file lists */
    /* id after the last added token that is not in the vocabulary; 0 if there is none */
    size_t last;
};

static inline const json_t *nvdp__file_root(const struct nvdp__maker *m,
                                            enum nvdp__tokenizer_file file) {
    return m->source->json[file];
}
static inline const char *nvdp__file_path(const struct nvdp__maker *m,
                                          enum nvdp__tokenizer_file file) {
    return m->source->path[file];
}
/* Returns the file with the vocabulary. */
enum nvdp__tokenizer_file nvdp__vocabulary_file(const struct nvdp__maker *m);
/* Fails because a value is not supported. */
nvdp_status nvdp__refuse(const struct nvdp__maker *m, enum nvdp__tokenizer_file file,
                         const char *key, const char *expected, const json_t *found);

/* Finds the special tokens, and adds all tokens whose names may occur in texts. `named_by_vocabulary` is a list of
 * objects, as in 'added_tokens', of special tokens that the vocabulary contains; NULL if there are none. */
nvdp_status nvdp__add_tokens(struct nvdp__maker *m, const json_t *named_by_vocabulary);

/* Finds the name of a special token, which the maker's files or class own; fails if there is none. */
nvdp_status nvdp__special_name(const struct nvdp__maker *m, enum nvdp__name which,
                               const char **out);

/* Makers of the models; each value of 'model.type' in tokenizer.json has one. */
nvdp_status nvdp__make_wordpiece(struct nvdp__maker *m);
nvdp_status nvdp__make_bpe(struct nvdp__maker *m);
nvdp_status nvdp__make_unigram(struct nvdp__maker *m);
/* Returns true if there is only vocab.txt, as BERT was published in 2018, and no file of the library transformers. */
bool nvdp__as_published(const struct nvdp__maker *m);
/* Refuses do_lower_case in sentence_bert_config.json. */
nvdp_status nvdp__refuse_lower_case(const struct nvdp__maker *m);

#endif
