/* Implements the ledger, which nvdp export writes and nvdp verify reads.  Read ledger.h first.  The order: file,
 * reading, writing, hashes, budgets, appending a record, queries.  spending.c adds up the records. */
#include "share/ledger.h"

#include "base/array.h"
#include "base/file.h"
#include "base/sentence.h"
#include "text/normalize.h"
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <time.h>
#include <utf8proc.h>

enum { KEY = NVDP__LEDGER_SUBKEY, MAC = NVDP__LEDGER_MAC };
#define FAIL NVDP__LEDGER_FAIL

const double nvdp__ledger_orders[NVDP__LEDGER_ORDERS] = {1.05, 1.1, 1.25, 1.5, 1.75, 2,  2.5, 3,
                                                         4,    6,   8,    12,  16,   32, 64,  256};

/* --- records, made of frames --- */

/* Indices of mu per word and of the weights' distance in a frame of names. */
enum { WORD = NVDP__LEDGER_HASH / sizeof(double), DISTANCE };

/* Takes the names of the last record.  Returns false if the frame is too short for them. */
static bool take_names(struct nvdp__ledger *ledger, const struct nvdp__ledger_record *names) {
    const struct nvdp__ledger_release *from = names->release;
    if (ledger->count == 0 || from->samples != 0) return false;
    struct nvdp__ledger_record *to = ledger->record + ledger->count - 1;
    if (to->named || memcmp(from->id, to->release->id, sizeof from->id) != 0 ||
        (from->texts != 0 && from->texts != to->release->texts))
        return false;
    const unsigned char *receiver = (const unsigned char *)from->divergence;
    to->named = true;
    to->person = from->texts > 0 ? names->text : NULL;
    to->receiver = sodium_is_zero(receiver, NVDP__LEDGER_HASH) ? NULL : receiver;
    to->person_epsilon = from->mu;
    to->word_mu = from->divergence[WORD];
    to->distance = from->divergence[DISTANCE];
    if (ledger->first == to->release) ledger->first_person = from->mu;
    return true;
}

/* Returns the record with this code, or NULL. */
static struct nvdp__ledger_record *find_code(const struct nvdp__ledger *ledger,
                                             const unsigned char *code) {
    for (size_t r = ledger->count; r-- > 0;)
        if (memcmp(ledger->record[r].code, code, MAC) == 0) return &ledger->record[r];
    return NULL;
}

/* Takes the end of a release, which was published or returned.  The budget of a returned release stays in force while
 * another release counts under this budget. */
static bool settle(struct nvdp__ledger *ledger, const struct nvdp__ledger_record *end,
                   uint64_t type) {
    struct nvdp__ledger_record *of =
        find_code(ledger, (const unsigned char *)end->release->divergence);
    if (of == NULL) return false;
    of->finished = true;
    if (type == NVDP__LEDGER_PUBLISHED) return true;
    const size_t after = (size_t)(ledger->record + ledger->count - of) - 1;
    memmove(of, of + 1, after * sizeof *of);
    if (--ledger->count == 0) ledger->first = NULL;
    ledger->returned++;
    return true;
}

static nvdp_status take_release(struct nvdp__ledger *ledger,
                                const struct nvdp__ledger_record *record, const unsigned char *code,
                                bool old) {
    NVDP_TRY(NVDP__PUSH(ledger->ctx, ledger->record, ledger->count, ledger->capacity, *record));
    if (ledger->first == NULL) {
        ledger->first = record->release;
        ledger->first_person = 0;
        ledger->first_old = old;
    }
    struct nvdp__ledger_record *to = &ledger->record[ledger->count - 1];
    to->code = code;
    to->finished = old; /* an older ledger does not record it */
    return NVDP_OK;
}

