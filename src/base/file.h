/* Files: reads, and writes that appear under their final name only when complete. */
#ifndef NVDP_SRC_BASE_FILE_H
#define NVDP_SRC_BASE_FILE_H

#include "base/base.h"
#include <stdio.h>

/* A file being written beside its final name. */
struct nvdp__output {
    struct nvdp_context *ctx;
    FILE *file;
    char *path;      /* final */
    char *temporary; /* where the bytes go until commit */
};

/* Opens path's neighbor for writing, locked while it is. */
nvdp_status nvdp__output_open(struct nvdp_context *ctx, const char *path, struct nvdp__output *out);
nvdp_status nvdp__output_write(struct nvdp__output *out, const void *bytes, size_t count);
nvdp_status nvdp__output_printf(struct nvdp__output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* All of it to the disk: of several files that appear together each, before the first has its name. */
nvdp_status nvdp__output_flush(struct nvdp__output *out);
/* fflush, fsync, close, rename, fsync of the directory.  On failure nothing is left.  Not `replace`: NVDP_ERR_ARGUMENT where
 * a file that is not empty has that name meanwhile. */
nvdp_status nvdp__output_commit(struct nvdp__output *out, bool replace);
/* Closes and removes what was written; harmless after a commit or on a zeroed struct. */
void nvdp__output_abort(struct nvdp__output *out);

/* For libraries that write by name (HDF5): makes an empty neighbor and gives its name (free()).  With `lock` it is locked until
 * that is closed, and neighbors that nobody writes any more are removed.  Then fsync + rename it; not `replace`:
 * NVDP_ERR_ARGUMENT where a file that is not empty is there, also if it came a moment ago. */
nvdp_status nvdp__create_temporary(struct nvdp_context *ctx, const char *path, char **temporary,
                                   int *lock);
nvdp_status nvdp__publish(struct nvdp_context *ctx, const char *temporary, const char *path,
                          bool replace);

/* Removes, with a notice, what processes that ended while they wrote have left in a directory: neighbors of `of` (NULL: of any
 * file), NAME.partial-PID-N, which nobody has locked.  What is in them was never given away. */
nvdp_status nvdp__remove_leftovers(struct nvdp_context *ctx, const char *directory, const char *of);
/* Those of that file. */
nvdp_status nvdp__remove_leftovers_of(struct nvdp_context *ctx, const char *path);
/* A lock of the open file, which its closing or its process's end gives back; false where another has it. */
bool nvdp__lock_whole(int fd);
/* Removes what has that name; nothing has it: NVDP_OK. */
nvdp_status nvdp__remove(struct nvdp_context *ctx, const char *path);
/* Makes a new name durable.  Some file systems refuse to sync a directory: the file is whole anyway. */
void nvdp__sync_directory(const char *path);

/* Opens a regular file for reading; all of these return NVDP_ERR_INPUT for a FIFO, socket, device or directory, by name and
 * at once.  Everything inside folders of models, runs and sweeps is opened so. */
nvdp_status nvdp__open_regular(struct nvdp_context *ctx, const char *path, int *fd);
nvdp_status nvdp__fopen_regular(struct nvdp_context *ctx, const char *path, FILE **file);
nvdp_status nvdp__check_regular(struct nvdp_context *ctx, const char *path);
/* Opens a regular file for reading and appending, and creates it if it is not there. */
nvdp_status nvdp__append_regular(struct nvdp_context *ctx, const char *path, FILE **file);

/* Reads a whole regular file, with a NUL after its last byte.  Larger than limit: NVDP_ERR_INPUT. */
nvdp_status nvdp__read_file(struct nvdp_context *ctx, const char *path, size_t limit, char **bytes,
                            size_t *count);
/* The same of a file that may also be a pipe or a device: for files that a user names and that are read once.  A FIFO that
 * nobody writes to is given up after a minute; waiting for a writer or for data ends when the context is cancelled. */
nvdp_status nvdp__read_stream(struct nvdp_context *ctx, const char *path, size_t limit,
                              char **bytes, size_t *count);
nvdp_status nvdp__write_file(struct nvdp_context *ctx, const char *path, const void *bytes,
                             size_t count);
/* Whether a name has that ending, and something before it. */
bool nvdp__ends_with(const char *name, const char *end);
char *nvdp__join(struct nvdp_context *ctx, const char *directory, const char *name);
/* Whether something has that name: also a link to nothing, which is no optional file that is left out. */
bool nvdp__exists(const char *path);
bool nvdp__is_directory(const char *path);
/* Whether both are there and one file or folder, by whatever names; NULL is none. */
bool nvdp__same_file(const char *p, const char *q);
/* NVDP_ERR_ARGUMENT, naming the option of `out`, where that would replace the file or folder that it is made from; NULL is none. */
nvdp_status nvdp__refuse_same(struct nvdp_context *ctx, const char *option, const char *out,
                              const char *in);
bool nvdp__directory_empty(const char *path); /* true where it does not exist */
nvdp_status nvdp__make_directory(struct nvdp_context *ctx, const char *path); /* and its parents */
/* SHA-256 of a file as 64 hexadecimal digits. */
nvdp_status nvdp__file_sha256(struct nvdp_context *ctx, const char *path, char hex[65]);

/* A compressed file may unpack to 16 MiB, or to so many times its own size: texts and noise never need more, and a small
 * file that asks for gigabytes is refused. */
enum { NVDP__MAX_UNPACK_RATIO = 32 };
bool nvdp__may_unpack(uint64_t stored, uint64_t unpacked);

/* A file read piece by piece, which may be a pipe as with nvdp__read_stream.  If xz compressed it, it is unpacked on the way. */
struct nvdp__input;

/* xz is recognized by a file's first bytes, not by its name.  Files of another compressor are
 * NVDP_ERR_INPUT by its name. */
nvdp_status nvdp__input_open(struct nvdp_context *ctx, const char *path, struct nvdp__input **out);
void nvdp__input_close(struct nvdp__input *input);
/* Up to `size` bytes; *count is 0 at the end only.  A damaged or cut xz file is NVDP_ERR_INPUT. */
nvdp_status nvdp__input_read(struct nvdp__input *input, size_t size, char *bytes, size_t *count);

/* The lines of such a file.  Zero it, open it, close it. */
struct nvdp__lines {
    struct nvdp_context *ctx;
    const char *path; /* the caller's, for messages */
    struct nvdp__input *input;
    char *buffer; /* [have] bytes of the file, `used` of them passed on */
    size_t capacity, have, used;
    bool ended;    /* nothing is left to read */
    size_t line;   /* the present line, from 1; 0 before the first */
    uint64_t read; /* bytes so far */
};
struct nvdp__line {
    const char *text; /* valid until the next call */
    size_t size;
};
enum { NVDP__LONGEST_LINE = 1 << 26 };
nvdp_status nvdp__lines_open(struct nvdp_context *ctx, const char *path, struct nvdp__lines *lines);
/* The next line without its LF or CRLF, the first without a byte-order mark; *found false at the
 * end.  A line over the limit is NVDP_ERR_INPUT. */
nvdp_status nvdp__lines_next(struct nvdp__lines *lines, struct nvdp__line *line, bool *found);
void nvdp__lines_close(struct nvdp__lines *lines);

/* A stream that passes everything on to a function, unbuffered pieces of a line or more; fclose().  NULL: out of memory, recorded.
 * The function gets what is buffered when the stream is flushed. */
struct nvdp__writing {
    nvdp_write_fn write;
    void *user;
};
FILE *nvdp__writing_open(struct nvdp_context *ctx, const struct nvdp__writing *sink);

#endif
