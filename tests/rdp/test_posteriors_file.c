/* Files of posteriors: round trips, faults, files of h5py. */
#include "rdp_test.h"

#include "test_context.h"

/* Three texts of 2, 0 and 3 rows, width 2. */
static struct nvdp_posteriors *sample(bool with_alpha) {
    struct nvdp_posteriors *set = NULL;
    ok(nvdp_posteriors_create(ctx, 3, 5, 2, with_alpha, &set));
    static const size_t offset[] = {0, 2, 2, 5};
    memcpy(set->offset, offset, sizeof offset);
    for (int k = 0; k < 10; k++) {
        set->mu[k] = k / 3.0;
        set->logvar[k] = -k / 4.0;
    }
    for (int r = 0; with_alpha && r < 5; r++)
        set->alpha[r] = exp(r - 2);
    set->policy = NVDP_LENGTH_HIDDEN;
    set->length = 4;
    set->pad_alpha = 0.2;
    set->prior_alpha = 1.5;
    set->kappa = 2;
    snprintf(set->method, sizeof set->method, "%s", with_alpha ? "nvdp" : "vtdp");
    return support_keep(set);
}

static void expect_equal(const struct nvdp_posteriors *got, const struct nvdp_posteriors *want) {
    size_t rows = want->offset[want->texts];
    cr_assert_eq(got->texts, want->texts);
    cr_assert_eq(got->dim, want->dim);
    cr_assert_eq(got->alpha != NULL, want->alpha != NULL);
    cr_assert_eq(got->id != NULL, want->id != NULL);
    cr_expect_eq(memcmp(got->offset, want->offset, (want->texts + 1) * sizeof(size_t)), 0);
    cr_expect_eq(memcmp(got->mu, want->mu, rows * want->dim * sizeof(double)), 0);
    cr_expect_eq(memcmp(got->logvar, want->logvar, rows * want->dim * sizeof(double)), 0);
    if (want->id != NULL) cr_expect_eq(memcmp(got->id, want->id, want->texts * sizeof(int64_t)), 0);
    cr_expect_eq(got->kappa, want->kappa);
    cr_expect_eq(got->policy, want->policy);
    cr_expect_eq(got->length, want->length);
    cr_expect_eq(got->clip_sequence, want->clip_sequence);
    cr_expect_str_eq(got->method, want->method);
    if (want->alpha == NULL) return;
    cr_expect_eq(memcmp(got->alpha, want->alpha, rows * sizeof(double)), 0);
    cr_expect_eq(got->prior_alpha, want->prior_alpha);
    cr_expect_eq(got->pad_alpha, want->pad_alpha);
}

static void round_trip(const struct nvdp_posteriors *set) {
    const char *path = support_scratch_path("round.h5");
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *back = NULL;
    ok(nvdp_posteriors_write(ctx, path, set));
    ok(nvdp_posteriors_read(ctx, path, &back));
    expect_equal(back, set);
}

Test(posteriors_file, round_trip) {
    for (int with_alpha = 0; with_alpha < 2; with_alpha++) {
        struct nvdp_posteriors *set = sample(with_alpha);
        round_trip(set);
        set->id = calloc(3, sizeof(int64_t));
        set->id[2] = INT64_MIN;
        round_trip(set);
        set->policy = NVDP_LENGTH_PUBLIC;
        set->length = 0;
        set->pad_alpha = 1;
        round_trip(set);
    }
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *empty = NULL;
    ok(nvdp_posteriors_create(ctx, 0, 0, 2, true, &empty));
    snprintf(empty->method, sizeof empty->method, "nvdp");
    round_trip(empty);
}

static void note_type(const char *name, int rank, const size_t *shape, const char *type,
                      void *user) {
    (void)rank;
    (void)shape;
    if (strcmp(name, "mu") == 0) snprintf(user, 8, "%s", type);
}

static void mu_type(const char *path, char type[8]) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    ok(nvdp__h5_open(ctx, path, "posteriors", 1, &file));
    ok(nvdp__h5_list(file, note_type, type));
}

