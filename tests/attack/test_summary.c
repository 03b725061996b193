/* Summaries under attack: audits of their mechanism beside the proven curve, and guesses about one row beside theorem 2. */
#include "attack/summary.h"
#include "attack_test.h"

#include <gsl/gsl_cdf.h>

#include "test_context.h"

extern const struct nvdp__attack nvdp__attack_row_summary;

static struct nvdp__summary plan(size_t units, size_t dim, size_t answers, double epsilon) {
    struct nvdp__summary of;
    ok(nvdp__summary_plan(ctx, units, dim, answers, epsilon, 1e-5, &of));
    return of;
}

static struct nvdp_summary_audit audit(const struct nvdp__summary *of, size_t rows,
                                       size_t releases) {
    struct nvdp_summary_audit found = NVDP_RESULT(struct nvdp_summary_audit);
    ok(nvdp__audit_plan(ctx, of, rows, releases, .999, 1, &found));
    return found;
}

/* The likelihood-ratio test of two collections that differ in k orthogonal units measures delta(epsilon). Its lower bound stays
 * below the curve of k mu, and what it measures reaches the curve: the bound is attained. */
Test(summary_audit, meets_the_curve) {
    const size_t releases = support_fewer(100000);
    for (size_t answers = 0; answers < 4; answers++)
        for (size_t rows = 1; rows <= 3; rows += 2) {
            const struct nvdp__summary of = plan(1000, 384, answers, 3);
            const struct nvdp_summary_audit found = audit(&of, rows, releases);
            cr_expect(found.holds, "%zu answers, %zu rows", answers, rows);
            cr_expect_float_eq(found.mu, (double)rows * of.mu, 1e-12);
            cr_expect(found.attained <= found.mu && found.attained > found.mu * (1 - 1e-4),
                      "%zu answers, %zu rows: %.9g of %.9g", answers, rows, found.attained,
                      found.mu);
            for (size_t e = 0; e < found.points; e++) {
                const struct nvdp_audit_point *point = &found.point[e];
                cr_expect_leq(point->low, fmax(0, point->measured));
                cr_expect_geq(point->proven, 1e-3 * (1 - 1e-6));
                const double q = gsl_cdf_ugaussian_P(-found.mu / 2 - point->epsilon / found.mu),
                             p = point->proven + exp(point->epsilon) * q,
                             error = sqrt((p * (1 - p) + exp(2 * point->epsilon) * q) /
                                          (2 * (double)releases));
                cr_expect_float_eq(point->measured, point->proven, 4 * error + 1e-3 * point->proven,
                                   "%zu rows at %g: %g of %g", rows, point->epsilon,
                                   point->measured, point->proven);
            }
            const double error = .5 / sqrt(2. * (double)releases);
            cr_expect_float_eq(found.right, found.right_bound, 4 * error, "%g", found.right);
        }
}

/* Noise that is a tenth smaller than stated is found. */
Test(summary_audit, finds_too_little_noise) {
    struct nvdp__summary of = plan(1000, 384, 2, 3);
    of.sigma *= .9;
    of.sigma_off *= .9;
    const struct nvdp_summary_audit found = audit(&of, 1, 100000);
    cr_expect(!found.holds);
    of = plan(1000, 384, 2, 3);
    of.sigma_off *= .8; /* the diagonal alone has the stated noise */
    cr_expect(!audit(&of, 1, 100000).holds);
}

/* A vector of one number has no orthogonal second one: the pair is closer, and the proof still holds. */
Test(summary_audit, one_number_and_few_rows) {
    for (size_t answers = 0; answers < 4; answers++) {
        const struct nvdp__summary of = plan(2, 1, answers, 1);
        const struct nvdp_summary_audit found = audit(&of, 2, 1000);
        cr_expect(found.holds && found.attained <= found.mu && found.attained > .4 * found.mu,
                  "%g of %g", found.attained, found.mu);
    }
}

