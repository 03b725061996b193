/* The private word histogram (vocabulary.h): checks, the proof of the guarantee, exact noise, the released counts,
 * and the statement. */
#include "text/vocabulary.h"

#include "base/array.h"
#include "base/json.h"
#include "base/sentence.h"
#include <math.h>
#include <stdlib.h>

/* ---- parameters ---- */

nvdp_status nvdp__private_words_check(struct nvdp_context *ctx,
                                      const struct nvdp__private_words *options) {
    const double n = (double)options->possible;
    if (!(options->epsilon >= 1e-6 && options->epsilon < log(n)))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{vocab-dp-epsilon}: expected 1e-6 to ln n = %.4g for n = %llu possible words "
            "({possible-words}), found %g",
            log(n), (unsigned long long)options->possible, options->epsilon);
    if (!(options->delta > 0 && options->delta < 1 / n))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{vocab-dp-delta}: expected a number above 0 and below 1/n = %.4g for n = "
            "%llu possible words "
            "({possible-words}), found %g",
            1 / n, (unsigned long long)options->possible, options->delta);
    return NVDP_OK;
}

/* Theorem. Let two texts differ in the counts of words by k in each direction, because k words are replaced. The
 * released counts are (k eps, d)-differentially private, d = delta/2 max(k, e^((k-1) eps/2)).
 *
 * Proof. Let P and Q be the distributions of the released counts. Every word is released independently, with its
 * own noise; a word that a text does not contain is not released.
 *
 * 1. Consider a word that both texts have, c times more often in one of them. Its noised count has a likelihood
 * ratio of at most e^(c eps/2), since a count is 1024 steps of the noise and a step costs s/t <= eps/2048. The
 * threshold is post-processing. The sum of all c is at most 2 k, so all shared words together have a ratio of at
 * most e^(k eps).
 *
 * 2. A word that only one text has, j times, is released with a probability of at most
 * g(j) = delta/2 e^((j-1) eps/2). The noise has to reach m = threshold - 1024 j steps, and
 * m eps/2048 >= ln(2/delta) - (j-1) eps/2 = -log g(j). With r = e^(-s/t) the probability is r^m/(1 + r) for m > 0.
 * Without a grid it would be half of g(j); here s/t >= eps/2048 (1 - eps/2^19) and r >= e^(-eps/2048) make it less
 * than 6 percent more, for any double delta and eps below 35. For m <= 0, g(j) is 1 or more.
 *
 * 3. Let a be the probability that P releases at least one word that only P's text has, b the same for Q, and S
 * any set of outputs. Outputs of P with such a word have probability at most a. The other outputs of S contain
 * only shared words; let x be the probability that P's shared words produce them. Then P(S) is at most
 * a + (1-a) x, and Q(S) is at least (1-b) e^(-k eps) x by 1, so that
 *
 *     P(S) - e^(k eps) Q(S)  <=  a + (1-a) x - (1-b) x  =  a + (b-a) x  <=  max(a, b).
 *
 * 4. a is at most the sum of g(j) over the words that only P's text has; their j add up to at most k. g is convex,
 * so for n words the sum is largest if n - 1 of them occur once: n - 1 + e^((k-n) eps/2), times delta/2. This is
 * convex in n, and largest for n = k, which gives k, or n = 1, which gives e^((k-1) eps/2). The same holds for b.
 *
 * A word that occurs k times in only one text shows that d cannot be less than half of this if the second term is
 * the larger. */
static double group_delta(const struct nvdp__private_words *options, uint64_t words) {
    const double k = (double)words;
    if (words == 0) return 0;
    return fmin(exp(fmax(log(k), (k - 1) * options->epsilon / 2) + log(options->delta / 2)), 1);
}

struct nvdp__example_privacy nvdp__private_example(const struct nvdp__private_words *options,
                                                   uint64_t words) {
    return (struct nvdp__example_privacy){(double)words * options->epsilon,
                                          group_delta(options, words)};
}

struct nvdp__example_privacy nvdp__private_removal(const struct nvdp__private_words *options,
                                                   uint64_t words) {
    if (options->max_words > 0)
        return nvdp__private_example(options,
                                     words < options->max_words ? words : options->max_words);
    return (struct nvdp__example_privacy){(double)words * options->epsilon / 2,
                                          group_delta(options, words)};
}

