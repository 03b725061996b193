/* Compares forward, backward and optimizer with a float64 reference (golden/bert), and BERT's
 * relatives with transformers in float64 (golden/roberta and others).
 *
 * Tolerance 1e-4 on norms: float32 adds 6e-8 per rounding, and a gradient passes through a few
 * hundred of them in sums of up to a hundred terms. The optimizer's trace feeds errors back for
 * 20 steps: 1e-3. */
#include "encoder.h"
#include "plain_kernels.h"

#include "test_context.h"

static const double tolerance = 1e-4, hidden_tolerance = 1e-5;

struct golden {
    const char *model;
    struct encoder *encoder;
    struct nvdp__safetensors *expected;
    struct nvdp__batch *batch;
    size_t texts, width;
    int64_t *mask;
};

static struct golden golden_load(const char *model) {
    struct golden golden = {.model = model};
    const char *directory = support_golden(model);
    struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
    ok(nvdp_bert_config_read(ctx, directory, &config));
    golden.encoder = encoder_create(&config, 3, true, true);
    struct encoder *encoder = golden.encoder;
    ok(nvdp__checkpoint_load(&encoder->dev, directory, &encoder->params));
    golden.expected = encoder_open(ctx, support_path("%s/expected.safetensors", directory));
    const struct nvdp__tensor_info *shape = nvdp__safetensors_find(golden.expected, "input_ids");
    golden.texts = shape->shape[0];
    golden.width = shape->shape[1];
    int64_t *ids = encoder_expected_i64(golden.expected, "input_ids");
    int64_t *types = encoder_expected_i64(golden.expected, "token_type_ids");
    int64_t *label = encoder_expected_i64(golden.expected, "labels");
    golden.mask = encoder_expected_i64(golden.expected, "attention_mask");
    golden.batch =
        encoder_pack(encoder, golden.texts, golden.width, ids, types, golden.mask, label);
    encoder_plan(encoder, golden.texts, golden.width);
    support_keep_parts(golden);
    return golden;
}

static double compare(struct golden *golden, const char *name, size_t n, const float *tensor) {
    double *want = encoder_expected(golden->expected, name);
    float *got = encoder_download(golden->encoder, n, tensor);
    double error = support_norm_error(n, got, want);
    cr_expect_leq(error, tolerance, "%s, %s: relative error %g", golden->model, name, error);
    return error;
}

/* Compares row by row, without the reference's padding. */
static double compare_hidden(struct golden *golden, size_t index) {
    struct encoder *encoder = golden->encoder;
    size_t dim = encoder->bert.config.hidden_size;
    const char *name = support_path("hidden.%zu", index);
    double *want = encoder_expected(golden->expected, name);
    float *got =
        encoder_download(encoder, golden->batch->tokens * dim, encoder->cache.hidden[index]);
    size_t row = 0;
    for (size_t i = 0; i < golden->texts * golden->width; i++) {
        if (golden->mask[i] == 0) continue;
        memmove(want + row * dim, want + i * dim, dim * sizeof *want);
        row++;
    }
    cr_assert_eq(row, golden->batch->tokens);
    double error = support_norm_error(row * dim, got, want);
    cr_expect_leq(error, hidden_tolerance, "%s, %s: relative error %g", golden->model, name, error);
    return error;
}

static void check_forward(const char *model) {
    struct golden golden = golden_load(model);
    struct encoder *encoder = golden.encoder;
    const size_t head = encoder->outputs * (encoder->bert.config.hidden_size + 1);
    cr_expect_eq(nvdp__params_trainable(&encoder->params) - head,
                 nvdp__bert_parameter_count(&encoder->bert.config));
    double loss = encoder_forward(encoder, golden.batch);
    double worst = 0;
    for (size_t i = 0; i <= encoder->bert.config.num_hidden_layers; i++)
        worst = fmax(worst, compare_hidden(&golden, i));
    compare(&golden, "pooled", golden.texts * encoder->bert.config.hidden_size,
            encoder->cache.pooler.pooled);
    compare(&golden, "logits", golden.texts * encoder->outputs, encoder->logits);
    agrees(loss, encoder_expected(golden.expected, "loss")[0], tolerance, "%s", model);
    cr_log_info("%s: worst hidden state %g", model, worst);
}

