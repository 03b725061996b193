/* Writing safetensors: written tensors are read back; invalid ones are refused. */
#include "encoder.h"

#include "test_context.h"

enum { LONG = 10000 };

Test(safetensors_write, roundtrip) {
    const char *path = support_scratch_path("round.safetensors");
    nvdp__autofree float *f32 = malloc(LONG * sizeof *f32);
    for (int i = 0; i < LONG; i++)
        f32[i] = (float)sin(i);
    double f64[] = {1.0 / 3, -INFINITY};
    int64_t i64[] = {INT64_MIN, 5};
    int32_t i32[] = {-7};
    float scalar = 2.5F;
    struct nvdp__tensor_source sources[] = {{"half", NVDP__DTYPE_F16, 2, {100, 100}, f32},
                                            {"wide", NVDP__DTYPE_F64, 1, {2}, f64},
                                            {"float", NVDP__DTYPE_F32, 1, {LONG}, f32},
                                            {"brain", NVDP__DTYPE_BF16, 1, {3}, f32},
                                            {"integers", NVDP__DTYPE_I64, 2, {2, 1}, i64},
                                            {"int \"32\"", NVDP__DTYPE_I32, 1, {1}, i32},
                                            {"scalar", NVDP__DTYPE_F32, 0, {0}, &scalar},
                                            {"empty", NVDP__DTYPE_F32, 2, {4, 0}, NULL},
                                            {"p\xc3\xbc", NVDP__DTYPE_F32, 1, {1}, &scalar}};
    enum { COUNT = sizeof sources / sizeof sources[0] };
    const char *metadata[] = {"format", "pt", "a", "b\n\"c\"", NULL};
    ok(nvdp__safetensors_write(ctx, path, COUNT, sources, metadata));
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    ok(nvdp__safetensors_open(ctx, path, &file));
    cr_assert_eq(nvdp__safetensors_count(file), COUNT);
    cr_expect_str_eq(nvdp__safetensors_metadata(file, "format"), "pt");
    cr_expect_str_eq(nvdp__safetensors_metadata(file, "a"), "b\n\"c\"");
    for (int i = 0; i < COUNT; i++) {
        const struct nvdp__tensor_info *info = nvdp__safetensors_find(file, sources[i].name);
        cr_assert_not_null(info);
        cr_expect_eq(info->dtype, sources[i].dtype);
        cr_expect_eq(info->rank, sources[i].rank);
        cr_expect_eq((uintptr_t)info->data % nvdp__dtype_size(info->dtype), 0, "%s is not aligned",
                     info->name);
        for (int d = 0; d < info->rank; d++)
            cr_expect_eq(info->shape[d], sources[i].shape[d]);
    }
    nvdp__autofree float *back = malloc(LONG * sizeof *back);
    nvdp__safetensors_read_f32(nvdp__safetensors_find(file, "float"), back);
    cr_expect_arr_eq(back, f32, LONG * sizeof *back);
    nvdp__safetensors_read_f32(nvdp__safetensors_find(file, "half"), back);
    for (int i = 0; i < LONG; i++) /* half a unit in the last of 11 places */
        cr_assert_leq(fabsf(back[i] - f32[i]), ldexpf(fmaxf(fabsf(f32[i]), 0x1p-14F), -11));
    double wide[2];
    support_read_f64(nvdp__safetensors_find(file, "wide"), wide);
    cr_expect_arr_eq(wide, f64, sizeof wide);
    int64_t integers[2];
    support_read_i64(nvdp__safetensors_find(file, "integers"), integers);
    cr_expect_arr_eq(integers, i64, sizeof integers);
    support_read_i64(nvdp__safetensors_find(file, "int \"32\""), integers);
    cr_expect_eq(integers[0], -7);
}

static int entries(const char *directory) {
    int count = 0;
    DIR *stream = opendir(directory);
    while (readdir(stream) != NULL)
        count++;
    closedir(stream);
    return count;
}

Test(safetensors_write, refusals_leave_nothing_behind) {
    const char *path = support_scratch_path("refused.safetensors");
    float value[2] = {1, 1e9F};
    struct {
        struct nvdp__tensor_source source[2];
        size_t count;
        const char *part;
    } cases[] = {
        {{{"a", NVDP__DTYPE_U8, 1, {1}, value}}, 1, "found U8"},
        {{{"a", (enum nvdp__dtype)99, 1, {1}, value}}, 1, "an unknown one"},
        {{{"a", NVDP__DTYPE_F32, 9, {1}, value}}, 1, "found 9"},
        {{{"a", NVDP__DTYPE_F32, 2, {SIZE_MAX, 2}, value}}, 1, "2^63"},
        {{{"a", NVDP__DTYPE_F32, 1, {1}, value}, {"a", NVDP__DTYPE_F32, 1, {1}, value}},
         2,
         "twice"},
        {{{"a\xff", NVDP__DTYPE_F32, 1, {1}, value}}, 1, "UTF-8"},
        {{{"__metadata__", NVDP__DTYPE_F32, 1, {1}, value}}, 1, "that of the metadata"},
        {{{"a", NVDP__DTYPE_F16, 1, {2}, value}}, 1, "range of F16, found 1e+09"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fails(nvdp__safetensors_write(ctx, path, cases[i].count, cases[i].source, NULL),
              NVDP_ERR_ARGUMENT, cases[i].part);
    }
    cr_expect_eq(entries(support_scratch()), 2, "a partial file was left");
    struct nvdp__tensor_source good = {"a", NVDP__DTYPE_F32, 1, {1}, value};
    cr_expect_eq(
        nvdp__safetensors_write(ctx, support_scratch_path("no/such/place"), 1, &good, NULL),
        NVDP_ERR_IO);
}

/* Every allocation of a write and a read fails in turn. */
Test(safetensors_write, out_of_memory) {
    const char *path = support_scratch_path("memory.safetensors");
    float value = 1;
    struct nvdp__tensor_source source = {"a", NVDP__DTYPE_F32, 1, {1}, &value};
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    uint64_t k = support_fail_first(ctx);
    while (support_failed(ctx, &k, nvdp__safetensors_write(ctx, path, 1, &source, NULL)))
        cr_assert_lt(k, 100);
    k = support_fail_first(ctx);
    while (support_failed(ctx, &k, nvdp__safetensors_open(ctx, path, &file)))
        cr_assert_null(file);
    cr_assert_not_null(file);
}
