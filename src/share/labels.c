#include "share/labels.h"

#include "base/file.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CLASSES = 1 << 12, QUOTED = 48 };
static const size_t FILE_LIMIT = (size_t)1 << 30;

/* The lines of a text file. */
struct lines {
    char *bytes;
    char **line; /* [count] into bytes, NUL-terminated, without the ends of lines */
    size_t count;
};

static nvdp_status read_lines(struct nvdp_context *ctx, const char *path, struct lines *out) {
    nvdp_status status = NVDP_OK;
    struct lines lines = {0};
    size_t size = 0;
    size_t room = 0;
    NVDP_TRY(nvdp__read_file(ctx, path, FILE_LIMIT, &lines.bytes, &size));
    for (char *at = lines.bytes; at < lines.bytes + size;) {
        char *end = memchr(at, '\n', (size_t)(lines.bytes + size - at));
        if (end == NULL) end = lines.bytes + size;
        char *next = end + 1;
        if (end > at && end[-1] == '\r') end--;
        *end = '\0';
        NVDP_TRY(nvdp__reserve(ctx, &lines.line, &room, lines.count + 1, sizeof(char *)));
        lines.line[lines.count++] = at;
        at = next;
    }
    *out = lines;
    lines = (struct lines){0};
cleanup:
    free(lines.bytes);
    free(lines.line);
    return status;
}

/* A finite number and nothing else. */
static bool parse_number(const char *text, double *out) {
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    while (*end == ' ' || *end == '\t') {
        end++;
    }
    if (end == text || *end != '\0' || !isfinite(value)) return false;
    *out = value;
    return true;
}

static bool is_class(double value) {
    return value >= 0 && value < MAX_CLASSES && value == floor(value);
}

static bool all_classes(const struct lines *lines) {
    double value;
    for (size_t i = 0; i < lines->count; i++) {
        if (lines->line[i][0] == '\0') continue;
        if (!parse_number(lines->line[i], &value) || !is_class(value)) return false;
    }
    return true;
}

/* --- numbers --- */

/* Class numbers: as many classes as the largest asks for, or as the reader knows. */
static nvdp_status count_classes(struct nvdp_context *ctx, const char *path,
                                 const struct nvdp__labels *like, struct nvdp__labels *labels) {
    size_t classes = 0;
    for (size_t i = 0; i < labels->count; i++) {
        double value = labels->value[i];
        if (isnan(value)) continue;
        if (!is_class(value))
            return nvdp__fail(
                ctx, NVDP_ERR_INPUT,
                "%s: label %zu: expected a class number from 0, found %g: scores need "
                "--regression",
                path, i + 1, value);
        if ((size_t)value >= classes) classes = (size_t)value + 1;
    }
    if (like != NULL && classes > like->classes)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected class numbers below %zu, found %zu",
                          path, like->classes, classes - 1);
    labels->classes = like != NULL ? like->classes : classes;
    return NVDP_OK;
}

static nvdp_status parse_numbers(struct nvdp_context *ctx, const char *path,
                                 const struct lines *lines, struct nvdp__labels *labels) {
    for (size_t i = 0; i < lines->count; i++) {
        double value = NAN;
        if (lines->line[i][0] != '\0' && !parse_number(lines->line[i], &value))
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s:%zu: expected a number, found '%.*s'", path,
                              i + 1, QUOTED, lines->line[i]);
        labels->value[i] = (float)value;
    }
    return NVDP_OK;
}

