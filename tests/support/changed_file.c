/* Implements changed copies of shared files (changed_file.h). */
#include "changed_file.h"
#include "share/release.h"

const char *changed_file(struct nvdp_context *ctx, const char *path, const char *name,
                         const char *value, size_t count, const struct changed_number *numbers) {
    const char *changed = support_scratch_path("changed.h5");
    nvdp__auto(nvdp__release_close) struct nvdp__release from = {0}, to = {.ctx = ctx};
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *held = NULL;
    ok(nvdp__release_read(ctx, nvdp__formats, path, &from));
    ok(nvdp__embeddings_take(&from, NULL, NULL, &held));
    to.attributes.ctx = ctx;
    to.shape = from.shape;
    to.offset = from.offset;
    for (size_t k = 0; k < from.attributes.count; k++) {
        const struct nvdp__attribute *a = &from.attributes.item[k];
        if (name == NULL || value != NULL || strcmp(a->name, name) != 0)
            ok(nvdp__attributes_set(&to.attributes, a->name, a->text, *a));
    }
    if (value != NULL) ok(nvdp__attributes_parse(&to.attributes, name, value));
    int32_t *z = held->z;
    for (size_t i = 0; i < count; i++)
        z[numbers[i].at] = numbers[i].steps;
    ok(nvdp__release_create(&to, nvdp__format_by_ending(nvdp__formats, changed), changed));
    ok(to.format->append(&to, 0, to.shape.rows, z, NULL));
    ok(nvdp__release_commit(&to, true));
    to.offset = NULL;
    return changed;
}
