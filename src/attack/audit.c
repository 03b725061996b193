/* Computes lower bounds on epsilon from an attacker's guesses about canaries (nvdp/audit.h), for exposure.c and
 * users of the library.  The order: p-value, epsilon, canaries. */
#include "options/schema.h"

#include <math.h>
#include <nvdp/audit.h>
#include <stdlib.h>

static double log_choose(double n, double k) {
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* log P[Binomial(r, q) = v] with q = 1/(1 + e^-epsilon):
 *     log C(r, v) + v log q + (r - v) log(1 - q),   log q = -log1p(e^-epsilon), log(1-q) = log q - epsilon. */
static double log_mass(double r, double v, double epsilon) {
    const double log_q = -log1p(exp(-epsilon));
    return log_choose(r, v) + r * log_q - (r - v) * epsilon;
}

/* Computes the p-value from f(v) = P[W >= v] and the differences f(v - i) - f(v).  Both are sums of probabilities,
 * so small tails keep their digits. */
double nvdp_audit_p_value(uint64_t canaries, uint64_t guesses, uint64_t correct, double epsilon,
                          double delta) {
    const double r = (double)guesses, m = (double)canaries;
    if (guesses > canaries || correct > guesses || !(epsilon >= 0) || !(delta >= 0 && delta <= 1))
        return NAN;
    double tail = 0, below = 0, steepest = 0;
    for (uint64_t v = guesses + 1; v-- > correct;)
        tail += exp(log_mass(r, (double)v, epsilon));
    for (uint64_t i = 1; i <= correct; i++) { /* below = f(v - i) - f(v) */
        below += exp(log_mass(r, (double)(correct - i), epsilon));
        steepest = fmax(steepest, below / (double)i);
    }
    return fmin(1, tail + 2 * m * delta * steepest);
}

/* Any epsilon whose p-value is at most 1 - confidence is a lower bound, even if p does not rise with epsilon
 * everywhere: an epsilon-private mechanism is also private with any larger epsilon. */
double nvdp_audit_epsilon(uint64_t canaries, uint64_t guesses, uint64_t correct, double delta,
                          double confidence) {
    enum { LARGEST = 64, HALVINGS = 60 };
    const double level = 1 - confidence;
    double low = 0, high = LARGEST;
    if (!(confidence > 0 && confidence < 1) ||
        isnan(nvdp_audit_p_value(canaries, guesses, correct, 0, delta)))
        return NAN;
    if (nvdp_audit_p_value(canaries, guesses, correct, 0, delta) > level) return 0;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = (low + high) / 2;
        if (nvdp_audit_p_value(canaries, guesses, correct, middle, delta) <= level)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- canaries ---- */

struct canary {
    double score;
    size_t number;
    bool in;
};

/* Sorts by descending score. */
static int by_score(const void *x, const void *y) {
    const struct canary *a = x, *b = y;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* Returns the probability that a canary that was in scores above one that was not.  Equal scores count half. */
static double area(size_t n, const struct canary *canary, double in) {
    double above = 0, wins = 0;
    for (size_t i = 0, end; i < n; i = end) {
        double ins = 0, outs = 0;
        for (end = i; end < n && canary[end].score == canary[i].score; end++)
            *(canary[end].in ? &ins : &outs) += 1;
        wins += outs * (above + ins / 2);
        above += ins;
    }
    return wins / (in * ((double)n - in));
}

static struct nvdp_audit_guesses guess(size_t n, const struct canary *canary, size_t in, size_t out,
                                       double delta, double confidence) {
    struct nvdp_audit_guesses way = {.in = in, .out = out};
    for (size_t i = 0; i < in; i++)
        way.correct += canary[i].in;
    for (size_t i = 0; i < out; i++)
        way.correct += !canary[n - 1 - i].in;
    way.epsilon = nvdp_audit_epsilon(n, in + out, way.correct, delta, confidence);
    return way;
}

nvdp_status nvdp_audit_canaries(struct nvdp_context *ctx, size_t canaries, const double *score,
                                const unsigned char *included, size_t in, size_t not_in,
                                double delta, double confidence, struct nvdp_canary_audit *out) {
    struct nvdp_canary_audit made = {
        .struct_size = sizeof made, .canaries = canaries, .delta = delta, .confidence = confidence};
    const bool given = in + not_in > 0;
    nvdp__autofree struct canary *canary = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (canaries == 0 || in > canaries || not_in > canaries - in)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "guesses: expected at most %zu, the number of canaries, found %zu "
                          "guesses of in and %zu of out",
                          canaries, in, not_in);
    if (!(delta >= 0 && delta <= 1) || !(confidence > 0 && confidence < 1))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "audit: expected delta in [0, 1] and confidence in (0, 1), found %g and %g", delta,
            confidence);
    NVDP_TRY(NVDP__NEW(ctx, canary, canaries));
    for (size_t i = 0; i < canaries; i++) {
        if (isnan(score[i]))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "score: canary %zu: expected a number, found NaN", i);
        canary[i] = (struct canary){score[i], i, included[i] != 0};
        made.included += included[i] != 0;
    }
    qsort(canary, canaries, sizeof *canary, by_score);
    made.auc = area(canaries, canary, (double)made.included);
    made.ways = given ? 1 : NVDP_AUDIT_WAYS;
    for (size_t i = 0; i < made.ways; i++) {
        const size_t each = canaries >> (NVDP_AUDIT_WAYS - i);
        const double level = 1 - (1 - confidence) / (double)made.ways;
        made.way[i] =
            guess(canaries, canary, given ? in : each, given ? not_in : each, delta, level);
        made.epsilon = fmax(made.epsilon, made.way[i].epsilon);
        const uint64_t guesses = made.way[i].in + made.way[i].out;
        made.curve_epsilon =
            fmax(made.curve_epsilon,
                 nvdp_audit_curve_epsilon(canaries, guesses, made.way[i].correct, delta, level));
        made.mu = fmax(made.mu, nvdp_audit_mu(canaries, guesses, made.way[i].correct, level));
    }
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}
