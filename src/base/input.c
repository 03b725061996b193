/* Files that are read once from their start (file.h). The file has first the streams, then what all readers of texts
 * share: unpacking (gzip, xz), decoding (UTF-16), and refusing data that are not text. Then follow whole files and
 * lines. */
#include "base/array.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <lzma.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

enum {
    READ_BYTES = 1 << 16,
    HEAD_BYTES = 512, /* number of unpacked bytes that decide the kind of data */
    MAGIC_BYTES = 6,
    WAIT_MS = 100,
    MAX_WAITS = 600,
    GZIP_WINDOW = 15 + 16 /* for zlib: the largest window, and the header of gzip */
};
/* max bytes for unpacking; xz -9 needs 65 MiB */
static const uint64_t UNPACK_MEMORY = UINT64_C(1) << 30;

/* --- streams --- */

/* Waits a moment for data; fails if the context is cancelled. */
static nvdp_status wait_for_data(struct nvdp_context *ctx, const char *path, int fd, bool *ready) {
    struct pollfd data = {.fd = fd, .events = POLLIN};
    if (nvdp_context_cancelled(ctx))
        return nvdp__fail(ctx, NVDP_ERR_CANCELLED, "%s: cancelled", path);
    *ready = poll(&data, 1, WAIT_MS) > 0;
    return NVDP_OK;
}

/* Waits until a process opens the FIFO for writing. An unnamed pipe gets no new writer: it has data, a writer, or
 * has ended. */
static nvdp_status wait_for_writer(struct nvdp_context *ctx, const char *path, int fd) {
    struct statfs system;
    bool ready = fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC;
    for (int waits = 0; !ready; waits++) {
        NVDP_TRY(wait_for_data(ctx, path, fd, &ready));
        if (!ready && waits == MAX_WAITS)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: no process has opened this pipe for writing", path);
    }
    return NVDP_OK;
}

/* Opens a file that is read once from its start: a regular file, a pipe, a terminal. The
 * descriptor does not block, so that waiting for a writer can be cancelled. */
static nvdp_status open_stream(struct nvdp_context *ctx, const char *path, int *fd) {
    struct stat info = {0};
    nvdp__auto(nvdp__close_owned) int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (opened < 0 && errno == ENXIO && stat(path, &info) == 0)
        return nvdp__not_regular(ctx, path, info.st_mode);
    if (opened < 0 || fstat(opened, &info) != 0) NVDP_TRY(nvdp__cannot_read(ctx, path, errno));
    if (S_ISDIR(info.st_mode)) NVDP_TRY(nvdp__not_regular(ctx, path, info.st_mode));
    if (S_ISFIFO(info.st_mode)) NVDP_TRY(wait_for_writer(ctx, path, opened));
    *fd = opened;
    opened = -1;
    return NVDP_OK;
}

/* Reads up to `size` bytes; *count is 0 only at the end. */
static nvdp_status read_some(struct nvdp_context *ctx, const char *path, int fd, size_t size,
                             void *bytes, size_t *count) {
    for (bool ready;;) {
        const ssize_t got = read(fd, bytes, size);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return nvdp__cannot_read(ctx, path, errno);
        *count = got > 0 ? (size_t)got : 0;
        if (got >= 0) return NVDP_OK;
        NVDP_TRY(wait_for_data(ctx, path, fd, &ready));
    }
}

/* --- plain or compressed input --- */

bool nvdp__may_unpack(uint64_t stored, uint64_t unpacked) {
    static const uint64_t small = 1 << 24;
    return unpacked <= small || unpacked / NVDP__MAX_UNPACK_RATIO <= stored;
}

enum packing { PLAIN, XZ, GZIP };
enum encoding { UTF8, UTF16_LITTLE, UTF16_BIG };

struct nvdp__input {
    struct nvdp_context *ctx;
    char *path;
    int fd;
    uint64_t size; /* size of a regular file, else 0 */
    enum packing packing;
    bool ended; /* true if the end of the unpacked data was reached */
    lzma_stream xz;
    z_stream gz;
    uint64_t total_in, total_out; /* bytes of compressed data read, and unpacked bytes */
    uint8_t *buffer;              /* [READ_BYTES] raw bytes; NULL if all reads are direct */
    size_t used, have;
    enum encoding encoding;
    uint8_t *wide; /* [READ_BYTES] UTF-16, of which the last `kept` bytes are not decoded yet */
    size_t kept;
    uint8_t *text; /* [2 READ_BYTES] unpacked and decoded bytes that are read next */
    size_t text_used, text_have;
};

