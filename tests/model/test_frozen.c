/* Tests frozen layers: the layers above train as if nothing were frozen, frozen weights stay
 * unchanged, and a text's states are the same in every batch. */
#include "job/optimizer.h"
#include "model_test.h"

enum { PIECES = 40, LAYERS = 3, TEXTS = 12, LONGEST = 20 };

static struct nvdp__model_info info_for(enum nvdp_model_type type, enum nvdp_method method,
                                        size_t width, struct nvdp_context *ctx) {
    struct nvdp__model_info info = {.method = method, .max_length = LONGEST, .outputs = 2};
    info.bert = bert_of(.hidden = width, .layers = LAYERS, .heads = 2, .inner = 2 * width,
                        .pieces = PIECES, .longest = LONGEST);
    info.bert.initializer_range = 0.3;
    info.bert = encoder_of_type(type, info.bert);
    info.nvib = nvdp__nvib_config_default();
    info.nvib.length = LONGEST;
    info.nvib.alpha_tau = 0;
    ok(nvdp__nvib_config_resolve(ctx, &info.nvib, width, 2));
    info.task.classes = 2;
    return info;
}

struct fixture {
    struct nvdp_context *ctx;
    struct nvdp_model *model;
    struct nvdp__batch *batch;
    struct nvdp__prefix *prefix;
};

static struct fixture open_type(enum nvdp_model_type type, enum nvdp_method method, size_t width,
                                size_t frozen) {
    struct fixture fixture = {.ctx = support_context()};
    struct nvdp__model_info info = info_for(type, method, width, fixture.ctx);
    ok(nvdp__model_build(fixture.ctx, &info, true, &fixture.model));
    nvdp__model_initialise(fixture.model, 5);
    ok(nvdp__model_initialise_bottleneck(fixture.model, NULL, 5));
    if (frozen > 0) {
        ok(nvdp__model_freeze(fixture.model, frozen));
        ok(nvdp__prefix_create(fixture.model, &fixture.prefix));
        fixture.model->prefix = fixture.prefix;
    }
    ok(nvdp__model_plan(fixture.model, TEXTS, LONGEST, true));
    ok(nvdp__batch_create(fixture.ctx, TEXTS, LONGEST, &fixture.batch));
    support_keep_parts(fixture);
    return fixture;
}

static struct fixture open_fixture(enum nvdp_method method, size_t width, size_t frozen) {
    return open_type(NVDP_MODEL_BERT, method, width, frozen);
}

/* Fills the batch with texts first, first + 1, ..., of 3 to LONGEST tokens. A text depends only
 * on its number. */
static void fill(struct nvdp__batch *batch, size_t first, size_t texts) {
    int32_t used = 0;
    batch->longest = 0;
    for (size_t i = 0; i < texts; i++) {
        size_t key = first + i;
        int32_t tokens = 3 + (int32_t)(key * 7 % (LONGEST - 2));
        batch->offset[i] = used;
        for (int32_t t = 0; t < tokens; t++) {
            batch->ids[used + t] = (int32_t)((key * 11 + (size_t)t * 5) % PIECES);
            batch->types[used + t] = t > tokens / 2;
            batch->positions[used + t] = t;
        }
        batch->label[i] = (float)(key % 2);
        batch->key[i] = key;
        used += tokens;
        if ((size_t)tokens > batch->longest) batch->longest = (size_t)tokens;
    }
    batch->offset[texts] = used;
    batch->texts = texts;
    batch->tokens = (size_t)used;
}

/* Runs one forward and backward pass without dropout. */
static void gradients(struct fixture *fixture) {
    struct nvdp_model *model = fixture->model;
    struct nvdp__pass pass = {.training = true, .first_layer = nvdp__model_first_layer(model)};
    struct nvdp__draw draw = {
        .noise = {.seed = 9}, .gauss = NVDP__PURPOSE_GAUSS, .gamma = NVDP__PURPOSE_GAMMA};
    struct nvdp__step_losses losses;
    fill(fixture->batch, 0, TEXTS);
    nvdp__grad_begin(&model->dev, &model->params);
    ok(nvdp__model_forward(model, fixture->batch, &pass, &draw, 0));
    ok(nvdp__model_backward(model, fixture->batch, &pass, 1e-2, 1e-2, 0, &losses));
}

static void upper_gradients_agree(enum nvdp_model_type type, enum nvdp_method method,
                                  size_t frozen) {
    struct fixture whole = open_type(type, method, 32, 0);
    struct fixture part = open_type(type, method, 32, frozen);
    gradients(&whole);
    gradients(&part);
    const struct nvdp__params *params = &part.model->params;
    size_t below = 0;
    for (size_t i = 0; i < params->count; i++) {
        const struct nvdp__param *entry = &params->entry[i];
        const float *got = params->grad + entry->offset;
        const float *want = nvdp__grad(&whole.model->params, i);
        double norm = 0, error = 0;
        for (size_t k = 0; k < entry->count; k++) {
            norm += (double)want[k] * (double)want[k];
            error += ((double)got[k] - (double)want[k]) * ((double)got[k] - (double)want[k]);
            if (entry->flags & NVDP__PARAM_FROZEN) cr_assert_eq(got[k], 0, "%s", entry->name);
        }
        if (entry->flags & NVDP__PARAM_FROZEN) {
            below++;
            continue;
        }
        /* The frozen states are summed in another order, with rounding of 1e-7 per value. Noise,
         * and biases whose gradient is only rounding (a key's), stay below the floor. */
        cr_assert_leq(sqrt(error), 2e-5 * sqrt(norm) + 1e-6, "%s: %g of %g", entry->name,
                      sqrt(error), sqrt(norm));
    }
    if (type == NVDP_MODEL_BERT) /* three tables, a LayerNorm; 16 tensors per layer */
        cr_assert_eq(below, 5 + 16 * frozen);
    if (type ==
        NVDP_MODEL_MODERNBERT) /* a table and its LayerNorm; 6 tensors per layer, one less in
                                        * the first; the last LayerNorm */
        cr_assert_eq(below, 2 + 6 * frozen - 1 + (frozen == LAYERS));
}

