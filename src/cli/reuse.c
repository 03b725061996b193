/* nvdp reuse: trains a reader that sees nothing but a shared file. */
#include "common.h"

struct values {
    struct nvdp_reuse_config config;
};

#define AT(field) NVDP_OPTION_AT(struct values, config.field)

static const char *const pools[] = {
    [NVDP_POOL_AUTO] = "auto",
    [NVDP_POOL_FIRST] = "first",
    [NVDP_POOL_MEAN] = "mean",
    [NVDP_POOL_WEIGHTED] = "weighted",
    NULL,
};

static const struct nvdp_option options[] = {

    {"labels", NVDP_OPTION_TEXT, "FILE",
     "one label a line in the file's order of texts (default: the labels in it)", AT(labels),
     .group = "Data:"},
    {"eval-file", NVDP_OPTION_TEXT, "FILE.h5",
     "score on this file (default: its dev split, else a held-out tenth)", AT(eval_file)},
    {"eval-labels", NVDP_OPTION_TEXT, "FILE", "labels of --eval-file", AT(eval_labels)},
    {"regression", NVDP_OPTION_FLAG, NULL, "labels are scores", AT(regression)},

    {"init", NVDP_OPTION_TEXT, "DIR", "start from the sender's public model (export --model-out)",
     AT(init), .group = "Reader:"},
    {"heads", NVDP_OPTION_INTEGER, "N", "attention heads", AT(heads)},
    {"pool", NVDP_OPTION_CHOICE, "P", "auto, first, mean or weighted", AT(pool), .choices = pools},
    {"epochs", NVDP_OPTION_INTEGER, "N", "passes over the texts", AT(epochs)},
    {"batch", NVDP_OPTION_INTEGER, "N", "texts a step", AT(batch)},
    {"patience", NVDP_OPTION_INTEGER, "N", "epochs without improvement before stopping; 0: never",
     AT(patience)},
    {"lr", NVDP_OPTION_REAL, "X", "largest learning rate; 0: chosen for the width", AT(lr)},
    {"weight-decay", NVDP_OPTION_REAL, "X", "decoupled weight decay", AT(weight_decay)},
    {"warmup", NVDP_OPTION_REAL, "X", "share of the steps over which the learning rate rises",
     AT(warmup)},
    {"seed", NVDP_OPTION_SEED, "N", "of everything random", AT(seed)},

    {"out", NVDP_OPTION_TEXT, "DIR", "keep the reader in this directory", AT(out),
     .group = "Output:"},
    {"overwrite", NVDP_OPTION_FLAG, NULL, "empty a non-empty directory first", AT(overwrite)},
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
