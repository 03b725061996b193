/* Tests of mpirun -n P nvdp train and pretrain: equal results to one process, a killed rank, a stopped job. Skipped
 * without mpirun or if the program was built without MPI. */
#include "program.h"
#include "threads.h"

/* Allows tests by root, and more processes than processors. */
static const char MPIRUN[] = "OMP_NUM_THREADS=1 mpirun --allow-run-as-root --oversubscribe";

/* Sums have another order, as in tests/train/test_ranks.c. */
static const double ROUNDING = 1e-5;

static void need_mpi(void) {
#ifdef NVDP_SANITIZED
    cr_skip_test("MPI's own memory is never released");
#endif
    if (system("mpirun --version >/dev/null 2>&1") != 0) cr_skip_test("mpirun is not there");
    if (system("ldd " NVDP_BINARY_DIR "/nvdp | grep -q libmpi") != 0)
        cr_skip_test("nvdp was built without MPI");
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

/* Expects that `nvdp ARGS --out RUN` gives the same model with one process and with each number in `size` (ended by
 * 0). */
static void equals_one(const char *args, const int *size, const char *model, const char *printed) {
    const char *one = support_scratch_path("one");
    const char *many = support_scratch_path("many");
    struct outcome o = program_expect(0, "%s --out $DIR/one", args);
    for (; *size != 0; size++) {
        o = program_shell("%s -n %d " NVDP_BINARY_DIR "/nvdp %s --overwrite --out $DIR/many",
                          MPIRUN, *size, args);
        cr_assert_eq(o.code, 0, "%d: %s", *size, o.err);
        cr_expect_eq(count_of(o.out, printed), 1, "%s", o.out); /* printed by rank 0 only */
        support_same_runs(one, many, model, ROUNDING);
    }
}

Test(mpi, training_equals_one_process) {
    need_mpi();
    const char *args =
        support_path("train %s --log-every 1 --method nvdp", program_train_options());
    equals_one(args, (const int[]){2, 3, 8, 0}, "model/model.safetensors", "best epoch");
}

Test(mpi, private_training_equals_one_process) {
    char args[8192];
    need_mpi();
    snprintf(args, sizeof args,
             "train %s --log-every 1 --method base --dp-batch 20 --dp-noise 0.7 --insecure-seed 3",
             program_train_options());
    equals_one(args, (const int[]){4, 0}, "model/model.safetensors", "best epoch");
}

static const char *pretrain_options(void) {
    static char args[4096];
    char text[8192] = "";
    for (int d = 0; d < 12; d++) {
        for (int s = 0; s < 6; s++)
            sprintf(text + strlen(text), "the %s was %s .\n", d % 2 ? "film" : "plot",
                    (s + d) % 3 ? "good" : "so bad");
        strcat(text, "\n");
    }
    snprintf(
        args, sizeof args,
        "pretrain --text %s --vocab-size 60 --hidden 16 --layers 1 --heads 2 --intermediate 32 "
        "--length 16 --batch 8 --lr 1e-3 --threads 1",
        support_file("text.txt", text));
    return args;
}

Test(mpi, pretraining_equals_one_process) {
    need_mpi();
    const char *args = support_path("%s --steps 12 --log-every 1", pretrain_options());
    equals_one(args, (const int[]){5, 0}, "model.safetensors", "trained");
}

/* ---- jobs that end early ---- */

static pid_t start(const char *args, int size) {
    nvdp__autofree char *line = NULL;
    cr_assert_gt(asprintf(&line, "exec env %s -n %d %s/nvdp %s >%s 2>%s", MPIRUN, size,
                          NVDP_BINARY_DIR, args, support_scratch_path("stdout"),
                          support_scratch_path("stderr")),
                 0);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    return child;
}

/* Returns the process that mpirun started with this rank for this run; 0: none. */
static pid_t find_rank(const char *run, int rank) {
    pid_t found = 0;
    const char *wanted = support_path("OMPI_COMM_WORLD_RANK=%d", rank);
    DIR *directory = opendir("/proc");
    for (struct dirent *entry; (entry = readdir(directory)) != NULL && found == 0;) {
        char path[2][300];
        pid_t pid = (pid_t)atoi(entry->d_name);
        bool matched[2] = {false, false};
        if (pid <= 0) continue;
        snprintf(path[0], sizeof path[0], "/proc/%s/cmdline", entry->d_name);
        snprintf(path[1], sizeof path[1], "/proc/%s/environ", entry->d_name);
        for (int i = 0; i < 2; i++) {
            static char text[1 << 17];
            FILE *file = fopen(path[i], "r");
            size_t size = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
            if (file != NULL) fclose(file);
            text[size] = '\0';
            for (char *word = text; word < text + size; word += strlen(word) + 1)
                matched[i] |= strcmp(word, i == 0 ? run : wanted) == 0;
        }
        if (matched[0] && matched[1]) found = pid;
    }
    closedir(directory);
    return found;
}

static void wait_for_bytes(const char *path) {
    struct stat info = {.st_size = 0};
    for (int i = 0; i < 30000 && (stat(path, &info) != 0 || info.st_size == 0); i++)
        usleep(1000);
    cr_assert_gt(info.st_size, 0, "%s", path);
}

static int exit_code(pid_t child) {
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Ends a long run of three processes by `end`, finishes it with one process, and compares with a run of one process.
 * Repeats with a longer run if the run finished before `end` (a machine that stalled). */
static void ends_and_goes_on(void (*end)(pid_t mpirun, const char *run), const char *message) {
    char args[8192], run[512], file[600];
    int code = 0, steps = 1250;
    do {
        steps *= 2;
        cr_assert_leq(steps, 20000, "no run could be ended before its time");
        snprintf(file, sizeof file, "run-%d", steps);
        snprintf(run, sizeof run, "%s", support_scratch_path(file));
        snprintf(args, sizeof args,
                 "%s --log-every 20 --steps %d --checkpoint-seconds 0.05 --out %s",
                 pretrain_options(), steps, run);
        pid_t job = start(args, 3);
        snprintf(file, sizeof file, "%s/metrics.jsonl", run);
        wait_for_bytes(file);
        end(job, run);
        code = exit_code(job);
        snprintf(file, sizeof file, "%s/result.json", run);
    } while (access(file, F_OK) == 0);
    cr_expect_neq(code, 0);
    char *err = support_read(support_scratch_path("stderr"));
    cr_expect_not_null(strstr(err, message), "%s", err);
    program_expect(0, "pretrain --resume %s --threads 1", run);
    program_expect(0, "%s --log-every 20 --steps %d --out $DIR/one", pretrain_options(), steps);
    support_same_runs(support_scratch_path("one"), run, "model.safetensors",
                      1e-3); /* thousands of steps accumulate rounding errors */
}

static void kill_a_rank(pid_t mpirun, const char *run) {
    (void)mpirun;
    pid_t rank = find_rank(run, 1);
    if (rank > 0) kill(rank, SIGKILL); /* 0: the job is done already */
}

Test(mpi, a_killed_rank_ends_the_job_with_a_saved_state) {
    need_mpi();
    ends_and_goes_on(kill_a_rank, "rank 1");
}

/* SIGUSR1 is forwarded at once and without a deadline. After SIGTERM Open MPI waits for a second, in which this run may
 * finish, and kills after another. */
static void stop(pid_t mpirun, const char *run) {
    (void)run;
    cr_assert_eq(kill(mpirun, SIGUSR1), 0);
}

Test(mpi, a_stopped_job_saves_its_state) {
    need_mpi();
    ends_and_goes_on(stop, "interrupted after step");
}

/* An error of all ranks is printed once, an error of one rank by that rank. */
Test(mpi, errors_are_told_once) {
    need_mpi();
    struct outcome o =
        program_shell("%s -n 3 " NVDP_BINARY_DIR
                      "/nvdp train --task sst2 --data /nowhere --model $MODEL --out $DIR/none",
                      MPIRUN);
    cr_expect_neq(o.code, 0);
    cr_expect_eq(count_of(o.err, "/nowhere/train.tsv"), 1, "%s", o.err);
}
