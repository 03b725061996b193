/* nvdp attack: what can be found out from what is given away. */
#include "base/bound.h"
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    KIND_EXPOSURE,
    KIND_PAIR,
    KIND_REIDENTIFY,
    KIND_NEAREST,
    KIND_TOKEN,
    KIND_LANGUAGE,
    KIND_BAG,
    KIND_ATTRIBUTE
};
static const char *const kind_names[] = {
    [KIND_EXPOSURE] = "exposure", [KIND_PAIR] = "pair",           [KIND_REIDENTIFY] = "reidentify",
    [KIND_NEAREST] = "nearest",   [KIND_TOKEN] = "token",         [KIND_LANGUAGE] = "language",
    [KIND_BAG] = "bag",           [KIND_ATTRIBUTE] = "attribute", NULL};

struct values {
    int kind;
    const char *posteriors;
    double claimed;
};

static const struct nvdp_option options[] = {
    {"kind", NVDP_OPTION_CHOICE, "K",
     "of a model, exposure: secrets that nvdp pretrain --plant put into the training text, ranked "
     "by the model; with canaries also a lower bound on epsilon.  Of what a run shares, pair: two "
     "texts told apart, a lower bound on epsilon; reidentify: the text of a sample named; and what "
     "is learned from public texts, nearest: the token of each vector; token: the same, read off "
     "all vectors of a sample together; language: the same, by what nearest sees and a masked "
     "language model; bag: a text's words; attribute: its label",
     "exposure", NVDP_OPTION_AT(struct values, kind), .choices = kind_names,
     .group = "Attack:", .after = "model"},
    {"posteriors", NVDP_OPTION_TEXT, "FILE.h5", "a file of posteriors in place of a run",
     NVDP_OPTION_AT(struct values, posteriors),
     .group = "Texts, of all kinds but exposure:", .after = "run"},
    {"claimed", NVDP_OPTION_REAL, "E",
     "epsilon that is promised at --delta, where it is not the run's certificate that does",
     NVDP_OPTION_AT(struct values, claimed), .group = "Kind pair:", .after = "samples", .max = 1e9,
     .unit = "nats"},
    {0},
};

/* The options of all kinds are taken; those of one are refused by the others. */
#define OF_EXPOSURE "secrets", "candidates", "reference", "guess-in", "guess-out"
#define OF_RUNS "run", "split", "data", "limit", "batch"
#define OF_SAMPLES "posteriors", "releases"
#define OF_LANGUAGES "prior", "beam"
#define OF_PAIRS "pair", "pairs", "samples", "claimed"
#define OF_LISTS "texts"
#define OF_LEARNERS "public", "public-limit", "seeds", OF_LANGUAGES
#define OF_AUDITS "delta", "confidence"
#define OF_FILES "shared"
#define OF_UNLEARNED OF_EXPOSURE, OF_PAIRS, OF_AUDITS, OF_LISTS

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

