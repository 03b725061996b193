/* The privacy loss distribution of DP-SGD: delta(eps) of all steps together, never underestimated.
 *
 * For two distributions P, Q the loss is L = log p/q under P, and delta(eps) = E (1 - e^(eps - L))_+. Losses of
 * steps add, so moments E e^(zL) multiply; M(z) denotes their product over all steps, for the finite losses. For
 * z = k + iu, k > 0,
 *
 *     int e^(z eps) delta(eps) d eps  =  M(z) / (z (z + 1))  =:  F(z),
 *
 * the Fourier transform of f(eps) = e^(k eps) delta(eps). By Poisson's summation formula, the trapezoidal sum of F is
 *
 *     1/R sum_n F(k + 2 pi i n/R) e^(-2 pi i n eps/R)  =  sum_m f(eps + m R),
 *
 * and no term on the right is negative: the sum is an upper bound of f(eps) for every window R. The number of steps
 * is only an exponent, so a billion steps cost as much as one, and errors do not accumulate over them.
 *
 * The pair of a step is replaced by a dominating pair with finitely many losses (account.h). All steps together are
 * composed with a Gaussian mechanism of small variance v, which multiplies M(z) by e^(z (z + 1) v/2). An observer who
 * also sees the output of this mechanism knows more, so delta can only grow; and |F| decreases like e^(-v u^2/2), which
 * bounds the error of a finite sum over n. Both errors are of second order and are chosen for a given accuracy.
 * Rounding errors are bounded term by term and added.
 *
 * k is the saddle point, where F(k) e^(-k eps) is smallest. With this k, the mean of f is at eps, and delta(eps) keeps
 * its digits even if delta is tiny. R follows from Chernoff's bound of f on both sides.
 *
 * Related: Zhu, Dong & Wang 2022 (characteristic functions), Alghamdi et al. 2022 (saddle point), Koskela et al.
 * 2020 (Fourier). Both directions of the neighbor relation are computed. */
#include "account/account.h"

#include <float.h>
#include <stdlib.h>

/* relative error of epsilon from the cells and the variance */
static const double EPSILON_ERROR = 2e-4;
static const double DELTA_ERROR = 3e-4; /* relative error of delta */
static const double LOST = 1e-5;        /* max share of delta in the tails of steps */
static const double ALIASES = 14;       /* -log of the share of f outside the window */
/* max number of atoms times nodes: a quarter of a second */
static const double MAX_WORK = 2e8;
static const double NEGLIGIBLE = 1e-15; /* max size of a negligible term, relative to the moment */
static const double MIN_LOG = -690;     /* log of the smallest delta */
/* relative error of the closed forms and of the moments */
static const double ROUNDING = 1e-13;

/* ---- a run's losses in one direction ---- */

struct losses {
    const struct nvdp_dp_run *run;
    enum nvdp__direction direction;
    double gauss; /* variance of the loss of the steps without sampling */
    /* log of the probability that the mechanisms besides the training have a finite loss */
    double log_finite;
    double infinite;            /* upper bound of the probability of an infinite loss */
    size_t count;               /* number of different settings of sampled steps */
    struct nvdp__memory memory; /* owner of the arrays */
    struct nvdp__step *step;
    struct nvdp__atoms *atoms;
    struct nvdp__tilted *tilted; /* moments for a contour */
};

static nvdp_status losses_allocate(struct nvdp_context *ctx, size_t count, struct losses *out) {
    return NVDP__ARRAYS(ctx, &out->memory, NVDP__ITEMS(out->step, count),
                        NVDP__ITEMS(out->atoms, count), NVDP__ITEMS(out->tilted, count));
}

static void losses_free(struct losses *losses) {
    for (size_t i = 0; i < losses->count && losses->tilted != NULL; i++) {
        nvdp__step_free(&losses->step[i]);
        nvdp__atoms_free(&losses->atoms[i]);
        nvdp__memory_release(&losses->tilted[i].memory);
    }
    nvdp__memory_release(&losses->memory);
}

