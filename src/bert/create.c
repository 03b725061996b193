/* A BERT with random weights, as a Hugging Face directory. */
#include "base/file.h"
#include "bert/checkpoint.h"
#include "bert/encoder.h"

#include <stdlib.h>
#include <string.h>

enum { VOCABULARY_LIMIT = 1 << 28 };

static size_t count_lines(const char *text, size_t size) {
    size_t lines = 0;
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
    }
    return lines + (size > 0 && text[size - 1] != '\n');
}

static nvdp_status write_weights(struct nvdp_context *ctx, const struct nvdp_bert_config *config,
                                 uint64_t seed, const char *directory) {
    nvdp_status status = NVDP_OK;
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    struct nvdp__bert bert = {0};
    struct nvdp__params params;
    nvdp__params_init(&params, ctx);
    NVDP_TRY(nvdp__bert_declare(&bert, config, true, &params));
    NVDP_TRY(nvdp__params_allocate(&params, false));
    nvdp__bert_initialise(&bert, &dev, &params, seed);
    NVDP_TRY(nvdp__checkpoint_save(&dev, directory, &params));
cleanup:
    nvdp__bert_release(&bert);
    nvdp__params_release(&params);
    return status;
}

nvdp_status nvdp_bert_create_random(struct nvdp_context *ctx, const struct nvdp_bert_config *config,
                                    uint64_t seed, const char *vocab_path, const char *directory) {
    nvdp_status status = NVDP_OK;
    char *vocabulary = NULL;
    char *copy = NULL;
    size_t size = 0;
    NVDP_TRY(nvdp_bert_config_check(ctx, config));
    if (!nvdp__directory_empty(directory))
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                            "%s: expected a new or an empty directory, found something in it",
                            directory));
    if (vocab_path != NULL) {
        NVDP_TRY(nvdp__read_file(ctx, vocab_path, VOCABULARY_LIMIT, &vocabulary, &size));
        size_t lines = count_lines(vocabulary, size);
        if (lines != config->vocab_size)
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected %zu lines, found %zu",
                                vocab_path, config->vocab_size, lines));
    }
    NVDP_TRY(nvdp__make_directory(ctx, directory));
    NVDP_TRY(write_weights(ctx, config, seed, directory));
    if (vocabulary != NULL) {
        copy = nvdp__join(ctx, directory, "vocab.txt");
        if (copy == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
        NVDP_TRY(nvdp__write_file(ctx, copy, vocabulary, size));
    }
    NVDP_TRY(nvdp__bert_config_write(ctx, directory, config, "BertModel", NULL));
cleanup:
    free(vocabulary);
    free(copy);
    return status;
}
