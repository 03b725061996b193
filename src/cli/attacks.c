/* nvdp attack: runs an attack on a model or on the samples of a run, and prints the result. The library has the
 * attacks; this file selects an attack (attack_find(), need_kind()), checks the options (attack_check()) and prints.
 * nvdp audit: computes a lower bound on a mechanism's epsilon from samples of the mechanism's output, also for
 * mechanisms of other programs, or audits the mechanism of a summary. */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== nvdp attack ==== */

/* Finds the row of the option `kind`. */
static int attack_find(struct cli *cli, struct nvdp_attack_info *info) {
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
    nvdp__autoptr(json_decref) json_t *config = cli->args == 1 ? cli_run_config(cli->arg[0]) : NULL;
    char kinds[256] = "";
    struct nvdp__writer say = {kinds, sizeof kinds, 0};
    if (config == NULL) return CLI_SUCCESS;
    for (size_t i = 0; i == 0 || i < info.attacks; i++) {
        CLI_DO(cli, nvdp_attack_describe(cli->ctx, i, &info));
        if (info.target != NVDP_ATTACK_MODEL) nvdp__append(&say, " %s", info.name);
    }
    return cli_usage(cli, "option --kind is needed to attack a run of nvdp train: one of%s", kinds);
}

/* Fails unless either a posteriors file or a run is given. Fails if options of runs are given with a file. */
static int check_source(struct cli *cli, const char *path) {
    static const char *const of_runs[] = {"split", "data", "limit", "batch", NULL};
    if ((cli->args == 1) == (path != NULL))
        return cli_usage(cli, "expected exactly one of RUN and --posteriors FILE");
    const char *one = path != NULL ? cli_given_one(cli, of_runs, true) : NULL;
    if (one == NULL) return CLI_SUCCESS;
    return cli_usage(cli, "option --%s chooses texts of a run and does not apply to --posteriors",
                     one);
}

/* Refuses options that do not apply to the kind, and missing arguments. */
static int attack_check(struct cli *cli, const struct nvdp_attack_info *info) {
    const char *other = cli_given_one(cli, info->options, false), *const *one = info->exclusive;
    if (other != NULL)
        return cli_usage(cli, "option --%s does not apply to --kind %s", other, info->name);
    if (one[0] != NULL && cli_given(cli, one[0]) && cli_given(cli, one[1]))
        return cli_usage(cli, "expected either --%s or --%s", one[0], one[1]);
    if (info->target == NVDP_ATTACK_POSTERIORS)
        return check_source(cli, nvdp_config_get(cli->config, "posteriors"));
    if (cli->args > 0) return CLI_SUCCESS;
    return cli_usage(cli, "expected %s",
                     info->target != NVDP_ATTACK_MODEL ? "RUN"
                     : cli_given(cli, "kind")          ? "MODEL"
                                                       : "MODEL, or --kind and RUN");
}

static int attack(struct cli *cli) {
    struct nvdp_attack_info info = NVDP_RESULT(struct nvdp_attack_info);
    nvdp__autoptr(nvdp_attack_free) struct nvdp_attack_result *result = NULL;
    nvdp__autofree char *verdict = NULL;
    json_t *object = NULL;
    char *text = NULL;
    CLI_TRY(cli_begin(cli, NULL));
    if (!cli_given(cli, "kind")) CLI_TRY(need_kind(cli));
    CLI_TRY(attack_find(cli, &info));
    CLI_TRY(attack_check(cli, &info));
    if (info.target != NVDP_ATTACK_MODEL && cli->args > 0)
        CLI_DO(cli, nvdp_config_set(cli->config, "run", cli->arg[0]));
    CLI_DO(cli, nvdp_attack(cli->ctx, cli->config, &result));
    if (cli->json)
        CLI_DO(cli, nvdp__result_pack(cli->ctx, result, NULL, &object));
    else
        CLI_DO(cli, nvdp_result_text(cli->ctx, result, NULL, &text));
    CLI_TRY(cli->json ? cli_print_json(cli, object) : cli_put(text));
    CLI_DO(cli, nvdp_attack_verdict(cli->ctx, result, &verdict));
    return *verdict == '\0' ? CLI_SUCCESS : cli_error(cli, CLI_FAILURE, "%s", verdict);
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
        "epsilon, which is at most the certified one. --kind reidentify: finds, for each "
        "sample, the text from which it was drawn, by likelihood. --kind membership: whether a "
        "text is in a shared "
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
    .kinds = "attack",
    .heading = "Options:",
    .takes_precision = true,
    .run = attack,
};

/* ==== nvdp audit ==== */

