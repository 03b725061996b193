/* nvdp bench: measures the speed of training, encoding, pairwise measuring, sanitizing and drawing noise on this
 * machine. Each kind of work has a section: make its configuration, run it, print it. */
#include "bench/bench.h"
#include "common.h"

#include <stdlib.h>
#include <string.h>

struct values {
    struct bench_config config;
    struct bench_rd_config rd;
    struct bench_sanitize_config sanitize;
    struct bench_noise_config noise;
    struct nvdp_config *train;     /* configuration of the training step */
    struct nvdp_config *sanitizer; /* configuration of the token draws */
    size_t steps;
};

static void release(const struct values *values) {
    nvdp_config_free(values->train);
    nvdp_config_free(values->sanitizer);
}

#define RD(field) NVDP_OPTION_AT(struct values, rd.field)

static const struct nvdp_option options[] = {
    {"arch", NVDP_OPTION_TEXT, "A",
     "size of the encoder: tiny, mini, small, base or large, as Google's BERT models; default "
     "base, or the sizes of --model",
     NVDP_OPTION_AT(struct values, config.arch),
     .group = "Options of train and encode:", .traits = NVDP_TRAIT_NO_DEFAULT},
    {"method", NVDP_OPTION_TEXT, "M", "train: as in nvdp train", .default_value = "nvdp"},
    {"batch", NVDP_OPTION_INTEGER, "N", "texts per step", .default_value = "32"},
    {"length", NVDP_OPTION_INTEGER, "N", "tokens per random text", .default_value = "128"},
    {"precision", NVDP_OPTION_CHOICE, "P", "f32, bf16, or int8 (encode)", .default_value = "f32",
     .choices = cli_precisions},
    {"dropout", NVDP_OPTION_REAL, "X",
     "train: dropout of hidden states and attention; negative: the checkpoint's value, 0.1",
     .default_value = "-1"},
    {"freeze-layers", NVDP_OPTION_INTEGER, "K",
     "train: freeze the embeddings and the first K layers, and compute them in each step",
     .default_value = "0"},
    {"dp", NVDP_OPTION_FLAG, NULL,
     "train: private training, which clips each text's gradient and adds noise to the sum",
     .default_value = NULL},
    {"latent-dim", NVDP_OPTION_INTEGER, "N",
     "nvdp: width of a vector of the sample; 0: the width of the encoder", .default_value = "0"},
    {"data", NVDP_OPTION_TEXT, "DIR", "use the texts of a task's train.tsv in place of random ones",
     .default_value = NULL},
    {"task", NVDP_OPTION_TEXT, "TASK",
     "with --data: sst2, mrpc, stsb, rte, qqp, qnli, cola or mnli", .default_value = NULL},
    {"max-length", NVDP_OPTION_INTEGER, "N", "with --data: maximum number of tokens per text",
     .default_value = "128", .traits = NVDP_TRAIT_NO_DEFAULT},
    {"model", NVDP_OPTION_TEXT, "DIR",
     "directory of a model with the sizes and, with --data, the vocabulary to use; the weights "
     "stay random",
     .default_value = NULL},
    {"write-batches", NVDP_OPTION_TEXT, "F.jsonl",
     "write the token ids of the timed batches, one batch per line",
     NVDP_OPTION_AT(struct values, config.batches)},

    {"texts", NVDP_OPTION_INTEGER, "N", "number of texts, all of whose ordered pairs are measured",
     RD(texts), .group = "Options of rd:"},
    {"components", NVDP_OPTION_INTEGER, "N", "components of a sample, including the prior's",
     RD(components)},
    {"dim", NVDP_OPTION_INTEGER, "N", "dimensions of a component", RD(dim)},
    {"order", NVDP_OPTION_REAL, "X", "order of the Renyi divergence", RD(order)},

    {"mechanism", NVDP_OPTION_TEXT, "M",
     "mechanism: laplace, laplace-nearest, santext, santext-plus or random",
     .default_value = "laplace-nearest",
     .group = "Options of sanitize (and --texts, --length, --dim):"},
    {"eta", NVDP_OPTION_TEXT, "E", "noise in nats per unit of distance", .default_value = "100"},
    {"vectors", NVDP_OPTION_TEXT, "FILE",
     "word vectors; default: the word embeddings of --model, or a random table",
     .default_value = NULL},
    {"vocabulary", NVDP_OPTION_INTEGER, "N", "number of tokens in a random table",
     NVDP_OPTION_AT(struct values, sanitize.vocabulary)},

    {"values", NVDP_OPTION_INTEGER, "N", "normal draws per step",
     NVDP_OPTION_AT(struct values, noise.values), .group = "Options of noise:"},

    {"steps", NVDP_OPTION_INTEGER, "N", "number of repetitions; default 3, for rd 1",
     NVDP_OPTION_AT(struct values, steps),
     .group = "Options of all:", .traits = NVDP_TRAIT_NO_DEFAULT},
    {"seed", NVDP_OPTION_SEED, "N", "seed of the weights, texts, noise and posteriors", RD(seed)},
    {0},
};

