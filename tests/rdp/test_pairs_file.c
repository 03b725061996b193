/* Files of divergences name which text is P and which Q. */
#include "rdp_test.h"

#include "test_context.h"

static void expect_string(struct nvdp__h5 *file, const char *name, const char *expected) {
    nvdp__autofree char *found = NULL;
    cr_assert_eq(nvdp__h5_get_string(file, name, &found), NVDP_OK, "%s", name);
    cr_expect_str_eq(found, expected);
}

Test(pairs_file, rows_are_p_columns_are_q) {
    const char *path = support_scratch_path("pairs.h5");
    const double written[4] = {0, 1.25, INFINITY, 0};
    double found[4] = {0};
    const int64_t rows[2] = {7, 40};
    int64_t id[2] = {0};
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    ok(nvdp__pairs_write(ctx, path, 2, 1.1, written, rows));
    ok(nvdp__h5_open(ctx, path, "pairs", 1, &file));
    expect_string(file, "unit", "nats");
    expect_string(file, "normalisation", "sum");
    expect_string(file, "direction", "rd[p, q] = D(P of text p || Q of text q)");
    ok(nvdp__h5_read_rows(file, "rd", NVDP__H5_F64, 0, 2, found));
    cr_expect_arr_eq(found, written, sizeof written);
    ok(nvdp__h5_read_rows(file, "id", NVDP__H5_I64, 0, 2, id));
    cr_expect_arr_eq(id, rows, sizeof rows);
}
