/* Cuts a corpus into examples, masks tokens and fills batches (examples.h). The parts follow the
 * path of a token: windows, pairs, planted secrets, masks, batches. */
#include "pretrain/examples.h"

#include "base/array.h"
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
    return NVDP__PUSH(examples->ctx, examples->at, examples->count, examples->capacity, *example);
}

/* ---- windows ---- */

nvdp_status nvdp__examples_windows(struct nvdp__examples *examples,
                                   const struct nvdp__corpus *corpus,
                                   const struct nvdp__piece_table *pieces, size_t length,
                                   const uint64_t *seed, uint32_t epoch) {
    const size_t whole = length - SINGLE_SPECIALS;
    examples->count = 0;
    for (size_t d = 0; d < corpus->documents; d++) {
        size_t at = nvdp__corpus_document(corpus, d);
        size_t end = nvdp__corpus_document(corpus, d + 1);
        size_t limit = whole;
        if (seed != NULL && end - at > whole) {
            struct nvdp__noise noise = {.seed = *seed};
            struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_WINDOW, epoch, d);
            limit = 1 + (size_t)nvdp__stream_below(&stream, whole);
        }
        for (; at < end; limit = whole) {
            /* if the cut is inside a word, moves the cut back to the end of the previous word */
            size_t cut = end - at > limit ? at + limit : end;
            while (cut < end && cut > at && pieces->continues[nvdp__corpus_id(corpus, cut)])
                cut--;
            if (cut == at) cut = at + limit;
            NVDP_TRY(add(examples, &(struct nvdp__example){.first = at,
                                                           .first_length = (uint32_t)(cut - at)}));
            at = cut;
        }
    }
    return NVDP_OK;
}

/* ---- pairs ---- */

static size_t tokens_between(const struct nvdp__corpus *corpus, size_t from, size_t to) {
    return (size_t)(corpus->sentence[to] - corpus->sentence[from]);
}

/* Returns the end of the sentences, from `from` on, that together reach `target` tokens; takes
 * at least one sentence. */
static size_t gather(const struct nvdp__corpus *corpus, size_t from, size_t end, size_t target) {
    size_t to = from + 1;
    while (to < end && tokens_between(corpus, from, to) < target)
        to++;
    return to;
}

/* Draws the number of tokens of a pair. */
static size_t draw_target(struct nvdp__stream *stream, size_t limit) {
    if (nvdp__stream_uniform(stream) >= SHORT_SHARE) return limit;
    return 2 + (size_t)nvdp__stream_below(stream, limit - 1);
}

/* Returns a pair of two segments of a and b tokens, cut to `limit` tokens. */
static struct nvdp__example make_pair(uint64_t first, size_t a, uint64_t second, size_t b,
                                      size_t limit, bool random) {
    /* Lengths beyond 2 * limit are equivalent; the cap only limits the loop below. */
    struct nvdp__example example = {.first = first,
                                    .second = second,
                                    .first_length = (uint32_t)(a < 2 * limit ? a : 2 * limit),
                                    .second_length = (uint32_t)(b < 2 * limit ? b : 2 * limit),
                                    .random = random};
    while (example.first_length + example.second_length > limit) {
        bool longer = example.first_length > example.second_length;
        *(longer ? &example.first_length : &example.second_length) -= 1;
    }
    return example;
}

/* Returns the pair that starts at sentence *at of a document and has up to `limit` tokens. *at
 * becomes the next unused sentence. */
static struct nvdp__example take_pair(const struct nvdp__corpus *corpus,
                                      struct nvdp__stream *stream, size_t document, size_t limit,
                                      size_t *at) {
    size_t end = (size_t)corpus->document[document + 1];
    size_t target = draw_target(stream, limit);
    size_t stop = gather(corpus, *at, end, target);
    size_t sentences = stop - *at;
    size_t middle = *at + 1;
    if (sentences > 1) middle += (size_t)nvdp__stream_below(stream, sentences - 1);
    bool random = nvdp__stream_uniform(stream) < 0.5 || sentences == 1;
    size_t a = tokens_between(corpus, *at, middle);
    size_t second = middle;
    size_t second_end = stop;
    if (random) { /* the second segment begins at a random sentence of another document */
        size_t other = (size_t)nvdp__stream_below(stream, corpus->documents - 1);
        if (other >= document) other++;
        size_t from = (size_t)corpus->document[other];
        size_t to = (size_t)corpus->document[other + 1];
        second = from + (size_t)nvdp__stream_below(stream, to - from);
        second_end = gather(corpus, second, to, target > a ? target - a : 1);
    }
    size_t b = tokens_between(corpus, second, second_end);
    struct nvdp__example example =
        make_pair(corpus->sentence[*at], a, corpus->sentence[second], b, limit, random);
    *at = random ? middle : stop;
    return example;
}

