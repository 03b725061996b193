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
    bool no_cache;
    char usual_cache[CLI_PATH_ROOM];
    /* --eval */
    bool eval;
    const char *model;
    size_t limit;
    /* the lists of files */
    const char **texts, **eval_texts;
};

static const struct cli_choice objectives[] = {
    {"mlm", NVDP_OBJECTIVE_MLM},
    {"mlm+nsp", NVDP_OBJECTIVE_MLM_NSP},
    {0},
};
static const struct cli_choice optimizers[] = {
    {"adamw", NVDP_OPTIMIZER_ADAMW},
    {"muon", NVDP_OPTIMIZER_MUON},
    {0},
};
static const struct cli_choice starts[] = {
    {"normal", NVDP_START_NORMAL},
    {"neighbours", NVDP_START_NEIGHBOURS},
    {0},
};
static const struct cli_choice dtypes[] = {
    {"f32", NVDP_F32},
    {"f16", NVDP_F16},
    {"bf16", NVDP_BF16},
    {0},
};

#define AT(field) offsetof(struct values, config.field)

static const struct cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Text:"},
    CLI_OPTION(
        "text", "FILE",
        "text to train on, plain or .xz; documents between blank lines, or between <doc ...> "
        "and </doc>; more files may follow, or more --text",
        CLI_LIST, offsetof(struct values, text)),
    CLI_OPTION("eval-text", "FILE", "held-out text, more than one by repeating the option",
               CLI_LIST, offsetof(struct values, eval_text)),
    CLI_OPTION("cache", "DIR",
               "folder for tokenised texts, shared between runs (default: $XDG_CACHE_HOME/nvdp or "
               "~/.cache/nvdp); the texts can be read off it",
               CLI_TEXT, AT(cache), .no_default = true),
    CLI_OPTION("no-cache", NULL, "keep no tokenised texts", CLI_FLAG,
               offsetof(struct values, no_cache)),

    {.kind = CLI_HEADING, .help = "Vocabulary:"},
    CLI_OPTION("vocab-size", "N", "word pieces of a vocabulary that is trained on the text",
               CLI_SIZE, AT(vocab_size)),
    CLI_OPTION("alphabet", "N",
               "most characters it knows; words with others are unknown; 0: a 64th of its pieces, "
               "at least 100",
               CLI_SIZE, AT(alphabet)),
    CLI_OPTION("vocab", "FILE", "use this vocab.txt instead", CLI_TEXT, AT(vocab)),
    CLI_OPTION("cased", NULL, "keep capitals and accents", CLI_FLAG, AT(cased)),

    {.kind = CLI_HEADING, .help = "Model:"},
    CLI_OPTION("init", "DIR",
               "start from this model: its vocabulary, sizes and weights (heads where it has them)",
               CLI_TEXT, AT(init)),
    CLI_OPTION("arch", "NAME",
               "tiny (2 layers, 128 wide), mini (4, 256), small (4, 512) or base (12, 768)",
               CLI_TEXT, offsetof(struct values, arch)),
    CLI_OPTION("hidden", "N", "width", CLI_SIZE, AT(hidden)),
    CLI_OPTION("layers", "N", "layers", CLI_SIZE, AT(layers)),
    CLI_OPTION("heads", "N", "attention heads; 0: one for each 64 of the width", CLI_SIZE,
               AT(heads)),
    CLI_OPTION("intermediate", "N", "inner width of the feed-forward parts; 0: 4 times the width",
               CLI_SIZE, AT(intermediate)),
    CLI_OPTION("max-positions", "N", "longest text the model will take; 0: --length, at least 128",
               CLI_SIZE, AT(max_positions)),
    CLI_OPTION("start", "S",
               "initial weights: normal, or neighbours: heads of the first two layers attend to "
               "neighbouring tokens",
               CLI_CHOICE, AT(start), .choices = starts),
    CLI_OPTION("dropout", "X", "hidden and attention dropout", CLI_REAL, AT(dropout)),

    {.kind = CLI_HEADING, .help = "Objective:"},
    CLI_OPTION("objective", "O", "mlm (masked tokens) or mlm+nsp (and next-sentence prediction)",
               CLI_CHOICE, AT(objective), .choices = objectives),
    CLI_OPTION("length", "N", "tokens of a window or pair, special ones included", CLI_SIZE,
               AT(length)),
    CLI_OPTION("mask-prob", "X", "share of the tokens to predict", CLI_REAL, AT(mask_prob)),
    CLI_OPTION("whole-word", NULL, "mask whole words", CLI_FLAG, AT(whole_word)),

    {.kind = CLI_HEADING, .help = "Optimiser:"},
    CLI_OPTION("steps", "N", "optimiser steps; 0: write vocabulary and initial weights", CLI_SEED,
               AT(steps)),
    CLI_OPTION("stop-after", "N",
               "end after so many steps of a schedule that is laid out for --steps; 0: after all",
               CLI_SEED, AT(stop_after)),
    CLI_OPTION("batch", "N", "windows or pairs a step", CLI_SIZE, AT(batch)),
    CLI_OPTION("precision", "P", "of matrix products: f32 or bf16", CLI_CHOICE, AT(precision),
               .choices = cli_precisions),
    CLI_OPTION("optimizer", "O",
               "adamw, or muon: orthogonal updates of weight matrices, AdamW for the rest; "
               "--lr 0 stands for 3e-3 with muon, 5e-4 with adamw",
               CLI_CHOICE, AT(optimizer), .choices = optimizers),
    CLI_ADAMW_OPTIONS(struct values),
    CLI_OPTION("momentum", "X", "Muon's momentum", CLI_REAL, AT(momentum)),
    CLI_OPTION("seed", "N", "of everything random", CLI_SEED, AT(seed)),

    {.kind = CLI_HEADING, .help = "Output:"},
    CLI_OPTION("out", "DIR",
               "model directory (with --eval: file of the predicted positions, safetensors)",
               CLI_TEXT, AT(out)),
    CLI_OPTION("dtype", "T", "f32, f16 or bf16: how the weights are written", CLI_CHOICE, AT(dtype),
               .choices = dtypes),
    CLI_OPTION("resume", "DIR", "continue the run in this directory with its own configuration",
               CLI_TEXT, offsetof(struct values, resume)),
    CLI_OPTION("overwrite", NULL, "replace what an earlier run wrote there", CLI_FLAG,
               AT(overwrite)),
    CLI_OPTION("dry-run", NULL, "print the configuration, sizes and memory; train nothing",
               CLI_FLAG, offsetof(struct values, dry_run)),
    CLI_OPTION("log-every", "N", "steps between lines in metrics.jsonl", CLI_SIZE, AT(log_every)),
    CLI_OPTION("eval-every", "N", "steps between evaluations on --eval-text; 0: at the end only",
               CLI_SIZE, AT(eval_every)),
    CLI_OPTION("eval-limit", "N", "windows of such an evaluation, evenly spread; 0: all", CLI_SIZE,
               AT(eval_limit)),
    CLI_OPTION("save-every", "N", "steps between models written on the way; 0: at the end only",
               CLI_SIZE, AT(save_every)),
    CLI_OPTION("checkpoint-seconds", "X", "seconds between saved states", CLI_REAL,
               AT(checkpoint_seconds)),

    {.kind = CLI_HEADING, .help = "Evaluation of a model:"},
    CLI_OPTION("eval", NULL,
               "score --model on --text: masked accuracy and perplexity; takes --length, --batch, "
               "--mask-prob, --whole-word, --seed, --limit, --precision, --cache, --out",
               CLI_FLAG, offsetof(struct values, eval)),
    CLI_OPTION("model", "DIR", "the model to score", CLI_TEXT, offsetof(struct values, model)),
    CLI_OPTION("limit", "N", "windows that are scored, evenly spread; 0: all", CLI_SIZE,
               offsetof(struct values, limit)),
    {0},
};

