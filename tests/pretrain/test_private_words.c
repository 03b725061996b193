/* The private word histogram: the noise's distribution, an audit of neighbors, the kept words
 * and their order, refusals. */
#include "pretrain/private_words.h"
#include "rdp/pairs.h"
#include "support.h"
#include <gsl/gsl_cdf.h>

#include "test_context.h"

#define LAPLACE(epsilon_, delta_, max_words_, possible_)                                           \
    (struct nvdp__private_words) {                                                                 \
        .epsilon = (epsilon_), .delta = (delta_), .max_words = (max_words_),                       \
        .possible = (possible_)                                                                    \
    }
#define GAUSSIAN(epsilon_, delta_, window_)                                                        \
    (struct nvdp__private_words) {                                                                 \
        .epsilon = (epsilon_), .delta = (delta_), .possible = 1000000,                             \
        .noise = NVDP__COUNT_GAUSSIAN, .window = (window_)                                         \
    }

static const struct nvdp__noise seeded = {.seed = 20};

static struct nvdp__word_noise laplace_noise(double epsilon, double delta) {
    return nvdp__word_noise(&LAPLACE(epsilon, delta, 0, 1000000));
}

static struct nvdp__stream open_stream(uint32_t epoch) {
    return nvdp__stream_open(&seeded, NVDP__PURPOSE_WORD, epoch, 0);
}

/* A large count hides nothing of the noise, which is a Laplace variable: chi-square over 40
 * intervals of equal probability; rounding to whole numbers is a hundredth of an interval. False
 * alarm 1e-6. */
Test(private_words, laplace) {
    enum { DRAWS = 200000, CELLS = 40 };
    const double scale = 2 / .004;
    const struct nvdp__word_noise noise = laplace_noise(.004, 1e-9);
    struct nvdp__stream stream = open_stream(1);
    double square = 0, seen[CELLS] = {0};
    for (int i = 0; i < DRAWS; i++) {
        double x = (double)nvdp__noised_count(&noise, &stream, NULL, 1000000) - 1e6;
        double below = x < 0 ? exp(x / scale) / 2 : 1 - exp(-x / scale) / 2;
        seen[below < 1 ? (int)(below * CELLS) : CELLS - 1]++;
    }
    for (int c = 0; c < CELLS; c++)
        square += pow(seen[c] - (double)DRAWS / CELLS, 2) / ((double)DRAWS / CELLS);
    cr_expect_lt(square, gsl_cdf_chisq_Qinv(1e-6, CELLS - 1), "%g", square);
}

/* ---- the audit ---- */

/* In one of two texts the word x replaces y: h(x), h(y) = 3, 0 and 2, 1, for example. An absent
 * word gets no noise. An outcome is both noised counts. The events are its cells, and the set of
 * cells whose share was larger by more than e^eps in the first half of the draws, tested on the
 * second. */
enum { LEVELS = 40, OUTCOMES = LEVELS * LEVELS };
struct texts {
    uint64_t x, y;
};

static void draw(const struct nvdp__word_noise *noise, struct texts of, uint32_t epoch, int draws,
                 double *seen) {
    struct nvdp__stream stream = open_stream(epoch);
    for (int i = 0; i < draws; i++) {
        const uint64_t x = of.x > 0 ? nvdp__noised_count(noise, &stream, NULL, of.x) : 0;
        const uint64_t y = of.y > 0 ? nvdp__noised_count(noise, &stream, NULL, of.y) : 0;
        seen[(x < LEVELS ? x : LEVELS - 1) * LEVELS + (y < LEVELS ? y : LEVELS - 1)]++;
    }
}

/* Tests P(S) > e^eps Q(S) + delta by the limits of both shares (Clopper & Pearson 1934). */
static bool violated(double p, double q, double draws, double epsilon, double delta) {
    const double confidence =
        1 - 1e-6 / (4 * (OUTCOMES + 1)); /* for all events of a comparison together: 1e-6 */
    if (p <= exp(epsilon) * q + delta * draws) return false; /* the limits enclose the shares */
    return nvdp__interval_share(confidence, (size_t)draws, (size_t)p).low >
           exp(epsilon) * nvdp__interval_share(confidence, (size_t)draws, (size_t)q).high + delta;
}

