/* Tests of analyses of text privatization in a report: finding them, matching them with runs, tables, figures; then
 * planted secrets and attacks. */
#include "made_runs.h"

#include "test_context.h"

static void analysis(const char *folder, const char *file, const char *kind, const char *mechanism,
                     double eta, const char *of, const char *more) {
    const char *text = support_path("{'analysis': '%s', 'mechanism': '%s', 'eta': %g, "
                                    "'vocabulary': 100, 'dim': 50, 'of': %s, %s}",
                                    kind, mechanism, eta, of, more);
    made_run_file(folder, "analyses", file, text);
}

#define SST2 "{'task': 'sst2', 'split': 'dev', 'texts': 9}"
#define QUANTILES(key, low, middle, high)                                                          \
    "'" key "': {'mean': " middle ", 'q05': " low ", 'median': " middle ", 'q95': " high "}"
#define DENIABILITY(middle)                                                                        \
    QUANTILES("n_w", "0.1", middle, "0.9")                                                         \
    ", " QUANTILES("s_w", "10", "20", "30") ", " QUANTILES("s_star", "1", "2", "3")

static void make(const char *folder) {
    static const char *const noise[] = {
        "'token_noise': 'santext', 'eta': 2", "'token_noise': 'santext', 'eta': 4",
        "'token_noise': 'santext-plus', 'eta': 2, 'p': 0.3, 'sensitive': 0.9",
        "'token_noise': 'santext-plus', 'eta': 2, 'p': 0.3, 'sensitive': 0.5",
        "'token_noise': 'santext-plus', 'eta': 2, 'p': 0.6, 'sensitive': 0.5"};
    static const double score[] = {.6, .8, .7, .75, .65};
    made_run(folder,
             &(struct made_run){"b", .method = "base", .seed = 1, .validation = .9, .score = .9});
    for (size_t i = 0; i < 5; i++) {
        made_run(folder, &(struct made_run){support_path("n%zu", i), .method = "base", .seed = 1,
                                            .validation = score[i], .score = score[i],
                                            .options = noise[i]});
    }
    analysis(folder, "g.json", "geometry", "none", 0, "null",
             "'neighbours': [{'k': 1, 'mean': 2.5}, {'k': 99, 'mean': 7}]");
    analysis(folder, "d2.json", "deniability", "santext", 4, SST2, DENIABILITY("0.75"));
    analysis(folder, "d1.json", "deniability", "santext", 2, SST2, DENIABILITY("0.25"));
    analysis(folder, "d3.json", "deniability", "laplace-nearest", 10, SST2, DENIABILITY("0.5"));
    analysis(folder, "i.json", "inversion", "laplace-nearest", 10, SST2,
             "'prior': 0.125, 'nearest': 0.25, 'bayes': 0.5, 'nearest_error': 0.01, 'bayes_error': "
             "0.02");
    analysis(folder, "r.json", "replacements", "santext", 2, SST2,
             "'replacements': [{'token': 'film', 'outputs': 7, 'most_frequent': [{'token': 'plot', "
             "'share': 0.5}, {'token': 'film', 'share': 0.25}]}, {'token': 'the', 'outputs': 1, "
             "'most_frequent': [{'token': 'the', 'share': 1}]}]");
    analysis(folder, "m0.json", "mask-inference", "none", 0, SST2,
             "'defense_rate': 0.5, 'sanitized': 0.5, 'original_error': 0.01, 'sanitized_error': "
             "0.01, 'guesses': 700, 'mask_model': 'models/bert'");
    analysis(folder, "m2.json", "mask-inference", "santext", 2, SST2,
             "'defense_rate': 0.75, 'sanitized': 0.1, 'original_error': 0, 'sanitized_error': 0, "
             "'guesses': 700, 'mask_model': 'models/bert/'");
    analysis(folder, "m2-weaker.json", "mask-inference", "santext", 2, SST2,
             "'defense_rate': 0.875, 'mask_model': 'models/tiny'");
    analysis(folder, "m9.json", "mask-inference", "santext", 9, SST2, "'defense_rate': 0.6");
}

Test(analyses, tables) {
    make("tables");
    char *text = report_written("tables", "tables/inversion.csv");
    support_contains(text,
                     "\"sst2 dev, 100 x 50\",laplace-nearest,10,12.50,25.00 +- 1.00,50.00 +- 2.00");
    text = report_written("tables", "tables/replacements.csv");
    support_contains(text, ",santext,2,film,7,\"plot 50.0, film 25.0\"",
                     ",santext,2,the,1,the 100.0");
    text = report_written("tables", "tables/mask_inference.csv");
    support_contains(text, ",none,-,50.00 +- 1.00,50.00 +- 1.00,700,bert",
                     ",santext,2,75.00,10.00,700,");
    text = report_written("tables", "report.json");
    support_contains(text, "\"file\": \"m9.json\"");
    text = report_written("tables", "index.html");
    support_contains(text, "Mask token inference");
}

