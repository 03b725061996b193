/* Files: reads, and writes that appear under their final name only when complete; output directories. */
#ifndef NVDP_SRC_BASE_FILE_H
#define NVDP_SRC_BASE_FILE_H

#include "base/base.h"
#include <dirent.h>
#include <stdio.h>
#include <sys/types.h>

/* A file being written. If the file system has files without names (O_TMPFILE), the file has no name until the
 * commit: a process that dies leaves nothing, and `temporary` is the path in /proc. Else the file has a temporary
 * name. */
struct nvdp__output {
    struct nvdp_context *ctx;
    FILE *file;
    char *path;      /* final name */
    char *temporary; /* temporary name until commit */
};
/* Returns true if the file with this temporary name has no other name and never had one. */
bool nvdp__is_unnamed(const char *temporary);
/* Fails if the file system has no room for a file of this size. Does nothing if the free room is unknown. */
nvdp_status nvdp__check_room(struct nvdp_context *ctx, const char *path, uint64_t bytes);

/* Fails if the folder of `path` does not exist, and names the command that makes it. This is called before long work
 * whose result goes into the folder. Does nothing if path is NULL. */
nvdp_status nvdp__check_parent_folder(struct nvdp_context *ctx, const char *path);
/* Opens a file without a name in the folder of path, or a temporary file there, for writing; it is locked while
 * open. */
