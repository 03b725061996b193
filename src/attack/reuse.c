/* Implements nvdp reuse: trains a reader on a file of embeddings, or computes a reader from a summary, and scores the
 * reader on other texts.
 *
 * The order of this file: options and files, the division of the texts, the reader and its memory, scores, epochs,
 * summaries. */
#include "base/array.h"
#include "base/file.h"
#include "base/own.h"
#include "job/optimizer.h"
#include "job/options.h"
#include "mechanism/bottleneck_options.h"
#include "options/result.h"
#include "share/reader.h"
#include "share/summarize.h"
#include "text/batch.h"
#include "text/task.h"
#include "train/run.h"
#include <math.h>
#include <nvdp/share.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD_WIDTH = 8,
    MAX_HEADS = 12,
    MIN_INNER = 64,
    HELD_OUT = 10, /* holds out every tenth text */
    ANY = -1,      /* any split of a file */
    TRAIN = 0,
    DEV = 1
};

struct options {
    const char *file;        /* a file of embeddings */
    const char *labels;      /* file of labels; NULL for the labels of `file` */
    const char *eval_file;   /* another file to score on; NULL for a part of `file` */
    const char *eval_labels; /* NULL for the labels of eval_file */
    const char *init;        /* public model to start from; NULL for random weights */
    const char *out;         /* directory for the reader; NULL to not save it */
    const char *score, *model, *text_column, *pair_column,
        *label_column; /* label column for a summary's reader */
    bool overwrite;
    bool regression; /* labels are scores */
    size_t heads, epochs, batch, patience, seeds;
    double lr; /* 0 to choose by the width of the vectors */
    double weight_decay, warmup;
    enum nvdp_pool pool;
    uint64_t seed;
};

/* Texts of a file, by row number. */
struct texts {
    const struct nvdp_shared *file;
    const struct nvdp__labels *labels;
    size_t count, *row;
};

struct reuse {
    struct nvdp_context *ctx;
    const struct options *options;
    struct nvdp_collection *summary;      /* NULL if the file has samples of texts */
    struct nvdp_shared *file, *eval_file; /* eval_file is NULL if it is the same file */
    struct nvdp__labels labels, eval_labels;
    struct nvdp_task task; /* task whose metrics are used */
    struct texts labeled;  /* training and validation texts of every seed */
    struct texts train, validation, test;
    uint64_t seed; /* seed of the reader that is trained */
    struct nvdp__reader *reader;
    struct nvdp__optimizer optimizer;
    size_t batch;
    struct nvdp__memory memory; /* the owner of the reader's arrays, which follow */
    int64_t *order;             /* [train] */
    size_t *samples;            /* [batch] */
    float *target;              /* [batch] */
    float *mean;                /* parameters, averaged over epochs */
    float *best;                /* averaged parameters of the best epoch */
    double best_value;
    size_t best_epoch;
    struct nvdp__meter meter;
};

/* --- options and files --- */

#define AT(member) NVDP_OPTION_AT(struct options, member)

static const struct nvdp_option file_rows[] = {
    {"file", NVDP_OPTION_TEXT, "SHARED.h5",
     "file of embeddings, a folder with the files of one release, or a summary of a collection",
     NULL, AT(file), .traits = NVDP_TRAIT_REQUIRED | NVDP_TRAIT_POSITIONAL},
    {0},
};

