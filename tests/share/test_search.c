/* An encoder's own embedding, released without training, and searched: the file, the estimates, the refusals. */
#include "attack/texts.h"
#include "fixture.h"

extern const struct nvdp__attack nvdp__attack_row_bag;

enum { COPIES = 2000, TEXTS = 14 };

/* Folder of a public encoder, public texts, and a table with two texts, many times each, and an empty one. */
struct place {
    struct nvdp_context *ctx;
    const char *model, *center, *input, *out, *run;
};

/* The different texts of the task's train file: all, each twice in a row, as public ones, and the first TEXTS, or two
 * with copies, as those to export. */
static void write_texts(const struct task *task, const struct place *p, size_t copies) {
    nvdp__autofree char *name = nvdp__format(p->ctx, "%s/train.tsv", task->data);
    char *rows = support_read(name), *seen[TASK_TRAIN];
    nvdp__autoptr(fclose) FILE *center = fopen(p->center, "w"), *input = fopen(p->input, "w");
    size_t n = 0;
    fputs("text\n", input);
    strtok(rows, "\n"); /* the header */
    for (char *row; (row = strtok(NULL, "\n")) != NULL;) {
        bool again = false;
        row[strcspn(row, "\t")] = '\0';
        for (size_t i = 0; i < n; i++)
            again |= strcmp(seen[i], row) == 0;
        if (again) continue;
        seen[n++] = row;
        fprintf(center, "%s %s\n", row, row);
        for (size_t k = 0; k < copies && n <= (copies > 1 ? 2 : TEXTS); k++)
            fprintf(input, "%s\n", row);
    }
    cr_assert_geq(n, TEXTS);
}

static struct place begin(size_t copies) {
    struct place p = {.ctx = support_context(),
                      .center = support_scratch_path("public.txt"),
                      .input = support_scratch_path("texts.tsv"),
                      .out = support_scratch_path("shared.h5"),
                      .run = support_scratch_path("sentence")};
    const struct task task = task_make(p.ctx);
    p.model = support_path("%s", task.model);
    write_texts(&task, &p, copies);
    return p;
}

static struct nvdp_config *export_config(const struct place *p) {
    return support_config(p->ctx, "export", "model", p->model, "center", p->center, "input",
                          p->input, "out", p->out, "run", p->run, "measure-texts", "0", NULL);
}

static nvdp_status export(const struct place *p, va_list options, struct nvdp_export_result *out) {
    struct nvdp_config *config = export_config(p);
    support_set_list(p->ctx, config, options);
    return nvdp_export(p->ctx, config, out);
}

/* Exports with the options: names and values, then NULL. */
static __attribute__((sentinel)) struct nvdp_export_result exported(const struct place *p, ...) {
    struct nvdp_export_result *result = support_keep(malloc(sizeof *result));
    va_list options;
    *result = (struct nvdp_export_result)NVDP_RESULT(struct nvdp_export_result);
    va_start(options, p);
    ok(export(p, options, result));
    va_end(options);
    return *result;
}

/* Exports with C = 4, without a ledger and over an earlier file, and with more options. */
static __attribute__((sentinel)) void exported_again(const struct place *p, ...) {
    struct nvdp_config *config = export_config(p);
    va_list options;
    support_set_all(p->ctx, config, "clip-sequence", "4", "no-ledger", "true", "overwrite", "true",
                    NULL);
    va_start(options, p);
    support_set_list(p->ctx, config, options);
    va_end(options);
    ok(nvdp_export(p->ctx, config, NULL));
}

static __attribute__((sentinel)) void refused(const struct place *p, nvdp_status code,
                                              const char *message, ...) {
    va_list options;
    va_start(options, message);
    fails(export(p, options, NULL), code, message);
    va_end(options);
}

/* The first line of the input behind its header. */
static char *line_of(const struct place *p, size_t line) {
    char *text = support_read(p->input), *row = strtok(text, "\n");
    for (size_t i = 0; i < line; i++)
        row = strtok(NULL, "\n");
    return row;
}

struct searched {
    struct nvdp_shared *shared;
    struct nvdp_search *search;
    struct nvdp_search_info info;
};

static struct searched open_search(const struct place *p, const char *file) {
    struct searched s = {.info = NVDP_RESULT(struct nvdp_search_info)};
    ok(nvdp_shared_read(p->ctx, file, &s.shared));
    ok(nvdp_search_open(p->ctx, s.shared, p->model, &s.search));
    ok(nvdp_search_describe(s.search, &s.info));
    support_keep(s.shared);
    support_keep(s.search);
    return s;
}

/* Returns the first hits of a query. */
static const struct nvdp_hit *hits(const struct place *p, const struct searched *s,
                                   const char *query, size_t count) {
    struct nvdp_hit *hit = support_keep(calloc(count, sizeof *hit));
    ok(nvdp_search_texts(p->ctx, s->search, NULL, 1, &query, count, hit));
    return hit;
}

/* Estimates of all texts, by their index. */
static double *estimates(const struct place *p, const char *file, const char *query,
                         struct nvdp_search_info *info) {
    const struct searched s = open_search(p, file);
    const size_t n = s.info.texts;
    const struct nvdp_hit *hit = hits(p, &s, query, n);
    double *made = support_keep(calloc(n, sizeof *made));
    for (size_t k = 0; k < n; k++) {
        made[hit[k].text] = hit[k].estimate;
        cr_assert_eq(hit[k].id, (int64_t)hit[k].text);
        cr_assert(k == 0 || hit[k - 1].estimate >= hit[k].estimate);
        cr_assert(isnan(hit[k].above)); /* no text comes after the last hit */
    }
    *info = s.info;
    return made;
}

/* Mean and spread of the estimates of n copies of a text are those that the theory states. A false alarm has
 * probability 1e-5 at most in each check (4.5 standard errors). */
static void check_copies(size_t n, const double *estimate, double cosine,
                         const struct nvdp_search_info *info) {
    double mean = 0, square = 0;
    size_t covered = 0;
    for (size_t i = 0; i < n; i++) {
        mean += estimate[i] / (double)n;
        square += (estimate[i] - cosine) * (estimate[i] - cosine) / (double)n;
        covered += fabs(estimate[i] - cosine) <= info->margin;
        cr_expect_leq(fabs(estimate[i] - cosine), info->margin_all * 1.35);
    }
    const double error = sqrt((double)n);
    cr_expect_leq(fabs(mean - cosine), 4.5 * info->deviation / error + 1e-3, "%g, expected %g",
                  mean, cosine);
    cr_expect_leq(fabs(sqrt(square) / info->deviation - 1), 4.5 / sqrt(2) / error + 1e-3, "%g",
                  sqrt(square) / info->deviation);
    cr_expect_leq(fabs((double)covered / (double)n - .95), 4.5 * sqrt(.95 * .05) / error, "%zu",
                  covered);
}

