/* Compares the encoder with int8 products with the same encoder in float32. */
#include "encoder.h"
#include "tensor/bf16.h"
#include "tensor/int8.h"

enum { TEXTS = 4, LONGEST = 90 };
static const size_t lengths[TEXTS] = {LONGEST, 1, 33, 70};

static struct encoder *encoder_of(enum nvdp_model_type type, enum nvdp_activation act,
                                  enum nvdp_precision precision, size_t heads) {
    struct nvdp_bert_config config = encoder_config();
    config.hidden_size = 96;
    config.num_attention_heads = heads;
    config.intermediate_size = 160;
    config.num_hidden_layers = 3;
    config.max_position_embeddings = LONGEST;
    config.hidden_act = act;
    config = encoder_of_type(type, config);
    if (nvdp__int8_missing() != NULL) cr_skip_test("%s", nvdp__int8_missing());
    struct encoder *encoder = encoder_create_in(precision, &config, 3, false, false);
    encoder_randomize(encoder, 0.1, 7);
    encoder_plan(encoder, TEXTS, LONGEST);
    nvdp__weights_changed(&encoder->dev);
    return encoder;
}

static struct encoder *encoder_in(enum nvdp_precision precision, size_t heads) {
    return encoder_of(NVDP_MODEL_BERT, NVDP_ACTIVATION_GELU, precision, heads);
}

static float *states(struct encoder *encoder, const struct nvdp__batch *batch) {
    encoder_forward(encoder, batch);
    return encoder_last(encoder, batch);
}

/* Each product has an error of about 1 % of its size (steps of 1/127 of the largest weight,
 * 1/255 of a row's range). Three layers have twelve in sequence, and softmax and LayerNorm of
 * random weights enlarge their errors: .09 to .13 in all. A wrong scale gives 1. */
static void check(enum nvdp_model_type type, enum nvdp_activation act, size_t heads, bool bf16) {
    struct encoder *encoder[2];
    float *last[2];
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        encoder[i] =
            encoder_of(type, act, i == 0 ? NVDP_PRECISION_F32 : NVDP_PRECISION_INT8, heads);
        struct nvdp__batch *batch = encoder_batch(encoder[i], TEXTS, lengths, 11);
        last[i] = states(encoder[i], batch);
        n = batch->tokens * encoder[i]->bert.config.hidden_size;
        ok(nvdp__device_status(&encoder[i]->dev));
    }
    cr_assert_not_null(encoder[1]->dev.int8);
    cr_expect_eq(encoder[1]->dev.bf16 != NULL, bf16);
    double error = 0, size = 0;
    for (size_t k = 0; k < n; k++) {
        error += pow((double)last[1][k] - (double)last[0][k], 2);
        size += pow((double)last[0][k], 2);
    }
    cr_expect_gt(size, 0);
    cr_expect_leq(error, pow(2e-1, 2) * size, "relative error %g", sqrt(error / size));
    cr_expect_geq(error, pow(1e-4, 2) * size, "nothing was rounded");
}

Test(int8, hidden_states_are_close) {
    for (int act = NVDP_ACTIVATION_GELU; act <= NVDP_ACTIVATION_QUICK_GELU; act++)
        check(NVDP_MODEL_BERT, (enum nvdp_activation)act, 3, nvdp__bf16_missing(false) == NULL);
}

Test(int8, heads_that_bf16_does_not_take) {
    check(NVDP_MODEL_BERT, NVDP_ACTIVATION_GELU, 4, false);
}

/* Every row of the table. */
Test(int8, relatives_of_bert) {
    for (int type = -1; (type = encoder_next_type(type)) >= 0;)
        check((enum nvdp_model_type)type, NVDP_ACTIVATION_GELU, 3,
              nvdp__encoders[type]->bf16 && nvdp__bf16_missing(false) == NULL);
}

/* Sums of integers are exact, and attention reads only its own text. */
Test(int8, a_text_is_the_same_in_every_batch) {
    struct encoder *encoder = encoder_in(NVDP_PRECISION_INT8, 3);
    struct nvdp__batch *batch = encoder_batch(encoder, TEXTS, lengths, 11);
    size_t dim = encoder->bert.config.hidden_size;
    float *all = states(encoder, batch);
    for (size_t i = 0; i < TEXTS; i++) {
        struct nvdp__batch *one = encoder_one_text(encoder, batch, i);
        float *alone = states(encoder, one);
        cr_expect_arr_eq(alone, all + (size_t)batch->offset[i] * dim,
                         lengths[i] * dim * sizeof *alone);
    }
}
