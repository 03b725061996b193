/* Tests of reading runs, grouping them, and selecting settings. */
#include "made_runs.h"

#include "test_context.h"

Test(groups, statistics) {
    struct report_stat stat = report_summarize(3, (double[]){1, 2, 6});
    cr_expect_eq(stat.n, 3);
    near(stat.mean, 3, 1e-15);
    near(stat.sd, sqrt(7), 1e-15);
    cr_expect(isnan(report_summarize(1, (double[]){5}).sd));
    cr_expect(isnan(report_summarize(0, NULL).mean));
    stat = report_summarize(2, (double[]){1, INFINITY});
    cr_expect(isinf(stat.mean) && isnan(stat.sd));
}

/* Runs are grouped over seeds. The validation score selects seed and lambda, even if another test score is better. */
Test(groups, validation_chooses) {
    static const struct made_run runs[] = {
        {"a1", .lambda = 1e-3, .seed = 1, .validation = .90, .score = .70, .rd_max = 9},
        {"a2", .lambda = 1e-3, .seed = 2, .validation = .80, .score = .80, .rd_max = 7},
        {"b1", .lambda = 1e-2, .seed = 1, .validation = .70, .score = .95, .rd_max = 3},
        {"b2", .lambda = 1e-2, .seed = 2, .validation = .99, .score = .99, .rd_max = 3},
    };
    struct report *report = made_report_of("chooses", sizeof runs / sizeof *runs, runs);
    cr_expect_eq(report->groups, 2);
    const struct report_group *group = made_selected(report, "nvdp");
    cr_expect_eq(group->lambda_g, 1e-3); /* .85 against .845 */
    cr_expect_eq(group->runs, 2);
    cr_expect_str_eq(group->best->name, "a1");
    near(group->score[0].mean, .75, 1e-15);
    near(group->score[0].sd, sqrt(.005), 1e-15);
    near(group->quantity[REPORT_SUM_MAX].mean, 8, 1e-15);
}

Test(groups, ties) {
    static const struct made_run runs[] = {
        {"a1", .lambda = 1e-3, .seed = 3, .validation = .5, .score = .1, .rd_max = 1},
        {"a2", .lambda = 1e-3, .seed = 12, .validation = .5, .score = .2, .rd_max = 1},
        {"b1", .lambda = 1e-2, .seed = 3, .validation = .5, .score = .3, .rd_max = 1},
    };
    struct report *report = made_report_of("ties", sizeof runs / sizeof *runs, runs);
    cr_expect_eq(made_selected(report, "nvdp")->lambda_g, 1e-2);
    cr_expect_str_eq(report->group[0].best->name, "a1");
}

/* Methods without a bottleneck have no lambda: the values in run.json make no groups. */
Test(groups, references_have_no_lambda) {
    static const struct made_run runs[] = {
        {"a", .method = "base", .lambda = 1e-3, .seed = 1, .score = .5, .nvib = "'latent_dim': 8"},
        {"b", .method = "base", .lambda = 1e-2, .seed = 2, .score = .7, .nvib = "'latent_dim': 16"},
    };
    struct report *report = made_report_of("references", sizeof runs / sizeof *runs, runs);
    cr_expect_eq(report->groups, 1);
    cr_expect_eq(report->group[0].runs, 2);
    cr_expect(isnan(report->group[0].lambda_g));
    cr_expect_eq(report->notes, 0); /* their privacy is not expected */
}

/* Runs that differ only in lambda and C are one method, ordered from the least private setting. Clipping as such, which
 * proves a bound, makes another method. Gaussians have no lambda_D. */
