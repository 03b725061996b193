/* The ledger in an export: the record of the release, the epsilon of duplicates, the count before anything is drawn,
 * and the end of the release in the ledger. */
#include "base/own.h"
#include "share/export.h"
#include "share/summarize.h"
#include "text/tokenizer.h"
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

/* Makes the ledger record of this export, with the guarantee of one sample.  Cuts a path that is too long at the
 * beginning, so that the file name remains. */
struct nvdp__ledger_release nvdp__export_record(const struct nvdp__export *export) {
    const struct nvdp__export_options *options = export->options;
    const struct nvdp__release_facts *facts = &export->facts;
    const struct nvdp_certificate *made = &facts->certificate;
    struct nvdp__ledger_release release = {
        .texts = export->from.texts,
        .samples = options->samples,
        .budget = {options->budget.samples, options->budget.epsilon},
        .type = facts->persons                                        ? NVDP__LEDGER_PERSON_SAMPLES
                : export->summary != NULL && export->summary->persons ? NVDP__LEDGER_PERSONS
                                                                      : export->kind->type,
        .mu = facts->certified && made->theorem == NVDP_THEOREM_SEQUENCE
                  ? made->mu / sqrt((double)facts->samples)
                  : INFINITY};
    const size_t length = strlen(options->out), room = sizeof release.file - 1;
    memcpy(release.id, facts->model_id, sizeof release.id);
    nvdp__snprintf(release.file, sizeof release.file, "%s",
                   options->out + (length > room ? length - room : 0));
    for (size_t k = 0; k < NVDP__LEDGER_ORDERS; k++)
        release.divergence[k] =
            facts->certified
                ? nvdp__certified_divergence(&facts->limits, made->theorem, nvdp__ledger_orders[k])
                : INFINITY;
    return release;
}

/* Returns the numbers of the record that are not names.  Sets `each` if the promise is for each row of a text. */
static struct nvdp__ledger_names record_numbers(const struct nvdp__export *export) {
    const struct nvdp__export_options *options = export->options;
    const struct nvdp__release_facts *facts = &export->facts;
    return (struct nvdp__ledger_names){.person_epsilon = options->person_epsilon,
                                       .word_mu = nvdp__word_sample_mu(facts),
                                       .distance = facts->certified && export->form.weights
                                                       ? nvdp__release_weights_distance(facts) /
                                                             (double)facts->samples * (1 + 0x1p-50)
                                                       : 0,
                                       .each = options->own_duplicates
                                                   ? options->duplicates == NVDP__DUPLICATES_EACH
                                                   : !nvdp__has_budget(&export->from.run.config)};
}

/* Hashes the texts and the names of the persons, unless they were hashed under the same key. */
static nvdp_status hash_rows(struct nvdp__export *export, struct nvdp__ledger *ledger) {
    struct nvdp__export_counting *count = &export->count;
    const size_t texts = export->from.texts;
    nvdp__text_hash mark;
    size_t text = 0;
    nvdp__ledger_text(ledger, 0, NULL, NULL, mark);
    if (count->hash != NULL && memcmp(mark, count->mark, sizeof mark) == 0) return NVDP_OK;
    if (count->hash == NULL)
        NVDP_TRY(NVDP__ARRAYS(export->ctx, &count->memory, NVDP__ITEMS(count->hash, texts)));
    if (export->options->person != NULL && count->look == NULL)
        NVDP_TRY(NVDP__ARRAYS(export->ctx, &count->memory, NVDP__ITEMS(count->person, texts),
                              NVDP__ITEMS(count->look, texts)));
    nvdp__export_rewind(export);
    for (size_t p = 0; p < export->from.parts;) {
        const struct nvdp_dataset *data;
        bool more;
        NVDP_TRY(nvdp__export_next(&export->from.part[p], &more));
        p += !more;
        data = more ? export->from.part[p].data : NULL;
        for (size_t i = 0; more && i < data->count; i++, text++) {
            const size_t at = data->offset[i], n = data->offset[i + 1] - at;
            nvdp__ledger_text(ledger, n, data->ids + at, data->types + at, count->hash[text]);
            if (count->look == NULL) continue;
            const char *name = data->id != NULL ? data->id[i] : NULL;
            NVDP_TRY(nvdp__ledger_name(ledger, NVDP__LEDGER_PERSON, name, count->person[text]));
            NVDP_TRY(nvdp__ledger_name(ledger, NVDP__LEDGER_LOOK, name, count->look[text]));
        }
    }
    memcpy(count->mark, mark, sizeof mark);
    return NVDP_OK;
}

