/* The parts of the rows in the table of attacks that all learners (texts.h) share: the run, and the results as JSON
 * and text. */
#include "attack/texts.h"
#include "base/json.h"
#include "base/sentence.h"

#include <math.h>
#include <stdlib.h>

const char *const nvdp__learner_options[] = {NVDP__LEARNER_OPTIONS, NULL};

nvdp_status nvdp__learner_run(const struct nvdp__attacked *attacked, void *found) {
    return nvdp__learn(attacked->ctx, attacked->attack, attacked->kind, attacked->config, found);
}

void nvdp__learner_release(void *found) {
    nvdp_text_attack_free(found);
}

/* Prints the prior of an attacker that uses a language model besides the vectors. */
static void print_prior(FILE *to, const struct nvdp__attacked *attacked,
                        const struct nvdp_text_attack *found) {
    const char *prior = nvdp_config_get(attacked->config, "prior");
    const double *w = found->weight;
    if (!nvdp__attack_takes(attacked->attack, "prior")) return;
    if (prior == NULL)
        nvdp__print_row(
            to, "prior", "word frequencies alone%s; --prior MODEL adds a language model",
            nvdp__attack_takes(attacked->attack, "beam") ? ", so language equals nearest" : "");
    else
        nvdp__print_row(
            to, "prior",
            "%s, weight %g against the frequencies (without noise %g, without samples %g)", prior,
            w[0], w[1], w[2]);
}

enum { INTERVAL_WIDTH = 17 };

/* Returns true if any score has a proven bound. */
static bool bounded(const struct nvdp_text_attack *found) {
    for (size_t i = 0; i < found->scores; i++)
        if (!isnan(found->score[i].bound)) return true;
    return false;
}

static void print_score(FILE *to, const struct nvdp_text_score *s) {
    char interval[32], text[NVDP__BOUND_TEXT];
    nvdp__snprintf(interval, sizeof interval, "%.2f to %.2f", 100 * s->interval.low,
                   100 * s->interval.high);
    nvdp__fprintf(to, "%-10s %-20s %9.2f  %-*s%s\n", s->observed, nvdp_text_metric_name(s->metric),
                  100 * s->value, isnan(s->bound) ? 0 : INTERVAL_WIDTH, interval,
                  isnan(s->bound) ? "" : nvdp__share_bound(text, s->bound));
}

void nvdp__learner_print(const struct nvdp__attacked *attacked, const void *of, FILE *to) {
    const struct nvdp_text_attack *found = of;
    const char *shared = nvdp_config_get(attacked->config, "shared");
    nvdp__print_row(to, "texts", "%zu, public texts to learn from: %zu, noise drawn %zu time%s",
                    found->texts, found->public_texts, found->seeds, found->seeds == 1 ? "" : "s");
    if (found->both > 0)
        nvdp__print_row(to, "CAUTION",
                        "%zu of the texts are also public texts, so an attacker who knows them "
                        "finds more than one who does not",
                        found->both);
    if (shared != NULL)
        nvdp__print_row(to, "samples", "from %s%s", shared,
                        found->seeds == 1 ? "; intervals cover the choice of texts only" : "");
    print_prior(to, attacked, found);
    nvdp__fprintf(to, "\n%-10s %-20s %9s  %-*s%s\n", "sees", "score", "x 100",
                  bounded(found) ? INTERVAL_WIDTH : 0, "95 %",
                  bounded(found) ? "proven at most" : "");
    for (size_t i = 0; i < found->scores; i++)
        print_score(to, &found->score[i]);
    nvdp__print_weak(to, found->weak);
}

static json_int_t given_number(const struct nvdp__attacked *attacked, const char *option) {
    return atoll(nvdp_config_get(attacked->config, option));
}

json_t *nvdp__learner_json(const struct nvdp__attacked *attacked, const void *of) {
    const struct nvdp_text_attack *found = of;
    json_t *scores = json_array();
    for (size_t i = 0; i < found->scores; i++) {
        const struct nvdp_text_score *s = &found->score[i];
        json_array_append_new(
            scores,
            json_pack("{s:s, s:s, s:o, s:[o,o], s:o, s:o}", "observed", s->observed, "metric",
                      nvdp_text_metric_name(s->metric), "value", nvdp__json_known(s->value),
                      "interval", nvdp__json_known(s->interval.low),
                      nvdp__json_known(s->interval.high), "baseline", nvdp__json_known(s->baseline),
                      "bound", nvdp__json_known(s->bound)));
    }
    json_t *object = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:s?, s:I, s:I, s:b, s:b, s:o}", "attack", found->attacker,
        "texts", (json_int_t)found->texts, "public_texts", (json_int_t)found->public_texts, "both",
        (json_int_t)found->both, "seeds", (json_int_t)found->seeds, "shared",
        nvdp_config_get(attacked->config, "shared"), "releases", given_number(attacked, "releases"),
        "seed", given_number(attacked, "seed"), "weak", found->weak, "holds", found->holds,
        "scores", scores);
    if (!nvdp__attack_takes(attacked->attack, "prior")) return object;
    const char *prior = nvdp_config_get(attacked->config, "prior");
    if (nvdp__attack_takes(attacked->attack, "beam"))
        json_object_set_new(object, "beam", json_integer(given_number(attacked, "beam")));
    json_object_set_new(object, "prior",
                        prior == NULL
                            ? json_null()
                            : json_pack("{s:s, s:[f,f,f]}", "model", prior, "weight",
                                        found->weight[0], found->weight[1], found->weight[2]));
    return object;
}

void nvdp__learner_verdict(const struct nvdp__attacked *attacked, const void *of,
                           struct nvdp__writer *say) {
    const struct nvdp_text_attack *found = of;
    for (size_t i = 0; i < found->scores; i++)
        nvdp__share_verdict(attacked, nvdp_text_metric_name(found->score[i].metric),
                            &found->score[i].interval, found->score[i].baseline,
                            found->score[i].bound, say);
}
