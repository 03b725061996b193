/* Tests that kill (SIGKILL) nvdp train, sweep and export repeatedly at random moments. Finished work counts, no
 * incomplete file has a final name, and the final result equals that of an undisturbed run. NVDP_KILLS is the number of
 * kills; make long: 40. */
#include "program.h"

#include <glob.h>

static int kills(void) {
    return (int)support_repeats("NVDP_KILLS", 1);
}

static bool exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Returns the duration of an undisturbed `nvdp ARGS`. */
static double whole(const char *args) {
    const double begin = now();
    program_expect(0, "%s --quiet", args);
    return now() - begin;
}

/* Starts `nvdp ARGS` and kills its process group after a random time in [0, limit) seconds. Returns true if it was
 * killed, false if it had succeeded by then. */
static bool killed(struct nvdp__stream *stream, double limit, const char *args) {
    nvdp__autofree char *line = NULL;
    cr_assert_gt(asprintf(&line, "XDG_CACHE_HOME=%s exec %s/nvdp %s --quiet >%s 2>&1",
                          support_scratch_path("cache"), NVDP_BINARY_DIR, args,
                          support_scratch_path("said")),
                 0);
    const pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    setpgid(child, child); /* parent and child both set it, in any order */
    usleep((useconds_t)(1e6 * limit * nvdp__stream_uniform(stream)));
    kill(-child, SIGKILL);
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) return true;
    char *said = support_read(support_scratch_path("said"));
    cr_assert_eq(WEXITSTATUS(status), 0, "%s: exit code %d: %s", args, WEXITSTATUS(status), said);
    return false;
}

static struct nvdp__stream moments(void) {
    static const struct nvdp__noise noise = {.seed = 5};
    return nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
}

static void no_leftovers(const char *pattern) {
    glob_t found;
    cr_expect_eq(glob(support_scratch_path(pattern), 0, NULL, &found), GLOB_NOMATCH);
}

/* A run resumed from its saved state, or restarted without one, has the same weights. */
Test(killed, train) {
    struct nvdp__stream stream = moments();
    nvdp__autofree char *args = NULL, *begin = NULL, *resume = NULL;
    const char *out = support_scratch_path("parts");
    cr_assert_gt(asprintf(&args, "train %s --epochs 6 --out %s", program_train_options(),
                          support_scratch_path("whole")),
                 0);
    cr_assert_gt(
        asprintf(&begin, "train %s --epochs 6 --overwrite --out %s", program_train_options(), out),
        0);
    cr_assert_gt(asprintf(&resume, "train --resume %s --threads 1", out), 0);
    const double seconds = whole(args);
    for (int done = 0; done < kills();) {
        const bool begun = exists(support_scratch_path("parts/run.json"));
        if (killed(&stream, seconds / 2, begun ? resume : begin)) {
            done++;
        } else {
            cr_assert(support_same_file(support_scratch_path("whole"),
                                        support_scratch_path("parts"), "model/model.safetensors"));
            cr_assert_eq(unlink(support_scratch_path("parts/run.json")), 0); /* forces a new run */
        }
    }
    whole(exists(support_scratch_path("parts/run.json")) ? resume : begin);
    cr_assert(support_same_file(support_scratch_path("whole"), support_scratch_path("parts"),
                                "model/model.safetensors"));
    no_leftovers("parts/*partial*");
    no_leftovers("parts/model/*partial*");
}

/* In the end every run of the grid is done, with the scores of an undisturbed sweep. */
Test(killed, sweep) {
    struct nvdp__stream stream = moments();
    char *args[2] = {NULL, NULL};
    glob_t found;
    const char *grid = support_scratch_path("grid.json");
    FILE *file = fopen(grid, "w");
    cr_assert_not_null(file);
    fprintf(file,
            "{\"tasks\": [\"sst2\"], \"data\": {\"sst2\": \"%s\"}, \"model\": \"%s\", \"methods\": "
            "[\"vib-fixed\", \"nvdp\"], \"lambdas\": [0.001], \"seeds\": [1, 2], \"epochs\": 2, "
            "\"max-length\": 12, \"batch\": 16, \"lr\": 3e-3}",
            program_task(), program_model());
    cr_assert_eq(fclose(file), 0);
    const char *const name[] = {"whole", "parts"};
    for (int k = 0; k < 2; k++)
        cr_assert_gt(asprintf(&args[k], "sweep %s --out %s --jobs 2 --threads 1", grid,
                              support_scratch_path(name[k])),
                     0);
    const double seconds = whole(args[0]);
    for (int done = 0; done < kills(); done++)
        killed(&stream, seconds, args[1]);
    whole(args[1]);
    const char *pattern = support_path("%s/runs/*/result.json", support_scratch_path("whole"));
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0);
    cr_assert_eq(found.gl_pathc, 4);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *run = strstr(found.gl_pathv[i], "/whole/runs/") + strlen("/whole/");
        const char *path = support_path("%s/%s", support_scratch_path("parts"), run);
        const json_t *one = support_json(found.gl_pathv[i]), *two = support_json(path);
        cr_expect(json_equal(json_object_get(one, "test"), json_object_get(two, "test")), "%s",
                  path);
    }
    globfree(&found);
    free(args[0]);
    free(args[1]);
}

/* The file is complete or missing. The next export removes partial files. */
Test(killed, export) {
    struct nvdp__stream stream = moments();
    nvdp__autofree char *args = NULL, *train = NULL;
    const char *file = support_scratch_path("folder/shared.h5");
    cr_assert_eq(mkdir(support_scratch_path("folder"), 0777), 0);
    cr_assert_gt(asprintf(&train, "train %s --epochs 1 --out %s", program_train_options(),
                          support_scratch_path("run")),
                 0);
    whole(train);
    cr_assert_gt(asprintf(&args, "export %s --split train,dev --samples 20 --no-ledger --out %s",
                          support_scratch_path("run"), file),
                 0);
    const double seconds = whole(args);
    for (int done = 0; done < kills();) {
        cr_assert_eq(unlink(file), 0);
        done += killed(&stream, seconds, args);
        if (!exists(file)) whole(args);
        program_expect(0, "verify $DIR/folder/shared.h5");
    }
    no_leftovers("folder/*partial*");
}
