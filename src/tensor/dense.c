/* Dense layers and the products under them.
 *
 *     forward     y   = x w^T + b
 *     backward    dx  = dy w
 *                 dw += dy^T x
 *                 db += sum over rows of dy
 *
 * Large float32 products go through oneDNN if the build has it (onednn.c), else through
 * OpenBLAS; kernels of this library compute the products of short texts. On a bfloat16 device,
 * operands are bfloat16, sums are float32, and all products go through oneDNN. Layers in int8
 * are in int8.c. */
#include "tensor/int8.h"
#include "tensor/kernels.h"
#include "tensor/per_example.h"

#include <cblas.h>
#include <omp.h>
#include <stdlib.h>

/* ---- C = alpha op(A) op(B) + beta C ---- */

static void scale_matrix(float beta, struct nvdp__tensor c) {
    float *x = c.data;
    for (size_t i = 0; i < c.rows; i++)
        for (size_t j = 0; j < c.cols; j++)
            x[i * c.stride + j] = beta == 0 ? 0 : beta * x[i * c.stride + j];
}

void nvdp__gemm(const struct nvdp__device *dev, float alpha, unsigned flags, struct nvdp__tensor a,
                struct nvdp__tensor b, float beta, struct nvdp__tensor c) {
    size_t k = flags & NVDP__TRANSPOSE_A ? a.rows : a.cols;
    if (c.rows == 0 || c.cols == 0) return;
    if (k == 0) { /* the sum is empty; BLAS rejects the strides of empty matrices */
        scale_matrix(beta, c);
        return;
    }
    int before = nvdp__threads_set(dev->threads);
    if (!nvdp__onednn_gemm(alpha, flags, a, b, beta, c))
        cblas_sgemm(CblasRowMajor, flags & NVDP__TRANSPOSE_A ? CblasTrans : CblasNoTrans,
                    flags & NVDP__TRANSPOSE_B ? CblasTrans : CblasNoTrans, (blasint)c.rows,
                    (blasint)c.cols, (blasint)k, alpha, a.data, (blasint)a.stride, b.data,
                    (blasint)b.stride, beta, c.data, (blasint)c.stride);
    nvdp__threads_restore(before);
}

/* ---- small products ----
 *
 * For the few rows of a short text, BLAS spends more time on packing than on arithmetic. The
 * sums of a block of C stay in registers, so the block's size must suit the instruction set. If
 * the vectors are wider than the registers of the set, or more than its registers, the sums go
 * through memory and are many times slower. Therefore there are explicit versions here instead
 * of NVDP__CLONES. */

#define PRODUCT product_baseline
#define TARGET
#define LANES 4
#define ROWS 4
#define WIDE 2
#include "tensor/small_product.inc"

#ifdef __x86_64__

#define PRODUCT product_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define ROWS 6
#define WIDE 2
#include "tensor/small_product.inc"

#define PRODUCT product_avx512
#define TARGET __attribute__((target("avx512f")))
#define LANES 16
#define ROWS 4
#define WIDE 4
#include "tensor/small_product.inc"

#endif

void nvdp__small_product(struct nvdp__small_product p) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f")) {
        product_avx512(p);
        return;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        product_avx2(p);
        return;
    }
#endif
    product_baseline(p);
}

void nvdp__small_transpose(size_t rows, size_t cols, const float *x, size_t stride, size_t ldy,
                           float *y) {
    for (size_t c = 0; c < cols; c++) {
        for (size_t r = 0; r < rows; r++)
            y[c * ldy + r] = x[r * stride + c];
        for (size_t r = rows; r < ldy; r++)
            y[c * ldy + r] = 0;
    }
}

/* ---- column sums ---- */

NVDP__CLONES
static void column_sums(size_t rows, size_t stride, size_t count, const float *restrict x,
                        float *restrict to) {
    double sum[NVDP__COLUMNS] = {0};
    if (count == NVDP__COLUMNS) { /* the compiler knows this length */
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < NVDP__COLUMNS; c++)
                sum[c] += (double)x[r * stride + c];
    } else {
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < count; c++)
                sum[c] += (double)x[r * stride + c];
    }
    for (size_t c = 0; c < count; c++)
        to[c] = (float)((double)to[c] + sum[c]);
}

void nvdp__column_sums(size_t rows, size_t stride, size_t count, const float *x, float *sum) {
    column_sums(rows, stride, count, x, sum);
}

static void add_column_sums(const struct nvdp__device *dev, size_t rows, size_t dim,
                            const float *dy, float *db) {
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, rows, dim)) schedule(static)
    for (size_t at = 0; at < dim; at += NVDP__COLUMNS) {
        column_sums(rows, dim, nvdp__min(dim - at, NVDP__COLUMNS), dy + at, db + at);
    }
}

/* Number of rows that are summed in float32 before the sum is added in double; number of columns
 * per block. */
