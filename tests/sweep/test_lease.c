/* Tests of leases between processes of one machine, and between machines. */
#include "base/file.h"
#include "support.h"
#include "sweep/sweep.h"

static const double TIMEOUT = 60;

static const char *sweep_directory(void) {
    const char *directory = support_scratch_path("sweep");
    const char *path = support_path("%s/claims", directory);
    ok(nvdp__make_directory(NULL, path));
    return directory;
}

static enum sweep_lease_state look(const char *directory, struct sweep_lease *lease) {
    enum sweep_lease_state state;
    struct sweep_process self = sweep_process_self();
    ok(sweep_lease_look(NULL, directory, "run", &self, lease, &state));
    return state;
}

static bool take(const char *directory, struct sweep_lease *lease) {
    bool won = false;
    struct sweep_process self = sweep_process_self();
    ok(sweep_lease_take(NULL, directory, "run", &self, TIMEOUT, lease, &won));
    return won;
}

static void rest(double seconds) {
    nanosleep(
        &(struct timespec){(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))},
        NULL);
}

/* Starts a process that takes the lease, reports this, and lives until it is killed. With `heir` it leaves a child that
 * holds the lock, and exits. */
static pid_t start_process(const char *directory, bool heir, pid_t *child) {
    int ends[2];
    pid_t said = 0;
    cr_assert_eq(pipe(ends), 0);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        struct sweep_lease lease = {0};
        enum sweep_lease_state state;
        bool won = false;
        struct sweep_process self = sweep_process_self();
        (void)sweep_lease_look(NULL, directory, "run", &self, &lease, &state);
        (void)sweep_lease_take(NULL, directory, "run", &self, TIMEOUT, &lease, &won);
        pid_t own = heir ? fork() : getpid();
        if (own == 0) {
            close(ends[1]);
            pause();
            _exit(0);
        }
        if (write(ends[1], &own, sizeof own) != sizeof own || heir) _exit(won ? 0 : 1);
        pause();
        _exit(0);
    }
    close(ends[1]);
    cr_assert_eq(read(ends[0], &said, sizeof said), sizeof said);
    close(ends[0]);
    if (child != NULL) *child = said;
    return pid;
}

