/* The accountant of DP-SGD: Renyi divergences of a step, their conversion, noise and steps for a budget.
 *
 * With z = sigma t and w = 1 + u the likelihood ratio of step and no step (account.h),
 *
 *     A(l)   =  E_t w(t)^l,   t ~ N(0, 1),      D_l  =  log A / (l-1)          (Mironov et al. 2019, Theorem 4).
 *
 * w^l e^(-t^2/2) is analytic in |Im t| < pi sigma, so the trapezoidal rule converges geometrically (Trefethen &
 * Weideman 2014). The integrand has a maximum near 0, one near l/sigma, or one between. For a small rate, A is near 1,
 * and the sum
 *
 *     A - 1  =  E [ w^l - 1 - l u ],     E u = 0,
 *
 * is computed instead: the integrand is nowhere negative, so nothing cancels. */
#include "account/account.h"

#include "options/schema.h"
#include "rdp/divergence.h"

#include <nvdp/privacy.h>
#include <stdlib.h>

/* ---- a step ---- */

static const double HALF_LOG_2PI = NVDP__HALF_LOG_2PI;
enum { NEGLIGIBLE = 60, FAR = 13, MAX_TURNS = 1000, MAX_HALVINGS = 12 };
static const uint64_t MAX_STEPS = 1000000000000;

struct step {
    double order, noise, rate;
};

static double log_integrand(const struct step *of, double t) {
    return of->order * nvdp__step_loss(t, of->noise, of->rate) - t * t / 2 - HALF_LOG_2PI;
}

/* Returns the position of a maximum of the integrand. At a maximum, t = l/sigma s(t), with s the posterior
 * probability that the example was drawn. Iterates upward from 0 to the first such t, or downward from l/sigma to
 * the last such t. */
static double maximum(const struct step *of, double t) {
    for (int i = 0; i < MAX_TURNS; i++) {
        const double c = (t - 1 / (2 * of->noise)) / of->noise;
        const double next = of->order / of->noise / (1 + (1 - of->rate) / of->rate * exp(-c));
        const double moved = fabs(next - t);
        t = next;
        if (moved < 1e-3) break;
    }
    return t;
}

/* A sum of e^f, stored as e^top times `sum`. */
struct total {
    double top, sum;
};

/* Adds e^f(i h) for i = from, from + by ... before `end`, until a term is negligible. Returns the i at which the sum
 * stopped. */
static double add_from(const struct step *of, double h, double from, int by, double end,
                       struct total *to) {
    double i = from;
    for (; i != end; i += by) {
        const double f = log_integrand(of, i * h);
        if (!(f >= to->top - NEGLIGIBLE)) break;
        if (f > to->top) *to = (struct total){f, to->sum * exp(to->top - f)};
        to->sum += exp(f - to->top);
    }
    return i;
}

/* Returns log A with step h: sums around the first maximum, and around the last maximum unless the first sum reached
 * it. */
static double log_sum(const struct step *of, double h, double low, double high) {
    const double first = round(low / h), last = round(high / h);
    struct total total = {fmax(log_integrand(of, low), log_integrand(of, high)), 0};
    const double end = add_from(of, h, first, 1, INFINITY, &total);
    add_from(of, h, first - 1, -1, -INFINITY, &total);
    if (last >= end) {
        add_from(of, h, last, 1, INFINITY, &total);
        add_from(of, h, last - 1, -1, end - 1, &total);
    }
    return total.top + log(total.sum * h);
}

/* Returns e^(-t^2/2) [ (1+u)^l - 1 - l u ]; by the series in u if u is small. */
static double excess(const struct step *of, double t) {
    const double l = of->order, w = nvdp__step_loss(t, of->noise, of->rate);
    const double small = l * w, u = expm1(w), base = -t * t / 2;
    if (fabs(small) < 0.5 && fabs(u) < 0.5) {
        double term = l * u, sum = 0;
        for (int j = 2; j < 80; j++) {
            term *= (l - j + 1) / j * u;
            sum += term;
            if (fabs(term) <= 1e-18 * fabs(sum)) break;
        }
        return exp(base) * sum;
    }
    const double shifted =
        t - 1 / of->noise; /* u e^(-t^2/2) = q (e^(-(t - 1/sigma)^2/2) - e^(-t^2/2)) */
    return exp(base + small) - exp(base) - l * of->rate * (exp(-shifted * shifted / 2) - exp(base));
}

/* Returns A - 1 with step h. */
static double excess_sum(const struct step *of, double h, double high) {
    const double max = fmax(high, 2 / of->noise) + FAR;
    double sum = 0;
    for (double i = ceil(-FAR / h); i * h <= max; i++)
        sum += excess(of, i * h);
    return sum * h * exp(-HALF_LOG_2PI);
}

