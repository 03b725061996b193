/* Compares the backward pass with finite differences of the loss, with gelu_new and with
 * dropout: masks depend only on seed and step, so every evaluation has the same ones.
 *
 * A whole tensor moves along a direction u, the gradient's own or a random one: (L(w + h u) -
 * L(w - h u)) / 2h = <gradient, u>. float32 gives the loss to about 1e-7 and the step moves it
 * by about 1e-3, so 1e-4 of the gradient's norm is noise; the cubic term adds as much. */
#include "encoder.h"

static double dot(size_t n, const float *a, const float *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

static double loss_at(struct encoder *encoder, const struct nvdp__batch *batch, size_t index,
                      const float *value, const float *direction, double h) {
    size_t n = encoder->params.entry[index].count;
    nvdp__autofree float *moved = malloc(n * sizeof *moved);
    for (size_t i = 0; i < n; i++)
        moved[i] = (float)(value[i] + h * direction[i]);
    nvdp__upload(&encoder->dev, n, moved, nvdp__value(&encoder->params, index));
    return encoder_forward(encoder, batch);
}

/* Returns |finite difference - <gradient, u>| over the gradient's norm. */
static double check(struct encoder *encoder, const struct nvdp__batch *batch, size_t index,
                    const float *gradient, const float *direction) {
    size_t n = encoder->params.entry[index].count;
    double norm = sqrt(dot(n, gradient, gradient));
    double h = 2e-3 / norm;
    if (h > 0.02) h = 0.02;
    float *value = encoder_download(encoder, n, nvdp__value(&encoder->params, index));
    double above = loss_at(encoder, batch, index, value, direction, h);
    double below = loss_at(encoder, batch, index, value, direction, -h);
    nvdp__upload(&encoder->dev, n, value, nvdp__value(&encoder->params, index));
    double error = fabs((above - below) / (2 * h) - dot(n, gradient, direction));
    /* A key's bias has no gradient, so the loss must not move. */
    return norm < 1e-6 ? error : error / norm;
}

static double check_tensor(struct encoder *encoder, const struct nvdp__batch *batch, size_t index) {
    size_t n = encoder->params.entry[index].count;
    float *gradient = encoder_download(encoder, n, nvdp__grad(&encoder->params, index));
    nvdp__autofree float *direction = malloc(n * sizeof *direction);
    double norm = sqrt(dot(n, gradient, gradient));
    double worst = 0;
    if (norm >= 1e-6) {
        for (size_t i = 0; i < n; i++)
            direction[i] = (float)(gradient[i] / norm);
        worst = check(encoder, batch, index, gradient, direction);
    }
    struct nvdp__noise noise = {.seed = 5};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, index);
    nvdp__stream_normals(&stream, n, direction);
    double length = sqrt(dot(n, direction, direction));
    for (size_t i = 0; i < n; i++)
        direction[i] = (float)(direction[i] / length);
    worst = fmax(worst, check(encoder, batch, index, gradient, direction));
    return worst;
}

static void check_all(const struct nvdp_bert_config *config, const struct nvdp__pass *pass) {
    struct encoder *encoder = encoder_create(config, 3, true, false);
    size_t lengths[] = {5, 1, 9, 4};
    struct nvdp__batch *batch = encoder_batch(encoder, 4, lengths, 11);
    encoder_randomize(encoder, 0.3, 7);
    encoder_plan(encoder, 4, 9);
    encoder->pass = *pass;
    encoder_backward(encoder, batch);
    double worst = 0;
    for (size_t i = 0; i < encoder->params.count; i++) {
        if (encoder->params.entry[i].flags & NVDP__PARAM_FROZEN) continue;
        double error = check_tensor(encoder, batch, i);
        cr_expect_leq(error, 2e-3, "%s: error %g", encoder->params.entry[i].name, error);
        worst = fmax(worst, error);
    }
    cr_log_info("worst finite difference %g", worst);
}

static const struct nvdp__pass training = {.training = true};
static const struct nvdp__pass dropping = {
    .training = true, .hidden_dropout = 0.2F, .attention_dropout = 0.3F, .seed = 3, .step = 4};

Test(gradient, gelu_new_with_dropout) {
    struct nvdp_bert_config config = encoder_config();
    config.hidden_act = NVDP_ACTIVATION_GELU_NEW;
    check_all(&config, &dropping);
}

/* ReLU has no derivative at 0, so finite differences of a loss miss it; test_elementwise.c has its slope. */
Test(gradient, silu_and_quick_gelu) {
    static const enum nvdp_activation acts[] = {NVDP_ACTIVATION_SILU, NVDP_ACTIVATION_QUICK_GELU};
    for (size_t i = 0; i < 2; i++) {
        struct nvdp_bert_config config = encoder_config();
        config.hidden_act = acts[i];
        check_all(&config, &training);
    }
}

