/* Shared files. nvdp export: writes noisy embeddings of texts to a file to give away, and prints what the file
 * reveals. nvdp verify: checks a shared file and its signature, and makes key pairs. nvdp reuse: trains and scores a
 * classifier that sees only a shared file. nvdp info: identifies a file or directory and prints its metadata. The
 * library does the work. */
#include "common.h"

#include <signal.h>
#include <stdlib.h>

/* ==== nvdp export ==== */

static int export_json(struct cli *cli, const struct nvdp_export_result *result) {
    json_t *privacy = json_null();
    if (result->privacy != NULL)
        CLI_DO(cli, nvdp__result_pack(cli->ctx, result->privacy, NULL, &privacy));
    json_t *object =
        json_pack("{s:s, s:b, s:o}", "out", nvdp_config_get(cli->config, "out"), "insecure_seed",
                  cli_given(cli, "insecure-seed"), "privacy", privacy);
    return cli_print_json(cli, cli_add_result(object, "export", NULL, result));
}

static int export_print(struct cli *cli, const struct nvdp_export_result *result) {
    const struct nvdp_config *config = cli->config;
    char *text = NULL;
    const char *model = nvdp_config_get(config, "model-out"),
               *ledger = nvdp_config_get(config, "ledger");
    nvdp__print_wrapped(stdout, result->guarantee);
    cli_row("file", "%s", nvdp_config_get(config, "out"));
    if (nvdp_config_get(config, "model") != NULL) cli_row("run", "%s", result->run);
    if (model != NULL) cli_row("public model", "%s", model);
    if (result->spent_samples == 0)
        cli_row("ledger", "none: samples of these texts in other files are not counted");
    else if (ledger == NULL && result->run[0] == '\0')
        cli_row("ledger", "vectors.ledger, beside the file");
    else
        cli_row("ledger", "%s%s", ledger != NULL ? ledger : result->run,
                ledger != NULL ? "" : "/ledger");
    cli_print_result("export", result);
    putchar('\n');
    nvdp__print_wrapped(stdout, result->statement);
    if (result->privacy == NULL) return CLI_SUCCESS;
    putchar('\n');
    CLI_DO(cli, nvdp_result_text(cli->ctx, result->privacy, "summary", &text));
    CLI_TRY(cli_put(text));
    puts("All numbers: --json");
    return CLI_SUCCESS;
}

static int export(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    CLI_TRY(cli_need(cli));
    bool input = nvdp_config_get(cli->config, "input") != NULL;
    bool split = nvdp_config_get(cli->config, "split") != NULL;
    if (input && split) return cli_usage(cli, "expected exactly one of --input and --split");
    if (!input && !split && nvdp_config_get(cli->config, "vectors") == NULL)
        return cli_usage(cli, "option --input or --split is needed");
    nvdp__autoresult struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    cli_catch(SIGPIPE, true); /* if the reader goes away: an export that is killed stays counted */
    CLI_DO(cli, nvdp_export(cli->ctx, cli->config, &result));
    return cli->json ? export_json(cli, &result) : export_print(cli, &result);
}

const struct cli_command cli_command_export = {
    .name = "export",
    .summary = "write noisy embeddings to a file to give away",
    .args = "[RUN]",
    .description =
        "Draws samples of texts with randomness from the operating system and writes them to a "
        "file to give away. Without --publish-measured nothing else in the file is derived from "
        "the content of the texts; their number, order, row numbers and splits are public. Prints "
        "what the file reveals. The run's ledger counts the samples of each text; a second export "
        "of a text is refused unless --budget-samples allows it. If copies of one text together "
        "exceed what the run was certified for, the export is refused unless --duplicates each "
        "allows it. Refusals, warnings and this output are for the owner of the texts.",
    .examples = "Examples:\n"
                "  nvdp export run --input texts.tsv --out shared.h5\n"
                "  nvdp export run --split train,dev --with-labels --out shared.h5 \\\n"
                "    --model-out shared-model\n"
                "  nvdp export --model models/minilm --center public.txt \\\n"
                "    --certified-epsilon 92 --input texts.tsv --out shared.h5\n"
                "  nvdp export --vectors mine.npz --ids ids --center public.npy \\\n"
                "    --certified-epsilon 16 --out shared.h5\n",
    .kinds = "export",
    .takes_precision = true,
    .run = export,
};

