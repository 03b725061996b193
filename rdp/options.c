/* The options of the privacy measures, one row per option, and the checks that ranges cannot
 * express. */
#include "rdp/options.h"
#include <math.h>
#include <stdlib.h>

#define AT(member) NVDP_OPTION_AT(struct nvdp__privacy_options, member)

static const char *const adjacencies[] = {
    [NVDP_ADJACENT_ALL] = "all", [NVDP_ADJACENT_SAME_LENGTH] = "same-length", NULL};
static const char *const arithmetics[] = {
    [NVDP_PAIRS_FAST] = "fast", [NVDP_PAIRS_EXACT] = "exact", NULL};

/* Open intervals are checked below, because a message must state that the end is excluded. */
static const struct nvdp_option options[] = {
    {"adjacency", NVDP_OPTION_CHOICE, "A",
     "which pairs of texts count: all, or only texts with the same length (same-length)", "all",
     AT(pairs.adjacency), .choices = adjacencies, .group = "What is measured:"},
    {"max-pairs", NVDP_OPTION_INTEGER, "N",
     "with more than N ordered pairs, draw N of them to estimate mean and quantiles, with "
     "intervals; the maximum stays exact; 0: measure every pair",
     "0", AT(pairs.max_pairs), .unit = "pairs", .traits = NVDP_TRAIT_BASIC},
    NVDP__SEED_ROW(AT(pairs.seed)),

    NVDP__ORDER_ROW(AT(pairs.order), .group = "Measures:"),
    {"arithmetic", NVDP_OPTION_CHOICE, "A",
     "accuracy of each divergence: 1e-6, and 1e-12 for maxima (fast), or 1e-12 for all (exact)",
     "fast", AT(pairs.arithmetic), .choices = arithmetics},
    NVDP__BDP_DELTA_ROW(AT(bdp.delta)),
    {"gamma", NVDP_OPTION_REAL, "X", "failure probability of the estimate", "1e-06", AT(bdp.gamma)},
    {"releases", NVDP_OPTION_INTEGER, "N", "number of samples of the same text that are given away",
     "1", AT(bdp.releases), .unit = "samples", .traits = NVDP_TRAIT_BASIC},
    {"published-moment", NVDP_OPTION_REAL, "K", "moment of the published column; its order is K+1",
     "1.1", AT(bdp.published_moment), .traits = NVDP_TRAIT_HIDDEN},
    {"moments", NVDP_OPTION_LIST, "K",
     "moments, each in (0, 1e6], of which the report takes the best one for each text",
     "0.05,0.1,0.25,0.5,1,1.1,1.5,2,3,4,6,8,12,16,24,32,48,64", AT(moments),
     .traits = NVDP_TRAIT_HIDDEN},
    {"baseline", NVDP_OPTION_LIST, "B",
     "probability that a guess about a text is right without a sample, each in (0, 1), at most 8 "
     "of them; the report shows the upper bound with a sample",
     "0.5,0.001,1e-06", AT(baselines)},

    {"exact", NVDP_OPTION_FLAG, NULL,
     "also compute the exact privacy loss: epsilon at --delta for the worst pair and on average, "
     "with curves",
     NULL, AT(exact.wanted), .group = "Exact loss:", .traits = NVDP_TRAIT_BASIC},
    {"exact-pairs", NVDP_OPTION_INTEGER, "N",
     "with --exact: number of drawn pairs for the mean of exact epsilons", "200",
     AT(exact.mean_pairs), .unit = "pairs", .min = 1, .max = 1e9},
    {"at-epsilon", NVDP_OPTION_LIST, "E",
     "with --exact: epsilons at which the curves are reported, at most 32", "0,0.5,1,2,4,8,16,32",
     AT(exact.epsilons), .unit = "nats"},
    {"at-delta", NVDP_OPTION_LIST, "D",
     "with --exact: deltas, each in (0, 1), for which the curves also report epsilon", NULL,
     AT(exact.deltas)},
    {"pair", NVDP_OPTION_TEXT, "I,J",
     "with --exact: also report the curve of this pair of texts, given by their numbers from 0",
     NULL, AT(exact.pair)},
    {0},
};

/* 1 - (1-gamma)^calls: the probability that one of the Student bounds fails. */
double nvdp__bdp_spent(double gamma, int calls) {
    return -expm1(calls * log1p(-gamma));
}

static nvdp_status outside(struct nvdp_context *ctx, const char *name, const char *expected,
                           double found) {
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected %s, found %g", name, expected, found);
}

