/* HDF5 files: written and read back, of other programs, damaged, and impossible. */
#include "base/file.h"
#include "hdf5/hdf5.h"
#include "support.h"

#include <glob.h>
#include <hdf5.h>
#include <sys/resource.h>

#include "test_context.h"

static int scratch_entries(void) {
    int count = -2; /* "." and ".." */
    nvdp__autoptr(closedir) DIR *directory = opendir(support_scratch());
    while (readdir(directory) != NULL)
        count++;
    return count;
}

static const char *created; /* the path of the last file */

static struct nvdp__h5 *create(const char *name) {
    struct nvdp__h5 *file = NULL;
    created = support_scratch_path(name);
    ok(nvdp__h5_create(ctx, created, "posteriors/1", &file));
    return file;
}

static void finish(struct nvdp__h5 *file) {
    ok(nvdp__h5_commit(file, true));
    nvdp__h5_free(file);
}

static struct nvdp__h5 *commit_and_reopen(struct nvdp__h5 *file) {
    struct nvdp__h5 *back = NULL;
    finish(file);
    ok(nvdp__h5_open(ctx, created, "posteriors", 1, &back));
    return back;
}

Test(hdf5, every_type_and_rank_round_trips) {
    const float floats[24] = {0.1f, -1e-6f, 65504, INFINITY, -INFINITY, 0x1p-24f, 1, 2, 3};
    const double doubles[6] = {0.1, 1e300, -INFINITY, 5e-324};
    const int64_t longs[4] = {INT64_MIN, INT64_MAX, -1, 0};
    const int32_t ints[3] = {INT32_MIN, INT32_MAX, -1};
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = create("a.h5");
    ok(nvdp__h5_write(file, "f16", NVDP__H5_F16, 1, (size_t[]){24}, floats));
    ok(nvdp__h5_write(file, "f32", NVDP__H5_F32, 4, (size_t[]){1, 2, 3, 4}, floats));
    ok(nvdp__h5_write(file, "f64", NVDP__H5_F64, 2, (size_t[]){2, 3}, doubles));
    ok(nvdp__h5_write(file, "deep/down/i64", NVDP__H5_I64, 3, (size_t[]){2, 1, 2}, longs));
    ok(nvdp__h5_write(file, "deep/i32", NVDP__H5_I32, 1, (size_t[]){3}, ints));
    file = commit_and_reopen(file);
    size_t shape[4];
    float f[24];
    double d[6];
    int64_t l[4];
    int32_t i[3];
    ok(nvdp__h5_shape(file, "f32", NVDP__H5_F32, 4, shape));
    cr_assert_arr_eq(shape, ((size_t[]){1, 2, 3, 4}), sizeof shape);
    ok(nvdp__h5_read_rows(file, "f32", NVDP__H5_F32, 0, 1, f));
    cr_assert_arr_eq(f, floats, sizeof f);
    ok(nvdp__h5_read_rows(file, "f64", NVDP__H5_F64, 0, 2, d));
    cr_assert_arr_eq(d, doubles, sizeof d);
    ok(nvdp__h5_read_rows(file, "deep/down/i64", NVDP__H5_I64, 0, 2, l));
    cr_assert_arr_eq(l, longs, sizeof l);
    ok(nvdp__h5_read_rows(file, "deep/i32", NVDP__H5_I32, 0, 3, i));
    cr_assert_arr_eq(i, ints, sizeof i);
    ok(nvdp__h5_read_rows(file, "deep/i32", NVDP__H5_I64, 0, 3, l));
    cr_assert_eq(l[0], INT32_MIN);
    ok(nvdp__h5_read_rows(file, "f16", NVDP__H5_F16, 0, 24, f));
    cr_assert_eq(f[0], 0x1.998p-4f);
    cr_assert_eq(f[2], 65504);
    cr_assert_eq(f[3], INFINITY);
    cr_assert_eq(f[5], 0x1p-24f);
    ok(nvdp__h5_read_rows(file, "f16", NVDP__H5_F64, 0, 5, d));
    cr_assert_eq(d[0], 0x1.998p-4);
    cr_assert_eq(d[4], -INFINITY);
    cr_assert(nvdp__h5_has(file, "deep/down/i64"));
    cr_assert(!nvdp__h5_has(file, "deep/down"));
    cr_assert(!nvdp__h5_has(file, "deep/up/i64"));
    cr_assert(!nvdp__h5_has(file, ""));
}

