/* Forward, backward and optimiser against a float64 reference (golden/bert).
 *
 * Tolerance 1e-4 on norms: float32 carries 6e-8 a rounding, and a gradient goes through some
 * hundred of them in sums of up to a hundred terms.  The optimiser's trace feeds errors back for 20
 * steps: 1e-3. */
#include "base/file.h"
#include "base/json.h"
#include "bert/checkpoint.h"
#include "rig.h"
#include "support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-4;

struct golden {
    struct rig *rig;
    struct nvdp_safetensors *expected;
    struct nvdp__batch *batch;
    size_t texts, width;
    int64_t *mask;
};

static struct golden golden_load(void) {
    struct golden golden = {0};
    char *directory = strdup(support_golden("bert"));
    struct nvdp_context *ctx = support_context();
    struct nvdp_bert_config config;
    cr_assert_eq(nvdp_bert_config_read(ctx, directory, &config), NVDP_OK, "%s",
                 nvdp_context_error(ctx));
    golden.rig = rig_create(&config, 3, true, true);
    struct rig *rig = golden.rig;
    cr_assert_eq(nvdp__checkpoint_load(&rig->dev, directory, &rig->params), NVDP_OK, "%s",
                 nvdp_context_error(rig->ctx));
    golden.expected = rig_open(ctx, support_golden("bert/expected.safetensors"));
    const struct nvdp_tensor_info *shape = nvdp_safetensors_find(golden.expected, "input_ids");
    golden.texts = shape->shape[0];
    golden.width = shape->shape[1];
    int64_t *ids = rig_expected_i64(golden.expected, "input_ids");
    int64_t *types = rig_expected_i64(golden.expected, "token_type_ids");
    int64_t *label = rig_expected_i64(golden.expected, "labels");
    golden.mask = rig_expected_i64(golden.expected, "attention_mask");
    golden.batch = rig_pack(rig, golden.texts, golden.width, ids, types, golden.mask, label);
    rig_plan(rig, golden.texts, golden.width);
    free(ids);
    free(types);
    free(label);
    free(directory);
    nvdp_context_free(ctx);
    return golden;
}

static void golden_free(struct golden *golden) {
    nvdp_safetensors_close(golden->expected);
    nvdp__batch_free(golden->batch);
    free(golden->mask);
    rig_free(golden->rig);
}

static double compare(struct golden *golden, const char *name, size_t n, const float *tensor) {
    double *want = rig_expected(golden->expected, name);
    float *got = rig_download(golden->rig, n, tensor);
    double error = support_norm_error(n, got, want);
    cr_expect_leq(error, tolerance, "%s: relative error %g", name, error);
    free(want);
    free(got);
    return error;
}

/* Row by row, without the reference's padding. */
static double compare_hidden(struct golden *golden, size_t index) {
    struct rig *rig = golden->rig;
    size_t dim = rig->bert.config.hidden_size;
    char name[32];
    snprintf(name, sizeof name, "hidden.%zu", index);
    double *want = rig_expected(golden->expected, name);
    float *got = rig_download(rig, golden->batch->tokens * dim, rig->cache.hidden[index]);
    size_t row = 0;
    for (size_t i = 0; i < golden->texts * golden->width; i++) {
        if (golden->mask[i] == 0) continue;
        memmove(want + row * dim, want + i * dim, dim * sizeof *want);
        row++;
    }
    cr_assert_eq(row, golden->batch->tokens);
    double error = support_norm_error(row * dim, got, want);
    cr_expect_leq(error, tolerance, "%s: relative error %g", name, error);
    free(want);
    free(got);
    return error;
}

Test(golden, hidden_states_pooled_logits_loss) {
    struct golden golden = golden_load();
    struct rig *rig = golden.rig;
    double loss = rig_forward(rig, golden.batch);
    double worst = 0;
    for (size_t i = 0; i <= rig->bert.config.num_hidden_layers; i++) {
        worst = fmax(worst, compare_hidden(&golden, i));
    }
    compare(&golden, "pooled", golden.texts * rig->bert.config.hidden_size, rig->cache.pooled);
    compare(&golden, "logits", golden.texts * rig->outputs, rig->logits);
    double *want = rig_expected(golden.expected, "loss");
    double error = support_relative(loss, want[0], 0);
    cr_expect_leq(error, tolerance, "loss: expected %.9g, found %.9g", want[0], loss);
    cr_log_info("worst hidden state %g, loss %g", worst, error);
    free(want);
    golden_free(&golden);
}

