/* The folder of cached files keeps those that were used last. */
#include "base/cache.h"
#include "support.h"

#include "test_context.h"

static char folder[512];

/* Names a cached file: its digest is 64 times the digit. */
static char *cached(char digit) {
    char hex[NVDP__DIGEST_HEX];
    memset(hex, digit, sizeof hex - 1);
    hex[sizeof hex - 1] = '\0';
    return support_keep(nvdp__cache_path(ctx, folder, "states", hex));
}

/* Writes a file of 100 bytes that was used `hours` hours after 1970 began. */
static void write_at_hour(const char *path, int hours) {
    const struct timespec used = {.tv_sec = hours * 3600L};
    char bytes[100] = "";
    FILE *file = fopen(path, "wb");
    cr_assert(file != NULL && fwrite(bytes, 1, sizeof bytes, file) == sizeof bytes);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(utimensat(AT_FDCWD, path, (const struct timespec[]){used, used}, 0), 0);
}

Test(cache, keeps_the_files_that_were_used_last) {
    snprintf(folder, sizeof folder, "%s", support_scratch_path("cache"));
    ok(nvdp__cache_make(ctx, folder));
    const char *other = support_path("%s/my-notes.txt", folder);
    char *old = cached('a'), *read = cached('b'), *new = cached('c');
    const char *partial = support_path("%s.partial", old);
    write_at_hour(old, 2);
    write_at_hour(read, 1);
    write_at_hour(new, 3);
    write_at_hour(other, 0);
    write_at_hour(partial, 0);
    nvdp__cache_trim(ctx, folder, 300);
    cr_expect(nvdp__exists(old) && nvdp__exists(read) && nvdp__exists(new));
    nvdp__cache_use(read);
    nvdp__cache_trim(ctx, folder, 299);
    cr_expect(!nvdp__exists(old), "its last use is the oldest");
    cr_expect(nvdp__exists(read) && nvdp__exists(new));
    nvdp__cache_trim(ctx, folder, 0);
    cr_expect(!nvdp__exists(read) && !nvdp__exists(new));
    cr_expect(nvdp__exists(other) && nvdp__exists(partial), "they are not cached files");
}
