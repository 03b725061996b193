/* The table of attacks on the samples of runs (nvdp attack --json, all kinds except exposure): reads the results, fills
 * the table, and notes which attacks break a promise. */
#include "base/file.h"
#include "base/sentence.h"
#include "report/parts.h"
#include <math.h>
#include <nvdp/attack.h>
#include <stdlib.h>
#include <string.h>

nvdp_status report_attack_parse(struct nvdp_context *ctx, const char *path,
                                struct report_analysis *a) {
    a->mechanism = report_member_text(a->root, "attack");
    if (isnan(report_member_real(a->root, "first")) &&
        !json_is_array(json_object_get(a->root, "scores")) &&
        !json_is_array(json_object_get(a->root, "pairs")))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected the output of nvdp attack --json, found another object",
                          path);
    a->label = nvdp__format(ctx, "%.*s", report_stem(a->name), a->name);
    return NVDP__MADE(a->label);
}

/* Adds a row; the page draws its shares. */
static void put_row(struct report_table *table, const struct report_analysis *a, const char *score,
                    double release, const json_t *interval, double states, double prior,
                    double bound) {
    const double releases = report_member_real(a->root, "releases");
    const bool many = releases > 1; /* false for NaN */
    report_table_row(table, "%s\t%s\t%s%s%s\t%s\t%s\t%s\t%s\t%s", a->label, a->mechanism, score,
                     many ? "; " : "", many ? nvdp__samples_text(releases).text : "",
                     report_say_percent(release).text, report_say_interval(interval, 100).text,
                     report_say_percent(states).text, report_say_percent(prior).text,
                     isnan(bound) ? "-" : nvdp__share_bound(bound).text);
    report_table_value(table, REPORT_ATTACK_SHARE, release);
    report_table_value(table, REPORT_ATTACK_BOUND, bound);
}

/* Returns the value of the metric for another observation. */
static double beside(const json_t *scores, const char *observed, const char *metric) {
    const json_t *score;
    size_t i;
    json_array_foreach(scores, i, score) {
        if (strcmp(report_member_text(score, "observed"), observed) == 0 &&
            strcmp(report_member_text(score, "metric"), metric) == 0)
            return report_member_real(score, "value");
    }
    return NAN;
}

/* Guesses of the text: the most likely text, and the ten most likely texts. "labeled" is for a reader who has the
 * labels, too. */
static const struct {
    const char *score;
    bool labeled;
    const char *share, *interval, *chance, *bound;
} guesses[] = {
    {NULL, false, "first", "first_interval", "first_chance", "first_bound"},
    {"among the top ten", false, "ten", "ten_interval", "ten_chance", "ten_bound"},
    {"the text, label known", true, "first", "first_interval", "first_chance", "first_bound"},
    {"top ten, label known", true, "ten", "ten_interval", "ten_chance", "ten_bound"}};
enum { GUESSES = sizeof guesses / sizeof *guesses };

static void put_linkage(struct report_table *table, const struct report_analysis *a) {
    const json_t *labeled = json_object_get(a->root, "labeled"); /* null without labels */
    const struct report_text first =
        report_say("the text, among %.0f", report_member_real(a->root, "texts"));
    for (size_t k = 0; k < GUESSES; k++) {
        const json_t *from = guesses[k].labeled ? labeled : a->root;
        if (guesses[k].labeled && !(report_member_real(labeled, "labels") > 1)) continue;
        put_row(table, a, guesses[k].score != NULL ? guesses[k].score : first.text,
                report_member_real(from, guesses[k].share),
                json_object_get(from, guesses[k].interval),
                guesses[k].score == NULL ? report_member_real(from, "states") : NAN,
                report_member_real(from, guesses[k].chance),
                report_member_real(from, guesses[k].bound));
    }
}

/* Adds the mean over pairs, and notes violations. */
static void put_pairs(struct report_table *table, const struct report_analysis *a) {
    const json_t *pairs = json_object_get(a->root, "pairs"), *pair;
    double right = 0, states = 0;
    size_t i;
    json_array_foreach(pairs, i, pair) {
        right += report_member_real(pair, "right") / (double)json_array_size(pairs);
        states += report_member_real(pair, "states") / (double)json_array_size(pairs);
    }
    put_row(table, a, "which of two texts", right, NULL, states, .5,
            report_member_real(a->root, "guess"));
}

