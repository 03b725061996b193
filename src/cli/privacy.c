/* nvdp privacy: measures divergences between the texts of a run, of a posteriors file, or of privatized texts. run() at
 * the end selects the kind of work: certify(), take_training(), measure_texts(), measure_states() or measure(). */
#include "base/file.h"
#include "common.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct values {
    const char *posteriors;
    const char *posteriors_out;
    const char *pairs;
    const char *out; /* without a sanitizer, the same as pairs */
    bool certify, all;
    struct nvdp_training_privacy training; /* guarantee for the run's own training texts */
};

static const struct nvdp_option options[] = {
    {"posteriors", NVDP_OPTION_TEXT, "FILE.h5", "file of posteriors to measure in place of a run",
     NVDP_OPTION_AT(struct values, posteriors), .group = "What is measured:", .after = "run",
     .traits = NVDP_TRAIT_BASIC},
    {"pairs", NVDP_OPTION_TEXT, "FILE.h5", "also write the divergence of every ordered pair",
     NVDP_OPTION_AT(struct values, pairs), .group = "Output:"},
    {"out", NVDP_OPTION_TEXT, "FILE", "with --sanitizer: also write the report as JSON",
     NVDP_OPTION_AT(struct values, out)},
    {"certify", NVDP_OPTION_FLAG, NULL,
     "print what is proven for the run's mechanism over all texts, measured or not, at --delta and "
     "--releases; measures nothing and reads no text; the result is written to "
     "RUN/certificate.json, or to a file named after its options if they are not the defaults; "
     "exit status 1: nothing is proven",
     NVDP_OPTION_AT(struct values, certify), .group = "Proof:", .after = "pair",
     .traits = NVDP_TRAIT_BASIC},
    {"all", NVDP_OPTION_FLAG, NULL, "print all tables, not only the first numbers",
     NVDP_OPTION_AT(struct values, all), .traits = NVDP_TRAIT_BASIC},
    {"posteriors-out", NVDP_OPTION_TEXT, "FILE.h5", "also write the measured posteriors",
     NVDP_OPTION_AT(struct values, posteriors_out)},
    {0},
};

static int make_matrix(struct cli *cli, size_t texts, double **matrix) {
    if (texts > 0 && texts > SIZE_MAX / sizeof(double) / texts)
        return cli_error(cli, CLI_FAILURE, "option --pairs: %zu texts have too many pairs to write",
                         texts);
    *matrix = malloc(texts * texts * sizeof(double) + 1);
    if (*matrix == NULL)
        return cli_error(cli, CLI_FAILURE, "out of memory for the pairs of %zu texts", texts);
    return CLI_SUCCESS;
}

/* Writes DIRECTORY/privacy.json, certificate.json or measured.json. If options differ from the defaults, the name shows
 * them. */
static int save(struct cli *cli, const char *directory, const char *stem, const char *report) {
    char *name = NULL, *path = NULL;
    CLI_DO(cli, nvdp_measured_name(cli->ctx, cli->config, stem, &name));
    int code = asprintf(&path, "%s/%s", directory, name) < 0
                   ? cli_error(cli, CLI_FAILURE, "out of memory")
                   : cli_write_text(cli, path, report);
    free(name);
    free(path);
    return code;
}

/* Prints the --json report, with the training's guarantee if training was private. */
static int print_report(struct cli *cli, const struct values *values, const char *text) {
    json_t *report = values->training.is_private ? json_loads(text, 0, NULL) : NULL;
    if (report == NULL) return puts(text) == EOF ? CLI_FAILURE : CLI_SUCCESS;
    json_object_set_new(report, "training", cli_training_json(cli, &values->training));
    return cli_print_json(cli, report);
}

static void print_training(struct cli *cli, const struct values *values) {
    if (!values->training.is_private) return;
    putchar('\n');
    cli_training_print(cli, &values->training);
}

/* Writes the report and the pairs to the requested outputs. */
static int give(struct cli *cli, const struct values *values,
                const struct nvdp_privacy_report *report, const double *matrix, const int64_t *id) {
    char *text = NULL;
    nvdp_status status = nvdp_privacy_report_json(cli->ctx, report, &text);
    if (status == NVDP_OK) status = nvdp_measured_label(cli->ctx, cli->config, &text);
    if (status == NVDP_OK && values->pairs != NULL)
        status = nvdp_pairs_write(cli->ctx, values->pairs, report->pairs->texts,
                                  report->pairs->order, matrix, id);
    int code = status == NVDP_OK ? CLI_SUCCESS : cli_fail(cli, status);
    if (status == NVDP_OK && values->posteriors == NULL)
        code = save(cli, cli->arg[0], "privacy", text);
    if (status == NVDP_OK && cli->json) print_report(cli, values, text);
    if (status == NVDP_OK && !cli->json && values->posteriors == NULL) {
        cli_print_guarantee(cli, cli->arg[0]);
        print_training(cli, values);
        putchar('\n');
    }
    free(text);
    if (status != NVDP_OK || cli->json) return code;
    CLI_DO(cli, (values->all ? nvdp_privacy_report_text
                             : nvdp_privacy_report_summary)(cli->ctx, report, &text));
    CLI_TRY(cli_put(text));
    if (!values->all) puts("All tables: --all");
    return code;
}

