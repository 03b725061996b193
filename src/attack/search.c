/* Searches for the likeliest text under scores of each token at each place and a language model that predicts one
 * place from all others.  Such a masked model has no order to follow.
 *
 * The search starts with the best token at each place and sweeps over the places repeatedly (iterated conditional
 * modes: Besag 1986; for masked language models: Wang & Cho 2019), but keeps the best few texts instead of one.  A
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
static const double DECIDED = 20; /* nats ahead of all other tokens: the model is not asked */

struct candidate { /* a candidate text */
    int32_t *id;
    double score; /* relative to the other candidates */
};

struct beam {
    struct candidate *all, *best,
        *next; /* [2 beam] both halves: the present candidates, best first, and the next ones */
    size_t count;
    int32_t *memory;      /* of the ids */
    int32_t *before;      /* [n] the best candidate before this sweep */
    unsigned char *asked; /* [n] */
    size_t *as,
        *question; /* [beam] the first candidate that equals each one except at this place; its question */
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
};

static void release(struct search *s) {
    for (size_t i = 0; i < s->texts && s->beam != NULL; i++) {
        free(s->beam[i].all);
        free(s->beam[i].memory);
        free(s->beam[i].before);
        free(s->beam[i].asked);
        free(s->beam[i].as);
    }
    free(s->beam);
    free(s->question);
    free(s->log_p);
    free(s->pick);
}

static size_t top_of(size_t count, const double *score) {
    size_t top = 0;
    for (size_t k = 1; k < count; k++)
        if (score[k] > score[top]) top = k;
    return top;
}

/* Takes the best token at each place alone. */
static nvdp_status begin(struct search *s, size_t i) {
    const struct nvdp__found_text *text = &s->text[i];
    struct beam *b = &s->beam[i];
    const size_t n = text->n, count = s->language->count;
    NVDP_TRY(NVDP__NEW(s->ctx, b->all, 2 * s->width));
    NVDP_TRY(NVDP__NEW(s->ctx, b->memory, 2 * s->width * n));
    for (size_t k = 0; k < 2 * s->width; k++)
        b->all[k].id = b->memory + k * n;
    b->best = b->all;
    b->next = b->all + s->width;
    NVDP_TRY(NVDP__NEW(s->ctx, b->before, n));
    NVDP_TRY(NVDP__NEW(s->ctx, b->asked, n));
    NVDP_TRY(NVDP__NEW(s->ctx, b->as, 2 * s->width));
    b->question = b->as + s->width;
    b->count = 1;
    b->done = s->weight == 0;
    for (size_t j = 0; j < n; j++) {
        const double *score = text->score + j * count;
        if (text->open[j]) {
            const size_t top = top_of(count, score);
            for (size_t k = 0; k < count; k++)
                b->asked[j] |= k != top && score[k] > score[top] - DECIDED;
            text->id[j] = s->token[top];
        }
        b->best[0].id[j] = text->id[j];
    }
    return NVDP_OK;
}

static nvdp_status ask(struct search *s, size_t n) {
    if (nvdp_context_cancelled(s->ctx))
        return nvdp__fail(s->ctx, NVDP_ERR_CANCELLED, "attack: cancelled");
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
    double **row = NULL;
    nvdp_status status = NVDP__NEW(s->ctx, row, s->language->together);
    for (size_t i = 0; i <= s->texts && status == NVDP_OK; i++) {
        const bool end = i == s->texts;
        for (size_t j = 0; j < (end ? 1 : s->text[i].n) && status == NVDP_OK; j++) {
            if (n == s->language->together || end) {
                status = ask(s, n);
                for (size_t q = 0; q < n && status == NVDP_OK; q++)
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
    free((void *)row);
    return status;
}

nvdp_status nvdp__find_texts(struct nvdp_context *ctx, const struct nvdp__language *language,
                             const int32_t *token, double weight, size_t beam, size_t texts,
                             const struct nvdp__found_text *text) {
    nvdp__auto(release) struct search s = {.ctx = ctx,
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
    NVDP_TRY(NVDP__NEW(ctx, s.beam, texts));
    NVDP_TRY(NVDP__NEW(ctx, s.pick, beam));
    NVDP_TRY(NVDP__NEW(ctx, s.question, language->together + 1));
    NVDP_TRY(NVDP__NEW(ctx, s.log_p, (language->together + 1) * language->count));
    for (size_t i = 0; i < texts; i++)
        NVDP_TRY(begin(&s, i));
    for (size_t k = 0; k < SWEEPS && weight != 0; k++)
        NVDP_TRY(sweep(&s, longest));
    for (size_t i = 0; i < texts; i++)
        memcpy(text[i].id, s.beam[i].best[0].id, text[i].n * sizeof *text[i].id);
    if (asks) NVDP_TRY(finish(&s));
    return NVDP_OK;
}
