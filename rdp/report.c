/* Writes the report of a set of posteriors: one JSON object, text for people, and the sentence
 * about linkage. First the result tables, whose structs are the lines of tables and parts
 * of the JSON, then the pack_ functions, which make JSON, then the print_ functions;
 * nvdp_privacy_report_json and nvdp_privacy_report_text use them. */
#include "rdp/report.h"
#include "base/json.h"
#include "base/sentence.h"
#include "options/result.h"
#include "rdp/pairs.h"
#include <stdlib.h>
#include <string.h>

/* Copies the report of a caller whose struct may be an older, shorter one. */
static struct nvdp_privacy_report whole(const struct nvdp_privacy_report *report) {
    struct nvdp_privacy_report made = {0};
    memcpy(&made, report, nvdp__min(report->struct_size, sizeof made));
    return made;
}

static nvdp_status check_filled(struct nvdp_context *ctx,
                                const struct nvdp_privacy_report *report) {
    if (whole(report).pairs != NULL) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "privacy report: expected a report that a measurement filled, found an empty "
                      "one");
}

/* --- result tables --- */

#define SUMMARY(member, ...)                                                                       \
    NVDP_RESULT_ROW(struct nvdp_divergence_summary, member, "nats", NVDP_SCOPE_PAIR, -1,           \
                    __VA_ARGS__, .bound = 1)
#define QUANTILE(k, name_, label_)                                                                 \
    {                                                                                              \
        name_, NVDP_RESULT_REAL, "nats", NVDP_SCOPE_PAIR, -1, "quantile " name_,                   \
            NVDP_RESULT_AT(struct nvdp_divergence_summary, quantile[k]), .label = label_,          \
                                                                         .bound = 1                \
    }
/* as in nvdp__pair_quantile_level */
#define QUANTILES                                                                                  \
    QUANTILE(0, "0.5", "50 %"), QUANTILE(1, "0.9", "90 %"), QUANTILE(2, "0.95", "95 %"),           \
        QUANTILE(3, "0.99", "99 %"), QUANTILE(4, "0.999", "99.9 %")
_Static_assert(NVDP_PAIR_QUANTILES == 5, "a row per quantile");

static const struct nvdp_result_table quantile_table = {
    .name = "quantiles",
    .help = "quantiles over pairs",
    .rows = (const struct nvdp_result_row[]){QUANTILES, {0}}};

static const struct nvdp_result_table summary_table = {
    .name = "divergences",
    .help = "statistics of divergences, as JSON",
    .rows =
        (const struct nvdp_result_row[]){SUMMARY(max, "largest"),
                                         SUMMARY(mean, "mean"),
                                         SUMMARY(max_finite, "largest finite one"),
                                         SUMMARY(mean_finite, "mean of the finite ones"),
                                         {"quantiles", NVDP_RESULT_TABLE, "nats", NVDP_SCOPE_PAIR,
                                          -1, "nearest rank", .of = &quantile_table},
                                         {0}},
    .views = (const struct nvdp_result_view[]){{"json", NVDP_ABSENT_NAN, NULL}, {0}}};

static const struct nvdp_result_table summary_line = {
    .name = "divergences",
    .help = "statistics of divergences, as a line",
    .rows = (const struct nvdp_result_row[]){SUMMARY(max, "largest", .label = "max"),
                                             SUMMARY(mean, "mean", .label = "mean"),
                                             QUANTILES,
                                             {0}}};

#define LINE(struct_, member_, label_, table)                                                      \
    .name = #member_, .type = NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_PAIR,                         \
    NVDP_RESULT_AT(struct_, member_), .label = label_, .of = &table

static const struct nvdp_result_table pairs_lines = {
    .name = "pairs",
    .help = "divergences of all pairs",
    .rows = (const struct nvdp_result_row[]){
        {LINE(struct nvdp_pairs_summary, sum, "sum", summary_line)},
        {LINE(struct nvdp_pairs_summary, per_component, "per component", summary_line)},
        {LINE(struct nvdp_pairs_summary, per_component_dim, "per component, dim", summary_line),
         .after = "as in the published tables; not a privacy guarantee"},
        {0}}};

static const struct nvdp_result_table epsilon_lines = {
    .name = "epsilon",
    .help = "epsilons of all pairs",
    .rows = (const struct nvdp_result_row[]){
        {LINE(struct nvdp_epsilon_summary, sum, "epsilon", summary_line)}, {0}}};

#define BDP(name_, member, unit_, better_, help_, ...)                                             \
    {                                                                                              \
        name_, NVDP_RESULT_REAL, unit_, NVDP_SCOPE_FILE, better_, help_,                           \
            NVDP_RESULT_AT(struct nvdp_bdp_column, member), __VA_ARGS__                            \
    }
#define BDP_COUNT(name_, member, help_, ...)                                                       \
    {                                                                                              \
        name_, NVDP_RESULT_COUNT, "texts", NVDP_SCOPE_FILE, 0, help_,                              \
            NVDP_RESULT_AT(struct nvdp_bdp_column, member), __VA_ARGS__                            \
    }

/* If epsilon is infinite, every moment gives it: there is no best moment and no floor. */
static bool has_moment(const void *column) {
    return isfinite(((const struct nvdp_bdp_column *)column)->worst.epsilon);
}

static const struct nvdp_result_table bdp_table = {
    .name = "bdp",
    .help = "Bayesian DP of a set of texts",
    .rows =
        (const struct nvdp_result_row[]){
            BDP("epsilon", worst.epsilon, "nats", -1, "of the worst text", .label = "worst text",
                .bound = 1),
            BDP("mean_epsilon", mean_epsilon, "nats", -1, "mean over texts", .label = "mean",
                .bound = 1),
            BDP("moment", worst.moment, NULL, 0, "k of the worst text", .label = NULL),
            BDP("cost", worst.cost, "nats", -1, "c(k)", .label = NULL),
            BDP_COUNT("m", worst.m, "population", .label = NULL),
            BDP("t", worst.t, NULL, 0, "quantile of Student's t", .label = NULL),
            BDP("log_M", worst.log_mean, NULL, -1, "log of the mean", .label = "log M"),
            BDP("log_S", worst.log_sd, NULL, -1, "log of the standard deviation", .label = "log S"),
            BDP("max_X", worst.max, NULL, -1, "largest exponent", .label = "max X"),
            BDP("floor", floor, "nats", 0, "epsilon between equal texts at this k", .label = NULL),
            BDP_COUNT("worst_text", worst_text, "its index", .label = NULL),
            BDP_COUNT("infinite_texts", infinite_texts, "texts without a bound",
                      .label = "inf texts"),
            BDP("shown floor", floor, "nats", 0, "floor, if there is a moment", .label = "floor",
                .present = has_moment),
            BDP("shown moment", worst.moment, NULL, 0, "moment, if there is one",
                .label = "moment k", .present = has_moment),
            {0}},
    .views = (const struct nvdp_result_view[]){
        {"json", NVDP_ABSENT_NAN,
         (const struct nvdp_result_key[]){{.row = "shown floor", .absent = NVDP_ABSENT_HIDDEN},
                                          {.row = "shown moment", .absent = NVDP_ABSENT_HIDDEN},
                                          {0}}},
        {"terminal", .keys = (const struct nvdp_result_key[]){{.row = "epsilon"},
                                                              {.row = "mean_epsilon"},
                                                              {.row = "shown floor"},
                                                              {.row = "shown moment"},
                                                              {.row = "max_X"},
                                                              {.row = "log_M"},
                                                              {.row = "log_S"},
                                                              {.row = "infinite_texts"},
                                                              {0}}},
        {0}}};

