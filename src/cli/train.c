/* nvdp train: fine-tunes an encoder with a bottleneck; writes a run directory. */
#include "common.h"
#include "run_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct values {
    struct nvdp_train_config config;
    const char *resume;
    bool dry_run;
    bool no_cache;
    char usual_cache[CLI_PATH_ROOM];
};

static const struct cli_choice protocols[] = {
    {"holdout", NVDP_PROTOCOL_HOLDOUT},
    {"dev", NVDP_PROTOCOL_DEV},
    {0},
};
static const struct cli_choice policies[] = {
    {"hidden", NVDP_LENGTH_HIDDEN},
    {"public", NVDP_LENGTH_PUBLIC},
    {0},
};
static const struct cli_choice pools[] = {
    {"auto", NVDP_POOL_AUTO},
    {"first", NVDP_POOL_FIRST},
    {"mean", NVDP_POOL_MEAN},
    {"weighted", NVDP_POOL_WEIGHTED},
    {0},
};
static const struct cli_choice queries[] = {
    {"sampled", NVDP_QUERY_SAMPLED},
    {"clean", NVDP_QUERY_CLEAN},
    {0},
};
static const struct cli_choice vtdp_pools[] = {
    {"last", NVDP_VTDP_POOL_LAST},
    {"first", NVDP_VTDP_POOL_FIRST},
    {0},
};
static const struct cli_choice clip_gradients[] = {
    {"clamp", NVDP_CLIP_GRADIENT_CLAMP},
    {"inward", NVDP_CLIP_GRADIENT_INWARD},
    {0},
};
static const struct cli_choice regularizers[] = {
    {"published", NVDP_REGULARIZER_PUBLISHED},
    {"kl", NVDP_REGULARIZER_KL},
    {0},
};
static const struct cli_choice anchors[] = {
    {"zero", NVDP_DECAY_TO_ZERO},
    {"pretrained", NVDP_DECAY_TO_PRETRAINED},
    {0},
};
static const struct cli_choice schedules[] = {
    {"constant", NVDP_KL_CONSTANT},
    {"warmup", NVDP_KL_WARMUP},
    {"decay", NVDP_KL_DECAY},
    {0},
};

#define AT(field) offsetof(struct values, config.field)
#define NVIB(field) offsetof(struct values, config.nvib.field)

