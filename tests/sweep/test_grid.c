/* Tests of grid.json: the runs to which it expands, and the messages for invalid grids. */
#include "support.h"
#include "sweep/sweep.h"

#include <limits.h>

#include "test_context.h"

/* Reads a grid, whose JSON may have single quotes. Its memory is kept. */
static struct sweep_grid read_grid(const char *text) {
    struct sweep_grid *grid = support_keep(malloc(sizeof *grid));
    ok(sweep_grid_read(ctx, support_file("grid.json", support_quoted(text)), grid));
    return *grid;
}

/* Reads a grid of one task with these additional members. */
static struct sweep_grid read_members(const char *members) {
    return read_grid(support_path("{'tasks': ['rte'], 'data': 'd', 'model': 'm', %s}", members));
}

static size_t count_label(const struct sweep_grid *grid, const char *label) {
    size_t count = 0;
    for (size_t i = 0; i < grid->count; i++)
        count += strcmp(grid->run[i].label, label) == 0;
    return count;
}

static const struct sweep_run *first(const struct sweep_grid *grid, const char *label) {
    for (size_t i = 0; i < grid->count; i++) {
        if (strcmp(grid->run[i].label, label) == 0) return &grid->run[i];
    }
    cr_assert_fail("no run of %s", label);
    return NULL;
}

Test(grid, lists_are_dimensions_and_base_runs_once_a_seed) {
    const struct sweep_grid grid = read_members(
        "'methods': ['base', 'nvdp'], 'lambdas': [1e-3, 1e-2, 1], 'seeds': [1, 2], 'lr': "
        "[1e-3, 2e-3], 'latent-dim': [8, 16], 'max-length': 64, 'epochs': 1");
    cr_assert_eq(count_label(&grid, "base"), 2 * 2);         /* seeds, lr */
    cr_assert_eq(count_label(&grid, "nvdp"), 3 * 2 * 2 * 2); /* lambdas, seeds, lr, width */
    for (size_t i = 0; i < grid.count; i++) {
        const struct sweep_run *run = &grid.run[i];
        cr_assert_eq(sweep_run_number(run, "lambda-g"), sweep_run_number(run, "lambda-d"));
        cr_assert_eq(sweep_run_number(run, "max-length"), 64);
        cr_assert_eq(sweep_run_number(run, "epochs"), 1);
        cr_assert_str_eq(nvdp_config_get(run->config, "data"), "d");
        cr_assert_eq(sweep_run_number(run, "seed"), i < grid.count / 2 ? 1 : 2,
                     "all of a seed, then the next");
        for (size_t k = 0; k < i; k++)
            cr_assert_str_neq(grid.run[i].name, grid.run[k].name);
    }
    const struct sweep_run *base = first(&grid, "base"), *nvdp = first(&grid, "nvdp");
    cr_assert_not(base->private_);
    cr_assert_eq(sweep_run_number(base, "lambda-g"), 0);
    cr_assert_null(json_object_get(base->varied, "latent_dim"));
    cr_assert(nvdp->private_);
    cr_assert_eq(integer_at(nvdp->varied, "latent_dim"), 8);
    cr_assert_not_null(json_object_get(nvdp->varied, "lr"));
    cr_assert_eq(json_object_size(nvdp->varied), 2);
}

Test(grid, lambdas_may_be_a_full_grid) {
    const struct sweep_grid grid =
        read_members("'methods': ['nvdp', 'base'], 'lambda_g': [0.1, 1], 'lambda_d': [1, 2, 3]");
    cr_assert_eq(count_label(&grid, "nvdp"), 6);
    cr_assert_eq(count_label(&grid, "base"), 1);
    cr_assert_eq(sweep_run_number(&grid.run[0], "lambda-g"), 0.1);
    cr_assert_eq(sweep_run_number(&grid.run[2], "lambda-d"), 3);
}