nvdp_status nvdp__ledger_take(struct nvdp__ledger *ledger, const struct nvdp__ledger_record *record,
                              uint64_t *type, const unsigned char *code) {
    struct nvdp__ledger_record *last =
        ledger->count > 0 ? ledger->record + ledger->count - 1 : NULL;
    bool right = false;
    switch (*type) {
    case NVDP__LEDGER_OLD: /* in an older file, names have no separate type */
        if (!take_names(ledger, record)) return take_release(ledger, record, code, true);
        *type = NVDP__LEDGER_NAMES;
        return NVDP_OK;
    case NVDP__LEDGER_RELEASE:
    case NVDP__LEDGER_SHARED:
    case NVDP__LEDGER_PERSONS:
    case NVDP__LEDGER_PERSON_SAMPLES:
        NVDP_TRY(take_release(ledger, record, code, false));
        last = ledger->record + ledger->count - 1;
        last->shared = nvdp__ledger_shares(*type);
        last->by_person = nvdp__ledger_by_person(*type);
        return NVDP_OK;
    case NVDP__LEDGER_NAMES:
        right = take_names(ledger, record);
        break;
    case NVDP__LEDGER_LOOKS: /* folded names of the last record */
        right = last != NULL && record->release->texts == last->release->texts;
        if (right) last->look = record->text;
        break;
    case NVDP__LEDGER_RETURNED:
    case NVDP__LEDGER_PUBLISHED:
        right = settle(ledger, record, *type);
        break;
    default:
        break;
    }
    return right ? NVDP_OK
                 : FAIL(ledger, INPUT,
                        "expected records of this version, found one of type %" PRIu64, *type);
}

/* --- hashes --- */

void nvdp__ledger_text(const struct nvdp__ledger *ledger, size_t n, const int32_t *ids,
                       const int32_t *types, nvdp__text_hash hash) {
    nvdp__text_digest(ledger->key, n, ids, types, hash);
}

/* Returns true for white space and for characters without a glyph, such as zero-width spaces. */
static bool is_blank(int32_t rune) {
    return nvdp__is_white_space(rune) || nvdp__has_category(rune, NVDP__IN(CC) | NVDP__IN(CF));
}

/* Removes blanks around a name, or all blanks if `within` is set. */
static void drop_blanks(struct nvdp__runes *runes, bool within) {
    size_t kept = 0, end = runes->count;
    while (end > 0 && is_blank(runes->at[end - 1]))
        end--;
    for (size_t i = 0; i < end; i++)
        if (!is_blank(runes->at[i]) || (kept > 0 && !within)) runes->at[kept++] = runes->at[i];
    runes->count = kept;
}

/* Writes a name in NFC without blanks around the name.  With `fold`, writes it in NFKC, in lower case, without any
 * blanks.  Bytes that are not UTF-8 stay. */
static nvdp_status normalize_name(struct nvdp_context *ctx, const char *name, bool fold,
                                  struct nvdp__normalized *out) {
    static const struct nvdp__normalization lower = {.lower_case = true};
    name += strspn(name, " \t\r\n");
    size_t size = strlen(name);
    while (size > 0 && strchr(" \t\r\n", name[size - 1]) != NULL)
        size--;
    NVDP_TRY(nvdp__reserve(ctx, &out->text, &out->capacity, size + 1, 1));
    memcpy(out->text, name, size);
    out->size = size;
    if (!nvdp__is_utf8(name, size)) return NVDP_OK;
    NVDP_TRY(nvdp__runes_read(ctx, name, size, &out->run));
    NVDP_TRY(nvdp__normal_form(ctx, &out->run, (fold ? NVDP__COMPATIBLE : 0) | NVDP__COMPOSED,
                               &out->folded));
    drop_blanks(&out->folded, fold);
    if (!fold) return nvdp__runes_write(ctx, &out->folded, out);
    NVDP_TRY(nvdp__fold(ctx, &lower, &out->folded, &out->run));
    return nvdp__runes_write(ctx, &out->run, out);
}