/* Sets the names of the persons and the receiver. */
static nvdp_status set_names(struct nvdp__export *export, struct nvdp__ledger *ledger) {
    const struct nvdp__export_options *options = export->options;
    NVDP_TRY(nvdp__ledger_name(ledger, NVDP__LEDGER_RECEIVER, options->receiver,
                               export->count.receiver));
    if (options->receiver != NULL &&
        sodium_is_zero(export->count.receiver, sizeof export->count.receiver))
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "{receiver}: expected a name, found an empty one");
    struct nvdp__ledger_names names = record_numbers(export);
    names.person = (const nvdp__text_hash *)export->count.person;
    names.look = (const nvdp__text_hash *)export->count.look;
    names.receiver = options->receiver != NULL ? export->count.receiver : NULL;
    nvdp__ledger_set_names(ledger, &names);
    return NVDP_OK;
}

/* Opens and locks the ledger, and hashes the texts and names.  *out is NULL without a ledger. */
nvdp_status nvdp__export_open_ledger(struct nvdp__export *export, struct nvdp__ledger **out) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    const struct nvdp__export_options *options = export->options;
    char why[NVDP__MESSAGE_SIZE];
    *out = NULL;
    if (options->ledger == NULL) return NVDP_OK;
    if (options->vectors != NULL)
        nvdp__snprintf(export->count.tokens, sizeof export->count.tokens, "%s",
                       options->ids != NULL ? "ids of the caller" : "bytes of vectors");
    else
        nvdp__snprintf(export->count.tokens, sizeof export->count.tokens, "%s %zu",
                       nvdp_model_tokenizer(export->from.run.model)->digest,
                       export->from.run.config.max_length);
    const nvdp_status status = nvdp__ledger_open(export->ctx, options->ledger, options->ledger_key,
                                                 export->count.tokens, &ledger);
    if (status == NVDP_ERR_IO && !options->own_ledger && access(options->ledger, W_OK) != 0) {
        nvdp__snprintf(why, sizeof why, "%s", nvdp_context_error(export->ctx));
        return nvdp__fail(export->ctx, status,
                          "%.1500s: the run's folder keeps the ledger that counts the samples of "
                          "its texts; use {ledger} FILE for a ledger elsewhere, or {no-ledger} for "
                          "none, which the shared file then states",
                          why);
    }
    NVDP_TRY(status);
    if (options->run != NULL) NVDP_TRY(nvdp__ledger_of_run(ledger, options->run));
    NVDP_TRY(hash_rows(export, ledger));
    NVDP_TRY(set_names(export, ledger));
    return NVDP__HAND_OVER(out, ledger);
}

/* Logs the epsilon of a person's rows, and what the ledger cannot know: samples in other ledgers, other names of a
 * person, and missing names. */
static void note_limits(const struct nvdp__export *export, const struct nvdp__ledger *ledger) {
    const struct nvdp__spent *spent = &export->count.spent;
    if (spent->persons > 0 && spent->person_samples > export->options->samples)
        nvdp__log(export->ctx, NVDP_LOG_NOTICE,
                  "with this file, one person has up to %" PRIu64 " samples of %" PRIu64
                  " text%s; all of them together have epsilon %s at delta %g",
                  spent->person_samples, spent->person_texts, spent->person_texts == 1 ? "" : "s",
                  nvdp__bound(spent->person_epsilon).text, NVDP__LEDGER_DELTA);
    if (nvdp__ledger_count(ledger) == 0)
        nvdp__log(export->ctx, NVDP_LOG_NOTICE,
                  "new ledger %s: samples that other ledgers count are not included; if one counts "
                  "these texts, name it with {ledger}",
                  export->options->ledger);
    if (spent->renamed > 0)
        nvdp__log(export->ctx, NVDP_LOG_WARNING,
                  "%" PRIu64 " text%s shared before under another person's name; all samples "
                  "of a text count for both persons",
                  spent->renamed, spent->renamed == 1 ? " was" : "s were");
    if (spent->unnamed > 0)
        nvdp__log(export->ctx, NVDP_LOG_NOTICE,
                  "earlier exports name persons, but %" PRIu64
                  " of these texts %s none: the sum of the person who wrote %s lacks these "
                  "samples; name the column with {person}",
                  spent->unnamed, spent->unnamed == 1 ? "has" : "have",
                  spent->unnamed == 1 ? "it" : "one");
}