/* Returns log A / l if A is dominated by q^l e^(l(l-1)/(2 sigma^2)), the part of w^l in which the example was drawn.
 * With
 *
 *     far  =  (l-1)/(2 sigma^2) + log q  >=  40
 *
 * the rest of A is below e^-39 of this part: (1-q)^l, where the example was not drawn, and E l (1-q)/q e^-c at the
 * maximum. For very large values of far, the sums over t would fail: steps would be below the spacing of double, and
 * t^2 would exceed the range of double. */
static double drawn_part(double order, double noise, double rate) {
    return (order - 1) / (2 * noise * noise) + log(rate);
}

static double log_moment(double order, double noise, double rate) {
    const struct step of = {order, noise, rate};
    if (rate == 0) return 0;
    if (rate == 1) return order * (order - 1) / (2 * noise * noise);
    const double low = maximum(&of, 0), high = maximum(&of, order / noise);
    double h = 0.5 * fmin(1, noise), value = log_sum(&of, h, low, high);
    const bool small = value < 0.3;
    if (small) value = excess_sum(&of, h, high);
    for (int i = 0; i < MAX_HALVINGS; i++) {
        const double coarse = value;
        h /= 2;
        value = small ? excess_sum(&of, h, high) : log_sum(&of, h, low, high);
        if (fabs(value - coarse) <= 1e-12 * fabs(value)) break;
    }
    return small ? log1p(value) : value;
}

double nvdp_renyi_subsampled(double order, double noise, double rate) {
    if (!(order > 1 && noise >= NVDP__NOISE_MIN && rate >= 0 && rate <= 1) || isinf(order) ||
        isinf(noise))
        return NAN;
    const double far = drawn_part(order, noise, rate);
    if (far >= 40) return order / (order - 1) * far;
    return fmax(log_moment(order, noise, rate), 0) / (order - 1);
}

/* ---- epsilon ---- */

enum { NEAR = 24, TENTHS = 99, WHOLE = 53, POWERS = 18 };

/* Returns the i-th order that nvdp_account() tries: eight per decade of order - 1 from 1.0001 to 1.1, then 1.1, 1.2
 * ... 10.9, 11, 12 ... 63, 128, 256 ... 2^24. The orders from 1.1 to 1024 are those of TF-Privacy. Returns NaN beyond
 * the last order. */
static double order_at(size_t i) {
    if (i < NEAR) return 1 + pow(10, (double)i / 8 - 4);
    if (i < NEAR + TENTHS) return 1 + ((double)(i - NEAR) + 1) / 10;
    if (i < NEAR + TENTHS + WHOLE) return 11 + (double)(i - NEAR - TENTHS);
    const size_t power = i - NEAR - TENTHS - WHOLE;
    return power < POWERS ? (double)(128 << power) : NAN;
}

/* Returns the sum of the divergences over all phases. */
static double trained(const struct nvdp_dp_run *run, double order) {
    double sum = 0;
    for (size_t i = 0; i < run->phases; i++)
        sum += (double)run->phase[i].steps *
               nvdp_renyi_subsampled(order, run->phase[i].noise, run->phase[i].rate);
    return sum * (1 + 1e-12); /* above the error of the sums over t */
}

static struct nvdp_dp_guarantee beside(const struct nvdp_dp_run *run) {
    struct nvdp_dp_guarantee sum = {0, 0};
    for (size_t i = 0; i < run->besides; i++) {
        sum.epsilon += run->beside[i].epsilon;
        sum.delta += run->beside[i].delta;
    }
    return sum;
}

static bool trains(const struct nvdp_dp_run *run) {
    for (size_t i = 0; i < run->phases; i++)
        if (run->phase[i].steps > 0) return true;
    return false;
}

struct bound {
    double order, epsilon;
};

/* Returns the bound of the best order, plus the guarantees besides the training (Dwork & Roth 2014, Theorem 3.16). */
static struct bound renyi_epsilon(const struct nvdp_dp_run *run, double delta) {
    const struct nvdp_dp_guarantee rest = beside(run);
    struct bound best = {NAN, INFINITY};
    if (!trains(run)) best.epsilon = delta >= rest.delta ? rest.epsilon : INFINITY;
    if (!trains(run) || delta <= rest.delta) return best;
    for (size_t i = 0; !isnan(order_at(i)); i++) {
        const double l = order_at(i);
        const double epsilon =
            nvdp_renyi_epsilon(l, trained(run, l), delta - rest.delta) + rest.epsilon;
        if (epsilon < best.epsilon) {
            best.epsilon = epsilon;
            best.order = l;
        }
    }
    return best;
}

static nvdp_status pld_epsilon(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                               double delta, double renyi, double *out) {
    double found = renyi;
    if (isfinite(renyi) && trains(run)) NVDP_TRY(nvdp__pld_epsilon(ctx, run, delta, &found));
    *out = fmin(found, renyi); /* both bounds are valid */
    return NVDP_OK;
}

