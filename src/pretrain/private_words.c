/* The private word histogram (private_words.h): checks, the proofs of the guarantees, exact noise, the released
 * counts, and the statement. */
#include "pretrain/private_words.h"

#include "base/array.h"
#include "base/json.h"
#include "base/sentence.h"
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <nvdp/rdp.h>
#include <stdlib.h>

const char *const nvdp__count_units[] = {"word", "window", NULL};

/* ---- parameters ---- */

nvdp_status nvdp__private_words_check(struct nvdp_context *ctx,
                                      const struct nvdp__private_words *options) {
    const double n = (double)options->possible;
    if (options->noise == NVDP__COUNT_GAUSSIAN) {
        if (options->epsilon >= 1e-6 && options->epsilon <= 100 && options->delta >= 1e-300 &&
            options->delta <= .5)
            return NVDP_OK;
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{vocab-dp-epsilon}, {vocab-dp-delta}: expected 1e-6 to 100 and 1e-300 to "
            "0.5, found %g and %g",
            options->epsilon, options->delta);
    }
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

/* steps of a Gaussian count per 1, candidates of sigma, halvings of an interval */
enum { COUNT_STEPS_LOG = 4, COUNT_STEPS = 1 << COUNT_STEPS_LOG, SIGMAS = 20, BISECTIONS = 60 };

/* Theorem (Wilkins et al. 2024, for documents). Let h(x) be the number of documents that have the word x, with noise
 * N(0, sigma^2) and the threshold tau, and let a change of one document take away at most `lost` words of this document
 * and add at most `gained` words. delta(eps) is at most
 *
 *     max_{0 <= j <= lost}  1 - g^j + g^j D(sqrt(lost + gained - j)/sigma, eps + gained ln g - j ln g),
 *
 * where g = Phi((tau - 1)/sigma), and D(mu, .) is delta of N(mu, 1) against N(0, 1).
 *
 * Proof. Each of these words changes one count by 1. j of the words lost are in no other document, and i of the words
 * gained; these have the count 1 before or after, and are released with probability 1 - g each. An output without them
 * has g^j times the probability of the shared words before, and g^i times that after. The counts of the shared words
 * differ by a norm of at most sqrt(lost + gained - j - i), and the threshold is post-processing. So for all sets S,
 * P(S) - e^eps Q(S) <= 1 - g^j + g^j (P'(S) - e^(eps - j ln g + i ln g) Q'(S)), and D falls with eps and grows with mu,
 * so that i = gained in the first place and i = 0 in the second are an upper bound. */
static double gaussian_delta(const struct nvdp__word_noise *noise, double epsilon, uint64_t lost,
                             uint64_t gained) {
    const double log_g =
        log1p(-gsl_cdf_ugaussian_Q(((double)noise->threshold / COUNT_STEPS - 1) / noise->sigma));
    double most = 0;
    for (uint64_t j = 0; j <= lost; j++) {
        const double none = (double)j * log_g,
                     mu = sqrt((double)(lost + gained - j)) / noise->sigma;
        most =
            fmax(most, -expm1(none) +
                           exp(none) * nvdp_gdp_delta(mu, epsilon - none + (double)gained * log_g));
    }
    return most;
}

/* Words of a document that an example can take away, and those that take their place among the words that count. */
struct change {
    uint64_t lost, gained;
};
static struct change count_change(const struct nvdp__private_words *options, uint64_t words,
                                  bool replaced) {
    const uint64_t lost =
        options->max_words > 0 && options->max_words < words ? options->max_words : words;
    return (struct change){lost, replaced || options->max_words > 0 ? lost : 0};
}

/* Returns delta of the change in both directions. */
static double change_delta(const struct nvdp__word_noise *noise, double epsilon, struct change of) {
    return fmin(1, fmax(gaussian_delta(noise, epsilon, of.lost, of.gained),
                        gaussian_delta(noise, epsilon, of.gained, of.lost)) *
                       (1 + 1e-9));
}

