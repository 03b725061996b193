/* Reads any bytes after the header of seen_texts.bin: digests that are read can be compared and
 * written. The header is made for the bytes because otherwise its checksum would reject them. */
#include "fuzz.h"
#include "job/lineage.h"

static const char *const names[] = {"seen_texts.bin", NULL};

static void write_file(const char *folder, const uint8_t *data, size_t size) {
    char path[256];
    struct nvdp__cache_header header = nvdp__cache_header("nvdp seen texts", 1, size);
    nvdp__checksum(data, size, header.checksum);
    snprintf(path, sizeof path, "%s/%s", folder, names[0]);
    FILE *file = fopen(path, "wbe");
    if (file == NULL || fwrite(&header, sizeof header, 1, file) != 1 ||
        fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
}

nvdp_status fuzz_use(struct fuzz_input in) {
    char folder[] = "/tmp/nvdp-fuzz-seen-XXXXXX";
    struct nvdp__seen_digests *made = NULL;
    struct nvdp__seen_texts texts = {0};
    size_t count = 0;
    if (mkdtemp(folder) == NULL) abort();
    write_file(folder, in.data, in.size);
    if (nvdp__seen_texts_add(in.ctx, &texts, 0, "some words", 10) != NVDP_OK) abort();
    nvdp_status status = nvdp__seen_digests_read(in.ctx, folder, &made, &count);
    if (status == NVDP_OK && nvdp__seen_digests_write(in.ctx, folder, made, count) != NVDP_OK)
        abort();
    for (size_t i = 0; i < count; i++) {
        (void)nvdp__seen_digests_compare(&made[i], &texts);
        nvdp__seen_digests_release(&made[i]);
    }
    free(made);
    nvdp__seen_texts_release(&texts);
    fuzz_remove(folder, names);
    return status;
}
