/* Names, labels, reads and lists the privacy reports of a run (measured.h,
 * include/nvdp/measured.h), so that a run can hold several reports with different options. The
 * first part serves writing, the second reading. */
#include "train/run.h"

#include "base/cache.h"
#include "base/json.h"
#include "base/own.h"
#include "options/schema.h"
#include "rdp/options.h"

#include <nvdp/measured.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The options on which a report depends, in addition to those of the measures. */
static const char *const of_texts[] = {"split", "limit"};
enum { OF_TEXTS = sizeof of_texts / sizeof *of_texts };

/* Returns the i-th option on which a report depends, with *value NULL if it is unset or has its
 * default. Returns false beyond the last option. */
static bool setting(const struct nvdp_config *config, size_t i, const char **name,
                    const char **value) {
    struct nvdp__place place;
    if (i < OF_TEXTS) {
        *name = of_texts[i];
    } else {
        if (!nvdp__schema_row(&nvdp__privacy_schema, i - OF_TEXTS, &place)) return false;
        *name = place.row->name;
    }
    *value = NULL;
    for (size_t k = 0; *value == NULL && k < nvdp_config_count(config); k++) {
        const struct nvdp_option *row = nvdp_config_option(config, k);
        const char *found, *usual = row->default_value;
        if (strcmp(row->name, *name) != 0 || row->sets != NULL) continue;
        if (usual == NULL)
            usual = row->type == NVDP_OPTION_FLAG     ? "false"
                    : row->type == NVDP_OPTION_CHOICE ? row->choices[0]
                                                      : "";
        found = nvdp_config_get(config, *name);
        if (found != NULL && strcmp(found, usual) != 0) *value = found;
    }
    return true;
}

nvdp_status nvdp_measured_name(struct nvdp_context *ctx, const struct nvdp_config *config,
                               const char *stem, char **out) {
    enum { LONGEST = 120 };
    const char *name, *value;
    char *made = NULL, hex[NVDP__DIGEST_HEX];
    size_t size = 0;
    FILE *to = open_memstream(&made, &size);
    for (size_t i = 0; to != NULL && setting(config, i, &name, &value); i++) {
        if (value == NULL) continue;
        const bool flag = strcmp(value, "true") == 0;
        nvdp__fprintf(to, flag ? "-%s" : "-%s-", name);
        static const char plain[] =
            ".0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        for (const char *c = flag ? "" : value; *c != '\0'; c++)
            fputc(strchr(plain, *c) != NULL ? *c : '_', to);
    }
    if (to == NULL || fclose(to) != 0) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    if (size > LONGEST) { /* long lists are replaced by a digest */
        struct nvdp__digest digest;
        nvdp__digest_begin(&digest);
        nvdp__digest_text(&digest, made);
        nvdp__digest_end(&digest, hex);
        nvdp__snprintf(made, size, "-%.12s", hex);
    }
    *out = nvdp__format(ctx, "%s%s.json", stem, made);
    free(made);
    return *out != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

nvdp_status nvdp_measured_label(struct nvdp_context *ctx, const struct nvdp_config *config,
                                char **text) {
    const char *name, *value, *limit = nvdp_config_get(config, "limit");
    json_t *report = json_loads(*text, 0, NULL);
    if (!json_is_object(report)) {
        json_decref(report);
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "privacy report: expected one JSON object");
    }
    json_t *settings = json_object();
    for (size_t i = 0; setting(config, i, &name, &value); i++)
        if (value != NULL) json_object_set_new(settings, name, json_string(value));
    json_object_set_new(report, "settings", settings);
    const json_t *n = json_object_get(report, "n");
    if (n != NULL) {
        const size_t max_texts = limit != NULL ? (size_t)strtoull(limit, NULL, 10) : 0;
        json_object_set_new(
            report, "complete",
            json_boolean(max_texts == 0 || (size_t)json_integer_value(n) < max_texts));
    }
    char *made = NULL;
    NVDP_TRY(nvdp__json_text(ctx, report, "privacy report", &made));
    free(*text);
    *text = made;
    return NVDP_OK;
}

/* ---- reading ---- */

/* Accepts privacy.json and the names that nvdp_measured_name() makes. */
static int is_measurement(const struct dirent *entry) {
    static const char of_names[] =
        "-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const char *name = entry->d_name;
    const size_t length = strlen(name);
    return strcmp(name, "privacy.json") == 0 ||
           (strncmp(name, "privacy-", 8) == 0 && length > 13 && strspn(name, of_names) == length &&
            strcmp(name + length - 5, ".json") == 0);
}

