/* Reads and runs transcripts (transcript.h). */
#include "transcript.h"
#include "program.h"

struct reader {
    const char *path, *rest, *test;
    int line, next;      /* line of the last instruction, and of the next one */
    struct outcome last; /* of the last command */
    bool waits;          /* whether its exit code was not compared yet */
};

static struct reader opened(const char *path) {
    return (struct reader){.path = path, .rest = support_read(path), .test = "", .next = 1};
}

/* Returns the next instruction, without comments and empty lines; NULL at the end of the file. */
static char *next_instruction(struct reader *reader) {
    while (*reader->rest != '\0') {
        char *text = support_keep(calloc(1, strlen(reader->rest) + 1));
        bool more = true;
        reader->line = reader->next;
        while (more) {
            const size_t size = strcspn(reader->rest, "\n");
            more = size > 0 && reader->rest[size - 1] == '\\';
            strncat(text, reader->rest, more ? size - 1 : size);
            reader->rest += size + (reader->rest[size] == '\n');
            reader->next++;
            if (more) reader->rest += strspn(reader->rest, " ");
        }
        if (*text != '\0' && *text != '#') return text;
    }
    return NULL;
}

/* Cuts the first word off and returns the rest. */
static char *after_word(char *text) {
    char *rest = text + strcspn(text, " ");
    if (*rest != '\0') *rest++ = '\0';
    return rest;
}

/* Replaces escapes and the names of folders. */
static const char *expanded(const char *text) {
    static const struct {
        const char *name, *(*folder)(void);
    } names[] = {{"$DIR", support_scratch},
                 {"$MODEL", program_model},
                 {"$TASK", program_task},
                 {"$TINY", program_train_options}};
    enum { NAMES = sizeof names / sizeof *names };
    char *out = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&out, &size);
    cr_assert_not_null(stream);
    while (*text != '\0') {
        size_t k = 0;
        while (k < NAMES && strncmp(text, names[k].name, strlen(names[k].name)) != 0)
            k++;
        unsigned byte = (unsigned char)*text++;
        if (k < NAMES) {
            fputs(names[k].folder(), stream);
            text += strlen(names[k].name) - 1;
            continue;
        }
        if (byte == '\\') {
            byte = (unsigned char)*text++;
            if (byte == 'x') {
                cr_assert_eq(sscanf(text, "%2x", &byte), 1, "%s", text);
                text += 2;
            } else {
                const char *letter = strchr("n\nt\tr\r", (int)byte);
                if (letter != NULL) byte = (unsigned char)letter[1];
            }
        }
        fputc((int)byte, stream);
    }
    fclose(stream);
    return support_keep(out);
}

/* Compares the exit code of the last command, unless this was done before. */
static void judge(struct reader *reader, int code) {
    if (!reader->waits) return;
    reader->waits = false;
    cr_assert_eq(reader->last.code, code, "%s:%d: %s: expected exit code %d before, found %d: %s",
                 reader->path, reader->line, reader->test, code, reader->last.code,
                 reader->last.err);
}

static void expect(const struct reader *reader, bool holds, const char *kind, const char *wanted,
                   const char *found) {
    cr_expect(holds, "%s:%d: %s: %s: expected '%s', found: %s", reader->path, reader->line,
              reader->test, kind, wanted, found);
}

/* Compares a text for an instruction such as "out WORDS", "no-out WORDS", "out-is WORDS" or "out-begins WORDS". */
static void expect_words(const struct reader *reader, const char *kind, const char *found,
                         const char *words) {
    const size_t size = strlen(words);
    const bool holds = strstr(kind, "-is") != NULL       ? strcmp(found, words) == 0
                       : strstr(kind, "-begins") != NULL ? strncmp(found, words, size) == 0
                       : strncmp(kind, "no-", 3) == 0    ? strstr(found, words) == NULL
                                                         : strstr(found, words) != NULL;
    expect(reader, holds, kind, words, found);
}

