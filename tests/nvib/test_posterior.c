/* The quadratic projection and the clip set, against plain loops in double. */
#include "fixture.h"

enum { ROWS = 500, DIM = 77 }; /* enough for the loops to use threads */
static const struct nvdp__device dev = {.threads = 2};

static void fill(size_t n, double scale, double phase, float *x) {
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(scale * sin(1.7 * (double)i + phase));
}

Test(posterior, quadratic) {
    static float x[ROWS * DIM], dx[ROWS * DIM], w2[DIM], w1[DIM], dw2[DIM], dw1[DIM];
    static double want_dx[ROWS * DIM];
    double want[ROWS], want_dw2[DIM], want_dw1[DIM], want_db[1] = {1};
    float y[ROWS], dy[ROWS], b[1] = {-3}, db[1] = {1};
    fill(ROWS * DIM, 2, 0, x);
    fill(ROWS * DIM, 1, 5, dx);
    fill(DIM, 1, 1, w2);
    fill(DIM, 1, 2, w1);
    fill(ROWS, 1, 3, dy);
    for (size_t i = 0; i < DIM; i++) {
        dw2[i] = dw1[i] = 2;
        want_dw2[i] = want_dw1[i] = 2;
    }
    for (size_t t = 0; t < ROWS; t++) {
        want[t] = b[0];
        want_db[0] += dy[t];
        for (size_t i = 0; i < DIM; i++) {
            double v = x[t * DIM + i];
            want[t] += w2[i] * v * v + w1[i] * v;
            want_dx[t * DIM + i] = dx[t * DIM + i] + dy[t] * (2 * w2[i] * v + w1[i]);
            want_dw2[i] += dy[t] * v * v;
            want_dw1[i] += dy[t] * v;
        }
    }
    const struct nvdp__quadratic w = {w2, w1, b}, dw = {dw2, dw1, db};
    nvdp__quadratic_forward(&dev, ROWS, DIM, x, &w, y);
    nvdp__quadratic_backward(&dev, ROWS, DIM, x, &w, dy, dx, &dw);
    cr_expect_lt(support_norm_error(ROWS, y, want), 1e-6);
    cr_expect_lt(support_norm_error(ROWS * DIM, dx, want_dx), 1e-6);
    cr_expect_lt(support_norm_error(DIM, dw2, want_dw2), 1e-6);
    cr_expect_lt(support_norm_error(DIM, dw1, want_dw1), 1e-6);
    cr_expect_lt(support_norm_error(1, db, want_db), 1e-6);
}

struct posterior {
    float mu[ROWS * DIM], logvar[ROWS * DIM], log_alpha[ROWS];
    float norm[ROWS], logvar_in[ROWS * DIM], log_alpha_in[ROWS];
    float dmu[ROWS * DIM], dlogvar[ROWS * DIM], dlog_alpha[ROWS];
};

static struct posterior *made(void) {
    struct posterior *q = calloc(1, sizeof *q);
    fill(ROWS * DIM, 1, 0, q->mu);
    for (size_t i = 0; i < ROWS * DIM; i++) { /* norms from 0 to about 12 */
        q->mu[i] *= (float)(i / DIM) / 250;
    }
    fill(ROWS * DIM, 2, 1, q->logvar);
    fill(ROWS, 3, 2, q->log_alpha);
    fill(ROWS * DIM, 1, 3, q->dmu);
    fill(ROWS * DIM, 1, 4, q->dlogvar);
    fill(ROWS, 1, 5, q->dlog_alpha);
    return support_keep(q);
}

/* Computes the sum of gradient times the projection min(1, R/|mu|) mu, in double. */
static double projected(const float *direction, const double *mu, double radius) {
    double norm = 0, dot = 0;
    for (size_t i = 0; i < DIM; i++) {
        norm += mu[i] * mu[i];
        dot += mu[i] * direction[i];
    }
    return dot * fmin(1, radius / sqrt(norm));
}

static void clip_both(const struct nvdp__clip *clip, struct posterior *q) {
    const struct nvdp__posterior posterior = {ROWS, DIM, q->mu, q->logvar, q->log_alpha};
    const struct nvdp__posterior d = {ROWS, DIM, q->dmu, q->dlogvar, q->dlog_alpha};
    const struct nvdp__unclipped before = {q->norm, q->logvar_in, q->log_alpha_in};
    nvdp__clip_forward(&dev, clip, &posterior, &before);
    nvdp__clip_backward(&dev, clip, &posterior, &before, &d);
}

