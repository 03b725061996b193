/* A text as token ids, on disk and mapped into memory: corpus/1 of docs/formats.md. */
#ifndef NVDP_SRC_PRETRAIN_CORPUS_H
#define NVDP_SRC_PRETRAIN_CORPUS_H

#include "base/cache.h"
#include "text/tokenizer.h"
#include <jansson.h>

/* The properties of a vocabulary's pieces that pretraining needs. */
struct nvdp__piece_table {
    size_t count;
    int32_t cls, sep, mask;
    unsigned char *continues; /* [count] true if the piece continues a word ("##...") */
    unsigned char *special;   /* [count] true for a special token */
    int32_t *ordinary;        /* [ordinary_count] ids of all pieces except the special tokens */
    size_t ordinary_count;
};
/* Returns NVDP_ERR_UNSUPPORTED for any other tokenizer than WordPiece, because whole words are
 * recognized by "##". */
nvdp_status nvdp__wordpiece_only(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer);
nvdp_status nvdp__pieces_create(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                struct nvdp__piece_table *pieces);
void nvdp__pieces_release(struct nvdp__piece_table *pieces);

enum {
    NVDP__CORPUS_VERSION = 1,
    NVDP__CORPUS_KEY = 72 /* size of NVDP__DIGEST_HEX and NULs, a multiple of 8 */
};

/* The header of the file, little-endian as in memory. */
struct nvdp__corpus_header {
    char magic[8];    /* "NVDPTOKS" */
    uint32_t version; /* 1 */
    uint32_t id_size; /* bytes per id: 2, or 4 if the vocabulary has over 65,536 pieces */
    uint64_t pieces;  /* size of the vocabulary */
    uint64_t tokens, sentences, documents;
    /* digest of texts and vocabulary: nvdp__corpus_key() */
    char key[NVDP__CORPUS_KEY];
    unsigned char body[NVDP__DIGEST_BYTES];   /* BLAKE2b-256 of all bytes after the header */
    unsigned char header[NVDP__DIGEST_BYTES]; /* BLAKE2b-256 of the header up to here */
};

struct nvdp__corpus {
    void *map;
    size_t map_size;
    size_t tokens, sentences, documents;
    const uint64_t *sentence; /* [sentences+1] first token of each sentence */
    const uint64_t *document; /* [documents+1] first sentence of each document */
    const uint16_t *narrow;   /* [tokens] ids of 2 bytes; NULL if ids have 4 bytes */
    const uint32_t *wide;     /* [tokens] ids of 4 bytes; NULL if ids have 2 bytes */
};

static inline int32_t nvdp__corpus_id(const struct nvdp__corpus *corpus, size_t at) {
    return corpus->narrow != NULL ? (int32_t)corpus->narrow[at] : (int32_t)corpus->wide[at];
}
/* Returns the first token of a document; for index `documents`, the number of tokens. */
static inline size_t nvdp__corpus_document(const struct nvdp__corpus *corpus, size_t document) {
    return (size_t)corpus->sentence[corpus->document[document]];
}

/* Computes the key of a corpus from the files' SHA-256 digests (hex, [files]) and the
 * tokenizer's digest. */
void nvdp__corpus_key(const struct nvdp_tokenizer *tokenizer,
                      const char (*file_digest)[NVDP__DIGEST_HEX], size_t files,
                      char key[NVDP__DIGEST_HEX]);
/* Tokenizes the files (plain_text.h) into a new corpus file, which appears when it is complete.
 * Uses the context's threads; the file does not depend on their number. Fails with
 * NVDP_ERR_INPUT for texts without a token. */
nvdp_status nvdp__corpus_build(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                               const char *const *path, size_t files, const char *key,
                               const char *out);
/* Maps a corpus file after checking sizes, digests, ids and tables. Also fails with
 * NVDP_ERR_INPUT for another key (NULL: any key) or a vocabulary of another size. */
nvdp_status nvdp__corpus_open(struct nvdp_context *ctx, const char *path, const char *key,
                              size_t pieces, struct nvdp__corpus *corpus);
void nvdp__corpus_close(struct nvdp__corpus *corpus);
/* Opens DIRECTORY/corpus-KEY, which is built first if it is missing or damaged. If `directory`
 * is NULL, or cannot be written (with a notice), uses a temporary file that disappears when it
 * is closed. */
nvdp_status nvdp__corpus_cached(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                const char *const *path,
                                const char (*file_digest)[NVDP__DIGEST_HEX], size_t files,
                                const char *directory, struct nvdp__corpus *corpus);

/* ---- secrets (secrets.c) ---- */

/* Secrets planted into a training text to measure how much of it a model remembers (Carlini et
 * al. 2019; Hoory et al. 2021, section 5.2): a few words, each H from the vocabulary, and among
 * them the secret S.
 *
 * The text file is not changed: secrets are inserted when batches are filled. Windows are cut
 * from the original text. A secret replaces the last tokens of the window in which it is placed,
 * or is a separate window. A secret with n occurrences is therefore in n examples, and no other
 * example changes: for private training, the n occurrences are a group of n examples. */

enum { NVDP__FORM_SIZE = 17 };

struct nvdp__secret {
    char form[NVDP__FORM_SIZE]; /* such as "HSH", with one S */
    size_t first, length;       /* the tokens of the secret among `id` */
    size_t slot;                /* position of S, from 0 */
    size_t occurrences;
    bool window; /* true if each occurrence is a separate window; false for random places */
    bool coin;   /* true for a canary: a fair coin decided if the secret is planted, once */
};
/* The caller sets the struct to zero, then sets ctx. */
struct nvdp__secrets {
    struct nvdp_context *ctx;
    uint64_t seed;
    struct nvdp__secret *at;
    size_t count, capacity;
    int32_t *id; /* tokens of all secrets, one after another */
    size_t ids, id_capacity;
    int32_t *word; /* [words] ids of the pieces from which H and S are drawn, ascending */
    size_t words;
};

/* Reads a file secrets/1 (docs/formats.md); the seed in the file draws everything that the file
 * leaves open. Messages have the file and the field. */
nvdp_status nvdp__secrets_read(const char *path, const struct nvdp_tokenizer *tokenizer,
                               struct nvdp__secrets *secrets);
/* Returns the contents of such a file with everything decided; reading it gives the same
 * secrets. */
json_t *nvdp__secrets_json(const struct nvdp__secrets *secrets,
                           const struct nvdp_tokenizer *tokenizer);
void nvdp__secrets_release(struct nvdp__secrets *secrets);

/* ---- places in a text ---- */

struct nvdp__plant {
    uint64_t at; /* the place before this token of the text; the token begins a word */
    uint32_t secret, number;
};
struct nvdp__plants {
    const struct nvdp__secrets *secrets;
    /* number of tokens of the text; token text + i stands for secrets->id[i] */
    uint64_t text;
    struct nvdp__plant *at; /* [count] sorted by place */
    size_t count;
    uint32_t *window; /* [windows] secrets that are separate windows */
    size_t windows;
};
/* Draws the places. Fails with NVDP_ERR_INPUT if more than a tenth of the text's tokens are
 * planted; the message has `path`. */
nvdp_status nvdp__plants_create(struct nvdp_context *ctx, const char *path,
                                const struct nvdp__secrets *secrets,
                                const struct nvdp__corpus *corpus,
                                const struct nvdp__piece_table *pieces,
                                struct nvdp__plants *plants);
void nvdp__plants_release(struct nvdp__plants *plants);
/* Returns the index of the first plant at or after a token. */
size_t nvdp__plants_from(const struct nvdp__plants *plants, uint64_t token);

#endif
