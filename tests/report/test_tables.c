/* Tests of the tables' exact texts. */
#include "made_runs.h"

#include "test_context.h"

/* Two seeds of most methods; one of vtdp, whose divergences are infinite; a tie for the best score. */
static const struct made_run runs[] = {
    {"base1", .method = "base", .seed = 1, .validation = .9, .score = .91, .f1 = .8},
    {"base2", .method = "base", .seed = 2, .validation = .8, .score = .93, .f1 = .9},
    {"nvdp1", .lambda = 1e-3, .seed = 1, .validation = .8, .score = .85, .f1 = .7, .rd_max = 60,
     .rd_mean = 12, .bdp_best = 30, .bdp_published = 11.5},
    {"nvdp2", .lambda = 1e-3, .seed = 2, .validation = .9, .score = .87, .f1 = .72, .rd_max = 80,
     .rd_mean = 16, .bdp_best = 34, .bdp_published = 12.5},
    {"strong1", .lambda = .1, .seed = 1, .validation = .6, .score = .62, .f1 = .1, .rd_max = .004,
     .rd_mean = .0012, .bdp_best = 1.5, .bdp_published = 10.6},
    {"vtdp1", .method = "vtdp", .lambda = 1e-3, .lambda_d = 1e-2, .seed = 1, .validation = .85,
     .score = .86, .f1 = .75, .rd_max = INFINITY, .rd_mean = INFINITY, .rd_max_finite = 250,
     .share = .25, .bdp_best = INFINITY, .bdp_published = INFINITY},
};

static void make(const char *folder) {
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        made_run(folder, &runs[i]);
}

/* Compares the file without its notes. */
static void expect_body(char *text, const char *want) {
    char *end = strstr(text, "\n\nscore: ");
    if (end == NULL) end = strstr(text, "\n\nlambda: ");
    if (end != NULL) end[1] = '\0';
    cr_expect_str_eq(text, want, "%s", text);
    free(text);
}

Test(tables, first) {
    make("first");
    expect_body(
        report_written("first", "tables/table1.txt"),
        "Table 1. Utility and privacy at the setting chosen on validation; divergences are sums in "
        "nats\n\nmethod              setting   seeds                       score       best of   "
        "RD max   infinite          RD max   RD mean      BDP     BDP\n                            "
        "                                            seeds   [nats]      pairs   of the finite    "
        "[nats]   best k   k=1.1\n\nsst2 (accuracy / f1)\nmajority class            -       -      "
        "                  50.0          50.0        -          -               -         -        "
        "-       -\nbase                      -       2   92.0 +- 1.4 / 85.0 +- 7.1   91.0 / 80.0  "
        "      -          -               -         -        -       -\nvtdp            lambda "
        "1e-3       1                 86.0 / 75.0   86.0 / 75.0      inf     25.0 %             "
        "250       inf      inf     inf\nnvdp            lambda 1e-3       2   86.0 +- 1.4 / 71.0 "
        "+- 1.4   87.0 / 72.0     70.0       none               -      14.0     32.0    12.0\n");
}

Test(tables, as_published) {
    make("published");
    expect_body(report_written("published", "tables/table1_published.csv"),
                "task,method,setting,score best of seeds,BDP k=1.1,RD max /comp.dim.,RD mean "
                "/comp.dim.,infinite pairs,RD max finite /comp.dim.\r\n"
                "sst2 (accuracy / f1),majority class,-,50.0,-,-,-,-,-\r\n"
                "sst2 (accuracy / f1),base,-,91.0 / 80.0,-,-,-,-,-\r\n"
                "sst2 (accuracy / f1),vtdp,lambda 1e-3,86.0 / 75.0,inf,inf,inf,25.0 %,2.50\r\n"
                "sst2 (accuracy / f1),nvdp,lambda 1e-3,87.0 / 72.0,12.5,0.800,0.160,none,-\r\n");
}

