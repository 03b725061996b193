/* The table of attacks on what runs share (nvdp attack --json, all kinds except exposure): reads the results, fills the
 * table, and notes which attacks break a promise. */
#include "report/parts.h"

#include "base/sentence.h"

#include <math.h>
#include <nvdp/attack.h>
#include <string.h>

nvdp_status report_attack_parse(struct nvdp_context *ctx, const char *path,
                                struct report_analysis *a) {
    a->mechanism = report_text_of(a->root, "attack");
    if (isnan(report_real_of(a->root, "first")) &&
        !json_is_array(json_object_get(a->root, "scores")) &&
        !json_is_array(json_object_get(a->root, "pairs")))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected the output of nvdp attack --json, found another object",
                          path);
    a->label = nvdp__format(ctx, "%.*s", report_stem(a->name), a->name);
    return NVDP__MADE(a->label);
}

static void put_share(struct report_table *table, double share) {
    if (isnan(share))
        report_table_cell(table, NAN, "-");
    else
        report_table_cell(table, NAN, "%.2f", 100 * share);
}

static void put_row(struct report_table *table, const struct report_analysis *a, const char *score,
                    double release, const json_t *interval, double states, double prior,
                    double bound) {
    char text[NVDP__BOUND_TEXT], samples[NVDP__SAMPLES_TEXT];
    const double releases = report_real_of(a->root, "releases");
    const bool many = releases > 1; /* false for NaN */
    report_table_row(table);
    report_table_cell(table, NAN, "%s", a->label);
    report_table_cell(table, NAN, "%s", a->mechanism);
    report_table_cell(table, NAN, "%s%s%s", score, many ? "; " : "",
                      many ? nvdp__samples_text(releases, samples) : "");
    put_share(table, release);
    report_table_interval(table, interval, 100);
    put_share(table, states);
    put_share(table, prior);
    report_table_cell(table, NAN, "%s", isnan(bound) ? "-" : nvdp__share_bound(text, bound));
}

/* Returns the same metric for another observation. */
static double beside(const json_t *scores, const char *observed, const char *metric) {
    const json_t *score;
    size_t i;
    json_array_foreach(scores, i, score) {
        if (strcmp(report_text_of(score, "observed"), observed) == 0 &&
            strcmp(report_text_of(score, "metric"), metric) == 0)
            return report_real_of(score, "value");
    }
    return NAN;
}

static void put_linkage(struct report_table *table, const struct report_analysis *a) {
    char name[NVDP__NUMBER_SIZE];
    snprintf(name, sizeof name, "the text, among %.0f", report_real_of(a->root, "texts"));
    put_row(table, a, name, report_real_of(a->root, "first"),
            json_object_get(a->root, "first_interval"), report_real_of(a->root, "states"),
            report_real_of(a->root, "first_chance"), report_real_of(a->root, "first_bound"));
    put_row(table, a, "among the top ten", report_real_of(a->root, "ten"),
            json_object_get(a->root, "ten_interval"), NAN, report_real_of(a->root, "ten_chance"),
            report_real_of(a->root, "ten_bound"));
    const json_t *labeled = json_object_get(a->root, "labeled"); /* null: without labels */
    if (!(report_real_of(labeled, "labels") > 1)) return;
    put_row(table, a, "the text, label known", report_real_of(labeled, "first"),
            json_object_get(labeled, "first_interval"), NAN,
            report_real_of(labeled, "first_chance"), report_real_of(labeled, "first_bound"));
    put_row(table, a, "top ten, label known", report_real_of(labeled, "ten"),
            json_object_get(labeled, "ten_interval"), NAN, report_real_of(labeled, "ten_chance"),
            report_real_of(labeled, "ten_bound"));
}

/* Adds the mean over pairs, and notes violations. */
static void put_pairs(struct report_table *table, const struct report_analysis *a) {
    const json_t *pairs = json_object_get(a->root, "pairs"), *pair;
    double right = 0, states = 0;
    size_t i;
    json_array_foreach(pairs, i, pair) {
        right += report_real_of(pair, "right") / (double)json_array_size(pairs);
        states += report_real_of(pair, "states") / (double)json_array_size(pairs);
    }
    put_row(table, a, "which of two texts", right, NULL, states, .5,
            report_real_of(a->root, "guess"));
}

