/* Digests of texts, and the counts of equal texts. */
#include "text/repeats.h"

#include "text/vocabulary.h"
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

void nvdp__text_digest(const unsigned char key[NVDP__TEXT_KEY], size_t n, const int32_t *ids,
                       const int32_t *types, unsigned char digest[NVDP__TEXT_DIGEST]) {
    const uint64_t count = n;
    crypto_generichash_state state;
    crypto_generichash_init(&state, key, NVDP__TEXT_KEY, NVDP__TEXT_DIGEST);
    crypto_generichash_update(&state, (const unsigned char *)&count, sizeof count);
    crypto_generichash_update(&state, (const unsigned char *)ids, n * sizeof *ids);
    crypto_generichash_update(&state, (const unsigned char *)types, n * sizeof *types);
    crypto_generichash_final(&state, digest, NVDP__TEXT_DIGEST);
    sodium_memzero(&state, sizeof state);
}

/* Sets rows[i] to the number of rows of text i.  The key is random, so equal digests of different texts are left to
 * chance, about 2^-64 for 2^32 texts. */
static nvdp_status count_rows(struct nvdp_context *ctx, size_t parts,
                              const struct nvdp_dataset *const *part, size_t *rows,
                              size_t *distinct) {
    nvdp__auto(nvdp__strings_release) struct nvdp__strings seen = {.ctx = ctx};
    unsigned char key[NVDP__TEXT_KEY], digest[NVDP__TEXT_DIGEST];
    randombytes_buf(key, sizeof key);
    for (size_t p = 0; p < parts; p++) {
        for (size_t i = 0; i < part[p]->count; i++) {
            const size_t at = part[p]->offset[i], n = part[p]->offset[i + 1] - at;
            size_t index;
            nvdp__text_digest(key, n, part[p]->ids + at, part[p]->types + at, digest);
            NVDP_TRY(nvdp__strings_add(&seen, (const char *)digest, sizeof digest, &index));
            rows[index]++;
        }
    }
    *distinct = seen.count;
    return NVDP_OK;
}

/* Lists how many texts stand how often: texts[k] texts stand k times, for k up to `most`.  The last item has a range
 * if there is no room for more items. */
static void list(const size_t *texts, size_t most, char text[NVDP__REPEATS_TEXT]) {
    enum { MAX_ITEMS = 4 };
    size_t items = 0;
    for (size_t k = 2, last; k <= most; k = last + 1) {
        const size_t used = strlen(text), room = NVDP__REPEATS_TEXT - used;
        size_t count = texts[k], more = 0;
        last = k;
        if (count == 0) continue;
        for (size_t m = k + 1; items + 1 == MAX_ITEMS && m <= most; m++)
            more += texts[m];
        if (more > 0) last = most;
        count += more;
        const char *noun = items > 0    ? ""
                           : count == 1 ? " text"
                                        : " texts",
                   *s = count == 1 ? "s" : "";
        if (last > k)
            nvdp__snprintf(text + used, room, ", %zu stand %zu to %zu times", count, k, last);
        else if (k == 2)
            nvdp__snprintf(text + used, room, "%zu%s stand%s twice", count, noun, s);
        else
            nvdp__snprintf(text + used, room, "%s%zu%s stand%s %zu times", items > 0 ? ", " : "",
                           count, noun, s, k);
        items++;
    }
}

nvdp_status nvdp__repeats_count(struct nvdp_context *ctx, size_t parts,
                                const struct nvdp_dataset *const *part, struct nvdp__repeats *out) {
    size_t all = 0, distinct = 0;
    nvdp__autofree size_t *rows = NULL, *texts = NULL;
    struct nvdp__repeats made = {.most = 0};
    for (size_t p = 0; p < parts; p++)
        all += part[p]->count;
    NVDP_TRY(NVDP__NEW(ctx, rows, all));
    NVDP_TRY(count_rows(ctx, parts, part, rows, &distinct));
    for (size_t i = 0; i < distinct; i++)
        made.most = nvdp__max(made.most, rows[i]);
    NVDP_TRY(NVDP__NEW(ctx, texts, made.most + 1));
    for (size_t i = 0; i < distinct; i++)
        texts[rows[i]]++;
    list(texts, made.most, made.text);
    *out = made;
    return NVDP_OK;
}
