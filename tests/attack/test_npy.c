/* Tests NPY arrays: files that numpy.save wrote (the corpus of tests/fuzz/npy.c), and the messages for refused
 * files. */
#include "attack_test.h"

#include "test_context.h"

static char *corpus(const char *name) {
    return support_keep(nvdp__format(NULL, "%s/tests/fuzz/corpus/npy/%s", NVDP_SOURCE_DIR, name));
}

Test(npy, values) {
    static const char *const names[] = {"f4.npy", "f8.npy", "two.npy"};
    for (size_t k = 0; k < 3; k++) {
        char *path = corpus(names[k]);
        size_t shape[2] = {0};
        nvdp__autofree double *value = NULL;
        cr_assert_eq(nvdp__npy_read(ctx, path, shape, &value), NVDP_OK, "%s", names[k]);
        cr_expect(shape[0] == 3 && shape[1] == 2);
        for (int i = 0; i < 6; i++)
            cr_expect_eq(value[i], i);
    }
}

Test(npy, refusals) {
    static const struct {
        const char *name, *part;
    } cases[] = {
        {"big_endian.npy", "expected descr '<f4' or '<f8'"},
        {"int.npy", "expected descr '<f4' or '<f8'"},
        {"record.npy", "expected descr '<f4' or '<f8'"},
        {"object.npy", "found an array of Python objects"},
        {"fortran.npy", "expected C order, found Fortran order"},
        {"flat.npy", "[samples, dimensions] without zeros, found 1 dimension"},
        {"scalar.npy", "found 0 dimensions"},
        {"empty.npy", "one of them 0"},
        {"nan.npy", "row 1, column 1: expected a number within +-1e+100, found nan"},
        {"cut.npy", "expected 3 x 2 values of 4 bytes, found 23 bytes"},
        {"no_header.npy", "another kind of file"},
        {"huge_shape.npy", "expected 9223372036854775807 x 2 values"},
        {"three.npy", "expected version 1.0 or 2.0 of the NPY format, found 3.0"},
        {"twice.npy", "fortran_order and shape once"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *path = corpus(cases[k].name);
        size_t shape[2] = {7, 7};
        double *value = NULL;
        fails(nvdp__npy_read(ctx, path, shape, &value), NVDP_ERR_INPUT, path);
        support_contains(nvdp_context_error(ctx), cases[k].part);
        cr_expect(value == NULL && shape[0] == 7, "untouched on error");
    }
}

/* No part of a file is a valid file, nor is a file with an extra byte. */
Test(npy, other_lengths) {
    char *path = corpus("f4.npy"), *bytes = support_read(path);
    const char *other = support_scratch_path("other.npy");
    size_t shape[2];
    double *value = NULL;
    for (size_t size = 0; size <= 153; size += size == 151 ? 2 : 1) {
        support_write(other, bytes,
                      size); /* one beyond the end: the NUL that follows the bytes read */
        cr_expect_eq(nvdp__npy_read(ctx, other, shape, &value), NVDP_ERR_INPUT, "%zu", size);
    }
}
