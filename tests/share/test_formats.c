/* Tests exports as safetensors and Parquet, and dataset cards: they have the values and words of the HDF5 form. */
#include "fixture.h"

enum { KINDS = 3 };
static const struct run_choice choices[KINDS] = {
    {NVDP_METHOD_NVDP, NVDP_LENGTH_HIDDEN, .kappa = 2, .latent_dim = 4, .epochs = 1},
    {NVDP_METHOD_NVDP, NVDP_LENGTH_PUBLIC, .kappa = 1, .latent_dim = 4, .epochs = 1},
    {.method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 1, .epochs = 1},
};
static const char *const names[KINDS] = {"hidden", "public", "clipped"};
static const char *const endings[] = {".h5", ".safetensors", ".parquet"};

struct bench {
    struct nvdp_context *ctx;
    struct nvdp_config *config;
};

/* Sets options: names and values, then NULL. */
static __attribute__((sentinel)) void set(const struct bench *bench, ...) {
    va_list options;
    va_start(options, bench);
    support_set_list(bench->ctx, bench->config, options);
    va_end(options);
}

/* Returns the path NAME.ENDING in the scratch folder. */
static const char *file_of(size_t kind, const char *ending) {
    return support_scratch_path(support_path("%s%s", names[kind], ending));
}

/* Opens a run. Its exports have the same noise in all formats, and the same words. */
static struct bench bench_open(size_t kind) {
    struct nvdp_context *ctx = support_context();
    const char *run = task_run(ctx, "run", &choices[kind], NULL);
    return (struct bench){ctx, support_config(ctx, "export", "run", run, "split", "dev,test",
                                              "samples", kind == 1 ? "3" : "2", "measure-texts",
                                              "0", "insecure-seed", "7", "no-ledger", "true",
                                              "with-labels", kind == 2 ? "true" : NULL, NULL)};
}

static const char *export_as(const struct bench *bench, size_t kind, const char *ending) {
    const char *path = file_of(kind, ending);
    set(bench, "out", path, NULL);
    ok(nvdp_export(bench->ctx, bench->config, NULL));
    return path;
}

/* Runs the Python check.  Skips the test if its Python lacks the modules. */
static void check(const char *what) {
    const char *python = getenv("NVDP_PYTHON");
    if (python == NULL) python = "/usr/bin/python3";
    const char *command =
        support_path("'%s' " NVDP_SOURCE_DIR "/tests/share/check_formats.py '%s' %s >&2", python,
                     support_scratch(), what);
    int status = system(command); /* NOLINT(cert-env33-c): a test's own command */
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127))
        cr_skip_test("needs NVDP_PYTHON=, a Python with h5py and %s",
                     strcmp(what, "parquet") == 0 ? "pyarrow" : what);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %d", command, status);
}

static const struct nvdp__tensor_info *tensor(const struct nvdp__safetensors *file,
                                              const char *name, enum nvdp__dtype dtype,
                                              size_t count) {
    const struct nvdp__tensor_info *found = nvdp__safetensors_find(file, name);
    cr_assert_not_null(found, "%s", name);
    cr_assert_eq(found->dtype, dtype, "%s", name);
    cr_assert_eq(found->count, count, "%s", name);
    return found;
}

