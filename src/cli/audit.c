/* nvdp audit: computes a lower bound on a mechanism's epsilon from samples of its output. The mechanism need not be one
 * of ours. */
#include "common.h"

#include <math.h>

struct values {
    char *p, *q;
    double delta, confidence, claimed;
    uint64_t seed;
};

#define AT(field) NVDP_OPTION_AT(struct values, field)

static const struct nvdp_option options[] = {
    {"samples-p", NVDP_OPTION_TEXT, "A.npy",
     "samples of the mechanism for one input: float32 or float64 [samples, dimensions], C order",
     NULL, AT(p), .group = "Samples:", .traits = NVDP_TRAIT_NO_DEFAULT},
    {"samples-q", NVDP_OPTION_TEXT, "B.npy", "samples for an adjacent input", NULL, AT(q),
     .traits = NVDP_TRAIT_NO_DEFAULT},
    {"seed", NVDP_OPTION_SEED, "N",
     "seed of the split into parts; a new seed after a look at the result counts as another "
     "attempt",
     "1", AT(seed)},
    {"delta", NVDP_OPTION_REAL, "D",
     "delta at which epsilon is bounded from below; 0: pure epsilon", "1e-05", AT(delta),
     .group = "Bound:", .max = 0.999},
    {"confidence", NVDP_OPTION_REAL, "X", "confidence of the bound", "0.95", AT(confidence),
     .min = 0.5, .max = 0.999999},
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

static json_t *to_json(struct cli *cli, const struct values *v, const struct nvdp_samples *p,
                       const struct nvdp_samples *q, const struct nvdp_sample_audit *found) {
    json_t *more = json_pack(
        "{s:[I,I], s:I, s:I, s:o, s:s}", "samples", (json_int_t)p->count, (json_int_t)q->count,
        "dimensions", (json_int_t)p->dim, "seed", (json_int_t)v->seed, "claimed",
        isfinite(v->claimed) ? json_real(v->claimed) : json_null(), "limits", LIMITS);
    return cli_add_result(cli, more, "sample_audit", "json", found);
}

static void print(struct cli *cli, const struct values *v, const struct nvdp_samples *p,
                  const struct nvdp_samples *q, const struct nvdp_sample_audit *found) {
    cli_print_result(cli, "sample_audit", found);
    cli_row("samples", "%zu of P, %zu of Q, %zu number%s each", p->count, q->count, p->dim,
            p->dim == 1 ? "" : "s");
    if (isfinite(v->claimed)) cli_row("claimed", "<= %g", v->claimed);
    putchar('\n');
    nvdp__print_wrapped(stdout, LIMITS);
}

static int check_claim(struct cli *cli, const struct values *v, const struct nvdp_sample_audit *a) {
    char least[NVDP__BOUND_TEXT];
    if (!isfinite(v->claimed) || a->epsilon <= v->claimed) return CLI_SUCCESS;
    return cli_error(cli, CLI_FAILURE,
                     "VIOLATION: the samples show epsilon >= %s at delta %g with confidence %g "
                     "%%, but the claim is at most %g",
                     nvdp__bound_below(least, a->epsilon), a->delta, 100 * a->confidence,
                     v->claimed);
}

static int audit(struct cli *cli, const struct values *v, struct nvdp_samples *p,
                 struct nvdp_samples *q) {
    struct nvdp_sample_audit found = NVDP_RESULT(struct nvdp_sample_audit);
    CLI_DO(cli, nvdp_samples_read(cli->ctx, v->p, p));
    CLI_DO(cli, nvdp_samples_read(cli->ctx, v->q, q));
    if (p->dim != q->dim)
        return cli_error(cli, CLI_BAD_INPUT,
                         "%s: expected %zu numbers per sample, as in %s, found %zu", v->q, p->dim,
                         v->p, q->dim);
    if (p->count < NVDP_AUDIT_FEWEST || q->count < NVDP_AUDIT_FEWEST)
        return cli_error(cli, CLI_BAD_INPUT, "%s: expected at least %d samples, found %zu",
                         p->count < NVDP_AUDIT_FEWEST ? v->p : v->q, NVDP_AUDIT_FEWEST,
                         p->count < NVDP_AUDIT_FEWEST ? p->count : q->count);
    CLI_DO(cli, nvdp_audit_samples(cli->ctx, p, q, v->delta, v->confidence, v->seed, &found));
    if (cli->json)
        CLI_TRY(cli_print_json(cli, to_json(cli, v, p, q, &found)));
    else
        print(cli, v, p, q, &found);
    return check_claim(cli, v, &found);
}

static int run(struct cli *cli) {
    struct values values = {.delta = 1e-5, .confidence = .95, .claimed = INFINITY, .seed = 1};
    struct nvdp_samples p = {0}, q = {0};
    CLI_TRY(cli_begin(cli, &values));
    if (values.p == NULL || values.q == NULL)
        return cli_usage(cli, "options --samples-p and --samples-q are needed");
    if (isfinite(values.claimed) && values.claimed < 0)
        return cli_usage(cli, "option --claimed: expected a number of at least 0, found %g",
                         values.claimed);
    const int code = audit(cli, &values, &p, &q);
    nvdp_samples_free(&p);
    nvdp_samples_free(&q);
    return code;
}

const struct cli_command cli_command_audit = {
    .name = "audit",
    .summary = "bound the epsilon of any mechanism from below by its samples",
    .description = "Bounds from below the epsilon of a mechanism, from nvdp or another program, by "
                   "its samples for two adjacent inputs. Fits a classifier to a third of the "
                   "samples, chooses a test on a sixth, and measures the error rates on the rest "
                   "(Clopper-Pearson): docs/threat-model.md, Auditing a mechanism.",
    .examples = "Examples:\n"
                "  nvdp audit --samples-p text1.npy --samples-q text2.npy --delta 1e-5\n"
                "  nvdp audit --samples-p text1.npy --samples-q text2.npy --claimed 2 --json\n",
    .heading = "Options:",
    .options = options,
    .run = run,
};
