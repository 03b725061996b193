/* Certificates: the theorems that hold for a mechanism, condition by condition, and their bounds
 * (docs/certified.md). The file has first the conditions, then the proofs, then the guess
 * bounds, which nvdp__certify() combines. The rest writes a certificate as text and JSON. */
#include "base/sentence.h"
#include "rdp/divergence.h"

#include "base/json.h"
#include "rdp/pairs.h"
#include "rdp/report.h"
#include "rdp/word.h"
#include <float.h>
#include <gsl/gsl_cdf.h>
#include <nvdp/certificate.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A clip compares norms in float, so the norm of a row may exceed the radius by this factor. */
static const double FLOAT_MARGIN = 1 + 0x1p-23;

/* Sets the ranges of the variances and pseudo-counts of a text's rows; the ranges include
 * padding if a sample may have padding. */
static void ranges(const struct nvdp_limits *limits, double variance[2], double alpha[2]) {
    const bool padded = limits->rows > 1;
    variance[0] = exp(padded ? fmin(limits->logvar_min, 0) : limits->logvar_min);
    variance[1] = exp(padded ? fmax(limits->logvar_max, 0) : limits->logvar_max);
    alpha[0] = padded ? fmin(limits->alpha_min, limits->pad_alpha) : limits->alpha_min;
    alpha[1] = padded ? fmax(limits->alpha_max, limits->pad_alpha) : limits->alpha_max;
}

/* Returns the largest norm that the mean of a row can have. */
static double row_radius(const struct nvdp_limits *limits) {
    return fmin(limits->clip_mu * FLOAT_MARGIN, limits->clip_sequence);
}

/* Returns C: the largest norm of the vector to which noise is added, in standard deviations of
 * the noise. Infinite if no clip bounds the norm. */
static double clip_radius(const struct nvdp_limits *limits) {
    const double rows = (double)limits->rows, kappa = limits->kappa;
    const double norm = fmin(limits->clip_mu * FLOAT_MARGIN * sqrt(rows), limits->clip_sequence);
    return norm * sqrt(kappa) / exp(limits->logvar_min / 2);
}

/* ---- conditions ---- */

struct checks {
    const struct nvdp_limits *limits;
    const struct nvdp__remedies *remedies;
    struct nvdp_claim *claim;
};

static __attribute__((format(printf, 5, 6))) void check(struct checks *to, bool holds,
                                                        const char *what, enum nvdp__need need,
                                                        const char *found, ...) {
    struct nvdp_condition *condition = &to->claim->condition[to->claim->conditions++];
    va_list args;
    *condition = (struct nvdp_condition){.holds = holds};
    nvdp__snprintf(condition->what, sizeof condition->what, "%s", what);
    if (!holds && to->remedies != NULL)
        to->remedies->need(need, condition->option, sizeof condition->option);
    va_start(args, found);
    nvdp__vsnprintf(condition->found, sizeof condition->found, found, args);
    va_end(args);
    to->claim->holds = to->claim->holds && holds;
}

static void check_sample(struct checks *to) {
    const struct nvdp_limits *limits = to->limits;
    const bool sealed = limits->noise && limits->sealed;
    check(to, sealed, "only a random sample of a text is read",
          limits->noise ? NVDP__NEED_SEALED : NVDP__NEED_NOISE, "method %s%s", limits->method,
          sealed          ? ", sealed"
          : limits->noise ? ", un-noised queries"
                          : ", without noise");
}

static void check_length(struct checks *to) {
    const struct nvdp_limits *limits = to->limits;
    /* a sum over words: a longer text has a longer mean */
    const bool words = limits->clip_word > 0;
    check(to, limits->rows > 0,
          words ? "one vector for every text" : "the length of a text is hidden",
          NVDP__NEED_HIDDEN_LENGTH,
          words && limits->rows > 0
              ? "%zu vector of %zu numbers per text; its size may tell the length"
          : limits->rows == 1 ? "%zu vector of %zu numbers per text"
          : limits->rows > 1  ? "%zu vectors of %zu numbers for every text, with padding"
                              : "one vector per token",
          limits->rows, limits->dim);
}

static void check_noise(struct checks *to) {
    const struct nvdp_limits *limits = to->limits;
    const double low = exp(limits->logvar_min / 2);
    /* the same as the variance of padding */
    const bool unit = limits->logvar_min == 0 && limits->logvar_max == 0;
    const bool same =
        limits->same_noise && isfinite(limits->logvar_min) && (limits->rows <= 1 || unit);
    check(to, same, "the same noise for every text", NVDP__NEED_SAME_NOISE,
          !same ? "variances depend on the text"
          : limits->logvar_min == limits->logvar_max
              ? "standard deviation %.4g everywhere"
              : "one standard deviation per dimension, at least %.4g",
          low);
}

