/* Tests per-example gradients: norms and weighted sums must equal those of texts that are run
 * alone. */
#include "model_test.h"
#include "tensor/per_example.h"

enum { PIECES = 17, LAYERS = 2, TEXTS = 7, LONGEST = 40, WIDTH = 32 };

struct choice {
    enum nvdp_method method;
    size_t latent_dim;
    enum nvdp_pool pool;
    enum nvdp_length_policy policy;
    int kappa;
    double clip_sequence;
    enum nvdp__vtdp_pool vtdp_pool;
    enum nvdp_precision precision;
    enum nvdp_activation act;
    bool regression, tags, bilstm, words_stay, biases;
    enum nvdp_model_type type; /* with word embeddings narrower than the states, if it can */
};

struct fixture {
    struct nvdp_context *ctx;
    struct nvdp_model *model;
    struct nvdp__batch *batch, *one;
    struct nvdp__per_example *examples;
};

static struct fixture open_fixture(const struct choice *choice) {
    struct fixture fixture = {.ctx = support_context()};
    struct nvdp__model_info info = {
        .method = choice->method, .max_length = LONGEST, .outputs = choice->regression ? 1 : 3};
    info.bert = nvdp__bert_config_default();
    info.bert.hidden_size = WIDTH;
    info.bert.num_hidden_layers = LAYERS;
    info.bert.num_attention_heads = choice->precision == NVDP_PRECISION_BF16 ? 1 : 2;
    info.bert.intermediate_size = 3 * WIDTH;
    info.bert.vocab_size = PIECES;
    info.bert.max_position_embeddings = LONGEST;
    info.bert.initializer_range = 0.3;
    info.bert.hidden_act = choice->act;
    info.bert.model_type = choice->type;
    info.bert.embedding_size = WIDTH - 5;
    info.bert.pad_token_id = nvdp__encoder_row(choice->type)->pad_token_id % PIECES;
    info.bert.local_attention = 9;
    info.bert.norm_bias = info.bert.attention_bias = info.bert.mlp_bias = choice->biases;
    info.bert.classifier_bias = info.bert.classifier_mean = choice->biases;
    if (choice->bilstm)
        info.bert = nvdp__encoder_find("bilstm")->over_words(
            &info.bert, &(struct nvdp__over_words){.units = WIDTH / 2 - 3});
    const struct nvdp__method *method = nvdp__method_row(choice->method);
    if (method->encoder != NULL)
        info.bert = nvdp__encoder_find(method->encoder)
                        ->over_words(&info.bert, &(struct nvdp__over_words){0});
    info.nvib = nvdp__nvib_config_default();
    info.nvib.length = LONGEST;
    if (method->words) info.nvib.clip.word = 0.3;
    info.nvib.length_policy = choice->policy;
    info.nvib.latent_dim = choice->latent_dim;
    info.nvib.pool = choice->pool;
    info.nvib.kappa = choice->kappa > 0 ? choice->kappa : 1;
    info.nvib.vib.vtdp_pool = choice->vtdp_pool;
    info.nvib.alpha_tau = 0;
    if (choice->clip_sequence > 0) {
        info.nvib.clip.sequence = choice->clip_sequence;
        info.nvib.weights = NVDP__WEIGHTS_CONSTANT;
        info.nvib.row_index = NVDP__ROW_INDEX_TRAINED;
        info.nvib.stdev_tau = 1;
    }
    ok(nvdp__method_resolve(fixture.ctx, info.method, &info.bert, &info.nvib));
    info.task.classes = 3;
    info.task.regression = choice->regression;
    info.task.tags = choice->tags;
    nvdp_context_set_precision(fixture.ctx, choice->precision);
    nvdp__allow_plain_bf16(fixture.ctx);
    ok(nvdp__model_build(fixture.ctx, &info, true, &fixture.model));
    struct nvdp_model *model = fixture.model;
    for (size_t i = 0; i < model->params.count; i++) {
        const char *name = model->params.entry[i].name;
        bool gain = strcasestr(name, "norm.weight") != NULL || strstr(name, ".gain") != NULL;
        nvdp__params_normal(&model->dev, &model->params, i, 0.25, 3);
        float *value = nvdp__value(&model->params, i);
        for (size_t k = 0; k < model->params.entry[i].count && gain; k++)
            value[k] += 1;
    }
    if (choice->words_stay) nvdp__model_freeze_words(model);
    model->per_example = true;
    ok(nvdp__model_plan(model, TEXTS, LONGEST, true));
    ok(nvdp__model_per_example(model, TEXTS, &fixture.examples));
    ok(nvdp__batch_create(fixture.ctx, TEXTS, LONGEST, &fixture.batch));
    ok(nvdp__batch_create(fixture.ctx, 1, LONGEST, &fixture.one));
    support_keep_parts(fixture);
    return fixture;
}