enum { BF16_ROWS = 64, BF16_COLUMNS = 256 };

/* Adds the columns of at most BF16_ROWS rows to `sum`. */
NVDP__INLINE void add_bf16_rows(size_t rows, size_t stride, size_t count,
                                const nvdp__bf16 *restrict x, double *restrict sum) {
    float part[BF16_COLUMNS] = {0};
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < count; c++)
            part[c] += nvdp__bfloat16_to_float(x[r * stride + c]);
    for (size_t c = 0; c < count; c++)
        sum[c] += (double)part[c];
}

NVDP__CLONES
static void bf16_column_sums(size_t rows, size_t stride, size_t count, const nvdp__bf16 *restrict x,
                             float *restrict to) {
    double sum[BF16_COLUMNS] = {0};
    for (size_t r = 0; r < rows; r += BF16_ROWS) {
        size_t n = nvdp__min(rows - r, BF16_ROWS);
        if (count == BF16_COLUMNS) /* the compiler knows this length */
            add_bf16_rows(n, stride, BF16_COLUMNS, x + r * stride, sum);
        else
            add_bf16_rows(n, stride, count, x + r * stride, sum);
    }
    for (size_t c = 0; c < count; c++)
        to[c] = (float)((double)to[c] + sum[c]);
}

/* db += sum of the rows of dy */
static void bias_backward(const struct nvdp__device *dev, struct nvdp__tensor dy, float *db) {
    if (dy.type == NVDP__F32) {
        add_column_sums(dev, dy.rows, dy.cols, dy.data, db);
        return;
    }
    const nvdp__bf16 *from = dy.data;
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, dy.rows, dy.cols)) schedule(static)
    for (size_t at = 0; at < dy.cols; at += BF16_COLUMNS) {
        bf16_column_sums(dy.rows, dy.cols, nvdp__min(dy.cols - at, BF16_COLUMNS), from + at,
                         db + at);
    }
}

/* ---- products whose rows do not depend on each other ---- */

/* Number of outputs whose weights are transposed together, and number of rows that are
 * multiplied with these weights together. */
enum { PANEL = 64, PANEL_ROWS = 64, LINE = 16 };

struct nvdp__rowwise {
    size_t widest;
    _Alignas(64) float panel[]; /* [threads, widest, PANEL] scratch buffer */
};

nvdp_status nvdp__rowwise_create(const struct nvdp__device *dev, size_t widest,
                                 struct nvdp__rowwise **out) {
    const size_t lines = 1 + (size_t)dev->threads * widest * (PANEL / LINE);
    struct nvdp__rowwise *made = nvdp__calloc(dev->ctx, lines, LINE * sizeof *made->panel);
    if (made == NULL) return NVDP_ERR_MEMORY;
    made->widest = widest;
    *out = made;
    return NVDP_OK;
}

/* y [rows, count] = product [rows, stride] + b */
static void store(size_t rows, size_t count, const float *product, size_t stride, const float *b,
                  float *y, size_t ldy) {
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < count; c++)
            y[r * ldy + c] = product[r * stride + c] + (b != NULL ? b[c] : 0);
}

/* Computes one panel: the outputs [at, at + count). */
static void panel_product(size_t rows, size_t in, size_t count, const float *x, const float *w,
                          const float *b, float *panel, float *y, size_t ldy) {
    float product[PANEL_ROWS * PANEL];
    size_t stride = (count + LINE - 1) / LINE * LINE;
    nvdp__small_transpose(count, in, w, in, stride, panel);
    for (size_t r = 0; r < rows; r += PANEL_ROWS) {
        size_t n = nvdp__min(rows - r, PANEL_ROWS);
        nvdp__small_product((struct nvdp__small_product){n, stride, in, 1, x + r * in, in, 1, panel,
                                                         stride, product, stride});
        store(n, count, product, stride, b, y + r * ldy, ldy);
    }
}

static void rowwise_forward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                            struct nvdp__tensor x, struct nvdp__tensor y) {
    struct nvdp__rowwise *rowwise = dev->rowwise;
    size_t in = layer->in;
    size_t out = layer->out;
    float *to = y.data;
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, x.rows, out)) schedule(static)
    for (size_t at = 0; at < out; at += PANEL) {
        float *panel = rowwise->panel + (size_t)omp_get_thread_num() * rowwise->widest * PANEL;
        panel_product(x.rows, in, nvdp__min(out - at, PANEL), x.data, layer->w + at * in,
                      layer->b != NULL ? layer->b + at : NULL, panel, to + at, out);
    }
}

/* ---- the layer ---- */

static bool in_bf16(const struct nvdp__device *dev, const struct nvdp__linear *layer) {
    return dev->bf16 != NULL && !layer->f32;
}