nvdp_status nvdp__name_hash(struct nvdp_context *ctx, const unsigned char *key,
                            enum nvdp__ledger_naming kind, const char *name, nvdp__text_hash hash) {
    const uint64_t mark = UINT64_MAX - (uint64_t)kind; /* no text has that many tokens */
    crypto_generichash_state state;
    nvdp__auto(nvdp__normalized_release) struct nvdp__normalized normal = {0};
    memset(hash, 0, NVDP__LEDGER_HASH);
    if (name == NULL) return NVDP_OK;
    NVDP_TRY(normalize_name(ctx, name, kind == NVDP__LEDGER_LOOK, &normal));
    if (normal.size == 0) return NVDP_OK;
    crypto_generichash_init(&state, key, key != NULL ? KEY : 0, NVDP__LEDGER_HASH);
    crypto_generichash_update(&state, (const unsigned char *)&mark, sizeof mark);
    crypto_generichash_update(&state, (const unsigned char *)normal.text, normal.size);
    crypto_generichash_final(&state, hash, NVDP__LEDGER_HASH);
    sodium_memzero(&state, sizeof state);
    return NVDP_OK;
}

nvdp_status nvdp__ledger_name(const struct nvdp__ledger *ledger, enum nvdp__ledger_naming kind,
                              const char *name, nvdp__text_hash hash) {
    return nvdp__name_hash(ledger->ctx, ledger->key, kind, name, hash);
}

void nvdp__ledger_set_names(struct nvdp__ledger *ledger, const struct nvdp__ledger_names *names) {
    ledger->names = *names;
}

/* A name of a person, and its folded form. */
struct spelling {
    nvdp__text_hash look, name;
    bool earlier; /* the name is in a record */
};

static size_t put_spellings(struct spelling *to, size_t texts, const nvdp__text_hash *look,
                            const nvdp__text_hash *name, bool earlier) {
    if (look == NULL || name == NULL) return 0;
    for (size_t i = 0; i < texts; i++) {
        memcpy(to[i].look, look[i], sizeof to[i].look);
        memcpy(to[i].name, name[i], sizeof to[i].name);
        to[i].earlier = earlier;
    }
    return texts;
}

nvdp_status nvdp__ledger_alike_names(const struct nvdp__ledger *ledger, size_t texts,
                                     size_t *alike) {
    const struct nvdp__ledger_names *names = &ledger->names;
    nvdp__autofree struct spelling *of = NULL;
    size_t count = 0, all = texts;
    *alike = 0;
    if (names->look == NULL) return NVDP_OK;
    for (size_t r = 0; r < ledger->count; r++)
        all += (size_t)ledger->record[r].release->texts;
    NVDP_TRY(NVDP__NEW(ledger->ctx, of, all));
    count = put_spellings(of, texts, names->look, names->person, false);
    for (size_t r = 0; r < ledger->count; r++) {
        const struct nvdp__ledger_record *from = &ledger->record[r];
        count +=
            put_spellings(of + count, (size_t)from->release->texts, from->look, from->person, true);
    }
    NVDP__SORT(of, count, NVDP__UP_MEMORY(struct spelling, look),
               NVDP__UP_MEMORY(struct spelling, name), NVDP__UP(struct spelling, earlier));
    for (size_t i = 0, end; i < count; i = end) { /* the names with the same folded form */
        size_t here = 0, elsewhere = 0;
        for (end = i; end < count && memcmp(of[end].look, of[i].look, sizeof of->look) == 0;
             end++) {
            if (end > i && memcmp(of[end].name, of[end - 1].name, sizeof of->name) == 0) continue;
            here += !of[end].earlier;
            elsewhere += of[end].earlier;
        }
        if (here > 0 && !sodium_is_zero(of[i].name, NVDP__LEDGER_HASH))
            *alike += here - (elsewhere == 0);
    }
    return NVDP_OK;
}

bool nvdp__within_budget(const struct nvdp__budget *budget, const struct nvdp__spent *spent) {
    return (budget->samples == 0 || spent->samples <= budget->samples) &&
           (budget->epsilon == 0 || spent->epsilon <= budget->epsilon);
}

const char *nvdp__spent_claim(double proven, char text[NVDP__CLAIM_TEXT]) {
    nvdp__snprintf(text, NVDP__CLAIM_TEXT,
                   proven > 0
                       ? "epsilon %g, the budget since the first export, is proven even if later "
                         "exports depend on earlier samples"
                       : "proven if number and noise of the exports do not depend on earlier "
                         "samples",
                   proven);
    return text;
}

