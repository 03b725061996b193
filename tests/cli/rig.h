/* Runs the program; a tiny model and task to run it on. */
#ifndef NVDP_TESTS_CLI_RIG_H
#define NVDP_TESTS_CLI_RIG_H

#include "support.h"

#include <jansson.h>

struct outcome {
    int code;
    char *out;
    char *err;
};

/* Runs `nvdp ARGS` through the shell. */
struct outcome rig_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and fails the test where the exit code is another. */
struct outcome rig_expect(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rig_release(struct outcome *outcome);

/* Standard output must be exactly one JSON object; json_decref() it. */
json_t *rig_object(const struct outcome *outcome);
void rig_contains(const char *text, const char *part);
void rig_lacks(const char *text, const char *part);

/* A directory with a random BERT of one layer and some forty pieces. */
const char *rig_model(void);
/* A folder in SST-2's layout whose sentences say what they are: good ones and bad ones. */
const char *rig_task(void);
/* Options of a training that takes a moment: model, task, sizes; `out` is in the scratch folder. */
const char *rig_train_options(void);

#endif
