/* Asks a masked language model for words (language.h), and makes a prior of the answers. */
#include "attack/language.h"
#include "base/array.h"
#include "pretrain/corpus.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

nvdp_status nvdp__questions_open(struct nvdp_context *ctx, const char *directory,
                                 struct nvdp__questions *q) {
    q->ctx = ctx;
    NVDP_TRY(nvdp__mlm_open(ctx, directory, false, &q->bert, &q->tokenizer, &q->model));
    q->unknown = nvdp_tokenizer_special(q->tokenizer, NVDP_TOKEN_UNK);
    return NVDP_OK;
}

nvdp_status nvdp__questions_plan(struct nvdp__questions *q, size_t length) {
    q->length = length;
    NVDP_TRY(nvdp__mlm_check_length(q->ctx, &q->bert, length));
    NVDP_TRY(nvdp__batch_create(q->ctx, NVDP__QUESTIONS, length, &q->batch));
    NVDP_TRY(nvdp__masked_create(q->ctx, NVDP__QUESTIONS, &q->masked));
    NVDP_TRY(nvdp__pretrain_model_plan(&q->model, NVDP__QUESTIONS, length, NVDP__QUESTIONS, NULL));
    q->together = nvdp__min(q->model.heads.block, NVDP__QUESTIONS);
    nvdp__questions_clear(q);
    return NVDP_OK;
}

void nvdp__questions_release(struct nvdp__questions *q) {
    if (q->model.ctx != NULL) nvdp__pretrain_model_release(&q->model);
    nvdp__batch_free(q->batch);
    nvdp__masked_release(&q->masked);
    nvdp_tokenizer_free(q->tokenizer);
    nvdp_tokens_free(&q->pieces);
    *q = (struct nvdp__questions){0};
}

nvdp_status nvdp__questions_read(struct nvdp__questions *q, const char *word, bool continues,
                                 int32_t *whole, size_t *n, const int32_t **id) {
    *whole = nvdp_tokenizer_find(q->tokenizer, word);
    *id = *whole >= 0 ? whole : &q->unknown;
    *n = 1;
    if (*whole >= 0) return NVDP_OK;
    if (continues && strncmp(word, "##", 2) == 0) word += 2;
    NVDP_TRY(
        nvdp_tokenizer_encode(q->tokenizer, word, strlen(word), NULL, 0, q->length, &q->pieces));
    if (q->pieces.count <= NVDP__QUESTION_ENDS) return NVDP_OK;
    *id = q->pieces.ids + 1;
    *n = q->pieces.count - NVDP__QUESTION_ENDS;
    return NVDP_OK;
}

void nvdp__question_begin(struct nvdp__questions *q) {
    nvdp__batch_put(q->batch, nvdp_tokenizer_special(q->tokenizer, NVDP_TOKEN_CLS));
}

void nvdp__question_put(struct nvdp__questions *q, size_t n, const int32_t *piece) {
    for (size_t k = 0; k < n; k++)
        nvdp__batch_put(q->batch, piece[k]);
}

void nvdp__question_mask(struct nvdp__questions *q, int32_t label) {
    q->masked.row[q->masked.count] = (int32_t)q->batch->tokens;
    q->masked.label[q->masked.count++] = label;
    nvdp__batch_put(q->batch, nvdp_tokenizer_special(q->tokenizer, NVDP_TOKEN_MASK));
}

void nvdp__question_end(struct nvdp__questions *q) {
    nvdp__batch_put(q->batch, nvdp_tokenizer_special(q->tokenizer, NVDP_TOKEN_SEP));
    nvdp__batch_end(q->batch, q->batch->texts);
}

nvdp_status nvdp__questions_ask(struct nvdp__questions *q) {
    static const struct nvdp__pass pass = {.training = false};
    struct nvdp__pretrain_losses losses;
    if (q->batch->texts == 0) return NVDP_OK;
    return nvdp__pretrain_model_step(&q->model, q->batch, &q->masked, &pass, &losses);
}

void nvdp__questions_clear(struct nvdp__questions *q) {
    q->masked.count = 0;
    nvdp__batch_clear(q->batch);
}

/* ---- a prior of texts ---- */

/* Uses a pretrained masked language model as the prior of texts, for language.c: p(token | the others), over the
 * tokens of the public texts.
 *
 * The model may have another vocabulary than the run.  It reads a token as the equal piece of this vocabulary, or as
 * the pieces of the token's word, and answers with one piece.  Tokens that are no piece of the vocabulary get their
 * frequency in the public texts.  A text that is longer than the model's limit is split. */

enum { LONGEST = 128 };

struct nvdp__masked_lm {
    struct nvdp_context *ctx;
    const struct nvdp_tokenizer *run;
    const struct nvdp__tokens *known;
    struct nvdp__questions asks;
    int32_t *one;   /* [count] the equal piece; -1 if there is none */
    double *rest;   /* [count] log p of a token without a piece */
    double share;   /* log p that a token has a piece */
    size_t *start;  /* [count + 1] */
    int32_t *piece; /* [start[count]] the pieces to read */
    size_t capacity;
    struct nvdp__memory memory;
};

