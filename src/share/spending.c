/* Adds up the records of a ledger by text, by person and by receiver.  Read spending.h first. */
#include "share/spending.h"

#include "base/file.h"
#include <math.h>
#include <nvdp/privacy.h>
#include <nvdp/rdp.h>
#include <stdlib.h>
#include <string.h>

/* --- sums --- */

/* Returns mu of one sample per word. A bound for any two texts holds for two that differ in a word, too. */
static double word_mu(const struct nvdp__ledger_record *record) {
    return record->word_mu > 0 ? fmin(record->word_mu, record->release->mu) : record->release->mu;
}

static void spend(struct nvdp__spending *to, const struct nvdp__ledger_record *record) {
    const struct nvdp__ledger_release *release = record->release;
    const double samples = (double)release->samples;
    if (release->samples == 0) return; /* 0 times infinity is not 0 */
    to->samples += release->samples;
    to->mu_square += samples * release->mu * release->mu;
    to->word_square += samples * word_mu(record) * word_mu(record);
    for (size_t k = 0; k < NVDP__LEDGER_ORDERS; k++)
        to->divergence[k] += samples * release->divergence[k];
    to->distance += samples * record->distance;
}

bool nvdp__distance_negligible(double epsilon, double distance, double delta) {
    return distance == 0 || (1 + exp(epsilon)) * distance <= delta / 1000;
}

/* Returns the epsilon of all releases together.  Gaussian mechanisms compose exactly into one.  Other mechanisms
 * compose by the divergences of each order, which add up (van Erven & Harremoes 2014); the order with the smallest
 * epsilon counts.  Nothing is proven if the samplers of the weights add more than a negligible part to delta. */
static double epsilon_of(const struct nvdp__spending *spending, double delta) {
    double smallest = isfinite(spending->mu_square)
                          ? nvdp_gdp_epsilon(sqrt(spending->mu_square), delta)
                          : INFINITY;
    for (size_t k = 0; k < NVDP__LEDGER_ORDERS && !isfinite(spending->mu_square); k++) {
        if (isfinite(spending->divergence[k]))
            smallest = fmin(smallest, nvdp_renyi_epsilon(nvdp__ledger_orders[k],
                                                         spending->divergence[k], delta));
    }
    return nvdp__distance_negligible(smallest, spending->distance, delta) ? smallest : INFINITY;
}

struct nvdp__spent nvdp__spent_of_rows(const struct nvdp__ledger_record *record, size_t rows,
                                       double delta) {
    struct nvdp__spending sum = {0};
    for (size_t i = 0; i < rows; i++)
        spend(&sum, record);
    return (struct nvdp__spent){.samples = sum.samples,
                                .epsilon = epsilon_of(&sum, delta),
                                .word_mu = sqrt(sum.word_square)};
}

/* Returns the epsilon that a budget is compared with: of one order that was fixed before, if the budget has a filter. */
static double filtered_of(const struct nvdp__spending *spending, const struct nvdp__filter *filter,
                          double delta) {
    if (filter->budget == 0) return epsilon_of(spending, delta);
    const int k = filter->order;
    const double epsilon = k < 0 ? nvdp_gdp_epsilon(sqrt(spending->mu_square), NVDP__LEDGER_DELTA)
                           : isfinite(spending->divergence[k])
                               ? nvdp_renyi_epsilon(nvdp__ledger_orders[k], spending->divergence[k],
                                                    NVDP__LEDGER_DELTA)
                               : INFINITY;
    return nvdp__distance_negligible(fmax(epsilon, filter->budget), spending->distance,
                                     NVDP__LEDGER_DELTA)
               ? epsilon
               : INFINITY;
}

struct nvdp__filter nvdp__filter_with(const struct nvdp__ledger_release *first, double budget) {
    struct nvdp__filter filter = {.budget = budget, .order = -1};
    double most = 0;
    if (budget == 0 || isfinite(first->mu)) return filter;
    for (int k = 0; k < NVDP__LEDGER_ORDERS; k++) {
        const double one = first->divergence[k], order = nvdp__ledger_orders[k];
        /* epsilon is the divergence and a constant, unless it is 0 */
        const double room =
            budget - (nvdp_renyi_epsilon(order, budget, NVDP__LEDGER_DELTA) - budget);
        if (!isfinite(one) || room <= most * one) continue;
        most = room / one;
        filter.order = k;
    }
    return filter.order >= 0 ? filter : (struct nvdp__filter){0};
}

