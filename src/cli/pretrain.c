/* nvdp pretrain: a vocabulary and a masked language model from plain text; with --eval, the scores
 * of one. */
#include "common.h"
#include "run_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 4096 };

struct values {
    struct nvdp_pretrain_config config;
    const char *text, *eval_text; /* read from the settings: names may hold commas */
    const char *arch;
    const char *resume;
    bool dry_run;
    int dtype; /* place in dtypes */
    bool no_cache;
    /* --eval */
    bool eval;
    const char *model;
    size_t limit;
    /* the lists of files */
    const char **texts, **eval_texts;
    char *owned[2];
};

static const char *const objectives[] = {
    [NVDP_OBJECTIVE_MLM] = "mlm",
    [NVDP_OBJECTIVE_MLM_NSP] = "mlm+nsp",
    NULL,
};
static const char *const optimizers[] = {
    [NVDP_OPTIMIZER_ADAMW] = "adamw",
    [NVDP_OPTIMIZER_MUON] = "muon",
    NULL,
};
static const char *const starts[] = {
    [NVDP_START_NORMAL] = "normal",
    [NVDP_START_NEIGHBOURS] = "neighbours",
    NULL,
};
static const char *const dtypes[] = {"f32", "f16", "bf16", NULL};
static const enum nvdp_dtype dtype_of[] = {NVDP_F32, NVDP_F16, NVDP_BF16};

#define AT(field) NVDP_OPTION_AT(struct values, config.field)

