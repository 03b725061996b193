/* Measures the exposure of planted secrets in a masked language model (Carlini et al. 2019; Hoory et al. 2021,
 * section 5.2), and audits canaries of one run (Steinke, Nasr & Jagielski 2023).  The order: one answer, questions,
 * models, results, the attack. */
#include "attack/options.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "pretrain/evaluate.h"

#include "base/own.h"
#include "rdp/pairs.h"
#include <math.h>
#include <stdlib.h>

enum { TOGETHER = 64, SPECIALS = 2 };
static const double USUAL_DELTA = 1e-5;

/* ---- secrets of one kind together ---- */

static const double INTERVAL = 0.95;

static int by_group(const void *x, const void *y) {
    const struct nvdp_secret_exposure *a = *(const struct nvdp_secret_exposure *const *)x;
    const struct nvdp_secret_exposure *b = *(const struct nvdp_secret_exposure *const *)y;
    int order = (strlen(a->form) > strlen(b->form)) - (strlen(a->form) < strlen(b->form));
    if (order == 0) order = strcmp(a->form, b->form);
    if (order == 0) order = a->coin - b->coin;
    if (order == 0) order = a->window - b->window;
    return order != 0 ? order
                      : (a->occurrences > b->occurrences) - (a->occurrences < b->occurrences);
}

/* Summarizes n secrets, whose exposures are between 0 and `bits`. */
static struct nvdp_exposure_group
group_of(size_t n, const struct nvdp_secret_exposure *const *member, double bits) {
    struct nvdp_exposure_group made = {.window = member[0]->window,
                                       .coin = member[0]->coin,
                                       .occurrences = member[0]->occurrences,
                                       .secrets = n};
    double square = 0;
    size_t best = 0;
    memcpy(made.form, member[0]->form, sizeof made.form);
    for (size_t i = 0; i < n; i++) {
        made.loss += member[i]->loss / (double)n;
        made.exposure += member[i]->exposure / (double)n;
        best += member[i]->rank == 1;
    }
    made.first = (double)best / (double)n;
    for (size_t i = 0; i < n; i++)
        square += pow(member[i]->exposure - made.exposure, 2);
    made.interval =
        nvdp__interval_student(INTERVAL, n, made.exposure, sqrt(square / fmax((double)n - 1, 1)));
    if (best == n &&
        n > 1) /* no spread: take the limit of Clopper & Pearson 1934 for the share that ranks first */
        made.interval.low = bits * nvdp__interval_share(INTERVAL, n, n).low;
    if (made.interval.low < 0) made.interval.low = 0;
    if (made.interval.high > bits) made.interval.high = bits;
    return made;
}

static nvdp_status exposure_groups(struct nvdp_context *ctx, size_t n,
                                   const struct nvdp_secret_exposure *found, double bits,
                                   struct nvdp_exposure_group **out, size_t *groups) {
    nvdp__autofree const struct nvdp_secret_exposure **order = NULL;
    nvdp__autofree struct nvdp_exposure_group *made = NULL;
    size_t count = 0;
    NVDP_TRY(NVDP__NEW(ctx, order, n));
    NVDP_TRY(NVDP__NEW(ctx, made, n));
    for (size_t i = 0; i < n; i++)
        order[i] = &found[i];
    qsort((void *)order, n, sizeof *order, by_group);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && by_group(&order[i], &order[end]) == 0;)
            end++;
        made[count++] = group_of(end - i, order + i, bits);
    }
    *out = made;
    *groups = count;
    made = NULL;
    return NVDP_OK;
}

/* ---- what the model says ---- */

/* A word of a secret that the model is asked for. */
struct question {
    size_t secret;
    bool slot; /* the word is S */
};

struct asked {
    struct nvdp_context *ctx;
    const struct nvdp__exposure_options *options;
    struct nvdp__secrets secrets;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__pretrain_model model;
    size_t pieces, together;
    struct nvdp__batch *batch;
    struct nvdp__masked masked;
    struct question question[TOGETHER];
    int32_t *word; /* [words] copy from which candidates are drawn */
    struct nvdp_secret_exposure *found;
    double sign; /* factor of log p in the scores: -1 for the reference */
    struct nvdp__meter meter;
    size_t seen;
};

/* ---- one answer ---- */

/* Moves the candidates to the front of a->word: all words but the secret, or some drawn at random.  Returns their
 * number. */
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

/* Computes the rank: 1, plus the number of likelier candidates, plus half the number of equally likely ones. */
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
    const struct nvdp__pass pass = {0};
    struct nvdp__pretrain_losses losses;
    struct nvdp__batch *batch = a->batch;
    NVDP_TRY(nvdp__check_cancelled(a->ctx, "interrupted while the secrets were scored"));
    if (batch->texts == 0) return NVDP_OK;
    NVDP_TRY(nvdp__pretrain_model_step(&a->model, batch, &a->masked, &pass, &losses));
    for (size_t i = 0; i < batch->texts; i++) {
        const struct question *q = &a->question[i];
        a->found[q->secret].score -= a->sign * a->model.nll[i];
        if (!q->slot || a->sign < 0) continue;
        a->found[q->secret].loss = a->model.nll[i];
        rank(a, q->secret, a->model.heads.logits + i * a->pieces);
    }
    a->seen += batch->texts;
    nvdp__meter_update(&a->meter, a->seen, (double)a->seen, "word", NAN);
    a->masked.count = 0;
    nvdp__batch_clear(batch);
    return NVDP_OK;
}

