/* Standard output and standard error: every byte that a subcommand, argp or getopt prints passes through streams that
 * show untrusted text (base/sentence.h).  So file names, labels and attributes cannot control a terminal. */
#include "common.h"

#include "base/sentence.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { ROOM = 4096, LONGEST = 4 /* bytes of a character */ };

struct stream {
    int fd;
    char next[LONGEST]; /* the first bytes of a character whose last bytes were not written yet */
    size_t held;
};

static bool write_all(int fd, const char *bytes, size_t count) {
    while (count > 0) {
        const ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

/* Writes bytes.  Returns 0 after an error, as fopencookie() requires. */
static ssize_t show(void *cookie, const char *bytes, size_t count) {
    struct stream *of = cookie;
    char out[ROOM];
    size_t used = 0, at = 0;
    for (;;) {
        while (of->held < LONGEST && at < count)
            of->next[of->held++] = bytes[at++];
        if (of->held == 0) break;
        size_t length = 1;
        if (of->next[0] == '\n' || of->next[0] == '\t')
            nvdp__snprintf(out + used, NVDP__SHOWN, "%c", of->next[0]);
        else
            length = nvdp__show_character(of->next, of->held, out + used);
        if (length == 0) break;
        of->held -= length;
        memmove(of->next, of->next + length, of->held);
        used += strlen(out + used);
        if (used + NVDP__SHOWN <= sizeof out) continue;
        if (!write_all(of->fd, out, used)) return 0;
        used = 0;
    }
    return write_all(of->fd, out, used) ? (ssize_t)count : 0;
}

/* Returns a stream to the descriptor, with the same buffering as the C library's stream; NULL if memory is short. */
static FILE *open_stream(struct stream *made, int fd) {
    FILE *stream = fopencookie(made, "w", (cookie_io_functions_t){.write = show});
    if (stream == NULL) return NULL;
    made->fd = fd;
    setvbuf(stream, NULL, fd == STDERR_FILENO ? _IONBF : isatty(fd) ? _IOLBF : _IOFBF, BUFSIZ);
    return stream;
}

bool cli_streams_open(void) {
    /* Static, because exit() writes through both streams after main() has returned. */
    static struct stream opened[2];
    FILE *out = open_stream(&opened[0], STDOUT_FILENO),
         *err = open_stream(&opened[1], STDERR_FILENO);
    if (out != NULL) stdout = out;
    if (err != NULL) stderr = err;
    return out != NULL && err != NULL;
}

void cli_control(const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vdprintf(STDERR_FILENO, format, args);
    va_end(args);
}

bool cli_write(const char *text, size_t size, void *stream) {
    if (isatty(STDOUT_FILENO)) return fwrite(text, 1, size, stream) == size && fflush(stream) == 0;
    return fflush(stream) == 0 && write_all(STDOUT_FILENO, text, size);
}
