/* Audits the mechanism of a summary (summary/summary.h) against theorem 1 by releases of two collections that are as
 * far apart as the theorem allows.  The order: the collections, releases, bounds, the file, the result table. */
#include "attack/summary.h"
#include "options/result.h"
#include "rdp/pairs.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <nvdp/audit.h>

enum {
    COORDINATES = 5, /* at most a constant, two of x, two of y */
    ENTRIES = COORDINATES * (COORDINATES + 1) / 2,
    FEWEST = 1000,
    BLOCK = 4096 /* releases between reports of progress */
};
static const double LEAST_DELTA = 1e-3; /* delta at the largest epsilon */

/* --- the collections --- */

/* The entries in which two collections differ: M of each, and the weights of the log likelihood ratio, which is
 * linear. */
struct pair {
    struct nvdp__summary plan; /* cut to the coordinates in which the rows differ */
    int64_t sum[2][ENTRIES];
    double weight[ENTRIES], shift;
};

/* Adds `copies` copies of a row to `sum`. */
static void add_copies(const struct nvdp__summary *plan, const float *x, const float *y,
                       size_t copies, int64_t *sum) {
    int32_t z[COORDINATES];
    int64_t one[ENTRIES] = {0};
    nvdp__summary_row(plan, 1, x, y, z);
    nvdp__summary_add(plan, 1, 1, z, one);
    for (size_t i = 0; i < nvdp__summary_entries(plan); i++)
        sum[i] += (int64_t)copies * one[i];
}

/* Makes the pair: all rows of one collection are equal, and in the other collection, another row replaces k of them.
 * The two rows have different labels, and vectors of length 1 whose inner product c makes z and z' orthogonal:
 * alpha^2 + beta^2 c + tau^2 <y, y'> = 0.  Vectors of one number have no second coordinate, so z and z' are closer
 * together. */
static void make_pair(const struct nvdp__summary *of, size_t rows, struct pair *pair) {
    const bool sign = of->answers == 1;
    const double c =
        -(of->alpha * of->alpha - (sign ? of->tau * of->tau : 0)) / (of->beta * of->beta);
    const float x[] = {1, 0}, other_x[] = {(float)c, (float)sqrt(1 - c * c)}, y[] = {1, 0},
                other_y[] = {sign ? -1 : 0, 1};
    *pair = (struct pair){.plan = *of};
    struct nvdp__summary *plan = &pair->plan;
    plan->dim = nvdp__min(of->dim, 2);
    plan->answers = nvdp__min(of->answers, 2);
    plan->width = (of->alpha > 0) + plan->dim + plan->answers;
    add_copies(plan, x, y, rows, pair->sum[0]);
    add_copies(plan, other_x, other_y, of->units - rows, pair->sum[0]);
    add_copies(plan, other_x, other_y, of->units, pair->sum[1]);
}

/* Sets the weights of the ratio.  Returns mu of the pair. */
static double set_ratio(struct pair *pair) {
    const struct nvdp__summary *plan = &pair->plan;
    double square = 0;
    for (size_t i = 0, at = 0; i < plan->width; i++)
        for (size_t j = i; j < plan->width; j++, at++) {
            const double sigma = j > i ? plan->sigma_off : plan->sigma;
            const double apart =
                ldexp((double)(pair->sum[0][at] - pair->sum[1][at]), -2 * plan->bits);
            const double middle = ldexp((double)pair->sum[1][at], -2 * plan->bits) + apart / 2;
            pair->weight[at] = apart / (sigma * sigma);
            pair->shift += pair->weight[at] * middle;
            square += apart * pair->weight[at];
        }
    return sqrt(square);
}

/* --- releases --- */

/* Draws a release of a collection, and returns its log likelihood ratio. */
static nvdp_status draw_loss(struct nvdp_context *ctx, const struct pair *pair, size_t collection,
                             uint64_t seed, double *loss) {
    const struct nvdp__noise noise = {.seed = seed};
    int32_t drawn[ENTRIES];
    NVDP_TRY(nvdp__summary_draw(ctx, &pair->plan, &noise, pair->sum[collection], drawn));
    *loss = -pair->shift;
    for (size_t i = 0; i < nvdp__summary_entries(&pair->plan); i++)
        *loss += pair->weight[i] * ldexp(drawn[i], pair->plan.grid.exponent);
    return NVDP_OK;
}

