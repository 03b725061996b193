#include "pretrain/examples.h"

#include <stdlib.h>

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
