/* Tests evaluation: the masks depend only on text, length, share and seed, and another program
 * computes the same scores. */
#include "toy_corpus.h"

#include "support.h"
#include <criterion/criterion.h>
#include <nvdp/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct nvdp__mlm_options trained(struct nvdp_context *ctx, const char *const *text) {
    nvdp_context_set_threads(ctx, 1);
    struct nvdp__pretrain_options config = toy_config(text, support_scratch_path("model"));
    FREED(nvdp_pretrain_result_free)
    struct nvdp_pretrain_result result = NVDP_RESULT(struct nvdp_pretrain_result);
    cr_assert_eq(nvdp__pretrain(ctx, &config, &result), NVDP_OK, "%s", nvdp_context_error(ctx));
    struct nvdp__mlm_options eval;
    nvdp__schema_default(&nvdp__mlm_schema, &eval);
    eval.model = support_scratch_path("model");
    eval.text = text;
    eval.texts = 1;
    eval.length = 24;
    eval.positions = support_scratch_path("positions.safetensors");
    return eval;
}

static struct nvdp_mlm_scores score(struct nvdp_context *ctx,
                                    const struct nvdp__mlm_options *eval) {
    struct nvdp_mlm_scores scores;
    cr_assert_eq(nvdp__mlm_evaluate(ctx, eval, &scores), NVDP_OK, "%s", nvdp_context_error(ctx));
    return scores;
}

static size_t read_ids(struct nvdp_context *ctx, const char *path, const char *name, int64_t *ids,
                       size_t room) {
    struct nvdp_safetensors *file = NULL;
    cr_assert_eq(nvdp_safetensors_open(ctx, path, &file), NVDP_OK, "%s", nvdp_context_error(ctx));
    const struct nvdp_tensor_info *info = nvdp_safetensors_find(file, name);
    cr_assert_not_null(info);
    cr_assert_leq(info->count, room);
    size_t count = info->count;
    nvdp_safetensors_read_i64(info, ids);
    nvdp_safetensors_close(file);
    return count;
}

Test(evaluate, asks_the_same_whatever_batch_and_limit) {
    enum { ROOM = 20000 };
    static int64_t all[ROOM], repeated[ROOM], few[ROOM], offset[ROOM], few_offset[ROOM];
    struct nvdp_context *ctx = support_context();
    const char *text = toy_text("held.txt", 40, 3);
    struct nvdp__mlm_options eval = trained(ctx, &text);
    struct nvdp_mlm_scores whole = score(ctx, &eval);
    size_t tokens = read_ids(ctx, eval.positions, "input_ids", all, ROOM);
    size_t windows = read_ids(ctx, eval.positions, "offset", offset, ROOM) - 1;
    cr_assert_eq(tokens, whole.tokens);
    cr_assert_eq(windows, whole.windows);
    eval.batch = 5;
    struct nvdp_mlm_scores same = score(ctx, &eval);
    cr_assert_eq(read_ids(ctx, eval.positions, "input_ids", repeated, ROOM), tokens);
    cr_assert_eq(memcmp(all, repeated, tokens * sizeof *all), 0);
    cr_assert_float_eq(same.nll, whole.nll, 1e-5);
    /* A limit selects windows i n / k, with the same masks. */
    eval.limit = 3;
    cr_assert_eq(score(ctx, &eval).windows, 3);
    read_ids(ctx, eval.positions, "input_ids", few, ROOM);
    read_ids(ctx, eval.positions, "offset", few_offset, ROOM);
    for (size_t i = 0; i < 3; i++) {
        size_t w = i * windows / 3;
        size_t length = (size_t)(offset[w + 1] - offset[w]);
        cr_assert_eq(length, (size_t)(few_offset[i + 1] - few_offset[i]));
        cr_assert_eq(memcmp(all + offset[w], few + few_offset[i], length * sizeof *all), 0);
    }
    eval.seed = 2;
    score(ctx, &eval);
    read_ids(ctx, eval.positions, "input_ids", repeated, ROOM);
    cr_assert_neq(memcmp(few, repeated, (size_t)few_offset[3] * sizeof *few), 0);
    nvdp_context_free(ctx);
}

Test(evaluate, bad_input_is_refused) {
    struct nvdp_context *ctx = support_context();
    const char *text = toy_text("held.txt", 10, 3);
    struct nvdp__mlm_options eval = trained(ctx, &text);
    struct nvdp_mlm_scores scores;
    eval.length = 500;
    cr_assert_eq(nvdp__mlm_evaluate(ctx, &eval, &scores), NVDP_ERR_ARGUMENT);
    cr_assert_not_null(strstr(nvdp_context_error(ctx),
                              "expected 4 to 128, the model's max_position_embeddings, found 500"));
    /* A model without the masked-LM head. */
    struct nvdp_bert_config bert = NVDP_RESULT(struct nvdp_bert_config);
    cr_assert_eq(nvdp_bert_config_read(ctx, eval.model, &bert), NVDP_OK);
    char vocabulary[600];
    snprintf(vocabulary, sizeof vocabulary, "%s/vocab.txt", eval.model);
    eval.model = support_scratch_path("headless");
    eval.length = 24;
    cr_assert_eq(nvdp_bert_create_random(ctx, &bert, 1, vocabulary, eval.model), NVDP_OK);
    cr_assert_eq(nvdp__mlm_evaluate(ctx, &eval, &scores), NVDP_ERR_INPUT);
    cr_assert_not_null(strstr(nvdp_context_error(ctx), "cls.predictions.transform.dense.weight"));
    nvdp_context_free(ctx);
}

/* check_positions.py computes every position in float64 with PyTorch: 1e-4 of the mean loss, the
 * same predictions up to ties. */
static void check_with_torch(const char *model, const char *positions, int windows) {
    char line[2048];
    snprintf(line, sizeof line,
             "/usr/bin/python3 %s/tests/pretrain/check_positions.py '%s' '%s' %d >&2",
             NVDP_SOURCE_DIR, model, positions, windows);
    int status = system(line); /* NOLINT(cert-env33-c): a test's own command */
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127))
        cr_skip_test("needs /usr/bin/python3 with torch and numpy");
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %d", line, status);
}

Test(evaluate, agrees_with_pytorch) {
    struct nvdp_context *ctx = support_context();
    const char *text = toy_text("held.txt", 40, 3);
    struct nvdp__mlm_options eval = trained(ctx, &text);
    score(ctx, &eval);
    check_with_torch(eval.model, eval.positions, 40);
    nvdp_context_free(ctx);
}

Test(evaluate, agrees_with_pytorch_on_the_shared_model) {
    const char *model = support_shared("data/bert/mini");
    const char *text = support_shared("data/text/wikitext-2/valid.txt");
    struct nvdp_context *ctx = support_context();
    struct nvdp__mlm_options eval;
    nvdp__schema_default(&nvdp__mlm_schema, &eval);
    eval.model = model;
    eval.text = &text;
    eval.texts = 1;
    eval.limit = 12;
    eval.positions = support_scratch_path("positions.safetensors");
    struct nvdp_mlm_scores scores = score(ctx, &eval);
    cr_assert_eq(scores.windows, 12);
    check_with_torch(eval.model, eval.positions, 12);
    nvdp_context_free(ctx);
}