/* ---- texts that occur several times ---- */
/* Writes the epsilon of a text that occurs in `rows` rows. */
static const char *cost(const struct nvdp__ledger_record *row, size_t rows,
                        char text[NVDP__SPENT_TEXT]) {
    const struct nvdp__spent spent = nvdp__spent_of_rows(row, rows, NVDP__LEDGER_DELTA);
    if (isfinite(spent.epsilon) || isfinite(spent.word_mu))
        return nvdp__spent_text(spent.epsilon, nvdp__spent_word_epsilon(&spent), text);
    return "no proven epsilon";
}

/* Logs how often texts repeat, and the epsilon of their rows, before anything is drawn.  Every row has independent
 * samples, so the samples of all rows of a text add up like the samples of several releases.  `row` is the next record,
 * with the numbers of one row.  NVDP_ERR_STATE if all rows of a text together exceed `promise`; if `promise` is 0,
 * there is no limit. */
static nvdp_status refuse_duplicates(struct nvdp_context *ctx, const struct nvdp__repeats *repeats,
                                     const struct nvdp__ledger_record *row, uint64_t promise) {
    const uint64_t samples = row->release->samples, drawn = repeats->most * samples;
    char all[NVDP__SPENT_TEXT], one[NVDP__SPENT_TEXT], says[2 * NVDP__SPENT_TEXT + 96];
    if (repeats->most < 2) return NVDP_OK;
    nvdp__snprintf(says, sizeof says,
                   "the %" PRIu64 " %s of the text that stands most often have %s together, "
                   "those of one row %s",
                   drawn, row->shared ? "rows" : "samples", cost(row, repeats->most, all),
                   cost(row, 1, one));
    if (promise > 0 && !nvdp__keeps_promise(0, drawn, samples, promise))
        return nvdp__fail(ctx, NVDP_ERR_STATE,
                          "%s in these texts: expected at most %" PRIu64
                          " sample%s of a text, which the run guarantees, found %" PRIu64
                          "; %s. Nothing was drawn: keep one row of each text, or {duplicates} "
                          "each draws every row at this cost",
                          repeats->text, promise, promise == 1 ? "" : "s", drawn, says);
    nvdp__log(ctx, NVDP_LOG_NOTICE, "%s in these texts, and every row is drawn: %s", repeats->text,
              says);
    return NVDP_OK;
}

/* Logs the epsilon of texts that occur several times.  Refuses texts that exceed the promise of the run, unless the
 * caller gives a budget, which the ledger enforces.  Needs no ledger.  Does nothing if all rows of a person count as
 * one row. */
nvdp_status nvdp__export_check_duplicates(struct nvdp__export *export) {
    const struct nvdp__export_options *options = export->options;
    const struct nvdp__ledger_release release = nvdp__export_record(export);
    const struct nvdp__ledger_names numbers = record_numbers(export);
    const struct nvdp__ledger_record row = {.release = &release,
                                            .word_mu = numbers.word_mu,
                                            .distance = numbers.distance,
                                            .shared = release.type == NVDP__LEDGER_SHARED};
    const bool budget = options->budget.samples > 0 || options->budget.epsilon > 0;
    struct nvdp__repeats repeats = {0};
    if (!nvdp__ledger_by_person(release.type))
        NVDP_TRY(nvdp__repeats_count(&export->from.digests, &repeats));
    nvdp__text_digests_release(&export->from.digests);
    return refuse_duplicates(export->ctx, &repeats, &row,
                             budget || numbers.each ? 0
                                                    : export->from.run.config.certified_releases);
}

/* ---- before anything is drawn ---- */

/* Fails early if the ledger will refuse the export.  The lock is not held afterwards, so nvdp__export_begin_file()
 * checks again before it writes the record. */
nvdp_status nvdp__export_ask_ledger(struct nvdp__export *export) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    struct nvdp__ledger_release release = nvdp__export_record(export);
    const struct nvdp__spent *spent = &export->count.spent;
    size_t alike = 0; /* names of persons that look like other names, new or earlier */
    NVDP_TRY(nvdp__export_open_ledger(export, &ledger));
    if (ledger == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__ledger_check(ledger, &release, (const nvdp__text_hash *)export->count.hash,
                                export->from.run.config.certified_releases, &export->count.spent));
    NVDP_TRY(nvdp__ledger_alike_names(ledger, export->from.texts, &alike));
    if (alike > 0)
        nvdp__log(export->ctx, NVDP_LOG_WARNING,
                  "%zu of the names in column '%s' differ only by case, spaces or width from "
                  "another one, of these texts or of an earlier export; they count as other "
                  "persons",
                  alike, export->options->person);
    note_limits(export, ledger);
    if (spent->seen_before > 0)
        nvdp__log(export->ctx, NVDP_LOG_NOTICE,
                  "%" PRIu64 " of these texts %s %s; with this file, a text has up to %" PRIu64
                  " samples",
                  spent->seen_before, nvdp__spent_before(spent), spent->files, spent->samples);
    return NVDP_OK;
}

