/* Computes moments, a ridge regression and synthetic rows from the matrix of a summary. All results are functions of
 * M + E, so they cost no privacy (summary.h). */
#include "base/array.h"
#include "summary/summary.h"
#include "tensor/symmetric.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* The matrix per unit, (M + E) / n, accessed by the entries of z z^T. */
struct view {
    const struct nvdp__summary *of;
    const int32_t *matrix;
    double unit;  /* value of one step */
    double known; /* share of rows whose class is known */
    size_t x, y;  /* index in z at which x and y begin */
    bool constant;
};

static double entry(const struct view *view, size_t i, size_t j) {
    const size_t row = i * view->of->width - i * (i + 1) / 2; /* entry (i, j) is at row + j */
    return view->unit * view->matrix[row + j];
}

/* Returns E[x_i y_k] over the rows with a known answer, as if answers were missing at random. */
static double product(const struct view *view, size_t i, size_t k) {
    return entry(view, view->x + i, view->y + k) / (view->of->beta * view->of->tau * view->known);
}

/* Returns the share of rows whose class is known: the mean of |y|^2, because |y| is 1 for a known class, else 0. The
 * noise can make the mean negative; the minimum is the share of one row. */
static double known_share(const struct view *view) {
    const struct nvdp__summary *of = view->of;
    double sum = 0;
    for (size_t k = 0; k < of->answers; k++)
        sum += entry(view, view->y + k, view->y + k) / (of->tau * of->tau);
    return fmax(1 / (double)of->units, fmin(1, sum));
}

/* Scales a mean of x to a length of at most 1, which no mean exceeds. */
static void limit_length(size_t d, double *mean) {
    cblas_dscal((int)d, 1 / fmax(1, cblas_dnrm2((int)d, mean, 1)), mean, 1);
}

/* Sets the means of y, the shares of classes, and the mean of x. Classes have no constant: their counts are in the
 * matrix. */
static void set_means(const struct view *view, struct nvdp__moments *to) {
    const struct nvdp__summary *of = view->of;
    double total = 0;
    for (size_t k = 0; k < of->answers; k++) {
        const size_t at = view->y + k;
        const double mean = view->constant ? entry(view, 0, at) / (of->alpha * of->tau)
                                           : entry(view, at, at) / (of->tau * of->tau);
        to->answer[k] = fmax(view->constant ? -1 : 0, fmin(1, mean / view->known));
        total += to->answer[k];
    }
    for (size_t k = 0; k < of->answers && !view->constant; k++)
        to->answer[k] = total > 0 ? to->answer[k] / total : 1 / (double)of->answers;
    for (size_t c = 0; c < to->classes; c++)
        to->share[c] = view->constant ? (1 + (c == 0 ? -1 : 1) * to->answer[0]) / 2 : to->answer[c];
    for (size_t i = 0; i < of->dim; i++) {
        to->mean[i] = view->constant ? entry(view, 0, view->x + i) / (of->alpha * of->beta) : 0;
        for (size_t k = 0; k < of->answers && !view->constant; k++)
            to->mean[i] += product(view, i, k);
    }
    limit_length(of->dim, to->mean);
}

/* Returns the variance of the noise in an entry of the deviation of class c, whose share is s. With v the variance
 * of the noise in E[x_i] without its weight, the deviation is (mean +- E[x y])/(2 s) - mean for two classes, and E[x
 * y_c]/s - sum_k E[x y_k] for more. */
static double deviation_noise(const struct view *view, const struct nvdp__moments *of, double s) {
    const struct nvdp__summary *plan = view->of;
    const double v = plan->sigma_off / ((double)plan->units * plan->beta);
    const double tau = plan->tau * view->known;
    return view->constant
               ? v * v * (pow((1 / (2 * s) - 1) / plan->alpha, 2) + pow(1 / (2 * s * tau), 2))
               : v * v / (tau * tau) * (pow(1 / s - 1, 2) + (double)of->classes - 1);
}

/* Returns the variance of the classes' means about the mean of x. */
static double between(const struct nvdp__moments *of) {
    double sum = 0;
    for (size_t c = 0; c < of->classes; c++)
        sum += of->share[c] * cblas_ddot((int)of->dim, of->class_mean + c * of->dim, 1,
                                         of->class_mean + c * of->dim, 1);
    return sum;
}

/* Returns the largest variance of x about its mean that |x| <= 1 allows. */
static double room(const struct nvdp__moments *of) {
    return fmax(0, 1 - cblas_ddot((int)of->dim, of->mean, 1, of->mean, 1));
}

/* Sets the deviations of the classes' means from the mean of x, shrunk by the known noise of these deviations (James
 * & Stein 1961, the positive part). The divisor is at least the share of one unit, because noise can make a share
 * arbitrarily small. */