static void check_radius(struct checks *to) {
    const double radius = clip_radius(to->limits);
    const bool holds = isfinite(radius);
    check(to, holds, "the norm of all means of a text together is bounded", NVDP__NEED_RADIUS,
          holds ? "at most %s, in standard deviations of the noise" : "no bound",
          nvdp__bound(radius).text);
}

static void check_weights(struct checks *to, bool shared) {
    const struct nvdp_limits *limits = to->limits;
    const bool bounded = limits->alpha_min > 0 && isfinite(limits->alpha_max);
    const char *what = shared ? "the weights are bounded" : "no weights depend on the text";
    if (!limits->weights)
        check(to, true, what, NVDP__NEED_NO_WEIGHTS, "no weights are shared");
    else
        check(to, shared && bounded, what,
              shared ? NVDP__NEED_WEIGHT_BOUNDS : NVDP__NEED_NO_WEIGHTS,
              bounded ? "Dirichlet weights, pseudo-counts %g to %g, padding %.4g"
                      : "Dirichlet weights, unbounded pseudo-counts",
              limits->alpha_min, limits->alpha_max, limits->pad_alpha);
}

static void check_rows(struct checks *to) {
    const struct nvdp_limits *limits = to->limits;
    const double radius = row_radius(limits);
    const bool spread = isfinite(limits->logvar_min) && isfinite(limits->logvar_max);
    check(to, isfinite(radius), "the norm of each vector's mean is bounded", NVDP__NEED_ROW_RADIUS,
          isfinite(radius) ? "at most %s" : "no bound", nvdp__bound(radius).text);
    check(to, spread, "the variances are bounded", NVDP__NEED_VARIANCE_BOUNDS,
          spread ? "log variances from %g to %g" : "no bound", limits->logvar_min,
          limits->logvar_max);
}

static void check_all(const struct nvdp_limits *limits, const struct nvdp__remedies *remedies,
                      struct nvdp_certificate *to) {
    for (int theorem = 0; theorem < NVDP_THEOREMS; theorem++) {
        struct checks checks = {limits, remedies, &to->claim[theorem]};
        checks.claim->holds = true;
        checks.claim->epsilon = INFINITY;
        check_sample(&checks);
        if (!limits->noise) continue;
        check_length(&checks);
        if (theorem != NVDP_THEOREM_CLIP_SET) check_noise(&checks);
        if (theorem != NVDP_THEOREM_CLIP_SET) check_radius(&checks);
        if (theorem == NVDP_THEOREM_CLIP_SET) check_rows(&checks);
        check_weights(&checks, theorem != NVDP_THEOREM_SEQUENCE);
    }
}

/* ---- bounds ---- */

/* The divergence that a theorem proves at an order for one sample: a part for the vectors and a
 * part for the weights. */
struct at_order {
    double order, vectors, weights, found;
};

static struct at_order divergence(const struct nvdp_limits *limits, enum nvdp_theorem theorem,
                                  double order) {
    double variance[2], alpha[2];
    struct at_order made = {.order = order};
    ranges(limits, variance, alpha);
    made.vectors = theorem == NVDP_THEOREM_CLIP_SET
                       ? (double)limits->rows * limits->kappa *
                             nvdp__worst_gaussian(order, limits->dim, row_radius(limits),
                                                  variance[0], variance[1])
                       : nvdp_renyi_sequence_bound(order, clip_radius(limits));
    if (limits->weights)
        made.weights = nvdp__worst_dirichlet(order, limits->rows, limits->prior_alpha, alpha[0],
                                             alpha[1], limits->kappa, &made.found);
    return made;
}

double nvdp__certified_divergence(const struct nvdp_limits *limits, enum nvdp_theorem theorem,
                                  double order) {
    const struct at_order made = divergence(limits, theorem, order);
    return made.vectors + made.weights;
}

/* Returns the divergence of all samples together, rounded up. */
static double all_samples(const struct at_order *at, int releases) {
    return releases * (at->vectors + at->weights) * (1 + 1e-14);
}

static double epsilon_at(const struct at_order *at, int releases, double delta) {
    return nvdp_renyi_epsilon(at->order, all_samples(at, releases), delta);
}

/* The same bound solved for delta: log delta = s (S D + log(s/l) - eps) - log l. */
static double delta_at(const struct at_order *at, int releases, double epsilon) {
    const double s = at->order - 1, all = all_samples(at, releases);
    const double step = log(s / at->order), last = log(at->order);
    const double size = s * (all + fabs(step) + fabs(epsilon)) + last;
    return exp(s * (all + step - epsilon) - last + 8 * DBL_EPSILON * (1 + size));
}

enum { ORDERS = 56 };

/* Fills in orders from 1 to the largest order with finite divergences. The orders are dense at
 * both ends: s/(1-s) grows in steps of equal ratio. */
