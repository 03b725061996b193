/* Opens any bytes as a corpus file: an opened corpus is cut into windows and pairs, and masked,
 * to its last token. The digests are corrected first because otherwise they would reject all
 * inputs. */
#include "fuzz.h"
#include "pretrain/examples.h"

enum { LENGTH = 12, TEXTS = 4 };
static const char vocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nc\n";

static void mend(uint8_t *bytes, size_t size) {
    struct nvdp__corpus_header *h = (struct nvdp__corpus_header *)(void *)bytes;
    if (size < sizeof *h) return;
    nvdp__checksum(bytes + sizeof *h, size - sizeof *h, h->body);
    nvdp__checksum(bytes, offsetof(struct nvdp__corpus_header, header), h->header);
}

static void use(struct nvdp_context *ctx, const struct nvdp__corpus *corpus,
                const struct nvdp__piece_table *pieces) {
    struct nvdp__examples examples = {.ctx = ctx};
    struct nvdp__batcher batcher;
    const uint64_t seed = 1;
    const struct nvdp__mask_key key = {.seed = seed, .purpose = NVDP__PURPOSE_MASK};
    if (nvdp__batcher_create(ctx, corpus, pieces, TEXTS, LENGTH, 0.3, true, &batcher) != NVDP_OK)
        abort();
    for (int kind = 0; kind < 3; kind++) {
        nvdp_status status =
            kind == 0   ? nvdp__examples_windows(&examples, corpus, pieces, LENGTH, &seed, 0)
            : kind == 1 ? nvdp__examples_pairs(&examples, corpus, NULL, LENGTH, seed, 0)
                        : nvdp__examples_pairs(&examples, corpus, pieces, LENGTH, seed, 0);
        if (status != NVDP_OK && status != NVDP_ERR_INPUT) abort();
        if (status != NVDP_OK && (kind == 0 || (kind == 1 && corpus->documents > 1))) abort();
        for (size_t at = 0; status == NVDP_OK && at < examples.count; at += TEXTS) {
            size_t left = examples.count - at;
            nvdp__batcher_fill(&batcher, &examples, NULL, at, left < TEXTS ? left : TEXTS, &key);
        }
    }
    nvdp__batcher_release(&batcher);
    nvdp__examples_release(&examples);
}

nvdp_status fuzz_use(struct fuzz_input in) {
    static const struct nvdp__normalization rules = {true, true, true, false};
    struct nvdp_tokenizer *tokenizer = NULL;
    struct nvdp__piece_table pieces = {0};
    struct nvdp__corpus corpus;
    uint8_t *bytes = malloc(in.size + 1);
    if (bytes == NULL) abort();
    memcpy(bytes, in.data, in.size);
    mend(bytes, in.size);
    struct fuzz_file file = fuzz_open(bytes, in.size);
    if (nvdp__tokenizer_create(file.ctx, "v", vocabulary, sizeof vocabulary - 1,
                               nvdp__special_names, &rules, &tokenizer) != NVDP_OK ||
        nvdp__pieces_create(file.ctx, tokenizer, &pieces) != NVDP_OK)
        abort();
    nvdp_status status = nvdp__corpus_open(file.ctx, file.path, NULL, pieces.count, &corpus);
    if (status == NVDP_OK) {
        use(file.ctx, &corpus, &pieces);
        nvdp__corpus_close(&corpus);
    } else {
        fuzz_refused(file.ctx, status);
    }
    nvdp__pieces_release(&pieces);
    nvdp_tokenizer_free(tokenizer);
    fuzz_close(&file);
    free(bytes);
    return NVDP_OK;
}
