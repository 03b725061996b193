/* The report as one self-contained HTML page. report_page() at the end writes the sections in order: the picture, a
 * sentence per method, tables, how to read the tables, other figures, the families, remarks, every run. */
#include "report/parts.h"

#include "base/sentence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1c1f23;--soft:#5a626c;--paper:#fdfdfc;--line:#d9dcdf;"
    "--card:#fff;--mark:#eef4fa;--best:#e3f1e6}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e6e8;--soft:#a0a8b0;--paper:#17191c;"
    "--line:#3a3f45;--card:#1f2226;--mark:#232b33;--best:#1f3a29}}\n"
    "body{font:16px/1.55 system-ui,-apple-system,'Segoe UI',sans-serif;color:var(--ink);"
    "background:var(--paper);max-width:82rem;margin:0 auto;padding:1.5rem;overflow-wrap:anywhere}\n"
    "h1{font-size:1.8rem;margin:.2em 0}h3{font-size:1rem;margin:1.2em 0 "
    ".3em}h2{font-size:1.3rem;margin:2.2em 0 .4em;border-bottom:1px "
    "solid var(--line);padding-bottom:.2em}\n"
    "p,li,dd{max-width:48rem}li{margin:.3em "
    "0}ul{padding-left:1.3em}.soft,.note{color:var(--soft)}.note{font-size:.85rem;margin:.3em 0}\n"
    "dt{font-weight:600;margin-top:.6em}dd{margin:0 0 0 1.2em}\n"
    "nav a{margin-right:1.1em;white-space:nowrap}a{color:inherit}\n"
    ".wide{overflow-x:auto;margin:1em 0 .6em}\n"
    "table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums;"
    "min-width:50%}\n"
    "caption{text-align:left;font-weight:600;padding:.3em 0;max-width:calc(100vw - 2rem)}\n"
    "th,td{padding:.28em .7em;border-bottom:1px solid var(--line);text-align:left;"
    "vertical-align:top}\n"
    "thead th{border-bottom:2px solid var(--soft);vertical-align:bottom}td,th{white-space:nowrap}\n"
    ".number{text-align:right}tr.heading th{background:var(--mark)}\n"
    "td strong{background:var(--best);padding:0 .25em;border-radius:.2em}\n"
    "figure{margin:1.2em 0;background:#fff;color:#222;border:1px solid var(--line);"
    "border-radius:.5em;padding:.8em}\n"
    "figure>div{overflow-x:auto}figure svg{width:100%;min-width:var(--narrowest);height:auto;"
    "max-height:95vh}figcaption{font-size:.88rem;color:#444;max-width:56rem}\n"
    ".bar{margin:.5em 0;overflow:visible}.bar span{font-size:.85rem}.bar "
    "div{position:relative;height:.8em;"
    "background:#eee}.bar i{display:block;height:100%;background:#0072b2}.bar b{position:absolute;"
    "top:-.2em;bottom:-.2em;border-left:3px solid #d55e00}\n"
    "code,pre{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:.82rem}\n"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--mark);padding:.6em;"
    "border-radius:.3em;margin:.3em 0}\n"
    "details{border-bottom:1px solid var(--line);padding:.3em 0}summary{cursor:pointer}\n"
    "@media(min-width:50rem){.wide "
    "td:first-child{position:sticky;left:0;background:var(--paper)}}\n"
    "@media(max-width:40rem){body{padding:.8rem}figure{padding:.3em}dd{margin-left:.6em}}\n"
    "@media print{body{max-width:none;padding:0;font-size:10pt}nav{display:none}"
    "figure,tr,details{break-inside:avoid}.wide{overflow:visible}table{font-size:7.5pt}"
    "td,th{padding:.2em .35em;white-space:normal}}\n";

/* Writes an escaped text between two strings of HTML. */
static void put(FILE *to, const char *before, const char *text, const char *after) {
    report_put(to, nvdp__put_html, before, text, after);
}

static void heading(FILE *to, const char *id, const char *text) {
    fprintf(to, "<h2 id=\"%s\"", id);
    put(to, ">", text, "</h2>\n");
}

