/* The guess bound: golden values, references, simulated attackers and discrete mechanisms. */
#include "rdp_test.h"

#include "test_context.h"

/* Opens a separate stream for every seed. */
static struct nvdp__stream draws_of(uint64_t seed) {
    const struct nvdp__noise noise = {.seed = seed};
    return nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, 0);
}

static double phi(double x) {
    return erfc(-x * M_SQRT1_2) / 2;
}

/* Compares with 20 digits by mpmath, baselines down to 1e-100. */
Test(guess, golden) {
    json_t *root = support_golden_json("guess_bound.json"), *row;
    size_t i, rows = 0;
    json_array_foreach(json_object_get(root, "rows"), i, row) {
        const double b = support_number(json_object_get(row, "b"));
        const double c = support_number(json_object_get(row, "C"));
        const int s = (int)integer_at(row, "S");
        const double want = support_number(json_object_get(row, "bound"));
        const double made = nvdp_guess_bound(b, c, s, 0);
        cr_expect(made >= want && made - want <= 2e-12 * want, "%g %g %d", b, c, s);
        rows++;
    }
    cr_expect_gt(rows, 50);
}

/* Forms 2 and 3 (form 1 for d = 400) by scipy's noncentral chi-square, minimized over s on a
 * fine grid: 10 digits. The errors of scipy and of its minimum are below 1e-6 of the value. */
Test(guess, few_numbers) {
    static const struct {
        double b, c;
        size_t d;
        double want;
    } row[] = {{1e-6, 2, 50, 0.001494292018},    {1e-6, 2, 16, 0.000408468234},
               {1e-6, 2, 4, 1.777319896e-05},    {1. / 872, 2, 4, 0.0203821089},
               {0.001, 1, 2, 0.002753314137},    {0.1, 3, 32, 0.9533616698},
               {1e-6, 0.5, 400, 1.052630603e-5}, {0.001, 1.453, 32, 0.04054328475},
               {0.01, 5, 64, 0.9948417229}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const double made = nvdp_guess_bound(row[i].b, row[i].c, 1, row[i].d);
        cr_expect_leq(fabs(made - row[i].want), 1e-6 * row[i].want, "%g %g %zu: %.10g", row[i].b,
                      row[i].c, row[i].d, made);
        cr_expect_leq(made, nvdp_guess_bound(row[i].b, row[i].c, 1, 0));
    }
}

/* One number and a fair coin: two means 2C apart attain the bound. */
Test(guess, attained_by_two_texts) {
    for (double c = 0.1; c < 5; c *= 1.7) {
        cr_expect_leq(fabs(nvdp_guess_bound(.5, c, 1, 1) - phi(c)), 1e-9);
        const double above = nvdp_guess_attribute(.5, c, 1) - phi(c);
        cr_expect(above >= 0 && above <= 1e-14, "%g: %g", c, above);
    }
}

/* 76 % of the texts are known not to have the attribute, and half of the others have it: the
 * baseline is .88, as for a share of .12. The attribute's form does not hold for this attacker;
 * the guess bound does. */
Test(guess, attributes_are_for_attackers_who_know_nothing_else) {
    const double reached = .76 + .24 * nvdp_guess_attribute(.5, 1, 1);
    near(.76 + .24 * .5, .88, 1e-15);
    cr_expect_gt(reached, nvdp_guess_attribute(.12, 1, 1) + .04);
    cr_expect_lt(reached, nvdp_guess_bound(.88, 1, 1, 0));
}

Test(guess, edges) {
    cr_expect_eq(nvdp_guess_bound(0, 3, 1, 4), 0);
    cr_expect_eq(nvdp_guess_bound(1, 3, 1, 4), 1);
    cr_expect_eq(nvdp_guess_bound(.25, 0, 9, 4), .25);
    cr_expect_eq(nvdp_guess_bound(.25, INFINITY, 1, 4), 1);
    cr_expect(isnan(nvdp_guess_bound(1.5, 3, 1, 4)) && isnan(nvdp_guess_bound(.5, -1, 1, 0)));
    cr_expect(isnan(nvdp_guess_bound(.5, 1, 0, 0)) && isnan(nvdp_guess_bound(.5, NAN, 1, 0)));
    cr_expect_eq(nvdp_guess_attribute(0, 3, 1), 1);
    cr_expect_eq(nvdp_guess_attribute(.12, 0, 1), .88);
    cr_expect(isnan(nvdp_guess_clip(.5, .4, 1, 0)));
}

