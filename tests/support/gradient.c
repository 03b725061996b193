/* Compares gradients with central differences (gradient.h), for tests of backward passes. */
#include "gradient.h"

#include "support.h"

double support_difference(double (*loss)(void *user), void *user, double *place, double step) {
    double here = *place;
    *place = here + step;
    double up = loss(user);
    *place = here - step;
    double down = loss(user);
    *place = here;
    return (up - down) / (2 * step);
}

void support_expect_gradient(const char *name, double (*loss)(void *user), void *user, size_t n,
                             const float *got, double *place, double tolerance) {
    double *want = calloc(n, sizeof *want);
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        want[i] = support_difference(loss, user, place + i, 1e-5);
        norm += want[i] * want[i];
    }
    double error = support_norm_error(n, got, want) * (norm > 0 ? fmin(1, sqrt(norm) / 0.1) : 10);
    cr_expect_lt(error, tolerance, "%s: relative error %g of a gradient of norm %g", name, error,
                 sqrt(norm));
    free(want);
}
