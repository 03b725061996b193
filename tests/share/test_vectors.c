/* Vectors that another program computed: the files, that a release of them is the release of the texts, ids and persons in the
 * ledger, what the file states, and refusals. */
#include "fixture.h"

#include "test_context.h"

/* --- files --- */

static const char *corpus(const char *name) {
    return support_path("%s/tests/fuzz/corpus/caller_vectors/%s", NVDP_SOURCE_DIR, name);
}

static const float values[4][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {1, -1, .5f}};

Test(vectors, all_formats) {
    static const struct {
        const char *file, *id[4], *label[4], *person[4];
    } cases[] = {
        {"half.npy", {0}, {0}, {0}},
        {"stored.npz",
         {"7", "-8", "9", "10"},
         {"good", "bad", "\xc3\xa9", ""},
         {"ann", "bob", "ann", ""}},
        {"packed.npz",
         {"a", "bb", "\xc3\xa9\xf0\x9f\x98\x80", "d"},
         {"0.5", "1", "", "-2"},
         {"1", "2", "1", "3"}},
        {"strings.h5",
         {"first", "a longer id than eight", "c", "d"},
         {"1", "0", "1", "0"},
         {"ann lee jones", "bob", "ann lee jones", ""}},
        {"x.safetensors", {"7", "-8", "9", "10"}, {"0", "3", "6", "1"}, {"1", "2", "1", "3"}}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        nvdp__auto(nvdp__caller_vectors_release) struct nvdp__caller_vectors got = {0};
        const bool columns = cases[k].id[0] != NULL;
        const struct nvdp__vector_names names = {.id = columns ? "ids" : NULL,
                                                 .label = columns ? "label" : NULL,
                                                 .person = columns ? "person" : NULL};
        ok(nvdp__caller_vectors_read(ctx, corpus(cases[k].file), &names, &got));
        cr_assert(got.count == 4 && got.width == 3 && got.zeroed == 0, "%s", cases[k].file);
        cr_expect_arr_eq(got.x, values, sizeof values, "%s", cases[k].file);
        cr_assert_eq(got.id.text != NULL, columns);
        for (size_t i = 0; i < 4 && columns; i++) {
            cr_expect_str_eq(got.id.text[i], cases[k].id[i]);
            cr_expect_str_eq(got.label.text[i], cases[k].label[i]);
            cr_expect_str_eq(got.person.text[i], cases[k].person[i]);
        }
    }
}

/* A number that is not finite, also in float32, makes its own row 0, and no other row. */
Test(vectors, numbers_that_are_not_finite) {
    static const struct {
        const char *file;
        size_t first, zeroed;
    } cases[] = {{"nan.npy", 1, 2}, {"wide.npy", 0, 1}};
    for (size_t k = 0; k < 2; k++) {
        nvdp__auto(nvdp__caller_vectors_release) struct nvdp__caller_vectors got = {0};
        ok(nvdp__caller_vectors_read(ctx, corpus(cases[k].file), &(struct nvdp__vector_names){0},
                                     &got));
        cr_expect_eq(got.zeroed, cases[k].zeroed);
        for (size_t i = 0; i < 12; i++) {
            const bool zero = i / 3 >= cases[k].first && i / 3 < cases[k].first + cases[k].zeroed;
            cr_expect_eq(got.x[i], zero ? 0 : values[i / 3][i % 3]);
        }
    }
}

/* Strings that are no text are refused as ids alone: as names of persons they remain names, so that the rows of such a person
 * stay together. -0 is 0: equal vectors have equal bytes. */