static void all_orders(const struct nvdp_limits *limits, enum nvdp_theorem theorem,
                       struct at_order at[ORDERS]) {
    double variance[2], alpha[2], most = 1e4;
    ranges(limits, variance, alpha);
    if (theorem == NVDP_THEOREM_CLIP_SET && variance[0] < variance[1])
        most = fmin(most, nvdp__worst_order(variance[0], variance[1]) - 1);
    if (limits->weights && alpha[0] < alpha[1])
        most = fmin(most, nvdp__worst_order(alpha[0], alpha[1]) - 1);
    for (size_t k = 0; k < ORDERS; k++) {
        const double ratio = pow(10, -5 + 7.5 * (double)k / (ORDERS - 1));
        at[k] = divergence(limits, theorem, 1 + most * ratio / (1 + ratio));
    }
}

/* Returns the order with the smallest epsilon. Searches all orders, then between the neighbors
 * of the best order. Every order gives a valid bound. */
static struct at_order best_order(const struct nvdp_limits *limits, enum nvdp_theorem theorem,
                                  const struct at_order at[ORDERS], int releases, double delta) {
    enum { REFINED = 12 };
    size_t best = 0;
    for (size_t k = 1; k < ORDERS; k++)
        if (epsilon_at(&at[k], releases, delta) < epsilon_at(&at[best], releases, delta)) best = k;
    struct at_order made = at[best];
    double low = at[best > 0 ? best - 1 : 0].order,
           high = at[best + 1 < ORDERS ? best + 1 : best].order;
    for (int i = 0; i < REFINED; i++) {
        const struct at_order a = divergence(limits, theorem, low + (high - low) * 0.4),
                              b = divergence(limits, theorem, low + (high - low) * 0.6);
        const bool left = epsilon_at(&a, releases, delta) < epsilon_at(&b, releases, delta);
        const struct at_order better = left ? a : b;
        *(left ? &high : &low) = left ? b.order : a.order;
        if (epsilon_at(&better, releases, delta) < epsilon_at(&made, releases, delta))
            made = better;
    }
    return made;
}

/* Uses the bound of a theorem if its epsilon is smaller than the epsilon of the theorems before. */
static void prove(const struct nvdp_limits *limits, enum nvdp_theorem theorem,
                  const struct at_order at[ORDERS], struct nvdp_certificate *to) {
    struct at_order best = {.order = NAN, .vectors = NAN, .weights = NAN, .found = NAN};
    const bool exact = theorem == NVDP_THEOREM_SEQUENCE;
    const double radius = theorem != NVDP_THEOREM_CLIP_SET ? clip_radius(limits) : NAN;
    const double mu = exact ? 2 * radius * sqrt(to->releases) : NAN;
    const double up = mu * (1 + 8 * DBL_EPSILON); /* rounds mu up */
    if (!exact) best = best_order(limits, theorem, at, to->releases, to->delta);
    const double epsilon =
        exact ? nvdp_gdp_epsilon(up, to->delta) : epsilon_at(&best, to->releases, to->delta);
    to->claim[theorem].epsilon = isnan(epsilon) ? INFINITY : epsilon; /* NaN: no order is left */
    if (!(epsilon < to->epsilon)) return;
    to->theorem = theorem;
    to->epsilon = epsilon;
    to->mu = mu;
    to->radius = radius;
    to->order = best.order;
    to->vectors = best.vectors;
    to->weights = best.weights;
    to->weights_found = best.found;
    to->right = exact ? gsl_cdf_ugaussian_P(up / 2) : 1;
    for (size_t i = 0; i < to->points; i++) {
        const double here = to->curve[i].epsilon;
        double delta = exact ? nvdp_gdp_delta(up, here) : 1;
        for (size_t k = 0; k < ORDERS && !exact; k++)
            delta = fmin(delta, delta_at(&at[k], to->releases, here));
        /* rounds delta up by the error of its logarithm, and keeps delta positive */
        if (mu != 0) delta = fmin(fmax(delta * (1 + 1e-12), DBL_TRUE_MIN), 1);
        to->curve[i].delta = delta;
        /* half of 1 + total variation, which is at most (e^eps - 1 + 2 delta)/(e^eps + 1) */
        if (!exact && here >= 0)
            to->right = fmin(to->right, (1 + tanh(here / 2) + 2 * delta / (exp(here) + 1)) / 2);
    }
    if (!exact)
        to->right =
            fmin(to->right, (1 + tanh(epsilon / 2) + 2 * to->delta / (exp(epsilon) + 1)) / 2);
    to->right = fmin(to->right * (1 + 8 * DBL_EPSILON), 1);
}

/* ---- guesses, and the average information of a sample ---- */

