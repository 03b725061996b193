/* Scores of guessed texts (text_scores.h): the counts of one text, the scores of sums, the bootstrap. */
#include "attack/text_scores.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>

enum { RESAMPLES = 1000, NUMBERS = sizeof(struct nvdp__text_counts) / sizeof(double) };

/* --- one text --- */

/* Counts the n-grams of the guess that the text has; each of the text's n-grams matches once. */
static size_t matches(size_t order, size_t n, const uint64_t *text, size_t m,
                      const uint64_t *guess) {
    bool used[NVDP__TEXT_WORDS] = {false};
    size_t found = 0;
    for (size_t g = 0; g + order <= m; g++)
        for (size_t t = 0; t + order <= n; t++) {
            if (used[t] || memcmp(text + t, guess + g, order * sizeof *text) != 0) continue;
            used[t] = true;
            found++;
            break;
        }
    return found;
}

size_t nvdp__words_in_common(size_t n, const uint64_t *text, size_t m, const uint64_t *guess) {
    return matches(1, n, text, m, guess);
}

/* Returns the length of the longest common subsequence. */
static size_t common_subsequence(size_t n, const uint64_t *text, size_t m, const uint64_t *guess) {
    size_t length[NVDP__TEXT_WORDS + 1] = {0};
    for (size_t t = 0; t < n; t++) {
        size_t diagonal = 0;
        for (size_t g = 0; g < m; g++) {
            const size_t above = length[g + 1];
            length[g + 1] =
                text[t] == guess[g] ? diagonal + 1 : nvdp__max(length[g], length[g + 1]);
            diagonal = above;
        }
    }
    return length[m];
}

/* The harmonic mean of precision and recall; two empty texts agree. */
static double f1_of(size_t right, size_t n, size_t m) {
    return n + m == 0 ? 1 : 2 * (double)right / (double)(n + m);
}

struct nvdp__text_counts nvdp__text_compare(size_t n, const uint64_t *text, size_t m,
                                            const uint64_t *guess) {
    struct nvdp__text_counts made = {.texts = 1, .words = (double)n, .guessed = (double)m};
    for (size_t k = 0; k < NVDP__BLEU_ORDERS; k++) {
        made.grams[k] = m > k ? (double)(m - k) : 0;
        made.right[k] = (double)matches(k + 1, n, text, m, guess);
    }
    made.f1 = f1_of((size_t)made.right[0], n, m);
    made.rouge = f1_of(common_subsequence(n, text, m, guess), n, m);
    made.exact = n == m && memcmp(text, guess, n * sizeof *text) == 0;
    return made;
}

/* --- sums --- */

double nvdp__bleu(const struct nvdp__text_counts *sum) {
    double log_mean = 0;
    if (!(sum->right[0] > 0)) return 0;
    for (size_t k = 0; k < NVDP__BLEU_ORDERS; k++) {
        const double more = k > 0;
        log_mean += log((sum->right[k] + more) / (sum->grams[k] + more)) / NVDP__BLEU_ORDERS;
    }
    const double brevity = sum->guessed < sum->words ? 1 - sum->words / sum->guessed : 0;
    return exp(brevity + log_mean);
}

static double rouge(const struct nvdp__text_counts *sum) {
    return sum->rouge / sum->texts;
}
static double f1(const struct nvdp__text_counts *sum) {
    return sum->f1 / sum->texts;
}
static double entities(const struct nvdp__text_counts *sum) {
    return sum->names > 0 ? sum->named / sum->names : NAN;
}
static double cosine(const struct nvdp__text_counts *sum) {
    return sum->cosines > 0 ? sum->cosine / sum->cosines : NAN;
}

static void add(const struct nvdp__text_counts *from, struct nvdp__text_counts *to) {
    double x[NUMBERS], y[NUMBERS];
    memcpy(x, from, sizeof x);
    memcpy(y, to, sizeof y);
    for (size_t k = 0; k < NUMBERS; k++)
        y[k] += x[k];
    memcpy(to, y, sizeof y);
}

