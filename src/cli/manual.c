/* nvdp manual: writes man pages and shell completions from the same tables as --help. Sections: the options of a
 * subcommand, man, bash, zsh, the files. */
#include "base/file.h"
#include "common.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- the options of a subcommand --- */

/* The rows of a subcommand need memory for values, which nothing reads. */
enum { VALUES_ROOM = 4096 };

static void release(const struct cli *listed) {
    nvdp_config_free(listed->config);
}

/* Returns the next shown option, or NULL after the last option. */
static const struct nvdp_option *next(const struct cli *listed, size_t *i) {
    while (*i < nvdp_config_count(listed->config)) {
        const struct nvdp_option *option = nvdp_config_option(listed->config, (*i)++);
        if ((option->traits & (NVDP_TRAIT_POSITIONAL | NVDP_TRAIT_HIDDEN)) == 0) return option;
    }
    return NULL;
}

/* Returns true if the placeholder of a value stands for a path: F, FILE.h5, DIR, RUN, PATH, ... */
static bool is_path(const char *placeholder) {
    static const char *const names[] = {"F",   "FILE",    "DIR", "RUN",   "PATH",   "FOLDER",
                                        "KEY", "VECTORS", "OUT", "MODEL", "PROGRAM"};
    const size_t n = strcspn(placeholder, ".[");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && strncmp(placeholder, names[i], n) == 0) return true;
    return false;
}

static void put_choices(FILE *to, const char *const *choices) {
    for (const char *const *choice = choices; *choice != NULL; choice++)
        fprintf(to, "%s%s", choice > choices ? " " : "", *choice);
}

/* --- man --- */

/* Writes text with roff's commands escaped. */
static void put_roff(FILE *to, const char *text) {
    bool start = true;
    for (; *text != '\0'; text++) {
        if (start && (*text == '.' || *text == '\'')) fputs("\\&", to);
        start = *text == '\n';
        if (*text == '\\')
            fputs("\\e", to);
        else if (*text == '-')
            fputs("\\-", to);
        else
            fputc(*text, to);
    }
}

static void put_title(FILE *to, const char *name, const char *summary) {
    fputs(".TH ", to);
    for (const char *c = name; *c != '\0'; c++)
        fputc(toupper((unsigned char)*c), to);
    fprintf(to, " 1 \"\" \"nvdp %s\" \"User commands\"\n.SH NAME\n", nvdp_version());
    put_roff(to, name);
    fputs(" \\- ", to);
    put_roff(to, summary);
    fputc('\n', to);
}

static void put_option(FILE *to, const struct nvdp_option *option) {
    fputs(".TP\n.BI \\-\\-", to);
    put_roff(to, option->name);
    if (option->placeholder != NULL) {
        fputs("= \"", to);
        put_roff(to, option->placeholder);
        fputc('"', to);
    }
    fputc('\n', to);
    put_roff(to, option->help);
    const bool shown = option->default_value != NULL && option->type != NVDP_OPTION_FLAG &&
                       (option->traits & NVDP_TRAIT_NO_DEFAULT) == 0 && option->sets == NULL;
    if (shown) {
        fputs(" (default ", to);
        put_roff(to, option->default_value);
        fputc(')', to);
    }
    fputc('\n', to);
}

static void put_page(FILE *to, const struct cli *listed) {
    const struct cli_command *command = listed->command;
    const char *heading = NULL, *above;
    const struct nvdp_option *option;
    char name[64];
    snprintf(name, sizeof name, "nvdp-%s", command->name);
    put_title(to, name, command->summary);
    fprintf(to, ".SH SYNOPSIS\n.B nvdp %s\n[\\fIOPTION\\fR...]", command->name);
    fprintf(to, "%s%s\n.SH DESCRIPTION\n", command->args != NULL ? " " : "",
            command->args != NULL ? command->args : "");
    put_roff(to, command->description);
    fputs("\n.SH OPTIONS\n", to);
    for (size_t i = 0; (option = next(listed, &i)) != NULL;) {
        above = option->group != NULL ? option->group : heading;
        if (above != NULL && (heading == NULL || strcmp(above, heading) != 0)) {
            fputs(".SS ", to);
            put_roff(to, above);
            fputc('\n', to);
        }
        heading = above;
        put_option(to, option);
    }
    fputs(".SH EXAMPLES\n.nf\n", to);
    const char *examples = strchr(command->examples, '\n');
    put_roff(to, examples != NULL ? examples + 1 : command->examples);
    fprintf(to, ".fi\n.SH EXIT STATUS\n%s\n.SH SEE ALSO\n.BR nvdp (1)\n", cli_exit_codes);
}

