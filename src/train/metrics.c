/* Scores models for training and evaluation. In order: the metrics of the GLUE tasks in double,
 * bootstrap intervals over texts, scores by class, and the scores of a model over draws of its
 * noise. */
#include "model/model.h"
#include "train/run.h"

#include "base/array.h"
#include "base/json.h"
#include "base/random.h"
#include "rdp/pairs.h"
#include "text/dataset.h"
#include "train/trainer.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

size_t nvdp__argmax(size_t classes, const float *outputs) {
    size_t best = 0;
    for (size_t c = 1; c < classes; c++)
        if (outputs[c] > outputs[best]) best = c;
    return best;
}

/* Counts for one class: correctly predicted texts, texts with this label, texts predicted as
 * this class. */
struct class_counts {
    double right, actual, predicted;
};

/* Returns the harmonic mean of precision and recall. */
static double class_f1(const struct class_counts *c) {
    return c->right > 0 ? 2 * c->right / (c->actual + c->predicted) : 0;
}

/* Returns the correlation of two binary variables (Matthews 1975), from the counts of one class in n texts. */
static double matthews(const struct class_counts *c, double n) {
    double tp = c->right, fp = c->predicted - tp, fn = c->actual - tp, tn = n - tp - fp - fn;
    double under = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn);
    return under > 0 ? (tp * tn - fp * fn) / sqrt(under) : 0;
}

/* Returns Pearson's correlation, or Spearman's correlation, which is Pearson's correlation of ranks, with ties at their
 * mean rank. Returns 0 if one side is constant, and NAN if memory is short. */
static double correlation(enum nvdp_metric metric, size_t n, const float *outputs,
                          const float *label) {
    double *x = malloc((4 * n + 1) * sizeof *x), *y = x + n, *work = y + n;
    double result = 0;
    if (x == NULL) return NAN;
    for (size_t i = 0; i < n; i++) {
        x[i] = outputs[i];
        y[i] = label[i];
    }
    bool varies = n > 1 && gsl_stats_sd(x, 1, n) > 0 && gsl_stats_sd(y, 1, n) > 0;
    if (varies)
        result = metric == NVDP_METRIC_PEARSON ? gsl_stats_correlation(x, 1, y, 1, n)
                                               : gsl_stats_spearman(x, 1, y, 1, n, work);
    free(x);
    return result;
}

/* Counts the classes in count [classes], which must be zeroed. */
static void count_classes(size_t n, size_t classes, const float *outputs, const float *label,
                          struct class_counts *count) {
    for (size_t i = 0; i < n; i++) {
        const size_t predicted = nvdp__argmax(classes, outputs + i * classes),
                     actual = (size_t)label[i];
        count[predicted].predicted++;
        count[actual].actual++;
        count[actual].right += predicted == actual;
    }
}

/* Returns the sum of all classes' F1. *seen is the number of classes that occur as a label or
 * prediction. */
static double sum_f1(size_t n, size_t classes, const float *outputs, const float *label,
                     double *seen) {
    struct class_counts *count = calloc(classes, sizeof *count);
    double sum = 0;
    *seen = 0;
    if (count == NULL) return NAN;
    count_classes(n, classes, outputs, label, count);
    for (size_t c = 0; c < classes; c++) {
        sum += class_f1(&count[c]);
        *seen += count[c].actual + count[c].predicted > 0;
    }
    free(count);
    return sum;
}

double nvdp__metric(enum nvdp_metric metric, size_t n, size_t classes, const float *outputs,
                    const float *label) {
    if (n == 0) return NAN;
    if (metric == NVDP_METRIC_PEARSON || metric == NVDP_METRIC_SPEARMAN)
        return correlation(metric, n, outputs, label);
    if (metric == NVDP_METRIC_MACRO_F1) { /* as scikit-learn's f1_score(average="macro") */
        double seen;
        const double sum = sum_f1(n, classes, outputs, label, &seen);
        return sum / seen;
    }
    struct class_counts one = {0}; /* counts of class 1 */
    double right = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t predicted = nvdp__argmax(classes, outputs + i * classes),
                     actual = (size_t)label[i];
        right += predicted == actual;
        one.right += predicted == 1 && actual == 1;
        one.actual += actual == 1;
        one.predicted += predicted == 1;
    }
    if (metric == NVDP_METRIC_F1) return class_f1(&one);
    if (metric == NVDP_METRIC_MATTHEWS) return matthews(&one, (double)n);
    return right / (double)n;
}