/* --- the configuration --- */

/* Options that do not apply to training and encoding, and options that apply to the other kinds of work. */
static const char *const not_training[] = {"texts",     "components", "dim",     "order",
                                           "mechanism", "eta",        "vectors", "vocabulary",
                                           "values",    NULL};
static const char *const of_noise[] = {"values", "steps", NULL};
static const char *const of_rd[] = {"texts", "components", "dim", "order", "steps", "seed", NULL};
static const char *const of_sanitize[] = {"mechanism", "eta",   "vectors", "vocabulary",
                                          "model",     "texts", "length",  "dim",
                                          "steps",     "seed",  NULL};

/* Copies the sanitizer's options from the options of the command. */
static int make_sanitizer_config(struct cli *cli, struct values *values) {
    static const char *const names[] = {"mechanism", "eta", "vectors", "model", NULL};
    struct bench_sanitize_config *config = &values->sanitize;
    CLI_DO(cli, nvdp_config_create(cli->ctx, "sanitizer", &values->sanitizer));
    CLI_DO(cli, cli_copy_options(cli, names, false, values->sanitizer));
    config->sanitizer = values->sanitizer;
    config->seed = values->rd.seed;
    if (cli_given(cli, "texts")) config->texts = values->rd.texts;
    if (cli_given(cli, "dim")) config->dim = values->rd.dim;
    if (cli_given(cli, "length"))
        config->length = strtoul(nvdp_config_get(cli->config, "length"), NULL, 10);
    if (cli_given(cli, "steps")) config->steps = values->steps;
    return CLI_SUCCESS;
}

/* Copies the training options of the step from the options of the command. */
static nvdp_status make_train_config(struct cli *cli, struct values *values) {
    static const char *const names[] = {"method",        "batch",      "precision", "dropout",
                                        "freeze-layers", "latent-dim", "data",      "task",
                                        "max-length",    "model",      "seed",      NULL};
    NVDP_TRY(nvdp_config_create(cli->ctx, "train", &values->train));
    NVDP_TRY(cli_copy_options(cli, names, false, values->train));
    values->config.train = values->train;
    if (cli_given(cli, "length"))
        NVDP_TRY(
            nvdp_config_set(values->train, "max-length", nvdp_config_get(cli->config, "length")));
    if (!cli_given(cli, "dp")) return NVDP_OK;
    /* Draws on average `batch` texts of a task per step. Random texts are exactly one batch, so all of them are
     * drawn. */
    NVDP_TRY(cli_given(cli, "data")
                 ? nvdp_config_set(values->train, "dp-batch", nvdp_config_get(cli->config, "batch"))
                 : nvdp_config_set(values->train, "dp-sample-rate", "1"));
    return nvdp_config_set(values->train, "dp-noise", "1");
}

