/* Tests whether methods differ by more than chance between seeds. Scores are paired: two methods with the same task,
 * settings and seed. report_compare() tests all pairs of families. */
#include "report/parts.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

static const double CONFIDENCE_TAIL = 0.975; /* quantile for a two-sided interval of 95 % */
static const double SAME = 1e-12;            /* relative rounding error of the scores */

/* Computes t = mean/(sd/sqrt n), p = 2 P(T_(n-1) > |t|), and mean +- t_.975 sd/sqrt n. */
static void test_difference(struct report_paired *pair) {
    double freedom = (double)pair->n - 1;
    double error = pair->sd / sqrt((double)pair->n);
    double reach = gsl_cdf_tdist_Pinv(CONFIDENCE_TAIL, freedom) * error;
    pair->t = pair->mean / error;
    pair->p = 2 * gsl_cdf_tdist_Q(fabs(pair->t), freedom);
    pair->low = pair->mean - reach;
    pair->high = pair->mean + reach;
}

struct report_paired report_paired_t(size_t n, const double *a, const double *b) {
    struct report_paired pair = {n, NAN, NAN, NAN, NAN, NAN, NAN};
    double mean = 0, squares = 0, size = 0; /* Welford: mean and sum of squared deviations */
    for (size_t i = 0; i < n; i++) {
        double difference = a[i] - b[i];
        double step = difference - mean;
        mean += step / (double)(i + 1);
        squares += step * (difference - mean);
        size = fmax(size, fmax(fabs(a[i]), fabs(b[i])));
    }
    if (n > 0) pair.mean = mean;
    if (n < 2) return pair;
    pair.sd = sqrt(squares / (double)(n - 1));
    if (pair.sd > SAME * size) {
        test_difference(&pair);
    } else if (fabs(mean) <= SAME * size) { /* false for NaN */
        pair.p = 1;
    }
    return pair;
}

void report_holm(size_t n, const double *p, double *adjusted) {
    size_t tests = 0;
    for (size_t i = 0; i < n; i++)
        tests += !isnan(p[i]);
    for (size_t i = 0; i < n; i++) { /* multiplies the k-th smallest by tests + 1 - k */
        size_t smaller = 0;
        for (size_t j = 0; j < n; j++)
            smaller += p[j] < p[i];
        adjusted[i] = fmin(1, (double)(tests - smaller) * p[i]);
        if (isnan(p[i])) adjusted[i] = NAN;
    }
    for (size_t i = 0; i < n; i++) /* keeps adjusted values in the order of p */
        for (size_t j = 0; j < n; j++)
            if (p[j] <= p[i]) adjusted[i] = fmax(adjusted[i], adjusted[j]);
}

/* --- between the methods of a report --- */

/* Copies the scores of the seeds and folds that both groups have. Runs are sorted. */
static size_t common_runs(const struct report_group *a, const struct report_group *b, double *x,
                          double *y) {
    size_t n = 0, j = 0;
    for (size_t i = 0; i < a->runs; i++) {
        while (j < b->runs && report_by_repetition(b->run[j], a->run[i]) < 0) {
            j++;
        }
        if (j == b->runs || report_by_repetition(b->run[j], a->run[i]) != 0) continue;
        x[n] = a->run[i]->score[0];
        y[n++] = b->run[j]->score[0];
    }
    return n;
}

/* Applies Holm's adjustment to the comparisons of one task. */
static nvdp_status adjust(struct nvdp_context *ctx, struct report_comparison *list, size_t count) {
    double *p = nvdp__calloc(ctx, 2 * count + 1, sizeof *p);
    if (p == NULL) return NVDP_ERR_MEMORY;
    for (size_t k = 0; k < count; k++) {
        p[k] = list[k].p;
    }
    report_holm(count, p, p + count);
    for (size_t k = 0; k < count; k++) {
        list[k].holm = p[count + k];
    }
    free(p);
    return NVDP_OK;
}

static size_t compare_task(const struct report *report, size_t task, double *scratch,
                           struct report_comparison *list) {
    size_t count = 0;
    for (size_t a = 0; a < report->families; a++) {
        const struct report_group *first = report_selected(report, task, a);
        for (size_t b = a + 1; first != NULL && b < report->families; b++) {
            const struct report_group *second = report_selected(report, task, b);
            if (second == NULL) continue;
            size_t n = common_runs(first, second, scratch, scratch + report->runs);
            if (n < 2) continue;
            struct report_paired pair = report_paired_t(n, scratch, scratch + report->runs);
            list[count++] = (struct report_comparison){.task = task,
                                                       .a = a,
                                                       .b = b,
                                                       .seeds = n,
                                                       .mean = pair.mean,
                                                       .low = pair.low,
                                                       .high = pair.high,
                                                       .t = pair.t,
                                                       .p = pair.p};
        }
    }
    return count;
}

nvdp_status report_compare(struct nvdp_context *ctx, const struct report *report,
                           struct report_comparison **out, size_t *count) {
    size_t pairs = report->tasks * report->families * report->families / 2;
    size_t made = 0;
    nvdp__autofree double *scratch = nvdp__calloc(ctx, 2 * report->runs + 1, sizeof *scratch);
    nvdp__autofree struct report_comparison *list = nvdp__calloc(ctx, pairs + 1, sizeof *list);
    if (scratch == NULL || list == NULL) return NVDP_ERR_MEMORY;
    for (size_t task = 0; task < report->tasks; task++) {
        size_t more = compare_task(report, task, scratch, list + made);
        NVDP_TRY(adjust(ctx, list + made, more));
        made += more;
    }
    *out = list;
    *count = made;
    list = NULL;
    return NVDP_OK;
}
