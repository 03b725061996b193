/* nvdp reuse: trains and scores a classifier that sees only a shared file. */
#include "common.h"

static json_t *result_json(struct cli *cli, const struct nvdp_reuse_result *result) {
    json_t *object =
        json_pack("{s:I, s:I, s:I}", "train_texts", (json_int_t)result->train_texts, "classes",
                  (json_int_t)result->classes, "best_epoch", (json_int_t)result->best_epoch);
    object = cli_add_result(cli, object, "scores", NULL, result->scores);
    json_object_set_new(object, "seeds", json_integer((json_int_t)result->seeds));
    json_object_set_new(object, "seed_mean", cli_number(result->seed_mean));
    json_object_set_new(object, "seed_sd",
                        result->seeds > 1 ? cli_number(result->seed_sd) : json_null());
    json_object_set_new(object, "seconds", cli_number(result->seconds));
    return object;
}

static int run(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    const struct nvdp_config *config = cli->config;
    if (nvdp_config_get(config, "eval-labels") != NULL &&
        nvdp_config_get(config, "eval-file") == NULL)
        return cli_usage(cli, "option --eval-labels needs --eval-file");
    struct nvdp_reuse_result result = NVDP_RESULT(struct nvdp_reuse_result);
    CLI_DO(cli, nvdp_reuse(cli->ctx, config, &result));
    int code = CLI_SUCCESS;
    if (cli->json) {
        code = cli_print_json(cli, result_json(cli, &result));
    } else {
        cli_row("trained on", "%zu texts", result.train_texts);
        if (result.classes > 0) cli_row("classes", "%zu", result.classes);
        cli_row("best epoch", "%zu", result.best_epoch);
        cli_print_result(cli, "scores", result.scores);
        if (result.seeds > 1)
            cli_row("readers", "%zu seeds: %s %.4f, standard deviation over seeds %.4f",
                    result.seeds, nvdp_metric_name(result.scores->metric[0]), result.seed_mean,
                    result.seed_sd);
        cli_row("time", "%.1f s", result.seconds);
        const char *out = nvdp_config_get(config, "out");
        if (out != NULL) cli_row("reader", "%s", out);
    }
    nvdp_reuse_result_free(&result);
    return code;
}

const struct cli_command cli_command_reuse = {
    .name = "reuse",
    .summary = "train and score a reader on a shared file alone",
    .args = "SHARED.h5",
    .description =
        "Trains a reader on a file of noisy embeddings alone and scores it on texts "
        "that it was not trained on. One reader's score varies by some points; --seeds 5 "
        "prints mean and standard deviation.",
    .examples = "Examples:\n"
                "  nvdp reuse shared.h5 --seeds 5\n"
                "  nvdp reuse shared.h5 --labels other-task.txt --init shared-model --json\n"
                "  nvdp reuse train.h5 --eval-file dev.h5 --out reader\n",
    .create = nvdp_reuse_config_create,
    .run = run,
};
