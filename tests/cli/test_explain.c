/* Tests of nvdp explain that compare its numbers with the library, or its text with a page. The others are in
 * explain.txt. */
#include "base/sentence.h"
#include "program.h"

static double bound_at(const json_t *root, size_t i) {
    return number_at(json_array_get(json_object_get(root, "guess"), i), "bound");
}

/* A recipient's file: the numbers of one row and of k rows follow from its certificate, and a file whose statement does
 * not follow from its content is refused. */
Test(explain, of_a_shared_file) {
    program_expect(0, "train $TINY --method vib-fixed --clip-sequence 0.5 --out $DIR/run");
    program_expect(0, "export $DIR/run --split dev --samples 4 --out $DIR/shared.safetensors");
    struct outcome o = program_expect(0, "explain $DIR/shared.safetensors");
    support_contains(o.out, "Proven: epsilon ", "which of two equally likely texts was sampled",
                     "If several rows of the file are of one text", "Not covered: ");
    json_t *found =
        program_json("explain $DIR/shared.safetensors --baseline 0.01 --json"); /* C sqrt(4) = 1 */
    const json_t *guess = support_at(found, "guess/0"), *row;
    cr_expect_float_eq(number_at(guess, "bound"), nvdp_guess_bound(.01, 1, 1, 0), 1e-9);
    cr_expect_eq(number_at(found, "samples"), 4);
    size_t i;
    json_array_foreach(json_object_get(found, "rows"), i, row) {
        const double k = number_at(row, "rows");
        cr_expect_float_eq(number_at(row, "epsilon"), nvdp_gdp_epsilon(2 * sqrt(k), 1e-5), 1e-6);
        cr_expect_float_eq(number_at(row, "which_of_100"), nvdp_guess_bound(.01, sqrt(k), 1, 0),
                           1e-9);
    }
    cr_expect_eq(i, 3);
    program_expect(2, "explain $DIR/shared.safetensors --releases 2");
    o = program_shell("sed -i 's/any two texts/any two tests/' $DIR/shared.safetensors");
    o = program_expect(1, "explain $DIR/shared.safetensors");
    support_contains(o.err, "its statement does not follow from its content");
    cr_assert_str_empty(o.out);
}

/* A summary: rows that change together share one noise, so k of them have k times the mu. Its statement has the guess bounds. */
Test(explain, of_a_summary) {
    program_shell("(tail -n +2 $TASK/train.tsv | cut -f1 >$DIR/rows.txt; "
                  "awk '{print $0, $0, NR}' $DIR/rows.txt >$DIR/public.txt)");
    program_expect(0, "summarize --model $MODEL --center $DIR/public.txt --input $DIR/rows.txt "
                      "--rows 3 --out $DIR/summary.safetensors");
    json_t *found = program_json("explain $DIR/summary.safetensors --json");
    const double mu = number_at(found, "mu"), delta = number_at(found, "delta");
    const json_t *row;
    cr_expect_eq(json_object_size(found), 5);
    cr_expect(mu > 0 && delta == 1e-5);
    cr_expect_float_eq(number_at(found, "epsilon"), nvdp_gdp_epsilon(mu, delta), 1e-9);
    size_t i;
    static const double rows[] = {1, 2, 10};
    json_array_foreach(json_object_get(found, "rows"), i, row) {
        cr_expect_eq(number_at(row, "rows"), rows[i]);
        cr_expect_float_eq(number_at(row, "epsilon"), nvdp_gdp_epsilon(rows[i] * mu, delta), 1e-9);
        cr_expect_eq(json_object_size(row), 2);
    }
    cr_expect_eq(i, 3);
    support_contains(json_string_value(json_object_get(found, "statement")), "Guesses: ");
    struct outcome o = program_expect(0, "explain $DIR/summary.safetensors");
    support_contains(o.out, "for the replacement of any one row", "Contents: one matrix of ",
                     "  rows that change together         epsilon\n  1  ", "\n  10  ",
                     "\nNot covered: ");
    support_lacks(o.out, "sampled", " bits", "with at most", "one of 2, at most");
    program_says(2, "leave out --baseline", "explain $DIR/summary.safetensors --baseline .1");
    program_prints(1,
                   "\nFor the replacement of any one row of the summary, or person if its unit is "
                   "one, at delta 1e-05.\n",
                   "gate certified $DIR/summary.safetensors");
    support_write_text(
        support_scratch_path("two.json"),
        "{\"releases\": 2, \"checks\": [{\"measure\": \"certified_epsilon\", \"at_most\": 8}]}");
    program_prints(0,
                   "\nFor the replacement of any one row, or person if the unit is one, of 2 such "
                   "summaries, at delta 1e-05.\n",
                   "gate $DIR/two.json $DIR/summary.safetensors");
    program_expect(2, "explain $DIR/summary.safetensors --delta 1e-6");
    program_shell("sed -i 's/of any one row of/of any two row of/' $DIR/summary.safetensors");
    o = program_expect(1, "explain $DIR/summary.safetensors");
    cr_assert_str_empty(o.out);
}

