/* The result tables of shared files (nvdp/result.h). */
#include "base/sentence.h"
#include "options/result.h"
#include <nvdp/share.h>

#include <inttypes.h>
#include <math.h>

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
        {0}}};

static bool has_ledger(const void *result) {
    return ((const struct nvdp_export_result *)result)->spent_samples > 0;
}

static void print_spent(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_export_result *r = result;
    char bound[NVDP__BOUND_TEXT], proven[80] = ", without a proven guarantee";
    if (isfinite(r->spent_epsilon))
        nvdp__snprintf(proven, sizeof proven, ", epsilon %s at delta %g",
                       nvdp__bound(bound, r->spent_epsilon), r->spent_delta);
    nvdp_result_line(to, "shared so far", "in total at most %" PRIu64 " sample%s of a text%s",
                     r->spent_samples, r->spent_samples == 1 ? "" : "s", proven);
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
         .of = &spent_table, .present = has_ledger, .print = print_spent},
        EXPORT(run, NULL, NVDP_SCOPE_FILE, 0, "folder of the run"),
        EXPORT(texts, "texts", NVDP_SCOPE_FILE, 0, "texts in the file", .label = "texts"),
        EXPORT(samples, "samples", NVDP_SCOPE_TEXT, 0, "samples of each text",
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
    .rows = (const struct nvdp_result_row[]){
        VERIFY("holds", FLAG, holds, NULL, 1, "no check failed"),
        VERIFY("signed", FLAG, is_signed, NULL, 1, "the signature is valid"),
        VERIFY("signed_by_given_key", FLAG, is_known, NULL, 1, "by the expected key"),
        VERIFY("public_key", CHARS, public_key, NULL, 0, "key of the file"),
        VERIFY("certified", FLAG, certified, NULL, 1, "a certificate was computed again"),
        VERIFY("epsilon", REAL, epsilon, "nats", -1,
               "proven for all samples of a text; +inf: none"),
        VERIFY("delta", REAL, delta, NULL, -1, "delta of epsilon"),
        VERIFY("mu", REAL, mu, NULL, -1, "mu of a Gaussian mechanism"),
        VERIFY("useful", FLAG, useful, NULL, 1, "the guarantee limits every attacker"),
        VERIFY("guarantee", CHARS, guarantee, NULL, 0, "or why there is no useful one"),
        VERIFY("training_texts", CHARS, training_texts, NULL, 0, "as in an export"),
        {"checks", NVDP_RESULT_LIST, .scope = NVDP_SCOPE_FILE, .help = "in their order",
         .of = &check_table, .offset = offsetof(struct nvdp_verification, check),
         NVDP_RESULT_LENGTH(struct nvdp_verification, checks)},
        VERIFY("statement", CHARS, statement, NULL, 0, "the statement in the file"),
        {0}}};