/* Compares a value of the object on standard output for an instruction KIND PATH ARGUMENTS. */
static void expect_value(const struct reader *reader, const char *kind, char *path) {
    const char *wanted = after_word(path);
    const json_t *value = support_at(program_object(&reader->last), path);
    const char *found = value != NULL ? support_keep(json_dumps(value, JSON_ENCODE_ANY)) : "none";
    if (strstr(kind, "text") != NULL) {
        expect(reader, json_is_string(value), kind, wanted, found);
        expect_words(reader, kind, json_string_value(value), expanded(wanted));
        return;
    }
    char *rest = NULL;
    const double bound = strtod(wanted, &rest), distance = strtod(rest, NULL);
    if (strcmp(kind, "size") == 0) {
        expect(reader, json_array_size(value) == (size_t)bound, kind, wanted, found);
        return;
    }
    const double number = value != NULL ? support_number(value) : NAN;
    const bool holds = strcmp(kind, "near") == 0    ? fabs(number - bound) <= distance
                       : strcmp(kind, "above") == 0 ? number > bound
                       : strcmp(kind, "from") == 0  ? number >= bound
                       : strcmp(kind, "below") == 0 ? number < bound
                                                    : number <= bound;
    expect(reader, holds, kind, support_path("%s %s", path, wanted), found);
}

static bool is_one_of(const char *word, const char *words) {
    return strstr(words, support_path(" %s ", word)) != NULL;
}

static void run(struct reader *reader, char *kind) {
    char *rest = after_word(kind);
    if (strcmp(kind, "exit") == 0) {
        judge(reader, atoi(rest));
        return;
    }
    if (strcmp(kind, "refused") == 0) {
        judge(reader, atoi(rest));
        expect_words(reader, "out-is", reader->last.out, "");
        return;
    }
    judge(reader, 0);
    if (strcmp(kind, "$") == 0) {
        reader->last =
            program_shell("cd $DIR; nvdp() { %s/nvdp \"$@\"; }; { %s; }", NVDP_BINARY_DIR, rest);
        reader->waits = true;
    } else if (strcmp(kind, "file") == 0) {
        const char *content = expanded(after_word(rest)), *path = expanded(rest);
        if (*path != '/') path = support_scratch_path(path);
        mkdir(support_path("%.*s", (int)(strrchr(path, '/') - path), path), 0777);
        support_write_text(path, content);
    } else if (strcmp(kind, "set") == 0) {
        const char *value = expanded(after_word(rest));
        setenv(rest, value, 1);
    } else if (is_one_of(kind, " out no-out out-is out-begins ")) {
        expect_words(reader, kind, reader->last.out, expanded(rest));
    } else if (is_one_of(kind, " err no-err err-is err-begins ")) {
        expect_words(reader, kind, reader->last.err, expanded(rest));
    } else if (strcmp(kind, "json") == 0) {
        support_has(program_object(&reader->last), expanded(rest));
    } else {
        cr_assert(is_one_of(kind, " text no-text near above from below to size "),
                  "%s:%d: unknown instruction %s", reader->path, reader->line, kind);
        expect_value(reader, kind, rest);
    }
}

size_t transcript_count(const char *path) {
    struct reader reader = opened(path);
    size_t count = 0;
    for (const char *text; (text = next_instruction(&reader)) != NULL;)
        count += strncmp(text, "test ", 5) == 0;
    return count;
}

void transcript_run(const char *path, size_t index) {
    struct reader reader = opened(path);
    size_t tests = 0;
    for (char *text; tests <= index + 1 && (text = next_instruction(&reader)) != NULL;) {
        if (strncmp(text, "test ", 5) == 0) {
            if (tests++ == index) reader.test = text + 5;
        } else if (tests == 0 || tests == index + 1) {
            run(&reader, text);
        }
    }
    judge(&reader, 0);
    cr_assert_str_neq(reader.test, "", "%s has no test %zu", path, index);
}
