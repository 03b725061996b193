/* Writes the result of a gate: its table, JSON, text and JUnit XML. */
#include "options/result.h"
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
        GATE(summary, NULL,
             "the file is a summary: numbers are for the replacement of one row, or one person if "
             "the unit is one",
             .absent = NVDP_ABSENT_OMITTED, NVDP_RESULT_IF(struct nvdp_gate_result, summary)),
        GATE(persons, NULL, "the file has samples of persons: numbers are for all rows of a person",
             .absent = NVDP_ABSENT_OMITTED, NVDP_RESULT_IF(struct nvdp_gate_result, persons)),
        {"checks", NVDP_RESULT_LIST, .help = "in the order of the policy", .indirect = true,
         .of = &check_table, NVDP_RESULT_AT(struct nvdp_gate_result, check),
         NVDP_RESULT_LENGTH(struct nvdp_gate_result, checks)},
        {0}}};

/* --- text --- */

enum { CELL = 80 };

/* Writes a number as text.  Rounds it up if the check has an upper limit. */
static struct nvdp__short_text number_text(const struct nvdp_gate_check *check, double number) {
    const bool limited = !isnan(check->at_most) && isnan(check->at_least);
    return limited ? nvdp__bound(number) : nvdp__short_text("%.9g", number);
}

/* The limit and the number of a check, as text. */
struct shown {
    char limit[CELL], found[CELL], texts[CELL]; /* `texts` is the number of measured texts */
};

static struct shown show(const struct nvdp_gate_check *check) {
    struct shown made = {.found = "-", .texts = "-"};
    if (isnan(check->at_least))
        nvdp__snprintf(made.limit, CELL, "at most %.9g", check->at_most);
    else if (isnan(check->at_most))
        nvdp__snprintf(made.limit, CELL, "at least %.9g", check->at_least);
    else
        nvdp__snprintf(made.limit, CELL, "%.9g to %.9g", check->at_least, check->at_most);
    if (!isnan(check->found) && isnan(check->interval.low))
        nvdp__snprintf(made.found, CELL, "%s", number_text(check, check->found).text);
    else if (!isnan(check->found)) /* with the interval: "0.4667 (0.31 to 0.6231)" */
        nvdp__snprintf(made.found, CELL, "%s (%s to %s)", number_text(check, check->found).text,
                       number_text(check, check->interval.low).text,
                       number_text(check, check->interval.high).text);
    if (check->texts > 0) nvdp__snprintf(made.texts, CELL, "%zu", check->texts);
    return made;
}

static void print_text(const void *of, FILE *to) {
    const struct nvdp_gate_result *result = of;
    int width = (int)strlen("measure"), limits = (int)strlen("limit"),
        founds = (int)strlen("found");
    for (size_t i = 0; i < result->checks; i++) {
        const struct shown shown = show(&result->check[i]);
        width = (int)nvdp__max((size_t)width, strlen(result->check[i].name));
        limits = (int)nvdp__max((size_t)limits, strlen(shown.limit));
        founds = (int)nvdp__max((size_t)founds, strlen(shown.found));
    }
    nvdp__fprintf(to, "%-*s  %-*s  %*s  %6s  pass\n", width, "measure", limits, "limit", founds,
                  "found", "texts");
    for (size_t i = 0; i < result->checks; i++) {
        const struct shown shown = show(&result->check[i]);
        nvdp__fprintf(to, "%-*s  %-*s  %*s  %6s  %s\n", width, result->check[i].name, limits,
                      shown.limit, founds, shown.found, shown.texts,
                      result->check[i].passed ? "yes" : "NO");
    }
    if (!result->summary)
        nvdp__fprintf(to, "For %s of a %s", nvdp__samples_text(result->releases).text,
                      result->persons ? "person, all rows included" : "text");
    else if (result->releases == 1)
        fputs("For the replacement of any one row of the summary, or person if its unit is one",
              to);
    else
        nvdp__fprintf(to,
                      "For the replacement of any one row, or person if the unit is one, of %zu "
                      "such summaries",
                      result->releases);
    nvdp__fprintf(to, ", at delta %g%s%s.\n", result->delta,
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

const struct nvdp_result_kind nvdp__gate_kind = {
    .name = "gate",
    .rows = &nvdp__result_gate,
    .print = print_text,
    .memory = NVDP__OFFSETS(offsetof(struct nvdp_gate_result, check))};

/* --- JUnit XML --- */

struct suite {
    const struct nvdp_gate_result *result;
    const char *name; /* without control characters */
};

/* Writes an attribute.  Drops control characters, which XML does not allow even escaped. */
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
        const struct shown shown = show(check);
        fputs("    <testcase classname=\"nvdp.gate\"", to);
        put_attribute(to, "name", check->name);
        nvdp__fprintf(to, " time=\"%.3f\">\n", check->seconds);
        if (!check->passed) {
            char message[NVDP_GATE_REASON + 2 * CELL];
            nvdp__snprintf(message, sizeof message, "limit: %s; found: %s; %s", shown.limit,
                           shown.found, check->reason);
            fputs("      <failure type=\"limit\"", to);
            put_attribute(to, "message", message);
            fputs("/>\n", to);
        }
        nvdp__fprintf(to, "      <system-out>limit: %s; found: %s; texts: %s</system-out>\n",
                      shown.limit, shown.found, shown.texts);
        fputs("    </testcase>\n", to);
    }
    fputs("  </testsuite>\n</testsuites>\n", to);
}

nvdp_status nvdp_gate_junit(struct nvdp_context *ctx, const struct nvdp_gate_result *result,
                            const char *name, char **out) {
    nvdp__autofree char *plain = nvdp__plain_copy(ctx, name);
    NVDP_TRY(NVDP__MADE(plain));
    return nvdp__printed(ctx, print_junit, &(struct suite){result, plain}, out);
}
