/* Tests the engine of options: an option is one row, and everything else follows from it. */
#include "options/schema.h"
#include "support.h"

#include "test_context.h"

struct work {
    bool fast;
    int copies;
    size_t texts;
    uint64_t seed;
    double weight, bound;
    const char *name, *places;
    enum { SMALL, LARGE } size;
    double added; /* of the new option */
};

#define AT(member) NVDP_OPTION_AT(struct work, member)
static const char *const sizes[] = {"small", "large", NULL};
#define ROWS                                                                                       \
    {"fast", NVDP_OPTION_FLAG, NULL, "in less time", "false", AT(fast)},                           \
        {"copies", NVDP_OPTION_INTEGER, "N", "how many", "1", AT(copies), .min = 1, .max = 9},     \
        {"texts", NVDP_OPTION_INTEGER, "N", "how many", "0", AT(texts)},                           \
        {"seed", NVDP_OPTION_SEED, "N", "of everything", "7", AT(seed)},                           \
        {"some-weight",                                                                            \
         NVDP_OPTION_REAL,                                                                         \
         "X",                                                                                      \
         "in nats",                                                                                \
         "0.1",                                                                                    \
         AT(weight),                                                                               \
         .max = 10,                                                                                \
         .parent = "inner",                                                                        \
         .traits = NVDP_TRAIT_NEGATIVE},                                                           \
        {"bound",                                                                                  \
         NVDP_OPTION_REAL,                                                                         \
         "X",                                                                                      \
         "or none",                                                                                \
         "inf",                                                                                    \
         AT(bound),                                                                                \
         .min = -INFINITY,                                                                         \
         .max = INFINITY,                                                                          \
         .parent = "inner",                                                                        \
         .key = "limit"},                                                                          \
        {"name",                                                                                   \
         NVDP_OPTION_TEXT,                                                                         \
         "NAME",                                                                                   \
         "of the thing",                                                                           \
         NULL,                                                                                     \
         AT(name),                                                                                 \
         .traits = NVDP_TRAIT_REQUIRED},                                                           \
        {"places", NVDP_OPTION_LIST, "P", "one or more", "here", AT(places)},                      \
        {"size", NVDP_OPTION_CHOICE, "S", "small or large", "small", AT(size), .choices = sizes},  \
        {"numbers", NVDP_OPTION_REAL, "X", "both",                                                 \
         .sets = (const char *const[]){"some-weight", "bound", NULL}},                             \
    {                                                                                              \
        "germ", NVDP_OPTION_SEED, "N", "the same as seed", .sets = (const char *const[]) {         \
            "seed", NULL                                                                           \
        }                                                                                          \
    }

static const struct nvdp_option rows[] = {ROWS, {0}};
/* Adds an option with one row. */
static const struct nvdp_option more_rows[] = {
    ROWS,
    {"added", NVDP_OPTION_REAL, "X", "what is new", "0.5", AT(added), .unit = "nats", .max = 1},
    {0},
};

static nvdp_status check(struct nvdp_context *of, const void *values) {
    const struct work *work = values;
    if (!work->fast || work->size == SMALL) return NVDP_OK;
    return nvdp__fail(of, NVDP_ERR_ARGUMENT, "fast and large exclude each other");
}

static const struct nvdp__section sections[] = {{.row = rows}}, more[] = {{.row = more_rows}};
static const struct nvdp__implied implied[] = {{"size", "large", "copies", "4"},
                                               {"size", "large", "bound", "2"}};
static const struct nvdp__schema schema = {.kind = "work",
                                           .size = sizeof(struct work),
                                           .section = sections,
                                           .sections = 1,
                                           .implied = implied,
                                           .implications = 2,
                                           .check = check};
static const struct nvdp__schema schema_of_more = {
    .kind = "more work", .size = sizeof(struct work), .section = more, .sections = 1};

static struct nvdp_config *config_of(const struct nvdp__schema *of) {
    struct nvdp_config *config = NULL;
    ok(nvdp__config_create(ctx, of, &config));
    return support_keep(config);
}

