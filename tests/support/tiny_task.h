/* A tiny task and a tiny random BERT on which training takes a second. */
#ifndef NVDP_TESTS_SUPPORT_TINY_TASK_H
#define NVDP_TESTS_SUPPORT_TINY_TASK_H

#include "support.h"
#include "train/options.h"
#include <nvdp.h>

/* Folders of the data and the model. */
struct task {
    char data[512], model[512];
};

/* Training, dev and test texts; the longest text allowed (they have 5 to 8 tokens). */
enum { TASK_TRAIN = 120, TASK_DEV = 40, TASK_TEST = 6, TASK_LENGTH = 10 };

/* Writes SST-2-like data (the label is decided by one word) and a 1-layer BERT, 16 wide, into the
 * scratch directory. */
struct task task_make(struct nvdp_context *ctx);
/* With heads of 32 dimensions, which bfloat16 products want. */
struct task task_make_wide(struct nvdp_context *ctx);
/* A configuration that learns the task; out is in the scratch directory (static text). */
struct nvdp__train_options task_config(const struct task *task, enum nvdp_method method,
                                       const char *out);
/* The options of training where one is given and others follow from it; without their texts. */
struct nvdp__train_options task_implied(struct nvdp_context *ctx, const char *name,
                                        const char *value);
/* Trains, and fails the test where that fails. */
struct nvdp_train_result task_train(struct nvdp_context *ctx,
                                    const struct nvdp__train_options *config);

/* Scores a run on the dev file. */
struct nvdp_evaluation task_evaluate(struct nvdp_context *ctx, const char *run, int draws);

/* What distinguishes the runs that tests share from. */
struct run_choice {
    enum nvdp_method method;
    enum nvdp_length_policy policy;
    enum nvdp__query query;
    int kappa;
    size_t latent_dim; /* 0: the encoder's 16 */
    size_t epochs;     /* 1 where the weights do not matter */
    enum nvdp__vtdp_pool vtdp_pool;
    double clip_sequence; /* 0: none; with it weights are constant, rows have their index */
};
/* Makes the task, trains as chosen, over what lay there; returns the run's folder, `name` under the
 * scratch directory, and its accuracy where that is not NULL. */
const char *task_run(struct nvdp_context *ctx, const char *name, const struct run_choice *choice,
                     double *accuracy);

/* Stopped again and again, at steps and inside validation, three epochs end in the bytes and
 * numbers of a run that was not; under names of their own in the scratch directory. */
void task_resumes_exactly(struct nvdp_context *ctx, struct nvdp__train_options config);
#endif
