/* Summaries of a collection: what the file holds, that its noise and claims are those of the options, the ledger, refusals, and
 * changes that nvdp verify finds. */
#include "base/npy.h"
#include "changed_file.h"
#include "fixture.h"
#include "share/summarize.h"
#include <nvdp/attack.h>
#include <sys/resource.h>
#include <sys/wait.h>

struct place {
    struct nvdp_context *ctx;
    char model[600], center[512], input[512], run[512];
    size_t rows;
};

/* A public encoder, public texts, and `rows` rows of the task with labels, a score and a person. */
static struct place place_with(size_t rows) {
    struct place p = {.ctx = support_context(), .rows = rows};
    const struct task task = task_make(p.ctx);
    char *text = support_read(support_path("%s/train.tsv", task.data)), *line;
    snprintf(p.model, sizeof p.model, "%s", task.model);
    snprintf(p.center, sizeof p.center, "%s", support_scratch_path("public.txt"));
    snprintf(p.input, sizeof p.input, "%s", support_scratch_path("rows.tsv"));
    snprintf(p.run, sizeof p.run, "%s", support_scratch_path("summary-run"));
    nvdp__autoptr(fclose) FILE *center = fopen(p.center, "w"), *input = fopen(p.input, "w");
    strtok(text, "\n");
    fputs("text\tlabel\tscore\tperson\n", input);
    for (size_t i = 0; i < rows && (line = strtok(NULL, "\n")) != NULL; i++) {
        line[strcspn(line, "\t")] = '\0';
        fprintf(center, "%s %s %zu\n", line, line, i);
        fprintf(input, "%s\t%s\t%g\tp%zu\n", line,
                i % 7 == 6                     ? "unheard"
                : strstr(line, "good") != NULL ? "good"
                                               : "bad",
                (double)i / 10 - 1, i / 4);
    }
    return p;
}

static const char *out_path(const char *name) {
    return support_scratch_path(name);
}

static nvdp_status summarize(const struct place *p, const char *out, const char *const *options,
                             struct nvdp_summary_result *result) {
    struct nvdp_config *config =
        support_config(p->ctx, "summarize", "model", p->model, "center", p->center, "input",
                       p->input, "run", p->run, "out", out, "reduce", "0", NULL);
    for (size_t i = 0; options[i] != NULL; i += 2)
        support_set(p->ctx, config, options[i], options[i + 1]);
    return nvdp_summarize(p->ctx, config, result);
}
#define SUMMARIZE(p, out, result, ...)                                                             \
    summarize(p, out, (const char *const[]){__VA_ARGS__, NULL}, result)

static struct nvdp_verification verified(const struct place *p, const char *path) {
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    ok(nvdp_verify(p->ctx, path, NULL, &found));
    return found;
}

static const struct nvdp_check *failed(const struct nvdp_verification *found) {
    for (size_t i = 0; i < found->checks; i++)
        if (found->check[i].verdict == NVDP_VERDICT_NO) return &found->check[i];
    return NULL;
}

/* The matrix of a file, in units of one row, and its shape. */
static double *matrix_of(const struct place *p, const char *path, size_t *width) {
    nvdp__auto(nvdp__release_close) struct nvdp__release release = {0};
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *held = NULL;
    ok(nvdp__release_read(p->ctx, nvdp__formats, path, &release));
    ok(nvdp__embeddings_take(&release, NULL, NULL, &held));
    *width = held->shape.dim;
    double *matrix = support_keep(calloc(*width * *width, sizeof *matrix));
    nvdp__autofree float *values = calloc(*width * *width, sizeof *values);
    nvdp__embeddings_values(held, 0, *width * *width, values);
    for (size_t i = 0; i < *width * *width; i++)
        matrix[i] = (double)values[i];
    return matrix;
}

Test(summarize, files_of_all_formats_keep_what_they_state) {
    static const struct {
        const char *name, *option, *value;
        size_t answers;
        const char *says;
    } cases[] = {{"classes.h5", "classes", "good,bad", 1, "the sign of its class"},
                 {"three.parquet", "classes", "good,bad,other", 3, "indicators of its class"},
                 {"scores.safetensors", "range", "0,5", 1, "Scores beyond the stated range"},
                 {"none.h5", "reduce", "0", 0, "the number of rows"}};
    const struct place p = place_with(60);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nvdp_summary_result result = NVDP_RESULT(struct nvdp_summary_result);
        const char *out = out_path(cases[i].name);
        const bool scores = strcmp(cases[i].option, "range") == 0;
        ok(SUMMARIZE(&p, out, &result, cases[i].option, cases[i].value, "rows", "50",
                     "summary-epsilon", "2", "budget-samples", "9",
                     cases[i].answers == 0 ? NULL : "label-column", scores ? "score" : "label"));
        const struct nvdp_verification found = verified(&p, out);
        cr_assert(found.holds, "%s: %s: %s", cases[i].name, found.holds ? "" : failed(&found)->what,
                  found.holds ? "" : failed(&found)->found);
        cr_expect(found.certified && found.summary && found.counted);
        cr_expect(result.written && result.units == 60 && result.answers == cases[i].answers &&
                  result.width == 16 + cases[i].answers + (cases[i].answers < 2));
        cr_expect(found.epsilon <= 2 && found.epsilon > 1.99 && found.delta == 1e-5);
        cr_expect_float_eq(found.epsilon, nvdp_gdp_epsilon(result.mu, 1e-5), 1e-12);
        cr_expect_float_eq(result.epsilon_2, nvdp_gdp_epsilon(2 * result.mu, 1e-5), 1e-9);
        cr_expect_float_eq(result.epsilon_10, nvdp_gdp_epsilon(10 * result.mu, 1e-5), 1e-9);
        cr_expect_str_eq(found.statement, result.statement);
        support_contains(found.statement, cases[i].says);
        support_contains(found.statement, "for the replacement of any one row of 60");
        support_contains(found.statement, "The file contains no sample of a text.");
        cr_expect_eq(strstr(found.guarantee, "its label included") != NULL, cases[i].answers > 0);
        struct nvdp_shared *shared = NULL;
        fails(nvdp_shared_read(p.ctx, out, &shared), NVDP_ERR_INPUT, "a summary of a collection");
        nvdp_result_free(&result);
    }
}

/* With a huge epsilon the matrix is the sum that the texts' embeddings give, computed here from the same run. */
Test(summarize, the_matrix_is_the_sum_over_the_rows) {
    const struct place p = place_with(40);
    const char *out = out_path("exact.h5");
    size_t width = 0;
    ok(SUMMARIZE(&p, out, NULL, "classes", "good, bad", "summary-epsilon", "1000", "rows", "0"));
    const double *matrix = matrix_of(&p, out, &width);
    cr_assert_eq(width, 18);
    struct nvdp_config *config = support_config(p.ctx, "run", "run", p.run, "data", p.input, NULL);
    struct nvdp_posteriors *set = NULL;
    ok(nvdp_run_posteriors(p.ctx, config, &set));
    cr_assert(set->texts == 40 && set->dim == 16);
    char *text = support_read(p.input), *rest = NULL, *line = strtok_r(text, "\n", &rest);
    double want[18][18] = {{0}};
    for (size_t r = 0; r < 40; r++) {
        double z[18] = {sqrt(.1)};
        line = strtok_r(NULL, "\n", &rest);
        for (size_t i = 0; i < 16; i++)
            z[1 + i] = sqrt(.45) * set->mu[r * 16 + i];
        z[17] = sqrt(.45) * (strstr(line, "\tgood\t") ? -1 : strstr(line, "\tbad\t") ? 1 : 0);
        for (size_t i = 0; i < 18; i++)
            for (size_t j = 0; j < 18; j++)
                want[i][j] += z[i] * z[j];
    }
    /* noise of standard deviation .04 at this epsilon */
    for (size_t i = 0; i < 18; i++)
        for (size_t j = 0; j < 18; j++)
            cr_expect_float_eq(matrix[i * 18 + j], want[i][j], .2, "%zu %zu", i, j);
    nvdp_posteriors_free(set);
}

