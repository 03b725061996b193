/* The result tables of training (nvdp/result.h), from which JSON, text and documentation are
 * made: the scores, the run, its plan. */
#include "base/base.h"
#include "options/result.h"
#include <nvdp/evaluate.h>
#include <nvdp/train.h>

#include <math.h>
#include <stdio.h>

/* --- scores --- */

#define SCORES(member, ...) NVDP_RESULT_ROW(struct nvdp_scores, member, __VA_ARGS__)
#define METRIC(member) NVDP_RESULT_AT(struct nvdp_scores, member[0])

static const char *metric_name(int metric) {
    return nvdp_metric_name((enum nvdp_metric)metric);
}

static const struct nvdp_result_table metric_table = {
    .name = "metric",
    .help = "one metric, over draws of the noise",
    .rows = (const struct nvdp_result_row[]){
        {"metric", NVDP_RESULT_WORD, NULL, NVDP_SCOPE_FILE, 0, "its name", METRIC(metric),
         .word = metric_name},
        {"mean", NVDP_RESULT_REAL, NULL, NVDP_SCOPE_FILE, 1, "mean over the draws", METRIC(mean)},
        {"sd", NVDP_RESULT_REAL, NULL, NVDP_SCOPE_FILE, 0, "standard deviation over the draws",
         METRIC(sd)},
        {"interval", NVDP_RESULT_INTERVAL, NULL, NVDP_SCOPE_FILE, 0, "95 % interval over texts",
         METRIC(low), .high = offsetof(struct nvdp_scores, high), .absent = NVDP_ABSENT_OMITTED},
        {0}}};

/* Prints one line per metric: mean, spread over draws, texts, interval. */
static void print_metrics(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_scores *scores = result;
    const char *what = scores->metric[0] == NVDP_METRIC_ENTITY_F1 ? "words" : "texts";
    for (int i = 0; i < scores->metrics; i++) {
        const char *name = nvdp_metric_name(scores->metric[i]);
        char interval[64] = "";
        if (!isnan(scores->low[i]))
            nvdp__snprintf(interval, sizeof interval, "; 95 %% over texts: %.4f to %.4f",
                           scores->low[i], scores->high[i]);
        if (scores->draws > 1)
            nvdp_result_line(to, name, "%.4f +- %.4f  (%zu %s, %zu draws%s)", scores->mean[i],
                             scores->sd[i], scores->n, what, scores->draws, interval);
        else
            nvdp_result_line(to, name, "%.4f  (%zu %s%s)", scores->mean[i], scores->n, what,
                             interval);
    }
}

static void print_majority(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_scores *scores = result;
    nvdp_result_line(to, "majority class", "%.4f%s", scores->majority,
                     scores->metric[0] == NVDP_METRIC_ACCURACY ? "" : "  (accuracy)");
}

const struct nvdp_result_table nvdp__result_scores = {
    .name = "scores",
    .help = "scores of a model on a split",
    .sized = true,
    .rows =
        (const struct nvdp_result_row[]){
            SCORES(n, "texts", NVDP_SCOPE_FILE, 0,
                   "number of texts, or of words in a task with tags"),
            SCORES(draws, "draws", NVDP_SCOPE_FILE, 0, "number of noise draws"),
            {"metrics", NVDP_RESULT_MAP, .scope = NVDP_SCOPE_FILE,
             .help = "mean and spread of each metric",
             NVDP_RESULT_LENGTH(struct nvdp_scores, metrics), .of = &metric_table,
             .print = print_metrics},
            SCORES(majority, NULL, NVDP_SCOPE_FILE, 0, "accuracy of the most frequent class",
                   .print = print_majority),
            {0}},
    .views = (const struct nvdp_result_view[]){
        {"file", NVDP_ABSENT_NAN,
         (const struct nvdp_result_key[]){{.row = "n"},
                                          {.row = "draws"},
                                          {.row = "metrics"},
                                          {.row = "majority", .absent = NVDP_ABSENT_OMITTED},
                                          {0}}},
        {"json", .keys = (const struct nvdp_result_key[]){{.row = "metrics"}, {0}}},
        {0}}};

/* --- an evaluation, and the scores of its classes --- */

#define EVALUATION(member, ...)                                                                    \
    NVDP_RESULT_ROW(struct nvdp_evaluation, member, NULL, NVDP_SCOPE_RUN, 0, __VA_ARGS__)

const struct nvdp_result_table nvdp__result_evaluation = {
    .name = "evaluation",
    .help = "what a run was scored on",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        EVALUATION(task, "name of the task", .label = "task"),
        EVALUATION(split, "the texts that were scored", .label = "split"),
        EVALUATION(method, "method of the training", .label = "method"),
        EVALUATION(protocol, "data that selected the epoch: holdout, dev",
                   .label = "epoch chosen on"),
        {0}}};

#define CLASS(member, ...) NVDP_RESULT_ROW(struct nvdp_class_score, member, __VA_ARGS__)

