#include "tensor/ops_softmax.h"

#include "tensor/vector.h"

enum {
    SUM_BLOCK = 256, /* summed in float, then in double */
    LANES = 16       /* maxima kept side by side: no compiler vectorises a single one */
};

NVDP__CLONES
static float largest_logit(size_t n, const float *x) {
    float most[LANES];
    size_t i = 0;
    for (size_t k = 0; k < LANES; k++)
        most[k] = -INFINITY;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            most[k] = x[i + k] > most[k] ? x[i + k] : most[k];
    for (; i < n; i++)
        most[0] = x[i] > most[0] ? x[i] : most[0];
    for (size_t k = 1; k < LANES; k++)
        most[0] = most[k] > most[0] ? most[k] : most[0];
    return most[0];
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
    return 0; /* all are NaN */
}

/* log sum exp = shift + log(sum exp(x - shift)) with the largest logit as shift: no term overflows
 * and the sum is at least 1. */
static void one_row(size_t classes, float *logits, int32_t label, double scale, double *nll,
                    int32_t *best) {
    float shift = largest_logit(classes, logits);
    float at_label = logits[label];
    *best = first_equal(classes, shift, logits);
    double sum = exponentials(classes, shift, logits);
    *nll = log(sum) + ((double)shift - (double)at_label);
    if (scale == 0) return;
    scale_logits(classes, (float)(scale / sum), logits);
    logits[label] -= (float)scale;
}

/* The same in double throughout. */
static void one_row_reference(size_t classes, float *logits, int32_t label, double scale,
                              double *nll, int32_t *best) {
    double shift = -INFINITY;
    double sum = 0;
    *best = 0;
    for (size_t i = 0; i < classes; i++) {
        if (!((double)logits[i] > shift)) continue;
        shift = (double)logits[i];
        *best = (int32_t)i;
    }
    for (size_t i = 0; i < classes; i++)
        sum += exp((double)logits[i] - shift);
    *nll = log(sum) + (shift - (double)logits[label]);
    for (size_t i = 0; i < classes; i++) {
        double share = exp((double)logits[i] - shift) / sum;
        logits[i] = (float)(scale * (share - (i == (size_t)label ? 1 : 0)));
    }
}

void nvdp__softmax_loss(const struct nvdp__device *dev, size_t rows, size_t classes, float *logits,
                        const int32_t *label, double scale, double *nll, int32_t *best) {
    int team = dev->reference ? 1 : nvdp__team(dev, rows * classes);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t r = 0; r < rows; r++) {
        if (dev->reference)
            one_row_reference(classes, logits + r * classes, label[r], scale, nll + r, best + r);
        else
            one_row(classes, logits + r * classes, label[r], scale, nll + r, best + r);
    }
}