/* Options that apply only to samples of texts. */
static const struct nvdp_option sample_rows[] = {
    {"labels", NVDP_OPTION_TEXT, "FILE",
     "file of labels, one per line, in the order of the texts (default: the labels in the shared "
     "file)",
     NULL, AT(labels), .group = "Data:"},
    {"eval-file", NVDP_OPTION_TEXT, "FILE.h5",
     "score on this file (default: the dev split of the shared file, or else a held-out tenth)",
     NULL, AT(eval_file)},
    {"eval-labels", NVDP_OPTION_TEXT, "FILE", "file of labels for --eval-file", NULL,
     AT(eval_labels)},
    {"regression", NVDP_OPTION_FLAG, NULL, "labels are scores (regression)", NULL, AT(regression)},

    {"init", NVDP_OPTION_TEXT, "DIR",
     "start from the sender's public model, written by export --model-out", NULL, AT(init),
     .group = "Reader:"},
    {"heads", NVDP_OPTION_INTEGER, "N", "number of attention heads; 0: chosen by the width", "0",
     AT(heads)},
    NVDP__POOL_ROW(AT(pool)),
    NVDP__EPOCHS_ROW("20", AT(epochs)),
    NVDP__TEXTS_PER_STEP_ROW(AT(batch)),
    NVDP__PATIENCE_ROW("10", AT(patience)),
    NVDP__LR_ROW("maximum learning rate; 0: chosen by the width", "0", AT(lr)),
    NVDP__WEIGHT_DECAY_ROW(AT(weight_decay)),
    NVDP__WARMUP_ROW("0.1", AT(warmup)),
    NVDP__SEED_ROW(AT(seed)),
    {"seeds", NVDP_OPTION_INTEGER, "N",
     "train N readers, with this seed and the next ones, and report the mean and the standard "
     "deviation of their scores",
     "1", AT(seeds), .min = 1, .max = 1000},
    {0},
};

/* Options that apply only to summaries, whose reader is computed without training. */
static const struct nvdp_option summary_rows[] = {
    {"score", NVDP_OPTION_TEXT, "FILE",
     "score the reader on the plain embeddings of these labeled texts, a table (.tsv, .csv, .json)",
     NULL, AT(score), .group = "Reader of a summary:"},
    NVDP__MAPPED_ENCODER_ROW(AT(model)),
    NVDP__RELEASED_COLUMN_ROW(AT(text_column)),
    NVDP__TEXT_PAIR_COLUMN_ROW(AT(pair_column)),
    NVDP__LABEL_COLUMN_ROW(AT(label_column)),
    {0},
};

static const struct nvdp_option output_rows[] = {
    {"out", NVDP_OPTION_TEXT, "DIR", "save the reader (of the first seed) in this directory", NULL,
     AT(out), .group = "Output:", .traits = NVDP_TRAIT_NO_EFFECT},
    NVDP__OVERWRITE_ROW(AT(overwrite)),
    {0},
};

