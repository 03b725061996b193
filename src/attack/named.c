/* Shared by the attackers that name the token of each vector: the tokens that can be named, and the counts of right
 * names. The order: tokens, counts, best guesses without samples, scores. */
#include "attack/texts.h"
#include "base/random.h"
#include "rdp/likelihood.h"
#include "rdp/pairs.h"
#include "share/sampler.h"

#include <math.h>
#include <stdlib.h>

enum { TOP = 10, RARE = 10, HELD_OUT = 10, MAX_HELD = 200, BOUNDED = 5, SHRINK = 10 };

void nvdp__tokens_release(struct nvdp__tokens *t) {
    free(t->place);
    free(t->id);
    free(t->named);
    free(t->there);
    free(t->times);
    free(t->lift);
}

bool nvdp__token_counts(const struct nvdp__text_attack *a, int32_t id) {
    const struct nvdp_tokenizer *tokenizer = nvdp_model_tokenizer(a->run.model);
    return id != nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_CLS) &&
           id != nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP);
}

size_t nvdp__known_labels(const struct nvdp__text_attack *a) {
    const struct nvdp_task *task = a->known.data->task;
    return a->attacked.set->label != NULL && a->known.set->label != NULL && !task->regression &&
                   task->classes > 1
               ? (size_t)task->classes
               : 0;
}

size_t nvdp__known_label(const struct nvdp__texts *corpus, size_t i, size_t labels) {
    const float label = labels > 0 ? corpus->set->label[i] : NAN;
    return label >= 0 && label < (float)labels ? (size_t)label : SIZE_MAX; /* NaN: no label */
}

const double *nvdp__tokens_lift(const struct nvdp__tokens *t, const struct nvdp__texts *corpus,
                                size_t i) {
    const size_t label = nvdp__known_label(corpus, i, t->labels);
    return label < t->labels ? t->lift + label * t->count : NULL;
}

void nvdp__label_lift(size_t labels, size_t count, const double *times, double *lift) {
    double all = 0;
    for (size_t k = 0; k < labels * count; k++)
        all += lift[k];
    for (size_t label = 0; label < labels; label++) {
        double *of = lift + label * count, share = 0;
        for (size_t k = 0; k < count; k++)
            share += of[k] / all;
        for (size_t k = 0; k < count; k++)
            of[k] = share > 0 ? log((of[k] + SHRINK * share) / ((times[k] + SHRINK) * share)) : 0;
    }
}

static nvdp_status learn_lift(const struct nvdp__text_attack *a, struct nvdp__tokens *t) {
    const struct nvdp_dataset *data = a->known.data;
    t->labels = nvdp__known_labels(a);
    if (t->labels == 0) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(a->ctx, t->lift, t->labels * t->count));
    for (size_t i = 0; i < t->texts; i++) {
        const size_t label = nvdp__known_label(&a->known, i, t->labels);
        for (size_t r = data->offset[i]; label < t->labels && r < data->offset[i + 1]; r++) {
            const size_t place = t->place[data->ids[r]];
            if (place > 0) t->lift[label * t->count + place - 1]++;
        }
    }
    nvdp__label_lift(t->labels, t->count, t->times, t->lift);
    return NVDP_OK;
}

nvdp_status nvdp__tokens_count(struct nvdp__text_attack *a, const char *attacker,
                               struct nvdp__tokens *t) {
    const struct nvdp_dataset *data = a->known.data;
    const size_t vocabulary = nvdp_tokenizer_size(nvdp_model_tokenizer(a->run.model));
    if (nvdp__model_form(a->run.model).single)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "attack %s: expected a method with one vector per token, found %s, which "
                          "has one vector per text",
                          attacker, a->attacked.set->method);
    t->texts = data->count - nvdp__min(data->count / HELD_OUT, MAX_HELD);
    const size_t rows = data->offset[t->texts];
    t->stamp = 1;
    NVDP_TRY(NVDP__NEW(a->ctx, t->place, vocabulary));
    NVDP_TRY(NVDP__NEW(a->ctx, t->id, vocabulary));
    NVDP_TRY(NVDP__NEW(a->ctx, t->named, vocabulary));
    NVDP_TRY(NVDP__NEW(a->ctx, t->there, vocabulary));
    NVDP_TRY(NVDP__NEW(a->ctx, t->times, vocabulary));
    for (size_t r = 0; r < rows; r++) {
        const int32_t id = data->ids[r];
        if (!nvdp__token_counts(a, id)) continue;
        if (t->place[id] == 0) {
            t->id[t->count] = id;
            t->place[id] = ++t->count;
        }
        t->times[t->place[id] - 1]++;
    }
    return learn_lift(a, t);
}