Test(frozen, gradients_above_are_those_of_the_whole) {
    for (size_t frozen = 1; frozen <= LAYERS; frozen++) {
        upper_gradients_agree(NVDP_MODEL_BERT, NVDP_METHOD_BASE, frozen);
        upper_gradients_agree(NVDP_MODEL_BERT, NVDP_METHOD_NVDP, frozen);
    }
}

/* Every row of the table, with VTDP's layer above. */
Test(frozen, gradients_above_in_every_encoder) {
    for (int type = -1; (type = encoder_next_type(type)) >= 0;)
        for (size_t frozen = 1; frozen <= LAYERS && nvdp__encoders[type]->tensors_below != NULL;
             frozen++) {
            upper_gradients_agree((enum nvdp_model_type)type, NVDP_METHOD_BASE, frozen);
            upper_gradients_agree((enum nvdp_model_type)type, NVDP_METHOD_VTDP, frozen);
        }
}

Test(frozen, what_is_frozen_stays_to_the_bit) {
    struct fixture fixture = open_fixture(NVDP_METHOD_NVDP, 16, 2);
    struct nvdp__params *params = &fixture.model->params;
    nvdp__autofree float *before = malloc(params->total * sizeof *before);
    nvdp__auto(nvdp__optimizer_release) struct nvdp__optimizer optimizer = {
        .adamw = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .adam_eps = 1e-8}};
    optimizer.adamw.weight_decay = 0.1;
    optimizer.adamw.clip_norm = 1;
    double norm;
    memcpy(before, params->value, params->total * sizeof *before);
    ok(nvdp__optimizer_create(fixture.ctx, params, &optimizer));
    for (int step = 0; step < 3; step++) {
        gradients(&fixture);
        ok(nvdp__optimizer_step(&optimizer, &fixture.model->dev, params, 1, &norm));
    }
    for (size_t i = 0; i < params->count; i++) {
        const struct nvdp__param *entry = &params->entry[i];
        size_t bytes = entry->count * sizeof(float);
        bool same = memcmp(nvdp__value(params, i), before + entry->offset, bytes) == 0;
        cr_assert_eq(same, (entry->flags & NVDP__PARAM_FROZEN) != 0, "%s", entry->name);
        if (!same) continue;
        for (size_t k = 0; k < entry->count; k++)
            cr_assert(optimizer.m[entry->offset + k] == 0 && optimizer.v[entry->offset + k] == 0);
    }
}

/* Returns the states of all texts, computed `group` texts at a time. */
static float *states(struct fixture *fixture, size_t group, size_t width) {
    fill(fixture->batch, 0, TEXTS);
    float *all = malloc(fixture->batch->tokens * width * sizeof *all);
    size_t at = 0;
    for (size_t first = 0; first < TEXTS; first += group) {
        fill(fixture->batch, first, group < TEXTS - first ? group : TEXTS - first);
        ok(nvdp__prefix_fill(fixture->prefix, fixture->batch));
        size_t n = fixture->batch->tokens * width;
        nvdp__download(&fixture->model->dev, n,
                       fixture->model->cache.hidden[fixture->prefix->layers], all + at);
        at += n;
    }
    return support_keep(all);
}

static void same_bits_in_every_batch(enum nvdp_model_type type) {
    const size_t widths[] = {16, 24, 64, 160};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        struct fixture fixture = open_type(type, NVDP_METHOD_BASE, widths[w], LAYERS);
        float *want = states(&fixture, TEXTS, widths[w]);
        fill(fixture.batch, 0, TEXTS);
        size_t bytes = fixture.batch->tokens * widths[w] * sizeof *want;
        for (size_t group = 1; group < TEXTS; group += 2) {
            float *got = states(&fixture, group, widths[w]);
            cr_assert_arr_eq(got, want, bytes, "width %zu, %zu at a time", widths[w], group);
        }
    }
}

Test(frozen, a_text_s_states_are_the_same_bits_in_every_batch) {
    same_bits_in_every_batch(NVDP_MODEL_BERT);
    same_bits_in_every_batch(NVDP_MODEL_MODERNBERT);
}

Test(frozen, only_layers_that_exist) {
    struct fixture fixture = open_fixture(NVDP_METHOD_BASE, 16, 0);
    size_t all = fixture.model->info.parameters;
    cr_assert_eq(nvdp__model_freeze(fixture.model, 0), NVDP_ERR_ARGUMENT);
    fails(nvdp__model_freeze(fixture.model, LAYERS + 1), NVDP_ERR_ARGUMENT,
          "expected 1 to 3, the number of layers");
    cr_assert_eq(fixture.model->info.parameters, all);
    ok(nvdp__model_freeze(fixture.model, LAYERS));
    /* pooler and classifier remain */
    cr_assert_eq(fixture.model->info.parameters, 16 * 16 + 16 + 2 * 16 + 2);
}