/* Returns the first token after the middle of [from, to) that begins a word, or the middle if
 * there is none. */
static uint64_t middle_word(const struct nvdp__corpus *corpus,
                            const struct nvdp__piece_table *pieces, uint64_t from, uint64_t to) {
    const uint64_t middle = from + (to - from) / 2;
    for (uint64_t at = middle; at < to; at++)
        if (at > from && !pieces->continues[nvdp__corpus_id(corpus, (size_t)at)]) return at;
    return middle;
}

/* Returns a pair within the document, without another document; `from` is used as *at in
 * take_pair(). If there is no second token, one length is 0. */
static struct nvdp__example take_own_pair(const struct nvdp__corpus *corpus,
                                          const struct nvdp__piece_table *pieces,
                                          struct nvdp__stream *stream, size_t document,
                                          size_t limit, size_t *from) {
    size_t target = draw_target(stream, limit);
    size_t stop = gather(corpus, *from, (size_t)corpus->document[document + 1], target);
    uint64_t start = corpus->sentence[*from], end = corpus->sentence[stop], middle;
    if (stop - *from > 1)
        middle = corpus->sentence[*from + 1 + nvdp__stream_below(stream, stop - *from - 1)];
    else
        middle = middle_word(corpus, pieces, start, end - start < limit ? end : start + limit);
    bool changed = nvdp__stream_uniform(stream) < 0.5;
    size_t a = (size_t)(middle - start), b = (size_t)(end - middle);
    *from = stop;
    return changed ? make_pair(middle, b, start, a, limit, true)
                   : make_pair(start, a, middle, b, limit, false);
}

/* Hashes the document's tokens, so that the cuts of a document depend only on this document. */
static uint64_t document_key(const struct nvdp__corpus *corpus, size_t document) {
    uint64_t key = NVDP__FNV1A;
    size_t end = nvdp__corpus_document(corpus, document + 1);
    for (size_t at = nvdp__corpus_document(corpus, document); at < end; at++)
        key = nvdp__fnv1a(key, (uint64_t)nvdp__corpus_id(corpus, at));
    return key;
}

nvdp_status nvdp__examples_pairs(struct nvdp__examples *examples, const struct nvdp__corpus *corpus,
                                 const struct nvdp__piece_table *own, size_t length, uint64_t seed,
                                 uint32_t epoch) {
    const size_t limit = length - PAIR_SPECIALS;
    struct nvdp__noise noise = {.seed = seed};
    if (own == NULL && corpus->documents < 2)
        return nvdp__fail(examples->ctx, NVDP_ERR_INPUT,
                          "next-sentence prediction: expected a text of at least 2 documents, "
                          "found 1; separate documents by blank lines");
    examples->count = 0;
    for (size_t d = 0; d < corpus->documents; d++) {
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_PAIR, epoch,
                                                       own != NULL ? document_key(corpus, d) : d);
        for (size_t at = (size_t)corpus->document[d]; at < corpus->document[d + 1];) {
            const struct nvdp__example example =
                own != NULL ? take_own_pair(corpus, own, &stream, d, limit, &at)
                            : take_pair(corpus, &stream, d, limit, &at);
            if (own == NULL || (example.first_length > 0 && example.second_length > 0))
                NVDP_TRY(add(examples, &example));
        }
    }
    if (examples->count > 0) return NVDP_OK;
    return nvdp__fail(
        examples->ctx, NVDP_ERR_INPUT,
        "next-sentence prediction: expected a sentence of at least 2 tokens, found none");
}

size_t nvdp__examples_of_document(const struct nvdp__examples *examples,
                                  const struct nvdp__corpus *corpus) {
    size_t most = 0, document = 0, count = 0;
    for (size_t i = 0; i < examples->count; i++) {
        for (; examples->at[i].first >= nvdp__corpus_document(corpus, document + 1); document++)
            count = 0;
        most = nvdp__max(most, ++count);
    }
    return most;
}

/* ---- planted secrets ---- */

