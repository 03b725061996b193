/* Tests of the whole pipeline through the program that compare numbers, or interrupt it by signals. The others are in
 * pipeline.txt. */
#include "program.h"

#include <sys/inotify.h>

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "key '%s' is not a number", key);
    return json_number_value(value);
}

static void has_string(const json_t *object, const char *key, const char *expected) {
    const char *text = json_string_value(json_object_get(object, key));
    cr_assert_not_null(text, "key '%s' is not a string", key);
    cr_assert_str_eq(text, expected);
}

static bool exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

static const char *in_run(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", support_scratch_path("run"), name);
    return path;
}

/* Trains a run, once per test. */
static const char *make_run(const char *method) {
    struct outcome outcome =
        program_expect(0, "train $TINY --method %s --out $DIR/run --quiet", method);
    cr_assert_str_empty(outcome.err);
    return support_scratch_path("run");
}

/* Runs nvdp privacy and returns how often it opened run.json. */
static int count_opens(const char *run, const char *options) {
    char events[4096];
    int opens = 0;
    const int watch = inotify_init1(IN_NONBLOCK);
    /* The end of a reading is an event too, because the kernel merges equal events in a row. */
    cr_assert(watch >= 0 &&
              inotify_add_watch(watch, in_run("run.json"), IN_OPEN | IN_CLOSE_NOWRITE) >= 0);
    program_expect(0, "privacy %s %s", run, options);
    for (ssize_t n; (n = read(watch, events, sizeof events)) > 0;) {
        struct inotify_event event;
        for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof event + event.len)) {
            memcpy(&event, events + at, sizeof event);
            opens += (event.mask & IN_OPEN) != 0;
        }
    }
    close(watch);
    return opens;
}

Test(pipeline, privacy_reads_the_record_of_a_run_once) {
    const char *run = make_run("nvdp");
    cr_expect_eq(count_opens(run, "--quiet"), 1);
    cr_expect_eq(count_opens(run, "--json --quiet"), 1);
    cr_expect_eq(count_opens(run, "--limit 10 --exact --all"), 1);
}

Test(pipeline, privacy_of_a_run_and_of_its_posteriors_agree) {

    make_run("nvdp");
    struct outcome attack = program_expect(
        0, "attack $DIR/run --kind language --seeds 2 --releases 2 --public $TASK/train.tsv");
    support_contains(
        attack.out,
        "word frequencies alone, so language equals nearest; --prior MODEL adds a language model",
        "release  first, over nearest     0.00     0.00 to 0.00\n");
    struct outcome of_run =
        program_expect(0, "privacy $DIR/run --order 1.5 --json --quiet --posteriors-out "
                          "$DIR/posteriors.h5 --pairs $DIR/pairs.h5");
    cr_assert(exists(support_scratch_path("pairs.h5")));
    cr_assert_str_eq(support_read(in_run("privacy-order-1.5.json")), of_run.out);
    cr_expect_not(exists(in_run("privacy.json")));
    json_t *object = program_object(&of_run);
    support_has(object, "{'order': 1.5, 'n': 40}");
    struct outcome of_file =
        program_expect(0, "privacy --posteriors $DIR/posteriors.h5 --order 1.5 --json --quiet");
    json_t *same = program_object(&of_file), *rows = json_object_get(object, "argmax_rows");
    has_string(rows, "split", "dev"); /* the file has rows without the name of their split */
    json_object_del(rows, "split");
    cr_expect(json_is_object(support_at(object, "linkage/labeled")));
    for (int i = 0; i < 2; i++) { /* the file has no labels either */
        json_t *of = i == 0 ? object : same, *linkage = json_object_get(of, "linkage");
        json_object_del(of, "digest");
        json_object_del(linkage, "labeled");
        json_object_del(linkage, "sentence");
    }
    cr_assert(json_equal(object, same), "%s against %s", of_run.out, of_file.out);
    json_t *report = program_json("privacy --posteriors $DIR/posteriors.h5 --exact --at-epsilon "
                                  "1,2 --at-delta 1e-4 --pair 0,1 --json --quiet"),
           *part = json_object_get(report, "exact");
    const double worst = support_number(json_object_get(part, "worst"));
    cr_expect(worst >= support_number(json_object_get(part, "mean")));
    cr_expect(worst <= support_number(support_at(report, "epsilon/max")));
    const json_t *asked = support_at(part, "pairs/2");
    cr_expect_str_eq(text_at(asked, "which"), "asked");
    cr_expect_eq(json_array_size(json_object_get(asked, "curve")), 3);
    struct outcome exact = program_expect(2, "privacy $DIR/run --exact --epsilon 1");
    support_contains(exact.err, "options --eta and --epsilon set a mechanism that privatizes texts",
                     "for the curves of the exact loss use --at-epsilon");
    static const char *const of_texts[] = {"oov drop", "vocabulary-from sst2"};
    for (size_t i = 0; i < 2; i++)
        program_says(2, " sets a mechanism that privatizes texts", "privacy $DIR/run --%s",
                     of_texts[i]);
    program_says(2, "option --at-epsilon needs --exact or --certify",
                 "privacy $DIR/run --at-epsilon 3");
    program_prints(0, "Exact privacy loss, 1 release of a text: epsilon at delta 1e-05",
                   "privacy $DIR/run --limit 10 --exact --all");
    struct outcome table = program_expect(0, "privacy $DIR/run --limit 10 --releases 2 --all");
    const char *first = "No guarantee over all texts (the preset certified gives one). ";
    cr_expect_eq(strncmp(table.out, first, strlen(first)), 0, "%s", table.out);
    support_contains(
        table.out, "Someone who has the model and these 10 texts names the right text ",
        "of the texts, given 2 samples each (95 % interval: ", "not a bound over all texts");
    table = program_expect(0, "info $DIR/run");
    support_contains(table.out, "privacy.linkage.sentence",
                     "privacy.order              1.5\n"); /* the complete measurement */
    support_contains(table.out,
                     "privacy.bdp                best.epsilon inf, delta 1e-05, releases 1\n");
}