Test(groups, settings) {
    static const struct made_run runs[] = {
        {"a", .method = "vib-fixed", .lambda = 1, .rd_max = 1},
        {"b", .method = "vib-fixed", .nvib = "'clip_sequence': 1.5", .rd_max = 4},
        {"c", .method = "vib-fixed", .nvib = "'clip_sequence': 3", .rd_max = 4},
        {"d", .method = "vib-fixed", .nvib = "'clip_sequence': 3", .lambda = .01, .rd_max = 4},
        {"e", .method = "vib-fixed", .nvib = "'clip_sequence': 3", .lambda = .01, .lambda_d = 1,
         .seed = 2, .rd_max = 4},
        {"f", .lambda = .01, .lambda_d = 1, .rd_max = 4},
        {"g", .method = "vib-fixed", .nvib = "'clip_sequence': 'inf'", .lambda = 2, .rd_max = 1}};
    static const char *const want[][2] = {
        {"vib-fixed", "lambda 1"},
        {"vib-fixed", "lambda 2"},
        {"vib-fixed (sequence clip)", "C 3"},
        {"vib-fixed (sequence clip)", "C 1.5"},
        {"vib-fixed (sequence clip)", "C 3, lambda 1e-2"},
        {"nvdp", "lambda G 1e-2, D 1"},
    };
    struct report *report = made_report_of("settings", sizeof runs / sizeof *runs, runs);
    cr_assert_eq(report->groups, 6);
    for (size_t g = 0; g < 6; g++) {
        cr_expect_str_eq(report->family[report->group[g].family].label, want[g][0]);
        cr_expect_str_eq(report_say_setting(&report->group[g]).text, want[g][1]);
    }
    cr_expect_eq(report->group[4].runs, 2);
    cr_expect_eq(report->group[3].quantity[REPORT_CERTIFIED].mean, nvdp_gdp_epsilon(3, 1e-5));
    cr_expect_eq(report->group[5].quantity[REPORT_CERTIFIED].n, 0);
    cr_expect_eq(report->group[3].quantity[REPORT_GUESS].mean, nvdp_guess_bound(.001, 1.5, 1, 0));
    near(report->group[3].quantity[REPORT_BITS].mean, 1.5 * 1.5 / 2 / M_LN2, 1e-14);
    cr_expect_eq(report->group[5].quantity[REPORT_GUESS].n, 0);
    cr_expect_str_eq(report_say_point(&report->group[0]).text, "1");
    cr_expect_str_eq(report_say_point(&report->group[2]).text, "C 3");
    /* All validation scores are equal, so the most private setting is selected. */
    cr_expect_str_eq(report_say_setting(made_selected(report, "vib-fixed (sequence clip)")).text,
                     "C 3, lambda 1e-2");
}

#define WORD_RESULT(mu, radius)                                                                    \
    "'certified': {'epsilon': 900, 'delta': 1e-4, 'releases': 4, 'numbers': 2, "                   \
    "'word': {'mu': " mu ", 'radius': " radius ", 'epsilon': 7, 'delta': 1e-4}}"

/* Numbers per word are those of one sample; the recorded mu is that of four. The tables show the largest over seeds. */
Test(groups, word) {
    static const struct made_run runs[] = {
        {"a", .seed = 1, .method = "word", .score = .6, .result = WORD_RESULT("1.5", "0.375")},
        {"b", .seed = 2, .method = "word", .score = .6, .result = WORD_RESULT("1.4", "0.35")},
    };
    struct report *report = made_report_of("word", sizeof runs / sizeof *runs, runs);
    cr_assert_eq(report->groups, 1);
    const double epsilon = nvdp_gdp_epsilon(.75, 1e-5), guess = nvdp_guess_bound(.001, .375, 1, 2);
    cr_expect_eq(report->group[0].quantity[REPORT_WORD].max, epsilon);
    cr_expect_eq(report->group[0].quantity[REPORT_WORD_GUESS].max, guess);
    cr_expect_eq(report->group[0].quantity[REPORT_CERTIFIED].n, 0);
    char *table = report_written("word", "tables/table1.txt"),
         *page = report_written("word", "index.html");
    support_contains(table, "word eps", "word guess", nvdp__bound(epsilon).text,
                     nvdp__share_bound(guess).text);
    support_contains(page, "for any word in place of any other, epsilon of one sample is proven");
}

/* Runs that start from the base runs of their own tasks and seeds are one method. */
Test(groups, bases) {
    static const struct made_run runs[] = {{"a", .seed = 2, .lambda = 1, .rd_max = 1,
                                            .options = "'from_base': 'b12/sst2-2-0123456789ab'"},
                                           {"b", .seed = 1, .lambda = 1, .rd_max = 1,
                                            .options = "'from_base': 'b12/sst2-1-ba9876543210'"},
                                           {"c", .task = "rte", .seed = 1, .lambda = 1, .rd_max = 1,
                                            .options = "'from_base': 'b12/rte-1-ba9876543211'"},
                                           {"d", .seed = 1, .lambda = 1, .rd_max = 1}};
    struct report *report = made_report_of("bases", sizeof runs / sizeof *runs, runs);
    cr_assert_eq(report->families, 2);
    cr_expect_str_eq(report->family[0].label, "nvdp (from-base b12/{task}-{seed}-*)");
    cr_expect_str_eq(report->family[1].label, "nvdp (from-base none)");
    cr_expect_eq(report->groups, 3);
    cr_expect_eq(made_selected(report, report->family[0].label)->runs, 2);
    support_contains(report->run[0].command, " --from-base b12/sst2-2-");
}

