/* Tests the search for texts under a language model with known answers (a Markov chain), against Viterbi's and the
 * forward-backward algorithm.  Tests intervals over texts and seeds against the truth. */
#include "attack/language.h"
#include "support.h"

#include "test_context.h"

enum { WORDS = 8, LENGTH = 10, ROWS = LENGTH + 2, TEXTS = 300, TOGETHER = 8, FIRST_ID = 5 };

/* A chain over words, and the observations of texts drawn from it: the indicator of each word plus noise. */
struct chain {
    double start[WORDS], step[WORDS][WORDS]; /* logarithms */
    int32_t token[WORDS], word[TEXTS][LENGTH];
    double score[TEXTS][ROWS][WORDS];
    size_t asked, max_together;
};

static double draw(struct nvdp__stream *stream) {
    double z;
    nvdp__stream_normals_f64(stream, 1, &z);
    return z;
}

static size_t drawn(struct nvdp__stream *stream, const double *log_p) {
    double u = (double)nvdp__stream_below(stream, 1 << 30) / (1 << 30);
    size_t k = 0;
    while (k < WORDS - 1 && (u -= exp(log_p[k])) > 0)
        k++;
    return k;
}

static struct chain *make(double sd) {
    struct nvdp__stream stream = support_stream(7, 0);
    struct chain *c = calloc(1, sizeof *c);
    cr_assert_not_null(c);
    for (size_t a = 0; a < WORDS; a++) {
        double sum = 0;
        c->token[a] = (int32_t)(FIRST_ID + (a * 3) % WORDS);
        c->start[a] = -log(WORDS);
        for (size_t b = 0; b < WORDS; b++)
            sum += exp(c->step[a][b] = 1.5 * draw(&stream));
        for (size_t b = 0; b < WORDS; b++)
            c->step[a][b] -= log(sum);
    }
    for (size_t i = 0; i < TEXTS; i++)
        for (size_t t = 0; t < LENGTH; t++) {
            const double *p = t == 0 ? c->start : c->step[c->word[i][t - 1]];
            c->word[i][t] = (int32_t)drawn(&stream, p);
            for (size_t k = 0; k < WORDS; k++) {
                const double z = (k == (size_t)c->word[i][t]) + sd * draw(&stream);
                c->score[i][t + 1][k] = (z - .5) / (sd * sd); /* log ratio to the word's absence */
            }
        }
    return support_keep(c);
}

static size_t word_of(const struct chain *c, int32_t id) {
    size_t k = 0;
    while (c->token[k] != id)
        k++;
    return k;
}

/* p(word | the others) depends only on its two neighbors. */
static nvdp_status ask(void *of, size_t n, const struct nvdp__question *question, double *log_p) {
    struct chain *c = of;
    c->asked += n;
    c->max_together = n > c->max_together ? n : c->max_together;
    for (size_t q = 0; q < n; q++) {
        const struct nvdp__question *at = &question[q];
        double sum = 0, *to = log_p + q * WORDS;
        for (size_t k = 0; k < WORDS; k++) {
            to[k] = at->which == 1 ? c->start[k] : c->step[word_of(c, at->id[at->which - 1])][k];
            if (at->which < LENGTH) to[k] += c->step[k][word_of(c, at->id[at->which + 1])];
            sum += exp(to[k]);
        }
        for (size_t k = 0; k < WORDS; k++)
            to[k] -= log(sum);
    }
    return NVDP_OK;
}

static double joint(const struct chain *c, size_t i, const int32_t *word) {
    double sum = c->start[word[0]];
    for (size_t t = 0; t < LENGTH; t++)
        sum += c->score[i][t + 1][word[t]] + (t > 0 ? c->step[word[t - 1]][word[t]] : 0);
    return sum;
}

/* Finds the likeliest text (Viterbi 1967). */
static void viterbi(const struct chain *c, size_t i, int32_t *word) {
    double best[LENGTH][WORDS];
    size_t from[LENGTH][WORDS] = {{0}};
    for (size_t t = 0; t < LENGTH; t++)
        for (size_t k = 0; k < WORDS; k++) {
            best[t][k] = t == 0 ? c->start[k] : -INFINITY;
            for (size_t a = 0; a < WORDS && t > 0; a++)
                if (best[t - 1][a] + c->step[a][k] > best[t][k]) {
                    best[t][k] = best[t - 1][a] + c->step[a][k];
                    from[t][k] = a;
                }
            best[t][k] += c->score[i][t + 1][k];
        }
    size_t k = 0;
    for (size_t a = 1; a < WORDS; a++)
        if (best[LENGTH - 1][a] > best[LENGTH - 1][k]) k = a;
    for (size_t t = LENGTH; t-- > 0; k = from[t][k])
        word[t] = (int32_t)k;
}

