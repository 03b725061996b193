/* Tests the pretraining heads against the plain kernels, and their gradients against finite
 * differences.
 *
 * For finite differences, a whole tensor moves along its gradient and along a random direction.
 * float32 gives the loss to about 1e-7 and the step changes it by about 1e-3, so 1e-4 of the
 * gradient's norm is noise; the cubic term adds as much. The word embeddings are used twice, at
 * the encoder's input and as the decoder. */
#include "bert_sizes.h"
#include "plain_model.h"
#include "toy_corpus.h"

enum { TEXTS = 3, LONGEST = 9, PIECES = 23, MASKED = 7 };

struct bench {
    struct nvdp_context *ctx;
    struct nvdp__pretrain_model model;
    struct nvdp__batch *batch;
    struct nvdp__masked masked;
    struct nvdp__pass pass;
    bool plain; /* steps on the plain kernels */
};

static struct nvdp_bert_config small(enum nvdp_activation act) {
    struct nvdp_bert_config config = bert_of(.hidden = 12, .layers = 2, .heads = 3, .inner = 20,
                                             .pieces = PIECES, .longest = LONGEST);
    config.hidden_act = act;
    return config;
}

/* No value is zero, because zeros could hide errors. LayerNorm's weights are near 1, so that the
 * scaled values do not vanish in noise. */
static void randomise(struct nvdp__params *params, const struct nvdp__device *dev) {
    for (size_t i = 0; i < params->count; i++) {
        const struct nvdp__param *entry = &params->entry[i];
        nvdp__params_normal(dev, params, i, 0.3, 7);
        float *value = nvdp__value(params, i);
        for (size_t k = 0; strstr(entry->name, "LayerNorm.weight") != NULL && k < entry->count;
             k++) {
            value[k] += 1;
        }
    }
}

static void fill_batch(struct bench *b) {
    static const size_t lengths[TEXTS] = {5, LONGEST, 4};
    struct nvdp__batch *batch = b->batch;
    size_t at = 0;
    for (size_t t = 0; t < TEXTS; t++) {
        batch->offset[t] = (int32_t)at;
        batch->label[t] = (float)(t % 2);
        for (size_t i = 0; i < lengths[t]; i++, at++) {
            batch->ids[at] = (int32_t)((at * 7 + 3) % PIECES);
            batch->types[at] = i > 2;
            batch->positions[at] = (int32_t)i;
        }
    }
    batch->offset[TEXTS] = (int32_t)at;
    batch->texts = TEXTS;
    batch->tokens = at;
    batch->longest = LONGEST;
    static const int32_t row[MASKED] = {1, 3, 5, 6, 12, 14, 17};
    for (size_t i = 0; i < MASKED; i++) {
        b->masked.row[i] = row[i];
        b->masked.label[i] = (int32_t)((i * 5 + 2) % PIECES);
    }
    b->masked.count = MASKED;
}

static struct bench open_bench(enum nvdp__objective objective, enum nvdp_activation act,
                               bool plain) {
    struct bench b = {.ctx = support_context(), .pass = {.training = true}, .plain = plain};
    struct nvdp_bert_config config = small(act);
    nvdp_context_set_threads(b.ctx, 1); /* nothing here is large enough for two threads */
    ok(nvdp__pretrain_model_create(b.ctx, &config, objective, true, &b.model));
    randomise(&b.model.params, &b.model.dev);
    ok(nvdp__pretrain_model_plan(&b.model, TEXTS, LONGEST, MASKED, NULL));
    ok(nvdp__batch_create(b.ctx, TEXTS, LONGEST, &b.batch));
    ok(nvdp__masked_create(b.ctx, MASKED, &b.masked));
    fill_batch(&b);
    support_keep_parts(b);
    return b;
}

static double loss_of(struct bench *b) {
    struct nvdp__pretrain_losses losses;
    nvdp__weights_changed(&b->model.dev);
    ok((b->plain ? plain_pretrain_model_step
                 : nvdp__pretrain_model_step)(&b->model, b->batch, &b->masked, &b->pass, &losses));
    return losses.nll / MASKED + losses.next;
}

