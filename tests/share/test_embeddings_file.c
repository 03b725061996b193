/* Tests the reader of embeddings/1 and /2 with valid and damaged files written by the tests. */
#include "fixture.h"

#include "test_context.h"

static struct nvdp_shared *must_read(const char *path) {
    struct nvdp_shared *read = NULL;
    ok(nvdp_shared_read(ctx, path, &read));
    return support_keep(read);
}

static void refused(const char *path, const char *words) {
    struct nvdp_shared *read = NULL;
    fails(nvdp_shared_read(ctx, path, &read), NVDP_ERR_INPUT, words);
    cr_assert_null(read);
}

/* Three texts with two samples each. */
static struct made_embeddings three_texts(void) {
    struct made_embeddings file = made_embeddings_default();
    file.texts = 3;
    file.samples = 2;
    file.splits = true;
    return file;
}

Test(embeddings_file, reads_what_was_written) {
    const struct made_embeddings file = three_texts();
    const struct nvdp_shared *read = must_read(made_embeddings(ctx, "a.h5", &file));
    cr_assert_eq(read->shape.texts, 3);
    cr_assert_eq(read->shape.samples, 2);
    cr_assert_eq(read->shape.rows, 3 * 2 * 4);
    cr_assert_eq(read->offset[6], 24);
    cr_assert_eq(read->label[1], 1);
    cr_assert_eq(read->split[0], 0);
    cr_assert_null(read->id);
    cr_assert_lt(fabs(read->log_pi[5] + log(4)), 1e-3);
}

Test(embeddings_file, is_read_through_the_public_face) {
    const struct made_embeddings file = three_texts();
    const char *path = made_embeddings(ctx, "public.h5", &file);
    struct nvdp_shared *shared = must_read(path), *read = must_read(path);
    struct nvdp_shared_info info = NVDP_RESULT(struct nvdp_shared_info);
    ok(nvdp_shared_describe(ctx, shared, &info));
    cr_assert_eq(info.texts, 3);
    cr_assert_eq(info.samples, 2);
    cr_assert_eq(info.rows, 24);
    cr_assert_eq(info.sample_rows, 4);
    cr_assert_eq(info.offset[6], 24);
    cr_assert_eq(info.label[1], 1);
    cr_assert_str_eq(info.method, read->method);
    const size_t values = info.rows * info.dim;
    nvdp__autofree float *z = calloc(2 * values, sizeof *z);
    ok(nvdp_shared_vectors(ctx, shared, 0, info.rows, z));
    nvdp__embeddings_values(read, 0, values, z + values);
    cr_assert_arr_eq(z, z + values, values * sizeof *z);
    ok(nvdp_shared_vectors(ctx, shared, 20, 4, z));
    cr_assert_arr_eq(z, z + values + 20 * info.dim, 4 * info.dim * sizeof *z);
    cr_assert_eq(nvdp_shared_vectors(ctx, shared, 20, 5, z), NVDP_ERR_ARGUMENT);
    info.struct_size = 0;
    cr_assert_eq(nvdp_shared_describe(ctx, shared, &info), NVDP_ERR_ARGUMENT);
    struct nvdp_shared *none = NULL;
    cr_assert_eq(nvdp_shared_read(ctx, support_scratch_path("none.h5"), &none), NVDP_ERR_IO);
    cr_assert_null(none);
    nvdp_shared_free(NULL);
}

/* One sample of one token per text, of hidden length, without weights. */
static struct nvdp__embeddings_shape one_token(size_t texts, size_t dim) {
    return (struct nvdp__embeddings_shape){.texts = texts,
                                           .samples = 1,
                                           .dim = dim,
                                           .kappa = 1,
                                           .policy = NVDP_LENGTH_HIDDEN,
                                           .length = 1,
                                           .sample_rows = 1,
                                           .rows = texts};
}

/* Begins a file with the attributes for one token, if lengths are hidden, and one sample per text. */
static struct nvdp__h5 *begin_file(const char *path, const struct nvdp__embeddings_shape *shape,
                                   const int64_t *offset, const char *method) {
    const bool hidden = shape->policy == NVDP_LENGTH_HIDDEN;
    struct nvdp__h5 *file = NULL;
    ok(nvdp__embeddings_create(ctx, path, shape, offset, &file));
    nvdp__h5_set_string(file, "length_policy", hidden ? "hidden" : "public");
    if (method != NULL) nvdp__h5_set_string(file, "method", method);
    nvdp__h5_set_int(file, "kappa", 1);
    nvdp__h5_set_int(file, "releases", 1);
    if (hidden) nvdp__h5_set_int(file, "length", 1);
    return file;
}