static const struct cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Task and data:"},
    CLI_OPTION("task", "TASK",
               "sst2, mrpc, stsb, rte, qqp, qnli, cola, mnli, or tsv (a file of your own)",
               CLI_TEXT, AT(task)),
    CLI_OPTION("data", "DIR", "folder with train.tsv and dev.tsv", CLI_TEXT, AT(data)),
    CLI_OPTION("text-column", "NAME", "tsv: header of the column with the text", CLI_TEXT,
               AT(columns.text_column)),
    CLI_OPTION("text-pair-column", "NAME", "tsv: header of the second text's column", CLI_TEXT,
               AT(columns.text_pair_column)),
    CLI_OPTION("label-column", "NAME", "tsv: header of the label's column", CLI_TEXT,
               AT(columns.label_column)),
    CLI_OPTION("regression", NULL, "tsv: labels are scores", CLI_FLAG, AT(columns.regression)),
    CLI_OPTION("max-length", "N", "tokens a text is cut to", CLI_SIZE, AT(max_length)),
    CLI_OPTION("limit-train", "N", "train on a seeded sample of N rows; 0: all", CLI_SIZE,
               AT(limit_train)),
    CLI_OPTION("skip-bad-rows", NULL, "count malformed rows instead of stopping at the first",
               CLI_FLAG, AT(skip_bad_rows)),
    CLI_OPTION("protocol", "P",
               "select the epoch on a part of train (holdout) or on the dev file (dev)", CLI_CHOICE,
               AT(protocol), .choices = protocols),
    CLI_OPTION("holdout", "X", "share of train kept for validation", CLI_REAL, AT(holdout)),

    {.kind = CLI_HEADING, .help = "Model:"},
    CLI_OPTION("model", "DIR", "BERT to start from, a directory in Hugging Face layout", CLI_TEXT,
               AT(model)),
    CLI_OPTION("method", "M", "base, reg, vib-fixed, vib-learned, vtdp or nvdp", CLI_CHOICE,
               AT(method), .choices = cli_methods),
    CLI_OPTION("dropout", "X",
               "hidden and attention dropout; negative: the checkpoint's; reg implies 0.1",
               CLI_REAL, AT(dropout)),
    CLI_OPTION("classifier-dropout", "X", "dropout before the classifier; reg implies 0.1",
               CLI_REAL, AT(classifier_dropout)),
    CLI_OPTION(
        "freeze-layers", "K",
        "the embeddings and the first K layers keep the checkpoint's weights and run without "
        "dropout; what they make of the texts is computed once; 0: train all",
        CLI_SIZE, AT(freeze_layers)),
    CLI_OPTION("precision", "P", "f32 or bf16", CLI_CHOICE, AT(precision),
               .choices = cli_precisions),

    {.kind = CLI_HEADING, .help = "Bottleneck:"},
    CLI_OPTION("latent-dim", "N", "width of a vector of the sample; 0: the encoder's", CLI_SIZE,
               NVIB(latent_dim)),
    CLI_OPTION("latent-heads", "N", "attention heads over the sample; 0: the encoder's", CLI_SIZE,
               NVIB(latent_heads)),
    CLI_OPTION("mu-tau", "X", "initial scale of the means", CLI_REAL, NVIB(mu_tau)),
    CLI_OPTION("stdev-tau", "X", "initial scale of the standard deviations", CLI_REAL,
               NVIB(stdev_tau)),
    CLI_OPTION("alpha-tau", "X", "initial shift of the log pseudo-counts", CLI_REAL,
               NVIB(alpha_tau)),
    CLI_OPTION("prior-alpha", "X", "pseudo-count of the prior component", CLI_REAL,
               NVIB(prior_alpha)),
    CLI_OPTION("delta", "X", "pseudo-counts a token adds to the conditional prior", CLI_REAL,
               NVIB(delta)),
    CLI_OPTION("kappa", "N", "vectors drawn a component", CLI_INT, NVIB(kappa)),
    CLI_OPTION("length-policy", "P",
               "pad every text to L components (hidden) or release n (public)", CLI_CHOICE,
               NVIB(length_policy), .choices = policies),
    CLI_OPTION("length", "L", "hidden policy: tokens a text is padded to; 0: --max-length",
               CLI_SIZE, NVIB(length)),
    CLI_OPTION("pool", "P", "auto, first, mean or weighted", CLI_CHOICE, NVIB(pool),
               .choices = pools),
    CLI_OPTION("query", "Q",
               "queries from the sample (sampled) or from un-noised means (clean: leaks)",
               CLI_CHOICE, NVIB(query), .choices = queries),
    CLI_OPTION("vib-sigma", "X", "vib-fixed: standard deviation of the noise", CLI_REAL,
               NVIB(vib.sigma)),
    CLI_OPTION("vtdp-pool", "P",
               "vtdp: pool the noised tokens (last) or noise one pooled vector (first)", CLI_CHOICE,
               NVIB(vib.vtdp_pool), .choices = vtdp_pools),
    CLI_OPTION("clip-mu", "R", "clip |mu| to R", CLI_REAL, NVIB(clip.mu_radius)),
    CLI_OPTION("clip-logvar-min", "X", "least log variance", CLI_REAL, NVIB(clip.logvar_min)),
    CLI_OPTION("clip-logvar-max", "X", "largest log variance", CLI_REAL, NVIB(clip.logvar_max)),
    CLI_OPTION("clip-alpha-min", "X", "least pseudo-count", CLI_REAL, NVIB(clip.alpha_min)),
    CLI_OPTION("clip-alpha-max", "X", "largest pseudo-count", CLI_REAL, NVIB(clip.alpha_max)),
    CLI_OPTION("clip-gradient", "G",
               "of what is clipped: none (clamp), or only what leads back inside (inward)",
               CLI_CHOICE, NVIB(clip.gradient), .choices = clip_gradients),

    {.kind = CLI_HEADING, .help = "Privacy's weight in the loss:"},
    CLI_OPTION("lambda-g", "X", "weight of the Gaussian regulariser", CLI_REAL, AT(lambda_g)),
    CLI_OPTION("lambda-d", "X", "weight of the Dirichlet regulariser", CLI_REAL, AT(lambda_d)),
    CLI_OPTION("lambda", "X", "sets --lambda-g and --lambda-d", CLI_REAL, AT(lambda_g),
               .also = AT(lambda_d), .no_default = true),
    CLI_OPTION("regularizer", "R", "published (the papers' means) or kl (exact, in nats)",
               CLI_CHOICE, NVIB(regularizer), .choices = regularizers),
    CLI_OPTION("kl-schedule", "S",
               "constant, warmup or decay; regularizer kl implies warmup, delay 0.2, ramp 0.5",
               CLI_CHOICE, AT(kl_schedule), .choices = schedules),
    CLI_OPTION("kl-delay", "X", "warmup: share of the steps with weight 0", CLI_REAL, AT(kl_delay)),
    CLI_OPTION("kl-ramp", "X", "warmup: share of the steps over which the weight rises to 1",
               CLI_REAL, AT(kl_ramp)),

    {.kind = CLI_HEADING, .help = "Optimiser:"},
    CLI_OPTION("epochs", "N", "passes over the training texts", CLI_SIZE, AT(epochs)),
    CLI_OPTION("batch", "N", "texts a step", CLI_SIZE, AT(batch)),
    CLI_ADAMW_OPTIONS(struct values),
    CLI_OPTION("decay-to", "W",
               "weight decay pulls towards zero, or the checkpoint's weights (pretrained; what it "
               "lacks, as the classifier, towards 0); reg implies pretrained and weight decay 0.01",
               CLI_CHOICE, AT(decay_to), .choices = anchors),
    CLI_OPTION("patience", "N", "epochs without improvement before stopping; 0: never", CLI_SIZE,
               AT(patience)),
    CLI_OPTION("seed", "N", "of everything random", CLI_SEED, AT(seed)),

    {.kind = CLI_HEADING, .help = "Output:"},
    CLI_OPTION("out", "RUN", "run directory", CLI_TEXT, AT(out)),
    CLI_OPTION("resume", "RUN", "continue the run in this directory with its own configuration",
               CLI_TEXT, offsetof(struct values, resume)),
    CLI_OPTION("overwrite", NULL, "empty a non-empty run directory first", CLI_FLAG, AT(overwrite)),
    CLI_OPTION("dry-run", NULL, "print the configuration, sizes and memory; train nothing",
               CLI_FLAG, offsetof(struct values, dry_run)),
    CLI_CACHE_OPTIONS(struct values),
    CLI_OPTION("no-prefix-cache", NULL, "compute frozen layers' states in each step, keep none",
               CLI_FLAG, AT(recompute_prefix)),
    CLI_OPTION("eval-batch", "N", "texts a batch of evaluation", CLI_SIZE, AT(eval_batch)),
    CLI_OPTION("eval-draws", "N", "noise draws of the final score", CLI_SIZE, AT(eval_draws)),
    CLI_OPTION("log-every", "N", "steps between lines in metrics.jsonl", CLI_SIZE, AT(log_every)),
    CLI_OPTION("checkpoint-seconds", "X", "seconds between saved states within an epoch", CLI_REAL,
               AT(checkpoint_seconds)),
    {0},
};