static float *copy_of(size_t n, const float *x) {
    return support_keep_copy(x, n * sizeof *x);
}

static double *doubles(size_t n, const float *x) {
    double *copy = malloc(n * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = (double)x[i];
    return support_keep(copy);
}

static double dot(size_t n, const float *a, const float *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

/* ---- gradients ---- */

static double moved_loss(struct bench *b, size_t index, const float *value, const float *direction,
                         double h) {
    size_t n = b->model.params.entry[index].count;
    float *to = nvdp__value(&b->model.params, index);
    for (size_t i = 0; i < n; i++)
        to[i] = (float)(value[i] + h * direction[i]);
    double loss = loss_of(b);
    memcpy(to, value, n * sizeof *to);
    return loss;
}

/* Returns |finite difference - <gradient, u>| divided by the gradient's norm. */
static double direction_error(struct bench *b, size_t index, const float *gradient,
                              const float *direction) {
    size_t n = b->model.params.entry[index].count;
    double norm = sqrt(dot(n, gradient, gradient));
    double h = fmin(2e-3 / norm, 0.02);
    float *value = copy_of(n, nvdp__value(&b->model.params, index));
    double above = moved_loss(b, index, value, direction, h);
    double below = moved_loss(b, index, value, direction, -h);
    double error = fabs((above - below) / (2 * h) - dot(n, gradient, direction));
    /* A key's bias has no gradient, so the loss must not change. */
    return norm < 1e-6 ? error : error / norm;
}

static double tensor_error(struct bench *b, size_t index, const float *gradient) {
    size_t n = b->model.params.entry[index].count;
    nvdp__autofree float *direction = malloc(n * sizeof *direction);
    double norm = sqrt(dot(n, gradient, gradient));
    double worst = 0;
    for (int along = norm >= 1e-6; along >= 0; along--) {
        struct nvdp__noise noise = {.seed = 5};
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, index);
        nvdp__stream_normals(&stream, n, direction);
        if (along) memcpy(direction, gradient, n * sizeof *direction);
        double length = sqrt(dot(n, direction, direction));
        for (size_t i = 0; i < n; i++)
            direction[i] = (float)(direction[i] / length);
        worst = fmax(worst, direction_error(b, index, gradient, direction));
    }
    return worst;
}

static void check_gradients_of(struct bench b) {
    const struct nvdp__params *params = &b.model.params;
    loss_of(&b);
    float *gradient = copy_of(params->total, params->grad);
    for (size_t i = 0; i < params->count; i++) {
        if (nvdp__adaptive(b.model.objective) && nvdp__grad(params, i) == NULL) continue;
        double error = tensor_error(&b, i, gradient + params->entry[i].offset);
        cr_expect_leq(error, 2e-3, "%s: error %g", params->entry[i].name, error);
    }
}

static void check_gradients(enum nvdp__objective objective, enum nvdp_activation act) {
    check_gradients_of(open_bench(objective, act, false));
}

Test(heads, gradients_of_both_losses) {
    check_gradients(NVDP__OBJECTIVE_MLM_NSP, NVDP_ACTIVATION_GELU);
}

Test(heads, gradients_of_the_masked_loss_with_gelu_new) {
    check_gradients(NVDP__OBJECTIVE_MLM, NVDP_ACTIVATION_GELU_NEW);
}

/* ---- privatized input: several labels per row, vectors in place of words, a frozen table ---- */

enum { LABELS = 4 };

/* Returns a bench with several labels per row: three different ones, one of them twice. */
static struct bench open_soft(bool plain) {
    struct bench b = open_bench(NVDP__OBJECTIVE_PROB_NSP, NVDP_ACTIVATION_GELU, plain);
    b.masked.label = support_keep(calloc((size_t)MASKED * LABELS, sizeof *b.masked.label));
    b.masked.labels = LABELS;
    for (size_t i = 0; i < (size_t)MASKED * LABELS; i++)
        b.masked.label[i] =
            (int32_t)((i / LABELS * 5 + (i % LABELS == 3 ? 0 : i % LABELS) * 7) % PIECES);
    return b;
}

/* Gives every token a vector that belongs to no word. */
static void give_words(struct bench *b) {
    size_t n = b->batch->tokens * b->model.bert.config.hidden_size;
    float *words = malloc(n * sizeof *words);
    const struct nvdp__noise noise = {.seed = 8};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, 0);
    nvdp__stream_normals(&stream, n, words);
    b->batch->words = support_keep(words);
}