Test(hdf5, f16_rounds_to_nearest_even) {
    const float values[4] = {1 + 0x1p-11f, 1 + 0x3p-11f, 1 + 0x1.8p-11f, -0.1f};
    const float want[4] = {1, 1 + 0x2p-10f, 1 + 0x1p-10f, -0x1.998p-4f};
    float got[4];
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = create("half.h5");
    ok(nvdp__h5_write(file, "x", NVDP__H5_F16, 1, (size_t[]){4}, values));
    const float large = 70000;
    fails(nvdp__h5_write_rows(file, "x", NVDP__H5_F16, 0, 1, &large), NVDP_ERR_NUMERIC,
          "dataset 'x': expected values within the range of f16, found 70000");
    file = commit_and_reopen(file);
    ok(nvdp__h5_read_rows(file, "x", NVDP__H5_F32, 0, 4, got));
    cr_assert_arr_eq(got, want, sizeof want);
}

/* Reads 100003 rows of 7 in odd slices, so that chunk borders fall inside them. */
Test(hdf5, rows_in_slices) {
    enum { ROWS = 100003, WIDTH = 7, SLICE = 1237 };
    nvdp__autofree float *data = malloc(ROWS * WIDTH * sizeof *data);
    for (int i = 0; i < ROWS * WIDTH; i++)
        data[i] = (float)(i % 1001);
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = create("rows.h5");
    ok(nvdp__h5_dataset(file, "x", NVDP__H5_F32, 2, (size_t[]){ROWS, WIDTH}));
    ok(nvdp__h5_dataset(file, "h", NVDP__H5_F16, 2, (size_t[]){ROWS, WIDTH}));
    for (size_t first = 0; first < ROWS; first += SLICE) {
        size_t rows = ROWS - first < SLICE ? ROWS - first : SLICE;
        ok(nvdp__h5_write_rows(file, "x", NVDP__H5_F32, first, rows, data + first * WIDTH));
        ok(nvdp__h5_write_rows(file, "h", NVDP__H5_F16, first, rows, data + first * WIDTH));
    }
    file = commit_and_reopen(file);
    nvdp__autofree float *back = malloc(ROWS * WIDTH * sizeof *back);
    ok(nvdp__h5_read_rows(file, "x", NVDP__H5_F32, 0, ROWS, back));
    cr_assert_arr_eq(back, data, ROWS * WIDTH * sizeof *back);
    ok(nvdp__h5_read_rows(file, "h", NVDP__H5_F16, 777, 50000, back));
    cr_assert_arr_eq(back, data + 777 * WIDTH, 50000 * WIDTH * sizeof *back);
    fails(nvdp__h5_read_rows(file, "x", NVDP__H5_F32, ROWS - 1, 2, back), NVDP_ERR_ARGUMENT,
          "expected a range within its 100003 rows, found 2 rows from row 100002");
    fails(nvdp__h5_read_rows(file, "x", NVDP__H5_F32, SIZE_MAX, 2, back), NVDP_ERR_ARGUMENT,
          "expected a range within");
}

/* Checks the promised layout: chunks of about 256 KiB, shuffled and deflated. */
Test(hdf5, chunks_and_filters) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = create("c.h5");
    ok(nvdp__h5_dataset(file, "x", NVDP__H5_F32, 2, (size_t[]){100000, 768}));
    ok(nvdp__h5_dataset(file, "wide", NVDP__H5_F32, 2, (size_t[]){3, 1000000}));
    file = commit_and_reopen(file);
    hid_t raw = H5Fopen(created, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t x = H5Dopen2(raw, "x", H5P_DEFAULT);
    hid_t wide = H5Dopen2(raw, "wide", H5P_DEFAULT);
    hid_t plist = H5Dget_create_plist(x);
    hsize_t chunk[2];
    H5Pget_chunk(plist, 2, chunk);
    cr_assert(chunk[0] == 85 && chunk[1] == 768);
    cr_assert_eq(H5Pget_nfilters(plist), 2);
    unsigned level = 0, config;
    size_t values = 1;
    cr_assert_geq(
        H5Pget_filter_by_id2(plist, H5Z_FILTER_DEFLATE, &config, &values, &level, 0, NULL, NULL),
        0);
    cr_assert_eq(level, 4);
    H5Pclose(plist);
    plist = H5Dget_create_plist(wide);
    H5Pget_chunk(plist, 2, chunk);
    cr_assert(chunk[0] == 1 && chunk[1] == 65536);
    H5Pclose(plist);
    H5Dclose(x);
    H5Dclose(wide);
    H5Fclose(raw);
}

