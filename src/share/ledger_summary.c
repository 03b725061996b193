/* Sums up a whole ledger for its owner: texts, persons and receivers, with the guess bound for a person. */
#include "share/spending.h"

#include "options/schema.h"
#include <math.h>
#include <nvdp/share.h>
#include <stdlib.h>
#include <string.h>

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
    NVDP_TRY(NVDP__NEW(records->ctx, *text, all));
    NVDP_TRY(NVDP__NEW(records->ctx, *person, all));
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
                                 .mu = spent->persons > 0 ? spent->person_mu : NAN};
    if (spent->persons == 0 || !isfinite(spent->person_mu)) return;
    for (size_t i = 0; i < sizeof baselines / sizeof *baselines; i++)
        out->guess[out->guesses++] = (struct nvdp_guess){
            baselines[i], nvdp_guess_bound(baselines[i], spent->person_mu / 2, 1, 0)};
}

nvdp_status nvdp__ledger_summarize(struct nvdp_context *ctx, const char *path, const char *key,
                                   const char *run, double delta, struct nvdp_ledger_summary *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__ledger *ledger = NULL;
    struct nvdp__account account = {0};
    struct nvdp__ledger_release release;
    struct nvdp__ledger_record record;
    nvdp__text_hash *text = NULL, *person = NULL;
    char *beside = NULL;
    size_t over, persons;
    NVDP_TRY_OR_CLEAN(nvdp__can_give(ctx, out));
    if (path == NULL)
        NVDP_TRY_OR_CLEAN(
            nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "ledger: expected a file, found none"));
    if (key == NULL) {
        beside = nvdp__format(ctx, "%s.key", path);
        NVDP_TRY_OR_CLEAN(NVDP__MADE(beside));
    }
    NVDP_TRY_OR_CLEAN(nvdp__ledger_open(ctx, path, key != NULL ? key : beside, NULL, &ledger));
    if (run != NULL) NVDP_TRY_OR_CLEAN(nvdp__ledger_of_run(ledger, run));
    struct nvdp__records records = nvdp__ledger_records(ledger);
    records.delta = delta;
    NVDP_TRY_OR_CLEAN(join(&records, &release, &record, &text, &person));
    NVDP_TRY_OR_CLEAN(nvdp__account_open(&records, &record, &account));
    nvdp__account_close(&account);
    struct nvdp__spent *spent = &account.spent;
    if (record.person != NULL)
        NVDP_TRY_OR_CLEAN(nvdp__spent_of_persons(&records, &record, 0, spent, &over, &persons));
    NVDP_TRY_OR_CLEAN(nvdp__spent_of_receivers(&records, &record, spent));
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
        .returned = nvdp__ledger_returned(ledger),
        .proven_epsilon = spent->proven,
        .proven_person_epsilon = spent->person_proven,
        .unnamed_texts = record.person != NULL ? spent->unnamed : 0,
    };
    nvdp__spent_persons(spent, &made.person);
    if (made.person.persons > 0) made.person.delta = delta;
    NVDP__GIVE(out, &made);
cleanup:
    nvdp__ledger_close(ledger);
    free(account.sum);
    free(text);
    free(person);
    free(beside);
    return status;
}

nvdp_status nvdp_ledger_summarize(struct nvdp_context *ctx, const char *path, const char *key,
                                  struct nvdp_ledger_summary *out) {
    return nvdp__ledger_summarize(ctx, path, key, NULL, NVDP__LEDGER_DELTA, out);
}
