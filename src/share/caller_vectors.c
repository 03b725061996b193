/* Reads files of vectors that another program computed (caller_vectors.h).
 *
 * The order of this file: arrays as they are stored, the formats, vectors, columns. */
#include "share/caller_vectors.h"

#include "base/array.h"
#include "base/file.h"
#include "base/npy.h"
#include "base/own.h"
#include "encoder/checkpoint.h"
#include "encoder/safetensors.h"
#include "hdf5/read.h"
#include "share/release.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* --- arrays as they are stored --- */

enum { NAME = 96, MIN_WIDTH = 2, MAX_WIDTH = 1 << 16 };

struct stored {
    char name[NAME];
    /* Type, with NumPy's letters: 'f' IEEE floats, 'i', 'u' integers, 'b' bool, 'S' bytes, 'U' characters of 4 bytes;
     * 'B' for bfloat16. Any other letter is a type that cannot be read. */
    char kind;
    bool swapped; /* big-endian, unlike this machine */
    size_t size;  /* size of a value in bytes */
    size_t rank, shape[2];
    const unsigned char *at; /* the values from value `first` on; NULL until they are read */
    size_t first;
    unsigned char *held; /* owner of values that were read from HDF5 */
    size_t capacity;
    struct nvdp__h5_object *object;
};

/* A column that the caller asked for. */
struct column {
    const char *option, *name;
    struct stored *from;
};

struct nvdp__vectors_file {
    struct nvdp_context *ctx;
    const char *path;
    struct stored *array;
    size_t count, capacity;
    struct stored *vectors;
    struct column column[3]; /* ids, labels, persons */
    char *bytes;             /* the file, which is mapped */
    size_t size;
    struct nvdp__npz npz;
    struct nvdp__safetensors *tensors;
    struct nvdp__h5_image *image;
};

static void close_file(struct nvdp__vectors_file *of) {
    if (of == NULL) return;
    for (size_t i = 0; i < of->count; i++)
        free(of->array[i].held);
    free(of->array);
    if (of->bytes != NULL) munmap(of->bytes, of->size);
    nvdp__npz_release(&of->npz);
    nvdp__safetensors_close(of->tensors);
    nvdp__h5_image_free(of->image);
    free(of);
}

NVDP__AUTOPTR(struct nvdp__vectors_file, close_file)

/* Writes "float32 [1000, 384]" or "strings [1000]". */
static const char *type_text(const struct stored *of, char text[NAME]) {
    static const struct {
        char kind;
        const char *name;
    } names[] = {{'f', "float"},
                 {'i', "int"},
                 {'u', "uint"},
                 {'b', "bool"},
                 {'c', "complex"},
                 {'S', "strings"},
                 {'U', "strings"},
                 {'O', "Python objects"},
                 {'V', "strings of variable length"},
                 {'B', "bfloat"}};
    const char *name = "another type";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].kind == of->kind) name = names[i].name;
    char bits[16] = "", shape[48] = "";
    if (strchr("fiucB", of->kind) != NULL) nvdp__snprintf(bits, sizeof bits, "%zu", 8 * of->size);
    if (of->rank == 1) nvdp__snprintf(shape, sizeof shape, " [%zu]", of->shape[0]);
    if (of->rank == 2)
        nvdp__snprintf(shape, sizeof shape, " [%zu, %zu]", of->shape[0], of->shape[1]);
    if (of->rank > 2) nvdp__snprintf(shape, sizeof shape, " of %zu dimensions", of->rank);
    nvdp__snprintf(text, NAME, "%s%s%s", name, bits, shape);
    return text;
}

/* Returns whether values of this type can be read. */
static bool is_read(const struct stored *of) {
    const size_t size = of->size;
    const bool power = size == 1 || size == 2 || size == 4 || size == 8;
    return of->kind == 'f'                  ? power && size > 1
           : strchr("iu", of->kind) != NULL ? power
           : of->kind == 'b'                ? size == 1
                                            : strchr("SU", of->kind) != NULL;
}

/* --- the formats: functions that list the arrays of a file --- */

static nvdp_status push(struct nvdp__vectors_file *of, struct stored array, size_t length,
                        const char *name) {
    nvdp__snprintf(array.name, sizeof array.name, "%.*s", (int)nvdp__min(length, NAME), name);
    return NVDP__PUSH(of->ctx, of->array, of->count, of->capacity, array);
}

