/* Reads any bytes as a file of secrets: secrets that are read, written and read again are the
 * same. */
#include "fuzz.h"
#include "pretrain/corpus.h"

enum { MAX_SECRETS = 1 << 14 };

static struct nvdp_tokenizer *tokenizer_of(struct nvdp_context *ctx) {
    static const char pieces[] =
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncat\ndog\n##s\n.\n\xc3\xa9t\n";
    static const struct nvdp__normalization rules = {true, true, true, false};
    struct nvdp_tokenizer *made = NULL;
    if (nvdp__tokenizer_create(ctx, "vocab.txt", pieces, sizeof pieces - 1, nvdp__special_names,
                               &rules, &made) != NVDP_OK)
        abort();
    return made;
}

static void check(const struct nvdp__secrets *secrets, const struct nvdp_tokenizer *tokenizer) {
    struct nvdp__secrets reread = {.ctx = secrets->ctx};
    json_t *object = nvdp__secrets_json(secrets, tokenizer);
    char *text = json_dumps(object, 0);
    struct fuzz_file file = fuzz_open((const uint8_t *)text, strlen(text));
    if (nvdp__secrets_read(file.path, tokenizer, &reread) != NVDP_OK) abort();
    if (reread.count != secrets->count || reread.ids != secrets->ids ||
        memcmp(reread.id, secrets->id, reread.ids * sizeof *reread.id) != 0)
        abort();
    for (size_t i = 0; i < reread.count; i++)
        if (reread.at[i].occurrences != secrets->at[i].occurrences ||
            reread.at[i].slot >= reread.at[i].length)
            abort();
    nvdp__secrets_release(&reread);
    fuzz_close(&file);
    free(text);
    json_decref(object);
}

nvdp_status fuzz_use(struct fuzz_input in) {
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *tokenizer = tokenizer_of(in.ctx);
    nvdp__auto(nvdp__secrets_release) struct nvdp__secrets secrets = {.ctx = in.ctx};
    NVDP_TRY(nvdp__secrets_read(in.path, tokenizer, &secrets));
    if (secrets.count <= MAX_SECRETS) check(&secrets, tokenizer);
    return NVDP_OK;
}