/* --- budgets --- */

const char *nvdp__spent_before(const struct nvdp__spent *spent) {
    return spent->shared_before ? "were shared before, in" : "were counted before, for";
}

/* Writes ": 40 of its 40 texts were shared before, in dev.h5", or "" if none was. */
static const char *format_earlier(const struct nvdp__account *account, size_t size, char *text) {
    const struct nvdp__spent *spent = &account->spent;
    text[0] = '\0';
    if (spent->seen_before > 0)
        nvdp__snprintf(text, size, ": %" PRIu64 " of its %zu texts %s %s", spent->seen_before,
                       account->count, nvdp__spent_before(spent), spent->files);
    return text;
}

enum { EARLIER_SIZE = NVDP__LEDGER_FILES + 96 };

static nvdp_status refuse_samples(const struct nvdp__ledger *ledger,
                                  const struct nvdp__budget *budget,
                                  const struct nvdp__account *account, bool promised) {
    char earlier[EARLIER_SIZE], epsilon[NVDP__SPENT_TEXT], together[160];
    const struct nvdp__spent *spent = &account->spent;
    nvdp__snprintf(together, sizeof together, "together, all samples of a text would have %s",
                   nvdp__spent_text(spent->epsilon, nvdp__spent_word_epsilon(spent), epsilon));
    return FAIL(ledger, STATE,
                "expected in total at most %" PRIu64 " sample%s of a text%s, found %" PRIu64
                " including this export%s; %s. Nothing was drawn; {budget-samples} %" PRIu64
                " allows the export",
                budget->samples, budget->samples == 1 ? "" : "s",
                promised ? ", which the run guarantees" : "", spent->samples,
                format_earlier(account, sizeof earlier, earlier),
                isfinite(spent->epsilon)
                    ? together
                    : "together, the samples of a text would have no proven epsilon",
                spent->samples);
}

enum { ALLOWS_SIZE = 224, OTHER_SIZE = 128 };

/* Writes the option that allows a release of this epsilon, and the consequence, or "" if no option allows it. */
static void allow(const struct nvdp__ledger *ledger, const char *option, double epsilon,
                  double budget, double proven, char text[ALLOWS_SIZE]) {
    text[0] = '\0';
    if (!isfinite(epsilon)) return;
    nvdp__snprintf(text, ALLOWS_SIZE, "; %s %s allows the export%s",
                   nvdp__as_option(ledger->ctx, option).text,
                   nvdp__bound(fmax(epsilon, nextafter(budget, INFINITY))).text,
                   proven > 0 && ledger->first != NULL
                       ? ", but raises the budget: its epsilon is then no longer proven if "
                         "this depends on earlier files"
                       : "");
}

/* Writes the epsilon that the filter compares, which is above the smallest proven epsilon. */
static void other_rule(double filtered, char text[OTHER_SIZE]) {
    nvdp__snprintf(text, OTHER_SIZE, " (%s by the rule that was fixed with the first budget)",
                   nvdp__bound(filtered).text);
}

static nvdp_status refuse_epsilon(const struct nvdp__ledger *ledger,
                                  const struct nvdp__budget *budget,
                                  const struct nvdp__account *account) {
    const struct nvdp__spent *spent = &account->spent;
    char earlier[EARLIER_SIZE], found[NVDP__SPENT_TEXT], allows[ALLOWS_SIZE],
        other[OTHER_SIZE] = "";
    if (spent->filtered > spent->epsilon) other_rule(spent->filtered, other);
    allow(ledger, "budget-epsilon", spent->epsilon, budget->epsilon, spent->proven, allows);
    return FAIL(
        ledger, STATE,
        "expected at most epsilon %g for all samples of a text together, found %s%s including "
        "this export%s. Nothing was drawn%s",
        budget->epsilon, nvdp__spent_text(spent->epsilon, nvdp__spent_word_epsilon(spent), found),
        other, format_earlier(account, sizeof earlier, earlier), allows);
}

