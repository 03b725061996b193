/* Measures the exposure of planted secrets in a masked language model (Carlini et al. 2019; Hoory et al. 2021,
 * section 5.2), and audits canaries of one run (Steinke, Nasr & Jagielski 2023).  The order: one answer, questions,
 * models, results, the attack. */
#include "attack/attack.h"
#include "attack/audit.h"
#include "attack/language.h"
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/random.h"
#include "rdp/pairs.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const double USUAL_DELTA = 1e-5;

/* ---- groups of secrets of one kind ---- */

static const double INTERVAL = 0.95;

/* A secret, and the properties that its group has in common. */
struct grouped {
    size_t length;
    const char *form;
    bool coin, window;
    size_t occurrences;
    const struct nvdp__secret_exposure *secret;
};

/* Summarizes n secrets, whose exposures are between 0 and `bits`. */
static struct nvdp__exposure_group summarize_group(size_t n, const struct grouped *member,
                                                   double bits) {
    struct nvdp__exposure_group made = {.window = member[0].window,
                                        .coin = member[0].coin,
                                        .occurrences = member[0].occurrences,
                                        .secrets = n};
    double square = 0;
    size_t best = 0;
    memcpy(made.form, member[0].form, sizeof made.form);
    for (size_t i = 0; i < n; i++) {
        made.loss += member[i].secret->loss / (double)n;
        made.exposure += member[i].secret->exposure / (double)n;
        best += member[i].secret->rank == 1;
    }
    made.first = (double)best / (double)n;
    for (size_t i = 0; i < n; i++)
        square += pow(member[i].secret->exposure - made.exposure, 2);
    made.interval =
        nvdp__interval_student(INTERVAL, n, made.exposure, sqrt(square / fmax((double)n - 1, 1)));
    if (best == n &&
        n > 1) /* without spread, uses the limit of Clopper & Pearson 1934 for the share with rank 1 */
        made.interval.low = bits * nvdp__interval_share(INTERVAL, n, n).low;
    if (made.interval.low < 0) made.interval.low = 0;
    if (made.interval.high > bits) made.interval.high = bits;
    return made;
}

static nvdp_status exposure_groups(struct nvdp_context *ctx, size_t n,
                                   const struct nvdp__secret_exposure *found, double bits,
                                   struct nvdp__exposure_group **out, size_t *groups) {
    static const struct nvdp__key kind[] = {
        NVDP__UP(struct grouped, length), NVDP__UP(struct grouped, form),
        NVDP__UP(struct grouped, coin), NVDP__UP(struct grouped, window),
        NVDP__UP(struct grouped, occurrences)};
    enum { KEYS = sizeof kind / sizeof *kind };
    nvdp__autofree struct grouped *order = NULL;
    nvdp__autofree struct nvdp__exposure_group *made = NULL;
    size_t count = 0;
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(order, n), NVDP__ITEMS(made, n)));
    for (size_t i = 0; i < n; i++)
        order[i] = (struct grouped){strlen(found[i].form), found[i].form,        found[i].coin,
                                    found[i].window,       found[i].occurrences, &found[i]};
    nvdp__sort(order, n, sizeof *order, kind, KEYS);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && nvdp__compare(&order[i], &order[end], kind, KEYS) == 0;)
            end++;
        made[count++] = summarize_group(end - i, order + i, bits);
    }
    *groups = count;
    return NVDP__HAND_OVER(out, made);
}

/* ---- the answers of the model ---- */
/* A question: a word of a secret that the model predicts. */
struct question {
    size_t secret;
    bool slot; /* the word is S */
};

struct asked {
    struct nvdp_context *ctx;
    const struct nvdp__exposure_options *options;
    struct nvdp__secrets secrets;
    struct nvdp__questions asks;
    struct question question[NVDP__QUESTIONS]; /* the questions of `asks` */
    int32_t *word;                             /* [words] copy from which candidates are drawn */
    struct nvdp__secret_exposure *found;
    double sign; /* factor of log p in the scores: -1 for the reference */
    struct nvdp__meter meter;
    size_t seen;
};

/* ---- one answer ---- */

/* Moves the candidates to the front of a->word: all words but the secret, or some words drawn at random.  Returns the
 * number of candidates. */
