/* A minimal program that uses the library: one header, one library. */
#include <nvdp.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    struct nvdp_context *ctx = NULL;
    if (nvdp_context_create(&ctx) != NVDP_OK) return 1;
    const double mu[2][1] = {{0}, {1}};
    const double variance[1] = {1};
    double divergence = nvdp_renyi_gaussian(2, 1, mu[0], variance, mu[1], variance);
    printf("nvdp %s: D_2 = %g nats\n", nvdp_version(), divergence);
    nvdp_context_free(ctx);
    return strcmp(nvdp_version(), NVDP_VERSION) != 0 || divergence != 1;
}