static nvdp_status check(struct nvdp_context *ctx, const void *values) {
    const struct options *options = values;
    if (options->eval_labels != NULL && options->eval_file == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{eval-labels}: needs {eval-file}");
    return NVDP_OK;
}

static const struct nvdp__section sections[] = {
    {.row = file_rows}, {.row = sample_rows}, {.row = summary_rows}, {.row = output_rows}};
static const struct nvdp__schema schema = {.kind = "reuse",
                                           .size = sizeof(struct options),
                                           .section = sections,
                                           .sections = sizeof sections / sizeof *sections,
                                           .check = check};

const struct nvdp__kind nvdp__kind_reuse = {"reuse", {&schema}};

/* Fails if an option of these rows is set, because the rows do not apply to the file. */
static nvdp_status check_kind(const struct reuse *reuse, const struct nvdp_config *config,
                              const struct nvdp_option *row, const char *expected,
                              const char *found) {
    for (; row->name != NULL; row++)
        if (nvdp_config_is_set(config, row->name))
            return nvdp__fail_option(reuse->ctx, NVDP_ERR_ARGUMENT, row->name,
                                     ": %s: expected %s, found %s", reuse->options->file, expected,
                                     found);
    return NVDP_OK;
}

static nvdp_status open_files(struct reuse *reuse) {
    const struct options *options = reuse->options;
    /* Uses the metrics of the task that the file states, if these metrics apply. */
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
    NVDP_TRY(nvdp__labels_read(reuse->ctx, options->labels, options->file, reuse->file,
                               reuse->task.regression, NULL, &reuse->labels));
    if (!reuse->task.regression && reuse->labels.classes < 2)
        return nvdp__fail(
            reuse->ctx, NVDP_ERR_INPUT, "%s: expected labels of at least 2 classes, found %zu",
            options->labels != NULL ? options->labels : options->file, reuse->labels.classes);
    /* F1 and Matthews' correlation, the metrics of some tasks, need two classes; the labels may have more classes. */
    if (!reuse->task.regression && reuse->task.classes != (int)reuse->labels.classes) {
        reuse->task.metrics = 1;
        reuse->task.metric[0] = NVDP_METRIC_ACCURACY;
    }
    reuse->task.classes = (int)reuse->labels.classes;
    if (options->eval_file == NULL) return NVDP_OK;
    NVDP_TRY(nvdp_shared_read(reuse->ctx, options->eval_file, &reuse->eval_file));
    const struct nvdp__embeddings_shape *a = &reuse->file->shape, *b = &reuse->eval_file->shape;
    if (a->dim != b->dim || a->kappa != b->kappa)
        return nvdp__fail(reuse->ctx, NVDP_ERR_INPUT,
                          "%s: expected vectors of width %zu with kappa %d, as in %s, found width "
                          "%zu with kappa %d",
                          options->eval_file, a->dim, a->kappa, options->file, b->dim, b->kappa);
    return nvdp__labels_read(reuse->ctx, options->eval_labels, options->eval_file, reuse->eval_file,
                             reuse->task.regression, &reuse->labels, &reuse->eval_labels);
}

/* --- texts for training, validation and scoring --- */

/* Chooses the labeled texts of a split. */
static nvdp_status choose(struct reuse *reuse, const struct nvdp_shared *file,
                          const struct nvdp__labels *labels, int split, struct texts *out) {
    out->file = file;
    out->labels = labels;
    out->count = 0;
    free(out->row);
    NVDP_TRY(NVDP__NEW(reuse->ctx, out->row, labels->count));
    for (size_t i = 0; i < labels->count; i++) {
        bool wanted = split == ANY || file->split == NULL || file->split[i] == split;
        if (wanted && !isnan(labels->value[i])) out->row[out->count++] = i;
    }
    return NVDP_OK;
}

struct labeled {
    float label;
    size_t place; /* place in a seeded order */
    size_t row;
};

/* Divides texts: every tenth text, in the order of labels, goes to `held`, so that each class and each range of scores
 * contributes in proportion. The other texts go to `rest`, which may be `all`. */
static nvdp_status hold_out(struct reuse *reuse, uint32_t purpose, uint64_t seed,
                            const struct texts *all, struct texts *rest, struct texts *held) {
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream =
        nvdp__stream_open(&noise, NVDP__PURPOSE_READER, UINT32_MAX - purpose, 0);
    struct texts *const side[] = {rest, held};
    const size_t n = all->count;
    nvdp__autofree struct labeled *sorted = NULL;
    nvdp__autofree int64_t *order = NULL;
    NVDP_TRY(NVDP__ARRAYS(reuse->ctx, NULL, NVDP__ITEMS(sorted, n), NVDP__ITEMS(order, n)));
    nvdp__stream_permutation(&stream, n, order);
    for (size_t i = 0; i < n; i++)
        sorted[i] =
            (struct labeled){all->labels->value[all->row[i]], (size_t)order[i], all->row[i]};
    NVDP__SORT(sorted, n, NVDP__UP(struct labeled, label), NVDP__UP(struct labeled, place));
    for (size_t k = 0; k < 2; k++) {
        free(side[k]->row);
        *side[k] = (struct texts){.file = all->file, .labels = all->labels};
        NVDP_TRY(NVDP__NEW(reuse->ctx, side[k]->row, n));
    }
    for (size_t i = 0; i < n; i++) {
        struct texts *to = side[i % HELD_OUT == HELD_OUT / 2];
        to->row[to->count++] = sorted[i].row;
    }
    NVDP__SORT(rest->row, rest->count, NVDP__UP_ITEM(size_t));
    NVDP__SORT(held->row, held->count, NVDP__UP_ITEM(size_t));
    return NVDP_OK;
}

/* Holds out the validation texts of the reader's seed. */
static nvdp_status divide_training(struct reuse *reuse) {
    NVDP_TRY(hold_out(reuse, 1, reuse->seed, &reuse->labeled, &reuse->train, &reuse->validation));
    if (reuse->train.count > 0 && reuse->validation.count > 0 && reuse->test.count > 0)
        return NVDP_OK;
    return nvdp__fail(reuse->ctx, NVDP_ERR_INPUT,
                      "%s: expected more texts with labels, found %zu for training, %zu for "
                      "validation, %zu for scoring",
                      reuse->options->file, reuse->train.count, reuse->validation.count,
                      reuse->test.count);
}

/* Divides the texts.  Training uses the labeled texts of the train split, or all labeled texts if there is no train
 * split.  Scoring uses the other file; without it, the dev split if there is a train split; otherwise a tenth of the
 * texts.  Readers of all seeds are scored on the same texts. */
static nvdp_status divide(struct reuse *reuse) {
    const struct nvdp_shared *file = reuse->file;
    struct texts *train = &reuse->labeled, *test = &reuse->test;
    NVDP_TRY(choose(reuse, file, &reuse->labels, TRAIN, train));
    const bool train_split = file->split != NULL && train->count > 0;
    if (train->count == 0) NVDP_TRY(choose(reuse, file, &reuse->labels, ANY, train));
    if (reuse->eval_file != NULL) {
        NVDP_TRY(choose(reuse, reuse->eval_file, &reuse->eval_labels, ANY, test));
    } else {
        if (train_split) NVDP_TRY(choose(reuse, file, &reuse->labels, DEV, test));
        if (test->count == 0)
            NVDP_TRY(hold_out(reuse, 0, reuse->options->seed, train, train, test));
    }
    return divide_training(reuse);
}

/* --- the reader --- */

/* Adam moves every weight by about lr per step, and wider sums tolerate only smaller moves.  1e-2 did best at widths
 * of 4 and 16; at 256, anything from 3e-4 to 1e-2 did well. */
static double learning_rate(const struct reuse *reuse) {
    if (reuse->options->lr > 0) return reuse->options->lr;
    return 1e-2 * fmin(1, sqrt(16 / (double)reuse->file->shape.dim));
}

/* The penalty -|z|^2/(2 sqrt(h)) of a key separates two noise draws by sqrt(p/(2h)) nats, so narrow heads attend to
 * the luckiest noise.  Two heads of 8 did best at a width of 16; at 256, all numbers of heads did equally well. */
static size_t automatic_head_count(size_t dim) {
    size_t heads = dim / HEAD_WIDTH;
    if (heads > MAX_HEADS) heads = MAX_HEADS;
    while (heads > 1 && dim % heads != 0) {
        heads--;
    }
    return heads > 0 ? heads : 1;
}

static nvdp_status create_reader(struct reuse *reuse) {
    const struct options *options = reuse->options;
    const struct nvdp_shared *file = reuse->file;
    size_t dim = file->shape.dim;
    enum nvdp_pool pool = options->pool;
    if (pool == NVDP_POOL_AUTO) pool = file->pool;
    bool weights = file->shape.weights;
    if (pool == NVDP_POOL_AUTO || (pool == NVDP_POOL_WEIGHTED && !weights))
        pool = weights ? NVDP_POOL_WEIGHTED : NVDP_POOL_MEAN; /* all rows have equal weight */
    struct nvdp__reader_shape shape = {
        .dim = dim,
        .heads = options->heads > 0 ? options->heads : automatic_head_count(dim),
        .inner = 4 * dim > MIN_INNER ? 4 * dim : MIN_INNER,
        .outputs = reuse->labels.classes,
        .act = NVDP_ACTIVATION_GELU,
        .eps = 1e-12,
        .pool = pool,
        .kappa = file->shape.kappa,
        .weights = weights,
        .residual = file->row_index,
        .regression = reuse->task.regression,
    };
    if (options->init == NULL) {
        NVDP_TRY(nvdp__reader_create(reuse->ctx, &shape, true, &reuse->reader));
        nvdp__reader_initialise(reuse->reader, reuse->seed);
        return NVDP_OK;
    }
    NVDP_TRY(nvdp__reader_load(reuse->ctx, options->init, shape.outputs, true, reuse->seed,
                               &reuse->reader));
    reuse->reader->shape.regression = shape.regression;
    const struct nvdp__reader_shape *found = &reuse->reader->shape;
    if (found->dim == dim && found->kappa == shape.kappa && found->weights == weights)
        return NVDP_OK;
    return nvdp__fail(reuse->ctx, NVDP_ERR_ARGUMENT,
                      "%s: expected a reader of width %zu with kappa %d, %s weights, found width "
                      "%zu with kappa %d, %s weights",
                      options->init, dim, shape.kappa, weights ? "with" : "without", found->dim,
                      found->kappa, found->weights ? "with" : "without");
}

/* Frees the memory of one reader. */
static void release_reader(struct reuse *reuse) {
    nvdp__memory_release(&reuse->memory);
    nvdp__optimizer_release(&reuse->optimizer);
    nvdp__reader_free(reuse->reader);
    reuse->reader = NULL;
}

static nvdp_status allocate(struct reuse *reuse) {
    struct nvdp_context *ctx = reuse->ctx;
    const struct texts *all[] = {&reuse->train, &reuse->validation, &reuse->test};
    size_t longest = 0; /* rows of one sample; all samples of a text have the same number */
    for (size_t t = 0; t < 3; t++) {
        const int64_t *offset = all[t]->file->offset;
        for (size_t i = 0; i < all[t]->count; i++) {
            size_t sample = all[t]->row[i] * all[t]->file->shape.samples;
            longest = nvdp__max(longest, (size_t)(offset[sample + 1] - offset[sample]));
        }
    }
    reuse->batch = nvdp__min(reuse->options->batch, reuse->train.count);
    NVDP_TRY(nvdp__reader_plan(reuse->reader, reuse->batch, longest, true));
    NVDP_TRY(nvdp__adamw_create(ctx, &reuse->reader->params, learning_rate(reuse),
                                reuse->options->weight_decay, &reuse->optimizer));
    const size_t parameters = reuse->reader->params.total;
    return NVDP__ARRAYS(ctx, &reuse->memory, NVDP__ITEMS(reuse->order, reuse->train.count),
                        NVDP__ITEMS(reuse->samples, reuse->batch),
                        NVDP__ITEMS(reuse->target, reuse->batch),
                        NVDP__ITEMS(reuse->best, parameters), NVDP__ITEMS(reuse->mean, parameters));
}

/* --- scoring --- */

/* Computes the outputs of every text for all samples: [samples, texts, outputs]. */
static nvdp_status predict(struct reuse *reuse, const struct texts *texts, float *outputs) {
    struct nvdp__reader *reader = reuse->reader;
    const size_t width = reader->shape.outputs, samples = texts->file->shape.samples;
    for (size_t s = 0; s < samples; s++)
        for (size_t first = 0; first < texts->count; first += reuse->batch) {
            const size_t n = nvdp__min(texts->count - first, reuse->batch);
            NVDP_TRY(nvdp__check_cancelled(reuse->ctx, "reuse: cancelled"));
            for (size_t i = 0; i < n; i++)
                reuse->samples[i] = texts->row[first + i] * samples + s;
            nvdp__reader_fill(reader, texts->file, n, reuse->samples);
            NVDP_TRY(nvdp__reader_forward(reader));
            nvdp__download(&reader->dev, n * width, reader->logits,
                           outputs + (s * texts->count + first) * width);
        }
    return NVDP_OK;
}

/* Scores the outputs of readers, [readers, samples, texts, outputs].  Each sample of each reader is a draw. */
static nvdp_status score(struct reuse *reuse, const struct texts *texts, size_t readers,
                         const float *outputs, struct nvdp_scores *scores) {
    const size_t draws = readers * texts->file->shape.samples;
    nvdp__autofree float *label = NULL;
    nvdp__autofree const float **of_draw = NULL;
    NVDP_TRY(NVDP__ARRAYS(reuse->ctx, NULL, NVDP__ITEMS(label, texts->count),
                          NVDP__ITEMS(of_draw, draws)));
    for (size_t d = 0; d < draws; d++)
        of_draw[d] = outputs + d * texts->count * reuse->reader->shape.outputs;
    for (size_t i = 0; i < texts->count; i++)
        label[i] = texts->labels->value[texts->row[i]];
    nvdp__score(&reuse->task, texts->count, label, draws, of_draw, scores);
    return nvdp__add_intervals(reuse->ctx, &reuse->task, texts->count, label, draws, of_draw,
                               scores);
}

/* --- training --- */

/* Takes a step on n texts of the epoch's order.  Of each text, the epoch uses one sample. */
static nvdp_status step(struct reuse *reuse, uint32_t epoch, size_t first, size_t n,
                        uint64_t number, uint64_t total, double *loss) {
    struct nvdp__reader *reader = reuse->reader;
    const struct nvdp__noise noise = {.seed = reuse->seed};
    const size_t samples = reuse->file->shape.samples;
    double norm;
    for (size_t i = 0; i < n; i++) {
        const size_t text = reuse->train.row[reuse->order[first + i]];
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_READER, epoch, text);
        reuse->samples[i] =
            text * samples + (samples > 1 ? nvdp__stream_below(&stream, samples) : 0);
        reuse->target[i] = reuse->labels.value[text];
    }
    nvdp__reader_fill(reader, reuse->file, n, reuse->samples);
    NVDP_TRY(nvdp__reader_forward(reader));
    nvdp__zero(&reader->dev, reader->params.total, reader->params.grad);
    nvdp__reader_backward(reader, reuse->target, loss);
    if (!isfinite(*loss))
        return nvdp__fail(
            reuse->ctx, NVDP_ERR_NUMERIC,
            "reuse: the loss is %g at step %llu, which is not finite; try a smaller lr", *loss,
            (unsigned long long)number + 1);
    return nvdp__optimizer_step(&reuse->optimizer, &reader->dev, &reader->params,
                                nvdp__lr_factor(number, total, reuse->options->warmup), &norm);
}