/* Returns the number of steps with the setting of phase i; 0 if an earlier phase has the same setting. */
static uint64_t steps_like(const struct nvdp_dp_run *run, size_t i) {
    uint64_t steps = 0;
    for (size_t j = 0; j < run->phases; j++) {
        const bool same =
            run->phase[j].noise == run->phase[i].noise && run->phase[j].rate == run->phase[i].rate;
        if (same && j < i) return 0;
        if (same) steps += run->phase[j].steps;
    }
    return steps;
}

/* Returns the log of the probability that the mechanisms besides the training have a finite loss. */
static double log_finite(const struct nvdp_dp_run *run) {
    double sum = 0;
    for (size_t i = 0; i < run->besides; i++)
        sum += log1p(-run->beside[i].delta);
    return sum;
}

/* Returns an upper bound of the probability that one of these mechanisms has an infinite loss. */
static double infinite_beside(const struct nvdp_dp_run *run) {
    return fmin(-expm1(log_finite(run)) * (1 + ROUNDING), 1);
}

/* Prepares the losses for a delta of about e^log_delta. */
static nvdp_status losses_create(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                                 enum nvdp__direction direction, double log_delta,
                                 struct losses *out) {
    nvdp__auto(losses_free) struct losses made = {.run = run, .direction = direction};
    made.log_finite = log_finite(run);
    made.infinite = infinite_beside(run);
    size_t sampled = 0;
    for (size_t i = 0; i < run->phases; i++)
        sampled += run->phase[i].rate < 1 && steps_like(run, i) > 0;
    NVDP_TRY(losses_allocate(ctx, run->phases, &made));
    for (size_t i = 0; i < run->phases; i++) {
        const struct nvdp_dp_steps like = {run->phase[i].noise, run->phase[i].rate,
                                           steps_like(run, i)};
        if (like.rate == 1) made.gauss += (double)like.steps / (like.noise * like.noise);
        if (like.rate == 1 || like.steps == 0) continue;
        struct nvdp__step *step = &made.step[made.count];
        const double lost = log_delta + log(LOST / (double)sampled);
        NVDP_TRY(nvdp__step_cells(ctx, &like, lost, step));
        made.infinite += step->infinite;
        made.count++;
        NVDP_TRY(nvdp__step_atoms(ctx, step, direction, &made.atoms[made.count - 1]));
    }
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

/* Returns log E e^(zL) for a loss of e or -e, with probability e^e/(1 + e^e) of e (Kairouz, Oh & Viswanath 2015). */
static struct nvdp__log_moment two_losses(double e, double k, double u) {
    const double size = exp(-(2 * k + 1) * e), angle = -2 * u * e;
    const double real = size * cos(angle), imaginary = size * sin(angle);
    return (struct nvdp__log_moment){k * e - log1p(exp(-e)) +
                                         log1p(real * (2 + real) + imaginary * imaginary) / 2,
                                     u * e + atan2(imaginary, 1 + real), 0};
}

/* log M(k) */
static double log_moment(const struct losses *losses, double k) {
    double sum = k * (k + 1) * losses->gauss / 2 + losses->log_finite;
    for (size_t i = 0; i < losses->count; i++)
        sum += losses->step[i].times * nvdp__atoms_log_moment(&losses->atoms[i], k);
    for (size_t i = 0; i < losses->run->besides; i++)
        sum += two_losses(losses->run->beside[i].epsilon, k, 0).real;
    return sum;
}

/* ---- the best order ---- */

enum goal { SADDLE, BOUND_DELTA, BOUND_EPSILON };

/* Returns, for order k, the exponent of the saddle point, the bound on log delta(x), or the bound on epsilon at log
 * delta = x. Uses delta(eps) <= M(k) e^(-k eps) k^k / (k+1)^(k+1) (Canonne, Kamath & Steinke 2020). */
static double objective(const struct losses *losses, enum goal goal, double x, double k) {
    const double moment = log_moment(losses, k);
    const double conversion = -k * log1p(1 / k) - log1p(k);
    const double above = moment + conversion + ROUNDING * (1 + fabs(moment));
    if (goal == SADDLE) return moment - k * x - log(k) - log1p(k);
    if (goal == BOUND_DELTA) return above - k * x * (1 - ROUNDING);
    return (above - x * (1 + ROUNDING)) / k;
}

/* Returns the minimum of an objective over k, by golden section search in log k; each objective has a single
 * minimum. */
static double minimize(const struct losses *losses, enum goal goal, double x, double *k) {
    const double golden = 0.61803398874989485;
    double low = log(1e-20), high = log(1e20);
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double at_a = objective(losses, goal, x, exp(a)), at_b = objective(losses, goal, x, exp(b));
    while (high - low > 1e-2) {
        if (at_a <= at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - golden * (high - low);
            at_a = objective(losses, goal, x, exp(a));
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + golden * (high - low);
            at_b = objective(losses, goal, x, exp(b));
        }
    }
    *k = exp(at_a <= at_b ? a : b);
    return fmin(at_a, at_b);
}

/* ---- the contour ---- */

struct contour {
    double k, window, variance, scale, slack, phase_slack, infinite;
    /* true if the variance is larger than requested, because there would be too many nodes */
    bool wide;
    size_t n;
    struct nvdp__memory memory; /* owner of the arrays */
    double *real, *imaginary;   /* [n] e^-scale F(k + 2 pi i n/R), doubled for n > 0 */
};

static void contour_free(struct contour *contour) {
    nvdp__memory_release(&contour->memory);
}

/* Returns the distance from eps, on side +1 or -1, beyond which f is below e^-ALIASES f(eps), f(eps) = e^(k eps +
 * log_delta). Uses the bound delta(x) <= M(l) e^(-l x) with another order l. */
static double reach(const struct losses *losses, double k, double epsilon, double log_delta,
                    int side) {
    double best = side < 0 ? (ALIASES - log_delta) / k : INFINITY; /* uses delta(x) <= 1 */
    for (double r = 0.01; side < 0 ? r < 1 : r < 200; r *= 1.3) {
        const double l = k * (1 + side * r);
        const double bound = log_moment(losses, l) - l * epsilon - log_delta + ALIASES;
        best = fmin(best, fmax(bound, ALIASES) / fabs(l - k));
    }
    return best;
}

/* Adds `times` log moments at all nodes to the sums. */
static void add_moments(const struct contour *contour, double times,
                        const struct nvdp__log_moment *one, struct nvdp__log_moment *sum) {
    for (size_t n = 0; n < contour->n; n++) {
        sum[n].real += times * one[n].real;
        sum[n].imaginary += times * one[n].imaginary;
        sum[n].error +=
            times * (one[n].error + 4 * DBL_EPSILON * (fabs(one[n].real) + fabs(one[n].imaginary)));
    }
}

/* Computes F at all nodes from the log moments, which do not include the variance. */
static void finish(struct contour *contour, const struct nvdp__log_moment *sum) {
    const double k = contour->k, v = contour->variance;
    for (size_t n = 0; n < contour->n; n++) {
        const double u = 2 * M_PI * (double)n / contour->window;
        const double real =
            sum[n].real + (k * (k + 1) - u * u) * v / 2 - log(hypot(k, u)) - log(hypot(k + 1, u));
        const double rotation = u * (2 * k + 1) * v / 2;
        const double angle = sum[n].imaginary + rotation - atan2(u, k) - atan2(u, k + 1);
        const double error =
            sum[n].error + 4 * DBL_EPSILON * (16 + (k * (k + 1) + u * u) * v + fabs(rotation));
        if (n == 0) contour->scale = real;
        const double value = (n > 0 ? 2 : 1) * exp(real - contour->scale);
        contour->real[n] = value * cos(angle);
        contour->imaginary[n] = value * sin(angle);
        contour->slack += value * expm1(fmin(error, 700));
        contour->phase_slack += 4 * DBL_EPSILON * u * value;
    }
    /* The remainder: |F(k + iu)| <= M(k) e^((k (k + 1) - u^2) v/2) / u^2, and M(k) e^(k (k + 1)
     * v/2) = e^scale k (k + 1). */
    const double u = 2 * M_PI * (double)(contour->n - 1) / contour->window;
    contour->slack += contour->window / M_PI * k * (k + 1) * exp(-u * u * v / 2) / (u * u * u * v);
}

/* Makes a contour for epsilons from `low` to local->epsilon; the contour overestimates delta by a factor of up to
 * e^error. */
static nvdp_status contour_create(struct nvdp_context *ctx, const struct losses *losses,
                                  const struct nvdp__local *local, double low, double error,
                                  struct contour *out) {
    const double k = local->k, epsilon = local->epsilon, log_delta = local->log_delta;
    nvdp__auto(contour_free) struct contour made = {.k = k, .infinite = losses->infinite};
    nvdp__auto(losses_free) struct losses fine = {.count = losses->count};
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct nvdp__log_moment *one, *sum;
    double work = 0;
    NVDP_TRY(losses_allocate(ctx, fine.count, &fine));
    for (size_t i = 0; i < fine.count; i++) {
        struct nvdp__step *step = &fine.step[i];
        NVDP_TRY(nvdp__step_refine(ctx, &losses->step[i], losses->direction, local,
                                   error / 3 / (double)losses->count, step));
        NVDP_TRY(nvdp__step_atoms(ctx, step, losses->direction, &fine.atoms[i]));
        NVDP_TRY(nvdp__tilt(ctx, &fine.atoms[i], k, NEGLIGIBLE / step->times, &fine.tilted[i]));
        work += (double)fine.tilted[i].n;
    }
    made.window =
        fmax(reach(losses, k, epsilon, log_delta, -1), reach(losses, k, low, log_delta, 1));
    /* the nodes end at a u at which v u^2/2 exceeds the log of the ratio of F(k) e^(-k eps) to delta */
    made.variance = fmax(losses->gauss, 4 * error / (3 * local->density));
    const double above = log_moment(losses, k) - k * epsilon - log(k) - log1p(k) - log_delta;
    const double end = sqrt(2 * (ALIASES + fmax(above, 0))) * made.window / (2 * M_PI);
    const double times = end / sqrt(made.variance) * (work + 20) / MAX_WORK;
    made.wide = times > 1;
    made.variance *= pow(fmax(times, 1), 2);
    made.n = (size_t)(end / sqrt(made.variance)) + 2;
    NVDP_TRY(NVDP__ARRAYS(ctx, &made.memory, NVDP__ITEMS(made.real, made.n),
                          NVDP__ITEMS(made.imaginary, made.n)));
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(one, made.n), NVDP__ITEMS(sum, made.n)));
    for (size_t n = 0; n < made.n; n++)
        sum[n].real = losses->log_finite;
    for (size_t i = 0; i < losses->count; i++) {
        nvdp__tilted_moments(&fine.tilted[i], 2 * M_PI / made.window, made.n, one);
        add_moments(&made, fine.step[i].times, one, sum);
    }
    for (size_t i = 0; i < losses->run->besides; i++) {
        for (size_t n = 0; n < made.n; n++)
            one[n] =
                two_losses(losses->run->beside[i].epsilon, k, 2 * M_PI * (double)n / made.window);
        add_moments(&made, 1, one, sum);
    }
    finish(&made, sum);
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

