/* Writes the report of a set of posteriors as one JSON object and as text for people. The file has first the JSON of
 * the parts that no row describes, then the tables of the quantities, which serve JSON and text, then the text. */
#include "rdp/report.h"
#include "base/array.h"
#include "base/json.h"
#include "base/sentence.h"
#include "rdp/pairs.h"
#include <stdlib.h>
#include <string.h>

/* Copies the report of a caller whose struct may be an older, shorter one. */
static struct nvdp_privacy_report whole(const struct nvdp_privacy_report *report) {
    struct nvdp_privacy_report made = {0};
    memcpy(&made, report, nvdp__min(report->struct_size, sizeof made));
    return made;
}

static bool is_weighted(const struct nvdp_privacy_report *report) {
    return report->posterior != NULL && report->posterior->weighted;
}

/* --- what no row describes: JSON. json_pack keeps the order of its members, takes ownership of its arguments, and fails if
 * any of them is NULL --- */

#define number nvdp__json_number

/* The causes of infinite pairs: the part of the sample, the quantity, and the names of the cause in the text. */
static const struct {
    const char *component, *quantity, *words;
    bool has_dim, has_ratio;
} causes[NVDP_INFINITE_CAUSES] = {
    [NVDP_INFINITE_LENGTHS] = {"text", "length", .words = "the lengths, which are public, differ"},
    [NVDP_INFINITE_TOKEN_LOGVAR] = {"token", "logvar",
                                    "variance of a token and of another text's token",
                                    .has_dim = true, .has_ratio = true},
    [NVDP_INFINITE_TOKEN_ALPHA] = {"token", "alpha",
                                   "pseudo-count of a token and of another text's token",
                                   .has_ratio = true},
    [NVDP_INFINITE_TOKEN_MU] = {"token", "mu", "mean of a token and of another text's token",
                                .has_dim = true},
    [NVDP_INFINITE_PADDING_LOGVAR] = {"padding", "logvar", "variance of a token and of padding",
                                      .has_dim = true, .has_ratio = true},
    [NVDP_INFINITE_PADDING_ALPHA] = {"padding", "alpha", "pseudo-count of a token and of padding",
                                     .has_ratio = true},
    [NVDP_INFINITE_PADDING_MU] = {"padding", "mu", "mean of a token and of padding",
                                  .has_dim = true},
    [NVDP_INFINITE_RANGE] = {"sum", "range", .words = "the sum exceeds the range of double"},
};

static json_t *pack_causes(const void *summary) {
    const struct nvdp_infinite_summary *from = summary;
    json_t *list = json_array();
    for (int k = 0; k < NVDP_INFINITE_CAUSES; k++) {
        const struct nvdp_infinite_part *part = &from->cause[k];
        const bool placed = part->place_pairs > 0;
        if (part->pairs == 0) continue;
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:I, s:o, s:o, s:I, s:o, s:o}", "component", causes[k].component,
                      "quantity", causes[k].quantity, "pairs", (json_int_t)part->pairs, "share",
                      number((double)part->pairs / (double)from->infinite), "place",
                      placed ? json_integer((json_int_t)part->place) : json_null(), "place_pairs",
                      (json_int_t)part->place_pairs, "dim",
                      placed && causes[k].has_dim ? json_integer((json_int_t)part->dim)
                                                  : json_null(),
                      "ratio", number(placed ? part->ratio : NAN)));
    }
    return list;
}

/* Packs the scope of the bound: which texts it holds for. */
static json_t *pack_scope(const void *report) {
    const struct nvdp_privacy_report *from = report;
    return json_string(
        isinf(from->bound.sum) && is_weighted(from)
            ? "the vectors alone would have the bound 2 order C^2; no bound is proven "
              "for the weights"
            : "upper bound for one release of any two texts, measured or not; S "
              "releases cost S times as much");
}

/* Packs the histogram of log10 alpha. */
static json_t *pack_alpha(const void *summary) {
    const struct nvdp_posterior_summary *from = summary;
    json_t *counts = json_array();
    for (int bin = 0; bin < NVDP_ALPHA_BINS; bin++)
        json_array_append_new(counts, json_integer((json_int_t)from->alpha_bin[bin]));
    return json_pack("{s:o, s:o, s:o, s:I, s:I}", "counts", counts, "first",
                     number(NVDP_ALPHA_FIRST), "width", number(NVDP_ALPHA_WIDTH), "below",
                     (json_int_t)from->alpha_below, "above", (json_int_t)from->alpha_above);
}

static json_t *pack_trade_off(const void *rates) {
    const double *tpr = rates;
    json_t *list = json_array();
    for (size_t i = 0; i < NVDP_EXACT_FPRS; i++)
        json_array_append_new(list, json_pack("{s:o, s:o}", "fpr", number(nvdp__exact_fpr[i]),
                                              "tpr", number(tpr[i])));
    return list;
}

/* --- the quantities: JSON has all rows; a grid of the text has the rows with a label --- */

/* clang-format off */
#define VALUE(type_, name_, ...) {.name = name_, .type = NVDP_RESULT_##type_, __VA_ARGS__}
#define CONSTANT(name_, text_) VALUE(TEXT, name_, .text = text_)
/* A member of the struct to which a pointer in the table's struct points. */
#define BEYOND(struct_, pointer, beyond, member) \
    .offset = offsetof(struct_, pointer), .indirect = true, .within = offsetof(beyond, member), \
    .width = sizeof(((beyond *)0)->member)
#define ENDS(struct_, member) NVDP_RESULT_AT(struct_, member.low), .high = offsetof(struct_, member.high)
/* Quantiles of struct `type` at these levels. */
#define QUANTILES(type, count, levels_) .array = count, .levels = levels_, NVDP_RESULT_AT(type, quantile[0])

/* The statistics of divergences; `base` is the offset of the struct. */
#define STATISTIC(base, member) \
    .offset = (base) + offsetof(struct nvdp_divergence_summary, member), \
    .width = sizeof(((struct nvdp_divergence_summary *)0)->member)