/* Fills the batch with texts [first, first + texts) of 1 to LONGEST tokens. Ids repeat, so both
 * ways to compute a norm are used (WIDTH x WIDTH: products of single rows up to 16). */
static void fill(struct nvdp__batch *batch, size_t first, size_t texts, bool scores) {
    static const int32_t lengths[TEXTS] = {5, 1, LONGEST, 12, 30, 2, 17};
    int32_t used = 0;
    batch->longest = batch->tagged = 0;
    for (size_t i = 0; i < texts; i++) {
        size_t key = first + i;
        int32_t tokens = lengths[key];
        batch->offset[i] = used;
        for (int32_t t = 0; t < tokens; t++) {
            batch->ids[used + t] = (int32_t)((key * 11 + (size_t)t * t) % PIECES);
            batch->types[used + t] = t > tokens / 2;
            batch->positions[used + t] = t;
            if (t % 3 != 1) continue;
            batch->tag_row[batch->tagged] = used + t; /* a text of one token has no word */
            batch->tag[batch->tagged++] = (float)((key + (size_t)t) % 3);
        }
        batch->tag_offset[i + 1] = (int32_t)batch->tagged;
        batch->label[i] =
            (float)(key % 3) + (scores ? 5 : 0); /* far from the outputs of random weights */
        batch->key[i] = key;
        used += tokens;
        if ((size_t)tokens > batch->longest) batch->longest = (size_t)tokens;
    }
    batch->offset[texts] = used;
    batch->texts = texts;
    batch->tokens = (size_t)used;
}

/* Runs a forward and backward pass, including the regularizers' gradients. */
static void pass(struct fixture *fixture, const struct nvdp__batch *batch) {
    struct nvdp_model *model = fixture->model;
    struct nvdp__pass pass = {.training = true, .divisor = 4};
    struct nvdp__draw draw = {
        .noise = {.seed = 9}, .gauss = NVDP__PURPOSE_GAUSS, .gamma = NVDP__PURPOSE_GAMMA};
    struct nvdp__step_losses losses;
    nvdp__grad_begin(&model->dev, &model->params);
    nvdp__zero(&model->dev, model->params.total, model->params.grad);
    ok(nvdp__model_forward(model, batch, &pass, &draw, 0));
    ok(nvdp__model_backward(model, batch, &pass, 1e-2, 1e-2, 0, &losses));
}

static void examples_pass(struct fixture *fixture, double *square, double *norm) {
    struct nvdp_model *model = fixture->model;
    model->dev.per_example = fixture->examples;
    nvdp__per_example_begin(fixture->examples, TEXTS);
    pass(fixture, fixture->batch);
    ok(nvdp__per_example_norms(&model->dev, square, norm));
}

static void add(struct fixture *fixture, const float *weight) {
    nvdp__per_example_add(&fixture->model->dev, weight, true);
    fixture->model->dev.per_example = NULL;
}

static double sum_squares(size_t n, const float *x) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

/* Returns the end of the tensors that operations treat as one: a layer's weight and bias, or
 * query, key and value. */