static void hear(enum nvdp_log_level level, const char *text, void *heard) {
    (void)level;
    strncat(heard, text, 4000 - strlen(heard));
}

/* A task's train file is read with the columns and answers of the task, whatever the rows have. */
Test(summarize, a_task_has_its_columns_and_answers) {
    static const struct {
        const char *task, *head, *row;
        size_t answers;
        const char *says, *without;
    } tasks[] = {
        {"sst2", "sentence\tlabel\n", "good\t1\n", 1, "any one row of 3, its label included", ""},
        {"cola", "gj04\t1\t\tgood\n", "gj04\t0\t*\tbad\n", 1, "any one row of 4", ""},
        {"mnli", "sentence1\tsentence2\tgold_label\n", "good\tbad\t-\n", 3, "a pair of texts", ""},
        {"stsb", "sentence1\tsentence2\tscore\n", "good\tbad\t9\n", 1, "the range of scores", ""},
        {"tsv", "text\tlabel\n", "good\t1\n", 0, "the number of rows", "label"}};
    const struct place p = place_with(20);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        struct nvdp_summary_result result = NVDP_RESULT(struct nvdp_summary_result);
        const char *folder = support_scratch_path(tasks[i].task);
        const char *out = support_path("%s/%s.h5", folder, tasks[i].task);
        ok(nvdp__make_directory(p.ctx, folder));
        support_write_text(
            support_path("%s/train.tsv", folder),
            support_path("%s%s%s%s", tasks[i].head, tasks[i].row, tasks[i].row, tasks[i].row));
        struct nvdp_config *config = support_config(
            p.ctx, "summarize", "model", p.model, "center", p.center, "task", tasks[i].task, "data",
            folder, "out", out, "reduce", "0", "duplicates", "each", NULL);
        ok(nvdp_summarize(p.ctx, config, &result));
        cr_expect_eq(result.answers, tasks[i].answers, "%s", tasks[i].task);
        support_contains(result.statement, tasks[i].says);
        const struct nvdp_verification found = verified(&p, out);
        cr_expect(found.holds, "%s: %s", tasks[i].task, found.holds ? "" : failed(&found)->what);
        support_set(p.ctx, config, "overwrite", "true");
        support_set(p.ctx, config, "range", "0,1");
        if (tasks[i].answers > 0)
            fails(nvdp_summarize(p.ctx, config, NULL), NVDP_ERR_ARGUMENT,
                  "range: expected no such option with --task");
    }
    struct nvdp_config *own = support_config(p.ctx, "summarize", "model", p.model, "center",
                                             support_scratch_path("sst2/train.tsv"), "task", "sst2",
                                             "data", support_scratch_path("sst2"), "out",
                                             out_path("no.h5"), "public-independent", "true", NULL);
    fails(nvdp_summarize(p.ctx, own, NULL), NVDP_ERR_ARGUMENT, "expected public texts");
    fails(SUMMARIZE(&p, out_path("no.h5"), NULL, "task", "sst2"), NVDP_ERR_ARGUMENT,
          "--task and --data: expected both");
}

