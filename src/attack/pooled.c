/* Predicts the words of a text (bag) or its label (attribute) from one vector per text, by logistic regression.  The
 * vector has two or three parts: a mean over all vectors of a sample, the vector of the first token, [CLS], and the
 * weighted mean if there are weights.  If the attacked file states labels, indicators of the label are appended.  In
 * the first mean, the weight of a row is the share of public texts in which the row belongs to a token. */
#include "attack/audit.h"
#include "attack/texts.h"
#include "rdp/pairs.h"

#include <math.h>
#include <nvdp/audit.h>
#include <nvdp/guess.h>
#include <stdlib.h>

enum { WORDS = 300, MIN_TEXTS = 5, HELD_OUT = 10, THRESHOLDS = 19 };
/* With few texts, the attacker learns from several samples per text, at least one and at most MAX_DRAWS, because noise
 * that is seen only once would be learned as part of the text.  SAMPLES, ANSWERS and NUMBERS limit the total numbers of
 * samples, of values of y, and of values of x. */
enum { MAX_DRAWS = 20, SAMPLES = 10000, ANSWERS = 600000, NUMBERS = 1 << 25 };
static const double PENALTIES[] = {1e-3, 1e-2, 1e-1};

/* The data to learn from and the guesses; y belongs to the public texts. */
struct reader {
    struct nvdp__text_attack *attack;
    size_t width, outputs, draws, labels; /* `labels` is the number of labels that are inputs */
    bool softmax;
    double *x,
        *y; /* [known, width], [known, outputs], after `draws` - 1 samples of the training texts */
    double *p;              /* [known, outputs] */
    double *seen, *guess;   /* [attacked, width], [attacked, outputs] */
    double *weight, *trial; /* [outputs, width] */
    double penalty;         /* 0 until it is chosen */
    double *z;              /* of one sample */
    double *own; /* [max. rows]: the share of public texts whose k-th row belongs to a token */
};

static size_t training_count(const struct reader *r) {
    const size_t known = r->attack->known.data->count;
    return known - known / HELD_OUT;
}

/* Computes r->own.  Rows of padding and of the prior contain only noise. */
static void count_own(struct reader *r, size_t largest) {
    const struct nvdp__text_attack *a = r->attack;
    const struct nvdp_posteriors *set = a->known.set;
    const struct nvdp__form form = nvdp__form_of_posteriors(set);
    for (size_t k = 0; k < largest; k++) {
        size_t own = 0, all = 0;
        for (size_t i = 0; i < a->known.data->count; i++) {
            if (k >= nvdp__release_rows(set, i)) continue;
            own += nvdp__form_source(&form, nvdp__row_count(set, i), k) >= 0;
            all++;
        }
        r->own[k] = all > 0 ? (double)own / (double)all : 1;
    }
}

static nvdp_status reserve(struct reader *r) {
    struct nvdp__text_attack *a = r->attack;
    const struct nvdp_posteriors *set = a->known.set;
    const size_t known = a->known.data->count, attacked = a->attacked.data->count;
    const size_t largest = nvdp__max_rows(a);
    r->labels = nvdp__known_labels(a);
    r->width = (set->alpha != NULL ? 3 : 2) * set->dim + r->labels + 1;
    const size_t samples = nvdp__min(SAMPLES, nvdp__min(ANSWERS / r->outputs, NUMBERS / r->width));
    r->draws = nvdp__max(1, nvdp__min(MAX_DRAWS, samples / known));
    const size_t before = (r->draws - 1) * training_count(r);
    double *all_x, *all_y; /* further samples of the training texts, followed by x (or y) */
    NVDP_TRY(NVDP__ATTACK_ARRAYS(
        a, NVDP__ITEMS(all_y, (before + known) * r->outputs),
        NVDP__ITEMS(all_x, (before + known) * r->width), NVDP__ITEMS(r->p, known * r->outputs),
        NVDP__ITEMS(r->seen, attacked * r->width), NVDP__ITEMS(r->guess, attacked * r->outputs),
        NVDP__ITEMS(r->weight, r->outputs * r->width), NVDP__ITEMS(r->trial, r->outputs * r->width),
        NVDP__ITEMS(r->own, largest), NVDP__ITEMS(r->z, largest * (set->dim + 1))));
    r->y = all_y + before * r->outputs;
    r->x = all_x + before * r->width;
    count_own(r, largest);
    return NVDP_OK;
}