static void end_file(struct nvdp__h5 *file) {
    ok(nvdp__h5_commit(file, true));
    nvdp__h5_free(file);
}

/* Integer steps: 16 and 32 bits in the file, the same values. */
Test(embeddings_file, reads_whole_steps) {
    static const enum nvdp__h5_type grids[] = {NVDP__H5_I16, NVDP__H5_I32};
    for (int k = 0; k < 2; k++) {
        const char *path = support_scratch_path("steps.h5");
        struct nvdp__embeddings_shape shape = one_token(2, 2);
        shape.sample_rows = 2;
        shape.rows = 4;
        shape.weights = true;
        shape.grid = grids[k];
        shape.z_exponent = -10;
        shape.log_pi_exponent = -8;
        const int32_t z[] = {0, 1, -1, 1024, 32767, -32767, k == 0 ? -32768 : 1 << 24, 5};
        const int32_t log_pi[] = {0, -256, -32767, -1};
        struct nvdp__h5 *written = begin_file(path, &shape, NULL, "nvdp");
        float values[8];
        ok(nvdp__embeddings_write(written, &shape, 0, 2, 0, 4, z, log_pi));
        end_file(written);
        const struct nvdp_shared *read = must_read(path);
        cr_assert_eq(read->shape.grid, grids[k]);
        nvdp__embeddings_values(read, 0, 8, values);
        for (int i = 0; i < 8; i++)
            cr_assert_eq(values[i], (float)z[i] / 1024);
        cr_assert_eq(read->log_pi[1], -1);
        cr_assert_eq(read->log_pi[2], -32767.0F / 256);
    }
}

/* A step that is not a power of two, and a missing one. */
Test(embeddings_file, refuses_other_steps) {
    static const double steps[] = {0.3, 0, -0.25, 1e300, INFINITY, NAN};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const char *path = support_scratch_path("step.h5");
        struct nvdp__embeddings_shape shape = one_token(1, 1);
        shape.grid = NVDP__H5_I16;
        struct nvdp__h5 *written = begin_file(path, &shape, NULL, "vib-fixed");
        nvdp__h5_set_real(written, "z_step", steps[i]);
        end_file(written);
        refused(path, "power of two");
    }
}

/* One deviation from a well-formed file. */
struct fault {
    const char *attribute, *text; /* an attribute and its value; text NULL: missing */
    struct {
        const char *name;
        enum nvdp__h5_type type;
        int rank; /* 0: missing */
        size_t shape[4];
        float first; /* first value; the others are -1 */
    } dataset;
    const char *message;
};

static void write_attribute(struct nvdp__h5 *file, const struct fault *fault, const char *name,
                            const char *value) {
    bool ours = fault->attribute != NULL && strcmp(fault->attribute, name) == 0;
    if (ours && fault->text == NULL) return;
    ok(nvdp__h5_set_string(file, name, ours ? fault->text : value));
}

static void write_number(struct nvdp__h5 *file, const struct fault *fault, const char *name,
                         int64_t value) {
    bool ours = fault->attribute != NULL && strcmp(fault->attribute, name) == 0;
    if (ours && fault->text == NULL) return;
    if (ours) value = atoll(fault->text);
    ok(nvdp__h5_set_int(file, name, value));
}

static void write_dataset(struct nvdp__h5 *file, const struct fault *fault, const char *name,
                          enum nvdp__h5_type type, int rank, const size_t *shape) {
    static float reals[64];
    static int64_t integers[64];
    bool ours = fault->dataset.name != NULL && strcmp(fault->dataset.name, name) == 0;
    if (ours && fault->dataset.rank == 0) return;
    if (ours) {
        type = fault->dataset.type;
        rank = fault->dataset.rank;
        shape = fault->dataset.shape;
    }
    for (int i = 0; i < 64; i++) {
        reals[i] = -1;
        integers[i] = 0;
    }
    if (ours) reals[0] = fault->dataset.first;
    if (ours) integers[0] = (int64_t)fault->dataset.first;
    bool whole = type == NVDP__H5_I64;
    size_t count = 1;
    for (int d = 0; d < rank; d++)
        count *= shape[d];
    if (count > 64) { /* declared, never written */
        ok(nvdp__h5_dataset(file, name, type, rank, shape));
        return;
    }
    ok(nvdp__h5_write(file, name, type, rank, shape,
                      whole ? (const void *)integers : (const void *)reals));
}

