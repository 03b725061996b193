/* Bounds what an attacker can learn about one training example from a trained model, by the trade-off curve of
 * training.
 *
 * P: the run's output if the example is in the training set; Q: if it is zeroed out. With
 *
 *     delta(e)  =  sup_S  P(S) - e^e Q(S)                 (nvdp__account_deltas, an upper bound)
 *
 * a test that answers yes with probability b under Q answers yes with probability at most
 *
 *     T(b)  =  min over e of  e^e b + delta(e)
 *
 * under P, because every e gives a bound. A guess about the example that is right with probability b without the
 * example, given everything else, is such a test. With the run's output, this guess is therefore right with probability
 * at most T(b). Membership at prior p, a the false positive rate:
 *
 *     max over a of  p T(a) + (1-p) (1-a)  =  1 - p + p delta(log((1-p)/p))        (the conjugate of T)
 *
 * Replacing x by x' leads from x to none, and from none to x'. With T as above, and U(b) = min over e of
 * e^e b + absent(e) for the other direction, group privacy of trade-off curves (Dong, Roth & Su 2022) is
 *
 *     P_x(S)  <=  T(P_none(S)),   P_none(S)  <=  U(P_x'(S)),   so   P_x(S)  <=  T(U(P_x'(S))),
 *
 * and epsilon at delta is the maximum over b of log((T(U(b)) - delta) / b). Finitely many lines in place of all e only
 * raise T and U, so epsilon is never too small. */
#include "account/account.h"
#include "base/sentence.h"
#include "options/result.h"
#include "options/schema.h"

#include <nvdp/rdp.h>
#include <stdio.h>
#include <stdlib.h>

/* The curves delta(e) in both directions, at e = 0, end/GRID ... end. */
enum { GRID = 8, GOLDEN = 8 };
struct curve {
    struct nvdp_context *ctx;
    const struct nvdp_dp_run *run;
    double epsilon[GRID + 1], present[GRID + 1], absent[GRID + 1];
};

/* A function of e that is minimized, by golden section search in the interval around the minimum on the grid. */
struct search {
    const struct curve *curve;
    double (*value)(double e, double present, double absent, double parameter);
    double parameter, best;
};

static nvdp_status try_at(struct search *s, double e, double *value) {
    double present, absent;
    NVDP_TRY(nvdp__account_deltas(s->curve->ctx, s->curve->run, 1, &e, &present, &absent));
    *value = s->value(e, present, absent, s->parameter);
    s->best = fmin(s->best, *value);
    return NVDP_OK;
}