nvdp_status nvdp__examples_planted(struct nvdp__examples *examples,
                                   const struct nvdp__plants *plants) {
    for (size_t i = 0; i < plants->windows; i++) {
        const struct nvdp__secret *secret = &plants->secrets->at[plants->window[i]];
        NVDP_TRY(add(examples, &(struct nvdp__example){.first = plants->text + secret->first,
                                                       .first_length = (uint32_t)secret->length}));
    }
    return NVDP_OK;
}

/* ---- masks ---- */

static const double MASK_SHARE = 0.8;
/* share of the drawn tokens that become [MASK] or a random piece */
static const double CHANGED_SHARE = 0.9;

nvdp_status nvdp__masked_create(struct nvdp_context *ctx, size_t capacity,
                                struct nvdp__masked *masked) {
    *masked = (struct nvdp__masked){
        .capacity = capacity,
        .row = nvdp__calloc(ctx, capacity, sizeof *masked->row),
        .label = nvdp__calloc(ctx, capacity, sizeof *masked->label),
        .labels = 1,
    };
    return NVDP__MADE(masked->row, masked->label);
}

void nvdp__masked_release(struct nvdp__masked *masked) {
    free(masked->row);
    free(masked->label);
    *masked = (struct nvdp__masked){0};
}

nvdp_status nvdp__masker_create(struct nvdp_context *ctx, const struct nvdp__piece_table *pieces,
                                double share, bool whole_words, size_t longest,
                                struct nvdp__masker *masker) {
    *masker = (struct nvdp__masker){
        .pieces = pieces,
        .share = share,
        .whole_words = whole_words,
        .longest = longest,
        .unit = nvdp__calloc(ctx, longest, sizeof *masker->unit),
        .drawn = nvdp__calloc(ctx, longest, sizeof *masker->drawn),
    };
    return NVDP__MADE(masker->unit, masker->drawn);
}

void nvdp__masker_release(struct nvdp__masker *masker) {
    free(masker->unit);
    free(masker->drawn);
    *masker = (struct nvdp__masker){0};
}

size_t nvdp__mask_most(double share, size_t tokens) {
    return tokens > 0 ? nvdp__max((size_t)llround(share * (double)tokens), 1) : 0;
}

/* Marks the drawn tokens. Units are tokens, or words, which are runs of tokens. */
static void draw_tokens(struct nvdp__masker *m, struct nvdp__stream *stream, size_t count,
                        const int32_t *ids) {
    const unsigned char *special = m->pieces->special;
    const unsigned char *continues = m->pieces->continues;
    size_t units = 0;
    size_t tokens = 0;
    bool in_word = false;
    for (size_t i = 0; i < count; i++) {
        in_word = in_word && m->whole_words && continues[ids[i]];
        if (!special[ids[i]] && !in_word) m->unit[units++] = (int32_t)i;
        tokens += !special[ids[i]];
        in_word = !special[ids[i]];
    }
    size_t left = nvdp__mask_most(m->share, tokens);
    memset(m->drawn, 0, count);
    /* Partial Fisher-Yates shuffle, from the front. */
    for (size_t i = 0; i < units && left > 0; i++) {
        size_t other = i + (size_t)nvdp__stream_below(stream, units - i);
        size_t start = (size_t)m->unit[other];
        size_t end = start + 1;
        m->unit[other] = m->unit[i];
        while (m->whole_words && end < count && !special[ids[end]] && continues[ids[end]])
            end++;
        if (end - start > left) continue;
        memset(m->drawn + start, 1, end - start);
        left -= end - start;
    }
}

void nvdp__mask_text(struct nvdp__masker *m, struct nvdp__stream *stream, size_t count,
                     int32_t *ids, size_t first_row, struct nvdp__masked *masked) {
    const struct nvdp__piece_table *pieces = m->pieces;
    draw_tokens(m, stream, count, ids);
    for (size_t i = 0; i < count; i++) {
        if (!m->drawn[i]) continue;
        masked->row[masked->count] = (int32_t)(first_row + i);
        masked->label[masked->count++] = ids[i];
        double u = nvdp__stream_uniform(stream);
        if (u < MASK_SHARE)
            ids[i] = pieces->mask;
        else if (u < CHANGED_SHARE)
            ids[i] = pieces->ordinary[nvdp__stream_below(stream, pieces->ordinary_count)];
    }
}

/* ---- batches ---- */

