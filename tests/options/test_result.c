/* Tests the engine of result tables: a number of a result is one row, and everything else follows from it. */
#include "options/result.h"
#include "support.h"

#include <nvdp.h>

#include "test_context.h"

struct part {
    const char *name;
    double loss;
};
struct inner {
    double epsilon, delta;
};
struct found {
    size_t struct_size;
    double loss, low, high, mean[3];
    int items, kind;
    size_t steps;
    bool good;
    const char *text;
    char name[8];
    struct inner inner;
    const struct part *part;
    size_t parts;
    double added; /* of the new number */
};

static const char *kind_name(int kind) {
    return kind < 0 ? NULL : kind == 0 ? "small" : "large";
}
static double half(const void *result) {
    return ((const struct found *)result)->loss / 2;
}
static bool is_good(const void *result) {
    return ((const struct found *)result)->good;
}
static void print_kind(const void *result, struct nvdp_result_lines *to) {
    nvdp_result_line(to, "kind", "%s", kind_name(((const struct found *)result)->kind));
}

#define AT(member) NVDP_RESULT_AT(struct found, member)
#define ROW(member, ...) NVDP_RESULT_ROW(struct found, member, NULL, NVDP_SCOPE_RUN, 0, __VA_ARGS__)
#define KEYS(...)                                                                                  \
    (const struct nvdp_result_key[]) {                                                             \
        __VA_ARGS__, {                                                                             \
            .row = NULL                                                                            \
        }                                                                                          \
    }

static const struct nvdp_result_table inner_table = {
    .name = "inner",
    .rows = (const struct nvdp_result_row[]){
        NVDP_RESULT_ROW(struct inner, epsilon, "nats", NVDP_SCOPE_MODEL, -1, "loss",
                        .label = "epsilon", .decimals = 1),
        NVDP_RESULT_ROW(struct inner, delta, NULL, NVDP_SCOPE_MODEL, 0, "its delta"),
        {0}}};
static const struct nvdp_result_table part_table = {
    .name = "part",
    .size = sizeof(struct part),
    .rows = (const struct nvdp_result_row[]){
        NVDP_RESULT_ROW(struct part, name, NULL, NVDP_SCOPE_TEXT, 0, "which"),
        NVDP_RESULT_ROW(struct part, loss, NULL, NVDP_SCOPE_TEXT, -1, "of it", .label = "part",
                        .decimals = 2),
        {0}}};
static const struct nvdp_result_table mean_table = {
    .name = "mean",
    .rows = (const struct nvdp_result_row[]){
        {"mean", NVDP_RESULT_REAL, .offset = offsetof(struct found, mean), .width = sizeof(double)},
        {0}}};

#define ROWS                                                                                       \
    ROW(loss, "a number", .label = "loss", .decimals = 2, .after = " nats"),                       \
        ROW(steps, "a count", .label = "steps"), ROW(good, "a flag", .label = "good"),             \
        ROW(text, "a text", .label = "text"), ROW(name, "characters"),                             \
        {"kind",   NVDP_RESULT_ENUM,  .help = "an enum",                                           \
         AT(kind), .word = kind_name, .print = print_kind},                                        \
        {"range",          NVDP_RESULT_INTERVAL, AT(low), .high = offsetof(struct found, high),    \
         .label = "range", .decimals = 1},                                                         \
        {"half", NVDP_RESULT_REAL, .real = half, .present = is_good},                              \
        {"inner", NVDP_RESULT_TABLE, AT(inner), .of = &inner_table},                               \
        {"means", NVDP_RESULT_LIST, NVDP_RESULT_LENGTH(struct found, items), .of = &mean_table}, { \
        "parts", NVDP_RESULT_MAP, AT(part),                                                        \
            .indirect = true, NVDP_RESULT_LENGTH(struct found, parts), .of = &part_table           \
    }
#define VIEWS                                                                                      \
    (const struct nvdp_result_view[]) {                                                            \
        {.name = "nan", .absent = NVDP_ABSENT_NAN},                                                \
            {.name = "short", .absent = NVDP_ABSENT_OMITTED},                                      \
            {.name = "error", .absent = NVDP_ABSENT_ERROR},                                        \
            {.name = "own",                                                                        \
             .keys = KEYS({.row = "steps", .key = "count"},                                        \
                          {.row = "loss", .absent = NVDP_ABSENT_NAN},                              \
                          {.row = "inner", .absent = NVDP_ABSENT_HIDDEN})},                        \
        {                                                                                          \
            .name = NULL                                                                           \
        }                                                                                          \
    }

static const struct nvdp_result_table table = {.name = "found",
                                               .sized = true,
                                               .rows = (const struct nvdp_result_row[]){ROWS, {0}},
                                               .views = VIEWS};
/* The same table with one more number, that is, one more row. */
static const struct nvdp_result_table longer = {
    .name = "found",
    .sized = true,
    .rows =
        (const struct nvdp_result_row[]){
            ROWS, ROW(added, "new", .label = "added", .decimals = 3, .bound = 1), {0}},
    .views = VIEWS};