/* Returns the mean loss per output [samples, texts, outputs] of the validation texts: cross entropy, or squared
 * error. */
static double mean_loss(const struct reuse *reuse, const float *outputs) {
    const struct texts *texts = &reuse->validation;
    const size_t width = reuse->reader->shape.outputs, samples = texts->file->shape.samples;
    double sum = 0;
    for (size_t k = 0; k < samples * texts->count; k++) {
        const float *of = outputs + k * width;
        const double label = (double)texts->labels->value[texts->row[k % texts->count]];
        double top = -INFINITY, total = 0;
        if (reuse->task.regression) {
            sum += pow((double)of[0] - label, 2);
            continue;
        }
        for (size_t c = 0; c < width; c++)
            top = fmax(top, (double)of[c]);
        for (size_t c = 0; c < width; c++)
            total += exp((double)of[c] - top);
        sum += log(total) + top - (double)of[(size_t)label];
    }
    return sum / (double)(samples * texts->count);
}

/* Keeps the averaged parameters of the epoch whose loss on the validation texts is the smallest.  On a tenth of the
 * texts, a loss has less noise than an accuracy, and averaged parameters vary less between epochs.  Training continues
 * with the parameters that are not averaged.  `scratch` has room for all parameters. */
static nvdp_status keep_best(struct reuse *reuse, size_t epoch, float *scratch) {
    static const float NEWEST = .4F; /* weight of the last epoch */
    const struct nvdp__params *params = &reuse->reader->params;
    const struct nvdp__device *dev = &reuse->reader->dev;
    const struct texts *texts = &reuse->validation;
    nvdp__autofree float *outputs = nvdp__calloc(
        reuse->ctx, texts->file->shape.samples * texts->count * reuse->reader->shape.outputs,
        sizeof *outputs);
    NVDP_TRY(NVDP__MADE(outputs));
    nvdp__copy(dev, params->total, params->value, scratch);
    for (size_t k = 0; k < params->total; k++)
        reuse->mean[k] =
            epoch == 1 ? scratch[k] : reuse->mean[k] + NEWEST * (scratch[k] - reuse->mean[k]);
    nvdp__copy(dev, params->total, reuse->mean, params->value);
    const nvdp_status status = predict(reuse, texts, outputs);
    nvdp__copy(dev, params->total, scratch, params->value);
    NVDP_TRY(status);
    const double loss = mean_loss(reuse, outputs);
    nvdp__log(reuse->ctx, NVDP_LOG_INFO, "epoch %zu: validation loss %.4f", epoch, loss);
    if (reuse->best_epoch > 0 && !(loss < reuse->best_value)) return NVDP_OK;
    reuse->best_epoch = epoch;
    reuse->best_value = loss;
    memcpy(reuse->best, reuse->mean, params->total * sizeof *reuse->best);
    return NVDP_OK;
}

