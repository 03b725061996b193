#include "pretrain/examples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SINGLE_SPECIALS = 2, PAIR_SPECIALS = 3 };
static const double SHORT_SHARE = 0.1;

void nvdp__examples_release(struct nvdp__examples *examples) {
    free(examples->at);
    *examples = (struct nvdp__examples){0};
}

static nvdp_status add(struct nvdp__examples *examples, const struct nvdp__example *example) {
    NVDP_RETURN_IF_FAILED(nvdp__reserve(examples->ctx, &examples->at, &examples->capacity,
                                        examples->count + 1, sizeof *examples->at));
    examples->at[examples->count++] = *example;
    return NVDP_OK;
}

/* ---- windows ---- */

/* The end of a window from `start` of at most `room` tokens, moved back to a word's end where one
 * is inside. */
static size_t window_end(const struct nvdp__corpus *corpus, const struct nvdp__pieces *pieces,
                         size_t start, size_t room, size_t end) {
    if (end - start <= room) return end;
    size_t cut = start + room;
    while (cut > start && pieces->continues[nvdp__corpus_id(corpus, cut)]) {
        cut--;
    }
    return cut > start ? cut : start + room;
}

static nvdp_status cut_document(struct nvdp__examples *examples, const struct nvdp__corpus *corpus,
                                const struct nvdp__pieces *pieces, size_t room, size_t first,
                                size_t document) {
    size_t end = nvdp__corpus_document(corpus, document + 1);
    for (size_t at = nvdp__corpus_document(corpus, document); at < end;) {
        size_t next = window_end(corpus, pieces, at, first, end);
        NVDP_RETURN_IF_FAILED(add(
            examples, &(struct nvdp__example){.first = at, .first_length = (uint32_t)(next - at)}));
        at = next;
        first = room;
    }
    return NVDP_OK;
}

nvdp_status nvdp__examples_windows(struct nvdp__examples *examples,
                                   const struct nvdp__corpus *corpus,
                                   const struct nvdp__pieces *pieces, size_t length,
                                   const uint64_t *seed, uint32_t epoch) {
    size_t room = length - SINGLE_SPECIALS;
    examples->count = 0;
    for (size_t d = 0; d < corpus->documents; d++) {
        size_t tokens = nvdp__corpus_document(corpus, d + 1) - nvdp__corpus_document(corpus, d);
        size_t first = room;
        if (seed != NULL && tokens > room) {
            struct nvdp__noise noise = {.seed = *seed};
            struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_WINDOW, epoch, d);
            first = 1 + (size_t)nvdp__stream_below(&stream, room);
        }
        NVDP_RETURN_IF_FAILED(cut_document(examples, corpus, pieces, room, first, d));
    }
    return NVDP_OK;
}

/* ---- pairs ---- */

struct pairing {
    struct nvdp__examples *examples;
    const struct nvdp__corpus *corpus;
    size_t room;
    struct nvdp__stream stream;
    size_t document;
};

static size_t tokens_between(const struct nvdp__corpus *corpus, size_t from, size_t to) {
    return (size_t)(corpus->sentence[to] - corpus->sentence[from]);
}

/* The sentence behind those from `from` on that reach `target` tokens, one at least. */
static size_t gather(const struct nvdp__corpus *corpus, size_t from, size_t end, size_t target) {
    size_t to = from + 1;
    while (to < end && tokens_between(corpus, from, to) < target) {
        to++;
    }
    return to;
}

/* Drops tokens from the end of the longer segment, of the second on a tie. */
static void shorten(struct nvdp__example *example, size_t room) {
    while (example->first_length + example->second_length > room) {
        if (example->first_length > example->second_length) {
            example->first_length--;
        } else {
            example->second_length--;
        }
    }
}

static struct nvdp__example segment_pair(const struct nvdp__corpus *corpus, size_t room,
                                         const size_t first[2], const size_t second[2]) {
    /* Longer than the room changes nothing but the number of tokens that go. */
    size_t most = 2 * room;
    size_t a = tokens_between(corpus, first[0], first[1]);
    size_t b = tokens_between(corpus, second[0], second[1]);
    struct nvdp__example example = {.first = corpus->sentence[first[0]],
                                    .second = corpus->sentence[second[0]],
                                    .first_length = (uint32_t)(a < most ? a : most),
                                    .second_length = (uint32_t)(b < most ? b : most)};
    shorten(&example, room);
    return example;
}

/* Sentences of another document, from a drawn one on. */
static void draw_other(struct pairing *p, size_t target, size_t second[2]) {
    const struct nvdp__corpus *corpus = p->corpus;
    size_t other = (size_t)nvdp__stream_below(&p->stream, corpus->documents - 1);
    if (other >= p->document) other++;
    size_t from = (size_t)corpus->document[other];
    size_t end = (size_t)corpus->document[other + 1];
    second[0] = from + (size_t)nvdp__stream_below(&p->stream, end - from);
    second[1] = gather(corpus, second[0], end, target);
}