/* Estimates are unbiased with variance 1/(C^2 S), also after the reduction, for a text and its own query, whose cosine
 * is 1, and for another text, whose cosine comes from a file with hardly any noise. */
Test(search, unbiased_with_the_stated_variance) {
    static const char *const cases[][3] = {{"3", "0", "1"}, {"3", "5", "1"}, {"2", "0", "4"}};
    for (size_t k = 0; k < 3; k++) {
        struct nvdp_search_info info, sharp;
        struct place p = begin(COPIES);
        char *query = line_of(&p, 1);
        p.run = support_path("%s%zu", p.run, k);
        exported(&p, "clip-sequence", cases[k][0], "reduce", cases[k][1], "samples", cases[k][2],
                 "insecure-seed", "11", "no-ledger", "true", "overwrite", "true", NULL);
        double *found = estimates(&p, p.out, query, &info);
        exported(&p, "clip-sequence", "1000", "reduce", cases[k][1], "run",
                 support_path("%s.sharp", p.run), "overwrite", "true", "no-ledger", "true", NULL);
        double *exact = estimates(&p, p.out, query, &sharp);
        near(info.deviation, 1 / (atof(cases[k][0]) * sqrt(atof(cases[k][2]))), 1e-12);
        near(info.margin, 1.959963984540054 * info.deviation, 1e-9);
        near(exact[0], 1, 6e-3); /* six deviations */
        check_copies(COPIES, found, 1, &info);
        double cosine = 0;
        for (size_t i = 0; i < COPIES; i++)
            cosine += exact[COPIES + i] / COPIES;
        check_copies(COPIES, found + COPIES, cosine, &info);
    }
}

/* Every format and a folder of shards give the same file content: verify accepts it, and the search finds a text by
 * itself. The file states the caveat about guesses. */
Test(search, formats_and_shards) {
    static const char *const names[] = {"s.h5", "s.safetensors", "s.parquet"};
    struct place p = begin(1);
    const char *query = line_of(&p, 7);
    char id[] = "00000000000000000000000000000007";
    const char *shards = support_scratch_path("shards");
    ok(nvdp__make_directory(p.ctx, shards));
    for (size_t i = 0; i < 5; i++) {
        if (i < 3) p.out = support_scratch_path(names[i]);
        if (i >= 3) p.out = support_path("%s/%zu.h5", shards, i);
        exported(&p, "clip-sequence", "200", "reduce", "6", "model-id", id, "budget-samples", "9",
                 "batch", i == 1 ? "3" : "32", NULL);
        if (i == 3) continue;
        if (i < 3) {
            const struct nvdp_verification found = share_verified(p.ctx, p.out, NULL);
            all_hold(&found);
            support_contains(found.statement, "Whoever guesses a text can compute its vector",
                             "named as public (mean and map), which no noise",
                             " None of the public texts is among the texts of this file.\n");
            support_lacks(found.statement, "It was trained on task");
        }
        const struct searched s = open_search(&p, i == 4 ? shards : p.out);
        cr_expect_eq(s.info.texts, i == 4 ? 2 * TEXTS : TEXTS);
        cr_expect_eq(s.info.dim, 6);
        const struct nvdp_hit *hit = hits(&p, &s, query, 3);
        cr_expect_eq(hit[0].text % TEXTS, 6);
        cr_expect_eq(hit[0].id, 6);
        near(hit[0].estimate, 1, .03);
        cr_expect(hit[0].above > .5 && hit[0].above <= 1);
    }
}

/* Many queries give the hits of single queries, with any number of threads. */
Test(search, queries_and_threads) {
    const char *query[5];
    struct nvdp_hit together[5][4], alone[4];
    struct place p = begin(1);
    exported(&p, "clip-sequence", "4", NULL);
    for (size_t i = 0; i < 5; i++)
        query[i] = line_of(&p, 1 + 2 * i);
    const struct searched s = open_search(&p, p.out);
    ok(nvdp_search_texts(p.ctx, s.search, NULL, 5, query, 4, together[0]));
    for (size_t i = 0; i < 5; i++) {
        ok(nvdp_context_set_threads(p.ctx, 1 + (int)i));
        ok(nvdp_search_texts(p.ctx, s.search, NULL, 1, &query[i], 4, alone));
        for (size_t k = 0; k < 4; k++) {
            cr_expect_eq(alone[k].text, together[i][k].text);
            near(alone[k].estimate, together[i][k].estimate, 1e-5);
            cr_expect_eq(alone[k].shrunken, together[i][k].shrunken);
            cr_expect_eq(alone[k].above, together[i][k].above);
        }
    }
}

enum { MANY = 1000, QUERIES = 100, TOP = 10 };

/* Writes random texts of 2 to 12 of the task's words. */
static void random_texts(const char *file, const char *header, size_t count, unsigned seed,
                         char text[][64]) {
    static const char *const words[] = {"good", "bad", "cat",  "dog", "sun",
                                        "sea",  "red", "blue", "one", "two"};
    FILE *to = fopen(file, "w");
    fputs(header, to);
    for (size_t i = 0; i < count; i++) {
        text[i][0] = '\0';
        for (unsigned n = 2 + (unsigned)rand_r(&seed) % 11; n > 0; n--)
            snprintf(text[i] + strlen(text[i]), 64 - strlen(text[i]), "%s ",
                     words[(unsigned)rand_r(&seed) % 10]);
        fprintf(to, "%s\n", text[i]);
    }
    fclose(to);
}

/* Numbers of hits hold although hits are selected by their noise: intervals cover, the shrunken
 * cosine is hardly too large on average, and hits are closer than the next text as often as stated. The true cosines
 * come from a file with hardly any noise. */