static int by_hash(const void *a, const void *b) {
    return memcmp(a, b, NVDP__LEDGER_HASH); /* the hash is the first member of its struct */
}

static int by_number(double a, double b) {
    return (a > b) - (a < b);
}

static int by_spending(const void *a, const void *b) {
    const struct nvdp__spending *one = &((const struct nvdp__sum *)a)->spending,
                                *two = &((const struct nvdp__sum *)b)->spending;
    int order = (one->samples > two->samples) - (one->samples < two->samples);
    if (order == 0) order = by_number(one->mu_square, two->mu_square);
    if (order == 0) order = by_number(one->word_square, two->word_square);
    for (size_t k = 0; order == 0 && k < NVDP__LEDGER_ORDERS; k++)
        order = by_number(one->divergence[k], two->divergence[k]);
    return order != 0 ? order : by_number(one->distance, two->distance);
}

/* Sorts items that begin with a hash, and keeps one of each.  Returns their number. */
static size_t distinct(void *items, size_t count, size_t size,
                       int (*order)(const void *, const void *)) {
    char *item = items;
    size_t kept = 0;
    if (count > 1) qsort(items, count, size, order);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && order(item + (kept - 1) * size, item + i * size) == 0) continue;
        memmove(item + kept++ * size, item + i * size, size);
    }
    return kept;
}

static nvdp_status make_sums(struct nvdp_context *ctx, const nvdp__text_hash *hash, size_t count,
                             struct nvdp__sum **out) {
    NVDP_TRY(NVDP__NEW(ctx, *out, count));
    for (size_t i = 0; hash != NULL && i < count; i++)
        memcpy((*out)[i].of, hash[i], NVDP__LEDGER_HASH);
    return NVDP_OK;
}

/* --- records --- */

static bool counts(const struct nvdp__records *records, const struct nvdp__ledger_record *record) {
    return records->receiver == NULL || record->receiver == NULL ||
           memcmp(records->receiver, record->receiver, NVDP__LEDGER_HASH) == 0;
}

static size_t all_of(const struct nvdp__records *records) {
    return records->count + (records->next != NULL);
}

static const struct nvdp__ledger_record *record_at(const struct nvdp__records *records, size_t r) {
    return r < records->count ? &records->record[r] : records->next;
}

/* Returns the person of text i, or NULL. */
static const unsigned char *person_of(const struct nvdp__ledger_record *record, size_t i) {
    static const nvdp__text_hash nobody = {0};
    if (record->person == NULL || memcmp(record->person[i], nobody, sizeof nobody) == 0)
        return NULL;
    return record->person[i];
}

bool nvdp__name_persons(const struct nvdp__records *records) {
    for (size_t r = 0; r < all_of(records); r++)
        if (record_at(records, r)->person != NULL) return true;
    return false;
}

double nvdp__person_budget(const struct nvdp__ledger_record *record, size_t count) {
    while (count-- > 0)
        if (record[count].person_epsilon > 0) return record[count].person_epsilon;
    return 0;
}

/* --- by text --- */

bool nvdp__account_add(struct nvdp__account *account, const struct nvdp__ledger_record *record) {
    bool any = false;
    for (size_t i = 0; i < record->release->texts; i++) {
        struct nvdp__sum *of =
            bsearch(record->text[i], account->sum, account->count, sizeof *of, by_hash);
        if (of == NULL) continue;
        any = true;
        of->named = of->named || person_of(record, i) != NULL;
        spend(&of->spending, record);
    }
    return any;
}

/* Lists files as "dev.h5, train.h5 and others".  A record without a file name is listed by its model_id. */
static void list_file(const struct nvdp__ledger_record *record, size_t before,
                      char files[NVDP__LEDGER_FILES]) {
    enum { MAX_LISTED = 2 };
    const size_t used = strlen(files);
    const char *name = record->file, *end = record->finished ? "" : " (unfinished)";
    if (before > MAX_LISTED) return;
    if (before == MAX_LISTED)
        nvdp__snprintf(files + used, NVDP__LEDGER_FILES - used, " and other files");
    else
        nvdp__snprintf(files + used, NVDP__LEDGER_FILES - used, "%s%.*s%s", before > 0 ? ", " : "",
                       name[0] != '\0' ? NVDP__LEDGER_FILE : NVDP__LEDGER_ID,
                       name[0] != '\0' ? name : record->release->id, end);
}

