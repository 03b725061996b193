/* Tests of whole sweeps on a tiny task: every run is done once, with any number of workers and after kills. */
#include "sweep/sweep.h"
#include "tiny_task.h"

#include <omp.h>

/* Writes a grid of the tiny task with these additional members, in single quotes. Returns its path. */
static const char *write_grid(const struct task *task, const char *members) {
    return support_file("grid.json",
                        support_quoted(support_path(
                            "{'tasks': ['sst2'], 'data': '%s', 'model': '%s', 'batch': 8, 'lr': "
                            "1e-2, 'max_length': 10, 'alpha_tau': 0, 'eval_draws': 2, %s}",
                            task->data, task->model, members)));
}

static struct sweep_config config_of(const char *grid, const char *out) {
    struct sweep_config config = sweep_config_default;
    config.grid = grid;
    config.out = out;
    return config;
}

/* Makes the tiny task and a grid of it with these members. */
static struct sweep_config config_with(struct nvdp_context *ctx, const char *members,
                                       const char *out) {
    const struct task task = task_make(ctx);
    return config_of(write_grid(&task, members), support_scratch_path(out));
}

static struct sweep_plan *plan_of(struct nvdp_context *ctx, const struct sweep_config *config,
                                  bool sizes) {
    struct sweep_plan *plan = NULL;
    ok(sweep_plan(ctx, config, sizes, &plan));
    return support_keep(plan);
}

static struct sweep_result must_sweep(struct nvdp_context *ctx, const struct sweep_config *config) {
    struct sweep_result result;
    ok(run_sweep(ctx, config, &result));
    return result;
}

static bool exists(const char *directory, const char *name) {
    return access(support_path("%s/%s", directory, name), F_OK) == 0;
}

struct names {
    size_t count;
    const char *name[64];
};

/* Lists the names in a folder in order. */
static struct names names_in(const char *directory, const char *folder) {
    const char *path = support_path("%s/%s", directory, folder);
    struct names names = {0};
    struct dirent **entries;
    const int count = scandir(path, &entries, NULL, alphasort);
    cr_assert(count >= 2 && count < 66, "%d files in folder %s", count, path);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.')
            names.name[names.count++] = support_path("%s", entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return names;
}

static size_t count_in(const char *directory, const char *folder) {
    return names_in(directory, folder).count;
}

static json_t *read_object(const char *directory, const char *run, const char *file) {
    return support_json(support_path("%s/runs/%s/%s", directory, run, file));
}

static void same_value(const json_t *a, const json_t *b, const char *key, const char *run) {
    cr_assert(json_equal(json_object_get(a, key), json_object_get(b, key)), "%s: %s differs", run,
              key);
}

/* Expects the same runs with the same results, to the bit, in both directories. */
static void same_results(const char *a, const char *b) {
    static const char *const keys[] = {"validation", "test",   "best_epoch", "epochs",
                                       "steps",      "loss_g", "loss_d"};
    const struct names runs = names_in(a, "runs");
    cr_assert_eq(count_in(b, "runs"), runs.count);
    for (size_t i = 0; i < runs.count; i++) {
        const char *name = runs.name[i];
        json_t *x = read_object(a, name, "result.json"), *y = read_object(b, name, "result.json");
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            same_value(x, y, keys[k], name);
        const char *dir_a = support_path("%s/runs/%s", a, name),
                   *dir_b = support_path("%s/runs/%s", b, name);
        cr_assert(support_same_file(dir_a, dir_b, "model/model.safetensors"), "%s", name);
        bool private_ = strstr(name, "nvdp") != NULL;
        cr_assert_eq(exists(dir_a, "privacy.json"), private_);
        if (private_) cr_assert(support_same_file(dir_a, dir_b, "privacy.json"), "%s", name);
    }
}

#define SMALL "'methods': ['base', 'nvdp'], 'lambdas': [1e-3, 1e-1], 'epochs': 1"

Test(sweep, makes_every_run_with_its_results) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    const char *out = support_scratch_path("sweep");
    const char *grid = write_grid(&task, SMALL ", 'seeds': [1, 2]");
    struct sweep_config config = config_of(grid, out);
    struct sweep_result result = must_sweep(ctx, &config);
    cr_assert_eq(result.runs, 6);
    cr_assert_eq(result.done, 6);
    cr_assert_eq(result.made, 6);
    cr_assert_eq(result.failed, 0);
    cr_assert_eq(count_in(out, "runs"), 6);
    cr_assert_eq(count_in(out, "claims"), 6);
    cr_assert_eq(count_in(out, "failed"), 0);
    const struct names runs = names_in(out, "runs");
    for (size_t i = 0; i < runs.count; i++) {
        const char *run = support_path("%s/runs/%s", out, runs.name[i]);
        cr_assert(exists(run, "model/model.safetensors"));
        cr_assert_not(exists(run, "state.ckpt"), "dropped: keep is \"model\"");
        cr_assert(exists(run, "log.txt"));
        cr_assert_not(exists(run, "progress.json"));
        json_t *label = read_object(out, runs.name[i], "sweep.json");
        cr_assert_str_eq(text_at(label, "label"), exists(run, "privacy.json") ? "nvdp" : "base");
    }
    /* A second call, with the stored grid, has nothing to do. */
    config.grid = NULL;
    result = must_sweep(ctx, &config);
    cr_assert_eq(result.done, 6);
    cr_assert_eq(result.made, 0);
}

