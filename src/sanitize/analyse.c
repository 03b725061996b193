/* Analyzes a table of word vectors and a mechanism over it, for analyses in the program and in the library:
 * distances and plausible deniability (nvdp/text_privacy.h). */
#include "base/array.h"
#include "base/base.h"
#include "base/random.h"
#include "base/sentence.h"
#include "dchi/dchi.h"
#include "options/result.h"
#include "options/schema.h"
#include "sanitize/sanitize.h"
#include <inttypes.h>
#include <math.h>
#include <nvdp/sanitize.h>
#include <nvdp/text_privacy.h>
#include <stdlib.h>

size_t nvdp__token_texts_count(const struct nvdp__token_texts *texts, size_t vocabulary,
                               double *counts) {
    size_t known = 0;
    memset(counts, 0, vocabulary * sizeof *counts);
    for (size_t i = 0; i < texts->offset[texts->texts]; i++) {
        const int32_t token = texts->tokens[i];
        if (token < 0) continue;
        counts[token]++;
        known++;
    }
    return known;
}

/* Draws *n tokens with the probabilities `prior`. If prior is NULL, draws at most `count` tokens without
 * replacement. */
static nvdp_status choose_tokens(struct nvdp_context *ctx, size_t count, const double *prior,
                                 uint64_t seed, size_t *n, int32_t **out) {
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 1, 0);
    nvdp__autofree int32_t *all = NULL, *token = NULL;
    double total = 0;
    bool valid = true;
    if (prior == NULL && *n > count) *n = count;
    for (size_t x = 0; x < count && prior != NULL; x++) {
        valid &= prior[x] >= 0;
        total += prior[x];
    }
    if (*n == 0 || (prior != NULL && !(valid && total > 0 && isfinite(total))))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "analysis: expected at least 1 token and weights with a finite sum above "
                          "0, found %zu tokens and a sum of %g",
                          *n, total);
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(all, count), NVDP__ITEMS(token, *n)));
    for (size_t x = 0; x < count; x++)
        all[x] = (int32_t)x;
    for (size_t i = 0; i < *n; i++) {
        if (prior == NULL) {
            const size_t j = i + (size_t)nvdp__stream_below(&stream, count - i);
            token[i] = all[j];
            all[j] = all[i];
            continue;
        }
        double left = nvdp__stream_uniform(&stream) * total;
        for (size_t x = 0; x < count && left >= 0; x++)
            if (prior[x] > 0) {
                left -= prior[x];
                token[i] = (int32_t)x;
            }
    }
    return NVDP__HAND_OVER(out, token);
}

/* ---- distances ---- */

nvdp_status nvdp_distances_measure(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                   const double *prior, size_t tokens, uint64_t seed,
                                   struct nvdp_distances *out) {
    static const size_t all[] = {1,  2,  3,   4,   5,   6,    7,    8,    9,     10,
                                 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000};
    _Static_assert(sizeof all / sizeof *all + 1 == NVDP_DISTANCES_NEIGHBORS, "the farthest one");
    const size_t count = nvdp_vectors_count(vectors);
    struct nvdp_geometry geometry = NVDP_RESULT(struct nvdp_geometry);
    struct nvdp_distances made = {.struct_size = sizeof made, .tokens = tokens};
    nvdp__autofree int32_t *token = NULL;
    nvdp__autofree double *distance = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(choose_tokens(ctx, count, prior, seed, &made.tokens, &token));
    while (made.neighbors < sizeof all / sizeof *all && all[made.neighbors] < count - 1) {
        made.k[made.neighbors] = all[made.neighbors];
        made.neighbors++;
    }
    if (count > 1) made.k[made.neighbors++] = count - 1;
    NVDP_TRY(NVDP__NEW(ctx, distance, made.tokens * made.neighbors));
    NVDP_TRY(nvdp__vectors_geometry(ctx, vectors, made.tokens, seed, &geometry));
    NVDP_TRY(nvdp__vectors_neighbors(ctx, vectors, made.tokens, token, made.neighbors, made.k,
                                     distance));
    for (size_t j = 0; j < made.neighbors; j++)
        for (size_t i = 0; i < made.tokens; i++)
            made.mean[j] += distance[i * made.neighbors + j] / (double)made.tokens;
    made.nearest_median = geometry.nearest_median;
    made.pair_median = geometry.pair_median;
    made.diameter_bound = geometry.diameter_bound;
    return NVDP__GIVE(out, &made);
}

