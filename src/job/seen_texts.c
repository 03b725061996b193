/* Digests of the texts that trainings saw (lineage.h), for lineage.c. The file has hashes of
 * texts in memory, keyed digests and their comparison, then the file seen_texts.bin. */
#include "job/lineage.h"

#include "base/array.h"
#include "base/cache.h"
#include "text/normalize.h"
#include "text/plain_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- texts ---- */

nvdp_status nvdp__seen_texts_add(struct nvdp_context *ctx, struct nvdp__seen_texts *texts,
                                 size_t row, const char *text, size_t size) {
    static const struct nvdp__normalization folded = {true, true, true, false};
    const struct nvdp__word_rules rules = nvdp__word_rules(&folded);
    nvdp__auto(nvdp__words_release) struct nvdp__words words = {.rules = &rules, .ctx = ctx};
    struct nvdp__seen_text made = {.row = row};
    crypto_generichash_state hash;
    bool found = true;
    crypto_generichash_init(&hash, NULL, 0, sizeof made.hash);
    nvdp__words_begin(&words, text, size);
    for (;;) {
        NVDP_TRY(nvdp__words_next(&words, &found));
        if (!found) break;
        const uint64_t length = words.word.size;
        crypto_generichash_update(&hash, (const unsigned char *)&length, sizeof length);
        crypto_generichash_update(&hash, (const unsigned char *)words.word.bytes, length);
        made.words++;
    }
    if (made.words == 0) return NVDP_OK;
    crypto_generichash_final(&hash, made.hash, sizeof made.hash);
    texts->rows += texts->count == 0 || texts->text[texts->count - 1].row != row;
    return NVDP__PUSH(ctx, texts->text, texts->count, texts->capacity, made);
}

nvdp_status nvdp__seen_texts_of_files(struct nvdp_context *ctx, const char *const *path,
                                      size_t files, struct nvdp__seen_texts *texts) {
    nvdp__autoptr(nvdp__plain_text_close) struct nvdp__plain_text *plain = NULL;
    struct nvdp__plain_line line;
    bool found = true;
    size_t row = 0;
    NVDP_TRY(nvdp__plain_text_open(ctx, path, files, &plain));
    for (;;) {
        NVDP_TRY(nvdp__plain_text_next(plain, &line, &found));
        if (!found) break;
        NVDP_TRY(nvdp__seen_texts_add(ctx, texts, row++, line.text, line.size));
    }
    return NVDP_OK;
}

void nvdp__seen_texts_release(struct nvdp__seen_texts *texts) {
    free(texts->text);
    *texts = (struct nvdp__seen_texts){0};
}

/* ---- digests ---- */

static uint64_t text_digest(const unsigned char *key, const struct nvdp__seen_text *text) {
    unsigned char long_digest[crypto_generichash_BYTES_MIN];
    uint64_t digest;
    crypto_generichash(long_digest, sizeof long_digest, text->hash, sizeof text->hash, key,
                       NVDP__SEEN_KEY);
    memcpy(&digest, long_digest, sizeof digest);
    return digest;
}

static int by_digest(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

nvdp_status nvdp__seen_digests_make(struct nvdp_context *ctx, const struct nvdp__seen_texts *texts,
                                    struct nvdp__seen_digests *out) {
    struct nvdp__seen_digests made = {.count = 0};
    unsigned char name[(NVDP__SEEN_NAME - 1) / 2];
    NVDP_TRY(NVDP__NEW(ctx, made.digest, texts->count));
    randombytes_buf(name, sizeof name);
    randombytes_buf(made.key, sizeof made.key);
    sodium_bin2hex(made.name, sizeof made.name, name, sizeof name);
    for (size_t i = 0; i < texts->count; i++)
        made.digest[i] = text_digest(made.key, &texts->text[i]);
    qsort(made.digest, texts->count, sizeof *made.digest, by_digest);
    for (size_t i = 0; i < texts->count; i++)
        if (i == 0 || made.digest[i] != made.digest[made.count - 1])
            made.digest[made.count++] = made.digest[i];
    *out = made;
    return NVDP_OK;
}

void nvdp__seen_digests_release(struct nvdp__seen_digests *digests) {
    free(digests->digest);
    *digests = (struct nvdp__seen_digests){0};
}

static bool holds(const struct nvdp__seen_digests *digests, const struct nvdp__seen_text *text) {
    const uint64_t digest = text_digest(digests->key, text);
    return bsearch(&digest, digests->digest, digests->count, sizeof digest, by_digest) != NULL;
}

struct nvdp__overlap nvdp__seen_digests_compare(const struct nvdp__seen_digests *digests,
                                                const struct nvdp__seen_texts *texts) {
    struct nvdp__overlap overlap = {0};
    size_t end;
    for (size_t at = 0; at < texts->count; at = end) {
        size_t seen = 0, words = 0;
        const size_t row = texts->text[at].row;
        for (end = at; end < texts->count && texts->text[end].row == row; end++) {
            if (!holds(digests, &texts->text[end])) continue;
            seen++;
            words += texts->text[end].words;
        }
        if (seen == 0) continue;
        if (overlap.rows == 0) overlap.first = row;
        overlap.rows++;
        overlap.longer += words >= NVDP__SEEN_LONG;
    }
    return overlap;
}

/* ---- the file: nvdp__cache_header, then for each training a struct section and its digests
 * ---- */

static const char digests_file[] = "seen_texts.bin";
static const char kind[] = "nvdp seen texts";
enum { VERSION = 1 };
static const size_t FILE_LIMIT = (size_t)1 << 36; /* max bytes of the file */

struct section {
    char name[NVDP__SEEN_NAME - 1];
    unsigned char key[NVDP__SEEN_KEY];
    uint64_t count;
};

static nvdp_status damaged(struct nvdp_context *ctx, const char *path) {
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: expected the digests of the texts that the model was trained on, found "
                      "a damaged file; if you remove it, nvdp compares only whole files",
                      path);
}