Test(search, hits_are_calibrated_after_selection) {
    static char text[MANY][64], asked[QUERIES][64];
    static struct nvdp_hit all[QUERIES * MANY], top[QUERIES * TOP], more[QUERIES * (TOP + 1)];
    static double cosine[QUERIES][MANY];
    static const char *query[QUERIES];
    static const char *const clips[] = {"1000", "3", "2"};
    double stated[5] = {0}, found[5] = {0}, count[5] = {0};
    struct place p = begin(1);
    random_texts(p.input, "text\n", MANY, 1, text);
    random_texts(support_scratch_path("queries"), "", QUERIES, 2, asked);
    for (size_t q = 0; q < QUERIES; q++)
        query[q] = asked[q];
    for (size_t i = 0; i < 3; i++) {
        size_t covered = 0;
        double excess = 0, shrunken = 0;
        p.run = support_scratch_path(clips[i]);
        exported(&p, "clip-sequence", clips[i], "insecure-seed", "7", "no-ledger", "true",
                 "overwrite", "true", NULL);
        const struct searched s = open_search(&p, p.out);
        if (i == 0) {
            ok(nvdp_search_texts(p.ctx, s.search, NULL, QUERIES, query, MANY, all));
            for (size_t k = 0; k < QUERIES * MANY; k++)
                cosine[k / MANY][all[k].text] = all[k].estimate;
            continue;
        }
        ok(nvdp_search_texts(p.ctx, s.search, NULL, QUERIES, query, TOP, top));
        ok(nvdp_search_texts(p.ctx, s.search, NULL, QUERIES, query, TOP + 1, more));
        for (size_t q = 0; q < QUERIES; q++) {
            const double next = cosine[q][more[q * (TOP + 1) + TOP].text];
            bool holds = true;
            for (size_t k = 0; k < TOP; k++) {
                const struct nvdp_hit *hit = &top[q * TOP + k];
                const double t = cosine[q][hit->text];
                const size_t bin = nvdp__min((size_t)(fmax(hit->above - .5, 0) * 10), 4);
                cr_assert_eq(hit->text, more[q * (TOP + 1) + k].text);
                holds &= fabs(hit->estimate - t) <= s.info.margin_all;
                excess += (hit->estimate - t) / (QUERIES * TOP);
                shrunken += (hit->shrunken - t) / (QUERIES * TOP);
                stated[bin] += hit->above;
                found[bin] += t > next;
                count[bin]++;
            }
            covered += holds;
        }
        cr_expect_geq(covered, .95 * QUERIES, "%zu", covered);
        cr_expect_geq(excess, .5, "%g", excess);
        cr_expect_leq(shrunken, .12, "%g", shrunken);
    }
    for (size_t b = 0; b < 5; b++)
        if (count[b] >= 50)
            cr_expect_leq(stated[b] / count[b], found[b] / count[b] + .06, "%g of %g",
                          stated[b] / count[b], count[b]);
}

/* A text without tokens has mean 0: its estimates have mean 0 for every query. */
Test(search, empty_texts_have_mean_zero) {
    struct nvdp_search_info info;
    struct place p = begin(1);
    const char *query = line_of(&p, 1);
    FILE *input = fopen(p.input, "w");
    fprintf(input, "text\tnote\n");
    for (size_t i = 0; i < COPIES; i++)
        fprintf(input, "\tnone\n");
    fclose(input);
    exported(&p, "clip-sequence", "3", "insecure-seed", "5", "no-ledger", "true", NULL);
    double *found = estimates(&p, p.out, query, &info);
    check_copies(COPIES, found, 0, &info);
    const struct searched s = open_search(&p, p.out);
    const struct nvdp_hit *hit = hits(&p, &s, query, 10);
    for (size_t k = 0; k < 10; k++) { /* nothing but noise */
        cr_expect_geq(hit[k].estimate, 2 * info.deviation);
        cr_expect_leq(fabs(hit[k].shrunken), .3 * info.deviation, "%g", hit[k].shrunken);
        cr_expect(hit[k].above >= .5 && hit[k].above < .6, "%g", hit[k].above);
    }
}

/* Messages count queries from 1; a query that is longer than the encoder reads is named. */
static void keep(enum nvdp_log_level level, const char *message, void *user) {
    if (level == NVDP_LOG_NOTICE) snprintf(user, 256, "%s", message);
}

Test(search, names_queries_from_one) {
    struct nvdp_hit hit[3];
    char logged[256] = "";
    const char *const query[] = {
        "cat", "one two one two one two one two one two one two one two one two one two", ""};
    struct place p = begin(1);
    exported(&p, "clip-sequence", "4", NULL);
    const struct searched s = open_search(&p, p.out);
    nvdp_context_set_log(p.ctx, keep, logged);
    ok(nvdp_search_texts(p.ctx, s.search, NULL, 1, query, 1, hit));
    cr_expect_str_eq(logged, "");
    ok(nvdp_search_texts(p.ctx, s.search, NULL, 2, query, 1, hit));
    support_contains(logged, "query 2: the query is cut to 16 tokens");
    fails(nvdp_search_texts(p.ctx, s.search, NULL, 3, query, 1, hit), NVDP_ERR_ARGUMENT,
          "query 3: expected a text with tokens");
    fails(nvdp_search_texts(p.ctx, s.search, "q.txt", 3, query, 1, hit), NVDP_ERR_ARGUMENT,
          "q.txt:3: expected a text with tokens");
    support_contains(logged, "q.txt:2: the query is cut");
    /* a folder of a run is no release: the message says what to do */
    struct nvdp_shared *shared = NULL;
    fails(nvdp_shared_read(p.ctx, p.run, &shared), NVDP_ERR_INPUT,
          "found a run; nvdp export writes a file of its");
}

/* The run is a run: its ledger refuses a second sample, its guarantee is the certificate, and other options are refused. */
Test(search, one_run_one_ledger) {
    struct nvdp_guarantee guarantee = NVDP_RESULT(struct nvdp_guarantee);
    struct place p = begin(1);
    const struct nvdp_export_result made = exported(&p, "certified-epsilon", "8", NULL);
    cr_expect_str_eq(made.run, p.run);
    cr_expect(made.useful, "%s", made.guarantee);
    support_contains(made.guarantee, "Proven: epsilon 8 at delta 1e-05");
    cr_expect_leq(made.spent_epsilon, 8 * (1 + 1e-9));
    ok(nvdp_run_guarantee(p.ctx, p.run, &guarantee));
    near(guarantee.epsilon, 8, 1e-6);
    p.out = support_scratch_path("again.h5");
    char *same = support_read(p.input), *center = support_read(p.center);
    support_write_text(p.center, strchr(same, '\n') + 1);
    refused(&p, NVDP_ERR_ARGUMENT,
            "found 14 of the 14 private texts among them, the first in row 1", "certified-epsilon",
            "8", "run", support_scratch_path("other"), NULL);
    support_write_text(p.center, center);
    refused(&p, NVDP_ERR_STATE, "shared before", "certified-epsilon", "8", NULL);
    refused(&p, NVDP_ERR_ARGUMENT, "holds another run: expected clip_sequence", "clip-sequence",
            "5", NULL);
    refused(&p, NVDP_ERR_ARGUMENT, "expected dim", "certified-epsilon", "8", "reduce", "3", NULL);
    /* a run that was killed before its result is made again */
    const char *result = support_path("%s/result.json", p.run);
    cr_assert_eq(remove(result), 0);
    refused(&p, NVDP_ERR_STATE, "shared before", "certified-epsilon", "8", NULL);
    cr_expect(nvdp__exists(result));
    /* the run by its folder, as a trained one */
    struct nvdp_config *config =
        support_config(p.ctx, "export", "run", p.run, "input", p.input, "out", p.out, NULL);
    cr_expect_eq(nvdp_export(p.ctx, config, NULL), NVDP_ERR_STATE);
    support_set(p.ctx, config, "budget-samples", "2");
    ok(nvdp_export(p.ctx, config, NULL));
}