/* Counts the words that forward-backward names right: no other way to name single words is right more often. */
static size_t max_right(const struct chain *c, size_t i) {
    double before[LENGTH][WORDS], behind[LENGTH][WORDS];
    size_t right = 0;
    for (size_t t = 0; t < LENGTH; t++)
        for (size_t k = 0; k < WORDS; k++) {
            before[t][k] = t == 0 ? exp(c->start[k]) : 0;
            for (size_t a = 0; a < WORDS && t > 0; a++)
                before[t][k] += before[t - 1][a] * exp(c->step[a][k]);
            before[t][k] *= exp(c->score[i][t + 1][k]);
        }
    for (size_t t = LENGTH; t-- > 0;)
        for (size_t k = 0; k < WORDS; k++) {
            behind[t][k] = t == LENGTH - 1;
            for (size_t b = 0; b < WORDS && t < LENGTH - 1; b++)
                behind[t][k] += exp(c->step[k][b] + c->score[i][t + 2][b]) * behind[t + 1][b];
        }
    for (size_t t = 0; t < LENGTH; t++) {
        size_t top = 0;
        for (size_t k = 1; k < WORDS; k++)
            if (before[t][k] * behind[t][k] > before[t][top] * behind[t][top]) top = k;
        right += top == (size_t)c->word[i][t];
    }
    return right;
}

/* The result of a search over all texts. */
struct outcome {
    size_t right, best;  /* words; texts as likely as Viterbi's */
    double joint, log_p; /* sums of log joint probabilities; of the answers about the found words */
};

static struct outcome search(struct chain *c, double weight, size_t beam) {
    const struct nvdp__language language = {TOGETHER, WORDS, ask, c};
    unsigned char open[ROWS];
    double log_p[ROWS][WORDS];
    struct outcome o = {0};
    memset(open, 1, sizeof open);
    open[0] = open[ROWS - 1] = 0;
    c->asked = 0;
    for (size_t i = 0; i < TEXTS; i += TOGETHER / beam) {
        struct nvdp__found_text text[TOGETHER];
        int32_t id[TOGETHER][ROWS], word[LENGTH];
        size_t n = 0;
        for (; n < TOGETHER / beam && i + n < TEXTS; n++) {
            id[n][0] = 1;
            id[n][ROWS - 1] = 2;
            text[n] = (struct nvdp__found_text){ROWS, open, c->score[i + n][0],
                                                n == 0 ? log_p[0] : NULL, id[n]};
        }
        ok(nvdp__find_texts(ctx, &language, c->token, weight, beam, n, text));
        for (size_t m = 0; m < n; m++) {
            cr_expect(id[m][0] == 1 && id[m][ROWS - 1] == 2);
            for (size_t t = 0; t < LENGTH; t++) {
                word[t] = (int32_t)word_of(c, id[m][t + 1]);
                o.right += word[t] == c->word[i + m][t];
                if (m == 0) o.log_p += log_p[t + 1][word[t]];
            }
            const double found = joint(c, i + m, word);
            o.joint += found;
            viterbi(c, i + m, word);
            cr_expect_leq(found, joint(c, i + m, word) + 1e-9);
            o.best += found > joint(c, i + m, word) - 1e-9;
        }
    }
    return o;
}

/* Counts words named right of 3000; seeds are fixed.  With little noise every found text is the likeliest.  With
 * much noise the search stops at texts that no change of one place improves.  It still names nearly as many words as
 * possible, far more than naming each place alone, and more than a search without a beam. */
Test(language, finds_the_likeliest_text_of_a_chain) {
    static const double sd[] = {.3, .6, 1}, likeliest[] = {.99, .8, .5}, less[] = {.005, .03, .05};
    for (size_t k = 0; k < 3; k++) {
        struct chain *c = make(sd[k]);
        size_t possible = 0;
        for (size_t i = 0; i < TEXTS; i++)
            possible += max_right(c, i);
        const struct outcome alone = search(c, 0, 1), one = search(c, 1, 1), beam = search(c, 1, 8);
        cr_expect_leq(c->max_together, TOGETHER);
        cr_expect_gt((double)beam.best, TEXTS * likeliest[k], "%zu", beam.best);
        cr_expect_geq(beam.best, one.best);
        cr_expect_geq(beam.joint, one.joint - 1e-9);
        cr_expect_gt(one.joint, alone.joint);
        cr_expect_gt((double)beam.right, (double)possible - less[k] * TEXTS * LENGTH, "%zu of %zu",
                     beam.right, possible);
        if (k > 0) cr_expect_gt((double)beam.right, (double)alone.right * 1.1);
        cr_expect_gt(beam.log_p, -INFINITY);
    }
}