static void same_values(struct nvdp_context *ctx, const char *h5, const char *path) {
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *held = NULL;
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    ok(nvdp_shared_read(ctx, h5, &held));
    ok(nvdp__safetensors_open(ctx, path, &file));
    const struct nvdp__embeddings_shape *shape = &held->shape;
    const size_t values = shape->rows * shape->dim, samples = shape->texts * shape->samples;
    const enum nvdp__dtype dtype = shape->grid == NVDP__H5_I16 ? NVDP__DTYPE_I16 : NVDP__DTYPE_I32;
    const struct nvdp__tensor_info *z = tensor(file, "z", dtype, values);
    cr_assert_eq(z->rank, 2);
    cr_assert_eq(z->shape[1], shape->dim);
    cr_assert_arr_eq(z->data, held->z, values * nvdp__dtype_size(dtype));
    const struct nvdp__tensor_info *offset = tensor(file, "offset", NVDP__DTYPE_I64, samples + 1);
    cr_assert_arr_eq(offset->data, held->offset, offset->count * sizeof(int64_t));
    cr_assert_eq(nvdp__safetensors_find(file, "log_pi") != NULL, shape->weights);
    if (shape->weights) {
        const struct nvdp__tensor_info *log_pi =
            tensor(file, "log_pi", NVDP__DTYPE_I16, shape->rows);
        nvdp__autofree float *steps = nvdp__calloc(NULL, shape->rows, sizeof *steps);
        nvdp__safetensors_read_f32(log_pi, steps);
        for (size_t r = 0; r < shape->rows; r++)
            cr_assert_eq(ldexpf(steps[r], shape->log_pi_exponent), held->log_pi[r]);
    }
    const struct nvdp__tensor_info *id = tensor(file, "id", NVDP__DTYPE_I64, shape->texts);
    cr_assert_arr_eq(id->data, held->id, shape->texts * sizeof *held->id);
    cr_assert_eq(nvdp__safetensors_find(file, "label") != NULL, held->label != NULL);
    cr_assert_str_eq(nvdp__safetensors_metadata(file, "nvdp_format"), "embeddings/2");
    support_contains(nvdp__safetensors_metadata(file, "statement"), "random samples of each of");
}

static void described(struct nvdp_context *ctx, const char *path, const char *words) {
    nvdp__autofree char *text = NULL;
    ok(nvdp_describe(ctx, path, NVDP_DESCRIPTION_JSON, &text));
    support_contains(text, words);
}

/* Checks that the file is complete and has the statement.  Python checks row groups and levels. */
static void is_parquet(const char *h5, const char *path, struct nvdp_context *ctx) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    nvdp__autofree char *statement = NULL;
    const char *bytes = support_read(path);
    const size_t size = support_size(path);
    uint32_t footer;
    ok(nvdp__h5_open(ctx, h5, "embeddings", 2, &file));
    ok(nvdp__h5_get_string(file, "statement", &statement));
    cr_assert_eq(memcmp(bytes, "PAR1", 4), 0);
    cr_assert_eq(memcmp(bytes + size - 4, "PAR1", 4), 0);
    memcpy(&footer, bytes + size - 8, sizeof footer);
    cr_assert_lt(footer, size);
    cr_assert_not_null(memmem(bytes + size - 8 - footer, footer, statement, strlen(statement)));
}

Test(formats, hold_the_same) {
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct bench bench = bench_open(kind);
        const char *h5 = export_as(&bench, kind, ".h5");
        const char *path = export_as(&bench, kind, ".safetensors");
        same_values(bench.ctx, h5, path);
        described(bench.ctx, path, "random samples of each of");
        path = export_as(&bench, kind, ".parquet");
        is_parquet(h5, path, bench.ctx);
        described(bench.ctx, path, "\"container\": \"Parquet\"");
        described(bench.ctx, path, "\"statement\": \"");
    }
    check("safetensors");
    check("parquet");
}

static void same_array(const void *a, const void *b, size_t bytes) {
    cr_assert_eq(a != NULL, b != NULL);
    cr_assert(a == NULL || memcmp(a, b, bytes) == 0);
}

