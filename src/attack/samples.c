/* Audits any mechanism by its samples (nvdp/audit.h): fits scores to a third of the samples, chooses a test on
 * another sixth, and measures its error rates on the remaining half.  The order: samples, scores, test. */
#include "attack/audit.h"
#include "attack/texts.h"
#include "base/array.h"
#include "base/random.h"
#include "options/result.h"
#include "options/schema.h"
#include "rdp/pairs.h"
#include "tensor/symmetric.h"

#include <cblas.h>
#include <math.h>
#include <nvdp/audit.h>
#include <stdlib.h>

enum { BLOCK = 256, SCORES = NVDP_AUDIT_GAUSSIAN + 1 };

nvdp_status nvdp_samples_read(struct nvdp_context *ctx, const char *path,
                              struct nvdp_samples *out) {
    size_t shape[2];
    double *value = NULL;
    NVDP_TRY(nvdp__npy_read(ctx, path, shape, &value));
    *out = (struct nvdp_samples){shape[0], shape[1], value};
    return NVDP_OK;
}

void nvdp_samples_free(struct nvdp_samples *samples) {
    free(samples->value);
    *samples = (struct nvdp_samples){0};
}

/* One file in random order: rows [0, train) fit, [train, held) choose, [held, count) measure. */
struct side {
    size_t count, train, held;
    double *x;     /* [count, dim] in standard deviations of each dimension */
    double *mean;  /* [dim] mean of the fitting rows */
    double *cov;   /* [dim, dim] covariance of the fitting rows */
    double *score; /* [count - train] values of the current score */
};

struct work {
    struct nvdp_context *ctx;
    size_t dim;
    struct side side[2]; /* P, Q */
    double *factor[SCORES]
                  [2]; /* [dim, dim] lower Cholesky factors; the linear score uses one for both */
    double log_det[SCORES][2]; /* log determinants of the factors */
    double *pooled, *row;      /* [dim, dim], [BLOCK, dim] */
    double *sorted[2];         /* scores of the choosing rows, ascending */
    struct nvdp__memory memory;
};

static void release(struct work *work) {
    nvdp__memory_release(&work->memory);
}

/* --- the samples --- */

static nvdp_status shuffle_rows(struct work *work, const struct nvdp_samples *of, uint64_t seed,
                                uint64_t number) {
    struct side *side = &work->side[number];
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_SPLIT, 0, number);
    nvdp__autofree int64_t *item = NULL;
    const size_t n = of->count, d = work->dim;
    NVDP_TRY(NVDP__NEW(work->ctx, item, n));
    nvdp__stream_permutation(&stream, n, item);
    side->count = n;
    side->train = n / 3;
    side->held = n - n / 2;
    NVDP_TRY(NVDP__ARRAYS(work->ctx, &work->memory, NVDP__ITEMS(side->x, n * d),
                          NVDP__ITEMS(side->mean, d), NVDP__ITEMS(side->cov, d * d),
                          NVDP__ITEMS(side->score, n - side->train)));
    for (size_t i = 0; i < n; i++)
        memcpy(side->x + i * d, of->value + (size_t)item[i] * d, d * sizeof *side->x);
    return NVDP_OK;
}

/* Standardizes every dimension by the mean and standard deviation of both files' fitting rows. */
static void standardize(struct work *work) {
    const size_t d = work->dim;
    const double rows = (double)(work->side[0].train + work->side[1].train);
    for (size_t j = 0; j < d; j++) {
        double mean = 0, square = 0;
        for (int s = 0; s < 2; s++)
            for (size_t i = 0; i < work->side[s].train; i++)
                mean += work->side[s].x[i * d + j] / rows;
        for (int s = 0; s < 2; s++)
            for (size_t i = 0; i < work->side[s].train; i++) {
                const double off = work->side[s].x[i * d + j] - mean;
                square += off * off / rows;
            }
        const double by = square > 0 ? 1 / sqrt(square) : 1;
        for (int s = 0; s < 2; s++)
            for (size_t i = 0; i < work->side[s].count; i++)
                work->side[s].x[i * d + j] = (work->side[s].x[i * d + j] - mean) * by;
    }
}