static nvdp_status train(struct reuse *reuse) {
    const struct options *options = reuse->options;
    struct nvdp__params *params = &reuse->reader->params;
    const size_t count = reuse->train.count, batch = reuse->batch;
    const uint64_t total = (uint64_t)((count + batch - 1) / batch) * options->epochs;
    uint64_t number = 0;
    double loss = 0;
    nvdp__autofree float *scratch = NULL;
    NVDP_TRY(NVDP__NEW(reuse->ctx, scratch, params->total));
    reuse->best_epoch = 0;
    if (reuse->seed == options->seed)
        nvdp__meter_begin(&reuse->meter, reuse->ctx, "reuse", "step", 0, options->seeds * total);
    for (size_t epoch = 1; epoch <= options->epochs; epoch++) {
        nvdp__epoch_order(reuse->seed, (uint32_t)epoch - 1, count, reuse->order);
        for (size_t first = 0; first < count; first += batch) {
            const size_t n = nvdp__min(count - first, batch);
            NVDP_TRY(nvdp__check_cancelled(reuse->ctx, "reuse: cancelled"));
            NVDP_TRY(step(reuse, (uint32_t)epoch - 1, first, n, number++, total, &loss));
            const uint64_t done = (reuse->seed - options->seed) * total + number;
            nvdp__meter_update(&reuse->meter, done, (double)done * (double)batch, "text", loss);
        }
        NVDP_TRY(keep_best(reuse, epoch, scratch));
        if (options->patience > 0 && epoch - reuse->best_epoch >= options->patience) break;
    }
    nvdp__copy(&reuse->reader->dev, params->total, reuse->best, params->value);
    return NVDP_OK;
}

