/* Packed and encoded input: gzip, xz, UTF-16, and the data that are refused by name. */
#include "base/file.h"
#include "support.h"
#include <lzma.h>
#include <zlib.h>

#include "test_context.h"

enum { ROOM = 1 << 16 };

struct bytes {
    uint8_t at[ROOM];
    size_t count;
};

static void add_gzip(struct bytes *to, const void *from, size_t count) {
    z_stream gz = {.next_in = (void *)(uintptr_t)from,
                   .avail_in = (uInt)count,
                   .next_out = to->at + to->count,
                   .avail_out = (uInt)(ROOM - to->count)};
    cr_assert_eq(deflateInit2(&gz, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&gz, Z_FINISH), Z_STREAM_END);
    to->count += gz.total_out;
    deflateEnd(&gz);
}

static void add_xz(struct bytes *to, const void *from, size_t count) {
    cr_assert_eq(
        lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, from, count, to->at, &to->count, ROOM),
        LZMA_OK);
}

static const char *write_bytes(const struct bytes *bytes) {
    const char *path = support_scratch_path("in");
    support_write(path, bytes->at, bytes->count);
    return path;
}

/* Reads the file in parts of `step` bytes, and as a whole; both must give the text. */
static void expect(const struct bytes *bytes, size_t step, const char *text) {
    const char *path = write_bytes(bytes);
    struct nvdp__input *input = NULL;
    char all[ROOM];
    nvdp__autofree char *whole = NULL;
    size_t have = 0, got = 1;
    ok(nvdp__input_open(ctx, path, &input));
    for (; got > 0; have += got)
        ok(nvdp__input_read(input, step, all + have, &got));
    cr_expect_eq(have, strlen(text));
    cr_expect_arr_eq(all, text, have);
    nvdp__input_close(input);
    ok(nvdp__read_stream(ctx, path, ROOM, &whole, &got));
    cr_expect_str_eq(whole, text);
}

static void refused(const struct bytes *bytes, const char *message) {
    char *whole = NULL;
    size_t count;
    fails(nvdp__read_stream(ctx, write_bytes(bytes), ROOM, &whole, &count), NVDP_ERR_INPUT,
          message);
}

static struct bytes of(const void *at, size_t count) {
    struct bytes bytes = {.count = count};
    memcpy(bytes.at, at, count);
    return bytes;
}
#define LITERAL(text) of(text, sizeof(text) - 1)

static const size_t steps[] = {1, 3, ROOM};

Test(input, plain_gzip_and_xz) {
    static const char text[] = "one\ntwo \xC3\xA9\n";
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct bytes gz = {0}, xz = {0}, plain = LITERAL(text), two = {0};
        add_gzip(&gz, text, sizeof text - 1);
        add_xz(&xz, text, sizeof text - 1);
        expect(&plain, steps[i], text);
        expect(&gz, steps[i], text);
        expect(&xz, steps[i], text);
        /* two members, then zeros */
        add_gzip(&two, "one\n", 4);
        add_gzip(&two, "two \xC3\xA9\n", 7);
        two.count += 512;
        expect(&two, steps[i], text);
    }
    struct bytes empty = {0}, none = {0};
    add_gzip(&empty, "", 0);
    expect(&empty, 1, "");
    expect(&none, 1, "");
}

/* a, e acute, a euro sign, a character beyond 16 bits, and half a pair */
static const char little[] = "\xFF\xFE"
                             "a\0\xE9\0\xAC\x20\x3D\xD8\x00\xDE\x00\xD8z\0";
static const char big[] = "\xFE\xFF"
                          "\0a\0\xE9\x20\xAC\xD8\x3D\xDE\x00\xD8\x00\0z";
static const char decoded[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBDz";

Test(input, utf16) {
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct bytes a = LITERAL(little), b = LITERAL(big), gz = {0};
        add_gzip(&gz, big, sizeof big - 1);
        expect(&a, steps[i], decoded);
        expect(&b, steps[i], decoded);
        expect(&gz, steps[i], decoded);
    }
    struct bytes odd = of(little, sizeof little - 2);
    refused(&odd, "expected UTF-16, whose characters have 2 or 4 bytes, found one byte at the end");
    struct bytes mark = LITERAL("\xFF\xFE");
    expect(&mark, 1, "");
}

