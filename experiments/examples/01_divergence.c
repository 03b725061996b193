/* Renyi divergences: two Gaussians, two Dirichlets, and the effect of the order.
 *
 * All values are in nats. The divergence between the samples of two texts bounds how well anybody who sees a sample can
 * identify the text of the sample. */
#include <math.h>
#include <nvdp.h>
#include <stdio.h>

int main(void) {
    const double mu_p[2] = {0.0, 0.5}, var_p[2] = {1.0, 0.8};
    const double mu_q[2] = {1.0, 0.5}, var_q[2] = {1.0, 1.2};
    const double alpha_p[3] = {1.0, 2.0, 0.5}, alpha_q[3] = {1.0, 0.7, 0.9};
    const double orders[] = {1, 1.1, 2, 4, 16, INFINITY};

    printf("%8s %14s %14s\n", "order", "Gaussian", "Dirichlet");
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        printf("%8g %14.6f %14.6f\n", orders[i],
               nvdp_renyi_gaussian(orders[i], 2, mu_p, var_p, mu_q, var_q),
               nvdp_renyi_dirichlet(orders[i], 3, alpha_p, alpha_q));
    }
    /* Equal variances: l |mu_P - mu_Q|^2 / (2 var). */
    const double one[1] = {1}, zero[1] = {0}, variance[1] = {4};
    double got = nvdp_renyi_gaussian(3, 1, zero, variance, one, variance);
    printf("\nD_3(N(0,4)||N(1,4)) = %.6f, by hand %.6f\n", got, 3.0 * 1 / (2 * 4));
    /* An infinite divergence is a valid value, not an error. Here a wide P is compared with a narrow Q. */
    const double wide[1] = {9}, narrow[1] = {1};
    printf("D_2(N(0,9)||N(0,1)) = %g\n", nvdp_renyi_gaussian(2, 1, zero, wide, zero, narrow));
    return fabs(got - 0.375) < 1e-12 ? 0 : 1;
}