static nvdp_status fill(struct nvdp__input *input) {
    input->used = input->have = 0;
    return read_some(input->ctx, input->path, input->fd, READ_BYTES, input->buffer, &input->have);
}

static nvdp_status damaged(const struct nvdp__input *input, const char *found) {
    return nvdp__fail(input->ctx, NVDP_ERR_INPUT,
                      "%s: expected a complete %s file, found %s; make or download the file again",
                      input->path, input->packing == XZ ? "xz" : "gzip", found);
}

/* Fails if the data unpack to too many bytes. The size of a pipe is the number of bytes read so far. */
static nvdp_status check_ratio(const struct nvdp__input *input) {
    const uint64_t stored = input->size > 0 ? input->size : input->total_in;
    if (nvdp__may_unpack(stored, input->total_out)) return NVDP_OK;
    const char *name = input->packing == XZ ? "xz" : "gzip";
    return nvdp__fail(
        input->ctx, NVDP_ERR_INPUT,
        "%s: expected %s data that decompress to at most 16 MiB, or to %d times their %" PRIu64
        " bytes, found more: unpack them first with %s -d",
        input->path, name, NVDP__MAX_UNPACK_RATIO, stored, name);
}

static nvdp_status step_xz(struct nvdp__input *input, size_t room, uint8_t *bytes, size_t *made) {
    lzma_stream *xz = &input->xz;
    xz->next_out = bytes;
    xz->avail_out = room;
    xz->next_in = input->buffer + input->used;
    xz->avail_in = input->have - input->used;
    const lzma_ret found = lzma_code(xz, input->have == 0 ? LZMA_FINISH : LZMA_RUN);
    input->used = input->have - xz->avail_in;
    *made = room - xz->avail_out;
    input->ended = found == LZMA_STREAM_END;
    if (found == LZMA_OK || found == LZMA_STREAM_END) return NVDP_OK;
    if (found == LZMA_MEM_ERROR)
        return nvdp__fail(input->ctx, NVDP_ERR_MEMORY, "%s: out of memory", input->path);
    return damaged(input, found == LZMA_MEMLIMIT_ERROR  ? "a dictionary of more than 1 GiB"
                          : found == LZMA_OPTIONS_ERROR ? "options of a newer version of xz"
                          : found == LZMA_BUF_ERROR     ? "an early end of the file"
                                                        : "damaged data");
}

/* Continues after the end of a member: a gzip file may have several members, and zeros after the last member. */
static nvdp_status end_member(struct nvdp__input *input) {
    for (;;) {
        while (input->used < input->have && input->buffer[input->used] == 0)
            input->used++;
        if (input->used < input->have) break;
        NVDP_TRY(fill(input));
        input->ended = input->have == 0;
        if (input->ended) return NVDP_OK;
    }
    return inflateReset(&input->gz) == Z_OK ? NVDP_OK : damaged(input, "damaged data");
}

static nvdp_status step_gzip(struct nvdp__input *input, size_t room, uint8_t *bytes, size_t *made) {
    z_stream *gz = &input->gz;
    if (input->have == 0) return damaged(input, "an early end of the file");
    gz->next_out = bytes;
    gz->avail_out = (uInt)nvdp__min(room, READ_BYTES);
    gz->next_in = input->buffer + input->used;
    gz->avail_in = (uInt)(input->have - input->used);
    const int found = inflate(gz, Z_NO_FLUSH);
    input->used = input->have - gz->avail_in;
    *made = (size_t)(gz->next_out - bytes);
    if (found == Z_MEM_ERROR)
        return nvdp__fail(input->ctx, NVDP_ERR_MEMORY, "%s: out of memory", input->path);
    if (found == Z_STREAM_END) return end_member(input);
    return found == Z_OK || found == Z_BUF_ERROR ? NVDP_OK : damaged(input, "damaged data");
}