/* Returns true if an interval lies above a proven bound. */
static bool above(const json_t *interval, double bound) {
    return json_number_value(json_array_get(interval, 0)) > bound; /* false for NaN */
}

/* Notes an attack that breaks a promise, or that is too weak to conclude anything. */
static void note_attack(struct report_table *table, const struct report_analysis *a) {
    const json_t *scores = json_object_get(a->root, "scores"), *score;
    const json_t *labeled = json_object_get(a->root, "labeled");
    bool violation = json_is_false(json_object_get(a->root, "holds"));
    size_t i;
    for (size_t k = 0; k < GUESSES; k++) {
        const json_t *from = guesses[k].labeled ? labeled : a->root;
        violation |= above(json_object_get(from, guesses[k].interval),
                           report_member_real(from, guesses[k].bound));
    }
    json_array_foreach(scores, i, score) {
        violation |= above(json_object_get(score, "interval"), report_member_real(score, "bound"));
    }
    if (violation)
        report_table_note(
            table, REPORT_OF_RUNS,
            "VIOLATION: %s shows more than the exact, proven or promised value allows.", a->label);
    if (json_is_true(json_object_get(a->root, "weak")))
        report_table_note(table, REPORT_OF_RUNS,
                          "CAUTION: the attacker of %s is too weak for a conclusion: even without "
                          "noise it is right hardly more often than without any sample.",
                          a->label);
}

/* Explains the attacks below the table. Consecutive attacks of a kind share a note. */
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
        table, REPORT_EXPLAINS,
        "%s: %s. without noise: the attacker sees the posteriors' means. of nothing: the "
        "attacker guesses by frequency. Guesses about a text see one sample unless more are named. "
        "AUC: times 100. proven at most: no attacker exceeds this "
        "value on average (docs/attacks.md). Other attackers may find more than these.",
        said, before != NULL ? before : "");
}

struct report_table report_table_attacks(struct nvdp_context *ctx, const struct report *report) {
    struct report_table table =
        report_table_begin(ctx, "attacks", "What an attacker gets", REPORT_ATTACK_SHARE,
                           REPORT_COLUMNS("file", "attack", "right", "of samples [%]", "95 %",
                                          "without noise [%]", "of nothing [%]", "proven at most"));
    for (size_t i = 0; i < report->analyses; i++) {
        const struct report_analysis *a = &report->analysis[i];
        const json_t *scores = json_object_get(a->root, "scores"), *score;
        size_t k;
        if (a->kind != REPORT_ANALYSIS_ATTACK) continue;
        note_attack(&table, a);
        if (!isnan(report_member_real(a->root, "first"))) put_linkage(&table, a);
        if (json_is_array(json_object_get(a->root, "pairs"))) put_pairs(&table, a);
        if (report_member_real(a->root, "both") > 0)
            report_table_note(&table, REPORT_OF_RUNS,
                              "CAUTION: %.0f of the texts of %s are also among the public texts "
                              "that the attacker learned from.",
                              report_member_real(a->root, "both"), a->label);
        json_array_foreach(scores, k, score) {
            const char *metric = report_member_text(score, "metric");
            if (strcmp(report_member_text(score, "observed"), "release") == 0)
                put_row(&table, a, metric, report_member_real(score, "value"),
                        json_object_get(score, "interval"), beside(scores, "states", metric),
                        beside(scores, "prior", metric), report_member_real(score, "bound"));
        }
    }
    if (table.rows > 0) note_attacks(&table);
    return table;
}

/* ---- planted secrets and canaries ---- */

/* Planted secrets and canaries (nvdp attack --kind exposure --json) in a report: tables, and the memorization figure of
 * Hoory et al. 2021. */

/* Mean exposure of secrets that were not planted: E[-log2 U] = log2 e for a uniform rank. */
static const double CONTROL = 1.4426950408889634;
/* Position of secrets that were planted 0 times on a logarithmic axis. */
static const double NEVER = 0.3;

static bool is_canary(const json_t *group) {
    return json_is_true(json_object_get(group, "canary"));
}

/* Returns group k of an attack; NULL beyond the last group, or if the group is no object. */
static const json_t *group_at(const struct report_analysis *a, size_t k) {
    return a->kind != REPORT_ANALYSIS_EXPOSURE
               ? NULL
               : json_array_get(json_object_get(a->root, "groups"), k);
}