const struct nvdp_result_table nvdp__result_class_score = {
    .name = "class_score",
    .help = "scores of a class, means over draws of the noise",
    .size = sizeof(struct nvdp_class_score),
    .rows = (const struct nvdp_result_row[]){
        {"class", NVDP_RESULT_CHARS, .scope = NVDP_SCOPE_FILE, .help = "its label",
         NVDP_RESULT_AT(struct nvdp_class_score, name), .label = "class"},
        CLASS(precision, NULL, NVDP_SCOPE_FILE, 1, "right share of the predicted texts",
              .label = "precision", .decimals = 4),
        CLASS(recall, NULL, NVDP_SCOPE_FILE, 1, "right share of the class's texts",
              .label = "recall", .decimals = 4),
        CLASS(f1, NULL, NVDP_SCOPE_FILE, 1, "harmonic mean of both", .label = "f1", .decimals = 4),
        CLASS(n, "texts", NVDP_SCOPE_FILE, 0, "texts of the class", .label = "texts"),
        CLASS(said, "texts", NVDP_SCOPE_FILE, 0, "texts predicted as the class"),
        {0}}};

/* --- a run --- */

#define TRAIN(member, ...) NVDP_RESULT_ROW(struct nvdp_train_result, member, __VA_ARGS__)

static bool is_certified(const void *result) {
    return isfinite(((const struct nvdp_train_result *)result)->certified_epsilon);
}

static const struct nvdp_result_table certified_table = {
    .name = "certified",
    .help = "what is proven for the mechanism over all texts",
    .rows =
        (const struct nvdp_result_row[]){
            TRAIN(certified_epsilon, "nats", NVDP_SCOPE_MODEL, -1, "epsilon"),
            TRAIN(certified_delta, NULL, NVDP_SCOPE_MODEL, 0, "delta of epsilon"),
            TRAIN(certified_releases, "samples", NVDP_SCOPE_MODEL, 0,
                  "samples of a text that epsilon covers"),
            TRAIN(certified_right, NULL, NVDP_SCOPE_MODEL, -1,
                  "largest possible share of right guesses which of two texts was sampled"),
            {0}},
    .views = (const struct nvdp_result_view[]){
        {"json", NVDP_ABSENT_ERROR,
         (const struct nvdp_result_key[]){{.row = "certified_epsilon", .key = "epsilon"},
                                          {.row = "certified_delta", .key = "delta"},
                                          {.row = "certified_releases", .key = "releases"},
                                          {.row = "certified_right", .key = "right"},
                                          {0}}},
        {0}}};

static void print_best(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_train_result *r = result;
    nvdp_result_line(to, "best epoch", "%zu of %zu%s", r->best_epoch, r->epochs_run,
                     r->early_stopped ? " (stopped early)" : "");
}

static void print_validation(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_train_result *r = result;
    if (r->test != NULL && r->test->metrics > 0)
        nvdp_result_line(to, "validation", "%.4f  (%s)", r->best_validation,
                         nvdp_metric_name(r->test->metric[0]));
}

static void print_time(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_train_result *r = result;
    if (r->tokens_per_second > 0)
        nvdp_result_line(to, "time", "steps %.1f s (%.0f tokens/s), scores %.1f s", r->seconds,
                         r->tokens_per_second, r->score_seconds);
    else /* of embeddings */
        nvdp_result_line(to, "time", "steps %.1f s, scores %.1f s", r->seconds, r->score_seconds);
}