double nvdp__majority(size_t n, size_t classes, const float *label) {
    if (classes < 2 || n == 0) return NAN;
    double best = 0;
    for (size_t c = 0; c < classes; c++) {
        double count = 0;
        for (size_t i = 0; i < n; i++)
            count += label[i] == (float)c;
        best = fmax(best, count);
    }
    return best / (double)n;
}

/* Returns scores to which no draw was added yet, without intervals. */
static struct nvdp_scores no_draws(const struct nvdp_task *task, size_t n, size_t draws,
                                   double majority, size_t struct_size) {
    struct nvdp_scores scores = {.struct_size = struct_size,
                                 .kind = &nvdp__scores_kind,
                                 .metrics = task->metrics,
                                 .majority = majority,
                                 .n = n,
                                 .draws = draws};
    memcpy(scores.metric, task->metric, sizeof scores.metric);
    for (int k = 0; k < NVDP_METRICS_MAX; k++)
        scores.low[k] = scores.high[k] = NAN;
    return scores;
}

/* Turns the sums of squared deviations over draws into standard deviations. */
static void end_draws(struct nvdp_scores *scores) {
    for (int k = 0; k < scores->metrics; k++)
        scores->sd[k] = scores->draws > 1 ? sqrt(scores->sd[k] / (double)(scores->draws - 1)) : 0;
}

void nvdp__score(const struct nvdp_task *task, size_t n, const float *label, size_t draws,
                 const float *const *outputs, struct nvdp_scores *scores) {
    const size_t classes = task->regression ? 1 : (size_t)task->classes;
    *scores = no_draws(task, n, draws, nvdp__majority(n, classes, label), 0);
    for (int k = 0; k < task->metrics; k++)
        for (size_t d = 0; d < draws; d++)
            nvdp__welford(d + 1, nvdp__metric(task->metric[k], n, classes, outputs[d], label),
                          &scores->mean[k], &scores->sd[k]);
    end_draws(scores);
}

/* --- intervals over texts ---
 *
 * Percentile bootstrap (Efron & Tibshirani 1993, chapter 13): texts are drawn with replacement,
 * together with all their draws of the noise. The interval covers the middle 95 % of the scores
 * of these samples.
 *
 * F1, macro-F1 and Matthews' correlation jump when a sample has lost a class. For example, a
 * classifier that always predicts the larger of two classes has a macro-F1 of about 1/2, but of
 * 1 on texts of that class alone. For these metrics, samples are therefore stratified (Davison &
 * Hinkley 1997, section 3.2): each class keeps its number of texts, and macro-F1 averages over the
 * classes of the full set. The interval then holds for texts with these class shares; a class of
 * one text adds no width. For correlations, a sample whose labels are all equal is redrawn.
 *
 * If the interval has zero width, no interval is reported (NaN): all samples have the same score,
 * for example if the same class is always predicted. An accuracy of 0 or 1 gets Clopper &
 * Pearson's limits (1934) instead. */
enum { RESAMPLES = 400, SMALL = 4096 /* floats per sample; fewer are not worth threads */ };
enum drawing { PLAIN, STRATIFIED, VARYING, DRAWINGS };

struct resample {
    const struct nvdp_task *task;
    size_t n, classes, draws;
    const float *label;
    const float *const *outputs;
    const size_t *by_class,
        *first;         /* [n] texts sorted by class; [classes + 1] where each class begins */
    const double *seen; /* [draws] number of classes that are a label or a prediction */
};

static enum drawing metric_drawing(enum nvdp_metric metric) {
    switch (metric) {
    case NVDP_METRIC_F1:
    case NVDP_METRIC_MACRO_F1:
    case NVDP_METRIC_MATTHEWS:
        return STRATIFIED;
    case NVDP_METRIC_PEARSON:
    case NVDP_METRIC_SPEARMAN:
        return VARYING;
    default:
        return PLAIN;
    }
}

static bool varies(size_t n, const float *label) {
    for (size_t i = 1; i < n; i++)
        if (label[i] != label[0]) return true;
    return false;
}

/* Draws n texts into from [n], and their labels. */
static void draw_texts(const struct resample *of, enum drawing how, struct nvdp__stream *stream,
                       size_t *from, float *label) {
    const bool redraw = how == VARYING && varies(of->n, of->label);
    do {
        for (size_t c = 0; how == STRATIFIED && c < of->classes; c++) {
            const size_t at = of->first[c], texts = of->first[c + 1] - at;
            for (size_t i = at; i < at + texts; i++)
                from[i] = of->by_class[at + nvdp__stream_below(stream, texts)];
        }
        for (size_t i = 0; i < of->n; i++) {
            if (how != STRATIFIED) from[i] = nvdp__stream_below(stream, of->n);
            label[i] = of->label[from[i]];
        }
    } while (redraw && !varies(of->n, label));
}