static int violations(const double *p, const double *q, const double *p_before,
                      const double *q_before, double draws, double epsilon, double delta) {
    double p_set = 0, q_set = 0;
    int found = 0;
    for (int s = 0; s < OUTCOMES; s++) {
        const bool in = p_before[s] > exp(epsilon) * q_before[s];
        p_set += in ? p[s] : 0;
        q_set += in ? q[s] : 0;
        found += violated(p[s], q[s], draws, epsilon, delta);
    }
    return found + violated(p_set, q_set, draws, epsilon, delta);
}

/* Tests a claim of (epsilon, delta) for a noise in both directions. */
static int audit(const struct nvdp__word_noise *noise, struct texts a, struct texts b, int draws,
                 double epsilon, double delta) {
    double *seen = calloc(4, OUTCOMES * sizeof *seen);
    double *of[4];
    int found = 0;
    for (uint32_t i = 0; i < 4; i++) {
        of[i] = seen + i * OUTCOMES;
        draw(noise, i % 2 == 0 ? a : b, 2 + i, draws / 2, of[i]);
    }
    found += violations(of[2], of[3], of[0], of[1], draws / 2, epsilon, delta);
    found += violations(of[3], of[2], of[1], of[0], draws / 2, epsilon, delta);
    free(seen);
    return found;
}

static const struct texts pairs[][2] = {{{3, 0}, {2, 1}}, {{1, 4}, {0, 5}}, {{22, 22}, {21, 23}}};

/* Draws 10^6 replacements of a word each. There is no alarm for the promised noise; there is one
 * for half of it, and one where words pass a threshold meant for a hundred times the delta. */
Test(private_words, audit_of_neighbors) {
    const double epsilon = 1, delta = .01;
    const struct nvdp__word_noise noise = laplace_noise(epsilon, delta);
    struct nvdp__word_noise half = laplace_noise(2 * epsilon, delta), open = noise;
    half.threshold = noise.threshold;
    open.threshold = laplace_noise(epsilon, .5).threshold;
    const int draws = (int)support_fewer(1000000);
    int half_found = 0, open_found = 0;
    for (size_t i = 0; i < 3; i++) {
        cr_expect_eq(audit(&noise, pairs[i][0], pairs[i][1], draws, epsilon, delta), 0, "%zu", i);
        half_found += audit(&half, pairs[i][0], pairs[i][1], draws, epsilon, delta);
        open_found += audit(&open, pairs[i][0], pairs[i][1], draws, epsilon, delta);
    }
    cr_expect_gt(half_found, 0);
    cr_expect_gt(open_found, 0);
}

/* A word that occurs once, in one text only, stays with a probability of at most delta/2, and of
 * nearly delta/4. */
Test(private_words, threshold) {
    const double delta = .04;
    const struct nvdp__word_noise noise = laplace_noise(1.5, delta);
    struct nvdp__stream stream = open_stream(9);
    int stays = 0;
    enum { DRAWS = 400000 };
    for (int i = 0; i < DRAWS; i++)
        stays += nvdp__noised_count(&noise, &stream, NULL, 1) > 0;
    const struct nvdp_interval share = nvdp__interval_share(1 - 1e-6, DRAWS, (size_t)stays);
    cr_expect(share.low <= delta / 4 * 1.001 && share.high >= delta / 4 * .99, "%g %g", share.low,
              share.high);
}

/* ---- the histogram ---- */

static struct nvdp__word_counts counts_of(const char *const *word, const uint64_t *times,
                                          size_t count) {
    struct nvdp__word_counts counts = {.ctx = ctx};
    for (size_t i = 0; i < count; i++)
        ok(nvdp__word_counts_add(&counts, word[i], strlen(word[i]), times[i]));
    return counts;
}