/* Checks the promise of training for every text of the release, whose record is in the account.  If `each` is set, one
 * row of a text counts, otherwise all rows. */
static bool keeps_promise(const struct nvdp__account *account, uint64_t samples, uint64_t promise,
                          bool each) {
    if (each)
        return account->most_before == 0 ||
               nvdp__keeps_promise(account->most_before, samples, samples, promise);
    return nvdp__keeps_promise(0, account->most_new, samples, promise) &&
           (account->most_again == 0 || account->most_again <= promise);
}

/* Returns the filter of a text's or a person's budget.  There is no filter if the budget was set after the first
 * release or was raised, or if a release does not fit the filter. */
static struct nvdp__filter budget_filter(const struct nvdp__ledger *ledger,
                                         const struct nvdp__ledger_record *next, bool person) {
    static const struct nvdp__filter none = {0};
    const struct nvdp__ledger_release *first = ledger->first != NULL ? ledger->first
                                               : next != NULL        ? next->release
                                                                     : NULL;
    if (first == NULL) return none;
    const double budget = !person                 ? first->budget.epsilon
                          : ledger->first != NULL ? ledger->first_person
                                                  : next->person_epsilon;
    const struct nvdp__filter filter = nvdp__filter_with(first, budget);
    if (filter.order >= 0 && ledger->first != NULL && ledger->first_old)
        return none; /* older versions compared the order with the smallest epsilon */
    for (size_t r = 0; r < ledger->count + (next != NULL); r++) {
        const struct nvdp__ledger_record *record = r < ledger->count ? &ledger->record[r] : next;
        const double now = person ? record->person_epsilon : record->release->budget.epsilon;
        if (now > budget || (filter.order < 0 && record != next && isinf(record->release->mu)))
            return none;
    }
    return filter;
}

struct nvdp__records nvdp__ledger_records(const struct nvdp__ledger *ledger,
                                          const struct nvdp__ledger_record *next) {
    return (struct nvdp__records){.ctx = ledger->ctx,
                                  .record = ledger->record,
                                  .count = ledger->count,
                                  .next = next,
                                  .delta = NVDP__LEDGER_DELTA,
                                  .filter = budget_filter(ledger, next, false),
                                  .person_filter = budget_filter(ledger, next, true)};
}

static nvdp_status refuse_persons(const struct nvdp__ledger *ledger, double budget,
                                  const struct nvdp__spent *spent) {
    char allows[ALLOWS_SIZE], other[OTHER_SIZE] = "";
    if (spent->person_filtered > spent->person_epsilon) other_rule(spent->person_filtered, other);
    allow(ledger, "person-epsilon", spent->person_epsilon, budget, spent->person_proven, allows);
    return FAIL(ledger, STATE,
                "expected at most epsilon %g at delta %g for all texts of a person together, found "
                "up to %s%s including this export: %zu of %zu persons exceed the budget. Nothing "
                "was drawn%s",
                budget, NVDP__LEDGER_DELTA, nvdp__bound(spent->person_epsilon).text, other,
                spent->persons_over, spent->persons_compared, allows);
}

/* Returns the next record with its names. */
static struct nvdp__ledger_record next_record(const struct nvdp__ledger *ledger,
                                              const struct nvdp__ledger_release *release,
                                              const nvdp__text_hash *text) {
    const struct nvdp__ledger_names *names = &ledger->names;
    return (struct nvdp__ledger_record){
        .release = release,
        .text = text,
        .file = release->file,
        .person = names->person,
        .look = names->look,
        .receiver = names->receiver,
        .named = names->person != NULL || names->receiver != NULL || names->person_epsilon > 0 ||
                 names->word_mu > 0 || names->distance > 0,
        .word_mu = names->word_mu,
        .shared = nvdp__ledger_shares(release->type),
        .by_person = nvdp__ledger_by_person(release->type),
        .distance = names->distance,
        .person_epsilon = names->person_epsilon > 0
                              ? names->person_epsilon
                              : nvdp__person_budget(ledger->record, ledger->count)};
}