/* --- the runs --- */

static void put_families(FILE *to, const struct report *report) {
    fputs("<dl>\n", to);
    for (size_t f = 0; f < report->families; f++) {
        size_t runs = 0;
        for (REPORT_EACH_GROUP(report, group)) {
            if (group->family == f) runs += group->runs;
        }
        bool first = /* true for the first of the adjacent families of a method */
            f == 0 || strcmp(report->family[f - 1].method, report->family[f].method) != 0;
        put(to, "<dt>", report->family[f].label, "");
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
        put(to, count > 0 ? ", " : "", text, "");
        shown[count++] = text;
    }
    if (count == 0) fputs("unknown", to);
}

static void put_overview(FILE *to, const struct report_page *page) {
    const struct report *report = page->report;
    heading(to, "run", "What was run");
    fprintf(to, "<p>%zu finished run%s, %zu setting%s that differ in more than seed and fold, ",
            report->runs, report->runs == 1 ? "" : "s", report->groups,
            report->groups == 1 ? "" : "s");
    double seconds = 0; /* training time of all runs */
    for (size_t i = 0; i < report->runs; i++) {
        if (!isnan(report->run[i].seconds)) seconds += report->run[i].seconds;
    }
    if (seconds < 120) {
        fprintf(to, "%.0f seconds", seconds);
    } else if (seconds < 7200) {
        fprintf(to, "%.0f minutes", seconds / 60);
    } else {
        fprintf(to, "%.1f hours", seconds / 3600);
    }
    fputs(" of training in all. Program: nvdp ", to);
    put_different(to, report, "software", "nvdp");
    fputs(". Processor: ", to);
    put_different(to, report, "hardware", "processor");
    fputs(".</p>\n<p>Tasks: ", to);
    for (size_t t = 0; t < report->tasks; t++) {
        const json_t *data = json_object_get(report->task[t].first->file, "data");
        put(to, t > 0 ? "; " : "", report->task[t].label, "");
        fprintf(to, " (%lld texts to train on, %lld to select, %lld to test)",
                (long long)json_integer_value(json_object_get(data, "train_texts")),
                (long long)json_integer_value(json_object_get(data, "validation_texts")),
                (long long)json_integer_value(json_object_get(data, "test_texts")));
    }
    fputs(".</p>\n", to);
    put_families(to, report);
}

/* --- the picture --- */

enum { PICTURES = 3 };

/* Returns true if the page shows the figure. */
static bool is_drawn(const struct report_page *page, size_t figure) {
    return page->svg[figure] != NULL && !page->figures->item[figure].empty;
}

/* Finds the figures at the top: scores against proven numbers, scores against measured numbers, and the success of the
 * best attacker. Each picture is the first shown figure of a list of names, or the number of figures if there is
 * none. */
static void choose_pictures(const struct report_page *page, size_t picture[PICTURES]) {
    static const char *const proven[] = {"certified_epsilon", NULL};
    static const char *const measured[] = {"fig3_rd_max_sum", "exact_epsilon_max", "epsilon_max",
                                           "rd_mean_sum",     "fig2_bdp_best",     NULL};
    static const char *const attacked[] = {"trade_off", "defense", "exposure", NULL};
    const char *const *const names[PICTURES] = {proven, measured, attacked};
    for (int k = 0; k < PICTURES; k++) {
        const size_t count = page->figures->count;
        picture[k] = count;
        for (const char *const *name = names[k]; *name != NULL && picture[k] == count; name++)
            for (size_t i = 0; i < count && picture[k] == count; i++)
                if (is_drawn(page, i) && strcmp(page->figures->item[i].name, *name) == 0)
                    picture[k] = i;
    }
}

static void put_figure(FILE *to, const struct report_page *page, size_t i) {
    const struct report_figure *figure = &page->figures->item[i];
    /* A single panel does not fill the page. On a small screen, many panels shrink to half their size, then scroll. */
    fprintf(to, "<figure id=\"%s\">\n<div style=\"max-width:%dpx;--narrowest:%dpx\">%s</div>\n",
            figure->name, figure->width * 6 / 5, figure->width / 2, page->svg[i]);
    put(to, "<figcaption><strong>", figure->title, ".</strong> ");
    put(to, "", figure->caption, "</figcaption>\n</figure>\n");
}

