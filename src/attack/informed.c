/* Identifies one word of a text, given the sample, the model and all other words: the attacker of the guarantee per
 * word (rdp/word.h).
 *
 * Only the part D_w of the sum S is unknown: the vectors of the 2r + 1 windows that contain the word.
 * So the likelihood of every candidate w is exact. With S_0 the sum of the other vectors, P the projection onto the
 * ball and z the mean of n samples, the first guess maximizes
 *
 *     log p(w)  +  n (z . M_w - |M_w|^2 / 2),     M_w = P(S_0 + D_w)                (Bayes' rule)
 *
 * Candidates are the words of the public texts. p is the frequency of a word; with a masked language model, which reads
 * the other words, log p is (1 - a) times the log frequency plus a times the model's log probability. For r > 0, D_w
 * depends on the place, and only the most probable candidates are tried (TRIED). The true word is not treated
 * differently: if it is no candidate, the guess is wrong.
 *
 * The bound. For any attacker, any prior and any fixed list of texts and words, the share of right guesses is at most
 * the guess bound, within min(c (2r + 1), C), of the share that the same attacker gets from N(M_0, I), M_0 = P(S_0):
 * the sample of the other windows ("reference"; rdp/guess.c). The bound of frequencies alone ("prior") is not enough if
 * p is wrong, because reading a sample can then correct p. The baseline is the larger of "prior" and the upper end of
 * the interval of "reference". A violation is a lower end above the bound of the baseline: two standard errors on
 * either side. */
#include "attack/attack.h"
#include "attack/language.h"
#include "mechanism/mechanism.h"
#include "rdp/word.h"
#include "text/tokenizer.h"
#include "vib/vib.h"

#include <cblas.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <nvdp/guess.h>
#include <stdlib.h>

enum { TOP = 10, RARE = 10, TOGETHER = 64, HELD_OUT = 10, MAX_HELD = 200, TRIED = 100 };
static const double WEIGHTS[] = {0, 0.1, 0.2, 0.35, 0.5, 0.75, 1};
enum { TRIES = sizeof WEIGHTS / sizeof *WEIGHTS };

/* The observations of scores, and the reference as the last one. */
enum { OBSERVATIONS = NVDP__OBSERVED_REFERENCE + 1 };
/* Counts per text: words named first and among ten, words; the same of rare words. */
enum { FIRST, AMONG_TEN, WORDS, RARE_FIRST, RARE_TEN, RARE_WORDS, COUNTS };

struct informed {
    struct nvdp__text_attack *attack;
    struct nvdp__strings words; /* keys are the bytes of the words' ids; candidates come first */
    size_t count, dim, longest; /* number of candidates; p; number of words of the longest text */
    double *times;              /* [count] occurrences in the public texts */
    size_t capacity;            /* of times */
    double ball, scale;         /* C; n for states, which have no noise */
    size_t window;              /* r */
    double *alone;              /* [words.count, p] v_w, for r = 0 */
    struct nvdp__batch *batch;  /* texts whose vectors are computed */
    double *computed;           /* [words of the batch, p] vectors */
    /* the current text */
    int32_t *copy;                 /* [tokens of the longest word] */
    size_t n, elements;            /* number of words; number of words and borders */
    size_t *word, *first, *pieces; /* [longest] index in `words`; first token; number of tokens */
    /* [longest] element of a word; [longest + 1] first tokens of elements. */
    size_t *element, *start;
    double *vector;         /* [longest, p] vectors of the text's windows */
    double *sum, *rest, *z; /* S [p], S_0 [p], [seeds, p] means of samples */
    /* the current word: the candidates that are tried */
    size_t tried, *candidate;       /* number; [count], the most probable first */
    double *part;                   /* [tried, p] D_w */
    double *along;                  /* [1 + seeds, count] M . D_w, then z . D_w */
    double *others, *factor, *half; /* [count] S_0 . D_w; factor of P; |M_w|^2 / 2 */
    double *score;                  /* [count] */
    /* priors */
    size_t labels;         /* number of labels that the attacked file states; 0 if it states none */
    double *frequency;     /* [1 + labels, count] logarithms: of all words, then with a label */
    double *usual, *prior; /* [count] the row of `frequency` that applies; logarithms */
    struct nvdp__masked_lm *model; /* NULL to use frequencies alone */
    struct nvdp__language language;
    struct nvdp__tokens tokens; /* pieces that the language model reads */
    double single;              /* log p that a word is a single piece */
    double *answer, *log_p;     /* [TOGETHER, tokens.count], [TOGETHER, count] */
    int32_t *id;                /* [TOGETHER, tokens of the longest text + 2] */
    size_t room;                /* max. tokens of a question */
    double *hits;               /* [OBSERVATIONS, COUNTS, seeds, texts] */
};

