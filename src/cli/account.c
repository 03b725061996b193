/* nvdp account: computes the epsilon of differentially private training, or the noise that an epsilon needs. With a
 * run, prints the account of the run's training. account_run() handles a run, check() the options. */
#include "common.h"

#include "base/sentence.h"
#include <math.h>
#include <stdlib.h>

struct values {
    double noise, rate, delta, epsilon, clip, vocab_epsilon, vocab_delta;
    uint64_t steps, shards, examples;
    bool weak;
};

/* Baselines of the guess bounds: success probabilities without the model. */
static const double baselines[] = {0.5, 0.001};

#define AT(field) NVDP_OPTION_AT(struct values, field)

static const struct nvdp_option options[] = {
    {"noise", NVDP_OPTION_REAL, "S", "noise multiplier: standard deviation / clipping norm", NULL,
     AT(noise), .group = "Training:", .traits = NVDP_TRAIT_NO_DEFAULT},
    {"sample-rate", NVDP_OPTION_REAL, "Q",
     "probability that a step draws a given example (Poisson sampling)", NULL, AT(rate),
     .traits = NVDP_TRAIT_NO_DEFAULT},
    {"steps", NVDP_OPTION_SEED, "T", "number of optimizer steps", NULL, AT(steps), .unit = "steps",
     .traits = NVDP_TRAIT_NO_DEFAULT},
    {"shards", NVDP_OPTION_SEED, "P",
     "number of workers, each of which clips and adds this noise to its own part; the total noise "
     "of a step is sqrt(P) times as large",
     "1", AT(shards), .min = 1, .max = 1e6},
    {"examples", NVDP_OPTION_SEED, "N",
     "number of training examples; deltas of at least 1/N are refused", NULL, AT(examples),
     .traits = NVDP_TRAIT_NO_DEFAULT},
    {"clip", NVDP_OPTION_REAL, "C", "clipping norm; only shown in the statement", NULL, AT(clip),
     .max = 1e9, .traits = NVDP_TRAIT_NO_DEFAULT},
    {"delta", NVDP_OPTION_REAL, "D", "delta at which epsilon is computed", "1e-05", AT(delta),
     .group = "Privacy:"},
    {"epsilon", NVDP_OPTION_REAL, "E",
     "privacy budget; prints the noise that this epsilon needs, in place of --noise", NULL,
     AT(epsilon), .traits = NVDP_TRAIT_NO_DEFAULT},
    {"vocab-epsilon", NVDP_OPTION_REAL, "E",
     "epsilon per example of a private vocabulary of the same examples", NULL, AT(vocab_epsilon),
     .traits = NVDP_TRAIT_NO_DEFAULT},
    {"vocab-delta", NVDP_OPTION_REAL, "D", "delta of the private vocabulary", NULL, AT(vocab_delta),
     .traits = NVDP_TRAIT_NO_DEFAULT},
    {"allow-weak-delta", NVDP_OPTION_FLAG, NULL, "accept a delta of 1/N or more", NULL, AT(weak)},
    {0},
};

/* Checks conditions that the ranges of the options cannot express. */
static int check(struct cli *cli, const struct values *v) {
    static const char *const needed[] = {"sample-rate", "steps"};
    for (size_t i = 0; i < 2; i++)
        if (!cli_given(cli, needed[i])) return cli_usage(cli, "option --%s is needed", needed[i]);
    const bool budget = cli_given(cli, "epsilon"), noise = cli_given(cli, "noise");
    if (budget == noise) return cli_usage(cli, "expected exactly one of --noise and --epsilon");
    if (noise && !(v->noise > 0 && isfinite(v->noise)))
        return cli_usage(cli, "option --noise: expected a number above 0, found %g", v->noise);
    if (budget && !(v->epsilon > 0 && isfinite(v->epsilon)))
        return cli_usage(cli, "option --epsilon: expected a number above 0, found %g", v->epsilon);
    if (!(v->rate > 0 && v->rate <= 1))
        return cli_usage(cli, "option --sample-rate: expected a number in (0, 1], found %g",
                         v->rate);
    if (!(v->delta > 0 && v->delta < 1))
        return cli_usage(cli, "option --delta: expected a number in (0, 1), found %g", v->delta);
    if (v->vocab_delta >= v->delta)
        return cli_usage(cli,
                         "option --delta: expected more than --vocab-delta %g, which is a part of "
                         "it, found %g",
                         v->vocab_delta, v->delta);
    if (v->examples > 0 && v->delta * (double)v->examples >= 1 && !v->weak)
        return cli_usage(
            cli,
            "option --delta: expected less than 1/N = %g, found %g; even a mechanism that "
            "publishes some examples unchanged has such a delta (--allow-weak-delta accepts it)",
            1 / (double)v->examples, v->delta);
    return CLI_SUCCESS;
}

static void print(struct cli *cli, const struct values *v,
                  const struct nvdp_training_privacy *training, const char *statement) {
    const struct nvdp_dp_steps *steps = &training->steps;
    const bool budget = v->epsilon > 0; /* the command computes the noise */
    if (!budget) cli_training_print(training);
    cli_row("noise", "%g%s", v->shards > 1 ? v->noise : steps->noise,
            budget ? ", the minimum for this budget" : "");
    if (v->shards > 1) cli_row("of all shards", "%g", steps->noise);
    if (budget) cli_training_print(training);
    cli_row("sample rate", "%g", steps->rate);
    cli_row("steps", "%llu, %g epochs", (unsigned long long)steps->steps,
            (double)steps->steps * steps->rate);
    cli_print_result("account", training->account);
    if (v->delta > 0 && !cli_given(cli, "delta"))
        cli_row("delta", "%g, the default of --delta", v->delta);
    putchar('\n');
    nvdp__print_wrapped(stdout, statement);
}