/* ---- checks ---- */

static nvdp_status refuse(struct nvdp_context *ctx, const char *what, const char *expected,
                          double found) {
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected %s, found %g", what, expected, found);
}

static nvdp_status check_delta(struct nvdp_context *ctx, double delta) {
    if (delta > 0 && delta < 1) return NVDP_OK;
    return refuse(ctx, "delta", "a number in (0, 1)", delta);
}

static nvdp_status check(struct nvdp_context *ctx, const struct nvdp_dp_run *run) {
    for (size_t i = 0; i < run->phases; i++) {
        const struct nvdp_dp_steps *phase = &run->phase[i];
        if (!(phase->noise >= NVDP__NOISE_MIN) || isinf(phase->noise))
            return refuse(ctx, "noise", "a finite number of at least 1e-3", phase->noise);
        if (!(phase->rate > 0 && phase->rate <= 1))
            return refuse(ctx, "sample rate", "a number in (0, 1]", phase->rate);
        if (phase->steps > MAX_STEPS)
            return refuse(ctx, "steps", "at most 1e12", (double)phase->steps);
    }
    for (size_t i = 0; i < run->besides; i++) {
        if (!(run->beside[i].epsilon >= 0) || isinf(run->beside[i].epsilon))
            return refuse(ctx, "epsilon of a further mechanism", "a finite number of at least 0",
                          run->beside[i].epsilon);
        if (!(run->beside[i].delta >= 0 && run->beside[i].delta < 1))
            return refuse(ctx, "delta of a further mechanism", "a number in [0, 1)",
                          run->beside[i].delta);
    }
    return NVDP_OK;
}

/* ---- public functions ---- */

nvdp_status nvdp_account_epsilon(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                                 double delta, enum nvdp_accountant accountant, double *epsilon) {
    NVDP_TRY(check(ctx, run));
    NVDP_TRY(check_delta(ctx, delta));
    const struct bound bound = renyi_epsilon(run, delta);
    if (accountant == NVDP_ACCOUNTANT_PLD)
        return pld_epsilon(ctx, run, delta, bound.epsilon, epsilon);
    *epsilon = bound.epsilon;
    return NVDP_OK;
}

nvdp_status nvdp_account(struct nvdp_context *ctx, const struct nvdp_dp_run *run, double delta,
                         struct nvdp_account *out) {
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(check(ctx, run));
    NVDP_TRY(check_delta(ctx, delta));
    const struct bound bound = renyi_epsilon(run, delta);
    struct nvdp_account made = {.struct_size = sizeof made,
                                .delta = delta,
                                .rdp_epsilon = bound.epsilon,
                                .rdp_order = bound.order};
    NVDP_TRY(pld_epsilon(ctx, run, delta, bound.epsilon, &made.pld_epsilon));
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}

nvdp_status nvdp_account_delta(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                               double epsilon, double *delta) {
    double both[2];
    NVDP_TRY(check(ctx, run));
    if (!(epsilon >= 0)) return refuse(ctx, "epsilon", "a number of at least 0", epsilon);
    NVDP_TRY(nvdp__pld_deltas(ctx, run, epsilon, both));
    *delta = fmax(both[0], both[1]);
    return NVDP_OK;
}

nvdp_status nvdp__account_deltas(struct nvdp_context *ctx, const struct nvdp_dp_run *run, size_t n,
                                 const double *epsilon, double *present, double *absent) {
    nvdp__autofree double(*made)[2] = NULL;
    NVDP_TRY(check(ctx, run));
    for (size_t i = 0; i < n; i++)
        if (isnan(epsilon[i])) return refuse(ctx, "epsilon", "a number", epsilon[i]);
    NVDP_TRY(NVDP__NEW(ctx, made, n));
    for (size_t i = 0; i < n; i++) {
        double both[2];
        NVDP_TRY(nvdp__pld_deltas(ctx, run, fabs(epsilon[i]), both));
        for (int p = 0; p < 2; p++)
            made[i][p] =
                epsilon[i] < 0 ? exp(epsilon[i]) * both[1 - p] - expm1(epsilon[i]) : both[p];
    }
    for (size_t i = 0; i < n; i++) {
        if (absent != NULL) absent[i] = made[i][0];
        if (present != NULL) present[i] = made[i][1];
    }
    return NVDP_OK;
}

/* ---- budgets ---- */

/* A run in which only the last phase varies. */
struct search {
    struct nvdp_context *ctx;
    struct nvdp_dp_run run;
    struct nvdp_dp_steps *phase; /* copy of the run's phases */
    double epsilon, delta;
    enum nvdp_accountant accountant;
};

