/* Digests, and the files of the cache: how they are made, read and written (cache.h). */
#include "base/cache.h"
#include "base/array.h"
#include "base/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t FILE_LIMIT = (size_t)1 << 36; /* max bytes of a cached file */

/* --- digests --- */

struct nvdp__digest nvdp__digest_begin(void) {
    struct nvdp__digest digest;
    crypto_generichash_init(&digest.state, NULL, 0, NVDP__DIGEST_BYTES);
    return digest;
}

void nvdp__digest_bytes(struct nvdp__digest *digest, const void *bytes, size_t count) {
    uint64_t length = count;
    crypto_generichash_update(&digest->state, (const unsigned char *)&length, sizeof length);
    if (count > 0) crypto_generichash_update(&digest->state, bytes, count);
}

void nvdp__digest_text(struct nvdp__digest *digest, const char *text) {
    nvdp__digest_number(digest, text != NULL);
    if (text != NULL) nvdp__digest_bytes(digest, text, strlen(text));
}

void nvdp__digest_number(struct nvdp__digest *digest, uint64_t number) {
    nvdp__digest_bytes(digest, &number, sizeof number);
}

void nvdp__digest_numbers(struct nvdp__digest *digest, const uint64_t *number, size_t count) {
    for (size_t i = 0; i < count; i++)
        nvdp__digest_number(digest, number[i]);
}

void nvdp__digest_end(struct nvdp__digest *digest, char hex[NVDP__DIGEST_HEX]) {
    unsigned char sum[NVDP__DIGEST_BYTES];
    crypto_generichash_final(&digest->state, sum, sizeof sum);
    sodium_bin2hex(hex, NVDP__DIGEST_HEX, sum, sizeof sum);
}

void nvdp__checksum(const void *bytes, size_t count, unsigned char sum[NVDP__DIGEST_BYTES]) {
    crypto_generichash(sum, NVDP__DIGEST_BYTES, bytes, count, NULL, 0);
}

/* --- files --- */

struct nvdp__cache_header nvdp__cache_header(const char *kind, uint32_t version, uint64_t bytes) {
    struct nvdp__cache_header header = {.version = version, .bytes = bytes};
    strncpy(header.kind, kind, sizeof header.kind - 1);
    return header;
}

nvdp_status nvdp__cache_make(struct nvdp_context *ctx, const char *directory) {
    if (nvdp__is_directory(directory)) return NVDP_OK;
    NVDP_TRY(nvdp__make_directory(ctx, nvdp__path_folder(directory).text));
    if (mkdir(directory, 0700) == 0 || nvdp__is_directory(directory)) return NVDP_OK;
    return nvdp__fail_errno(ctx, errno, "%s: cannot make the directory", directory);
}

char *nvdp__cache_path(struct nvdp_context *ctx, const char *directory, const char *kind,
                       const char *hex) {
    return nvdp__format(ctx, "%s%s%s-%s", directory, nvdp__path_separator(directory), kind, hex);
}

char *nvdp__cache_digest_path(struct nvdp_context *ctx, const char *directory, const char *kind,
                              struct nvdp__digest *digest) {
    char hex[NVDP__DIGEST_HEX];
    nvdp__digest_end(digest, hex);
    return nvdp__cache_path(ctx, directory, kind, hex);
}

struct entry {
    int64_t used; /* time of the last use, in nanoseconds; the first member, for nvdp__by_int64() */
    uint64_t bytes;
    char name[NAME_MAX + 1];
};

/* Returns true if a name has the form KIND-HEX. */
static bool is_cached(const char *name) {
    const char *dash = strrchr(name, '-');
    return dash != NULL && dash > name && strlen(dash + 1) == NVDP__DIGEST_HEX - 1 &&
           strspn(dash + 1, "0123456789abcdef") == NVDP__DIGEST_HEX - 1;
}

