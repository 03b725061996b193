/* Recomputes, from the run's record, the privacy of the training of a folder's model, for
 * nvdp_training_privacy(). The file ends with the table of this result. */
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "job/dp.h"
#include "options/result.h"
#include "options/schema.h"

#include <inttypes.h>
#include <math.h>
#include <nvdp/train.h>
#include <stdlib.h>
#include <string.h>

/* Reads the records of the folder. Finds the object `dp` (NULL if training was not private) and
 * the number of finished steps. Fails for a folder without a record. */
static nvdp_status find_record(struct nvdp_context *ctx, const char *directory, json_t *records,
                               const json_t **dp, struct nvdp_training_privacy *out) {
    static const char *const names[] = {"result.json", "run.json", "config.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *record = NULL;
        if (json_object_get(records, names[i]) != NULL) continue;
        NVDP_TRY(nvdp__json_read_optional(ctx, directory, names[i], &record));
        if (record != NULL) json_object_set_new(records, names[i], record);
    }
    const json_t *result = json_object_get(records, "result.json"),
                 *config = json_object_get(records, "config.json");
    if (json_object_size(records) == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected the folder of a run or of a model, found neither run.json "
                          "nor config.json",
                          directory);
    const json_t *ended = json_object_get(result, "dp");
    *dp = nvdp__dp_planned(result, json_object_get(records, "run.json"));
    if (*dp == NULL)
        *dp = ended = json_object_get(json_object_get(config, "nvdp_pretraining"), "dp");
    const json_t *last = ended != NULL ? ended : *dp, *done = json_object_get(last, "steps_done"),
                 /* number of finished steps, as an earlier version wrote it */
                                                          *steps = json_object_get(last, "steps");
    out->steps_done = (uint64_t)json_integer_value(done != NULL ? done : steps);
    out->finished = ended != NULL && (ended == json_object_get(result, "dp") || done == NULL ||
                                      json_equal(done, steps));
    if (ended == NULL && done == NULL) out->steps_done = 0;
    return NVDP_OK;
}

static struct nvdp_dp_guarantee guarantee(const json_t *dp, const char *key) {
    const json_t *pair = json_object_get(dp, key);
    return (struct nvdp_dp_guarantee){json_number_value(json_array_get(pair, 0)),
                                      json_number_value(json_array_get(pair, 1))};
}

static bool is(const json_t *dp, const char *key, const char *value) {
    const char *found = json_string_value(json_object_get(dp, key));
    return found != NULL && strcmp(found, value) == 0;
}

static nvdp_status take(struct nvdp_context *ctx, const char *directory, const json_t *dp,
                        struct nvdp_training_privacy *out, char **statement) {
    const double noise = json_number_value(json_object_get(dp, "noise")),
                 clip = json_number_value(json_object_get(dp, "clip"));
    const struct nvdp_dp_steps steps = {noise,
                                        json_number_value(json_object_get(dp, "sample_rate")),
                                        (uint64_t)json_integer_value(json_object_get(dp, "steps"))};
    const struct nvdp_dp_guarantee each[] = {guarantee(dp, "vocabulary"), guarantee(dp, "start")};
    struct nvdp_dp_guarantee earlier[2];
    struct nvdp_dp_run run = {&steps, 1, earlier, 0};
    for (size_t i = 0; i < 2; i++)
        if (each[i].epsilon > 0 || each[i].delta > 0) earlier[run.besides++] = each[i];
    out->examples = (uint64_t)json_integer_value(json_object_get(dp, "examples"));
    out->steps = steps;
    out->clip = clip > 0 ? clip : INFINITY;
    out->seeded = json_is_true(json_object_get(dp, "insecure_seed"));
    const double delta = json_number_value(json_object_get(dp, "delta"));
    const json_t *chosen = json_object_get(dp, "delta_default");
    out->delta_default =
        chosen != NULL ? json_is_true(chosen) : fabs(2 * delta * (double)out->examples - 1) < 1e-9;
    out->is_private = noise > 0;
    if (!out->is_private) return NVDP_OK;
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(out->account, 1), NVDP__ITEMS(out->risk, 1)));
    out->account->struct_size = sizeof *out->account;
    out->risk->struct_size = sizeof *out->risk;
    nvdp_status status = nvdp_account(ctx, &run, delta, out->account);
    if (status == NVDP_OK)
        status = nvdp_example_risk(ctx, &run, out->account, NVDP__DP_BASELINES, nvdp__dp_baselines,
                                   out->risk);
    if (status != NVDP_OK) return nvdp__fail_prefix(ctx, status, directory);
    const struct nvdp_dp_facts facts = {
        .example = json_string_value(json_object_get(dp, "example")),
        .clip = clip,
        .examples = out->examples,
        .steps_done = out->steps_done < steps.steps ? out->steps_done : 0,
        .seeded = out->seeded,
        .shows = is(dp, "public", "rate")      ? NVDP_DP_PUBLIC_RATE
                 : is(dp, "public", "divisor") ? NVDP_DP_PUBLIC_DIVISOR
                                               : NVDP_DP_PUBLIC_NOT_TOLD,
        .risk = out->risk};
    return statement != NULL ? nvdp_account_statement(ctx, &run, &facts, out->account, statement)
                             : NVDP_OK;
}

json_t *nvdp__training_pack(const void *training) {
    const struct nvdp_training_privacy *from = training;
    return nvdp__result_put(nvdp__result_json(&nvdp__result_training, NULL, from),
                            &nvdp__result_risk, NULL, from->risk);
}

