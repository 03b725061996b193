/* The weights of a model folder (checkpoint.h): finds the files, reads indexes of shards, and lists files of other
 * formats. */
#include "encoder/checkpoint.h"
#include "encoder/safetensors.h"

#include "base/array.h"
#include "base/cache.h"
#include "base/json.h"
#include "base/own.h"
#include "text/sentence_folder.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDEX_END ".index.json"
#define TORCH_FILE "pytorch_model.bin"
#define SAFETENSORS_INDEX NVDP__WEIGHTS_FILE INDEX_END
#define TORCH_INDEX TORCH_FILE INDEX_END
static const char *const file_names[] = {NVDP__WEIGHTS_FILE, SAFETENSORS_INDEX, TORCH_FILE,
                                         TORCH_INDEX};
enum { FILE_NAMES = sizeof file_names / sizeof file_names[0], MAX_SHARDS = 10000 };

/* One file, in either format. */
struct nvdp__weights_part {
    char *path;
    struct nvdp__safetensors *safetensors;
    struct nvdp__torch_file *torch;
};

/* ---- files ---- */

#define GIT_LFS "version https://git-lfs"

nvdp_status nvdp__map_file(struct nvdp_context *ctx, const char *path, size_t min, const char *what,
                           unsigned char **map, size_t *size) {
    struct stat info;
    char begin[sizeof GIT_LFS] = "";
    nvdp__auto(nvdp__close_owned) int fd = -1;
    NVDP_TRY(nvdp__open_regular(ctx, path, &fd));
    if (fstat(fd, &info) != 0) return nvdp__fail_errno(ctx, errno, "%s: cannot read", path);
    if (pread(fd, begin, sizeof begin - 1, 0) > 0 && strcmp(begin, GIT_LFS) == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected %s, found a Git LFS pointer to the file; run git lfs pull "
                          "in its folder, or download the file",
                          path, what);
    if ((size_t)info.st_size < min)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected %s of %zu bytes, found a file of %zu",
                          path, what, min, (size_t)info.st_size);
    void *mapped = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) return nvdp__fail_errno(ctx, errno, "%s: cannot map", path);
    *map = mapped;
    *size = (size_t)info.st_size;
    return NVDP_OK;
}

/* Files that hold a model in another format, and the next step. A pattern with "*" matches the end of a name. */
static const struct {
    const char *pattern, *next;
} others[] = {
    {"adapter_model.safetensors", "merge the adapter into its base model (peft: merge_and_unload) "
                                  "and save that model with save_pretrained"},
    {"adapter_model.bin", "merge the adapter into its base model (peft: merge_and_unload) and save "
                          "that model with save_pretrained"},
    {"tf_model.h5", "convert it in Python with transformers before version 5: "
                    "AutoModelForPreTraining.from_pretrained(DIR, from_tf=True)"
                    ".save_pretrained(DIR)"},
    {"flax_model.msgpack", "convert it in Python with transformers before version 5: "
                           "AutoModelForPreTraining.from_pretrained(DIR, from_flax=True)"
                           ".save_pretrained(DIR)"},
    {"*.ckpt.index", "convert it in Python with transformers before version 5: "
                     "BertForPreTraining.from_pretrained(DIR, from_tf=True, config=CONFIG)"
                     ".save_pretrained(DIR)"},
    {"*.safetensors", "rename it to " NVDP__WEIGHTS_FILE " if it holds the whole model"},
    {"*.bin", "rename it to pytorch_model.bin if it is a state dict of the whole model"},
    {"*.pt", "rename it to pytorch_model.bin if it is a state dict of the whole model"},
    {"*.pth", "rename it to pytorch_model.bin if it is a state dict of the whole model"},
    {"onnx", "download " NVDP__WEIGHTS_FILE " or pytorch_model.bin of the same model"},
    {"*.onnx", "download " NVDP__WEIGHTS_FILE " or pytorch_model.bin of the same model"},
    {"openvino", "download " NVDP__WEIGHTS_FILE " or pytorch_model.bin of the same model"},
    {"*.gguf", "download " NVDP__WEIGHTS_FILE " or pytorch_model.bin of the same model (GGUF files "
               "are usually quantized)"},
    {"*.ot", "download " NVDP__WEIGHTS_FILE " or pytorch_model.bin of the same model"},
};
enum { OTHERS = sizeof others / sizeof others[0], LIST_SIZE = 512 };

