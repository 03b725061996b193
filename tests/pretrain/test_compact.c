/* Tests the model that ships, models/compact. */
#include "toy_corpus.h"

#include "test_context.h"

#define MODEL NVDP_SOURCE_DIR "/models/compact"

Test(compact, is_as_small_as_promised) {
    struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
    struct stat file;
    cr_assert_eq(stat(MODEL "/model.safetensors", &file), 0);
    cr_assert_leq(file.st_size, 12000000);
    ok(nvdp_bert_config_read(ctx, MODEL, &config));
    cr_assert_eq(config.vocab_size, 8192);
    cr_assert_geq(config.max_position_embeddings, 128);
}

/* Scores sentences written for this test. Always predicting the most frequent piece is right in
 * about one case of fourteen; a model that learned only word frequencies is no better. */
Test(compact, guesses_masked_words) {
    const char *const text[] = {NVDP_SOURCE_DIR "/tests/pretrain/compact.txt"};
    struct nvdp__mlm_options config;
    nvdp__schema_default(&nvdp__mlm_schema, &config);
    struct nvdp_mlm_scores scores;
    config.model = MODEL;
    config.text = text;
    config.texts = 1;
    config.length = 64;
    config.batch = 4;
    size_t masked = 0;
    double right = 0;
    for (config.seed = 1; config.seed <= 5; config.seed++) {
        ok(nvdp__mlm_evaluate(ctx, &config, &scores));
        masked += scores.masked;
        right += scores.accuracy * (double)scores.masked;
    }
    cr_assert_gt(masked, 300);
    cr_assert_gt(right / (double)masked, 0.5, "masked accuracy %.3f", right / (double)masked);
}