/* Readers of shared files read all formats, with the same result. */
Test(formats, read_back_as_one) {
    for (size_t kind = 0; kind < KINDS + 1; kind++) {
        struct bench bench = bench_open(kind % KINDS);
        struct nvdp_shared *held[3];
        if (kind == KINDS) set(&bench, "grid", "float16", NULL); /* the first kind in float16 */
        set(&bench, "overwrite", "true", NULL);
        for (size_t i = 0; i < 3; i++) {
            const char *path = export_as(&bench, kind % KINDS, endings[i]);
            ok(nvdp_shared_read(bench.ctx, path, &held[i]));
            support_keep(held[i]);
        }
        const struct nvdp__embeddings_shape *shape = &held[0]->shape;
        const size_t item = shape->grid == NVDP__H5_I32 ? 4 : 2;
        for (size_t i = 1; i < 3; i++) {
            cr_assert_eq(memcmp(shape, &held[i]->shape, sizeof *shape), 0);
            same_array(held[0]->z, held[i]->z, shape->rows * shape->dim * item);
            same_array(held[0]->log_pi, held[i]->log_pi, shape->rows * sizeof(float));
            same_array(held[0]->offset, held[i]->offset,
                       (shape->texts * shape->samples + 1) * sizeof(int64_t));
            same_array(held[0]->id, held[i]->id, shape->texts * sizeof(int64_t));
            same_array(held[0]->split, held[i]->split, shape->texts * sizeof(int32_t));
            same_array(held[0]->label, held[i]->label, shape->texts * sizeof(float));
        }
    }
}

static bool known(const struct bench *bench, const char *path, const char *key) {
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    nvdp_status status = nvdp_verify(bench->ctx, path, key, &found);
    cr_assert(status == NVDP_OK || status == NVDP_ERR_INPUT, "%s", nvdp_context_error(bench->ctx));
    return status == NVDP_OK && found.is_known && found.holds;
}

/* A signature covers every byte: none can be changed. */
Test(formats, signatures_see_every_byte) {
    const size_t changes = support_repeats("NVDP_MUTATIONS", 12);
    unsigned seed = support_seed("NVDP_MUTATIONS");
    for (size_t n = 0; n < KINDS + 1; n++) {
        const size_t kind = n % KINDS; /* the last is the first kind in float16 */
        struct bench bench = bench_open(kind);
        const char *key = support_scratch_path(support_path("key%zu", n));
        const char *open = support_path("%s.pub", key);
        ok(nvdp_key_create(bench.ctx, key));
        set(&bench, "grid", n < KINDS ? "fixed" : "float16", "overwrite", "true", "sign", key,
            "insecure-seed", NULL, NULL);
        for (size_t i = 0; i < 3; i++) {
            const char *path = export_as(&bench, kind, endings[i]);
            cr_assert(known(&bench, path, open), "%s", path);
            char *bytes = support_read(path);
            const size_t count = support_size(path);
            /* eight times as many of one kind, half of them among the words */
            for (size_t k = 0; k < changes * (n == 2 ? 8 : 1); k++) {
                const size_t part = k % 2 == 0 || count < 8192 ? count : 8192;
                const size_t in = (size_t)rand_r(&seed) % part;
                const size_t at = i == 2 && part < count ? count - part + in : in;
                const char was = bytes[at];
                bytes[at] = (char)(was ^ 1 << rand_r(&seed) % 8);
                support_write(path, bytes, count);
                cr_expect_not(known(&bench, path, open), "%s: byte %zu of %zu: %.20s", path, at,
                              count, bytes + (at < 10 ? 0 : at - 10));
                bytes[at] = was;
            }
            support_write(path, bytes, count + 1); /* with the NUL behind the bytes */
            cr_expect_not(known(&bench, path, open));
            support_write(path, bytes, count - 1);
            cr_expect_not(known(&bench, path, open));
        }
    }
}

