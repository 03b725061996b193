/* Plans a run before it starts: texts, parameters, steps, memory and, if measured, the duration of the run. The first
 * part measures time on a few steps; nvdp__train_plan(), at the end, collects everything. */
#include "text/dataset.h"
#include "train/run.h"
#include "train/trainer.h"

#include "base/own.h"
#include "base/sentence.h"
#include <inttypes.h>
#include <math.h>
#include <nvdp/rdp.h>
#include <stdlib.h>
#include <unistd.h>

static size_t frozen_parameters(const struct nvdp_model *model) {
    size_t frozen = 0;
    for (size_t i = 0; i < model->params.count; i++) {
        const struct nvdp__param *entry = &model->params.entry[i];
        if (entry->flags & NVDP__PARAM_FROZEN) frozen += entry->count;
    }
    return frozen;
}

/* --- timing --- */

/* Time limit in seconds and maximum number of timed steps. If several steps are timed, the first step is not counted,
 * because it warms up the machine. */
static const double MAX_SECONDS = 4;
enum { MAX_STEPS = 8 };

/* Adds the estimated seconds for scoring a whole split, extrapolated from a part of it. `known`
 * seconds per token are subtracted because they are counted elsewhere. */
static nvdp_status time_scores(struct nvdp__trainer *t, const struct nvdp_dataset *split,
                               size_t draws, double known, double *seconds) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *part = NULL;
    struct nvdp_scores scores = NVDP_RESULT(struct nvdp_scores);
    if (!nvdp__dataset_labeled(split)) return NVDP_OK;
    NVDP_TRY(
        nvdp__first_texts(t->ctx, split, nvdp__min(split->count, 2 * t->config.eval_batch), &part));
    const double start = nvdp__now();
    NVDP_TRY(nvdp__score_model(t->ctx, t->model, part, t->config.eval_batch, t->config.seed, 0,
                               draws, false, &scores, NULL));
    const double tokens = (double)part->offset[part->count];
    const double each = fmax((nvdp__now() - start) / fmax(tokens, 1) - known, 0);
    *seconds += each * (double)split->offset[split->count];
    return NVDP_OK;
}

/* Times steps one by one. *frozen is the frozen layers' time in seconds per token. With `kept`, later steps read cached
 * states and do not spend this time, so it is subtracted. */
static nvdp_status time_steps(struct nvdp__trainer *t, bool kept, double *frozen, double *seconds,
                              double *tokens, size_t *steps) {
    const double begun = nvdp__now();
    for (size_t k = 0; k < MAX_STEPS && t->state.epoch_step < t->epoch_steps; k++) {
        const double start = nvdp__now();
        NVDP_TRY(nvdp__job_step(&t->job));
        double spent = nvdp__now() - start;
        if (t->model->prefix != NULL) {
            const double fill_start = nvdp__now();
            NVDP_TRY(nvdp__prefix_fill(t->model->prefix, t->batch));
            *frozen = (nvdp__now() - fill_start) / fmax((double)t->batch->tokens, 1);
            if (kept) spent = fmax(spent - *frozen * (double)t->batch->tokens, 0);
        }
        if (k == 1) *seconds = *tokens = (double)(*steps = 0);
        *seconds += spent;
        *tokens += (double)t->job.last.tokens;
        ++*steps;
        t->state.epoch_step++;
        t->job.step++;
        if (nvdp__now() - begun > MAX_SECONDS) break;
    }
    return NVDP_OK;
}

static nvdp_status measure(struct nvdp__trainer *t, bool kept, struct nvdp_train_plan *plan) {
    double frozen = 0, seconds = 0, tokens = 0, validation = 0;
    size_t steps = 0;
    const double all = (double)t->train->offset[t->train->count];
    NVDP_TRY(nvdp__trainer_allocate(t, true));
    NVDP_TRY(nvdp__dp_share(t->job.dp));
    NVDP_TRY(nvdp__trainer_start_weights(t));
    NVDP_TRY(nvdp__trainer_open_prefix(t));
    nvdp__epoch_order(t->config.seed, 0, t->train->count, t->job.order);
    NVDP_TRY(time_steps(t, kept, &frozen, &seconds, &tokens, &steps));
    plan->step_seconds = seconds / (double)steps;
    plan->train_seconds = t->job.dp != NULL ? plan->step_seconds * (double)t->job.steps
                                            : seconds / tokens * all * (double)t->config.epochs;
    plan->score_seconds = plan->prefix_seconds = 0;
    const double known = kept ? frozen : 0;
    NVDP_TRY(time_scores(t, t->validation, 1, known, &validation));
    NVDP_TRY(time_scores(t, t->test, t->config.eval_draws, known, &plan->score_seconds));
    plan->score_seconds += validation * (double)t->config.epochs;
    if (kept)
        plan->prefix_seconds =
            frozen * (double)(t->all->offset[t->all->count] + t->test->offset[t->test->count]);
    return NVDP_OK;
}

/* --- texts that occur several times --- */
/* States the epsilon of an export of the train and dev files, for the most frequent text.  The clip follows from the
 * budget: a row is a Gaussian mechanism with mu = 2C, per word with the mu of the row's share of word-epsilon, and the
 * rows of a text together have mu sqrt(rows). */
