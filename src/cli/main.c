/* nvdp: finds the subcommand, runs it, exits with its code. Reading order: memory and environment, which must be
 * prepared before libraries start; the table of subcommands; main(). */
#include "common.h"

#include "base/sentence.h"
#include <argp.h>
#include <fcntl.h>
#include <gsl/gsl_errno.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- memory --- */

/* Exits with a message if the limit on address space is too small. OpenBLAS allocates buffers of 128 MiB when it is
 * loaded and retries forever, so main() would never run. This runs before OpenBLAS's constructor, when little of the C
 * library works. */
static __attribute__((no_sanitize("address", "undefined"))) void check_memory(void) {
    static const char message[] = "nvdp: out of memory: loading the libraries needs about 500 MB "
                                  "of address space; raise the limit (ulimit -v)\n";
    enum { NEEDED = 256 << 20 };
    const long at = syscall(SYS_mmap, NULL, (size_t)NEEDED, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    if (at == -1) {
        (void)!write(STDERR_FILENO, message, sizeof message - 1);
        _exit(CLI_FAILURE);
    }
    (void)syscall(SYS_munmap, at, (size_t)NEEDED);
}

static void (*const before_libraries)(void)
    __attribute__((section(".preinit_array"), used)) = check_memory;

/* --- the environment --- */

/* Sets the core type for OpenBLAS. OpenBLAS 0.3 treats processors that it does not know, such as AMD's processors with
 * AVX-512, as older processors without AVX-512, which halves the speed of matrix products. */
static bool name_blas_core(void) {
#if defined(__x86_64__)
    if (getenv("OPENBLAS_CORETYPE") != NULL) return false;
    bool able = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl");
    return able && setenv("OPENBLAS_CORETYPE", "SkylakeX", 0) == 0;
#else
    return false;
#endif
}

/* Makes OpenMP threads spin briefly, then sleep. By default threads spin at every barrier; on shared processors they
 * stall one another, and a step takes 10 to 100 times as long. Waking a thread that sleeps at once takes longer than
 * many loops. With this setting, GCC's threads spin for about 50 microseconds. */
static bool calm_threads(void) {
    if (getenv("OMP_WAIT_POLICY") != NULL || getenv("GOMP_SPINCOUNT") != NULL) return false;
    return setenv("OMP_WAIT_POLICY", "passive", 0) == 0 && setenv("GOMP_SPINCOUNT", "1000", 0) == 0;
}

/* Sets better defaults of libraries unless the user has set them, and restarts the program so that the libraries read
 * these defaults. Returns if there is nothing to set or the restart fails. */
static void environment(char **argv) {
    static const char mark[] = "NVDP_ENVIRONMENT"; /* marks the restarted program */
    if (getenv(mark) != NULL || setenv(mark, "set", 0) != 0) return;
    bool blas = name_blas_core();
    bool threads = calm_threads();
    /* If this fails, continues without the settings. */
    if (blas || threads) execv("/proc/self/exe", argv);
}

/* Keeps the numbers of closed standard streams (2>&-) from being reused. Otherwise the next opened file would get
 * such a number, and messages would be written into this file. An O_PATH descriptor, which cannot be read or written,
 * takes the number. */
static void keep_standard_files(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1) (void)open("/", O_PATH); /* takes number fd */
}

/* --- the subcommands --- */

const struct cli_command *const cli_commands[] = {
    &cli_command_pretrain, &cli_command_train,    &cli_command_eval,     &cli_command_predict,
    &cli_command_privacy,  &cli_command_sanitize, &cli_command_export,   &cli_command_summarize,
    &cli_command_verify,   &cli_command_reuse,    &cli_command_search,   &cli_command_sweep,
    &cli_command_report,   &cli_command_encode,   &cli_command_tokenize, &cli_command_account,
    &cli_command_attack,   &cli_command_audit,    &cli_command_explain,  &cli_command_info,
    &cli_command_bench,    &cli_command_gate,     &cli_command_manual,   NULL,
};
static const size_t command_count = sizeof cli_commands / sizeof *cli_commands - 1;

