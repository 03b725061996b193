/* Loads a model folder's weights into the declared parameters and saves them; creates new models with
 * random weights. */
#include "encoder/checkpoint.h"
#include "encoder/encoder.h"
#include "encoder/safetensors.h"

#include "base/array.h"
#include "base/file.h"
#include "base/sentence.h"
#include "encoder/row.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 14, NAME_SIZE = 160, SHAPE_SIZE = 256, FEW = 3, GROUPS = 12, LIST_SIZE = 2400 };

/* Names for one notice: a few names are listed, and the other names are counted per part of the model. */
struct group {
    const char *name; /* not NUL-terminated */
    size_t length;
    size_t count;
};
struct list {
    const char *few[FEW];
    struct group group[GROUPS];
    size_t groups, count, grouped;
};

/* Returns the encoder whose prefix a name has; NULL if there is none. */
static const struct nvdp__encoder_row *encoder_by_prefix(const char *name) {
    for (size_t i = 0; nvdp__encoders[i] != NULL; i++) {
        const char *prefix = nvdp__encoders[i]->names.prefix;
        size_t length = strlen(prefix);
        if (strncmp(name, prefix, length) == 0 && name[length] == '.') return nvdp__encoders[i];
    }
    return NULL;
}

/* Returns a name without the encoder's prefix. */
static const char *bare_name(const char *name) {
    const struct nvdp__encoder_row *row = encoder_by_prefix(name);
    return row != NULL ? name + strlen(row->names.prefix) + 1 : name;
}

/* Adds `name` to a list, without copying it. */
static void list_add(struct list *list, const char *name) {
    if (list->count < FEW) list->few[list->count] = name;
    list->count++;
    const char *bare = bare_name(name);
    /* length of the name of a model part: nvib, cls, bert.pooler */
    const size_t length = (size_t)(bare - name) + strcspn(bare, ".");
    size_t at = 0;
    while (at < list->groups &&
           (list->group[at].length != length || memcmp(list->group[at].name, name, length) != 0)) {
        at++;
    }
    if (at == GROUPS) return;
    if (at == list->groups) list->group[list->groups++] = (struct group){name, length, 0};
    list->group[at].count++;
    list->grouped++;
}

static void list_notice(struct nvdp_context *ctx, const struct list *list, const char *path,
                        const char *what) {
    if (list->count == 0) return;
    char text[LIST_SIZE] = "";
    struct nvdp__writer to = {text, sizeof text, 0};
    for (size_t i = 0; list->count <= FEW && i < list->count; i++)
        nvdp__append(&to, "%s%s", i > 0 ? ", " : "", list->few[i]);
    for (size_t i = 0; list->count > FEW && i < list->groups; i++) {
        const struct group *group = &list->group[i];
        /* the name of an unknown tensor may have any length */
        int length = group->length < NAME_SIZE ? (int)group->length : NAME_SIZE;
        nvdp__append(&to, "%s%.*s%s (%zu)", i > 0 ? ", " : "", length, group->name,
                     group->name[group->length] != '\0' ? ".*" : "", group->count);
    }
    if (list->count > FEW && list->grouped < list->count)
        nvdp__append(&to, " and %zu more", list->count - list->grouped);
    nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: %zu tensor%s %s: %s", path, list->count,
              list->count == 1 ? "" : "s", what, text);
}

struct loading {
    const struct nvdp__device *dev;
    const char *path;
    struct nvdp__weight_files *file;
    const struct nvdp__params *params;
    float *to;            /* [params->total] destination */
    unsigned among, want; /* only tensors whose flags, masked by `among`, equal `want` are read */
    bool quiet;           /* true to log no notices */
    /* [params->count] tensor in the file; NULL if the file has none */
    const struct nvdp__weight **source;
    bool *used; /* [tensors of the file] true if the tensor was used */
    struct list missing, unknown;
};

static bool has_tail(const char *name, const char *tail) {
    return strcmp(name, tail) == 0 || nvdp__ends_with(name, tail);
}

/* Writes a name with the older names of LayerNorm's parameters: gamma for weight, beta for bias. Returns false if
 * the name has no older form. */
static bool older_name(const char *name, char older[NAME_SIZE]) {
    static const char *const rename[][2] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                                            {"LayerNorm.bias", "LayerNorm.beta"}};
    for (int i = 0; i < 2; i++) {
        if (!has_tail(name, rename[i][0])) continue;
        nvdp__snprintf(older, NAME_SIZE, "%.*s%s", (int)(strlen(name) - strlen(rename[i][0])), name,
                       rename[i][1]);
        return true;
    }
    return false;
}