Test(tables, every_setting_in_markdown) {
    make("second");
    char *text = report_written("second", "tables/table2.md");
    support_contains(text,
                     "| nvdp | lambda 1e-3 | 2 | 85.0 ± 7.1 | 86.0 ± 1.4 / 71.0 ± 1.4 | 87.0 / "
                     "72.0 | 70.0 | none | - | 14.0 | 32.0 | 12.0 | 0.700 | 0.140 |\n",
                     "| nvdp | lambda 0.1 | 1 | 60.0 | 62.0 / 10.0 | 62.0 / 10.0 | 0.00400 | none "
                     "| - | 0.00120 | 1.50 | 10.6 | 4.00e-05 | 1.20e-05 |\n",
                     "| **sst2 (accuracy / f1)** |");
    support_lacks(text, "effective");
}

/* Scores of readers of the shared file. base, which has none, is probed directly. */
Test(tables, readers) {
    make("readers");
    made_run_file("readers", "nvdp1", "reuse.json", "{'metrics': {'accuracy': {'mean': 0.84}}}");
    made_run_file("readers", "nvdp1", "attack.json", "{'metrics': {'accuracy': {'mean': 0.137}}}");
    char *text = report_written("readers", "tables/table2.md");
    support_contains(text, "| reader | attack |", "| 84.0 (1 of 2) | 13.7 (1 of 2) |");
    support_contains(text, "| 12.0 | 0.700 | "); /* both seeds have them */
    support_contains(
        text,
        "CAUTION: numbers with a mark such as (1 of 3) are means, or maxima, over only those seeds",
        "is trained to find a private attribute in the shared file.");
    support_lacks(text, "of a probe");
    made_run_file("readers", "base1", "attack.json", "{'metrics': {'accuracy': {'mean': 0.99}}}");
    text = report_written("readers", "tables/table2.md");
    support_contains(
        text, "attack of base, which makes no private file: score of a probe on plain embeddings.");
}

Test(tables, latex) {
    make("latex");
    char *text = report_written("latex", "tables/table1.tex");
    support_contains(text, "\\caption{Utility and privacy at the setting",
                     "\\begin{tabular}{lrrrrrrrrrr}\n\\toprule\nmethod & setting & seeds & ",
                     "vtdp & lambda 1e-3 & 1 & 86.0 / 75.0 & 86.0 / 75.0 & $\\infty$ & 25.0 \\% & "
                     "250 & $\\infty$ & $\\infty$ & $\\infty$ \\\\\n",
                     "nvdp & lambda 1e-3 & 2 & 86.0 $\\pm$ 1.4 / 71.0 $\\pm$ 1.4 & 87.0 / 72.0 & ",
                     "\\bottomrule\n\\end{tabular}}");
    text = report_written("latex", "tables/all.tex");
    support_contains(text, "\\input{table1}");
}

/* Tasks that do not fit on a page continue in another table. */
Test(tables, latex_over_pages) {
    static const char *const tasks[] = {"rte", "mrpc", "qnli"};
    for (unsigned k = 0; k < 3 * 20; k++) {
        char name[16];
        snprintf(name, sizeof name, "r%u", k);
        struct made_run run = {name, .task = tasks[k / 20], .lambda = k % 20 + 1, .rd_max = 1};
        made_run("pages", &run);
    }
    char *text = report_written("pages", "tables/table2.tex");
    char *second = strstr(text, "\\caption{Every setting (continued)}");
    cr_assert_not_null(second);
    cr_expect_null(strstr(second + 1, "\\caption"));
    support_contains(second, "\\textit{qnli (accuracy)}"); /* 22 rows per task: two tasks fit */
    *second = '\0';
    support_lacks(text, "qnli (accuracy)");
}

