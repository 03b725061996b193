/* Tests how untrusted text is shown. */
#include "base/sentence.h"
#include "support.h"

static const char *const cases[][2] = {
    {"plain, \xc3\xa9, \xe4\xb8\xad, \xf0\x9f\x98\x80", NULL},
    {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac", NULL}, /* an emoji with a joiner */
    {"a\033[31mb\a\x7f", "a\\u001b[31mb\\u0007\\u007f"},
    {"a\nb\tc\r", "a\\u000ab\\u0009c\\u000d"},
    {"\xc2\x9b"
     "31m",
     "\\u009b31m"},
    {"\xe2\x80\xaetxt\xe2\x81\xa6", "\\u202etxt\\u2066"},
    {"\xf3\xa0\x81\x81", "\\udb40\\udc41"},
    {"\x9b"
     "1m \xff",
     "\\x9b1m \\xff"},
    {"\xc3", "\\xc3"},
    {"\xe0\x80\x80", "\\xe0\\x80\\x80"},         /* overlong */
    {"\xed\xa0\x80", "\\xed\\xa0\\x80"},         /* a surrogate */
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"} /* beyond U+10FFFF */
};

Test(escape, shows_what_a_terminal_could_obey) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *expected = cases[i][1] != NULL ? cases[i][1] : cases[i][0];
        char cut[64];
        nvdp__autofree char *shown = nvdp__escaped(NULL, nvdp__put_shown, cases[i][0]);
        cr_expect_str_eq(shown, expected);
        cr_expect_eq(nvdp__show_into(cut, sizeof cut, cases[i][0]), strlen(expected));
        cr_expect_str_eq(cut, expected);
        nvdp__autofree char *again = nvdp__escaped(NULL, nvdp__put_shown, shown);
        cr_expect_str_eq(again, shown);
        nvdp__autofree char *plain = nvdp__plain_copy(NULL, cases[i][0]);
        cr_expect_eq(strcmp(plain, cases[i][0]) == 0, cases[i][1] == NULL);
        cr_expect(strpbrk(plain, "\033\n\x7f\x9b\xff") == NULL);
    }
    char cut[8];
    cr_expect_eq(nvdp__show_into(cut, sizeof cut, "abc\033"), 3);
    cr_expect_str_eq(cut, "abc");
}

/* A character that arrives in two parts is not taken for broken bytes. */
Test(escape, waits_for_the_rest_of_a_character) {
    char out[NVDP__SHOWN];
    cr_expect_eq(nvdp__show_character("\xf0\x9f\x98", 3, out), 0);
    cr_expect_eq(nvdp__show_character("\xf0\x9f\x98\x80", 4, out), 4);
    cr_expect_str_eq(out, "\xf0\x9f\x98\x80");
    cr_expect_eq(nvdp__show_character("\xf0\x9fx", 3, out), 1);
    cr_expect_str_eq(out, "\\xf0");
}

/* Replacing every \uXXXX gives the field again, also if the field has this text itself. */
Test(escape, fields_are_read_back) {
    static const char field[] = "a\tb\nc\\u0041 \\x \\\033";
    char read[64] = "";
    nvdp__autofree char *written = nvdp__escaped(NULL, nvdp__put_tsv, field);
    cr_expect_str_eq(written, "a\\u0009b\\u000ac\\u005cu0041 \\x \\\\u001b");
    size_t used = 0;
    for (const char *c = written; *c != '\0';) {
        const bool escape = c[0] == '\\' && c[1] == 'u';
        char digits[5] = "";
        if (escape) memcpy(digits, c + 2, 4);
        read[used++] = escape ? (char)strtol(digits, NULL, 16) : *c;
        c += escape ? 6 : 1;
    }
    cr_expect_str_eq(read, field);
}