/* The folds of a cross validation, each from the same fold's base run, are one method too. */
Test(groups, bases_of_folds) {
#define FROM_FOLD(f) "'folds': 2, 'fold': " #f ", 'from_base': 'cv/fold-" #f "'"
    static const struct made_run runs[] = {
        {"a", .seed = 1, .lambda = 1, .rd_max = 1, .options = FROM_FOLD(1)},
        {"b", .seed = 1, .lambda = 1, .rd_max = 1, .options = FROM_FOLD(2)}};
    struct report *report = made_report_of("cv", sizeof runs / sizeof *runs, runs);
    cr_assert_eq(report->groups, 1);
    cr_expect_eq(report->group[0].runs, 2);
}

/* Shows a bound if C proves one. A contradicted bound is hidden, and the run is named. */
Test(groups, bounds) {
    static const struct made_run runs[] = {
        {"a", .method = "vtdp", .nvib = "'clip_sequence': 3, 'stdev_tau': 1", .bound = 19.8,
         .rd_max = 19.8},
        {"b", .method = "vtdp", .nvib = "'clip_sequence': 1", .bound = 2.2, .rd_max = 2.21},
        {"c", .nvib = "'clip_sequence': 1, 'kappa': 2", .bound = INFINITY,
         .rd_max = 2}, /* weights */
        {"d", .nvib = "'clip_sequence': 1", .bound = 2.2, .rd_max = 2},
        {"e", .method = "vib-learned", .lambda = 1, .rd_max = 2}};
    struct report *report = made_report_of("bounds", sizeof runs / sizeof *runs, runs);
    cr_assert_eq(report->runs, 5);
    near(report->run[0].quantity[REPORT_BOUND], 19.8, 1e-12);
    cr_expect(isnan(report->run[1].quantity[REPORT_BOUND]));
    cr_expect(isnan(report->run[2].quantity[REPORT_BOUND]));
    near(report->run[3].quantity[REPORT_BOUND], 2.2, 1e-12);
    cr_expect(isnan(report->run[4].quantity[REPORT_BOUND]));
    support_contains(report->run[0].command, " --method vtdp --lambda 0 --clip-sequence 3 --seed");
    support_contains(report->run[3].command, " --clip-sequence 1 ");
    cr_expect_eq(report->notes, 1);
    support_contains(
        made_note(report, "b"),
        "its largest divergence, 2.21, exceeds the proven bound for clip_sequence 1, 2.2");
}

/* Labels have as few words as distinguish the methods of a task. Options that differ only between tasks, or that have
 * no effect, are not in labels. */
Test(groups, labels) {
    static const struct made_run runs[] = {
        {"a", .lambda = 1, .rd_max = 1, .nvib = "'regularizer': 'kl', 'kappa': 1"},
        {"b", .lambda = 1, .rd_max = 1, .nvib = "'latent_dim': 16"},
        {"c", .lambda = 1, .rd_max = 1, .nvib = "'latent_dim': 16.0, 'mu_tau': 0.3"},
        {"d", .lambda = 1, .rd_max = 1, .method = "vtdp", .options = "'log_every': 3"},
        {"e", .lambda = 1, .rd_max = 1, .method = "vtdp", .seed = 1},
        {"f", .lambda = 1, .rd_max = 1, .task = "rte", .method = "vtdp", .options = "'epochs': 9"},
    };
    struct report *report = made_report_of("labels", sizeof runs / sizeof *runs, runs);
    cr_expect_eq(report->families, 4);
    const char *want[] = {"vtdp", "nvdp (kl, mu-tau 1)", "nvdp (published, mu-tau 0.3)",
                          "nvdp (published, mu-tau 1)"};
    for (size_t f = 0; f < report->families && f < 4; f++)
        cr_expect_str_eq(report->family[f].label, want[f]);
    cr_expect_eq(report->family[3].shade, 2);
    cr_expect_eq(report->tasks, 2);
}

