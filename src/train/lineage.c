#include "train/lineage.h"

#include "base/json.h"
#include "train/dp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what the records tell --- */

/* What a training promises goes into its entry. */
static void promise_of(json_t *entry, const json_t *dp) {
    struct nvdp_dp_guarantee of;
    if (!nvdp__dp_promise(dp, true, &of)) return;
    json_object_set_new(entry, "dp", json_pack("[f,f]", of.epsilon, of.delta));
    if (!nvdp__dp_promise(dp, false, &of)) json_object_set_new(entry, "seed", json_true());
}

/* `learned_from` of a run's record, with what the run's own training promises. */
static nvdp_status take_list(struct nvdp_context *ctx, const json_t *record, const json_t *dp,
                             json_t **list) {
    const json_t *found = json_object_get(record, NVDP__LINEAGE);
    const size_t count = json_array_size(found);
    /* a run of an earlier version: it saw some texts, and maybe others before */
    *list = count > 0 ? json_deep_copy(found) : json_pack("[{}]");
    if (*list == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    if (count > 0) promise_of(json_array_get(*list, count - 1), dp);
    return NVDP_OK;
}

/* Trained by nvdp train, in DIR/model: steps that are not yet done are promised for as well. */
static nvdp_status of_training(struct nvdp_context *ctx, const char *model, json_t **list) {
    nvdp_status status = NVDP_OK;
    json_t *record = NULL, *result = NULL;
    char *run = nvdp__join(ctx, model, "..");
    if (run == NULL) return NVDP_ERR_MEMORY;
    if (!nvdp__is_directory(run)) goto cleanup;
    NVDP_TRY(nvdp__json_read_optional(ctx, run, "run.json", &record));
    const char *format = json_string_value(json_object_get(record, "nvdp_format"));
    if (format == NULL || strcmp(format, "run/1") != 0) goto cleanup;
    NVDP_TRY(nvdp__json_read_optional(ctx, run, "result.json", &result));
    NVDP_TRY(take_list(ctx, record, json_object_get(result != NULL ? result : record, "dp"), list));
cleanup:
    json_decref(record);
    json_decref(result);
    free(run);
    return status;
}

/* Texts of a model's pretraining without privacy, and before it of what that began from, as config.json tells them. */
static nvdp_status add_pretraining(struct nvdp_context *ctx, const json_t *pretraining,
                                   json_t *list) {
    size_t k;
    const json_t *text;
    for (; json_is_object(pretraining);
         pretraining = json_object_get(json_object_get(pretraining, "init"), "pretraining")) {
        json_t *digests = json_array();
        json_array_foreach(json_object_get(pretraining, "text"), k, text)
            json_array_append(digests, json_object_get(text, "sha256"));
        if (json_array_insert_new(list, 0, json_pack("{s:o}", "sha256", digests)) != 0)
            return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    }
    return NVDP_OK;
}

nvdp_status nvdp__lineage_read(struct nvdp_context *ctx, const char *model, json_t **out) {
    nvdp_status status = NVDP_OK;
    json_t *list = NULL, *record = NULL, *config = NULL;
    if (model != NULL && nvdp__is_directory(model)) {
        NVDP_TRY(nvdp__json_read_optional(ctx, model, "pretrain.json", &record));
        NVDP_TRY(nvdp__json_read_optional(ctx, model, "config.json", &config));
    }
    const json_t *pretraining = json_object_get(config, "nvdp_pretraining");
    if (record != NULL)
        NVDP_TRY(take_list(ctx, record, json_object_get(pretraining, "dp"), &list));
    else if (config != NULL)
        NVDP_TRY(of_training(ctx, model, &list));
    if (list == NULL) {
        NVDP_TRY(NVDP__MADE(list = json_array()));
        NVDP_TRY(add_pretraining(ctx, pretraining, list));
    }
    NVDP__HAND_OVER(out, list);
cleanup:
    json_decref(list);
    json_decref(record);
    json_decref(config);
    return status;
}

void nvdp__lineage_vocabularies(json_t *list) {
    for (size_t i = json_array_size(list); i-- > 0;)
        if (!json_is_true(json_object_get(json_array_get(list, i), "vocabulary")))
            json_array_remove(list, i);
}

nvdp_status nvdp__lineage_add(struct nvdp_context *ctx, json_t *list, const char *run,
                              struct nvdp__seen seen, bool vocabulary) {
    json_t *digests = json_array();
    for (size_t i = 0; i < seen.files; i++)
        json_array_append_new(digests, json_string(seen.sha256[i]));
    json_t *entry = json_pack("{s:s*,s:o}", "run", run, "sha256", digests);
    if (vocabulary) json_object_set_new(entry, "vocabulary", json_true());
    if (json_array_append_new(list, entry) == 0) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
}

/* --- what they promise to given texts --- */

static bool has(const json_t *digests, const char *sha256) {
    size_t i;
    const json_t *digest;
    json_array_foreach(digests, i,
                       digest) if (json_is_string(digest) &&
                                   strcmp(json_string_value(digest), sha256) == 0) return true;
    return false;
}

bool nvdp__lineage_saw(const json_t *list, const char *sha256) {
    size_t i;
    const json_t *entry;
    json_array_foreach(list, i, entry) {
        if (has(json_object_get(entry, "sha256"), sha256)) return true;
    }
    return false;
}

static nvdp_status refuse(struct nvdp_context *ctx, const json_t *entry) {
    const char *run = json_string_value(json_object_get(entry, "run"));
    if (json_object_get(entry, "sha256") == NULL)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "private training: expected a model to begin from whose run tells which texts it saw, "
            "found one of an earlier version, that may have seen these (train it again, or begin "
            "from a public model)");
    return nvdp__fail(
        ctx, NVDP_ERR_ARGUMENT,
        "private training: expected a model to begin from that did not see these texts, or "
        "saw them privately, found that of %s, which was trained on them without privacy, "
        "or with noise from a seed: what it learned of them stays, whatever noise is added "
        "now (train that with --dp-batch and --target-epsilon, or begin from a public model)",
        run != NULL ? run : "a pretraining that its config.json tells of");
}