Test(gradient, gelu_without_dropout) {
    struct nvdp_bert_config config = encoder_config();
    check_all(&config, &training);
}

/* Every row of the table. */
Test(gradient, relatives_of_bert) {
    for (int type = -1; (type = encoder_next_type(type)) >= 0;) {
        struct nvdp_bert_config config =
            encoder_of_type((enum nvdp_model_type)type, encoder_config());
        check_all(&config, &training);
        check_all(&config, &dropping);
    }
}

/* Windows of 2 tokens on either side, in every second layer. */
Test(gradient, modernbert) {
    struct nvdp_bert_config config = encoder_of_type(NVDP_MODEL_MODERNBERT, encoder_config());
    config.local_attention = 4;
    config.num_hidden_layers = 3;
    config.global_attn_every_n_layers = 2;
    check_all(&config, &training);
    config.norm_bias = config.attention_bias = config.mlp_bias = config.classifier_bias = true;
    config.classifier_mean = true;
    check_all(&config, &dropping);
    for (int act = NVDP_ACTIVATION_SILU; act <= NVDP_ACTIVATION_QUICK_GELU; act++) {
        config.hidden_act = (enum nvdp_activation)act;
        check_all(&config, &dropping);
    }
}

/* Backward replaces given word vectors by their gradient. */
static void check_given_words(struct nvdp_bert_config config) {
    struct encoder *encoder = encoder_create(&config, 3, true, false);
    const size_t lengths[] = {5, 1, 9, 4};
    struct nvdp__batch *batch = encoder_batch(encoder, 4, lengths, 11);
    const size_t n = batch->tokens * nvdp__word_width(&config);
    nvdp__autofree float *given = malloc(n * sizeof *given), *moved = malloc(n * sizeof *moved);
    const struct nvdp__noise noise = {.seed = 6};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, 0);
    cr_assert(given != NULL && moved != NULL);
    nvdp__stream_normals(&stream, n, given);
    encoder_randomize(encoder, 0.3, 7);
    encoder_plan(encoder, 4, 9);
    encoder->pass = (struct nvdp__pass){.training = true, .hidden_dropout = 0.2F, .seed = 3};
    batch->words = given;
    encoder_backward(encoder, batch);
    float *gradient = encoder_download(encoder, n, encoder->d_last);
    const double norm = sqrt(dot(n, gradient, gradient)), h = fmin(2e-3 / norm, .02);
    double side[2];
    batch->words = moved;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < n; i++)
            moved[i] = (float)(given[i] + (k == 0 ? h : -h) * gradient[i] / norm);
        side[k] = encoder_forward(encoder, batch);
    }
    cr_expect_gt(norm, 1e-3);
    near((side[0] - side[1]) / (2 * h) / norm, 1, 2e-3);
}

/* Given vectors of tokens with a negative id beside the table's rows: the slopes along the gradient of the given rows,
 * and along that of the table. */
static void check_mixed_words(struct nvdp_bert_config config) {
    struct encoder *encoder = encoder_create(&config, 3, true, false);
    const size_t lengths[] = {5, 1, 9, 4}, width = nvdp__word_width(&config);
    struct nvdp__batch *batch = encoder_batch(encoder, 4, lengths, 11);
    const size_t n = batch->tokens * width;
    const size_t rows = encoder->params.entry[encoder->bert.word].count;
    nvdp__autofree float *given = malloc(n * sizeof *given), *moved = malloc(n * sizeof *moved);
    float *table = nvdp__value(&encoder->params, encoder->bert.word);
    const struct nvdp__noise noise = {.seed = 6};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, 0);
    cr_assert(given != NULL && moved != NULL);
    nvdp__stream_normals(&stream, n, given);
    encoder_randomize(encoder, 0.3, 7);
    encoder_plan(encoder, 4, 9);
    encoder->pass = (struct nvdp__pass){.training = true, .hidden_dropout = 0.2F, .seed = 3};
    for (size_t r = 0; r < batch->tokens; r += 3)
        batch->ids[r] = -1;
    batch->mixed = true;
    batch->words = given;
    encoder_backward(encoder, batch);
    float *gradient = encoder_download(encoder, n, encoder->d_last);
    float *slope =
        encoder_download(encoder, rows, nvdp__grad(&encoder->params, encoder->bert.word));
    float *kept = encoder_download(encoder, rows, table);
    for (size_t i = 0; i < n; i++)
        if (batch->ids[i / width] >= 0) gradient[i] = 0;
    for (int of_table = 0; of_table < 2; of_table++) {
        const float *along = of_table ? slope : gradient;
        const size_t count = of_table ? rows : n;
        const double norm = sqrt(dot(count, along, along)), h = fmin(2e-3 / norm, .02);
        double side[2];
        batch->words = moved;
        for (int k = 0; k < 2; k++) {
            const double step = (k == 0 ? h : -h) / norm;
            for (size_t i = 0; i < n; i++)
                moved[i] = of_table ? given[i] : (float)(given[i] + step * along[i]);
            for (size_t i = 0; i < rows; i++)
                table[i] = of_table ? (float)(kept[i] + step * along[i]) : kept[i];
            nvdp__weights_changed(&encoder->dev);
            side[k] = encoder_forward(encoder, batch);
        }
        cr_expect_gt(norm, 1e-3);
        near((side[0] - side[1]) / (2 * h) / norm, 1, 2e-3, "%d", of_table);
    }
}

