/* The result tables of nvdp bench. */
#include "bench/bench.h"

#define TIMES(member, label_)                                                                      \
    NVDP_RESULT_ROW(struct bench_times, member, "s", NVDP_SCOPE_RUN, -1, label_, .label = label_)

static const struct nvdp_result_table times_table = {
    .name = "times",
    .help = "time of a step",
    .rows = (const struct nvdp_result_row[]){
        TIMES(mean, "mean s"), TIMES(min, "fastest s"), TIMES(median, "median s"), {0}}};

#define STEP(type, label_)                                                                         \
    {                                                                                              \
        "seconds_per_step", NVDP_RESULT_TABLE, "s", NVDP_SCOPE_RUN, -1, "time of a step",          \
            NVDP_RESULT_AT(type, step), .label = label_, .of = &times_table                        \
    }
#define MEMORY(type)                                                                               \
    NVDP_RESULT_ROW(type, peak_rss, "bytes", NVDP_SCOPE_RUN, -1, "memory at its peak",             \
                    .label = "memory", .scale = 1. / (1 << 20), .after = " MiB at peak")
#define MACHINE(type)                                                                              \
    NVDP_RESULT_ROW(type, machine, NULL, NVDP_SCOPE_RUN, 0, "processor", .label = "machine")

/* --- train and encode --- */

#define STEPS(member, ...) NVDP_RESULT_ROW(struct bench_result, member, __VA_ARGS__)

static const char *precision_name(int precision) {
    return nvdp_precision_name((enum nvdp_precision)precision);
}

const struct nvdp_result_table bench_steps_table = {
    .name = "steps",
    .help = "speed of training or encoding",
    .rows = (const struct nvdp_result_row[]){
        STEPS(tokens_per_second, "tokens/s", NVDP_SCOPE_RUN, 1, "speed of all steps",
              .label = "speed", .after = " tokens/s"),
        STEPS(tokens_per_second_best, "tokens/s", NVDP_SCOPE_RUN, 1, "speed of the fastest step",
              .label = "fastest step", .after = " tokens/s"),
        STEPS(gflops, "Gflop/s", NVDP_SCOPE_RUN, 1, "of the encoder's products", .label = "encoder",
              .decimals = 1, .after = " Gflop/s"),
        STEPS(encoder_gflops, "Gflop/s", NVDP_SCOPE_RUN, 1, "of the products with weights alone"),
        STEPS(fraction_of_gemm_peak, NULL, NVDP_SCOPE_RUN, 1,
              "gflops over those of a large product", .label = "share of the peak", .decimals = 1,
              .scale = 100, .after = " %"),
        STEPS(peak_flops, "flop/s", NVDP_SCOPE_RUN, 0, "speed of a large product", .label = "peak",
              .decimals = 1, .scale = 1e-9, .after = " Gflop/s of a large product"),
        STEP(struct bench_result, "step"),
        STEPS(texts, "texts", NVDP_SCOPE_RUN, 0, "in the timed steps", .label = "texts"),
        STEPS(tokens, "tokens", NVDP_SCOPE_RUN, 0, "in the timed steps", .label = "tokens"),
        STEPS(parameters, NULL, NVDP_SCOPE_MODEL, 0, "weights of the model", .label = "parameters"),
        {"precision", NVDP_RESULT_ENUM, .scope = NVDP_SCOPE_RUN, .help = "f32, bf16 or int8",
         NVDP_RESULT_AT(struct bench_result, precision), .label = "precision",
         .word = precision_name},
        STEPS(dropout, NULL, NVDP_SCOPE_RUN, 0, "of the steps"),
        MEMORY(struct bench_result),
        STEPS(start_to_first_step_seconds, "s", NVDP_SCOPE_RUN, -1,
              "from the start of the program, without weights_seconds", .label = "start",
              .decimals = 2, .after = " s until the first step"),
        STEPS(weights_seconds, "s", NVDP_SCOPE_RUN, -1, "time to make random weights",
              .label = "random weights", .decimals = 2, .after = " s"),
        MACHINE(struct bench_result),
        {0}}};

