/* Tests runs with frozen layers: the same bits with and without the file of states, after a
 * kill, after damage, and with concurrent runs. */
#include "train_test.h"

struct fixture {
    struct nvdp_context *ctx;
    struct task task;
    const char *model, *cache;
    char damaged[1024];
    int notices;
};

static void take(enum nvdp_log_level level, const char *message, void *user) {
    struct fixture *fixture = user;
    if (level != NVDP_LOG_NOTICE || strstr(message, "damaged") == NULL) return;
    fixture->notices++;
    snprintf(fixture->damaged, sizeof fixture->damaged, "%s", message);
}

/* Makes a BERT of three layers on the task's data. */
static void open_fixture(struct fixture *fixture) {
    *fixture = (struct fixture){.ctx = support_context()};
    fixture->task = task_make(fixture->ctx);
    nvdp_context_set_log(fixture->ctx, take, fixture);
    struct nvdp_bert_config bert = NVDP_RESULT(struct nvdp_bert_config);
    fixture->model = support_scratch_path("three");
    fixture->cache = support_scratch_path("cache");
    const char *vocabulary = support_path("%s/vocab.txt", fixture->task.model);
    ok(nvdp_bert_config_read(fixture->ctx, fixture->task.model, &bert));
    bert.num_hidden_layers = 3;
    ok(nvdp_bert_create_random(fixture->ctx, &bert, 4, vocabulary, fixture->model));
}

static struct nvdp__train_options config_of(const struct fixture *fixture, const char *out) {
    struct nvdp__train_options config = task_config(&fixture->task, NVDP_METHOD_NVDP, out);
    config.model = fixture->model;
    config.cache = fixture->cache;
    task_set(&config, "freeze-layers 2 epochs 2 dropout 0.1");
    return config;
}

enum { STORES = 2 }; /* for the train file and the dev file */

/* Counts the files in the cache whose names begin with `kind`. *path (NULL: skip) is the path of the largest. */
static int files(const struct fixture *fixture, const char *kind, const char **path) {
    nvdp__autoptr(closedir) DIR *directory = opendir(fixture->cache);
    int count = 0;
    off_t largest = -1;
    if (directory == NULL) return 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strncmp(entry->d_name, kind, strlen(kind)) != 0) continue;
        count++;
        const char *name = support_path("%s/%s", fixture->cache, entry->d_name);
        struct stat info;
        if (path == NULL || stat(name, &info) != 0 || info.st_size <= largest) continue;
        largest = info.st_size;
        *path = name;
    }
    return count;
}

static void same_model(const char *a, const char *b) {
    cr_assert(support_same_file(a, b, "model/model.safetensors"), "%s %s", a, b);
}

static void kept_or_not(enum nvdp_protocol protocol, enum nvdp_method method) {
    struct fixture fixture;
    open_fixture(&fixture);
    const char *path = NULL;
    const char *kept = support_scratch_path("kept"), *found = support_scratch_path("found"),
               *computed = support_scratch_path("computed"), *bare = support_scratch_path("bare");
    struct nvdp__train_options config = config_of(&fixture, kept);
    config.protocol = protocol;
    config.method = method;
    const struct nvdp_train_result first = task_train(fixture.ctx, &config);
    cr_assert_eq(files(&fixture, "prefix-", &path), STORES);
    struct stat before, after;
    cr_assert_eq(stat(path, &before), 0);
    config.out = found;
    struct nvdp_train_result other = task_train(fixture.ctx, &config);
    cr_assert_eq(stat(path, &after), 0);
    cr_assert_eq(after.st_ino, before.st_ino); /* not rewritten */
    cr_assert_eq(files(&fixture, "prefix-", NULL), STORES);
    config.out = computed;
    config.no_prefix_cache = true;
    other = task_train(fixture.ctx, &config);
    config.out = bare;
    config.cache = NULL;
    other = task_train(fixture.ctx, &config);
    same_model(kept, found);
    same_model(kept, computed);
    same_model(kept, bare);
    cr_assert_eq(first.best_validation, other.best_validation);
    cr_assert_eq(first.test->mean[0], other.test->mean[0]);
    cr_assert_eq(first.loss_g, other.loss_g);
    /* a loaded model runs without a prefix and has the same score */
    struct nvdp_evaluation evaluated = task_evaluate(fixture.ctx, kept, 3);
    cr_assert_eq(evaluated.scores->mean[0], first.test->mean[0]);
    cr_assert_eq(fixture.notices, 0);
}