Test(grid, what_is_more_specific_wins) {
    const struct sweep_grid grid = read_grid(
        "{'tasks': ['rte', 'mrpc'], 'data': {'rte': 'R', 'mrpc': 'M'}, 'model': 'm', 'seeds': [1], "
        "'lambdas': [1, 2], 'epochs': 1, 'batch': 8, 'per_task': {'mrpc': {'epochs': 2, 'data': "
        "'other'}}, 'per_method': {'nvdp': {'epochs': 3, 'lambda_g': 5, 'lambda_d': 6}, 'narrow': "
        "{'batch': 16}}, 'methods': ['base', 'nvdp', {'name': 'narrow', 'method': 'nvdp', "
        "'regularizer': 'kl', 'latent_dim': [8, 0], 'epochs': 4, 'lambdas': 7}]}");
    cr_assert_eq(count_label(&grid, "base"), 2);
    cr_assert_eq(count_label(&grid, "nvdp"), 2, "one lambda for each task");
    cr_assert_eq(count_label(&grid, "narrow"), 4);
    for (size_t i = 0; i < grid.count; i++) {
        const struct sweep_run *run = &grid.run[i];
        bool mrpc = strcmp(run->task, "mrpc") == 0;
        cr_assert_str_eq(nvdp_config_get(run->config, "data"), mrpc ? "other" : "R");
        if (strcmp(run->label, "base") == 0) {
            cr_assert_eq(sweep_run_number(run, "epochs"), mrpc ? 2 : 1);
        } else if (strcmp(run->label, "nvdp") == 0) {
            cr_assert_eq(sweep_run_number(run, "epochs"), 3);
            cr_assert_eq(sweep_run_number(run, "lambda-g"), 5);
            cr_assert_eq(sweep_run_number(run, "lambda-d"), 6);
            cr_assert_str_eq(nvdp_config_get(run->config, "kl-schedule"), "constant");
            cr_assert_eq(sweep_run_number(run, "batch"), 8);
        } else {
            cr_assert_eq(sweep_run_number(run, "epochs"), 4);
            cr_assert_eq(sweep_run_number(run, "lambda-g"), 7);
            cr_assert_eq(sweep_run_number(run, "lambda-d"), 7);
            cr_assert_str_eq(nvdp_config_get(run->config, "kl-schedule"), "warmup",
                             "as the regulariser implies");
            cr_assert_eq(sweep_run_number(run, "batch"), 16);
        }
    }
}

Test(grid, a_preset_gives_what_the_grid_does_not) {
    const struct sweep_grid grid =
        read_members("'preset': 'private', 'lambdas': [0.5], 'methods': ['base', {'name': "
                     "'mine', 'method': 'nvdp', 'delta': 7}]");
    cr_assert_eq(grid.count, 2);
    const struct nvdp_config *mine = first(&grid, "mine")->config;
    cr_expect_str_eq(nvdp_config_get(mine, "preset"), "per-nat");
    cr_expect_str_eq(nvdp_config_get(mine, "regularizer"), "kl");
    cr_expect(nvdp_config_is_preset(mine, "regularizer"));
    cr_expect_str_eq(nvdp_config_get(mine, "delta"), "7");
    cr_expect_str_eq(nvdp_config_get(mine, "lambda"), "0.5");
    cr_expect_null(nvdp_config_get(first(&grid, "base")->config, "preset"));
}

Test(grid, a_model_for_each_seed) {
    const struct sweep_grid grid =
        read_grid("{'tasks': ['rte'], 'data': 'd', 'seeds': [1, 2], 'methods': ['base'], "
                  "'model': ['plain', 'tuned/{task}-{seed}']}");
    cr_assert_eq(grid.count, 4);
    for (size_t i = 0; i < 4; i++) {
        const char *model = nvdp_config_get(grid.run[i].config, "model");
        bool tuned = strcmp(model, "plain") != 0;
        if (tuned) cr_expect_str_eq(model, i < 2 ? "tuned/rte-1" : "tuned/rte-2");
        cr_expect_str_eq(tuned ? grid.run[i].model : "", tuned ? "tuned/{task}-{seed}" : "");
        cr_expect_eq(grid.run[i].model != NULL, tuned);
    }
}

/* Returns a grid whose runs start from runs in the scratch folder. */
static const char *from_base(void) {
    return support_path("{'tasks': ['rte'], 'data': 'd', 'methods': ['nvdp'], 'from_base': '%s'}",
                        support_scratch_path("{task}-base-s{seed}-*"));
}

