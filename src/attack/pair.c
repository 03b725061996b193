/* Pairs of texts: their words, the test that distinguishes their samples, and the row in the table of attacks. */
#include "attack/pair.h"
#include "attack/attack.h"
#include "attack/audit.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/random.h"
#include "base/sentence.h"
#include "mechanism/mechanism.h"
#include "rdp/likelihood.h"
#include "rdp/pairs.h"
#include "share/sampler.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include "train/run.h"
#include <math.h>
#include <nvdp/certificate.h>
#include <stdlib.h>
#include <string.h>

/* ---- the words of two texts: number of different words, proven bounds, texts that differ in one word ---- */

double nvdp__pair_mu(const struct nvdp__word_clip *clip, const size_t changed[2], int releases) {
    return changed[0] + changed[1] > 0 ? nvdp__word_mu(clip, changed[0], changed[1], releases) : 0;
}

/* A text's tokens and their marks. */
struct view {
    const int32_t *id, *mark;
    size_t tokens;
};

static struct view view(const struct nvdp_dataset *data, size_t i) {
    const size_t at = data->offset[i];
    return (struct view){data->ids + at, data->types + at, data->offset[i + 1] - at};
}

static size_t count_words(const struct view *text, size_t from, size_t to) {
    size_t words = 0;
    for (size_t t = from; t < to; t = nvdp__word_end(text->mark, t, text->tokens))
        words++;
    return words;
}

static bool begins(const struct view *text, size_t t) {
    return t == text->tokens || text->mark[t] != NVDP__WORD_CONTINUES;
}

static bool same(const struct view *a, size_t i, const struct view *b, size_t j) {
    return a->id[i] == b->id[j] && a->mark[i] == b->mark[j];
}

void nvdp__pair_change(const struct nvdp_dataset *data, size_t p, size_t q, size_t changed[2]) {
    const struct view a = view(data, p), b = view(data, q);
    const size_t shorter = nvdp__min(a.tokens, b.tokens);
    size_t head = 0, tail = 0, to = 0;
    for (size_t t = 0; t <= shorter; t++) {
        if (begins(&a, t) && begins(&b, t)) head = t;
        if (t == shorter || !same(&a, t, &b, t)) break;
    }
    while (to < shorter - head && same(&a, a.tokens - 1 - to, &b, b.tokens - 1 - to)) {
        to++;
        if (begins(&a, a.tokens - to)) tail = to;
    }
    changed[0] = count_words(&a, head, a.tokens - tail);
    changed[1] = count_words(&b, head, b.tokens - tail);
}

/* Finds the first token of word k, not counting borders; returns the number of words if there are fewer. */
static size_t find_word(const struct view *text, size_t k, size_t *first) {
    size_t words = 0;
    for (size_t t = 0; t < text->tokens; t = nvdp__word_end(text->mark, t, text->tokens)) {
        if (text->mark[t] == NVDP__WORD_BORDER) continue;
        *first = t;
        if (words++ == k) break;
    }
    return words;
}

/* Draws pair->word, one word of the pair's text P, and a word of the pair's text Q, with the number *source. Returns
 * false if the two words are equal, or a text has no word. */
static bool nvdp__pair_draw_word(struct nvdp__stream *stream, const struct nvdp_dataset *data,
                                 struct nvdp__pair_attack *pair, size_t *source) {
    const struct view text = view(data, pair->p), other = view(data, pair->q);
    size_t at = 0, from = 0;
    const size_t words = find_word(&text, SIZE_MAX, &at),
                 others = find_word(&other, SIZE_MAX, &from);
    if (words == 0 || others == 0) return false;
    pair->word = 1 + nvdp__stream_below(stream, words);
    *source = nvdp__stream_below(stream, others);
    find_word(&text, pair->word - 1, &at);
    find_word(&other, *source, &from);
    const size_t n = nvdp__word_end(text.mark, at, text.tokens) - at,
                 m = nvdp__word_end(other.mark, from, other.tokens) - from;
    pair->changed[0] = pair->changed[1] = 1;
    return n != m || memcmp(text.id + at, other.id + from, n * sizeof *text.id) != 0;
}

