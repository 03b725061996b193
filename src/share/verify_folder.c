/* Verifies the files of a folder together (verify.h). */
#include "base/array.h"
#include "base/sentence.h"
#include "share/verify.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 61 }; /* size of a shown file name */

/* Returns the check of this name, or the end of the checks. */
static size_t find_check(const struct nvdp_verification *found, const char *what) {
    size_t k = 0;
    while (k < found->checks && strcmp(found->check[k].what, what) != 0)
        k++;
    return k;
}

static bool passes(const struct nvdp_verification *found, const char *what) {
    const size_t k = find_check(found, what);
    return k < found->checks && found->check[k].verdict == NVDP_VERDICT_YES;
}

/* Adds the checks of the file `name`.  If several files have the same check, a failed check counts, otherwise an open
 * check, otherwise the check with the largest number, otherwise the first check. */
static void merge(struct nvdp__verify *all, const char *name, const struct nvdp__verify *of) {
    struct nvdp_verification *to = &all->found;
    to->holds = to->holds && of->found.holds;
    for (size_t i = 0; i < of->found.checks; i++) {
        static const int rank[] = {
            [NVDP_VERDICT_NO] = 0, [NVDP_VERDICT_OPEN] = 1, [NVDP_VERDICT_YES] = 2};
        const struct nvdp_check *from = &of->found.check[i];
        const size_t k = find_check(to, from->what);
        if (k == NVDP_CHECKS) continue;
        const int worse =
            /* Compared with the merged check. */
            k < to->checks ? rank[to->check[k].verdict] - rank[from->verdict] : 1;
        if (worse < 0 || (worse == 0 && !(of->number[i] > all->number[k]))) continue;
        if (k == to->checks) to->checks++;
        to->check[k] = *from;
        all->number[k] = of->number[i];
        char shown[NAME], found[2 * sizeof to->check[k].found];
        nvdp__show_into(shown, sizeof shown, name);
        nvdp__snprintf(found, sizeof found, "%s: %s", shown, from->found);
        nvdp__show_into(to->check[k].found, sizeof to->check[k].found, found);
    }
}

/* Takes the statement and the guarantee of the file with the weakest guarantee.  The files have the same mechanism, so
 * only wrong files differ.  Puts a sentence first about texts with samples in several files, because no file states the
 * total number of samples of a text. */
static void take_weakest(struct nvdp__verify *all, const char *name, size_t files,
                         const struct nvdp_verification *of) {
    struct nvdp_verification *to = &all->found;
    char name_of[NAME];
    const char *first =
        files > 1 ? "If a text is in several of these files, its epsilon grows with each file. "
                  : "";
    nvdp__show_into(name_of, sizeof name_of, name);
    nvdp__snprintf(to->guarantee, sizeof to->guarantee, "%s%s", first, of->guarantee);
    if (passes(to, nvdp__statement_agrees)) /* the check passes in every file */
        nvdp__snprintf(to->statement, sizeof to->statement,
                       "%zu files of one release hold %zu texts. %sThe file with the weakest "
                       "guarantee, %s, says:\n%.*s",
                       files, all->texts, first, name_of, (int)(sizeof to->statement - 320),
                       of->statement);
    to->useful = of->useful;
    to->certified = of->certified;
    to->epsilon = of->epsilon;
    to->delta = of->delta;
    to->mu = of->mu;
    to->radius = of->radius;
    to->samples = of->samples;
}

/* Leaves the check of rows open if a row of a split is in several files: the samples of the row add up, unless the
 * files are of different data. */