Test(grid, every_run_starts_from_the_base_run_of_its_task_and_seed) {
    struct sweep_grid grid =
        read_grid("{'tasks': ['rte', 'mrpc'], 'data': 'd', 'seeds': [1, 20], 'methods': "
                  "['nvdp'], 'from_base': '{task/{task}-{seed}{seed}'}");
    const char *const expected[] = {"{task/rte-11", "{task/mrpc-11", "{task/rte-2020",
                                    "{task/mrpc-2020"};
    cr_assert_eq(grid.count, 4);
    for (size_t i = 0; i < 4; i++)
        cr_assert_str_eq(nvdp_config_get(grid.run[i].config, "from-base"), expected[i]);
    const char *run = support_scratch_path("rte-base-s1-0a");
    cr_assert_eq(mkdir(run, 0700), 0);
    grid = read_grid(from_base());
    cr_assert_str_eq(nvdp_config_get(grid.run[0].config, "from-base"), run);
}

/* Writes a run of that name whose run.json has this token noise, or none if NULL. */
static void make_run(const char *name, const char *noise) {
    const char *path = support_scratch_path(name);
    cr_assert_eq(mkdir(path, 0700), 0);
    if (noise == NULL) return;
    support_write_text(support_path("%s/run.json", path),
                       support_path("{\"config\": {\"token_noise\": \"%s\"}}", noise));
}

Test(grid, runs_of_noised_texts_are_not_taken_for_their_base_run) {
    make_run("rte-base-s1-a", "laplace");
    make_run("rte-base-s1-b", "none");
    make_run("rte-base-s1-c", "santext");
    struct sweep_grid grid = read_grid(from_base());
    cr_expect_str_eq(nvdp_config_get(grid.run[0].config, "from-base"),
                     support_scratch_path("rte-base-s1-b"));
    make_run("rte-base-s1-d", NULL);
    const char *path = support_file("grid.json", support_quoted(from_base()));
    fails(sweep_grid_read(ctx, path, &grid), NVDP_ERR_INPUT, "expected one run directory, found 4");
}

/* Paths may contain options of the run, also within a list. Text in braces that is not an option stays. */
Test(grid, paths_name_the_runs_options) {
    const struct sweep_grid grid =
        read_grid("{'tasks': ['rte'], 'data': '{task}/{seed}', 'model': 'm', 'methods': "
                  "[{'name': 'a', 'method': 'base', 'token_noise': 'santext', 'eta': [2, "
                  "0.5], 'model': 'm/{token_noise}-{eta}'}, {'name': 'b', 'method': 'base', "
                  "'data': ['s/{task}-1', 's/{task}-2'], 'model': '{eta}{none}'}]}");
    static const char *const models[] = {"m/santext-2", "m/santext-0.5", "{eta}{none}",
                                         "{eta}{none}"};
    static const char *const data[] = {"rte/1", "rte/1", "s/rte-1", "s/rte-2"};
    cr_assert_eq(grid.count, 4);
    for (size_t i = 0; i < 4; i++) {
        cr_expect_str_eq(nvdp_config_get(grid.run[i].config, "model"), models[i]);
        cr_expect_str_eq(nvdp_config_get(grid.run[i].config, "data"), data[i]);
    }
}

/* Reads the grids of the papers on text privatization unchanged. The files that they name need not exist. */
Test(grid, published_grids_of_text_privatization) {
    static const struct {
        const char *name;
        size_t runs;
    } grids[] = {{"privacy-constrained", 156},
                 {"privacy-adaptive", 294},
                 {"santext", 99},
                 {"santext-pretrained", 42},
                 {"santext-plus", 75}};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        nvdp__auto(sweep_grid_release) struct sweep_grid grid;
        const char *path =
            support_path("%s/experiments/grids/%s.json", NVDP_SOURCE_DIR, grids[i].name);
        ok(sweep_grid_read(ctx, path, &grid));
        cr_expect_eq(grid.count, grids[i].runs, "%s: %zu", grids[i].name, grid.count);
        for (size_t r = 0; r < grid.count; r++) /* every name in braces is an option */
            cr_expect_null(strchr(nvdp_config_get(grid.run[r].config, "model"), '{'));
    }
}

