/* Private training for job.c. The file has first options and budget, then, in the order of a
 * step, drawing, clipping and noise, and finally saved states and the privacy statement. */
#include "job/dp.h"

#include "account/account.h"
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "rdp/options.h"

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- options --- */

#define AT(member) NVDP_OPTION_AT(struct nvdp__dp_options, member)

static const char *const shards_noises[] = {
    [NVDP__NOISE_ONCE] = "once", [NVDP__NOISE_EACH] = "each", NULL};

const struct nvdp_option nvdp__dp_rows[] = {
    {"dp-batch", NVDP_OPTION_INTEGER, "B",
     "train with differential privacy, with batches of B examples on average; a step draws every "
     "training example with probability B/N; --batch is then the number of examples computed at a "
     "time; implies clip-norm 0, for train select last and patience 0, for pretrain optimizer "
     "adamw; protects one example against being zeroed out, N is public; 0: see dp-sample-rate",
     "0", AT(batch), .unit = "texts", .max = 1e9,
     .group = "Differential privacy of the training texts:", .traits = NVDP_TRAIT_BASIC},
    {"dp-sample-rate", NVDP_OPTION_REAL, "Q",
     "like dp-batch, but sets the probability Q itself; sums and noise are divided by Q N, which "
     "reveals N; 0: see dp-batch",
     "0", AT(sample_rate), .max = 1},
    {"dp-noise", NVDP_OPTION_REAL, "SIGMA",
     "standard deviation of the noise on the sum of a step, in units of dp-clip", "0", AT(noise),
     .max = 1e6},
    {"dp-clip", NVDP_OPTION_REAL, "C",
     "norm to which each example's gradient over all parameters is clipped", "1", AT(clip),
     .min = 1e-9, .max = INFINITY},
    {"target-epsilon", NVDP_OPTION_REAL, "E",
     "keep the training within epsilon E; without dp-noise, computes the noise that all epochs "
     "need; with dp-noise, stops before the step that would exceed E; 0: no budget",
     "0", AT(target_epsilon), .max = 1e6, .traits = NVDP_TRAIT_BASIC},
    {"target-delta", NVDP_OPTION_REAL, "D",
     "delta at which epsilon is computed; 0: half of 1/N, which is then reported", "0",
     AT(target_delta), .max = 0.999},
    {"allow-weak-delta", NVDP_OPTION_FLAG, NULL,
     "accept a delta of 1/N or more, which allows some examples to be published unchanged", NULL,
     AT(allow_weak_delta)},
    {"insecure-seed", NVDP_OPTION_SEED, "N",
     "draw examples and noise from this seed, for experiments; everyone who knows the seed can "
     "remove the noise; 0: from the operating system, different in every run",
     "0", AT(insecure_seed)},
    {"shards-noise", NVDP_OPTION_CHOICE, "W",
     "with mpirun: add the noise once, to the sum of all processes, or let each of the P processes "
     "add as much noise to its own part, which is sqrt(P) times the noise in total",
     "once", AT(shards_noise), .choices = shards_noises},
    {0},
};

nvdp_status nvdp__dp_check(struct nvdp_context *ctx, const struct nvdp__dp_options *options) {
    bool clips = !isinf(options->clip);
    if (!nvdp__dp_wanted(options)) {
        if (options->noise == 0 && options->target_epsilon == 0) return NVDP_OK;
        return nvdp__fail_option(
            ctx, NVDP_ERR_ARGUMENT, options->noise > 0 ? "dp-noise" : "target-epsilon",
            " needs {dp-batch} or {dp-sample-rate}, found neither%s",
            options->noise > 0
                ? ""
                : nvdp__with_options(
                      ctx, " (the budget for texts that are given away is {certified-epsilon})")
                      .text);
    }
    if (options->batch > 0 && options->sample_rate > 0)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "options {dp-batch} and {dp-sample-rate} exclude each other; use one of them");
    bool noisy = options->noise > 0 || options->target_epsilon > 0;
    if (clips && !noisy)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "option {dp-noise}: expected a number above 0, or {target-epsilon} in its place, found "
            "%g; training without noise is not private and needs {dp-clip} inf",
            options->noise);
    if (options->noise > 0 && options->noise < NVDP__NOISE_MIN)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {dp-noise}: expected at least %g, the minimum of the accountant, "
                          "found %g; training without noise is {dp-clip} inf",
                          NVDP__NOISE_MIN, options->noise);
    if (!clips && noisy)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {dp-clip}: expected a finite number, because noise cannot hide "
                          "unbounded gradients, found inf");
    return NVDP_OK;
}

