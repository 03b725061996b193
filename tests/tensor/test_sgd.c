/* SGD with momentum, against values computed by hand. */
#include "tensor_test.h"

/* float32 represents these numbers exactly: with g = 1/2, -1, 1/4, momentum 1/2 and rate 1/4
 *
 *   m  =  1/2, -3/4, -1/8,  x  =  1, 7/8, 17/16, 35/32,
 *
 * and with decay 1/2, which moves x by an eighth of the distance to the anchor 2 in each step,
 *
 *   x  =  1, 1, 21/16, 183/128. */
Test(sgd, by_hand) {
    enum { N = 37, STEPS = 3 }; /* more than a vector of any width, and a remainder */
    static const float slope[STEPS] = {0.5F, -1, 0.25F},
                       want[2][STEPS] = {{7 / 8.0F, 17 / 16.0F, 35 / 32.0F},
                                         {1, 21 / 16.0F, 183 / 128.0F}};
    struct nvdp__span span[2] = {{.offset = 0, .count = N, .decays = true},
                                 {.offset = N, .count = N, .decays = true, .by_muon = false}};
    for (size_t d = 0; d < DEVICES; d++)
        for (int decayed = 0; decayed < 2; decayed++) {
            float x[2 * N], m[2 * N] = {0}, g[2 * N], anchor[2 * N];
            const struct nvdp__sgd sgd = {0.25, 0.5, decayed * 0.5, 2};
            for (size_t i = 0; i < (size_t)2 * N; i++)
                x[i] = 1, anchor[i] = 2;
            for (int s = 0; s < STEPS; s++) {
                for (size_t i = 0; i < (size_t)2 * N; i++)
                    g[i] = slope[s] / 2; /* halved because grad_scale is 2 */
                nvdp__sgd_spans(&test_devices[d], &sgd, 2, span, g, anchor, m, x);
                for (size_t i = 0; i < (size_t)2 * N; i++)
                    cr_assert_eq(x[i], want[decayed][s], "step %d: %g", s, (double)x[i]);
            }
        }
}