struct audit_values {
    char *p, *q, *summary;
    double delta, confidence, claimed;
    size_t rows, releases;
    uint64_t seed;
};

#define AT(field) NVDP_OPTION_AT(struct audit_values, field)

static const struct nvdp_option audit_options[] = {
    {"samples-p", NVDP_OPTION_TEXT, "A.npy",
     "samples of the mechanism for one input: float32 or float64 [samples, dimensions], C order",
     NULL, AT(p), .group = "Samples:", .traits = NVDP_TRAIT_NO_DEFAULT},
    {"samples-q", NVDP_OPTION_TEXT, "B.npy", "samples for an adjacent input", NULL, AT(q),
     .traits = NVDP_TRAIT_NO_DEFAULT},
    {"seed", NVDP_OPTION_SEED, "N",
     "seed of the split into parts, or of the releases; a new seed after a look at the result "
     "counts as another attempt",
     "1", AT(seed)},
    {"summary", NVDP_OPTION_TEXT, "FILE.h5",
     "in place of samples: audit the mechanism that this file of nvdp summarize states, by "
     "releases of two collections that are as far apart as possible",
     NULL, AT(summary), .group = "Summary:", .traits = NVDP_TRAIT_NO_DEFAULT},
    {"rows", NVDP_OPTION_INTEGER, "K", "rows in which the two collections differ", "1", AT(rows),
     .min = 1, .max = 1e9},
    {"releases", NVDP_OPTION_INTEGER, "N", "releases to draw of each of the two collections",
     "100000", AT(releases), .min = 1000, .max = 1e9},
    {"delta", NVDP_OPTION_REAL, "D",
     "delta at which epsilon is bounded from below; 0: pure epsilon", "1e-05", AT(delta),
     .group = "Bound:", .max = 0.999},
    {"confidence", NVDP_OPTION_REAL, "X",
     "confidence of the bound; default for a summary: 0.999, of all bounds together", "0.95",
     AT(confidence), .min = 0.5, .max = 0.999999},
    {"claimed", NVDP_OPTION_REAL, "E",
     "epsilon that the mechanism claims; the exit status is 1 if the lower bound exceeds the claim",
     NULL, AT(claimed), .traits = NVDP_TRAIT_NO_DEFAULT},
    {0},
};

static const char LIMITS[] =
    "This is a lower bound. A small value proves neither privacy nor that the mechanism keeps its "
    "claim. The bound holds for these two inputs and this kind of test; other inputs, other tests "
    "and more samples may show more, up to the ceiling. The samples must be independent and drawn "
    "in the same way as in real use.";

static void audit_print(const struct audit_values *v, const struct nvdp_samples *p,
                        const struct nvdp_samples *q, const struct nvdp_sample_audit *found) {
    cli_print_result("sample_audit", found);
    cli_row("samples", "%zu of P, %zu of Q, %zu number%s each", p->count, q->count, p->dim,
            p->dim == 1 ? "" : "s");
    if (isfinite(v->claimed)) cli_row("claimed", "<= %g", v->claimed);
    putchar('\n');
    nvdp__print_wrapped(stdout, LIMITS);
}

static const char SUMMARY_LIMITS[] =
    "Theorem 1 (docs/proofs.md, 11) proves the right column for every two collections that differ "
    "in so many rows; the releases show at least the middle one. They are drawn by the "
    "sampler of nvdp summarize, with seeds, for the deviations, weights and grid that the file "
    "states. They say nothing about a delta far below one in so many releases, such as 1e-5, nor "
    "whether the file's own noise was drawn so.";

static int audit_summary(struct cli *cli, const struct audit_values *v) {
    static const char *const of_samples[] = {"samples-p", "samples-q", "delta", "claimed", NULL};
    struct nvdp_summary_audit found = NVDP_RESULT(struct nvdp_summary_audit);
    const char *other = cli_given_one(cli, of_samples, true);
    if (other != NULL)
        return cli_usage(cli, "option --%s is of samples and does not apply to --summary", other);
    CLI_DO(cli, nvdp_audit_summary(cli->ctx, v->summary, v->rows, v->releases,
                                   cli_given(cli, "confidence") ? v->confidence : .999, v->seed,
                                   &found));
    if (cli->json) {
        json_t *more = json_pack("{s:s, s:I, s:s}", "summary", v->summary, "seed",
                                 (json_int_t)v->seed, "limits", SUMMARY_LIMITS);
        CLI_TRY(cli_print_json(cli, cli_add_result(more, "summary_audit", "json", &found)));
    } else {
        cli_print_result("summary_audit", &found);
        putchar('\n');
        nvdp__print_wrapped(stdout, SUMMARY_LIMITS);
    }
    if (found.holds) return CLI_SUCCESS;
    return cli_error(cli, CLI_FAILURE,
                     "VIOLATION: %s: the releases show more than is proven, with confidence %g %%: "
                     "the sampler or the proof is wrong, or it is chance (--seed)",
                     v->summary, 100 * found.confidence);
}

