/* Mask token inference (Yue et al. 2021, section 5.3): an attacker who sees a sanitized text masks one position
 * after the other and lets a masked LM predict the original token from the others.
 *
 * A token is its piece in the mask model's vocabulary, or the pieces of its word there.  One [MASK] covers the
 * token, and the guess is one piece.  A text that is longer than the model's limit is asked in parts. */
#include "dchi/sanitizer.h"
#include "options/result.h"
#include "pretrain/evaluate.h"
#include "rdp/pairs.h"

#include <math.h>
#include <stdlib.h>

enum { TOGETHER = 64, USUAL_LENGTH = 128, SPECIALS = 2 };

struct attack {
    struct nvdp_context *ctx;
    const struct nvdp_sanitizer *sanitizer;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__pretrain_model model;
    size_t length; /* max. tokens at once, including special tokens */
    struct nvdp__batch *batch;
    struct nvdp__masked masked; /* labels: the original pieces */
    int32_t in_text[TOGETHER];  /* the piece that was masked; -1: several pieces */
    struct nvdp_tokens pieces;  /* of a word */
    size_t *start;              /* [tokens of the longest text + 1] */
    int32_t *piece;             /* [start[n]] pieces of a text, concatenated */
    size_t start_capacity, piece_capacity;
    struct nvdp__meter meter;
    size_t seen, original, sanitized;
    struct nvdp_mask_inference found;
};

/* ---- tokens as pieces ---- */

/* Returns the piece that is the token, or -1 if there is none. */
static int32_t one_piece(const struct attack *a, int32_t token) {
    return token < 0 ? -1
                     : nvdp_tokenizer_find(a->tokenizer, nvdp_sanitizer_word(a->sanitizer, token));
}

static nvdp_status put_token(struct attack *a, int32_t token, size_t *count) {
    const char *word = nvdp_sanitizer_word(a->sanitizer, token);
    int32_t one = one_piece(a, token);
    const int32_t *ids = &one;
    size_t n = 1;
    if (token >= 0 && one < 0) {
        if (nvdp_sanitizer_piece(a->sanitizer, token) >= 0 && strncmp(word, "##", 2) == 0)
            word += 2;
        NVDP_TRY(nvdp_tokenizer_encode(a->tokenizer, word, strlen(word), NULL, 0, a->length,
                                       &a->pieces));
        if (a->pieces.count > SPECIALS) ids = a->pieces.ids + 1, n = a->pieces.count - SPECIALS;
    }
    if (ids[0] < 0) one = nvdp_tokenizer_special(a->tokenizer, NVDP_TOKEN_UNK);
    NVDP_TRY(
        nvdp__reserve(a->ctx, &a->piece, &a->piece_capacity, *count + n + 1, sizeof *a->piece));
    memcpy(a->piece + *count, ids, n * sizeof *ids);
    *count += n;
    return NVDP_OK;
}

static nvdp_status put_text(struct attack *a, size_t n, const int32_t *token) {
    size_t count = 0;
    NVDP_TRY(nvdp__reserve(a->ctx, &a->start, &a->start_capacity, n + 1, sizeof *a->start));
    for (size_t i = 0; i < n; i++) {
        a->start[i] = count;
        NVDP_TRY(put_token(a, token[i], &count));
    }
    a->start[n] = count;
    return NVDP_OK;
}

/* ---- guesses ---- */

/* Adds [CLS], the tokens from .. end - 1 of the text with number `which` masked, [SEP]. */
static void add_question(struct attack *a, size_t from, size_t end, size_t which, int32_t label) {
    struct nvdp__batch *batch = a->batch;
    nvdp__batch_put(batch, nvdp_tokenizer_special(a->tokenizer, NVDP_TOKEN_CLS));
    for (size_t i = a->start[from]; i < a->start[which]; i++)
        nvdp__batch_put(batch, a->piece[i]);
    a->in_text[batch->texts] =
        a->start[which + 1] - a->start[which] == 1 ? a->piece[a->start[which]] : -1;
    a->masked.row[a->masked.count] = (int32_t)batch->tokens;
    a->masked.label[a->masked.count++] = label;
    nvdp__batch_put(batch, nvdp_tokenizer_special(a->tokenizer, NVDP_TOKEN_MASK));
    for (size_t i = a->start[which + 1]; i < a->start[end]; i++)
        nvdp__batch_put(batch, a->piece[i]);
    nvdp__batch_put(batch, nvdp_tokenizer_special(a->tokenizer, NVDP_TOKEN_SEP));
    nvdp__batch_end(batch, batch->texts);
}

static nvdp_status ask(struct attack *a) {
    const struct nvdp__pass pass = {0};
    struct nvdp__pretrain_losses losses;
    struct nvdp__batch *batch = a->batch;
    NVDP_TRY(nvdp__check_cancelled(a->ctx, "interrupted while the masked tokens were guessed"));
    if (batch->texts > 0)
        NVDP_TRY(nvdp__pretrain_model_step(&a->model, batch, &a->masked, &pass, &losses));
    for (size_t i = 0; i < batch->texts; i++) {
        a->original += a->model.best[i] == a->masked.label[i];
        a->sanitized += a->model.best[i] == a->in_text[i];
    }
    a->found.guesses += batch->texts;
    a->masked.count = 0;
    nvdp__batch_clear(batch);
    return NVDP_OK;
}