Test(vectors, names_that_are_no_text) {
    static const struct nvdp__vector_names both = {.person = "person", .label = "label"},
                                           ids[] = {{.id = "person"}, {.id = "label"}};
    static const char *const person[] = {"J\xed\xb3\xb6rg", "a\377b", "J\xed\xb3\xb6rg", "ab"},
                             *const label[] = {"a\377b", "ab", "a\377b", ""};
    nvdp__auto(nvdp__caller_vectors_release) struct nvdp__caller_vectors got = {0}, none = {0};
    ok(nvdp__caller_vectors_read(ctx, corpus("odd.npz"), &both, &got));
    for (size_t i = 0; i < 4; i++) {
        cr_expect_str_eq(got.person.text[i], person[i]);
        cr_expect_str_eq(got.label.text[i], label[i]);
    }
    cr_expect_arr_eq(got.x, values, sizeof values);
    fails(nvdp__caller_vectors_read(ctx, corpus("odd.npz"), &ids[0], &none), NVDP_ERR_INPUT,
          "row 0: expected an id, found no text, or a NUL inside");
    fails(nvdp__caller_vectors_read(ctx, corpus("odd.npz"), &ids[1], &none), NVDP_ERR_INPUT,
          "row 0: expected an id, found no text, or a NUL inside");
}

Test(vectors, refused_files) {
    static const struct {
        const char *file, *vectors, *id, *words;
    } cases[] = {
        {"int.npy", NULL, NULL,
         "expected vectors of float16, float32 or float64 [rows, width], found int32 [4, 3]"},
        {"complex.npy", NULL, NULL, "found complex64 [4, 3]"},
        {"bfloat.safetensors", NULL, NULL, "found bfloat16 [4, 3]"},
        {"flat.npy", NULL, NULL, "found float32 [3]"},
        {"fortran.npy", NULL, NULL, "found Fortran order"},
        {"two.npz", NULL, NULL, "or its name by --vectors-name, found x float32 [4, 3], y float32"},
        {"two.npz", "z", NULL, "expected the array of --vectors-name, found x float32"},
        {"two.npz", "x", "label", "expected an array 'label', found x float32"},
        {"two.npz", "x", "y", "array 'y': expected integers or strings [4], found float32 [4, 3]"},
        {"half.npy", NULL, "ids", "expected an array 'ids', found float16 [4, 3]"},
        {"objects.npz", NULL, "ids", "found Python objects [4]; convert them with a.astype(str)"},
        {"variable.h5", NULL, "ids", "found strings of variable length [4]"},
        {"short.npz", NULL, "ids", "expected integers or strings [4], found int64 [3]"},
        {"empty_id.npz", NULL, "ids", "row 3: expected an id, found an empty one"},
        {"cut.npz", NULL, NULL, "found another kind of file"},
        {"changed.npz", NULL, NULL, "another checksum"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct nvdp__caller_vectors got = {0};
        const struct nvdp__vector_names names = {.vectors = cases[k].vectors, .id = cases[k].id};
        fails(nvdp__caller_vectors_read(ctx, corpus(cases[k].file), &names, &got), NVDP_ERR_INPUT,
              cases[k].words);
        cr_expect_null(got.x);
    }
    fails(nvdp__caller_vectors_read(ctx, support_file("x.npy", "text"),
                                    &(struct nvdp__vector_names){0},
                                    &(struct nvdp__caller_vectors){0}),
          NVDP_ERR_INPUT, "in the format .npy, .npz, .h5 or .safetensors, found another kind");
}

/* --- releases --- */

enum { ROWS = 40, WIDTH = 6 };

struct place {
    struct nvdp_context *ctx;
    const char *center, *ledger;
};

/* Writes rows of numbers that a seed determines, ids from first_id, and a person per four rows. */
static const char *vectors_file(const struct place *p, const char *name, uint64_t seed, size_t rows,
                                size_t width, int64_t first_id) {
    const char *path = support_scratch_path(name);
    float *x = support_keep(calloc(rows * width, sizeof *x));
    int64_t *id = support_keep(calloc(rows, sizeof *id)),
            *person = support_keep(calloc(rows, sizeof *id));
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, 0);
    for (size_t i = 0; i < rows * width; i++)
        x[i] = (float)nvdp__stream_uniform(&stream) - .4f;
    for (size_t i = 0; i < rows; i++) {
        id[i] = first_id + (int64_t)i;
        person[i] = (int64_t)i / 4;
    }
    const struct nvdp__tensor_source tensors[] = {
        {.name = "x", .dtype = NVDP__DTYPE_F32, .rank = 2, .shape = {rows, width}, .data = x},
        {.name = "ids", .dtype = NVDP__DTYPE_I64, .rank = 1, .shape = {rows}, .data = id},
        {.name = "person", .dtype = NVDP__DTYPE_I64, .rank = 1, .shape = {rows}, .data = person}};
    ok(nvdp__safetensors_write(p->ctx, path, 3, tensors, NULL));
    return path;
}

