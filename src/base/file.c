/* Files as in file.h: atomic writing and leftovers of it, then opening, paths, streams that call a function, and
 * output directories. input.c has the reading. */
#include "base/file.h"

#include "base/array.h"
#include "base/own.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TEMPORARY = 10000, READ_BYTES = 1 << 16 };

/* --- files written whole or not at all --- */

bool nvdp__lock_whole(int fd) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* Locks a new temporary file, so that other processes see that it is being written. Returns false if another process
 * removed the file as a leftover before the lock. On file systems without locks, no process gets a lock, and this
 * function succeeds. */
static bool claim(int fd) {
    struct stat info;
    if (!nvdp__lock_whole(fd) && (errno == EAGAIN || errno == EACCES)) return false;
    return fstat(fd, &info) == 0 && info.st_nlink > 0;
}

/* Returns the target of path if path is a link, because writing to /dev/stdout must not replace the link itself;
 * else a copy of path. */
static char *link_target(struct nvdp_context *ctx, const char *path) {
    struct stat info;
    char *target = NULL;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) target = realpath(path, NULL);
    return target != NULL ? target : nvdp__strdup(ctx, path);
}

static const char of_process[] = "/proc/self/fd/";

bool nvdp__is_unnamed(const char *temporary) {
    return strncmp(temporary, of_process, sizeof of_process - 1) == 0;
}