/* ---- questions ---- */

/* Adds the question: [CLS] the secret with word `which` masked [SEP]. */
static nvdp_status ask(struct asked *a, size_t secret, size_t which) {
    const struct nvdp__secret *s = &a->secrets.at[secret];
    const int32_t *id = a->secrets.id + s->first;
    nvdp__batch_put(a->batch, nvdp_tokenizer_special(a->tokenizer, NVDP_TOKEN_CLS));
    for (size_t i = 0; i < s->length; i++) {
        if (i == which) {
            a->question[a->batch->texts] = (struct question){secret, which == s->slot};
            a->masked.row[a->masked.count] = (int32_t)a->batch->tokens;
            a->masked.label[a->masked.count++] = id[i];
        }
        nvdp__batch_put(a->batch,
                        i != which ? id[i] : nvdp_tokenizer_special(a->tokenizer, NVDP_TOKEN_MASK));
    }
    nvdp__batch_put(a->batch, nvdp_tokenizer_special(a->tokenizer, NVDP_TOKEN_SEP));
    nvdp__batch_end(a->batch, secret);
    return a->batch->texts < a->together ? NVDP_OK : answer(a);
}

/* Asks for every word of canaries, and for S alone of other secrets. */
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

static void close_model(struct asked *a) {
    if (a->model.ctx != NULL) nvdp__pretrain_model_release(&a->model);
    nvdp__batch_free(a->batch);
    nvdp__masked_release(&a->masked);
    nvdp_tokenizer_free(a->tokenizer);
    a->batch = NULL;
    a->tokenizer = NULL;
}

/* Allocates memory for the longest secret. */
static nvdp_status plan(struct asked *a, const struct nvdp_bert_config *bert) {
    size_t longest = 0;
    for (size_t i = 0; i < a->secrets.count; i++)
        if (a->secrets.at[i].length > longest) longest = a->secrets.at[i].length;
    longest += SPECIALS;
    NVDP_TRY(nvdp__mlm_check_length(a->ctx, bert, longest));
    NVDP_TRY(nvdp__batch_create(a->ctx, TOGETHER, longest, &a->batch));
    NVDP_TRY(nvdp__masked_create(a->ctx, TOGETHER, &a->masked));
    NVDP_TRY(nvdp__pretrain_model_plan(&a->model, TOGETHER, longest, TOGETHER, NULL));
    a->together = nvdp__min(a->model.heads.block, TOGETHER);
    nvdp__batch_clear(a->batch);
    return NVDP_OK;
}

static nvdp_status ask_model(struct asked *a, const char *directory, const char *secrets) {
    struct nvdp_bert_config bert;
    NVDP_TRY(nvdp__mlm_open(a->ctx, directory, false, &bert, &a->tokenizer, &a->model));
    a->pieces = nvdp_tokenizer_size(a->tokenizer);
    if (a->found == NULL) {
        NVDP_TRY(nvdp__secrets_read(secrets, a->tokenizer, &a->secrets));
        if (a->options->candidates > a->secrets.words)
            return nvdp__fail(
                a->ctx, NVDP_ERR_ARGUMENT,
                "{candidates}: expected at most %zu, the number of whole words in the "
                "vocabulary, found %zu",
                a->secrets.words, a->options->candidates);
        NVDP_TRY(NVDP__NEW(a->ctx, a->found, a->secrets.count));
        NVDP_TRY(NVDP__NEW(a->ctx, a->word, a->secrets.words));
    }
    NVDP_TRY(plan(a, &bert));
    return ask_all(a);
}

static nvdp_status ask_reference(struct asked *a, const char *directory) {
    char digest[NVDP__DIGEST_HEX];
    memcpy(digest, a->tokenizer->digest, sizeof digest);
    close_model(a);
    a->sign = -1;
    struct nvdp_tokenizer *tokenizer = NULL;
    NVDP_TRY(nvdp_tokenizer_load(a->ctx, directory, &tokenizer));
    const bool same = memcmp(digest, tokenizer->digest, sizeof digest) == 0;
    nvdp_tokenizer_free(tokenizer);
    if (!same)
        return nvdp__fail(
            a->ctx, NVDP_ERR_INPUT,
            "%s: expected the same vocabulary as the attacked model has, found another one",
            directory);
    return ask_model(a, directory, NULL);
}

/* ---- results ---- */

static void describe(struct asked *a) {
    for (size_t i = 0; i < a->secrets.count; i++) {
        const struct nvdp__secret *s = &a->secrets.at[i];
        struct nvdp_secret_exposure *to = &a->found[i];
        memcpy(to->form, s->form, sizeof s->form);
        to->window = s->window;
        to->coin = s->coin;
        to->occurrences = s->occurrences;
    }
}