double nvdp__tokens_frequency(const struct nvdp__tokens *t, double *log_f) {
    double all = 0;
    for (size_t k = 0; k < t->count; k++)
        all += t->times[k];
    for (size_t k = 0; k < t->count; k++)
        log_f[k] = log(t->times[k] / all);
    return all;
}

/* The counts per text. */
enum {
    FIRST,
    AMONG_TEN,
    TOKENS,
    RARE_FIRST,
    RARE_TEN,
    RARE_TOKENS,
    WHOLE,
    TEXTS,
    RIGHT,
    NAMED,
    WORDS,
    TWICE,
    BOTH
};
_Static_assert(BOTH + 1 == NVDP__GUESS_COUNTS, "one array each");

nvdp_status nvdp__correct_create(struct nvdp_context *ctx, size_t texts,
                                 struct nvdp__correct *hits) {
    NVDP_TRY(NVDP__NEW(ctx, hits->of[0], NVDP__GUESS_COUNTS * texts));
    for (size_t c = 1; c < NVDP__GUESS_COUNTS; c++)
        hits->of[c] = hits->of[0] + c * texts;
    return NVDP_OK;
}

void nvdp__correct_clear(size_t texts, const struct nvdp__correct *hits) {
    memset(hits->of[0], 0, NVDP__GUESS_COUNTS * texts * sizeof *hits->of[0]);
}

double nvdp__correct_first(const struct nvdp__correct *hits, size_t text) {
    return hits->of[FIRST][text];
}

static bool is_rare(const struct nvdp__tokens *t, int32_t id) {
    return t->place[id] == 0 || t->times[t->place[id] - 1] < RARE;
}

void nvdp__count_guess(struct nvdp__tokens *t, size_t text, int32_t id, const double *score,
                       const struct nvdp__correct *hits) {
    const size_t place = t->place[id];
    const bool rare = is_rare(t, id);
    size_t above = 0, top = 0;
    for (size_t k = 0; k < t->count; k++) {
        above += place > 0 && nvdp__goes_before(score[k], k, score[place - 1], place - 1);
        if (score[k] > score[top]) top = k;
    }
    hits->of[TOKENS][text]++;
    hits->of[FIRST][text] += place > 0 && above == 0;
    hits->of[AMONG_TEN][text] += place > 0 && above < TOP;
    hits->of[RARE_TOKENS][text] += rare;
    hits->of[RARE_FIRST][text] += rare && place > 0 && above == 0;
    hits->of[RARE_TEN][text] += rare && place > 0 && above < TOP;
    hits->of[NAMED][text] += t->named[t->id[top]] != t->stamp;
    t->named[t->id[top]] = t->stamp;
}

void nvdp__count_guessed_set(struct nvdp__tokens *t, const struct nvdp__text_attack *a,
                             const struct nvdp_dataset *data, size_t i, size_t text,
                             const struct nvdp__correct *hits) {
    for (size_t r = data->offset[i]; r < data->offset[i + 1]; r++) {
        const int32_t id = data->ids[r];
        if (!nvdp__token_counts(a, id) || t->there[id] == t->stamp) continue;
        t->there[id] = t->stamp;
        hits->of[WORDS][text]++;
        hits->of[RIGHT][text] += t->named[id] == t->stamp;
    }
    hits->of[TEXTS][text] = hits->of[TOKENS][text] > 0;
    hits->of[WHOLE][text] =
        hits->of[TEXTS][text] > 0 && hits->of[FIRST][text] == hits->of[TOKENS][text];
    t->stamp++;
}