static void set(struct nvdp_config *config, const char *name, const char *value) {
    cr_assert_eq(nvdp_config_set(config, name, value), NVDP_OK, "%s %s", name, value);
}

static void has(const struct nvdp_config *config, const char *name, const char *value) {
    const char *found = nvdp_config_get(config, name);
    cr_expect(value == NULL ? found == NULL : found != NULL && strcmp(found, value) == 0,
              "%s: expected %s, found %s", name, value, found);
}

static void refused(nvdp_status status, nvdp_status expected, const char *message) {
    cr_expect_eq(status, expected);
    cr_expect_str_eq(nvdp_context_error(ctx), message);
}

Test(schema, defaults_values_and_structs_agree) {
    struct nvdp_config *config = config_of(&schema);
    struct work work, plain;
    nvdp__schema_default(&schema, &plain);
    ok(nvdp__config_values(ctx, config, &schema, &work));
    cr_assert(!work.fast && work.copies == 1 && work.texts == 0 && work.seed == 7);
    cr_assert(work.weight == 0.1 && work.bound == INFINITY && work.size == SMALL);
    cr_assert(work.name == NULL && strcmp(work.places, "here") == 0);
    cr_assert(plain.weight == work.weight && plain.seed == work.seed && plain.copies == 1);
    set(config, "fast", "true");
    set(config, "copies", "9");
    set(config, "seed", "18446744073709551615");
    set(config, "some_weight", "1e-300");
    set(config, "bound", "-inf");
    set(config, "name", "a name");
    set(config, "size", "small");
    ok(nvdp__config_open(ctx, config, &schema, &work));
    cr_assert(work.fast && work.copies == 9 && work.seed == UINT64_MAX);
    cr_assert(work.weight == 1e-300 && work.bound == -INFINITY);
    cr_assert_str_eq(work.name, "a name");
    has(config, "some-weight", "1e-300");
    has(config, "bound", "-inf");
    cr_assert(nvdp_config_is_set(config, "some-weight") && !nvdp_config_is_set(config, "texts"));
    set(config, "copies", NULL); /* back to the default */
    has(config, "copies", "1");
    cr_assert(!nvdp_config_is_set(config, "copies"));
}

Test(schema, numbers_come_back_in_as_few_digits_as_tell_them) {
    struct nvdp_config *config = config_of(&schema);
    static const char *const numbers[] = {"0.1", "2e-05", "0.333333333333333", "-3", "1e-08"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        set(config, "some-weight", numbers[i]);
        has(config, "some-weight", numbers[i]);
    }
    set(config, "some-weight", "0.1000000000000000055511151231257827");
    has(config, "some-weight", "0.1");
}

Test(schema, what_does_not_fit_is_refused_and_changes_nothing) {
    struct nvdp_config *config = config_of(&schema);
    const nvdp_status argument = NVDP_ERR_ARGUMENT;
    refused(nvdp_config_set(config, "some-weihgt", "1"), argument,
            "unknown option '--some-weihgt'; did you mean 'some-weight'?");
    refused(nvdp_config_set(config, "some-weight", "heavy"), argument,
            "option --some-weight: expected a number, found 'heavy'");
    refused(nvdp_config_set(config, "some-weight", "nan"), argument,
            "option --some-weight: expected a number, found 'nan'");
    refused(nvdp_config_set(config, "some-weight", "11"), argument,
            "--some-weight: expected 0 to 10, found 11");
    refused(nvdp_config_set(config, "copies", "0"), argument, "--copies: expected 1 to 9, found 0");
    refused(nvdp_config_set(config, "copies", "-1"), argument,
            "option --copies: expected a whole number of at least 0, found '-1'");
    refused(
        nvdp_config_set(config, "seed", "18446744073709551616"), argument,
        "option --seed: expected a whole number from 0 to 2^64-1, found '18446744073709551616'");
    refused(nvdp_config_set(config, "size", "huge"), argument,
            "option --size: expected one of small large, found 'huge'");
    refused(nvdp_config_set(config, "fast", "yes"), argument,
            "option --fast: expected true or false, found 'yes'");
    has(config, "some-weight", "0.1");
    has(config, "copies", "1");
    has(config, "some-weihgt", NULL);
    struct work work;
    refused(nvdp__config_open(ctx, config, &schema, &work), argument,
            "name: expected a value, found none");
    set(config, "name", "x");
    set(config, "size", "large");
    set(config, "fast", "true");
    refused(nvdp__config_open(ctx, config, &schema, &work), argument,
            "fast and large exclude each other");
    refused(nvdp__config_open(ctx, config, &schema_of_more, &work), argument,
            "expected a configuration of more work, found work");
}

