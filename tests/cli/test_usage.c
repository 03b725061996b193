/* Tests of help and of options in all subcommands. Invalid usage is in usage.txt. */
#include "program.h"

static const char *const commands[] = {
    "pretrain", "train", "eval",   "predict", "privacy",  "sanitize", "export", "summarize",
    "reuse",    "sweep", "report", "encode",  "tokenize", "account",  "attack", "audit",
    "explain",  "info",  "bench",  "verify",  "gate",     "search",   "manual"};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* The program and the library name the same option, each in its own style. */
Test(usage, messages_name_options_in_the_callers_way) {
    struct outcome outcome = program_expect(2, "privacy run --max-pairs many");
    struct nvdp_context *ctx = NULL;
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    support_contains(outcome.err, "option --max-pairs: expected ");
    program_says(2, "option --folds: expected 0 or at least 2, found 1",
                 "train --task sst2 --model m --data d --out o --folds 1");
    ok(nvdp_context_create(&ctx));
    ok(nvdp_config_create(ctx, "privacy", &config));
    support_refused(ctx, config, "max-pairs", "many", "option max_pairs: expected ");
    support_refused(ctx, config, "max_pair", "1", "unknown option 'max_pair'");
    nvdp_config_free(config);
    ok(nvdp_config_create(ctx, "train", &config));
    support_set(ctx, config, "task", "sst2");
    support_set(ctx, config, "model", "m");
    support_set(ctx, config, "data", "d");
    support_set(ctx, config, "out", "o");
    support_set(ctx, config, "folds", "1");
    cr_assert_eq(nvdp_config_check(config), NVDP_ERR_ARGUMENT);
    cr_expect_str_eq(nvdp_context_error(ctx), "option folds: expected 0 or at least 2, found 1");
    nvdp_context_free(ctx);
}

Test(usage, help_lists_every_subcommand_with_a_line) {
    struct outcome help = program_expect(0, "--help");
    for (int i = 0; i < COMMANDS; i++) {
        const char *line = support_path("\n  %-10s ", commands[i]);
        support_contains(help.out, line);
    }
    cr_assert_str_empty(help.err);
    /* The list here is complete: the help has a line per subcommand between the headings. */
    const char *at = strstr(help.out, "Subcommands:\n");
    cr_assert_not_null(at);
    int lines = 0;
    for (at = strchr(at, '\n') + 1; at[0] == ' ' && at[2] != '-'; at = strchr(at, '\n') + 1)
        lines++;
    cr_assert_eq(lines, COMMANDS, "%d subcommands in the help, %d known to this test", lines,
                 COMMANDS);
}

Test(usage, version) {
    program_prints(0, "nvdp " NVDP_VERSION "\n", "--version");
    program_prints(0, "nvdp " NVDP_VERSION "\n", "train --version");
}

Test(usage, every_subcommand_has_help_with_examples) {
    for (int i = 0; i < COMMANDS; i++) {
        struct outcome help = program_expect(0, "%s --help", commands[i]);
        support_contains(help.out, support_path("Usage: nvdp %s ", commands[i]), "\nExamples:\n  ");
        /* No example is wrapped: its lines are indented, so each can be copied. */
        const char *line = strstr(help.out, "\nExamples:\n") + strlen("\nExamples:\n");
        for (; *line != '\n' && *line != '\0'; line += strcspn(line, "\n") + 1)
            cr_assert(strncmp(line, "  ", 2) == 0, "%s: %.60s", commands[i], line);
        support_contains(help.out, "--threads=N");
        cr_assert_str_empty(help.err);
        const char *all = program_expect(0, "%s --help=all", commands[i]).out;
        while ((all = strchr(all, '{')) != NULL) /* {name} stands for an option in messages only */
            cr_expect(*++all < 'a' || *all > 'z', "%s: {%.20s", commands[i], all);
        struct outcome same = program_expect(0, "help %s", commands[i]);
        cr_assert_str_eq(same.out, help.out);
    }
}

/* Unknown options and invalid values are usage errors in every command. An invalid configuration file is bad input, and
 * a missing one a failure. */
