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
