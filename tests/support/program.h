/* Runs the program; a tiny model and task to run it on. */
#ifndef NVDP_TESTS_SUPPORT_PROGRAM_H
#define NVDP_TESTS_SUPPORT_PROGRAM_H

#include "support.h"

#include <jansson.h>

struct outcome {
    int code;
    char *out;
    char *err;
};

/* Runs `nvdp ARGS` through the shell; its cache is in the scratch directory. */
struct outcome program_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same of a whole line of the shell. */
struct outcome program_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and fails the test where the exit code is another. */
struct outcome program_expect(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void program_release(struct outcome *outcome);

/* Standard output must be exactly one JSON object; json_decref() it. */
json_t *program_object(const struct outcome *outcome);

/* A directory with a random BERT of one layer and some forty pieces. */
const char *program_model(void);
/* A folder in SST-2's layout whose sentences say what they are: good ones and bad ones. */
const char *program_task(void);
/* Options of a training that takes a moment: model, task, sizes; `out` is in the scratch folder. */
const char *program_train_options(void);

#endif