/* Bounds the divergence of any text's samples from the center: means 0, variances and
 * pseudo-counts within the limits. The means are at most half as far apart as the means of two
 * texts. The divergence of the weights of two texts is an upper bound for the weights. */
static double center_divergence(const struct nvdp_limits *limits, enum nvdp_theorem theorem,
                                double order, int releases) {
    struct nvdp_limits half = *limits;
    half.clip_sequence /= 2;
    half.clip_mu /= 2;
    const struct at_order made = divergence(&half, theorem, order);
    return all_samples(&made, releases);
}

/* Sets the guess bounds from the theorem that proved epsilon; see nvdp_certify(). */
static void bound_guesses(const struct nvdp_limits *limits, const struct at_order at[][ORDERS],
                          struct nvdp_certificate *to) {
    const enum nvdp_theorem theorem = to->theorem;
    to->numbers = limits->rows * limits->dim;
    if (theorem == NVDP_THEOREM_NONE) {
        to->guesses = 0;
        return;
    }
    if (theorem == NVDP_THEOREM_SEQUENCE) {
        to->information = nvdp_guess_information(to->radius, to->releases, to->numbers);
        to->named_bound = nvdp__named_bound(to->radius, to->releases, to->numbers);
        for (size_t i = 0; i < to->guesses; i++)
            to->guess[i].bound =
                nvdp_guess_bound(to->guess[i].baseline, to->radius, to->releases, to->numbers);
        return;
    }
    for (size_t k = 0; k < ORDERS; k++) {
        const double order = at[theorem][k].order,
                     all = center_divergence(limits, theorem, order, to->releases);
        to->information = fmin(to->information, all); /* divergences grow with the order */
        if (isfinite(all))
            to->named_bound =
                fmin(to->named_bound,
                     nvdp_renyi_probability_bound(order, all, 1. / NVDP_USEFUL_CANDIDATES));
        for (size_t i = 0; i < to->guesses && isfinite(all); i++)
            to->guess[i].bound =
                fmin(to->guess[i].bound,
                     nvdp_renyi_probability_bound(order, all, to->guess[i].baseline));
    }
}

/* Proves the claim per word (word.h). The claim needs the conditions of theorem (a) and noise of
 * variance 1. */
static void prove_word(const struct nvdp_limits *limits, struct nvdp_certificate *to) {
    const struct nvdp__word_clip clip = {
        .word = limits->clip_word, .text = clip_radius(limits), .window = limits->word_window};
    struct nvdp_word_claim *word = &to->word;
    const bool unit = limits->logvar_min == 0 && limits->logvar_max == 0 && limits->kappa == 1;
    *word = (struct nvdp_word_claim){.clip = NAN,
                                     .window = NAN,
                                     .mu = NAN,
                                     .epsilon = NAN,
                                     .delta = NAN,
                                     .radius = NAN,
                                     .phrase_mu = NAN,
                                     .phrase_epsilon = NAN,
                                     .phrase_radius = NAN};
    if (!(clip.word > 0) || !unit || !to->claim[NVDP_THEOREM_SEQUENCE].holds) return;
    const double mu = nvdp__word_mu(&clip, 1, 1, to->releases);
    const double phrase_mu =
        nvdp__word_mu(&clip, NVDP_PHRASE_WORDS, NVDP_PHRASE_WORDS, to->releases);
    *word = (struct nvdp_word_claim){.holds = true,
                                     .clip = clip.word,
                                     .window = clip.window,
                                     .mu = mu,
                                     .delta = to->delta,
                                     .epsilon = nvdp_gdp_epsilon(mu, to->delta),
                                     .radius = nvdp__word_radius(&clip, 1),
                                     .phrase_mu = phrase_mu,
                                     .phrase_epsilon = nvdp_gdp_epsilon(phrase_mu, to->delta),
                                     .phrase_radius = nvdp__word_radius(&clip, NVDP_PHRASE_WORDS),
                                     .guesses = to->guesses};
    for (size_t i = 0; i < word->guesses; i++) {
        const double baseline = to->guess[i].baseline;
        const size_t numbers = limits->rows * limits->dim;
        word->guess[i] = (struct nvdp_bounded_guess){
            baseline, nvdp_guess_bound(baseline, word->radius, to->releases, numbers)};
        word->phrase_guess[i] = (struct nvdp_bounded_guess){
            baseline, nvdp_guess_bound(baseline, word->phrase_radius, to->releases, numbers)};
    }
}