nvdp_status nvdp__batcher_create(struct nvdp_context *ctx, const struct nvdp__corpus *corpus,
                                 const struct nvdp__piece_table *pieces, size_t texts,
                                 size_t length, double mask_prob, bool whole_words,
                                 struct nvdp__batcher *batcher) {
    nvdp__auto(nvdp__batcher_release) struct nvdp__batcher made = {.corpus = corpus,
                                                                   .pieces = pieces};
    NVDP_TRY(nvdp__batch_create(ctx, texts, length, &made.batch));
    NVDP_TRY(
        nvdp__masked_create(ctx, nvdp__batcher_masked(texts, length, mask_prob), &made.masked));
    NVDP_TRY(nvdp__masker_create(ctx, pieces, mask_prob, whole_words, length, &made.masker));
    return NVDP__HAND_OVER(batcher, made);
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

/* Writes a token of the text that starts at row `start`; returns the next row. */
static size_t put_token(struct nvdp__batch *batch, size_t start, size_t at, int32_t id,
                        int32_t type) {
    batch->ids[at] = id;
    batch->types[at] = type;
    batch->positions[at] = (int32_t)(at - start);
    return at + 1;
}

/* Writes a planted secret if there is room for it. */
static size_t put_secret(struct nvdp__batcher *b, size_t start, size_t at, size_t end,
                         const struct nvdp__plant *plant, int32_t type) {
    const struct nvdp__secrets *secrets = b->plants->secrets;
    const struct nvdp__secret *secret = &secrets->at[plant->secret];
    if (at + secret->length > end) return at;
    for (size_t i = 0; i < secret->length; i++)
        at = put_token(b->batch, start, at, secrets->id[secret->first + i], type);
    return at;
}

/* Returns how many of the segment's tokens stay, because planted secrets may take the place of
 * the last tokens. */
static size_t kept_token_count(const struct nvdp__plants *plants, size_t next, uint64_t first,
                               size_t count, size_t room) {
    size_t planted = 0;
    for (; next < plants->count && plants->at[next].at < first + count; next++)
        planted += plants->secrets->at[plants->at[next].secret].length;
    size_t left = room > planted ? room - planted : 0;
    return nvdp__min(count, left);
}

/* Writes up to `room` tokens and [SEP]. */
static size_t put_segment(struct nvdp__batcher *b, size_t start, size_t at, uint64_t first,
                          size_t count, size_t room, int32_t type) {
    const struct nvdp__plants *plants = b->plants;
    /* true if the segment is itself a secret */
    const bool whole = plants != NULL && first >= plants->text;
    const bool mixed = plants != NULL && !whole;
    size_t next = mixed ? nvdp__plants_from(plants, first) : 0, end = at + room;
    size_t kept = mixed ? kept_token_count(plants, next, first, count, room) : count;
    for (size_t i = 0; i < count; i++) {
        for (; mixed && next < plants->count && plants->at[next].at == first + i; next++)
            at = put_secret(b, start, at, end, &plants->at[next], type);
        if (i < kept)
            at = put_token(b->batch, start, at,
                           whole ? plants->secrets->id[first - plants->text + i]
                                 : nvdp__corpus_id(b->corpus, (size_t)first + i),
                           type);
    }
    return put_token(b->batch, start, at, b->pieces->sep, type);
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
        const struct nvdp__example *example = &examples->at[index];
        /* writes [CLS] A [SEP] or [CLS] A [SEP] B [SEP], up to masker.longest tokens */
        const size_t second = example->second_length;
        const size_t room = b->masker.longest - (second > 0 ? PAIR_SPECIALS : SINGLE_SPECIALS);
        const size_t at = put_token(batch, used, used, b->pieces->cls, 0);
        size_t end =
            put_segment(b, used, at, example->first, example->first_length, room - second, 0);
        if (second > 0)
            end = put_segment(b, used, end, example->second, second, room - (end - at - 1), 1);
        struct nvdp__stream stream = nvdp__stream_open(&noise, key->purpose, key->number, index);
        nvdp__mask_text(&b->masker, &stream, end - used, batch->ids + used, used, &b->masked);
        batch->offset[r] = (int32_t)used;
        batch->label[r] = example->random ? 1 : 0;
        batch->key[r] = index;
        if (end - used > batch->longest) batch->longest = end - used;
        used = end;
    }
    batch->offset[n] = (int32_t)used;
    batch->texts = n;
    batch->tokens = used;
}
