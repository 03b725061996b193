/* Checks gradients against central finite differences, in double. */
#ifndef NVDP_TESTS_TENSOR_GRADCHECK_H
#define NVDP_TESTS_TENSOR_GRADCHECK_H

#include <criterion/criterion.h>
#include <math.h>
#include <stddef.h>

/* Computes the scalar whose gradient is checked, from `user`. */
typedef double gradcheck_fn(void *user);

/* Moves every x[i] (which f reads) by h = 1e-5 max(1, |x[i]|) both ways.  For functions with
 * derivatives near 1 the difference's own error is about h^2 = 1e-10 (curvature) and 1e-16 |f| / h
 * (rounding): 1e-7 of the largest gradient leaves room for both.  grad's error is measured against
 * the largest |grad|. */
static inline void gradcheck(const char *what, size_t n, double *x, const double *grad,
                             gradcheck_fn *f, void *user, double tolerance) {
    double largest = 1e-3;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(grad[i]));
    for (size_t i = 0; i < n; i++) {
        double at = x[i];
        double h = 1e-5 * fmax(1, fabs(at));
        x[i] = at + h;
        double above = f(user);
        x[i] = at - h;
        double below = f(user);
        x[i] = at;
        double want = (above - below) / (2 * h);
        cr_assert_leq(fabs(grad[i] - want), tolerance * largest,
                      "%s: gradient of element %zu: expected %.9g, found %.9g", what, i, want,
                      grad[i]);
    }
}

#endif