/* Reads unpacked bytes; *count is 0 only at the end. Large reads of plain files need no copy. */
static nvdp_status read_unpacked(struct nvdp__input *input, size_t size, uint8_t *bytes,
                                 size_t *count) {
    size_t done = 0;
    if (input->packing == PLAIN) {
        if (input->used == input->have && (size >= READ_BYTES || input->buffer == NULL))
            return read_some(input->ctx, input->path, input->fd, size, bytes, count);
        if (input->used == input->have) NVDP_TRY(fill(input));
        *count = nvdp__min(input->have - input->used, size);
        memcpy(bytes, input->buffer + input->used, *count);
        input->used += *count;
        return NVDP_OK;
    }
    while (done < size && !input->ended) {
        size_t made = 0;
        if (input->used == input->have) NVDP_TRY(fill(input));
        const size_t before = input->used;
        NVDP_TRY(input->packing == XZ ? step_xz(input, size - done, bytes + done, &made)
                                      : step_gzip(input, size - done, bytes + done, &made));
        input->total_in += input->used > before ? input->used - before : 0;
        input->total_out += made;
        done += made;
        NVDP_TRY(check_ratio(input));
    }
    *count = done;
    return NVDP_OK;
}

/* --- the kind of the bytes --- */

#define READ_ARROW                                                                                 \
    "Python turns it into JSON lines: import datasets; "                                           \
    "datasets.Dataset.from_file('F.arrow').to_json('F.jsonl')"
static const struct kind {
    size_t at;
    const char *bytes;
    size_t size;
    const char *name, *step;
} kinds[] = {
    {0, "BZh", 3, "bzip2 data", "unpack them first with bzip2 -d"},
    {0, "\x28\xB5\x2F\xFD", 4, "zstd data", "unpack them first with zstd -d"},
    {0, "PK\x03\x04", 4, "a zip archive", "unpack it first with unzip"},
    {0, "\x1F\x8B", 2, "gzip data within compressed data", "unpack them first with gzip -d"},
    {0, "\xFD\x37\x7A\x58\x5A", MAGIC_BYTES, "xz data within compressed data",
     "unpack them first with xz -d"},
    {257, "ustar", 5, "a tar archive", "unpack it first with tar -xf"},
    {0, "PAR1", 4, "a Parquet file", "Python turns it into JSON lines: " NVDP__READ_PARQUET},
    {0, "ARROW1", 6, "an Arrow file", READ_ARROW},
    {0, "\xFF\xFF\xFF\xFF", 4, "an Arrow stream", READ_ARROW},
    {0, "\x93NUMPY", 6, "a NumPy array", "write its texts to a file, one per line"},
    {0, "%PDF-", 5, "a PDF file", "extract its text first, such as with pdftotext"},
    {0, "\x89HDF\r\n", MAGIC_BYTES, "an HDF5 file", "nvdp info describes it"},
    {0, "SQLite format 3", 15, "an SQLite database", "export the table as CSV first"},
    {0, "version https://git-lfs", 23, "a pointer of Git LFS in place of the file",
     "git lfs pull fetches the file"},
    {0, "\xBA\x16\x4F\x2F", 4, "a binary model of fastText", "use the .vec file beside it"},
    {0, "\x80\x02", 2, "a Python pickle", "save it as text first"},
    {0, "\x80\x03", 2, "a Python pickle", "save it as text first"},
    {0, "\x80\x04", 2, "a Python pickle", "save it as text first"},
    {0, "\x80\x05", 2, "a Python pickle", "save it as text first"},
    {0, "\xFF\xFE\0", 4, "text in UTF-32", "convert it first with iconv -f UTF-32 -t UTF-8"},
    {0, "\0\0\xFE\xFF", 4, "text in UTF-32", "convert it first with iconv -f UTF-32 -t UTF-8"},
};

static bool has(const uint8_t *head, size_t have, size_t at, const char *bytes, size_t size) {
    return have >= at + size && memcmp(head + at, bytes, size) == 0;
}

/* Recognizes UTF-16 without a byte-order mark by three ASCII characters. */
static bool is_bare_utf16(const uint8_t *head, size_t have, size_t zero) {
    if (have < MAGIC_BYTES) return false;
    for (size_t i = 0; i < MAGIC_BYTES; i++)
        if ((head[i] == 0) != (i % 2 == zero) || head[i] >= 0x80) return false;
    return true;
}