/* Computes x [texts, width] for the first texts of a corpus: the mean over all releases of a text, and 1 in the last
 * column. */
static void pool(struct reader *r, const struct nvdp__texts *corpus, enum nvdp__observed observed,
                 uint64_t seed, uint32_t draw, size_t texts, double *x) {
    const struct nvdp_posteriors *set = corpus->set;
    const size_t p = set->dim, kappa = (size_t)set->kappa, prior = set->alpha != NULL ? kappa : 0;
    const uint32_t releases =
        observed == NVDP__OBSERVED_RELEASE ? (uint32_t)r->attack->options->releases : 1;
    for (size_t i = 0; i < texts; i++) {
        const size_t rows = nvdp__release_rows(set, i);
        double *to = x + i * r->width, *log_pi = r->z + rows * p, own = 0;
        memset(to, 0, r->width * sizeof *to);
        to[r->width - 1] = 1;
        const size_t label = nvdp__known_label(corpus, i, r->labels);
        if (label < r->labels) to[r->width - 1 - r->labels + label] = 1;
        for (size_t k = 0; k < rows; k++)
            own += r->own[k];
        for (uint32_t n = 0; n < releases; n++) {
            nvdp__observe(corpus, observed, seed, draw * releases + n, i, rows, r->z, log_pi);
            for (size_t k = 0; k < rows; k++) {
                const double weight = own > 0 ? r->own[k] / own / releases : 0;
                const double share = set->alpha != NULL ? exp(log_pi[k]) / releases : 0;
                const bool first = k >= prior && k < prior + kappa;
                for (size_t d = 0; d < p; d++) {
                    to[d] += weight * r->z[k * p + d];
                    if (first) to[p + d] += r->z[k * p + d] / (double)kappa / releases;
                    if (set->alpha != NULL) to[2 * p + d] += share * r->z[k * p + d];
                }
            }
        }
    }
}

/* Scales x [n] of the public texts to mean 0 and standard deviation 1, and the attacked texts in the same way. */
static void standardize(struct reader *r, size_t n, double *x) {
    const size_t attacked = r->attack->attacked.data->count;
    for (size_t d = 0; d + 1 < r->width; d++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < n; i++)
            mean += x[i * r->width + d] / (double)n;
        for (size_t i = 0; i < n; i++)
            square += pow(x[i * r->width + d] - mean, 2) / (double)n;
        const double by = square > 0 ? 1 / sqrt(square) : 0;
        for (size_t i = 0; i < n; i++)
            x[i * r->width + d] = (x[i * r->width + d] - mean) * by;
        for (size_t i = 0; i < attacked; i++)
            r->seen[i * r->width + d] = (r->seen[i * r->width + d] - mean) * by;
    }
}

/* Returns the guess without samples: the share of public texts with output k, among the texts with this label. */
static double output_share(const struct reader *r, size_t k, size_t label) {
    const struct nvdp__texts *known = &r->attack->known;
    double sum = 0, texts = 0;
    for (size_t i = 0; i < training_count(r); i++) {
        if (nvdp__known_label(known, i, r->labels) != label) continue;
        sum += r->y[i * r->outputs + k];
        texts++;
    }
    return texts > 0 ? sum / texts : 0;
}

static nvdp_status learn_shares(struct reader *r) {
    const struct nvdp__text_attack *a = r->attack;
    const struct nvdp__texts *const corpus[] = {&a->known, &a->attacked};
    double *const to[] = {r->p, r->guess};
    /* [labels + 1], where the last entry is for texts without a label. */
    nvdp__autofree double *share = NULL;
    NVDP_TRY(NVDP__NEW(a->ctx, share, r->labels + 1));
    for (size_t k = 0; k < r->outputs; k++) {
        for (size_t label = 0; label <= r->labels; label++)
            share[label] = output_share(r, k, label < r->labels ? label : SIZE_MAX);
        for (size_t c = 0; c < 2; c++)
            for (size_t i = 0; i < corpus[c]->data->count; i++)
                to[c][i * r->outputs + k] =
                    share[nvdp__min(nvdp__known_label(corpus[c], i, r->labels), r->labels)];
    }
    return NVDP_OK;
}

