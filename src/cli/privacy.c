/* nvdp privacy: divergences between the texts of a run or of a file of posteriors. */
#include "common.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

struct values {
    struct nvdp_privacy_config privacy;
    const char *posteriors;
    const char *posteriors_out;
    const char *pairs;
};

static const char *const adjacencies[] = {
    [NVDP_ADJACENT_ALL] = "all",
    [NVDP_ADJACENT_SAME_LENGTH] = "same-length",
    NULL,
};

static const char *const arithmetics[] = {
    [NVDP_PAIRS_FAST] = "fast",
    [NVDP_PAIRS_EXACT] = "exact",
    NULL,
};

static const struct nvdp_option options[] = {
    {"posteriors", NVDP_OPTION_TEXT, "FILE.h5", "a file of posteriors in place of a run",
     NVDP_OPTION_AT(struct values, posteriors), .group = "What is measured:", .after = "run"},
    {"adjacency", NVDP_OPTION_CHOICE, "A",
     "pairs of all texts, or of texts of the same length (same-length)",
     NVDP_OPTION_AT(struct values, privacy.pairs.adjacency), .choices = adjacencies},
    {"max-pairs", NVDP_OPTION_INTEGER, "N",
     "where there are more ordered pairs: the largest by bounds, exactly; mean and "
     "quantiles, with intervals, from N drawn pairs; 0: every pair",
     NVDP_OPTION_AT(struct values, privacy.pairs.max_pairs)},

    {"order", NVDP_OPTION_REAL, "X",
     "order of the Renyi divergence; 1: Kullback-Leibler; inf: largest loss",
     NVDP_OPTION_AT(struct values, privacy.pairs.order), .group = "Measures:"},
    {"arithmetic", NVDP_OPTION_CHOICE, "A",
     "each divergence within 1e-6 of its value, maxima within 1e-12 (fast), or all within "
     "1e-12 (exact)",
     NVDP_OPTION_AT(struct values, privacy.pairs.arithmetic), .choices = arithmetics},
    {"delta", NVDP_OPTION_REAL, "X", "failure probability of the Bayesian DP statement",
     NVDP_OPTION_AT(struct values, privacy.bdp.delta)},
    {"gamma", NVDP_OPTION_REAL, "X", "failure probability of its estimate",
     NVDP_OPTION_AT(struct values, privacy.bdp.gamma)},
    {"releases", NVDP_OPTION_INTEGER, "N", "samples given away of the same text",
     NVDP_OPTION_AT(struct values, privacy.bdp.releases)},

    {"pairs", NVDP_OPTION_TEXT, "FILE.h5", "also write the divergence of every ordered pair",
     NVDP_OPTION_AT(struct values, pairs), .group = "Output:"},
    {"out", NVDP_OPTION_TEXT, "FILE.h5", "the same as --pairs",
     .sets = (const char *const[]){"pairs", NULL}, .traits = NVDP_TRAIT_HIDDEN},
    {"posteriors-out", NVDP_OPTION_TEXT, "FILE.h5", "also write the posteriors that were measured",
     NVDP_OPTION_AT(struct values, posteriors_out)},
    {0},
};

static nvdp_status load(struct cli *cli, struct values *values, struct nvdp_posteriors **out) {
    if (values->posteriors != NULL) return nvdp_posteriors_read(cli->ctx, values->posteriors, out);
    return nvdp_run_posteriors(cli->ctx, cli->config, out);
}

static int make_matrix(struct cli *cli, struct values *values, size_t texts) {
    if (texts > 0 && texts > SIZE_MAX / sizeof(double) / texts)
        return cli_error(cli, CLI_FAILURE, "%zu texts have too many pairs for --pairs", texts);
    values->privacy.pairs.matrix = malloc(texts * texts * sizeof(double) + 1);
    if (values->privacy.pairs.matrix == NULL)
        return cli_error(cli, CLI_FAILURE, "out of memory for the pairs of %zu texts", texts);
    return CLI_SUCCESS;
}