static nvdp_status recognize(struct nvdp__input *input, const uint8_t *head, size_t have) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (has(head, have, kinds[i].at, kinds[i].bytes, kinds[i].size))
            return nvdp__fail(input->ctx, NVDP_ERR_INPUT,
                              "%s: expected text, plain or compressed by gzip or xz, found %s; %s",
                              input->path, kinds[i].name, kinds[i].step);
    for (size_t zero = 0; zero < 2; zero++)
        if (is_bare_utf16(head, have, zero))
            return nvdp__fail(input->ctx, NVDP_ERR_INPUT,
                              "%s: expected text in UTF-8, or in UTF-16 with a byte-order mark, "
                              "found UTF-16 without one; convert it first with iconv -f UTF-16%s "
                              "-t UTF-8",
                              input->path, zero == 0 ? "BE" : "LE");
    if (has(head, have, 0, "\xFF\xFE", 2)) input->encoding = UTF16_LITTLE;
    if (has(head, have, 0, "\xFE\xFF", 2)) input->encoding = UTF16_BIG;
    return NVDP_OK;
}

/* Finds the packing and the encoding. The bytes that were inspected are read again. */
static nvdp_status look(struct nvdp__input *input) {
    const uint8_t *raw = input->buffer;
    for (size_t got = 1; got > 0 && input->have < MAGIC_BYTES; input->have += got)
        NVDP_TRY(read_some(input->ctx, input->path, input->fd, READ_BYTES - input->have,
                           input->buffer + input->have, &got));
    if (has(raw, input->have, 0, "\xFD\x37\x7A\x58\x5A", MAGIC_BYTES)) {
        if (lzma_stream_decoder(&input->xz, UNPACK_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
            return nvdp__fail(input->ctx, NVDP_ERR_MEMORY, "%s: out of memory", input->path);
        input->packing = XZ;
    } else if (has(raw, input->have, 0, "\x1F\x8B", 2)) {
        if (inflateInit2(&input->gz, GZIP_WINDOW) != Z_OK)
            return nvdp__fail(input->ctx, NVDP_ERR_MEMORY, "%s: out of memory", input->path);
        input->packing = GZIP;
    }
    if (input->packing == PLAIN) {
        NVDP_TRY(recognize(input, raw, input->have));
    } else {
        NVDP_TRY(read_unpacked(input, HEAD_BYTES, input->text, &input->text_have));
        NVDP_TRY(recognize(input, input->text, input->text_have));
    }
    if (input->encoding == UTF8) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(input->ctx, input->wide, READ_BYTES));
    if (input->packing == PLAIN)
        input->used = 2; /* after the mark */
    else
        memcpy(input->wide, input->text + 2, input->kept = input->text_have - 2);
    input->text_have = 0;
    return NVDP_OK;
}

/* --- UTF-16 --- */

static uint32_t unit_at(const struct nvdp__input *input, size_t at) {
    const uint8_t *unit = input->wide + at;
    return input->encoding == UTF16_LITTLE ? unit[0] + 256u * unit[1] : unit[1] + 256u * unit[0];
}

static void put_character(struct nvdp__input *input, uint32_t c) {
    uint8_t *to = input->text + input->text_have;
    size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = size - 1; i > 0; i--, c >>= 6)
        to[i] = (uint8_t)(0x80 | (c & 0x3F));
    to[0] = (uint8_t)(lead[size] | c);
    input->text_have += size;
}

/* Fills `text` from the next UTF-16 units; an unpaired surrogate becomes U+FFFD. */
static nvdp_status decode(struct nvdp__input *input) {
    enum { HIGH = 0xD800, LOW = 0xDC00, END = 0xE000, REPLACEMENT = 0xFFFD, BEYOND = 0x10000 };
    size_t got = 0, at = 0;
    NVDP_TRY(read_unpacked(input, READ_BYTES - input->kept, input->wide + input->kept, &got));
    const size_t have = input->kept + got;
    input->text_used = input->text_have = 0;
    for (; at + 2 <= have; at += 2) {
        uint32_t c = unit_at(input, at);
        const bool half = c >= HIGH && c < LOW;
        if (half && at + 4 > have && got > 0) break;
        const uint32_t next = half && at + 4 <= have ? unit_at(input, at + 2) : 0;
        if (next >= LOW && next < END) {
            c = BEYOND + ((c - HIGH) << 10) + (next - LOW);
            at += 2;
        } else if (c >= HIGH && c < END) {
            c = REPLACEMENT;
        }
        put_character(input, c);
    }
    input->kept = have - at;
    if (input->kept > 0 && got == 0)
        return nvdp__fail(input->ctx, NVDP_ERR_INPUT,
                          "%s: expected UTF-16, whose characters have 2 or 4 bytes, found one byte "
                          "at the end: the file is cut",
                          input->path);
    memmove(input->wide, input->wide + at, input->kept);
    return NVDP_OK;
}

