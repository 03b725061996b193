/* Mask token inference (Yue et al. 2021, section 5.3): an attacker who sees a sanitized text masks one position
 * after the other and lets a masked LM predict the original token from the others.
 *
 * A token is the equal piece in the mask model's vocabulary, or the pieces that the vocabulary has for its word.  One
 * [MASK] covers the token, and the guess is one piece.  A text that is longer than the model's limit is split. */
#include "attack/language.h"
#include "options/result.h"
#include "rdp/pairs.h"
#include "sanitize/sanitize.h"

#include <math.h>
#include <stdlib.h>

enum { USUAL_LENGTH = 128 };

struct attack {
    struct nvdp_context *ctx;
    const struct nvdp_sanitizer *sanitizer;
    struct nvdp__questions asks;      /* labels: the original pieces */
    int32_t in_text[NVDP__QUESTIONS]; /* the masked piece; -1 for several pieces */
    size_t *start;                    /* [tokens of the longest text + 1] */
    int32_t *piece;                   /* [start[n]] pieces of a text, concatenated */
    size_t start_capacity, piece_capacity;
    struct nvdp__meter meter;
    size_t seen, original, sanitized;
    struct nvdp_mask_inference found;
};

static void release(struct attack *a) {
    nvdp__questions_release(&a->asks);
    free(a->start);
    free(a->piece);
}

/* ---- tokens as pieces ---- */

static nvdp_status put_text(struct attack *a, size_t n, const int32_t *token) {
    size_t count = 0;
    NVDP_TRY(nvdp__reserve(a->ctx, &a->start, &a->start_capacity, n + 1, sizeof *a->start));
    for (size_t i = 0; i < n; i++) {
        const int32_t *id = &a->asks.unknown;
        int32_t whole;
        size_t pieces = 1;
        a->start[i] = count;
        if (token[i] >= 0)
            NVDP_TRY(nvdp__questions_read(&a->asks, nvdp_sanitizer_word(a->sanitizer, token[i]),
                                          nvdp__sanitizer_piece(a->sanitizer, token[i]) >= 0,
                                          &whole, &pieces, &id));
        NVDP_TRY(nvdp__reserve(a->ctx, &a->piece, &a->piece_capacity, count + pieces + 1,
                               sizeof *a->piece));
        memcpy(a->piece + count, id, pieces * sizeof *id);
        count += pieces;
    }
    a->start[n] = count;
    return NVDP_OK;
}

/* ---- guesses ---- */

/* Adds a question: the tokens from .. end - 1 of the text, in which token `which` is masked. */
static void add_question(struct attack *a, size_t from, size_t end, size_t which, int32_t label) {
    const size_t *start = a->start, at = start[which], next = start[which + 1];
    a->in_text[a->asks.batch->texts] = next - at == 1 ? a->piece[at] : -1;
    nvdp__question_begin(&a->asks);
    nvdp__question_put(&a->asks, at - start[from], a->piece + start[from]);
    nvdp__question_mask(&a->asks, label);
    nvdp__question_put(&a->asks, start[end] - next, a->piece + next);
    nvdp__question_end(&a->asks);
}

static nvdp_status ask(struct attack *a) {
    const size_t n = a->asks.batch->texts;
    NVDP_TRY(nvdp__check_cancelled(a->ctx, "interrupted while the masked tokens were guessed"));
    NVDP_TRY(nvdp__questions_ask(&a->asks));
    for (size_t i = 0; i < n; i++) {
        a->original += a->asks.model.best[i] == a->asks.masked.label[i];
        a->sanitized += a->asks.model.best[i] == a->in_text[i];
    }
    a->found.guesses += n;
    nvdp__questions_clear(&a->asks);
    return NVDP_OK;
}

/* Asks about one text, given its original and its sanitized tokens. */
static nvdp_status ask_text(struct attack *a, size_t n, const int32_t *original,
                            const int32_t *sanitized) {
    const size_t room = a->asks.length - NVDP__QUESTION_ENDS;
    NVDP_TRY(put_text(a, n, sanitized));
    for (size_t from = 0, end = 0; from < n; from = end) {
        while (end < n && a->start[end + 1] - a->start[from] <= room)
            end++;
        for (size_t i = from; i < end; i++, a->seen++) {
            const int32_t label =
                original[i] < 0
                    ? -1
                    : nvdp_tokenizer_find(a->asks.tokenizer,
                                          nvdp_sanitizer_word(a->sanitizer, original[i]));
            if (label >= 0) add_question(a, from, end, i, label);
            a->found.left_out += label < 0;
            if (a->asks.batch->texts == NVDP__QUESTIONS) NVDP_TRY(ask(a));
        }
        nvdp__meter_update(&a->meter, a->seen, (double)a->seen, "tok", NAN);
    }
    return NVDP_OK;
}

/* ---- the attack ---- */

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
    nvdp__auto(release) struct attack a = {
        .ctx = ctx, .sanitizer = sanitizer, .found = {.struct_size = sizeof a.found}};
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(check_tokens(&a, offset[texts], original));
    NVDP_TRY(check_tokens(&a, offset[texts], sanitized));
    NVDP_TRY(nvdp__questions_open(ctx, model, &a.asks));
    if (length == 0) length = nvdp__min(a.asks.bert.max_position_embeddings, USUAL_LENGTH);
    NVDP_TRY(nvdp__questions_plan(&a.asks, length));
    nvdp__meter_begin(&a.meter, ctx, "guess", "token", 0, offset[texts]);
    for (size_t i = 0; i < texts; i++)
        NVDP_TRY(
            ask_text(&a, offset[i + 1] - offset[i], original + offset[i], sanitized + offset[i]));
    NVDP_TRY(ask(&a));
    nvdp__meter_end(&a.meter);
    const double n = (double)a.found.guesses;
    a.found.original = n > 0 ? (double)a.original / n : NAN;
    a.found.sanitized = n > 0 ? (double)a.sanitized / n : NAN;
    a.found.original_error = nvdp__share_error(a.found.original, a.found.guesses);
    a.found.sanitized_error = nvdp__share_error(a.found.sanitized, a.found.guesses);
    return NVDP__GIVE(out, &a.found);
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
