/* Tests mask token inference against the plain kernels with one question at a time, the tokens that are left out,
 * and bad input. */
#include "attack_test.h"
#include "plain_model.h"
#include "sanitize/sanitize.h"

enum { TEXTS = 12, MAX_TOKENS = 400 };

struct bench {
    struct nvdp_context *ctx;
    const char *model;
    struct nvdp_sanitizer *sanitizer;
    size_t offset[TEXTS + 1];
    int32_t token[MAX_TOKENS], drawn[MAX_TOKENS];
};

static struct nvdp_sanitizer *sanitizer_of(struct nvdp_context *ctx, const char *key,
                                           const char *path, const char *eta) {
    struct nvdp_sanitizer *made = NULL;
    struct nvdp_config *config =
        support_config(ctx, "sanitizer", key, path, "mechanism", "santext", "eta", eta, NULL);
    ok(nvdp_sanitizer_create(ctx, config, &made));
    return support_keep(made);
}

/* Trains a model that has learned word order, and makes texts of words of one piece and of two. */
static struct bench open_bench(const char *key, const char *table) {
    static const char *const lines[3] = {"the cat sat on the mat . and so it was .",
                                         "a dog barked at the gate . this one swam under water .",
                                         "our bird sang in a tree ."};
    struct bench b = {.ctx = support_context(), .model = support_scratch_path("model")};
    const char *text = toy_text("toy.txt", 60, 3);
    struct nvdp__pretrain_options config = toy_config(&text, b.model);
    nvdp__autoresult struct nvdp_pretrain_result result = NVDP_RESULT(struct nvdp_pretrain_result);
    nvdp__auto(nvdp_token_list_free) struct nvdp_token_list list = {0};
    const uint64_t seed = 5;
    config.vocab = toy_vocabulary();
    config.steps = 300; /* enough to use the context */
    nvdp_context_set_threads(b.ctx, 1);
    ok(nvdp__pretrain(b.ctx, &config, &result));
    b.sanitizer = sanitizer_of(b.ctx, key, table != NULL ? table : b.model, "20");
    for (size_t i = 0; i < TEXTS; i++) {
        ok(nvdp_sanitizer_tokenize(b.ctx, b.sanitizer, lines[i % 3], strlen(lines[i % 3]), &list));
        cr_assert_leq(b.offset[i] + list.count, MAX_TOKENS);
        memcpy(b.token + b.offset[i], list.token, list.count * sizeof *list.token);
        b.offset[i + 1] = b.offset[i] + list.count;
    }
    ok(nvdp_dchi_sample(b.ctx, nvdp_sanitizer_dchi(b.sanitizer), TEXTS, b.offset, b.token, &seed, 0,
                        b.drawn));
    return b;
}

static nvdp_status infer(const struct bench *b, const char *model, const int32_t *sanitized,
                         size_t length, struct nvdp_mask_inference *found) {
    return nvdp_mask_inference(b->ctx, model, b->sanitizer, TEXTS, b->offset, b->token, sanitized,
                               length, found);
}

static struct nvdp_mask_inference attack(const struct bench *b, const int32_t *sanitized,
                                         size_t length) {
    struct nvdp_mask_inference found = NVDP_RESULT(struct nvdp_mask_inference);
    ok(infer(b, b->model, sanitized, length, &found));
    return found;
}

/* ---- one question at a time ---- */

struct plain {
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__pretrain_model model;
    struct nvdp__batch *batch;
    struct nvdp__masked masked;
};

static struct plain open_plain(const struct bench *b) {
    struct plain p = {0};
    struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
    ok(nvdp__mlm_open(b->ctx, b->model, false, &config, &p.tokenizer, &p.model));
    ok(nvdp__pretrain_model_plan(&p.model, 1, 64, 1, NULL));
    ok(nvdp__batch_create(b->ctx, 1, 64, &p.batch));
    ok(nvdp__masked_create(b->ctx, 1, &p.masked));
    support_keep_parts(p);
    return p;
}

/* Returns the likeliest piece at `mask` of ids, which begin with [CLS] and end with [SEP]. */
static int32_t guess(struct plain *p, size_t n, const int32_t *ids, size_t mask) {
    const struct nvdp__pass pass = {0};
    struct nvdp__pretrain_losses losses;
    memcpy(p->batch->ids, ids, n * sizeof *ids);
    memset(p->batch->types, 0, n * sizeof *p->batch->types);
    for (size_t i = 0; i < n; i++)
        p->batch->positions[i] = (int32_t)i;
    p->batch->texts = 1;
    p->batch->tokens = p->batch->longest = n;
    p->batch->offset[0] = 0;
    p->batch->offset[1] = (int32_t)n;
    p->masked.count = 1;
    p->masked.row[0] = (int32_t)mask;
    p->masked.label[0] = 0;
    ok(plain_pretrain_model_step(&p->model, p->batch, &p->masked, &pass, &losses));
    return p->model.best[0];
}

/* Returns the pieces of a token's word, tokenized as text; a WordPiece is its own piece. */
static size_t pieces_of(const struct bench *b, const struct plain *p, int32_t token, int32_t *to) {
    const char *word = nvdp_sanitizer_word(b->sanitizer, token);
    nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
    to[0] = nvdp__sanitizer_piece(b->sanitizer, token);
    if (to[0] >= 0) return 1;
    ok(nvdp_tokenizer_encode(p->tokenizer, word, strlen(word), NULL, 0, 64, &tokens));
    const size_t n = tokens.count - 2;
    memcpy(to, tokens.ids + 1, n * sizeof *to);
    return n;
}

/* Asks in parts of at most `length` pieces.  right[0] counts guesses of the original token, right[1] of the
 * sanitized one. */