/* The order is by noised counts, then by the words' bytes, whatever the order and counts of the
 * input. */
Test(private_words, order_is_of_noised_counts_and_words_alone) {
    static const char *const words[] = {"zeta", "b", "a", "common", "often", "rare"};
    static const uint64_t times[] = {40, 40, 40, 500, 200, 1};
    const struct nvdp__private_words options = LAPLACE(3, 1e-7, 0, 1000000);
    int ties = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        nvdp__auto(nvdp__word_counts_release) struct nvdp__word_counts counts = counts_of(words,
                                                                                          times, 6),
                                                                       out = {0};
        ok(nvdp__private_word_counts(&counts, &options, &(struct nvdp__noise){.seed = seed}, &out));
        for (size_t i = 1; i < out.words.count; i++) {
            const char *before = nvdp__string(&out.words, i - 1).text;
            const char *word = nvdp__string(&out.words, i).text;
            ties += out.entry[i].times == out.entry[i - 1].times;
            cr_expect(out.entry[i].times < out.entry[i - 1].times ||
                      (out.entry[i].times == out.entry[i - 1].times && strcmp(before, word) < 0));
            cr_expect(strcmp(word, "rare") != 0);
            cr_expect_geq(out.entry[i].times, 12); /* 1 + 2 ln(2e7)/3 = 12.2 */
        }
    }
    cr_expect_gt(ties, 0);
}

/* Only a document's first K words are counted, then the next document's. */
Test(private_words, documents_are_cut) {
    const char *path = support_scratch_path("words.txt");
    static const char text[] = "a b c\nd e\n\na b\n\na a a a a a\n";
    support_write(path, text, sizeof text - 1);
    struct nvdp__normalization normalization = {.lower_case = true};
    struct nvdp__word_rules rules = nvdp__word_rules(&normalization);
    nvdp__auto(nvdp__word_counts_release) struct nvdp__word_counts counts = {.ctx = ctx};
    ok(nvdp__word_counts_read(&counts, &rules, &path, 1, 4));
    static const uint64_t times[] = {6, 2, 1, 1}; /* a b c d */
    cr_assert_eq(counts.words.count, 4);
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(counts.entry[i].times, times[i]);
    nvdp__auto(nvdp__word_counts_release) struct nvdp__word_counts once = {.ctx = ctx,
                                                                           .once = true};
    ok(nvdp__word_counts_read(&once, &rules, &path, 1, 4));
    static const uint64_t documents[] = {3, 2, 1, 1};
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(once.entry[i].times, documents[i]);
}

