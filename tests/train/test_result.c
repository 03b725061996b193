/* Tests that result.json has the values that tables over many runs need. */
#include "base/json.h"
#include "train_test.h"

#include "test_context.h"

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "%s", key);
    return json_number_value(value);
}

static void check_result(enum nvdp_protocol protocol, const char *name) {
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_NVDP, "run");
    config.epochs = 2;
    config.protocol = protocol;
    struct nvdp_train_result result = task_train(ctx, &config);
    nvdp__autoptr(json_decref) json_t *root = NULL;
    const char *path = support_path("%s/result.json", config.out);
    ok(nvdp__json_read(ctx, path, &root));
    support_has(root, "{'task': 'sst2', 'method': 'nvdp'}");
    cr_expect_str_eq(text_at(root, "protocol"), name);
    cr_expect_str_eq(text_at(root, "metric"), "accuracy");
    cr_expect_eq(number(root, "validation"), result.best_validation);
    cr_expect_eq(number(root, "best_epoch"), (double)result.best_epoch);
    cr_expect_eq(number(root, "epochs"), 2);
    const json_t *test = json_object_get(root, "test");
    const json_t *accuracy = support_at(test, "metrics/accuracy");
    cr_expect_eq(number(test, "n"), 40);
    cr_expect_eq(number(test, "draws"), 3);
    cr_expect_eq(number(test, "majority"), 0.5);
    cr_expect_eq(number(accuracy, "mean"), result.test->mean[0]);
    cr_expect_eq(number(accuracy, "sd"), result.test->sd[0]);
}

Test(result, of_a_run_validated_on_a_part_of_train) {
    check_result(NVDP_PROTOCOL_HOLDOUT, "holdout");
}

Test(result, of_a_run_validated_on_the_dev_file) {
    check_result(NVDP_PROTOCOL_DEV, "dev");
}
