/* Tests masks: their number, their places, and the tokens that replace the masked ones. */
#include "toy_corpus.h"

enum { LENGTH = 40 };

/* Fills ids with [CLS], tokens of the corpus including [UNK], and [SEP]. */
static void fill(const struct toy *toy, size_t start, int32_t ids[LENGTH]) {
    ids[0] = toy->pieces.cls;
    for (size_t i = 1; i < LENGTH - 1; i++)
        ids[i] = nvdp__corpus_id(&toy->corpus, (start + i) % toy->corpus.tokens);
    ids[7] = 1;
    ids[LENGTH - 1] = toy->pieces.sep;
}

struct tally {
    size_t masked, mask, same, other;
};

static void check_text(const struct toy *toy, const int32_t *before, const int32_t *after,
                       const struct nvdp__masked *masked, struct tally *tally) {
    size_t at = 0;
    for (size_t i = 0; i < LENGTH; i++) {
        bool drawn = at < masked->count && masked->row[at] == (int32_t)(100 + i);
        if (!drawn) {
            cr_assert_eq(before[i], after[i]);
            continue;
        }
        cr_assert_eq(masked->label[at++], before[i]);
        cr_assert(!toy->pieces.special[before[i]]);
        tally->mask += after[i] == toy->pieces.mask;
        tally->same += after[i] == before[i];
        tally->other += after[i] != toy->pieces.mask && after[i] != before[i];
        cr_assert(after[i] == toy->pieces.mask || !toy->pieces.special[after[i]]);
    }
    cr_assert_eq(at, masked->count);
    tally->masked += masked->count;
}

static struct tally mask_many(const struct toy *toy, double share, bool whole_words, size_t texts,
                              size_t max_masked) {
    struct tally tally = {0};
    struct nvdp__masker masker;
    struct nvdp__masked masked;
    ok(nvdp__masker_create(toy->ctx, &toy->pieces, share, whole_words, LENGTH, &masker));
    ok(nvdp__masked_create(toy->ctx, LENGTH, &masked));
    for (size_t t = 0; t < texts; t++) {
        int32_t before[LENGTH];
        int32_t after[LENGTH];
        struct nvdp__noise noise = {.seed = 4};
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MASK, 2, t);
        fill(toy, 11 * t, before);
        memcpy(after, before, sizeof before);
        masked.count = 0;
        nvdp__mask_text(&masker, &stream, LENGTH, after, 100, &masked);
        cr_assert_leq(masked.count, max_masked);
        if (!whole_words) cr_assert_eq(masked.count, max_masked);
        check_text(toy, before, after, &masked, &tally);
    }
    nvdp__masked_release(&masked);
    nvdp__masker_release(&masker);
    return tally;
}

Test(mask, numbers) {
    cr_assert_eq(nvdp__mask_most(0.15, 100), 15);
    cr_assert_eq(nvdp__mask_most(0.15, 10), 2);
    cr_assert_eq(nvdp__mask_most(0.15, 2), 1);
    cr_assert_eq(nvdp__mask_most(0.15, 0), 0);
}

/* 37 ordinary tokens and a share of .15 give 6 masks per text. The 12,000 masks are 80, 10 and
 * 10 % of each kind, with standard deviations of .37 and .27 %; a random piece equals the
 * original in 1 of 32. Five standard deviations: false alarms below 1e-5. */
Test(mask, eighty_ten_ten) {
    nvdp__auto(toy_close) struct toy toy = toy_open(50);
    struct tally tally = mask_many(&toy, 0.15, false, 2000, 6);
    double n = (double)tally.masked;
    cr_assert_eq(tally.masked, 12000);
    cr_assert_float_eq((double)tally.mask / n, 0.8, 0.0185);
    cr_assert_float_eq((double)tally.same / n, 0.1 + 0.1 / 32, 0.0145);
    cr_assert_float_eq((double)tally.other / n, 0.1 - 0.1 / 32, 0.0145);
}

/* Every token is equally likely: 6 of 37, with a standard deviation of .58 % over 4,000 texts. */
Test(mask, places_are_even) {
    nvdp__auto(toy_close) struct toy toy = toy_open(50);
    size_t drawn[LENGTH] = {0};
    nvdp__auto(nvdp__masker_release) struct nvdp__masker masker;
    nvdp__auto(nvdp__masked_release) struct nvdp__masked masked;
    ok(nvdp__masker_create(toy.ctx, &toy.pieces, 0.15, false, LENGTH, &masker));
    ok(nvdp__masked_create(toy.ctx, LENGTH, &masked));
    for (size_t t = 0; t < 4000; t++) {
        int32_t ids[LENGTH];
        struct nvdp__noise noise = {.seed = 9};
        struct nvdp__stream stream =
            nvdp__stream_open(&noise, NVDP__PURPOSE_MASK, (uint32_t)(t / 64), t % 64);
        fill(&toy, 0, ids);
        masked.count = 0;
        nvdp__mask_text(&masker, &stream, LENGTH, ids, 0, &masked);
        for (size_t i = 0; i < masked.count; i++)
            drawn[masked.row[i]]++;
    }
    for (size_t i = 0; i < LENGTH; i++) {
        bool special = i == 0 || i == 7 || i == LENGTH - 1;
        cr_assert_float_eq((double)drawn[i] / 4000, special ? 0 : 6.0 / 37, 0.03, "%zu", i);
    }
}

/* With whole words a continuing piece is masked together with the piece before it. */
Test(mask, whole_words) {
    nvdp__auto(toy_close) struct toy toy = toy_open(50);
    struct nvdp__masker masker;
    nvdp__auto(nvdp__masked_release) struct nvdp__masked masked;
    size_t words = 0;
    ok(nvdp__masker_create(toy.ctx, &toy.pieces, 0.3, true, LENGTH, &masker));
    ok(nvdp__masked_create(toy.ctx, LENGTH, &masked));
    for (size_t t = 0; t < 300; t++) {
        int32_t before[LENGTH];
        int32_t after[LENGTH];
        bool drawn[LENGTH] = {0};
        struct nvdp__noise noise = {.seed = 4};
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MASK, 0, t);
        fill(&toy, 13 * t, before);
        memcpy(after, before, sizeof before);
        masked.count = 0;
        nvdp__mask_text(&masker, &stream, LENGTH, after, 0, &masked);
        cr_assert(masked.count >= 10 && masked.count <= 11, "%zu", masked.count);
        for (size_t i = 0; i < masked.count; i++)
            drawn[masked.row[i]] = true;
        for (size_t i = 2; i < LENGTH - 1; i++) {
            if (!toy.pieces.continues[before[i]] || toy.pieces.special[before[i - 1]]) continue;
            cr_assert_eq(drawn[i], drawn[i - 1]);
            words += drawn[i];
        }
    }
    cr_assert_gt(words, 100);
    nvdp__masker_release(&masker);
    mask_many(&toy, 0.3, true, 300, 11);
}
