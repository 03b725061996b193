/* Reads files of torch.save (checkpoint.h): the zip archive, then the pickle of a state dict. A pickle is a program
 * for a stack machine. This reader is such a machine, but calls no function: it knows the names of three callables,
 * which describe tensors, and refuses all other names and opcodes. Memory and time are linear in the size of the
 * pickle. */
#include "base/array.h"
#include "base/file.h"
#include "base/zip.h"
#include "encoder/checkpoint.h"
#include "encoder/safetensors.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { PICKLE_LIMIT = 1 << 22, NAME_SHOWN = 100, SMALLEST = 22 /* an empty archive */ };

/* A string in the mapped file. */
struct text {
    const char *at;
    size_t length;
};

enum kind { MARK, NONE, NUMBER, TEXT, TUPLE, DICT, GLOBAL, STORAGE, TENSOR };
static const char *const kind_name[] = {"a mark",   "None",      "a number",
                                        "a string", "a tuple",   "a dictionary",
                                        "a name",   "a storage", "a tensor"};

/* A value on the stack of the pickle. */
struct value {
    enum kind kind;
    union {
        int64_t number;
        struct text text;
        struct {
            size_t first, count; /* items in item[] */
        } tuple;
        size_t index; /* index of a dictionary, global, storage or tensor */
    };
};

struct storage {
    enum nvdp__dtype dtype;
    size_t count; /* number of elements */
    const unsigned char *data;
};

/* One key of a dictionary. */
struct member {
    size_t dictionary;
    struct value key, value;
};

struct nvdp__torch_file {
    struct nvdp_context *ctx;
    const char *path;
    unsigned char *map;
    size_t size;
    struct nvdp__zip zip;
    struct nvdp__zip_member *entry; /* sorted by name */
    struct text prefix;             /* common prefix of all names: "archive/" */
    /* the pickle, and the machine that reads it */
    struct text pickle;
    size_t at, op; /* position of the next byte, and of the current opcode */
    struct value *stack, *memo, *item;
    size_t stack_count, stack_capacity, memo_count, memo_capacity, item_count, item_capacity;
    struct storage *storage;
    struct nvdp__weight *tensor;
    struct member *member;
    size_t storage_count, storage_capacity, tensor_count, tensor_capacity, member_count,
        member_capacity, dictionaries;
    /* the result: tensors with names */
    struct nvdp__weight *named;
    size_t count;
    char *names;
};

/* Fails with a message that ends with the command that converts the file. */
#define FAIL(file, format, ...)                                                                    \
    nvdp__fail((file)->ctx, NVDP_ERR_INPUT,                                                        \
               "%s: " format                                                                       \
               "; to convert the file, run in its folder: python3 -c \"import torch, "             \
               "safetensors.torch as s; s.save_file({k: v.clone().contiguous() for k, v in "       \
               "torch.load('%s', weights_only=True).items()}, 'model.safetensors', "               \
               "{'format': 'pt'})\"",                                                              \
               (file)->path, __VA_ARGS__, nvdp__file_name((file)->path))
#define PICKLE_FAIL(file, format, ...)                                                             \
    FAIL(file, "data.pkl, byte %zu: " format, (file)->op, __VA_ARGS__)

/* The beginning of a string in the file, as printable ASCII, for messages. */
struct shown {
    char text[NAME_SHOWN + 1];
};

static struct shown shown(struct text text) {
    struct shown out = {""};
    for (size_t i = 0; i < text.length && i < NAME_SHOWN; i++)
        out.text[i] = text.at[i] >= ' ' && text.at[i] <= '~' ? text.at[i] : '?';
    return out;
}
#define SHOW(of) shown(of).text

