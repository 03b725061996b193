/* Tests audits by samples: of mechanisms with known epsilon, of the same with faults found in public code, and
 * without any privacy loss.  Seeds are fixed; comments state the false-alarm rates that are not zero. */
#include "attack_test.h"

#include "test_context.h"

static struct nvdp_samples samples_of(size_t count, size_t dim) {
    struct nvdp_samples made = {count, dim, calloc(count * dim, sizeof(double))};
    cr_assert_not_null(made.value);
    return made;
}

/* Draws standard normals plus `shift` in every coordinate. */
static struct nvdp_samples normals(size_t count, size_t dim, double shift, uint64_t number) {
    struct nvdp__stream stream = support_stream(11, number);
    struct nvdp_samples made = samples_of(count, dim);
    nvdp__stream_normals_f64(&stream, count * dim, made.value);
    for (size_t i = 0; i < count * dim; i++)
        made.value[i] += shift;
    return made;
}

/* Runs the audit at 95 %, and frees the samples. */
static struct nvdp_sample_audit audit(struct nvdp_samples p, struct nvdp_samples q, double delta,
                                      uint64_t seed) {
    struct nvdp_sample_audit found = NVDP_RESULT(struct nvdp_sample_audit);
    ok(nvdp_audit_samples(ctx, &p, &q, delta, .95, seed, &found));
    nvdp_samples_free(&p);
    nvdp_samples_free(&q);
    return found;
}

/* A Gaussian mechanism with means mu apart: the bound exceeds the truth in at most a twentieth of 200 audits, and so
 * in 21 or more with probability at most 1.2e-3.  With mu 0 and delta 0 any positive bound is wrong; in 100
 * dimensions scores separate the rows that they were fitted to, but no others. */
Test(samples, of_gaussians_are_not_above_the_truth) {
    enum { AUDITS = 200 };
    static const struct {
        double mu, delta;
        size_t count, dim;
    } cases[] = {{0, 0, 300, 100}, {1, .01, 1500, 3}};
    for (size_t c = 0; c < 2; c++) {
        const double mu = cases[c].mu, truth = mu > 0 ? nvdp_gdp_epsilon(mu, cases[c].delta) : 0;
        const double shift = mu / sqrt((double)cases[c].dim);
        size_t above = 0;
        double mean = 0;
        for (uint64_t k = 0; k < AUDITS; k++) {
            const uint64_t number = 2 * (k + c * AUDITS);
            const struct nvdp_sample_audit found =
                audit(normals(cases[c].count, cases[c].dim, shift, number),
                      normals(cases[c].count, cases[c].dim, 0, number + 1), cases[c].delta, k);
            above += found.epsilon > truth;
            mean += found.epsilon / AUDITS;
            cr_assert(found.epsilon <= found.ceiling);
        }
        cr_expect_lt(above, 21, "mu %g: %zu above %g", mu, above, truth);
        cr_expect_geq(mean, .4 * truth, "mu %g: %g of %g", mu, mean, truth);
    }
}

/* With many samples the bound comes near: three quarters of the truth, at a delta for which the best test has some
 * false positives. */
Test(samples, of_gaussians_come_near_the_truth) {
    enum { COUNT = 60000, DIM = 8 };
    static const double mus[] = {1, 2};
    for (size_t c = 0; c < 2; c++) {
        const double truth = nvdp_gdp_epsilon(mus[c], .01);
        const struct nvdp_sample_audit found =
            audit(normals(COUNT, DIM, mus[c] / sqrt(DIM), 1000 + c),
                  normals(COUNT, DIM, 0, 1010 + c), .01, 1);
        cr_expect(found.epsilon > .75 * truth && found.epsilon <= truth, "%g of %g", found.epsilon,
                  truth);
    }
}

/* Noise of different size on the same mean: only the quadratic score sees it.  Far values favor the wide noise by 3
 * : 1 to 10^4 : 1. */
Test(samples, of_different_variances) {
    struct nvdp_samples wide = normals(20000, 2, 0, 2000);
    for (size_t i = 0; i < wide.count * wide.dim; i++)
        wide.value[i] *= 3;
    const struct nvdp_sample_audit found = audit(normals(20000, 2, 0, 2001), wide, 0, 1);
    cr_expect_eq(found.score, NVDP_AUDIT_GAUSSIAN);
    cr_expect(found.favors_q);
    cr_expect_gt(found.epsilon, 4, "%g", found.epsilon);
    cr_expect_gt(found.hits[1], found.hits[0]);
}

/* Vectors are clipped to norm 1, with noise for epsilon 1 at delta .01 under *replacement*, which moves a vector by
 * 2.  Code that takes the clip as the sensitivity uses half of the noise. */
Test(samples, find_noise_of_half_the_sensitivity) {
    enum { COUNT = 40000, DIM = 8 };
    for (int wrong = 0; wrong < 2; wrong++) {
        const double sigma = (wrong ? 1 : 2) / nvdp_gdp_mu(1, .01);
        struct nvdp_samples side[2];
        for (int s = 0; s < 2; s++) {
            side[s] = normals(COUNT, DIM, 0, (uint64_t)(3000 + 2 * wrong + s));
            for (size_t i = 0; i < COUNT; i++)
                for (size_t j = 0; j < DIM; j++)
                    side[s].value[i * DIM + j] =
                        sigma * side[s].value[i * DIM + j] + (j == 3 ? 1 - 2 * s : 0);
        }
        const struct nvdp_sample_audit found = audit(side[0], side[1], .01, 1);
        cr_expect(wrong ? found.epsilon > 1.3 : found.epsilon <= 1, "%g", found.epsilon);
    }
}

