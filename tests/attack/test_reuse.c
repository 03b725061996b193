/* Tests readers that see only a file of embeddings. */
#include "attack_test.h"
#include "made_embeddings.h"
#include "plain_kernels.h"
#include "share/reader.h"

#include "test_context.h"

struct bench {
    struct nvdp_context *ctx;
    const char *file;
    struct nvdp_config *config;
};

static void set(const struct bench *bench, const char *options) {
    support_options(bench->ctx, bench->config, "%s", options);
}

/* Options are names and values with spaces between them. */
static struct bench bench_open(const struct made_embeddings *file, const char *options) {
    struct bench bench = {ctx, made_embeddings(ctx, "shared.h5", file),
                          support_config(ctx, "reuse", NULL)};
    set(&bench, options);
    return bench;
}

static struct nvdp_reuse_result must_reuse(struct bench *bench) {
    struct nvdp_reuse_result result = NVDP_RESULT(struct nvdp_reuse_result);
    support_set(bench->ctx, bench->config, "file", bench->file);
    ok(nvdp_reuse(bench->ctx, bench->config, &result));
    support_keep(result.scores);
    return result;
}

static void refused(struct bench *bench, nvdp_status status, const char *message) {
    nvdp__autoresult struct nvdp_reuse_result result = NVDP_RESULT(struct nvdp_reuse_result);
    support_set(bench->ctx, bench->config, "file", bench->file);
    fails(nvdp_reuse(bench->ctx, bench->config, &result), status, message);
}

/* --- learning --- */

/* Classes are 3 standard deviations apart in three vectors per text: nearly all can be recognized. */
Test(reuse, learns_classes_from_the_file_alone) {
    struct made_embeddings file = made_embeddings_default();
    struct bench bench = bench_open(&file, "");
    struct nvdp_reuse_result result = must_reuse(&bench);
    cr_assert_eq(result.classes, 2);
    cr_assert_eq(result.scores->n, 30); /* a tenth is held out, then a tenth of the rest */
    cr_assert_eq(result.train_texts, 243);
    cr_assert_eq(result.scores->metric[0], NVDP_METRIC_ACCURACY);
    cr_assert_gt(result.scores->mean[0], 0.9, "accuracy %g", result.scores->mean[0]);
    cr_assert_lt(fabs(result.scores->majority - 0.5), 1e-9);
    file.task = "cola"; /* its metric applies */
    bench.file = made_embeddings(bench.ctx, "shared.h5", &file);
    result = must_reuse(&bench);
    cr_assert_eq(result.scores->metric[0], NVDP_METRIC_MATTHEWS);
    cr_assert_gt(result.scores->mean[0], 0.8, "Matthews %g", result.scores->mean[0]);
}

Test(reuse, learns_many_classes_in_ragged_files) {
    struct made_embeddings file = made_embeddings_default();
    file.classes = 5;
    file.texts = 600;
    file.policy = NVDP_LENGTH_PUBLIC;
    file.separation = 4;
    file.splits = true;
    file.task = "cola"; /* its metric needs two classes */
    struct bench bench = bench_open(&file, "");
    struct nvdp_reuse_result result = must_reuse(&bench);
    cr_assert_eq(result.classes, 5);
    cr_assert_eq(result.scores->n, 85); /* the file's dev split */
    cr_assert_eq(result.train_texts, 464);
    cr_assert_eq(result.scores->metrics, 1);
    cr_assert_eq(result.scores->metric[0], NVDP_METRIC_ACCURACY);
    file.task = NULL;
    bench.file = made_embeddings(bench.ctx, "shared.h5", &file);
    result = must_reuse(&bench);
    cr_assert_gt(result.scores->mean[0], 0.85, "accuracy %g", result.scores->mean[0]);
}