/* Appends tokens from .. to - 1 of a text. */
static void append(const struct view *text, size_t from, size_t to, struct nvdp_dataset *out,
                   size_t *used) {
    memcpy(out->ids + *used, text->id + from, (to - from) * sizeof *out->ids);
    memcpy(out->types + *used, text->mark + from, (to - from) * sizeof *out->types);
    *used += to - from;
}

/* Computes the posteriors of both texts of every pair. Text 2i is P. In text 2i + 1, word source[i] of text q replaces
 * word pair->word of P. */
static nvdp_status nvdp__pair_replace(struct nvdp_context *ctx,
                                      const struct nvdp__pair_words *words, size_t pairs,
                                      const struct nvdp__pair_attack *pair, const size_t *source,
                                      struct nvdp_posteriors **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *made = NULL;
    size_t used = 0;
    NVDP_TRY(nvdp__dataset_create(ctx, 2 * pairs, false, &made));
    for (int fill = 0; fill < 2; fill++) {
        for (size_t i = 0; i < pairs; i++) {
            const struct view text = view(words->data, pair[i].p),
                              other = view(words->data, pair[i].q);
            size_t at = 0, from = 0;
            find_word(&text, pair[i].word - 1, &at);
            find_word(&other, source[i], &from);
            const size_t end = nvdp__word_end(text.mark, at, text.tokens),
                         to = nvdp__word_end(other.mark, from, other.tokens);
            if (fill == 0) {
                made->offset[2 * i + 1] = text.tokens;
                made->offset[2 * i + 2] = text.tokens - (end - at) + (to - from);
                continue;
            }
            append(&text, 0, text.tokens, made, &used);
            append(&text, 0, at, made, &used);
            append(&other, from, to, made, &used);
            append(&text, end, text.tokens, made, &used);
        }
        if (fill == 0) NVDP_TRY(nvdp__dataset_lay_out(ctx, made));
    }
    return nvdp_model_posteriors(ctx, words->model, made, words->batch, out);
}

/* ---- the test of two texts ---- */

/* Distinguishes two texts by the likelihood ratio of their samples, and compares the epsilon that this test shows with
 * the exact epsilon and the certified epsilon. */

enum { BLOCK = 64 };
/* The relative rounding error of an epsilon, from the bisection of the exact epsilon and from means that were clipped
 * in float32. */
static const double SLACK = 1e-6;

struct attack {
    struct nvdp_context *ctx;
    struct nvdp__memory memory, of_pair; /* released at the end, and after each pair */
    const struct nvdp_posteriors *set;
    size_t text[2]; /* P and Q in the set */
    const struct nvdp__attack_options *options;
    struct nvdp__likelihood likelihood;
    struct nvdp__evidence evidence[BLOCK];
    double *loss[2]; /* [samples] log P/Q of samples of P, and of samples of Q */
    double confidence;
};

static void release(struct attack *a) {
    nvdp__memory_release(&a->memory);
    nvdp__memory_release(&a->of_pair);
    nvdp__likelihood_release(&a->likelihood);
}

/* --- the choice of pairs --- */

static nvdp_status read_pair(struct attack *a, struct nvdp__pair_attack *pair) {
    char more;
    const size_t texts = a->set->texts;
    const bool two = sscanf(a->options->pair, "%zu,%zu%c", &pair->p, &pair->q, &more) == 2;
    if (!two || pair->p >= texts || pair->q >= texts || pair->p == pair->q)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "{pair}: expected two text numbers below %zu in the form I,J, found '%s'",
                          texts, a->options->pair);
    if (a->set->policy == NVDP_LENGTH_HIDDEN ||
        nvdp__row_count(a->set, pair->p) == nvdp__row_count(a->set, pair->q))
        return NVDP_OK;
    return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                      "pair %s: expected two texts of the same length, because lengths are public, "
                      "found lengths %zu and %zu",
                      a->options->pair, nvdp__row_count(a->set, pair->p),
                      nvdp__row_count(a->set, pair->q));
}

