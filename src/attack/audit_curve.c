/* Audits a trade-off curve by an attacker's guesses about canaries (nvdp/audit.h), beside exposure.c's callers of
 * audit.c.  The order: curves, p-value, lower bounds.
 *
 * Theorem (Mahloujifar, Melis & Chaudhuri 2024, for two possible values of each canary).  Fair coins u decide about m
 * canaries; from the output the attacker guesses c' of them, C of which are right.  Let F(x) be the largest P_u(S)
 * among events S with P_u'(S) = x, for any u and u' that differ in one coin; F = 1 - f is concave.  With p_t = P(C = t),
 *
 *     sum_{t > i} t p_t / m  <=  F( sum_{t >= i} (c' - t) p_t / m )        for every i.
 *
 * Proof.  Take the event that guess j is right and C > i.  If coin j is flipped, the same output has guess j wrong and
 * C >= i.  The mean over u and j of the first is the left side, of the second the sum in brackets; F is concave. []
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
 * Sums are of positive terms.  r is never below p c/m; an h that underflows would not change a digit of r, and smaller
 * h reject less. */
#include "base/base.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <nvdp/audit.h>

/* A trade-off curve. */
struct curve {
    bool normal;    /* N(0, 1) against N(mu, 1); else (epsilon, delta) */
    double epsilon; /* or mu */
    double delta;
};

/* F^-1: the smallest x with F(x) >= y; INFINITY if there is none.  F(x) = Phi(Phi^-1(x) + mu), or
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

static bool valid(uint64_t canaries, uint64_t guesses, uint64_t correct) {
    return guesses <= canaries && correct <= guesses;
}

double nvdp_audit_mu_p_value(uint64_t canaries, uint64_t guesses, uint64_t correct, double mu) {
    const struct curve curve = {.normal = true, .epsilon = mu};
    const double m = (double)canaries, n = (double)guesses, c = (double)correct;
    double low = -690, high = 0; /* log p */
    if (!valid(canaries, guesses, correct) || !(mu >= 0)) return NAN;
    if (correct == 0 || !rejects(&curve, m, n, c, 1)) return 1;
    while (high - low > 1e-9) {
        const double middle = (low + high) / 2;
        *(rejects(&curve, m, n, c, exp(middle)) ? &high : &low) = middle;
    }
    return exp(high);
}

/* Finds the largest epsilon or mu that is rejected.  Larger ones are rejected less. */
static double largest(struct curve curve, uint64_t canaries, uint64_t guesses, uint64_t correct,
                      double confidence) {
    enum { LARGEST = 64, HALVINGS = 44 };
    double low = 0, high = LARGEST;
    if (!valid(canaries, guesses, correct) || !(confidence > 0 && confidence < 1)) return NAN;
    if (correct == 0) return 0;
    for (int i = 0; i < HALVINGS; i++) {
        curve.epsilon = (low + high) / 2;
        *(rejects(&curve, (double)canaries, (double)guesses, (double)correct, 1 - confidence)
              ? &low
              : &high) = curve.epsilon;
    }
    return low;
}

double nvdp_audit_mu(uint64_t canaries, uint64_t guesses, uint64_t correct, double confidence) {
    return largest((struct curve){.normal = true}, canaries, guesses, correct, confidence);
}

double nvdp_audit_curve_epsilon(uint64_t canaries, uint64_t guesses, uint64_t correct, double delta,
                                double confidence) {
    if (!(delta >= 0 && delta <= 1)) return NAN;
    return largest((struct curve){.delta = delta}, canaries, guesses, correct, confidence);
}