/* Returns an upper bound of delta(eps), which is tight near the epsilon of the contour. */
static double contour_delta(const struct contour *contour, double epsilon) {
    const double rotation = 2 * M_PI * fmod(epsilon / contour->window, 1), k = contour->k;
    double sum = 0, rest = 0; /* compensated sum (Kahan 1965) */
    for (size_t n = 0; n < contour->n; n++) {
        const double angle = (double)n * rotation;
        const double term =
            contour->real[n] * cos(angle) + contour->imaginary[n] * sin(angle) - rest;
        const double next = sum + term;
        rest = (next - sum) - term;
        sum = next;
    }
    sum = fmax(sum, 0) + contour->slack + contour->phase_slack * fabs(epsilon);
    const double exponent = contour->scale - k * epsilon;
    const double rounding = 4 * DBL_EPSILON * (fabs(contour->scale) + k * fabs(epsilon));
    return fmin(exp(exponent + rounding) / contour->window * sum + contour->infinite, 1);
}

/* Returns the smallest epsilon in [low, high] with delta(epsilon) <= delta; `high` if no smaller epsilon has this
 * delta. */
static double contour_epsilon(const struct contour *contour, double low, double high,
                              double delta) {
    if (contour_delta(contour, low) <= delta) return low;
    for (int i = 0; i < 60 && high - low > 1e-10 * high; i++) {
        const double middle = low + (high - low) / 2;
        *(contour_delta(contour, middle) <= delta ? &high : &low) = middle;
    }
    return high;
}

