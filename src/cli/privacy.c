/* nvdp privacy: divergences between the texts of a run or of a file of posteriors. */
#include "common.h"
#include "run_options.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

struct values {
    struct nvdp_run_config run;
    struct nvdp_privacy_config privacy;
    const char *posteriors;
    const char *posteriors_out;
    const char *pairs;
};

static const struct cli_choice adjacencies[] = {
    {"all", NVDP_ADJACENT_ALL},
    {"same-length", NVDP_ADJACENT_SAME_LENGTH},
    {0},
};

static const struct cli_choice arithmetics[] = {
    {"fast", NVDP_PAIRS_FAST},
    {"exact", NVDP_PAIRS_EXACT},
    {0},
};

static const struct cli_option options[] = {
    {.kind = CLI_HEADING, .help = "What is measured:"},
    CLI_OPTION("posteriors", "FILE.h5", "a file of posteriors in place of a run", CLI_TEXT,
               offsetof(struct values, posteriors)),
    CLI_RUN_OPTIONS(struct values),
    CLI_OPTION("adjacency", "A", "pairs of all texts, or of texts of the same length (same-length)",
               CLI_CHOICE, offsetof(struct values, privacy.pairs.adjacency),
               .choices = adjacencies),
    CLI_OPTION("max-pairs", "N",
               "where there are more ordered pairs: the largest by bounds, exactly; mean and "
               "quantiles, with intervals, from N drawn pairs; 0: every pair",
               CLI_SIZE, offsetof(struct values, privacy.pairs.max_pairs)),
    {.kind = CLI_HEADING, .help = "Measures:"},
    CLI_OPTION("order", "X",
               "order of the Renyi divergence; 1: Kullback-Leibler; inf: largest loss", CLI_REAL,
               offsetof(struct values, privacy.pairs.order)),
    CLI_OPTION(
        "arithmetic", "A",
        "each divergence within 1e-6 of its value, maxima within 1e-12 (fast), or all within "
        "1e-12 (exact)",
        CLI_CHOICE, offsetof(struct values, privacy.pairs.arithmetic), .choices = arithmetics),
    CLI_OPTION("delta", "X", "failure probability of the Bayesian DP statement", CLI_REAL,
               offsetof(struct values, privacy.bdp.delta)),
    CLI_OPTION("gamma", "X", "failure probability of its estimate", CLI_REAL,
               offsetof(struct values, privacy.bdp.gamma)),
    CLI_OPTION("releases", "N", "samples given away of the same text", CLI_INT,
               offsetof(struct values, privacy.bdp.releases)),
    {.kind = CLI_HEADING, .help = "Output:"},
    CLI_OPTION("pairs", "FILE.h5", "also write the divergence of every ordered pair", CLI_TEXT,
               offsetof(struct values, pairs)),
    CLI_OPTION("out", "FILE.h5", "the same as --pairs", CLI_TEXT, offsetof(struct values, pairs),
               .hidden = true),
    CLI_OPTION("posteriors-out", "FILE.h5", "also write the posteriors that were measured",
               CLI_TEXT, offsetof(struct values, posteriors_out)),
    {0},
};

static nvdp_status load(struct cli *cli, struct values *values, struct nvdp_posteriors **out) {
    if (values->posteriors != NULL) return nvdp_posteriors_read(cli->ctx, values->posteriors, out);
    values->run.run = cli->arg[0];
    return nvdp_run_posteriors(cli->ctx, &values->run, out);
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
    if (asprintf(&path, "%s/privacy.json", values->run.run) < 0)
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
    struct nvdp_privacy_report report;
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
    struct values values = {.run = nvdp_run_config_default(),
                            .privacy = nvdp_privacy_config_default()};
    int code = cli_begin(cli, &values);
    if (code != CLI_SUCCESS) return code;
    if ((cli->args == 1) == (values.posteriors != NULL))
        return cli_usage(cli, "expected either RUN or --posteriors FILE.h5");
    if (values.pairs != NULL && values.privacy.pairs.max_pairs > 0)
        return cli_usage(cli, "expected either --pairs or --max-pairs");
    values.privacy.pairs.seed = values.run.seed;
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
    .options = options,
    .takes = CLI_TAKES_JSON,
    .run = run,
};