/* Counts, by collection and direction, the releases whose log likelihood ratio is above each epsilon. */
struct counts {
    size_t above[NVDP_AUDIT_POINTS][2][2]; /* [point][direction][collection] */
    size_t right;
};

static nvdp_status count(struct nvdp_context *ctx, const struct pair *pair, uint64_t seed,
                         const struct nvdp_summary_audit *audit, struct counts *counts) {
    const size_t draws = 2 * audit->releases;
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, ctx, "audit", "release", 0, draws);
    for (size_t s = 0; s < draws; s++) {
        const size_t of = s % 2;
        double loss;
        NVDP_TRY(draw_loss(ctx, pair, of, nvdp__fnv1a(nvdp__fnv1a(NVDP__FNV1A, seed), s), &loss));
        counts->right += of == 0 ? loss > 0 : loss < 0;
        for (size_t e = 0; e < NVDP_AUDIT_POINTS; e++) {
            counts->above[e][0][of] += loss > audit->point[e].epsilon;
            counts->above[e][1][of] += -loss > audit->point[e].epsilon;
        }
        if ((s + 1) % BLOCK != 0 && s + 1 < draws) continue;
        NVDP_TRY(nvdp__check_cancelled(ctx, "audit: cancelled"));
        nvdp__meter_update(&meter, s + 1, (double)(s + 1), "release", NAN);
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

/* --- bounds --- */

/* Sets a point from the counts.  `confidence` applies to the interval of each of four shares, of which one end is
 * used. */
static void bound_point(const size_t above[2][2], size_t releases, double confidence,
                        struct nvdp_audit_point *point) {
    const double n = (double)releases, factor = exp(point->epsilon);
    point->measured = 0;
    point->low = 0;
    for (size_t way = 0; way < 2; way++) {
        const size_t p = above[way][way], q = above[way][1 - way];
        point->measured += ((double)p - factor * (double)q) / n / 2;
        point->low =
            fmax(point->low, nvdp__interval_share(confidence, releases, p).low -
                                 factor * nvdp__interval_share(confidence, releases, q).high);
    }
}

nvdp_status nvdp__audit_plan(struct nvdp_context *ctx, const struct nvdp__summary *of, size_t rows,
                             size_t releases, double confidence, uint64_t seed,
                             struct nvdp_summary_audit *out) {
    static const double ROUNDING = 1 + 1e-9;
    /* Divides the error probability among four ends per point and both ends of `right`. */
    const double each = 1 - 2 * (1 - confidence) / (4 * NVDP_AUDIT_POINTS + 2);
    struct pair pair;
    struct counts counts = {0};
    struct nvdp_summary_audit made = {.struct_size = sizeof made,
                                      .releases = releases,
                                      .rows = rows,
                                      .confidence = confidence,
                                      .mu = (double)rows * of->mu,
                                      .points = NVDP_AUDIT_POINTS};
    if (rows < 1 || rows > of->units || releases < FEWEST || !(confidence > 0 && confidence < 1))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "audit: expected 1 to %zu rows that change together, at least %d releases "
            "and a confidence in (0, 1), found %zu, %zu and %g",
            of->units, FEWEST, rows, releases, confidence);
    make_pair(of, rows, &pair);
    made.attained = set_ratio(&pair);
    for (size_t e = 0; e < NVDP_AUDIT_POINTS; e++) {
        struct nvdp_audit_point *point = &made.point[e];
        point->epsilon =
            nvdp_gdp_epsilon(made.mu, LEAST_DELTA) * (double)e / (NVDP_AUDIT_POINTS - 1);
        point->proven = nvdp_gdp_delta(made.mu, point->epsilon);
    }
    NVDP_TRY(count(ctx, &pair, seed, &made, &counts));
    made.right = (double)counts.right / (2 * (double)releases);
    made.right_interval = nvdp__interval_share(each, 2 * releases, counts.right);
    made.right_bound = gsl_cdf_ugaussian_P(made.mu / 2);
    made.holds = made.right_interval.low <= made.right_bound * ROUNDING;
    for (size_t e = 0; e < NVDP_AUDIT_POINTS; e++) {
        bound_point((const size_t(*)[2])counts.above[e], releases, each, &made.point[e]);
        made.holds = made.holds && made.point[e].low <= made.point[e].proven * ROUNDING;
    }
    *out = made;
    return NVDP_OK;
}