/* A sequence clip proves a bound, the published loss none, and the exit code shows the difference. */
Test(pipeline, certify_a_run) {
    struct outcome outcome = program_expect(1, "privacy %s --certify --json", make_run("nvdp"));
    json_t *object = program_object(&outcome);
    support_has(object, "{'theorem': 'none', 'epsilon': 'inf'}");
    support_contains(text_at(object, "statement"), "Nothing is proven over all texts");
    program_says(2, "option --split does not apply to --certify",
                 "privacy %s --certify --split train", in_run(""));
    program_says(2, "needs RUN", "privacy --certify");
    program_prints(
        0,
        "Proven: epsilon 8 at delta 1e-05, one sample, any two texts. Not covered: "
        "the texts that the encoder was trained on.\nProven for one sample",
        "train $TINY --method vib-fixed --certified-epsilon 8 --out $DIR/clipped --quiet");
    json_t *record = support_json(support_scratch_path("clipped/result.json"));
    cr_expect_float_eq(number(json_object_get(record, "certified"), "epsilon"), 8, 1e-10);
    record = program_json("train --resume $DIR/clipped --quiet --json");
    cr_expect_float_eq(number(json_object_get(record, "certified"), "right"), 0.79758, 1e-5);
    record = program_json("train $TINY --method base --out $DIR/plain --quiet --json");
    cr_expect(json_is_null(json_object_get(record, "certified"))); /* as in result.json */
    outcome = program_expect(0, "privacy $DIR/clipped --certify --at-epsilon 8 --json");
    object = program_object(&outcome);
    has_string(object, "theorem", "a");
    cr_expect_float_eq(number(object, "epsilon"), 8, 1e-10);
    cr_expect_float_eq(number(support_at(object, "curve/0"), "delta"), 1e-5, 1e-9);
    cr_expect_str_eq(support_read(support_scratch_path("clipped/certificate-at-epsilon-8.json")),
                     outcome.out);
    outcome = program_expect(0, "privacy $DIR/clipped --certify --releases 4");
    support_contains(outcome.out, "mu-GDP with mu = 3.333", "By theorem (a), 4 samples of a text");

    /* The attack's bound is at most the exact epsilon, which is at most the certified one. A smaller claim fails. */
    object = program_json("attack $DIR/clipped --kind pair --pairs 3 --samples 1000 --json");
    const json_t *pair = support_at(object, "pairs/0");
    cr_expect(json_is_true(json_object_get(object, "holds")));
    cr_expect_float_eq(number(object, "certified"), nvdp_gdp_epsilon(nvdp_gdp_mu(8, 1e-5), .01),
                       1e-9);
    cr_expect_leq(number(pair, "shown"), number(pair, "exact"));
    cr_expect_leq(number_at(json_object_get(pair, "right_interval"), "0"), number(pair, "most"));
    cr_expect_eq(number(pair, "states"), 1);
    const double clip =
        nvdp_gdp_mu(8, 1e-5) / 2; /* at baseline 1/2 the bound is Phi(C) in every dimension */
    cr_expect_float_eq(number(object, "guess"), nvdp_guess_bound(.5, clip, 1, 0), 1e-6);
    cr_expect(json_is_false(json_object_get(object, "weak")));
    outcome = program_expect(
        1, "attack $DIR/clipped --kind pair --pairs 1 --samples 100 --delta 1e-9 --claimed 1e-4");
    support_contains(outcome.err, "VIOLATION: texts ", "<= exact <= claimed, found ",
                     "; confidence of shown and right: 95 %");
    support_contains(outcome.out, "VIOLATION", "\nclaimed ");
    cr_expect_null(strstr(outcome.out, "certified"));
    const char *shared = support_scratch_path("attacked.h5");
    program_expect(0, "export $DIR/clipped --split dev --samples 4 --out $DIR/attacked.h5");
    outcome = program_expect(
        0, "attack $DIR/clipped --kind reidentify --shared $DIR/attacked.h5 --releases 4");
    support_contains(outcome.out, "Someone who has the model and these 40 texts",
                     "40 with 4 samples each, among 40 texts; intervals at 95 %",
                     "chance 2.50 %, proven at most ", "\nwithout noise ");
    outcome = program_expect(
        0, "attack $DIR/clipped --kind attribute --seeds 1 --public $TASK/train.tsv");
    support_contains(outcome.out, "40, public texts to learn from: 160, noise drawn 1 time",
                     " sees     score      x 100             95 %", " states   AUC ",
                     "proven at most\n");
    for (int json = 0; json < 2; json++) {
        outcome = program_expect(0,
                                 "attack $DIR/clipped --kind attribute --seeds 1 --public "
                                 "$TASK/train.tsv --shared $DIR/attacked.h5%s",
                                 json ? " --json" : "");
        support_contains(outcome.out, shared);
        if (!json) support_contains(outcome.out, "; intervals cover the choice of texts only");
    }
    program_says(2, "attack language: expected a method with one vector per token",
                 "attack $DIR/clipped --kind language --public $TASK/train.tsv");
    program_says(2, "option --prior does not apply to --kind token",
                 "attack $DIR/clipped --kind token --prior model");
    program_says(2, "public: expected a file", "attack $DIR/clipped --kind bag");
    program_says(2, "option --pairs does not apply to --kind reidentify",
                 "attack $DIR/clipped --kind reidentify --pairs 3");
    program_says(2, "expected exactly one of RUN and --posteriors", "attack --kind pair");
}