Test(sweep, several_jobs_give_the_same_results) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    const char *grid = write_grid(&task, SMALL ", 'seeds': [1, 2]");
    struct sweep_config one = config_of(grid, support_scratch_path("one"));
    struct sweep_config three = config_of(grid, support_scratch_path("three"));
    three.jobs = 3;
    ok(nvdp_context_set_threads(ctx, 1)); /* bits depend on threads */
    cr_assert_eq(must_sweep(ctx, &one).made, 6);
    cr_assert_eq(must_sweep(ctx, &three).made, 6);
    same_results(one.out, three.out);
}

Test(sweep, a_changed_grid_keeps_what_still_fits) {
    struct nvdp_context *ctx = support_context();
    const struct task task = task_make(ctx);
    struct sweep_config config = config_of(write_grid(&task, SMALL), support_scratch_path("sweep"));
    const char *out = config.out;
    cr_assert_eq(must_sweep(ctx, &config).made, 3);
    config.grid = write_grid(&task, "'methods': ['base', {'name': 'mine', 'method': 'nvdp'}], "
                                    "'lambdas': [1e-1, 1], 'epochs': 1");
    struct sweep_result result = must_sweep(ctx, &config);
    cr_assert_eq(result.runs, 3);
    cr_assert_eq(result.made, 1);
    cr_assert_eq(count_in(out, "runs"), 4, "what the grid has lost stays");
    const struct names runs = names_in(out, "runs");
    int mine = 0;
    for (size_t i = 0; i < runs.count; i++) {
        json_t *label = read_object(out, runs.name[i], "sweep.json");
        mine += strcmp(text_at(label, "label"), "mine") == 0;
    }
    cr_assert_eq(mine, 2, "the finished run has the new label too");
}

/* --- several processes --- */

/* Runs the sweep in a separate process, which dies with this one. */
static pid_t start_sweep(const struct sweep_config *config) {
    (void)omp_pause_resource_all(omp_pause_hard); /* a child has none of its parent's threads */
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid > 0) return pid;
    struct nvdp_context *ctx = NULL;
    struct sweep_result result = {0};
    if (nvdp_context_create(&ctx) != NVDP_OK) _exit(100);
    (void)nvdp_context_set_threads(ctx, 1);
    nvdp_status status = run_sweep(ctx, config, &result);
    _exit(status == NVDP_OK ? (int)result.made : 101);
}

static int exit_code(pid_t pid) {
    int raw = 0;
    cr_assert_eq(waitpid(pid, &raw, 0), pid);
    cr_assert(WIFEXITED(raw), "killed by signal %d", WTERMSIG(raw));
    return WEXITSTATUS(raw);
}

Test(sweep, two_processes_on_one_directory_run_each_run_once) {
    struct nvdp_context *ctx = support_context();
    struct sweep_config config = config_with(ctx, SMALL ", 'seeds': [1, 2, 3, 4]", "sweep");
    const char *out = config.out;
    pid_t a = start_sweep(&config), b = start_sweep(&config);
    int made_a = exit_code(a), made_b = exit_code(b);
    cr_assert_eq(made_a + made_b, 12, "%d and %d", made_a, made_b);
    cr_assert_gt(made_a, 0);
    cr_assert_gt(made_b, 0);
    cr_assert_eq(count_in(out, "runs"), 12);
    cr_assert_eq(count_in(out, "claims"), 12, "no run was leased twice");
}

