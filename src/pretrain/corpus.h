/* A text as token ids, on disk and mapped into memory: corpus/1 of docs/formats.md. */
#ifndef NVDP_SRC_PRETRAIN_CORPUS_H
#define NVDP_SRC_PRETRAIN_CORPUS_H

#include "text/tokenizer.h"

enum { NVDP__DIGEST = 32, NVDP__HEX = 2 * NVDP__DIGEST + 1 };

/* The file's first bytes, little-endian as they are in memory. */
struct nvdp__corpus_header {
    char magic[8];    /* "NVDPTOKS" */
    uint32_t version; /* 1 */
    uint32_t id_size; /* bytes of an id: 2, or 4 where the vocabulary has over 65,536 pieces */
    uint64_t pieces;  /* of the vocabulary */
    uint64_t tokens, sentences, documents;
    unsigned char key[NVDP__DIGEST];    /* of the texts and the vocabulary: nvdp__corpus_key */
    unsigned char body[NVDP__DIGEST];   /* BLAKE2b-256 of all bytes behind the header */
    unsigned char header[NVDP__DIGEST]; /* BLAKE2b-256 of the header up to here */
};

struct nvdp__corpus {
    void *map;
    size_t map_size;
    size_t tokens, sentences, documents;
    const uint64_t *sentence; /* [sentences+1] first tokens */
    const uint64_t *document; /* [documents+1] first sentences */
    const uint16_t *narrow;   /* [tokens] ids, or */
    const uint32_t *wide;     /* [tokens] */
};

static inline int32_t nvdp__corpus_id(const struct nvdp__corpus *corpus, size_t at) {
    return corpus->narrow != NULL ? (int32_t)corpus->narrow[at] : (int32_t)corpus->wide[at];
}
/* The first token of a document; of `documents`, the end. */
static inline size_t nvdp__corpus_document(const struct nvdp__corpus *corpus, size_t document) {
    return (size_t)corpus->sentence[corpus->document[document]];
}

/* SHA-256 over the files' SHA-256 digests (hex, [files]) and the tokenizer's pieces and rules. */
void nvdp__corpus_key(const struct nvdp_tokenizer *tokenizer, const char (*file_digest)[NVDP__HEX],
                      size_t files, unsigned char key[NVDP__DIGEST]);
/* Tokenises the files (plain_text.h) into a new corpus file; atomic.  On the context's threads; the
 * file does not depend on their number.  Texts of no token are NVDP_ERR_INPUT. */
nvdp_status nvdp__corpus_build(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                               const char *const *path, size_t files,
                               const unsigned char key[NVDP__DIGEST], const char *out);
/* Maps a corpus file, after checking sizes, digests, ids and tables.  Another key (NULL: any), or a
 * vocabulary of another size, is NVDP_ERR_INPUT too. */
nvdp_status nvdp__corpus_open(struct nvdp_context *ctx, const char *path, const unsigned char *key,
                              size_t pieces, struct nvdp__corpus *corpus);
void nvdp__corpus_close(struct nvdp__corpus *corpus);
/* Opens DIRECTORY/corpus-KEY.tokens, which is built first where it is missing or damaged.
 * `directory` NULL: a temporary file that is gone once it is closed. */
nvdp_status nvdp__corpus_cached(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                const char *const *path, const char (*file_digest)[NVDP__HEX],
                                size_t files, const char *directory, struct nvdp__corpus *corpus);

#endif
