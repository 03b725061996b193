/* The row of membership in the table of attacks, and its result table. */
#include "attack/membership.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static nvdp_status run(const struct nvdp__attacked *attacked, void *found) {
    struct nvdp__membership *out = found;
    /* Each of the two functions below opens the options itself. */
    const char *of = nvdp_config_get(attacked->config, "members");
    const bool training = strcmp(of, nvdp__members_of[NVDP__MEMBERS_TRAINING]) == 0;
    out->of = training ? NVDP__MEMBERS_TRAINING : NVDP__MEMBERS_SHARED;
    NVDP_TRY(training ? nvdp__membership_training(attacked, out)
                      : nvdp__membership_file(attacked, out));
    if (training) out->scores.weak = false; /* training has no control; the intervals tell */
    return NVDP_OK;
}

/* --- the result --- */

static const char *members_of(int of) {
    return nvdp__members_of[of];
}

static bool has_audit(const void *found) {
    return ((const struct nvdp__membership *)found)->audit.canaries > 0;
}

/* clang-format off */
#define ROW(member, unit, better, ...) \
    NVDP_RESULT_ROW(struct nvdp__membership, member, unit, NVDP_SCOPE_RUN, better, __VA_ARGS__)
#define SCORES(name, type, member, help_) \
    {name, type, .help = help_, NVDP_RESULT_AT(struct nvdp__membership, scores.member)}

const struct nvdp_result_table nvdp__result_membership = {
    .name = "membership", .help = "an attacker who looks for texts among shared or training texts", .sized = true,
    .rows = (const struct nvdp_result_row[]){
        {"of", NVDP_RESULT_WORD, .word = members_of, .help = "shared: texts of a file; training: of the training set",
         NVDP_RESULT_AT(struct nvdp__membership, of)},
        ROW(members, "texts", 0, "texts that are in the file or training set"),
        ROW(others, "texts", 0, "texts that are not"),
        ROW(repeated, "texts", 0, "texts left out because they occur more than once"),
        ROW(shadows, "runs", 0, "shadow runs"),
        SCORES("public_texts", NVDP_RESULT_COUNT, public_texts, "public texts"),
        SCORES("both", NVDP_RESULT_COUNT, both, "attacked texts that are also public"),
        SCORES("weak", NVDP_RESULT_FLAG, weak, "shared: texts of the file and others have the same posteriors"),
        SCORES("holds", NVDP_RESULT_FLAG, holds, "no score exceeds its bound"),
        ROW(delta, NULL, 0, "delta of the epsilons"),
        ROW(epsilon, "nats", -1, "proven epsilon at delta"),
        ROW(mu, NULL, -1, "proven mu of Gaussian differential privacy"),
        {"proven_tpr", NVDP_RESULT_REAL, .help = "proven upper bounds of the TPR at FPR 1 % and 0.1 %", .array = NVDP__MEMBERSHIP_RATES,
         NVDP_RESULT_AT(struct nvdp__membership, tpr[0])},
        {"scores", NVDP_RESULT_LIST, .help = "the scores", .label = "", .indirect = true, .of = &nvdp__result_text_score,
         NVDP_RESULT_AT(struct nvdp__membership, scores.score), NVDP_RESULT_LENGTH(struct nvdp__membership, scores.scores)},
        {"audit", NVDP_RESULT_TABLE, .help = "audit of the coins that chose which texts are shared",
         NVDP_RESULT_AT(struct nvdp__membership, audit), .present = has_audit, .of = &nvdp__result_canary_audit},
        {0}},
    .views = (const struct nvdp_result_view[]){
        {"terminal", .keys = (const struct nvdp_result_key[]){{.row = "audit", .absent = NVDP_ABSENT_HIDDEN}, {0}}},
        {0}}};
/* clang-format on */

static bool add(const struct nvdp__attacked *attacked, const void *of, json_t *object) {
    json_t *more =
        json_pack("{s:s?, s:I, s:I}", "shared", nvdp_config_get(attacked->config, "shared"),
                  "releases", (json_int_t)atoll(nvdp_config_get(attacked->config, "releases")),
                  "seed", (json_int_t)atoll(nvdp_config_get(attacked->config, "seed")));
    (void)of;
    return json_object_update_new(object, more) == 0;
}

