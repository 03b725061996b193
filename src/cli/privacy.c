/* nvdp privacy: divergences between the texts of a run or of a file of posteriors. */
#include "common.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct values {
    const char *posteriors;
    const char *posteriors_out;
    const char *pairs;
};

static const struct nvdp_option options[] = {
    {"posteriors", NVDP_OPTION_TEXT, "FILE.h5", "a file of posteriors in place of a run",
     NVDP_OPTION_AT(struct values, posteriors), .group = "What is measured:", .after = "run"},
    {"pairs", NVDP_OPTION_TEXT, "FILE.h5", "also write the divergence of every ordered pair",
     NVDP_OPTION_AT(struct values, pairs), .group = "Output:"},
    {"out", NVDP_OPTION_TEXT, "FILE.h5", "the same as --pairs",
     .sets = (const char *const[]){"pairs", NULL}, .traits = NVDP_TRAIT_HIDDEN},
    {"posteriors-out", NVDP_OPTION_TEXT, "FILE.h5", "also write the posteriors that were measured",
     NVDP_OPTION_AT(struct values, posteriors_out)},
    {0},
};

/* The options of opening a run and those of measuring its posteriors. */
static nvdp_status create(struct nvdp_context *ctx, struct nvdp_config **out) {
    struct nvdp_config *made = NULL, *measures = NULL;
    nvdp_status status = nvdp_run_config_create(ctx, &made);
    if (status == NVDP_OK) status = nvdp_privacy_config_create(ctx, &measures);
    if (status == NVDP_OK) status = nvdp_config_join(made, measures);
    if (status == NVDP_OK) *out = made;
    if (status != NVDP_OK) nvdp_config_free(made);
    return status;
}

static int make_matrix(struct cli *cli, size_t texts, double **matrix) {
    if (texts > 0 && texts > SIZE_MAX / sizeof(double) / texts)
        return cli_error(cli, CLI_FAILURE, "%zu texts have too many pairs for --pairs", texts);
    *matrix = malloc(texts * texts * sizeof(double) + 1);
    if (*matrix == NULL)
        return cli_error(cli, CLI_FAILURE, "out of memory for the pairs of %zu texts", texts);
    return CLI_SUCCESS;
}

/* RUN/privacy.json. */
static int save(struct cli *cli, const char *report) {
    char *path = NULL;
    if (asprintf(&path, "%s/privacy.json", cli->arg[0]) < 0)
        return cli_error(cli, CLI_FAILURE, "out of memory");
    int code = cli_write_text(cli, path, report);
    free(path);
    return code;
}

static int measure(struct cli *cli, const struct values *values,
                   const struct nvdp_posteriors *posteriors) {
    char *text = NULL;
    double *matrix = NULL;
    struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    nvdp_status status = NVDP_OK;
    if (values->pairs != NULL) CLI_TRY(make_matrix(cli, posteriors->texts, &matrix));
    if (values->posteriors_out != NULL)
        status = nvdp_posteriors_write(cli->ctx, values->posteriors_out, posteriors);
    if (status == NVDP_OK)
        status = nvdp_privacy_measure(cli->ctx, posteriors, cli->config, matrix, &report);
    if (status == NVDP_OK) status = nvdp_privacy_report_json(cli->ctx, &report, &text);
    if (status == NVDP_OK && values->pairs != NULL)
        status = nvdp_pairs_write(cli->ctx, values->pairs, posteriors->texts, report.pairs.order,
                                  matrix);
    int code = status == NVDP_OK ? CLI_SUCCESS : cli_fail(cli, status);
    if (code == CLI_SUCCESS && values->posteriors == NULL) code = save(cli, text);
    if (code == CLI_SUCCESS && cli->json) puts(text);
    if (code == CLI_SUCCESS && !cli->json) nvdp_privacy_report_print(&report, stdout);
    free(text);
    free(matrix);
    return code;
}

static int run(struct cli *cli) {
    struct values values = {0};
    CLI_TRY(cli_begin(cli, &values));
    if ((cli->args == 1) == (values.posteriors != NULL))
        return cli_usage(cli, "expected either RUN or --posteriors FILE.h5");
    if (values.pairs != NULL && strcmp(nvdp_config_get(cli->config, "max-pairs"), "0") != 0)
        return cli_usage(cli, "expected either --pairs or --max-pairs");
    struct nvdp_posteriors *posteriors = NULL;
    CLI_DO(cli, values.posteriors != NULL
                    ? nvdp_posteriors_read(cli->ctx, values.posteriors, &posteriors)
                    : nvdp_run_posteriors(cli->ctx, cli->config, &posteriors));
    int code = measure(cli, &values, posteriors);
    nvdp_posteriors_free(posteriors);
    return code;
}

const struct cli_command cli_command_privacy = {
    .name = "privacy",
    .summary = "measure divergences between what texts share; Bayesian DP",
    .args = "[RUN]",
    .description = "Measures the Renyi divergence between the samples of every pair of texts, and "
                   "Bayesian differential privacy, of a run (written to RUN/privacy.json as well) "
                   "or of a file of posteriors. These are measurements on the given texts, not a "
                   "bound over all texts.",
    .examples = "Examples:\n"
                "  nvdp privacy run\n"
                "  nvdp privacy run --split train --limit 1000 --releases 4 --json\n"
                "  nvdp privacy run --split train --limit 0 --max-pairs 1000000\n"
                "  nvdp privacy --posteriors mine.h5 --order 2 --pairs pairs.h5\n",
    .create = create,
    .options = options,
    .run = run,
};