/* --- the scores --- */

/* Computes mean and covariance (the lower triangle) of the fitting rows. */
static void moments(struct work *work, struct side *side) {
    const int d = (int)work->dim;
    const double share = 1 / (double)side->train;
    for (size_t i = 0; i < side->train; i++)
        cblas_daxpy(d, share, side->x + i * work->dim, 1, side->mean, 1);
    for (size_t i = 0; i < side->train; i += BLOCK) {
        const size_t rows = nvdp__min(side->train - i, BLOCK);
        memcpy(work->row, side->x + i * work->dim, rows * work->dim * sizeof *work->row);
        for (size_t r = 0; r < rows; r++)
            cblas_daxpy(d, -1, side->mean, 1, work->row + r * work->dim, 1);
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, d, (int)rows, share, work->row, d, 1,
                    side->cov, d);
    }
}

/* Computes the Cholesky factor L of (1 - a) S + a tr(S)/d I, where S is the covariance of `rows` rows, and its log
 * determinant.  The shrinkage a = d / (rows + d) makes up for few rows in many dimensions. */
static nvdp_status factorize(struct work *work, const double *cov, size_t rows, double *l,
                             double *log_det) {
    const size_t d = work->dim;
    const double a = (double)d / (double)(rows + d);
    double trace = 0;
    size_t failed;
    for (size_t i = 0; i < d; i++)
        trace += cov[i * d + i];
    const double floor =
        a * fmax(trace / (double)d, 1e-12); /* positive even for a mechanism without noise */
    *log_det = 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++)
            l[i * d + j] = (1 - a) * cov[i * d + j] + (i == j ? floor : 0);
    if (!nvdp__cholesky(d, l, &failed))
        return nvdp__fail(work->ctx, NVDP_ERR_NUMERIC,
                          "samples: expected samples that a normal density fits, but dimension "
                          "%zu is constant or not finite",
                          failed);
    for (size_t j = 0; j < d; j++)
        *log_det += log(l[j * d + j]);
    return nvdp__check_cancelled(work->ctx, "audit: cancelled");
}

static nvdp_status fit(struct work *work) {
    const size_t d = work->dim, rows[2] = {work->side[0].train, work->side[1].train};
    const double share = (double)rows[0] / (double)(rows[0] + rows[1]);
    for (int s = 0; s < 2; s++)
        moments(work, &work->side[s]);
    for (size_t i = 0; i < d * d; i++)
        work->pooled[i] = share * work->side[0].cov[i] + (1 - share) * work->side[1].cov[i];
    for (int s = 0; s < 2; s++)
        NVDP_TRY(factorize(work, work->side[s].cov, rows[s], work->factor[NVDP_AUDIT_GAUSSIAN][s],
                           &work->log_det[NVDP_AUDIT_GAUSSIAN][s]));
    return factorize(work, work->pooled, rows[0] + rows[1], work->factor[NVDP_AUDIT_LINEAR][0],
                     &work->log_det[NVDP_AUDIT_LINEAR][0]);
}

/* Computes log N(x; P's moments) - log N(x; Q's moments) for every row after the fitting rows. */
static void scores(struct work *work, enum nvdp_audit_score score, struct side *side) {
    const int d = (int)work->dim;
    const size_t rows = side->count - side->train;
    memset(side->score, 0, rows * sizeof *side->score);
    for (size_t at = 0; at < rows; at += BLOCK) {
        const size_t n = nvdp__min(rows - at, BLOCK);
        for (int s = 0; s < 2; s++) {
            const bool own = score == NVDP_AUDIT_GAUSSIAN;
            const double sign = s == 0 ? -.5 : .5;
            memcpy(work->row, side->x + (side->train + at) * work->dim,
                   n * work->dim * sizeof *work->row);
            for (size_t r = 0; r < n; r++)
                cblas_daxpy(d, -1, work->side[s].mean, 1, work->row + r * work->dim, 1);
            cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)n, d,
                        1, work->factor[score][own ? s : 0], d, work->row, d);
            for (size_t r = 0; r < n; r++) {
                const double *t = work->row + r * work->dim;
                side->score[at + r] +=
                    sign * (cblas_ddot(d, t, 1, t, 1) + (own ? 2 * work->log_det[score][s] : 0));
            }
        }
    }
}