/* Reads the accountant's guarantee at its delta, the object `dp` of config.json (nvdp__dp_statement). */
static nvdp_status read_account(struct asked *a, const char *directory,
                                struct nvdp_exposures *out) {
    nvdp__autoptr(json_decref) json_t *config = NULL;
    const json_t *dp;
    nvdp__autofree char *where = NULL;
    out->upper = INFINITY;
    NVDP_TRY(nvdp__json_read_optional(a->ctx, directory, "config.json", &config));
    dp = json_object_get(json_object_get(config, "nvdp_pretraining"), "dp");
    out->dp = json_is_object(dp);
    out->audit.delta = a->options->delta > 0 ? a->options->delta : USUAL_DELTA;
    if (!out->dp) return NVDP_OK;
    where = nvdp__format(a->ctx, "%s/config.json: nvdp_pretraining.dp", directory);
    NVDP_TRY(NVDP__MADE(where));
    double delta;
    NVDP_TRY(nvdp__json_real(a->ctx, where, dp, "delta", NAN, 0, 1, &delta));
    NVDP_TRY(nvdp__json_real(a->ctx, where, json_object_get(dp, "pld"), "epsilon", INFINITY, 0,
                             INFINITY, &out->upper));
    NVDP_TRY(nvdp__json_bool(a->ctx, where, dp, "insecure_seed", false, &out->seeded));
    /* An epsilon at some delta also holds at any larger delta. */
    if (a->options->delta == 0 && delta > 0) out->audit.delta = delta;
    if (!(delta <= out->audit.delta)) out->upper = INFINITY;
    return NVDP_OK;
}

static nvdp_status audit(const struct asked *a, struct nvdp_exposures *out) {
    struct nvdp_canary_audit made = {.struct_size = sizeof made};
    nvdp__autofree double *score = NULL;
    nvdp__autofree unsigned char *included = NULL;
    size_t n = 0;
    NVDP_TRY(NVDP__NEW(a->ctx, score, a->secrets.count));
    NVDP_TRY(NVDP__NEW(a->ctx, included, a->secrets.count));
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
    NVDP_TRY(nvdp_audit_canaries(a->ctx, n, score, included, a->options->guess_in,
                                 a->options->guess_out, out->audit.delta, a->options->confidence,
                                 &made));
    out->audit = made;
    return NVDP_OK;
}

/* ---- the attack ---- */

void nvdp_exposures_free(struct nvdp_exposures *exposures) {
    free(exposures->secret);
    free(exposures->group);
    *exposures = (struct nvdp_exposures){0};
}

/* Returns the path of the model.  A training directory has it in a folder of its own. */
static char *model_of(struct nvdp_context *ctx, const char *directory) {
    char *inner = nvdp__join(ctx, directory, "model/config.json");
    char *path = inner == NULL         ? NULL
                 : nvdp__exists(inner) ? nvdp__join(ctx, directory, "model")
                                       : nvdp__strdup(ctx, directory);
    free(inner);
    return path;
}

nvdp_status nvdp_exposure(struct nvdp_context *ctx, const struct nvdp_config *config,
                          struct nvdp_exposures *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__exposure_options options;
    struct asked a = {.ctx = ctx, .options = &options, .secrets = {.ctx = ctx}, .sign = 1};
    struct nvdp_exposures made = {.struct_size = sizeof made};
    char *model = NULL, *secrets = NULL;
    NVDP_TRY_OR_CLEAN(nvdp__can_give(ctx, out));
    NVDP_TRY_OR_CLEAN(nvdp__config_open(ctx, config, &nvdp__exposure_schema, &options));
    model = model_of(ctx, options.model);
    NVDP_TRY_OR_CLEAN(NVDP__MADE(model));
    secrets = options.secrets != NULL ? nvdp__strdup(ctx, options.secrets)
                                      : nvdp__join(ctx, model, "planted.json");
    NVDP_TRY_OR_CLEAN(NVDP__MADE(secrets));
    NVDP_TRY_OR_CLEAN(read_account(&a, model, &made));
    NVDP_TRY_OR_CLEAN(ask_model(&a, model, secrets));
    if (options.reference != NULL) NVDP_TRY_OR_CLEAN(ask_reference(&a, options.reference));
    describe(&a);
    made.whole_words = a.secrets.words;
    made.candidates = options.candidates > 0 ? options.candidates : a.secrets.words;
    NVDP_TRY_OR_CLEAN(exposure_groups(ctx, a.secrets.count, a.found, log2((double)made.candidates),
                                      &made.group, &made.groups));
    NVDP_TRY_OR_CLEAN(audit(&a, &made));
    made.secrets = a.secrets.count;
    made.secret = a.found;
    a.found = NULL;
    NVDP__GIVE(out, &made);
    made.secret = NULL;
    made.group = NULL;
cleanup:
    close_model(&a);
    nvdp__secrets_release(&a.secrets);
    nvdp_exposures_free(&made);
    free(a.found);
    free(a.word);
    free(model);
    free(secrets);
    return status;
}
