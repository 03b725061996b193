/* Adds up the records of a ledger by text, by person and by receiver.  Read ledger.h first. */
#include "base/array.h"
#include "base/file.h"
#include "options/schema.h"
#include "share/ledger.h"
#include <math.h>
#include <nvdp/privacy.h>
#include <nvdp/rdp.h>
#include <nvdp/share.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* --- sums --- */

/* Returns mu of one sample per word. A bound for any two texts holds for two texts that differ in a word, too. */
static double word_mu(const struct nvdp__ledger_record *record) {
    return record->word_mu > 0 ? fmin(record->word_mu, record->release->mu) : record->release->mu;
}

/* Adds `rows` rows of a record.  The rows of an export have independent noise: k rows have k mu^2, and each mean is
 * within mu / 2 of the center.  The rows of a summary share the same Gaussian noise: k rows have (k mu)^2, and are
 * within k mu / sqrt(2) of the center of all possible rows (proofs.md, 11). */
static void spend(struct nvdp__spending *to, const struct nvdp__ledger_record *record,
                  uint64_t rows) {
    const struct nvdp__ledger_release *release = record->release;
    const uint64_t samples = release->samples * (record->shared ? 1 : rows);
    const double times = (double)samples * (record->shared ? (double)rows * (double)rows : 1);
    const double square = release->mu * release->mu, word = word_mu(record) * word_mu(record);
    if (samples == 0) return; /* 0 times infinity is not 0 */
    to->samples += samples;
    to->mu_square += times * square;
    to->radius_square += times * square / (record->shared ? 2 : 4);
    to->word_square += times * word;
    to->word_radius_square += times * word / (record->shared ? 2 : 4);
    for (size_t k = 0; k < NVDP__LEDGER_ORDERS; k++)
        to->divergence[k] +=
            times * (record->shared ? nvdp__ledger_orders[k] * square / 2 : release->divergence[k]);
    to->distance += times * record->distance;
}

/* Adds the rows that were counted in the record, and resets the count. */
static void spend_counted(struct nvdp__sum *of, const struct nvdp__ledger_record *record) {
    if (of->rows > 0) spend(&of->spending, record, of->rows);
    of->rows = 0;
}

/* Returns the epsilon of all releases together.  Gaussian mechanisms compose exactly into one mechanism.  Other
 * mechanisms compose by the divergences of each order, which add up (van Erven & Harremoes 2014); the order with the
 * smallest epsilon counts.  Nothing is proven if the samplers of the weights add more than a negligible part to
 * delta. */
static double total_epsilon(const struct nvdp__spending *spending, double delta) {
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
    spend(&sum, record, rows);
    return (struct nvdp__spent){.samples = sum.samples,
                                .epsilon = total_epsilon(&sum, delta),
                                .word_mu = sqrt(sum.word_square)};
}

/* Returns the epsilon that is compared with a budget.  If the budget has a filter, this is the epsilon at the order of
 * the filter, which was fixed before. */
static double filtered_epsilon(const struct nvdp__spending *spending,
                               const struct nvdp__filter *filter, double delta) {
    if (filter->budget == 0) return total_epsilon(spending, delta);
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
        /* Epsilon is the divergence plus a constant, unless epsilon is 0. */
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

/* Sorts items by their bytes, and removes duplicates.  Returns the number of distinct items. */
static size_t remove_duplicates(void *items, size_t count, size_t size) {
    const struct nvdp__key key = {.size = size, .kind = NVDP__KEY_MEMORY};
    char *item = items;
    size_t kept = 0;
    nvdp__sort(items, count, size, &key, 1);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && memcmp(item + (kept - 1) * size, item + i * size, size) == 0) continue;
        memmove(item + kept++ * size, item + i * size, size);
    }
    return kept;
}

/* --- blocks: sums are added up for one block of texts or persons after the other, so that memory is bounded --- */

enum { SUMS = 1 << 15 }; /* max sums of a block, unless many digests begin alike */

/* The sums of some texts or persons, sorted by hash. */
struct block {
    struct nvdp__sum *sum; /* [count] */
    size_t count, capacity;
};