static nvdp_status narrow(struct search *s, double low, double high) {
    static const double golden = 0.61803398874989485;
    double left = high - golden * (high - low), right = low + golden * (high - low), a, b;
    NVDP_TRY(try_at(s, left, &a));
    NVDP_TRY(try_at(s, right, &b));
    for (int i = 2; i < GOLDEN; i++) {
        if (a < b) {
            high = right;
            right = left;
            b = a;
            left = high - golden * (high - low);
            NVDP_TRY(try_at(s, left, &a));
        } else {
            low = left;
            left = right;
            a = b;
            right = low + golden * (high - low);
            NVDP_TRY(try_at(s, right, &b));
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
            /* for e < 0, uses the curve of the other direction */
            i < 0 ? exp(e) * c->absent[k] - expm1(e) : c->present[k];
        value = guessed(e, present, NAN, b);
        if (value < s.best) at = e;
        s.best = fmin(s.best, value);
    }
    /* extends the range of e for a rare guess */
    for (double end = c->epsilon[GRID]; b > 0 && at == end; end *= 2) {
        NVDP_TRY(try_at(&s, 2 * end, &value));
        if (value == s.best) at = 2 * end;
    }
    const double reach = fmax(h, at / 2);
    NVDP_TRY(narrow(&s, at - reach, at + reach));
    *out = fmax(s.best, b);
    return NVDP_OK;
}

/* ---- mu ---- */

/* Returns -mu, where mu is the parameter of the curve through this point. */
static double minus_mu(double e, double present, double absent, double unused) {
    const double delta = fmax(present, absent);
    (void)unused;
    return delta >= 1 ? -INFINITY : delta > 0 ? -nvdp_gdp_mu(e, delta) : 0;
}

/* Returns the largest mu of the points. Between the points mu is smooth, and adding a thousandth covers the error of
 * the search. */
static nvdp_status gaussian(const struct curve *c, double *out) {
    struct search s = {c, minus_mu, 0, 0};
    int best = 0;
    for (int i = 0; i <= GRID; i++) {
        const double value = minus_mu(c->epsilon[i], c->present[i], c->absent[i], 0);
        if (value < s.best) best = i;
        s.best = fmin(s.best, value);
    }
    if (isfinite(s.best))
        NVDP_TRY(narrow(&s, c->epsilon[best > 0 ? best - 1 : 0],
                        c->epsilon[best < GRID ? best + 1 : GRID]));
    *out = fabs(s.best) * (1 + 1e-3); /* fabs() avoids -0 */
    return NVDP_OK;
}

/* ---- replacement ---- */

/* Lines e^e b + present(e) and e^e b + absent(e), whose minima bound T and U. */
enum { LINES = 24 };
struct lines {
    size_t n;
    double epsilon[2 * LINES], slope[2 * LINES], present[2 * LINES], absent[2 * LINES];
};

static nvdp_status add_lines(const struct curve *c, double low, double high, struct lines *to) {
    double *epsilon = to->epsilon + to->n;
    for (size_t i = 0; i < LINES; i++) {
        epsilon[i] = low + (high - low) * (double)i / (LINES - 1);
        to->slope[to->n + i] = exp(epsilon[i]);
    }
    NVDP_TRY(nvdp__account_deltas(c->ctx, c->run, LINES, epsilon, to->present + to->n,
                                  to->absent + to->n));
    to->n += LINES;
    return NVDP_OK;
}

/* Returns the minimum of the lines at b, at most 1. *at is the epsilon of the lowest line. */
static double lowest(const struct lines *of, const double *above, double b, double *at) {
    double value = 1;
    for (size_t i = 0; i < of->n; i++) {
        const double line = of->slope[i] * b + above[i];
        if (line >= value) continue;
        value = line;
        *at = of->epsilon[i];
    }
    return value;
}

/* Returns the epsilon of both curves in a row, at most `step` too large, or +inf if the lines end above delta. Sets `at`
 * to the epsilons of the lines at the maximum. T(U(b)) increases with b, so the value at the larger of two b bounds all
 * values between them. */
static double in_a_row(const struct lines *of, double delta, double at[2]) {
    static const double step = 2e-3, smallest = -700; /* of log b */
    double epsilon = 0;
    for (double log_b = 0; log_b > smallest; log_b -= step) {
        double first = 0, second = 0;
        const double none = lowest(of, of->absent, exp(log_b), &second),
                     both = lowest(of, of->present, none, &first);
        if (both <= delta) return epsilon;
        const double found = log(both - delta) - (log_b - step);
        if (found <= epsilon) continue;
        epsilon = found;
        at[0] = fmin(first, second);
        at[1] = fmax(first, second);
    }
    return INFINITY;
}

/* Computes epsilon at delta for replacing an example. The last point of c is the run's epsilon at delta. Further lines
 * around the first maximum make the bound sharp: epsilon of a Gaussian mechanism is at most .4 % too large. */
static nvdp_status replaced(const struct curve *c, double delta, double *out) {
    struct lines lines = {0};
    const double end = 2 * c->epsilon[GRID] + 2, between = end / (LINES - 1);
    double at[2] = {0, 0};
    NVDP_TRY(add_lines(c, 0, end, &lines));
    *out = in_a_row(&lines, delta, at);
    if (!isfinite(*out)) return NVDP_OK;
    NVDP_TRY(add_lines(c, fmax(0, at[0] - between), at[1] + between, &lines));
    *out = in_a_row(&lines, delta, at);
    return NVDP_OK;
}

/* ---- the report of all risks ---- */

nvdp_status nvdp_example_risk(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                              const struct nvdp_account *account, size_t n, const double *baseline,
                              struct nvdp_example_risk *out) {
    struct curve curve = {.ctx = ctx, .run = run};
    struct nvdp_example_risk made = {
        .struct_size = sizeof made, .delta = account->delta, .mu = INFINITY, .guesses = n};
    const double epsilon = account->pld_epsilon;
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (n > NVDP_GUESSES)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "baselines: expected at most %d, found %zu",
                          NVDP_GUESSES, n);
    for (size_t i = 0; i < n; i++)
        if (!(baseline[i] >= 0 && baseline[i] <= 1))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "baseline: expected a number in [0, 1], found %g", baseline[i]);
    const double end = isfinite(epsilon) ? fmax(epsilon, 1e-3) : 20;
    for (int i = 0; i <= GRID; i++)
        curve.epsilon[i] = end * i / GRID;
    NVDP_TRY(nvdp__account_deltas(ctx, run, GRID + 1, curve.epsilon, curve.present, curve.absent));
    made.membership = (1 + fmin(fmin(curve.present[0], curve.absent[0]), 1)) / 2;
    if (isfinite(epsilon)) NVDP_TRY(gaussian(&curve, &made.mu));
    for (size_t i = 0; i < n; i++) {
        made.guess[i].baseline = baseline[i];
        NVDP_TRY(guess(&curve, baseline[i], &made.guess[i].bound));
    }
    made.replaced_epsilon = INFINITY;
    if (isfinite(epsilon)) NVDP_TRY(replaced(&curve, account->delta, &made.replaced_epsilon));
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}

