/* Searches for the likeliest text, given scores of each token at each place and a masked language model, which predicts
 * one place from all other places.  Such a model has no left-to-right order that a search could follow.
 *
 * The search starts with the best token at each place and sweeps over the places repeatedly (iterated conditional
 * modes: Besag 1986; for masked language models: Wang & Cho 2019), but keeps the best few texts instead of one text.  A
 * text x whose token x_t at place t is replaced by y gains
 *
 *     s_t(y) + w log p(y | others)  -  s_t(x_t) - w log p(x_t | others)
 *
 * in log likelihood.  This is exact if the language model's answers belong to one distribution over texts (Brook's
 * lemma: Besag 1974): sums of such steps compare any two texts.  For a masked model it is approximate, as
 * pseudo-log-likelihoods are (Salazar et al. 2020). */
#include "attack/language.h"
#include <math.h>
#include <stdlib.h>

enum { SWEEPS = 4 };
static const double DECIDED = 20; /* the model is not asked if a token is this far ahead, in nats */

struct candidate { /* a candidate text */
    int32_t *id;
    double score; /* relative to the other candidates */
};

struct beam {
    /* [beam] the current candidates, best first; the next candidates. */
    struct candidate *best, *next;
    size_t count;
    int32_t *before;      /* [n] the best candidate before this sweep */
    unsigned char *asked; /* [n] */
    size_t *as,
        /* [beam] the first candidate that equals this candidate except at this place; the question of that candidate.
         * */
        *question;
    bool done;
};

struct search {
    struct nvdp_context *ctx;
    const struct nvdp__language *language;
    const int32_t *token;
    double weight;
    size_t width, texts;
    const struct nvdp__found_text *text;
    struct beam *beam;               /* [texts] */
    struct nvdp__question *question; /* [together] */
    double *log_p;                   /* [together, count] */
    struct pick {
        size_t from, k;
        double score;
    } * pick; /* [width] */
    struct nvdp__memory *memory;
};

/* Takes the best token at each place alone. */
static nvdp_status begin(struct search *s, size_t i) {
    const struct nvdp__found_text *text = &s->text[i];
    struct beam *b = &s->beam[i];
    const size_t n = text->n, count = s->language->count;
    int32_t *ids;
    NVDP_TRY(NVDP__ARRAYS(s->ctx, s->memory, NVDP__ITEMS(b->best, s->width),
                          NVDP__ITEMS(b->next, s->width), NVDP__ITEMS(ids, 2 * s->width * n),
                          NVDP__ITEMS(b->before, n), NVDP__ITEMS(b->asked, n),
                          NVDP__ITEMS(b->as, s->width), NVDP__ITEMS(b->question, s->width)));
    for (size_t k = 0; k < s->width; k++) {
        b->best[k].id = ids + k * n;
        b->next[k].id = ids + (s->width + k) * n;
    }
    b->count = 1;
    b->done = s->weight == 0;
    for (size_t j = 0; j < n; j++) {
        const double *score = text->score + j * count;
        if (text->open[j]) {
            const size_t top = nvdp__top(count, score);
            for (size_t k = 0; k < count; k++)
                b->asked[j] |= k != top && score[k] > score[top] - DECIDED;
            text->id[j] = s->token[top];
        }
        b->best[0].id[j] = text->id[j];
    }
    return NVDP_OK;
}

static nvdp_status ask(struct search *s, size_t n) {
    NVDP_TRY(nvdp__check_cancelled(s->ctx, "attack: cancelled"));
    return n == 0 ? NVDP_OK : s->language->ask(s->language->of, n, s->question, s->log_p);
}

/* Adds one question for all candidates that are equal except at place j. */
static void add_questions(struct search *s, size_t i, size_t j, size_t *questions) {
    struct beam *b = &s->beam[i];
    const size_t n = s->text[i].n;
    for (size_t k = 0; k < b->count; k++) {
        const int32_t *id = b->best[k].id;
        size_t as = 0;
        while (as < k &&
               (memcmp(b->best[as].id, id, j * sizeof *id) != 0 ||
                memcmp(b->best[as].id + j + 1, id + j + 1, (n - j - 1) * sizeof *id) != 0))
            as++;
        b->as[k] = as;
        b->question[k] = as < k ? b->question[as] : *questions;
        if (as == k) s->question[(*questions)++] = (struct nvdp__question){id, n, j};
    }
}