/* --- the best guesses without samples --- */

/* The id of a token with its place, and the length and label of its text; or the key of a whole text, with place 0. */
struct spot {
    size_t length, label, place;
    int64_t key;
    bool rare;
};

static int by_spot(const void *x, const void *y) {
    const struct spot *a = x, *b = y;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    if (a->label != b->label) return a->label < b->label ? -1 : 1;
    if (a->place != b->place) return a->place < b->place ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key);
}

/* Sums the counts of the `top` most frequent keys over all lengths, labels and places.  The spots are sorted; with `rare`,
 * only rare tokens count.  Scratch: times [n]. */
static double most_frequent(size_t n, const struct spot *spot, bool rare, size_t top,
                            double *times) {
    double sum = 0;
    for (size_t i = 0, end; i < n; i = end) {
        size_t keys = 0;
        for (end = i; end < n && spot[end].length == spot[i].length &&
                      spot[end].label == spot[i].label && spot[end].place == spot[i].place;
             end++) {
            if (end == i || spot[end].key != spot[end - 1].key) times[keys++] = 0;
            times[keys - 1] += !rare || spot[end].rare;
        }
        qsort(times, keys, sizeof *times, nvdp__by_double); /* ascending */
        for (size_t k = 0; k < nvdp__min(top, keys); k++)
            sum += times[keys - 1 - k];
    }
    return sum;
}

/* Computes the success of the best guesses without samples, share [BOUNDED], in the order of the first scores below.
 * Attackers know the length of each text, the place of each token, and the label that the file states.  With this side
 * information the best guess is the most frequent token (ten tokens, whole text) among the attacked ones that have the
 * same. */
static nvdp_status best_guesses(struct nvdp__text_attack *a, const struct nvdp__tokens *t,
                                double *share) {
    const struct nvdp_dataset *data = a->attacked.data;
    const size_t rows = data->offset[data->count];
    nvdp__autofree struct spot *spot = NULL;
    nvdp__autofree double *times = NULL;
    double rare = 0;
    size_t n = 0, texts = 0, labels; /* [texts] */
    nvdp__autofree size_t *label = NULL;
    NVDP_TRY(NVDP__NEW(a->ctx, label, data->count));
    if (a->attacked.set->label != NULL)
        NVDP_TRY(nvdp__label_groups(a->ctx, data->count, a->attacked.set->label, label, &labels));
    NVDP_TRY(NVDP__NEW(a->ctx, spot, rows));
    NVDP_TRY(NVDP__NEW(a->ctx, times, rows));
    for (size_t i = 0; i < data->count; i++)
        for (size_t r = data->offset[i]; r < data->offset[i + 1]; r++) {
            const int32_t id = data->ids[r];
            if (!nvdp__token_counts(a, id)) continue;
            spot[n++] = (struct spot){data->offset[i + 1] - data->offset[i], label[i],
                                      r - data->offset[i], id, is_rare(t, id)};
            rare += is_rare(t, id);
        }
    qsort(spot, n, sizeof *spot, by_spot);
    share[0] = most_frequent(n, spot, false, 1, times) / (double)n;
    share[1] = most_frequent(n, spot, false, TOP, times) / (double)n;
    share[2] = most_frequent(n, spot, true, 1, times) / rare;
    share[3] = most_frequent(n, spot, true, TOP, times) / rare;
    for (size_t i = 0; i < data->count; i++) {
        uint64_t key = NVDP__FNV1A;
        bool any = false;
        for (size_t r = data->offset[i]; r < data->offset[i + 1]; r++) {
            key = nvdp__fnv1a(key, (uint64_t)data->ids[r]);
            any |= nvdp__token_counts(a, data->ids[r]);
        }
        if (any)
            spot[texts++] = (struct spot){data->offset[i + 1] - data->offset[i], label[i], 0,
                                          (int64_t)key, false};
    }
    qsort(spot, texts, sizeof *spot, by_spot);
    share[4] = most_frequent(texts, spot, false, 1, times) / (double)texts;
    return NVDP_OK;
}