/* --- the configuration --- */

/* Options that say how this call works, not what the run is. */
static bool is_of_the_call(const char *name) {
    static const char *const names[] = {"resume", "threads",  "quiet",          "json",
                                        "cache",  "no-cache", "no-prefix-cache"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) return true;
    }
    return false;
}

static int resume_run(struct cli *cli, struct values *values) {
    for (size_t i = 0; i < cli->settings.count; i++) {
        const char *name = cli->settings.item[i].option->name;
        if (!is_of_the_call(name))
            return cli_usage(cli, "option --%s: a resumed run keeps its own configuration", name);
    }
    values->config.resume = true;
    values->config.out = values->resume;
    return CLI_SUCCESS;
}

/* Defaults that follow from the method and the regulariser, where nothing else is asked for. */
static void take_implied(const struct cli *cli, struct nvdp_train_config *config) {
    struct nvdp_train_config implied = *config;
    nvdp_train_config_imply(&implied);
    if (!cli_given(cli, "dropout")) config->dropout = implied.dropout;
    if (!cli_given(cli, "classifier-dropout"))
        config->classifier_dropout = implied.classifier_dropout;
    if (!cli_given(cli, "weight-decay")) config->weight_decay = implied.weight_decay;
    if (!cli_given(cli, "decay-to")) config->decay_to = implied.decay_to;
    if (!cli_given(cli, "kl-schedule")) config->kl_schedule = implied.kl_schedule;
    if (!cli_given(cli, "kl-delay")) config->kl_delay = implied.kl_delay;
    if (!cli_given(cli, "kl-ramp")) config->kl_ramp = implied.kl_ramp;
}