/* --- a run --- */

static bool has(const struct nvdp_dp_guarantee *before) {
    return before->epsilon > 0 || before->delta > 0;
}

/* The privacy cost of `steps` and of the earlier uses. */
#define RUN(dp, steps_)                                                                            \
    (&(struct nvdp_dp_run){.phase = &(struct nvdp_dp_steps){(dp)->noise, (dp)->rate, steps_},      \
                           .phases = 1,                                                            \
                           .beside = (dp)->beside,                                                 \
                           .besides = (dp)->besides})

/* Fails if the earlier uses leave nothing of the budget. */
static nvdp_status check_before(const struct nvdp__dp *dp, double epsilon) {
    static const struct {
        const char *whose, *less;
    } names[NVDP__DP_BEFORE] = {
        [NVDP__DP_VOCABULARY] = {"the cost of the private vocabulary",
                                 "choose a larger budget, or a smaller {vocab-dp-delta}, "
                                 "{vocab-dp-epsilon} or {length}"},
        [NVDP__DP_START] = {"the cost of training the starting model",
                            "choose a larger budget, or a starting model with a smaller "
                            "{target-epsilon} and {target-delta}"}};
    struct nvdp_dp_guarantee sum = {0, 0};
    for (size_t i = 0; i < NVDP__DP_BEFORE; i++) {
        const struct nvdp_dp_guarantee *of = &dp->before[i];
        sum = (struct nvdp_dp_guarantee){sum.epsilon + of->epsilon, sum.delta + of->delta};
        if (has(of) && sum.delta >= dp->delta)
            return nvdp__fail(
                dp->ctx, NVDP_ERR_ARGUMENT,
                "option {target-delta}: expected more than %s, %s per example, found %.3g; %s",
                names[i].whose, nvdp__bound(sum.delta).text, dp->delta,
                nvdp__with_options(dp->ctx, names[i].less).text);
        if (has(of) && epsilon > 0 && sum.epsilon >= epsilon)
            return nvdp__fail(
                dp->ctx, NVDP_ERR_ARGUMENT,
                "option {target-epsilon}: expected more than %s, %s per example, found %g; %s",
                names[i].whose, nvdp__bound(sum.epsilon).text, epsilon,
                nvdp__with_options(dp->ctx, names[i].less).text);
    }
    return NVDP_OK;
}

/* Sets delta, and finds the noise or the number of steps for the budget. */
static nvdp_status take_budget(struct nvdp__dp *dp, struct nvdp__dp_options *options) {
    struct nvdp_context *ctx = dp->ctx;
    double epsilon = options->target_epsilon, n = (double)dp->examples;
    dp->delta = options->target_delta > 0 ? options->target_delta : 0.5 / n;
    if (dp->delta * n >= 1 && !options->allow_weak_delta)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {target-delta}: expected less than 1/N = %.3g for %zu training "
                          "examples, found %g, which allows some examples to be published "
                          "unchanged; {allow-weak-delta} accepts this",
                          1 / n, dp->examples, dp->delta);
    NVDP_TRY(check_before(dp, epsilon));
    if (epsilon == 0) return NVDP_OK;
    if (options->noise > 0) {
        NVDP_TRY(nvdp_account_steps(ctx, RUN(dp, dp->steps), epsilon, dp->delta,
                                    NVDP_ACCOUNTANT_PLD, &dp->steps));
        if (dp->steps > 0) return NVDP_OK;
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "option {target-epsilon} %g: expected a budget for at least one step; a step with "
            "{dp-noise} %g costs more at delta %.3g; choose a larger budget or more noise",
            epsilon, dp->noise, dp->delta);
    }
    NVDP_TRY(nvdp_account_noise(ctx, RUN(dp, dp->steps), epsilon, dp->delta, NVDP_ACCOUNTANT_PLD,
                                &dp->noise));
    options->noise = dp->noise / sqrt((double)dp->shards);
    return NVDP_OK;
}

/* Separates the seeds of shards, as the steps of SplitMix64 do. */
static const uint64_t SHARD_SEEDS = UINT64_C(0x9E3779B97F4A7C15);

