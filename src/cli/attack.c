/* nvdp attack: runs an attack on a model or on what a run shares, and prints its result. The library has the attacks;
 * this file selects one (find(), need_kind()), checks its options (check()) and reports. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

/* Finds the row of the option `kind`. */
static int find(struct cli *cli, struct nvdp_attack_info *info) {
    const char *kind = nvdp_config_get(cli->config, "kind");
    size_t i = 0;
    do
        CLI_DO(cli, nvdp_attack_describe(cli->ctx, i++, info));
    while (strcmp(info->name, kind) != 0);
    return CLI_SUCCESS;
}

/* Refuses a run of nvdp train without --kind: the default kind attacks a model of nvdp pretrain, which has a masked-LM
 * head. */
static int need_kind(struct cli *cli) {
    struct nvdp_attack_info info = NVDP_RESULT(struct nvdp_attack_info);
    json_t *config = cli->args == 1 ? cli_run_config(cli->arg[0]) : NULL;
    char kinds[256] = "";
    struct nvdp__writer say = {kinds, sizeof kinds, 0};
    if (config == NULL) return CLI_SUCCESS;
    json_decref(config);
    for (size_t i = 0; i == 0 || i < info.attacks; i++) {
        CLI_DO(cli, nvdp_attack_describe(cli->ctx, i, &info));
        if (info.target != NVDP_ATTACK_MODEL) nvdp__append(&say, " %s", info.name);
    }
    return cli_usage(cli, "option --kind is needed to attack a run of nvdp train: one of%s", kinds);
}

/* Refuses options that do not apply to the kind, and missing arguments. */
static int check(struct cli *cli, const struct nvdp_attack_info *info) {
    const char *other = cli_given_one(cli, info->options, false), *const *one = info->exclusive;
    if (other != NULL)
        return cli_usage(cli, "option --%s does not apply to --kind %s", other, info->name);
    if (one[0] != NULL && cli_given(cli, one[0]) && cli_given(cli, one[1]))
        return cli_usage(cli, "expected either --%s or --%s", one[0], one[1]);
    if (info->target == NVDP_ATTACK_POSTERIORS)
        return cli_check_source(cli, nvdp_config_get(cli->config, "posteriors"));
    if (cli->args > 0) return CLI_SUCCESS;
    return cli_usage(cli, "expected %s",
                     info->target != NVDP_ATTACK_MODEL ? "RUN"
                     : cli_given(cli, "kind")          ? "MODEL"
                                                       : "MODEL, or --kind and RUN");
}

static int show(struct cli *cli, const struct nvdp_attack_result *result) {
    char *text = NULL;
    if (!cli->json) {
        CLI_DO(cli, nvdp_attack_text(cli->ctx, result, &text));
        return cli_put(text);
    }
    CLI_DO(cli, nvdp_attack_json(cli->ctx, result, &text));
    json_t *object = json_loads(text, 0, NULL);
    free(text);
    return cli_print_json(cli, object);
}

static int check_verdict(struct cli *cli, const struct nvdp_attack_result *result) {
    char *text = NULL;
    CLI_DO(cli, nvdp_attack_verdict(cli->ctx, result, &text));
    const int code = *text == '\0' ? CLI_SUCCESS : cli_error(cli, CLI_FAILURE, "%s", text);
    free(text);
    return code;
}

static int run(struct cli *cli) {
    struct nvdp_attack_info info = NVDP_RESULT(struct nvdp_attack_info);
    struct nvdp_attack_result *result = NULL;
    CLI_TRY(cli_begin(cli, NULL));
    if (!cli_given(cli, "kind")) CLI_TRY(need_kind(cli));
    CLI_TRY(find(cli, &info));
    CLI_TRY(check(cli, &info));
    if (info.target != NVDP_ATTACK_MODEL && cli->args > 0)
        CLI_DO(cli, nvdp_config_set(cli->config, "run", cli->arg[0]));
    CLI_DO(cli, nvdp_attack(cli->ctx, cli->config, &result));
    int code = show(cli, result);
    if (code == CLI_SUCCESS) code = check_verdict(cli, result);
    nvdp_attack_free(result);
    return code;
}

const struct cli_command cli_command_attack = {
    .name = "attack",
    .summary = "measure what an attacker learns from a model or from shared data",
    .args = "[MODEL|RUN]",
    .description =
        "Attacks what is given away. --kind exposure: how well secrets that were planted into the "
        "training text can be read from a masked language model, by how often they were planted; "
        "for canaries that a coin flip included, also a lower bound on epsilon next to the "
        "accountant's guarantee (docs/dp-bert.md, Memorization). --kind pair: distinguishes two "
        "texts of a run by the likelihood ratio of their samples; this shows at most the exact "
        "epsilon, which is at most the certified one. --kind reidentify: names the text of a "
        "sample among all texts, by likelihood. --kind membership: whether a text is in a shared "
        "file, or in the training set. The other kinds: what an attacker who has public texts to "
        "learn from reads from samples (docs/attacks.md). "
        "The exit status is 1 if an attack shows more than is guaranteed.",
    .examples = "Examples:\n"
                "  nvdp pretrain --text private.txt --init bert --plant secrets.json \\\n"
                "    --out model\n"
                "  nvdp attack model --kind exposure\n"
                "  nvdp attack model --kind exposure --reference bert --json >exposure.json\n"
                "  nvdp attack run --kind pair --pairs 20 --delta 1e-3\n"
                "  nvdp attack run --kind reidentify --shared shared.h5\n"
                "  nvdp attack run --kind nearest --public SST-2/train.tsv\n"
                "  nvdp attack run --kind nearest --public SST-2/train.tsv --shared shared.h5\n"
                "  nvdp attack run --kind language --public SST-2/train.tsv \\\n"
                "    --prior models/compact\n"
                "  nvdp attack run --kind membership --public SST-2/train.tsv\n"
                "  nvdp attack run --kind invert --public SST-2/train.tsv \\\n"
                "    --prior models/compact\n"
                "  nvdp attack --kind invert --posteriors models/minilm --public public.txt \\\n"
                "    --attacked secret.txt --prior models/compact\n",
    .create = nvdp_attacks_config_create,
    .heading = "Options:",
    .takes_precision = true,
    .run = run,
};