/* --- rd --- */

#define RD(member, ...) NVDP_RESULT_ROW(struct bench_rd_result, member, __VA_ARGS__)

const struct nvdp_result_table bench_rd_table = {
    .name = "rd",
    .help = "speed of the divergences of all pairs",
    .rows = (const struct nvdp_result_row[]){
        RD(pair_elements_per_second, NULL, NVDP_SCOPE_RUN, 1, "pairs x components x dimensions / s",
           .label = "speed", .decimals = 3, .scale = 1e-9, .after = " G pair-elements/s"),
        RD(pairs_per_second, "pairs/s", NVDP_SCOPE_RUN, 1, "speed", .label = "pairs per second"),
        STEP(struct bench_rd_result, "all pairs"),
        RD(pairs, "pairs", NVDP_SCOPE_RUN, 0, "ordered pairs of texts", .label = "pairs"),
        {"max", NVDP_RESULT_REAL, "nats", NVDP_SCOPE_PAIR, 0, "largest divergence",
         NVDP_RESULT_AT(struct bench_rd_result, sum.max), .label = "largest", .after = " nats"},
        {"mean", NVDP_RESULT_REAL, "nats", NVDP_SCOPE_PAIR, 0, "mean divergence",
         NVDP_RESULT_AT(struct bench_rd_result, sum.mean), .label = "mean", .after = " nats"},
        MEMORY(struct bench_rd_result),
        MACHINE(struct bench_rd_result),
        {0}}};

/* --- sanitize --- */

#define SANITIZE(member, ...) NVDP_RESULT_ROW(struct bench_sanitize_result, member, __VA_ARGS__)

const struct nvdp_result_table bench_sanitize_table = {
    .name = "sanitize",
    .help = "speed of drawing tokens",
    .rows = (const struct nvdp_result_row[]){
        SANITIZE(tokens_per_second, "tokens/s", NVDP_SCOPE_RUN, 1, "speed", .label = "speed",
                 .after = " tokens/s"),
        STEP(struct bench_sanitize_result, "step"),
        SANITIZE(vocabulary, "tokens", NVDP_SCOPE_RUN, 0, "tokens of the table", .label = "table",
                 .after = " tokens"),
        SANITIZE(dim, NULL, NVDP_SCOPE_RUN, 0, "width of the table", .label = "dimensions"),
        SANITIZE(table_seconds, "s", NVDP_SCOPE_RUN, -1, "time to read or make the table",
                 .label = "made in", .after = " s"),
        SANITIZE(changed, NULL, NVDP_SCOPE_TEXT, 0, "share of changed tokens", .label = "changed",
                 .decimals = 2, .scale = 100, .after = " % of the tokens"),
        MEMORY(struct bench_sanitize_result),
        MACHINE(struct bench_sanitize_result),
        {0}}};

/* --- noise --- */

static const struct nvdp_result_table speed_table = {
    .name = "speed",
    .help = "speed of drawing normals",
    .rows = (const struct nvdp_result_row[]){
        STEP(struct bench_noise_speed, NULL),
        NVDP_RESULT_ROW(struct bench_noise_speed, values_per_second, NULL, NVDP_SCOPE_RUN, 1,
                        "on all threads", .label = "million values/s", .decimals = 1,
                        .scale = 1e-6),
        {0}}};

const struct nvdp_result_table bench_noise_table = {
    .name = "noise",
    .help = "speed of the noise of a release",
    .rows = (const struct nvdp_result_row[]){
        {"exact", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_RUN, .help = "normals on the exact grid",
         NVDP_RESULT_AT(struct bench_noise_result, exact), .label = "exact", .of = &speed_table},
        {"double", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_RUN, .help = "normals in double",
         NVDP_RESULT_AT(struct bench_noise_result, in_double), .label = "in double",
         .of = &speed_table},
        MACHINE(struct bench_noise_result),
        {0}}};