static struct place place(void) {
    struct place p = {.ctx = support_context(), .ledger = support_scratch_path("ledger")};
    p.center = vectors_file(&p, "public.safetensors", 7, 30, WIDTH, 0);
    return p;
}

static nvdp_status release(const struct place *p, const char *kind, const char *out,
                           const char *const *options, void *result) {
    struct nvdp_config *config =
        support_config(p->ctx, kind, "center", p->center, "out", support_scratch_path(out), NULL);
    for (size_t i = 0; options[i] != NULL; i += 2)
        support_set(p->ctx, config, options[i], options[i + 1]);
    if (strcmp(kind, "export") == 0 && result != NULL) /* nothing to free */
        support_set(p->ctx, config, "measure-texts", "0");
    return strcmp(kind, "export") == 0 ? nvdp_export(p->ctx, config, result)
                                       : nvdp_summarize(p->ctx, config, result);
}
#define RELEASE(p, kind, out, result, ...)                                                         \
    release(p, kind, out, (const char *const[]){__VA_ARGS__, NULL}, result)

static struct nvdp_shared *shared(const struct place *p, const char *name) {
    struct nvdp_shared *made = NULL;
    nvdp__auto(nvdp__release_close) struct nvdp__release file = {0};
    ok(nvdp__release_read(p->ctx, nvdp__formats, support_scratch_path(name), &file));
    ok(nvdp__embeddings_take(&file, NULL, NULL, &made));
    return made;
}

static float *all_values(const struct nvdp_shared *of) {
    const size_t count = of->shape.rows * of->shape.dim;
    float *made = support_keep(calloc(count, sizeof *made));
    nvdp__embeddings_values(of, 0, count, made);
    return made;
}

/* With the noise of one seed, the vectors that nvdp encode wrote give the release that their texts give, but for the order of
 * float32 sums and the last step of the grid. */
