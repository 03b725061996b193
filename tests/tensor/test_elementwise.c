/* Elementwise arithmetic and activations on every device. */
#include "tensor_test.h"

#define ROW(NAME, name) NVDP__ACT_##NAME,
static const enum nvdp__act acts[] = {NVDP__ACTIVATIONS(ROW) NVDP__ACT_TANH};
#undef ROW
enum { ACTS = sizeof acts / sizeof acts[0] };

/* Lengths below, at and above one block, and above the length from which threads are used. */
static const size_t lengths[] = {0, 1, 17, 4096, 4097, 33000};

Test(elementwise, arithmetic_is_exact_on_every_device) {
    for (size_t l = 0; l < 6; l++)
        for (size_t d = 0; d < DEVICES; d++) {
            const struct nvdp__device *dev = &test_devices[d];
            size_t n = lengths[l];
            float *x = test_floats(n, 2), *y = test_floats(n, 2);
            float *z = test_zeros(n);
            nvdp__copy(dev, n, y, z);
            test_same("copy", n, z, y);
            nvdp__add(dev, n, x, z);
            for (size_t i = 0; i < n; i++)
                cr_assert_eq(z[i], y[i] + x[i]);
            nvdp__copy(dev, n, y, z);
            nvdp__scale(dev, n, 3, z);
            for (size_t i = 0; i < n; i++)
                cr_assert_eq(z[i], 3 * y[i]);
            nvdp__zero(dev, n, z);
            for (size_t i = 0; i < n; i++)
                cr_assert_eq(z[i], 0);
        }
}

/* GELU multiplies 1 + erf, whose absolute error is about 2e-7, by x/2. */
Test(elementwise, activations_match_double) {
    for (size_t a = 0; a < ACTS; a++)
        for (size_t d = 0; d < DEVICES; d++) {
            enum { N = 40000 };
            float *x = test_floats(N, 9);
            float *y = test_zeros(N);
            double *want = test_zeros64(N);
            ref64_act_forward(acts[a], N, test_widen(N, x), want);
            op_act_forward(&test_devices[d], acts[a], N, x, y);
            for (size_t i = 0; i < N; i++)
                cr_assert_leq(fabs((double)y[i] - want[i]), 3e-7 * fmax(1, fabs((double)x[i])),
                              "act %zu device %zu: f(%g): expected %.9g, found %.9g", a, d,
                              (double)x[i], want[i], (double)y[i]);
            op_act_forward(&test_devices[d], acts[a], N, x, x);
            test_same("in place", N, x, y);
        }
}

Test(elementwise, activation_slopes_match_double) {
    for (size_t a = 0; a < ACTS; a++)
        for (size_t d = 0; d < DEVICES; d++) {
            enum { N = 40000 };
            float *x = test_floats(N, acts[a] == NVDP__ACT_TANH ? 1 : 9);
            float *dy = test_floats(N, 1);
            float *dx = test_zeros(N);
            double *want = test_zeros64(N);
            ref64_act_backward(acts[a], N, test_widen(N, x), test_widen(N, dy), want);
            op_act_backward(&test_devices[d], acts[a], N, x, dy, dx);
            test_close("slope", N, dx, want, 1e-6);
            op_act_backward(&test_devices[d], acts[a], N, x, dy, dy);
            test_same("in place", N, dy, dx);
        }
}

struct act_case {
    enum nvdp__act act;
    double *x, *y, *weight;
    size_t n;
};

static double act_value(void *user) {
    struct act_case *c = user;
    ref64_act_forward(c->act, c->n, c->x, c->y);
    return test_dot(c->n, c->y, c->weight);
}

Test(elementwise, activation_slopes_are_derivatives) {
    for (size_t a = 0; a < ACTS; a++) {
        enum { N = 200 };
        struct act_case c = {acts[a], test_widen(N, test_floats(N, 4)), test_zeros64(N),
                             test_widen(N, test_floats(N, 1)), N};
        double *dx = test_zeros64(N);
        act_value(&c);
        ref64_act_backward(acts[a], N, acts[a] == NVDP__ACT_TANH ? c.y : c.x, c.weight, dx);
        gradcheck("activation", N, c.x, dx, act_value, &c, GRADCHECK_TOLERANCE);
    }
}

Test(elementwise, activations_do_not_depend_on_threads) {
    for (size_t a = 0; a < ACTS; a++) {
        enum { N = 50001 };
        float *x = test_floats(N, 5);
        float *one = test_zeros(N), *two = test_zeros(N);
        op_act_forward(&test_devices[FAST_ONE], acts[a], N, x, one);
        op_act_forward(&test_devices[FAST_TWO], acts[a], N, x, two);
        test_same("forward", N, one, two);
        op_act_backward(&test_devices[FAST_ONE], acts[a], N, x, x, one);
        op_act_backward(&test_devices[FAST_TWO], acts[a], N, x, x, two);
        test_same("backward", N, one, two);
    }
}
