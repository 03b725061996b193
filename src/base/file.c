/* Files as in file.h: atomic writing and its leftovers, then reading, paths, compressed input,
 * lines, and streams that call a function. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <linux/magic.h>
#include <lzma.h>
#include <poll.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    MAX_TEMPORARY = 10000,
    READ_BYTES = 1 << 16,
    MAGIC_BYTES = 6,
    WAIT_MS = 100,
    MAX_WAITS = 600
};
static const uint64_t UNPACK_MEMORY = UINT64_C(1) << 30; /* xz -9 needs 65 MiB */

/* --- files written whole or not at all --- */

bool nvdp__lock_whole(int fd) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* Locks a new temporary file, so that others see that it is being written; false if another
 * process removed it as a leftover before that. On file systems without locks, no process gets
 * one, and this succeeds. */
static bool claim(int fd) {
    struct stat info;
    if (!nvdp__lock_whole(fd) && (errno == EAGAIN || errno == EACCES)) return false;
    return fstat(fd, &info) == 0 && info.st_nlink > 0;
}

/* The target of path if it is a link: writing to /dev/stdout must not replace the link itself. */
static char *target_of(struct nvdp_context *ctx, const char *path) {
    struct stat info;
    char *target = NULL;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) target = realpath(path, NULL);
    return target != NULL ? target : nvdp__strdup(ctx, path);
}

/* Creates an empty locked temporary file beside path, with the permissions of a replaced file.
 * Refuses devices and pipes, because renaming would replace them instead of writing to them. */
static nvdp_status create_temporary(struct nvdp_context *ctx, const char *path, char **name,
                                    int *fd) {
    struct stat info;
    bool replaced = stat(path, &info) == 0;
    if (replaced && S_ISDIR(info.st_mode))
        return nvdp__fail_errno(ctx, EISDIR, "%s: cannot write", path);
    if (replaced && !S_ISREG(info.st_mode))
        return nvdp__fail(ctx, NVDP_ERR_IO, "%s: cannot write: not a regular file", path);
    for (int n = 0; n < MAX_TEMPORARY; n++) {
        char *temporary = nvdp__format(ctx, "%s.partial-%ld-%d", path, (long)getpid(), n);
        if (temporary == NULL) return NVDP_ERR_MEMORY;
        int opened = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        int err = errno;
        if (opened >= 0 && claim(opened)) {
            if (replaced) (void)!fchmod(opened, info.st_mode & 07777);
            *name = temporary;
            *fd = opened;
            return NVDP_OK;
        }
        free(temporary);
        if (opened >= 0) close(opened);
        if (opened < 0 && err != EEXIST)
            return nvdp__fail_errno(ctx, err, "%s: cannot write", path);
    }
    return nvdp__fail_errno(ctx, EEXIST, "%s: cannot write", path);
}