/* The table of needs is that of docs/budget.md: every score and every page stands there, too. */
Test(explain, what_a_receiver_needs) {
    const char *budget = support_read(support_path("%s/docs/budget.md", NVDP_SOURCE_DIR));
    json_t *found = program_json("explain --need all --json");
    const json_t *needs = json_object_get(found, "needs"), *need;
    size_t i, scores = 0;
    cr_assert_eq(json_array_size(needs), 4);
    json_array_foreach(needs, i, need) {
        const char *score = json_string_value(json_object_get(need, "score")),
                   *page = json_string_value(json_object_get(need, "page"));
        cr_expect_eq(json_object_size(need), 6);
        cr_expect_eq(
            access(support_path("%s/%.*s", NVDP_SOURCE_DIR, (int)strcspn(page, ","), page), R_OK),
            0);
        for (const char *at = score; (at = strstr(at, " %")) != NULL; at++, scores++)
            cr_expect(strstr(budget, support_path("%.6s", at - 4)) != NULL, "%.6s", at - 4);
    }
    cr_expect_eq(scores, 15, "%zu", scores);
    found = program_json("explain --need collection --json");
    cr_expect_eq(json_array_size(json_object_get(found, "needs")), 1);
    support_contains(program_expect(0, "explain --need model").out,
                     "\nprotects: each training text");
    program_says(2, "option --need explains no guarantee", "explain --need text 16");
    program_says(2, "leave out --texts", "explain --need text --texts 5");
    program_expect(2, "explain --need everything");
}

/* docs/budget.md shows the text for an assessment; its numbers, and only these, depend on the run. */
Test(explain, assessment_of_a_run) {
    program_expect(0, "train $TINY --method vib-fixed --clip-sequence 1.4 --out $DIR/run");
    struct outcome o = program_expect(0, "explain $DIR/run --assessment --baseline 0.5,0.001");
    support_file("said", o.out);
    o = program_shell(
        "words() { tr -s '\\n' ' ' | sed 's/[0-9][-.0-9e]*/#/g'; }; words <$DIR/said >$DIR/words; "
        "sed -n '/^Random noise is added/,/^```/p' " NVDP_SOURCE_DIR
        "/docs/budget.md | sed '/^```/d' | words | cmp - $DIR/words");
    cr_expect_eq(o.code, 0, "%s%s", o.out, o.err);
    json_t *found = program_json("explain $DIR/run --assessment --baseline 0.01 --json"),
           *same = program_json("explain $DIR/run --baseline 0.01 --json");
    const double epsilon = nvdp_gdp_epsilon(2.8 * sqrt(10), 1e-5);
    support_contains(json_string_value(json_object_get(found, "assessment")),
                     nvdp__share_bound(bound_at(same, 0)).text,
                     nvdp__short_text("have epsilon %s", nvdp__bound(epsilon).text).text);
    program_expect(0, "export $DIR/run --split dev --out $DIR/shared.h5");
    program_expect(2, "explain $DIR/shared.h5 --assessment");
    program_expect(2, "explain $DIR/run --assessment --texts 5");
    program_expect(0, "train $TINY --method vib-learned --out $DIR/open");
    program_says(1, "an assessment needs a proof for any two texts",
                 "explain $DIR/open --assessment");
}
