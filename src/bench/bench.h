/* How fast the library is on this machine: what `nvdp bench` prints.
 *
 * Weights are random, and so are the texts unless a data set is named: speed does not depend on
 * them.  Times are a step's; what precedes the first step is told apart. */
#ifndef NVDP_SRC_BENCH_BENCH_H
#define NVDP_SRC_BENCH_BENCH_H

#include <nvdp/rdp.h>
#include <nvdp/sanitize.h>
#include <nvdp/train.h>

enum bench_work {
    BENCH_TRAIN, /* forward, backward, clipping, AdamW: nvdp_train's own step */
    BENCH_ENCODE /* forward passes without gradients, as in evaluation and export */
};

struct bench_config {
    enum bench_work work;
    /* One of nvdp_bert_config_find's names; NULL: the sizes in train.model's config.json. */
    const char *arch;
    /* As nvdp_train takes it: method, nvib, batch, dropout, lambdas, seed.  With `data` (and then
     * `task` and, for its vocabulary, `model`) the batches are those of the task's train file in
     * the order of the epochs; without, texts of max_length random tokens each.  `out` is not used.
     */
    const struct nvdp_config *train;
    size_t steps;        /* timed, after one that is not */
    const char *batches; /* JSON lines file to write the timed batches to, or NULL */
};
/* Training of arch base, 32 texts of 128 tokens, 3 steps, the checkpoint's dropout (0.1). */
struct bench_config bench_config_default(void);

struct bench_times {
    size_t count;
    double min, median, mean; /* seconds */
};

struct bench_result {
    struct bench_times step;
    size_t texts, tokens;          /* of the timed steps; there is no padding */
    double tokens_per_second;      /* over all timed steps */
    double tokens_per_second_best; /* of the fastest step */
    /* Flop/s over all timed steps.  `flops` counts twice the multiply-adds of the encoder's dense
     * products and of its attention's two products over real lengths, three times for training
     * (frozen layers once); `encoder_flops` 12 D^2 layers weights a token instead, twice forward,
     * six times in training. Bottleneck and head are in the time and not in the count. */
    double flops, encoder_flops;
    enum nvdp_precision precision; /* f32 where bf16 was asked for and is not to be had */
    double peak_flops; /* of large products in the same precision, measured after the steps */
    double dropout;    /* of the steps */
    size_t parameters;
    size_t peak_rss;                    /* bytes, before the products were measured */
    double start_to_first_step_seconds; /* from the process's start, random weights apart; NaN where
                                           unknown */
    double weights_seconds;             /* making the random weights */
    char machine[96];                   /* the processor's name */
};

/* NVDP_ERR_ARGUMENT for options out of range; honours cancel between steps. */
nvdp_status run_bench(struct nvdp_context *ctx, const struct bench_config *config,
                      struct bench_result *out);

/* All ordered pairs' divergences of random posteriors: means normal with standard deviation .3, log
 * variances with .1, log pseudo-counts with .2. */
struct bench_rd_config {
    size_t texts, components, dim; /* components: the prior and one a token, no padding */
    double order;
    size_t steps; /* times all pairs are gone through */
    uint64_t seed;
};
/* 408 texts, 129 components, 768 dimensions, order 1.1, once. */
struct bench_rd_config bench_rd_config_default(void);

struct bench_rd_result {
    struct bench_times step;
    size_t pairs; /* ordered */
    double pairs_per_second;
    double pair_elements_per_second; /* pairs x components x dimensions */
    size_t peak_rss;                 /* bytes */
    struct nvdp_divergence_summary sum;
    char machine[96];
};

nvdp_status bench_rd(struct nvdp_context *ctx, const struct bench_rd_config *config,
                     struct bench_rd_result *out);

/* Draws of a text mechanism for uniformly random tokens of the table. */
struct bench_sanitize_config {
    /* As nvdp_sanitizer_create() takes it; without model and vectors a table of `vocabulary` x `dim`
     * normals, times 1 / sqrt(dim).  laplace is laplace-nearest without the search. */
    const struct nvdp_config *sanitizer;
    size_t vocabulary, dim;
    size_t texts, length; /* of a step */
    size_t steps;         /* timed, after one that is not */
    uint64_t seed;
};
/* 30,522 tokens of 768 dimensions, 256 texts of 32 tokens, 3 steps. */
struct bench_sanitize_config bench_sanitize_config_default(void);

struct bench_sanitize_result {
    struct bench_times step;
    size_t vocabulary, dim, tokens; /* tokens of a step */
    double tokens_per_second;
    double table_seconds; /* reading or making the table */
    double changed;       /* share of the tokens; NaN of laplace */
    size_t peak_rss;      /* bytes */
    char machine[96];
};

nvdp_status bench_sanitize(struct nvdp_context *ctx, const struct bench_sanitize_config *config,
                           struct bench_sanitize_result *out);

/* Normals of a release: exact ones on a grid, and those of the float16 grid, added in double. */
struct bench_noise_config {
    size_t values; /* of a step */
    size_t steps;  /* timed, after one that is not */
};
/* 4,194,304 values, 3 steps. */
struct bench_noise_config bench_noise_config_default(void);

struct bench_noise_result {
    struct bench_times exact, in_double;
    double exact_per_second, in_double_per_second; /* values, on all threads */
    char machine[96];
};

nvdp_status bench_noise(struct nvdp_context *ctx, const struct bench_noise_config *config,
                        struct bench_noise_result *out);

#endif