static nvdp_status check_limits(struct nvdp_context *ctx, const struct nvdp_limits *limits) {
    const struct {
        const char *name;
        double value, least;
    } of[] = {
        {"clip_sequence", limits->clip_sequence, 0},
        {"clip_mu", limits->clip_mu, 0},
        {"clip_word", limits->clip_word, 0},
        {"word_window", limits->word_window, 0},
        {"logvar_max - logvar_min", limits->logvar_max - limits->logvar_min, 0},
        {"kappa", limits->kappa, 1},
        {"dim", (double)limits->dim, 1},
        {"alpha_max - alpha_min", limits->weights ? limits->alpha_max - limits->alpha_min : 0, 0}};
    if (memchr(limits->method, '\0', sizeof limits->method) == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "limits: method: expected a name of at most %zu characters",
                          sizeof limits->method - 1);
    for (size_t i = 0; limits->noise && i < sizeof of / sizeof *of; i++)
        if (!(of[i].value >= of[i].least))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "limits: %s: expected at least %g, found %g",
                              of[i].name, of[i].least, of[i].value);
    if (limits->noise && limits->weights && !(limits->prior_alpha > 0 && limits->pad_alpha > 0))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "limits: expected prior and padding pseudo-counts above 0, found %g and %g",
            limits->prior_alpha, limits->pad_alpha);
    return NVDP_OK;
}

nvdp_status nvdp__certify_each(struct nvdp_context *ctx, const struct nvdp_limits *limits,
                               const struct nvdp__privacy_options *given,
                               const struct nvdp__remedies *remedies, size_t count,
                               const int *releases, struct nvdp_certificate *out) {
    struct nvdp__privacy_options options = *given;
    struct nvdp_limits of = {0};
    nvdp__autofree const char **text = NULL;
    struct at_order at[NVDP_THEOREMS][ORDERS] = {{{0}}};
    memcpy(&of, limits, nvdp__min(limits->struct_size, sizeof of));
    /* a certificate estimates nothing, so no probability is spent on estimates */
    options.bdp.gamma = 1e-300;
    NVDP_TRY(nvdp__schema_check(ctx, &nvdp__privacy_schema, &options));
    NVDP_TRY(check_limits(ctx, &of));
    struct nvdp_certificate made = {.struct_size = sizeof made,
                                    .kind = &nvdp__certificate_kind,
                                    .theorem = NVDP_THEOREM_NONE,
                                    .delta = options.bdp.delta,
                                    .epsilon = INFINITY,
                                    .mu = NAN,
                                    .radius = NAN,
                                    .right = 1,
                                    .order = NAN,
                                    .vectors = NAN,
                                    .weights = NAN,
                                    .weights_found = NAN,
                                    .information = INFINITY,
                                    .named_bound = 1};
    NVDP_TRY(nvdp__list_split(ctx, options.exact.epsilons, &text, &made.points));
    for (size_t i = 0; i < made.points; i++) {
        made.curve[i].epsilon = nvdp__strtod(text[i], NULL);
        made.curve[i].delta = 1; /* 1 unless a theorem proves less */
    }
    NVDP_TRY(nvdp__guess_baselines(ctx, &options, &made.guesses, made.guess));
    check_all(&of, remedies, &made);
    for (int theorem = 0; theorem < NVDP_THEOREMS; theorem++)
        if (made.claim[theorem].holds && theorem != NVDP_THEOREM_SEQUENCE)
            all_orders(&of, (enum nvdp_theorem)theorem, at[theorem]);
    for (size_t i = 0; i < count; i++) {
        struct nvdp_certificate *to = &out[i];
        *to = made;
        to->releases = releases[i];
        for (int theorem = 0; theorem < NVDP_THEOREMS; theorem++)
            if (to->claim[theorem].holds) prove(&of, (enum nvdp_theorem)theorem, at[theorem], to);
        if (i > 0) to->guesses = 0;
        if (i == 0) bound_guesses(&of, at, to);
        prove_word(&of, to);
    }
    return NVDP_OK;
}

nvdp_status nvdp__certify(struct nvdp_context *ctx, const struct nvdp_limits *limits,
                          const struct nvdp__privacy_options *options,
                          const struct nvdp__remedies *remedies, struct nvdp_certificate *out) {
    struct nvdp_certificate made;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__certify_each(ctx, limits, options, remedies, 1, &options->bdp.releases, &made));
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}

/* ---- as text ---- */

static const char *const letters[] = {"a", "b", "c", "none"};

const char *nvdp__theorem_letter(enum nvdp_theorem theorem) {
    return letters[theorem];
}

static const char *const names[] = {"sequence clip and the same noise for every text",
                                    "sequence clip and bounded weights", "bounds on each vector"};

/* Copies the certificate of a caller whose struct may be an older, shorter one. */
static struct nvdp_certificate whole(const struct nvdp_certificate *certificate) {
    struct nvdp_certificate made = {0};
    memcpy(&made, certificate, nvdp__min(certificate->struct_size, sizeof made));
    if (!(made.named_bound > 0)) /* true for the struct of an older library */
        made.named_bound = nvdp__older_named_bound(made.theorem, made.radius, made.releases,
                                                   made.numbers, made.epsilon, made.delta);
    return made;
}