/* Returns the table of attacks, which always exists; without attacks it has no rows. */
static const struct report_table *attack_table(const struct report_table *table) {
    int k = 0;
    while (k < REPORT_TABLES - 1 &&
           (table[k].name == NULL || strcmp(table[k].name, "attacks") != 0)) {
        k++;
    }
    return &table[k];
}

/* Returns 100 times the cell's share, with as many decimals as the cell's text; a bound is rounded up. NaN for a number
 * outside of 0 to 100. */
static double percentage(const struct report_cell *cell, bool bound) {
    const double percent = 100 * cell->value;
    const int decimals = percent > 0 && percent < 1 ? 1 - (int)floor(log10(percent)) : 1;
    if (!(percent >= 0 && percent <= 100)) return NAN;
    return bound ? -nvdp__lower_bound(-percent, decimals) : round(100 * percent) / 100;
}

/* Draws each attack of the table as a bar, with a line at the proven upper bound. */
static bool put_bars(FILE *to, const struct report_table *attacks) {
    bool begun = false;
    for (size_t i = 0; i < attacks->rows; i++) {
        const struct report_cell *cell = attacks->row[i].cell;
        const double got = percentage(&cell[REPORT_ATTACK_SHARE], false),
                     bound = percentage(&cell[REPORT_ATTACK_BOUND], true);
        if (isnan(got)) continue;
        if (!begun) fputs("<figure id=\"attacked\">\n", to);
        begun = true;
        fputs("<div class=\"bar\"><span>", to);
        for (int k = 0; k < REPORT_ATTACK_SHARE; k++) {
            put(to, k > 0 ? ", " : "", cell[k].text, "");
        }
        fprintf(to, ": %s %%</span><div><i style=\"width:%g%%\"></i>",
                cell[REPORT_ATTACK_SHARE].text, got);
        if (!isnan(bound)) fprintf(to, "<b style=\"left:%g%%\"></b>", bound);
        fputs("</div></div>\n", to);
    }
    if (begun)
        fputs("<figcaption><strong>What an attacker gets.</strong> A bar shows how often the "
              "attacker is right, in percent, or the AUC times 100. A line shows the proven "
              "maximum, on average over texts and noise. "
              "The table of the same name has the exact numbers.</figcaption>\n</figure>\n",
              to);
    return begun;
}

static void put_picture(FILE *to, const struct report_page *page) {
    const char *notice = page->report->figure_notice;
    const struct report_figures *figures = page->figures;
    size_t picture[PICTURES], shown = 0, empty = 0;
    heading(to, "picture", "The picture");
    choose_pictures(page, picture);
    for (int k = 0; k < PICTURES; k++) {
        if (picture[k] == figures->count) continue;
        put_figure(to, page, picture[k]);
        shown++;
    }
    shown += put_bars(to, attack_table(page->table));
    if (notice != NULL) {
        put(to, "<p>The figures were not drawn: ", notice,
            ". Their scripts and data are in the folder figures.</p>\n");
    } else if (!page->report->figures) {
        fputs("<p>Figures were not requested; their scripts and data are in the folder "
              "figures.</p>\n",
              to);
    } else if (shown == 0 && page->report->runs > 0) {
        fputs("<p>No run has a finite privacy value against which its score could be drawn.</p>\n",
              to);
    }
    for (size_t i = 0; i < figures->count; i++) { /* lists the figures that are left out */
        if (!figures->item[i].empty) continue;
        fprintf(to, "%s<code>%s</code>",
                empty++ == 0
                    ? "<p class=\"note\" id=\"empty\">These figures are left out because none "
                      "of their values is finite: "
                    : ", ",
                figures->item[i].name);
    }
    if (empty > 0) fputs(".</p>\n", to);
}

/* --- a sentence per method --- */

/* Writes for how many seeds a statement holds, if it does not hold for all seeds. */
static void put_seeds(FILE *to, const struct report_group *group, const struct report_stat *of) {
    if (of->n < group->runs) fprintf(to, " (%zu of %zu seeds)", of->n, group->runs);
}

