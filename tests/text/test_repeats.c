/* Tests how often texts repeat: the counts, the list of them, and the rule of promises. */
#include "text_support.h"

#include "test_context.h"

/* Makes texts of one word, or pairs of two: words[name[i]] and, unless `pair` is NULL, words[pair[i]]. */
static struct nvdp_dataset *made(size_t count, const int *name, const int *pair) {
    struct nvdp_tokenizer *tokenizer = text_tiny(ctx);
    static const char *const words[] = {"the", "cat", "sat", "mat", "run", "un"};
    const char *text[64], *second[64];
    struct nvdp_dataset *data = NULL;
    cr_assert_leq(count, 64);
    for (size_t i = 0; i < count; i++) {
        text[i] = words[name[i]];
        if (pair != NULL) second[i] = words[pair[i]];
    }
    ok(nvdp_dataset_from_texts(ctx, tokenizer, 16, count, text, pair != NULL ? second : NULL,
                               &data));
    return support_keep(data);
}

static struct nvdp__repeats counted(size_t parts, const struct nvdp_dataset *const *part) {
    nvdp__auto(nvdp__text_digests_release) struct nvdp__text_digests digests = {.ctx = ctx};
    struct nvdp__repeats repeats;
    for (size_t p = 0; p < parts; p++)
        ok(nvdp__text_digests_add(&digests, part[p]));
    ok(nvdp__repeats_count(&digests, &repeats));
    return repeats;
}

Test(repeats, rows_of_all_parts_count) {
    const struct nvdp_dataset *part[] = {made(3, (int[]){0, 1, 2}, NULL),
                                         made(4, (int[]){3, 0, 1, 1}, NULL),
                                         made(2, (int[]){4, 5}, NULL)};
    struct nvdp__repeats repeats = counted(1, part);
    cr_expect_eq(repeats.most, 1);
    cr_expect_str_eq(repeats.text, "");
    repeats = counted(3, part);
    cr_expect_eq(repeats.most, 3);
    cr_expect_str_eq(repeats.text, "1 text stands twice, 1 stands 3 times");
    cr_expect_eq(counted(0, part).most, 0);
    for (int i = 0; i < 3; i++)
        nvdp_dataset_free((struct nvdp_dataset *)part[i]);
}

/* (a, b) and (b, a) are two texts, and so are a text and a pair that begins with it. */
Test(repeats, pairs_are_equal_in_both_texts) {
    struct nvdp_dataset *pairs = made(5, (int[]){0, 1, 0, 0, 0}, (int[]){1, 0, 2, 1, 0});
    struct nvdp_dataset *texts = made(1, (int[]){0}, NULL);
    const struct nvdp_dataset *part[] = {pairs, texts};
    struct nvdp__repeats repeats = counted(2, part);
    cr_expect_eq(repeats.most, 2);
    cr_expect_str_eq(repeats.text, "1 text stands twice");
    /* types tell a pair from a text of the same ids */
    struct nvdp_dataset *other = made(1, (int[]){0}, NULL);
    const struct nvdp_dataset *both[] = {texts, other};
    cr_expect_eq(counted(2, both).most, 2);
    other->types[0] = 1;
    cr_expect_eq(counted(2, both).most, 1);
}

/* The list has four items; the last one is a range if more numbers occur. */
Test(repeats, list_is_short) {
    const char *const expected[] = {
        "2 texts stand twice", "2 texts stand twice, 1 stands 3 times",
        "2 texts stand twice, 1 stands 3 times, 1 stands 5 times",
        "2 texts stand twice, 1 stands 3 times, 1 stands 5 times, 1 stands 6 times",
        "2 texts stand twice, 1 stands 3 times, 1 stands 5 times, 2 stand 6 to 9 times"};
    const int rows[] = {2, 2, 3, 5, 6, 9};
    for (size_t last = 0; last < 5; last++) {
        int name[64];
        size_t count = 0;
        for (int text = 0; text <= (int)last + 1; text++)
            for (int k = 0; k < rows[text]; k++)
                name[count++] = text;
        struct nvdp_dataset *data = made(count, name, NULL);
        const struct nvdp_dataset *part[] = {data};
        struct nvdp__repeats repeats = counted(1, part);
        cr_expect_eq(repeats.most, (size_t)rows[last + 1]);
        cr_expect_str_eq(repeats.text, expected[last]);
    }
}

Test(repeats, promise_is_of_all_samples_of_a_text) {
    cr_expect(nvdp__keeps_promise(0, 1, 1, 1));
    cr_expect_not(nvdp__keeps_promise(0, 2, 1, 1)); /* two rows */
    cr_expect(nvdp__keeps_promise(0, 2, 1, 2));
    cr_expect(nvdp__keeps_promise(0, 5, 5, 1)); /* one row with five samples: the caller's choice */
    cr_expect_not(nvdp__keeps_promise(0, 10, 5, 1));
    cr_expect_not(nvdp__keeps_promise(1, 1, 1, 1));
    cr_expect(nvdp__keeps_promise(1, 1, 1, 2));
    cr_expect_not(nvdp__keeps_promise(1, 5, 5, 2));
}