/* One pair from sentence *at of the document that ends at `end`; *at becomes the next unused. */
static nvdp_status take_pair(struct pairing *p, size_t end, size_t *at) {
    const struct nvdp__corpus *corpus = p->corpus;
    size_t target = p->room;
    if (nvdp__stream_uniform(&p->stream) < SHORT_SHARE)
        target = 2 + (size_t)nvdp__stream_below(&p->stream, p->room - 1);
    size_t stop = gather(corpus, *at, end, target);
    size_t sentences = stop - *at;
    size_t middle = *at + 1;
    if (sentences > 1) middle = *at + 1 + (size_t)nvdp__stream_below(&p->stream, sentences - 1);
    bool random = nvdp__stream_uniform(&p->stream) < 0.5 || sentences == 1;
    size_t first[2] = {*at, middle};
    size_t second[2] = {middle, stop};
    if (random) {
        size_t have = tokens_between(corpus, first[0], first[1]);
        draw_other(p, target > have ? target - have : 1, second);
    }
    struct nvdp__example example = segment_pair(corpus, p->room, first, second);
    example.random = random;
    *at = random ? middle : stop;
    return add(p->examples, &example);
}

nvdp_status nvdp__examples_pairs(struct nvdp__examples *examples, const struct nvdp__corpus *corpus,
                                 size_t length, uint64_t seed, uint32_t epoch) {
    struct nvdp__noise noise = {.seed = seed};
    if (corpus->documents < 2)
        return nvdp__fail(examples->ctx, NVDP_ERR_INPUT,
                          "next-sentence prediction: expected a text of two documents or more, "
                          "found one");
    examples->count = 0;
    for (size_t d = 0; d < corpus->documents; d++) {
        struct pairing p = {.examples = examples,
                            .corpus = corpus,
                            .room = length - PAIR_SPECIALS,
                            .stream = nvdp__stream_open(&noise, NVDP__PURPOSE_PAIR, epoch, d),
                            .document = d};
        for (size_t at = (size_t)corpus->document[d]; at < corpus->document[d + 1];) {
            NVDP_RETURN_IF_FAILED(take_pair(&p, (size_t)corpus->document[d + 1], &at));
        }
    }
    return NVDP_OK;
}

/* ---- masks ---- */

static const double MASK_SHARE = 0.8;
static const double CHANGED_SHARE = 0.9; /* [MASK] or a random piece */

nvdp_status nvdp__masked_create(struct nvdp_context *ctx, size_t capacity,
                                struct nvdp__masked *masked) {
    struct nvdp__masked made = {
        .capacity = capacity,
        .row = nvdp__calloc(ctx, capacity, sizeof *made.row),
        .label = nvdp__calloc(ctx, capacity, sizeof *made.label),
    };
    if (made.row == NULL || made.label == NULL) {
        nvdp__masked_release(&made);
        return NVDP_ERR_MEMORY;
    }
    *masked = made;
    return NVDP_OK;
}

void nvdp__masked_release(struct nvdp__masked *masked) {
    free(masked->row);
    free(masked->label);
    *masked = (struct nvdp__masked){0};
}

nvdp_status nvdp__masker_create(struct nvdp_context *ctx, const struct nvdp__pieces *pieces,
                                double share, bool whole_words, size_t longest,
                                struct nvdp__masker *masker) {
    struct nvdp__masker made = {
        .pieces = pieces,
        .share = share,
        .whole_words = whole_words,
        .longest = longest,
        .unit = nvdp__calloc(ctx, longest, sizeof *made.unit),
        .drawn = nvdp__calloc(ctx, longest, sizeof *made.drawn),
    };
    if (made.unit == NULL || made.drawn == NULL) {
        nvdp__masker_release(&made);
        return NVDP_ERR_MEMORY;
    }
    *masker = made;
    return NVDP_OK;
}

void nvdp__masker_release(struct nvdp__masker *masker) {
    free(masker->unit);
    free(masker->drawn);
    *masker = (struct nvdp__masker){0};
}

size_t nvdp__mask_most(double share, size_t tokens) {
    size_t most = (size_t)llround(share * (double)tokens);
    if (tokens == 0) return 0;
    return most > 0 ? most : 1;
}

/* Finds the units: tokens, or words as runs of tokens.  *tokens counts their tokens. */
static size_t find_units(struct nvdp__masker *m, size_t count, const int32_t *ids, size_t *tokens) {
    size_t units = 0;
    bool in_word = false;
    *tokens = 0;
    for (size_t i = 0; i < count; i++) {
        bool special = m->pieces->special[ids[i]];
        if (!special && !(m->whole_words && in_word && m->pieces->continues[ids[i]]))
            m->unit[units++] = (int32_t)i;
        *tokens += !special;
        in_word = !special;
    }
    return units;
}

/* Tokens of the unit that starts at `start`. */
static size_t unit_length(const struct nvdp__masker *m, size_t start, size_t count,
                          const int32_t *ids) {
    size_t end = start + 1;
    while (m->whole_words && end < count && !m->pieces->special[ids[end]] &&
           m->pieces->continues[ids[end]]) {
        end++;
    }
    return end - start;
}