/* Trains and scores the readers of all seeds.  The reader of the first seed exists already. */
static nvdp_status train_all(struct reuse *reuse, struct nvdp_reuse_result *result) {
    const struct options *options = reuse->options;
    const size_t each =
        reuse->test.file->shape.samples * reuse->test.count * reuse->reader->shape.outputs;
    const struct nvdp__reader_info info = {
        .task = reuse->file->task[0] != '\0' ? reuse->file->task : NULL,
        .labels = reuse->labels.name,
        .statement = "A reader trained on noisy embeddings and their labels.",
    };
    double mean = 0, square = 0;
    nvdp__autofree float *outputs = NULL;
    NVDP_TRY(NVDP__NEW(reuse->ctx, outputs, options->seeds * each));
    for (size_t s = 0; s < options->seeds; s++) {
        struct nvdp_scores one;
        reuse->seed = options->seed + s;
        if (s > 0) {
            release_reader(reuse);
            NVDP_TRY(divide_training(reuse));
            NVDP_TRY(create_reader(reuse));
            NVDP_TRY(allocate(reuse));
        }
        NVDP_TRY(train(reuse));
        NVDP_TRY(predict(reuse, &reuse->test, outputs + s * each));
        NVDP_TRY(score(reuse, &reuse->test, 1, outputs + s * each, &one));
        if (options->seeds > 1)
            nvdp__log(reuse->ctx, NVDP_LOG_INFO, "seed %llu: %s %.4f",
                      (unsigned long long)reuse->seed, nvdp_metric_name(one.metric[0]),
                      one.mean[0]);
        nvdp__welford(s + 1, one.mean[0], &mean, &square);
        if (s > 0) continue;
        result->best_epoch = reuse->best_epoch;
        if (options->out != NULL) NVDP_TRY(nvdp__reader_save(reuse->reader, &info, options->out));
    }
    nvdp__meter_end(&reuse->meter);
    NVDP_TRY(score(reuse, &reuse->test, options->seeds, outputs, result->scores));
    result->seeds = options->seeds;
    result->seed_mean = mean;
    result->seed_sd = options->seeds > 1 ? sqrt(square / (double)(options->seeds - 1)) : NAN;
    nvdp__warn_of_few(reuse->ctx, reuse->train.count);
    nvdp__warn_of_chance(reuse->ctx, result->scores);
    return NVDP_OK;
}

