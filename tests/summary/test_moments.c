/* Tests what a receiver computes: moments without noise are those of the rows, noise leaves possible ones, readers find the
 * answer, synthetic rows have the moments. */
#include "summary/summary.h"
#include "support.h"

enum { DIM = 6, ROWS = 3000 };

struct rows {
    float x[ROWS][DIM], y[ROWS][3];
    int class[ROWS];
};

/* Rows whose first numbers tell the class, or the score. */
static struct rows *make_rows(size_t classes) {
    struct rows *made = support_keep(calloc(1, sizeof *made));
    const struct nvdp__noise noise = {.seed = 2};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    for (size_t r = 0; r < ROWS; r++) {
        double square = 0;
        const size_t class = classes > 0 ? nvdp__stream_below(&stream, classes) : 0;
        for (size_t i = 0; i < DIM; i++)
            made->x[r][i] = (float)(.3 * nvdp__stream_normal(&stream) + (i == class ? .6 : .1));
        for (size_t i = 0; i < DIM; i++)
            square += (double)made->x[r][i] * (double)made->x[r][i];
        for (size_t i = 0; i < DIM && square > 1; i++)
            made->x[r][i] /= (float)sqrt(square) * 1.0001F;
        made->class[r] = (int)class;
        if (classes == 0)
            made->y[r][0] = .5F * made->x[r][1] - .25F * made->x[r][3] + .1F;
        else if (classes == 2)
            made->y[r][0] = class == 0 ? -1 : 1;
        else
            made->y[r][class] = 1;
    }
    return made;
}

static struct nvdp__moments moments_of_seed(const struct nvdp__summary *of, const struct rows *rows,
                                            bool scores, bool noisy, uint64_t seed) {
    static struct nvdp__memory memory; /* until the test's process ends */
    struct nvdp__moments made;
    const size_t entries = nvdp__summary_entries(of);
    nvdp__autofree int64_t *sum = calloc(entries, sizeof *sum);
    nvdp__autofree int32_t *out = calloc(entries, sizeof *out), *z = calloc(of->width, sizeof *z);
    for (size_t r = 0; r < ROWS; r++) {
        nvdp__summary_row(of, 1, rows->x[r], rows->y[r], z);
        nvdp__summary_add(of, 1, 1, z, sum);
    }
    const struct nvdp__noise noise = {.seed = seed};
    ok(nvdp__summary_draw(NULL, of, &noise, sum, out));
    for (size_t i = 0; i < entries && !noisy; i++)
        out[i] = (int32_t)lround(ldexp((double)sum[i], -2 * of->bits - of->grid.exponent));
    ok(nvdp__summary_moments(support_context(), of, scores, out, &memory, &made));
    return made;
}

static struct nvdp__moments moments(const struct nvdp__summary *of, const struct rows *rows,
                                    bool scores, bool noisy) {
    return moments_of_seed(of, rows, scores, noisy, 4);
}

static struct nvdp__summary plan(size_t answers) {
    struct nvdp__summary of;
    ok(nvdp__summary_plan(support_context(), ROWS, DIM, answers, 8, 1e-5, &of));
    return of;
}

static double mean_of(const struct rows *rows, size_t i, int class, double *share) {
    double sum = 0, count = 0;
    for (size_t r = 0; r < ROWS; r++)
        if (class < 0 || rows->class[r] == class) {
            sum += (double)rows->x[r][i];
            count++;
        }
    *share = count / ROWS;
    return sum / count;
}

Test(moments, without_noise_are_those_of_the_rows) {
    for (size_t classes = 2; classes <= 3; classes++) {
        const struct nvdp__summary of = plan(classes == 2 ? 1 : classes);
        const struct rows *rows = make_rows(classes);
        const struct nvdp__moments found = moments(&of, rows, false, false);
        double share = 0;
        cr_assert_eq(found.classes, classes);
        for (size_t i = 0; i < DIM; i++) {
            cr_expect_float_eq(found.mean[i], mean_of(rows, i, -1, &share), 1e-4);
            for (size_t j = 0; j < DIM; j++) {
                double product = 0;
                for (size_t r = 0; r < ROWS; r++)
                    product += (double)rows->x[r][i] * (double)rows->x[r][j] / ROWS;
                cr_expect_float_eq(
                    found.covariance[i * DIM + j],
                    product - mean_of(rows, i, -1, &share) * mean_of(rows, j, -1, &share), 1e-4);
            }
            for (size_t c = 0; c < classes; c++) {
                cr_expect_float_eq(found.class_mean[c * DIM + i], mean_of(rows, i, (int)c, &share),
                                   2e-3, "%zu classes", classes);
                cr_expect_float_eq(found.share[c], share, 1e-4);
            }
        }
    }
}