static int resolve(struct cli *cli, struct values *values) {
    struct bench_config *config = &values->config;
    const char *work = cli->arg[0];
    const bool sanitize = strcmp(work, "sanitize") == 0;
    if (strcmp(work, "train") != 0 && strcmp(work, "encode") != 0 && strcmp(work, "rd") != 0 &&
        strcmp(work, "noise") != 0 && !sanitize)
        return cli_usage(cli, "expected one of train, encode, rd, sanitize and noise, found '%s'",
                         work);
    const char *name = strcmp(work, "rd") == 0      ? cli_given_one(cli, of_rd, false)
                       : strcmp(work, "noise") == 0 ? cli_given_one(cli, of_noise, false)
                       : sanitize                   ? cli_given_one(cli, of_sanitize, false)
                                                    : cli_given_one(cli, not_training, true);
    if (name != NULL) return cli_usage(cli, "option --%s does not apply to '%s'", name, work);
    if (sanitize) return make_sanitizer_config(cli, values);
    config->work = strcmp(work, "encode") == 0 ? BENCH_ENCODE : BENCH_TRAIN;
    bool data = cli_given(cli, "data");
    const char *const training[] = {"dropout", "freeze-layers", "dp"};
    for (size_t i = 0; i < 3 && config->work == BENCH_ENCODE; i++)
        if (cli_given(cli, training[i]))
            return cli_usage(cli, "option --%s does not apply to 'encode'", training[i]);
    if (data && !cli_given(cli, "task"))
        return cli_usage(cli, "option --task is needed with --data");
    if (data && !cli_given(cli, "model"))
        return cli_usage(cli,
                         "option --model is needed with --data, because its vocabulary is used");
    if (data && cli_given(cli, "length"))
        return cli_usage(cli,
                         "option --length applies to random texts; with --data use --max-length");
    if (!data && cli_given(cli, "max-length"))
        return cli_usage(cli, "option --max-length needs --data; for random texts use --length");
    if (!data && cli_given(cli, "task")) return cli_usage(cli, "option --task needs --data");
    if (cli_given(cli, "model") && !cli_given(cli, "arch")) config->arch = NULL;
    if (cli_given(cli, "steps")) {
        config->steps = values->steps;
        values->rd.steps = values->steps;
        values->noise.steps = values->steps;
    }
    CLI_DO(cli, make_train_config(cli, values));
    return CLI_SUCCESS;
}

/* --- output; then train and encode --- */

/* Prints a result. With --json, adds the result to the configuration, whose ownership it takes, and prints both. */
static int show(struct cli *cli, json_t *config, const struct nvdp_result_table *table,
                const void *result) {
    if (cli->json) return cli_print_json(cli, nvdp__result_put(config, table, NULL, result));
    json_decref(config);
    cli_print_table(table, result);
    cli_row("threads", "%d", nvdp_context_threads(cli->ctx));
    return CLI_SUCCESS;
}

static json_int_t number(const struct nvdp_config *config, const char *name) {
    return strtoll(nvdp_config_get(config, name), NULL, 10);
}

static int run_steps(struct cli *cli, const struct values *values) {
    const struct bench_config *config = &values->config;
    const struct nvdp_config *train = values->train;
    const char *method = nvdp_config_get(train, "method");
    struct bench_result result;
    CLI_DO(cli, run_bench(cli->ctx, config, &result));
    if (!cli->json) cli_row("work", "%s, method %s", cli->arg[0], method);
    json_t *settings =
        json_pack("{s:s, s:s, s:s?, s:I, s:I, s:I, s:I, s:i, s:s?, s:s?, s:s?}", "bench",
                  cli->arg[0], "method", method, "arch", config->arch, "batch",
                  number(train, "batch"), "length", number(train, "max-length"), "steps",
                  (json_int_t)config->steps, "freeze_layers", number(train, "freeze-layers"),
                  "threads", nvdp_context_threads(cli->ctx), "data", nvdp_config_get(train, "data"),
                  "task", nvdp_config_get(train, "task"), "model", nvdp_config_get(train, "model"));
    return show(cli, settings, &bench_steps_table, &result);
}

/* --- rd --- */