/* Returns the row for the name of a file, or OTHERS. */
static size_t other_row(const char *name) {
    size_t i = 0;
    while (i < OTHERS &&
           (others[i].pattern[0] == '*' ? !nvdp__ends_with(name, others[i].pattern + 1)
                                        : strcmp(name, others[i].pattern) != 0))
        i++;
    return i;
}

/* Fails because there are no weights. The message lists the files of other formats, and the next step for the first
 * of them in the table. */
static nvdp_status no_weights(struct nvdp_context *ctx, const char *directory) {
    char list[LIST_SIZE] = "";
    size_t used = 0, first = OTHERS;
    nvdp__autoptr(closedir) DIR *opened = opendir(directory);
    if (opened == NULL)
        return nvdp__fail_errno(ctx, errno, "%s: cannot read the folder", directory);
    for (const struct dirent *one; (one = readdir(opened)) != NULL;) {
        const size_t row = other_row(one->d_name);
        if (row == OTHERS) continue;
        first = nvdp__min(first, row);
        if (used < LIST_SIZE)
            used += (size_t)nvdp__snprintf(list + used, LIST_SIZE - used, "%s%.100s",
                                           used > 0 ? ", " : "", one->d_name);
    }
    return nvdp__fail(
        ctx, NVDP_ERR_INPUT,
        "%s: expected " NVDP__WEIGHTS_FILE " or pytorch_model.bin, or an index of their "
        "shards, found %s; %s",
        directory, used > 0 ? list : "none",
        first < OTHERS ? others[first].next
                       : "download the model's " NVDP__WEIGHTS_FILE " into the folder");
}

nvdp_status nvdp__weights_find(struct nvdp_context *ctx, const char *directory, char **path) {
    for (size_t i = 0; i < FILE_NAMES; i++) {
        struct nvdp__path found;
        NVDP_TRY(nvdp__model_path(ctx, directory, file_names[i], &found));
        if (!nvdp__exists(found.text)) continue;
        *path = nvdp__strdup(ctx, found.text);
        return NVDP__MADE(*path);
    }
    /* the folder of config.json, where the weights would be */
    struct nvdp__path config;
    NVDP_TRY(nvdp__model_path(ctx, directory, "config.json", &config));
    char *slash = strrchr(config.text, '/');
    if (slash != NULL) *slash = '\0';
    return no_weights(ctx, slash != NULL ? config.text : ".");
}

/* ---- opening ---- */

static nvdp_status add_tensor(struct nvdp__weight_files *weights, struct nvdp__weight weight) {
    return NVDP__PUSH(weights->ctx, weights->tensor, weights->count, weights->capacity, weight);
}

/* Opens one file and adds its tensors. */
static nvdp_status open_part(struct nvdp__weight_files *weights, const char *file) {
    NVDP_TRY(NVDP__PUSH(weights->ctx, weights->part, weights->parts, weights->part_capacity,
                        (struct nvdp__weights_part){0}));
    struct nvdp__weights_part *part = &weights->part[weights->parts - 1];
    char *const path = part->path = nvdp__strdup(weights->ctx, file);
    NVDP_TRY(NVDP__MADE(path));
    if (nvdp__ends_with(path, ".bin")) {
        size_t count;
        NVDP_TRY(nvdp__torch_open(weights->ctx, path, &part->torch));
        const struct nvdp__weight *tensor = nvdp__torch_tensors(part->torch, &count);
        for (size_t i = 0; i < count; i++)
            NVDP_TRY(add_tensor(weights, tensor[i]));
        return NVDP_OK;
    }
    NVDP_TRY(nvdp__safetensors_open(weights->ctx, path, &part->safetensors));
    for (size_t i = 0; i < nvdp__safetensors_count(part->safetensors); i++)
        NVDP_TRY(add_tensor(
            weights, (struct nvdp__weight){.info = *nvdp__safetensors_at(part->safetensors, i),
                                           .dense = true,
                                           .path = path}));
    return NVDP_OK;
}

