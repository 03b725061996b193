/* Tests that every option in a message, an example or a page appears in --help=all, so that suggestions can be
 * followed. */
#include "program.h"

#include <ctype.h>

enum { COMMANDS = 64 };

static struct {
    char name[32];
    char *help;
} command[COMMANDS];
static size_t commands;

/* Names that are not options: CSS variables, an example of any option. */
static const char *const others[] = {
    "src/report/page.c --ink",  "src/report/page.c --soft",      "src/report/page.c --paper",
    "src/report/page.c --line", "src/report/page.c --card",      "src/report/page.c --mark",
    "src/report/page.c --best", "src/report/page.c --narrowest", "src/cli/manual.c --option"};

static void read_commands(void) {
    struct outcome list = program_expect(0, "--help");
    const char *at = strstr(list.out, "Subcommands:\n");
    cr_assert_not_null(at);
    for (at = strchr(at, '\n') + 1; at[0] == ' ' && at[2] != '-'; at = strchr(at, '\n') + 1) {
        cr_assert_lt(commands, COMMANDS);
        cr_assert_eq(sscanf(at, " %31[a-z]", command[commands].name), 1);
        struct outcome help = program_expect(0, "%s --help=all", command[commands].name);
        command[commands++].help = strdup(help.out);
    }
}

/* Returns true if a line of the help begins with the option, or with `any` if its name begins so. */
static bool has(const char *help, const char *name, size_t size, bool any) {
    for (const char *line = help; line != NULL; line = strchr(line, '\n')) {
        line += strspn(line, "\n ");
        if (line[0] == '-' && line[1] != '-' && line[2] == ',') line += 4; /* -q, --quiet */
        if (strncmp(line, "--", 2) == 0 && strncmp(line + 2, name, size) == 0 &&
            (any || strchr("=[\n ", line[2 + size]) != NULL))
            return true;
    }
    return false;
}

static size_t find_command(const char *name, size_t size) {
    for (size_t k = 0; k < commands; k++)
        if (strlen(command[k].name) == size && strncmp(command[k].name, name, size) == 0) return k;
    return COMMANDS;
}

struct place {
    const char *path; /* relative to the root of the sources */
    size_t line;
    size_t owner; /* command of the file, or COMMANDS */
    bool strict;  /* only options after "nvdp COMMAND" within the same backticks count */
    size_t *wrong;
};

static bool is_other(const char *path, const char *name, size_t size) {
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        const size_t length = strlen(path);
        if (strncmp(others[k], path, length) == 0 && strncmp(others[k] + length, " --", 3) == 0 &&
            strncmp(others[k] + length + 3, name, size) == 0 &&
            others[k][length + 3 + size] == '\0')
            return true;
    }
    return false;
}

/* Checks each option against the command that the text names before it, else the file's command, else any command. */
static void check(const struct place *place, const char *text) {
    size_t owner = place->owner;
    bool named = false;
    for (const char *at = text; *at != '\0'; at++) {
        const bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '-');
        if (begins && strncmp(at, "nvdp ", 5) == 0) {
            const size_t k = find_command(at + 5, strspn(at + 5, "abcdefghijklmnopqrstuvwxyz"));
            if (k < COMMANDS) owner = k;
            named = named || k < COMMANDS;
        }
        if (place->strict && *at == '`') named = false;
        if (!begins || strncmp(at, "--", 2) != 0 || !islower((unsigned char)at[2])) continue;
        if (place->strict && !named) continue;
        const char *name = at + 2;
        size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
        const bool any = name[size - 1] == '-'; /* --clip-alpha-* */
        bool found = is_other(place->path, name, size);
        for (size_t k = 0; k < commands && !found; k++)
            found = (owner == COMMANDS || owner == k) && has(command[k].help, name, size, any);
        if (!found)
            cr_expect(false, "%s:%zu: nvdp %s --help has no --%.*s", place->path, place->line,
                      owner < COMMANDS ? command[owner].name : "...", (int)size, name);
        *place->wrong += !found;
        at = name + size - 1;
    }
}

/* Checks the string literals of a C source, with adjacent ones joined. */
static void check_literals(struct place place, const char *source) {
    nvdp__autofree char *text = calloc(1, strlen(source) + 1);
    size_t size = 0, line = 1;
    for (const char *at = source;; at++) {
        const bool opens = *at == '"';
        const bool blank = *at != '\0' && isspace((unsigned char)*at);
        if (size > 0 && !opens && !blank) { /* other text ends a literal */
            text[size] = '\0';
            check(&place, text);
            size = 0;
        }
        if (*at == '\0') break;
        line += *at == '\n';
        if (strncmp(at, "/*", 2) == 0) {
            for (at += 2; strncmp(at, "*/", 2) != 0; at++)
                line += *at == '\n';
            at++;
        } else if (strncmp(at, "//", 2) == 0) {
            at += strcspn(at, "\n") - 1;
        } else if (*at == '\'') {
            for (at++; *at != '\''; at++)
                at += *at == '\\';
        } else if (opens) {
            if (size == 0) place.line = line;
            for (at++; *at != '"'; at++) {
                const bool escape = *at == '\\';
                at += escape;
                text[size++] = escape && *at == 'n' ? '\n' : *at;
            }
        }
    }
}

static void check_lines(struct place place, char *source) {
    char *rest = NULL;
    for (char *line = source; line != NULL; line = rest) {
        rest = strchr(line, '\n');
        if (rest != NULL) *rest++ = '\0';
        place.line++;
        check(&place, line);
    }
}

Test(suggestions, name_options_that_help_tells) {
    size_t files = 0, wrong = 0;
    read_commands();
    struct outcome found = program_shell(
        "cd " NVDP_SOURCE_DIR " && find src rdp nvib vib dchi experiments python docs README.md "
        "presets -name '*.[ch]' -o -name '*.inc' -o -name '*.py' -o -name '*.md'");
    char *rest = NULL;
    for (char *path = strtok_r(found.out, "\n", &rest); path != NULL;
         path = strtok_r(NULL, "\n", &rest)) {
        struct place place = {.path = path, .owner = COMMANDS, .wrong = &wrong};
        char *source = support_read(support_path(NVDP_SOURCE_DIR "/%s", path));
        const char *end = strrchr(path, '.');
        if (strncmp(path, "src/cli/", 8) == 0)
            place.owner = find_command(path + 8, (size_t)(end - path) - 8);
        place.strict = strcmp(end, ".md") == 0 || strncmp(path, "experiments/", 12) == 0 ||
                       strncmp(path, "python/tests/", 13) == 0;
        if (strcmp(end, ".md") == 0 || strcmp(end, ".py") == 0)
            check_lines(place, source);
        else
            check_literals((struct place){place.path, 0, place.owner, false, &wrong}, source);
        files++;
    }
    cr_expect_eq(wrong, 0);
    cr_assert_gt(files, 200);
    for (size_t k = 0; k < commands; k++)
        free(command[k].help);
}