/* Releases add like squares of the clip; the bound grows with every argument. */
Test(guess, monotone) {
    static const size_t dims[] = {0, 1, 8, 512};
    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++)
        for (double b = 1e-9; b < 1; b *= 300)
            for (double c = 0.2, last = b; c < 8; c *= 1.9) {
                const double here = nvdp_guess_bound(b, c, 1, dims[k]);
                cr_expect_geq(here, last * (1 - 1e-9), "%g %g %zu", b, c, dims[k]);
                cr_expect_leq(fabs(nvdp_guess_bound(b, c / 3, 9, dims[k]) - here), 1e-9 * here);
                last = here;
            }
}

Test(guess, clip_is_the_inverse) {
    static const size_t dims[] = {0, 4, 64};
    for (size_t k = 0; k < 3; k++) {
        const double c = nvdp_guess_clip(1e-6, .01, 2, dims[k]);
        cr_expect_leq(nvdp_guess_bound(1e-6, c, 2, dims[k]), .01 * (1 + 1e-12), "%zu", dims[k]);
        cr_expect_geq(nvdp_guess_bound(1e-6, c * 1.0001, 2, dims[k]), .01);
    }
    cr_expect_eq(nvdp_guess_clip(.5, .5, 1, 0), 0);
    for (double b = 1e-300; b < .95; b = b < .1 ? b * 1e50 : b + .2) /* close targets */
        for (double more = 1e-13; more < .05; more *= 100) {
            const double target = b * (1 + more), c = nvdp_guess_clip(b, target, 1, 0);
            cr_expect(c >= 0 && nvdp_guess_bound(b, c, 1, 0) <= target, "%g %g: %g", b, more, c);
        }
}

/* --- simulated attackers --- */

struct world {
    size_t texts, dim;
    double *mean;  /* [texts, dim], norm <= c */
    double *prior; /* [texts] */
};

enum layout { RANDOM, ANTIPODAL, CLUSTERED, LAYOUTS };

static void place(struct world *w, enum layout layout, double c, uint64_t seed) {
    struct nvdp__stream stream = draws_of(seed);
    double total = 0;
    for (size_t i = 0; i < w->texts; i++) {
        double *m = w->mean + i * w->dim, square = 0;
        for (size_t k = 0; k < w->dim; k++) {
            m[k] = nvdp__stream_normal(&stream);
            if (layout == CLUSTERED && i % 3 > 0)
                m[k] = w->mean[(i - i % 3) * w->dim + k] + m[k] / 4;
            square += m[k] * m[k];
        }
        for (size_t k = 0; k < w->dim; k++)
            m[k] *= c / sqrt(square);
        if (layout == ANTIPODAL && i % 2 == 1)
            for (size_t k = 0; k < w->dim; k++)
                m[k] = -w->mean[(i - 1) * w->dim + k];
        w->prior[i] = seed % 2 == 0 ? 1 : 1 / (1. + (double)i); /* uniform, or Zipf's */
        total += w->prior[i];
    }
    for (size_t i = 0; i < w->texts; i++)
        w->prior[i] /= total;
}

/* Draws texts and samples; the attacker names the text with the largest posterior probability. */
static double success(const struct world *w, size_t draws, uint64_t seed) {
    struct nvdp__stream stream = draws_of(seed);
    double right = 0, z[400];
    for (size_t n = 0; n < draws; n++) {
        double u = nvdp__stream_uniform(&stream), best = -INFINITY;
        size_t x = 0, named = 0;
        while (x + 1 < w->texts && (u -= w->prior[x]) > 0)
            x++;
        for (size_t k = 0; k < w->dim; k++)
            z[k] = w->mean[x * w->dim + k] + nvdp__stream_normal(&stream);
        for (size_t i = 0; i < w->texts; i++) {
            double score = log(w->prior[i]);
            for (size_t k = 0; k < w->dim; k++)
                score += z[k] * w->mean[i * w->dim + k]; /* equal norms */
            if (score > best) best = score, named = i;
        }
        right += named == x;
    }
    return right / (double)draws;
}

/* 72 worlds, four standard errors: a false alarm in 72 x 3e-5. */
Test(guess, no_attacker_is_above_it) {
    enum { TEXTS = 40, DRAWS = 2000 };
    static const size_t dims[] = {1, 4, 50, 400};
    double mean[TEXTS * 400], prior[TEXTS];
    uint64_t seed = 10;
    for (size_t k = 0; k < 4; k++)
        for (double c = 0.5; c < 5; c *= 2.5)
            for (int layout = 0; layout < LAYOUTS; layout++)
                for (int zipf = 0; zipf < 2; zipf++) {
                    struct world w = {TEXTS, dims[k], mean, prior};
                    seed += 4 + (uint64_t)zipf - seed % 2;
                    place(&w, (enum layout)layout, c, seed);
                    double b = 0;
                    for (size_t i = 0; i < TEXTS; i++)
                        b = fmax(b, prior[i]);
                    const double bound = nvdp_guess_bound(b, c, 1, dims[k]);
                    const double found = success(&w, DRAWS, seed + 2);
                    cr_expect_leq(found, bound + 4 * sqrt(bound * (1 - bound) / DRAWS) + 1e-12,
                                  "d %zu, C %g, layout %d: %g above %g", dims[k], c, layout, found,
                                  bound);
                }
}