/* --- a summary --- */

/* Scores the reader on the plain embeddings of labeled texts. */
static nvdp_status score_linear(struct reuse *reuse, const struct nvdp__linear_reader *reader,
                                struct nvdp_scores *scores) {
    const struct options *options = reuse->options;
    nvdp__autoptr(nvdp_encoder_free) struct nvdp_encoder *encoder = NULL;
    nvdp__auto(nvdp__linear_input_release) struct nvdp__linear_input input = {0};
    nvdp__autofree float *outputs = NULL;
    NVDP_TRY(nvdp__query_encoder(reuse->ctx, &reader->query, options->model, &encoder));
    NVDP_TRY(nvdp__linear_texts(
        reader, encoder, options->score, options->text_column, options->pair_column,
        options->label_column != NULL ? options->label_column : "label", &input));
    const struct nvdp_dataset *texts = input.first;
    NVDP_TRY(NVDP__NEW(reuse->ctx, outputs, texts->count * nvdp__linear_width(reader)));
    NVDP_TRY(nvdp__linear_outputs(reader, encoder, &input, outputs));
    const float *const draw = outputs;
    nvdp__score(&reader->task, texts->count, texts->label, 1, &draw, scores);
    NVDP_TRY(nvdp__add_intervals(reuse->ctx, &reader->task, texts->count, texts->label, 1, &draw,
                                 scores));
    nvdp__warn_of_chance(reuse->ctx, scores);
    return NVDP_OK;
}