static void rest(long milliseconds) {
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000L}, NULL);
}

/* Returns true if a run has a state to resume from. */
static bool has_state(const char *out) {
    if (!exists(out, "runs")) return false;
    const struct names runs = names_in(out, "runs");
    for (size_t i = 0; i < runs.count; i++)
        if (exists(out, support_path("runs/%s/state.ckpt", runs.name[i]))) return true;
    return false;
}

Test(sweep, killed_again_and_again_ends_in_the_same_results) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    const char *grid = write_grid(
        &task, SMALL
        ", 'per_method': {'nvdp': {'epochs': 3}}, 'seeds': [1, 2], 'checkpoint_seconds': 0.03");
    struct sweep_config whole = config_of(grid, support_scratch_path("whole"));
    struct sweep_config parts = config_of(grid, support_scratch_path("parts"));
    ok(nvdp_context_set_threads(ctx, 1));
    must_sweep(ctx, &whole);
    int kills = 0;
    for (int i = 0; i < 5; i++) {
        pid_t pid = start_sweep(&parts);
        for (int k = 0; k < 2000 && !has_state(parts.out) && waitpid(pid, NULL, WNOHANG) == 0; k++)
            rest(2);
        rest(37 * i % 90); /* at some point in training, measuring or between */
        kills += kill(pid, SIGKILL) == 0;
        waitpid(pid, NULL, 0);
    }
    cr_assert_gt(kills, 2);
    struct sweep_result result = must_sweep(ctx, &parts);
    cr_assert_eq(result.done, 6);
    cr_assert_eq(result.failed, 0);
    cr_assert_gt(count_in(parts.out, "claims"), 6, "leases of the dead were taken over");
    same_results(whole.out, parts.out);
}

/* --- failures --- */

static void write_task(const char *directory, const char *label) {
    const char *text = support_path("sentence\tlabel\ngood cat\t1\nbad cat\t0\ngood sun\t1\nbad "
                                    "sun\t0\ngood sea\t1\nbad sea\t%s\n",
                                    label);
    mkdir(directory, 0777);
    support_write_text(support_path("%s/train.tsv", directory), text);
    support_write_text(support_path("%s/dev.tsv", directory), text);
}

Test(sweep, failures_are_recorded_and_do_not_stop_the_rest) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    const char *out = support_scratch_path("sweep"), *bad = support_scratch_path("bad");
    write_task(bad, "many");
    const char *members =
        support_path("'methods': [{'name': 'broken', 'method': 'base', 'data': '%s', 'seed': 7, "
                     "'holdout': 0.4}, 'base', 'nvdp'], 'epochs': 1",
                     bad);
    struct sweep_config config = config_of(write_grid(&task, members), out);
    struct sweep_result result = must_sweep(ctx, &config);
    cr_assert_eq(result.done, 2);
    cr_assert_eq(result.failed, 1);
    const struct sweep_plan *plan = plan_of(ctx, &config, false);
    cr_assert_eq(plan->run[0].state, SWEEP_FAILED);
    support_contains(plan->run[0].message, "train.tsv:7");
    /* Called a second time it stays failed; with retry it fails again; after repair it succeeds. */
    result = must_sweep(ctx, &config);
    cr_assert_eq(result.failed, 1);
    cr_assert_eq(result.made, 0);
    config.retry_failed = true;
    cr_assert_eq(must_sweep(ctx, &config).failed, 1);
    write_task(bad, "0");
    result = must_sweep(ctx, &config);
    cr_assert_eq(result.failed, 0);
    cr_assert_eq(result.made, 1);
    cr_assert_eq(count_in(out, "failed"), 0);
}

/* Crashes in workers only, although the parent calls it too. */
static bool crash(void *user) {
    const pid_t *parent = user;
    if (getpid() != *parent && getppid() == *parent) (void)raise(SIGABRT);
    return false;
}