void nvdp__masked_lm_free(struct nvdp__masked_lm *m) {
    if (m == NULL) return;
    nvdp__questions_release(&m->asks);
    nvdp__memory_release(&m->memory);
    free(m->piece);
    free(m);
}

/* --- questions --- */

/* Returns the *n pieces that stand for a token of a text. */
static const int32_t *token_pieces(const struct nvdp__masked_lm *m, int32_t id, size_t *n,
                                   int32_t *special) {
    const size_t place = m->known->place[id];
    *n = 1;
    *special = nvdp_tokenizer_special(
        m->asks.tokenizer,
        id == nvdp_tokenizer_special(m->run, NVDP_TOKEN_CLS) ? NVDP_TOKEN_CLS : NVDP_TOKEN_SEP);
    if (place == 0) return special;
    *n = m->start[place] - m->start[place - 1];
    return m->piece + m->start[place - 1];
}

/* Adds [CLS], as much of the text around the place as fits, [SEP]. */
static void add(struct nvdp__masked_lm *m, const struct nvdp__question *q) {
    size_t from = q->which, end = q->which + 1, room = m->asks.length - NVDP__QUESTION_ENDS - 1, n;
    const size_t last = q->n - 1; /* [CLS] and [SEP] are at the ends */
    bool before = true, behind = true;
    int32_t special;
    while (before || behind) {
        if ((before = before && from > 1)) {
            token_pieces(m, q->id[from - 1], &n, &special);
            if ((before = n <= room)) from--, room -= n;
        }
        if ((behind = behind && end < last)) {
            token_pieces(m, q->id[end], &n, &special);
            if ((behind = n <= room)) end++, room -= n;
        }
    }
    nvdp__question_begin(&m->asks);
    for (size_t i = from; i < end; i++) {
        const int32_t *piece = token_pieces(m, q->id[i], &n, &special);
        if (i == q->which)
            nvdp__question_mask(&m->asks, 0); /* the label is not used */
        else
            nvdp__question_put(&m->asks, n, piece);
    }
    nvdp__question_end(&m->asks);
}

static nvdp_status ask(void *of, size_t n, const struct nvdp__question *question, double *log_p) {
    struct nvdp__masked_lm *m = of;
    const size_t count = m->known->count, pieces = nvdp_tokenizer_size(m->asks.tokenizer);
    nvdp__questions_clear(&m->asks);
    for (size_t i = 0; i < n; i++)
        add(m, &question[i]);
    NVDP_TRY(nvdp__questions_ask(&m->asks));
    for (size_t i = 0; i < n; i++) {
        const float *weight = m->asks.model.heads.logits + i * pieces;
        double sum = 0;
        for (size_t k = 0; k < count; k++)
            sum += m->one[k] >= 0 ? (double)weight[m->one[k]] : 0;
        const double less = m->share - log(fmax(sum, (double)FLT_MIN));
        for (size_t k = 0; k < count; k++)
            log_p[i * count + k] =
                m->one[k] >= 0 ? log(fmax((double)weight[m->one[k]], (double)FLT_MIN)) + less
                               : m->rest[k];
    }
    return NVDP_OK;
}

/* --- opening --- */

nvdp_status nvdp__masked_lm_open(struct nvdp__text_attack *attack, const char *directory,
                                 const struct nvdp__tokens *known, struct nvdp__masked_lm **out,
                                 struct nvdp__language *language) {
    nvdp__autoptr(nvdp__masked_lm_free) struct nvdp__masked_lm *made = NULL;
    double without = 0; /* number of occurrences of tokens that have no word piece */
    NVDP_TRY(NVDP__NEW(attack->ctx, made, 1));
    made->ctx = attack->ctx;
    made->run = nvdp_model_tokenizer(attack->run.model);
    made->known = known;
    NVDP_TRY(nvdp__wordpiece_only(made->ctx, made->run));
    NVDP_TRY(nvdp__questions_open(made->ctx, directory, &made->asks));
    NVDP_TRY(nvdp__questions_plan(&made->asks,
                                  nvdp__min(made->asks.bert.max_position_embeddings, LONGEST)));
    /* the tokens as pieces of the model */
    NVDP_TRY(NVDP__ARRAYS(made->ctx, &made->memory, NVDP__ITEMS(made->one, known->count),
                          NVDP__ITEMS(made->rest, known->count),
                          NVDP__ITEMS(made->start, known->count + 1)));
    for (size_t k = 0; k < known->count; k++) {
        const char *token = nvdp_tokenizer_piece(made->run, known->id[k]);
        const int32_t *id;
        size_t n;
        NVDP_TRY(nvdp__questions_read(&made->asks, token, true, &made->one[k], &n, &id));
        NVDP_TRY(nvdp__reserve(made->ctx, &made->piece, &made->capacity, made->start[k] + n,
                               sizeof *made->piece));
        memcpy(made->piece + made->start[k], id, n * sizeof *id);
        made->start[k + 1] = made->start[k] + n;
        if (made->one[k] < 0) without += known->times[k];
    }
    made->share = log1p(-without / nvdp__log_frequency(known->count, known->times, made->rest));
    *language = (struct nvdp__language){
        .together = made->asks.together, .count = known->count, .ask = ask, .of = made};
    return NVDP__HAND_OVER(out, made);
}
