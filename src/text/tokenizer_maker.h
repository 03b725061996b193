/* Makes a tokenizer from the files of a folder, with the token ids that AutoTokenizer of transformers 5
 * gives: what the readers of the several files share. tokenizer_files.c has the classes, the folder and the special
 * tokens around a text, added_tokens.c special and added tokens, tokenizer_models.c WordPiece and BPE, unigram.c Unigram. */
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
    const char *name;  /* that is written; NULL: the table's end */
    const char *names; /* all, each between spaces, without "Fast" at the end */
    const char *types; /* the model_types that have it, each between spaces */
    const char
        *usual[NVDP__NAMES]; /* the names of special tokens without a statement; NULL: none */
    bool backend;            /* tokenizer.json alone counts */
    bool bare;               /* no special tokens stand around a text */
    bool model2vec; /* texts lose their unknown tokens, and are cut by their characters first */
    bool stated;    /* only if a file states the class or the model_type */
    bool spaces_before_mask; /* the mask token includes the white space before it */
    size_t separators;       /* as in struct nvdp_tokenizer */
    bool types_of_pair;
    const char *wanted; /* its vocabularies, for messages */
    enum nvdp__tokenizer_file
        vocabulary; /* that it reads if there is no tokenizer.json, unless `backend` */
    /* Makes the pieces, the model and the rules; NULL: the type of tokenizer.json's model does */
    nvdp_status (*make)(struct nvdp__maker *m);
};
enum { NVDP__CLASS_BERT /* in the table */ };
extern const struct nvdp__class nvdp__classes[];

/* A tokenizer in the making. */
struct nvdp__maker {
    struct nvdp_context *ctx;
    const struct nvdp__tokenizer_source *source;
    const struct nvdp__class *class; /* NULL: the files do not say */
    struct nvdp_tokenizer *made;
    size_t distinct; /* pieces of the vocabulary, the empty one included */
    size_t listed;   /* added tokens that a file lists */
    size_t last;     /* id after the last added token that is not in the vocabulary; 0: none */
};

static inline const json_t *nvdp__root_of(const struct nvdp__maker *m,
                                          enum nvdp__tokenizer_file file) {
    return m->source->json[file];
}
static inline const char *nvdp__path_of(const struct nvdp__maker *m,
                                        enum nvdp__tokenizer_file file) {
    return m->source->path[file];
}
/* The file with the vocabulary. */
enum nvdp__tokenizer_file nvdp__vocabulary_of(const struct nvdp__maker *m);
/* Fails because a value is not supported. */
nvdp_status nvdp__refuse(const struct nvdp__maker *m, enum nvdp__tokenizer_file file,
                         const char *key, const char *expected, const json_t *found);

/* Finds the special tokens and adds all tokens that texts may name. `named_by_vocabulary` is a list
 * of objects as in 'added_tokens', for special tokens that the vocabulary names; NULL: it names none. */
nvdp_status nvdp__add_tokens(struct nvdp__maker *m, const json_t *named_by_vocabulary);

/* The name of a special token, which the maker's files or class own; fails if it has none. */
nvdp_status nvdp__special_name(const struct nvdp__maker *m, enum nvdp__name which,
                               const char **out);

/* Makers of the models; each row of tokenizer.json's 'model.type' has one. */
nvdp_status nvdp__make_wordpiece(struct nvdp__maker *m);
nvdp_status nvdp__make_bpe(struct nvdp__maker *m);
nvdp_status nvdp__make_unigram(struct nvdp__maker *m);
/* True if vocab.txt stands alone, as BERT was published in 2018, without a file of transformers. */
bool nvdp__as_published(const struct nvdp__maker *m);
/* Refuses sentence_bert_config.json's do_lower_case. */
nvdp_status nvdp__refuse_lower_case(const struct nvdp__maker *m);

#endif