Test(sweep, a_worker_that_crashes_is_a_failed_run) {
    struct nvdp_context *ctx = support_context();
    struct sweep_config config = config_with(ctx, "'methods': ['base'], 'epochs': 1", "sweep");
    pid_t self = getpid();
    nvdp_context_set_cancel(ctx, crash, &self);
    struct sweep_result result = must_sweep(ctx, &config);
    cr_assert_eq(result.failed, 1);
    const struct sweep_plan *plan = plan_of(ctx, &config, false);
    support_contains(plan->run[0].message, "signal 6");
    nvdp_context_set_cancel(ctx, NULL, NULL);
    config.retry_failed = true;
    cr_assert_eq(must_sweep(ctx, &config).done, 1);
}

struct stop_when {
    pid_t parent;
    const char *out;
};

/* Requests a stop in the parent only, once a worker has a state to save. */
static bool stop(void *user) {
    const struct stop_when *when = user;
    return getpid() == when->parent && has_state(when->out);
}

Test(sweep, on_cancel_states_are_saved_and_leases_given_back) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    struct sweep_config config = config_of(
        write_grid(&task,
                   "'methods': ['base'], 'epochs': 8, 'patience': 0, 'checkpoint_seconds': 0"),
        support_scratch_path("sweep"));
    struct stop_when when = {getpid(), config.out};
    struct sweep_result result;
    nvdp_context_set_cancel(ctx, stop, &when);
    fails(run_sweep(ctx, &config, &result), NVDP_ERR_CANCELLED,
          "run the same command again to continue");
    nvdp_context_set_cancel(ctx, NULL, NULL);
    const struct sweep_plan *plan = plan_of(ctx, &config, true);
    cr_assert_eq(plan->run[0].state, SWEEP_WAITING, "%s", sweep_run_state_name(plan->run[0].state));
    cr_assert_eq(plan->run[0].steps, 8 * 14); /* 108 texts in batches of 8 */
    cr_assert_gt(plan->run[0].memory_bytes, 0);
    /* Training continues later: a restart would rewrite run.json. */
    struct stat before, after;
    const char *path = support_path("%s/runs/%s/run.json", config.out, plan->run[0].name);
    cr_assert_eq(stat(path, &before), 0);
    cr_assert_eq(must_sweep(ctx, &config).done, 1);
    cr_assert_eq(stat(path, &after), 0);
    cr_assert_eq(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
    cr_assert_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

Test(sweep, sharing_leaves_readers_scores) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    const char *out = support_scratch_path("sweep"), *names = support_scratch_path("names");
    char text[4 * 160 + 1] = "";
    for (int i = 0; i < 160; i++)
        strcat(text, i % 3 == 0 ? "0\n" : "1\n");
    support_write_text(names, text);
    const char *members =
        support_path("'methods': ['base', 'nvdp'], 'epochs': 1, 'keep': 'results', 'share': "
                     "{'epochs': 1}, 'attack': '%s', 'privacy': {'order': 2}",
                     names);
    struct sweep_config config = config_of(write_grid(&task, members), out);
    cr_assert_eq(must_sweep(ctx, &config).done, 2);
    const struct names runs = names_in(out, "runs");
    for (size_t i = 0; i < runs.count; i++) {
        const char *run = support_path("%s/runs/%s", out, runs.name[i]);
        bool private_ = strstr(run, "nvdp-l") != NULL;
        cr_assert_eq(exists(run, "reuse.json"), private_);
        cr_assert_eq(exists(run, "attack.json"), private_);
        cr_assert_not(exists(run, "model"));
        cr_assert_not(exists(run, "shared.h5"));
        cr_assert(exists(run, "result.json"));
        if (!private_) continue;
        json_t *reuse = read_object(out, runs.name[i], "attack.json");
        cr_assert_not_null(support_at(reuse, "metrics/accuracy"));
        json_t *privacy = read_object(out, runs.name[i], "privacy-order-2.json");
        cr_assert_eq(number_at(privacy, "order"), 2);
    }
}

Test(sweep, one_who_does_not_wait_leaves_runs_to_those_who_have_them) {
    struct nvdp_context *ctx = support_context();
    struct sweep_config config = config_with(ctx, SMALL, "sweep");
    const char *out = config.out;
    nvdp__autoptr(sweep_plan_free) struct sweep_plan *plan = NULL;
    struct sweep_lease held = {0};
    bool won = false;
    struct sweep_process self = sweep_process_self();
    ok(sweep_plan(ctx, &config, false, &plan));
    const char *path = support_path("%s/claims", out);
    mkdir(out, 0777);
    mkdir(path, 0777);
    ok(sweep_lease_take(ctx, out, plan->run[1].name, &self, 60, &held, &won));
    cr_assert(won);
    config.leave = true;
    struct sweep_result result = must_sweep(ctx, &config);
    cr_assert_eq(result.runs, 3);
    cr_assert_eq(result.done, 2);
    sweep_lease_forget(&held);
}

