/* Bounds what an attacker can learn about one training example from a trained model, by the trade-off curve of training.
 *
 * P: the run's output if the example is in the training set; Q: if it is zeroed out. With
 *
 *     delta(e)  =  sup_S  P(S) - e^e Q(S)                 (nvdp_account_deltas, an upper bound)
 *
 * a test that answers yes with probability b under Q answers yes with probability at most
 *
 *     T(b)  =  min over e of  e^e b + delta(e)
 *
 * under P, because every e gives a bound. A guess about the example that is right with probability b without the
 * example, given everything else, is such a test, so it is right with probability at most T(b). Membership at prior
 * p, a the false positive rate:
 *
 *     max over a of  p T(a) + (1-p) (1-a)  =  1 - p + p delta(log((1-p)/p))        (the conjugate of T)
 *
 * Replacing x by x' leads from x to none, (e, d), and from none to x', (e', d'). Together (group privacy):
 *
 *     P_x(S)  <=  e^e P_none(S) + d  <=  e^(e + e') P_x'(S) + e^e d' + d */
#include "account/account.h"
#include "base/sentence.h"
#include "options/schema.h"

#include <nvdp/rdp.h>
#include <stdio.h>
#include <stdlib.h>

/* delta(e) at e = 0, end/GRID ... end, in both directions. */
enum { GRID = 8, GOLDEN = 8 };
struct curve {
    struct nvdp_context *ctx;
    const struct nvdp_dp_run *run;
    double epsilon[GRID + 1], present[GRID + 1], absent[GRID + 1];
};

static nvdp_status open_curve(struct nvdp_context *ctx, const struct nvdp_dp_run *run, double end,
                              struct curve *c) {
    *c = (struct curve){.ctx = ctx, .run = run};
    for (int i = 0; i <= GRID; i++)
        c->epsilon[i] = end * i / GRID;
    return nvdp_account_deltas(ctx, run, GRID + 1, c->epsilon, c->present, c->absent);
}

/* A function of e to be minimized, by golden section search in the interval around the grid's
 * minimum. */
struct search {
    const struct curve *curve;
    double (*value)(double e, double present, double absent, double parameter);
    double parameter, best;
};

static nvdp_status try_at(struct search *s, double e, double *value) {
    double present, absent;
    NVDP_RETURN_IF_FAILED(
        nvdp_account_deltas(s->curve->ctx, s->curve->run, 1, &e, &present, &absent));
    *value = s->value(e, present, absent, s->parameter);
    s->best = fmin(s->best, *value);
    return NVDP_OK;
}

static nvdp_status narrow(struct search *s, double low, double high) {
    static const double golden = 0.61803398874989485;
    double left = high - golden * (high - low), right = low + golden * (high - low), a, b;
    NVDP_RETURN_IF_FAILED(try_at(s, left, &a));
    NVDP_RETURN_IF_FAILED(try_at(s, right, &b));
    for (int i = 2; i < GOLDEN; i++) {
        if (a < b) {
            high = right;
            right = left;
            b = a;
            left = high - golden * (high - low);
            NVDP_RETURN_IF_FAILED(try_at(s, left, &a));
        } else {
            low = left;
            left = right;
            a = b;
            right = low + golden * (high - low);
            NVDP_RETURN_IF_FAILED(try_at(s, right, &b));
        }
    }
    return NVDP_OK;
}

/* ---- guesses ---- */

static double guessed(double e, double present, double absent, double b) {
    (void)absent;
    return exp(e) * b + present;
}

static nvdp_status guess(const struct curve *c, double b, double *out) {
    struct search s = {c, guessed, b, 1};
    const double h = c->epsilon[1];
    double at = 0, value;
    for (int i = -GRID; i <= GRID; i++) {
        const int k = abs(i);
        const double e = i < 0 ? -c->epsilon[k] : c->epsilon[k];
        const double present =
            i < 0 ? exp(e) * c->absent[k] - expm1(e) : c->present[k]; /* from the other direction */
        value = guessed(e, present, NAN, b);
        if (value < s.best) at = e;
        s.best = fmin(s.best, value);
    }
    /* extends the range for a rare guess */
    for (double end = c->epsilon[GRID]; b > 0 && at == end; end *= 2) {
        NVDP_RETURN_IF_FAILED(try_at(&s, 2 * end, &value));
        if (value == s.best) at = 2 * end;
    }
    const double reach = fmax(h, at / 2);
    NVDP_RETURN_IF_FAILED(narrow(&s, at - reach, at + reach));
    *out = fmax(s.best, b);
    return NVDP_OK;
}

nvdp_status nvdp_account_membership(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                                    double prior, double *bound) {
    const double odds = log((1 - prior) / prior);
    double present;
    if (!(prior >= 0 && prior <= 1))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "prior: expected a number in [0, 1], found %g",
                          prior);
    if (isinf(odds)) {
        *bound = 1;
        return NVDP_OK;
    }
    NVDP_RETURN_IF_FAILED(nvdp_account_deltas(ctx, run, 1, &odds, &present, NULL));
    *bound = fmin(fmax(1 - prior + prior * present, fmax(prior, 1 - prior)), 1);
    return NVDP_OK;
}