/* Noise that drowns a collection leaves estimates that are possible. */
Test(moments, are_possible_whatever_the_noise_is) {
    const struct rows *rows = make_rows(3);
    for (size_t answers = 1; answers <= 3; answers++) {
        struct nvdp__summary of;
        ok(nvdp__summary_plan(support_context(), ROWS, DIM, answers, 1e-3, 1e-5, &of));
        const struct nvdp__moments found = moments(&of, rows, false, true);
        double total = 0, weight[3 * DIM], bias[3];
        for (size_t c = 0; c < found.classes; c++) {
            cr_expect(found.share[c] >= 0 && found.share[c] <= 1);
            total += found.share[c];
            double length = 0;
            for (size_t i = 0; i < DIM; i++)
                length += pow(found.class_mean[c * DIM + i], 2);
            cr_expect_leq(length, 1 + 1e-9);
        }
        cr_expect_float_eq(total, 1, 1e-9);
        double square = 0; /* E |x|^2 */
        for (size_t i = 0; i < DIM; i++)
            square += found.covariance[i * DIM + i] + found.mean[i] * found.mean[i];
        cr_expect_leq(square, 1 + 1e-9, "%zu answers: %g", answers, square);
        ok(nvdp__summary_ridge(support_context(), &found, sqrt(DIM) * found.noise, weight, bias));
        for (size_t i = 0; i < DIM; i++)
            cr_expect(found.covariance[i * DIM + i] >= 0 && isfinite(weight[i]));
    }
}

/* Rows without a known answer do not move the means of the classes, or of all rows. */
Test(moments, unknown_answers_bias_nothing) {
    for (size_t classes = 2; classes <= 3; classes++) {
        const struct nvdp__summary of = plan(classes == 2 ? 1 : classes);
        struct rows *rows = make_rows(classes);
        for (size_t r = 0; r < ROWS; r++)
            if (r % 5 < 3) {
                rows->class[r] = -2;
                memset(rows->y[r], 0, sizeof rows->y[r]);
            }
        const struct nvdp__moments found = moments(&of, rows, false, false);
        for (size_t c = 0; c < classes; c++) {
            double share = 0;
            for (size_t i = 0; i < DIM; i++)
                cr_expect_float_eq(found.class_mean[c * DIM + i], mean_of(rows, i, (int)c, &share),
                                   .03, "%zu classes, %zu", classes, i);
            cr_expect_float_eq(found.share[c], share / .4, 1e-3);
        }
    }
}

/* The known noise of a class mean is the one that it has: over many draws, what remains after shrinking has the error that the
 * formula promises, and real differences are kept. */
Test(moments, deviations_are_shrunk_by_their_own_noise) {
    for (size_t classes = 2; classes <= 3; classes++) {
        struct nvdp__summary of;
        const struct rows *rows = make_rows(classes);
        ok(nvdp__summary_plan(support_context(), ROWS, DIM, classes == 2 ? 1 : classes, 1, 1e-5,
                              &of));
        double error = 0, kept = 0, whole = 0;
        for (uint64_t seed = 0; seed < 60; seed++) {
            const struct nvdp__moments found = moments_of_seed(&of, rows, false, true, seed);
            for (size_t i = 0; i < DIM; i++) {
                double share = 0;
                const double mean = mean_of(rows, i, -1, &share),
                             deviation = mean_of(rows, i, 0, &share) - mean;
                error += pow(found.class_mean[i] - mean - deviation, 2) / 60;
                kept += (found.class_mean[i] - mean) * deviation / 60;
                whole += deviation * deviation / 60;
            }
        }
        cr_expect_gt(kept / whole, .9, "%zu classes: %g", classes, kept / whole);
        cr_expect_lt(error / whole, .1, "%zu classes: %g", classes, error / whole);
    }
}