/* ==== nvdp summarize ==== */

static int summarize(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    CLI_TRY(cli_need(cli));
    nvdp__autoresult struct nvdp_summary_result result = NVDP_RESULT(struct nvdp_summary_result);
    const char *out = nvdp_config_get(cli->config, "out");
    cli_catch(SIGPIPE, true); /* if the reader goes away: a release that is killed stays counted */
    CLI_DO(cli, nvdp_summarize(cli->ctx, cli->config, &result));
    if (cli->json)
        return cli_print_json(
            cli, cli_add_result(json_pack("{s:s}", "out", out), "summary", NULL, &result));
    nvdp__print_wrapped(stdout, result.guarantee);
    if (result.written) cli_row("file", "%s", out);
    if (result.run[0] != '\0') cli_row("run", "%s", result.run);
    cli_print_result("summary", &result);
    putchar('\n');
    if (result.written)
        nvdp__print_wrapped(stdout, result.statement);
    else
        puts("A dry run: no summary was written or counted.");
    return CLI_SUCCESS;
}

const struct cli_command cli_command_summarize = {
    .name = "summarize",
    .summary = "write one noisy summary of a whole collection, at a small epsilon",
    .args = "[RUN]",
    .description =
        "Writes one matrix of a collection with noise from the operating system, and synthetic "
        "rows that are computed from it, in place of a sample of each text. It is enough to train "
        "a reader, to compare groups or to look at a distribution, and proves a far smaller "
        "epsilon: for the replacement of any one row, its label included. It says nothing about "
        "single texts. With --person COLUMN, it proves the same for any one person, all rows "
        "included. The number of rows or persons, the list of classes and the range of scores are "
        "public. The ledger counts the summary before anything is drawn; copies of a text add up.",
    .examples = "Examples:\n"
                "  nvdp summarize --model models/minilm --center public.txt \\\n"
                "    --input reviews.tsv --text-column review --classes negative,positive \\\n"
                "    --out summary.h5 --dry-run\n"
                "  nvdp summarize --model models/minilm --center public.txt \\\n"
                "    --input rated.csv --person author --range 0,5 --summary-epsilon 0.5 \\\n"
                "    --out summary.parquet\n"
                "  nvdp summarize --model models/minilm --center public.txt \\\n"
                "    --task sst2 --data glue/SST-2 --out summary.h5\n"
                "  nvdp summarize --vectors mine.npz --ids ids --center public.npy \\\n"
                "    --classes a,b --label-column label --person author --out summary.h5\n",
    .kinds = "summarize",
    .takes_precision = true,
    .run = summarize,
};

/* ==== nvdp verify ==== */

struct verify_values {
    const char *public_key, *make_key, *ledger, *ledger_key;
};

#define AT(field) NVDP_OPTION_AT(struct verify_values, field)

static const struct nvdp_option verify_options[] = {
    {"public-key", NVDP_OPTION_TEXT, "F", "public key of the expected sender", NULL,
     AT(public_key)},
    {"ledger", NVDP_OPTION_TEXT, "F",
     "the owner's ledger; it must list the file's release, and no text may exceed the budget", NULL,
     AT(ledger)},
    {"ledger-key", NVDP_OPTION_TEXT, "F",
     "secret key of the ledger (default: the ledger's name and .key)", NULL, AT(ledger_key)},
    {"make-key", NVDP_OPTION_TEXT, "F",
     "make a key pair instead of checking a file: the secret key in F, readable only by you, for "
     "nvdp export --sign F, and the public key in F.pub, to give to readers",
     NULL, AT(make_key)},
    {0}};

static const char *const words[] = {
    [NVDP_VERDICT_NO] = "NO", [NVDP_VERDICT_YES] = "yes", [NVDP_VERDICT_OPEN] = "-"};