static void put_main_page(FILE *to, const struct cli_command *const *commands) {
    put_title(to, "nvdp", "text encoders with noisy output to give away");
    fprintf(to,
            ".SH SYNOPSIS\n.B nvdp\n\\fISUBCOMMAND\\fR [\\fIOPTION\\fR...]\n"
            ".SH DESCRIPTION\n%s\n.SH SUBCOMMANDS\n",
            cli_purpose);
    for (; *commands != NULL; commands++) {
        fprintf(to, ".TP\n.BR nvdp\\-%s (1)\n", (*commands)->name);
        put_roff(to, (*commands)->summary);
        fputc('\n', to);
    }
    fprintf(to, ".SH EXIT STATUS\n%s\n", cli_exit_codes);
}

/* --- bash --- */

static void put_bash(FILE *to, const struct cli *listed) {
    const struct nvdp_option *option;
    fprintf(to, "    %s)\n        options=\"--help", listed->command->name);
    for (size_t i = 0; (option = next(listed, &i)) != NULL;)
        fprintf(to, " --%s", option->name);
    fputs("\"\n        case $prev in\n", to);
    for (size_t i = 0; (option = next(listed, &i)) != NULL;) {
        if (option->placeholder == NULL) continue;
        fprintf(to, "        --%s) ", option->name);
        if (option->choices != NULL) {
            fputs("values=\"", to);
            put_choices(to, option->choices);
            fputs("\" ;;\n", to);
        } else {
            fputs(is_path(option->placeholder) ? "files=1 ;;\n" : "return ;;\n", to);
        }
    }
    fputs("        esac ;;\n", to);
}

static void put_bash_head(FILE *to, const struct cli_command *const *commands) {
    fputs("# Completion of nvdp for bash; made by nvdp manual.\n"
          "_nvdp() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options= "
          "values= files=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W \"help --help --version",
          to);
    for (; *commands != NULL; commands++)
        fprintf(to, " %s", (*commands)->name);
    fputs("\" -- \"$cur\"))\n"
          "        return\n"
          "    fi\n"
          "    # --option=value comes as three words\n"
          "    if [ \"$cur\" = = ]; then cur=\n"
          "    elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]} in\n",
          to);
}

static const char bash_foot[] =
    "    esac\n"
    "    if [ -n \"$values\" ]; then COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n"
    "    elif [ -z \"$files\" ] && [ \"${cur:0:1}\" = - ]; then COMPREPLY=($(compgen -W "
    "\"$options\" -- \"$cur\"))\n"
    "    else\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
    "    fi\n"
    "}\n"
    "complete -F _nvdp nvdp\n";

/* --- zsh --- */

/* Escapes text for single quotes and for the brackets and colons of _arguments. */
static void put_zsh_text(FILE *to, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", to);
        else if (strchr("[]:\\", *text) != NULL)
            fprintf(to, "\\%c", *text);
        else
            fputc(*text, to);
    }
}