static void keep_notice(enum nvdp_log_level level, const char *message, void *user) {
    if (level == NVDP_LOG_NOTICE) snprintf(user, 512, "%s", message);
}

Test(grid, equal_runs_stand_once) {
    struct sweep_grid grid =
        read_members("'methods': ['base', 'nvdp'], 'seeds': [1, 1], 'lambdas': [1, 1.0]");
    cr_assert_eq(grid.count, 2);
    char notice[512] = "";
    nvdp_context_set_log(ctx, keep_notice, notice);
    grid = read_members(
        "'methods': ['nvdp', {'name': 'again', 'method': 'nvdp', 'lambda': [0.01, 3]}]");
    cr_assert_eq(count_label(&grid, "again"), 1, "the default is 0.01");
    support_contains(notice, "a run of 'again' is the same as a run of 'nvdp'");
}

/* A run that two grids share has the same name, so that a changed grid keeps it. */
Test(grid, names_follow_from_the_resolved_options_alone) {
    const struct sweep_grid one =
        read_members("'methods': ['nvdp'], 'lambdas': [1e-3], 'log_every': 3");
    const struct sweep_grid many =
        read_members("'methods': [{'name': 'mine', 'method': 'nvdp', 'lambda-g': 0.001, "
                     "'lambda_d': 0.001, 'kappa': [1, 2]}], 'seeds': [1, 5], 'lr': 2e-5");
    cr_assert_eq(one.count, 1);
    cr_assert_eq(many.count, 4);
    cr_assert_str_eq(one.run[0].name, many.run[0].name, "the defaults said aloud");
    cr_assert_eq(strncmp(one.run[0].name, "rte-nvdp-l0.001-s1-", 19), 0, "%s", one.run[0].name);
    cr_assert_str_neq(many.run[0].name, many.run[1].name);
}

Test(grid, measures_are_read) {
    struct sweep_grid grid = read_members(
        "'methods': ['nvdp'], 'keep': 'results', 'attack': {'rte': 'names'}, 'privacy': "
        "{'max_pairs': 50, 'order': 2, 'split': 'train', 'limit': 9, 'seed': 4, 'releases': "
        "3, 'arithmetic': 'exact'}, 'share': {'limit': 10, 'epochs': 2}");
    cr_assert_eq(grid.keep, SWEEP_KEEP_RESULTS);
    static const char *const measured[][2] = {
        {"max-pairs", "50"}, {"order", "2"},     {"seed", "4"}, {"arithmetic", "exact"},
        {"releases", "3"},   {"split", "train"}, {"limit", "9"}};
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
        cr_assert_str_eq(nvdp_config_get(grid.measured, measured[i][0]), measured[i][1]);
    cr_assert(grid.share);
    cr_assert_str_eq(nvdp_config_get(grid.exported, "limit"), "10");
    cr_assert_str_eq(nvdp_config_get(grid.reuse, "epochs"), "2");
    cr_assert_str_eq(grid.run[0].attack, "names");
    grid = read_members("'methods': ['nvdp']");
    cr_assert_eq(grid.keep, SWEEP_KEEP_MODEL);
    cr_assert_not(nvdp_config_is_set(grid.measured, "order"));
    cr_assert_not(grid.share);
    cr_assert_null(grid.run[0].attack);
}

Test(grid, options_have_their_names_of_the_command_line) {
    const struct sweep_grid grid = read_grid(
        "{'tasks': ['tsv'], 'data': 'd', 'model': 'm', 'methods': ['nvdp'], 'text-column': "
        "'review', 'label-column': 'stars', 'regression': true, 'clip-mu': 3, 'clip_logvar_max': "
        "'inf', 'skip-bad-rows': true, 'decay-to': 'pretrained', 'delta': 1}");
    const struct sweep_run *run = &grid.run[0];
    cr_assert_str_eq(nvdp_config_get(run->config, "text-column"), "review");
    cr_assert_str_eq(nvdp_config_get(run->config, "label-column"), "stars");
    cr_assert_str_eq(nvdp_config_get(run->config, "regression"), "true");
    cr_assert_eq(sweep_run_number(run, "clip-mu"), 3);
    cr_assert_eq(sweep_run_number(run, "clip-logvar-max"), INFINITY);
    cr_assert_eq(sweep_run_number(run, "delta"), 1);
    cr_assert_str_eq(nvdp_config_get(run->config, "skip-bad-rows"), "true");
    cr_assert_str_eq(nvdp_config_get(run->config, "decay-to"), "pretrained");
}