nvdp_status nvdp__check_folder_of(struct nvdp_context *ctx, const char *path) {
    nvdp_status status = NVDP_OK;
    char *target = path != NULL ? target_of(ctx, path) : NULL;
    if (path == NULL) return NVDP_OK;
    NVDP_TRY(NVDP__MADE(target));
    const char *folder = dirname(target); /* modifies target */
    struct stat info;
    const int err = stat(folder, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
    if (err == ENOENT)
        status =
            nvdp__fail(ctx, NVDP_ERR_IO, "%s: cannot write: %s; make the folder first: mkdir -p %s",
                       path, strerror(err), folder);
    else if (err != 0)
        status = nvdp__fail_errno(ctx, err, "%s: cannot write", path);
cleanup:
    free(target);
    return status;
}

nvdp_status nvdp__output_open(struct nvdp_context *ctx, const char *path,
                              struct nvdp__output *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__output output = {.ctx = ctx};
    int fd = -1;
    output.path = target_of(ctx, path);
    if (output.path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(create_temporary(ctx, output.path, &output.temporary, &fd));
    output.file = fdopen(fd, "wb");
    if (output.file == NULL) NVDP_TRY(nvdp__fail_errno(ctx, errno, "%s: cannot write", path));
    *out = output;
cleanup:
    if (status != NVDP_OK) {
        if (fd >= 0) close(fd);
        nvdp__output_abort(&output);
    }
    return status;
}

static nvdp_status write_error(const struct nvdp__output *out, int err) {
    return nvdp__fail_errno(out->ctx, err, "%s: cannot write", out->path);
}

nvdp_status nvdp__output_write(struct nvdp__output *out, const void *bytes, size_t count) {
    if (count > 0 && fwrite(bytes, 1, count, out->file) != count) return write_error(out, errno);
    return NVDP_OK;
}

nvdp_status nvdp__output_printf(struct nvdp__output *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = nvdp__vfprintf(out->file, format, args);
    int err = errno;
    va_end(args);
    return length < 0 ? write_error(out, err) : NVDP_OK;
}

void nvdp__sync_directory(const char *path) {
    char *copy = strdup(path); /* dirname() modifies it */
    if (copy == NULL) return;
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!fsync(fd);
        close(fd);
    }
    free(copy);
}

/* Renames without replacing. If the file system does not support this, links and unlinks; if it
 * has no links either, checks first. */
static int rename_to_new(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    if (link(from, to) == 0) return unlink(from);
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return -1;
    if (!nvdp__exists(to)) return rename(from, to);
    errno = EEXIST;
    return -1;
}

/* Renames; may always replace an empty file. */
static nvdp_status rename_onto(struct nvdp_context *ctx, const char *from, const char *to,
                               bool replace) {
    struct stat info;
    replace = replace || (stat(to, &info) == 0 && info.st_size == 0);
    if ((replace ? rename(from, to) : rename_to_new(from, to)) != 0)
        return errno == EEXIST && !replace
                   ? nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: the file exists; use {overwrite}", to)
                   : nvdp__fail_errno(ctx, errno, "%s: cannot write", to);
    nvdp__sync_directory(to);
    return NVDP_OK;
}

nvdp_status nvdp__output_flush(struct nvdp__output *out) {
    if (ferror(out->file)) return write_error(out, EIO);
    if (fflush(out->file) != 0 || fsync(fileno(out->file)) != 0) return write_error(out, errno);
    return NVDP_OK;
}

nvdp_status nvdp__output_commit(struct nvdp__output *out, bool replace) {
    nvdp_status status = NVDP_OK;
    int lock = -1;
    NVDP_TRY(nvdp__output_flush(out));
    lock = fcntl(fileno(out->file), F_DUPFD_CLOEXEC, 0); /* keeps the lock until the rename */
    int closed = fclose(out->file);
    out->file = NULL;
    if (closed != 0) NVDP_TRY(write_error(out, errno));
    NVDP_TRY(rename_onto(out->ctx, out->temporary, out->path, replace));
    free(out->temporary);
    out->temporary = NULL;
cleanup:
    nvdp__output_abort(out);
    if (lock >= 0) close(lock);
    return status;
}

void nvdp__output_abort(struct nvdp__output *out) {
    if (out->file != NULL) fclose(out->file);
    if (out->temporary != NULL) unlink(out->temporary);
    free(out->temporary);
    free(out->path);
    *out = (struct nvdp__output){0};
}

/* True if the name is NAME.partial-PID-N with NAME = `of` (NULL: any). */
static bool is_temporary_name(const char *name, const char *of) {
    static const char middle[] = ".partial-";
    const char *at = NULL;
    for (const char *next = name; (next = strstr(next, middle)) != NULL; next++)
        at = next; /* the last one */
    if (at == NULL) return false;
    const size_t length = (size_t)(at - name);
    if (of != NULL && (strlen(of) != length || strncmp(name, of, length) != 0)) return false;
    const char *pid = at + sizeof middle - 1;
    size_t digits = strspn(pid, "0123456789");
    return digits > 0 && pid[digits] == '-' && pid[digits + 1] != '\0' &&
           pid[digits + 1 + strspn(pid + digits + 1, "0123456789")] == '\0';
}

static void remove_leftover(struct nvdp_context *ctx, const char *path) {
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return;
    if (nvdp__lock_whole(fd) && unlink(path) == 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE,
                  "%s: removed this incomplete file; the process that wrote it was stopped", path);
    close(fd);
}

nvdp_status nvdp__remove_leftovers(struct nvdp_context *ctx, const char *directory,
                                   const char *of) {
    DIR *folder = opendir(directory);
    nvdp_status status = NVDP_OK;
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (!is_temporary_name(entry->d_name, of)) continue;
        char *found = nvdp__join(ctx, directory, entry->d_name);
        NVDP_TRY(NVDP__MADE(found));
        remove_leftover(ctx, found);
        free(found);
    }
cleanup:
    if (folder != NULL) closedir(folder);
    return status;
}