/* Learns from nine tenths of the public texts, and chooses the penalty on the rest, once.  Fills p and guess. */
static nvdp_status learn(struct reader *r, enum nvdp__observed observed, uint64_t seed) {
    struct nvdp__text_attack *a = r->attack;
    const size_t known = a->known.data->count, n = training_count(r), held = known - n;
    const size_t size = r->outputs * r->width, attacked = a->attacked.data->count;
    const size_t before = observed == NVDP__OBSERVED_RELEASE ? (r->draws - 1) * n : 0;
    double *x = r->x - before * r->width, best = INFINITY;
    if (observed == NVDP__OBSERVED_PRIOR) return learn_shares(r);
    for (size_t i = 0; i < before; i += n)
        pool(r, &a->known, observed, seed, (uint32_t)(i / n) + 1, n, x + i * r->width);
    pool(r, &a->known, observed, seed, 0, known, r->x);
    pool(r, &a->attacked, observed, seed, 0, attacked, r->seen);
    for (size_t i = 0; i < before; i += n)
        memcpy(r->y - (before - i) * r->outputs, r->y, n * r->outputs * sizeof *r->y);
    standardize(r, before + known, x);
    const size_t tries = r->penalty > 0 ? 1 : sizeof PENALTIES / sizeof *PENALTIES;
    for (size_t k = 0; k < tries; k++) {
        const double l2 = tries == 1 ? r->penalty : PENALTIES[k];
        NVDP_TRY(nvdp__logistic_fit(a->ctx, before + n, r->width, x, r->outputs,
                                    r->y - before * r->outputs, r->softmax, l2, r->trial));
        nvdp__logistic_apply(held, r->width, r->x + n * r->width, r->outputs, r->trial, r->softmax,
                             r->p + n * r->outputs);
        const double loss = nvdp__logistic_loss(held, r->outputs, r->p + n * r->outputs,
                                                r->y + n * r->outputs, r->softmax);
        if (loss >= best && k > 0) continue;
        best = loss;
        memcpy(r->weight, r->trial, size * sizeof *r->weight);
        r->penalty = l2;
    }
    nvdp__logistic_apply(known, r->width, r->x, r->outputs, r->weight, r->softmax, r->p);
    nvdp__logistic_apply(attacked, r->width, r->seen, r->outputs, r->weight, r->softmax, r->guess);
    return NVDP_OK;
}

/* --- bag --- */

struct word {
    int32_t id;
    size_t texts;
};

/* Sets mark [vocabulary] to i + 1 for the distinct pieces of text i, and returns the number of these pieces.  i must
 * rise between calls. */
static size_t mark_pieces(const struct nvdp__text_attack *a, const struct nvdp_dataset *data,
                          size_t i, size_t *mark) {
    size_t found = 0;
    for (size_t r = data->offset[i]; r < data->offset[i + 1]; r++) {
        const int32_t id = data->ids[r];
        if (!nvdp__token_counts(a, id) || mark[id] == i + 1) continue;
        mark[id] = i + 1;
        found++;
    }
    return found;
}

/* Numbers of a text: right guesses, guesses, words. */
struct tally {
    double *hits, *guesses, *words;
};

/* Tallies texts [first, first + n) of `data`, whose words have probabilities p, at a threshold. */
static void count_words(const struct reader *r, const struct nvdp_dataset *data,
                        const struct word *word, size_t first, size_t n, const double *p,
                        double threshold, size_t *mark, const struct tally *out) {
    const struct nvdp_tokenizer *tokenizer = nvdp_model_tokenizer(r->attack->run.model);
    memset(mark, 0, nvdp_tokenizer_size(tokenizer) * sizeof *mark);
    for (size_t i = 0; i < n; i++) {
        const size_t text = first + i;
        out->words[i] = (double)mark_pieces(r->attack, data, text, mark);
        out->hits[i] = out->guesses[i] = 0;
        for (size_t k = 0; k < r->outputs; k++) {
            if (p[text * r->outputs + k] < threshold) continue;
            out->guesses[i]++;
            out->hits[i] += mark[word[k].id] == text + 1;
        }
    }
}