/* --- reading --- */

nvdp_status nvdp__input_open(struct nvdp_context *ctx, const char *path, struct nvdp__input **out) {
    struct stat info;
    nvdp__autoptr(nvdp__input_close) struct nvdp__input *input = NULL;
    NVDP_TRY(NVDP__NEW(ctx, input, 1));
    input->ctx = ctx;
    input->fd = -1;
    input->xz = (lzma_stream)LZMA_STREAM_INIT;
    input->path = nvdp__strdup(ctx, path);
    NVDP_TRY(NVDP__MADE(input->path));
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(input->buffer, READ_BYTES),
                          NVDP__ITEMS(input->text, 2 * READ_BYTES)));
    NVDP_TRY(open_stream(ctx, path, &input->fd));
    if (fstat(input->fd, &info) == 0 && S_ISREG(info.st_mode)) input->size = (uint64_t)info.st_size;
    NVDP_TRY(look(input));
    return NVDP__HAND_OVER(out, input);
}

void nvdp__input_close(struct nvdp__input *input) {
    if (input == NULL) return;
    lzma_end(&input->xz);
    if (input->packing == GZIP) inflateEnd(&input->gz);
    if (input->fd >= 0) close(input->fd);
    free(input->buffer);
    free(input->wide);
    free(input->text);
    free(input->path);
    free(input);
}

nvdp_status nvdp__input_read(struct nvdp__input *input, size_t size, char *bytes, size_t *count) {
    if (input->text_used == input->text_have && input->encoding == UTF8)
        return read_unpacked(input, size, (uint8_t *)bytes, count);
    if (input->text_used == input->text_have) NVDP_TRY(decode(input));
    *count = nvdp__min(input->text_have - input->text_used, size);
    memcpy(bytes, input->text + input->text_used, *count);
    input->text_used += *count;
    return NVDP_OK;
}

void nvdp__input_log(const struct nvdp__input *input) {
    if (input->encoding != UTF8)
        nvdp__log(input->ctx, NVDP_LOG_NOTICE, "%s: the text is UTF-16, and is read as such",
                  input->path);
}

static nvdp_status read_all_bytes(struct nvdp__input *input, size_t limit, char **bytes,
                                  size_t *count) {
    struct nvdp_context *ctx = input->ctx;
    nvdp__autofree char *text = NULL;
    size_t capacity = 0, have = 0, got = 0;
    /* the size is only a hint: it is 0 for a pipe, and a file may change while it is read */
    if (input->size > limit)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected at most %zu bytes, found %zu",
                          input->path, limit, (size_t)input->size);
    NVDP_TRY(nvdp__reserve(ctx, &text, &capacity, input->size + 2, 1));
    for (;;) {
        NVDP_TRY(nvdp__input_read(input, capacity - have - 1, text + have, &got));
        if (got == 0) break;
        have += got;
        if (have > limit)
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected at most %zu bytes, found more",
                              input->path, limit);
        NVDP_TRY(nvdp__reserve(ctx, &text, &capacity, have + 2, 1));
    }
    nvdp__input_log(input);
    text[have] = '\0';
    *count = have;
    return NVDP__HAND_OVER(bytes, text);
}

nvdp_status nvdp__read_file(struct nvdp_context *ctx, const char *path, size_t limit, char **bytes,
                            size_t *count) {
    struct nvdp__input raw = {.ctx = ctx, .path = (char *)(uintptr_t)path};
    nvdp__auto(nvdp__close_owned) int fd = -1;
    struct stat info;
    NVDP_TRY(nvdp__open_regular(ctx, path, &fd));
    raw.fd = fd;
    if (fstat(fd, &info) == 0) raw.size = (uint64_t)info.st_size;
    return read_all_bytes(&raw, limit, bytes, count);
}

