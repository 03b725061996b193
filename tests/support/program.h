/* Runs the program, and provides a tiny model and task for the program. */
#ifndef NVDP_TESTS_SUPPORT_PROGRAM_H
#define NVDP_TESTS_SUPPORT_PROGRAM_H

#include "base/file.h"
#include "support.h"
#include <nvdp.h>

#include <jansson.h>

struct outcome {
    int code;
    char *out;
    char *err;
};

/* Runs `nvdp ARGS` through the shell, with the cache in the scratch directory. The shell's variables are $DIR (the
 * scratch directory), $TASK, $MODEL and $TINY (the results of program_task(), program_model() and
 * program_train_options()). */
struct outcome program_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Runs one line of the shell, with the variables of program_run(). */
struct outcome program_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Runs one line of the shell, and fails the test if the exit code differs. */
struct outcome program_expect(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Do program_expect(), and fail the test if standard error (or output) lacks `words`. */
void program_says(int code, const char *words, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void program_prints(int code, const char *words, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Runs `nvdp ARGS`, which must succeed, and parses standard output, which must be exactly one JSON object. */
json_t *program_json(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Parses standard output, which must be exactly one JSON object. */
json_t *program_object(const struct outcome *outcome);

/* Returns a directory with a random BERT of one layer and about forty pieces. */
const char *program_model(void);
/* Returns a folder in SST-2's layout with sentences that are clearly good or bad. */
const char *program_task(void);
/* Returns options of a short training: model, task, sizes; `out` is in the scratch folder. */
const char *program_train_options(void);

#endif