/* Names exactly one of twelve tokens with equal scores; ten of them are among the top ten. */
Test(language, equal_scores_name_one_token) {
    enum { COUNT = 12, COUNTED = 9 };
    size_t place[COUNT], named[COUNT] = {0}, there[COUNT] = {0};
    int32_t id[COUNT];
    double times[COUNT], score[COUNT] = {0};
    struct nvdp__tokens tokens = {
        .count = COUNT, .place = place, .id = id, .times = times, .named = named, .there = there};
    struct nvdp__correct hits = {0};
    for (size_t k = 0; k < COUNT; k++) {
        id[k] = (int32_t)k;
        place[k] = k + 1;
        times[k] = COUNTED;
    }
    tokens.stamp = 1;
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    ok(nvdp__correct_create(ctx, &memory, 1, &hits));
    for (size_t k = 0; k < COUNT; k++)
        nvdp__count_guess(&tokens, 0, id[k], score, &hits);
    cr_expect_eq(hits.of[NVDP__NAMED_FIRST][0], 1);
    cr_expect_eq(hits.of[1][0], 10); /* among ten */
    cr_expect_eq(hits.of[3][0], 1);  /* rare, first */
}

/* A score has effects of texts, of seeds or of both.  The interval contains the truth in 95 of 100 draws, and in
 * slightly fewer if the effect of seeds is known from three only. */
Test(language, intervals_are_over_texts_and_seeds) {
    enum { N = 60, S = 3, TRIALS = 1000 };
    static const double of_seed[] = {0, .03, .1};
    struct nvdp__text_attack a = {.ctx = ctx};
    const struct nvdp__noise noise = {.seed = 5};
    double hits[S * N], of[S * N];
    for (size_t c = 0; c < 3; c++) {
        size_t inside = 0;
        for (uint64_t trial = 0; trial < TRIALS; trial++) {
            struct nvdp__stream stream =
                nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, (uint32_t)c, trial);
            double text[N];
            for (size_t i = 0; i < N; i++)
                text[i] = .1 * draw(&stream);
            for (size_t s = 0; s < S; s++) {
                const double seed = of_seed[c] * draw(&stream);
                for (size_t i = 0; i < N; i++) {
                    of[s * N + i] = 3;
                    hits[s * N + i] = 3 * (.5 + text[i] + seed + .1 * draw(&stream));
                }
            }
            a.scores = 0;
            ok(nvdp__add_score(&a, NVDP__OBSERVED_RELEASE, NVDP__TEXT_METRIC_FIRST, S, N, hits, of,
                               0));
            inside += a.score[0].interval.low < .5 && a.score[0].interval.high > .5;
        }
        cr_expect(inside > TRIALS * 90 / 100 && inside < TRIALS * 99 / 100, "%g: %zu", of_seed[c],
                  inside);
    }
    free(a.score);
}

/* An event in one text of a hundred is not seen in half of the draws: no interval may end at 0 then, nor at 1 for
 * the opposite event.  Texts with nothing to name show nothing.  An interval of a difference that is 0 has width 0. */
Test(language, intervals_of_nothing_and_of_all) {
    enum { N = 60, S = 3, TRIALS = 1000 };
    struct nvdp__text_attack a = {.ctx = ctx};
    double hits[S * N], of[S * N];
    for (int opposite = 0; opposite < 2; opposite++) {
        const double truth = opposite ? .99 : .01;
        size_t inside = 0;
        for (uint64_t trial = 0; trial < TRIALS; trial++) {
            struct nvdp__stream stream = support_stream(6, trial);
            for (size_t i = 0; i < N; i++) {
                const bool hit = (nvdp__stream_uniform(&stream) < .01) != opposite;
                for (size_t s = 0; s < S; s++) {
                    hits[s * N + i] = 5 * hit;
                    of[s * N + i] = 5;
                }
            }
            a.scores = 0;
            ok(nvdp__add_score(&a, NVDP__OBSERVED_RELEASE, NVDP__TEXT_METRIC_FIRST, S, N, hits, of,
                               0));
            inside += a.score[0].interval.low <= truth && a.score[0].interval.high >= truth;
        }
        cr_expect_gt(inside, TRIALS * 95 / 100, "%zu", inside);
    }
    for (size_t k = 0; k < S * N; k++) {
        hits[k] = 0;
        of[k] = k % N < 20;
    }
    a.scores = 0;
    for (int difference = 0; difference < 2; difference++)
        ok(nvdp__add_score(&a, NVDP__OBSERVED_RELEASE, NVDP__TEXT_METRIC_FIRST, S, N, hits, of,
                           -difference));
    near(a.score[0].interval.high, 1 - pow(.025, 1 / 20.), 1e-9);
    cr_expect_eq(a.score[1].interval.high, 0);
    free(a.score);
}
