/* Replays a corpus without libFuzzer: every file of every folder or file named on the command
 * line. First come the inputs that no corpus needs to hold: no bytes, and every single byte. */
#include "fuzz.h"

static size_t replayed;

static void try_bytes(const uint8_t *bytes, size_t size) {
    /* A copy of exactly this size, so that a sanitizer detects a read past its end. */
    uint8_t *copy = calloc(size > 0 ? size : 1, 1);
    if (copy == NULL) abort();
    if (size > 0) memcpy(copy, bytes, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    replayed++;
}

static int try_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    uint8_t *bytes = NULL;
    size_t size = 0;
    size_t got;
    do {
        enum { STEP = 1 << 16 };
        uint8_t *longer = realloc(bytes, size + STEP);
        if (longer == NULL) abort();
        bytes = longer;
        got = fread(bytes + size, 1, STEP, file);
        size += got;
    } while (got > 0);
    (void)fclose(file);
    try_bytes(bytes, size);
    free(bytes);
    return 0;
}

static int try_path(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) return 0; /* no corpus yet */
    if (!S_ISDIR(info.st_mode)) return try_file(path);
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    int failed = 0;
    for (int i = 0; i < count; i++) {
        char inside[4096];
        int length = snprintf(inside, sizeof inside, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && length < (int)sizeof inside) failed |= try_file(inside);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return failed;
}

int main(int argc, char **argv) {
    try_bytes(NULL, 0);
    for (int byte = 0; byte < 256; byte++) {
        try_bytes(&(uint8_t){(uint8_t)byte}, 1);
    }
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        failed |= try_path(argv[i]);
    }
    printf("%zu inputs replayed\n", replayed);
    return failed;
}