static const struct nvdp_result_kind training_kind = {
    .name = "training",
    .pack = nvdp__training_pack,
    .memory = NVDP__OFFSETS(offsetof(struct nvdp_training_privacy, account),
                            offsetof(struct nvdp_training_privacy, risk))};

nvdp_status nvdp__training_privacy(struct nvdp_context *ctx, const char *directory, json_t *run,
                                   struct nvdp_training_privacy *out, char **statement) {
    nvdp__autoptr(json_decref) json_t *records =
        run != NULL ? json_pack("{s:O}", "run.json", run) : json_object();
    const json_t *dp = NULL;
    nvdp__autofree char *text = NULL;
    nvdp__autoresult struct nvdp_training_privacy made =
        NVDP__RESULT(struct nvdp_training_privacy, training_kind);
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (!nvdp__is_directory(directory))
        return nvdp__fail(ctx, NVDP_ERR_IO, "%s: no such directory", directory);
    NVDP_TRY(find_record(ctx, directory, records, &dp, &made));
    if (dp != NULL) NVDP_TRY(take(ctx, directory, dp, &made, &text));
    nvdp_result_free(out);
    NVDP__GIVE(out, &made);
    made.account = NULL;
    made.risk = NULL;
    if (statement != NULL) NVDP__HAND_OVER(statement, text);
    return NVDP_OK;
}

nvdp_status nvdp_training_privacy(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp_training_privacy *out, char **statement) {
    return nvdp__training_privacy(ctx, directory, NULL, out, statement);
}

/* --- the result table --- */

#define ROW(member, ...) NVDP_RESULT_ROW(struct nvdp_training_privacy, member, __VA_ARGS__)
#define ACCOUNT(member)                                                                            \
    static double member##_number(const void *result) {                                            \
        return ((const struct nvdp_training_privacy *)result)->account->member;                    \
    }
ACCOUNT(pld_epsilon)
ACCOUNT(rdp_epsilon)
ACCOUNT(delta)

static void print_guarantee(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_training_privacy *t = result;
    char planned[96] = "";
    if (t->finished && t->steps_done > 0 && t->steps_done < t->steps.steps)
        nvdp__snprintf(planned, sizeof planned,
                       " (for all %" PRIu64 " planned steps, of which %" PRIu64 " were done)",
                       t->steps.steps, t->steps_done);
    nvdp_result_line(to, "private training",
                     "epsilon %s at delta %s, adjacency zero-out, mu %s%s%s",
                     nvdp__bound(t->account->pld_epsilon).text, nvdp__bound(t->account->delta).text,
                     nvdp__bound(t->risk->mu).text,
                     t->finished ? planned : " (for all planned steps; the run is not finished)",
                     t->seeded ? " (INSECURE: the noise comes from a seed)" : "");
    nvdp_result_line(to, "", "proven " NVDP__EXACT_ARITHMETIC("the training's"));
    if (t->delta_default)
        nvdp_result_line(to, "",
                         "delta is half of 1/N for %" PRIu64
                         " training examples, because --target-delta was not given",
                         t->examples);
    nvdp_result_line(to, "",
                     "zero-out: adjacent data sets have an example or nothing in its place; the "
                     "number N of examples is public");
}

const struct nvdp_result_table nvdp__result_training = {
    .name = "training",
    .help = "privacy of a model's training texts",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        {"epsilon", NVDP_RESULT_REAL, "nats", NVDP_SCOPE_MODEL, -1, "by privacy loss distributions",
         .real = pld_epsilon_number, .print = print_guarantee},
        {"rdp_epsilon", NVDP_RESULT_REAL, "nats", NVDP_SCOPE_MODEL, -1, "by Renyi divergences",
         .real = rdp_epsilon_number},
        {"delta", NVDP_RESULT_REAL, NULL, NVDP_SCOPE_MODEL, -1, "delta of epsilon",
         .real = delta_number},
        ROW(delta_default, NULL, NVDP_SCOPE_MODEL, 0, "delta was not set: half of 1/N"),
        {"noise", NVDP_RESULT_REAL, NULL, NVDP_SCOPE_MODEL, 1, "noise multiplier",
         NVDP_RESULT_AT(struct nvdp_training_privacy, steps.noise)},
        {"sample_rate", NVDP_RESULT_REAL, NULL, NVDP_SCOPE_MODEL, -1,
         "chance that a step draws a given example",
         NVDP_RESULT_AT(struct nvdp_training_privacy, steps.rate)},
        {"steps", NVDP_RESULT_COUNT, "steps", NVDP_SCOPE_MODEL, 0,
         "number of planned steps, which epsilon counts",
         NVDP_RESULT_AT(struct nvdp_training_privacy, steps.steps)},
        ROW(steps_done, "steps", NVDP_SCOPE_MODEL, 0, "number of steps that were done"),
        ROW(examples, "examples", NVDP_SCOPE_MODEL, 0, "number of training examples; public"),
        {"insecure_seed", NVDP_RESULT_FLAG, NULL, NVDP_SCOPE_MODEL, 0,
         "the noise came from a seed, which can undo it",
         NVDP_RESULT_AT(struct nvdp_training_privacy, seeded)},
        ROW(finished, NULL, NVDP_SCOPE_MODEL, 0, "the training has ended"),
        {0}}};