/* --- the file --- */

nvdp_status nvdp__attacked_summary(struct nvdp_context *ctx, const char *path,
                                   struct nvdp__verify *v) {
    NVDP_TRY(nvdp__verify_file(ctx, path, NULL, v));
    if (!v->found.summary)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: expected a summary, which nvdp summarize writes, found a file of samples", path);
    for (size_t i = 0; i < v->found.checks; i++)
        if (v->found.check[i].verdict == NVDP_VERDICT_NO)
            return nvdp__fail(
                ctx, NVDP_ERR_INPUT,
                "%s: the file contradicts itself (%s: %s); nvdp verify shows all checks", path,
                v->found.check[i].what, v->found.check[i].found);
    return NVDP_OK;
}

nvdp_status nvdp_audit_summary(struct nvdp_context *ctx, const char *path, size_t rows,
                               size_t releases, double confidence, uint64_t seed,
                               struct nvdp_summary_audit *out) {
    nvdp__auto(nvdp__verify_release) struct nvdp__verify v = {.ctx = ctx};
    struct nvdp_summary_audit made;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__attacked_summary(ctx, path, &v));
    NVDP_TRY(nvdp__audit_plan(ctx, &v.summary.plan, rows, releases, confidence, seed, &made));
    return NVDP__GIVE(out, &made);
}

/* --- the result table --- */

static void print_right(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_summary_audit *a = result;
    nvdp_result_line(to, "which of the two", "%.2f %% right, at least %.2f %%, proven at most %s",
                     100 * a->right, nvdp__lower_bound(100 * a->right_interval.low, 2),
                     nvdp__share_bound(a->right_bound).text);
}

/* clang-format off */
#define ROW(member, unit, better, ...) \
    NVDP_RESULT_ROW(struct nvdp_summary_audit, member, unit, NVDP_SCOPE_FILE, better, __VA_ARGS__)
#define POINT(member, unit, ...) \
    NVDP_RESULT_ROW(struct nvdp_audit_point, member, unit, NVDP_SCOPE_FILE, 0, __VA_ARGS__)

static const struct nvdp_result_table point_table = {
    .name = "point", .help = "delta at an epsilon", .size = sizeof(struct nvdp_audit_point),
    .rows = (const struct nvdp_result_row[]){
        POINT(epsilon, "nats", "epsilon", .label = "epsilon", .decimals = 3),
        POINT(measured, NULL, "delta that the releases show, mean of both directions", .label = "delta", .decimals = 4),
        POINT(low, NULL, "its lower confidence bound", .label = "at least", .decimals = 4, .bound = -1),
        POINT(proven, NULL, "proven upper bound", .label = "proven at most", .decimals = 4, .bound = 1),
        {0}}};

const struct nvdp_result_table nvdp__result_summary_audit = {
    .name = "summary_audit", .help = "what releases of a summary's mechanism show, beside the proof", .sized = true,
    .rows = (const struct nvdp_result_row[]){
        ROW(holds, NULL, 1, "no lower bound is above what is proven"),
        ROW(releases, "releases", 0, "releases of each of the two collections", .label = "releases of each"),
        ROW(rows, "rows", 0, "rows that change together", .label = "rows that change"),
        ROW(confidence, NULL, 0, "confidence of all bounds together", .label = "confidence"),
        ROW(mu, NULL, 0, "proven for so many rows", .label = "proven mu", .bound = 1),
        ROW(attained, NULL, 0, "mu of the two collections", .label = "mu of the pair"),
        ROW(right, NULL, -1, "share of releases whose collection is named", .print = print_right),
        {"right_interval", NVDP_RESULT_INTERVAL, .help = "its confidence interval",
         NVDP_RESULT_AT(struct nvdp_summary_audit, right_interval.low), .high = offsetof(struct nvdp_summary_audit, right_interval.high)},
        ROW(right_bound, NULL, -1, "its proven upper bound"),
        {"points", NVDP_RESULT_LIST, .help = "the curve", .label = "", .of = &point_table,
         NVDP_RESULT_AT(struct nvdp_summary_audit, point), NVDP_RESULT_LENGTH(struct nvdp_summary_audit, points)},
        {0}}};
/* clang-format on */
