/* Secrets planted into a training text to see what a model remembers of it (Carlini et al. 2019; Hoory
 * et al. 2021, section 5.2): a few words, H drawn from the vocabulary and among them the secret S.
 *
 * Secrets are never written into the text: batches show them where they are planted.  Windows are cut
 * from the text as it is, and a secret takes the place of the last tokens of the window that it falls
 * into, or is a window of its own.  So it is in as many examples as it was planted times, and in no
 * other example anything changes: to private training n times are a group of n. */
#ifndef NVDP_SRC_PRETRAIN_SECRETS_H
#define NVDP_SRC_PRETRAIN_SECRETS_H

#include "pretrain/corpus.h"
#include <jansson.h>

enum { NVDP__FORM_SIZE = 17 };

struct nvdp__secret {
    char form[NVDP__FORM_SIZE]; /* "HSH": one S */
    size_t first, length;       /* its tokens among `id` */
    size_t slot;                /* of S, from 0 */
    size_t occurrences;
    bool window; /* each a window of its own; else at random places of the text */
    bool coin;   /* a canary: whether it was planted, once, was decided by a fair coin */
};
/* Zero it, set ctx. */
struct nvdp__secrets {
    struct nvdp_context *ctx;
    uint64_t seed;
    struct nvdp__secret *at;
    size_t count, capacity;
    int32_t *id; /* tokens of all, end to end */
    size_t ids, id_capacity;
    int32_t *word; /* [words] the pieces that H and S are drawn from, in rising order */
    size_t words;
};

/* A file secrets/1 (docs/formats.md); what it does not decide is drawn by its seed.  Messages name the
 * file and the field. */
nvdp_status nvdp__secrets_read(const char *path, const struct nvdp_tokenizer *tokenizer,
                               struct nvdp__secrets *secrets);
/* The same with everything decided: a file that is read back as the same secrets. */
json_t *nvdp__secrets_json(const struct nvdp__secrets *secrets,
                           const struct nvdp_tokenizer *tokenizer);
void nvdp__secrets_release(struct nvdp__secrets *secrets);

/* ---- where they are in a text ---- */

struct nvdp__plant {
    uint64_t at; /* before this token of the text, which begins a word */
    uint32_t secret, number;
};
struct nvdp__plants {
    const struct nvdp__secrets *secrets;
    uint64_t text;          /* tokens of the text; token text + i stands for secrets->id[i] */
    struct nvdp__plant *at; /* [count] by place */
    size_t count;
    uint32_t *window; /* [windows] secrets, each a window of its own */
    size_t windows;
};
/* Draws the places.  More than a tenth of the text's tokens is NVDP_ERR_INPUT, `path` in the message. */
nvdp_status nvdp__plants_create(struct nvdp_context *ctx, const char *path,
                                const struct nvdp__secrets *secrets,
                                const struct nvdp__corpus *corpus,
                                const struct nvdp__piece_table *pieces,
                                struct nvdp__plants *plants);
void nvdp__plants_release(struct nvdp__plants *plants);
/* The first plant at a token or behind it. */
size_t nvdp__plants_from(const struct nvdp__plants *plants, uint64_t token);

#endif
