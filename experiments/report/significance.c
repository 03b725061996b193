#include "experiments/report/significance.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

static const double CONFIDENCE_TAIL = 0.975; /* of a two-sided interval of 95 % */
static const double SAME = 1e-12;            /* of the scores: what their rounding leaves */

/* t = mean/(sd/sqrt n); p = 2 P(T_(n-1) > |t|); mean +- t_.975 sd/sqrt n. */
static void judge(struct nvdp__paired *pair) {
    double freedom = (double)pair->n - 1;
    double error = pair->sd / sqrt((double)pair->n);
    double reach = gsl_cdf_tdist_Pinv(CONFIDENCE_TAIL, freedom) * error;
    pair->t = pair->mean / error;
    pair->p = 2 * gsl_cdf_tdist_Q(fabs(pair->t), freedom);
    pair->low = pair->mean - reach;
    pair->high = pair->mean + reach;
}

struct nvdp__paired nvdp__paired_t(size_t n, const double *a, const double *b) {
    struct nvdp__paired pair = {n, NAN, NAN, NAN, NAN, NAN, NAN};
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
        judge(&pair);
    } else if (fabs(mean) <= SAME * size) { /* NaN is in neither */
        pair.p = 1;
    }
    return pair;
}

void nvdp__holm(size_t n, const double *p, double *adjusted) {
    size_t tests = 0;
    for (size_t i = 0; i < n; i++)
        tests += !isnan(p[i]);
    for (size_t i = 0; i < n; i++) { /* the k-th smallest times tests + 1 - k */
        size_t smaller = 0;
        for (size_t j = 0; j < n; j++)
            smaller += p[j] < p[i];
        adjusted[i] = fmin(1, (double)(tests - smaller) * p[i]);
        if (isnan(p[i])) adjusted[i] = NAN;
    }
    for (size_t i = 0; i < n; i++) /* no test is better off than one with a smaller p */
        for (size_t j = 0; j < n; j++)
            if (p[j] <= p[i]) adjusted[i] = fmax(adjusted[i], adjusted[j]);
}