/* Returns the options with which a seed of the group was measured; these are equal for all measured seeds. */
static const struct report_measured *measured_options(const struct report_group *group) {
    size_t k = 0;
    while (k + 1 < group->runs && !group->run[k]->measured)
        k++;
    return &group->run[k]->how;
}

/* Writes the measured number of a group without a proven number. */
static void put_measured(FILE *to, const struct report_group *group) {
    const struct report_stat *of = group->quantity;
    const struct report_measured *how = measured_options(group);
    const char *pairs = how->given_length ? " of equal length" : "";
    if (of[REPORT_EXACT_MAX].n > 0 && isfinite(of[REPORT_EXACT_MAX].max)) {
        fprintf(to, ", and the worst measured pair of texts%s has an %s %s for %s", pairs,
                how->given_length ? "epsilon of at most" : "exact epsilon of",
                nvdp__bound(of[REPORT_EXACT_MAX].max).text, nvdp__samples_text(how->releases).text);
        if (!isnan(how->delta)) fprintf(to, " at delta %g", how->delta);
        put_seeds(to, group, &of[REPORT_EXACT_MAX]);
    } else if (of[REPORT_SUM_MAX].n > 0 && isfinite(of[REPORT_SUM_MAX].max)) {
        fprintf(to, ", and the largest measured divergence of one sample%s%s is %s nats",
                how->given_length ? " of texts" : "", pairs,
                nvdp__bound(of[REPORT_SUM_MAX].max).text);
        if (!isnan(how->order)) fprintf(to, " at order %g", how->order);
        put_seeds(to, group, &of[REPORT_SUM_MAX]);
    } else if (of[REPORT_SUM_MAX].n > 0) {
        fprintf(to, ", and the measured divergence is infinite for %s of the pairs of texts%s",
                of[REPORT_INFINITE].mean > 0 ? report_say_share(of[REPORT_INFINITE].mean).text
                                             : "some",
                pairs);
        put_seeds(to, group, &of[REPORT_SUM_MAX]);
    }
}

/* Writes the proven numbers of a group. A bound is the maximum over seeds, rounded up. */
static void put_proven(FILE *to, const struct report *report, const struct report_group *group) {
    const struct report_stat *epsilon = &group->quantity[REPORT_CERTIFIED],
                             *guess = &group->quantity[REPORT_GUESS],
                             *bound = &group->quantity[REPORT_BOUND],
                             *word = &group->quantity[REPORT_WORD],
                             *word_guess = &group->quantity[REPORT_WORD_GUESS];
    if (word->n > 0) {
        fprintf(to,
                "; for any word in place of any other, epsilon of one sample is proven to be at "
                "most %s at delta 1e-5",
                nvdp__bound(word->max).text);
        put_seeds(to, group, word);
        fprintf(to,
                ", and a guess of one word that is right 0.1 %% of the time without the sample is "
                "right at most %s of the time with it, on average",
                nvdp__share_bound(word_guess->max).text);
    }
    if (report->family[group->family].reference) {
        fputs("; its embeddings are shared without noise, so the texts are not private", to);
    } else if (epsilon->n > 0 && isfinite(epsilon->max)) {
        fprintf(to,
                "; for one sample of any two texts, epsilon is proven to be at most %s at delta "
                "1e-5",
                nvdp__bound(epsilon->max).text);
        put_seeds(to, group, epsilon);
        if (guess->n == epsilon->n && guess->max < 1)
            fprintf(to,
                    ", and a guess that is right 0.1 %% of the time without the sample is right at "
                    "most %s of the time with it, on average",
                    nvdp__share_bound(guess->max).text);
    } else if (bound->n > 0 && isfinite(bound->max)) {
        fprintf(to,
                "; for one sample of any two texts, the divergence is proven to be at most %s nats",
                nvdp__bound(bound->max).text);
        if (!isnan(measured_options(group)->order))
            fprintf(to, " at order %g", measured_options(group)->order);
        put_seeds(to, group, bound);
    } else if (group->run[0]->sanitizer != NULL) {
        fputs(report_is_seeded(group->run[0])
                  ? "; nothing is proven, because its seed can undo the noise of its texts"
                  : "; the only proven guarantee is that of its text mechanism",
              to);
        if (group->run[0]->own_texts)
            fputs(" (not of its choice of words, which was made by the texts)", to);
        put_measured(to, group);
    } else {
        fputs("; no proven bound of one sample at delta 1e-5 was recorded", to);
        put_measured(to, group);
    }
}

