/* A tiny task and a tiny random BERT on which training takes a second. */
#ifndef NVDP_TESTS_SUPPORT_TINY_TASK_H
#define NVDP_TESTS_SUPPORT_TINY_TASK_H

#include "support.h"
#include "train/training_options.h"
#include <nvdp.h>

/* Folders of the data and the model. */
struct task {
    char data[512], model[512];
};

/* Numbers of training, dev and test texts; the maximum text length (texts have 5 to 8 tokens). */
enum { TASK_TRAIN = 120, TASK_DEV = 40, TASK_TEST = 6, TASK_LENGTH = 10 };

/* Writes SST-2-like data (the label depends on one word) and a 1-layer BERT, 16 wide, into the
 * scratch directory. */
struct task task_make(struct nvdp_context *ctx);
/* Does task_make() with heads of 32 dimensions, as bfloat16 products require. */
struct task task_make_wide(struct nvdp_context *ctx);
/* Returns a configuration that learns the task; out is in the scratch directory (static text). */
struct nvdp__train_options task_config(const struct task *task, enum nvdp_method method,
                                       const char *out);
/* Makes the task, and returns a configuration that learns it; `out` is a name in the scratch directory, or a path. */
struct nvdp__train_options task_options(struct nvdp_context *ctx, enum nvdp_method method,
                                        const char *out);
/* Returns the options of training after one option is set and other options follow from it. Strings
 * are left out. */
struct nvdp__train_options task_implied(struct nvdp_context *ctx, const char *name,
                                        const char *value);
/* Sets options by name, as in "epochs 1 lr 3e-3". */
void task_set(struct nvdp__train_options *config, const char *options);
/* Trains, and fails the test on errors. */
struct nvdp_train_result task_train(struct nvdp_context *ctx,
                                    const struct nvdp__train_options *config);

/* Expects that training fails, with a message that contains `words`. */
void task_fails(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                nvdp_status status, const char *words);
/* Trains until the run has been asked `calls` times whether it is cancelled. */
void task_stop(struct nvdp_context *ctx, const struct nvdp__train_options *config, int calls);
/* Scores a run on the dev file. */
struct nvdp_evaluation task_evaluate(struct nvdp_context *ctx, const char *run, int draws);

/* The options in which the runs that tests share differ. */
struct run_choice {
    enum nvdp_method method;
    enum nvdp_length_policy policy;
    enum nvdp__query query;
    int kappa;
    size_t latent_dim; /* 0 for the encoder's width, 16 */
    size_t epochs;     /* 1 if the weights do not matter */
    enum nvdp__vtdp_pool vtdp_pool;
    /* 0 for no clip; with a clip, weights are constant and rows depend on their index. */
    double clip_sequence;
    double clip_word; /* 0 for no clip */
};
/* Makes the task and trains as chosen, replacing an earlier run. Returns the run's folder,
 * `name` under the scratch directory, and sets *accuracy unless it is NULL. */
const char *task_run(struct nvdp_context *ctx, const char *name, const struct run_choice *choice,
                     double *accuracy);

/* Stops a run of three epochs repeatedly, at steps and inside validation, and expects the bytes
 * and numbers of an uninterrupted run. Uses separate folders in the scratch directory. */
void task_resumes_exactly(struct nvdp_context *ctx, struct nvdp__train_options config);
#endif
