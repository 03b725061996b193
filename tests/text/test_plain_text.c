/* Lines and documents of plain text, from plain and from xz files. */
#include "text_support.h"
#include <lzma.h>

#include "test_context.h"

/* Returns all lines, each after "| " where it begins a document, otherwise after "- ". The caller frees them. */
static char *read_files(const char *const *path, size_t files, nvdp_status expected) {
    struct nvdp__plain_text *plain = NULL;
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    ok(nvdp__plain_text_open(ctx, path, files, &plain));
    nvdp_status status;
    for (;;) {
        struct nvdp__plain_line line;
        bool found = false;
        status = nvdp__plain_text_next(plain, &line, &found);
        if (status != NVDP_OK || !found) break;
        fprintf(out, "%s%.*s\n", line.begins ? "| " : "- ", (int)line.size, line.text);
    }
    cr_assert_eq(status, expected, "%s", nvdp_context_error(ctx));
    fclose(out);
    nvdp__plain_text_close(plain);
    return support_keep(all);
}

static void expect(const char *text, const char *lines) {
    const char *path = support_file("plain.txt", text);
    char *found = read_files(&path, 1, NVDP_OK);
    cr_assert_str_eq(found, lines);
}

Test(plain_text, blank_lines_separate_documents) {
    expect("one\ntwo\n\n \t\nthree\n\n\n", "| one\n- two\n| three\n");
}

Test(plain_text, within_doc_lines_blank_ones_do_not) {
    expect("<doc id=\"1\" title=\"A\">\nA\n\nBody.\n\nMore.\n</doc>\n<doc "
           "id=\"2\">\nB\n</doc>\nc\n\nd",
           "| A\n- Body.\n- More.\n| B\n| c\n| d\n");
}

Test(plain_text, byte_order_mark_crlf_and_no_last_newline) {
    expect("\xEF\xBB\xBFone\r\n\r\ntwo\r\nthree", "| one\n| two\n- three\n");
}

/* Each object is a document, as in what WikiExtractor writes with --json; other keys are no text. */
Test(plain_text, json) {
    expect("{\"id\": \"1\", \"title\": \"A\", \"text\": \"A\\n\\nThe body.\\nMore.\"}\n"
           "{\"text\": \"\"}\n\n{\"text\": \" \\n<doc caf\\u00e9\", \"id\": 2}\n",
           "| A\n- The body.\n- More.\n| <doc caf\xC3\xA9\n");
    expect("[\n {\n  \"text\": \"a\"\n },\n {\"text\": \"b\\nc\"}\n]\n", "| a\n| b\n- c\n");
    expect("\xEF\xBB\xBF{ \"text\" : \"a\" }", "| a\n");
    /* braces alone are no JSON */
    expect("{{Infobox}}\n{text}\n[1]\n", "| {{Infobox}}\n- {text}\n- [1]\n");
}

Test(plain_text, a_file_ends_a_document) {
    const char *first = support_path("%s", support_file("first.txt", "a\nb"));
    const char *const path[] = {first, support_file("second.txt", "c\n")};
    char *found = read_files(path, 2, NVDP_OK);
    cr_assert_str_eq(found, "| a\n- b\n| c\n");
}

/* Lines are longer than one read, with every length around it. */
Test(plain_text, long_lines) {
    for (size_t size = (1 << 18) - 2; size <= (1 << 18) + 2; size++) {
        nvdp__autofree char *text = malloc(2 * size + 3);
        memset(text, 'a', size);
        text[size] = '\n';
        memset(text + size + 1, 'b', size);
        text[2 * size + 1] = '\0';
        const char *path = support_file("long.txt", text);
        char *found = read_files(&path, 1, NVDP_OK);
        cr_assert_eq(strlen(found), 2 * size + 6);
        cr_assert_eq(memcmp(found + 2, text, size), 0);
        cr_assert_eq(memcmp(found + size + 5, text + size + 1, size), 0);
    }
}