/* Finds the file's tensor for a declared name: the name itself, the name without the encoder's prefix, or with the
 * older names. An encoder over the words of another model accepts the word embeddings of any model type. */
static const struct nvdp__weight *find(const struct nvdp__weight_files *file, const char *name) {
    const char *const spelling[] = {name, bare_name(name)};
    for (int i = 0; i < 2; i++) {
        const struct nvdp__weight *found = nvdp__weights_find_tensor(file, spelling[i]);
        char older[NAME_SIZE];
        if (found == NULL && older_name(spelling[i], older))
            found = nvdp__weights_find_tensor(file, older);
        if (found != NULL) return found;
    }
    const struct nvdp__encoder_row *row = encoder_by_prefix(name);
    static const char words[] = ".word_embeddings.weight";
    if (row == NULL || row->over_words == NULL || strstr(name, words) == NULL) return NULL;
    for (size_t i = 0; nvdp__encoders[i] != NULL; i++) {
        char other[NAME_SIZE];
        const struct nvdp__names *names = &nvdp__encoders[i]->names;
        nvdp__snprintf(other, sizeof other, "%s.%s.weight", names->prefix, nvdp__words_name(names));
        const struct nvdp__weight *found = nvdp__weights_find_tensor(file, other);
        if (found == NULL)
            found = nvdp__weights_find_tensor(file, other + strlen(names->prefix) + 1);
        if (found != NULL) return found;
    }
    return NULL;
}

static const char *shape_text(int rank, const size_t *shape, char text[SHAPE_SIZE]) {
    struct nvdp__writer to = {text, SHAPE_SIZE, 0};
    nvdp__append(&to, "[");
    for (int i = 0; i < rank; i++)
        nvdp__append(&to, "%s%zu", i > 0 ? ", " : "", shape[i]);
    nvdp__append(&to, "]");
    return text;
}

/* Fails because the file lacks a tensor. If the file has the name with another prefix, the message has that name. */
static nvdp_status fail_missing(const struct loading *loading, const char *name,
                                const char *expected) {
    const char *bare = bare_name(name), *other = NULL;
    const size_t length = strlen(bare);
    for (size_t i = 0; other == NULL && i < loading->file->count; i++) {
        const char *have = loading->file->tensor[i].info.name;
        const size_t size = strlen(have);
        if (size > length && have[size - length - 1] == '.' && nvdp__ends_with(have, bare))
            other = have;
    }
    if (other == NULL)
        return nvdp__fail(loading->params->ctx, NVDP_ERR_INPUT,
                          "%s: tensor '%s': expected shape %s, found none", loading->path, name,
                          expected);
    return nvdp__fail(loading->params->ctx, NVDP_ERR_INPUT,
                      "%s: tensor '%s': expected shape %s, found none of this name, but '%.200s'; "
                      "rename the tensors, or correct 'model_type' of config.json",
                      loading->path, name, expected, other);
}

/* Returns true for a tensor of a layer beyond the declared layers, that is, if layer 0 has the same tensor. */
static bool is_deeper(const struct nvdp__params *params, const char *name) {
    char first[NAME_SIZE];
    const char *at = name;
    while (*at != '\0' && (*at != '.' || at[1] < '0' || at[1] > '9'))
        at++;
    if (*at == '\0') return false;
    nvdp__snprintf(first, sizeof first, "%.*s0%s",
                   (int)nvdp__min((size_t)(at + 1 - name), NAME_SIZE), name,
                   at + 1 + strspn(at + 1, "0123456789"));
    for (size_t i = 0; i < params->count; i++) {
        const char *own = params->entry[i].name;
        if (strcmp(own, first) == 0 || strcmp(bare_name(own), first) == 0) return true;
    }
    return false;
}

