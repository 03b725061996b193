/* Tests of the whole pipeline through the program that compare numbers, or interrupt it by signals. The others are in
 * pipeline.txt. */
#include "program.h"

#include <sys/inotify.h>

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "key '%s' is not a number", key);
    return json_number_value(value);
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