/* Two private methods that print the same value are both marked as best. A single method is not marked. */
Test(tables, marks) {
    static const struct made_run few[] = {
        {"a", .lambda = 1, .score = .70004, .rd_max = 3, .rd_mean = 1, .bdp_best = 1,
         .bdp_published = 1},
        {"b", .method = "vtdp", .lambda = 1, .score = .7, .rd_max = 2, .rd_mean = 1, .bdp_best = 1,
         .bdp_published = 1},
        {"c", .task = "rte", .lambda = 1, .score = .6, .rd_max = 2, .rd_mean = 1, .bdp_best = 1,
         .bdp_published = 1},
    };
    made_runs("marks", sizeof few / sizeof *few, few);
    char *text = report_written("marks", "tables/table1.tex");
    support_contains(text,
                     "vtdp & lambda 1 & 1 & \\textbf{70.0} & \\textbf{70.0} & \\textbf{2.00} &",
                     "nvdp & lambda 1 & 1 & \\textbf{70.0} & \\textbf{70.0} & 3.00 &",
                     "nvdp & lambda 1 & 1 & 60.0 & 60.0 & 2.00 &");
}

/* Two seeds of nvdp, one of them above 10 nats; a clip with bounds 0.55, 2.2 and 19.8; a method measured at one of two
 * seeds; one with infinite pairs. */
static const struct made_run spent[] = {
    {"base", .method = "base", .score = .9},
    {"n1", .lambda = 1e-3, .seed = 1, .validation = .9, .score = .86, .rd_max = 8},
    {"n2", .lambda = 1e-3, .seed = 2, .validation = .8, .score = .88, .rd_max = 12},
    {"n3", .lambda = .1, .seed = 1, .validation = .6, .score = .6, .rd_max = .5},
    {"n4", .lambda = .1, .seed = 2, .validation = .6, .score = .62, .rd_max = .9},
    {"c1", .method = "vib-fixed", .validation = .85, .score = .84, .rd_max = 9, .bound = 19.8,
     .nvib = "'clip_sequence': 3"},
    {"c2", .method = "vib-fixed", .validation = .7, .score = .7, .rd_max = 1.5, .bound = 2.2,
     .nvib = "'clip_sequence': 1"},
    {"c3", .method = "vib-fixed", .validation = .5, .score = .55, .rd_max = .3, .bound = 0.55,
     .nvib = "'clip_sequence': 0.5"},
    {"i", .method = "vib-fixed", .lambda = 1, .score = .8, .rd_max = INFINITY},
    {"v1", .method = "vtdp", .lambda = 1, .seed = 1, .score = .7, .rd_max = 1},
    {"v2", .method = "vtdp", .lambda = 1, .seed = 2, .score = .7},
};

