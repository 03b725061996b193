/* Configurations as JSON objects: one table of a struct's members writes and reads them. */
#ifndef NVDP_SRC_TRAIN_MEMBERS_H
#define NVDP_SRC_TRAIN_MEMBERS_H

#include "base/base.h"
#include <jansson.h>

enum nvdp__member_kind {
    NVDP__MEMBER_TEXT,  /* const char *, NULL is null */
    NVDP__MEMBER_REAL,  /* double */
    NVDP__MEMBER_SIZE,  /* size_t */
    NVDP__MEMBER_WHOLE, /* uint64_t; JSON's integers have a sign: the same 64 bits */
    NVDP__MEMBER_FLAG   /* bool */
};
struct nvdp__member {
    const char *key;
    enum nvdp__member_kind kind;
    size_t offset;
};
#define NVDP__MEMBER(type, name, kind)                                                             \
    { #name, NVDP__MEMBER_##kind, offsetof(type, name) }

void nvdp__members_write(json_t *object, const void *config, size_t count,
                         const struct nvdp__member *member);
/* What is missing keeps its value.  Texts stay owned by `object`. */
nvdp_status nvdp__members_read(struct nvdp_context *ctx, const char *path, const json_t *object,
                               void *config, size_t count, const struct nvdp__member *member);

#endif