/* ---- noise ---- */

enum { GRID = 1 << 10, FINE = 1 << 8 };

/* The scale 2/eps in steps of 1/GRID is t/s, rounded up by a relative error below eps/(2 GRID
 * FINE). */
struct nvdp__word_noise nvdp__word_noise(double epsilon, double delta) {
    return (struct nvdp__word_noise){
        .t = (uint64_t)ceil(2.0 * GRID * FINE / epsilon),
        .s = FINE,
        .threshold = (int64_t)ceil(GRID * (1 + 2 * log(2 / delta) / epsilon) * (1 + 1e-12))};
}

/* Returns true with probability exp(-a/b), a <= b: the first i at which an event of probability a/(b i) fails is odd
 * (von Neumann's method). */
static bool exponential(struct nvdp__stream *stream, uint64_t a, uint64_t b) {
    uint64_t i = 1;
    while (nvdp__stream_below(stream, b * i) < a)
        i++;
    return i % 2 == 1;
}

/* Draws y with P(y) ~ exp(-|y| s/t). */
static int64_t laplace(const struct nvdp__word_noise *noise, struct nvdp__stream *stream) {
    for (;;) {
        const uint64_t rest = nvdp__stream_below(stream, noise->t);
        if (!exponential(stream, rest, noise->t)) continue;
        uint64_t whole = 0;
        while (exponential(stream, 1, 1))
            whole++;
        const int64_t y = (int64_t)((rest + noise->t * whole) / noise->s);
        const bool negative = nvdp__stream_below(stream, 2) == 1;
        if (negative && y == 0) continue;
        return negative ? -y : y;
    }
}

uint64_t nvdp__noised_count(const struct nvdp__word_noise *noise, struct nvdp__stream *stream,
                            uint64_t times) {
    const int64_t steps = (int64_t)(times * GRID) + laplace(noise, stream);
    return steps < noise->threshold ? 0 : (uint64_t)(steps + GRID / 2) / GRID;
}

/* ---- the histogram ---- */

struct kept {
    struct nvdp__field word;
    uint64_t times;
};

nvdp_status nvdp__private_word_counts(const struct nvdp__word_counts *counts,
                                      const struct nvdp__private_words *options,
                                      const struct nvdp__noise *noise,
                                      struct nvdp__word_counts *out) {
    const struct nvdp__word_noise word_noise = nvdp__word_noise(options->epsilon, options->delta);
    struct nvdp__stream stream = nvdp__stream_open(noise, NVDP__PURPOSE_WORD, 0, 0);
    nvdp__auto(nvdp__word_counts_release) struct nvdp__word_counts made = {.ctx = counts->ctx};
    nvdp__autofree struct kept *kept = NULL;
    size_t count = 0;
    NVDP_TRY(NVDP__NEW(counts->ctx, kept, counts->words.count));
    for (size_t i = 0; i < counts->words.count; i++) {
        kept[count] = (struct kept){nvdp__string(&counts->words, i),
                                    nvdp__noised_count(&word_noise, &stream, counts->times[i])};
        count += kept[count].times > 0;
    }
    NVDP__SORT(kept, count, NVDP__DOWN(struct kept, times), NVDP__UP(struct kept, word.text));
    for (size_t i = 0; i < count; i++)
        NVDP_TRY(nvdp__word_counts_add(&made, kept[i].word.text, kept[i].word.size, kept[i].times));
    return NVDP__HAND_OVER(out, made);
}

/* ---- the statement ---- */

