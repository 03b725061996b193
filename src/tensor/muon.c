#include "tensor/muon.h"

#include "tensor/ops.h"
#include "tensor/vector.h"
#include <math.h>
#include <omp.h>

/* f(s) = a s + b s^3 + c s^5: steep at 0 (Jordan et al. 2024). */
static const float A = 3.4445F, B = -4.7750F, C = 2.0315F;
enum { ITERATIONS = 5 };
static const double UPDATE_SIZE = 0.2; /* root mean square of AdamW's updates */

static size_t shorter(const struct nvdp__matrix *matrix) {
    return matrix->rows < matrix->cols ? matrix->rows : matrix->cols;
}

size_t nvdp__muon_room(size_t matrices, const struct nvdp__matrix *matrix) {
    size_t most = 0;
    for (size_t i = 0; i < matrices; i++) {
        size_t side = shorter(&matrix[i]);
        size_t room = 2 * side * side + 2 * matrix[i].rows * matrix[i].cols;
        if (room > most) most = room;
    }
    return most;
}

static void scale(size_t n, float by, float *x) {
    for (size_t i = 0; i < n; i++)
        x[i] *= by;
}

/* x = a x + (b S + c S^2) x with S = x x^T on the left, or x^T x on the right, whichever is
 * smaller. */
static void iterate(const struct nvdp__device *dev, size_t rows, size_t cols, float *room,
                    float *x) {
    bool left = rows <= cols;
    size_t side = left ? rows : cols;
    size_t across = left ? cols : rows;
    float *gram = room, *poly = gram + side * side, *next = poly + side * side;
    nvdp__gemm(dev, !left, left, side, side, across, 1, x, cols, x, cols, 0, gram, side);
    memcpy(poly, gram, side * side * sizeof *poly);
    nvdp__gemm(dev, false, false, side, side, side, C, gram, side, gram, side, B, poly, side);
    memcpy(next, x, rows * cols * sizeof *next);
    if (left)
        nvdp__gemm(dev, false, false, rows, cols, side, 1, poly, side, x, cols, A, next, cols);
    else
        nvdp__gemm(dev, false, false, rows, cols, side, 1, x, cols, poly, side, A, next, cols);
    memcpy(x, next, rows * cols * sizeof *x);
}

void nvdp__orthogonalise(const struct nvdp__device *dev, size_t rows, size_t cols, float *room,
                         float *x) {
    double square = 0;
    for (size_t i = 0; i < rows * cols; i++)
        square += (double)x[i] * (double)x[i];
    if (square == 0) return;
    scale(rows * cols, (float)(1 / sqrt(square)), x);
    for (int i = 0; i < ITERATIONS; i++)
        iterate(dev, rows, cols, room, x);
}

static void momentum(const struct nvdp__muon *opt, size_t n, const float *g, float *m,
                     float *update) {
    float grad_scale = (float)opt->grad_scale, keep = (float)opt->momentum;
    for (size_t i = 0; i < n; i++) {
        float grad = grad_scale * g[i];
        m[i] = keep * m[i] + grad;
        update[i] = grad + keep * m[i];
    }
}

static void step_matrix(const struct nvdp__device *dev, const struct nvdp__muon *opt,
                        const struct nvdp__matrix *matrix, float *room, const float *g, float *m,
                        float *x) {
    size_t n = matrix->rows * matrix->cols;
    float *update = room;
    momentum(opt, n, g, m, update);
    nvdp__orthogonalise(dev, matrix->rows, matrix->cols, room + n, update);
    size_t longer = matrix->rows > matrix->cols ? matrix->rows : matrix->cols;
    float step = (float)(opt->lr * UPDATE_SIZE * sqrt((double)longer));
    float decay = matrix->decays ? (float)(opt->lr * opt->weight_decay) : 0;
    for (size_t i = 0; i < n; i++)
        x[i] -= decay * x[i] + step * update[i];
}

void nvdp__muon_step(const struct nvdp__device *dev, const struct nvdp__muon *opt, size_t matrices,
                     const struct nvdp__matrix *matrix, float *room, const float *g, float *m,
                     float *x) {
    size_t each = nvdp__muon_room(matrices, matrix);
    int team = nvdp__team(dev, SIZE_MAX);
#pragma omp parallel for num_threads(team) schedule(dynamic, 1)
    for (size_t i = 0; i < matrices; i++) {
        size_t at = matrix[i].offset;
        float *own = room + each * (size_t)omp_get_thread_num();
        step_matrix(dev, opt, &matrix[i], own, g + at, m + at, x + at);
    }
}