static const struct nvdp_option options[] = {

    {"text", NVDP_OPTION_LIST, "FILE",
     "text to train on, plain or .xz; documents between blank lines, or between <doc ...> "
     "and </doc>; more files may follow, or more --text",
     NVDP_OPTION_AT(struct values, text), .group = "Text:"},
    {"eval-text", NVDP_OPTION_LIST, "FILE", "held-out text, more than one by repeating the option",
     NVDP_OPTION_AT(struct values, eval_text)},
    {"cache", NVDP_OPTION_TEXT, "DIR",
     "folder for tokenised texts, shared between runs (default: $XDG_CACHE_HOME/nvdp or "
     "~/.cache/nvdp); the texts can be read off it",
     AT(cache), .traits = NVDP_TRAIT_NO_DEFAULT},
    {"no-cache", NVDP_OPTION_FLAG, NULL, "keep no tokenised texts",
     NVDP_OPTION_AT(struct values, no_cache)},

    {"vocab-size", NVDP_OPTION_INTEGER, "N",
     "word pieces of a vocabulary that is trained on the text", AT(vocab_size),
     .group = "Vocabulary:"},
    {"alphabet", NVDP_OPTION_INTEGER, "N",
     "most characters it knows; words with others are unknown; 0: a 64th of its pieces, "
     "at least 100",
     AT(alphabet)},
    {"vocab", NVDP_OPTION_TEXT, "FILE", "use this vocab.txt instead", AT(vocab)},
    {"cased", NVDP_OPTION_FLAG, NULL, "keep capitals and accents", AT(cased)},

    {"init", NVDP_OPTION_TEXT, "DIR",
     "start from this model: its vocabulary, sizes and weights (heads where it has them)", AT(init),
     .group = "Model:"},
    {"arch", NVDP_OPTION_TEXT, "NAME",
     "tiny (2 layers, 128 wide), mini (4, 256), small (4, 512) or base (12, 768)",
     NVDP_OPTION_AT(struct values, arch)},
    {"hidden", NVDP_OPTION_INTEGER, "N", "width", AT(hidden)},
    {"layers", NVDP_OPTION_INTEGER, "N", "layers", AT(layers)},
    {"heads", NVDP_OPTION_INTEGER, "N", "attention heads; 0: one for each 64 of the width",
     AT(heads)},
    {"intermediate", NVDP_OPTION_INTEGER, "N",
     "inner width of the feed-forward parts; 0: 4 times the width", AT(intermediate)},
    {"max-positions", NVDP_OPTION_INTEGER, "N",
     "longest text the model will take; 0: --length, at least 128", AT(max_positions)},
    {"start", NVDP_OPTION_CHOICE, "S",
     "initial weights: normal, or neighbours: heads of the first two layers attend to "
     "neighbouring tokens",
     AT(start), .choices = starts},
    {"dropout", NVDP_OPTION_REAL, "X", "hidden and attention dropout", AT(dropout)},

    {"objective", NVDP_OPTION_CHOICE, "O",
     "mlm (masked tokens) or mlm+nsp (and next-sentence prediction)", AT(objective),
     .group = "Objective:", .choices = objectives},
    {"length", NVDP_OPTION_INTEGER, "N", "tokens of a window or pair, special ones included",
     AT(length)},
    {"mask-prob", NVDP_OPTION_REAL, "X", "share of the tokens to predict", AT(mask_prob)},
    {"whole-word", NVDP_OPTION_FLAG, NULL, "mask whole words", AT(whole_word)},

    {"steps", NVDP_OPTION_SEED, "N", "optimiser steps; 0: write vocabulary and initial weights",
     AT(steps), .group = "Optimiser:"},
    {"stop-after", NVDP_OPTION_SEED, "N",
     "end after so many steps of a schedule that is laid out for --steps; 0: after all",
     AT(stop_after)},
    {"batch", NVDP_OPTION_INTEGER, "N", "windows or pairs a step", AT(batch)},
    {"precision", NVDP_OPTION_CHOICE, "P", "of matrix products: f32 or bf16", AT(precision),
     .choices = cli_precisions},
    {"optimizer", NVDP_OPTION_CHOICE, "O",
     "adamw, or muon: orthogonal updates of weight matrices, AdamW for the rest; "
     "--lr 0 stands for 3e-3 with muon, 5e-4 with adamw",
     AT(optimizer), .choices = optimizers},
    CLI_ADAMW_OPTIONS(struct values),
    {"momentum", NVDP_OPTION_REAL, "X", "Muon's momentum", AT(momentum)},
    {"seed", NVDP_OPTION_SEED, "N", "of everything random", AT(seed)},

    {"out", NVDP_OPTION_TEXT, "DIR",
     "model directory (with --eval: file of the predicted positions, safetensors)", AT(out),
     .group = "Output:"},
    {"dtype", NVDP_OPTION_CHOICE, "T", "f32, f16 or bf16: how the weights are written",
     NVDP_OPTION_AT(struct values, dtype), .choices = dtypes},
    {"resume", NVDP_OPTION_TEXT, "DIR",
     "continue the run in this directory with its own configuration",
     NVDP_OPTION_AT(struct values, resume)},
    {"overwrite", NVDP_OPTION_FLAG, NULL, "replace what an earlier run wrote there", AT(overwrite)},
    {"dry-run", NVDP_OPTION_FLAG, NULL, "print the configuration, sizes and memory; train nothing",
     NVDP_OPTION_AT(struct values, dry_run)},
    {"log-every", NVDP_OPTION_INTEGER, "N", "steps between lines in metrics.jsonl", AT(log_every)},
    {"eval-every", NVDP_OPTION_INTEGER, "N",
     "steps between evaluations on --eval-text; 0: at the end only", AT(eval_every)},
    {"eval-limit", NVDP_OPTION_INTEGER, "N", "windows of such an evaluation, evenly spread; 0: all",
     AT(eval_limit)},
    {"save-every", NVDP_OPTION_INTEGER, "N",
     "steps between models written on the way; 0: at the end only", AT(save_every)},
    {"checkpoint-seconds", NVDP_OPTION_REAL, "X", "seconds between saved states",
     AT(checkpoint_seconds)},

    {"eval", NVDP_OPTION_FLAG, NULL,
     "score --model on --text: masked accuracy and perplexity; takes --length, --batch, "
     "--mask-prob, --whole-word, --seed, --limit, --precision, --cache, --out",
     NVDP_OPTION_AT(struct values, eval), .group = "Evaluation of a model:"},
    {"model", NVDP_OPTION_TEXT, "DIR", "the model to score", NVDP_OPTION_AT(struct values, model)},
    {"limit", NVDP_OPTION_INTEGER, "N", "windows that are scored, evenly spread; 0: all",
     NVDP_OPTION_AT(struct values, limit)},
    {0},
};

/* --- lists of files --- */

