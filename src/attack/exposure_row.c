/* The row of exposure in the table of attacks, and its result table. */
#include "attack/attack.h"

#include <inttypes.h>
#include <math.h>

/* --- the result table --- */

static const char *place(int window) {
    return window ? "window" : "text";
}

static bool is_canary(const void *result) {
    return ((const struct nvdp_secret_exposure *)result)->coin;
}

static bool is_private(const void *result) {
    return ((const struct nvdp_exposures *)result)->dp;
}

static bool has_canaries(const void *result) {
    return ((const struct nvdp_exposures *)result)->audit.canaries > 0;
}

static void print_candidates(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_exposures *found = result;
    nvdp_result_line(to, "candidates", "%zu of %zu whole words, %.2f bits", found->candidates,
                     found->whole_words, log2((double)found->candidates));
}

static void print_shown(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_canary_audit *a = result;
    nvdp_result_line(to, "epsilon", ">= %.3f at delta %g with confidence %g %%",
                     nvdp__lower_bound(a->epsilon, 3), a->delta, 100 * a->confidence);
    nvdp_result_line(to, "canaries", "%" PRIu64 ", of which %" PRIu64 " were planted; AUC %.3f",
                     a->canaries, a->included, a->auc);
}

/* The bound that the curve of a mechanism gives for any mechanism, and for one whose curve is Gaussian. */
static double gaussian_epsilon(const void *result) {
    const struct nvdp_canary_audit *a = result;
    return a->delta > 0 && a->delta < 1 ? nvdp_gdp_epsilon(a->mu, a->delta) : NAN;
}

static void print_curve(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_canary_audit *a = result;
    nvdp_result_line(to, "by the curve",
                     "epsilon >= %.3f; mu >= %.3f, so if the curve is Gaussian, epsilon >= %.3f",
                     nvdp__lower_bound(a->curve_epsilon, 3), nvdp__lower_bound(a->mu, 3),
                     nvdp__lower_bound(gaussian_epsilon(a), 3));
}

static void print_accountant(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_exposures *found = result;
    char epsilon[NVDP__BOUND_TEXT], delta[NVDP__BOUND_TEXT];
    if (!has_canaries(found)) return;
    if (!isfinite(found->upper))
        nvdp_result_line(to, "accountant", "the accountant gives no guarantee");
    else
        nvdp_result_line(to, "accountant", "<= %s at delta %s, one training example (zero-out)%s",
                         nvdp__bound(epsilon, found->upper), nvdp__bound(delta, found->audit.delta),
                         found->seeded ? ", for everyone who does not know the seed of the noise"
                                       : "");
}

/* clang-format off */
#define ROW(type, member, unit, better, ...) \
    NVDP_RESULT_ROW(struct type, member, unit, NVDP_SCOPE_MODEL, better, __VA_ARGS__)
#define KIND_ROWS(type) \
    ROW(type, form, NULL, 0, "format of the secret", .label = "form"), \
    {"place", NVDP_RESULT_WORD, .help = "in a training example of its own (window), or within the text", \
     NVDP_RESULT_AT(struct type, window), .word = place, .label = "place"}, \
    {"canary", NVDP_RESULT_FLAG, .help = "a coin decided whether it was planted", \
     NVDP_RESULT_AT(struct type, coin), .label = "canary"}, \
    ROW(type, occurrences, NULL, 0, "number of times it was planted", .label = "occurrences")
#define AT(member) NVDP_RESULT_AT(struct nvdp_exposures, member)

static const struct nvdp_result_table secret_table = {
    .name = "secret", .help = "a secret", .size = sizeof(struct nvdp_secret_exposure),
    .rows = (const struct nvdp_result_row[]){
        KIND_ROWS(nvdp_secret_exposure),
        ROW(nvdp_secret_exposure, loss, "nats", 1, "-log p of the secret"),
        ROW(nvdp_secret_exposure, rank, NULL, 1, "its rank among the candidates"),
        ROW(nvdp_secret_exposure, exposure, "bits", -1, "log2 candidates - log2 rank"),
        ROW(nvdp_secret_exposure, score, "nats", 0, "sum of log p of the words of a canary",
            .present = is_canary, .absent = NVDP_ABSENT_OMITTED),
        {0}}};

static const struct nvdp_result_table group_table = {
    .name = "group", .help = "secrets of one kind", .size = sizeof(struct nvdp_exposure_group),
    .rows = (const struct nvdp_result_row[]){
        KIND_ROWS(nvdp_exposure_group),
        ROW(nvdp_exposure_group, secrets, "secrets", 0, "number of secrets", .label = "secrets"),
        ROW(nvdp_exposure_group, loss, "nats", 1, "mean of -log p", .label = "loss", .decimals = 3),
        ROW(nvdp_exposure_group, exposure, "bits", -1, "mean exposure", .label = "exposure", .decimals = 2),
        {"interval", NVDP_RESULT_INTERVAL, "bits", .help = "95 % interval of exposure", .label = "95 %", .decimals = 2,
         NVDP_RESULT_AT(struct nvdp_exposure_group, interval.low), .absent = NVDP_ABSENT_EACH,
         .high = offsetof(struct nvdp_exposure_group, interval.high)},
        ROW(nvdp_exposure_group, first, NULL, -1, "share of rank 1", .label = "first %", .scale = 100, .decimals = 1),
        {0}}};