Test(usage, every_subcommand_has_the_same_exit_codes) {
    support_file("not.json", "{\n\"threads\": ");
    for (int i = 0; i < COMMANDS; i++) {
        const struct {
            const char *args, *message;
            int code;
        } cases[] = {
            {"--no-such-option", "unrecognized option '--no-such-option'", 2},
            {"--threads many", "option --threads: expected a whole number of at least 0", 2},
            {"--config nowhere.json", "nowhere.json: cannot read: No such file", 1},
        };
        const char *hint = support_path("try nvdp %s --help", commands[i]);
        const char *name = support_path("nvdp %s: ", commands[i]);
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            struct outcome outcome =
                program_expect(cases[k].code, "%s %s", commands[i], cases[k].args);
            support_contains(outcome.err, cases[k].message, name);
            if (cases[k].code == 2) support_contains(outcome.err, hint);
            cr_assert_str_empty(outcome.out);
        }
        program_says(3, "not.json:2", "%s --config $DIR/not.json", commands[i]);
    }
}

/* The full help lists every option of a table with its value's name. */
static void lists_all(const char *command) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    struct outcome help = program_expect(0, "%s --help=all", command);
    ok(nvdp_config_create(support_context(), command, &config));
    for (size_t i = 0; i < nvdp_config_count(config); i++) {
        const struct nvdp_option *row = nvdp_config_option(config, i);
        if ((row->traits & (NVDP_TRAIT_HIDDEN | NVDP_TRAIT_POSITIONAL)) != 0) continue;
        support_contains(help.out,
                         support_path("--%s%s%s", row->name, row->placeholder != NULL ? "=" : "",
                                      row->placeholder != NULL ? row->placeholder : ""));
    }
}

Test(usage, full_help_lists_every_option) {
    lists_all("train");
    lists_all("pretrain");
    lists_all("privacy");
    lists_all("sanitize");
    lists_all("export");
    lists_all("attack");
}

static size_t count_lines(const char *text) {
    size_t lines = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++)
        lines++;
    return lines;
}