static void release(struct informed *s) {
    free(s->times);
    nvdp__strings_release(&s->words);
    nvdp__batch_free(s->batch);
    nvdp__masked_lm_free(s->model);
}

/* --- words --- */

/* Sets the words and elements of the current text to those of text i; adds new words. */
static nvdp_status read_text(struct informed *s, const struct nvdp_dataset *data, size_t i) {
    const int32_t *ids = data->ids + data->offset[i], *mark = data->types + data->offset[i];
    const size_t tokens = data->offset[i + 1] - data->offset[i];
    s->n = s->elements = 0;
    for (size_t t = 0, end; t < tokens; t = end) {
        end = nvdp__word_end(mark, t, tokens);
        s->start[s->elements++] = t;
        s->start[s->elements] = end;
        if (mark[t] == NVDP__WORD_BORDER) continue;
        s->element[s->n] = s->elements - 1;
        NVDP_TRY(nvdp__strings_add(&s->words, (const char *)(ids + t), (end - t) * sizeof *ids,
                                   &s->word[s->n]));
        s->first[s->n] = t;
        s->pieces[s->n++] = end - t;
    }
    return NVDP_OK;
}

static nvdp_status read_words(struct informed *s) {
    struct nvdp__text_attack *a = s->attack;
    const struct nvdp_dataset *known = a->known.data, *attacked = a->attacked.data;
    s->room = nvdp__max(known->longest, attacked->longest) + 2;
    NVDP_TRY(NVDP__ATTACK_ARRAYS(a, NVDP__ITEMS(s->word, s->room), NVDP__ITEMS(s->first, s->room),
                                 NVDP__ITEMS(s->pieces, s->room), NVDP__ITEMS(s->element, s->room),
                                 NVDP__ITEMS(s->start, s->room)));
    for (size_t i = 0; i < known->count; i++) {
        NVDP_TRY(read_text(s, known, i));
        NVDP_TRY(
            nvdp__reserve(a->ctx, &s->times, &s->capacity, s->words.count + 1, sizeof *s->times));
        for (; s->count < s->words.count; s->count++)
            s->times[s->count] = 0;
        for (size_t j = 0; j < s->n; j++)
            s->times[s->word[j]]++;
    }
    for (size_t i = 0; i < attacked->count; i++)
        NVDP_TRY(read_text(s, attacked, i));
    if (s->count <= 1)
        return nvdp__fail(a->ctx, NVDP_ERR_INPUT,
                          "%s: expected public texts with at least 2 words, found %zu",
                          a->options->known, s->count);
    return NVDP__ATTACK_ARRAYS(a, NVDP__ITEMS(s->copy, s->words.longest / sizeof *s->copy));
}

/* Returns the n ids of a word, in s->copy. */
static const int32_t *word_ids(const struct informed *s, size_t word, size_t *n) {
    const struct nvdp__field bytes = nvdp__string(&s->words, word);
    memcpy(s->copy, bytes.text, bytes.size); /* strings are not aligned */
    *n = bytes.size / sizeof *s->copy;
    return s->copy;
}

/* --- vectors --- */

static void put(struct informed *s, size_t n, const int32_t *id, enum nvdp__word_mark mark) {
    for (size_t k = 0; k < n; k++) {
        nvdp__batch_put(s->batch, id[k]);
        s->batch->types[s->batch->tokens - 1] = k > 0 ? NVDP__WORD_CONTINUES : (int32_t)mark;
    }
}