/* --- the test --- */

/* Returns log((TPR - delta) / FPR) at the confidence limits of both rates.  It is negative, down to -inf, if nothing
 * is shown. */
static double bound(double delta, double confidence, const size_t n[2], const size_t hits[2],
                    double *true_low, double *false_high) {
    *true_low = nvdp__interval_share(confidence, n[0], hits[0]).low;
    *false_high = nvdp__interval_share(confidence, n[1], hits[1]).high;
    return *true_low > delta ? log((*true_low - delta) / *false_high) : -INFINITY;
}

/* Returns the number of elements of the ascending x above t. */
static size_t count_above(size_t n, const double *x, double t) {
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (x[middle] > t)
            high = middle;
        else
            low = middle + 1;
    }
    return n - low;
}

/* Chooses the threshold with the best bound on the choosing rows.  The candidates have k false rows above them, for k =
 * 0, 1, 2, ... with growing steps of a fifth later.  A candidate is midway between the next false row and the true row
 * above this false row. */
static void choose(struct work *work, enum nvdp_audit_score score, bool favors_q,
                   struct nvdp_sample_audit *best, double *best_bound) {
    const double sign = favors_q ? -1 : 1;
    size_t n[2];
    for (int s = 0; s < 2; s++) {
        const struct side *side = &work->side[favors_q ? 1 - s : s];
        n[s] = side->held - side->train;
        for (size_t i = 0; i < n[s]; i++)
            work->sorted[s][i] = sign * side->score[i];
        qsort(work->sorted[s], n[s], sizeof(double), nvdp__by_double);
    }
    for (size_t k = 0; k < n[1]; k += 1 + k / 5) {
        double t = work->sorted[1][n[1] - 1 - k], low, false_;
        const size_t true_ = count_above(n[0], work->sorted[0], t);
        if (true_ > 0) t += (work->sorted[0][n[0] - true_] - t) / 2;
        const size_t hits[2] = {count_above(n[0], work->sorted[0], t),
                                count_above(n[1], work->sorted[1], t)};
        const double share = (double)hits[0] / (double)n[0] - best->delta;
        if (share * (double)n[1] <= exp(*best_bound) * (double)hits[1])
            continue; /* the limits would be even worse */
        const double here = bound(best->delta, best->confidence, n, hits, &low, &false_);
        if (here <= *best_bound) continue;
        *best_bound = here;
        best->score = score;
        best->favors_q = favors_q;
        best->threshold = t;
    }
}

/* Measures the chosen test on the held-out rows.  side->score must have the chosen score. */
static void measure(struct work *work, struct nvdp_sample_audit *audit) {
    const double sign = audit->favors_q ? -1 : 1;
    double low, ignored;
    size_t n[2], hits[2];
    for (int s = 0; s < 2; s++) {
        const struct side *side = &work->side[s];
        audit->held[s] = side->count - side->held;
        for (size_t i = side->held; i < side->count; i++)
            audit->hits[s] += sign * side->score[i - side->train] > audit->threshold;
    }
    for (int s = 0; s < 2; s++) {
        n[s] = audit->held[audit->favors_q ? 1 - s : s];
        hits[s] = audit->hits[audit->favors_q ? 1 - s : s];
    }
    audit->epsilon = fmax(
        0, bound(audit->delta, audit->confidence, n, hits, &audit->least_true, &audit->most_false));
    audit->ceiling = fmax(
        0, bound(audit->delta, audit->confidence, n, (const size_t[]){n[0], 0}, &low, &ignored));
}