static bool is(struct text text, const char *word) {
    return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

static int compare_text(struct text a, struct text b) {
    int order = memcmp(a.at, b.at, nvdp__min(a.length, b.length));
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

/* ---- the zip archive ---- */

static struct text entry_name(const struct nvdp__zip_member *entry) {
    return (struct text){entry->name, entry->length};
}

static int compare_entry(const void *a, const void *b) {
    return compare_text(entry_name(a), entry_name(b));
}

static nvdp_status read_directory(struct nvdp__torch_file *file) {
    if (!nvdp__zip_open(file->map, file->size, &file->zip))
        return FAIL(file, "expected a complete zip archive, found no directory at its %s",
                    "end (is the download complete?)");
    const size_t count = file->zip.members;
    NVDP_TRY(NVDP__NEW(file->ctx, file->entry, count));
    for (size_t i = 0; i < count; i++)
        if (!nvdp__zip_next(&file->zip, &file->entry[i]))
            return FAIL(file, "zip directory: expected %zu entries, found %zu", count, i);
    qsort(file->entry, count, sizeof *file->entry, compare_entry);
    for (size_t i = 1; i < count; i++)
        if (compare_entry(&file->entry[i - 1], &file->entry[i]) == 0)
            return FAIL(file, "zip entry '%s': expected unique names, found this name twice",
                        SHOW(entry_name(&file->entry[i])));
    return NVDP_OK;
}

/* Finds the bytes of an entry; NULL if the archive has no such entry. */
static nvdp_status find_entry(const struct nvdp__torch_file *file, const char *folder,
                              struct text last, struct text *out) {
    char name[512];
    const int length = nvdp__snprintf(name, sizeof name, "%.*s%s%.*s", (int)file->prefix.length,
                                      file->prefix.at, folder, (int)last.length, last.at);
    const struct nvdp__zip_member wanted = {.name = name, .length = (size_t)length};
    *out = (struct text){0};
    if (length < 0 || (size_t)length >= sizeof name) return NVDP_OK;
    const struct nvdp__zip_member *entry =
        bsearch(&wanted, file->entry, file->zip.members, sizeof wanted, compare_entry);
    if (entry == NULL) return NVDP_OK;
    if (entry->method != NVDP__ZIP_STORED || entry->encrypted || entry->packed != entry->size)
        return FAIL(file,
                    "zip entry '%s': expected a stored one, as torch.save writes, found it "
                    "compressed or encrypted",
                    SHOW(entry_name(entry)));
    *out = (struct text){(const char *)nvdp__zip_packed(&file->zip, entry), entry->size};
    if (out->at == NULL)
        return FAIL(file, "zip entry '%s': expected %llu bytes within the file, found fewer",
                    SHOW(entry_name(entry)), (unsigned long long)entry->size);
    return NVDP_OK;
}

/* Finds FOLDER/data.pkl; this folder contains all other entries. */
static nvdp_status find_pickle(struct nvdp__torch_file *file) {
    static const char tail[] = "/data.pkl";
    struct text order = {0};
    for (size_t i = 0; i < file->zip.members; i++) {
        const struct text name = entry_name(&file->entry[i]);
        const char *slash = memchr(name.at, '/', name.length);
        if (slash == NULL ||
            !is((struct text){slash, name.length - (size_t)(slash - name.at)}, tail))
            continue;
        if (file->prefix.at != NULL || name.length > 256)
            return FAIL(file, "zip archive: expected one FOLDER/data.pkl, found %s", "several");
        file->prefix = (struct text){name.at, (size_t)(slash + 1 - name.at)};
    }
    if (file->prefix.at != NULL)
        NVDP_TRY(find_entry(file, "", (struct text){"data.pkl", 8}, &file->pickle));
    if (file->pickle.at == NULL)
        return FAIL(file, "zip archive: expected an entry data.pkl of torch.save, found %s",
                    "none");
    NVDP_TRY(find_entry(file, "", (struct text){"byteorder", 9}, &order));
    if (order.at != NULL && !is(order, "little"))
        return FAIL(file, "byteorder: expected little, found '%s'", SHOW(order));
    if (file->pickle.length > PICKLE_LIMIT)
        return FAIL(file, "data.pkl: expected at most %d bytes, found %zu", PICKLE_LIMIT,
                    file->pickle.length);
    return NVDP_OK;
}

/* ---- the names that a pickle may use ---- */

enum global { ORDERED_DICT, REBUILD_TENSOR, REBUILD_PARAMETER, FIRST_STORAGE };
static const struct {
    const char *module, *name;
    enum nvdp__dtype dtype; /* element type of a storage */
} globals[] = {
    [ORDERED_DICT] = {"collections", "OrderedDict", 0},
    [REBUILD_TENSOR] = {"torch._utils", "_rebuild_tensor_v2", 0},
    [REBUILD_PARAMETER] = {"torch._utils", "_rebuild_parameter", 0},
    [FIRST_STORAGE] = {"torch", "FloatStorage", NVDP__DTYPE_F32},
    {"torch", "DoubleStorage", NVDP__DTYPE_F64},
    {"torch", "HalfStorage", NVDP__DTYPE_F16},
    {"torch", "BFloat16Storage", NVDP__DTYPE_BF16},
    {"torch", "LongStorage", NVDP__DTYPE_I64},
    {"torch", "IntStorage", NVDP__DTYPE_I32},
    {"torch", "ShortStorage", NVDP__DTYPE_I16},
    {"torch", "CharStorage", NVDP__DTYPE_I8},
    {"torch", "ByteStorage", NVDP__DTYPE_U8},
    {"torch", "BoolStorage", NVDP__DTYPE_BOOL},
};
enum { GLOBALS = sizeof globals / sizeof globals[0] };

/* ---- the machine ---- */

/* Appends an item to one of the arrays of the file. */
#define APPEND(file, array, ...)                                                                   \
    NVDP__PUSH((file)->ctx, (file)->array, (file)->array##_count, (file)->array##_capacity,        \
               __VA_ARGS__)

static nvdp_status push(struct nvdp__torch_file *file, struct value value) {
    return APPEND(file, stack, value);
}

/* Each function do_... runs one opcode; some opcodes have an argument. */

static nvdp_status do_plain(struct nvdp__torch_file *file, size_t kind) {
    return push(file, (struct value){.kind = (enum kind)kind});
}

static nvdp_status do_dictionary(struct nvdp__torch_file *file) {
    return push(file, (struct value){.kind = DICT, .index = file->dictionaries++});
}

static nvdp_status do_number(struct nvdp__torch_file *file, size_t number) {
    return push(file, (struct value){.kind = NUMBER, .number = (int64_t)number});
}

/* Takes a value of one kind from the stack. */
static nvdp_status pop(struct nvdp__torch_file *file, enum kind kind, struct value *out) {
    if (file->stack_count == 0)
        return PICKLE_FAIL(file, "expected %s, found an empty stack", kind_name[kind]);
    *out = file->stack[--file->stack_count];
    if (out->kind == kind) return NVDP_OK;
    return PICKLE_FAIL(file, "expected %s, found %s", kind_name[kind], kind_name[out->kind]);
}

static nvdp_status take(struct nvdp__torch_file *file, size_t count, struct text *out) {
    if (file->pickle.length - file->at < count)
        return PICKLE_FAIL(file, "expected %zu more bytes, found the end", count);
    *out = (struct text){file->pickle.at + file->at, count};
    file->at += count;
    return NVDP_OK;
}

/* Reads an integer of up to 8 bytes. */
static nvdp_status take_number(struct nvdp__torch_file *file, size_t bytes, bool sign,
                               int64_t *out) {
    struct text text = {0};
    NVDP_TRY(take(file, bytes, &text));
    uint64_t value = nvdp__little((const unsigned char *)text.at, bytes);
    if (sign && bytes > 0 && bytes < 8 && (value >> (8 * bytes - 1)) != 0)
        value |= UINT64_MAX << 8 * bytes;
    *out = (int64_t)value;
    return NVDP_OK;
}

/* Reads a line, without its LF. */
static nvdp_status take_line(struct nvdp__torch_file *file, struct text *out) {
    const char *from = file->pickle.at + file->at;
    const char *end = memchr(from, '\n', file->pickle.length - file->at);
    if (end == NULL) return PICKLE_FAIL(file, "expected a name, found the %s", "end");
    *out = (struct text){from, (size_t)(end - from)};
    for (size_t i = 0; i < out->length; i++)
        if (from[i] <= ' ' || from[i] > '~')
            return PICKLE_FAIL(file, "expected a name in ASCII, found byte %d",
                               (int)(unsigned char)from[i]);
    file->at += out->length + 1;
    return NVDP_OK;
}

static nvdp_status do_global(struct nvdp__torch_file *file) {
    struct text module = {0}, name = {0};
    NVDP_TRY(take_line(file, &module));
    NVDP_TRY(take_line(file, &name));
    for (size_t i = 0; i < GLOBALS; i++)
        if (is(module, globals[i].module) && is(name, globals[i].name))
            return push(file, (struct value){.kind = GLOBAL, .index = i});
    return PICKLE_FAIL(file,
                       "name '%s.%s': expected only those of a dictionary of tensors "
                       "(OrderedDict, _rebuild_tensor_v2, _rebuild_parameter, "
                       "torch.*Storage); nothing was executed",
                       SHOW(module), SHOW(name));
}

enum { MARKED = 1 << 20 }; /* argument of opcodes that take all values above the last mark */

/* Returns the number of values below the last mark, plus 1 for the mark; 0 if there is no mark. */
static size_t below_mark(const struct nvdp__torch_file *file) {
    size_t first = file->stack_count;
    while (first > 0 && file->stack[first - 1].kind != MARK)
        first--;
    return first;
}

/* Turns the last `count` values into a tuple. */
static nvdp_status do_tuple(struct nvdp__torch_file *file, size_t count) {
    const bool marked = count == MARKED;
    size_t first = marked ? below_mark(file) : file->stack_count;
    if (marked ? first == 0 : first < count)
        return PICKLE_FAIL(file, "expected a %s, found an empty stack", marked ? "mark" : "value");
    if (!marked) first -= count;
    const struct value tuple = {.kind = TUPLE,
                                .tuple = {file->item_count, file->stack_count - first}};
    for (size_t i = first; i < file->stack_count; i++)
        NVDP_TRY(APPEND(file, item, file->stack[i]));
    file->stack_count = first - (marked ? 1 : 0);
    return push(file, tuple);
}

/* Checks the number and the kinds of the values of a tuple; *out points to the values. */
static nvdp_status items(const struct nvdp__torch_file *file, struct value tuple, const char *of,
                         size_t count, const enum kind *kinds, const struct value **out) {
    const struct value *item = file->item + tuple.tuple.first;
    if (tuple.tuple.count < count)
        return PICKLE_FAIL(file, "%s: expected %zu values, found %zu", of, count,
                           tuple.tuple.count);
    for (size_t i = 0; i < count; i++)
        if (item[i].kind != kinds[i])
            return PICKLE_FAIL(file, "%s: value %zu: expected %s, found %s", of, i,
                               kind_name[kinds[i]], kind_name[item[i].kind]);
    *out = item;
    return NVDP_OK;
}

/* Reads a storage: ("storage", type, key, device, number of elements). */
static nvdp_status do_storage(struct nvdp__torch_file *file) {
    static const enum kind kinds[] = {TEXT, GLOBAL, TEXT, TEXT, NUMBER};
    struct value tuple;
    const struct value *item = NULL;
    struct text bytes = {0};
    NVDP_TRY(pop(file, TUPLE, &tuple));
    NVDP_TRY(items(file, tuple, "persistent id", 5, kinds, &item));
    if (!is(item[0].text, "storage") || item[1].index < FIRST_STORAGE)
        return PICKLE_FAIL(file, "persistent id: expected 'storage' and its type, found '%s'",
                           SHOW(item[0].text));
    struct storage storage = {.dtype = globals[item[1].index].dtype,
                              .count = (size_t)item[4].number};
    NVDP_TRY(find_entry(file, "data/", item[2].text, &bytes));
    if (bytes.at == NULL)
        return PICKLE_FAIL(file, "storage '%s': expected an entry of the archive, found none",
                           SHOW(item[2].text));
    if (item[4].number < 0 || bytes.length % nvdp__dtype_size(storage.dtype) != 0 ||
        bytes.length / nvdp__dtype_size(storage.dtype) != storage.count)
        return PICKLE_FAIL(file, "storage '%s': expected %lld elements of %s, found %zu bytes",
                           SHOW(item[2].text), (long long)item[4].number,
                           nvdp__dtype_name(storage.dtype), bytes.length);
    storage.data = (const unsigned char *)bytes.at;
    NVDP_TRY(APPEND(file, storage, storage));
    return push(file, (struct value){.kind = STORAGE, .index = file->storage_count - 1});
}

/* Sets the shape; fails if an element lies beyond the end of the storage. */
static nvdp_status set_shape(struct nvdp__torch_file *file, const struct value *size,
                             const struct value *stride, size_t rank, size_t left,
                             struct nvdp__weight *weight) {
    struct nvdp__tensor_info *info = &weight->info;
    size_t last = 0, far, dense = 1;
    info->rank = (int)rank;
    info->count = 1;
    for (size_t i = 0; i < rank; i++) {
        if (size[i].kind != NUMBER || stride[i].kind != NUMBER || size[i].number < 0 ||
            stride[i].number < 0 || !nvdp__mul(info->count, (size_t)size[i].number, &info->count))
            return PICKLE_FAIL(file,
                               "tensor: dimension %zu: expected a size and a stride, found "
                               "another value",
                               i);
        info->shape[i] = (size_t)size[i].number;
        weight->stride[i] = (size_t)stride[i].number;
    }
    weight->dense = true;
    for (size_t i = rank; info->count > 0 && i-- > 0;) {
        if (info->shape[i] > 1 && weight->stride[i] != dense) weight->dense = false;
        dense *= info->shape[i];
        if (!nvdp__mul(info->shape[i] - 1, weight->stride[i], &far) ||
            __builtin_add_overflow(last, far, &last))
            last = SIZE_MAX;
    }
    if (info->count > 0 && last >= left)
        return PICKLE_FAIL(file,
                           "tensor: expected elements within its storage, found one at %zu "
                           "of %zu",
                           last, left);
    return NVDP_OK;
}

/* Makes a tensor from (storage, first element, sizes, strides, requires_grad, hooks). */
static nvdp_status make_tensor(struct nvdp__torch_file *file, struct value tuple) {
    static const enum kind kinds[] = {STORAGE, NUMBER, TUPLE, TUPLE};
    const struct value *item = NULL;
    NVDP_TRY(items(file, tuple, "tensor", 4, kinds, &item));
    const struct storage *storage = &file->storage[item[0].index];
    const size_t rank = item[2].tuple.count;
    if (item[1].number < 0 || (uint64_t)item[1].number > storage->count ||
        rank > NVDP__SAFETENSORS_RANK || item[3].tuple.count != rank)
        return PICKLE_FAIL(
            file,
            "tensor: expected an offset from 0 to %zu in its storage, and at most %d "
            "sizes and as many strides, found offset %lld, %zu sizes, %zu strides",
            (size_t)storage->count, NVDP__SAFETENSORS_RANK, (long long)item[1].number, rank,
            item[3].tuple.count);
    struct nvdp__weight made = {.path = file->path};
    made.info.dtype = storage->dtype;
    made.info.data = storage->data + (size_t)item[1].number * nvdp__dtype_size(storage->dtype);
    NVDP_TRY(set_shape(file, file->item + item[2].tuple.first, file->item + item[3].tuple.first,
                       rank, storage->count - (size_t)item[1].number, &made));
    NVDP_TRY(APPEND(file, tensor, made));
    return push(file, (struct value){.kind = TENSOR, .index = file->tensor_count - 1});
}

/* Replaces the call of a known name by its result. */
static nvdp_status do_reduce(struct nvdp__torch_file *file) {
    static const enum kind tensor[] = {TENSOR};
    struct value arguments = {0}, callable = {0};
    const struct value *item = NULL;
    NVDP_TRY(pop(file, TUPLE, &arguments));
    NVDP_TRY(pop(file, GLOBAL, &callable));
    if (callable.index == REBUILD_TENSOR) return make_tensor(file, arguments);
    if (callable.index == REBUILD_PARAMETER) {
        NVDP_TRY(items(file, arguments, "parameter", 1, tensor, &item));
        return push(file, item[0]);
    }
    if (callable.index == ORDERED_DICT && arguments.tuple.count == 0) return do_dictionary(file);
    return PICKLE_FAIL(file,
                       "expected a call that rebuilds a tensor, found '%s' with %zu arguments",
                       globals[callable.index].name, arguments.tuple.count);
}

/* Adds the last `values`, which are keys and values, to the dictionary below them. */
static nvdp_status do_set(struct nvdp__torch_file *file, size_t values) {
    const bool marked = values == MARKED;
    const size_t first = marked                       ? below_mark(file)
                         : file->stack_count > values ? file->stack_count - values
                                                      : 0;
    const size_t below = first - (marked && first > 0 ? 1 : 0), count = file->stack_count - first;
    if (below == 0 || count % 2 != 0 || file->stack[below - 1].kind != DICT)
        return PICKLE_FAIL(file, "expected keys and values above a %s", "dictionary");
    for (size_t i = 0; i < count; i += 2)
        NVDP_TRY(APPEND(file, member,
                        (struct member){file->stack[below - 1].index, file->stack[first + i],
                                        file->stack[first + i + 1]}));
    file->stack_count = below;
    return NVDP_OK;
}

static nvdp_status do_put(struct nvdp__torch_file *file, size_t bytes) {
    int64_t index;
    NVDP_TRY(take_number(file, bytes, false, &index));
    if (file->stack_count == 0 || (size_t)index > file->memo_count)
        return PICKLE_FAIL(file, "memo %lld: expected a value and a number of at most %zu",
                           (long long)index, file->memo_count);
    const struct value top = file->stack[file->stack_count - 1];
    if ((size_t)index == file->memo_count) return APPEND(file, memo, top);
    file->memo[index] = top;
    return NVDP_OK;
}

static nvdp_status do_get(struct nvdp__torch_file *file, size_t bytes) {
    int64_t index;
    NVDP_TRY(take_number(file, bytes, false, &index));
    if ((size_t)index >= file->memo_count)
        return PICKLE_FAIL(file, "memo %lld: expected a number below %zu", (long long)index,
                           file->memo_count);
    return push(file, file->memo[index]);
}

/* Skips the attributes of a dictionary, such as the versions of modules, which change no tensor. */
static nvdp_status do_build(struct nvdp__torch_file *file) {
    struct value state, object;
    NVDP_TRY(pop(file, DICT, &state));
    NVDP_TRY(pop(file, DICT, &object));
    return push(file, object);
}

enum { SIGNED = 1 << 8 }; /* flag for a number of bytes: the number is signed */

static nvdp_status do_integer(struct nvdp__torch_file *file, size_t bytes) {
    int64_t number;
    NVDP_TRY(take_number(file, bytes % SIGNED, bytes >= SIGNED, &number));
    return do_number(file, (size_t)number);
}

static nvdp_status do_long(struct nvdp__torch_file *file) {
    int64_t bytes;
    NVDP_TRY(take_number(file, 1, false, &bytes));
    if (bytes > 8)
        return PICKLE_FAIL(file, "expected an integer of at most 8 bytes, found %d", (int)bytes);
    return do_integer(file, SIGNED | (size_t)bytes);
}

static nvdp_status do_text(struct nvdp__torch_file *file) {
    struct value value = {.kind = TEXT};
    int64_t length;
    NVDP_TRY(take_number(file, 4, false, &length));
    NVDP_TRY(take(file, (size_t)length, &value.text));
    return push(file, value);
}

static nvdp_status do_protocol(struct nvdp__torch_file *file) {
    int64_t protocol;
    NVDP_TRY(take_number(file, 1, false, &protocol));
    if (protocol == 2) return NVDP_OK;
    return PICKLE_FAIL(file, "expected a pickle of protocol 2, as torch.save writes, found %d",
                       (int)protocol);
}

/* The opcodes, with the names of Python's pickletools: each has a function, and some have an argument. */
static const struct opcode {
    unsigned char op;
    nvdp_status (*run)(struct nvdp__torch_file *file);
    nvdp_status (*run_with)(struct nvdp__torch_file *file, size_t argument);
    size_t argument;
} opcodes[] = {
    {0x80, .run = do_protocol},
    {'(', .run_with = do_plain, .argument = MARK},
    {')', .run_with = do_tuple, .argument = 0},
    {0x85, .run_with = do_tuple, .argument = 1},
    {0x86, .run_with = do_tuple, .argument = 2},
    {0x87, .run_with = do_tuple, .argument = 3},
    {'t', .run_with = do_tuple, .argument = MARKED},
    {'}', .run = do_dictionary},
    {'N', .run_with = do_plain, .argument = NONE},
    {0x88, .run_with = do_number, .argument = 1},
    {0x89, .run_with = do_number, .argument = 0},
    {'K', .run_with = do_integer, .argument = 1},
    {'M', .run_with = do_integer, .argument = 2},
    {'J', .run_with = do_integer, .argument = SIGNED | 4},
    {0x8a, .run = do_long},
    {'X', .run = do_text},
    {'c', .run = do_global},
    {'q', .run_with = do_put, .argument = 1},
    {'r', .run_with = do_put, .argument = 4},
    {'h', .run_with = do_get, .argument = 1},
    {'j', .run_with = do_get, .argument = 4},
    {'R', .run = do_reduce},
    {'Q', .run = do_storage},
    {'s', .run_with = do_set, .argument = 2},
    {'u', .run_with = do_set, .argument = MARKED},
    {'b', .run = do_build},
};

static nvdp_status step(struct nvdp__torch_file *file, unsigned char op) {
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        if (opcodes[i].op == op)
            return opcodes[i].run != NULL ? opcodes[i].run(file)
                                          : opcodes[i].run_with(file, opcodes[i].argument);
    return PICKLE_FAIL(file, "expected an opcode of a dictionary of tensors, found 0x%02x",
                       (unsigned)op);
}

/* ---- the result ---- */

static int compare_member(const void *a, const void *b) {
    return compare_text(((const struct member *)a)->key.text, ((const struct member *)b)->key.text);
}

/* Gives the tensors of the dictionary that remains on the stack their names. */
static nvdp_status name_tensors(struct nvdp__torch_file *file) {
    struct value root;
    size_t bytes = 0, kept = 0;
    if (file->stack_count != 1)
        return PICKLE_FAIL(file, "expected one value at the end, found %zu", file->stack_count);
    NVDP_TRY(pop(file, DICT, &root));
    for (size_t i = 0; i < file->member_count; i++) {
        const struct member one = file->member[i];
        if (one.dictionary != root.index) continue;
        if (one.key.kind != TEXT || memchr(one.key.text.at, '\0', one.key.text.length) != NULL)
            return FAIL(file, "data.pkl: expected the names of tensors as keys, found %s",
                        kind_name[one.key.kind]);
        if (one.value.kind != TENSOR)
            return nvdp__fail(file->ctx, NVDP_ERR_INPUT,
                              "%s: data.pkl: key '%s': expected a tensor, found %s; if it is the "
                              "checkpoint of a training, save its dictionary of tensors alone: "
                              "torch.save(torch.load('%s', weights_only=True)[KEY], "
                              "'pytorch_model.bin')",
                              file->path, SHOW(one.key.text), kind_name[one.value.kind],
                              nvdp__file_name(file->path));
        bytes += one.key.text.length + 1;
        file->member[kept++] = one;
    }
    file->member_count = kept;
    NVDP_TRY(
        nvdp__reserve(file->ctx, &file->member, &file->member_capacity, 1, sizeof *file->member));
    qsort(file->member, kept, sizeof *file->member, compare_member);
    for (size_t i = 1; i < kept; i++)
        if (compare_member(&file->member[i - 1], &file->member[i]) == 0)
            return FAIL(file, "tensor '%s': expected unique names, found this name twice",
                        SHOW(file->member[i].key.text));
    /* distinct names have distinct bytes in the pickle, so `bytes` is at most the size of the pickle */
    NVDP_TRY(NVDP__NEW(file->ctx, file->names, bytes + 1));
    NVDP_TRY(NVDP__NEW(file->ctx, file->named, kept));
    char *name = file->names;
    for (; file->count < kept; file->count++) {
        const struct member *one = &file->member[file->count];
        memcpy(name, one->key.text.at, one->key.text.length);
        file->named[file->count] = file->tensor[one->value.index];
        file->named[file->count].info.name = name;
        name += one->key.text.length + 1;
    }
    return NVDP_OK;
}

static nvdp_status run(struct nvdp__torch_file *file) {
    struct text op = {"", 0};
    do {
        file->op = file->at;
        NVDP_TRY(take(file, 1, &op));
        if (op.at[0] != '.') NVDP_TRY(step(file, (unsigned char)op.at[0]));
    } while (op.at[0] != '.');
    return name_tensors(file);
}

nvdp_status nvdp__torch_open(struct nvdp_context *ctx, const char *path,
                             struct nvdp__torch_file **out) {
    nvdp__autoptr(nvdp__torch_close) struct nvdp__torch_file *file = NULL;
    NVDP_TRY(NVDP__NEW(ctx, file, 1));
    file->ctx = ctx;
    file->path = path;
    NVDP_TRY(nvdp__map_file(ctx, path, SMALLEST, "a zip archive", &file->map, &file->size));
    if (memcmp(file->map, "PK\3\4", 4) != 0)
        return FAIL(file, "expected a zip archive of torch.save, found %s",
                    "another format, such as that of PyTorch before 1.6");
    NVDP_TRY(read_directory(file));
    NVDP_TRY(find_pickle(file));
    NVDP_TRY(run(file));
    return NVDP__HAND_OVER(out, file);
}

void nvdp__torch_close(struct nvdp__torch_file *file) {
    if (file == NULL) return;
    void *const owned[] = {file->entry,  file->stack,  file->memo,  file->item, file->storage,
                           file->tensor, file->member, file->named, file->names};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
    if (file->map != NULL) munmap(file->map, file->size);
    free(file);
}

const struct nvdp__weight *nvdp__torch_tensors(const struct nvdp__torch_file *file, size_t *count) {
    *count = file->count;
    return file->named;
}
