/* Tests of nvdp audit: the table, JSON, a false claim, invalid usage. */
#include "program.h"

/* Writes samples (i, i) for i < count, plus `shift`, to the scratch folder: [count, 2] of float64. */
static const char *samples(const char *name, size_t count, double shift) {
    const char *path = support_scratch_path(name);
    static const unsigned char head[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0};
    const size_t room = 128 + count * 16;
    nvdp__autofree char *bytes = calloc(room, 1);
    char *header = bytes + 10;
    cr_assert_not_null(bytes);
    memcpy(bytes, head, sizeof head);
    memset(header, ' ', 117);
    header[sprintf(header, "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu, 2), }",
                   count)] = ' ';
    header[117] = '\n';
    for (size_t i = 0; i < count; i++) {
        const double row[] = {(double)i + shift, (double)i + shift};
        memcpy(bytes + 128 + 16 * i, row, sizeof row);
    }
    support_write(path, bytes, room);
    return path;
}

/* Disjoint samples reach the ceiling for 200 held-out samples each: log a / (1 - a) with a = .025^(1/200). */
Test(audit, tells_apart) {
    const char *p = samples("p.npy", 400, 0), *q = samples("q.npy", 400, 9999);
    const double a = pow(.025, 1. / 200);
    json_t *made = program_json("audit --samples-p %s --samples-q %s --delta 0 --json", p, q);
    cr_expect_float_eq(number_at(made, "epsilon"), log(a / (1 - a)), 1e-9);
    cr_expect_eq(number_at(made, "epsilon"), number_at(made, "ceiling"));
    support_has(made, "{'claimed': null, 'true_positives/share': 1}");
    struct outcome outcome =
        program_expect(1, "audit --samples-p %s --samples-q %s --claimed 3", p, q);
    support_contains(outcome.out, "200 of P, 200 of Q",
                     "epsilon           >= 3.983 at"); /* 3.9839, rounded down */
    support_contains(outcome.out, "wrong             0 % of Q, at most 1.9 %\n"); /* 1.828 */
    support_contains(outcome.out, "This is a lower bound");
    support_contains(outcome.err, "VIOLATION: the samples show epsilon >= 3.983 at");
    program_prints(0, ">= 0.000 at delta 1e-05 with confidence 95 %\n",
                   "audit --samples-p %s --samples-q %s --claimed 0", p, p);
}

Test(audit, refusals) {
    const char *p = samples("p.npy", 100, 0), *few = samples("few.npy", 99, 0);
    nvdp__autofree char *corpus = nvdp__format(NULL, "%s/tests/fuzz/corpus/npy", NVDP_SOURCE_DIR);
    program_says(3, "few.npy: expected at least 100 samples, found 99",
                 "audit --samples-p %s --samples-q %s", p, few);
    program_says(3, "expected 2 numbers per sample, as in ",
                 "audit --samples-p %s --samples-q %s/other_order.npy", p, corpus);
    program_says(3, "object.npy: NPY header: expected float32 or float64",
                 "audit --samples-p %s/object.npy --samples-q %s", corpus, p);
    static const char *const usages[] = {"",
                                         "--samples-p x.npy",
                                         "--samples-p x.npy --samples-q x.npy --claimed -1",
                                         "--samples-p x.npy --samples-q x.npy --delta 1",
                                         "--samples-p x.npy --samples-q x.npy --rows 2",
                                         "--summary x.h5 --delta 0.1",
                                         "--summary x.h5 --releases 999"};
    for (size_t i = 0; i < sizeof usages / sizeof *usages; i++)
        program_expect(2, "audit %s", usages[i]);
}
