/* Uses a pretrained masked language model as the prior of texts, for language.c: p(token | the others), over the
 * tokens of the public texts.
 *
 * The model may have its own vocabulary.  It reads a token as its piece there, or as the pieces of its word, and
 * answers with the piece.  Tokens that are not a piece of the vocabulary get their frequency in the public texts.  A
 * text that is longer than the model's limit is asked in parts. */
#include "attack/language.h"
#include "pretrain/corpus.h"
#include "pretrain/evaluate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { TOGETHER = 64, LONGEST = 128, SPECIALS = 2 };

struct nvdp__masked_lm {
    struct nvdp_context *ctx;
    const struct nvdp_tokenizer *run;
    const struct nvdp__tokens *known;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__pretrain_model model;
    size_t vocabulary, length; /* max. tokens at once, including special tokens */
    struct nvdp__batch *batch;
    struct nvdp__masked masked;
    int32_t *one;   /* [count] the piece; -1: none */
    double *rest;   /* [count] log p of a token without a piece */
    double share;   /* log p that a token has a piece */
    size_t *start;  /* [count + 1] */
    int32_t *piece; /* [start[count]] the pieces to read */
    size_t capacity;
    struct nvdp_tokens pieces; /* of a word */
};

void nvdp__masked_lm_free(struct nvdp__masked_lm *m) {
    if (m == NULL) return;
    if (m->model.ctx != NULL) nvdp__pretrain_model_release(&m->model);
    nvdp__batch_free(m->batch);
    nvdp__masked_release(&m->masked);
    nvdp_tokenizer_free(m->tokenizer);
    nvdp_tokens_free(&m->pieces);
    free(m->one);
    free(m->rest);
    free(m->start);
    free(m->piece);
    free(m);
}

/* --- tokens as pieces of the model --- */

static nvdp_status read_token(struct nvdp__masked_lm *m, size_t k) {
    const char *word = nvdp_tokenizer_piece(m->run, m->known->id[k]);
    const size_t at = m->start[k];
    const int32_t unknown = nvdp_tokenizer_special(m->tokenizer, NVDP_TOKEN_UNK), *id = &m->one[k];
    size_t n = 1;
    m->one[k] = nvdp_tokenizer_find(m->tokenizer, word);
    if (m->one[k] < 0) {
        if (strncmp(word, "##", 2) == 0) word += 2;
        NVDP_TRY(nvdp_tokenizer_encode(m->tokenizer, word, strlen(word), NULL, 0, m->length,
                                       &m->pieces));
        const bool any = m->pieces.count > SPECIALS;
        id = any ? m->pieces.ids + 1 : &unknown;
        n = any ? m->pieces.count - SPECIALS : 1;
    }
    NVDP_TRY(nvdp__reserve(m->ctx, &m->piece, &m->capacity, at + n, sizeof *m->piece));
    memcpy(m->piece + at, id, n * sizeof *id);
    m->start[k + 1] = at + n;
    return NVDP_OK;
}

static nvdp_status read_tokens(struct nvdp__masked_lm *m) {
    const size_t count = m->known->count;
    double without = 0;
    NVDP_TRY(NVDP__NEW(m->ctx, m->one, count));
    NVDP_TRY(NVDP__NEW(m->ctx, m->rest, count));
    NVDP_TRY(NVDP__NEW(m->ctx, m->start, count + 1));
    for (size_t k = 0; k < count; k++) {
        NVDP_TRY(read_token(m, k));
        if (m->one[k] < 0) without += m->known->times[k];
    }
    m->share = log1p(-without / nvdp__tokens_frequency(m->known, m->rest));
    return NVDP_OK;
}

/* --- questions --- */

/* Returns the *n pieces that stand for a token of a text. */
static const int32_t *pieces_of(const struct nvdp__masked_lm *m, int32_t id, size_t *n,
                                int32_t *special) {
    const size_t place = m->known->place[id];
    *n = 1;
    *special = nvdp_tokenizer_special(
        m->tokenizer,
        id == nvdp_tokenizer_special(m->run, NVDP_TOKEN_CLS) ? NVDP_TOKEN_CLS : NVDP_TOKEN_SEP);
    if (place == 0) return special;
    *n = m->start[place] - m->start[place - 1];
    return m->piece + m->start[place - 1];
}