/* Computes the reader of a summary, then scores and saves it if the options request it. */
static nvdp_status reuse_summary(struct reuse *reuse, struct nvdp_reuse_result *result) {
    const struct options *options = reuse->options;
    nvdp__auto(nvdp__linear_release) struct nvdp__linear_reader reader = {0};
    NVDP_TRY(nvdp__summary_fit(reuse->summary, options->file, &reader));
    result->train_texts = nvdp__summary_units(reuse->summary);
    result->classes = (size_t)reader.task.classes;
    result->seeds = 1;
    result->seed_mean = result->seed_sd = NAN;
    if (options->score != NULL) {
        NVDP_TRY(score_linear(reuse, &reader, result->scores));
        result->seed_mean = result->scores->mean[0];
    } else {
        free(result->scores);
        result->scores = NULL;
    }
    return options->out == NULL
               ? NVDP_OK
               : nvdp__linear_save(&reader, nvdp__summary_says(reuse->summary), options->out);
}

/* --- nvdp_reuse --- */

static void close_reuse(struct reuse *reuse) {
    struct texts *const texts[] = {&reuse->labeled, &reuse->train, &reuse->validation,
                                   &reuse->test};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]->row);
    release_reader(reuse);
    nvdp__labels_release(&reuse->labels);
    nvdp__labels_release(&reuse->eval_labels);
    nvdp_collection_free(reuse->summary);
    nvdp_shared_free(reuse->file);
    nvdp_shared_free(reuse->eval_file);
}

static const struct nvdp_result_kind reuse_kind = {
    .name = "reuse", .memory = NVDP__OFFSETS(offsetof(struct nvdp_reuse_result, scores))};

nvdp_status nvdp_reuse(struct nvdp_context *ctx, const struct nvdp_config *config,
                       struct nvdp_reuse_result *out) {
    double started = nvdp__now();
    struct options options;
    nvdp__auto(close_reuse) struct reuse reuse = {.ctx = ctx, .options = &options};
    nvdp__autoresult struct nvdp_reuse_result result =
        NVDP__RESULT(struct nvdp_reuse_result, reuse_kind);
    NVDP_TRY(NVDP__NEW(ctx, result.scores, 1));
    result.scores->struct_size = sizeof *result.scores;
    NVDP_TRY(nvdp__config_open(ctx, config, &schema, &options));
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (options.out != NULL && !options.overwrite && !nvdp__directory_empty(options.out))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "%s: the output directory is not empty; use {overwrite}", options.out);
    reuse.seed = options.seed;
    NVDP_TRY(nvdp__shared_or_summary(ctx, options.file, &reuse.file, &reuse.summary));
    if (reuse.summary != NULL) {
        NVDP_TRY(check_kind(&reuse, config, sample_rows, "samples of texts",
                            "a summary of a collection"));
        NVDP_TRY(reuse_summary(&reuse, &result));
    } else {
        NVDP_TRY(check_kind(&reuse, config, summary_rows, "a summary of a collection",
                            "samples of texts"));
        NVDP_TRY(open_files(&reuse));
        NVDP_TRY(divide(&reuse));
        NVDP_TRY(create_reader(&reuse));
        NVDP_TRY(allocate(&reuse));
        NVDP_TRY(train_all(&reuse, &result));
        result.train_texts = reuse.train.count;
        result.classes = reuse.labels.classes;
    }
    result.seconds = nvdp__now() - started;
    nvdp_result_free(out);
    NVDP__GIVE(out, &result);
    result.scores = NULL;
    return NVDP_OK;
}
