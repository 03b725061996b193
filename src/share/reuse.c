/* Training a reader on a file of embeddings, and scoring it on texts it was not trained on. */
#include "share/reuse.h"

#include "base/file.h"
#include "text/task.h"
#include <math.h>
#include <stdlib.h>

enum { HEAD_WIDTH = 8, MOST_HEADS = 12, LEAST_INNER = 64 };

struct nvdp_reuse_config nvdp_reuse_config_default(void) {
    return (struct nvdp_reuse_config){
        .epochs = 20,
        .batch = 32,
        .patience = 10,
        .weight_decay = 0.01,
        .warmup = 0.1,
        .pool = NVDP_POOL_AUTO,
        .seed = 1,
    };
}

/* --- options and files --- */

static nvdp_status check_options(struct nvdp_context *ctx,
                                 const struct nvdp_reuse_config *options) {
    const struct {
        const char *name;
        double value, min, max;
    } ranges[] = {{"epochs", (double)options->epochs, 1, 10000},
                  {"batch", (double)options->batch, 1, 65536},
                  {"lr", options->lr, 0, 10},
                  {"weight_decay", options->weight_decay, 0, 10},
                  {"warmup", options->warmup, 0, 1}};
    if (options->file == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "file: expected a path, found none");
    if (options->eval_labels != NULL && options->eval_file == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "eval_labels: expected with eval_file only");
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (ranges[i].value >= ranges[i].min && ranges[i].value <= ranges[i].max) continue;
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected %g to %g, found %g", ranges[i].name,
                          ranges[i].min, ranges[i].max, ranges[i].value);
    }
    if (options->out != NULL && !options->overwrite && !nvdp__directory_empty(options->out))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "%s: the output directory is not empty; use --overwrite", options->out);
    return NVDP_OK;
}

/* A file may name the task it was made for: its metrics then apply. */
static void find_task(struct nvdp__reuse *reuse) {
    enum nvdp_task_id id = NVDP_TASK_TSV;
    const char *name = reuse->file->task;
    bool regression = reuse->options->regression;
    if (name[0] != '\0' && nvdp_task_find(NULL, name, &id) == NVDP_OK) {
        reuse->task = nvdp__task_layout(id)->task;
        regression = regression || reuse->task.regression;
    }
    if (reuse->task.metrics == 0 || reuse->task.regression != regression)
        reuse->task = (struct nvdp_task){
            .metrics = regression ? 2 : 1,
            .metric = {regression ? NVDP_METRIC_PEARSON : NVDP_METRIC_ACCURACY,
                       NVDP_METRIC_SPEARMAN},
        };
    reuse->task.regression = regression;
    reuse->task.labels = NULL;
}

static nvdp_status check_same_kind(const struct nvdp__reuse *reuse) {
    const struct nvdp__embeddings_shape *a = &reuse->file->shape;
    const struct nvdp__embeddings_shape *b = &reuse->eval_file->shape;
    if (a->dim == b->dim && a->kappa == b->kappa) return NVDP_OK;
    return nvdp__fail(reuse->ctx, NVDP_ERR_INPUT,
                      "%s: expected vectors of width %zu with kappa %d as in %s, found %zu and %d",
                      reuse->options->eval_file, a->dim, a->kappa, reuse->options->file, b->dim,
                      b->kappa);
}

static nvdp_status open_files(struct nvdp__reuse *reuse) {
    const struct nvdp_reuse_config *options = reuse->options;
    NVDP_RETURN_IF_FAILED(nvdp__embeddings_read(reuse->ctx, options->file, &reuse->file));
    find_task(reuse);
    NVDP_RETURN_IF_FAILED(nvdp__labels_read(reuse->ctx, options->labels, options->file, reuse->file,
                                            reuse->task.regression, NULL, &reuse->labels));
    if (!reuse->task.regression && reuse->labels.classes < 2)
        return nvdp__fail(
            reuse->ctx, NVDP_ERR_INPUT, "%s: expected labels of at least 2 classes, found %zu",
            options->labels != NULL ? options->labels : options->file, reuse->labels.classes);
    reuse->task.classes = (int)reuse->labels.classes;
    if (options->eval_file == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__embeddings_read(reuse->ctx, options->eval_file, &reuse->eval_file));
    NVDP_RETURN_IF_FAILED(check_same_kind(reuse));
    return nvdp__labels_read(reuse->ctx, options->eval_labels, options->eval_file, reuse->eval_file,
                             reuse->task.regression, &reuse->labels, &reuse->eval_labels);
}

