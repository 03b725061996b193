/* Tests of figures: their scripts and data, the HTML page, and missing or failing gnuplot. */
#include "made_runs.h"

#include "test_context.h"

static const struct made_run runs[] = {
    {"base", .method = "base", .seed = 1, .validation = .9, .score = .9},
    {"a", .lambda = 1e-3, .seed = 1, .validation = .8, .score = .8, .rd_max = INFINITY,
     .rd_mean = INFINITY, .share = .5, .bdp_best = INFINITY, .bdp_published = INFINITY,
     .vectors = 8},
    {"b1", .lambda = 1e-2, .seed = 1, .validation = .7, .score = .6, .rd_max = 100, .rd_mean = 10,
     .bdp_best = 5, .bdp_published = 11, .vectors = 4},
    {"b2", .lambda = 1e-2, .seed = 2, .validation = .7, .score = .8, .rd_max = 200, .rd_mean = 30,
     .bdp_best = 7, .bdp_published = 13, .vectors = 6},
    {"c", .lambda = .1, .seed = 1, .validation = .5, .score = .5, .rd_max = 1, .rd_mean = .2,
     .bdp_best = 1, .bdp_published = 10.5, .vectors = 2},
};

static void make(const char *folder) {
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        made_run(folder, &runs[i]);
}

static char *read_in(const char *folder, const char *file) {
    const char *path = support_path("%s/report/%s", made_folder(folder), file);
    return support_read(path);
}

static bool exists_in(const char *folder, const char *file) {
    const char *path = support_path("%s/report/%s", made_folder(folder), file);
    return access(path, F_OK) == 0;
}

/* Infinite values are drawn at .22 of the logarithmic range beyond the largest value: 20 * 100^.22. */
Test(figures, data) {
    make("data");
    char *text = report_written("data", "figures/rd_mean_sum.dat");
    support_contains(text, "# index 0: sst2, nvdp\n", "0.001\t0.001\tnan\t1\t80\tnan\tinf\t55.0845",
                     "0.01\t0.01\tnan\t2\t70\t14.142", "\t20\t20\t1\tnan\t1e-2\n",
                     "0.1\t0.1\tnan\t1\t50\tnan\t0.2\t0.2\t1\tnan\t0.1\n");
    text = read_in("data", "figures/rd_mean_sum.gp");
    support_contains(text, "set logscale x", "'inf' 55.08");
    support_contains(text, "plot 90 with lines"); /* base */
    text = read_in("data", "figures/vectors.dat");
    support_contains(text, "0.01\t0.01\t0.01\t5\t2.5\t10\n");
    support_contains(read_in("data", "figures/fig2_bdp.gp"),
                     "set xtics ('10.5' 10.5, '11' 11, '11.5' 11.5, '12' 12, 'inf' 12.33)");
    text = read_in("data", "figures/alpha.dat");
    support_contains(text, "-0.875\t20\t25\n"); /* two seeds */
    support_contains(text, "0.125\t60\t75\n");
    text = read_in("data", "figures/training.dat");
    support_contains(text,
                     "# index 1: a\n# epoch\tvalidation x 100\ttask loss, mean\n1\t80\t0.5\n");
    support_lacks(text, ": b1"); /* another lambda */
}

/* The metric's name in files may differ from its printable name; the curve is drawn anyway. */
/* The axes of a single point are not magnified to its last digits. */
Test(figures, one_point_stands_in_the_middle) {
    made_run("one", &(struct made_run){"a", .lambda = .1, .seed = 1, .score = .6, .rd_max = 16});
    report_written("one", "figures/fig3_rd_max_sum.dat");
    support_contains(read_in("one", "figures/fig3_rd_max_sum.gp"),
                     "set xrange [9.23760431:27.7128129]\nset yrange [54.2:65.5]\n");
}

Test(figures, metric_with_an_odd_name) {
    static const char *const files[] = {"result.json", "metrics.jsonl"};
    char path[512];
    made_run("odd", &(struct made_run){"a", .lambda = 1e-3, .validation = .8, .score = .8});
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/a/%s", made_folder("odd"), files[i]);
        char *text = support_read(path);
        char *at = strstr(text, "accuracy");
        cr_assert_not_null(at);
        memcpy(at, "acc|_\\n{", strlen("accuracy"));
        support_write_text(path, text);
    }
    char *text = report_written("odd", "figures/training.dat");
    support_contains(text,
                     "# index 0: a\n# epoch\tvalidation x 100\ttask loss, mean\n1\t80\t0.5\n");
}

/* With two clips the bounds, 1.1 * 2 C^2, are drawn beside the largest divergences, and the axis includes them. Figures
 * of other measures have no bounds. */