/* Computes slope and density at epsilon. Derivatives of e^(-z eps) F(z) are sums of z e^(-z eps)
 * F(z). The density of the loss, whose double integral is delta, is a sum of z (z + 1) e^(-z
 * eps) F(z). */
static void contour_local(const struct contour *contour, double epsilon,
                          struct nvdp__local *local) {
    const double rotation = 2 * M_PI * fmod(epsilon / contour->window, 1), k = contour->k;
    double delta = contour->slack, slope = 0, density = 0;
    for (size_t n = 0; n < contour->n; n++) {
        const double u = 2 * M_PI * (double)n / contour->window, angle = (double)n * rotation;
        const double real = contour->real[n] * cos(angle) + contour->imaginary[n] * sin(angle);
        const double imaginary = contour->imaginary[n] * cos(angle) - contour->real[n] * sin(angle);
        delta += real;
        slope += k * real - u * imaginary;
        density += (k * (k + 1) - u * u) * real - u * (2 * k + 1) * imaginary;
    }
    /* a curve steeper than this limit is an alias or an atom */
    const double limit = fmax(-2 * local->log_delta, 10) / fmax(epsilon, 1e-300);
    local->epsilon = epsilon;
    local->slope = fmin(fmax(slope / delta, 0), limit);
    local->density =
        fmin(fmax(density / delta, local->slope * (local->slope + 1)), limit * (limit + 1));
}

