/* The row of pair in the table of attacks: the epsilon to compare with, and the results as JSON and text. */
#include "attack/attack.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sentence.h"
#include "model/model.h"
#include "options/result.h"

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

#define PAIR(member, ...) NVDP_RESULT_ROW(struct nvdp_pair_attack, member, __VA_ARGS__)
#define SHARE(name_, member, better_, help_, label_)                                               \
    {                                                                                              \
        name_, NVDP_RESULT_REAL, NULL, NVDP_SCOPE_PAIR, better_, help_,                            \
            NVDP_RESULT_AT(struct nvdp_pair_attack, member), .label = label_, .scale = 100,        \
                                                             .decimals = 2                         \
    }

static const char *say_holds(int holds) {
    return holds != 0 ? "yes" : "VIOLATION";
}

static const struct nvdp_result_table pair_table = {
    .name = "pair",
    .help = "an attack on two texts",
    .size = sizeof(struct nvdp_pair_attack),
    .rows = (const struct nvdp_result_row[]){
        PAIR(p, NULL, NVDP_SCOPE_PAIR, 0, "index of P", .label = "text P"),
        PAIR(q, NULL, NVDP_SCOPE_PAIR, 0, "index of Q", .label = "text Q"),
        PAIR(shown, "nats", NVDP_SCOPE_PAIR, -1, "lower bound of epsilon",
             .label = "shown >=", .decimals = 4),
        PAIR(ceiling, "nats", NVDP_SCOPE_PAIR, 0, "what a perfect test would have shown",
             .label = "ceiling", .decimals = 4),
        PAIR(exact, "nats", NVDP_SCOPE_PAIR, -1, "exact epsilon", .label = "exact", .decimals = 4),
        SHARE("right", right, -1, "share of right guesses", "right %"),
        {"right_interval", NVDP_RESULT_INTERVAL, NULL, NVDP_SCOPE_PAIR, 0, "interval of right",
         NVDP_RESULT_AT(struct nvdp_pair_attack, right_interval.low),
         .high = offsetof(struct nvdp_pair_attack, right_interval.high), .label = "interval",
         .scale = 100, .decimals = 2},
        SHARE("states", states, -1, "right without noise", "no noise %"),
        SHARE("most", right_max, -1, "expected right of the best test", "at most %"),
        PAIR(favors_q, NULL, NVDP_SCOPE_PAIR, 0, "the test detects Q"),
        PAIR(bounded, NULL, NVDP_SCOPE_PAIR, 0, "exact and most are upper bounds",
             .label = "bounds only"),
        {"holds", NVDP_RESULT_WORD, NULL, NVDP_SCOPE_PAIR, 0, "no number exceeds its bound",
         NVDP_RESULT_AT(struct nvdp_pair_attack, holds), .label = "bounds hold", .word = say_holds},
        {0}}};

static const struct nvdp_result_table pairs_table = {
    .name = "pairs",
    .help = "attacks on pairs of texts",
    .rows = (const struct nvdp_result_row[]){
        {"pairs", NVDP_RESULT_LIST, .scope = NVDP_SCOPE_PAIR, .help = "the pairs", .label = "",
         NVDP_RESULT_AT(struct nvdp_pair_attacks, pair), .indirect = true, .of = &pair_table,
         NVDP_RESULT_LENGTH(struct nvdp_pair_attacks, pairs)},
        {0}}};

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
    fputc('\n', to);
    nvdp__result_print(&pairs_table, found, to);
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