Test(private_words, refusals) {
    static const double wrong[][3] = {{0, 1e-7, 1e6},   {-1, 1e-7, 1e6}, {14, 1e-7, 1e6},
                                      {NAN, 1e-7, 1e6}, {1, 0, 1e6},     {1, 1e-6, 1e6},
                                      {1, NAN, 1e6},    {5, 1e-7, 100}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        fails(nvdp__private_words_check(
                  ctx, &LAPLACE(wrong[i][0], wrong[i][1], 0, (uint64_t)wrong[i][2])),
              NVDP_ERR_ARGUMENT, "n = ");
    ok(nvdp__private_words_check(ctx, &LAPLACE(13.8, 9e-7, 0, 1000000)));
}

/* The guarantee is (k eps, delta/2 max(k, e^((k-1) eps/2))). */
Test(private_words, group_privacy) {
    const struct nvdp__private_words options = LAPLACE(.5, 1e-9, 10, 1000000);
    struct nvdp__example_privacy of = nvdp__private_example(&options, 10);
    cr_expect_float_eq(of.epsilon, 5, 1e-12);
    cr_expect_leq(support_relative(of.delta, .5e-9 * 10, 0), 1e-12); /* e^2.25 is 9.5 */
    of = nvdp__private_example(&options, 20);
    cr_expect_leq(support_relative(of.delta, .5e-9 * exp(4.75), 0), 1e-12);
    cr_expect_eq(nvdp__private_example(&options, 1000).delta, 1);
    of = nvdp__private_example(&options, 1);
    cr_expect_float_eq(of.epsilon, .5, 1e-12);
    cr_expect_leq(support_relative(of.delta, .5e-9, 0), 1e-12);
    cr_expect_eq(nvdp__private_example(&options, 0).delta, 0);
}

/* Computes P(a word that occurs j times in one text only stays) from the noise's own
 * distribution: (1 - p)/(1 + p) p^|y|. */
static double stays(const struct nvdp__private_words *options, uint64_t j) {
    const struct nvdp__word_noise noise = laplace_noise(options->epsilon, options->delta);
    const double p = exp(-(double)noise.s / (double)noise.t);
    const double y = (double)noise.threshold - 1024.0 * (double)j;
    return y > 0 ? pow(p, y) / (1 + p) : 1 - pow(p, 1 - y) / (1 + p);
}

/* For the removal of k words: counts that stay positive shift by k in total, a loss of at most k
 * eps/2. For all others, the probability that one of them is seen is below delta. */
Test(private_words, removal) {
    static const double epsilons[] = {.01, .1, 1, 5};
    for (size_t e = 0; e < 4; e++)
        for (uint64_t k = 1; k <= 40; k++) {
            const struct nvdp__private_words options = LAPLACE(epsilons[e], 1e-9, 0, 1000000);
            const struct nvdp__word_noise noise = laplace_noise(options.epsilon, options.delta);
            const struct nvdp__example_privacy of = nvdp__private_removal(&options, k);
            cr_expect_leq(1024.0 * (double)(k * noise.s) / (double)noise.t, of.epsilon);
            for (uint64_t j = 1; j <= k; j++) { /* k/j words of j each, and the remainder */
                double seen = (double)(k / j) * stays(&options, j);
                if (k % j > 0) seen += stays(&options, k % j);
                cr_expect_leq(fmin(seen, 1), of.delta, "%g %d %d", epsilons[e], (int)k, (int)j);
            }
        }
    /* With a limit of words per document, the next words replace the removed ones. */
    const struct nvdp__private_words first = LAPLACE(.1, 1e-9, 10, 1000000);
    const struct nvdp__example_privacy of = nvdp__private_removal(&first, 30),
                                       want = nvdp__private_example(&first, 10);
    cr_expect_eq(of.epsilon, want.epsilon);
    cr_expect_eq(of.delta, want.delta);
}

/* --- the exact quantity that the bound limits --- */

/* Enumerates all outcomes of a smaller copy of the mechanism: STEPS steps of the noise per count
 * in place of 1024. */
enum { STEPS = 8, WORDS = 3, MAX_OUTCOMES = 128 };

/* Computes P(noise >= m steps). */
static double reaches(double r, double m) {
    return m > 0 ? pow(r, m) / (1 + r) : 1 - pow(r, 1 - m) / (1 + r);
}

struct outcomes {
    size_t n;
    double p[MAX_OUTCOMES], q[MAX_OUTCOMES];
};

/* Lists the outcomes of a word that P has a times and Q b times: not released, or released with
 * a noised count. Counts below both have one likelihood ratio and form one outcome; so do counts
 * above both. */
static struct outcomes outcomes_of(double r, double threshold, double a, double b) {
    struct outcomes made = {.n = 1};
    const double low = fmin(a, b) * STEPS, high = fmax(a, b) * STEPS;
    made.p[0] = 1 - reaches(r, threshold - a * STEPS);
    made.q[0] = 1 - reaches(r, threshold - b * STEPS);
    for (double from = threshold, to; isfinite(from); from = to) {
        to = from >= high ? INFINITY : from < low ? low : from + 1;
        made.p[made.n] = reaches(r, from - a * STEPS) - reaches(r, to - a * STEPS);
        made.q[made.n] = reaches(r, from - b * STEPS) - reaches(r, to - b * STEPS);
        made.n++;
    }
    return made;
}

/* Sums (p P - q Q)_+ over all outcomes of the words from `word` on. */
static double positive_part(const struct outcomes *words, size_t word, double p, double q) {
    double sum = 0;
    if (word == WORDS) return fmax(p - q, 0);
    for (size_t i = 0; i < words[word].n; i++)
        sum += positive_part(words, word + 1, p * words[word].p[i], q * words[word].q[i]);
    return sum;
}

static uint64_t below(uint64_t *state, uint64_t n) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % n;
}