Test(heads, gradients_of_soft_targets) {
    check_gradients_of(open_soft(false));
}

Test(heads, gradients_above_given_vectors) {
    struct bench b = open_bench(NVDP__OBJECTIVE_DENOISING, NVDP_ACTIVATION_GELU, false);
    give_words(&b);
    check_gradients_of(b);
}

/* The cross-entropy with the empirical distribution of the labels is the mean over them. */
Test(heads, soft_targets_are_means) {
    struct bench b = open_soft(false);
    double soft[MASKED], mean[MASKED] = {0}, share = 0;
    struct nvdp__pretrain_losses losses;
    loss_of(&b);
    memcpy(soft, b.model.nll, sizeof soft);
    ok(nvdp__pretrain_model_step(&b.model, b.batch, &b.masked, &b.pass, &losses));
    const double right = losses.right;
    const int32_t *labels = b.masked.label;
    b.masked.label = support_keep(calloc(MASKED, sizeof *labels));
    b.masked.labels = 1;
    for (size_t k = 0; k < LABELS; k++) {
        for (size_t i = 0; i < MASKED; i++)
            b.masked.label[i] = labels[i * LABELS + k];
        ok(nvdp__pretrain_model_step(&b.model, b.batch, &b.masked, &b.pass, &losses));
        share += losses.right / LABELS;
        for (size_t i = 0; i < MASKED; i++)
            mean[i] += b.model.nll[i] / LABELS;
    }
    for (size_t i = 0; i < MASKED; i++) /* the same logits, sums in double */
        cr_expect_float_eq(soft[i], mean[i], 1e-12);
    cr_expect_float_eq(right, share, 1e-12);
}

/* The gradient of a frozen table is never computed: its memory stays unchanged, and all other
 * gradients equal those with a trained table, bit for bit. Vectors equal to the words' give the
 * same bits as the words. */
Test(heads, a_frozen_table_has_no_gradient) {
    struct bench trained = open_bench(NVDP__OBJECTIVE_MLM_NSP, NVDP_ACTIVATION_GELU, false);
    struct bench frozen = open_bench(NVDP__OBJECTIVE_DENOISING_NSP, NVDP_ACTIVATION_GELU, false);
    const struct nvdp__params *params = &frozen.model.params;
    const size_t word = frozen.model.bert.word, dim = frozen.model.bert.config.hidden_size;
    const struct nvdp__param *table = &params->entry[word];
    cr_expect_null(nvdp__grad(params, word));
    cr_expect_null(params->use);
    cr_expect_eq(nvdp__params_trainable(params),
                 nvdp__params_trainable(&trained.model.params) - table->count);
    for (size_t i = 0; i < table->count; i++)
        params->grad[table->offset + i] = NAN;
    nvdp__autofree float *words = malloc(frozen.batch->tokens * dim * sizeof *words);
    for (size_t r = 0; r < frozen.batch->tokens; r++)
        memcpy(words + r * dim, nvdp__value(params, word) + (size_t)frozen.batch->ids[r] * dim,
               dim * sizeof *words);
    for (int given = 0; given < 2; given++) {
        frozen.batch->words = given ? words : NULL;
        cr_expect_eq(loss_of(&frozen), loss_of(&trained));
        for (size_t i = 0; i < params->count; i++) {
            const struct nvdp__param *entry = &params->entry[i];
            for (size_t k = 0; k < entry->count; k++) {
                float got = params->grad[entry->offset + k];
                if (i == word)
                    cr_assert(isnan(got));
                else
                    cr_assert_eq(got, trained.model.params.grad[entry->offset + k], "%s",
                                 entry->name);
            }
        }
    }
    words[dim] += 1;
    cr_expect_neq(loss_of(&frozen), loss_of(&trained));
}