/* ---- deniability ---- */

/* Summarizes n values, after sorting them. */
static struct nvdp_summary summarize_values(size_t n, double *value) {
    static const double share[5] = {.05, .25, .5, .75, .95};
    double quantile[5] = {0}, sum = 0;
    qsort(value, n, sizeof *value, nvdp__by_double);
    for (size_t i = 0; i < n; i++)
        sum += value[i];
    for (size_t q = 0; q < 5; q++)
        quantile[q] = value[(size_t)(share[q] * (double)(n - 1) + .5)];
    return (struct nvdp_summary){sum / (double)n, quantile[0], quantile[1],
                                 quantile[2],     quantile[3], quantile[4]};
}

nvdp_status nvdp_deniability_measure(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                     const double *prior, size_t tokens, size_t draws,
                                     uint64_t seed, struct nvdp_deniability *out) {
    const size_t count = nvdp_vectors_count(dchi->vectors);
    struct nvdp_deniability made = {.struct_size = sizeof made, .tokens = tokens, .draws = draws};
    nvdp__autofree int32_t *token = NULL;
    nvdp__autofree double *same = NULL, *distinct = NULL, *sources = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (draws == 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "draws: expected at least 1, found 0");
    NVDP_TRY(choose_tokens(ctx, count, prior, seed, &made.tokens, &token));
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(same, made.tokens),
                          NVDP__ITEMS(distinct, made.tokens), NVDP__ITEMS(sources, count)));
    NVDP_TRY(nvdp__dchi_deniability(ctx, dchi, made.tokens, token, draws, seed, same, distinct));
    made.inputs = nvdp__sort_distinct(made.tokens, token);
    NVDP_TRY(nvdp__dchi_sources(ctx, dchi, made.inputs, token, draws, seed, sources));
    size_t came_out = 0;
    for (size_t y = 0; y < count; y++)
        if (sources[y] > 0) sources[came_out++] = sources[y];
    made.n_w = summarize_values(made.tokens, same);
    made.s_w = summarize_values(made.tokens, distinct);
    made.s_star = summarize_values(came_out, sources);
    for (size_t i = 0; i < made.tokens; i++) {
        same[i] = fabs(log(same[i])); /* fabs() turns -0 into 0 */
        distinct[i] = log(distinct[i]);
    }
    made.h_0 = summarize_values(made.tokens, distinct);
    made.h_inf = summarize_values(made.tokens, same);
    return NVDP__GIVE(out, &made);
}

/* ---- the result tables of text privatization (nvdp/result.h) ---- */

/* --- sanitized texts --- */

#define SANITIZE(member, ...) NVDP_RESULT_ROW(struct nvdp_sanitize_result, member, __VA_ARGS__)
#define EXAMPLE(member) NVDP_RESULT_AT(struct nvdp_sanitize_result, member[0])

static const struct nvdp_result_table example_table = {
    .name = "example",
    .help = "a text before and after",
    .rows = (const struct nvdp_result_row[]){{"before", NVDP_RESULT_CHARS, .scope = NVDP_SCOPE_TEXT,
                                              .help = "original text; private", EXAMPLE(before)},
                                             {"after", NVDP_RESULT_CHARS, .scope = NVDP_SCOPE_TEXT,
                                              .help = "privatized text", EXAMPLE(after)},
                                             {0}}};

#define TABLE(member, help_)                                                                       \
    NVDP_RESULT_ROW(struct nvdp_sanitizer_info, member, "tokens", NVDP_SCOPE_FILE, 0, help_)

static const struct nvdp_result_table sanitizer_table = {
    .name = "sanitizer",
    .help = "the words that a mechanism draws from",
    .rows = (const struct nvdp_result_row[]){TABLE(tokens, "number of words"),
                                             TABLE(sensitive, "sensitive ones among them"),
                                             TABLE(unmatched, "those that no text can contain"),
                                             TABLE(table, "words with vectors"),
                                             {0}}};

