/* The steps of a normalizer (tokenizer.h): each type has a row with its reader and with the function that changes a
 * text. */
#include "text/tokenizer.h"

#include "base/array.h"
#include "base/json.h"
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum {
    ACUTE = 0x301, /* a mark that exists in all versions of Unicode */
    MAX_CHANGES = 64,
    LONGEST_CLUSTER = 5 /* max bytes of a cluster that is looked up as a whole */
};

/* A step that is being read from a file. */
struct reading {
    struct nvdp__normalizer *normalizer;
    const char *path;
    const json_t *json;
    bool known; /* true while all values are implemented */
};

struct nvdp__change_row {
    const char *type; /* type in tokenizer.json; NULL for a step that only other code makes */
    /* Reads the members; NULL if there are none. */
    nvdp_status (*read)(struct reading *reading, struct nvdp__change *step);
    /* Writes the result to out->text and out->size; `text` must not overlap the result. */
    nvdp_status (*apply)(struct nvdp_context *ctx, const struct nvdp__change *step,
                         const char *text, size_t size, struct nvdp__normalized *out);
    /* for map(): returns the character that replaces another; -1 if the character is removed */
    int32_t (*map)(int32_t rune);
};

static nvdp_status append(struct nvdp_context *ctx, struct nvdp__normalized *out, const char *bytes,
                          size_t size) {
    NVDP_TRY(nvdp__reserve(ctx, &out->text, &out->capacity, out->size + size + 1, 1));
    memcpy(out->text + out->size, bytes, size);
    out->size += size;
    return NVDP_OK;
}

/* ---- normal forms, letters, marks ---- */

static nvdp_status decode(struct nvdp_context *ctx, const struct nvdp__change *step,
                          const char *text, size_t size, struct nvdp__normalized *out) {
    (void)step;
    out->size = 0;
    if (nvdp__is_utf8(text, size)) return append(ctx, out, text, size);
    NVDP_TRY(nvdp__runes_read(ctx, text, size, &out->run));
    return nvdp__runes_write(ctx, &out->run, out);
}

/* Computes NFC, NFD, NFKC or NFKD, by the letters of the name. */
static nvdp_status form(struct nvdp_context *ctx, const struct nvdp__change *step, const char *text,
                        size_t size, struct nvdp__normalized *out) {
    const char *type = step->row->type;
    NVDP_TRY(nvdp__runes_read(ctx, text, size, &out->run));
    NVDP_TRY(nvdp__normal_form(ctx, &out->run,
                               (strchr(type, 'K') != NULL ? NVDP__COMPATIBLE : 0) |
                                   (strchr(type, 'C') != NULL ? NVDP__COMPOSED : 0),
                               &out->folded));
    return nvdp__runes_write(ctx, &out->folded, out);
}

static nvdp_status lower_case(struct nvdp_context *ctx, const struct nvdp__change *step,
                              const char *text, size_t size, struct nvdp__normalized *out) {
    static const struct nvdp__normalization lower = {.lower_case = true};
    (void)step;
    NVDP_TRY(nvdp__runes_read(ctx, text, size, &out->run));
    NVDP_TRY(nvdp__fold(ctx, &lower, &out->run, &out->folded));
    return nvdp__runes_write(ctx, &out->folded, out);
}

/* Applies SentencePiece's rules for control characters and unusual white space. */
static int32_t nmt(int32_t rune) {
    if ((rune >= 0x01 && rune <= 0x08) || rune == 0x0B || (rune >= 0x0E && rune <= 0x1F) ||
        rune == 0x7F || rune == 0x8F || rune == 0x9F)
        return -1;
    const bool space = rune == 0x09 || rune == 0x0A || rune == 0x0C || rune == 0x0D ||
                       rune == 0x1680 || (rune >= 0x200B && rune <= 0x200F) || rune == 0x2028 ||
                       rune == 0x2029 || rune == 0x2581 || rune == 0xFEFF || rune == 0xFFFD;
    return space ? ' ' : rune;
}

