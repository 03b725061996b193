/* The result tables of shared files (nvdp/result.h). */
#include "base/sentence.h"
#include "options/result.h"
#include "share/ledger.h"
#include <nvdp/share.h>

#include <inttypes.h>
#include <math.h>

/* --- persons --- */

#define PERSON(member, ...) NVDP_RESULT_ROW(struct nvdp_persons, member, __VA_ARGS__)

static const struct nvdp_result_table guess_table = {
    .name = "guess",
    .help = "a baseline and its bound",
    .size = sizeof(struct nvdp_bounded_guess),
    .rows = (const struct nvdp_result_row[]){
        NVDP_RESULT_ROW(struct nvdp_bounded_guess, baseline, NULL, NVDP_SCOPE_FILE, 0,
                        "success of the best guess without samples"),
        NVDP_RESULT_ROW(struct nvdp_bounded_guess, bound, NULL, NVDP_SCOPE_FILE, -1,
                        "upper bound of the success with all samples"),
        {0}}};

static void print_person(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_persons *person = result;
    nvdp_result_line(to, "persons", "%zu; up to %" PRIu64 " texts and %" PRIu64 " samples of one",
                     person->persons, person->texts, person->samples);
    nvdp_result_line(to, "person's epsilon",
                     isfinite(person->epsilon)
                         ? "%s at delta %g, all their texts together, each in place of any other"
                         : "nothing is proven of all texts together",
                     nvdp__bound(person->epsilon).text, person->delta);
    for (size_t i = 0; i < person->guesses; i++)
        nvdp_result_line(to, i == 0 ? "person's guesses" : "",
                         "right %.4g %% of the time without samples: at most %s with all of them",
                         100 * person->guess[i].baseline,
                         nvdp__share_bound(person->guess[i].bound).text);
}

static const struct nvdp_result_table person_table = {
    .name = "person",
    .help = "all texts of a person together, in all files that the ledger lists",
    .rows = (const struct nvdp_result_row[]){
        PERSON(persons, "persons", NVDP_SCOPE_FILE, 0, "number of persons", .print = print_person),
        PERSON(texts, "texts", NVDP_SCOPE_FILE, -1, "largest number of different texts of one"),
        PERSON(samples, "samples", NVDP_SCOPE_FILE, -1, "largest number of samples of one"),
        PERSON(epsilon, "nats", NVDP_SCOPE_FILE, -1,
               "largest epsilon of one; +inf: a release has no proof"),
        PERSON(delta, NULL, NVDP_SCOPE_FILE, 0, "delta of epsilon"),
        PERSON(mu, NULL, NVDP_SCOPE_FILE, -1, "its mu; +inf: a release is not Gaussian"),
        {"guesses", NVDP_RESULT_LIST, .scope = NVDP_SCOPE_FILE, .help = "guesses about a person",
         .of = &guess_table, .offset = offsetof(struct nvdp_persons, guess),
         NVDP_RESULT_LENGTH(struct nvdp_persons, guesses)},
        {0}}};

/* --- an export --- */

#define EXPORT(member, ...) NVDP_RESULT_ROW(struct nvdp_export_result, member, __VA_ARGS__)

static const struct nvdp_result_table spent_table = {
    .name = "spent",
    .help = "samples of a text in all files that the ledger lists",
    .rows = (const struct nvdp_result_row[]){
        {"samples", NVDP_RESULT_COUNT, "samples", NVDP_SCOPE_TEXT, -1, "largest total of a text",
         NVDP_RESULT_AT(struct nvdp_export_result, spent_samples)},
        {"epsilon", NVDP_RESULT_REAL, "nats", NVDP_SCOPE_TEXT, -1,
         "largest epsilon of all samples of a text; +inf: one of them has no proof",
         NVDP_RESULT_AT(struct nvdp_export_result, spent_epsilon)},
        {"delta", NVDP_RESULT_REAL, NULL, NVDP_SCOPE_TEXT, 0, "delta of epsilon",
         NVDP_RESULT_AT(struct nvdp_export_result, spent_delta)},
        {"word_epsilon", NVDP_RESULT_REAL, "nats", NVDP_SCOPE_TEXT, -1,
         "the same for one word in place of another; at most epsilon",
         NVDP_RESULT_AT(struct nvdp_export_result, spent_word_epsilon)},
        {"proven_epsilon", NVDP_RESULT_REAL, "nats", NVDP_SCOPE_TEXT, -1,
         "budget since the first export, proven even if exports depend on earlier samples; 0 "
         "without a budget: epsilon is then proven if the number and the noise of the exports do "
         "not depend on earlier samples",
         NVDP_RESULT_AT(struct nvdp_export_result, spent_proven_epsilon),
         .absent = NVDP_ABSENT_OMITTED,
         NVDP_RESULT_IF(struct nvdp_export_result, spent_proven_epsilon)},
        {0}}};

