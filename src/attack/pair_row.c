/* The row of pair in the table of attacks: the epsilon to compare with, and the results as JSON and text. */
#include "attack/attack.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sentence.h"
#include "model/model.h"

#include <nvdp/certificate.h>

#include <math.h>
#include <stdlib.h>

/* Names the epsilon that the exact epsilons of the pairs must not exceed. */
static const char *promise(const struct nvdp__attacked *attacked) {
    return isnan(attacked->claimed) ? "certified" : "claimed";
}

/* Computes the epsilon that is proven for the run's mechanism at the attack's delta, or takes the claimed one. */
static nvdp_status certified(const struct nvdp__attacked *attacked, double *epsilon) {
    nvdp_status status = NVDP_OK;
    struct nvdp_context *ctx = attacked->ctx;
    struct nvdp_certificate certificate = NVDP_RESULT(struct nvdp_certificate);
    struct nvdp_config *config = NULL;
    struct nvdp_model *model = NULL;
    struct nvdp__attack_options options;
    const char *run = nvdp_config_get(attacked->config, "run");
    char at[32], *folder = NULL;
    *epsilon = isnan(attacked->claimed) ? INFINITY : attacked->claimed;
    if (run == NULL || !isnan(attacked->claimed)) return NVDP_OK;
    NVDP_TRY(nvdp__config_open(ctx, attacked->config, &nvdp__attack_schema, &options));
    nvdp__snprintf(at, sizeof at, "%.17g", options.delta > 0 ? options.delta : NVDP_PAIR_DELTA);
    NVDP_TRY(nvdp_privacy_config_create(ctx, &config));
    NVDP_TRY(nvdp_config_set(config, "delta", at));
    NVDP_TRY(nvdp_config_set(config, "releases", nvdp_config_get(attacked->config, "releases")));
    folder = nvdp__join(ctx, run, "model");
    NVDP_TRY(NVDP__MADE(folder));
    NVDP_TRY(nvdp_model_load(ctx, folder, &model));
    NVDP_TRY(nvdp_model_certificate(ctx, model, config, &certificate));
    *epsilon = certificate.epsilon;
cleanup:
    nvdp_model_free(model);
    nvdp_config_free(config);
    free(folder);
    return status;
}

static json_t *pairs_json(const struct nvdp__attacked *attacked, const void *of) {
    const struct nvdp_pair_attacks *found = of;
    json_t *pairs = json_array();
    for (size_t i = 0; i < found->pairs; i++) {
        const struct nvdp_pair_attack *p = &found->pair[i];
        json_array_append_new(
            pairs,
            json_pack("{s:I, s:I, s:o, s:o, s:o, s:f, s:[o,o], s:f, s:f, s:[I,I], s:[I,I], s:b, "
                      "s:b, s:b}",
                      "p", (json_int_t)p->p, "q", (json_int_t)p->q, "shown",
                      nvdp__json_known(p->shown), "ceiling", nvdp__json_known(p->ceiling), "exact",
                      nvdp__json_known(p->exact), "right", p->right, "right_interval",
                      nvdp__json_known(p->right_interval.low),
                      nvdp__json_known(p->right_interval.high), "states", p->states, "most",
                      p->right_max, "held", (json_int_t)p->held[0], (json_int_t)p->held[1], "hits",
                      (json_int_t)p->hits[0], (json_int_t)p->hits[1], "favours_q", p->favors_q,
                      "bounded", p->bounded, "holds", p->holds));
    }
    return json_pack("{s:s, s:f, s:f, s:i, s:I, s:o, s:o, s:b, s:b, s:o}", "attack", attacked->kind,
                     "delta", found->delta, "confidence", found->confidence, "releases",
                     found->releases, "samples", (json_int_t)found->samples, promise(attacked),
                     nvdp__json_known(found->certified), "guess", nvdp__json_known(found->guess),
                     "weak", found->weak, "holds", found->holds, "pairs", pairs);
}