/* The bounds differ in what they assume of the curve; none of them is always the largest. */
static void print_audit(const struct nvdp__membership *found, FILE *to) {
    const struct nvdp_canary_audit *audit = &found->audit;
    char epsilon[NVDP__BOUND_TEXT], mu[NVDP__BOUND_TEXT];
    nvdp__bound(epsilon, found->epsilon);
    nvdp__bound(mu, found->mu);
    nvdp__print_row(to, "shown",
                    "by the coins that chose the texts of the file, at delta %g:", found->delta);
    nvdp__print_row(to, "  one run", "epsilon >= %.3f (proven: at most %s), Steinke et al. 2023",
                    nvdp__lower_bound(audit->epsilon, 3), epsilon);
    nvdp__print_row(to, "  curve", "epsilon >= %.3f (proven: at most %s), Mahloujifar et al. 2024",
                    nvdp__lower_bound(audit->curve_epsilon, 3), epsilon);
    nvdp__print_row(to, "  mu", "mu >= %.3f (proven: at most %s), if the curve is Gaussian",
                    nvdp__lower_bound(audit->mu, 3), mu);
}

static void head(const struct nvdp__attacked *attacked, const void *of, FILE *to) {
    const struct nvdp__membership *found = of;
    const char *file = nvdp_config_get(attacked->config, "shared");
    char text[2][NVDP__BOUND_TEXT];
    const bool training = found->of == NVDP__MEMBERS_TRAINING;
    nvdp__print_row(to, "texts", "%zu %s, %zu not", found->members,
                    training ? "in the training set" : "in the file", found->others);
    if (found->repeated > 0)
        nvdp__print_row(to, "left out", "%zu that occur more than once", found->repeated);
    if (found->scores.both > 0 && !training)
        nvdp__print_row(to, "CAUTION", "%zu of the attacked texts are also public",
                        found->scores.both);
    if (file != NULL) nvdp__print_row(to, "samples", "from %s", file);
    if (isnan(found->tpr[0]))
        nvdp__print_row(to, "proven", "nothing");
    else
        nvdp__print_row(
            to, "proven", "TPR at most %s at FPR 1 %%, %s at FPR 0.1 %%: %s",
            nvdp__share_bound(text[0], found->tpr[0]), nvdp__share_bound(text[1], found->tpr[1]),
            training       ? "a text in the training set, or any other text in its place"
            : file != NULL ? "a text in the file, or any other text in its place; this file alone"
                           : "a text in the file, or any other text in its place");
    if (!training)
        nvdp__print_row(to, "states", "show only whether the texts have different posteriors");
    for (size_t i = 0; i < NVDP__MEMBERSHIP_RATES; i++)
        if (nvdp__membership_rates[i] * (double)found->others * (1 + 1e-12) < 1) {
            nvdp__print_row(to, "too few",
                            "FPR %g %% and less cannot be measured with %zu other texts",
                            100 * nvdp__membership_rates[i], found->others);
            break;
        }
    if (has_audit(found)) print_audit(found, to);
    putc('\n', to);
}

/* Reports a score above its bound; then an audited epsilon above the proven one. */
static void verdict(const struct nvdp__attacked *attacked, const void *of,
                    struct nvdp__writer *say) {
    const struct nvdp__membership *found = of;
    const struct nvdp_canary_audit *audit = &found->audit;
    const double shown = fmax(audit->epsilon, audit->curve_epsilon);
    char least[2][NVDP__BOUND_TEXT], most[2][NVDP__BOUND_TEXT];
    nvdp__learner_verdict(attacked, &found->scores, say);
    if (say->used > 0 || !has_audit(found) || (shown <= found->epsilon && audit->mu <= found->mu))
        return;
    nvdp__append(say,
                 "%s: VIOLATION: the coins that chose the shared texts show epsilon >= %s at "
                 "delta %g or mu >= %s with confidence %g %%, but at most %s and %s are proven",
                 attacked->name, nvdp__bound_below(least[0], shown), found->delta,
                 nvdp__bound_below(least[1], audit->mu), 100 * audit->confidence,
                 nvdp__bound(most[0], found->epsilon), nvdp__bound(most[1], found->mu));
}

static const char *const row_options[] = {NVDP__ATTACK_RUN_OPTIONS,
                                          "shared",
                                          "public",
                                          "public-limit",
                                          "releases",
                                          "delta",
                                          "members",
                                          "shadows",
                                          "shadow-runs",
                                          NULL};

const struct nvdp__attack nvdp__attack_row_membership = {.target = NVDP_ATTACK_RUN,
                                                         .options = row_options,
                                                         .size = sizeof(struct nvdp__membership),
                                                         .run = run,
                                                         .table = &nvdp__result_membership,
                                                         .add = add,
                                                         .head = head,
                                                         .weak = nvdp__learner_weak,
                                                         .verdict = verdict,
                                                         .release = nvdp__learner_release};
