#include "base/array.h"

#include "base/file.h"
#include <stdlib.h>

#define COMPARE(type)                                                                              \
    do {                                                                                           \
        type x, y;                                                                                 \
        memcpy(&x, a, sizeof x);                                                                   \
        memcpy(&y, b, sizeof y);                                                                   \
        return (x > y) - (x < y);                                                                  \
    } while (0)

static int compare_member(const void *a, const void *b, const struct nvdp__key *key) {
    switch (key->kind) {
    case NVDP__KEY_BOOL:
        COMPARE(bool);
    case NVDP__KEY_INT:
        return nvdp__by_int32(a, b);
    case NVDP__KEY_UINT:
        COMPARE(unsigned);
    case NVDP__KEY_I64:
        return nvdp__by_int64(a, b);
    case NVDP__KEY_U64:
        COMPARE(uint64_t);
    case NVDP__KEY_FLOAT:
        COMPARE(float);
    case NVDP__KEY_DOUBLE:
        return nvdp__by_double(a, b);
    case NVDP__KEY_STRING:
        return strcmp(*(const char *const *)a, *(const char *const *)b);
    case NVDP__KEY_MEMORY:
        break;
    }
    return memcmp(a, b, key->size);
}

int nvdp__compare(const void *a, const void *b, const struct nvdp__key *key, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const size_t at = key[k].offset;
        const int order = compare_member((const char *)a + at, (const char *)b + at, &key[k]);
        if (order != 0) return key[k].descending ? -order : order;
    }
    return 0;
}

struct keys {
    const struct nvdp__key *key;
    size_t n;
};

static int by_keys(const void *a, const void *b, void *keys) {
    const struct keys *of = keys;
    return nvdp__compare(a, b, of->key, of->n);
}

void nvdp__sort(void *array, size_t count, size_t size, const struct nvdp__key *key, size_t n) {
    if (count > 1) qsort_r(array, count, size, by_keys, &(struct keys){key, n});
}

struct nvdp__path nvdp__path(const char *directory, const char *name) {
    return nvdp__path_format("%s%s%s", directory, nvdp__path_separator(directory), name);
}

struct nvdp__path nvdp__path_format(const char *format, ...) {
    struct nvdp__path path;
    va_list args;
    va_start(args, format);
    (void)nvdp__vsnprintf(path.text, sizeof path.text, format, args);
    va_end(args);
    return path;
}
