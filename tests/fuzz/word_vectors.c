/* Reads any bytes as a file of word vectors, plain or xz: if it is read, it has one finite
 * vector per word, and each word is found. */
#include "fuzz.h"
#include "text/vectors.h"

nvdp_status fuzz_use(struct fuzz_input in) {
    nvdp__auto(nvdp__strings_release) struct nvdp__strings words = {0};
    nvdp__auto(nvdp__vector_rows_release) struct nvdp__vector_rows vectors = {0};
    nvdp_status status = nvdp__word_vectors_read(in.ctx, in.path, &words, &vectors);
    if (status != NVDP_OK && vectors.at != NULL) abort();
    if (status == NVDP_OK && vectors.count != words.count) abort();
    for (size_t x = 0; x < vectors.count; x++) {
        const struct nvdp__field word = nvdp__string(&words, x);
        if (word.size == 0 || nvdp__strings_find(&words, word.text, word.size) != x) abort();
        for (size_t k = 0; k < vectors.dim; k++) {
            double number;
            nvdp__vector_row_part(&vectors, x, k, 1, &number);
            if (!isfinite(number)) abort();
        }
    }
    return status;
}