/* The values of an option as they were given on the command line, or else in files, where commas
 * part them; `more` come after them.  free() the list and *owned. */
static const char **file_list(const struct cli *cli, const char *name, char *const *more, int count,
                              size_t *files, char **owned) {
    const char *joined = nvdp_config_get(cli->config, name);
    const char **list = calloc(
        cli->settings + strlen(joined != NULL ? joined : "") + (size_t)count + 1, sizeof *list);
    *files = 0;
    for (size_t i = 0; i < cli->settings && list != NULL; i++) {
        if (strcmp(cli->setting[i].option->name, name) == 0)
            list[(*files)++] = cli->setting[i].value;
    }
    if (list != NULL && *files == 0 && joined != NULL) {
        *owned = strdup(joined);
        for (char *rest = *owned, *file; rest != NULL && (file = strsep(&rest, ",")) != NULL;)
            list[(*files)++] = file;
    }
    for (int i = 0; i < count && list != NULL; i++) {
        list[(*files)++] = more[i];
    }
    return list;
}

static int find_files(struct cli *cli, struct values *values) {
    struct nvdp_pretrain_config *config = &values->config;
    values->texts = file_list(cli, "text", cli->arg, cli->args, &config->texts, &values->owned[0]);
    values->eval_texts =
        file_list(cli, "eval-text", NULL, 0, &config->eval_texts, &values->owned[1]);
    if (values->texts == NULL || values->eval_texts == NULL)
        return cli_error(cli, CLI_FAILURE, "out of memory");
    config->text = values->texts;
    config->eval_text = values->eval_texts;
    return CLI_SUCCESS;
}

/* --- the configuration --- */

static int only(struct cli *cli, const char *const *allowed, const char *why) {
    const char *name = cli_given_one(cli, allowed, false);
    return name == NULL ? CLI_SUCCESS : cli_usage(cli, "option --%s: %s", name, why);
}

static int resume_run(struct cli *cli, struct values *values) {
    static const char *const allowed[] = {"resume", "threads",  "quiet", "json",
                                          "cache",  "no-cache", NULL};
    values->config.resume = true;
    values->config.out = values->resume;
    return only(cli, allowed, "a resumed run keeps its own configuration");
}

static int check_sizes(struct cli *cli, struct values *values) {
    static const char *const sizes[] = {"arch",         "hidden",        "layers",     "heads",
                                        "intermediate", "vocab",         "vocab-size", "alphabet",
                                        "cased",        "max-positions", NULL};
    for (const char *const *name = sizes; values->config.init != NULL && *name != NULL; name++) {
        if (cli_given(cli, *name))
            return cli_usage(cli, "option --%s: --init brings its own vocabulary and sizes", *name);
    }
    if (values->config.vocab != NULL && cli_given(cli, "vocab-size"))
        return cli_usage(cli, "options --vocab and --vocab-size exclude each other");
    if (values->arch == NULL) return CLI_SUCCESS;
    for (const char *const *name = sizes + 1; name < sizes + 5; name++) {
        if (cli_given(cli, *name))
            return cli_usage(cli, "options --arch and --%s exclude each other", *name);
    }
    nvdp_status status = nvdp_pretrain_arch(cli->ctx, values->arch, &values->config);
    return status == NVDP_OK ? CLI_SUCCESS
                             : cli_usage(cli, "option --%s", nvdp_context_error(cli->ctx));
}

static int resolve(struct cli *cli, struct values *values) {
    struct nvdp_pretrain_config *config = &values->config;
    if (values->resume != NULL) return resume_run(cli, values);
    if (values->model != NULL) return cli_usage(cli, "option --model: only with --eval");
    if (cli_given(cli, "limit")) return cli_usage(cli, "option --limit: only with --eval");
    if (config->texts == 0) return cli_usage(cli, "option --text is needed");
    if (config->out == NULL && values->dry_run) config->out = "model"; /* nothing is written */
    if (config->out == NULL) return cli_usage(cli, "option --out is needed");
    return check_sizes(cli, values);
}

/* --- --eval --- */

