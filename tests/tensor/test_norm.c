/* LayerNorm after dropout and a residual, on every device and in both precisions. */
#include "bf16_test.h"

enum { FAST, TWICE, REFERENCE, ROUNDED_ONE, ROUNDED_TWO, ALL };

/* Returns the devices to test; with bfloat16 operands where there are such products. */
static size_t devices(struct nvdp__device dev[ALL]) {
    for (size_t d = 0; d < DEVICES; d++)
        dev[d] = test_devices[d];
    if (nvdp__bf16_missing(true) != NULL) return DEVICES;
    dev[ROUNDED_ONE] = bf16_device(BF16_ONE);
    dev[ROUNDED_TWO] = bf16_device(BF16_TWO);
    return ALL;
}

/* One problem in float; its expected results are below. */
struct problem {
    size_t rows, dim, n;
    struct nvdp__dropout dropout;
    float *branch, *residual, *gamma, *beta, *dy;
};

struct expected {
    double *factor, *branch, *residual, *gamma, *beta, *dy;
    double *sum, *y, *mean, *rstd, *d, *d_branch, *dgamma, *dbeta;
};

static struct problem make(size_t rows, size_t dim, bool residual, float rate) {
    struct problem p = {.rows = rows,
                        .dim = dim,
                        .n = rows * dim,
                        .dropout = {.rate = rate, .seed = 5, .step = 2, .site = 7}};
    p.branch = test_floats(p.n, 1);
    p.residual = residual ? test_floats(p.n, 1) : NULL;
    p.gamma = test_floats(dim, 1);
    p.beta = test_floats(dim, 1);
    p.dy = test_floats(p.n, 1);
    return p;
}

static void forward_in_double(const struct problem *p, struct expected *e) {
    for (size_t i = 0; i < p->n; i++)
        e->sum[i] = e->factor[i] * e->branch[i] + (e->residual != NULL ? e->residual[i] : 0);
    ref64_layernorm_forward(p->rows, p->dim, 1e-12, e->sum, NULL, e->gamma, e->beta, NULL, e->y,
                            e->mean, e->rstd);
}

/* Computes dropout's factors from its description: 0, or 1/(1 - rate). */
static double *factors(const struct problem *p) {
    double *factor = test_zeros64(p->n);
    for (size_t i = 0; i < p->n; i++) {
        struct nvdp__dropout_key key = nvdp__dropout_key(&p->dropout, i / p->dim);
        int32_t bits = nvdp__dropout_bits(key, (uint32_t)(i % p->dim));
        bool kept = p->dropout.rate <= 0 || bits >= nvdp__dropout_threshold(&p->dropout);
        factor[i] = kept ? 1 / (1 - (double)p->dropout.rate) : 0;
    }
    return factor;
}

static struct expected in_double(const struct problem *p) {
    struct expected e = {.factor = factors(p),
                         .branch = test_widen(p->n, p->branch),
                         .residual = test_widen(p->n, p->residual),
                         .gamma = test_widen(p->dim, p->gamma),
                         .beta = test_widen(p->dim, p->beta),
                         .dy = test_widen(p->n, p->dy),
                         .sum = test_zeros64(p->n),
                         .y = test_zeros64(p->n),
                         .mean = test_zeros64(p->rows),
                         .rstd = test_zeros64(p->rows),
                         .d = test_zeros64(p->n),
                         .d_branch = test_zeros64(p->n),
                         .dgamma = test_widen(p->dim, p->gamma), /* added to earlier values */
                         .dbeta = test_widen(p->dim, p->beta)};
    forward_in_double(p, &e);
    ref64_layernorm_backward(p->rows, p->dim, e.sum, e.gamma, e.mean, e.rstd, e.dy, e.d, e.dgamma,
                             e.dbeta);
    for (size_t i = 0; i < p->n; i++)
        e.d_branch[i] = e.factor[i] * e.d[i];
    return e;
}

struct result {
    float *sum, *y, *mean, *rstd, *d, *dgamma, *dbeta;
    nvdp__bf16 *y_bits, *d_bits;
    float *y_rounded, *d_branch; /* the tensors for products, widened */
};

/* Allocates memory for floats, or for as many bfloat16 numbers. */
static float *either_memory(const struct problem *p) {
    return (float *)(void *)bf16_nans(2 * p->n);
}

static struct nvdp__tensor product_tensor(const struct nvdp__device *dev, const struct problem *p,
                                          const float *memory) {
    struct nvdp__tensor t = nvdp__f32(p->rows, p->dim, memory);
    t.type = nvdp__product_type(dev);
    return t;
}