/* Computes sup_S P(S) - e^(k eps) Q(S) for random pairs of texts in which k words are replaced:
 * up to three words that only one text has and up to three that both have, with counts from far
 * below the threshold to far above. It never exceeds the bound, and for some is near half of it. */
Test(private_words, group_privacy_is_a_bound) {
    static const double epsilons[] = {.02, .1, .5, 1, 2, 5}, deltas[] = {1e-2, 1e-4, 1e-7, 1e-10};
    uint64_t state = 1;
    double closest = 0;
    for (int setting = 0; setting < 3000; setting++) {
        const double epsilon = epsilons[below(&state, 6)], delta = deltas[below(&state, 4)];
        const struct nvdp__private_words options = LAPLACE(epsilon, delta, 0, 1000000);
        const double limit = 1 + 2 * log(2 / delta) / epsilon;
        const double r = exp(-epsilon / (2 * STEPS)), threshold = ceil(STEPS * limit);
        const uint64_t k = 1 + below(&state, 5);
        uint64_t own[2][WORDS] = {{0}}, more[2][WORDS] = {{0}};
        for (int side = 0; side < 2; side++) {
            const uint64_t places = 1 + below(&state, 2 * WORDS), first = below(&state, 2 * WORDS);
            for (uint64_t i = 0; i < k; i++) {
                const uint64_t at = (first + below(&state, places)) % (2 * WORDS);
                (at < WORDS ? own : more)[side][at % WORDS]++;
            }
        }
        double none[2] = {1, 1}; /* the probability that no word of only one text is released */
        struct outcomes words[WORDS];
        for (size_t w = 0; w < WORDS; w++) {
            const uint64_t bases[] = {1, (uint64_t)(limit / 2) + 1, (uint64_t)limit,
                                      (uint64_t)limit + 4};
            const double base = (double)bases[below(&state, 4)];
            for (int side = 0; side < 2; side++)
                if (own[side][w] > 0)
                    none[side] *= 1 - reaches(r, threshold - (double)own[side][w] * STEPS);
            words[w] =
                outcomes_of(r, threshold, base + (double)more[0][w], base + (double)more[1][w]);
        }
        const struct nvdp__example_privacy bound = nvdp__private_example(&options, k);
        const double exact =
            1 - none[0] + positive_part(words, 0, none[0], exp(bound.epsilon) * none[1]);
        cr_expect_leq(exact, bound.delta * (1 + 1e-9) + 1e-14, "%d: k %d, eps %g, delta %g",
                      setting, (int)k, epsilon, delta);
        closest = fmax(closest, exact / bound.delta);
    }
    cr_expect(closest > .5 && closest <= 1, "%g", closest);
}

/* No number of the statement is below what is proven. */
Test(private_words, statement_rounds_up) {
    const struct nvdp__private_words options = LAPLACE(1.2345678, 1.2345612e-7, 7, 1000000);
    nvdp__autoptr(json_decref) json_t *object = nvdp__private_words_json(NULL, &options, 16);
    support_contains(text_at(object, "statement"), "is (epsilon 1.235, delta 1.235e-07)-diff",
                     "by group privacy: epsilon 17.29, delta 0.0001887; for a window",
                     "counts: 8.642, 2.506e-06.\n",
                     "of which the first 7 words count: epsilon 8.642, delta 2.506e-06.");
}

/* A word that occurs 14 times in one text only is released more often than k delta, which the
 * paper states. */