static void print_scores(const struct nvdp_mlm_scores *scores) {
    cli_row(stdout, "masked accuracy", "%.4f", scores->accuracy);
    cli_row(stdout, "perplexity", "%.4f  (%.5f nats)", scores->perplexity, scores->nll);
    cli_row(stdout, "positions", "%" PRIu64 " of %" PRIu64 " tokens in %" PRIu64 " windows",
            scores->masked, scores->tokens, scores->windows);
}

static json_t *scores_json(const struct nvdp_mlm_scores *scores) {
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I}", "accuracy", cli_number(scores->accuracy),
                     "nll", cli_number(scores->nll), "perplexity", cli_number(scores->perplexity),
                     "masked", (json_int_t)scores->masked, "tokens", (json_int_t)scores->tokens,
                     "windows", (json_int_t)scores->windows);
}

static int evaluate(struct cli *cli, const struct values *values) {
    static const char *const allowed[] = {
        "eval",  "model",     "text",       "length",    "batch", "seed",
        "limit", "mask-prob", "whole-word", "precision", "cache", "no-cache",
        "out",   "threads",   "quiet",      "json",      NULL};
    struct nvdp_mlm_config config = nvdp_mlm_config_default();
    struct nvdp_mlm_scores scores;
    int code = only(cli, allowed, "not with --eval");
    if (code != CLI_SUCCESS) return code;
    if (values->model == NULL) return cli_usage(cli, "option --model is needed");
    if (values->config.texts == 0) return cli_usage(cli, "option --text is needed");
    config.model = values->model;
    config.text = values->config.text;
    config.texts = values->config.texts;
    config.length = values->config.length;
    if (cli_given(cli, "batch")) config.batch = values->config.batch;
    config.mask_prob = values->config.mask_prob;
    config.whole_word = values->config.whole_word;
    config.seed = values->config.seed;
    config.limit = values->limit;
    config.positions = values->config.out;
    config.cache = values->config.cache;
    nvdp_context_set_precision(cli->ctx, values->config.precision);
    nvdp_status status = nvdp_mlm_evaluate(cli->ctx, &config, &scores);
    if (status != NVDP_OK) return cli_fail(cli, status);
    if (cli->json) return cli_print_json(cli, scores_json(&scores));
    print_scores(&scores);
    return CLI_SUCCESS;
}

/* --- --dry-run --- */

static json_t *plan_json(const struct nvdp_pretrain_plan *plan) {
    return json_pack("{s:I, s:I, s:I, s:I}", "vocab_size", (json_int_t)plan->bert.vocab_size,
                     "parameters", (json_int_t)plan->parameters, "tokens", (json_int_t)plan->tokens,
                     "memory_bytes", (json_int_t)plan->memory_bytes);
}

static int dry_run(struct cli *cli, const struct values *values) {
    struct nvdp_pretrain_plan plan;
    char *text = NULL;
    nvdp_status status = nvdp_pretrain_plan(cli->ctx, &values->config, &plan);
    if (status == NVDP_OK) status = nvdp_pretrain_config_json(cli->ctx, &values->config, &text);
    if (status != NVDP_OK) return cli_fail(cli, status);
    json_t *configuration = json_loads(text, 0, NULL);
    free(text);
    if (cli->json)
        return cli_print_json(
            cli, json_pack("{s:o, s:o}", "configuration", configuration, "plan", plan_json(&plan)));
    int code = cli_print_json(cli, configuration);
    cli_row(stdout, "vocabulary", "%zu pieces", plan.bert.vocab_size);
    cli_row(stdout, "parameters", "%zu", plan.parameters);
    cli_row(stdout, "tokens", "%" PRIu64 " at most", plan.tokens);
    cli_row(stdout, "memory", "%.0f MiB", (double)plan.memory_bytes / (1 << 20));
    return code;
}

/* --- the result --- */

static json_t *coverage_json(const struct nvdp_coverage *coverage) {
    return json_pack("{s:I, s:o, s:o}", "words", (json_int_t)coverage->words, "unknown",
                     cli_number(coverage->unknown), "pieces_per_word",
                     cli_number(coverage->pieces_per_word));
}

