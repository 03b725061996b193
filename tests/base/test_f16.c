/* Conversions between float and 16-bit floating point. */
#include "base/f16.h"

#include <criterion/criterion.h>
#include <math.h>

Test(half, every_half_survives) {
    for (uint32_t h = 0; h <= 0xffff; h++) {
        float value = nvdp__f16_to_float((uint16_t)h);
        bool nan = (h & 0x7fff) > 0x7c00;
        cr_assert_eq(isnan(value) != 0, nan);
        uint16_t back = nvdp__f16_from_float(value);
        cr_assert_eq(back, nan ? (h | 0x200) : h, "%04x", h); /* NaNs become quiet */
    }
}

Test(half, known_values) {
    cr_assert_eq(nvdp__f16_to_float(0x3c00), 1.0f);
    cr_assert_eq(nvdp__f16_to_float(0xc000), -2.0f);
    cr_assert_eq(nvdp__f16_to_float(0x7bff), 65504.0f);
    cr_assert_eq(nvdp__f16_to_float(0x0001), 0x1p-24f);
    cr_assert_eq(nvdp__f16_to_float(0x0400), 0x1p-14f);
    cr_assert_eq(nvdp__f16_to_float(0xfc00), -INFINITY);
    cr_assert_eq(nvdp__f16_from_float(65519.996f), 0x7bff);
    cr_assert_eq(nvdp__f16_from_float(65520.0f), 0x7c00);
    cr_assert_eq(nvdp__f16_from_float(-1e30f), 0xfc00);
    cr_assert_eq(nvdp__f16_from_float(0x1p-25f), 0x0000); /* a tie, to even */
    cr_assert_eq(nvdp__f16_from_float(0x1.000002p-25f), 0x0001);
    cr_assert_eq(nvdp__f16_from_float(-0x1p-149f), 0x8000);
}

/* A number between neighbors h and h + 1 becomes the nearer one, or the even one on a tie. */
Test(half, rounds_to_nearest_even) {
    for (uint32_t h = 0; h < 0x7bff; h++) {
        double low = nvdp__f16_to_float((uint16_t)h);
        double high = nvdp__f16_to_float((uint16_t)(h + 1));
        float middle = (float)((low + high) / 2); /* exact: a half's neighbors are 13 bits apart */
        uint16_t even = (uint16_t)(h + (h & 1));
        cr_assert_eq(nvdp__f16_from_float(middle), even, "%04x", h);
        cr_assert_eq(nvdp__f16_from_float(-middle), even | 0x8000);
        cr_assert_eq(nvdp__f16_from_float(nextafterf(middle, 0)), h);
        cr_assert_eq(nvdp__f16_from_float(nextafterf(middle, INFINITY)), h + 1);
    }
}
