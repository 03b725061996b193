/* Tests of nvdp predict --input: predictions for new texts. */
#include "program.h"

/* Parses lines of JSON objects into an array; json_decref(). */
static json_t *lines_of(const char *text) {
    json_t *lines = json_array();
    while (*text != '\0') {
        const size_t size = strcspn(text, "\n");
        json_t *object = json_loadb(text, size, 0, NULL);
        cr_assert(json_is_object(object), "found %.*s", (int)size, text);
        json_array_append_new(lines, object);
        text += size + (text[size] == '\n');
    }
    return support_keep(lines);
}

static const char *label_of(const json_t *lines, size_t i) {
    return text_at(json_array_get(lines, i), "label");
}

static void refused(int code, const char *run, const char *options, const char *message) {
    struct outcome outcome = program_expect(code, "predict %s %s", run, options);
    support_contains(outcome.err, message);
    cr_assert_str_empty(outcome.out);
}

Test(predict, new_texts_through_the_noise) {
    const char *run = support_scratch_path("run"), *texts = support_scratch_path("texts.txt");
    program_expect(0, "train $TINY --method nvdp --out $DIR/run --quiet");

    /* With one sample, the texts of the test split get the split's predictions: their noise has the same numbers. */
    struct outcome outcome =
        program_shell("tail -n +2 $TASK/test.tsv | cut -f 2 | tee $DIR/texts.txt");
    program_expect(0, "predict $DIR/run --quiet --out $DIR/split.tsv");
    outcome = program_expect(0, "predict $DIR/run --quiet --input $DIR/texts.txt --samples 1");
    json_t *lines = lines_of(outcome.out);
    char *leader = support_read(support_scratch_path("split.tsv"));
    const size_t count = json_array_size(lines);
    const char *at = strchr(leader, '\n') + 1;
    cr_assert_gt(count, 10);
    for (size_t i = 0; i < count; i++, at = strchr(at, '\n') + 1) {
        const char *label = label_of(lines, i);
        const json_t *index = json_object_get(json_array_get(lines, i), "index");
        cr_assert_eq(json_integer_value(index), (json_int_t)i);
        cr_assert_eq(strncmp(strchr(at, '\t') + 1, label, strlen(label)), 0, "text %zu", i);
    }
    cr_assert_str_empty(at);

    /* A text that is cut is said, as in training. */
    outcome = program_shell("printf 'good good good good good good good good good good good "
                            "good\\nbad\\n' | " NVDP_BINARY_DIR "/nvdp predict $DIR/run --input -");
    support_contains(outcome.err, "1 of 2 texts (50.0 %) are cut to 12 tokens");

    /* Many samples: the predicted classes fit the texts, the probabilities sum to 1, and one is a mean over samples. */
    outcome =
        program_shell("printf 'good good good\\nbad bad bad\\n\\ngood bad' | " NVDP_BINARY_DIR
                      "/nvdp predict $DIR/run --quiet --input - --samples 50 --probabilities");
    lines = lines_of(outcome.out);
    cr_assert_eq(json_array_size(lines), 4, "an empty line is an empty text: %s", outcome.out);
    cr_assert_str_eq(label_of(lines, 0), "1");
    cr_assert_str_eq(label_of(lines, 1), "0");
    for (size_t i = 0; i < 4; i++) {
        const json_t *line = json_array_get(lines, i),
                     *all = json_object_get(line, "probabilities");
        const double p0 = number_at(all, "0");
        const double p1 = number_at(all, "1");
        cr_assert_float_eq(p0 + p1, 1, 1e-6);
        cr_assert_float_eq(number_at(line, "probability"), fmax(p0, p1), 1e-9);
    }

    /* Input is a table with the task's columns, and output a file. */
    json_t *object =
        program_json("predict $DIR/run --input $TASK/dev.tsv --json --out $DIR/out.jsonl");
    support_has(object, "{'texts': 40, 'private': false}");
    char *file = support_read(support_scratch_path("out.jsonl"));
    lines = lines_of(file);
    cr_assert_eq(json_array_size(lines), 40);
    cr_assert_null(support_at(lines, "0/probabilities"));

    /* Placeholders for unknown labels have no effect. */
    outcome =
        program_shell("sed '2,$s/\t.*/\t-1/' $TASK/dev.tsv >$DIR/out.jsonl.tsv && " NVDP_BINARY_DIR
                      "/nvdp predict $DIR/run --quiet --input $DIR/out.jsonl.tsv");
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert_str_eq(outcome.out, file);

    support_write_text(texts, "good\ngood\tbad\n");
    const char *options = support_path("--input %s", texts);
    refused(3, run, options, "texts.txt:2: expected one text without a tab, found one");
    support_write_text(texts, "good O\nLondon B-PLACE\n");
    refused(3, run, options, "texts.txt: expected one text per line, found words with tags; write");
    support_write_text(texts, "");
    refused(3, run, options, "texts.txt: expected one text per line, found none");
    support_write(texts, "good\na\0b\n", 9);
    refused(3, run, options, "texts.txt:2: expected a text, found a NUL byte");
    refused(1, run, "--input /no/such/file", "/no/such/file");
    refused(2, run, "--input - --split dev", "expected exactly one of --input and --split");
    refused(2, run, "--samples 3", "option --samples needs --input");
    refused(2, run, "--input - --samples 0", "samples");
}

Test(predict, scores_of_pairs) {
    const char *run = support_scratch_path("run");
    struct outcome outcome =
        program_shell("mkdir -p $DIR/pairs && for s in train dev; do (printf 'a\\tb\\tscore\\n'; "
                      "for i in 1 2 3 4 5 6 7 8; do printf "
                      "'good\\tcat\\t1.5\\nbad\\tdog\\t-1.5\\n'; done) >$DIR/pairs/$s.tsv; done");
    cr_assert_eq(outcome.code, 0);
    program_expect(0, "train --task tsv --data $DIR/pairs --text-column a --text-pair-column b "
                      "--label-column score --regression --model $MODEL --method vib-fixed "
                      "--max-length 12 --epochs 1 --batch 4 --threads 1 --quiet --out $DIR/run");
    const char *texts = support_file("texts.txt", "good\tcat\nbad\tdog\n");
    outcome = program_expect(0, "predict $DIR/run --quiet --probabilities --input $DIR/texts.txt");
    json_t *lines = lines_of(outcome.out);
    cr_assert_eq(json_array_size(lines), 2);
    cr_assert(json_is_real(support_at(lines, "0/score")));
    cr_assert_null(support_at(lines, "0/label")); /* columns by name, without labels */
    support_file("texts.csv", "b,a\n\"cat, dog\",good\ndog,bad\ndog,bad\n");
    outcome = program_expect(0, "predict $DIR/run --quiet --input $DIR/texts.csv");
    lines = lines_of(outcome.out);
    cr_assert_eq(json_array_size(lines), 3);
    const char *options = support_path("--input %s", texts);
    support_write_text(texts, "good\tcat\nbad\n");
    refused(3, run, options, "texts.txt:2: expected two texts separated by a tab, found no tab");
    support_write_text(texts, "good\tcat\tdog\n");
    refused(3, run, options, "texts.txt:1: expected two texts separated by a tab, found several");
}