/* Two texts, one sample each of 1 + 1 rows, width 3. */
static const char *write_fault(const struct fault *fault) {
    const char *path = support_scratch_path("fault.h5");
    struct nvdp__h5 *file = NULL;
    bool other = fault->attribute != NULL && strcmp(fault->attribute, "nvdp_format") == 0;
    ok(nvdp__h5_create(ctx, path, other ? fault->text : "embeddings/1", &file));
    write_attribute(file, fault, "length_policy", "hidden");
    write_attribute(file, fault, "grid", "float16");
    write_attribute(file, fault, "method", "nvdp");
    write_number(file, fault, "kappa", 1);
    write_number(file, fault, "releases", 1);
    write_number(file, fault, "length", 1);
    write_dataset(file, fault, "z", NVDP__H5_F16, 4, (size_t[]){2, 1, 2, 3});
    write_dataset(file, fault, "log_pi", NVDP__H5_F16, 3, (size_t[]){2, 1, 2});
    write_dataset(file, fault, "label", NVDP__H5_F32, 1, (size_t[]){2});
    if (fault->dataset.name != NULL && strcmp(fault->dataset.name, "split") == 0)
        write_dataset(file, fault, "split", NVDP__H5_I64, 1, (size_t[]){2});
    end_file(file);
    return path;
}

Test(embeddings_file, names_every_fault) {
    static const struct fault faults[] = {
        {"nvdp_format", "posteriors/1", .message = "'embeddings'"},
        {"nvdp_format", "embeddings/3", .message = "embeddings/3"},
        {"length_policy", NULL, .message = "'length_policy' is missing"},
        {"length_policy", "secret", .message = "hidden or public"},
        {"grid", "float32", .message = "'grid'"},
        {"grid", NULL, .message = "'grid' is missing"},
        {"kappa", "0", .message = "'kappa': expected a number from 1 to 1000, found 0"},
        {"kappa", "2", .message = "of the attributes"},
        {"releases", "2", .message = "of the attributes"},
        {"releases", "-1", .message = "'releases'"},
        {"length", "2", .message = "of the attributes"},
        {"length", NULL, .message = "'length' is missing"},
        {.dataset = {.name = "z"}, .message = "'z' is missing"},
        {.dataset = {"z", NVDP__H5_F16, 3, {2, 2, 3}, 0}, .message = "'z'"},
        {.dataset = {"z", NVDP__H5_I64, 4, {2, 1, 2, 3}, 0}, .message = "'z'"},
        {.dataset = {"z", NVDP__H5_F16, 4, {2, 1, 2, 3}, NAN}, .message = "'z': row 0"},
        {.dataset = {"z", NVDP__H5_F32, 4, {2, 1, 2, 3}, 1e6F},
         .message = "'z': row 0: expected values of -65504 to 65504"},
        {.dataset = {"z", NVDP__H5_F16, 4, {0, 1, 2, 3}, 0}, .message = "[0, 1, 2] of 'z'"},
        {.dataset = {"z", NVDP__H5_F16, 4, {2, 1, 2, 0}, 0}, .message = "'z'"},
        {.dataset = {.name = "log_pi"}, .message = "'log_pi' is missing"},
        {.dataset = {"log_pi", NVDP__H5_F16, 3, {2, 1, 3}, 0}, .message = "'log_pi'"},
        {.dataset = {"log_pi", NVDP__H5_F16, 3, {2, 1, 2}, 0.5F}, .message = "'log_pi': row 0"},
        {.dataset = {"label", NVDP__H5_F32, 1, {3}, 0}, .message = "'label'"},
        {.dataset = {"label", NVDP__H5_F32, 1, {2}, INFINITY}, .message = "'label': row 0"},
        {.dataset = {"split", NVDP__H5_I64, 1, {2}, 9}, .message = "'split': row 0"},
        /* a terabyte in a file of some kilobytes */
        {.dataset = {"z", NVDP__H5_F16, 4, {1 << 20, 1, 2, 1 << 18}, 0},
         .message = "'z': expected datasets that decompress to at most 16 MiB, or to 32 times the"},
    };
    const struct fault none = {0};
    must_read(write_fault(&none));
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        refused(write_fault(&faults[i]), faults[i].message);
        support_contains(nvdp_context_error(ctx), "fault.h5");
    }
}

/* Without weights only z is large: only the size of the file can show it. */
Test(embeddings_file, refuses_more_than_a_file_can_hold) {
    const char *path = support_scratch_path("hollow.h5");
    struct nvdp__embeddings_shape shape = one_token(1 << 20, 1 << 16);
    shape.rows = 0;
    end_file(begin_file(path, &shape, NULL, "vib-fixed"));
    refused(
        path,
        "dataset 'z': expected datasets that decompress to at most 16 MiB, or to 32 times the ");
}