Test(summary_audit, refuses) {
    const struct nvdp__summary of = plan(10, 4, 1, 1);
    struct nvdp_summary_audit found = NVDP_RESULT(struct nvdp_summary_audit);
    const char *words = "expected 1 to 10 rows that change together, at least 1000 releases";
    fails(nvdp__audit_plan(ctx, &of, 0, 1000, .999, 1, &found), NVDP_ERR_ARGUMENT, words);
    fails(nvdp__audit_plan(ctx, &of, 11, 1000, .999, 1, &found), NVDP_ERR_ARGUMENT, words);
    fails(nvdp__audit_plan(ctx, &of, 1, 999, .999, 1, &found), NVDP_ERR_ARGUMENT, words);
    fails(nvdp__audit_plan(ctx, &of, 1, 1000, 1, 1, &found), NVDP_ERR_ARGUMENT, words);
    fails(nvdp__audit_plan(ctx, &of, 1, 1000, NAN, 1, &found), NVDP_ERR_ARGUMENT, words);
    fails(nvdp_audit_summary(ctx, support_scratch_path("none.h5"), 1, 1000, .999, 1, &found),
          NVDP_ERR_IO, "none.h5");
}

/* --- the attack --- */

/* Summarizes `rows` rows of a tiny task with labels, and returns the options of an attack on the file. */
static struct nvdp_config *summarized(size_t rows, const char *epsilon, const char *name,
                                      const char *person, const char *pair) {
    const struct task task = task_make(ctx);
    char *text = support_read(support_path("%s/train.tsv", task.data)), *line;
    char file[512], center[512], input[512], run[512];
    snprintf(file, sizeof file, "%s", support_scratch_path(name));
    snprintf(center, sizeof center, "%s", support_scratch_path("public.txt"));
    snprintf(input, sizeof input, "%s", support_scratch_path("rows.tsv"));
    snprintf(run, sizeof run, "%s", support_scratch_path("summary-run"));
    nvdp__autoptr(fclose) FILE *public = fopen(center, "w"), *own = fopen(input, "w");
    strtok(text, "\n");
    fputs("text\tlabel\tother\twho\tsecond\n", own);
    for (size_t i = 0; i < rows && (line = strtok(NULL, "\n")) != NULL; i++) {
        line[strcspn(line, "\t")] = '\0';
        fprintf(public, "%s %s %zu\n", line, line, i);
        const char *label = i % 3 == 0 ? "b" : "a", *other = i % 3 == 0 ? "a" : "b";
        fprintf(own, "%s\t%s\t%s\tp%zu\t%s %s\n", line, label, other, i * i % 20, label, line);
    }
    fflush(public);
    fflush(own);
    struct nvdp_config *config = support_config(
        ctx, "summarize", "model", task.model, "center", center, "input", input, "run", run, "out",
        file, "classes", "a,b,c", "summary-epsilon", epsilon, "budget-samples", "9", NULL);
    struct nvdp_config *attack =
        support_config(ctx, "attack", "kind", "summary", "run", run, "shared", file, "data", input,
                       "samples", "4000", NULL);
    if (person != NULL) support_set(ctx, config, "person", person);
    if (person != NULL) support_set(ctx, attack, "person", person);
    if (pair != NULL) support_set(ctx, config, "text-pair-column", pair);
    if (pair != NULL) support_set(ctx, attack, "text-pair-column", pair);
    ok(nvdp_summarize(ctx, config, NULL));
    return attack;
}

static json_t *attacked(const struct nvdp_config *config) {
    nvdp__autoptr(nvdp_attack_free) struct nvdp_attack_result *result = NULL;
    nvdp__autofree char *verdict = NULL;
    json_t *object = NULL;
    ok(nvdp_attack(ctx, config, &result));
    ok(nvdp_attack_verdict(ctx, result, &verdict));
    cr_expect_str_eq(verdict, "");
    ok(nvdp__result_pack(ctx, result, NULL, &object));
    return object;
}