/* Frozen layers' gradients, including the table's, are never computed; gradients above have the
 * same bits. */
Test(heads, frozen_layers_have_no_gradient) {
    for (size_t layers = 1; layers <= 2; layers++) {
        struct bench trained = open_bench(NVDP__OBJECTIVE_MLM_NSP, NVDP_ACTIVATION_GELU, false);
        struct bench frozen = open_bench(NVDP__OBJECTIVE_MLM_NSP, NVDP_ACTIVATION_GELU, false);
        const struct nvdp__params *params = &frozen.model.params;
        nvdp__pretrain_model_freeze(&frozen.model, layers);
        ok(nvdp__pretrain_model_plan(&frozen.model, TEXTS, LONGEST, MASKED, NULL));
        support_keep_parts(frozen); /* planned anew */
        const size_t end = nvdp__params_frozen(params);
        cr_expect_lt(end, params->total);
        frozen.pass.hidden_dropout = frozen.pass.attention_dropout = layers == 2 ? 0.5F : 0;
        for (size_t i = 0; i < end; i++)
            params->grad[i] = NAN;
        cr_expect_eq(loss_of(&frozen), loss_of(&trained));
        for (size_t i = 0; params->entry[i].offset < end; i++) {
            cr_expect_null(nvdp__grad(params, i));
            for (size_t k = 0; k < params->entry[i].count; k++)
                cr_assert(isnan(params->grad[params->entry[i].offset + k]));
        }
        cr_expect_arr_eq(params->grad + end, trained.model.params.grad + end,
                         (params->total - end) * sizeof *params->grad);
    }
}

/* ---- against the plain kernels, which sum in double ---- */

static void agree(struct bench fast, struct bench plain) {
    size_t total = fast.model.params.total;
    cr_expect_float_eq(loss_of(&fast), loss_of(&plain), 1e-5);
    for (size_t i = 0; i < MASKED; i++) {
        cr_expect_float_eq(fast.model.nll[i], plain.model.nll[i], 1e-5);
        cr_expect_eq(fast.model.best[i], plain.model.best[i]);
    }
    const double *want = doubles(total, plain.model.params.grad);
    cr_expect_leq(support_norm_error(total, fast.model.params.grad, want), 1e-5);
}

Test(heads, agree_with_the_plain_kernels) {
    agree(open_bench(NVDP__OBJECTIVE_MLM_NSP, NVDP_ACTIVATION_GELU, false),
          open_bench(NVDP__OBJECTIVE_MLM_NSP, NVDP_ACTIVATION_GELU, true));
}

Test(heads, agree_with_the_plain_kernels_on_privatized_input) {
    struct bench fast = open_soft(false), plain = open_soft(true);
    give_words(&fast);
    give_words(&plain);
    agree(fast, plain);
}

/* bfloat16 operands round by 2^-9 of a value: gradients agree within 3e-2 of their norm. */
Test(heads, agree_in_bf16) {
    support_bf16(NULL);
    struct nvdp_bert_config config = small(NVDP_ACTIVATION_GELU);
    config.hidden_size = 64;
    config.num_attention_heads = 2;
    config.initializer_range = 0.1;
    float *gradient[2];
    double loss[2];
    size_t total = 0;
    for (int i = 0; i < 2; i++) {
        struct bench b = {.ctx = support_context(), .pass = {.training = true}};
        nvdp_context_set_precision(b.ctx, i == 0 ? NVDP_PRECISION_F32 : NVDP_PRECISION_BF16);
        support_bf16(b.ctx);
        ok(nvdp__pretrain_model_create(b.ctx, &config, NVDP__OBJECTIVE_MLM_NSP, true, &b.model));
        cr_assert_eq(b.model.dev.bf16 != NULL, i == 1);
        nvdp__pretrain_model_initialise(&b.model, 3);
        ok(nvdp__pretrain_model_plan(&b.model, TEXTS, LONGEST, MASKED, NULL));
        ok(nvdp__batch_create(b.ctx, TEXTS, LONGEST, &b.batch));
        ok(nvdp__masked_create(b.ctx, MASKED, &b.masked));
        support_keep_parts(b);
        fill_batch(&b);
        loss[i] = loss_of(&b);
        total = b.model.params.total;
        gradient[i] = copy_of(total, b.model.params.grad);
    }
    const double *want = doubles(total, gradient[0]);
    cr_expect_float_eq(loss[1], loss[0], 1e-2);
    double error = support_norm_error(total, gradient[1], want);
    cr_expect_leq(error, 3e-2, "%g", error);
}