/* Constant values are compressed a thousand times: the file is refused before memory is allocated. */
Test(embeddings_file, refuses_what_unpacks_to_too_much) {
    const char *path = support_scratch_path("bomb.h5");
    const struct nvdp__embeddings_shape shape = one_token(1 << 14, 1 << 10);
    enum { STEP = 1 << 10 };
    nvdp__autofree float *z = calloc(STEP << 10, sizeof *z);
    struct nvdp__h5 *written = begin_file(path, &shape, NULL, "vib-fixed");
    for (size_t first = 0; first < shape.texts; first += STEP)
        ok(nvdp__embeddings_write(written, &shape, first, STEP, first, STEP, z, NULL));
    end_file(written);
    const size_t size = support_size(path);
    cr_assert_lt(size, 1 << 18);
    refused(path,
            support_path("dataset 'z': expected datasets that decompress to at most 16 MiB, or to "
                         "32 times the %zu bytes of the file, found 33554432 bytes for this one",
                         size));
}

struct passed {
    size_t count;
    double sum;
};

static void add_up(size_t count, const float *values, void *user) {
    struct passed *passed = user;
    for (size_t i = 0; i < count; i++)
        passed->sum += values[i] * (double)++passed->count;
}

/* Reads a file that may be larger than memory slice by slice. */
Test(embeddings_file, passes_values_without_holding_them) {
    const struct made_embeddings made = made_embeddings_default();
    const char *path = made_embeddings(ctx, "passed.h5", &made);
    const struct nvdp_shared *held = must_read(path);
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *seen = NULL;
    nvdp__auto(nvdp__release_close) struct nvdp__release file = {0};
    struct passed passed = {0}, all = {0};
    const size_t count = held->shape.rows * held->shape.dim;
    nvdp__autofree float *values = calloc(count, sizeof *values);
    nvdp__embeddings_values(held, 0, count, values);
    add_up(count, values, &all);
    ok(nvdp__release_read(ctx, nvdp__formats, path, &file));
    ok(nvdp__embeddings_take(&file, add_up, &passed, &seen));
    cr_assert_null(seen->z);
    cr_assert_eq(passed.count, count);
    cr_assert_eq(passed.sum, all.sum);
}

Test(embeddings_file, refuses_offsets_that_do_not_rise) {
    static const struct {
        int64_t offset[4];
        const char *message;
    } cases[] = {{{0, 2, 2, 5}, "increasing"},
                 {{0, 4, 3, 5}, "increasing"},
                 {{1, 2, 3, 5}, "0 to 5"},
                 {{0, 2, 3, 4}, "0 to 5"},
                 {{0, -3, 3, 5}, "increasing"}};
    struct nvdp__embeddings_shape shape = {.texts = 3,
                                           .samples = 1,
                                           .dim = 2,
                                           .kappa = 1,
                                           .policy = NVDP_LENGTH_PUBLIC,
                                           .rows = 5,
                                           .weights = true};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = support_scratch_path("ragged.h5");
        end_file(begin_file(path, &shape, cases[i].offset, NULL));
        refused(path, cases[i].message);
    }
}

Test(embeddings_file, refuses_what_is_no_such_file) {
    struct nvdp_shared *read = NULL;
    const char *path = support_scratch_path("text.h5");
    cr_assert_eq(nvdp_shared_read(ctx, path, &read), NVDP_ERR_IO);
    support_write_text(path, "not HDF5 at all");
    refused(path, "");
}

/* The fuzzing corpus has valid files; otherwise it would test only the first checks. */
Test(embeddings_file, reads_the_sound_files_of_the_corpus) {
    static const struct {
        const char *name;
        bool sound;
    } files[] = {{"hidden.h5", true},          {"two_samples.h5", true}, {"public.h5", true},
                 {"no_weights.h5", true},      {"bad_offset.h5", false}, {"nan.h5", false},
                 {"positive_weight.h5", false}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *read = NULL;
        const char *path =
            support_path("%s/tests/fuzz/corpus/embeddings/%s", NVDP_SOURCE_DIR, files[i].name);
        nvdp_status status = nvdp_shared_read(ctx, path, &read);
        cr_assert_eq(status, files[i].sound ? NVDP_OK : NVDP_ERR_INPUT, "%s: %s", files[i].name,
                     nvdp_context_error(ctx));
    }
}