static const struct nvdp_result_table bdp_lines = {
    .name = "bdp",
    .help = "Bayesian DP at two moments",
    .rows = (const struct nvdp_result_row[]){
        {LINE(struct nvdp_privacy_report, published, "published k", bdp_table), .indirect = true},
        {LINE(struct nvdp_privacy_report, best, "best k", bdp_table), .indirect = true},
        {0}}};

#define EXACT(member, ...) NVDP_RESULT_ROW(struct nvdp_exact_pair, member, __VA_ARGS__)
#define TPR(k, label_)                                                                             \
    {                                                                                              \
        label_, NVDP_RESULT_REAL, NULL, NVDP_SCOPE_PAIR, -1, "power of the best test",             \
            NVDP_RESULT_AT(struct nvdp_exact_pair, tpr[k]), .label = label_                        \
    }

static const struct nvdp_result_table exact_line = {
    .name = "exact",
    .help = "exact privacy loss of a pair",
    .rows = (const struct nvdp_result_row[]){
        EXACT(epsilon, "nats", NVDP_SCOPE_PAIR, -1, "epsilon at delta", .label = "epsilon",
              .bound = 1),
        EXACT(mu, NULL, NVDP_SCOPE_PAIR, -1, "mu of Gaussian DP", .label = "GDP mu"),
        TPR(3, "TPR at 1 %"),
        TPR(5, "TPR at 10 %"), /* nvdp__exact_fpr */
        EXACT(p, NULL, NVDP_SCOPE_PAIR, 0, "index of P", .label = "text P"),
        EXACT(q, NULL, NVDP_SCOPE_PAIR, 0, "index of Q", .label = "text Q"),
        {0}}};

/* The pairs to show: exact ones, or ones whose epsilon is an upper bound. */
struct exact_pairs {
    const struct nvdp_exact_pair *worst[2], *typical[2], *asked[2];
};
#define EXACT_LINES(member, label_)                                                                \
    {LINE(struct exact_pairs, member[0], label_, exact_line), .indirect = true}, {                 \
        LINE(struct exact_pairs, member[1], label_ ", at most", exact_line), .indirect = true      \
    }

static const struct nvdp_result_table exact_lines = {
    .name = "exact",
    .help = "exact privacy loss of chosen pairs",
    .rows = (const struct nvdp_result_row[]){EXACT_LINES(worst, "worst pair"),
                                             EXACT_LINES(typical, "typical pair"),
                                             EXACT_LINES(asked, "requested pair"),
                                             {0}}};

/* --- JSON. json_pack keeps the order of its members, takes ownership of its arguments, and
 * fails if any of them is NULL --- */

#define number nvdp__json_number