/* Opens a file without a name in the folder of path; returns -1 if that is impossible. */
static int open_unnamed(const char *path) {
    return open(nvdp__path_folder(path).text, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

/* Creates a file without a name and returns its path in /proc. Leaves *name NULL if that is impossible. */
static nvdp_status create_unnamed(struct nvdp_context *ctx, const char *path, char **name,
                                  int *fd) {
    nvdp__auto(nvdp__close_owned) int opened = open_unnamed(path);
    if (opened < 0) return NVDP_OK;
    const struct nvdp__path place = nvdp__path_format("%s%d", of_process, opened);
    if (access(place.text, W_OK) != 0) return NVDP_OK;
    *name = nvdp__strdup(ctx, place.text);
    NVDP_TRY(NVDP__MADE(*name));
    *fd = opened;
    opened = -1;
    return NVDP_OK;
}

nvdp_status nvdp__check_room(struct nvdp_context *ctx, const char *path, uint64_t bytes) {
    nvdp__auto(nvdp__close_owned) int fd = open_unnamed(path);
    const int err =
        fd >= 0 && bytes <= INT64_MAX && fallocate(fd, 0, 0, (off_t)bytes) != 0 ? errno : 0;
    if (err != ENOSPC && err != EDQUOT && err != EFBIG) return NVDP_OK;
    return nvdp__fail_errno(ctx, err, "%s: cannot write %.0f MiB", path,
                            ceil((double)bytes / (1 << 20)));
}

/* Number of bytes that a temporary name keeps of a file's name: NAME_MAX without room for the suffix. */
enum { KEPT = NAME_MAX - 48 };

/* Returns the n-th temporary name of a file: PATH.partial-PID-N. A long name is cut. */
static struct nvdp__path temporary_name(const char *path, int n) {
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    return nvdp__path_format("%.*s%.*s.partial-%ld-%d", (int)(name - path), path, (int)KEPT, name,
                             (long)getpid(), n);
}

/* Creates an empty temporary file beside path, with the permissions of the file that it will replace. The file is
 * locked or, if `unnamed` is set and possible, has no name. Refuses devices and pipes, because renaming would
 * replace them instead of writing to them. */
static nvdp_status create_temporary(struct nvdp_context *ctx, const char *path, bool unnamed,
                                    char **name, int *fd) {
    struct stat info;
    bool replaced = stat(path, &info) == 0;
    if (replaced && S_ISDIR(info.st_mode))
        return nvdp__fail_errno(ctx, EISDIR, "%s: cannot write", path);
    if (replaced && !S_ISREG(info.st_mode))
        return nvdp__fail(ctx, NVDP_ERR_IO, "%s: cannot write: not a regular file", path);
    *name = NULL;
    if (unnamed) NVDP_TRY(create_unnamed(ctx, path, name, fd));
    if (*name != NULL) {
        if (replaced) (void)!fchmod(*fd, info.st_mode & 07777);
        return NVDP_OK;
    }
    for (int n = 0; n < MAX_TEMPORARY; n++) {
        nvdp__autofree char *temporary = nvdp__strdup(ctx, temporary_name(path, n).text);
        NVDP_TRY(NVDP__MADE(temporary));
        nvdp__auto(nvdp__close_owned) int opened =
            open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (opened < 0 && errno != EEXIST)
            return nvdp__fail_errno(ctx, errno, "%s: cannot write", path);
        if (opened < 0 || !claim(opened)) continue;
        if (replaced) (void)!fchmod(opened, info.st_mode & 07777);
        NVDP__HAND_OVER(name, temporary);
        *fd = opened;
        opened = -1;
        return NVDP_OK;
    }
    return nvdp__fail_errno(ctx, EEXIST, "%s: cannot write", path);
}

nvdp_status nvdp__check_parent_folder(struct nvdp_context *ctx, const char *path) {
    nvdp__autofree char *target = path != NULL ? link_target(ctx, path) : NULL;
    if (path == NULL) return NVDP_OK;
    NVDP_TRY(NVDP__MADE(target));
    const char *folder = dirname(target); /* modifies `target` */
    struct stat info;
    const int err = stat(folder, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
    if (err == ENOENT)
        return nvdp__fail(ctx, NVDP_ERR_IO,
                          "%s: cannot write: %s; make the folder first: mkdir -p %s", path,
                          strerror(err), folder);
    return err == 0 ? NVDP_OK : nvdp__fail_errno(ctx, err, "%s: cannot write", path);
}

nvdp_status nvdp__output_open(struct nvdp_context *ctx, const char *path,
                              struct nvdp__output *out) {
    nvdp__auto(nvdp__output_abort) struct nvdp__output output = {.ctx = ctx};
    nvdp__auto(nvdp__close_owned) int fd = -1;
    output.path = link_target(ctx, path);
    NVDP_TRY(NVDP__MADE(output.path));
    NVDP_TRY(nvdp__remove_file_leftovers(ctx, output.path));
    NVDP_TRY(create_temporary(ctx, output.path, true, &output.temporary, &fd));
    output.file = fdopen(fd, "wb");
    if (output.file == NULL) return nvdp__fail_errno(ctx, errno, "%s: cannot write", path);
    fd = -1;
    return NVDP__HAND_OVER(out, output);
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
    nvdp__auto(nvdp__close_owned) int fd =
        open(nvdp__path_folder(path).text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) (void)!fsync(fd);
}

/* Renames without replacing. If the file system does not support this, links and unlinks; if the file system has no
 * links either, checks first. */
static int rename_to_new(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    if (link(from, to) == 0) return unlink(from);
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return -1;
    if (!nvdp__exists(to)) return rename(from, to);
    errno = EEXIST;
    return -1;
}

/* Gives a file without a name a temporary name, and renames the file onto a file that exists. */
static int link_onto(const char *from, const char *to) {
    int done = -1;
    for (int n = 0; n < MAX_TEMPORARY && done != 0; n++) {
        const struct nvdp__path name = temporary_name(to, n);
        done = linkat(AT_FDCWD, from, AT_FDCWD, name.text, AT_SYMLINK_FOLLOW);
        if (done != 0 && errno != EEXIST) return -1;
        if (done == 0 && rename(name.text, to) != 0) {
            const int failed = errno;
            unlink(name.text);
            errno = failed;
            return 1;
        }
    }
    return done;
}

/* Renames a file, or links a file without a name; once the file has a name, its path in /proc is forgotten. */
static int give_name(char *from, const char *to, bool replace) {
    if (!nvdp__is_unnamed(from)) return replace ? rename(from, to) : rename_to_new(from, to);
    int done = linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
    if (done != 0 && errno == EEXIST && replace) done = link_onto(from, to);
    if (done >= 0) from[0] = '\0';
    return done;
}

/* Gives a file its final name; an empty file may always be replaced. */
static nvdp_status rename_onto(struct nvdp_context *ctx, char *from, const char *to, bool replace) {
    struct stat info;
    replace = replace || (stat(to, &info) == 0 && info.st_size == 0);
    if (give_name(from, to, replace) != 0)
        return errno == ENOMEM ? nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", to)
               : errno == EEXIST && !replace
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
    nvdp_status status = nvdp__output_flush(out);
    /* all data are on the disk, so fclose() has nothing left to do */
    if (status == NVDP_OK) status = rename_onto(out->ctx, out->temporary, out->path, replace);
    /* the file has its final name, so no temporary file is left to remove */
    if (status == NVDP_OK) out->temporary[0] = '\0';
    nvdp__output_abort(out);
    return status;
}

void nvdp__output_abort(struct nvdp__output *out) {
    if (out->file != NULL) fclose(out->file);
    if (out->temporary != NULL && out->temporary[0] != '\0') unlink(out->temporary);
    free(out->temporary);
    free(out->path);
    *out = (struct nvdp__output){0};
}

/* Returns true if the name is NAME.partial-PID-N with NAME = `of`, which may be cut; `of` is NULL for any NAME. */
static bool is_temporary_name(const char *name, const char *of) {
    static const char middle[] = ".partial-";
    const char *at = NULL;
    for (const char *next = name; (next = strstr(next, middle)) != NULL; next++)
        at = next; /* finds the last occurrence */
    if (at == NULL) return false;
    const size_t length = (size_t)(at - name);
    if (of != NULL && (nvdp__min(strlen(of), KEPT) != length || strncmp(name, of, length) != 0))
        return false;
    const char *pid = at + sizeof middle - 1;
    size_t digits = strspn(pid, "0123456789");
    return digits > 0 && pid[digits] == '-' && pid[digits + 1] != '\0' &&
           pid[digits + 1 + strspn(pid + digits + 1, "0123456789")] == '\0';
}

nvdp_status nvdp__remove_leftovers(struct nvdp_context *ctx, const char *directory,
                                   const char *of) {
    nvdp__autoptr(closedir) DIR *folder = opendir(directory);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (!is_temporary_name(entry->d_name, of)) continue;
        const struct nvdp__path path = nvdp__path(directory, entry->d_name);
        nvdp__auto(nvdp__close_owned) int fd =
            open(path.text, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd >= 0 && nvdp__lock_whole(fd) && unlink(path.text) == 0)
            nvdp__log(ctx, NVDP_LOG_NOTICE,
                      "%s: removed this incomplete file; the process that wrote it was stopped",
                      path.text);
    }
    return NVDP_OK;
}

nvdp_status nvdp__remove_file_leftovers(struct nvdp_context *ctx, const char *path) {
    struct nvdp__path name = nvdp__path_format("%s", path); /* basename() modifies the copy */
    return nvdp__remove_leftovers(ctx, nvdp__path_folder(path).text, basename(name.text));
}

nvdp_status nvdp__create_temporary(struct nvdp_context *ctx, const char *path, char **temporary,
                                   int *lock) {
    int fd = -1;
    nvdp__autofree char *target = link_target(ctx, path);
    NVDP_TRY(NVDP__MADE(target));
    if (lock != NULL) NVDP_TRY(nvdp__remove_file_leftovers(ctx, target));
    NVDP_TRY(create_temporary(ctx, target, lock != NULL, temporary, &fd));
    if (lock != NULL)
        *lock = fd;
    else
        close(fd);
    return NVDP_OK;
}

nvdp_status nvdp__publish(struct nvdp_context *ctx, char *temporary, const char *path,
                          bool replace) {
    nvdp__autofree char *target = link_target(ctx, path);
    nvdp__auto(nvdp__close_owned) int fd = open(temporary, O_WRONLY | O_CLOEXEC);
    const nvdp_status status = target == NULL ? NVDP_ERR_MEMORY
                               : fd < 0 || fsync(fd) != 0
                                   ? nvdp__fail_errno(ctx, errno, "%s: cannot write", path)
                                   : rename_onto(ctx, temporary, target, replace);
    if (status != NVDP_OK) unlink(temporary);
    return status;
}

/* --- opening --- */

nvdp_status nvdp__cannot_read(struct nvdp_context *ctx, const char *path, int err) {
    return nvdp__fail_errno(ctx, err, "%s: cannot read", path);
}

nvdp_status nvdp__not_regular(struct nvdp_context *ctx, const char *path, mode_t mode) {
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected a regular file, found %s", path,
                      S_ISDIR(mode)                    ? "a directory"
                      : S_ISFIFO(mode)                 ? "a FIFO"
                      : S_ISSOCK(mode)                 ? "a socket"
                      : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                                       : "something else");
}

/* Opens a regular file. stat() comes first, because a socket cannot be opened and opening some devices has effects.
 * O_NONBLOCK ensures that the call does not block if a FIFO replaces the file after stat(). */
static nvdp_status open_regular(struct nvdp_context *ctx, const char *path, int flags, int *fd) {
    struct stat info;
    const bool there = stat(path, &info) == 0;
    if (!there && !(flags & O_CREAT)) return nvdp__cannot_read(ctx, path, errno);
    if (there && !S_ISREG(info.st_mode)) return nvdp__not_regular(ctx, path, info.st_mode);
    const int opened = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0666);
    if (opened < 0)
        return nvdp__fail_errno(ctx, errno, "%s: cannot %s", path,
                                flags & O_CREAT ? "write" : "read");
    nvdp_status status = fstat(opened, &info) != 0 ? nvdp__cannot_read(ctx, path, errno)
                         : S_ISREG(info.st_mode)   ? NVDP_OK
                                                   : nvdp__not_regular(ctx, path, info.st_mode);
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
    NVDP_TRY(nvdp__open_regular(ctx, path, &fd));
    close(fd);
    return NVDP_OK;
}