Test(vectors, the_release_is_that_of_the_texts) {
    struct place p = place();
    const struct task task = task_make(p.ctx);
    const char *texts[2] = {support_scratch_path("public.txt"), support_scratch_path("rows.txt")},
               *encoded[2] = {support_scratch_path("public.h5"), support_scratch_path("rows.h5")};
    char *text = support_read(support_path("%s/train.tsv", task.data)), *line;
    {
        nvdp__autoptr(fclose) FILE *public = fopen(texts[0], "w"), *rows = fopen(texts[1], "w");
        strtok(text, "\n");
        for (size_t i = 0; i < ROWS && (line = strtok(NULL, "\n")) != NULL; i++) {
            line[strcspn(line, "\t")] = '\0';
            fprintf(public, "%s %s %zu\n", line, line, i);
            fprintf(rows, "%s\n", line);
        }
    }
    for (size_t k = 0; k < 2; k++)
        ok(nvdp_encode(p.ctx,
                       support_config(p.ctx, "encode", "model", task.model, "input", texts[k],
                                      "pool", "mean", "normalize", "no", "out", encoded[k], NULL),
                       NULL));
    static const struct {
        const char *kind, *option, *value, *reduce;
    } cases[] = {{"export", "clip-sequence", "4", "0"},
                 {"export", "certified-epsilon", "8", "5"},
                 {"summarize", "summary-epsilon", "8", "0"},
                 {"summarize", "summary-epsilon", "8", "5"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        p.center = texts[0];
        ok(RELEASE(&p, cases[k].kind, "texts.out.h5", NULL, "model", task.model, "input", texts[1],
                   "no-ledger", "true", "insecure-seed", "3", "duplicates", "each", cases[k].option,
                   cases[k].value, "reduce", cases[k].reduce, "overwrite", "true", "run",
                   support_path("%s/run-%zu", support_scratch(), k)));
        p.center = encoded[0];
        ok(RELEASE(&p, cases[k].kind, "vectors.out.h5", NULL, "vectors", encoded[1], "vectors-name",
                   "sentence_embedding", "no-ledger", "true", "insecure-seed", "3", "duplicates",
                   "each", cases[k].option, cases[k].value, "reduce", cases[k].reduce, "overwrite",
                   "true"));
        struct nvdp_shared *a = shared(&p, "texts.out.h5"), *b = shared(&p, "vectors.out.h5");
        cr_assert(a->shape.rows == b->shape.rows && a->shape.dim == b->shape.dim);
        const float *x = all_values(a), *y = all_values(b);
        /* synthetic rows follow from the matrix by a division that enlarges its steps */
        const bool summary = a->shape.summary;
        const size_t count = summary ? a->shape.dim * a->shape.dim : a->shape.rows * a->shape.dim;
        for (size_t i = 0; i < count; i++)
            cr_expect_float_eq(x[i], y[i], summary ? 1e-3 : 2 * a->z_step, "%s %zu", cases[k].kind,
                               i);
        cr_expect_float_eq(a->query->center[0], b->query->center[0], 1e-3);
        cr_expect(!a->query->vectors && b->query->vectors);
        nvdp_shared_free(a);
        nvdp_shared_free(b);
    }
}

/* Samples and a summary of the same ids, whose vectors have another width each, add up. */
Test(vectors, the_ledger_counts_ids) {
    struct place p = place();
    struct nvdp_export_result first = NVDP_RESULT(struct nvdp_export_result);
    struct nvdp_summary_result second = NVDP_RESULT(struct nvdp_summary_result);
    const char *narrow = vectors_file(&p, "narrow.safetensors", 1, ROWS, WIDTH, 100),
               *wide = vectors_file(&p, "wide.safetensors", 2, ROWS, 2 * WIDTH, 100),
               *other = vectors_file(&p, "other.safetensors", 1, ROWS, WIDTH, 900);
    ok(RELEASE(&p, "export", "a.h5", &first, "vectors", narrow, "ids", "ids", "clip-sequence",
               ".25", "ledger", p.ledger));
    cr_expect_eq(first.spent_samples, 1);
    support_contains(first.statement,
                     "The sender vouches that a text, and nothing else, has its id");
    ok(RELEASE(&p, "export", "b.h5", &first, "vectors", other, "ids", "ids", "clip-sequence", ".25",
               "ledger", p.ledger));
    cr_expect_eq(first.spent_samples, 1, "other ids are other texts");
    p.center = vectors_file(&p, "wide-public.safetensors", 8, 30, 2 * WIDTH, 0);
    fails(RELEASE(&p, "summarize", "c.h5", NULL, "vectors", wide, "ids", "ids", "ledger", p.ledger),
          NVDP_ERR_STATE, "budget-samples");
    ok(RELEASE(&p, "summarize", "c.h5", &second, "vectors", wide, "ids", "ids", "ledger", p.ledger,
               "budget-samples", "2"));
    cr_expect_eq(second.spent_samples, 2);
    near(second.spent_epsilon, nvdp_gdp_epsilon(sqrt(.25 + second.mu * second.mu), 1e-5), 1e-6);
    fails(RELEASE(&p, "summarize", "d.h5", NULL, "vectors", wide, "ledger", p.ledger),
          NVDP_ERR_ARGUMENT, "ledger");
    const struct nvdp_verification found =
        share_counted(p.ctx, support_scratch_path("c.h5"), p.ledger, NULL);
    all_hold(&found);
}

/* Rows of one id: k mu in a summary, sqrt(k) mu in samples. Rows of a person the same; without ids, equal vectors are one text. */
Test(vectors, equal_rows_and_persons) {
    struct place p = place();
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    struct nvdp_summary_result summary = NVDP_RESULT(struct nvdp_summary_result);
    const char *path = vectors_file(&p, "rows.safetensors", 1, ROWS, WIDTH, 0);
    ok(RELEASE(&p, "export", "a.h5", &result, "vectors", path, "ids", "person", "clip-sequence",
               ".25", "ledger", p.ledger));
    cr_expect_eq(result.spent_samples, 4);
    near(result.spent_epsilon, nvdp_gdp_epsilon(2 * .5, 1e-5), 1e-6);
    ok(RELEASE(&p, "summarize", "b.h5", &summary, "vectors", path, "ids", "person", "ledger",
               support_scratch_path("second")));
    near(summary.spent_epsilon, nvdp_gdp_epsilon(4 * summary.mu, 1e-5), 1e-6);
    fails(RELEASE(&p, "export", "c.h5", NULL, "vectors", path, "ids", "person", "certified-epsilon",
                  "2", "ledger", support_scratch_path("third")),
          NVDP_ERR_STATE, "stand 4 times");
    ok(RELEASE(&p, "export", "d.h5", &result, "vectors", path, "ids", "ids", "person", "person",
               "clip-sequence", ".25", "ledger", support_scratch_path("fourth")));
    cr_expect_eq(result.spent_samples, 1);
    near(result.person.epsilon, nvdp_gdp_epsilon(2 * .5, 1e-5), 1e-6);
    ok(RELEASE(&p, "export", "e.h5", &result, "vectors", corpus("nan.npy"), "center",
               corpus("stored.npz"), "public-independent", "true", "clip-sequence", ".25", "ledger",
               support_scratch_path("fifth")));
    cr_expect_eq(result.spent_samples, 2, "the two rows of 0 are one text");
    support_contains(result.statement, "The sender gave no ids: equal vectors count as one text");
}

/* A row of the file changes no other row of the release. */
Test(vectors, a_row_does_not_depend_on_the_others) {
    struct place p = place();
    float *values_of[2];
    const char *name[2] = {"first.h5", "second.h5"},
               *files[2] = {vectors_file(&p, "one.safetensors", 1, ROWS, WIDTH, 0),
                            support_scratch_path("two.safetensors")};
    char *bytes = support_read(files[0]);
    const size_t size = support_size(files[0]);
    const float other[2] = {NAN, 1e30f};
    char *x = memmem(bytes, size, "}}", 2);
    cr_assert_not_null(x);
    uint64_t header;
    memcpy(&header, bytes, sizeof header);
    x = bytes + 8 + header; /* x is the first tensor, or not: the last row of x changes below */
    size_t start, end;
    cr_assert_eq(
        sscanf(strstr(strstr(bytes + 8, "\"x\""), "data_offsets") + 14, "[%zu,%zu]", &start, &end),
        2);
    memcpy(x + end - WIDTH * sizeof(float), other, sizeof other);
    support_write(files[1], bytes, size);
    for (size_t k = 0; k < 2; k++) {
        ok(RELEASE(&p, "export", name[k], NULL, "vectors", files[k], "clip-sequence", "4",
                   "no-ledger", "true", "insecure-seed", "5"));
        struct nvdp_shared *of = shared(&p, name[k]);
        values_of[k] = all_values(of);
        nvdp_shared_free(of);
    }
    cr_expect_arr_eq(values_of[0], values_of[1], (ROWS - 1) * WIDTH * sizeof(float));
    cr_expect_arr_neq(values_of[0] + (ROWS - 1) * WIDTH, values_of[1] + (ROWS - 1) * WIDTH,
                      WIDTH * sizeof(float));
}

/* Every format of release states that the encoder is the caller's, and verify finds a file that claims something else. */
Test(vectors, the_file_states_who_vouches) {
    struct place p = place();
    const char *path = vectors_file(&p, "rows.safetensors", 1, ROWS, WIDTH, 0);
    static const char *const names[] = {"a.h5", "b.parquet", "c.safetensors"};
    for (size_t k = 0; k < 6; k++) {
        const char *out = support_path("%zu%s", k / 3, names[k % 3]);
        if (k < 3)
            ok(RELEASE(&p, "export", out, NULL, "vectors", path, "ids", "ids", "no-ledger", "true",
                       "certified-epsilon", "4", "reduce", "3"));
        else
            ok(RELEASE(&p, "summarize", out, NULL, "vectors", path, "ids", "ids", "no-ledger",
                       "true", "reduce", "3"));
        const struct nvdp_verification found =
            share_verified(p.ctx, support_scratch_path(out), NULL);
        all_hold(&found);
        cr_expect(found.certified);
        support_contains(
            found.statement, "the encoder is not known here",
            "vectors of an encoder that looks at other texts of the batch are not covered",
            "None of the public vectors is among the vectors of this file.",
            "numbers computed from vectors that the sender named as public (mean and "
            "map)");
        support_lacks(found.statement, "It was not trained for this file", "public text");
        nvdp__auto(nvdp__release_close) struct nvdp__release file = {0};
        ok(nvdp__release_read(p.ctx, nvdp__formats, support_scratch_path(out), &file));
        cr_expect_str_eq(nvdp__attributes_text(&file.attributes, "vectors"), "caller-with-ids");
        cr_expect_null(nvdp__attributes_get(&file.attributes, "encoder"));
    }
    struct nvdp_shared *of = NULL;
    struct nvdp_search *search = NULL;
    struct nvdp_hit hit[2];
    const char *query = "a text";
    ok(nvdp_shared_read(p.ctx, support_scratch_path("0a.h5"), &of));
    fails(nvdp_search_open(p.ctx, of, "model", &search), NVDP_ERR_ARGUMENT,
          "vectors of another program");
    ok(nvdp_search_open(p.ctx, of, NULL, &search));
    fails(nvdp_search_texts(p.ctx, search, NULL, 1, &query, 2, hit), NVDP_ERR_ARGUMENT,
          "vectors of another program");
    nvdp_search_free(search);
    nvdp_shared_free(of);
}

/* A vector finds itself where there is hardly any noise, whatever its length. */
Test(vectors, search_by_vectors) {
    struct place p = place();
    const char *path = vectors_file(&p, "rows.safetensors", 1, ROWS, WIDTH, 0);
    nvdp__auto(nvdp__caller_vectors_release) struct nvdp__caller_vectors rows = {0};
    struct nvdp_shared *of = NULL;
    struct nvdp_search *search = NULL;
    struct nvdp_hit hit[3];
    ok(nvdp__caller_vectors_read(p.ctx, path, &(struct nvdp__vector_names){0}, &rows));
    ok(RELEASE(&p, "export", "a.h5", NULL, "vectors", path, "clip-sequence", "1000", "no-ledger",
               "true"));
    ok(nvdp_shared_read(p.ctx, support_scratch_path("a.h5"), &of));
    ok(nvdp_search_open(p.ctx, of, NULL, &search));
    for (size_t i = 0; i < WIDTH; i++)
        rows.x[3 * WIDTH + i] *= 7;
    for (size_t k = 0; k < 2; k++) { /* the queries are the caller's: they remain as they are */
        ok(nvdp_search_vectors(p.ctx, search, 3, WIDTH, rows.x + 2 * WIDTH, 1, hit));
        for (size_t q = 0; q < 3; q++) {
            cr_expect_eq(hit[q].text, q + 2);
            cr_expect_float_eq(hit[q].estimate, 1, .01);
        }
    }
    fails(nvdp_search_vectors(p.ctx, search, 1, WIDTH + 1, rows.x, 1, hit), NVDP_ERR_ARGUMENT,
          "expected query vectors of 6 numbers, the width of the file's encoder, found 7");
    memset(rows.x + WIDTH, 0, WIDTH * sizeof *rows.x);
    fails(nvdp_search_vectors(p.ctx, search, 2, WIDTH, rows.x, 1, hit), NVDP_ERR_ARGUMENT,
          "query vector 1: expected finite numbers");
    fails(nvdp_search_vectors(p.ctx, search, 0, WIDTH, rows.x, 1, hit), NVDP_ERR_ARGUMENT,
          "at least one query");
    nvdp_search_free(search);
    nvdp_shared_free(of);
}

/* Labels stand in the file as they are: numbers of the named classes, or scores; and the file says what a reader can do with them. */
Test(vectors, labels_beside_samples) {
    struct place p = place();
    static const struct {
        const char *file, *classes, *names;
        float label[4];
    } cases[] = {
        {"stored.npz", "\xc3\xa9,good,bad", "[\"\\u00E9\",\"good\",\"bad\"]", {1, 2, 0, NAN}},
        {"packed.npz", NULL, "[]", {.5f, 1, NAN, -2}}};
    for (size_t k = 0; k < 2; k++) {
        struct nvdp_config *config =
            support_config(p.ctx, "export", "vectors", corpus(cases[k].file), "out",
                           support_path("%s/labels-%zu.h5", support_scratch(), k), "with-labels",
                           "true", "certified-epsilon", "4", "no-ledger", "true", NULL);
        support_set(p.ctx, config, "center", vectors_file(&p, "three.safetensors", 3, 30, 3, 0));
        if (cases[k].classes != NULL) support_set(p.ctx, config, "classes", cases[k].classes);
        ok(nvdp_export(p.ctx, config, NULL));
        struct nvdp_shared *of = shared(&p, support_path("labels-%zu.h5", k));
        for (size_t i = 0; i < 4; i++)
            cr_expect(isnan(cases[k].label[i]) ? isnan(of->label[i])
                                               : of->label[i] == cases[k].label[i],
                      "%zu %zu: %g", k, i, (double)of->label[i]);
        cr_expect_str_eq(of->label_names, cases[k].names);
        nvdp_shared_free(of);
        const struct nvdp_verification found =
            share_verified(p.ctx, support_path("%s/labels-%zu.h5", support_scratch(), k), NULL);
        all_hold(&found);
        support_contains(found.statement, "and their exact labels",
                         "A reader of this file has the labels without the samples");
    }
}

/* A center of the private vectors is found whatever their scale and rounding, because the program scales them, too. */
Test(vectors, rounded_or_scaled_center) {
    static const struct {
        double scale, relative;
        bool found;
    } cases[] = {{1, 0, true}, {3e-20, 0, true}, {7, 0x1p-11, true}, {1, 0x1p-6, false}};
    struct place p = place();
    const char *path = vectors_file(&p, "rows.safetensors", 1, ROWS, WIDTH, 0),
               *center = support_scratch_path("near.safetensors");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        nvdp__auto(nvdp__caller_vectors_release) struct nvdp__caller_vectors of = {0};
        ok(nvdp__caller_vectors_read(p.ctx, path, &(struct nvdp__vector_names){0}, &of));
        for (size_t i = 0; i < ROWS * WIDTH; i++)
            of.x[i] *= (float)(cases[k].scale * (1 + (i % 2 ? 1 : -1) * cases[k].relative));
        const struct nvdp__tensor_source tensor = {
            .name = "x", .dtype = NVDP__DTYPE_F32, .rank = 2, .shape = {ROWS, WIDTH}, .data = of.x};
        ok(nvdp__safetensors_write(p.ctx, center, 1, &tensor, NULL));
        const nvdp_status status =
            nvdp_export(p.ctx,
                        support_config(p.ctx, "export", "center", center, "out",
                                       support_scratch_path("near.h5"), "vectors", path,
                                       "clip-sequence", "1", NULL),
                        NULL);
        if (cases[k].found)
            fails(status, NVDP_ERR_ARGUMENT, "found 40 of the 40 vectors to share among them");
        else
            ok(status);
    }
}

