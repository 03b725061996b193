#include "train/members.h"

#include "base/json.h"
#include <string.h>

static json_t *value_of(const struct nvdp__member *member, const void *config) {
    const void *at = (const char *)config + member->offset;
    const char *text;
    double real;
    size_t size;
    uint64_t whole;
    bool flag;
    switch (member->kind) {
    case NVDP__MEMBER_TEXT:
        memcpy(&text, at, sizeof text);
        return text == NULL ? json_null() : json_string(text);
    case NVDP__MEMBER_REAL:
        memcpy(&real, at, sizeof real);
        return json_real(real);
    case NVDP__MEMBER_SIZE:
        memcpy(&size, at, sizeof size);
        return json_integer((json_int_t)size);
    case NVDP__MEMBER_WHOLE:
        memcpy(&whole, at, sizeof whole);
        return json_integer((json_int_t)whole);
    case NVDP__MEMBER_FLAG:
        memcpy(&flag, at, sizeof flag);
        return json_boolean(flag);
    }
    return NULL;
}

void nvdp__members_write(json_t *object, const void *config, size_t count,
                         const struct nvdp__member *member) {
    for (size_t i = 0; i < count; i++) {
        json_object_set_new(object, member[i].key, value_of(&member[i], config));
    }
}

static nvdp_status read_one(struct nvdp_context *ctx, const char *path, const json_t *object,
                            void *config, const struct nvdp__member *member) {
    void *to = (char *)config + member->offset;
    const char *key = member->key;
    int64_t whole = 0;
    switch (member->kind) {
    case NVDP__MEMBER_TEXT:
        return nvdp__json_string(ctx, path, object, key, *(const char **)to, to);
    case NVDP__MEMBER_REAL:
        return nvdp__json_real(ctx, path, object, key, *(double *)to, -1e30, 1e30, to);
    case NVDP__MEMBER_SIZE:
        NVDP_RETURN_IF_FAILED(
            nvdp__json_int(ctx, path, object, key, (int64_t) * (size_t *)to, 0, INT64_MAX, &whole));
        *(size_t *)to = (size_t)whole;
        return NVDP_OK;
    case NVDP__MEMBER_WHOLE:
        NVDP_RETURN_IF_FAILED(nvdp__json_int(ctx, path, object, key, (int64_t) * (uint64_t *)to,
                                             INT64_MIN, INT64_MAX, &whole));
        *(uint64_t *)to = (uint64_t)whole;
        return NVDP_OK;
    case NVDP__MEMBER_FLAG:
        return nvdp__json_bool(ctx, path, object, key, *(bool *)to, to);
    }
    return NVDP_OK;
}

nvdp_status nvdp__members_read(struct nvdp_context *ctx, const char *path, const json_t *object,
                               void *config, size_t count, const struct nvdp__member *member) {
    for (size_t i = 0; i < count; i++) {
        NVDP_RETURN_IF_FAILED(read_one(ctx, path, object, config, &member[i]));
    }
    return NVDP_OK;
}