Test(groups, sweeps_label_and_data_folders) {
    static const struct made_run runs[] = {
        {"a", .lambda = 1, .rd_max = 1, .label = "narrow", .data = "one/sst2"},
        {"b", .lambda = 1, .rd_max = 1, .data = "other/sst2"},
    };
    struct report *report = made_report_of("named", sizeof runs / sizeof *runs, runs);
    cr_expect_str_eq(report->task[0].label, "sst2 (one/sst2)");
    cr_expect_str_eq(report->task[1].label, "sst2 (other/sst2)");
    cr_expect_str_eq(report->family[0].label, "narrow");
    cr_expect_str_eq(report->family[1].label, "nvdp");
}

/* Runs whose grid gives each seed a model of its own are repetitions of one setting. */
Test(groups, a_model_for_each_seed) {
    static const struct made_run runs[] = {
        {"a", .method = "base", .seed = 1, .score = .5, .model = "tuned/rte-1"},
        {"b", .method = "base", .seed = 2, .score = .7, .model = "tuned/rte-2"},
        {"c", .method = "base", .seed = 2, .score = .9, .model = "other"},
    };
    made_runs("models", sizeof runs / sizeof *runs, runs);
    for (size_t i = 0; i < 2; i++)
        made_run_file("models", runs[i].name, "sweep.json", "{'model': 'tuned/{task}-{seed}'}");
    struct report *report = made_report(ctx, "models");
    cr_expect_eq(report->groups, 2);
    cr_expect_eq(report->families, 2);
    support_contains(report->family[0].label, "other");
    support_contains(report->family[1].label, "tuned/{task}-{seed}");
}

/* Labels always show another encoder and private training, and a preset if it differs, under its current name. They
 * omit options that private training and an encoder imply. */
Test(groups, labels_tell_what_runs_are) {
#define PRIVATE(dp) "'clip_norm': 0, 'patience': 0, 'dp': {'dp_batch': 64, " dp "}"
    static const struct made_run runs[] = {
        {"a", .method = "base"},
        {"b", .method = "base", .options = PRIVATE("'target_epsilon': 3, 'dp_noise': 0.73")},
        {"h", .method = "base", .seed = 1, /* one text more */
         .options = PRIVATE("'target_epsilon': 3, 'dp_noise': 0.74")},
        {"c", .method = "base", .options = PRIVATE("'dp_noise': 0.75")},
        {"d", .method = "base", .options = "'encoder': 'bilstm', 'dropout': 0.1"},
        {"e", .lambda = 1, .rd_max = 1, .options = "'preset': 'private'"},
        {"f", .lambda = 1, .rd_max = 1, .options = "'patience': 0"},
        {"g", .method = "reg", .label = "dp", .options = PRIVATE("'dp_noise': 0.75")},
    };
    static const char *const want[] = {
        "base", "base (bilstm)", "base (dp-noise 0.75)", "base (target-epsilon 3)",
        "dp",   "nvdp",          "nvdp (preset per-nat)"};
    struct report *report = made_report_of("telling", sizeof runs / sizeof *runs, runs);
    cr_assert_eq(report->families, 7);
    for (size_t f = 0; f < 7; f++)
        cr_expect_str_eq(report->family[f].label, want[f]);
}

/* A cross validation is one setting with its mean over folds. Pairs for tests have the same fold. */
Test(groups, folds_are_repetitions) {
#define FOLD(f) "'folds': 3, 'fold': " #f
    static const struct made_run runs[] = {
        {"a2", .method = "base", .score = .6, .options = FOLD(2)},
        {"a1", .method = "base", .score = .5, .options = FOLD(1)},
        {"a3", .method = "base", .score = .7, .options = FOLD(3)},
        {"b1", .method = "reg", .score = .7, .options = FOLD(1)},
        {"b3", .method = "reg", .score = .8, .options = FOLD(3)},
        {"c1", .method = "reg", .score = .8, .options = FOLD(3)},
    };
    struct report *report = made_report_of("folds", sizeof runs / sizeof *runs, runs);
    nvdp__autofree struct report_comparison *list = NULL;
    size_t count = 0;
    cr_assert_eq(report->groups, 2);
    cr_expect_str_eq(report->family[0].label, "base");
    cr_assert_eq(report->group[0].runs, 3);
    cr_expect_str_eq(report->group[0].run[1]->name, "a2");
    near(report->group[0].score[0].mean, .6, 1e-15);
    cr_expect_eq(report->group[1].runs, 2);
    support_contains(made_note(report, "c1"), "the same configuration and seed as b3");
    ok(report_compare(ctx, report, &list, &count));
    cr_assert_eq(count, 1);
    cr_expect_eq(list[0].seeds, 2);
    near(list[0].mean, -.15, 1e-15); /* .5 - .7, .7 - .8 */
}