/* Adds elements [from, to) of text i, with the ids of `word` in place of element `at`. */
static void put_text(struct informed *s, const struct nvdp_dataset *data, size_t i, size_t from,
                     size_t to, size_t at, size_t n, const int32_t *word) {
    for (size_t e = from; e < to; e++) {
        const size_t t = data->offset[i] + s->start[e];
        if (e == at)
            put(s, n, word, NVDP__WORD_BEGINS);
        else
            put(s, s->start[e + 1] - s->start[e], data->ids + t,
                (enum nvdp__word_mark)data->types[t]);
    }
    nvdp__batch_end(s->batch, s->batch->texts);
}

/* Computes the vectors of all words of the batch. */
static nvdp_status compute(struct informed *s) {
    struct nvdp_model *model = s->attack->run.model;
    NVDP_TRY(nvdp__check_cancelled(s->attack->ctx, "attack: cancelled"));
    nvdp__word_keep(model->bottleneck.self, s->computed);
    const nvdp_status status = nvdp__model_infer(model, s->batch);
    nvdp__word_keep(model->bottleneck.self, NULL);
    return status;
}

static nvdp_status plan_vectors(struct informed *s) {
    struct nvdp_context *ctx = s->attack->ctx;
    const size_t word = s->words.longest / sizeof(int32_t);
    const size_t longest = s->window > 0 ? s->attack->attacked.data->longest + word : word;
    s->tried = s->window > 0 ? nvdp__min(s->count, TRIED) : s->count;
    s->attack->tried = s->tried < s->count ? s->tried : 0;
    NVDP_TRY(NVDP__ATTACK_ARRAYS(s->attack, NVDP__ITEMS(s->computed, TOGETHER * longest * s->dim),
                                 NVDP__ITEMS(s->candidate, s->count),
                                 NVDP__ITEMS(s->vector, s->room * s->dim),
                                 NVDP__ITEMS(s->part, s->window > 0 ? s->tried * s->dim : 0)));
    for (size_t k = 0; k < s->count; k++)
        s->candidate[k] = k;
    NVDP_TRY(nvdp__batch_create(ctx, TOGETHER, longest, &s->batch));
    return nvdp__model_plan(s->attack->run.model, TOGETHER, longest, false);
}

/* For r = 0, computes v_w of all words, which is D_w in every text. */
static nvdp_status compute_words(struct informed *s) {
    const size_t all = s->words.count;
    if (s->window > 0) return NVDP_OK;
    NVDP_TRY(NVDP__ATTACK_ARRAYS(s->attack, NVDP__ITEMS(s->alone, all * s->dim)));
    for (size_t at = 0; at < all; at += TOGETHER) {
        nvdp__batch_clear(s->batch);
        for (size_t w = at; w < nvdp__min(all, at + TOGETHER); w++) {
            size_t n;
            const int32_t *id = word_ids(s, w, &n);
            put(s, n, id, NVDP__WORD_BEGINS);
            nvdp__batch_end(s->batch, w);
        }
        NVDP_TRY(compute(s));
        memcpy(s->alone + at * s->dim, s->computed, s->batch->texts * s->dim * sizeof *s->alone);
    }
    s->part = s->alone;
    return NVDP_OK;
}

/* Sets the vectors of the current text, i. */
static nvdp_status compute_text(struct informed *s, const struct nvdp_dataset *data, size_t i) {
    const size_t p = s->dim;
    for (size_t j = 0; s->window == 0 && j < s->n; j++)
        memcpy(s->vector + j * p, s->alone + s->word[j] * p, p * sizeof *s->vector);
    if (s->window == 0) return NVDP_OK;
    nvdp__batch_clear(s->batch);
    put_text(s, data, i, 0, s->elements, s->elements, 0, NULL);
    NVDP_TRY(compute(s));
    memcpy(s->vector, s->computed, s->n * p * sizeof *s->vector);
    return NVDP_OK;
}

/* Adds to sum [p] the vectors of the words centered within r elements of element `at`. `vector` has the vectors of the
 * text's words in order, from element `from` on. */
static void add_windows(const struct informed *s, const double *vector, size_t from, size_t at,
                        double *sum) {
    size_t skipped = 0;
    for (size_t j = 0; j < s->n; j++) {
        const size_t e = s->element[j];
        skipped += e < from;
        if (e + s->window < at || e > at + s->window) continue;
        cblas_daxpy((int)s->dim, 1, vector + (j - skipped) * s->dim, 1, sum, 1);
    }
}

/* For r > 0, sets D_w of the most probable candidates for word j of text i. The windows that contain the word depend on
 * 2r elements on either side of the word. */