Test(tables, budget) {
    made_runs("budget", sizeof spent / sizeof *spent, spent);
    expect_body(
        report_written("budget", "tables/budget.csv"),
        "task,method,1 nat,3 nats,10 nats,30 nats,100 nats\r\n"
        "sst2 (accuracy),majority class,50.0,50.0,50.0,50.0,50.0\r\n"
        "sst2 (accuracy),vib-fixed,-,-,-,-,-\r\n"
        "sst2 (accuracy),vib-fixed (sequence clip),55.0,70.0,84.0,84.0,84.0\r\n"
        "sst2 (accuracy),vib-fixed (sequence clip): chosen,\"C 0.5 (0.300, bound 0.55)\",\"C 1 "
        "(1.50, bound 2.2)\",\"C 3 (9.00, bound 19.8)\",\"C 3 (9.00, bound 19.8)\",\"C 3 (9.00, "
        "bound 19.8)\"\r\n"
        "sst2 (accuracy),\"vib-fixed (sequence clip), proven\",55.0,70.0,70.0,84.0,84.0\r\n"
        "sst2 (accuracy),\"vib-fixed (sequence clip), proven: chosen\",\"C 0.5 (0.300, bound "
        "0.55)\",\"C 1 (1.50, bound 2.2)\",\"C 1 (1.50, bound 2.2)\",\"C 3 (9.00, bound "
        "19.8)\",\"C 3 (9.00, bound 19.8)\"\r\n"
        "sst2 (accuracy),vtdp,-,-,-,-,-\r\n"
        "sst2 (accuracy),nvdp,61.0 +- 1.4,61.0 +- 1.4,61.0 +- 1.4,87.0 +- 1.4,87.0 +- 1.4\r\n"
        "sst2 (accuracy),nvdp: chosen,lambda 0.1 (0.900),lambda 0.1 (0.900),lambda 0.1 "
        "(0.900),lambda 1e-3 (12.0),lambda 1e-3 (12.0)\r\n");
    char *text = report_written("budget", "tables/not_private.csv");
    support_contains(text, "task,method,score\r\nsst2 (accuracy),base,90.0\r\n");
    text = report_written("budget", "tables/budget.tex"); /* proven values do not compete */
    support_contains(
        text,
        "vib-fixed (sequence clip) & 55.0 & \\textbf{70.0} & \\textbf{84.0} & 84.0 & 84.0 \\\\",
        "proven & 55.0 & 70.0 & 70.0 & 84.0 & 84.0 \\\\",
        "nvdp & \\textbf{61.0 $\\pm$ 1.4} & 61.0 $\\pm$ 1.4 & 61.0 $\\pm$ 1.4 & \\textbf{87.0");
    text = report_written("budget", "tables/table2.csv");
    support_contains(text, "RD max [nats],bound [nats],",
                     "vib-fixed (sequence clip),C 3,1,85.0,84.0,84.0,9.00,19.8,");
    text = report_written("budget", "report.json");
    nvdp__autoptr(json_decref) json_t *root = json_loads(text, 0, NULL);
    json_t *groups = json_object_get(root, "groups");
    static const double want[] = {.5, 1, 1, 3, 3}; /* C selected by the bound */
    size_t k = 0, entry;
    json_t *budget;
    json_array_foreach(json_object_get(root, "budgets"), entry, budget) {
        if (strcmp(text_at(budget, "limited"), "rd_bound") != 0) continue;
        json_t *at = json_object_get(budget, "group");
        json_t *group = json_array_get(groups, (size_t)json_integer_value(at));
        cr_assert_lt(k, 5);
        cr_expect_eq(number_at(group, "clip_sequence"), want[k++]);
    }
    cr_expect_eq(k, 5);
    cr_expect_eq(json_array_size(json_object_get(root, "budgets")), 4 * 5);
}

/* Methods without privacy have no score under a budget, in any format: "1 nat" above the score of base would suggest
 * privacy. */
Test(tables, what_is_not_private_stands_apart_from_budgets) {
    static const char *const formats[] = {"txt", "csv", "md", "tex"};
    made_runs("apart", sizeof spent / sizeof *spent, spent);
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        char name[32];
        snprintf(name, sizeof name, "tables/budget.%s", formats[f]);
        char *text = report_written("apart", name);
        support_lacks(text, "90.0", "base");
        free(text);
        snprintf(name, sizeof name, "tables/not_private.%s", formats[f]);
        text = report_written("apart", name);
        support_contains(text, "base", "90.0");
        support_lacks(text, "nvdp");
        free(text);
    }
    struct report *report = made_report(ctx, "apart");
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    ok(report_print(ctx, report, to));
    fclose(to);
    char *budget = strstr(text, "Score at a largest divergence within a budget"),
         *apart =
             strstr(text, "Methods that are not private and exceed every budget, for comparison");
    cr_assert(budget != NULL && apart > budget);
    cr_expect_null(memmem(budget, (size_t)(apart - budget), "base", 4));
    free(text);
    text = report_written("apart", "index.html");
    support_contains(
        text,
        "<caption>Methods that are not private and exceed every budget, for comparison</caption>");
    free(text);
    text = report_written("apart", "data/groups.csv");
    support_contains(text, ",base,base,0,,,,,1,1,accuracy,", ",nvdp,nvdp,1,0.1,0.1,");
    free(text);
    text = report_written("apart", "report.json");
    json_t *group;
    nvdp__autoptr(json_decref) json_t *root = json_loads(text, 0, NULL);
    size_t at;
    json_array_foreach(json_object_get(root, "groups"), at, group) {
        const bool base = strcmp(text_at(group, "method"), "base") == 0;
        cr_expect_eq(json_is_true(json_object_get(group, "private")), !base);
    }
    free(text);
}