static size_t group_end(const struct nvdp__params *params, size_t first) {
    size_t end = first + 1;
    const char *name = params->entry[first].name;
    bool lstm =
        strstr(name, ".lstm.") != NULL; /* each matrix; both directions where they are joined */
    size_t stem = (size_t)(strrchr(name, '.') - name);
    while (end < params->count &&
           ((params->entry[end].flags & NVDP__PARAM_JOINED) != 0 ||
            strstr(params->entry[end].name, "query.bias") != NULL ||
            (!lstm && strncmp(params->entry[end].name, name, stem + 1) == 0)))
        end++;
    return end;
}

static void norms_agree(const struct choice *choice) {
    struct fixture fixture = open_fixture(choice);
    /* float32 in another order, which depends on the processor. In bfloat16 such a difference can
     * round one activation to its other neighbor, 2^-8 away. */
    const double tolerance = choice->precision == NVDP_PRECISION_BF16 ? 1e-3 : 2e-5;
    const struct nvdp__params *params = &fixture.model->params;
    double square[TEXTS], norm[TEXTS], floor[TEXTS], total[TEXTS] = {0};
    float *alone[TEXTS];
    fill(fixture.batch, 0, TEXTS, choice->regression);
    for (size_t i = 0; i < TEXTS; i++) {
        fill(fixture.one, i, 1, choice->regression);
        pass(&fixture, fixture.one);
        alone[i] = support_keep(malloc(params->total * sizeof(float)));
        memcpy(alone[i], params->grad, params->total * sizeof(float));
        floor[i] = tolerance / 10 * sqrt(sum_squares(params->total, alone[i]));
    }
    size_t word = choice->words_stay ? fixture.model->bert.word : SIZE_MAX;
    for (size_t first = 0; first < params->count;) { /* only this group is trained */
        size_t end = group_end(params, first);
        for (size_t i = 0; i < params->count; i++)
            params->entry[i].flags |= (unsigned)NVDP__PARAM_FROZEN;
        for (size_t i = first; i < end; i++)
            if (i != word) params->entry[i].flags &= ~(unsigned)NVDP__PARAM_FROZEN;
        examples_pass(&fixture, square, norm);
        fixture.model->dev.per_example = NULL;
        for (size_t t = 0; t < TEXTS; t++) {
            double want = 0;
            for (size_t i = first; i < end; i++)
                want += sum_squares(params->entry[i].count, alone[t] + params->entry[i].offset);
            total[t] += square[t];
            /* gradients that are only rounding stay below the floor */
            cr_expect_leq(fabs(sqrt(square[t]) - sqrt(want)), tolerance * sqrt(want) + floor[t],
                          "%s, text %zu: %g, alone %g", params->entry[first].name, t,
                          sqrt(square[t]), sqrt(want));
        }
        first = end;
    }
    for (size_t i = 0; i < params->count; i++)
        if (i != word) params->entry[i].flags &= ~(unsigned)NVDP__PARAM_FROZEN;
    /* Trains all groups together and selects each text from the sum by its weight. */
    for (size_t t = 0; t < TEXTS; t++) {
        float weight[TEXTS] = {0};
        weight[t] = 1;
        examples_pass(&fixture, square, norm);
        cr_expect_eq(sum_squares(params->total, params->grad), 0,
                     "a gradient went another way than the examples'");
        cr_expect_leq(fabs(square[t] - total[t]), 1e-6 * total[t]);
        cr_expect_geq(norm[t], sqrt(square[t]));
        cr_expect_leq(norm[t], 1.05 * sqrt(square[t]) + 1e-6, "%g of %g", norm[t], sqrt(square[t]));
        add(&fixture, weight);
        for (size_t i = 0; i < params->count; i++) {
            const struct nvdp__param *entry = &params->entry[i];
            const float *got = params->grad + entry->offset, *want = alone[t] + entry->offset;
            double size = sqrt(sum_squares(entry->count, want)), error = 0;
            for (size_t k = 0; k < entry->count; k++)
                error += pow((double)got[k] - (double)want[k], 2);
            cr_expect_leq(sqrt(error), tolerance * size + floor[t], "%s, text %zu: off by %g of %g",
                          entry->name, t, sqrt(error), size);
        }
    }
}

