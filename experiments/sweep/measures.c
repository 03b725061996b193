/* What is done with a trained run: "privacy", options of `nvdp privacy`, and "share", of `nvdp
 * export` and `nvdp reuse`. */
#include "base/json.h"
#include "grid.h"
#include "train/members.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { WHERE_ROOM = 512 };

static const char *const privacy_keys[] = {"split",      "limit",     "batch",    "seed",
                                           "max_pairs",  "order",     "delta",    "gamma",
                                           "arithmetic", "adjacency", "releases", NULL};
static const char *const share_keys[] = {"splits",   "samples", "limit", "measure_texts", "epochs",
                                         "patience", "heads",   "lr",    "seed",          NULL};

static nvdp_status check_keys(struct nvdp_context *ctx, const char *where, const json_t *object,
                              const char *const *keys) {
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        size_t i = 0;
        while (keys[i] != NULL && strcmp(keys[i], key) != 0)
            i++;
        if (keys[i] == NULL)
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: unknown key '%s'", where, key);
    }
    return NVDP_OK;
}

/* One of two words. */
static nvdp_status read_choice(struct nvdp_context *ctx, const char *where, const json_t *object,
                               const char *key, const char *const names[2], int *out) {
    const char *text = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, where, object, key, names[*out], &text));
    for (int i = 0; i < 2; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *out = i;
        return NVDP_OK;
    }
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key '%s': expected %s or %s, found '%s'", where,
                      key, names[0], names[1], text);
}

static nvdp_status read_pairs(struct nvdp_context *ctx, const char *where, const json_t *object,
                              struct nvdp_pairs_config *pairs) {
    static const char *const adjacencies[] = {
        [NVDP_ADJACENT_ALL] = "all", [NVDP_ADJACENT_SAME_LENGTH] = "same-length"};
    static const char *const arithmetics[] = {
        [NVDP_PAIRS_FAST] = "fast", [NVDP_PAIRS_EXACT] = "exact"};
    int64_t most = 0;
    int adjacency = (int)pairs->adjacency, arithmetic = (int)pairs->arithmetic;
    NVDP_RETURN_IF_FAILED(nvdp__json_int(ctx, where, object, "max_pairs", (int64_t)pairs->max_pairs,
                                         0, INT64_MAX, &most));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_real(ctx, where, object, "order", pairs->order, 1e-6, INFINITY, &pairs->order));
    NVDP_RETURN_IF_FAILED(read_choice(ctx, where, object, "adjacency", adjacencies, &adjacency));
    NVDP_RETURN_IF_FAILED(read_choice(ctx, where, object, "arithmetic", arithmetics, &arithmetic));
    pairs->max_pairs = (size_t)most;
    pairs->adjacency = (enum nvdp_adjacency)adjacency;
    pairs->arithmetic = (enum nvdp_pairs_arithmetic)arithmetic;
    return NVDP_OK;
}

static nvdp_status read_privacy(struct nvdp_context *ctx, const char *path, const json_t *object,
                                struct nvdp__grid *grid) {
    static const struct nvdp__member members[] = {
        NVDP__MEMBER(struct nvdp_run_config, split, TEXT),
        NVDP__MEMBER(struct nvdp_run_config, limit, SIZE),
        NVDP__MEMBER(struct nvdp_run_config, batch, SIZE),
        NVDP__MEMBER(struct nvdp_run_config, seed, WHOLE),
    };
    char where[WHERE_ROOM];
    struct nvdp_bdp_config *bdp = &grid->privacy.bdp;
    int64_t releases = 0;
    snprintf(where, sizeof where, "%s: privacy", path);
    if (object != NULL && !json_is_object(object))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'privacy': expected an object such as {\"max_pairs\": 100000}",
                          path);
    NVDP_RETURN_IF_FAILED(check_keys(ctx, where, object, privacy_keys));
    NVDP_RETURN_IF_FAILED(nvdp__members_read(ctx, where, object, &grid->measured,
                                             sizeof members / sizeof members[0], members));
    NVDP_RETURN_IF_FAILED(read_pairs(ctx, where, object, &grid->privacy.pairs));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_real(ctx, where, object, "delta", bdp->delta, 1e-300, 1, &bdp->delta));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_real(ctx, where, object, "gamma", bdp->gamma, 1e-300, 1, &bdp->gamma));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_int(ctx, where, object, "releases", bdp->releases, 1, INT32_MAX, &releases));
    bdp->releases = (int)releases;
    grid->privacy.pairs.seed = grid->measured.seed;
    return NVDP_OK;
}

static nvdp_status read_share(struct nvdp_context *ctx, const char *path, const json_t *value,
                              struct nvdp__grid *grid) {
    static const struct nvdp__member exported[] = {
        NVDP__MEMBER(struct nvdp_export_config, splits, TEXT),
        NVDP__MEMBER(struct nvdp_export_config, samples, SIZE),
        NVDP__MEMBER(struct nvdp_export_config, limit, SIZE),
        NVDP__MEMBER(struct nvdp_export_config, measure_texts, SIZE),
    };
    static const struct nvdp__member reuse[] = {
        NVDP__MEMBER(struct nvdp_reuse_config, epochs, SIZE),
        NVDP__MEMBER(struct nvdp_reuse_config, patience, SIZE),
        NVDP__MEMBER(struct nvdp_reuse_config, heads, SIZE),
        NVDP__MEMBER(struct nvdp_reuse_config, lr, REAL),
        NVDP__MEMBER(struct nvdp_reuse_config, seed, WHOLE),
    };
    char where[WHERE_ROOM];
    snprintf(where, sizeof where, "%s: share", path);
    grid->exported.splits = "train,dev";
    grid->exported.with_labels = true;
    grid->exported.overwrite = true;
    grid->share = json_is_true(value) || json_is_object(value);
    if (value != NULL && !json_is_boolean(value) && !json_is_object(value))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'share': expected true, false or an object such as {\"limit\": "
                          "2000}",
                          path);
    if (!json_is_object(value)) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(check_keys(ctx, where, value, share_keys));
    NVDP_RETURN_IF_FAILED(nvdp__members_read(ctx, where, value, &grid->exported,
                                             sizeof exported / sizeof exported[0], exported));
    return nvdp__members_read(ctx, where, value, &grid->reuse, sizeof reuse / sizeof reuse[0],
                              reuse);
}

nvdp_status nvdp__grid_measures(struct nvdp_context *ctx, const char *path,
                                struct nvdp__grid *grid) {
    NVDP_RETURN_IF_FAILED(read_privacy(ctx, path, json_object_get(grid->root, "privacy"), grid));
    NVDP_RETURN_IF_FAILED(read_share(ctx, path, json_object_get(grid->root, "share"), grid));
    if (json_object_get(grid->root, "attack") != NULL && !grid->share)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'attack': needs \"share\": true, as it reads the shared file",
                          path);
    return NVDP_OK;
}
