/* Tests of defaults that the method and the regularizer imply. Options that are given override them. */
#include "program.h"

/* Returns a resolved configuration. */
static json_t *resolved(const char *args) {
    return json_object_get(
        program_json("train --task sst2 --data $TASK --model $MODEL --max-length "
                     "12 --dry-run --json %s",
                     args),
        "configuration");
}

static void numbers(const char *args, double dropout, double classifier_dropout,
                    double weight_decay, const char *decay_to) {
    json_t *config = resolved(args);
    cr_expect_eq(number_at(config, "dropout"), dropout, "%s", args);
    cr_expect_eq(number_at(config, "classifier_dropout"), classifier_dropout, "%s", args);
    cr_expect_eq(number_at(config, "weight_decay"), weight_decay, "%s", args);
    cr_expect_str_eq(text_at(config, "decay_to"), decay_to, "%s", args);
}

Test(implied, by_reg_where_nothing_else_is_asked_for) {
    numbers("--method base", 0, 0, 0.01, "zero");
    numbers("--method reg", 0.1, 0.1, 0.01, "pretrained");
    numbers("--dropout 0.2 --method reg", 0.2, 0.1, 0.01, "pretrained");
    numbers("--method reg --classifier-dropout 0", 0.1, 0, 0.01, "pretrained");
    numbers("--method reg --weight-decay 0.3 --decay-to zero", 0.1, 0.1, 0.3, "zero");
    numbers("--method base --decay-to pretrained", 0, 0, 0.01, "pretrained");
    numbers("--method nvdp --decay-to pretrained", 0, 0, 0.01, "pretrained");
}

Test(implied, by_reg_in_a_file_too) {
    support_file("config.json", "{\"method\": \"reg\", \"dropout\": 0, \"decay_to\": \"zero\"}");
    numbers("--config $DIR/config.json", 0, 0.1, 0.01, "zero");
    numbers("--config $DIR/config.json --decay-to pretrained --weight-decay 0", 0, 0.1, 0,
            "pretrained");
}

Test(implied, by_a_bilstm) {
    json_t *config = resolved("--encoder bilstm");
    support_has(config, "{'method': 'base', 'lr': 1e-3, 'epochs': 3, 'lstm_hidden': 256}");
    numbers("--encoder bilstm", 0.1, 0.1, 0.01, "zero");
}

static void schedule(const char *args, const char *name, double delay, double ramp) {
    json_t *config = resolved(args);
    cr_expect_str_eq(text_at(config, "kl_schedule"), name, "%s", args);
    cr_expect_eq(number_at(config, "kl_delay"), delay, "%s", args);
    cr_expect_eq(number_at(config, "kl_ramp"), ramp, "%s", args);
}

/* The exact KL starts late by default; the published loss has full weight from the first step. */
Test(implied, by_the_regularizer) {
    schedule("", "constant", 0.2, 0.5);
    schedule("--regularizer published", "constant", 0.2, 0.5);
    schedule("--regularizer kl", "warmup", 0.2, 0.5);
    schedule("--regularizer kl --kl-schedule constant", "constant", 0.2, 0.5);
    schedule("--regularizer kl --kl-delay 0 --kl-ramp 0.25", "warmup", 0, 0.25);
    schedule("--kl-schedule decay", "decay", 0.2, 0.5);
}

static void sequence(const char *args, double vib_sigma, double stdev_tau, double lambda_g,
                     double lambda_d) {
    json_t *config = resolved(args);
    const json_t *nvib = json_object_get(config, "nvib");
    cr_expect_eq(number_at(nvib, "vib_sigma"), vib_sigma, "%s", args);
    cr_expect_eq(number_at(nvib, "stdev_tau"), stdev_tau, "%s", args);
    bool clipped = stdev_tau == 1;
    cr_expect_str_eq(text_at(nvib, "weights"), clipped ? "constant" : "learned", "%s", args);
    cr_expect_str_eq(text_at(nvib, "row_index"), clipped ? "trained" : "none", "%s", args);
    cr_expect_eq(number_at(config, "lambda_g"), lambda_g, "%s", args);
    cr_expect_eq(number_at(config, "lambda_d"), lambda_d, "%s", args);
}

