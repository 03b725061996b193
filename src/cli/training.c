/* Privacy of a model's training texts, in the same lines for all commands that show it, and as JSON. */
#include "common.h"

json_t *cli_training_json(struct cli *cli, const struct nvdp_training_privacy *training) {
    json_t *object = cli_add_result(cli, json_object(), "training", NULL, training);
    return object != NULL ? cli_add_result(cli, object, "risk", NULL, training->risk) : NULL;
}

void cli_training_print(struct cli *cli, const struct nvdp_training_privacy *training) {
    cli_print_result(cli, "training", training);
    cli_print_result(cli, "risk", training->risk);
}

int cli_end_training(struct cli *cli, const char *out, json_t *object) {
    struct nvdp_training_privacy training = NVDP_RESULT(struct nvdp_training_privacy);
    const nvdp_status status = nvdp_training_privacy(cli->ctx, out, &training, NULL);
    const bool shown = status == NVDP_OK && training.is_private;
    if (shown && cli->json)
        json_object_set_new(object, "training", cli_training_json(cli, &training));
    else if (shown)
        cli_training_print(cli, &training);
    nvdp_training_privacy_free(&training);
    if (status != NVDP_OK) json_decref(object);
    if (status != NVDP_OK) return cli_fail(cli, status);
    return cli->json ? cli_print_json(cli, object) : CLI_SUCCESS;
}
