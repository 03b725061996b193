/* Tests of named entity recognition through the program. */
#include "program.h"

/* Writes texts in the tiny model's vocabulary: every "good" begins an entity, every "bad" continues it. */
static const char *folder(void) {
    static const char *const words[] = {"good", "film", "bad", "a", "the"};
    static const char *const names[] = {"ner/train.tsv", "ner/devel.tsv"};
    cr_assert_eq(system(support_path("mkdir -p %s", support_scratch_path("ner"))), 0);
    for (size_t f = 0; f < 2; f++) {
        char text[16384] = "";
        unsigned seed = 7 + (unsigned)f;
        for (int s = 0; s < 60; s++) {
            for (int w = 0; w < 6; w++) {
                seed = seed * 1664525U + 1013904223U;
                const char *word = words[(seed >> 16) % 5];
                const char *tag = strcmp(word, "good") == 0  ? "B-Q"
                                  : strcmp(word, "bad") == 0 ? "B-R"
                                                             : "O";
                sprintf(text + strlen(text), "%s\t%s\n", word, tag);
            }
            strcat(text, "\n");
        }
        support_file(names[f], text);
    }
    return support_scratch_path("ner");
}

Test(ner, trains_scores_and_predicts) {
    const char *data = support_path("%s", folder());
    json_t *result =
        program_json("train --task ner --data %s --model $MODEL --method base --max-length 12 "
                     "--batch 8 --epochs 12 --lr 1e-2 --threads 1 --json --out $DIR/run",
                     data);
    const json_t *f1 = support_at(result, "test/metrics/entity_f1/mean");
    cr_expect_gt(json_number_value(f1), 0.9);
    json_t *eval = program_json("eval $DIR/run --json");
    cr_expect_eq(integer_at(eval, "n"), 360);
    cr_expect_float_eq(number_at(eval, "metrics/entity_f1/mean"), json_number_value(f1), 1e-12);
    program_expect(0, "predict $DIR/run --split dev");
    char *file_lines = support_read(support_scratch_path("run/predictions_dev.tsv"));
    char *file = support_read(support_scratch_path("ner/devel.tsv"));
    size_t lines = 0, same = 0, words = 0;
    char *keep_lines = file_lines, *keep_file = file, *a, *b;
    while ((a = strsep(&keep_lines, "\n")) != NULL && (b = strsep(&keep_file, "\n")) != NULL) {
        lines++;
        if (*b == '\0') {
            cr_expect_eq(*a, '\0', "line %zu", lines);
            continue;
        }
        const char *last = strrchr(a, '\t');
        cr_assert_not_null(last, "line %zu: %s", lines, a);
        cr_expect(strncmp(a, b, strlen(b)) == 0 && a[strlen(b)] == '\t', "line %zu", lines);
        same += strcmp(last, strrchr(b, '\t')) == 0;
        words++;
    }
    cr_expect_eq(words, 360);
    cr_expect_gt(same, 330);
    program_says(2, "found a run that reads words in columns",
                 "predict $DIR/run --input %s/devel.tsv", data);
}

/* Every text is scored once, by a run that was not trained on it. */
/* A sentence that private training cut into two examples is a group of two for the next one. */
Test(ner, parts_of_a_sentence_count) {
    const char *data = support_path("%s", folder());
    const char *first = support_scratch_path("first");
    const char *next = support_scratch_path("next");
    static const char private[] = "--task ner --method base --epochs 1 --dp-batch 8 --dp-noise 2 "
                                  "--lr 1e-3 --threads 1";
    program_expect(
        0, "train %s --data %s --model $MODEL --max-length 5 --target-delta 1e-4 --out $DIR/first",
        private, data);
    program_expect(0,
                   "train %s --data %s --model $DIR/first/model --max-length 12 --target-delta .01 "
                   "--out $DIR/next",
                   private, data);
    const char *path = support_path("%s/run.json", first);
    json_t *before = support_json(path);
    path = support_path("%s/run.json", next);
    json_t *after = support_json(path);
    double epsilon, start;
    cr_assert_eq(json_unpack(before, "{s:{s:{s:f}}}", "dp", "pld", "epsilon", &epsilon), 0);
    cr_assert_eq(json_unpack(after, "{s:{s:[f]}}", "dp", "start", &start), 0);
    cr_expect_float_eq(start, 2 * epsilon, 1e-9, "%g and %g", start, epsilon);
}

Test(ner, cross_validation) {
    const char *data = support_path("%s", folder());
    struct outcome planned = program_expect(0,
                                            "train --task ner --data %s --model $MODEL --method "
                                            "base --max-length 12 --folds 4 --dry-run",
                                            data);
    support_contains(planned.out, "\"fold\": 1", "\nfolds ",
                     "on this machine at its current load, for all 4 folds: steps ");
    json_t *whole = program_json("train --task ner --data %s --model $MODEL --method base "
                                 "--max-length 12 --folds 4 --dry-run --json",
                                 data),
           *plan = json_object_get(whole, "plan");
    double one = 0;
    static const char *const parts[] = {"train_seconds", "score_seconds", "prefix_seconds"};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        one += json_number_value(json_object_get(plan, parts[k]));
    cr_expect_eq(integer_at(plan, "runs"), 4);
    cr_expect_float_eq(number_at(plan, "all_seconds"), 4 * one, 1e-9 * one);
    char command[2048];
    snprintf(command, sizeof command,
             "train --task ner --data %s --model %s --method base --max-length 12 --batch 8 "
             "--epochs 1 --threads 1 --folds 4 --json --out %s",
             data, program_model(), support_scratch_path("folds"));
    json_t *result = program_json("%s", command), *fold;
    /* With an unfinished fold and missing folds, the same command continues. A different command is refused. */
    program_shell("cd $DIR/folds && rm -r fold-4 fold-2/result.json");
    json_t *same = program_json("%s", command);
    for (size_t f = 0; f < 4; f++) {
        const json_t *const of[] = {json_array_get(json_object_get(result, "folds"), f),
                                    json_array_get(json_object_get(same, "folds"), f)};
        cr_expect(json_equal(json_object_get(of[0], "test"), json_object_get(of[1], "test")));
    }
    program_says(2, "option --lr: a resumed run keeps its configuration", "%s --lr 1e-5", command);
    json_int_t words = 0;
    size_t i;
    json_array_foreach(json_object_get(result, "folds"), i, fold) {
        json_int_t n = integer_at(fold, "test/n");
        cr_expect_eq(n, 90); /* 15 sentences of 6 words */
        words += n;
    }
    cr_expect_eq(words, 360);
    json_t *eval = program_json("eval $DIR/folds/fold-2 --json");
    cr_expect(
        json_equal(json_object_get(eval, "metrics"), support_at(result, "folds/1/test/metrics")));
    eval = program_json("eval $DIR/folds/fold-2 --split train --json");
    cr_expect_eq(integer_at(eval, "n"), 270);
}

Test(ner, what_words_have_no_place_in) {
    const char *data = support_path("%s", folder());
    program_says(
        2, "needs method base or reg, found nvdp",
        "train --task ner --data %s --model $MODEL --method nvdp --max-length 12 --out $DIR/none",
        data);
    program_says(2, "labels every word and needs a mechanism that privatizes tokens",
                 "train --task ner --data %s --model $MODEL --method base --max-length 12 "
                 "--token-noise sequence-laplace --eta 2 --out $DIR/none",
                 data);
    program_says(2, "expected a task of whole texts",
                 "sanitize --task ner --data %s --model $MODEL --mechanism random --out $DIR/sent",
                 data);
}