static void print_claim(struct nvdp_result_lines *to, const char *of, double proven) {
    char text[NVDP__CLAIM_TEXT];
    nvdp_result_line(to, of, "%s", nvdp__spent_claim(proven, text));
}

/* Prints the epsilons of a single receiver; all other lines are of all receivers together. */
static void print_receiver(struct nvdp_result_lines *to, size_t receivers, double text,
                           double person) {
    nvdp_result_line(to, "a single receiver",
                     "epsilon up to %s for a text%s%s%s (of %zu receiver%s)",
                     nvdp__bound(text).text, isnan(person) ? "" : ", up to ",
                     isnan(person) ? "" : nvdp__bound(person).text,
                     isnan(person) ? "" : " for a person", receivers, receivers == 1 ? "" : "s");
}

static void print_receivers(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_export_result *r = result;
    print_receiver(to, r->receivers, r->receiver_epsilon, r->receiver_person_epsilon);
}

static void print_spent(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_export_result *r = result;
    char text[NVDP__SPENT_TEXT];
    nvdp_result_line(to, "shared so far", "in total at most %" PRIu64 " sample%s of a text, %s",
                     r->spent_samples, r->spent_samples == 1 ? "" : "s",
                     isfinite(r->spent_epsilon)
                         ? nvdp__spent_text(r->spent_epsilon, r->spent_word_epsilon, text)
                         : "without a proven guarantee");
    if (isfinite(r->spent_epsilon)) print_claim(to, "this sum", r->spent_proven_epsilon);
}