/* Returns {"0.5": value, ...} from pack(&from[level * size]). */
static json_t *by_level(int levels, const double *level, const void *from, size_t size,
                        json_t *pack(const void *)) {
    json_t *object = json_object();
    for (int k = 0; k < levels; k++) {
        char key[16];
        nvdp__snprintf(key, sizeof key, "%g", level[k]);
        if (json_object_set_new(object, key, pack((const char *)from + (size_t)k * size)) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *pack_number(const void *from) {
    return number(*(const double *)from);
}

static json_t *pack_interval(const void *from) {
    const struct nvdp_interval *interval = from;
    return json_pack("[o,o]", number(interval->low), number(interval->high));
}

/* Adds the summary after the members of `into`, which it takes ownership of; NULL: none. */
static json_t *pack_into(json_t *into, const struct nvdp_divergence_summary *from,
                         const char *note) {
    json_t *argmax = json_pack("[I,I]", (json_int_t)from->max_p, (json_int_t)from->max_q);
    if (into == NULL) into = json_object();
    if (json_object_set_new(into, "argmax", argmax) == 0 &&
        nvdp__result_put(into, &summary_table, "json", from) &&
        (note == NULL || json_object_set_new(into, "note", json_string(note)) == 0))
        return into;
    json_decref(into);
    return NULL;
}

static json_t *pack_summary(const struct nvdp_divergence_summary *from, const char *note) {
    return pack_into(NULL, from, note);
}

/* The names of a cause: the part of the sample and its quantity. */
static const char *const cause_names[NVDP_INFINITE_CAUSES][2] = {
    [NVDP_INFINITE_LENGTHS] = {"text", "length"},
    [NVDP_INFINITE_TOKEN_LOGVAR] = {"token", "logvar"},
    [NVDP_INFINITE_TOKEN_ALPHA] = {"token", "alpha"},
    [NVDP_INFINITE_TOKEN_MU] = {"token", "mu"},
    [NVDP_INFINITE_PADDING_LOGVAR] = {"padding", "logvar"},
    [NVDP_INFINITE_PADDING_ALPHA] = {"padding", "alpha"},
    [NVDP_INFINITE_PADDING_MU] = {"padding", "mu"},
    [NVDP_INFINITE_RANGE] = {"sum", "range"},
};

/* null if no pair is infinite. */
static json_t *pack_infinite(const struct nvdp_infinite_summary *from) {
    if (from == NULL || from->infinite == 0) return json_null();
    json_t *causes = json_array();
    for (int k = 0; k < NVDP_INFINITE_CAUSES; k++) {
        const struct nvdp_infinite_part *part = &from->cause[k];
        if (part->pairs == 0) continue;
        const bool placed = part->place_pairs > 0;
        const bool has_dim = placed && strcmp(cause_names[k][1], "alpha") != 0;
        json_array_append_new(
            causes,
            json_pack("{s:s, s:s, s:I, s:o, s:o, s:I, s:o, s:o}", "component", cause_names[k][0],
                      "quantity", cause_names[k][1], "pairs", (json_int_t)part->pairs, "share",
                      number((double)part->pairs / (double)from->infinite), "place",
                      placed ? json_integer((json_int_t)part->place) : json_null(), "place_pairs",
                      (json_int_t)part->place_pairs, "dim",
                      has_dim ? json_integer((json_int_t)part->dim) : json_null(), "ratio",
                      number(placed ? part->ratio : NAN)));
    }
    return json_pack("{s:o, s:o, s:I, s:I, s:o, s:o}", "order", number(from->order), "limit",
                     number(from->limit), "infinite", (json_int_t)from->of, "looked_at",
                     (json_int_t)from->pairs, "finite_below", number(from->finite_below), "causes",
                     causes);
}

/* True if the two texts have different rows; an older caller's report has none. */
static bool has_rows(const struct nvdp_privacy_report *report) {
    return report->row_p >= 0 && report->row_p != report->row_q;
}

/* The rows of rd.sum's argmax; null if the texts have no row numbers. */
static json_t *pack_rows(const struct nvdp_privacy_report *from) {
    if (!has_rows(from)) return json_null();
    return json_pack("{s:I, s:I, s:s*}", "p", (json_int_t)from->row_p, "q", (json_int_t)from->row_q,
                     "split", from->split[0] != '\0' ? from->split : NULL);
}

static json_t *pack_epsilon(const struct nvdp_epsilon_summary *from) {
    if (from->texts == 0) return json_null();
    return pack_into(json_pack("{s:o, s:s, s:i, s:I, s:I, s:I}", "delta", number(from->delta),
                               "from", "renyi", "releases", from->releases, "texts",
                               (json_int_t)from->texts, "pairs", (json_int_t)from->pairs,
                               "infinite", (json_int_t)from->infinite),
                     &from->sum,
                     "the minimum over the orders of the divergences, and at most the epsilon that "
                     "a sequence clip proves: an upper bound on the exact value");
}

static json_t *pack_column(const struct nvdp_bdp_column *from,
                           const struct nvdp_infinite_summary *why) {
    json_t *object = nvdp__result_json(&bdp_table, "json", from);
    json_object_set_new(object, "infinite_pairs",
                        from->infinite_texts > 0 ? pack_infinite(why) : json_null());
    return object;
}

static json_t *pack_bayesian(const struct nvdp_privacy_report *report) {
    return json_pack("{s:o, s:o, s:i, s:I, s:b, s:o, s:o}", "delta", number(report->bdp_delta),
                     "gamma", number(report->bdp_gamma), "releases", report->bdp_releases, "texts",
                     (json_int_t)report->bdp_texts, "small_population",
                     (int)report->small_population, "published",
                     pack_column(report->published, report->infinite_published), "best",
                     pack_column(report->best, report->infinite_best));
}

/* The estimates from drawn pairs; null if every pair was computed. */
static json_t *pack_sample(const struct nvdp_pairs_sample *from) {
    if (from->drawn == 0) return json_null();
    return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:s}", "drawn", (json_int_t)from->drawn,
                     "summed_for_max", (json_int_t)from->summed, "confidence",
                     number(from->confidence), "mean", pack_interval(&from->mean), "mean_bound",
                     pack_interval(&from->mean_bound), "quantiles",
                     by_level(NVDP_PAIR_QUANTILES, nvdp__pair_quantile_level, from->quantile,
                              sizeof from->quantile[0], pack_interval),
                     "infinite_share", pack_interval(&from->infinite_share), "note",
                     "max is exact over all pairs; mean, quantiles and infinite are estimated from "
                     "the drawn pairs; intervals belong to rd.sum");
}

static json_t *pack_spread(const struct nvdp_spread *from, bool there) {
    if (!there) return json_null();
    return json_pack("{s:o, s:o}", "mean", number(from->mean), "quantiles",
                     by_level(NVDP_SPREAD_QUANTILES, nvdp__spread_level, from->quantile,
                              sizeof from->quantile[0], pack_number));
}

static json_t *pack_alpha(const struct nvdp_posterior_summary *from) {
    if (!from->weighted) return json_null();
    json_t *counts = json_array();
    for (int bin = 0; bin < NVDP_ALPHA_BINS; bin++) {
        json_array_append_new(counts, json_integer((json_int_t)from->alpha_bin[bin]));
    }
    return json_pack("{s:o, s:o, s:o, s:I, s:I}", "counts", counts, "first",
                     number(NVDP_ALPHA_FIRST), "width", number(NVDP_ALPHA_WIDTH), "below",
                     (json_int_t)from->alpha_below, "above", (json_int_t)from->alpha_above);
}

static json_t *pack_posterior(const struct nvdp_posterior_summary *from) {
    if (from == NULL) return json_null(); /* not a report of posteriors */
    return json_pack(
        "{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "texts", (json_int_t)from->texts, "tokens",
        (json_int_t)from->tokens, "effective_vectors", pack_spread(&from->vectors, from->weighted),
        "effective_vectors_l2", pack_spread(&from->vectors_l2, from->weighted), "token_share",
        pack_spread(&from->token_share, from->weighted), "mean_abs_mu", number(from->mean_abs_mu),
        "mean_sigma", number(from->mean_sigma), "log10_alpha", pack_alpha(from));
}

static bool is_weighted(const struct nvdp_privacy_report *report) {
    return report->posterior != NULL && report->posterior->weighted;
}

/* The proven bound; null if there is none. */
static json_t *pack_bound(const struct nvdp_privacy_report *report) {
    if (!(report->clip_sequence > 0)) return json_null();
    return json_pack("{s:o, s:o, s:o, s:s}", "clip_sequence", number(report->clip_sequence), "sum",
                     number(report->bound), "loss", number(report->bound_loss), "scope",
                     isinf(report->bound) && is_weighted(report)
                         ? "the vectors alone would have the bound 2 order C^2; no bound is proven "
                           "for the weights"
                         : "upper bound for one release of any two texts, measured or not; S "
                           "releases cost S times as much");
}

/* Returns the names of the numbers in a set of enum nvdp_exact_number. */
static json_t *pack_bounds(unsigned set) {
    static const char *const name[] = {"epsilon", "curve", "gdp_mu", "trade_off"};
    json_t *names = json_array();
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if ((set & 1u << i) != 0) json_array_append_new(names, json_string(name[i]));
    return names;
}

static json_t *pack_exact_pair(const char *which, const struct nvdp_exact_pair *from,
                               unsigned bounds) {
    json_t *curve = json_array(), *trade_off = json_array();
    for (size_t i = 0; i < from->points; i++)
        json_array_append_new(curve,
                              json_pack("{s:o, s:o}", "epsilon", number(from->curve[i].epsilon),
                                        "delta", number(from->curve[i].delta)));
    for (size_t i = 0; i < NVDP_EXACT_FPRS; i++)
        json_array_append_new(trade_off, json_pack("{s:o, s:o}", "fpr", number(nvdp__exact_fpr[i]),
                                                   "tpr", number(from->tpr[i])));
    return json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "which", which, "p",
                     (json_int_t)from->p, "q", (json_int_t)from->q, "epsilon",
                     number(from->epsilon), "strip", number(from->strip), "gdp_mu",
                     number(from->mu), "curve", curve, "trade_off", trade_off, "bounds",
                     pack_bounds(bounds));
}