static int compare_name(const void *a, const void *b) {
    return strcmp((*(const struct nvdp__weight *const *)a)->info.name,
                  (*(const struct nvdp__weight *const *)b)->info.name);
}

#define INDEX_FAIL(weights, format, ...)                                                           \
    nvdp__fail((weights)->ctx, NVDP_ERR_INPUT, "%s: " format, (weights)->path, __VA_ARGS__)

/* Opens the shards in the index. */
static nvdp_status open_shards(struct nvdp__weight_files *weights, const json_t *map) {
    nvdp__autofree const char **file = NULL;
    const char *name;
    const char *slash = strrchr(weights->path, '/');
    const int folder = slash != NULL ? (int)(slash + 1 - weights->path) : 0;
    size_t count = 0;
    json_t *value;
    NVDP_TRY(NVDP__NEW(weights->ctx, file, json_object_size(map)));
    /* json_object_foreach takes no const object, but does not change the object */
    json_object_foreach((json_t *)(uintptr_t)map, name, value) {
        const char *shard = json_string_value(value);
        if (shard == NULL || shard[0] == '\0' || shard[0] == '.' || strchr(shard, '/') != NULL)
            return INDEX_FAIL(weights,
                              "'weight_map': '%.200s': expected the name of a file in the "
                              "same folder, found %.200s",
                              name, shard != NULL ? shard : "another type");
        file[count++] = shard;
    }
    NVDP__SORT(file, count, NVDP__UP_ITEM(const char *));
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(file[i - 1], file[i]) == 0) continue;
        const struct nvdp__path path = nvdp__path_format("%.*s%s", folder, weights->path, file[i]);
        if (weights->parts == MAX_SHARDS || !nvdp__exists(path.text))
            return INDEX_FAIL(weights,
                              "'weight_map': shard '%.200s': expected it in the same "
                              "folder, found %s; download all shards",
                              file[i], weights->parts == MAX_SHARDS ? "too many" : "no such file");
        NVDP_TRY(open_part(weights, path.text));
    }
    return NVDP_OK;
}

/* Checks that each tensor of the index is in its shard. */
static nvdp_status check_index(const struct nvdp__weight_files *weights, const json_t *map) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)map, name, value) {
        const struct nvdp__weight *found = nvdp__weights_find_tensor(weights, name);
        const char *shard = json_string_value(value);
        const char *slash = found != NULL ? strrchr(found->path, '/') : NULL;
        if (found == NULL || strcmp(slash != NULL ? slash + 1 : found->path, shard) != 0)
            return INDEX_FAIL(weights,
                              "'weight_map': tensor '%.200s': expected it in '%.200s', found "
                              "it %s%.200s; download index and shards of one version",
                              name, shard, found != NULL ? "in " : "nowhere",
                              found != NULL ? found->path : "");
    }
    return NVDP_OK;
}

/* Sorts the tensors by name; fails if two files have a tensor of the same name. */
static nvdp_status sort_tensors(struct nvdp__weight_files *weights) {
    NVDP_TRY(NVDP__NEW(weights->ctx, weights->by_name, weights->count));
    for (size_t i = 0; i < weights->count; i++)
        weights->by_name[i] = &weights->tensor[i];
    qsort(weights->by_name, weights->count, sizeof *weights->by_name, compare_name);
    for (size_t i = 1; i < weights->count; i++) {
        const struct nvdp__weight *a = weights->by_name[i - 1], *b = weights->by_name[i];
        if (strcmp(a->info.name, b->info.name) == 0)
            return INDEX_FAIL(weights,
                              "tensor '%.200s': expected it in one shard, found it in %s and %s",
                              a->info.name, a->path, b->path);
    }
    return NVDP_OK;
}

