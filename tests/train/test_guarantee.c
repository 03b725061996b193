/* Tests the first line about a run's privacy: its words for every kind of run, and the records
 * from which it is made. */
#include "train_test.h"

static struct nvdp_context *ctx;
static const char *folder;

static void set_up(void) {
    ctx = support_context();
    folder = support_scratch_path("run");
    mkdir(folder, 0700);
}

static void put(const char *name, const char *text) {
    ok(nvdp__write_file(ctx, support_path("%s/%s", folder, name), text, strlen(text)));
}

static const char *line_of(const struct nvdp_guarantee *guarantee) {
    char *line = NULL;
    ok(nvdp_guarantee_line(ctx, guarantee, &line));
    return support_keep(line);
}

/* Expects this line for a run with these records (NULL: no such file). */
static void expect(const char *config, const char *result, const char *privacy, const char *want) {
    struct nvdp_guarantee found = NVDP_RESULT(struct nvdp_guarantee);
    put("run.json", support_path("{\"config\": %s}", config));
    put("result.json", result);
    put("privacy.json", privacy);
    ok(nvdp_run_guarantee(ctx, folder, &found));
    cr_expect_str_eq(line_of(&found), want);
}

static const char MEASURED[] =
    "{\"n\": 872, \"order\": 1.1, \"infinite_share\": 0, \"rd\": {\"sum\": {\"max\": 73.961}}, "
    "\"linkage\": {\"releases\": 1, \"first\": 0.3512}}";

static const char MEASURED_TWICE[] =
    "{\"complete\": true, \"n\": 872, \"order\": 1.1, \"infinite_share\": 0, \"rd\": {\"sum\": "
    "{\"max\": 9}}, "
    "\"bdp\": {\"releases\": 2}, \"settings\": {\"releases\": \"2\"}}";
static const char FULLY_MEASURED[] =
    "No guarantee over all texts (the preset certified gives one). Measured on 872 texts: "
    "two of them are up to 73.97 nats apart (one sample, order 1.1), and the text of a "
    "sample is named in 35.2 % of the tries. Not covered: the texts that the encoder was "
    "trained on.";

TestSuite(guarantee, .init = set_up);

Test(guarantee, certified) {
    expect("{\"method\": \"nvdp\"}",
           "{\"certified\": {\"epsilon\": 15.99999999999, \"delta\": 1e-5, \"releases\": 1, "
           "\"named_bound\": 0.19}}",
           "{}",
           "Proven: epsilon 16 at delta 1e-05, one sample, any two texts. Not covered: the texts "
           "that the encoder was trained on.");
    expect(
        "{\"method\": \"vib-fixed\"}",
        "{\"certified\": {\"epsilon\": 8.0001, \"delta\": 1.2345612e-6, \"releases\": 3, "
        "\"theorem\": \"a\", \"clip\": 0.4, \"numbers\": 8}, \"dp\": {\"pld\": {\"epsilon\": "
        "2.9981}, \"delta\": 1e-5}}",
        "{}",
        "Proven: epsilon 8.001 at delta 1.235e-06, 3 samples, any two texts. One training example "
        "(zero-out): epsilon 2.999 at delta 1e-05, by private training (for exact arithmetic, "
        "which its noise lacks).");
    expect(
        "{\"method\": \"base\"}",
        "{\"dp\": {\"pld\": {\"epsilon\": 2.9981}, \"delta\": 1e-5, \"mu\": 0.70031}}", "{}",
        "No guarantee: method base adds no noise to what it makes of a text. One training example "
        "(zero-out): epsilon 2.999 at delta 1e-05, mu 0.7004, by private training (for exact "
        "arithmetic, which its noise lacks).");
}

Test(guarantee, none) {
    expect("{\"method\": \"nvdp\"}", "{\"certified\": null}", MEASURED, FULLY_MEASURED);
    expect("{\"method\": \"nvdp\"}",
           "{\"certified\": {\"epsilon\": 12716.2, \"delta\": 1e-5, \"releases\": 1}}", "{}",
           "No useful guarantee: epsilon 12720 at delta 1e-05, one sample, is proven for any two "
           "texts; somebody who has the model and 100 equally likely texts may name the right one "
           "more than half "
           "of the time (at most 100 %). Nothing is measured yet. Not covered: the texts that the "
           "encoder was trained "
           "on.");
    expect("{\"method\": \"base\", \"token_noise\": \"sequence-laplace\"}", "{}", "{}",
           "No guarantee: this run draws the noise of its texts from its seed, and whoever knows "
           "the seed can remove the noise. nvdp privacy measures what unknown noise protects. Not "
           "covered: the texts that the encoder was trained on.");
    expect("{\"method\": \"word\"}",
           "{\"certified\": {\"epsilon\": 12716.2, \"delta\": 1e-5, \"releases\": 1, \"word\": "
           "{\"epsilon\": 119.991, \"delta\": 1e-6}}}",
           "{}",
           "No useful guarantee per word: the proven epsilon is 120 at delta 1e-06, one sample. No "
           "useful guarantee: epsilon 12720 at delta 1e-05, one sample, is proven for any two "
           "texts; somebody who has the model and 100 equally likely texts may name the right one "
           "more than half "
           "of the time (at most 100 %). Nothing is measured yet. Not covered: the texts that the "
           "encoder was trained "
           "on.");
    expect("{\"method\": \"base\"}", "{}", "{}",
           "No guarantee: method base adds no noise to what it makes of a text. Not covered: the "
           "texts that the encoder was trained on.");
}