nvdp_status nvdp__dp_create(struct nvdp_context *ctx, struct nvdp__dp_options *options,
                            size_t examples, size_t epochs, uint64_t steps, size_t texts,
                            const struct nvdp_dp_guarantee *before, struct nvdp__dp **out) {
    if (options->batch > examples)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "option {dp-batch}: expected at most %zu, the number of training examples, found %zu",
            examples, options->batch);
    const size_t rank = nvdp__rank(ctx);
    const size_t shards = options->shards_noise == NVDP__NOISE_EACH ? nvdp__rank_count(ctx) : 1;
    nvdp__autoptr(nvdp__dp_free) struct nvdp__dp *made = nvdp__calloc(ctx, 1, sizeof *made);
    if (made == NULL) return NVDP_ERR_MEMORY;
    *made = (struct nvdp__dp){.ctx = ctx,
                              .noise = options->noise * sqrt((double)shards),
                              .shards = shards,
                              .clip = options->clip,
                              .rate = options->batch > 0 ? (double)options->batch / (double)examples
                                                         : options->sample_rate,
                              .examples = examples,
                              .delta_default = options->target_delta == 0,
                              .rate_given = options->batch == 0,
                              .seeded = options->insecure_seed != 0,
                              .draws = {.seed = options->insecure_seed},
                              .source = {.seed = options->insecure_seed + rank * SHARD_SEEDS}};
    for (size_t i = 0; before != NULL && i < NVDP__DP_BEFORE; i++) {
        made->before[i] = before[i];
        if (has(&before[i])) made->beside[made->besides++] = before[i];
    }
    made->divisor =
        options->batch > 0 ? (double)options->batch : options->sample_rate * (double)examples;
    made->steps = epochs > 0 ? nvdp__dp_epoch_steps(made) * epochs : steps;
    NVDP_TRY(take_budget(made, options));
    if (made->seeded && rank == 0) nvdp__warn_insecure_seed(ctx);
    if (!made->seeded) {
        NVDP_TRY(nvdp__release_key_create(ctx, &made->noise_key));
        NVDP_TRY(nvdp__release_key_create(ctx, &made->draw_key));
        randombytes_buf(&made->secret, sizeof made->secret);
        made->source.release = &made->noise_key;
        made->draws.release = &made->draw_key;
    }
    NVDP_TRY(
        NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(made->norm, texts), NVDP__ITEMS(made->weight, texts)));
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

void nvdp__dp_free(struct nvdp__dp *dp) {
    if (dp == NULL) return;
    nvdp__release_key_wipe(&dp->draw_key);
    nvdp__release_key_wipe(&dp->noise_key);
    nvdp__per_example_free(dp->grads);
    free(dp->norm);
    free(dp->weight);
    free(dp);
}

nvdp_status nvdp__dp_share(struct nvdp__dp *dp) {
    if (dp == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__rank_share(dp->ctx, sizeof dp->secret, &dp->secret));
    return nvdp__rank_share_key(dp->ctx, &dp->draw_key);
}

uint64_t nvdp__dp_epoch_steps(const struct nvdp__dp *dp) {
    return (uint64_t)fmax(1, round(1 / dp->rate));
}

/* --- a step --- */

uint64_t nvdp__dp_seed(const struct nvdp__dp *dp, uint64_t seed) {
    return dp == NULL || dp->seeded ? seed : dp->secret;
}

size_t nvdp__dp_draw(const struct nvdp__dp *dp, uint64_t step, int64_t *rows) {
    struct nvdp__stream stream =
        nvdp__stream_open(&dp->draws, NVDP__PURPOSE_DP_SAMPLE, (uint32_t)step, step >> 32);
    size_t drawn = 0;
    for (size_t i = 0; i < dp->examples; i++)
        if (nvdp__stream_uniform(&stream) < dp->rate) rows[drawn++] = (int64_t)i;
    return drawn;
}

struct nvdp__range nvdp__dp_start(struct nvdp__dp *dp, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t step, int64_t *rows,
                                  size_t *drawn) {
    *drawn = nvdp__dp_draw(dp, step, rows);
    dp->seen = dp->clipped = dp->left_out = 0;
    const struct nvdp__range own = nvdp__rank_range(dp->ctx, *drawn);
    nvdp__grad_rows(params, 0, NULL);
    if (own.count == 0 || nvdp__per_example_first(dp->grads))
        nvdp__zero(dev, params->total, params->grad);
    return own;
}

void nvdp__dp_begin(const struct nvdp__dp *dp, struct nvdp__device *dev, size_t texts) {
    nvdp__per_example_begin(dp->grads, texts);
    dev->per_example = dp->grads;
}