Test(golden, every_gradient) {
    struct golden golden = golden_load();
    struct rig *rig = golden.rig;
    rig_backward(rig, golden.batch);
    double worst = 0;
    const char *where = "";
    for (size_t i = 0; i < rig->params.count; i++) {
        const struct nvdp__param *param = &rig->params.entry[i];
        char name[160];
        snprintf(name, sizeof name, "grad.%s", param->name);
        double *want = rig_expected(golden.expected, name);
        float *got = rig_download(rig, param->count, nvdp__grad(&rig->params, i));
        double norm = 0;
        for (size_t k = 0; k < param->count; k++) {
            norm += want[k] * want[k];
        }
        /* A key's bias shifts all scores of a softmax alike: its gradient is 0 but for rounding. */
        double error =
            support_norm_error(param->count, got, want) * (norm < 1e-20 ? sqrt(norm) : 1);
        cr_expect_leq(error, tolerance, "%s: relative error %g", name, error);
        if (error > worst) {
            worst = error;
            where = param->name;
        }
        free(want);
        free(got);
    }
    cr_log_info("worst gradient %g: %s", worst, where);
    golden_free(&golden);
}

/* One step of AdamW, gradients clipped to norm 1. */
static void step(struct rig *rig, int number, double lr, float *m, float *v, double norm) {
    struct nvdp__adamw adamw = {.lr = lr,
                                .beta1 = 0.9,
                                .beta2 = 0.999,
                                .eps = 1e-8,
                                .bias1 = 1 - pow(0.9, number + 1),
                                .bias2 = 1 - pow(0.999, number + 1),
                                .grad_scale = fmin(1, 1 / norm)};
    for (size_t i = 0; i < rig->params.count; i++) {
        const struct nvdp__param *param = &rig->params.entry[i];
        adamw.weight_decay = (param->flags & NVDP__PARAM_DECAY) != 0 ? 0.01 : 0;
        nvdp__adamw_step(&rig->dev, &adamw, param->count, nvdp__grad(&rig->params, i), NULL,
                         m + param->offset, v + param->offset, nvdp__value(&rig->params, i));
    }
}

Test(golden, adamw_trace) {
    struct golden golden = golden_load();
    struct rig *rig = golden.rig;
    json_t *json = NULL;
    cr_assert_eq(nvdp__json_read(rig->ctx, support_golden("bert/adamw_trace.json"), &json),
                 NVDP_OK);
    float *m = nvdp__calloc(rig->ctx, rig->params.total, sizeof *m);
    float *v = nvdp__calloc(rig->ctx, rig->params.total, sizeof *v);
    json_t *trace = json_object_get(json, "trace");
    double worst = 0;
    for (size_t i = 0; i < json_array_size(trace); i++) {
        json_t *want = json_array_get(trace, i);
        double loss = rig_backward(rig, golden.batch);
        double norm = sqrt(nvdp__sum_squares(&rig->dev, rig->params.total, rig->params.grad));
        double loss_error =
            support_relative(loss, json_real_value(json_object_get(want, "loss")), 0);
        double norm_error =
            support_relative(norm, json_real_value(json_object_get(want, "grad_norm")), 0);
        cr_expect_leq(loss_error, 1e-3, "step %zu: loss %g, relative error %g", i, loss,
                      loss_error);
        cr_expect_leq(norm_error, 1e-3, "step %zu: norm %g, relative error %g", i, norm,
                      norm_error);
        worst = fmax(worst, fmax(loss_error, norm_error));
        step(rig, (int)i, json_number_value(json_object_get(want, "lr")), m, v, norm);
    }
    cr_expect_eq(json_array_size(trace), 20);
    cr_log_info("worst of the trace %g", worst);
    free(m);
    free(v);
    json_decref(json);
    golden_free(&golden);
}
