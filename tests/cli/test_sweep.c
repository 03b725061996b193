/* Tests of nvdp sweep that interrupt it, or read its grids with the library. The others are in sweep.txt. */
#include "program.h"
#include "sweep/sweep.h"

#include "test_context.h"

/* Writes a grid of the tiny task with these additional members. */
static const char *write_grid(const char *members) {
    const char *text =
        support_path("{\"tasks\": [\"sst2\"], \"data\": {\"sst2\": \"%s\"}, \"model\": \"%s\", "
                     "\"max-length\": 12, \"batch\": 16, \"lr\": 3e-3, \"alpha-tau\": 0, "
                     "\"eval-draws\": 2, %s}",
                     program_task(), program_model(), members);
    return support_file("grid.json", text);
}

/* Starts a child that sweeps on one thread, with another option or NULL. */
static pid_t started(const char *grid, const char *messages, const char *option) {
    const char *program = support_path("%s/nvdp", NVDP_BINARY_DIR);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        if (messages != NULL && freopen(messages, "w", stderr) == NULL) _exit(126);
        execl(program, "nvdp", "sweep", grid, "--out", support_scratch_path("sweep"), "--no-cache",
              "--threads", "1", option, (char *)NULL);
        _exit(127);
    }
    return child;
}

static void interrupt(pid_t child) {
    int raw = 0;
    cr_assert_eq(kill(child, SIGINT), 0);
    cr_assert_eq(waitpid(child, &raw, 0), child);
    cr_assert(WIFEXITED(raw));
    cr_assert_eq(WEXITSTATUS(raw), 130);
}

static json_int_t number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_integer(value), "key '%s' is no whole number", key);
    return json_integer_value(value);
}

Test(sweep, interrupted_it_exits_with_130_and_goes_on_later) {
    const char *grid = write_grid("\"methods\": [\"base\"], \"seeds\": [1, 2], \"epochs\": 40, "
                                  "\"patience\": 0, \"checkpoint_seconds\": 0");
    pid_t child = started(grid, NULL, "--quiet");
    for (int i = 0; i < 2000 && program_shell("ls $DIR/sweep/runs/*/state.ckpt").code != 0; i++)
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    interrupt(child);
    cr_assert_eq(number(program_json("sweep --out $DIR/sweep --no-cache --json"), "done"), 2);
    program_prints(0, "nothing to do", "sweep --out $DIR/sweep --no-cache");
}

/* Without a terminal there is a line every half minute, except that the first ETA is printed at once: within a second,
 * or a few on a busy machine. */
Test(sweep, the_first_eta_does_not_wait_for_the_next_line) {
    const char *grid = write_grid("\"methods\": [\"base\"], \"seeds\": [1, 2], \"epochs\": 9999, "
                                  "\"patience\": 0");
    const char *lines = support_file("lines", "");
    pid_t child = started(grid, lines, NULL);
    bool shown = false;
    for (int i = 0; i < 250 && !shown; i++) {
        nanosleep(&(struct timespec){0, 100000000}, NULL);
        char *text = support_read(lines);
        shown = strstr(text, "0 of 2 done, 0 failed, 1 running, ") != NULL &&
                strstr(text, "ETA unknown") == NULL;
    }
    interrupt(child);
    cr_assert(shown, "no ETA in 25 seconds: %s", support_read(lines));
}

/* Returns true for options of the call or of the sweep, which grids do not have. */
static bool is_of_the_call(const char *name) {
    static const char *const names[] = {
        "task",    "data",  "method", "out",     "resume",   "overwrite",
        "dry-run", "cache", "quiet",  "threads", "no-cache", "no-prefix-cache",
        "config",  "json",  "help",   "usage",   "version"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

Test(sweep, a_grid_knows_every_option_of_train) {
    struct outcome help = program_expect(0, "train --help=all");
    const char *path = support_scratch_path("grid.json");
    struct sweep_grid grid;
    int options = 0;
    for (char *at = strstr(help.out, "  --"); at != NULL; at = strstr(at + 1, "  --")) {
        size_t length = strspn(at + 4, "abcdefghijklmnopqrstuvwxyz0123456789-");
        const char *given = support_path("%.*s", (int)length, at + 4);
        if (length == 0 || is_of_the_call(given)) continue;
        /* An object is never a valid value, and only known options are checked for their type. */
        const char *text =
            support_path("{\"tasks\": [\"sst2\"], \"methods\": [\"nvdp\"], \"%s\": {}}", given);
        support_write_text(path, text);
        cr_expect_eq(sweep_grid_read(ctx, path, &grid), NVDP_ERR_INPUT);
        cr_expect_null(strstr(nvdp_context_error(ctx), "unknown key"), "--%s is unknown to grids",
                       given);
        options++;
    }
    cr_assert_gt(options, 45, "only %d options in the help", options);
}