Test(reuse, learns_scores) {
    struct made_embeddings file = made_embeddings_default();
    file.classes = 0;
    struct bench bench = bench_open(&file, "regression true");
    struct nvdp_reuse_result result = must_reuse(&bench);
    cr_assert_eq(result.classes, 1);
    cr_assert_eq(result.scores->metric[0], NVDP_METRIC_PEARSON);
    cr_assert_gt(result.scores->mean[0], 0.8, "Pearson %g", result.scores->mean[0]);
    cr_assert(isnan(result.scores->majority));
    set(&bench, "regression false"); /* halves are not classes */
    refused(&bench, NVDP_ERR_INPUT, "use --regression");
    file.task = "stsb"; /* a file may state that its labels are scores */
    bench.file = made_embeddings(bench.ctx, "shared.h5", &file);
    result = must_reuse(&bench);
    cr_assert_eq(result.scores->metrics, 2);
}

/* Labels that are independent of the vectors cannot be learned.  A reader that knew the test texts would exceed
 * chance. 200 texts: 5 standard errors. */
Test(reuse, finds_nothing_where_there_is_nothing) {
    struct made_embeddings file = made_embeddings_default();
    file.separation = 0;
    file.texts = 1000;
    file.splits = true;
    struct bench bench = bench_open(&file, "epochs 5");
    struct nvdp_reuse_result result = must_reuse(&bench);
    cr_assert_lt(fabs(result.scores->mean[0] - 0.5), 5 * sqrt(0.25 / 142));
}

Test(reuse, scores_every_sample) {
    struct made_embeddings file = made_embeddings_default();
    file.samples = 3;
    file.separation = 1.5;
    struct bench bench = bench_open(&file, "");
    struct nvdp_reuse_result result = must_reuse(&bench);
    cr_assert_eq(result.scores->draws, 3);
    cr_assert_gt(result.scores->sd[0], 0);
    cr_assert_eq(result.train_texts, 243);
}

/* Several seeds: the mean and the standard deviation of readers that are trained one by one. */
Test(reuse, seeds_are_readers_of_their_own) {
    struct made_embeddings file = made_embeddings_default();
    file.separation = 1;
    file.splits = true; /* all are scored on the dev split */
    struct bench bench = bench_open(&file, "epochs 3");
    double score[3], mean = 0, square = 0;
    for (int k = 0; k < 3; k++) {
        set(&bench, support_path("seed %d", 5 + k));
        struct nvdp_reuse_result one = must_reuse(&bench);
        cr_assert(one.seeds == 1 && isnan(one.seed_sd));
        cr_assert_eq(one.seed_mean, one.scores->mean[0]);
        score[k] = one.scores->mean[0];
        mean += score[k] / 3;
    }
    for (int k = 0; k < 3; k++)
        square += (score[k] - mean) * (score[k] - mean) / 2;
    set(&bench, "seed 5 seeds 3");
    struct nvdp_reuse_result all = must_reuse(&bench);
    cr_assert_eq(all.seeds, 3);
    cr_assert_eq(all.scores->draws, 3);
    near(all.seed_mean, mean, 1e-12);
    near(all.scores->mean[0], mean, 1e-12);
    cr_assert_gt(all.seed_sd, 0);
    near(all.seed_sd, sqrt(square), 1e-12);
}

static void count_warnings(enum nvdp_log_level level, const char *message, void *user) {
    int *found = user;
    if (level != NVDP_LOG_WARNING) return;
    found[0] += strstr(message, "most frequent class") != NULL;
    found[1] += strstr(message, "training texts: so few") != NULL;
}

/* A score that shows nothing, and very few texts, are warnings; a reader that learns from enough texts has none. */
Test(reuse, warns_of_what_shows_nothing) {
    for (int few = 0; few < 3; few++) {
        struct made_embeddings file = made_embeddings_default();
        int found[2] = {0};
        file.texts = few == 0 ? 1000 : few == 1 ? 30 : 300;
        file.separation = few == 0 ? 0 : 6;
        struct bench bench = bench_open(&file, few == 2 ? "epochs 20" : "epochs 3");
        nvdp_context_set_log(bench.ctx, count_warnings, found);
        must_reuse(&bench);
        cr_expect_eq(found[1], few == 1);
        if (few != 1) cr_expect_eq(found[0], few == 0);
    }
}