static size_t draw_candidates(struct asked *a, size_t secret, int32_t slot) {
    const size_t words = a->secrets.words, others = words - 1;
    const size_t wanted = a->options->candidates > 0 ? a->options->candidates - 1 : others;
    const struct nvdp__noise noise = {.seed = a->options->seed};
    memcpy(a->word, a->secrets.word, words * sizeof *a->word);
    for (size_t i = 0; i < words; i++)
        if (a->word[i] == slot) {
            a->word[i] = a->word[others];
            break;
        }
    if (wanted >= others) return others;
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_CANDIDATE, 0, secret);
    for (size_t i = 0; i < wanted; i++) {
        const size_t j = i + (size_t)nvdp__stream_below(&stream, others - i);
        const int32_t drawn = a->word[j];
        a->word[j] = a->word[i];
        a->word[i] = drawn;
    }
    return wanted;
}

/* Computes the rank: 1, plus the number of likelier candidates, plus half the number of equally likely candidates. */
static void rank(struct asked *a, size_t secret, const float *weight) {
    const struct nvdp__secret *s = &a->secrets.at[secret];
    const int32_t slot = a->secrets.id[s->first + s->slot];
    const size_t others = draw_candidates(a, secret, slot);
    size_t above = 0, equal = 0;
    for (size_t i = 0; i < others; i++) {
        above += weight[a->word[i]] > weight[slot];
        equal += weight[a->word[i]] == weight[slot];
    }
    a->found[secret].rank = 1 + (double)above + (double)equal / 2;
    a->found[secret].exposure = log2((double)(others + 1)) - log2(a->found[secret].rank);
}

static nvdp_status answer(struct asked *a) {
    const struct nvdp__pretrain_model *model = &a->asks.model;
    const size_t n = a->asks.batch->texts, pieces = nvdp_tokenizer_size(a->asks.tokenizer);
    NVDP_TRY(nvdp__check_cancelled(a->ctx, "interrupted while the secrets were scored"));
    NVDP_TRY(nvdp__questions_ask(&a->asks));
    for (size_t i = 0; i < n; i++) {
        const struct question *q = &a->question[i];
        a->found[q->secret].score -= a->sign * model->nll[i];
        if (!q->slot || a->sign < 0) continue;
        a->found[q->secret].loss = model->nll[i];
        rank(a, q->secret, model->heads.logits + i * pieces);
    }
    a->seen += n;
    if (n > 0) nvdp__meter_update(&a->meter, a->seen, (double)a->seen, "word", NAN);
    nvdp__questions_clear(&a->asks);
    return NVDP_OK;
}

/* ---- questions ---- */

/* Adds the question: [CLS] the secret with word `which` masked [SEP]. */
static nvdp_status ask(struct asked *a, size_t secret, size_t which) {
    const struct nvdp__secret *s = &a->secrets.at[secret];
    const int32_t *id = a->secrets.id + s->first;
    a->question[a->asks.batch->texts] = (struct question){secret, which == s->slot};
    nvdp__question_begin(&a->asks);
    nvdp__question_put(&a->asks, which, id);
    nvdp__question_mask(&a->asks, id[which]);
    nvdp__question_put(&a->asks, s->length - which - 1, id + which + 1);
    nvdp__question_end(&a->asks);
    return a->asks.batch->texts < a->asks.together ? NVDP_OK : answer(a);
}

/* Asks for every word of a canary, and for S alone of another secret. */
static nvdp_status ask_all(struct asked *a) {
    size_t words = 0;
    for (size_t i = 0; i < a->secrets.count; i++)
        words += a->secrets.at[i].coin ? a->secrets.at[i].length : a->sign > 0;
    a->seen = 0;
    nvdp__meter_begin(&a->meter, a->ctx, "ask", "word", 0, words);
    for (size_t i = 0; i < a->secrets.count; i++) {
        const struct nvdp__secret *s = &a->secrets.at[i];
        for (size_t k = 0; k < s->length; k++)
            if (s->coin || (k == s->slot && a->sign > 0)) NVDP_TRY(ask(a, i, k));
    }
    NVDP_TRY(answer(a));
    nvdp__meter_end(&a->meter);
    return NVDP_OK;
}

/* ---- models ---- */

