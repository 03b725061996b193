/* Names the text of a sample, close to Bayes' answer.  Vectors are scored as in nearest.c; a masked language model and
 * the frequencies of tokens give the prior probability of texts.  A text maximizes the sum
 *
 *     e log p(z_t | x_t)  +  (1 - w) log f(x_t)  +  w log p(x_t | others)
 *
 * over all places (search.c).  f is the frequency of a token among public texts; if the attacked file states labels,
 * among those with the label of the sample.  The exponent e and the weight w are chosen to identify the most tokens of
 * held-out public texts.  First e is chosen without the model, as in nearest.c.  Then e and w are chosen together,
 * twice, each time for the texts found with the previous choice. */
#include "attack/language.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 2, GROUP = 16 };
static const double WEIGHTS[] = {0, 0.1, 0.2, 0.35, 0.5, 0.75, 1};
enum { TRIES = sizeof WEIGHTS / sizeof *WEIGHTS };

/* The exponent of the densities and the weight of the language model. */
struct mixture {
    double exponent, weight;
};

struct reader {
    struct nvdp__text_attack *attack;
    struct nvdp__centroids centroids;
    struct nvdp__masked_lm *model; /* NULL: frequencies alone */
    struct nvdp__language language;
    double *frequency;    /* [1 + labels, count] log f: of all tokens, then of those with a label */
    const double **prior; /* [rows] the row of `frequency` that applies */
    size_t rows;          /* max. rows of a group of texts */
    double *score;        /* [rows, count] */
    double *log_p;        /* [rows, count] */
    double *row;          /* [count] */
    int32_t *id;          /* [rows] */
    unsigned char *open;
    struct nvdp__found_text text[GROUP];
    size_t done;
    struct nvdp__meter meter;
};

static void release(struct reader *r) {
    nvdp__centroids_release(&r->centroids);
    nvdp__masked_lm_free(r->model);
    free(r->frequency);
    free(r->prior);
    free(r->log_p);
    free(r->score);
    free(r->row);
    free(r->id);
    free(r->open);
}

/* Returns the number of texts to search for at once. */
static size_t group_of(const struct reader *r) {
    if (r->model == NULL) return GROUP;
    const size_t group = r->language.together / r->attack->options->beam;
    return group < 1 ? 1 : nvdp__min(group, GROUP);
}

static nvdp_status reserve(struct reader *r) {
    struct nvdp__text_attack *a = r->attack;
    const struct nvdp__tokens *known = &r->centroids.known;
    NVDP_TRY(nvdp__centroids_create(a, "language", &r->centroids));
    r->language.count = known->count;
    if (a->options->prior != NULL)
        NVDP_TRY(nvdp__masked_lm_open(a, a->options->prior, known, &r->model, &r->language));
    if (r->model != NULL && a->options->beam > r->language.together)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "{beam}: expected at most %zu candidate texts, found %zu",
                          r->language.together, a->options->beam);
    r->rows = group_of(r) * nvdp__longest(a);
    NVDP_TRY(NVDP__NEW(a->ctx, r->frequency, (1 + known->labels) * known->count));
    NVDP_TRY(NVDP__NEW(a->ctx, r->prior, r->rows));
    NVDP_TRY(NVDP__NEW(a->ctx, r->score, r->rows * known->count));
    NVDP_TRY(NVDP__NEW(a->ctx, r->log_p, r->rows * known->count));
    NVDP_TRY(NVDP__NEW(a->ctx, r->row, known->count));
    NVDP_TRY(NVDP__NEW(a->ctx, r->id, r->rows));
    NVDP_TRY(NVDP__NEW(a->ctx, r->open, r->rows));
    (void)nvdp__tokens_frequency(known, r->frequency);
    for (size_t k = 0; k < known->labels * known->count; k++)
        r->frequency[known->count + k] = r->frequency[k % known->count] + known->lift[k];
    return NVDP_OK;
}

/* --- a group of texts --- */

/* Returns a token's score under a mixture, without the part of the language model; unmixed() inverts it. */
static double mixed(const double *frequency, const struct mixture *by, double density, size_t k) {
    return by->exponent * density + (1 - by->weight) * frequency[k];
}

static double unmixed(const double *frequency, const struct mixture *by, double score, size_t k) {
    return (score - (1 - by->weight) * frequency[k]) / by->exponent;
}

/* Scores the vectors of n texts from `first` on and finds the texts.  With `answers`, also asks the language model
 * about the found texts if its weight is 0. */
