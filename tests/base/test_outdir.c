/* Locks, leftovers and removals in a run's folder. */
#include "base/file.h"
#include "support.h"

#include "test_context.h"

/* Names a file in a folder whose name would be a pattern. */
static const char *file_of(const char *name) {
    return support_scratch_path(support_path("run[1]/%s", name));
}

static void make_folders(void) {
    ok(nvdp__make_directory(ctx, file_of("model")));
}

/* Starts another process that writes the file: complete if it gets a byte from `go_on`,
 * otherwise partial. */
static pid_t write_elsewhere(const char *path, int ready, int go_on) {
    const pid_t child = fork();
    if (child != 0) return child;
    struct nvdp__output out = {0};
    char byte = 0;
    bool done = nvdp__output_open(ctx, path, &out) == NVDP_OK &&
                nvdp__output_printf(&out, "whole") == NVDP_OK && fflush(out.file) == 0 &&
                write(ready, &byte, 1) == 1;
    if (go_on >= 0)
        done = done && read(go_on, &byte, 1) == 1 && nvdp__output_commit(&out, true) == NVDP_OK;
    _exit(done ? 0 : 1);
}

static void expect_end(pid_t child) {
    int status = 1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
}

/* A folder has one writer, who finds it tidied. The lock is released although a process forked
 * meanwhile still runs. */
Test(outdir, has_one_writer) {
    const char *path = support_scratch_path("new/locked");
    DIR *mine = NULL, *other = NULL;
    ok(nvdp__outdir_lock(ctx, path, &mine));
    ok(nvdp__outdir_lock(ctx, path, &mine)); /* the caller holds it already */
    const char *left = support_file("new/locked/state.ckpt.partial-1-0", "half");
    cr_assert_eq(nvdp__outdir_lock(ctx, path, &other), NVDP_ERR_STATE);
    cr_expect(nvdp__exists(left));
    support_contains(nvdp_context_error(ctx), "locked: another process is writing to this folder");
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    nvdp__outdir_unlock(mine);
    ok(nvdp__outdir_lock(ctx, path, &other));
    cr_expect(nvdp__directory_empty(path));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    nvdp__outdir_unlock(other);
}

/* Partial files of ended processes are removed; those of running ones, and other names, stay. */
Test(outdir, tidy_leaves_what_is_being_written) {
    static const char *const left[] = {"state.ckpt.partial-1-0",
                                       "model/model.safetensors.partial-77-3"};
    static const char *const others[] = {"notes.partial-a-0", "notes.partial-1-",
                                         "notes.partial-1-0.txt", "partial-1-0"};
    struct nvdp__output mine = {0};
    int ready[2], go_on[2];
    char byte = 0;
    make_folders();
    for (size_t i = 0; i < 2; i++)
        support_write_text(file_of(left[i]), "half");
    for (size_t i = 0; i < 4; i++)
        support_write_text(file_of(others[i]), "whole");
    cr_assert_eq(pipe(ready), 0);
    cr_assert_eq(pipe(go_on), 0);
    expect_end(write_elsewhere(file_of("result.json"), ready[1], -1));
    const pid_t live = write_elsewhere(file_of("predictions_dev.tsv"), ready[1], go_on[0]);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(read(ready[0], &byte, 1), 1);
    ok(nvdp__output_open(ctx, file_of("model/config.json"), &mine));
    ok(nvdp__outdir_tidy(ctx, file_of("")));
    for (size_t i = 0; i < 2; i++)
        cr_expect(!nvdp__exists(file_of(left[i])), "%s", left[i]);
    for (size_t i = 0; i < 4; i++)
        cr_expect(nvdp__exists(file_of(others[i])), "%s", others[i]);
    cr_assert_eq(write(go_on[1], &byte, 1), 1);
    expect_end(live);
    ok(nvdp__output_commit(&mine, true));
    cr_expect(nvdp__exists(file_of("predictions_dev.tsv")));
    cr_expect(nvdp__exists(file_of("model/config.json")));
    cr_expect(!nvdp__exists(file_of("result.json")));
    /* the folder has nothing else: partial files of ended processes are removed */
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(remove(file_of(others[i])), 0);
    static const char *const whole[] = {"predictions_*.tsv", "model/*.json", "model"};
    ok(nvdp__outdir_remove(ctx, file_of(""), whole, 3));
    cr_expect(nvdp__directory_empty(file_of("")));
}

/* A missing folder has no leftovers. */
Test(outdir, tidy_takes_what_is_not_there) {
    ok(nvdp__outdir_tidy(ctx, support_scratch_path("none")));
}