/* Asks about one text, given its original and its sanitized tokens. */
static nvdp_status ask_text(struct attack *a, size_t n, const int32_t *original,
                            const int32_t *sanitized) {
    const size_t room = a->length - SPECIALS;
    NVDP_TRY(put_text(a, n, sanitized));
    for (size_t from = 0, end = 0; from < n; from = end) {
        while (end < n && a->start[end + 1] - a->start[from] <= room)
            end++;
        for (size_t i = from; i < end; i++, a->seen++) {
            const int32_t label = one_piece(a, original[i]);
            if (label >= 0) add_question(a, from, end, i, label);
            a->found.left_out += label < 0;
            if (a->batch->texts == TOGETHER) NVDP_TRY(ask(a));
        }
        nvdp__meter_update(&a->meter, a->seen, (double)a->seen, "tok", NAN);
    }
    return NVDP_OK;
}

/* ---- the attack ---- */

static nvdp_status open_attack(struct attack *a, const char *model, size_t length) {
    struct nvdp_bert_config bert;
    NVDP_TRY(nvdp__mlm_open(a->ctx, model, false, &bert, &a->tokenizer, &a->model));
    const size_t limit = bert.max_position_embeddings;
    a->length = length > 0 ? length : limit < USUAL_LENGTH ? limit : USUAL_LENGTH;
    NVDP_TRY(nvdp__mlm_check_length(a->ctx, &bert, a->length));
    NVDP_TRY(nvdp__batch_create(a->ctx, TOGETHER, a->length, &a->batch));
    NVDP_TRY(nvdp__masked_create(a->ctx, TOGETHER, &a->masked));
    nvdp__batch_clear(a->batch);
    return nvdp__pretrain_model_plan(&a->model, TOGETHER, a->length, TOGETHER, NULL);
}

static nvdp_status check_tokens(const struct attack *a, size_t n, const int32_t *token) {
    for (size_t i = 0; i < n; i++)
        if (nvdp_sanitizer_word(a->sanitizer, token[i]) == NULL)
            return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                              "mask inference: token %d at position %zu: expected an id of the "
                              "sanitizer's vocabulary",
                              token[i], i);
    return NVDP_OK;
}

nvdp_status nvdp_mask_inference(struct nvdp_context *ctx, const char *model,
                                const struct nvdp_sanitizer *sanitizer, size_t texts,
                                const size_t *offset, const int32_t *original,
                                const int32_t *sanitized, size_t length,
                                struct nvdp_mask_inference *out) {
    nvdp_status status = NVDP_OK;
    struct attack a = {
        .ctx = ctx, .sanitizer = sanitizer, .found = {.struct_size = sizeof a.found}};
    NVDP_TRY_OR_CLEAN(nvdp__can_give(ctx, out));
    NVDP_TRY_OR_CLEAN(check_tokens(&a, offset[texts], original));
    NVDP_TRY_OR_CLEAN(check_tokens(&a, offset[texts], sanitized));
    NVDP_TRY_OR_CLEAN(open_attack(&a, model, length));
    nvdp__meter_begin(&a.meter, ctx, "guess", "token", 0, offset[texts]);
    for (size_t i = 0; i < texts; i++)
        NVDP_TRY_OR_CLEAN(
            ask_text(&a, offset[i + 1] - offset[i], original + offset[i], sanitized + offset[i]));
    NVDP_TRY_OR_CLEAN(ask(&a));
    nvdp__meter_end(&a.meter);
    const double n = (double)a.found.guesses;
    a.found.original = n > 0 ? (double)a.original / n : NAN;
    a.found.sanitized = n > 0 ? (double)a.sanitized / n : NAN;
    a.found.original_error = nvdp__share_error(a.found.original, a.found.guesses);
    a.found.sanitized_error = nvdp__share_error(a.found.sanitized, a.found.guesses);
    NVDP__GIVE(out, &a.found);
cleanup:
    if (a.model.ctx != NULL) nvdp__pretrain_model_release(&a.model);
    nvdp__batch_free(a.batch);
    nvdp__masked_release(&a.masked);
    nvdp_tokenizer_free(a.tokenizer);
    nvdp_tokens_free(&a.pieces);
    free(a.start);
    free(a.piece);
    return status;
}

/* --- the result table --- */

#define ROW(member, ...) NVDP_RESULT_ROW(struct nvdp_mask_inference, member, __VA_ARGS__)
#define ERROR(member) .error = offsetof(struct nvdp_mask_inference, member)

static double defense_rate(const void *result) {
    return 1 - ((const struct nvdp_mask_inference *)result)->original;
}

static void print_guesses(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_mask_inference *found = result;
    nvdp_result_line(to, "guesses",
                     "%zu; left out: %zu tokens that are not in the model's vocabulary",
                     found->guesses, found->left_out);
}

const struct nvdp_result_table nvdp__result_mask_inference = {
    .name = "mask_inference",
    .help = "how often a masked language model names the original of a token",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        {"defense_rate", NVDP_RESULT_REAL, .scope = NVDP_SCOPE_FILE, .better = 1,
         .help = "share of guesses that are not the original token", .real = defense_rate,
         .label = "defense rate", ERROR(original_error)},
        ROW(original, NULL, NVDP_SCOPE_FILE, -1, "share of guesses that are the original token",
            .label = "original guessed", ERROR(original_error)),
        ROW(sanitized, NULL, NVDP_SCOPE_FILE, 0, "share of guesses that are the covered token",
            .label = "output guessed", ERROR(sanitized_error)),
        ROW(original_error, NULL, NVDP_SCOPE_FILE, -1, "standard error of original"),
        ROW(sanitized_error, NULL, NVDP_SCOPE_FILE, -1, "standard error of sanitized"),
        ROW(guesses, "tokens", NVDP_SCOPE_FILE, 0, "covered tokens", .print = print_guesses),
        ROW(left_out, "tokens", NVDP_SCOPE_FILE, 0, "tokens that the model does not know"),
        {0}}};
