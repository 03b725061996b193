/* The validation split: proportions, order, seeds. */
#include "text_support.h"

static struct nvdp_context *ctx;
static struct nvdp_tokenizer *tiny;

static void setup(void) {
    ctx = support_context();
    tiny = text_tiny(ctx);
}

static void teardown(void) {
    nvdp_tokenizer_free(tiny);
}

TestSuite(holdout, .init = setup, .fini = teardown);

/* Makes texts "a" with the labels given, as a user's classes or scores. */
static struct nvdp_dataset *make(size_t rows, int (*label)(size_t row), bool regression) {
    nvdp__autofree char *text = calloc(rows + 1, 32);
    char *end = stpcpy(text, "t\ty\n");
    for (size_t i = 0; i < rows; i++)
        end += sprintf(end, "a\t%d\n", label(i));
    support_file("train.tsv", text);
    struct nvdp_dataset_config config = text_config(NVDP_TASK_TSV);
    nvdp__set_columns(&config, &(struct nvdp__columns){"t", NULL, "y", regression});
    struct nvdp_dataset *dataset = NULL;
    ok(nvdp__dataset_load(ctx, tiny, &config, NVDP_SPLIT_TRAIN, NULL, &dataset));
    return support_keep(dataset);
}

static void split(const struct nvdp_dataset *from, double fraction, uint64_t seed,
                  struct nvdp_dataset **train, struct nvdp_dataset **validation) {
    ok(nvdp__dataset_holdout(ctx, from, fraction, &seed, train, validation));
}

static size_t count_label(const struct nvdp_dataset *dataset, float label) {
    size_t count = 0;
    for (size_t i = 0; i < dataset->count; i++)
        count += dataset->label[i] == label;
    return count;
}

static int skewed(size_t row) { /* 70 %, 25 %, 5 % */
    return row % 20 < 14 ? 0 : row % 20 < 19 ? 1 : 2;
}

Test(holdout, keeps_proportions) {
    struct nvdp_dataset *all = make(1000, skewed, false);
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *train = NULL;
    struct nvdp_dataset *validation;
    split(all, .1, 5, &train, &validation);
    cr_assert_eq(validation->count, 100);
    cr_assert_eq(train->count, 900);
    cr_assert_eq(count_label(validation, 0), 70);
    cr_assert_eq(count_label(validation, 1), 25);
    cr_assert_eq(count_label(validation, 2), 5);
    cr_assert_str_eq(validation->task->labels[2], "2");
    nvdp_dataset_free(validation);
}

/* Both parts together are all rows, each part in file order. */
Test(holdout, partitions_in_order) {
    struct nvdp_dataset *all = make(333, skewed, false);
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *train = NULL;
    struct nvdp_dataset *validation;
    split(all, .1, 5, &train, &validation);
    cr_assert_eq(validation->count, 33);
    size_t a = 0;
    size_t b = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (b < validation->count && validation->index[b] == (int64_t)i) {
            b++;
        } else {
            cr_assert_eq(train->index[a], (int64_t)i);
            a++;
        }
    }
    cr_assert_eq(a, train->count);
    cr_assert_eq(b, validation->count);
    nvdp_dataset_free(validation);
}

Test(holdout, follows_the_seed) {
    struct nvdp_dataset *all = make(1000, skewed, false);
    struct nvdp_dataset *train[3];
    struct nvdp_dataset *validation[3];
    for (size_t i = 0; i < 3; i++)
        split(all, .1, i < 2 ? 5 : 6, &train[i], &validation[i]);
    text_same(train[0], train[1]);
    text_same(validation[0], validation[1]);
    cr_assert_neq(memcmp(validation[0]->index, validation[2]->index,
                         validation[0]->count * sizeof *validation[0]->index),
                  0);
    for (size_t i = 0; i < 3; i++) {
        nvdp_dataset_free(train[i]);
        nvdp_dataset_free(validation[i]);
    }
}

static int scattered(size_t row) {
    return (int)(row * 7919 % 1000);
}

/* A tenth of each tenth of the scores is held out. */
Test(holdout, scores_by_quantile) {
    struct nvdp_dataset *all = make(1000, scattered, true);
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *train = NULL;
    struct nvdp_dataset *validation;
    split(all, .1, 1, &train, &validation);
    size_t bin[10] = {0};
    for (size_t i = 0; i < validation->count; i++)
        bin[(size_t)validation->label[i] / 100]++;
    for (size_t i = 0; i < 10; i++)
        cr_assert_eq(bin[i], 10);
    nvdp_dataset_free(validation);
}

