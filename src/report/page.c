/* The report as one self-contained HTML page. Sections in order: runs at a glance, how to read the tables, figures,
 * every run; report_page() assembles them. */
#include "report/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1c1f23;--soft:#5a626c;--paper:#fdfdfc;--line:#d9dcdf;"
    "--card:#fff;--mark:#eef4fa;--best:#e3f1e6}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e6e8;--soft:#a0a8b0;--paper:#17191c;"
    "--line:#3a3f45;--card:#1f2226;--mark:#232b33;--best:#1f3a29}}\n"
    "body{font:16px/1.55 system-ui,-apple-system,'Segoe UI',sans-serif;color:var(--ink);"
    "background:var(--paper);max-width:82rem;margin:0 auto;padding:1.5rem}\n"
    "h1{font-size:1.8rem;margin:.2em 0}h2{font-size:1.3rem;margin:2.2em 0 .4em;border-bottom:1px "
    "solid var(--line);padding-bottom:.2em}\n"
    "p,dd{max-width:48rem}.soft,.note{color:var(--soft)}.note{font-size:.85rem;margin:.3em 0}\n"
    "dt{font-weight:600;margin-top:.6em}dd{margin:0 0 0 1.2em}\n"
    "nav a{margin-right:1.1em}a{color:inherit}\n"
    ".wide{overflow-x:auto;margin:1em 0 .6em}\n"
    "table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums;"
    "min-width:50%}\n"
    "caption{text-align:left;font-weight:600;padding:.3em 0}\n"
    "th,td{padding:.28em .7em;border-bottom:1px solid var(--line);text-align:left;"
    "vertical-align:top}\n"
    "thead th{border-bottom:2px solid var(--soft);vertical-align:bottom}td,th{white-space:nowrap}\n"
    ".number{text-align:right}tr.heading th{background:var(--mark)}\n"
    "td strong{background:var(--best);padding:0 .25em;border-radius:.2em}\n"
    "figure{margin:1.2em 0;background:#fff;color:#222;border:1px solid var(--line);"
    "border-radius:.5em;padding:.8em}\n"
    "figure svg{width:100%;height:auto;max-height:95vh}figcaption{font-size:.88rem;color:#444;"
    "max-width:56rem}\n"
    "code,pre{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:.82rem}\n"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--mark);padding:.6em;"
    "border-radius:.3em;margin:.3em 0}\n"
    "details{border-bottom:1px solid var(--line);padding:.3em 0}summary{cursor:pointer}\n"
    "@media print{body{max-width:none;padding:0;font-size:10pt}nav{display:none}"
    "figure,tr,details{break-inside:avoid}.wide{overflow:visible}table{font-size:7.5pt}"
    "td,th{padding:.2em .35em;white-space:normal}}\n";

static void heading(FILE *to, const char *id, const char *text) {
    fprintf(to, "<h2 id=\"%s\">", id);
    nvdp__put_html(to, text);
    fputs("</h2>\n", to);
}

/* --- the runs --- */

/* Returns the number of a family's runs. */
static size_t runs_of(const struct report *report, size_t family) {
    size_t runs = 0;
    for (size_t i = 0; i < report->groups; i++) {
        if (report->group[i].family == family) runs += report->group[i].runs;
    }
    return runs;
}

static void put_families(FILE *to, const struct report *report) {
    fputs("<dl>\n", to);
    for (size_t f = 0; f < report->families; f++) {
        size_t runs = runs_of(report, f);
        bool first = /* families of one method are adjacent */
            f == 0 || strcmp(report->family[f - 1].method, report->family[f].method) != 0;
        fputs("<dt>", to);
        nvdp__put_html(to, report->family[f].label);
        fprintf(to, " <span class=\"soft\">(%zu run%s)</span></dt>", runs, runs == 1 ? "" : "s");
        struct nvdp_method_info info = NVDP_RESULT(struct nvdp_method_info);
        if (first && report_method(report->family[f].method, &info))
            fprintf(to, "<dd>%s</dd>", info.description);
        fputc('\n', to);
    }
    fputs("</dl>\n", to);
}