static nvdp_status count_repeats(const struct nvdp__trainer *t, struct nvdp_train_plan *plan) {
    const struct nvdp__train_options *config = &t->config;
    nvdp__auto(nvdp__text_digests_release) struct nvdp__text_digests digests = {.ctx = t->ctx};
    const double clip = config->nvib.clip.sequence, releases = (double)config->certified_releases;
    const bool whole = config->certified_epsilon > 0 || config->certified_guess != NULL;
    const double delta = whole ? config->certified_delta : config->word_delta;
    struct nvdp__repeats repeats;
    plan->repeat_epsilon = NAN;
    if (!nvdp__has_budget(config)) return NVDP_OK;
    NVDP_TRY(nvdp__text_digests_add(&digests, t->all));
    NVDP_TRY(nvdp__text_digests_add(&digests, t->test));
    NVDP_TRY(nvdp__repeats_count(&digests, &repeats));
    const double mu = whole ? 2 * clip : nvdp_gdp_mu(config->word_epsilon, delta) / sqrt(releases);
    plan->repeat_rows = repeats.most;
    plan->repeat_epsilon = nvdp_gdp_epsilon(mu * sqrt((double)repeats.most), delta);
    if (repeats.most < 2) return NVDP_OK;
    const bool kept = nvdp__keeps_promise(0, repeats.most, 1, config->certified_releases);
    nvdp__snprintf(
        plan->repeats, sizeof plan->repeats,
        "%s in train and dev: the %zu samples of the text that stands most often have epsilon %s "
        "at delta %g%s together, one sample has %s%s",
        repeats.text, repeats.most, nvdp__bound(plan->repeat_epsilon).text, delta,
        whole ? "" : " per word", nvdp__bound(nvdp_gdp_epsilon(mu, delta)).text,
        kept ? ""
             : nvdp__with_options(t->ctx, "; nvdp export refuses them without {duplicates} each")
                   .text);
    return NVDP_OK;
}

/* --- the plan --- */

nvdp_status nvdp__train_plan(struct nvdp_context *ctx, struct nvdp__train_options *options,
                             bool measured, struct nvdp_train_plan *out) {
    nvdp__auto(nvdp__trainer_close) struct nvdp__trainer t = {.ctx = ctx};
    struct nvdp_train_plan first = {.train_seconds = 0};
    size_t floats = 0;
    NVDP_TRY(nvdp__trainer_take_config(&t, options, NULL));
    if (t.config.objective == NVDP__TRAIN_DISTILL)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "option {objective} distill has no plan: it takes the time in which "
                          "nvdp encode reads the texts, and about a minute per 30,000 texts");
    if (t.config.resume == NULL) NVDP_TRY(nvdp__trainer_take_base(&t));
    if (nvdp__base_first(&t.config)) {
        struct nvdp__train_options base;
        NVDP_TRY(nvdp__base_options(ctx, &t.config, &base));
        NVDP_TRY(nvdp__train_plan(ctx, &base, measured, &first));
        options->freeze_layers = t.config.freeze_layers;
    }
    const bool kept = t.config.cache != NULL && !t.config.no_prefix_cache;
    t.config.cache = NULL; /* a plan writes nothing */
    t.plan = true;
    NVDP_TRY(nvdp__trainer_open(&t));
    NVDP_TRY(
        nvdp__model_plan_size(t.model, t.config.batch, nvdp__trainer_longest(&t), true, &floats));
    size_t vectors = 4; /* values, gradients, two moments */
    /* The bfloat16 copies of the weights in two layouts are together as large as the values. */
    if (t.model->dev.bf16 != NULL) vectors++;
    if (t.config.decay_to == NVDP__DECAY_TO_PRETRAINED) vectors++;
    options->nvib = t.config.nvib;
    struct nvdp_train_plan made = {
        .struct_size = sizeof made,
        .train_texts = t.train->count,
        .validation_texts = t.validation->count,
        .test_texts = t.test->count,
        .parameters = t.model->info.parameters,
        .frozen_parameters = frozen_parameters(t.model),
        .prefix_bytes = t.config.freeze_layers > 0
                            ? nvdp__prefix_bytes(&t.model->info.bert, t.all) +
                                  nvdp__prefix_bytes(&t.model->info.bert, t.test)
                            : 0,
        .steps = t.job.steps,
        .memory_bytes = (vectors * t.model->params.total + floats) * sizeof(float),
        .step_seconds = NAN,
        .train_seconds = NAN,
        .score_seconds = NAN,
        .prefix_seconds = NAN,
        .base_seconds = first.train_seconds + first.score_seconds,
    };
    NVDP_TRY(count_repeats(&t, &made));
    if (made.memory_bytes < first.memory_bytes) made.memory_bytes = first.memory_bytes;
    const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (measured && (double)made.memory_bytes < memory)
        NVDP_TRY(measure(&t, kept && t.config.freeze_layers > 0, &made));
    *out = made;
    return NVDP_OK;
}

static nvdp_status make_plan(struct nvdp_context *ctx, const struct nvdp_config *config,
                             bool measured, struct nvdp_config **resolved,
                             struct nvdp_train_plan *out) {
    struct nvdp__train_options options;
    struct nvdp_train_plan made;
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *copy = NULL;
    NVDP_TRY(nvdp__train_open(ctx, config, &options));
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__config_blame(config, nvdp__train_plan(ctx, &options, measured, &made)));
    if (resolved != NULL) {
        NVDP_TRY(nvdp_config_copy(config, &copy));
        NVDP_TRY(nvdp__config_take(copy, &nvdp__train_schema, &options));
        NVDP__HAND_OVER(resolved, copy);
    }
    return NVDP__GIVE(out, &made);
}

nvdp_status nvdp_train_plan(struct nvdp_context *ctx, const struct nvdp_config *config,
                            struct nvdp_config **resolved, struct nvdp_train_plan *out) {
    return make_plan(ctx, config, false, resolved, out);
}

nvdp_status nvdp_train_plan_measured(struct nvdp_context *ctx, const struct nvdp_config *config,
                                     struct nvdp_config **resolved, struct nvdp_train_plan *out) {
    return make_plan(ctx, config, true, resolved, out);
}
