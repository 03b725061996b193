/* The row of exposure in the table of attacks, and its results as JSON and text. */
#include "attack/attack.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>

static json_t *group_json(const struct nvdp_exposure_group *g) {
    return json_pack("{s:s, s:s, s:b, s:I, s:I, s:o, s:o, s:[o,o], s:f}", "form", g->form, "place",
                     g->window ? "window" : "text", "canary", g->coin, "occurrences",
                     (json_int_t)g->occurrences, "secrets", (json_int_t)g->secrets, "loss",
                     nvdp__json_known(g->loss), "exposure", nvdp__json_known(g->exposure),
                     "interval", nvdp__json_known(g->interval.low),
                     nvdp__json_known(g->interval.high), "first", g->first);
}

static json_t *secret_json(const struct nvdp_secret_exposure *s) {
    json_t *object = json_pack("{s:s, s:s, s:b, s:I, s:o, s:f, s:o}", "form", s->form, "place",
                               s->window ? "window" : "text", "canary", s->coin, "occurrences",
                               (json_int_t)s->occurrences, "loss", nvdp__json_known(s->loss),
                               "rank", s->rank, "exposure", nvdp__json_known(s->exposure));
    if (s->coin) json_object_set_new(object, "score", nvdp__json_known(s->score));
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
                     a->confidence, "epsilon", a->epsilon, "auc", nvdp__json_known(a->auc),
                     "guesses", ways);
}

static json_t *exposure_json(const struct nvdp__attacked *attacked, const void *of) {
    const struct nvdp_exposures *found = of;
    json_t *groups = json_array(), *secrets = json_array();
    for (size_t i = 0; i < found->groups; i++)
        json_array_append_new(groups, group_json(&found->group[i]));
    for (size_t i = 0; i < found->secrets; i++)
        json_array_append_new(secrets, secret_json(&found->secret[i]));
    return json_pack("{s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o}", "attack", attacked->kind, "model",
                     attacked->name, "candidates", (json_int_t)found->candidates, "whole_words",
                     (json_int_t)found->whole_words, "accountant",
                     found->dp
                         ? json_pack("{s:o, s:f, s:b}", "epsilon", nvdp__json_known(found->upper),
                                     "delta", found->audit.delta, "insecure_seed", found->seeded)
                         : json_null(),
                     "groups", groups, "audit", audit_json(&found->audit), "secrets", secrets);
}

static void print_group(FILE *to, const struct nvdp_exposure_group *g) {
    char interval[32] = "-";
    if (isfinite(g->interval.low))
        nvdp__snprintf(interval, sizeof interval, "%.2f to %.2f", g->interval.low,
                       g->interval.high);
    nvdp__fprintf(to, "%-8s %-7s %11llu %8zu %8.3f %9.2f  %-15s %7.1f\n", g->form,
                  g->coin     ? "canary"
                  : g->window ? "window"
                              : "text",
                  (unsigned long long)g->occurrences, g->secrets, g->loss, g->exposure, interval,
                  100 * g->first);
}

static void print_audit(FILE *to, const struct nvdp_exposures *found) {
    const struct nvdp_canary_audit *a = &found->audit;
    char promise[64] = "the accountant gives no guarantee";
    if (a->canaries == 0) return;
    putc('\n', to);
    nvdp__print_row(to, "canaries", "%llu, of which %llu were planted; AUC %.3f",
                    (unsigned long long)a->canaries, (unsigned long long)a->included, a->auc);
    for (size_t i = 0; i < a->ways; i++)
        nvdp__print_row(to, i == 0 ? "guesses" : "",
                        "%llu in, %llu out: %llu correct, epsilon >= %.3f",
                        (unsigned long long)a->way[i].in, (unsigned long long)a->way[i].out,
                        (unsigned long long)a->way[i].correct, a->way[i].epsilon);
    if (isfinite(found->upper)) nvdp__snprintf(promise, sizeof promise, "<= %.6g", found->upper);
    nvdp__print_row(to, "epsilon", ">= %.3f at delta %g with confidence %g %%", a->epsilon,
                    a->delta, 100 * a->confidence);
    nvdp__print_row(to, "accountant", "%s%s", promise,
                    found->seeded ? ", for everyone who does not know the seed of the noise" : "");
}

static void print_exposure(const struct nvdp__attacked *attacked, const void *of, FILE *to) {
    const struct nvdp_exposures *found = of;
    (void)attacked;
    nvdp__print_row(to, "candidates", "%zu of %zu whole words, %.2f bits", found->candidates,
                    found->whole_words, log2((double)found->candidates));
    nvdp__fprintf(to, "\n%-8s %-7s %11s %8s %8s %9s  %-15s %7s\n", "form", "place", "occurrences",
                  "secrets", "loss", "exposure", "95 %", "first %");
    for (size_t i = 0; i < found->groups; i++)
        print_group(to, &found->group[i]);
    print_audit(to, found);
}

/* Reports an epsilon above the accountant's: then the attack, the accountant or the training is wrong. */
static void write_verdict(const struct nvdp__attacked *attacked, const void *of,
                          struct nvdp__writer *say) {
    const struct nvdp_exposures *found = of;
    const struct nvdp_canary_audit *a = &found->audit;
    if (a->canaries == 0 || a->epsilon <= found->upper) return;
    nvdp__append(say,
                 "%s: VIOLATION: the canaries show epsilon >= %.4g at delta %g with confidence %g "
                 "%%, but the accountant guarantees at most %.4g",
                 attacked->name, a->epsilon, a->delta, 100 * a->confidence, found->upper);
}

static nvdp_status run(const struct nvdp__attacked *attacked, void *found) {
    return nvdp_exposure(attacked->ctx, attacked->config, found);
}

static void release(void *found) {
    nvdp_exposures_free(found);
}

static const char *const exposure_options[] = {
    NVDP__ATTACK_OPTIONS, "secrets", "candidates", "reference", "guess-in",
    "guess-out",          "delta",   "confidence", NULL};

const struct nvdp__attack nvdp__attack_row_exposure = {.target = NVDP_ATTACK_MODEL,
                                                       .options = exposure_options,
                                                       .size = sizeof(struct nvdp_exposures),
                                                       .run = run,
                                                       .json = exposure_json,
                                                       .print = print_exposure,
                                                       .verdict = write_verdict,
                                                       .release = release};
