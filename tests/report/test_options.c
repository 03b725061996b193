/* Tests that a report distinguishes runs by exactly the options that affect results. */
#include "report/parts.h"
#include "support.h"

#include "test_context.h"

/* Returns true for options that have their own columns in every table. */
static bool is_a_column(const char *name) {
    static const char *const columns[] = {"task",
                                          "data",
                                          "method",
                                          "lambda-g",
                                          "lambda-d",
                                          "seed",
                                          "fold",
                                          /* C stands for it */ "certified-epsilon",
                                          "certified-delta",
                                          "certified-releases",
                                          "certified-guess"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (strcmp(columns[i], name) == 0) return true;
    }
    return false;
}

static void differences(const char *method) {
    struct report_run run = {.method = (char *)method};
    nvdp__autofree char *text = NULL;
    struct nvdp_config *config = support_config(ctx, "train", NULL);
    ok(nvdp_config_set(config, "method", method));
    ok(nvdp_config_json(config, &text));
    run.config = json_loads(text, 0, NULL);
    ok(report_options(ctx, &run));
    for (size_t i = 0; i < nvdp_config_count(config); i++) {
        const struct nvdp_option *option = nvdp_config_option(config, i);
        bool has = strcmp(method, "base") != 0 || (option->traits & NVDP_TRAIT_BOTTLENECK) == 0;
        bool expected = (option->traits & NVDP_TRAIT_NO_EFFECT) == 0 && option->sets == NULL &&
                        has && !is_a_column(option->name);
        cr_expect_eq(json_object_get(run.variant, option->name) != NULL, expected, "%s: %s", method,
                     option->name);
    }
    json_decref(run.config);
    json_decref(run.variant);
}

Test(options, what_affects_results_tells_runs_apart) {
    differences("nvdp");
    differences("base");
}