/* Writes the guarantee of private training, which holds for each seed. */
static void put_training(FILE *to, const struct report_group *group) {
    double largest[2] = {0, 0};
    for (size_t k = 0; k < group->runs; k++) {
        const struct report_run *run = group->run[k];
        if (!isfinite(run->training_epsilon) || isnan(run->training_delta)) return;
        largest[0] = fmax(largest[0], run->training_epsilon);
        largest[1] = fmax(largest[1], run->training_delta);
    }
    fprintf(to,
            "; the model of a run is proven to be (epsilon %s, delta %s)-differentially private "
            "for one training example (zero-out), " NVDP__EXACT_ARITHMETIC("the training's"),
            nvdp__bound(largest[0]).text, nvdp__bound(largest[1]).text);
}

/* Writes the success of the attackers on the method's samples. */
static void put_attack_scores(FILE *to, const struct report_group *group, bool attacks) {
    const struct report_stat *linked = &group->quantity[REPORT_LINKED],
                             *attack = &group->quantity[REPORT_ATTACK];
    const struct report_measured *how = measured_options(group);
    if (attack->n > 0) {
        put(to, "; an attacker who is trained to find the private attribute scores ",
            report_say_score_stat(attack).text, "");
        put_seeds(to, group, attack);
    }
    if (linked->n > 0) {
        const double texts = fmin(how->texts, NVDP_LINKAGE_TEXTS), releases = how->releases;
        fprintf(to, "; someone who has the model and the %.0f measured texts names the right text ",
                texts);
        if (releases > 1)
            fprintf(to, "for %.3g %% of them, given %.0f samples each", 100 * linked->mean,
                    releases);
        else
            fprintf(to, "for %.3g %% of the samples", 100 * linked->mean);
        fprintf(to, " (chance %.3g %%)", 100 / texts);
    }
    if (attack->n == 0 && linked->n == 0)
        fputs(attacks ? "; for attacks see the figure and table What an attacker gets"
                      : "; no attack on this method was measured",
              to);
}

static void put_methods(FILE *to, const struct report_page *page) {
    const struct report *report = page->report;
    const bool attacks = attack_table(page->table)->rows > 0;
    if (report->tasks == 0) return;
    heading(to, "methods", "Method by method");
    for (size_t t = 0; t < report->tasks; t++) {
        put(to, "<h3>", report->task[t].label, "");
        if (!isnan(report->task[t].majority))
            fprintf(to, " <span class=\"soft\">(the majority class scores %s)</span>",
                    report_say_score(report->task[t].majority).text);
        fputs("</h3>\n<ul>\n", to);
        for (REPORT_EACH_GROUP(report, group)) {
            if (group->task != t || !group->selected) continue;
            put(to, "<li><strong>", report->family[group->family].label, "</strong>");
            const struct report_text setting = report_say_setting(group);
            if (strcmp(setting.text, "-") != 0) put(to, " at ", setting.text, "");
            const struct report_run *run = group->run[0]; /* has the names of the metrics */
            for (int k = 0; k < run->metrics && group->score[k].n > 0; k++) {
                /* "scores 86.0 +- 1.4 (accuracy) and 71.0 (f1)" */
                put(to, k == 0 ? " scores " : " and ", report_say_score_stat(&group->score[k]).text,
                    "");
                put(to, " (", run->metric[k], ")");
            }
            put_proven(to, report, group);
            put_training(to, group);
            put_attack_scores(to, group, attacks);
            fputs(".</li>\n", to);
        }
        fputs("</ul>\n", to);
    }
}

/* --- tables --- */

