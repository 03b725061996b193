/* Log variances of standard deviations that are a softplus, and their slopes. */
#include "fixture.h"

static const struct nvdp__device dev = {.threads = 2};

/* 2 log log(1 + e^x): 20 digits of a 60-digit computation. */
static const struct {
    float rho;
    double logvar, slope;
} golden[] = {
    {-100, -200, 2},
    {-25, -50.000000000013887944, 1.9999999999861120561},
    {-19, -38.000000005602796424, 1.9999999943972035886},
    {-10, -20.000045399070971869, 1.9999546017877953546},
    {-1, -2.3214327507777951547, 1.7170399834122738256},
    {0, -0.73302584116332865402, 1.4426950408889634074},
    {1, 0.5450277610051668051, 1.113347911658864566},
    {5, 3.2215601620411281034, 0.39678994308133236383},
    {40, 7.3777589082278726059, 0.049999999999999999782},
};

/* Values are computed in double and rounded once. */
Test(softplus, values_and_slopes) {
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        float logvar, one = 1, slope;
        nvdp__softplus_logvar(&dev, 1, &golden[i].rho, &logvar);
        nvdp__softplus_logvar_backward(&dev, 1, &golden[i].rho, &one, &slope);
        near(logvar, golden[i].logvar, 1e-7 * fabs(golden[i].logvar), "at %g",
             (double)golden[i].rho);
        near(slope, golden[i].slope, 1e-7 * golden[i].slope, "at %g", (double)golden[i].rho);
    }
}

Test(softplus, nan_stays_and_ends_are_finite) {
    const float rho[] = {NAN, -3e38f, 3e38f};
    float logvar[3], one[3] = {1, 1, 1};
    nvdp__softplus_logvar(&dev, 3, rho, logvar);
    cr_expect(isnan(logvar[0]));
    cr_expect(isinf(logvar[1]) && logvar[1] < 0); /* 2 rho is below the lowest float */
    near(logvar[2], 2 * log(3e38), 1e-4);
    nvdp__softplus_logvar_backward(&dev, 3, rho, one, one);
    cr_expect(isnan(one[0]));
    cr_expect_eq(one[1], 2);
    cr_expect(one[2] > 0 && one[2] < 1e-37f);
}