static void check_gradients(const char *model) {
    struct golden golden = golden_load(model);
    struct encoder *encoder = golden.encoder;
    encoder_backward(encoder, golden.batch);
    double worst = 0;
    const char *where = "";
    for (size_t i = 0; i < encoder->params.count; i++) {
        const struct nvdp__param *param = &encoder->params.entry[i];
        const char *name = support_path("grad.%s", param->name);
        double *want = encoder_expected(golden.expected, name);
        float *got = encoder_download(encoder, param->count, nvdp__grad(&encoder->params, i));
        double norm = 0;
        for (size_t k = 0; k < param->count; k++)
            norm += want[k] * want[k];
        /* A key's bias shifts all scores of a softmax equally: its gradient is 0 except for
         * rounding. */
        double error =
            support_norm_error(param->count, got, want) * (norm < 1e-20 ? sqrt(norm) : 1);
        cr_expect_leq(error, tolerance, "%s, %s: relative error %g", model, name, error);
        if (error > worst) {
            worst = error;
            where = param->name;
        }
    }
    cr_log_info("%s: worst gradient %g: %s", model, worst, where);
}

Test(golden, states_pooled_logits_loss_and_every_gradient) {
    static const char *const models[] = {"bert",       "roberta",          "distilbert",
                                         "mpnet",      "electra",          "xlm_roberta",
                                         "modernbert", "modernbert_biases"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        check_forward(models[i]);
        check_gradients(models[i]);
    }
}

/* Distances -200 to 200 cover all buckets and the limit of 128. */
Test(golden, mpnet_buckets_of_distances) {
    struct golden golden = golden_load("mpnet");
    int64_t *want = encoder_expected_i64(golden.expected, "buckets");
    const struct nvdp__encoder_row *row = golden.encoder->bert.row;
    for (int32_t distance = -200; distance <= 200; distance++)
        cr_expect_eq(row->relative_bucket(distance), want[distance + 200], "distance %d", distance);
    cr_expect_eq(row->relative_bucket(-(1 << 20)), 15);
    cr_expect_eq(row->relative_bucket(1 << 20), 31);
}

/* Takes one step of AdamW with gradients clipped to norm 1. */
static void step(struct encoder *encoder, int number, double lr, float *m, float *v, double norm) {
    struct nvdp__adamw adamw = {.lr = lr,
                                .beta1 = 0.9,
                                .beta2 = 0.999,
                                .eps = 1e-8,
                                .bias1 = 1 - pow(0.9, number + 1),
                                .bias2 = 1 - pow(0.999, number + 1),
                                .grad_scale = fmin(1, 1 / norm)};
    for (size_t i = 0; i < encoder->params.count; i++) {
        const struct nvdp__param *param = &encoder->params.entry[i];
        adamw.weight_decay = (param->flags & NVDP__PARAM_DECAY) != 0 ? 0.01 : 0;
        support_adamw_step(&encoder->dev, &adamw, param->count, nvdp__grad(&encoder->params, i),
                           NULL, m + param->offset, v + param->offset,
                           nvdp__value(&encoder->params, i));
    }
}

Test(golden, adamw_trace) {
    struct golden golden = golden_load("bert");
    struct encoder *encoder = golden.encoder;
    nvdp__autofree float *m = nvdp__calloc(encoder->ctx, encoder->params.total, sizeof *m);
    nvdp__autofree float *v = nvdp__calloc(encoder->ctx, encoder->params.total, sizeof *v);
    const json_t *trace = support_at(support_golden_json("bert/adamw_trace.json"), "trace");
    for (size_t i = 0; i < json_array_size(trace); i++) {
        json_t *want = json_array_get(trace, i);
        double loss = encoder_backward(encoder, golden.batch);
        double norm =
            sqrt(support_dot(encoder->params.total, encoder->params.grad, encoder->params.grad));
        agrees(loss, number_at(want, "loss"), 1e-3, "step %zu", i);
        agrees(norm, number_at(want, "grad_norm"), 1e-3, "step %zu", i);
        step(encoder, (int)i, number_at(want, "lr"), m, v, norm);
    }
    cr_expect_eq(json_array_size(trace), 20);
}