/* Returns min(1, C / |g|), rounded down; 0 if the gradient is not finite. */
static float clip_weight(double clip, double norm) {
    if (isinf(clip) || norm <= clip) return 1;
    float weight = isfinite(norm) ? (float)(clip / norm) : 0;
    return (double)weight * norm > clip ? nextafterf(weight, 0) : weight;
}

nvdp_status nvdp__dp_clip(struct nvdp__dp *dp, struct nvdp__device *dev, const float *label,
                          const double *weight, bool first) {
    size_t texts = nvdp__per_example_texts(dev);
    nvdp_status status = nvdp__per_example_norms(dev, NULL, dp->norm);
    for (size_t i = 0; i < texts && status == NVDP_OK; i++) {
        dp->weight[i] = clip_weight(dp->clip / dp->divisor, dp->norm[i]);
        dp->clipped += dp->weight[i] < 1;
        dp->left_out += dp->weight[i] == 0;
        if (weight != NULL) /* rounding does not increase the weight */
            dp->weight[i] = (float)(weight[(size_t)label[i]] * (double)dp->weight[i]);
    }
    dp->seen += texts;
    if (status == NVDP_OK) nvdp__per_example_add(dev, dp->weight, first);
    dev->per_example = NULL;
    return status;
}

void nvdp__dp_noise(const struct nvdp__dp *dp, const struct nvdp__device *dev,
                    const struct nvdp__params *params, uint64_t step) {
    const double noise = dp->noise / sqrt((double)dp->shards);
    if (noise > 0 && (dp->shards > 1 || nvdp__rank(dp->ctx) == 0))
        nvdp__gradient_noise(dev, params, &dp->source, step, noise * dp->clip / dp->divisor);
}

/* --- a saved state --- */

static json_t *guarantee_json(const struct nvdp_dp_guarantee *of) {
    return json_pack("[f,f]", of->epsilon, of->delta);
}

/* Adds the number of shards and the guarantee of the start model. */
static void put_conditions(const struct nvdp__dp *dp, json_t *object) {
    if (dp->shards > 1) json_object_set_new(object, "shards", json_integer((json_int_t)dp->shards));
    if (has(&dp->before[NVDP__DP_START]))
        json_object_set_new(object, "start", guarantee_json(&dp->before[NVDP__DP_START]));
}

void nvdp__dp_state(const struct nvdp__dp *dp, json_t *object) {
    if (dp == NULL) return;
    put_conditions(dp, object);
    json_object_set_new(object, "planned", json_integer((json_int_t)dp->steps));
}

/* Fails if more steps are planned than before, because the decision could depend on the model so
 * far. */
static nvdp_status continue_plan(const struct nvdp__dp *dp, const char *path,
                                 const json_t *object) {
    const json_t *planned = json_object_get(object, "planned");
    if (planned == NULL || dp->steps <= (uint64_t)json_integer_value(planned)) return NVDP_OK;
    return nvdp__fail(dp->ctx, NVDP_ERR_ARGUMENT,
                      "%s: expected at most the %" JSON_INTEGER_FORMAT
                      " steps that were planned at the beginning of the run, found %" PRIu64
                      ": what the model has learned so far may not raise them; begin a new run "
                      "from this one's model, which adds both epsilons",
                      path, json_integer_value(planned), dp->steps);
}

/* Fails if the guarantee of the start model has changed. */
static nvdp_status continue_start(const struct nvdp__dp *dp, const char *path,
                                  const json_t *object) {
    const json_t *start = json_object_get(object, "start");
    const struct nvdp_dp_guarantee *now = &dp->before[NVDP__DP_START];
    const double epsilon = json_number_value(json_array_get(start, 0)),
                 delta = json_number_value(json_array_get(start, 1));
    if (fabs(epsilon - now->epsilon) <= 1e-12 * epsilon &&
        fabs(delta - now->delta) <= 1e-12 * delta)
        return NVDP_OK;
    return nvdp__fail(dp->ctx, NVDP_ERR_INPUT,
                      "%s: expected a starting model whose training cost epsilon %g and delta %g "
                      "per example, as at the beginning of the run, found %g and %g",
                      path, epsilon, delta, now->epsilon, now->delta);
}