Test(reuse, gives_the_same_for_the_same_seed) {
    struct made_embeddings file = made_embeddings_default();
    file.separation = 1;
    file.samples = 2;
    struct bench bench = bench_open(&file, "epochs 3");
    struct nvdp_reuse_result a = must_reuse(&bench);
    nvdp_context_set_threads(bench.ctx, 1);
    struct nvdp_reuse_result b = must_reuse(&bench);
    cr_assert_eq(a.scores->mean[0], b.scores->mean[0]);
    cr_assert_eq(a.best_epoch, b.best_epoch);
}

/* The reader of a real run's file is as good as the sender.  One word decides the task and the sender is always
 * right, so the reader must be within 2 points plus noise. */
Test(reuse, is_as_good_as_the_sender) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_NVDP, .policy = NVDP_LENGTH_HIDDEN, .kappa = 1, .epochs = 10};
    struct bench bench = {ctx, support_scratch_path("from-run.h5"),
                          support_config(ctx, "reuse", NULL)};
    double sender = 0;
    const char *run = task_run(ctx, "run", &choice, &sender);
    struct nvdp_config *give =
        support_config(ctx, "export", "run", run, "out", bench.file, "split", "train,dev",
                       "with-labels", "true", "samples", "2", "measure-texts", "0", NULL);
    ok(nvdp_export(ctx, give, NULL));
    struct nvdp_reuse_result result = must_reuse(&bench);
    cr_assert_eq(result.scores->n, TASK_DEV);
    cr_assert_gt(sender, 0.9);
    cr_assert_gt(result.scores->mean[0], sender - 0.02, "sender %g, reader %g", sender,
                 result.scores->mean[0]);
}

/* A file with only a dev split is divided like one without splits. */
Test(reuse, divides_a_single_split) {
    struct made_embeddings file = made_embeddings_default();
    struct bench bench = bench_open(&file, "");
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *h5 = NULL;
    struct nvdp__embeddings_shape shape = {.texts = 100, .samples = 1, .dim = 2, .kappa = 1};
    shape.policy = NVDP_LENGTH_HIDDEN;
    shape.length = 1;
    shape.sample_rows = 2;
    shape.rows = 200;
    shape.weights = true;
    ok(nvdp__embeddings_create(bench.ctx, bench.file, &shape, NULL, &h5));
    nvdp__h5_set_string(h5, "length_policy", "hidden");
    nvdp__h5_set_string(h5, "grid", "float16");
    nvdp__h5_set_int(h5, "kappa", 1);
    nvdp__h5_set_int(h5, "releases", 1);
    nvdp__h5_set_int(h5, "length", 1);
    int32_t split[100];
    float label[100];
    for (int i = 0; i < 100; i++) {
        split[i] = 1;
        label[i] = (float)(i % 2);
    }
    ok(nvdp__h5_write(h5, "split", NVDP__H5_I32, 1, &shape.texts, split));
    ok(nvdp__h5_write(h5, "label", NVDP__H5_F32, 1, &shape.texts, label));
    ok(nvdp__h5_commit(h5, true));
    set(&bench, "epochs 1");
    struct nvdp_reuse_result result = must_reuse(&bench);
    cr_assert_eq(result.scores->n, 10);
    cr_assert_eq(result.train_texts, 81);
}

/* --- labels --- */

static const char *label_file(const char *name, size_t texts, const char *const *words,
                              size_t count) {
    const char *path = support_scratch_path(name);
    nvdp__autoptr(fclose) FILE *file = fopen(path, "w");
    for (size_t i = 0; i < texts; i++)
        fprintf(file, "%s\r\n", words[i % count]);
    return path;
}

Test(reuse, takes_labels_from_a_text_file) {
    static const char *const words[] = {"zebra", "apple pie"};
    static const char *const numbers[] = {"0", "1"};
    struct made_embeddings file = made_embeddings_default();
    file.labels = false;
    struct bench bench = bench_open(&file, "");
    refused(&bench, NVDP_ERR_INPUT, "'label' is missing; name a file of labels with --labels");
    set(&bench, support_path("labels %s", label_file("words.txt", file.texts, words, 2)));
    cr_assert_gt(must_reuse(&bench).scores->mean[0], 0.9);
    set(&bench, support_path("labels %s", label_file("numbers.txt", file.texts, numbers, 2)));
    cr_assert_gt(must_reuse(&bench).scores->mean[0], 0.9);
    set(&bench, support_path("labels %s", label_file("short.txt", file.texts - 1, numbers, 2)));
    refused(&bench, NVDP_ERR_INPUT, "expected 300 lines, one per text, found 299");
}