#define NATS(base, member, help_, ...) \
    {#member, NVDP_RESULT_REAL, "nats", NVDP_SCOPE_PAIR, -1, help_, STATISTIC(base, member), .bound = 1, __VA_ARGS__}
#define STATISTICS(base) \
    VALUE(COUNT, "argmax", STATISTIC(base, max_p), .array = 2, .help = "texts of the largest"), \
    NATS(base, max, "largest", .label = "max"), \
    NATS(base, mean, "mean", .label = "mean"), \
    NATS(base, max_finite, "largest finite one", .label = NULL), \
    NATS(base, mean_finite, "mean of the finite ones", .label = NULL), \
    {"quantiles", NVDP_RESULT_REAL, "nats", NVDP_SCOPE_PAIR, -1, "nearest rank", STATISTIC(base, quantile[0]), \
     .array = NVDP_PAIR_QUANTILES, .levels = nvdp__pair_quantile_level, .label = "quantiles", .bound = 1}

static const struct nvdp_result_table summary_table = {
    .name = "divergences", .help = "statistics of divergences",
    .rows = (const struct nvdp_result_row[]){STATISTICS(0), {0}}};

#define SUM(member, label_, ...) \
    VALUE(TABLE, #member, NVDP_RESULT_AT(struct nvdp_pairs_summary, member), .of = &summary_table, .label = label_, __VA_ARGS__)
#define PUBLISHED "as in the published tables; not a privacy guarantee"

static const struct nvdp_result_table pairs_table = {
    .name = "pairs", .help = "divergences of all pairs",
    .rows = (const struct nvdp_result_row[]){
        SUM(sum, "sum", .note = "for one release of a text; S releases cost S times as much"),
        SUM(per_component, "per component", .note = NULL),
        SUM(per_component_dim, "per component, dim", .note = PUBLISHED, .after = PUBLISHED),
        {0}}};

#define SAMPLE(type, name, member, ...) VALUE(type, name, NVDP_RESULT_AT(struct nvdp_pairs_sample, member), __VA_ARGS__)
#define SAMPLE_ENDS(member) VALUE(INTERVAL, #member, ENDS(struct nvdp_pairs_sample, member))

static const struct nvdp_result_table sample_table = {
    .name = "sample", .help = "estimates from drawn pairs",
    .rows = (const struct nvdp_result_row[]){
        SAMPLE(COUNT, "drawn", drawn, .unit = "pairs"),
        SAMPLE(COUNT, "summed_for_max", summed, .unit = "pairs"),
        SAMPLE(REAL, "confidence", confidence, .help = "of each interval"),
        SAMPLE_ENDS(mean),
        SAMPLE_ENDS(mean_bound),
        VALUE(INTERVAL, "quantiles", QUANTILES(struct nvdp_pairs_sample, NVDP_PAIR_QUANTILES, nvdp__pair_quantile_level)),
        SAMPLE_ENDS(infinite_share),
        CONSTANT("note", "max is exact over all pairs; mean, quantiles and infinite are estimated from the drawn pairs; "
                         "intervals belong to rd.sum"),
        {0}}};

#define INFINITE(type, name, member, ...) VALUE(type, name, NVDP_RESULT_AT(struct nvdp_infinite_summary, member), __VA_ARGS__)

static const struct nvdp_result_table infinite_table = {
    .name = "infinite", .help = "causes of infinite pairs",
    .rows = (const struct nvdp_result_row[]){
        INFINITE(REAL, "order", order, .help = "of the divergence"),
        INFINITE(REAL, "limit", limit, .help = "of the ratios"),
        INFINITE(COUNT, "infinite", of, .unit = "pairs"),
        INFINITE(COUNT, "looked_at", pairs, .unit = "pairs"),
        INFINITE(REAL, "finite_below", finite_below, .help = "order below which these pairs are finite"),
        {.name = "causes", .json = pack_causes},
        {0}}};
/* The row does not exist if no pair is infinite. */
#define CAUSES(struct_, member) \
    VALUE(TABLE, "infinite_pairs", NVDP_RESULT_AT(struct_, member), .indirect = true, .of = &infinite_table, \
          NVDP_RESULT_IF(struct nvdp_infinite_summary, infinite)

#define EPSILON(type, member, ...) VALUE(type, #member, NVDP_RESULT_AT(struct nvdp_epsilon_summary, member), __VA_ARGS__)

static const struct nvdp_result_table epsilon_table = {
    .name = "epsilon", .help = "epsilons of all pairs at one delta",
    .rows = (const struct nvdp_result_row[]){
        EPSILON(REAL, delta, .help = "of these epsilons"),
        CONSTANT("from", "renyi"),
        EPSILON(COUNT, releases, .unit = "samples"),
        EPSILON(COUNT, texts, .unit = "texts"),
        EPSILON(COUNT, pairs, .unit = "pairs"),
        EPSILON(COUNT, infinite, .unit = "pairs"),
        STATISTICS(offsetof(struct nvdp_epsilon_summary, sum)),
        CONSTANT("note", "the minimum over the orders of the divergences, and at most the epsilon that a sequence clip "
                         "proves: an upper bound on the exact value"),
        {0}}};

static const struct nvdp_result_table epsilon_lines = {
    .name = "epsilon", .help = "the line of the epsilons",
    .rows = (const struct nvdp_result_row[]){VALUE(TABLE, "epsilon", .label = "epsilon", .of = &epsilon_table), {0}}};

#define BOUND(member, ...) VALUE(REAL, #member, NVDP_RESULT_AT(struct nvdp_privacy_report, bound.member), __VA_ARGS__)

static const struct nvdp_result_table bound_table = {
    .name = "bound", .help = "upper bounds that a sequence clip proves",
    .rows = (const struct nvdp_result_row[]){
        BOUND(clip_sequence, .help = "C"),
        BOUND(sum, .unit = "nats"),
        BOUND(loss, .unit = "nats"),
        {.name = "scope", .json = pack_scope},
        {0}}};

#define BDP(name_, member, unit_, better_, help_, ...) \
    {name_, NVDP_RESULT_REAL, unit_, NVDP_SCOPE_FILE, better_, help_, NVDP_RESULT_AT(struct nvdp_bdp_column, member), __VA_ARGS__}
#define BDP_COUNT(name_, member, help_, ...) \
    {name_, NVDP_RESULT_COUNT, "texts", NVDP_SCOPE_FILE, 0, help_, NVDP_RESULT_AT(struct nvdp_bdp_column, member), __VA_ARGS__}
#define KEYS(...) (const struct nvdp_result_key[]){__VA_ARGS__, {0}}
#define HIDDEN(row_) {.row = row_, .absent = NVDP_ABSENT_HIDDEN}

/* False if epsilon is infinite: every moment then gives the same epsilon, so there is no best moment and no floor. */
static bool has_moment(const void *column) {
    return isfinite(((const struct nvdp_bdp_column *)column)->worst.epsilon);
}

static bool has_infinite_texts(const void *column) {
    return ((const struct nvdp_bdp_column *)column)->infinite_texts > 0;
}

static const struct nvdp_result_table column_table = {
    .name = "bdp", .help = "Bayesian DP of a set of texts",
    .rows = (const struct nvdp_result_row[]){
        BDP("epsilon", worst.epsilon, "nats", -1, "of the worst text", .label = "worst text", .bound = 1),
        BDP("mean_epsilon", mean_epsilon, "nats", -1, "mean over texts", .label = "mean", .bound = 1),
        BDP("moment", worst.moment, NULL, 0, "k of the worst text", .label = NULL),
        BDP("cost", worst.cost, "nats", -1, "c(k)", .label = NULL),
        BDP_COUNT("m", worst.m, "population", .label = NULL),
        BDP("t", worst.t, NULL, 0, "quantile of Student's t", .label = NULL),
        BDP("log_M", worst.log_mean, NULL, -1, "log of the mean", .label = "log M"),
        BDP("log_S", worst.log_sd, NULL, -1, "log of the standard deviation", .label = "log S"),
        BDP("max_X", worst.max, NULL, -1, "largest exponent", .label = "max X"),
        BDP("floor", floor, "nats", 0, "epsilon between equal texts at this k", .label = NULL),
        BDP_COUNT("worst_text", worst_text, "its index", .label = NULL),
        BDP_COUNT("infinite_texts", infinite_texts, "texts without a bound", .label = "inf texts"),
        CAUSES(struct nvdp_bdp_column, infinite_pairs), .present = has_infinite_texts),
        BDP("shown floor", floor, "nats", 0, "floor, if there is a moment", .label = "floor", .present = has_moment),
        BDP("shown moment", worst.moment, NULL, 0, "moment, if there is one", .label = "moment k", .present = has_moment),
        {0}},
    .views = (const struct nvdp_result_view[]){
        {"json", .keys = KEYS(HIDDEN("shown floor"), HIDDEN("shown moment"))},
        {"terminal", .keys = KEYS({.row = "epsilon"}, {.row = "mean_epsilon"}, {.row = "shown floor"}, {.row = "shown moment"},
                                  {.row = "max_X"}, {.row = "log_M"}, {.row = "log_S"}, {.row = "infinite_texts"})},
        {0}}};

#define MOMENTS(type, member, ...) VALUE(type, #member, NVDP_RESULT_AT(struct nvdp_bdp_summary, member), __VA_ARGS__)

static const struct nvdp_result_table bdp_table = {
    .name = "bdp", .help = "Bayesian DP at two moments",
    .rows = (const struct nvdp_result_row[]){
        MOMENTS(REAL, delta, .help = "delta_mu"),
        MOMENTS(REAL, gamma, .help = "failure probability of the estimate"),
        MOMENTS(COUNT, releases, .unit = "samples"),
        MOMENTS(COUNT, texts, .unit = "texts"),
        MOMENTS(FLAG, small_population, .help = "some text has fewer than 64 others"),
        MOMENTS(TABLE, published, .indirect = true, .of = &column_table, .label = "published k"),
        MOMENTS(TABLE, best, .indirect = true, .of = &column_table, .label = "best k"),
        {0}}};

#define PAIR(type, name, member, ...) VALUE(type, name, NVDP_RESULT_AT(struct nvdp_exact_pair, member), __VA_ARGS__)
#define POINT(member) \
    VALUE(REAL, #member, .offset = offsetof(struct nvdp_exact_pair, curve[0].member) - offsetof(struct nvdp_exact_pair, curve), \
          .width = sizeof(double))

static const struct nvdp_result_table point_table = {
    .name = "point", .help = "a point of a curve", .size = sizeof(((struct nvdp_exact_pair *)0)->curve[0]),
    .rows = (const struct nvdp_result_row[]){POINT(epsilon), POINT(delta), {0}}};

static const struct nvdp_result_table pair_table = {
    .name = "exact", .help = "exact privacy loss of a pair",
    .rows = (const struct nvdp_result_row[]){
        PAIR(COUNT, "p", p, .help = "index of P", .label = "text P"),
        PAIR(COUNT, "q", q, .help = "index of Q", .label = "text Q"),
        PAIR(REAL, "epsilon", epsilon, .unit = "nats", .help = "epsilon at delta", .label = "epsilon", .bound = 1),
        PAIR(REAL, "strip", strip, .help = "limit of the moments"),
        PAIR(REAL, "gdp_mu", mu, .help = "mu of Gaussian DP", .label = "GDP mu"),
        PAIR(LIST, "curve", curve, NVDP_RESULT_LENGTH(struct nvdp_exact_pair, points), .of = &point_table),
        PAIR(REAL, "trade_off", tpr, .json = pack_trade_off),
        /* the level is nvdp__exact_fpr[3] */
        PAIR(REAL, "TPR at 1 %", tpr[3], .help = "power of the best test", .label = "TPR at 1 %"),
        PAIR(REAL, "TPR at 10 %", tpr[5], .help = "power of the best test", .label = "TPR at 10 %"),
        {0}},
    .views = (const struct nvdp_result_view[]){
        {"json", .keys = KEYS(HIDDEN("TPR at 1 %"), HIDDEN("TPR at 10 %"))},
        {"terminal", .keys = KEYS({.row = "epsilon"}, {.row = "gdp_mu"}, {.row = "TPR at 1 %"}, {.row = "TPR at 10 %"},
                                  {.row = "p"}, {.row = "q"})},
        {0}}};

/* The pairs to show: pairs with an exact epsilon, or with an upper bound of epsilon. */
struct exact_pairs {
    const struct nvdp_exact_pair *worst[2], *typical[2], *asked[2];
};
#define EXACT_LINE(member, label_) \
    VALUE(TABLE, #member, NVDP_RESULT_AT(struct exact_pairs, member), .indirect = true, .of = &pair_table, .label = label_)
#define EXACT_LINES(member, label_) EXACT_LINE(member[0], label_), EXACT_LINE(member[1], label_ ", at most")

static const struct nvdp_result_table exact_lines = {
    .name = "exact", .help = "exact privacy loss of chosen pairs",
    .rows = (const struct nvdp_result_row[]){
        EXACT_LINES(worst, "worst pair"), EXACT_LINES(typical, "typical pair"), EXACT_LINES(asked, "requested pair"), {0}}};
/* clang-format on */

/* Packs a pair. `bounds`, a set of enum nvdp_exact_number, selects the numbers that are upper bounds. */
static json_t *pack_pair(const char *which, const struct nvdp_exact_pair *pair, unsigned bounds) {
    static const char *const name[] = {"epsilon", "curve", "gdp_mu", "trade_off"};
    json_t *object = json_pack("{s:s}", "which", which), *names = json_array();
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if ((bounds & 1u << i) != 0) json_array_append_new(names, json_string(name[i]));
    object = nvdp__result_put(object, &pair_table, "json", pair);
    json_object_set_new(object, "bounds", names);
    return object;
}

static json_t *pack_pairs(const void *summary) {
    const struct nvdp_exact_summary *from = summary;
    json_t *pairs = json_array();
    json_array_append_new(pairs, pack_pair("worst", &from->worst, from->bounds.worst));
    json_array_append_new(pairs, pack_pair("typical", &from->typical, from->bounds.typical));
    if (from->asked.points > 0)
        json_array_append_new(pairs, pack_pair("asked", &from->asked, from->bounds.asked));
    return pairs;
}

static json_t *pack_worst_is_bound(const void *worst) {
    return json_boolean((*(const unsigned *)worst & NVDP_EXACT_EPSILON) != 0);
}

/* clang-format off */
#define EXACT(type, name, member, ...) VALUE(type, name, NVDP_RESULT_AT(struct nvdp_exact_summary, member), __VA_ARGS__)

static const struct nvdp_result_table exact_table = {
    .name = "exact", .help = "exact privacy loss",
    .rows = (const struct nvdp_result_row[]){
        EXACT(REAL, "delta", delta, .help = "of the epsilons"),
        EXACT(COUNT, "releases", releases, .unit = "samples"),
        EXACT(REAL, "worst", worst.epsilon, .unit = "nats"),
        EXACT(REAL, "mean", mean, .unit = "nats"),
        EXACT(REAL, "mean_finite", mean_finite, .unit = "nats"),
        VALUE(INTERVAL, "mean_interval", ENDS(struct nvdp_exact_summary, mean_interval)),
        EXACT(REAL, "confidence", confidence, .help = "of the interval"),
        EXACT(COUNT, "of_pairs", pairs, .unit = "pairs"),
        EXACT(COUNT, "evaluated", evaluated, .unit = "pairs"),
        EXACT(COUNT, "drawn", drawn, .unit = "pairs"),
        EXACT(COUNT, "infinite", infinite, .unit = "pairs"),
        EXACT(FLAG, "worst_is_bound", bounds.worst, .json = pack_worst_is_bound),
        EXACT(COUNT, "bounded_evaluated", bounds.evaluated, .unit = "pairs"),
        EXACT(COUNT, "bounded_drawn", bounds.drawn, .unit = "pairs"),
        {.name = "pairs", .json = pack_pairs},
        {0}}};

static const struct nvdp_result_table spread_table = {
    .name = "spread", .help = "statistics over texts",
    .rows = (const struct nvdp_result_row[]){
        NVDP_RESULT_ROW(struct nvdp_spread, mean, NULL, NVDP_SCOPE_FILE, 0, "mean"),
        VALUE(REAL, "quantiles", QUANTILES(struct nvdp_spread, NVDP_SPREAD_QUANTILES, nvdp__spread_level), .help = "nearest rank"),
        {0}}};

#define POSTERIOR(type, name, member, ...) VALUE(type, name, NVDP_RESULT_AT(struct nvdp_posterior_summary, member), __VA_ARGS__)
#define WEIGHTED NVDP_RESULT_IF(struct nvdp_posterior_summary, weighted)
#define SPREAD(name, member) POSTERIOR(TABLE, name, member, .of = &spread_table, WEIGHTED)

static const struct nvdp_result_table posterior_table = {
    .name = "posterior", .help = "statistics that describe posteriors",
    .rows = (const struct nvdp_result_row[]){
        POSTERIOR(COUNT, "texts", texts, .unit = "texts"),
        POSTERIOR(COUNT, "tokens", tokens, .unit = "tokens"),
        SPREAD("effective_vectors", vectors),
        SPREAD("effective_vectors_l2", vectors_l2),
        SPREAD("token_share", token_share),
        POSTERIOR(REAL, "mean_abs_mu", mean_abs_mu, .help = "mean |mu|"),
        POSTERIOR(REAL, "mean_sigma", mean_sigma, .help = "mean standard deviation"),
        VALUE(TABLE, "log10_alpha", WEIGHTED, .json = pack_alpha),
        {0}}};

#define GUESS(member) VALUE(REAL, #member, NVDP_RESULT_AT(struct nvdp_bounded_guess, member))

static const struct nvdp_result_table guess_table = {
    .name = "guess", .help = "a baseline and its bound", .size = sizeof(struct nvdp_bounded_guess),
    .rows = (const struct nvdp_result_row[]){GUESS(baseline), GUESS(bound), {0}}};

#define ROW(member) VALUE(COUNT, #member, NVDP_RESULT_AT(struct nvdp_pair_rows, member))
/* clang-format on */

static bool has_split(const void *rows) {
    return ((const struct nvdp_pair_rows *)rows)->split[0] != '\0';
}

/* clang-format off */
static const struct nvdp_result_table rows_table = {
    .name = "rows", .help = "rows of the pair with the largest divergence",
    .rows = (const struct nvdp_result_row[]){
        ROW(p), ROW(q),
        VALUE(CHARS, "split", NVDP_RESULT_AT(struct nvdp_pair_rows, split), .absent = NVDP_ABSENT_OMITTED, .present = has_split),
        {0}}};
/* clang-format on */

/* True if the two texts with the largest sum have different rows; the report of an older caller has no rows. */
static bool has_rows(const void *report) {
    const struct nvdp_pair_rows *rows = &((const struct nvdp_privacy_report *)report)->argmax_rows;
    return rows->p >= 0 && rows->p != rows->q;
}

static bool has_digest(const void *report) {
    return ((const struct nvdp_privacy_report *)report)->digest[0] != '\0';
}

/* Returns the number of pairs among which infinite pairs were counted. */
static double counted_pair_count(const struct nvdp_pairs_summary *pairs) {
    return (double)(pairs->sample.drawn > 0 ? pairs->sample.drawn : pairs->pairs);
}

static double infinite_share(const void *report) {
    const struct nvdp_pairs_summary *pairs = ((const struct nvdp_privacy_report *)report)->pairs;
    return counted_pair_count(pairs) > 0 ? (double)pairs->infinite / counted_pair_count(pairs) : 0;
}

static double information_bits(const void *report) {
    return ((const struct nvdp_privacy_report *)report)->guesses.information / M_LN2;
}

/* clang-format off */
#define WORDS(...) .words = (const char *const[]){__VA_ARGS__}
#define REPORT(type, name, member, ...) VALUE(type, name, NVDP_RESULT_AT(struct nvdp_privacy_report, member), __VA_ARGS__)
#define PAIRS(type, name, member, ...) \
    VALUE(type, name, BEYOND(struct nvdp_privacy_report, pairs, struct nvdp_pairs_summary, member), __VA_ARGS__)

static const struct nvdp_result_table report_table = {
    .name = "privacy", .help = "privacy of a set of posteriors",
    .rows = (const struct nvdp_result_row[]){
        REPORT(CHARS, "method", shape.method, .help = "of the posteriors"),
        CONSTANT("units", "nats"),
        CONSTANT("scope", "measured on the given texts; not a bound over all texts"),
        PAIRS(ENUM, "adjacency", adjacency, WORDS([NVDP_ADJACENT_ALL] = "all", [NVDP_ADJACENT_SAME_LENGTH] = "same-length")),
        REPORT(ENUM, "length_policy", shape.policy, WORDS([NVDP_LENGTH_PUBLIC] = "public", [NVDP_LENGTH_HIDDEN] = "hidden")),
        REPORT(COUNT, "components", shape.components, .help = "of the longest sample"),
        REPORT(COUNT, "dim", shape.dim, .help = "of a vector"),
        REPORT(COUNT, "kappa", shape.kappa, .help = "vectors per component"),
        PAIRS(REAL, "order", order, .help = "of the divergences"),
        PAIRS(ENUM, "arithmetic", arithmetic, WORDS([NVDP_PAIRS_FAST] = "fast", [NVDP_PAIRS_EXACT] = "exact")),
        PAIRS(COUNT, "n", texts, .unit = "texts"),
        PAIRS(COUNT, "pairs", pairs, .unit = "pairs"),
        PAIRS(COUNT, "infinite", infinite, .unit = "pairs"),
        VALUE(REAL, "infinite_share", .real = infinite_share),
        CAUSES(struct nvdp_privacy_report, infinite)),
        REPORT(TABLE, "argmax_rows", argmax_rows, .of = &rows_table, .present = has_rows),
        PAIRS(TABLE, "sample", sample, .of = &sample_table, NVDP_RESULT_IF(struct nvdp_pairs_summary, sample.drawn)),
        VALUE(TABLE, "bound", .of = &bound_table, NVDP_RESULT_IF(struct nvdp_privacy_report, bound.clip_sequence)),
        REPORT(TABLE, "rd", pairs, .indirect = true, .of = &pairs_table),
        REPORT(TABLE, "epsilon", epsilon, .indirect = true, .of = &epsilon_table,
               NVDP_RESULT_IF(struct nvdp_epsilon_summary, texts)),
        REPORT(TABLE, "exact", exact, .indirect = true, .of = &exact_table),
        REPORT(TABLE, "bdp", bdp, .of = &bdp_table),
        REPORT(TABLE, "posterior", posterior, .indirect = true, .of = &posterior_table),
        REPORT(TABLE, "linkage", linkage, .indirect = true, .json = nvdp__linkage_pack),
        REPORT(LIST, "guess", guesses.guess, NVDP_RESULT_LENGTH(struct nvdp_privacy_report, guesses.count), .of = &guess_table),
        VALUE(REAL, "information_bits", .real = information_bits, .absent = NVDP_ABSENT_NULL,
              NVDP_RESULT_IF(struct nvdp_privacy_report, guesses.count)),
        REPORT(CHARS, "digest", digest, .absent = NVDP_ABSENT_OMITTED, .present = has_digest),
        {0}},
    .views = (const struct nvdp_result_view[]){{"json", NVDP_ABSENT_NAN, NULL}, {0}}};
/* clang-format on */

json_t *nvdp__privacy_report_pack(const void *report) {
    const struct nvdp_privacy_report from = whole(report);
    return nvdp__result_json(&report_table, "json", &from);
}

/* --- Text for people --- */

/* Formats a finite number with four digits. */
static struct nvdp__short_text say(double value) {
    const bool plain = value == 0 || (fabs(value) >= 1e-3 && fabs(value) < 1e7);
    if (isnan(value)) return nvdp__short_text("-");
    return nvdp__short_text(isinf(value) ? "%g" : plain ? "%.4f" : "%.3e", value);
}

/* Formats a percentage that is never rounded to 0 or 100. */
static struct nvdp__short_text say_share(size_t part, size_t all) {
    const double share = 100.0 * (double)part / (double)all;
    if (part > 0 && share < 0.1) return nvdp__short_text("less than 0.1");
    return part < all && share > 99.9 ? nvdp__short_text("more than 99.9")
                                      : nvdp__short_text("%.1f", share);
}

static void print_head(const struct nvdp_privacy_report *report, FILE *to) {
    const struct nvdp_pairs_summary *pairs = report->pairs;
    const char *one = report->bdp.releases > 1 ? " in one sample" : "";
    nvdp__fprintf(to, "Privacy of %zu texts", pairs->texts);
    if (report->shape.method[0] != '\0') nvdp__fprintf(to, ", method %s", report->shape.method);
    nvdp__fprintf(to, "\nA sample has %s%zu component%s of %zu dimension%s",
                  report->shape.policy == NVDP_LENGTH_HIDDEN ? "" : "up to ",
                  report->shape.components, report->shape.components == 1 ? "" : "s",
                  report->shape.dim, report->shape.dim == 1 ? "" : "s");
    if (report->shape.kappa > 1)
        nvdp__fprintf(to, ", %d vectors per component", report->shape.kappa);
    nvdp__fprintf(to, "; length %s.\n",
                  report->shape.policy != NVDP_LENGTH_HIDDEN ? "public (different lengths: inf)"
                  : report->shape.components == 1 ? "not shared, but the vector may depend on it"
                                                  : "hidden");
    fputs("Measured on the given texts; not a bound over all texts.\n", to);
    if (report->bound.clip_sequence > 0 && !is_weighted(report))
        nvdp__fprintf(to,
                      "Proven by the sequence clip C = %s: at order %g, any two texts, measured or "
                      "not, differ by at most %s nats%s.\n",
                      nvdp__bound(report->bound.clip_sequence).text, report->pairs->order,
                      nvdp__bound(report->bound.sum).text, one);
    if (report->bound.clip_sequence > 0 && isfinite(report->bound.loss))
        nvdp__fprintf(to,
                      "The privacy loss between any two texts is at most %s nats%s, which is an "
                      "epsilon at delta 0.\n",
                      nvdp__bound(report->bound.loss).text, one);
    fputc('\n', to);
}

static void print_infinite(const struct nvdp_pairs_summary *pairs, FILE *to) {
    if (pairs->infinite == 0) {
        fputs("  No pair is infinite.\n", to);
        return;
    }
    nvdp__fprintf(to, "  %s %% of pairs are infinite (%zu): max and mean are inf; ",
                  say_share(pairs->infinite, pairs->pairs).text, pairs->infinite);
    if (pairs->infinite == pairs->pairs)
        fputs("no pair is finite.\n", to);
    else
        nvdp__fprintf(to,
                      "over the finite pairs only, the sum has max %s and mean %s (not a privacy "
                      "statement).\n",
                      say(pairs->sum.max_finite).text, say(pairs->sum.mean_finite).text);
}

/* A cause of infinite pairs; causes are ordered by the number of their pairs. */
struct cause {
    size_t pairs, of;
};

/* Prints the causes, the most frequent first, and what removes them. A lower order removes no cause, because the
 * samples stay the same. */
static void print_causes(const struct nvdp_infinite_summary *from, bool exact,
                         const struct nvdp__remedies *remedies, FILE *to) {
    struct cause cause[NVDP_INFINITE_CAUSES];
    if (from == NULL || from->infinite == 0) return;
    nvdp__fprintf(to, "  Causes at order %g", from->order);
    if (isfinite(from->limit))
        nvdp__fprintf(to, " (a ratio must be below %.4g to be finite)", from->limit);
    if (from->pairs < from->of) nvdp__fprintf(to, ", among %zu drawn pairs", from->pairs);
    fputs("; a pair can have several causes:\n", to);
    for (size_t k = 0; k < NVDP_INFINITE_CAUSES; k++)
        cause[k] = (struct cause){from->cause[k].pairs, k};
    NVDP__SORT(cause, NVDP_INFINITE_CAUSES, NVDP__DOWN(struct cause, pairs),
               NVDP__UP(struct cause, of));
    for (size_t k = 0; k < NVDP_INFINITE_CAUSES && cause[k].pairs > 0; k++) {
        const size_t of = cause[k].of;
        const struct nvdp_infinite_part *part = &from->cause[of];
        const bool dim = causes[of].has_dim, ratio = causes[of].has_ratio;
        nvdp__fprintf(to, "    %5s %%  %s", say_share(part->pairs, from->infinite).text,
                      causes[of].words);
        if (dim || ratio)
            nvdp__fprintf(to, " are too far apart, most often in vector %zu", part->place);
        if (dim) nvdp__fprintf(to, ", dimension %zu", part->dim);
        if (ratio) nvdp__fprintf(to, "; ratio up to %.4g", part->ratio);
        fputc('\n', to);
    }
    if (remedies != NULL) remedies->infinite(from, exact, to);
}

/* Returns "a to b". */
static struct nvdp__short_text interval_text(const struct nvdp_interval *from) {
    return nvdp__short_text("%s to %s", say(from->low).text, say(from->high).text);
}

/* Prints the estimates from drawn pairs, and states which numbers are exact. */
static void print_sample(const struct nvdp_pairs_summary *pairs, FILE *to) {
    const struct nvdp_pairs_sample *sample = &pairs->sample;
    nvdp__fprintf(to,
                  "  max is exact over all pairs: upper bounds excluded all pairs but %zu, whose "
                  "sums were computed. The other numbers\n  are estimated from %zu pairs drawn "
                  "uniformly. %g %% intervals of the sum:\n   ",
                  sample->summed, sample->drawn, 100 * sample->confidence);
    if (isfinite(pairs->sum.max))
        nvdp__fprintf(to, " mean %s (for any distribution: %s);\n   ",
                      interval_text(&sample->mean).text, interval_text(&sample->mean_bound).text);
    for (int level = 0; level < NVDP_PAIR_QUANTILES; level++)
        nvdp__fprintf(to, " %g %%: %s%s", 100 * nvdp__pair_quantile_level[level],
                      interval_text(&sample->quantile[level]).text,
                      level + 1 < NVDP_PAIR_QUANTILES ? ";" : ".\n");
    if (isfinite(pairs->sum.max))
        fputs("  None of all pairs is infinite.\n", to);
    else
        nvdp__fprintf(to,
                      "  Some pairs are infinite, so max and mean are inf: %zu of the drawn pairs, "
                      "and %.3g to %.3g %% of all pairs. Over the\n  finite drawn pairs only, the "
                      "sum has mean %s, %s (not a privacy statement).\n",
                      pairs->infinite, 100 * sample->infinite_share.low,
                      100 * sample->infinite_share.high, say(pairs->sum.mean_finite).text,
                      interval_text(&sample->mean).text);
}

static void print_divergences(const struct nvdp_privacy_report *report,
                              const struct nvdp__remedies *remedies, FILE *to) {
    const struct nvdp_pairs_summary *pairs = report->pairs;
    const struct nvdp_pair_rows *rows = &report->argmax_rows;
    const int releases = report->bdp.releases;
    nvdp__fprintf(to,
                  "Renyi divergence of order %g in nats, over %zu ordered pairs%s, of one release",
                  pairs->order, pairs->pairs,
                  pairs->adjacency == NVDP_ADJACENT_SAME_LENGTH ? " of the same length" : "");
    if (releases > 1) nvdp__fprintf(to, "; %d releases cost %d times as much", releases, releases);
    nvdp__fprintf(to, "\n  Arithmetic: %s.\n",
                  pairs->arithmetic == NVDP_PAIRS_EXACT
                      ? "exact, within 1e-12"
                      : "fast, within 1e-6 (maxima within 1e-12)");
    nvdp__result_print(&pairs_table, pairs, to);
    if (pairs->sample.drawn > 0)
        print_sample(pairs, to);
    else
        print_infinite(pairs, to);
    print_causes(report->infinite, report->exact != NULL, remedies, to);
    nvdp__fprintf(to,
                  "  The largest sum is between text %zu and text %zu, numbered from 0 among the "
                  "measured texts",
                  pairs->sum.max_p, pairs->sum.max_q);
    if (has_rows(report))
        nvdp__fprintf(to, ": rows %lld and %lld of %s, counted from 0 after the header",
                      (long long)rows->p, (long long)rows->q,
                      has_split(rows) ? rows->split : "their file");
    fputs(".\n\n", to);
}

/* Returns the number of infinite pairs; `from` is NULL if the causes are not known. */
static size_t infinite_pair_count(const struct nvdp_infinite_summary *from) {
    return from != NULL ? from->infinite : 0;
}

/* Texts with fewer than two adjacent texts have no bound, even if their divergences are finite. */
static void print_lonely(const struct nvdp_privacy_report *report, FILE *to) {
    if (report->bdp.published->worst.m >= 2) return;
    if (infinite_pair_count(report->bdp.published->infinite_pairs) == 0 &&
        report->pairs->infinite == 0)
        nvdp__fprintf(to, "  %zu of the texts have", report->bdp.published->infinite_texts);
    else
        fputs("  Some texts have", to);
    nvdp__fprintf(to, " fewer than two other texts%s to compare with, so the bound is inf.\n",
                  report->pairs->adjacency == NVDP_ADJACENT_SAME_LENGTH ? " of the same length"
                                                                        : "");
}

static void print_bayesian(const struct nvdp_privacy_report *report,
                           const struct nvdp__remedies *remedies, FILE *to) {
    nvdp__fprintf(to, "Bayesian DP: epsilon at delta %g, gamma %g, %d release%s of a text\n",
                  report->bdp.delta, report->bdp.gamma, report->bdp.releases,
                  report->bdp.releases == 1 ? "" : "s");
    if (report->bdp.texts < report->pairs->texts)
        nvdp__fprintf(to, "  among %zu of the texts, drawn uniformly\n", report->bdp.texts);
    nvdp__result_print(&bdp_table, &report->bdp, to);
    nvdp__fprintf(to,
                  "  floor: log(1/delta)/k, the epsilon between equal texts at this k.  Population "
                  "m = %zu, Student t = %s.\n",
                  report->bdp.published->worst.m, say(report->bdp.published->worst.t).text);
    if (report->bdp.published->infinite_texts > 0 &&
        infinite_pair_count(report->bdp.published->infinite_pairs) > 0) {
        nvdp__fprintf(to, "  published k: infinite, because %zu pairs are infinite.\n",
                      report->bdp.published->infinite_pairs->of);
        print_causes(report->bdp.published->infinite_pairs, report->exact != NULL, remedies, to);
    }
    if (report->bdp.best->infinite_texts > 0 &&
        infinite_pair_count(report->bdp.best->infinite_pairs) > 0) {
        nvdp__fprintf(to,
                      "  best k: infinite, because %zu pairs are infinite at the smallest order.\n",
                      report->bdp.best->infinite_pairs->of);
        print_causes(report->bdp.best->infinite_pairs, report->exact != NULL, remedies, to);
    }
    print_lonely(report, to);
    if (report->bdp.small_population) {
        fputs("  warning: some text has fewer than 64 other texts to compare with: do not rely on "
              "this bound; measure more texts.\n",
              to);
    }
}

/* Prints a line about the posteriors behind the divergences. */
static void print_posterior(const struct nvdp_posterior_summary *from, FILE *to) {
    nvdp__fprintf(to, "Posteriors of %zu tokens: mean |mu| %s, mean sigma %s", from->tokens,
                  say(from->mean_abs_mu).text, say(from->mean_sigma).text);
    if (from->weighted)
        nvdp__fprintf(
            to,
            ";\n  effective number of vectors per text (exp of the weights' entropy): %s "
            "on average,\n  from %s (5 %%) to %s (95 %%); the tokens hold a share of %s of "
            "the pseudo-counts",
            say(from->vectors.mean).text, say(from->vectors.quantile[0]).text,
            say(from->vectors.quantile[NVDP_SPREAD_QUANTILES - 1]).text,
            say(from->token_share.mean).text);
    fputs(".\n", to);
}

static void print_exact(const struct nvdp_exact_summary *from, FILE *to) {
    if (from == NULL) return;
    const struct nvdp_exact_bounds *bounds = &from->bounds;
    nvdp__fprintf(to, "Exact privacy loss, %d release%s of a text: epsilon at delta %g\n",
                  from->releases, from->releases == 1 ? "" : "s", from->delta);
    struct exact_pairs pairs = {.worst = {NULL}};
    pairs.worst[(bounds->worst & NVDP_EXACT_EPSILON) != 0] = &from->worst;
    pairs.typical[(bounds->typical & NVDP_EXACT_EPSILON) != 0] = &from->typical;
    if (from->asked.points > 0)
        pairs.asked[(bounds->asked & NVDP_EXACT_EPSILON) != 0] = &from->asked;
    nvdp__result_print(&exact_lines, &pairs, to);
    nvdp__fprintf(to, "  mean %s%s over %zu %spairs", bounds->drawn > 0 ? "at most " : "",
                  say(from->mean).text, from->drawn, from->drawn < from->pairs ? "drawn " : "");
    if (from->infinite > 0)
        nvdp__fprintf(to, " (%zu are infinite; %s over the finite ones)", from->infinite,
                      say(from->mean_finite).text);
    if (from->drawn < from->pairs)
        nvdp__fprintf(to, ", %g %%: %s", 100 * from->confidence,
                      interval_text(&from->mean_interval).text);
    nvdp__fprintf(to, "; the worst of %zu pairs, found by upper bounds and %zu integrals.\n",
                  from->pairs, from->evaluated);
    const bool pairs_bound = (bounds->worst | bounds->typical | bounds->asked) != 0;
    if (pairs_bound || bounds->evaluated + bounds->drawn > 0)
        nvdp__fprintf(
            to,
            "  Exact for %zu of the %zu evaluated pairs; upper bounds for %zu (among the %zu "
            "pairs of the mean: %zu), whose integral\n  exceeds double precision: for these "
            "pairs the bounds come from Renyi divergences.%s\n",
            from->evaluated - bounds->evaluated, from->evaluated, bounds->evaluated, from->drawn,
            bounds->drawn,
            pairs_bound ? "  In JSON, `bounds` of a pair lists the numbers that are upper bounds."
                        : "");
    fputc('\n', to);
}

void nvdp__privacy_report_tables(const struct nvdp_privacy_report *report,
                                 const struct nvdp__remedies *remedies, FILE *to) {
    const struct nvdp_epsilon_summary *epsilon = report->epsilon;
    print_exact(report->exact, to);
    print_divergences(report, remedies, to);
    if (epsilon->texts > 0) {
        nvdp__fprintf(to,
                      "Epsilon at delta %g for the same pairs and %d release%s of a text, an upper "
                      "bound converted from the divergences of all orders\n",
                      epsilon->delta, epsilon->releases, epsilon->releases == 1 ? "" : "s");
        nvdp__result_print(&epsilon_lines, epsilon, to);
        fputc('\n', to);
    }
    print_bayesian(report, remedies, to);
}

/* Prints how often a sample's text is identified, the proven bounds with and without the text's label, if there are
 * any, and the bound of any other guess. */
static void print_first(const struct nvdp_privacy_report *report, FILE *to) {
    const struct nvdp_linkage *linkage = report->linkage;
    if (nvdp__linkage_measured(linkage))
        nvdp__fprintf(to, "%s\n", nvdp__linkage_sentence(linkage).text);
    if (nvdp__linkage_measured(linkage) && !isnan(linkage->first_bound)) {
        const struct nvdp_linkage_labeled *labeled = &linkage->labeled;
        nvdp__fprintf(to, "Proven: at most %s are named by any attacker",
                      nvdp__share_bound(linkage->first_bound).text);
        if (labeled->labels > 1)
            nvdp__fprintf(to,
                          ", and at most %s by one who also has the labels (%zu labels: %.4g %% "
                          "without samples)",
                          nvdp__share_bound(labeled->first_bound).text, labeled->labels,
                          100 * labeled->first_chance);
        fputs(".\n", to);
    }
    if (report->guesses.count > 0) {
        const bool one = report->bdp.releases == 1;
        nvdp__fprintf(
            to,
            "Upper bounds for these %zu texts, all equally likely: a guess that is right %s of the "
            "time without %s of a text is right at most %s of the time with %s, on average; %s at "
            "most %s of the %.4g bits that identify the text.\n",
            report->pairs->texts,
            nvdp__baselines_text(report->guesses.count, report->guesses.guess).text,
            one ? "a sample" : "the samples",
            nvdp__bounds_text(report->guesses.count, report->guesses.guess).text,
            one ? "it" : "them", one ? "the sample carries" : "the samples carry",
            nvdp__bound(report->guesses.information / M_LN2).text,
            log2((double)report->pairs->texts));
    }
    fputc('\n', to);
}

void nvdp__privacy_report_summary(const void *report, FILE *to) {
    const struct nvdp_privacy_report from = whole(report);
    const struct nvdp_pairs_summary *pairs = from.pairs;
    print_first(&from, to);
    print_head(&from, to);
    nvdp__fprintf(to, "  %-44s %12s %12s\n", "between two of these texts, in nats", "largest",
                  "mean");
    if (from.bdp.releases > 1)
        nvdp__fprintf(to, "  (Renyi divergence: of one sample; epsilon: of %d samples)\n",
                      from.bdp.releases);
    nvdp__fprintf(to, "  Renyi divergence of order %-18.4g %12s %12s\n", pairs->order,
                  nvdp__bound(pairs->sum.max).text, nvdp__bound(pairs->sum.mean).text);
    nvdp__fprintf(to, "  epsilon at delta %-10.4g (upper bound)   %12s %12s\n", from.epsilon->delta,
                  nvdp__bound(from.epsilon->sum.max).text,
                  nvdp__bound(from.epsilon->sum.mean).text);
    if (from.exact != NULL)
        nvdp__fprintf(to, "  epsilon at delta %-10.4g (%s %12s %12s\n", from.exact->delta,
                      from.exact->bounds.evaluated > 0 ? "upper bound)  " : "exact)        ",
                      nvdp__bound(from.exact->worst.epsilon).text,
                      nvdp__bound(from.exact->mean).text);
    nvdp__fprintf(to, "  pairs that are infinitely far apart          %11.4g %%\n",
                  counted_pair_count(pairs) > 0
                      ? 100 * (double)pairs->infinite / counted_pair_count(pairs)
                      : 0);
}

void nvdp__privacy_report_print(const struct nvdp_privacy_report *report,
                                const struct nvdp__remedies *remedies, FILE *to) {
    const struct nvdp_privacy_report from = whole(report);
    print_first(&from, to);
    print_head(&from, to);
    nvdp__privacy_report_tables(&from, remedies, to);
    if (from.posterior != NULL) print_posterior(from.posterior, to);
}