static size_t count_between(const char *from, const char *end, const char *word) {
    size_t count = 0;
    while ((from = strstr(from, word)) != NULL && from < end) {
        count++;
        from++;
    }
    return count;
}

/* On the page the first table has at most seven columns, and its second part the others. */
Test(tables, few_columns_on_the_page) {
    make("narrow");
    char *csv = report_written("narrow", "tables/table1.csv");
    const size_t columns = count_between(csv, strchr(csv, '\r'), ","); /* one is the task */
    char *page = report_written("narrow", "index.html");
    const char *first = strstr(page, "<table>"), *second = strstr(first + 1, "<table>");
    const char *end = strstr(second, "</table>");
    const size_t in_first = count_between(first, second, "<th scope=\"col\""),
                 in_second = count_between(second, end, "<th scope=\"col\"");
    cr_expect_eq(in_first, 7);
    cr_expect_eq(in_first + in_second, columns + 1); /* the methods stand in both */
    support_contains(second, "sums in nats (continued)</caption>");
    cr_expect_eq(count_between(first, second, ">RD max<br>[nats]</th>"), 1);
    cr_expect_eq(count_between(second, end, ">infinite<br>pairs</th>"), 1);
    cr_expect_eq(count_between(first, second, "</td>"), 7 * 4); /* a row per method */
}

/* Columns of infinite pairs appear only if there are such pairs. */
Test(tables, infinite_pairs) {
    make("infinite");
    char *text = report_written("infinite", "report.json");
    support_contains(text, "\"rd_sum_max_finite\"");
    for (size_t i = 0; i < sizeof spent / sizeof *spent; i++)
        if (isfinite(spent[i].rd_max)) made_run("finite", &spent[i]);
    text = report_written("finite", "tables/table2.csv");
    support_lacks(text, "infinite", "finite");
}

/* Uses budgets that the user gives. */
Test(tables, budgets_asked_for) {
    struct report_config config = report_config_default();
    struct report *report = NULL;
    made_run("asked", &spent[1]);
    config.directory = made_folder("asked");
    config.budgets = "7.5,inf";
    ok(report_create(ctx, &config, &report));
    support_keep(report);
    cr_expect_eq(report->budgets, 2);
    cr_expect(report_chosen(report, 0, 0, REPORT_SUM_MAX, report->budget[0]) == NULL);
    cr_expect(report_chosen(report, 0, 0, REPORT_SUM_MAX, report->budget[1]) == report->group);
    static const char *const wrong[] = {"", "1,,3", "1,", "-1", "nan", "1 3", "x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        config.budgets = wrong[i];
        fails(report_create(ctx, &config, &report), NVDP_ERR_ARGUMENT,
              "budgets: expected 1 to 16 numbers in nats");
    }
}

/* Test of three seeds, by hand: differences .01, .02, .03 have mean .02 and t = 2 sqrt 3. */
Test(tables, significance) {
    static const double score[2][3] = {{.81, .83, .85}, {.80, .81, .82}};
    for (unsigned s = 0; s < 3; s++) {
        struct made_run run = {.name = (const char *[]){"a0", "a1", "a2"}[s],
                               .method = "base",
                               .seed = s,
                               .score = score[0][s]};
        made_run("significance", &run);
        run = (struct made_run){.name = (const char *[]){"b0", "b1", "b2"}[s],
                                .seed = s,
                                .lambda = 1,
                                .score = score[1][s],
                                .rd_max = 1};
        made_run("significance", &run);
    }
    char *text = report_written("significance", "tables/significance.csv");
    cr_expect_str_eq(text,
                     "task,method,against,seeds,difference,95 % interval,t,p,p (Holm)\r\n"
                     "sst2,base,nvdp,3,+2.00,-0.48 to +4.48,3.46,0.074,0.074\r\n",
                     "%s", text);
    make("one_seed");
    text = report_written("one_seed", "tables/significance.txt");
    support_contains(text, "base    nvdp         2        +6.00");
    support_lacks(text, "vtdp"); /* one seed */
}

