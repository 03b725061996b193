/* Any bytes as a file of word vectors, plain or xz: whatever is read has one finite vector a word, and
 * its words are found again. */
#include "dchi/sanitizer.h"
#include "fuzz.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fuzz_file file = fuzz_open(data, size);
    struct nvdp__strings words = {0};
    struct nvdp_vectors *vectors = NULL;
    nvdp_status status = nvdp__word_vectors_read(file.ctx, file.path, &words, &vectors);
    if (status != NVDP_OK) {
        if (vectors != NULL) abort();
        fuzz_refused(file.ctx, status);
    } else {
        const size_t count = nvdp_vectors_count(vectors), dim = nvdp_vectors_dim(vectors);
        if (count != words.count) abort();
        for (size_t x = 0; x < count; x++) {
            size_t bytes;
            const char *word = nvdp__string(&words, x, &bytes);
            if (bytes == 0 || nvdp__strings_find(&words, word, bytes) != x) abort();
            for (size_t k = 0; k < dim; k++)
                if (!isfinite(nvdp_vectors_row(vectors, x)[k])) abort();
        }
    }
    nvdp_vectors_free(vectors);
    nvdp__strings_release(&words);
    fuzz_close(&file);
    return 0;
}