/* Finds a vector of `count` numbers; if count is 0, a vector of any length. Sets *out to NULL if the files have no
 * such vector. */
static nvdp_status find_vector(struct nvdp__weight_files *weights, const char *name, size_t count,
                               const struct nvdp__weight **out) {
    const struct nvdp__weight *found = nvdp__weights_find_tensor(weights, name);
    if (found != NULL && (found->info.rank != 1 || (count > 0 && found->info.count != count)))
        return nvdp__fail(weights->ctx, NVDP_ERR_INPUT,
                          "%s: tensor '%s': expected a vector of %zu numbers, one per token, found "
                          "%zu of rank %d",
                          found->path, name, count, found->info.count, found->info.rank);
    *out = found;
    return NVDP_OK;
}

#define TABLE "embedding.weight"
/* Joins the tensors of Model2Vec to one tensor with a row per token. */
static nvdp_status join_table(struct nvdp__weight_files *weights) {
    const struct nvdp__weight *found = nvdp__weights_find_tensor(weights, "embeddings");
    struct nvdp__weight *table = found != NULL ? &weights->tensor[found - weights->tensor] : NULL;
    if (table == NULL || table->info.rank != 2 || nvdp__weights_find_tensor(weights, TABLE) != NULL)
        return NVDP_OK;
    const size_t rows = table->info.shape[0];
    NVDP_TRY(find_vector(weights, "mapping", 0, &table->row));
    if (table->row != NULL) table->info.shape[0] = table->row->info.count;
    NVDP_TRY(find_vector(weights, "weights", table->info.shape[0], &table->factor));
    for (size_t i = 0; table->row != NULL && i < table->row->info.count; i++) {
        float row;
        nvdp__weight_read_f32(table->row, i, 1, &row);
        if (!(row >= 0 && row < (float)rows))
            return nvdp__fail(
                weights->ctx, NVDP_ERR_INPUT,
                "%s: tensor 'mapping': token %zu: expected a row from 0 to %zu, found "
                "%g",
                table->path, i, rows - 1, (double)row);
    }
    table->info.count = table->info.shape[0] * table->info.shape[1];
    table->info.name = TABLE;
    qsort(weights->by_name, weights->count, sizeof *weights->by_name, compare_name);
    return NVDP_OK;
}

static nvdp_status open_index(struct nvdp__weight_files *weights) {
    nvdp__autoptr(json_decref) json_t *index = NULL;
    NVDP_TRY(nvdp__json_read(weights->ctx, weights->path, &index));
    const json_t *map = json_object_get(index, "weight_map");
    if (json_object_size(map) == 0)
        return INDEX_FAIL(weights,
                          "'weight_map': expected an object with the shard of each tensor, "
                          "found %s",
                          map == NULL ? "none" : "another value");
    NVDP_TRY(open_shards(weights, map));
    NVDP_TRY(sort_tensors(weights));
    return check_index(weights, map);
}

nvdp_status nvdp__weights_open_file(struct nvdp_context *ctx, const char *path,
                                    struct nvdp__weight_files **out) {
    nvdp__autoptr(nvdp__weights_close) struct nvdp__weight_files *weights = NULL;
    NVDP_TRY(NVDP__NEW(ctx, weights, 1));
    weights->ctx = ctx;
    weights->path = nvdp__strdup(ctx, path);
    NVDP_TRY(NVDP__MADE(weights->path));
    if (nvdp__ends_with(path, INDEX_END)) {
        NVDP_TRY(open_index(weights));
    } else {
        NVDP_TRY(open_part(weights, path));
        NVDP_TRY(sort_tensors(weights));
    }
    NVDP_TRY(join_table(weights));
    return NVDP__HAND_OVER(out, weights);
}

nvdp_status nvdp__weights_open(struct nvdp_context *ctx, const char *directory,
                               struct nvdp__weight_files **out) {
    nvdp__autofree char *path = NULL;
    NVDP_TRY(nvdp__weights_find(ctx, directory, &path));
    return nvdp__weights_open_file(ctx, path, out);
}

