/* Noise on gradients, and operations that a plan does not cover. */
#include "support.h"
#include "tensor/per_example.h"

enum { ROWS = 300, COLS = 301, ODD = 17 };

struct fixture {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__params params;
    size_t matrix, vector, frozen;
};

static struct fixture open_fixture(void) {
    struct fixture f = {.ctx = support_context()};
    f.dev = nvdp__device_cpu(f.ctx);
    nvdp__params_init(&f.params, f.ctx);
    ok(nvdp__params_add(&f.params, "frozen", 1, ODD, 1, NVDP__PARAM_FROZEN, &f.frozen));
    ok(nvdp__params_add(&f.params, "matrix", 2, ROWS, COLS, NVDP__PARAM_LINEAR, &f.matrix));
    ok(nvdp__params_add(&f.params, "vector", 1, ODD, 1, 0, &f.vector));
    ok(nvdp__params_allocate(&f.params, true));
    return f;
}

static void close_fixture(struct fixture *f) {
    nvdp__params_release(&f->params);
}

static float *noise_of(struct fixture *f, const struct nvdp__noise *noise, uint64_t step) {
    float *copy = malloc(f->params.total * sizeof *copy);
    memset(f->params.grad, 0, f->params.total * sizeof *copy);
    nvdp__gradient_noise(&f->dev, &f->params, noise, step, 3);
    memcpy(copy, f->params.grad, f->params.total * sizeof *copy);
    return support_keep(copy);
}

static double product(size_t n, const float *x, const float *y) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

/* sum (x/sd)^2 is chi-square with n = 90,317 degrees of freedom, of standard deviation sqrt(2n);
 * the mean and the products of two steps are normal. Bounds of five standard deviations: false
 * alarms below 1e-5 in all. */
static void is_standard(struct fixture *f, const struct nvdp__noise *noise) {
    const size_t n = ROWS * COLS + ODD;
    float *one = noise_of(f, noise, 7), *two = noise_of(f, noise, 8);
    double sum = 0;
    for (size_t i = 0; i < f->params.total; i++)
        sum += (double)one[i];
    cr_expect_lt(fabs(product(f->params.total, one, one) / 9 - (double)n), 5 * sqrt(2.0 * n));
    cr_expect_lt(fabs(sum / 3), 5 * sqrt((double)n));
    cr_expect_lt(fabs(product(f->params.total, one, two) / 9), 5 * sqrt((double)n));
    size_t frozen = f->params.entry[f->frozen].offset;
    cr_expect_eq(product(ODD, one + frozen, one + frozen), 0, "noise on what is not trained");
    /* tensors and blocks draw from their own streams */
    size_t at = f->params.entry[f->matrix].offset, next = f->params.entry[f->vector].offset;
    cr_expect_neq(one[at], one[at + 4096]);
    cr_expect_neq(one[at], one[next]);
}

Test(per_example, noise) {
    struct fixture f = open_fixture();
    struct nvdp__release_key key;
    ok(nvdp__release_key_create(f.ctx, &key));
    const struct nvdp__noise seeded = {.seed = 4}, secure = {.release = &key};
    is_standard(&f, &seeded);
    is_standard(&f, &secure);
    float *again = noise_of(&f, &seeded, 7), *first = noise_of(&f, &seeded, 7);
    cr_expect_eq(memcmp(again, first, f.params.total * sizeof *again), 0);
    nvdp__release_key_wipe(&key);
    close_fixture(&f);
}

/* Rows that belong to no known text, and operations beyond the plan, are errors; they are not
 * left out. */
Test(per_example, unknown_rows) {
    struct fixture f = open_fixture();
    nvdp__autoptr(nvdp__per_example_free) struct nvdp__per_example *examples = NULL;
    double norm[4];
    static float x[4 * COLS], dy[4 * ROWS];
    const int32_t offset[] = {0, 2, 3};
    ok(nvdp__per_example_create(&f.dev, &f.params, 2, 2, 0, &examples));
    f.dev.per_example = examples;
    struct nvdp__linear layer = {.rows = 4,
                                 .in = COLS,
                                 .out = ROWS,
                                 .w = nvdp__value(&f.params, f.matrix),
                                 .dw = nvdp__grad(&f.params, f.matrix)};
    for (int with = 0; with < 2; with++) { /* three rows of two texts, then four */
        layer.offset = with ? offset : NULL;
        for (size_t rows = 3; rows <= 4; rows++) {
            nvdp__per_example_begin(examples, 2);
            nvdp__dense_backward(&f.dev, &layer, nvdp__f32(rows, COLS, x),
                                 nvdp__f32(rows, ROWS, dy), NVDP__NO_TENSOR, false);
            cr_expect_eq(nvdp__per_example_norms(&f.dev, NULL, norm),
                         with && rows == 3 ? NVDP_OK : NVDP_ERR_STATE);
        }
    }
    nvdp__per_example_begin(examples, 3);
    cr_expect_eq(nvdp__per_example_norms(&f.dev, NULL, norm), NVDP_ERR_STATE);
    close_fixture(&f);
}