static nvdp_status compute_parts(struct informed *s, const struct nvdp_dataset *data, size_t i,
                                 size_t j) {
    const size_t at = s->element[j], p = s->dim, reach = 2 * s->window;
    const size_t from = at > reach ? at - reach : 0, to = nvdp__min(at + reach + 1, s->elements);
    size_t words = 0;
    if (s->window == 0) return NVDP_OK;
    for (size_t k = 0; k < s->n; k++)
        words += s->element[k] >= from && s->element[k] < to;
    gsl_sort_largest_index(s->candidate, s->tried, s->prior, 1, s->count);
    memset(s->part, 0, s->tried * p * sizeof *s->part);
    for (size_t done = 0; done < s->tried; done += s->batch->texts) {
        nvdp__batch_clear(s->batch);
        for (size_t k = done; k < nvdp__min(s->tried, done + TOGETHER); k++) {
            size_t n;
            const int32_t *id = word_ids(s, s->candidate[k], &n);
            put_text(s, data, i, from, to, at, n, id);
        }
        NVDP_TRY(compute(s));
        for (size_t k = 0; k < s->batch->texts; k++)
            add_windows(s, s->computed + k * words * p, from, at, s->part + (done + k) * p);
    }
    return NVDP_OK;
}

/* --- priors --- */

static nvdp_status count_pieces(struct informed *s) {
    struct nvdp__tokens *t = &s->tokens;
    const size_t vocabulary = nvdp_tokenizer_size(nvdp_model_tokenizer(s->attack->run.model));
    NVDP_TRY(NVDP__ATTACK_ARRAYS(s->attack, NVDP__ITEMS(t->place, vocabulary),
                                 NVDP__ITEMS(t->id, vocabulary),
                                 NVDP__ITEMS(t->times, vocabulary)));
    for (size_t w = 0; w < s->words.count; w++) {
        size_t n;
        const int32_t *id = word_ids(s, w, &n);
        for (size_t k = 0; k < n; k++)
            if (t->place[id[k]] == 0) {
                t->id[t->count] = id[k];
                t->place[id[k]] = ++t->count;
            }
        if (n == 1 && w < s->count) t->times[t->place[id[0]] - 1] = s->times[w];
    }
    return NVDP_OK;
}

/* Opens the language model. A word of several pieces keeps its frequency, because one [MASK] stands for one piece. */
static nvdp_status open_model(struct informed *s) {
    struct nvdp__text_attack *a = s->attack;
    double single = 0, all = 0;
    if (a->options->prior == NULL) return NVDP_OK;
    NVDP_TRY(count_pieces(s));
    NVDP_TRY(nvdp__masked_lm_open(a, a->options->prior, &s->tokens, &s->model, &s->language));
    for (size_t k = 0; k < s->count; k++) {
        size_t n;
        word_ids(s, k, &n);
        all += s->times[k];
        single += n == 1 ? s->times[k] : 0;
    }
    s->single = log(single / all);
    return NVDP__ATTACK_ARRAYS(a, NVDP__ITEMS(s->answer, TOGETHER * s->tokens.count),
                               NVDP__ITEMS(s->log_p, TOGETHER * s->count),
                               NVDP__ITEMS(s->id, TOGETHER * s->room));
}

/* Turns answers about pieces into log_p [count], whose sum over words of one piece stays `single`. */
static void of_words(const struct informed *s, const double *answer, double *log_p) {
    double sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < s->count; k++) {
            size_t n;
            const int32_t *id = word_ids(s, k, &n);
            const double one = n == 1 ? answer[s->tokens.place[*id] - 1] : -INFINITY;
            if (pass == 0)
                sum += exp(one);
            else
                log_p[k] = n == 1 && sum > 0 ? one - log(sum) + s->single : s->usual[k];
        }
}