/* Returns true if an interval lies above a proven bound. */
static bool above(const json_t *interval, double bound) {
    return json_number_value(json_array_get(interval, 0)) > bound; /* false for NaN */
}

/* Notes an attack that breaks a promise, or that is too weak to conclude anything. */
static void note_attack(struct report_table *table, const struct report_analysis *a) {
    const json_t *scores = json_object_get(a->root, "scores"), *score;
    const json_t *labeled = json_object_get(a->root, "labeled");
    bool violation =
        json_is_false(json_object_get(a->root, "holds")) ||
        above(json_object_get(a->root, "first_interval"), report_real_of(a->root, "first_bound")) ||
        above(json_object_get(a->root, "ten_interval"), report_real_of(a->root, "ten_bound")) ||
        above(json_object_get(labeled, "first_interval"), report_real_of(labeled, "first_bound")) ||
        above(json_object_get(labeled, "ten_interval"), report_real_of(labeled, "ten_bound"));
    size_t i;
    json_array_foreach(scores, i, score) {
        violation |= above(json_object_get(score, "interval"), report_real_of(score, "bound"));
    }
    if (violation)
        report_table_note(
            table, "VIOLATION: %s shows more than the exact, proven or promised value allows.",
            a->label);
    if (json_is_true(json_object_get(a->root, "weak")))
        report_table_note(table,
                          "CAUTION: the attacker of %s is too weak for a conclusion: even without "
                          "noise it is right hardly more often than without any sample.",
                          a->label);
}

/* Explains the attacks below the table. Consecutive attacks share the same note. */
static void note_attacks(struct report_table *table) {
    struct nvdp_attack_info info = NVDP_RESULT(struct nvdp_attack_info);
    char said[512] = "";
    struct nvdp__writer to = {.out = said, .size = sizeof said};
    const char *before = NULL;
    for (size_t i = 0; nvdp_attack_describe(NULL, i, &info) == NVDP_OK; i++) {
        if (info.right == NULL) continue;
        if (before != NULL && strcmp(before, info.right) != 0)
            nvdp__append(&to, ": %s. ", before);
        else if (before != NULL)
            nvdp__append(&to, ", ");
        nvdp__append(&to, "%s", info.name);
        before = info.right;
    }
    report_table_note(
        table,
        "%s: %s. without noise: the attacker sees the posteriors' means. of nothing: the "
        "attacker guesses by frequency. Guesses about a text see one sample unless more are named. "
        "AUC: times 100. proven at most: no attacker exceeds this "
        "value on average (docs/attacks.md). Other attackers may find more than these.",
        said, before != NULL ? before : "");
}

struct report_table report_table_attacks(struct nvdp_context *ctx, const struct report *report) {
    struct report_table table = report_table_begin(ctx, "attacks", "What an attacker gets");
    static const char *const columns[] = {"of samples [%]", "95 %", "without noise [%]",
                                          "of nothing [%]", "proven at most"};
    report_table_column(&table, false, "file", "");
    report_table_column(&table, false, "attack", "");
    report_table_column(&table, false, "right", "");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        report_table_column(&table, true, columns[i], "");
    for (size_t i = 0; i < report->analyses; i++) {
        const struct report_analysis *a = &report->analysis[i];
        const json_t *scores = json_object_get(a->root, "scores"), *score;
        size_t k;
        if (a->kind != REPORT_ANALYSIS_ATTACK) continue;
        note_attack(&table, a);
        if (!isnan(report_real_of(a->root, "first"))) put_linkage(&table, a);
        if (json_is_array(json_object_get(a->root, "pairs"))) put_pairs(&table, a);
        if (report_real_of(a->root, "both") > 0)
            report_table_note(&table,
                              "CAUTION: %.0f of the texts of %s are also among the public texts "
                              "that the attacker learned from.",
                              report_real_of(a->root, "both"), a->label);
        json_array_foreach(scores, k, score) {
            const char *metric = report_text_of(score, "metric");
            if (strcmp(report_text_of(score, "observed"), "release") == 0)
                put_row(&table, a, metric, report_real_of(score, "value"),
                        json_object_get(score, "interval"), beside(scores, "states", metric),
                        beside(scores, "prior", metric), report_real_of(score, "bound"));
        }
    }
    if (table.rows > 0) note_attacks(&table);
    return table;
}