/* Reads the secrets, in the vocabulary of the attacked model, and describes them in the result. */
static nvdp_status read_secrets(struct asked *a, const char *path) {
    NVDP_TRY(nvdp__secrets_read(path, a->asks.tokenizer, &a->secrets));
    if (a->options->candidates > a->secrets.words)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "{candidates}: expected at most %zu, the number of whole words in the "
                          "vocabulary, found %zu",
                          a->secrets.words, a->options->candidates);
    NVDP_TRY(NVDP__ARRAYS(a->ctx, NULL, NVDP__ITEMS(a->found, a->secrets.count),
                          NVDP__ITEMS(a->word, a->secrets.words)));
    for (size_t i = 0; i < a->secrets.count; i++) {
        const struct nvdp__secret *s = &a->secrets.at[i];
        memcpy(a->found[i].form, s->form, sizeof s->form);
        a->found[i].window = s->window;
        a->found[i].coin = s->coin;
        a->found[i].occurrences = s->occurrences;
    }
    return NVDP_OK;
}

/* Asks the attacked model, whose secrets are in the file `secrets`, and then the reference. */
static nvdp_status ask_model(struct asked *a, const char *directory, const char *secrets) {
    size_t longest = 0;
    NVDP_TRY(nvdp__questions_open(a->ctx, directory, &a->asks));
    if (a->found == NULL) NVDP_TRY(read_secrets(a, secrets));
    for (size_t i = 0; i < a->secrets.count; i++)
        longest = nvdp__max(longest, a->secrets.at[i].length);
    NVDP_TRY(nvdp__questions_plan(&a->asks, longest + NVDP__QUESTION_ENDS));
    return ask_all(a);
}

static nvdp_status ask_reference(struct asked *a, const char *directory) {
    char digest[NVDP__DIGEST_HEX];
    memcpy(digest, a->asks.tokenizer->digest, sizeof digest);
    nvdp__questions_release(&a->asks);
    a->sign = -1;
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *tokenizer = NULL;
    NVDP_TRY(nvdp_tokenizer_load(a->ctx, directory, &tokenizer));
    if (memcmp(digest, tokenizer->digest, sizeof digest) != 0)
        return nvdp__fail(
            a->ctx, NVDP_ERR_INPUT,
            "%s: expected the same vocabulary as the attacked model has, found another one",
            directory);
    return ask_model(a, directory, NULL);
}

/* ---- results ---- */

/* Reads the accountant's guarantee at its delta, the object `dp` of config.json (nvdp__dp_statement). */
static nvdp_status read_account(struct asked *a, const char *directory,
                                struct nvdp__exposures *out) {
    nvdp__autoptr(json_decref) json_t *config = NULL;
    const json_t *dp;
    out->upper = INFINITY;
    NVDP_TRY(nvdp__json_read_optional(a->ctx, directory, "config.json", &config));
    dp = json_object_get(json_object_get(config, "nvdp_pretraining"), "dp");
    out->dp = json_is_object(dp);
    out->audit.delta = a->options->delta > 0 ? a->options->delta : USUAL_DELTA;
    if (!out->dp) return NVDP_OK;
    const struct nvdp__path path =
        nvdp__path_format("%s/config.json: nvdp_pretraining.dp", directory);
    const char *where = path.text;
    double delta;
    NVDP_TRY(nvdp__json_real(a->ctx, where, dp, "delta", NAN, 0, 1, &delta));
    NVDP_TRY(nvdp__json_real(a->ctx, where, json_object_get(dp, "pld"), "epsilon", INFINITY, 0,
                             INFINITY, &out->upper));
    NVDP_TRY(nvdp__json_bool(a->ctx, where, dp, "insecure_seed", false, &out->seeded));
    /* An epsilon at some delta holds at any larger delta, too. */
    if (a->options->delta == 0 && delta > 0) out->audit.delta = delta;
    if (!(delta <= out->audit.delta)) out->upper = INFINITY;
    return NVDP_OK;
}

static nvdp_status audit(const struct asked *a, struct nvdp__exposures *out) {
    struct nvdp__canary_audit made = {.struct_size = sizeof made};
    nvdp__autofree double *score = NULL;
    nvdp__autofree unsigned char *included = NULL;
    size_t n = 0;
    NVDP_TRY(NVDP__ARRAYS(a->ctx, NULL, NVDP__ITEMS(score, a->secrets.count),
                          NVDP__ITEMS(included, a->secrets.count)));
    for (size_t i = 0; i < a->secrets.count; i++) {
        if (!a->secrets.at[i].coin) continue;
        score[n] = a->found[i].score;
        included[n++] = a->secrets.at[i].occurrences > 0;
    }
    if (n == 0 && a->options->guess_in + a->options->guess_out > 0)
        return nvdp__fail(
            a->ctx, NVDP_ERR_ARGUMENT,
            "guess-in, guess-out: expected secrets with \"include\": \"coin\" in "
            "planted.json, found none; plant such canaries, or leave the options out");
    if (n == 0) return NVDP_OK;
    NVDP_TRY(nvdp__audit_canaries(a->ctx, n, score, included, a->options->guess_in,
                                  a->options->guess_out, out->audit.delta, a->options->confidence,
                                  &made));
    out->audit = made;
    return NVDP_OK;
}