nvdp_status nvdp__output_open(struct nvdp_context *ctx, const char *path, struct nvdp__output *out);
nvdp_status nvdp__output_write(struct nvdp__output *out, const void *bytes, size_t count);
nvdp_status nvdp__output_printf(struct nvdp__output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes everything to the disk. If several files must appear together, flush all of them before the first commit. */
nvdp_status nvdp__output_flush(struct nvdp__output *out);
/* Calls fflush, fsync, rename or link, close, and fsync of the directory. Leaves no file on failure. Without
 * `replace`, fails with NVDP_ERR_ARGUMENT if a nonempty file with that name exists by then. */
nvdp_status nvdp__output_commit(struct nvdp__output *out, bool replace);
/* Closes and removes the temporary file; harmless after a commit and on a zeroed struct. */
void nvdp__output_abort(struct nvdp__output *out);
/* Writes the text and a line end to a new file, which replaces an existing file of that name. */
nvdp_status nvdp__write_text(struct nvdp_context *ctx, const char *path, const char *text);

/* Creates an empty temporary file for libraries that write by name (HDF5), and returns its name, which the caller
 * frees with free(). With `lock`, the file is locked until `lock` is closed, temporary files without a writer are
 * removed, and the file has no name if possible, as above; keep `lock` open until nvdp__publish(). nvdp__publish()
 * syncs the file and gives it its final name. Without `replace`, nvdp__publish() fails with NVDP_ERR_ARGUMENT if a
 * nonempty file exists, even one created a moment ago. *temporary is "" after an unnamed file has got a name. */
nvdp_status nvdp__create_temporary(struct nvdp_context *ctx, const char *path, char **temporary,
                                   int *lock);
nvdp_status nvdp__publish(struct nvdp_context *ctx, char *temporary, const char *path,
                          bool replace);

/* Removes, with a notice, the unlocked temporary files NAME.partial-PID-N that ended processes left in a directory.
 * `of` limits this to the temporary files of one file; NULL: of any file. The contents of these files were never
 * published. */
nvdp_status nvdp__remove_leftovers(struct nvdp_context *ctx, const char *directory, const char *of);
/* Removes the leftovers of the file with this path. */
nvdp_status nvdp__remove_file_leftovers(struct nvdp_context *ctx, const char *path);
/* Locks the open file until it is closed or its process ends; false if another process has the
 * lock. */
bool nvdp__lock_whole(int fd);
/* Removes the file of that name; returns NVDP_OK if there is no such file. */
nvdp_status nvdp__remove(struct nvdp_context *ctx, const char *path);
/* Makes a new name durable. Some file systems refuse to sync a directory, which is no error: the file is complete. */
void nvdp__sync_directory(const char *path);

/* Always fail: the first with the errno of a call, the second with the kind of a file that is not regular. */
nvdp_status nvdp__cannot_read(struct nvdp_context *ctx, const char *path, int err);
nvdp_status nvdp__not_regular(struct nvdp_context *ctx, const char *path, mode_t mode);
/* Opens a regular file for reading. For a FIFO, socket, device or directory, these functions fail immediately with
 * NVDP_ERR_INPUT and name the kind. All files inside folders of models, runs and sweeps are opened this way. */
nvdp_status nvdp__open_regular(struct nvdp_context *ctx, const char *path, int *fd);
nvdp_status nvdp__fopen_regular(struct nvdp_context *ctx, const char *path, FILE **file);
nvdp_status nvdp__check_regular(struct nvdp_context *ctx, const char *path);
/* Opens a regular file for reading and appending; creates it if it does not exist. */
nvdp_status nvdp__append_regular(struct nvdp_context *ctx, const char *path, FILE **file);

/* Reads from an offset of an open file. Returns the number of bytes, which is below `count` only at the end of the
 * file; -1 with errno on failure. */
ssize_t nvdp__read_at(int fd, void *to, size_t count, size_t at);
/* Writes at an offset of an open file; returns false with errno on failure. */
bool nvdp__write_at(int fd, const void *from, size_t count, size_t at);

/* Reads a whole regular file and appends a NUL. Fails with NVDP_ERR_INPUT if the file is larger than limit. */
nvdp_status nvdp__read_file(struct nvdp_context *ctx, const char *path, size_t limit, char **bytes,
                            size_t *count);
/* Reads a text whose path the user gives, once: a file, or a pipe or a device. The text is unpacked and decoded as
 * by nvdp__input_open(), and the limit holds for the size before and after. Gives up after a minute if no process
 * writes to a FIFO; stops waiting if the context is cancelled. */
nvdp_status nvdp__read_stream(struct nvdp_context *ctx, const char *path, size_t limit,
                              char **bytes, size_t *count);
nvdp_status nvdp__write_file(struct nvdp_context *ctx, const char *path, const void *bytes,
                             size_t count);
/* Returns true if a name has that ending and something before the ending. */
bool nvdp__ends_with(const char *name, const char *end);
/* Returns the name of a file without its folder. */
const char *nvdp__file_name(const char *path);
/* Returns the characters between a directory and a name in it: "/", or "" if the directory is empty or ends in "/". */
const char *nvdp__path_separator(const char *directory);
char *nvdp__join(struct nvdp_context *ctx, const char *directory, const char *name);
/* Returns true if the name exists, even as a dangling link: such a link does not count as a missing optional file. */
bool nvdp__exists(const char *path);
bool nvdp__is_directory(const char *path);
/* Returns true if both paths exist and are the same file or folder, under any name; NULL stands for no file. */
bool nvdp__same_file(const char *p, const char *q);
/* Fails with NVDP_ERR_ARGUMENT if writing `out` would replace its own input; the message names the option of `out`.
 * NULL stands for no file. */
nvdp_status nvdp__refuse_same(struct nvdp_context *ctx, const char *option, const char *out,
                              const char *in);
bool nvdp__directory_empty(const char *path); /* true if the directory does not exist */
/* also makes the parent folders */
nvdp_status nvdp__make_directory(struct nvdp_context *ctx, const char *path);
/* Computes the SHA-256 of a file, as 64 hexadecimal digits. */
nvdp_status nvdp__file_sha256(struct nvdp_context *ctx, const char *path, char hex[65]);
/* Sets *same to true if the file exists and has this SHA-256. */
nvdp_status nvdp__file_is(struct nvdp_context *ctx, const char *path, const char *sha256,
                          bool *same);

/* A compressed file may unpack to 16 MiB or to this multiple of the compressed size, whichever is larger. Texts and
 * noise never need more, and a small file that would need gigabytes is refused. */
enum { NVDP__MAX_UNPACK_RATIO = 32 };
bool nvdp__may_unpack(uint64_t stored, uint64_t unpacked);

/* The command that turns a Parquet file into JSON lines, for messages. */
#define NVDP__READ_PARQUET                                                                         \
    "import pandas; "                                                                              \
    "pandas.read_parquet('F.parquet').to_json('F.jsonl', orient='records', lines=True)"

/* A text that is read in parts, possibly from a pipe as in nvdp__read_stream() (input.c). All readers of texts get
 * their bytes from here. gzip and xz are unpacked; UTF-16 with a byte-order mark becomes UTF-8. */
struct nvdp__input;

/* Opens a text. The kind of data is recognized by the first bytes, not by the name. Fails with NVDP_ERR_INPUT for
 * data that are not text (other compressed files, archives, Parquet, pickles), and names the kind and the next step. */
nvdp_status nvdp__input_open(struct nvdp_context *ctx, const char *path, struct nvdp__input **out);
void nvdp__input_close(struct nvdp__input *input);
NVDP__AUTOPTR(struct nvdp__input, nvdp__input_close)
/* Reads up to `size` bytes; *count is 0 only at the end. Fails with NVDP_ERR_INPUT for a damaged or truncated file. */
nvdp_status nvdp__input_read(struct nvdp__input *input, size_t size, char *bytes, size_t *count);
/* Logs the notice about an encoding other than UTF-8. The last reader of a file calls this, so that it appears once. */
void nvdp__input_log(const struct nvdp__input *input);

/* The lines of a text. The caller sets the struct to zero, opens it, and finally closes it. */
struct nvdp__lines {
    struct nvdp_context *ctx;
    const char *path; /* path for messages; not owned */
    struct nvdp__input *input;
    char *buffer; /* [have] bytes of the file, of which `used` were already returned */
    size_t capacity, have, used;
    bool ended;    /* true if the end of the file was reached */
    size_t line;   /* number of the current line, from 1; 0 before the first */
    uint64_t read; /* bytes read so far */
};
enum { NVDP__LONGEST_LINE = 1 << 26 };
nvdp_status nvdp__lines_open(struct nvdp_context *ctx, const char *path, struct nvdp__lines *lines);
/* Returns the next line without LF or CRLF, and the first line without a byte-order mark. The line is valid until
 * the next call; *found is false at the end. Fails with NVDP_ERR_INPUT for a line over the limit. */
nvdp_status nvdp__lines_next(struct nvdp__lines *lines, struct nvdp__field *line, bool *found);
/* Looks ahead: returns the next `size` bytes, or fewer at the end of the file, whatever they are. The next read
 * returns the same bytes again. */
nvdp_status nvdp__lines_peek(struct nvdp__lines *lines, size_t size, struct nvdp__field *bytes);
nvdp_status nvdp__lines_take(struct nvdp__lines *lines, size_t size, struct nvdp__field *bytes);
void nvdp__lines_close(struct nvdp__lines *lines);
/* Takes the part before the next `end` from the front of *rest, and skips `end`. If there is no `end`, takes
 * everything, and rest->text becomes NULL. */
struct nvdp__field nvdp__take_part(struct nvdp__field *rest, char end);
/* Returns the number of bytes of a byte-order mark at the beginning of the text. */
size_t nvdp__byte_order_mark(const char *bytes, size_t count);

/* Opens a stream that passes its output to a function, in unbuffered parts of a line or more; the caller closes it
 * with fclose(). Flushing the stream passes on the buffered bytes. Returns NULL if memory is exhausted, and records
 * this. */
struct nvdp__writing {
    nvdp_write_fn write;
    void *user;
};
FILE *nvdp__writing_open(struct nvdp_context *ctx, const struct nvdp__writing *sink);

/* --- output directories of training --- */

/* Fails unless results may be written: the directory is new or empty, or `overwrite` is set. `ways` names the
 * options, for the message, that allow a nonempty directory. */
nvdp_status nvdp__outdir_check(struct nvdp_context *ctx, const char *directory, bool overwrite,
                               const char *ways);
/* Makes the directory if necessary, removes leftovers, and locks the directory for one writer until
 * nvdp__outdir_unlock() or the end of the process. A lock already held in *lock is kept. Fails with NVDP_ERR_STATE
 * if another process has the lock. On a network file system, the lock works only among processes of one machine. If
 * directories cannot be locked, every process succeeds. */
nvdp_status nvdp__outdir_lock(struct nvdp_context *ctx, const char *directory, DIR **lock);
void nvdp__outdir_unlock(DIR *lock); /* NULL is allowed */
NVDP__AUTOPTR(DIR, nvdp__outdir_unlock)
/* The options that allow a nonempty directory for work that can be resumed. */
#define NVDP__RUN_WAYS "{resume} or {overwrite}"
/* Fails with NVDP_ERR_STATE if the folder is an unfinished run of nvdp train, which has run.json but not yet
 * result.json. The model of such a run is from some epoch, and resuming would replace it. */
nvdp_status nvdp__outdir_check_ended(struct nvdp_context *ctx, const char *run);
/* Fails with NVDP_ERR_INPUT if the folder has no run.json, and says what the folder may be instead. */
nvdp_status nvdp__outdir_check_run(struct nvdp_context *ctx, const char *run);
/* Checks the run of the folder RUN/model, under any name, as nvdp__outdir_check_ended() does; accepts other folders. */
nvdp_status nvdp__outdir_check_model(struct nvdp_context *ctx, const char *model);
/* Removes the named files and folders if they exist; a name with * in its last part is a
 * pattern. */
nvdp_status nvdp__outdir_remove(struct nvdp_context *ctx, const char *directory,
                                const char *const *name, size_t count);
/* Removes the leftovers of ended processes (nvdp__remove_leftovers()) in the directory and in its folder `model`.
 * Files that other processes are writing stay. */
nvdp_status nvdp__outdir_tidy(struct nvdp_context *ctx, const char *directory);

#endif