Test(figures, bounds) {
    static const struct made_run clipped[] = {
        {"a", .method = "vib-fixed", .score = .7, .rd_max = 8, .rd_mean = 2, .bound = 19.8,
         .nvib = "'clip_sequence': 3"},
        {"b", .method = "vib-fixed", .score = .6, .rd_max = 1, .rd_mean = .5, .bound = 2.2,
         .nvib = "'clip_sequence': 1"}};
    made_runs("bounds", sizeof clipped / sizeof *clipped, clipped);
    char *text = report_written("bounds", "figures/fig3_rd_max_sum.dat");
    support_contains(text, "0\tnan\t3\t1\t70\tnan\t8\t8\t1\t19.8\tC 3\n", "\t1\t1\t1\t2.2\tC 1\n");
    text = read_in("bounds", "figures/fig3_rd_max_sum.gp");
    support_contains(text, "set logscale x",
                     "using 10:5 with points lw 1.2 pt 10 ps 0.9 lc rgb '#e69f00'");
    const char *range = strstr(text, "set xrange [");
    cr_assert_not_null(range);
    double from = 0, to = 0;
    cr_assert_eq(sscanf(range, "set xrange [%lf:%lf]", &from, &to), 2);
    cr_expect(from < 1 && to > 19.8);
    text = read_in("bounds", "figures/rd_mean_sum.gp");
    support_lacks(text, "using 10:5");
}

/* Every run explains why its pairs are infinite. */
Test(figures, infinite_explained) {
    static const struct made_run run = {"a", .rd_max = INFINITY, .rd_mean = INFINITY, .share = .25,
                                        .score = .5};
    made_run("why", &run);
    char path[512], *text = support_read(support_scratch_path("why/a/privacy.json"));
    cr_assert_eq(text[0], '{');
    snprintf(path, sizeof path, "%s", support_scratch_path("why/a/privacy.json"));
    nvdp__autofree char *with = NULL;
    cr_assert_gt(
        asprintf(&with,
                 "{\"infinite_pairs\": {\"order\": 1.1, \"finite_below\": 1.02, \"causes\": "
                 "[{\"component\": \"padding\", \"quantity\": \"logvar\", \"share\": 0.75}, "
                 "{\"component\": \"token\", \"quantity\": \"alpha\", \"share\": 1.0}]}, %s",
                 text + 1),
        0);
    support_write_text(path, with);
    text = report_written("why", "index.html");
    support_contains(text, "RD is infinite, order 1.1: padding&#39;s logvar 75.0 %, token&#39;s "
                           "alpha 100 % of the infinite pairs; finite for orders below 1.02.");
}

/* Trade-off curves of runs that were measured with --exact: a line per seed at each method's setting, and the line of
 * chance. A curve at other positions is refused. */
/* The first point has its label in the default place, the others where they cover nothing. Crowded points and points at
 * the edge may have none. */
Test(figures, labels_beside_points) {
    struct report_spot spot[] = {{.x = 50, .y = 50, .width = 30},
                                 {.x = 50, .y = 44, .width = 30},
                                 {.x = 195, .y = 50, .width = 30},
                                 {.x = 150, .y = 3, .width = 30}};
    report_place_labels(spot, 4, (double[]){200, 100});
    int side[] = {0, 2, 2, 1};
    for (int i = 0; i < 4; i++)
        cr_expect(spot[i].labelled && spot[i].side == side[i], "label %d: side %d", i,
                  spot[i].side);
    struct report_spot crowd[40];
    int shown = 0;
    for (int i = 0; i < 40; i++)
        crowd[i] = (struct report_spot){.x = 100, .y = 50, .width = 30};
    report_place_labels(crowd, 40, (double[]){200, 100});
    for (int i = 0; i < 40; i++)
        shown += crowd[i].labelled;
    cr_expect_eq(shown, 4);
}

