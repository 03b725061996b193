/* A run's name follows from its resolved options alone: a grid that changes keeps the runs that it
 * still names. */
#include "base/cache.h"
#include "grid.h"
#include "train/config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGEST_DIGITS = 12, PART_ROOM = 160 };

/* Options that change nothing in the result. */
static const char *const without_effect[] = {"out", "checkpoint_seconds", "log_every"};

json_t *nvdp__json_difference(const json_t *defaults, const json_t *object) {
    json_t *difference = json_object();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        const json_t *usual = json_object_get(defaults, key);
        if (usual != NULL && json_equal(usual, value)) continue;
        if (json_is_object(value) && json_is_object(usual)) {
            json_object_set_new(difference, key, nvdp__json_difference(usual, value));
        } else {
            json_object_set(difference, key, value);
        }
    }
    return difference;
}

/* What the run's options are beyond the defaults: an option that a later version adds changes no
 * name. */
static nvdp_status digest_of(struct nvdp_context *ctx, const struct nvdp_train_config *config,
                             char hex[NVDP__DIGEST_HEX]) {
    struct nvdp__digest digest;
    struct nvdp_train_config usual = nvdp_train_config_default();
    json_t *defaults = nvdp__train_config_json(&usual);
    json_t *object = nvdp__train_config_json(config);
    json_t *difference = nvdp__json_difference(defaults, object);
    for (size_t i = 0; i < sizeof without_effect / sizeof without_effect[0]; i++) {
        json_object_del(difference, without_effect[i]);
    }
    char *text = json_dumps(difference, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(defaults);
    json_decref(object);
    json_decref(difference);
    if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    nvdp__digest_begin(&digest);
    nvdp__digest_text(&digest, text);
    nvdp__digest_end(&digest, hex);
    free(text);
    return NVDP_OK;
}

/* What is worth reading in a name: the regulariser, the latent width and the lambdas. */
static void readable(const struct nvdp__sweep_run *run, char *part) {
    const struct nvdp_train_config *config = &run->config;
    part[0] = '\0';
    if (!run->private_) return;
    char *at = part;
    size_t room = PART_ROOM;
    int written = 0;
    if (config->nvib.regularizer == NVDP_REGULARIZER_KL) written = snprintf(at, room, "-kl");
    at += written;
    room -= (size_t)written;
    written =
        config->nvib.latent_dim == 0 ? 0 : snprintf(at, room, "-p%zu", config->nvib.latent_dim);
    at += written;
    room -= (size_t)written;
    if (config->lambda_g == config->lambda_d) {
        snprintf(at, room, "-l%g", config->lambda_g);
    } else {
        snprintf(at, room, "-g%g-d%g", config->lambda_g, config->lambda_d);
    }
}

nvdp_status nvdp__sweep_name(struct nvdp_context *ctx, struct nvdp__sweep_run *run) {
    char hex[NVDP__DIGEST_HEX], part[PART_ROOM];
    NVDP_RETURN_IF_FAILED(digest_of(ctx, &run->config, hex));
    readable(run, part);
    run->name = nvdp__format(ctx, "%s-%s%s-s%" PRIu64 "-%.*s", run->config.task,
                             nvdp_method_name(run->config.method), part, run->config.seed,
                             DIGEST_DIGITS, hex);
    return run->name == NULL ? NVDP_ERR_MEMORY : NVDP_OK;
}