/* Returns epsilon and delta of the options if the change has them, else a larger epsilon at this delta, or at twice the
 * probability that a word of the change alone is released. */
static struct nvdp__example_privacy gaussian_example(const struct nvdp__private_words *options,
                                                     struct change of) {
    const struct nvdp__word_noise noise = nvdp__word_noise(options);
    double low = 0, high = options->epsilon, delta = options->delta;
    if (of.lost == 0) return (struct nvdp__example_privacy){0, 0};
    if (change_delta(&noise, high, of) > delta) {
        delta = fmin(1, fmax(delta, 2 * change_delta(&noise, INFINITY, of)));
        while (change_delta(&noise, high, of) > delta)
            high *= 2;
        for (int i = 0; i < BISECTIONS; i++) {
            const double middle = (low + high) / 2;
            *(change_delta(&noise, middle, of) > delta ? &low : &high) = middle;
        }
    }
    return (struct nvdp__example_privacy){high, delta};
}

struct nvdp__example_privacy nvdp__private_example(const struct nvdp__private_words *options,
                                                   uint64_t words) {
    if (options->noise == NVDP__COUNT_GAUSSIAN)
        return gaussian_example(options, count_change(options, words, true));
    return (struct nvdp__example_privacy){(double)words * options->epsilon,
                                          group_delta(options, words)};
}

struct nvdp__example_privacy nvdp__private_removal(const struct nvdp__private_words *options,
                                                   uint64_t words) {
    if (options->noise == NVDP__COUNT_GAUSSIAN)
        return gaussian_example(options, count_change(options, words, false));
    if (options->max_words > 0)
        return nvdp__private_example(options,
                                     words < options->max_words ? words : options->max_words);
    return (struct nvdp__example_privacy){(double)words * options->epsilon / 2,
                                          group_delta(options, words)};
}

/* ---- noise ---- */

enum { GRID = 1 << 10, FINE = 1 << 8 };

/* Chooses sigma and the smallest threshold such that the removal of a window has epsilon and delta of the options. The
 * noise of a threshold that is never reached is the smallest sigma; a little more noise has a smaller threshold. */
static struct nvdp__word_noise gaussian_noise(const struct nvdp__private_words *options) {
    const struct change of = count_change(options, options->window, false);
    const double least = sqrt((double)(of.lost + of.gained)) /
                         nvdp_gdp_mu(options->epsilon, options->delta * (1 - 1e-6));
    struct nvdp__word_noise best = {.threshold = INT64_MAX};
    for (int i = 1; i <= SIGMAS; i++) {
        struct nvdp__word_noise noise = {.sigma = least * (1 + .01 * i)};
        double low = 0, high = 1 + 40 * noise.sigma;
        for (int step = 0; step < BISECTIONS; step++) {
            const double middle = (low + high) / 2;
            noise.threshold = (int64_t)ceil(COUNT_STEPS * middle);
            *(change_delta(&noise, options->epsilon, of) > options->delta ? &low : &high) = middle;
        }
        noise.threshold = (int64_t)ceil(COUNT_STEPS * high);
        if (noise.threshold < best.threshold) best = noise;
    }
    return best;
}

/* Laplace: the scale 2/eps in steps of 1/GRID is t/s, rounded up by a relative error below eps/(2 GRID
 * FINE). */