static double total(size_t n, const double *x) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* Returns the threshold with the best F1 on the held-out tenth of the public texts. */
static double best_threshold(const struct reader *r, const struct word *word, size_t *mark,
                             const struct tally *scratch) {
    const struct nvdp_dataset *known = r->attack->known.data;
    const size_t from = training_count(r), held = known->count - from;
    double best = -1, threshold = 0.5;
    for (int k = 1; k <= THRESHOLDS; k++) {
        const double here = k / (THRESHOLDS + 1.);
        count_words(r, known, word, from, held, r->p, here, mark, scratch);
        const double f1 = 2 * total(held, scratch->hits) /
                          (total(held, scratch->guesses) + total(held, scratch->words));
        if (f1 > best) threshold = here;
        best = fmax(best, f1);
    }
    return threshold;
}

/* Sorts word [vocabulary] by the number of public texts that have it, and sets r->outputs to the number of words to
 * guess. */
static nvdp_status choose_words(struct reader *r, size_t vocabulary, size_t *mark,
                                struct word *word) {
    const struct nvdp_dataset *known = r->attack->known.data;
    for (size_t i = 0; i < vocabulary; i++)
        word[i].id = (int32_t)i;
    for (size_t i = 0; i < known->count; i++) {
        mark_pieces(r->attack, known, i, mark);
        for (size_t k = known->offset[i]; k < known->offset[i + 1]; k++)
            if (mark[known->ids[k]] == i + 1) {
                word[known->ids[k]].texts++;
                mark[known->ids[k]] = SIZE_MAX; /* once per text */
            }
    }
    NVDP__SORT(word, vocabulary, NVDP__DOWN(struct word, texts), NVDP__UP(struct word, id));
    while (r->outputs < WORDS && r->outputs < vocabulary && word[r->outputs].texts >= MIN_TEXTS)
        r->outputs++;
    if (r->outputs > 0) return NVDP_OK;
    return nvdp__fail(r->attack->ctx, NVDP_ERR_INPUT,
                      "{public}: expected words that occur in at least %d texts, found none",
                      MIN_TEXTS);
}

static nvdp_status attack_bag(struct nvdp__text_attack *a) {
    const size_t vocabulary = nvdp_tokenizer_size(nvdp_model_tokenizer(a->run.model));
    const struct nvdp_dataset *known = a->known.data;
    const size_t n = a->attacked.data->count, most = nvdp__max(known->count, n);
    const size_t all = a->options->seeds * n;
    struct reader r = {.attack = a};
    struct word *word;
    size_t *mark;
    struct tally held, tally;
    double *twice, *sum; /* F1 = 2 hits / (guesses + words) */
    NVDP_TRY(NVDP__ATTACK_ARRAYS(a, NVDP__ITEMS(word, vocabulary), NVDP__ITEMS(mark, vocabulary),
                                 NVDP__ITEMS(held.hits, most), NVDP__ITEMS(held.guesses, most),
                                 NVDP__ITEMS(held.words, most), NVDP__ITEMS(tally.hits, all),
                                 NVDP__ITEMS(tally.guesses, all), NVDP__ITEMS(tally.words, all),
                                 NVDP__ITEMS(twice, all), NVDP__ITEMS(sum, all)));
    NVDP_TRY(choose_words(&r, vocabulary, mark, word));
    NVDP_TRY(reserve(&r));
    memset(mark, 0, vocabulary * sizeof *mark);
    for (size_t i = 0; i < known->count; i++) {
        mark_pieces(a, known, i, mark);
        for (size_t k = 0; k < r.outputs; k++)
            r.y[i * r.outputs + k] = mark[word[k].id] == i + 1;
    }
    for (int observed = 0; observed < NVDP__OBSERVEDS; observed++) {
        const size_t seeds = nvdp__draw_count(a, observed);
        r.penalty = 0;
        for (size_t s = 0; s < seeds; s++) {
            const size_t at = s * n;
            NVDP_TRY(learn(&r, observed, a->options->seed + s));
            count_words(&r, a->attacked.data, word, 0, n, r.guess,
                        best_threshold(&r, word, mark, &held), mark,
                        &(struct tally){tally.hits + at, tally.guesses + at, tally.words + at});
        }
        for (size_t i = 0; i < seeds * n; i++) {
            twice[i] = 2 * tally.hits[i];
            sum[i] = tally.guesses[i] + tally.words[i];
        }
        NVDP_TRY(nvdp__add_score(a, observed, NVDP__TEXT_METRIC_PRECISION, seeds, n, tally.hits,
                                 tally.guesses, 0));
        NVDP_TRY(nvdp__add_score(a, observed, NVDP__TEXT_METRIC_RECALL, seeds, n, tally.hits,
                                 tally.words, 0));
        NVDP_TRY(nvdp__add_score(a, observed, NVDP__TEXT_METRIC_F1, seeds, n, twice, sum, 0));
    }
    return NVDP_OK;
}

