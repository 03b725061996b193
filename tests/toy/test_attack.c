/* Tests two attacks that are added only by their rows: they are described, run, printed and
 * judged like all others. The test program is linked with a table of attacks that has two more
 * rows (attacks.inc); nothing else of the library changes. */
#include "attack/texts.h"
#include "tiny_task.h"

#include "test_context.h"

/* The length of the longest text, which public lengths reveal. */
struct toy {
    size_t struct_size, texts, longest;
};

static nvdp_status run(const struct nvdp__attacked *attacked, void *found) {
    const struct nvdp_posteriors *set = attacked->posteriors;
    struct toy *toy = found;
    toy->texts = set->texts;
    for (size_t i = 0; i < set->texts; i++)
        if (set->offset[i + 1] - set->offset[i] > toy->longest)
            toy->longest = set->offset[i + 1] - set->offset[i];
    return NVDP_OK;
}

static const struct nvdp_result_table table = {
    .name = "toy",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        NVDP_RESULT_ROW(struct toy, longest, "tokens", NVDP_SCOPE_RUN, 0, "tokens of the longest",
                        .label = "longest", .after = " tokens of toy"),
        {0}}};

static void verdict(const struct nvdp__attacked *attacked, const void *found,
                    struct nvdp__writer *say) {
    const struct toy *toy = found;
    if (toy->longest > attacked->claimed)
        nvdp__append(say, "%s: VIOLATION: %zu tokens", attacked->name, toy->longest);
}

static void release(void *found) {
    ((struct toy *)found)->struct_size = 0;
}

static const char *const options[] = {NVDP__ATTACK_POSTERIORS_OPTIONS, "claimed", NULL};

const struct nvdp__attack nvdp__attack_row_toy = {.target = NVDP_ATTACK_POSTERIORS,
                                                  .options = options,
                                                  .size = sizeof(struct toy),
                                                  .run = run,
                                                  .table = &table,
                                                  .verdict = verdict,
                                                  .release = release};

/* A learner: its function, and the options that all learners take. */
static nvdp_status learn(struct nvdp__text_attack *a) {
    const double chance = 1 / (double)a->known.data->task->classes;
    for (int observed = 0; observed < NVDP__OBSERVEDS; observed++)
        NVDP_TRY(nvdp__add_value(a, observed, NVDP__TEXT_METRIC_ACCURACY, chance, .25, 0));
    return NVDP_OK;
}

const struct nvdp__attack nvdp__attack_row_learner = {
    .learn = learn, .options = nvdp__learner_options, NVDP__LEARNER};

Test(toy_attack, is_described) {
    struct nvdp_attack_info info = NVDP_RESULT(struct nvdp_attack_info);
    ok(nvdp_attack_describe(ctx, 0, &info));
    const size_t last = info.attacks - 2;
    ok(nvdp_attack_describe(ctx, last, &info));
    cr_expect_str_eq(info.name, "toy");
    cr_expect_str_eq(info.help, "the length of a text");
    cr_expect_eq(info.target, NVDP_ATTACK_POSTERIORS);
    cr_expect_eq(info.options, options);
    cr_expect_null(info.exclusive[0]);
    fails(nvdp_attack_describe(ctx, last + 2, &info), NVDP_ERR_ARGUMENT,
          support_path("expected 0 to %zu, found %zu", last + 1, last + 2));
    struct nvdp_config *config = support_config(ctx, "attack", NULL);
    for (size_t i = 0; i < nvdp_config_count(config); i++)
        if (strcmp(nvdp_config_option(config, i)->name, "kind") == 0)
            support_contains(nvdp_config_option(config, i)->help, "; toy (the length of a text)");
    fails(nvdp_config_set(config, "kind", "tory"), NVDP_ERR_ARGUMENT, "toy");
}

static struct nvdp_attack_result *attack(struct nvdp_config *config) {
    struct nvdp_attack_result *result = NULL;
    ok(nvdp_attack(ctx, config, &result));
    return support_keep(result);
}

static const char *verdict_of(const struct nvdp_attack_result *result) {
    char *text = NULL;
    ok(nvdp_attack_verdict(ctx, result, &text));
    return support_keep(text);
}

/* The task's texts have 5 to 8 tokens. */
Test(toy_attack, is_run_printed_and_judged) {
    const struct run_choice choice = {.method = NVDP_METHOD_VTDP, .epochs = 1};
    const char *of = task_run(ctx, "run", &choice, NULL);
    struct nvdp_attack_result *result = NULL;
    struct nvdp_config *config = support_config(ctx, "attack", "kind", "toy", NULL);
    fails(nvdp_attack(ctx, config, &result), NVDP_ERR_ARGUMENT,
          "expected exactly one of the options run and posteriors");
    cr_expect_null(result);
    support_set(ctx, config, "run", of);
    for (int lie = 0; lie < 2; lie++) {
        char *text = NULL;
        support_set(ctx, config, "claimed", lie ? "7" : "8");
        result = attack(config);
        ok(nvdp_result_json(ctx, result, NULL, &text));
        cr_expect_str_eq(text, "{\n  \"attack\": \"toy\",\n  \"longest\": 8\n}");
        free(text);
        cr_expect_str_eq(support_result_text(ctx, result, NULL),
                         "longest           8 tokens of toy\n");
        if (lie)
            support_contains(verdict_of(result), "run: VIOLATION: 8 tokens");
        else
            cr_expect_str_eq(verdict_of(result), "");
    }
    nvdp_attack_free(NULL);
}

Test(toy_attack, may_learn_from_public_texts) {
    const struct run_choice choice = {.method = NVDP_METHOD_VTDP, .epochs = 1};
    const char *of = task_run(ctx, "run", &choice, NULL);
    const char *public = support_path("%s/train.tsv", support_scratch_path("data"));
    struct nvdp_config *config =
        support_config(ctx, "attack", "kind", "learner", "run", of, "public", public, NULL);
    struct nvdp_attack_result *result = attack(config);
    support_contains(support_result_text(ctx, result, NULL),
                     "40, public texts to learn from: 120, noise drawn 3 times",
                     "  release  accuracy  50.00  25.00 to 75.00\n", "too weak for a conclusion");
    const json_t *json = support_result_json(ctx, result, NULL);
    support_has(json, "{'attack': 'learner'}");
    cr_expect_not(json_is_null(json_object_get(json, "prior")));
    cr_expect_str_eq(verdict_of(result), "");
    support_set(ctx, config, "prior", "models/compact"); /* its row does not take it */
    fails(nvdp_attack(ctx, config, &result), NVDP_ERR_ARGUMENT,
          "prior: attack learner uses no language model");
}