/* Any clip implies variances of 1, and no regularizer unless one is given. */
Test(implied, by_the_sequence_clip) {
    sequence("--method vib-fixed", 0.55, 0.1, 0.01, 0.01);
    sequence("--method vib-fixed --clip-sequence inf", 0.55, 0.1, 0.01, 0.01);
    sequence("--method vib-fixed --clip-sequence 1.45", 1, 1, 0, 0);
    sequence("--method vtdp --lambda 0.1 --clip-sequence 3", 1, 1, 0.1, 0.1);
    sequence("--method vib-learned --clip-sequence 3 --lambda-g 0.1", 1, 1, 0.1, 0);
    struct outcome outcome =
        program_run("train --task sst2 --data $TASK --model $MODEL --max-length 12 --dry-run "
                    "--method vib-fixed --clip-sequence 2 --vib-sigma 0.7");
    cr_expect_neq(outcome.code, 0);
    support_contains(outcome.err, "--vib-sigma: expected 1 with --clip-sequence 2");
    program_says(2,
                 "option --preset: per-nat sets --clip-mu 4, which conflicts with "
                 "--clip-sequence 2 (option --clip-mu: expected inf (no clip)",
                 "train $TINY --preset per-nat --latent-dim 16 --clip-sequence 2 --dry-run");
    program_says(2, "sets the variances to 1\n",
                 "train $TINY --method nvdp --clip-mu 4 --clip-sequence 2 --dry-run");
}

static bool says(const char *args, const char *part) {
    struct outcome outcome = program_run(
        "train --task sst2 --data $TASK --model $MODEL --max-length 12 --dry-run %s", args);
    cr_assert_eq(outcome.code, 0, "%s: %s", args, outcome.err);
    return strstr(outcome.err, part) != NULL;
}

/* A preset's epsilon is printed unless the caller gave one. A budget that trains the whole encoder names the preset. */
Test(implied, by_a_budget_without_a_preset_and_by_a_preset_without_a_budget) {
    static const char whole[] = "--certified-epsilon without --preset trains the whole encoder";
    static const char brought[] =
        "preset certified has --certified-epsilon 8 and --certified-delta 1e-05";
    cr_expect(says("--certified-epsilon 8", whole));
    cr_expect_not(says("--certified-epsilon 8 --freeze-layers 1", whole));
    cr_expect_not(says("--clip-sequence 2", whole));
    cr_expect_not(says("--certified-epsilon 8", brought));
    cr_expect(says("--preset certified --latent-dim 8", brought));
    cr_expect_not(says("--preset certified --latent-dim 8 --certified-epsilon 4", brought));
    cr_expect_not(says("--preset certified --latent-dim 8", whole));
}

static double clip(const char *args) {
    return number_at(resolved(args), "nvib/clip_sequence");
}

static void refused(const char *args, const char *message) {
    struct outcome outcome = program_run(
        "train --task sst2 --data $TASK --model $MODEL --max-length 12 --dry-run %s", args);
    cr_expect_neq(outcome.code, 0, "%s", args);
    support_contains(outcome.err, message);
}

/* A conflict names the preset, its value, and the option that was typed, or only the options if no preset is involved.
 * --epsilon belongs to text privatization; typed alone it may mean one of two budgets. */