nvdp_status nvdp__ledger_check(struct nvdp__ledger *ledger, struct nvdp__ledger_release *release,
                               const nvdp__text_hash *text, uint64_t promise,
                               struct nvdp__spent *spent) {
    struct nvdp__account account = {0};
    const struct nvdp__ledger_record record = next_record(ledger, release, text);
    struct nvdp__budget *budget = &release->budget;
    const bool promised = budget->samples == 0 && budget->epsilon == 0;
    if (budget->epsilon == 0 && ledger->count > 0)
        budget->epsilon = ledger->record[ledger->count - 1].release->budget.epsilon;
    const struct nvdp__records records = nvdp__ledger_records(ledger, &record);
    NVDP_TRY(nvdp__account_sum(&records, &record, &account));
    const bool kept =
        !promised || keeps_promise(&account, release->samples, promise, ledger->names.each);
    if (promised) budget->samples = kept ? nvdp__max(promise, account.spent.samples) : promise;
    if (budget->samples > 0 && account.spent.samples > budget->samples)
        return refuse_samples(ledger, budget, &account, promised);
    if (budget->epsilon > 0 && account.spent.filtered > budget->epsilon)
        return refuse_epsilon(ledger, budget, &account);
    const double person_budget = record.person_epsilon;
    if (record.person == NULL && person_budget > 0)
        return FAIL(
            ledger, STATE,
            "the ledger has a budget of epsilon %g for all texts of a person: expected {person}, "
            "the column that names the person of each text, found none. Nothing was drawn",
            person_budget);
    if (record.person != NULL || !nvdp__name_persons(&records)) account.spent.unnamed = 0;
    NVDP_TRY(nvdp__spent_of_names(&records, &record, person_budget, &account.spent));
    if (account.spent.persons_over > 0)
        return refuse_persons(ledger, person_budget, &account.spent);
    *spent = account.spent;
    return NVDP_OK;
}

/* --- appending a record --- */

/* Writes the record, and the names if there are any, in one call.  If the process dies meanwhile, nothing was drawn,
 * and at worst the record counts without the names. */
nvdp_status nvdp__ledger_add(struct nvdp__ledger *ledger, struct nvdp__ledger_release *release,
                             const nvdp__text_hash *text, uint64_t promise,
                             struct nvdp__spent *spent) {
    NVDP_TRY(nvdp__ledger_check(ledger, release, text, promise, spent));
    release->seconds = (int64_t)time(NULL);
    const struct nvdp__ledger_record record = next_record(ledger, release, text);
    struct nvdp__ledger_release names = {.type = NVDP__LEDGER_NAMES,
                                         .texts = record.person != NULL ? release->texts : 0,
                                         .seconds = release->seconds,
                                         .budget = release->budget,
                                         .mu = record.person_epsilon};
    memcpy(names.id, release->id, sizeof names.id);
    if (record.receiver != NULL) memcpy(names.divergence, record.receiver, NVDP__LEDGER_HASH);
    names.divergence[WORD] = record.word_mu;
    names.divergence[DISTANCE] = record.distance;
    struct nvdp__ledger_release looks = names;
    looks.type = NVDP__LEDGER_LOOKS;
    const struct nvdp__ledger_frame frame[] = {
        {release, text}, {&names, record.person}, {&looks, record.look}};
    const bool looked = record.person != NULL && record.look != NULL;
    return nvdp__ledger_append(ledger, !record.named ? 1 : looked ? 3 : 2, frame);
}

void nvdp__ledger_added(const struct nvdp__ledger *ledger, nvdp__ledger_code code) {
    memcpy(code, ledger->added, MAC);
}

