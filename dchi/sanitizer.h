/* Sanitizers, internal: creation, digests, batches of texts. */
#ifndef NVDP_DCHI_SANITIZER_H
#define NVDP_DCHI_SANITIZER_H

#include "base/cache.h"
#include "dchi/dchi.h"
#include "dchi/options.h"
#include "text/public_texts.h"
#include "text/tokenizer.h"
#include <nvdp/dataset.h>

/* Creates a sanitizer from an encoder's table in memory: pieces of the tokenizer x dim floats.
 * The tokenizer must outlive it. Ignores options->vectors. */
nvdp_status nvdp__sanitizer_of_table(struct nvdp_context *ctx,
                                     const struct nvdp__sanitizer_options *options,
                                     const struct nvdp_tokenizer *tokenizer, size_t dim,
                                     const float *table, struct nvdp_sanitizer **out);
/* Creates a sanitizer from options->vectors or from the folder `model`. */
nvdp_status nvdp__sanitizer_create(struct nvdp_context *ctx,
                                   const struct nvdp__sanitizer_options *options, const char *model,
                                   struct nvdp_sanitizer **out);

/* True if the vocabulary is that of the texts of `*task`. */
bool nvdp__sanitizer_own_words(const struct nvdp_sanitizer *sanitizer, enum nvdp_task_id *task);

/* The public texts from which the vocabulary and the sensitive tokens were chosen. */
enum { NVDP__OF_VOCABULARY, NVDP__OF_SENSITIVE, NVDP__PUBLIC_CHOICES };
/* Returns whether private texts must be compared with public ones: a file vocabulary-from or sensitive-from was given, and
 * the owner does not declare that it was chosen independently of the private texts. */
bool nvdp__sanitizer_compares(const struct nvdp_sanitizer *sanitizer);
/* Compares a private text of this row. */
nvdp_status nvdp__sanitizer_compare(struct nvdp_sanitizer *sanitizer, struct nvdp__field text,
                                    size_t row);
/* Returns the public texts of this choice; NULL: there are none to compare with. */
struct nvdp__public_texts *nvdp__sanitizer_public(struct nvdp_sanitizer *sanitizer, size_t of);
/* Returns whether a compared text was among the public texts of this choice. */
bool nvdp__sanitizer_found(const struct nvdp_sanitizer *sanitizer, size_t of);
/* Returns NVDP_ERR_ARGUMENT if a compared text was public. */
nvdp_status nvdp__sanitizer_check_public(const struct nvdp_sanitizer *sanitizer);
/* Tokenizes a text that was compared, or that is not released. */
nvdp_status nvdp__sanitizer_tokenize(struct nvdp_context *ctx,
                                     const struct nvdp_sanitizer *sanitizer, const char *text,
                                     size_t size, struct nvdp_token_list *out);

/* A digest that identifies the table: tokens and vectors in order. */
void nvdp__sanitizer_table_digest(const struct nvdp_sanitizer *sanitizer,
                                  char hex[NVDP__DIGEST_HEX]);
/* A digest of V_S over this table; "" if the mechanism has none. */
void nvdp__sanitizer_sensitive_digest(const struct nvdp_sanitizer *sanitizer,
                                      char hex[NVDP__DIGEST_HEX]);

/* Texts that are sanitized together; memory is reused from batch to batch. Zero it, release it. */
struct nvdp__text_batch {
    size_t texts, capacity;
    struct nvdp__field *text;     /* [texts] in */
    struct nvdp_token_list *list; /* [capacity] their tokens */
    size_t *offset;               /* [texts + 1] */
    int32_t *token, *drawn;       /* [offset[texts]] input and output tokens */
    char **out;                   /* [capacity] texts out */
    size_t offset_capacity, text_capacity, out_capacity, token_capacity, drawn_capacity;
};
/* Adds a text, whose bytes must remain valid. */
nvdp_status nvdp__text_batch_add(struct nvdp_context *ctx, struct nvdp__text_batch *batch,
                                 struct nvdp__field text);
/* Sets list, offset and token of all texts, using the context's threads. */
nvdp_status nvdp__text_batch_tokenize(struct nvdp_context *ctx,
                                      const struct nvdp_sanitizer *sanitizer,
                                      struct nvdp__text_batch *batch);
/* Sets drawn and out, with the streams of nvdp_dchi_sample() from text `first` on. */
nvdp_status nvdp__text_batch_draw(struct nvdp_context *ctx, const struct nvdp_sanitizer *sanitizer,
                                  struct nvdp__text_batch *batch, const uint64_t *seed,
                                  uint64_t first);
void nvdp__text_batch_clear(struct nvdp__text_batch *batch); /* for the next texts */
void nvdp__text_batch_release(struct nvdp__text_batch *batch);

#endif
