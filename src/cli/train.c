/* nvdp train: fine-tunes an encoder with a bottleneck and writes a run directory. Sections: the configuration,
 * --dry-run, the result, cross validation; run() selects. */
#include "common.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct values {
    bool dry_run, no_cache;
};

static const struct nvdp_option options[] = {
    {"dry-run", NVDP_OPTION_FLAG, NULL,
     "print the configuration, sizes, memory and time, measured on a few steps that are discarded, "
     "and do not train",
     NVDP_OPTION_AT(struct values, dry_run), .after = "overwrite"},
    {"no-cache", NVDP_OPTION_FLAG, NULL, "cache nothing between runs",
     NVDP_OPTION_AT(struct values, no_cache), .after = "cache", .traits = NVDP_TRAIT_NO_EFFECT},
    {0},
};

/* --- the configuration --- */

/* Prints the epsilon that a preset sets. For a budget without a preset, prints what is trained, because Python
 * chooses the preset certified in this case. */
static void note_budget(struct cli *cli) {
    static const char *const two_steps[] = {"preset", "from-base", "base-epochs", "freeze-layers",
                                            "dp-batch"};
    const char *epsilon = nvdp_config_get(cli->config, "certified-epsilon");
    if (cli->quiet || strcmp(epsilon, "0") == 0) return;
    if (nvdp_config_is_preset(cli->config, "certified-epsilon"))
        fprintf(stderr,
                "%s: preset %s has --certified-epsilon %s and --certified-delta %s; give them to "
                "choose others\n",
                cli->name, nvdp_config_get(cli->config, "preset"), epsilon,
                nvdp_config_get(cli->config, "certified-delta"));
    for (size_t i = 0; i < sizeof two_steps / sizeof *two_steps; i++)
        if (cli_given(cli, two_steps[i])) return;
    fprintf(stderr,
            "%s: --certified-epsilon without --preset trains the whole encoder through the noise; "
            "--preset certified, which Python chooses, trains the encoder once without noise and "
            "then a bottleneck over its frozen layers, in a fraction of the time\n",
            cli->name);
}

static int resolve(struct cli *cli, struct values *values) {
    CLI_TRY(cli_resolve_cache(cli, values->no_cache));
    if (cli_given(cli, "resume")) {
        const char *option = values->dry_run               ? "dry-run"
                             : cli_given(cli, "overwrite") ? "overwrite"
                                                           : NULL;
        if (option == NULL) return CLI_SUCCESS;
        return cli_usage(cli,
                         "option --%s does not apply to --resume, because a resumed run keeps its "
                         "configuration and its files",
                         option);
    }
    if (values->dry_run && !cli_given(cli, "out"))
        (void)nvdp_config_set(cli->config, "out", "run"); /* nothing is written */
    CLI_TRY(cli_need(cli));
    note_budget(cli);
    return CLI_SUCCESS;
}

/* --- --dry-run --- */

/* Returns the seconds of one run; NaN if they were not measured. */
static double all_seconds(const struct nvdp_train_plan *plan) {
    return plan->base_seconds + plan->train_seconds + plan->score_seconds + plan->prefix_seconds;
}

static void plan_print(const struct nvdp_train_plan *plan, size_t runs) {
    const double times = (double)runs;
    char all[CLI_DURATION_ROOM], steps[CLI_DURATION_ROOM], scores[CLI_DURATION_ROOM],
        prefix[CLI_DURATION_ROOM], base[CLI_DURATION_ROOM], of_all[48] = "";
    if (runs > 1) {
        snprintf(of_all, sizeof of_all, ", for all %zu folds", runs);
        cli_row("folds", "%zu, one run after the other; texts and steps are given for the first",
                runs);
    }
    cli_print_result("train_plan", plan);
    if (plan->frozen_parameters > 0)
        cli_row("frozen states", "%.0f MiB in the cache%s",
                times * (double)plan->prefix_bytes / (1 << 20), of_all);
    if (isnan(plan->train_seconds)) return;
    cli_duration(times * all_seconds(plan), all);
    cli_duration(times * plan->base_seconds, base);
    cli_duration(times * plan->train_seconds, steps);
    cli_duration(times * plan->score_seconds, scores);
    cli_duration(times * plan->prefix_seconds, prefix);
    cli_row("time",
            "about %s on this machine at its current load%s: %s%s%ssteps %s (%.3g s each), scores "
            "%s%s%s",
            all, of_all, plan->base_seconds > 0 ? "base run " : "",
            plan->base_seconds > 0 ? base : "", plan->base_seconds > 0 ? ", then " : "", steps,
            plan->step_seconds, scores,
            plan->prefix_seconds > 0 ? ", frozen states, unless they are cached already, " : "",
            plan->prefix_seconds > 0 ? prefix : "");
}

