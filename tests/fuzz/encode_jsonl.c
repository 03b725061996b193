/* Reads any bytes as the input of encode. Lines with texts stop at the tokenizer, which has a
 * fuzz entry of its own. */
#include "encoder/encode.h"
#include "fuzz.h"

/* All accepted tokens are within the encoder's tables. */
static void check(const struct nvdp__encode_input *input, const struct nvdp_bert_config *config) {
    const struct nvdp_dataset *texts = &input->data;
    if (texts->count == 0 || texts->longest > config->max_position_embeddings) abort();
    for (size_t i = 0; i < texts->offset[texts->count]; i++) {
        if (texts->ids[i] < 0 || (size_t)texts->ids[i] >= config->vocab_size) abort();
        if (texts->types[i] < 0 || (size_t)texts->types[i] >= config->type_vocab_size) abort();
    }
}

nvdp_status fuzz_use(struct fuzz_input in) {
    static const struct nvdp_bert_config config = {
        .vocab_size = 97, .max_position_embeddings = 8, .type_vocab_size = 2};
    const struct nvdp__encode_limits limits = {
        .config = &config, .max_length = 8, .directory = "/nonexistent"};
    struct nvdp__encode_input input = {0};
    if (nvdp__encode_input_read(in.ctx, in.path, &limits, &input) == NVDP_OK)
        check(&input, &config);
    nvdp__encode_input_release(&input);
    return NVDP_OK;
}