/* Keeps the best candidates over all tokens at place j. */
static void extend(struct search *s, size_t i, size_t j) {
    struct beam *b = &s->beam[i];
    const size_t count = s->language->count, n = s->text[i].n;
    const double *score = s->text[i].score + j * count;
    size_t picks = 0;
    for (size_t from = 0; from < b->count; from++) {
        if (b->as[from] < from) continue;
        const double *log_p = s->log_p + b->question[from] * count;
        double rest = -INFINITY; /* score of the text without place j */
        for (size_t m = from; m < b->count; m++)
            for (size_t k = 0; k < count && b->as[m] == from; k++)
                if (s->token[k] == b->best[m].id[j])
                    rest = fmax(rest, b->best[m].score - score[k] - s->weight * log_p[k]);
        for (size_t k = 0; k < count; k++) {
            const struct pick found = {from, k, rest + score[k] + s->weight * log_p[k]};
            if (picks == s->width && !(found.score > s->pick[picks - 1].score)) continue;
            size_t at = picks < s->width ? picks++ : picks - 1;
            for (; at > 0 && found.score > s->pick[at - 1].score; at--)
                s->pick[at] = s->pick[at - 1];
            s->pick[at] = found;
        }
    }
    for (size_t k = 0; k < picks; k++) {
        memcpy(b->next[k].id, b->best[s->pick[k].from].id, n * sizeof *b->next[k].id);
        b->next[k].id[j] = s->token[s->pick[k].k];
        b->next[k].score = s->pick[k].score;
    }
    struct candidate *swapped = b->best;
    b->best = b->next;
    b->next = swapped;
    b->count = picks;
}

static nvdp_status sweep(struct search *s, size_t longest) {
    for (size_t i = 0; i < s->texts; i++)
        memcpy(s->beam[i].before, s->beam[i].best[0].id, s->text[i].n * sizeof(int32_t));
    for (size_t j = 0; j < longest; j++) {
        size_t questions = 0;
        for (size_t i = 0; i < s->texts; i++)
            if (!s->beam[i].done && j < s->text[i].n && s->beam[i].asked[j])
                add_questions(s, i, j, &questions);
        NVDP_TRY(ask(s, questions));
        for (size_t i = 0; i < s->texts; i++)
            if (!s->beam[i].done && j < s->text[i].n && s->beam[i].asked[j]) extend(s, i, j);
    }
    for (size_t i = 0; i < s->texts; i++)
        s->beam[i].done |=
            memcmp(s->beam[i].before, s->beam[i].best[0].id, s->text[i].n * sizeof(int32_t)) == 0;
    return NVDP_OK;
}

/* Asks the language model about each place of the found texts. */
static nvdp_status finish(struct search *s) {
    const size_t count = s->language->count;
    size_t n = 0;
    nvdp__autofree double **row = NULL;
    NVDP_TRY(NVDP__NEW(s->ctx, row, s->language->together));
    for (size_t i = 0; i <= s->texts; i++) {
        const bool end = i == s->texts;
        for (size_t j = 0; j < (end ? 1 : s->text[i].n); j++) {
            if (n == s->language->together || end) {
                NVDP_TRY(ask(s, n));
                for (size_t q = 0; q < n; q++)
                    memcpy(row[q], s->log_p + q * count, count * sizeof *row[q]);
                n = 0;
            }
            if (end || s->text[i].log_p == NULL) continue;
            memset(s->text[i].log_p + j * count, 0, count * sizeof *s->text[i].log_p);
            if (!s->beam[i].asked[j]) continue;
            row[n] = s->text[i].log_p + j * count;
            s->question[n++] = (struct nvdp__question){s->text[i].id, s->text[i].n, j};
        }
    }
    return NVDP_OK;
}

