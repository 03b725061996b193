/* Products of small integers (byte_product.c) against plain loops, with the largest sums. */
#include "tensor_test.h"

enum { ROWS = 32, POINTS = NVDP__BYTE_POINTS, WIDEST = 300 };

Test(byte_product, equals_loops) {
    static const size_t dims[] = {1, 15, 16, 50, WIDEST};
    static int8_t q[ROWS * WIDEST], packed[ROWS * (WIDEST + NVDP__BYTE_DEEP)];
    static uint8_t u[POINTS * WIDEST], points[POINTS * (WIDEST + NVDP__BYTE_DEEP)];
    static int32_t y[POINTS * ROWS];
    if (!nvdp__byte_products()) cr_skip_test("needs AVX2");
    srand(4);
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        const size_t dim = dims[d];
        for (size_t i = 0; i < ROWS * dim; i++) /* the first two rows are extreme */
            q[i] = (int8_t)(i / dim < 2 ? (i < dim ? 64 : -64) : rand() % 129 - 64);
        for (size_t i = 0; i < POINTS * dim; i++)
            u[i] = (uint8_t)(i < dim ? 127 : rand() % 128);
        for (size_t r = 0; r < ROWS; r += NVDP__BYTE_ROWS) /* the last two rows are missing */
            nvdp__byte_pack_rows(r == 0 ? NVDP__BYTE_ROWS : NVDP__BYTE_ROWS - 2, dim, q + r * dim,
                                 packed + r * nvdp__byte_width(dim));
        nvdp__byte_pack_points(POINTS - 1, dim, u, points);
        nvdp__byte_product(dim, ROWS, points, packed, y);
        for (size_t p = 0; p < POINTS; p++)
            for (size_t r = 0; r < ROWS; r++) {
                int32_t sum = 0;
                for (size_t k = 0; k < dim && p < POINTS - 1 && r < ROWS - 2; k++)
                    sum += u[p * dim + k] * q[r * dim + k];
                cr_expect_eq(y[p * ROWS + r], sum, "dim %zu, point %zu, row %zu", dim, p, r);
            }
    }
}
