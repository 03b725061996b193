#include "tensor/rowwise.h"

#include "tensor/kernels.h"
#include "tensor/vector.h"

#include <omp.h>
#include <stdlib.h>

/* Outputs whose weights are transposed at a time, and rows that go through them at a time. */
enum { PANEL = 64, ROWS = 64, LINE = 16 };

struct nvdp__rowwise {
    size_t widest;
    float *panel; /* [threads, widest, PANEL] */
};

nvdp_status nvdp__rowwise_create(const struct nvdp__device *dev, size_t widest,
                                 struct nvdp__rowwise **out) {
    struct nvdp__rowwise *made = nvdp__calloc(dev->ctx, 1, sizeof *made);
    if (made == NULL) return NVDP_ERR_MEMORY;
    made->widest = widest;
    made->panel =
        nvdp__calloc(dev->ctx, (size_t)dev->threads * widest, PANEL * sizeof *made->panel);
    if (made->panel == NULL) {
        free(made);
        return NVDP_ERR_MEMORY;
    }
    *out = made;
    return NVDP_OK;
}

void nvdp__rowwise_free(struct nvdp__rowwise *rowwise) {
    if (rowwise == NULL) return;
    free(rowwise->panel);
    free(rowwise);
}

/* y [rows, count] = product [rows, stride] + b */
static void store(size_t rows, size_t count, const float *product, size_t stride, const float *b,
                  float *y, size_t ldy) {
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < count; c++)
            y[r * ldy + c] = product[r * stride + c] + (b != NULL ? b[c] : 0);
}

/* One panel: outputs [at, at + count). */
static void panel_product(size_t rows, size_t in, size_t count, const float *x, const float *w,
                          const float *b, float *panel, float *y, size_t ldy) {
    float product[ROWS * PANEL];
    size_t stride = (count + LINE - 1) / LINE * LINE;
    nvdp__small_transpose(count, in, w, in, stride, panel);
    for (size_t r = 0; r < rows; r += ROWS) {
        size_t n = rows - r < ROWS ? rows - r : ROWS;
        nvdp__small_product(n, stride, in, 1, x + r * in, in, 1, panel, stride, product, stride);
        store(n, count, product, stride, b, y + r * ldy, ldy);
    }
}

void nvdp__rowwise_linear(const struct nvdp__device *dev, size_t rows, size_t in, size_t out,
                          const float *x, const float *w, const float *b, float *y) {
    const struct nvdp__rowwise *rowwise = dev->rowwise;
    size_t panels = nvdp__blocks(out, PANEL);
    int team = nvdp__team(dev, rows * out);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t p = 0; p < panels; p++) {
        size_t at = p * PANEL;
        panel_product(
            rows, in, nvdp__block_length(out, PANEL, p), x, w + at * in, b != NULL ? b + at : NULL,
            rowwise->panel + (size_t)omp_get_thread_num() * rowwise->widest * PANEL, y + at, out);
    }
}