/* Compares the best guess of x, in closed form, with the curve for 10,000 random discrete
 * mechanisms, priors and references. */
Test(guess, discrete_mechanisms) {
    enum { MAX = 6, POINTS = 41 };
    for (uint64_t t = 0; t < 10000; t++) {
        const size_t n = 2 + t % (MAX - 1), m = 2 + t / 7 % (MAX - 1);
        double p[MAX][MAX], q[MAX], prior[MAX], total = 0, b = 0, found = 0;
        struct nvdp__stream stream = draws_of(t);
        for (size_t x = 0; x < n; x++) {
            double sum = 0;
            for (size_t z = 0; z < m; z++)
                sum += p[x][z] = pow(nvdp__stream_uniform(&stream), 1 + t % 5);
            for (size_t z = 0; z < m; z++)
                p[x][z] /= sum;
            total += prior[x] = nvdp__stream_uniform(&stream);
        }
        double sum = 0;
        for (size_t z = 0; z < m; z++)
            sum += q[z] = nvdp__stream_uniform(&stream);
        for (size_t z = 0; z < m; z++)
            q[z] /= sum;
        for (size_t x = 0; x < n; x++)
            b = fmax(b, prior[x] /= total);
        for (size_t z = 0; z < m; z++) {
            double best = 0;
            for (size_t x = 0; x < n; x++)
                best = fmax(best, prior[x] * p[x][z]);
            found += best;
        }
        double epsilon[POINTS], delta[POINTS];
        for (size_t k = 0; k < POINTS; k++) {
            epsilon[k] = -4 + (double)k * .2;
            delta[k] = 0;
            for (size_t x = 0; x < n; x++)
                for (size_t z = 0; z < m; z++)
                    delta[k] += prior[x] * fmax(p[x][z] - exp(epsilon[k]) * q[z], 0);
        }
        const double bound = nvdp__guess_from_curve(b, POINTS, epsilon, delta);
        cr_assert_leq(found, bound + 1e-12, "%lu: %g above %g", (unsigned long)t, found, bound);
    }
}

/* The capacity form bounds the information: two texts at C and -C have less. */
Test(guess, information) {
    const double above[] = {nvdp_guess_information(2, 1, 4) - 2 * log(2),
                            nvdp_guess_information(2, 1, 0) - 2,
                            nvdp_guess_information(1, 4, 4) - 2 * log(2)};
    for (size_t i = 0; i < 3; i++)
        cr_expect(above[i] >= 0 && above[i] <= 1e-14, "%zu: %g", i, above[i]);
    cr_expect(nvdp_guess_information(2, 1, 1u << 30) < 2);
}

/* Measured posteriors of texts at norm C: an attacker who names the likeliest text stays below
 * the bound, and the bound is not vacuous. */
Test(guess, measured_texts) {
    enum { TEXTS = 40, DIM = 3 };
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
    nvdp__autoresult struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    const struct nvdp_config *config =
        support_config(ctx, "privacy", "baseline", "0.025,0.5", NULL);
    double prior[TEXTS];
    ok(nvdp_posteriors_create(ctx, TEXTS, TEXTS, DIM, false, &set));
    struct world w = {TEXTS, DIM, set->mu, prior};
    place(&w, RANDOM, 1, 2);
    for (size_t i = 0; i <= TEXTS; i++)
        set->offset[i] = i;
    snprintf(set->method, sizeof set->method, "vib-fixed");
    ok(nvdp_privacy_measure(ctx, set, config, NULL, &report));
    const double found = success(&w, 20000, 4);
    cr_assert_eq(report.guesses.count, 2);
    cr_expect_leq(found, report.guesses.guess[0].bound);
    cr_expect_leq(report.guesses.guess[0].bound, 4 * found);
    cr_expect_geq(report.guesses.guess[1].bound, .5);
    cr_expect(report.guesses.information > 0 &&
              report.guesses.information <= nvdp_guess_information(1, 1, DIM));
    /* what the clip proves of any texts holds for these */
    set->policy = NVDP_LENGTH_HIDDEN;
    set->length = 1;
    set->clip_sequence = 1 + 1e-9;
    nvdp_result_free(&report);
    ok(nvdp_privacy_measure(ctx, set, config, NULL, &report));
    for (size_t g = 0; g < 2; g++)
        cr_expect_leq(
            report.guesses.guess[g].bound,
            nvdp_guess_bound(report.guesses.guess[g].baseline, set->clip_sequence, 1, DIM));
}