/* Adds an array of the NPY format, whose values stay where they are. */
static nvdp_status push_npy(struct nvdp__vectors_file *of, const struct nvdp__npy *h, size_t length,
                            const char *name) {
    if (h->rank <= 2 && h->kind != 'O') NVDP_TRY(nvdp__npy_check_values(h));
    const struct stored array = {.kind = h->kind,
                                 .swapped = h->order == '>',
                                 .size = nvdp__npy_value_size(h),
                                 .rank = h->rank,
                                 .shape = {h->shape[0], h->shape[1]},
                                 .at = (const unsigned char *)h->values};
    return push(of, array, length, name);
}

static nvdp_status open_npy(struct nvdp__vectors_file *of) {
    struct nvdp__npy h;
    unsigned char *map = NULL;
    NVDP_TRY(nvdp__map_file(of->ctx, of->path, 1, "arrays", &map, &of->size));
    of->bytes = (char *)map;
    NVDP_TRY(nvdp__npy_parse(of->ctx, of->path, of->bytes, of->size, &h));
    return push_npy(of, &h, 0, "");
}

static nvdp_status open_npz(struct nvdp__vectors_file *of) {
    NVDP_TRY(nvdp__npz_read(of->ctx, of->path, &of->npz));
    for (size_t i = 0; i < of->npz.count; i++) {
        const struct nvdp__npz_array *array = &of->npz.array[i];
        NVDP_TRY(push_npy(of, &array->npy, array->name.size, array->name.text));
    }
    return NVDP_OK;
}

static nvdp_status open_h5(struct nvdp__vectors_file *of) {
    NVDP_TRY(nvdp__h5_image_open(of->ctx, of->path, of->path, &of->image));
    for (size_t i = 0; i < of->image->objects; i++) {
        struct nvdp__h5_object *object = &of->image->object[i];
        struct stored array = {.kind = object->stored.kind == NVDP__H5_REAL      ? 'f'
                                       : object->stored.kind == NVDP__H5_TEXT    ? 'S'
                                       : object->stored.kind != NVDP__H5_INTEGER ? '?'
                                       : object->stored.is_signed                ? 'i'
                                                                                 : 'u',
                               .swapped = object->stored.big_endian,
                               .size = object->stored.size,
                               .rank = (size_t)object->space.rank,
                               .object = object};
        for (size_t k = 0; k < nvdp__min(array.rank, 2); k++)
            array.shape[k] = object->space.shape[k];
        if (object->stored.kind == NVDP__H5_HEAPTEXT) array.kind = 'V';
        NVDP_TRY(push(of, array, strlen(object->name), object->name));
    }
    return NVDP_OK;
}

static nvdp_status open_safetensors(struct nvdp__vectors_file *of) {
    static const char kinds[] = {
        [NVDP__DTYPE_F64] = 'f',  [NVDP__DTYPE_F32] = 'f', [NVDP__DTYPE_F16] = 'f',
        [NVDP__DTYPE_BF16] = 'B', [NVDP__DTYPE_I64] = 'i', [NVDP__DTYPE_I32] = 'i',
        [NVDP__DTYPE_I16] = 'i',  [NVDP__DTYPE_I8] = 'i',  [NVDP__DTYPE_U8] = 'u',
        [NVDP__DTYPE_BOOL] = 'b'};
    NVDP_TRY(nvdp__safetensors_open(of->ctx, of->path, &of->tensors));
    const struct nvdp__tensor_info *info;
    for (size_t i = 0; (info = nvdp__safetensors_at(of->tensors, i)) != NULL; i++) {
        struct stored array = {.kind = kinds[info->dtype],
                               .size = nvdp__dtype_size(info->dtype),
                               .rank = (size_t)info->rank,
                               .at = info->data};
        for (size_t k = 0; k < nvdp__min(array.rank, 2); k++)
            array.shape[k] = info->shape[k];
        NVDP_TRY(push(of, array, strlen(info->name), info->name));
    }
    return NVDP_OK;
}

static nvdp_status open_file(struct nvdp__vectors_file *of) {
    static const struct {
        size_t at;
        const char *bytes;
        nvdp_status (*open)(struct nvdp__vectors_file *of);
    } formats[] = {{0, "\x93NUMPY", open_npy},
                   {0, "PK", open_npz},
                   {0, "\x89HDF\r\n", open_h5},
                   {8, "{", open_safetensors}};
    nvdp__autoptr(fclose) FILE *file = NULL;
    char head[NVDP__FORMAT_HEAD + 1] = "";
    NVDP_TRY(nvdp__fopen_regular(of->ctx, of->path, &file));
    const size_t count = fread(head, 1, NVDP__FORMAT_HEAD, file);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].at + strlen(formats[i].bytes) <= count &&
            memcmp(head + formats[i].at, formats[i].bytes, strlen(formats[i].bytes)) == 0)
            return formats[i].open(of);
    return nvdp__fail(of->ctx, NVDP_ERR_INPUT,
                      "%s: expected vectors in the format .npy, .npz, .h5 or .safetensors, found "
                      "another kind of file; in Python, numpy.savez(\"vectors.npz\", vectors=x, "
                      "ids=ids) writes one",
                      of->path);
}

