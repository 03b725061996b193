/* Tests of --config FILE.json: it sets the same options, and the command line overrides it. */
#include "program.h"

static const char *write_config(const char *text) {
    const char *path = support_file("config.json", text);
    return path;
}

static void refused(int code, const char *text, const char *message) {
    struct outcome outcome = program_expect(code, "tokenize --config %s", write_config(text));
    support_contains(outcome.err, "config.json", message);
}

static void pieces(const char *args, const char *config, const char *expected) {
    support_file("input.txt", "the film was good\n");
    struct outcome outcome = program_expect(
        0, "tokenize --model $MODEL --config %s %s <$DIR/input.txt", write_config(config), args);
    cr_assert_str_eq(outcome.out, expected);
}

Test(config_file, gives_options_with_dashes_or_underscores) {
    pieces("", "{\"max-length\": 4}", "the film\n");
    pieces("", "{\"max_length\": 4}", "the film\n");
    pieces("", "{\"max_length\": \"4\"}", "the film\n");
    pieces("", "{\"special\": true, \"max_length\": 4}", "[CLS] the film [SEP]\n");
    pieces("", "{\"special\": false}", "the film was good\n");
    pieces("", "{}", "the film was good\n");
}

/* From standard input, and with the byte-order mark of some editors. */
Test(config_file, comes_from_standard_input) {
    support_file("marked.json",
                 "\xEF\xBB\xBF{\"noise\": 1, \"sample-rate\": 0.01, \"steps\": 100}");
    const char *named = program_expect(0, "account --config $DIR/marked.json").out;
    cr_assert_str_eq(program_expect(0, "account --config - <$DIR/marked.json").out, named);
}

Test(config_file, flags_win_wherever_they_stand) {
    pieces("--max-length 5", "{\"max_length\": 4}", "the film was\n");
    struct outcome outcome =
        program_expect(0, "tokenize --max-length 5 --model $MODEL --config %s <$DIR/input.txt",
                       write_config("{\"max_length\": 4}"));
    cr_assert_str_eq(outcome.out, "the film was\n");
}

Test(config_file, later_files_win_over_earlier_ones) {
    support_file("first.json", "{\"max_length\": 3, \"special\": true}");
    support_file("input.txt", "the film was good\n");
    struct outcome outcome = program_expect(
        0, "tokenize --model $MODEL --config $DIR/first.json --config %s <$DIR/input.txt",
        write_config("{\"max_length\": 4}"));
    cr_assert_str_eq(outcome.out, "[CLS] the film [SEP]\n");
}

Test(config_file, faults_name_the_file_and_the_key) {
    refused(2, "{\"modle\": 1}", "unknown key 'modle'");
    refused(2, "{\"config\": \"other.json\"}", "unknown key 'config'");
    refused(2, "{\"jsonl\": 1}", "key 'jsonl': expected true or false, found a number");
    refused(2, "{\"max_length\": null}",
            "key 'max_length': expected a string or a number, found null");
    refused(2, "{\"max_length\": 1.5}", "key 'max-length': expected a whole number");
    refused(2, "{\"max_length\": {\"a\": 1}}", "found an object");
    refused(3, "[1]", "expected an object of options, found an array");
    refused(3, "{\"model\": \"a\",\n\"model\": \"b\"}", "duplicate object key");
    refused(3, "{\n\"model\": ", "config.json:2");
    program_says(1, "nowhere.json: cannot read: No such file", "tokenize --config nowhere.json");
}

Test(config_file, numbers_keep_their_value) {
    const char *config = write_config("{\"lambda_g\": 0.1, \"lambda-d\": 1e-300, \"lr\": 3e-5, "
                                      "\"clip_mu\": \"inf\", \"seed\": 9007199254740993}");
    support_has(json_object_get(
                    program_json("train --task sst2 --data $TASK --model $MODEL --max-length 12 "
                                 "--dry-run --json --config %s",
                                 config),
                    "configuration"),
                "{'lambda_g': 0.1, 'lambda_d': 1e-300, 'lr': 3e-5, 'seed': 9007199254740993}");
}

/* Expects these weights: "lambda" sets both, in order with other options. */
static void lambdas(const char *args, double lambda_g, double lambda_d) {
    json_t *object = program_json(
        "train --task sst2 --data $TASK --model $MODEL --max-length 12 --dry-run --json %s", args);
    const json_t *configuration = json_object_get(object, "configuration");
    cr_assert_eq(number_at(configuration, "lambda_g"), lambda_g);
    cr_assert_eq(number_at(configuration, "lambda_d"), lambda_d);
}

Test(config_file, lambda_sets_both_weights_in_order) {
    lambdas("--lambda 0.5", 0.5, 0.5);
    lambdas("--lambda 0.5 --lambda-d 0.25", 0.5, 0.25);
    lambdas("--lambda-d 0.25 --lambda 0.5", 0.5, 0.5);
}

/* --- --preset --- */

static void plans(const char *options, const char *lr_head, const char *delta, size_t of_preset) {
    json_t *object =
        program_json("train $TINY --dry-run --json %s --preset $DIR/ours.json", options);
    const json_t *config = json_object_get(object, "configuration");
    const json_t *nvib = json_object_get(config, "nvib");
    cr_expect_eq(number_at(config, "lr_head"), strtod(lr_head, NULL), "%s", options);
    cr_expect_eq(number_at(nvib, "delta"), strtod(delta, NULL), "%s", options);
    cr_expect_eq(json_array_size(json_object_get(object, "from_preset")), of_preset, "%s", options);
}

Test(config_file, a_preset_stands_behind_files_and_flags) {
    support_file("ours.json", "{\"description\": \"x\", \"lr-head\": 0.5, \"delta\": 3, "
                              "\"kappa\": 2}");
    const char *with = support_path("--config %s --delta 5", write_config("{\"lr_head\": 0.25}"));
    plans("", "0.5", "3", 3);
    plans("--delta 5", "0.5", "5", 2);
    plans(with, "0.25", "5", 1);
    struct outcome outcome =
        program_expect(0, "train $TINY --dry-run --delta 4 --preset $DIR/ours.json");
    support_contains(outcome.out, "ours.json, which sets:\n  --kappa 2\n  --lr-head 0.5\n");
    support_lacks(outcome.out, "--delta");
    program_says(2, "per-nat (a price per nat of divergence", "train --preset nothing");
}