static int save(struct cli *cli, const struct values *values, size_t texts, const char *report) {
    if (values->pairs != NULL) {
        nvdp_status status =
            nvdp_pairs_write(cli->ctx, values->pairs, texts, values->privacy.pairs.order,
                             values->privacy.pairs.matrix);
        if (status != NVDP_OK) return cli_fail(cli, status);
    }
    if (values->posteriors != NULL) return CLI_SUCCESS;
    char *path = NULL;
    if (asprintf(&path, "%s/privacy.json", cli->arg[0]) < 0)
        return cli_error(cli, CLI_FAILURE, "out of memory");
    int code = cli_write_text(cli, path, report);
    free(path);
    return code;
}

static int show(const struct cli *cli, const struct nvdp_privacy_report *report, const char *text) {
    if (cli->json) {
        puts(text);
    } else {
        nvdp_privacy_report_print(report, stdout);
    }
    return CLI_SUCCESS;
}

static int measure(struct cli *cli, struct values *values, struct nvdp_posteriors *posteriors) {
    int code = CLI_SUCCESS;
    char *text = NULL;
    if (values->pairs != NULL) code = make_matrix(cli, values, posteriors->texts);
    if (code != CLI_SUCCESS) return code;
    struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    nvdp_status status = NVDP_OK;
    if (values->posteriors_out != NULL)
        status = nvdp_posteriors_write(cli->ctx, values->posteriors_out, posteriors);
    if (status == NVDP_OK)
        status = nvdp_privacy_measure(cli->ctx, posteriors, &values->privacy, &report);
    if (status == NVDP_OK) status = nvdp_privacy_report_json(cli->ctx, &report, &text);
    code = status == NVDP_OK ? save(cli, values, posteriors->texts, text) : cli_fail(cli, status);
    if (code == CLI_SUCCESS) code = show(cli, &report, text);
    free(text);
    free(values->privacy.pairs.matrix);
    return code;
}

static int run(struct cli *cli) {
    struct values values = {.privacy = nvdp_privacy_config_default()};
    int code = cli_begin(cli, &values);
    if (code != CLI_SUCCESS) return code;
    if ((cli->args == 1) == (values.posteriors != NULL))
        return cli_usage(cli, "expected either RUN or --posteriors FILE.h5");
    if (values.pairs != NULL && values.privacy.pairs.max_pairs > 0)
        return cli_usage(cli, "expected either --pairs or --max-pairs");
    values.privacy.pairs.seed = strtoull(nvdp_config_get(cli->config, "seed"), NULL, 10);
    struct nvdp_posteriors *posteriors = NULL;
    nvdp_status status = load(cli, &values, &posteriors);
    if (status != NVDP_OK) return cli_fail(cli, status);
    code = measure(cli, &values, posteriors);
    nvdp_posteriors_free(posteriors);
    return code;
}

const struct cli_command cli_command_privacy = {
    .name = "privacy",
    .summary = "measure divergences between what texts share; Bayesian DP",
    .args = "[RUN]",
    .args_max = 1,
    .description = "Measures the Renyi divergence between the samples of every pair of texts, and "
                   "Bayesian differential privacy, of a run (written to RUN/privacy.json as well) "
                   "or of a file of posteriors. These are measurements on the given texts, not a "
                   "bound over all texts.",
    .examples = "Examples:\n"
                "  nvdp privacy run\n"
                "  nvdp privacy run --split train --limit 1000 --releases 4 --json\n"
                "  nvdp privacy run --split train --limit 0 --max-pairs 1000000\n"
                "  nvdp privacy --posteriors mine.h5 --order 2 --pairs pairs.h5\n",
    .create = nvdp_run_config_create,
    .options = options,
    .takes = CLI_TAKES_JSON,
    .run = run,
};