/* n/eta is 50/10. Medians and quantiles are ordered by eta, with scores at the same eta. */
Test(analyses, figures) {
    make("figures");
    char *text = report_written("figures", "figures/geometry.dat");
    support_contains(text, "# index 0: vocabulary, 100 x 50\n# k\tmean distance\n1\t2.5\n99\t7\n");
    text = report_written("figures", "figures/geometry.gp");
    support_contains(text, "set arrow from first 5,graph 0 to first 5,graph 1",
                     "set label 'eta 10'");
    support_lacks(text, "'eta 2'"); /* without noise */
    text = report_written("figures", "figures/deniability.dat");
    support_contains(text,
                     "N_w of sst2 dev, 100 x 50, santext\n# eta\t5 %\tmedian\t95 %\tmean\n"
                     "2\t0.1\t0.25\t0.9\t0.25\n4\t0.1\t0.75\t0.9\t0.75\n",
                     "S_w of sst2 dev, 100 x 50, laplace-nearest\n# eta\t5 %\tmedian\t95 "
                     "%\tmean\n10\t10\t20\t30\t20\n",
                     "# eta\tscore x 100\tits sd\n4\t80\tnan\n2\t60\tnan\n");
    text = report_written("figures", "figures/defense.dat");
    support_lacks(text, "87.5"); /* from the weaker attacker */
    support_lacks(text, "\n9\t", "\n4\t");
    support_contains(text, "# index 0: sst2, base\n# eta\tdefense rate x 100\tscore x 100\tits "
                           "sd\ninf\t50\t90\tnan\tinf\n");
    support_contains(text, "santext\n# eta\tdefense rate x 100\tscore x 100\tits "
                           "sd\n2\t75\t60\tnan\t2\n"); /* no run at 9, no analysis at 4 */
    text = report_written("figures", "figures/santext_plus.dat");
    support_contains(text, "sst2, p 0.3, eta 2\n# w\tscore x 100\n0.5\t75\n0.9\t70\n",
                     "sst2, w 0.5, eta 2\n# p\tscore x 100\n0.3\t75\n0.6\t65\n");
}

/* Without runs, and with other files and folders: files that are not analyses become remarks. */
Test(analyses, alone) {
    struct report_config config = report_config_default();
    struct report *report = NULL;
    analysis("other", "a.json", "geometry", "none", 0, "null", "'neighbours': []");
    made_run_file("other", "analyses", "b.json", "{'analysis': 'geometry'}");
    made_run_file("other", "analyses", "c.json", "{");
    made_run_file("other", "analyses", "d.txt", "no JSON at all");
    analysis("other2", "i.json", "inversion", "santext", 3, "{'text': 'a/mail.txt'}",
             "'prior': 0.5");
    const char *list =
        support_path("%s/analyses,%s/analyses/i.json", made_folder("other"), made_folder("other2"));
    config.directory = made_folder("empty");
    cr_expect_eq(report_create(ctx, &config, &report), NVDP_ERR_INPUT);
    config.analyses = list;
    config.figures = false;
    ok(report_create(ctx, &config, &report));
    support_keep(report);
    cr_expect_eq(report->analyses, 2);
    support_contains(made_note(report, "b.json"), "expected the output of nvdp sanitize --analyse");
    support_contains(made_note(report, "c.json"), "c.json");
    cr_expect_eq(report->notes, 2);
    cr_expect_str_eq(report->analysis[1].label, "mail.txt, 100 x 50");
    ok(report_write(ctx, report));
    const char *file = support_path("%s/tables/inversion.txt", report_directory(report));
    char *text = support_read(file);
    support_contains(text, "santext");
    file = support_path("%s/tables/table1.txt", report_directory(report));
    struct stat info;
    cr_expect_neq(stat(file, &info), 0);
}

/* ---- planted secrets ---- */

static void exposure(const char *folder, const char *file, const char *accountant, double often,
                     const char *audit) {
    const char *text = support_path(
        "{'attack': 'exposure', 'model': 'runs/a', 'candidates': 1024, 'accountant': %s, 'audit': "
        "%s, 'groups': [{'form': 'HSH', 'place': 'text', 'canary': false, 'occurrences': 0, "
        "'secrets': 50, 'loss': 9.5, 'exposure': 1.5, 'interval': [1.25, 1.75], 'first': "
        "0},{'form': 'HSH', 'place': 'text', 'canary': false, 'occurrences': 30, 'secrets': 1, "
        "'loss': 0.5, 'exposure': %g, 'interval': [null, null], 'first': 1},{'form': 'HS', "
        "'place': 'window', 'canary': true, 'occurrences': 1, 'secrets': 9, 'loss': 9, 'exposure': "
        "2, 'interval': [1, 3], 'first': 0}]}",
        accountant, audit, often);
    made_run_file(folder, "analyses", file, text);
}

