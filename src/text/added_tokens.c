/* Added tokens (tokenizer.h): names in a text that become tokens before the text is split into words. */
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

nvdp_status nvdp__added_put(struct nvdp_context *ctx, struct nvdp__added *added,
                            const struct nvdp__added_token *token) {
    struct nvdp__added_token made = *token;
    size_t at = 0;
    NVDP_TRY(nvdp__reserve(ctx, &added->token, &added->capacity, added->count + 1,
                           sizeof *added->token));
    made.name = nvdp__calloc(ctx, made.size + 1, 1);
    if (made.name == NULL) return NVDP_ERR_MEMORY;
    memcpy(made.name, token->name, made.size);
    while (at < added->count && added->token[at].id != made.id)
        at++;
    if (at < added->count)
        free(added->token[at].name);
    else
        added->count++;
    added->token[at] = made;
    added->normalized = 0;
    memset(added->begins, 0, sizeof added->begins);
    for (size_t i = 0; i < added->count; i++) {
        const struct nvdp__added_token *one = &added->token[i];
        added->normalized += one->normalized;
        if (one->size > 0) added->begins[one->normalized][(unsigned char)one->name[0]] = true;
    }
    for (int n = 0; n < 2; n++) {
        int first = -1, bytes = 0;
        for (int byte = 0; byte < NVDP__BYTE_VALUES; byte++) {
            if (!added->begins[n][byte]) continue;
            first = byte;
            bytes++;
        }
        added->only[n] = bytes == 1 ? first : -1;
    }
    return NVDP_OK;
}

void nvdp__added_release(struct nvdp__added *added) {
    for (size_t i = 0; i < added->count; i++)
        free(added->token[i].name);
    free(added->token);
    *added = (struct nvdp__added){0};
}

/* The token with the longest name that text[0..size) begins with; NULL: none. */
static const struct nvdp__added_token *longest(const struct nvdp__added *added, bool normalized,
                                               const char *text, size_t size) {
    const struct nvdp__added_token *found = NULL;
    for (size_t i = 0; i < added->count; i++) {
        const struct nvdp__added_token *token = &added->token[i];
        if (token->normalized != normalized || token->size == 0 || token->size > size ||
            (found != NULL && token->size <= found->size) ||
            memcmp(text, token->name, token->size) != 0)
            continue;
        found = token;
    }
    return found;
}

/* The first place in text[at..size) where a name may begin. */
static size_t next_place(const struct nvdp__added *added, bool normalized, const char *text,
                         size_t size, size_t at) {
    if (added->only[normalized] >= 0) {
        const char *place = memchr(text + at, added->only[normalized], size - at);
        return place != NULL ? (size_t)(place - text) : size;
    }
    while (at < size && !added->begins[normalized][(unsigned char)text[at]])
        at++;
    return at;
}

/* True for characters of words: letters, marks, digits, connectors such as _, and joiners. */
static bool is_word(int32_t rune) {
    return rune >= 0 &&
           (nvdp__has_category(rune, NVDP__LETTERS | NVDP__IN(MN) | NVDP__IN(MC) | NVDP__IN(ME) |
                                         NVDP__IN(ND) | NVDP__IN(NL) | NVDP__IN(PC)) ||
            nvdp__is_enclosed_letter(rune) || rune == 0x200C || rune == 0x200D);
}

/* The last character of text[0..size), size > 0, and its bytes. */
static int32_t last_rune(const char *text, size_t size, size_t *bytes) {
    size_t first = size - 1;
    while (first > 0 && size - first < 4 && ((unsigned char)text[first] & 0xC0) == 0x80)
        first--;
    int32_t rune = nvdp__decode(text + first, size - first, bytes);
    if (*bytes == size - first) return rune;
    *bytes = 1;
    return -1;
}

static bool touches_word(const char *text, size_t size, size_t from, size_t to) {
    size_t bytes;
    return (from > 0 && is_word(last_rune(text, from, &bytes))) ||
           (to < size && is_word(nvdp__decode(text + to, size - to, &bytes)));
}

const struct nvdp__added_token *nvdp__added_find(const struct nvdp__added *added, bool normalized,
                                                 bool ordinary, const char *text, size_t size,
                                                 size_t start, size_t *at, size_t *end,
                                                 size_t *next) {
    size_t bytes;
    for (size_t place = next_place(added, normalized, text, size, *at); place < size;) {
        const struct nvdp__added_token *token =
            longest(added, normalized, text + place, size - place);
        *next = place + (token != NULL ? token->size : 1);
        if (token == NULL || (ordinary && token->special) ||
            (token->single_word && touches_word(text, size, place, *next))) {
            place = next_place(added, normalized, text, size, *next);
            continue;
        }
        *at = place;
        *end = *next;
        while (token->left_spaces && *at > start &&
               nvdp__is_white_space(last_rune(text, *at, &bytes)))
            *at -= bytes;
        while (token->right_spaces && *end < size) {
            if (!nvdp__is_white_space(nvdp__decode(text + *end, size - *end, &bytes))) break;
            *end += bytes;
        }
        return token;
    }
    return NULL;
}