/* Writes the distinct texts at run.json's outer.inner, in the order of the runs, separated by commas. */
static void put_different(FILE *to, const struct report *report, const char *outer,
                          const char *inner) {
    const char *shown[8];
    size_t count = 0;
    for (size_t i = 0; i < report->runs && count < sizeof shown / sizeof *shown; i++) {
        const char *text =
            json_string_value(json_object_get(json_object_get(report->run[i].file, outer), inner));
        bool known = text == NULL;
        for (size_t k = 0; k < count && !known; k++) {
            known = strcmp(shown[k], text) == 0;
        }
        if (known) continue;
        fputs(count > 0 ? ", " : "", to);
        nvdp__put_html(to, text);
        shown[count++] = text;
    }
    if (count == 0) fputs("unknown", to);
}

static double total_seconds(const struct report *report) {
    double sum = 0;
    for (size_t i = 0; i < report->runs; i++) {
        if (!isnan(report->run[i].seconds)) sum += report->run[i].seconds;
    }
    return sum;
}

static void put_time(FILE *to, double seconds) {
    if (seconds < 120) {
        fprintf(to, "%.0f seconds", seconds);
    } else if (seconds < 7200) {
        fprintf(to, "%.0f minutes", seconds / 60);
    } else {
        fprintf(to, "%.1f hours", seconds / 3600);
    }
}

static void put_tasks(FILE *to, const struct report *report) {
    fputs("<p>Tasks: ", to);
    for (size_t t = 0; t < report->tasks; t++) {
        const json_t *data = json_object_get(report->task[t].first->file, "data");
        fputs(t > 0 ? "; " : "", to);
        nvdp__put_html(to, report->task[t].label);
        fprintf(to, " (%lld texts to train on, %lld to select, %lld to test)",
                (long long)json_integer_value(json_object_get(data, "train_texts")),
                (long long)json_integer_value(json_object_get(data, "validation_texts")),
                (long long)json_integer_value(json_object_get(data, "test_texts")));
    }
    fputs(".</p>\n", to);
}

/* Writes the result that is easiest to understand first: how many texts are named, for each task's selected settings
 * that were measured. */
static void put_linkage(FILE *to, const struct report *report) {
    bool begun = false;
    for (REPORT_EACH_GROUP(report, group)) {
        const struct report_stat *linked = &group->quantity[REPORT_LINKED];
        const struct report_measured *how = &group->run[0]->how;
        if (!group->selected || linked->n == 0) continue;
        for (size_t k = 0; k < group->runs; k++) /* uses the first seed that was measured */
            if (!isnan(group->run[k]->quantity[REPORT_LINKED])) how = &group->run[k]->how;
        const double texts = fmin(how->texts, NVDP_LINKAGE_TEXTS), releases = how->releases;
        fputs(begun ? "" : "<ul>\n", to);
        fputs("<li>", to);
        nvdp__put_html(to, report->task[group->task].label);
        fputs(", ", to);
        nvdp__put_html(to, report->family[group->family].label);
        fprintf(to, ": someone who has the model and the %.0f measured texts names the right text ",
                texts);
        if (releases > 1)
            fprintf(to, "for %.3g %% of them, given %.0f samples of it", 100 * linked->mean,
                    releases);
        else
            fprintf(to, "for %.3g %% of the samples", 100 * linked->mean);
        fprintf(to, " (chance %.3g %%).</li>\n", 100 / texts);
        begun = true;
    }
    if (begun) fputs("</ul>\n", to);
}

static void put_overview(FILE *to, const struct report_page *page) {
    const struct report *report = page->report;
    heading(to, "run", "What was run");
    fprintf(to, "<p>%zu finished run%s, %zu setting%s that differ in more than seed and fold",
            report->runs, report->runs == 1 ? "" : "s", report->groups,
            report->groups == 1 ? "" : "s");
    fputs(", ", to);
    put_time(to, total_seconds(report));
    fputs(" of training in all. Program: nvdp ", to);
    put_different(to, report, "software", "nvdp");
    fputs(". Processor: ", to);
    put_different(to, report, "hardware", "processor");
    fputs(".</p>\n", to);
    put_tasks(to, report);
    put_families(to, report);
}

/* --- reading guide --- */

