/* LayerNorm with an optional residual against plain loops in double. */
#include "tensor_test.h"

struct norm {
    size_t rows, dim;
    bool residual;
    double *x, *r, *gamma, *beta, *sum, *y, *mean, *rstd, *weight;
};

static double norm_value(void *user) {
    struct norm *c = user;
    ref64_layernorm_forward(c->rows, c->dim, 1e-12, c->x, c->residual ? c->r : NULL, c->gamma,
                            c->beta, c->sum, c->y, c->mean, c->rstd);
    return test_dot(c->rows * c->dim, c->y, c->weight);
}

Test(layernorm, plain_backward_is_the_derivative) {
    for (int residual = 0; residual < 2; residual++) {
        enum { ROWS = 4, DIM = 7, N = ROWS * DIM };
        struct norm c = {ROWS,
                         DIM,
                         residual == 1,
                         test_widen(N, test_floats(N, 1)),
                         test_widen(N, test_floats(N, 1)),
                         test_widen(DIM, test_floats(DIM, 1)),
                         test_widen(DIM, test_floats(DIM, 1)),
                         test_zeros64(N),
                         test_zeros64(N),
                         test_zeros64(ROWS),
                         test_zeros64(ROWS),
                         test_widen(N, test_floats(N, 1))};
        double *dx = test_zeros64(N), *dgamma = test_zeros64(DIM), *dbeta = test_zeros64(DIM);
        norm_value(&c);
        ref64_layernorm_backward(ROWS, DIM, residual ? c.sum : c.x, c.gamma, c.mean, c.rstd,
                                 c.weight, dx, dgamma, dbeta);
        /* Rows of seven can be nearly constant, and third derivatives grow as rstd^3. */
        gradcheck("x", N, c.x, dx, norm_value, &c, 10 * GRADCHECK_TOLERANCE);
        if (residual) gradcheck("r", N, c.r, dx, norm_value, &c, 10 * GRADCHECK_TOLERANCE);
        gradcheck("gamma", DIM, c.gamma, dgamma, norm_value, &c, GRADCHECK_TOLERANCE);
        gradcheck("beta", DIM, c.beta, dbeta, norm_value, &c, GRADCHECK_TOLERANCE);
    }
}

struct result {
    float *sum, *y, *mean, *rstd, *dx, *dgamma, *dbeta;
};

static struct result run(const struct nvdp__device *dev, size_t rows, size_t dim, const float *x,
                         const float *residual, const float *gamma, const float *beta,
                         const float *dy) {
    size_t n = rows * dim;
    struct result o = {test_zeros(n),       test_zeros(n),    test_zeros(rows),
                       test_zeros(rows),    test_copy(n, dy), test_copy(dim, gamma),
                       test_copy(dim, beta)};
    op_layernorm_forward(dev, rows, dim, 1e-12f, x, residual, gamma, beta,
                         residual != NULL ? o.sum : NULL, o.y, o.mean, o.rstd);
    op_layernorm_backward(dev, rows, dim, residual != NULL ? o.sum : x, gamma, o.mean, o.rstd, o.dx,
                          o.dx, o.dgamma, o.dbeta); /* in place */
    return o;
}

/* y is of order 1, but a row of one or few near elements has a large rstd, which multiplies the
 * rounding of x - mean. Hence ten times the usual tolerance, and dims of at least 7. */
static void check(size_t rows, size_t dim, bool with_residual) {
    size_t n = rows * dim;
    float *x = test_floats(n, 1);
    float *residual = with_residual ? test_floats(n, 1) : NULL;
    float *gamma = test_floats(dim, 1), *beta = test_floats(dim, 1), *dy = test_floats(n, 1);
    float *total = test_copy(n, x);
    for (size_t i = 0; with_residual && i < n; i++)
        total[i] += residual[i];
    double *in64 = test_widen(n, total), *gamma64 = test_widen(dim, gamma);
    double *y64 = test_zeros64(n), *mean64 = test_zeros64(rows), *rstd64 = test_zeros64(rows);
    double *dx64 = test_zeros64(n);
    double *dgamma64 = test_widen(dim, gamma), *dbeta64 = test_widen(dim, beta);
    ref64_layernorm_forward(rows, dim, 1e-12, in64, NULL, gamma64, dbeta64, NULL, y64, mean64,
                            rstd64);
    ref64_layernorm_backward(rows, dim, in64, gamma64, mean64, rstd64, test_widen(n, dy), dx64,
                             dgamma64, dbeta64);
    struct result o[DEVICES];
    for (size_t d = 0; d < DEVICES; d++) {
        o[d] = run(&test_devices[d], rows, dim, x, residual, gamma, beta, dy);
        if (with_residual) test_same("sum", n, o[d].sum, total);
        test_close("y", n, o[d].y, y64, 10 * FLOAT_TOLERANCE);
        test_close("mean", rows, o[d].mean, mean64, FLOAT_TOLERANCE);
        test_close("rstd", rows, o[d].rstd, rstd64, FLOAT_TOLERANCE);
        test_close("dx", n, o[d].dx, dx64, 10 * FLOAT_TOLERANCE);
        test_close("dgamma", dim, o[d].dgamma, dgamma64, 10 * FLOAT_TOLERANCE);
        test_close("dbeta", dim, o[d].dbeta, dbeta64, 10 * FLOAT_TOLERANCE);
    }
    test_same("y", n, o[FAST_ONE].y, o[FAST_TWO].y);
    test_same("dx", n, o[FAST_ONE].dx, o[FAST_TWO].dx);
    test_same("dgamma", dim, o[FAST_ONE].dgamma, o[FAST_TWO].dgamma);
    test_same("dbeta", dim, o[FAST_ONE].dbeta, o[FAST_TWO].dbeta);
}

Test(layernorm, matches_double_on_any_number_of_threads) {
    for (size_t i = 0; i < SIZES; i++)
        for (size_t j = 1; j < SIZES; j++)
            check(test_sizes[i], test_sizes[j], (i + j) % 2 == 0);
    check(150, 256, true);
    check(150, 300, false);
    check(0, 16, true);
}

/* One element is its own mean: y = beta, no gradient. */
Test(layernorm, rows_of_one_element) {
    for (size_t d = 0; d < DEVICES; d++) {
        float x = 3, gamma = 2, beta = 0.25f, y, mean, rstd, dx = 1, dgamma = 0, dbeta = 0;
        op_layernorm_forward(&test_devices[d], 1, 1, 1e-12f, &x, NULL, &gamma, &beta, NULL, &y,
                             &mean, &rstd);
        op_layernorm_backward(&test_devices[d], 1, 1, &x, &gamma, &mean, &rstd, &dx, &dx, &dgamma,
                              &dbeta);
        cr_expect_eq(y, beta);
        cr_expect_eq(dx, 0);
        cr_expect_eq(dgamma, 0);
        cr_expect_eq(dbeta, 1);
    }
}

Test(layernorm, sum_may_be_x) {
    enum { DIM = 33 };
    float *x = test_floats(DIM, 1), *residual = test_floats(DIM, 1), *one = test_floats(DIM, 1);
    float *y[2] = {test_zeros(DIM), test_zeros(DIM)};
    float *sum = test_zeros(DIM);
    float mean, rstd;
    op_layernorm_forward(&test_devices[0], 1, DIM, 1e-12f, x, residual, one, one, sum, y[0], &mean,
                         &rstd);
    op_layernorm_forward(&test_devices[0], 1, DIM, 1e-12f, x, residual, one, one, x, y[1], &mean,
                         &rstd);
    test_same("y", DIM, y[0], y[1]);
    test_same("sum", DIM, sum, x);
}