/* float32 cannot represent 2^24 + 1 steps, so the signed values could not be read back. */
Test(formats, signatures_need_every_step) {
    struct nvdp_context *ctx = support_context();
    const char *const endings_of[] = {".parquet", ".safetensors"};
    const int32_t z = (1 << 24) + 1, even = 1 << 24;
    int64_t offset[] = {0, 1};
    for (size_t i = 0; i < 3; i++) {
        const char *path = support_path("steps%zu%s", i, endings_of[i % 2]);
        nvdp__auto(nvdp__release_close) struct nvdp__release release = {
            .ctx = ctx,
            .shape = {.texts = 1,
                      .samples = 1,
                      .dim = 1,
                      .kappa = 1,
                      .policy = NVDP_LENGTH_PUBLIC,
                      .rows = 1,
                      .grid = NVDP__H5_I32,
                      .z_exponent = -12},
            .attributes.ctx = ctx};
        struct nvdp__sign_key key = {0};
        release.offset = memcpy(calloc(2, sizeof *offset), offset, sizeof offset);
        const char *secret = support_path("%s%zu", support_scratch_path("steps"), i);
        ok(nvdp_key_create(ctx, secret));
        ok(nvdp__sign_key_read(ctx, secret, &key));
        ok(nvdp__sign_prepare(&key, &release.attributes));
        nvdp__attributes_set_whole(&release.attributes, "texts", 1);
        nvdp__attributes_set_whole(&release.attributes, "releases", 1);
        const char *name = support_scratch_path(path);
        ok(nvdp__release_create(&release, nvdp__format_by_ending(nvdp__formats, path), name));
        ok(release.format->append(&release, 0, 1, i < 2 ? &z : &even, NULL));
        ok(nvdp__release_finish(&release));
        cr_assert_eq(nvdp__sign(&key, &release), i == 0 ? NVDP_ERR_NUMERIC : NVDP_OK, "%zu: %s", i,
                     nvdp_context_error(ctx));
        if (i == 0) support_contains(nvdp_context_error(ctx), "cannot sign this file");
        nvdp__sign_key_wipe(&key);
    }
}

Test(formats, of_other_programs_are_refused) {
    struct nvdp_context *ctx = support_context();
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    /* a footer without columns: version 1, no rows, "parquet-cpp" as the writer */
    static const char parquet[] = "PAR1\x15\x02\x26\x00\x38\x0b"
                                  "parquet-cpp\x00\x12\0\0\0PAR1";
    const char *path = support_scratch_path("other.parquet");
    support_write(path, parquet, sizeof parquet - 1);
    fails(nvdp_verify(ctx, path, NULL, &found), NVDP_ERR_INPUT, "found one by 'parquet-cpp");
    described(ctx, path, "\"kind\": \"Parquet\"");
    static const float one = 1;
    const struct nvdp__tensor_source tensor = {
        .name = "z", .dtype = NVDP__DTYPE_F32, .rank = 2, .shape = {1, 1}, .data = &one};
    path = support_scratch_path("other.safetensors");
    ok(nvdp__safetensors_write(ctx, path, 1, &tensor, NULL));
    fails(nvdp_verify(ctx, path, NULL, &found), NVDP_ERR_INPUT,
          "embeddings/2, as nvdp export writes");
}

/* Limits the number of attributes, because reading takes quadratic time in it. */
Test(formats, have_few_attributes) {
    enum { MANY = 5000 };
    struct nvdp_context *ctx = support_context();
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    static const float one = 1;
    const struct nvdp__tensor_source tensor = {
        .name = "z", .dtype = NVDP__DTYPE_F32, .rank = 2, .shape = {1, 1}, .data = &one};
    static char name[MANY][8];
    static const char *words[2 * MANY + 1];
    for (size_t i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "a%zu", i);
        words[2 * i] = words[2 * i + 1] = name[i];
    }
    const char *path = support_scratch_path("many.safetensors");
    ok(nvdp__safetensors_write(ctx, path, 1, &tensor, words));
    fails(nvdp_verify(ctx, path, NULL, &found), NVDP_ERR_INPUT,
          "many.safetensors: expected at most 4096 attributes");
}

Test(formats, are_refused_where_they_cannot_hold_something) {
    struct bench bench = bench_open(2);
    support_write_text(support_scratch_path("signed.parquet"), "precious");
    set(&bench, "out", support_scratch_path("signed.parquet"), NULL);
    fails(nvdp_export(bench.ctx, bench.config, NULL), NVDP_ERR_ARGUMENT, "the file exists");
    set(&bench, "out", support_scratch_path("other.parquet"), "card",
        support_scratch_path("signed.parquet"), NULL);
    fails(nvdp_export(bench.ctx, bench.config, NULL), NVDP_ERR_ARGUMENT, "the file exists");
    cr_assert_not(nvdp__exists(support_scratch_path("other.parquet")));
}