struct nvdp__word_noise nvdp__word_noise(const struct nvdp__private_words *options) {
    const double epsilon = options->epsilon, delta = options->delta;
    if (options->noise == NVDP__COUNT_GAUSSIAN) return gaussian_noise(options);
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

/* A released count is rounded to the nearest step, so a step below the threshold could hide an exact value above it:
 * the threshold is one step higher. */
static uint64_t gaussian_count(const struct nvdp__word_noise *noise, struct nvdp__digits *digits,
                               uint64_t times) {
    static const struct nvdp__rounding_grid grid = {-COUNT_STEPS_LOG, INT32_MAX};
    const int64_t mean = nvdp__grid_mean(&grid, (double)times);
    int32_t steps;
    nvdp__grid_draw(digits, &grid, 1, &mean, &noise->sigma, &steps);
    return steps <= noise->threshold ? 0 : (uint64_t)(steps + COUNT_STEPS / 2) / COUNT_STEPS;
}

uint64_t nvdp__noised_count(const struct nvdp__word_noise *noise, struct nvdp__stream *stream,
                            struct nvdp__digits *digits, uint64_t times) {
    if (noise->sigma > 0) return gaussian_count(noise, digits, times);
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
    const struct nvdp__word_noise word_noise = nvdp__word_noise(options);
    struct nvdp__stream stream = nvdp__stream_open(noise, NVDP__PURPOSE_WORD, 0, 0);
    nvdp__auto(nvdp__word_counts_release) struct nvdp__word_counts made = {.ctx = counts->ctx};
    nvdp__autofree struct kept *kept = NULL;
    size_t count = 0;
    nvdp__auto(nvdp__digits_wipe) struct nvdp__digits digits;
    nvdp__digits_open(&stream, &digits);
    NVDP_TRY(NVDP__NEW(counts->ctx, kept, counts->words.count));
    for (size_t i = 0; i < counts->words.count; i++) {
        kept[count] = (struct kept){
            nvdp__string(&counts->words, i),
            nvdp__noised_count(&word_noise, &stream, &digits, counts->entry[i].times)};
        count += kept[count].times > 0;
    }
    NVDP__SORT(kept, count, NVDP__DOWN(struct kept, times), NVDP__UP(struct kept, word.text));
    for (size_t i = 0; i < count; i++)
        NVDP_TRY(nvdp__word_counts_add(&made, kept[i].word.text, kept[i].word.size, kept[i].times));
    return NVDP__HAND_OVER(out, made);
}

/* ---- the statement ---- */

static char *noise_statement(struct nvdp_context *ctx, const struct nvdp__private_words *options,
                             size_t length) {
    static const char nothing[] = ", which is no protection";
    const bool gaussian = options->noise == NVDP__COUNT_GAUSSIAN;
    const struct nvdp__word_noise noise = nvdp__word_noise(options);
    const struct nvdp__example_privacy window = nvdp__private_example(options, length - 2),
                                       removed = nvdp__private_removal(options, length - 2),
                                       document =
                                           nvdp__private_example(options, options->max_words);
    char limit[192] = "Nothing is proven for a whole document: all of its words count.";
    if (options->max_words > 0)
        nvdp__snprintf(limit, sizeof limit,
                       "For a whole document, of which the first %llu words count: epsilon "
                       "%s, delta %s%s.",
                       (unsigned long long)options->max_words, nvdp__bound(document.epsilon).text,
                       nvdp__bound(document.delta).text, document.delta >= 1 ? nothing : "");
    nvdp__autofree char *proven =
        gaussian
            ? nvdp__format(
                  ctx,
                  "for up to %llu words of one document that are added or removed.\n"
                  "For a window of %zu tokens that is added or removed, as private training "
                  "counts: epsilon %s, delta %s; for all words of a window that are replaced "
                  "by others: %s, %s%s.",
                  (unsigned long long)options->window, length, nvdp__bound(removed.epsilon).text,
                  nvdp__bound(removed.delta).text, nvdp__bound(window.epsilon).text,
                  nvdp__bound(window.delta).text, window.delta >= 1 ? nothing : "")
            : nvdp__format(ctx,
                           "for one word of the texts that is replaced by another.\n"
                           "For all words of a window of %zu tokens, by group privacy: epsilon %s, "
                           "delta %s%s; for a window that is added or removed, as private training "
                           "counts: %s, %s.",
                           length, nvdp__bound(window.epsilon).text, nvdp__bound(window.delta).text,
                           window.delta >= 1 ? nothing : "", nvdp__bound(removed.epsilon).text,
                           nvdp__bound(removed.delta).text);
    nvdp__autofree char *mechanism =
        gaussian
            ? nvdp__format(
                  ctx,
                  "Gaussian noise of standard deviation %.6g on the number of documents that "
                  "have a word; only words whose noisy count reaches %.6g were used",
                  noise.sigma, (double)noise.threshold / COUNT_STEPS)
            : nvdp__format(ctx,
                           "Laplace noise of scale %g on the count of every word; only words whose "
                           "noisy count reaches %.6g were used (at most %llu different words are "
                           "possible)",
                           2 / options->epsilon, 1 + 2 * log(2 / options->delta) / options->epsilon,
                           (unsigned long long)options->possible);
    if (proven == NULL || mechanism == NULL) return NULL;
    return nvdp__format(
        ctx,
        "Proven: the vocabulary is (epsilon %s, delta %s)-differentially private %s\n"
        "%s\n"
        "Mechanism: %s. The noise is exact, from the operating system's generator.\n"
        "It covers vocab.txt alone: not weights that are trained on the texts, losses, the texts' "
        "digests in pretrain.json, the cache folder, or the time that all took.",
        nvdp__bound(options->epsilon).text, nvdp__bound(options->delta).text, proven, limit,
        mechanism);
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
    const bool gaussian = options->noise == NVDP__COUNT_GAUSSIAN;
    const struct nvdp__example_privacy designed = {options->epsilon, options->delta};
    nvdp__autofree char *statement = noise_statement(ctx, options, length);
    if (statement == NULL) return NULL;
    json_t *root = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:I, s:s}", "nvdp_format", "vocab_privacy/1",
        gaussian ? "removal" : "word",
        gaussian ? of_words(options->window, designed)
                 : json_pack("{s:f, s:f}", "epsilon", designed.epsilon, "delta", designed.delta),
        "window", of_words(window, nvdp__private_example(options, window)), "window_removed",
        of_words(window, nvdp__private_removal(options, window)), "document",
        document == 0 ? json_null() : of_words(document, nvdp__private_example(options, document)),
        "possible_words", (json_int_t)options->possible, "statement", statement);
    if (root == NULL) (void)nvdp__fail(ctx, NVDP_ERR_MEMORY, "vocab_privacy.json: out of memory");
    return root;
}

