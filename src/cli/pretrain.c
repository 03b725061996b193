/* nvdp pretrain: trains a vocabulary and a masked language model on plain text. With --eval, scores a model. Sections:
 * lists of files, the configuration, --eval, --dry-run, the result. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

struct values {
    bool no_cache, dry_run;
    /* --eval */
    bool eval;
    const char *model;
    size_t limit;
};

static const struct nvdp_option options[] = {
    {"no-cache", NVDP_OPTION_FLAG, NULL, "do not cache tokenized texts",
     NVDP_OPTION_AT(struct values, no_cache), .after = "cache", .traits = NVDP_TRAIT_NO_EFFECT},
    {"dry-run", NVDP_OPTION_FLAG, NULL,
     "print the configuration, sizes and memory, and do not train",
     NVDP_OPTION_AT(struct values, dry_run), .after = "overwrite"},
    {"eval", NVDP_OPTION_FLAG, NULL,
     "score --model on --text: masked accuracy and perplexity; uses --length, --batch, "
     "--mask-prob, --whole-word, --seed, --limit, --precision, --cache, --out",
     NVDP_OPTION_AT(struct values, eval),
     .group = "Evaluation of a model:", .traits = NVDP_TRAIT_BASIC},
    {"model", NVDP_OPTION_TEXT, "DIR", "model to score", NVDP_OPTION_AT(struct values, model),
     .traits = NVDP_TRAIT_BASIC},
    {"limit", NVDP_OPTION_INTEGER, "N", "number of windows to score, evenly spread; 0: all",
     NVDP_OPTION_AT(struct values, limit)},
    {0},
};

/* --- lists of files --- */

static void put_file(FILE *list, const char *file) {
    if (ftell(list) > 0) fputc(',', list);
    for (; *file != '\0'; file++) {
        if (*file == ',') fputc('\\', list);
        fputc(*file, list);
    }
}

/* Sets a list of file names, which may contain commas. Takes the values from the command line, where the option may
 * have a second name, or else from files, and appends `more`. */
static int set_files(struct cli *cli, const char *name, const char *second, char *const *more,
                     int count) {
    nvdp__autofree char *text = NULL;
    size_t size = 0;
    const char *joined = nvdp_config_get(cli->config, name);
    bool given = false;
    nvdp__autoptr(fclose) FILE *list = open_memstream(&text, &size);
    if (list == NULL) return cli_error(cli, CLI_FAILURE, "out of memory");
    for (size_t i = 0; i < cli->settings; i++) {
        const char *as = cli->setting[i].option->name;
        if (strcmp(as, name) != 0 && (second == NULL || strcmp(as, second) != 0)) continue;
        if (strcmp(cli->setting[i].value, "-") == 0)
            return cli_usage(cli,
                             "option --%s: expected a file, found standard input: the texts are "
                             "read several times; write them to a file first",
                             as);
        put_file(list, cli->setting[i].value);
        name = as;
        given = true;
    }
    if (!given && joined != NULL) fputs(joined, list);
    for (int i = 0; i < count; i++)
        put_file(list, more[i]);
    if (fflush(list) != 0) return cli_fail(cli, NVDP_ERR_MEMORY);
    if (size > 0) CLI_DO(cli, nvdp_config_set(cli->config, name, text));
    return CLI_SUCCESS;
}

/* --- the configuration --- */

static const char *get(const struct cli *cli, const char *name) {
    return nvdp_config_get(cli->config, name);
}

static int only(struct cli *cli, const char *const *allowed, const char *why) {
    const char *name = cli_given_one(cli, allowed, false);
    return name == NULL ? CLI_SUCCESS : cli_usage(cli, "option --%s: %s", name, why);
}

static int check_sizes(struct cli *cli) {
    static const char *const sizes[] = {"arch",         "hidden",        "layers",     "heads",
                                        "intermediate", "vocab",         "vocab-size", "alphabet",
                                        "cased",        "max-positions", NULL};
    for (const char *const *name = sizes; get(cli, "init") != NULL && *name != NULL; name++)
        if (cli_given(cli, *name))
            return cli_usage(
                cli,
                "option --%s does not apply with --init, whose model has a vocabulary and sizes",
                *name);
    if (get(cli, "vocab") != NULL && cli_given(cli, "vocab-size"))
        return cli_usage(cli, "options --vocab and --vocab-size exclude each other");
    for (const char *const *name = sizes + 1; get(cli, "arch") != NULL && name < sizes + 5; name++)
        if (cli_given(cli, *name))
            return cli_usage(cli, "options --arch and --%s exclude each other", *name);
    return CLI_SUCCESS;
}

static int resolve(struct cli *cli, const struct values *values) {
    static const char *const allowed[] = {"resume", "threads",  "quiet", "json",
                                          "cache",  "no-cache", NULL};
    if (get(cli, "resume") != NULL)
        return only(cli, allowed, "a resumed run keeps its configuration");
    if (values->model != NULL) return cli_usage(cli, "option --model needs --eval");
    if (cli_given(cli, "limit")) return cli_usage(cli, "option --limit needs --eval");
    if (get(cli, "text") == NULL) return cli_usage(cli, "option --text is needed");
    if (get(cli, "out") == NULL && values->dry_run) /* nothing is written */
        (void)nvdp_config_set(cli->config, "out", "model");
    return get(cli, "out") == NULL ? cli_usage(cli, "option --out is needed") : check_sizes(cli);
}