/* A run by its folder names its center, whose texts are compared with those of each export. */
Test(search, center_of_a_run) {
    struct place p = begin(1);
    const char *moved = support_scratch_path("moved.txt");
    exported(&p, "clip-sequence", "4", "no-ledger", "true", NULL);
    const char *public = support_read(p.center);
    struct nvdp_config *config =
        support_config(p.ctx, "export", "run", p.run, "input", p.input, "out", p.out, "overwrite",
                       "true", "no-ledger", "true", NULL);
    ok(nvdp_export(p.ctx, config, NULL));
    support_write_text(p.input, support_path("text\n%s", public));
    fails(nvdp_export(p.ctx, config, NULL), NVDP_ERR_ARGUMENT, "the public texts of the center: ");
    support_write_text(p.input, "text\none more\nand another\n");
    for (size_t i = 0; i < 2; i++) {
        support_write_text(p.center, support_path("%sone more\n", public));
        if (i == 1) cr_assert_eq(rename(p.center, moved), 0);
        fails(nvdp_export(p.ctx, config, NULL), NVDP_ERR_INPUT,
              "the public texts of the center are gone or changed, so they cannot be compared with "
              "the texts to share; put them back, or export with --model and --center");
    }
    /* the same texts elsewhere: the run then names this file, by an absolute path, and is otherwise as it was */
    const char *file = support_path("%s/run.json", p.run);
    support_write_text(moved, public);
    cr_assert_eq(chdir(support_scratch()), 0);
    json_t *before = support_json(file);
    exported_again(&p, "center", "./moved.txt", NULL);
    cr_assert_eq(chdir("/"), 0);
    ok(nvdp_export(p.ctx, config, NULL));
    json_t *record = json_object_get(before, "sentence");
    nvdp__autofree char *real = realpath(moved, NULL);
    cr_expect_str_neq(text_at(record, "center"), real);
    json_object_set_new(record, "center", json_string(real));
    cr_expect(json_equal(before, support_json(file)));
    /* a copy of the file does not take its place */
    const char *copy = support_scratch_path("copy.txt");
    support_write_text(copy, public);
    exported_again(&p, "center", copy, NULL);
    cr_assert_eq(remove(copy), 0);
    ok(nvdp_export(p.ctx, config, NULL));
    /* a run of an earlier version does not name it */
    json_object_del(record, "center");
    ok(nvdp__json_write(p.ctx, file, before));
    fails(nvdp_export(p.ctx, config, NULL), NVDP_ERR_INPUT,
          "the run does not state the file of its center");
    support_contains(nvdp_context_error(p.ctx), "export with --model and --center");
    exported_again(&p, "center", moved, NULL);
    ok(nvdp_export(p.ctx, config, NULL));
}

/* A new run names its center by an absolute path; a header is no text of it, as it is none of the texts to share. */
Test(search, center_of_a_new_run) {
    double *found[2];
    struct nvdp_search_info info;
    struct place p = begin(1);
    const char *public = support_read(p.center), *query = line_of(&p, 1);
    const char *other = support_scratch_path("other");
    cr_assert_eq(chdir(support_scratch()), 0);
    for (size_t i = 0; i < 2; i++) {
        support_write_text(p.center, support_path("%s%s", i == 0 ? "" : "text\n", public));
        exported_again(&p, "insecure-seed", "3", "center", "public.txt", "run",
                       i == 0 ? p.run : other, NULL);
        found[i] = estimates(&p, p.out, query, &info);
    }
    cr_expect_arr_eq(found[0], found[1], TEXTS * sizeof *found[0]);
    cr_assert_eq(chdir("/"), 0);
    struct nvdp_config *config =
        support_config(p.ctx, "export", "run", other, "input", p.input, "out", p.out, "overwrite",
                       "true", "no-ledger", "true", NULL);
    ok(nvdp_export(p.ctx, config, NULL));
    support_write_text(p.center, support_path("id,text\n%s", public));
    refused(&p, NVDP_ERR_INPUT, "public.txt:1: expected one text per line, found 'id,text', which",
            "clip-sequence", "4", "overwrite", "true", "run", support_scratch_path("third"), NULL);
}

/* One text per line gives the file that a table of these texts gives. The default folder holds nothing of others. */
Test(search, lines_are_texts) {
    struct nvdp_search_info info;
    struct place p = begin(1);
    const char *query = line_of(&p, 1);
    const char *lines = support_scratch_path("texts.txt");
    const char *other = support_scratch_path("other/run.txt");
    support_write_text(lines, strchr(support_read(p.input), '\n') + 1);
    double *found[2];
    for (size_t i = 0; i < 2; i++) {
        exported_again(&p, "insecure-seed", "3", "input", i == 0 ? p.input : lines, NULL);
        found[i] = estimates(&p, p.out, query, &info);
        cr_assert_eq(info.texts, TEXTS);
    }
    cr_expect_arr_eq(found[0], found[1], TEXTS * sizeof *found[0]);
    ok(nvdp__make_directory(p.ctx, support_scratch_path("other")));
    support_write_text(other, "mine");
    refused(&p, NVDP_ERR_INPUT,
            "other: expected the folder of a run of nvdp train, found no run.json; name another "
            "folder as RUN",
            "clip-sequence", "4", "overwrite", "true", "run", support_scratch_path("other"), NULL);
    refused(&p, NVDP_ERR_INPUT,
            "run.txt: expected the folder of a run of nvdp train, found a file; name another "
            "folder as RUN",
            "clip-sequence", "4", "overwrite", "true", "run", other, NULL);
    support_write_text(support_scratch_path("other/pretrain.json"), "{}");
    refused(&p, NVDP_ERR_INPUT,
            "no run.json: the folder has a pretrained model; name another folder as RUN",
            "clip-sequence", "4", "overwrite", "true", "run", support_scratch_path("other"), NULL);
    cr_expect_str_eq(support_read(other), "mine");
}

/* Writes the texts to export as words with tags: the last word of a text is an entity. */
static void write_tagged(const struct place *p, const char *name) {
    char *rows = support_read(p->input), *words = strchr(rows, '\n') + 1;
    nvdp__autoptr(fclose) FILE *file = fopen(name, "w");
    for (; *words != '\0'; words++)
        if (*words == ' ' || *words == '\n')
            fputs(*words == ' ' ? " O\n" : " B-LAST\n\n", file);
        else
            fputc(*words, file);
}

