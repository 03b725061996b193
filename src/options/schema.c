/* Tables of options: fills and checks the plain structs, and reads and writes files of options.  Read schema.h
 * first. */
#include "base/sentence.h"
#include "options/option.h"

#include <stdlib.h>

enum { MAX_RESULT = 1 << 20 };

bool nvdp__schema_row(const struct nvdp__schema *schema, size_t i, struct nvdp__place *place) {
    for (size_t s = 0; s < schema->sections; s++) {
        const struct nvdp__section *section = &schema->section[s];
        const struct nvdp_option *row = section->row;
        for (; row->name != NULL && i > 0; row++)
            i--;
        if (row->name == NULL) continue;
        *place = (struct nvdp__place){
            .row = row,
            .parent = row->parent != NULL ? row->parent : section->parent,
            .group = row->group == NULL && row == section->row ? section->group : row->group,
            .offset = section->offset + row->offset};
        nvdp__option_key(row, place->key);
        return true;
    }
    return false;
}

void nvdp__schema_default(const struct nvdp__schema *schema, void *values) {
    struct nvdp__place place;
    memset(values, 0, schema->size);
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        if (place.row->sets != NULL) continue;
        union nvdp__value value = nvdp__option_default(place.row);
        memcpy((char *)values + place.offset, &value, place.row->width);
    }
}

nvdp_status nvdp__schema_check(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                               const void *values) {
    struct nvdp__place place;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        if (place.row->sets != NULL) continue;
        union nvdp__value value = nvdp__option_at(place.row, (const char *)values + place.offset);
        bool needed = (place.row->traits & NVDP_TRAIT_REQUIRED) != 0;
        if (needed && (value.text == NULL || value.text[0] == '\0'))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected a value, found none",
                              place.key);
        NVDP_TRY(nvdp__option_check(ctx, NULL, place.row, &value));
    }
    return schema->check != NULL ? schema->check(ctx, values) : NVDP_OK;
}

static bool is_saved(const struct nvdp__place *place) {
    return place->row->sets == NULL && (place->row->traits & NVDP_TRAIT_UNSAVED) == 0;
}

nvdp_status nvdp__schema_check_texts(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                                     const void *values) {
    struct nvdp__place place;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        if (!is_saved(&place) || !nvdp__option_is_text(place.row)) continue;
        union nvdp__value value = nvdp__option_at(place.row, (const char *)values + place.offset);
        json_t *text = value.text == NULL ? NULL : json_string(value.text);
        if (value.text != NULL && text == NULL)
            return nvdp__fail(
                ctx, NVDP_ERR_ARGUMENT,
                "%s: expected a value in UTF-8, because it is saved as JSON, found '%s'", place.key,
                value.text);
        json_decref(text);
    }
    return NVDP_OK;
}

json_t *nvdp__schema_json(const struct nvdp__schema *schema, const void *values) {
    struct nvdp__place place;
    json_t *root = json_object();
    int failed = root == NULL;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        if (!is_saved(&place)) continue;
        union nvdp__value value = nvdp__option_at(place.row, (const char *)values + place.offset);
        json_t *to = place.parent == NULL ? root : json_object_get(root, place.parent);
        if (to == NULL) failed |= json_object_set_new(root, place.parent, to = json_object());
        failed |= json_object_set_new(to, place.key, nvdp__option_json(place.row, &value));
    }
    if (failed == 0) return root;
    json_decref(root);
    return NULL;
}

nvdp_status nvdp__schema_read(struct nvdp_context *ctx, const char *path, const json_t *object,
                              const struct nvdp__schema *schema, void *values) {
    struct nvdp__place place;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        const json_t *from = place.parent == NULL ? object : json_object_get(object, place.parent);
        const json_t *member = json_object_get(from, place.key);
        if (place.row->sets != NULL || (place.row->traits & NVDP_TRAIT_UNSAVED) != 0) continue;
        if (member == NULL || json_is_null(member)) continue;
        char *at = (char *)values + place.offset;
        NVDP_TRY(nvdp__option_read(ctx, path, member, &place, at));
        if ((place.row->traits & NVDP_TRAIT_PRESET) != 0) {
            const char *const present = nvdp__preset_name(nvdp__option_at(place.row, at).text);
            memcpy(at, &present, sizeof present);
        }
    }
    return NVDP_OK;
}

/* --- lists --- */

nvdp_status nvdp__list_split(struct nvdp_context *ctx, const char *text, const char ***list,
                             size_t *count) {
    size_t max_items = 1;
    size_t size = strlen(text != NULL ? text : "");
    for (size_t i = 0; i < size; i++)
        max_items += text[i] == ',';
    const char **items = nvdp__calloc(ctx, max_items * sizeof *items + size + 1, 1);
    if (items == NULL) return NVDP_ERR_MEMORY;
    char *to = (char *)(items + max_items);
    *count = 0;
    for (size_t i = 0; i < size; i++) {
        if (i == 0 || to[-1] == '\0') items[(*count)++] = to;
        bool quoted = text[i] == '\\' && text[i + 1] == ',';
        i += quoted;
        *to++ = (char)(text[i] == ',' && !quoted ? '\0' : text[i]);
    }
    *list = items;
    return NVDP_OK;
}

/* --- results --- */

nvdp_status nvdp__can_give(struct nvdp_context *ctx, const void *out) {
    size_t have;
    memcpy(&have, out, sizeof have);
    if (have > sizeof have && have <= MAX_RESULT) return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_ARGUMENT,
        "struct_size: expected the size of a struct, as set by NVDP_RESULT, found %zu", have);
}

void nvdp__give(void *out, const void *result, size_t size) {
    size_t have;
    memcpy(&have, out, sizeof have);
    memcpy((char *)out + sizeof have, (const char *)result + sizeof have,
           nvdp__min(have, size) - sizeof have);
}
