/* Distinguishes two texts by the likelihood ratio of their samples, and compares the epsilon that this shows with
 * the exact one and the certified one. */
#include "attack/pair.h"
#include "attack/audit.h"
#include "attack/options.h"
#include "base/own.h"
#include "base/random.h"
#include "rdp/likelihood.h"
#include "rdp/pairs.h"
#include "share/sampler.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 64 };
/* The relative rounding error of an epsilon: from the bisection of the exact one, and from means clipped in float32. */
static const double SLACK = 1e-6;

struct attack {
    struct nvdp_context *ctx;
    const struct nvdp_posteriors *set;
    size_t text[2]; /* P and Q in the set */
    const struct nvdp__attack_options *options;
    struct nvdp__likelihood likelihood;
    struct nvdp__evidence evidence[BLOCK];
    double *loss[2]; /* [samples] log P/Q of samples of P, and of samples of Q */
    double confidence;
};

/* --- the choice of pairs --- */

static nvdp_status read_pair(struct attack *a, struct nvdp_pair_attack *pair) {
    char more;
    const size_t texts = a->set->texts;
    const bool two = sscanf(a->options->pair, "%zu,%zu%c", &pair->p, &pair->q, &more) == 2;
    if (!two || pair->p >= texts || pair->q >= texts || pair->p == pair->q)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "{pair}: expected two text numbers below %zu in the form I,J, found '%s'",
                          texts, a->options->pair);
    if (a->set->policy == NVDP_LENGTH_HIDDEN ||
        nvdp__rows(a->set, pair->p) == nvdp__rows(a->set, pair->q))
        return NVDP_OK;
    return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                      "pair %s: expected two texts of the same length, because lengths are public, "
                      "found lengths %zu and %zu",
                      a->options->pair, nvdp__rows(a->set, pair->p), nvdp__rows(a->set, pair->q));
}

/* Draws uniformly among pairs of equal length (any pair if lengths are hidden); with `words`, also a word of P and
 * another one of Q, the number *source of its words, to replace it. Fails after many tries without success. */
static nvdp_status draw_pair(struct attack *a, size_t number, const struct nvdp__pair_words *words,
                             struct nvdp_pair_attack *pair, size_t *source) {
    enum { TRIES = 100000 };
    const struct nvdp__noise noise = {.seed = a->options->seed};
    struct nvdp__stream stream =
        nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, NVDP__EPOCH_ATTACK, number);
    for (int i = 0; i < TRIES; i++) {
        pair->p = nvdp__stream_below(&stream, a->set->texts);
        pair->q = nvdp__stream_below(&stream, a->set->texts);
        if (pair->p == pair->q || (a->set->policy != NVDP_LENGTH_HIDDEN &&
                                   nvdp__rows(a->set, pair->p) != nvdp__rows(a->set, pair->q)))
            continue;
        if (words == NULL || nvdp__pair_draw_word(&stream, words->data, pair, source))
            return NVDP_OK;
    }
    return nvdp__fail(a->ctx, NVDP_ERR_INPUT, "pairs: no two of the %zu texts have %s",
                      a->set->texts, words == NULL ? "the same length" : "different words");
}

/* --- one pair --- */

static nvdp_status draw_losses(struct attack *a, int side) {
    const struct nvdp__sampler release = {.posteriors = a->set, .noise.seed = a->options->seed};
    const struct nvdp__sample_source source = {nvdp__linkage_draw, &release, -INFINITY};
    const size_t n = a->options->samples;
    const size_t each = (size_t)a->options->releases;
    struct nvdp__trial trial[BLOCK];
    double density[BLOCK][2];
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t some = nvdp__min(BLOCK, n - first);
        NVDP_TRY(nvdp__check_cancelled(a->ctx, "pairs: cancelled"));
        for (size_t i = 0; i < some; i++)
            trial[i] = (struct nvdp__trial){a->text[side], (first + i) * each};
        NVDP_TRY(nvdp__linkage_collect(a->ctx, a->set, &source, some, trial, a->options->releases,
                                       a->evidence));
        nvdp__likelihoods(&a->likelihood, nvdp_context_threads(a->ctx), some, a->evidence, 2,
                          a->text, density[0]);
        for (size_t i = 0; i < some; i++)
            a->loss[side][first + i] = density[i][0] - density[i][1];
    }
    return NVDP_OK;
}