void nvdp__cache_trim(struct nvdp_context *ctx, const char *directory, uint64_t limit) {
    nvdp__autofree struct entry *entry = NULL;
    size_t count = 0, capacity = 0, removed = 0;
    uint64_t all = 0, freed = 0;
    nvdp__autoptr(closedir) DIR *folder = opendir(directory);
    if (folder == NULL) return;
    for (const struct dirent *next; (next = readdir(folder)) != NULL;) {
        struct stat info;
        if (!is_cached(next->d_name) ||
            fstatat(dirfd(folder), next->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode))
            continue;
        if (nvdp__reserve(ctx, &entry, &capacity, count + 1, sizeof *entry) != NVDP_OK) break;
        nvdp__snprintf(entry[count].name, sizeof entry[count].name, "%s", next->d_name);
        entry[count].bytes = (uint64_t)info.st_size;
        entry[count++].used = info.st_mtim.tv_sec * INT64_C(1000000000) + info.st_mtim.tv_nsec;
        all += (uint64_t)info.st_size;
    }
    if (count > 0) qsort(entry, count, sizeof *entry, nvdp__by_int64);
    for (size_t i = 0; i < count && all - freed > limit; i++) {
        if (unlinkat(dirfd(folder), entry[i].name, 0) != 0) continue;
        freed += entry[i].bytes;
        removed++;
    }
    if (removed > 0)
        nvdp__log(ctx, NVDP_LOG_INFO,
                  "%s: removed the %zu files that were used longest ago, %.2f GiB", directory,
                  removed, (double)freed / (1 << 30));
}

void nvdp__cache_use(const char *path) {
    (void)utimensat(AT_FDCWD, path, NULL, 0);
}

bool nvdp__cache_is_whole(const char *bytes, size_t count, const char *kind, uint32_t version) {
    struct nvdp__cache_header header;
    unsigned char sum[NVDP__DIGEST_BYTES];
    if (count < sizeof header) return false;
    memcpy(&header, bytes, sizeof header);
    struct nvdp__cache_header wanted = nvdp__cache_header(kind, version, count - sizeof header);
    if (memcmp(&header, &wanted, offsetof(struct nvdp__cache_header, checksum)) != 0) return false;
    nvdp__checksum(bytes + sizeof header, count - sizeof header, sum);
    return memcmp(sum, header.checksum, sizeof sum) == 0;
}

nvdp_status nvdp__cache_read(struct nvdp_context *ctx, const char *path, const char *kind,
                             uint32_t version, char **bytes, size_t *count) {
    nvdp__autofree char *read = NULL;
    size_t size = 0;
    *bytes = NULL;
    if (!nvdp__exists(path)) return NVDP_OK;
    nvdp_status status = nvdp__read_file(ctx, path, FILE_LIMIT, &read, &size);
    if (status == NVDP_ERR_MEMORY) return status;
    if (status != NVDP_OK || !nvdp__cache_is_whole(read, size, kind, version)) {
        nvdp__log(ctx, NVDP_LOG_NOTICE,
                  "%s: the cache file is damaged or unreadable; nvdp computes its contents again",
                  path);
        return NVDP_OK;
    }
    nvdp__cache_use(path);
    *count = size - sizeof(struct nvdp__cache_header);
    /* includes the final NUL */
    memmove(read, read + sizeof(struct nvdp__cache_header), *count + 1);
    return NVDP__HAND_OVER(bytes, read);
}

nvdp_status nvdp__cache_finish(struct nvdp__output *output, const char *kind, uint32_t version,
                               const char *bytes, size_t count) {
    struct nvdp__cache_header header = nvdp__cache_header(kind, version, count);
    nvdp__checksum(bytes, count, header.checksum);
    NVDP_TRY(nvdp__output_write(output, &header, sizeof header));
    NVDP_TRY(nvdp__output_write(output, bytes, count));
    return nvdp__output_commit(output, true);
}

nvdp_status nvdp__cache_write(struct nvdp_context *ctx, const char *path, const char *kind,
                              uint32_t version, const char *bytes, size_t count) {
    nvdp__auto(nvdp__output_abort) struct nvdp__output output = {0};
    NVDP_TRY(nvdp__output_open(ctx, path, &output));
    return nvdp__cache_finish(&output, kind, version, bytes, count);
}