/* Finds the theorem with the fewest failing conditions; returns the first of these conditions. */
static const struct nvdp_condition *missing(const struct nvdp_certificate *from) {
    const struct nvdp_condition *first = NULL;
    size_t fewest = NVDP_CONDITIONS + 1;
    for (int theorem = 0; theorem < NVDP_THEOREMS; theorem++) {
        const struct nvdp_claim *claim = &from->claim[theorem];
        const struct nvdp_condition *failing = NULL;
        size_t fail = 0;
        for (size_t k = claim->conditions; k-- > 0;) {
            if (claim->condition[k].holds) continue;
            failing = &claim->condition[k];
            fail++;
        }
        if (fail > 0 && fail < fewest) {
            first = failing;
            fewest = fail;
        }
    }
    return first;
}

double nvdp__named_bound(double clip, int releases, size_t dim) {
    return nvdp_guess_bound(1. / NVDP_USEFUL_CANDIDATES, clip, releases, dim);
}

double nvdp__older_named_bound(enum nvdp_theorem theorem, double clip, int releases, size_t dim,
                               double epsilon, double delta) {
    return theorem == NVDP_THEOREM_SEQUENCE
               ? nvdp__named_bound(clip, releases, dim)
               : nvdp__guess_from_curve(1. / NVDP_USEFUL_CANDIDATES, 1, &epsilon, &delta);
}

bool nvdp__is_useful(double epsilon, double named_bound) {
    return epsilon <= NVDP_USEFUL_EPSILON && named_bound <= NVDP_USEFUL_NAMED;
}

struct nvdp__claim_text nvdp__proven_text(double epsilon, double delta, double named_bound,
                                          const char *samples) {
    struct nvdp__claim_text made;
    struct nvdp__writer to = {made.text, sizeof made.text, 0};
    const bool useful = nvdp__is_useful(epsilon, named_bound);
    nvdp__append(&to,
                 useful ? "Proven: epsilon %s at delta %s, %s, any two texts."
                        : "No useful guarantee: epsilon %s at delta %s, %s, is proven for any two "
                          "texts",
                 nvdp__bound(epsilon).text, nvdp__bound(delta).text, samples);
    if (!useful && named_bound > NVDP_USEFUL_NAMED)
        nvdp__append(&to,
                     "; somebody who has the model and %d equally likely texts may name the right "
                     "one more than half of the time (at most %s)",
                     NVDP_USEFUL_CANDIDATES, nvdp__share_bound(named_bound).text);
    if (!useful) nvdp__append(&to, ".");
    return made;
}

/* Returns true if a guarantee of this mu is useful: samples are within mu/2 of their reference
 * (rdp/word.h). */
static bool is_useful_mu(double epsilon, double mu) {
    return nvdp__is_useful(epsilon, nvdp__named_bound(mu / 2, 1, 0));
}

bool nvdp__word_is_useful(const struct nvdp_word_claim *word) {
    return word->holds && is_useful_mu(word->epsilon, word->mu);
}

struct nvdp__claim_text nvdp__word_text(const struct nvdp_word_claim *word, size_t releases) {
    struct nvdp__claim_text made;
    nvdp__snprintf(made.text, sizeof made.text,
                   nvdp__word_is_useful(word)
                       ? "Proven per word: epsilon %s at delta %s, %s, any word in place of any "
                         "other, all other words known."
                       : "No useful guarantee per word: the proven epsilon is %s at delta %s, %s.",
                   nvdp__bound(word->epsilon).text, nvdp__bound(word->delta).text,
                   nvdp__samples_text(releases).text);
    return made;
}

/* Writes what is proven for several adjacent words, if that guarantee is useful. */
static void write_phrase(const struct nvdp_word_claim *word, FILE *to) {
    fputs(" Punctuation marks and Chinese characters are words of their own. A name, number or "
          "address of k words, such as a phone number or an e-mail address, in place of one of at "
          "most k words has up to k times the mu: for ",
          to);
    if (is_useful_mu(word->phrase_epsilon, word->phrase_mu)) {
        nvdp__fprintf(to, "%d adjacent words epsilon is %s", NVDP_PHRASE_WORDS,
                      nvdp__bound(word->phrase_epsilon).text);
        if (word->guesses > 0)
            nvdp__fprintf(to, ", and those guesses are right at most %s of the time",
                          nvdp__bounds_text(word->guesses, word->phrase_guess).text);
    } else {
        nvdp__fprintf(to, "%d adjacent words nothing useful is proven", NVDP_PHRASE_WORDS);
    }
    fputc('.', to);
}