/* Computes the larger exact epsilon of both directions, and the max. accuracy of any test. */
static nvdp_status integrate(struct attack *a, struct nvdp_pair_attack *pair) {
    nvdp__autoptr(nvdp_exact_free) struct nvdp_exact *exact = NULL;
    double epsilon = 0, even = 0;
    bool is_bound = false;
    for (int way = 0; way < 2; way++) {
        nvdp_exact_free(exact);
        exact = NULL;
        NVDP_TRY(nvdp_exact_texts(a->ctx, a->set, a->text[way], a->text[1 - way],
                                  a->options->releases, &exact));
        NVDP_TRY(nvdp__exact_epsilon(exact, a->options->delta, &epsilon, &is_bound));
        pair->exact = fmax(pair->exact, epsilon);
        pair->bounded = pair->bounded || is_bound;
    }
    NVDP_TRY(nvdp__exact_delta(exact, 0, &even, &is_bound));
    pair->bounded = pair->bounded || is_bound;
    pair->right_max = (1 + even) / 2;
    return NVDP_OK;
}

static nvdp_status distinguish(struct attack *a, struct nvdp_pair_attack *pair) {
    struct nvdp_sample_audit audit;
    const size_t n = a->options->samples, count[2] = {n, n};
    const size_t rows = nvdp__linkage_rows(a->set, 2, a->text);
    for (size_t i = 0; i < BLOCK; i++) {
        nvdp__evidence_release(&a->evidence[i]);
        NVDP_TRY(nvdp__evidence_create(a->ctx, a->set, rows, &a->evidence[i]));
    }
    for (int side = 0; side < 2; side++)
        NVDP_TRY(draw_losses(a, side));
    for (size_t i = 0; i < n; i++)
        pair->right += (a->loss[0][i] > 0) + (a->loss[1][i] < 0) +
                       ((a->loss[0][i] == 0) + (a->loss[1][i] == 0)) / 2.;
    const double right = pair->right; /* ties count half */
    pair->right /= 2 * (double)n;
    /* The probabilities of being right differ between the two texts' samples.  The interval is no wider than for
     * equal ones (Hoeffding 1956). */
    pair->right_interval.low = nvdp__interval_share(a->confidence, 2 * n, (size_t)floor(right)).low;
    pair->right_interval.high =
        nvdp__interval_share(a->confidence, 2 * n, (size_t)ceil(right)).high;
    pair->states =
        nvdp__posterior_key(a->set, a->text[0]) == nvdp__posterior_key(a->set, a->text[1]) ? .5 : 1;
    NVDP_TRY(nvdp__audit_scores(a->ctx, count, a->loss, a->options->delta, a->confidence, &audit));
    pair->shown = audit.epsilon;
    pair->ceiling = audit.ceiling;
    pair->favors_q = audit.favors_q;
    memcpy(pair->held, audit.held, sizeof pair->held);
    memcpy(pair->hits, audit.hits, sizeof pair->hits);
    return integrate(a, pair);
}

/* --- all pairs --- */

void nvdp_pair_attacks_free(struct nvdp_pair_attacks *attacks) {
    free(attacks->pair);
    *attacks = (struct nvdp_pair_attacks){0};
}

/* Sets what is proven for the pair: for any two texts, and for the words in which these two differ. */
static void set_proven(const struct attack *a, const struct nvdp__pair_words *words,
                       const struct nvdp_pair_attacks *all, struct nvdp_pair_attack *pair) {
    pair->proven = all->certified;
    pair->proven_right = all->guess;
    if (words == NULL) return;
    if (pair->word == 0) nvdp__pair_change(words->data, pair->p, pair->q, pair->changed);
    const double mu = nvdp__pair_mu(&words->clip, pair->changed, a->options->releases);
    pair->proven = nvdp_gdp_epsilon(mu, a->options->delta); /* also where `certified` is a claim */
    pair->proven_right = fmin(all->guess, nvdp_guess_bound(.5, mu / 2, 1, 0));
}

/* Compares what the attack found with what is proven or claimed. An upper bound may exceed the proven bound. */
static bool holds(const struct nvdp_pair_attack *pair, double certified) {
    const double limit = fmin(pair->proven, certified);
    const bool proven = pair->bounded || (pair->exact <= limit * (1 + SLACK) + SLACK &&
                                          !(pair->right_max > pair->proven_right * (1 + SLACK)));
    return pair->shown <= fmin(pair->exact, limit + SLACK) * (1 + SLACK) &&
           pair->right_interval.low <= pair->right_max * (1 + SLACK) &&
           !(pair->right_interval.low > pair->proven_right * (1 + SLACK)) && proven;
}

nvdp_status nvdp_attack_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                              double certified, const struct nvdp_config *config,
                              struct nvdp_pair_attacks *out) {
    return nvdp__attack_pairs(ctx, posteriors, NULL, certified, config, out);
}

/* Checks the arguments, and fills in what is known before the attack. `whole`: number of pairs of whole texts; the
 * others differ in words. */