static json_t *result_json(const struct nvdp_pretrain_config *config,
                           const struct nvdp_pretrain_result *r) {
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "out", config->out,
                  "steps", (json_int_t)r->steps, "tokens", (json_int_t)r->tokens, "masked",
                  (json_int_t)r->masked, "vocab_size", (json_int_t)r->vocab_size, "parameters",
                  (json_int_t)r->parameters, "loss", cli_number(r->loss), "accuracy",
                  cli_number(r->accuracy), "coverage", coverage_json(&r->coverage), "seconds",
                  cli_number(r->seconds), "tokens_per_second", cli_number(r->tokens_per_second));
    if (r->eval.windows > 0) {
        json_object_set_new(object, "evaluation", scores_json(&r->eval));
        json_object_set_new(object, "evaluation_coverage", coverage_json(&r->eval_coverage));
    }
    return object;
}

static void print_coverage(const char *name, const struct nvdp_coverage *coverage) {
    cli_row(stdout, name, "%.3f pieces a word, %.3f %% of %" PRIu64 " words unknown",
            coverage->pieces_per_word, 100 * coverage->unknown, coverage->words);
}

static void result_print(const struct nvdp_pretrain_config *config,
                         const struct nvdp_pretrain_result *r) {
    cli_row(stdout, "vocabulary", "%zu pieces", r->vocab_size);
    print_coverage("text", &r->coverage);
    if (r->eval.windows > 0) print_coverage("held-out text", &r->eval_coverage);
    cli_row(stdout, "parameters", "%zu", r->parameters);
    cli_row(stdout, "trained", "%" PRIu64 " steps, %" PRIu64 " tokens", r->steps, r->tokens);
    if (r->steps > 0)
        cli_row(stdout, "last loss", "%.4f  (masked accuracy %.4f)", r->loss, r->accuracy);
    if (r->eval.windows > 0) print_scores(&r->eval);
    cli_row(stdout, "time", "%.1f s, %.0f tokens/s", r->seconds, r->tokens_per_second);
    cli_row(stdout, "model", "%s", config->out);
}

static int pretrain(struct cli *cli, struct values *values) {
    struct nvdp_pretrain_result result;
    int code = resolve(cli, values);
    if (code != CLI_SUCCESS) return code;
    if (values->dry_run) return dry_run(cli, values);
    nvdp_status status = nvdp_pretrain(cli->ctx, &values->config, &result);
    if (status != NVDP_OK) return cli_fail(cli, status);
    if (cli->json) return cli_print_json(cli, result_json(&values->config, &result));
    result_print(&values->config, &result);
    return CLI_SUCCESS;
}

static int run(struct cli *cli) {
    struct values values = {.config = nvdp_pretrain_config_default()};
    int code = cli_begin(cli, &values);
    if (code == CLI_SUCCESS) code = find_files(cli, &values);
    if (code == CLI_SUCCESS) code = cli_resolve_cache(cli, values.no_cache);
    values.config.dtype = dtype_of[values.dtype];
    if (code == CLI_SUCCESS) code = values.eval ? evaluate(cli, &values) : pretrain(cli, &values);
    free(values.owned[0]);
    free(values.owned[1]);
    free(values.texts);
    free(values.eval_texts);
    return code;
}

const struct cli_command cli_command_pretrain = {
    .name = "pretrain",
    .summary = "train a vocabulary and a compact BERT on plain text",
    .args = "[FILE...]",
    .args_max = MOST_FILES,
    .description = "Trains a WordPiece vocabulary and a BERT with its pretraining heads on plain "
                   "text, from nothing or from a given model, and writes a directory in Hugging "
                   "Face layout (BertForPreTraining) that nvdp train starts from.",
    .examples = "Examples:\n"
                "  nvdp pretrain --text wiki-*.txt.xz --out bert --arch mini --vocab-size 8192 \\\n"
                "    --length 64 --batch 64 --steps 20000 --eval-text held-out.txt \\\n"
                "    --eval-every 1000\n"
                "  nvdp pretrain --init bert --text wiki-*.txt.xz --out bert-128 --length 128 \\\n"
                "    --steps 5000 --dtype f16\n"
                "  nvdp pretrain --resume bert\n"
                "  nvdp pretrain --eval --model bert-128 --text held-out.txt --json\n",
    .options = options,
    .takes = CLI_TAKES_JSON,
    .run = run,
};