Test(private_words, k_delta_is_too_small) {
    const struct nvdp__private_words options = LAPLACE(1, 1e-7, 0, 1000000);
    const double released = stays(&options, 14), bound = nvdp__private_example(&options, 14).delta;
    cr_expect(released > 1.65e-5 && released < 1.68e-5, "%g", released);
    cr_expect_gt(released, 10 * 14 * options.delta);
    cr_expect(bound > released && bound > 3.32e-5 && bound < 3.33e-5, "%g", bound);
}

Test(private_words, on_disk) {
    const struct nvdp__private_words options = LAPLACE(.25, 3e-9, 7, 12345);
    struct nvdp__private_words read = {0};
    nvdp__autoptr(json_decref) json_t *object = nvdp__private_words_json(ctx, &options, 32);
    ok(nvdp__private_words_read(ctx, "f", object, &read));
    cr_expect(read.epsilon == .25 && read.delta == 3e-9 && read.max_words == 7 &&
              read.possible == 12345);
    json_object_set_new(object, "possible_words", json_integer(1000000000));
    fails(nvdp__private_words_read(ctx, "f", object, &read), NVDP_ERR_INPUT,
          "found 0.25 and 3e-09");
    json_object_del(object, "word");
    cr_expect_eq(nvdp__private_words_read(ctx, "f", object, &read), NVDP_ERR_INPUT);
    json_object_set_new(object, "nvdp_format", json_string("other"));
    fails(nvdp__private_words_read(ctx, "f", object, &read), NVDP_ERR_INPUT, "f: 'nvdp_format'");
}

/* ---- Gaussian noise ---- */

/* At epsilon 1 and delta 1e-6 for a window of 64 words, words in about 190 documents are kept; Laplace noise with the
 * same guarantee needs 1,151 occurrences. */
Test(private_words, gaussian_threshold) {
    const struct nvdp__word_noise noise = nvdp__word_noise(&GAUSSIAN(1, 1e-6, 64)),
                                  laplace = laplace_noise(1. / 32, 2e-6 / 64);
    cr_expect_float_eq((double)noise.threshold / 16, 190, 1, "%g", (double)noise.threshold / 16);
    cr_expect_float_eq((double)laplace.threshold / 1024, 1151, 1);
}

/* Returns the probability that a count with noise is released as `seen`; 0: not released. */
static double released_as(const struct nvdp__word_noise *noise, double count, uint64_t seen) {
    const double first = fmax((double)noise->threshold + 1, 16.0 * (double)seen - 8);
    const double low = (first - .5 - 16 * count) / (16 * noise->sigma);
    if (seen == 0)
        return gsl_cdf_ugaussian_P(((double)noise->threshold + .5 - 16 * count) /
                                   (16 * noise->sigma));
    return gsl_cdf_ugaussian_P((16.0 * (double)seen + 7.5 - 16 * count) / (16 * noise->sigma)) -
           gsl_cdf_ugaussian_P(low);
}

/* Estimates delta(epsilon) of two collections from draws of the first: WINDOW words have the counts of[0][i] and
 * of[1][i]; a word with the count 0 is never released. Returns the mean of max(0, 1 - e^(epsilon - loss)) less five
 * standard errors. */
enum { WINDOW = 4 };
static double gaussian_audit(const struct nvdp__word_noise *noise, const double of[2][WINDOW],
                             double epsilon) {
    enum { DRAWS = 100000 };
    static const double never[] = {0, 1};
    struct nvdp__stream stream = open_stream(3);
    struct nvdp__digits digits;
    double sum = 0, square = 0;
    nvdp__digits_open(&stream, &digits);
    for (int i = 0; i < DRAWS; i++) {
        double loss = 0;
        for (size_t w = 0; w < WINDOW; w++) {
            const uint64_t seen =
                of[0][w] > 0 ? nvdp__noised_count(noise, NULL, &digits, (uint64_t)of[0][w]) : 0;
            double p[2];
            for (size_t side = 0; side < 2; side++)
                p[side] =
                    of[side][w] > 0 ? released_as(noise, of[side][w], seen) : never[seen == 0];
            loss += log(p[0]) - log(p[1]);
        }
        const double gain = fmax(0, -expm1(epsilon - loss));
        sum += gain / DRAWS;
        square += gain * gain / DRAWS;
    }
    return sum - 5 * sqrt((square - sum * sum) / DRAWS);
}