static int measure(struct cli *cli, const struct values *values,
                   const struct nvdp_posteriors *posteriors) {
    double *matrix = NULL;
    struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    nvdp_status status = NVDP_OK;
    if (values->pairs != NULL) CLI_TRY(make_matrix(cli, posteriors->texts, &matrix));
    if (values->posteriors_out != NULL)
        status = nvdp_posteriors_write(cli->ctx, values->posteriors_out, posteriors);
    if (status == NVDP_OK)
        status = nvdp_privacy_measure(cli->ctx, posteriors, cli->config, matrix, &report);
    if (status == NVDP_OK)
        status = nvdp_linkage_measure(cli->ctx, posteriors, report.bdp_releases, NVDP_LINKAGE_TEXTS,
                                      strtoull(nvdp_config_get(cli->config, "seed"), NULL, 10),
                                      report.linkage);
    const char *split = nvdp_config_get(cli->config, "split");
    if (values->posteriors == NULL && split != NULL)
        snprintf(report.split, sizeof report.split, "%s", split);
    int code = status == NVDP_OK ? give(cli, values, &report, matrix, posteriors->id)
                                 : cli_fail(cli, status);
    nvdp_privacy_report_free(&report);
    free(matrix);
    return code;
}

/* Measures a run with token-noise sequence-laplace. */
static int measure_states(struct cli *cli, const struct values *values) {
    double *matrix = NULL;
    struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    if (values->posteriors_out != NULL)
        return cli_usage(
            cli,
            "option --posteriors-out: a run with token-noise sequence-laplace has no posteriors");
    nvdp_status status = nvdp_run_sequence_privacy(cli->ctx, cli->config,
                                                   values->pairs != NULL ? &matrix : NULL, &report);
    int code = status == NVDP_OK ? give(cli, values, &report, matrix, NULL) : cli_fail(cli, status);
    nvdp_privacy_report_free(&report);
    free(matrix);
    return code;
}

/* Measures texts under a mechanism that privatizes token by token. */
static int measure_texts(struct cli *cli, const struct values *values) {
    char *text = NULL;
    struct nvdp_dchi_report report = NVDP_RESULT(struct nvdp_dchi_report);
    const bool run = cli->args > 0; /* a run with token-noise */
    const char *sanitized = nvdp_config_get(cli->config, "sanitized");
    if ((run &&
         (cli_given(cli, "sanitizer") || cli_given(cli, "mechanism") || sanitized != NULL)) ||
        values->posteriors != NULL || values->posteriors_out != NULL)
        return cli_usage(
            cli,
            "option --sanitizer measures texts; leave out RUN, --posteriors and --posteriors-out");
    double *matrix = NULL, **wanted = values->pairs != NULL ? &matrix : NULL;
    nvdp_status status = run ? nvdp_run_text_privacy(cli->ctx, cli->config, wanted, &report)
                             : nvdp_text_privacy(cli->ctx, cli->config, wanted, &report);
    if (status == NVDP_OK) status = nvdp_dchi_report_json(cli->ctx, &report, &text);
    if (status == NVDP_OK) status = nvdp_measured_label(cli->ctx, cli->config, &text);
    if (status == NVDP_OK && values->pairs != NULL)
        status = nvdp_pairs_write(cli->ctx, values->pairs, report.pairs->pairs->texts,
                                  report.pairs->pairs->order, matrix, NULL);
    free(matrix);
    int code = status != NVDP_OK     ? cli_fail(cli, status)
               : values->out != NULL ? cli_write_text(cli, values->out, text)
                                     : CLI_SUCCESS;
    const bool given = code == CLI_SUCCESS;
    if (given && sanitized != NULL) code = save(cli, sanitized, "measured", text);
    if (given && run) code = save(cli, cli->arg[0], "privacy", text);
    if (given && cli->json) print_report(cli, values, text);
    if (given && !cli->json) print_training(cli, values);
    free(text);
    text = NULL;
    if (given && !cli->json) {
        status = nvdp_dchi_report_text(cli->ctx, &report, &text);
        code = status != NVDP_OK ? cli_fail(cli, status) : cli_put(text);
    }
    nvdp_dchi_report_free(&report);
    return code;
}

