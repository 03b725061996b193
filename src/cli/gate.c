/* nvdp gate: compares what is proven and measured of a run or a shared file with the limits of a policy. The library
 * measures; this file prints the table and writes JUnit XML. */
#include "common.h"

#include "base/file.h"
#include <stdlib.h>

struct values {
    const char *junit;
};

static const struct nvdp_option options[] = {{"junit", NVDP_OPTION_TEXT, "FILE",
                                              "also write the result as JUnit XML, for CI systems",
                                              NULL, NVDP_OPTION_AT(struct values, junit)},
                                             {0}};

static int show(struct cli *cli, const struct nvdp_gate_result *result) {
    char *text = NULL;
    if (!cli->json) {
        CLI_DO(cli, nvdp_gate_text(cli->ctx, result, &text));
        return cli_put(text);
    }
    json_t *object = json_pack("{s:s, s:s}", "policy", cli->arg[0], "target", cli->arg[1]);
    return cli_print_json(cli, cli_add_result(cli, object, "gate", NULL, result));
}

static int write_junit(struct cli *cli, const struct values *values,
                       const struct nvdp_gate_result *result) {
    char *text = NULL;
    if (values->junit == NULL) return CLI_SUCCESS;
    CLI_DO(cli, nvdp_gate_junit(cli->ctx, result, cli->arg[1], &text));
    const int code = cli_write_text(cli, values->junit, text);
    free(text);
    return code;
}

static int run(struct cli *cli) {
    struct values values = {0};
    CLI_TRY(cli_begin(cli, &values));
    if (cli->args != 2) return cli_usage(cli, "expected POLICY.json, and RUN or FILE");
    CLI_DO(cli, nvdp__check_folder_of(cli->ctx, values.junit));
    for (int i = 0; i < 2; i++)
        CLI_DO(cli, nvdp__refuse_same(cli->ctx, "junit", values.junit, cli->arg[i]));
    struct nvdp_gate_result result = NVDP_RESULT(struct nvdp_gate_result);
    CLI_DO(cli, nvdp_gate(cli->ctx, cli->config, &result));
    int code = write_junit(cli, &values, &result);
    if (code == CLI_SUCCESS) code = show(cli, &result);
    if (code == CLI_SUCCESS && !result.passed) code = CLI_FAILURE;
    nvdp_gate_result_free(&result);
    return code;
}

const struct cli_command cli_command_gate = {
    .name = "gate",
    .summary = "check a run or a shared file against the limits of a policy",
    .args = "POLICY.json RUN|FILE",
    .description =
        "Measures every number that a policy limits, and fails if one is beyond its limit, is not "
        "finite or cannot be measured. A policy names proven numbers (certified_epsilon, "
        "guess_bound, word_epsilon, person_epsilon), measured ones (exact_epsilon, named_share), "
        "any other number of certificate, privacy, ledger or verification by its path, and any "
        "number of an attack. A measured number is compared by the ends of its interval. Proofs "
        "cover "
        "all samples of a text that the run's ledger counts. --limit needs min_texts in the "
        "policy. Two policies come with the program: certified, which expects persons (nvdp export "
        "--person), and attacks. Of a shared file alone only its own statements can be checked, "
        "which are about one row. "
        "Exit status 1: a check fails; 3: the "
        "policy is wrong.",
    .examples = "Examples:\n"
                "  nvdp gate certified runs/certified\n"
                "  nvdp gate attacks runs/nvdp --public SST-2/train.tsv --prior models/compact\n"
                "  nvdp gate policy.json shared.h5 --junit gate.xml\n"
                "  nvdp gate policy.json run --shared shared.h5 --json\n",
    .create = nvdp_gate_config_create,
    .heading = "Options:",
    .options = options,
    .takes_precision = true,
    .run = run,
};