/* ---- the attack ---- */

void nvdp__exposures_free(void *exposures) {
    struct nvdp__exposures *of = exposures;
    free(of->secret);
    free(of->group);
    *of = (struct nvdp__exposures){0};
}

static void release(struct asked *a) {
    nvdp__questions_release(&a->asks);
    nvdp__secrets_release(&a->secrets);
    free(a->found);
    free(a->word);
}

nvdp_status nvdp__exposure(struct nvdp_context *ctx, const struct nvdp_config *config,
                           struct nvdp__exposures *out) {
    struct nvdp__exposure_options options;
    nvdp__auto(release) struct asked a = {
        .ctx = ctx, .options = &options, .secrets = {.ctx = ctx}, .sign = 1};
    nvdp__auto(nvdp__exposures_free) struct nvdp__exposures made = {.struct_size = sizeof made};
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__exposure_schema, &options));
    /* A training directory has the model in a subfolder. */
    const struct nvdp__path model = nvdp__has(options.model, "model/config.json")
                                        ? nvdp__path(options.model, "model")
                                        : nvdp__path_format("%s", options.model);
    const struct nvdp__path planted = nvdp__path(model.text, "planted.json");
    NVDP_TRY(read_account(&a, model.text, &made));
    NVDP_TRY(ask_model(&a, model.text, options.secrets != NULL ? options.secrets : planted.text));
    if (options.reference != NULL) NVDP_TRY(ask_reference(&a, options.reference));
    made.whole_words = a.secrets.words;
    made.candidates = options.candidates > 0 ? options.candidates : a.secrets.words;
    NVDP_TRY(exposure_groups(ctx, a.secrets.count, a.found, log2((double)made.candidates),
                             &made.group, &made.groups));
    NVDP_TRY(audit(&a, &made));
    made.secrets = a.secrets.count;
    NVDP__HAND_OVER(&made.secret, a.found);
    NVDP__GIVE(out, &made);
    made.secret = NULL;
    made.group = NULL;
    return NVDP_OK;
}

/* ---- the row in the table of attacks, and the result table ---- */

/* --- the result table --- */

static const char *place(int window) {
    return window ? "window" : "text";
}

static bool has_canaries(const void *result) {
    return ((const struct nvdp__exposures *)result)->audit.canaries > 0;
}

static void print_candidates(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp__exposures *found = result;
    nvdp_result_line(to, "candidates", "%zu of %zu whole words, %.2f bits", found->candidates,
                     found->whole_words, log2((double)found->candidates));
}

static void print_shown(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp__canary_audit *a = result;
    nvdp_result_line(to, "epsilon", ">= %.3f at delta %g with confidence %g %%",
                     nvdp__lower_bound(a->epsilon, 3), a->delta, 100 * a->confidence);
    nvdp_result_line(to, "canaries", "%" PRIu64 ", of which %" PRIu64 " were planted; AUC %.3f",
                     a->canaries, a->included, a->auc);
}

/* Returns the lower bound of epsilon for a mechanism whose curve is Gaussian. */
static double gaussian_epsilon(const void *result) {
    const struct nvdp__canary_audit *a = result;
    return a->delta > 0 && a->delta < 1 ? nvdp_gdp_epsilon(a->mu, a->delta) : NAN;
}

static void print_curve(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp__canary_audit *a = result;
    nvdp_result_line(to, "by the curve",
                     "epsilon >= %.3f; mu >= %.3f, so if the curve is Gaussian, epsilon >= %.3f",
                     nvdp__lower_bound(a->curve_epsilon, 3), nvdp__lower_bound(a->mu, 3),
                     nvdp__lower_bound(gaussian_epsilon(a), 3));
}