static int make_key(struct cli *cli, const char *path) {
    if (cli->args > 0) return cli_usage(cli, "option --make-key takes no FILE");
    if (cli_given(cli, "public-key") || cli_given(cli, "ledger"))
        return cli_usage(cli, "expected --make-key alone, or --public-key and --ledger");
    CLI_DO(cli, nvdp_key_create(cli->ctx, path));
    const struct nvdp__path beside = nvdp__path_format("%s.pub", path);
    if (cli->json)
        return cli_print_json(
            cli, json_pack("{s:s, s:s}", "secret_key", path, "public_key", beside.text));
    cli_row("secret key", "%s  (keep it secret: everyone who has it can sign in your name)", path);
    cli_row("public key", "%s  (give it to those who verify)", beside.text);
    return CLI_SUCCESS;
}

static void verify_print(const struct nvdp_verification *found) {
    for (size_t i = 0; i < found->checks; i++) {
        const struct nvdp_check *check = &found->check[i];
        printf("%-4s %s: %s\n", words[check->verdict], check->what, check->found);
    }
    if (found->statement[0] != '\0') {
        printf("\nThe file says:\n");
        nvdp__print_quoted(stdout, found->statement);
    }
    putchar('\n');
    nvdp__print_wrapped(
        stdout,
        !found->holds ? "Do not trust this file: the checks marked NO failed."
        : found->is_known
            ? "All checks that could be made passed, and the file is signed by the given key."
        : found->is_signed ? "All checks that could be made passed. The file is signed; to check "
                             "by whom, give the sender's "
                             "key with --public-key."
                           : "All checks that could be made passed. Only the sender knows whether "
                             "the values were drawn as "
                             "the file states, and no signature identifies the sender.");
    if (found->holds || !found->useful) nvdp__print_wrapped(stdout, found->guarantee);
}

static int verify(struct cli *cli) {
    struct verify_values values = {0};
    CLI_TRY(cli_begin(cli, &values));
    if (values.make_key != NULL) return make_key(cli, values.make_key);
    if (cli->args != 1) return cli_usage(cli, "expected FILE or --make-key");
    if (values.ledger == NULL && values.ledger_key != NULL)
        return cli_usage(cli, "option --ledger-key needs --ledger");
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    CLI_DO(cli, nvdp_verify(cli->ctx, cli->arg[0], values.public_key, &found));
    if (values.ledger != NULL)
        CLI_DO(cli,
               nvdp_verify_ledger(cli->ctx, cli->arg[0], values.ledger, values.ledger_key, &found));
    if (cli->json)
        CLI_TRY(cli_print_json(cli, cli_add_result(json_pack("{s:s}", "file", cli->arg[0]),
                                                   "verification", NULL, &found)));
    else
        verify_print(&found);
    return found.holds ? CLI_SUCCESS : CLI_FAILURE;
}

const struct cli_command cli_command_verify = {
    .name = "verify",
    .summary = "check that a shared file is consistent, and who signed it",
    .args = "[FILE|DIR]",
    .description =
        "Recomputes everything in a file of noisy embeddings (HDF5, safetensors, Parquet) that can "
        "be computed without the model: datasets, grid, weights, counts, bound, certificate, "
        "statement, signature. Prints one line per check; the exit status is 1 if a check fails. A "
        "folder holds the files of one release (nvdp export --model-id): all are checked, and "
        "their weakest guarantee counts.",
    .examples = "Examples:\n"
                "  nvdp verify shared.h5\n"
                "  nvdp verify --make-key sender.key\n"
                "  nvdp export run --input texts.tsv --out shared.h5 --sign sender.key\n"
                "  nvdp verify shared.h5 --public-key sender.key.pub --json\n"
                "  nvdp verify shared.h5 --ledger run/ledger\n"
                "  nvdp verify shards\n",
    .options = verify_options,
    .run = verify,
};

/* ==== nvdp reuse ==== */