/* Values that are floats are stored in half the space; others keep every bit. */
Test(posteriors_file, width_follows_the_values) {
    struct nvdp_posteriors *set = sample(true);
    const char *path = support_scratch_path("width.h5");
    char type[8] = "";
    ok(nvdp_posteriors_write(ctx, path, set));
    mu_type(path, type);
    cr_expect_str_eq(type, "f64");
    for (int k = 0; k < 10; k++)
        set->mu[k] = (float)set->mu[k];
    ok(nvdp_posteriors_write(ctx, path, set));
    mu_type(path, type);
    cr_expect_str_eq(type, "f32");
    round_trip(set);
}

Test(posteriors_file, writing_checks_first) {
    struct nvdp_posteriors *set = sample(true);
    const char *path = support_scratch_path("never.h5");
    set->alpha[0] = NAN;
    cr_expect_eq(nvdp_posteriors_write(ctx, path, set), NVDP_ERR_INPUT);
    cr_expect_neq(access(path, F_OK), 0);
    set = sample(false);
    set->method[0] = '\0';
    cr_expect_eq(nvdp_posteriors_write(ctx, path, set), NVDP_ERR_ARGUMENT);
}

/* A sequence clip is kept, and its claim is checked where the file is read and where it is
 * written. */
Test(posteriors_file, sequence_clip) {
    struct nvdp_posteriors *set = sample(false);
    double square = 0;
    for (int k = 4; k < 10; k++)
        square += set->mu[k] * set->mu[k]; /* of the longest text */
    set->kappa = 1;
    memset(set->logvar, 0, 10 * sizeof *set->logvar);
    set->clip_sequence = sqrt(square);
    round_trip(set);
    const struct {
        double clip_sequence, logvar;
        int kappa;
        enum nvdp_length_policy policy;
        const char *words;
    } faults[] = {
        {0.999 * sqrt(square), 0, 1, NVDP_LENGTH_HIDDEN, "dataset mu, text 2: expected means"},
        {sqrt(square), 1e-9, 1, NVDP_LENGTH_HIDDEN, "dataset logvar, row 0, column 1: expected 0"},
        {sqrt(square), 0, 2, NVDP_LENGTH_HIDDEN, "needs hidden lengths and kappa 1"},
        {sqrt(square), 0, 1, NVDP_LENGTH_PUBLIC, "needs hidden lengths and kappa 1"},
        {-1, 0, 1, NVDP_LENGTH_HIDDEN, "attribute clip_sequence: expected 0 or a finite norm"},
        {NAN, 0, 1, NVDP_LENGTH_HIDDEN, "attribute clip_sequence: expected 0 or a finite norm"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        set->clip_sequence = faults[i].clip_sequence;
        set->logvar[1] = faults[i].logvar;
        set->kappa = faults[i].kappa;
        set->policy = faults[i].policy;
        fails(nvdp_posteriors_check(ctx, set, ""), NVDP_ERR_INPUT, faults[i].words);
    }
}

/* --- files with one fault --- */

struct faulty {
    const char *format;
    const char *policy; /* NULL: no attribute */
    const char *method;
    double length, kappa; /* 0: no attribute */
    double pad_alpha;
    int64_t offset[4];
    size_t offsets, rows_mu, rows_logvar, dim_logvar, rows_alpha, rows_id;
    bool no_alpha, no_mu;
    double alpha0, mu0, logvar0;
};

static struct faulty good(void) {
    return (struct faulty){.format = "posteriors/1",
                           .policy = "hidden",
                           .length = 4,
                           .kappa = 1,
                           .pad_alpha = 0.2,
                           .offset = {0, 2, 2, 5},
                           .offsets = 4,
                           .rows_mu = 5,
                           .rows_logvar = 5,
                           .dim_logvar = 2,
                           .rows_alpha = 5,
                           .rows_id = 3,
                           .alpha0 = 1};
}

static void write_faulty(const char *path, const struct faulty *f) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    double alpha[8] = {f->alpha0, 1, 1, 1, 1, 1, 1, 1};
    double mu[16] = {f->mu0};
    double logvar[24] = {f->logvar0};
    int64_t id[8] = {0};
    ok(nvdp__h5_create(ctx, path, f->format, &file));
    if (f->policy != NULL) nvdp__h5_set_string(file, "length_policy", f->policy);
    if (f->method != NULL) nvdp__h5_set_string(file, "method", f->method);
    if (f->length != 0) nvdp__h5_set_real(file, "length", f->length);
    if (f->kappa != 0) nvdp__h5_set_real(file, "kappa", f->kappa);
    if (f->pad_alpha != 0) nvdp__h5_set_real(file, "pad_alpha", f->pad_alpha);
    nvdp__h5_write(file, "offset", NVDP__H5_I64, 1, &f->offsets, f->offset);
    if (!f->no_alpha) nvdp__h5_write(file, "alpha", NVDP__H5_F64, 1, &f->rows_alpha, alpha);
    if (!f->no_mu) nvdp__h5_write(file, "mu", NVDP__H5_F64, 2, (size_t[]){f->rows_mu, 2}, mu);
    nvdp__h5_write(file, "logvar", NVDP__H5_F32 /* a double's bytes do as floats */, 2,
                   (size_t[]){f->rows_logvar, f->dim_logvar}, logvar);
    nvdp__h5_write(file, "id", NVDP__H5_I64, 1, &f->rows_id, id);
    ok(nvdp__h5_commit(file, true));
}