static nvdp_status match(struct loading *loading, size_t index) {
    struct nvdp_context *ctx = loading->params->ctx;
    const struct nvdp__param *param = &loading->params->entry[index];
    const struct nvdp__weight *weight = find(loading->file, param->name);
    const bool optional = (param->flags & NVDP__PARAM_OPTIONAL) != 0;
    char expected[SHAPE_SIZE], have[SHAPE_SIZE];
    shape_text(param->rank, param->shape, expected);
    if (weight == NULL && optional) {
        list_add(&loading->missing, param->name);
        return NVDP_OK;
    }
    if (weight == NULL) return fail_missing(loading, param->name, expected);
    const struct nvdp__tensor_info *found = &weight->info;
    loading->used[weight - loading->file->tensor] = true;
    if (weight->row != NULL) loading->used[weight->row - loading->file->tensor] = true;
    if (weight->factor != NULL) loading->used[weight->factor - loading->file->tensor] = true;
    bool fits = found->rank == param->rank &&
                memcmp(found->shape, param->shape, (size_t)param->rank * sizeof *param->shape) == 0;
    /* Parameters above the encoder are initialized if the checkpoint has them in another shape, for example the
     * classifier of another task. */
    if (!fits && !(optional && bare_name(param->name) == param->name))
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: tensor '%s': expected shape %s, found %s",
                          weight->path, found->name, expected,
                          shape_text(found->rank, found->shape, have));
    if (!fits) {
        /* a classifier behind a bottleneck reads fewer numbers, so it is always new */
        const bool behind =
            param->rank == 2 && found->rank == 2 && param->shape[1] != found->shape[1];
        if (!loading->quiet && !behind)
            nvdp__log(ctx, NVDP_LOG_NOTICE,
                      "%s: tensor '%s': expected shape %s, found %s; initialized", weight->path,
                      found->name, expected, shape_text(found->rank, found->shape, have));
        return NVDP_OK;
    }
    if (found->dtype > NVDP__DTYPE_BF16) /* the tensor has integers */
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: tensor '%s': expected F64, F32, F16 or BF16, found %s", weight->path,
                          found->name, nvdp__dtype_name(found->dtype));
    loading->source[index] = weight;
    return NVDP_OK;
}

static nvdp_status load_tensor(struct loading *loading, size_t index, float *chunk) {
    const struct nvdp__weight *from = loading->source[index];
    float *to = loading->to + loading->params->entry[index].offset;
    for (size_t first = 0; first < from->info.count; first += CHUNK) {
        const size_t count = nvdp__min(from->info.count - first, CHUNK);
        nvdp__weight_read_f32(from, first, count, chunk);
        for (size_t i = 0; i < count; i++) {
            if (!isfinite(chunk[i]))
                return nvdp__fail(loading->params->ctx, NVDP_ERR_INPUT,
                                  "%s: tensor '%s': expected finite numbers, found %g at element "
                                  "%zu",
                                  from->path, from->info.name, (double)chunk[i], first + i);
        }
        nvdp__upload(loading->dev, count, chunk, to + first);
    }
    return NVDP_OK;
}

static nvdp_status read_file(struct loading *loading) {
    struct nvdp_context *ctx = loading->params->ctx;
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    nvdp__autoptr(nvdp__weights_close) struct nvdp__weight_files *file = NULL;
    float *chunk = NULL;
    const char *deeper = NULL;
    NVDP_TRY(nvdp__weights_open_file(ctx, loading->path, &file));
    loading->file = file;
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(loading->source, loading->params->count),
                          NVDP__ITEMS(loading->used, file->count), NVDP__ITEMS(chunk, CHUNK)));
    for (size_t i = 0; i < loading->params->count; i++)
        NVDP_TRY(match(loading, i)); /* all tensors are checked before any value changes */
    for (size_t i = 0; i < loading->params->count; i++) {
        bool wanted = (loading->params->entry[i].flags & loading->among) == loading->want;
        if (loading->source[i] != NULL && wanted) NVDP_TRY(load_tensor(loading, i, chunk));
    }
    for (size_t i = 0; i < file->count; i++) {
        const char *name = file->tensor[i].info.name;
        /* older files have a PyTorch buffer with the positions 0, 1, 2, ... */
        if (loading->used[i] || has_tail(name, "embeddings.position_ids")) continue;
        list_add(&loading->unknown, name);
        if (deeper == NULL && is_deeper(loading->params, name)) deeper = name;
    }
    if (loading->quiet) return NVDP_OK;
    list_notice(ctx, &loading->missing, loading->path, "missing, initialized");
    list_notice(ctx, &loading->unknown, loading->path, "not used");
    if (deeper != NULL)
        nvdp__log(ctx, NVDP_LOG_WARNING,
                  "%s: tensor '%s': the file has more layers than config.json states, and they are "
                  "not used",
                  loading->path, deeper);
    return NVDP_OK;
}

nvdp_status nvdp__checkpoint_load_file(const struct nvdp__device *dev, const char *path,
                                       struct nvdp__params *params) {
    struct loading loading = {.dev = dev, .path = path, .params = params, .to = params->value};
    nvdp_status status = read_file(&loading);
    nvdp__weights_changed(dev); /* even if loading failed halfway */
    return status;
}

/* Finds the path of a directory's weights, which the caller frees with free(). Fails for the model of an unfinished
 * run. */
