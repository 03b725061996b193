/* Tests evaluation: the masks depend only on text, length, share and seed, and another program
 * computes the same scores. */
#include "toy_corpus.h"

#include "tensor_values.h"

#include "test_context.h"

static struct nvdp__mlm_options trained(const char *const *text) {
    nvdp_context_set_threads(ctx, 1);
    struct nvdp__pretrain_options config = toy_config(text, support_scratch_path("model"));
    toy_train(ctx, &config);
    struct nvdp__mlm_options eval;
    nvdp__schema_default(&nvdp__mlm_schema, &eval);
    eval.model = support_scratch_path("model");
    eval.text = text;
    eval.texts = 1;
    eval.length = 24;
    eval.positions = support_scratch_path("positions.safetensors");
    return eval;
}

static struct nvdp_mlm_scores score(const struct nvdp__mlm_options *eval) {
    struct nvdp_mlm_scores scores;
    ok(nvdp__mlm_evaluate(ctx, eval, &scores));
    return scores;
}

static size_t read_ids(const char *path, const char *name, int64_t *ids, size_t room) {
    struct nvdp__safetensors *file = NULL;
    ok(nvdp__safetensors_open(ctx, path, &file));
    const struct nvdp__tensor_info *info = nvdp__safetensors_find(file, name);
    cr_assert_not_null(info);
    cr_assert_leq(info->count, room);
    size_t count = info->count;
    support_read_i64(info, ids);
    nvdp__safetensors_close(file);
    return count;
}

Test(evaluate, asks_the_same_whatever_batch_and_limit) {
    enum { ROOM = 20000 };
    static int64_t all[ROOM], repeated[ROOM], few[ROOM], offset[ROOM], few_offset[ROOM];
    const char *text = toy_text("held.txt", 40, 3);
    struct nvdp__mlm_options eval = trained(&text);
    struct nvdp_mlm_scores whole = score(&eval);
    size_t tokens = read_ids(eval.positions, "input_ids", all, ROOM);
    size_t windows = read_ids(eval.positions, "offset", offset, ROOM) - 1;
    cr_assert_eq(tokens, whole.tokens);
    cr_assert_eq(windows, whole.windows);
    eval.batch = 5;
    struct nvdp_mlm_scores same = score(&eval);
    cr_assert_eq(read_ids(eval.positions, "input_ids", repeated, ROOM), tokens);
    cr_assert_eq(memcmp(all, repeated, tokens * sizeof *all), 0);
    cr_assert_float_eq(same.nll, whole.nll, 1e-5);
    /* A limit selects windows i n / k, with the same masks. */
    eval.limit = 3;
    cr_assert_eq(score(&eval).windows, 3);
    read_ids(eval.positions, "input_ids", few, ROOM);
    read_ids(eval.positions, "offset", few_offset, ROOM);
    for (size_t i = 0; i < 3; i++) {
        size_t w = i * windows / 3;
        size_t length = (size_t)(offset[w + 1] - offset[w]);
        cr_assert_eq(length, (size_t)(few_offset[i + 1] - few_offset[i]));
        cr_assert_eq(memcmp(all + offset[w], few + few_offset[i], length * sizeof *all), 0);
    }
    eval.seed = 2;
    score(&eval);
    read_ids(eval.positions, "input_ids", repeated, ROOM);
    cr_assert_neq(memcmp(few, repeated, (size_t)few_offset[3] * sizeof *few), 0);
}

Test(evaluate, bad_input_is_refused) {
    const char *text = toy_text("held.txt", 10, 3);
    struct nvdp__mlm_options eval = trained(&text);
    struct nvdp_mlm_scores scores;
    eval.length = 500;
    fails(nvdp__mlm_evaluate(ctx, &eval, &scores), NVDP_ERR_ARGUMENT,
          "expected 4 to 128, the model's max_position_embeddings, found 500");
    /* A model without the masked-LM head. */
    struct nvdp_bert_config bert = NVDP_RESULT(struct nvdp_bert_config);
    ok(nvdp_bert_config_read(ctx, eval.model, &bert));
    const char *vocabulary = support_path("%s/vocab.txt", eval.model);
    eval.model = support_scratch_path("headless");
    eval.length = 24;
    ok(nvdp_bert_create_random(ctx, &bert, 1, vocabulary, eval.model));
    fails(nvdp__mlm_evaluate(ctx, &eval, &scores), NVDP_ERR_INPUT,
          "cls.predictions.transform.dense.weight");
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
    const char *text = toy_text("held.txt", 40, 3);
    struct nvdp__mlm_options eval = trained(&text);
    score(&eval);
    check_with_torch(eval.model, eval.positions, 40);
}

Test(evaluate, agrees_with_pytorch_on_the_shared_model) {
    const char *model = support_shared("data/bert/mini");
    const char *text = support_shared("data/text/wikitext-2/valid.txt");
    struct nvdp__mlm_options eval;
    nvdp__schema_default(&nvdp__mlm_schema, &eval);
    eval.model = model;
    eval.text = &text;
    eval.texts = 1;
    eval.limit = 12;
    eval.positions = support_scratch_path("positions.safetensors");
    struct nvdp_mlm_scores scores = score(&eval);
    cr_assert_eq(scores.windows, 12);
    check_with_torch(eval.model, eval.positions, 12);
}