Test(vectors, refuses) {
    struct place p = place();
    const char *path = vectors_file(&p, "rows.safetensors", 1, ROWS, WIDTH, 0),
               *wide = vectors_file(&p, "wide.safetensors", 1, ROWS, WIDTH + 1, 0);
    const struct {
        const char *option[6], *words;
        nvdp_status status;
    } cases[] = {
        {{"center", path}, "found the file of --vectors", NVDP_ERR_ARGUMENT},
        {{"center", wide},
         "expected vectors of 6 numbers, as in --vectors, found 7",
         NVDP_ERR_INPUT},
        {{"center", corpus("nan.npy"), "vectors", corpus("half.npy")},
         "row 1: expected finite numbers",
         NVDP_ERR_INPUT},
        {{"center", corpus("half.npy"), "vectors", corpus("x.safetensors")},
         "found 4 of the 4 vectors to share among them",
         NVDP_ERR_ARGUMENT},
        {{"model", "minilm"}, "--model: ", NVDP_ERR_ARGUMENT},
        {{"input", path}, "--input: ", NVDP_ERR_ARGUMENT},
        {{"run", "run"}, "--run: ", NVDP_ERR_ARGUMENT},
        {{"limit", "3"}, "--limit: ", NVDP_ERR_ARGUMENT},
        {{"reduce", "40", "center", wide, "vectors", wide}, "found the file of", NVDP_ERR_ARGUMENT},
        {{"reduce", "7"}, "expected at most 6, the width of the embeddings", NVDP_ERR_ARGUMENT},
        {{"out", path, "overwrite", "true"}, "rows.safetensors", NVDP_ERR_ARGUMENT},
        {{"ids", "x"}, "array 'x': expected integers or strings", NVDP_ERR_INPUT}};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct nvdp_config *config =
                support_config(p.ctx, k == 0 ? "export" : "summarize", "center", p.center, "out",
                               support_scratch_path("refused.h5"), "vectors", path, NULL);
            if (k == 0) support_set(p.ctx, config, "clip-sequence", "1");
            for (size_t j = 0; j < 6 && cases[i].option[j] != NULL; j += 2)
                support_set(p.ctx, config, cases[i].option[j], cases[i].option[j + 1]);
            fails(k == 0 ? nvdp_export(p.ctx, config, NULL) : nvdp_summarize(p.ctx, config, NULL),
                  cases[i].status, cases[i].words);
            cr_expect_not(nvdp__exists(support_scratch_path("refused.h5")));
        }
    fails(RELEASE(&p, "export", "a.h5", NULL, "vectors", path), NVDP_ERR_ARGUMENT,
          "--vectors needs exactly one of --clip-sequence and --certified-epsilon");
    fails(RELEASE(&p, "export", "a.h5", NULL, "vectors", path, "clip-sequence", "1", "with-labels",
                  "true"),
          NVDP_ERR_INPUT, "expected an array 'label'");
    fails(RELEASE(&p, "export", "a.h5", NULL, "vectors", path, "clip-sequence", "1", "classes",
                  "a,b"),
          NVDP_ERR_ARGUMENT, "--classes need --vectors and --with-labels");
    fails(RELEASE(&p, "export", "a.h5", NULL, "vectors", path, "clip-sequence", "1", "with-labels",
                  "true", "label-column", "ids", "classes", "0,1,2"),
          NVDP_ERR_INPUT, "array 'ids', row 3: expected one of --classes, found '3'");
    fails(RELEASE(&p, "export", "a.h5", NULL, "vectors", path, "clip-sequence", "1", "with-labels",
                  "true", "label-column", "ids", "unit", "person", "person", "person"),
          NVDP_ERR_ARGUMENT, "--unit person excludes --with-labels");
    fails(RELEASE(&p, "summarize", "a.h5", NULL, "ids", "ids", "model", "m", "input", "i"),
          NVDP_ERR_ARGUMENT, "--ids, --vectors-name and --vectors-source need --vectors");
    fails(RELEASE(&p, "summarize", "a.h5", NULL, "model", "m"), NVDP_ERR_ARGUMENT,
          "--model and --input, or --task, are needed, or --vectors");
}