static void end_process(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

Test(lease, one_s_own_keeps_others_out_until_it_is_given_back) {
    const char *directory = sweep_directory();
    struct sweep_process self = sweep_process_self();
    struct sweep_lease mine = {0}, other = {0};
    cr_assert_eq(look(directory, &mine), SWEEP_LEASE_FREE);
    cr_assert(take(directory, &mine));
    cr_assert_eq(look(directory, &other), SWEEP_LEASE_HELD);
    ok(sweep_lease_release(NULL, directory, "run", &self, "failed", &mine));
    cr_assert_eq(look(directory, &other), SWEEP_LEASE_FREE);
    cr_assert(take(directory, &other));
    cr_assert_eq(other.number, 2);
    sweep_lease_forget(&other);
}

Test(lease, a_dead_process_of_this_machine_is_noticed_at_once) {
    const char *directory = sweep_directory();
    struct sweep_lease lease = {0};
    pid_t pid = start_process(directory, false, NULL);
    cr_assert_eq(look(directory, &lease), SWEEP_LEASE_HELD);
    end_process(pid);
    cr_assert_eq(look(directory, &lease), SWEEP_LEASE_FREE);
    cr_assert(take(directory, &lease));
    cr_assert_eq(lease.number, 2);
    sweep_lease_forget(&lease);
}

Test(lease, a_worker_that_outlives_its_process_keeps_the_run) {
    const char *directory = sweep_directory();
    struct sweep_lease lease = {0};
    pid_t heir = 0;
    pid_t pid = start_process(directory, true, &heir);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    cr_assert_eq(look(directory, &lease), SWEEP_LEASE_HELD);
    kill(heir, SIGKILL);
    for (int i = 0; i < 500 && look(directory, &lease) != SWEEP_LEASE_FREE; i++)
        rest(0.01);
    cr_assert_eq(look(directory, &lease), SWEEP_LEASE_FREE);
}

/* Two processes see the same dead lease, and the second decides late. */
Test(lease, of_two_takers_one_wins) {
    const char *directory = sweep_directory();
    struct sweep_process self = sweep_process_self();
    struct sweep_lease a = {0}, b = {0};
    end_process(start_process(directory, false, NULL));
    cr_assert_eq(look(directory, &a), SWEEP_LEASE_FREE);
    cr_assert_eq(look(directory, &b), SWEEP_LEASE_FREE);
    cr_assert(take(directory, &b));
    cr_assert_not(take(directory, &a));
    cr_assert_eq(look(directory, &a), SWEEP_LEASE_HELD);
    /* The late one fails even after the winner has exited. */
    struct sweep_lease late = {.number = 1};
    ok(sweep_lease_release(NULL, directory, "run", &self, "done", &b));
    cr_assert_not(take(directory, &late));
}

Test(lease, of_many_processes_at_once_one_wins) {
    enum { PROCESSES = 12, ROUNDS = 10 };
    const char *directory = sweep_directory();
    for (int round = 0; round < ROUNDS; round++) {
        pid_t pid[PROCESSES];
        int ends[2], winners = 0;
        cr_assert_eq(pipe(ends), 0);
        for (int i = 0; i < PROCESSES; i++) {
            pid[i] = fork();
            cr_assert_geq(pid[i], 0);
            if (pid[i] > 0) continue;
            char go;
            struct sweep_lease lease = {0};
            enum sweep_lease_state state;
            struct sweep_process self = sweep_process_self();
            bool won = false;
            close(ends[1]);
            (void)!read(ends[0], &go, 1); /* the end of the pipe releases all at once */
            (void)sweep_lease_look(NULL, directory, "run", &self, &lease, &state);
            if (state == SWEEP_LEASE_FREE && lease.number == (uint64_t)round)
                (void)sweep_lease_take(NULL, directory, "run", &self, TIMEOUT, &lease, &won);
            _exit(won ? 1 : 0); /* like a killed process: the lease is free then */
        }
        close(ends[0]);
        close(ends[1]);
        for (int i = 0; i < PROCESSES; i++) {
            int raw = 0;
            cr_assert_eq(waitpid(pid[i], &raw, 0), pid[i]);
            cr_assert(WIFEXITED(raw));
            winners += WEXITSTATUS(raw);
        }
        cr_assert_eq(winners, 1, "round %d: %d winners", round, winners);
    }
}

/* --- other machines --- */

static void write_remote(const char *directory, const char *timeout) {
    char text[512];
    const char *path = support_path("%s/claims/run.1", directory);
    snprintf(text, sizeof text,
             "{\"host\": \"far\", \"boot\": \"another\", \"pid\": 1, \"started\": 1%s%s}",
             timeout != NULL ? ", \"timeout\": " : "", timeout != NULL ? timeout : "");
    support_write_text(path, text);
}

static void touch(const char *directory, long second) {
    const char *path = support_path("%s/claims/run.1", directory);
    const struct timespec times[2] = {{second, 0}, {second, 0}};
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

Test(lease, one_of_another_machine_is_held_while_it_is_renewed) {
    const char *directory = sweep_directory();
    struct sweep_lease lease = {0};
    write_remote(directory, "0.3");
    touch(directory, 1000000); /* its clock may be wrong: only changes count */
    cr_assert_eq(look(directory, &lease), SWEEP_LEASE_SILENT);
    for (int i = 1; i <= 4; i++) {
        rest(0.12);
        touch(directory, 1000000 + i);
        cr_assert_eq(look(directory, &lease), SWEEP_LEASE_HELD);
    }
    rest(0.35);
    cr_assert_eq(look(directory, &lease), SWEEP_LEASE_FREE);
}

Test(lease, a_silent_one_is_free_after_its_own_timeout) {
    const char *directory = sweep_directory();
    struct sweep_lease lease = {0};
    write_remote(directory, "0.2");
    cr_assert_eq(look(directory, &lease), SWEEP_LEASE_SILENT);
    rest(0.25);
    cr_assert_eq(look(directory, &lease), SWEEP_LEASE_FREE);
    cr_assert(take(directory, &lease));
    cr_assert_eq(lease.number, 2);
    sweep_lease_forget(&lease);
}

Test(lease, a_damaged_record_is_somebody_elsewhere) {
    const char *directory = sweep_directory();
    struct sweep_lease lease = {0};
    const char *path = support_path("%s/claims/run.1", directory);
    support_write_text(path, "{\"host\":");
    cr_assert_eq(look(directory, &lease), SWEEP_LEASE_SILENT);
    write_remote(directory, NULL);
    cr_assert_eq(look(directory, &lease), SWEEP_LEASE_HELD, "rewritten: renewed");
}

Test(lease, who_was_taken_over_learns_it) {
    const char *directory = sweep_directory();
    struct sweep_lease mine = {0}, other = {.number = 1};
    cr_assert(take(directory, &mine));
    cr_assert(sweep_lease_renew(directory, "run", &mine));
    cr_assert(take(directory, &other)); /* like an observer that has seen no renewal */
    cr_assert_not(sweep_lease_renew(directory, "run", &mine));
    sweep_lease_forget(&mine);
    sweep_lease_forget(&other);
}

Test(lease, renewing_changes_the_file_s_time) {
    const char *directory = sweep_directory();
    struct sweep_lease mine = {0};
    struct stat before, after;
    const char *path = support_path("%s/claims/run.1", directory);
    cr_assert(take(directory, &mine));
    cr_assert_eq(stat(path, &before), 0);
    rest(0.02);
    cr_assert(sweep_lease_renew(directory, "run", &mine));
    cr_assert_eq(stat(path, &after), 0);
    cr_assert(after.st_mtim.tv_nsec != before.st_mtim.tv_nsec ||
              after.st_mtim.tv_sec != before.st_mtim.tv_sec);
    sweep_lease_forget(&mine);
}