void nvdp__write_word(const struct nvdp_word_claim *word, size_t releases, bool recognized,
                      FILE *to) {
    if (word->guesses == 0) {
        nvdp__fprintf(
            to,
            "Proven for each single occurrence of a word: epsilon %s at delta %s, %s, any "
            "word in place of any other.",
            nvdp__bound(word->epsilon).text, nvdp__bound(word->delta).text,
            nvdp__samples_text(releases).text);
    } else {
        nvdp__fprintf(to,
                      "Proven for each single occurrence of a word, for %s: whoever knows all "
                      "other words of the text and guesses the missing one right %s of the time "
                      "without the sample is right at most %s of the time with it, on average over "
                      "texts and noise (epsilon %s per word at delta %s).",
                      nvdp__samples_text(releases).text,
                      nvdp__baselines_text(word->guesses, word->guess).text,
                      nvdp__bounds_text(word->guesses, word->guess).text,
                      nvdp__bound(word->epsilon).text, nvdp__bound(word->delta).text);
        fputs(nvdp__guess_limits, to);
    }
    fputs(recognized ? " The text as a whole may be recognized, and its length guessed from the "
                       "size of a sample."
                     : " The size of a sample depends on the length of its text.",
          to);
    fputs(" A word that is repeated is protected once per occurrence.", to);
    write_phrase(word, to);
}

static void print_statement(const void *certificate, FILE *to) {
    const struct nvdp_certificate made = whole(certificate), *from = &made;
    const struct nvdp_condition *lacks = missing(from);
    if (from->theorem == NVDP_THEOREM_NONE) {
        nvdp__fprintf(to,
                      "Nothing is proven over all texts, because this condition does not hold: %s "
                      "(found: %s).",
                      lacks->what, lacks->found);
        if (lacks->option[0] != '\0')
            nvdp__fprintf(to, " Training with %s would satisfy it.", lacks->option);
        return;
    }
    const bool useful = nvdp__is_useful(from->epsilon, from->named_bound);
    if (nvdp__word_is_useful(&from->word)) {
        nvdp__write_word(&from->word, (size_t)from->releases, !useful, to);
        fputc('\n', to);
    } else if (from->word.holds)
        nvdp__fprintf(to, "%s\n", nvdp__word_text(&from->word, (size_t)from->releases).text);
    nvdp__fprintf(to, "%s\n",
                  nvdp__proven_text(from->epsilon, from->delta, from->named_bound,
                                    nvdp__samples_text(from->releases).text)
                      .text);
    if (useful && from->guesses > 0) {
        nvdp__write_guesses((size_t)from->releases, from->radius, from->guesses, from->guess, to);
        fputc('\n', to);
    }
    nvdp__fprintf(to, "On average %s at most %s bits about the text.\n",
                  from->releases == 1 ? "a sample carries" : "all samples together carry",
                  nvdp__bound(from->information / M_LN2).text);
    if (from->theorem == NVDP_THEOREM_SEQUENCE)
        nvdp__fprintf(
            to,
            "The mechanism is Gaussian: the means of a text, in standard deviations of the "
            "noise, have norm C = %s at most. Its privacy loss curve is that of mu-GDP with "
            "mu = %s.\n",
            nvdp__bound(from->radius).text, nvdp__bound(from->mu).text);
    else
        nvdp__fprintf(
            to,
            "The proof uses Renyi divergences: at order %.4g no two texts are more than %s "
            "nats apart by the vectors of a sample and %s by its weights.\n",
            from->order, nvdp__bound(from->vectors).text, nvdp__bound(from->weights).text);
    fputs(
        "The proof assumes exact arithmetic, which our noise sampler provides. The attacker may "
        "know the model.\nNot covered: the texts that the encoder was trained on, labels, and the "
        "number and order of texts.",
        to);
}

nvdp_status nvdp__certificate_statement(struct nvdp_context *ctx,
                                        const struct nvdp_certificate *certificate, char **out) {
    return nvdp__printed(ctx, print_statement, certificate, out);
}

#define number nvdp__json_number

static json_t *pack_claim(int theorem, const struct nvdp_claim *from) {
    json_t *conditions = json_array();
    for (size_t k = 0; k < from->conditions; k++) {
        const struct nvdp_condition *condition = &from->condition[k];
        json_array_append_new(conditions,
                              json_pack("{s:s, s:b, s:s, s:s*}", "condition", condition->what,
                                        "holds", condition->holds, "found", condition->found,
                                        "option", condition->holds ? NULL : condition->option));
    }
    return json_pack("{s:s, s:s, s:b, s:o, s:o}", "theorem", letters[theorem], "name",
                     names[theorem], "holds", from->holds, "epsilon",
                     from->holds ? number(from->epsilon) : json_null(), "conditions", conditions);
}