nvdp_status nvdp__remove_leftovers_of(struct nvdp_context *ctx, const char *path) {
    char *folder = nvdp__strdup(ctx, path), *name = nvdp__strdup(ctx, path);
    nvdp_status status = NVDP__MADE(folder, name);
    if (status == NVDP_OK) status = nvdp__remove_leftovers(ctx, dirname(folder), basename(name));
    free(folder);
    free(name);
    return status;
}

nvdp_status nvdp__create_temporary(struct nvdp_context *ctx, const char *path, char **temporary,
                                   int *lock) {
    nvdp_status status = NVDP_OK;
    int fd = -1;
    char *target = target_of(ctx, path);
    NVDP_TRY(NVDP__MADE(target));
    if (lock != NULL) NVDP_TRY(nvdp__remove_leftovers_of(ctx, target));
    NVDP_TRY(create_temporary(ctx, target, temporary, &fd));
    if (lock != NULL)
        *lock = fd;
    else
        close(fd);
cleanup:
    free(target);
    return status;
}

nvdp_status nvdp__publish(struct nvdp_context *ctx, const char *temporary, const char *path,
                          bool replace) {
    nvdp_status status = NVDP_OK;
    char *target = target_of(ctx, path);
    int fd = open(temporary, O_WRONLY | O_CLOEXEC);
    NVDP_TRY(NVDP__MADE(target));
    if (fd < 0 || fsync(fd) != 0) NVDP_TRY(nvdp__fail_errno(ctx, errno, "%s: cannot write", path));
    NVDP_TRY(rename_onto(ctx, temporary, target, replace));
cleanup:
    free(target);
    if (fd >= 0) close(fd);
    if (status != NVDP_OK) unlink(temporary);
    return status;
}

/* --- reading --- */

static nvdp_status cannot_read(struct nvdp_context *ctx, const char *path, int err) {
    return nvdp__fail_errno(ctx, err, "%s: cannot read", path);
}

static nvdp_status not_regular(struct nvdp_context *ctx, const char *path, mode_t mode) {
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected a regular file, found %s", path,
                      S_ISDIR(mode)                    ? "a directory"
                      : S_ISFIFO(mode)                 ? "a FIFO"
                      : S_ISSOCK(mode)                 ? "a socket"
                      : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                                       : "something else");
}

/* stat() comes first, because a socket cannot be opened and opening some devices has effects.
 * O_NONBLOCK ensures that a FIFO that replaces the file in between does not block either. */
static nvdp_status open_regular(struct nvdp_context *ctx, const char *path, int flags, int *fd) {
    struct stat info;
    const bool there = stat(path, &info) == 0;
    if (!there && !(flags & O_CREAT)) return cannot_read(ctx, path, errno);
    if (there && !S_ISREG(info.st_mode)) return not_regular(ctx, path, info.st_mode);
    const int opened = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0666);
    if (opened < 0)
        return nvdp__fail_errno(ctx, errno, "%s: cannot %s", path,
                                flags & O_CREAT ? "write" : "read");
    nvdp_status status = fstat(opened, &info) != 0 ? cannot_read(ctx, path, errno)
                         : S_ISREG(info.st_mode)   ? NVDP_OK
                                                   : not_regular(ctx, path, info.st_mode);
    if (status == NVDP_OK)
        *fd = opened;
    else
        close(opened);
    return status;
}

nvdp_status nvdp__open_regular(struct nvdp_context *ctx, const char *path, int *fd) {
    return open_regular(ctx, path, O_RDONLY, fd);
}

nvdp_status nvdp__check_regular(struct nvdp_context *ctx, const char *path) {
    int fd = -1;
    NVDP_RETURN_IF_FAILED(nvdp__open_regular(ctx, path, &fd));
    close(fd);
    return NVDP_OK;
}

static nvdp_status fopen_regular(struct nvdp_context *ctx, const char *path, int flags,
                                 const char *mode, FILE **file) {
    int fd = -1;
    NVDP_RETURN_IF_FAILED(open_regular(ctx, path, flags, &fd));
    *file = fdopen(fd, mode);
    if (*file != NULL) return NVDP_OK;
    const int err = errno;
    close(fd);
    return cannot_read(ctx, path, err);
}

