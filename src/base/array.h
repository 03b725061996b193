/* Arrays that are allocated together, arrays that grow, arrays sorted by members of their items, sums of numbers,
 * and paths by value. */
#ifndef NVDP_SRC_BASE_ARRAY_H
#define NVDP_SRC_BASE_ARRAY_H

#include "base/base.h"
#include <limits.h>
#include <stddef.h>

/* ---- arrays that are allocated, and released, together ---- */

/* The owner of arrays; set to zero before use. nvdp__memory_release() leaves it at zero. */
struct nvdp__memory {
    void **item;
    size_t count, capacity;
};
void nvdp__memory_release(struct nvdp__memory *memory);

/* One of several arrays to allocate: a pointer, and the number of its items. */
struct nvdp__array {
    void *pointer; /* the address of the pointer */
    size_t count, size;
};
#define NVDP__ITEMS(pointer, count)                                                                \
    { &(pointer), count, sizeof *(pointer) }
nvdp_status nvdp__arrays(struct nvdp_context *ctx, struct nvdp__memory *memory,
                         const struct nvdp__array *array, size_t arrays);
/* Allocates zeroed arrays, which `memory` then owns; if `memory` is NULL, each pointer owns one array. Yields a
 * status. Example: NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(x, rows * width), NVDP__ITEMS(label, rows)). */
#define NVDP__ARRAYS(ctx, memory, ...)                                                             \
    nvdp__arrays(ctx, memory, (const struct nvdp__array[]){__VA_ARGS__},                           \
                 sizeof((const struct nvdp__array[]){__VA_ARGS__}) / sizeof(struct nvdp__array))

/* ---- arrays that grow ---- */

/* Appends the value to an array of `count` items with room for `capacity`, and grows the array if it is full. Yields
 * a status. */
#define NVDP__PUSH(ctx, array, count, capacity, ...)                                               \
    (nvdp__reserve(ctx, &(array), &(capacity), (count) + 1, sizeof *(array)) == NVDP_OK            \
         ? ((array)[(count)++] = (__VA_ARGS__), NVDP_OK)                                           \
         : NVDP_ERR_MEMORY)

/* Appends n values to an array, as NVDP__PUSH does. Yields a status. */
#define NVDP__PUSH_ALL(ctx, array, count, capacity, n, values)                                     \
    nvdp__push_all(ctx, &(array), &(count), &(capacity), n, values, sizeof *(array))
nvdp_status nvdp__push_all(struct nvdp_context *ctx, void *array, size_t *count, size_t *capacity,
                           size_t n, const void *values, size_t size);

enum nvdp__key_kind {
    NVDP__KEY_BOOL,
    NVDP__KEY_INT,
    NVDP__KEY_UINT,
    NVDP__KEY_I64,
    NVDP__KEY_U64,
    NVDP__KEY_FLOAT,
    NVDP__KEY_DOUBLE,
    NVDP__KEY_STRING,
    NVDP__KEY_MEMORY,
};

/* A member by which items are ordered. */
struct nvdp__key {
    size_t offset; /* offset of the member in the item, in bytes */
    size_t size;   /* size of the member, in bytes */
    enum nvdp__key_kind kind;
    bool descending;
};

#define NVDP__KEY_KIND(value)                                                                      \
    _Generic((value),                                                                              \
        bool: NVDP__KEY_BOOL,                                                                      \
        int: NVDP__KEY_INT,                                                                        \
        unsigned: NVDP__KEY_UINT,                                                                  \
        long: NVDP__KEY_I64,                                                                       \
        long long: NVDP__KEY_I64,                                                                  \
        unsigned long: NVDP__KEY_U64,                                                              \
        unsigned long long: NVDP__KEY_U64,                                                         \
        float: NVDP__KEY_FLOAT,                                                                    \
        double: NVDP__KEY_DOUBLE,                                                                  \
        char *: NVDP__KEY_STRING,                                                                  \
        const char *: NVDP__KEY_STRING)
#define NVDP__KEY_OF(item, member, kind, descending)                                               \
    { offsetof(item, member), sizeof(((item *)0)->member), kind, descending }