Test(posterior, clip) {
    struct posterior *q = made();
    struct posterior *before = made();
    const struct nvdp__clip clip = {.radius = 5,
                                    .logvar_min = -1,
                                    .logvar_max = 0.75f,
                                    .log_alpha_min = -2,
                                    .log_alpha_max = 1};
    clip_both(&clip, q);
    int scaled = 0;
    for (size_t t = 0; t < ROWS; t++) {
        double norm = 0, mu[DIM], want[DIM];
        const float *raw = before->mu + t * DIM;
        for (size_t i = 0; i < DIM; i++) {
            mu[i] = raw[i];
            norm += mu[i] * mu[i];
        }
        norm = sqrt(norm);
        scaled += norm > 5;
        double clipped = 0;
        for (size_t i = 0; i < DIM; i++) {
            double m = q->mu[t * DIM + i];
            clipped += m * m;
            near(m, mu[i] * fmin(1, 5 / norm), 1e-6);
            double step = 1e-6, here = mu[i];
            mu[i] = here + step;
            double up = projected(before->dmu + t * DIM, mu, 5);
            mu[i] = here - step;
            double down = projected(before->dmu + t * DIM, mu, 5);
            mu[i] = here;
            want[i] = (up - down) / (2 * step);
        }
        cr_expect_leq(clipped, 25, "outside the ball by rounding");
        if (t > 0) cr_expect_lt(support_norm_error(DIM, q->dmu + t * DIM, want), 1e-5);
    }
    cr_expect_gt(scaled, 5);
    for (size_t i = 0; i < ROWS * DIM; i++) {
        double v = before->logvar[i];
        cr_expect_eq(q->logvar[i], (float)fmin(fmax(v, -1), 0.75));
        cr_expect_eq(q->dlogvar[i], v >= -1 && v <= 0.75 ? before->dlogvar[i] : 0);
    }
    for (size_t t = 0; t < ROWS; t++) {
        double v = before->log_alpha[t];
        cr_expect_eq(q->log_alpha[t], (float)fmin(fmax(v, -2), 1));
        cr_expect_eq(q->dlog_alpha[t], v >= -2 && v <= 1 ? before->dlog_alpha[t] : 0);
    }
}

/* Runs gradient descent on half the squared distances of the clipped values from `target`,
 * starting outside every bound. Returns the point where it ends. */
static void descend(bool inward, const float *target, float *mu, float *logvar, float *log_alpha) {
    const struct nvdp__clip clip = {.radius = 5,
                                    .logvar_min = -1,
                                    .logvar_max = 0.75f,
                                    .log_alpha_min = -2,
                                    .log_alpha_max = 1,
                                    .inward = inward};
    for (int step = 0; step < 400; step++) {
        float m[2] = {mu[0], mu[1]}, v[2] = {logvar[0], logvar[1]}, a[1] = {log_alpha[0]};
        float norm[1], v_in[2], a_in[1], dm[2], dv[2], da[1];
        const struct nvdp__posterior q = {1, 2, m, v, a}, d = {1, 2, dm, dv, da};
        const struct nvdp__unclipped before = {norm, v_in, a_in};
        nvdp__clip_forward(&dev, &clip, &q, &before);
        for (size_t i = 0; i < 2; i++) {
            dm[i] = m[i] - target[i];
            dv[i] = v[i] - target[2 + i];
        }
        da[0] = a[0] - target[4];
        nvdp__clip_backward(&dev, &clip, &q, &before, &d);
        for (size_t i = 0; i < 2; i++) {
            mu[i] -= 0.1F * dm[i];
            logvar[i] -= 0.1F * dv[i];
        }
        log_alpha[0] -= 0.1F * da[0];
    }
}

/* Targets inside: a clamp's gradient leaves the numbers outside, an inward one moves them
 * inside. Tolerance: 400 steps of rate 0.1 contract by 1e-18; only float's rounding remains. */
Test(posterior, clip_inward_comes_back) {
    const float target[] = {0.6F, 0.8F, -0.5F, 0.5F, 0.25F};
    float mu[] = {6, 8}, logvar[] = {-3, 4}, log_alpha[] = {7};
    descend(false, target, mu, logvar, log_alpha);
    near(hypot(mu[0], mu[1]), 10, 1e-4);
    cr_expect(logvar[0] == -3 && logvar[1] == 4 && log_alpha[0] == 7);
    descend(true, target, mu, logvar, log_alpha);
    near(mu[0], target[0], 1e-5);
    near(mu[1], target[1], 1e-5);
    near(logvar[0], target[2], 1e-5);
    near(logvar[1], target[3], 1e-5);
    near(log_alpha[0], target[4], 1e-5);
}

/* For targets farther out, inward gradients equal a clamp's, bit for bit. */
Test(posterior, clip_inward_goes_no_further) {
    const float target[] = {12, 5, -9, 9, 20};
    float start[] = {3, 7, -3, 4, 7}, mu[2][2], logvar[2][2], log_alpha[2][1];
    for (int inward = 0; inward < 2; inward++) {
        memcpy(mu[inward], start, sizeof mu[0]);
        memcpy(logvar[inward], start + 2, sizeof logvar[0]);
        log_alpha[inward][0] = start[4];
        descend(inward == 1, target, mu[inward], logvar[inward], log_alpha[inward]);
    }
    cr_expect_arr_eq(mu[0], mu[1], sizeof mu[0]);
    cr_expect_arr_eq(logvar[0], logvar[1], sizeof logvar[0]);
    cr_expect_eq(log_alpha[0][0], log_alpha[1][0]);
    near(mu[0][1] / mu[0][0], 5.0 / 12, 1e-3, "turned towards the target");
}

/* Bounds that are off have no effect. */
Test(posterior, clip_off) {
    struct posterior *q = made();
    struct posterior *before = made();
    const struct nvdp__clip clip = {INFINITY, -INFINITY, INFINITY, -INFINITY, INFINITY, false};
    clip_both(&clip, q);
    cr_expect_arr_eq(q->mu, before->mu, sizeof q->mu);
    cr_expect_arr_eq(q->logvar, before->logvar, sizeof q->logvar);
    cr_expect_arr_eq(q->log_alpha, before->log_alpha, sizeof q->log_alpha);
    cr_expect_arr_eq(q->dmu, before->dmu, sizeof q->dmu);
    cr_expect_arr_eq(q->dlogvar, before->dlogvar, sizeof q->dlogvar);
    cr_expect_arr_eq(q->dlog_alpha, before->dlog_alpha, sizeof q->dlog_alpha);
}