static nvdp_status plan(struct attack *a, const struct nvdp__pair_words *words, size_t *whole,
                        struct nvdp_pair_attacks *out) {
    const struct nvdp__attack_options *options = a->options;
    if (!(out->certified >= 0))
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "certified: expected an epsilon >= 0 or inf, found %g", out->certified);
    NVDP_TRY(nvdp_posteriors_check(a->ctx, a->set, ""));
    if (a->set->texts < 2)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT, "pairs: expected at least 2 texts, found %zu",
                          a->set->texts);
    out->delta = options->delta;
    out->confidence = options->confidence;
    out->releases = options->releases;
    out->samples = options->samples;
    *whole = options->pair != NULL ? 1 : options->pairs;
    out->pairs = words != NULL && options->pair == NULL ? 2 * *whole : *whole;
    out->holds = out->weak = true;
    a->confidence =
        1 - (1 - options->confidence) /
                (2 * (double)out->pairs); /* Bonferroni over pairs, and over epsilon and accuracy */
    out->guess = nvdp__guess_limit(a->set, .5, options->releases);
    const double mu =
        words != NULL ? nvdp__pair_mu(&words->clip, (size_t[2]){1, 1}, options->releases) : NAN;
    out->word_epsilon = words != NULL ? nvdp_gdp_epsilon(mu, options->delta) : NAN;
    out->word_guess = words != NULL ? nvdp_guess_bound(.5, mu / 2, 1, 0) : NAN;
    return NVDP_OK;
}

nvdp_status nvdp__attack_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               const struct nvdp__pair_words *words, double certified,
                               const struct nvdp_config *config, struct nvdp_pair_attacks *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__attack_options options;
    struct attack a = {.ctx = ctx, .set = posteriors, .options = &options};
    struct nvdp_pair_attacks made = {.struct_size = sizeof made, .certified = certified};
    struct nvdp_posteriors *replaced = NULL;
    size_t *source = NULL, whole = 0;
    struct nvdp__meter meter;
    NVDP_TRY_OR_CLEAN(nvdp__can_give(ctx, out));
    nvdp__schema_default(&nvdp__attack_schema, &options);
    if (config != NULL)
        NVDP_TRY_OR_CLEAN(nvdp__config_open(ctx, config, &nvdp__attack_schema, &options));
    if (options.delta == 0) options.delta = NVDP_PAIR_DELTA;
    NVDP_TRY_OR_CLEAN(plan(&a, words, &whole, &made));
    NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, made.pair, made.pairs));
    NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, source, made.pairs));
    for (int side = 0; side < 2; side++)
        NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, a.loss[side], options.samples));
    for (size_t i = 0; i < made.pairs; i++)
        NVDP_TRY_OR_CLEAN(options.pair != NULL ? read_pair(&a, made.pair)
                                               : draw_pair(&a, i, i < whole ? NULL : words,
                                                           &made.pair[i], &source[i]));
    if (made.pairs > whole)
        NVDP_TRY_OR_CLEAN(nvdp__pair_replace(ctx, words, made.pairs - whole, made.pair + whole,
                                             source + whole, &replaced));
    nvdp__meter_begin(&meter, ctx, "pairs", "pair", 0, made.pairs);
    for (size_t i = 0; i < made.pairs; i++) {
        struct nvdp_pair_attack *pair = &made.pair[i];
        if (i == 0 || i == whole) {
            a.set = i == 0 ? posteriors : replaced;
            nvdp__likelihood_release(&a.likelihood);
            NVDP_TRY_OR_CLEAN(nvdp__likelihood_create(ctx, a.set, &a.likelihood));
        }
        a.text[0] = i < whole ? pair->p : 2 * (i - whole);
        a.text[1] = i < whole ? pair->q : a.text[0] + 1;
        set_proven(&a, words, &made, pair);
        NVDP_TRY_OR_CLEAN(distinguish(&a, pair));
        pair->holds = holds(pair, certified);
        made.weak = made.weak && pair->states <= .5;
        made.holds = made.holds && pair->holds;
        nvdp__meter_update(&meter, i + 1, (double)((i + 1) * options.samples), "sample", NAN);
    }
    nvdp__meter_end(&meter);
    NVDP__GIVE(out, &made);
    made.pair = NULL;
cleanup:
    for (size_t i = 0; i < BLOCK; i++)
        nvdp__evidence_release(&a.evidence[i]);
    nvdp__likelihood_release(&a.likelihood);
    nvdp_pair_attacks_free(&made);
    nvdp_posteriors_free(replaced);
    free(source);
    free(a.loss[0]);
    free(a.loss[1]);
    return status;
}