Test(analyses, exposures) {
    static const char audit[] =
        "{'canaries': 20, 'auc': 0.75, 'delta': 1e-5, 'epsilon': 2.5, 'confidence': 0.95}";
    struct report_config config = report_config_default();
    struct report *report = NULL;
    exposure("secrets", "plain.json", "null", 10, audit);
    exposure("secrets", "private.json", "{'epsilon': 8, 'delta': 1e-5}", 1.75, "null");
    exposure("secrets", "worse.json", "{'epsilon': 2, 'delta': 1e-5}", 1.5, audit);
    made_run_file("secrets", "analyses", "bad.json", "{'attack': 'exposure'}");
    config.directory = made_folder("secrets");
    config.figures = false;
    ok(report_create(ctx, &config, &report));
    support_keep(report);
    cr_expect_eq(report->analyses, 3);
    support_contains(made_note(report, "bad.json"),
                     "expected the output of nvdp attack --kind exposure");
    ok(report_write(ctx, report));
    const char *path = support_path("%s/tables/exposure.csv", report_directory(report));
    char *text = support_read(path);
    support_contains(
        text,
        "\"private, epsilon 8 at delta 1e-05 (10.00 bits)\",HSH,text,0,50,9.50,1.50,1.25 to 1.75,0",
        "plain (10.00 bits),HSH,text,30,1,0.50,10.00,-,100", "HS,canary,1,9,");
    path = support_path("%s/tables/audit.txt", report_directory(report));
    text = support_read(path);
    support_contains(text,
                     "VIOLATION: worse, epsilon 2 at delta 1e-05 is less private than promised.");
    support_lacks(text, "VIOLATION: plain");
    path = support_path("%s/figures/exposure.dat", report_directory(report));
    text = support_read(path); /* canaries are not drawn; a single secret has no interval */
    support_contains(text,
                     "# index 0: plain, HSH in text\n# occurrences\texposure\tlow\thigh\n"
                     "0.3\t1.5\t1.25\t1.75\n30\t10\t10\t10\n",
                     "# index 1: private, epsilon 8 at delta 1e-05, HSH in text\n");
    support_lacks(text, "HS in window");
}

/* Attacks on a run: a row per score. An invalid file becomes a remark, a violated promise a note. */
Test(analyses, attacks) {
    made_run_file(
        "attacks", "analyses", "link.json",
        "{'attack': 'reidentify', 'texts': 872, 'releases': 3, 'first': 0.25, 'states': 0.5, "
        "'first_bound': 0.125, 'ten_bound': null, 'first_interval': [0.2, 0.3], 'first_chance': "
        "0.001, 'ten': 0.5, 'ten_interval': [0.4, 0.6], 'ten_chance': 0.01, 'labeled': {'labels': "
        "2, 'first': 0.3, 'first_interval': [0.26, 0.34], 'first_chance': 0.002, 'first_bound': "
        "0.347, 'ten': 0.6, 'ten_interval': [0.5, 0.7], 'ten_chance': 0.02, 'ten_bound': 0.8}}");
    made_run_file("attacks", "analyses", "near.json",
                  "{'attack': 'nearest', 'both': 3, 'weak': true, 'scores': [{'observed': "
                  "'release', 'metric': 'first', 'value': 0.125, 'interval': [0.1, 0.15], "
                  "'baseline': 0.1, 'bound': 0.2001}, {'observed': 'states', 'metric': 'first', "
                  "'value': 0.75, 'interval': [0.7, 0.8]}, {'observed': 'prior', 'metric': "
                  "'first', 'value': 0.0625, 'interval': [0.05, 0.07]}]}");
    made_run_file("attacks", "analyses", "two.json",
                  "{'attack': 'pair', 'releases': 2, 'holds': false, 'pairs': [{'right': 0.5}, "
                  "{'right': 0.75}]}");
    made_run_file("attacks", "analyses", "none.json", "{'attack': 'bag'}");
    struct report *report = made_report(ctx, "attacks");
    support_contains(made_note(report, "none.json"), "nvdp attack --json, found another object");
    char *text = report_written("attacks", "tables/attacks.csv");
    support_contains(
        text,
        "link,reidentify,\"the text, among 872; 3 samples\",25.00,20.00 to 30.00,50.00,0.10,12.5 %",
        "link,reidentify,among the top ten; 3 samples,50.00,",
        "link,reidentify,\"the text, label known; 3 samples\",30.00,26.00 to 34.00,-,0.20,34.7 %",
        "near,nearest,first,12.50,10.00 to 15.00,75.00,6.25,20.1 %",
        "two,pair,which of two texts; 2 samples,62.50,-,-,50.00");
    text = report_written("attacks", "tables/attacks.txt");
    support_contains(text, "CAUTION: 3 of the texts of near are also among the public texts",
                     "CAUTION: the attacker of near is too weak for a conclusion",
                     "VIOLATION: link shows more than the exact, proven or promised value allows.",
                     "VIOLATION: two shows more than the exact, proven or promised value allows.");
    support_lacks(text, "VIOLATION: near");
    /* on the page as bars before the table, with the warnings below it */
    text = report_written("attacks", "index.html");
    const char *bar = "<span>near, nearest, first: 12.50 %</span><div><i "
                      "style=\"width:12.5%\"></i><b style=\"left:20.1%\"></b></div>";
    support_contains(text, bar, "two, pair, which of two texts; 2 samples: 62.50 %");
    cr_expect(strstr(text, bar) < strstr(text, "Tables</h2>"));
    const char *warning = strstr(text, "VIOLATION: link shows more than the exact");
    cr_assert_not_null(warning);
    cr_expect(warning < strstr(text, "How to read the tables</h2>"));
}