/* Adds the scores of sample number b to `value`. scratch is [n (classes + 1)], from is [n]. */
static void score_resample(const struct resample *of, uint64_t b, float *scratch, size_t *from,
                           double value[NVDP_METRICS_MAX]) {
    const size_t classes = of->classes;
    const struct nvdp__noise noise = {.seed = 1};
    float *label = scratch + of->n * classes;
    for (int how = 0; how < DRAWINGS; how++) {
        bool wanted = false;
        for (int k = 0; k < of->task->metrics; k++)
            wanted |= metric_drawing(of->task->metric[k]) == (enum drawing)how;
        if (!wanted) continue;
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, b);
        draw_texts(of, how, &stream, from, label);
        for (size_t d = 0; d < of->draws; d++) {
            for (size_t i = 0; i < of->n; i++)
                memcpy(scratch + i * classes, of->outputs[d] + from[i] * classes,
                       classes * sizeof *scratch);
            for (int k = 0; k < of->task->metrics; k++) {
                const enum nvdp_metric metric = of->task->metric[k];
                double seen;
                if (metric_drawing(metric) != (enum drawing)how) continue;
                value[k] += (metric == NVDP_METRIC_MACRO_F1
                                 ? sum_f1(of->n, classes, scratch, label, &seen) / of->seen[d]
                                 : nvdp__metric(metric, of->n, classes, scratch, label)) /
                            (double)of->draws;
            }
        }
    }
}

/* Fills by_class [n], first [classes + 1] and seen [draws] of a task with classes. */
static void sort_by_class(const struct resample *of, size_t *by_class, size_t *first,
                          double *seen) {
    size_t at = 0;
    for (size_t c = 0; c < of->classes; c++) {
        first[c] = at;
        for (size_t i = 0; i < of->n; i++)
            if (of->label[i] == (float)c) by_class[at++] = i;
    }
    first[of->classes] = at;
    for (size_t d = 0; d < of->draws; d++)
        sum_f1(of->n, of->classes, of->outputs[d], of->label, &seen[d]);
}

/* Sets the ends of metric k's interval from its sorted values [RESAMPLES]. */
static void set_interval(const struct resample *of, int k, const double *value,
                         struct nvdp_scores *scores) {
    const double low = value[RESAMPLES / 40], high = value[RESAMPLES - 1 - RESAMPLES / 40];
    const bool none = high - low <= 1e-12; /* equal, apart from rounding over draws */
    scores->low[k] = none ? NAN : low;
    scores->high[k] = none ? NAN : high;
    if (!none || of->task->metric[k] != NVDP_METRIC_ACCURACY || (low > 1e-12 && low < 1 - 1e-12))
        return;
    const struct nvdp_interval
        limits = /* all samples are equal: every text is correct, or none is */
        nvdp__interval_share(.95, of->n, low > .5 ? of->n : 0);
    scores->low[k] = limits.low;
    scores->high[k] = limits.high;
}

nvdp_status nvdp__add_intervals(struct nvdp_context *ctx, const struct nvdp_task *task, size_t n,
                                const float *label, size_t draws, const float *const *outputs,
                                struct nvdp_scores *scores) {
    const size_t classes = task->regression ? 1 : (size_t)task->classes;
    struct resample of = {task, n, classes, draws, label, outputs, NULL, NULL, NULL};
    const size_t room = n * (classes + 1);
    const size_t threads = room * draws < SMALL ? 1 : (size_t)nvdp_context_threads(ctx);
    nvdp__autofree double *values = NULL, *seen = NULL;
    nvdp__autofree float *scratch = NULL;
    nvdp__autofree size_t *from = NULL, *by_class = NULL, *first = NULL;
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(values, RESAMPLES * NVDP_METRICS_MAX),
                          NVDP__ITEMS(scratch, threads * room), NVDP__ITEMS(from, threads * n)));
    if (!task->regression) {
        NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(by_class, n), NVDP__ITEMS(first, classes + 1),
                              NVDP__ITEMS(seen, draws)));
        sort_by_class(&of, by_class, first, seen);
        of.by_class = by_class;
        of.first = first;
        of.seen = seen;
    }