/* Asks the language model about n words of text i from `from` on: log_p [n, count]. */
static nvdp_status ask(struct informed *s, const struct nvdp_dataset *data, size_t i, size_t from,
                       size_t n) {
    struct nvdp__question question[TOGETHER];
    const struct nvdp_tokenizer *tokenizer = nvdp_model_tokenizer(s->attack->run.model);
    const int32_t *ids = data->ids + data->offset[i];
    const size_t tokens = data->offset[i + 1] - data->offset[i];
    if (s->model == NULL) return NVDP_OK;
    for (size_t j = 0; j < n; j++) {
        const size_t first = s->first[from + j], pieces = s->pieces[from + j],
                     after = tokens - first - pieces;
        int32_t *id = s->id + j * s->room;
        memcpy(id + 1, ids, first * sizeof *id);
        memcpy(id + 2 + first, ids + first + pieces, after * sizeof *id);
        id[0] = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_CLS);
        id[1 + first] = ids[first]; /* ignored */
        id[2 + first + after] = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP);
        question[j] = (struct nvdp__question){id, 3 + first + after, 1 + first};
    }
    NVDP_TRY(s->language.ask(s->language.of, n, question, s->answer));
    for (size_t j = 0; j < n; j++)
        of_words(s, s->answer + j * s->tokens.count, s->log_p + j * s->count);
    return NVDP_OK;
}

/* Sets the frequencies for text i, by the label that the attacked file states. */
static void choose_frequency(struct informed *s, const struct nvdp__texts *corpus, size_t i) {
    const size_t label = nvdp__known_label(corpus, i, s->labels);
    s->usual = s->frequency + (label < s->labels ? (1 + label) * s->count : 0);
}

/* Sets the prior of the j-th word of the last questions. */
static void set_prior(struct informed *s, size_t j, double weight) {
    for (size_t k = 0; k < s->count; k++)
        s->prior[k] = s->model == NULL || weight == 0 ? s->usual[k]
                      : weight == 1
                          ? s->log_p[j * s->count + k]
                          : (1 - weight) * s->usual[k] + weight * s->log_p[j * s->count + k];
}

static size_t text_group_size(const struct informed *s) {
    return s->model != NULL ? nvdp__min(s->language.together, TOGETHER) : TOGETHER;
}

/* Returns the log probability of a candidate under the prior, which need not be normalized. */
static double log_probability(const struct informed *s, size_t word) {
    double top = -INFINITY, sum = 0;
    for (size_t k = 0; k < s->count; k++)
        top = fmax(top, s->prior[k]);
    for (size_t k = 0; k < s->count; k++)
        sum += exp(s->prior[k] - top);
    return s->prior[word] - top - log(sum);
}

/* Chooses the weight of the language model under which the words of the last public texts are most likely. */
static nvdp_status choose_weight(struct informed *s, double *weight) {
    const struct nvdp_dataset *data = s->attack->known.data;
    const size_t held = nvdp__min(data->count / HELD_OUT, MAX_HELD);
    double likely[TRIES] = {0};
    *weight = 0;
    if (s->model == NULL) return NVDP_OK;
    for (size_t i = data->count - held; i < data->count; i++) {
        NVDP_TRY(nvdp__check_cancelled(s->attack->ctx, "attack: cancelled"));
        NVDP_TRY(read_text(s, data, i));
        choose_frequency(s, &s->attack->known, i);
        for (size_t from = 0, n; from < s->n; from += n) {
            n = nvdp__min(s->n - from, text_group_size(s));
            NVDP_TRY(ask(s, data, i, from, n));
            for (size_t j = 0; j < n; j++)
                for (size_t w = 0; w < TRIES; w++) {
                    set_prior(s, j, WEIGHTS[w]);
                    likely[w] += log_probability(s, s->word[from + j]);
                }
        }
    }
    *weight = WEIGHTS[nvdp__top(TRIES, likely)];
    return NVDP_OK;
}

/* --- guesses --- */

/* Returns the factor of the projection of a sum with this squared norm, as nvib/clip.c computes it. */
static double projection(const struct informed *s, double square) {
    const double norm = sqrt(fmax(square, 0));
    return norm > s->ball ? s->ball / norm : 1;
}

static double *counts(const struct informed *s, int observation, int what) {
    const size_t each = s->attack->options->seeds * s->attack->attacked.data->count;
    return s->hits + ((size_t)observation * COUNTS + (size_t)what) * each;
}