Test(frozen, the_same_bits_kept_found_or_computed) {
    kept_or_not(NVDP_PROTOCOL_HOLDOUT, NVDP_METHOD_NVDP);
}

Test(frozen, the_same_bits_where_the_dev_file_validates) {
    kept_or_not(NVDP_PROTOCOL_DEV, NVDP_METHOD_NVDP);
}

Test(frozen, the_same_bits_under_a_further_layer) {
    kept_or_not(NVDP_PROTOCOL_HOLDOUT, NVDP_METHOD_VTDP);
}

/* The saved model has all weights: the checkpoint's in the frozen layers, trained ones above. */
Test(frozen, a_saved_model_is_whole) {
    struct fixture fixture;
    open_fixture(&fixture);
    const char *out = support_scratch_path("run");
    struct nvdp__train_options config = config_of(&fixture, out);
    task_train(fixture.ctx, &config);
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *from = NULL, *to = NULL;
    ok(nvdp__safetensors_open(fixture.ctx, support_path("%s/model.safetensors", fixture.model),
                              &from));
    ok(nvdp__safetensors_open(fixture.ctx, support_path("%s/model/model.safetensors", out), &to));
    static const struct {
        const char *name;
        bool frozen;
    } tensors[] = {{"bert.embeddings.word_embeddings.weight", true},
                   {"bert.embeddings.LayerNorm.bias", true},
                   {"bert.encoder.layer.0.attention.self.key.weight", true},
                   {"bert.encoder.layer.1.output.LayerNorm.weight", true},
                   {"bert.encoder.layer.2.attention.self.query.weight", false},
                   {"bert.encoder.layer.2.output.dense.bias", false}};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        const struct nvdp__tensor_info *a = nvdp__safetensors_find(from, tensors[i].name);
        const struct nvdp__tensor_info *b = nvdp__safetensors_find(to, tensors[i].name);
        cr_assert(a != NULL && b != NULL && a->count == b->count, "%s", tensors[i].name);
        nvdp__autofree float *x = malloc(a->count * sizeof *x), *y = malloc(a->count * sizeof *y);
        nvdp__safetensors_read_f32(a, x);
        nvdp__safetensors_read_f32(b, y);
        cr_assert_eq(memcmp(x, y, a->count * sizeof *x) == 0, tensors[i].frozen, "%s",
                     tensors[i].name);
    }
}

struct stop_after {
    int calls;
    bool kill;
};

static bool stop(void *user) {
    struct stop_after *after = user;
    if (--after->calls >= 0) return false;
    if (after->kill) raise(SIGKILL);
    return true;
}

/* A run that is stopped while states are computed, during steps or in validation ends with the
 * same model. */
Test(frozen, resumes_exactly) {
    struct fixture fixture;
    open_fixture(&fixture);
    const char *whole = support_scratch_path("whole"), *parts = support_scratch_path("parts");
    nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    struct nvdp__train_options config = config_of(&fixture, whole);
    task_train(fixture.ctx, &config);
    config.out = parts;
    config.cache = support_scratch_path("other");
    struct stop_after after = {1, false};
    nvdp_context_set_cancel(fixture.ctx, stop, &after);
    nvdp_status status = nvdp__train(fixture.ctx, &config, &result);
    fails(status, NVDP_ERR_CANCELLED, "layers were computed; continue with");
    config.resume = config.out;
    for (int stops = 0; status == NVDP_ERR_CANCELLED; stops++) {
        cr_assert_lt(stops, 100);
        after.calls = 9 + stops;
        status = nvdp__train(fixture.ctx, &config, &result);
    }
    ok(status);
    same_model(whole, parts);
}