static void check_rows(struct nvdp__verify *all, size_t places, struct nvdp__verify_place *place) {
    size_t same = 0, most = 0, at = 0;
    nvdp__sort_places(place, places);
    for (size_t i = 0; i < places; i++) {
        same = i > 0 && nvdp__same_place(&place[i - 1], &place[i]) ? same + 1 : 1;
        if (same > most) at = i;
        most = nvdp__max(most, same);
    }
    if (most < 2 || !passes(&all->found, nvdp__no_row_twice)) return;
    struct nvdp_check *check = &all->found.check[find_check(&all->found, nvdp__no_row_twice)];
    check->verdict = NVDP_VERDICT_OPEN;
    nvdp__snprintf(check->found, sizeof check->found,
                   "row %" PRId64 " of split %d is in %zu files: its samples add up, unless the "
                   "files are of different data",
                   place[at].id, (int)place[at].split, most);
}

nvdp_status nvdp__verify_folder(struct nvdp__verify *all, const struct nvdp__shards *shards,
                                const unsigned char *wanted) {
    /* From most to least exposed. */
    static const char *const training[] = {"all", "some", "maybe", ""};
    struct nvdp_verification weakest = {0};
    nvdp__autofree struct nvdp__verify_place *place = NULL;
    size_t places = 0, room = 0, at = 0, most = sizeof training / sizeof *training - 1;
    nvdp__verify_check(all, NVDP_VERDICT_YES, "all files are of one run and one mechanism",
                       "%zu files, which agree in every attribute of the mechanism", shards->count);
    all->found.is_signed = all->found.is_known = true;
    for (size_t i = 0; i < shards->count; i++) {
        nvdp__auto(nvdp__verify_release) struct nvdp__verify one = {0};
        NVDP_TRY(nvdp__verify_file(all->ctx, shards->path[i], wanted, &one));
        NVDP_TRY(NVDP__PUSH_ALL(all->ctx, place, places, room, one.places, one.place));
        const struct nvdp_verification *found = &one.found;
        merge(all, nvdp__file_name(shards->path[i]), &one);
        all->found.is_signed = all->found.is_signed && found->is_signed;
        all->found.is_known = all->found.is_known && found->is_known;
        all->texts += one.texts;
        all->found.counted = found->counted && (i == 0 || all->found.counted);
        if (i == 0 || found->word_mu > all->found.word_mu) {
            all->found.word_mu = found->word_mu;
            all->found.word_epsilon = found->word_epsilon;
        }
        memcpy(all->found.public_key, found->public_key, sizeof found->public_key);
        for (size_t k = 0; k < most; k++)
            if (strcmp(found->training_texts, training[k]) == 0) most = k;
        if (i > 0 && (found->useful > weakest.useful ||
                      (found->useful == weakest.useful && found->epsilon <= weakest.epsilon)))
            continue;
        weakest = *found;
        at = i;
    }
    nvdp__snprintf(all->found.training_texts, sizeof all->found.training_texts, "%s",
                   training[most]);
    check_rows(all, places, place);
    take_weakest(all, nvdp__file_name(shards->path[at]), shards->count, &weakest);
    return NVDP_OK;
}

/* ---- the owner's ledger ---- */

static nvdp_status check_spent(struct nvdp__verify *v, const struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_release *release) {
    struct nvdp__spent worst;
    struct nvdp__budget budget;
    char samples[32] = "none", epsilon[32] = "none", person[32] = "none", claim[NVDP__CLAIM_TEXT];
    NVDP_TRY(nvdp__ledger_worst(ledger, release, &worst, &budget));
    if (budget.samples > 0) nvdp__snprintf(samples, sizeof samples, "%" PRIu64, budget.samples);
    if (budget.epsilon > 0) nvdp__snprintf(epsilon, sizeof epsilon, "%g", budget.epsilon);
    nvdp__verify_check(v, nvdp__verdict(nvdp__within_budget(&budget, &worst)),
                       "no text of the file has exceeded the budget, all releases together",
                       "at most %" PRIu64
                       " samples (budget: %s), epsilon %s (budget: %s) at delta %g: %s",
                       worst.samples, samples, nvdp__bound(worst.epsilon).text, epsilon,
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
            worst.person_texts, worst.person_samples, nvdp__bound(worst.person_epsilon).text,
            person, NVDP__LEDGER_DELTA, nvdp__spent_claim(worst.person_proven, claim));
        nvdp__verify_weigh(v, worst.person_epsilon);
    }
    if (worst.receivers > 0) {
        nvdp__verify_check(v, NVDP_VERDICT_YES,
                           "the ledger names receivers, whose files count together above",
                           "a text has up to %" PRIu64 " samples at a single one of %" PRIu64
                           " receivers, epsilon %s at delta %g",
                           worst.receiver_samples, worst.receivers,
                           nvdp__bound(worst.receiver_epsilon).text, NVDP__LEDGER_DELTA);
        nvdp__verify_weigh(v, worst.receiver_epsilon);
    }
    return NVDP_OK;
}

