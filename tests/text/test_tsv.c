/* Lines, fields, numbers and quotes of fields. */
#include "text_support.h"

#include "test_context.h"

static struct nvdp__field field(const char *text) {
    return (struct nvdp__field){text, strlen(text)};
}

Test(tsv, lines_and_fields) {
    static const char text[] = "\xEF\xBB\xBF"
                               "a\tb\r\n\n\t\n\"x\ty\"\rz";
    nvdp__auto(nvdp__tsv_release) struct nvdp__tsv tsv;
    nvdp__tsv_open(NULL, "f.tsv", text, sizeof text - 1, &tsv);
    tsv.blank_rows = true;
    cr_assert(nvdp__tsv_more(&tsv));
    ok(nvdp__tsv_next(&tsv));
    cr_assert_eq(tsv.fields, 2);
    cr_assert(nvdp__field_is(tsv.field[0], "a") && nvdp__field_is(tsv.field[1], "b"));
    ok(nvdp__tsv_next(&tsv));
    cr_assert_eq(tsv.fields, 1);
    cr_assert_eq(tsv.field[0].size, 0);
    ok(nvdp__tsv_next(&tsv));
    cr_assert_eq(tsv.fields, 2);
    ok(nvdp__tsv_next(&tsv));
    cr_assert_eq(tsv.line, 4);
    cr_assert(nvdp__field_is(tsv.field[0], "\"x") && nvdp__field_is(tsv.field[1], "y\"\rz"));
    cr_assert_not(nvdp__tsv_more(&tsv));
}

/* Lines of nothing, or of spaces, are no rows of a table with several columns; a tab makes two cells. */
Test(tsv, blank_lines) {
    static const char text[] = "  \na\tb\n   \r\n\n \t\n  c\td\n ";
    nvdp__auto(nvdp__tsv_release) struct nvdp__tsv tsv;
    nvdp__tsv_open(NULL, "f.tsv", text, sizeof text - 1, &tsv);
    const size_t lines[] = {2, 5, 6};
    for (size_t i = 0; i < 3; i++) {
        cr_assert(nvdp__tsv_more(&tsv));
        ok(nvdp__tsv_next(&tsv));
        cr_expect_eq(tsv.fields, 2);
        cr_expect_eq(tsv.line, lines[i]);
    }
    cr_expect(nvdp__field_is(tsv.field[0], "  c"));
}

Test(tsv, columns) {
    static const char text[] = "one\ttwo\tone\n";
    nvdp__auto(nvdp__tsv_release) struct nvdp__tsv tsv;
    size_t column = 0;
    nvdp__tsv_open(ctx, "f.tsv", text, sizeof text - 1, &tsv);
    ok(nvdp__tsv_next(&tsv));
    ok(nvdp__tsv_column(&tsv, "two", &column));
    cr_assert_eq(column, 1);
    ok(nvdp__tsv_column(&tsv, "tw", &column));
    cr_assert_eq(column, 3);
    text_error(ctx, nvdp__tsv_column(&tsv, "one", &column), NVDP_ERR_INPUT,
               "f.tsv:1: expected one column 'one', found it as 1 and 3");
    text_error(ctx, nvdp__tsv_missing(&tsv, "x"), NVDP_ERR_INPUT,
               "f.tsv:1: missing column 'x': found columns 'one', 'two', 'one'");
}

/* A message stays one line of moderate length for every header. */
Test(tsv, long_lists_are_cut) {
    char text[4096];
    memset(text, '\t', sizeof text);
    nvdp__auto(nvdp__tsv_release) struct nvdp__tsv tsv;
    nvdp__tsv_open(ctx, "f.tsv", text, sizeof text, &tsv);
    ok(nvdp__tsv_next(&tsv));
    cr_assert_eq(nvdp__tsv_missing(&tsv, "x"), NVDP_ERR_INPUT);
    const char *message = nvdp_context_error(ctx);
    cr_assert_lt(strlen(message), 600);
    cr_assert_str_eq(message + strlen(message) - 5, ", ...");
}

Test(tsv, long_lines) {
    size_t size = NVDP__LINE_LIMIT + 1;
    nvdp__autofree char *text = malloc(size + 2);
    memset(text, 'x', size);
    memcpy(text + size, "\ny", 2);
    struct nvdp__tsv tsv;
    nvdp__tsv_open(ctx, "f.tsv", text, size + 2, &tsv);
    text_error(ctx, nvdp__tsv_next(&tsv), NVDP_ERR_INPUT,
               "f.tsv:1: expected a line of at most 16777216 bytes, found 16777217");
    ok(nvdp__tsv_next(&tsv));
    cr_assert(nvdp__field_is(tsv.field[0], "y"));
    nvdp__tsv_release(&tsv);
    nvdp__tsv_open(ctx, "f.tsv", text + 1, size + 1, &tsv);
    ok(nvdp__tsv_next(&tsv));
    nvdp__tsv_release(&tsv);
}

Test(tsv, numbers) {
    double number = -1;
    cr_assert(nvdp__field_number(field("3.25"), &number) && number == 3.25);
    cr_assert(nvdp__field_number(field("-1e-3"), &number) && number == -1e-3);
    cr_assert(nvdp__field_number(field("5"), &number) && number == 5);
    cr_assert(nvdp__field_number(field("+.5"), &number) && number == .5);
    static const char *const wrong[] = {"",    " 1", "1 ",    "1,5", "inf", "nan",
                                        "0x1", "1e", "1e999", ".",   "--1", "1.2.3"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        number = 7;
        cr_assert_not(nvdp__field_number(field(wrong[i]), &number), "%s", wrong[i]);
        cr_assert_eq(number, 7);
    }
    cr_assert_not(nvdp__field_number((struct nvdp__field){"1\0", 2}, &number));
}

/* The decimal point does not depend on the user's locale. */
Test(tsv, numbers_in_any_locale) {
    support_decimal_comma();
    double number = 0;
    cr_assert(nvdp__field_number(field("2.5"), &number));
    cr_assert_eq(number, 2.5);
}

Test(tsv, quotes) {
    cr_assert_str_eq(nvdp__quote_field(field("")).text, "''");
    cr_assert_str_eq(nvdp__quote_field(field("caf\u00E9")).text, "'caf\u00E9'");
    cr_assert_str_eq(nvdp__quote_field(field("a\nb\x1B.\xFF")).text, "'a?b?.?'");
    char text[200];
    memset(text, 'x', sizeof text);
    const char *quoted = nvdp__quote_field((struct nvdp__field){text, sizeof text}).text;
    cr_assert_lt(strlen(quoted), sizeof(struct nvdp__quote));
    cr_assert_str_eq(quoted + strlen(quoted) - 5, "x...'");
    memset(text, 0xC3, 100);
    for (int i = 0; i < 100; i += 2)
        text[i + 1] = (char)0xA9;
    /* not cut within a character */
    quoted = nvdp__quote_field((struct nvdp__field){text, 100}).text;
    cr_assert_str_eq(quoted + strlen(quoted) - 6, "\u00E9...'");
}