/* The state holds only trained weights and a digest of the frozen ones, which must be unchanged. */
Test(frozen, a_state_has_no_frozen_weights_and_knows_them) {
    struct fixture fixture;
    open_fixture(&fixture);
    const char *out = support_scratch_path("run");
    struct nvdp__train_options config = config_of(&fixture, out);
    struct stat state, model;
    config.freeze_layers = 3;
    config.method = NVDP_METHOD_VIB_FIXED;
    task_train(fixture.ctx, &config);
    cr_assert_eq(stat(support_path("%s/state.ckpt", out), &state), 0);
    cr_assert_eq(stat(support_path("%s/model/model.safetensors", out), &model), 0);
    cr_expect_lt(state.st_size, model.st_size / 2);
    struct nvdp_bert_config bert = NVDP_RESULT(struct nvdp_bert_config);
    ok(nvdp_bert_config_read(fixture.ctx, fixture.model, &bert));
    const char *weights = support_path("%s/model.safetensors", fixture.model),
               *another = support_path("%s/another", fixture.model);
    unlink(weights);
    ok(nvdp_bert_create_random(fixture.ctx, &bert, 5, NULL, another));
    cr_assert_eq(rename(support_path("%s/model.safetensors", another), weights), 0);
    config.resume = out;
    task_fails(fixture.ctx, &config, NVDP_ERR_INPUT,
               "expected the weights that the run keeps, found other weights in ");
}

/* A process is killed while it writes the file; the next run takes the file over. */
Test(frozen, a_killed_process_leaves_nothing_in_the_way) {
    struct fixture fixture;
    open_fixture(&fixture);
    const char *path = NULL;
    const char *killed = support_scratch_path("killed"), *whole = support_scratch_path("whole");
    struct nvdp__train_options config = config_of(&fixture, killed);
    nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    nvdp_context_set_threads(fixture.ctx, 1);
    pid_t child = fork();
    if (child == 0) {
        struct stop_after after = {2, true};
        nvdp_context_set_cancel(fixture.ctx, stop, &after);
        (void)nvdp__train(fixture.ctx, &config, &result);
        _exit(0);
    }
    int code = 0;
    cr_assert_eq(waitpid(child, &code, 0), child);
    cr_assert(WIFSIGNALED(code) && WTERMSIG(code) == SIGKILL);
    cr_assert_eq(files(&fixture, "prefix-", &path), 1);
    support_contains(path, ".partial");
    config.resume = config.out;
    task_train(fixture.ctx, &config);
    cr_assert_eq(files(&fixture, "prefix-", &path), STORES);
    support_lacks(path, ".partial");
    config.resume = NULL;
    config.cache = NULL;
    config.out = whole;
    task_train(fixture.ctx, &config);
    same_model(killed, whole);
}