Test(holdout, small_sets_have_both_sides) {
    for (size_t rows = 2; rows < 12; rows++) {
        struct nvdp_dataset *all = make(rows, scattered, true);
        static const double fraction[] = {1e-9, .1, .5, .999};
        for (size_t i = 0; i < sizeof fraction / sizeof fraction[0]; i++) {
            nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *train = NULL;
            struct nvdp_dataset *validation;
            split(all, fraction[i], rows, &train, &validation);
            cr_assert(train->count >= 1 && validation->count >= 1);
            cr_assert_eq(train->count + validation->count, rows);
            nvdp_dataset_free(validation);
        }
    }
}

Test(holdout, without_labels) {
    const char *const text[] = {"a", "b", "the", "cat"};
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *all = NULL;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *train = NULL;
    struct nvdp_dataset *validation;
    ok(nvdp_dataset_from_texts(ctx, tiny, 8, 4, text, NULL, &all));
    split(all, .5, 1, &train, &validation);
    cr_assert_eq(train->count, 2);
    nvdp_dataset_free(validation);
}

/* Counts the words and labels of the texts of `make`. */
enum { N = 400, WORDS = 150 };

static void count_words(const struct nvdp_dataset *of, int sign, int count[2 * WORDS]) {
    for (size_t i = 0; i < of->count; i++)
        count[2 * of->ids[of->offset[i] + 1] + (int)of->label[i]] += sign;
}

static int halves(size_t row) {
    return row % 2 == 0;
}

/* Adding or removing a text moves no other text: its own side changes by one, the other not at
 * all. */
Test(holdout, each_by_itself) {
    struct nvdp_dataset *all = make(N, halves, false), *part[2], *less[2];
    int32_t *ids = (int32_t *)all->ids;
    for (size_t i = 0; i < N; i++) /* some texts are equal, with one label or two */
        ids[all->offset[i] + 1] = (int32_t)(i * i % 149);
    ok(nvdp__dataset_holdout(ctx, all, .25, NULL, &part[0], &part[1]));
    const double sd = sqrt(N * .25 * .75);
    cr_expect_lt(fabs((double)part[1]->count - N * .25), 5 * sd, "%zu", part[1]->count);
    for (size_t without = 0; without < N; without++) {
        size_t rows[N], n = 0;
        nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *rest = NULL;
        for (size_t i = 0; i < N; i++)
            if (i != without) rows[n++] = i;
        ok(nvdp__dataset_select(ctx, all, n, rows, &rest));
        ok(nvdp__dataset_holdout(ctx, rest, .25, NULL, &less[0], &less[1]));
        int moved = 0;
        for (int side = 0; side < 2; side++) {
            int count[2 * WORDS] = {0};
            count_words(part[side], 1, count);
            count_words(less[side], -1, count);
            for (size_t k = 0; k < 2 * WORDS; k++)
                moved += abs(count[k]);
            nvdp_dataset_free(less[side]);
        }
        cr_expect_eq(moved, 1, "without %zu: %d", without, moved);
    }
    nvdp_dataset_free(part[0]);
    nvdp_dataset_free(part[1]);
}

Test(holdout, refusals) {
    const char *const text[] = {"a", "b"};
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *all = NULL;
    struct nvdp_dataset *train = NULL;
    struct nvdp_dataset *validation = NULL;
    ok(nvdp_dataset_from_texts(ctx, tiny, 8, 1, text, NULL, &all));
    text_error(ctx, nvdp__dataset_holdout(ctx, all, .1, &(uint64_t){1}, &train, &validation),
               NVDP_ERR_INPUT, "validation split: expected at least 2 texts, found 1");
    nvdp_dataset_free(all);
    ok(nvdp_dataset_from_texts(ctx, tiny, 8, 2, text, NULL, &all));
    static const double fraction[] = {0, 1, -1, 2, NAN};
    for (size_t i = 0; i < sizeof fraction / sizeof fraction[0]; i++) {
        fails(nvdp__dataset_holdout(ctx, all, fraction[i], &(uint64_t){1}, &train, &validation),
              NVDP_ERR_ARGUMENT, "fraction: expected between 0 and 1");
    }
    cr_assert(train == NULL && validation == NULL);
}