static void refuse(const struct faulty *f, const char *what) {
    const char *path = support_scratch_path("faulty.h5");
    struct nvdp_posteriors *set = NULL;
    write_faulty(path, f);
    cr_expect_eq(nvdp_posteriors_read(ctx, path, &set), NVDP_ERR_INPUT, "%s", what);
    cr_expect_null(set);
    support_contains(nvdp_context_error(ctx), path);
    cr_expect(strstr(nvdp_context_error(ctx), what) != NULL, "%s: %s", what,
              nvdp_context_error(ctx));
}

#define REFUSE(what, ...)                                                                          \
    do {                                                                                           \
        struct faulty f = good();                                                                  \
        __VA_ARGS__;                                                                               \
        refuse(&f, what);                                                                          \
    } while (0)

Test(posteriors_file, faults_are_named) {
    REFUSE("posteriors/2", f.format = "posteriors/2");
    REFUSE("embeddings/1", f.format = "embeddings/1");
    REFUSE("attribute length_policy is missing: expected a value", f.policy = NULL);
    REFUSE("attribute length_policy: expected hidden or public, found 'none'", f.policy = "none");
    REFUSE("attribute length is missing: expected a value (required by length_policy hidden)",
           f.length = 0);
    REFUSE("attribute length: expected a whole number from 1", f.length = 2.5);
    REFUSE("attribute length: expected a whole number from 1", f.length = -3);
    REFUSE("attribute length: expected a whole number from 1", f.length = NAN);
    REFUSE("attribute kappa: expected a whole number from 1", f.kappa = 0.5);
    REFUSE("attribute pad_alpha is missing: expected a value", f.pad_alpha = 0);
    REFUSE("attribute pad_alpha: expected a pseudo-count", f.pad_alpha = -1);
    REFUSE("attribute method: expected at most 31 characters, found 40",
           f.method = "0123456789012345678901234567890123456789");
    REFUSE("attribute method is missing: expected a value (required without a dataset alpha)",
           f.no_alpha = true);
    REFUSE("mu", f.no_mu = true);
    REFUSE("dataset logvar: expected 5 rows, as many as in mu, found 4", f.rows_logvar = 4);
    REFUSE("dataset logvar: expected 2 columns (as mu), found 3", f.dim_logvar = 3);
    REFUSE("dataset alpha: expected 5 rows, as many as in mu, found 6", f.rows_alpha = 6);
    REFUSE("dataset id: expected 3 rows, one per text, found 2", f.rows_id = 2);
    REFUSE("dataset offset: expected N+1 rows", f.offsets = 0; f.rows_id = 0);
    REFUSE(
        "dataset offset, row 1: expected a number from 0 to 5, the number of rows of mu, found -1",
        f.offset[1] = -1);
    REFUSE(
        "dataset offset, row 1: expected a number from 0 to 5, the number of rows of mu, found 6",
        f.offset[1] = 6);
    REFUSE("dataset offset, last row 3: expected 5, the number of rows of mu, found 4",
           f.offset[3] = 4);
    REFUSE("dataset offset, row 0: expected 0, found 1", f.offset[0] = 1);
    REFUSE("dataset offset, row 2: expected at least 3, found 2", f.offset[1] = 3);
    REFUSE("dataset offset, row 3: expected at most 2 rows per text (the hidden length), found 3",
           f.length = 2);
    REFUSE("dataset alpha, row 0: expected a pseudo-count > 0", f.alpha0 = 0);
    REFUSE("dataset alpha, row 0: expected a pseudo-count > 0", f.alpha0 = NAN);
    REFUSE("dataset mu, row 0, column 0: expected a finite number", f.mu0 = INFINITY);
}