void nvdp__weights_close(struct nvdp__weight_files *weights) {
    if (weights == NULL) return;
    for (size_t i = 0; i < weights->parts; i++) {
        nvdp__safetensors_close(weights->part[i].safetensors);
        nvdp__torch_close(weights->part[i].torch);
        free(weights->part[i].path);
    }
    free(weights->part);
    free(weights->tensor);
    free(weights->by_name);
    free(weights->path);
    free(weights);
}

/* ---- use ---- */

const struct nvdp__weight *nvdp__weights_find_tensor(const struct nvdp__weight_files *weights,
                                                     const char *name) {
    const struct nvdp__weight wanted = {.info.name = name};
    const struct nvdp__weight *key = &wanted;
    const struct nvdp__weight **found =
        bsearch(&key, weights->by_name, weights->count, sizeof key, compare_name);
    return found != NULL ? *found : NULL;
}

/* Reads elements of a matrix whose rows are other rows of the file's matrix. */
static void read_rows(const struct nvdp__weight *weight, size_t first, size_t count, float *out) {
    const size_t wide = weight->info.shape[1];
    struct nvdp__weight plain = *weight;
    plain.row = plain.factor = NULL;
    for (size_t i = 0, n = 0; i < count; i += n) {
        const size_t at = (first + i) / wide, column = (first + i) % wide;
        float row = (float)at, factor = 1;
        n = nvdp__min(wide - column, count - i);
        if (weight->row != NULL) nvdp__weight_read_f32(weight->row, at, 1, &row);
        if (weight->factor != NULL) nvdp__weight_read_f32(weight->factor, at, 1, &factor);
        nvdp__weight_read_f32(&plain, (weight->row != NULL ? (size_t)row : at) * wide + column, n,
                              out + i);
        for (size_t k = 0; k < n; k++)
            out[i + k] *= factor;
    }
}

void nvdp__weight_read_f32(const struct nvdp__weight *weight, size_t first, size_t count,
                           float *out) {
    if (weight->row != NULL || weight->factor != NULL) {
        read_rows(weight, first, count, out);
        return;
    }
    const size_t size = nvdp__dtype_size(weight->info.dtype);
    struct nvdp__tensor_info part = weight->info;
    if (weight->dense) {
        part.count = count;
        part.data = (const unsigned char *)weight->info.data + first * size;
        nvdp__safetensors_read_f32(&part, out);
        return;
    }
    part.count = 1;
    for (size_t i = 0; i < count; i++) {
        size_t rest = first + i, at = 0;
        for (int d = weight->info.rank; d-- > 0;) {
            at += rest % weight->info.shape[d] * weight->stride[d];
            rest /= weight->info.shape[d];
        }
        part.data = (const unsigned char *)weight->info.data + at * size;
        nvdp__safetensors_read_f32(&part, &out[i]);
    }
}

nvdp_status nvdp__weights_sha256(const struct nvdp__weight_files *weights, char hex[65]) {
    if (!nvdp__ends_with(weights->path, INDEX_END))
        return nvdp__file_sha256(weights->ctx, weights->path, hex);
    crypto_hash_sha256_state state;
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_init(&state);
    for (size_t i = 0; i < weights->parts; i++) {
        const char *slash = strrchr(weights->part[i].path, '/');
        const char *name = slash != NULL ? slash + 1 : weights->part[i].path;
        NVDP_TRY(nvdp__file_sha256(weights->ctx, weights->part[i].path, hex));
        crypto_hash_sha256_update(&state, (const unsigned char *)hex, 64);
        crypto_hash_sha256_update(&state, (const unsigned char *)" ", 1);
        crypto_hash_sha256_update(&state, (const unsigned char *)name, strlen(name));
        crypto_hash_sha256_update(&state, (const unsigned char *)"\n", 1);
    }
    crypto_hash_sha256_final(&state, digest);
    sodium_bin2hex(hex, 65, digest, sizeof digest);
    return NVDP_OK;
}