/* Pairs of surrogates lie across the buffers' borders. */
Test(input, long_utf16) {
    enum { PAIRS = 50001 };
    nvdp__autofree char *text = malloc(4 * PAIRS + 4), *read = NULL;
    size_t count = 0;
    memcpy(text,
           "\xFF\xFE"
           "x",
           4);
    for (size_t i = 0; i < PAIRS; i++)
        memcpy(text + 4 + 4 * i, "\x3D\xD8\x00\xDE", 4);
    support_write(support_scratch_path("long"), text, 4 * PAIRS + 4);
    ok(nvdp__read_stream(ctx, support_scratch_path("long"), 1 << 20, &read, &count));
    cr_assert_eq(count, 4 * PAIRS + 1);
    for (size_t i = 1; i < count; i += 4)
        cr_assert_arr_eq(read + i, "\xF0\x9F\x98\x80", 4);
}

static size_t notices;
static void count_notice(enum nvdp_log_level level, const char *message, void *user) {
    (void)user;
    notices += level == NVDP_LOG_NOTICE && strstr(message, "the text is UTF-16") != NULL;
}

Test(input, utf16_is_said_once) {
    struct nvdp__lines lines = {0};
    struct nvdp__field line;
    bool found = true;
    struct bytes bytes = LITERAL(little);
    nvdp_context_set_log(ctx, count_notice, NULL);
    ok(nvdp__lines_open(ctx, write_bytes(&bytes), &lines));
    while (found)
        ok(nvdp__lines_next(&lines, &line, &found));
    nvdp__lines_close(&lines);
    cr_expect_eq(notices, 1);
}

Test(input, damaged_gzip) {
    struct bytes gz = {0};
    add_gzip(&gz, "one two three four five\n", 24);
    struct bytes cut = of(gz.at, gz.count - 1), tail = gz, bent = gz;
    refused(&cut, "expected a complete gzip file, found an early end of the file");
    memcpy(tail.at + tail.count, "tail", 4);
    tail.count += 4;
    refused(&tail, "expected a complete gzip file, found damaged data");
    bent.at[bent.count - 6] ^= 1; /* the checksum */
    refused(&bent, "expected a complete gzip file, found damaged data");
}

Test(input, other_data_are_named) {
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } cases[] = {
        {"BZh91AY", 7, "found bzip2 data; unpack them first with bzip2 -d"},
        {"PK\3\4....", 8, "found a zip archive; unpack it first with unzip"},
        {"PAR1....", 8, "found a Parquet file; Python turns it into JSON lines: import pandas"},
        {"\xFF\xFF\xFF\xFF\x10\0\0\0", 8, "found an Arrow stream; Python turns it into JSON lines"},
        {"\x93NUMPY\1\0", 8, "found a NumPy array"},
        {"\x80\4\x95....", 7, "found a Python pickle"},
        {"\xBA\x16\x4F\x2F..", 6, "found a binary model of fastText; use the .vec file"},
        {"version https://git-lfs.github.com/spec/v1\n", 43,
         "found a pointer of Git LFS in place of the file; git lfs pull"},
        {"\xFF\xFE\0\0a\0\0", 8, "found text in UTF-32"},
        {"a\0b\0c\0", 6, "found UTF-16 without one; convert it first with iconv -f UTF-16LE"},
        {"\0a\0b\0c", 6, "iconv -f UTF-16BE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes bytes = of(cases[i].bytes, cases[i].size);
        refused(&bytes, cases[i].message);
    }
    struct bytes tar = {.count = 512}, packed = {0};
    memcpy(tar.at, "texts/train.tsv", 15);
    memcpy(tar.at + 257, "ustar", 5);
    add_gzip(&packed, tar.at, tar.count);
    refused(&tar, "found a tar archive");
    refused(&packed, "found a tar archive");
}