static void set_deviations(const struct view *view, struct nvdp__moments *to) {
    const int d = (int)to->dim;
    for (size_t c = 0; c < to->classes; c++) {
        const double share = fmax(to->share[c], 1 / (double)view->of->units);
        double *deviation = to->class_mean + c * to->dim;
        for (size_t i = 0; i < to->dim; i++) {
            const double sum = view->constant
                                   ? (to->mean[i] + (c == 0 ? -1 : 1) * product(view, i, 0)) / 2
                                   : product(view, i, c);
            deviation[i] = sum / share - to->mean[i];
        }
        const double square = cblas_ddot(d, deviation, 1, deviation, 1);
        const double noise = (double)d * deviation_noise(view, to, share);
        cblas_dscal(d, square > noise ? 1 - noise / square : 0, deviation, 1);
        cblas_daxpy(d, 1, to->mean, 1, deviation, 1);
        limit_length(to->dim, deviation);
        cblas_daxpy(d, -1, to->mean, 1, deviation, 1);
    }
    if (between(to) > room(to))
        cblas_dscal((int)to->classes * d, sqrt(room(to) / between(to)), to->class_mean, 1);
}

/* Adds `sign` times the covariance of the classes' means to the covariance of x. */
static void add_between(const struct nvdp__moments *of, double sign, double *covariance) {
    const int d = (int)of->dim;
    for (size_t c = 0; c < of->classes; c++)
        cblas_dger(CblasRowMajor, d, d, sign * of->share[c], of->class_mean + c * of->dim, 1,
                   of->class_mean + c * of->dim, 1, covariance, d);
}

/* Shrinks the eigenvalues of a matrix with symmetric noise. The eigenvalues of the noise lie within +-r, r = 2
 * sqrt(d) noise: a value l beyond r becomes sqrt(l^2 - r^2), and the other values share the rest of the trace
 * (Gavish & Donoho 2017). The trace has little noise; it is at most `most`, because |x| <= 1. */
static void shrink_values(size_t d, double noise, double most, double *value) {
    const double r = 2 * sqrt((double)d) * noise;
    double trace = 0, above = 0;
    size_t beyond = 0;
    for (size_t i = 0; i < d; i++)
        trace += value[i];
    trace = fmax(0, fmin(most, trace));
    while (beyond < d && value[beyond] > r) { /* the values are in decreasing order */
        value[beyond] = sqrt(value[beyond] * value[beyond] - r * r);
        above += value[beyond++];
    }
    for (size_t i = 0; i < beyond && above > trace; i++)
        value[i] *= trace / above;
    for (size_t i = beyond; i < d; i++)
        value[i] = fmax(0, trace - above) / (double)(d - beyond);
}

/* Sets the covariance of x within the classes, by its eigenvectors, and the covariance of all x. scratch [d, d] and
 * line [5 d] are scratch buffers. */
static void set_covariance(const struct view *view, double *scratch, double *line,
                           struct nvdp__moments *to) {
    const double square = view->of->beta * view->of->beta;
    const size_t d = to->dim;
    const double most = fmax(0, room(to) - between(to));
    for (size_t i = 0; i < d; i++)
        for (size_t j = i; j < d; j++)
            to->noisy[i * d + j] = to->noisy[j * d + i] =
                entry(view, view->x + i, view->x + j) / square - to->mean[i] * to->mean[j];
    memcpy(to->covariance, to->noisy, d * d * sizeof *to->noisy);
    add_between(to, -1, to->covariance);
    nvdp__eigenvectors(d, to->covariance, to->root, line);
    shrink_values(d, to->noise, most, line);
    for (size_t i = 0; i < d; i++)
        for (size_t e = 0; e < d; e++)
            to->root[i * d + e] *= sqrt(line[e]);
    memcpy(scratch, to->root, d * d * sizeof *scratch);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)d, (int)d, (int)d, 1, scratch, (int)d,
                to->root, (int)d, 0, to->covariance, (int)d);
    add_between(to, 1, to->covariance);
}

/* Turns the deviations into means by adding the mean of x. */
static void add_means(struct nvdp__moments *to) {
    for (size_t c = 0; c < to->classes; c++)
        cblas_daxpy((int)to->dim, 1, to->mean, 1, to->class_mean + c * to->dim, 1);
}