const struct nvdp_result_table nvdp__result_export = {
    .name = "export",
    .help = "a file of samples to give away",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        EXPORT(guarantee, NULL, NVDP_SCOPE_FILE, 0, "the guarantee, or why there is no useful one"),
        EXPORT(useful, NULL, NVDP_SCOPE_FILE, 1, "the guarantee limits every attacker"),
        EXPORT(training_texts, NULL, NVDP_SCOPE_FILE, 0,
               "whether the encoder was trained on these texts: all, some, maybe"),
        {"spent", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_TEXT, .help = "by the ledger",
         .of = &spent_table, NVDP_RESULT_IF(struct nvdp_export_result, spent_samples),
         .print = print_spent},
        {"person", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE, .help = "by the ledger",
         .of = &person_table, NVDP_RESULT_AT(struct nvdp_export_result, person),
         .absent = NVDP_ABSENT_OMITTED, NVDP_RESULT_IF(struct nvdp_export_result, person.persons)},
        {"receivers", NVDP_RESULT_COUNT, "receivers", NVDP_SCOPE_FILE, 0,
         "receivers that the ledger names", NVDP_RESULT_AT(struct nvdp_export_result, receivers),
         .absent = NVDP_ABSENT_OMITTED, NVDP_RESULT_IF(struct nvdp_export_result, receivers),
         .print = print_receivers},
        {"receiver_epsilon", NVDP_RESULT_REAL, "nats", NVDP_SCOPE_TEXT, -1,
         "largest epsilon of a text for a single receiver",
         NVDP_RESULT_AT(struct nvdp_export_result, receiver_epsilon), .absent = NVDP_ABSENT_OMITTED,
         NVDP_RESULT_IF(struct nvdp_export_result, receivers)},
        {"receiver_person_epsilon", NVDP_RESULT_REAL, "nats", NVDP_SCOPE_FILE, -1,
         "the same of all texts of a person",
         NVDP_RESULT_AT(struct nvdp_export_result, receiver_person_epsilon),
         .absent = NVDP_ABSENT_OMITTED, NVDP_RESULT_IF(struct nvdp_export_result, receivers)},
        EXPORT(run, NULL, NVDP_SCOPE_FILE, 0, "folder of the run"),
        EXPORT(texts, "texts", NVDP_SCOPE_FILE, 0, "texts of the input", .label = "texts"),
        EXPORT(unit, NULL, NVDP_SCOPE_FILE, 0,
               "what has a sample: a text, or a person with all rows", .label = "unit",
               .absent = NVDP_ABSENT_OMITTED, NVDP_RESULT_IF(struct nvdp_export_result, units)),
        EXPORT(units, NULL, NVDP_SCOPE_FILE, 0, "persons in the file", .label = "persons in it",
               .absent = NVDP_ABSENT_OMITTED, NVDP_RESULT_IF(struct nvdp_export_result, units)),
        EXPORT(samples, "samples", NVDP_SCOPE_TEXT, 0, "samples of each text, or person",
               .label = "samples of each"),
        EXPORT(components, "vectors", NVDP_SCOPE_TEXT, 0,
               "components of the longest sample, with the prior's", .label = "components",
               .after = " per sample at most"),
        EXPORT(dim, NULL, NVDP_SCOPE_FILE, 0, "width of a component", .label = "width"),
        EXPORT(bytes, "bytes", NVDP_SCOPE_FILE, 0, "size of the file", .label = "size",
               .scale = 1. / (1 << 20), .decimals = 3, .after = " MiB"),
        EXPORT(statement, NULL, NVDP_SCOPE_FILE, 0, "the statement in the file"),
        EXPORT(replaced, "texts", NVDP_SCOPE_FILE, -1,
               "texts whose numbers were not finite and became 0; private"),
        {0}}};

/* --- a ledger --- */

#define LEDGER(member, ...) NVDP_RESULT_ROW(struct nvdp_ledger_summary, member, __VA_ARGS__)

static bool ledger_has_words(const void *result) {
    const struct nvdp_ledger_summary *r = result;
    return r->word_epsilon < r->epsilon * (1 - 1e-9);
}

static void print_ledger_claim(const void *result, struct nvdp_result_lines *to) {
    print_claim(to, "sums of a text", ((const struct nvdp_ledger_summary *)result)->proven_epsilon);
}

static void print_ledger_person_claim(const void *result, struct nvdp_result_lines *to) {
    print_claim(to, "sums of a person",
                ((const struct nvdp_ledger_summary *)result)->proven_person_epsilon);
}

static void print_ledger_receivers(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_ledger_summary *r = result;
    print_receiver(to, r->receivers, r->receiver_epsilon, r->receiver_person_epsilon);
}

