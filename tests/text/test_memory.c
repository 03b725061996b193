/* Every allocation of src/text fails in turn: an error each time, results untouched, no leak. */
#include "text_support.h"

enum { MAX_ALLOCATIONS = 200 };

typedef nvdp_status (*attempt_fn)(struct nvdp_context *ctx, struct nvdp_tokenizer *tokenizer);

static void sweep(attempt_fn attempt) {
    struct nvdp_context *ctx = support_context();
    struct nvdp_tokenizer *tiny = text_tiny(ctx);
    nvdp_status status = NVDP_ERR_MEMORY;
    uint64_t k = 0;
    while (status != NVDP_OK && k < MAX_ALLOCATIONS) {
        nvdp__fail_allocation(ctx, ++k);
        status = attempt(ctx, tiny);
        nvdp__fail_allocation(ctx, 0);
        if (status == NVDP_OK) break;
        fails(status, NVDP_ERR_MEMORY, "out of memory");
    }
    ok(status);
    cr_assert_gt(k, 1);
}

static nvdp_status attempt_tokenizer(struct nvdp_context *ctx, struct nvdp_tokenizer *tokenizer) {
    (void)tokenizer;
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *made = NULL;
    const char *model = text_model("m", NULL, "{\"do_lower_case\": true}");
    nvdp_status status = nvdp_tokenizer_load(ctx, model, &made);
    cr_assert_eq(made != NULL, status == NVDP_OK);
    return status;
}

/* Loads a folder of golden/unigram and encodes a text. */
static nvdp_status encode_by(struct nvdp_context *ctx, const char *folder) {
    static const char text[] = "the gulls \xEF\xAC\x81nal <mask> \xF0\x9F\x98\x80";
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *made = NULL;
    nvdp_status status = nvdp_tokenizer_load(ctx, support_golden(folder), &made);
    cr_assert_eq(made != NULL, status == NVDP_OK);
    struct nvdp__encoder encoder = {.tokenizer = made, .ctx = ctx};
    if (status == NVDP_OK) status = nvdp__encode(&encoder, text, sizeof text - 1, NULL, 0, 64);
    nvdp__encoder_release(&encoder);
    return status;
}
static nvdp_status attempt_sentencepiece(struct nvdp_context *ctx,
                                         struct nvdp_tokenizer *tokenizer) {
    (void)tokenizer;
    return encode_by(ctx, "unigram/spm");
}
static nvdp_status attempt_unigram(struct nvdp_context *ctx, struct nvdp_tokenizer *tokenizer) {
    (void)tokenizer;
    return encode_by(ctx, "unigram/fast");
}

static nvdp_status attempt_load(struct nvdp_context *ctx, struct nvdp_tokenizer *tokenizer) {
    struct nvdp_dataset_config config = text_config(NVDP_TASK_TSV);
    nvdp__set_columns(&config, &(struct nvdp__columns){"t", "u", "y", false});
    config.skip_bad_rows = true;
    config.limit = 3;
    support_file("train.tsv",
                 "id\tt\tu\ty\n1\ta\tb\tno\nbad\n2\tb\ta\tyes\n3\ta\tb\tno\n4\ta\ta\tno\n");
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    struct nvdp_dataset *dev = NULL;
    nvdp_status status =
        nvdp__dataset_load(ctx, tokenizer, &config, NVDP_SPLIT_TRAIN, NULL, &dataset);
    cr_assert_eq(dataset != NULL, status == NVDP_OK);
    if (status == NVDP_OK) {
        support_file("dev.tsv", "t\tu\ty\na\tb\tno\n");
        config.labels_from = dataset->task;
        status = nvdp__dataset_load(ctx, tokenizer, &config, NVDP_SPLIT_DEV, NULL, &dev);
        cr_assert_eq(dev != NULL, status == NVDP_OK);
    }
    nvdp_dataset_free(dev);
    return status;
}

static nvdp_status attempt_holdout(struct nvdp_context *ctx, struct nvdp_tokenizer *tokenizer) {
    struct nvdp_dataset_config config = text_config(NVDP_TASK_STSB);
    support_file("train.tsv", "index\tsentence1\tsentence2\tscore\n1\ta\tb\t1\n2\tb\ta\t2\n");
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    struct nvdp_dataset *train = NULL;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *validation = NULL;
    nvdp_status status =
        nvdp__dataset_load(ctx, tokenizer, &config, NVDP_SPLIT_TRAIN, NULL, &dataset);
    if (status == NVDP_OK)
        status = nvdp__dataset_holdout(ctx, dataset, .1, &(uint64_t){1}, &train, &validation);
    cr_assert_eq(train != NULL, status == NVDP_OK);
    cr_assert_eq(validation != NULL, status == NVDP_OK);
    nvdp_dataset_free(train);
    return status;
}

static nvdp_status attempt_select(struct nvdp_context *ctx, struct nvdp_tokenizer *tokenizer) {
    struct nvdp_dataset_config config = text_config(NVDP_TASK_TSV);
    nvdp__set_columns(&config, &(struct nvdp__columns){"t", NULL, "y", false});
    support_file("train.tsv", "t\ty\na\tno\nb\tyes\n");
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    struct nvdp_dataset *selected = NULL;
    const size_t rows[] = {1};
    nvdp_status status =
        nvdp__dataset_load(ctx, tokenizer, &config, NVDP_SPLIT_TRAIN, NULL, &dataset);
    if (status == NVDP_OK) status = nvdp__dataset_select(ctx, dataset, 1, rows, &selected);
    cr_assert_eq(selected != NULL, status == NVDP_OK);
    nvdp_dataset_free(selected);
    return status;
}

static nvdp_status attempt_texts(struct nvdp_context *ctx, struct nvdp_tokenizer *tokenizer) {
    const char *const text[] = {"a", "b"};
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    nvdp_status status = nvdp_dataset_from_texts(ctx, tokenizer, 8, 2, text, text, &dataset);
    cr_assert_eq(dataset != NULL, status == NVDP_OK);
    return status;
}

static nvdp_status attempt_batch(struct nvdp_context *ctx, struct nvdp_tokenizer *tokenizer) {
    (void)tokenizer;
    nvdp__autoptr(nvdp__batch_free) struct nvdp__batch *batch = NULL;
    nvdp_status status = nvdp__batch_create(ctx, 2, 8, &batch);
    cr_assert_eq(batch != NULL, status == NVDP_OK);
    return status;
}

static nvdp_status attempt_fold(struct nvdp_context *ctx, struct nvdp_tokenizer *tokenizer) {
    (void)tokenizer;
    const struct nvdp__normalization how = {true, true, true, false};
    struct nvdp__runes run = {0};
    struct nvdp__runes folded = {0};
    nvdp_status status = NVDP_OK;
    for (int i = 0; i < 40 && status == NVDP_OK; i++)
        status = nvdp__runes_push(ctx, &run, 0x301);
    if (status == NVDP_OK) status = nvdp__fold(ctx, &how, &run, &folded);
    free(run.at);
    free(folded.at);
    return status;
}

Test(memory, tokenizer) {
    sweep(attempt_tokenizer);
}
Test(memory, sentencepiece) {
    sweep(attempt_sentencepiece);
}
Test(memory, unigram) {
    sweep(attempt_unigram);
}
Test(memory, load) {
    sweep(attempt_load);
}
Test(memory, holdout) {
    sweep(attempt_holdout);
}
Test(memory, select) {
    sweep(attempt_select);
}
Test(memory, texts) {
    sweep(attempt_texts);
}
Test(memory, batch) {
    sweep(attempt_batch);
}
Test(memory, fold) {
    sweep(attempt_fold);
}
