/* Scores of guessed texts (texts.h): the counts of one text, the scores of sums, the bootstrap. */
#include "attack/attack.h"
#include "attack/texts.h"
#include "base/random.h"
#include <math.h>
#include <stdlib.h>

enum { RESAMPLES = 1000, NUMBERS = sizeof(struct nvdp__text_counts) / sizeof(double) };

/* --- one text --- */

size_t nvdp__common_grams(size_t order, size_t n, const uint64_t *text, size_t m,
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

/* Returns the harmonic mean of precision and recall; two empty texts agree. */
static double f1_score(size_t right, size_t n, size_t m) {
    return n + m == 0 ? 1 : 2 * (double)right / (double)(n + m);
}

struct nvdp__text_counts nvdp__text_compare(size_t n, const uint64_t *text, size_t m,
                                            const uint64_t *guess) {
    struct nvdp__text_counts made = {.texts = 1, .words = (double)n, .guessed = (double)m};
    for (size_t k = 0; k < NVDP__BLEU_ORDERS; k++) {
        made.grams[k] = m > k ? (double)(m - k) : 0;
        made.right[k] = (double)nvdp__common_grams(k + 1, n, text, m, guess);
    }
    made.f1 = f1_score((size_t)made.right[0], n, m);
    made.rouge = f1_score(common_subsequence(n, text, m, guess), n, m);
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

static void add(const struct nvdp__text_counts *from, struct nvdp__text_counts *to) {
    double x[NUMBERS], y[NUMBERS];
    memcpy(x, from, sizeof x);
    memcpy(y, to, sizeof y);
    for (size_t k = 0; k < NUMBERS; k++)
        y[k] += x[k];
    memcpy(to, y, sizeof y);
}

/* --- the bootstrap --- */

/* The scores of a guess in this order, before exact match. All scores except BLEU-4 are ratios of two counts. */
#define RATIO(of, by) offsetof(struct nvdp__text_counts, of), offsetof(struct nvdp__text_counts, by)
static const struct {
    enum nvdp__text_metric metric;
    double min;
    size_t of, by;
} SCORES[] = {{NVDP__TEXT_METRIC_BLEU, 0, 0, 0},
              {NVDP__TEXT_METRIC_ROUGE, 0, RATIO(rouge, texts)},
              {NVDP__TEXT_METRIC_WORDS_F1, 0, RATIO(f1, texts)},
              {NVDP__TEXT_METRIC_ENTITY_RECALL, 0, RATIO(named, names)},
              {NVDP__TEXT_METRIC_COSINE, -1, RATIO(cosine, cosines)}};
enum { SCORE_COUNT = sizeof SCORES / sizeof *SCORES };

/* Returns score k of summed counts; NaN if there was nothing to count. */
static double summed_score(size_t k, const struct nvdp__text_counts *sum) {
    const double of = *(const double *)((const char *)sum + SCORES[k].of),
                 by = *(const double *)((const char *)sum + SCORES[k].by);
    if (SCORES[k].metric == NVDP__TEXT_METRIC_BLEU) return nvdp__bleu(sum);
    return by > 0 ? of / by : NAN;
}

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
            const double value = summed_score(k, &sum);
            resampled[k * RESAMPLES + r] = isnan(value) ? SCORES[k].min : value; /* no entities */
        }
    }
    for (size_t k = 0; k < SCORE_COUNT; k++)
        qsort(resampled + k * RESAMPLES, RESAMPLES, sizeof *resampled, nvdp__by_double);
}