/* ---- mu ---- */

/* The mu of the curve through this point, negated. */
static double minus_mu(double e, double present, double absent, double unused) {
    const double delta = fmax(present, absent);
    (void)unused;
    return delta >= 1 ? -INFINITY : delta > 0 ? -nvdp_gdp_mu(e, delta) : 0;
}

/* The largest mu of the points. It is smooth between them; adding a thousandth covers the search
 * error. */
static nvdp_status gaussian(const struct curve *c, double *out) {
    struct search s = {c, minus_mu, 0, 0};
    int best = 0;
    for (int i = 0; i <= GRID; i++) {
        const double value = minus_mu(c->epsilon[i], c->present[i], c->absent[i], 0);
        if (value < s.best) best = i;
        s.best = fmin(s.best, value);
    }
    if (isfinite(s.best))
        NVDP_RETURN_IF_FAILED(narrow(&s, c->epsilon[best > 0 ? best - 1 : 0],
                                     c->epsilon[best < GRID ? best + 1 : GRID]));
    *out = -s.best * (1 + 1e-3);
    return NVDP_OK;
}

/* ---- replacement ---- */

/* The minimum over several ways to divide delta. */
static nvdp_status replaced(struct nvdp_context *ctx, const struct nvdp_dp_run *run, double delta,
                            double *out) {
    static const double share[] = {0.5, 0.9, 0.99};
    *out = INFINITY;
    for (size_t i = 0; i < sizeof share / sizeof *share; i++) {
        double first, second, rest;
        NVDP_RETURN_IF_FAILED(
            nvdp_account_epsilon(ctx, run, share[i] * delta, NVDP_ACCOUNTANT_PLD, &first));
        rest = (1 - share[i]) * delta * exp(-first);
        if (!(rest > 0)) continue;
        NVDP_RETURN_IF_FAILED(nvdp_account_epsilon(ctx, run, rest, NVDP_ACCOUNTANT_PLD, &second));
        *out = fmin(*out, first + second);
    }
    return NVDP_OK;
}

/* ---- the report of all risks ---- */

nvdp_status nvdp_account_risk(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                              const struct nvdp_account *account, size_t n, const double *baseline,
                              struct nvdp_account_risk *out) {
    struct curve curve;
    struct nvdp_account_risk made = {
        .struct_size = sizeof made, .delta = account->delta, .mu = INFINITY, .guesses = n};
    const double epsilon = account->pld_epsilon;
    NVDP_RETURN_IF_FAILED(nvdp__can_give(ctx, out));
    if (n > NVDP_GUESSES)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "baselines: expected at most %d, found %zu",
                          NVDP_GUESSES, n);
    for (size_t i = 0; i < n; i++)
        if (!(baseline[i] >= 0 && baseline[i] <= 1))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "baseline: expected a number in [0, 1], found %g", baseline[i]);
    NVDP_RETURN_IF_FAILED(
        open_curve(ctx, run, isfinite(epsilon) ? fmax(epsilon, 1e-3) : 20, &curve));
    made.membership = (1 + fmin(fmin(curve.present[0], curve.absent[0]), 1)) / 2;
    if (isfinite(epsilon)) NVDP_RETURN_IF_FAILED(gaussian(&curve, &made.mu));
    for (size_t i = 0; i < n; i++) {
        made.guess[i].baseline = baseline[i];
        NVDP_RETURN_IF_FAILED(guess(&curve, baseline[i], &made.guess[i].bound));
    }
    NVDP_RETURN_IF_FAILED(replaced(ctx, run, account->delta, &made.replaced_epsilon));
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}

/* ---- the statement ---- */

static void write_adjacency(FILE *to, const struct nvdp_dp_facts *facts,
                            const struct nvdp_account *account) {
    static const char *const shows[] = {
        [NVDP_DP_PUBLIC_NOT_TOLD] =
            " If any of these follows from the number of examples N, then N is public",
        [NVDP_DP_PUBLIC_RATE] = " The number of examples N is public: the probability is B/N, and "
                                "the number of steps and a default delta follow from it",
        [NVDP_DP_PUBLIC_DIVISOR] =
            " The number of examples N is public: sums and their noise are divided by Q N, which "
            "shows N to whoever sees the model, and a default delta follows from it"};
    char replaced[NVDP__BOUND_TEXT];
    fputs(". It protects one training example against whoever sees the model, every state of it on "
          "the way included",
          to);
    if (facts->example != NULL) nvdp__fprintf(to, "; an example is %s", facts->example);
    nvdp__fprintf(
        to,
        ". Adjacent (zero-out): two training sets, in one of which the example counts as none, "
        "in its place and with a gradient of 0; probabilities, divisor, noise and number of "
        "steps are the same for both.%s, and adding or removing an example, which changes it, "
        "is not "
        "covered.",
        shows[facts->shows]);
    if (facts->risk != NULL)
        nvdp__fprintf(
            to,
            " Replacing an example by another costs more: epsilon %s at delta %g, by group "
            "privacy.",
            nvdp__bound(replaced, facts->risk->replaced_epsilon, NVDP__UP), account->delta);
    fputc(' ', to);
}