static void count_guess(struct informed *s, int observation, size_t at, size_t word) {
    const bool candidate = word < s->count, rare = !candidate || s->times[word] < RARE;
    size_t above = candidate ? 0 : s->count; /* candidates before the word */
    for (size_t k = 0; candidate && k < s->count; k++)
        above += nvdp__goes_before(s->score[k], k, s->score[word], word);
    const bool first = above == 0, ten = above < nvdp__min(TOP, s->count);
    counts(s, observation, FIRST)[at] += first;
    counts(s, observation, AMONG_TEN)[at] += ten;
    counts(s, observation, WORDS)[at]++;
    counts(s, observation, RARE_FIRST)[at] += rare && first;
    counts(s, observation, RARE_TEN)[at] += rare && ten;
    counts(s, observation, RARE_WORDS)[at] += rare;
}

/* Sets the scores from n observations with mean z. z_others is z . S_0, and z . D_w is by times S_0 . D_w plus the
 * sum of two vectors [tried]. Candidates that are not tried come last. */
static void set_scores(const struct informed *s, double n, double z_others, double by,
                       const double *a, double sign, const double *b) {
    for (size_t k = 0; s->tried < s->count && k < s->count; k++)
        s->score[k] = -INFINITY;
    for (size_t k = 0; k < s->tried; k++) {
        const double z_word = by * s->others[k] + a[k] + sign * b[k];
        const size_t word = s->candidate[k];
        s->score[word] = s->prior[word] + n * (s->factor[k] * (z_others + z_word) - s->half[k]);
    }
}

/* Sets the products of all D_w with the mean of text i and with the means of its samples. */
static void set_along(const struct informed *s, size_t i) {
    const struct nvdp__text_attack *a = s->attack;
    const int m = (int)s->tried, p = (int)s->dim;
    for (size_t k = 0; k <= nvdp__draw_count(a, NVDP__OBSERVED_RELEASE); k++)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, m, p, 1, s->part, p,
                    k == 0 ? a->attacked.set->mu + i * s->dim : s->z + (k - 1) * s->dim, 1, 0,
                    s->along + k * s->tried, 1);
}

/* Guesses word j of text i from every observation. */
static void guess(struct informed *s, size_t i, size_t j) {
    const struct nvdp__text_attack *a = s->attack;
    const int p = (int)s->dim;
    const double *mean = a->attacked.set->mu + i * s->dim, n = a->options->releases,
                 *of_mean = s->along;
    const size_t word = s->word[j], texts = a->attacked.data->count;
    if (s->window > 0) set_along(s, i);
    memset(s->rest, 0, s->dim * sizeof *s->rest);
    add_windows(s, s->vector, 0, s->element[j], s->rest);
    for (size_t d = 0; d < s->dim; d++)
        s->rest[d] = s->sum[d] - s->rest[d];
    const double rest = cblas_ddot(p, s->rest, 1, s->rest, 1), to_rest = projection(s, rest);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)s->tried, p, 1, s->part, p, s->rest, 1, 0,
                s->others, 1);
    for (size_t k = 0; k < s->tried; k++) {
        const double *part = s->part + k * s->dim;
        const double square = rest + 2 * s->others[k] + cblas_ddot(p, part, 1, part, 1);
        s->factor[k] = projection(s, square);
        s->half[k] = s->factor[k] * s->factor[k] * square / 2;
    }
    const double mean_rest = cblas_ddot(p, mean, 1, s->rest, 1);
    for (size_t seed = 0; seed < nvdp__draw_count(a, NVDP__OBSERVED_RELEASE); seed++) {
        const double *z = s->z + seed * s->dim, *of_z = s->along + (seed + 1) * s->tried;
        const double z_rest = cblas_ddot(p, z, 1, s->rest, 1);
        set_scores(s, n, z_rest, 0, of_z, 0, of_mean);
        count_guess(s, NVDP__OBSERVED_RELEASE, seed * texts + i, word);
        /* M_0 + (z - M) */
        set_scores(s, n, to_rest * rest + z_rest - mean_rest, to_rest, of_z, -1, of_mean);
        count_guess(s, NVDP__OBSERVED_REFERENCE, seed * texts + i, word);
    }
    set_scores(s, s->scale, mean_rest, 0, of_mean, 0, of_mean);
    count_guess(s, NVDP__OBSERVED_STATES, i, word);
    memcpy(s->score, s->prior, s->count * sizeof *s->score);
    count_guess(s, NVDP__OBSERVED_PRIOR, i, word);
}