/* Returns true for a group of secrets with this form and place. Canaries, whose coins decide, are excluded. */
static bool is_part(const json_t *group, const char *form, const char *place) {
    return !is_canary(group) && strcmp(report_member_text(group, "form"), form) == 0 &&
           strcmp(report_member_text(group, "place"), place) == 0;
}

nvdp_status report_exposure_parse(struct nvdp_context *ctx, const char *path,
                                  struct report_analysis *a) {
    const json_t *accountant = json_object_get(a->root, "accountant");
    const double epsilon = report_member_real(accountant, "epsilon");
    bool good = group_at(a, 0) != NULL;
    a->mechanism = report_member_text(a->root, "model");
    for (size_t k = 0; group_at(a, k) != NULL; k++)
        good = good && *report_member_text(group_at(a, k), "form") != '\0' &&
               isfinite(report_member_real(group_at(a, k), "exposure")) &&
               report_member_real(group_at(a, k), "occurrences") >= 0;
    if (!good)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: expected the output of nvdp attack --kind exposure --json, found another object",
            path);
    char promise[128] = "";
    if (isfinite(epsilon))
        snprintf(promise, sizeof promise, ", epsilon %s at delta %s%s", nvdp__bound(epsilon).text,
                 nvdp__bound(report_member_real(accountant, "delta")).text,
                 json_is_true(json_object_get(accountant, "insecure_seed"))
                     ? " for who does not know the seed"
                     : "");
    a->label = nvdp__format(ctx, "%.*s%s", report_stem(a->name), a->name, promise);
    return NVDP__MADE(a->label);
}

/* ---- tables ---- */

struct report_table report_table_exposure(struct nvdp_context *ctx, const struct report *report) {
    struct report_table table = report_table_begin(
        ctx, "exposure", "Memorization: exposure of secrets in the training text", 2,
        REPORT_COLUMNS("form", "place", "occurrences", "secrets", "loss [nats]", "exposure [bits]",
                       "95 %", "first [%]"));
    for (size_t i = 0; i < report->analyses; i++) {
        const struct report_analysis *a = &report->analysis[i];
        if (a->kind != REPORT_ANALYSIS_EXPOSURE) continue;
        report_table_heading(&table, "%s (%.2f bits)", a->label,
                             log2(report_member_real(a->root, "candidates")));
        const json_t *group;
        for (size_t k = 0; (group = group_at(a, k)) != NULL; k++)
            report_table_row(
                &table, "%s\t%s\t%.0f\t%.0f\t%.2f\t%.2f\t%s\t%.0f",
                report_member_text(group, "form"),
                is_canary(group) ? "canary" : report_member_text(group, "place"),
                report_member_real(group, "occurrences"), report_member_real(group, "secrets"),
                report_member_real(group, "loss"), report_member_real(group, "exposure"),
                report_say_interval(json_object_get(group, "interval"), 1).text,
                100 * report_member_real(group, "first"));
    }
    if (table.rows > 0)
        report_table_note(
            &table, REPORT_EXPLAINS,
            "exposure: log2 of the number of candidates minus log2 of the secret's rank "
            "among them (Carlini et al. 2019); 1.44 on average for secrets that were not "
            "planted. first: share of secrets that the model ranks first. Intervals of the "
            "mean over secrets (Student; if all are first, Clopper & Pearson).");
    return table;
}

struct report_table report_table_audit(struct nvdp_context *ctx, const struct report *report) {
    struct report_table table = report_table_begin(
        ctx, "audit", "Canary audit: measured and promised epsilon of one run", 1,
        REPORT_COLUMNS("model", "canaries", "AUC", "delta", "epsilon, at least", "promised",
                       "confidence [%]"));
    for (size_t i = 0; i < report->analyses; i++) {
        const struct report_analysis *a = &report->analysis[i];
        const json_t *audit = json_object_get(a->root, "audit");
        const double promised =
            report_member_real(json_object_get(a->root, "accountant"), "epsilon");
        if (a->kind != REPORT_ANALYSIS_EXPOSURE || !json_is_object(audit)) continue;
        report_table_row(&table, "%s\t%.0f\t%.3f\t%s\t%.2f\t%s\t%.0f", a->label,
                         report_member_real(audit, "canaries"), report_member_real(audit, "auc"),
                         report_say_lambda(report_member_real(audit, "delta")).text,
                         nvdp__lower_bound(report_member_real(audit, "epsilon"), 2),
                         isfinite(promised) ? nvdp__bound(promised).text : "-",
                         100 * report_member_real(audit, "confidence"));
        if (report_member_real(audit, "epsilon") > promised)
            report_table_note(&table, REPORT_OF_RUNS,
                              "VIOLATION: %s is less private than promised.", a->label);
    }
    if (table.rows > 0)
        report_table_note(
            &table, REPORT_EXPLAINS,
            "One-run audit (Steinke et al. 2023) with texts that a coin flip put into the "
            "training set or left out. promised: the epsilon of the accountant.");
    return table;
}

