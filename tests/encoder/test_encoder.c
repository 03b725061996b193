/* The encoder's promises other than its numbers: packing, threads, buffers, dropout, memory. */
#include "encoder.h"

#include "test_context.h"

enum { TEXTS = 5, LONGEST = 13 };
static const size_t lengths[TEXTS] = {4, 13, 1, 7, 2};

static struct encoder *make_of(struct nvdp_bert_config config, bool training, bool keep_hidden,
                               struct nvdp__batch **batch) {
    struct encoder *encoder = encoder_create(&config, 3, training, keep_hidden);
    encoder_randomize(encoder, 0.3, 2);
    encoder_plan(encoder, TEXTS, LONGEST);
    *batch = encoder_batch(encoder, TEXTS, lengths, 9);
    return encoder;
}

static struct encoder *make(bool training, bool keep_hidden, struct nvdp__batch **batch) {
    return make_of(encoder_config(), training, keep_hidden, batch);
}

/* A text's hidden states do not depend on the batch's other texts or on its place. Products of
 * other shapes may add in another order, so the comparison is not bitwise. */
static void alone_and_in_a_batch(struct nvdp_bert_config config) {
    struct nvdp__batch *batch = NULL;
    struct encoder *encoder = make_of(config, false, false, &batch);
    size_t dim = encoder->bert.config.hidden_size;
    encoder_forward(encoder, batch);
    float *all = encoder_last(encoder, batch);
    for (size_t i = 0; i < TEXTS; i++) {
        struct nvdp__batch *one = encoder_one_text(encoder, batch, i);
        encoder_forward(encoder, one);
        float *alone = encoder_last(encoder, one);
        double error =
            encoder_difference(one->tokens * dim, alone, all + (size_t)batch->offset[i] * dim);
        cr_expect_leq(error, 1e-6 * 4, "text %zu: %g", i, error); /* values reach 4 */
    }
}

Test(encoder, a_text_alone_and_in_a_batch) {
    alone_and_in_a_batch(encoder_config());
    alone_and_in_a_batch(encoder_bilstm());
}

Test(encoder, inference_equals_training_bitwise) {
    struct nvdp__batch *same;
    struct nvdp__batch *batch = NULL;
    struct encoder *training = make(true, false, &batch), *inference = make(false, false, &same);
    struct encoder *kept = make(false, true, &same);
    cr_expect_lt(inference->arena.capacity, training->arena.capacity / 2);
    double loss = encoder_forward(training, batch);
    cr_expect_eq(encoder_forward(inference, batch), loss);
    cr_expect_eq(encoder_forward(kept, batch), loss);
    size_t n = batch->tokens * training->bert.config.hidden_size;
    for (size_t i = 0; i <= training->bert.config.num_hidden_layers; i++) {
        float *a = encoder_download(training, n, training->cache.hidden[i]);
        float *b = encoder_download(kept, n, kept->cache.hidden[i]);
        cr_expect_arr_eq(a, b, n * sizeof *a, "hidden state %zu", i);
    }
    float *a = encoder_last(training, batch), *b = encoder_last(inference, batch);
    cr_expect_arr_eq(a, b, n * sizeof *a);
}

/* Compares gradients under several numbers of threads. BLAS may split the sums of a large
 * product differently, hence a tolerance of a few roundings. */
static void threads_agree(struct nvdp_bert_config config) {
    nvdp__autofree float *want = NULL;
    double want_loss = 0;
    for (int threads = 1; threads <= 4; threads++) {
        struct nvdp__batch *batch = NULL;
        struct encoder *encoder = make_of(config, true, false, &batch);
        ok(nvdp_context_set_threads(encoder->ctx, threads));
        encoder->dev = nvdp__device_cpu(encoder->ctx);
        encoder_plan(encoder, TEXTS, LONGEST);
        encoder->pass = (struct nvdp__pass){
            .training = true, .hidden_dropout = 0.1F, .attention_dropout = 0.1F, .seed = 1};
        double loss = encoder_backward(encoder, batch);
        float *got = encoder_download(encoder, encoder->params.total, encoder->params.grad);
        if (want == NULL) {
            want = got;
            want_loss = loss;
        } else {
            cr_expect_leq(fabs(loss - want_loss), 1e-6);
            double error = encoder_difference(encoder->params.total, got, want);
            cr_expect_leq(error, 1e-6, "%d threads: %g", threads, error);
        }
    }
}

