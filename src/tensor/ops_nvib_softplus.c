/* Standard deviations that are the softplus of a free number. */
#include "tensor/ops_nvib.h"
#include "tensor/vector.h"

/* Below, log(1 + e^rho) is e^rho in float, and its logarithm rho. */
static const double FAR_BELOW = -20;

static double softplus(double rho) {
    return fmax(rho, 0) + log1p(exp(-fabs(rho)));
}

void nvdp__softplus_logvar(const struct nvdp__device *dev, size_t n, const float *rho,
                           float *logvar) {
    int team = nvdp__team(dev, 16 * n); /* two logarithms and an exponential */
#pragma omp parallel for num_threads(team)
    for (size_t i = 0; i < n; i++) {
        double x = rho[i];
        logvar[i] = (float)(2 * (x < FAR_BELOW ? x : log(softplus(x))));
    }
}

/* d logvar / d rho = 2 sigmoid(rho) / softplus(rho): 2 far below, 2 / rho far above. */
void nvdp__softplus_logvar_backward(const struct nvdp__device *dev, size_t n, const float *rho,
                                    const float *dlogvar, float *drho) {
    int team = nvdp__team(dev, 16 * n);
#pragma omp parallel for num_threads(team)
    for (size_t i = 0; i < n; i++) {
        double x = rho[i];
        double slope = x < FAR_BELOW ? 2 : 2 / ((1 + exp(-x)) * softplus(x));
        drho[i] = (float)(slope * dlogvar[i]);
    }
}