static int32_t without_marks(int32_t rune) {
    return nvdp__is_mark(rune) ? -1 : rune;
}

static nvdp_status map(struct nvdp_context *ctx, const struct nvdp__change *step, const char *text,
                       size_t size, struct nvdp__normalized *out) {
    size_t kept = 0;
    NVDP_TRY(nvdp__runes_read(ctx, text, size, &out->run));
    for (size_t i = 0; i < out->run.count; i++) {
        const int32_t rune = step->row->map(out->run.at[i]);
        if (rune >= 0) out->run.at[kept++] = rune;
    }
    out->run.count = kept;
    return nvdp__runes_write(ctx, &out->run, out);
}

/* ---- strings ---- */

/* Copies a string; a step whose string is missing is not known. */
static nvdp_status copy(struct reading *reading, const json_t *value, char **out, size_t *size) {
    reading->known = reading->known && json_is_string(value);
    if (!reading->known) return NVDP_OK;
    *size = json_string_length(value);
    NVDP_TRY(NVDP__NEW(reading->normalizer->ctx, *out, *size + 1));
    memcpy(*out, json_string_value(value), *size);
    return NVDP_OK;
}

/* Reads the regular expression of a run: a character or \s, then + or {n,}. */
static bool read_run(struct nvdp__change *step) {
    char *end = step->pattern;
    size_t bytes = 2;
    if (step->pattern_size < 2) return false;
    step->white_space = strncmp(end, "\\s", 2) == 0;
    if (!step->white_space && (strchr(".^$*+?()[]{}|\\", *end) != NULL ||
                               nvdp__decode(end, step->pattern_size, &bytes) < 0))
        return false;
    end += bytes;
    if (*end == '{' && end[1] >= '1' && end[1] <= '9') {
        step->least = strtoul(end + 1, &end, 10);
        if (*end++ != ',' || *end != '}') return false;
    } else if (*end == '+') {
        step->least = 1;
    }
    step->pattern_size = bytes;
    return step->least > 0 && end[1] == '\0';
}

static nvdp_status read_replace(struct reading *reading, struct nvdp__change *step) {
    const json_t *pattern = json_object_get(reading->json, "pattern");
    const json_t *text = json_object_get(pattern, "String");
    const json_t *from = text != NULL ? text : json_object_get(pattern, "Regex");
    const json_t *to = json_object_get(reading->json, "content");
    NVDP_TRY(copy(reading, from, &step->pattern, &step->pattern_size));
    NVDP_TRY(copy(reading, to, &step->content, &step->content_size));
    reading->known = reading->known &&
                     (text != NULL || (read_run(step) && strchr(step->content, '$') == NULL)) &&
                     step->pattern_size > 0;
    return NVDP_OK;
}

/* Returns the bytes of the pattern at the start of text[0..size), size > 0; 0 if the pattern does not match there. */
static size_t match_size(const struct nvdp__change *step, const char *text, size_t size) {
    const size_t pattern = step->pattern_size;
    size_t times = 0, at = 0, bytes;
    while (at < size && (step->least > 0 || times == 0)) {
        bytes = pattern;
        const bool one =
            step->white_space
                ? nvdp__is_white_space(nvdp__decode(text + at, size - at, &bytes))
                : size - at >= pattern && memcmp(text + at, step->pattern, pattern) == 0;
        if (!one) break;
        at += bytes;
        times++;
    }
    return times >= nvdp__max(step->least, (size_t)1) ? at : 0;
}

static nvdp_status replace(struct nvdp_context *ctx, const struct nvdp__change *step,
                           const char *text, size_t size, struct nvdp__normalized *out) {
    size_t bytes;
    out->size = 0;
    for (size_t at = 0; at < size; at += bytes) {
        bytes = match_size(step, text + at, size - at);
        if (bytes > 0) {
            NVDP_TRY(append(ctx, out, step->content, step->content_size));
            continue;
        }
        nvdp__decode(text + at, size - at, &bytes);
        NVDP_TRY(append(ctx, out, text + at, bytes));
    }
    return NVDP_OK;
}

