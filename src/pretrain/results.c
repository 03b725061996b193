/* The result tables of pretraining (nvdp/result.h): the coverage of a text, masked-LM scores, a run, its plan. */
#include "base/base.h"
#include "options/result.h"
#include <nvdp/pretrain.h>

#include <inttypes.h>

/* --- the coverage of a text --- */

#define COVERAGE(member, ...) NVDP_RESULT_ROW(struct nvdp_coverage, member, __VA_ARGS__)

static const struct nvdp_result_table coverage_table = {
    .name = "coverage",
    .help = "how a vocabulary covers a text",
    .rows = (const struct nvdp_result_row[]){
        COVERAGE(words, "words", NVDP_SCOPE_FILE, 0, "running words and punctuation marks"),
        COVERAGE(unknown, NULL, NVDP_SCOPE_FILE, -1, "share of words that are [UNK]"),
        COVERAGE(pieces_per_word, "tokens", NVDP_SCOPE_FILE, -1, "tokens per word"),
        {0}}};

static void print_coverage(const char *name, const struct nvdp_coverage *coverage,
                           struct nvdp_result_lines *to) {
    nvdp_result_line(to, name, "%.3f pieces per word, %.3f %% of %" PRIu64 " words unknown",
                     coverage->pieces_per_word, 100 * coverage->unknown, coverage->words);
}

/* --- masked-LM scores --- */

#define SCORES(member, ...) NVDP_RESULT_ROW(struct nvdp_mlm_scores, member, __VA_ARGS__)

static void print_perplexity(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_mlm_scores *scores = result;
    nvdp_result_line(to, "perplexity", "%.4f  (%.5f nats)", scores->perplexity, scores->nll);
}

static void print_positions(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_mlm_scores *scores = result;
    nvdp_result_line(to, "positions", "%" PRIu64 " of %" PRIu64 " tokens in %" PRIu64 " windows",
                     scores->masked, scores->tokens, scores->windows);
}

const struct nvdp_result_table nvdp__result_mlm = {
    .name = "mlm",
    .help = "scores of a masked language model on a text",
    .sized = true,
    .rows =
        (const struct nvdp_result_row[]){
            SCORES(accuracy, NULL, NVDP_SCOPE_FILE, 1, "top-1 accuracy of the predicted pieces",
                   .label = "masked accuracy", .decimals = 4),
            SCORES(nll, "nats", NVDP_SCOPE_FILE, -1, "mean -log p(right piece)"),
            SCORES(perplexity, NULL, NVDP_SCOPE_FILE, -1, "exp(nll)", .print = print_perplexity),
            SCORES(masked, "tokens", NVDP_SCOPE_FILE, 0, "predicted positions",
                   .print = print_positions),
            SCORES(tokens, "tokens", NVDP_SCOPE_FILE, 0, "tokens of the windows, special ones too"),
            SCORES(windows, "windows", NVDP_SCOPE_FILE, 0, "scored windows"),
            {0}},
    .views = (const struct nvdp_result_view[]){
        {"file", .keys = (const struct nvdp_result_key[]){{.row = "windows"},
                                                          {.row = "tokens"},
                                                          {.row = "masked"},
                                                          {.row = "accuracy"},
                                                          {.row = "nll"},
                                                          {.row = "perplexity"},
                                                          {0}}},
        {0}}};

/* --- a run --- */

#define RUN(member, ...) NVDP_RESULT_ROW(struct nvdp_pretrain_result, member, __VA_ARGS__)
#define PART(member) NVDP_RESULT_AT(struct nvdp_pretrain_result, member), .indirect = true

static bool has_steps(const void *result) {
    return ((const struct nvdp_pretrain_result *)result)->steps > 0;
}

static bool has_draws(const void *result) {
    return ((const struct nvdp_pretrain_result *)result)->drawing_seconds > 0;
}

static void print_trained(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_pretrain_result *r = result;
    nvdp_result_line(to, "trained", "%" PRIu64 " steps, %" PRIu64 " tokens", r->steps, r->tokens);
    if (has_steps(r))
        nvdp_result_line(to, "last loss", "%.4f  (masked accuracy %.4f)", r->loss, r->accuracy);
}

static void print_text(const void *result, struct nvdp_result_lines *to) {
    print_coverage("text", ((const struct nvdp_pretrain_result *)result)->coverage, to);
}

static void print_held_out(const void *result, struct nvdp_result_lines *to) {
    print_coverage("held-out text", ((const struct nvdp_pretrain_result *)result)->eval_coverage,
                   to);
}