nvdp_status nvdp__private_words_read(struct nvdp_context *ctx, const char *path,
                                     const json_t *object, struct nvdp__private_words *options) {
    const json_t *gaussian = json_object_get(object, "removal"),
                 *document = json_object_get(object, "document"),
                 *unit = gaussian != NULL ? gaussian : json_object_get(object, "word");
    const char *format = json_string_value(json_object_get(object, "nvdp_format"));
    struct nvdp__private_words read = {.noise = gaussian != NULL ? NVDP__COUNT_GAUSSIAN
                                                                 : NVDP__COUNT_LAPLACE};
    int64_t words, possible, window = 0;
    if (format == NULL || strcmp(format, "vocab_privacy/1") != 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: 'nvdp_format': expected vocab_privacy/1, found %s", path,
                          format != NULL ? format : "none");
    NVDP_TRY(nvdp__json_real(ctx, path, unit, "epsilon", NAN, 0, INFINITY, &read.epsilon));
    NVDP_TRY(nvdp__json_real(ctx, path, unit, "delta", NAN, 0, 1, &read.delta));
    NVDP_TRY(nvdp__json_int(ctx, path, document, "words", 0, 0, INT64_MAX, &words));
    if (gaussian != NULL)
        NVDP_TRY(nvdp__json_int_required(ctx, path, gaussian, "words", 1, INT32_MAX, &window));
    NVDP_TRY(
        nvdp__json_int_required(ctx, path, object, "possible_words", 2, (int64_t)1e15, &possible));
    read.max_words = (uint64_t)words;
    read.possible = (uint64_t)possible;
    read.window = (uint64_t)window;
    if (nvdp__private_words_check(ctx, &read) != NVDP_OK) {
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: expected epsilon and delta as a private vocabulary has them, found %g "
            "and %g",
            path, read.epsilon, read.delta);
    }
    *options = read;
    return NVDP_OK;
}
