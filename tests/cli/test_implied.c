/* Defaults that follow from the method and the regulariser; what is asked for wins. */
#include "rig.h"

#include <criterion/criterion.h>
#include <string.h>

/* A resolved configuration; json_decref() the root. */
static json_t *resolved(const char *args, json_t **root) {
    struct outcome outcome =
        rig_expect(0, "train --task sst2 --data %s --model %s --max-length 12 --dry-run --json %s",
                   rig_task(), rig_model(), args);
    *root = rig_object(&outcome);
    rig_release(&outcome);
    return json_object_get(*root, "configuration");
}

static void schedule(const char *args, const char *name, double delay, double ramp) {
    json_t *root, *config = resolved(args, &root);
    cr_expect_str_eq(json_string_value(json_object_get(config, "kl_schedule")), name, "%s", args);
    cr_expect_eq(json_number_value(json_object_get(config, "kl_delay")), delay, "%s", args);
    cr_expect_eq(json_number_value(json_object_get(config, "kl_ramp")), ramp, "%s", args);
    json_decref(root);
}

/* Exact KL rises late by itself; the published loss is at full weight from the first step. */
Test(implied, by_the_regularizer) {
    schedule("", "constant", 0.2, 0.5);
    schedule("--regularizer published", "constant", 0.2, 0.5);
    schedule("--regularizer kl", "warmup", 0.2, 0.5);
    schedule("--regularizer kl --kl-schedule constant", "constant", 0.2, 0.5);
    schedule("--regularizer kl --kl-delay 0 --kl-ramp 0.25", "warmup", 0, 0.25);
    schedule("--kl-schedule decay", "decay", 0.2, 0.5);
}

Test(implied, help_says_so) {
    struct outcome outcome = rig_expect(0, "train --help");
    rig_contains(outcome.out, "regularizer kl implies");
    rig_release(&outcome);
}