/* Writes the notes of a kind of the tables from `from` up to `end`, every different note once. */
static void put_table_notes(FILE *to, const struct report_table *table, int from, int end,
                            enum report_note_kind kind) {
    for (int k = from; k < end; k++) {
        for (size_t i = 0; i < table[k].notes; i++) {
            const struct report_table_note *note = &table[k].note[i];
            if (note->kind == kind && !report_said_before(table, k, note->text))
                put(to, "<p class=\"note\">", note->text, "</p>\n");
        }
    }
}

static void put_reading(FILE *to, const struct report_table *table) {
    heading(to, "reading", "How to read the tables");
    fputs(
        "<dl>\n"
        "<dt>score, best of seeds</dt><dd>100 times the task's metric on the test texts (GLUE's "
        "dev file), with fresh noise. The score is the mean over seeds with its standard "
        "deviation; expect it from a new run. The best of seeds is the test score of the seed with "
        "the best <em>validation</em> score. Papers print it, and it is optimistic.</dd>\n"
        "<dt>setting</dt><dd>lambda is the weight of the regularizers, and C is the norm of the "
        "sequence clip. The validation score alone chooses the setting.</dd>\n"
        "<dt>certified eps, guess</dt><dd>Proven for one sample of any two texts, measured or not, "
        "at delta 1e-5. The guess column bounds, on average over texts and noise, how often a "
        "guess is right with the sample if it is right 0.1 % of the time without it. Neither "
        "covers the texts that the encoder was trained on.</dd>\n"
        "<dt>bound, in nats</dt><dd>The proven maximum of the divergence between any two texts, "
        "measured or not. It exists if the sequence clip holds a text's means within a norm "
        "C.</dd>\n"
        "<dt>named, share</dt><dd>How often an attacker names the text of a sample. The attacker "
        "has the model and the measured texts (at most 1000) and picks the text with the largest "
        "likelihood, which is the best possible guess. Chance is one divided by the number of "
        "texts.</dd>\n"
        "<dt>RD max, RD mean, in nats</dt><dd>A text's shared sample is random. The Renyi "
        "divergence measures how well samples of one text can be told from samples of another. At "
        "0 they cannot be told apart, at a few nats with some confidence, at hundreds at once. It "
        "is summed over everything that one release of a text shares, because a third party gets "
        "all of it. Max and mean run over all ordered pairs of the measured texts. It is a "
        "measurement on these texts and no bound for others.</dd>\n"
        "<dt>exact eps, in nats</dt><dd>The smallest epsilon with P(S) &le; "
        "e<sup>epsilon</sup> Q(S) + delta for every set S of samples, at the same delta as BDP. "
        "The columns show the worst pair of texts and the mean. It can be finite where a "
        "divergence "
        "is infinite.</dd>\n"
        "<dt>inf, infinite pairs, RD max of the finite</dt><dd>Some pairs of texts have an "
        "infinite divergence: the ratio of their samples' densities has no finite moment of this "
        "order, and some samples all but rule the other text out. One such pair makes max and mean "
        "infinite. The tables then also show the share of such pairs and the largest divergence of "
        "the other pairs, which is no privacy statement. Every run below says why: at some place, "
        "the variance (logvar) or pseudo-count (alpha) of a token is too far from that of the "
        "other text's token or padding.</dd>\n"
        "<dt>BDP, best k and k = 1.1</dt><dd>Bayesian differential privacy: an epsilon that holds "
        "for texts drawn like the measured ones, for the worst measured text. The published moment "
        "k = 1.1 cannot give less than ln(1/delta)/k, which is 10.47 at delta 1e-5. Values near "
        "this floor are no merit. The best moment has a lower floor and says more.</dd>\n"
        "<dt>/comp.dim.</dt><dd>The sum divided by components times dimensions, as in the "
        "published "
        "tables. Thousands of nats then look like fractions. It is no privacy guarantee.</dd>\n"
        "<dt>1 nat, 3 nats, ...</dt><dd>Budgets. The score is that of the setting with the best "
        "validation score among those whose RD max stays within the budget for every seed. The row "
        "below shows the setting with its RD max. In the rows marked proven, the bound stays "
        "within "
        "the budget.</dd>\n</dl>\n",
        to);
    fputs("<details><summary>Notes on the tables</summary>\n", to);
    put_table_notes(to, table, 0, REPORT_TABLES, REPORT_EXPLAINS);
    fputs("</details>\n", to);
}

