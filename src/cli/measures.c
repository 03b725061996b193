/* nvdp privacy: measures divergences between the texts of a run, of a posteriors file, or of privatized texts. nvdp
 * gate: compares proven and measured numbers of a run or a shared file with the limits of a policy. The library
 * measures; this file prints, and writes JUnit XML. */
#include "common.h"

#include "base/file.h"
#include <stdlib.h>
#include <string.h>

/* ==== nvdp privacy ==== */

struct privacy_values {
    bool certify, all;
};

static const struct nvdp_option privacy_options[] = {
    {"posteriors", NVDP_OPTION_TEXT, "FILE",
     "file of posteriors (.h5, .npz) to measure in place of a run",
     .group = "What is measured:", .after = "run", .traits = NVDP_TRAIT_BASIC},
    {"pairs", NVDP_OPTION_TEXT, "FILE.h5", "also write the divergence of every ordered pair",
     .group = "Output:"},
    {"out", NVDP_OPTION_TEXT, "FILE", "with --sanitizer: also write the report as JSON",
     .default_value = NULL},
    {"certify", NVDP_OPTION_FLAG, NULL,
     "print what is proven for the run's mechanism over all texts, measured or not, at --delta and "
     "--releases; measures nothing and reads no text; the result is written to "
     "RUN/certificate.json, or to a file named after its options if they are not the defaults; "
     "exit status 1: nothing is proven",
     NVDP_OPTION_AT(struct privacy_values, certify), .group = "Proof:", .after = "pair",
     .traits = NVDP_TRAIT_BASIC},
    {"all", NVDP_OPTION_FLAG, NULL, "print all tables, not only the first numbers",
     NVDP_OPTION_AT(struct privacy_values, all), .traits = NVDP_TRAIT_BASIC},
    {"posteriors-out", NVDP_OPTION_TEXT, "FILE.h5", "also write the measured posteriors",
     .default_value = NULL},
    {0},
};

static int print(struct cli *cli, const struct nvdp_measured *found, bool all) {
    char *text = NULL;
    if (found->guarantee != NULL) fputs(found->guarantee, stdout);
    if (found->training != NULL) {
        putchar('\n');
        cli_training_print(found->training);
    }
    if (found->certificate != NULL)
        CLI_DO(cli, nvdp_result_text(cli->ctx, found->certificate, NULL, &text));
    else if (found->tokens != NULL)
        CLI_DO(cli, nvdp_result_text(cli->ctx, found->tokens, NULL, &text));
    if (text != NULL) return cli_put(text);
    if (found->vectors == NULL) return CLI_SUCCESS;
    if (cli->args > 0) putchar('\n');
    CLI_DO(cli, nvdp_result_text(cli->ctx, found->vectors, all ? NULL : "summary", &text));
    CLI_TRY(cli_put(text));
    if (!all) puts("All tables: --all");
    return CLI_SUCCESS;
}

static int privacy(struct cli *cli) {
    static const char *const of_proof[] = {"certify",    "delta", "releases",
                                           "at-epsilon", "run",   NULL};
    struct privacy_values values = {0};
    nvdp__autoresult struct nvdp_measured found = NVDP_RESULT(struct nvdp_measured);
    CLI_TRY(cli_begin(cli, &values));
    const char *other = values.certify ? cli_given_one(cli, of_proof, false) : NULL;
    if (other != NULL) return cli_usage(cli, "option --%s does not apply to --certify", other);
    if (values.certify && cli->args != 1) return cli_usage(cli, "option --certify needs RUN");
    CLI_DO(cli, nvdp_measure(cli->ctx, cli->args > 0 ? cli->arg[0] : NULL, cli->config, &found));
    const int saved =
        found.unsaved == NULL ? CLI_SUCCESS : cli_error(cli, CLI_FAILURE, "%s", found.unsaved);
    if (!cli->json)
        CLI_TRY(print(cli, &found, values.all));
    else if (puts(found.json) == EOF)
        return CLI_FAILURE;
    const bool proven =
        found.certificate == NULL || found.certificate->theorem != NVDP_THEOREM_NONE;
    return proven ? saved : CLI_FAILURE;
}

const struct cli_command cli_command_privacy = {
    .name = "privacy",
    .summary = "measure divergences between the shared data of texts, and Bayesian DP",
    .args = "[RUN]",
    .description =
        "Measures the Renyi divergence between the samples of every pair of texts, and Bayesian "
        "differential privacy. The input is a run, a file of posteriors, or the texts of a task "
        "under a mechanism that privatizes them token by token. The result for a run is also "
        "written to RUN/privacy.json, or to a file named after its options if they are not the "
        "defaults. The numbers are measurements on the given texts and no bound over all texts; "
        "--certify prints such a bound if one is proven. For a run that was trained with "
        "differential privacy, the guarantee for its training texts comes first.",
    .examples = "Examples:\n"
                "  nvdp privacy run\n"
                "  nvdp privacy run --split train --limit 1000 --releases 4 --json\n"
                "  nvdp privacy run --split train --limit 0 --max-pairs 1000000\n"
                "  nvdp privacy run --exact --pair 3,17 --at-epsilon 1,5 --at-delta 1e-5,1e-6\n"
                "  nvdp privacy run --certify --delta 1e-6 --releases 4\n"
                "  nvdp privacy --posteriors mine.npz --order 2 --pairs pairs.h5\n"
                "  nvdp privacy --sanitizer santext --epsilon 2 --vectors glove.6B.300d.txt \\\n"
                "    --task sst2 --data SST-2\n",
    .kinds = "run,text-privacy",
    .options = privacy_options,
    .run = privacy,
};

/* ==== nvdp gate ==== */

struct gate_values {
    const char *junit;
};

static const struct nvdp_option gate_options[] = {
    {"junit", NVDP_OPTION_TEXT, "FILE", "also write the result as JUnit XML, for CI systems", NULL,
     NVDP_OPTION_AT(struct gate_values, junit)},
    {0}};

static int gate(struct cli *cli) {
    struct gate_values values = {0};
    nvdp__autoresult struct nvdp_gate_result result = NVDP_RESULT(struct nvdp_gate_result);
    nvdp__autofree char *junit = NULL;
    char *text = NULL;
    CLI_TRY(cli_begin(cli, &values));
    if (cli->args != 2) return cli_usage(cli, "expected POLICY.json, and RUN or FILE");
    CLI_DO(cli, nvdp__check_parent_folder(cli->ctx, values.junit));
    for (int i = 0; i < 2; i++)
        CLI_DO(cli, nvdp__refuse_same(cli->ctx, "junit", values.junit, cli->arg[i]));
    CLI_DO(cli, nvdp_gate(cli->ctx, cli->config, &result));
    if (values.junit != NULL) {
        CLI_DO(cli, nvdp_gate_junit(cli->ctx, &result, cli->arg[1], &junit));
        CLI_DO(cli, nvdp__write_text(cli->ctx, values.junit, junit));
    }
    if (!cli->json) CLI_DO(cli, nvdp_result_text(cli->ctx, &result, NULL, &text));
    CLI_TRY(!cli->json
                ? cli_put(text)
                : cli_show(cli,
                           json_pack("{s:s, s:s}", "policy", cli->arg[0], "target", cli->arg[1]),
                           "gate", &result));
    return result.passed ? CLI_SUCCESS : CLI_FAILURE;
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
    .kinds = "gate",
    .heading = "Options:",
    .options = gate_options,
    .takes_precision = true,
    .run = gate,
};