/* Returns the probability that the stated noise is as small as the file's noise, as a normal deviate: of right noise, the sum
 * over n files has the standard deviation sqrt(n). */
static double noise_deviate(const json_t *attack) {
    return gsl_cdf_ugaussian_Pinv(json_real_value(json_object_get(attack, "noise_chance")));
}

/* Guesses stay below theorem 2, and the noise of a file is as stated. With little noise, guesses are right. */
Test(summary_attack, guesses_stay_below_the_bound) {
    static const char *const epsilons[] = {"1", "500"};
    double deviates = 0;
    for (size_t e = 0; e < 2; e++) {
        struct nvdp_config *config =
            summarized(60, epsilons[e], e == 0 ? "one.h5" : "many.safetensors", NULL, NULL);
        nvdp__autoptr(json_decref) json_t *object = attacked(config);
        const json_t *questions = json_object_get(object, "questions");
        cr_assert_eq(json_array_size(questions), 3);
        for (size_t q = 0; q < 3; q++) {
            const json_t *of = json_array_get(questions, q);
            const double share = json_real_value(json_object_get(of, "share")),
                         bound = json_number_value(json_object_get(of, "bound")),
                         baseline = json_real_value(json_object_get(of, "baseline")),
                         error = .5 / sqrt(4000);
            cr_expect_eq(json_integer_value(json_object_get(of, "answers")), q == 0   ? 2
                                                                             : q == 1 ? 3
                                                                                      : 60);
            cr_expect_leq(share, bound + 4 * error);
            if (q ==
                1) /* labels are orthogonal: they are as far apart as theorem 2 allows, up to beta */
                cr_expect_gt(share, baseline + (e == 0 ? 0 : .6), "%g", share);
        }
        deviates += noise_deviate(object);
        cr_expect_eq(json_integer_value(json_object_get(object, "rows")), 60);
    }
    cr_expect_float_eq(deviates, 0, 6 * sqrt(2), "%g", deviates);
}

/* Persons and pairs are tested as units: the file's noise is as stated around their exact sum, guesses stay below the bounds,
 * and are right if there is little noise. */
Test(summary_attack, tests_persons_and_pairs) {
    static const struct {
        const char *epsilon, *person, *pair;
        size_t units, questions;
    } cases[] = {{"1", "who", NULL, 6, 2},
                 {"500", "who", NULL, 6, 2},
                 {"1", NULL, "second", 60, 3},
                 {"500", NULL, "second", 60, 3},
                 {"1", "who", "second", 6, 2}};
    double deviates = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const bool exact = cases[c].epsilon[0] == '5';
        nvdp__autoptr(json_decref) json_t *object = attacked(summarized(
            60, cases[c].epsilon, support_path("units%zu.h5", c), cases[c].person, cases[c].pair));
        const json_t *questions = json_object_get(object, "questions"), *question;
        size_t q;
        cr_expect_eq(integer_at(object, "rows"), (json_int_t)cases[c].units);
        cr_expect_eq(json_array_size(questions), cases[c].questions);
        deviates += noise_deviate(object);
        json_array_foreach(questions, q, question) {
            const double share = json_real_value(json_object_get(question, "share")),
                         bound = json_real_value(json_object_get(question, "bound"));
            cr_expect_leq(share, bound + 4 * sqrt(.25 / 4000), "%zu %zu", c, q);
            if (exact) cr_expect_gt(share, q == 0 ? .8 : .3, "%zu %zu: %g", c, q, share);
        }
    }
    cr_expect_float_eq(deviates, 0, 6 * sqrt(5), "%g", deviates);
    struct nvdp_config *config = summarized(60, "1", "persons.h5", "who", NULL);
    nvdp__autoptr(nvdp_attack_free) struct nvdp_attack_result *result = NULL;
    support_set(ctx, config, "text-pair-column", "second");
    fails(nvdp_attack(ctx, config, &result), NVDP_ERR_ARGUMENT, "text-pair-column: ");
    support_set(ctx, config, "text-pair-column", NULL);
    support_set(ctx, config, "person", "text"); /* other persons */
    fails(nvdp_attack(ctx, config, &result), NVDP_ERR_INPUT, "expected the 6 persons");
    support_set(ctx, config, "person", NULL);
    fails(nvdp_attack(ctx, config, &result), NVDP_ERR_ARGUMENT, "expected the name of this column");
}

