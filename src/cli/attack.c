/* nvdp attack: what can be found out from what is given away. */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { KIND_EXPOSURE };
static const char *const kind_names[] = {[KIND_EXPOSURE] = "exposure", NULL};

struct values {
    int kind;
};

static const struct nvdp_option options[] = {
    {"kind", NVDP_OPTION_CHOICE, "K",
     "exposure: secrets that nvdp pretrain --plant put into the training text, ranked by the "
     "model; with canaries also a lower bound on epsilon",
     "exposure", NVDP_OPTION_AT(struct values, kind), .choices = kind_names,
     .group = "Attack:", .after = "model"},
    {0},
};

/* --- exposure --- */

static json_t *group_json(const struct nvdp_exposure_group *g) {
    return json_pack("{s:s, s:s, s:b, s:I, s:I, s:o, s:o, s:[o,o], s:f}", "form", g->form, "place",
                     g->window ? "window" : "text", "canary", g->coin, "occurrences",
                     (json_int_t)g->occurrences, "secrets", (json_int_t)g->secrets, "loss",
                     cli_number(g->loss), "exposure", cli_number(g->exposure), "interval",
                     cli_number(g->interval.low), cli_number(g->interval.high), "first", g->first);
}

static json_t *secret_json(const struct nvdp_secret_exposure *s) {
    json_t *object = json_pack("{s:s, s:s, s:b, s:I, s:o, s:f, s:o}", "form", s->form, "place",
                               s->window ? "window" : "text", "canary", s->coin, "occurrences",
                               (json_int_t)s->occurrences, "loss", cli_number(s->loss), "rank",
                               s->rank, "exposure", cli_number(s->exposure));
    if (s->coin) json_object_set_new(object, "score", cli_number(s->score));
    return object;
}

static json_t *audit_json(const struct nvdp_canary_audit *a) {
    json_t *ways = json_array();
    if (a->canaries == 0) return json_null();
    for (size_t i = 0; i < a->ways; i++)
        json_array_append_new(
            ways, json_pack("{s:I, s:I, s:I, s:f}", "in", (json_int_t)a->way[i].in, "out",
                            (json_int_t)a->way[i].out, "correct", (json_int_t)a->way[i].correct,
                            "epsilon", a->way[i].epsilon));
    return json_pack("{s:I, s:I, s:f, s:f, s:f, s:o, s:o}", "canaries", (json_int_t)a->canaries,
                     "included", (json_int_t)a->included, "delta", a->delta, "confidence",
                     a->confidence, "epsilon", a->epsilon, "auc", cli_number(a->auc), "guesses",
                     ways);
}

static json_t *exposure_json(const char *model, const struct nvdp_exposures *found) {
    json_t *groups = json_array(), *secrets = json_array();
    for (size_t i = 0; i < found->groups; i++)
        json_array_append_new(groups, group_json(&found->group[i]));
    for (size_t i = 0; i < found->secrets; i++)
        json_array_append_new(secrets, secret_json(&found->secret[i]));
    return json_pack(
        "{s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o}", "attack", kind_names[KIND_EXPOSURE], "model",
        model, "candidates", (json_int_t)found->candidates, "whole_words",
        (json_int_t)found->whole_words, "accountant",
        found->dp ? json_pack("{s:o, s:f, s:b}", "epsilon", cli_number(found->upper), "delta",
                              found->audit.delta, "insecure_seed", found->seeded)
                  : json_null(),
        "groups", groups, "audit", audit_json(&found->audit), "secrets", secrets);
}

static void print_group(const struct nvdp_exposure_group *g) {
    char interval[32] = "-";
    if (isfinite(g->interval.low))
        snprintf(interval, sizeof interval, "%.2f to %.2f", g->interval.low, g->interval.high);
    printf("%-8s %-7s %11llu %8zu %8.3f %9.2f  %-15s %7.1f\n", g->form,
           g->coin     ? "canary"
           : g->window ? "window"
                       : "text",
           (unsigned long long)g->occurrences, g->secrets, g->loss, g->exposure, interval,
           100 * g->first);
}