/* A run without a task is measured and attacked on files of texts, with its samples in the shared file. */
Test(search, runs_read_files_of_texts) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL, *tagged = NULL;
    struct nvdp__text_attack_result attack = NVDP_RESULT(struct nvdp__text_attack_result);
    struct place p = begin(1);
    exported(&p, "clip-sequence", "4", NULL);
    struct nvdp_config *config = support_config(p.ctx, "run", "run", p.run, NULL);
    fails(nvdp_run_posteriors(p.ctx, config, &posteriors), NVDP_ERR_ARGUMENT,
          "no data; name a file of texts");
    support_set(p.ctx, config, "data", p.input);
    ok(nvdp_run_posteriors(p.ctx, config, &posteriors));
    cr_expect_eq(posteriors->texts, TEXTS);
    write_tagged(&p, support_scratch_path("words.conll"));
    support_set(p.ctx, config, "data", support_scratch_path("words.conll"));
    ok(nvdp_run_posteriors(p.ctx, config, &tagged));
    cr_assert_eq(tagged->texts, TEXTS);
    cr_expect_arr_eq(tagged->mu, posteriors->mu, TEXTS * tagged->dim * sizeof *tagged->mu);
    char *predictions = NULL;
    config = support_config(p.ctx, "predict", "run", p.run, "data", p.input, NULL);
    fails(nvdp_predict(p.ctx, config, &predictions), NVDP_ERR_ARGUMENT, "expected a run of a task");
    config = support_config(p.ctx, "attack", "run", p.run, "data",
                            support_scratch_path("words.conll"), NULL);
    const char *lines = support_read(p.center), *more = support_scratch_path("more.txt");
    support_write_text(more, support_path("%s%s", lines, lines));
    support_set_all(p.ctx, config, "public", more, "shared", p.out, NULL);
    const struct nvdp__attacked attacked = {
        .ctx = p.ctx, .attack = &nvdp__attack_row_bag, .kind = "bag", .config = config};
    ok(nvdp__learn(&attacked, &attack));
    cr_expect_eq(attack.texts, TEXTS);
    cr_expect_geq(attack.public_texts, 20);
    cr_expect_eq(attack.both, 0);
    cr_expect(attack.holds);
    nvdp__text_attack_free(&attack);
    nvdp__autoptr(nvdp_attack_free) struct nvdp_attack_result *pairs = NULL;
    config = support_config(p.ctx, "attack", "kind", "pair", "run", p.run, "data", p.input, "pairs",
                            "2", NULL);
    ok(nvdp_attack(p.ctx, config, &pairs));
    support_contains(support_result_text(p.ctx, pairs, NULL), "for any two texts");
}

Test(search, refuses_bad_options) {
    struct place p = begin(1);
    const char *few = support_scratch_path("few.txt");
    refused(&p, NVDP_ERR_ARGUMENT, "needs exactly one of", "reduce", "3", NULL);
    refused(&p, NVDP_ERR_ARGUMENT, "needs exactly one of", "clip-sequence", "3",
            "certified-epsilon", "8", NULL);
    refused(&p, NVDP_ERR_ARGUMENT, "excludes", "clip-sequence", "3", "with-labels", "true", NULL);
    refused(&p, NVDP_ERR_ARGUMENT, "--latent-dim: expected at most 16", "clip-sequence", "3",
            "reduce", "17", NULL);
    support_write_text(few, "one text\n");
    refused(&p, NVDP_ERR_INPUT, "expected at least 2 public texts, found 1", "clip-sequence", "3",
            "center", few, NULL);
    support_write_text(few, "one text\nanother\nmore\n");
    refused(&p, NVDP_ERR_INPUT, "expected at least 5 public texts, one more than", "clip-sequence",
            "3", "center", few, "reduce", "4", NULL);
    refused(&p, NVDP_ERR_ARGUMENT, "found the file of", "clip-sequence", "3", "center", p.input,
            NULL);
    cr_expect(nvdp__directory_empty(p.run)); /* nothing was made */
    struct nvdp__train_options options = task_config(&(struct task){{0}, {0}}, NVDP_METHOD_SENTENCE,
                                                     support_scratch_path("trained"));
    struct nvdp_config *config =
        support_config(p.ctx, "train", "task", "sst2", "data", "none", "model", p.model, "out",
                       options.out, "method", "sentence", NULL);
    fails(nvdp_train(p.ctx, config, NULL), NVDP_ERR_ARGUMENT,
          "nvdp export --model or --objective distill makes");
    /* options that only the objective distill reads */
    static const char *const distills[] = {"cosine-weight", "temperature"};
    for (size_t i = 0; i < 2; i++) {
        support_set(p.ctx, config, distills[i], "1");
        fails(nvdp_train(p.ctx, config, NULL), NVDP_ERR_ARGUMENT,
              support_path("option --%s needs --objective distill", distills[i]));
    }
}

/* Replaces text in an attribute of the same length. */
static void change(const char *file, const char *from, const char *to) {
    size_t size = 0;
    nvdp__autoptr(fclose) FILE *stream = fopen(file, "rb+");
    fseek(stream, 0, SEEK_END);
    size = (size_t)ftell(stream);
    nvdp__autofree char *bytes = malloc(size);
    rewind(stream);
    cr_assert_eq(fread(bytes, 1, size, stream), size);
    char *at = memmem(bytes, size, from, strlen(from));
    cr_assert_not_null(at, "%s", from);
    memcpy(at, to, strlen(to));
    rewind(stream);
    fwrite(bytes, 1, size, stream);
}

/* Writes three public texts, the last of them private, and the texts to share, with or without it. */
static void write_few(const struct place *p, const char *private, bool shared) {
    support_write_text(p->center, support_path("good cat\nbad dog sun\n%s\n", private));
    support_write_text(p->input,
                       support_path("text\n%s\nred sea\n", shared ? private : "blue sun"));
}

/* Computes the embedding of a text with unit length. */
static void embed(const struct place *p, const char *text, float out[16]) {
    nvdp__autoptr(nvdp_encoder_free) struct nvdp_encoder *encoder = NULL;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *data = NULL;
    double square = 0;
    struct nvdp_config *config =
        support_config(p->ctx, "encoder", "model", p->model, "pool", "mean", NULL);
    ok(nvdp_encoder_load(p->ctx, config, &encoder));
    ok(nvdp_dataset_from_texts(p->ctx, nvdp_encoder_tokenizer(encoder), 16, 1, &text, NULL, &data));
    ok(nvdp_encoder_run(p->ctx, encoder, data, NULL, out));
    for (size_t k = 0; k < 16; k++)
        square += (double)out[k] * (double)out[k];
    for (size_t k = 0; k < 16; k++)
        out[k] = (float)((double)out[k] / sqrt(square));
}