static nvdp_status read_strip(struct reading *reading, struct nvdp__change *step) {
    const json_t *left = json_object_get(reading->json, "strip_left");
    const json_t *right = json_object_get(reading->json, "strip_right");
    reading->known = json_is_boolean(left) && json_is_boolean(right);
    step->left = json_is_true(left);
    step->right = json_is_true(right);
    return NVDP_OK;
}

static nvdp_status strip(struct nvdp_context *ctx, const struct nvdp__change *step,
                         const char *text, size_t size, struct nvdp__normalized *out) {
    size_t start = 0, end = 0, bytes;
    for (size_t at = 0; at < size; at += bytes) {
        const bool space = nvdp__is_white_space(nvdp__decode(text + at, size - at, &bytes));
        if (space && step->left && start == at) start = at + bytes;
        if (!space || !step->right) end = at + bytes;
    }
    out->size = 0;
    return append(ctx, out, text + start, nvdp__max(end, start) - start);
}

static nvdp_status read_prepend(struct reading *reading, struct nvdp__change *step) {
    return copy(reading, json_object_get(reading->json, "prepend"), &step->content,
                &step->content_size);
}

static nvdp_status prepend(struct nvdp_context *ctx, const struct nvdp__change *step,
                           const char *text, size_t size, struct nvdp__normalized *out) {
    out->size = 0;
    if (size > 0) NVDP_TRY(append(ctx, out, step->content, step->content_size));
    return append(ctx, out, text, size);
}

/* ---- SentencePiece's table ---- */

/* Returns the string that replaces text[0..size), which is the replacement of the shortest prefix in the table, as
 * in the `tokenizers` library; NULL if there is none. */
static const char *look_up(const struct nvdp__change *step, const char *text, size_t size) {
    const uint32_t leaf = 1U << 8, label = 1U << 31 | 0xFF;
    size_t at = 0;
    for (size_t i = 0;; i++) {
        const uint32_t unit = step->unit[at];
        at ^= (size_t)(unit >> 10) << ((unit & 1U << 9) >> 6);
        if (at >= step->units) return NULL;
        if (i > 0 && (unit & leaf) != 0) {
            const size_t place = step->unit[at] & ~(1U << 31);
            return place < step->content_size ? step->content + place : "";
        }
        if (i == size || text[i] == '\0') return NULL;
        at ^= (unsigned char)text[i];
        if (at >= step->units || (step->unit[at] & label) != (unsigned char)text[i]) return NULL;
    }
}

/* Returns the end of the cluster of characters at the start of text[0..size), size > 0: an extended grapheme
 * cluster. */
static size_t cluster(const char *text, size_t size) {
    utf8proc_int32_t state = 0;
    size_t bytes, end;
    int32_t rune = nvdp__decode(text, size, &end);
    while (end < size) {
        if (rune >= 0 && rune < 0x80 && rune != '\r' && (unsigned char)text[end] < 0x80) break;
        const int32_t next = nvdp__decode(text + end, size - end, &bytes);
        /* marks that are newer than Unicode 15, which utf8proc may lack, also extend a cluster */
        const bool newer_mark = next == 0x897 || (next >= 0x1ACF && next <= 0x1ADD) ||
                                (next >= 0x1AE0 && next <= 0x1AEB);
        if (rune < 0 || next < 0 ||
            utf8proc_grapheme_break_stateful(rune, newer_mark ? ACUTE : next, &state))
            break;
        end += bytes;
        rune = next;
    }
    return end;
}

