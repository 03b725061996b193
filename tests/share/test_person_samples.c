/* One sample per person: its mean, what the file states, the ledger, refusals, and changes that nvdp verify finds. */
#include "fixture.h"

enum { ROWS = 40, WIDTH = 16, PERSONS = 4 + 2 * ROWS / 8 };

/* The names of the rows, and their persons in the order of the first rows: "" and blanks name nobody. */
static const char *const names[8] = {"ann", "bo", "Ann", " ann", "bo ", "", "cy", "  "};

struct place {
    struct nvdp_context *ctx;
    char model[600], center[512], input[512], run[512];
    char text[ROWS][16];
};

static void write_rows(const struct place *p, const size_t *order) {
    nvdp__autoptr(fclose) FILE *file = fopen(p->input, "w");
    fputs("text\tauthor\n", file);
    for (size_t i = 0; i < ROWS; i++) {
        const size_t row = order != NULL ? order[i] : i;
        fprintf(file, "%s\t%s\n", p->text[row], names[row % 8]);
    }
}

static struct place begin(void) {
    static const char *const words[] = {"good", "bad", "red", "blue", "cat", "dog", "sea", "one"};
    struct place p = {.ctx = support_context()};
    const struct task task = task_make(p.ctx);
    snprintf(p.model, sizeof p.model, "%s", task.model);
    snprintf(p.center, sizeof p.center, "%s", support_scratch_path("public.txt"));
    snprintf(p.input, sizeof p.input, "%s", support_scratch_path("rows.tsv"));
    snprintf(p.run, sizeof p.run, "%s", support_scratch_path("sentence"));
    nvdp__autoptr(fclose) FILE *center = fopen(p.center, "w");
    for (size_t i = 0; i < ROWS; i++) { /* all texts differ */
        snprintf(p.text[i], sizeof p.text[i], "%s %s", words[i / 8], words[i % 8]);
        fprintf(center, "%s %s\n", p.text[i], p.text[i]);
    }
    write_rows(&p, NULL);
    return p;
}

static nvdp_status export(const struct place *p, const char *out, const char *const *options,
                          struct nvdp_export_result *result) {
    struct nvdp_config *config =
        support_config(p->ctx, "export", "model", p->model, "center", p->center, "input", p->input,
                       "run", p->run, "out", out, "person", "author", "overwrite", "true", NULL);
    for (size_t i = 0; options[i] != NULL; i += 2)
        support_set(p->ctx, config, options[i], options[i + 1]);
    return nvdp_export(p->ctx, config, result);
}
#define EXPORT(p, out, result, ...) export(p, out, (const char *const[]){__VA_ARGS__, NULL}, result)

/* The vectors of a file [items, p], in units of the noise. */
static double *vectors_of(const struct place *p, const char *path, size_t items) {
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *held = NULL;
    ok(nvdp_shared_read(p->ctx, path, &held));
    cr_assert_eq(held->shape.texts, items, "%zu", held->shape.texts);
    cr_assert_eq(held->shape.rows, items);
    cr_expect(held->id == NULL && held->label == NULL && held->split == NULL);
    double *z = support_keep(calloc(items * WIDTH, sizeof *z));
    nvdp__autofree float *values = calloc(items * WIDTH, sizeof *values);
    nvdp__embeddings_values(held, 0, items * WIDTH, values);
    for (size_t i = 0; i < items * WIDTH; i++)
        z[i] = (double)values[i];
    return z;
}

/* Returns the number of a row's person, in the order of first rows. */
static size_t person_of(size_t row) {
    static const size_t first[8] = {0, 1, 2, 0, 1, 3, 4, 5}; /* of the first eight rows */
    const size_t round = row / 8, place = row % 8;
    return round == 0 || (place != 5 && place != 7) ? first[place] : 4 + 2 * round + (place == 7);
}

/* The mean of a sample is that of the person's embeddings, each of norm C, in every format: it has norm C at most, whatever the
 * number of rows. A row without a name is a person of its own, and persons stand in the order of their first rows. */