/* An entry's promise has in it what those before it had of the same texts: of a file the last one holds. */
static nvdp_status of_file(struct nvdp_context *ctx, const json_t *list, const char *sha256,
                           bool seeded, struct nvdp_dp_guarantee *out) {
    size_t i;
    const json_t *entry;
    *out = (struct nvdp_dp_guarantee){0, 0};
    json_array_foreach(list, i, entry) {
        const json_t *digests = json_object_get(entry, "sha256"),
                     *dp = json_object_get(entry, "dp");
        const double epsilon = json_number_value(json_array_get(dp, 0)),
                     delta = json_number_value(json_array_get(dp, 1));
        if (digests != NULL && !has(digests, sha256)) continue;
        if (dp == NULL || (json_is_true(json_object_get(entry, "seed")) && !seeded))
            return refuse(ctx, entry);
        *out = (struct nvdp_dp_guarantee){epsilon, delta};
    }
    return NVDP_OK;
}

nvdp_status nvdp__lineage_promise(struct nvdp_context *ctx, const json_t *list,
                                  struct nvdp__seen seen, bool seeded,
                                  struct nvdp_dp_guarantee *out) {
    *out = (struct nvdp_dp_guarantee){0, 0};
    for (size_t i = 0; i < seen.files; i++) {
        struct nvdp_dp_guarantee of;
        NVDP_RETURN_IF_FAILED(of_file(ctx, list, seen.sha256[i], seeded, &of));
        out->epsilon = fmax(out->epsilon, of.epsilon);
        out->delta = fmax(out->delta, of.delta);
    }
    return NVDP_OK;
}
