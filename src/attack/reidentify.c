/* Finds the text of a sample (reidentify): the row in the table of attacks, and the results as JSON and text. */
#include "attack/attack.h"
#include "base/json.h"
#include "base/sentence.h"

#include <math.h>
#include <stdlib.h>

static nvdp_status run(const struct nvdp__attacked *attacked, void *found) {
    struct nvdp_context *ctx = attacked->ctx;
    struct nvdp__attack_options options;
    const char *shared = nvdp_config_get(attacked->config, "shared");
    NVDP_RETURN_IF_FAILED(nvdp__config_open(ctx, attacked->config, &nvdp__attack_schema, &options));
    return shared != NULL
               ? nvdp_attack_shared(ctx, attacked->posteriors, shared, options.releases, found)
               : nvdp_linkage_measure(ctx, attacked->posteriors, options.releases, options.texts,
                                      options.seed, found);
}

/* Returns true if the attacker is too weak for any conclusion: without noise it is right no more often than by
 * chance. */
static bool is_weak(const struct nvdp_linkage *found) {
    return found->states <= found->first_chance * (1 + 1e-9);
}

static json_t *linkage_json(const struct nvdp__attacked *attacked, const void *of) {
    char *text = NULL;
    if (nvdp_linkage_json(attacked->ctx, of, &text) != NVDP_OK) return NULL;
    json_t *object = json_loads(text, 0, NULL);
    free(text);
    json_object_set_new(object, "attack", json_string(attacked->kind));
    json_object_set_new(object, "weak", json_boolean(is_weak(of)));
    return object;
}

static void print_share(FILE *to, const char *name, double share,
                        const struct nvdp_interval *interval, double chance, double bound) {
    char text[NVDP__BOUND_TEXT];
    nvdp__print_row(to, name, "%.2f %% (%.2f to %.2f), chance %.2f %%%s%s", 100 * share,
                    100 * interval->low, 100 * interval->high, 100 * chance,
                    isnan(bound) ? "" : ", proven at most ",
                    isnan(bound) ? "" : nvdp__share_bound(text, bound));
}

static void print_linkage(const struct nvdp__attacked *attacked, const void *of, FILE *to) {
    const struct nvdp_linkage *found = of;
    char sentence[NVDP_LINKAGE_SENTENCE];
    (void)attacked;
    nvdp_linkage_sentence(found, sentence);
    nvdp__print_wrapped(to, sentence);
    putc('\n', to);
    nvdp__print_row(to, "guesses", "%zu with %d sample%s each, among %zu texts; intervals at %g %%",
                    found->trials, found->releases, found->releases == 1 ? "" : "s", found->texts,
                    100 * found->confidence);
    print_share(to, "the right text", found->first, &found->first_interval, found->first_chance,
                found->first_bound);
    print_share(to, "among the top ten", found->ten, &found->ten_interval, found->ten_chance,
                found->ten_bound);
    nvdp__print_row(to, "without noise",
                    "%.2f %% name the right text; texts with equal posteriors share a guess",
                    100 * found->states);
    nvdp__print_row(to, "information", "%.3f nats (%.3f to %.3f) of the possible log %zu = %.3f",
                    found->information, found->information_interval.low,
                    found->information_interval.high, found->texts, log((double)found->texts));
    nvdp__print_weak(to, is_weak(found));
}

static void write_verdict(const struct nvdp__attacked *attacked, const void *of,
                          struct nvdp__writer *say) {
    const struct nvdp_linkage *found = of;
    nvdp__share_verdict(attacked, "the right text", &found->first_interval, found->first_chance,
                        found->first_bound, say);
    nvdp__share_verdict(attacked, "among the top ten", &found->ten_interval, found->ten_chance,
                        found->ten_bound, say);
}

/* Does nothing: the result owns no memory. */
static void release(void *found) {
    (void)found;
}

static const char *const reidentify_options[] = {NVDP__ATTACK_POSTERIORS_OPTIONS, "texts", "shared",
                                                 NULL};

const struct nvdp__attack nvdp__attack_row_reidentify = {
    .target = NVDP_ATTACK_POSTERIORS,
    .right = "the most likely of the measured texts",
    .options = reidentify_options,
    .exclusive = {"texts", "shared"},
    .size = sizeof(struct nvdp_linkage),
    .run = run,
    .json = linkage_json,
    .print = print_linkage,
    .verdict = write_verdict,
    .release = release};
