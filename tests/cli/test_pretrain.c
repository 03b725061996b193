/* Tests of nvdp pretrain: from text to a model that nvdp train accepts, resuming after a kill, invalid usage. */
#include "program.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Writes the task's sentences as plain text, in documents of eight. */
static const char *text_file(void) {
    const char *path = support_scratch_path("text.txt");
    program_task();
    char *tsv = support_read(support_scratch_path("task/train.tsv"));
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    int row = 0;
    char *line = strchr(tsv, '\n') + 1;
    for (char *end; (end = strchr(line, '\t')) != NULL; line = strchr(end, '\n') + 1, row++)
        fprintf(file, "%.*s\n%s", (int)(end - line), line, row % 8 == 7 ? "\n" : "");
    cr_assert_eq(fclose(file), 0);
    return path;
}

static const char *options(void) {
    static char text[4096];
    snprintf(text, sizeof text,
             "--text %s --vocab-size 90 --hidden 16 --layers 1 --heads 2 --intermediate 32 "
             "--length 16 --batch 8 --lr 3e-3 --threads 1",
             text_file());
    return text;
}

Test(pretrain, from_text_to_a_model_that_can_be_trained) {
    struct outcome o = program_expect(
        0, "pretrain %s --steps 30 --eval-text %s --eval-every 10 --out $DIR/lm --dtype f16 --json",
        options(), text_file());
    json_t *result = program_object(&o);
    cr_assert_eq(integer_at(result, "steps"), 30);
    cr_assert_leq(integer_at(result, "vocab_size"), 90);
    cr_assert_gt(integer_at(json_object_get(result, "evaluation"), "masked"), 100);
    cr_assert_eq(number_at(result, "coverage/unknown"), 0);
    support_contains(o.err, "held-out text: masked accuracy");
    o = program_expect(0, "pretrain --eval --model $DIR/lm --text %s --length 16 --threads 1",
                       text_file());
    support_contains(o.out, "masked accuracy", "perplexity");
    program_says(0, "7 tensors not used: ",
                 "train --task sst2 --data $TASK --model $DIR/lm --method base --epochs 1 "
                 "--max-length 12 --threads 1 --out $DIR/run"); /* the pretraining heads */
    program_prints(
        0, "longer",
        "pretrain --init $DIR/lm --text %s --length 24 --steps 2 --threads 1 --out $DIR/longer",
        text_file());
    program_prints(0, "BertForPreTraining", "info $DIR/longer");
}

