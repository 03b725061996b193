/* Writes the result of a gate: its table, JSON, text and JUnit XML. */
#include "options/result.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/sentence.h"
#include "rdp/options.h"
#include <inttypes.h>
#include <math.h>
#include <nvdp/gate.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(member, ...)                                                                         \
    NVDP_RESULT_ROW(struct nvdp_gate_check, member, NULL, NVDP_SCOPE_RUN, 0, __VA_ARGS__)
#define GATE(member, unit, ...)                                                                    \
    NVDP_RESULT_ROW(struct nvdp_gate_result, member, unit, NVDP_SCOPE_RUN, 0, __VA_ARGS__)

static const struct nvdp_result_table check_table = {
    .name = "gate_check",
    .help = "a check of a policy",
    .size = sizeof(struct nvdp_gate_check),
    .rows = (const struct nvdp_result_row[]){
        CHECK(name, "the measure, as the policy names it"),
        CHECK(at_most, "upper limit"),
        CHECK(at_least, "lower limit"),
        CHECK(found, "the number; null: not measured"),
        {"interval", NVDP_RESULT_INTERVAL,
         .help = "its interval, which the limits are compared with; null: none",
         NVDP_RESULT_AT(struct nvdp_gate_check, interval.low),
         .high = offsetof(struct nvdp_gate_check, interval.high)},
        CHECK(passed, "the number is finite and within the limits"),
        NVDP_RESULT_ROW(struct nvdp_gate_check, texts, "texts", NVDP_SCOPE_RUN, 0,
                        "texts that were measured or attacked; 0: none, as for a proof"),
        CHECK(reason, "why the check fails"),
        NVDP_RESULT_ROW(struct nvdp_gate_check, seconds, "s", NVDP_SCOPE_RUN, 0,
                        "time to measure it"),
        {0}}};

const struct nvdp_result_table nvdp__result_gate = {
    .name = "gate",
    .help = "what a policy limits, and what was found",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        GATE(passed, NULL, "all checks pass"),
        GATE(failed, "checks", "checks that fail"),
        GATE(delta, NULL, "delta of the policy"),
        GATE(releases, "samples", "samples of a text that count"),
        {"split", NVDP_RESULT_CHARS, .help = "texts of the run that were measured",
         NVDP_RESULT_AT(struct nvdp_gate_result, split)},
        {"checks", NVDP_RESULT_LIST, .help = "in the order of the policy", .indirect = true,
         .of = &check_table, NVDP_RESULT_AT(struct nvdp_gate_result, check),
         NVDP_RESULT_LENGTH(struct nvdp_gate_result, checks)},
        {0}}};

nvdp_status nvdp_gate_json(struct nvdp_context *ctx, const struct nvdp_gate_result *result,
                           char **out) {
    return nvdp__json_text(ctx, nvdp__result_json(&nvdp__result_gate, NULL, result), "gate", out);
}

/* --- text --- */

enum { CELL = 80 };

/* Rounds a number under an upper limit up. */
static void put_number(const struct nvdp_gate_check *check, double number,
                       char text[NVDP__BOUND_TEXT]) {
    if (!isnan(check->at_most) && isnan(check->at_least))
        nvdp__bound(text, number);
    else
        nvdp__snprintf(text, NVDP__BOUND_TEXT, "%.9g", number);
}

/* Writes the number with its interval: "0.4667 (0.31 to 0.6231)". */
static void put_found(const struct nvdp_gate_check *check, char text[CELL]) {
    char found[NVDP__BOUND_TEXT], low[NVDP__BOUND_TEXT], high[NVDP__BOUND_TEXT];
    put_number(check, check->found, found);
    put_number(check, check->interval.low, low);
    put_number(check, check->interval.high, high);
    if (isnan(check->found))
        nvdp__snprintf(text, CELL, "-");
    else if (isnan(check->interval.low))
        nvdp__snprintf(text, CELL, "%s", found);
    else
        nvdp__snprintf(text, CELL, "%s (%s to %s)", found, low, high);
}

static void put_limit(const struct nvdp_gate_check *check, char text[CELL]) {
    if (isnan(check->at_least))
        nvdp__snprintf(text, CELL, "at most %.9g", check->at_most);
    else if (isnan(check->at_most))
        nvdp__snprintf(text, CELL, "at least %.9g", check->at_least);
    else
        nvdp__snprintf(text, CELL, "%.9g to %.9g", check->at_least, check->at_most);
}

/* Writes the number of measured texts. */
static void put_texts(const struct nvdp_gate_check *check, char text[CELL]) {
    if (check->texts > 0)
        nvdp__snprintf(text, CELL, "%zu", check->texts);
    else
        nvdp__snprintf(text, CELL, "-");
}