static int resolve(struct cli *cli, struct values *values) {
    struct nvdp_train_config *config = &values->config;
    int code = cli_resolve_cache(cli, values->no_cache, values->usual_cache, &config->cache);
    if (code != CLI_SUCCESS) return code;
    if (values->resume != NULL) return resume_run(cli, values);
    if (config->task == NULL) return cli_usage(cli, "option --task is needed");
    if (config->data == NULL) return cli_usage(cli, "option --data is needed");
    if (config->model == NULL) return cli_usage(cli, "option --model is needed");
    if (strcmp(config->task, "tsv") == 0 && config->columns.text_column == NULL)
        return cli_usage(cli, "option --text-column is needed for --task tsv");
    if (strcmp(config->task, "tsv") == 0 && config->columns.label_column == NULL)
        return cli_usage(cli, "option --label-column is needed for --task tsv");
    if (config->out == NULL && values->dry_run) config->out = "run"; /* nothing is written */
    if (config->out == NULL) return cli_usage(cli, "option --out is needed");
    take_implied(cli, config);
    return CLI_SUCCESS;
}

/* --- --dry-run --- */

static json_t *plan_json(const struct nvdp_train_plan *plan) {
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "train_texts",
                     (json_int_t)plan->train_texts, "validation_texts",
                     (json_int_t)plan->validation_texts, "test_texts", (json_int_t)plan->test_texts,
                     "parameters", (json_int_t)plan->parameters, "frozen_parameters",
                     (json_int_t)plan->frozen_parameters, "prefix_cache_bytes",
                     (json_int_t)plan->prefix_bytes, "steps", (json_int_t)plan->steps,
                     "memory_bytes", (json_int_t)plan->memory_bytes);
}

static void plan_print(const struct nvdp_train_plan *plan) {
    cli_row(stdout, "train texts", "%zu", plan->train_texts);
    cli_row(stdout, "validation texts", "%zu", plan->validation_texts);
    cli_row(stdout, "test texts", "%zu", plan->test_texts);
    cli_row(stdout, "parameters", "%zu", plan->parameters);
    if (plan->frozen_parameters > 0) {
        cli_row(stdout, "frozen parameters", "%zu", plan->frozen_parameters);
        cli_row(stdout, "frozen states", "%.0f MiB in the cache",
                (double)plan->prefix_bytes / (1 << 20));
    }
    cli_row(stdout, "steps", "%" PRIu64, plan->steps);
    cli_row(stdout, "memory", "%.0f MiB", (double)plan->memory_bytes / (1 << 20));
}