static int audit(struct cli *cli) {
    static const char *const of_summaries[] = {"rows", "releases", NULL};
    struct audit_values values = {.delta = 1e-5,
                                  .confidence = .95,
                                  .claimed = INFINITY,
                                  .seed = 1,
                                  .rows = 1,
                                  .releases = 100000};
    const struct audit_values *v = &values;
    nvdp__auto(nvdp_samples_free) struct nvdp_samples p = {0}, q = {0};
    struct nvdp_sample_audit found = NVDP_RESULT(struct nvdp_sample_audit);
    CLI_TRY(cli_begin(cli, &values));
    if (v->summary != NULL) return audit_summary(cli, v);
    const char *other = cli_given_one(cli, of_summaries, true);
    if (other != NULL) return cli_usage(cli, "option --%s needs --summary", other);
    if (v->p == NULL || v->q == NULL)
        return cli_usage(cli, "options --samples-p and --samples-q, or --summary, are needed");
    if (isfinite(v->claimed) && v->claimed < 0)
        return cli_usage(cli, "option --claimed: expected a number of at least 0, found %g",
                         v->claimed);
    CLI_DO(cli, nvdp_samples_read(cli->ctx, v->p, &p));
    CLI_DO(cli, nvdp_samples_read(cli->ctx, v->q, &q));
    if (p.dim != q.dim)
        return cli_error(cli, CLI_BAD_INPUT,
                         "%s: expected %zu numbers per sample, as in %s, found %zu", v->q, p.dim,
                         v->p, q.dim);
    if (p.count < NVDP_AUDIT_FEWEST || q.count < NVDP_AUDIT_FEWEST)
        return cli_error(cli, CLI_BAD_INPUT, "%s: expected at least %d samples, found %zu",
                         p.count < NVDP_AUDIT_FEWEST ? v->p : v->q, NVDP_AUDIT_FEWEST,
                         p.count < NVDP_AUDIT_FEWEST ? p.count : q.count);
    CLI_DO(cli, nvdp_audit_samples(cli->ctx, &p, &q, v->delta, v->confidence, v->seed, &found));
    if (cli->json) {
        json_t *more = json_pack(
            "{s:[I,I], s:I, s:I, s:o, s:s}", "samples", (json_int_t)p.count, (json_int_t)q.count,
            "dimensions", (json_int_t)p.dim, "seed", (json_int_t)v->seed, "claimed",
            isfinite(v->claimed) ? json_real(v->claimed) : json_null(), "limits", LIMITS);
        CLI_TRY(cli_print_json(cli, cli_add_result(more, "sample_audit", "json", &found)));
    } else {
        audit_print(v, &p, &q, &found);
    }
    if (!isfinite(v->claimed) || found.epsilon <= v->claimed) return CLI_SUCCESS;
    return cli_error(cli, CLI_FAILURE,
                     "VIOLATION: the samples show epsilon >= %s at delta %g with confidence %g "
                     "%%, but the claim is at most %g",
                     nvdp__bound_below(found.epsilon).text, found.delta, 100 * found.confidence,
                     v->claimed);
}

const struct cli_command cli_command_audit = {
    .name = "audit",
    .summary = "bound the epsilon of any mechanism from below by its samples",
    .description = "Bounds from below the epsilon of a mechanism, from nvdp or another program, by "
                   "its samples for two adjacent inputs. Fits a classifier to a third of the "
                   "samples, chooses a test on a sixth, and measures the error rates on the rest "
                   "(Clopper-Pearson): docs/threat-model.md, Auditing a mechanism. With --summary, "
                   "draws releases of the mechanism of a summary for two collections, and measures "
                   "their likelihood-ratio test beside what is proven of it (docs/summary.md). The "
                   "exit status is 1 if an audit shows more than is claimed or proven.",
    .examples = "Examples:\n"
                "  nvdp audit --samples-p text1.npy --samples-q text2.npy --delta 1e-5\n"
                "  nvdp audit --samples-p text1.npy --samples-q text2.npy --claimed 2 --json\n"
                "  nvdp audit --summary summary.h5\n",
    .heading = "Options:",
    .options = audit_options,
    .run = audit,
};
