/* Files as in file.h: atomic writing and its leftovers, then opening, paths, and streams that call a
 * function. input.c reads. */
#include "base/file.h"
#include "base/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TEMPORARY = 10000, READ_BYTES = 1 << 16 };

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

static const char of_process[] = "/proc/self/fd/";

bool nvdp__is_unnamed(const char *temporary) {
    return strncmp(temporary, of_process, sizeof of_process - 1) == 0;
}

/* Opens a file without a name in the folder of path; -1 if that is impossible. */
static int open_unnamed(const char *path) {
    char *copy = strdup(path); /* dirname() modifies it */
    const int fd = copy != NULL ? open(dirname(copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
    free(copy);
    return fd;
}

/* Creates such a file and returns its place in /proc.  Leaves *name NULL if that is impossible. */
static nvdp_status create_unnamed(struct nvdp_context *ctx, const char *path, char **name,
                                  int *fd) {
    const int opened = open_unnamed(path);
    if (opened < 0) return NVDP_OK;
    char *place = nvdp__format(ctx, "%s%d", of_process, opened);
    if (place != NULL && access(place, W_OK) == 0) {
        *name = place;
        *fd = opened;
        return NVDP_OK;
    }
    const nvdp_status status = NVDP__MADE(place);
    close(opened);
    free(place);
    return status;
}

nvdp_status nvdp__check_room(struct nvdp_context *ctx, const char *path, uint64_t bytes) {
    const int fd = open_unnamed(path);
    const int err =
        fd >= 0 && bytes <= INT64_MAX && fallocate(fd, 0, 0, (off_t)bytes) != 0 ? errno : 0;
    if (fd >= 0) close(fd);
    if (err != ENOSPC && err != EDQUOT && err != EFBIG) return NVDP_OK;
    return nvdp__fail_errno(ctx, err, "%s: cannot write %.0f MiB", path,
                            ceil((double)bytes / (1 << 20)));
}

/* Creates an empty temporary file beside path, with the permissions of a replaced file: locked, or, if `unnamed` is set
 * and possible, without a name.  Refuses devices and pipes, because renaming would replace them instead of writing to
 * them. */
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
    NVDP_TRY_OR_CLEAN(NVDP__MADE(target));
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
    if (output.path == NULL) NVDP_TRY_OR_CLEAN(NVDP_ERR_MEMORY);
    NVDP_TRY_OR_CLEAN(create_temporary(ctx, output.path, true, &output.temporary, &fd));
    output.file = fdopen(fd, "wb");
    if (output.file == NULL)
        NVDP_TRY_OR_CLEAN(nvdp__fail_errno(ctx, errno, "%s: cannot write", path));
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

/* Gives a file without a name a temporary one, and renames it onto a file that exists. */
static int link_onto(struct nvdp_context *ctx, const char *from, const char *to) {
    int done = -1;
    for (int n = 0; n < MAX_TEMPORARY && done != 0; n++) {
        char *name = nvdp__format(ctx, "%s.partial-%ld-%d", to, (long)getpid(), n);
        errno = ENOMEM;
        done = name != NULL ? linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW) : -1;
        const int err = errno;
        const bool renamed = done == 0 && rename(name, to) == 0;
        if (done == 0 && !renamed) {
            const int failed = errno;
            unlink(name);
            free(name);
            errno = failed;
            return 1;
        }
        free(name);
        errno = err;
        if (done != 0 && err != EEXIST) return -1;
    }
    return done;
}

/* Renames, or links a file that has no name, which is forgotten if it got one. */
static int give_name(struct nvdp_context *ctx, char *from, const char *to, bool replace) {
    if (!nvdp__is_unnamed(from)) return replace ? rename(from, to) : rename_to_new(from, to);
    int done = linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
    if (done != 0 && errno == EEXIST && replace) done = link_onto(ctx, from, to);
    if (done >= 0) from[0] = '\0';
    return done;
}

/* Gives a file its name; may always replace an empty file. */
static nvdp_status rename_onto(struct nvdp_context *ctx, char *from, const char *to, bool replace) {
    struct stat info;
    replace = replace || (stat(to, &info) == 0 && info.st_size == 0);
    if (give_name(ctx, from, to, replace) != 0)
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
    nvdp_status status = NVDP_OK;
    NVDP_TRY_OR_CLEAN(nvdp__output_flush(out));
    /* All is on the disk: fclose() has nothing left to do. */
    NVDP_TRY_OR_CLEAN(rename_onto(out->ctx, out->temporary, out->path, replace));
    free(out->temporary);
    out->temporary = NULL;
cleanup:
    nvdp__output_abort(out);
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
    nvdp__autoptr(closedir) DIR *folder = opendir(directory);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (!is_temporary_name(entry->d_name, of)) continue;
        char *found = nvdp__join(ctx, directory, entry->d_name);
        NVDP_TRY(NVDP__MADE(found));
        remove_leftover(ctx, found);
        free(found);
    }
    return NVDP_OK;
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
    int fd = -1;
    nvdp__autofree char *target = target_of(ctx, path);
    NVDP_TRY(NVDP__MADE(target));
    if (lock != NULL) NVDP_TRY(nvdp__remove_leftovers_of(ctx, target));
    NVDP_TRY(create_temporary(ctx, target, lock != NULL, temporary, &fd));
    if (lock != NULL)
        *lock = fd;
    else
        close(fd);
    return NVDP_OK;
}