/* Begins the guarantee with the ledger's sums if they are above the sums that the file states for one row, because the
 * ledger counts other rows and files, too.  Checks the guarantee per word. */
static void begin_with_ledger(struct nvdp__verify *v) {
    const double room = 1 + 1e-6;
    const struct nvdp__spent *now = &v->spent;
    struct nvdp_verification *to = &v->found;
    const double word = nvdp__spent_word_epsilon(now);
    char old[NVDP_GUARANTEE_SIZE], epsilon[NVDP__SPENT_TEXT];
    if (word < now->epsilon && nvdp__spent_is_useful(now, true))
        nvdp__verify_check(v, NVDP_VERDICT_YES,
                           "the ledger proves privacy per word, all releases together",
                           "epsilon %s at delta %g, for one word in place of another",
                           nvdp__bound(word).text, NVDP__LEDGER_DELTA);
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

/* Adds the checks and the sums of one release. */
static void merge_spent(struct nvdp__verify *all, const char *path, const struct nvdp__verify *of) {
    struct nvdp__spent *to = &all->spent;
    const struct nvdp__spent *from = &of->spent;
    merge(all, nvdp__file_name(path), of);
    to->samples = nvdp__max(to->samples, from->samples);
    to->epsilon = fmax(to->epsilon, from->epsilon);
    to->mu = fmax(to->mu, from->mu);
    to->radius = fmax(to->radius, from->radius);
    to->word_mu = fmax(to->word_mu, from->word_mu);
    to->word_radius = fmax(to->word_radius, from->word_radius);
    to->persons = nvdp__max(to->persons, from->persons);
    to->person_texts = nvdp__max(to->person_texts, from->person_texts);
    to->person_samples = nvdp__max(to->person_samples, from->person_samples);
    to->person_epsilon = fmax(to->person_epsilon, from->person_epsilon);
    to->person_mu = fmax(to->person_mu, from->person_mu);
    to->person_radius = fmax(to->person_radius, from->person_radius);
}

/* Checks the release of file i of a folder, or of a single file (i = 0).  Sets texts[i]; the previous files have set
 * the previous entries. */
static nvdp_status check_listed(struct nvdp__verify *v, const struct nvdp__ledger *ledger,
                                const char *path, size_t i, int64_t *texts) {
    static const char what[] = "the ledger lists the file's release";
    char id[NVDP__VERIFY_NAME];
    size_t before = 0;
    uint64_t listed = 0; /* number of texts, or of units of a summary */
    NVDP_TRY(nvdp__release_read(v->ctx, nvdp__formats, path, &v->release));
    nvdp__verify_text(v, "model_id", sizeof id, id);
    const bool shared = v->release.shape.summary;
    const char *unit = nvdp__verify_text_is(v, "unit", "person") ? "persons" : "texts";
    texts[i] = nvdp__verify_whole(v, shared ? "units" : "texts", 0);
    const int64_t samples = nvdp__verify_whole(v, "releases", 0);
    const struct nvdp__ledger_release *release =
        nvdp__ledger_find(ledger, shared, id, path, (uint64_t)texts[i], (uint64_t)samples);
    if (release == NULL)
        return nvdp__verify_check(v, NVDP_VERDICT_NO, what,
                                  "none of its %zu releases has model_id '%s'",
                                  nvdp__ledger_count(ledger), id);
    for (size_t k = 0; k < i; k++)
        before += texts[k] == texts[i];
    const size_t alike = nvdp__ledger_alike(ledger, release);
    NVDP_TRY(
        nvdp__ledger_units(ledger, release, nvdp__verify_has(v, "pair_features") ? 2 : 1, &listed));
    if ((uint64_t)texts[i] != listed || (uint64_t)samples != release->samples)
        nvdp__verify_check(v, NVDP_VERDICT_NO, what,
                           "the ledger lists %" PRIu64 " %s with %" PRIu64
                           " samples each; the file states %" PRId64 " %s with %" PRId64
                           " samples each",
                           listed, unit, release->samples, texts[i], unit, samples);
    else if (before >= alike)
        nvdp__verify_check(v, NVDP_VERDICT_NO, what,
                           "the folder has %zu files of %" PRId64
                           " texts, and the ledger lists %zu",
                           before + 1, texts[i], alike);
    else if (nvdp__verify_text_is(v, "ledger", "none"))
        nvdp__verify_check(v, NVDP_VERDICT_NO, what, "the file states that no ledger counts it");
    else
        nvdp__verify_check(v, NVDP_VERDICT_YES, what,
                           "%" PRIu64 " %s with %" PRIu64 " sample%s each", listed, unit,
                           release->samples, release->samples == 1 ? "" : "s");
    /* Checks similar releases of the same id, too, if the file's name does not distinguish them. */
    const bool named = strcmp(nvdp__file_name(release->file), nvdp__file_name(path)) == 0;
    if (named || nvdp__ledger_like(ledger, release) == NULL) return check_spent(v, ledger, release);
    v->spent = (struct nvdp__spent){0};
    for (; release != NULL; release = nvdp__ledger_like(ledger, release)) {
        struct nvdp__verify one = {.ctx = v->ctx, .found = nvdp__nothing_found()};
        NVDP_TRY(check_spent(&one, ledger, release));
        merge_spent(v, path, &one);
    }
    return NVDP_OK;
}

nvdp_status nvdp_verify_ledger(struct nvdp_context *ctx, const char *path, const char *ledger_path,
                               const char *key, struct nvdp_verification *out) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    nvdp__auto(nvdp__shards_close) struct nvdp__shards shards = {0};
    nvdp__auto(nvdp__verify_release) struct nvdp__verify v = {.ctx = ctx};
    nvdp__autofree int64_t *texts = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (path == NULL || ledger_path == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "ledger: expected a file and its ledger, found only one or neither");
    const struct nvdp__path beside = nvdp__path_format("%s.key", ledger_path);
    memcpy(&v.found, out, out->struct_size < sizeof v.found ? out->struct_size : sizeof v.found);
    NVDP_TRY(nvdp__shards_open(ctx, path, &shards));
    NVDP_TRY(nvdp__ledger_open(ctx, ledger_path, key != NULL ? key : beside.text, NULL, &ledger));
    NVDP_TRY(NVDP__NEW(ctx, texts, shards.count));
    if (!nvdp__is_directory(path)) NVDP_TRY(check_listed(&v, ledger, path, 0, texts));
    for (size_t i = 0; i < shards.count && nvdp__is_directory(path); i++) {
        nvdp__auto(nvdp__verify_release) struct nvdp__verify one = {.ctx = ctx,
                                                                    .found = nvdp__nothing_found()};
        NVDP_TRY(check_listed(&one, ledger, shards.path[i], i, texts));
        merge_spent(&v, shards.path[i], &one);
    }
    begin_with_ledger(&v);
    return NVDP__GIVE(out, &v.found);
}