nvdp_status nvdp__fopen_regular(struct nvdp_context *ctx, const char *path, FILE **file) {
    return fopen_regular(ctx, path, O_RDONLY, "rb", file);
}

nvdp_status nvdp__append_regular(struct nvdp_context *ctx, const char *path, FILE **file) {
    return fopen_regular(ctx, path, O_RDWR | O_APPEND | O_CREAT, "a+", file);
}

/* Waits for data for a moment; fails if the context is cancelled. */
static nvdp_status wait_for_data(struct nvdp_context *ctx, const char *path, int fd, bool *ready) {
    struct pollfd data = {.fd = fd, .events = POLLIN};
    if (nvdp_context_cancelled(ctx))
        return nvdp__fail(ctx, NVDP_ERR_CANCELLED, "%s: cancelled", path);
    *ready = poll(&data, 1, WAIT_MS) > 0;
    return NVDP_OK;
}

/* Waits until a process opens the FIFO for writing. An unnamed pipe gets no new writer: it has
 * data, a writer or its end. */
static nvdp_status wait_for_writer(struct nvdp_context *ctx, const char *path, int fd) {
    struct statfs system;
    bool ready = fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC;
    for (int waits = 0; !ready; waits++) {
        NVDP_RETURN_IF_FAILED(wait_for_data(ctx, path, fd, &ready));
        if (!ready && waits == MAX_WAITS)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: no process has opened this pipe for writing", path);
    }
    return NVDP_OK;
}

/* Opens a file that is read once from its start: a regular file, a pipe, a terminal. The
 * descriptor does not block, so that waiting for a writer can be cancelled. */
static nvdp_status open_stream(struct nvdp_context *ctx, const char *path, int *fd) {
    nvdp_status status = NVDP_OK;
    struct stat info;
    int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (opened < 0 && errno == ENXIO && stat(path, &info) == 0)
        return not_regular(ctx, path, info.st_mode);
    if (opened < 0 || fstat(opened, &info) != 0) NVDP_TRY(cannot_read(ctx, path, errno));
    if (S_ISDIR(info.st_mode)) NVDP_TRY(not_regular(ctx, path, info.st_mode));
    if (S_ISFIFO(info.st_mode)) NVDP_TRY(wait_for_writer(ctx, path, opened));
    *fd = opened;
    opened = -1;
cleanup:
    if (opened >= 0) close(opened);
    return status;
}

/* Reads up to `size` bytes; *count is 0 only at the end. */
static nvdp_status read_some(struct nvdp_context *ctx, const char *path, int fd, size_t size,
                             void *bytes, size_t *count) {
    for (bool ready;;) {
        const ssize_t got = read(fd, bytes, size);
        if (got < 0 && errno != EAGAIN && errno != EINTR) return cannot_read(ctx, path, errno);
        *count = got > 0 ? (size_t)got : 0;
        if (got >= 0) return NVDP_OK;
        NVDP_RETURN_IF_FAILED(wait_for_data(ctx, path, fd, &ready));
    }
}

/* Takes ownership of fd. */
static nvdp_status read_whole(struct nvdp_context *ctx, const char *path, int fd, size_t limit,
                              char **bytes, size_t *count) {
    nvdp_status status = NVDP_OK;
    char *text = NULL;
    size_t capacity = 0, have = 0, got = 0;
    struct stat info;
    if (fstat(fd, &info) != 0) NVDP_TRY(cannot_read(ctx, path, errno));
    /* The size is a hint only: it is 0 for a pipe, and a file may change while it is read. */
    size_t expected = S_ISREG(info.st_mode) && info.st_size > 0 ? (size_t)info.st_size : 0;
    if (expected > limit)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected at most %zu bytes, found %zu", path,
                            limit, expected));
    NVDP_TRY(nvdp__reserve(ctx, &text, &capacity, expected + 2, 1));
    for (;;) {
        NVDP_TRY(read_some(ctx, path, fd, capacity - have - 1, text + have, &got));
        if (got == 0) break;
        have += got;
        if (have > limit)
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected at most %zu bytes, found more",
                                path, limit));
        NVDP_TRY(nvdp__reserve(ctx, &text, &capacity, have + 2, 1));
    }
    text[have] = '\0';
    *bytes = text;
    *count = have;
    text = NULL;