/* ---- the statement ---- */

struct statement {
    const struct nvdp_dp_run *run;
    const struct nvdp_dp_facts *facts;
    const struct nvdp_account *account;
};

static void write_answer(FILE *to, const struct statement *of) {
    const struct nvdp_account *account = of->account;
    const uint64_t examples = of->facts->examples;
    fputs(of->facts->seeded ? "INSECURE: the noise comes from a seed, and who knows the seed can "
                              "remove it. With other noise, the"
                            : NVDP__PROVEN_INEXACT("this training's") ": the",
          to);
    nvdp__fprintf(to,
                  " training is (epsilon %s, delta %s)-differentially private for one training "
                  "example, against whoever sees the model and all of its states.",
                  nvdp__bound(account->pld_epsilon).text, nvdp__bound(account->delta).text);
    if (of->facts->example != NULL) nvdp__fprintf(to, " An example is %s.", of->facts->example);
    if (examples > 0) nvdp__fprintf(to, " There are %llu examples.", (unsigned long long)examples);
    fputc('\n', to);
    if (examples > 0 && account->delta * (double)examples >= 1)
        nvdp__fprintf(to,
                      "WARNING: delta is not below 1/N = %.3g. Such a delta allows some examples "
                      "to be published as they are.\n",
                      1 / (double)examples);
    nvdp__fprintf(to,
                  "Epsilon is from the privacy loss distribution, rounded up; Renyi divergences "
                  "give %s",
                  nvdp__bound(account->rdp_epsilon).text);
    if (account->rdp_order > 1) nvdp__fprintf(to, " (order %g)", account->rdp_order);
    fputs(".", to);
    if (of->run->besides > 0) {
        struct nvdp_dp_guarantee rest = {0, 0};
        for (size_t i = 0; i < of->run->besides; i++) {
            rest.epsilon += of->run->beside[i].epsilon;
            rest.delta += of->run->beside[i].delta;
        }
        nvdp__fprintf(to,
                      " It includes epsilon %s and delta %s of earlier computations on the "
                      "examples.",
                      nvdp__bound(rest.epsilon).text, nvdp__bound(rest.delta).text);
    }
    fputc('\n', to);
}

static void write_risk(FILE *to, const struct nvdp_example_risk *risk) {
    if (risk == NULL) return;
    nvdp__fprintf(
        to,
        "An attacker who has the model and knows all other examples guesses whether an example "
        "was used: right 50 %% of the time without the model, at most %s with it. ",
        nvdp__share_bound(risk->membership).text);
    for (size_t i = 0; i < risk->guesses; i++) {
        nvdp__fprintf(to, "%s%s", i == 0 ? "Any other guess about it: right " : "; ",
                      nvdp__share_bound(risk->guess[i].baseline).text);
        nvdp__fprintf(to, " without, at most %s with the model",
                      nvdp__share_bound(risk->guess[i].bound).text);
    }
    nvdp__fprintf(to,
                  "%sThese are averages. At deltas of at least this one, a Gaussian mechanism of "
                  "mu %s leaks no less (numerical, not proven; it says nothing of smaller ones).\n",
                  risk->guesses > 0 ? ". " : "", nvdp__bound(risk->mu).text);
}

