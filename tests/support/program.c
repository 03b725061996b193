/* Runs the program and makes a tiny model and task for it (program.h): first running, then the
 * model, then the task. */
#include "program.h"
#include "bert_sizes.h"
#include "encoder/checkpoint.h"

/* Runs `program` followed by the formatted arguments. */
static struct outcome run(const char *program, const char *format, va_list args) {
    nvdp__autofree char *line = NULL, *command = NULL;
    cr_assert_gt(vasprintf(&line, format, args), -1);
    setenv("DIR", support_scratch(), 1);
    if (strstr(line, "$TASK") != NULL) setenv("TASK", program_task(), 1);
    if (strstr(line, "$MODEL") != NULL) setenv("MODEL", program_model(), 1);
    if (strstr(line, "$TINY") != NULL) setenv("TINY", program_train_options(), 1);
    const char *out = support_scratch_path("stdout"), *err = support_scratch_path("stderr");
    /* The leak sanitizer's own defaults: only the stack knows the options of a program that exits. */
    cr_assert_gt(asprintf(&command, "unset LSAN_OPTIONS; export XDG_CACHE_HOME=%s; %s%s >%s 2>%s",
                          support_scratch_path("cache"), program, line, out, err),
                 0);
    int status = system(command);
    struct outcome outcome = {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                              .out = support_read(out),
                              .err = support_read(err)};
    return outcome;
}

struct outcome program_run(const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct outcome outcome = run(NVDP_BINARY_DIR "/nvdp ", format, args);
    va_end(args);
    return outcome;
}

struct outcome program_shell(const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct outcome outcome = run("", format, args);
    va_end(args);
    return outcome;
}

static struct outcome expect(int code, const char *format, va_list args) {
    struct outcome outcome = run(NVDP_BINARY_DIR "/nvdp ", format, args);
    cr_assert_eq(outcome.code, code, "nvdp %s: expected exit code %d, found %d: %s", format, code,
                 outcome.code, outcome.err);
    return outcome;
}

struct outcome program_expect(int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct outcome outcome = expect(code, format, args);
    va_end(args);
    return outcome;
}

void program_says(int code, const char *words, const char *format, ...) {
    va_list args;
    va_start(args, format);
    support_contains(expect(code, format, args).err, words);
    va_end(args);
}

void program_prints(int code, const char *words, const char *format, ...) {
    va_list args;
    va_start(args, format);
    support_contains(expect(code, format, args).out, words);
    va_end(args);
}

json_t *program_json(const char *format, ...) {
    va_list args;
    va_start(args, format);
    const struct outcome outcome = expect(0, format, args);
    va_end(args);
    return program_object(&outcome);
}

json_t *program_object(const struct outcome *outcome) {
    json_error_t error;
    json_t *object = json_loads(outcome->out, 0, &error);
    cr_assert_not_null(object, "line %d: %s in: %s", error.line, error.text, outcome->out);
    cr_assert(json_is_object(object));
    return support_keep(object);
}

/* --- the model --- */

static const char *const pieces[] = {
    "[PAD]",  "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a",    "the",  "film",   "plot",    "actor",
    "story",  "is",    "was",   "very",  "so",     "good", "bad",  "great",  "awful",   "lovely",
    "boring", "fine",  "poor",  "##ly",  "##s",    ".",    ",",    "!",      "un",      "##like",
    "and",    "not",   "this",  "that",  "it",     "we",   "they", "really", "perhaps", "music",
};
enum { PIECES = sizeof pieces / sizeof *pieces };

const char *program_model(void) {
    const char *directory = support_scratch_path("model");
    struct stat info;
    if (stat(directory, &info) == 0) return directory;
    char vocabulary[PIECES * 16] = "";
    for (int i = 0; i < PIECES; i++) {
        strcat(vocabulary, pieces[i]);
        strcat(vocabulary, "\n");
    }
    const char *path = support_scratch_path("vocab.txt");
    support_write_text(path, vocabulary);
    struct nvdp_context *ctx = support_context();
    struct nvdp_bert_config config = bert_of(.hidden = 16, .layers = 1, .heads = 2, .inner = 32,
                                             .pieces = PIECES, .longest = 32);
    ok(nvdp_bert_create_random(ctx, &config, 1, path, directory));
    return directory;
}

/* --- the task --- */

static const char *const good[] = {"good", "great", "lovely", "fine"};
static const char *const bad[] = {"bad", "awful", "boring", "poor"};
static const char *const things[] = {"film", "plot", "actor", "story", "music"};

static void write_split(const char *directory, const char *name, int rows) {
    FILE *file = fopen(support_path("%s/%s", directory, name), "wb");
    cr_assert_not_null(file);
    bool test = strcmp(name, "test.tsv") == 0;
    fputs(test ? "index\tsentence\n" : "sentence\tlabel\n", file);
    for (int i = 0; i < rows; i++) {
        int label = i % 2;
        const char *word = (label == 1 ? good : bad)[i / 2 % 4];
        const char *text = support_path("%s %s was %s%s .", i % 3 == 0 ? "the" : "this",
                                        things[i % 5], i % 7 == 0 ? "very " : "", word);
        if (test) {
            fprintf(file, "%d\t%s\n", i, text);
        } else {
            fprintf(file, "%s\t%d\n", text, label);
        }
    }
    cr_assert_eq(fclose(file), 0);
}

const char *program_task(void) {
    const char *directory = support_scratch_path("task");
    if (mkdir(directory, 0777) != 0) return directory;
    write_split(directory, "train.tsv", 160);
    write_split(directory, "dev.tsv", 40);
    write_split(directory, "test.tsv", 12);
    return directory;
}

const char *program_train_options(void) {
    static char options[8192];
    snprintf(options, sizeof options,
             "--task sst2 --data %s --model %s --max-length 12 --batch 16 --epochs 2 --lr 3e-3 "
             "--eval-draws 2 --lambda 1e-3 --alpha-tau 0 --threads 1",
             program_task(), program_model());
    return options;
}