struct taker {
    const char *out;
    struct sweep_lease lease;
    bool won;
};

/* Starts another process, which considers the running one dead. */
static void take_over(const struct sweep_state *state, void *user) {
    struct taker *taker = user;
    struct sweep_process self = sweep_process_self();
    if (taker->won || state->jobs == 0) return;
    taker->lease = (struct sweep_lease){.number = 1};
    (void)sweep_lease_take(NULL, taker->out, state->job[0].run, &self, 60, &taker->lease,
                           &taker->won);
}

Test(sweep, a_run_that_was_taken_over_is_let_go) {
    struct nvdp_context *ctx = support_context();
    struct sweep_config config =
        config_with(ctx, "'methods': ['base'], 'epochs': 5000, 'patience': 0", "sweep");
    struct taker taker = {.out = config.out};
    config.report = take_over;
    config.user = &taker;
    config.stale_seconds = 1; /* checks its leases eight times as often */
    config.leave = true;
    struct sweep_result result = must_sweep(ctx, &config);
    cr_assert(taker.won);
    cr_assert_eq(result.done, 0);
    cr_assert_eq(result.failed, 0);
    sweep_lease_forget(&taker.lease);
}

Test(sweep, nothing_is_run_where_a_file_of_the_grid_is_missing) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    const char *out = support_scratch_path("sweep");
    static const struct {
        const char *members, *message;
    } wrong[] = {
        {"'methods': ['base', {'method': 'nvdp', 'data': '/nowhere'}]",
         "/nowhere/train.tsv: cannot read"},
        {"'methods': ['base', {'method': 'nvdp', 'model': '/nowhere'}]", "/nowhere"},
        {"'methods': ['base', {'method': 'nvdp', 'max_length': 17}]",
         "max-length: expected at most 16, the model's max_position_embeddings"},
        {"'methods': ['base'], 'freeze_layers': 2", "'freeze_layers': expected at most"},
        {"'methods': ['nvdp'], 'latent_dim': 7, 'latent_heads': 2", "latent"},
        {"'methods': ['vtdp'], 'pool': 'weighted'", "method vtdp has no weights"},
        {"'methods': ['vtdp'], 'length': 9",
         "--length: expected at least 10, the value of --max-length"},
        {"'methods': ['nvdp'], 'share': true, 'attack': '/nowhere'", "'attack'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct sweep_result result;
        const char *grid = write_grid(&task, wrong[i].members);
        struct sweep_config config = config_of(grid, out);
        fails(run_sweep(ctx, &config, &result), NVDP_ERR_INPUT, wrong[i].message);
        cr_expect_not(exists(out, "runs"));
    }
}

/* --- state during the work --- */

#define LONG "'methods': ['base'], 'seeds': [1, 2, 3], 'epochs': 2000, 'patience': 0"

struct seen {
    bool step, eta;
    size_t done;
    double after; /* seconds until the first ETA */
};

/* Runs on privatized texts have the privacy of these texts: measured, or from their folder. */
Test(sweep, privatized_texts_have_their_privacy) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    const char *out = support_scratch_path("sweep"), *folder = support_scratch_path("noised");
    write_task(folder, "0");
    support_write_text(support_path("%s/measured.json", folder), "{\"method\": \"random\"}");
    const char *members = support_path(
        "'methods': [{'name': 'santext', 'method': 'base', 'token_noise': 'santext', 'eta': 3}, "
        "{'name': 'folder', 'method': 'base', 'data': '%s'}, 'base'], 'epochs': 1",
        folder);
    struct sweep_config config = config_of(write_grid(&task, members), out);
    struct sweep_result result = must_sweep(ctx, &config);
    cr_assert_eq(result.done, 3, "%s", nvdp_context_error(ctx));
    const struct names runs = names_in(out, "runs");
    int found = 0;
    for (size_t i = 0; i < runs.count; i++) {
        json_t *label = read_object(out, runs.name[i], "sweep.json");
        const char *name = text_at(label, "label");
        const char *path = support_path("%s/runs/%s", out, runs.name[i]);
        cr_assert_eq(exists(path, "privacy.json"), strcmp(name, "base") != 0);
        if (strcmp(name, "base") != 0) {
            json_t *privacy = read_object(out, runs.name[i], "privacy.json");
            const json_t *sanitizer = json_object_get(privacy, "sanitizer");
            cr_expect_str_eq(text_at(privacy, "method"), sanitizer != NULL ? "santext" : "random");
            if (sanitizer != NULL) cr_expect_eq(number_at(sanitizer, "eta"), 3);
            found++;
        }
    }
    cr_expect_eq(found, 2);
}