/* --- attribute --- */

static nvdp_status check_labels(struct nvdp__text_attack *a) {
    const struct nvdp_dataset *const data[] = {a->known.data, a->attacked.data};
    if (a->attacked.set->label != NULL)
        return nvdp__fail(a->ctx, NVDP_ERR_INPUT,
                          "%s: expected a file without labels, found one that states the labels of "
                          "its texts, so there is nothing to guess",
                          a->file.path);
    for (size_t c = 0; c < 2; c++) {
        const char *what = c == 0 ? "public" : "split";
        if (data[c]->label == NULL || data[c]->task->regression || data[c]->task->classes < 2)
            return nvdp__fail(a->ctx, NVDP_ERR_INPUT,
                              "%s: expected texts whose labels are classes, found none", what);
        for (size_t i = 0; i < data[c]->count; i++)
            if (!(data[c]->label[i] >= 0 && data[c]->label[i] < (float)data[0]->task->classes))
                return nvdp__fail(
                    a->ctx, NVDP_ERR_INPUT,
                    "%s: text %zu: expected one of the %d classes of the public texts, found %g",
                    what, i, data[0]->task->classes, (double)data[c]->label[i]);
    }
    return NVDP_OK;
}

/* Computes the area under the ROC curve for two classes. */
static nvdp_status area(struct nvdp__text_attack *a, const struct reader *r, double *scores,
                        unsigned char *positive, double *out) {
    const struct nvdp_dataset *data = a->attacked.data;
    struct nvdp__canary_audit audit = NVDP_RESULT(struct nvdp__canary_audit);
    for (size_t i = 0; i < data->count; i++) {
        scores[i] = r->guess[i * r->outputs + 1];
        positive[i] = data->label[i] == 1;
    }
    NVDP_TRY(nvdp__audit_canaries(a->ctx, data->count, scores, positive, 1, 0, 0, .95, &audit));
    *out = audit.auc;
    return NVDP_OK;
}

/* Bounds the accuracy: without samples the best guess is the most frequent class of the attacked texts. */
static void bound_label(struct nvdp__text_attack *a, const double *count, size_t classes) {
    const struct nvdp_posteriors *set = a->attacked.set;
    const double n = (double)a->attacked.data->count;
    double baseline = 0;
    for (size_t c = 0; c < classes; c++)
        baseline = fmax(baseline, count[c] / n);
    double bound = nvdp__guess_limit(set, baseline, a->options->releases);
    if (classes == 2 && !isnan(bound))
        bound = fmin(bound,
                     nvdp_guess_attribute(count[1] / n, set->clip_sequence, a->options->releases));
    nvdp__bound_score(a, baseline, bound);
}

/* Adds the mean area over all seeds, for texts of which `yes` are positive.  The variance of the area is the sum of the
 * variance over texts (Hanley & McNeil 1982) and the variance over seeds, of_seeds.  The area is the success of
 * guessing which of two texts of different classes is positive.  The joint means of two texts have norm at most C
 * sqrt(2), so nvdp_guess_bound() bounds the area. */