nvdp_status nvdp__add_hits(struct nvdp__text_attack *a, enum nvdp__observed observed, size_t seeds,
                           const struct nvdp__tokens *t, const struct nvdp__correct *hits) {
    static const struct {
        enum nvdp_text_metric metric;
        int hits, of;
    } score[] = {{NVDP_TEXT_METRIC_FIRST, FIRST,
                  TOKENS}, /* the first BOUNDED are successes of guesses that are always made */
                 {NVDP_TEXT_METRIC_AMONG_TEN, AMONG_TEN, TOKENS},
                 {NVDP_TEXT_METRIC_RARE_FIRST, RARE_FIRST, RARE_TOKENS},
                 {NVDP_TEXT_METRIC_RARE_AMONG_TEN, RARE_TEN, RARE_TOKENS},
                 {NVDP_TEXT_METRIC_WHOLE_TEXT, WHOLE, TEXTS},
                 {NVDP_TEXT_METRIC_SET_PRECISION, RIGHT, NAMED},
                 {NVDP_TEXT_METRIC_SET_RECALL, RIGHT, WORDS},
                 {NVDP_TEXT_METRIC_SET_F1, TWICE, BOTH}};
    const size_t n = a->attacked.data->count;
    double best[BOUNDED];
    if (observed == NVDP__OBSERVED_RELEASE) NVDP_TRY(best_guesses(a, t, best));
    for (size_t i = 0; i < seeds * n; i++) {
        hits->of[TWICE][i] = 2 * hits->of[RIGHT][i];
        hits->of[BOTH][i] = hits->of[NAMED][i] + hits->of[WORDS][i];
    }
    for (size_t k = 0; k < sizeof score / sizeof *score; k++) {
        NVDP_TRY(nvdp__add_score(a, observed, score[k].metric, seeds, n, hits->of[score[k].hits],
                                 hits->of[score[k].of], 0));
        if (observed == NVDP__OBSERVED_RELEASE && k < BOUNDED && !isnan(best[k]))
            nvdp__bound_score(a, best[k],
                              nvdp__guess_limit(a->attacked.set, best[k], a->options->releases));
    }
    return NVDP_OK;
}

nvdp_status nvdp__add_gain(struct nvdp__text_attack *a, enum nvdp__observed observed, size_t seeds,
                           const struct nvdp__correct *hits, const struct nvdp__correct *nearest) {
    static const struct {
        enum nvdp_text_metric metric, gain;
        int hits, of;
    } score[] = {
        {NVDP_TEXT_METRIC_NEAREST_FIRST, NVDP_TEXT_METRIC_FIRST_OVER_NEAREST, FIRST, TOKENS},
        {NVDP_TEXT_METRIC_NEAREST_RARE_FIRST, NVDP_TEXT_METRIC_RARE_OVER_NEAREST, RARE_FIRST,
         RARE_TOKENS},
        {NVDP_TEXT_METRIC_NEAREST_WHOLE_TEXT, NVDP_TEXT_METRIC_WHOLE_OVER_NEAREST, WHOLE, TEXTS}};
    const size_t n = a->attacked.data->count;
    for (size_t k = 0; k < sizeof score / sizeof *score; k++) {
        double *more = hits->of[score[k].hits], *of = nearest->of[score[k].of];
        NVDP_TRY(nvdp__add_score(a, observed, score[k].metric, seeds, n, nearest->of[score[k].hits],
                                 of, 0));
        for (size_t i = 0; i < seeds * n; i++)
            more[i] -= nearest->of[score[k].hits][i];
        NVDP_TRY(nvdp__add_score(a, observed, score[k].gain, seeds, n, more, of, -1));
    }
    return NVDP_OK;
}
