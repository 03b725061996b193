/* Runs any attack by its row in the table of attacks, for nvdp attack: the options, the run, the result as JSON,
 * text and verdict.  Read attack.h first. */
#include "attack/attack.h"
#include "base/json.h"
#include "base/own.h"
#include "mechanism/method.h"
#include "train/run.h"

#include <math.h>
#include <nvdp/evaluate.h>
#include <stdlib.h>
#include <string.h>

enum { VERDICT_ROOM = 8192 }; /* for a path and two lines */

#define AT(member) NVDP_OPTION_AT(struct options, member)

struct options {
    int kind;
    const char *posteriors;
    double claimed;
};
static const struct nvdp_option options[] = {
    {"kind", NVDP_OPTION_CHOICE, "K", nvdp__attack_kind_help, "exposure", AT(kind),
     .choices = nvdp__attack_names, .group = "Attack:", .after = "model",
     .traits = NVDP_TRAIT_BASIC},
    {"posteriors", NVDP_OPTION_TEXT, "FILE.h5",
     "kinds pair, reidentify, invert: file of posteriors to attack in place of a run; "
     "kind invert: also vectors in FILE.npy, or an encoder's directory, whose vectors have no "
     "noise",
     NULL, AT(posteriors), .group = "All kinds except exposure:", .after = "run",
     .traits = NVDP_TRAIT_BASIC},
    {"claimed", NVDP_OPTION_REAL, "E",
     "epsilon claimed at --delta; default: the epsilon of the run's certificate", NULL, AT(claimed),
     .group = "Kind pair:", .after = "samples", .max = 1e9, .unit = "nats",
     .traits = NVDP_TRAIT_NO_DEFAULT},
    {0},
};
static const struct nvdp__section section = {.row = options};
static const struct nvdp__schema schema = {.kind = "the attack to run",
                                           .size = sizeof(struct options),
                                           .section = &section,
                                           .sections = 1};

nvdp_status nvdp_attacks_config_create(struct nvdp_context *ctx, struct nvdp_config **out) {
    static nvdp_status (*const part[])(struct nvdp_context *, struct nvdp_config **) = {
        nvdp_text_attack_config_create, nvdp_attack_config_create};
    struct nvdp_config *made = NULL, *more = NULL;
    nvdp_status status = nvdp_exposure_config_create(ctx, &made);
    for (size_t i = 0; i < sizeof part / sizeof *part && status == NVDP_OK; i++) {
        status = part[i](ctx, &more);
        if (status == NVDP_OK) status = nvdp_config_join(made, more);
    }
    if (status == NVDP_OK) status = nvdp__config_create(ctx, &schema, &more);
    if (status == NVDP_OK) status = nvdp_config_join(made, more);
    if (status == NVDP_OK) *out = made;
    if (status != NVDP_OK) nvdp_config_free(made);
    return status;
}

bool nvdp__attack_takes(const struct nvdp__attack *attack, const char *option) {
    for (const char *const *name = attack->options; *name != NULL; name++)
        if (strcmp(*name, option) == 0) return true;
    return false;
}

nvdp_status nvdp_attack_describe(struct nvdp_context *ctx, size_t attack,
                                 struct nvdp_attack_info *out) {
    size_t count = 0;
    NVDP_TRY(nvdp__can_give(ctx, out));
    while (nvdp__attacks[count] != NULL)
        count++;
    if (attack >= count)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "attack: expected 0 to %zu, found %zu", count - 1,
                          attack);
    const struct nvdp__attack *row = nvdp__attacks[attack];
    const struct nvdp_attack_info made = {.struct_size = sizeof made,
                                          .name = nvdp__attack_names[attack],
                                          .help = nvdp__attack_helps[attack],
                                          .target = row->target,
                                          .options = row->options,
                                          .exclusive = {row->exclusive[0], row->exclusive[1]},
                                          .attacks = count,
                                          .right = row->right};
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}

/* --- a run --- */

struct nvdp_attack_result {
    struct nvdp__attacked attacked;
    struct nvdp_config *config;
    void *found; /* zero, or filled by `run` */
};

void nvdp_attack_free(struct nvdp_attack_result *result) {
    if (result == NULL) return;
    if (result->found != NULL && result->attacked.attack->release != NULL)
        result->attacked.attack->release(result->found);
    free(result->found);
    nvdp_config_free(result->config);
    free(result);
}

/* Reads the posteriors of a file, or computes those of a run. */
static nvdp_status open_posteriors(struct nvdp_context *ctx, const struct nvdp_config *config,
                                   const char *path, struct nvdp_posteriors **out) {
    if ((path != NULL) == (nvdp_config_get(config, "run") != NULL))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "expected exactly one of the options run and posteriors");
    return path != NULL ? nvdp_posteriors_read(ctx, path, out)
                        : nvdp_run_posteriors(ctx, config, out);
}

