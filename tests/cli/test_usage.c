/* Tests of help, version and invalid usage: texts and exit codes that users and scripts see first. */
#include "program.h"

#include <nvdp/attack.h>
#include <nvdp/pretrain.h>
#include <nvdp/privacy.h>
#include <nvdp/sanitize.h>
#include <nvdp/share.h>
#include <nvdp/train.h>
#include <nvdp/version.h>

static const char *const commands[] = {
    "pretrain", "train", "eval",   "predict", "privacy",  "sanitize", "export", "summarize",
    "reuse",    "sweep", "report", "encode",  "tokenize", "account",  "attack", "audit",
    "explain",  "info",  "bench",  "verify",  "gate",     "search",   "manual"};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* Warns of an option without effect and reports a missing folder. */
Test(usage, what_users_try_first) {
    struct outcome outcome = program_expect(0, "train $TINY --method base --lambda 1 --dry-run");
    support_contains(outcome.err, "method base has no bottleneck; options without effect: ",
                     ", --lambda-g, --lambda-d\n");
    program_says(1,
                 "bert-base-uncased: no such folder: expected one of this machine "
                 "(no hub is asked) with config.json",
                 "train --task sst2 --data $DIR/. --model bert-base-uncased --out $DIR/run");
    program_prints(0, "--input=FILE", "encode --help");
}

