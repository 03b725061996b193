/* Drawing with gnuplot, run as a program of its own. */
#include "base/file.h"
#include "experiments/report/write.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *const formats[] = {"svg", "png", "pdf"};
enum { FORMATS = sizeof formats / sizeof *formats };
static const char log_name[] = "gnuplot.log";

/* What gnuplot is told: the script once a format, each into a file beside the final one. */
static char *commands(struct nvdp_context *ctx, const struct nvdp__figure *figure) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    for (int k = 0; to != NULL && k < FORMATS; k++) {
        fprintf(to, "format='%s'; target='%s.%s.partial'; load '%s.gp'; ", formats[k], figure->name,
                formats[k], figure->name);
    }
    if (to != NULL && fclose(to) == 0) return text;
    free(text);
    nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    return NULL;
}

/* Runs the program in the folder, its output into a log there.  Returns 0, an errno where it did
 * not start, or -1 where it failed. */
static int run(const char *program, const char *folder, char *told) {
    char *name = strdup(program), *option = strdup("-e");
    char *argv[] = {name, option, told, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int state = 0;
    int err = name == NULL || option == NULL ? ENOMEM : posix_spawn_file_actions_init(&actions);
    if (err != 0) goto cleanup;
    err = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (err == 0) err = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (err == 0)
        err = posix_spawn_file_actions_addopen(&actions, 1, log_name, O_WRONLY | O_CREAT | O_TRUNC,
                                               0666);
    if (err == 0) err = posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (err == 0) err = posix_spawnp(&child, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (err != 0) goto cleanup;
    while (waitpid(child, &state, 0) < 0) {
        if (errno == EINTR) continue;
        err = errno;
        goto cleanup;
    }
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) err = -1;
cleanup:
    free(name);
    free(option);
    return err;
}

/* The log's last line that says something. */
static char *complaint(struct nvdp_context *ctx, const char *folder, const char *program,
                       const char *figure) {
    enum { LIMIT = 1 << 16 };
    char *path = nvdp__join(ctx, folder, log_name);
    char *bytes = NULL, *said = NULL;
    size_t count = 0;
    if (path != NULL && nvdp__read_file(ctx, path, LIMIT, &bytes, &count) == NVDP_OK) {
        for (char *line = strtok(bytes, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            if (line[strspn(line, " ^\t")] != '\0') said = line;
        }
    }
    char *text = nvdp__format(ctx, "%s failed on %s: %s", program, figure,
                              said != NULL ? said : "it does not say why");
    free(bytes);
    free(path);
    return text;
}

static nvdp_status drawing_path(struct nvdp_context *ctx, const char *folder, const char *name,
                                int format, const char *suffix, char **out) {
    *out = nvdp__format(ctx, "%s/%s.%s%s", folder, name, formats[format], suffix);
    return *out != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

/* Gives the drawings their names, or removes what there is of them. */
static nvdp_status settle(struct nvdp_context *ctx, const char *folder, const char *name,
                          bool keep) {
    nvdp_status status = NVDP_OK;
    for (int k = 0; k < FORMATS && status == NVDP_OK; k++) {
        char *beside = NULL, *path = NULL;
        status = drawing_path(ctx, folder, name, k, ".partial", &beside);
        if (status == NVDP_OK) status = drawing_path(ctx, folder, name, k, "", &path);
        if (status == NVDP_OK && keep) {
            status = nvdp__publish(ctx, beside, path);
        } else if (status == NVDP_OK) {
            (void)unlink(beside);
            (void)unlink(path);
        }
        free(beside);
        free(path);
    }
    return status;
}

static nvdp_status write_part(struct nvdp_context *ctx, const char *folder, const char *name,
                              const char *suffix, const char *text) {
    char *path = nvdp__format(ctx, "%s/%s.%s", folder, name, suffix);
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__write_file(ctx, path, text, strlen(text));
    free(path);
    return status;
}

static void remove_log(struct nvdp_context *ctx, const char *folder) {
    char *path = nvdp__join(ctx, folder, log_name);
    if (path != NULL) (void)unlink(path);
    free(path);
}

nvdp_status nvdp__draw(struct nvdp_context *ctx, const char *program, const char *folder,
                       const struct nvdp__figure *figure, char **notice) {
    nvdp_status status = NVDP_OK;
    char *said = NULL;
    char *told = commands(ctx, figure);
    if (told == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(settle(ctx, folder, figure->name, false));
    NVDP_TRY(write_part(ctx, folder, figure->name, "dat", figure->data));
    NVDP_TRY(write_part(ctx, folder, figure->name, "gp", figure->script));
    int err = program != NULL ? run(program, folder, told) : 0;
    if (program == NULL) goto cleanup;
    if (err > 0) said = nvdp__format(ctx, "%s cannot be run: %s", program, strerror(err));
    if (err < 0) said = complaint(ctx, folder, program, figure->name);
    if (err != 0 && said == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(settle(ctx, folder, figure->name, err == 0));
    *notice = said;
    said = NULL;
cleanup:
    remove_log(ctx, folder);
    free(said);
    free(told);
    return status;
}