static void put_zsh(FILE *to, const struct cli *listed) {
    const struct nvdp_option *option;
    fprintf(to, "    %s)\n        _arguments '--help[this subcommand'\\''s options]'",
            listed->command->name);
    for (size_t i = 0; (option = next(listed, &i)) != NULL;) {
        fprintf(to, " \\\n            '%s--%s%s[", option->type == NVDP_OPTION_LIST ? "*" : "",
                option->name, option->placeholder != NULL ? "=" : "");
        put_zsh_text(to, option->help);
        fputc(']', to);
        if (option->placeholder != NULL) {
            fputc(':', to);
            put_zsh_text(to, option->placeholder);
            fputc(':', to);
            if (option->choices != NULL) {
                fputc('(', to);
                put_choices(to, option->choices);
                fputc(')', to);
            } else if (is_path(option->placeholder)) {
                fputs("_files", to);
            }
        }
        fputc('\'', to);
    }
    fputs(" \\\n            '*:file:_files' ;;\n", to);
}

static void put_zsh_head(FILE *to, const struct cli_command *const *commands) {
    fputs("#compdef nvdp\n# Completion of nvdp for zsh; made by nvdp manual.\n"
          "local -a subcommands=(\n",
          to);
    for (; *commands != NULL; commands++) {
        fprintf(to, "    '%s:", (*commands)->name);
        put_zsh_text(to, (*commands)->summary);
        fputs("'\n", to);
    }
    fputs("    'help:options of a subcommand')\n"
          "if (( CURRENT == 2 )); then\n"
          "    _describe subcommand subcommands\n"
          "else\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $words[1] in\n",
          to);
}

/* --- the files --- */

/* Begins DIR/name. */
static nvdp_status begin(struct cli *cli, const char *name, struct nvdp__output *sheet) {
    return nvdp__output_open(cli->ctx, nvdp__path(cli->arg[0], name).text, sheet);
}

static int run(struct cli *cli) {
    nvdp__auto(nvdp__output_abort) struct nvdp__output bash = {0}, zsh = {0}, page = {0};
    CLI_TRY(cli_begin(cli, NULL));
    (void)mkdir(cli->arg[0], 0777); /* a failure is reported when a file is written */
    CLI_DO(cli, begin(cli, "nvdp.1", &page));
    put_main_page(page.file, cli_commands);
    CLI_DO(cli, nvdp__output_commit(&page, true));
    CLI_DO(cli, begin(cli, "nvdp.bash", &bash));
    CLI_DO(cli, begin(cli, "_nvdp", &zsh));
    put_bash_head(bash.file, cli_commands);
    put_zsh_head(zsh.file, cli_commands);
    for (const struct cli_command *const *command = cli_commands; *command != NULL; command++) {
        _Alignas(16) char values[VALUES_ROOM] = {0};
        nvdp__auto(release) struct cli listed = {
            .command = *command, .name = cli->name, .ctx = cli->ctx};
        nvdp__auto(nvdp__output_abort) struct nvdp__output sheet = {0};
        char name[64];
        snprintf(name, sizeof name, "nvdp-%s.1", listed.command->name);
        CLI_TRY(cli_make_options(&listed, values));
        CLI_DO(cli, begin(cli, name, &sheet));
        put_page(sheet.file, &listed);
        CLI_DO(cli, nvdp__output_commit(&sheet, true));
        put_bash(bash.file, &listed);
        put_zsh(zsh.file, &listed);
    }
    fputs(bash_foot, bash.file);
    fputs("    esac\nfi\n", zsh.file);
    CLI_DO(cli, nvdp__output_commit(&bash, true));
    CLI_DO(cli, nvdp__output_commit(&zsh, true));
    return CLI_SUCCESS;
}

const struct cli_command cli_command_manual = {
    .name = "manual",
    .summary = "write man pages and completions for bash and zsh",
    .args = "DIR",
    .description =
        "Writes nvdp.1 and a page for each subcommand, nvdp.bash and _nvdp (zsh) into DIR, "
        "from the tables of options that --help prints.",
    .examples = "Examples:\n"
                "  nvdp manual ~/.local/share/nvdp\n"
                "  man ~/.local/share/nvdp/nvdp-train.1\n"
                "  source ~/.local/share/nvdp/nvdp.bash\n",
    .heading = "Options:",
    .no_json = true,
    .run = run,
};