static json_t *pack_exact(const struct nvdp_exact_summary *from,
                          const struct nvdp_exact_bounds *bounds) {
    if (from == NULL) return json_null();
    json_t *pairs = json_array();
    json_array_append_new(pairs, pack_exact_pair("worst", &from->worst, bounds->worst));
    json_array_append_new(pairs, pack_exact_pair("typical", &from->typical, bounds->typical));
    if (from->asked.points > 0)
        json_array_append_new(pairs, pack_exact_pair("asked", &from->asked, bounds->asked));
    return json_pack(
        "{s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:o}", "delta",
        number(from->delta), "releases", from->releases, "worst", number(from->worst.epsilon),
        "mean", number(from->mean), "mean_finite", number(from->mean_finite), "mean_interval",
        pack_interval(&from->mean_interval), "confidence", number(from->confidence), "of_pairs",
        (json_int_t)from->pairs, "evaluated", (json_int_t)from->evaluated, "drawn",
        (json_int_t)from->drawn, "infinite", (json_int_t)from->infinite, "worst_is_bound",
        (bounds->worst & NVDP_EXACT_EPSILON) != 0, "bounded_evaluated",
        (json_int_t)bounds->evaluated, "bounded_drawn", (json_int_t)bounds->drawn, "pairs", pairs);
}

/* --- linkage --- */

/* Prints a percentage with two digits, three near 100; a share below 1 never becomes 100. */
static const char *percent(double share, char text[16]) {
    const double per_cent = 100 * share;
    const bool near = per_cent >= 99.5 && per_cent < 100;
    nvdp__snprintf(text, 16, per_cent < 9.95 ? "%.2g" : near ? "%.1f" : "%.0f", per_cent);
    if (share < 1 && per_cent > 99.9) nvdp__snprintf(text, 16, "more than 99.9");
    return text;
}

void nvdp_linkage_sentence(const struct nvdp_linkage *linkage, char out[NVDP_LINKAGE_SENTENCE]) {
    const struct nvdp_linkage_labeled *labeled = &linkage->labeled;
    char a[16], low[16], high[16], chance[16], drawn[64] = "", given[64] = "the samples",
                                               labels[160] = "";
    if (labeled->labels > 1)
        nvdp__snprintf(labels, sizeof labels,
                       "; a reader who also has the labels of the samples, for %s %% (%s to %s %%; "
                       "chance: %s %%)",
                       percent(labeled->first, a), percent(labeled->first_interval.low, low),
                       percent(labeled->first_interval.high, high),
                       percent(labeled->first_chance, chance));
    if (linkage->of_texts > linkage->texts)
        nvdp__snprintf(drawn, sizeof drawn, ", drawn from %zu,", linkage->of_texts);
    if (linkage->releases > 1)
        nvdp__snprintf(given, sizeof given, "the texts, given %d samples each", linkage->releases);
    nvdp__snprintf(out, NVDP_LINKAGE_SENTENCE,
                   "Someone who has the model and these %zu texts%s names the right text for %s %% "
                   "of %s (%g %% interval: %s to %s %%; chance: %s %%)%s.",
                   linkage->texts, drawn, percent(linkage->first, a), given,
                   100 * linkage->confidence, percent(linkage->first_interval.low, low),
                   percent(linkage->first_interval.high, high),
                   percent(linkage->first_chance, chance), labels);
}

static bool is_measured(const struct nvdp_linkage *linkage) {
    return linkage != NULL && linkage->texts > 0;
}

static void print_share(struct nvdp_result_lines *to, const char *name, double share,
                        const struct nvdp_interval *interval, double chance, double bound) {
    char text[NVDP__BOUND_TEXT];
    nvdp_result_line(to, name, "%.2f %% (%.2f to %.2f), chance %.2f %%%s%s", 100 * share,
                     100 * interval->low, 100 * interval->high, 100 * chance,
                     isnan(bound) ? "" : ", proven at most ",
                     isnan(bound) ? "" : nvdp__share_bound(text, bound));
}

static void print_guesses(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_linkage *found = result;
    const struct nvdp_linkage_labeled *labeled = &found->labeled;
    nvdp_result_line(to, "guesses",
                     "%zu with %d sample%s each, among %zu texts; intervals at %g %%",
                     found->trials, found->releases, found->releases == 1 ? "" : "s", found->texts,
                     100 * found->confidence);
    print_share(to, "the right text", found->first, &found->first_interval, found->first_chance,
                found->first_bound);
    print_share(to, "among the top ten", found->ten, &found->ten_interval, found->ten_chance,
                found->ten_bound);
    if (labeled->labels > 1) {
        print_share(to, "with the label", labeled->first, &labeled->first_interval,
                    labeled->first_chance, labeled->first_bound);
        print_share(to, "ten with label", labeled->ten, &labeled->ten_interval, labeled->ten_chance,
                    labeled->ten_bound);
    }
    nvdp_result_line(to, "without noise",
                     "%.2f %% name the right text; texts with equal posteriors share a guess",
                     100 * found->states);
    nvdp_result_line(to, "information", "%.3f nats (%.3f to %.3f) of the possible log %zu = %.3f",
                     found->information, found->information_interval.low,
                     found->information_interval.high, found->texts, log((double)found->texts));
}

static bool has_labels(const void *linkage) {
    return ((const struct nvdp_linkage *)linkage)->labeled.labels > 0;
}

/* clang-format off */
#define LINKAGE(member, unit, better, ...) \
    NVDP_RESULT_ROW(struct nvdp_linkage, member, unit, NVDP_SCOPE_FILE, better, __VA_ARGS__)
#define LABELED(member, better, ...) \
    NVDP_RESULT_ROW(struct nvdp_linkage_labeled, member, NULL, NVDP_SCOPE_FILE, better, __VA_ARGS__)