Test(grid, failed_allocations_are_told_and_leak_nothing) {
    nvdp__auto(sweep_grid_release) struct sweep_grid grid;
    const char *path = support_scratch_path("grid.json");
    support_write_text(path, "{\"tasks\": [\"rte\"], \"data\": \"d\", \"model\": \"m\", "
                             "\"methods\": [\"base\", \"nvdp\"]}");
    nvdp_status status = NVDP_ERR_MEMORY;
    uint64_t k = 0;
    while (status == NVDP_ERR_MEMORY && k < 20000) {
        nvdp__fail_allocation(ctx, ++k);
        status = sweep_grid_read(ctx, path, &grid);
    }
    ok(status);
    cr_assert_gt(k, 5);
    nvdp__fail_allocation(ctx, 0);
}

/* --- invalid grids --- */

#define HEAD "'tasks': ['rte'], 'data': 'd', 'model': 'm', "
#define NVDP "'methods': ['nvdp']"

static const struct {
    const char *grid, *message;
} wrong[] = {
    {"[]", "expected a JSON object"},
    {"{'tasks': ['rte']", "line 1: expected JSON"},
    {"{" NVDP "}", "key 'tasks': expected a list of task names"},
    {"{'tasks': 'rte', " NVDP "}", "key 'tasks': expected a list of task names"},
    {"{'tasks': ['rtee'], " NVDP "}", "rtee"},
    {"{" HEAD "'methods': []}", "key 'methods': expected a list of method names"},
    {"{" HEAD "'methods': ['nvdb']}", "method 'nvdb' is unknown: expected base, reg"},
    {"{" HEAD "'methods': [{'name': 'x'}]}", "methods[0]: expected strings as 'method'"},
    {"{" HEAD "'methods': ['nvdp', 'nvdp']}", "methods[1]: expected a unique 'name'"},
    {"{" HEAD NVDP ", 'epoch': 3}", "unknown key 'epoch'; did you mean 'epochs'?"},
    {"{" HEAD NVDP ", 'out': 'o'}", "unknown key 'out'"},
    {"{" HEAD NVDP ", 'method': 'base'}", "unknown key 'method'"},
    {"{" HEAD NVDP ", 'epochs': []}", "key 'epochs': expected a value or a list"},
    {"{" HEAD NVDP ", 'epochs': '3'}", "key 'epochs': expected a whole number, found \"3\""},
    {"{" HEAD NVDP ", 'epochs': [1, 2.5]}", "key 'epochs': expected a whole number, found 2.5"},
    {"{" HEAD NVDP ", 'epochs': -1}", "'epochs': expected a whole number of at least 0"},
    {"{" HEAD NVDP ", 'epochs': 0}", "epochs: expected 1 to 10000, found 0"},
    {"{" HEAD NVDP ", 'lr': 'fast'}", "key 'lr': expected a number, found \"fast\""},
    {"{" HEAD NVDP ", 'lr': -1}", "lr: expected"},
    {"{" HEAD NVDP ", 'lr': null}", "key 'lr': expected a number, found null"},
    {"{" HEAD NVDP ", 'skip_bad_rows': 1}", "key 'skip_bad_rows': expected true or false"},
    {"{" HEAD NVDP ", 'regularizer': 'rdp'}", "'regularizer'"},
    {"{" HEAD NVDP ", 'protocol': 'test'}",
     "key 'protocol': expected one of holdout, dev, found 'test'"},
    {"{" HEAD NVDP ", 'kl_schedule': ['warmup', 'never']}",
     "expected one of constant, warmup, decay, found 'never'"},
    {"{" HEAD NVDP ", 'seeds': [1], 'seed': 2}", "key 'seed' is given twice"},
    {"{" HEAD NVDP ", 'lambdas': [1], 'lambda_g': 2}", "expected either 'lambdas' or"},
    {"{" HEAD NVDP ", 'per_task': {'rt': {}}}", "key 'per_task': expected a task, found 'rt'"},
    {"{" HEAD NVDP ", 'per_task': [1]}", "key 'per_task': expected an object whose keys are tasks"},
    {"{" HEAD NVDP ", 'per_task': {'rte': 1}}", "'rte': expected an object of options"},
    {"{" HEAD NVDP ", 'per_task': {'rte': {'lrr': 1}}}",
     "per_task.rte: unknown key 'lrr'; did you mean 'lr'?"},
    {"{" HEAD NVDP ", 'per_method': {'kl': {}}}", "key 'per_method': expected a method"},
    {"{" HEAD "'methods': [{'name': 'a', 'method': 'nvdp', 'beta': 1}]}",
     "method 'a': unknown key 'beta'"},
    {"{'tasks': ['rte'], 'model': 'm', " NVDP "}", "key 'data': expected a folder"},
    {"{'tasks': ['rte'], 'model': 'm', 'data': {'mrpc': 'd'}, " NVDP "}",
     "key 'data': expected a folder for task 'rte'"},
    {"{'tasks': ['rte'], 'model': 'm', 'data': ['d'], " NVDP "}", "key 'data': expected a path"},
    {"{'tasks': ['rte'], 'data': 'd', " NVDP "}", "key 'model': expected the directory"},
    {"{'tasks': ['tsv'], 'data': 'd', 'model': 'm', " NVDP "}", "'text_column'"},
    {"{" HEAD NVDP ", 'from_base': 'none/{task}-*'}",
     "key 'from_base': none/rte-*: expected one run directory, found 0"},
    {"{" HEAD NVDP ", 'keep': 'some'}", "key 'keep': expected all, model or results"},
    {"{" HEAD NVDP ", 'privacy': true}", "key 'privacy': expected an object"},
    {"{" HEAD NVDP ", 'privacy': {'pairs': 3}}", "privacy: unknown key 'pairs'"},
    {"{" HEAD NVDP ", 'privacy': {'order': 0}}", "privacy: order: expected a number > 0"},
    {"{" HEAD NVDP ", 'privacy': {'exact_pairs': 5}}",
     "privacy: --exact-pairs: needs the option exact"},
    {"{" HEAD NVDP ", 'privacy': {'adjacency': 'none'}}", "expected one of all same-length"},
    {"{" HEAD NVDP ", 'share': 1}", "key 'share': expected true, false or an object"},
    {"{" HEAD NVDP ", 'share': {'file': 'x'}}", "share: unknown key 'file'"},
    {"{" HEAD NVDP ", 'attack': 'names'}", "key 'attack': needs \"share\""},
};