static nvdp_status use_table(struct nvdp_context *ctx, const struct nvdp__change *step,
                             const char *text, size_t size, struct nvdp__normalized *out) {
    size_t bytes;
    out->size = 0;
    for (size_t at = 0, end; at < size; at = end) {
        end = at + cluster(text + at, size - at);
        const char *to = end - at <= LONGEST_CLUSTER ? look_up(step, text + at, end - at) : NULL;
        if (to != NULL) {
            NVDP_TRY(append(ctx, out, to, strlen(to)));
            continue;
        }
        for (; at < end; at += bytes) {
            nvdp__decode(text + at, end - at, &bytes);
            to = look_up(step, text + at, bytes);
            NVDP_TRY(
                append(ctx, out, to != NULL ? to : text + at, to != NULL ? strlen(to) : bytes));
        }
    }
    return NVDP_OK;
}

static nvdp_status make_table(struct nvdp__normalizer *normalizer, const char *path,
                              const void *bytes, size_t size, struct nvdp__change *step) {
    const unsigned char *from = bytes;
    const size_t word = sizeof *step->unit;
    size_t table = 0;
    for (size_t i = 0; size >= word && i < word; i++)
        table |= (size_t)from[i] << 8 * i;
    if (table < word || table % word != 0 || table > size - word ||
        !nvdp__is_utf8((const char *)from + word + table, size - word - table))
        return nvdp__fail(normalizer->ctx, NVDP_ERR_INPUT,
                          "%s: 'precompiled_charsmap': expected a table of SentencePiece with "
                          "UTF-8 texts, found %zu bytes of something else",
                          path, size);
    from += word;
    step->units = table / word;
    step->content_size = size - word - table;
    NVDP_TRY(NVDP__ARRAYS(normalizer->ctx, NULL, NVDP__ITEMS(step->content, step->content_size + 1),
                          NVDP__ITEMS(step->unit, step->units)));
    for (size_t i = 0; i < table; i++)
        step->unit[i / word] |= (uint32_t)from[i] << 8 * (i % word);
    memcpy(step->content, from + table, step->content_size);
    return NVDP_OK;
}

static nvdp_status read_table(struct reading *reading, struct nvdp__change *step) {
    const json_t *value = json_object_get(reading->json, "precompiled_charsmap");
    const size_t length = json_string_length(value);
    const char *end = NULL;
    size_t size = 0;
    reading->known = json_is_string(value);
    if (!reading->known) return NVDP_OK;
    nvdp__autofree unsigned char *bytes = nvdp__calloc(reading->normalizer->ctx, length + 1, 1);
    NVDP_TRY(NVDP__MADE(bytes));
    reading->known = sodium_base642bin(bytes, length + 1, json_string_value(value), length, NULL,
                                       &size, &end, sodium_base64_VARIANT_ORIGINAL) == 0 &&
                     *end == '\0';
    return reading->known ? make_table(reading->normalizer, reading->path, bytes, size, step)
                          : NVDP_OK;
}

/* ---- the table of types ---- */

static const struct nvdp__change_row decoding_row = {NULL, NULL, decode, NULL};
static const struct nvdp__change_row rows[] = {
    {"Precompiled", read_table, use_table, NULL},
    {"NFC", NULL, form, NULL},
    {"NFD", NULL, form, NULL},
    {"NFKC", NULL, form, NULL},
    {"NFKD", NULL, form, NULL},
    {"Lowercase", NULL, lower_case, NULL},
    {"StripAccents", NULL, map, without_marks},
    {"Nmt", NULL, map, nmt},
    {"Replace", read_replace, replace, NULL},
    {"Strip", read_strip, strip, NULL},
    {"Prepend", read_prepend, prepend, NULL},
};

static const struct nvdp__change_row *find_row(const char *type) {
    for (size_t i = 0; type != NULL && i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(type, rows[i].type) == 0) return &rows[i];
    }
    return NULL;
}

static void release_step(struct nvdp__change *step) {
    free(step->pattern);
    free(step->content);
    free(step->unit);
}

/* Takes over a step that was made, and releases the step after a failure. */
static nvdp_status add(struct nvdp__normalizer *normalizer, nvdp_status made,
                       struct nvdp__change *step) {
    if (made == NVDP_OK)
        made = NVDP__PUSH(normalizer->ctx, normalizer->change, normalizer->count,
                          normalizer->capacity, *step);
    if (made != NVDP_OK) release_step(step);
    return made;
}