/* Returns true unless the hash is before or after all hashes of the block. */
static bool in_block(const struct block *block, const unsigned char *hash) {
    return block->count > 0 && by_hash(hash, block->sum[0].of) >= 0 &&
           by_hash(hash, block->sum[block->count - 1].of) <= 0;
}

/* Returns NULL if the block has no such sum. */
static struct nvdp__sum *find_sum(const struct block *block, const unsigned char *hash) {
    return in_block(block, hash)
               ? bsearch(hash, block->sum, block->count, sizeof *block->sum, by_hash)
               : NULL;
}

/* --- records --- */

static bool counts(const struct nvdp__records *records, const struct nvdp__ledger_record *record) {
    return records->receiver == NULL || record->receiver == NULL ||
           memcmp(records->receiver, record->receiver, NVDP__LEDGER_HASH) == 0;
}

static size_t record_count(const struct nvdp__records *records) {
    return records->count + (records->next != NULL);
}

static const struct nvdp__ledger_record *record_at(const struct nvdp__records *records, size_t r) {
    return r < records->count ? &records->record[r] : records->next;
}

/* Returns the person of text i, or NULL. */
static const unsigned char *text_person(const struct nvdp__ledger_record *record, size_t i) {
    return record->person != NULL && !sodium_is_zero(record->person[i], NVDP__LEDGER_HASH)
               ? record->person[i]
               : NULL;
}

bool nvdp__name_persons(const struct nvdp__records *records) {
    for (size_t r = 0; r < record_count(records); r++)
        if (record_at(records, r)->person != NULL) return true;
    return false;
}

double nvdp__person_budget(const struct nvdp__ledger_record *record, size_t count) {
    while (count-- > 0)
        if (record[count].person_epsilon > 0) return record[count].person_epsilon;
    return 0;
}

/* --- texts and their persons --- */

/* A text and its person.  If the text has no person, the person is the text's hash. */
struct pair {
    nvdp__text_hash text, person;
};

/* A list of pairs.  In a list of single hashes, each pair has the same hash twice. */
struct list {
    struct nvdp_context *ctx;
    struct pair *pair;
    size_t count, capacity;
};

static void release_list(struct list *list) {
    free(list->pair);
}

static nvdp_status put(struct list *list, const unsigned char *text, const unsigned char *person) {
    struct pair pair;
    memcpy(pair.text, text, sizeof pair.text);
    memcpy(pair.person, person, sizeof pair.person);
    return NVDP__PUSH(list->ctx, list->pair, list->count, list->capacity, pair);
}

/* Makes the sums of the pairs [first, first + count) of a sorted list, by their first hash, in place of other sums. */
static nvdp_status fill_block(struct nvdp_context *ctx, const struct list *of, size_t first,
                              size_t count, struct block *block) {
    block->count = count;
    NVDP_TRY(nvdp__reserve(ctx, &block->sum, &block->capacity, nvdp__max(count, SUMS),
                           sizeof *block->sum));
    memset(block->sum, 0, count * sizeof *block->sum);
    for (size_t i = 0; i < count; i++)
        memcpy(block->sum[i].of, of->pair[first + i].text, sizeof block->sum->of);
    return NVDP_OK;
}

static void release_block(struct block *block) {
    free(block->sum);
}

