/* Reads any bytes as words and tags in columns. */
#include "fuzz.h"

nvdp_status fuzz_use(struct fuzz_input in) {
    const char *start = (const char *)in.data;
    struct nvdp__conll conll = {0};
    if (nvdp__conll_read(NULL, "file.tsv", start, in.size, &conll) == NVDP_OK) {
        if (conll.sentences == 0 || conll.start[conll.sentences] != conll.words) abort();
        for (size_t i = 0; i < conll.sentences; i++)
            if (conll.start[i] >= conll.start[i + 1]) abort();
        for (size_t i = 0; i < conll.words; i++) {
            const struct nvdp__conll_word *word = &conll.word[i];
            if (word->text.text < start || word->text.text + word->text.size > start + in.size)
                abort();
            if (conll.tagged != (word->tag.size > 0)) abort();
        }
    }
    nvdp__conll_release(&conll);
    return NVDP_OK;
}