Test(hdf5, nothing_in_a_dataset) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = create("zero.h5");
    ok(nvdp__h5_write(file, "x", NVDP__H5_F32, 2, (size_t[]){0, 5}, NULL));
    ok(nvdp__h5_write(file, "h", NVDP__H5_F16, 2, (size_t[]){5, 0}, NULL));
    file = commit_and_reopen(file);
    size_t shape[2];
    ok(nvdp__h5_shape(file, "x", NVDP__H5_F32, 2, shape));
    cr_assert(shape[0] == 0 && shape[1] == 5);
    ok(nvdp__h5_read_rows(file, "x", NVDP__H5_F32, 0, 0, NULL));
    ok(nvdp__h5_read_rows(file, "h", NVDP__H5_F16, 1, 4, NULL));
    fails(nvdp__h5_read_rows(file, "x", NVDP__H5_F32, 0, 1, NULL), NVDP_ERR_ARGUMENT,
          "expected a range within its 0 rows, found 1 rows from row 0");
}

/* Uses more datasets than are kept open at once. */
Test(hdf5, many_datasets) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = create("many.h5");
    for (int i = 0; i < 100; i++)
        ok(nvdp__h5_dataset(file, support_path("d%d", i), NVDP__H5_I32, 1, (size_t[]){2}));
    for (int32_t row = 0; row < 2; row++)
        for (int32_t i = 0; i < 100; i++)
            ok(nvdp__h5_write_rows(file, support_path("d%d", i), NVDP__H5_I32, (size_t)row, 1,
                                   &(int32_t){i + row}));
    file = commit_and_reopen(file);
    for (int i = 0; i < 100; i++) {
        int32_t got[2];
        ok(nvdp__h5_read_rows(file, support_path("d%d", i), NVDP__H5_I32, 0, 2, got));
        cr_assert(got[0] == i && got[1] == i + 1);
    }
}

static const char *string_of(struct nvdp__h5 *file, const char *name) {
    char *text = NULL;
    ok(nvdp__h5_get_string(file, name, &text));
    return support_keep(text);
}

Test(hdf5, attributes) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = create("attr.h5");
    ok(nvdp__h5_set_string(file, "task", "na\xc3\xafve"));
    ok(nvdp__h5_set_string(file, "task", "na\xc3\xafve, twice"));
    ok(nvdp__h5_set_string(file, "empty", ""));
    ok(nvdp__h5_set_real(file, "lambda", 0.1));
    ok(nvdp__h5_set_real(file, "bound", INFINITY));
    ok(nvdp__h5_set_int(file, "seed", INT64_MIN));
    file = commit_and_reopen(file);
    char *text = NULL;
    double real = 0;
    int64_t whole = 0;
    cr_assert_str_eq(string_of(file, "task"), "na\xc3\xafve, twice");
    cr_assert_str_eq(string_of(file, "empty"), "");
    ok(nvdp__h5_get_real(file, "lambda", &real));
    cr_assert_eq(real, 0.1);
    ok(nvdp__h5_get_real(file, "bound", &real));
    cr_assert_eq(real, INFINITY);
    ok(nvdp__h5_get_int(file, "seed", &whole));
    cr_assert_eq(whole, INT64_MIN);
    ok(nvdp__h5_get_real(file, "seed", &real));
    cr_assert(nvdp__h5_has_attribute(file, "seed"));
    cr_assert(!nvdp__h5_has_attribute(file, "speed"));
    fails(nvdp__h5_get_int(file, "speed", &whole), NVDP_ERR_INPUT,
          "attr.h5: attribute 'speed' is missing");
    fails(nvdp__h5_get_int(file, "lambda", &whole), NVDP_ERR_INPUT,
          "attribute 'lambda': expected an integer, found f64");
    fails(nvdp__h5_get_real(file, "task", &real), NVDP_ERR_INPUT,
          "attribute 'task': expected a number, found string");
    fails(nvdp__h5_get_string(file, "seed", &text), NVDP_ERR_INPUT,
          "attribute 'seed': expected a string, found i64");
    fails(nvdp__h5_set_int(file, "seed", 1), NVDP_ERR_STATE, "not open for writing");
}

