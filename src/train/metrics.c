#include "train/metrics.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t nvdp__argmax(size_t classes, const float *outputs) {
    size_t best = 0;
    for (size_t c = 1; c < classes; c++) {
        if (outputs[c] > outputs[best]) best = c;
    }
    return best;
}

/* Counts of a binary task: [label][prediction], class 1 positive. */
struct confusion {
    double count[2][2];
    double right;
};

static struct confusion count_pairs(size_t n, size_t classes, const float *outputs,
                                    const float *label) {
    struct confusion c = {0};
    for (size_t i = 0; i < n; i++) {
        size_t predicted = nvdp__argmax(classes, outputs + i * classes);
        size_t actual = (size_t)label[i];
        c.right += predicted == actual;
        c.count[actual == 1][predicted == 1]++;
    }
    return c;
}

/* Harmonic mean of precision and recall of class 1. */
static double f1(const struct confusion *c) {
    double found = 2 * c->count[1][1];
    double all = found + c->count[0][1] + c->count[1][0];
    return all > 0 ? found / all : 0;
}

/* Matthews (1975): the correlation of two binary variables. */
static double matthews(const struct confusion *c) {
    double tp = c->count[1][1], tn = c->count[0][0], fp = c->count[0][1], fn = c->count[1][0];
    double under = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn);
    return under > 0 ? (tp * tn - fp * fn) / sqrt(under) : 0;
}

static double correlation(size_t n, const double *x, const double *y) {
    double sx = gsl_stats_sd(x, 1, n), sy = gsl_stats_sd(y, 1, n);
    if (n < 2 || !(sx > 0) || !(sy > 0)) return 0;
    return gsl_stats_correlation(x, 1, y, 1, n);
}

/* Spearman: Pearson's correlation of ranks, ties at their mean rank.  NAN where memory runs out. */
static double spearman(size_t n, const double *x, const double *y);

static double paired(enum nvdp_metric metric, size_t n, const float *outputs, const float *label) {
    double result = NAN;
    double *x = malloc((n + 1) * sizeof *x);
    double *y = malloc((n + 1) * sizeof *y);
    if (x == NULL || y == NULL) goto cleanup;
    for (size_t i = 0; i < n; i++) {
        x[i] = outputs[i];
        y[i] = label[i];
    }
    result = metric == NVDP_METRIC_PEARSON ? correlation(n, x, y) : spearman(n, x, y);
cleanup:
    free(x);
    free(y);
    return result;
}

double nvdp__metric(enum nvdp_metric metric, size_t n, size_t classes, const float *outputs,
                    const float *label) {
    if (n == 0) return NAN;
    if (metric == NVDP_METRIC_PEARSON || metric == NVDP_METRIC_SPEARMAN) {
        return paired(metric, n, outputs, label);
    }
    struct confusion c = count_pairs(n, classes, outputs, label);
    if (metric == NVDP_METRIC_F1) return f1(&c);
    if (metric == NVDP_METRIC_MATTHEWS) return matthews(&c);
    return c.right / (double)n;
}

struct ranked {
    double value;
    size_t index;
};

static int by_value(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

static void ranks(size_t n, const double *x, struct ranked *order, double *rank) {
    for (size_t i = 0; i < n; i++)
        order[i] = (struct ranked){x[i], i};
    qsort(order, n, sizeof *order, by_value);
    for (size_t first = 0; first < n;) {
        size_t end = first + 1;
        while (end < n && order[end].value == order[first].value)
            end++;
        for (size_t i = first; i < end; i++) {
            rank[order[i].index] = (double)(first + end - 1) / 2;
        }
        first = end;
    }
}

static double spearman(size_t n, const double *x, const double *y) {
    double result = NAN;
    struct ranked *order = malloc((n + 1) * sizeof *order);
    double *rank = malloc((2 * n + 1) * sizeof *rank);
    if (order == NULL || rank == NULL) goto cleanup;
    ranks(n, x, order, rank);
    ranks(n, y, order, rank + n);
    result = correlation(n, rank, rank + n);
cleanup:
    free(order);
    free(rank);
    return result;
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

void nvdp__score(const struct nvdp_task *task, size_t n, const float *label, size_t draws,
                 const float *const *outputs, struct nvdp_scores *scores) {
    *scores = (struct nvdp_scores){.metrics = task->metrics, .n = n, .draws = draws};
    size_t classes = task->regression ? 1 : (size_t)task->classes;
    scores->majority = nvdp__majority(n, classes, label);
    for (int k = 0; k < task->metrics; k++) {
        double mean = 0, spread = 0; /* Welford: mean and sum of squared deviations */
        for (size_t d = 0; d < draws; d++) {
            double value = nvdp__metric(task->metric[k], n, classes, outputs[d], label);
            double step = value - mean;
            mean += step / (double)(d + 1);
            spread += step * (value - mean);
        }
        scores->metric[k] = task->metric[k];
        scores->mean[k] = mean;
        scores->sd[k] = draws > 1 ? sqrt(spread / (double)(draws - 1)) : 0;
    }
}