/* A center is not noised: whoever knows the other public texts recomputes the embedding of the private one, whatever the
 * epsilon of its sample. So the export is refused, unless the owner declares the file to be independent. */
Test(search, a_center_reveals_a_private_text) {
    static const char private[] = "one good blue dog";
    float known[2][16], wanted[16];
    double dot = 0, square = 0;
    struct place p = begin(1);
    write_few(&p, private, true);
    refused(&p, NVDP_ERR_ARGUMENT, "found 1 of the 2 private texts among them, the first in row 1",
            "certified-epsilon", "2", NULL);
    support_contains(nvdp_context_error(p.ctx), "declare it with --public-independent",
                     "do not pass it on");
    cr_expect_not(nvdp__exists(p.out));
    exported(&p, "certified-epsilon", "2", "public-independent", "true", NULL);
    const struct searched s = open_search(&p, p.out);
    const float *center = s.shared->query->center;
    embed(&p, "good cat", known[0]);
    embed(&p, "bad dog sun", known[1]);
    embed(&p, private, wanted);
    for (size_t k = 0; k < 16; k++) {
        const double found = 3 * (double)center[k] - (double)known[0][k] - (double)known[1][k];
        dot += found * (double)wanted[k];
        square += found * found;
    }
    cr_expect_geq(dot / sqrt(square), .9999);
}

/* A private text is recognized however it is written, and in a pair. Another text is not. */
Test(search, public_texts_are_compared_as_read) {
    static const struct {
        const char *center, *input;
        bool refused;
    } cases[] = {
        {"good\nred sea\nsun\n", "text\n  RED \xC2\xA0 Sea\ndog\n", true},
        {"good\nred sea\nsun\n", "text\nred sea sun\n", false},
        {"good\n\xEF\xBC\xB2"
         "ed sea\nsun\n",
         "text\nred sea\n", true}, /* a wide R */
        {"good\nr\xC3\xA9"
         "d sea\nsun\n",
         "text\nred sea\n", true},
        {"red sea\nred sea\nred sea\n", "text\nred sea\n", true},
        {"good\nred unknown\nsun\n", "text\nred strange\n", true}, /* [UNK] to the model */
        {"{\"text\": \"good\"}\n{\"text\": \"sun dog\", \"pair\": \"Red sea\"}\n",
         "text\nred sea\n", true},
        {"{\"text\": \"good\"}\n{\"text\": \"red\", \"pair\": \"sea\"}\n", "text\nred sea\n",
         false},
        {"{\"input_ids\": [2, 11, 10, 3]}\n{\"text\": \"sun\"}\n", "text\nred sea\n", true},
        {"good\nred sea\nsun\n", "text\nsun red\nsea\n", false},
    };
    struct place p = begin(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *run = support_path("%s%zu", p.run, i);
        support_write_text(p.center, cases[i].center);
        support_write_text(p.input, cases[i].input);
        if (cases[i].refused)
            refused(&p, NVDP_ERR_ARGUMENT, "expected public texts, found 1 of the ",
                    "clip-sequence", "4", "no-ledger", "true", "overwrite", "true", "run", run,
                    NULL);
        else
            exported_again(&p, "run", run, NULL);
        exported_again(&p, "run", run, "public-independent", "true", NULL);
    }
}

/* A declared file states the declaration, and nothing in it shows whether the texts overlap: with one seed, files of
 * different texts differ in their samples alone. */
Test(search, a_declaration_is_stated_always) {
    struct nvdp__release made[2];
    struct place p = begin(1);
    for (size_t i = 0; i < 2; i++) {
        write_few(&p, "one good blue dog", i == 1);
        exported_again(&p, "insecure-seed", "5", "public-independent", "true", NULL);
        const struct nvdp_verification found = share_verified(p.ctx, p.out, NULL);
        check_is(&found, "the statement agrees with the attributes", NVDP_VERDICT_YES);
        support_contains(found.statement,
                         "The owner declares that the public texts were chosen independently of "
                         "the private texts; they were not compared.");
        support_lacks(found.statement, "None of the public texts");
        ok(nvdp__release_read(p.ctx, nvdp__formats, p.out, &made[i]));
    }
    cr_assert_eq(made[0].attributes.count, made[1].attributes.count);
    cr_expect_str_eq(nvdp__attributes_text(&made[0].attributes, "public_texts"), "declared");
    for (size_t k = 0; k < made[0].attributes.count; k++) {
        const struct nvdp__attribute *a = &made[0].attributes.item[k],
                                     *b = nvdp__attributes_get(&made[1].attributes, a->name);
        if (strcmp(a->name, "created") != 0)
            cr_expect(b != NULL && strcmp(a->text, b->text) == 0, "%s", a->name);
    }
    for (size_t i = 0; i < 2; i++)
        nvdp__release_close(&made[i]);
    /* the statement follows from the attribute */
    p.out = support_scratch_path("changed.safetensors");
    exported(&p, "clip-sequence", "4", "no-ledger", "true", "public-independent", "true", NULL);
    change(p.out, "\"declared\"", "\"compared\"");
    cr_expect_not(share_verified(p.ctx, p.out, NULL).holds);
}

static void search_fails(const struct place *p, const char *model, nvdp_status status,
                         const char *words) {
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *shared = NULL;
    struct nvdp_search *search = NULL;
    ok(nvdp_shared_read(p->ctx, p->out, &shared));
    fails(nvdp_search_open(p->ctx, shared, model, &search), status, words);
}

