/* Tests tasks with a class for each word: the head on the words' states, its loss and gradient. */
#include "model_test.h"
#include "text/task.h"

static const char vocabulary[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nred\n##dish\nblue\nsea\nthe\n";
static const char file[] = "the\tO\nreddish\tB-C\nsea\tI-C\n\nblue\tB-C\nsea\tO\n\nsea\tO\n";
enum { PIECES = 10, LENGTH = 8, TEXTS = 3, WORDS = 6, OUTPUTS = 3 };

struct fixture {
    struct nvdp_context *ctx;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp_dataset *data;
    struct nvdp_model *model;
    struct nvdp__batch *batch;
};

static struct nvdp__model_info info_of(const struct nvdp_dataset *data, enum nvdp_method method) {
    struct nvdp__model_info info = {.method = method, .max_length = LENGTH, .outputs = OUTPUTS};
    info.bert = bert_of(.hidden = 16, .layers = 2, .heads = 4, .inner = 24, .pieces = PIECES,
                        .longest = LENGTH);
    info.nvib = nvdp__nvib_config_default();
    info.task = *data->task;
    return info;
}

static struct fixture setup(void) {
    struct fixture f = {.ctx = support_context()};
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    support_file("vocab.txt", vocabulary);
    support_file("train.tsv", file);
    config.task = NVDP_TASK_NER;
    config.directory = support_scratch();
    config.max_length = LENGTH;
    ok(nvdp_tokenizer_load(f.ctx, support_scratch(), &f.tokenizer));
    ok(nvdp__dataset_load(f.ctx, f.tokenizer, &config, NVDP_SPLIT_TRAIN, NULL, &f.data));
    struct nvdp__model_info info = info_of(f.data, NVDP_METHOD_BASE);
    ok(nvdp__model_build(f.ctx, &info, true, &f.model));
    ok(nvdp__model_plan(f.model, TEXTS, LENGTH, true));
    nvdp__model_initialise(f.model, 3);
    for (size_t i = 0; i < f.model->params.total; i++)
        f.model->params.value[i] *= 3; /* moves the outputs away from a uniform distribution */
    nvdp__weights_changed(&f.model->dev);
    ok(nvdp__batch_create(f.ctx, TEXTS, LENGTH, &f.batch));
    nvdp__batch_fill(f.batch, f.data, NULL, 0, TEXTS);
    support_keep_parts(f);
    return f;
}

static double loss_of(struct fixture *f) {
    const struct nvdp__pass pass = {.training = true};
    const struct nvdp__draw draw = {0};
    struct nvdp__step_losses losses;
    nvdp__weights_changed(&f->model->dev);
    ok(nvdp__model_forward(f->model, f->batch, &pass, &draw, 0));
    ok(nvdp__model_backward(f->model, f->batch, &pass, 0, 0, 0, &losses));
    return losses.task;
}

/* The loss is the mean cross-entropy over words. */
Test(tags, loss_is_the_mean_over_words) {
    struct fixture f = setup();
    float outputs[WORDS * OUTPUTS];
    static const int class[WORDS] = {2, 0, 1, 0, 2, 2};
    cr_assert_eq(f.batch->tagged, WORDS);
    double loss = loss_of(&f), expected = 0;
    nvdp__model_logits(f.model, WORDS, outputs);
    for (int i = 0; i < WORDS; i++) {
        double sum = 0;
        for (int c = 0; c < OUTPUTS; c++)
            sum += exp(outputs[i * OUTPUTS + c]);
        expected += (log(sum) - outputs[i * OUTPUTS + class[i]]) / WORDS;
    }
    near(loss, expected, 1e-6);
}

/* The loss is computed in float32: central differences of 1e-2 have errors of about 1e-5 from
 * rounding, and of a thousandth from curvature where a gradient is large. */
Test(tags, gradient) {
    struct fixture f = setup();
    struct nvdp__params *params = &f.model->params;
    size_t checked = 0;
    nvdp__grad_begin(&f.model->dev, params);
    loss_of(&f);
    nvdp__autofree float *grad = malloc(params->total * sizeof *grad);
    cr_assert_not_null(grad);
    for (size_t i = 0; i < params->total; i++)
        grad[i] = params->grad[i];
    for (size_t e = 0; e < params->count; e++) {
        const struct nvdp__param *entry = &params->entry[e];
        for (size_t k = 0; k < 3; k++) {
            float *place = params->value + entry->offset + (k * 37) % entry->count, kept = *place;
            *place = kept + 1e-2F;
            double up = loss_of(&f);
            *place = kept - 1e-2F;
            double down = loss_of(&f);
            *place = kept;
            near(grad[place - params->value], (up - down) / 2e-2,
                 5e-4 + 2e-3 * fabs((up - down) / 2e-2), "%s [%zu]", entry->name,
                 (k * 37) % entry->count);
            checked++;
        }
    }
    cr_expect_gt(checked, 90);
}

Test(tags, outputs_do_not_depend_on_the_batch) {
    struct fixture f = setup();
    float one[WORDS * OUTPUTS], all[WORDS * OUTPUTS];
    ok(nvdp__model_predict(f.model, f.data, 1, 0, 0, 1, one));
    ok(nvdp__model_predict(f.model, f.data, 3, 0, 0, 1, all));
    for (int i = 0; i < WORDS * OUTPUTS; i++)
        near(one[i], all[i], 1e-5); /* products of other shapes round differently */
}

Test(tags, a_saved_model_comes_back_as_token_classification) {
    struct fixture f = setup();
    nvdp__autoptr(nvdp_model_free) struct nvdp_model *loaded = NULL;
    const char *directory = support_scratch_path("model");
    ok(nvdp__model_save(f.model, directory, support_scratch()));
    char *text = support_read(support_scratch_path("model/config.json"));
    support_contains(text, "BertForTokenClassification", "\"B-C\": 0");
    support_lacks(text, "problem_type");
    ok(nvdp_model_load(f.ctx, directory, &loaded));
    cr_expect(loaded->info.task.tags && loaded->info.task.metrics == 3);
    /* A plan for training would not divide the texts among threads as that of the loaded model
     * does. The products would have other shapes, which round differently on some processors. */
    ok(nvdp__model_plan(f.model, TEXTS, LENGTH, false));
    float before[WORDS * OUTPUTS], after[WORDS * OUTPUTS];
    ok(nvdp__model_predict(f.model, f.data, 3, 0, 0, 1, before));
    ok(nvdp__model_predict(loaded, f.data, 3, 0, 0, 1, after));
    cr_expect_arr_eq(before, after, sizeof before);
}

Test(tags, not_over_a_bottleneck) {
    struct fixture f = setup();
    struct nvdp_model *none = NULL;
    struct nvdp__model_info info = info_of(f.data, NVDP_METHOD_NVDP);
    fails(nvdp__model_build(f.ctx, &info, true, &none), NVDP_ERR_ARGUMENT,
          "needs method base or reg, found nvdp");
}