static nvdp_status fopen_regular(struct nvdp_context *ctx, const char *path, int flags,
                                 const char *mode, FILE **file) {
    int fd = -1;
    NVDP_TRY(open_regular(ctx, path, flags, &fd));
    *file = fdopen(fd, mode);
    if (*file != NULL) return NVDP_OK;
    const int err = errno;
    close(fd);
    return nvdp__cannot_read(ctx, path, err);
}

nvdp_status nvdp__fopen_regular(struct nvdp_context *ctx, const char *path, FILE **file) {
    return fopen_regular(ctx, path, O_RDONLY, "rb", file);
}

nvdp_status nvdp__append_regular(struct nvdp_context *ctx, const char *path, FILE **file) {
    return fopen_regular(ctx, path, O_RDWR | O_APPEND | O_CREAT, "a+", file);
}

ssize_t nvdp__read_at(int fd, void *to, size_t count, size_t at) {
    for (size_t done = 0; done < count;) {
        const ssize_t got = pread(fd, (char *)to + done, count - done, (off_t)(at + done));
        if (got == 0) return (ssize_t)done;
        if (got < 0 && errno != EINTR) return -1;
        done += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)count;
}

bool nvdp__write_at(int fd, const void *from, size_t count, size_t at) {
    for (size_t done = 0; done < count;) {
        const ssize_t put = pwrite(fd, (const char *)from + done, count - done, (off_t)(at + done));
        if (put < 0 && errno != EINTR) return false;
        done += put > 0 ? (size_t)put : 0;
    }
    return true;
}