Test(posteriors_file, defaults) {
    const char *path = support_scratch_path("defaults.h5");
    struct faulty f = good();
    f.kappa = 0;
    f.policy = "public";
    write_faulty(path, &f);
    struct nvdp_posteriors *set = NULL;
    ok(nvdp_posteriors_read(ctx, path, &set));
    cr_expect_eq(set->kappa, 1);
    cr_expect_eq(set->prior_alpha, 1);
    cr_expect_eq(set->policy, NVDP_LENGTH_PUBLIC);
    cr_expect_str_eq(set->method, "nvdp");
    nvdp_posteriors_free(set);
    f.no_alpha = true;
    f.policy = NULL;
    f.method = "vib-learned";
    write_faulty(path, &f);
    ok(nvdp_posteriors_read(ctx, path, &set));
    cr_expect_null(set->alpha);
    cr_expect_eq(set->policy, NVDP_LENGTH_PUBLIC);
    nvdp_posteriors_free(set);
    cr_expect_eq(nvdp_posteriors_read(ctx, support_scratch_path("none.h5"), &set), NVDP_ERR_IO);
}

/* Types of other sizes, another order of bytes, packed; attributes are numbers, text of both kinds and an array of one number. */
Test(posteriors_file, arrays_of_numpy) {
    static const char corpus[] = NVDP_SOURCE_DIR "/tests/fuzz/corpus/posteriors/";
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL, *none = NULL;
    ok(nvdp_posteriors_read(ctx, support_path("%snumpy.npz", corpus), &set));
    cr_assert_eq(set->texts, 2);
    cr_assert_eq(set->dim, 2);
    cr_expect_arr_eq(set->offset, ((size_t[]){0, 1, 3}), 3 * sizeof(size_t));
    cr_expect_arr_eq(set->alpha, ((double[]){1.5, 2, .25}), 3 * sizeof(double));
    cr_expect_arr_eq(set->mu, ((double[]){1, -2, .5, 3, 0, 4}), 6 * sizeof(double));
    cr_expect_arr_eq(set->logvar, ((double[]){0, -1, .5, 2, 1, -3}), 6 * sizeof(double));
    cr_expect_arr_eq(set->id, ((int64_t[]){7, (int64_t)1 << 40}), 2 * sizeof(int64_t));
    cr_expect_eq(set->policy, NVDP_LENGTH_HIDDEN);
    cr_expect_eq(set->length, 4);
    cr_expect_eq(set->kappa, 2);
    cr_expect_eq(set->pad_alpha, .5);
    cr_expect_eq(set->prior_alpha, 3);
    cr_expect_str_eq(set->method, "nvdp");
    cr_expect_eq(nvdp_posteriors_read(ctx, support_path("%sshort.npz", corpus), &none),
                 NVDP_ERR_INPUT);
    support_contains(nvdp_context_error(ctx), "short.npz: array alpha: expected numbers of 2 to 8 "
                                              "bytes [1 dimensions], found kind i1");
}

/* Writes a file as users of h5py do: Python and numpy scalars, f32, f64, fixed and variable
 * strings. */
