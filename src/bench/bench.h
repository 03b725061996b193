/* Measures the speed of the library on this machine for `nvdp bench`.
 *
 * Weights are random. Texts are random unless a data set is given. Speed does not depend on weights
 * and texts. Times are per step; the time before the first step is reported separately. */
#ifndef NVDP_SRC_BENCH_BENCH_H
#define NVDP_SRC_BENCH_BENCH_H

#include <nvdp/rdp.h>
#include <nvdp/result.h>
#include <nvdp/sanitize.h>
#include <nvdp/train.h>

enum bench_work {
    BENCH_TRAIN, /* forward, backward, clipping, AdamW: the same step as in nvdp_train */
    BENCH_ENCODE /* forward passes without gradients, as in evaluation and export */
};

struct bench_config {
    enum bench_work work;
    /* A name for nvdp_bert_config_find, or NULL for the sizes in config.json of train.model. */
    const char *arch;
    /* Options of nvdp_train: method, nvib, batch, dropout, lambdas, seed. With `data`, which needs
     * `task` and `model` (for the vocabulary), batches come from the task's train file in the order
     * of the epochs. Otherwise, every text has max_length random tokens. `out` is not used. */
    const struct nvdp_config *train;
    size_t steps;        /* timed steps; one untimed step precedes them */
    const char *batches; /* JSON lines file for the timed batches, or NULL */
};
/* The default: training of arch base, 32 texts of 128 tokens, 3 steps, the checkpoint's dropout (0.1). */
extern const struct bench_config bench_config_default;

struct bench_times {
    size_t count;
    double min, median, mean; /* seconds */
};

struct bench_result {
    struct bench_times step;
    size_t texts, tokens;          /* numbers in the timed steps, which have no padding */
    double tokens_per_second;      /* over all timed steps */
    double tokens_per_second_best; /* speed of the fastest step */
    /* Gflop/s over all timed steps. `gflops` counts two operations per multiply-add of the encoder's
     * dense products and of the two products of attention over real lengths, three times in training
     * (frozen layers once). `encoder_gflops` counts two operations per weight and token in the
     * forward pass, six in training, for 12 D^2 weights per layer. The time includes bottleneck and
     * head, but the count does not. */
    double gflops, encoder_gflops, fraction_of_gemm_peak;
    enum nvdp_precision precision; /* f32 if bf16 was requested but is not available */
    double peak_flops; /* speed of large products in the same precision, measured after the steps */
    double dropout;    /* dropout of the steps */
    size_t parameters;
    size_t peak_rss;                    /* bytes, before the large products are measured */
    double start_to_first_step_seconds; /* from the start of the process, without making random
                                         * weights; NaN if unknown */
    double weights_seconds;             /* time to make the random weights */
    char machine[96];                   /* processor name */
};

/* Returns NVDP_ERR_ARGUMENT for options out of range; can be cancelled between steps. */
nvdp_status run_bench(struct nvdp_context *ctx, const struct bench_config *config,
                      struct bench_result *out);

/* Benchmark of the divergences of all ordered pairs of random posteriors: means are normal with
 * standard deviation .3, log variances with .1, log pseudo-counts with .2. */
struct bench_rd_config {
    /* `components` are the prior and one per token, without padding. */
    size_t texts, components, dim;
    double order;
    size_t steps; /* number of passes over all pairs */
    uint64_t seed;
};
/* The default: 408 texts, 129 components, 768 dimensions, order 1.1, one pass. */
extern const struct bench_rd_config bench_rd_config_default;

struct bench_rd_result {
    struct bench_times step;
    size_t pairs; /* ordered pairs */
    double pairs_per_second;
    double pair_elements_per_second; /* pairs x components x dimensions */
    size_t peak_rss;                 /* bytes */
    struct nvdp_divergence_summary sum;
    char machine[96];
};

nvdp_status bench_rd(struct nvdp_context *ctx, const struct bench_rd_config *config,
                     struct bench_rd_result *out);

/* Benchmark of the draws of a text mechanism for uniformly random tokens of the table. */
struct bench_sanitize_config {
    /* Options of nvdp_sanitizer_create(). Without model and vectors, a table of `vocabulary` x
     * `dim` normals, times 1 / sqrt(dim). laplace is laplace-nearest without the search. */
    const struct nvdp_config *sanitizer;
    size_t vocabulary, dim;
    size_t texts, length; /* per step */
    size_t steps;         /* timed steps; one untimed step precedes them */
    uint64_t seed;
};
/* The default: 30,522 tokens of 768 dimensions, 256 texts of 32 tokens, 3 steps. */
extern const struct bench_sanitize_config bench_sanitize_config_default;

struct bench_sanitize_result {
    struct bench_times step;
    size_t vocabulary, dim, tokens; /* tokens per step */
    double tokens_per_second;
    double table_seconds; /* time to read or make the table */
    double changed;       /* share of changed tokens; NaN for laplace */
    size_t peak_rss;      /* bytes */
    char machine[96];
};

nvdp_status bench_sanitize(struct nvdp_context *ctx, const struct bench_sanitize_config *config,
                           struct bench_sanitize_result *out);

/* Benchmark of the normal draws of a release: exact normals on a grid, and normals for the float16
 * grid, which are added in double. */
struct bench_noise_config {
    size_t values; /* per step */
    size_t steps;  /* timed steps; one untimed step precedes them */
};
/* The default: 4,194,304 values, 3 steps. */
extern const struct bench_noise_config bench_noise_config_default;

struct bench_noise_speed {
    struct bench_times step;
    double values_per_second; /* on all threads */
};

struct bench_noise_result {
    struct bench_noise_speed exact, in_double;
    char machine[96];
};

nvdp_status bench_noise(struct nvdp_context *ctx, const struct bench_noise_config *config,
                        struct bench_noise_result *out);

/* The tables of the results. */
extern const struct nvdp_result_table bench_steps_table, bench_rd_table, bench_sanitize_table,
    bench_noise_table;

#endif