const struct nvdp_result_table nvdp__result_ledger = {
    .name = "ledger",
    .help = "the sums of a ledger, all receivers together",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        LEDGER(releases, "releases", NVDP_SCOPE_FILE, 0, "number of releases", .label = "releases"),
        LEDGER(texts, "texts", NVDP_SCOPE_FILE, 0, "number of different texts", .label = "texts"),
        LEDGER(samples, "samples", NVDP_SCOPE_TEXT, -1, "largest number of samples of a text",
               .label = "samples of a text", .after = " at most"),
        LEDGER(epsilon, "nats", NVDP_SCOPE_TEXT, -1,
               "largest epsilon of all samples of a text; +inf: one of them has no proof",
               .label = "epsilon of a text", .bound = 1),
        LEDGER(word_epsilon, "nats", NVDP_SCOPE_TEXT, -1,
               "the same for one word in place of another; at most epsilon",
               .label = "epsilon of a word", .bound = 1, .absent = NVDP_ABSENT_OMITTED,
               .present = ledger_has_words),
        LEDGER(delta, NULL, NVDP_SCOPE_FILE, 0, "delta of all epsilons", .label = "delta"),
        LEDGER(proven_epsilon, "nats", NVDP_SCOPE_TEXT, -1,
               "budget of a text since the first release, proven at delta 1e-5 even if releases "
               "depend on earlier samples; 0 if no budget is set: epsilon then holds if the number "
               "and the noise of releases do not depend on earlier samples",
               .absent = NVDP_ABSENT_OMITTED,
               NVDP_RESULT_IF(struct nvdp_ledger_summary, proven_epsilon),
               .print = print_ledger_claim),
        LEDGER(proven_person_epsilon, "nats", NVDP_SCOPE_FILE, -1, "the same of a person",
               .absent = NVDP_ABSENT_OMITTED,
               NVDP_RESULT_IF(struct nvdp_ledger_summary, proven_person_epsilon),
               .print = print_ledger_person_claim),
        LEDGER(returned, "releases", NVDP_SCOPE_FILE, 0,
               "releases that were returned, because nobody saw a sample; they do not count",
               .label = "returned"),
        LEDGER(budget_epsilon, "nats", NVDP_SCOPE_TEXT, 0, "budget of a text; 0: none",
               .absent = NVDP_ABSENT_OMITTED,
               NVDP_RESULT_IF(struct nvdp_ledger_summary, budget_epsilon)),
        LEDGER(person_budget, "nats", NVDP_SCOPE_FILE, 0, "budget of a person; 0: none",
               .absent = NVDP_ABSENT_OMITTED,
               NVDP_RESULT_IF(struct nvdp_ledger_summary, person_budget)),
        {"person", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE,
         .help = "all texts of a person together", .of = &person_table,
         NVDP_RESULT_AT(struct nvdp_ledger_summary, person),
         NVDP_RESULT_IF(struct nvdp_ledger_summary, person.persons)},
        LEDGER(unnamed_texts, "texts", NVDP_SCOPE_FILE, -1,
               "texts without a person in any release, each a person of its own",
               .label = "texts without a person", .absent = NVDP_ABSENT_OMITTED,
               NVDP_RESULT_IF(struct nvdp_ledger_summary, person.persons)),
        LEDGER(receivers, "receivers", NVDP_SCOPE_FILE, 0, "named receivers",
               NVDP_RESULT_IF(struct nvdp_ledger_summary, receivers),
               .print = print_ledger_receivers),
        LEDGER(receiver_samples, "samples", NVDP_SCOPE_TEXT, -1,
               "largest number of samples of a text at a single receiver",
               NVDP_RESULT_IF(struct nvdp_ledger_summary, receivers)),
        LEDGER(receiver_epsilon, "nats", NVDP_SCOPE_TEXT, -1,
               "largest epsilon of a text for a single receiver"),
        LEDGER(receiver_person_epsilon, "nats", NVDP_SCOPE_FILE, -1,
               "the same of all texts of a person"),
        {0}}};

/* --- a verification --- */

#define CHECK(member, ...)                                                                         \
    NVDP_RESULT_ROW(struct nvdp_check, member, NULL, NVDP_SCOPE_FILE, 0, __VA_ARGS__)
#define VERIFY(name_, type_, member, unit_, better_, help_)                                        \
    {                                                                                              \
        name_, NVDP_RESULT_##type_, unit_, NVDP_SCOPE_FILE, better_, help_,                        \
            NVDP_RESULT_AT(struct nvdp_verification, member)                                       \
    }

static bool is_decided(const void *result) {
    return ((const struct nvdp_check *)result)->verdict != NVDP_VERDICT_OPEN;
}

static const struct nvdp_result_table check_table = {
    .name = "check",
    .help = "a check of a file",
    .size = sizeof(struct nvdp_check),
    .rows = (const struct nvdp_result_row[]){
        CHECK(what, "the property that is checked"),
        {"holds", NVDP_RESULT_FLAG, NULL, NVDP_SCOPE_FILE, 1, "the file has it",
         NVDP_RESULT_AT(struct nvdp_check, verdict), .present = is_decided},
        CHECK(found, "what the file has"),
        {0}}};