/* Sums the vectors of text i, and checks that the projection of the sum is the text's mean: otherwise the likelihoods
 * would be wrong. */
static nvdp_status sum_vectors(struct informed *s, size_t i) {
    const double *mean = s->attack->attacked.set->mu + i * s->dim;
    const double slack =
        0x1p-20 * (s->ball + (double)s->n * s->attack->run.model->info.nvib.clip.word);
    double off = 0;
    memset(s->sum, 0, s->dim * sizeof *s->sum);
    for (size_t j = 0; j < s->n; j++)
        cblas_daxpy((int)s->dim, 1, s->vector + j * s->dim, 1, s->sum, 1);
    const double factor = projection(s, cblas_ddot((int)s->dim, s->sum, 1, s->sum, 1));
    for (size_t d = 0; d < s->dim; d++)
        off = fmax(off, fabs(factor * s->sum[d] - mean[d]));
    if (off <= slack) return NVDP_OK;
    return nvdp__fail(s->attack->ctx, NVDP_ERR_NUMERIC,
                      "text %zu: expected a mean that is the projected sum of its words' vectors, "
                      "found one that is %g standard deviations of the noise away",
                      i, off);
}

/* Reads the samples of text i: z [seeds, p], and with r = 0 the products with all candidates. */
static void observe(struct informed *s, size_t i) {
    const struct nvdp__text_attack *a = s->attack;
    const size_t seeds = nvdp__draw_count(a, NVDP__OBSERVED_RELEASE), p = s->dim;
    const size_t releases = (size_t)a->options->releases;
    double *one = s->rest;
    memset(s->z, 0, seeds * p * sizeof *s->z);
    for (size_t seed = 0; seed < seeds; seed++)
        for (size_t draw = 0; draw < releases; draw++) {
            nvdp__observe(&a->attacked, NVDP__OBSERVED_RELEASE, a->options->seed + seed,
                          (uint32_t)draw, i, 1, one, NULL);
            cblas_daxpy((int)p, 1 / (double)releases, one, 1, s->z + seed * p, 1);
        }
    if (s->window == 0) set_along(s, i);
}

/* --- scores --- */

static nvdp_status add_scores(struct informed *s) {
    static const struct {
        enum nvdp__text_metric metric;
        int hits, of;
    } of[] = {{NVDP__TEXT_METRIC_FIRST, FIRST, WORDS},
              {NVDP__TEXT_METRIC_AMONG_TEN, AMONG_TEN, WORDS},
              {NVDP__TEXT_METRIC_RARE_FIRST, RARE_FIRST, RARE_WORDS},
              {NVDP__TEXT_METRIC_RARE_AMONG_TEN, RARE_TEN, RARE_WORDS}};
    enum { METRICS = sizeof of / sizeof *of };
    struct nvdp__text_attack *a = s->attack;
    const struct nvdp__clip_config *clip = &a->run.model->info.nvib.clip;
    const struct nvdp__word_clip both = {
        .word = clip->word, .text = clip->sequence, .window = (double)clip->window};
    const size_t first = a->scores, seeds = nvdp__draw_count(a, NVDP__OBSERVED_RELEASE);
    for (int o = 0; o < OBSERVATIONS; o++)
        for (size_t k = 0; k < METRICS; k++)
            NVDP_TRY(nvdp__add_score(
                a, o, of[k].metric,
                o == NVDP__OBSERVED_RELEASE || o == NVDP__OBSERVED_REFERENCE ? seeds : 1,
                a->attacked.data->count, counts(s, o, of[k].hits), counts(s, o, of[k].of), 0));
    for (size_t k = 0; k < METRICS; k++) {
        struct nvdp__text_score *score = &a->score[first + k];
        const double prior = score[NVDP__OBSERVED_PRIOR * METRICS].value;
        const double reference = score[NVDP__OBSERVED_REFERENCE * METRICS].interval.high;
        if (isnan(prior) || isnan(reference)) continue; /* no such words */
        score->baseline = fmax(prior, reference);
        score->bound = nvdp_guess_bound(score->baseline, nvdp__word_radius(&both, 1),
                                        a->options->releases, s->dim);
    }
    return NVDP_OK;
}