/* --- the reader --- */

/* Adam moves every weight by about lr a step, and the wider a sum, the smaller the moves that it
 * stands.  1e-2 did best at widths of 4 and 16, anything from 3e-4 to 1e-2 well at 256. */
static double learning_rate(const struct nvdp__reuse *reuse) {
    if (reuse->options->lr > 0) return reuse->options->lr;
    return 1e-2 * fmin(1, sqrt(16 / (double)reuse->file->shape.dim));
}

/* The penalty -|z|^2/(2 sqrt(h)) of a key tells one noise from another by sqrt(p/(2h)) nats: narrow
 * heads attend to the luckiest noise.  Two heads of 8 did best at a width of 16; at 256 any number.
 */
static size_t automatic_heads(size_t dim) {
    size_t heads = dim / HEAD_WIDTH;
    if (heads > MOST_HEADS) heads = MOST_HEADS;
    while (heads > 1 && dim % heads != 0) {
        heads--;
    }
    return heads > 0 ? heads : 1;
}

static nvdp_status create_reader(struct nvdp__reuse *reuse) {
    const struct nvdp_reuse_config *options = reuse->options;
    const struct nvdp__embeddings *file = reuse->file;
    size_t dim = file->shape.dim;
    enum nvdp_pool pool = options->pool;
    if (pool == NVDP_POOL_AUTO) pool = file->pool;
    if (pool == NVDP_POOL_AUTO || !file->shape.weights) pool = NVDP_POOL_WEIGHTED;
    struct nvdp__reader_shape shape = {
        .dim = dim,
        .heads = options->heads > 0 ? options->heads : automatic_heads(dim),
        .inner = 4 * dim > LEAST_INNER ? 4 * dim : LEAST_INNER,
        .outputs = reuse->labels.classes,
        .act = NVDP_GELU,
        .eps = 1e-12,
        .pool = pool,
        .kappa = file->shape.kappa,
        .regression = reuse->task.regression,
    };
    if (options->init == NULL) {
        NVDP_RETURN_IF_FAILED(nvdp__reader_create(reuse->ctx, &shape, true, &reuse->reader));
        nvdp__reader_initialise(reuse->reader, options->seed);
        return NVDP_OK;
    }
    NVDP_RETURN_IF_FAILED(nvdp__reader_load(reuse->ctx, options->init, shape.outputs, true,
                                            options->seed, &reuse->reader));
    reuse->reader->shape.regression = shape.regression;
    if (reuse->reader->shape.dim == dim && reuse->reader->shape.kappa == shape.kappa)
        return NVDP_OK;
    return nvdp__fail(reuse->ctx, NVDP_ERR_ARGUMENT,
                      "%s: expected a reader of width %zu with kappa %d, found %zu and %d",
                      options->init, dim, shape.kappa, reuse->reader->shape.dim,
                      reuse->reader->shape.kappa);
}

static size_t longest_sample(const struct nvdp__reuse_texts *texts) {
    size_t longest = 0;
    const struct nvdp__embeddings *file = texts->file;
    for (size_t i = 0; i < texts->count; i++) {
        size_t sample =
            texts->row[i] * file->shape.samples; /* a text's samples are of one length */
        size_t rows = (size_t)(file->offset[sample + 1] - file->offset[sample]);
        if (rows > longest) longest = rows;
    }
    return longest;
}