Test(reuse, leaves_texts_without_labels_out) {
    static const char *const some[] = {"0", "", "1", ""};
    struct made_embeddings file = made_embeddings_default();
    const char *labels = label_file("some.txt", file.texts, some, 4);
    struct bench bench = bench_open(&file, support_path("epochs 1 labels %s", labels));
    struct nvdp_reuse_result result = must_reuse(&bench);
    cr_assert_eq(result.train_texts + result.scores->n,
                 150 - 13); /* without the validation texts */
}

/* The scored texts are then not training texts. */
Test(reuse, divides_the_dev_split_where_it_alone_has_labels) {
    static const char *const some[] = {"", "", "", "", "", "", "0", "", "", "", "", "", "", "1"};
    struct made_embeddings file = made_embeddings_default();
    file.splits = true;
    const char *labels = label_file("dev.txt", file.texts, some, 14);
    struct bench bench = bench_open(&file, support_path("epochs 1 labels %s", labels));
    struct nvdp_reuse_result result = must_reuse(&bench);
    cr_assert_eq(result.scores->n, 4); /* of 42 */
    cr_assert_eq(result.train_texts, 34);
}

static nvdp_status read_labels(const char *text, bool regression, const struct nvdp__labels *like,
                               struct nvdp__labels *labels) {
    const struct nvdp_shared file = {.shape = {.texts = 4}};
    return nvdp__labels_read(ctx, support_file("labels.txt", text), "file.h5", &file, regression,
                             like, labels);
}

static const struct nvdp__labels *labels_of(const char *text, bool regression,
                                            const struct nvdp__labels *like) {
    struct nvdp__labels *labels = support_keep(calloc(1, sizeof *labels));
    ok(read_labels(text, regression, like, labels));
    return labels;
}

Test(labels, tells_numbers_from_words) {
    struct nvdp__labels none = {0};
    const struct nvdp__labels *labels = labels_of("2\n0\n\n1", false, NULL);
    cr_assert_eq(labels->classes, 3);
    cr_assert_null(labels->name);
    cr_assert_eq(labels->value[0], 2);
    cr_assert(isnan(labels->value[2]));
    cr_assert_eq(labels_of("1\n1\n1\n1\n", false, labels)->classes, 3); /* as the reader */
    cr_assert_eq(read_labels("1\n3\n1\n1\n", false, labels, &none), NVDP_ERR_INPUT);
    labels = labels_of("yes\n1\nno\nyes\n", false, NULL);
    cr_assert_eq(labels->classes, 3);
    cr_assert_str_eq(labels->name[0], "1");
    cr_assert_eq(labels->value[0], 2);
    cr_assert_eq(labels->value[2], 1);
    cr_assert_eq(labels_of("no\nno\n1\nyes", false, labels)->value[2], 0);
    fails(read_labels("no\nno\nmaybe\nyes", false, labels, &none), NVDP_ERR_INPUT, "labels.txt:3");
    labels = labels_of("-1.5\n2e3\n\n0x10 \n", true, NULL);
    cr_assert_eq(labels->value[0], -1.5F);
    cr_assert_eq(labels->value[3], 16);
    fails(read_labels("1\ninf\n3\n4", true, NULL, &none), NVDP_ERR_INPUT, "labels.txt:2");
    cr_assert_eq(read_labels("1\n2 3\n3\n4", true, NULL, &none), NVDP_ERR_INPUT);
}

/* --- files to score on, readers to start from and to keep --- */