#define GEOMETRY(member, help_)                                                                    \
    NVDP_RESULT_ROW(struct nvdp_geometry, member, NULL, NVDP_SCOPE_FILE, 0, help_)

static const struct nvdp_result_table geometry_table = {
    .name = "geometry",
    .help = "distances between words",
    .rows = (const struct nvdp_result_row[]){
        GEOMETRY(nearest_median, "median distance to the nearest word"),
        GEOMETRY(pair_median, "median distance of two words"),
        GEOMETRY(diameter_bound, "upper bound of the distance between any two words"),
        {0}}};

static void print_draws(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_sanitize_result *r = result;
    nvdp_result_line(to, "draws", "%s",
                     r->insecure_seed
                         ? "INSECURE, from a seed: everyone who knows the seed can undo them"
                         : "from the operating system's generator; no two runs are equal");
}

static void print_texts(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_sanitize_result *r = result;
    nvdp_result_line(to, "texts", "%" PRIu64 ", %" PRIu64 " tokens", r->texts, r->tokens);
}

static void print_vocabulary(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_sanitizer_info *info =
        ((const struct nvdp_sanitize_result *)result)->sanitizer;
    char of[32] = "";
    if (info->table > info->tokens) nvdp__snprintf(of, sizeof of, " of the %zu", info->table);
    nvdp_result_line(to, "vocabulary", "%zu%s %s%s, %zu dimensions%s", info->tokens, of,
                     info->pieces ? "WordPieces" : "words", *of != '\0' ? " with vectors" : "",
                     info->dim, info->own_words ? "; NOT PRIVATE: taken from these texts" : "");
    if (info->unmatched > 0)
        nvdp_result_line(to, "in no text",
                         "%zu of these words match no text, but can be drawn as output",
                         info->unmatched);
    if (info->sensitive < info->tokens)
        nvdp_result_line(to, "sensitive", "%zu of these words; the others may stay unchanged",
                         info->sensitive);
}

static void print_deniability(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_sanitize_result *r = result;
    if (r->measured > 0)
        nvdp_result_line(to, "deniability",
                         "N_w %.4f, S_w %.1f in %zu draws (%zu tokens of these texts)", r->n_w,
                         r->s_w, r->draws, r->measured);
}

static void print_distances(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_geometry *geometry = ((const struct nvdp_sanitize_result *)result)->geometry;
    nvdp_result_line(to, "distances",
                     "medians: nearest token %.4g, random pair %.4g; farthest pair at most %s",
                     geometry->nearest_median, geometry->pair_median,
                     nvdp__bound(geometry->diameter_bound).text);
}

static void print_epsilon(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_sanitize_result *r = result;
    nvdp_result_line(to, "LDP epsilon",
                     "at most %s per token, %s for the longest row, for words with "
                     "vectors, " NVDP__EXACT_ARITHMETIC("the output's"),
                     nvdp__bound(r->epsilon).text, nvdp__bound(r->row_epsilon).text);
}