nvdp_status nvdp__add_text_scores(struct nvdp__text_attack *a, enum nvdp__observed observed,
                                  size_t seeds, size_t n, const struct nvdp__text_counts *count) {
    nvdp__autofree struct nvdp__text_counts *text = NULL;
    struct nvdp__text_counts sum = {0};
    nvdp__autofree double *resampled = NULL, *exact = NULL, *one = NULL;
    NVDP_TRY(NVDP__ARRAYS(a->ctx, NULL, NVDP__ITEMS(text, n),
                          NVDP__ITEMS(resampled, SCORE_COUNT * RESAMPLES),
                          NVDP__ITEMS(exact, seeds * n), NVDP__ITEMS(one, seeds * n)));
    for (size_t i = 0; i < seeds * n; i++) {
        exact[i] = count[i].exact; /* 0 or 1 */
        one[i] = count[i].texts;
        add(&count[i], &text[i % n]);
        add(&count[i], &sum);
    }
    resample(a->options->seed, n, text, resampled);
    for (size_t k = 0; k < SCORE_COUNT; k++) {
        const double value = summed_score(k, &sum), *of = resampled + k * RESAMPLES;
        if (isnan(value)) continue; /* no entities, no encoder */
        NVDP_TRY(nvdp__add_value(a, observed, SCORES[k].metric, value, 0, SCORES[k].min));
        struct nvdp_interval *interval = &a->score[a->scores - 1].interval;
        *interval = (struct nvdp_interval){of[RESAMPLES * 25 / 1000], of[RESAMPLES * 975 / 1000]};
        if (value == 0 && SCORES[k].min == 0) interval->high = nvdp__unseen(n);
        if (value == 1) interval->low = 1 - nvdp__unseen(n);
    }
    return nvdp__add_score(a, observed, NVDP__TEXT_METRIC_EXACT, seeds, n, exact, one, 0);
}

/* ---- rows of learners in the table of attacks ---- */

/* The parts that all learners (texts.h) share: options, and the result table. */

const char *const nvdp__learner_options[] = {NVDP__LEARNER_OPTIONS, NULL};

/* Returns true if the attacker trains its language model: then the model has no weight beside frequencies. */
static bool is_trained(const struct nvdp__attack *attack) {
    return nvdp__attack_takes(attack->options, "steps");
}

/* Prints the prior of an attacker that uses a language model besides the vectors. */
static void print_prior(FILE *to, const struct nvdp__attacked *attacked,
                        const struct nvdp__text_attack_result *found) {
    const char *prior = nvdp_config_get(attacked->config, "prior");
    const double *w = found->weight;
    if (!nvdp__attack_takes(attacked->attack->options, "prior")) return;
    if (is_trained(attacked->attack))
        nvdp__print_row(to, "model", "%s, trained with the samples of the public texts", prior);
    else if (prior == NULL)
        nvdp__print_row(
            to, "prior", "word frequencies alone%s; --prior MODEL adds a language model",
            nvdp__attack_takes(attacked->attack->options, "beam") ? ", so language equals nearest"
                                                                  : "");
    else
        nvdp__print_row(
            to, "prior",
            "%s, weight %g against the frequencies (without noise %g, without samples %g)", prior,
            w[0], w[1], w[2]);
}

/* clang-format off */
#define ROW(type, member, unit, better, ...) \
    NVDP_RESULT_ROW(struct type, member, unit, NVDP_SCOPE_RUN, better, __VA_ARGS__)

static const char *metric_name(int metric) {
    return nvdp__text_metric_name((enum nvdp__text_metric)metric);
}

const struct nvdp_result_table nvdp__result_text_score = {
    .name = "score", .help = "a score of an attacker", .size = sizeof(struct nvdp__text_score),
    .rows = (const struct nvdp_result_row[]){
        ROW(nvdp__text_score, observed, NULL, 0, "what the attacker sees", .label = "sees"),
        {"metric", NVDP_RESULT_ENUM, .help = "kind of score", .label = "score", .word = metric_name,
         NVDP_RESULT_AT(struct nvdp__text_score, metric)},
        ROW(nvdp__text_score, value, NULL, -1, "the score", .label = "x 100", .scale = 100, .decimals = 2),
        {"interval", NVDP_RESULT_INTERVAL, .help = "95 % interval", .label = "95 %", .scale = 100, .decimals = 2,
         NVDP_RESULT_AT(struct nvdp__text_score, interval.low), .absent = NVDP_ABSENT_EACH,
         .high = offsetof(struct nvdp__text_score, interval.high)},
        ROW(nvdp__text_score, baseline, NULL, 0, "success of the best guess without samples"),
        ROW(nvdp__text_score, bound, NULL, -1, "proven bound", .label = "proven at most", .scale = 100, .bound = 1),
        {0}}};

