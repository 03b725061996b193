/* The parts of the rows in the table of attacks that all learners (texts.h) share: the run, and the result table. */
#include "attack/texts.h"

#include <stdlib.h>

const char *const nvdp__learner_options[] = {NVDP__LEARNER_OPTIONS, NULL};

nvdp_status nvdp__learner_run(const struct nvdp__attacked *attacked, void *found) {
    return nvdp__learn(attacked->ctx, attacked->attack, attacked->kind, attacked->config, found);
}

void nvdp__learner_release(void *found) {
    nvdp_text_attack_free(found);
}

/* Returns true if the attacker trains its language model, so that it has no weight beside frequencies. */
static bool is_trained(const struct nvdp__attack *attack) {
    return nvdp__attack_takes(attack, "steps");
}

/* Prints the prior of an attacker that uses a language model besides the vectors. */
static void print_prior(FILE *to, const struct nvdp__attacked *attacked,
                        const struct nvdp_text_attack *found) {
    const char *prior = nvdp_config_get(attacked->config, "prior");
    const double *w = found->weight;
    if (!nvdp__attack_takes(attacked->attack, "prior")) return;
    if (is_trained(attacked->attack))
        nvdp__print_row(to, "model", "%s, trained with the samples of the public texts", prior);
    else if (prior == NULL)
        nvdp__print_row(
            to, "prior", "word frequencies alone%s; --prior MODEL adds a language model",
            nvdp__attack_takes(attacked->attack, "beam") ? ", so language equals nearest" : "");
    else
        nvdp__print_row(
            to, "prior",
            "%s, weight %g against the frequencies (without noise %g, without samples %g)", prior,
            w[0], w[1], w[2]);
}

/* clang-format off */
#define ROW(type, member, unit, better, ...) \
    NVDP_RESULT_ROW(struct type, member, unit, NVDP_SCOPE_RUN, better, __VA_ARGS__)

static const char *metric_name(int metric) {
    return nvdp_text_metric_name((enum nvdp_text_metric)metric);
}

const struct nvdp_result_table nvdp__result_text_score = {
    .name = "score", .help = "a score of an attacker", .size = sizeof(struct nvdp_text_score),
    .rows = (const struct nvdp_result_row[]){
        ROW(nvdp_text_score, observed, NULL, 0, "what the attacker sees", .label = "sees"),
        {"metric", NVDP_RESULT_WORD, .help = "kind of score", .label = "score", .word = metric_name,
         NVDP_RESULT_AT(struct nvdp_text_score, metric)},
        ROW(nvdp_text_score, value, NULL, -1, "the score", .label = "x 100", .scale = 100, .decimals = 2),
        {"interval", NVDP_RESULT_INTERVAL, .help = "95 % interval", .label = "95 %", .scale = 100, .decimals = 2,
         NVDP_RESULT_AT(struct nvdp_text_score, interval.low), .absent = NVDP_ABSENT_EACH,
         .high = offsetof(struct nvdp_text_score, interval.high)},
        ROW(nvdp_text_score, baseline, NULL, 0, "success of the best guess without samples"),
        ROW(nvdp_text_score, bound, NULL, -1, "proven bound", .label = "proven at most", .scale = 100, .bound = 1),
        {0}}};

const struct nvdp_result_table nvdp__result_text_attack = {
    .name = "text_attack", .help = "an attacker that learns from public texts", .sized = true,
    .rows = (const struct nvdp_result_row[]){
        ROW(nvdp_text_attack, texts, "texts", 0, "attacked texts"),
        ROW(nvdp_text_attack, public_texts, "texts", 0, "texts that the attacker learned from"),
        ROW(nvdp_text_attack, both, "texts", 0, "those that are both"),
        ROW(nvdp_text_attack, seeds, NULL, 0, "number of times that noise was drawn"),
        ROW(nvdp_text_attack, tried, "words", 0, "words tried in each place; 0: all public words"),
        ROW(nvdp_text_attack, labels, "labels", 0, "labels that the file states; 0: none"),
        ROW(nvdp_text_attack, labels_learned, NULL, 0, "the public texts have labels too"),
        ROW(nvdp_text_attack, weak, NULL, 0, "nothing is found without noise"),
        ROW(nvdp_text_attack, holds, NULL, 0, "no score exceeds its bound"),
        {"scores", NVDP_RESULT_LIST, .help = "the scores", .label = "", .indirect = true, .of = &nvdp__result_text_score,
         NVDP_RESULT_AT(struct nvdp_text_attack, score), NVDP_RESULT_LENGTH(struct nvdp_text_attack, scores)},
        {0}}};
/* clang-format on */

bool nvdp__learner_weak(const void *found) {
    return ((const struct nvdp_text_attack *)found)->weak;
}

void nvdp__learner_head(const struct nvdp__attacked *attacked, const void *of, FILE *to) {
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
    if (found->labels > 0)
        nvdp__print_row(
            to, "labels", "%s",
            nvdp__attack_takes(attacked->attack, "steps")
                ? "in the file; the bound counts them, but this attacker does not read "
                  "them: one who does finds more"
            : found->labels_learned
                ? "in the file; the attacker and the bound count them"
                : "in the file; the bound counts them, but the attacker cannot read them: "
                  "the public texts have no labels");
    print_prior(to, attacked, found);
    if (found->tried > 0)
        nvdp__print_row(to, "CAUTION",
                        "with a window, only the %zu words that are most probable without the "
                        "sample are tried in each place; an attacker who tries all finds more",
                        found->tried);
    putc('\n', to);
}

static json_int_t given_number(const struct nvdp__attacked *attacked, const char *option) {
    return atoll(nvdp_config_get(attacked->config, option));
}

bool nvdp__learner_add(const struct nvdp__attacked *attacked, const void *of, json_t *object) {
    const double *weight = ((const struct nvdp_text_attack *)of)->weight;
    const char *prior = nvdp_config_get(attacked->config, "prior");
    json_t *more = json_pack(
        "{s:s?, s:I, s:I}", "shared", nvdp_config_get(attacked->config, "shared"), "releases",
        given_number(attacked, "releases"), "seed", given_number(attacked, "seed"));
    if (json_object_update_new(object, more) != 0) return false;
    if (!nvdp__attack_takes(attacked->attack, "prior")) return true;
    more = prior == NULL                  ? json_null()
           : is_trained(attacked->attack) ? json_pack("{s:s, s:I, s:I}", "model", prior, "tokens",
                                                      given_number(attacked, "tokens"), "steps",
                                                      given_number(attacked, "steps"))
                                          : json_pack("{s:s, s:[f,f,f]}", "model", prior, "weight",
                                                      weight[0], weight[1], weight[2]);
    if (json_object_set_new(object, "prior", more) != 0) return false;
    return !nvdp__attack_takes(attacked->attack, "beam") ||
           json_object_set_new(object, "beam", json_integer(given_number(attacked, "beam"))) == 0;
}

void nvdp__learner_verdict(const struct nvdp__attacked *attacked, const void *of,
                           struct nvdp__writer *say) {
    const struct nvdp_text_attack *found = of;
    for (size_t i = 0; i < found->scores; i++)
        nvdp__share_verdict(attacked, nvdp_text_metric_name(found->score[i].metric),
                            &found->score[i].interval, found->score[i].baseline,
                            found->score[i].bound, say);
}
