/* Tests of nvdp bench: the fields that scripts read, their consistency, and options that exclude each other. */
#include "program.h"

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "key '%s' is no number", key);
    return json_number_value(value);
}

static void steps_are_consistent(const json_t *object, double passes) {
    const json_t *times = json_object_get(object, "seconds_per_step");
    double mean = number(times, "mean");
    double tokens = number(object, "tokens");
    cr_assert_geq(number(times, "median"), number(times, "min"));
    cr_assert_eq(number(object, "steps"), 2);
    cr_assert_eq(tokens, 2 * 2 * 8);
    /* Numbers are printed with 15 digits. */
    cr_assert_float_eq(number(object, "tokens_per_second") * mean * 2 / tokens, 1, 1e-9);
    cr_assert_float_eq(number(object, "fraction_of_gemm_peak") * number(object, "peak_flops") /
                           (1e9 * number(object, "gflops")),
                       1, 1e-9);
    double weights = 12.0 * 128 * 128 * 2; /* of arch tiny */
    cr_assert_float_eq(1e9 * number(object, "encoder_gflops") /
                           (passes * 2 * weights * number(object, "tokens_per_second")),
                       1, 1e-9);
    cr_assert_gt(number(object, "peak_rss"), 4 * number(object, "parameters"));
    cr_assert_geq(number(object, "start_to_first_step_seconds"), 0);
    cr_assert(json_is_string(json_object_get(object, "machine")));
    cr_assert_eq(number(object, "threads"), 1);
}

Test(bench, train_and_encode_print_one_object) {
    for (int i = 0; i < 2; i++) {
        const char *work = i == 0 ? "train" : "encode";
        json_t *object =
            program_json("bench %s --method %s --arch tiny --batch 2 --length 8 --steps 2 --json "
                         "--threads 1",
                         work, i == 0 ? "nvdp" : "base");
        cr_assert_str_eq(text_at(object, "bench"), work);
        cr_assert_str_eq(text_at(object, "precision"), "f32");
        cr_assert_eq(number(object, "dropout"), i == 0 ? 0.1 : 0);
        steps_are_consistent(object, i == 0 ? 3 : 1);
    }
}

/* A private step draws 4 of a task's 160 texts on average, not all. In 8 steps it draws 8 to 64 texts, except with
 * probability 1e-5 (Poisson, mean 32). */
Test(bench, a_private_step_draws_a_batch) {
    json_t *object =
        program_json("bench train --method base --dp --batch 4 --task sst2 --data $TASK --model "
                     "$MODEL --max-length 12 --steps 8 --json --threads 1");
    cr_expect_geq(number(object, "tokens"), 8 * 3);
    cr_expect_leq(number(object, "tokens"), 64 * 12);
}

Test(bench, rd_prints_one_object) {
    json_t *object =
        program_json("bench rd --texts 6 --components 4 --dim 8 --steps 2 --json --threads 1");
    cr_assert_eq(number(object, "pairs"), 30);
    cr_assert_float_eq(number(object, "pair_elements_per_second") /
                           (number(object, "pairs_per_second") * 4 * 8),
                       1, 1e-9);
    cr_assert_float_eq(number(object, "pairs_per_second") *
                           number(json_object_get(object, "seconds_per_step"), "mean") / 30,
                       1, 1e-9);
    cr_assert_gt(number(object, "peak_rss"), 0);
}

Test(bench, sanitize_prints_one_object) {
    json_t *object = program_json(
        "bench sanitize --mechanism santext --eta 9 --vocabulary 50 --dim 4 --texts 6 --length 5 "
        "--steps 2 --json --threads 1");
    cr_assert_eq(number(object, "vocabulary"), 50);
    cr_assert_float_eq(number(object, "tokens_per_second") *
                           number(json_object_get(object, "seconds_per_step"), "mean") / 30,
                       1, 1e-9);
    cr_assert_gt(number(object, "changed"), 0);
    cr_assert_lt(number(object, "changed"), 1);
    struct outcome outcome =
        program_expect(0, "bench sanitize --mechanism laplace --model $MODEL --texts 3 --length 4");
    support_contains(outcome.out, "table             35 tokens\ndimensions        16\n");
    support_lacks(outcome.out, "changed");
}

Test(bench, noise_prints_one_object) {
    json_t *object = program_json("bench noise --values 8192 --steps 2 --json --threads 1");
    static const char *const kinds[] = {"exact", "double"};
    for (int i = 0; i < 2; i++) {
        const json_t *kind = json_object_get(object, kinds[i]);
        cr_assert_float_eq(number(kind, "values_per_second") *
                               number(json_object_get(kind, "seconds_per_step"), "mean") / 8192,
                           1, 1e-9);
    }
}

Test(bench, tables_for_people) {
    struct outcome outcome =
        program_expect(0, "bench encode --arch tiny --data $TASK --task sst2 --model $MODEL "
                          "--max-length 12 --batch 4 --steps 2 --method base");
    support_contains(outcome.out, "\n  step  ", "Gflop/s of a large product",
                     "\ntexts             8\n");
    outcome = program_expect(0, "bench rd --texts 3 --components 4 --dim 8");
    support_contains(outcome.out, "ordered pairs of texts with 4 components x 8 dimensions",
                     "\npairs             6\n", "G pair-elements/s");
}

static void refused(const char *args, const char *message) {
    struct outcome outcome = program_expect(2, "bench %s", args);
    support_contains(outcome.err, message);
    cr_assert_str_empty(outcome.out);
}

Test(bench, wrong_usage_is_named) {
    refused("", "expected train|encode|rd|sanitize|noise");
    refused("reuse", "expected one of train, encode, rd, sanitize and noise, found 'reuse'");
    refused("noise --dim 2", "option --dim does not apply to 'noise'");
    refused("noise --values 0", "expected 1 to");
    refused("sanitize --order 2", "option --order does not apply to 'sanitize'");
    refused("train --eta 2", "option --eta does not apply to 'train'");
    refused("sanitize --mechanism magic", "mechanism");
    refused("sanitize --texts 0", "texts x length: expected at most");
    refused("train --texts 3", "option --texts does not apply to 'train'");
    refused("rd --arch base", "option --arch does not apply to 'rd'");
    refused("encode --dropout 0", "option --dropout does not apply to 'encode'");
    refused("train --arch huge", "arch 'huge': expected tiny, mini, small, base or large");
    refused("train --arch tiny --length 2", "--max-length: expected 3 to 4096, found 2");
    refused("train --arch tiny --steps 0", "steps: expected 1 to 100000, found 0");
    refused("train --data d --model m", "option --task is needed with --data");
    refused("train --data d --task mrpc", "option --model is needed with --data");
    refused("train --task mrpc", "option --task needs --data");
    refused("train --max-length 8", "option --max-length needs --data");
    refused("train --data d --task mrpc --model m --length 8", "with --data use --max-length");
    refused("rd --texts 1", "texts: expected 2 to 20000, found 1");
    refused("rd --texts 3 --dim 2 --components 1", "components: expected 2");
    refused("rd --texts 3 --dim 2 --components 3 --order 0", "order");
}