static void keep_distinct(struct list *list) {
    if (list->pair == NULL) return;
    list->count = remove_duplicates(list->pair, list->count, sizeof *list->pair);
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

static bool has_pair(const struct list *pairs, const unsigned char *text,
                     const unsigned char *person) {
    for (size_t at = find_text(pairs, text);
         at < pairs->count && by_hash(pairs->pair[at].text, text) == 0; at++)
        if (by_hash(pairs->pair[at].person, person) == 0) return true;
    return false;
}

/* Returns true if the block has the text, or, with `pairs`, a person of the text. */
static bool concerns(const struct block *block, const struct list *pairs,
                     const unsigned char *text) {
    if (pairs == NULL) return in_block(block, text);
    for (size_t k = find_text(pairs, text);
         k < pairs->count && by_hash(pairs->pair[k].text, text) == 0; k++)
        if (in_block(block, pairs->pair[k].person)) return true;
    return false;
}

/* Collects the distinct pairs of a text and its person in the record, for the texts that concern the block.  Leaves out
 * texts without a person. */
static nvdp_status collect_given(const struct nvdp__ledger_record *record,
                                 const struct block *block, const struct list *pairs,
                                 struct list *given) {
    for (size_t i = 0; i < record->release->texts; i++)
        if (text_person(record, i) != NULL && concerns(block, pairs, record->text[i]))
            NVDP_TRY(put(given, record->text[i], text_person(record, i)));
    keep_distinct(given);
    return NVDP_OK;
}

nvdp_status nvdp__units_of_record(struct nvdp_context *ctx,
                                  const struct nvdp__ledger_record *record, uint64_t texts,
                                  uint64_t *units) {
    nvdp__auto(release_list) struct list persons = {.ctx = ctx};
    *units = record->release->texts;
    for (size_t i = 0; record->by_person && i < record->release->texts; i++) {
        const unsigned char *person = text_person(record, i);
        if (person == NULL) continue;
        NVDP_TRY(put(&persons, person, person));
        --*units;
    }
    keep_distinct(&persons);
    *units = *units / texts + persons.count;
    return NVDP_OK;
}

/* --- by text --- */

/* Adds a record to the texts of a block.  Sets *any if the record has one of the texts.  A text that occurs twice in
 * the record counts twice, but only once per person if all rows of a person count as one. */
static nvdp_status add(struct nvdp_context *ctx, const struct block *block,
                       const struct nvdp__ledger_record *record, bool *any) {
    nvdp__auto(release_list) struct list given = {.ctx = ctx};
    bool found = false;
    if (record->by_person) NVDP_TRY(collect_given(record, block, NULL, &given));
    for (size_t i = 0; i < record->release->texts; i++) {
        struct nvdp__sum *of = find_sum(block, record->text[i]);
        const bool named = text_person(record, i) != NULL;
        if (of == NULL) continue;
        found = true;
        of->named = of->named || named;
        of->rows += !(record->by_person && named);
    }
    for (size_t k = 0; found && k < given.count; k++) {
        struct nvdp__sum *of = find_sum(block, given.pair[k].text);
        if (of != NULL) of->rows++;
    }
    for (size_t k = 0; found && k < block->count; k++)
        spend_counted(&block->sum[k], record);
    *any = *any || found;
    return NVDP_OK;
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

/* Finds the largest sums.  Computes epsilon once for equal sums that are neighbors.
 * worst->persons_over counts the sums whose epsilon is above `budget` (0 if there is none). */
static void find_largest(const struct nvdp__sum *sum, size_t count, double delta,
                         const struct nvdp__filter *filter, double budget,
                         struct nvdp__spent *worst) {
    double epsilon = 0, filtered = 0;
    for (size_t i = 0; i < count; i++) {
        const struct nvdp__spending *spending = &sum[i].spending;
        if (i == 0 || nvdp__compare(&sum[i - 1], &sum[i],
                                    NVDP__KEYS(NVDP__UP_MEMORY(struct nvdp__sum, spending))) != 0) {
            epsilon = total_epsilon(spending, delta);
            filtered = filtered_epsilon(spending, filter, delta);
        }
        worst->persons_over += budget > 0 && filtered > budget;
        worst->unnamed += !sum[i].named;
        worst->person_texts = nvdp__max(worst->person_texts, sum[i].texts);
        worst->samples = nvdp__max(worst->samples, spending->samples);
        worst->epsilon = fmax(worst->epsilon, epsilon);
        worst->filtered = fmax(worst->filtered, filtered);
        worst->mu = fmax(worst->mu, sqrt(spending->mu_square));
        worst->radius = fmax(worst->radius, sqrt(spending->radius_square));
        worst->word_radius = fmax(worst->word_radius, sqrt(spending->word_radius_square));
        worst->word_mu = fmax(worst->word_mu, sqrt(spending->word_square));
    }
}

/* Adds up the records for the texts of a block.  Sets any[r] if record r has one of the texts. */
static nvdp_status sum_block(const struct nvdp__records *records, const struct block *block,
                             bool *any, struct nvdp__account *account) {
    for (size_t r = records->count; r-- > 0;)
        if (counts(records, &records->record[r]))
            NVDP_TRY(add(records->ctx, block, &records->record[r], &any[r]));
    for (size_t i = 0; i < block->count; i++) {
        block->sum[i].before = block->sum[i].spending.samples;
        account->spent.seen_before += block->sum[i].before > 0;
    }
    if (records->next != NULL && counts(records, records->next))
        NVDP_TRY(add(records->ctx, block, records->next, &any[records->count]));
    for (size_t i = 0; i < block->count; i++) {
        const struct nvdp__sum *sum = &block->sum[i];
        uint64_t *most = sum->before > 0 ? &account->most_again : &account->most_new;
        *most = nvdp__max(*most, sum->spending.samples);
        account->most_before = nvdp__max(account->most_before, sum->before);
    }
    find_largest(block->sum, block->count, records->delta, &records->filter, 0, &account->spent);
    return NVDP_OK;
}

/* Collects those distinct texts of a record that are in block b of `blocks`: digests are split by their first bytes. */
static nvdp_status take_texts(const struct nvdp__ledger_record *of, size_t b, size_t blocks,
                              struct list *texts) {
    texts->count = 0;
    for (size_t i = 0; i < of->release->texts; i++) {
        const unsigned char *hash = of->text[i];
        const uint64_t first = (uint64_t)hash[0] << 16 | (uint64_t)hash[1] << 8 | hash[2];
        if (first * blocks >> 24 == b) NVDP_TRY(put(texts, hash, hash));
    }
    keep_distinct(texts);
    return NVDP_OK;
}

nvdp_status nvdp__account_sum(const struct nvdp__records *records,
                              const struct nvdp__ledger_record *of, struct nvdp__account *account) {
    const size_t blocks = (size_t)of->release->texts / (SUMS - SUMS / 8) + 1;
    nvdp__auto(release_list) struct list texts = {.ctx = records->ctx};
    nvdp__autofree bool *any = NULL;
    nvdp__auto(release_block) struct block block = {0};
    size_t files = 0;
    account->spent.proven = records->filter.budget;
    account->spent.person_proven = records->person_filter.budget;
    NVDP_TRY(NVDP__NEW(records->ctx, any, record_count(records)));
    for (size_t b = 0; b < blocks; b++) {
        NVDP_TRY(take_texts(of, b, blocks, &texts));
        NVDP_TRY(fill_block(records->ctx, &texts, 0, texts.count, &block));
        NVDP_TRY(sum_block(records, &block, any, account));
        account->count += block.count;
    }
    for (size_t r = records->count; r-- > 0;) {
        const struct nvdp__ledger_record *record = &records->record[r];
        if (!any[r]) continue;
        if (files == 0) account->last = record->release;
        list_file(record, files++, account->spent.files);
        account->spent.shared_before = account->spent.shared_before || record->finished;
    }
    return NVDP_OK;
}

/* --- by person --- */

/* Collects the persons in `own`, and the persons to whom any record assigns one of these texts.  Counts the persons in
 * `own`, and the texts that `own` assigns to another person than an earlier record. */
static nvdp_status collect_persons(const struct nvdp__records *records, const struct list *own,
                                   struct list *persons, struct nvdp__spent *spent) {
    nvdp__auto(release_list) struct list renamed = {.ctx = records->ctx};
    for (size_t k = 0; k < own->count; k++)
        NVDP_TRY(put(persons, own->pair[k].person, own->pair[k].person));
    keep_distinct(persons);
    spent->persons = persons->count;
    for (size_t r = 0; r < records->count; r++) {
        const struct nvdp__ledger_record *record = &records->record[r];
        for (size_t i = 0; record->person != NULL && i < record->release->texts; i++) {
            const unsigned char *person = text_person(record, i), *text = record->text[i];
            if (person == NULL || !has_text(own, text) || has_pair(own, text, person)) continue;
            NVDP_TRY(put(persons, person, person));
            if (!has_pair(own, text, text)) NVDP_TRY(put(&renamed, text, text));
        }
    }
    keep_distinct(persons);
    keep_distinct(&renamed);
    spent->renamed = renamed.count;
    return NVDP_OK;
}

/* Collects the texts of these persons in all records. */
static nvdp_status collect_pairs(const struct nvdp__records *records, const struct list *own,
                                 const struct list *persons, struct list *pairs) {
    for (size_t k = 0; k < own->count; k++)
        NVDP_TRY(put(pairs, own->pair[k].text, own->pair[k].person));
    for (size_t r = 0; r < record_count(records); r++) {
        const struct nvdp__ledger_record *record = record_at(records, r);
        for (size_t i = 0; record->person != NULL && i < record->release->texts; i++) {
            const unsigned char *person = text_person(record, i);
            if (person != NULL && has_text(persons, person))
                NVDP_TRY(put(pairs, record->text[i], person));
        }
    }
    keep_distinct(pairs);
    return NVDP_OK;
}

/* Collects the units of a summary of persons for which a person of the block pays, as pairs of person and unit: the unit
 * of the person, and units with a text of the person that the record assigns only to other persons. */
static nvdp_status collect_units(const struct nvdp__ledger_record *record,
                                 const struct block *block, const struct list *pairs,
                                 struct list *units) {
    nvdp__auto(release_list) struct list given = {.ctx = units->ctx};
    NVDP_TRY(collect_given(record, block, pairs, &given));
    for (size_t g = 0; g < given.count; g++) {
        const unsigned char *text = given.pair[g].text, *unit = given.pair[g].person;
        for (size_t k = find_text(pairs, text);
             k < pairs->count && by_hash(pairs->pair[k].text, text) == 0; k++) {
            const unsigned char *person = pairs->pair[k].person;
            if (in_block(block, person) &&
                (by_hash(person, unit) == 0 || !has_pair(&given, text, person)))
                NVDP_TRY(put(units, person, unit));
        }
    }
    keep_distinct(units);
    return NVDP_OK;
}

/* Adds a record to those persons of the block to whom `pairs` assign the record's texts. */
static nvdp_status add_to_persons(const struct nvdp__ledger_record *record,
                                  const struct list *pairs, const struct block *block) {
    nvdp__auto(release_list) struct list units = {.ctx = pairs->ctx};
    if (record->by_person) NVDP_TRY(collect_units(record, block, pairs, &units));
    for (size_t u = 0; u < units.count; u++) {
        struct nvdp__sum *of = find_sum(block, units.pair[u].text);
        if (of != NULL) of->rows++;
    }
    for (size_t i = 0; i < record->release->texts; i++)
        for (size_t k = find_text(pairs, record->text[i]);
             k < pairs->count && by_hash(pairs->pair[k].text, record->text[i]) == 0; k++) {
            struct nvdp__sum *of = find_sum(block, pairs->pair[k].person);
            if (of != NULL && (!record->by_person || text_person(record, i) == NULL)) of->rows++;
        }
    for (size_t k = 0; k < block->count; k++)
        spend_counted(&block->sum[k], record);
    return NVDP_OK;
}

/* Adds up the persons of the record.  A text without a person counts as a separate person. */
static nvdp_status add_persons(const struct nvdp__records *records,
                               const struct nvdp__ledger_record *of, double budget,
                               struct nvdp__spent *spent) {
    nvdp__auto(release_list) struct list own = {.ctx = records->ctx}, persons = own, pairs = own;
    nvdp__auto(release_block) struct block block = {0};
    struct nvdp__spent worst = {0};
    if (of->release->texts == 0) return NVDP_OK;
    NVDP_TRY(nvdp__reserve(records->ctx, &own.pair, &own.capacity, (size_t)of->release->texts,
                           sizeof *own.pair));
    for (size_t i = 0; i < of->release->texts; i++) {
        const unsigned char *person = text_person(of, i);
        NVDP_TRY(put(&own, of->text[i], person != NULL ? person : of->text[i]));
    }
    keep_distinct(&own);
    NVDP_TRY(collect_persons(records, &own, &persons, spent));
    NVDP_TRY(collect_pairs(records, &own, &persons, &pairs));
    spent->persons_compared = persons.count;
    for (size_t first = 0; first < persons.count; first += SUMS) {
        NVDP_TRY(fill_block(records->ctx, &persons, first, nvdp__min(persons.count - first, SUMS),
                            &block));
        for (size_t k = 0; k < pairs.count; k++) {
            struct nvdp__sum *to = find_sum(&block, pairs.pair[k].person);
            if (to != NULL) to->texts++;
        }
        for (size_t r = 0; r < record_count(records); r++)
            if (counts(records, record_at(records, r)))
                NVDP_TRY(add_to_persons(record_at(records, r), &pairs, &block));
        NVDP__SORT(block.sum, block.count, NVDP__UP_MEMORY(struct nvdp__sum, spending));
        find_largest(block.sum, block.count, records->delta, &records->person_filter, budget,
                     &worst);
    }
    spent->persons_over = worst.persons_over;
    spent->person_texts = worst.person_texts;
    spent->person_samples = worst.samples;
    spent->person_epsilon = worst.epsilon;
    spent->person_filtered = worst.filtered;
    spent->person_mu = worst.mu;
    spent->person_radius = worst.radius;
    return NVDP_OK;
}

/* --- by receiver --- */

nvdp_status nvdp__spent_of_names(const struct nvdp__records *records,
                                 const struct nvdp__ledger_record *of, double budget,
                                 struct nvdp__spent *spent) {
    nvdp__auto(release_list) struct list receivers = {.ctx = records->ctx};
    if (of->person != NULL) NVDP_TRY(add_persons(records, of, budget, spent));
    /* the largest sums of a single receiver */
    for (size_t r = 0; r < record_count(records); r++) {
        const unsigned char *receiver = record_at(records, r)->receiver;
        if (receiver != NULL) NVDP_TRY(put(&receivers, receiver, receiver));
    }
    keep_distinct(&receivers);
    spent->receivers = receivers.count;
    for (size_t k = 0; k < receivers.count; k++) {
        struct nvdp__account account = {0};
        struct nvdp__records one = *records;
        struct nvdp__spent person = {0};
        one.receiver = receivers.pair[k].text;
        NVDP_TRY(nvdp__account_sum(&one, of, &account));
        if (of->person != NULL) NVDP_TRY(add_persons(&one, of, 0, &person));
        spent->receiver_samples = nvdp__max(spent->receiver_samples, account.spent.samples);
        spent->receiver_epsilon = fmax(spent->receiver_epsilon, account.spent.epsilon);
        spent->receiver_person_epsilon =
            fmax(spent->receiver_person_epsilon, person.person_epsilon);
    }
    return NVDP_OK;
}

/* ---- the whole ledger ---- */

/* Sums up a whole ledger for its owner: texts, persons and receivers, with the guess bound for a person. */

/* Makes one record of the texts and persons of all records.  *record owns both arrays. */
static nvdp_status join(const struct nvdp__records *records, struct nvdp__ledger_release *release,
                        struct nvdp__ledger_record *record, nvdp__text_hash **text,
                        nvdp__text_hash **person) {
    size_t all = 0, at = 0;
    bool named = false;
    for (size_t r = 0; r < records->count; r++) {
        all += (size_t)records->record[r].release->texts;
        named = named || records->record[r].person != NULL;
    }
    *release = (struct nvdp__ledger_release){.texts = all};
    NVDP_TRY(NVDP__ARRAYS(records->ctx, NULL, NVDP__ITEMS(*text, all), NVDP__ITEMS(*person, all)));
    for (size_t r = 0; r < records->count; r++) {
        const struct nvdp__ledger_record *from = &records->record[r];
        const size_t texts = (size_t)from->release->texts;
        memcpy(*text + at, from->text, texts * NVDP__LEDGER_HASH);
        if (from->person != NULL) memcpy(*person + at, from->person, texts * NVDP__LEDGER_HASH);
        at += texts;
    }
    *record =
        (struct nvdp__ledger_record){.release = release,
                                     .text = (const nvdp__text_hash *)*text,
                                     .person = named ? (const nvdp__text_hash *)*person : NULL,
                                     .file = ""};
    return NVDP_OK;
}

static const double baselines[] = {.5, 1e-3, 1e-6};

void nvdp__spent_persons(const struct nvdp__spent *spent, struct nvdp_persons *out) {
    *out = (struct nvdp_persons){.persons = (size_t)spent->persons,
                                 .texts = spent->person_texts,
                                 .samples = spent->person_samples,
                                 .epsilon = spent->persons > 0 ? spent->person_epsilon : NAN,
                                 .delta = spent->persons > 0 ? NVDP__LEDGER_DELTA : NAN,
                                 .mu = spent->persons > 0 ? spent->person_mu : NAN,
                                 .radius = spent->persons > 0 ? spent->person_radius : NAN};
    if (spent->persons == 0 || !isfinite(spent->person_mu)) return;
    for (size_t i = 0; i < sizeof baselines / sizeof *baselines; i++)
        out->guess[out->guesses++] = (struct nvdp_bounded_guess){
            baselines[i], nvdp_guess_bound(baselines[i], spent->person_radius, 1, 0)};
}

nvdp_status nvdp__ledger_summarize(struct nvdp_context *ctx, const char *path, const char *key,
                                   const char *run, double delta, struct nvdp_ledger_summary *out) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    struct nvdp__account account = {0};
    struct nvdp__ledger_release release;
    struct nvdp__ledger_record record;
    nvdp__autofree nvdp__text_hash *text = NULL, *person = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (path == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "ledger: expected a file, found none");
    const struct nvdp__path beside = nvdp__path_format("%s.key", path);
    NVDP_TRY(nvdp__ledger_open(ctx, path, key != NULL ? key : beside.text, NULL, &ledger));
    if (run != NULL) NVDP_TRY(nvdp__ledger_of_run(ledger, run));
    struct nvdp__records records = nvdp__ledger_records(ledger, NULL);
    records.delta = delta;
    NVDP_TRY(join(&records, &release, &record, &text, &person));
    NVDP_TRY(nvdp__account_sum(&records, &record, &account));
    struct nvdp__spent *spent = &account.spent;
    NVDP_TRY(nvdp__spent_of_names(&records, &record, 0, spent));
    struct nvdp_ledger_summary made = {
        .struct_size = sizeof made,
        .releases = records.count,
        .texts = account.count,
        .samples = spent->samples,
        .epsilon = spent->epsilon,
        .delta = delta,
        .budget_epsilon =
            records.count > 0 ? records.record[records.count - 1].release->budget.epsilon : 0,
        .person_budget = nvdp__person_budget(records.record, records.count),
        .receivers = (size_t)spent->receivers,
        .receiver_samples = spent->receiver_samples,
        .word_epsilon = isfinite(spent->word_mu)
                            ? fmin(nvdp_gdp_epsilon(spent->word_mu, delta), spent->epsilon)
                            : spent->epsilon,
        .receiver_epsilon = spent->receivers > 0 ? spent->receiver_epsilon : NAN,
        .receiver_person_epsilon =
            spent->receivers > 0 && spent->persons > 0 ? spent->receiver_person_epsilon : NAN,
        .returned = ledger->returned,
        .proven_epsilon = spent->proven,
        .proven_person_epsilon = spent->person_proven,
        .unnamed_texts = record.person != NULL ? spent->unnamed : 0,
    };
    nvdp__spent_persons(spent, &made.person);
    if (made.person.persons > 0) made.person.delta = delta;
    return NVDP__GIVE(out, &made);
}

nvdp_status nvdp_ledger_summarize(struct nvdp_context *ctx, const char *path, const char *key,
                                  struct nvdp_ledger_summary *out) {
    return nvdp__ledger_summarize(ctx, path, key, NULL, NVDP__LEDGER_DELTA, out);
}
