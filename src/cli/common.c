/* Functions that the subcommands share: signals, messages, JSON, the cache folder, runs, private training, start and
 * end of an invocation. cli_begin() comes first in every subcommand. */
#include "common.h"

#include "base/json.h"
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const cli_precisions[] = {
    [NVDP_PRECISION_F32] = "f32",
    [NVDP_PRECISION_BF16] = "bf16",
    [NVDP_PRECISION_INT8] = "int8",
    NULL,
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

bool cli_interrupted(void) {
    return interrupted != 0;
}

const char *cli_file(const char *name) {
    return strcmp(name, "-") == 0 ? "/dev/stdin" : name;
}

void cli_catch(int number, bool always) {
    struct sigaction action = {.sa_handler = on_signal,
                               .sa_flags = SA_ONSTACK | (always ? 0 : (int)SA_RESETHAND)};
    struct sigaction inherited;
    if (sigaction(number, NULL, &inherited) == 0 && inherited.sa_handler == SIG_IGN) return;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

/* Makes the first SIGINT, SIGTERM or SIGHUP ask the library to stop and save; the second signal ends the program. A
 * signal that the caller ignores stays ignored, as in a shell's background job or under nohup.
 *
 * Gives signal handlers a separate stack. oneDNN's float32 products point the stack register into the heap while they
 * run (oneDNN issue 4845, fixed in 2026), so a handler's frame on that stack would overwrite malloc's data. The kernel
 * delivers a process's signals to the main thread. Child processes inherit the stack from fork(). */
static void catch_signals(void) {
    static _Alignas(64) char memory[1 << 16];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    stack_t present;
    if (sigaltstack(NULL, &present) != 0 || (present.ss_flags & SS_DISABLE) != 0)
        (void)sigaltstack(&stack, NULL);
    cli_catch(SIGINT, false);
    cli_catch(SIGTERM, false);
    cli_catch(SIGHUP, false);
}

/* --- callbacks --- */

static void on_log(enum nvdp_log_level level, const char *message, void *user) {
    struct cli *cli = user;
    if (level == NVDP_LOG_DEBUG || (cli->quiet && level != NVDP_LOG_WARNING)) return;
    if (json_object_get(cli->printed, message) != NULL) return;
    json_object_set_new(cli->printed, message, json_true());
    cli_meter_clear(&cli->meter);
    const char *label = level == NVDP_LOG_WARNING ? "warning: " : "";
    fprintf(stderr, "%s: %s%s\n", cli->name, label, message);
}

static void on_progress(const struct nvdp_progress *progress, void *user) {
    struct cli *cli = user;
    if (!cli->quiet) cli_meter_show(&cli->meter, cli, progress);
}

static bool on_cancel(void *user) {
    (void)user;
    return cli_interrupted();
}

/* --- messages --- */

static bool say(struct cli *cli, const char *format, va_list args) {
    if (!cli_ranks_say(cli, format, args)) return false;
    cli_meter_clear(&cli->meter);
    fprintf(stderr, "%s: ", cli->name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    return true;
}

int cli_usage(struct cli *cli, const char *format, ...) {
    bool said = true;
    if (format != NULL) {
        va_list args;
        va_start(args, format);
        said = say(cli, format, args);
        va_end(args);
    }
    if (said) fprintf(stderr, "%s: try %s --help\n", cli->name, cli->name);
    return CLI_USAGE;
}

int cli_error(struct cli *cli, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(cli, format, args);
    va_end(args);
    return code;
}

int cli_fail(struct cli *cli, nvdp_status status) {
    const int code = status == NVDP_ERR_ARGUMENT                                  ? CLI_USAGE
                     : status == NVDP_ERR_INPUT || status == NVDP_ERR_UNSUPPORTED ? CLI_BAD_INPUT
                     : status == NVDP_ERR_CANCELLED                               ? CLI_INTERRUPTED
                                                                                  : CLI_FAILURE;
    const char *message = cli->ctx != NULL ? nvdp_context_error(cli->ctx) : "";
    if (*message == '\0')
        message = status == NVDP_ERR_CANCELLED ? "interrupted" : nvdp_status_text(status);
    /* An invalid option is a usage error, which mentions --help. */
    if (status == NVDP_ERR_ARGUMENT && nvdp_context_wrong_option(cli->ctx) != NULL)
        return cli_usage(cli, "%s", message);
    return cli_error(cli, code, "%s", message);
}

int cli_print_json(struct cli *cli, json_t *object) {
    if (object == NULL) return cli_error(cli, CLI_FAILURE, "out of memory");
    int failed = json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_decref(object);
    if (failed != 0 || putchar('\n') == EOF)
        return cli_error(cli, CLI_FAILURE, "cannot write to stdout");
    return CLI_SUCCESS;
}

int cli_show(struct cli *cli, json_t *object, const char *name, const void *result) {
    if (cli->json) return cli_print_json(cli, cli_add_result(object, name, NULL, result));
    json_decref(object);
    cli_print_result(name, result);
    return CLI_SUCCESS;
}

int cli_resolve_cache(struct cli *cli, bool no_cache) {
    enum { PATH_ROOM = 4096 };
    char path[PATH_ROOM];
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (no_cache && cli_given(cli, "cache"))
        return cli_usage(cli, "options --cache and --no-cache exclude each other");
    if (no_cache || cli_given(cli, "cache")) return CLI_SUCCESS;
    /* Relative folders are ignored, as the XDG specification demands. */
    if (cache != NULL && cache[0] == '/')
        length = snprintf(path, PATH_ROOM, "%s/nvdp", cache);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, PATH_ROOM, "%s/.cache/nvdp", home);
    if (length <= 0 || length >= PATH_ROOM) return CLI_SUCCESS;
    CLI_DO(cli, nvdp_config_set(cli->config, "cache", path));
    return CLI_SUCCESS;
}

nvdp_status cli_copy_options(const struct cli *cli, const char *const *names, bool given,
                             struct nvdp_config *to) {
    for (; *names != NULL; names++)
        if (!given || cli_given(cli, *names))
            NVDP_TRY(nvdp_config_set(to, *names, nvdp_config_get(cli->config, *names)));
    return NVDP_OK;
}

/* --- runs --- */

json_t *cli_run_config(const char *directory) {
    nvdp__autoptr(json_decref) json_t *root = NULL;
    (void)nvdp__json_read(NULL, nvdp__path(directory, "run.json").text, &root);
    return json_incref(json_object_get(root, "config"));
}

void cli_print_guarantee(struct cli *cli, const char *run) {
    struct nvdp_guarantee found = NVDP_RESULT(struct nvdp_guarantee);
    nvdp__autofree char *line = NULL, *guesses = NULL;
    if (nvdp_run_guarantee(cli->ctx, run, &found) == NVDP_OK &&
        nvdp_guarantee_line(cli->ctx, &found, &line) == NVDP_OK &&
        nvdp_guarantee_guesses(cli->ctx, &found, &guesses) == NVDP_OK)
        printf("%s\n%s%s", line, guesses, guesses[0] != '\0' ? "\n" : "");
}

json_t *cli_guarantee_json(struct cli *cli, const char *run) {
    struct nvdp_guarantee found = NVDP_RESULT(struct nvdp_guarantee);
    nvdp__autofree char *line = NULL;
    if (nvdp_run_guarantee(cli->ctx, run, &found) == NVDP_OK)
        (void)nvdp_guarantee_line(cli->ctx, &found, &line);
    return line != NULL ? json_string(line) : json_null();
}

/* --- privacy of a model's training texts --- */

void cli_training_print(const struct nvdp_training_privacy *training) {
    cli_print_result("training", training);
    cli_print_result("risk", training->risk);
}

int cli_end_training(struct cli *cli, const char *out, json_t *object) {
    nvdp__autoresult struct nvdp_training_privacy training =
        NVDP_RESULT(struct nvdp_training_privacy);
    nvdp__autoptr(json_decref) json_t *printed = object;
    CLI_DO(cli, nvdp_training_privacy(cli->ctx, out, &training, NULL));
    if (training.is_private && cli->json) {
        json_t *of_training = NULL;
        CLI_DO(cli, nvdp__result_pack(cli->ctx, &training, NULL, &of_training));
        json_object_set_new(printed, "training", of_training);
    } else if (training.is_private) {
        cli_training_print(&training);
    }
    return cli->json ? cli_print_json(cli, json_incref(printed)) : CLI_SUCCESS;
}

/* --- beginning and end --- */

int cli_begin(struct cli *cli, void *values) {
    CLI_DO(cli, nvdp_context_create(&cli->ctx));
    cli->printed = json_object();
    nvdp_context_set_option_style(cli->ctx, NVDP_OPTION_STYLE_DASHES);
    nvdp_context_set_log(cli->ctx, on_log, cli); /* set before parsing: options may cause notices */
    CLI_TRY(cli_parse(cli, values));
    char date[32];
    CLI_DO(cli, nvdp__creation_date(cli->ctx, date)); /* before any work */
    cli_meter_open(&cli->meter);
    catch_signals();
    if (cli->command->takes_precision) nvdp_context_set_precision(cli->ctx, cli->precision);
    nvdp_context_set_progress(cli->ctx, on_progress, cli);
    nvdp_context_set_cancel(cli->ctx, on_cancel, NULL);
    CLI_TRY(cli_ranks_begin(cli));
    /* "-" means standard input for options that are files of texts. */
    for (size_t i = 0; i < cli->settings; i++) {
        const char *name = cli->setting[i].option->name, *value = cli->setting[i].value;
        if (cli->config == NULL || value == NULL || strcmp(value, "-") != 0) continue;
        if (strcmp(name, "input") == 0 || strcmp(name, "text") == 0 || strcmp(name, "jsonl") == 0 ||
            strcmp(name, "public") == 0)
            CLI_DO(cli, nvdp_config_set(cli->config, name, "/dev/stdin"));
    }
    if (!cli_given(cli, "threads")) return CLI_SUCCESS;
    CLI_DO(cli, nvdp_context_set_threads(cli->ctx, atoi(nvdp_config_get(cli->config, "threads"))));
    return CLI_SUCCESS;
}

void cli_end(struct cli *cli) {
    cli_meter_clear(&cli->meter);
    nvdp_config_free(cli->config);
    nvdp_context_free(cli->ctx);
    json_decref(cli->printed);
    free(cli->setting);
    free(cli->arg);
    free(cli->name);
}