/* Columns of one folder make separate tasks, with the folder's name: no row, selection or test mixes them. */
Test(groups, columns_are_tasks) {
#define SCORE(text) "'columns': {'text': '" text "', 'label': 'score', 'regression': true}"
#define STARS(text) "'columns': {'text': '" text "', 'label': 'stars'}"
    static const struct made_run runs[] = {
        {"a", .method = "base", .task = "tsv", .options = STARS("review")},
        {"b", .method = "base", .task = "tsv", .options = SCORE("review")},
        {"c", .method = "reg", .task = "tsv", .options = STARS("title")},
        {"d", .method = "reg", .task = "tsv", .options = STARS("review")},
        {"e", .method = "base", .task = "tsv", .seed = 1, .options = STARS("review")},
        {"f", .method = "base", .task = "tsv", .seed = 1, .options = SCORE("review")},
    };
    static const char *const want[] = {
        "glue (text-column review, label-column stars)",
        "glue (text-column review, label-column score, regression yes)",
        "glue (text-column title, label-column stars)"};
    struct report *report = made_report_of("columns", sizeof runs / sizeof *runs, runs);
    nvdp__autofree struct report_comparison *list = NULL;
    size_t count = 9;
    cr_assert_eq(report->tasks, 3);
    for (size_t t = 0; t < 3; t++)
        cr_expect_str_eq(report->task[t].label, want[t]);
    cr_expect_eq(report->families, 2);
    cr_assert_eq(report->groups, 4);
    cr_expect_eq(report->group[0].runs, 2);
    cr_expect_eq(report->group[2].task, 1);
    ok(report_compare(ctx, report, &list, &count));
    cr_expect_eq(count, 0); /* base and reg share only one seed per task */
}

/* Unusable runs are named with a reason, and the rest is reported. */
Test(groups, remarks) {
    static const struct made_run good = {"good", .lambda = 1, .seed = 1, .rd_max = 1};
    struct made_run other = good;
    made_folder("remarks");
    made_folder("remarks/runs");
    made_folder("remarks/failed");
    made_run("remarks/runs", &good);
    other.name = "same";
    made_run("remarks/runs", &other);
    other = (struct made_run){"unmeasured", .lambda = 1, .seed = 2};
    made_run("remarks/runs", &other);
    made_run_file("remarks/runs", "begun", "run.json", "{}");
    made_run_file("remarks/runs", "broken", "run.json", "{'config': {'task':");
    made_run_file("remarks/runs", "broken", "result.json", "{}");
    other = (struct made_run){"strange", .lambda = 1, .seed = 3};
    made_run("remarks/runs", &other);
    made_run_file("remarks/runs", "strange", "privacy.json", "{'rd': {}}");
    made_run_file("remarks/runs", "empty", "notes.txt", "");
    support_write_text(support_scratch_path("remarks/failed/gone.json"),
                       "{\"message\": \"no memory\"}");
    struct report *report = made_report(ctx, "remarks");
    cr_expect_eq(report->runs, 4);
    support_contains(made_note(report, "begun"), "result.json is missing");
    support_contains(made_note(report, "broken"), "run.json: line 1: expected JSON");
    support_contains(made_note(report, "same"), "the same configuration and seed as good");
    support_contains(made_note(report, "unmeasured"), "nvdp privacy ");
    support_contains(made_note(report, "strange"), "expected a number at 'rd.sum.max', found none");
    support_contains(made_note(report, "empty"), "run.json is missing");
    support_contains(made_note(report, "gone.json"), "failed: no memory");
    cr_expect_eq(report->groups, 1);
    cr_expect_eq(report->group[0].runs, 3);
    cr_expect_eq(report->group[0].quantity[REPORT_SUM_MAX].n, 1);
}