nvdp_status nvdp__account_open(const struct nvdp__records *records,
                               const struct nvdp__ledger_record *of,
                               struct nvdp__account *account) {
    const size_t texts = (size_t)of->release->texts;
    nvdp__autofree nvdp__text_hash *text = NULL;
    size_t files = 0;
    account->delta = records->delta;
    account->filter = records->filter;
    account->spent.proven = records->filter.budget;
    account->spent.person_proven = records->person_filter.budget;
    NVDP_TRY(NVDP__NEW(records->ctx, text, texts));
    memcpy(text, of->text, texts * sizeof *text);
    account->count = distinct(text, texts, sizeof *text, by_hash);
    NVDP_TRY(make_sums(records->ctx, (const nvdp__text_hash *)text, account->count, &account->sum));
    for (size_t r = records->count; r-- > 0;) {
        const struct nvdp__ledger_record *record = &records->record[r];
        if (!counts(records, record) || !nvdp__account_add(account, record)) continue;
        if (files == 0) account->last = record->release;
        list_file(record, files++, account->spent.files);
        account->spent.shared_before = account->spent.shared_before || record->finished;
    }
    for (size_t i = 0; i < account->count; i++) {
        account->sum[i].before = account->sum[i].spending.samples;
        account->spent.seen_before += account->sum[i].before > 0;
    }
    return NVDP_OK;
}

/* Sums with the same history have the same epsilon, which is computed once for neighbors. */
void nvdp__account_close(struct nvdp__account *account) {
    struct nvdp__spent *worst = &account->spent;
    for (size_t i = 0; i < account->count; i++) {
        const struct nvdp__sum *sum = &account->sum[i];
        worst->unnamed += !sum->named;
        if (i > 0 && by_spending(sum - 1, sum) == 0) continue;
        if (sum->spending.samples > worst->samples) worst->samples = sum->spending.samples;
        worst->epsilon = fmax(worst->epsilon, epsilon_of(&sum->spending, account->delta));
        worst->mu = fmax(worst->mu, sqrt(sum->spending.mu_square));
        worst->filtered =
            fmax(worst->filtered, filtered_of(&sum->spending, &account->filter, account->delta));
        worst->word_mu = fmax(worst->word_mu, sqrt(sum->spending.word_square));
    }
}

/* --- by person --- */

/* A text of a person.  The person of a text without one is the text itself. */
struct pair {
    nvdp__text_hash text, person;
};

static int by_pair(const void *a, const void *b) {
    return memcmp(a, b, sizeof(struct pair));
}

/* Hashes, or pairs, that are collected. */
struct list {
    struct nvdp_context *ctx;
    nvdp__text_hash *hash;
    struct pair *pair;
    size_t count, capacity;
};

static nvdp_status put_hash(struct list *list, const unsigned char *hash) {
    NVDP_TRY(nvdp__reserve(list->ctx, &list->hash, &list->capacity, list->count + 1,
                           sizeof *list->hash));
    memcpy(list->hash[list->count++], hash, NVDP__LEDGER_HASH);
    return NVDP_OK;
}

static nvdp_status put_pair(struct list *list, const unsigned char *text,
                            const unsigned char *person) {
    NVDP_TRY(nvdp__reserve(list->ctx, &list->pair, &list->capacity, list->count + 1,
                           sizeof *list->pair));
    struct pair *pair = &list->pair[list->count++];
    memcpy(pair->text, text, NVDP__LEDGER_HASH);
    memcpy(pair->person, person, NVDP__LEDGER_HASH);
    return NVDP_OK;
}

static bool has_hash(const struct list *list, const unsigned char *hash) {
    return list->hash != NULL && list->count > 0 &&
           bsearch(hash, list->hash, list->count, sizeof *list->hash, by_hash) != NULL;
}

static bool has_pair(const struct list *list, const unsigned char *text,
                     const unsigned char *person) {
    struct pair pair;
    memcpy(pair.text, text, NVDP__LEDGER_HASH);
    memcpy(pair.person, person, NVDP__LEDGER_HASH);
    return list->count > 0 &&
           bsearch(&pair, list->pair, list->count, sizeof *list->pair, by_pair) != NULL;
}