Test(schema, implied_values_follow_and_give_way) {
    struct nvdp_config *config = config_of(&schema);
    set(config, "size", "large");
    has(config, "copies", "4");
    has(config, "bound", "2");
    cr_assert(!nvdp_config_is_set(config, "copies"));
    set(config, "copies", "2");
    has(config, "copies", "2");
    set(config, "size", "small");
    has(config, "copies", "2");
    has(config, "bound", "inf");
    set(config, "numbers", "3"); /* a synonym sets both */
    has(config, "some-weight", "3");
    has(config, "bound", "3");
    has(config, "numbers", "3");
    set(config, "bound", "4");
    has(config, "numbers", NULL);
}

/* The caller's value wins over a file's under either name.  Two names from the same source are refused. */
Test(schema, one_option_is_not_given_under_two_names) {
    struct nvdp_config *config = config_of(&schema);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *copy = NULL;
    set(config, "germ", "1");
    set(config, "germ", "2");
    refused(nvdp_config_set(config, "seed", "3"), NVDP_ERR_ARGUMENT,
            "options --germ and --seed set the same option; keep one of them");
    has(config, "seed", "2");
    ok(nvdp_config_copy(config, &copy));
    set(copy, "germ", "4");
    refused(nvdp_config_set(copy, "seed", "3"), NVDP_ERR_ARGUMENT,
            "options --germ and --seed set the same option; keep one of them");
    set(config, "germ", NULL);
    set(config, "seed", "3");
    has(config, "germ", "3");
    set(config, "some-weight", "1"); /* a synonym of several options is another option */
    set(config, "numbers", "2");
    config = config_of(&schema);
    ok(nvdp_config_load_text(config, "a file", "{\"seed\": 5}"));
    set(config, "germ", "6");
    has(config, "seed", "6");
    refused(nvdp_config_load_text(config, "a file", "{\"seed\": 5, \"germ\": 5}"),
            NVDP_ERR_ARGUMENT,
            "a file: keys 'seed' and 'germ' set the same option; keep one of them");
}

Test(schema, files_give_options_and_come_back_the_same) {
    struct nvdp_config *config = config_of(&schema), *again = config_of(&schema);
    const char *path = support_scratch_path("options.json");
    nvdp__autofree char *text = NULL, *same = NULL;
    support_write_text(path, "{\"fast\": true, \"copies\": 3, \"some_weight\": 0.25, \"places\": "
                             "[\"here\", \"there\"], \"size\": \"large\", \"name\": \"x\"}");
    ok(nvdp_config_load(config, path));
    has(config, "some-weight", "0.25");
    has(config, "places", "here,there");
    ok(nvdp_config_json(config, &text));
    cr_assert_not_null(strstr(text, "\"inner\": {"));
    cr_assert_not_null(strstr(text, "\"limit\": 2.0"));
    support_write_text(path, text);
    ok(nvdp_config_load(again, path));
    ok(nvdp_config_json(again, &same));
    cr_assert_str_eq(text, same);
    support_write_text(path, "{\"some-weight\": \"11\"}");
    fails(nvdp_config_load(config, path), NVDP_ERR_ARGUMENT,
          "options.json: some_weight: expected 0");
    has(config, "some-weight", "0.25");
}