/* A note names models that learned nothing. */
Test(tables, collapsed) {
    static const struct made_run few[] = {
        {"a", .lambda = 1, .score = .5, .rd_max = 1e-6},
        {"b", .method = "vtdp", .lambda = 1, .score = .6, .rd_max = 2},
    };
    made_runs("collapsed", sizeof few / sizeof *few, few);
    char *text = report_written("collapsed", "tables/table1.md");
    support_contains(text, "No better than guessing the most frequent class: nvdp on sst2. ");
}

/* Always predicting the most frequent class has Matthews' correlation 0, whatever the accuracy. */
Test(tables, collapsed_by_other_metrics) {
    static const struct made_run few[] = {
        {"a", .task = "cola", .metric = "matthews", .majority = .7, .score = .01},
        {"b", .task = "cola", .metric = "matthews", .method = "vtdp", .score = .3},
        {"c", .task = "stsb", .metric = "pearson", .score = -.05},
        {"d", .task = "mrpc", .metric = "f1", .score = .01},
    };
    made_runs("others", sizeof few / sizeof *few, few);
    char *text = report_written("others", "tables/table1.md");
    support_contains(text, "| majority class | - | - | 0.0 | 0.0 |");
    support_lacks(text, "| 70.0 |");
    support_contains(text, "guessing the most frequent class: nvdp on cola, nvdp on stsb. ");
}

/* Each fold has its own most frequent class. */
Test(tables, majority_of_folds) {
#define FOLD(f) "'folds': 2, 'fold': " #f
    static const struct made_run few[] = {
        {"a1", .majority = .8, .score = .7, .options = FOLD(1)},
        {"a2", .majority = .6, .score = .8, .options = FOLD(2)},
        {"b1", .method = "vtdp", .majority = .8, .score = .65, .options = FOLD(1)},
        {"b2", .method = "vtdp", .majority = .6, .score = .7, .options = FOLD(2)},
    };
    made_runs("folds", sizeof few / sizeof *few, few);
    char *text = report_written("folds", "tables/table1.md");
    support_contains(text, "| majority class | - | - | 70.0 | 70.0 |",
                     "guessing the most frequent class: vtdp on sst2. ");
}

/* Divergences of different orders are not compared. Notes name other differences. */
Test(tables, cautions) {
#define OTHER(order, adjacency)                                                                    \
    "{'order': " order ", 'n': 4, 'complete': true, 'adjacency': '" adjacency                      \
    "', 'infinite_share': 0, 'sample': {'drawn': 9}, 'rd': {'sum': {'max': 1, "                    \
    "'mean': "                                                                                     \
    "1}, 'per_component_dim': {'max': 1, 'mean': 1}}, 'bdp': {'delta': 1e-5, 'best': "             \
    "{'epsilon': 1}, 'published': {'epsilon': 1}}}"
    make("cautions");
    char *text = report_written("cautions", "tables/table1.txt");
    support_contains(text, "Order of the divergences 1.1, delta 1e-05, one sample of a text.");
    support_lacks(text, "CAUTION");
    struct made_run dev = {"dev", .method = "base", .seed = 3, .options = "'protocol': 'dev'"};
    made_run("cautions", &dev);
    made_run_file("cautions", "vtdp1", "privacy.json", OTHER("1.1", "all"));
    text = report_written("cautions", "tables/table1.md");
    support_contains(text,
                     "CAUTION: sst2 was measured on 4 texts in some runs and on 40 in others, ",
                     "1 of 4 runs: mean and infinite share are estimated from drawn pairs",
                     "1 of 7 runs chose their epoch on the test texts (--protocol dev)");
    text = report_written("cautions", "index.html"); /* below the table, once */
    const char *reading = strstr(text, "How to read the tables</h2>");
    cr_assert_not_null(reading);
    cr_expect_eq(count_between(text, reading, "1 of 7 runs chose their epoch on the test"), 1);
    cr_expect_eq(count_between(text, reading, "CAUTION: sst2 was measured on 4 texts"), 1);
    cr_expect_null(strstr(reading, "chose their epoch on the test texts"));
    cr_expect_not_null(strstr(reading, "score: 100 times the metric"));
    static const char *const unlike[] = {OTHER("2", "all"), OTHER("1.1", "same-length")};
    for (size_t i = 0; i < 2; i++) {
        made_run_file("cautions", "vtdp1", "privacy.json", unlike[i]);
        text = report_written("cautions", "tables/table1.md");
        support_contains(text, "Order of the divergences 1.1, delta 1e-05, one sample of a text.");
        support_lacks(text, "CAUTION: sst2 was measured", "estimated from drawn pairs");
        text = report_written("cautions", "index.html");
        support_contains(text, "most runs were measured with other options than this one");
    }
}

