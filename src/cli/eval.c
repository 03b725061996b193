/* nvdp eval: scores a run on a split with fresh noise, and prints the scores as a table or JSON. */
#include "common.h"

#include <stdlib.h>

static json_t *evaluation_json(struct cli *cli, const struct nvdp_evaluation *evaluation,
                               size_t count, const struct nvdp_class_score *classes) {
    json_t *list = json_array();
    for (size_t c = 0; c < count; c++)
        json_array_append_new(list,
                              json_pack("{s:s, s:I, s:f, s:f, s:f, s:f}", "class", classes[c].name,
                                        "n", (json_int_t)classes[c].n, "said", classes[c].said,
                                        "precision", classes[c].precision, "recall",
                                        classes[c].recall, "f1", classes[c].f1));
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s}", "task", evaluation->task, "method", evaluation->method,
                  "split", evaluation->split, "protocol", evaluation->protocol);
    object = cli_add_result(cli, object, "scores", NULL, evaluation->scores);
    json_object_set_new(object, "classes", list);
    return object;
}

/* Tables with more classes are only in the JSON. */
enum { MAX_CLASSES = 50 };

static void print_classes(size_t count, const struct nvdp_class_score *classes) {
    if (count == 0 || count > MAX_CLASSES) return;
    cli_row("class", "precision  recall  f1      texts");
    for (size_t c = 0; c < count; c++)
        cli_row(classes[c].name, "%.4f     %.4f  %.4f  %zu", classes[c].precision,
                classes[c].recall, classes[c].f1, classes[c].n);
}

static int run(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    struct nvdp_evaluation evaluation = NVDP_RESULT(struct nvdp_evaluation);
    struct nvdp_class_score *classes = NULL;
    size_t count = 0;
    CLI_DO(cli, nvdp_evaluate_classes(cli->ctx, cli->config, &evaluation, &count, &classes));
    int code = CLI_SUCCESS;
    if (cli->json) {
        code = cli_print_json(cli, evaluation_json(cli, &evaluation, count, classes));
    } else {
        cli_row("task", "%s, %s split", evaluation.task, evaluation.split);
        cli_row("method", "%s", evaluation.method);
        cli_row("epoch chosen on", "%s", evaluation.protocol);
        cli_print_result(cli, "scores", evaluation.scores);
        print_classes(count, classes);
    }
    nvdp_evaluation_free(&evaluation);
    free(classes);
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