/* Marks drawn tokens. */
static void draw(struct nvdp__masker *m, struct nvdp__stream *stream, size_t count,
                 const int32_t *ids) {
    size_t tokens = 0;
    size_t units = find_units(m, count, ids, &tokens);
    size_t left = nvdp__mask_most(m->share, tokens);
    memset(m->drawn, 0, count);
    /* Fisher-Yates from the front, as far as it is needed. */
    for (size_t i = 0; i < units && left > 0; i++) {
        size_t other = i + (size_t)nvdp__stream_below(stream, units - i);
        int32_t start = m->unit[other];
        m->unit[other] = m->unit[i];
        size_t length = unit_length(m, (size_t)start, count, ids);
        if (length > left) continue;
        memset(m->drawn + start, 1, length);
        left -= length;
    }
}

static int32_t replacement(const struct nvdp__masker *m, struct nvdp__stream *stream, int32_t id) {
    double u = nvdp__stream_uniform(stream);
    if (u < MASK_SHARE) return m->pieces->mask;
    if (u >= CHANGED_SHARE) return id;
    return m->pieces->ordinary[nvdp__stream_below(stream, m->pieces->ordinary_count)];
}

void nvdp__mask_text(struct nvdp__masker *m, struct nvdp__stream *stream, size_t count,
                     int32_t *ids, size_t first_row, struct nvdp__masked *masked) {
    draw(m, stream, count, ids);
    for (size_t i = 0; i < count; i++) {
        if (!m->drawn[i]) continue;
        masked->row[masked->count] = (int32_t)(first_row + i);
        masked->label[masked->count++] = ids[i];
        ids[i] = replacement(m, stream, ids[i]);
    }
}

/* ---- batches ---- */

nvdp_status nvdp__batcher_create(struct nvdp_context *ctx, const struct nvdp__corpus *corpus,
                                 const struct nvdp__pieces *pieces, size_t texts, size_t length,
                                 double mask_prob, bool whole_words,
                                 struct nvdp__batcher *batcher) {
    nvdp_status status = NVDP_OK;
    struct nvdp__batcher made = {.corpus = corpus, .pieces = pieces};
    NVDP_TRY(nvdp__batch_create(ctx, texts, length, &made.batch));
    NVDP_TRY(
        nvdp__masked_create(ctx, nvdp__batcher_masked(texts, length, mask_prob), &made.masked));
    NVDP_TRY(nvdp__masker_create(ctx, pieces, mask_prob, whole_words, length, &made.masker));
    *batcher = made;
    made = (struct nvdp__batcher){0};
cleanup:
    nvdp__batcher_release(&made);
    return status;
}

void nvdp__batcher_release(struct nvdp__batcher *batcher) {
    nvdp__batch_free(batcher->batch);
    nvdp__masked_release(&batcher->masked);
    nvdp__masker_release(&batcher->masker);
    *batcher = (struct nvdp__batcher){0};
}

size_t nvdp__batcher_masked(size_t texts, size_t length, double mask_prob) {
    return texts * nvdp__mask_most(mask_prob, length);
}

static size_t put(struct nvdp__batch *batch, size_t at, int32_t id, int32_t type) {
    batch->ids[at] = id;
    batch->types[at] = type;
    return at + 1;
}

static size_t put_tokens(struct nvdp__batcher *b, size_t at, uint64_t first, size_t count,
                         int32_t type) {
    for (size_t i = 0; i < count; i++) {
        at = put(b->batch, at, nvdp__corpus_id(b->corpus, (size_t)first + i), type);
    }
    return put(b->batch, at, b->pieces->sep, type);
}

/* Returns the row behind the example's last. */
static size_t put_example(struct nvdp__batcher *b, const struct nvdp__example *example,
                          size_t start) {
    size_t at = put(b->batch, start, b->pieces->cls, 0);
    at = put_tokens(b, at, example->first, example->first_length, 0);
    if (example->second_length > 0)
        at = put_tokens(b, at, example->second, example->second_length, 1);
    for (size_t t = start; t < at; t++) {
        b->batch->positions[t] = (int32_t)(t - start);
    }
    return at;
}

void nvdp__batcher_fill(struct nvdp__batcher *b, const struct nvdp__examples *examples,
                        const int64_t *order, size_t first, size_t n,
                        const struct nvdp__mask_key *key) {
    struct nvdp__batch *batch = b->batch;
    const struct nvdp__noise noise = {.seed = key->seed};
    size_t used = 0;
    batch->longest = 0;
    b->masked.count = 0;
    for (size_t r = 0; r < n; r++) {
        size_t index = order != NULL ? (size_t)order[r] : first + r;
        size_t end = put_example(b, &examples->at[index], used);
        struct nvdp__stream stream = nvdp__stream_open(&noise, key->purpose, key->number, index);
        nvdp__mask_text(&b->masker, &stream, end - used, batch->ids + used, used, &b->masked);
        batch->offset[r] = (int32_t)used;
        batch->label[r] = examples->at[index].random ? 1 : 0;
        batch->key[r] = index;
        if (end - used > batch->longest) batch->longest = end - used;
        used = end;
    }
    batch->offset[n] = (int32_t)used;
    batch->texts = n;
    batch->tokens = used;
}