Test(person_samples, the_mean_of_a_persons_rows_has_noise) {
    const struct place p = begin();
    const char *const files[] = {"a.h5", "a.safetensors", "a.parquet"};
    double want[PERSONS][WIDTH] = {{0}}, rows[PERSONS] = {0};
    struct nvdp_posteriors *set = NULL;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        const char *out = support_scratch_path(files[f]);
        nvdp__autoresult struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
        ok(EXPORT(&p, out, &result, "unit", "person", "clip-sequence", "2000", "no-ledger",
                  "true"));
        cr_expect_eq(result.texts, ROWS);
        cr_expect_eq(result.units, PERSONS, "%zu", result.units);
        cr_expect_str_eq(result.unit, "person");
        cr_expect_null(result.privacy); /* of single texts */
        if (f == 0) {
            ok(nvdp_run_posteriors(
                p.ctx, support_config(p.ctx, "run", "run", p.run, "data", p.input, NULL), &set));
            for (size_t r = 0; r < ROWS; r++)
                rows[person_of(r)]++;
            for (size_t i = 0; i < ROWS * WIDTH; i++)
                want[person_of(i / WIDTH)][i % WIDTH] += set->mu[i] / rows[person_of(i / WIDTH)];
            nvdp_posteriors_free(set);
        }
        const double *z = vectors_of(&p, out, PERSONS);
        for (size_t u = 0; u < PERSONS; u++) {
            double norm = 0;
            for (size_t k = 0; k < WIDTH; k++) {
                norm += want[u][k] * want[u][k];
                cr_expect_float_eq(z[u * WIDTH + k], want[u][k], 8, "%s: %zu %zu", files[f], u, k);
            }
            cr_expect_leq(sqrt(norm), 2000 * (1 + 1e-9));
        }
        const struct nvdp_verification found = share_verified(p.ctx, out, NULL);
        all_hold(&found);
        cr_expect(found.persons);
        near(found.mu, 4000, 1e-9);
    }
}

/* The rows of a person may stand anywhere: their places decide only the order of the persons. */
Test(person_samples, the_order_of_rows_does_not_matter) {
    const struct place p = begin();
    size_t order[ROWS];
    const char *out = support_scratch_path("a.h5");
    ok(EXPORT(&p, out, NULL, "unit", "person", "clip-sequence", "10", "insecure-seed", "5",
              "no-ledger", "true"));
    const double *one = vectors_of(&p, out, PERSONS);
    for (size_t i = 0; i < 8; i++) /* first rows stay; the others are turned around */
        order[i] = i;
    for (size_t i = 8; i < ROWS; i++)
        order[i] = ROWS + 7 - i;
    write_rows(&p, order);
    ok(EXPORT(&p, out, NULL, "unit", "person", "clip-sequence", "10", "insecure-seed", "5",
              "no-ledger", "true"));
    const double *other = vectors_of(&p, out, PERSONS);
    for (size_t u = 0; u < 6; u++) /* the persons of the first eight rows */
        for (size_t k = 0; k < WIDTH; k++)
            near(one[u * WIDTH + k], other[u * WIDTH + k], 2 * 0x1p-10);
}

/* A person has one sample of mu 2C, whatever the number of rows, and each text at most one. Samples of the texts add to it. */
Test(person_samples, the_ledger_counts_a_person_once) {
    const struct place p = begin();
    const char *out = support_scratch_path("a.h5"),
               *ledger = support_path("%s", support_scratch_path("sentence/ledger"));
    nvdp__autoresult struct nvdp_export_result first = NVDP_RESULT(struct nvdp_export_result),
                                               second = NVDP_RESULT(struct nvdp_export_result);
    ok(EXPORT(&p, out, &first, "unit", "person", "clip-sequence", "0.25", "budget-samples", "9"));
    cr_expect_eq(first.person.persons, PERSONS, "%zu", first.person.persons);
    cr_expect_eq(first.person.samples, 1);
    near(first.person.epsilon, nvdp_gdp_epsilon(.5, 1e-5), 1e-9);
    support_contains(first.statement, "any one person of 14, all rows included",
                     "10 persons together: epsilon ");
    support_lacks(first.statement, "ann");
    struct nvdp_verification found = share_counted(p.ctx, out, ledger, NULL);
    all_hold(&found);
    cr_expect_eq(found.person.samples, 1);
    ok(EXPORT(&p, support_scratch_path("b.h5"), &second, "unit", "text", "clip-sequence", "0.25",
              "budget-samples", "9"));
    cr_expect_eq(second.units, 0);
    cr_expect_eq(second.person.samples, 1 + ROWS / 4); /* 10 texts of ann */
    near(second.person.epsilon, nvdp_gdp_epsilon(.5 * sqrt(1 + ROWS / 4), 1e-5), 1e-9);
    found = share_counted(p.ctx, out, ledger, NULL);
    all_hold(&found);
    fails(EXPORT(&p, support_scratch_path("c.h5"), NULL, "unit", "person", "clip-sequence", "0.25",
                 "person-epsilon", "1", "budget-samples", "9"),
          NVDP_ERR_STATE, "persons exceed the budget");
}

