/* Arrays that grow, arrays sorted by members of their items, and paths by value. */
#ifndef NVDP_SRC_BASE_ARRAY_H
#define NVDP_SRC_BASE_ARRAY_H

#include "base/base.h"
#include <limits.h>
#include <stddef.h>

/* Appends the value to an array of `count` items with room for `capacity`, and grows the array if it is full. A status. */
#define NVDP__PUSH(ctx, array, count, capacity, ...)                                               \
    (nvdp__reserve(ctx, &(array), &(capacity), (count) + 1, sizeof *(array)) == NVDP_OK            \
         ? ((array)[(count)++] = (__VA_ARGS__), NVDP_OK)                                           \
         : NVDP_ERR_MEMORY)

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
    size_t offset; /* of the member in the item, bytes */
    size_t size;   /* of the member, bytes */
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
/* A number, enum or string of struct `item`. Numbers must not be NaN; strings are compared by bytes. */
#define NVDP__UP(item, member)                                                                     \
    NVDP__KEY_OF(item, member, NVDP__KEY_KIND(((item *)0)->member), false)
#define NVDP__DOWN(item, member)                                                                   \
    NVDP__KEY_OF(item, member, NVDP__KEY_KIND(((item *)0)->member), true)
/* An array of bytes in struct `item`, compared with memcmp(). */
#define NVDP__UP_MEMORY(item, member) NVDP__KEY_OF(item, member, NVDP__KEY_MEMORY, false)
/* The item itself, a number or a string. */
#define NVDP__UP_ITEM(type)                                                                        \
    { 0, sizeof(type), NVDP__KEY_KIND(*(type *)0), false }
#define NVDP__DOWN_ITEM(type)                                                                      \
    { 0, sizeof(type), NVDP__KEY_KIND(*(type *)0), true }

/* Compares two items by the first of n keys in which they differ: negative, 0 or positive. */
int nvdp__compare(const void *a, const void *b, const struct nvdp__key *key, size_t n);
/* Sorts by keys, of which later ones order the items that are equal in the earlier ones. The array may be NULL if
 * count is 0.  Example: NVDP__SORT(run, runs, NVDP__DOWN(struct run, score), NVDP__UP(struct run, name)). */
void nvdp__sort(void *array, size_t count, size_t size, const struct nvdp__key *key, size_t n);
#define NVDP__KEYS(...)                                                                            \
    (const struct nvdp__key[]){__VA_ARGS__},                                                       \
        sizeof((const struct nvdp__key[]){__VA_ARGS__}) / sizeof(struct nvdp__key)
#define NVDP__SORT(array, count, ...)                                                              \
    nvdp__sort(array, count, sizeof *(array), NVDP__KEYS(__VA_ARGS__))

/* A path by value. A path that is too long is cut to a length that every system call refuses with ENAMETOOLONG. */
struct nvdp__path {
    char text[PATH_MAX + 1];
};
/* DIRECTORY/name, as nvdp__join() returns it. */
struct nvdp__path nvdp__path(const char *directory, const char *name);
struct nvdp__path nvdp__path_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