static void write_adjacency(FILE *to, const struct statement *of) {
    static const char *const shows[] = {
        [NVDP_DP_PUBLIC_NOT_TOLD] =
            "If any of these follows from the number of examples N, then N is public",
        [NVDP_DP_PUBLIC_RATE] = "The number of examples N is public, since the probability is B/N",
        [NVDP_DP_PUBLIC_DIVISOR] =
            ("The number of examples N is public, since sums and their noise "
             "are divided by Q N")};
    const struct nvdp_example_risk *risk = of->facts->risk;
    nvdp__fprintf(
        to,
        "Neighbours (zero-out): the same examples, but one has a gradient of 0; probabilities, "
        "divisor, noise and steps are the same. %s. Adding or removing an example is not covered",
        shows[of->facts->shows]);
    if (risk != NULL)
        nvdp__fprintf(to, "; replacing one costs epsilon %s at delta %s",
                      nvdp__bound(risk->replaced_epsilon).text,
                      nvdp__bound(of->account->delta).text);
    fputs(".\n", to);
}

static void write_mechanism(FILE *to, const struct statement *of) {
    const struct nvdp_dp_facts *facts = of->facts;
    char norm[64] = "norm C";
    if (facts->clip > 0) nvdp__snprintf(norm, sizeof norm, "norm %g", facts->clip);
    fputs("Mechanism: ", to);
    for (size_t i = 0; i < of->run->phases; i++) {
        const struct nvdp_dp_steps *phase = &of->run->phase[i];
        nvdp__fprintf(to, "%s%llu%s steps that draw each example with probability %g, noise %g",
                      i > 0 ? ", then " : "", (unsigned long long)phase->steps,
                      facts->steps_done > 0 ? " planned" : "", phase->rate, phase->noise);
    }
    if (facts->steps_done > 0)
        nvdp__fprintf(to,
                      ", of which %llu were done (epsilon counts all that were planned, because "
                      "the end may depend on what was learned)",
                      (unsigned long long)facts->steps_done);
    nvdp__fprintf(
        to,
        ". Draws are independent (Poisson sampling), gradients are clipped to %s, and the "
        "noise is Gaussian in units of that norm, added in floating point",
        norm);
    if (facts->shards > 1)
        nvdp__fprintf(to, " by %llu workers together", (unsigned long long)facts->shards);
    fputs(".\n", to);
}

static void write_all(const void *statement, FILE *to) {
    const struct statement *of = statement;
    write_answer(to, of);
    write_risk(to, of->facts->risk);
    write_adjacency(to, of);
    write_mechanism(to, of);
    fputs(
        "Not covered: what the starting model knew of the examples; other models made from them "
        "(folds, seeds, a sweep), whose epsilons add up; choices made by looking at them, or at "
        "losses and counts of them (settings, an epoch, an early end, a vocabulary); copies of an "
        "example, or several examples of one "
        "person, which are a group of a larger epsilon; other people's texts with the same facts; "
        "timing and memory; the texts that the finished model is given.",
        to);
}

nvdp_status nvdp_account_statement(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                                   const struct nvdp_dp_facts *facts,
                                   const struct nvdp_account *account, char **text) {
    const struct statement statement = {run, facts, account};
    return nvdp__printed(ctx, write_all, &statement, text);
}

/* --- the result table --- */

#define ACCOUNT(member) NVDP_RESULT_AT(struct nvdp_account, member)

static const struct nvdp_result_table rdp_table = {
    .name = "rdp",
    .help = "the account by Renyi divergences",
    .rows = (const struct nvdp_result_row[]){{"epsilon", NVDP_RESULT_REAL, "nats", NVDP_SCOPE_MODEL,
                                              -1, "epsilon at delta", ACCOUNT(rdp_epsilon)},
                                             {"order", NVDP_RESULT_REAL, .scope = NVDP_SCOPE_MODEL,
                                              .help = "order of this epsilon", ACCOUNT(rdp_order)},
                                             {0}}};

static const struct nvdp_result_table pld_table = {
    .name = "pld",
    .help = "the account by the privacy loss distribution",
    .rows = (const struct nvdp_result_row[]){{"epsilon", NVDP_RESULT_REAL, "nats", NVDP_SCOPE_MODEL,
                                              -1, "epsilon at delta", ACCOUNT(pld_epsilon)},
                                             {0}}};