Test(figures, trade_off) {
    static const struct made_run measured[] = {
        {"a", .lambda = .1, .validation = .8, .score = .8, .rd_max = 3, .rd_mean = 1, .exact = 2},
        {"b", .lambda = 1, .validation = .7, .score = .7, .rd_max = 2, .rd_mean = 1, .exact = 1},
        {"c", .method = "vib-fixed", .score = .7, .rd_max = 2, .rd_mean = 1}};
    made_runs("trade", sizeof measured / sizeof *measured, measured);
    char *text = report_written("trade", "figures/trade_off.dat");
    support_contains(text, "# index 0: a\n");
    support_contains(text, "0.01\t0.866018\t0.635799\n"); /* 1 - .99 e^-2, 1 - .99 e^-1 */
    support_lacks(text, ": b");                           /* another lambda */
    support_lacks(text, ": c");                           /* measured without --exact */
    text = read_in("trade", "figures/trade_off.gp");
    support_contains(text, "worst pair", "plot x with lines", "index 0 using 1:2 with linespoints",
                     "index 0 using 1:3 with linespoints");
    made_run_file(
        "trade", "a", "privacy.json",
        "{'rd': {'sum': {'max': 3, 'mean': 1}, 'per_component_dim': {'max': 1, 'mean': 1}}, "
        "'infinite_share': 0, 'bdp': {'best': {'epsilon': 1}, 'published': {'epsilon': 11}}, "
        "'exact': {'pairs': [{'which': 'worst', 'trade_off': [{'fpr': 0.1, 'tpr': 0.2}]}]}}");
    text = report_written("trade", "index.html");
    support_contains(text, "exact.pairs[0]: expected the worst pair with 8 points in");
}

/* Without private runs there is a report but no figure of privacy. */
Test(figures, none_without_numbers) {
    static const struct made_run run = {"base", .method = "base", .score = .5};
    made_run("bare", &run);
    char *page = report_written("bare", "index.html");
    support_contains(page, "Figures were not requested");
    cr_expect(!exists_in("bare", "figures/fig2_bdp.gp"));
    cr_expect(exists_in("bare", "figures/training.gp"));
}

struct heard {
    char text[1024];
};

static void hear(enum nvdp_log_level level, const char *message, void *user) {
    struct heard *heard = user;
    if (level == NVDP_LOG_WARNING) snprintf(heard->text, sizeof heard->text, "%s", message);
}

/* Writes a report with the given drawing program. Returns the warning. */
static struct heard write_with(const char *folder, const char *program) {
    struct heard heard = {""};
    struct report_config config = report_config_default();
    nvdp__autoptr(report_free) struct report *report = NULL;
    nvdp_context_set_log(ctx, hear, &heard);
    config.directory = made_folder(folder);
    config.gnuplot = program;
    ok(report_create(ctx, &config, &report));
    ok(report_write(ctx, report));
    return heard;
}

Test(figures, gnuplot_missing) {
    make("missing");
    struct heard heard = write_with("missing", "no-such-gnuplot");
    support_contains(heard.text, "no figures were drawn: cannot run no-such-gnuplot: No such file",
                     "install gnuplot");
    cr_expect(exists_in("missing", "tables/table1.txt"));
    cr_expect(exists_in("missing", "figures/rd_mean_sum.gp"));
    cr_expect(!exists_in("missing", "figures/gnuplot.log"));
    char *page = read_in("missing", "index.html");
    support_contains(page, "The figures were not drawn: cannot run no-such-gnuplot");
}

/* Removes a drawing of an earlier report if drawing fails. */
Test(figures, gnuplot_fails) {
    make("fails");
    const char *program = support_scratch_path("broken-gnuplot");
    support_write_text(program, "#!/bin/sh\necho 'line 3: no such terminal'\nexit 1\n");
    cr_assert_eq(chmod(program, 0755), 0);
    mkdir(support_scratch_path("fails/report"), 0777);
    mkdir(support_scratch_path("fails/report/figures"), 0777);
    support_write_text(support_scratch_path("fails/report/figures/fig2_bdp.svg"), "old");
    struct heard heard = write_with("fails", program);
    support_contains(heard.text, "failed on figure fig2_bdp: line 3: no such terminal");
    cr_expect(!exists_in("fails", "figures/fig2_bdp.svg"));
}

Test(figures, drawn) {
    if (system("gnuplot --version >/dev/null 2>&1") != 0) cr_skip("gnuplot is not installed");
    make("drawn");
    struct heard heard = write_with("drawn", "gnuplot");
    cr_expect_str_eq(heard.text, "");
    static const char *const names[] = {"fig2_bdp",        "fig2_bdp_best", "fig3_rd_max",
                                        "fig3_rd_max_sum", "rd_mean_sum",   "vectors",
                                        "alpha",           "training"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char file[64];
        snprintf(file, sizeof file, "figures/%s.svg", names[i]);
        char *bytes = read_in("drawn", file);
        support_contains(bytes, "</svg>");
        snprintf(file, sizeof file, "figures/%s.png", names[i]);
        bytes = read_in("drawn", file);
        cr_expect_eq(memcmp(bytes, "\x89PNG", 4), 0);
        snprintf(file, sizeof file, "figures/%s.pdf", names[i]);
        bytes = read_in("drawn", file);
        cr_expect_eq(memcmp(bytes, "%PDF", 4), 0);
    }
    char *page = read_in("drawn", "index.html");
    support_contains(
        page, "<figure id=\"rd_mean_sum\">\n<div style=\"max-width:744px;--narrowest:310px\"><svg",
        "rd_mean_sum-gpPt");
    support_lacks(page, "<?xml", "<script", "src=", "href=\"http");
}