cleanup:
    close(fd);
    free(text);
    return status;
}

nvdp_status nvdp__read_file(struct nvdp_context *ctx, const char *path, size_t limit, char **bytes,
                            size_t *count) {
    int fd = -1;
    NVDP_RETURN_IF_FAILED(nvdp__open_regular(ctx, path, &fd));
    return read_whole(ctx, path, fd, limit, bytes, count);
}

nvdp_status nvdp__read_stream(struct nvdp_context *ctx, const char *path, size_t limit,
                              char **bytes, size_t *count) {
    int fd = -1;
    NVDP_RETURN_IF_FAILED(open_stream(ctx, path, &fd));
    return read_whole(ctx, path, fd, limit, bytes, count);
}

nvdp_status nvdp__write_file(struct nvdp_context *ctx, const char *path, const void *bytes,
                             size_t count) {
    nvdp_status status = NVDP_OK;
    struct nvdp__output output = {0};
    NVDP_TRY(nvdp__output_open(ctx, path, &output));
    NVDP_TRY(nvdp__output_write(&output, bytes, count));
    NVDP_TRY(nvdp__output_commit(&output, true));
cleanup:
    nvdp__output_abort(&output);
    return status;
}

bool nvdp__ends_with(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

char *nvdp__join(struct nvdp_context *ctx, const char *directory, const char *name) {
    size_t length = strlen(directory);
    if (length == 0) return nvdp__strdup(ctx, name);
    return nvdp__format(ctx, directory[length - 1] == '/' ? "%s%s" : "%s/%s", directory, name);
}

nvdp_status nvdp__remove(struct nvdp_context *ctx, const char *path) {
    if (remove(path) == 0 || errno == ENOENT) return NVDP_OK;
    return nvdp__fail_errno(ctx, errno, "cannot remove %s", path);
}

bool nvdp__exists(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0;
}

bool nvdp__is_directory(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool nvdp__same_file(const char *p, const char *q) {
    struct stat a, b;
    return p != NULL && q != NULL && stat(p, &a) == 0 && stat(q, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

nvdp_status nvdp__refuse_same(struct nvdp_context *ctx, const char *option, const char *out,
                              const char *in) {
    struct stat info;
    if (out == NULL || in == NULL || (strcmp(out, in) != 0 && !nvdp__same_file(out, in)))
        return NVDP_OK;
    if (stat(out, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return NVDP_OK; /* such as a terminal, which is both input and output */
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "%s: expected a file or folder other than the input %s", option, in);
}

bool nvdp__directory_empty(const char *path) {
    DIR *directory = opendir(path);
    if (directory == NULL) return errno == ENOENT;
    bool empty = true;
    for (struct dirent *entry = readdir(directory); entry != NULL && empty;
         entry = readdir(directory)) {
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    }
    closedir(directory);
    return empty;
}

nvdp_status nvdp__make_directory(struct nvdp_context *ctx, const char *path) {
    nvdp_status status = NVDP_OK;
    char *partial = nvdp__strdup(ctx, path);
    if (partial == NULL) return NVDP_ERR_MEMORY;
    char *slash = partial;
    do {
        slash = strchr(slash + (*slash != '\0'), '/');
        if (slash != NULL) *slash = '\0';
        if (mkdir(partial, 0777) != 0) {
            int err = errno == EEXIST ? ENOTDIR : errno; /* an existing name must be a folder */
            if (!nvdp__is_directory(partial))
                NVDP_TRY(nvdp__fail_errno(ctx, err, "%s: cannot make the directory", partial));
        }
        if (slash != NULL) *slash = '/';
    } while (slash != NULL);
cleanup:
    free(partial);
    return status;
}

nvdp_status nvdp__file_sha256(struct nvdp_context *ctx, const char *path, char hex[65]) {
    nvdp_status status = NVDP_OK;
    FILE *file = NULL;
    unsigned char *bytes = nvdp__calloc(ctx, READ_BYTES, 1);
    if (bytes == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp__fopen_regular(ctx, path, &file));
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    size_t got;
    while ((got = fread(bytes, 1, READ_BYTES, file)) > 0) {
        crypto_hash_sha256_update(&state, bytes, got);
    }
    if (ferror(file)) NVDP_TRY(nvdp__fail_errno(ctx, errno, "%s: cannot read", path));
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_final(&state, digest);
    sodium_bin2hex(hex, 65, digest, sizeof digest);
cleanup:
    if (file != NULL) fclose(file);
    free(bytes);
    return status;
}

/* --- plain or compressed input --- */

bool nvdp__may_unpack(uint64_t stored, uint64_t unpacked) {
    static const uint64_t small = 1 << 24;
    return unpacked <= small || unpacked / NVDP__MAX_UNPACK_RATIO <= stored;
}

struct nvdp__input {
    struct nvdp_context *ctx;
    char *path;
    int fd;
    uint64_t size; /* of a regular file, else 0 */
    bool packed;
    bool ended; /* end of data reached */
    lzma_stream xz;
    uint8_t *buffer; /* [READ_BYTES] raw bytes of the file */
    size_t used, have;
};

static const struct magic {
    const char *name;
    const char *bytes;
    size_t size;
} magics[] = {
    {"gzip", "\x1F\x8B", 2},
    {"bzip2", "BZh", 3},
    {"zstd", "\x28\xB5\x2F\xFD", 4},
    {"zip", "PK\x03\x04", 4},
};
static const char XZ_MAGIC[MAGIC_BYTES] = "\xFD\x37\x7A\x58\x5A"; /* with a NUL */

static nvdp_status fill(struct nvdp__input *input) {
    input->used = input->have = 0;
    return read_some(input->ctx, input->path, input->fd, READ_BYTES, input->buffer, &input->have);
}

static nvdp_status recognize(struct nvdp__input *input) {
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        if (input->have >= magics[i].size &&
            memcmp(input->buffer, magics[i].bytes, magics[i].size) == 0)
            return nvdp__fail(input->ctx, NVDP_ERR_INPUT,
                              "%s: expected text, plain or compressed by xz, found %s data",
                              input->path, magics[i].name);
    }
    input->packed = input->have >= MAGIC_BYTES && memcmp(input->buffer, XZ_MAGIC, MAGIC_BYTES) == 0;
    if (!input->packed) return NVDP_OK;
    if (lzma_stream_decoder(&input->xz, UNPACK_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
        return nvdp__fail(input->ctx, NVDP_ERR_MEMORY, "%s: out of memory", input->path);
    return NVDP_OK;
}

nvdp_status nvdp__input_open(struct nvdp_context *ctx, const char *path, struct nvdp__input **out) {
    nvdp_status status = NVDP_OK;
    struct stat info;
    struct nvdp__input *input = nvdp__calloc(ctx, 1, sizeof *input);
    if (input == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    input->ctx = ctx;
    input->fd = -1;
    input->xz = (lzma_stream)LZMA_STREAM_INIT;
    input->path = nvdp__strdup(ctx, path);
    input->buffer = nvdp__calloc(ctx, READ_BYTES, 1);
    if (input->path == NULL || input->buffer == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(open_stream(ctx, path, &input->fd));
    if (fstat(input->fd, &info) == 0 && S_ISREG(info.st_mode)) input->size = (uint64_t)info.st_size;
    for (size_t got = 1; got > 0 && input->have < MAGIC_BYTES; input->have += got)
        NVDP_TRY(read_some(ctx, path, input->fd, READ_BYTES - input->have,
                           input->buffer + input->have, &got));
    NVDP_TRY(recognize(input));
    NVDP__HAND_OVER(out, input);
cleanup:
    nvdp__input_close(input);
    return status;
}

void nvdp__input_close(struct nvdp__input *input) {
    if (input == NULL) return;
    lzma_end(&input->xz);
    if (input->fd >= 0) close(input->fd);
    free(input->buffer);
    free(input->path);
    free(input);
}

static nvdp_status damaged(const struct nvdp__input *input, lzma_ret found) {
    if (found == LZMA_MEM_ERROR)
        return nvdp__fail(input->ctx, NVDP_ERR_MEMORY, "%s: out of memory", input->path);
    return nvdp__fail(input->ctx, NVDP_ERR_INPUT, "%s: expected a complete xz file, found %s",
                      input->path,
                      found == LZMA_MEMLIMIT_ERROR  ? "a dictionary of more than 1 GiB"
                      : found == LZMA_OPTIONS_ERROR ? "options of a newer version of xz"
                      : found == LZMA_BUF_ERROR     ? "an early end of the file"
                                                    : "damaged data");
}

/* The size of a pipe is the number of bytes read so far. */
static nvdp_status check_ratio(const struct nvdp__input *input) {
    const uint64_t stored = input->size > 0 ? input->size : input->xz.total_in;
    if (nvdp__may_unpack(stored, input->xz.total_out)) return NVDP_OK;
    return nvdp__fail(
        input->ctx, NVDP_ERR_INPUT,
        "%s: expected xz data that decompress to at most 16 MiB, or to %d times their %" PRIu64
        " bytes, found more; decompress the file first with xz -d",
        input->path, NVDP__MAX_UNPACK_RATIO, stored);
}

static nvdp_status unpack(struct nvdp__input *input, size_t size, char *bytes, size_t *count) {
    lzma_stream *xz = &input->xz;
    xz->next_out = (uint8_t *)bytes;
    xz->avail_out = size;
    while (xz->avail_out > 0 && !input->ended) {
        if (input->used == input->have) NVDP_RETURN_IF_FAILED(fill(input));
        xz->next_in = input->buffer + input->used;
        xz->avail_in = input->have - input->used;
        lzma_ret found = lzma_code(xz, input->have == 0 ? LZMA_FINISH : LZMA_RUN);
        input->used = input->have - xz->avail_in;
        if (found != LZMA_OK && found != LZMA_STREAM_END) return damaged(input, found);
        NVDP_RETURN_IF_FAILED(check_ratio(input));
        input->ended = found == LZMA_STREAM_END;
    }
    *count = size - xz->avail_out;
    return NVDP_OK;
}

nvdp_status nvdp__input_read(struct nvdp__input *input, size_t size, char *bytes, size_t *count) {
    if (input->packed) return unpack(input, size, bytes, count);
    if (input->used == input->have) NVDP_RETURN_IF_FAILED(fill(input));
    size_t left = input->have - input->used;
    *count = nvdp__min(left, size);
    memcpy(bytes, input->buffer + input->used, *count);
    input->used += *count;
    return NVDP_OK;
}

/* --- lines --- */

static const char BYTE_ORDER_MARK[] = "\xEF\xBB\xBF";

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
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(lines->ctx, &lines->buffer, &lines->capacity, left + READ_BYTES, 1));
    NVDP_RETURN_IF_FAILED(nvdp__input_read(lines->input, READ_BYTES, lines->buffer + left, &count));
    lines->have += count;
    lines->read += count;
    lines->ended = count == 0;
    return NVDP_OK;
}

nvdp_status nvdp__lines_next(struct nvdp__lines *lines, struct nvdp__line *line, bool *found) {
    size_t searched = 0;
    const char *end = NULL;
    for (;;) {
        size_t left = lines->have - lines->used;
        if (left > searched)
            end = memchr(lines->buffer + lines->used + searched, '\n', left - searched);
        if (end != NULL || lines->ended) break;
        searched = left;
        NVDP_RETURN_IF_FAILED(read_more(lines));
    }
    const char *text = lines->buffer + lines->used;
    size_t left = lines->have - lines->used;
    size_t size = end != NULL ? (size_t)(end - text) : left;
    *found = end != NULL || left > 0;
    lines->used += end != NULL ? size + 1 : size;
    lines->line += *found;
    if (size > 0 && text[size - 1] == '\r') size--;
    const size_t mark = sizeof BYTE_ORDER_MARK - 1;
    if (lines->line == 1 && size >= mark && memcmp(text, BYTE_ORDER_MARK, mark) == 0) {
        text += mark;
        size -= mark;
    }
    *line = (struct nvdp__line){text, size};
    return NVDP_OK;
}

void nvdp__lines_close(struct nvdp__lines *lines) {
    nvdp__input_close(lines->input);
    free(lines->buffer);
    *lines = (struct nvdp__lines){0};
}

static ssize_t to_sink(void *cookie, const char *text, size_t size) {
    const struct nvdp__writing *sink = cookie;
    return sink->write(text, size, sink->user) ? (ssize_t)size : 0;
}

FILE *nvdp__writing_open(struct nvdp_context *ctx, const struct nvdp__writing *sink) {
    FILE *made =
        fopencookie((void *)(uintptr_t)sink, "w", (cookie_io_functions_t){.write = to_sink});
    if (made == NULL) (void)nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    return made;
}