/* Lists the options that have the preset's values. */
static json_t *preset_json(const struct cli *cli) {
    json_t *list = json_array();
    for (size_t i = 0; i < nvdp_config_count(cli->config); i++) {
        const struct nvdp_option *option = nvdp_config_option(cli->config, i);
        if (option->sets == NULL && nvdp_config_is_preset(cli->config, option->name))
            json_array_append_new(list, json_string(option->name));
    }
    return list;
}

/* Returns the number of runs: the number of folds if --folds is given without --fold, else 1. */
static size_t count_runs(const struct cli *cli) {
    const size_t folds = strtoul(nvdp_config_get(cli->config, "folds"), NULL, 10);
    const bool each =
        strcmp(nvdp_config_get(cli->config, "fold"), "0") == 0 && !cli_given(cli, "resume");
    return each && folds > 0 ? folds : 1;
}

static int dry_run(struct cli *cli) {
    struct nvdp_train_plan plan = NVDP_RESULT(struct nvdp_train_plan);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *resolved = NULL;
    char *text = NULL;
    const size_t runs = count_runs(cli);
    if (runs > 1) (void)nvdp_config_set(cli->config, "fold", "1"); /* plans the first fold */
    CLI_DO(cli, nvdp_train_plan_measured(cli->ctx, cli->config, &resolved, &plan));
    CLI_DO(cli, nvdp_config_json(resolved, &text));
    json_t *object = nvdp__json_taken(text);
    if (cli->json) { /* only all_seconds covers all runs of cross validation */
        json_t *planned = cli_add_result(json_object(), "train_plan", NULL, &plan);
        json_object_set_new(planned, "runs", json_integer((json_int_t)runs));
        json_object_set_new(planned, "all_seconds", cli_number((double)runs * all_seconds(&plan)));
        return cli_print_json(cli, json_pack("{s:o, s:o, s:o}", "configuration", object,
                                             "from_preset", preset_json(cli), "plan", planned));
    }
    int code = cli_print_json(cli, object);
    const char *preset = nvdp_config_get(cli->config, "preset");
    if (preset != NULL) {
        nvdp__autoptr(json_decref) json_t *list = preset_json(cli);
        const json_t *name;
        size_t i;
        cli_row("preset", "%s, which sets:", preset);
        json_array_foreach(list, i, name) {
            const char *option = json_string_value(name);
            printf("  --%s %s\n", option, nvdp_config_get(cli->config, option));
        }
    }
    plan_print(&plan, runs);
    return code;
}

/* --- the result --- */

static json_t *result_json(struct cli *cli, const char *out,
                           const struct nvdp_train_result *result) {
    json_t *object = json_pack("{s:s}", "out", out);
    object = cli_add_result(object, "train", "json", result);
    json_object_set_new(object, "guarantee", cli_guarantee_json(cli, out));
    return object;
}

/* --- cross validation: one run per fold --- */

/* Prints the mean and standard deviation of metric k over folds. */
static void print_folds(size_t folds, const struct nvdp_train_result *result, int k) {
    double mean = 0, spread = 0;
    for (size_t f = 0; f < folds; f++)
        mean += result[f].test->mean[k] / (double)folds;
    for (size_t f = 0; f < folds; f++)
        spread += (result[f].test->mean[k] - mean) * (result[f].test->mean[k] - mean);
    cli_row(nvdp_metric_name(result[0].test->metric[k]),
            "%.4f +- %.4f  (mean and standard deviation of %zu folds)", mean,
            sqrt(spread / (double)(folds - 1)), folds);
}

static const char *fold_folder(const char *out, size_t fold, char folder[PATH_MAX]) {
    snprintf(folder, PATH_MAX, "%s/fold-%zu", out, fold);
    return folder;
}

/* Trains one fold. Resumes a fold that an interrupted cross validation began. */
static nvdp_status train_fold(struct cli *cli, const char *out, size_t fold,
                              struct nvdp_train_result *result) {
    char folder[PATH_MAX], number[24], record[PATH_MAX + 16];
    snprintf(number, sizeof number, "%zu", fold);
    snprintf(record, sizeof record, "%s/run.json", fold_folder(out, fold, folder));
    const bool begun = !cli_given(cli, "overwrite") && access(record, F_OK) == 0;
    NVDP_TRY(nvdp_config_set(cli->config, "out", folder));
    NVDP_TRY(nvdp_config_set(cli->config, "fold", number));
    NVDP_TRY(nvdp_config_set(cli->config, "resume", begun ? folder : NULL));
    return nvdp_train(cli->ctx, cli->config, result);
}