/* Makes the rows [first, first + n) of an array readable: reads values of HDF5; those of other formats are mapped. */
static nvdp_status load(struct nvdp__vectors_file *of, struct stored *array, size_t first,
                        size_t n) {
    const size_t width = array->rank > 1 ? array->shape[1] : 1;
    size_t bytes = 0;
    if (array->object == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__h5_image_readable(of->image, array->object));
    if (!nvdp__mul(n, width, &bytes) || !nvdp__mul(bytes, array->size, &bytes))
        return NVDP__BAD_FILE(of, "dataset '%s' is too large", array->name);
    NVDP_TRY(nvdp__reserve(of->ctx, &array->held, &array->capacity, bytes, 1));
    NVDP_TRY(nvdp__h5_image_rows(of->image, array->object, first, n, array->held));
    array->at = array->held;
    array->first = first * width;
    return NVDP_OK;
}

/* Frees the memory of mapped pages, which the system reads again when they are used. */
static void forget(const void *map, size_t size) {
    if (map != NULL) (void)madvise((void *)(uintptr_t)map, size, MADV_DONTNEED);
}

/* Frees the memory of all pages of the file. */
static void forget_pages(struct nvdp__vectors_file *of) {
    forget(of->bytes, of->size);
    forget(of->npz.bytes, of->npz.size);
    if (of->image != NULL) forget(of->image->at, of->image->size);
    if (of->tensors != NULL) nvdp__safetensors_forget(of->tensors);
}

static const unsigned char *value_at(const struct stored *of, size_t i) {
    return of->at + (i - of->first) * of->size;
}

/* --- vectors --- */

enum { ARRAYS_TEXT = 512 };

/* Returns `list` with the first arrays of the file, for messages. */
static const char *first_arrays(const struct nvdp__vectors_file *of, char list[ARRAYS_TEXT]) {
    char type[NAME];
    size_t used = 0;
    nvdp__snprintf(list, ARRAYS_TEXT, "no array");
    for (size_t i = 0; i < nvdp__min(of->count, 5); i++)
        used += (size_t)nvdp__snprintf(list + used, ARRAYS_TEXT - used, "%s%.40s%s%.50s",
                                       used > 0 ? ", " : "", of->array[i].name,
                                       of->array[i].name[0] != '\0' ? " " : "",
                                       type_text(&of->array[i], type));
    if (of->count > 5) nvdp__snprintf(list + used, ARRAYS_TEXT - used, ", ...");
    return list;
}

static struct stored *find(const struct nvdp__vectors_file *of, const char *name) {
    for (size_t i = 0; i < of->count; i++)
        if (strcmp(of->array[i].name, name) == 0) return &of->array[i];
    return NULL;
}

/* Finds the vectors: the array of this name, or, without a name, the only array with the shape of vectors. */
static nvdp_status find_vectors(const struct nvdp__vectors_file *of, const char *name,
                                struct stored **out) {
    struct stored *found = NULL;
    char type[NAME], list[ARRAYS_TEXT];
    size_t candidates = 0;
    for (size_t i = 0; i < of->count; i++) {
        struct stored *array = &of->array[i];
        if (name != NULL ? strcmp(array->name, name) != 0
                         : array->rank != 2 || array->kind != 'f' || !is_read(array))
            continue;
        found = array;
        candidates++;
    }
    if (candidates == 0 && name == NULL && of->count == 1) found = &of->array[0];
    if (found == NULL || candidates > 1)
        return NVDP__BAD_FILE(
            of, "expected %s, found %s",
            name != NULL ? nvdp__with_options(of->ctx, "the array of {vectors-name}").text
                         : nvdp__with_options(of->ctx, "one array of float16, float32 or "
                                                       "float64 [rows, width], or its name "
                                                       "by {vectors-name}")
                               .text,
            first_arrays(of, list));
    if (found->kind != 'f' || found->rank != 2 || !is_read(found))
        return NVDP__BAD_FILE(of,
                              "expected vectors of float16, float32 or float64 [rows, width], "
                              "found %s",
                              type_text(found, type));
    if (found->shape[0] == 0 || found->shape[1] < MIN_WIDTH || found->shape[1] > MAX_WIDTH)
        return NVDP__BAD_FILE(of,
                              "expected at least one row, and %d to %d numbers per row, found "
                              "%s",
                              MIN_WIDTH, MAX_WIDTH, type_text(found, type));
    *out = found;
    return NVDP_OK;
}