static void ask_all(const struct bench *b, const int32_t *sanitized, size_t length, size_t right[2],
                    size_t *asked) {
    struct plain p = open_plain(b);
    right[0] = right[1] = *asked = 0;
    for (size_t t = 0; t < TEXTS; t++)
        for (size_t from = b->offset[t], end = from; from < b->offset[t + 1]; from = end) {
            int32_t piece[64][8], own[8];
            size_t count[64], used = 2;
            while (end < b->offset[t + 1]) {
                count[end - from] = pieces_of(b, &p, sanitized[end], piece[end - from]);
                if (used + count[end - from] > length) break;
                used += count[end++ - from];
            }
            for (size_t i = 0; i < end - from; i++) {
                int32_t ids[80];
                size_t n = 0, at = 0;
                if (pieces_of(b, &p, b->token[from + i], own) > 1) continue;
                ids[n++] = nvdp_tokenizer_special(p.tokenizer, NVDP_TOKEN_CLS);
                for (size_t j = 0; j < end - from; j++) {
                    if (j == i) at = n;
                    for (size_t k = 0; k < (j == i ? 1 : count[j]); k++)
                        ids[n++] = j == i ? nvdp_tokenizer_special(p.tokenizer, NVDP_TOKEN_MASK)
                                          : piece[j][k];
                }
                ids[n++] = nvdp_tokenizer_special(p.tokenizer, NVDP_TOKEN_SEP);
                const int32_t best = guess(&p, n, ids, at);
                right[0] += best == own[0];
                right[1] += count[i] == 1 && best == piece[i][0];
                ++*asked;
            }
        }
}

/* Checks for equal counts.  The plain kernels differ only by rounding, which decides no argmax here. */
static void agree(const struct bench *b, const int32_t *sanitized, size_t length) {
    struct nvdp_mask_inference found = attack(b, sanitized, length);
    size_t right[2], asked = 0;
    ask_all(b, sanitized, length, right, &asked);
    cr_expect_eq(found.guesses, asked);
    cr_expect_eq(found.guesses + found.left_out, b->offset[TEXTS]);
    near(found.original, (double)right[0] / (double)asked, 1e-12);
    near(found.sanitized, (double)right[1] / (double)asked, 1e-12);
    near(found.original_error, sqrt(found.original * (1 - found.original) / (double)asked), 1e-12);
}

Test(mask_inference, pieces) {
    struct bench b = open_bench("model", NULL);
    struct nvdp_mask_inference plain = attack(&b, b.token, 0), noised = attack(&b, b.drawn, 0);
    cr_expect_eq(plain.left_out, 0);
    cr_expect_eq(plain.original, plain.sanitized);
    cr_expect_gt(plain.original, noised.original); /* less of the context is left */
    cr_expect_neq(noised.original, noised.sanitized);
    agree(&b, b.token, 64);
    agree(&b, b.drawn, 64);
    agree(&b, b.drawn, 6);
}

/* Words such as "barked" and "sat" are two pieces: one [MASK] covers them, and no guess names them. */
Test(mask_inference, words) {
    static const char vectors[] =
        "the 0 0\ncat 1 0\nsat 0 1\non 1 1\nmat 3 0\n. 0 3\nand 4 0\nso 2 0\nit 0 4\nwas 1 4\n"
        "a 4 4\ndog 5 0\nbarked 5 1\nat 5 2\ngate 5 3\nour 6 0\nbird 6 1\ntree 6 2\n";
    struct bench b = open_bench("vectors", support_file("vectors.txt", vectors));
    size_t left = 0;
    for (size_t i = 0; i < b.offset[TEXTS]; i++) {
        /* Words without a vector stay in the context as [UNK], but no guess is asked for them. */
        const char *word = nvdp_sanitizer_word(b.sanitizer, b.token[i]);
        left += b.token[i] < 0 || strcmp(word, "sat") == 0 || strcmp(word, "barked") == 0;
    }
    cr_expect_eq(attack(&b, b.token, 0).left_out, left);
    for (size_t i = 0; i < b.offset[TEXTS]; i++)
        if (b.token[i] < 0) b.token[i] = 0;
    agree(&b, b.token, 64);
    agree(&b, b.drawn, 64);
    agree(&b, b.drawn, 7);
}

Test(mask_inference, bad_input) {
    struct bench b = open_bench("model", NULL);
    struct nvdp_mask_inference found = NVDP_RESULT(struct nvdp_mask_inference);
    struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
    const char *headless = support_scratch_path("headless");
    fails(infer(&b, b.model, b.token, 500, &found), NVDP_ERR_ARGUMENT, "length: expected 4 to ");
    ok(nvdp_bert_config_read(b.ctx, b.model, &config));
    const char *vocabulary = support_path("%s/vocab.txt", b.model);
    ok(nvdp_bert_create_random(b.ctx, &config, 1, vocabulary, headless));
    fails(infer(&b, headless, b.token, 0, &found), NVDP_ERR_INPUT,
          "expected a model with a masked-LM head");
    b.drawn[3] = 1000;
    fails(infer(&b, b.model, b.drawn, 0, &found), NVDP_ERR_ARGUMENT, "token 1000 at position 3");
    found.struct_size = 0;
    cr_expect_eq(infer(&b, b.model, b.token, 0, &found), NVDP_ERR_ARGUMENT);
    /* Without texts there are no guesses, and no share of right ones. */
    found = (struct nvdp_mask_inference)NVDP_RESULT(struct nvdp_mask_inference);
    ok(nvdp_mask_inference(b.ctx, b.model, b.sanitizer, 0, b.offset, b.token, b.token, 0, &found));
    cr_expect(isnan(found.original));
    cr_expect_eq(found.guesses, 0);
}
