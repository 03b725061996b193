/* Counts how often texts repeat.  Two texts are equal if their tokens are, as a ledger recognizes texts. */
#ifndef NVDP_SRC_TEXT_REPEATS_H
#define NVDP_SRC_TEXT_REPEATS_H

#include "base/base.h"
#include <nvdp/dataset.h>

enum { NVDP__TEXT_DIGEST = 16, NVDP__TEXT_KEY = 32, NVDP__REPEATS_TEXT = 192 };

/* Computes a keyed digest of a text's `n` tokens. */
void nvdp__text_digest(const unsigned char key[NVDP__TEXT_KEY], size_t n, const int32_t *ids,
                       const int32_t *types, unsigned char digest[NVDP__TEXT_DIGEST]);

struct nvdp__repeats {
    size_t most;                   /* number of rows of the text that stands most often */
    char text[NVDP__REPEATS_TEXT]; /* "3 texts stand twice, 1 stands 6 times"; "" if none repeats */
};

/* Counts the rows of each text in all parts together.  Takes linear time. */
nvdp_status nvdp__repeats_count(struct nvdp_context *ctx, size_t parts,
                                const struct nvdp_dataset *const *part, struct nvdp__repeats *out);

/* Returns true if `drawn` further samples of a text keep within the `promise` of its run.  A text without earlier
 * samples may have as many as a row gets, `samples`, which the caller chose, even beyond the promise. */
static inline bool nvdp__keeps_promise(uint64_t before, uint64_t drawn, uint64_t samples,
                                       uint64_t promise) {
    return before + drawn <= (before > 0 ? promise : nvdp__max(promise, samples));
}

#endif