nvdp_status nvdp__read_stream(struct nvdp_context *ctx, const char *path, size_t limit,
                              char **bytes, size_t *count) {
    nvdp__autoptr(nvdp__input_close) struct nvdp__input *input = NULL;
    NVDP_TRY(nvdp__input_open(ctx, path, &input));
    return read_all_bytes(input, limit, bytes, count);
}

/* --- lines --- */

struct nvdp__field nvdp__take_part(struct nvdp__field *rest, char end) {
    const char *stop = rest->size > 0 ? memchr(rest->text, end, rest->size) : NULL;
    struct nvdp__field part = *rest;
    *rest = (struct nvdp__field){0};
    if (stop == NULL) return part;
    *rest = (struct nvdp__field){stop + 1, (size_t)(part.text + part.size - stop) - 1};
    part.size = (size_t)(stop - part.text);
    return part;
}

size_t nvdp__byte_order_mark(const char *bytes, size_t count) {
    static const char mark[] = "\xEF\xBB\xBF";
    const size_t size = sizeof mark - 1;
    return count >= size && memcmp(bytes, mark, size) == 0 ? size : 0;
}

nvdp_status nvdp__lines_open(struct nvdp_context *ctx, const char *path,
                             struct nvdp__lines *lines) {
    *lines = (struct nvdp__lines){.ctx = ctx, .path = path};
    return nvdp__input_open(ctx, path, &lines->input);
}

static nvdp_status read_more(struct nvdp__lines *lines) {
    size_t left = lines->have - lines->used, count = 0;
    if (left > NVDP__LONGEST_LINE)
        return nvdp__fail(lines->ctx, NVDP_ERR_INPUT,
                          "%s:%zu: expected a line of at most %d bytes, found a longer one",
                          lines->path, lines->line + 1, NVDP__LONGEST_LINE);
    if (lines->used > 0) memmove(lines->buffer, lines->buffer + lines->used, left);
    lines->used = 0;
    lines->have = left;
    NVDP_TRY(nvdp__reserve(lines->ctx, &lines->buffer, &lines->capacity, left + READ_BYTES, 1));
    NVDP_TRY(nvdp__input_read(lines->input, READ_BYTES, lines->buffer + left, &count));
    lines->have += count;
    lines->read += count;
    lines->ended = count == 0;
    if (lines->ended) nvdp__input_log(lines->input);
    return NVDP_OK;
}

nvdp_status nvdp__lines_next(struct nvdp__lines *lines, struct nvdp__field *line, bool *found) {
    size_t searched = 0;
    const char *end = NULL;
    for (;;) {
        size_t left = lines->have - lines->used;
        if (left > searched)
            end = memchr(lines->buffer + lines->used + searched, '\n', left - searched);
        if (end != NULL || lines->ended) break;
        searched = left;
        NVDP_TRY(read_more(lines));
    }
    const char *text = lines->buffer + lines->used;
    size_t left = lines->have - lines->used;
    size_t size = end != NULL ? (size_t)(end - text) : left;
    *found = end != NULL || left > 0;
    lines->used += end != NULL ? size + 1 : size;
    lines->line += *found;
    if (size > 0 && text[size - 1] == '\r') size--;
    const size_t mark = lines->line == 1 ? nvdp__byte_order_mark(text, size) : 0;
    *line = (struct nvdp__field){text + mark, size - mark};
    return NVDP_OK;
}

nvdp_status nvdp__lines_peek(struct nvdp__lines *lines, size_t size, struct nvdp__field *bytes) {
    while (lines->have - lines->used < size && !lines->ended)
        NVDP_TRY(read_more(lines));
    *bytes = (struct nvdp__field){lines->buffer + lines->used,
                                  nvdp__min(lines->have - lines->used, size)};
    return NVDP_OK;
}

nvdp_status nvdp__lines_take(struct nvdp__lines *lines, size_t size, struct nvdp__field *bytes) {
    NVDP_TRY(nvdp__lines_peek(lines, size, bytes));
    lines->used += bytes->size;
    return NVDP_OK;
}

void nvdp__lines_close(struct nvdp__lines *lines) {
    nvdp__input_close(lines->input);
    free(lines->buffer);
    *lines = (struct nvdp__lines){0};
}