Test(moments, readers_find_the_answer_through_the_noise) {
    for (size_t classes = 0; classes <= 3; classes++) {
        if (classes == 1) continue;
        const size_t answers = classes < 3 ? 1 : 3;
        const struct nvdp__summary of = plan(answers);
        const struct rows *rows = make_rows(classes);
        const struct nvdp__moments found = moments(&of, rows, classes == 0, true);
        double weight[3 * DIM], bias[3], error = 0;
        size_t right = 0;
        ok(nvdp__summary_ridge(support_context(), &found, sqrt(DIM) * found.noise, weight, bias));
        for (size_t r = 0; r < ROWS; r++) {
            double value[3];
            size_t best = 0;
            for (size_t k = 0; k < answers; k++) {
                value[k] = bias[k];
                for (size_t i = 0; i < DIM; i++)
                    value[k] += weight[k * DIM + i] * (double)rows->x[r][i];
                if (value[k] > value[best]) best = k;
            }
            right += (int)(classes == 2 ? value[0] > 0 : best) == rows->class[r];
            error += pow(value[0] - (double)rows->y[r][0], 2) / ROWS;
        }
        if (classes == 0)
            cr_expect_lt(sqrt(error), .03, "%g", sqrt(error));
        else
            cr_expect_gt((double)right / ROWS, classes == 2 ? .85 : .75, "%zu classes: %g", classes,
                         (double)right / ROWS);
    }
}

/* Synthetic rows have the class shares, the class means and the covariance that were estimated; scores have their regression. */
Test(moments, synthetic_rows_have_the_moments) {
    enum { DRAWN = 20000 };
    for (size_t classes = 0; classes <= 3; classes += 3) {
        const struct nvdp__summary of = plan(classes == 0 ? 1 : 3);
        const struct nvdp__moments found = moments(&of, make_rows(classes), classes == 0, true);
        double weight[3 * DIM], bias[3], line[2 * DIM], mean[DIM] = {0}, square[DIM] = {0};
        double share[3] = {0}, answer = 0, answer_square = 0;
        ok(nvdp__summary_ridge(support_context(), &found, sqrt(DIM) * found.noise, weight, bias));
        for (uint64_t r = 0; r < DRAWN; r++) {
            float x[DIM];
            const double y = nvdp__summary_synthetic(&found, weight, bias, 1, r, line, x);
            if (classes > 0) share[(size_t)y] += 1. / DRAWN;
            answer += y / DRAWN;
            answer_square += y * y / DRAWN;
            for (size_t i = 0; i < DIM; i++) {
                mean[i] += (double)x[i] / DRAWN;
                square[i] += (double)x[i] * (double)x[i] / DRAWN;
            }
        }
        for (size_t i = 0; i < DIM; i++) {
            cr_expect_float_eq(mean[i], found.mean[i], .015, "%zu", i);
            cr_expect_float_eq(square[i] - mean[i] * mean[i], found.covariance[i * DIM + i], .01);
        }
        for (size_t c = 0; c < classes; c++)
            cr_expect_float_eq(share[c], found.share[c], .015);
        if (classes > 0) continue;
        cr_expect_float_eq(answer, found.answer[0], .01);
        cr_expect_float_eq(answer_square - answer * answer, found.answer_variance, .01);
    }
}

Test(moments, a_collection_without_answers_has_a_mean) {
    const struct nvdp__summary of = plan(0);
    const struct nvdp__moments found = moments(&of, make_rows(0), false, true);
    double line[2 * DIM], share = 0;
    float x[DIM];
    cr_expect(found.classes == 0 && found.answers == 0);
    cr_expect_float_eq(found.mean[0], mean_of(make_rows(0), 0, -1, &share), .02);
    cr_expect(isnan(nvdp__summary_synthetic(&found, NULL, NULL, 1, 0, line, x)));
}
