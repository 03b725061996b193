/* Files: atomic writing, limits of reading, pipes, compressed files, paths. */
#include "base/file.h"
#include "support.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <lzma.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "test_context.h"

/* Counts the entries of the scratch directory. */
static int scratch_entries(void) {
    int count = -2; /* "." and ".." */
    DIR *directory = opendir(support_scratch());
    cr_assert_not_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static void limit_file_size(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {bytes, RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(file, appears_only_when_committed) {
    const char *path = support_scratch_path("out.txt");
    struct nvdp__output out = {0};
    ok(nvdp__output_open(ctx, path, &out));
    ok(nvdp__output_printf(&out, "%d-", 5));
    ok(nvdp__output_write(&out, "six", 3));
    cr_assert(!nvdp__exists(path));
    cr_assert_eq(scratch_entries(), !nvdp__is_unnamed(out.temporary));
    ok(nvdp__output_commit(&out, true));
    cr_assert_eq(scratch_entries(), 1);
    cr_assert_str_eq(support_read(path), "5-six");
    nvdp__output_abort(&out); /* has no effect now */
    cr_assert(nvdp__exists(path));
}

/* A name as long as the file system allows has no room for a temporary one, which is cut. */
Test(file, names_of_255_bytes) {
    char name[NAME_MAX + 1];
    memset(name, 'n', NAME_MAX);
    name[NAME_MAX] = '\0';
    const char *path = support_scratch_path(name);
    for (int replaces = 0; replaces < 2; replaces++) {
        struct nvdp__output out = {0};
        nvdp__autofree char *temporary = NULL;
        ok(nvdp__output_open(ctx, path, &out));
        ok(nvdp__output_write(&out, replaces ? "2" : "1", 1));
        ok(nvdp__output_commit(&out, true));
        cr_assert_str_eq(support_read(path), replaces ? "2" : "1");
        ok(nvdp__create_temporary(ctx, path, &temporary, NULL));
        cr_assert_eq(scratch_entries(), 2);
        ok(nvdp__remove_file_leftovers(ctx, path)); /* by its cut name */
        cr_assert_eq(scratch_entries(), 1);
    }
    ok(nvdp__remove(ctx, support_path("%s.json", path))); /* no file has so long a name */
}

/* A file that is written again removes what an earlier process left of it, and nothing of other files. */
Test(file, output_removes_its_leftovers) {
    const char *path = support_scratch_path("out.txt");
    struct nvdp__output out = {0};
    support_write_text(support_path("%s.partial-999999-0", path), "half");
    support_write_text(support_scratch_path("other.txt.partial-999999-0"), "half");
    ok(nvdp__output_open(support_context(), path, &out));
    ok(nvdp__output_commit(&out, true));
    cr_assert_eq(scratch_entries(), 2);
    cr_assert(nvdp__exists(support_scratch_path("other.txt.partial-999999-0")));
}

Test(file, abort_leaves_the_old_file) {
    const char *path = support_file("out.txt", "old");
    struct nvdp__output out = {0};
    nvdp__output_abort(&out); /* has no effect before an open */
    ok(nvdp__output_open(ctx, path, &out));
    ok(nvdp__output_write(&out, "new", 3));
    nvdp__output_abort(&out);
    cr_assert_str_eq(support_read(path), "old");
    cr_assert_eq(scratch_entries(), 1);
}

Test(file, two_writers_have_two_neighbors) {
    const char *path = support_scratch_path("out.txt");
    struct nvdp__output one = {0}, two = {0};
    ok(nvdp__output_open(ctx, path, &one));
    ok(nvdp__output_open(ctx, path, &two));
    cr_assert_str_neq(one.temporary, two.temporary);
    ok(nvdp__output_write(&one, "1", 1));
    ok(nvdp__output_write(&two, "2", 1));
    ok(nvdp__output_commit(&one, true));
    ok(nvdp__output_commit(&two, true));
    cr_assert_str_eq(support_read(path), "2");
}

/* Makes the process run as on a file system that can neither rename without replacing nor make
 * links. */
static void lose_links(void) {
#ifndef SYS_link
    enum { SYS_link = SYS_linkat };
#endif
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_link, 2, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        cr_skip_test("no filters of system calls here");
}

Test(file, needs_no_links) {
    const char *path = support_scratch_path("new");
    struct nvdp__output output;
    lose_links();
    for (int again = 0; again < 2; again++) {
        ok(nvdp__output_open(ctx, path, &output));
        ok(nvdp__output_write(&output, "new", 3));
        cr_assert_eq(nvdp__output_commit(&output, false), again == 0 ? NVDP_OK : NVDP_ERR_ARGUMENT,
                     "%s", nvdp_context_error(ctx));
    }
}

Test(file, a_link_stays_one) {
    const char *link = support_scratch_path("link");
    struct stat info;
    nvdp__autofree char *beside = NULL;
    const char *file = support_file("file", "old");
    cr_assert_eq(symlink("file", link), 0);
    ok(nvdp__write_file(ctx, link, "new", 3));
    cr_expect_str_eq(support_read(file), "new");
    ok(nvdp__create_temporary(ctx, link, &beside, NULL));
    support_write_text(beside, "newer");
    ok(nvdp__publish(ctx, beside, link, true));
    cr_expect_str_eq(support_read(file), "newer");
    cr_expect(lstat(link, &info) == 0 && S_ISLNK(info.st_mode));
}

Test(file, replacing_keeps_permissions) {
    const char *path = support_file("private", "old");
    cr_assert_eq(chmod(path, 0600), 0);
    ok(nvdp__write_file(ctx, path, "new", 3));
    struct stat info;
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(info.st_mode & 0777, 0600);
}

Test(file, a_full_disk_leaves_nothing_and_names_the_path) {
    nvdp__autofree char *bytes = calloc(1, 100000);
    const char *path = support_file("big", "old");
    limit_file_size(50000);
    fails(nvdp__write_file(ctx, path, bytes, 100000), NVDP_ERR_IO, path);
    support_contains(nvdp_context_error(ctx), "File too large");
    cr_assert_eq(scratch_entries(), 1);
    cr_assert_str_eq(support_read(path), "old");
}

/* The bytes fit the stream's buffer, so that only the flush in the commit meets the limit. */
Test(file, a_full_disk_at_commit) {
    const char *path = support_scratch_path("small");
    struct nvdp__output out = {0};
    limit_file_size(10);
    ok(nvdp__output_open(ctx, path, &out));
    ok(nvdp__output_write(&out, "twelve bytes", 12));
    cr_assert_eq(nvdp__output_commit(&out, true), NVDP_ERR_IO);
    support_contains(nvdp_context_error(ctx), path);
    cr_assert_eq(scratch_entries(), 0);
}

Test(file, impossible_targets) {
    fails(nvdp__write_file(ctx, support_scratch(), "x", 1), NVDP_ERR_IO, "Is a directory");
    const char *path = support_scratch_path("missing/out");
    fails(nvdp__write_file(ctx, path, "x", 1), NVDP_ERR_IO, path);
    support_contains(nvdp_context_error(ctx), "No such file");
    fails(nvdp__write_file(ctx, "/dev/null", "x", 1), NVDP_ERR_IO, "not a regular file");
    cr_assert_eq(scratch_entries(), 0);
}

Test(file, read_has_a_limit) {
    const char *path = support_scratch_path("in");
    support_write(path, "a\0b", 3);
    char *bytes = NULL;
    size_t count = 0;
    fails(nvdp__read_file(ctx, path, 2, &bytes, &count), NVDP_ERR_INPUT,
          "expected at most 2 bytes, found 3");
    cr_assert_null(bytes);
    ok(nvdp__read_file(ctx, path, 3, &bytes, &count));
    cr_assert_eq(count, 3);
    cr_assert_arr_eq(bytes, "a\0b", 4);
    free(bytes);
    support_write(path, "", 0);
    ok(nvdp__read_file(ctx, path, 0, &bytes, &count));
    cr_assert_eq(count, 0);
    cr_assert_eq(bytes[0], '\0');
    free(bytes);
}

static bool always(void *user) {
    (void)user;
    return true;
}

/* Pipes and devices have no size. */
Test(file, read_without_a_size) {
    int ends[2];
    char *bytes = NULL;
    size_t count = 0;
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "through a pipe", 14), 14);
    close(ends[1]);
    const char *path = support_path("/proc/self/fd/%d", ends[0]);
    ok(nvdp__read_stream(ctx, path, 100, &bytes, &count));
    cr_assert_eq(count, 14);
    cr_assert_str_eq(bytes, "through a pipe");
    free(bytes);
    /* its writer has closed it: the end follows at once */
    nvdp_context_set_cancel(ctx, always, NULL);
    ok(nvdp__read_stream(ctx, path, 100, &bytes, &count));
    cr_assert_eq(count, 0);
    free(bytes);
    cr_assert_eq(nvdp__read_stream(ctx, "/dev/zero", 10000, &bytes, &count), NVDP_ERR_INPUT);
}

Test(file, read_errors) {
    const char *path = support_scratch_path("missing");
    char *bytes = NULL;
    size_t count = 0;
    char hex[65];
    fails(nvdp__read_file(ctx, path, 9, &bytes, &count), NVDP_ERR_IO, path);
    cr_assert_eq(nvdp__read_file(ctx, support_scratch(), 1 << 20, &bytes, &count), NVDP_ERR_INPUT);
    fails(nvdp__file_sha256(ctx, path, hex), NVDP_ERR_IO, path);
    cr_assert_eq(nvdp__file_sha256(ctx, support_scratch(), hex), NVDP_ERR_INPUT);
}

/* Reading can be cancelled on a pipe without a writer, or with one that writes nothing. */
Test(file, pipes_can_be_cancelled, .timeout = 20) {
    const char *path = support_scratch_path("pipe");
    struct nvdp__input *input = NULL;
    char *bytes = NULL;
    size_t count = 0;
    cr_assert_eq(mkfifo(path, 0600), 0);
    nvdp_context_set_cancel(ctx, always, NULL);
    cr_assert_eq(nvdp__input_open(ctx, path, &input), NVDP_ERR_CANCELLED);
    cr_assert_eq(nvdp__read_stream(ctx, path, 100, &bytes, &count), NVDP_ERR_CANCELLED);
    int fd = open(path, O_RDWR); /* a writer */
    cr_assert_eq(write(fd, "first", 5), 5);
    cr_assert_eq(nvdp__read_stream(ctx, path, 100, &bytes, &count), NVDP_ERR_CANCELLED);
    close(fd);
}

/* Readers that need a regular file refuse every other kind by name. None of them waits: a wait
 * would be cancelled. */
Test(file, regular_files_only, .timeout = 20) {
    static const char *const kinds[][2] = {{"a FIFO", "fifo"},
                                           {"a socket", "socket"},
                                           {"a device", "device"},
                                           {"a directory", "directory"}};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert_eq(chdir(support_scratch()), 0); /* a socket's path is short */
    strcpy(name.sun_path, "socket");
    cr_assert_eq(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    cr_assert_eq(mkfifo("fifo", 0600), 0);
    cr_assert_eq(symlink("/dev/null", "device"), 0);
    cr_assert_eq(mkdir("directory", 0700), 0);
    nvdp_context_set_cancel(ctx, always, NULL);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *path = kinds[i][1];
        char *bytes = NULL, hex[65], expected[128];
        size_t count = 0;
        int fd = -1;
        FILE *file = NULL;
        snprintf(expected, sizeof expected, "%s: expected a regular file, found %s", path,
                 kinds[i][0]);
        const nvdp_status status[] = {nvdp__open_regular(ctx, path, &fd),
                                      nvdp__check_regular(ctx, path),
                                      nvdp__fopen_regular(ctx, path, &file),
                                      nvdp__append_regular(ctx, path, &file),
                                      nvdp__read_file(ctx, path, 100, &bytes, &count),
                                      nvdp__file_sha256(ctx, path, hex)};
        for (size_t k = 0; k < sizeof status / sizeof *status; k++)
            cr_expect_eq(status[k], NVDP_ERR_INPUT, "%s: call %zu", path, k);
        cr_expect_str_eq(nvdp_context_error(ctx), expected);
    }
    char *bytes = NULL;
    size_t count = 0;
    cr_expect_eq(nvdp__read_stream(ctx, "socket", 100, &bytes, &count), NVDP_ERR_INPUT);
    cr_expect_eq(nvdp__read_stream(ctx, "directory", 100, &bytes, &count), NVDP_ERR_INPUT);
    close(listener);
}

/* Repeated lines are packed a thousandfold. */
Test(file, xz_that_unpacks_to_too_much) {
    enum { SIZE = 32 << 20, MAX_PACKED = 1 << 20 };
    const char *path = support_scratch_path("bomb.xz");
    struct nvdp__lines lines = {0};
    struct nvdp__field line;
    nvdp__autofree uint8_t *text = malloc(SIZE), *packed = malloc(MAX_PACKED);
    size_t count = 0;
    nvdp_status status = NVDP_OK;
    for (size_t i = 0; i < SIZE; i++)
        text[i] = i % 64 == 63 ? '\n' : 'a';
    cr_assert_eq(
        lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, text, SIZE, packed, &count, MAX_PACKED),
        LZMA_OK);
    support_write(path, packed, count);
    ok(nvdp__lines_open(ctx, path, &lines));
    for (bool found = true; status == NVDP_OK && found;)
        status = nvdp__lines_next(&lines, &line, &found);
    cr_assert_eq(status, NVDP_ERR_INPUT);
    support_contains(nvdp_context_error(ctx),
                     "bomb.xz: expected xz data that decompress to at most 16 MiB, or to 32 times");
    nvdp__lines_close(&lines);
}