const struct nvdp_result_table nvdp__result_sanitize = {
    .name = "sanitize",
    .help = "texts that were privatized token by token",
    .sized = true,
    .rows =
        (const struct nvdp_result_row[]){
            SANITIZE(texts, "texts", NVDP_SCOPE_FILE, 0, "a pair counts as two",
                     .print = print_texts),
            SANITIZE(tokens, "tokens", NVDP_SCOPE_FILE, 0, "output tokens"),
            SANITIZE(changed, NULL, NVDP_SCOPE_FILE, 0, "share of tokens that were changed",
                     .label = "changed", .scale = 100, .decimals = 2, .after = "% of the tokens"),
            SANITIZE(oov, NULL, NVDP_SCOPE_FILE, -1, "share of words without a vector",
                     .label = "no vector", .scale = 100, .decimals = 2, .after = "% of the words"),
            SANITIZE(n_w, NULL, NVDP_SCOPE_FILE, -1, "mean probability that a token is unchanged",
                     .print = print_deniability),
            SANITIZE(s_w, NULL, NVDP_SCOPE_FILE, 1, "mean number of distinct outputs"),
            SANITIZE(measured, "tokens", NVDP_SCOPE_FILE, 0, "tokens that n_w and s_w are from"),
            SANITIZE(draws, NULL, NVDP_SCOPE_FILE, 0, "draws per such token"),
            SANITIZE(epsilon, "nats", NVDP_SCOPE_FILE, -1,
                     "upper bound of epsilon of local differential privacy for one token, in exact "
                     "arithmetic",
                     .print = print_epsilon),
            SANITIZE(row_epsilon, "nats", NVDP_SCOPE_FILE, -1,
                     "the same for as many tokens as the longest row has"),
            SANITIZE(oov_epsilon, "nats", NVDP_SCOPE_FILE, -1,
                     "the same between a word without a vector and one with a vector"),
            SANITIZE(insecure_seed, NULL, NVDP_SCOPE_FILE, 0, "draws came from a seed",
                     .print = print_draws),
            SANITIZE(statement, NULL, NVDP_SCOPE_FILE, 0, "the privacy statement"),
            {"examples", NVDP_RESULT_LIST, .scope = NVDP_SCOPE_TEXT,
             .help = "example texts; private", .of = &example_table,
             NVDP_RESULT_LENGTH(struct nvdp_sanitize_result, examples)},
            {"sanitizer", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE, .help = "table of words",
             NVDP_RESULT_AT(struct nvdp_sanitize_result, sanitizer), .indirect = true,
             .of = &sanitizer_table, .print = print_vocabulary},
            {"geometry", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE,
             .help = "distances in the table",
             NVDP_RESULT_AT(struct nvdp_sanitize_result, geometry), .indirect = true,
             .of = &geometry_table, .print = print_distances},
            {0}},
    .views = (const struct nvdp_result_view[]){
        {"json",
         .keys =
             (const struct nvdp_result_key[]){{.row = "texts"},
                                              {.row = "tokens"},
                                              {.row = "changed"},
                                              {.row = "oov"},
                                              {.row = "n_w"},
                                              {.row = "s_w"},
                                              {.row = "measured", .key = "measured_tokens"},
                                              {.row = "draws"},
                                              {.row = "epsilon", .key = "ldp_epsilon"},
                                              {.row = "sanitizer", .absent = NVDP_ABSENT_HIDDEN},
                                              {.row = "geometry", .absent = NVDP_ABSENT_HIDDEN},
                                              {0}}},
        {"terminal",
         .keys = (const struct nvdp_result_key[]){{.row = "insecure_seed"},
                                                  {.row = "texts"},
                                                  {.row = "sanitizer"},
                                                  {.row = "changed"},
                                                  {.row = "oov"},
                                                  {.row = "n_w"},
                                                  {.row = "geometry"},
                                                  {.row = "epsilon"},
                                                  {.row = "examples", .absent = NVDP_ABSENT_HIDDEN},
                                                  {0}}},
        {0}}};

/* --- distances between the vectors of a table --- */

#define DISTANCES(member, ...) NVDP_RESULT_ROW(struct nvdp_distances, member, __VA_ARGS__)

static const struct nvdp_result_table neighbor_table = {
    .name = "neighbor",
    .help = "the k-th nearest tokens",
    .rows = (const struct nvdp_result_row[]){
        {"k", NVDP_RESULT_COUNT, .scope = NVDP_SCOPE_TEXT, .help = "rank of the neighbor",
         NVDP_RESULT_AT(struct nvdp_distances, k[0]), .label = "k-th nearest"},
        {"mean", NVDP_RESULT_REAL, .scope = NVDP_SCOPE_TEXT, .help = "mean distance",
         NVDP_RESULT_AT(struct nvdp_distances, mean[0]), .label = "mean distance"},
        {0}}};

