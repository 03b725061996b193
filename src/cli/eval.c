/* nvdp eval: scores a run on a split with fresh noise, and prints the scores as a table or JSON. */
#include "common.h"

#include <stdlib.h>

/* Tables with more classes are only in the JSON. */
enum { MAX_CLASSES = 50 };

struct classes {
    size_t count;
    struct nvdp_class_score *each;
};

static int run(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    struct nvdp_evaluation evaluation = NVDP_RESULT(struct nvdp_evaluation);
    struct classes classes = {0};
    const struct nvdp_result_row rows[] = {
        {"classes", NVDP_RESULT_LIST, .of = nvdp_result_table_find("class_score"), .label = "",
         NVDP_RESULT_AT(struct classes, each), .indirect = true,
         NVDP_RESULT_LENGTH(struct classes, count)},
        {0}};
    const struct nvdp_result_table table = {.name = "classes", .rows = rows};
    CLI_DO(cli, nvdp_evaluate_classes(cli->ctx, cli->config, &evaluation, &classes.count,
                                      &classes.each));
    int code = CLI_SUCCESS;
    if (cli->json) {
        json_t *object = cli_add_result(cli, json_object(), "evaluation", NULL, &evaluation);
        object = cli_add_result(cli, object, "scores", NULL, evaluation.scores);
        code = cli_print_json(cli, cli_add_table(cli, object, &table, NULL, &classes));
    } else {
        cli_print_result(cli, "evaluation", &evaluation);
        cli_print_result(cli, "scores", evaluation.scores);
        if (classes.count <= MAX_CLASSES) cli_print_table(cli, &table, &classes);
    }
    nvdp_evaluation_free(&evaluation);
    free(classes.each);
    return code;
}

const struct cli_command cli_command_eval = {
    .name = "eval",
    .summary = "score a run with fresh noise: mean and spread over draws",
    .args = "RUN",
    .description =
        "Scores a run on a split with fresh noise: prints the mean and standard deviation over "
        "draws, a 95 % bootstrap interval over texts, and the scores of each class.",
    .examples = "Examples:\n"
                "  nvdp eval run\n"
                "  nvdp eval run --split dev --draws 20 --json\n",
    .create = nvdp_evaluate_config_create,
    .heading = "Options:",
    .takes_precision = true,
    .run = run,
};
