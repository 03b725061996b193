/* From text to token ids: a vocabulary on disk, one text, one pair, truncation. */
#include <nvdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_vocabulary(const char *directory) {
    char path[128];
    snprintf(path, sizeof path, "%s/vocab.txt", directory);
    FILE *file = fopen(path, "w");
    if (file == NULL) return -1;
    fputs("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nshare\n##d\nno\n##ise\n,\nnot\ntext\n##s\n", file);
    return fclose(file);
}

static void print(const struct nvdp_tokenizer *tokenizer, const struct nvdp_tokens *tokens) {
    for (size_t i = 0; i < tokens->count; i++) {
        printf("%s%s/%d", i == 0 ? "" : " ", nvdp_tokenizer_piece(tokenizer, tokens->ids[i]),
               tokens->types[i]);
    }
    printf("\n");
}

int main(void) {
    struct nvdp_context *ctx = NULL;
    struct nvdp_tokenizer *tokenizer = NULL;
    struct nvdp_tokens tokens = {0};
    const char *text = "Shared no\xc3\xafse, not texts"; /* accents are stripped */
    char directory[] = "/tmp/nvdp-example-XXXXXX", path[128];
    int failed = 1;

    if (mkdtemp(directory) == NULL || write_vocabulary(directory) != 0) return 1;
    snprintf(path, sizeof path, "%s/vocab.txt", directory);
    if (nvdp_context_create(&ctx) != NVDP_OK) goto cleanup;
    if (nvdp_tokenizer_load(ctx, directory, &tokenizer) != NVDP_OK) goto cleanup;
    if (nvdp_tokenizer_encode(tokenizer, text, strlen(text), NULL, 0, 16, &tokens) != NVDP_OK)
        goto cleanup;
    print(tokenizer, &tokens);
    if (tokens.count != 10) goto cleanup; /* [CLS] share ##d no ##ise , not text ##s [SEP] */
    if (nvdp_tokenizer_encode(tokenizer, text, strlen(text), "text", 4, 8, &tokens) != NVDP_OK)
        goto cleanup;
    print(tokenizer, &tokens); /* cut to 8 tokens: the longer text loses tokens */
    failed = tokens.count != 8;
cleanup:
    if (failed) fprintf(stderr, "03_tokens: %s\n", nvdp_context_error(ctx));
    nvdp_tokens_free(&tokens);
    nvdp_tokenizer_free(tokenizer);
    nvdp_context_free(ctx);
    unlink(path);
    rmdir(directory);
    return failed;
}
