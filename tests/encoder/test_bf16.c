/* Compares the encoder with bfloat16 products with the same encoder in float32. */
#include "encoder.h"

enum { TEXTS = 5, LONGEST = 150 };

/* Heads of 32, more keys than a block of queries, and lengths that are multiples of no block. */
static struct nvdp_bert_config bf16_config(void) {
    struct nvdp_bert_config config = encoder_config();
    config.hidden_size = 96;
    config.num_attention_heads = 3;
    config.intermediate_size = 160;
    config.num_hidden_layers = 3;
    config.max_position_embeddings = LONGEST;
    return config;
}

static struct encoder *encoder_with_batch(enum nvdp_precision precision, bool training,
                                          const struct nvdp_bert_config *config,
                                          struct nvdp__batch **batch) {
    static const size_t lengths[TEXTS] = {LONGEST, 1, 33, 2, 77};
    struct encoder *encoder = encoder_create_in(precision, config, 3, training, false);
    *batch = encoder_batch(encoder, TEXTS, lengths, 11);
    encoder_randomize(encoder, 0.1, 7);
    encoder_plan(encoder, TEXTS, LONGEST);
    nvdp__weights_changed(&encoder->dev);
    return encoder;
}

static double norm(size_t n, const float *x, const float *y) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += pow((double)x[i] - (y != NULL ? y[i] : 0), 2);
    return sqrt(sum);
}

/* Returns the largest |bf16 - f32| / |f32| over the tensors. One rounding to bfloat16 changes a
 * value by at most 2^-8 = .004; a gradient of the first layer carries those of six products per
 * layer. A key's bias has no gradient (softmax ignores it), only rounding. */
static double worst_gradient(const struct nvdp_bert_config *config, const struct nvdp__pass *pass,
                             bool plain) {
    struct nvdp__batch *batch[2];
    struct encoder *encoder[2];
    float *grad[2];
    double loss[2];
    for (int i = 0; i < 2; i++) {
        encoder[i] = encoder_with_batch(i == 0 ? NVDP_PRECISION_F32 : NVDP_PRECISION_BF16, true,
                                        config, &batch[i]);
        encoder[i]->pass = *pass;
        if (i == 1 && plain) encoder[i]->dev.unit = NVDP__BF16_PLAIN;
        loss[i] = encoder_backward(encoder[i], batch[i]);
        grad[i] = encoder_download(encoder[i], encoder[i]->params.total, encoder[i]->params.grad);
        ok(nvdp__device_status(&encoder[i]->dev));
    }
    cr_assert_not_null(encoder[1]->dev.bf16);
    cr_assert_leq(fabs(loss[0] - loss[1]), 1e-2 * fabs(loss[0]));
    double worst = 0;
    const char *key = encoder[0]->bert.row->names.key;
    for (size_t t = 0; t < encoder[0]->params.count; t++) {
        const struct nvdp__param *tensor = &encoder[0]->params.entry[t];
        if (strcmp(strrchr(tensor->name, '.'), ".bias") == 0 && key != NULL &&
            strstr(tensor->name, key) != NULL)
            continue;
        double size = norm(tensor->count, grad[0] + tensor->offset, NULL);
        double error = norm(tensor->count, grad[0] + tensor->offset, grad[1] + tensor->offset);
        cr_expect_leq(error, 3e-2 * size, "%s: relative error %g", tensor->name, error / size);
        worst = fmax(worst, error / size);
    }
    return worst;
}

Test(bf16, gradients) {
    support_bf16(NULL);
    struct nvdp_bert_config config = bf16_config();
    struct nvdp__pass pass = {.training = true};
    for (int plain = 0; plain < 2; plain++) { /* with the processor's products, and in plain C */
        double worst = worst_gradient(&config, &pass, plain == 1);
        cr_assert_gt(worst, 1e-5, "bfloat16 was not used");
    }
}

Test(bf16, gradients_with_other_activations) {
    support_bf16(NULL);
    struct nvdp_bert_config config = bf16_config();
    struct nvdp__pass pass = {.training = true};
    for (int act = NVDP_ACTIVATION_SILU; act <= NVDP_ACTIVATION_QUICK_GELU; act++) {
        config.hidden_act = (enum nvdp_activation)act;
        for (int plain = 0; plain < 2; plain++)
            worst_gradient(&config, &pass, plain == 1);
    }
}

/* Covers every row of the table that claims bfloat16. */
Test(bf16, gradients_of_relatives) {
    support_bf16(NULL);
    for (int type = -1; (type = encoder_next_type(type)) >= 0;) {
        struct nvdp__pass pass = {.training = true, .attention_dropout = 0.1F, .seed = 3};
        struct nvdp_bert_config config = encoder_of_type((enum nvdp_model_type)type, bf16_config());
        if (!nvdp__encoders[type]->bf16) continue;
        cr_expect_gt(worst_gradient(&config, &pass, false), 1e-5, "%s: bfloat16 was not used",
                     nvdp__encoders[type]->title);
    }
}