static double number_at(const struct stored *of, size_t i) {
    return nvdp__npy_real(nvdp__npy_bits(value_at(of, i), of->size, of->swapped), of->size);
}

static nvdp_status read_vectors(struct nvdp__caller_vectors *of, size_t first) {
    const size_t n = of->rows, d = of->width;
    size_t all;
    if (!nvdp__mul(n, d, &all))
        return NVDP__BAD_FILE(of->file, "%zu x %zu numbers are too many", n, d);
    NVDP_TRY(load(of->file, of->file->vectors, first, n));
    NVDP_TRY(nvdp__reserve(of->file->ctx, &of->x, &of->capacity, all, sizeof *of->x));
    for (size_t i = 0; i < n; i++) {
        float *x = of->x + i * d;
        bool finite = true;
        for (size_t k = 0; k < d; k++) {
            x[k] = (float)number_at(of->file->vectors, (first + i) * d + k) +
                   0.f; /* -0 is 0: equal vectors have equal bytes */
            finite &= isfinite(x[k]);
        }
        if (finite) continue;
        memset(x, 0, d * sizeof *x);
        of->zeroed++;
    }
    return NVDP_OK;
}

/* --- columns --- */

static size_t put_utf8(uint32_t c, char *to) {
    if (c < 0x80) return to[0] = (char)c, 1;
    const size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    for (size_t k = more; k > 0; k--, c >>= 6)
        to[k] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(lead[more] | c);
    return more + 1;
}

/* Writes value i as text of at most of->size + 32 bytes, and returns the length of the text. Writes a NUL inside a
 * string as byte ff, a character beyond Unicode as fe, and a lone surrogate as a character, so that different strings
 * remain different names. Sets *odd in these cases. */
static size_t write_value(const struct stored *of, size_t i, char *to, bool *odd) {
    size_t length = of->size;
    if (of->kind == 'S') {
        const char *from = (const char *)value_at(of, i);
        while (length > 0 && from[length - 1] == '\0')
            length--;
        for (size_t k = 0; k < length; k++) {
            to[k] = from[k] != '\0' ? from[k] : '\xff';
            *odd |= from[k] == '\0';
        }
        return length;
    }
    if (of->kind == 'U') {
        size_t used = 0, zeros = 0;
        for (size_t k = 0; k < of->size / 4; k++) {
            const uint32_t c = (uint32_t)nvdp__npy_bits(value_at(of, i) + 4 * k, 4, of->swapped);
            zeros += c == 0;
            if (c == 0) continue;
            *odd |= zeros > 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000);
            for (; zeros > 0; zeros--)
                to[used++] = '\xff';
            if (c > 0x10ffff)
                to[used++] = '\xfe';
            else
                used += put_utf8(c, to + used);
        }
        return used;
    }
    if (of->kind == 'f') {
        const double real = number_at(of, i);
        return isnan(real) ? 0
                           : (size_t)nvdp__snprintf(to, 32, of->size == 8 ? "%.17g" : "%.9g", real);
    }
    const uint64_t bits = nvdp__npy_bits(value_at(of, i), of->size, of->swapped);
    const unsigned unused = 64 - 8 * (unsigned)of->size;
    return (size_t)(of->kind == 'i'
                        ? nvdp__snprintf(to, 32, "%" PRId64, (int64_t)(bits << unused) >> unused)
                        : nvdp__snprintf(to, 32, "%" PRIu64, bits));
}

static bool is_id(const struct column *of) {
    return strcmp(of->option, "ids") == 0;
}

/* Finds the column that an option names. */
static nvdp_status find_column(struct nvdp__vectors_file *of, struct column *column) {
    const bool label = strcmp(column->option, "label-column") == 0;
    const char *name = column->name;
    char type[NAME], expected[NAME + 32], list[ARRAYS_TEXT];
    const size_t n = of->vectors->shape[0];
    if (name == NULL) return NVDP_OK;
    struct stored *from = column->from = find(of, name);
    nvdp__snprintf(expected, sizeof expected, "an array '%.60s'", name);
    if (from == NULL)
        return nvdp__blame_value(
            of->ctx, column->option,
            NVDP__BAD_FILE(of, "expected %s, found %s", expected, first_arrays(of, list)));
    if (from->rank != 1 || from->shape[0] != n || !is_read(from) || (from->kind == 'f' && !label))
        return NVDP__BAD_FILE(of, "array '%s': expected integers%s or strings [%zu], found %s%s",
                              name, label ? ", floats" : "", n, type_text(from, type),
                              from->kind == 'O'   ? "; convert them with a.astype(str)"
                              : from->kind == 'V' ? "; convert them with a.astype(\"S\")"
                                                  : "");
    return NVDP_OK;
}