/* ---- epsilon and delta ---- */

/* Returns an upper bound of delta(0), the total variation of everything together. */
static double variation(const struct nvdp_dp_run *run) {
    double sum = 0;
    for (size_t i = 0; i < run->phases; i++)
        sum += (double)run->phase[i].steps * run->phase[i].rate *
               erf(1 / (2 * M_SQRT2 * run->phase[i].noise));
    for (size_t i = 0; i < run->besides; i++)
        sum += run->beside[i].delta + tanh(run->beside[i].epsilon / 2);
    return fmin(sum * (1 + ROUNDING), 1);
}

enum { MAX_PASSES = 8 };

/* Computes the saddle point of local->epsilon; keeps known values of the slope and the density. */
static void find_saddle(const struct losses *losses, struct nvdp__local *local) {
    (void)minimize(losses, SADDLE, local->epsilon, &local->k);
    local->slope = fmax(local->slope, local->k);
    local->density = fmax(local->density, local->k * (local->k + 1));
}

/* Returns true if a contour made for `before` is fine enough for the slope and density that the contour showed. */
static bool fine_enough(const struct contour *contour, const struct nvdp__local *before,
                        const struct nvdp__local *after) {
    return contour->wide ||
           (after->slope <= 1.5 * before->slope && after->density <= 2 * before->density);
}

/* Lowers *epsilon, which has at most this delta in this direction, to the smallest epsilon found with at most this
 * delta. */