/* Warns before anything is written if the file has no useful guarantee, or if all samples of a text that the ledger
 * counts have none.  The file does not state the guarantee of the ledger. */
nvdp_status nvdp__export_warn(struct nvdp__export *export) {
    const struct nvdp__release_facts *facts = &export->facts;
    const struct nvdp__spent *spent = &export->count.spent;
    char text[NVDP__SPENT_TEXT];
    NVDP_TRY(nvdp__release_guarantee(export->ctx, &export->facts));
    if (!facts->useful && !facts->word_useful) {
        nvdp__log(export->ctx, NVDP_LOG_WARNING, "%s", facts->guarantee);
        return NVDP_OK;
    }
    if (spent->samples <= facts->samples || nvdp__spent_is_useful(spent, !facts->useful))
        return NVDP_OK;
    nvdp__log(export->ctx, NVDP_LOG_WARNING,
              "no useful guarantee for all %" PRIu64 " samples of a text together: %s",
              spent->samples,
              isfinite(spent->epsilon)
                  ? nvdp__spent_text(spent->epsilon, nvdp__spent_word_epsilon(spent), text)
                  : "nothing is proven");
    return NVDP_OK;
}

/* ---- the end of the release ---- */

/* Writes the epsilon after another export of these texts, or "". */
static void format_way_on(struct nvdp__export *export, size_t size, char *text) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    struct nvdp__ledger_release release = nvdp__export_record(export);
    struct nvdp__spent spent;
    char epsilon[NVDP__SPENT_TEXT];
    text[0] = '\0';
    release.budget = (struct nvdp__budget){.samples = UINT64_MAX}; /* epsilon: as before */
    if (nvdp__export_open_ledger(export, &ledger) == NVDP_OK &&
        nvdp__ledger_check(ledger, &release, (const nvdp__text_hash *)export->count.hash, 0,
                           &spent) == NVDP_OK)
        nvdp__snprintf(text, size,
                       "; %s %" PRIu64 " allows to export these texts again: all samples of a text "
                       "together would then have %s",
                       nvdp__as_option(export->ctx, "budget-samples").text, spent.samples,
                       nvdp__spent_text(spent.epsilon, nvdp__spent_word_epsilon(&spent), epsilon));
}

/* Returns why the release counts although the file was not published.  Returns NULL if the release can be returned:
 * then the samples were only in memory and in a file without a name, and nothing that was computed from the samples
 * caused the failure. */
static const char *why_counted(const struct nvdp__export *export, nvdp_status status) {
    const struct nvdp__format *format = export->release.format;
    if (format == NULL || !nvdp__release_is_unnamed(&export->release))
        return "its incomplete file had a name, and could be read";
    if (export->count.judged) return "the samples themselves decided that it failed";
    if (status == NVDP_ERR_IO && format->compressed)
        return "the size of its file depends on the samples";
    return NULL;
}

/* Ends the release in the ledger: the release was published, is returned, or counts.  The message of a failure says
 * which of these holds. */
nvdp_status nvdp__export_settle(struct nvdp__export *export, nvdp_status status) {
    char message[NVDP__MESSAGE_SIZE], way[512] = "";
    if (!export->count.counted) return status;
    const char *why = export->count.published ? NULL : why_counted(export, status);
    nvdp__snprintf(message, sizeof message, "%s", nvdp_context_error(export->ctx));
    if (!export->count.published)
        nvdp__release_close(&export->release); /* frees the disk space of the file */
    if (why == NULL &&
        nvdp__ledger_settle(export->ctx, export->options->ledger, export->options->ledger_key,
                            export->count.tokens, export->count.code,
                            export->count.published) != NVDP_OK) {
        if (export->count.published)
            nvdp__log(export->ctx, NVDP_LOG_NOTICE,
                      "the ledger counts this export, but as unfinished: %s",
                      nvdp_context_error(export->ctx));
        why = "its ledger could not be written";
    }
    if (status == NVDP_OK) return NVDP_OK;
    if (export->count.published)
        return nvdp__fail(export->ctx, status, "%.1500s. The file was published and counted",
                          message);
    if (why == NULL)
        return nvdp__fail(export->ctx, status,
                          "%.1500s. Nothing was shared, and the ledger does not count this export",
                          message);
    format_way_on(export, sizeof way, way);
    return nvdp__fail(export->ctx, status, "%.1000s. The ledger counts this export, because %s%s",
                      message, why, way);
}
