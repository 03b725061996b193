/* Kills the processes of a private run at random moments and checks the files that they leave
 * (killed.h). In order: reading the files, an undisturbed run for comparison, the killed run.
 * Read killed_ends(), at the end, first. */
#include "killed.h"
#include "encoder/safetensors.h"

#include "base/cache.h"
#include "base/file.h"

enum { MAX_STEPS = 1000, PATH = 512, LONGER = PATH + 64 };

/* ---- files of a run ---- */

struct lines {
    double norm[MAX_STEPS + 1]; /* of a step's noised gradient; NaN: no line */
    uint64_t last;
    size_t count;
};

/* Reads the lines of metrics.jsonl; the last may be incomplete. */
static void read_lines(const char *out, struct lines *lines) {
    char path[LONGER], line[4096];
    snprintf(path, sizeof path, "%s/metrics.jsonl", out);
    *lines = (struct lines){.last = 0};
    for (size_t i = 0; i <= MAX_STEPS; i++)
        lines->norm[i] = NAN;
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        nvdp__autoptr(json_decref) json_t *object = json_loads(line, 0, NULL);
        const char *event = text_at(object, "event");
        if (event != NULL && strcmp(event, "step") == 0) {
            lines->last = (uint64_t)integer_at(object, "step");
            lines->norm[lines->last] = number_at(object, "grad_norm");
            lines->count++;
        }
    }
    if (file != NULL) fclose(file);
}

/* Returns the steps of the saved state; 0 if there is none. Lines of later steps are removed, as on a
 * resume, so that the next lines are new. */
static uint64_t saved_step(struct nvdp_context *ctx, const char *out) {
    char path[LONGER];
    struct nvdp__safetensors *file = NULL;
    nvdp__autoptr(json_decref) json_t *state = NULL;
    snprintf(path, sizeof path, "%s/state.ckpt", out);
    if (nvdp__exists(path)) {
        ok(nvdp__safetensors_open(ctx, path, &file));
        state = json_loads(nvdp__safetensors_metadata(file, "state"), 0, NULL);
        nvdp__safetensors_close(file);
    }
    uint64_t step = (uint64_t)integer_at(state, "step");
    snprintf(path, sizeof path, "%s/metrics.jsonl", out);
    (void)!truncate(path, integer_at(state, "metrics_bytes"));
    return step;
}

/* ---- the undisturbed run: the step of each of its models ---- */

struct whole {
    struct nvdp_context *ctx;
    char out[PATH], model[LONGER];
    uint64_t late;
    size_t models;
    struct {
        char digest[NVDP__DIGEST_HEX];
        uint64_t step;
    } at[MAX_STEPS];
};

static void note(struct whole *whole, uint64_t step) {
    char digest[NVDP__DIGEST_HEX];
    if (!nvdp__exists(whole->model)) return;
    ok(nvdp__file_sha256(whole->ctx, whole->model, digest));
    if (whole->models > 0 && strcmp(whole->at[whole->models - 1].digest, digest) == 0) return;
    memcpy(whole->at[whole->models].digest, digest, sizeof digest);
    whole->at[whole->models++].step = step;
}

/* Called between steps as the cancel function; records the models on disk and never cancels. */
static bool looks(void *user) {
    static struct lines lines;
    struct whole *whole = user;
    read_lines(whole->out, &lines);
    note(whole, lines.last - whole->late);
    return false;
}

static void run_whole(const struct killed_run *run, struct whole *whole) {
    nvdp_context_set_cancel(whole->ctx, looks, whole);
    ok(run->train(whole->ctx, run->config, whole->out, false));
    nvdp_context_set_cancel(whole->ctx, NULL, NULL);
    note(whole, run->steps);
    cr_assert_gt(whole->models, 1, "no model on the way");
}

/* Checks that the weights on disk are a model of a step that the state includes. */
static void check_model(const struct whole *whole, const char *model, uint64_t step) {
    char digest[NVDP__DIGEST_HEX];
    if (!nvdp__exists(model)) return;
    ok(nvdp__file_sha256(whole->ctx, model, digest));
    size_t i = 0;
    while (i < whole->models && strcmp(whole->at[i].digest, digest) != 0)
        i++;
    cr_assert_lt(i, whole->models, "a model that no run without kills has");
    cr_assert_leq(whole->at[i].step, step, "a model of step %zu, a state of step %zu",
                  (size_t)whole->at[i].step, (size_t)step);
}

/* ---- the run that is killed ---- */