nvdp_status nvdp__find_texts(struct nvdp_context *ctx, const struct nvdp__language *language,
                             const int32_t *token, double weight, size_t beam, size_t texts,
                             const struct nvdp__found_text *text) {
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct search s = {.ctx = ctx,
                       .memory = &memory,
                       .language = language,
                       .token = token,
                       .weight = weight,
                       .width = beam,
                       .texts = texts,
                       .text = text};
    size_t longest = 0;
    bool asks = weight != 0;
    for (size_t i = 0; i < texts; i++) {
        longest = nvdp__max(longest, text[i].n);
        asks |= text[i].log_p != NULL;
    }
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(s.beam, texts), NVDP__ITEMS(s.pick, beam),
                          NVDP__ITEMS(s.question, language->together + 1),
                          NVDP__ITEMS(s.log_p, (language->together + 1) * language->count)));
    for (size_t i = 0; i < texts; i++)
        NVDP_TRY(begin(&s, i));
    for (size_t k = 0; k < SWEEPS && weight != 0; k++)
        NVDP_TRY(sweep(&s, longest));
    for (size_t i = 0; i < texts; i++)
        memcpy(text[i].id, s.beam[i].best[0].id, text[i].n * sizeof *text[i].id);
    return asks ? finish(&s) : NVDP_OK;
}

/* ---- the attack ---- */

/* Identifies the text of a sample, close to Bayes' answer.  Vectors are scored as in named.c; a masked language model
 * and the frequencies of tokens give the prior probability of texts.  The found text maximizes the sum
 *
 *     e log p(z_t | x_t)  +  (1 - w) log f(x_t)  +  w log p(x_t | others)
 *
 * over all places (nvdp__find_texts).  f is the frequency of a token among public texts; if the attacked file states
 * labels, among public texts with the label of the sample.  The exponent e and the weight w are chosen to identify
 * the most tokens of held-out public texts.  First e is chosen without the model, as in named.c.  Then e and w are
 * chosen together, twice, each time for the texts found with the previous choice. */

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
    struct nvdp__masked_lm *model; /* NULL to use frequencies alone */
    struct nvdp__language language;
    /* [1 + labels, count] log f in all texts, then in texts with each label. */
    double *frequency;
    const double **prior; /* [rows] the row of `frequency` that applies */
    size_t rows;          /* max. rows of a group of texts */
    double *score;        /* [rows, count] */
    double *log_p;        /* [rows, count] */
    double *row;          /* [count] */
    int32_t *id;          /* [rows] */
    unsigned char *open;
    struct nvdp__found_text text[GROUP];
};

static void release(struct reader *r) {
    nvdp__masked_lm_free(r->model);
}

/* Returns the number of texts to search for at once. */
static size_t group_size(const struct reader *r) {
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
    r->rows = group_size(r) * nvdp__max_token_count(a);
    NVDP_TRY(NVDP__ATTACK_ARRAYS(
        a, NVDP__ITEMS(r->frequency, (1 + known->labels) * known->count),
        NVDP__ITEMS(r->prior, r->rows), NVDP__ITEMS(r->score, r->rows * known->count),
        NVDP__ITEMS(r->log_p, r->rows * known->count), NVDP__ITEMS(r->row, known->count),
        NVDP__ITEMS(r->id, r->rows), NVDP__ITEMS(r->open, r->rows)));
    (void)nvdp__log_frequency(known->count, known->times, r->frequency);
    for (size_t k = 0; k < known->labels * known->count; k++)
        r->frequency[known->count + k] = r->frequency[k % known->count] + known->lift[k];
    return NVDP_OK;
}

/* --- a group of texts --- */

/* Returns a token's score under a mixture, without the part of the language model; unmixed() inverts this function. */
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
            r->id[at] = id[j]; /* the search replaces the token of an open place */
            r->prior[at] = prior;
            for (size_t k = 0; k < count; k++)
                score[k] = mixed(prior, by, score[k] - r->frequency[k], k);
        }
    }
    if (!asks) memset(r->log_p, 0, at * count * sizeof *r->log_p);
    return nvdp__find_texts(r->attack->ctx, &r->language, r->centroids.known.id, by->weight,
                            r->attack->options->beam, n, r->text);
}