/* A method that learned nothing is not marked as the most private. */
Test(tables, no_star_for_nothing) {
    static const struct made_run some[] = {
        {"n", .method = "nvdp", .lambda = 1, .rd_max = 5, .rd_mean = 4, .score = .9},
        {"v", .method = "vtdp", .lambda = 1, .rd_max = .5, .rd_mean = .4, .score = .5},
        {"f", .method = "vib-fixed", .lambda = 1, .rd_max = 9, .rd_mean = 8, .score = .8}};
    made_runs("nothing", sizeof some / sizeof *some, some);
    char *text = report_written("nothing", "tables/table1.md");
    const char *row = strstr(text, "| vtdp |");
    cr_assert_not_null(row, "%s", text);
    const char *end = strchr(row, '\n');
    cr_expect(memmem(row, (size_t)(end - row), "**", 2) == NULL, "%s", text);
    row = strstr(text, "| nvdp |");
    cr_expect(memmem(row, (size_t)(strchr(row, '\n') - row), "**", 2) != NULL, "%s", text);
}

/* A label with every character that has a special meaning in some format. */
Test(tables, escapes) {
    static const struct made_run run = {"a", .lambda = 1, .rd_max = 1,
                                        .label = "a&b_<c>\\\"$%#{}~^|*`\\\\"};
    made_run("escapes", &run);
    char *text = report_written("escapes", "tables/table2.csv");
    support_contains(text, "\"a&b_<c>\"\"$%#{}~^|*`\\\",lambda 1,1,");
    text = report_written("escapes", "tables/table2.tex");
    support_contains(text, "a\\&b\\_$<$c$>$''\\$\\%\\#\\{\\}\\textasciitilde{}\\textasciicircum{}$|"
                           "$*`\\textbackslash{} & lambda 1");
    text = report_written("escapes", "tables/table2.md");
    support_contains(text, "| a&amp;b\\_&lt;c&gt;\"$%\\#{}\\~^\\|\\*\\`\\\\ | lambda 1 |");
    text = report_written("escapes", "index.html");
    support_contains(text, "<td>a&amp;b_&lt;c&gt;&quot;$%#{}~^|*`\\</td>",
                     "Processor: Abacus &lt;1&gt;.");
    support_lacks(text, "<c>");
}