static char *statement_of(struct nvdp_context *ctx, const struct nvdp__private_words *options,
                          size_t length) {
    static const char nothing[] = ", which is no protection";
    const struct nvdp__example_privacy window = nvdp__private_example(options, length - 2);
    const struct nvdp__example_privacy removed = nvdp__private_removal(options, length - 2);
    const struct nvdp__example_privacy document =
        nvdp__private_example(options, options->max_words);
    char limit[192] = "Nothing is proven for a whole document: all of its words count.";
    if (options->max_words > 0)
        nvdp__snprintf(limit, sizeof limit,
                       "For a whole document, of which the first %llu words count: epsilon "
                       "%s, delta %s%s.",
                       (unsigned long long)options->max_words, nvdp__bound(document.epsilon).text,
                       nvdp__bound(document.delta).text, document.delta >= 1 ? nothing : "");
    return nvdp__format(
        ctx,
        "Proven: the vocabulary is (epsilon %s, delta %s)-differentially private for one word of "
        "the texts that is replaced by another.\n"
        "For all words of a window of %zu tokens, by group privacy: epsilon %s, delta %s%s; for a "
        "window that is added or removed, as private training counts: %s, %s.\n"
        "%s\n"
        "Mechanism: Laplace noise of scale %g on the count of every word; only words whose noisy "
        "count reaches %.6g were used (at most %llu different words are possible). The noise is "
        "exact, from the operating system's generator.\n"
        "It covers vocab.txt alone: not weights that are trained on the texts, losses, the texts' "
        "digests in pretrain.json, the cache folder, or the time that all took.",
        nvdp__bound(options->epsilon).text, nvdp__bound(options->delta).text, length,
        nvdp__bound(window.epsilon).text, nvdp__bound(window.delta).text,
        window.delta >= 1 ? nothing : "", nvdp__bound(removed.epsilon).text,
        nvdp__bound(removed.delta).text, limit, 2 / options->epsilon,
        1 + 2 * log(2 / options->delta) / options->epsilon, (unsigned long long)options->possible);
}

/* ---- on disk ---- */

static json_t *of_words(uint64_t words, struct nvdp__example_privacy of) {
    return json_pack("{s:I, s:f, s:f}", "words", (json_int_t)words, "epsilon", of.epsilon, "delta",
                     of.delta);
}

json_t *nvdp__private_words_json(struct nvdp_context *ctx,
                                 const struct nvdp__private_words *options, size_t length) {
    /* max words of a window, and of a document */
    const uint64_t window = length - 2, document = options->max_words;
    nvdp__autofree char *statement = statement_of(ctx, options, length);
    if (statement == NULL) return NULL;
    json_t *root = json_pack(
        "{s:s, s:{s:f, s:f}, s:o, s:o, s:o, s:I, s:s}", "nvdp_format", "vocab_privacy/1", "word",
        "epsilon", options->epsilon, "delta", options->delta, "window",
        of_words(window, nvdp__private_example(options, window)), "window_removed",
        of_words(window, nvdp__private_removal(options, window)), "document",
        document == 0 ? json_null() : of_words(document, nvdp__private_example(options, document)),
        "possible_words", (json_int_t)options->possible, "statement", statement);
    if (root == NULL) (void)nvdp__fail(ctx, NVDP_ERR_MEMORY, "vocab_privacy.json: out of memory");
    return root;
}

nvdp_status nvdp__private_words_read(struct nvdp_context *ctx, const char *path,
                                     const json_t *object, struct nvdp__private_words *options) {
    const json_t *word = json_object_get(object, "word"),
                 *document = json_object_get(object, "document");
    const char *format = json_string_value(json_object_get(object, "nvdp_format"));
    struct nvdp__private_words read = {0};
    int64_t words, possible;
    if (format == NULL || strcmp(format, "vocab_privacy/1") != 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: 'nvdp_format': expected vocab_privacy/1, found %s", path,
                          format != NULL ? format : "none");
    NVDP_TRY(nvdp__json_real(ctx, path, word, "epsilon", NAN, 0, INFINITY, &read.epsilon));
    NVDP_TRY(nvdp__json_real(ctx, path, word, "delta", NAN, 0, 1, &read.delta));
    NVDP_TRY(nvdp__json_int(ctx, path, document, "words", 0, 0, INT64_MAX, &words));
    NVDP_TRY(
        nvdp__json_int_required(ctx, path, object, "possible_words", 2, (int64_t)1e15, &possible));
    read.max_words = (uint64_t)words;
    read.possible = (uint64_t)possible;
    if (nvdp__private_words_check(ctx, &read) != NVDP_OK) {
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected epsilon and delta of a word as a private vocabulary has "
                          "them, found %g and %g",
                          path, read.epsilon, read.delta);
    }
    *options = read;
    return NVDP_OK;
}