static void expect_refused(const char *directory, const char *message) {
    struct report_config config = report_config_default();
    struct report *report = NULL;
    config.directory = directory;
    cr_expect_eq(report_create(ctx, &config, &report), NVDP_ERR_INPUT);
    cr_expect_null(report);
    support_contains(nvdp_context_error(ctx), message);
}

Test(groups, nothing_to_report) {
    expect_refused(support_scratch_path("nowhere"),
                   "expected a directory of runs, found no such directory");
    expect_refused(made_folder("nothing"), "expected run directories (with run.json)");
    made_run_file("unfinished", "a", "run.json", "{}");
    expect_refused(
        made_folder("unfinished"),
        "expected finished runs, but all 1 are unfinished or broken; the first, a: unfinished");
}

/* Reads a single run directory, also with a trailing slash. */
Test(groups, one_run) {
    static const struct made_run run = {"one", .lambda = 1, .rd_max = 1};
    made_run("single", &run);
    struct report *report = made_report(ctx, "single/one/");
    cr_expect_eq(report->runs, 1);
    cr_expect_str_eq(report->run[0].name, "one");
    cr_expect_eq(report->run[0].epochs, 1); /* the incomplete last line does not count */
}

/* A table compares only measurements with the same options, those of most runs. A measurement of some texts does not
 * count. */
Test(groups, measurements_are_not_mixed) {
#define MEASURED(more, releases, max)                                                              \
    "{" more "'order': 1.1, 'n': 20, 'infinite_share': 0, 'rd': {'sum': {'max': " max              \
    ", 'mean': 1}, 'per_component_dim': {'max': 1, 'mean': 1}}, 'bdp': {'delta': "                 \
    "1e-5, "                                                                                       \
    "'releases': " releases ", 'best': {'epsilon': 1}, 'published': {'epsilon': 1}}}"
    static const struct made_run some[] = {{"a", .lambda = 1, .rd_max = 5, .rd_mean = 4},
                                           {"b", .lambda = 2, .rd_max = 6, .rd_mean = 4},
                                           {"part", .lambda = 3},
                                           {"twice", .lambda = 4},
                                           {"old", .lambda = 5}};
    made_runs("mixed", sizeof some / sizeof *some, some);
    made_run_file("mixed", "a", "privacy-releases-2.json",
                  MEASURED("'complete': true, ", "2", "77"));
    made_run_file("mixed", "b", "privacy-limit-20.json",
                  MEASURED("'complete': false, ", "1", "88"));
    made_run_file("mixed", "part", "privacy-limit-20.json",
                  MEASURED("'complete': false, ", "1", "99"));
    made_run_file("mixed", "twice", "privacy-releases-2.json",
                  MEASURED("'complete': true, ", "2", "66"));
    made_run_file("mixed", "old", "privacy.json", MEASURED("", "1", "55")); /* 20 of 40 texts */
    struct report *report = made_report(ctx, "mixed");
    cr_expect_eq(report->runs, 5);
    for (size_t i = 0; i < report->runs; i++) {
        const struct report_run *run = &report->run[i];
        const double max = run->quantity[REPORT_SUM_MAX];
        cr_expect_eq(run->measured, run->name[1] == '\0', "%s", run->name);
        cr_expect(run->measured ? max == (run->name[0] == 'a' ? 5 : 6) : isnan(max), "%s: %g",
                  run->name, max);
    }
    support_contains(
        made_note(report, "part"),
        "not measured completely: 20 of its 40 texts were measured; to measure all: nvdp privacy ");
    support_contains(made_note(report, "old"), "not measured completely: 20 of its 40 texts");
    support_contains(made_note(report, "twice"),
                     "most runs were measured with other options than this one; expected order "
                     "1.1, delta 1e-05, 1 release, split dev");
}

Test(groups, command_lines) {
    static const struct made_run run = {
        "it's",
        .lambda = 1e-3,
        .lambda_d = .25,
        .seed = 7,
        .rd_max = 1,
        .data = "my data",
        .options = "'lr': 0.0003, 'epochs': 4, 'skip_bad_rows': true, 'weight_decay': 0.01, "
                   "'kl_schedule': 'warmup', 'columns': {'text': 'review', 'pair': null, "
                   "'regression': false}",
        .nvib = "'clip_mu_radius': 4.0, 'clip_alpha_max': 'inf', 'regularizer': 'kl'"};
    made_run("commands", &run);
    struct report *report = made_report(ctx, "commands");
    const char *command = report->run[0].command;
    support_contains(command,
                     "nvdp train --task sst2 --data 'my data' --model bert --method nvdp "
                     "--lambda-g 0.001 --lambda-d 0.25 ",
                     " --lr 0.0003", " --epochs 4", " --skip-bad-rows", " --text-column review",
                     " --clip-mu 4", " --regularizer kl", " --seed 7 --out 'runs/it'\\''s'");
    support_lacks(command, "weight-decay"); /* has its default */
    support_lacks(command, "clip-alpha-max", "regression", "pair");
    support_lacks(command, "kl-schedule"); /* implied */
}