/* Sorts "privacy.json" first; byte order would not, because '-' is less than '.'. */
static int by_name(const struct dirent **a, const struct dirent **b) {
    const bool first = (*a)->d_name[7] == '.', second = (*b)->d_name[7] == '.';
    return first != second ? (int)second - (int)first : strcmp((*a)->d_name, (*b)->d_name);
}

/* Returns the number of texts in the default split; 0 if unknown, for example when training
 * scored only a part of them. */
static size_t texts_of(const json_t *run) {
    const json_t *config = json_object_get(run, "config");
    if (json_integer_value(json_object_get(config, "limit_dev")) > 0 ||
        json_integer_value(json_object_get(config, "folds")) > 0)
        return 0;
    return (size_t)json_integer_value(json_object_get(json_object_get(run, "data"), "test_texts"));
}

static nvdp_status add(struct nvdp_context *ctx, const char *directory, const char *name,
                       const json_t *run, struct nvdp__measurements *to) {
    struct nvdp__measurement *made;
    json_t *report = NULL;
    NVDP_TRY(nvdp__json_read_optional(ctx, directory, name, &report));
    if (report == NULL) return NVDP_OK; /* the file was removed in the meantime */
    nvdp_status status =
        nvdp__reserve(ctx, &to->list, &to->capacity, to->count + 1, sizeof *to->list);
    if (status != NVDP_OK) {
        json_decref(report);
        return status;
    }
    const json_t *releases = json_object_get(json_object_get(report, "bdp"), "releases");
    const json_t *complete = json_object_get(report, "complete");
    made = &to->list[to->count++];
    *made = (struct nvdp__measurement){.report = report, .name = nvdp__strdup(ctx, name)};
    made->texts = (size_t)json_integer_value(json_object_get(report, "n"));
    made->releases = json_is_number(releases) ? json_number_value(releases) : 1;
    if (json_object_get(json_object_get(report, "settings"), "split") == NULL)
        made->of_texts = texts_of(run);
    made->complete = complete != NULL ? json_is_true(complete)
                                      : made->texts == 0 || made->texts >= made->of_texts;
    return made->name != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

/* Sorts complete reports first, then reports of one sample. The sort is stable. */
static void sort(struct nvdp__measurements *all) {
    for (size_t i = 1; i < all->count; i++) {
        const struct nvdp__measurement moved = all->list[i];
        size_t to = i;
        for (; to > 0; to--) {
            const struct nvdp__measurement *before = &all->list[to - 1];
            if (2 * before->complete + (before->releases == 1) >=
                2 * moved.complete + (moved.releases == 1))
                break;
            all->list[to] = *before;
        }
        all->list[to] = moved;
    }
}

nvdp_status nvdp__measurements_read(struct nvdp_context *ctx, const char *directory,
                                    const json_t *run, struct nvdp__measurements *out) {
    struct dirent **entry = NULL;
    nvdp_status status = NVDP_OK;
    struct nvdp__measurements made = {0};
    const int count = scandir(directory, &entry, is_measurement, by_name);
    if (count < 0) return nvdp__fail_errno(ctx, errno, "%s: cannot list the directory", directory);
    for (int i = 0; i < count; i++) {
        if (status == NVDP_OK) status = add(ctx, directory, entry[i]->d_name, run, &made);
        free(entry[i]);
    }
    free(entry);
    if (status == NVDP_OK) sort(&made);
    if (status == NVDP_OK)
        *out = made;
    else
        nvdp__measurements_release(&made);
    return status;
}

void nvdp__measurements_release(struct nvdp__measurements *all) {
    for (size_t i = 0; i < all->count; i++) {
        free(all->list[i].name);
        json_decref(all->list[i].report);
    }
    free(all->list);
    *all = (struct nvdp__measurements){0};
}

nvdp_status nvdp_measured_list(struct nvdp_context *ctx, const char *run, char **out) {
    nvdp__auto(nvdp__measurements_release) struct nvdp__measurements all = {0};
    nvdp__autoptr(json_decref) json_t *records = NULL, *list = json_array();
    NVDP_TRY(nvdp__json_read_optional(ctx, run, "run.json", &records));
    NVDP_TRY(nvdp__measurements_read(ctx, run, records, &all));
    for (size_t i = 0; i < all.count; i++) {
        const struct nvdp__measurement *at = &all.list[i];
        json_array_append_new(
            list, json_pack("{s:s, s:b, s:I, s:o, s:f, s:O?}", "file", at->name, "complete",
                            at->complete, "texts", (json_int_t)at->texts, "of_texts",
                            at->of_texts > 0 ? json_integer((json_int_t)at->of_texts) : json_null(),
                            "releases", at->releases, "settings",
                            json_object_get(at->report, "settings")));
    }
    *out = json_dumps(list, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (*out == NULL || json_array_size(list) != all.count)
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "measurements: out of memory");
    return NVDP_OK;
}