const struct nvdp_result_table nvdp__result_text_attack = {
    .name = "text_attack", .help = "an attacker that learns from public texts", .sized = true,
    .rows = (const struct nvdp_result_row[]){
        ROW(nvdp__text_attack_result, texts, "texts", 0, "attacked texts"),
        ROW(nvdp__text_attack_result, public_texts, "texts", 0, "texts that the attacker learned from"),
        ROW(nvdp__text_attack_result, both, "texts", 0, "those that are both"),
        ROW(nvdp__text_attack_result, seeds, NULL, 0, "number of times that noise was drawn"),
        ROW(nvdp__text_attack_result, tried, "words", 0, "words tried in each place; 0: all public words"),
        ROW(nvdp__text_attack_result, labels, "labels", 0, "labels that the file states; 0: none"),
        ROW(nvdp__text_attack_result, labels_learned, NULL, 0, "the public texts have labels too"),
        ROW(nvdp__text_attack_result, weak, NULL, 0, "nothing is found without noise"),
        ROW(nvdp__text_attack_result, holds, NULL, 0, "no score exceeds its bound"),
        {"scores", NVDP_RESULT_LIST, .help = "the scores", .label = "", .indirect = true, .of = &nvdp__result_text_score,
         NVDP_RESULT_AT(struct nvdp__text_attack_result, score), NVDP_RESULT_LENGTH(struct nvdp__text_attack_result, scores)},
        {0}}};
/* clang-format on */

bool nvdp__learner_weak(const void *found) {
    return ((const struct nvdp__text_attack_result *)found)->weak;
}

void nvdp__learner_head(const struct nvdp__attacked *attacked, const void *of, FILE *to) {
    const struct nvdp__text_attack_result *found = of;
    const char *shared = nvdp_config_get(attacked->config, "shared");
    nvdp__print_row(to, "texts", "%zu, public texts to learn from: %zu, noise drawn %zu time%s",
                    found->texts, found->public_texts, found->seeds, found->seeds == 1 ? "" : "s");
    if (found->both > 0)
        nvdp__print_row(to, "CAUTION",
                        "%zu of the texts are also public texts, so an attacker who knows them "
                        "finds more than one who does not",
                        found->both);
    if (shared != NULL)
        nvdp__print_row(to, "samples", "from %s%s", shared,
                        found->seeds == 1 ? "; intervals cover the choice of texts only" : "");
    if (found->labels > 0)
        nvdp__print_row(
            to, "labels", "%s",
            nvdp__attack_takes(attacked->attack->options, "steps")
                ? "in the file; the bound counts them, but this attacker does not read "
                  "them: one who does finds more"
            : found->labels_learned
                ? "in the file; the attacker and the bound count them"
                : "in the file; the bound counts them, but the attacker cannot read them: "
                  "the public texts have no labels");
    print_prior(to, attacked, found);
    if (found->tried > 0)
        nvdp__print_row(to, "CAUTION",
                        "with a window, only the %zu words that are most probable without the "
                        "sample are tried in each place; an attacker who tries all finds more",
                        found->tried);
    putc('\n', to);
}

static json_int_t given_number(const struct nvdp__attacked *attacked, const char *option) {
    return atoll(nvdp_config_get(attacked->config, option));
}

bool nvdp__learner_add(const struct nvdp__attacked *attacked, const void *of, json_t *object) {
    const double *weight = ((const struct nvdp__text_attack_result *)of)->weight;
    const char *prior = nvdp_config_get(attacked->config, "prior");
    if (!nvdp__add_source(attacked, of, object)) return false;
    if (!nvdp__attack_takes(attacked->attack->options, "prior")) return true;
    json_t *more =
        prior == NULL ? json_null()
        : is_trained(attacked->attack)
            ? json_pack("{s:s, s:I, s:I}", "model", prior, "tokens",
                        given_number(attacked, "tokens"), "steps", given_number(attacked, "steps"))
            : json_pack("{s:s, s:[f,f,f]}", "model", prior, "weight", weight[0], weight[1],
                        weight[2]);
    if (json_object_set_new(object, "prior", more) != 0) return false;
    return !nvdp__attack_takes(attacked->attack->options, "beam") ||
           json_object_set_new(object, "beam", json_integer(given_number(attacked, "beam"))) == 0;
}

void nvdp__learner_verdict(const struct nvdp__attacked *attacked, const void *of,
                           struct nvdp__writer *say) {
    const struct nvdp__text_attack_result *found = of;
    for (size_t i = 0; i < found->scores; i++)
        nvdp__share_verdict(attacked, nvdp__text_metric_name(found->score[i].metric),
                            &found->score[i].interval, found->score[i].baseline,
                            found->score[i].bound, say);
}