nvdp_status nvdp__bdp_check(struct nvdp_context *ctx, const struct nvdp__bdp_options *bdp) {
    if (!(bdp->delta > 0 && bdp->delta < 1))
        return outside(ctx, "delta", "a number in (0, 1)", bdp->delta);
    if (!(bdp->gamma > 0 && bdp->gamma < 0.5))
        return outside(ctx, "gamma", "a number in (0, 0.5)", bdp->gamma);
    if (bdp->releases < 1) return outside(ctx, "releases", "at least 1", bdp->releases);
    if (!(bdp->published_moment > 0 && bdp->published_moment <= 1e6))
        return outside(ctx, "published_moment", "a number in (0, 1e6]", bdp->published_moment);
    double failure = nvdp__bdp_spent(bdp->gamma, bdp->releases);
    if (bdp->delta > failure) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "delta: expected more than 1-(1-gamma)^releases = %g, found %g; choose a "
                      "smaller gamma or a larger delta",
                      failure, bdp->delta);
}

/* Checks numbers joined by commas (NULL: no numbers) against low and high; adds the count of the
 * numbers to *n. */
static nvdp_status check_list(struct nvdp_context *ctx, const char *name, const char *list,
                              double low, double high, size_t *n) {
    nvdp__autofree const char **text = NULL;
    size_t count = 0;
    NVDP_TRY(nvdp__list_split(ctx, list, &text, &count));
    for (size_t i = 0; i < count; i++) {
        char *end;
        const double value = nvdp__strtod(text[i], &end);
        if (end == text[i] || *end != '\0' || !(value > low && value < high))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected %s, found '%s'", name,
                              isinf(high) ? "finite numbers" : "numbers in (0, 1)", text[i]);
    }
    *n += count;
    return NVDP_OK;
}

static nvdp_status check_exact(struct nvdp_context *ctx, const struct nvdp__exact_options *exact) {
    size_t n = 0;
    if (exact->pair != NULL && !exact->wanted)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "pair: needs the option exact");
    if (exact->mean_pairs != nvdp__privacy_defaults().exact.mean_pairs && !exact->wanted)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{exact-pairs}: needs the option exact");
    if (exact->deltas != NULL && !exact->wanted)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{at-delta}: needs the option exact");
    NVDP_TRY(check_list(ctx, "at_epsilon", exact->epsilons, -INFINITY, INFINITY, &n));
    NVDP_TRY(check_list(ctx, "at_delta", exact->deltas, 0, 1, &n));
    return n <= NVDP_EXACT_POINTS
               ? NVDP_OK
               : outside(ctx, "at_epsilon, at_delta", "at most 32 numbers", (double)n);
}

static nvdp_status check(struct nvdp_context *ctx, const void *values) {
    const struct nvdp__privacy_options *all = values;
    if (!(all->pairs.order > 0)) return outside(ctx, "order", "a number > 0", all->pairs.order);
    size_t baselines = 0;
    NVDP_TRY(check_list(ctx, "baseline", all->baselines, 0, 1, &baselines));
    if (baselines > NVDP_GUESSES)
        return outside(ctx, "baseline", "at most 8 numbers", (double)baselines);
    if (all->pairs.max_pairs == 1) return outside(ctx, "max_pairs", "0 or at least 2", 1);
    NVDP_TRY(check_exact(ctx, &all->exact));
    return nvdp__bdp_check(ctx, &all->bdp);
}

nvdp_status nvdp__privacy_check_source(struct nvdp_context *ctx,
                                       const struct nvdp__privacy_options *all) {
    if (!all->exact.wanted) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "exact: only posteriors have an exact loss; text privatization has none");
}

nvdp_status nvdp__guess_baselines(struct nvdp_context *ctx, const struct nvdp__privacy_options *all,
                                  size_t *guesses, struct nvdp_bounded_guess guess[NVDP_GUESSES]) {
    nvdp__autofree const char **text = NULL;
    NVDP_TRY(nvdp__list_split(ctx, all->baselines, &text, guesses));
    for (size_t i = 0; i < *guesses; i++)
        guess[i] = (struct nvdp_bounded_guess){nvdp__strtod(text[i], NULL), 1};
    return NVDP_OK;
}

static const struct nvdp__section sections[] = {{.row = options}};
const struct nvdp__schema nvdp__privacy_schema = {
    .kind = "privacy's measures",
    .size = sizeof(struct nvdp__privacy_options),
    .section = sections,
    .sections = 1,
    .check = check,
};

struct nvdp__privacy_options nvdp__privacy_defaults(void) {
    struct nvdp__privacy_options made;
    nvdp__schema_default(&nvdp__privacy_schema, &made);
    return made;
}

const struct nvdp__kind nvdp__kind_privacy = {"privacy", {&nvdp__privacy_schema}};