static nvdp_status find(struct reader *r, const struct nvdp__texts *texts,
                        enum nvdp__observed observed, uint64_t seed, size_t first, size_t n,
                        const struct mixture *by, bool answers) {
    const struct nvdp_dataset *data = texts->data;
    const size_t count = r->language.count;
    const bool asks = r->model != NULL && (answers || by->weight > 0);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t *id = data->ids + data->offset[first + i];
        const size_t rows = data->offset[first + i + 1] - data->offset[first + i];
        const size_t labels = r->centroids.known.labels,
                     label = nvdp__known_label(texts, first + i, labels);
        const double *prior = r->frequency + (label < labels ? (1 + label) * count : 0);
        r->text[i] = (struct nvdp__found_text){rows, r->open + at, r->score + at * count,
                                               asks ? r->log_p + at * count : NULL, r->id + at};
        for (size_t j = 0; j < rows; j += NVDP__ROWS)
            nvdp__centroids_score(r->attack, texts, observed, seed, first + i, j,
                                  nvdp__min(rows - j, NVDP__ROWS), &r->centroids,
                                  r->score + (at + j) * count);
        for (size_t j = 0; j < rows; j++, at++) {
            double *score = r->score + at * count;
            r->open[at] = nvdp__token_counts(r->attack, id[j]);
            r->id[at] = id[j]; /* replaced by search where it is open */
            r->prior[at] = prior;
            for (size_t k = 0; k < count; k++)
                score[k] = mixed(prior, by, score[k] - r->frequency[k], k);
        }
    }
    if (!asks) memset(r->log_p, 0, at * count * sizeof *r->log_p);
    return nvdp__find_texts(r->attack->ctx, &r->language, r->centroids.known.id, by->weight,
                            r->attack->options->beam, n, r->text);
}

/* Counts the tokens found with a mixture, for `text` and the next ones.  With `alone`, counts those found at each
 * place by itself, with the exponent that is best in that case. */
static void count_found(struct reader *r, const struct nvdp_dataset *data, size_t first, size_t n,
                        size_t text, const struct mixture *by, const struct mixture *alone,
                        const struct nvdp__correct *hits) {
    struct nvdp__tokens *known = &r->centroids.known;
    const size_t count = known->count;
    for (size_t i = 0, at = 0; i < n; i++) {
        for (size_t q = data->offset[first + i]; q < data->offset[first + i + 1]; q++, at++) {
            const double *score = r->score + at * count, *log_p = r->log_p + at * count;
            if (!r->open[at]) continue;
            for (size_t k = 0; k < count; k++)
                r->row[k] = alone != NULL ? mixed(r->prior[at], alone,
                                                  unmixed(r->prior[at], by, score[k], k), k)
                                          : score[k] + by->weight * log_p[k];
            if (alone == NULL && by->weight > 0) /* the search decided on the whole text */
                r->row[known->place[r->id[at]] - 1] = INFINITY;
            nvdp__count_guess(known, text + i, data->ids[q], r->row, hits);
        }
        nvdp__count_guessed_set(known, r->attack, data, first + i, text + i, hits);
    }
}

/* --- the mixture --- */

/* Counts the tokens of a group that each mixture would name, given the texts found with one mixture. */
static void count_right(const struct reader *r, const struct nvdp_dataset *data, size_t first,
                        size_t n, const struct mixture *by, size_t exponents, size_t weights,
                        double right[][TRIES]) {
    const struct nvdp__tokens *known = &r->centroids.known;
    const size_t count = known->count, start = data->offset[first];
    for (size_t at = 0; at < data->offset[first + n] - start; at++) {
        const size_t place = known->place[data->ids[start + at]];
        const double *score = r->score + at * count, *log_p = r->log_p + at * count;
        if (!r->open[at] || place == 0) continue;
        for (size_t k = 0; k < count; k++)
            r->row[k] = unmixed(r->prior[at], by, score[k], k);
        for (size_t e = 0; e < exponents; e++)
            for (size_t w = 0; w < weights; w++) {
                const struct mixture to = {nvdp__exponents[e], WEIGHTS[w]};
                const size_t own = place - 1;
                const double *f = r->prior[at];
                const double own_score = mixed(f, &to, r->row[own], own) + to.weight * log_p[own];
                size_t above = 0;
                for (size_t k = 0; k < count && above == 0; k++)
                    above += nvdp__goes_before(mixed(f, &to, r->row[k], k) + to.weight * log_p[k],
                                               k, own_score, own);
                right[e][w] += above == 0;
            }
    }
}

