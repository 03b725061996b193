#include "base/array.h"

#include "base/file.h"
#include <libgen.h>
#include <math.h>
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

static bool comes_before(struct nvdp__heap_item a, struct nvdp__heap_item b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
}

void nvdp__heap_push(struct nvdp__heap_item *heap, size_t *count, struct nvdp__heap_item item) {
    size_t at = (*count)++;
    for (; at > 0 && comes_before(item, heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = item;
}

struct nvdp__heap_item nvdp__heap_pop(struct nvdp__heap_item *heap, size_t *count) {
    const struct nvdp__heap_item top = heap[0], item = heap[--*count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < *count; at = child) {
        child += child + 1 < *count && comes_before(heap[child + 1], heap[child]);
        if (!comes_before(heap[child], item)) break;
        heap[at] = heap[child];
    }
    heap[at] = item;
    return top;
}

nvdp_status nvdp__pool_take(struct nvdp_context *ctx, struct nvdp__pool *pool, size_t n,
                            void *out) {
    enum { DEFAULT_SIZE = 1 << 18 };
    if (n > pool->size - pool->used || pool->blocks == 0) {
        char *block;
        pool->size = nvdp__max(n, pool->block_size > 0 ? pool->block_size : DEFAULT_SIZE);
        pool->used = pool->size; /* if the allocation fails, the pool has no block left */
        NVDP_TRY(nvdp__reserve(ctx, &pool->block, &pool->capacity, pool->blocks + 1, sizeof block));
        NVDP_TRY(NVDP__NEW(ctx, block, pool->size));
        pool->block[pool->blocks++] = block;
        pool->used = 0;
    }
    char *at = pool->block[pool->blocks - 1] + pool->used;
    memcpy(out, &at, sizeof at); /* out points to a pointer of any type */
    pool->used += n;
    return NVDP_OK;
}

void nvdp__pool_release(struct nvdp__pool *pool) {
    for (size_t i = 0; i < pool->blocks; i++)
        free(pool->block[i]);
    free(pool->block);
    *pool = (struct nvdp__pool){0};
}

void nvdp__memory_release(struct nvdp__memory *memory) {
    while (memory->count > 0)
        free(memory->item[--memory->count]);
    free(memory->item);
    *memory = (struct nvdp__memory){0};
}

nvdp_status nvdp__arrays(struct nvdp_context *ctx, struct nvdp__memory *memory,
                         const struct nvdp__array *array, size_t arrays) {
    if (memory != NULL)
        NVDP_TRY(nvdp__reserve(ctx, &memory->item, &memory->capacity, memory->count + arrays,
                               sizeof *memory->item));
    for (size_t i = 0; i < arrays; i++) {
        void *made = nvdp__calloc(ctx, array[i].count, array[i].size);
        if (made == NULL) return NVDP_ERR_MEMORY;
        if (memory != NULL) memory->item[memory->count++] = made;
        memcpy(array[i].pointer, &made, sizeof made);
    }
    return NVDP_OK;
}

nvdp_status nvdp__push_all(struct nvdp_context *ctx, void *array, size_t *count, size_t *capacity,
                           size_t n, const void *values, size_t size) {
    char *items;
    NVDP_TRY(nvdp__reserve(ctx, array, capacity, *count + n, size));
    memcpy(&items, array, sizeof items); /* array points to a pointer of any type */
    if (n > 0) memcpy(items + *count * size, values, n * size);
    *count += n;
    return NVDP_OK;
}

double nvdp__log_add(double a, double b) {
    const double top = fmax(a, b);
    return isinf(top) ? top : top + log1p(exp(fmin(a, b) - top));
}

double nvdp__log_sum(size_t n, const double *x) {
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++)
        top = fmax(top, x[i]);
    if (isinf(top)) return top;
    for (size_t i = 0; i < n; i++)
        sum += exp(x[i] - top);
    return top + log(sum);
}

struct nvdp__path nvdp__path(const char *directory, const char *name) {
    return nvdp__path_format("%s%s%s", directory, nvdp__path_separator(directory), name);
}

bool nvdp__has(const char *directory, const char *name) {
    return nvdp__exists(nvdp__path(directory, name).text);
}

struct nvdp__path nvdp__path_folder(const char *path) {
    struct nvdp__path copy = nvdp__path_format("%s", path); /* dirname() modifies the copy */
    return nvdp__path_format("%s", dirname(copy.text));
}

struct nvdp__path nvdp__path_format(const char *format, ...) {
    struct nvdp__path path;
    va_list args;
    va_start(args, format);
    (void)nvdp__vsnprintf(path.text, sizeof path.text, format, args);
    va_end(args);
    return path;
}