nvdp_status nvdp__dp_continue(const struct nvdp__dp *dp, const char *path, const json_t *object) {
    int64_t shards = 1;
    if (dp == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__json_int(dp->ctx, path, object, "shards", 1, 1, NVDP_MOST_RANKS, &shards));
    NVDP_TRY(continue_plan(dp, path, object));
    if ((size_t)shards == dp->shards) return continue_start(dp, path, object);
    return nvdp__fail(
        dp->ctx, NVDP_ERR_ARGUMENT,
        "%s: with shards-noise each, a resumed run needs the %" PRId64
        " processes that it began with, because their number sets the noise; found %zu",
        path, shards, dp->shards);
}

/* --- cost and statement --- */

nvdp_status nvdp__dp_spent(const struct nvdp__dp *dp, uint64_t steps, double left_out,
                           json_t *line) {
    double epsilon;
    if (dp == NULL || !(dp->noise > 0)) return NVDP_OK;
    NVDP_TRY(
        nvdp_account_epsilon(dp->ctx, RUN(dp, steps), dp->delta, NVDP_ACCOUNTANT_RDP, &epsilon));
    if (isfinite(epsilon)) json_object_set_new(line, "epsilon_rdp", json_real(epsilon));
    if (dp->seen > 0)
        json_object_set_new(line, "clipped", json_real((double)dp->clipped / (double)dp->seen));
    if (left_out > 0) json_object_set_new(line, "left_out", json_real(left_out));
    return NVDP_OK;
}

void nvdp__dp_warn_left_out(const struct nvdp__dp *dp, double left_out) {
    if (!(left_out > 0)) return;
    nvdp__log(dp->ctx, NVDP_LOG_WARNING,
              "private training: %.0f drawn texts had a gradient that is not finite; the run "
              "counted these gradients as 0, so it learned nothing from the texts in those steps "
              "(left_out in metrics.jsonl; this count is not private, so do not publish it)",
              left_out);
}

static const char NOT_PRIVATE[] = "Nothing is proven: no noise was added, and the training is not "
                                  "private.";
/* Sentences that the statement contains if they apply. */
static const char SAMPLED[] = " It also does not cover which examples of the train file were used "
                              "(limit_train, folds).";
static const char CHOSEN[] = "\nWARNING: the epoch was chosen by its score on validation texts. If "
                             "these are private too, nothing here covers them.";
static const char BEFORE[] = ", except as the statement of the training before says";

bool nvdp__dp_promise(const json_t *dp, bool seeded, struct nvdp_dp_guarantee *out) {
    const json_t *epsilon = json_object_get(json_object_get(dp, "pld"), "epsilon"),
                 *delta = json_object_get(dp, "delta");
    if (!json_is_number(epsilon) || !json_is_number(delta)) return false;
    if (!seeded && json_is_true(json_object_get(dp, "insecure_seed"))) return false;
    *out = (struct nvdp_dp_guarantee){json_number_value(epsilon), json_number_value(delta)};
    return true;
}

const json_t *nvdp__dp_planned(const json_t *result, const json_t *run) {
    const json_t *ended = json_object_get(result, "dp"), *begun = json_object_get(run, "dp");
    const json_int_t steps = json_integer_value(json_object_get(ended, "steps"));
    return ended == NULL || json_integer_value(json_object_get(begun, "steps")) > steps ? begun
                                                                                        : ended;
}

/* Adds the guarantee of this training alone, without the guarantee of the start model, at the
 * rest of delta. Later trainings add this guarantee to what they count for the start model
 * (lineage.c). */
static nvdp_status put_own(const struct nvdp__dp *dp, json_t *object) {
    struct nvdp_dp_run run = *RUN(dp, dp->steps);
    const struct nvdp_dp_guarantee *start = &dp->before[NVDP__DP_START];
    struct nvdp_dp_guarantee own = {.delta = dp->delta - start->delta};
    if (!has(start) || !(dp->noise > 0)) return NVDP_OK;
    run.beside = &dp->before[NVDP__DP_VOCABULARY];
    run.besides = has(run.beside) ? 1 : 0;
    NVDP_TRY(nvdp_account_epsilon(dp->ctx, &run, own.delta, NVDP_ACCOUNTANT_PLD, &own.epsilon));
    if (isfinite(own.epsilon)) json_object_set_new(object, "own", guarantee_json(&own));
    return NVDP_OK;
}

const double nvdp__dp_baselines[NVDP__DP_BASELINES] = {0.5, 0.001};