/* --- interruption --- */

static void wait_for(const char *path) {
    for (int i = 0; i < 6000 && !exists(path); i++)
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    cr_assert(exists(path), "%s did not appear", path);
}

/* Starts a child that runs a shell command. */
static pid_t started(const char *command) {
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return child;
}

Test(pipeline, an_interrupted_training_exits_with_130_and_resumes) {
    nvdp__autofree char *command = NULL;
    cr_assert_gt(asprintf(&command,
                          "exec %s/nvdp train %s --epochs 200 --patience 0 --out %s --quiet 2>%s",
                          NVDP_BINARY_DIR, program_train_options(), support_scratch_path("run"),
                          support_scratch_path("messages")),
                 0);
    pid_t child = started(command);
    wait_for(in_run("metrics.jsonl"));
    cr_assert_eq(kill(child, SIGINT), 0);
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status));
    char *messages = support_read(support_scratch_path("messages"));
    cr_assert_eq(WEXITSTATUS(status), 130, "%s", messages);
    support_contains(messages, "nvdp train: interrupted", "--resume");
    cr_assert(exists(in_run("state.ckpt")));
    cr_assert_eq(number(program_json("train --resume $DIR/run --json --quiet"), "epochs_run"), 200);
}

/* A shell without job control starts a job in the background so. A hangup is handled like an interrupt. */
Test(pipeline, an_ignored_interrupt_stays_ignored) {
    const char *metrics = in_run("metrics.jsonl"), *messages = support_scratch_path("messages");
    const char *command = support_path(
        "trap '' INT; exec %s/nvdp train %s --epochs 9999 --patience 0 --out %s --quiet 2>%s",
        NVDP_BINARY_DIR, program_train_options(), support_scratch_path("run"), messages);
    const pid_t child = started(command);
    wait_for(metrics);
    cr_assert_eq(kill(child, SIGINT), 0);
    const size_t size = support_size(metrics);
    int status = 0;
    while (support_size(metrics) < size + 2048) /* several epochs later */
        cr_assert_eq(waitpid(child, &status, WNOHANG), 0, "the run has ended");
    cr_assert_eq(kill(child, SIGHUP), 0);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status));
    cr_assert_eq(WEXITSTATUS(status), 130, "%s", support_read(messages));
}