Test(bf16, gradients_of_modernbert) {
    support_bf16(NULL);
    struct nvdp_bert_config config = encoder_of_type(NVDP_MODEL_MODERNBERT, bf16_config());
    struct nvdp__pass pass = {
        .training = true, .hidden_dropout = 0.2F, .attention_dropout = 0.3F, .seed = 3, .step = 4};
    config.norm_bias = config.attention_bias = config.mlp_bias = config.classifier_bias = true;
    config.hidden_act = NVDP_ACTIVATION_SILU;
    config.local_attention = 80;
    worst_gradient(&config, &pass, true);
}

/* The masks are the same in both precisions, so the gradients agree. */
Test(bf16, gradients_with_dropout_and_gelu_new) {
    support_bf16(NULL);
    struct nvdp_bert_config config = bf16_config();
    config.hidden_act = NVDP_ACTIVATION_GELU_NEW;
    struct nvdp__pass pass = {
        .training = true, .hidden_dropout = 0.2F, .attention_dropout = 0.3F, .seed = 3, .step = 4};
    for (int plain = 0; plain < 2; plain++)
        worst_gradient(&config, &pass, plain == 1);
}

/* Training and inference store their activations differently; the hidden states have the same
 * bits. */
static void inference_equals_training(struct nvdp_bert_config config) {
    struct nvdp__batch *batch[2];
    struct encoder *encoder[2];
    float *last[2];
    for (int i = 0; i < 2; i++) {
        encoder[i] = encoder_with_batch(NVDP_PRECISION_BF16, i == 1, &config, &batch[i]);
        encoder_forward(encoder[i], batch[i]);
        last[i] = encoder_last(encoder[i], batch[i]);
    }
    size_t n = batch[0]->tokens * config.hidden_size;
    cr_assert_eq(memcmp(last[0], last[1], n * sizeof *last[0]), 0);
}

Test(bf16, inference_equals_training) {
    support_bf16(NULL);
    inference_equals_training(bf16_config());
    inference_equals_training(encoder_of_type(NVDP_MODEL_MODERNBERT, bf16_config()));
}

/* The rows that fill whole blocks must not affect results: a text has the same states alone and
 * in a batch. */
static void a_text_alone(struct nvdp_bert_config config) {
    struct nvdp__batch *batch = NULL;
    struct encoder *encoder = encoder_with_batch(NVDP_PRECISION_BF16, false, &config, &batch);
    encoder_forward(encoder, batch);
    float *together = encoder_last(encoder, batch);
    size_t dim = config.hidden_size;
    for (size_t t = 0; t < TEXTS; t++) {
        struct nvdp__batch *one = encoder_one_text(encoder, batch, t);
        encoder_forward(encoder, one);
        float *alone = encoder_last(encoder, one);
        const float *expected = together + (size_t)batch->offset[t] * dim;
        /* Sums of products may be split differently for another number of rows. */
        double error = norm(one->tokens * dim, alone, expected);
        cr_assert_leq(error, 1e-2 * norm(one->tokens * dim, expected, NULL), "text %zu", t);
    }
}

Test(bf16, a_text_alone) {
    support_bf16(NULL);
    a_text_alone(bf16_config());
    a_text_alone(encoder_of_type(NVDP_MODEL_MODERNBERT, bf16_config()));
}

/* Weights that change between passes are used, not the earlier copy. */
Test(bf16, changed_weights_are_packed_again) {
    support_bf16(NULL);
    struct nvdp_bert_config config = bf16_config();
    struct nvdp__batch *batch = NULL;
    struct encoder *encoder = encoder_with_batch(NVDP_PRECISION_BF16, false, &config, &batch);
    double before = encoder_forward(encoder, batch);
    encoder_randomize(encoder, 0.2, 8);
    nvdp__weights_changed(&encoder->dev);
    double after = encoder_forward(encoder, batch);
    cr_assert_neq(before, after);
    encoder_randomize(encoder, 0.1, 7);
    nvdp__weights_changed(&encoder->dev);
    cr_assert_eq(encoder_forward(encoder, batch), before);
}

/* A checkpoint read between passes is such a change, as after the last epoch of training. */
Test(bf16, a_loaded_checkpoint_is_packed_again) {
    support_bf16(NULL);
    struct nvdp_bert_config config = bf16_config();
    struct nvdp__batch *batch[2];
    struct encoder *encoder[2];
    double loss[2];
    for (int i = 0; i < 2; i++) {
        encoder[i] = encoder_with_batch(NVDP_PRECISION_BF16, false, &config, &batch[i]);
        if (i == 0) {
            encoder_randomize(encoder[i], 0.2, 9);
            ok(nvdp__checkpoint_save(&encoder[i]->dev, support_scratch(), &encoder[i]->params));
        }
        cr_assert_neq(encoder_forward(encoder[i], batch[i]),
                      0); /* the second packs its own weights */
        ok(nvdp__checkpoint_load(&encoder[i]->dev, support_scratch(), &encoder[i]->params));
        loss[i] = encoder_forward(encoder[i], batch[i]);
    }
    cr_assert_eq(loss[0], loss[1], "expected %.9g, found %.9g", loss[0], loss[1]);
}

/* Heads of an unsuitable width are computed in float32. */
Test(bf16, heads_of_odd_width_fall_back) {
    struct nvdp_bert_config config = encoder_config();
    struct encoder *encoder = encoder_create_in(NVDP_PRECISION_BF16, &config, 3, false, false);
    cr_assert_null(encoder->dev.bf16);
}
