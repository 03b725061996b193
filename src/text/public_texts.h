/* Decides whether public texts and private texts have a text in common. A release computes numbers without noise from
 * public texts: a center, directions, a vocabulary, sensitive tokens. One private text among them can be recomputed from
 * these numbers, and no guarantee of the release covers that.
 *
 * Two texts are the same
 *
 *     if they have the same words, compared as NFKC, in lower case and without accents, whatever space and
 *     punctuation separates them;
 *     if a model reads the same tokens, which are cut to its maximum length; special tokens do not count;
 *     if a model reads the same tokens of these words.
 *
 * The texts of a pair are compared by themselves. Texts without words are compared only if a model reads them.
 * Time and memory are linear in the sizes of the texts. */
#ifndef NVDP_SRC_TEXT_PUBLIC_TEXTS_H
#define NVDP_SRC_TEXT_PUBLIC_TEXTS_H

#include "text/tokenizer.h"

/* Zero it, set the first four members, add the public texts, compare the private texts, check; release it. */
struct nvdp__public_texts {
    struct nvdp_context *ctx;
    const struct nvdp_tokenizer
        *tokenizer;    /* of the model that reads the texts; NULL: no model reads them */
    size_t max_length; /* of a text for this model, in tokens */
    const char *path;  /* of the public texts, for the message; must outlive the struct */
    struct nvdp__strings keys;
    size_t compared, found,
        first_row; /* private texts; those that are public; row of the first of these, from 0 */
};

/* Add a public text of which the model reads `max_length` tokens, or token ids. */
nvdp_status nvdp__public_texts_add(struct nvdp__public_texts *public, const char *text, size_t size,
                                   size_t max_length);
nvdp_status nvdp__public_texts_add_ids(struct nvdp__public_texts *public, size_t n,
                                       const int32_t *ids);
/* Adds each line of a file, and each cell of a line with tabs; of a table with quotes or objects (.csv, .json), each cell.
 * Fails for a pipe, which may have been read before. */
nvdp_status nvdp__public_texts_add_file(struct nvdp__public_texts *public, const char *path);

/* Sets *found to whether a private text is among the public ones. Several threads may call it at the same time. */
nvdp_status nvdp__public_texts_have(const struct nvdp__public_texts *public,
                                    struct nvdp_context *ctx, const char *text, size_t size,
                                    bool *found);
/* Counts a private text of this row. */
nvdp_status nvdp__public_texts_compare(struct nvdp__public_texts *public, const char *text,
                                       size_t size, size_t row);
/* Returns NVDP_ERR_ARGUMENT if a private text was among the public ones. `what` names the public texts, such as
 * "{center}". The message is for the owner of the texts alone. */
nvdp_status nvdp__public_texts_check(const struct nvdp__public_texts *public, const char *what);
void nvdp__public_texts_release(struct nvdp__public_texts *public);

#endif