Test(search, refuses_other_files_and_encoders) {
    struct nvdp_shared *shared = NULL;
    struct nvdp_hit hit[2];
    struct place p = begin(1);
    const struct run_choice choice = {.method = NVDP_METHOD_VIB_FIXED, .epochs = 1};
    const char *run = task_run(p.ctx, "run", &choice, NULL);
    exported(&p, "clip-sequence", "4", NULL);
    const struct searched s = open_search(&p, p.out);
    static const char *const nothing[] = {"\t "};
    fails(nvdp_search_texts(p.ctx, s.search, NULL, 1, nothing, 2, hit), NVDP_ERR_ARGUMENT,
          "expected a text with tokens");
    cr_expect_eq(nvdp_search_texts(p.ctx, s.search, NULL, 0, nothing, 2, hit), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_search_texts(p.ctx, s.search, NULL, 1, nothing, 0, hit), NVDP_ERR_ARGUMENT);

    /* no folder of the encoder's name; other weights */
    search_fails(&p, NULL, NVDP_ERR_IO, "name it with");
    char other[65];
    snprintf(other, sizeof other, "%s", s.info.sha256);
    other[5] = other[5] == '0' ? '1' : '0';
    change(p.out, s.info.sha256, other);
    search_fails(&p, p.model, NVDP_ERR_INPUT, "expected the encoder of the file");

    /* a center that is no center, of another width, or missing */
    static const char *const centers[][3] = {
        {"f16:", "f17:", "'center_0'"},
        {"f17:", "f16:", NULL},
        {"f16:", "f16:g", "expected finite numbers in float16"},
        {"f16:g", "f16:7c00", "found '7c00'"},
        {"f16:7c00", "f16:1c00", NULL},
        {"center_0", "centre_0", "'center_0'"},
        {"centre_0", "center_0", NULL}};
    for (size_t i = 0; i < sizeof centers / sizeof *centers; i++) {
        change(p.out, centers[i][0], centers[i][1]);
        if (centers[i][2] != NULL)
            fails(nvdp_shared_read(p.ctx, p.out, &shared), NVDP_ERR_INPUT, centers[i][2]);
    }
    change(p.out, "encoder_width", "encoder_wedth");
    cr_expect_eq(nvdp_shared_read(p.ctx, p.out, &shared), NVDP_ERR_INPUT);

    /* a trained run */
    struct nvdp_config *config = support_config(p.ctx, "export", "run", run, "split", "dev", "out",
                                                p.out, "overwrite", "true", NULL);
    ok(nvdp_export(p.ctx, config, NULL));
    search_fails(&p, p.model, NVDP_ERR_ARGUMENT, "found method 'vib-fixed' without them");

    /* an encoder that nvdp trained: the file would state a digest of its weights */
    const struct run_choice base = {.method = NVDP_METHOD_BASE, .epochs = 1};
    p.model = support_path("%s/model", task_run(p.ctx, "base", &base, NULL));
    refused(&p, NVDP_ERR_ARGUMENT, "expected a public encoder", "clip-sequence", "4", "overwrite",
            "true", "run", support_scratch_path("other"), NULL);
}

/* Trains with the objective distill, and with the options, pairs of names and values. */
static __attribute__((sentinel)) nvdp_status distill(const struct place *p,
                                                     struct nvdp_train_result *out, ...) {
    struct nvdp_config *config =
        support_config(p->ctx, "train", "task", "none", "objective", "distill", "input", p->center,
                       "model", p->model, "out", p->run, "latent-dim", "6", "batch", "8",
                       "clip-sequence", "50", "holdout", "0.3", "epochs", "4", NULL);
    va_list options;
    va_start(options, out);
    support_set_list(p->ctx, config, options);
    va_end(options);
    return nvdp_train(p->ctx, config, out);
}

/* A run with objective distill: its files state map and decoder in every format, verify accepts them, the search finds a
 * text by itself, and decoded vectors are G z. */
Test(search, distilled) {
    static const char *const names[] = {"d.h5", "d.safetensors", "d.parquet"};
    struct nvdp_config *config = NULL;
    struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    struct place p = begin(1);
    const char *query = line_of(&p, 7);
    ok(distill(&p, &result, NULL));
    cr_expect_eq(result.epochs_run, 4);
    cr_expect_eq(result.test->metric[0], NVDP_METRIC_SPEARMAN);
    cr_expect(isfinite(result.certified_epsilon));
    nvdp_result_free(&result);
    /* refusals: a second run in the folder, an option of tasks, a width without a map */
    static const char *const wrong[][3] = {{"out", NULL, "not empty"},
                                           {"lambda-g", "1", "has no effect with"},
                                           {"latent-dim", "16", "expected less than 16"},
                                           {"task", "sst2", "expected none with distill"}};
    const char *bad = support_scratch_path("bad");
    for (size_t i = 0; i < 4; i++) {
        const char *value = i > 0 ? wrong[i][1] : p.run, *out = i > 0 ? "out" : NULL;
        fails(distill(&p, &result, wrong[i][0], value, out, bad, NULL), NVDP_ERR_ARGUMENT,
              wrong[i][2]);
    }
    /* a run that was killed before its result is trained again, to the same bits */
    const char *place = support_path("%s/decoder.safetensors", p.run),
               *end = support_path("%s/result.json", p.run), *before = support_read(place);
    const size_t size = support_size(place);
    cr_assert_eq(remove(end) + remove(place), 0);
    config = support_config(p.ctx, "train", "resume", p.run, NULL);
    ok(nvdp_train(p.ctx, config, &result));
    cr_assert_eq(support_size(place), size);
    cr_expect_arr_eq(before, support_read(place), size);
    cr_expect(nvdp__exists(end));
    nvdp_result_free(&result);
    float first[6 * 16];
    for (size_t i = 0; i < 3; i++) {
        float z[TEXTS * 2 * 6], decoded[TEXTS * 16];
        size_t width = 0;
        const char *out = support_scratch_path(names[i]);
        share_exported(p.ctx, "run", p.run, "input", p.input, "out", out, "no-ledger", "true",
                       "samples", "2", "measure-texts", "0", NULL);
        const struct nvdp_verification found = share_verified(p.ctx, out, NULL);
        all_hold(&found);
        support_contains(found.statement, "Whoever guesses a text can compute its vector",
                         "named as public (mean, map and decoder), which no noise");
        const struct searched s = open_search(&p, out);
        const struct nvdp_hit *hit = hits(&p, &s, query, 1);
        cr_expect_eq(hit->text, 6);
        near(hit->estimate, 1, .1);
        ok(nvdp_shared_decode(p.ctx, s.shared, 0, TEXTS, NULL, &width));
        cr_assert_eq(width, 16);
        ok(nvdp_shared_decode(p.ctx, s.shared, 0, TEXTS, decoded, NULL));
        ok(nvdp_shared_vectors(p.ctx, s.shared, 0, TEXTS * 2, z));
        const float *decoder = s.shared->query->decoder;
        if (i == 0) memcpy(first, decoder, sizeof first);
        cr_expect_arr_eq(first, decoder, sizeof first);
        for (size_t k = 0; k < TEXTS * 16; k++) {
            double sum = 0, terms = 0;
            for (size_t j = 0; j < 6; j++) {
                const double g = (double)decoder[k % 16 * 6 + j];
                const double mean = (double)(z[k / 16 * 12 + j] + z[k / 16 * 12 + 6 + j]) / 2;
                sum += g * mean;
                terms += fabs(g * mean);
            }
            near(decoded[k], sum, 1e-5 * terms);
        }
        cr_expect_eq(nvdp_shared_decode(p.ctx, s.shared, TEXTS, 1, decoded, NULL),
                     NVDP_ERR_ARGUMENT);
        if (i == 1) {
            change(out, "f16:", "f17:");
            struct nvdp_shared *shared = NULL;
            cr_expect_eq(nvdp_shared_read(p.ctx, out, &shared), NVDP_ERR_INPUT);
        }
    }
    /* the public texts themselves are not to be shared */
    support_write_text(p.input, support_path("text\n%s", support_read(p.center)));
    config = support_config(p.ctx, "export", "run", p.run, "input", p.input, "out",
                            support_scratch_path("public.h5"), NULL);
    fails(nvdp_export(p.ctx, config, NULL), NVDP_ERR_ARGUMENT,
          "the public texts of the training: ");
    support_set(p.ctx, config, "public-independent", "true");
    ok(nvdp_export(p.ctx, config, NULL));
    /* a declaration of the training holds for its files */
    nvdp__autoresult struct nvdp_export_result made = NVDP_RESULT(struct nvdp_export_result);
    const char *file = support_path("%s/run.json", p.run);
    cr_expect(json_is_false(support_at(support_json(file), "config/public_independent")));
    edit_json(file, "config", "public_independent", json_true());
    support_set_all(p.ctx, config, "public-independent", "false", "budget-samples", "2", "out",
                    support_scratch_path("again.h5"), NULL);
    ok(nvdp_export(p.ctx, config, &made));
    support_contains(made.statement, "The owner declares that the public texts");
    /* a file without a decoder */
    p.run = support_scratch_path("plain");
    support_write_text(p.input, "text\none more\nand another\n");
    exported(&p, "clip-sequence", "4", NULL);
    struct nvdp_shared *shared = NULL;
    ok(nvdp_shared_read(p.ctx, p.out, &shared));
    fails(nvdp_shared_decode(p.ctx, shared, 0, 1, NULL, NULL), NVDP_ERR_UNSUPPORTED,
          "expected a file with a decoder");
    nvdp_shared_free(shared);
    const struct nvdp_verification mean = share_verified(p.ctx, p.out, NULL);
    all_hold(&mean);
    support_contains(mean.statement, "named as public (mean), which no noise");
}