static json_t *risk_json(const struct nvdp_example_risk *risk) {
    return json_pack("{s:o,s:o,s:{s:f,s:f},s:o}", "mu", nvdp__json_finite(risk->mu),
                     "replaced_epsilon", nvdp__json_finite(risk->replaced_epsilon), "membership",
                     "prior", 0.5, "bound", risk->membership, "guess",
                     nvdp__guesses_json(risk->guesses, risk->guess));
}

nvdp_status nvdp__dp_statement(const struct nvdp__dp *dp, uint64_t done,
                               const struct nvdp__dp_scope *scope, const char *directory,
                               json_t *root) {
    json_t *object;
    nvdp__autoptr(json_decref) json_t *risk_object = NULL;
    struct nvdp_account account = NVDP_RESULT(struct nvdp_account);
    struct nvdp_example_risk risk = NVDP_RESULT(struct nvdp_example_risk);
    struct nvdp_dp_facts facts = {.example = scope->example,
                                  .clip = dp->clip,
                                  .examples = dp->examples,
                                  .shards = dp->shards,
                                  .seeded = dp->seeded,
                                  .shows =
                                      dp->rate_given ? NVDP_DP_PUBLIC_DIVISOR : NVDP_DP_PUBLIC_RATE,
                                  .steps_done = done < dp->steps ? done : 0};
    nvdp__autofree char *account_text = NULL, *whole = NULL;
    account.pld_epsilon = account.rdp_epsilon = INFINITY;
    if (dp->noise > 0) {
        NVDP_TRY(nvdp_account(dp->ctx, RUN(dp, dp->steps), dp->delta, &account));
        if (directory != NULL) {
            NVDP_TRY(nvdp_example_risk(dp->ctx, RUN(dp, dp->steps), &account, NVDP__DP_BASELINES,
                                       nvdp__dp_baselines, &risk));
            NVDP_TRY(NVDP__MADE(risk_object = risk_json(&risk)));
            facts.risk = &risk;
        }
        NVDP_TRY(
            nvdp_account_statement(dp->ctx, RUN(dp, dp->steps), &facts, &account, &account_text));
    }
    whole = nvdp__format(dp->ctx,
                         "%s%s%s\nOf this folder it covers %s only; losses, scores and counts in "
                         "other files have no noise, and class names are public. Validation and "
                         "test texts were not trained on%s.\n%s\n",
                         dp->noise > 0 ? account_text : NOT_PRIVATE, scope->sampled ? SAMPLED : "",
                         scope->chosen ? CHOSEN : "", scope->covers,
                         has(&dp->before[NVDP__DP_START]) ? BEFORE : "", scope->began);
    NVDP_TRY(NVDP__MADE(whole));
    object =
        json_pack("{s:f,s:o,s:f,s:f,s:I,s:I,s:s,s:s,s:f,s:b,s:{s:o},s:{s:o,s:o},s:b,s:s}", "noise",
                  dp->noise, "clip", nvdp__json_finite(dp->clip), "sample_rate", dp->rate,
                  "expected_batch", dp->divisor, "examples", (json_int_t)dp->examples, "steps",
                  (json_int_t)dp->steps, "adjacency", "zero-out", "public",
                  dp->rate_given ? "divisor" : "rate", "delta", dp->delta, "delta_default",
                  dp->delta_default, "pld", "epsilon", nvdp__json_finite(account.pld_epsilon),
                  "rdp", "epsilon", nvdp__json_finite(account.rdp_epsilon), "order",
                  dp->noise > 0 ? nvdp__json_finite(account.rdp_order) : json_null(),
                  "insecure_seed", dp->seeded, "statement", whole);
    json_object_set_new(object, "example", json_string(scope->example));
    put_conditions(dp, object);
    json_object_set_new(object, "steps_done", json_integer((json_int_t)done));
    if (risk_object != NULL) json_object_update(object, risk_object);
    if (json_object_set_new(root, "dp", object) != 0)
        return nvdp__fail(dp->ctx, NVDP_ERR_MEMORY, "statement: out of memory");
    if (has(&dp->before[NVDP__DP_VOCABULARY]))
        json_object_set_new(object, "vocabulary", guarantee_json(&dp->before[NVDP__DP_VOCABULARY]));
    NVDP_TRY(put_own(dp, object));
    if (directory == NULL) return NVDP_OK;
    return nvdp__write_file(dp->ctx, nvdp__path(directory, "dp-statement.txt").text, whole,
                            strlen(whole));
}