/* Short help has at most 70 lines, and names the groups and the number of the options in the full help. */
Test(usage, short_help_names_groups_and_number_of_options) {
    size_t shortened = 0;
    for (int i = 0; i < COMMANDS; i++) {
        struct outcome help = program_expect(0, "%s --help", commands[i]);
        struct outcome full = program_expect(0, "%s --help=all", commands[i]);
        size_t options = 0, groups = 0;
        char last[128], *rest = NULL;
        const bool same = strcmp(help.out, full.out) == 0;
        if (!same) {
            shortened++;
            cr_expect_leq(count_lines(help.out), 70, "%s", commands[i]);
        }
        for (char *line = strtok_r(full.out, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            const size_t size = strlen(line);
            options += strncmp(line, "      --", 8) == 0 && strncmp(line + 8, "usage ", 6) != 0;
            if (same || line[0] != ' ' || line[1] == ' ' || line[size - 1] != ':') continue;
            line[size - 1] = '\0';
            char *flat = strdup(help.out); /* a group's name may be wrapped */
            for (char *at = flat; *at != '\0'; at++)
                if (*at == '\n') *at = ' ';
            strcat(strcpy(last, line), " (");
            support_contains(flat, last);
            free(flat);
            groups++;
        }
        if (!same) {
            cr_expect_geq(groups, 4, "%s", commands[i]);
            snprintf(last, sizeof last, "\nnvdp %s --help=all shows all %zu options.\n",
                     commands[i], options);
            cr_expect_str_eq(help.out + strlen(help.out) - strlen(last), last);
        } else {
            cr_expect_leq(options, 32, "%s", commands[i]);
        }
    }
    cr_expect_eq(shortened, 7); /* train, pretrain, sanitize, attack, privacy, export, summarize */
}

Test(usage, short_help_has_the_options_that_most_runs_need) {
    static const char *const basic[] = {"task=",   "data=",   "model=",      "method=",
                                        "preset=", "lambda=", "epochs=",     "batch=",
                                        "lr=",     "seed=",   "out=",        "overwrite",
                                        "resume=", "json",    "max-length=", "certified-epsilon="};
    struct outcome help = program_expect(0, "train --help");
    for (size_t i = 0; i < sizeof basic / sizeof *basic; i++) {
        support_contains(help.out, support_path("\n      --%s", basic[i]));
    }
    cr_expect_lt(strstr(help.out, "--task") - help.out, strstr(help.out, "--data") - help.out);
    cr_expect_null(strstr(help.out, "--beta1"));
    program_prints(0, "--help=all shows all", "train '-?'");
    program_prints(0, "[--beta1=X]", "train --usage");
    program_says(2, "option --help: expected no value, or all, found 'some'", "train --help=some");
}

/* A default whose meaning only the full help states is left out; kinds and presets are all named. */
Test(usage, short_help_is_true_alone) {
    for (int i = 0; i < COMMANDS; i++) {
        struct outcome help = program_expect(0, "%s --help", commands[i]);
        if (strstr(help.out, "shows all") != NULL) cr_expect_null(strstr(help.out, "(default 0)"));
    }
    program_prints(0, "bag attribute invert membership", "attack --help");
    program_prints(0, "word (a proof", "train --help");
}

/* Expects the option under this heading, the last line before it with one leading blank and a trailing colon. */
static void stands_under(const char *command, const char *option, const char *heading) {
    struct outcome help = program_expect(0, "%s --help=all", command);
    char name[64], found[128] = "none";
    bool there = false;
    snprintf(name, sizeof name, "      --%s", option);
    for (char *line = strtok(help.out, "\n"); line != NULL && !there; line = strtok(NULL, "\n")) {
        const size_t size = strlen(line), end = strlen(name);
        if (size > 2 && line[0] == ' ' && line[1] != ' ' && line[size - 1] == ':')
            snprintf(found, sizeof found, "%s", line + 1);
        there = strncmp(line, name, end) == 0 && strchr("= ", line[end]) != NULL;
    }
    cr_expect(there, "%s: --%s", command, option);
    cr_expect_str_eq(found, heading, "%s: --%s stands under '%s'", command, option, found);
}

Test(usage, options_stand_under_their_headings) {
    static const char *const of_optimizer[] = {
        "epochs", "lr",           "lr-head",  "lr-bottleneck", "seed",  "patience",  "select",
        "warmup", "weight-decay", "adam-eps", "beta1",         "beta2", "clip-norm", "decay-to"};
    for (size_t i = 0; i < sizeof of_optimizer / sizeof *of_optimizer; i++)
        stands_under("train", of_optimizer[i], "Optimizer:");
    stands_under("train", "dp-batch", "Differential privacy of the training texts:");
    stands_under("train", "target-epsilon", "Differential privacy of the training texts:");
    stands_under("train", "out", "Output:");
    stands_under("privacy", "posteriors-out", "Output:");
    stands_under("privacy", "adjacency", "What is measured:");
    stands_under("privacy", "vectors", "Text privatization:");
    stands_under("export", "precision", "Common options:");
    stands_under("attack", "precision", "Common options:");
}

/* The headings of attack's options name the kinds that take them; `posteriors` names its kinds itself. */
Test(usage, headings_of_attack_name_the_kinds) {
    struct nvdp_context *ctx = support_context();
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    struct nvdp_attack_info info = NVDP_RESULT(struct nvdp_attack_info);
    const char *heading = "";
    ok(nvdp_config_create(ctx, "attack", &config));
    for (size_t i = 0; i < nvdp_config_count(config); i++) {
        const struct nvdp_option *option = nvdp_config_option(config, i);
        if ((option->traits & (NVDP_TRAIT_POSITIONAL | NVDP_TRAIT_HIDDEN)) != 0) continue;
        if (option->group != NULL) heading = option->group;
        if (strcmp(heading, "Attack:") == 0 || strcmp(heading, "Common options:") == 0) continue;
        for (size_t k = 0; k == 0 || k < info.attacks; k++) {
            bool takes = false;
            ok(nvdp_attack_describe(ctx, k, &info));
            for (const char *const *name = info.options; *name != NULL; name++)
                takes = takes || strcmp(*name, option->name) == 0;
            const char *listed = support_path(" %s,", info.name);
            const char *last = support_path(" %s:", info.name);
            bool named = strstr(heading, listed) != NULL || strstr(heading, last) != NULL;
            if (strstr(heading, "except") != NULL) named = !named;
            const char *only = strstr(heading, support_path(" %s (", info.name));
            if (only != NULL) named = strstr(only, option->name) != NULL;
            if (strcmp(option->name, "posteriors") != 0)
                cr_expect_eq(takes, named, "%s: --%s stands under '%s'", info.name, option->name,
                             heading);
        }
    }
}

Test(usage, no_heading_is_there_twice) {
    for (int i = 0; i < COMMANDS; i++) {
        struct outcome help = program_expect(0, "%s --help=all", commands[i]);
        for (char *line = strchr(help.out, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
            char heading[128];
            const size_t size = strcspn(line + 1, "\n");
            if (line[1] != ' ' || line[2] == ' ' || size + 3 > sizeof heading || line[size] != ':')
                continue;
            snprintf(heading, size + 3, "%s", line);
            cr_expect_null(strstr(line + 1, heading), "%s:%s", commands[i], heading);
        }
    }
}
