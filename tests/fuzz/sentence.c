/* Reads any bytes as the files of a sentence-transformers folder, separated by NUL bytes. If the
 * folder is accepted, its pooling is a known one and it has a length. */
#include "fuzz.h"
#include "text/sentence_folder.h"

/* modules.json may name any folder for the pooling, including "p". */
static const char *const names[] = {"modules.json",
                                    "p/config.json",
                                    "tokenizer_config.json",
                                    "sentence_bert_config.json",
                                    "config_sentence_transformers.json",
                                    NULL};
static const char *const none[] = {NULL};
enum { HIDDEN_SIZE = 8 };

nvdp_status fuzz_use(struct fuzz_input in) {
    char folder[] = "/tmp/nvdp-fuzz-sentence-XXXXXX", inner[64];
    struct nvdp__sentence sentence;
    if (mkdtemp(folder) == NULL) abort();
    snprintf(inner, sizeof inner, "%s/p", folder);
    if (mkdir(inner, 0700) != 0) abort();
    fuzz_write(folder, names, in.data, in.size);
    nvdp_status status = nvdp__sentence_read(in.ctx, folder, true, HIDDEN_SIZE, &sentence);
    if (status == NVDP_OK) {
        for (size_t i = 0; i < sentence.poolings; i++)
            if (sentence.pooling[i] <= NVDP__POOLING_NONE || sentence.pooling[i] >= NVDP__POOLINGS)
                abort();
        if (sentence.steps > NVDP__SENTENCE_STEPS || sentence.width == 0) abort();
        nvdp__sentence_release(&sentence);
    }
    (void)unlink(strcat(inner, "/config.json"));
    inner[strlen(inner) - strlen("/config.json")] = '\0';
    fuzz_remove(inner, none);
    fuzz_remove(folder, names);
    /* files that modules.json names may be missing */
    return status == NVDP_ERR_IO ? NVDP_OK : status;
}
