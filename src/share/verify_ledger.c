/* Compares shared files with the owner's ledger (verify.h). */
#include "share/verify.h"

#include "base/sentence.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static nvdp_status check_spent(struct nvdp__verify *v, const struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_release *release) {
    struct nvdp__spent worst;
    struct nvdp__budget budget;
    char samples[32] = "none", epsilon[32] = "none", person[32] = "none", bound[NVDP__BOUND_TEXT],
         claim[NVDP__CLAIM_TEXT];
    NVDP_TRY(nvdp__ledger_worst(ledger, release, &worst, &budget));
    if (budget.samples > 0) nvdp__snprintf(samples, sizeof samples, "%" PRIu64, budget.samples);
    if (budget.epsilon > 0) nvdp__snprintf(epsilon, sizeof epsilon, "%g", budget.epsilon);
    nvdp__verify_check(v, nvdp__verdict(nvdp__within_budget(&budget, &worst)),
                       "no text of the file has exceeded the budget, all releases together",
                       "at most %" PRIu64
                       " samples (budget: %s), epsilon %s (budget: %s) at delta %g: %s",
                       worst.samples, samples, nvdp__bound(bound, worst.epsilon), epsilon,
                       NVDP__LEDGER_DELTA, nvdp__spent_claim(worst.proven, claim));
    nvdp__verify_weigh(v, worst.epsilon);
    v->spent = worst;
    if (worst.person_budget > 0) nvdp__snprintf(person, sizeof person, "%g", worst.person_budget);
    if (worst.persons > 0) {
        nvdp__verify_check(
            v,
            nvdp__verdict(worst.person_budget == 0 || worst.person_epsilon <= worst.person_budget),
            "no person of the file has exceeded the budget, all texts and releases together",
            "up to %" PRIu64 " texts and %" PRIu64
            " samples of a person, epsilon %s (budget: %s) at delta %g: %s",
            worst.person_texts, worst.person_samples, nvdp__bound(bound, worst.person_epsilon),
            person, NVDP__LEDGER_DELTA, nvdp__spent_claim(worst.person_proven, claim));
        nvdp__verify_weigh(v, worst.person_epsilon);
    }
    if (worst.receivers > 0) {
        nvdp__verify_check(v, NVDP_VERDICT_YES,
                           "the ledger names receivers, whose files count together above",
                           "a text has up to %" PRIu64 " samples at a single one of %" PRIu64
                           " receivers, epsilon %s at delta %g",
                           worst.receiver_samples, worst.receivers,
                           nvdp__bound(bound, worst.receiver_epsilon), NVDP__LEDGER_DELTA);
        nvdp__verify_weigh(v, worst.receiver_epsilon);
    }
    return NVDP_OK;
}

static void check_words(struct nvdp__verify *v) {
    const struct nvdp__spent *worst = &v->spent;
    const double word = nvdp_gdp_epsilon(worst->word_mu, NVDP__LEDGER_DELTA);
    char bound[NVDP__BOUND_TEXT];
    if (word < worst->epsilon && nvdp__spent_is_useful(worst, true))
        nvdp__verify_check(v, NVDP_VERDICT_YES,
                           "the ledger proves privacy per word, all releases together",
                           "epsilon %s at delta %g, for one word in place of another",
                           nvdp__bound(bound, word), NVDP__LEDGER_DELTA);
}

/* Begins the guarantee with the ledger's sums if they are above what the file states of one row: the ledger also counts
 * other rows and files. */
static void begin_with_ledger(struct nvdp__verify *v) {
    const double room = 1 + 1e-6;
    const struct nvdp__spent *now = &v->spent;
    struct nvdp_verification *to = &v->found;
    const double word = nvdp__spent_word_epsilon(now);
    char old[NVDP_GUARANTEE_SIZE], epsilon[NVDP__SPENT_TEXT];
    to->spent_samples = now->samples;
    to->spent_epsilon = now->epsilon;
    nvdp__spent_persons(now, &to->person);
    if (now->epsilon <= to->epsilon * room && word <= fmin(to->word_epsilon, to->epsilon) * room)
        return;
    nvdp__snprintf(old, sizeof old, "%s", to->guarantee);
    nvdp__snprintf(to->guarantee, sizeof to->guarantee,
                   "The ledger counts up to %" PRIu64 " samples of a text, which together "
                   "have %s. The file states of one row: %s",
                   now->samples, nvdp__spent_text(now->epsilon, word, epsilon), old);
    to->useful = to->useful && nvdp__spent_is_useful(now, false);
}

/* Adds the checks and takes the sums. */
static void append_checks(struct nvdp__verify *to, const struct nvdp__verify *from) {
    to->spent = from->spent;
    for (size_t i = 0; i < from->found.checks; i++) {
        nvdp__verify_check(to, from->found.check[i].verdict, from->found.check[i].what, "%s",
                           from->found.check[i].found);
        nvdp__verify_weigh(to, from->number[i]);
    }
}

/* Adds the checks and the sums of one release. */
static void merge_spent(struct nvdp__verify *all, const char *path, const struct nvdp__verify *of) {
    struct nvdp__spent *to = &all->spent;
    const struct nvdp__spent *from = &of->spent;
    nvdp__verify_merge(all, nvdp__shard_name(path), of);
    to->samples = nvdp__max(to->samples, from->samples);
    to->epsilon = fmax(to->epsilon, from->epsilon);
    to->mu = fmax(to->mu, from->mu);
    to->word_mu = fmax(to->word_mu, from->word_mu);
    to->persons = nvdp__max(to->persons, from->persons);
    to->person_texts = nvdp__max(to->person_texts, from->person_texts);
    to->person_samples = nvdp__max(to->person_samples, from->person_samples);
    to->person_epsilon = fmax(to->person_epsilon, from->person_epsilon);
    to->person_mu = fmax(to->person_mu, from->person_mu);
}