/* Escapes text that a spreadsheet would evaluate. Numbers, also negative ones, stay numbers. */
Test(tables, formulas_are_text) {
    static const struct {
        const char *text, *cell;
    } cases[] = {{"=1+1", "'=1+1"},
                 {"@SUM(A1)", "'@SUM(A1)"},
                 {"+A1", "'+A1"},
                 {"-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"},
                 {"=1,2", "\"'=1,2\""},
                 {"-0.25", "-0.25"},
                 {"-0.25 \302\261 0.1", "-0.25 \302\261 0.1"},
                 {"+1e-05", "+1e-05"},
                 {"a=1", "a=1"},
                 {"", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nvdp__autofree char *text = NULL;
        size_t size = 0;
        FILE *to = open_memstream(&text, &size);
        nvdp__put_csv(to, cases[i].text);
        fclose(to);
        cr_expect_str_eq(text, cases[i].cell);
    }
}

Test(tables, numbers) {
    static const struct {
        double value;
        const char *want;
    } cases[] = {{0, "0"},
                 {1.25e-6, "1.25e-06"},
                 {.00123456, "0.00123"},
                 {.0999, "0.0999"},
                 {.09996, "0.100"},
                 {9.994, "9.99"},
                 {9.996, "10.0"},
                 {392488.4, "392488"},
                 {INFINITY, "inf"},
                 {-INFINITY, "-inf"},
                 {NAN, "-"},
                 {-66.14, "-66.1"},
                 {2e7, "2.00e+07"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(report_say_number(cases[i].value).text, cases[i].want);
    cr_expect_str_eq(report_say_share(.00001).text, "<0.1 %");
    cr_expect_str_eq(report_say_share(.99999).text, ">99.9 %");
    cr_expect_str_eq(report_say_share(1).text, "100 %");
    cr_expect_str_eq(report_say_lambda(.0025).text, "2.5e-3");
    cr_expect_str_eq(report_say_lambda(.1).text, "0.1");
    cr_expect_str_eq(report_say_lambda(0).text, "0");
    cr_expect_str_eq(report_say_p(.00001).text, "<0.001");
}

Test(tables, numbers_in_full) {
    make("full");
    char *text = report_written("full", "data/groups.csv");
    support_contains(text, "sst2,glue,sst2,nvdp,nvdp,1,0.001,0.001,,,2,1,accuracy,");
    support_contains(text, ",inf,,inf,,"); /* means of infinities have no deviation */
    text = report_written("full", "data/runs.csv");
    support_contains(
        text, "strong1,sst2,nvdp,nvdp,1,0.1,0.1,,,1,0,0.6,accuracy,0.62,f1,0.1,0.004,0.0012,",
        "nvdp train --task sst2 ");
}

Test(tables, json) {
    make("json");
    char *text = report_written("json", "report.json");
    nvdp__autoptr(json_decref) json_t *root = json_loads(text, 0, NULL);
    cr_assert_not_null(root);
    cr_expect_str_eq(text_at(root, "nvdp_format"), "report/1");
    const json_t *groups = json_object_get(root, "groups");
    cr_assert_eq(json_array_size(groups), 4);
    const json_t *base = json_array_get(groups, 0), *vtdp = json_array_get(groups, 1);
    cr_expect(json_is_null(json_object_get(base, "lambda_g")));
    const json_t *score = support_at(base, "scores/accuracy");
    near(number_at(score, "mean"), .92, 1e-15);
    near(number_at(score, "best_seed"), .91, 1e-15);
    const json_t *max = support_at(vtdp, "quantities/rd_sum_max");
    cr_expect_str_eq(text_at(max, "mean"), "inf");
    cr_expect(json_is_null(json_object_get(max, "sd")));
    cr_expect_str_eq(text_at(max, "max"), "inf");
}

/* A method is never the best if its texts are all named, or if none of its numbers is finite.  Its row says how many
 * texts are named. */
Test(tables, no_star_for_what_hides_nothing) {
    static const struct made_run some[] = {
        {"n", .lambda = 1, .rd_max = 500, .rd_mean = 400, .score = .95, .linked = 1},
        {"i", .method = "vtdp", .lambda = 1, .rd_max = INFINITY, .share = .48, .score = .9},
        {"f", .method = "vib-fixed", .lambda = 1, .rd_max = 9, .score = .8, .linked = .2},
        {"g", .method = "vib", .lambda = 1, .rd_max = 9, .score = .7, .linked = .1}};
    made_runs("hidden", sizeof some / sizeof *some, some);
    char *text = report_written("hidden", "tables/table1.md");
    static const char *const rows[] = {"| nvdp, named 100 % |", "| vtdp |", "| vib-fixed |"};
    for (size_t k = 0; k < 3; k++) {
        const char *row = strstr(text, rows[k]);
        cr_assert_not_null(row, "%s: %s", rows[k], text);
        const char *end = strchr(row, '\n');
        cr_expect_eq(memmem(row, (size_t)(end - row), "**80.0**", 8) != NULL, k == 2, "%s", text);
        cr_expect(k == 2 || memmem(row, (size_t)(end - row), "**", 2) == NULL, "%s", text);
    }
    support_contains(text, "A method marked named 100 % hides no text.");
}