static pid_t begin(struct nvdp_context *ctx, const struct killed_run *run, const char *out) {
    char record[LONGER];
    snprintf(record, sizeof record, "%s/%s", out, run->record);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid > 0) return pid;
    nvdp_status status = run->train(ctx, run->config, out, nvdp__exists(record));
    if (status != NVDP_OK) fprintf(stderr, "%s\n", nvdp_context_error(ctx));
    _exit(status == NVDP_OK ? 0 : 1);
}

static void rest(double milliseconds) {
    nanosleep(&(struct timespec){.tv_nsec = (long)(1e6 * milliseconds)}, NULL);
}

/* Waits up to 60 ms. Two of every three processes have trained by then; the third may have only
 * started. */
static void wait_for(pid_t pid, const char *out, bool trains, unsigned *seed) {
    static struct lines before, now;
    siginfo_t ended = {0};
    read_lines(out, &before);
    now = before;
    while (trains && now.last == before.last && ended.si_pid == 0) {
        rest(1);
        read_lines(out, &now);
        cr_assert_eq(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT), 0);
    }
    rest(60 * pow((double)rand_r(seed) / RAND_MAX, 2));
}

/* Totals over all processes of all runs. */
struct tally {
    int kills;
    size_t redone, same; /* steps of lost processes; those drawn again identically */
    unsigned seed;
};

/* Runs to the end, with at most `kills` kills. */
static void run_killed(const struct killed_run *run, const struct whole *whole, const char *out,
                       int kills, struct tally *tally) {
    static struct lines lost, lines;
    char model[LONGER];
    uint64_t step = 0;
    int raw = 1;
    snprintf(model, sizeof model, "%s/%s", out, run->model);
    read_lines("", &lost);
    for (int life = 0; !WIFEXITED(raw); life++) {
        pid_t pid = begin(whole->ctx, run, out);
        if (life < kills) {
            wait_for(pid, out, life % 3 > 0, &tally->seed);
            (void)!kill(pid, SIGKILL);
        }
        cr_assert_eq(waitpid(pid, &raw, 0), pid);
        tally->kills += WIFSIGNALED(raw);
        read_lines(out, &lines);
        for (uint64_t s = step + 1; s <= run->steps; s++) {
            if (isnan(lost.norm[s]) || isnan(lines.norm[s])) continue;
            tally->redone++;
            tally->same += lost.norm[s] == lines.norm[s];
        }
        step = saved_step(whole->ctx, out);
        if (run->seeded) check_model(whole, model, step);
        lost = lines;
        for (uint64_t s = 0; s <= step; s++)
            lost.norm[s] = NAN;
    }
    cr_assert_eq(WEXITSTATUS(raw), 0, "the run did not end");
    cr_expect(lines.count == run->steps && lines.last == run->steps, "%zu lines", lines.count);
    snprintf(model, sizeof model, "%s/result.json", out);
    json_t *root = json_load_file(model, 0, NULL);
    cr_expect_eq((uint64_t)json_integer_value(support_at(root, "dp/steps")), run->steps);
    json_decref(root);
    if (run->seeded) cr_expect(support_same_file(whole->out, out, run->model));
}

void killed_ends(const struct killed_run *run, int kills) {
    static struct whole whole;
    struct tally tally = {.seed = support_seed("NVDP_KILLS")};
    char out[PATH], record[LONGER];
    cr_assert_leq(run->steps, MAX_STEPS);
    whole = (struct whole){.ctx = support_context(), .late = run->late};
    ok(nvdp_context_set_threads(whole.ctx, 1)); /* more are lost in a fork */
    snprintf(out, sizeof out, "%s", support_scratch_path("killed"));
    snprintf(record, sizeof record, "%s/%s", out, run->record);
    snprintf(whole.out, sizeof whole.out, "%s", support_scratch_path("whole"));
    snprintf(whole.model, sizeof whole.model, "%s/%s", whole.out, run->model);
    if (run->seeded) run_whole(run, &whole);
    kills = (int)support_repeats("NVDP_KILLS", (size_t)kills);
    /* Usually one run; more if all kills happened while a state was written. */
    while (tally.kills < kills || (tally.redone == 0 && tally.kills < 20 * kills)) {
        run_killed(run, &whole, out, kills, &tally);
        (void)!remove(record); /* the next run begins anew */
    }
    cr_expect_gt(tally.redone, 0, "no process died between two states");
    cr_expect_eq(tally.same, run->seeded ? tally.redone : 0, "%zu of %zu drawn again", tally.same,
                 tally.redone);
}