static nvdp_status allocate(struct nvdp__reuse *reuse) {
    struct nvdp_context *ctx = reuse->ctx;
    size_t longest = longest_sample(&reuse->train);
    size_t others = longest_sample(&reuse->validation);
    if (others > longest) longest = others;
    others = longest_sample(&reuse->test);
    if (others > longest) longest = others;
    reuse->batch =
        reuse->options->batch < reuse->train.count ? reuse->options->batch : reuse->train.count;
    NVDP_RETURN_IF_FAILED(nvdp__reader_plan(reuse->reader, reuse->batch, longest, true));
    reuse->optimizer = (struct nvdp__optimizer){.lr = learning_rate(reuse),
                                                .beta1 = 0.9,
                                                .beta2 = 0.999,
                                                .eps = 1e-8,
                                                .weight_decay = reuse->options->weight_decay,
                                                .clip_norm = 1};
    NVDP_RETURN_IF_FAILED(nvdp__optimizer_create(ctx, &reuse->reader->params, &reuse->optimizer));
    reuse->order = nvdp__calloc(ctx, reuse->train.count, sizeof *reuse->order);
    reuse->samples = nvdp__calloc(ctx, reuse->batch, sizeof *reuse->samples);
    reuse->target = nvdp__calloc(ctx, reuse->batch, sizeof *reuse->target);
    reuse->best = nvdp__calloc(ctx, reuse->reader->params.total, sizeof *reuse->best);
    return reuse->order != NULL && reuse->samples != NULL && reuse->target != NULL &&
                   reuse->best != NULL
               ? NVDP_OK
               : NVDP_ERR_MEMORY;
}

static nvdp_status save(const struct nvdp__reuse *reuse) {
    if (reuse->options->out == NULL) return NVDP_OK;
    struct nvdp__reader_story story = {
        .task = reuse->file->task[0] != '\0' ? reuse->file->task : NULL,
        .labels = (const char *const *)reuse->labels.name,
        .statement = "A reader trained on noisy embeddings and the labels given with them.",
    };
    return nvdp__reader_save(reuse->reader, &story, reuse->options->out);
}

static nvdp_status run(struct nvdp__reuse *reuse, struct nvdp_reuse_result *out) {
    double started = nvdp__now();
    struct nvdp_reuse_result result = {0};
    NVDP_RETURN_IF_FAILED(open_files(reuse));
    NVDP_RETURN_IF_FAILED(nvdp__reuse_divide(reuse));
    NVDP_RETURN_IF_FAILED(create_reader(reuse));
    NVDP_RETURN_IF_FAILED(allocate(reuse));
    NVDP_RETURN_IF_FAILED(nvdp__reuse_train(reuse));
    NVDP_RETURN_IF_FAILED(nvdp__reuse_score(reuse, &reuse->test, &result.scores));
    NVDP_RETURN_IF_FAILED(save(reuse));
    result.train_texts = reuse->train.count;
    result.classes = reuse->labels.classes;
    result.best_epoch = reuse->best_epoch;
    result.seconds = nvdp__now() - started;
    *out = result;
    return NVDP_OK;
}

nvdp_status nvdp_reuse(struct nvdp_context *ctx, const struct nvdp_reuse_config *config,
                       struct nvdp_reuse_result *out) {
    NVDP_RETURN_IF_FAILED(check_options(ctx, config));
    struct nvdp__reuse reuse = {.ctx = ctx, .options = config};
    nvdp_status status = run(&reuse, out);
    free(reuse.train.row);
    free(reuse.validation.row);
    free(reuse.test.row);
    free(reuse.order);
    free(reuse.samples);
    free(reuse.target);
    free(reuse.best);
    nvdp__optimizer_release(&reuse.optimizer);
    nvdp__reader_free(reuse.reader);
    nvdp__labels_release(&reuse.labels);
    nvdp__labels_release(&reuse.eval_labels);
    nvdp__embeddings_free(reuse.file);
    nvdp__embeddings_free(reuse.eval_file);
    return status;
}