Test(reuse, scores_on_another_file) {
    struct made_embeddings file = made_embeddings_default();
    struct bench bench = bench_open(&file, "");
    file.seed = 9;
    file.texts = 50;
    file.samples = 2;
    set(&bench, support_path("eval-file %s", made_embeddings(bench.ctx, "other.h5", &file)));
    struct nvdp_reuse_result result = must_reuse(&bench);
    cr_assert_eq(result.scores->n, 50);
    cr_assert_eq(result.scores->draws, 2);
    cr_assert_eq(result.train_texts, 270);
    cr_assert_gt(result.scores->mean[0], 0.9);
    file.dim = 5;
    made_embeddings(bench.ctx, "other.h5", &file);
    refused(&bench, NVDP_ERR_INPUT, "expected vectors of width 4");
    file.dim = 4;
    file.classes = 3;
    made_embeddings(bench.ctx, "other.h5", &file);
    refused(&bench, NVDP_ERR_INPUT, "expected class numbers below 2, found 2");
}

Test(reuse, keeps_a_reader_to_start_from) {
    struct made_embeddings file = made_embeddings_default();
    struct bench bench = bench_open(&file, "");
    const char *out = support_scratch_path("reader");
    set(&bench, support_path("out %s", out));
    struct nvdp_reuse_result first = must_reuse(&bench);
    refused(&bench, NVDP_ERR_ARGUMENT, "not empty");
    struct nvdp__reader_shape shape;
    ok(nvdp__reader_shape_read(bench.ctx, out, &shape));
    cr_assert_eq(shape.dim, 4);
    cr_assert_eq(shape.outputs, 2);
    /* the weights are saved: one epoch with nothing to learn does not change the score */
    support_set(bench.ctx, bench.config, "out", NULL);
    set(&bench, support_path("epochs 1 lr 1e-30 init %s", out));
    struct nvdp_reuse_result repeated = must_reuse(&bench);
    cr_assert_eq(repeated.scores->mean[0], first.scores->mean[0]);
    /* with other classes only the classifier is new */
    file.classes = 3;
    bench.file = made_embeddings(bench.ctx, "three.h5", &file);
    set(&bench, "lr 0");
    cr_assert_eq(must_reuse(&bench).classes, 3);
    file.dim = 6;
    bench.file = made_embeddings(bench.ctx, "wide.h5", &file);
    refused(&bench, NVDP_ERR_ARGUMENT, "expected a reader of width 6");
}

Test(reuse, refuses_wrong_options) {
    struct made_embeddings file = made_embeddings_default();
    file.texts = 20;
    struct bench bench = bench_open(&file, "");
    nvdp__autoresult struct nvdp_reuse_result result = NVDP_RESULT(struct nvdp_reuse_result);
    cr_assert_eq(nvdp_reuse(bench.ctx, bench.config, &result), NVDP_ERR_ARGUMENT);
    set(&bench, "heads 3");
    refused(&bench, NVDP_ERR_ARGUMENT, "heads");
    set(&bench, "heads 0");
    support_refused(bench.ctx, bench.config, "epochs", "0", "epochs");
    set(&bench, "epochs 1");
    support_refused(bench.ctx, bench.config, "lr", "nan", "lr");
    set(&bench, "lr 1e-3 init /nowhere");
    refused(&bench, NVDP_ERR_IO, "/nowhere");
    support_set(bench.ctx, bench.config, "init", NULL);
    file.texts = 3;
    bench.file = made_embeddings(bench.ctx, "few.h5", &file);
    refused(&bench, NVDP_ERR_INPUT, "expected more texts with labels");
    file.texts = 40;
    file.classes = 1;
    bench.file = made_embeddings(bench.ctx, "one.h5", &file);
    refused(&bench, NVDP_ERR_INPUT, "at least 2 classes");
}

Test(reuse, refuses_damaged_readers) {
    static const char *const configs[][2] = {
        {"{}", "'nvdp_format'"},
        {"{\"nvdp_format\": \"reader/2\"}", "reader/2"},
        {"{\"nvdp_format\": \"reader/1\", \"dim\": 0}", "'dim'"},
        {"{\"nvdp_format\": \"reader/1\", \"dim\": 4, \"heads\": 1, \"inner\": 8, \"outputs\": 2, "
         "\"kappa\": 1, \"pool\": \"auto\"}",
         "'pool'"},
        {"{\"nvdp_format\": \"reader/1\", \"dim\": 4, \"heads\": 1, \"inner\": 8, \"outputs\": 2, "
         "\"kappa\": 1, \"pool\": \"mean\", \"hidden_act\": \"mish\"}",
         "'hidden_act'"},
    };
    struct nvdp__reader_shape shape;
    mkdir(support_scratch_path("damaged"), 0777);
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        support_file("damaged/config.json", configs[i][0]);
        fails(nvdp__reader_shape_read(ctx, support_scratch_path("damaged"), &shape), NVDP_ERR_INPUT,
              configs[i][1]);
    }
}