static void print_accountant(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp__exposures *found = result;
    if (!has_canaries(found)) return;
    if (!isfinite(found->upper))
        nvdp_result_line(to, "accountant", "the accountant gives no guarantee");
    else
        nvdp_result_line(to, "accountant", "<= %s at delta %s, one training example (zero-out)%s",
                         nvdp__bound(found->upper).text, nvdp__bound(found->audit.delta).text,
                         found->seeded ? ", for everyone who does not know the seed of the noise"
                                       : "");
}

/* clang-format off */
#define ROW(type, member, unit, better, ...) \
    NVDP_RESULT_ROW(struct type, member, unit, NVDP_SCOPE_MODEL, better, __VA_ARGS__)
#define KIND_ROWS(type) \
    ROW(type, form, NULL, 0, "format of the secret", .label = "form"), \
    {"place", NVDP_RESULT_ENUM, .help = "in a training example of its own (window), or within the text", \
     NVDP_RESULT_AT(struct type, window), .word = place, .label = "place"}, \
    {"canary", NVDP_RESULT_FLAG, .help = "a coin decided whether it was planted", \
     NVDP_RESULT_AT(struct type, coin), .label = "canary"}, \
    ROW(type, occurrences, NULL, 0, "number of times it was planted", .label = "occurrences")
#define AT(member) NVDP_RESULT_AT(struct nvdp__exposures, member)

static const struct nvdp_result_table secret_table = {
    .name = "secret", .help = "a secret", .size = sizeof(struct nvdp__secret_exposure),
    .rows = (const struct nvdp_result_row[]){
        KIND_ROWS(nvdp__secret_exposure),
        ROW(nvdp__secret_exposure, loss, "nats", 1, "-log p of the secret"),
        ROW(nvdp__secret_exposure, rank, NULL, 1, "its rank among the candidates"),
        ROW(nvdp__secret_exposure, exposure, "bits", -1, "log2 candidates - log2 rank"),
        ROW(nvdp__secret_exposure, score, "nats", 0, "sum of log p of the words of a canary",
            NVDP_RESULT_IF(struct nvdp__secret_exposure, coin), .absent = NVDP_ABSENT_OMITTED),
        {0}}};

static const struct nvdp_result_table group_table = {
    .name = "group", .help = "secrets of one kind", .size = sizeof(struct nvdp__exposure_group),
    .rows = (const struct nvdp_result_row[]){
        KIND_ROWS(nvdp__exposure_group),
        ROW(nvdp__exposure_group, secrets, "secrets", 0, "number of secrets", .label = "secrets"),
        ROW(nvdp__exposure_group, loss, "nats", 1, "mean of -log p", .label = "loss", .decimals = 3),
        ROW(nvdp__exposure_group, exposure, "bits", -1, "mean exposure", .label = "exposure", .decimals = 2),
        {"interval", NVDP_RESULT_INTERVAL, "bits", .help = "95 % interval of exposure", .label = "95 %", .decimals = 2,
         NVDP_RESULT_AT(struct nvdp__exposure_group, interval.low), .absent = NVDP_ABSENT_EACH,
         .high = offsetof(struct nvdp__exposure_group, interval.high)},
        ROW(nvdp__exposure_group, first, NULL, -1, "share of rank 1", .label = "first %", .scale = 100, .decimals = 1),
        {0}}};

static const struct nvdp_result_table accountant_table = {
    .name = "accountant", .help = "the guarantee of private training",
    .rows = (const struct nvdp_result_row[]){
        {"epsilon", NVDP_RESULT_REAL, "nats", .help = "epsilon at delta", AT(upper)},
        {"delta", NVDP_RESULT_REAL, .help = "delta of epsilon", AT(audit.delta)},
        {"insecure_seed", NVDP_RESULT_FLAG, .help = "the noise came from a seed", AT(seeded)},
        {0}}};

static const struct nvdp_result_table guesses_table = {
    .name = "guesses", .help = "a way to guess", .size = sizeof(struct nvdp__audit_guesses),
    .rows = (const struct nvdp_result_row[]){
        ROW(nvdp__audit_guesses, epsilon, "nats", -1, "lower bound", .label = "epsilon >=", .decimals = 3, .bound = -1),
        ROW(nvdp__audit_guesses, in, "canaries", 0, "guesses that it was planted", .label = "guessed in"),
        ROW(nvdp__audit_guesses, out, "canaries", 0, "guesses that it was not", .label = "guessed out"),
        ROW(nvdp__audit_guesses, correct, "canaries", -1, "right guesses", .label = "right"),
        {0}}};