static nvdp_status find_weights(struct nvdp_context *ctx, const char *directory, char **path) {
    NVDP_TRY(nvdp__outdir_check_model(ctx, directory));
    return nvdp__weights_find(ctx, directory, path);
}

nvdp_status nvdp__checkpoint_load(const struct nvdp__device *dev, const char *directory,
                                  struct nvdp__params *params) {
    nvdp__autofree char *path = NULL;
    NVDP_TRY(find_weights(params->ctx, directory, &path));
    return nvdp__checkpoint_load_file(dev, path, params);
}

nvdp_status nvdp__checkpoint_values(const struct nvdp__device *dev, const char *directory,
                                    const struct nvdp__params *params, bool frozen, float *to) {
    nvdp__autofree char *path = NULL;
    NVDP_TRY(find_weights(params->ctx, directory, &path));
    struct loading loading = {.dev = dev,
                              .path = path,
                              .params = params,
                              .to = to,
                              .among = NVDP__PARAM_FROZEN,
                              .want = frozen ? NVDP__PARAM_FROZEN : 0,
                              .quiet = true};
    return read_file(&loading);
}

struct saving {
    const struct nvdp__device *dev;
    const struct nvdp__params *params;
};

static void fetch(size_t index, size_t first, size_t n, void *out, void *user) {
    const struct saving *saving = user;
    nvdp__download(saving->dev, n, nvdp__value(saving->params, index) + first, out);
}

nvdp_status nvdp__checkpoint_save(const struct nvdp__device *dev, const char *directory,
                                  const struct nvdp__params *params) {
    return nvdp__checkpoint_save_as(dev, directory, params, NVDP__DTYPE_F32);
}

nvdp_status nvdp__checkpoint_save_as(const struct nvdp__device *dev, const char *directory,
                                     const struct nvdp__params *params, enum nvdp__dtype dtype) {
    /* the library transformers requires this entry */
    static const char *const metadata[] = {"format", "pt", NULL};
    struct saving saving = {dev, params};
    nvdp__autofree struct nvdp__tensor_source *source = NULL;
    NVDP_TRY(NVDP__NEW(params->ctx, source, params->count));
    for (size_t i = 0; i < params->count; i++) {
        const struct nvdp__param *param = &params->entry[i];
        source[i] =
            (struct nvdp__tensor_source){.name = param->name, .dtype = dtype, .rank = param->rank};
        memcpy(source[i].shape, param->shape, sizeof param->shape);
    }
    return nvdp__safetensors_stream(params->ctx, nvdp__path(directory, NVDP__WEIGHTS_FILE).text,
                                    params->count, source, metadata, fetch, &saving);
}

/* ---- a BERT with random weights, as a Hugging Face directory ---- */

enum { VOCABULARY_LIMIT = 1 << 28 };

static size_t count_lines(const char *text, size_t size) {
    size_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines + (size > 0 && text[size - 1] != '\n');
}

nvdp_status nvdp_bert_create_random(struct nvdp_context *ctx, const struct nvdp_bert_config *given,
                                    uint64_t seed, const char *vocab_path, const char *directory) {
    struct nvdp_bert_config whole, *config = &whole;
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    nvdp__auto(nvdp__bert_release) struct nvdp__bert bert = {0};
    nvdp__auto(nvdp__params_release) struct nvdp__params params = {0};
    nvdp__autofree char *vocabulary = NULL;
    size_t size = 0;
    NVDP_TRY(nvdp__bert_config_take(ctx, given, &whole));
    NVDP_TRY(nvdp__bert_config_check(ctx, config));
    if (!nvdp__directory_empty(directory))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "%s: expected a new or empty directory, found files in it", directory);
    if (vocab_path != NULL) {
        NVDP_TRY(nvdp__read_file(ctx, vocab_path, VOCABULARY_LIMIT, &vocabulary, &size));
        size_t lines = count_lines(vocabulary, size);
        if (lines != config->vocab_size)
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected %zu lines, found %zu", vocab_path,
                              config->vocab_size, lines);
    }
    NVDP_TRY(nvdp__make_directory(ctx, directory));
    nvdp__params_init(&params, ctx);
    NVDP_TRY(nvdp__bert_declare(&bert, config, true, &params));
    NVDP_TRY(nvdp__params_allocate(&params, false));
    bert.row->initialize(&bert, &dev, &params, seed);
    NVDP_TRY(nvdp__checkpoint_save(&dev, directory, &params));
    if (vocabulary != NULL)
        NVDP_TRY(nvdp__write_file(ctx, nvdp__path(directory, "vocab.txt").text, vocabulary, size));
    return nvdp__bert_config_write(ctx, directory, config, "BertModel", NULL);
}