static nvdp_status add_area(struct nvdp__text_attack *a, int observed, double auc, double yes,
                            double of_seeds, size_t seeds) {
    const struct nvdp_posteriors *set = a->attacked.set;
    const size_t n = a->attacked.data->count;
    const double no = (double)n - yes, q = auc / (2 - auc), w = 2 * auc * auc / (1 + auc);
    const double of_texts =
        (auc * (1 - auc) + (yes - 1) * (q - auc * auc) + (no - 1) * (w - auc * auc)) / (yes * no);
    /* the number of disjoint pairs */
    const double off = auc == 0 || auc == 1 ? nvdp__unseen((size_t)fmin(yes, no))
                                            : nvdp__half_width(of_texts, n, of_seeds, seeds);
    NVDP_TRY(nvdp__add_value(a, observed, NVDP__TEXT_METRIC_AUC, auc, off, 0));
    if (observed == NVDP__OBSERVED_RELEASE)
        nvdp__bound_score(
            a, .5,
            isnan(nvdp__guess_limit(set, .5, 1))
                ? NAN
                : nvdp_guess_bound(.5, set->clip_sequence, 2 * a->options->releases, 0));
    return NVDP_OK;
}

static nvdp_status attack_attribute(struct nvdp__text_attack *a) {
    struct reader r = {.attack = a, .softmax = true};
    const struct nvdp_dataset *known = a->known.data, *attacked = a->attacked.data;
    const size_t n = attacked->count;
    double *hits, *of, *scores, *count; /* count: [outputs] texts per class */
    unsigned char *positive;
    NVDP_TRY(check_labels(a));
    r.outputs = (size_t)known->task->classes;
    NVDP_TRY(reserve(&r));
    NVDP_TRY(NVDP__ATTACK_ARRAYS(
        a, NVDP__ITEMS(count, r.outputs), NVDP__ITEMS(hits, a->options->seeds * n),
        NVDP__ITEMS(of, a->options->seeds * n), NVDP__ITEMS(scores, n), NVDP__ITEMS(positive, n)));
    for (size_t i = 0; i < known->count; i++)
        r.y[i * r.outputs + (size_t)known->label[i]] = 1;
    for (size_t i = 0; i < n; i++)
        count[(size_t)attacked->label[i]]++;
    const double yes = count[1];
    for (int observed = 0; observed < NVDP__OBSERVEDS; observed++) {
        const size_t seeds = nvdp__draw_count(a, observed);
        double auc = 0, square = 0;
        r.penalty = 0;
        for (size_t s = 0; s < seeds; s++) {
            NVDP_TRY(learn(&r, observed, a->options->seed + s));
            for (size_t i = 0; i < n; i++) {
                hits[s * n + i] =
                    nvdp__top(r.outputs, r.guess + i * r.outputs) == (size_t)attacked->label[i];
                of[s * n + i] = 1;
            }
            double found = 0;
            if (r.outputs == 2) NVDP_TRY(area(a, &r, scores, positive, &found));
            nvdp__welford(s + 1, found, &auc, &square);
        }
        NVDP_TRY(nvdp__add_score(a, observed, NVDP__TEXT_METRIC_ACCURACY, seeds, n, hits, of, 0));
        if (observed == NVDP__OBSERVED_RELEASE) bound_label(a, count, r.outputs);
        if (r.outputs != 2 || yes == 0 || yes == (double)n) continue;
        NVDP_TRY(add_area(a, observed, auc, yes,
                          seeds > 1 ? square / (double)(seeds * (seeds - 1)) : 0, seeds));
    }
    return NVDP_OK;
}

static const char *const options[] = {NVDP__LEARNER_OPTIONS, "releases", NULL};

const struct nvdp__attack nvdp__attack_row_bag = {
    .learn = attack_bag, .options = options, NVDP__LEARNER};

const struct nvdp__attack nvdp__attack_row_attribute = {
    .learn = attack_attribute, .options = options, NVDP__LEARNER};
