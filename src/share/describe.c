#include "share/describe.h"

#include "base/file.h"
#include <errno.h>
#include <nvdp/share.h>
#include <stdlib.h>
#include <string.h>

/* A well-formed sequence's length, or 0; continuation bytes decide, so no terminal is steered by C1
 * controls (U+0080 to U+009F) either. */
static size_t sequence(const unsigned char *at) {
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
    }
    if (at[0] == 0xc2 && at[1] < 0xa0) return 0;
    return length;
}

json_t *nvdp__shown(const char *text) {
    char *copy = strdup(text);
    if (copy == NULL) return NULL;
    for (unsigned char *at = (unsigned char *)copy; *at != '\0';) {
        if (*at >= 0x20 && *at < 0x7f) {
            at++;
            continue;
        }
        size_t length = *at >= 0x80 ? sequence(at) : 0;
        if (length == 0) *at = '?';
        at += length > 0 ? length : 1;
    }
    json_t *value = json_string(copy);
    for (char *at = copy; value == NULL && *at != '\0'; at++) { /* an overlong form, a surrogate */
        if ((unsigned char)*at >= 0x80) *at = '?';
    }
    if (value == NULL) value = json_string(copy);
    free(copy);
    return value;
}

nvdp_status nvdp_describe(struct nvdp_context *ctx, const char *path, bool json, FILE *to) {
    nvdp_status status = NVDP_OK;
    json_t *object = NULL;
    if (path == NULL) return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "path: expected one, found none");
    if (!nvdp__exists(path)) return nvdp__fail_errno(ctx, ENOENT, "%s: cannot read", path);
    NVDP_TRY(nvdp__is_directory(path) ? nvdp__describe_directory(ctx, path, &object)
                                      : nvdp__describe_file(ctx, path, &object));
    if (!json) {
        nvdp__describe_print(path, object, to);
        goto cleanup;
    }
    if (json_dumpf(object, to, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) != 0)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_IO, "%s: its description could not be written", path));
    fputc('\n', to);
cleanup:
    json_decref(object);
    return status;
}