static void tell_risk(FILE *to, const struct nvdp_account_risk *risk) {
    char share[NVDP__BOUND_TEXT], mu[NVDP__BOUND_TEXT];
    if (risk == NULL) return;
    nvdp__fprintf(
        to,
        "What that means on average for whoever has the model and knows everything else, the "
        "other examples included: whether the example was trained on, which they guess right "
        "50 %% of the time without the model, they guess right at most %s of the time with it",
        nvdp__share_bound(share, risk->membership, NVDP__UP));
    for (size_t i = 0; i < risk->guesses; i++) {
        nvdp__fprintf(to, "%s%s", i == 0 ? "; anything else about it, guessed right " : ", ",
                      nvdp__share_bound(share, risk->guess[i].baseline, NVDP__UP));
        nvdp__fprintf(to, " of the time without it, at most %s",
                      nvdp__share_bound(share, risk->guess[i].bound, NVDP__UP));
    }
    nvdp__fprintf(
        to,
        ". mu is %s: with a false positive rate b no test finds the example with a higher "
        "probability than Phi(Phi^-1(b) + mu) + delta. ",
        nvdp__bound(mu, risk->mu, NVDP__UP));
}

static void tell_steps(FILE *to, const struct nvdp_dp_run *run, const struct nvdp_dp_facts *facts) {
    for (size_t i = 0; i < run->phases; i++) {
        const struct nvdp_dp_steps *phase = &run->phase[i];
        nvdp__fprintf(
            to,
            "%sEach of %llu steps drew every example with probability %g, independently of all "
            "others (Poisson sampling; the divisor of the sum does not depend on how many "
            "came), ",
            i > 0 ? "Then: " : "", (unsigned long long)phase->steps, phase->rate);
        if (facts->clip > 0)
            nvdp__fprintf(to, "clipped each example's gradient to norm %g, ", facts->clip);
        else
            fputs("clipped each example's gradient to norm C, ", to);
        nvdp__fprintf(
            to, "and added Gaussian noise of %g times that norm to every coordinate of the sum. ",
            phase->noise);
    }
    if (facts->shards > 1)
        nvdp__fprintf(to, "The noise is that of %llu workers together. ",
                      (unsigned long long)facts->shards);
}

struct told {
    const struct nvdp_dp_run *run;
    const struct nvdp_dp_facts *facts;
    const struct nvdp_account *account;
};

static void tell_all(const void *of, FILE *to) {
    const struct told *told = of;
    const struct nvdp_dp_run *run = told->run;
    const struct nvdp_dp_facts *facts = told->facts;
    const struct nvdp_account *account = told->account;
    char pld[NVDP__BOUND_TEXT], rdp[NVDP__BOUND_TEXT];
    nvdp__fprintf(
        to,
        "The training is (epsilon %s, delta %g)-differentially private by its privacy loss "
        "distribution, rounded up; by Renyi divergences epsilon is %s",
        nvdp__bound(pld, account->pld_epsilon, NVDP__UP), account->delta,
        nvdp__bound(rdp, account->rdp_epsilon, NVDP__UP));
    if (account->rdp_order > 1) nvdp__fprintf(to, " (order %g)", account->rdp_order);
    write_adjacency(to, facts, account);
    tell_risk(to, facts->risk);
    tell_steps(to, run, facts);
    if (facts->examples > 0)
        nvdp__fprintf(
            to, "There are %llu examples: 1/N is %.3g%s. ", (unsigned long long)facts->examples,
            1 / (double)facts->examples,
            account->delta * (double)facts->examples >= 1
                ? ", and delta is not below it, so that the statement allows some examples to "
                  "be published as they are"
                : "");
    if (run->besides > 0) {
        struct nvdp_dp_guarantee rest = {0, 0};
        for (size_t i = 0; i < run->besides; i++) {
            rest.epsilon += run->beside[i].epsilon;
            rest.delta += run->beside[i].delta;
        }
        nvdp__fprintf(
            to,
            "Epsilon and delta include what else saw the examples: epsilon %s and delta %g by "
            "itself. ",
            nvdp__bound(pld, rest.epsilon, NVDP__UP), rest.delta);
    }
    fputs("Not covered: what the model that training began from knew of these examples, unless it "
          "is counted above; other models that were made of them (folds, seeds, a sweep), each of "
          "which adds its own epsilon; whatever else was chosen by looking at these examples "
          "(settings, the number of steps, an epoch by a score on private data, a vocabulary that "
          "was not private); other people's texts that repeat the same facts; what a batch's time "
          "or memory tells; the texts that the finished model is given. The noise is added in "
          "floating point.",
          to);
    if (facts->seeded)
        fputs(" INSECURE: the noise comes from a seed. Who knows it can undo it.", to);
}

nvdp_status nvdp_account_statement(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                                   const struct nvdp_dp_facts *facts,
                                   const struct nvdp_account *account, char **text) {
    const struct told told = {run, facts, account};
    return nvdp__printed(ctx, tell_all, &told, text);
}