/* Public texts that are gone or changed cannot be compared, so nothing is shared. All splits are compared. */
Test(search, distilled_from_texts_that_cannot_be_compared) {
    nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    struct place p = begin(1);
    const char *data = support_scratch_path("splits");
    const char *moved = support_scratch_path("moved.txt");
    const char *train = support_path("%s/train.tsv", data), *dev = support_path("%s/dev.tsv", data);
    ok(nvdp__make_directory(p.ctx, data));
    char *public = support_read(p.center);
    const char *table = "text\tlabel\n";
    size_t n = 0;
    for (char *row = public, *end; (end = strchr(row, '\n')) != NULL; row = end + 1, n++)
        table = support_path("%s%.*s\t0\n", table, (int)(end - row), row);
    support_write_text(train, "text\tlabel\none more\t0\nand another\t1\n");
    ok(distill(&p, &result, NULL));
    /* splits need a column of labels, which a task without labels does not name */
    edit_json(support_path("%s/model/config.json", p.run), "nvdp/columns", "label",
              json_string("label"));
    for (size_t i = 0; i < 5; i++) {
        if (i == 0) support_write_text(p.center, support_path("%sone more\n", public));
        if (i == 1) cr_assert_eq(rename(p.center, moved), 0);
        if (i == 2) support_write_text(p.center, public);
        if (i >= 2) support_write_text(dev, i == 2 ? "text\tlabel\nquite another\t1\n" : table);
        if (i == 4) support_write_text(train, table); /* each text in both */
        struct nvdp_config *config = support_config(p.ctx, "export", "run", p.run, NULL);
        if (i >= 2) support_set(p.ctx, config, "data", data);
        support_set_all(p.ctx, config, i < 2 ? "input" : "split", i < 2 ? train : "train,dev",
                        "out", p.out, "overwrite", "true", "no-ledger", "true", "measure-texts",
                        "0", NULL);
        const nvdp_status expected = i < 2 ? NVDP_ERR_INPUT : i == 2 ? NVDP_OK : NVDP_ERR_ARGUMENT;
        cr_expect_eq(nvdp_export(p.ctx, config, NULL), expected, "%zu: %s", i,
                     nvdp_context_error(p.ctx));
        const char *found = support_path("found %zu of the %zu private texts", i == 3 ? n : 2 * n,
                                         i == 3 ? n + 2 : 2 * n);
        if (i != 2)
            support_contains(nvdp_context_error(p.ctx),
                             i < 2 ? "gone or changed, so they cannot be compared" : found);
        cr_expect_eq(nvdp__exists(p.out), i >= 2);
    }
}

/* A finished run is not trained again in place, and stays until a training that replaces it can begin. */
Test(search, distilled_runs_are_kept) {
    nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    struct place p = begin(1);
    const char *few = support_scratch_path("few.txt");
    const char *none = support_scratch_path("none");
    support_write_text(few, "b a\nb c\nb d\nb e\nb f\nb g\nb h\nb i\n");
    const char *const cases[][3] = {{NULL, NULL, NULL},
                                    {"resume", p.run, "has ended; there is nothing to resume"},
                                    {"latent-dim", "16", "expected less than 16"},
                                    {"latent-dim", "17", "expected at most 16"},
                                    {"input", none, "none"},
                                    {"model", none, "none"},
                                    {"input", few, "expected at least 10 public texts"},
                                    {"holdout", "0.01", "expected at least 10 public texts"},
                                    {"seed", "7", NULL}};
    static const char *const files[] = {"run.json", "result.json", "decoder.safetensors",
                                        "model/model.safetensors"};
    const char *kept[4] = {NULL};
    size_t size[4] = {0};
    const size_t n = sizeof cases / sizeof *cases;
    for (size_t i = 0; i < n; i++) {
        const bool good = cases[i][2] == NULL, resumes = i == 1;
        nvdp_status status = NVDP_OK;
        if (resumes) {
            status = nvdp_train(
                p.ctx, support_config(p.ctx, "train", cases[i][0], cases[i][1], NULL), &result);
            cr_expect_eq(status, NVDP_ERR_STATE);
        } else {
            status = distill(&p, &result, "overwrite", "true", cases[i][0], cases[i][1], NULL);
        }
        cr_expect_eq(status == NVDP_OK, good, "%zu: %s", i, nvdp_context_error(p.ctx));
        if (!good) support_contains(nvdp_context_error(p.ctx), cases[i][2]);
        for (size_t k = 0; k < 4; k++) {
            const char *file = support_path("%s/%s", p.run, files[k]), *found = support_read(file);
            const size_t bytes = support_size(file);
            const bool same =
                kept[k] != NULL && bytes == size[k] && memcmp(found, kept[k], bytes) == 0;
            cr_expect_eq(same, !good, "%zu: %s", i, files[k]);
            if (good) kept[k] = found;
            if (good) size[k] = bytes;
        }
    }
}