static int dry_run(struct cli *cli, const struct values *values) {
    struct nvdp_train_plan plan;
    char *text = NULL;
    struct nvdp_train_config config = values->config;
    nvdp_status status = nvdp_train_plan(cli->ctx, &config, &plan);
    if (status != NVDP_OK) return cli_fail(cli, status);
    config.nvib = plan.nvib;
    status = nvdp_train_config_json(cli->ctx, &config, &text);
    if (status != NVDP_OK) return cli_fail(cli, status);
    int code = CLI_SUCCESS;
    if (cli->json) {
        json_t *configuration = json_loads(text, 0, NULL);
        code = cli_print_json(
            cli, json_pack("{s:o, s:o}", "configuration", configuration, "plan", plan_json(&plan)));
    } else {
        code = cli_print_json(cli, json_loads(text, 0, NULL));
        plan_print(&plan);
    }
    free(text);
    return code;
}

/* --- the result --- */

static json_t *result_json(const struct nvdp_train_config *config,
                           const struct nvdp_train_result *result) {
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:b, s:o, s:{s:o, s:I, s:I, s:o}, s:o, s:o, s:o, s:o}", "out",
        config->out, "epochs_run", (json_int_t)result->epochs_run, "best_epoch",
        (json_int_t)result->best_epoch, "steps", (json_int_t)result->steps, "early_stopped",
        result->early_stopped, "validation", cli_number(result->best_validation), "test", "metrics",
        cli_scores_json(&result->test), "n", (json_int_t)result->test.n, "draws",
        (json_int_t)result->test.draws, "majority", cli_number(result->test.majority), "loss_g",
        cli_number(result->loss_g), "loss_d", cli_number(result->loss_d), "seconds",
        cli_number(result->seconds), "tokens_per_second", cli_number(result->tokens_per_second));
}

static void result_print(const struct nvdp_train_config *config,
                         const struct nvdp_train_result *result) {
    cli_row(stdout, "best epoch", "%zu of %zu%s", result->best_epoch, result->epochs_run,
            result->early_stopped ? " (stopped early)" : "");
    if (result->test.metrics > 0)
        cli_row(stdout, "validation", "%.4f  (%s)", result->best_validation,
                nvdp_metric_name(result->test.metric[0]));
    cli_scores_print(&result->test, stdout);
    cli_row(stdout, "time", "%.1f s, %.0f tokens/s", result->seconds, result->tokens_per_second);
    cli_row(stdout, "run", "%s", config->out);
}

static int run(struct cli *cli) {
    struct values values = {.config = nvdp_train_config_default()};
    int code = cli_begin(cli, &values);
    if (code == CLI_SUCCESS) code = resolve(cli, &values);
    if (code != CLI_SUCCESS) return code;
    if (values.dry_run) return dry_run(cli, &values);
    struct nvdp_train_result result;
    nvdp_status status = nvdp_train(cli->ctx, &values.config, &result);
    if (status != NVDP_OK) return cli_fail(cli, status);
    if (cli->json) return cli_print_json(cli, result_json(&values.config, &result));
    result_print(&values.config, &result);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_train = {
    .name = "train",
    .summary = "fine-tune an encoder with a private bottleneck",
    .args_max = 0,
    .description = "Fine-tunes BERT with a bottleneck on a task, scores it on the dev file with "
                   "fresh noise, and writes a run directory.",
    .examples = "Examples:\n"
                "  nvdp train --task mrpc --data MRPC --model bert --lambda 1e-2 --out run\n"
                "  nvdp train --task tsv --data mine --text-column text --label-column label \\\n"
                "    --model bert --method vib-learned --lambda-g 1e-3 --out run\n"
                "  nvdp train --config mrpc.json --seed 2 --out run2\n"
                "  nvdp train --resume run\n",
    .options = options,
    .takes = CLI_TAKES_JSON,
    .run = run,
};
