/* Reads any bytes as a text, plain or xz, and trains a vocabulary on it. The tokenizer must read
 * the vocabulary, and no word of the text may be unknown. */
#include "text/plain_text.h"
#include "fuzz.h"

/* With a complete alphabet no word of the text may be unknown. */
static void check_cover(const struct nvdp_tokenizer *tokenizer,
                        const struct nvdp__word_counts *counts) {
    int32_t ids[NVDP__WORD_CHARACTERS];
    for (size_t w = 0; w < counts->words.count; w++) {
        const struct nvdp__field word = nvdp__string(&counts->words, w);
        int32_t unknown = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_UNK);
        size_t pieces = nvdp__wordpiece(tokenizer, word.text, word.size, ids);
        if (pieces == 0 || ids[0] == unknown) abort();
    }
}

static void train(struct nvdp_context *ctx, const struct nvdp__normalization *rules,
                  const char *path) {
    struct nvdp__word_rules word_rules = nvdp__word_rules(rules);
    struct nvdp__word_counts counts = {.ctx = ctx};
    const struct nvdp__vocabulary_options options = {1 << 16, 1 << 16, 2};
    struct nvdp_tokenizer *tokenizer = NULL;
    char *text = NULL;
    size_t pieces = 0;
    nvdp_status status = nvdp__word_counts_read(&counts, &word_rules, &path, 1, 0);
    if (status == NVDP_OK) {
        if (nvdp__vocabulary_train(ctx, &counts, &options, &text, &pieces) != NVDP_OK ||
            nvdp__tokenizer_create(ctx, path, text, strlen(text), nvdp__special_names, rules,
                                   &tokenizer) != NVDP_OK)
            abort();
        check_cover(tokenizer, &counts);
    } else {
        fuzz_refused(ctx, status);
    }
    nvdp_tokenizer_free(tokenizer);
    free(text);
    nvdp__word_counts_release(&counts);
}

nvdp_status fuzz_use(struct fuzz_input in) {
    for (int cased = 0; cased < 2; cased++) {
        const struct nvdp__normalization rules = {!cased, !cased, true, false};
        train(in.ctx, &rules, in.path);
    }
    return NVDP_OK;
}