const struct nvdp_result_table nvdp__result_verification = {
    .name = "verification",
    .help = "whether a file of samples keeps what it states",
    .sized = true,
    .views =
        (const struct nvdp_result_view[]){
            {"terminal",
             .keys =
                 (const struct nvdp_result_key[]){{"person", .absent = NVDP_ABSENT_HIDDEN}, {0}}},
            {0}},
    .rows = (const struct nvdp_result_row[]){
        VERIFY("holds", FLAG, holds, NULL, 1, "no check failed"),
        VERIFY("signed", FLAG, is_signed, NULL, 1, "the signature is valid"),
        VERIFY("signed_by_given_key", FLAG, is_known, NULL, 1, "by the expected key"),
        VERIFY("public_key", CHARS, public_key, NULL, 0, "key of the file"),
        VERIFY("certified", FLAG, certified, NULL, 1, "a certificate was computed again"),
        VERIFY("epsilon", REAL, epsilon, "nats", -1,
               "proven for all samples of one row; +inf: none"),
        VERIFY("delta", REAL, delta, NULL, -1, "delta of epsilon"),
        VERIFY("mu", REAL, mu, NULL, -1, "mu of a Gaussian mechanism"),
        {"summary", NVDP_RESULT_FLAG, NULL, NVDP_SCOPE_FILE, 0,
         "the file is a summary: k rows that change together have k times the mu",
         NVDP_RESULT_AT(struct nvdp_verification, summary), .absent = NVDP_ABSENT_OMITTED,
         NVDP_RESULT_IF(struct nvdp_verification, summary)},
        {"persons", NVDP_RESULT_FLAG, NULL, NVDP_SCOPE_FILE, 0,
         "a sample is of a person, all rows included: a row below is a person",
         NVDP_RESULT_AT(struct nvdp_verification, persons), .absent = NVDP_ABSENT_OMITTED,
         NVDP_RESULT_IF(struct nvdp_verification, persons)},
        {"word_epsilon", NVDP_RESULT_REAL, "nats", NVDP_SCOPE_TEXT, -1,
         "proven for any word in place of another, all samples of one row; +inf: none",
         NVDP_RESULT_AT(struct nvdp_verification, word_epsilon)},
        {"word_mu", NVDP_RESULT_REAL, NULL, NVDP_SCOPE_TEXT, -1, "its mu",
         NVDP_RESULT_AT(struct nvdp_verification, word_mu)},
        VERIFY("useful", FLAG, useful, NULL, 1, "the guarantee limits every attacker"),
        VERIFY("guarantee", CHARS, guarantee, NULL, 0, "or why there is no useful one"),
        VERIFY("training_texts", CHARS, training_texts, NULL, 0, "as in an export"),
        VERIFY("samples", COUNT, samples, "samples", -1, "samples per text in the file"),
        VERIFY("counted", FLAG, counted, NULL, 0, "the file states that a ledger counts it"),
        {"spent_samples", NVDP_RESULT_COUNT, "samples", NVDP_SCOPE_TEXT, -1,
         "largest number of samples of a text, by the owner's ledger; 0: not given",
         NVDP_RESULT_AT(struct nvdp_verification, spent_samples)},
        {"spent_epsilon", NVDP_RESULT_REAL, "nats", NVDP_SCOPE_TEXT, -1,
         "largest epsilon of all samples of a text, by the owner's ledger; NaN: not given",
         NVDP_RESULT_AT(struct nvdp_verification, spent_epsilon)},
        {"person", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE,
         .help = "all texts of a person together, by the owner's ledger", .of = &person_table,
         NVDP_RESULT_AT(struct nvdp_verification, person),
         NVDP_RESULT_IF(struct nvdp_verification, person.persons), .absent = NVDP_ABSENT_OMITTED},
        {"checks", NVDP_RESULT_LIST, .scope = NVDP_SCOPE_FILE, .help = "in their order",
         .of = &check_table, .offset = offsetof(struct nvdp_verification, check),
         NVDP_RESULT_LENGTH(struct nvdp_verification, checks)},
        VERIFY("statement", CHARS, statement, NULL, 0, "the statement in the file"),
        {0}}};
