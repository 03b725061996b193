/* Options of one task with one method: what the file says in general, then ever more specific. */
#include "grid.h"
#include "options.h"

#include <stdio.h>
#include <string.h>

enum { WHERE_ROOM = 512 };

/* Members of the file and of a method's entry that are no training options. */
static const char *const keys_of_file[] = {"tasks",   "methods", "data",   "per_task", "per_method",
                                           "privacy", "share",   "attack", "keep",     NULL};
static const char *const keys_of_entry[] = {"name", "method", NULL};
static const char *const no_keys[] = {NULL};

static bool is_one_of(const char *key, const char *const *keys) {
    for (; *keys != NULL; keys++) {
        if (strcmp(key, *keys) == 0) return true;
    }
    return false;
}

/* A value or a list of values, as a list. */
static nvdp_status values_of(struct nvdp_context *ctx, const char *where, const char *key,
                             json_t *value, json_t **list) {
    if (!json_is_array(value)) {
        *list = json_pack("[O]", value);
    } else if (json_array_size(value) == 0) {
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key '%s': expected a value or a list of values, found an empty list",
                          where, key);
    } else {
        *list = json_incref(value);
    }
    return *list == NULL ? nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory") : NVDP_OK;
}

static nvdp_status layer_add(struct nvdp_context *ctx, const char *where, const char *key,
                             json_t *value, const json_t *defaults, json_t *layer) {
    char name[NVDP__OPTION_ROOM];
    json_t *list = NULL;
    size_t i;
    const json_t *item;
    if (!nvdp__option_name(key, name))
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: unknown key '%.*s...'", where,
                          NVDP__OPTION_ROOM, key);
    if (nvdp__option_value(defaults, name) == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: unknown key '%s'", where, key);
    if (json_object_get(layer, name) != NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key '%s': given twice", where, key);
    NVDP_RETURN_IF_FAILED(values_of(ctx, where, key, value, &list));
    nvdp_status status = NVDP_OK;
    json_array_foreach(list, i, item) {
        if (status == NVDP_OK) status = nvdp__option_check(ctx, where, defaults, name, item);
    }
    if (status == NVDP_OK && json_object_set(layer, name, list) != 0)
        status = nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    json_decref(list);
    return status;
}

/* "lambda" stands for lambda_g and lambda_d: what comes later replaces both, or it. */
static nvdp_status settle_lambda(struct nvdp_context *ctx, const char *where, const json_t *layer,
                                 json_t *options) {
    bool both = json_object_get(layer, "lambda") != NULL;
    bool g = json_object_get(layer, "lambda_g") != NULL;
    bool d = json_object_get(layer, "lambda_d") != NULL;
    if (both && (g || d))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected either 'lambdas' or 'lambda_g' and 'lambda_d', found both",
                          where);
    if (both) {
        json_object_del(options, "lambda_g");
        json_object_del(options, "lambda_d");
    }
    if (g && d) json_object_del(options, "lambda");
    return NVDP_OK;
}

static nvdp_status put_layer(struct nvdp_context *ctx, const char *where, const json_t *object,
                             const char *const *skip, const json_t *defaults, json_t *options) {
    nvdp_status status = NVDP_OK;
    const char *key;
    json_t *value;
    json_t *layer = json_object();
    json_object_foreach((json_t *)object, key, value) {
        if (!is_one_of(key, skip)) NVDP_TRY(layer_add(ctx, where, key, value, defaults, layer));
    }
    NVDP_TRY(settle_lambda(ctx, where, layer, options));
    if (json_object_update(options, layer) != 0)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory"));
cleanup:
    json_decref(layer);
    return status;
}

static nvdp_status put_override(struct nvdp_context *ctx, const char *path, const json_t *root,
                                const char *key, const char *name, const json_t *defaults,
                                json_t *options) {
    char where[WHERE_ROOM];
    const json_t *object = json_object_get(json_object_get(root, key), name);
    snprintf(where, sizeof where, "%s: %s.%s", path, key, name);
    return put_layer(ctx, where, object, no_keys, defaults, options);
}

nvdp_status nvdp__grid_options(struct nvdp_context *ctx, const char *path, const json_t *root,
                               const char *task, const json_t *method, const json_t *defaults,
                               json_t **out) {
    nvdp_status status = NVDP_OK;
    char where[WHERE_ROOM];
    const char *label = nvdp__grid_label(method), *name = nvdp__grid_method(method);
    json_t *options = json_object();
    if (options == NULL) NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory"));
    NVDP_TRY(put_layer(ctx, path, root, keys_of_file, defaults, options));
    NVDP_TRY(put_override(ctx, path, root, "per_task", task, defaults, options));
    NVDP_TRY(put_override(ctx, path, root, "per_method", name, defaults, options));
    if (strcmp(label, name) != 0)
        NVDP_TRY(put_override(ctx, path, root, "per_method", label, defaults, options));
    snprintf(where, sizeof where, "%s: method '%s'", path, label);
    NVDP_TRY(put_layer(ctx, where, json_is_object(method) ? method : NULL, keys_of_entry, defaults,
                       options));
    *out = options;
    options = NULL;
cleanup:
    json_decref(options);
    return status;
}