nvdp_status nvdp__write_file(struct nvdp_context *ctx, const char *path, const void *bytes,
                             size_t count) {
    nvdp__auto(nvdp__output_abort) struct nvdp__output output = {0};
    NVDP_TRY(nvdp__output_open(ctx, path, &output));
    NVDP_TRY(nvdp__output_write(&output, bytes, count));
    return nvdp__output_commit(&output, true);
}

bool nvdp__ends_with(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

const char *nvdp__file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

const char *nvdp__path_separator(const char *directory) {
    const size_t length = strlen(directory);
    return length == 0 || directory[length - 1] == '/' ? "" : "/";
}

char *nvdp__join(struct nvdp_context *ctx, const char *directory, const char *name) {
    return nvdp__format(ctx, "%s%s%s", directory, nvdp__path_separator(directory), name);
}

nvdp_status nvdp__remove(struct nvdp_context *ctx, const char *path) {
    if (remove(path) == 0 || errno == ENOENT || errno == ENAMETOOLONG) return NVDP_OK;
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

nvdp_status nvdp__write_text(struct nvdp_context *ctx, const char *path, const char *text) {
    nvdp__auto(nvdp__output_abort) struct nvdp__output to = {0};
    NVDP_TRY(nvdp__output_open(ctx, path, &to));
    NVDP_TRY(nvdp__output_printf(&to, "%s\n", text));
    return nvdp__output_commit(&to, true);
}

nvdp_status nvdp__refuse_same(struct nvdp_context *ctx, const char *option, const char *out,
                              const char *in) {
    struct stat info;
    if (out == NULL || in == NULL || (strcmp(out, in) != 0 && !nvdp__same_file(out, in)))
        return NVDP_OK;
    if (stat(out, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return NVDP_OK; /* for example a terminal, which is both input and output */
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "%s: expected a file or folder other than the input %s", option, in);
}

bool nvdp__directory_empty(const char *path) {
    nvdp__autoptr(closedir) DIR *directory = opendir(path);
    if (directory == NULL) return errno == ENOENT;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) return false;
    return true;
}

nvdp_status nvdp__make_directory(struct nvdp_context *ctx, const char *path) {
    struct nvdp__path copy = nvdp__path_format("%s", path);
    char *const partial = copy.text, *slash = partial;
    do {
        slash = strchr(slash + (*slash != '\0'), '/');
        if (slash != NULL) *slash = '\0';
        if (mkdir(partial, 0777) != 0) {
            int err = errno == EEXIST ? ENOTDIR : errno; /* an existing name must be a folder */
            if (!nvdp__is_directory(partial))
                return nvdp__fail_errno(ctx, err, "%s: cannot make the directory", partial);
        }
        if (slash != NULL) *slash = '/';
    } while (slash != NULL);
    return NVDP_OK;
}

nvdp_status nvdp__file_sha256(struct nvdp_context *ctx, const char *path, char hex[65]) {
    nvdp__autoptr(fclose) FILE *file = NULL;
    nvdp__autofree unsigned char *bytes = nvdp__calloc(ctx, READ_BYTES, 1);
    if (bytes == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__fopen_regular(ctx, path, &file));
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    size_t got;
    while ((got = fread(bytes, 1, READ_BYTES, file)) > 0) {
        crypto_hash_sha256_update(&state, bytes, got);
    }
    if (ferror(file)) return nvdp__fail_errno(ctx, errno, "%s: cannot read", path);
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_final(&state, digest);
    sodium_bin2hex(hex, 65, digest, sizeof digest);
    return NVDP_OK;
}

nvdp_status nvdp__file_is(struct nvdp_context *ctx, const char *path, const char *sha256,
                          bool *same) {
    char found[65];
    *same = false;
    if (!nvdp__exists(path)) return NVDP_OK;
    NVDP_TRY(nvdp__file_sha256(ctx, path, found));
    *same = strcmp(found, sha256) == 0;
    return NVDP_OK;
}

/* --- streams that call a function --- */

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

/* --- output directories: locking, checks of runs, removal of files --- */

nvdp_status nvdp__outdir_check(struct nvdp_context *ctx, const char *directory, bool overwrite,
                               const char *ways) {
    if (nvdp__exists(directory) && !nvdp__is_directory(directory))
        return nvdp__fail_errno(ctx, ENOTDIR, "%s: cannot write the run to this folder", directory);
    if (overwrite || !nvdp__exists(directory) || nvdp__directory_empty(directory)) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: the output directory is not empty; use %s",
                      directory, nvdp__with_options(ctx, ways).text);
}

nvdp_status nvdp__outdir_lock(struct nvdp_context *ctx, const char *directory, DIR **lock) {
    if (*lock != NULL) return NVDP_OK;
    NVDP_TRY(nvdp__make_directory(ctx, directory));
    DIR *opened = opendir(directory);
    if (opened != NULL && flock(dirfd(opened), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        closedir(opened);
        return nvdp__fail(
            ctx, NVDP_ERR_STATE,
            "%s: another process is writing to this folder; wait until it has finished", directory);
    }
    *lock = opened;
    return nvdp__outdir_tidy(ctx, directory);
}

/* Unlocks even if a process that was forked in the meantime still has the directory open. */
void nvdp__outdir_unlock(DIR *lock) {
    if (lock == NULL) return;
    (void)flock(dirfd(lock), LOCK_UN);
    closedir(lock);
}

/* Returns true if DIRECTORY/name exists; false for a path that no system call accepts. */
static bool holds(const char *directory, const char *name) {
    return nvdp__exists(nvdp__path_format("%s/%s", directory, name).text);
}

nvdp_status nvdp__outdir_check_ended(struct nvdp_context *ctx, const char *run) {
    if (!holds(run, "run.json") || holds(run, "result.json")) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_STATE,
                      "%s: expected a finished run, but result.json is missing, because the run "
                      "was stopped or is still training; finish it with: nvdp train --resume %s",
                      run, run);
}

nvdp_status nvdp__outdir_check_run(struct nvdp_context *ctx, const char *run) {
    if (holds(run, "run.json")) return NVDP_OK;
    const bool pretrained = holds(run, "pretrain.json");
    const bool ended = !holds(run, "state.ckpt") || holds(run, "result.json");
    return nvdp__fail(
        ctx, NVDP_ERR_INPUT, "%s: expected the folder of a run of nvdp train, found %s%s", run,
        nvdp__exists(run) && !nvdp__is_directory(run) ? "a file" : "no run.json",
        pretrained && ended ? ": the folder has a pretrained model"
        : pretrained        ? ": the folder has a pretraining that was stopped or is still running"
        : ended             ? ""
                            : ": a training began in this folder but cannot be resumed without "
                              "run.json; train again");
}

nvdp_status nvdp__outdir_check_model(struct nvdp_context *ctx, const char *model) {
    static const char own[] = "/model";
    size_t length = strlen(model);
    struct nvdp__path run = nvdp__path(model, "..");
    while (length > 1 && model[length - 1] == '/')
        length--;
    const bool named =
        length >= sizeof own && strncmp(model + length - strlen(own), own, strlen(own)) == 0;
    /* RUN/model/.. is RUN, shortened for the message */
    if (named) run.text[length - strlen(own)] = '\0';
    if (!named && !nvdp__same_file(model, nvdp__path(model, "../model").text)) return NVDP_OK;
    return nvdp__outdir_check_ended(ctx, run.text);
}

/* Removes matching files. glob() would also treat the name of the directory as a pattern. */
static nvdp_status remove_matching(struct nvdp_context *ctx, const char *directory,
                                   const char *pattern) {
    nvdp__autoptr(closedir) DIR *folder = opendir(directory);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (fnmatch(pattern, entry->d_name, FNM_PERIOD) == 0)
            NVDP_TRY(nvdp__remove(ctx, nvdp__path(directory, entry->d_name).text));
    return NVDP_OK;
}

nvdp_status nvdp__outdir_remove(struct nvdp_context *ctx, const char *directory,
                                const char *const *name, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct nvdp__path path = nvdp__path(directory, name[i]);
        const char *last = strrchr(path.text, '/');
        NVDP_TRY(strchr(name[i], '*') == NULL
                     ? nvdp__remove(ctx, path.text)
                     : remove_matching(ctx, nvdp__path_folder(path.text).text,
                                       last != NULL ? last + 1 : path.text));
    }
    return NVDP_OK;
}

nvdp_status nvdp__outdir_tidy(struct nvdp_context *ctx, const char *directory) {
    NVDP_TRY(nvdp__remove_leftovers(ctx, directory, NULL));
    return nvdp__remove_leftovers(ctx, nvdp__path(directory, "model").text, NULL);
}
