/* nvdp verify: checks a shared file and its signature, and makes key pairs. */
#include "common.h"

#include <stdlib.h>

struct values {
    const char *public_key, *make_key, *ledger, *ledger_key;
};

#define AT(field) NVDP_OPTION_AT(struct values, field)

static const struct nvdp_option options[] = {
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
    char *beside = NULL;
    if (asprintf(&beside, "%s.pub", path) < 0) return cli_error(cli, CLI_FAILURE, "out of memory");
    int code = CLI_SUCCESS;
    if (cli->json)
        code =
            cli_print_json(cli, json_pack("{s:s, s:s}", "secret_key", path, "public_key", beside));
    else {
        cli_row("secret key", "%s  (keep it secret: everyone who has it can sign in your name)",
                path);
        cli_row("public key", "%s  (give it to those who verify)", beside);
    }
    free(beside);
    return code;
}

static void print(const struct nvdp_verification *found) {
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

static int run(struct cli *cli) {
    struct values values = {0};
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
    int code = CLI_SUCCESS;
    if (cli->json)
        code = cli_print_json(cli, cli_add_result(cli, json_pack("{s:s}", "file", cli->arg[0]),
                                                  "verification", NULL, &found));
    else
        print(&found);
    return code == CLI_SUCCESS && !found.holds ? CLI_FAILURE : code;
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
        "their "
        "weakest guarantee counts.",
    .examples = "Examples:\n"
                "  nvdp verify shared.h5\n"
                "  nvdp verify --make-key sender.key\n"
                "  nvdp export run --input texts.tsv --out shared.h5 --sign sender.key\n"
                "  nvdp verify shared.h5 --public-key sender.key.pub --json\n"
                "  nvdp verify shared.h5 --ledger run/ledger\n"
                "  nvdp verify shards\n",
    .options = options,
    .run = run,
};
