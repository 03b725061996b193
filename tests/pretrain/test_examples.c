/* Tests windows and pairs: the text that they cover, their cuts, and the data on which they
 * depend. */
#include "toy_corpus.h"

static size_t document_of(const struct nvdp__corpus *corpus, uint64_t token) {
    size_t d = 0;
    while (nvdp__corpus_document(corpus, d + 1) <= token)
        d++;
    return d;
}

/* Checks that the windows cover the text, each token once, in order. */
static void check_windows(const struct toy *toy, const struct nvdp__examples *examples,
                          size_t length) {
    size_t at = 0;
    for (size_t i = 0; i < examples->count; i++) {
        const struct nvdp__example *e = &examples->at[i];
        cr_assert_eq(e->first, at);
        cr_assert_eq(e->second_length, 0);
        cr_assert(e->first_length >= 1 && e->first_length <= length - 2);
        at += e->first_length;
        cr_assert_eq(document_of(&toy->corpus, e->first), document_of(&toy->corpus, at - 1));
        if (at < toy->corpus.tokens && length > 6) /* longer than any word */
            cr_assert(!toy->pieces.continues[nvdp__corpus_id(&toy->corpus, at)]);
    }
    cr_assert_eq(at, toy->corpus.tokens);
}

Test(examples, windows_cover_the_text_once) {
    nvdp__auto(toy_close) struct toy toy = toy_open(60);
    nvdp__auto(nvdp__examples_release) struct nvdp__examples examples = {.ctx = toy.ctx};
    const uint64_t seed = 5;
    for (size_t length = 4; length <= 40; length += 6) {
        for (uint32_t epoch = 0; epoch < 4; epoch++) {
            ok(nvdp__examples_windows(&examples, &toy.corpus, &toy.pieces, length,
                                      epoch == 0 ? NULL : &seed, epoch));
            check_windows(&toy, &examples, length);
        }
    }
}

Test(examples, windows_move_from_epoch_to_epoch_and_repeat_with_the_seed) {
    nvdp__auto(toy_close) struct toy toy = toy_open(60);
    nvdp__auto(nvdp__examples_release) struct nvdp__examples a = {.ctx = toy.ctx};
    struct nvdp__examples b = {.ctx = toy.ctx};
    const uint64_t seed = 5;
    for (uint32_t epoch = 1; epoch <= 2; epoch++) {
        ok(nvdp__examples_windows(&a, &toy.corpus, &toy.pieces, 16, &seed, 1));
        ok(nvdp__examples_windows(&b, &toy.corpus, &toy.pieces, 16, &seed, epoch));
        bool same = a.count == b.count;
        for (size_t i = 0; same && i < a.count; i++)
            same = a.at[i].first == b.at[i].first;
        cr_assert_eq(same, epoch == 1);
    }
    nvdp__examples_release(&b);
}

/* The first segments of a document follow each other. A second segment that is not random
 * follows its first, up to the tokens cut from the first. */
Test(examples, pairs_follow_or_come_from_elsewhere) {
    enum { LENGTH = 32 };
    nvdp__auto(toy_close) struct toy toy = toy_open(300);
    nvdp__auto(nvdp__examples_release) struct nvdp__examples examples = {.ctx = toy.ctx};
    size_t random = 0;
    size_t full = 0;
    uint64_t reached = 0;
    ok(nvdp__examples_pairs(&examples, &toy.corpus, NULL, LENGTH, 3, 0));
    for (size_t i = 0; i < examples.count; i++) {
        const struct nvdp__example *e = &examples.at[i];
        size_t document = document_of(&toy.corpus, e->first);
        cr_assert(e->first_length >= 1 && e->second_length >= 1);
        cr_assert_leq(e->first_length + e->second_length, LENGTH - 3);
        cr_assert_eq(document, document_of(&toy.corpus, e->first + e->first_length - 1));
        size_t other = document_of(&toy.corpus, e->second);
        cr_assert_eq(other, document_of(&toy.corpus, e->second + e->second_length - 1));
        cr_assert_eq(e->random, other != document);
        cr_assert_geq(e->first, reached); /* no token is in two first segments */
        reached = e->first + e->first_length;
        if (!e->random) cr_assert_geq(e->second, reached);
        random += e->random;
        full += e->first_length + e->second_length == LENGTH - 3;
    }
    /* A coin makes half of the pairs random, and those of a document's last sentence are always
     * random: 0.5 to 0.75 here. With at least 600 pairs a coin's share is outside 0.5 +- 0.1
     * with probability below 1e-6. */
    cr_assert_gt(examples.count, 600);
    double share = (double)random / (double)examples.count;
    cr_assert(share > 0.4 && share < 0.8, "%g", share);
    cr_assert_gt(full, examples.count / 8);
}