static nvdp_status check(struct nvdp_context *ctx, const struct nvdp_samples *p,
                         const struct nvdp_samples *q, double delta, double confidence) {
    if (p->dim != q->dim || p->dim == 0 || p->dim > NVDP_AUDIT_WIDEST)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "samples: expected the same number of dimensions, 1 to %d, in P and Q, "
                          "found %zu and %zu",
                          NVDP_AUDIT_WIDEST, p->dim, q->dim);
    if (p->count < NVDP_AUDIT_FEWEST || q->count < NVDP_AUDIT_FEWEST)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "samples: expected at least %d samples of P and of Q, found %zu and %zu",
                          NVDP_AUDIT_FEWEST, p->count, q->count);
    for (size_t s = 0; s < 2; s++) {
        const struct nvdp_samples *of = s == 0 ? p : q;
        for (size_t i = 0; i < of->count * of->dim; i++)
            if (!(fabs(of->value[i]) <= NVDP__NPY_LARGEST))
                return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                                  "samples: sample %zu of %c: expected numbers within +-%g, found "
                                  "%g",
                                  i / of->dim, "PQ"[s], NVDP__NPY_LARGEST, of -> value[i]);
    }
    if (delta >= 0 && delta < 1 && confidence > 0 && confidence < 1) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "audit: expected delta in [0, 1) and confidence in (0, 1), found %g and %g",
                      delta, confidence);
}

/* Allocates the scores to sort.  Either side may be the longer side. */
static nvdp_status reserve_sorted(struct work *work) {
    const size_t all = work->side[0].count + work->side[1].count;
    return NVDP__ARRAYS(work->ctx, &work->memory, NVDP__ITEMS(work->sorted[0], all),
                        NVDP__ITEMS(work->sorted[1], all));
}

nvdp_status nvdp__audit_scores(struct nvdp_context *ctx, const size_t count[2],
                               double *const score[2], double delta, double confidence,
                               struct nvdp_sample_audit *out) {
    nvdp__auto(release) struct work work = {.ctx = ctx};
    struct nvdp_sample_audit made = {
        .struct_size = sizeof made, .delta = delta, .confidence = confidence};
    double best_bound = -INFINITY;
    for (int s = 0; s < 2; s++)
        work.side[s] = (struct side){.count = count[s], .held = count[s] / 2, .score = score[s]};
    NVDP_TRY(reserve_sorted(&work));
    for (int way = 0; way < 2; way++)
        choose(&work, NVDP_AUDIT_LINEAR, way == 1, &made, &best_bound);
    measure(&work, &made);
    *out = made;
    return NVDP_OK;
}

nvdp_status nvdp_audit_samples(struct nvdp_context *ctx, const struct nvdp_samples *p,
                               const struct nvdp_samples *q, double delta, double confidence,
                               uint64_t seed, struct nvdp_sample_audit *out) {
    nvdp__auto(release) struct work work = {.ctx = ctx, .dim = p->dim};
    const size_t square = p->dim * p->dim;
    struct nvdp_sample_audit made = {
        .struct_size = sizeof made, .delta = delta, .confidence = confidence};
    double best_bound = -INFINITY;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(check(ctx, p, q, delta, confidence));
    NVDP_TRY(shuffle_rows(&work, p, seed, 0));
    NVDP_TRY(shuffle_rows(&work, q, seed, 1));
    NVDP_TRY(NVDP__ARRAYS(ctx, &work.memory, NVDP__ITEMS(work.pooled, square),
                          NVDP__ITEMS(work.row, BLOCK * p->dim),
                          NVDP__ITEMS(work.factor[NVDP_AUDIT_LINEAR][0], square),
                          NVDP__ITEMS(work.factor[NVDP_AUDIT_GAUSSIAN][0], square),
                          NVDP__ITEMS(work.factor[NVDP_AUDIT_GAUSSIAN][1], square)));
    NVDP_TRY(reserve_sorted(&work));
    standardize(&work);
    NVDP_TRY(fit(&work));
    for (int tried = 0; tried <= SCORES;
         tried++) { /* recomputes the chosen score at the end, to measure it */
        const enum nvdp_audit_score score =
            tried < SCORES ? (enum nvdp_audit_score)tried : made.score;
        for (int s = 0; s < 2; s++)
            scores(&work, score, &work.side[s]);
        for (int way = 0; way < 2 && tried < SCORES; way++)
            choose(&work, score, way == 1, &made, &best_bound);
        NVDP_TRY(nvdp__check_cancelled(ctx, "audit: cancelled"));
    }
    measure(&work, &made);
    return NVDP__GIVE(out, &made);
}