Test(encoder, threads) {
    threads_agree(encoder_config());
    threads_agree(encoder_bilstm());
}

/* The plain kernels and the fast ones give the same results. */
Test(encoder, reference_kernels) {
    struct nvdp__batch *batch = NULL, *same = NULL;
    struct encoder *fast = make(true, false, &batch), *plain = make(true, false, &same);
    plain->plain = true;
    encoder_plan(plain, TEXTS, LONGEST);
    struct nvdp__pass pass = {
        .training = true, .hidden_dropout = 0.1F, .attention_dropout = 0.1F, .seed = 1};
    fast->pass = pass;
    plain->pass = pass;
    cr_expect_leq(fabs(encoder_backward(fast, batch) - encoder_backward(plain, batch)), 1e-5);
    float *a = encoder_download(fast, fast->params.total, fast->params.grad);
    float *b = encoder_download(plain, plain->params.total, plain->params.grad);
    double error = encoder_difference(fast->params.total, a, b);
    cr_expect_leq(error, 1e-5, "%g", error);
}

Test(encoder, dropout_follows_seed_step_and_training) {
    struct nvdp__batch *batch = NULL;
    struct encoder *encoder = make(true, false, &batch);
    double plain = encoder_forward(encoder, batch);
    encoder->pass.hidden_dropout = 0.5F;
    encoder->pass.attention_dropout = 0.5F;
    cr_expect_eq(encoder_forward(encoder, batch), plain, "dropout outside training");
    encoder->pass.training = true;
    double first = encoder_forward(encoder, batch);
    cr_expect_neq(first, plain);
    cr_expect_eq(encoder_forward(encoder, batch), first);
    encoder->pass.step = 1;
    cr_expect_neq(encoder_forward(encoder, batch), first);
    encoder->pass.step = 0;
    encoder->pass.seed = 1;
    cr_expect_neq(encoder_forward(encoder, batch), first);
    encoder->pass = (struct nvdp__pass){.training = true, .hidden_dropout = 0.5F};
    cr_expect_neq(encoder_forward(encoder, batch), plain);
    encoder->pass = (struct nvdp__pass){.training = true, .attention_dropout = 0.5F};
    cr_expect_neq(encoder_forward(encoder, batch), plain);
}

/* A pass allocates nothing: the failing allocation set before it is still pending after it. */
static void allocates_nothing(struct nvdp_bert_config config) {
    struct nvdp__batch *batch = NULL;
    struct encoder *encoder = make_of(config, true, false, &batch);
    encoder->pass = (struct nvdp__pass){.training = true, .hidden_dropout = 0.1F};
    nvdp__fail_allocation(encoder->ctx, 1);
    cr_expect(isfinite(encoder_backward(encoder, batch)));
    cr_expect_null(nvdp__calloc(encoder->ctx, 1, 1));
}

Test(encoder, passes_allocate_nothing) {
    allocates_nothing(encoder_config());
    allocates_nothing(encoder_bilstm());
}