static void put_reading(FILE *to) {
    heading(to, "reading", "How to read the columns");
    fputs(
        "<dl>\n"
        "<dt>score, best of seeds</dt><dd>100 times the task's metric on the test texts (GLUE's "
        "dev file), with fresh noise. The score is the mean over seeds with its standard "
        "deviation: what to expect from a new run. The best of seeds is the seed that did best on "
        "the <em>validation</em> texts, as the papers print it: an optimistic habit, kept to be "
        "comparable.</dd>\n"
        "<dt>named, share</dt><dd>How often somebody who has the model and the measured texts (at "
        "most 1000 of them) names the text that a sample was made of, by its likelihood under "
        "each: the best guess there is. Chance is one in as many.</dd>\n"
        "<dt>RD max, RD mean, in nats</dt><dd>A text's shared sample is random. The Renyi "
        "divergence says how well samples of one text can be told from samples of another: 0 means "
        "not at all, a few nats mean with some confidence, hundreds mean at once. It is summed "
        "over everything that one release of a text shares, because that is what a third party "
        "gets. Max and mean run over all ordered pairs of the measured texts. It is a measurement "
        "on these texts, no bound for others.</dd>\n"
        "<dt>bound, in nats</dt><dd>What the divergence is at most between any two texts, measured "
        "or not: proven where the sequence clip holds a text's means within a norm C.</dd>\n"
        "<dt>exact eps, in nats</dt><dd>Of two texts, the least epsilon with P(S) &le; "
        "e<sup>epsilon</sup> Q(S) + delta for every set S of samples, at the same delta as BDP: of "
        "the worst pair, and on average. It is exact, and finite also where a divergence is "
        "not.</dd>\n"
        "<dt>inf, infinite pairs, RD max of the finite</dt><dd>Some pairs of texts have an "
        "infinite divergence: the ratio of their samples' densities has no finite moment of this "
        "order, and some samples all but rule the other text out. Where there is one such pair, "
        "max and mean are infinite. The share of such pairs stands beside them, and the largest "
        "divergence of the other pairs, which is no privacy statement. Every run says why: "
        "a variance (logvar) or pseudo-count (alpha) of a token too far from another's at its "
        "place, or from padding's.</dd>\n"
        "<dt>BDP, best k and k = 1.1</dt><dd>Bayesian differential privacy: an epsilon that holds "
        "for texts drawn like the measured ones, of the worst of them. The published moment k = "
        "1.1 cannot give less than ln(1/delta)/k, 10.47 at delta 1e-5: values near it are that "
        "floor, not a merit. The best moment has a lower floor and is the more telling "
        "number.</dd>\n"
        "<dt>/comp.dim.</dt><dd>The sum divided by components times dimensions, as the published "
        "tables have it. Thousands of nats look like fractions then. It is no privacy "
        "guarantee.</dd>\n"
        "<dt>setting</dt><dd>lambda, the weight of the regularisers, or C, the norm of the "
        "sequence clip: chosen by the validation score alone.</dd>\n"
        "<dt>1 nat, 3 nats, ...</dt><dd>Budgets: the score of a method's setting that does best on "
        "the validation texts among those whose RD max stays within the budget for every seed. It "
        "stands below with its RD max. Proven: the bound stays within it.</dd>\n</dl>\n",
        to);
}

/* --- figures --- */

static void put_figures(FILE *to, const struct report_page *page) {
    heading(to, "figures", "Figures");
    const char *notice = page->report->figure_notice;
    if (notice != NULL) {
        fputs("<p>The figures were not drawn: ", to);
        nvdp__put_html(to, notice);
        fputs(". Their scripts and data are in the folder figures.</p>\n", to);
    } else if (!page->report->figures) {
        fputs("<p>No figures were asked for; their scripts and data are in the folder "
              "figures.</p>\n",
              to);
    }
    for (size_t i = 0; i < page->figures->count; i++) {
        const struct report_figure *figure = &page->figures->item[i];
        if (page->svg[i] == NULL) continue;
        /* A single panel does not fill the page. */
        fprintf(to, "<figure id=\"%s\">\n<div style=\"max-width:%dpx\">%s</div>\n", figure->name,
                figure->width * 6 / 5, page->svg[i]);
        fputs("<figcaption><strong>", to);
        nvdp__put_html(to, figure->title);
        fputs(".</strong> ", to);
        nvdp__put_html(to, figure->caption);
        fputs("</figcaption>\n</figure>\n", to);
    }
    if (page->figures->count > 0)
        fputs("<p class=\"note\">Each is in the folder figures as SVG, PNG and PDF, with its "
              "gnuplot script and data.</p>\n",
              to);
}