/* Options of another method are refused if a proof hangs on them, and listed once otherwise. */
Test(usage, options_that_the_method_does_not_read) {
    static const char *const refused[] = {"--word-epsilon 2", "--word-delta 1e-6", "--clip-word 1",
                                          "--word-window 1", "--word-layers 1"};
    static const char *const of[][2] = {{"word --word-epsilon 2", "--max-length 8"},
                                        {"word --word-epsilon 2", "--kappa 2"},
                                        {"vib-fixed", "--vtdp-pool first"},
                                        {"vib-learned", "--vib-sigma .7"},
                                        {"vtdp", "--prior-alpha 2"},
                                        {"nvdp", "--vib-sigma .7"},
                                        {"base", "--latent-dim 4"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        program_says(2, "a certificate per word (word), found --method vib-fixed",
                     "train $TINY --method vib-fixed %s --dry-run", refused[i]);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct outcome outcome =
            program_expect(0, "train $TINY --method %s %s --dry-run", of[i][0], of[i][1]);
        const char *line = strstr(outcome.err, "; options without effect: ");
        cr_assert_not_null(line, "%s: %s", of[i][0], outcome.err);
        cr_expect_null(strstr(line + 10, "options without effect"), "%s", outcome.err);
        support_contains(line, support_path("%.*s", (int)strcspn(of[i][1], " "), of[i][1]));
    }
    struct outcome outcome =
        program_expect(0, "train $TINY --preset certified --latent-dim 4 --method vtdp --dry-run");
    cr_expect_null(strstr(outcome.err, "--vib-sigma"), "%s", outcome.err); /* the preset's */
}

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

Test(usage, help_states_defaults_and_choices) {
    struct outcome help = program_expect(0, "train --help=all");
    support_contains(help.out, "--lambda-g=X", "--kl-schedule=S", "(default 0.1)",
                     "(default hidden)");
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

static void refused(const char *args, const char *message, const char *hint) {
    struct outcome outcome = program_expect(2, "%s", args);
    support_contains(outcome.err, message, hint);
    cr_assert_str_empty(outcome.out);
}

Test(usage, wrong_usage_exits_with_2_and_a_hint) {
    refused("", "expected a subcommand", "try nvdp --help");
    refused("trian", "unknown subcommand 'trian'; did you mean 'train'?", "try nvdp --help");
    refused("frobnicate", "unknown subcommand 'frobnicate'\n", "try nvdp --help");
    refused("--json", "unknown option '--json'", "try nvdp --help");
    refused("train --lamda 1", "nvdp train: unrecognized option '--lamda'",
            "nvdp train: did you mean 'lambda'?\nnvdp train: try nvdp train --help");
    refused("train --limit_train=3", "unrecognized option", "did you mean 'limit-train'?");
    refused("train --lr", "option '--lr' requires an argument", "try nvdp train --help");
    refused("train --lr fast", "option --lr: expected a number, found 'fast'",
            "try nvdp train --help");
    refused("train --word-window 17 --task sst2 --data x --model y --out z",
            "nvdp train: --word-window: expected 0 to 16, found 17", "try nvdp train --help");
    refused("train --lr nan", "option --lr: expected a number, found 'nan'",
            "try nvdp train --help");
    refused("train --epochs -1", "option --epochs: expected a whole number of at least 0",
            "try nvdp train --help");
    refused("train --epochs 1.5", "option --epochs: expected a whole number",
            "try nvdp train --help");
    refused("train --seed 18446744073709551616", "option --seed: expected a whole number from 0",
            "try nvdp train --help");
    refused("train --resume run --dry-run", "option --dry-run: a resumed run keeps", "--help");
    refused("train --resume run --overwrite", "option --overwrite: a resumed run", "--help");
    refused("train --lambda few", "option --lambda: expected a number, found", "few");
    refused("train --method nvidp", "option --method: expected one of base reg vib-fixed",
            "try nvdp train --help");
    refused("train --threads 0", "threads: expected 1 to 1024, found 0", "try nvdp train --help");
    refused("train extra", "unexpected argument 'extra'", "try nvdp train --help");
    refused("eval", "expected RUN", "try nvdp eval --help");
    refused("eval a b", "unexpected argument 'b'", "try nvdp eval --help");
    refused("privacy", "expected exactly one of RUN and --posteriors", "try nvdp privacy --help");
    refused("privacy run --posteriors f.h5", "expected exactly one of RUN and --posteriors",
            "try nvdp privacy --help");
    refused("search f.h5", "expected exactly one of --query and --queries",
            "try nvdp search --help");
    refused("export --model m --out f.h5 --input t.tsv", "needs --center", "");
    refused("export run --center c --out f.h5 --input t.tsv", "need --model", "");
    refused("reuse f.h5 --eval-labels l", "--eval-labels needs --eval-file",
            "try nvdp reuse --help");
}

Test(usage, needed_options_are_named) {
    refused("train --data d --model m --out o", "option --task is needed: sst2, mrpc, ",
            "tsv (your files: TSV, CSV or JSON lines)");
    refused("summarize --epsilon 1", "unrecognized option '--epsilon'",
            "did you mean --summary-epsilon, --budget-epsilon, --person-epsilon?");
    refused("train --task sst2 --model m --out o", "option --data is needed", "--help");
    refused("train --task sst2 --data d --out o", "option --model or --from-base is needed",
            "--help");
    refused("train --task sst2 --data d --model m", "option --out is needed", "--help");
    refused("train --task tsv --data d --model m --out o",
            "option --text-column is needed for --task tsv", "--help");
    refused("train --task tsv --text-column t --data d --model m --out o",
            "option --label-column is needed for --task tsv", "--help");
    refused("encode --jsonl f --out o", "option --model is needed", "--help");
    refused("encode --model m --out o", "option --input is needed", "--help");
    refused("encode --model m --jsonl f", "option --out is needed", "--help");
    refused("export run --split dev", "option --out is needed", "--help");
    refused("export run --input f --split dev --out o", "exactly one of --input and --split",
            "--help");
    refused("tokenize", "option --model is needed", "--help");
}

Test(usage, an_unknown_precision_names_the_known_ones) {
    refused("train --precision f16", "expected one of f32 bf16 int8, found 'f16'", "--help");
}

Test(usage, int8_does_not_train) {
    program_says(2, "precision: expected f32 or bf16 for training, found int8",
                 "train $TINY --precision int8 --out $DIR/run");
    refused("pretrain --precision int8 --text t --out o", "expected one of f32 bf16, found 'int8'",
            "--help");
}

Test(usage, a_resumed_run_takes_no_other_options) {
    program_expect(0, "train $TINY --out $DIR/run");
    const char *args = support_path("train --resume %s --lr 1e-3", support_scratch_path("run"));
    refused(args, "option --lr: a resumed run keeps its", "try nvdp train --help");
}

Test(usage, exit_codes_of_the_library_s_errors) {
    program_says(2, "nvdp train: --lr: expected", "train $TINY --out $DIR/run --lr -1");
    program_says(2, "sst3", "train $TINY --task sst3 --out o");
    program_says(1, "nowhere", "eval $DIR/nowhere");
    support_file("not.h5", "this is not HDF5");
    struct outcome input = program_expect(3, "privacy --posteriors $DIR/not.h5");
    support_contains(input.err, "nvdp privacy: ", "not.h5");
    support_folder("luke", "config.json",
                   "{\"model_type\": \"luke\"}"); /* unsupported is bad input as well */
    support_file("t.txt", "a text\n");
    program_says(3, "found 'luke'", "encode --model $DIR/luke --input $DIR/t.txt --out $DIR/o.h5");
    support_folder("nfd", "tokenizer.json", "{\"model\": {\"type\": \"WordLevel\"}}");
    program_says(3, "found WordLevel", "tokenize --model $DIR/nfd --input $DIR/t.txt");
}

Test(usage, a_full_disk_is_a_failure) {
    static const char *const said[] = {"--help",           "account --help", "train --help",
                                       "train --help=all", "train --usage",  "train --version"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        program_expect(1, "%s >/dev/full 2>$DIR/messages; (exit $?)", said[i]);
        support_contains(support_read(support_scratch_path("messages")), "cannot write to stdout");
    }
}

/* A file that exceeds the limit is a failure with a message, also while options are read. */
Test(usage, a_limit_on_the_size_of_files_is_a_failure) {
    static const char *const said[] = {"--help", "report --help", "account --version"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const int status =
            system(support_path("ulimit -f 0; exec %s/nvdp %s >%s 2>/dev/null", NVDP_BINARY_DIR,
                                said[i], support_scratch_path("help")));
        cr_assert(WIFEXITED(status), "%s", said[i]);
        cr_expect_eq(WEXITSTATUS(status), 1, "%s", said[i]);
    }
}

/* argp's help never ends with a margin or a column that leaves no room, so the variable has no effect. */
Test(usage, help_ends_whatever_the_environment_says) {
    static const char *const formats[] = {"rmargin=20", "rmargin=-1", "opt-doc-col=200",
                                          "rmargin=0,header-col=400"};
    const char *usual = program_expect(0, "account --help").out;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        setenv("ARGP_HELP_FMT", formats[i], 1);
        cr_expect_str_eq(program_expect(0, "account --help").out, usual);
    }
    unsetenv("ARGP_HELP_FMT");
}

Test(usage, a_wrong_source_date_is_refused_before_any_work) {
    setenv("SOURCE_DATE_EPOCH", "yesterday", 1);
    program_says(2, "SOURCE_DATE_EPOCH: expected seconds since 1970, found 'yesterday'",
                 "account --noise 1");
    unsetenv("SOURCE_DATE_EPOCH");
}

/* Otherwise the metrics file would get descriptor 2 and receive the notices of every epoch. */
Test(usage, what_is_said_to_a_closed_file_goes_into_no_other) {
    program_expect(0, "train $TINY --out $DIR/closed >$DIR/said 2>&-; (exit $?)");
    char *rest = NULL, *metrics = support_read(support_scratch_path("closed/metrics.jsonl"));
    for (const char *line = strtok_r(metrics, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        cr_assert_eq(line[0], '{', "%s", line);
}