const struct nvdp_result_table nvdp__result_train = {
    .name = "train",
    .help = "results of a finished run of nvdp train",
    .sized = true,
    .rows = (const struct nvdp_result_row
                 []){TRAIN(epochs_run, "epochs", NVDP_SCOPE_RUN, 0, "finished"),
                     TRAIN(best_epoch, NULL, NVDP_SCOPE_RUN, 0,
                           "epoch whose weights were kept, from 1", .print = print_best),
                     TRAIN(steps, "steps", NVDP_SCOPE_RUN, 0, "number of optimizer steps"),
                     TRAIN(best_validation, NULL, NVDP_SCOPE_FILE, 1,
                           "the first metric at the best epoch", .print = print_validation),
                     TRAIN(early_stopped, NULL, NVDP_SCOPE_RUN, 0,
                           "patience ran out before the last epoch"),
                     {"test", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE,
                      .help = "scores on the dev file",
                      NVDP_RESULT_AT(struct nvdp_train_result, test), .indirect = true,
                      .of = &nvdp__result_scores},
                     TRAIN(loss_g, "nats", NVDP_SCOPE_RUN, 0,
                           "Gaussian regularizer, mean over the last epoch, before "
                           "lambda"),
                     TRAIN(loss_d, "nats", NVDP_SCOPE_RUN, 0,
                           "Dirichlet regularizer, mean over the last epoch, before "
                           "lambda"),
                     TRAIN(seconds, "s", NVDP_SCOPE_RUN, -1, "time of the training steps",
                           .print = print_time),
                     TRAIN(score_seconds, "s", NVDP_SCOPE_RUN, -1,
                           "time of the validation and the final score"),
                     TRAIN(tokens_per_second, "tokens/s", NVDP_SCOPE_RUN, 1,
                           "speed of the training steps"),
                     TRAIN(bound, "nats", NVDP_SCOPE_MODEL, -1,
                           "upper bound on the divergence of order 1.1 between any "
                           "two texts; "
                           "+inf: no "
                           "bound is proven"),
                     {"certified", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_MODEL,
                      .help = "proven over all texts", .of = &certified_table,
                      .present = is_certified},
                     {0}},
    .views = (const struct nvdp_result_view[]){
        {"file", NVDP_ABSENT_ERROR,
         (const struct nvdp_result_key[]){{.row = "epochs_run", .key = "epochs"},
                                          {.row = "best_epoch"},
                                          {.row = "steps"},
                                          {.row = "best_validation", .key = "validation"},
                                          {.row = "bound", .absent = NVDP_ABSENT_HIDDEN},
                                          {.row = "certified", .absent = NVDP_ABSENT_HIDDEN},
                                          {0}}},
        {"json",
         .keys = (const struct nvdp_result_key[]){{.row = "epochs_run"},
                                                  {.row = "best_epoch"},
                                                  {.row = "steps"},
                                                  {.row = "early_stopped"},
                                                  {.row = "best_validation", .key = "validation"},
                                                  {0}}},
        {0}}};

/* --- the plan of a run --- */

#define PLAN(member, ...) NVDP_RESULT_ROW(struct nvdp_train_plan, member, __VA_ARGS__)

static bool has_frozen(const void *result) {
    return ((const struct nvdp_train_plan *)result)->frozen_parameters > 0;
}

static void print_frozen(const void *result, struct nvdp_result_lines *to) {
    if (has_frozen(result))
        nvdp_result_line(to, "frozen parameters", "%zu",
                         ((const struct nvdp_train_plan *)result)->frozen_parameters);
}

static void print_repeats(const void *result, struct nvdp_result_lines *to) {
    const char *repeats = ((const struct nvdp_train_plan *)result)->repeats;
    if (repeats[0] != '\0') nvdp_result_line(to, "repeated texts", "%s", repeats);
}

const struct nvdp_result_table nvdp__result_train_plan = {
    .name = "train_plan",
    .help = "size and time of a run of nvdp train",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        PLAN(train_texts, "texts", NVDP_SCOPE_FILE, 0, "texts to train on", .label = "train texts"),
        PLAN(validation_texts, "texts", NVDP_SCOPE_FILE, 0, "texts that select the epoch",
             .label = "validation texts"),
        PLAN(test_texts, "texts", NVDP_SCOPE_FILE, 0, "texts of the dev file",
             .label = "test texts"),
        PLAN(parameters, NULL, NVDP_SCOPE_MODEL, 0, "trained parameters", .label = "parameters"),
        PLAN(frozen_parameters, NULL, NVDP_SCOPE_MODEL, 0, "parameters of frozen layers",
             .print = print_frozen),
        {"prefix_cache_bytes", NVDP_RESULT_COUNT, "bytes", NVDP_SCOPE_RUN, -1,
         "size of the frozen layers' states in the cache",
         NVDP_RESULT_AT(struct nvdp_train_plan, prefix_bytes)},
        PLAN(steps, "steps", NVDP_SCOPE_RUN, 0, "optimizer steps", .label = "steps"),
        PLAN(memory_bytes, "bytes", NVDP_SCOPE_RUN, -1,
             "parameters, optimizer state and activations", .label = "memory",
             .scale = 1. / (1 << 20), .after = " MiB"),
        PLAN(step_seconds, "s", NVDP_SCOPE_RUN, -1, "time of a step"),
        PLAN(train_seconds, "s", NVDP_SCOPE_RUN, -1, "time of all steps"),
        PLAN(score_seconds, "s", NVDP_SCOPE_RUN, -1, "time of validation and the final score"),
        PLAN(prefix_seconds, "s", NVDP_SCOPE_RUN, -1, "time of the frozen layers' states, once"),
        PLAN(base_seconds, "s", NVDP_SCOPE_RUN, -1, "time of the base run; 0: none"),
        PLAN(repeat_rows, "rows", NVDP_SCOPE_FILE, -1,
             "largest number of rows of one text in train and dev, of a run with a budget"),
        PLAN(repeat_epsilon, "nats", NVDP_SCOPE_FILE, -1,
             "epsilon of these rows together, one sample each"),
        PLAN(repeats, NULL, NVDP_SCOPE_FILE, 0,
             "how often texts repeat in train and dev, and what that costs",
             .print = print_repeats),
        {0}}};
