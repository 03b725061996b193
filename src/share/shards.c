/* Lists the shards of a release and checks that they belong together; reads them as one. */
#include "share/shards.h"
#include "base/own.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

const char *nvdp__shard_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

void nvdp__shards_close(struct nvdp__shards *shards) {
    for (size_t i = 0; i < shards->count; i++)
        free(shards->path[i]);
    free(shards->path);
    *shards = (struct nvdp__shards){0};
}

/* --- the files of a folder --- */

static bool is_shard(const char *name) {
    for (size_t i = 0; nvdp__formats[i] != NULL; i++)
        if (nvdp__ends_with(name, nvdp__formats[i]->extension)) return name[0] != '.';
    return false;
}

bool nvdp__shards_in(const char *folder) {
    DIR *opened = opendir(folder);
    bool found = false;
    for (const struct dirent *entry; opened != NULL && (entry = readdir(opened)) != NULL;)
        found = found || is_shard(entry->d_name);
    if (opened != NULL) closedir(opened);
    return found;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static nvdp_status list(struct nvdp_context *ctx, const char *folder, DIR *opened,
                        struct nvdp__shards *out) {
    size_t capacity = 0;
    bool run = false;
    for (const struct dirent *entry; (entry = readdir(opened)) != NULL;) {
        run = run || strcmp(entry->d_name, "run.json") == 0;
        if (!is_shard(entry->d_name)) continue;
        NVDP_TRY(nvdp__reserve(ctx, &out->path, &capacity, out->count + 1, sizeof *out->path));
        char *path = nvdp__join(ctx, folder, entry->d_name);
        if (path == NULL) return NVDP_ERR_MEMORY;
        out->path[out->count++] = path;
    }
    if (out->count == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected a folder with the files of a release (.h5, .safetensors or "
                          ".parquet), found %s",
                          folder, run ? "a run; nvdp export writes a file of its samples" : "none");
    qsort(out->path, out->count, sizeof *out->path, by_name);
    return NVDP_OK;
}

/* --- one run and one mechanism --- */

/* Attributes that describe a single file.  Those that begin with bdp_ or divergence_ are measurements, except the
 * bound, which is proven. */
bool nvdp__shard_attribute(const char *name) {
    static const char *const names[] = {
        "texts",          "ledger",       "created",         "signature",        "statement",
        "training_texts", "nvdp_version", "statement_words", "weights_distance", "public_texts"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return nvdp__attribute_is_old(name) || strncmp(name, "bdp_", 4) == 0 ||
           (strncmp(name, "divergence_", 11) == 0 && strncmp(name, "divergence_bound", 16) != 0);
}

/* Finds an attribute of `a` that `b` lacks or has with another value. */
static const struct nvdp__attribute *differing(const struct nvdp__attributes *a,
                                               const struct nvdp__attributes *b) {
    for (size_t i = 0; i < a->count; i++) {
        const char *name = a->item[i].name;
        const struct nvdp__attribute *other = nvdp__attributes_get(b, name);
        if (!nvdp__shard_attribute(name) &&
            (other == NULL || strcmp(other->text, a->item[i].text) != 0))
            return &a->item[i];
    }
    return NULL;
}

static nvdp_status compare(struct nvdp_context *ctx, const struct nvdp__release *first,
                           const struct nvdp__release *other) {
    const struct nvdp__attribute *found = differing(&first->attributes, &other->attributes);
    if (found == NULL) found = differing(&other->attributes, &first->attributes);
    if (found == NULL) return NVDP_OK;
    const struct nvdp__attribute *a = nvdp__attributes_get(&first->attributes, found->name);
    const struct nvdp__attribute *b = nvdp__attributes_get(&other->attributes, found->name);
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: attribute '%.64s': expected '%.64s' as in %s, found '%.64s'; a folder "
                      "holds the files of one release, written by one run with the same {model-id}",
                      other->path, found->name, a != NULL ? a->text : "none",
                      nvdp__shard_name(first->path), b != NULL ? b->text : "none");
}

static nvdp_status check_all(struct nvdp_context *ctx, const struct nvdp__shards *shards) {
    nvdp__auto(nvdp__release_close) struct nvdp__release first = {0}, other = {0};
    NVDP_TRY(nvdp__release_read(ctx, nvdp__formats, shards->path[0], &first));
    for (size_t i = 1; i < shards->count; i++) {
        NVDP_TRY(nvdp__release_read(ctx, nvdp__formats, shards->path[i], &other));
        NVDP_TRY(compare(ctx, &first, &other));
        nvdp__release_close(&other);
    }
    return NVDP_OK;
}

nvdp_status nvdp__shards_open(struct nvdp_context *ctx, const char *path,
                              struct nvdp__shards *out) {
    nvdp__auto(nvdp__shards_close) struct nvdp__shards made = {0};
    nvdp__autoptr(closedir) DIR *opened = nvdp__is_directory(path) ? opendir(path) : NULL;
    if (opened == NULL) {
        NVDP_TRY(NVDP__NEW(ctx, made.path, 1));
        made.path[0] = nvdp__strdup(ctx, path);
        if (made.path[0] == NULL) return NVDP_ERR_MEMORY;
        made.count = 1;
    } else {
        NVDP_TRY(list(ctx, path, opened, &made));
        NVDP_TRY(check_all(ctx, &made));
    }
    *out = made;
    made = (struct nvdp__shards){0};
    return NVDP_OK;
}

/* --- as one --- */

/* A dataset of two files: an array of `have` items that grows by `more` items of `from`. */
struct part {
    const char *name;
    void **array;
    const void *from;
    size_t have, more, size;
};

static nvdp_status append(struct nvdp_context *ctx, const char *path, const struct part *part) {
    size_t bytes;
    if ((*part->array == NULL) != (part->from == NULL))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected %s dataset '%s' as in the files before, found %s", path,
                          part->from == NULL ? "the" : "no", part->name,
                          part->from == NULL ? "none" : "one");
    if (part->from == NULL) return NVDP_OK;
    void *made = part->have <= SIZE_MAX - part->more &&
                         nvdp__mul(part->have + part->more, part->size, &bytes)
                     ? realloc(*part->array, bytes > 0 ? bytes : 1)
                     : NULL;
    if (made == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path);
    memcpy((char *)made + part->have * part->size, part->from, part->more * part->size);
    *part->array = made;
    return NVDP_OK;
}

/* Adds the texts of `more`, which has the same attributes. */
static nvdp_status join(struct nvdp_context *ctx, const char *path, struct nvdp__embeddings *to,
                        const struct nvdp__embeddings *more) {
    struct nvdp__embeddings_shape *a = &to->shape;
    const struct nvdp__embeddings_shape *b = &more->shape;
    const size_t had = a->texts * a->samples, adds = b->texts * b->samples;
    if (a->dim != b->dim || a->sample_rows != b->sample_rows)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected samples of %zu rows of width %zu as in the files before, "
                          "found %zu rows of width %zu",
                          path, a->sample_rows, a->dim, b->sample_rows, b->dim);
    void *log_pi = to->log_pi, *label = to->label, *split = to->split, *id = to->id;
    void *offset = to->offset;
    const struct part parts[] = {
        {"z", &to->z, more->z, a->rows * a->dim, b->rows * b->dim, nvdp__embeddings_item(a)},
        {"log_pi", &log_pi, more->log_pi, a->rows, b->rows, sizeof *to->log_pi},
        {"label", &label, more->label, a->texts, b->texts, sizeof *to->label},
        {"split", &split, more->split, a->texts, b->texts, sizeof *to->split},
        {"id", &id, more->id, a->texts, b->texts, sizeof *to->id},
        {"offset", &offset, more->offset + 1, had + 1, adds, sizeof *to->offset},
    };
    nvdp_status status = NVDP_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == NVDP_OK; i++)
        status = append(ctx, path, &parts[i]);
    to->log_pi = log_pi; /* also after a failure: an array may have moved */
    to->label = label;
    to->split = split;
    to->id = id;
    to->offset = offset;
    if (status != NVDP_OK) return status;
    for (size_t k = 1; k <= adds; k++)
        to->offset[had + k] += (int64_t)a->rows;
    a->texts += b->texts;
    a->rows += b->rows;
    return NVDP_OK;
}

nvdp_status nvdp__embeddings_read(struct nvdp_context *ctx, const char *path,
                                  struct nvdp__embeddings **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__shards shards = {0};
    struct nvdp__embeddings *all = NULL, *more = NULL;
    NVDP_TRY_OR_CLEAN(nvdp__shards_open(ctx, path, &shards));
    for (size_t i = 0; i < shards.count; i++) {
        struct nvdp__release release = {0};
        NVDP_TRY_OR_CLEAN(nvdp__release_read(ctx, nvdp__formats, shards.path[i], &release));
        status = nvdp__embeddings_take(&release, NULL, NULL, all == NULL ? &all : &more);
        nvdp__release_close(&release);
        NVDP_TRY_OR_CLEAN(status);
        if (more == NULL) continue;
        NVDP_TRY_OR_CLEAN(join(ctx, shards.path[i], all, more));
        nvdp__embeddings_free(more);
        more = NULL;
    }
    NVDP__HAND_OVER(out, all);
cleanup:
    nvdp__embeddings_free(all);
    nvdp__embeddings_free(more);
    nvdp__shards_close(&shards);
    return status;
}
