/* nvdp reuse: trains a reader that sees nothing but a shared file. */
#include "common.h"

struct values {
    struct nvdp_reuse_config config;
};

#define AT(field) offsetof(struct values, config.field)

static const struct cli_choice pools[] = {
    {"auto", NVDP_POOL_AUTO},
    {"first", NVDP_POOL_FIRST},
    {"mean", NVDP_POOL_MEAN},
    {"weighted", NVDP_POOL_WEIGHTED},
    {0},
};

static const struct cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Data:"},
    CLI_OPTION("labels", "FILE",
               "one label a line in the file's order of texts (default: the labels in it)",
               CLI_TEXT, AT(labels)),
    CLI_OPTION("eval-file", "FILE.h5",
               "score on this file (default: its dev split, else a held-out tenth)", CLI_TEXT,
               AT(eval_file)),
    CLI_OPTION("eval-labels", "FILE", "labels of --eval-file", CLI_TEXT, AT(eval_labels)),
    CLI_OPTION("regression", NULL, "labels are scores", CLI_FLAG, AT(regression)),
    {.kind = CLI_HEADING, .help = "Reader:"},
    CLI_OPTION("init", "DIR", "start from the sender's public model (export --model-out)", CLI_TEXT,
               AT(init)),
    CLI_OPTION("heads", "N", "attention heads", CLI_SIZE, AT(heads)),
    CLI_OPTION("pool", "P", "auto, first, mean or weighted", CLI_CHOICE, AT(pool),
               .choices = pools),
    CLI_OPTION("epochs", "N", "passes over the texts", CLI_SIZE, AT(epochs)),
    CLI_OPTION("batch", "N", "texts a step", CLI_SIZE, AT(batch)),
    CLI_OPTION("patience", "N", "epochs without improvement before stopping; 0: never", CLI_SIZE,
               AT(patience)),
    CLI_OPTION("lr", "X", "largest learning rate; 0: chosen for the width", CLI_REAL, AT(lr)),
    CLI_OPTION("weight-decay", "X", "decoupled weight decay", CLI_REAL, AT(weight_decay)),
    CLI_OPTION("warmup", "X", "share of the steps over which the learning rate rises", CLI_REAL,
               AT(warmup)),
    CLI_OPTION("seed", "N", "of everything random", CLI_SEED, AT(seed)),
    {.kind = CLI_HEADING, .help = "Output:"},
    CLI_OPTION("out", "DIR", "keep the reader in this directory", CLI_TEXT, AT(out)),
    CLI_OPTION("overwrite", NULL, "empty a non-empty directory first", CLI_FLAG, AT(overwrite)),
    {0},
};

static json_t *result_json(const struct nvdp_reuse_result *result) {
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "train_texts",
                     (json_int_t)result->train_texts, "classes", (json_int_t)result->classes,
                     "best_epoch", (json_int_t)result->best_epoch, "n",
                     (json_int_t)result->scores.n, "draws", (json_int_t)result->scores.draws,
                     "metrics", cli_scores_json(&result->scores), "majority",
                     cli_number(result->scores.majority), "seconds", cli_number(result->seconds));
}

static int run(struct cli *cli) {
    struct values values = {.config = nvdp_reuse_config_default()};
    int code = cli_begin(cli, &values);
    if (code != CLI_SUCCESS) return code;
    values.config.file = cli->arg[0];
    if (values.config.eval_labels != NULL && values.config.eval_file == NULL)
        return cli_usage(cli, "option --eval-labels needs --eval-file");
    struct nvdp_reuse_result result;
    nvdp_status status = nvdp_reuse(cli->ctx, &values.config, &result);
    if (status != NVDP_OK) return cli_fail(cli, status);
    if (cli->json) return cli_print_json(cli, result_json(&result));
    cli_row(stdout, "trained on", "%zu texts", result.train_texts);
    if (result.classes > 0) cli_row(stdout, "classes", "%zu", result.classes);
    cli_row(stdout, "best epoch", "%zu", result.best_epoch);
    cli_scores_print(&result.scores, stdout);
    cli_row(stdout, "time", "%.1f s", result.seconds);
    if (values.config.out != NULL) cli_row(stdout, "reader", "%s", values.config.out);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_reuse = {
    .name = "reuse",
    .summary = "train and score a reader that sees only a shared file",
    .args = "SHARED.h5",
    .args_min = 1,
    .args_max = 1,
    .description = "Trains a reader from a file of noisy embeddings alone and scores it on texts "
                   "it was not trained on.",
    .examples = "Examples:\n"
                "  nvdp reuse shared.h5\n"
                "  nvdp reuse shared.h5 --labels other-task.txt --init shared-model --json\n"
                "  nvdp reuse train.h5 --eval-file dev.h5 --out reader\n",
    .options = options,
    .takes = CLI_TAKES_JSON,
    .run = run,
};