/* --- --eval --- */

static int evaluate(struct cli *cli, const struct values *values) {
    static const char *const allowed[] = {
        "eval",  "model",     "text",       "length",    "batch", "seed",
        "limit", "mask-prob", "whole-word", "precision", "cache", "no-cache",
        "out",   "threads",   "quiet",      "json",      NULL};
    static const char *const same[] = {"model", "text",  "length", "mask-prob", "whole-word",
                                       "seed",  "limit", "cache",  NULL};
    static const char *const batch[] = {"batch", NULL}; /* option whose default differs */
    struct nvdp_mlm_scores scores = NVDP_RESULT(struct nvdp_mlm_scores);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    CLI_TRY(only(cli, allowed, "does not apply to --eval"));
    if (cli->ranks != NULL)
        return cli_usage(cli, "option --eval: expected one process, found several under mpirun");
    if (values->model == NULL) return cli_usage(cli, "option --model is needed");
    if (get(cli, "text") == NULL) return cli_usage(cli, "option --text is needed");
    nvdp_context_set_precision(cli->ctx, strcmp(get(cli, "precision"), "bf16") == 0
                                             ? NVDP_PRECISION_BF16
                                             : NVDP_PRECISION_F32);
    CLI_DO(cli, nvdp_config_create(cli->ctx, "mlm", &config));
    CLI_DO(cli, cli_copy_options(cli, same, false, config));
    CLI_DO(cli, cli_copy_options(cli, batch, true, config));
    CLI_DO(cli, nvdp_config_set(config, "positions", get(cli, "out")));
    CLI_DO(cli, nvdp_mlm_evaluate(cli->ctx, config, &scores));
    return cli_show(cli, json_object(), "mlm", &scores);
}

/* --- --dry-run --- */

static int dry_run(struct cli *cli) {
    struct nvdp_pretrain_plan plan = NVDP_RESULT(struct nvdp_pretrain_plan);
    char *text = NULL;
    CLI_DO(cli, nvdp_pretrain_plan(cli->ctx, cli->config, &plan));
    CLI_DO(cli, nvdp_pretrain_config_json(cli->ctx, cli->config, &text));
    json_t *configuration = nvdp__json_taken(text);
    if (cli->json)
        return cli_print_json(
            cli, json_pack("{s:o, s:o}", "configuration", configuration, "plan",
                           cli_add_result(json_object(), "pretrain_plan", NULL, &plan)));
    int code = cli_print_json(cli, configuration);
    cli_print_result("pretrain_plan", &plan);
    return code;
}

/* --- the result --- */

static int pretrain(struct cli *cli, const struct values *values) {
    nvdp__autoresult struct nvdp_pretrain_result result = NVDP_RESULT(struct nvdp_pretrain_result);
    CLI_TRY(resolve(cli, values));
    if (values->dry_run) return dry_run(cli);
    CLI_DO(cli, nvdp_pretrain(cli->ctx, cli->config, &result));
    const char *out = get(cli, get(cli, "resume") != NULL ? "resume" : "out");
    json_t *object = NULL;
    if (cli->json) {
        object = cli_add_result(json_pack("{s:s}", "out", out), "pretrain", NULL, &result);
    } else {
        cli_print_result("pretrain", &result);
        cli_row("model", "%s", out);
    }
    return cli_end_training(cli, out, object);
}

static int run(struct cli *cli) {
    struct values values = {0};
    CLI_TRY(cli_begin(cli, &values));
    CLI_TRY(set_files(cli, "text", "input", cli->arg, cli->args));
    CLI_TRY(set_files(cli, "eval-text", NULL, NULL, 0));
    CLI_TRY(cli_resolve_cache(cli, values.no_cache));
    return values.eval ? evaluate(cli, &values) : pretrain(cli, &values);
}

const struct cli_command cli_command_pretrain = {
    .name = "pretrain",
    .summary = "train a vocabulary and a compact BERT on plain text",
    .args = "[FILE...]",
    .description = "Trains a WordPiece vocabulary and a BERT with its pretraining heads on plain "
                   "text, from scratch or from a given model, and writes a directory in Hugging "
                   "Face layout (BertForPreTraining). nvdp train can start from this directory.",
    .examples = "Examples:\n"
                "  nvdp pretrain --text wiki-*.txt.xz --out bert --arch mini \\\n"
                "    --vocab-size 8192 --length 64 --batch 64 --steps 20000 \\\n"
                "    --eval-text held-out.txt --eval-every 1000\n"
                "  nvdp pretrain --init bert --text wiki-*.txt.xz --out bert-128 --length 128 \\\n"
                "    --steps 5000 --dtype f16\n"
                "  nvdp pretrain --resume bert\n"
                "  mpirun -n 4 nvdp pretrain --config bert.json   (docs/clusters.md)\n"
                "  nvdp pretrain --eval --model bert-128 --text held-out.txt --json\n",
    .kinds = "pretrain",
    .options = options,
    .together = true,
    .run = run,
};
