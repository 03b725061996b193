/* Functions that the subcommands share: signals, messages, the cache folder, runs and posteriors, start and end of an
 * invocation. cli_begin() comes first in every subcommand. */
#include "ranks.h"

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

/* Gives signal handlers their own stack. oneDNN's float32 products point the stack register into the heap while they
 * run (oneDNN issue 4845, fixed in 2026), so a handler's frame on that stack would overwrite malloc's data. The kernel
 * delivers a process's signals to the main thread. Child processes inherit the stack from fork(). */
static void use_own_stack(void) {
    static _Alignas(64) char memory[1 << 16];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    stack_t present;
    if (sigaltstack(NULL, &present) == 0 && (present.ss_flags & SS_DISABLE) == 0) return;
    (void)sigaltstack(&stack, NULL);
}

static void set_handler(int number, int flags) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void cli_catch(int number) {
    set_handler(number, (int)SA_RESETHAND);
}

void cli_catch_pipe(void) {
    set_handler(SIGPIPE, 0);
}

/* Makes the first SIGINT or SIGTERM ask the library to stop and save; the second ends the program. Ignores SIGXFSZ: a
 * file that exceeds the size limit then fails with a message. */
static void catch_signals(void) {
    use_own_stack();
    cli_catch(SIGINT);
    cli_catch(SIGTERM);
    signal(SIGXFSZ, SIG_IGN);
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

static int exit_code(nvdp_status status) {
    switch (status) {
    case NVDP_OK:
        return CLI_SUCCESS;
    case NVDP_ERR_ARGUMENT:
        return CLI_USAGE;
    case NVDP_ERR_INPUT:
        return CLI_BAD_INPUT;
    case NVDP_ERR_CANCELLED:
        return CLI_INTERRUPTED;
    default:
        return CLI_FAILURE;
    }
}

int cli_fail(struct cli *cli, nvdp_status status) {
    const char *message = cli->ctx != NULL ? nvdp_context_error(cli->ctx) : "";
    if (*message == '\0')
        message = status == NVDP_ERR_CANCELLED ? "interrupted" : nvdp_status_text(status);
    /* An invalid option is a usage error, which names --help. */
    if (status == NVDP_ERR_ARGUMENT && strncmp(message, "option --", strlen("option --")) == 0)
        return cli_usage(cli, "%s", message);
    return cli_error(cli, exit_code(status), "%s", message);
}

enum { PATH_ROOM = 4096 };

/* Returns $XDG_CACHE_HOME/nvdp or ~/.cache/nvdp. Ignores relative folders, as the XDG specification demands. */
static const char *usual_cache(char path[PATH_ROOM]) {
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int length = -1;
    if (cache != NULL && cache[0] == '/')
        length = snprintf(path, PATH_ROOM, "%s/nvdp", cache);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, PATH_ROOM, "%s/.cache/nvdp", home);
    return length > 0 && length < PATH_ROOM ? path : NULL;
}

int cli_resolve_cache(struct cli *cli, bool no_cache) {
    char path[PATH_ROOM];
    if (no_cache && cli_given(cli, "cache"))
        return cli_usage(cli, "options --cache and --no-cache exclude each other");
    if (no_cache || cli_given(cli, "cache") || usual_cache(path) == NULL) return CLI_SUCCESS;
    nvdp_status status = nvdp_config_set(cli->config, "cache", path);
    return status == NVDP_OK ? CLI_SUCCESS : cli_fail(cli, status);
}

/* --- runs --- */

json_t *cli_run_config(const char *directory) {
    char *path = NULL;
    if (asprintf(&path, "%s/run.json", directory) < 0) return NULL;
    json_t *root = NULL;
    (void)nvdp__json_read(NULL, path, &root);
    json_t *config = json_incref(json_object_get(root, "config"));
    json_decref(root);
    free(path);
    return config;
}

int cli_check_source(struct cli *cli, const char *path) {
    static const char *const of_runs[] = {"split", "data", "limit", "batch", NULL};
    if ((cli->args == 1) == (path != NULL))
        return cli_usage(cli, "expected exactly one of RUN and --posteriors FILE.h5");
    const char *one = path != NULL ? cli_given_one(cli, of_runs, true) : NULL;
    if (one == NULL) return CLI_SUCCESS;
    return cli_usage(cli, "option --%s chooses texts of a run and does not apply to --posteriors",
                     one);
}

int cli_posteriors(struct cli *cli, const char *path, struct nvdp_posteriors **posteriors) {
    CLI_TRY(cli_check_source(cli, path));
    if (path != NULL) {
        CLI_DO(cli, nvdp_posteriors_read(cli->ctx, path, posteriors));
        return CLI_SUCCESS;
    }
    CLI_DO(cli, nvdp_config_set(cli->config, "run", cli->arg[0]));
    CLI_DO(cli, nvdp_run_posteriors(cli->ctx, cli->config, posteriors));
    return CLI_SUCCESS;
}

int cli_certificate(struct cli *cli, const struct nvdp_config *config,
                    struct nvdp_certificate *certificate) {
    struct nvdp_model *model = NULL;
    char *directory = NULL;
    if (asprintf(&directory, "%s/model", cli->arg[0]) < 0)
        return cli_error(cli, CLI_FAILURE, "out of memory");
    nvdp_status status = nvdp_model_load(cli->ctx, directory, &model);
    if (status == NVDP_OK) status = nvdp_model_certificate(cli->ctx, model, config, certificate);
    nvdp_model_free(model);
    free(directory);
    return status == NVDP_OK ? CLI_SUCCESS : cli_fail(cli, status);
}

void cli_print_guarantee(struct cli *cli, const char *run) {
    struct nvdp_guarantee found = NVDP_RESULT(struct nvdp_guarantee);
    char *line = NULL, *guesses = NULL;
    if (nvdp_run_guarantee(cli->ctx, run, &found) == NVDP_OK &&
        nvdp_guarantee_line(cli->ctx, &found, &line) == NVDP_OK &&
        nvdp_guarantee_guesses(cli->ctx, &found, &guesses) == NVDP_OK)
        printf("%s\n%s%s", line, guesses, guesses[0] != '\0' ? "\n" : "");
    free(line);
    free(guesses);
}

json_t *cli_guarantee_json(struct cli *cli, const char *run) {
    struct nvdp_guarantee found = NVDP_RESULT(struct nvdp_guarantee);
    char *line = NULL;
    if (nvdp_run_guarantee(cli->ctx, run, &found) == NVDP_OK)
        (void)nvdp_guarantee_line(cli->ctx, &found, &line);
    json_t *made = line != NULL ? json_string(line) : json_null();
    free(line);
    return made;
}

/* --- beginning and end --- */

int cli_begin(struct cli *cli, void *values) {
    nvdp_status status = nvdp_context_create(&cli->ctx);
    if (status != NVDP_OK) return cli_fail(cli, status);
    cli->printed = json_object();
    nvdp_context_set_option_style(cli->ctx, NVDP_OPTION_STYLE_DASHES);
    nvdp_context_set_log(cli->ctx, on_log, cli); /* set before parsing: options may cause notices */
    CLI_TRY(cli_parse(cli, values));
    cli_meter_open(&cli->meter);
    catch_signals();
    if (cli->command->takes_precision) nvdp_context_set_precision(cli->ctx, cli->precision);
    nvdp_context_set_progress(cli->ctx, on_progress, cli);
    nvdp_context_set_cancel(cli->ctx, on_cancel, NULL);
    CLI_TRY(cli_ranks_begin(cli));
    for (size_t i = 0; i < cli->settings; i++) { /* - is standard input, where texts are named */
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