Test(frozen, damage_is_noticed_and_changes_nothing) {
    struct fixture fixture;
    open_fixture(&fixture);
    const char *path = NULL;
    const char *good = support_scratch_path("good");
    struct nvdp__train_options config = config_of(&fixture, good);
    task_train(fixture.ctx, &config);
    cr_assert_eq(files(&fixture, "prefix-", &path), STORES);
    struct stat info;
    cr_assert_eq(stat(path, &info), 0);
    /* the header, the table, the first and the last text's rows, and a shorter file */
    const off_t places[] = {3, 20, 70, 64 + 120 * 8 + 100, info.st_size - 5, -1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *out = support_scratch_path(support_path("run%zu", i));
        int fd = open(path, O_RDWR);
        cr_assert_geq(fd, 0);
        unsigned char byte = 0;
        if (places[i] < 0) {
            cr_assert_eq(ftruncate(fd, info.st_size - 64), 0);
        } else {
            cr_assert_eq(pread(fd, &byte, 1, places[i]), 1);
            byte ^= 0x40;
            cr_assert_eq(pwrite(fd, &byte, 1, places[i]), 1);
        }
        close(fd);
        fixture.notices = 0;
        config.out = out;
        task_train(fixture.ctx, &config);
        same_model(good, out);
        cr_assert_eq(fixture.notices, 1, "place %ld: %d notices", (long)places[i], fixture.notices);
        if (files(&fixture, "prefix-", NULL) < STORES) { /* removed: the next run writes it */
            config.out = out;
            config.overwrite = true;
            task_train(fixture.ctx, &config);
            config.overwrite = false;
        }
        cr_assert_eq(files(&fixture, "prefix-", &path), STORES);
    }
}

Test(frozen, runs_beside_each_other_share_one_file) {
    enum { RUNS = 3 };
    struct fixture fixture;
    open_fixture(&fixture);
    const char *out[RUNS];
    pid_t child[RUNS];
    nvdp_context_set_threads(fixture.ctx, 1);
    for (int i = 0; i < RUNS; i++) {
        out[i] = support_scratch_path(support_path("run%d", i));
        child[i] = fork();
        if (child[i] > 0) continue;
        struct nvdp__train_options config = config_of(&fixture, out[i]);
        nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
        config.epochs = 1;
        _exit(nvdp__train(fixture.ctx, &config, &result) == NVDP_OK ? 0 : 1);
    }
    for (int i = 0; i < RUNS; i++) {
        int code = -1;
        cr_assert_eq(waitpid(child[i], &code, 0), child[i]);
        cr_assert_eq(code, 0);
        same_model(out[0], out[i]);
    }
    cr_assert_eq(files(&fixture, "prefix-", NULL), STORES);
}

Test(frozen, where_nothing_can_be_kept_it_is_computed) {
    struct fixture fixture;
    open_fixture(&fixture);
    const char *good = support_scratch_path("good"), *other = support_scratch_path("other");
    struct nvdp__train_options config = config_of(&fixture, good);
    task_train(fixture.ctx, &config);
    config.out = other;
    config.cache = support_path("%s/train.tsv", fixture.task.data); /* a folder below a file */
    task_train(fixture.ctx, &config);
    same_model(good, other);
}

Test(frozen, a_plan_says_what_it_takes) {
    struct fixture fixture;
    open_fixture(&fixture);
    struct nvdp_train_plan plan;
    struct nvdp__train_options config = config_of(&fixture, support_scratch_path("run"));
    ok(nvdp__train_plan(fixture.ctx, &config, false, &plan));
    size_t vocabulary = 15, d = 16, wide = 32, norm = 2 * d;
    size_t layer = 4 * (d * d + d) + (wide * d + wide) + (d * wide + d) + 2 * norm;
    cr_assert_eq(plan.frozen_parameters, (vocabulary + 16 + 2) * d + norm + 2 * layer);
    cr_assert_gt(plan.prefix_bytes, 120 * 4 * d * sizeof(float)); /* texts of at least 4 tokens */
    cr_assert_eq(files(&fixture, "", NULL), 0);                   /* nothing was written */
    size_t all = plan.parameters + plan.frozen_parameters;
    config.freeze_layers = 0;
    ok(nvdp__train_plan(fixture.ctx, &config, false, &plan));
    cr_assert_eq(plan.parameters, all);
    cr_assert_eq(plan.prefix_bytes, 0);
    config.freeze_layers = 4;
    fails(nvdp__train_plan(fixture.ctx, &config, false, &plan), NVDP_ERR_ARGUMENT,
          "--freeze-layers: expected 1 to");
}
