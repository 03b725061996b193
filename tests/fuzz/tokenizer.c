/* Vocabularies and texts from bytes: the input is options (one byte), vocabulary lines up to an
 * empty line, then a text and, after a tab, its pair. */
#include "text/tokenizer.h"
#include "fuzz.h"

enum { LOWER_CASE = 1, STRIP_ACCENTS = 2, CHINESE = 4, HAS_PAIR = 8, LENGTH_SHIFT = 4 };

/* Checks the properties on which a caller may rely for any input. */
static void check(const struct nvdp_tokenizer *tokenizer, const struct nvdp_tokens *tokens,
                  size_t max_length) {
    if (tokens->count < 2 || tokens->count > max_length) abort();
    for (size_t i = 0; i < tokens->count; i++) {
        if (nvdp_tokenizer_piece(tokenizer, tokens->ids[i]) == NULL) abort();
        if (tokens->types[i] != 0 && tokens->types[i] != 1) abort();
    }
    if (tokens->ids[0] != nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_CLS)) abort();
    if (tokens->ids[tokens->count - 1] != nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP))
        abort();
}

static void encode(const struct nvdp_tokenizer *tokenizer, unsigned options, const char *text,
                   size_t size) {
    const char *tab = (options & HAS_PAIR) != 0 ? memchr(text, '\t', size) : NULL;
    const char *pair = tab != NULL ? tab + 1 : NULL;
    size_t text_size = tab != NULL ? (size_t)(tab - text) : size;
    size_t pair_size = tab != NULL ? size - text_size - 1 : 0;
    size_t max_length = 3 + (options >> LENGTH_SHIFT) * 4;
    struct nvdp_tokens tokens = {0};
    if (nvdp_tokenizer_encode(tokenizer, text, text_size, pair, pair_size, max_length, &tokens) ==
        NVDP_OK)
        check(tokenizer, &tokens, max_length);
    nvdp_tokens_free(&tokens);
}

nvdp_status fuzz_use(struct fuzz_input in) {
    static const char specials[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    if (in.size == 0) return NVDP_OK;
    unsigned options = in.data[0];
    const char *bytes = (const char *)in.data + 1;
    size_t size = in.size - 1;
    const char *end = memmem(bytes, size, "\n\n", 2);
    size_t lines = end != NULL ? (size_t)(end - bytes) + 1 : 0;
    const char *text = end != NULL ? end + 2 : bytes;

    struct nvdp__strings alone = {0};
    if (nvdp__vocabulary_parse(NULL, "vocab.txt", bytes, size, &alone) == NVDP_OK)
        nvdp__strings_release(&alone);

    char *vocabulary = malloc(sizeof specials + lines);
    if (vocabulary == NULL) return NVDP_OK;
    memcpy(vocabulary, specials, sizeof specials - 1);
    memcpy(vocabulary + sizeof specials - 1, bytes, lines);
    const struct nvdp__normalization normalization = {(options & LOWER_CASE) != 0,
                                                      (options & STRIP_ACCENTS) != 0,
                                                      (options & CHINESE) != 0, false};
    struct nvdp_tokenizer *tokenizer = NULL;
    if (nvdp__tokenizer_create(NULL, "vocab.txt", vocabulary, sizeof specials - 1 + lines,
                               nvdp__special_names, &normalization, &tokenizer) == NVDP_OK)
        encode(tokenizer, options, text, size - (size_t)(text - bytes));
    nvdp_tokenizer_free(tokenizer);
    free(vocabulary);
    return NVDP_OK;
}