/* Without an option, the number of directions follows from n, epsilon and the width alone, and the owner hears why. */
/* Packed files, and large ones, are read in parts, several times: the summary is the same. */
Test(summarize, a_file_in_parts_gives_the_same_sum) {
    static const char *const options[][2] = {{"label-column", "label"},
                                             {"person", "person"},
                                             {"text-pair-column", "person"},
                                             {"limit", "23"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct place p = place_with(60);
        struct nvdp_summary_result result[2] = {NVDP_RESULT(struct nvdp_summary_result),
                                                NVDP_RESULT(struct nvdp_summary_result)};
        const double *matrix[2];
        char heard[2][4096] = {"", ""};
        size_t width[2];
        cr_assert_eq(system(support_path("gzip -fk %s", p.input)), 0);
        for (size_t k = 0; k < 2; k++) {
            const char *out = out_path(support_path("%zu-%zu.h5", i, k));
            if (k == 1) strcat(p.input, ".gz");
            snprintf(p.run, sizeof p.run, "%s", support_path("%s-run", out));
            nvdp_context_set_log(p.ctx, hear, heard[k]);
            ok(SUMMARIZE(&p, out, &result[k], "insecure-seed", "5", "classes", "good,bad",
                         options[i][0], options[i][1]));
            matrix[k] = matrix_of(&p, out, &width[k]);
            result[k].run[0] = '\0';
            support_contains(heard[k], "new ledger");
        }
        cr_expect_eq(width[0], width[1]);
        cr_expect_arr_eq(matrix[0], matrix[1], width[0] * width[0] * sizeof *matrix[0]);
        cr_expect_str_eq(result[0].statement, result[1].statement);
        cr_expect_eq(result[0].units, result[1].units);
        cr_expect_eq(result[0].spent_samples, result[1].spent_samples);
        cr_expect_eq(result[0].spent_epsilon, result[1].spent_epsilon);
        /* the notice about repeated texts, which only the first case has, is the same */
        const char *found[2] = {strstr(heard[0], "in these texts"),
                                strstr(heard[1], "in these texts")};
        cr_expect_eq(found[0] != NULL, found[1] != NULL);
    }
}

#ifndef NVDP_SANITIZED
/* Returns the peak of memory, in bytes, of a summary in another process. */
static double peak_of(const struct place *p, size_t rows, const char *vectors) {
    struct rusage usage;
    int status = 1;
    const pid_t child = fork();
    if (child == 0) {
        struct nvdp_context *ctx = support_context();
        struct nvdp_config *config =
            support_config(ctx, "summarize", "out", out_path(support_path("%zu.h5", rows)), "rows",
                           "0", "center", vectors != NULL ? vectors : p->center,
                           vectors != NULL ? "vectors" : "input", p->input, NULL);
        if (vectors == NULL)
            support_set_all(ctx, config, "model", p->model, "reduce", "0", "run",
                            support_path("%s-%zu", p->run, rows), NULL);
        _exit(nvdp_summarize(ctx, config, NULL) != NVDP_OK);
    }
    cr_assert_eq(wait4(child, &status, 0, &usage), child);
    cr_assert_eq(status, 0);
    return (double)usage.ru_maxrss * 1024;
}

/* Memory grows by at most 64 bytes per row. */
Test(summarize, memory_does_not_grow_with_the_texts, .timeout = 120) {
    enum { FEW = 100000, MANY = 300000 };
    struct place p = place_with(20);
    double peak[2];
    for (size_t k = 0; k < 2; k++) {
        const size_t rows = k == 0 ? FEW : MANY;
        nvdp__autoptr(fclose) FILE *input = fopen(p.input, "w");
        fputs("text\n", input);
        for (size_t i = 0; i < rows; i++) {
            for (size_t word = 0, rest = i; word < 24; word++, rest = rest * 5 / 4 + 1)
                fputs(rest % 3 == 0 ? "a " : rest % 3 == 1 ? "good " : "film ", input);
            fputc('\n', input);
        }
        fflush(input);
        peak[k] = peak_of(&p, rows, NULL);
    }
    cr_expect_leq((peak[1] - peak[0]) / (MANY - FEW), 64, "%g bytes per row",
                  (peak[1] - peak[0]) / (MANY - FEW));
}
/* Vectors of 64 bytes are read in parts, too.  The bound has room for pages of the file that the system maps together. */
Test(summarize, memory_does_not_grow_with_the_vectors, .timeout = 120) {
    enum { FEW = 100000, MANY = 300000, WIDTH = 16 };
    struct place p = {.ctx = support_context(), .rows = 0};
    const char *public = support_scratch_path("public.npy");
    double peak[2];
    snprintf(p.input, sizeof p.input, "%s", support_scratch_path("vectors.npy"));
    for (size_t k = 0; k < 3; k++) {
        const size_t rows = k == 0 ? 50 : k == 1 ? FEW : MANY;
        char head[NVDP__NPY_HEAD];
        FILE *file = fopen(k == 0 ? public : p.input, "w");
        nvdp__npy_put_head(head, "<f4", rows, WIDTH);
        fwrite(head, 1, sizeof head, file);
        uint64_t state = k + 1;
        for (size_t i = 0; i < rows; i++) {
            float x[WIDTH];
            for (size_t j = 0; j < WIDTH; j++) {
                state = state * 6364136223846793005 + 1442695040888963407;
                x[j] = (float)(state >> 40) - 0x1p23f;
            }
            fwrite(x, sizeof x, 1, file);
        }
        fclose(file);
        if (k > 0) peak[k - 1] = peak_of(&p, rows, public);
    }
    cr_expect_leq((peak[1] - peak[0]) / (MANY - FEW), 100, "%g bytes per row",
                  (peak[1] - peak[0]) / (MANY - FEW));
}
#endif

Test(summarize, directions_follow_from_public_facts) {
    struct place p = place_with(20);
    char heard[4096] = "";
    struct nvdp_summary_result result = NVDP_RESULT(struct nvdp_summary_result);
    struct nvdp_config *config =
        support_config(p.ctx, "summarize", "model", p.model, "center", p.center, "input", p.input,
                       "run", p.run, "out", out_path("k.h5"), "dry-run", "true", NULL);
    nvdp_context_set_log(p.ctx, hear, heard);
    ok(nvdp_summarize(p.ctx, config, &result));
    /* 8 = k^(3/2) sigma_off / (n beta^2), mu = 1 / sigma_off; beta^2 is .9 without answers */
    const size_t k = (size_t)pow(8 * 20 * .9 * result.mu, 2. / 3);
    cr_expect(result.dim == k && k > 4 && k < 16, "%zu %zu", result.dim, k);
    support_contains(heard, support_path("20 rows at epsilon 1 carry %zu of the 16 numbers", k));
    support_set(p.ctx, config, "summary-epsilon", "2"); /* the map of a run does not change */
    ok(nvdp_summarize(p.ctx, config, &result));
    cr_expect_eq(result.dim, k);
    support_contains(heard, "directions, those of");
    support_set(p.ctx, config, "run", support_scratch_path("persons-run"));
    support_set(p.ctx, config, "person", "person");
    ok(nvdp_summarize(p.ctx, config, &result));
    cr_expect_eq(result.units, 5);
    cr_expect_eq(result.dim, (size_t)pow(8 * 5 * .9 * result.mu, 2. / 3));
    support_write_text(support_scratch_path("two.txt"), "one text\nanother text\n");
    support_set(p.ctx, config, "run", support_scratch_path("few-run"));
    support_set(p.ctx, config, "center", support_scratch_path("two.txt"));
    ok(nvdp_summarize(p.ctx, config, &result));
    cr_expect_eq(result.dim, 16);
    support_contains(heard, "too few public texts for directions");
}

/* Two summaries of the same rows differ by noise of their own: variance 2 sigma^2 in each entry. */
Test(summarize, files_have_noise_of_their_own) {
    const struct place p = place_with(30);
    struct nvdp_summary_result result = NVDP_RESULT(struct nvdp_summary_result);
    const double *matrix[2];
    size_t width = 0;
    for (size_t k = 0; k < 2; k++) {
        const char *out = out_path(k == 0 ? "a.h5" : "b.h5");
        ok(SUMMARIZE(&p, out, &result, "no-ledger", "true"));
        matrix[k] = matrix_of(&p, out, &width);
    }
    double square = 0;
    size_t count = 0;
    for (size_t i = 0; i < width; i++)
        for (size_t j = i + 1; j < width; j++, count++)
            square += pow((matrix[0][i * width + j] - matrix[1][i * width + j]) / result.noise, 2);
    /* chi-square with 136 degrees of freedom, 5 standard deviations */
    cr_expect_float_eq(square / 2, (double)count, 5 * sqrt(2. * (double)count), "%g of %zu",
                       square / 2, count);
    support_contains(result.statement, "No ledger counts this file.");
}

/* Copies of a text have k times the mu of one, rows of a person together that of one, and budgets refuse. */
Test(summarize, the_ledger_adds_up_what_changes_together) {
    const struct place p = place_with(20);
    const char *again = support_scratch_path("copies.tsv");
    char *text = support_read(p.input), *row = strchr(text, '\n') + 1;
    row[strcspn(row, "\n")] = '\0';
    support_write_text(again,
                       support_path("text\tlabel\tscore\tperson\n%s\n%s\n%s\n", row, row, row));
    struct place copies = p;
    snprintf(copies.input, sizeof copies.input, "%s", again);
    struct nvdp_summary_result result = NVDP_RESULT(struct nvdp_summary_result);
    ok(SUMMARIZE(&copies, out_path("c.h5"), &result, "rows", "1"));
    const double mu = result.mu;
    cr_expect_eq(result.spent_samples, 1);
    cr_expect_float_eq(result.spent_epsilon, nvdp_gdp_epsilon(3 * mu, 1e-5), 1e-6);
    fails(SUMMARIZE(&copies, out_path("d.h5"), NULL, "rows", "1"), NVDP_ERR_STATE,
          "budget-samples");
    cr_expect_not(nvdp__exists(out_path("d.h5")));
    struct nvdp_verification found = verified(&p, out_path("c.h5"));
    const char *ledger = support_path("%s/ledger", p.run);
    ok(nvdp_verify_ledger(p.ctx, out_path("c.h5"), ledger, NULL, &found));
    cr_assert(found.holds, "%s", found.holds ? "" : failed(&found)->what);
    cr_expect_float_eq(found.spent_epsilon, nvdp_gdp_epsilon(3 * mu, 1e-5), 1e-6);
    support_contains(found.guarantee, "The ledger counts up to 1 samples of a text");
    /* the same rows as one person */
    fails(SUMMARIZE(&copies, out_path("d.h5"), NULL, "person", "person", "budget-samples", "2",
                    "person-epsilon", "1"),
          NVDP_ERR_STATE, "person-epsilon");
    ok(SUMMARIZE(&copies, out_path("d.h5"), &result, "person", "person", "budget-samples", "2"));
    cr_expect_eq(result.units, 1);
    cr_expect_float_eq(result.spent_epsilon, nvdp_gdp_epsilon(sqrt(9 + 1) * mu, 1e-5), 1e-6);
    found = verified(&p, out_path("d.h5"));
    ok(nvdp_verify_ledger(p.ctx, out_path("d.h5"), ledger, NULL, &found));
    cr_assert(found.holds, "%s", found.holds ? "" : failed(&found)->what);
    cr_expect_float_eq(found.person.mu, sqrt(9 + 1) * mu, 1e-9);
    cr_expect_float_eq(found.person.radius, sqrt(9 + 1) * mu / M_SQRT2, 1e-9);
}

/* With persons as units, the matrix is the sum over persons of the averages over their rows, wherever these stand. Names are
 * compared as in the ledger, and a row without a person is a unit of its own. */
Test(summarize, persons_are_units) {
    enum { ROWS = 40, WIDTH = 18 };
    static const char *const names[] = {"ann", "bo", "Ann", " ann", "bo ", "", "cy", "  "};
    static const size_t person[] = {0, 1, 2, 0, 1, 9, 3, 9}; /* 9: of its own */
    struct place p = place_with(ROWS);
    char *text = support_read(p.input), *rest = NULL;
    strtok_r(text, "\n", &rest);
    snprintf(p.input, sizeof p.input, "%s", support_scratch_path("persons.tsv"));
    nvdp__autoptr(fclose) FILE *file = fopen(p.input, "w");
    fputs("text\tlabel\tperson\n", file);
    double y[ROWS], want[WIDTH][WIDTH] = {{0}}, size[10] = {0};
    for (size_t i = 0; i < ROWS; i++) {
        char *line = strtok_r(NULL, "\n", &rest);
        line[strcspn(line, "\t")] = '\0';
        const char *label = i % 5 == 0 ? "unheard" : i % 3 == 0 ? "good" : "bad";
        y[i] = i % 5 == 0 ? 0 : i % 3 == 0 ? -1 : 1;
        size[person[i % 8]]++;
        fprintf(file, "%s\t%s\t%s\n", line, label, names[i % 8]);
    }
    fflush(file);
    struct nvdp_summary_result result = NVDP_RESULT(struct nvdp_summary_result);
    const char *out = out_path("units.h5");
    ok(SUMMARIZE(&p, out, &result, "person", "person", "classes", "good,bad", "summary-epsilon",
                 "1000", "rows", "3", "no-ledger", "true"));
    cr_expect_eq(result.units, 4 + 2 * ROWS / 8, "%zu", result.units);
    cr_expect_str_eq(result.unit, "person");
    struct nvdp_config *config = support_config(p.ctx, "run", "run", p.run, "data", p.input, NULL);
    struct nvdp_posteriors *set = NULL;
    ok(nvdp_run_posteriors(p.ctx, config, &set));
    for (size_t r = 0; r < ROWS; r++) {
        double z[WIDTH] = {sqrt(.1)};
        const double m = person[r % 8] == 9 ? 1 : size[person[r % 8]];
        for (size_t i = 0; i < 16; i++)
            z[1 + i] = sqrt(.45) * set->mu[r * 16 + i];
        z[17] = sqrt(.45) * y[r];
        for (size_t i = 0; i < WIDTH; i++)
            for (size_t j = 0; j < WIDTH; j++)
                want[i][j] += z[i] * z[j] / m;
    }
    nvdp_posteriors_free(set);
    size_t width = 0;
    const double *matrix = matrix_of(&p, out, &width);
    cr_assert_eq(width, WIDTH);
    for (size_t i = 0; i < WIDTH; i++) /* noise of standard deviation .04 at this epsilon */
        for (size_t j = 0; j < WIDTH; j++)
            cr_expect_float_eq(matrix[i * WIDTH + j], want[i][j], .2, "%zu %zu", i, j);
    const struct nvdp_verification found = verified(&p, out);
    cr_assert(found.holds, "%s", found.holds ? "" : failed(&found)->what);
    support_contains(found.statement,
                     "for the replacement of any one person of 14, all rows included");
    support_contains(found.statement, "A group with 2 persons");
    support_contains(found.statement, "the number of persons and the list of classes");
    support_contains(found.statement, "averages over the person's rows");
}

/* Whatever stands in the label column, the file appears: unknown answers are 0. */
Test(summarize, no_label_is_refused) {
    static const char *const labels[] = {"",    "0.5", "good", "\xff\xfe",
                                         "a b", "nan", "\"",   "1e999"};
    enum { LABELS = sizeof labels / sizeof *labels };
    const struct place p = place_with(20);
    for (size_t i = 0; i < 2 * LABELS; i++) {
        struct place odd = p;
        snprintf(odd.input, sizeof odd.input, "%s", support_scratch_path("odd.tsv"));
        support_write_text(odd.input,
                           support_path("text\tlabel\nplain words\t%s\nmore words\t%s\n",
                                        labels[i / 2], i % 2 == 0 ? labels[i / 2] : "bad"));
        for (int scores = 0; scores < 2; scores++)
            cr_expect_eq(SUMMARIZE(&odd, out_path("odd.h5"), NULL, scores ? "range" : "classes",
                                   scores ? "0,5" : "good,bad", "no-ledger", "true", "overwrite",
                                   "true"),
                         NVDP_OK, "'%s': %s", labels[i / 2], nvdp_context_error(p.ctx));
    }
}

/* The owner alone learns how many scores were cut, and how many labels are unknown: the file states neither. */
Test(summarize, warns_the_owner_of_scores_beyond_the_range) {
    struct place p = place_with(20);
    char heard[4096] = "";
    support_write_text(p.input, "text\tlabel\na\t7\nb\t5\nc\t0\nd\t-1\ne\tnone\nf\t-inf\n");
    nvdp_context_set_log(p.ctx, hear, heard);
    ok(SUMMARIZE(&p, out_path("cut.h5"), NULL, "range", "0,5", "no-ledger", "true"));
    support_contains(heard, "3 of 6 scores are beyond --range");
    support_contains(heard, "1 of 6 rows have no known label");
    support_lacks(verified(&p, out_path("cut.h5")).statement, "3 of 6");
}

/* The embedding of a text has the same bits whatever the other texts of its batch are: else the replacement of one row would
 * change the contributions of others. */
Test(summarize, a_row_does_not_depend_on_the_others) {
    enum { ROWS = 3, LONG = 40 };
    struct place p = place_with(40);
    const struct task wide =
        task_make_wide(p.ctx); /* its products take another path for many rows */
    snprintf(p.model, sizeof p.model, "%s", wide.model);
    struct nvdp__export_options options = {0};
    struct nvdp__summary_facts facts = {.rows = 0};
    ok(SUMMARIZE(&p, out_path("first.h5"), NULL, "rows", "0"));
    const char *text[ROWS];
    char lengthy[LONG * 8] = "";
    for (size_t i = 0; i < LONG; i++)
        strcat(lengthy, "good ");
    for (size_t i = 0; i < ROWS; i++)
        text[i] = i % 3 == 0 ? "good film" : i % 3 == 1 ? "bad" : "a good and bad film";
    double *mean[2];
    size_t dim = 0;
    for (size_t k = 0; k < 2; k++) {
        struct nvdp__run_options config = {.run = p.run};
        struct nvdp__export export = {.ctx = p.ctx, .options = &options, .summary = &facts};
        ok(nvdp__run_open_bottleneck(p.ctx, &config, &export.from.run));
        text[ROWS - 1] = k == 0 ? "bad" : lengthy;
        ok(nvdp_dataset_from_texts(p.ctx, nvdp_model_tokenizer(export.from.run.model), 48, ROWS,
                                   text, NULL, &export.from.part[0].data));
        ok(nvdp__export_scan(&export, &export.from.part[0]));
        export.from.parts = 1;
        export.from.texts = ROWS;
        dim = export.like.dim = export.from.run.model->info.nvib.latent_dim;
        export.form.single = true;
        export.longest_rows = 1;
        export.chosen.batch = ROWS;
        export.options = &export.chosen;
        ok(nvdp__export_allocate(&export));
        ok(nvdp__summary_rowwise(&export));
        ok(nvdp__export_infer(&export, &export.from.part[0], 0, ROWS));
        mean[k] = support_keep(malloc(ROWS * dim * sizeof(double)));
        memcpy(mean[k], export.draw.posteriors->mu, ROWS * dim * sizeof(double));
        nvdp__export_close(&export);
    }
    cr_expect_arr_eq(mean[0], mean[1], (ROWS - 1) * dim * sizeof(double));
    cr_expect_arr_neq(mean[0] + (ROWS - 1) * dim, mean[1] + (ROWS - 1) * dim, dim * sizeof(double));
}

Test(summarize, a_card_says_what_the_file_is) {
    const struct place p = place_with(20);
    const char *card = support_scratch_path("README.md");
    ok(SUMMARIZE(&p, out_path("carded.h5"), NULL, "card", card, "rows", "7"));
    const char *text = support_read(card);
    support_contains(text, "# Noisy summary of a collection of 20 rows");
    support_contains(text, "n<1K");
    support_contains(text, "7 synthetic rows");
    support_lacks(text, "random sample");
    support_lacks(text, "nvdp reuse");
    ok(SUMMARIZE(&p, out_path("carded.h5"), NULL, "card", card, "person", "person", "overwrite",
                 "true", "no-ledger", "true"));
    support_contains(support_read(card), "# Noisy summary of a collection of 5 persons");
}

Test(summarize, a_dry_run_spends_nothing) {
    const struct place p = place_with(20);
    struct nvdp_summary_result result = NVDP_RESULT(struct nvdp_summary_result);
    ok(SUMMARIZE(&p, out_path("dry.h5"), &result, "dry-run", "true", "classes", "good,bad"));
    cr_expect(!result.written && result.bytes == 0 && result.resolution > 0);
    cr_expect_not(nvdp__exists(out_path("dry.h5")));
    ok(SUMMARIZE(&p, out_path("dry.h5"), &result, "classes", "good,bad"));
    cr_expect_eq(result.spent_samples, 1);
}

Test(summarize, noise_from_a_seed_proves_nothing) {
    const struct place p = place_with(20);
    struct nvdp_summary_result result = NVDP_RESULT(struct nvdp_summary_result);
    const char *out = out_path("seeded.h5");
    ok(SUMMARIZE(&p, out, &result, "insecure-seed", "5"));
    cr_expect(!result.useful && isinf(result.epsilon));
    support_contains(result.guarantee, "No guarantee");
    const struct nvdp_verification found = verified(&p, out);
    cr_expect(!found.holds && !found.certified && isinf(found.epsilon));
}

Test(summarize, refuses) {
    const struct place p = place_with(20);
    static const struct {
        const char *name, *value, *words;
        nvdp_status status;
    } cases[] = {{"classes", "good", "at least two names", NVDP_ERR_ARGUMENT},
                 {"classes", "a,b,a", "'a' is named twice", NVDP_ERR_ARGUMENT},
                 {"range", "5", "LOW,HIGH", NVDP_ERR_ARGUMENT},
                 {"range", "5,5", "LOW,HIGH", NVDP_ERR_ARGUMENT},
                 {"range", "0,inf", "LOW,HIGH", NVDP_ERR_ARGUMENT},
                 {"model-id", "xyz", "hexadecimal", NVDP_ERR_ARGUMENT},
                 {"budget-epsilon", "0.5", "budget", NVDP_ERR_STATE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fails(SUMMARIZE(&p, out_path("refused.h5"), NULL, cases[i].name, cases[i].value),
              cases[i].status, cases[i].words);
        cr_expect_not(nvdp__exists(out_path("refused.h5")), "%s", cases[i].value);
    }
    fails(SUMMARIZE(&p, out_path("refused.h5"), NULL, "classes", "good,bad", "range", "0,1"),
          NVDP_ERR_ARGUMENT, "at most one");
    fails(SUMMARIZE(&p, out_path("refused.h5"), NULL, "label-column", "label"), NVDP_ERR_ARGUMENT,
          "label-column: expected --classes A,B,... or --range LOW,HIGH with it");
    fails(SUMMARIZE(&p, out_path("refused.h5"), NULL, "person", "person", "duplicates", "refuse"),
          NVDP_ERR_ARGUMENT, "refuse has no effect");
    fails(
        SUMMARIZE(&p, out_path("refused.h5"), NULL, "classes", "good,bad", "label-column", "none"),
        NVDP_ERR_INPUT, "missing column 'none'");
    struct place same = p;
    snprintf(same.center, sizeof same.center, "%s", p.input);
    fails(SUMMARIZE(&same, out_path("refused.h5"), NULL, "rows", "1"), NVDP_ERR_ARGUMENT,
          "expected public texts");
}

/* Verification refuses the file by the check `what`, whose message has `says`. */
static void refused(const struct place *p, const char *path, const char *what, const char *says,
                    const char *of) {
    const struct nvdp_verification found = verified(p, path);
    cr_assert_not(found.holds, "%s", of);
    cr_expect_not(found.useful, "%s", of);
    bool named = false;
    for (size_t k = 0; k < found.checks; k++)
        named |= found.check[k].verdict == NVDP_VERDICT_NO &&
                 strstr(found.check[k].what, what) != NULL &&
                 strstr(found.check[k].found, says) != NULL;
    cr_expect(named, "%s: %s: %s", of, failed(&found)->what, failed(&found)->found);
}

/* Every number that a reader would rely on is checked: a changed attribute or value is found. */
Test(summarize, verify_finds_changes) {
    static const struct {
        const char *name, *value, *what, *says;
    } cases[] = {{"summary_epsilon", ".5", "noise and weights", ""},
                 {"summary_mu", ".1", "noise and weights", ""},
                 {"noise_off_diagonal", "9", "noise and weights", ""},
                 {"weight_vector", ".1", "noise and weights", ""},
                 {"bits", "7", "noise and weights", ""},
                 {"units", "4000", "known entries", ""},
                 {"synthetic_rows", "3", "the matrix and the synthetic rows", ""},
                 {"items", "5", "the matrix and the synthetic rows", "'items' is 5, expected 6"},
                 {"vector_width", "15", "the datasets have the shapes", ""}};
    const struct place p = place_with(50);
    const char *out = out_path("honest.safetensors");
    ok(SUMMARIZE(&p, out, NULL, "classes", "good,bad", "rows", "5"));
    cr_assert(verified(&p, changed_file(p.ctx, out, NULL, NULL, 0, NULL)).holds);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(&p, changed_file(p.ctx, out, cases[i].name, cases[i].value, 0, NULL), cases[i].what,
                cases[i].says, cases[i].name);
}

/* The kind of answer, the number of answers, the names of classes and the range contradict each other. */
Test(summarize, verify_finds_answers_that_do_not_fit) {
    static const char three[] = "[\"a\",\"b\",\"c\"]", two[] = "[\"a\",\"b\"]";
    static const struct {
        const char *option, *given, *name, *value;
    } cases[] = {{"classes", "good,bad", "answer_kind", "score"},
                 {"classes", "good,bad", "answer_kind", "none"},
                 {"classes", "good,bad", "answer_kind", NULL},
                 {"classes", "good,bad", "label_names", three},
                 {"classes", "good,bad", "label_names", "[\"a\"]"},
                 {"classes", "good,bad", "label_names", NULL},
                 {"classes", "good,bad", "answer_low", "0"},
                 {"classes", "good,bad,other", "label_names", two},
                 {"classes", "good,bad,other", "label_names", "[\"a\",\"b\",\"c\",\"d\"]"},
                 {"range", "0,5", "answer_kind", "class"},
                 {"range", "0,5", "label_names", two},
                 {"range", "0,5", "answer_high", "0"},
                 {"range", "0,5", "answer_low", NULL},
                 {"reduce", "0", "answer_kind", "class"},
                 {"reduce", "0", "label_names", "[]"}};
    const struct place p = place_with(30);
    const char *out = out_path("answers.h5");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *column = strcmp(cases[i].option, "range") == 0 ? "score" : "label";
        const bool none = strcmp(cases[i].option, "reduce") == 0;
        ok(SUMMARIZE(&p, out, NULL, cases[i].option, cases[i].given, "no-ledger", "true",
                     "overwrite", "true", none ? NULL : "label-column", column));
        refused(&p, changed_file(p.ctx, out, cases[i].name, cases[i].value, 0, NULL),
                "answers, their kind", "", support_path("%s: %s", cases[i].given, cases[i].name));
    }
}

/* Claims that only samples can make would mislead the reader of a summary. */
Test(summarize, verify_finds_claims_about_samples) {
    static const char *const cases[][2] = {
        {"certificate", "a"},      {"certificate_epsilon", "1"},
        {"clip_sequence", "1"},    {"divergence_bound", "1"},
        {"bdp_epsilon", "1"},      {"weights", "learned"},
        {"weights_distance", "0"}, {"noise_logvar_min", "0"},
        {"lambda_g", "1"},         {"ledger_samples", "1"},
        {"texts", "50"},           {"length", "1"},
        {"pool", "mean"},          {"prior_alpha", "1"},
        {"pad_alpha", "1"},        {"nvib_delta", "1"},
        {"regularizer", "kl"},     {"latent_heads", "1"},
        {"row_index", "none"},     {"text_unit", "pair"},
        {"word_window", "1"},      {"training_steps", "0"},
        {"training_delta", "0"},   {"named_share", "above 50 %"}};
    const struct place p = place_with(20);
    const char *out = out_path("samples.h5");
    ok(SUMMARIZE(&p, out, NULL, "rows", "1"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(&p, changed_file(p.ctx, out, cases[i][0], cases[i][1], 0, NULL),
                "nothing that only samples have", support_path("'%s'", cases[i][0]), cases[i][0]);
}

/* Steps of the matrix, for a number in units of a row. */
static int32_t in_steps(const struct nvdp__summary *plan, double value) {
    return (int32_t)lround(ldexp(value, -plan->grid.exponent));
}

/* A diagonal is refused if no rows of norm 1 have it, even if each of its entries is possible. */
Test(summarize, verify_finds_a_diagonal_that_no_rows_have) {
    const struct place p = place_with(50);
    const char *out = out_path("diagonal.h5");
    struct nvdp__summary plan;
    ok(SUMMARIZE(&p, out, NULL, "classes", "good,bad", "summary-epsilon", "100", "rows", "2"));
    ok(nvdp__summary_plan(p.ctx, 50, 16, 1, 100, 1e-5, &plan));
    const double s = plan.sigma;
    /* n = 50, alpha^2 n = 5, beta^2 n = tau^2 n = 22.5; sums have noise of sqrt(18) s, 4 s and s */
    const struct {
        double constant, vector, answer; /* sums of the diagonal */
        const char *says;                /* NULL: allowed */
    } cases[] = {{5 + 7 * s, 22.5 + 31 * s, 22.5 + 7 * s,
                  "at most 10.4"}, /* 45 / sqrt(18), less the steps */
                 {5, 22.5 + 33 * s, 0, "at most 8.1"},
                 {5, 0, 22.5 + 9 * s, "at most 8.9"},
                 {5, -16 * 9 * s, 0, "at most 8.9"},
                 {5 + 9 * s, 0, 0, "at most 8.9"},
                 {5 + 7 * s, 22.5, 22.5 + 7 * s, NULL},
                 {5, 22.5 + 31 * s, 0, NULL},
                 {5, -16 * 7 * s, 0, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct changed_number numbers[18] = {{0, in_steps(&plan, cases[i].constant)}};
        for (size_t k = 1; k < 17; k++)
            numbers[k] = (struct changed_number){k * 19, in_steps(&plan, cases[i].vector / 16)};
        numbers[17] = (struct changed_number){17 * 19, in_steps(&plan, cases[i].answer)};
        const char *changed = changed_file(p.ctx, out, NULL, NULL, 18, numbers);
        if (cases[i].says == NULL)
            cr_expect(verified(&p, changed).holds, "case %zu", i);
        else
            refused(&p, changed, "known entries", cases[i].says, support_path("case %zu", i));
    }
}

/* A synthetic row has the constant, an answer of its kind, and numbers that float32 holds. */
Test(summarize, verify_finds_synthetic_rows_that_are_none) {
    enum { ONE = 1 << 20, ROW = 1 }; /* steps of 1; the second of two rows */
    static const struct {
        const char *option, *given;
        size_t width, from_end; /* of the number that changes */
        double value;
        const char *says; /* NULL: the row is allowed */
    } cases[] = {{"classes", "good,bad", 18, 18, .3, "the constant"},
                 {"classes", "good,bad", 18, 1, .5, "the answer is not one class"},
                 {"classes", "good,bad", 18, 3, 16, "2^24 steps"},
                 {"classes", "good,bad", 18, 3, -15.9, NULL},
                 {"classes", "good,bad,other", 19, 3, .9, "the answer is not one class"},
                 {"range", "0,5", 18, 1, .7, "the score is out of range"},
                 {"range", "0,5", 18, 1, -.67, NULL},
                 {"reduce", "0", 17, 17, .2, "the constant"}};
    const struct place p = place_with(30);
    const char *out = out_path("synthetic.h5");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t width = cases[i].width;
        const struct changed_number number = {(width + ROW + 1) * width - cases[i].from_end,
                                              (int32_t)lround(cases[i].value * ONE)};
        ok(SUMMARIZE(&p, out, NULL, cases[i].option, cases[i].given, "rows", "2", "no-ledger",
                     "true", "summary-epsilon", "100", "overwrite", "true",
                     width == 17 ? NULL : "label-column",
                     strcmp(cases[i].option, "range") == 0 ? "score" : "label"));
        const char *changed = changed_file(p.ctx, out, NULL, NULL, 1, &number);
        if (cases[i].says == NULL)
            cr_expect(verified(&p, changed).holds, "case %zu", i);
        else
            refused(&p, changed, "synthetic rows have", cases[i].says, support_path("case %zu", i));
    }
}

/* A file of persons is no file of rows, and the other way round: verify recomputes the statement with the unit. */
Test(summarize, verify_recomputes_with_the_unit) {
    const struct place p = place_with(20);
    const char *out = out_path("unit.h5");
    ok(SUMMARIZE(&p, out, NULL, "person", "person", "rows", "1", "no-ledger", "true"));
    cr_expect(verified(&p, out).holds);
    refused(&p, changed_file(p.ctx, out, "unit", "row", 0, NULL), "statement", "", "row");
    refused(&p, changed_file(p.ctx, out, "unit", "text", 0, NULL), "", "unit", "text");
    ok(SUMMARIZE(&p, out, NULL, "rows", "1", "no-ledger", "true", "overwrite", "true"));
    refused(&p, changed_file(p.ctx, out, "unit", "person", 0, NULL), "statement", "", "person");
    fails(SUMMARIZE(&p, out_path("refused.h5"), NULL, "person", "nobody"), NVDP_ERR_INPUT,
          "missing column 'nobody'");
    fails(SUMMARIZE(&p, out_path("refused.h5"), NULL, "no-ledger", "true", "receiver", "r"),
          NVDP_ERR_ARGUMENT, "excludes --receiver");
}

/* A row of pairs is sqrt(p) times the products of both vectors and their absolute differences, of length 1. A text in k pairs has k
 * mu, or with persons once per person. */
Test(summarize, pairs_of_texts) {
    enum { PAIRS = 5, P = 16, WIDTH = 2 * P + 2 };
    static const char *const words[PAIRS][2] = {{"good sun", "bad sun"},
                                                {"good sun", "a dog"},
                                                {"cat", "good sun"},
                                                {"bad dog", "sun"},
                                                {"cat", "dog sun"}};
    struct place p = place_with(40);
    const char *singles = support_scratch_path("singles.tsv"), *out = out_path("pairs.h5");
    char table[2048] = "text\tother\tscore\tperson\n", list[2048] = "text\tlabel\n";
    snprintf(p.input, sizeof p.input, "%s", support_scratch_path("pairs.tsv"));
    for (size_t i = 0; i < PAIRS; i++) {
        const char *const *text = words[i];
        strcat(table, support_path("%s\t%s\t%zu\tp%zu\n", text[0], text[1], i, i / 3));
        strcat(list, support_path("%s\tx\n%s\tx\n", text[0], text[1]));
    }
    support_write_text(p.input, table);
    support_write_text(singles, list);
    struct nvdp_summary_result result = NVDP_RESULT(struct nvdp_summary_result);
    ok(SUMMARIZE(&p, out, &result, "text-pair-column", "other", "range", "0,4", "label-column",
                 "score", "summary-epsilon", "1000", "rows", "2"));
    cr_expect(result.units == PAIRS && result.dim == 2 * P && result.width == WIDTH);
    cr_expect_float_eq(result.spent_epsilon / nvdp_gdp_epsilon(3 * result.mu, 1e-5), 1, 1e-6, "%g",
                       result.spent_epsilon / result.epsilon);
    struct nvdp_config *config = support_config(p.ctx, "run", "run", p.run, "data", singles, NULL);
    struct nvdp_posteriors *set = NULL;
    ok(nvdp_run_posteriors(p.ctx, config, &set));
    double want[WIDTH][WIDTH] = {{0}};
    for (size_t r = 0; r < PAIRS; r++) {
        const double *u = set->mu + 2 * r * P, *v = u + P;
        double z[WIDTH] = {sqrt(.1)}, square = 0;
        for (size_t i = 0; i < P; i++) {
            z[1 + i] = 4 * u[i] * v[i];
            z[1 + P + i] = fabs(u[i] - v[i]);
        }
        for (size_t i = 1; i <= 2 * P; i++)
            square += z[i] * z[i];
        for (size_t i = 1; i <= 2 * P; i++)
            z[i] *= sqrt(.45 / square);
        z[WIDTH - 1] = sqrt(.45) * ((double)r / 2 - 1);
        for (size_t i = 0; i < WIDTH; i++)
            for (size_t j = 0; j < WIDTH; j++)
                want[i][j] += z[i] * z[j];
    }
    nvdp_posteriors_free(set);
    size_t width = 0;
    const double *matrix = matrix_of(&p, out, &width);
    for (size_t i = 0; i < WIDTH; i++) /* noise of standard deviation .04 at this epsilon */
        for (size_t j = 0; j < WIDTH; j++)
            cr_expect_float_eq(matrix[i * WIDTH + j], want[i][j], .2, "%zu %zu", i, j);
    struct nvdp_verification found = verified(&p, out);
    cr_assert(found.holds, "%s", found.holds ? "" : failed(&found)->what);
    support_contains(found.statement, "Pairs that have a text in common");
    ok(nvdp_verify_ledger(p.ctx, out, support_path("%s/ledger", p.run), NULL, &found));
    cr_assert(found.holds, "%s", found.holds ? "" : failed(&found)->found);
    refused(&p, changed_file(p.ctx, out, "vector_width", "31", 0, NULL), "", "", "odd");
    refused(&p, changed_file(p.ctx, out, "pair_features", "sum", 0, NULL), "", "pair_features",
            "sum");
    /* p0 has three pairs and p1 two; "cat" is of both */
    const char *ledger = support_scratch_path("other-ledger");
    ok(SUMMARIZE(&p, out_path("both.h5"), &result, "text-pair-column", "other", "person", "person",
                 "ledger", ledger));
    cr_expect_eq(result.units, 2);
    cr_expect_float_eq(result.spent_epsilon, nvdp_gdp_epsilon(2 * result.mu, 1e-5), 1e-6);
    found = verified(&p, out_path("both.h5"));
    ok(nvdp_verify_ledger(p.ctx, out_path("both.h5"), ledger, NULL, &found));
    cr_assert(found.holds, "%s", found.holds ? "" : failed(&found)->found);
    cr_expect_float_eq(found.person.mu, result.mu, 1e-9);
    fails(SUMMARIZE(&p, out_path("no.h5"), NULL, "text-pair-column", "none"), NVDP_ERR_INPUT,
          "missing column 'none'");
    fails(SUMMARIZE(&p, out_path("no.h5"), NULL, "text-pair-column", "other", "input", "-"),
          NVDP_ERR_ARGUMENT, "for each text of a pair");
}

/* --- an encoder that was trained before --- */

/* The facts of a summary, with an encoder of this training. */
static void certify_with(struct nvdp_dp_steps trained, double epsilon, double delta,
                         struct nvdp__summary_facts *of, struct nvdp__release_facts *facts) {
    static const struct nvdp__release_grids exact;
    ok(nvdp__summary_plan(NULL, 1000, 16, 1, of->epsilon, of->delta, &of->plan));
    of->trained.noise = trained.noise;
    of->trained.rate = trained.rate;
    of->trained.steps = trained.steps;
    *facts = (struct nvdp__release_facts){
        .summary = of, .grids = &exact, .training_epsilon = epsilon, .training_delta = delta};
    ok(nvdp__release_certify(NULL, facts));
    ok(nvdp__release_guarantee(NULL, facts));
}

/* Epsilons by discretized losses of both mechanisms, zeroed out, convolved by an FFT (numpy, steps of 2e-4). The epsilons of
 * the parts add up to 3.13, 12.2 and 7.34. */
Test(summarize, losses_of_a_training_and_of_the_file_are_composed) {
    static const struct {
        struct nvdp_dp_steps trained;
        double epsilon, delta, training, together;
    } cases[] = {{{1.2, .05, 100}, 1, 1e-5, 2.44606, 2.55888},
                 {{.9, .3, 10}, 4, 1e-6, 9.50516, 10.00135},
                 {{3, 1, 20}, .5, 1e-5, 6.99923, 7.01825}};
    struct nvdp__release_facts facts;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nvdp__summary_facts of = {.epsilon = cases[i].epsilon, .delta = cases[i].delta};
        const double want = cases[i].together;
        certify_with(cases[i].trained, cases[i].training, cases[i].delta, &of, &facts);
        cr_expect(of.together > want * (1 - 2e-4) && of.together < want * 1.005, "%zu: %g", i,
                  of.together);
        cr_expect_float_eq(facts.certificate.epsilon, cases[i].epsilon, 1e-6);
    }
    /* of the training only epsilon and delta are known: they add up with delta, and not beyond it */
    struct nvdp__summary_facts of = {.epsilon = 1, .delta = 1e-5};
    certify_with((struct nvdp_dp_steps){0}, 2, 9e-6, &of, &facts);
    cr_expect(of.together > 2.3 && of.together < 2 + nvdp_gdp_epsilon(of.plan.mu / M_SQRT2, 1e-6),
              "%g", of.together);
    certify_with((struct nvdp_dp_steps){0}, 2, 1e-5, &of, &facts);
    cr_expect(isinf(of.together) && !facts.useful);
    support_contains(facts.guarantee, "No useful guarantee");
    support_contains(facts.guarantee, "Nothing is proven by both together");
    of.persons = true; /* several examples of a person */
    certify_with(cases[0].trained, 2, 1e-6, &of, &facts);
    cr_expect(isinf(of.together));
    certify_with((struct nvdp_dp_steps){0}, NAN, NAN, &of, &facts);
    cr_expect(facts.useful && isnan(of.together));
}

/* Summarizes with the model of a run that was trained on the rows. */
static struct nvdp_verification by_trained(struct place *p, const char *name, double epsilon,
                                           const char *out) {
    char run[400];
    snprintf(run, sizeof run, "%s", support_scratch_path(name));
    struct nvdp__train_options config = task_options(p->ctx, NVDP_METHOD_BASE, run);
    config.out = run;
    config.epochs = 1;
    if (epsilon > 0) config.dp.batch = 20;
    config.dp.target_epsilon = epsilon;
    task_train(p->ctx, &config);
    snprintf(p->model, sizeof p->model, "%s/model", run);
    snprintf(p->run, sizeof p->run, "%s", support_scratch_path(support_path("%s-summary", name)));
    ok(SUMMARIZE(p, out, NULL, "classes", "good,bad", "rows", "2", "overwrite", "true"));
    return verified(p, out);
}

Test(summarize, states_what_the_training_of_its_encoder_adds) {
    struct place p = place_with(60);
    const char *out = out_path("trained.h5");
    struct nvdp_verification found = by_trained(&p, "private", 3, out);
    cr_assert(found.holds, "%s", found.holds ? "" : failed(&found)->what);
    cr_expect(found.certified && found.epsilon <= 1 && found.epsilon > .99);
    support_contains(found.guarantee,
                     "A row that the encoder's private training read, too, has epsilon");
    support_contains(found.statement, "losses are composed as distributions");
    for (size_t i = 0; i < 3; i++) { /* less noise, more steps, a smaller epsilon of the training */
        static const char *const changed[][2] = {
            {"training_noise", "9"}, {"training_steps", "1"}, {"training_epsilon", "1"}};
        refused(&p, changed_file(p.ctx, out, changed[i][0], changed[i][1], 0, NULL),
                "the statement", "", changed[i][0]);
    }
    found = by_trained(&p, "plain", 0, out);
    cr_expect(found.holds && !found.certified && !found.useful);
    support_contains(found.guarantee,
                     "No guarantee: the encoder was trained on some of these texts "
                     "without privacy");
    /* other texts, of which the encoder learned nothing */
    support_write_text(p.input,
                       "text\nwhat the training never read is long enough\nnor did it read this\n");
    ok(SUMMARIZE(&p, out, NULL, "rows", "0", "overwrite", "true"));
    found = verified(&p, out);
    cr_expect(found.holds && found.certified && found.useful);
    support_contains(found.statement, "is not known here");
}

/* With the encoder of a run on pairs, x is the embedding of both texts together: computed here from the file's map, by the
 * encoder alone. The reader of the file, and the attack, read pairs in the same way. */
Test(summarize, pairs_that_the_encoder_reads_together) {
    enum { PAIRS = 5, WIDTH = 16 + 2 };
    static const char *const first[] = {"good sun", "good sun", "cat", "bad dog", "cat"},
                             *const second[] = {"bad sun", "a dog", "good sun", "sun", "dog sun"};
    struct place p = place_with(20);
    const char *run = support_scratch_path("joint"), *out = out_path("joint.h5"),
               *folder = support_scratch_path("joint-reader");
    struct nvdp__train_options training = task_options(p.ctx, NVDP_METHOD_BASE, run);
    training.out = run;
    training.epochs = 1;
    training.columns.text_pair_column = "label"; /* of other pairs than these */
    task_train(p.ctx, &training);
    snprintf(p.model, sizeof p.model, "%s/model", run);
    snprintf(p.run, sizeof p.run, "%s", support_scratch_path("joint-summary"));
    char table[2048] = "text\tother\tscore\n";
    for (size_t i = 0; i < PAIRS; i++)
        strcat(table, support_path("%s\t%s\t%zu\n", first[i], second[i], i));
    support_write_text(p.input, table);
    fails(SUMMARIZE(&p, out, NULL, "text-pair-column", "other"), NVDP_ERR_INPUT, "public.txt");
    snprintf(p.center, sizeof p.center, "%s", support_scratch_path("public.tsv"));
    support_write_text(p.center, "text\tother\npublic one\tnew\nthe old\tcat\n");
    fails(SUMMARIZE(&p, out, NULL, "text-pair-column", "other"), NVDP_ERR_ARGUMENT,
          "expected public texts");
    support_write_text(p.center, "text\tother\npublic one\tnew\nthe old\tone\n");
    snprintf(p.run, sizeof p.run, "%s", support_scratch_path("joint-summary-2"));
    struct nvdp_summary_result result = NVDP_RESULT(struct nvdp_summary_result);
    ok(SUMMARIZE(&p, out, &result, "text-pair-column", "other", "range", "0,4", "label-column",
                 "score", "summary-epsilon", "1000", "rows", "2"));
    cr_expect(result.units == PAIRS && result.width == WIDTH);
    cr_expect_float_eq(result.spent_epsilon / nvdp_gdp_epsilon(3 * result.mu, 1e-5), 1, 1e-6);
    struct nvdp_verification found = verified(&p, out);
    cr_assert(found.holds, "%s", found.holds ? "" : failed(&found)->what);
    support_contains(found.statement, "the embedding of both together and its score");
    refused(&p, changed_file(p.ctx, out, "pair_features", "product-difference", 0, NULL), "", "",
            "product");

    struct nvdp_config *config = support_config(p.ctx, "reuse", "file", out, "out", folder, NULL);
    nvdp__autoresult struct nvdp_reuse_result reused = NVDP_RESULT(struct nvdp_reuse_result);
    nvdp__auto(nvdp__linear_release) struct nvdp__linear_reader reader = {0};
    nvdp__auto(nvdp__linear_input_release) struct nvdp__linear_input input = {0};
    nvdp__autoptr(nvdp_encoder_free) struct nvdp_encoder *encoder = NULL;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *pairs = NULL;
    float x[PAIRS * 16], outputs[PAIRS];
    bool there[PAIRS];
    double want[WIDTH][WIDTH] = {{0}};
    size_t width = 0;
    ok(nvdp_reuse(p.ctx, config, &reused));
    ok(nvdp__linear_load(p.ctx, folder, &reader));
    ok(nvdp__query_encoder(p.ctx, &reader.query, p.model, &encoder));
    ok(nvdp_dataset_from_texts(p.ctx, nvdp_encoder_tokenizer(encoder), reader.query.max_length,
                               PAIRS, first, second, &pairs));
    ok(nvdp__query_embed(p.ctx, &reader.query, encoder, pairs, x, there));
    ok(nvdp__linear_texts(&reader, encoder, p.input, "text", "other", NULL, &input));
    ok(nvdp__linear_outputs(&reader, encoder, &input, outputs));
    for (size_t r = 0; r < PAIRS; r++) {
        double z[WIDTH] = {sqrt(.1)}, y = (double)reader.bias[0];
        for (size_t i = 0; i < 16; i++) {
            z[1 + i] = sqrt(.45) * (double)x[r * 16 + i];
            y += (double)reader.weight[i] * (double)x[r * 16 + i];
        }
        z[WIDTH - 1] = sqrt(.45) * ((double)r / 2 - 1);
        cr_expect_float_eq((double)outputs[r], 2 * (1 + y), 1e-4);
        for (size_t i = 0; i < WIDTH; i++)
            for (size_t j = 0; j < WIDTH; j++)
                want[i][j] += z[i] * z[j];
    }
    const double *matrix = matrix_of(&p, out, &width);
    cr_assert_eq(width, WIDTH);
    for (size_t i = 0; i < WIDTH; i++) /* noise of standard deviation .04 at this epsilon */
        for (size_t j = 0; j < WIDTH; j++)
            cr_expect_float_eq(matrix[i * WIDTH + j], want[i][j], .2, "%zu %zu", i, j);

    nvdp__autoptr(nvdp_attack_free) struct nvdp_attack_result *attack = NULL;
    nvdp__autofree char *verdict = NULL;
    config = support_config(p.ctx, "attack", "kind", "summary", "run", p.run, "shared", out, "data",
                            p.input, "samples", "1000", "text-pair-column", "other", "label-column",
                            "score", NULL);
    ok(nvdp_attack(p.ctx, config, &attack));
    ok(nvdp_attack_verdict(p.ctx, attack, &verdict));
    cr_expect_str_eq(verdict, "");
}