Test(groups, out_of_memory) {
    static const struct made_run runs[] = {
        {"a", .lambda = 1, .seed = 1, .rd_max = 1, .vectors = 4},
        {"b", .lambda = 1, .seed = 2, .rd_max = 1, .nvib = "'kappa': 2"}};
    made_run("memory", &runs[0]);
    made_run("memory", &runs[1]);
    made_run_file("memory", "c", "run.json", "{}");
    struct report_config config = report_config_default();
    config.directory = made_folder("memory");
    nvdp__autoptr(report_free) struct report *report = NULL;
    nvdp_status status = NVDP_ERR_MEMORY;
    uint64_t k = 0;
    for (; status != NVDP_OK && k < 1000; k++) {
        nvdp__fail_allocation(ctx, k + 1);
        status = report_create(ctx, &config, &report);
        if (status != NVDP_OK) cr_assert_eq(status, NVDP_ERR_MEMORY, "%s", nvdp_context_error(ctx));
    }
    cr_expect_gt(k, 50);
    ok(status);
    nvdp__fail_allocation(ctx, 0);
}

/* Writes a report of texts in the form of nvdp privacy --sanitizer: all pairs, and those of equal length. */
static void write_texts(const char *folder, const char *run, const char *mechanism, double eta,
                        double mean) {
    const char *text = support_path(
        "{'order': 1.1, 'n': 40, 'adjacency': 'all', 'infinite_share': 0.97, 'sample': null, "
        "'bound': null, 'posterior': null, 'rd': {'sum': {'max': 'inf', 'mean': 'inf'}, "
        "'per_component_dim': {'max': 'inf', 'mean': 'inf'}}, 'epsilon': {'max': 'inf', 'mean': "
        "'inf'}, 'bdp': {'delta': 1e-5, 'releases': 1, 'best': {'epsilon': 'inf'}, 'published': "
        "{'epsilon': 'inf'}}, 'sanitizer': {'mechanism': '%s', 'eta': %g, 'own_words': %s}, "
        "'equal_length': {'infinite_share': 0, 'rd': {'sum': {'max': %g, 'mean': %g}, "
        "'per_component_dim': {'max': 1, 'mean': 1}}, 'epsilon': {'max': %g, 'mean': %g}, 'bdp': "
        "{'best': {'epsilon': 7}, 'published': {'epsilon': 'inf', 'm': 1}}, 'largest_epsilon': "
        "{'low': 1, 'high': %g}}}",
        mechanism, eta, eta == 50 ? "true" : "false", 4 * mean, mean, 6 * mean, 3 * mean, 5 * mean);
    made_run_file(folder, run, "privacy.json", text);
}

/* Mechanisms of text privatization are methods beside NVDP: eta is their setting, and their numbers are for equal
 * lengths. */
