/* The losses of a batch: plain loops in double for few classes, vectorized loops in float for a
 * vocabulary. */
#include "tensor/ops.h"
#include "tensor/vector.h"

/* ---- few rows and classes: plain loops in double ---- */

/* -log softmax(l)_label = log sum_c exp(l_c - max) - (l_label - max); stable for logits of any
 * size. */
double nvdp__cross_entropy(const struct nvdp__device *dev, size_t rows, size_t classes,
                           const float *logits, const float *label, double scale, float *dlogits) {
    return nvdp__weighted_cross_entropy(dev, rows, classes, logits, label, NULL, scale, dlogits);
}

double nvdp__weighted_cross_entropy(const struct nvdp__device *dev, size_t rows, size_t classes,
                                    const float *logits, const float *label, const double *weight,
                                    double scale, float *dlogits) {
    (void)dev;
    double loss = 0;
    for (size_t r = 0; r < rows; r++) {
        const float *row = logits + r * classes;
        double highest = -INFINITY;
        for (size_t c = 0; c < classes; c++)
            if ((double)row[c] > highest) highest = (double)row[c];
        double total = 0;
        for (size_t c = 0; c < classes; c++)
            total += exp((double)row[c] - highest);
        bool known = label[r] >= 0 && label[r] < (float)classes;
        size_t target = known ? (size_t)label[r] : 0;
        const double w = weight != NULL ? weight[target] : 1;
        loss += known ? w * (log(total) - ((double)row[target] - highest)) : NAN;
        for (size_t c = 0; dlogits != NULL && c < classes; c++)
            dlogits[r * classes + c] =
                (float)(w * scale / (double)rows *
                        (exp((double)row[c] - highest) / total - (c == target ? 1.0 : 0.0)));
    }
    return rows > 0 ? loss / (double)rows : 0;
}

double nvdp__mean_squared(const struct nvdp__device *dev, size_t rows, const float *y,
                          const float *label, double scale, float *dy) {
    (void)dev;
    double loss = 0;
    for (size_t r = 0; r < rows; r++) {
        double difference = (double)y[r] - (double)label[r];
        loss += difference * difference;
        if (dy != NULL) dy[r] = (float)(scale * 2 * difference / (double)rows);
    }
    return rows > 0 ? loss / (double)rows : 0;
}

/* ---- many classes: the vocabulary ---- */

enum {
    /* number of terms that are summed in float before the sum is added in double */
    SUM_BLOCK = 256,
    /* number of independent maxima, because no compiler vectorizes a single maximum */
    LANES = 16
};

NVDP__CLONES
static float largest_logit(size_t n, const float *x) {
    float max[LANES];
    size_t i = 0;
    for (size_t k = 0; k < LANES; k++)
        max[k] = -INFINITY;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            max[k] = x[i + k] > max[k] ? x[i + k] : max[k];
    for (; i < n; i++)
        max[0] = x[i] > max[0] ? x[i] : max[0];
    for (size_t k = 1; k < LANES; k++)
        max[0] = max[k] > max[0] ? max[k] : max[0];
    return max[0];
}

NVDP__CLONES
static double exponentials(size_t n, float shift, float *x) {
    double total = 0;
    for (size_t at = 0; at < n; at += SUM_BLOCK) {
        size_t end = n - at < SUM_BLOCK ? n : at + SUM_BLOCK;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = at; i < end; i++) {
            x[i] = nvdp__fast_exp(x[i] - shift);
            sum += x[i];
        }
        total += (double)sum;
    }
    return total;
}

NVDP__CLONES
static void scale_logits(size_t n, float a, float *x) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        x[i] *= a;
}

static int32_t first_equal(size_t n, float value, const float *x) {
    for (size_t i = 0; i < n; i++)
        if (x[i] == value) return (int32_t)i;
    return 0; /* all logits are NaN */
}

/* Uses log sum exp = shift + log(sum exp(x - shift)) with the largest logit as shift: no term
 * overflows, and the sum is at least 1. */
static void one_row(size_t classes, float *logits, size_t labels, const int32_t *label,
                    double scale, double *nll, int32_t *best) {
    float shift = largest_logit(classes, logits);
    double at_labels = 0;
    for (size_t k = 0; k < labels; k++)
        at_labels += (double)logits[label[k]];
    *best = first_equal(classes, shift, logits);
    double sum = exponentials(classes, shift, logits);
    *nll = log(sum) + ((double)shift - at_labels / (double)labels);
    if (scale == 0) return;
    scale_logits(classes, (float)(scale / sum), logits);
    for (size_t k = 0; k < labels; k++)
        logits[label[k]] -= (float)(scale / (double)labels);
}

void nvdp__softmax_loss(const struct nvdp__device *dev, size_t rows, size_t classes, float *logits,
                        size_t labels, const int32_t *label, double scale, double *nll,
                        int32_t *best) {
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, rows, classes)) schedule(static)
    for (size_t r = 0; r < rows; r++)
        one_row(classes, logits + r * classes, labels, label + r * labels, scale, nll + r,
                best + r);
}
