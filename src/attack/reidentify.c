/* Finds the text of a sample (reidentify): the row in the table of attacks. */
#include "attack/attack.h"

static nvdp_status run(const struct nvdp__attacked *attacked, void *found) {
    struct nvdp_context *ctx = attacked->ctx;
    struct nvdp__attack_options options;
    const char *shared = nvdp_config_get(attacked->config, "shared");
    NVDP_TRY(nvdp__config_open(ctx, attacked->config, &nvdp__attack_schema, &options));
    return shared != NULL
               ? nvdp_attack_shared(ctx, attacked->posteriors, shared, options.releases, found)
               : nvdp_linkage_measure(ctx, attacked->posteriors, options.releases, options.texts,
                                      options.seed, found);
}

/* Returns true if the attacker is too weak for any conclusion: without noise it is right no more often than by
 * chance. */
static bool is_weak(const void *of) {
    const struct nvdp_linkage *found = of;
    return found->states <= found->first_chance * (1 + 1e-9);
}

static bool add_sentence(const struct nvdp__attacked *attacked, const void *of, json_t *object) {
    char sentence[NVDP_LINKAGE_SENTENCE];
    (void)attacked;
    nvdp_linkage_sentence(of, sentence);
    return json_object_set_new(object, "sentence", json_string(sentence)) == 0 &&
           json_object_set_new(object, "weak", json_boolean(is_weak(of))) == 0;
}

static void print_sentence(const struct nvdp__attacked *attacked, const void *of, FILE *to) {
    char sentence[NVDP_LINKAGE_SENTENCE];
    const struct nvdp_linkage *found = of;
    nvdp_linkage_sentence(found, sentence);
    nvdp__print_wrapped(to, sentence);
    if (nvdp_config_get(attacked->config, "shared") != NULL && found->labeled.labels > 0)
        nvdp__print_wrapped(to, "The file states the labels, so every reader has them.");
    putc('\n', to);
}

static void write_verdict(const struct nvdp__attacked *attacked, const void *of,
                          struct nvdp__writer *say) {
    const struct nvdp_linkage *found = of;
    nvdp__share_verdict(attacked, "the right text", &found->first_interval, found->first_chance,
                        found->first_bound, say);
    nvdp__share_verdict(attacked, "among the top ten", &found->ten_interval, found->ten_chance,
                        found->ten_bound, say);
    nvdp__share_verdict(attacked, "the right text, label known", &found->labeled.first_interval,
                        found->labeled.first_chance, found->labeled.first_bound, say);
    nvdp__share_verdict(attacked, "among the top ten, label known", &found->labeled.ten_interval,
                        found->labeled.ten_chance, found->labeled.ten_bound, say);
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
    .table = &nvdp__result_linkage,
    .add = add_sentence,
    .head = print_sentence,
    .weak = is_weak,
    .verdict = write_verdict};