static int run_rd(struct cli *cli, const struct values *values) {
    const struct bench_rd_config *config = &values->rd;
    struct bench_rd_result result;
    CLI_DO(cli, bench_rd(cli->ctx, config, &result));
    if (!cli->json)
        cli_row("work", "all ordered pairs of texts with %zu components x %zu dimensions",
                config->components, config->dim);
    json_t *settings =
        json_pack("{s:s, s:I, s:I, s:I, s:f, s:I, s:i}", "bench", "rd", "texts",
                  (json_int_t)config->texts, "components", (json_int_t)config->components, "dim",
                  (json_int_t)config->dim, "order", config->order, "steps",
                  (json_int_t)config->steps, "threads", nvdp_context_threads(cli->ctx));
    return show(cli, settings, &bench_rd_table, &result);
}

/* --- sanitize --- */

static int run_sanitize(struct cli *cli, const struct values *values) {
    const struct bench_sanitize_config *config = &values->sanitize;
    const char *mechanism = nvdp_config_get(values->sanitizer, "mechanism"),
               *eta = nvdp_config_get(values->sanitizer, "eta");
    struct bench_sanitize_result result;
    CLI_DO(cli, bench_sanitize(cli->ctx, config, &result));
    if (!cli->json) cli_row("work", "%s, eta %s", mechanism, eta);
    json_t *settings = json_pack(
        "{s:s, s:s, s:s, s:s?, s:s?, s:I, s:I, s:I, s:i}", "bench", "sanitize", "mechanism",
        mechanism, "eta", eta, "model", nvdp_config_get(values->sanitizer, "model"), "vectors",
        nvdp_config_get(values->sanitizer, "vectors"), "texts", (json_int_t)config->texts, "length",
        (json_int_t)config->length, "steps", (json_int_t)config->steps, "threads",
        nvdp_context_threads(cli->ctx));
    return show(cli, settings, &bench_sanitize_table, &result);
}

/* --- noise --- */

static int run_noise(struct cli *cli, const struct values *values) {
    const struct bench_noise_config *config = &values->noise;
    struct bench_noise_result result;
    CLI_DO(cli, bench_noise(cli->ctx, config, &result));
    if (!cli->json) cli_row("work", "%zu normal draws of the secure generator", config->values);
    json_t *settings =
        json_pack("{s:s, s:I, s:I, s:i}", "bench", "noise", "values", (json_int_t)config->values,
                  "steps", (json_int_t)config->steps, "threads", nvdp_context_threads(cli->ctx));
    return show(cli, settings, &bench_noise_table, &result);
}

static int run(struct cli *cli) {
    nvdp__auto(release) struct values values = {.config = bench_config_default,
                                                .rd = bench_rd_config_default,
                                                .sanitize = bench_sanitize_config_default,
                                                .noise = bench_noise_config_default};
    CLI_TRY(cli_begin(cli, &values));
    CLI_TRY(resolve(cli, &values));
    return strcmp(cli->arg[0], "rd") == 0         ? run_rd(cli, &values)
           : strcmp(cli->arg[0], "sanitize") == 0 ? run_sanitize(cli, &values)
           : strcmp(cli->arg[0], "noise") == 0    ? run_noise(cli, &values)
                                                  : run_steps(cli, &values);
}

const struct cli_command cli_command_bench = {
    .name = "bench",
    .summary = "measure the speed of training, encoding, divergences, text privatization and noise",
    .args = "train|encode|rd|sanitize|noise",
    .description = "Measures how fast this machine trains or encodes with random weights, computes "
                   "the divergences of all pairs of random posteriors, privatizes tokens, or draws "
                   "the noise of a release.",
    .examples = "Examples:\n"
                "  nvdp bench train --arch base --batch 32 --length 128 --steps 5\n"
                "  nvdp bench encode --arch base --json\n"
                "  nvdp bench train --data MRPC --task mrpc --model bert --method nvdp\n"
                "  nvdp bench rd --texts 408 --components 129 --dim 768\n"
                "  nvdp bench sanitize --mechanism laplace-nearest --eta 75 --model bert\n"
                "  nvdp bench noise\n",
    .options = options,
    .run = run,
};