static nvdp_status search_open(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                               double epsilon, double delta, enum nvdp_accountant accountant,
                               struct search *search) {
    if (run->phases == 0) return refuse(ctx, "phases", "at least 1", 0);
    if (!(epsilon > 0)) return refuse(ctx, "epsilon", "a number above 0", epsilon);
    *search = (struct search){ctx, *run, NULL, epsilon, delta, accountant};
    NVDP_TRY(NVDP__NEW(ctx, search->phase, run->phases));
    memcpy(search->phase, run->phase, run->phases * sizeof *search->phase);
    search->run.phase = search->phase;
    return NVDP_OK;
}

static void search_close(struct search *search) {
    free(search->phase);
}

static nvdp_status run_epsilon(const struct search *search, double *epsilon) {
    return nvdp_account_epsilon(search->ctx, &search->run, search->delta, search->accountant,
                                epsilon);
}

/* Finds log noise between low (too little) and high (enough). Epsilon is close to a power of the noise, so the zero
 * of the chord is tried. If an end of the interval stays twice, the distance of its value from 0 is halved (Dowell &
 * Jarratt 1971). */
static nvdp_status narrow(struct search *search, double *noise, double low, double high,
                          double low_miss, double high_miss) {
    int stayed = 0;
    while (high - low > 1e-4) {
        double at = isfinite(low_miss) ? low + (high - low) * low_miss / (low_miss - high_miss)
                                       : (low + high) / 2;
        at = fmin(fmax(at, low + 2e-5), high - 2e-5);
        double epsilon;
        *noise = exp(at);
        NVDP_TRY(run_epsilon(search, &epsilon));
        const double miss = log(epsilon / search->epsilon);
        if (miss <= 0) {
            high = at;
            high_miss = fmax(miss, -30);
            if (stayed > 0) low_miss /= 2;
            stayed = 1;
        } else {
            low = at;
            low_miss = miss;
            if (stayed < 0) high_miss /= 2;
            stayed = -1;
        }
    }
    *noise = exp(high);
    return NVDP_OK;
}

nvdp_status nvdp_account_noise(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                               double epsilon, double delta, enum nvdp_accountant accountant,
                               double *noise) {
    nvdp__auto(search_close) struct search search = {0};
    const double max = log(1e6), min = log(NVDP__NOISE_MIN);
    double at = 0, reached, miss, low = NAN, low_miss = 0, high = NAN, high_miss = 0;
    NVDP_TRY(search_open(ctx, run, epsilon, delta, accountant, &search));
    double *tried = &search.phase[run->phases - 1].noise;
    while (isnan(low) || isnan(high)) { /* searches by factors, starting from 1 */
        *tried = exp(at);
        NVDP_TRY(run_epsilon(&search, &reached));
        miss = log(reached / epsilon);
        if (miss > 0) {
            if (at >= max)
                return nvdp__fail(
                    ctx, NVDP_ERR_ARGUMENT,
                    "epsilon: expected a value that noise of at most 1e6 can reach at "
                    "delta %g, found %g; noise 1e6 gives %g; choose a larger epsilon",
                    delta, epsilon, reached);
            low = at;
            low_miss = miss;
            at = fmin(at + 1, max);
        } else {
            high = at;
            high_miss = fmax(miss, -30);
            if (at <= min) break;
            at = fmax(at - 1, min);
        }
    }
    if (!isnan(low)) NVDP_TRY(narrow(&search, tried, low, high, low_miss, high_miss));
    *noise = *tried;
    return NVDP_OK;
}

nvdp_status nvdp_account_steps(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                               double epsilon, double delta, enum nvdp_accountant accountant,
                               uint64_t *steps) {
    nvdp__auto(search_close) struct search search = {0};
    NVDP_TRY(check(ctx, run));
    NVDP_TRY(search_open(ctx, run, epsilon, delta, accountant, &search));
    uint64_t *tried = &search.phase[run->phases - 1].steps;
    const uint64_t max = *tried;
    uint64_t fit = 0, beyond = max + 1;
    double reached;
    /* The search by loss distributions begins at the number of steps that Renyi divergences allow, which is fast to compute
     * and not larger. */
    if (accountant == NVDP_ACCOUNTANT_PLD) {
        NVDP_TRY(nvdp_account_steps(ctx, run, epsilon, delta, NVDP_ACCOUNTANT_RDP, &fit));
        beyond = fit;
        do {
            beyond = beyond + beyond / 4 + 1;
            if (beyond > max) break;
            *tried = beyond;
            NVDP_TRY(run_epsilon(&search, &reached));
            if (reached <= epsilon) fit = beyond;
        } while (fit == beyond);
        if (beyond > max) beyond = max + 1;
    }
    while (beyond - fit > 1) {
        *tried = fit + (beyond - fit) / 2;
        NVDP_TRY(run_epsilon(&search, &reached));
        *(reached <= epsilon ? &fit : &beyond) = *tried;
    }
    *steps = fit;
    return NVDP_OK;
}