/* A measured number names its samples, delta and order, and is not rounded down; so is the epsilon of private training,
 * unless a seed can undo its noise. */
Test(analyses, samples_and_training) {
    static const char measured[] =
        "{\"order\": 1.1, \"n\": 4, \"complete\": true, \"adjacency\": \"all\", "
        "\"infinite_share\": 0, \"rd\": {\"sum\": {\"max\": 1, \"mean\": 1}, "
        "\"per_component_dim\": {\"max\": 1, \"mean\": 1}}, \"exact\": {\"worst\": 12.3401, "
        "\"mean\": 1}, \"bdp\": {\"delta\": 1e-6, \"releases\": 3, \"best\": {\"epsilon\": 1}, "
        "\"published\": {\"epsilon\": 1}}}";
    made_run("samples",
             &(struct made_run){"a", .seed = 1, .lambda = .1, .validation = .8, .score = .8,
                                .result = "'dp': {'delta': 0.01, 'pld': {'epsilon': 4.0001}}"});
    made_run_file("samples", "a", "privacy.json", measured);
    char *text = report_written("samples", "index.html");
    support_contains(text, "the worst measured pair of texts has an exact epsilon of 12.35 for 3 "
                           "samples at delta 1e-06; the model of a run is proven to be (epsilon "
                           "4.001, delta 0.01)-differentially private for one training example "
                           "(zero-out), for exact arithmetic, which the training's noise lacks; ");
    text = report_written("samples", "tables/table1.md");
    support_contains(text, "delta 1e-06, 3 samples of a text together for named, exact eps and "
                           "BDP, one sample for RD and bound.");
    made_run("samples",
             &(struct made_run){
                 "a", .seed = 1, .lambda = .1, .validation = .8, .score = .8,
                 .result = "'dp': {'delta': 0.01, 'pld': {'epsilon': 4}, 'insecure_seed': true}"});
    text = report_written("samples", "index.html");
    support_lacks(text, "differentially private");
}

/* The share of identified texts stands in the sentence of each method's selected setting, before the tables, and in the
 * tables. */
Test(analyses, linkage) {
    static const struct made_run measured[] = {{"a", .seed = 1, .lambda = .1, .validation = .8,
                                                .score = .8, .rd_max = 3, .rd_mean = 1,
                                                .linked = .21},
                                               {"b", .lambda = 1, .validation = .7, .score = .7,
                                                .rd_max = 2, .rd_mean = 1, .linked = .125}};
    made_runs("linked", sizeof measured / sizeof *measured, measured);
    char *text = report_written("linked", "index.html");
    const char *line =
        "<strong>nvdp</strong> at lambda 0.1 scores 80.0 (accuracy); no proven bound of one sample "
        "at delta 1e-5 was recorded, and the largest measured divergence of one sample is 3 nats "
        "at order 1.1; someone who has the model and the 40 measured texts names the right text "
        "for 21 % of the samples (chance 2.5 %).</li>";
    support_contains(text, line);
    cr_expect(strstr(text, line) < strstr(text, "Tables</h2>"));
    cr_expect(strstr(text, line) < strstr(text, "What was run</h2>"));
    support_lacks(text, "for 12.5 % of the samples");
    text = report_written("linked", "tables/table2.txt");
    support_contains(text, "named: share of samples whose text is named", "0.125");

    /* The first seed was not measured. */
    struct made_run bare = measured[0];
    bare.name = "c";
    bare.linked = bare.rd_max = 0;
    bare.seed = 0;
    made_run("linked", &bare);
    text = report_written("linked", "index.html");
    support_contains(text,
                     "and the largest measured divergence of one sample is 3 nats at order 1.1 (1 "
                     "of 2 seeds); someone who has the model and the 40 measured texts names the "
                     "right text for 21 % of the samples (chance 2.5 %).</li>");
}