/* Adds [CLS], as much of the text around the place as fits, [SEP]. */
static void add(struct nvdp__masked_lm *m, const struct nvdp__question *q) {
    size_t from = q->which, end = q->which + 1, room = m->length - SPECIALS - 1, n;
    const size_t last = q->n - 1; /* [CLS] and [SEP] are at the ends */
    bool before = true, behind = true;
    int32_t special;
    while (before || behind) {
        if ((before = before && from > 1)) {
            pieces_of(m, q->id[from - 1], &n, &special);
            if ((before = n <= room)) from--, room -= n;
        }
        if ((behind = behind && end < last)) {
            pieces_of(m, q->id[end], &n, &special);
            if ((behind = n <= room)) end++, room -= n;
        }
    }
    nvdp__batch_put(m->batch, nvdp_tokenizer_special(m->tokenizer, NVDP_TOKEN_CLS));
    for (size_t i = from; i < end; i++) {
        const int32_t *piece = pieces_of(m, q->id[i], &n, &special);
        if (i == q->which) {
            m->masked.row[m->masked.count] = (int32_t)m->batch->tokens;
            m->masked.label[m->masked.count++] = 0; /* unused */
            special = nvdp_tokenizer_special(m->tokenizer, NVDP_TOKEN_MASK);
            piece = &special;
            n = 1;
        }
        for (size_t k = 0; k < n; k++)
            nvdp__batch_put(m->batch, piece[k]);
    }
    nvdp__batch_put(m->batch, nvdp_tokenizer_special(m->tokenizer, NVDP_TOKEN_SEP));
    nvdp__batch_end(m->batch, m->batch->texts);
}

static nvdp_status ask(void *of, size_t n, const struct nvdp__question *question, double *log_p) {
    struct nvdp__masked_lm *m = of;
    const struct nvdp__pass pass = {0};
    struct nvdp__pretrain_losses losses;
    const size_t count = m->known->count;
    nvdp__batch_clear(m->batch);
    m->masked.count = 0;
    for (size_t i = 0; i < n; i++)
        add(m, &question[i]);
    NVDP_TRY(nvdp__pretrain_model_step(&m->model, m->batch, &m->masked, &pass, &losses));
    for (size_t i = 0; i < n; i++) {
        const float *weight = m->model.heads.logits + i * m->vocabulary; /* exp(logit - max) */
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

static nvdp_status open_model(struct nvdp__masked_lm *m, const char *directory) {
    struct nvdp_bert_config bert;
    NVDP_TRY(nvdp__wordpiece_only(m->ctx, m->run));
    NVDP_TRY(nvdp__mlm_open(m->ctx, directory, false, &bert, &m->tokenizer, &m->model));
    m->vocabulary = nvdp_tokenizer_size(m->tokenizer);
    m->length = nvdp__min(bert.max_position_embeddings, LONGEST);
    NVDP_TRY(nvdp__mlm_check_length(m->ctx, &bert, m->length));
    NVDP_TRY(nvdp__batch_create(m->ctx, TOGETHER, m->length, &m->batch));
    NVDP_TRY(nvdp__masked_create(m->ctx, TOGETHER, &m->masked));
    return nvdp__pretrain_model_plan(&m->model, TOGETHER, m->length, TOGETHER, NULL);
}

nvdp_status nvdp__masked_lm_open(struct nvdp__text_attack *attack, const char *directory,
                                 const struct nvdp__tokens *known, struct nvdp__masked_lm **out,
                                 struct nvdp__language *language) {
    nvdp__autoptr(nvdp__masked_lm_free) struct nvdp__masked_lm *made = NULL;
    NVDP_TRY(NVDP__NEW(attack->ctx, made, 1));
    made->ctx = attack->ctx;
    made->run = nvdp_model_tokenizer(attack->run.model);
    made->known = known;
    NVDP_TRY(open_model(made, directory));
    NVDP_TRY(read_tokens(made));
    *language = (struct nvdp__language){.together = nvdp__min(made->model.heads.block, TOGETHER),
                                        .count = known->count,
                                        .ask = ask,
                                        .of = made};
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}
