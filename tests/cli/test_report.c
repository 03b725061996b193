/* Tests of nvdp report on runs that the program made. */
#include "program.h"

static const char *make_runs(void) {
    static char folder[4096];
    snprintf(folder, sizeof folder, "%s", support_scratch_path("runs of 'mine'"));
    cr_assert_eq(mkdir(folder, 0777), 0);
    for (int seed = 1; seed <= 2; seed++)
        program_expect(0, "train $TINY --method reg --seed %d --out \"%s\"/reg%d --quiet", seed,
                       folder, seed);
    program_expect(
        0,
        "train $TINY --regularizer kl --latent-dim 8 --kl-ramp 0.25 --clip-mu 4 --clip-logvar-max "
        "0 --seed 7 --skip-bad-rows --lambda-d 0.5 --out \"%s\"/kl --quiet",
        folder);
    program_expect(0, "privacy \"%s\"/kl --quiet", folder);
    return folder;
}

/* Expects that the command line in the report reproduces the configuration. */
static void check_command(const char *folder, const json_t *run) {
    const char *command = text_at(run, "command");
    cr_assert_eq(strncmp(command, "nvdp ", 5), 0);
    json_t *root = program_json("%s --dry-run --json", command + 5);
    json_t *file = support_json(support_path("%s/%s/run.json", folder, text_at(run, "run")));
    json_t *made = json_object_get(file, "config");
    json_t *configuration = json_object_get(root, "configuration");
    const char *key;
    json_t *value;
    cr_assert_gt(json_object_size(made), 20);
    json_object_foreach(made, key, value) {
        bool reference = strcmp(key, "nvib") == 0 || strncmp(key, "lambda", 6) == 0;
        if (reference && strstr(command, "--method reg") != NULL)
            continue; /* has no meaning there */
        cr_expect(json_equal(value, json_object_get(configuration, key)), "'%s' in: %s", key,
                  command);
    }
}

Test(report, of_trained_runs) {
    const char *folder = make_runs();
    struct outcome outcome = program_expect(0, "report \"%s\" --no-figures", folder);
    support_contains(outcome.out, "Table 1. Utility and privacy", "sst2 (accuracy)",
                     "G 1e-3, D 0.5", "report: index.html, tables/, figures/, data/");
    cr_assert_eq(mkdir(support_scratch_path("elsewhere"), 0777), 0);
    cr_assert_eq(mkdir(support_scratch_path("elsewhere/tables"), 0777), 0);
    const char *left =
        support_scratch_path("elsewhere/tables/table1.tex.partial-1-0"); /* of a killed one */
    support_write_text(left, "");
    outcome = program_expect(
        0, "report \"%s\" --no-figures --json --budgets 0,inf --out $DIR/elsewhere", folder);
    cr_expect_neq(access(left, F_OK), 0);
    json_t *root = program_object(&outcome);
    const json_t *budgets = json_object_get(root, "budgets");
    cr_assert_eq(json_array_size(budgets), 2); /* of the private method */
    support_has(budgets, "{'0/group': null, '1/group': 1}");
    const json_t *groups = json_object_get(root, "groups");
    cr_assert_eq(json_array_size(groups), 2);
    const json_t *quantities = support_at(groups, "1/quantities");
    cr_expect_gt(number_at(json_object_get(quantities, "effective_vectors"), "mean"), 1);
    check_command(folder, support_at(groups, "0/runs/1"));
    check_command(folder, support_at(groups, "1/runs/0"));
    support_contains(support_read(support_scratch_path("elsewhere/index.html")), "</html>");
}

Test(report, wrong_use) {
    struct outcome outcome = program_expect(3, "report $DIR/nowhere");
    support_contains(outcome.err,
                     "nvdp report: ", "expected a directory of runs, found no such directory");
    program_says(2, "budgets: expected 1 to 16 numbers in nats, each at least 0, found '1,x'",
                 "report $DIR/nowhere --budgets 1,x");
    program_expect(2, "report");
}