static const struct part parts[] = {{"a", 1}, {"b", NAN}};
static struct found sample(void) {
    return (struct found){.struct_size = sizeof(struct found),
                          .loss = 1.5,
                          .low = 1,
                          .high = INFINITY,
                          .mean = {1, 2, NAN},
                          .items = 3,
                          .kind = 1,
                          .steps = 7,
                          .good = true,
                          .text = "t",
                          .name = "chars",
                          .inner = {2, 0.5},
                          .part = parts,
                          .parts = 2,
                          .added = 0.2501};
}
static struct found nothing(void) {
    return (struct found){.struct_size = sizeof(struct found), .loss = NAN, .low = NAN, .kind = -1};
}

static char *json_of(const struct nvdp_result_table *of, const char *view, const void *result) {
    nvdp__autoptr(json_decref) json_t *object = nvdp__result_json(of, view, result);
    cr_assert_not_null(object);
    char *text = json_dumps(object, JSON_REAL_PRECISION(17));
    return support_keep(text);
}

static char *text_of(const struct nvdp_result_table *of, const void *result) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    nvdp__result_print(of, result, to);
    fclose(to);
    return support_keep(text);
}

static void check(const struct nvdp_result_table *of, const char *view, struct found found,
                  const char *expected) {
    char *text = json_of(of, view, &found);
    cr_expect_str_eq(text, expected);
}

Test(result, every_kind_of_row_has_its_json) {
    check(&table, NULL, sample(),
          "{\"loss\": 1.5, \"steps\": 7, \"good\": true, \"text\": \"t\", \"name\": \"chars\", "
          "\"kind\": \"large\", \"range\": [1.0, \"inf\"], \"half\": 0.75, \"inner\": "
          "{\"epsilon\": 2.0, \"delta\": 0.5}, \"means\": [{\"mean\": 1.0}, {\"mean\": 2.0}, "
          "{\"mean\": null}], \"parts\": {\"a\": {\"loss\": 1.0}, \"b\": {\"loss\": null}}}");
}

Test(result, what_does_not_exist_is_written_as_the_view_says) {
    const char *rest = "\"inner\": {\"epsilon\": 0.0, \"delta\": 0.0}, \"means\": []";
    char text[512];
    snprintf(text, sizeof text,
             "{\"loss\": null, \"steps\": 0, \"good\": false, \"text\": null, \"name\": \"\", "
             "\"kind\": null, \"range\": null, \"half\": null, %s, \"parts\": null}",
             rest);
    check(&table, NULL, nothing(), text);
    snprintf(text, sizeof text,
             "{\"loss\": \"nan\", \"steps\": 0, \"good\": false, \"text\": null, \"name\": \"\", "
             "\"kind\": null, \"range\": [\"nan\", 0.0], \"half\": \"nan\", %s, \"parts\": null}",
             rest);
    check(&table, "nan", nothing(), text);
    snprintf(text, sizeof text, "{\"steps\": 0, \"good\": false, \"name\": \"\", %s}", rest);
    check(&table, "short", nothing(), text);
}

/* A standard error, upper bounds, adjacent numbers, an interval that may have no ends, and a word for a bool. */
struct measured {
    double share, error, bound, most, low, high;
    size_t held[2];
    double weight[3];
    bool good;
};

static const char *good_name(int good) {
    return good ? "good" : "bad";
}