static void print_rdp(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_account *account = result;
    char order[48] = "";
    if (account->rdp_order > 1)
        nvdp__snprintf(order, sizeof order, " at the best order, %g", account->rdp_order);
    nvdp_result_line(to, "by RDP", "epsilon %s%s", nvdp__bound(account->rdp_epsilon).text, order);
}

const struct nvdp_result_table nvdp__result_account = {
    .name = "account",
    .help = "epsilon of private training",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        {"rdp", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_MODEL, .help = "by Renyi divergences",
         .of = &rdp_table, .print = print_rdp},
        {"pld", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_MODEL,
         .help = "by the privacy loss distribution", .of = &pld_table},
        {0}}};

#define ROW(member, ...) NVDP_RESULT_ROW(struct nvdp_example_risk, member, __VA_ARGS__)

static const struct nvdp_result_table guess_table = {
    .name = "guess",
    .help = "the bound of a guess",
    .size = sizeof(struct nvdp_bounded_guess),
    .rows = (const struct nvdp_result_row[]){
        NVDP_RESULT_ROW(struct nvdp_bounded_guess, baseline, NULL, NVDP_SCOPE_TEXT, 0,
                        "chance of being right without the model"),
        NVDP_RESULT_ROW(struct nvdp_bounded_guess, bound, NULL, NVDP_SCOPE_TEXT, -1,
                        "largest chance of being right with the model"),
        {0}}};

static const char *zero_out(int any) {
    (void)any;
    return "zero-out";
}

static double half(const void *result) {
    (void)result;
    return .5;
}

static const struct nvdp_result_table membership_table = {
    .name = "membership",
    .help = "guesses whether an example was trained on",
    .rows = (const struct nvdp_result_row[]){
        {"prior", NVDP_RESULT_REAL, .scope = NVDP_SCOPE_TEXT,
         .help = "share of examples that were trained on", .real = half},
        {"bound", NVDP_RESULT_REAL, .scope = NVDP_SCOPE_TEXT, .better = -1,
         .help = "largest chance of being right with the model",
         NVDP_RESULT_AT(struct nvdp_example_risk, membership)},
        {0}}};

static void print_membership(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_example_risk *risk = result;
    nvdp_result_line(to, "membership",
                     "a guess whether an example was trained on that is right 50 %% of the time "
                     "without the model is right at most %s of the time with it",
                     nvdp__share_bound(risk->membership).text);
    for (size_t i = 0; i < risk->guesses; i++)
        nvdp_result_line(to, i == 0 ? "other guesses" : "",
                         "a guess about one training example that is right %s of the time without "
                         "the model is right at most %s of the time with it",
                         nvdp__share_bound(risk->guess[i].baseline).text,
                         nvdp__share_bound(risk->guess[i].bound).text);
}

static void print_replaced(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_example_risk *risk = result;
    nvdp_result_line(to, "replacing one",
                     "epsilon %s at delta %s if one training example is replaced by another",
                     nvdp__bound(risk->replaced_epsilon).text, nvdp__bound(risk->delta).text);
}

const struct nvdp_result_table nvdp__result_risk = {
    .name = "risk",
    .help = "what private training means for one training example",
    .sized = true,
    .rows =
        (const struct nvdp_result_row[]){
            {"adjacency", NVDP_RESULT_ENUM, .scope = NVDP_SCOPE_MODEL,
             .help = "two data sets are adjacent if one has nothing in place of an example of the "
                     "other",
             NVDP_RESULT_AT(struct nvdp_example_risk, struct_size), .word = zero_out},
            ROW(mu, NULL, NVDP_SCOPE_MODEL, -1, "mu of the Gaussian mechanism that leaks as much"),
            ROW(replaced_epsilon, "nats", NVDP_SCOPE_MODEL, -1, "epsilon for replacing an example",
                .print = print_replaced),
            {"membership", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_MODEL,
             .help = "guesses whether an example was trained on", .of = &membership_table,
             .print = print_membership},
            {"guess", NVDP_RESULT_LIST, .scope = NVDP_SCOPE_MODEL,
             .help = "guesses about one example",
             .offset = offsetof(struct nvdp_example_risk, guess), .of = &guess_table,
             NVDP_RESULT_LENGTH(struct nvdp_example_risk, guesses)},
            {0}},
    .views = (const struct nvdp_result_view[]){
        {"terminal", .keys = (const struct nvdp_result_key[]){{.row = "membership"}, {0}}}, {0}}};
