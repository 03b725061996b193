/* Tests of privatized input through the program: the run's records, and reproducible scores. */
#include "base/file.h"
#include "program.h"

#include <unistd.h>

static const json_t *metrics(const json_t *object) {
    return json_object_get(object, "metrics");
}

/* Certificates, samples and attacks of bottlenecks do not apply to a run whose users noise their texts. The message
 * does not call it unprotected, and names commands that apply. */
static void expect_no_bottleneck(const char *noise, const char *run, bool sanitized) {
    struct outcome o = program_expect(2, "privacy %s --certify", run);
    support_contains(o.err, "found one with token-noise", "nvdp privacy /");
    cr_expect_null(strstr(o.out, "without noise"));
    program_says(2, "exact: only posteriors have an exact loss",
                 "privacy %s --exact --data /nowhere", run);
    program_says(2,
                 "option --kind is needed to attack a run of nvdp train: one of pair "
                 "reidentify nearest token language informed bag attribute "
                 "invert membership summary\n",
                 "attack %s", run);
    const char *named = support_path("%s/certificate.json", run);
    cr_expect_eq(access(named, F_OK), -1);
    const char *const work[] = {"export --split dev --out /dev/null", "attack --kind pair",
                                "attack --kind reidentify", "attack --kind bag --public /dev/null"};
    named = support_path("found one with token-noise %s,", noise);
    for (size_t i = 0; i < sizeof work / sizeof *work; i++) {
        o = program_expect(2, "%s %s", work[i], run);
        support_contains(o.err, named, "nvdp privacy shows what is proven");
        cr_expect_eq(strstr(o.err, "nvdp sanitize writes") != NULL, sanitized);
        cr_expect_eq(strstr(o.err, "nvdp sanitize --analyse inversion") != NULL, sanitized);
    }
}

Test(noise, a_run_is_scored_on_what_it_was_trained_on) {
    struct outcome trained = program_expect(
        0, "train $TINY --token-noise laplace-nearest --epsilon 300 --json --out $DIR/run");
    struct outcome scored = program_expect(0, "eval $DIR/run --json");
    json_t *train = program_object(&trained), *eval = program_object(&scored);
    cr_assert_not_null(metrics(eval));
    cr_expect(json_equal(metrics(json_object_get(train, "test")), metrics(eval)));
    program_expect(0, "predict $DIR/run --split test");
    /* New texts are privatized too: equal texts give different predictions, unlike with base. */
    struct outcome input = program_shell(
        "printf 'good cat sun\\n%%.0s' 1 2 3 4 5 6 7 8 | " NVDP_BINARY_DIR
        "/nvdp predict $DIR/run --quiet --input - | sed 's/.*probability//' | sort -u | wc -l");
    cr_expect_gt(atoi(input.out), 1, "%s different predictions", input.out);
    json_t *privacy = program_json("privacy $DIR/run --json");
    cr_expect(json_equal(privacy, support_json(support_scratch_path("run/privacy.json"))));
    cr_expect_str_eq(text_at(privacy, "method"), "laplace-nearest");
    cr_expect(integer_at(privacy, "pairs_of_equal_length") > 0);
    support_contains(support_read(support_scratch_path("run/run.json")),
                     "\"token_noise\": \"laplace-nearest\"", "\"eta\": 300.0",
                     "\"method\": \"base\"");
    expect_no_bottleneck("laplace-nearest", support_scratch_path("run"), true);
}

/* A private text in the public file that chooses the sensitive tokens is refused, in train and dev, unless the owner
 * declares the file; a report on texts that are in it says so. */
Test(noise, a_choice_by_the_texts_is_said) {
    static const char *const splits[] = {"train", "dev", NULL};
    const char *run = support_scratch_path("plus"), *public = support_scratch_path("public.txt");
    static const char said[] = "Which tokens are sensitive was counted on these texts";
    for (size_t i = 0; i < 4; i++) {
        char path[4200];
        snprintf(path, sizeof path, "%s/%s.tsv", program_task(), splits[i % 2]);
        nvdp__autofree char *text = i < 3 ? support_read(path) : strdup("a film of its own\n");
        support_write_text(public, text);
        struct outcome outcome =
            program_expect(i < 2 ? 2 : 0,
                           "train $TINY --token-noise santext-plus --eta 2 --sensitive 0.5 "
                           "--sensitive-from $DIR/public.txt %s --overwrite --out $DIR/plus",
                           i == 2 ? "--public-independent" : "");
        if (i < 2) support_contains(outcome.err, "--sensitive-from: ");
        if (i < 2) support_contains(outcome.err, " private texts among them, the first in row ");
        cr_expect_eq(nvdp__exists(run), i >= 2);
        if (i < 2) continue;
        outcome = program_expect(0, "privacy $DIR/plus");
        support_lacks(outcome.out, said);
    }
    char path[4200];
    snprintf(path, sizeof path, "%s/dev.tsv", program_task());
    support_write_text(public, support_read(path));
    program_prints(0, said, "privacy $DIR/plus");
}

/* Measures the states before the noise: the report, and the file of pairs. */
Test(noise, sequences_are_measured) {
    program_expect(
        0,
        "train $TINY --token-noise sequence-laplace --eta 2 --noise-clip 0.5 --out $DIR/sequence");
    json_t *privacy =
        program_json("privacy $DIR/sequence --json --order inf --pairs $DIR/pairs.h5");
    json_t *saved = support_json(support_scratch_path("sequence/privacy-order-inf.json"));
    cr_expect(json_equal(privacy, saved));
    support_has(privacy, "{'method': 'sequence-laplace', 'length_policy': 'hidden'}");
    const json_t *bound = json_object_get(privacy, "bound");
    const double largest = support_number(json_object_get(support_at(privacy, "rd/sum"), "max"));
    support_has(bound, "{'loss': 2, 'sum': 2}");
    cr_expect(largest > 0 && largest <= 2, "%g", largest);
    struct outcome outcome = program_expect(0, "privacy $DIR/sequence");
    support_contains(outcome.err, "warning: /",
                     ": the noise was drawn from a seed, and everyone who knows the seed");
    support_contains(outcome.out, "The privacy loss between any two texts is at most 2 nats");
    program_expect(0, "info $DIR/pairs.h5");
    expect_no_bottleneck("sequence-laplace", support_scratch_path("sequence"), false);
}

Test(noise, without_eta_is_wrong_usage) {
    program_says(2, "--eta or --epsilon: mechanism laplace needs a finite number above 0",
                 "train $TINY --token-noise laplace --out $DIR/none");
    program_says(2, "options --eta and --epsilon set the same option; keep one of them",
                 "train $TINY --token-noise laplace --eta 2 --epsilon 2 --out $DIR/none");
    program_says(2, "--eta or --epsilon: mechanism random draws uniformly and takes no eta",
                 "train $TINY --token-noise random --eta 30 --out $DIR/none");
    program_says(2, "unrecognized option '--sensitive-from-data'",
                 "train $TINY --token-noise santext-plus --sensitive-from-data");
}

/* Runs of older versions, which did not refuse an eta for random, are still measured. */
Test(noise, of_an_older_run_random_s_eta_is_passed_over) {
    program_expect(0, "train $TINY --token-noise random --out $DIR/random");
    const char *path = support_path("%s/run.json", support_scratch_path("random"));
    json_t *root = support_json(path);
    cr_assert_eq(json_object_set_new(json_object_get(root, "config"), "eta", json_real(30)), 0);
    cr_assert_eq(json_dump_file(root, path, 0), 0);
    program_expect(0, "privacy $DIR/random");
}