#pragma omp parallel for num_threads((int)threads) schedule(static)
    for (int b = 0; b < RESAMPLES; b++) {
        double value[NVDP_METRICS_MAX] = {0};
        const size_t mine = (size_t)omp_get_thread_num();
        score_resample(&of, (uint64_t)b, scratch + mine * room, from + mine * n, value);
        for (int k = 0; k < NVDP_METRICS_MAX; k++)
            values[k * RESAMPLES + b] = value[k];
    }
    for (int k = 0; k < task->metrics; k++) {
        double *of_metric = values + (size_t)k * RESAMPLES;
        qsort(of_metric, RESAMPLES, sizeof *of_metric, nvdp__by_double);
        set_interval(&of, k, of_metric, scores);
    }
    return NVDP_OK;
}

/* --- scores by class --- */

/* Computes each class's scores as means over draws. */
static nvdp_status score_classes(struct nvdp_context *ctx, const struct nvdp_task *task, size_t n,
                                 const float *label, size_t draws, const float *const *outputs,
                                 struct nvdp_class_score **out) {
    const size_t classes = (size_t)task->classes;
    nvdp__autofree struct class_counts *count = NULL;
    nvdp__autofree struct nvdp_class_score *made = NULL;
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(made, classes), NVDP__ITEMS(count, classes)));
    for (size_t d = 0; d < draws; d++) {
        memset(count, 0, classes * sizeof *count);
        count_classes(n, classes, outputs[d], label, count);
        for (size_t c = 0; c < classes; c++) {
            const double share = 1 / (double)draws;
            const struct class_counts *at = &count[c];
            made[c].n = (size_t)at->actual;
            made[c].said += share * at->predicted;
            made[c].precision += at->predicted > 0 ? share * at->right / at->predicted : 0;
            made[c].recall += at->actual > 0 ? share * at->right / at->actual : 0;
            made[c].f1 += share * class_f1(at);
        }
    }
    for (size_t c = 0; c < classes; c++)
        nvdp__snprintf(made[c].name, sizeof made[c].name, "%s", task->labels[c]);
    return NVDP__HAND_OVER(out, made);
}

static nvdp_status score_tags(struct nvdp_context *ctx, const struct nvdp_dataset *dataset,
                              size_t words, size_t draws, const float *const *outputs,
                              struct nvdp_scores *scores) {
    const struct nvdp_task *task = dataset->task;
    nvdp__autofree int32_t *predicted = NULL;
    NVDP_TRY(NVDP__NEW(ctx, predicted, words));
    *scores = no_draws(task, words, draws, NAN, scores->struct_size);
    for (size_t d = 0; d < draws; d++) {
        struct nvdp__entities found = {0};
        for (size_t i = 0; i < words; i++)
            predicted[i] = (int32_t)nvdp__argmax((size_t)task->classes,
                                                 outputs[d] + i * (size_t)task->classes);
        nvdp__entities_count(dataset, predicted, NULL, &found);
        for (int k = 0; k < task->metrics; k++)
            nvdp__welford(d + 1, nvdp__entities_metric(&found, task->metric[k]), &scores->mean[k],
                          &scores->sd[k]);
    }
    end_draws(scores);
    return NVDP_OK;
}

nvdp_status nvdp__score_model(struct nvdp_context *ctx, struct nvdp_model *model,
                              const struct nvdp_dataset *dataset, size_t batch, uint64_t seed,
                              uint32_t first_draw, size_t draws, bool intervals,
                              struct nvdp_scores *scores, struct nvdp_class_score **classes) {
    if (!nvdp__dataset_labeled(dataset)) {
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "this split has no labels, so it cannot be scored");
    }
    /* Without noise, every draw is the same. */
    if (!model->bottleneck.mechanism->private_) draws = 1;
    size_t rows = nvdp__dataset_outputs(dataset), size = rows * model->info.outputs;
    nvdp__autofree float *outputs = nvdp__calloc(ctx, draws * size, sizeof *outputs);
    nvdp__autofree const float **row = nvdp__calloc(ctx, draws, sizeof *row);
    NVDP_TRY(NVDP__MADE(outputs, row));
    for (size_t d = 0; d < draws; d++)
        row[d] = outputs + d * size;
    NVDP_TRY(nvdp__model_predict(model, dataset, batch, seed, first_draw, draws, outputs));
    for (size_t i = 0; i < draws * size; i++) {
        if (isfinite(outputs[i])) continue;
        return nvdp__fail(ctx, NVDP_ERR_NUMERIC,
                          "%s %zu: the output of the model is %g, which is not finite",
                          dataset->task->tags ? "word" : "text", i % size / model->info.outputs,
                          (double)outputs[i]);
    }
    if (dataset->task->tags) {
        return score_tags(ctx, dataset, rows, draws, row, scores);
    }
    const struct nvdp_task *task = dataset->task;
    nvdp__score(task, dataset->count, dataset->label, draws, row, scores);
    if (intervals)
        NVDP_TRY(
            nvdp__add_intervals(ctx, task, dataset->count, dataset->label, draws, row, scores));
    return classes != NULL && !task->regression
               ? score_classes(ctx, task, dataset->count, dataset->label, draws, row, classes)
               : NVDP_OK;
}