static void release_column(struct nvdp__string_column *column) {
    free(column->text);
    free(column->bytes);
    *column = (struct nvdp__string_column){0};
}

/* Reads the rows [first, first + n) of a column. */
static nvdp_status read_column(struct nvdp__vectors_file *of, const struct column *column,
                               size_t first, size_t n, struct nvdp__string_column *out) {
    struct stored *from = column->from;
    size_t used = 0, room;
    release_column(out);
    if (from == NULL) return NVDP_OK;
    NVDP_TRY(load(of, from, first, n));
    if (!nvdp__mul(n, from->size + 32, &room))
        return NVDP__BAD_FILE(of, "array '%s' is too large", column->name);
    NVDP_TRY(NVDP__ARRAYS(of->ctx, NULL, NVDP__ITEMS(out->text, n), NVDP__ITEMS(out->bytes, room)));
    for (size_t i = 0; i < n; i++) {
        bool odd = false;
        const size_t length = write_value(from, first + i, out->bytes + used, &odd);
        if (is_id(column) && (odd || length == 0))
            return NVDP__BAD_FILE(of, "array '%s', row %zu: expected an id, found %s", column->name,
                                  first + i,
                                  length == 0 ? "an empty one" : "no text, or a NUL inside");
        out->text[i] = out->bytes + used;
        out->bytes[used + length] = '\0';
        used += length + 1;
    }
    return NVDP_OK;
}

nvdp_status nvdp__caller_vectors_open(struct nvdp_context *ctx, const char *path,
                                      const struct nvdp__vector_names *names,
                                      struct nvdp__caller_vectors *out) {
    nvdp__autoptr(close_file) struct nvdp__vectors_file *of = NULL;
    NVDP_TRY(NVDP__NEW(ctx, of, 1));
    *of = (struct nvdp__vectors_file){.ctx = ctx,
                                      .path = path,
                                      .column = {{"ids", names->id, NULL},
                                                 {"label-column", names->label, NULL},
                                                 {"person", names->person, NULL}}};
    NVDP_TRY(open_file(of));
    NVDP_TRY(find_vectors(of, names->vectors, &of->vectors));
    for (size_t c = 0; c < sizeof of->column / sizeof *of->column; c++)
        NVDP_TRY(find_column(of, &of->column[c]));
    *out = (struct nvdp__caller_vectors){.count = of->vectors->shape[0],
                                         .width = of->vectors->shape[1]};
    return NVDP__HAND_OVER(&out->file, of);
}

nvdp_status nvdp__caller_vectors_rows(struct nvdp__caller_vectors *of, size_t first, size_t n) {
    struct nvdp__string_column *const column[] = {&of->id, &of->label, &of->person};
    if (first == 0) of->zeroed = 0;
    of->rows = n;
    NVDP_TRY(read_vectors(of, first));
    for (size_t c = 0; c < sizeof column / sizeof *column; c++)
        NVDP_TRY(read_column(of->file, &of->file->column[c], first, n, column[c]));
    forget_pages(of->file);
    return NVDP_OK;
}

nvdp_status nvdp__caller_vectors_read(struct nvdp_context *ctx, const char *path,
                                      const struct nvdp__vector_names *names,
                                      struct nvdp__caller_vectors *out) {
    nvdp__auto(nvdp__caller_vectors_release) struct nvdp__caller_vectors made = {0};
    NVDP_TRY(nvdp__caller_vectors_open(ctx, path, names, &made));
    NVDP_TRY(nvdp__caller_vectors_rows(&made, 0, made.count));
    close_file(made.file);
    made.file = NULL;
    return NVDP__HAND_OVER(out, made);
}

void nvdp__caller_vectors_release(struct nvdp__caller_vectors *vectors) {
    release_column(&vectors->id);
    release_column(&vectors->label);
    release_column(&vectors->person);
    free(vectors->x);
    close_file(vectors->file);
    *vectors = (struct nvdp__caller_vectors){0};
}