/* ---- the figure ---- */

static bool has_part(const struct report_analysis *a, const char *form, const char *place) {
    for (size_t k = 0; group_at(a, k) != NULL; k++)
        if (is_part(group_at(a, k), form, place)) return true;
    return false;
}

/* Returns true if group k of analysis i is the first of its form and place. */
static bool begins_part(const struct report *report, size_t i, size_t k) {
    const json_t *group = group_at(&report->analysis[i], k);
    const char *form = report_member_text(group, "form"),
               *place = report_member_text(group, "place");
    for (size_t j = 0; j < i; j++)
        if (has_part(&report->analysis[j], form, place)) return false;
    for (size_t m = 0; m < k; m++)
        if (is_part(group_at(&report->analysis[i], m), form, place)) return false;
    return !is_canary(group);
}

/* Draws a panel for one form and place, with a line per model. */
static void draw_part(struct report_drawing *d, const struct report *report, size_t panel,
                      const char *form, const char *place) {
    for (size_t i = 0; i < report->analyses; i++) {
        const struct report_analysis *a = &report->analysis[i];
        const json_t *group;
        if (!has_part(a, form, place)) continue;
        report_drawing_block(d, "%s, %s in %s\n# occurrences\texposure\tlow\thigh", a->label, form,
                             place);
        for (size_t k = 0; (group = group_at(a, k)) != NULL; k++) {
            const json_t *interval = json_object_get(group, "interval");
            const json_t *low = json_array_get(interval, 0), *high = json_array_get(interval, 1);
            const double mean = report_member_real(group, "exposure"),
                         times = report_member_real(group, "occurrences");
            if (is_part(group, form, place))
                report_drawing_row(
                    d,
                    (double[]){times > 0 ? times : NEVER, mean,
                               json_is_number(low) ? json_number_value(low) : mean,
                               json_is_number(high) ? json_number_value(high) : mean},
                    4, NULL);
        }
    }
    report_drawing_panel(
        d, panel,
        report_say("%.20s, %s", form,
                   strcmp(place, "window") == 0 ? "separate examples" : "in the text")
            .text,
        "occurrences", "exposure [bits]");
    report_drawing_key(d, "left top");
    fprintf(d->script,
            "set logscale x\nset xtics add ('0' %g)\nset xrange [%g:*]\nset yrange [0:*]\n"
            "set offsets 0, 0, graph 0.3, 0\n"
            "set arrow from graph 0,first %.4f to graph 1,first %.4f nohead dt 2 lc rgb "
            "'#777777'\n",
            NEVER, NEVER / 1.5, CONTROL, CONTROL);
    for (size_t i = 0; i < report->analyses; i++)
        if (has_part(&report->analysis[i], form, place))
            report_drawing_line(d, "1:2", "1:2:3:4", report->analysis[i].label);
    report_drawing_end_key(d);
}

size_t report_exposure_panels(const struct report *report, size_t i) {
    size_t panels = 0;
    for (size_t k = 0; group_at(&report->analysis[i], k) != NULL; k++)
        panels += begins_part(report, i, k);
    return panels;
}

void report_exposure_draw(struct report_drawing *d, const struct report *report, size_t i,
                          size_t panel) {
    const json_t *group;
    for (size_t k = 0; (group = group_at(&report->analysis[i], k)) != NULL; k++)
        if (begins_part(report, i, k))
            draw_part(d, report, panel++, report_member_text(group, "form"),
                      report_member_text(group, "place"));
}
