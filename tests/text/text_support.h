/* Shared by the tests of src/text: a tiny vocabulary, and data sets written from literals. */
#ifndef NVDP_TESTS_TEXT_TEXT_SUPPORT_H
#define NVDP_TESTS_TEXT_TEXT_SUPPORT_H

#include "base/file.h"
#include "support.h"
#include "text/batch.h"
#include "text/dataset.h"
#include "text/normalize.h"
#include "text/plain_text.h"
#include "text/task.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"
#include <nvdp.h>
#include <nvdp/dataset.h>

/* Ids of the tiny vocabulary, in its order. */
enum tiny {
    TINY_PAD,
    TINY_UNK,
    TINY_CLS,
    TINY_SEP,
    TINY_MASK,
    TINY_THE,
    TINY_CAT,
    TINY_SAT,
    TINY_MAT,
    TINY_DOT,
    TINY_COMMA,
    TINY_UN,
    TINY_TAIL_WANT,
    TINY_TAIL_ED,
    TINY_RUN,
    TINY_TAIL_NING,
    TINY_A,
    TINY_B,
    TINY_TAIL_A,
    TINY_TAIL_B,
    TINY_CAFE,
    TINY_CAFE_ACCENT,
    TINY_CAPITAL_THE,
    TINY_MIDDLE, /* U+4E2D */
    TINY_TAIL_FINAL_SIGMA,
    TINY_TAIL_SIGMA,
    TINY_SIGMA,
    TINY_SIZE
};
extern const char tiny_vocabulary[];

/* Writes vocab.txt (NULL: the tiny one) and tokenizer_config.json (NULL: none) into a folder of
 * the scratch directory and returns its path. */
const char *text_model(const char *folder, const char *vocabulary, const char *config);
/* Returns the tokenizer with the tiny vocabulary, or that of bert-base-uncased (skips the test). */
struct nvdp_tokenizer *text_tiny(struct nvdp_context *ctx);
struct nvdp_tokenizer *text_base(struct nvdp_context *ctx);

/* Fails unless the ids of `text` between [CLS] and [SEP] are the arguments, which -1 ends. */
void text_expect(const struct nvdp_tokenizer *tokenizer, const char *text, ...);

/* Fails unless status and message are as expected. */
void text_error(const struct nvdp_context *ctx, nvdp_status got, nvdp_status want,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Returns a configuration for files in the scratch directory. */
struct nvdp_dataset_config text_config(enum nvdp_task_id task);

/* Fails unless both have the same tokens, labels, keys and sums. */
void text_same(const struct nvdp_dataset *a, const struct nvdp_dataset *b);

#endif