const struct nvdp_result_table nvdp__result_canary_audit = {
    .name = "audit", .help = "audit of the canaries",
    .rows = (const struct nvdp_result_row[]){
        ROW(nvdp__canary_audit, canaries, "canaries", 0, "number of canaries"),
        ROW(nvdp__canary_audit, included, "canaries", 0, "those that were planted"),
        ROW(nvdp__canary_audit, delta, NULL, 0, "delta of all epsilons"),
        ROW(nvdp__canary_audit, confidence, NULL, 0, "simultaneous confidence of the guesses"),
        ROW(nvdp__canary_audit, epsilon, "nats", -1, "largest lower bound", .print = print_shown),
        ROW(nvdp__canary_audit, curve_epsilon, "nats", -1, "lower bound from the whole curve", .print = print_curve),
        ROW(nvdp__canary_audit, mu, NULL, -1, "lower bound of mu of Gaussian differential privacy"),
        {"gaussian_epsilon", NVDP_RESULT_REAL, .unit = "nats", .scope = NVDP_SCOPE_MODEL, .better = -1,
         .help = "lower bound of epsilon if the curve is Gaussian", .real = gaussian_epsilon},
        ROW(nvdp__canary_audit, auc, NULL, -1, "area under the ROC curve of the scores"),
        {"guesses", NVDP_RESULT_LIST, .help = "ways to guess", .label = "", .of = &guesses_table,
         NVDP_RESULT_AT(struct nvdp__canary_audit, way), NVDP_RESULT_LENGTH(struct nvdp__canary_audit, ways)},
        {0}}};

const struct nvdp_result_table nvdp__result_exposure = {
    .name = "exposure", .help = "how well a model predicts secrets that were planted", .sized = true,
    .rows = (const struct nvdp_result_row[]){
        ROW(nvdp__exposures, candidates, "words", 0, "candidates per ranking", .print = print_candidates),
        ROW(nvdp__exposures, whole_words, "words", 0, "whole words in the vocabulary"),
        {"accountant", NVDP_RESULT_TABLE, .help = "guarantee", NVDP_RESULT_IF(struct nvdp__exposures, dp), .of = &accountant_table},
        {"groups", NVDP_RESULT_LIST, .help = "secrets of one kind", AT(group), .indirect = true, .of = &group_table, .label = "",
         NVDP_RESULT_LENGTH(struct nvdp__exposures, groups)},
        ROW(nvdp__exposures, upper, "nats", -1, "epsilon of the accountant", .print = print_accountant),
        {"audit", NVDP_RESULT_TABLE, .help = "audit of the canaries", AT(audit), .present = has_canaries, .of = &nvdp__result_canary_audit},
        {"secrets", NVDP_RESULT_LIST, .help = "the secrets", AT(secret), .indirect = true, .of = &secret_table,
         NVDP_RESULT_LENGTH(struct nvdp__exposures, secrets)},
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

/* Reports an epsilon above the accountant's epsilon: then the attack, the accountant or the training is wrong. */
static void write_verdict(const struct nvdp__attacked *attacked, const void *of,
                          struct nvdp__writer *say) {
    const struct nvdp__exposures *found = of;
    const struct nvdp__canary_audit *a = &found->audit;
    const double shown = fmax(a->epsilon, a->curve_epsilon);
    if (a->canaries == 0 || shown <= found->upper) return;
    nvdp__append(say,
                 "%s: VIOLATION: the canaries show epsilon >= %s at delta %g with confidence %g "
                 "%%, but the accountant guarantees at most %s",
                 attacked->name, nvdp__bound_below(shown).text, a->delta, 100 * a->confidence,
                 nvdp__bound(found->upper).text);
}

static nvdp_status run(const struct nvdp__attacked *attacked, void *found) {
    return nvdp__exposure(attacked->ctx, attacked->config, found);
}

static const char *const exposure_options[] = {
    NVDP__ATTACK_OPTIONS, "secrets", "candidates", "reference", "guess-in",
    "guess-out",          "delta",   "confidence", NULL};

const struct nvdp__attack nvdp__attack_row_exposure = {.target = NVDP_ATTACK_MODEL,
                                                       .options = exposure_options,
                                                       .size = sizeof(struct nvdp__exposures),
                                                       .run = run,
                                                       .table = &nvdp__result_exposure,
                                                       .add = add_model,
                                                       .verdict = write_verdict,
                                                       .release = nvdp__exposures_free};