/* --- figures --- */

static void put_figures(FILE *to, const struct report_page *page) {
    size_t picture[PICTURES], shown = 0;
    choose_pictures(page, picture);
    heading(to, "figures", "Other figures");
    for (size_t i = 0; i < page->figures->count; i++) {
        bool first = i == picture[0] || i == picture[1] || i == picture[2];
        if (first || !is_drawn(page, i)) continue;
        put_figure(to, page, i);
        shown++;
    }
    if (shown == 0) fputs("<p>There are no other figures.</p>\n", to);
    if (page->figures->count > 0)
        fputs(
            "<p class=\"note\">The folder figures has every drawn figure as SVG, PNG and PDF, and "
            "the gnuplot script and data of all figures.</p>\n",
            to);
}

/* --- runs --- */

static void put_run(FILE *to, const struct report_run *run, bool best) {
    put(to, "<details><summary>", run->name, "");
    fprintf(to, " <span class=\"soft\">seed %llu", (unsigned long long)run->seed);
    if (run->fold > 0) fprintf(to, ", fold %lld", (long long)run->fold);
    fprintf(to, ", score %s, validation %s", report_say_score(run->score[0]).text,
            report_say_score(run->validation).text);
    if (run->measured) {
        const double max = run->quantity[REPORT_SUM_MAX], share = run->quantity[REPORT_INFINITE];
        fprintf(to, ", RD max %s", report_say_number(max).text);
        if (isinf(max) && !isnan(share)) put(to, " (", report_say_share(share).text, ")");
    }
    put(to, best ? ", best of its seeds</span></summary>\n<pre>" : "</span></summary>\n<pre>",
        run->command, "");
    if (run->measured) put(to, "\nnvdp privacy ", run->path, "");
    fputs("</pre>", to);
    if (run->infinite != NULL)
        put(to, "<p class=\"note\">RD is infinite, ", run->infinite, ".</p>");
    if (run->infinite_published != NULL)
        put(to, "<p class=\"note\">BDP at the published k is infinite, ", run->infinite_published,
            ".</p>");
    fputs("</details>\n", to);
}

static void put_runs(FILE *to, const struct report *report) {
    heading(to, "runs", "Every run");
    fputs("<p class=\"soft\">Each with the command that makes it; options with default values are "
          "left out.</p>\n",
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
        put(to, "<li><code>", report->note[i].name, "</code>: ");
        put(to, "", report->note[i].text, "</li>\n");
    }
    fputs("</ul>\n", to);
}

/* --- the page --- */

void report_page(const void *of, FILE *to) {
    const struct report_page *page = of;
    fprintf(to,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
            "<title>Utility and privacy</title>\n<style>\n%s</style>\n</head>\n<body>\n"
            "<h1>Utility and privacy</h1>\n<p class=\"soft\">",
            style);
    nvdp__put_html(to, page->report->directory);
    put(to, ", ", page->created, "");
    fputs("</p>\n<nav><a href=\"#picture\">Picture</a><a href=\"#methods\">Methods</a>"
          "<a href=\"#tables\">Tables</a><a href=\"#reading\">How to read them</a>"
          "<a href=\"#figures\">Figures</a><a href=\"#run\">What was run</a>"
          "<a href=\"#runs\">Runs</a></nav>\n",
          to);
    put_picture(to, page);
    put_methods(to, page);
    heading(to, "tables", "Tables");
    for (int k = 0; k < REPORT_TABLES; k++) {
        if (page->table[k].rows > 0) report_table_html(&page->table[k], to);
        put_table_notes(to, page->table, k, k + 1, REPORT_OF_RUNS);
    }
    put_reading(to, page->table);
    put_figures(to, page);
    put_overview(to, page);
    put_notes(to, page->report);
    put_runs(to, page->report);
    fputs("</body>\n</html>\n", to);
}