/* Rounds up to six digits, so that the printed noise is sufficient. */
static double up(double x) {
    const double unit = pow(10, floor(log10(x)) - 5);
    return ceil(x / unit) * unit;
}

/* Prints the account of a run from its records. */
static int account_run(struct cli *cli) {
    static const char *const none[] = {NULL};
    nvdp__autoresult struct nvdp_training_privacy training =
        NVDP_RESULT(struct nvdp_training_privacy);
    nvdp__autofree char *statement = NULL;
    const char *other = cli_given_one(cli, none, false);
    if (other != NULL)
        return cli_usage(
            cli,
            "option --%s does not apply to a run, because the run has this value in its records",
            other);
    CLI_DO(cli, nvdp_training_privacy(cli->ctx, cli->arg[0], &training, &statement));
    if (!training.is_private)
        return cli_error(
            cli, CLI_FAILURE,
            "%s: the training texts have no guarantee, because the folder records no training "
            "with noise (nvdp train --dp-batch adds it). How much a sample reveals about a "
            "text: nvdp privacy %s. How much noise private training needs: nvdp "
            "account --epsilon E --sample-rate Q --steps N --delta D",
            cli->arg[0], cli->arg[0]);
    if (cli->json) {
        json_t *object = NULL;
        CLI_DO(cli, nvdp__result_pack(cli->ctx, &training, NULL, &object));
        json_object_set_new(object, "statement", json_string(statement));
        return cli_print_json(cli, object);
    }
    print(cli, &(struct values){0}, &training, statement);
    return CLI_SUCCESS;
}

static int run(struct cli *cli) {
    struct values v = {.delta = 1e-5, .shards = 1};
    CLI_TRY(cli_begin(cli, &v));
    if (cli->args > 0) return account_run(cli);
    CLI_TRY(check(cli, &v));
    struct nvdp_account account = NVDP_RESULT(struct nvdp_account);
    struct nvdp_example_risk risk = NVDP_RESULT(struct nvdp_example_risk);
    struct nvdp_training_privacy training = {
        .struct_size = sizeof training,
        .is_private = true,
        .finished = true,
        .account = &account,
        .risk = &risk,
        .steps = {v.noise * sqrt((double)v.shards), v.rate, v.steps}};
    const struct nvdp_dp_guarantee vocabulary = {v.vocab_epsilon, v.vocab_delta};
    const bool beside = v.vocab_epsilon != 0 || v.vocab_delta != 0;
    const struct nvdp_dp_run work = {&training.steps, 1, &vocabulary, beside};
    double *noise = &training.steps.noise;
    nvdp__autofree char *statement = NULL;
    if (v.epsilon > 0) {
        CLI_DO(cli,
               nvdp_account_noise(cli->ctx, &work, v.epsilon, v.delta, NVDP_ACCOUNTANT_PLD, noise));
        v.noise = up(*noise / sqrt((double)v.shards));
        *noise = v.noise * sqrt((double)v.shards);
    }
    CLI_DO(cli, nvdp_account(cli->ctx, &work, v.delta, &account));
    CLI_DO(cli, nvdp_example_risk(cli->ctx, &work, &account, sizeof baselines / sizeof *baselines,
                                  baselines, &risk));
    const struct nvdp_dp_facts facts = {
        .clip = v.clip, .examples = v.examples, .shards = v.shards, .risk = &risk};
    CLI_DO(cli, nvdp_account_statement(cli->ctx, &work, &facts, &account, &statement));
    if (cli->json) {
        json_t *object = json_pack(
            "{s:{s:f, s:f, s:f, s:I, s:f, s:I, s:o, s:o, s:[f,f]}, s:s}", "settings", "noise",
            v.noise, "noise_of_all", *noise, "sample_rate", v.rate, "steps", (json_int_t)v.steps,
            "delta", v.delta, "shards", (json_int_t)v.shards, "examples",
            v.examples > 0 ? json_integer((json_int_t)v.examples) : json_null(), "clip",
            v.clip > 0 ? json_real(v.clip) : json_null(), "vocabulary", v.vocab_epsilon,
            v.vocab_delta, "statement", statement);
        object = cli_add_result(object, "account", NULL, &account);
        return cli_print_json(cli, cli_add_result(object, "risk", NULL, &risk));
    }
    print(cli, &v, &training, statement);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_account = {
    .name = "account",
    .summary = "compute the epsilon of training with DP-SGD, or the noise that an epsilon needs",
    .args = "[RUN]",
    .description =
        "Computes the epsilon of DP-SGD with Poisson-sampled batches, by privacy loss "
        "distributions and by Renyi divergences (as TF-Privacy does), or the noise that a budget "
        "needs, and prints the matching statement: docs/dp-bert.md. For a RUN that was trained "
        "with DP-SGD, or a pretrained model, reports its recorded cost. Two training sets are "
        "adjacent if one example of the first is zeroed out in the second (zero-out).",
    .examples = "Examples:\n"
                "  nvdp account runs/dp\n"
                "  nvdp account --noise 1.3 --sample-rate 0.0025 --steps 6000 --delta 1e-5\n"
                "  nvdp account --epsilon 3 --sample-rate 0.01 --steps 2000 --delta 1e-6 \\\n"
                "    --examples 67349 --json\n",
    .heading = "Options:",
    .options = options,
    .run = run,
};