#define INTERVAL(type, member) \
    {#member "_interval", NVDP_RESULT_INTERVAL, .help = "its interval at the confidence", \
     NVDP_RESULT_AT(type, member##_interval.low), .high = offsetof(type, member##_interval.high)}

static const struct nvdp_result_table labeled_table = {
    .name = "labeled", .help = "the same for a reader who has the label of each sample's text",
    .size = sizeof(struct nvdp_linkage_labeled),
    .rows = (const struct nvdp_result_row[]){
        LABELED(labels, 0, "number of different labels"),
        LABELED(first, -1, "share of samples whose text is the most likely one among the texts with the same label"),
        INTERVAL(struct nvdp_linkage_labeled, first),
        LABELED(first_chance, 0, "the same without samples: labels/texts"),
        LABELED(ten, -1, "share of samples whose text is among the ten most likely texts with the same label"),
        INTERVAL(struct nvdp_linkage_labeled, ten),
        LABELED(ten_chance, 0, "the same without samples"),
        LABELED(first_bound, -1, "proven bound of first"),
        LABELED(ten_bound, -1, "proven bound of ten"),
        {0}}};

const struct nvdp_result_table nvdp__result_linkage = {
    .name = "linkage", .help = "how often the text of a sample is named among all texts", .sized = true,
    .rows = (const struct nvdp_result_row[]){
        LINKAGE(texts, "texts", 0, "texts to name"),
        LINKAGE(of_texts, "texts", 0, "texts that they were drawn from"),
        LINKAGE(releases, "samples", 0, "samples per guess"),
        LINKAGE(trials, "guesses", 0, "number of guesses", .print = print_guesses),
        LINKAGE(confidence, NULL, 0, "confidence of the intervals"),
        LINKAGE(first, NULL, -1, "share whose text is the most likely"),
        INTERVAL(struct nvdp_linkage, first),
        LINKAGE(first_chance, NULL, 0, "the same without samples"),
        LINKAGE(ten, NULL, -1, "share whose text is among the ten most likely"),
        INTERVAL(struct nvdp_linkage, ten),
        LINKAGE(ten_chance, NULL, 0, "the same without samples"),
        LINKAGE(information, "nats", -1, "estimated information between text and samples"),
        INTERVAL(struct nvdp_linkage, information),
        LINKAGE(states, NULL, -1, "share named without noise"),
        LINKAGE(first_bound, NULL, -1, "proven bound of first"),
        LINKAGE(ten_bound, NULL, -1, "proven bound of ten"),
        {"labeled", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE, .help = "the same with labels; absent if the texts have none", .of = &labeled_table,
         .present = has_labels, NVDP_RESULT_AT(struct nvdp_linkage, labeled)},
        LINKAGE(named, NULL, -1, "larger share of first and labeled.first"),
        INTERVAL(struct nvdp_linkage, named),
        {0}}};
/* clang-format on */

static json_t *pack_linkage(const struct nvdp_linkage *from) {
    char sentence[NVDP_LINKAGE_SENTENCE];
    if (!is_measured(from)) return json_null();
    nvdp_linkage_sentence(from, sentence);
    json_t *object = json_pack("{s:s}", "sentence", sentence);
    if (object != NULL && nvdp__result_put(object, &nvdp__result_linkage, "json", from))
        return object;
    json_decref(object);
    return NULL;
}

nvdp_status nvdp_linkage_json(struct nvdp_context *ctx, const struct nvdp_linkage *linkage,
                              char **out) {
    return nvdp__json_text(ctx, pack_linkage(linkage), "linkage", out);
}

json_t *nvdp__privacy_report_pack(const struct nvdp_privacy_report *report) {
    const struct nvdp_pairs_summary *pairs = report->pairs;
    size_t counted = pairs->sample.drawn > 0 ? pairs->sample.drawn : pairs->pairs;
    double share = counted > 0 ? (double)pairs->infinite / (double)counted : 0;
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:i, s:o, s:s, s:I, s:I, s:I, s:o, s:o,"
        " s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s*}",
        "method", report->method, "units", "nats", "scope",
        "measured on the given texts; not a bound over all texts", "adjacency",
        pairs->adjacency == NVDP_ADJACENT_SAME_LENGTH ? "same-length" : "all", "length_policy",
        report->policy == NVDP_LENGTH_HIDDEN ? "hidden" : "public", "components",
        (json_int_t)report->components, "dim", (json_int_t)report->dim, "kappa", report->kappa,
        "order", number(pairs->order), "arithmetic",
        pairs->arithmetic == NVDP_PAIRS_EXACT ? "exact" : "fast", "n", (json_int_t)pairs->texts,
        "pairs", (json_int_t)pairs->pairs, "infinite", (json_int_t)pairs->infinite,
        "infinite_share", number(share), "infinite_pairs", pack_infinite(report->infinite),
        "argmax_rows", pack_rows(report), "sample", pack_sample(&pairs->sample), "bound",
        pack_bound(report), "rd", "sum",
        pack_summary(&pairs->sum, "for one release of a text; S releases cost S times as much"),
        "per_component", pack_summary(&pairs->per_component, NULL), "per_component_dim",
        pack_summary(&pairs->per_component_dim,
                     "as in the published tables; not a privacy guarantee"),
        "epsilon", pack_epsilon(report->epsilon), "exact",
        pack_exact(report->exact, report->exact_bounds), "bdp", pack_bayesian(report), "posterior",
        pack_posterior(report->posterior), "linkage", pack_linkage(report->linkage), "guess",
        nvdp__guesses_json(report->guesses, report->guess), "information_bits",
        report->guesses > 0 ? number(report->information / M_LN2) : json_null(), "digest",
        report->digest[0] != '\0' ? report->digest : NULL);
}

nvdp_status nvdp_privacy_report_json(struct nvdp_context *ctx,
                                     const struct nvdp_privacy_report *report, char **out) {
    NVDP_TRY(check_filled(ctx, report));
    const struct nvdp_privacy_report from = whole(report);
    json_t *object = nvdp__privacy_report_pack(&from);
    if (object == NULL)
        return nvdp__fail(ctx, NVDP_ERR_NUMERIC,
                          "privacy report: expected a method name in UTF-8, which JSON needs, "
                          "found other bytes, or ran out of memory");
    return nvdp__json_text(ctx, object, "privacy report", out);
}

/* --- Text for people --- */

enum { CELL = 24 };

/* Prints finite numbers with four digits. */
static const char *say(char text[CELL], double value) {
    if (isnan(value)) {
        nvdp__snprintf(text, CELL, "-");
    } else if (isinf(value)) {
        nvdp__snprintf(text, CELL, "%s", value > 0 ? "inf" : "-inf");
    } else if (value != 0 && (fabs(value) < 1e-3 || fabs(value) >= 1e7)) {
        nvdp__snprintf(text, CELL, "%.3e", value);
    } else {
        nvdp__snprintf(text, CELL, "%.4f", value);
    }
    return text;
}

/* Prints a percentage that is never rounded to 0 or 100. */
static const char *say_share(char text[CELL], size_t part, size_t all) {
    const double share = 100.0 * (double)part / (double)all;
    if (part > 0 && share < 0.1) {
        nvdp__snprintf(text, CELL, "less than 0.1");
    } else if (part < all && share > 99.9) {
        nvdp__snprintf(text, CELL, "more than 99.9");
    } else {
        nvdp__snprintf(text, CELL, "%.1f", share);
    }
    return text;
}

static void print_head(const struct nvdp_privacy_report *report, FILE *to) {
    const struct nvdp_pairs_summary *pairs = report->pairs;
    const char *one = report->bdp_releases > 1 ? " in one sample" : "";
    char radius[NVDP__BOUND_TEXT], bound[NVDP__BOUND_TEXT];
    nvdp__fprintf(to, "Privacy of %zu texts", pairs->texts);
    if (report->method[0] != '\0') nvdp__fprintf(to, ", method %s", report->method);
    nvdp__fprintf(to, "\nA sample has %s%zu component%s of %zu dimension%s",
                  report->policy == NVDP_LENGTH_HIDDEN ? "" : "up to ", report->components,
                  report->components == 1 ? "" : "s", report->dim, report->dim == 1 ? "" : "s");
    if (report->kappa > 1) nvdp__fprintf(to, ", %d vectors per component", report->kappa);
    nvdp__fprintf(to, "; length %s.\n",
                  report->policy != NVDP_LENGTH_HIDDEN ? "public (different lengths: inf)"
                  : report->components == 1 ? "not shared, but the vector may depend on it"
                                            : "hidden");
    fputs("Measured on the given texts; not a bound over all texts.\n", to);
    if (report->clip_sequence > 0 && !is_weighted(report))
        nvdp__fprintf(to,
                      "Proven by the sequence clip C = %s: at order %g, any two texts, measured or "
                      "not, differ by at most %s nats%s.\n",
                      nvdp__bound(radius, report->clip_sequence), report->pairs->order,
                      nvdp__bound(bound, report->bound), one);
    if (report->clip_sequence > 0 && isfinite(report->bound_loss))
        nvdp__fprintf(to,
                      "The privacy loss between any two texts is at most %s nats%s, which is an "
                      "epsilon at delta 0.\n",
                      nvdp__bound(bound, report->bound_loss), one);
    fputc('\n', to);
}

static void print_infinite(const struct nvdp_pairs_summary *pairs, FILE *to) {
    if (pairs->infinite == 0) {
        fputs("  No pair is infinite.\n", to);
        return;
    }
    char max[CELL], mean[CELL], said[CELL];
    nvdp__fprintf(to, "  %s %% of pairs are infinite (%zu): max and mean are inf; ",
                  say_share(said, pairs->infinite, pairs->pairs), pairs->infinite);
    if (pairs->infinite == pairs->pairs) {
        fputs("no pair is finite.\n", to);
        return;
    }
    nvdp__fprintf(
        to,
        "over the finite pairs only, the sum has max %s and mean %s (not a privacy statement).\n",
        say(max, pairs->sum.max_finite), say(mean, pairs->sum.mean_finite));
}

/* Prints the causes, most frequent first, and what removes them.  A lower order removes nothing: the samples stay the same. */
static void print_causes(const struct nvdp_infinite_summary *from, bool exact,
                         const struct nvdp__remedies *remedies, FILE *to) {
    static const char *const said[2][3] = {
        {"variance of a token and of another text's token",
         "pseudo-count of a token and of another text's token",
         "mean of a token and of another text's token"},
        {"variance of a token and of padding", "pseudo-count of a token and of padding",
         "mean of a token and of padding"},
    };
    bool shown[NVDP_INFINITE_CAUSES] = {false};
    if (from == NULL || from->infinite == 0) return;
    const struct nvdp_infinite_part *cause = from->cause;
    nvdp__fprintf(to, "  Causes at order %g", from->order);
    if (isfinite(from->limit))
        nvdp__fprintf(to, " (a ratio must be below %.4g to be finite)", from->limit);
    if (from->pairs < from->of) nvdp__fprintf(to, ", among %zu drawn pairs", from->pairs);
    fputs("; a pair can have several causes:\n", to);
    for (;;) {
        int most = -1;
        for (int k = 0; k < NVDP_INFINITE_CAUSES; k++)
            if (!shown[k] && cause[k].pairs > 0 && (most < 0 || cause[k].pairs > cause[most].pairs))
                most = k;
        if (most < 0) break;
        const struct nvdp_infinite_part *part = &cause[most];
        shown[most] = true;
        char share[CELL];
        nvdp__fprintf(to, "    %5s %%  ", say_share(share, part->pairs, from->infinite));
        if (most == NVDP_INFINITE_LENGTHS || most == NVDP_INFINITE_RANGE) {
            nvdp__fprintf(to, "%s\n",
                          most == NVDP_INFINITE_LENGTHS ? "the lengths, which are public, differ"
                                                        : "the sum exceeds the range of double");
            continue;
        }
        const int padding = most >= NVDP_INFINITE_PADDING_LOGVAR;
        const int quantity =
            most - (padding ? NVDP_INFINITE_PADDING_LOGVAR : NVDP_INFINITE_TOKEN_LOGVAR);
        nvdp__fprintf(to, "%s are too far apart, most often in vector %zu", said[padding][quantity],
                      part->place);
        if (quantity != 1) nvdp__fprintf(to, ", dimension %zu", part->dim);
        if (quantity != 2) nvdp__fprintf(to, "; ratio up to %.4g", part->ratio);
        fputc('\n', to);
    }
    if (remedies != NULL) remedies->infinite(from, exact, to);
}

/* Prints "a to b". */
static void print_interval(FILE *to, const char *name, const struct nvdp_interval *from) {
    char low[CELL], high[CELL];
    nvdp__fprintf(to, "%s %s to %s", name, say(low, from->low), say(high, from->high));
}

/* Prints the estimates from drawn pairs, and which numbers are exact. */
static void print_sample(const struct nvdp_pairs_summary *pairs, FILE *to) {
    const struct nvdp_pairs_sample *sample = &pairs->sample;
    char mean[CELL];
    nvdp__fprintf(to,
                  "  max is exact over all pairs: upper bounds excluded all pairs but %zu, whose "
                  "sums were computed. The other numbers\n  are estimated from %zu pairs drawn "
                  "uniformly. %g %% intervals of the sum:\n   ",
                  sample->summed, sample->drawn, 100 * sample->confidence);
    if (isfinite(pairs->sum.max)) {
        print_interval(to, " mean", &sample->mean);
        print_interval(to, " (for any distribution:", &sample->mean_bound);
        fputs(");\n   ", to);
    }
    for (int level = 0; level < NVDP_PAIR_QUANTILES; level++) {
        char name[CELL];
        nvdp__snprintf(name, sizeof name, " %g %%:", 100 * nvdp__pair_quantile_level[level]);
        print_interval(to, name, &sample->quantile[level]);
        fputs(level + 1 < NVDP_PAIR_QUANTILES ? ";" : ".\n", to);
    }
    if (isfinite(pairs->sum.max)) {
        fputs("  None of all pairs is infinite.\n", to);
        return;
    }
    nvdp__fprintf(
        to,
        "  Some pairs are infinite, so max and mean are inf: %zu of the drawn pairs, and %.3g to "
        "%.3g %% of all pairs. Over the\n  finite drawn pairs only, the sum has mean %s",
        pairs->infinite, 100 * sample->infinite_share.low, 100 * sample->infinite_share.high,
        say(mean, pairs->sum.mean_finite));
    print_interval(to, ",", &sample->mean);
    fputs(" (not a privacy statement).\n", to);
}

static void print_divergences(const struct nvdp_privacy_report *report,
                              const struct nvdp__remedies *remedies, FILE *to) {
    const struct nvdp_pairs_summary *pairs = report->pairs;
    int releases = report->bdp_releases;
    char note[64] = "";
    if (releases > 1)
        nvdp__snprintf(note, sizeof note, "; %d releases cost %d times as much", releases,
                       releases);
    bool same = pairs->adjacency == NVDP_ADJACENT_SAME_LENGTH;
    bool exact = pairs->arithmetic == NVDP_PAIRS_EXACT;
    nvdp__fprintf(to,
                  "Renyi divergence of order %g in nats, over %zu ordered pairs%s, of one "
                  "release%s\n",
                  pairs->order, pairs->pairs, same ? " of the same length" : "", note);
    nvdp__fprintf(to, "  Arithmetic: %s.\n",
                  exact ? "exact, within 1e-12" : "fast, within 1e-6 (maxima within 1e-12)");
    nvdp__result_print(&pairs_lines, pairs, to);
    if (pairs->sample.drawn > 0) {
        print_sample(pairs, to);
    } else {
        print_infinite(pairs, to);
    }
    print_causes(report->infinite, report->exact != NULL, remedies, to);
    nvdp__fprintf(to,
                  "  The largest sum is between text %zu and text %zu, numbered from 0 among the "
                  "measured texts",
                  pairs->sum.max_p, pairs->sum.max_q);
    if (has_rows(report))
        nvdp__fprintf(to, ": rows %lld and %lld of %s, counted from 0 after the header",
                      (long long)report->row_p, (long long)report->row_q,
                      report->split[0] != '\0' ? report->split : "their file");
    fputs(".\n\n", to);
}

static void print_epsilon(const struct nvdp_epsilon_summary *from, FILE *to) {
    if (from->texts == 0) return;
    nvdp__fprintf(to,
                  "Epsilon at delta %g for the same pairs and %d release%s of a text, an upper "
                  "bound converted from the divergences of all orders\n",
                  from->delta, from->releases, from->releases == 1 ? "" : "s");
    nvdp__result_print(&epsilon_lines, from, to);
    fputc('\n', to);
}

/* NULL: the causes are not known. */
static size_t infinite_pairs(const struct nvdp_infinite_summary *from) {
    return from != NULL ? from->infinite : 0;
}

/* Texts with fewer than two adjacent texts have no bound, even if their divergences are finite. */
static void print_lonely(const struct nvdp_privacy_report *report, FILE *to) {
    if (report->published->worst.m >= 2) return;
    if (infinite_pairs(report->infinite_published) == 0 && report->pairs->infinite == 0)
        nvdp__fprintf(to, "  %zu of the texts have", report->published->infinite_texts);
    else
        fputs("  Some texts have", to);
    nvdp__fprintf(to, " fewer than two other texts%s to compare with, so the bound is inf.\n",
                  report->pairs->adjacency == NVDP_ADJACENT_SAME_LENGTH ? " of the same length"
                                                                        : "");
}

static void print_bayesian(const struct nvdp_privacy_report *report,
                           const struct nvdp__remedies *remedies, FILE *to) {
    char t[CELL];
    nvdp__fprintf(to, "Bayesian DP: epsilon at delta %g, gamma %g, %d release%s of a text\n",
                  report->bdp_delta, report->bdp_gamma, report->bdp_releases,
                  report->bdp_releases == 1 ? "" : "s");
    if (report->bdp_texts < report->pairs->texts)
        nvdp__fprintf(to, "  among %zu of the texts, drawn uniformly\n", report->bdp_texts);
    nvdp__result_print(&bdp_lines, report, to);
    nvdp__fprintf(to,
                  "  floor: log(1/delta)/k, the epsilon between equal texts at this k.  Population "
                  "m = %zu, Student t = %s.\n",
                  report->published->worst.m, say(t, report->published->worst.t));
    if (report->published->infinite_texts > 0 && infinite_pairs(report->infinite_published) > 0) {
        nvdp__fprintf(to, "  published k: infinite, because %zu pairs are infinite.\n",
                      report->infinite_published->of);
        print_causes(report->infinite_published, report->exact != NULL, remedies, to);
    }
    if (report->best->infinite_texts > 0 && infinite_pairs(report->infinite_best) > 0) {
        nvdp__fprintf(to,
                      "  best k: infinite, because %zu pairs are infinite at the smallest order.\n",
                      report->infinite_best->of);
        print_causes(report->infinite_best, report->exact != NULL, remedies, to);
    }
    print_lonely(report, to);
    if (report->small_population) {
        fputs("  warning: some text has fewer than 64 other texts to compare with: do not rely on "
              "this bound; measure more texts.\n",
              to);
    }
}

/* Prints a line about the posteriors behind the divergences. */
static void print_posterior(const struct nvdp_posterior_summary *from, FILE *to) {
    char a[CELL], b[CELL], c[CELL];
    nvdp__fprintf(to, "Posteriors of %zu tokens: mean |mu| %s, mean sigma %s", from->tokens,
                  say(a, from->mean_abs_mu), say(b, from->mean_sigma));
    if (from->weighted) {
        nvdp__fprintf(to,
                      ";\n  effective number of vectors per text (exp of the weights' entropy): %s "
                      "on average,\n  from %s (5 %%)",
                      say(a, from->vectors.mean), say(b, from->vectors.quantile[0]));
        nvdp__fprintf(to, " to %s (95 %%); the tokens hold a share of %s of the pseudo-counts",
                      say(b, from->vectors.quantile[NVDP_SPREAD_QUANTILES - 1]),
                      say(c, from->token_share.mean));
    }
    fputs(".\n", to);
}

/* Prints which numbers are only bounds. */
static void print_bounds(FILE *to, const struct nvdp_exact_summary *from,
                         const struct nvdp_exact_bounds *bounds) {
    if (bounds->evaluated + bounds->drawn + bounds->worst + bounds->typical + bounds->asked == 0)
        return;
    nvdp__fprintf(to,
                  "  Exact for %zu of the %zu evaluated pairs; upper bounds for %zu (among the %zu "
                  "pairs of the mean: %zu), whose integral\n  exceeds double precision: for these "
                  "pairs the bounds come from Renyi divergences.%s\n",
                  from->evaluated - bounds->evaluated, from->evaluated, bounds->evaluated,
                  from->drawn, bounds->drawn,
                  bounds->worst + bounds->typical + bounds->asked > 0
                      ? "  In JSON, `bounds` of a pair lists the numbers that are upper bounds."
                      : "");
}

static void print_exact(const struct nvdp_exact_summary *from,
                        const struct nvdp_exact_bounds *bounds, FILE *to) {
    char mean[CELL];
    if (from == NULL) return;
    nvdp__fprintf(to, "Exact privacy loss, %d release%s of a text: epsilon at delta %g\n",
                  from->releases, from->releases == 1 ? "" : "s", from->delta);
    struct exact_pairs pairs = {.worst = {NULL}};
    pairs.worst[(bounds->worst & NVDP_EXACT_EPSILON) != 0] = &from->worst;
    pairs.typical[(bounds->typical & NVDP_EXACT_EPSILON) != 0] = &from->typical;
    if (from->asked.points > 0)
        pairs.asked[(bounds->asked & NVDP_EXACT_EPSILON) != 0] = &from->asked;
    nvdp__result_print(&exact_lines, &pairs, to);
    nvdp__fprintf(to, "  mean %s%s over %zu %spairs", bounds->drawn > 0 ? "at most " : "",
                  say(mean, from->mean), from->drawn, from->drawn < from->pairs ? "drawn " : "");
    if (from->infinite > 0)
        nvdp__fprintf(to, " (%zu are infinite; %s over the finite ones)", from->infinite,
                      say(mean, from->mean_finite));
    if (from->drawn < from->pairs) {
        nvdp__fprintf(to, ", %g %%", 100 * from->confidence);
        print_interval(to, ":", &from->mean_interval);
    }
    nvdp__fprintf(to, "; the worst of %zu pairs, found by upper bounds and %zu integrals.\n",
                  from->pairs, from->evaluated);
    print_bounds(to, from, bounds);
    fputc('\n', to);
}

void nvdp__privacy_report_tables(const struct nvdp_privacy_report *report,
                                 const struct nvdp__remedies *remedies, FILE *to) {
    print_exact(report->exact, report->exact_bounds, to);
    print_divergences(report, remedies, to);
    print_epsilon(report->epsilon, to);
    print_bayesian(report, remedies, to);
}

/* Prints the proven bounds of naming a text, with and without its label; nothing if none is proven. */
static void print_named_bound(const struct nvdp_linkage *linkage, FILE *to) {
    const struct nvdp_linkage_labeled *labeled = &linkage->labeled;
    char text[NVDP__BOUND_TEXT];
    if (isnan(linkage->first_bound)) return;
    nvdp__fprintf(to, "Proven: at most %s are named by any attacker",
                  nvdp__share_bound(text, linkage->first_bound));
    if (labeled->labels > 1)
        nvdp__fprintf(
            to,
            ", and at most %s by one who also has the labels (%zu labels: %.4g %% without samples)",
            nvdp__share_bound(text, labeled->first_bound), labeled->labels,
            100 * labeled->first_chance);
    fputs(".\n", to);
}

/* Prints how often a sample's text is named, and the bound of that and any other guess. */
static void print_first(const struct nvdp_privacy_report *report, FILE *to) {
    char sentence[NVDP_LINKAGE_SENTENCE], text[NVDP__BOUND_TEXT];
    if (is_measured(report->linkage)) {
        nvdp_linkage_sentence(report->linkage, sentence);
        nvdp__fprintf(to, "%s\n", sentence);
        print_named_bound(report->linkage, to);
    }
    if (report->guesses > 0) {
        nvdp__fprintf(
            to, "Upper bounds for these %zu texts, all equally likely: a guess that is right ",
            report->pairs->texts);
        nvdp__list_guesses(report->guesses, report->guess, false, to);
        nvdp__fprintf(to, " of the time without %s of a text is right at most ",
                      report->bdp_releases == 1 ? "a sample" : "the samples");
        nvdp__list_guesses(report->guesses, report->guess, true, to);
        nvdp__fprintf(to, " of the time with %s, on average; ",
                      report->bdp_releases == 1 ? "it" : "them");
        nvdp__fprintf(to, "%s at most %s of the %.4g bits that identify the text.\n",
                      report->bdp_releases == 1 ? "the sample carries" : "the samples carry",
                      nvdp__bound(text, report->information / M_LN2),
                      log2((double)report->pairs->texts));
    }
    fputc('\n', to);
}

static void print_summary(const void *report, FILE *to) {
    const struct nvdp_privacy_report from = whole(report);
    const struct nvdp_pairs_summary *pairs = from.pairs;
    const size_t counted = pairs->sample.drawn > 0 ? pairs->sample.drawn : pairs->pairs;
    char a[NVDP__BOUND_TEXT], b[NVDP__BOUND_TEXT];
    print_first(&from, to);
    print_head(&from, to);
    nvdp__fprintf(to, "  %-44s %12s %12s\n", "between two of these texts, in nats", "largest",
                  "mean");
    if (from.bdp_releases > 1)
        nvdp__fprintf(to, "  (Renyi divergence: of one sample; epsilon: of %d samples)\n",
                      from.bdp_releases);
    nvdp__fprintf(to, "  Renyi divergence of order %-18.4g %12s %12s\n", pairs->order,
                  nvdp__bound(a, pairs->sum.max), nvdp__bound(b, pairs->sum.mean));
    nvdp__fprintf(to, "  epsilon at delta %-10.4g (upper bound)   %12s %12s\n", from.epsilon->delta,
                  nvdp__bound(a, from.epsilon->sum.max), nvdp__bound(b, from.epsilon->sum.mean));
    if (from.exact != NULL)
        nvdp__fprintf(to, "  epsilon at delta %-10.4g (%s %12s %12s\n", from.exact->delta,
                      from.exact_bounds->evaluated > 0 ? "upper bound)  " : "exact)        ",
                      nvdp__bound(a, from.exact->worst.epsilon), nvdp__bound(b, from.exact->mean));
    nvdp__fprintf(to, "  pairs that are infinitely far apart          %11.4g %%\n",
                  counted > 0 ? 100 * (double)pairs->infinite / (double)counted : 0);
}

struct text {
    const struct nvdp_privacy_report *report;
    const struct nvdp__remedies *remedies;
};

static void print_all(const void *text, FILE *to) {
    const struct text *of = text;
    const struct nvdp_privacy_report from = whole(of->report);
    print_first(&from, to);
    print_head(&from, to);
    nvdp__privacy_report_tables(&from, of->remedies, to);
    if (from.posterior != NULL) print_posterior(from.posterior, to);
}

nvdp_status nvdp_privacy_report_summary(struct nvdp_context *ctx,
                                        const struct nvdp_privacy_report *report, char **out) {
    NVDP_TRY(check_filled(ctx, report));
    return nvdp__printed(ctx, print_summary, report, out);
}

nvdp_status nvdp__privacy_report_text(struct nvdp_context *ctx,
                                      const struct nvdp_privacy_report *report,
                                      const struct nvdp__remedies *remedies, char **out) {
    NVDP_TRY(check_filled(ctx, report));
    return nvdp__printed(ctx, print_all, &(struct text){report, remedies}, out);
}