static bool stop(void *user) {
    int *left = user;
    return --*left < 0;
}

Test(reuse, stops_on_request) {
    struct made_embeddings file = made_embeddings_default();
    struct bench bench = bench_open(&file, "");
    int left = 5;
    nvdp_context_set_cancel(bench.ctx, stop, &left);
    refused(&bench, NVDP_ERR_CANCELLED, "cancelled");
}

Test(reuse, survives_failing_allocations) {
    struct made_embeddings file = made_embeddings_default();
    file.texts = 40;
    struct bench bench = bench_open(&file, "epochs 1 overwrite true");
    set(&bench, support_path("file %s out %s", bench.file, support_scratch_path("reader")));
    nvdp__autoresult struct nvdp_reuse_result result = NVDP_RESULT(struct nvdp_reuse_result);
    uint64_t k = support_fail_first(bench.ctx);
    while (support_failed(bench.ctx, &k, nvdp_reuse(bench.ctx, bench.config, &result)))
        continue;
}

/* --- the reader's gradient --- */

static double loss_at(struct nvdp__reader *reader, const float *label) {
    double loss;
    ok(nvdp__reader_forward(reader));
    nvdp__reader_backward(reader, label, &loss);
    return loss;
}

/* Central differences of float32 losses have an error of about 1e-7 / 2e-3 each; the gradients are of order 1e-2,
 * summed over a random direction of all parameters. */
static void gradient_agrees(bool regression) {
    struct made_embeddings file = made_embeddings_default();
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *read = NULL;
    nvdp__autoptr(nvdp__reader_free) struct nvdp__reader *reader = NULL;
    static const size_t samples[] = {0, 1, 2, 3, 4};
    static const float label[] = {0, 1, 2, 1, 0};
    struct nvdp__reader_shape shape = {.dim = 4, .heads = 2, .inner = 8, .eps = 1e-6, .kappa = 1};
    shape.outputs = regression ? 1 : 3;
    shape.pool = NVDP_POOL_WEIGHTED;
    shape.weights = true;
    shape.regression = regression;
    ok(nvdp_shared_read(ctx, made_embeddings(ctx, "g.h5", &file), &read));
    ok(nvdp__reader_create(ctx, &shape, true, &reader));
    nvdp__reader_initialise(reader, 3);
    for (size_t i = 0; i < reader->params.count; i++) /* larger than at the start */
        if (reader->params.entry[i].rank == 2)
            nvdp__params_normal(&reader->dev, &reader->params, i, 0.4, 5);
    ok(nvdp__reader_plan(reader, 5, 4, true));
    nvdp__reader_fill(reader, read, 5, samples);
    size_t total = reader->params.total;
    nvdp__autofree float *direction = calloc(total, sizeof(float)),
                         *start = calloc(total, sizeof(float));
    const struct nvdp__noise noise = {.seed = 4};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_INIT, 0, 0);
    nvdp__stream_normals(&stream, total, direction);
    nvdp__copy(&reader->dev, total, reader->params.value, start);
    nvdp__zero(&reader->dev, total, reader->params.grad);
    loss_at(reader, label);
    double want = support_dot(total, reader->params.grad, direction);
    double loss[2];
    for (int side = 0; side < 2; side++) {
        nvdp__copy(&reader->dev, total, start, reader->params.value);
        for (size_t i = 0; i < total; i++)
            reader->params.value[i] += (side == 0 ? 1e-3F : -1e-3F) * direction[i];
        loss[side] = loss_at(reader, label);
    }
    near((loss[0] - loss[1]) / 2e-3, want, 1e-2 * fmax(fabs(want), 0.1));
}

Test(reader, gradient_of_classes_agrees_with_differences) {
    gradient_agrees(false);
}

Test(reader, gradient_of_scores_agrees_with_differences) {
    gradient_agrees(true);
}