static nvdp_status lower_epsilon(struct nvdp_context *ctx, const struct losses *losses,
                                 double delta, double *epsilon) {
    struct nvdp__local local = {.epsilon = *epsilon, .log_delta = log(delta - losses->infinite)};
    bool close = false;
    for (int pass = 0; pass < MAX_PASSES; pass++) {
        nvdp__auto(contour_free) struct contour contour = {0};
        const double before = *epsilon;
        find_saddle(losses, &local);
        const double low = close ? before : 0, scout = close ? 1 : 8;
        const double error =
            scout * EPSILON_ERROR * fmax(fmin(local.slope, 3 * local.k) * before, 0.1);
        NVDP_TRY(contour_create(ctx, losses, &local, low, error, &contour));
        *epsilon = contour_epsilon(&contour, fmax(before - contour.window / 2, 0), before, delta);
        const struct nvdp__local asked = local;
        contour_local(&contour, *epsilon, &local);
        const bool done = close && fine_enough(&contour, &asked, &local);
        close = before - *epsilon <= 0.02 * *epsilon;
        if (*epsilon == 0 || (close && done)) break;
    }
    return NVDP_OK;
}

nvdp_status nvdp__pld_epsilon(struct nvdp_context *ctx, const struct nvdp_dp_run *run, double delta,
                              double *epsilon) {
    double found = 0, k;
    if (variation(run) <= delta) {
        *epsilon = 0;
        return NVDP_OK;
    }
    for (int direction = NVDP__PRESENT; direction >= NVDP__ABSENT; direction--) {
        nvdp__auto(losses_free) struct losses losses = {0};
        const double rest = delta - infinite_beside(run);
        if (!(log(rest) > MIN_LOG)) { /* if delta is smaller, the shares of tails would underflow */
            found = INFINITY;
            break;
        }
        NVDP_TRY(losses_create(ctx, run, (enum nvdp__direction)direction, log(rest), &losses));
        const double log_delta = log(delta - losses.infinite);
        double one = fmax(minimize(&losses, BOUND_EPSILON, log_delta, &k), 0);
        if (one > found && !(minimize(&losses, BOUND_DELTA, found, &k) <= log_delta)) {
            NVDP_TRY(lower_epsilon(ctx, &losses, delta, &one));
            found = fmax(found, one);
        }
    }
    *epsilon = found;
    return NVDP_OK;
}

/* Computes delta at one epsilon. The tails of steps may take a share of delta, so shorter tails give a better bound:
 * begins with the longest tails. */
static nvdp_status one_delta(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                             enum nvdp__direction direction, double epsilon, double *delta) {
    struct nvdp__local local = {.epsilon = epsilon};
    double log_delta = MIN_LOG, best = variation(run);
    for (int pass = 0; pass < 3 * MAX_PASSES; pass++) {
        nvdp__auto(losses_free) struct losses losses = {0};
        nvdp__auto(contour_free) struct contour contour = {0};
        double k;
        bool done = false;
        NVDP_TRY(losses_create(ctx, run, direction, log_delta, &losses));
        double next = fmin(minimize(&losses, BOUND_DELTA, epsilon, &k), 0);
        best = fmin(best, exp(next) + losses.infinite);
        if (next <= MIN_LOG) break;
        if (pass > 0 && next > log_delta - 3) {
            local.log_delta = fmin(next, log_delta);
            find_saddle(&losses, &local);
            NVDP_TRY(contour_create(ctx, &losses, &local, epsilon, DELTA_ERROR, &contour));
            const double found = contour_delta(&contour, epsilon);
            const struct nvdp__local asked = local;
            contour_local(&contour, epsilon, &local);
            best = fmin(best, found);
            next = fmin(log(found), next);
            done = next > log_delta - 5 && fine_enough(&contour, &asked, &local);
        }
        if (done) break;
        log_delta = fmax(next, MIN_LOG);
    }
    *delta = best > 0 || variation(run) == 0 ? best : DBL_TRUE_MIN;
    return NVDP_OK;
}

nvdp_status nvdp__pld_deltas(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                             double epsilon, double delta[2]) {
    if (isinf(epsilon)) {
        delta[NVDP__ABSENT] = delta[NVDP__PRESENT] = infinite_beside(run);
        return NVDP_OK;
    }
    for (int direction = NVDP__ABSENT; direction <= NVDP__PRESENT; direction++)
        NVDP_TRY(one_delta(ctx, run, (enum nvdp__direction)direction, epsilon, &delta[direction]));
    return NVDP_OK;
}