nvdp_status nvdp__summary_moments(struct nvdp_context *ctx, const struct nvdp__summary *of,
                                  bool scores, const int32_t *matrix, struct nvdp__memory *memory,
                                  struct nvdp__moments *out) {
    const size_t d = of->dim, answers = of->answers;
    const bool constant = of->alpha > 0;
    struct view view = {.of = of,
                        .known = 1,
                        .matrix = matrix,
                        .unit = ldexp(1, of->grid.exponent) / (double)of->units,
                        .x = constant,
                        .y = constant + d,
                        .constant = constant};
    struct nvdp__moments made = {.dim = d,
                                 .answers = answers,
                                 .classes = scores || answers == 0 ? 0 : nvdp__max(answers, 2)};
    nvdp__auto(nvdp__memory_release) struct nvdp__memory own = {0};
    double *scratch = NULL, *line = NULL;
    NVDP_TRY(NVDP__ARRAYS(ctx, &own, NVDP__ITEMS(scratch, d * d), NVDP__ITEMS(line, 5 * d)));
    NVDP_TRY(NVDP__ARRAYS(
        ctx, memory, NVDP__ITEMS(made.mean, d), NVDP__ITEMS(made.answer, answers),
        NVDP__ITEMS(made.cross, answers * d), NVDP__ITEMS(made.share, made.classes),
        NVDP__ITEMS(made.class_mean, made.classes * d), NVDP__ITEMS(made.covariance, d * d),
        NVDP__ITEMS(made.noisy, d * d), NVDP__ITEMS(made.root, d * d)));
    if (scores && answers != 1)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "scores: expected one number, found %zu",
                          answers);
    if (made.classes > 0) view.known = known_share(&view);
    set_means(&view, &made);
    for (size_t k = 0; k < answers; k++)
        for (size_t i = 0; i < d; i++)
            made.cross[k * d + i] = product(&view, i, k) - made.answer[k] * made.mean[i];
    if (scores)
        made.answer_variance =
            fmax(0, entry(&view, view.y, view.y) / (of->tau * of->tau) - pow(made.answer[0], 2));
    made.noise = of->sigma_off / ((double)of->units * of->beta * of->beta);
    set_deviations(&view, &made);
    set_covariance(&view, scratch, line, &made);
    add_means(&made);
    *out = made;
    return NVDP_OK;
}

nvdp_status nvdp__summary_ridge(struct nvdp_context *ctx, const struct nvdp__moments *of,
                                double penalty, double *weight, double *bias) {
    const size_t d = of->dim;
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    double *copy, *vectors, *value, *along;
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(copy, d * d), NVDP__ITEMS(vectors, d * d),
                          NVDP__ITEMS(value, 5 * d), NVDP__ITEMS(along, d)));
    memcpy(copy, of->noisy, d * d * sizeof *copy);
    nvdp__eigenvectors(d, copy, vectors, value);
    shrink_values(d, of->noise, room(of), value);
    for (size_t e = 0; e < d; e++)
        if (!(penalty >= 0 && value[e] + penalty > 0 && isfinite(penalty)))
            return nvdp__fail(ctx, NVDP_ERR_NUMERIC,
                              "ridge: penalty %g: expected a number of at least 0 at which the "
                              "covariance is not singular",
                              penalty);
    for (size_t k = 0; k < of->answers; k++) {
        double *w = weight + k * d;
        cblas_dgemv(CblasRowMajor, CblasTrans, (int)d, (int)d, 1, vectors, (int)d,
                    of->cross + k * d, 1, 0, along, 1);
        for (size_t e = 0; e < d; e++)
            along[e] /= value[e] + penalty;
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)d, (int)d, 1, vectors, (int)d, along, 1, 0, w,
                    1);
        bias[k] = of->answer[k] - cblas_ddot((int)d, w, 1, of->mean, 1);
    }
    return NVDP_OK;
}

double nvdp__summary_synthetic(const struct nvdp__moments *of, const double *weight,
                               const double *bias, uint64_t seed, uint64_t row, double *line,
                               float *x) {
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_READER, 0, row);
    const size_t d = of->dim;
    double place = nvdp__stream_uniform(&stream), *normal = line, *value = line + d;
    size_t class = 0;
    while (class + 1 < of->classes && (place -= of->share[class]) >= 0)
        class ++;
    nvdp__stream_normals_f64(&stream, d, normal);
    memcpy(value, of->classes > 0 ? of->class_mean + class * d : of->mean, d * sizeof *value);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)d, (int)d, 1, of->root, (int)d, normal, 1, 1,
                value, 1);
    for (size_t i = 0; i < d; i++)
        x[i] = (float)value[i];
    if (of->classes > 0) return (double)class;
    if (of->answers == 0) return NAN;
    double explained = 0; /* part of the score's variance that x explains */
    for (size_t i = 0; i < d; i++)
        explained += weight[i] * of->cross[i];
    return bias[0] + cblas_ddot((int)d, weight, 1, value, 1) +
           sqrt(fmax(0, of->answer_variance - explained)) * nvdp__stream_normal(&stream);
}