static void print_text(const void *of, FILE *to) {
    const struct nvdp_gate_result *result = of;
    int width = (int)strlen("measure"), limits = (int)strlen("limit"),
        founds = (int)strlen("found");
    char limit[CELL], found[CELL], texts[CELL], samples[NVDP__SAMPLES_TEXT];
    for (size_t i = 0; i < result->checks; i++) {
        put_limit(&result->check[i], limit);
        put_found(&result->check[i], found);
        width = (int)nvdp__max((size_t)width, strlen(result->check[i].name));
        limits = (int)nvdp__max((size_t)limits, strlen(limit));
        founds = (int)nvdp__max((size_t)founds, strlen(found));
    }
    nvdp__fprintf(to, "%-*s  %-*s  %*s  %6s  pass\n", width, "measure", limits, "limit", founds,
                  "found", "texts");
    for (size_t i = 0; i < result->checks; i++) {
        put_limit(&result->check[i], limit);
        put_found(&result->check[i], found);
        put_texts(&result->check[i], texts);
        nvdp__fprintf(to, "%-*s  %-*s  %*s  %6s  %s\n", width, result->check[i].name, limits, limit,
                      founds, found, texts, result->check[i].passed ? "yes" : "NO");
    }
    nvdp__fprintf(to, "For %s of a text, at delta %g%s%s.\n",
                  nvdp__samples_text(result->releases, samples), result->delta,
                  result->split[0] != '\0' ? "; measured on the split " : "", result->split);
    for (size_t i = 0; i < result->checks; i++)
        if (!result->check[i].passed)
            nvdp__fprintf(to, "%s%s: %s\n", i == 0 || result->failed > 0 ? "" : "\n",
                          result->check[i].name, result->check[i].reason);
    if (result->passed)
        nvdp__fprintf(to, "All %zu checks pass.\n", result->checks);
    else
        nvdp__fprintf(to, "%zu of %zu checks fail.\n", result->failed, result->checks);
}

nvdp_status nvdp_gate_text(struct nvdp_context *ctx, const struct nvdp_gate_result *result,
                           char **out) {
    return nvdp__printed(ctx, print_text, result, out);
}

/* --- JUnit XML --- */

struct suite {
    const struct nvdp_gate_result *result;
    const char *name; /* without control characters */
};

/* Writes an attribute's value.  XML has no control characters, even escaped. */
static void put_attribute(FILE *to, const char *name, const char *value) {
    char text[NVDP_GATE_REASON + 4 * CELL];
    nvdp__show_into(text, sizeof text, value);
    nvdp__fprintf(to, " %s=\"", name);
    for (const char *c = text; *c != '\0'; c++)
        nvdp__fprintf(to, strchr("&<>\"'", *c) != NULL ? "&#%d;" : "%c", *c);
    fputc('"', to);
}

static void print_junit(const void *of, FILE *to) {
    const struct suite *suite = of;
    const struct nvdp_gate_result *result = suite->result;
    double seconds = 0;
    for (size_t i = 0; i < result->checks; i++)
        seconds += result->check[i].seconds;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite", to);
    put_attribute(to, "name", suite->name);
    nvdp__fprintf(to, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\" time=\"%.3f\">\n",
                  result->checks, result->failed, seconds);
    nvdp__fprintf(to,
                  "    <properties>\n      <property name=\"delta\" value=\"%.9g\"/>\n"
                  "      <property name=\"releases\" value=\"%zu\"/>\n"
                  "      <property name=\"split\"",
                  result->delta, result->releases);
    put_attribute(to, "value", result->split);
    fputs("/>\n    </properties>\n", to);
    for (size_t i = 0; i < result->checks; i++) {
        const struct nvdp_gate_check *check = &result->check[i];
        char limit[CELL], found[CELL], texts[CELL];
        put_limit(check, limit);
        put_found(check, found);
        put_texts(check, texts);
        fputs("    <testcase classname=\"nvdp.gate\"", to);
        put_attribute(to, "name", check->name);
        nvdp__fprintf(to, " time=\"%.3f\">\n", check->seconds);
        if (!check->passed) {
            char message[NVDP_GATE_REASON + 2 * CELL];
            nvdp__snprintf(message, sizeof message, "limit: %s; found: %s; %s", limit, found,
                           check->reason);
            fputs("      <failure type=\"limit\"", to);
            put_attribute(to, "message", message);
            fputs("/>\n", to);
        }
        nvdp__fprintf(to, "      <system-out>limit: %s; found: %s; texts: %s</system-out>\n", limit,
                      found, texts);
        fputs("    </testcase>\n", to);
    }
    fputs("  </testsuite>\n</testsuites>\n", to);
}

nvdp_status nvdp_gate_junit(struct nvdp_context *ctx, const struct nvdp_gate_result *result,
                            const char *name, char **out) {
    char *plain = nvdp__plain_copy(ctx, name);
    if (plain == NULL) return NVDP_ERR_MEMORY;
    const struct suite suite = {result, plain};
    const nvdp_status status = nvdp__printed(ctx, print_junit, &suite, out);
    free(plain);
    return status;
}
