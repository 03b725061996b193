/* The end of a sentence. */
#include "text_support.h"

/* `cut` has the sentences with '/' between them. */
static void expect(const char *text, const char *cut) {
    char found[512] = "";
    size_t size = strlen(text);
    for (size_t at = 0; at < size;) {
        size_t end = nvdp__sentence_end(text + at, size - at);
        cr_assert(end > 0 && end <= size - at);
        sprintf(found + strlen(found), "%s%.*s", at > 0 ? "/" : "", (int)end, text + at);
        at += end;
    }
    cr_assert_str_eq(found, cut);
}

Test(sentences, end_at_full_stops_before_capitals) {
    expect("One went. Two came! Did three? Yes", "One went. /Two came! /Did three? /Yes");
    expect("He said \"no.\" (She left.) 42 stayed.", "He said \"no.\" /(She left.) /42 stayed.");
    expect("Wait...  Then \xC3\x89t\xC3\xA9. \xC3\x89t\xC3\xA9",
           "Wait...  /Then \xC3\x89t\xC3\xA9. /\xC3\x89t\xC3\xA9");
}

Test(sentences, do_not_end_elsewhere) {
    expect("pi is 3.14 and e.g. that", "pi is 3.14 and e.g. that");
    expect("Dr. No met J. Smith vs. Him", "Dr. No met J. Smith vs. Him");
    expect("a.B", "a.B");
    expect("no end.", "no end.");
    expect("trailing space.  ", "trailing space.  ");
    expect(".", ".");
    expect("", "");
}