static int exposure(struct cli *cli, const struct values *values) {
    struct nvdp_exposures found = NVDP_RESULT(struct nvdp_exposures);
    (void)values;
    if (cli->args == 0) return cli_usage(cli, "expected MODEL");
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

/* --- what a run shares --- */

/* What the pairs' exact epsilons are not to exceed. */
static const char *promise(const struct cli *cli) {
    return cli_given(cli, "claimed") ? "claimed" : "certified";
}

/* Epsilon that is proven of the run's mechanism at the audit's delta, or what is claimed. */
static int certified(struct cli *cli, const struct values *values, double *epsilon) {
    struct nvdp_certificate certificate = NVDP_RESULT(struct nvdp_certificate);
    const double delta = strtod(nvdp_config_get(cli->config, "delta"), NULL);
    char at[32];
    struct nvdp_config *config = NULL;
    *epsilon = cli_given(cli, "claimed") ? values->claimed : INFINITY;
    if (cli->args == 0 || cli_given(cli, "claimed")) return CLI_SUCCESS;
    snprintf(at, sizeof at, "%.17g", delta > 0 ? delta : NVDP_PAIR_DELTA);
    nvdp_status status = nvdp_privacy_config_create(cli->ctx, &config);
    if (status == NVDP_OK) status = nvdp_config_set(config, "delta", at);
    if (status == NVDP_OK)
        status = nvdp_config_set(config, "releases", nvdp_config_get(cli->config, "releases"));
    int code =
        status == NVDP_OK ? cli_certificate(cli, config, &certificate) : cli_fail(cli, status);
    if (code == CLI_SUCCESS) *epsilon = certificate.epsilon;
    nvdp_config_free(config);
    return code;
}

/* Returns a proven share as JSON, null where nothing is proven. */
static json_t *proven(double share) {
    return isnan(share) ? json_null() : cli_number(share);
}

/* Warns that finding nothing in samples shows nothing, as the control without noise found nothing either. */
static void print_weak(bool weak) {
    if (!weak) return;
    putchar('\n');
    cli_print_wrapped(stdout, "This attacker is too weak to conclude anything: without noise, from "
                              "the posteriors themselves, it is right no more often than from "
                              "nothing.");
}

static json_t *pairs_json(const struct cli *cli, const struct nvdp_pair_attacks *found) {
    json_t *pairs = json_array();
    for (size_t i = 0; i < found->pairs; i++) {
        const struct nvdp_pair_attack *p = &found->pair[i];
        json_array_append_new(
            pairs,
            json_pack("{s:I, s:I, s:o, s:o, s:o, s:f, s:[o,o], s:f, s:f, s:[I,I], s:[I,I], s:b, "
                      "s:b, s:b}",
                      "p", (json_int_t)p->p, "q", (json_int_t)p->q, "shown", cli_number(p->shown),
                      "ceiling", cli_number(p->ceiling), "exact", cli_number(p->exact), "right",
                      p->right, "right_interval", cli_number(p->right_interval.low),
                      cli_number(p->right_interval.high), "states", p->states, "most", p->most,
                      "held", (json_int_t)p->held[0], (json_int_t)p->held[1], "hits",
                      (json_int_t)p->hits[0], (json_int_t)p->hits[1], "favours_q", p->favours_q,
                      "bounded", p->bounded, "holds", p->holds));
    }
    return json_pack("{s:s, s:f, s:f, s:i, s:I, s:o, s:o, s:b, s:b, s:o}", "attack",
                     kind_names[KIND_PAIR], "delta", found->delta, "confidence", found->confidence,
                     "releases", found->releases, "samples", (json_int_t)found->samples,
                     promise(cli), cli_number(found->certified), "guess", proven(found->guess),
                     "weak", found->weak, "holds", found->holds, "pairs", pairs);
}

static void print_pairs(const struct cli *cli, const struct nvdp_pair_attacks *found) {
    cli_row("samples", "%zu of each text%s; half choose the test, half measure it", found->samples,
            found->releases > 1 ? ", of several releases each" : "");
    char text[NVDP__BOUND_TEXT];
    cli_row("epsilon",
            "at delta %g; what is shown, and right's interval: %g %% confidence of all "
            "%zu together",
            found->delta, 100 * found->confidence, found->pairs);
    if (isfinite(found->certified))
        cli_row(promise(cli), "%s over all texts", nvdp__bound(text, found->certified, NVDP__UP));
    if (!isnan(found->guess))
        cli_row("proven", "right at most %s, of any two texts",
                nvdp__share_bound(text, found->guess, NVDP__UP));
    printf("\n%8s %8s %12s %12s %12s %10s %16s %12s\n", "text P", "text Q", "shown >=", "ceiling",
           "exact", "right %", "interval", "at most %");
    for (size_t i = 0; i < found->pairs; i++) {
        const struct nvdp_pair_attack *p = &found->pair[i];
        char interval[32];
        snprintf(interval, sizeof interval, "%.2f to %.2f", 100 * p->right_interval.low,
                 100 * p->right_interval.high);
        printf("%8zu %8zu %12.4f %12.4f %12.4f %10.2f %16s %12.2f%s%s\n", p->p, p->q, p->shown,
               p->ceiling, p->exact, 100 * p->right, interval, 100 * p->most,
               p->states > .5 ? "" : "  the same posterior", p->holds ? "" : "  VIOLATION");
        if (p->bounded)
            puts("         exact and at most are upper bounds: double precision does not hold this "
                 "pair's integral");
    }
    print_weak(found->weak);
}

/* Sampler, densities, integral or proof are wrong where an attack shows more than is possible, or it is chance. */
static int judge_pairs(struct cli *cli, const struct nvdp_pair_attacks *found) {
    for (size_t i = 0; i < found->pairs; i++) {
        const struct nvdp_pair_attack *p = &found->pair[i];
        if (!p->holds)
            return cli_error(
                cli, CLI_FAILURE,
                "%s: VIOLATION: texts %zu and %zu at delta %g: expected shown <= exact "
                "<= %s, found %.6g, %.6g, %.6g; and right, from %.6g on, at most %.6g, at most "
                "%.6g; shown and right with confidence %g %%",
                cli->args > 0 ? cli->arg[0] : "posteriors", p->p, p->q, found->delta, promise(cli),
                p->shown, p->exact, found->certified, p->right_interval.low, p->most,
                isnan(found->guess) ? 1 : found->guess, 100 * found->confidence);
    }
    return CLI_SUCCESS;
}

static int pair(struct cli *cli, const struct values *values) {
    struct nvdp_pair_attacks found = NVDP_RESULT(struct nvdp_pair_attacks);
    struct nvdp_posteriors *posteriors = NULL;
    double epsilon = INFINITY;
    CLI_TRY(cli_posteriors(cli, values->posteriors, &posteriors));
    int code = certified(cli, values, &epsilon);
    nvdp_status status = NVDP_OK;
    if (code == CLI_SUCCESS)
        status = nvdp_attack_pairs(cli->ctx, posteriors, epsilon, cli->config, &found);
    nvdp_posteriors_free(posteriors);
    CLI_TRY(code);
    CLI_DO(cli, status);
    if (cli->json)
        code = cli_print_json(cli, pairs_json(cli, &found));
    else
        print_pairs(cli, &found);
    if (code == CLI_SUCCESS) code = judge_pairs(cli, &found);
    nvdp_pair_attacks_release(&found);
    return code;
}

static void print_share(const char *name, double share, const struct nvdp_interval *interval,
                        double chance, double bound) {
    char text[NVDP__BOUND_TEXT];
    cli_row(name, "%.2f %% (%.2f to %.2f), chance %.2f %%%s%s", 100 * share, 100 * interval->low,
            100 * interval->high, 100 * chance, isnan(bound) ? "" : ", proven at most ",
            isnan(bound) ? "" : nvdp__share_bound(text, bound, NVDP__UP));
}

/* An attack above a bound that is proven: sampler, densities, clip or proof are wrong, or it is chance. */
static int judge_share(struct cli *cli, const char *what, const struct nvdp_interval *interval,
                       double baseline, double bound) {
    if (!(interval->low > bound)) return CLI_SUCCESS;
    return cli_error(
        cli, CLI_FAILURE,
        "%s: VIOLATION: %s: expected a share of at most %.6g, which is proven of every "
        "guess that is right with %.6g without samples, found %.6g or more with "
        "confidence 95 %%",
        cli->args > 0 ? cli->arg[0] : "posteriors", what, bound, baseline, interval->low);
}

static int judge_linkage(struct cli *cli, const struct nvdp_linkage *found) {
    CLI_TRY(judge_share(cli, "the right text", &found->first_interval, found->first_chance,
                        found->first_bound));
    return judge_share(cli, "among ten", &found->ten_interval, found->ten_chance, found->ten_bound);
}

static int reidentify(struct cli *cli, const struct values *values) {
    struct nvdp_linkage found = NVDP_RESULT(struct nvdp_linkage);
    struct nvdp_posteriors *posteriors = NULL;
    char sentence[NVDP_LINKAGE_SENTENCE], *text = NULL;
    const int releases = atoi(nvdp_config_get(cli->config, "releases"));
    const char *shared = nvdp_config_get(cli->config, "shared");
    if (shared != NULL && cli_given(cli, "texts"))
        return cli_usage(cli, "expected either --texts or --shared");
    CLI_TRY(cli_posteriors(cli, values->posteriors, &posteriors));
    nvdp_status status =
        shared != NULL
            ? nvdp_attack_shared(cli->ctx, posteriors, shared, releases, &found)
            : nvdp_linkage_measure(cli->ctx, posteriors, releases,
                                   strtoull(nvdp_config_get(cli->config, "texts"), NULL, 10),
                                   strtoull(nvdp_config_get(cli->config, "seed"), NULL, 10),
                                   &found);
    nvdp_posteriors_free(posteriors);
    if (status == NVDP_OK) status = nvdp_linkage_json(cli->ctx, &found, &text);
    CLI_DO(cli, status);
    const bool weak = found.states <= found.first_chance * (1 + 1e-9);
    if (cli->json) {
        json_t *object = json_loads(text, 0, NULL);
        free(text);
        json_object_set_new(object, "attack", json_string(kind_names[KIND_REIDENTIFY]));
        json_object_set_new(object, "weak", json_boolean(weak));
        CLI_TRY(cli_print_json(cli, object));
        return judge_linkage(cli, &found);
    }
    free(text);
    nvdp_linkage_sentence(&found, sentence);
    cli_print_wrapped(stdout, sentence);
    putchar('\n');
    cli_row("guesses", "%zu, of %d sample%s each, among %zu texts; intervals: %g %%", found.trials,
            found.releases, found.releases == 1 ? "" : "s", found.texts, 100 * found.confidence);
    print_share("the right text", found.first, &found.first_interval, found.first_chance,
                found.first_bound);
    print_share("among ten", found.ten, &found.ten_interval, found.ten_chance, found.ten_bound);
    cli_row("without noise", "%.2f %% are the right text: texts with one posterior share a guess",
            100 * found.states);
    cli_row("information", "%.3f nats (%.3f to %.3f) of log %zu = %.3f", found.information,
            found.information_interval.low, found.information_interval.high, found.texts,
            log((double)found.texts));
    print_weak(weak);
    return judge_linkage(cli, &found);
}

/* --- what is learned from public texts --- */

/* Of language: what it goes by beside vectors. */
static void print_prior(struct cli *cli, const struct values *values,
                        const struct nvdp_text_attack *found) {
    const char *prior = nvdp_config_get(cli->config, "prior");
    const double *w = found->weight;
    if (values->kind != KIND_LANGUAGE) return;
    if (prior == NULL)
        cli_row("prior", "frequencies alone, which is nearest: no --prior MODEL was given");
    else
        cli_row("prior", "%s, weight %g beside frequencies (without noise %g, of nothing %g)",
                prior, w[0], w[1], w[2]);
}

enum { INTERVAL_WIDTH = 17 };

/* Returns whether any score has a proven bound. */
static bool bounded(const struct nvdp_text_attack *found) {
    for (size_t i = 0; i < found->scores; i++)
        if (!isnan(found->score[i].bound)) return true;
    return false;
}

static void print_score(const struct nvdp_text_score *s) {
    char interval[32], text[NVDP__BOUND_TEXT];
    snprintf(interval, sizeof interval, "%.2f to %.2f", 100 * s->interval.low,
             100 * s->interval.high);
    printf("%-10s %-20s %9.2f  %-*s%s\n", s->observed, s->metric, 100 * s->value,
           isnan(s->bound) ? 0 : INTERVAL_WIDTH, interval,
           isnan(s->bound) ? "" : nvdp__share_bound(text, s->bound, NVDP__UP));
}

static json_int_t given_number(const struct cli *cli, const char *option) {
    return atoll(nvdp_config_get(cli->config, option));
}

static int learn(struct cli *cli, const struct values *values) {
    static const enum nvdp_text_attacker attacker[] = {[KIND_NEAREST] = NVDP_ATTACKER_NEAREST,
                                                       [KIND_TOKEN] = NVDP_ATTACKER_TOKEN,
                                                       [KIND_LANGUAGE] = NVDP_ATTACKER_LANGUAGE,
                                                       [KIND_BAG] = NVDP_ATTACKER_BAG,
                                                       [KIND_ATTRIBUTE] = NVDP_ATTACKER_ATTRIBUTE};
    struct nvdp_text_attack found = NVDP_RESULT(struct nvdp_text_attack);
    if (cli->args == 0) return cli_usage(cli, "expected RUN");
    CLI_DO(cli, nvdp_config_set(cli->config, "run", cli->arg[0]));
    CLI_DO(cli, nvdp_attack_texts(cli->ctx, attacker[values->kind], cli->config, &found));
    json_t *scores = json_array();
    const char *shared = nvdp_config_get(cli->config, "shared");
    if (!cli->json) {
        cli_row("texts", "%zu, %zu public ones learned from, %zu draw%s of noise", found.texts,
                found.public_texts, found.seeds, found.seeds == 1 ? "" : "s");
        if (found.both > 0)
            cli_row("CAUTION",
                    "%zu of the texts are among the public ones: who knows them finds more "
                    "than who does not",
                    found.both);
        if (shared != NULL)
            cli_row("samples", "of %s%s", shared,
                    found.seeds == 1 ? "; intervals are over texts alone" : "");
        print_prior(cli, values, &found);
        printf("\n%-10s %-20s %9s  %-*s%s\n", "sees", "score", "x 100",
               bounded(&found) ? INTERVAL_WIDTH : 0, "95 %",
               bounded(&found) ? "proven at most" : "");
    }
    for (size_t i = 0; i < found.scores; i++) {
        const struct nvdp_text_score *s = &found.score[i];
        if (!cli->json) print_score(s);
        json_array_append_new(
            scores, json_pack("{s:s, s:s, s:o, s:[o,o], s:o, s:o}", "observed", s->observed,
                              "metric", s->metric, "value", cli_number(s->value), "interval",
                              cli_number(s->interval.low), cli_number(s->interval.high), "baseline",
                              proven(s->baseline), "bound", proven(s->bound)));
    }
    if (!cli->json) print_weak(found.weak);
    json_t *object = json_pack("{s:s, s:I, s:I, s:I, s:I, s:s?, s:I, s:I, s:b, s:b, s:o}", "attack",
                               found.attacker, "texts", (json_int_t)found.texts, "public_texts",
                               (json_int_t)found.public_texts, "both", (json_int_t)found.both,
                               "seeds", (json_int_t)found.seeds, "shared", shared, "releases",
                               given_number(cli, "releases"), "seed", given_number(cli, "seed"),
                               "weak", found.weak, "holds", found.holds, "scores", scores);
    const char *prior = nvdp_config_get(cli->config, "prior");
    if (values->kind == KIND_LANGUAGE) {
        json_object_set_new(object, "beam", json_integer(given_number(cli, "beam")));
        json_object_set_new(object, "prior",
                            prior == NULL
                                ? json_null()
                                : json_pack("{s:s, s:[f,f,f]}", "model", prior, "weight",
                                            found.weight[0], found.weight[1], found.weight[2]));
    }
    int code = CLI_SUCCESS;
    if (cli->json)
        code = cli_print_json(cli, object);
    else
        json_decref(object);
    for (size_t i = 0; i < found.scores && code == CLI_SUCCESS; i++)
        code = judge_share(cli, found.score[i].metric, &found.score[i].interval,
                           found.score[i].baseline, found.score[i].bound);
    nvdp_text_attack_release(&found);
    return code;
}

/* --- the kinds --- */

static const struct {
    int (*run)(struct cli *cli, const struct values *values);
    const char *refused[24]; /* options of others */
} attacks[] = {
    [KIND_EXPOSURE] = {exposure,
                       {OF_RUNS, OF_SAMPLES, OF_PAIRS, OF_LISTS, OF_FILES, OF_LEARNERS, NULL}},
    [KIND_PAIR] = {pair, {OF_EXPOSURE, OF_LISTS, OF_FILES, OF_LEARNERS, NULL}},
    [KIND_REIDENTIFY] = {reidentify, {OF_EXPOSURE, OF_PAIRS, OF_AUDITS, OF_LEARNERS, NULL}},
    [KIND_NEAREST] = {learn, {OF_LANGUAGES, "posteriors", OF_UNLEARNED, NULL}},
    [KIND_TOKEN] = {learn, {OF_LANGUAGES, OF_SAMPLES, OF_UNLEARNED, NULL}},
    [KIND_LANGUAGE] = {learn, {"posteriors", OF_UNLEARNED, NULL}},
    [KIND_BAG] = {learn, {OF_LANGUAGES, OF_SAMPLES, OF_UNLEARNED, NULL}},
    [KIND_ATTRIBUTE] = {learn, {OF_LANGUAGES, OF_SAMPLES, OF_UNLEARNED, NULL}},
};

/* Exposure, the default, is of a model of nvdp pretrain: a run of nvdp train is not looked for a masked-LM head. */
static int need_kind(struct cli *cli) {
    json_t *config = cli->args == 1 ? cli_run_config(cli->arg[0]) : NULL;
    char kinds[128] = "";
    size_t size = 0;
    if (config == NULL) return CLI_SUCCESS;
    json_decref(config);
    for (int k = KIND_PAIR; kind_names[k] != NULL; k++)
        size += (size_t)snprintf(kinds + size, sizeof kinds - size, " %s", kind_names[k]);
    return cli_usage(cli, "option --kind is needed for a run of nvdp train: one of%s", kinds);
}

static int run(struct cli *cli) {
    struct values values = {0};
    CLI_TRY(cli_begin(cli, &values));
    if (!cli_given(cli, "kind")) CLI_TRY(need_kind(cli));
    const char *other = cli_given_one(cli, attacks[values.kind].refused, true);
    if (other != NULL)
        return cli_usage(cli, "option --%s does not apply to kind %s", other,
                         kind_names[values.kind]);
    return attacks[values.kind].run(cli, &values);
}

const struct cli_command cli_command_attack = {
    .name = "attack",
    .summary = "what an attacker finds out from a model, or from what is shared",
    .args = "[MODEL|RUN]",
    .description =
        "Attacks what is given away. Kind exposure: how far secrets that were planted into the "
        "training text can be read off a masked language model, by how often they were planted; "
        "and, of canaries that a coin decided about, a lower bound on epsilon beside what the "
        "accountant promises: docs/dp-bert.md, Memorisation. Kind pair: two texts of a run told "
        "apart by the likelihood ratio of their samples, which shows at most the exact epsilon, "
        "and that is at most what is certified. Kind reidentify: the text of a sample named among "
        "all, by likelihood. Kinds nearest, token, language, bag, attribute: what somebody learns "
        "of texts from samples who has public texts to learn from: docs/attacks.md. Exit status 1 "
        "where an attack shows more than is promised.",
    .examples =
        "Examples:\n"
        "  nvdp pretrain --text private.txt --init bert --plant secrets.json --out model\n"
        "  nvdp attack model --kind exposure\n"
        "  nvdp attack model --kind exposure --reference bert --json >exposure.json\n"
        "  nvdp attack run --kind pair --pairs 20 --delta 1e-3\n"
        "  nvdp attack run --kind reidentify --releases 4\n"
        "  nvdp attack run --kind reidentify --shared shared.h5\n"
        "  nvdp attack run --kind nearest --public SST-2/train.tsv\n"
        "  nvdp attack run --kind nearest --public SST-2/train.tsv --shared shared.h5\n"
        "  nvdp attack run --kind language --public SST-2/train.tsv --prior models/compact\n",
    .create = nvdp_exposure_config_create,
    .more = {nvdp_text_attack_config_create, nvdp_attack_config_create},
    .heading = "Options:",
    .options = options,
    .takes_precision = true,
    .run = run,
};