Test(schema, an_option_is_one_row) {
    struct nvdp_config *config = config_of(&schema_of_more);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *copy = NULL;
    const char *path = support_scratch_path("options.json");
    nvdp__autofree char *text = NULL;
    struct work work;
    const struct nvdp_option *last = nvdp_config_option(config, nvdp_config_count(config) - 2);
    cr_assert_eq(nvdp_config_count(config), sizeof more_rows / sizeof *more_rows); /* and threads */
    cr_assert_str_eq(last->name, "added");
    cr_assert_str_eq(last->default_value, "0.5");
    cr_assert_str_eq(last->unit, "nats");
    cr_assert_str_eq(last->help, "what is new");
    set(config, "name", "x");
    has(config, "added", "0.5");
    set(config, "added", "0.75");
    ok(nvdp__config_open(ctx, config, &schema_of_more, &work));
    cr_assert_eq(work.added, 0.75);
    refused(nvdp_config_set(config, "added", "2"), NVDP_ERR_ARGUMENT,
            "--added: expected 0 to 1, found 2");
    ok(nvdp_config_copy(config, &copy));
    has(copy, "added", "0.75");
    ok(nvdp_config_json(config, &text));
    support_write_text(path, text);
    set(copy, "added", NULL);
    ok(nvdp_config_load(copy, path));
    has(copy, "added", "0.75");
    /* work begun with .75: the same value is accepted, another is refused */
    work.added = 0.75;
    ok(nvdp__config_continue(ctx, copy, &schema_of_more, &work));
    set(copy, "added", "0.25");
    refused(nvdp__config_continue(ctx, copy, &schema_of_more, &work), NVDP_ERR_ARGUMENT,
            "option --added: a resumed run keeps its configuration: expected 0.75, found 0.25");
}

Test(schema, a_program_has_options_of_its_own) {
    struct own {
        bool loud;
        size_t lines;
    } own = {.lines = 20};
    const struct nvdp_option options[] = {
        {"loud", NVDP_OPTION_FLAG, NULL, "says more", NVDP_OPTION_AT(struct own, loud),
         .after = "copies"},
        {"lines", NVDP_OPTION_INTEGER, "N", "how many", NVDP_OPTION_AT(struct own, lines)},
        {"kept", NVDP_OPTION_TEXT, "T", "in the configuration alone", .default_value = "here"},
        {0},
    };
    struct nvdp_config *config = config_of(&schema);
    ok(nvdp_config_add(config, options, sizeof *options, &own));
    cr_assert_str_eq(nvdp_config_option(config, 2)->name, "loud");
    has(config, "lines", "20");
    has(config, "kept", "here");
    set(config, "lines", "3");
    set(config, "loud", "true");
    set(config, "kept", "there");
    cr_assert(own.loud && own.lines == 3);
    has(config, "kept", "there");
    nvdp__autofree char *text = NULL;
    ok(nvdp_config_json(config, &text));
    cr_assert_null(strstr(text, "loud"), "the library's files know nothing of it");
    cr_assert_eq(nvdp_config_add(config, options, sizeof *options, &own), NVDP_ERR_ARGUMENT);
    float single = 1; /* for a real, which is a double */
    const struct nvdp_option narrow[] = {
        {.name = "narrow", .type = NVDP_OPTION_REAL, .width = sizeof single}, {0}};
    refused(nvdp_config_add(config, narrow, sizeof *narrow, &single), NVDP_ERR_ARGUMENT,
            "option --narrow: expected a struct member of 8 bytes, found one of 4");
}

/* One object serves two kinds of work: common options are set in both. */
Test(schema, kinds_of_work_can_be_joined) {
    struct nvdp_config *config = config_of(&schema), *other = config_of(&schema_of_more);
    struct work one, two;
    set(config, "name", "x");
    ok(nvdp__config_join(config, other));
    cr_assert_eq(nvdp_config_count(config), sizeof more_rows / sizeof *more_rows);
    set(config, "seed", "5");
    set(config, "added", "1");
    ok(nvdp__config_open(ctx, config, &schema, &one));
    ok(nvdp__config_open(ctx, config, &schema_of_more, &two));
    cr_assert(one.seed == 5 && two.seed == 5 && two.added == 1);
    cr_assert_str_eq(two.name, "x");
}