Test(gradient, of_mixed_words) {
    check_mixed_words(encoder_config());
    check_mixed_words(encoder_of_type(NVDP_MODEL_ELECTRA, encoder_config()));
}

Test(gradient, of_given_words) {
    check_given_words(encoder_config());
    check_given_words(encoder_of_type(NVDP_MODEL_ELECTRA, encoder_config()));
    check_given_words(encoder_of_type(NVDP_MODEL_MODERNBERT, encoder_config()));
}

Test(gradient, bilstm_with_dropout) {
    struct nvdp_bert_config config = encoder_bilstm();
    struct nvdp__pass pass = {.training = true, .hidden_dropout = 0.2F, .seed = 3, .step = 4};
    check_all(&config, &pass);
}

/* The memory of the table's gradient keeps its contents; the other gradients equal those without
 * it. */
static void table_has_no_gradient(struct nvdp_bert_config config) {
    struct encoder *encoder = encoder_create(&config, 3, true, false);
    size_t lengths[] = {5, 7};
    struct nvdp__batch *batch = encoder_batch(encoder, 2, lengths, 1);
    size_t table = encoder->bert.word, n = encoder->params.entry[table].count;
    encoder_randomize(encoder, 0.3, 7);
    encoder_plan(encoder, 2, 7);
    encoder_backward(encoder, batch);
    float *want = encoder_download(encoder, encoder->params.total, encoder->params.grad);
    encoder->params.entry[table].flags |= (unsigned)NVDP__PARAM_FROZEN;
    cr_assert_null(nvdp__grad(&encoder->params, table));
    float *grad = encoder->params.grad + encoder->params.entry[table].offset;
    for (size_t i = 0; i < n; i++)
        grad[i] = 3;
    nvdp__zero(&encoder->dev, encoder->params.total - n,
               grad + n); /* the table is the first tensor */
    encoder_add_backward(encoder, batch);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(grad[i], 3);
    cr_expect_arr_eq(grad + n, want + n, (encoder->params.total - n) * sizeof *grad);
}

Test(gradient, of_a_frozen_table_is_never_formed) {
    table_has_no_gradient(encoder_config());
    table_has_no_gradient(encoder_bilstm());
    table_has_no_gradient(encoder_of_type(NVDP_MODEL_MPNET, encoder_config()));
}

/* Over two passes the gradients of layers' matrices are set, and all others are added. */
Test(gradient, sets_matrices_and_adds_to_the_rest) {
    struct nvdp_bert_config config = encoder_config();
    struct encoder *encoder = encoder_create(&config, 3, true, false);
    size_t lengths[] = {5, 7};
    struct nvdp__batch *batch = encoder_batch(encoder, 2, lengths, 1);
    encoder_randomize(encoder, 0.3, 7);
    encoder_plan(encoder, 2, 7);
    encoder_backward(encoder, batch);
    size_t total = encoder->params.total;
    float *once = encoder_download(encoder, total, encoder->params.grad);
    encoder_add_backward(encoder, batch);
    float *twice = encoder_download(encoder, total, encoder->params.grad);
    size_t set = 0;
    for (size_t i = 0; i < encoder->params.count; i++) {
        const struct nvdp__param *tensor = &encoder->params.entry[i];
        double times = tensor->flags & NVDP__PARAM_SET ? 1 : 2;
        set += times == 1;
        for (size_t at = tensor->offset; at < tensor->offset + tensor->count; at++)
            cr_assert_leq(fabs(twice[at] - times * once[at]), 1e-5 * fmax(1, fabs(once[at])), "%s",
                          tensor->name);
    }
    cr_assert_eq(set, 6 * config.num_hidden_layers);
}