static void repeat_row(const struct nvdp__device *dev, const float *row, struct nvdp__tensor y) {
    float *to = y.data;
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, y.rows, y.cols)) schedule(static)
    for (size_t r = 0; r < y.rows; r++)
        memcpy(to + r * y.stride, row, y.cols * sizeof *to);
}

void nvdp__dense_forward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                         struct nvdp__tensor x, struct nvdp__tensor y) {
    if (dev->int8 != NULL && layer->int8) {
        int before = nvdp__threads_set(dev->threads);
        nvdp__int8_forward(dev, layer, x, y);
        nvdp__threads_restore(before);
        return;
    }
    if (in_bf16(dev, layer)) {
        int before = nvdp__threads_set(dev->threads);
        nvdp__bf16_forward(dev->bf16, layer, nvdp__bf16_rounded(dev, false, x), y);
        nvdp__threads_restore(before);
        return;
    }
    if (dev->rowwise != NULL) {
        rowwise_forward(dev, layer, x, y);
        return;
    }
    if (nvdp__few_rows_forward(dev, (struct nvdp__few_rows){x.rows, layer->in, layer->out, x.data,
                                                            x.stride, layer->w, layer->b, y.data,
                                                            y.stride}))
        return;
    if (layer->b != NULL) repeat_row(dev, layer->b, y);
    nvdp__gemm(dev, 1, NVDP__TRANSPOSE_B, x, nvdp__f32(layer->out, layer->in, layer->w),
               layer->b != NULL ? 1 : 0, y);
}

void nvdp__dense_backward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                          struct nvdp__tensor x, struct nvdp__tensor dy, struct nvdp__tensor dx,
                          bool add) {
    const bool bf16 = in_bf16(dev, layer);
    bool params = nvdp__is_tensor(x);
    if (bf16) {
        dy = nvdp__bf16_rounded(dev, true, dy);
        if (nvdp__device_status(dev) != NVDP_OK) return;
    }
    if (params && dev->per_example != NULL) {
        nvdp__per_example_linear(dev, layer, x, dy);
        params = false;
    }
    int before = nvdp__threads_set(dev->threads);
    if (params && layer->dw != NULL && bf16)
        nvdp__bf16_backward_weight(dev->bf16, layer, nvdp__bf16_rounded(dev, false, x), dy);
    else if (params && layer->dw != NULL)
        nvdp__gemm(dev, 1, NVDP__TRANSPOSE_A, dy, x, layer->set ? 0 : 1,
                   nvdp__f32(layer->out, layer->in, layer->dw));
    if (params && layer->db != NULL) bias_backward(dev, dy, layer->db);
    if (nvdp__is_tensor(dx) && bf16)
        nvdp__bf16_backward_input(dev->bf16, layer, dy, dx, add);
    else if (nvdp__is_tensor(dx))
        nvdp__gemm(dev, 1, NVDP__AS_STORED, dy, nvdp__f32(layer->out, layer->in, layer->w),
                   add ? 1 : 0, dx);
    nvdp__threads_restore(before);
}

/* ---- speed ---- */

/* A product of size 2048 takes 17 Gflop on 48 MiB, which makes the overhead of a call
 * negligible. */
enum { SIZE = 2048, MIN_PRODUCTS = 3, MAX_PRODUCTS = 9 };
static const double LONG_ENOUGH = 0.5; /* max seconds after the minimum number of products */

double nvdp__gemm_peak(const struct nvdp__device *dev) {
    size_t items = (size_t)SIZE * SIZE;
    nvdp__autofree float *a = nvdp__calloc(dev->ctx, 4 * items, sizeof *a);
    if (a == NULL) return 0;
    for (size_t i = 0; i < 2 * items; i++)
        a[i] = (float)(i % 7) - 3; /* not zeros, because products of zeros could be faster */
    struct nvdp__linear layer = {.in = SIZE, .out = SIZE, .w = a + items, .int8 = true};
    struct nvdp__tensor x = nvdp__f32(SIZE, SIZE, a + 3 * items);
    struct nvdp__tensor y = nvdp__f32(SIZE, SIZE, a + 2 * items);
    x.type = y.type = nvdp__product_type(dev);
    nvdp__convert(dev, nvdp__f32(SIZE, SIZE, a), x);
    double fastest = INFINITY, begun = nvdp__now();
    for (int i = 0; i < MAX_PRODUCTS; i++) { /* the first product makes the bfloat16 copy of w */
        if (i >= MIN_PRODUCTS && nvdp__now() - begun > LONG_ENOUGH) break;
        double start = nvdp__now();
        nvdp__dense_forward(dev, &layer, x, y);
        fastest = fmin(fastest, nvdp__now() - start);
    }
    nvdp__weights_changed(dev); /* forgets the copy of w, because w is freed now */
    return 2 * (double)SIZE * SIZE * SIZE / fastest;
}
