/* Reads plain text (plain_text.h): lines and documents of files, then the sentences of a line. */
#include "text/plain_text.h"

#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "text/task.h"
#include <stdlib.h>
#include <string.h>

enum { LOOK_BYTES = 4096 };
static const char TEXT_KEY[] = "text";
static const char DOCUMENT_BEGINS[] = "<doc ";
static const char DOCUMENT_ENDS[] = "</doc>";

struct nvdp__plain_text {
    struct nvdp_context *ctx;
    const char *const *path;
    size_t files, file;                /* `file` is open, or is opened next */
    struct nvdp__lines lines;          /* lines of `file`, if it is open and plain */
    struct nvdp__table_chunks objects; /* objects of `file`, if it is open and JSON */
    size_t key;                        /* column of the text */
    struct nvdp__field rest;           /* rest of the current object's text */
    uint64_t bytes;                    /* bytes of the previous files */
    struct progress {                  /* state within the file */
        bool in_doc;                   /* true between <doc> and </doc> */
        bool begins;                   /* true if the next line of text begins a document */
        size_t text_lines, bad_lines, first_bad;
    } in;
};

nvdp_status nvdp__plain_text_open(struct nvdp_context *ctx, const char *const *path, size_t files,
                                  struct nvdp__plain_text **out) {
    NVDP_TRY(NVDP__NEW(ctx, *out, 1));
    **out = (struct nvdp__plain_text){.ctx = ctx, .path = path, .files = files};
    return NVDP_OK;
}

void nvdp__plain_text_close(struct nvdp__plain_text *plain) {
    if (plain == NULL) return;
    nvdp__lines_close(&plain->lines);
    nvdp__table_chunks_close(&plain->objects);
    free(plain);
}

uint64_t nvdp__plain_text_bytes(const struct nvdp__plain_text *plain) {
    return plain->bytes + plain->lines.read + plain->objects.read;
}

/* Returns true if the bytes begin as a JSON object does, or as an array of objects does: { "key" : */
static bool is_json(const char *at, size_t size) {
    const char *const end = at + size;
    bool array = false;
    static const char blanks[] = " \t\r\n";
#define SKIP                                                                                       \
    while (at < end && memchr(blanks, *at, sizeof blanks - 1) != NULL)                             \
    at++
    SKIP;
    array = at < end && *at == '[';
    at += array;
    SKIP;
    if (at == end || *at++ != '{') return false;
    SKIP;
    if (at == end || *at++ != '"') return false;
    at = memchr(at, '"', (size_t)(end - at));
    if (at++ == NULL) return false;
    SKIP;
#undef SKIP
    return at < end && *at == ':';
}

/* Returns true if the file's name is that of a JSON file, also with .gz or .xz at the end. */
static bool named_json(const char *path) {
    static const char *const ends[] = {".json", ".jsonl", ".ndjson"};
    const size_t size = strlen(path),
                 packed = nvdp__ends_with(path, ".gz") || nvdp__ends_with(path, ".xz");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t end = strlen(ends[i]), all = end + 3 * packed;
        if (size > all && memcmp(path + size - all, ends[i], end) == 0) return true;
    }
    return false;
}

static nvdp_status begin_file(struct nvdp__plain_text *plain) {
    struct nvdp__field head;
    bool found;
    plain->in = (struct progress){.begins = true};
    NVDP_TRY(nvdp__lines_open(plain->ctx, plain->path[plain->file], &plain->lines));
    NVDP_TRY(nvdp__lines_peek(&plain->lines, LOOK_BYTES, &head));
    const size_t mark = nvdp__byte_order_mark(head.text, head.size);
    if (!is_json(head.text + mark, head.size - mark))
        return named_json(plain->path[plain->file]) && head.size > 0
                   ? nvdp__fail(
                         plain->ctx, NVDP_ERR_INPUT,
                         "%s: expected JSON objects with the key '%s', one per line or in an "
                         "array, as the name says, found something else",
                         plain->path[plain->file], TEXT_KEY)
                   : NVDP_OK;
    nvdp__table_chunks_adopt(&plain->lines, NVDP__TABLE_JSONL, &plain->objects);
    NVDP_TRY(nvdp__table_chunks_find(&plain->objects, &found)); /* reads the names of the members */
    NVDP_TRY(nvdp__tsv_column(&plain->objects.tsv, TEXT_KEY, &plain->key));
    if (plain->key == plain->objects.tsv.fields)
        return nvdp__fail(
            plain->ctx, NVDP_ERR_INPUT,
            "%s:%zu: expected plain text, or JSON whose objects have their text under "
            "the key '%s', found JSON without this key",
            plain->objects.tsv.path, plain->objects.tsv.line, TEXT_KEY);
    plain->rest = (struct nvdp__field){0};
    return NVDP_OK;
}

static bool begins_with(const struct nvdp__plain_line *line, const char *start) {
    size_t size = strlen(start);
    return line->size >= size && memcmp(line->text, start, size) == 0;
}

static bool is_blank(const struct nvdp__plain_line *line) {
    return nvdp__trimmed((struct nvdp__field){line->text, line->size}, " \t\r\f\v").size == 0;
}

/* Returns true if the line separates documents and is not text itself: <doc ...>, </doc> or blank. */
static bool is_border(struct nvdp__plain_text *plain, const struct nvdp__plain_line *line) {
    bool doc = begins_with(line, DOCUMENT_BEGINS);
    if (doc || begins_with(line, DOCUMENT_ENDS)) {
        plain->in.in_doc = doc;
        plain->in.begins = true;
        return true;
    }
    if (!is_blank(line)) return false;
    if (!plain->in.in_doc) plain->in.begins = true;
    return true;
}