Test(formats, cards_say_what_a_file_is) {
    static const struct {
        const char *ending, *load;
    } of[] = {{".h5", "h5py.File(\"clipped.h5\")"},
              {".safetensors", "safe_open(\"clipped.safetensors\", \"np\")"},
              {".parquet", "  data_files: \"clipped.parquet\"\n---"}};
    struct bench bench = bench_open(2);
    const char *path = support_scratch_path("README.md");
    set(&bench, "card", path, "overwrite", "true", NULL);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        export_as(&bench, 2, of[i].ending);
        char *text = support_read(path);
        cr_assert_eq(strncmp(text, "---\npretty_name: Noisy embeddings of 46 texts\n", 46), 0);
        support_contains(text, "- n<1K\n",
                         "2 random samples of each of 46 texts, drawn by mechanism vtdp",
                         of[i].load);
        support_lacks(text, "differential-privacy"); /* noise from a seed proves nothing */
    }
    set(&bench, "insecure-seed", NULL, NULL);
    export_as(&bench, 2, ".h5");
    support_contains(support_read(path), "- text-embeddings\n- differential-privacy\n- nvdp\n");
}

/* Names that would end the code, string, line or paragraph around them. */
Test(formats, cards_escape_names) {
    static const struct {
        const char *ending, *load;
    } of[] = {{".h5", "h5py.File(\"a`b\\\"c\\x0a# d.h5\")"},
              {".safetensors", "safe_open(\"a`b\\\"c\\x0a# d.safetensors\", \"np\")"},
              {".parquet", "  data_files: \"a`b\\\"c\\x0a# d.parquet\"\n---"}};
    struct bench bench = bench_open(2);
    const char *card = support_scratch_path("README.md");
    set(&bench, "card", card, "overwrite", "true", NULL);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        set(&bench, "out", support_scratch_path(support_path("a`b\"c\n# d%s", of[i].ending)), NULL);
        ok(nvdp_export(bench.ctx, bench.config, NULL));
        char *text = support_read(card);
        support_contains(
            text, of[i].load, support_path("\n``a`b\"c # d%s`` holds", of[i].ending),
            support_path("\n``nvdp verify $'a`b\"c\\x0a# d%s'`` recomputes", of[i].ending));
        support_lacks(text, "\n# d");
    }
}

/* Attribute words that need escapes, as an older model's task has them. */
Test(formats, cards_escape_words) {
    struct nvdp_context *ctx = support_context();
    struct made_embeddings made = made_embeddings_default();
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *held = NULL;
    nvdp__auto(nvdp__release_close) struct nvdp__release file = {0};
    struct nvdp__output output;
    made.task = "a`\n## <b>";
    const char *path = made_embeddings(ctx, "made.h5", &made);
    ok(nvdp__release_read(ctx, nvdp__formats, path, &file));
    ok(nvdp__embeddings_take(&file, NULL, NULL, &held));
    path = support_scratch_path("card.md");
    const struct nvdp__release_facts facts = {.guarantee = "No guarantee."};
    ok(nvdp__card_write(&file, "made.h5", path, &facts, &output));
    ok(nvdp__output_commit(&output, true));
    char *text = support_read(path);
    support_contains(text, "\n\n**No guarantee.**\n\n",
                     " texts of task a\\` \\#\\# &lt;b&gt;, vectors of");
}

Test(formats, survive_failing_allocations) {
    struct bench bench = bench_open(0);
    set(&bench, "split", "test", NULL);
    for (size_t i = 1; i < 3; i++) {
        set(&bench, "out", file_of(0, endings[i]), NULL);
        for (uint64_t k = 200;; k += 1 + k / 12) {
            nvdp__fail_allocation(bench.ctx, k);
            nvdp_status status = nvdp_export(bench.ctx, bench.config, NULL);
            nvdp__fail_allocation(bench.ctx, 0);
            if (status == NVDP_OK) break;
            cr_assert_eq(status, NVDP_ERR_MEMORY, "%s", nvdp_context_error(bench.ctx));
            cr_assert_not(nvdp__exists(file_of(0, endings[i])));
        }
    }
}