Test(person_samples, refuses) {
    const struct place p = begin();
    const char *out = support_scratch_path("a.h5");
    struct nvdp_config *config =
        support_config(p.ctx, "export", "model", p.model, "center", p.center, "input", p.input,
                       "out", out, "unit", "person", "clip-sequence", "1", NULL);
    fails(nvdp_export(p.ctx, config, NULL), NVDP_ERR_ARGUMENT,
          "option --unit person needs --person");
    fails(EXPORT(&p, out, NULL, "unit", "person", "clip-sequence", "1", "person", "writer"),
          NVDP_ERR_INPUT, "missing column 'writer'");
    fails(EXPORT(&p, out, NULL, "unit", "person", "clip-sequence", "1", "with-labels", "true"),
          NVDP_ERR_ARGUMENT, "option --unit person excludes --with-labels");
    fails(EXPORT(&p, out, NULL, "unit", "person", "clip-sequence", "1", "publish-measured", "true"),
          NVDP_ERR_ARGUMENT, "option --unit person excludes --publish-measured");
    config = support_config(p.ctx, "export", "run", p.run, "input", p.input, "out", out, "unit",
                            "person", "person", "author", NULL);
    fails(nvdp_export(p.ctx, config, NULL), NVDP_ERR_ARGUMENT, "the samples of a trained run");
    cr_expect_not(nvdp__exists(out));
}

/* Samples of texts cannot pass as samples of persons. */
Test(person_samples, verify_finds_columns_of_texts) {
    const struct place p = begin();
    const char *out = support_scratch_path("a.safetensors");
    nvdp__auto(nvdp__release_close) struct nvdp__release from = {0}, to = {.ctx = p.ctx};
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *held = NULL;
    ok(EXPORT(&p, out, NULL, "clip-sequence", "1"));
    ok(nvdp__release_read(p.ctx, nvdp__formats, out, &from));
    ok(nvdp__embeddings_take(&from, NULL, NULL, &held));
    to.attributes.ctx = p.ctx;
    to.shape = from.shape;
    to.offset = from.offset;
    to.id = held->id;
    for (size_t k = 0; k < from.attributes.count; k++)
        ok(nvdp__attributes_set(&to.attributes, from.attributes.item[k].name,
                                from.attributes.item[k].text, from.attributes.item[k]));
    ok(nvdp__attributes_parse(&to.attributes, "unit", "person"));
    nvdp__autofree int32_t *z = calloc(ROWS * WIDTH, sizeof *z);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        z[i] = ((const int16_t *)held->z)[i];
    const char *changed = support_scratch_path("changed.h5");
    ok(nvdp__release_create(&to, nvdp__format_by_ending(nvdp__formats, changed), changed));
    ok(to.format->append(&to, 0, to.shape.rows, z, NULL));
    ok(nvdp__release_commit(&to, true));
    to.offset = NULL;
    to.id = NULL;
    const struct nvdp_verification found = share_verified(p.ctx, changed, NULL);
    check_is(&found, "a sample of a person is the mean", NVDP_VERDICT_NO);
    cr_expect_not(found.useful);
}