/* Kills a run, resumes it from its last saved state, and expects the same bytes as undisturbed. */
static void kill_and_resume(const char *options, unsigned steps) {
    program_expect(0, "pretrain %s --steps %u --out $DIR/whole", options, steps);
    nvdp__autofree char *line = NULL;
    cr_assert_gt(asprintf(&line,
                          "exec %s/nvdp pretrain %s --steps %u --checkpoint-seconds 0 "
                          "--quiet --out %s",
                          NVDP_BINARY_DIR, options, steps, support_scratch_path("parts")),
                 0);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    struct stat info;
    while (stat(support_scratch_path("parts/pretrain.json"), &info) != 0)
        usleep(1000);
    usleep(100000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    program_prints(0, " steps", "pretrain --resume $DIR/parts --threads 1");
    cr_assert(support_same_file(support_scratch_path("whole"), support_scratch_path("parts"),
                                "model.safetensors"));
}

Test(pretrain, killed_and_resumed) {
    kill_and_resume(options(), 300);
}

Test(pretrain, killed_and_resumed_on_privatized_text) {
    program_expect(0, "pretrain %s --steps 5 --out $DIR/init", options());
    char more[4096];
    snprintf(more, sizeof more,
             "--text %s --init %s --length 16 --batch 8 --lr 3e-3 --threads 1 --privatize laplace "
             "--eta 300 --objective prob-mlm+nsp",
             text_file(), support_scratch_path("init"));
    kill_and_resume(more, 60);
}

Test(pretrain, dry_run_writes_nothing) {
    json_t *object =
        program_json("pretrain --text %s --arch mini --steps 10 --dry-run --json", text_file());
    const json_t *plan = json_object_get(object, "plan");
    cr_assert_eq(integer_at(plan, "vocab_size"), 8192);
    cr_assert_eq(integer_at(plan, "tokens"), 10 * 64 * 128);
    cr_assert_gt(integer_at(plan, "parameters"), 5000000);
    cr_assert_eq(integer_at(json_object_get(object, "configuration"), "intermediate"), 1024);
}

static void refused(int code, const char *part, const char *args) {
    program_says(code, part, "pretrain %s", args);
}

Test(pretrain, bad_usage) {
    options();
    refused(2, "option --text is needed", "--out x");
    refused(2, "option --out is needed", "--text x");
    refused(2, "--arch and --hidden exclude", "--text x --out y --arch mini --hidden 8");
    refused(2, "arch: expected tiny, mini, small or base, found 'huge'",
            "--text x --out y --arch huge");
    refused(2, "--vocab and --vocab-size exclude", "--text x --out y --vocab v --vocab-size 8");
    refused(2, "option --layers does not apply with --init",
            "--text x --out y --init m --layers 2");
    refused(2, "option --lr: a resumed run keeps", "--resume x --lr 1");
    refused(2, "option --model needs --eval", "--text x --out y --model m");
    refused(2, "option --steps: does not apply to --eval", "--eval --model m --text x --steps 3");
    refused(2, "option --model is needed", "--eval --text x");
    refused(2, "one of mlm mlm+nsp", "--objective clm");
    refused(2, "objective: expected vanilla-mlm, prob-mlm or denoising-mlm with privatize santext",
            "--text x --out y --init m --privatize santext --eta 3");
    refused(2, "init: privatize needs a model",
            "--text x --out y --privatize santext --eta 3 --objective prob-mlm");
    refused(2, "--mask-prob: expected 0.001 to 0.9, found 2", "--text x --out y --mask-prob 2");
    refused(1, "x: cannot read: No such file", "--text x --out y");
    refused(1, "No such file", "--resume nowhere");
}

Test(pretrain, bad_input) {
    char args[8192];
    const char *packed = support_scratch_path("a.txt");
    support_write(packed, "BZh9", 4);
    snprintf(args, sizeof args, "--text %s --out %s --quiet", packed, support_scratch_path("none"));
    refused(3, "a.txt: expected text, plain or compressed by gzip or xz, found bzip2 data", args);
    const char *vocabulary = support_file("v.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    snprintf(args, sizeof args, "%s --out %s --quiet", options(), support_scratch_path("none"));
    char *at = strstr(args, "--vocab-size 90");
    memcpy(at, "               ", 15);
    strcat(strcat(args, " --vocab "), vocabulary);
    refused(3, "expected word pieces besides the special tokens", args);
    struct stat info;
    cr_assert_neq(stat(support_scratch_path("none"), &info), 0); /* no file was left behind */
    /* The directory is not empty. */
    snprintf(args, sizeof args, "%s --out %s", options(), support_scratch());
    refused(2, "the output directory is not empty; use --resume or --overwrite", args);
}

/* Several files: by repeated --text, by more arguments, and from a file of options. */
Test(pretrain, takes_several_texts) {
    json_t *result = program_json("pretrain %s %s --text %s --steps 0 --out $DIR/three --json",
                                  options(), text_file(), text_file());
    json_int_t words = integer_at(result, "coverage/words");
    support_file("options.json",
                 support_path("{\"text\": [\"%s\", \"%s\"], \"vocab_size\": 90, \"steps\": 0}",
                              text_file(), text_file()));
    result = program_json("pretrain --config $DIR/options.json --hidden 16 --layers 1 --out "
                          "$DIR/two --json --threads 1");
    json_int_t fewer = integer_at(result, "coverage/words");
    cr_assert_eq(words * 2, fewer * 3);
}

/* A private vocabulary has a statement, determines the pieces, and leaves no trace of the counts. */
static void vocabulary_leaves_no_trace(const char *unit, const char *epsilon) {
    char *text = NULL, *words;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    for (int i = 0; i < 4321; i++)
        fprintf(file, "common words here\n\n%s", i == 77 ? "zyxqwv unseen\n\n" : "");
    cr_assert_eq(fclose(file), 0);
    support_write(support_scratch_path("private.txt"), text, size);
    free(text);
    struct outcome o =
        program_expect(0,
                       "pretrain --text $DIR/private.txt --hidden 16 --layers 1 --heads 2 "
                       "--length 16 --steps 0 --threads 1 --vocab-dp-unit %s --vocab-dp-epsilon 2 "
                       "--vocab-dp-delta 1e-8 --max-words 5 --out $DIR/dp --json",
                       unit);
    json_t *result = program_object(&o);
    cr_expect(json_is_null(json_object_get(result, "coverage")));
    static const char *const files[] = {"pretrain.json", "result.json", "vocab.txt",
                                        "vocab_privacy.json"};
    for (size_t i = 0; i <= sizeof files / sizeof *files; i++) {
        char name[64];
        if (i > 0) snprintf(name, sizeof name, "dp/%s", files[i - 1]);
        words = i == 0 ? o.err : support_read(support_scratch_path(name));
        static const char *const secret[] = {": 4321",          ": 4322", ": 12965",
                                             " 4322 documents", "zyx",    "unseen"};
        for (size_t s = 0; s < sizeof secret / sizeof *secret; s++)
            cr_expect(strstr(words, secret[s]) == NULL, "%s in %zu: %s", secret[s], i, words);
        cr_expect(i != 3 || strstr(words, "\ncommon\n") != NULL, "%s", words);
        if (i == 4) support_contains(words, epsilon);
        if (i > 0) free(words);
    }
}

Test(pretrain, vocabulary_with_gaussian_noise) {
    vocabulary_leaves_no_trace("window", "\"epsilon\": 2.0");
}

Test(pretrain, private_vocabulary) {
    vocabulary_leaves_no_trace("word", "\"epsilon\": 10.0");
    static const struct {
        const char *args, *message;
    } wrong[] = {
        {"--vocab-dp-epsilon 14", "--vocab-dp-epsilon: expected 1e-6 to ln n = 13.82"},
        {"--vocab-dp-epsilon 1 --vocab-dp-delta 1e-6", "below 1/n = 1e-06"},
        {"--vocab-dp-epsilon 1 --possible-words 100000000", "below 1/n = 1e-08"},
        {"--vocab-dp-epsilon 1 --vocab v", "--vocab-dp-epsilon: expected 0 with vocab"},
        {"--max-words 9", "--max-words: expected 0 without --vocab-dp-epsilon"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        program_says(2, wrong[i].message,
                     "pretrain --text $DIR/private.txt --steps 0 --out $DIR/dp-2 %s",
                     wrong[i].args);
    }
}