/* d_chi privacy promises eta times the distance with noise of density exp(-eta |N|): a uniform direction with a
 * Gamma radius.  Laplace noise drawn per coordinate promises eta times the distance in the sum norm, which is four
 * times as much along the diagonal of 16 dimensions. */
Test(samples, find_laplace_noise_drawn_by_coordinates) {
    enum { COUNT = 60000, DIM = 16 };
    const struct nvdp__noise noise = {.seed = 12};
    const double distance = 1;
    for (int wrong = 0; wrong < 2; wrong++) {
        struct nvdp_samples side[2];
        for (int s = 0; s < 2; s++) {
            struct nvdp__stream stream =
                nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, (uint32_t)wrong, (uint64_t)s);
            side[s] = samples_of(COUNT, DIM);
            for (size_t i = 0; i < COUNT; i++) {
                double *x = side[s].value + i * DIM, square = 0, radius = 0;
                for (size_t j = 0; j < DIM; j++) {
                    const double e = -log(nvdp__stream_uniform(&stream));
                    radius += e;
                    x[j] = wrong ? copysign(e, nvdp__stream_uniform(&stream) - .5)
                                 : nvdp__stream_normal(&stream);
                    square += x[j] * x[j];
                }
                for (size_t j = 0; j < DIM; j++) {
                    if (!wrong) x[j] *= radius / sqrt(square);
                    x[j] += s * distance / sqrt(DIM);
                }
            }
        }
        const struct nvdp_sample_audit found = audit(side[0], side[1], 0, 1);
        cr_expect(wrong ? found.epsilon > 1.2 * distance : found.epsilon <= distance, "%g",
                  found.epsilon);
    }
}

/* A transformer layer around the noise: out = h + W (h + noise), with W as in a new BERT, of standard deviation .02.
 * The residual carries h past the noise, so the bound reaches its ceiling. */
Test(samples, find_a_residual_around_the_noise) {
    enum { COUNT = 4000, DIM = 32 };
    struct nvdp_samples side[2];
    nvdp__auto(nvdp_samples_free) struct nvdp_samples w = normals(DIM, DIM, 0, 4000);
    const double sigma = 2 / nvdp_gdp_mu(1, .01);
    for (int s = 0; s < 2; s++) {
        nvdp__auto(nvdp_samples_free) struct nvdp_samples z =
            normals(COUNT, DIM, 0, (uint64_t)(4001 + s));
        side[s] = samples_of(COUNT, DIM);
        for (size_t i = 0; i < COUNT; i++)
            for (size_t j = 0; j < DIM; j++) {
                const double h = (j == 3 ? 1 - 2 * s : 0);
                double *out = &side[s].value[i * DIM + j];
                *out = h;
                for (size_t k = 0; k < DIM; k++)
                    *out += .02 * w.value[j * DIM + k] *
                            ((k == 3 ? 1 - 2 * s : 0) + sigma * z.value[i * DIM + k]);
            }
    }
    const struct nvdp_sample_audit found = audit(side[0], side[1], .01, 1);
    cr_expect_geq(found.epsilon, .99 * found.ceiling, "%g of %g", found.epsilon, found.ceiling);
    cr_expect_gt(found.ceiling, 6);
}

/* Without noise: different inputs show everything, equal inputs nothing. */
Test(samples, of_constants) {
    for (int same = 0; same < 2; same++) {
        struct nvdp_samples p = samples_of(100, 2), q = samples_of(101, 2);
        for (size_t i = 0; i < 100; i++)
            p.value[2 * i] = same ? 0 : 1e-9;
        const struct nvdp_sample_audit found = audit(p, q, 0, 1);
        cr_expect_eq(found.epsilon, same ? 0 : found.ceiling, "%g", found.epsilon);
        cr_expect(found.ceiling > 2 && found.held[0] == 50 && found.held[1] == 50);
    }
}

Test(samples, refusals) {
    nvdp__auto(nvdp_samples_free) struct nvdp_samples p = normals(100, 2, 0, 5000),
                                                      bad = normals(100, 2, 0, 5001);
    struct nvdp_samples few = {99, 2, p.value}, other = {100, 1, p.value},
                        wide = {100, NVDP_AUDIT_WIDEST + 1, p.value};
    bad.value[7] = NAN;
    static const struct {
        double delta, confidence;
    } settings[] = {{1, .95}, {-.1, .95}, {NAN, .95}, {0, 1}, {0, 0}};
    const struct {
        const struct nvdp_samples *q;
        const char *part;
    } cases[] = {{&few, "expected at least 100 samples of P and of Q, found 100 and 99"},
                 {&other, "found 2 and 1"},
                 {&wide, "1 to 4096, in P and Q, found 2 and 4097"},
                 {&bad, "sample 3 of Q: expected numbers within +-1e+100, found nan"}};
    struct nvdp_sample_audit found = NVDP_RESULT(struct nvdp_sample_audit);
    found.epsilon = 7;
    for (size_t i = 0; i < 4; i++) {
        fails(nvdp_audit_samples(ctx, &p, cases[i].q, 0, .95, 1, &found), NVDP_ERR_ARGUMENT,
              cases[i].part);
    }
    for (size_t i = 0; i < 5; i++) {
        fails(nvdp_audit_samples(ctx, &p, &p, settings[i].delta, settings[i].confidence, 1, &found),
              NVDP_ERR_ARGUMENT, "expected delta in [0, 1)");
    }
    cr_expect(found.epsilon == 7 && found.confidence == 0, "untouched on error");
    uint64_t k = support_fail_first(ctx);
    while (support_failed(ctx, &k, nvdp_audit_samples(ctx, &p, &p, 0, .95, 1, &found)))
        cr_assert_lt(k, 100);
}
