/* The words of two texts: how many differ, what is proven for them, and texts one word apart. */
#include "attack/pair.h"
#include "base/own.h"
#include "base/random.h"
#include "text/dataset.h"
#include "text/tokenizer.h"

#include <string.h>

double nvdp__pair_mu(const struct nvdp__word_clip *clip, const size_t changed[2], int releases) {
    return changed[0] + changed[1] > 0 ? nvdp__word_mu(clip, changed[0], changed[1], releases) : 0;
}

/* A text's tokens and their marks. */
struct view {
    const int32_t *id, *mark;
    size_t tokens;
};

static struct view view(const struct nvdp_dataset *data, size_t i) {
    const size_t at = data->offset[i];
    return (struct view){data->ids + at, data->types + at, data->offset[i + 1] - at};
}

static size_t count_words(const struct view *text, size_t from, size_t to) {
    size_t words = 0;
    for (size_t t = from; t < to; t = nvdp__word_end(text->mark, t, text->tokens))
        words++;
    return words;
}

static bool begins(const struct view *text, size_t t) {
    return t == text->tokens || text->mark[t] != NVDP__WORD_CONTINUES;
}

static bool same(const struct view *a, size_t i, const struct view *b, size_t j) {
    return a->id[i] == b->id[j] && a->mark[i] == b->mark[j];
}

void nvdp__pair_change(const struct nvdp_dataset *data, size_t p, size_t q, size_t changed[2]) {
    const struct view a = view(data, p), b = view(data, q);
    const size_t shorter = nvdp__min(a.tokens, b.tokens);
    size_t head = 0, tail = 0, to = 0;
    for (size_t t = 0; t <= shorter; t++) {
        if (begins(&a, t) && begins(&b, t)) head = t;
        if (t == shorter || !same(&a, t, &b, t)) break;
    }
    while (to < shorter - head && same(&a, a.tokens - 1 - to, &b, b.tokens - 1 - to)) {
        to++;
        if (begins(&a, a.tokens - to)) tail = to;
    }
    changed[0] = count_words(&a, head, a.tokens - tail);
    changed[1] = count_words(&b, head, b.tokens - tail);
}

/* Finds the first token of word k, not counting borders; returns the number of words if there are fewer. */
static size_t find_word(const struct view *text, size_t k, size_t *first) {
    size_t words = 0;
    for (size_t t = 0; t < text->tokens; t = nvdp__word_end(text->mark, t, text->tokens)) {
        if (text->mark[t] == NVDP__WORD_BORDER) continue;
        *first = t;
        if (words++ == k) break;
    }
    return words;
}

bool nvdp__pair_draw_word(struct nvdp__stream *stream, const struct nvdp_dataset *data,
                          struct nvdp_pair_attack *pair, size_t *source) {
    const struct view text = view(data, pair->p), other = view(data, pair->q);
    size_t at = 0, from = 0;
    const size_t words = find_word(&text, SIZE_MAX, &at),
                 others = find_word(&other, SIZE_MAX, &from);
    if (words == 0 || others == 0) return false;
    pair->word = 1 + nvdp__stream_below(stream, words);
    *source = nvdp__stream_below(stream, others);
    find_word(&text, pair->word - 1, &at);
    find_word(&other, *source, &from);
    const size_t n = nvdp__word_end(text.mark, at, text.tokens) - at,
                 m = nvdp__word_end(other.mark, from, other.tokens) - from;
    pair->changed[0] = pair->changed[1] = 1;
    return n != m || memcmp(text.id + at, other.id + from, n * sizeof *text.id) != 0;
}

/* Appends tokens from .. to - 1 of a text. */
static void append(const struct view *text, size_t from, size_t to, struct nvdp_dataset *out,
                   size_t *used) {
    memcpy(out->ids + *used, text->id + from, (to - from) * sizeof *out->ids);
    memcpy(out->types + *used, text->mark + from, (to - from) * sizeof *out->types);
    *used += to - from;
}

nvdp_status nvdp__pair_replace(struct nvdp_context *ctx, const struct nvdp__pair_words *words,
                               size_t pairs, const struct nvdp_pair_attack *pair,
                               const size_t *source, struct nvdp_posteriors **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *made = NULL;
    size_t used = 0;
    NVDP_TRY(nvdp__dataset_create(ctx, 2 * pairs, false, &made));
    for (int fill = 0; fill < 2; fill++) {
        for (size_t i = 0; i < pairs; i++) {
            const struct view text = view(words->data, pair[i].p),
                              other = view(words->data, pair[i].q);
            size_t at = 0, from = 0;
            find_word(&text, pair[i].word - 1, &at);
            find_word(&other, source[i], &from);
            const size_t end = nvdp__word_end(text.mark, at, text.tokens),
                         to = nvdp__word_end(other.mark, from, other.tokens);
            if (fill == 0) {
                made->offset[2 * i + 1] = text.tokens;
                made->offset[2 * i + 2] = text.tokens - (end - at) + (to - from);
                continue;
            }
            append(&text, 0, text.tokens, made, &used);
            append(&text, 0, at, made, &used);
            append(&other, from, to, made, &used);
            append(&text, end, text.tokens, made, &used);
        }
        if (fill == 0) NVDP_TRY(nvdp__dataset_lay_out(ctx, made));
    }
    return nvdp_model_posteriors(ctx, words->model, made, words->batch, out);
}