/* Finds the best mixture, and the best exponent without the model, on held-out public texts. */
static nvdp_status choose(struct reader *r, enum nvdp__observed observed, struct mixture *by,
                          struct mixture *alone) {
    const struct nvdp__texts *texts = &r->attack->known;
    const size_t from = r->centroids.known.texts, end = texts->data->count, group = group_of(r);
    const size_t exponents = observed == NVDP__OBSERVED_PRIOR ? 1 : NVDP__EXPONENTS;
    const size_t rounds = r->model != NULL ? ROUNDS + 1 : 1;
    *by = (struct mixture){1, 0};
    for (size_t round = 0; round < rounds; round++) {
        const struct mixture last = *by;
        double right[NVDP__EXPONENTS][TRIES] = {{0}}, best = -1;
        const size_t weights = round == 0 ? 1 : TRIES;
        for (size_t i = from; i < end; i += group) {
            const size_t n = nvdp__min(end - i, group);
            NVDP_TRY(find(r, texts, observed, r->attack->options->seed, i, n, by, round > 0));
            count_right(r, texts->data, i, n, by, exponents, weights, right);
            r->done += n;
            nvdp__meter_update(&r->meter, r->done, (double)r->done, "text", NAN);
        }
        for (size_t w = 0; w < weights; w++) /* on ties, prefers the smaller weight of the model */
            for (size_t e = 0; e < exponents; e++) {
                if (!(right[e][w] > best)) continue;
                best = right[e][w];
                *by = (struct mixture){nvdp__exponents[e], WEIGHTS[w]};
            }
        if (round == 0) *alone = *by;
        if (round == 0 || by->exponent != last.exponent || by->weight != last.weight) continue;
        r->done += (rounds - 1 - round) * (end - from); /* further rounds would find the same */
        break;
    }
    return NVDP_OK;
}

/* --- the attack --- */

static nvdp_status attack_language(struct nvdp__text_attack *a) {
    nvdp_status status = NVDP_OK;
    const size_t n = a->attacked.data->count, seeds = a->options->seeds;
    struct reader r = {.attack = a};
    struct nvdp__correct hits = {0}, nearest = {0};
    NVDP_TRY_OR_CLEAN(reserve(&r));
    NVDP_TRY_OR_CLEAN(nvdp__correct_create(a->ctx, seeds * n, &hits));
    NVDP_TRY_OR_CLEAN(nvdp__correct_create(a->ctx, seeds * n, &nearest));
    const size_t rounds = r.model != NULL ? ROUNDS + 1 : 1, group = group_of(&r);
    const size_t held = a->known.data->count - r.centroids.known.texts;
    nvdp__meter_begin(&r.meter, a->ctx, "language", "text", 0,
                      NVDP__OBSERVEDS * rounds * held +
                          (nvdp__draws(a, NVDP__OBSERVED_RELEASE) + 2) * n);
    for (int observed = 0; observed < NVDP__OBSERVEDS; observed++) {
        const size_t draws = nvdp__draws(a, observed);
        struct mixture by, alone = {1, 0};
        nvdp__centroids_prepare(a, observed, 1, &r.centroids);
        nvdp__correct_clear(seeds * n, &hits);
        nvdp__correct_clear(seeds * n, &nearest);
        NVDP_TRY_OR_CLEAN(choose(&r, observed, &by, &alone));
        a->weight[observed] = by.weight;
        for (size_t s = 0; s < draws; s++)
            for (size_t i = 0; i < n; i += group) {
                const size_t m = nvdp__min(n - i, group);
                NVDP_TRY_OR_CLEAN(
                    find(&r, &a->attacked, observed, a->options->seed + s, i, m, &by, false));
                count_found(&r, a->attacked.data, i, m, s * n + i, &by, NULL, &hits);
                count_found(&r, a->attacked.data, i, m, s * n + i, &by, &alone, &nearest);
                r.done += m;
                nvdp__meter_update(&r.meter, r.done, (double)r.done, "text", NAN);
            }
        NVDP_TRY_OR_CLEAN(nvdp__add_hits(a, observed, draws, &r.centroids.known, &hits));
        NVDP_TRY_OR_CLEAN(nvdp__add_gain(a, observed, draws, &hits, &nearest));
    }
    nvdp__meter_end(&r.meter);
cleanup:
    release(&r);
    free(hits.of[0]);
    free(nearest.of[0]);
    return status;
}

static const char *const options[] = {NVDP__LEARNER_OPTIONS, "releases", "prior", "beam", NULL};

const struct nvdp__attack nvdp__attack_row_language = {.learn = attack_language,
                                                       .attacker = NVDP_ATTACKER_LANGUAGE,
                                                       .options = options,
                                                       NVDP__LEARNER};