/* Returns the claim per word as JSON; NULL if there is no claim. */
static json_t *pack_word(const struct nvdp_word_claim *from) {
    if (!from->holds) return NULL;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:i, s:o, s:o, s:o, s:o}}", "clip",
                     number(from->clip), "window", number(from->window), "mu", number(from->mu),
                     "epsilon", number(from->epsilon), "delta", number(from->delta), "radius",
                     number(from->radius), "guess", nvdp__guesses_json(from->guesses, from->guess),
                     "phrase", "words", NVDP_PHRASE_WORDS, "mu", number(from->phrase_mu), "epsilon",
                     number(from->phrase_epsilon), "radius", number(from->phrase_radius), "guess",
                     nvdp__guesses_json(from->guesses, from->phrase_guess));
}

json_t *nvdp__certificate_summary(const struct nvdp_certificate *from) {
    if (!isfinite(from->epsilon)) return json_null();
    return json_pack("{s:s, s:o, s:o, s:i, s:o, s:o, s:I, s:o, s:o, s:o, s:o*}", "theorem",
                     letters[from->theorem], "epsilon", number(from->epsilon), "delta",
                     number(from->delta), "releases", from->releases, "right", number(from->right),
                     "clip", isnan(from->radius) ? json_null() : number(from->radius), "numbers",
                     (json_int_t)from->numbers, "guess",
                     nvdp__guesses_json(from->guesses, from->guess), "named_bound",
                     number(from->named_bound), "information_bits",
                     number(from->information / M_LN2), "word", pack_word(&from->word));
}

json_t *nvdp__certificate_pack(const void *certificate) {
    const struct nvdp_certificate made = whole(certificate), *from = &made;
    nvdp__autofree char *statement = NULL;
    if (nvdp__certificate_statement(NULL, certificate, &statement) != NVDP_OK) return NULL;
    json_t *curve = json_array(), *claims = json_array();
    const bool proven = from->theorem != NVDP_THEOREM_NONE;
    for (size_t i = 0; i < from->points && proven; i++)
        json_array_append_new(curve,
                              json_pack("{s:o, s:o}", "epsilon", number(from->curve[i].epsilon),
                                        "delta", number(from->curve[i].delta)));
    for (int theorem = 0; theorem < NVDP_THEOREMS; theorem++)
        json_array_append_new(claims, pack_claim(theorem, &from->claim[theorem]));
    return json_pack(
        "{s:s, s:s, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, "
        "s:o, s:o, s:o, s:s, s:o*}",
        "scope", "proven of any two texts, seen or not", "theorem", letters[from->theorem],
        "epsilon", number(from->epsilon), "delta", number(from->delta), "releases", from->releases,
        "mu", number(from->mu), "radius", number(from->radius), "right", number(from->right),
        "order", number(from->order), "vectors", number(from->vectors), "weights",
        number(from->weights), "weights_found", number(from->weights_found), "numbers",
        (json_int_t)from->numbers, "guess", nvdp__guesses_json(from->guesses, from->guess),
        "named_bound", number(from->named_bound), "information_bits",
        number(from->information / M_LN2), "curve", curve, "theorems", claims, "statement",
        statement, "word", pack_word(&from->word));
}

static void print(const void *certificate, FILE *to) {
    const struct nvdp_certificate from = whole(certificate);
    print_statement(certificate, to);
    fputs("\n\n", to);
    for (int theorem = 0; theorem < NVDP_THEOREMS; theorem++) {
        const struct nvdp_claim *claim = &from.claim[theorem];
        nvdp__fprintf(to, "(%s) %s: ", letters[theorem], names[theorem]);
        if (claim->holds)
            nvdp__fprintf(to, "holds, epsilon %s at delta %s\n", nvdp__bound(claim->epsilon).text,
                          nvdp__bound(from.delta).text);
        else
            fputs("does not hold\n", to);
        for (size_t k = 0; k < claim->conditions; k++) {
            const struct nvdp_condition *condition = &claim->condition[k];
            nvdp__fprintf(to, "  %-3s %s: %s", condition->holds ? "yes" : "NO", condition->what,
                          condition->found);
            if (condition->option[0] != '\0')
                nvdp__fprintf(to, "; this condition needs %s", condition->option);
            fputc('\n', to);
        }
    }
    if (from.theorem != NVDP_THEOREM_NONE) {
        nvdp__fprintf(to, "\nBy theorem (%s), %d sample%s of a text:\n  %12s %12s\n",
                      letters[from.theorem], from.releases, from.releases == 1 ? "" : "s",
                      "epsilon", "delta");
        for (size_t i = 0; i < from.points; i++)
            nvdp__fprintf(to, "  %12g %12s\n", from.curve[i].epsilon,
                          nvdp__bound(from.curve[i].delta).text);
    }
}

const struct nvdp_result_kind nvdp__certificate_kind = {
    .name = "certificate", .pack = nvdp__certificate_pack, .print = print};
