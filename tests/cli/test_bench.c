/* Tests of nvdp bench: the fields that scripts read, and their consistency. Invalid usage is in bench.txt. */
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