nvdp_status nvdp__ledger_settle(struct nvdp_context *ctx, const char *path, const char *key,
                                const char *tokens, const nvdp__ledger_code code, bool published) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    struct nvdp__ledger_release end = {.type = published ? NVDP__LEDGER_PUBLISHED
                                                         : NVDP__LEDGER_RETURNED,
                                       .seconds = (int64_t)time(NULL)};
    NVDP_TRY(nvdp__ledger_open_patient(ctx, path, key, tokens, true, &ledger));
    const struct nvdp__ledger_record *of = find_code(ledger, code);
    if (of == NULL || of->finished)
        return FAIL(ledger, STATE, "expected the record of this export, found %s", "none");
    memcpy(end.id, of->release->id, sizeof end.id);
    memcpy(end.divergence, code, MAC);
    return nvdp__ledger_append(ledger, 1, &(struct nvdp__ledger_frame){&end, NULL});
}

/* --- queries --- */

size_t nvdp__ledger_count(const struct nvdp__ledger *ledger) {
    return ledger->count;
}

const struct nvdp__ledger_release *nvdp__ledger_find(const struct nvdp__ledger *ledger, bool shared,
                                                     const char *id, const char *file,
                                                     uint64_t texts, uint64_t samples) {
    const struct nvdp__ledger_release *best = NULL;
    int most = 0;
    if (strlen(id) != NVDP__LEDGER_ID) return NULL;
    for (size_t r = ledger->count; r-- > 0 && most < 3;) {
        const struct nvdp__ledger_release *of = ledger->record[r].release;
        if (ledger->record[r].shared != shared || memcmp(of->id, id, NVDP__LEDGER_ID) != 0)
            continue;
        const bool fits = of->texts == texts && of->samples == samples;
        const bool named =
            strcmp(nvdp__file_name(ledger->record[r].file), nvdp__file_name(file)) == 0;
        const int match = 1 + fits + (fits && named);
        if (match > most) best = of;
        if (match > most) most = match;
    }
    return best;
}

/* Finds the record of this release. */
static const struct nvdp__ledger_record *find_record(const struct nvdp__ledger *ledger,
                                                     const struct nvdp__ledger_release *release) {
    const struct nvdp__ledger_record *record = ledger->record;
    while (record->release != release)
        record++;
    return record;
}

static bool is_like(const struct nvdp__ledger_record *a, const struct nvdp__ledger_record *b) {
    const struct nvdp__ledger_release *one = a->release, *other = b->release;
    return a->shared == b->shared && memcmp(one->id, other->id, NVDP__LEDGER_ID) == 0 &&
           one->texts == other->texts && one->samples == other->samples;
}

size_t nvdp__ledger_alike(const struct nvdp__ledger *ledger,
                          const struct nvdp__ledger_release *of) {
    const struct nvdp__ledger_record *one = find_record(ledger, of);
    size_t alike = 0;
    for (size_t r = 0; r < ledger->count; r++)
        alike += is_like(&ledger->record[r], one);
    return alike;
}

const struct nvdp__ledger_release *nvdp__ledger_like(const struct nvdp__ledger *ledger,
                                                     const struct nvdp__ledger_release *of) {
    const struct nvdp__ledger_record *one = find_record(ledger, of);
    for (const struct nvdp__ledger_record *record = one; record-- > ledger->record;)
        if (is_like(record, one)) return record->release;
    return NULL;
}

nvdp_status nvdp__ledger_units(const struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_release *release, uint64_t texts,
                               uint64_t *units) {
    return nvdp__units_of_record(ledger->ctx, find_record(ledger, release), texts, units);
}

nvdp_status nvdp__ledger_worst(const struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_release *release,
                               struct nvdp__spent *worst, struct nvdp__budget *budget) {
    struct nvdp__account account = {0};
    const struct nvdp__ledger_record *record = find_record(ledger, release);
    const struct nvdp__records records = nvdp__ledger_records(ledger, NULL);
    NVDP_TRY(nvdp__account_sum(&records, record, &account));
    NVDP_TRY(nvdp__spent_of_names(&records, record, 0, &account.spent));
    account.spent.person_budget = nvdp__person_budget(ledger->record, ledger->count);
    *worst = account.spent;
    *budget = (account.last != NULL ? account.last : release)
                  ->budget; /* last is NULL if the release has no text */
    return NVDP_OK;
}