/* Reads the sections after the header; the sections must fill `bytes` to the end. */
static nvdp_status take_sections(struct nvdp_context *ctx, const char *path, const char *bytes,
                                 size_t size, struct nvdp__seen_digests **out, size_t *count) {
    size_t capacity = 0;
    while (size > 0) {
        struct section section;
        if (size < sizeof section) return damaged(ctx, path);
        memcpy(&section, bytes, sizeof section);
        bytes += sizeof section;
        size -= sizeof section;
        if (section.count > size / sizeof(uint64_t)) return damaged(ctx, path);
        NVDP_TRY(nvdp__reserve(ctx, out, &capacity, *count + 1, sizeof **out));
        struct nvdp__seen_digests *made = &(*out)[*count];
        NVDP_TRY(NVDP__NEW(ctx, made->digest, section.count));
        memcpy(made->name, section.name, sizeof section.name);
        memcpy(made->key, section.key, sizeof section.key);
        memcpy(made->digest, bytes, section.count * sizeof *made->digest);
        made->count = section.count;
        (*count)++;
        bytes += section.count * sizeof *made->digest;
        size -= section.count * sizeof *made->digest;
        for (size_t i = 1; i < made->count; i++)
            if (made->digest[i] <= made->digest[i - 1]) return damaged(ctx, path);
    }
    return NVDP_OK;
}

nvdp_status nvdp__seen_digests_read(struct nvdp_context *ctx, const char *directory,
                                    struct nvdp__seen_digests **out, size_t *count) {
    const struct nvdp__path path = nvdp__path(directory, digests_file);
    const size_t header = sizeof(struct nvdp__cache_header);
    nvdp__autofree char *bytes = NULL;
    size_t size = 0;
    *out = NULL;
    *count = 0;
    if (!nvdp__exists(path.text)) return NVDP_OK;
    NVDP_TRY(nvdp__read_file(ctx, path.text, FILE_LIMIT, &bytes, &size));
    if (!nvdp__cache_is_whole(bytes, size, kind, VERSION)) return damaged(ctx, path.text);
    return take_sections(ctx, path.text, bytes + header, size - header, out, count);
}

nvdp_status nvdp__seen_digests_write(struct nvdp_context *ctx, const char *directory,
                                     const struct nvdp__seen_digests *digests, size_t count) {
    nvdp__auto(nvdp__output_abort) struct nvdp__output output = {0};
    nvdp__autofree char *bytes = NULL;
    const struct nvdp__path path = nvdp__path(directory, digests_file);
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += sizeof(struct section) + digests[i].count * sizeof *digests[i].digest;
    NVDP_TRY(NVDP__NEW(ctx, bytes, size));
    char *at = bytes;
    for (size_t i = 0; i < count; i++) {
        const size_t room = digests[i].count * sizeof *digests[i].digest;
        struct section section = {.count = digests[i].count};
        memcpy(section.name, digests[i].name, sizeof section.name);
        memcpy(section.key, digests[i].key, sizeof section.key);
        memcpy(at, &section, sizeof section);
        if (room > 0) memcpy(at + sizeof section, digests[i].digest, room);
        at += sizeof section + room;
    }
    NVDP_TRY(nvdp__output_open(ctx, path.text, &output));
    if (fchmod(fileno(output.file), 0600) != 0)
        return nvdp__fail(ctx, NVDP_ERR_IO,
                          "%s: cannot make the file private to its owner (mode 0600)", path.text);
    return nvdp__cache_finish(&output, kind, VERSION, bytes, size);
}
