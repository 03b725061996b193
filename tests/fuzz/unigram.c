/* Unigram from bytes. The first byte selects the input: 'j' a tokenizer.json; 's' a file of
 * SentencePiece; otherwise a table of characters, then after its bytes, whose number is the next two
 * bytes, a text. */
#include "fuzz.h"

enum { MAX_LENGTH = 64 };

/* Checks the properties on which a caller may rely for any input. */
static void check(const struct nvdp_tokenizer *tokenizer) {
    static const char text[] = "The gulls  \xEF\xAC\x81nal\tx\xFF <mask> \xE2\x96\x81\xCC\x81";
    struct nvdp_tokens tokens = {0};
    if (nvdp_tokenizer_encode(tokenizer, text, sizeof text, text, 5, MAX_LENGTH, &tokens) ==
        NVDP_OK) {
        if (tokens.count < 2 || tokens.count > MAX_LENGTH) abort();
        for (size_t i = 0; i < tokens.count; i++) {
            if (nvdp_tokenizer_piece(tokenizer, tokens.ids[i]) == NULL) abort();
        }
    }
    nvdp_tokens_free(&tokens);
}

static void use_table(const char *bytes, size_t size) {
    struct nvdp__normalizer normalizer = {0};
    struct nvdp__normalized out = {0};
    if (size < 2) return;
    size_t table = (size_t)(unsigned char)bytes[0] << 8 | (unsigned char)bytes[1];
    bytes += 2;
    size -= 2;
    if (table > size) table = size;
    if (nvdp__normalizer_add_table(&normalizer, "table", bytes, table) == NVDP_OK &&
        nvdp__normalizer_apply(NULL, &normalizer, bytes + table, size - table, &out) == NVDP_OK &&
        out.size > out.capacity)
        abort();
    nvdp__normalized_release(&out);
    nvdp__normalizer_release(&normalizer);
}

nvdp_status fuzz_use(struct fuzz_input in) {
    struct nvdp__tokenizer_source source = {0};
    struct nvdp_tokenizer *tokenizer = NULL;
    if (in.size == 0) return NVDP_OK;
    const char *bytes = (const char *)in.data + 1;
    size_t size = in.size - 1;
    for (int i = 0; i < NVDP__TOKENIZER_FILES; i++)
        source.path[i] = (char *)nvdp__tokenizer_file_names[i]; /* only read */
    json_t *model = json_pack("{s:s}", "model_type", "xlm-roberta"), *json = NULL;
    if (model == NULL) return NVDP_OK;
    if (in.data[0] == 'j') {
        json = source.json[NVDP__FILE_TOKENIZER] =
            json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
    } else if (in.data[0] == 's') {
        source.json[NVDP__FILE_MODEL] = model;
        source.text[NVDP__FILE_SENTENCEPIECE] = (char *)bytes; /* only read */
        source.size[NVDP__FILE_SENTENCEPIECE] = size;
    } else {
        use_table(bytes, size);
    }
    if (json_is_object(json) || in.data[0] == 's')
        nvdp__tokenizer_of_source(NULL, &source, &tokenizer);
    if (tokenizer != NULL) check(tokenizer);
    nvdp_tokenizer_free(tokenizer);
    json_decref(json);
    json_decref(model);
    return NVDP_OK;
}