/* The names are torch.nn.LSTM's, and the forget gate starts open. */
Test(encoder, parameters_of_a_bilstm) {
    struct nvdp_bert_config config = encoder_bilstm();
    struct encoder *encoder = encoder_create(&config, 0, true, false);
    struct nvdp__params *params = &encoder->params;
    size_t table = config.vocab_size * config.embedding_size;
    cr_expect_eq(nvdp__bert_parameter_count(&config), nvdp__params_trainable(params) + table);
    cr_expect_eq(nvdp__params_frozen(params), params->entry[1].offset);
    encoder->bert.row->initialize(&encoder->bert, &encoder->dev, params, 3);
    static const struct {
        const char *name;
        size_t rows, cols;
    } expected[] = {{"bilstm.embeddings.word_embeddings.weight", 31, 11},
                    {"bilstm.lstm.weight_ih_l0", 20, 11},
                    {"bilstm.lstm.weight_ih_l0_reverse", 20, 11},
                    {"bilstm.lstm.weight_hh_l0", 20, 5},
                    {"bilstm.lstm.weight_hh_l0_reverse", 20, 5},
                    {"bilstm.lstm.bias_ih_l0", 20, 1},
                    {"bilstm.lstm.bias_ih_l0_reverse", 20, 1},
                    {"bilstm.lstm.weight_ih_l1", 20, 10}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        cr_expect_str_eq(params->entry[i].name, expected[i].name);
        cr_expect_eq(params->entry[i].shape[0], expected[i].rows);
        cr_expect_eq(params->entry[i].shape[1], expected[i].cols);
    }
    for (size_t j = 0; j < 20; j++)
        cr_expect_eq(nvdp__value(params, 6)[j], j / 5 == 1 ? 1 : 0);
}

Test(encoder, parameters_names_flags_and_initial_values) {
    struct nvdp_bert_config config = encoder_config();
    struct encoder *encoder = encoder_create(&config, 0, true, false);
    cr_expect_eq(nvdp__bert_parameter_count(&config), nvdp__params_trainable(&encoder->params));
    struct nvdp_bert_config base = nvdp__bert_config_default();
    cr_expect_eq(nvdp__bert_parameter_count(&base), 109482240);
    encoder->bert.row->initialize(&encoder->bert, &encoder->dev, &encoder->params, 3);
    for (size_t i = 0; i < encoder->params.count; i++) {
        const struct nvdp__param *param = &encoder->params.entry[i];
        bool matrix = param->rank == 2;
        bool norm = strstr(param->name, "LayerNorm.weight") != NULL;
        cr_expect_eq((param->flags & NVDP__PARAM_DECAY) != 0, matrix, "%s", param->name);
        cr_expect_eq((param->flags & NVDP__PARAM_OPTIONAL) != 0,
                     strstr(param->name, "pooler") != NULL, "%s", param->name);
        float *value = encoder_download(encoder, param->count, nvdp__value(&encoder->params, i));
        for (size_t k = 0; k < param->count; k++)
            if (matrix)
                cr_assert(fabsf(value[k]) < 6 * 0.02F && value[k] != 0);
            else
                cr_assert_eq(value[k], norm ? 1 : 0);
    }
}

static void runs_out_of_memory(struct nvdp_bert_config config) {
    nvdp_status status = NVDP_ERR_MEMORY;
    for (uint64_t k = 1; status != NVDP_OK; k++) {
        cr_assert_lt(k, 1000);
        nvdp__auto(nvdp__params_release) struct nvdp__params params;
        nvdp__auto(nvdp__bert_release) struct nvdp__bert bert = {0};
        nvdp__auto(nvdp__bert_cache_release) struct nvdp__bert_cache cache = {0};
        nvdp__params_init(&params, ctx);
        nvdp__fail_allocation(ctx, k);
        status = nvdp__bert_declare(&bert, &config, true, &params);
        if (status == NVDP_OK) status = nvdp__params_allocate(&params, true);
        if (status == NVDP_OK)
            status = nvdp__bert_cache_create(ctx, &bert, NVDP__KEEP_TRAINING, &cache);
        cr_assert(status == NVDP_OK || status == NVDP_ERR_MEMORY);
    }
}

Test(encoder, out_of_memory) {
    runs_out_of_memory(encoder_config());
    runs_out_of_memory(encoder_bilstm());
}

Test(encoder, impossible_configurations_are_refused) {
    struct nvdp_bert_config config = encoder_config();
    config.num_attention_heads = 5;
    nvdp__auto(nvdp__params_release) struct nvdp__params params;
    nvdp__auto(nvdp__bert_release) struct nvdp__bert bert = {0};
    nvdp__params_init(&params, ctx);
    cr_expect_eq(nvdp__bert_declare(&bert, &config, true, &params), NVDP_ERR_ARGUMENT);
}