/* Returns the next line of the file's objects. */
static nvdp_status next_of_objects(struct nvdp__plain_text *plain, struct nvdp__plain_line *line,
                                   bool *found) {
    const struct nvdp__tsv *tsv = &plain->objects.tsv;
    struct nvdp__field *rest = &plain->rest;
    for (;;) {
        while (rest->size > 0) {
            const struct nvdp__field part = nvdp__take_part(rest, '\n');
            *line = (struct nvdp__plain_line){.text = part.text, .size = part.size};
            *found = true;
            if (!is_blank(line)) return NVDP_OK;
        }
        NVDP_TRY(nvdp__table_chunks_find(&plain->objects, found));
        if (!*found) return NVDP_OK;
        if (tsv->field[plain->key].text == NULL) return nvdp__tsv_no_value(tsv, plain->key);
        *rest = tsv->field[plain->key];
        plain->in.begins = true;
    }
}

/* Returns the next line of the file that is text. Refuses an object with the key of texts, because its names would
 * become words. */
static nvdp_status next_of_lines(struct nvdp__plain_text *plain, struct nvdp__plain_line *line,
                                 bool *found) {
    struct nvdp__field raw;
    do {
        NVDP_TRY(nvdp__lines_next(&plain->lines, &raw, found));
        nvdp__autoptr(json_decref) json_t *object =
            is_json(raw.text, raw.size) ? json_loadb(raw.text, raw.size, 0, NULL) : NULL;
        if (json_is_string(json_object_get(object, TEXT_KEY)))
            return nvdp__fail(plain->ctx, NVDP_ERR_INPUT,
                              "%s:%zu: expected plain text, as before this line, found a JSON "
                              "object with the key '%s'; put plain text and JSON into separate "
                              "files",
                              plain->path[plain->file], plain->lines.line, TEXT_KEY);
        *line = (struct nvdp__plain_line){.text = raw.text, .size = raw.size};
    } while (*found && is_border(plain, line));
    return NVDP_OK;
}

nvdp_status nvdp__plain_text_next(struct nvdp__plain_text *plain, struct nvdp__plain_line *line,
                                  bool *found) {
    while (plain->file < plain->files) {
        if (plain->lines.input == NULL && plain->objects.input == NULL) NVDP_TRY(begin_file(plain));
        NVDP_TRY(plain->objects.input != NULL ? next_of_objects(plain, line, found)
                                              : next_of_lines(plain, line, found));
        if (*found) {
            plain->in.text_lines++;
            if (!nvdp__is_utf8(line->text, line->size) && plain->in.bad_lines++ == 0)
                plain->in.first_bad = plain->lines.line;
            line->begins = plain->in.begins;
            plain->in.begins = false;
            return NVDP_OK;
        }
        const char *path = plain->path[plain->file++];
        plain->bytes += plain->lines.read + plain->objects.read;
        nvdp__lines_close(&plain->lines);
        nvdp__table_chunks_close(&plain->objects);
        if (plain->in.text_lines == 0)
            return nvdp__fail(plain->ctx, NVDP_ERR_INPUT, "%s: expected lines of text, found none",
                              path);
        if (plain->in.bad_lines > 0)
            nvdp__log(plain->ctx, NVDP_LOG_WARNING,
                      "%s:%zu: bytes that are not UTF-8 are dropped, here and on %zu more lines",
                      path, plain->in.first_bad, plain->in.bad_lines - 1);
    }
    *found = false;
    return NVDP_OK;
}

/* ---- sentences ---- */

static const char *const abbreviations[] = {"mr", "mrs", "ms",   "dr",  "st",  "vs",  "prof", "sr",
                                            "jr", "no",  "gen",  "col", "sgt", "rev", "ca",   "cf",
                                            "eg", "ie",  "capt", "hon", "lt",  "mt",  "vol"};

static bool may_begin(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || nvdp__is_in_set(c, "\"'([{") ||
           (unsigned char)c >= 0x80;
}

/* Returns true if the '.' at `dot` follows a single letter or an abbreviation. */
static bool abbreviates(const char *text, size_t dot) {
    size_t start = dot;
    while (start > 0 && (text[start - 1] | 0x20) >= 'a' && (text[start - 1] | 0x20) <= 'z')
        start--;
    size_t size = dot - start;
    if (size == 1) return true;
    for (size_t i = 0; i < sizeof abbreviations / sizeof abbreviations[0]; i++) {
        size_t k = 0;
        while (k < size && abbreviations[i][k] != '\0' &&
               (text[start + k] | 0x20) == abbreviations[i][k]) {
            k++;
        }
        if (k == size && abbreviations[i][k] == '\0') return true;
    }
    return false;
}

/* A sentence ends after '.', '!' or '?' and any closing quotes or brackets that follow. After
 * them must come a space and a character that may begin a sentence: a capital, a digit, an
 * opening quote or bracket, or any character beyond ASCII. A '.' after a single letter ("J.
 * Smith") or one of a few titles and abbreviations ("Dr.", "vs.") does not end a sentence. The
 * rule suits English and similar languages. Its errors make sentences longer or shorter but
 * change no token, because sentences end at spaces. */
size_t nvdp__sentence_end(const char *text, size_t size) {
    for (size_t at = 0; at < size; at++) {
        if (!nvdp__is_in_set(text[at], ".!?")) continue;
        size_t end = at + 1;
        while (end < size && nvdp__is_in_set(text[end], "\"')]}.!?")) {
            end++;
        }
        size_t next = end;
        while (next < size && text[next] == ' ') {
            next++;
        }
        bool single = end == at + 1 && text[at] == '.';
        if (next > end && next < size && may_begin(text[next]) &&
            !(single && abbreviates(text, at)))
            return next;
        at = end - 1;
    }
    return size;
}