/* Noise that the users of a run add to their texts. */
enum noise { NO_NOISE, OF_TOKENS, OF_SEQUENCES };
static enum noise noise_of(const char *directory) {
    json_t *config = cli_run_config(directory);
    const char *name = json_string_value(json_object_get(config, "token_noise"));
    struct nvdp_text_mechanism_info info = NVDP_RESULT(struct nvdp_text_mechanism_info);
    if (name != NULL) (void)nvdp_text_mechanism_describe(NULL, name, &info);
    const enum noise noise = name == NULL || strcmp(name, "none") == 0 ? NO_NOISE
                             : info.on_sequence                        ? OF_SEQUENCES
                                                                       : OF_TOKENS;
    json_decref(config);
    return noise;
}

/* Adds the sums of the run's ledger by person to the certificate, if it names persons. */
static int add_persons(struct cli *cli, char **text) {
    struct nvdp_ledger_summary ledger = NVDP_RESULT(struct nvdp_ledger_summary);
    char *path = NULL, *key = NULL;
    if (asprintf(&path, "%s/ledger", cli->arg[0]) < 0)
        return cli_error(cli, CLI_FAILURE, "out of memory");
    if (asprintf(&key, "%s.key", path) < 0) key = NULL;
    const bool there = key != NULL && nvdp__exists(key); /* a ledger that is gone fails */
    const nvdp_status status =
        there ? nvdp_ledger_summarize(cli->ctx, path, key, &ledger) : NVDP_OK;
    free(path);
    free(key);
    if (status != NVDP_OK) return cli_fail(cli, status);
    if (ledger.person.persons == 0) return CLI_SUCCESS;
    json_t *object = json_loads(*text, 0, NULL);
    json_t *sums = cli_add_result(cli, json_object(), "ledger", NULL, &ledger);
    json_object_set_new(object, "ledger", sums);
    char *made = sums != NULL ? json_dumps(object, JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    if (made == NULL) return cli_error(cli, CLI_FAILURE, "out of memory");
    free(*text);
    *text = made;
    return CLI_SUCCESS;
}

/* Prints the certificate of a run with a bottleneck, without measuring. Refuses runs with token noise, whose proof does
 * not concern a bottleneck. */
static int certify(struct cli *cli) {
    static const char *const apply[] = {"certify", "delta", "releases", "at-epsilon", "run", NULL};
    const char *other = cli_given_one(cli, apply, false);
    struct nvdp_certificate certificate = NVDP_RESULT(struct nvdp_certificate);
    char *text = NULL;
    if (other != NULL) return cli_usage(cli, "option --%s does not apply to --certify", other);
    if (cli->args != 1) return cli_usage(cli, "option --certify needs RUN");
    if (noise_of(cli->arg[0]) != NO_NOISE)
        return cli_usage(cli,
                         "option --certify: expected a run with a bottleneck, found one with "
                         "token-noise, whose users add noise to their own texts; nvdp privacy %s "
                         "shows what is proven and measured for it",
                         cli->arg[0]);
    CLI_TRY(cli_certificate(cli, cli->config, &certificate));
    CLI_DO(cli, nvdp_certificate_json(cli->ctx, &certificate, &text));
    CLI_DO(cli, nvdp_measured_label(cli->ctx, cli->config, &text));
    CLI_TRY(add_persons(cli, &text));
    int code = save(cli, cli->arg[0], "certificate", text);
    if (cli->json) puts(text);
    free(text);
    if (code == CLI_SUCCESS && certificate.theorem == NVDP_THEOREM_NONE) code = CLI_FAILURE;
    if (cli->json) return code;
    CLI_DO(cli, nvdp_certificate_text(cli->ctx, &certificate, &text));
    CLI_TRY(cli_put(text));
    return code;
}

/* Refuses options of token mechanisms: they would have no effect on a run with a bottleneck or on posteriors. */
static int check_given(struct cli *cli) {
    static const char *const of_mechanisms[] = {"p",
                                                "oov",
                                                "sensitive",
                                                "sensitive-from",
                                                "sensitive-list",
                                                "sensitive-from-data",
                                                "vocabulary-from",
                                                "vectors",
                                                "model",
                                                "task",
                                                "text",
                                                "text-column",
                                                "text-pair-column",
                                                NULL};
    const char *name = cli_given_one(cli, of_mechanisms, true);
    if (cli_given(cli, "eta")) /* --epsilon sets eta too */
        return cli_usage(
            cli, "options --eta and --epsilon set a mechanism that privatizes texts and need "
                 "--sanitizer or --sanitized; for the curves of the exact loss use --at-epsilon");
    if (name != NULL)
        return cli_usage(cli,
                         "option --%s sets a mechanism that privatizes texts and needs --sanitizer "
                         "or --sanitized",
                         name);
    if (cli_given(cli, "at-epsilon") && !cli_given(cli, "exact"))
        return cli_usage(cli, "option --at-epsilon needs --exact or --certify");
    return CLI_SUCCESS;
}

/* Refuses an output that would overwrite an input or another output. */
static int check_outputs(struct cli *cli, const struct values *values) {
    static const char *const option[] = {"posteriors-out", "pairs", "out"};
    const char *const file[] = {values->posteriors,
                                nvdp_config_get(cli->config, "text"),
                                nvdp_config_get(cli->config, "vectors"),
                                values->posteriors_out,
                                values->pairs,
                                values->out};
    enum { INPUTS = 3, FILES = 6 };
    for (size_t made = INPUTS; made < FILES; made++) {
        CLI_DO(cli, nvdp__check_folder_of(cli->ctx, file[made]));
        for (size_t kept = 0; kept < made; kept++)
            CLI_DO(cli, nvdp__refuse_same(cli->ctx, option[made - INPUTS], file[made], file[kept]));
    }
    return CLI_SUCCESS;
}

/* Reads the guarantee of a run's training texts. For a method without measurable samples it is the only result: prints
 * it and sets *done. */
static int take_training(struct cli *cli, struct values *values, bool *done) {
    enum nvdp_method method;
    struct nvdp_training_privacy *training = &values->training;
    *training = (struct nvdp_training_privacy)NVDP_RESULT(struct nvdp_training_privacy);
    json_t *config = cli->args == 1 ? cli_run_config(cli->arg[0]) : NULL;
    if (config == NULL) return CLI_SUCCESS;
    const char *name = json_string_value(json_object_get(config, "method"));
    const nvdp_status status = nvdp_training_privacy(cli->ctx, cli->arg[0], training, NULL);
    *done = training->is_private && nvdp_method_find(NULL, name, &method) == NVDP_OK &&
            !nvdp_method_is_private(method) && noise_of(cli->arg[0]) == NO_NOISE;
    json_decref(config);
    if (status != NVDP_OK) return cli_fail(cli, status);
    if (!*done) return CLI_SUCCESS;
    if (cli->json)
        return cli_print_json(cli,
                              json_pack("{s:o}", "training", cli_training_json(cli, training)));
    cli_print_guarantee(cli, cli->arg[0]);
    print_training(cli, values);
    return CLI_SUCCESS;
}

static int work(struct cli *cli, struct values *values) {
    bool done = false;
    if (values->certify) return certify(cli);
    CLI_TRY(check_outputs(cli, values));
    CLI_TRY(take_training(cli, values, &done));
    if (done) return CLI_SUCCESS;
    if (cli_given(cli, "sanitizer") || cli_given(cli, "mechanism") || cli_given(cli, "sanitized"))
        return measure_texts(cli, values);
    const enum noise noise =
        cli->args == 1 && values->posteriors == NULL ? noise_of(cli->arg[0]) : NO_NOISE;
    if (noise == OF_TOKENS) return measure_texts(cli, values);
    CLI_TRY(check_given(cli));
    if (values->out != NULL) values->pairs = values->out;
    if (noise == OF_SEQUENCES) return measure_states(cli, values);
    if (values->pairs != NULL && strcmp(nvdp_config_get(cli->config, "max-pairs"), "0") != 0)
        return cli_usage(cli, "expected at most one of --pairs and --max-pairs");
    struct nvdp_posteriors *posteriors = NULL;
    CLI_TRY(cli_posteriors(cli, values->posteriors, &posteriors));
    int code = measure(cli, values, posteriors);
    nvdp_posteriors_free(posteriors);
    return code;
}

static int run(struct cli *cli) {
    struct values values = {0};
    CLI_TRY(cli_begin(cli, &values));
    const int code = work(cli, &values);
    nvdp_training_privacy_free(&values.training);
    return code;
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
                "  nvdp privacy --posteriors mine.h5 --order 2 --pairs pairs.h5\n"
                "  nvdp privacy --sanitizer santext --epsilon 2 --vectors glove.6B.300d.txt \\\n"
                "    --task sst2 --data SST-2\n",
    .create = nvdp_run_config_create,
    .more = {nvdp_text_privacy_config_create},
    .options = options,
    .run = run,
};