/* --- the result table --- */

static double share(const void *result, bool of_q) {
    const struct nvdp_sample_audit *a = result;
    return (double)a->hits[of_q] / (double)a->held[of_q];
}

static double true_share(const void *result) {
    return share(result, ((const struct nvdp_sample_audit *)result)->favors_q);
}

static double false_share(const void *result) {
    return share(result, !((const struct nvdp_sample_audit *)result)->favors_q);
}

static const char *score_name(int score) {
    return score == NVDP_AUDIT_LINEAR ? "linear" : "gaussian";
}

static void print_shown(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_sample_audit *a = result;
    nvdp_result_line(to, "epsilon", ">= %.3f at delta %g with confidence %g %%",
                     nvdp__lower_bound(a->epsilon, 3), a->delta, 100 * a->confidence);
}

static void print_test(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_sample_audit *a = result;
    const char is = a->favors_q ? 'Q' : 'P', other = a->favors_q ? 'P' : 'Q';
    nvdp_result_line(to, "right", "%.4g %% of %c, at least %.4g %%", 100 * true_share(a), is,
                     nvdp__lower_bound(100 * a->least_true, 2));
    nvdp_result_line(to, "wrong", "%.4g %% of %c, at most %s", 100 * false_share(a), other,
                     nvdp__share_bound(a->most_false).text);
    nvdp_result_line(to, "test", "decides for %c if the %s score is above %.6g", is,
                     score_name(a->score), a->threshold);
    nvdp_result_line(to, "held out", "%zu of P, %zu of Q", a->held[0], a->held[1]);
}

/* clang-format off */
#define ROW(member, unit, better, ...) \
    NVDP_RESULT_ROW(struct nvdp_sample_audit, member, unit, NVDP_SCOPE_RUN, better, __VA_ARGS__)
#define RATES(name_, help_, of, key, limit) \
    {.name = name_, .help = help_, .rows = (const struct nvdp_result_row[]){ \
        {"share", NVDP_RESULT_REAL, .help = "measured", .real = of}, \
        {key, NVDP_RESULT_REAL, .help = "its limit", NVDP_RESULT_AT(struct nvdp_sample_audit, limit)}, \
        {0}}}

static const struct nvdp_result_table
    true_table = RATES("true_positives", "samples for which the test is right", true_share, "least", least_true),
    false_table = RATES("false_positives", "samples for which it is wrong", false_share, "most", most_false);

const struct nvdp_result_table nvdp__result_sample_audit = {
    .name = "sample_audit", .help = "lower bound of epsilon from samples of a mechanism", .sized = true,
    .rows = (const struct nvdp_result_row[]){
        ROW(epsilon, "nats", -1, "lower bound", .print = print_shown),
        ROW(ceiling, "nats", 0, "lower bound that a perfect test would have shown", .label = "ceiling", .decimals = 3,
            .after = "; even a perfect test shows no more with so many samples"),
        ROW(delta, NULL, 0, "delta of epsilon"),
        ROW(confidence, NULL, 0, "confidence of the bound"),
        {"says", NVDP_RESULT_ENUM, .help = "the input that the test detects", .words = (const char *const[]){"p", "q"}, .print = print_test,
         NVDP_RESULT_AT(struct nvdp_sample_audit, favors_q)},
        {"score", NVDP_RESULT_ENUM, .help = "score of the test", .word = score_name,
         NVDP_RESULT_AT(struct nvdp_sample_audit, score)},
        ROW(threshold, "nats", 0, "scores above it count"),
        {"held_out", NVDP_RESULT_COUNT, .help = "held-out samples of P and of Q", .array = 2,
         NVDP_RESULT_AT(struct nvdp_sample_audit, held[0])},
        {"true_positives", NVDP_RESULT_TABLE, .help = "samples for which the test is right", .of = &true_table},
        {"false_positives", NVDP_RESULT_TABLE, .help = "samples for which it is wrong", .of = &false_table},
        {0}}};
/* clang-format on */
