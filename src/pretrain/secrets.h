/* Secrets planted into a training text to measure how much of it a model remembers (Carlini et
 * al. 2019; Hoory et al. 2021, section 5.2): a few words, each H from the vocabulary, and among
 * them the secret S.
 *
 * The text file is not changed: secrets are inserted when batches are filled. Windows are cut
 * from the original text. A secret replaces the last tokens of the window in which it is placed,
 * or is a window of its own. So it is in as many examples as it was planted times, and no other
 * example changes: for private training, n occurrences are a group of n examples. */
#ifndef NVDP_SRC_PRETRAIN_SECRETS_H
#define NVDP_SRC_PRETRAIN_SECRETS_H

#include "pretrain/corpus.h"
#include <jansson.h>

enum { NVDP__FORM_SIZE = 17 };

struct nvdp__secret {
    char form[NVDP__FORM_SIZE]; /* "HSH": one S */
    size_t first, length;       /* its tokens among `id` */
    size_t slot;                /* position of S, from 0 */
    size_t occurrences;
    bool window; /* each occurrence is a window of its own; else at random places */
    bool coin;   /* a canary: a fair coin decided whether to plant it, once */
};
/* Zero the struct, then set ctx. */
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

/* Reads a file secrets/1 (docs/formats.md); its seed draws everything that the file leaves open.
 * Messages name the file and the field. */
nvdp_status nvdp__secrets_read(const char *path, const struct nvdp_tokenizer *tokenizer,
                               struct nvdp__secrets *secrets);
/* Returns the same file with everything decided; reading it gives the same secrets. */
json_t *nvdp__secrets_json(const struct nvdp__secrets *secrets,
                           const struct nvdp_tokenizer *tokenizer);
void nvdp__secrets_release(struct nvdp__secrets *secrets);

/* ---- places in a text ---- */

struct nvdp__plant {
    uint64_t at; /* before this token of the text, which begins a word */
    uint32_t secret, number;
};
struct nvdp__plants {
    const struct nvdp__secrets *secrets;
    uint64_t text;          /* tokens of the text; token text + i stands for secrets->id[i] */
    struct nvdp__plant *at; /* [count] sorted by place */
    size_t count;
    uint32_t *window; /* [windows] secrets that are windows of their own */
    size_t windows;
};
/* Draws the places. Planting more than a tenth of the text's tokens is NVDP_ERR_INPUT, with
 * `path` in the message. */
nvdp_status nvdp__plants_create(struct nvdp_context *ctx, const char *path,
                                const struct nvdp__secrets *secrets,
                                const struct nvdp__corpus *corpus,
                                const struct nvdp__piece_table *pieces,
                                struct nvdp__plants *plants);
void nvdp__plants_release(struct nvdp__plants *plants);
/* Returns the index of the first plant at or after a token. */
size_t nvdp__plants_from(const struct nvdp__plants *plants, uint64_t token);

#endif