/* --- runs --- */

static void put_run(FILE *to, const struct report_run *run, bool best) {
    char text[NVDP__NUMBER_SIZE], max[NVDP__NUMBER_SIZE];
    fputs("<details><summary>", to);
    nvdp__put_html(to, run->name);
    fprintf(to, " <span class=\"soft\">seed %llu", (unsigned long long)run->seed);
    if (run->fold > 0) fprintf(to, ", fold %lld", (long long)run->fold);
    fprintf(to, ", score %s", report_say_score(text, run->score[0]));
    fprintf(to, ", validation %s", report_say_score(text, run->validation));
    if (run->measured) {
        report_say_divergence(max, run->quantity[REPORT_SUM_MAX], run->quantity[REPORT_INFINITE]);
        fputs(", RD max ", to);
        nvdp__put_html(to, max);
    }
    fprintf(to, "%s</span></summary>\n<pre>", best ? ", best of its seeds" : "");
    nvdp__put_html(to, run->command);
    if (run->measured) {
        fputs("\nnvdp privacy ", to);
        nvdp__put_html(to, run->path);
    }
    fputs("</pre>", to);
    const char *const why[2] = {run->infinite, run->infinite_published};
    for (int k = 0; k < 2; k++) {
        if (why[k] == NULL) continue;
        fprintf(to, "<p class=\"note\">%s is infinite, ", k == 0 ? "RD" : "BDP at the published k");
        nvdp__put_html(to, why[k]);
        fputs(".</p>", to);
    }
    fputs("</details>\n", to);
}

static void put_runs(FILE *to, const struct report *report) {
    heading(to, "runs", "Every run");
    fputs("<p class=\"soft\">With the command that makes it; options that stand at their defaults "
          "are left out.</p>\n",
          to);
    for (size_t i = 0; i < report->groups; i++) {
        const struct report_group *group = &report->group[i];
        for (size_t k = 0; k < group->runs; k++) {
            put_run(to, group->run[k], group->runs > 1 && group->run[k] == group->best);
        }
    }
}

static void put_notes(FILE *to, const struct report *report) {
    if (report->notes == 0) return;
    heading(to, "remarks", "Runs with a remark");
    fputs("<ul>\n", to);
    for (size_t i = 0; i < report->notes; i++) {
        fputs("<li><code>", to);
        nvdp__put_html(to, report->note[i].name);
        fputs("</code>: ", to);
        nvdp__put_html(to, report->note[i].text);
        fputs("</li>\n", to);
    }
    fputs("</ul>\n", to);
}

/* --- the page --- */

void report_page(FILE *to, const struct report_page *page) {
    fprintf(to,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
            "<title>Utility and privacy</title>\n<style>\n%s</style>\n</head>\n<body>\n"
            "<h1>Utility and privacy</h1>\n<p class=\"soft\">",
            style);
    nvdp__put_html(to, page->report->directory);
    fputs(", ", to);
    nvdp__put_html(to, page->created);
    fputs("</p>\n<nav><a href=\"#run\">What was run</a><a href=\"#reading\">How to read it</a>"
          "<a href=\"#tables\">Tables</a><a href=\"#figures\">Figures</a>"
          "<a href=\"#runs\">Runs</a></nav>\n",
          to);
    put_linkage(to, page->report);
    put_overview(to, page);
    put_reading(to);
    heading(to, "tables", "Tables");
    for (int k = 0; k < REPORT_TABLES; k++) {
        if (!report_table_is_empty(&page->table[k])) report_table_html(&page->table[k], to);
    }
    put_figures(to, page);
    put_notes(to, page->report);
    put_runs(to, page->report);
    fputs("</body>\n</html>\n", to);
}