static void print_audit(const struct nvdp_exposures *found) {
    const struct nvdp_canary_audit *a = &found->audit;
    char promise[64] = "none is promised";
    if (a->canaries == 0) return;
    putchar('\n');
    cli_row("canaries", "%llu, %llu of them planted; AUC %.3f", (unsigned long long)a->canaries,
            (unsigned long long)a->included, a->auc);
    for (size_t i = 0; i < a->ways; i++)
        cli_row(i == 0 ? "guesses" : "", "%llu in, %llu out: %llu right, epsilon >= %.3f",
                (unsigned long long)a->way[i].in, (unsigned long long)a->way[i].out,
                (unsigned long long)a->way[i].correct, a->way[i].epsilon);
    if (isfinite(found->upper)) snprintf(promise, sizeof promise, "<= %.6g", found->upper);
    cli_row("epsilon", ">= %.3f at delta %g with confidence %g %%", a->epsilon, a->delta,
            100 * a->confidence);
    cli_row("accountant", "%s%s", promise,
            found->seeded ? ", to whoever does not know the noise's seed" : "");
}

static void print_exposure(const struct nvdp_exposures *found) {
    cli_row("candidates", "%zu of %zu whole words, %.2f bits", found->candidates,
            found->whole_words, log2((double)found->candidates));
    printf("\n%-8s %-7s %11s %8s %8s %9s  %-15s %7s\n", "form", "place", "occurrences", "secrets",
           "loss", "exposure", "95 %", "first %");
    for (size_t i = 0; i < found->groups; i++)
        print_group(&found->group[i]);
    print_audit(found);
}

/* No attack may find more than an accountant promises: one of the two is wrong, or the training is. */
static int judge(struct cli *cli, const struct nvdp_exposures *found) {
    const struct nvdp_canary_audit *a = &found->audit;
    if (a->canaries == 0 || a->epsilon <= found->upper) return CLI_SUCCESS;
    return cli_error(cli, CLI_FAILURE,
                     "%s: VIOLATION: the canaries show epsilon >= %.4g at delta %g with confidence "
                     "%g %%, the accountant promises at most %.4g",
                     cli->arg[0], a->epsilon, a->delta, 100 * a->confidence, found->upper);
}

static int exposure(struct cli *cli) {
    struct nvdp_exposures found = NVDP_RESULT(struct nvdp_exposures);
    CLI_DO(cli, nvdp_exposure(cli->ctx, cli->config, &found));
    int code = CLI_SUCCESS;
    if (cli->json)
        code = cli_print_json(cli, exposure_json(cli->arg[0], &found));
    else
        print_exposure(&found);
    if (code == CLI_SUCCESS) code = judge(cli, &found);
    nvdp_exposures_release(&found);
    return code;
}

/* --- the kinds --- */

static int (*const attacks[])(struct cli *cli) = {[KIND_EXPOSURE] = exposure};

static int run(struct cli *cli) {
    struct values values = {0};
    CLI_TRY(cli_begin(cli, &values));
    return attacks[values.kind](cli);
}

const struct cli_command cli_command_attack = {
    .name = "attack",
    .summary = "what an attacker finds out from a model",
    .args = "MODEL",
    .description =
        "Attacks what is given away. Kind exposure: how far secrets that were planted into the "
        "training text can be read off a masked language model, by how often they were planted; "
        "and, of canaries that a coin decided about, a lower bound on epsilon beside what the "
        "accountant promises. Exit status 1 where the bound is above the promise: "
        "docs/dp-bert.md, Memorisation.",
    .examples = "Examples:\n"
                "  nvdp pretrain --text private.txt --init bert --plant secrets.json --out model\n"
                "  nvdp attack model --kind exposure\n"
                "  nvdp attack model --kind exposure --reference bert --json >exposure.json\n",
    .create = nvdp_exposure_config_create,
    .heading = "Options:",
    .options = options,
    .takes_precision = true,
    .run = run,
};
