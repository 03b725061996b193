/* No subcommand prints a control character from a name, a label or a path, on standard output or standard error. */
#include "program.h"

/* Control characters of three kinds, a mark that reverses text, and the end of a line. */
#define EVIL                                                                                       \
    "\033[2J\a\xc2\x9b"                                                                            \
    "1m\xe2\x80\xae\x7f"
#define EVIL_JSON "\\u001b[2J\\u0007\\u009b1m\\u202e\\u007f\\nyes  signed"

static void is_clean(const char *text, const char *of) {
    for (const char *c = text; *c != '\0'; c++) {
        const unsigned char byte = (unsigned char)*c, next = (unsigned char)c[1];
        const bool control = (byte < 0x20 && byte != '\n') || byte == 0x7f ||
                             (byte == 0xc2 && next >= 0x80 && next < 0xa0) ||
                             strncmp(c, "\xe2\x80\xae", 3) == 0;
        cr_assert_not(control, "%s: byte %zu of: %s", of, (size_t)(c - text), text);
    }
    cr_assert(strstr(text, "\nyes  signed") == NULL, "%s: %s", of, text);
}

static struct outcome clean(const char *arguments) {
    struct outcome o = program_run("%s", arguments);
    is_clean(o.out, arguments);
    is_clean(o.err, arguments);
    return o;
}

static void write_split(const char *folder, const char *name, int rows) {
    FILE *file = fopen(support_path("%s/%s.jsonl", folder, name), "wb");
    cr_assert_not_null(file);
    for (int i = 0; i < rows; i++)
        fprintf(file,
                "{\"text\": \"the film was %s %s .\", \"label\": \"%s" EVIL_JSON
                "\", \"id\": \"%d" EVIL_JSON "\", \"who\": \"%d" EVIL_JSON "\"}\n",
                i % 2 == 1 ? "good" : "bad", i % 3 == 0 ? "really" : "perhaps",
                i % 2 == 1 ? "pro" : "con", i, i % 5);
    cr_assert_eq(fclose(file), 0);
}

Test(terminal, obeys_no_file) {
    struct outcome o;
    const char *data = support_scratch_path("data" EVIL);
    const char *run = support_scratch_path("run" EVIL);
    const char *shared = support_scratch_path("shared" EVIL ".h5");
    cr_assert_eq(mkdir(data, 0777), 0);
    write_split(data, "train", 60);
    write_split(data, "dev", 20);
    write_split(data, "test", 12);
#define RUN(expected, ...)                                                                         \
    do {                                                                                           \
        const char *line = support_path(__VA_ARGS__);                                              \
        o = clean(line);                                                                           \
        cr_assert_eq(o.code, expected, "%s: %d: %s%s", line, o.code, o.out, o.err);                \
    } while (0)
    RUN(0,
        "train --task tsv --data '%s' --text-column text --label-column label "
        "--model %s --max-length 12 --batch 16 --epochs 1 --eval-draws 2 --threads 1 --method "
        "vib-fixed --clip-sequence 1 --out '%s'",
        data, program_model(), run);
    RUN(0, "eval '%s' --draws 2", run);
    support_contains(o.out, "con\\u001b[2J\\u0007\\u009b1m\\u202e\\u007f\\u000ayes  signed");
    RUN(0, "eval '%s' --draws 2 --json", run);
    json_decref(program_object(&o));
    RUN(0, "info '%s'", run);
    RUN(0, "info '%s' --all", run);
    RUN(0, "privacy '%s' --limit 6", run);
    RUN(0, "attack '%s' --kind reidentify --limit 6", run);
    RUN(0, "export '%s' --split dev --with-labels --person who --out '%s'", run, shared);
    RUN(0, "verify '%s'", shared);
    RUN(0, "info '%s' --all", shared);
    RUN(0, "info '%s/ledger'", run);
    RUN(1, "gate certified '%s'", run);
    RUN(0, "reuse '%s' --epochs 1 --out '%s.reuse'", shared, run);
    RUN(0, "report '%s' --out '%s.report'", support_scratch_path(""), run);
    RUN(1, "info '%s.none'", shared);
    support_contains(o.err, "shared\\u001b[2J");
    RUN(2, "train --task 'x" EVIL "'");
    RUN(2, "verify '--" EVIL "'");
    RUN(2, "'" EVIL "'");
}

/* Fields of the predictions are on their lines, and can be read back. */
Test(terminal, predictions_have_no_control_characters) {
    const char *data = support_scratch_path("data");
    cr_assert_eq(mkdir(data, 0777), 0);
    write_split(data, "train", 60);
    write_split(data, "dev", 20);
    program_expect(
        0,
        "train --task tsv --data $DIR/data --text-column text --label-column label --model $MODEL "
        "--max-length 12 --batch 16 --epochs 1 --threads 1 --method base --out $DIR/run --quiet");
    program_expect(0, "predict $DIR/run --split dev --out $DIR/predictions.tsv");
    char *text = support_read(support_scratch_path("predictions.tsv")), *at = text;
    size_t rows = 0;
    for (; *at != '\0'; rows++) {
        char *end = strchr(at, '\n'), *tab = memchr(at, '\t', (size_t)(end - at));
        cr_assert(tab != NULL && memchr(tab + 1, '\t', (size_t)(end - tab - 1)) == NULL);
        *tab = *end = '\0';
        is_clean(at, "id");
        is_clean(tab + 1, "prediction");
        if (rows > 0) support_contains(tab + 1, "\\u001b[2J");
        at = end + 1;
    }
    cr_assert_eq(rows, 21);
}