Test(grid, errors_name_file_key_and_what_was_expected) {
    const char *path = support_scratch_path("grid.json");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct sweep_grid grid;
        support_write_text(path, support_quoted(wrong[i].grid));
        cr_expect_eq(sweep_grid_read(ctx, path, &grid), NVDP_ERR_INPUT, "%s", wrong[i].grid);
        const char *message = nvdp_context_error(ctx);
        cr_expect_eq(strncmp(message, path, strlen(path)), 0, "%s: %s", wrong[i].grid, message);
        cr_expect_not_null(strstr(message, wrong[i].message), "%s: %s", wrong[i].grid, message);
    }
}

Test(grid, too_many_runs_are_refused_before_they_are_made) {
    struct sweep_grid grid;
    const char *path = support_scratch_path("grid.json");
    static const char *const keys[] = {"lr", "warmup", "beta1", "dropout"};
    const char *numbers = "0.1", *text = "{" HEAD NVDP;
    for (int k = 0; k < 11; k++)
        numbers = support_path("%s, 0.2%02d", numbers, k);
    for (size_t i = 0; i < 4; i++)
        text = support_path("%s, '%s': [%s]", text, keys[i], numbers);
    support_write_text(path, support_quoted(support_path("%s}", text)));
    fails(sweep_grid_read(ctx, path, &grid), NVDP_ERR_INPUT, "at most 10000 runs");
}