static json_t *reuse_json(const struct nvdp_reuse_result *result) {
    json_t *object =
        json_pack("{s:I, s:I, s:I}", "train_texts", (json_int_t)result->train_texts, "classes",
                  (json_int_t)result->classes, "best_epoch", (json_int_t)result->best_epoch);
    if (result->scores != NULL) object = cli_add_result(object, "scores", NULL, result->scores);
    json_object_set_new(object, "seeds", json_integer((json_int_t)result->seeds));
    json_object_set_new(object, "seed_mean", cli_number(result->seed_mean));
    json_object_set_new(object, "seed_sd",
                        result->seeds > 1 ? cli_number(result->seed_sd) : json_null());
    json_object_set_new(object, "seconds", cli_number(result->seconds));
    return object;
}

static int reuse(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    const struct nvdp_config *config = cli->config;
    if (nvdp_config_get(config, "eval-labels") != NULL &&
        nvdp_config_get(config, "eval-file") == NULL)
        return cli_usage(cli, "option --eval-labels needs --eval-file");
    nvdp__autoresult struct nvdp_reuse_result result = NVDP_RESULT(struct nvdp_reuse_result);
    CLI_DO(cli, nvdp_reuse(cli->ctx, config, &result));
    if (cli->json) return cli_print_json(cli, reuse_json(&result));
    const bool summary = result.best_epoch == 0;
    cli_row("trained on", "%s%zu %s", summary ? "a summary of " : "", result.train_texts,
            summary ? "units" : "texts");
    if (result.classes > 1) cli_row("classes", "%zu", result.classes);
    if (!summary) cli_row("best epoch", "%zu", result.best_epoch);
    if (result.scores != NULL) cli_print_result("scores", result.scores);
    if (result.scores != NULL && result.seeds > 1)
        cli_row("readers", "%zu seeds: %s %.4f, standard deviation over seeds %.4f", result.seeds,
                nvdp_metric_name(result.scores->metric[0]), result.seed_mean, result.seed_sd);
    cli_row("time", "%.1f s", result.seconds);
    const char *out = nvdp_config_get(config, "out");
    if (out != NULL) cli_row("reader", "%s", out);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_reuse = {
    .name = "reuse",
    .summary = "train and score a reader on a shared file alone",
    .args = "SHARED.h5",
    .description =
        "Trains a reader on a file of noisy embeddings alone and scores it on texts "
        "that it was not trained on. One reader's score varies by some points; --seeds 5 "
        "prints mean and standard deviation. From a summary of a collection, computes a ridge "
        "regression, which nvdp predict applies to texts; nvdp reuse --score scores it on labeled "
        "texts.",
    .examples = "Examples:\n"
                "  nvdp reuse shared.h5 --seeds 5\n"
                "  nvdp reuse shared.h5 --labels other-task.txt --init shared-model --json\n"
                "  nvdp reuse train.h5 --eval-file dev.h5 --out reader\n"
                "  nvdp reuse summary.h5 --model models/minilm --score dev.tsv --out reader\n",
    .kinds = "reuse",
    .run = reuse,
};

/* ==== nvdp info ==== */

struct info_values {
    bool all;
};

static const struct nvdp_option info_options[] = {
    {"all", NVDP_OPTION_FLAG, NULL, "print everything that is known, not only the first lines",
     NVDP_OPTION_AT(struct info_values, all)},
    {0}};

static int info(struct cli *cli) {
    struct info_values values = {0};
    CLI_TRY(cli_begin(cli, &values));
    const enum nvdp_description how = cli->json    ? NVDP_DESCRIPTION_JSON
                                      : values.all ? NVDP_DESCRIPTION_ALL
                                                   : NVDP_DESCRIPTION_BRIEF;
    char *text = NULL;
    CLI_DO(cli, nvdp_describe(cli->ctx, cli->arg[0], how, &text));
    return cli_put(text);
}

const struct cli_command cli_command_info = {
    .name = "info",
    .summary = "describe a file or directory",
    .args = "FILE",
    .description = "Describes a file or directory in a few lines: safetensors, HDF5, Parquet "
                   "written by nvdp export, a vocabulary, a key, a ledger; the folder of a model, "
                   "a run, a sweep, a cross validation, sanitized texts, or the files of one "
                   "release.",
    .examples = "Examples:\n"
                "  nvdp info shared.h5\n"
                "  nvdp info run --all\n"
                "  nvdp info run --json\n",
    .options = info_options,
    .run = info,
};