static float *as_floats(const struct nvdp__device *dev, const struct problem *p, float *memory) {
    if (dev->bf16 == NULL) return test_copy(p->n, memory);
    return bf16_floats(p->n, (const nvdp__bf16 *)(const void *)memory);
}

static struct nvdp__norm norm_of(const struct problem *p, struct result *r) {
    return (struct nvdp__norm){.eps = 1e-12f,
                               .gamma = p->gamma,
                               .beta = p->beta,
                               .dgamma = r->dgamma,
                               .dbeta = r->dbeta,
                               .mean = r->mean,
                               .rstd = r->rstd,
                               .dropout = p->dropout};
}

/* With `over`, the sum overwrites the branch. On a float32 device the tensor for products is
 * then y, and d_branch is d where nothing is dropped, as in an encoder's layer. */
static struct result run(const struct nvdp__device *dev, const struct problem *p, bool over) {
    struct result r = {.sum = over ? test_copy(p->n, p->branch) : either_memory(p),
                       .y = either_memory(p),
                       .mean = test_zeros(p->rows),
                       .rstd = test_zeros(p->rows),
                       .d = test_copy(p->n, p->dy),
                       .dgamma = test_copy(p->dim, p->gamma),
                       .dbeta = test_copy(p->dim, p->beta)};
    bool single = dev->bf16 == NULL;
    float *y_rounded = over && single ? r.y : either_memory(p);
    float *d_rounded = over && single && p->dropout.rate <= 0 ? r.d : either_memory(p);
    struct nvdp__norm norm = norm_of(p, &r);
    struct nvdp__tensor sum = nvdp__f32(p->rows, p->dim, r.sum);
    op_norm_forward(dev, &norm, over ? sum : nvdp__f32(p->rows, p->dim, p->branch),
                    nvdp__f32(p->rows, p->dim, p->residual), sum, nvdp__f32(p->rows, p->dim, r.y),
                    product_tensor(dev, p, y_rounded));
    op_norm_backward(dev, &norm, sum, nvdp__f32(p->rows, p->dim, r.d),
                     product_tensor(dev, p, d_rounded));
    r.y_bits = (nvdp__bf16 *)(void *)y_rounded;
    r.d_bits = (nvdp__bf16 *)(void *)d_rounded;
    r.y_rounded = as_floats(dev, p, y_rounded);
    r.d_branch = as_floats(dev, p, d_rounded);
    return r;
}

/* Uses the tolerances of test_layernorm.c for the same reasons; a dropped sum is rounded once
 * more. A bfloat16 tensor is the float32 result rounded once. */
static void compare(const struct nvdp__device *dev, const struct problem *p, const struct result *r,
                    const struct expected *e) {
    test_close("sum", p->n, r->sum, e->sum, FLOAT_TOLERANCE);
    test_close("y", p->n, r->y, e->y, 10 * FLOAT_TOLERANCE);
    test_close("mean", p->rows, r->mean, e->mean, FLOAT_TOLERANCE);
    test_close("rstd", p->rows, r->rstd, e->rstd, FLOAT_TOLERANCE);
    test_close("d", p->n, r->d, e->d, 10 * FLOAT_TOLERANCE);
    test_close("dgamma", p->dim, r->dgamma, e->dgamma, 10 * FLOAT_TOLERANCE);
    test_close("dbeta", p->dim, r->dbeta, e->dbeta, 10 * FLOAT_TOLERANCE);
    if (dev->bf16 == NULL) {
        test_same("y for products", p->n, r->y_rounded, r->y);
        test_close("d_branch", p->n, r->d_branch, e->d_branch, 10 * FLOAT_TOLERANCE);
        return;
    }
    for (size_t i = 0; i < p->n; i++)
        cr_assert_eq(r->y_bits[i], nvdp__bfloat16_from_float(r->y[i]));
    bf16_close("d_branch", p->n, r->d_bits, e->d_branch, 10 * FLOAT_TOLERANCE);
}

static void same(const struct problem *p, const struct result *a, const struct result *b) {
    test_same("sum", p->n, a->sum, b->sum);
    test_same("y", p->n, a->y, b->y);
    test_same("y for products", p->n, a->y_rounded, b->y_rounded);
    test_same("mean", p->rows, a->mean, b->mean);
    test_same("rstd", p->rows, a->rstd, b->rstd);
    test_same("d", p->n, a->d, b->d);
    test_same("d_branch", p->n, a->d_branch, b->d_branch);
    test_same("dgamma", p->dim, a->dgamma, b->dgamma);
    test_same("dbeta", p->dim, a->dbeta, b->dbeta);
}