/* A key that is a number, enum or string of struct `item`. Numbers must not be NaN; strings are compared by bytes. */
#define NVDP__UP(item, member)                                                                     \
    NVDP__KEY_OF(item, member, NVDP__KEY_KIND(((item *)0)->member), false)
#define NVDP__DOWN(item, member)                                                                   \
    NVDP__KEY_OF(item, member, NVDP__KEY_KIND(((item *)0)->member), true)
/* A key that is an array of bytes in struct `item`, compared with memcmp(). */
#define NVDP__UP_MEMORY(item, member) NVDP__KEY_OF(item, member, NVDP__KEY_MEMORY, false)
/* A key that is the item itself, a number or a string. */
#define NVDP__UP_ITEM(type)                                                                        \
    { 0, sizeof(type), NVDP__KEY_KIND(*(type *)0), false }
#define NVDP__DOWN_ITEM(type)                                                                      \
    { 0, sizeof(type), NVDP__KEY_KIND(*(type *)0), true }

/* Compares two items by the first of n keys in which they differ: negative, 0 or positive. */
int nvdp__compare(const void *a, const void *b, const struct nvdp__key *key, size_t n);
/* Sorts by keys; a later key orders the items that are equal in all earlier keys. The array may be NULL if count is
 * 0. Example: NVDP__SORT(run, runs, NVDP__DOWN(struct run, score), NVDP__UP(struct run, name)). */
void nvdp__sort(void *array, size_t count, size_t size, const struct nvdp__key *key, size_t n);
#define NVDP__KEYS(...)                                                                            \
    (const struct nvdp__key[]){__VA_ARGS__},                                                       \
        sizeof((const struct nvdp__key[]){__VA_ARGS__}) / sizeof(struct nvdp__key)
#define NVDP__SORT(array, count, ...)                                                              \
    nvdp__sort(array, count, sizeof *(array), NVDP__KEYS(__VA_ARGS__))

/* An item of a heap; the item with the smallest (first, second) is popped first. */
struct nvdp__heap_item {
    uint64_t first, second;
    size_t of; /* the index of the object for which the item stands */
};
/* Adds an item; the array must have room for it. */
void nvdp__heap_push(struct nvdp__heap_item *heap, size_t *count, struct nvdp__heap_item item);
struct nvdp__heap_item nvdp__heap_pop(struct nvdp__heap_item *heap, size_t *count);

/* Memory that is released all at once: blocks of block_size bytes, or of the default size if block_size is 0. The
 * caller sets the struct to zero and releases it. */
struct nvdp__pool {
    char **block;
    size_t blocks, capacity, used, size; /* `used` and `size` are bytes of the last block */
    size_t block_size;
};
/* Returns n bytes in *out, aligned for any type if all requests are multiples of 8. */
nvdp_status nvdp__pool_take(struct nvdp_context *ctx, struct nvdp__pool *pool, size_t n, void *out);
void nvdp__pool_release(struct nvdp__pool *pool);

/* ---- sums of numbers ---- */

/* Updates the mean of numbers, and the sum of squared deviations from the mean, with the n-th number (Welford 1962). */
static inline void nvdp__welford(size_t n, double value, double *mean, double *squares) {
    const double step = value - *mean;
    *mean += step / (double)n;
    *squares += step * (value - *mean);
}
/* Return log (e^a + e^b), and log sum_i e^x_i. The largest exponent is factored out of the sum. -INFINITY stands for
 * log 0. */
double nvdp__log_add(double a, double b);
double nvdp__log_sum(size_t n, const double *x);

/* A path by value. A path that is too long is cut to a length that every system call refuses with ENAMETOOLONG. */
struct nvdp__path {
    char text[PATH_MAX + 1];
};
/* Returns DIRECTORY/name, as nvdp__join() does. */
struct nvdp__path nvdp__path(const char *directory, const char *name);
/* Returns true if DIRECTORY/name exists, as nvdp__exists() does. */
bool nvdp__has(const char *directory, const char *name);
struct nvdp__path nvdp__path_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns the folder of a path, as dirname() does. */
struct nvdp__path nvdp__path_folder(const char *path);

#endif
