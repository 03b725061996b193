/* Tests two attacks that are added only by their rows: they are described, run, printed and
 * judged like all others. The test program is linked with a table of attacks that has two more
 * rows (attacks.inc); nothing else of the library changes. */
#include "attack/texts.h"
#include "support.h"
#include "tiny_task.h"

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
    struct nvdp_context *ctx = support_context();
    struct nvdp_attack_info info = NVDP_RESULT(struct nvdp_attack_info);
    ok(nvdp_attack_describe(ctx, 0, &info));
    const size_t last = info.attacks - 2;
    ok(nvdp_attack_describe(ctx, last, &info));
    cr_expect_str_eq(info.name, "toy");
    cr_expect_str_eq(info.help, "the length of a text");
    cr_expect_eq(info.target, NVDP_ATTACK_POSTERIORS);
    cr_expect_eq(info.options, options);
    cr_expect_null(info.exclusive[0]);
    cr_expect_eq(nvdp_attack_describe(ctx, last + 2, &info), NVDP_ERR_ARGUMENT);
    char want[64];
    snprintf(want, sizeof want, "expected 0 to %zu, found %zu", info.attacks - 1, info.attacks);
    support_contains(nvdp_context_error(ctx), want);
    struct nvdp_config *config = support_config(ctx, "attack", NULL);
    for (size_t i = 0; i < nvdp_config_count(config); i++)
        if (strcmp(nvdp_config_option(config, i)->name, "kind") == 0)
            support_contains(nvdp_config_option(config, i)->help, "; toy (the length of a text)");
    fails(nvdp_config_set(config, "kind", "tory"), NVDP_ERR_ARGUMENT, "toy");
}

static void set(struct nvdp_config *config, const char *name, const char *value) {
    cr_assert_eq(nvdp_config_set(config, name, value), NVDP_OK, "%s", name);
}

/* The task's texts have 5 to 8 tokens. */
Test(toy_attack, is_run_printed_and_judged) {
    struct nvdp_context *ctx = support_context();
    const struct run_choice choice = {.method = NVDP_METHOD_VTDP, .epochs = 1};
    const char *of = task_run(ctx, "run", &choice, NULL);
    struct nvdp_attack_result *result = NULL;
    char *text = NULL;
    struct nvdp_config *config = support_config(ctx, "attack", NULL);
    set(config, "kind", "toy");
    fails(nvdp_attack(ctx, config, &result), NVDP_ERR_ARGUMENT,
          "expected exactly one of the options run and posteriors");
    cr_expect_null(result);
    set(config, "run", of);
    for (int lie = 0; lie < 2; lie++) {
        set(config, "claimed", lie ? "7" : "8");
        ok(nvdp_attack(ctx, config, &result));
        ok(nvdp_result_json(ctx, result, NULL, &text));
        cr_expect_str_eq(text, "{\n  \"attack\": \"toy\",\n  \"longest\": 8\n}");
        free(text);
        ok(nvdp_result_text(ctx, result, NULL, &text));
        cr_expect_str_eq(text, "longest           8 tokens of toy\n");
        free(text);
        ok(nvdp_attack_verdict(ctx, result, &text));
        if (lie)
            support_contains(text, "run: VIOLATION: 8 tokens");
        else
            cr_expect_str_eq(text, "");
        free(text);
        nvdp_attack_free(result);
        result = NULL;
    }
    nvdp_attack_free(NULL);
}

Test(toy_attack, may_learn_from_public_texts) {
    struct nvdp_context *ctx = support_context();
    const struct run_choice choice = {.method = NVDP_METHOD_VTDP, .epochs = 1};
    const char *of = task_run(ctx, "run", &choice, NULL);
    struct nvdp_attack_result *result = NULL;
    nvdp__autofree char *text = NULL;
    const char *public = support_path("%s/train.tsv", support_scratch_path("data"));
    struct nvdp_config *config = support_config(ctx, "attack", NULL);
    set(config, "kind", "learner");
    set(config, "run", of);
    set(config, "public", public);
    ok(nvdp_attack(ctx, config, &result));
    ok(nvdp_result_text(ctx, result, NULL, &text));
    support_contains(text, "40, public texts to learn from: 120, noise drawn 3 times",
                     "  release  accuracy  50.00  25.00 to 75.00\n", "too weak for a conclusion");
    free(text);
    ok(nvdp_result_json(ctx, result, NULL, &text));
    support_contains(text, "\"attack\": \"learner\"");
    support_lacks(text, "\"prior\": null");
    free(text);
    ok(nvdp_attack_verdict(ctx, result, &text));
    cr_expect_str_eq(text, "");
    nvdp_attack_free(result);
    set(config, "prior", "models/compact"); /* its row does not take it */
    fails(nvdp_attack(ctx, config, &result), NVDP_ERR_ARGUMENT,
          "prior: attack learner uses no language model");
}