static const struct nvdp_result_table accountant_table = {
    .name = "accountant", .help = "the guarantee of private training",
    .rows = (const struct nvdp_result_row[]){
        {"epsilon", NVDP_RESULT_REAL, "nats", .help = "epsilon at delta", AT(upper)},
        {"delta", NVDP_RESULT_REAL, .help = "delta of epsilon", AT(audit.delta)},
        {"insecure_seed", NVDP_RESULT_FLAG, .help = "the noise came from a seed", AT(seeded)},
        {0}}};

static const struct nvdp_result_table guesses_table = {
    .name = "guesses", .help = "a way to guess", .size = sizeof(struct nvdp_audit_guesses),
    .rows = (const struct nvdp_result_row[]){
        ROW(nvdp_audit_guesses, epsilon, "nats", -1, "lower bound", .label = "epsilon >=", .decimals = 3, .bound = -1),
        ROW(nvdp_audit_guesses, in, "canaries", 0, "guesses that it was planted", .label = "guessed in"),
        ROW(nvdp_audit_guesses, out, "canaries", 0, "guesses that it was not", .label = "guessed out"),
        ROW(nvdp_audit_guesses, correct, "canaries", -1, "right guesses", .label = "right"),
        {0}}};

const struct nvdp_result_table nvdp__result_canary_audit = {
    .name = "audit", .help = "audit of the canaries",
    .rows = (const struct nvdp_result_row[]){
        ROW(nvdp_canary_audit, canaries, "canaries", 0, "number of canaries"),
        ROW(nvdp_canary_audit, included, "canaries", 0, "those that were planted"),
        ROW(nvdp_canary_audit, delta, NULL, 0, "delta of all epsilons"),
        ROW(nvdp_canary_audit, confidence, NULL, 0, "simultaneous confidence of the guesses"),
        ROW(nvdp_canary_audit, epsilon, "nats", -1, "largest lower bound", .print = print_shown),
        ROW(nvdp_canary_audit, curve_epsilon, "nats", -1, "lower bound from the whole curve", .print = print_curve),
        ROW(nvdp_canary_audit, mu, NULL, -1, "lower bound of mu of Gaussian differential privacy"),
        {"gaussian_epsilon", NVDP_RESULT_REAL, .unit = "nats", .scope = NVDP_SCOPE_MODEL, .better = -1,
         .help = "lower bound of epsilon if the curve is Gaussian", .real = gaussian_epsilon},
        ROW(nvdp_canary_audit, auc, NULL, -1, "area under the ROC curve of the scores"),
        {"guesses", NVDP_RESULT_LIST, .help = "ways to guess", .label = "", .of = &guesses_table,
         NVDP_RESULT_AT(struct nvdp_canary_audit, way), NVDP_RESULT_LENGTH(struct nvdp_canary_audit, ways)},
        {0}}};

const struct nvdp_result_table nvdp__result_exposure = {
    .name = "exposure", .help = "how well a model predicts secrets that were planted", .sized = true,
    .rows = (const struct nvdp_result_row[]){
        ROW(nvdp_exposures, candidates, "words", 0, "candidates per ranking", .print = print_candidates),
        ROW(nvdp_exposures, whole_words, "words", 0, "whole words in the vocabulary"),
        {"accountant", NVDP_RESULT_TABLE, .help = "guarantee", .present = is_private, .of = &accountant_table},
        {"groups", NVDP_RESULT_LIST, .help = "secrets of one kind", AT(group), .indirect = true, .of = &group_table, .label = "",
         NVDP_RESULT_LENGTH(struct nvdp_exposures, groups)},
        ROW(nvdp_exposures, upper, "nats", -1, "epsilon of the accountant", .print = print_accountant),
        {"audit", NVDP_RESULT_TABLE, .help = "audit of the canaries", AT(audit), .present = has_canaries, .of = &nvdp__result_canary_audit},
        {"secrets", NVDP_RESULT_LIST, .help = "the secrets", AT(secret), .indirect = true, .of = &secret_table,
         NVDP_RESULT_LENGTH(struct nvdp_exposures, secrets)},
        {0}},
    .views = (const struct nvdp_result_view[]){
        {"json", .keys = (const struct nvdp_result_key[]){{.row = "upper", .absent = NVDP_ABSENT_HIDDEN}, {0}}},
        {"terminal", .keys = (const struct nvdp_result_key[]){{.row = "secrets", .absent = NVDP_ABSENT_HIDDEN}, {0}}},
        {0}}};
/* clang-format on */

static bool add_model(const struct nvdp__attacked *attacked, const void *found, json_t *object) {
    (void)found;
    return json_object_set_new(object, "model", json_string(attacked->name)) == 0;
}

/* Reports an epsilon above the accountant's: then the attack, the accountant or the training is wrong. */
static void write_verdict(const struct nvdp__attacked *attacked, const void *of,
                          struct nvdp__writer *say) {
    const struct nvdp_exposures *found = of;
    const struct nvdp_canary_audit *a = &found->audit;
    const double shown = fmax(a->epsilon, a->curve_epsilon);
    char least[NVDP__BOUND_TEXT], most[NVDP__BOUND_TEXT];
    if (a->canaries == 0 || shown <= found->upper) return;
    nvdp__append(say,
                 "%s: VIOLATION: the canaries show epsilon >= %s at delta %g with confidence %g "
                 "%%, but the accountant guarantees at most %s",
                 attacked->name, nvdp__bound_below(least, shown), a->delta, 100 * a->confidence,
                 nvdp__bound(most, found->upper));
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
                                                       .table = &nvdp__result_exposure,
                                                       .add = add_model,
                                                       .verdict = write_verdict,
                                                       .release = release};