/* Audits windows of which some words are in no other document, and others in few or many. The promised noise has no
 * alarm; half of the noise and a threshold for a hundred times the delta have one. */
Test(private_words, gaussian_audit) {
    static const double windows[][2][WINDOW] = {{{1, 1, 1, 1}, {0, 0, 0, 0}},
                                                {{99, 99, 99, 99}, {98, 98, 98, 98}},
                                                {{98, 98, 98, 98}, {99, 99, 99, 99}},
                                                {{1, 1, 99, 99}, {0, 0, 98, 98}},
                                                {{10, 11, 12, 1}, {9, 10, 11, 0}}};
    const double epsilon = 1, delta = .02;
    const struct nvdp__word_noise noise = nvdp__word_noise(&GAUSSIAN(epsilon, delta, WINDOW));
    struct nvdp__word_noise half = noise, open = noise;
    int half_found = 0, open_found = 0;
    half.sigma /= 2;
    open.threshold = nvdp__word_noise(&GAUSSIAN(epsilon, .4, WINDOW)).threshold;
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        cr_expect_leq(gaussian_audit(&noise, windows[i], epsilon), delta, "%zu", i);
        half_found += gaussian_audit(&half, windows[i], epsilon) > delta;
        open_found += gaussian_audit(&open, windows[i], epsilon) > delta;
    }
    cr_expect_gt(half_found, 0);
    cr_expect_gt(open_found, 0);
}

/* Fewer words cost no more than a window, more words and replaced words cost more, and a limit of words per document
 * counts the words that move up. */
Test(private_words, gaussian_groups) {
    struct nvdp__private_words options = GAUSSIAN(1, 1e-6, 62);
    cr_expect_eq(nvdp__private_removal(&options, 62).epsilon, 1);
    cr_expect_eq(nvdp__private_removal(&options, 62).delta, 1e-6);
    cr_expect_eq(nvdp__private_removal(&options, 10).epsilon, 1);
    const struct nvdp__example_privacy replaced = nvdp__private_example(&options, 62),
                                       twice = nvdp__private_removal(&options, 124);
    cr_expect(replaced.epsilon > 1.3 && replaced.epsilon < 2 && replaced.delta <= 2e-6);
    cr_expect(twice.epsilon > 1.3 && twice.delta < 4e-6 && twice.delta > 1e-6);
    cr_expect_eq(nvdp__private_removal(&options, 0).delta, 0);
    const int64_t threshold = nvdp__word_noise(&options).threshold;
    options.max_words = 62;
    cr_expect_gt(nvdp__word_noise(&options).threshold, 1.3 * (double)threshold);
    cr_expect_eq(nvdp__private_example(&options, 62).epsilon, 1);
}

Test(private_words, gaussian_on_disk) {
    const struct nvdp__private_words options = GAUSSIAN(1, 1e-6, 62);
    struct nvdp__private_words read = {0};
    nvdp__autoptr(json_decref) json_t *object = nvdp__private_words_json(ctx, &options, 64);
    ok(nvdp__private_words_read(ctx, "f", object, &read));
    cr_expect_arr_eq(&read, &options, sizeof read);
    support_contains(text_at(object, "statement"),
                     "(epsilon 1, delta 1e-06)-differentially private for up to 62 words of one",
                     "For a window of 64 tokens that is added or removed, as private training "
                     "counts: epsilon 1, delta 1e-06;",
                     "Gaussian noise of standard deviation");
    fails(nvdp__private_words_check(ctx, &GAUSSIAN(1, .6, 62)), NVDP_ERR_ARGUMENT,
          "1e-300 to 0.5, found 1 and 0.6");
}
