#include "tensor_test.h"

#include <stdlib.h>
#include <string.h>

const struct nvdp__device test_devices[DEVICES] = {
    {.threads = 1}, {.threads = 2}, {.threads = 1, .reference = true}};
const size_t test_sizes[SIZES] = {1, 7, 16, 17, 33, 200};

enum { KEPT = 4096 };
static void *kept[KEPT];
static size_t kept_count;
static uint64_t state = 1;

static void *keep(size_t bytes) {
    cr_assert_lt(kept_count, KEPT);
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    cr_assert_not_null(memory);
    return kept[kept_count++] = memory;
}

void test_free(void) {
    while (kept_count > 0)
        free(kept[--kept_count]);
}

static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

float *test_floats(size_t n, double scale) {
    float *x = keep(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((2 * uniform() - 1) * scale);
    return x;
}

float *test_zeros(size_t n) {
    return keep(n * sizeof(float));
}

float *test_copy(size_t n, const float *x) {
    float *y = keep(n * sizeof *y);
    memcpy(y, x, n * sizeof *y);
    return y;
}

double *test_widen(size_t n, const float *x) {
    if (x == NULL) return NULL;
    double *y = keep(n * sizeof *y);
    for (size_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

double *test_zeros64(size_t n) {
    return keep(n * sizeof(double));
}

int32_t *test_ints(size_t n, int32_t low, int32_t high) {
    int32_t *x = keep(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = low + (int32_t)(uniform() * (high - low));
    return x;
}

void test_close(const char *what, size_t n, const float *got, const double *want,
                double tolerance) {
    double largest = 1e-30;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(want[i]));
    for (size_t i = 0; i < n; i++) {
        if ((double)got[i] == want[i]) continue; /* infinities too */
        cr_assert(fabs((double)got[i] - want[i]) <= tolerance * largest,
                  "%s: element %zu of %zu: expected %.9g, found %.9g (largest %.3g)", what, i, n,
                  want[i], (double)got[i], largest);
    }
}

void test_same(const char *what, size_t n, const float *a, const float *b) {
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(memcmp(a + i, b + i, sizeof *a), 0, "%s: element %zu of %zu: %.9g and %.9g",
                     what, i, n, (double)a[i], (double)b[i]);
}

struct nvdp__attention test_attention(size_t groups, const int32_t *q_offset,
                                      const int32_t *k_offset, size_t heads, size_t head_dim,
                                      size_t pad, float rate) {
    size_t width = heads * head_dim;
    return (struct nvdp__attention){.groups = groups,
                                    .heads = heads,
                                    .head_dim = head_dim,
                                    .scale = (float)(1 / sqrt((double)head_dim)),
                                    .q_offset = q_offset,
                                    .k_offset = k_offset,
                                    .q_stride = width + pad,
                                    .kv_stride = width + 2 * pad,
                                    .out_stride = width + 3 * pad,
                                    .dropout = {.rate = rate, .seed = 4, .step = 1, .site = 9}};
}

size_t test_longest(size_t groups, const int32_t *offset) {
    int32_t most = 0;
    for (size_t g = 0; g < groups; g++)
        most = offset[g + 1] - offset[g] > most ? offset[g + 1] - offset[g] : most;
    return (size_t)most;
}

double test_dot(size_t n, const double *x, const double *y) {
    return ref64_dot(n, x, y);
}