nvdp_status nvdp__publish(struct nvdp_context *ctx, char *temporary, const char *path,
                          bool replace) {
    nvdp_status status = NVDP_OK;
    char *target = target_of(ctx, path);
    int fd = open(temporary, O_WRONLY | O_CLOEXEC);
    NVDP_TRY_OR_CLEAN(NVDP__MADE(target));
    if (fd < 0 || fsync(fd) != 0)
        NVDP_TRY_OR_CLEAN(nvdp__fail_errno(ctx, errno, "%s: cannot write", path));
    NVDP_TRY_OR_CLEAN(rename_onto(ctx, temporary, target, replace));
cleanup:
    free(target);
    if (fd >= 0) close(fd);
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

/* stat() comes first, because a socket cannot be opened and opening some devices has effects.
 * O_NONBLOCK ensures that a FIFO that replaces the file in between does not block either. */
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

const char *nvdp__path_separator(const char *directory) {
    const size_t length = strlen(directory);
    return length == 0 || directory[length - 1] == '/' ? "" : "/";
}

char *nvdp__join(struct nvdp_context *ctx, const char *directory, const char *name) {
    return nvdp__format(ctx, "%s%s%s", directory, nvdp__path_separator(directory), name);
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

bool nvdp__same_content(const char *p, const char *q) {
    struct stat a, b;
    char from_p[BUFSIZ], from_q[BUFSIZ];
    if (nvdp__same_file(p, q)) return true;
    if (p == NULL || q == NULL || stat(p, &a) != 0 || stat(q, &b) != 0 || !S_ISREG(a.st_mode) ||
        !S_ISREG(b.st_mode) || a.st_size != b.st_size)
        return false;
    FILE *of_p = fopen(p, "rb"), *of_q = fopen(q, "rb");
    bool same = of_p != NULL && of_q != NULL;
    size_t read = 1;
    while (same && read > 0) {
        read = fread(from_p, 1, sizeof from_p, of_p);
        same = fread(from_q, 1, sizeof from_q, of_q) == read && memcmp(from_p, from_q, read) == 0;
    }
    if (of_p != NULL) fclose(of_p);
    if (of_q != NULL) fclose(of_q);
    return same;
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
    nvdp__autofree char *partial = nvdp__strdup(ctx, path);
    if (partial == NULL) return NVDP_ERR_MEMORY;
    char *slash = partial;
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