const char cli_purpose[] =
    "Trains text encoders with noisy output that can be given away, measures the privacy of\nthat "
    "output, and writes it to files that others can train on.";
const char cli_exit_codes[] =
    "0 success, 1 failure, 2 wrong usage, 3 bad or unsupported input, 130 "
    "interrupted.";

static void print_version(FILE *to, struct argp_state *state) {
    (void)state;
    fprintf(to,
            "nvdp %s\n"
            "License GPLv3+: GNU GPL version 3 or later <https://gnu.org/licenses/gpl.html>.\n"
            "This is free software: you are free to change and redistribute it.\n"
            "There is NO WARRANTY, to the extent permitted by law.\n",
            nvdp_version());
}

static void print_help(FILE *to) {
    fprintf(to, "Usage: nvdp SUBCOMMAND [OPTION...]\n%s\n\nSubcommands:\n", cli_purpose);
    for (size_t i = 0; i < command_count; i++)
        fprintf(to, "  %-10s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    fprintf(
        to,
        "\n"
        "  --help     this list; nvdp SUBCOMMAND --help shows its options, with examples\n"
        "  --version  the program's version\n"
        "\n"
        "Exit status: %s\n"
        "\n"
        "Example:\n"
        "  nvdp train --task mrpc --data MRPC --model bert --method nvdp --lambda 1e-2 --out run\n"
        "  nvdp privacy run\n"
        "  nvdp export run --input texts.tsv --out shared.h5\n",
        cli_exit_codes);
}

static int usage(const char *complaint, const char *what) {
    struct nvdp__guess guess = {.word = what};
    for (size_t i = 0; i < command_count; i++)
        nvdp__guess(&guess, cli_commands[i]->name);
    fprintf(stderr, "nvdp: %s%s%s%s%s\nnvdp: try nvdp --help\n", complaint, *what ? " '" : "", what,
            *what ? "'" : "", guess.text);
    return CLI_USAGE;
}

int cli_flush(const char *name, int code) {
    if (fflush(stdout) == 0 && ferror(stdout) == 0) return code;
    fprintf(stderr, "%s: cannot write to stdout\n", name);
    return code == CLI_SUCCESS ? CLI_FAILURE : code;
}

static int run_command(const struct cli_command *command, int argc, char **argv) {
    struct cli cli = {.command = command, .argc = argc, .argv = argv};
    if (asprintf(&cli.name, "nvdp %s", command->name) < 0) return CLI_FAILURE;
    argv[0] = cli.name; /* prefix of getopt's messages and of argp's usage */
    int code = command->run(&cli);
    code = cli_ranks_end(&cli, cli_flush(cli.name, code));
    cli_end(&cli);
    return code;
}

int main(int argc, char **argv) {
    keep_standard_files();
    if (!cli_streams_open()) return CLI_FAILURE;
    signal(SIGXFSZ, SIG_IGN); /* a file that exceeds the size limit then fails with a message */
    setlocale(LC_CTYPE, "");
    gsl_set_error_handler_off(); /* GSL functions then return NaN instead of aborting */
    argp_program_version_hook = print_version;
    argp_err_exit_status = CLI_USAGE;
    unsetenv("ARGP_HELP_FMT"); /* argp's help never ends with a narrow margin or a far column */
    if (argc < 2) return usage("expected a subcommand", "");
    const char *first = argv[1];
    bool help = strcmp(first, "help") == 0;
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || (help && argc == 2)) {
        print_help(stdout);
        return cli_flush("nvdp", CLI_SUCCESS);
    }
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0) {
        print_version(stdout, NULL);
        return cli_flush("nvdp", CLI_SUCCESS);
    }
    if (!help) environment(argv);
    if (help) { /* "nvdp help train" means "nvdp train --help" */
        first = argv[2];
        argv[2] = "--help";
    }
    if (first[0] == '-') return usage("unknown option", first);
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(cli_commands[i]->name, first) == 0)
            return run_command(cli_commands[i], argc - 1, argv + 1);
    return usage("unknown subcommand", first);
}