/* Both segments are from one document and adjacent, except for cuts; half of the pairs are
 * swapped. No token is in two pairs. */
Test(examples, own_pairs_share_no_text) {
    for (size_t length = 8; length <= 48; length += 8) {
        nvdp__auto(toy_close) struct toy toy = toy_open(300);
        nvdp__auto(nvdp__examples_release) struct nvdp__examples examples = {.ctx = toy.ctx};
        size_t changed = 0, used = 0;
        uint64_t reached = 0;
        ok(nvdp__examples_pairs(&examples, &toy.corpus, &toy.pieces, length, 3, 0));
        for (size_t i = 0; i < examples.count; i++) {
            const struct nvdp__example *e = &examples.at[i];
            const uint64_t start = e->random ? e->second : e->first,
                           middle = e->random ? e->first : e->second,
                           a = e->random ? e->second_length : e->first_length,
                           b = e->random ? e->first_length : e->second_length;
            cr_assert(a >= 1 && b >= 1 && a + b <= length - 3);
            cr_assert_geq(start, reached);
            cr_assert_leq(start + a, middle);
            cr_assert_eq(document_of(&toy.corpus, start), document_of(&toy.corpus, middle + b - 1));
            cr_expect(!toy.pieces.continues[nvdp__corpus_id(&toy.corpus, middle)]);
            reached = middle + b;
            changed += e->random;
            used += a + b;
        }
        /* With at least 300 pairs a coin's share is outside 0.5 +- 0.15 with probability below
         * 1e-6. */
        double share = (double)changed / (double)examples.count;
        cr_assert_gt(examples.count, 300);
        cr_assert(share > 0.35 && share < 0.65, "%g", share);
        cr_assert_gt(used, toy.corpus.tokens * 2 / 5, "%zu of %zu", used, toy.corpus.tokens);
    }
}

/* Without its first document a text has the same pairs of its other documents. */
Test(examples, own_pairs_depend_on_their_document_alone) {
    nvdp__auto(toy_close) struct toy toy = toy_open(50);
    nvdp__auto(nvdp__examples_release) struct nvdp__examples all = {.ctx = toy.ctx},
                                                             fewer = {.ctx = toy.ctx};
    struct nvdp__corpus less = toy.corpus;
    less.document++, less.documents--;
    ok(nvdp__examples_pairs(&all, &toy.corpus, &toy.pieces, 24, 3, 0));
    ok(nvdp__examples_pairs(&fewer, &less, &toy.pieces, 24, 3, 0));
    size_t gone = all.count - fewer.count;
    cr_assert(gone > 0 && fewer.count > 40);
    for (size_t i = 0; i < fewer.count; i++) {
        const struct nvdp__example *a = &all.at[gone + i], *b = &fewer.at[i];
        cr_assert(a->first == b->first && a->second == b->second && a->random == b->random &&
                  a->first_length == b->first_length && a->second_length == b->second_length);
    }
}

Test(examples, pairs_need_two_documents) {
    nvdp__auto(toy_close) struct toy toy = toy_open(1);
    nvdp__auto(nvdp__examples_release) struct nvdp__examples examples = {.ctx = toy.ctx};
    fails(nvdp__examples_pairs(&examples, &toy.corpus, NULL, 32, 3, 0), NVDP_ERR_INPUT,
          "at least 2 documents");
}