static void watch(const struct sweep_state *state, void *user) {
    struct seen *seen = user;
    for (size_t k = 0; k < state->jobs; k++) {
        const struct sweep_run_progress *at = &state->job[k].progress;
        if (strcmp(at->phase, "train") != 0) continue;
        cr_assert_not(state->job[k].elsewhere);
        cr_assert_eq(at->total, 2000 * 14); /* 108 texts in batches of 8 */
        seen->step |= strcmp(at->unit, "step") == 0 && at->rate > 0 && at->eta_seconds > 0;
    }
    if (isnan(state->eta_seconds) || seen->eta) return;
    seen->eta = true;
    seen->after = state->elapsed_seconds;
    seen->done = state->done;
}

/* Requests a stop in the parent only. */
static bool has_seen(void *user) {
    const struct seen *seen = *(struct seen **)user;
    return seen->step && seen->eta;
}

Test(sweep, steps_and_an_eta_are_told_before_any_run_is_done) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    struct seen seen = {0}, *shown = &seen;
    struct sweep_config config = config_of(write_grid(&task, LONG), support_scratch_path("sweep"));
    struct sweep_result result;
    config.report = watch;
    config.user = &seen;
    config.jobs = 2;
    nvdp_context_set_cancel(ctx, has_seen, &shown);
    cr_assert_eq(run_sweep(ctx, &config, &result), NVDP_ERR_CANCELLED);
    cr_assert_eq(seen.done, 0);
    cr_assert_lt(seen.after, 10);
}

static void watch_others(const struct sweep_state *state, void *user) {
    bool *seen = user;
    *seen = state->jobs == 1 && state->job[0].elsewhere &&
            state->job[0].progress.phase[0] != '\0' && state->job[0].progress.seconds > 0 &&
            !isnan(state->eta_seconds);
}

Test(sweep, others_runs_are_seen_and_a_killed_one_leaves_its_progress_whole) {
    struct nvdp_context *ctx = support_context();
    struct sweep_config config =
        config_with(ctx, "'methods': ['base'], 'epochs': 2000, 'patience': 0", "sweep");
    struct sweep_plan *plan = NULL;
    struct sweep_run_progress progress = {.phase = ""};
    bool seen = false;
    ok(sweep_plan(ctx, &config, false, &plan));
    pid_t other = start_sweep(&config);
    for (int i = 0; i < 1000 && strcmp(progress.phase, "train") != 0; i++) {
        rest(10);
        progress = sweep_progress_read(config.out, plan->run[0].name);
    }
    struct sweep_config guest = config;
    guest.leave = true;
    guest.report = watch_others;
    guest.user = &seen;
    for (int i = 0; i < 100 && !seen; i++) { /* until some steps are done and reported */
        rest(100);
        cr_assert_eq(must_sweep(ctx, &guest).made, 0);
    }
    cr_assert(seen);
    cr_assert_eq(kill(other, SIGKILL), 0);
    waitpid(other, NULL, 0);
    progress = sweep_progress_read(config.out, plan->run[0].name);
    cr_assert_str_neq(progress.phase, "");
    cr_assert_gt(progress.training_seconds, 0);
    sweep_plan_free(plan);
    /* The record belongs to a dead process: no run is running, and there is no estimate. */
    for (int i = 0; i < 500; i++) {
        ok(sweep_plan(ctx, &config, false, &plan));
        bool waiting = plan->run[0].state == SWEEP_WAITING;
        if (waiting) cr_assert(isnan(plan->seconds));
        sweep_plan_free(plan);
        if (waiting) break;
        cr_assert_lt(i, 499, "the worker still lives");
        rest(10);
    }
}