/* Products may write more rows than a block holds. With 1,000 pieces 2,097 rows fit, of which
 * 2,080 are whole blocks of 32; products of 2,097 rows would write 2,112. */
Test(heads, blocks_of_logits_have_room_for_products) {
    support_bf16(NULL);
    struct nvdp_bert_config config = small(NVDP_ACTIVATION_GELU);
    config.hidden_size = 64;
    config.num_attention_heads = 2;
    config.vocab_size = 1000;
    struct bench b = {.ctx = support_context()};
    nvdp_context_set_precision(b.ctx, NVDP_PRECISION_BF16);
    support_bf16(b.ctx);
    ok(nvdp__pretrain_model_create(b.ctx, &config, NVDP__OBJECTIVE_MLM, true, &b.model));
    ok(nvdp__pretrain_model_plan(&b.model, 300, LONGEST, 300 * LONGEST, NULL));
    cr_expect_eq(b.model.heads.block, 2048);
    cr_expect_eq(nvdp__padded_rows(&b.model.dev, b.model.heads.block), b.model.heads.block);
    nvdp__pretrain_model_release(&b.model);
}

/* Blocks of logits change only the order in which the decoder's gradient is summed. */
Test(heads, blocks_change_nothing) {
    struct bench b = open_bench(NVDP__OBJECTIVE_MLM, NVDP_ACTIVATION_GELU, false);
    size_t total = b.model.params.total;
    double loss = loss_of(&b);
    const double *want = doubles(total, b.model.params.grad);
    for (size_t block = 1; block < MASKED; block += 2) {
        b.model.heads.block = block;
        cr_expect_float_eq(loss_of(&b), loss, 1e-6);
        cr_expect_leq(support_norm_error(total, b.model.params.grad, want), 1e-5);
    }
}

/* Without a training pass only the losses are computed, and they are the same. */
Test(heads, evaluation_gives_the_same_losses) {
    struct bench b = open_bench(NVDP__OBJECTIVE_MLM, NVDP_ACTIVATION_GELU, false);
    double loss = loss_of(&b);
    float *gradient = copy_of(b.model.params.total, b.model.params.grad);
    b.pass.training = false;
    cr_expect_float_eq(loss_of(&b), loss, 1e-12);
    cr_expect_eq(memcmp(gradient, b.model.params.grad, b.model.params.total * sizeof *gradient), 0);
    b.masked.count = 0; /* a batch may have nothing to predict */
    b.pass.training = true;
    cr_expect_eq(loss_of(&b), 0);
    cr_expect_eq(dot(b.model.params.total, b.model.params.grad, b.model.params.grad), 0);
}

/* With the masked objective alone the pooler and the next-sentence head get no gradient and no
 * decay. */
Test(heads, what_is_not_trained_is_frozen) {
    struct bench b = open_bench(NVDP__OBJECTIVE_MLM, NVDP_ACTIVATION_GELU, false);
    static const char *const names[] = {"bert.pooler.dense.weight", "bert.pooler.dense.bias",
                                        "cls.seq_relationship.weight", "cls.seq_relationship.bias"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t index = nvdp__params_find(&b.model.params, names[i]);
        cr_assert_neq(index, SIZE_MAX);
        cr_expect(b.model.params.entry[index].flags & NVDP__PARAM_FROZEN, "%s", names[i]);
    }
}