/* --- words --- */

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The distinct words, sorted; into memory of their own. */
static nvdp_status collect_names(struct nvdp_context *ctx, const char *path,
                                 const struct lines *lines, struct nvdp__labels *labels) {
    nvdp_status status = NVDP_OK;
    char **sorted = nvdp__calloc(ctx, lines->count, sizeof *sorted);
    size_t count = 0;
    if (sorted == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < lines->count; i++) {
        if (lines->line[i][0] != '\0') sorted[count++] = lines->line[i];
    }
    qsort(sorted, count, sizeof *sorted, by_bytes);
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0) sorted[distinct++] = sorted[i];
    }
    if (distinct > MAX_CLASSES)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT,
                            "%s: expected at most %d different labels, found %zu", path,
                            MAX_CLASSES, distinct));
    labels->name = nvdp__calloc(ctx, distinct, sizeof *labels->name);
    if (labels->name == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    for (size_t i = 0; i < distinct; i++) {
        labels->name[i] = nvdp__strdup(ctx, sorted[i]);
        if (labels->name[i] == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
        labels->classes = i + 1;
    }
cleanup:
    free(sorted);
    return status;
}

static nvdp_status match_names(struct nvdp_context *ctx, const char *path,
                               const struct lines *lines, const struct nvdp__labels *names,
                               struct nvdp__labels *labels) {
    for (size_t i = 0; i < lines->count; i++) {
        labels->value[i] = NAN;
        if (lines->line[i][0] == '\0') continue;
        char **found =
            bsearch(&lines->line[i], names->name, names->classes, sizeof *names->name, by_bytes);
        if (found == NULL)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s:%zu: expected a label that the reader was trained on, found "
                              "'%.*s'",
                              path, i + 1, QUOTED, lines->line[i]);
        labels->value[i] = (float)(found - names->name);
    }
    return NVDP_OK;
}

static nvdp_status parse_words(struct nvdp_context *ctx, const char *path,
                               const struct lines *lines, const struct nvdp__labels *like,
                               struct nvdp__labels *labels) {
    if (like != NULL && like->name == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected class numbers, as the reader was trained on, found words",
                          path);
    if (like == NULL) NVDP_RETURN_IF_FAILED(collect_names(ctx, path, lines, labels));
    NVDP_RETURN_IF_FAILED(match_names(ctx, path, lines, like != NULL ? like : labels, labels));
    if (like != NULL) labels->classes = like->classes;
    return NVDP_OK;
}

/* --- both --- */

static nvdp_status from_text(struct nvdp_context *ctx, const char *path, size_t texts,
                             bool regression, const struct nvdp__labels *like,
                             struct nvdp__labels *labels) {
    nvdp_status status = NVDP_OK;
    struct lines lines = {0};
    NVDP_TRY(read_lines(ctx, path, &lines));
    if (lines.count != texts)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected %zu lines, one a text, found %zu",
                            path, texts, lines.count));
    labels->value = nvdp__calloc(ctx, texts, sizeof *labels->value);
    if (labels->value == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    labels->count = texts;
    bool words = like != NULL ? like->name != NULL : !all_classes(&lines);
    if (!regression && words) {
        NVDP_TRY(parse_words(ctx, path, &lines, like, labels));
        goto cleanup;
    }
    NVDP_TRY(parse_numbers(ctx, path, &lines, labels));
    labels->classes = 1;
    if (!regression) NVDP_TRY(count_classes(ctx, path, like, labels));
cleanup:
    free(lines.bytes);
    free(lines.line);
    return status;
}

static nvdp_status from_embeddings(struct nvdp_context *ctx, const char *path,
                                   const struct nvdp__embeddings *embeddings, bool regression,
                                   const struct nvdp__labels *like, struct nvdp__labels *labels) {
    size_t texts = embeddings->shape.texts;
    if (embeddings->label == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: dataset 'label' is missing: give the labels in a file", path);
    labels->value = nvdp__calloc(ctx, texts, sizeof *labels->value);
    if (labels->value == NULL) return NVDP_ERR_MEMORY;
    memcpy(labels->value, embeddings->label, texts * sizeof *labels->value);
    labels->count = texts;
    labels->classes = 1;
    return regression ? NVDP_OK : count_classes(ctx, path, like, labels);
}

nvdp_status nvdp__labels_read(struct nvdp_context *ctx, const char *path,
                              const char *embeddings_path,
                              const struct nvdp__embeddings *embeddings, bool regression,
                              const struct nvdp__labels *like, struct nvdp__labels *out) {
    struct nvdp__labels labels = {0};
    nvdp_status status =
        path != NULL ? from_text(ctx, path, embeddings->shape.texts, regression, like, &labels)
                     : from_embeddings(ctx, embeddings_path, embeddings, regression, like, &labels);
    if (status != NVDP_OK) {
        nvdp__labels_release(&labels);
        return status;
    }
    *out = labels;
    return NVDP_OK;
}

void nvdp__labels_release(struct nvdp__labels *labels) {
    for (size_t i = 0; labels->name != NULL && i < labels->classes; i++) {
        free(labels->name[i]);
    }
    free(labels->name);
    free(labels->value);
    *labels = (struct nvdp__labels){0};
}