/* ---- entities of tagged words ---- */

/* A class split into its kind, 'O', 'B' or 'I', and its type. */
struct tag {
    char kind;
    const char *type;
};

static const struct tag outside = {'O', ""};

static struct tag class_tag(const struct nvdp_task *task, int32_t class) {
    const char *name = class >= 0 ? task->labels[class] : "O";
    return name[0] == 'O' ? outside : (struct tag){name[0], name + 2};
}

static bool ends(struct tag before, struct tag now) {
    return before.kind != 'O' && (now.kind != 'I' || strcmp(before.type, now.type) != 0);
}

static bool begins(struct tag before, struct tag now) {
    return now.kind == 'B' ||
           (now.kind == 'I' && (before.kind == 'O' || strcmp(before.type, now.type) != 0));
}

struct count {
    struct tag gold, found; /* tags of the previous word */
    bool right;             /* inside an entity that matches so far */
    const char *type;
    struct nvdp__entities *out;
};

static bool counts(const struct count *c, struct tag tag) {
    return c->type == NULL || strcmp(c->type, tag.type) == 0;
}

static void step(struct count *c, struct tag gold, struct tag found) {
    bool gold_ends = ends(c->gold, gold), found_ends = ends(c->found, found);
    if (c->right && gold_ends && found_ends) c->out->right += counts(c, c->gold);
    if (gold_ends || found_ends) c->right = false;
    bool gold_begins = begins(c->gold, gold), found_begins = begins(c->found, found);
    if (gold_begins) c->out->gold += counts(c, gold);
    if (found_begins) c->out->found += counts(c, found);
    if (gold_begins && found_begins) c->right = strcmp(gold.type, found.type) == 0;
    c->gold = gold;
    c->found = found;
}

void nvdp__entities_count(const struct nvdp_dataset *dataset, const int32_t *predicted,
                          const char *type, struct nvdp__entities *out) {
    const bool *continues = nvdp__dataset_storage(dataset)->continues;
    struct count c = {outside, outside, false, type, out};
    size_t word = 0;
    *out = (struct nvdp__entities){0};
    for (size_t i = 0; i < dataset->count; i++) {
        if (!continues[i]) step(&c, outside, outside);
        for (size_t k = dataset->offset[i]; k < dataset->offset[i + 1]; k++) {
            if (dataset->tag[k] == NVDP_TAG_NONE) continue;
            step(&c, class_tag(dataset->task, dataset->tag[k]),
                 class_tag(dataset->task, predicted[word++]));
        }
    }
    step(&c, outside, outside);
}

static double ratio(size_t part, size_t all) {
    return all > 0 ? (double)part / (double)all : 0;
}

double nvdp__entities_metric(const struct nvdp__entities *e, enum nvdp_metric metric) {
    if (metric == NVDP_METRIC_PRECISION) return ratio(e->right, e->found);
    return metric == NVDP_METRIC_RECALL ? ratio(e->right, e->gold)
                                        : ratio(2 * e->right, e->gold + e->found);
}

/* --- warnings --- */

void nvdp__warn_of_chance(struct nvdp_context *ctx, const struct nvdp_scores *scores) {
    enum { ENOUGH = 100 };
    if (scores->metric[0] != NVDP_METRIC_ACCURACY) return;
    if (scores->mean[0] < scores->majority)
        nvdp__log(ctx, NVDP_LOG_WARNING,
                  "the accuracy %.4f is below that of always guessing the most frequent class, "
                  "%.4f: nothing useful was learned",
                  scores->mean[0], scores->majority);
    else if (scores->n >= ENOUGH && scores->low[0] <= scores->majority)
        nvdp__log(ctx, NVDP_LOG_WARNING,
                  "the accuracy %.4f (95 %% interval over texts: %.4f to %.4f) does not differ "
                  "significantly from the accuracy of always guessing the most frequent class, "
                  "%.4f: %zu texts do not show that the model learned anything",
                  scores->mean[0], scores->low[0], scores->high[0], scores->majority, scores->n);
}

void nvdp__warn_of_few(struct nvdp_context *ctx, size_t train_texts) {
    enum { FEW = 30 };
    if (train_texts < FEW)
        nvdp__log(ctx, NVDP_LOG_WARNING,
                  "%zu training texts: so few show hardly anything, whatever the score is; use at "
                  "least some hundreds",
                  train_texts);
}