/* A file of texts alone, one per line, is read as nvdp summarize reads it. */
Test(summary_attack, reads_texts_one_per_line) {
    const struct task task = task_make(ctx);
    const char *run = support_scratch_path("run"), *file = support_scratch_path("lines.h5"),
               *lines = support_scratch_path("lines.txt"), *center = support_scratch_path("c.txt");
    support_write_text(lines, "good film\nbad film\nno film\na film\n");
    support_write_text(center, "public\nother\n");
    struct nvdp_config *summary = support_config(
        ctx, "summarize", "model", task.model, "center", center, "input", lines, "run", run, "out",
        file, "summary-epsilon", "1", "budget-samples", "9", NULL);
    ok(nvdp_summarize(ctx, summary, NULL));
    nvdp__autoptr(json_decref) json_t *object =
        attacked(support_config(ctx, "attack", "kind", "summary", "run", run, "shared", file,
                                "data", lines, "samples", "4000", NULL));
    cr_expect_eq(json_integer_value(json_object_get(object, "rows")), 4);
    cr_expect_eq(json_array_size(json_object_get(object, "questions")), 2);
}

Test(summary_attack, refuses) {
    struct nvdp_config *config = summarized(60, "500", "one.h5", NULL, NULL);
    nvdp__autoptr(nvdp_attack_free) struct nvdp_attack_result *result = NULL;
    support_set(ctx, config, "label-column", "other"); /* other labels than those of the summary */
    fails(nvdp_attack(ctx, config, &result), NVDP_ERR_INPUT, "expected the texts and labels");
    nvdp__autoptr(fclose) FILE *more = fopen(nvdp_config_get(config, "data"), "a");
    fputs("one more\ta\tb\tp\tone\n", more);
    fflush(more);
    fails(nvdp_attack(ctx, config, &result), NVDP_ERR_INPUT, "expected the 60 rows");
    struct nvdp_config *bare = support_config(ctx, "attack", "kind", "summary", "run",
                                              nvdp_config_get(config, "run"), NULL);
    fails(nvdp_attack(ctx, bare, &result), NVDP_ERR_ARGUMENT, "expected a file of nvdp summarize");
    support_set(ctx, bare, "shared", nvdp_config_get(config, "shared"));
    fails(nvdp_attack(ctx, bare, &result), NVDP_ERR_ARGUMENT, "the file of the texts");
}

/* Too little noise and too many right guesses are reported, because they contradict the proof. */
Test(summary_attack, reports_violations) {
    const struct nvdp__attack *row = &nvdp__attack_row_summary;
    const struct nvdp__attacked attacked = {.name = "run", .attack = row};
    struct nvdp__summary_attack found = {.noise = .9,
                                         .noise_chance = 1e-9,
                                         .questions = 1,
                                         .question[0] = {.name = "it",
                                                         .answers = 2,
                                                         .baseline = .5,
                                                         .share = .6,
                                                         .interval = {.5, .7},
                                                         .bound = .55}};
    char text[1024] = "";
    struct nvdp__writer say = {text, sizeof text, 0};
    row->verdict(&attacked, &found, &say);
    cr_expect(strstr(text, "VIOLATION: the noise of the file is 0.9") != NULL, "%s", text);
    found.noise_chance = .5;
    say = (struct nvdp__writer){text, sizeof text, 0};
    *text = '\0';
    row->verdict(&attacked, &found, &say);
    cr_expect_str_eq(text, "");
    found.question[0].interval.low = .56;
    row->verdict(&attacked, &found, &say);
    cr_expect(strstr(text, "VIOLATION: it: expected a share of at most") != NULL, "%s", text);
}