static void print_time(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_pretrain_result *r = result;
    nvdp_result_line(to, "time", "%.1f s, %.0f tokens/s", r->seconds, r->tokens_per_second);
    if (has_draws(r))
        nvdp_result_line(to, "drawing", "%.1f s, %.1f %% of the time", r->drawing_seconds,
                         100 * r->drawing_seconds / r->seconds);
}

const struct nvdp_result_table nvdp__result_pretrain = {
    .name = "pretrain",
    .help = "results of a finished run of nvdp pretrain",
    .sized = true,
    .rows =
        (const struct nvdp_result_row[]){
            RUN(steps, "steps", NVDP_SCOPE_RUN, 0, "optimizer steps", .print = print_trained),
            RUN(tokens, "tokens", NVDP_SCOPE_RUN, 0, "training tokens, special ones too"),
            RUN(masked, "tokens", NVDP_SCOPE_RUN, 0, "predicted positions"),
            RUN(vocab_size, "pieces", NVDP_SCOPE_MODEL, 0, "size of the vocabulary",
                .label = "vocabulary", .after = " pieces"),
            RUN(parameters, NULL, NVDP_SCOPE_MODEL, 0, "trained parameters", .label = "parameters"),
            RUN(loss, "nats", NVDP_SCOPE_RUN, -1,
                "loss of masked language modeling, mean over the last logged steps"),
            RUN(accuracy, NULL, NVDP_SCOPE_RUN, 1, "top-1 accuracy over the same steps"),
            {"coverage", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE, .help = "of the text",
             PART(coverage), .of = &coverage_table, .print = print_text},
            RUN(seconds, "s", NVDP_SCOPE_RUN, -1, "time of the training steps",
                .print = print_time),
            RUN(tokens_per_second, "tokens/s", NVDP_SCOPE_RUN, 1, "speed of the training steps"),
            RUN(drawing_seconds, "s", NVDP_SCOPE_RUN, -1, "time of the draws for privatize",
                .present = has_draws, .absent = NVDP_ABSENT_OMITTED),
            {"evaluation", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE,
             .help = "scores on the held-out text", PART(eval), .of = &nvdp__result_mlm,
             .absent = NVDP_ABSENT_OMITTED},
            {"evaluation_coverage", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE,
             .help = "of the held-out text", PART(eval_coverage), .of = &coverage_table,
             .print = print_held_out, .absent = NVDP_ABSENT_OMITTED},
            {0}},
    .views = (const struct nvdp_result_view[]){
        {"file", NVDP_ABSENT_NULL,
         (const struct nvdp_result_key[]){
             {.row = "steps"},
             {.row = "tokens"},
             {.row = "masked"},
             {.row = "vocab_size"},
             {.row = "parameters"},
             {.row = "loss", .absent = NVDP_ABSENT_ERROR},
             {.row = "accuracy", .absent = NVDP_ABSENT_ERROR},
             {.row = "drawing_seconds", .absent = NVDP_ABSENT_HIDDEN},
             {.row = "evaluation", .absent = NVDP_ABSENT_HIDDEN},
             {.row = "evaluation_coverage", .absent = NVDP_ABSENT_HIDDEN},
             {0}}},
        {"terminal", .keys = (const struct nvdp_result_key[]){{.row = "vocab_size"},
                                                              {.row = "coverage"},
                                                              {.row = "evaluation_coverage"},
                                                              {.row = "parameters"},
                                                              {.row = "steps"},
                                                              {.row = "evaluation"},
                                                              {0}}},
        {0}}};

/* --- the plan of a run --- */

#define PLAN(member, ...) NVDP_RESULT_ROW(struct nvdp_pretrain_plan, member, __VA_ARGS__)

const struct nvdp_result_table nvdp__result_pretrain_plan = {
    .name = "pretrain_plan",
    .help = "size of a run of nvdp pretrain",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        PLAN(vocab_size, "pieces", NVDP_SCOPE_MODEL, 0, "size of the vocabulary, at most",
             .label = "vocabulary", .after = " pieces"),
        PLAN(parameters, NULL, NVDP_SCOPE_MODEL, 0, "trained parameters", .label = "parameters"),
        PLAN(tokens, "tokens", NVDP_SCOPE_RUN, 0, "training tokens, at most",
             .label = "tokens, at most"),
        PLAN(memory_bytes, "bytes", NVDP_SCOPE_RUN, -1,
             "parameters, optimizer state and activations", .label = "memory",
             .scale = 1. / (1 << 20), .after = " MiB"),
        {0}}};
