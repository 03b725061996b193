/* Byte-level BPE from bytes. The first byte selects the input: 'j' a tokenizer.json; 'v' a
 * vocab.json and, after an empty line, merges.txt; otherwise merges.txt for a vocabulary of all
 * bytes and the merged pieces, then after an empty line a text and, after a tab, its pair. */
#include "fuzz.h"
#include <utf8proc.h>

enum { MAX_LENGTH = 64 };

/* Checks the properties on which a caller may rely for any input. */
static void check(const struct nvdp_tokenizer *tokenizer, const struct nvdp_tokens *tokens) {
    if (tokens->count < 2 || tokens->count > MAX_LENGTH) abort();
    for (size_t i = 0; i < tokens->count; i++) {
        if (nvdp_tokenizer_piece(tokenizer, tokens->ids[i]) == NULL) abort();
        if (!tokenizer->types && tokens->types[i] != 0) abort();
    }
    if (tokens->ids[0] != nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_CLS)) abort();
    if (tokens->ids[tokens->count - 1] != nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP))
        abort();
}

static void encode(const struct nvdp_tokenizer *tokenizer, const char *text, size_t size) {
    const char *tab = memchr(text, '\t', size);
    size_t first = tab != NULL ? (size_t)(tab - text) : size;
    struct nvdp_tokens tokens = {0};
    if (nvdp_tokenizer_encode(tokenizer, text, first, tab != NULL ? tab + 1 : NULL,
                              tab != NULL ? size - first - 1 : 0, MAX_LENGTH, &tokens) == NVDP_OK)
        check(tokenizer, &tokens);
    nvdp_tokens_free(&tokens);
}

static json_t *object_of(const char *bytes, size_t size) {
    json_t *json = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(json)) return json;
    json_decref(json);
    return NULL;
}

static void add_piece(json_t *vocab, const char *name, size_t size) {
    json_t *key = json_stringn(name, size); /* NULL if it is not valid UTF-8 */
    const char *text = json_string_value(key);
    if (text != NULL && size > 0 && memchr(text, '\0', size) == NULL &&
        json_object_get(vocab, text) == NULL)
        json_object_set_new(vocab, text, json_integer((json_int_t)json_object_size(vocab)));
    json_decref(key);
}

/* Makes a vocabulary of special tokens, the characters that stand for bytes, and the lines
 * without their spaces. */
static json_t *vocabulary_of(const char *lines, size_t size) {
    static const char *const specials[] = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
    json_t *vocab = json_object();
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++)
        add_piece(vocab, specials[i], strlen(specials[i]));
    for (int32_t rune = '!'; rune < 0x144; rune++) {
        char name[4];
        if ((rune > '~' && rune < 0xA1) || rune == 0xAD) continue;
        add_piece(vocab, name, (size_t)utf8proc_encode_char(rune, (utf8proc_uint8_t *)name));
    }
    char *joined = malloc(size + 1);
    for (size_t at = 0, used = 0; joined != NULL && at <= size; at++) {
        if (at == size || lines[at] == '\n' || lines[at] == '\r') {
            add_piece(vocab, joined, used);
            used = 0;
        } else if (lines[at] != ' ') {
            joined[used++] = lines[at];
        }
    }
    free(joined);
    return vocab;
}

nvdp_status fuzz_use(struct fuzz_input in) {
    if (in.size == 0) return NVDP_OK;
    const char *bytes = (const char *)in.data + 1;
    size_t size = in.size - 1;
    const char *end = memmem(bytes, size, "\n\n", 2);
    size_t first = end != NULL ? (size_t)(end - bytes) + 1 : size;
    const char *rest = end != NULL ? end + 2 : bytes + size;
    size_t rest_size = size - (size_t)(rest - bytes);
    const char *text = "Don't  stop \xF0\x9F\x98\x80 <mask>\xFF"; /* if the input has none */
    size_t text_size = strlen(text);
    struct nvdp_tokenizer *tokenizer = NULL;
    struct nvdp__tokenizer_source source = {0};
    json_t *json = NULL;
    for (int i = 0; i < NVDP__TOKENIZER_FILES; i++)
        source.path[i] = (char *)nvdp__tokenizer_file_names[i]; /* only read */
    if (in.data[0] == 'j') {
        json = source.json[NVDP__FILE_TOKENIZER] = object_of(bytes, size);
        if (json != NULL) nvdp__tokenizer_of_source(NULL, &source, &tokenizer);
    } else {
        bool own = in.data[0] == 'v';
        json = own ? object_of(bytes, first) : vocabulary_of(bytes, first);
        source.json[NVDP__FILE_VOCAB_JSON] = json;
        source.text[NVDP__FILE_MERGES] = (char *)(own ? rest : bytes); /* only read */
        source.size[NVDP__FILE_MERGES] = own ? rest_size : first;
        if (json != NULL) nvdp__tokenizer_of_source(NULL, &source, &tokenizer);
        if (!own) {
            text = rest;
            text_size = rest_size;
        }
    }
    if (tokenizer != NULL) encode(tokenizer, text, text_size);
    nvdp_tokenizer_free(tokenizer);
    json_decref(json);
    return NVDP_OK;
}