/* Returns the distance between two gradients. */
static double difference(size_t n, const float *x, const float *y) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += pow((double)x[i] - (double)y[i], 2);
    return sqrt(sum);
}

/* One text alone reads a position whose embedding is NaN, so its norm is not finite. With weight
 * 0 the text must leave the sum of the others unchanged. */
static void leaves_out(const struct choice *choice) {
    enum { POISONED = 2, POSITION = 35 }; /* fill(): only text 2 is this long */
    struct fixture fixture = open_fixture(choice);
    struct nvdp_model *model = fixture.model;
    const struct nvdp__params *params = &model->params;
    double norm[TEXTS], before[TEXTS];
    float weight[TEXTS] = {0};
    nvdp__autofree float *want = malloc(params->total * sizeof *want);
    for (size_t i = 0; i < TEXTS; i++)
        weight[i] = i == POISONED ? 0 : 0.5F;
    fill(fixture.batch, 0, TEXTS, choice->regression);
    examples_pass(&fixture, NULL, before);
    add(&fixture, weight);
    memcpy(want, params->grad, params->total * sizeof *want);
    const struct nvdp_bert_config *bert = &model->info.bert;
    float *position = nvdp__value(params, model->bert.position) +
                      (nvdp__first_position(bert) + POSITION) * nvdp__word_width(bert);
    const float huge[] = {INFINITY, NAN};
    for (size_t k = 0; k < sizeof huge / sizeof *huge; k++) {
        position[0] = huge[k];
        nvdp__weights_changed(&model->dev);
        examples_pass(&fixture, NULL, norm);
        add(&fixture, weight);
        for (size_t i = 0; i < TEXTS; i++)
            cr_expect_eq(isfinite(norm[i]), i != POISONED, "%g: text %zu: %g", (double)huge[k], i,
                         norm[i]);
        const double size = sqrt(sum_squares(params->total, want));
        cr_expect_leq(difference(params->total, want, params->grad), 1e-5 * size, "%g",
                      (double)huge[k]);
    }
}

Test(per_example, a_text_that_is_no_number_is_left_out) {
    leaves_out(&(struct choice){.method = NVDP_METHOD_BASE});
    leaves_out(&(struct choice){NVDP_METHOD_BASE, .tags = true});
    leaves_out(&(struct choice){NVDP_METHOD_VIB_LEARNED, .latent_dim = 6});
    leaves_out(&(struct choice){.method = NVDP_METHOD_VTDP});
    leaves_out(&(struct choice){.method = NVDP_METHOD_NVDP});
    leaves_out(&(struct choice){NVDP_METHOD_BASE, .precision = NVDP_PRECISION_BF16});
}

Test(per_example, methods_and_their_options) {
    static const struct choice choices[] = {
        {.method = NVDP_METHOD_BASE},
        {NVDP_METHOD_BASE, .regression = true},
        {NVDP_METHOD_BASE, .tags = true},
        {NVDP_METHOD_BASE, .words_stay = true},
        {NVDP_METHOD_NVDP, .act = NVDP_ACTIVATION_RELU},
        {NVDP_METHOD_VIB_FIXED, .latent_dim = 6},
        {NVDP_METHOD_VIB_LEARNED, .latent_dim = 6},
        {.method = NVDP_METHOD_VIB_LEARNED},
        {.method = NVDP_METHOD_VTDP},
        {NVDP_METHOD_VTDP, .vtdp_pool = NVDP__VTDP_POOL_FIRST},
        {NVDP_METHOD_VTDP, .policy = NVDP_LENGTH_HIDDEN, .clip_sequence = 2, .latent_dim = 6},
        {.method = NVDP_METHOD_NVDP},
        {NVDP_METHOD_NVDP, 8, NVDP_POOL_WEIGHTED, NVDP_LENGTH_HIDDEN, .kappa = 2},
        {NVDP_METHOD_NVDP, .pool = NVDP_POOL_MEAN},
        {NVDP_METHOD_NVDP, .policy = NVDP_LENGTH_HIDDEN, .clip_sequence = 2}};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        norms_agree(&choices[i]);
}