static void print_pairs(const struct nvdp__attacked *attacked, const void *of, FILE *to) {
    const struct nvdp_pair_attacks *found = of;
    nvdp__print_row(to, "samples",
                    "%zu of each text%s; half choose the test, the other half measure it",
                    found->samples, found->releases > 1 ? ", each with several releases" : "");
    char text[NVDP__BOUND_TEXT];
    nvdp__print_row(
        to, "epsilon",
        "at delta %g; confidence of shown and of the interval: %g %% for all %zu pairs together",
        found->delta, 100 * found->confidence, found->pairs);
    if (isfinite(found->certified))
        nvdp__print_row(to, promise(attacked), "%s for any two texts",
                        nvdp__bound(text, found->certified));
    if (!isnan(found->guess))
        nvdp__print_row(to, "proven", "right at most %s of the time, for any two texts",
                        nvdp__share_bound(text, found->guess));
    nvdp__fprintf(to, "\n%8s %8s %12s %12s %12s %10s %16s %12s\n", "text P", "text Q",
                  "shown >=", "ceiling", "exact", "right %", "interval", "at most %");
    for (size_t i = 0; i < found->pairs; i++) {
        const struct nvdp_pair_attack *p = &found->pair[i];
        char interval[32];
        nvdp__snprintf(interval, sizeof interval, "%.2f to %.2f", 100 * p->right_interval.low,
                       100 * p->right_interval.high);
        nvdp__fprintf(to, "%8zu %8zu %12.4f %12.4f %12.4f %10.2f %16s %12.2f%s%s\n", p->p, p->q,
                      p->shown, p->ceiling, p->exact, 100 * p->right, interval, 100 * p->right_max,
                      p->states > .5 ? "" : "  the two posteriors are equal",
                      p->holds ? "" : "  VIOLATION");
        if (p->bounded)
            fputs("         exact and at most are upper bounds, because this pair's integral "
                  "exceeds double precision\n",
                  to);
    }
    nvdp__print_weak(to, found->weak);
}

/* Reports the first pair above a proven limit: the sampler, densities, integral or proof is wrong, or it is chance. */
static void write_verdict(const struct nvdp__attacked *attacked, const void *of,
                          struct nvdp__writer *say) {
    const struct nvdp_pair_attacks *found = of;
    for (size_t i = 0; i < found->pairs; i++) {
        const struct nvdp_pair_attack *p = &found->pair[i];
        if (p->holds) continue;
        nvdp__append(say,
                     "%s: VIOLATION: texts %zu and %zu at delta %g: expected shown <= exact <= %s, "
                     "found %.6g, %.6g, %.6g; and a lower bound of right below its upper bounds, "
                     "found %.6g, %.6g, %.6g; confidence of shown and right: %g %%",
                     attacked->name, p->p, p->q, found->delta, promise(attacked), p->shown,
                     p->exact, found->certified, p->right_interval.low, p->right_max,
                     isnan(found->guess) ? 1 : found->guess, 100 * found->confidence);
        return;
    }
}

static nvdp_status run(const struct nvdp__attacked *attacked, void *found) {
    double epsilon;
    NVDP_RETURN_IF_FAILED(certified(attacked, &epsilon));
    return nvdp_attack_pairs(attacked->ctx, attacked->posteriors, epsilon, attacked->config, found);
}

static void release(void *found) {
    nvdp_pair_attacks_free(found);
}

static const char *const pair_options[] = {NVDP__ATTACK_POSTERIORS_OPTIONS,
                                           "pair",
                                           "pairs",
                                           "samples",
                                           "claimed",
                                           "delta",
                                           "confidence",
                                           NULL};

const struct nvdp__attack nvdp__attack_row_pair = {
    .target = NVDP_ATTACK_POSTERIORS,
    .right = "the more likely of two texts, mean over pairs",
    .options = pair_options,
    .size = sizeof(struct nvdp_pair_attacks),
    .run = run,
    .json = pairs_json,
    .print = print_pairs,
    .verdict = write_verdict,
    .release = release};