/* Counts the tokens found with a mixture, for `text` and the next texts.  With `alone`, counts the tokens that are best
 * at each single place, with the exponent that is best in that case. */
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
            if (alone == NULL && by->weight > 0) /* the search found the whole text */
                r->row[known->place[r->id[at]] - 1] = INFINITY;
            nvdp__count_guess(known, text + i, data->ids[q], r->row, hits);
        }
        nvdp__count_guessed_set(known, r->attack, data, first + i, text + i, hits);
    }
}

/* --- the mixture --- */

/* Counts the tokens of a group that each mixture would identify, given the texts found with one mixture. */
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
    const size_t from = r->centroids.known.texts, end = texts->data->count, group = group_size(r);
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
            NVDP_TRY(nvdp__attack_advance(r->attack, n, NAN));
        }
        for (size_t w = 0; w < weights; w++) /* on ties, prefers the smaller weight of the model */
            for (size_t e = 0; e < exponents; e++) {
                if (!(right[e][w] > best)) continue;
                best = right[e][w];
                *by = (struct mixture){nvdp__exponents[e], WEIGHTS[w]};
            }
        if (round == 0) *alone = *by;
        if (round == 0 || by->exponent != last.exponent || by->weight != last.weight) continue;
        r->attack->done +=
            (rounds - 1 - round) * (end - from); /* further rounds would give the same result */
        break;
    }
    return NVDP_OK;
}

/* --- the attack --- */

static nvdp_status attack_language(struct nvdp__text_attack *a) {
    const size_t n = a->attacked.data->count, seeds = a->options->seeds;
    nvdp__auto(release) struct reader r = {.attack = a};
    struct nvdp__correct hits, nearest;
    NVDP_TRY(reserve(&r));
    NVDP_TRY(nvdp__correct_create(a->ctx, &a->memory, seeds * n, &hits));
    NVDP_TRY(nvdp__correct_create(a->ctx, &a->memory, seeds * n, &nearest));
    const size_t rounds = r.model != NULL ? ROUNDS + 1 : 1, group = group_size(&r);
    const size_t held = a->known.data->count - r.centroids.known.texts;
    nvdp__attack_begin(a, "language", "text",
                       NVDP__OBSERVEDS * rounds * held +
                           (nvdp__draw_count(a, NVDP__OBSERVED_RELEASE) + 2) * n);
    for (int observed = 0; observed < NVDP__OBSERVEDS; observed++) {
        const size_t draws = nvdp__draw_count(a, observed);
        struct mixture by, alone = {1, 0};
        nvdp__centroids_prepare(a, observed, 1, &r.centroids);
        nvdp__correct_clear(seeds * n, &hits);
        nvdp__correct_clear(seeds * n, &nearest);
        NVDP_TRY(choose(&r, observed, &by, &alone));
        a->weight[observed] = by.weight;
        for (size_t s = 0; s < draws; s++)
            for (size_t i = 0; i < n; i += group) {
                const size_t m = nvdp__min(n - i, group);
                NVDP_TRY(find(&r, &a->attacked, observed, a->options->seed + s, i, m, &by, false));
                count_found(&r, a->attacked.data, i, m, s * n + i, &by, NULL, &hits);
                count_found(&r, a->attacked.data, i, m, s * n + i, &by, &alone, &nearest);
                NVDP_TRY(nvdp__attack_advance(a, m, NAN));
            }
        NVDP_TRY(nvdp__add_hits(a, observed, draws, &r.centroids.known, &hits));
        NVDP_TRY(nvdp__add_gain(a, observed, draws, &hits, &nearest));
    }
    nvdp__meter_end(&a->meter);
    return NVDP_OK;
}

static const char *const options[] = {NVDP__LEARNER_OPTIONS, "releases", "prior", "beam", NULL};

const struct nvdp__attack nvdp__attack_row_language = {
    .learn = attack_language, .options = options, NVDP__LEARNER};