Test(per_example, activations) {
    for (int act = NVDP_ACTIVATION_GELU_NEW; act <= NVDP_ACTIVATION_QUICK_GELU; act++)
        norms_agree(&(struct choice){NVDP_METHOD_BASE, .act = (enum nvdp_activation)act});
}

/* Every row of the table. MPNet's layers, and VTDP's own layer, share a table of biases by
 * distance; ELECTRA has a dense layer above its embeddings. */
Test(per_example, relatives_of_bert) {
    for (int next = -1; (next = encoder_next_type(next)) >= 0;) {
        const struct nvdp__encoder_row *row = nvdp__encoders[next];
        const enum nvdp_model_type type = (enum nvdp_model_type)next;
        if (!row->per_example) continue;
        norms_agree(&(struct choice){NVDP_METHOD_BASE, .type = type});
        norms_agree(&(struct choice){
            .method = NVDP_METHOD_BASE, .type = type, .precision = NVDP_PRECISION_BF16});
        if (row->bottleneck) norms_agree(&(struct choice){NVDP_METHOD_VIB_LEARNED, .type = type});
        if (row->pass->declare_extra != NULL)
            norms_agree(&(struct choice){NVDP_METHOD_VTDP, .type = type});
        if (row->position_vectors) leaves_out(&(struct choice){NVDP_METHOD_BASE, .type = type});
    }
    /* with random weights of other types, NVDP may amplify rounding beyond the bound */
    norms_agree(&(struct choice){NVDP_METHOD_NVDP, .type = NVDP_MODEL_MPNET});
    norms_agree(&(struct choice){NVDP_METHOD_NVDP, .type = NVDP_MODEL_ELECTRA});
}

/* An inner layer and its gate are one product, and LayerNorms have no biases. */
Test(per_example, modernbert) {
    const enum nvdp_model_type type = NVDP_MODEL_MODERNBERT;
    norms_agree(&(struct choice){NVDP_METHOD_BASE, .type = type});
    norms_agree(&(struct choice){NVDP_METHOD_BASE, .type = type, .biases = true});
    /* without the clip, NVDP amplifies rounding beyond the bound on these random weights */
    norms_agree(&(struct choice){NVDP_METHOD_NVDP, .type = type, .clip_sequence = 2});
    norms_agree(&(struct choice){NVDP_METHOD_VTDP, .type = type, .biases = true});
    norms_agree(&(struct choice){NVDP_METHOD_VTDP, .type = type, .act = NVDP_ACTIVATION_SILU,
                                 .precision = NVDP_PRECISION_BF16});
}

/* The BiLSTM computes the positions of all texts in one product, in float32 on every device. */
Test(per_example, bilstm) {
    norms_agree(&(struct choice){NVDP_METHOD_BASE, .bilstm = true});
    norms_agree(&(struct choice){
        .method = NVDP_METHOD_BASE, .bilstm = true, .precision = NVDP_PRECISION_BF16});
}

/* Words of one and more pieces: the made texts' types mark them. */
Test(per_example, word) {
    norms_agree(&(struct choice){NVDP_METHOD_WORD, .latent_dim = 2, .clip_sequence = 1});
    norms_agree(&(struct choice){NVDP_METHOD_WORD, .latent_dim = 3, .clip_sequence = 50});
}

/* In bfloat16 a single text has the same bits in each product, so norms agree as in float32. */
Test(per_example, bf16) {
    norms_agree(&(struct choice){NVDP_METHOD_BASE, .precision = NVDP_PRECISION_BF16});
}
