/* Reads any bytes as a file of vectors with columns: all numbers are finite, and each row has a string of each column. */
#include "share/caller_vectors.h"
#include "fuzz.h"

nvdp_status fuzz_use(struct fuzz_input in) {
    const struct nvdp__vector_names all = {.id = "ids", .label = "label", .person = "person"},
                                    none = {0};
    struct nvdp__caller_vectors got = {0};
    nvdp_status status = nvdp__caller_vectors_read(in.ctx, in.path, &all, &got);
    if (status == NVDP_ERR_INPUT) status = nvdp__caller_vectors_read(in.ctx, in.path, &none, &got);
    if (status != NVDP_OK) {
        if (got.x != NULL || got.id.text != NULL) abort();
        return status;
    }
    for (size_t i = 0; i < got.count * got.width; i++)
        if (!isfinite(got.x[i])) abort();
    for (size_t i = 0; i < got.count && got.id.text != NULL; i++)
        if (strlen(got.id.text[i]) == 0 || got.label.text[i] == NULL || got.person.text[i] == NULL)
            abort();
    nvdp__caller_vectors_release(&got);
    return NVDP_OK;
}