#define MEASURED(member, type, ...)                                                                \
    { #member, type, .help = "", NVDP_RESULT_AT(struct measured, member), __VA_ARGS__ }
static const struct nvdp_result_table measured_table = {
    .name = "measured",
    .rows = (const struct nvdp_result_row[]){
        MEASURED(share, NVDP_RESULT_REAL, .label = "share",
                 .error = offsetof(struct measured, error)),
        MEASURED(bound, NVDP_RESULT_REAL, .label = "bound", .bound = 1),
        MEASURED(most, NVDP_RESULT_REAL, .label = "most", .bound = 1, .scale = 100),
        MEASURED(low, NVDP_RESULT_INTERVAL, .label = "range", .absent = NVDP_ABSENT_EACH,
                 .high = offsetof(struct measured, high)),
        MEASURED(held[0], NVDP_RESULT_COUNT, .array = 2),
        MEASURED(weight[0], NVDP_RESULT_REAL, .array = 3),
        MEASURED(good, NVDP_RESULT_ENUM, .label = "it is", .word = good_name),
        {0}}};

Test(result, columns_of_measurements) {
    struct measured found = {.5, .123, 24.3951, .13712, NAN, NAN, {3, 4}, {1, 2, NAN}, true};
    support_contains(json_of(&measured_table, NULL, &found),
                     "\"low\": [null, null], \"held[0]\": [3, 4], \"weight[0]\": [1.0, 2.0, "
                     "null], \"good\": \"good\"}");
    cr_expect_str_eq(text_of(&measured_table, &found),
                     "share             0.5 +- 0.12\nbound             24.4\n"
                     "most              13.8 %\nit is             good\n");
    found = (struct measured){.low = 1, .high = 2};
    cr_expect_str_eq(text_of(&measured_table, &found),
                     "share             0\nbound             0\nmost              0 %\n"
                     "range             1 to 2\nit is             bad\n");
}

static const struct nvdp_result_table bounds = {
    .name = "bounds",
    .rows = (const struct nvdp_result_row[]){
        MEASURED(share, NVDP_RESULT_REAL, .label = "shown", .decimals = 2, .bound = -1),
        MEASURED(error, NVDP_RESULT_REAL, .label = "exact", .decimals = 2, .bound = 1),
        MEASURED(bound, NVDP_RESULT_REAL, .label = "at least", .bound = -1),
        {0}}};

Test(result, bounds_stay_bounds_in_text) {
    const struct measured found = {.share = 1.238, .error = 1.232, .bound = 24.3971};
    cr_expect_str_eq(text_of(&bounds, &found),
                     "shown             1.23\nexact             1.24\nat least          24.39\n");
}

Test(result, a_number_that_must_exist_is_an_error) {
    struct found found = nothing();
    cr_expect_null(nvdp__result_json(&table, "error", &found));
    found = sample();
    found.loss = INFINITY;
    cr_expect_null(nvdp__result_json(&table, "error", &found));
}

Test(result, a_view_names_orders_and_hides) {
    check(&table, "own", nothing(),
          "{\"count\": 0, \"loss\": \"nan\", \"good\": false, \"text\": null, \"name\": \"\", "
          "\"kind\": null, \"range\": null, \"half\": null, \"means\": [], \"parts\": null}");
}

Test(result, a_number_is_added_by_its_row) {
    nvdp__autoptr(json_decref) json_t *object = nvdp__result_json(
        &longer, "own", &(struct found){.struct_size = sizeof(struct found), .added = 4});
    cr_expect_eq(number_at(object, "added"), 4);
}

Test(result, members_that_an_older_struct_lacks_are_left_out) {
    struct found found = sample();
    found.struct_size = offsetof(struct found, added);
    nvdp__autoptr(json_decref) json_t *object = nvdp__result_json(&longer, "short", &found);
    cr_expect_eq(number_at(object, "loss"), 1.5);
    cr_expect_null(json_object_get(object, "added"));
}

Test(result, lines_for_people_leave_out_what_does_not_exist) {
    struct found found = sample();
    cr_expect_str_eq(text_of(&longer, &found),
                     "loss              1.50 nats\nsteps             7\ngood              yes\n"
                     "text              t\nkind              large\nrange             1.0 to inf\n"
                     "epsilon           2.0\npart              1.00\nadded             0.251\n");
    found = nothing();
    cr_expect_str_eq(text_of(&table, &found),
                     "steps             0\ngood              no\nepsilon           0.0\n");
}

Test(result, the_library_lists_its_tables_with_a_meaning_for_each_row) {
    size_t tables = 0;
    for (const struct nvdp_result_table *of; (of = nvdp_result_table(tables)) != NULL; tables++) {
        cr_expect_eq(nvdp_result_table_find(of->name), of);
        for (const struct nvdp_result_row *row = of->rows; row->name != NULL; row++)
            cr_expect_not_null(row->help, "%s.%s", of->name, row->name);
    }
    cr_expect_gt(tables, 0);
    cr_expect_null(nvdp_result_table_find("none"));
}

Test(result, a_kind_without_its_own_text_prints_its_rows) {
    const struct nvdp_result_kind kind = {.name = "evaluation", .rows = &nvdp__result_evaluation};
    const struct nvdp_evaluation found = {
        .struct_size = sizeof found, .kind = &kind, .task = "sst2", .split = "dev"};
    char *text = NULL;
    ok(nvdp_result_text(ctx, &found, NULL, &text));
    support_contains(text, "task              sst2\nsplit             dev\n");
    free(text);
    text = NULL;
    cr_expect_eq(nvdp_result_text(ctx, &found, "summary", &text), NVDP_ERR_ARGUMENT);
    cr_expect_null(text);
}

Test(result, only_what_the_library_filled_is_printed) {
    nvdp__autoresult struct nvdp_evaluation none = NVDP_RESULT(struct nvdp_evaluation);
    const struct nvdp_limits limits = {.struct_size = sizeof limits, .method = "nvdp"};
    struct nvdp_certificate certificate = NVDP_RESULT(struct nvdp_certificate);
    char *text = NULL;
    cr_expect_eq(nvdp_result_json(ctx, &none, NULL, &text), NVDP_ERR_ARGUMENT);
    fails(nvdp_result_text(ctx, &none, NULL, &text), NVDP_ERR_ARGUMENT,
          "a struct that the library filled");
    nvdp_result_free(NULL);
    ok(nvdp_certify(ctx, &limits, NULL, &certificate));
    fails(nvdp_result_text(ctx, &certificate, "summary", &text), NVDP_ERR_ARGUMENT,
          "'certificate': it has no summary");
    cr_expect_null(text);
    nvdp_result_free(&certificate);
    cr_expect_eq(certificate.struct_size, sizeof certificate);
    cr_expect_null(certificate.kind, "a result that is freed twice is freed once");
}