/* Finds the fold whose training has the largest epsilon, or the first fold if training is not private. */
static nvdp_status weakest_fold(struct cli *cli, const char *out, size_t folds,
                                struct nvdp_training_privacy *training, char folder[PATH_MAX]) {
    size_t weakest = 1;
    for (size_t f = 1; f <= folds; f++) {
        nvdp__autoresult struct nvdp_training_privacy one =
            NVDP_RESULT(struct nvdp_training_privacy);
        NVDP_TRY(nvdp_training_privacy(cli->ctx, fold_folder(out, f, folder), &one, NULL));
        const bool weaker =
            one.is_private &&
            (!training->is_private || one.account->pld_epsilon > training->account->pld_epsilon);
        if (!weaker) continue;
        nvdp_result_free(training);
        NVDP__HAND_OVER(training, one);
        weakest = f;
    }
    fold_folder(out, weakest, folder);
    return NVDP_OK;
}

struct folds {
    struct nvdp_train_result *result;
    size_t count;
};

static void release(const struct folds *folds) {
    for (size_t f = 0; f < folds->count && folds->result != NULL; f++)
        nvdp_result_free(&folds->result[f]);
    free(folds->result);
}

static int cross_validate(struct cli *cli, size_t count) {
    char folder[PATH_MAX];
    nvdp__autofree char *out = nvdp__strdup(cli->ctx, nvdp_config_get(cli->config, "out"));
    nvdp__auto(release) struct folds folds = {.count = count};
    nvdp__autoresult struct nvdp_training_privacy training =
        NVDP_RESULT(struct nvdp_training_privacy);
    CLI_DO(cli, NVDP__MADE(out));
    CLI_DO(cli, NVDP__NEW(cli->ctx, folds.result, count));
    if (mkdir(out, 0777) != 0 && errno != EEXIST)
        return cli_error(cli, CLI_FAILURE, "%s: %s", out, strerror(errno));
    for (size_t f = 0; f < count; f++) {
        folds.result[f].struct_size = sizeof *folds.result;
        const nvdp_status status = train_fold(cli, out, f + 1, &folds.result[f]);
        const int code = status == NVDP_OK ? CLI_SUCCESS : cli_fail(cli, status);
        if (status == NVDP_ERR_CANCELLED && !cli->quiet)
            fprintf(stderr,
                    "%s: run the same command again to continue with this fold and the others\n",
                    cli->name);
        CLI_TRY(code);
    }
    if (cli->json) {
        json_t *list = json_array();
        for (size_t f = 0; f < count; f++)
            json_array_append_new(
                list, result_json(cli, fold_folder(out, f + 1, folder), &folds.result[f]));
        return cli_print_json(cli, json_pack("{s:o}", "folds", list));
    }
    const struct nvdp_scores *first = folds.result[0].test;
    for (int k = 0; first != NULL && k < first->metrics; k++)
        print_folds(count, folds.result, k);
    cli_row("runs", "%s/fold-1 to fold-%zu", out, count);
    CLI_DO(cli, weakest_fold(cli, out, count, &training, folder));
    cli_row("",
            "the guarantee below is that of %s, the weakest one; if you give away several models, "
            "add their guarantees up",
            folder);
    cli_print_guarantee(cli, folder);
    if (training.is_private) cli_training_print(&training);
    return CLI_SUCCESS;
}

static int run(struct cli *cli) {
    struct values values = {0};
    CLI_TRY(cli_begin(cli, &values));
    CLI_TRY(resolve(cli, &values));
    if (values.dry_run) return dry_run(cli);
    if (count_runs(cli) > 1 && nvdp_config_get(cli->config, "out") != NULL)
        return cross_validate(cli, count_runs(cli));
    nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    CLI_DO(cli, nvdp_train(cli->ctx, cli->config, &result));
    const char *out = nvdp_config_get(cli->config, cli_given(cli, "resume") ? "resume" : "out");
    if (cli->json) return cli_end_training(cli, out, result_json(cli, out, &result));
    cli_print_result("train", &result);
    cli_row("run", "%s", out);
    cli_print_guarantee(cli, out);
    return cli_end_training(cli, out, NULL);
}

const struct cli_command cli_command_train = {
    .name = "train",
    .summary = "fine-tune an encoder with a private bottleneck",
    .description = "Fine-tunes an encoder with a bottleneck on a task, scores it on the dev file "
                   "with fresh noise, and writes a run directory.",
    .examples = "Examples:\n"
                "  nvdp train --task mrpc --data MRPC --model bert --lambda 1e-2 --out run\n"
                "  nvdp train --task tsv --data mine --text-column text --label-column label \\\n"
                "    --model bert --method vib-learned --lambda-g 1e-3 --out run\n"
                "  nvdp train --task none --objective distill --input public.txt \\\n"
                "    --model minilm --clip-sequence 8 --out run\n"
                "  nvdp train --resume run\n"
                "  mpirun -n 4 nvdp train --config mrpc.json --out run4   (docs/clusters.md)\n",
    .kinds = "train",
    .options = options,
    .together = true,
    .run = run,
};