nvdp_status nvdp__normalizer_add_decoding(struct nvdp__normalizer *normalizer) {
    return add(normalizer, NVDP_OK, &(struct nvdp__change){.row = &decoding_row});
}

nvdp_status nvdp__normalizer_add_table(struct nvdp__normalizer *normalizer, const char *path,
                                       const void *bytes, size_t size) {
    struct nvdp__change step = {.row = find_row("Precompiled")};
    return add(normalizer, make_table(normalizer, path, bytes, size, &step), &step);
}

nvdp_status nvdp__normalizer_read(struct nvdp__normalizer *normalizer, const char *path,
                                  const json_t *json) {
    const char *type = json_string_value(json_object_get(json, "type"));
    const json_t *list = json_object_get(json, "normalizers"), *one;
    size_t i;
    if (json == NULL || json_is_null(json)) return NVDP_OK;
    if (type != NULL && strcmp(type, "Sequence") == 0 && json_is_array(list) &&
        json_array_size(list) <= MAX_CHANGES) {
        json_array_foreach(list, i, one) NVDP_TRY(nvdp__normalizer_read(normalizer, path, one));
        return NVDP_OK;
    }
    struct nvdp__change step = {.row = find_row(type)};
    struct reading reading = {normalizer, path, json,
                              step.row != NULL && normalizer->count < MAX_CHANGES};
    nvdp_status status = NVDP_OK;
    if (reading.known && step.row->read != NULL) status = step.row->read(&reading, &step);
    if (status == NVDP_OK && !reading.known) {
        char *found = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
        status = nvdp__fail(
            normalizer->ctx, NVDP_ERR_UNSUPPORTED,
            "%s: 'normalizer': expected Sequence, Precompiled, Replace of a String or of the Regex "
            "of a "
            "run such as \" {2,}\", Strip, Prepend, NFC, NFD, NFKC, NFKD, Nmt, Lowercase or "
            "StripAccents, found %.100s",
            path, found != NULL ? found : "none");
        free(found);
    }
    return add(normalizer, status, &step);
}

nvdp_status nvdp__normalizer_apply(struct nvdp_context *ctx,
                                   const struct nvdp__normalizer *normalizer, const char *text,
                                   size_t size, struct nvdp__normalized *out) {
    out->size = 0;
    for (size_t i = 0; i < normalizer->count; i++) {
        const struct nvdp__change *step = &normalizer->change[i];
        NVDP_TRY(step->row->apply(ctx, step, text, size, out));
        if (i + 1 == normalizer->count) return NVDP_OK;
        char *made = out->text;
        const size_t capacity = out->capacity;
        out->text = out->other;
        out->capacity = out->other_capacity;
        out->other = made;
        out->other_capacity = capacity;
        text = made;
        size = out->size;
    }
    return append(ctx, out, text, size);
}

void nvdp__normalizer_digest(const struct nvdp__normalizer *normalizer,
                             struct nvdp__digest *digest) {
    for (size_t i = 0; i < normalizer->count; i++) {
        const struct nvdp__change *step = &normalizer->change[i];
        nvdp__digest_text(digest, step->row->type);
        NVDP__DIGEST_NUMBERS(
            digest, (uint64_t)(step->left + 2 * step->right + 4 * step->white_space), step->least);
        nvdp__digest_bytes(digest, step->pattern, step->pattern_size);
        nvdp__digest_bytes(digest, step->content, step->content_size);
        nvdp__digest_bytes(digest, step->unit, step->units * sizeof *step->unit);
    }
}

void nvdp__normalizer_release(struct nvdp__normalizer *normalizer) {
    for (size_t i = 0; i < normalizer->count; i++)
        release_step(&normalizer->change[i]);
    free(normalizer->change);
    *normalizer = (struct nvdp__normalizer){0};
}