/* Returns the first pair of the text, or the end of the list. */
static size_t find_text(const struct list *pairs, const unsigned char *text) {
    size_t low = 0, high = pairs->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_hash(pairs->pair[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_text(const struct list *pairs, const unsigned char *text) {
    const size_t at = find_text(pairs, text);
    return at < pairs->count && by_hash(pairs->pair[at].text, text) == 0;
}

/* Collects the texts of the record `of` with their persons in `own`; a text without one is its own person. */
static nvdp_status collect_own(const struct nvdp__ledger_record *of, struct list *own) {
    for (size_t i = 0; i < of->release->texts; i++) {
        const unsigned char *person = person_of(of, i);
        NVDP_TRY(put_pair(own, of->text[i], person != NULL ? person : of->text[i]));
    }
    own->count = distinct(own->pair, own->count, sizeof *own->pair, by_pair);
    return NVDP_OK;
}

/* Collects the persons in `own`, and those to whom any record gives one of these texts.  Counts the persons in `own`, and
 * the texts that it gives to another person than an earlier record. */
static nvdp_status collect_persons(const struct nvdp__records *records, const struct list *own,
                                   struct list *persons, struct nvdp__spent *spent) {
    nvdp_status status = NVDP_OK;
    struct list renamed = {.ctx = records->ctx};
    for (size_t k = 0; k < own->count; k++)
        NVDP_TRY_OR_CLEAN(put_hash(persons, own->pair[k].person));
    persons->count = distinct(persons->hash, persons->count, sizeof *persons->hash, by_hash);
    spent->persons = persons->count;
    for (size_t r = 0; r < records->count; r++) {
        const struct nvdp__ledger_record *record = &records->record[r];
        for (size_t i = 0; record->person != NULL && i < record->release->texts; i++) {
            const unsigned char *person = person_of(record, i), *text = record->text[i];
            if (person == NULL || !has_text(own, text) || has_pair(own, text, person)) continue;
            NVDP_TRY_OR_CLEAN(put_hash(persons, person));
            if (!has_pair(own, text, text)) NVDP_TRY_OR_CLEAN(put_hash(&renamed, text));
        }
    }
    persons->count = distinct(persons->hash, persons->count, sizeof *persons->hash, by_hash);
    spent->renamed = distinct(renamed.hash, renamed.count, sizeof *renamed.hash, by_hash);
cleanup:
    free(renamed.hash);
    return status;
}

/* Collects the texts of these persons in all records. */
static nvdp_status collect_pairs(const struct nvdp__records *records, const struct list *own,
                                 const struct list *persons, struct list *pairs) {
    for (size_t k = 0; k < own->count; k++)
        NVDP_TRY(put_pair(pairs, own->pair[k].text, own->pair[k].person));
    for (size_t r = 0; r < all_of(records); r++) {
        const struct nvdp__ledger_record *record = record_at(records, r);
        for (size_t i = 0; record->person != NULL && i < record->release->texts; i++) {
            const unsigned char *person = person_of(record, i);
            if (person != NULL && has_hash(persons, person))
                NVDP_TRY(put_pair(pairs, record->text[i], person));
        }
    }
    pairs->count = distinct(pairs->pair, pairs->count, sizeof *pairs->pair, by_pair);
    return NVDP_OK;
}

/* Adds each entry of the record to all persons of its text. */
static void add_record(const struct nvdp__ledger_record *record, const struct list *pairs,
                       struct nvdp__sum *sum, size_t sums) {
    for (size_t i = 0; i < record->release->texts; i++) {
        for (size_t k = find_text(pairs, record->text[i]);
             k < pairs->count && by_hash(pairs->pair[k].text, record->text[i]) == 0; k++) {
            struct nvdp__sum *to = bsearch(pairs->pair[k].person, sum, sums, sizeof *sum, by_hash);
            spend(&to->spending, record);
        }
    }
}

/* Finds the largest sums.  Sorts the sums, so that equal ones are neighbors, whose epsilon is computed once. */
static void find_worst(const struct nvdp__records *records, struct nvdp__sum *sum, size_t sums,
                       double budget, struct nvdp__spent *spent, size_t *over) {
    double epsilon = 0, filtered = 0, square = 0;
    if (sums > 1) qsort(sum, sums, sizeof *sum, by_spending);
    for (size_t i = 0; i < sums; i++) {
        if (i == 0 || by_spending(&sum[i - 1], &sum[i]) != 0) {
            epsilon = epsilon_of(&sum[i].spending, records->delta);
            filtered = filtered_of(&sum[i].spending, &records->person_filter, records->delta);
        }
        *over += budget > 0 && filtered > budget;
        spent->person_texts = nvdp__max(spent->person_texts, sum[i].texts);
        spent->person_samples = nvdp__max(spent->person_samples, sum[i].spending.samples);
        spent->person_epsilon = fmax(spent->person_epsilon, epsilon);
        spent->person_filtered = fmax(spent->person_filtered, filtered);
        square = fmax(square, sum[i].spending.mu_square);
    }
    spent->person_mu = sqrt(square);
}

nvdp_status nvdp__spent_of_persons(const struct nvdp__records *records,
                                   const struct nvdp__ledger_record *of, double budget,
                                   struct nvdp__spent *spent, size_t *over, size_t *count) {
    nvdp_status status = NVDP_OK;
    struct list own = {.ctx = records->ctx}, persons = own, pairs = own;
    struct nvdp__sum *sum = NULL;
    *over = 0;
    NVDP_TRY_OR_CLEAN(collect_own(of, &own));
    NVDP_TRY_OR_CLEAN(collect_persons(records, &own, &persons, spent));
    NVDP_TRY_OR_CLEAN(collect_pairs(records, &own, &persons, &pairs));
    *count = persons.count;
    if (pairs.pair == NULL) goto cleanup; /* no texts */
    NVDP_TRY_OR_CLEAN(
        make_sums(records->ctx, (const nvdp__text_hash *)persons.hash, persons.count, &sum));
    for (size_t k = 0; k < pairs.count; k++) {
        struct nvdp__sum *to =
            bsearch(pairs.pair[k].person, sum, persons.count, sizeof *sum, by_hash);
        to->texts++;
    }
    for (size_t r = 0; r < all_of(records); r++)
        if (counts(records, record_at(records, r)))
            add_record(record_at(records, r), &pairs, sum, persons.count);
    find_worst(records, sum, persons.count, budget, spent, over);
cleanup:
    free(own.pair);
    free(persons.hash);
    free(pairs.pair);
    free(sum);
    return status;
}

/* --- by receiver --- */

static nvdp_status add_receiver(const struct nvdp__records *records,
                                const struct nvdp__ledger_record *of, struct nvdp__spent *spent) {
    nvdp_status status = NVDP_OK;
    struct nvdp__account account = {0};
    struct nvdp__spent person = {0};
    size_t over = 0, persons = 0;
    NVDP_TRY_OR_CLEAN(nvdp__account_open(records, of, &account));
    if (records->next != NULL && counts(records, records->next))
        nvdp__account_add(&account, records->next);
    nvdp__account_close(&account);
    if (of->person != NULL)
        NVDP_TRY_OR_CLEAN(nvdp__spent_of_persons(records, of, 0, &person, &over, &persons));
    spent->receiver_samples = nvdp__max(spent->receiver_samples, account.spent.samples);
    spent->receiver_epsilon = fmax(spent->receiver_epsilon, account.spent.epsilon);
    spent->receiver_person_epsilon = fmax(spent->receiver_person_epsilon, person.person_epsilon);
cleanup:
    free(account.sum);
    return status;
}

nvdp_status nvdp__spent_of_receivers(const struct nvdp__records *records,
                                     const struct nvdp__ledger_record *of,
                                     struct nvdp__spent *spent) {
    nvdp_status status = NVDP_OK;
    struct list receivers = {.ctx = records->ctx};
    for (size_t r = 0; r < all_of(records); r++)
        if (record_at(records, r)->receiver != NULL)
            NVDP_TRY_OR_CLEAN(put_hash(&receivers, record_at(records, r)->receiver));
    receivers.count = distinct(receivers.hash, receivers.count, sizeof *receivers.hash, by_hash);
    spent->receivers = receivers.count;
    for (size_t k = 0; k < receivers.count; k++) {
        struct nvdp__records one = *records;
        one.receiver = receivers.hash[k];
        NVDP_TRY_OR_CLEAN(add_receiver(&one, of, spent));
    }
cleanup:
    free(receivers.hash);
    return status;
}