Test(file, appends_to_regular_files) {
    const char *path = support_scratch_path("log");
    for (int i = 0; i < 2; i++) {
        nvdp__autoptr(fclose) FILE *file = NULL;
        ok(nvdp__append_regular(ctx, path, &file));
        cr_assert_eq(fputs("line\n", file), 1);
    }
    cr_assert_str_eq(support_read(path), "line\nline\n");
}

/* Readers wait for a slow writer, at the beginning and later. */
Test(file, pipes_with_a_writer, .timeout = 20) {
    const char *path = support_scratch_path("pipe");
    nvdp__autofree char *bytes = NULL;
    size_t count = 0;
    cr_assert_eq(mkfifo(path, 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        usleep(300000);
        int fd = open(path, O_WRONLY);
        (void)!write(fd, "first ", 6);
        usleep(300000);
        (void)!write(fd, "second", 6);
        _exit(0);
    }
    ok(nvdp__read_stream(ctx, path, 100, &bytes, &count));
    cr_assert_str_eq(bytes, "first second");
    waitpid(child, NULL, 0);
}

Test(file, reads_and_writes_at_an_offset) {
    char bytes[8] = "";
    const int fd = open(support_scratch_path("at"), O_RDWR | O_CREAT, 0600);
    cr_assert_geq(fd, 0);
    cr_assert(nvdp__write_at(fd, "abcdef", 6, 0));
    cr_assert(nvdp__write_at(fd, "XY", 2, 2));
    cr_assert_eq(nvdp__read_at(fd, bytes, 4, 1), 4);
    cr_assert_str_eq(bytes, "bXYe");
    cr_assert_eq(nvdp__read_at(fd, bytes, 8, 4), 2, "only up to the end");
    close(fd);
    cr_assert_eq(nvdp__read_at(fd, bytes, 1, 0), -1);
    cr_assert_eq(errno, EBADF);
    cr_assert_not(nvdp__write_at(fd, bytes, 1, 0));
}

/* The examples of FIPS 180-2, appendix B: "abc", and a million letters a. */
Test(file, sha256) {
    char hex[65];
    const char *path = support_file("in", "abc");
    ok(nvdp__file_sha256(ctx, path, hex));
    cr_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    nvdp__autofree char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    support_write(path, million, 1000000);
    ok(nvdp__file_sha256(ctx, path, hex));
    cr_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

Test(file, directories) {
    const char *deep = support_scratch_path("a/b//c/");
    cr_assert(nvdp__directory_empty(deep));
    cr_assert(!nvdp__is_directory(deep));
    ok(nvdp__make_directory(ctx, deep));
    ok(nvdp__make_directory(ctx, deep));
    cr_assert(nvdp__is_directory(deep));
    cr_assert(nvdp__directory_empty(deep));
    cr_assert(!nvdp__directory_empty(support_scratch()));
    nvdp__autofree char *file = nvdp__join(ctx, deep, "f");
    support_write_text(file, "x");
    cr_assert(!nvdp__directory_empty(deep));
    cr_assert(nvdp__exists(file) && !nvdp__is_directory(file));
    cr_assert(!nvdp__directory_empty(file));
    nvdp__autofree char *below = nvdp__join(ctx, file, "g");
    fails(nvdp__make_directory(ctx, below), NVDP_ERR_IO, "cannot make the directory");
}

Test(file, join) {
    const char *cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}};
    for (size_t i = 0; i < 4; i++) {
        nvdp__autofree char *joined = nvdp__join(ctx, cases[i][0], cases[i][1]);
        cr_assert_str_eq(joined, cases[i][2]);
    }
}

static nvdp_status every_call(void) {
    const char *path = support_scratch_path("oom");
    nvdp__autofree char *bytes = NULL;
    size_t count;
    char hex[65];
    NVDP_TRY(nvdp__write_file(ctx, path, "abc", 3));
    NVDP_TRY(nvdp__read_file(ctx, path, 9, &bytes, &count));
    NVDP_TRY(nvdp__file_sha256(ctx, path, hex));
    return nvdp__make_directory(ctx, support_scratch_path("oomdir"));
}

Test(file, out_of_memory) {
    uint64_t k = 1;
    for (;; k++) {
        nvdp__fail_allocation(ctx, k);
        nvdp_status status = every_call();
        if (status == NVDP_OK) break;
        cr_assert_eq(status, NVDP_ERR_MEMORY, "k = %d: %s", (int)k, nvdp_context_error(ctx));
        cr_assert_leq(scratch_entries(), 1);
    }
    cr_assert_geq(k, 5);
}