/* Finds out whether the method of a run, or of a file of posteriors, has a certificate per word. */
static nvdp_status find_words(struct nvdp__attacked *attacked) {
    const char *run = nvdp_config_get(attacked->config, "run");
    struct nvdp__train_options training;
    json_t *owner = NULL;
    const struct nvdp__method *method =
        attacked->posteriors != NULL ? nvdp__method_named(attacked->posteriors->method) : NULL;
    if (method == NULL && run != NULL) {
        NVDP_TRY(nvdp__run_read_config(attacked->ctx, run, &training, &owner));
        method = nvdp__method_row(training.method);
        json_decref(owner);
    }
    attacked->words = method != NULL && method->words;
    return NVDP_OK;
}

nvdp_status nvdp_attack(struct nvdp_context *ctx, const struct nvdp_config *config,
                        struct nvdp_attack_result **out) {
    nvdp__autoptr(nvdp_attack_free) struct nvdp_attack_result *made = NULL;
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    struct options values;
    NVDP_TRY(nvdp__config_open(ctx, config, &schema, &values));
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    const struct nvdp__attack *row = nvdp__attacks[values.kind];
    made->attacked = (struct nvdp__attacked){
        .ctx = ctx,
        .attack = row,
        .kind = nvdp__attack_names[values.kind],
        .claimed = nvdp_config_is_set(config, "claimed") ? values.claimed : NAN};
    NVDP_TRY(nvdp_config_copy(config, &made->config));
    made->attacked.config = made->config;
    const char *name =
        nvdp_config_get(made->config, row->target == NVDP_ATTACK_MODEL ? "model" : "run");
    made->attacked.name = name != NULL ? name : "posteriors";
    if (row->target == NVDP_ATTACK_POSTERIORS && !row->opens)
        NVDP_TRY(open_posteriors(ctx, config, values.posteriors, &posteriors));
    made->found = nvdp__calloc(ctx, 1, row->size);
    NVDP_TRY(NVDP__MADE(made->found));
    memcpy(made->found, &row->size,
           sizeof row->size); /* the struct size, as NVDP_RESULT() sets it */
    made->attacked.posteriors = posteriors;
    NVDP_TRY(row->run(&made->attacked, made->found));
    NVDP_TRY(find_words(&made->attacked));
    made->attacked.posteriors = NULL;
    *out = made;
    made = NULL;
    return NVDP_OK;
}

/* --- the result --- */

nvdp_status nvdp_attack_json(struct nvdp_context *ctx, const struct nvdp_attack_result *result,
                             char **out) {
    const struct nvdp__attack *row = result->attacked.attack;
    json_t *object = json_pack("{s:s}", "attack", result->attacked.kind);
    if (object == NULL ||
        (row->add != NULL && !row->add(&result->attacked, result->found, object)) ||
        !nvdp__result_put(object, row->table, "json", result->found)) {
        json_decref(object);
        object = NULL;
    }
    return nvdp__json_text(ctx, object, result->attacked.kind, out);
}

static void print(const void *of, FILE *to) {
    const struct nvdp_attack_result *result = of;
    const struct nvdp__attack *row = result->attacked.attack;
    if (row->head != NULL) row->head(&result->attacked, result->found, to);
    nvdp__result_print(row->table, result->found, to);
    if (result->attacked.words && !row->per_word) {
        putc('\n', to);
        nvdp__print_wrapped(to, "The certificate per word says nothing about these guesses: it "
                                "bounds what is learned of one word, not of a whole text.");
    }
    if (row->weak == NULL || !row->weak(result->found)) return;
    putc('\n', to);
    nvdp__print_wrapped(
        to, "The attacker is too weak for a conclusion: even without noise, from the posteriors "
            "themselves, it is right hardly more often than without any sample.");
}

nvdp_status nvdp_attack_text(struct nvdp_context *ctx, const struct nvdp_attack_result *result,
                             char **out) {
    return nvdp__printed(ctx, print, result, out);
}

nvdp_status nvdp_attack_verdict(struct nvdp_context *ctx, const struct nvdp_attack_result *result,
                                char **out) {
    char text[VERDICT_ROOM] = "";
    struct nvdp__writer say = {text, sizeof text, 0};
    result->attacked.attack->verdict(&result->attacked, result->found, &say);
    char *copy = nvdp__strdup(ctx, text);
    if (copy == NULL) return NVDP_ERR_MEMORY;
    *out = copy;
    return NVDP_OK;
}

/* Reports a share that exceeds its proven bound: the sampler, densities, clip or proof is wrong, or it is chance. */
void nvdp__share_verdict(const struct nvdp__attacked *attacked, const char *what,
                         const struct nvdp_interval *interval, double baseline, double bound,
                         struct nvdp__writer *say) {
    char most[NVDP__BOUND_TEXT], least[NVDP__BOUND_TEXT];
    if (say->used > 0 || !(interval->low > bound)) return;
    nvdp__append(say,
                 "%s: VIOLATION: %s: expected a share of at most %s, the bound that is proven "
                 "for guesses that are right with probability %.6g without samples; found at least "
                 "%s with confidence 95 %%",
                 attacked->name, what, nvdp__bound(most, bound), baseline,
                 nvdp__bound_below(least, interval->low));
}