Test(groups, privatized_texts_are_methods) {
    static const struct made_run runs[] = {
        {"a", .lambda = 1e-3, .validation = .7, .score = .7, .rd_max = 3, .rd_mean = 1,
         .exact = 12},
        {"b", .method = "base", .validation = .9, .score = .9},
        {"c", .method = "base", .validation = .8, .score = .8,
         .options = "'token_noise': 'santext', 'eta': 2"},
        {"d", .method = "base", .seed = 1, .validation = .85, .score = .84,
         .options = "'token_noise': 'santext', 'eta': 5"},
        {"e", .method = "base", .validation = .6, .score = .6, .label = "folder"},
    };
    made_runs("texts", sizeof runs / sizeof *runs, runs);
    write_texts("texts", "c", "santext", 2, 10);
    write_texts("texts", "d", "santext", 5, 30);
    write_texts("texts", "e", "laplace-nearest", 50, 20);
    struct report *report = made_report(ctx, "texts");
    cr_expect_eq(report->families, 4);
    cr_expect_str_eq(report->family[0].label, "base");
    cr_expect(report->family[0].reference);
    for (size_t f = 1; f < report->families; f++) { /* mechanisms without their own looks */
        const struct report_look one = report_family_look(&report->family[f]);
        for (size_t g = 0; g < f; g++) {
            const struct report_look other = report_family_look(&report->family[g]);
            cr_expect_str_neq(one.colour, other.colour);
        }
    }
    const struct report_group *group = made_selected(report, "santext");
    cr_expect_eq(group->eta, 5);
    cr_expect_eq(group->quantity[REPORT_SUM_MEAN].mean, 30);
    cr_expect_eq(group->quantity[REPORT_SUM_MAX].mean, 120);
    cr_expect_eq(group->quantity[REPORT_EPSILON_MAX].mean, 180);
    cr_expect_eq(group->quantity[REPORT_EPSILON_MEAN].mean, 90);
    cr_expect_eq(group->quantity[REPORT_EXACT_MAX].mean, 150);
    cr_expect_eq(report->run[0].quantity[REPORT_EXACT_MAX], 12);
    cr_expect_eq(report->run[0].quantity[REPORT_EXACT_MEAN], 6);
    cr_expect_eq(group->quantity[REPORT_INFINITE].mean, 0);
    cr_expect(group->best->how.given_length && !group->best->how.same_length);
    cr_expect_not(report->family[group->family].reference);
    cr_expect_str_eq(report_say_setting(group).text, "eta 5");
    group = made_selected(report, "folder");
    cr_expect_str_eq(report->family[group->family].method, "laplace-nearest");
    cr_expect_eq(group->eta, 50);
    char *figure = report_written("texts", "figures/epsilon_mean.dat");
    support_contains(figure, "# index 0: sst2, santext\n");
    char *table = report_written("texts", "tables/table1.txt");
    support_contains(table, "In 3 of 4 runs, the texts are privatized",
                     "BDP is inf in 3 of 4 runs, whatever RD is, because some text has fewer than",
                     "exact eps", "In 1 of 4 runs, the private texts chose the words that come out",
                     "2 of 4 runs drew the noise of their texts from a seed, which");
    char *page = report_written("texts", "index.html"); /* the folder's noise has no seed */
    support_contains(
        page,
        "nothing is proven, because its seed can undo the noise of its texts, and the worst "
        "measured pair of texts of equal length has an epsilon of at most 150 for",
        "; the only proven guarantee is that of its text mechanism (not of its choice of words, "
        "which was made by the texts), and the ");
    char *csv = report_written("texts", "data/groups.csv");
    support_contains(csv, "clip_sequence,eta,seeds", ",epsilon_max,");
}

/* Folders written by nvdp sanitize belong to the task of their texts, in any order. Models of the runs' own etas are
 * one option. */
Test(groups, sanitized_folders_and_adapted_models) {
    static const struct made_run runs[] = {
        {"a1", .method = "base", .score = .6, .data = "sanitized/sst2-1", .label = "plus"},
        {"a2", .method = "base", .validation = .7, .score = .7, .data = "sanitized/sst2-2",
         .label = "plus"},
        {"b", .method = "base", .score = .9},
        {"c1", .method = "base", .score = .8, .label = "adapted", .model = "m4/santext-14",
         .validation = .8, .options = "'token_noise': 'santext', 'eta': 14"},
        {"c2", .method = "base", .score = .85, .label = "adapted", .model = "m4/santext-4",
         .validation = .85, .options = "'token_noise': 'santext', 'eta': 4"},
    };
    made_runs("folders", sizeof runs / sizeof *runs, runs);
    write_texts("folders", "a1", "santext-plus", 1, 2);
    write_texts("folders", "a2", "santext-plus", 2, 3);
    struct report *report = made_report(ctx, "folders");
    cr_assert_eq(report->tasks, 1);
    cr_expect_str_eq(report->task[0].label, "sst2");
    cr_expect_str_eq(report->task[0].data, "glue");
    cr_expect_eq(report->families, 3);
    cr_expect_eq(report->groups, 5);
    cr_expect_eq(made_selected(report, "plus")->eta, 2);
    cr_expect_str_eq(made_selected(report, "adapted")->run[0]->name, "c2");
}