/* A signal may arrive at any instruction, also inside a library's matrix product. The model in models/ has products
 * large enough for oneDNN to point the stack register into the heap. Without a separate stack of the handler, about a
 * third of these runs ended with signal 6 or 11. */
Test(pipeline, a_signal_inside_a_product_does_no_harm) {
    nvdp__autofree char *command = NULL;
    cr_assert_gt(asprintf(&command,
                          "exec %s/nvdp train --task sst2 --data %s --model %s/models/compact "
                          "--method base --epochs 1000 --patience 0 --batch 32 --threads 1 "
                          "--no-cache --quiet --out %s --overwrite 2>%s",
                          NVDP_BINARY_DIR, program_task(), NVDP_SOURCE_DIR,
                          support_scratch_path("run"), support_scratch_path("messages")),
                 0);
    for (int i = 0; i < 8; i++) {
        (void)!remove(in_run("run.json"));
        pid_t child = started(command);
        wait_for(in_run("run.json")); /* written last before the first product */
        nanosleep(&(struct timespec){0, 200000000 + 13000000L * i}, NULL);
        cr_assert_eq(kill(child, SIGTERM), 0);
        int status = 0;
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
        cr_assert_eq(WEXITSTATUS(status), 130);
    }
}

/* The run of an encoder without training lies beside the file, and is named whether it has a ledger or not. */
Test(pipeline, export_names_the_run_of_an_encoder) {
    const char *end = strrchr(program_model(), '/');
    const char *folder = support_scratch_path("shared");
    cr_assert_eq(mkdir(folder, 0777), 0);
    support_file("public.txt", "a film with a plot\nthe film of the good plot\nbad, bad, bad\n");
    support_file("own.txt", "c\na d\n");
    const char *line = support_path("\nrun               %s/%s-sentence\n", folder,
                                    end != NULL ? end + 1 : program_model());
    for (size_t i = 0; i < 2; i++) {
        struct outcome o =
            program_expect(0,
                           "export --model $MODEL --center $DIR/public.txt --clip-sequence 4 "
                           "--input $DIR/own.txt --out $DIR/shared/%zu.h5 %s",
                           i, i == 0 ? "" : "--no-ledger");
        support_contains(o.out, line, i == 0 ? "-sentence/ledger\n" : "ledger            none: ",
                         "texts             2\n");
    }
    program_prints(0, "by default MODEL-sentence beside the", "export --help=all");

    /* a search: no text comes after the last of all hits; lines and numbers of bad queries; a run is no file */
    const char *queries = support_scratch_path("queries.txt");
    struct outcome o = program_expect(0, "search $DIR/shared/0.h5 --model $MODEL --query c");
    support_contains(o.out, "95 %, all texts   shrunken    above\n", "      -\n   2 ",
                     "of a top hit is too large on\n");
    json_t *found = program_json("search $DIR/shared/0.h5 --model $MODEL --query c --json"),
           *query = support_at(found, "queries/0"), *hit = support_at(query, "hits/0");
    support_contains(text_at(found, "note"), "too large on average",
                     "of 2 estimates, which sets the prior, has a standard error of 141 %");
    cr_expect(json_is_null(json_object_get(hit, "above")));
    cr_expect(json_is_real(json_object_get(hit, "shrunken")));
    support_write_text(queries, "c\nd\n");
    const char *named =
        program_expect(0, "search $DIR/shared/0.h5 --model $MODEL --queries $DIR/queries.txt").out;
    static const char *const names[] = {"query", "queries"};
    for (size_t i = 0; i < 2; i++) { /* the time differs */
        o = program_expect(0, "search $DIR/shared/0.h5 --model $MODEL --%s - <$DIR/queries.txt",
                           names[i]);
        cr_expect(strncmp(o.out, named, strcspn(named, "f")) == 0, "%s", o.out);
        support_contains(o.out, "\nd\nrank ");
    }
    static const char *const bad[] = {"c\n \t\n", "c\n\xff\n", "c\n\xe2\x80\x8b\n"};
    for (size_t i = 0; i < 3; i++) {
        support_write_text(queries, bad[i]);
        o = program_run("search $DIR/shared/0.h5 --model $MODEL --queries $DIR/queries.txt");
        support_contains(o.err, "queries.txt:2: expected ");
    }
    o = program_run("search $DIR/shared/0.h5 --model $MODEL --query ''");
    support_contains(o.err, "query 1: expected a text with tokens");
    o = program_run("search $DIR/shared/%s-sentence --query c", end != NULL ? end + 1 : "");
    support_contains(o.err, "found a run; nvdp export writes a file of its samples");
}
