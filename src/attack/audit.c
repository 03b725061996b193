/* Computes lower bounds on epsilon from an attacker's guesses about canaries (nvdp/audit.h), for exposure.c and
 * users of the library.  The order: p-value, epsilon, canaries. */
#include "attack/audit.h"
#include "base/array.h"
#include "base/base.h"
#include "options/schema.h"
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <nvdp/audit.h>
#include <stdlib.h>

/* Computes log P[Binomial(r, q) = v] with q = 1/(1 + e^-epsilon):
 *     log C(r, v) + v log q + (r - v) log(1 - q),   log q = -log1p(e^-epsilon), log(1-q) = log q - epsilon. */
static double log_mass(double r, double v, double epsilon) {
    const double log_q = -log1p(exp(-epsilon));
    const double log_choose = lgamma(r + 1) - lgamma(v + 1) - lgamma(r - v + 1);
    return log_choose + r * log_q - (r - v) * epsilon;
}

/* Computes the p-value from f(v) = P[W >= v] and the differences f(v - i) - f(v).  Tail and differences are sums of
 * probabilities, so small tails keep their digits. */
double nvdp__audit_p_value(uint64_t canaries, uint64_t guesses, uint64_t correct, double epsilon,
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

/* Finds the bound by bisection.  Any epsilon whose p-value is at most 1 - confidence is a lower bound, even if p does
 * not rise with epsilon everywhere, because an epsilon-private mechanism is private with any larger epsilon, too. */
double nvdp__audit_epsilon(uint64_t canaries, uint64_t guesses, uint64_t correct, double delta,
                           double confidence) {
    enum { LARGEST = 64, HALVINGS = 60 };
    const double level = 1 - confidence;
    double low = 0, high = LARGEST;
    if (!(confidence > 0 && confidence < 1) ||
        isnan(nvdp__audit_p_value(canaries, guesses, correct, 0, delta)))
        return NAN;
    if (nvdp__audit_p_value(canaries, guesses, correct, 0, delta) > level) return 0;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = (low + high) / 2;
        if (nvdp__audit_p_value(canaries, guesses, correct, middle, delta) <= level)
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

/* Returns the probability that a canary in the training set scores above a canary that was left out.  Equal scores
 * count half. */
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

nvdp_status nvdp__audit_canaries(struct nvdp_context *ctx, size_t canaries, const double *score,
                                 const unsigned char *included, size_t in, size_t not_in,
                                 double delta, double confidence, struct nvdp__canary_audit *out) {
    struct nvdp__canary_audit made = {
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
    NVDP__SORT(canary, canaries, NVDP__DOWN(struct canary, score), NVDP__UP(struct canary, number));
    made.auc = area(canaries, canary, (double)made.included);
    made.ways = given ? 1 : NVDP__AUDIT_WAYS;
    for (size_t i = 0; i < made.ways; i++) {
        const size_t each = canaries >> (NVDP__AUDIT_WAYS - i);
        const double level = 1 - (1 - confidence) / (double)made.ways;
        struct nvdp__audit_guesses *way = &made.way[i];
        *way = (struct nvdp__audit_guesses){.in = given ? in : each, .out = given ? not_in : each};
        const uint64_t guesses = way->in + way->out;
        for (size_t k = 0; k < way->in; k++)
            way->correct += canary[k].in;
        for (size_t k = 0; k < way->out; k++)
            way->correct += !canary[canaries - 1 - k].in;
        way->epsilon = nvdp__audit_epsilon(canaries, guesses, way->correct, delta, level);
        made.epsilon = fmax(made.epsilon, way->epsilon);
        made.curve_epsilon =
            fmax(made.curve_epsilon,
                 nvdp__audit_curve_epsilon(canaries, guesses, way->correct, delta, level));
        made.mu = fmax(made.mu, nvdp__audit_mu(canaries, guesses, way->correct, level));
    }
    return NVDP__GIVE(out, &made);
}

/* ---- the whole trade-off curve ---- */

/* Audits a trade-off curve by the guesses.  The order: curves, rejection, lower bounds.
 *
 * Theorem (Mahloujifar, Melis & Chaudhuri 2024, for two possible values of each canary).  Fair coins u decide about m
 * canaries; from the output the attacker guesses c' of them, C of which are right.  Let F(x) be the largest P_u(S)
 * among events S with P_u'(S) = x, for any u and u' that differ in one coin; F = 1 - f is concave.  With p_t = P(C =
 * t),
 *
 *     sum_{t > i} t p_t / m  <=  F( sum_{t >= i} (c' - t) p_t / m )        for every i.
 *
 * Proof.  Take the event that guess j is right and C > i.  If coin j is flipped, the same output has guess j wrong and
 * C >= i.  The mean over u and j of the probability of the first event is the left side; the mean for the second event
 * is the sum in brackets; F is concave. []
 *
 * Let r_i = sum_{t >= i} t p_t / m and h_i = sum_{t >= i} (c' - t) p_t / m, whose sum is c'/m P(C >= i).  If P(C >= c)
 * is p, then r_c >= p c/m, and from i = c - 1 down to 0
 *
 *     h_i  >=  max(h_{i+1}, F^-1(r_{i+1})),       r_i  =  r_{i+1} + i/(c' - i) (h_i - h_{i+1}).
 *
 * At fixed r_{i+1}, r_i falls with h_{i+1}.  But with a_i = i/(c' - i), which falls with i, each step keeps an order:
 * if r_{i+1}, r_{i+1} + h_{i+1} and r_{i+1} - a_i h_{i+1} are no smaller, then r_i, r_i + h_i and r_i - a_{i-1} h_i are
 * no smaller.  A larger p, a larger r_c at the same sum, or an h_i above its bound is larger in this order, so equality
 * gives the smallest h_0 + r_0.  If that exceeds c'/m, no mechanism with this curve has P(C >= c) = p or more.
 *
 * All terms of the sums are positive.  r is never below p c/m; an h that underflows would not change a digit of r, and
 * a smaller h rejects less. */

/* A trade-off curve. */
struct curve {
    bool normal;    /* N(0, 1) against N(mu, 1); if false, (epsilon, delta) */
    double epsilon; /* or mu */
    double delta;
};

/* Computes F^-1(y), the smallest x with F(x) >= y; INFINITY if there is none.  F(x) = Phi(Phi^-1(x) + mu), or
 * min(1, e^epsilon x + delta, 1 - e^-epsilon (1 - delta - x)). */
static double inverse(const struct curve *curve, double y) {
    if (y > 1) return INFINITY;
    if (curve->normal)
        return y == 1 ? 1 : gsl_cdf_ugaussian_P(gsl_cdf_ugaussian_Pinv(y) - curve->epsilon);
    return fmax(0, fmax((y - curve->delta) * exp(-curve->epsilon),
                        1 - curve->delta - exp(curve->epsilon) * (1 - y)));
}

/* Returns true if no mechanism with the curve has `correct` right guesses or more with probability p.  SLACK is far
 * above the rounding errors. */
static bool rejects(const struct curve *curve, double m, double guesses, double correct, double p) {
    static const double SLACK = 1e-9;
    const double all = guesses / m * (1 + SLACK);
    double r = p * correct / m, h = p * (guesses - correct) / m;
    for (double i = correct - 1; i >= 0 && r + h <= all; i--) {
        const double more = fmax(0, inverse(curve, r) - h);
        r += i / (guesses - i) * more;
        h += more;
    }
    return r + h > all;
}

/* Finds the largest epsilon or mu that is rejected.  The larger epsilon or mu is, the less is rejected. */
static double largest(struct curve curve, uint64_t canaries, uint64_t guesses, uint64_t correct,
                      double confidence) {
    enum { LARGEST = 64, HALVINGS = 44 };
    double low = 0, high = LARGEST;
    if (guesses > canaries || correct > guesses || !(confidence > 0 && confidence < 1)) return NAN;
    if (correct == 0) return 0;
    for (int i = 0; i < HALVINGS; i++) {
        curve.epsilon = (low + high) / 2;
        *(rejects(&curve, (double)canaries, (double)guesses, (double)correct, 1 - confidence)
              ? &low
              : &high) = curve.epsilon;
    }
    return low;
}

double nvdp__audit_mu(uint64_t canaries, uint64_t guesses, uint64_t correct, double confidence) {
    return largest((struct curve){.normal = true}, canaries, guesses, correct, confidence);
}

double nvdp__audit_curve_epsilon(uint64_t canaries, uint64_t guesses, uint64_t correct,
                                 double delta, double confidence) {
    if (!(delta >= 0 && delta <= 1)) return NAN;
    return largest((struct curve){.delta = delta}, canaries, guesses, correct, confidence);
}