/* Computes the frequencies of words in public texts with each label. */
static nvdp_status learn_labels(struct informed *s) {
    const struct nvdp__texts *known = &s->attack->known;
    double *lift = s->frequency + s->count;
    for (size_t i = 0; i < known->data->count; i++) {
        const size_t label = nvdp__known_label(known, i, s->labels);
        if (label >= s->labels) continue;
        NVDP_TRY(read_text(s, known->data, i));
        for (size_t j = 0; j < s->n; j++)
            lift[label * s->count + s->word[j]]++;
    }
    nvdp__label_lift(s->labels, s->count, s->times, lift);
    for (size_t k = 0; k < s->labels * s->count; k++)
        lift[k] += s->frequency[k % s->count];
    return NVDP_OK;
}

static nvdp_status reserve(struct informed *s) {
    struct nvdp__text_attack *a = s->attack;
    const size_t seeds = a->options->seeds, texts = a->attacked.data->count;
    s->labels = nvdp__known_labels(a);
    NVDP_TRY(NVDP__ATTACK_ARRAYS(a, NVDP__ITEMS(s->frequency, (1 + s->labels) * s->count),
                                 NVDP__ITEMS(s->others, s->count), NVDP__ITEMS(s->factor, s->count),
                                 NVDP__ITEMS(s->half, s->count), NVDP__ITEMS(s->score, s->count),
                                 NVDP__ITEMS(s->prior, s->count), NVDP__ITEMS(s->sum, s->dim),
                                 NVDP__ITEMS(s->rest, s->dim), NVDP__ITEMS(s->z, seeds * s->dim),
                                 NVDP__ITEMS(s->along, (1 + seeds) * s->count),
                                 NVDP__ITEMS(s->hits, OBSERVATIONS * COUNTS * seeds * texts)));
    (void)nvdp__log_frequency(s->count, s->times, s->frequency);
    s->usual = s->frequency;
    return s->labels > 0 ? learn_labels(s) : NVDP_OK;
}

static nvdp_status attack_informed(struct nvdp__text_attack *a) {
    const struct nvdp__model_info *info = &a->run.model->info;
    const struct nvdp_dataset *data = a->attacked.data;
    nvdp__auto(release) struct informed s = {
        .attack = a, .words.ctx = a->ctx, .dim = info->nvib.latent_dim};
    if (!nvdp__method_row(info->method)->words)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "attack informed: expected a run whose method has a certificate per "
                          "word (--method word), found method %s",
                          nvdp_method_name(info->method));
    s.ball = nvdp__sequence_ball(info->nvib.clip.sequence);
    s.window = info->nvib.clip.window;
    s.scale = 1e8 / (info->nvib.clip.word * info->nvib.clip.word);
    NVDP_TRY(read_words(&s));
    NVDP_TRY(plan_vectors(&s));
    NVDP_TRY(compute_words(&s));
    NVDP_TRY(reserve(&s));
    NVDP_TRY(open_model(&s));
    NVDP_TRY(choose_weight(&s, &a->weight[0]));
    for (size_t o = 1; o < NVDP__OBSERVEDS; o++)
        a->weight[o] = a->weight[0];
    nvdp__attack_begin(a, "informed", "text", data->count);
    for (size_t i = 0; i < data->count; i++) {
        NVDP_TRY(read_text(&s, data, i));
        choose_frequency(&s, &a->attacked, i);
        NVDP_TRY(compute_text(&s, data, i));
        NVDP_TRY(sum_vectors(&s, i));
        observe(&s, i);
        for (size_t from = 0, n; from < s.n; from += n) {
            n = nvdp__min(s.n - from, text_group_size(&s));
            NVDP_TRY(ask(&s, data, i, from, n));
            for (size_t j = 0; j < n; j++) {
                set_prior(&s, j, a->weight[0]);
                NVDP_TRY(compute_parts(&s, data, i, from + j));
                guess(&s, i, from + j);
            }
        }
        NVDP_TRY(nvdp__attack_advance(a, 1, NAN));
    }
    nvdp__meter_end(&a->meter);
    return add_scores(&s);
}

static const char *const options[] = {NVDP__LEARNER_OPTIONS, "releases", "prior", NULL};

const struct nvdp__attack nvdp__attack_row_informed = {
    .learn = attack_informed, .per_word = true, .options = options, NVDP__LEARNER};
