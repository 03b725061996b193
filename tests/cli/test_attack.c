/* Tests of nvdp attack: exposure and audit of planted secrets, a broken promise, invalid usage. */
#include "program.h"
#include "toy_corpus.h"

static const char *secrets(void) {
    const char *path = support_file(
        "secrets.json", "{\"seed\": 2, \"secrets\": [\n"
                        " {\"form\": \"HSH\", \"occurrences\": 0, \"count\": 30},\n"
                        " {\"form\": \"HSH\", \"occurrences\": 20, \"count\": 2},\n"
                        " {\"form\": \"HSH\", \"include\": \"coin\", \"count\": 100}]}\n");
    return path;
}

static void pretrain(const char *more, const char *out) {
    program_expect(
        0,
        "pretrain --text %s --vocab %s --hidden 16 --layers 1 --heads 2 --intermediate 32 "
        "--length 24 --batch 16 --threads 1 --lr 1e-2 --plant %s %s --out %s",
        toy_text("toy.txt", 60, 7), toy_vocabulary(), secrets(), more, out);
}

Test(attack, exposure_and_audit) {
    pretrain("--steps 600", support_scratch_path("model"));
    json_t *found = program_json("attack $DIR/model --kind exposure --threads 1 --json");
    const json_t *groups = json_object_get(found, "groups"), *never = json_array_get(groups, 0),
                 *often = json_array_get(groups, 1), *audit = json_object_get(found, "audit");
    cr_expect_str_eq(text_at(found, "attack"), "exposure");
    cr_expect_eq(json_array_size(json_object_get(found, "secrets")), 132);
    cr_expect_eq(json_array_size(groups), 4);
    cr_expect_eq(number_at(never, "occurrences"), 0);
    cr_expect_eq(number_at(often, "occurrences"), 20);
    cr_expect_gt(number_at(often, "exposure"), number_at(never, "exposure"));
    cr_expect_eq(number_at(audit, "canaries"), 100);
    cr_expect_eq(json_array_size(json_object_get(audit, "guesses")), 6);
    cr_expect(json_is_null(json_object_get(found, "accountant")));
    struct outcome o = program_expect(0, "attack $DIR/model --threads 1 --candidates 8 --guess-in "
                                         "10 --guess-out 5 --confidence 0.9");
    support_contains(
        o.out, "8 of 27 whole words, 3.00 bits", "epsilon >=  guessed in  guessed out  right\n",
        "the accountant gives no guarantee", "\n    HSH   text        no            0       30 ",
        "          10            5     ", "with confidence 90 %");
}

/* Prints the promise of a private model beside the bound, and fails if the bound is larger. */
Test(attack, a_broken_promise_fails) {
    const char *model = support_scratch_path("private"), *plain = support_scratch_path("plain");
    pretrain("--steps 20 --dp-sample-rate 0.1 --target-epsilon 4 --insecure-seed 3", model);
    struct outcome o = program_expect(0, "attack $DIR/private --threads 1");
    support_contains(
        o.out, "accountant        <= 4 at delta ",
        ", one training example (zero-out), for everyone who does not know the seed of the noise");
    /* A model that was trained without noise but records much noise. */
    pretrain("--steps 2000", plain);
    const char *path = support_scratch_path("plain/config.json");
    json_t *config = support_json(path);
    json_object_set_new(json_object_get(config, "nvdp_pretraining"), "dp",
                        json_pack("{s:f, s:{s:f}, s:b}", "delta", 1e-6, "pld", "epsilon", 0.01,
                                  "insecure_seed", 0));
    cr_assert_eq(json_dump_file(config, path, 0), 0);
    o = program_expect(1, "attack $DIR/plain --threads 1 --json");
    support_contains(
        o.err, "VIOLATION: the canaries show epsilon >= ",
        "at delta 1e-06 with confidence 95 %, but the accountant guarantees at most 0.01");
    json_t *found = program_object(&o); /* the failed attack still prints its result */
    cr_expect_eq(number_at(json_object_get(found, "accountant"), "epsilon"), 0.01);
    /* There is no promise at a smaller delta. */
    program_prints(0, "the accountant gives no guarantee",
                   "attack $DIR/plain --threads 1 --delta 1e-9");
}

Test(attack, bad_usage) {
    program_says(2, "expected MODEL, or --kind and RUN", "attack");
    program_says(2, "kind", "attack model --kind guess");
    program_says(1, "nowhere", "attack $DIR/nowhere");
    support_file("bad.json", "{\"seed\": 1, \"secrets\": [{}]}");
    program_says(3, "bad.json: secrets[0]: key 'form': expected 2 to 16 letters",
                 "pretrain --text %s --vocab %s --plant $DIR/bad.json --out $DIR/none",
                 toy_text("toy.txt", 10, 7), toy_vocabulary());
}