/* Builds a file with HDF5 alone, as another program would: fixed strings, wide integers, odd
 * classes. */
static const char *foreign_file(void) {
    const char *path = support_scratch_path("foreign.h5");
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t one = H5Screate(H5S_SCALAR);
    hid_t three = H5Screate_simple(1, (hsize_t[]){3}, NULL);
    hid_t fixed = H5Tcopy(H5T_C_S1);
    H5Tset_size(fixed, 5);
    H5Tset_strpad(fixed, H5T_STR_NULLPAD);
    hid_t a = H5Acreate2(file, "fixed", fixed, one, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(a, fixed, "fives");
    H5Aclose(a);
    a = H5Acreate2(file, "huge", H5T_STD_U64BE, one, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(a, H5T_NATIVE_UINT64, &(uint64_t){UINT64_MAX});
    H5Aclose(a);
    a = H5Acreate2(file, "three", H5T_STD_I32LE, three, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(a, H5T_NATIVE_INT32, (int32_t[]){1, 2, 3});
    H5Aclose(a);
    hid_t d = H5Dcreate2(file, "wide", H5T_STD_U64BE, three, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(d, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
             (uint64_t[]){1, 3000000000u, UINT64_MAX});
    H5Dclose(d);
    d = H5Dcreate2(file, "scalar", H5T_IEEE_F32BE, one, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(d);
    d = H5Dcreate2(file, "double", H5T_IEEE_F64BE, three, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, (double[]){0.1, 1e300, NAN});
    H5Dclose(d);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(plist, "/etc/passwd", 0, 12);
    d = H5Dcreate2(file, "outside", H5T_IEEE_F32LE, three, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Dclose(d);
    H5Pclose(plist);
    H5Lcreate_external(path, "double", file, "link", H5P_DEFAULT, H5P_DEFAULT);
    H5Tclose(fixed);
    H5Sclose(one);
    H5Sclose(three);
    H5Fclose(file);
    return path;
}

Test(hdf5, files_of_other_programs) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    ok(nvdp__h5_open(ctx, foreign_file(), NULL, 0, &file));
    int64_t whole[3] = {7, 7, 7};
    int32_t narrow[3];
    float f[3];
    size_t shape[4];
    cr_assert_str_eq(string_of(file, "fixed"), "fives");
    fails(nvdp__h5_get_int(file, "huge", whole), NVDP_ERR_INPUT, "found a larger one");
    fails(nvdp__h5_get_int(file, "three", whole), NVDP_ERR_INPUT,
          "attribute 'three': expected one value, found 3");
    ok(nvdp__h5_read_rows(file, "wide", NVDP__H5_I64, 0, 2, whole));
    cr_assert(whole[0] == 1 && whole[1] == 3000000000);
    fails(nvdp__h5_read_rows(file, "wide", NVDP__H5_I64, 0, 3, whole), NVDP_ERR_INPUT,
          "dataset 'wide'");
    fails(nvdp__h5_read_rows(file, "wide", NVDP__H5_I32, 0, 2, narrow), NVDP_ERR_INPUT,
          "dataset 'wide'");
    ok(nvdp__h5_read_rows(file, "double", NVDP__H5_F32, 0, 3, f));
    cr_assert(f[0] == 0.1f && f[1] == INFINITY && isnan(f[2]));
    fails(nvdp__h5_shape(file, "double", NVDP__H5_I64, 1, shape), NVDP_ERR_INPUT,
          "dataset 'double': expected integers, found f64");
    fails(nvdp__h5_shape(file, "wide", NVDP__H5_F32, 1, shape), NVDP_ERR_INPUT,
          "dataset 'wide': expected floats, found u64");
    fails(nvdp__h5_shape(file, "double", NVDP__H5_F64, 2, shape), NVDP_ERR_INPUT,
          "foreign.h5: dataset 'double': expected 2 dimensions, found 1");
    fails(nvdp__h5_shape(file, "scalar", NVDP__H5_F32, 1, shape), NVDP_ERR_INPUT, "found 0");
    fails(nvdp__h5_shape(file, "none", NVDP__H5_F32, 1, shape), NVDP_ERR_INPUT,
          "foreign.h5: dataset 'none' is missing");
    fails(nvdp__h5_read_rows(file, "outside", NVDP__H5_F32, 0, 3, f), NVDP_ERR_INPUT,
          "found a reference to another");
    fails(nvdp__h5_read_rows(file, "link", NVDP__H5_F64, 0, 1, f), NVDP_ERR_INPUT, "is missing");
}

/* The lines that lists append. */
static const char *listed;

static void list_dataset(const char *name, int rank, const size_t *shape, const char *type,
                         void *user) {
    (void)user;
    listed = support_path("%s%s %s %d %zu\n", listed, name, type, rank, rank > 0 ? shape[0] : 0);
}

static nvdp_status list_attribute(const struct nvdp__h5_value *value, void *user) {
    (void)user;
    listed = support_path("%s%s=%s\n", listed, value->name, value->text);
    return NVDP_OK;
}

static const char *datasets_of(struct nvdp__h5 *file) {
    listed = "";
    ok(nvdp__h5_list(file, list_dataset, NULL));
    return listed;
}

static const char *attributes_of(struct nvdp__h5 *file) {
    listed = "";
    ok(nvdp__h5_list_attributes(file, list_attribute, NULL));
    return listed;
}

Test(hdf5, lists) {
    struct nvdp__h5 *file = create("list.h5");
    ok(nvdp__h5_set_real(file, "lambda", 0.5));
    ok(nvdp__h5_set_int(file, "seed", -7));
    ok(nvdp__h5_dataset(file, "group/h", NVDP__H5_F16, 2, (size_t[]){3, 2}));
    ok(nvdp__h5_dataset(file, "n", NVDP__H5_I64, 1, (size_t[]){4}));
    file = commit_and_reopen(file);
    cr_assert_str_eq(datasets_of(file), "group/h f16 2 3\nn i64 1 4\n");
    cr_assert_str_eq(attributes_of(file), "lambda=0.5\nnvdp_format=posteriors/1\nseed=-7\n");
    nvdp__h5_free(file);
    ok(nvdp__h5_open(ctx, foreign_file(), NULL, 0, &file));
    cr_assert_str_eq(datasets_of(file),
                     "double f64 1 3\noutside f32 1 3\nscalar f32 0 0\nwide u64 1 3\n");
    cr_assert_str_eq(attributes_of(file),
                     "fixed=fives\nhuge=(not a single value)\nthree=(not a single value)\n");
    nvdp__h5_free(file);
}

Test(hdf5, formats_are_checked) {
    struct nvdp__h5 *file = NULL;
    const char *path = support_scratch_path("format.h5");
    static const char *const bad[] = {"posteriors/2", "posteriors/0", "posteriors/x", "posteriors/",
                                      "posteriors/1b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(nvdp__h5_create(ctx, path, bad[i], &file));
        finish(file);
        fails(nvdp__h5_open(ctx, path, "posteriors", 1, &file), NVDP_ERR_INPUT, bad[i]);
    }
    fails(nvdp__h5_open(ctx, path, "shared", 1, &file), NVDP_ERR_INPUT,
          "format.h5: expected a file of kind 'shared', found 'posteriors/1b'");
    ok(nvdp__h5_open(ctx, path, NULL, 0, &file));
    nvdp__h5_free(file);
    fails(nvdp__h5_open(ctx, foreign_file(), "shared", 1, &file), NVDP_ERR_INPUT,
          "the attribute 'nvdp_format' is missing");
}

Test(hdf5, unreadable_files) {
    struct nvdp__h5 *file = NULL;
    const char *path = support_scratch_path("no.h5");
    fails(nvdp__h5_open(ctx, path, NULL, 1, &file), NVDP_ERR_IO, path);
    fails(nvdp__h5_open(ctx, support_scratch(), NULL, 1, &file), NVDP_ERR_INPUT,
          "expected a regular file, found a directory");
    support_write_text(path, "not HDF5 at all");
    fails(nvdp__h5_open(ctx, path, NULL, 1, &file), NVDP_ERR_INPUT, "expected an HDF5 file");
    support_write_text(path, "");
    fails(nvdp__h5_open(ctx, path, NULL, 1, &file), NVDP_ERR_INPUT, "expected an HDF5 file");
    cr_assert_null(file);
}

/* Truncated files of many lengths are refused with a message. */
Test(hdf5, truncated_files) {
    struct nvdp__h5 *file = create("whole.h5");
    float data[3000];
    for (int i = 0; i < 3000; i++)
        data[i] = sinf((float)i);
    ok(nvdp__h5_write(file, "x", NVDP__H5_F32, 1, (size_t[]){3000}, data));
    finish(file);
    nvdp__autofree char *bytes = NULL;
    size_t count;
    ok(nvdp__read_file(ctx, support_scratch_path("whole.h5"), 1 << 20, &bytes, &count));
    const char *path = support_scratch_path("cut.h5");
    for (size_t kept = 0; kept < count; kept += kept < 200 ? 7 : 531) {
        support_write(path, bytes, kept);
        fails(nvdp__h5_open(ctx, path, "posteriors", 1, &file), NVDP_ERR_INPUT, "cut.h5: ");
    }
}

/* Finds the place of x's first chunk. */
static void find_chunk(const char *path, size_t *address, size_t *size) {
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t x = H5Dopen2(file, "x", H5P_DEFAULT);
    haddr_t at = 0;
    hsize_t bytes = 0;
    cr_assert_geq(H5Dget_chunk_info_by_coord(x, (hsize_t[]){0}, NULL, &at, &bytes), 0);
    *address = (size_t)at;
    *size = (size_t)bytes;
    H5Dclose(x);
    H5Fclose(file);
}

/* Deflate has a checksum: no damaged value is returned. */
Test(hdf5, damaged_values) {
    struct nvdp__h5 *file = create("x.h5");
    enum { ITEMS = 3000 };
    float data[ITEMS];
    for (int i = 0; i < ITEMS; i++)
        data[i] = sinf((float)i);
    ok(nvdp__h5_write(file, "x", NVDP__H5_F32, 1, (size_t[]){ITEMS}, data));
    finish(file);
    const char *path = support_scratch_path("x.h5");
    nvdp__autofree char *bytes = NULL;
    size_t count, address, size;
    ok(nvdp__read_file(ctx, path, 1 << 20, &bytes, &count));
    find_chunk(path, &address, &size);
    for (size_t at = address; at < address + size; at += 37) {
        bytes[at] ^= 0x10;
        support_write(path, bytes, count);
        ok(nvdp__h5_open(ctx, path, "posteriors", 1, &file));
        fails(nvdp__h5_read_rows(file, "x", NVDP__H5_F32, 0, ITEMS, data), NVDP_ERR_INPUT,
              "x.h5: dataset 'x': cannot read: ");
        nvdp__h5_free(file);
        bytes[at] ^= 0x10;
    }
}

Test(hdf5, appears_only_when_committed) {
    struct nvdp__h5 *file = create("late.h5");
    const char *path = created;
    ok(nvdp__h5_write(file, "x", NVDP__H5_I32, 1, (size_t[]){1}, &(int32_t){5}));
    cr_assert(!nvdp__exists(path));
    cr_assert_eq(scratch_entries(), !nvdp__h5_is_unnamed(file));
    nvdp__h5_free(file);
    cr_assert_eq(scratch_entries(), 0);
    file = create("late.h5");
    ok(nvdp__h5_commit(file, true));
    cr_assert(nvdp__exists(path));
    cr_assert_eq(scratch_entries(), 1);
    fails(nvdp__h5_commit(file, true), NVDP_ERR_STATE, "not open for writing");
    fails(nvdp__h5_dataset(file, "y", NVDP__H5_I32, 1, (size_t[]){1}), NVDP_ERR_STATE,
          "not open for writing");
    cr_assert(!nvdp__h5_has(file, "x"));
    nvdp__h5_free(file);
    cr_assert(nvdp__exists(path));
    nvdp__h5_free(NULL);
}

static size_t neighbors(const char *path) {
    glob_t found = {0};
    const char *pattern = support_path("%s.partial-*", path);
    size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

/* The next writer removes the files that a killed process left, but not those that a process
 * still writes. */
Test(hdf5, removes_what_dead_writers_left) {
    const char *path = support_scratch_path("left.h5");
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *mine = NULL, *next = NULL;
    support_lose_unnamed();
    const char *other = support_path("%s.partial-1-x", path);
    const char *stranger = support_path("%s2.partial-1-0", path);
    support_write_text(other, "no name of ours");
    support_write_text(stranger, "of another file");
    ok(nvdp__h5_create(ctx, path, "test/1", &mine));
    pid_t child = fork();
    if (child == 0) {
        struct nvdp__h5 *lost = NULL;
        _exit(nvdp__h5_create(ctx, path, "test/1", &lost) == NVDP_OK ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    cr_assert_eq(status, 0);
    cr_assert_eq(neighbors(path), 3);
    ok(nvdp__h5_create(ctx, path, "test/1", &next));
    cr_assert_eq(neighbors(path), 3); /* mine, the next one's, and the odd name */
    ok(nvdp__h5_commit(mine, true));
    ok(nvdp__h5_commit(next, true));
    cr_assert_eq(access(stranger, F_OK), 0);
    cr_assert_eq(access(other, F_OK), 0);
    cr_assert_eq(neighbors(path), 1);
}

/* Only one of two writers to a new name succeeds. */
Test(hdf5, a_new_file_is_made_once) {
    const char *path = support_scratch_path("new.h5");
    struct nvdp__h5 *first = NULL, *second = NULL;
    support_write_text(path, ""); /* as mktemp leaves it */
    ok(nvdp__h5_create(ctx, path, "first/1", &first));
    ok(nvdp__h5_create(ctx, path, "second/1", &second));
    ok(nvdp__h5_commit(first, false));
    fails(nvdp__h5_commit(second, false), NVDP_ERR_ARGUMENT, "the file exists; use --overwrite");
    nvdp__h5_free(first);
    nvdp__h5_free(second);
    cr_assert_eq(neighbors(path), 0);
    ok(nvdp__h5_open(ctx, path, "first", 1, &first));
    nvdp__h5_free(first);
}

/* Strings are stored in place, not in a global heap, whose indices readers follow. */
Test(hdf5, has_no_global_heap) {
    const char *path = support_scratch_path("strings.h5");
    struct nvdp__h5 *file = NULL;
    char longest[4096];
    nvdp__autofree char *bytes = NULL;
    size_t size = 0;
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    const char *const values[] = {"", "one", "\xc3\xa4", longest};
    ok(nvdp__h5_create(ctx, path, "test/1", &file));
    for (int i = 0; i < 4; i++)
        ok(nvdp__h5_set_string(file, (char[]){(char)('a' + i), 0}, values[i]));
    finish(file);
    ok(nvdp__read_file(ctx, path, 1 << 20, &bytes, &size));
    cr_assert_null(memmem(bytes, size, "GCOL", 4));
    ok(nvdp__h5_open(ctx, path, "test", 1, &file));
    for (int i = 0; i < 4; i++)
        cr_assert_str_eq(string_of(file, (char[]){(char)('a' + i), 0}), values[i]);
    nvdp__h5_free(file);
}

Test(hdf5, pipes_are_refused, .timeout = 20) {
    const char *path = support_scratch_path("pipe.h5");
    struct nvdp__h5 *file = NULL;
    cr_assert_eq(mkfifo(path, 0600), 0);
    fails(nvdp__h5_open(ctx, path, NULL, 1, &file), NVDP_ERR_INPUT,
          "pipe.h5: expected a regular file, found a FIFO");
}

Test(hdf5, equal_data_equal_bytes) {
    char hex[2][65];
    for (int i = 0; i < 2; i++) {
        struct nvdp__h5 *file = create("same.h5");
        ok(nvdp__h5_write(file, "x", NVDP__H5_F32, 1, (size_t[]){3}, (float[]){1, 2, 3}));
        ok(nvdp__h5_set_real(file, "r", 1));
        finish(file);
        ok(nvdp__file_sha256(ctx, support_scratch_path("same.h5"), hex[i]));
        if (i == 0) sleep(1);
    }
    cr_assert_str_eq(hex[0], hex[1]);
}

Test(hdf5, impossible_requests) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    fails(nvdp__h5_create(ctx, support_scratch_path("no/x.h5"), "a/1", &file), NVDP_ERR_IO,
          "no/x.h5: cannot write: No such file or directory");
    file = create("x.h5");
    fails(nvdp__h5_dataset(file, "x", NVDP__H5_F32, 5, (size_t[]){1, 1, 1, 1, 1}),
          NVDP_ERR_ARGUMENT, "dataset 'x': expected 1 to 4 dimensions, found 5");
    ok(nvdp__h5_dataset(file, "x", NVDP__H5_F32, 1, (size_t[]){1}));
    fails(nvdp__h5_dataset(file, "x", NVDP__H5_F32, 1, (size_t[]){1}), NVDP_ERR_IO,
          "x.h5: dataset 'x': cannot create");
    fails(nvdp__h5_write_rows(file, "y", NVDP__H5_F32, 0, 1, &(float){1}), NVDP_ERR_INPUT,
          "dataset 'y' is missing");
}

Test(hdf5, a_full_disk_leaves_nothing) {
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {100000, RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum { N = 1 << 18 };
    nvdp__autofree float *noise = malloc(N * sizeof *noise);
    uint32_t state = 1;
    for (int i = 0; i < N; i++)
        noise[i] = (float)(state = state * 1664525 + 1013904223);
    struct nvdp__h5 *file = create("full.h5");
    nvdp_status status = nvdp__h5_write(file, "x", NVDP__H5_F32, 1, (size_t[]){N}, noise);
    if (status == NVDP_OK) status = nvdp__h5_commit(file, true);
    fails(status, NVDP_ERR_IO, "full.h5: cannot write");
    nvdp__h5_free(file);
    cr_assert_eq(scratch_entries(), 0);
}

/* The calling program keeps its own HDF5 error handler. */
static herr_t count_errors(hid_t stack, void *user) {
    (void)stack;
    ++*(int *)user;
    return 0;
}

Test(hdf5, error_printing_is_restored) {
    int count = 0;
    H5Eset_auto2(H5E_DEFAULT, count_errors, &count);
    struct nvdp__h5 *file = create("quiet.h5");
    ok(nvdp__h5_dataset(file, "x", NVDP__H5_F32, 1, (size_t[]){1}));
    cr_assert_neq(nvdp__h5_dataset(file, "x", NVDP__H5_F32, 1, (size_t[]){1}), NVDP_OK);
    nvdp__h5_free(file);
    cr_assert_eq(count, 0);
    cr_assert_lt(H5Fopen(support_scratch_path("nowhere.h5"), H5F_ACC_RDONLY, H5P_DEFAULT), 0);
    cr_assert_eq(count, 1);
}

static nvdp_status ignore_attribute(const struct nvdp__h5_value *value, void *user) {
    (void)value;
    (void)user;
    return NVDP_OK;
}

static nvdp_status every_call(void) {
    const char *path = support_scratch_path("oom.h5");
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    nvdp__autofree char *text = NULL;
    float x[2] = {1, 2};
    NVDP_TRY(nvdp__h5_create(ctx, path, "posteriors/1", &file));
    NVDP_TRY(nvdp__h5_write(file, "h", NVDP__H5_F16, 1, (size_t[]){2}, x));
    NVDP_TRY(nvdp__h5_commit(file, true));
    nvdp__h5_free(file);
    file = NULL;
    NVDP_TRY(nvdp__h5_open(ctx, path, "posteriors", 1, &file));
    NVDP_TRY(nvdp__h5_read_rows(file, "h", NVDP__H5_F32, 0, 2, x));
    NVDP_TRY(nvdp__h5_get_string(file, "nvdp_format", &text));
    return nvdp__h5_list_attributes(file, ignore_attribute, NULL);
}

Test(hdf5, out_of_memory) {
    uint64_t k = support_fail_first(ctx);
    while (support_failed(ctx, &k, every_call())) {
        cr_assert_leq(scratch_entries(), 1);
        unlink(support_scratch_path("oom.h5"));
    }
    cr_assert_gt(k, 10);
    cr_assert_eq(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0, "HDF5 objects left open");
}