/* Threads are set by name, by files and in joined configurations; other work is not affected. */
Test(schema, threads_are_those_of_the_context_when_the_work_begins) {
    struct nvdp_config *config = config_of(&schema);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *copy = NULL;
    struct work work;
    nvdp__autofree char *text = NULL;
    ok(nvdp__config_join(config, config_of(&schema_of_more)));
    ok(nvdp_context_set_threads(ctx, 2));
    ok(nvdp__config_values(ctx, config, &schema, &work));
    cr_expect_eq(nvdp_context_threads(ctx), 2, "not given");
    set(config, "threads", "3");
    ok(nvdp_config_copy(config, &copy));
    ok(nvdp__config_values(ctx, config, &schema_of_more, &work));
    cr_expect_eq(nvdp_context_threads(ctx), 3);
    ok(nvdp_config_load_text(config, "options", "{\"threads\": 1}"));
    ok(nvdp__config_values(ctx, config, &schema, &work));
    cr_expect_eq(nvdp_context_threads(ctx), 1);
    ok(nvdp__config_values(ctx, copy, &schema, &work));
    cr_expect_eq(nvdp_context_threads(ctx), 3);
    refused(nvdp_config_set(config, "threads", "1025"), NVDP_ERR_ARGUMENT,
            "--threads: expected 1 to 1024, found 1025");
    ok(nvdp_config_json(config, &text));
    cr_expect_null(strstr(text, "threads"));
}

Test(schema, joining_survives_failing_allocations) {
    nvdp_status status = NVDP_ERR_MEMORY;
    uint64_t k = 0;
    for (; status != NVDP_OK; k++) {
        struct nvdp_config *config = config_of(&schema), *other = config_of(&schema_of_more);
        set(config, "name", "x");
        nvdp__fail_allocation(ctx, k + 1);
        status = nvdp__config_join(config, other);
        nvdp__fail_allocation(ctx, 0);
        cr_assert(status == NVDP_OK || status == NVDP_ERR_MEMORY);
    }
    cr_expect_gt(k, 1);
}

/* Configurations that were joined can be joined again: no option is lost. */
Test(schema, kinds_of_work_that_were_joined_can_be_joined) {
    const struct nvdp__schema schema_of_third = schema_of_more;
    struct nvdp_config *config = config_of(&schema), *other = config_of(&schema_of_more);
    struct work one, two, three;
    ok(nvdp__config_join(other, config_of(&schema_of_third)));
    ok(nvdp__config_join(config, other));
    set(config, "name", "x");
    set(config, "seed", "5");
    ok(nvdp__config_open(ctx, config, &schema, &one));
    ok(nvdp__config_open(ctx, config, &schema_of_more, &two));
    ok(nvdp__config_open(ctx, config, &schema_of_third, &three));
    cr_assert(one.seed == 5 && two.seed == 5 && three.seed == 5);
}

Test(schema, results_are_given_as_far_as_the_caller_s_struct_reaches) {
    struct old {
        size_t struct_size;
        double first;
    } old = NVDP_RESULT(struct old);
    struct new {
        size_t struct_size;
        double first, second;
    }
    result = {sizeof result, 1, 2};
    struct {
        struct new known;
        double later;
    } later = {.known = {sizeof later, 0, 0}, .later = 9};
    struct old unset = {0};
    NVDP__GIVE(&old, &result);
    cr_assert(old.struct_size == sizeof old && old.first == 1);
    NVDP__GIVE(&later, &result);
    cr_assert(later.known.second == 2 && later.later == 9);
    ok(nvdp__can_give(ctx, &old));
    cr_assert_eq(nvdp__can_give(ctx, &unset), NVDP_ERR_ARGUMENT);
}

Test(schema, every_failed_allocation_is_reported) {
    nvdp_status status = NVDP_ERR_MEMORY;
    for (uint64_t k = 1; status == NVDP_ERR_MEMORY && k < 1000; k++) {
        nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
        nvdp__fail_allocation(ctx, k);
        status = nvdp__config_create(ctx, &schema, &config);
        nvdp__fail_allocation(ctx, 0);
        cr_assert_eq(config != NULL, status == NVDP_OK);
    }
    ok(status);
}