static const char *write_xz(const char *name, const char *text, size_t copies, size_t cut) {
    static uint8_t packed[1 << 16];
    size_t used = 0;
    for (size_t i = 0; i < copies; i++) { /* several streams, concatenated */
        cr_assert_eq(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text,
                                             strlen(text), packed, &used, sizeof packed),
                     LZMA_OK);
    }
    const char *path = support_scratch_path(name);
    support_write(path, packed, used - cut);
    return path;
}

Test(plain_text, xz_is_unpacked_whatever_its_name) {
    const char *path = write_xz("packed.txt", "one\n\ntwo\n", 2, 0);
    char *found = read_files(&path, 1, NVDP_OK);
    cr_assert_str_eq(found, "| one\n| two\n- one\n| two\n");
}

static void refused(const char *path, nvdp_status status, const char *message) {
    free(read_files(&path, 1, status));
    support_contains(nvdp_context_error(ctx), path);
    support_contains(nvdp_context_error(ctx), message);
}

Test(plain_text, bad_files_are_refused) {
    refused(write_xz("cut.xz", "one\n", 1, 5), NVDP_ERR_INPUT, "found an early end of the file");
    const char *path = support_path("%s", write_xz("bent.xz", "one two three\n", 1, 0));
    char *bytes = support_read(path);
    bytes[30] = (char)(bytes[30] ^ 0x55);
    support_write(path, bytes, 72);
    refused(path, NVDP_ERR_INPUT, "expected a complete xz file");
    refused(support_file("a.gz", "\x1F\x8B\x08"), NVDP_ERR_INPUT, "expected a complete gzip file");
    refused(support_file("empty.txt", ""), NVDP_ERR_INPUT, "expected lines of text, found none");
    refused(support_file("blank.txt", "\n \n<doc id=1>\n</doc>\n"), NVDP_ERR_INPUT, "found none");
    refused(support_file("log.jsonl", "{\"id\": 1, \"body\": \"a\"}\n"), NVDP_ERR_INPUT,
            "log.jsonl:1: expected plain text, or JSON whose objects have their text under the key "
            "'text', found JSON without this key");
    refused(support_file("a.jsonl", "{\"text\": \"a\"}\n{\"title\": \"b\"}\n"), NVDP_ERR_INPUT,
            "a.jsonl:2: 'text': expected text or a number, found none");
    refused(support_file("a.jsonl", "{\"text\": \"a\"}\nplain\n"), NVDP_ERR_INPUT,
            "a.jsonl:2: expected a JSON object");
    /* names and quotes of JSON are never words */
    refused(support_file("a.json", "[\"a\", \"b\"]\n"), NVDP_ERR_INPUT,
            "a.json: expected JSON objects with the key 'text', one per line or in an array");
    refused(support_file("a.jsonl", "[]"), NVDP_ERR_INPUT, "a.jsonl: expected JSON objects");
    refused(support_file("a.txt", "{braces}\n{\"text\": 5}\n{\"text\": \"a\"}\n"), NVDP_ERR_INPUT,
            "a.txt:3: expected plain text, as before this line, found a JSON object with the key "
            "'text'; put plain text and JSON into separate files");
    refused(support_scratch(), NVDP_ERR_INPUT, "expected a regular file, found a directory");
    refused(support_scratch_path("nowhere.txt"), NVDP_ERR_IO, "No such file");
}

static void keep_warning(enum nvdp_log_level level, const char *message, void *user) {
    if (level == NVDP_LOG_WARNING) snprintf(user, 1024, "%s", message);
}

Test(plain_text, bytes_that_are_not_utf8_are_passed_on_with_a_warning) {
    char notice[1024] = "";
    nvdp_context_set_log(ctx, keep_warning, notice);
    const char *path = support_file("latin1.txt", "fine\ncaf\xE9\nfine\n\xFF\n");
    char *found = read_files(&path, 1, NVDP_OK);
    cr_assert_str_eq(found, "| fine\n- caf\xE9\n- fine\n- \xFF\n");
    cr_assert_not_null(strstr(notice, "latin1.txt:2: bytes that are not UTF-8"), "%s", notice);
    cr_assert_not_null(strstr(notice, "on 1 more lines"), "%s", notice);
}