/* --- the bootstrap --- */

/* In this order, the scores of a guess; exact match follows. */
static const struct {
    enum nvdp_text_metric metric;
    double (*of)(const struct nvdp__text_counts *sum);
    double min;
} SCORES[] = {{NVDP_TEXT_METRIC_BLEU, nvdp__bleu, 0},
              {NVDP_TEXT_METRIC_ROUGE, rouge, 0},
              {NVDP_TEXT_METRIC_WORDS_F1, f1, 0},
              {NVDP_TEXT_METRIC_ENTITY_RECALL, entities, 0},
              {NVDP_TEXT_METRIC_COSINE, cosine, -1}};
enum { SCORE_COUNT = sizeof SCORES / sizeof *SCORES };

/* Fills resampled [SCORE_COUNT, RESAMPLES] with the scores of n texts drawn with replacement. */
static void resample(uint64_t seed, size_t n, const struct nvdp__text_counts *text,
                     double *resampled) {
    const struct nvdp__noise noise = {.seed = seed};
    for (uint32_t r = 0; r < RESAMPLES; r++) {
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, r, 0);
        struct nvdp__text_counts sum = {0};
        for (size_t i = 0; i < n; i++)
            add(&text[nvdp__stream_below(&stream, n)], &sum);
        for (size_t k = 0; k < SCORE_COUNT; k++) {
            const double value = SCORES[k].of(&sum);
            resampled[k * RESAMPLES + r] = isnan(value) ? SCORES[k].min : value; /* no entities */
        }
    }
    for (size_t k = 0; k < SCORE_COUNT; k++)
        qsort(resampled + k * RESAMPLES, RESAMPLES, sizeof *resampled, nvdp__by_double);
}

/* Adds the rate of exact matches, which is 0 or 1 per guess. */
static nvdp_status add_exact(struct nvdp__text_attack *a, enum nvdp__observed observed,
                             size_t seeds, size_t n, const struct nvdp__text_counts *count) {
    nvdp__autofree double *hits = NULL, *of = NULL;
    NVDP_TRY(NVDP__NEW(a->ctx, hits, seeds * n));
    NVDP_TRY(NVDP__NEW(a->ctx, of, seeds * n));
    for (size_t i = 0; i < seeds * n; i++) {
        hits[i] = count[i].exact;
        of[i] = count[i].texts;
    }
    return nvdp__add_score(a, observed, NVDP_TEXT_METRIC_EXACT, seeds, n, hits, of, 0);
}

nvdp_status nvdp__add_text_scores(struct nvdp__text_attack *a, enum nvdp__observed observed,
                                  size_t seeds, size_t n, const struct nvdp__text_counts *count) {
    nvdp__autofree struct nvdp__text_counts *text = NULL;
    struct nvdp__text_counts sum = {0};
    nvdp__autofree double *resampled = NULL;
    NVDP_TRY(NVDP__NEW(a->ctx, text, n));
    NVDP_TRY(NVDP__NEW(a->ctx, resampled, SCORE_COUNT * RESAMPLES));
    for (size_t i = 0; i < seeds * n; i++) {
        add(&count[i], &text[i % n]);
        add(&count[i], &sum);
    }
    resample(a->options->seed, n, text, resampled);
    for (size_t k = 0; k < SCORE_COUNT; k++) {
        const double value = SCORES[k].of(&sum), *of = resampled + k * RESAMPLES;
        if (isnan(value)) continue; /* no entities, no encoder */
        NVDP_TRY(nvdp__add_value(a, observed, SCORES[k].metric, value, 0, SCORES[k].min));
        struct nvdp_interval *interval = &a->score[a->scores - 1].interval;
        *interval = (struct nvdp_interval){of[RESAMPLES * 25 / 1000], of[RESAMPLES * 975 / 1000]};
        if (value == 0 && SCORES[k].min == 0) interval->high = nvdp__unseen(n);
        if (value == 1) interval->low = 1 - nvdp__unseen(n);
    }
    return add_exact(a, observed, seeds, n, count);
}