/* --- lists of files --- */

/* The values of an option as they were given, on the command line or else in files; `more` come
 * after them.  free() the list. */
static const char **file_list(const struct cli *cli, const char *name, char *const *more, int count,
                              size_t *files) {
    const struct cli_settings *settings = &cli->settings;
    const char **list = calloc(settings->count + (size_t)count + 1, sizeof *list);
    *files = 0;
    for (int from_file = 0; from_file < 2 && list != NULL && *files == 0; from_file++) {
        for (size_t i = 0; i < settings->count; i++) {
            const struct cli_setting *item = &settings->item[i];
            /* Joined values stand there too, as from a file without a name. */
            bool joined = item->file != NULL && item->file[0] == '\0';
            if (strcmp(item->option->name, name) == 0 && !joined &&
                (item->file != NULL) == (from_file == 1))
                list[(*files)++] = item->value;
        }
    }
    for (int i = 0; i < count && list != NULL; i++) {
        list[(*files)++] = more[i];
    }
    return list;
}

static int find_files(struct cli *cli, struct values *values) {
    struct nvdp_pretrain_config *config = &values->config;
    values->texts = file_list(cli, "text", cli->arg, cli->args, &config->texts);
    values->eval_texts = file_list(cli, "eval-text", NULL, 0, &config->eval_texts);
    if (values->texts == NULL || values->eval_texts == NULL)
        return cli_error(cli, CLI_FAILURE, "out of memory");
    config->text = values->texts;
    config->eval_text = values->eval_texts;
    return CLI_SUCCESS;
}

/* --- the configuration --- */

static int only(struct cli *cli, const char *const *allowed, const char *why) {
    for (size_t i = 0; i < cli->settings.count; i++) {
        const char *name = cli->settings.item[i].option->name;
        const char *const *known = allowed;
        while (*known != NULL && strcmp(*known, name) != 0) {
            known++;
        }
        if (*known == NULL) return cli_usage(cli, "option --%s: %s", name, why);
    }
    return CLI_SUCCESS;
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
    if (code == CLI_SUCCESS)
        code = cli_resolve_cache(cli, values.no_cache, values.usual_cache, &values.config.cache);
    if (code == CLI_SUCCESS) code = values.eval ? evaluate(cli, &values) : pretrain(cli, &values);
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