const struct nvdp_result_table nvdp__result_distances = {
    .name = "distances",
    .help = "distances between the vectors of a table",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        {"neighbours", NVDP_RESULT_LIST, .scope = NVDP_SCOPE_FILE,
         .help = "mean distances to the k-th nearest token", .label = "", .of = &neighbor_table,
         NVDP_RESULT_LENGTH(struct nvdp_distances, neighbors)},
        DISTANCES(nearest_median, NULL, NVDP_SCOPE_FILE, 0, "median distance to the nearest token",
                  .label = "nearest, median"),
        DISTANCES(pair_median, NULL, NVDP_SCOPE_FILE, 0, "median distance of two tokens",
                  .label = "a pair, median"),
        DISTANCES(diameter_bound, NULL, NVDP_SCOPE_FILE, 0,
                  "upper bound of the distance between any two tokens",
                  .label = "farthest, at most"),
        {0}}};

/* --- plausible deniability --- */

#define SUMMARY(member, heading, help_)                                                            \
    NVDP_RESULT_ROW(struct nvdp_summary, member, NULL, NVDP_SCOPE_FILE, 0, help_, .label = heading)

static const struct nvdp_result_table summary_table = {
    .name = "summary",
    .help = "mean and quantiles over tokens",
    .rows = (const struct nvdp_result_row[]){SUMMARY(mean, "mean", "mean"),
                                             SUMMARY(q05, "q05", "quantile .05"),
                                             SUMMARY(q25, "q25", "quantile .25"),
                                             SUMMARY(median, "median", "quantile .5"),
                                             SUMMARY(q75, "q75", "quantile .75"),
                                             SUMMARY(q95, "q95", "quantile .95"),
                                             {0}}};

#define DENIABILITY(member, label_, unit_, better_, help_)                                         \
    {                                                                                              \
#member, NVDP_RESULT_TABLE, unit_, NVDP_SCOPE_FILE, better_, help_,                        \
            NVDP_RESULT_AT(struct nvdp_deniability, member), .label = label_, .of = &summary_table \
    }

const struct nvdp_result_table nvdp__result_deniability = {
    .name = "deniability",
    .help = "plausible deniability of tokens under a mechanism",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        DENIABILITY(n_w, "N_w", NULL, -1, "probability that a token is unchanged"),
        DENIABILITY(s_w, "S_w", "tokens", 1, "distinct outputs of a token"),
        DENIABILITY(s_star, "S*_y", "tokens", 1, "distinct inputs of an output"),
        DENIABILITY(h_0, "H_0", "nats", 1, "log S_w"),
        DENIABILITY(h_inf, "H_inf", "nats", 1, "-log N_w"),
        NVDP_RESULT_ROW(struct nvdp_deniability, inputs, "tokens", NVDP_SCOPE_FILE, 0,
                        "distinct tokens that were measured"),
        NVDP_RESULT_ROW(struct nvdp_deniability, draws, NULL, NVDP_SCOPE_FILE, 0,
                        "draws per token"),
        {0}}};

/* --- inversion --- */

#define INVERSION(member, ...) NVDP_RESULT_ROW(struct nvdp_inversion, member, __VA_ARGS__)

const struct nvdp_result_table nvdp__result_inversion = {
    .name = "inversion",
    .help = "how often an attacker names the token of an output",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        INVERSION(prior, NULL, NVDP_SCOPE_FILE, 0, "share of the most frequent token",
                  .label = "most frequent"),
        INVERSION(nearest, NULL, NVDP_SCOPE_FILE, -1, "right guesses of the nearest neighbor",
                  .label = "nearest neighbor",
                  .error = offsetof(struct nvdp_inversion, nearest_error)),
        INVERSION(bayes, NULL, NVDP_SCOPE_FILE, -1, "right guesses of the best attacker",
                  .label = "Bayes-optimal", .error = offsetof(struct nvdp_inversion, bayes_error)),
        INVERSION(nearest_error, NULL, NVDP_SCOPE_FILE, -1, "standard error of nearest; 0: exact"),
        INVERSION(bayes_error, NULL, NVDP_SCOPE_FILE, -1, "standard error of bayes; 0: exact"),
        INVERSION(draws, NULL, NVDP_SCOPE_FILE, 0, "draws of the estimate; 0: exact"),
        {0}}};