/* Records of older versions have no bound on naming: for a Gaussian mechanism it follows from C. */
Test(guarantee, an_older_certificate) {
    expect(
        "{\"method\": \"vib-fixed\"}",
        "{\"certified\": {\"theorem\": \"a\", \"clip\": 2.3, \"epsilon\": 29.9, \"delta\": 1e-5, "
        "\"releases\": 1, \"numbers\": 2048}}",
        "{}",
        "Proven: epsilon 29.9 at delta 1e-05, one sample, any two texts. Not covered: the texts "
        "that the encoder was trained on.");
    expect("{\"method\": \"vib-fixed\"}",
           "{\"certified\": {\"theorem\": \"a\", \"clip\": 2.668, \"epsilon\": 36.261, \"delta\": "
           "1e-5, \"releases\": 1, \"numbers\": 2048}}",
           "{}",
           "No useful guarantee: epsilon 36.27 at delta 1e-05, one sample, is proven for any two "
           "texts; somebody who has the model and 100 equally likely texts may name the right one "
           "more than half "
           "of the time (at most 63.4 %). Nothing is measured yet. Not covered: the texts that the "
           "encoder was trained on.");
}

/* A shared file records only that its encoder was trained privately. */
Test(guarantee, private_training_at_an_unknown_epsilon) {
    struct nvdp_guarantee of = {
        .struct_size = sizeof of, .noise = true, .epsilon = 16, .delta = 1e-5, .releases = 1};
    of.named_bound = .25;
    of.training_epsilon = INFINITY;
    cr_expect_str_eq(line_of(&of),
                     "Proven: epsilon 16 at delta 1e-05, one sample, any two texts. The "
                     "encoder was trained privately, as its owner states.");
}

/* A partial measurement is described as partial, and is used only if there is no complete one. */
Test(guarantee, incomplete_measurement) {
    static const char part[] =
        "{\"complete\": false, \"n\": 20, \"order\": 1.1, \"infinite_share\": 0, \"rd\": "
        "{\"sum\": {\"max\": 3}}}";
    expect("{\"method\": \"nvdp\"}, \"data\": {\"test_texts\": 872}", "{}", part,
           "No guarantee over all texts (the preset certified gives one). Measured on 20 of 872 "
           "texts only: two of them are up to 3 nats apart (one sample, order 1.1). Not covered: "
           "the texts that the encoder was trained on.");
    expect("{\"method\": \"nvdp\", \"limit_dev\": 40}, \"data\": {\"test_texts\": 40}", "{}", part,
           "No guarantee over all texts (the preset certified gives one). Measured on a sample of "
           "20 texts only: two of them are up to 3 nats apart (one sample, order 1.1). Not "
           "covered: the texts that the encoder was trained on.");
    put("privacy-limit-20.json", part);
    put("privacy-releases-2.json", MEASURED_TWICE);
    expect("{\"method\": \"nvdp\"}", "{}", MEASURED, FULLY_MEASURED);
    expect("{\"method\": \"nvdp\"}, \"data\": {\"test_texts\": 872}", "{}", part,
           "No guarantee over all texts (the preset certified gives one). Measured on 872 texts: "
           "two of them are up to 9 nats apart (one sample, order 1.1). Not covered: the texts "
           "that the encoder was trained on.");
}

/* Files of earlier versions do not record whether they are complete. */
Test(guarantee, an_older_measurement_of_a_part) {
    expect("{\"method\": \"nvdp\"}, \"data\": {\"test_texts\": 900}", "{}", MEASURED,
           "No guarantee over all texts (the preset certified gives one). Measured on 872 of 900 "
           "texts only: two of them are up to 73.97 nats apart (one sample, order 1.1), and the "
           "text of a sample is named in 35.2 % of the tries. Not covered: the texts that the "
           "encoder was trained on.");
}

static const char *guesses_of(const struct nvdp_guarantee *guarantee) {
    char *text = NULL;
    ok(nvdp_guarantee_guesses(ctx, guarantee, &text));
    return support_keep(text);
}

Test(guarantee, guesses) {
    struct nvdp_guarantee of = {.struct_size = sizeof of,
                                .noise = true,
                                .epsilon = 24.4,
                                .delta = 1e-5,
                                .releases = 1,
                                .clip = 2,
                                .named_bound = .38,
                                .guesses = 3,
                                .guess = {{.5, .97725}, {1e-3, .13786}, {1e-6, .00289}}};
    cr_expect_str_eq(
        guesses_of(&of),
        "Proven for one sample and any attacker, with any other knowledge: a guess that is right "
        "50 % / 0.1 % / 0.0001 % of the time without the sample is right at most 97.8 % / 13.8 % / "
        "0.29 % of the time with the sample, on average over texts and noise (C = 2). Single "
        "guesses can be nearly certain. Further samples of this text or of related texts add up.");
    of.named_bound = .501; /* one rule for epsilon and the bound on naming */
    cr_expect_not(nvdp__guarantee_is_useful(&of));
    of.named_bound = NAN; /* unknown: 24.4 at 1e-5 alone does not exclude naming */
    cr_expect_not(nvdp__guarantee_is_useful(&of));
    of.named_bound = .38;
    cr_expect(nvdp__guarantee_is_useful(&of));
    of.epsilon = 101;
    cr_expect_str_eq(guesses_of(&of), "");
}

Test(guarantee, unfinished) {
    struct nvdp_guarantee found = NVDP_RESULT(struct nvdp_guarantee);
    put("run.json", "{\"config\": {\"method\": \"nvdp\"}}");
    fails(nvdp_run_guarantee(ctx, folder, &found), NVDP_ERR_INPUT, "finish it with --resume");
}