static void check(size_t count, const struct nvdp__device *dev, size_t rows, size_t dim,
                  bool residual, float rate) {
    struct problem p = make(rows, dim, residual, rate);
    struct expected e = in_double(&p);
    struct result r[ALL] = {0};
    for (size_t d = 0; d < count; d++) {
        r[d] = run(&dev[d], &p, false);
        compare(&dev[d], &p, &r[d], &e);
        struct result over = run(&dev[d], &p, true);
        same(&p, &over, &r[d]);
    }
    same(&p, &r[FAST], &r[TWICE]);
    if (count == ALL) same(&p, &r[ROUNDED_ONE], &r[ROUNDED_TWO]);
}

/* Dims are at least 7: see test_layernorm.c. */
Test(norm, matches_double_on_every_device) {
    struct nvdp__device dev[ALL];
    size_t count = devices(dev);
    for (size_t i = 0; i < SIZES; i++)
        for (size_t j = 1; j < SIZES; j++)
            for (int drops = 0; drops < 2; drops++)
                check(count, dev, test_sizes[i], test_sizes[j], (i + j) % 2 == 0, drops ? 0.3f : 0);
    check(count, dev, 150, 256, true, 0.1f);
    check(count, dev, 150, 300, false, 0.1f);
    check(count, dev, 0, 16, true, 0.1f);
}

/* float32 results do not depend on the precision of the products' operands. */
Test(norm, the_residual_stream_is_the_same_in_both_precisions) {
    bf16_or_skip();
    struct nvdp__device dev[ALL];
    devices(dev);
    struct problem p = make(40, 96, true, 0.2f);
    struct result single = run(&dev[FAST], &p, false);
    struct result rounded = run(&dev[ROUNDED_ONE], &p, false);
    test_same("sum", p.n, single.sum, rounded.sum);
    test_same("y", p.n, single.y, rounded.y);
    test_same("d", p.n, single.d, rounded.d);
    for (size_t i = 0; i < p.n; i++)
        cr_assert_eq(rounded.d_bits[i], nvdp__bfloat16_from_float(single.d_branch[i]));
}

/* A dropped element becomes 0, even if it was infinite. */
Test(norm, drops_what_is_not_finite) {
    struct nvdp__device dev[ALL];
    size_t count = devices(dev);
    struct problem p = make(3, 64, true, 0.5f);
    double *factor = factors(&p);
    for (size_t i = 0; i < p.n; i++)
        if (factor[i] == 0) p.branch[i] = i % 2 == 0 ? INFINITY : NAN;
    for (size_t d = 0; d < count; d++) {
        struct result r = run(&dev[d], &p, false);
        for (size_t i = 0; i < p.n; i++) {
            cr_assert(isfinite(r.y[i]), "device %zu", d);
            if (factor[i] == 0) cr_assert_eq(r.sum[i], p.residual[i]);
        }
    }
}

struct shape {
    const struct problem *problem;
    struct expected *e;
};

static double norm_value(void *user) {
    struct shape *s = user;
    forward_in_double(s->problem, s->e);
    return test_dot(s->problem->n, s->e->y, s->e->dy);
}

/* The expected values, with which the devices are compared, are the derivative. Rows of seven
 * can be nearly constant, and third derivatives grow as rstd^3. */
Test(norm, expected_backward_is_the_derivative) {
    for (int residual = 0; residual < 2; residual++)
        for (int drops = 0; drops < 2; drops++) {
            struct problem p = make(4, 7, residual == 1, drops ? 0.3f : 0);
            struct expected e = in_double(&p);
            struct shape s = {&p, &e};
            for (size_t i = 0; i < p.dim; i++) { /* without the earlier values */
                e.dgamma[i] -= (double)p.gamma[i];
                e.dbeta[i] -= (double)p.beta[i];
            }
            gradcheck("branch", p.n, e.branch, e.d_branch, norm_value, &s,
                      10 * GRADCHECK_TOLERANCE);
            if (residual)
                gradcheck("residual", p.n, e.residual, e.d, norm_value, &s,
                          10 * GRADCHECK_TOLERANCE);
            gradcheck("gamma", p.dim, e.gamma, e.dgamma, norm_value, &s, GRADCHECK_TOLERANCE);
            gradcheck("beta", p.dim, e.beta, e.dbeta, norm_value, &s, GRADCHECK_TOLERANCE);
        }
}