/* Draws uniformly among pairs of equal length (any pair if lengths are hidden). With `words`, draws one word of P,
 * too, and a different word of Q, with the number *source, to replace it. Fails after many tries without success. */
static nvdp_status draw_pair(struct attack *a, size_t number, const struct nvdp__pair_words *words,
                             struct nvdp__pair_attack *pair, size_t *source) {
    enum { TRIES = 100000 };
    const struct nvdp__noise noise = {.seed = a->options->seed};
    struct nvdp__stream stream =
        nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, NVDP__EPOCH_ATTACK, number);
    for (int i = 0; i < TRIES; i++) {
        pair->p = nvdp__stream_below(&stream, a->set->texts);
        pair->q = nvdp__stream_below(&stream, a->set->texts);
        if (pair->p == pair->q ||
            (a->set->policy != NVDP_LENGTH_HIDDEN &&
             nvdp__row_count(a->set, pair->p) != nvdp__row_count(a->set, pair->q)))
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
    const size_t n = a->options->samples, each = (size_t)a->options->releases;
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
static nvdp_status integrate(struct attack *a, struct nvdp__pair_attack *pair) {
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

static nvdp_status distinguish(struct attack *a, struct nvdp__pair_attack *pair) {
    struct nvdp_sample_audit audit;
    const size_t n = a->options->samples, count[2] = {n, n};
    const size_t rows = nvdp__linkage_rows(a->set, 2, a->text);
    nvdp__memory_release(&a->of_pair);
    NVDP_TRY(nvdp__evidence_create(a->ctx, &a->of_pair, a->set, rows, BLOCK, a->evidence));
    for (int side = 0; side < 2; side++)
        NVDP_TRY(draw_losses(a, side));
    for (size_t i = 0; i < n; i++)
        pair->right += (a->loss[0][i] > 0) + (a->loss[1][i] < 0) +
                       ((a->loss[0][i] == 0) + (a->loss[1][i] == 0)) / 2.;
    const double right = pair->right; /* ties count half */
    pair->right /= 2 * (double)n;
    /* The probabilities of being right differ between the two texts' samples.  The interval is no wider than for equal
     * probabilities (Hoeffding 1956). */
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

void nvdp__pair_attacks_free(void *attacks) {
    struct nvdp__pair_attacks *of = attacks;
    free(of->pair);
    *of = (struct nvdp__pair_attacks){0};
}

/* Sets the proven bounds of the pair: for any two texts, and for the words in which the two texts differ. */
static void set_proven(const struct attack *a, const struct nvdp__pair_words *words,
                       const struct nvdp__pair_attacks *all, struct nvdp__pair_attack *pair) {
    pair->proven = all->certified;
    pair->proven_right = all->guess;
    if (words == NULL) return;
    if (pair->word == 0) nvdp__pair_change(words->data, pair->p, pair->q, pair->changed);
    const double mu = nvdp__pair_mu(&words->clip, pair->changed, a->options->releases);
    /* Even if `certified` is only claimed. */
    pair->proven = nvdp_gdp_epsilon(mu, a->options->delta);
    pair->proven_right = fmin(all->guess, nvdp_guess_bound(.5, mu / 2, 1, 0));
}

/* Compares the results of the attack with proven or claimed bounds. If `exact` is only an upper bound, it may exceed
 * the proven bound. */
static bool holds(const struct nvdp__pair_attack *pair, double certified) {
    const double limit = fmin(pair->proven, certified);
    const bool proven = pair->bounded || (pair->exact <= limit * (1 + SLACK) + SLACK &&
                                          !(pair->right_max > pair->proven_right * (1 + SLACK)));
    return pair->shown <= fmin(pair->exact, limit + SLACK) * (1 + SLACK) &&
           pair->right_interval.low <= pair->right_max * (1 + SLACK) &&
           !(pair->right_interval.low > pair->proven_right * (1 + SLACK)) && proven;
}

/* Checks the arguments, and fills in the members that are known before the attack. `whole` is the number of pairs of
 * whole texts; the remaining pairs differ in words. */
static nvdp_status plan(struct attack *a, const struct nvdp__pair_words *words, size_t *whole,
                        struct nvdp__pair_attacks *out) {
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
                               const struct nvdp_config *config, struct nvdp__pair_attacks *out) {
    struct nvdp__attack_options options;
    nvdp__auto(release) struct attack a = {.ctx = ctx, .set = posteriors, .options = &options};
    nvdp__auto(nvdp__pair_attacks_free) struct nvdp__pair_attacks made = {
        .struct_size = sizeof made, .certified = certified};
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *replaced = NULL;
    size_t *source, whole = 0;
    struct nvdp__meter meter;
    NVDP_TRY(nvdp__can_give(ctx, out));
    nvdp__schema_default(&nvdp__attack_schema, &options);
    if (config != NULL) NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__attack_schema, &options));
    if (options.delta == 0) options.delta = NVDP__PAIR_DELTA;
    NVDP_TRY(plan(&a, words, &whole, &made));
    NVDP_TRY(NVDP__NEW(ctx, made.pair, made.pairs));
    NVDP_TRY(NVDP__ARRAYS(ctx, &a.memory, NVDP__ITEMS(source, made.pairs),
                          NVDP__ITEMS(a.loss[0], options.samples),
                          NVDP__ITEMS(a.loss[1], options.samples)));
    for (size_t i = 0; i < made.pairs; i++)
        NVDP_TRY(options.pair != NULL
                     ? read_pair(&a, made.pair)
                     : draw_pair(&a, i, i < whole ? NULL : words, &made.pair[i], &source[i]));
    if (made.pairs > whole)
        NVDP_TRY(nvdp__pair_replace(ctx, words, made.pairs - whole, made.pair + whole,
                                    source + whole, &replaced));
    nvdp__meter_begin(&meter, ctx, "pairs", "pair", 0, made.pairs);
    for (size_t i = 0; i < made.pairs; i++) {
        struct nvdp__pair_attack *pair = &made.pair[i];
        if (i == 0 || i == whole) {
            a.set = i == 0 ? posteriors : replaced;
            nvdp__likelihood_release(&a.likelihood);
            NVDP_TRY(nvdp__likelihood_create(ctx, a.set, &a.likelihood));
        }
        a.text[0] = i < whole ? pair->p : 2 * (i - whole);
        a.text[1] = i < whole ? pair->q : a.text[0] + 1;
        set_proven(&a, words, &made, pair);
        NVDP_TRY(distinguish(&a, pair));
        pair->holds = holds(pair, certified);
        made.weak = made.weak && pair->states <= .5;
        made.holds = made.holds && pair->holds;
        nvdp__meter_update(&meter, i + 1, (double)((i + 1) * options.samples), "sample", NAN);
    }
    nvdp__meter_end(&meter);
    NVDP__GIVE(out, &made);
    made.pair = NULL;
    return NVDP_OK;
}

/* ---- the row in the table of attacks ---- */

/* Returns the name of the epsilon that the exact epsilons of the pairs must not exceed. */
static const char *promise(const struct nvdp__attacked *attacked) {
    return isnan(attacked->claimed) ? "certified" : "claimed";
}

static bool has_words(const void *pair) {
    const size_t *changed = ((const struct nvdp__pair_attack *)pair)->changed;
    return changed[0] + changed[1] > 0;
}

static double words_apart(const void *pair) {
    const size_t *changed = ((const struct nvdp__pair_attack *)pair)->changed;
    return (double)nvdp__max(changed[0], changed[1]);
}

/* clang-format off */
#define PAIR(member, ...) NVDP_RESULT_ROW(struct nvdp__pair_attack, member, __VA_ARGS__)
#define PAIRS(member, ...) NVDP_RESULT_ROW(struct nvdp__pair_attacks, member, __VA_ARGS__)
#define NAMED(name, type, member, better, help_) \
    name, type, NULL, NVDP_SCOPE_PAIR, better, help_, NVDP_RESULT_AT(struct nvdp__pair_attack, member)

static const struct nvdp_result_table pair_table = {
    .name = "pair", .help = "an attack on two texts", .size = sizeof(struct nvdp__pair_attack),
    .rows = (const struct nvdp_result_row[]){
        PAIR(p, NULL, NVDP_SCOPE_PAIR, 0, "index of P", .label = "text P"),
        PAIR(q, NULL, NVDP_SCOPE_PAIR, 0, "index of Q, or of the text of the word that Q has in place of P's",
             .label = "text Q"),
        PAIR(word, NULL, NVDP_SCOPE_PAIR, 0, "word of P that Q has another word for, from 1",
             .label = "word", NVDP_RESULT_IF(struct nvdp__pair_attack, word)),
        {NAMED("changed", NVDP_RESULT_COUNT, changed[0], 0, "number of adjacent words that differ, in P and in Q"),
         .array = 2, .present = has_words},
        {.name = "apart", .type = NVDP_RESULT_REAL, .unit = "words", .scope = NVDP_SCOPE_PAIR,
         .help = "the larger of these two numbers", .label = "words", .real = words_apart, .present = has_words},
        PAIR(shown, "nats", NVDP_SCOPE_PAIR, -1, "lower bound of epsilon", .label = "shown >=", .decimals = 4, .bound = -1),
        PAIR(ceiling, "nats", NVDP_SCOPE_PAIR, 0, "what a perfect test would have shown",
             .label = "ceiling", .decimals = 4),
        PAIR(exact, "nats", NVDP_SCOPE_PAIR, -1, "exact epsilon", .label = "exact", .decimals = 4, .bound = 1),
        PAIR(proven, "nats", NVDP_SCOPE_PAIR, -1, "proven epsilon for texts that differ in so many words",
             .label = "proven", .decimals = 4, .bound = 1, .present = has_words),
        PAIR(right, NULL, NVDP_SCOPE_PAIR, -1, "share of right guesses",
             .label = "right %", .scale = 100, .decimals = 2),
        {NAMED("right_interval", NVDP_RESULT_INTERVAL, right_interval.low, 0, "interval of right"),
         .high = offsetof(struct nvdp__pair_attack, right_interval.high), .absent = NVDP_ABSENT_EACH,
         .label = "interval", .scale = 100, .decimals = 2},
        PAIR(states, NULL, NVDP_SCOPE_PAIR, -1, "right without noise",
             .label = "no noise %", .scale = 100, .decimals = 2),
        {NAMED("most", NVDP_RESULT_REAL, right_max, -1, "expected right of the best test"),
         .label = "at most %", .scale = 100, .decimals = 2, .bound = 1},
        PAIR(proven_right, NULL, NVDP_SCOPE_PAIR, -1, "proven upper bound of right for such texts",
             .label = "proven %", .scale = 100, .decimals = 2, .bound = 1, .present = has_words),
        {NAMED("held", NVDP_RESULT_COUNT, held[0], 0, "held-out samples of P and of Q"), .array = 2},
        {NAMED("hits", NVDP_RESULT_COUNT, hits[0], 0, "those that the test detects"), .array = 2},
        {NAMED("favours_q", NVDP_RESULT_FLAG, favors_q, 0, "the test detects Q")},
        PAIR(bounded, NULL, NVDP_SCOPE_PAIR, 0, "true if `exact` and `most` are upper bounds only", .label = "bounds only"),
        PAIR(holds, NULL, NVDP_SCOPE_PAIR, 0, "no number exceeds its bound",
             .label = "bounds hold", .words = (const char *const[]){"VIOLATION", "yes"}),
        {0}}};

const struct nvdp_result_table nvdp__result_pair_attacks = {
    .name = "pair_attacks", .help = "attacks on pairs of texts", .sized = true,
    .rows = (const struct nvdp_result_row[]){
        PAIRS(delta, NULL, NVDP_SCOPE_RUN, 0, "delta of all epsilons"),
        PAIRS(confidence, NULL, NVDP_SCOPE_RUN, 0, "simultaneous confidence"),
        PAIRS(releases, "samples", NVDP_SCOPE_RUN, 0, "samples per trial"),
        PAIRS(samples, "trials", NVDP_SCOPE_RUN, 0, "trials per text"),
        PAIRS(guess, NULL, NVDP_SCOPE_RUN, -1, "proven upper bound of right"),
        PAIRS(word_epsilon, "nats", NVDP_SCOPE_RUN, -1, "proven epsilon for texts that differ in one word"),
        PAIRS(word_guess, NULL, NVDP_SCOPE_RUN, -1, "proven upper bound of right for such texts"),
        PAIRS(weak, NULL, NVDP_SCOPE_RUN, 0, "nothing is right without noise"),
        PAIRS(holds, NULL, NVDP_SCOPE_RUN, 0, "no number exceeds its bound"),
        {"pairs", NVDP_RESULT_LIST, .scope = NVDP_SCOPE_PAIR, .help = "the pairs", .label = "",
         NVDP_RESULT_AT(struct nvdp__pair_attacks, pair), .indirect = true, .of = &pair_table,
         NVDP_RESULT_LENGTH(struct nvdp__pair_attacks, pairs)},
        {0}}};
/* clang-format on */

static bool add_promise(const struct nvdp__attacked *attacked, const void *found, json_t *object) {
    const double certified = ((const struct nvdp__pair_attacks *)found)->certified;
    return json_object_set_new(object, promise(attacked), nvdp__json_known(certified)) == 0;
}

static bool is_weak(const void *found) {
    return ((const struct nvdp__pair_attacks *)found)->weak;
}

static void print_head(const struct nvdp__attacked *attacked, const void *of, FILE *to) {
    const struct nvdp__pair_attacks *found = of;
    nvdp__print_row(to, "samples",
                    "%zu of each text%s; half choose the test, the other half measure it",
                    found->samples, found->releases > 1 ? ", each with several releases" : "");
    nvdp__print_row(to, "epsilon",
                    "at delta %g; the column shown and the interval hold with confidence %g %% for "
                    "all %zu pairs together",
                    found->delta, 100 * found->confidence, found->pairs);
    if (isfinite(found->certified))
        nvdp__print_row(to, promise(attacked), "%s for any two texts",
                        nvdp__bound(found->certified).text);
    if (!isnan(found->guess))
        nvdp__print_row(to, "proven", "right at most %s of the time, for any two texts",
                        nvdp__share_bound(found->guess).text);
    if (!isnan(found->word_epsilon)) {
        nvdp__print_row(to, "per word", "%s for any two texts that differ in one word",
                        nvdp__bound(found->word_epsilon).text);
        nvdp__print_row(to, "", "right at most %s of the time, for any two such texts",
                        nvdp__share_bound(found->word_guess).text);
    }
    fputc('\n', to);
}

/* Reports the first pair above a proven bound: the sampler, densities, integral or proof is wrong, or the excess is
 * chance. */
static void write_verdict(const struct nvdp__attacked *attacked, const void *of,
                          struct nvdp__writer *say) {
    const struct nvdp__pair_attacks *found = of;
    for (size_t i = 0; i < found->pairs; i++) {
        const struct nvdp__pair_attack *p = &found->pair[i];
        if (p->holds) continue;
        nvdp__append(say, "%s: VIOLATION: texts %zu and ", attacked->name, p->p);
        if (p->word > 0)
            nvdp__append(say, "the same with a word of text %zu as word %zu", p->q, p->word);
        else
            nvdp__append(say, "%zu", p->q);
        if (has_words(p))
            nvdp__append(say, ", which differ in %zu adjacent words by %zu,", p->changed[0],
                         p->changed[1]);
        nvdp__append(say,
                     " at delta %g: expected shown <= exact <= %s, found %s, %s, %s; and a "
                     "lower bound of right below its upper bounds, found %s, %s, %s; "
                     "confidence of shown and right: %g %%",
                     found->delta, p->proven < found->certified ? "proven" : promise(attacked),
                     nvdp__bound_below(p->shown).text, nvdp__bound(p->exact).text,
                     nvdp__bound(fmin(p->proven, found->certified)).text,
                     nvdp__bound_below(p->right_interval.low).text, nvdp__bound(p->right_max).text,
                     nvdp__bound(isnan(p->proven_right) ? 1 : p->proven_right).text,
                     100 * found->confidence);
        return;
    }
}

static nvdp_status run(const struct nvdp__attacked *attacked, void *found) {
    struct nvdp_certificate certificate = NVDP_RESULT(struct nvdp_certificate);
    struct nvdp__run_options options, bare;
    struct nvdp__attack_options limits;
    nvdp__auto(nvdp__run_close) struct nvdp__run opened = {0};
    struct nvdp__pair_words words;
    certificate.epsilon = INFINITY;
    if (nvdp_config_get(attacked->config, "run") != NULL) {
        /* the texts are needed only if the method has a certificate per word */
        NVDP_TRY(nvdp__config_open(attacked->ctx, attacked->config, &nvdp__run_schema, &options));
        bare = options;
        bare.split = NULL;
        NVDP_TRY(nvdp__run_open_bottleneck(attacked->ctx, &bare, &opened));
        if (nvdp__method_row(opened.model->info.method)->words)
            NVDP_TRY(nvdp__run_load_texts(attacked->ctx, &options, &opened));
        NVDP_TRY(nvdp__config_open(attacked->ctx, attacked->config, &nvdp__attack_schema, &limits));
        NVDP_TRY(nvdp__attacked_certificate(attacked, opened.model,
                                            limits.delta > 0 ? limits.delta : NVDP__PAIR_DELTA,
                                            NULL, &certificate));
    }
    if (certificate.word.holds)
        words = (struct nvdp__pair_words){
            .data = opened.dataset,
            .model = opened.model,
            .clip = {.word = certificate.word.clip,
                     .text = certificate.radius,
                     .window = (double)opened.model->info.nvib.clip.window},
            .batch = options.batch};
    return nvdp__attack_pairs(attacked->ctx, attacked->posteriors,
                              certificate.word.holds ? &words : NULL,
                              isnan(attacked->claimed) ? certificate.epsilon : attacked->claimed,
                              attacked->config, found);
}

static const char *const pair_options[] = {NVDP__ATTACK_POSTERIORS_OPTIONS,
                                           "pair",
                                           "pairs",
                                           "samples",
                                           "claimed",
                                           "delta",
                                           "confidence",
                                           NULL};

const struct nvdp__attack nvdp__attack_row_pair = {
    .target = NVDP_ATTACK_POSTERIORS,
    .per_word = true,
    .right = "the more likely of two texts, mean over pairs",
    .options = pair_options,
    .size = sizeof(struct nvdp__pair_attacks),
    .run = run,
    .table = &nvdp__result_pair_attacks,
    .add = add_promise,
    .head = print_head,
    .weak = is_weak,
    .verdict = write_verdict,
    .release = nvdp__pair_attacks_free};