Test(implied, conflicts_with_a_preset_name_it) {
    static const struct {
        const char *args, *message;
    } cases[] = {
        {"--preset certified --kappa 2", "option --preset: certified conflicts with --kappa 2 ("},
        {"--preset certified --pool weighted",
         "option --preset: certified conflicts with --pool weighted ("},
        {"--preset certified --clip-mu 3",
         "certified sets --certified-epsilon 8, which conflicts with --clip-mu 3 ("},
        {"--preset certified --query clean",
         "certified sets --certified-epsilon 8, which conflicts with --query clean ("},
        {"--preset certified --length-policy public",
         "certified sets --row-index trained, which conflicts with --length-policy public ("},
        {"--preset certified --method base",
         "certified sets --certified-epsilon 8, which conflicts with --method base ("},
        {"--preset certified --token-noise santext --eta 3",
         "certified sets --certified-epsilon 8, which conflicts with the other options ("},
        {"--preset certified --vib-sigma 2 --method vib-fixed",
         "certified sets --certified-epsilon 8, which conflicts with --vib-sigma 2 ("},
        {"--preset per-nat --certified-epsilon 8",
         "sets --clip-mu 4, which conflicts with --certified-epsilon 8 ("},
        {"--preset per-nat --clip-logvar-min 1",
         "sets --clip-logvar-max 0, which conflicts with --clip-logvar-min 1 ("},
        {"--preset per-nat", "sets --latent-dim 32 (--latent-dim: expected a number from 2 to"},
        {"--preset certified --target-epsilon 3", "nvdp train: option --target-epsilon needs "},
        {"--weights constant --kappa 2", "nvdp train: kappa: expected 1 with weights constant"},
        {"--epsilon 8",
         "--token-noise, found none; the budget for texts that are given away later is "
         "--certified-epsilon, the budget for the training texts --target-epsilon"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(cases[i].args, cases[i].message);
    refused("--preset private --kappa 2",
            "preset private is now called per-nat: it sets a price per nat of divergence and gives "
            "no guarantee over all texts");
    struct outcome outcome = program_expect(2, "pretrain --text x --out y --epsilon 8");
    support_contains(outcome.err, "and needs --privatize", "--target-epsilon");
}

/* A budget implies a clip of half its mu, or a quarter for four samples per text, and all that the clip implies. */
Test(implied, by_a_certified_epsilon) {
    sequence("--method vib-fixed --certified-epsilon 8", 1, 1, 0, 0);
    sequence("--method nvdp --certified-epsilon 2 --lambda-g 0.1", 1, 1, 0.1, 0);
    sequence("--preset certified --latent-dim 16", 1, 1, 0, 0);
    cr_expect_float_eq(clip("--method vib-fixed --certified-epsilon 8"), 1.66603 / 2, 3e-6);
    cr_expect_float_eq(clip("--preset certified --latent-dim 16"), 1.66603 / 2, 3e-6);
    cr_expect_float_eq(clip("--preset matrix-gaussian"), 1.66603 / 2, 3e-6);
    cr_expect_float_eq(clip("--preset certified --latent-dim 16 --certified-epsilon 4"),
                       0.92493 / 2, 3e-6);
    cr_expect_float_eq(clip("--method vtdp --certified-epsilon 2 --certified-releases 4"),
                       0.50155 / 4, 3e-6);
    cr_expect_lt(clip("--preset certified --latent-dim 16 --certified-delta 1e-7"), 0.8);
    cr_expect_eq(clip("--preset certified --latent-dim 16 --certified-epsilon 0 --clip-sequence 2"),
                 2);
    refused("--preset certified --latent-dim 16 --clip-sequence 2",
            "--clip-sequence: --certified-epsilon already sets a clip, 0.833");
    refused("--method base --certified-epsilon 2", "expected a method with a bottleneck");
    refused("--certified-epsilon 2 --weights learned", "--weights: expected constant");
    refused("--certified-epsilon 2 --row-index none --length-policy public",
            "length-policy: expected hidden");
    refused("--method base --target-epsilon 2", "is --certified-epsilon");
}

Test(implied, help_says_so) {
    struct outcome outcome = program_expect(0, "train --help=all");
    support_contains(outcome.out, "--decay-to", "reg implies 0.1", "regularizer kl implies");
}

/* Such a run is not private, and works with every command that takes a model with a classifier. */
Test(implied, a_run_of_reg_is_scored_and_predicts) {
    program_expect(0, "train $TINY --method reg --out $DIR/run");
    program_expect(0, "eval $DIR/run --json");
    program_expect(0, "predict $DIR/run --split test");
    program_says(2, "method 'reg' has no bottleneck", "privacy $DIR/run");
}