/* Checks the sums of the release, and those of similar ones of the same id if the file's name does not tell them apart. */
static nvdp_status check_similar(struct nvdp__verify *v, const struct nvdp__ledger *ledger,
                                 const struct nvdp__ledger_release *release, const char *path) {
    const bool named = strcmp(nvdp__shard_name(release->file), nvdp__shard_name(path)) == 0;
    if (named || nvdp__ledger_like(ledger, release) == NULL) return check_spent(v, ledger, release);
    for (; release != NULL; release = nvdp__ledger_like(ledger, release)) {
        struct nvdp__verify one = {.ctx = v->ctx, .found = nvdp__nothing_found()};
        NVDP_TRY(check_spent(&one, ledger, release));
        merge_spent(v, path, &one);
    }
    return NVDP_OK;
}

/* Checks the release of file i of a folder, or of a single file (i = 0).  Sets texts[i]; the files before set theirs. */
static nvdp_status check_listed(struct nvdp__verify *v, const struct nvdp__ledger *ledger,
                                const char *path, size_t i, int64_t *texts) {
    static const char what[] = "the ledger lists the file's release";
    nvdp_status status = NVDP_OK;
    struct nvdp__verify sums = {.ctx = v->ctx, .found = nvdp__nothing_found()};
    char id[NVDP__VERIFY_NAME];
    int64_t samples = 0;
    size_t before = 0;
    NVDP_TRY_OR_CLEAN(nvdp__release_read(v->ctx, nvdp__formats, path, &v->release));
    nvdp__verify_text(v, "model_id", sizeof id, id);
    nvdp__verify_read(v, nvdp__release_whole(&v->release, "texts", &texts[i]));
    nvdp__verify_read(v, nvdp__release_whole(&v->release, "releases", &samples));
    const struct nvdp__ledger_release *release =
        nvdp__ledger_find(ledger, id, path, (uint64_t)texts[i], (uint64_t)samples);
    if (release == NULL) {
        nvdp__verify_check(v, NVDP_VERDICT_NO, what, "none of its %zu releases has model_id '%s'",
                           nvdp__ledger_count(ledger), id);
        goto cleanup;
    }
    NVDP_TRY_OR_CLEAN(check_similar(&sums, ledger, release, path));
    for (size_t k = 0; k < i; k++)
        before += texts[k] == texts[i];
    const size_t alike = nvdp__ledger_alike(ledger, release);
    if ((uint64_t)texts[i] != release->texts || (uint64_t)samples != release->samples)
        nvdp__verify_check(v, NVDP_VERDICT_NO, what,
                           "the ledger lists %" PRIu64 " texts with %" PRIu64
                           " samples each; the file states %" PRId64 " texts with %" PRId64
                           " samples each",
                           release->texts, release->samples, texts[i], samples);
    else if (before >= alike)
        nvdp__verify_check(v, NVDP_VERDICT_NO, what,
                           "the folder has %zu files of %" PRId64
                           " texts, and the ledger lists %zu",
                           before + 1, texts[i], alike);
    else if (nvdp__verify_text_is(v, "ledger", "none"))
        nvdp__verify_check(v, NVDP_VERDICT_NO, what, "the file states that no ledger counts it");
    else
        nvdp__verify_check(v, NVDP_VERDICT_YES, what,
                           "%" PRIu64 " texts with %" PRIu64 " sample%s each", release->texts,
                           release->samples, release->samples == 1 ? "" : "s");
    append_checks(v, &sums);
    NVDP_TRY_OR_CLEAN(v->status);
cleanup:
    nvdp__release_close(&v->release);
    return status;
}

nvdp_status nvdp_verify_ledger(struct nvdp_context *ctx, const char *path, const char *ledger_path,
                               const char *key, struct nvdp_verification *out) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    nvdp__auto(nvdp__shards_close) struct nvdp__shards shards = {0};
    struct nvdp__verify v = {.ctx = ctx};
    nvdp__autofree char *key_path = NULL;
    nvdp__autofree int64_t *texts = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (path == NULL || ledger_path == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "ledger: expected a file and its ledger, found only one or neither");
    if (key == NULL) {
        key_path = nvdp__format(ctx, "%s.key", ledger_path);
        NVDP_TRY(NVDP__MADE(key_path));
        key = key_path;
    }
    memcpy(&v.found, out, out->struct_size < sizeof v.found ? out->struct_size : sizeof v.found);
    NVDP_TRY(nvdp__shards_open(ctx, path, &shards));
    NVDP_TRY(nvdp__ledger_open(ctx, ledger_path, key, NULL, &ledger));
    NVDP_TRY(NVDP__NEW(ctx, texts, shards.count));
    if (!nvdp__is_directory(path)) NVDP_TRY(check_listed(&v, ledger, path, 0, texts));
    for (size_t i = 0; i < shards.count && nvdp__is_directory(path); i++) {
        struct nvdp__verify one = {.ctx = ctx, .found = nvdp__nothing_found()};
        NVDP_TRY(check_listed(&one, ledger, shards.path[i], i, texts));
        merge_spent(&v, shards.path[i], &one);
    }
    check_words(&v);
    begin_with_ledger(&v);
    NVDP__GIVE(out, &v.found);
    return NVDP_OK;
}