static const char script[] =
    "import sys, h5py, numpy as np\n"
    "with h5py.File(sys.argv[1], 'w') as f:\n"
    "    k = int(sys.argv[2])\n"
    "    f.attrs['nvdp_format'] = ['posteriors/1', np.bytes_(b'posteriors/1')][k % 2]\n"
    "    f.attrs['length_policy'] = ['hidden', np.bytes_(b'hidden'), 'hidden'][k % 3]\n"
    "    f.attrs['length'] = [4, np.int32(4), 4.0, np.float32(4), np.uint8(4)][k % 5]\n"
    "    f.attrs['kappa'] = [2, np.int64(2), 2.0][k % 3]\n"
    "    f.attrs['prior_alpha'] = [1.5, np.float32(1.5), np.float64(1.5)][k % 3]\n"
    "    f.attrs['pad_alpha'] = [1, 1.0, np.float16(1)][k % 3]\n"
    "    f.attrs['method'] = 'nvdp'\n"
    "    t = [np.float32, np.float64][k % 2]\n"
    "    f['offset'] = np.array([0, 2, 2, 5], [np.int64, np.int32, np.uint64][k % 3])\n"
    "    f['alpha'] = np.array([.25, .5, 1, 2, 4], t)\n"
    "    f['mu'] = (np.arange(10).reshape(5, 2) / 8).astype(t)\n"
    "    f['logvar'] = -(np.arange(10).reshape(5, 2) / 4).astype(t)\n"
    "    f.create_dataset('id', data=np.array([7, 8, 9]), compression='gzip')\n";

Test(posteriors_file, written_by_h5py) {
    if (system("/usr/bin/python3 -c 'import h5py' >/dev/null 2>&1") != 0)
        cr_skip_test("h5py is not here");
    const char *program = support_scratch_path("write.py");
    const char *path = support_scratch_path("theirs.h5");
    support_write_text(program, script);
    for (int k = 0; k < 6; k++) {
        nvdp__autofree char *command = NULL;
        cr_assert_gt(asprintf(&command, "/usr/bin/python3 '%s' '%s' %d", program, path, k), 0);
        cr_assert_eq(system(command), 0);
        nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
        cr_assert_eq(nvdp_posteriors_read(ctx, path, &set), NVDP_OK, "case %d: %s", k,
                     nvdp_context_error(ctx));
        cr_expect_eq(set->texts, 3);
        cr_expect_eq(set->kappa, 2);
        cr_expect_eq(set->length, 4);
        cr_expect_eq(set->prior_alpha, 1.5);
        cr_expect_eq(set->pad_alpha, 1);
        cr_expect_eq(set->policy, NVDP_LENGTH_HIDDEN);
        cr_expect_eq(set->alpha[4], 4);
        cr_expect_eq(set->mu[9], 9 / 8.0);
        cr_expect_eq(set->logvar[9], -9 / 4.0);
        cr_expect_eq(set->id[2], 9);
    }
}

/* The fuzz corpus also has valid files; without them it would reach only the first check. */
Test(posteriors_file, corpus_has_good_files) {
    static const char *names[] = {"good", "gaussian", "no_texts"};
    for (int k = 0; k < 3; k++) {
        nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
        const char *path =
            support_path("%s/tests/fuzz/corpus/posteriors/%s", NVDP_SOURCE_DIR, names[k]);
        ok(nvdp_posteriors_read(ctx, path, &set));
    }
}

Test(posteriors_file, out_of_memory) {
    struct nvdp_posteriors *set = sample(true);
    set->id = calloc(3, sizeof(int64_t));
    const char *path = support_scratch_path("memory.h5");
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *back = NULL;
    uint64_t k = support_fail_first(ctx);
    while (support_failed(ctx, &k, nvdp_posteriors_write(ctx, path, set)))
        cr_expect_neq(access(path, F_OK), 0);
    k = support_fail_first(ctx);
    while (support_failed(ctx, &k, nvdp_posteriors_read(ctx, path, &back)))
        cr_expect_null(back);
    expect_equal(back, set);
}
