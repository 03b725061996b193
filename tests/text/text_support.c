/* Implements the shared parts of the tests of src/text. */
#include "text_support.h"

const char tiny_vocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\nsat\nmat\n.\n,\nun\n"
                               "##want\n##ed\nrun\n##ning\na\nb\n##a\n##b\ncafe\ncaf\u00E9\nThe\n"
                               "\u4E2D\n##\u03C2\n##\u03C3\n\u03C3\n";

const char *text_model(const char *folder, const char *vocabulary, const char *config) {
    return support_folder(folder, "vocab.txt", vocabulary != NULL ? vocabulary : tiny_vocabulary,
                          config != NULL ? "tokenizer_config.json" : NULL, config);
}

struct nvdp_tokenizer *text_tiny(struct nvdp_context *ctx) {
    struct nvdp_tokenizer *tokenizer = NULL;
    ok(nvdp_tokenizer_load(
        ctx, text_model("tiny", NULL, "{\"tokenizer_class\": \"BertTokenizer\"}"), &tokenizer));
    return support_keep(tokenizer);
}

struct nvdp_tokenizer *text_base(struct nvdp_context *ctx) {
    struct nvdp_tokenizer *tokenizer = NULL;
    ok(nvdp_tokenizer_load(ctx, support_shared("data/bert/bert-base-uncased"), &tokenizer));
    return support_keep(tokenizer);
}

void text_expect(const struct nvdp_tokenizer *tokenizer, const char *text, ...) {
    nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
    ok(nvdp_tokenizer_encode(tokenizer, text, strlen(text), NULL, 0, 512, &tokens));
    cr_assert_geq(tokens.count, 2);
    cr_assert_eq(tokens.ids[0], nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_CLS));
    cr_assert_eq(tokens.ids[tokens.count - 1], nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP));
    va_list args;
    va_start(args, text);
    size_t at = 1;
    for (int want = va_arg(args, int); want >= 0; want = va_arg(args, int), at++) {
        cr_assert_lt(at, tokens.count - 1, "'%s': only %zu tokens", text, at - 1);
        cr_assert_eq(tokens.ids[at], want, "'%s': token %zu is %d, not %d", text, at,
                     tokens.ids[at], want);
    }
    va_end(args);
    cr_assert_eq(at, tokens.count - 1, "'%s': %zu tokens, not %zu", text, tokens.count - 2, at - 1);
}

void text_error(const struct nvdp_context *ctx, nvdp_status got, nvdp_status want,
                const char *format, ...) {
    char *message = NULL;
    va_list args;
    va_start(args, format);
    cr_assert_gt(vasprintf(&message, format, args), 0);
    va_end(args);
    cr_assert_eq(got, want, "%s instead of %s: %s", nvdp_status_name(got), nvdp_status_name(want),
                 nvdp_context_error(ctx));
    cr_assert_str_eq(nvdp_context_error(ctx), message);
    free(message);
}

struct nvdp_dataset_config text_config(enum nvdp_task_id task) {
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    config.task = task;
    config.directory = support_scratch();
    return config;
}

void text_same(const struct nvdp_dataset *a, const struct nvdp_dataset *b) {
    cr_assert_eq(a->count, b->count);
    cr_assert_eq(a->longest, b->longest);
    cr_assert_eq(a->truncated, b->truncated);
    size_t tokens = a->offset[a->count];
    cr_assert_arr_eq(a->offset, b->offset, (a->count + 1) * sizeof *a->offset);
    cr_assert_arr_eq(a->ids, b->ids, tokens * sizeof *a->ids);
    cr_assert_arr_eq(a->types, b->types, tokens * sizeof *a->types);
    cr_assert_arr_eq(a->index, b->index, a->count * sizeof *a->index);
    cr_assert_eq(a->label == NULL, b->label == NULL);
    if (a->label != NULL) cr_assert_arr_eq(a->label, b->label, a->count * sizeof *a->label);
    cr_assert_eq(a->id == NULL, b->id == NULL);
    for (size_t i = 0; a->id != NULL && i < a->count; i++)
        cr_assert_str_eq(a->id[i], b->id[i]);
}
