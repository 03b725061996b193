/* Growing arrays, sorting by members, sums of numbers, paths by value. */
#include "base/array.h"
#include "base/file.h"
#include "support.h"

#include "test_context.h"

struct row {
    double score;
    const char *name;
    int32_t class;
    uint64_t id;
    unsigned char hash[3];
    bool marked;
};

Test(array, grows) {
    nvdp__autofree size_t *item = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < 1000; i++)
        ok(NVDP__PUSH(ctx, item, count, capacity, i * i));
    cr_assert_eq(count, 1000);
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(item[i], i * i);
    nvdp__fail_allocation(ctx, 1);
    while (count < capacity)
        ok(NVDP__PUSH(ctx, item, count, capacity, 0));
    cr_assert_eq(NVDP__PUSH(ctx, item, count, capacity, 0), NVDP_ERR_MEMORY);
    cr_assert_eq(count, capacity);
}

Test(array, takes_several_values) {
    nvdp__autofree int32_t *item = NULL;
    size_t count = 0, capacity = 0;
    ok(NVDP__PUSH_ALL(ctx, item, count, capacity, 0, NULL));
    for (int32_t i = 0; i < 300; i += 3)
        ok(NVDP__PUSH_ALL(ctx, item, count, capacity, 3, ((int32_t[]){i, i + 1, i + 2})));
    cr_assert_eq(count, 300);
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(item[i], (int32_t)i);
    nvdp__fail_allocation(ctx, 1);
    cr_assert_eq(NVDP__PUSH_ALL(ctx, item, count, capacity, capacity, item), NVDP_ERR_MEMORY);
    cr_assert_eq(count, 300);
}

Test(array, sums_of_numbers) {
    const double x[] = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}, far[] = {-INFINITY, 1000, 1000};
    double mean = 0, squares = 0;
    for (size_t i = 0; i < 4; i++)
        nvdp__welford(i + 1, x[i], &mean, &squares);
    cr_assert_eq(mean, 1e9 + 10);
    cr_assert_eq(squares, 90);
    near(nvdp__log_add(-1000, -1001), -1000 + log1p(exp(-1)), 1e-12);
    near(nvdp__log_sum(3, far), 1000 + log(2), 1e-12);
    cr_assert_eq(nvdp__log_sum(1, far), -INFINITY);
    cr_assert_eq(nvdp__log_sum(0, far), -INFINITY);
    cr_assert_eq(nvdp__log_add(-INFINITY, -INFINITY), -INFINITY);
    cr_assert_eq(nvdp__log_add(INFINITY, 1), INFINITY);
}

Test(array, is_sorted_by_members) {
    struct row row[] = {{.5, "b", 1, 9, {1, 2, 3}, true},
                        {.5, "a", 1, UINT64_MAX, {1, 2, 2}, false},
                        {-INFINITY, "c", -2, 3, {0, 255, 0}, false},
                        {2, "a", 0, 4, {1, 0, 0}, true}};
    NVDP__SORT(row, 4, NVDP__DOWN(struct row, score), NVDP__UP(struct row, name));
    cr_assert_str_eq(row[0].name, "a");
    cr_assert_eq(row[1].id, UINT64_MAX);
    cr_assert_eq(row[2].id, 9);
    cr_assert_eq(row[3].class, -2);
    NVDP__SORT(row, 4, NVDP__UP(struct row, class), NVDP__DOWN(struct row, id));
    cr_assert_eq(row[0].id, 3);
    cr_assert_eq(row[1].id, 4);
    cr_assert_eq(row[2].id, UINT64_MAX);
    NVDP__SORT(row, 4, NVDP__UP_MEMORY(struct row, hash));
    cr_assert_eq(row[0].id, 3);
    cr_assert_eq(row[1].id, 4);
    cr_assert_eq(row[3].id, 9);
    NVDP__SORT(row, 4, NVDP__UP(struct row, marked), NVDP__UP(struct row, id));
    cr_assert_eq(row[0].id, 3);
    cr_assert_eq(row[2].id, 4);
}

Test(array, of_plain_items_is_sorted) {
    const char *word[] = {"of", "a", "the"};
    NVDP__SORT(word, 3, NVDP__UP_ITEM(const char *));
    cr_assert_str_eq(word[0], "a");
    cr_assert_str_eq(word[2], "the");
    float value[] = {3, -1, 2};
    NVDP__SORT(value, 3, NVDP__DOWN_ITEM(float));
    cr_assert_eq(value[0], 3);
    cr_assert_eq(value[2], -1);
    nvdp__sort(NULL, 0, sizeof(int), NVDP__KEYS(NVDP__UP_ITEM(int)));
}

Test(array, paths_are_values) {
    cr_assert_str_eq(nvdp__path("run", "a.json").text, "run/a.json");
    cr_assert_str_eq(nvdp__path("run/", "a.json").text, "run/a.json");
    cr_assert_str_eq(nvdp__path("", "a.json").text, "a.json");
    cr_assert_str_eq(nvdp__path_format("%s-%d", "epoch", 3).text, "epoch-3");
}

Test(array, a_path_that_is_too_long_names_no_file) {
    char folder[2 * PATH_MAX];
    for (size_t i = 0; i < sizeof folder - 1; i++)
        folder[i] = i % 2 == 0 ? '.' : '/';
    folder[sizeof folder - 1] = '\0';
    cr_assert_eq(open(nvdp__path(folder, "").text, O_RDONLY | O_CLOEXEC), -1);
    cr_assert_eq(errno, ENAMETOOLONG);
}

Test(array, together) {
    struct nvdp__memory memory = {0};
    double *x = NULL;
    nvdp__autofree double *alone = NULL;
    int32_t *id = NULL;
    ok(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(x, 3), NVDP__ITEMS(id, 0)));
    ok(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(alone, 2)));
    cr_expect(x != NULL && id != NULL && x[2] == 0 && alone[1] == 0);
    cr_expect_eq(memory.count, 2);
    nvdp__fail_allocation(ctx, 3); /* the list has room for both */
    cr_expect_eq(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(x, 3), NVDP__ITEMS(id, 1)),
                 NVDP_ERR_MEMORY);
    nvdp__memory_release(&memory);
    cr_expect(memory.item == NULL && memory.count == 0);
    nvdp__memory_release(&memory);
}