/* A figure without a finite point is not drawn and not on the page, which names it; its data stay. */
Test(figures, none_without_a_finite_point) {
    static const struct made_run infinite[] = {{"a", .lambda = 1, .score = .8, .rd_max = INFINITY,
                                                .rd_mean = INFINITY, .share = .5,
                                                .bdp_best = INFINITY, .bdp_published = 11},
                                               {"base", .method = "base", .score = .9}};
    made_runs("empty", sizeof infinite / sizeof *infinite, infinite);
    (void)write_with("empty", "gnuplot");
    char *page = read_in("empty", "index.html");
    support_contains(
        page,
        "left out because none of their values is finite: <code>fig2_bdp_best</code>, "
        "<code>fig3_rd_max</code>, <code>fig3_rd_max_sum</code>, <code>rd_mean_sum</code>.</p>");
    support_lacks(page, "id=\"rd_mean_sum\"");
    cr_expect(exists_in("empty", "figures/rd_mean_sum.dat"));
    cr_expect(!exists_in("empty", "figures/rd_mean_sum.svg"));
    if (system("gnuplot --version >/dev/null 2>&1") != 0) return;
    cr_expect(exists_in("empty", "figures/fig2_bdp.svg"));
}

/* Picture, sentences, tables, how to read them; only then the other figures. */
Test(figures, order_of_the_page) {
    static const char *const order[] = {
        "<h2 id=\"picture\">", "<h2 id=\"methods\">", "<h2 id=\"tables\">", "<h2 id=\"reading\">",
        "<h2 id=\"figures\">", "<h2 id=\"run\">",     "<h2 id=\"runs\">"};
    make("order");
    (void)write_with("order", "gnuplot");
    char *page = read_in("order", "index.html");
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        cr_assert_not_null(strstr(page, order[i]), "%s", order[i]);
        if (i > 0) cr_expect_lt(strstr(page, order[i - 1]), strstr(page, order[i]));
    }
    if (system("gnuplot --version >/dev/null 2>&1") == 0) {
        const char *figure = strstr(page, "<figure id=\"fig3_rd_max_sum\">");
        cr_assert_not_null(figure);
        cr_expect_lt(figure, strstr(page, "<table>"));
        cr_expect_null(strstr(figure + 1, "<figure id=\"fig3_rd_max_sum\">"));
        cr_expect_gt(strstr(page, "<figure id=\"training\">"), strstr(page, order[4]));
    }
}

/* One sentence per method, of its selected setting: what is proven is rounded up. */
Test(figures, a_sentence_per_method) {
    static const struct made_run clipped = {
        "v",           .method = "vib-fixed",       .score = .7, .rd_max = 8, .rd_mean = 2,
        .bound = 19.8, .nvib = "'clip_sequence': 3"};
    make("sentences");
    made_run("sentences", &clipped);
    char *page = report_written("sentences", "index.html");
    support_contains(
        page, "<h3>sst2 <span class=\"soft\">(the majority class scores 50.0)</span>",
        "<li><strong>base</strong> scores 90.0 (accuracy); its embeddings are shared without "
        "noise, so the texts are not private; no attack on this method was measured.</li>",
        "<li><strong>nvdp</strong> at lambda 1e-3 scores 80.0 (accuracy); no proven bound of one "
        "sample at delta 1e-5 was recorded, and the measured divergence is infinite for 50.0 % of "
        "the pairs of texts; no attack on this method was measured.</li>",
        "<li><strong>vib-fixed</strong> at C 3",
        "; for one sample of any two texts, epsilon is proven to be at most ");
    size_t sentences = 0;
    for (const char *at = page; (at = strstr(at, "<li><strong>")) != NULL; at++)
        sentences++;
    cr_expect_eq(sentences, 3);
}

Test(figures, a_drawing_among_others) {
    nvdp__autofree char *text = NULL;
    const char *svg = "<?xml?>\n<svg><circle id='gpDot'/><use xlink:href='#gpPt6'/></svg>\n";
    ok(report_inline_svg(ctx, svg, "fig", &text));
    cr_expect_str_eq(text, "<svg><circle id='fig-gpDot'/><use xlink:href='#fig-gpPt6'/></svg>\n");
}
