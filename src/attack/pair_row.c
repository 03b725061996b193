/* The row of pair in the table of attacks: the epsilon to compare with, and the result table. */
#include "attack/attack.h"
#include "attack/pair.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "mechanism/method.h"
#include "train/run.h"

#include <nvdp/certificate.h>

#include <math.h>

/* Names the epsilon that the exact epsilons of the pairs must not exceed. */
static const char *promise(const struct nvdp__attacked *attacked) {
    return isnan(attacked->claimed) ? "certified" : "claimed";
}

/* Computes the certificate of the run's mechanism at the attack's delta. */
static nvdp_status certify(const struct nvdp__attacked *attacked, const struct nvdp_model *model,
                           struct nvdp_certificate *certificate) {
    struct nvdp_context *ctx = attacked->ctx;
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    struct nvdp__attack_options options;
    char at[32];
    NVDP_TRY(nvdp__config_open(ctx, attacked->config, &nvdp__attack_schema, &options));
    nvdp__snprintf(at, sizeof at, "%.17g", options.delta > 0 ? options.delta : NVDP_PAIR_DELTA);
    NVDP_TRY(nvdp_privacy_config_create(ctx, &config));
    NVDP_TRY(nvdp_config_set(config, "delta", at));
    NVDP_TRY(nvdp_config_set(config, "releases", nvdp_config_get(attacked->config, "releases")));
    return nvdp_model_certificate(ctx, model, config, certificate);
}

/* Opens the run, with its texts only if the method has a certificate per word. */
static nvdp_status open_run(const struct nvdp__attacked *attacked,
                            struct nvdp__run_options *options, struct nvdp__run *run) {
    struct nvdp__run_options bare;
    NVDP_TRY(nvdp__config_open(attacked->ctx, attacked->config, &nvdp__run_schema, options));
    bare = *options;
    bare.split = NULL;
    NVDP_TRY(nvdp__run_open_bottleneck(attacked->ctx, &bare, run));
    return nvdp__method_row(run->model->info.method)->words
               ? nvdp__run_load_texts(attacked->ctx, options, run)
               : NVDP_OK;
}

static const char *say_holds(int holds) {
    return holds != 0 ? "yes" : "VIOLATION";
}

static bool is_replaced(const void *pair) {
    return ((const struct nvdp_pair_attack *)pair)->word > 0;
}

static bool has_words(const void *pair) {
    const size_t *changed = ((const struct nvdp_pair_attack *)pair)->changed;
    return changed[0] + changed[1] > 0;
}

static double words_apart(const void *pair) {
    const size_t *changed = ((const struct nvdp_pair_attack *)pair)->changed;
    return (double)nvdp__max(changed[0], changed[1]);
}

/* clang-format off */
#define PAIR(member, ...) NVDP_RESULT_ROW(struct nvdp_pair_attack, member, __VA_ARGS__)
#define PAIRS(member, ...) NVDP_RESULT_ROW(struct nvdp_pair_attacks, member, __VA_ARGS__)
#define NAMED(name, type, member, better, help_) \
    name, type, NULL, NVDP_SCOPE_PAIR, better, help_, NVDP_RESULT_AT(struct nvdp_pair_attack, member)

static const struct nvdp_result_table pair_table = {
    .name = "pair", .help = "an attack on two texts", .size = sizeof(struct nvdp_pair_attack),
    .rows = (const struct nvdp_result_row[]){
        PAIR(p, NULL, NVDP_SCOPE_PAIR, 0, "index of P", .label = "text P"),
        PAIR(q, NULL, NVDP_SCOPE_PAIR, 0, "index of Q, or of the text of the word that Q has in place of P's",
             .label = "text Q"),
        PAIR(word, NULL, NVDP_SCOPE_PAIR, 0, "word of P that Q has another word for, from 1",
             .label = "word", .present = is_replaced),
        {NAMED("changed", NVDP_RESULT_COUNT, changed[0], 0, "adjacent words that differ, of P and of Q"),
         .array = 2, .present = has_words},
        {.name = "apart", .type = NVDP_RESULT_REAL, .unit = "words", .scope = NVDP_SCOPE_PAIR,
         .help = "the larger of these two numbers", .label = "words", .real = words_apart, .present = has_words},
        PAIR(shown, "nats", NVDP_SCOPE_PAIR, -1, "lower bound of epsilon", .label = "shown >=", .decimals = 4, .bound = -1),
        PAIR(ceiling, "nats", NVDP_SCOPE_PAIR, 0, "what a perfect test would have shown",
             .label = "ceiling", .decimals = 4),
        PAIR(exact, "nats", NVDP_SCOPE_PAIR, -1, "exact epsilon", .label = "exact", .decimals = 4, .bound = 1),
        PAIR(proven, "nats", NVDP_SCOPE_PAIR, -1, "proven epsilon for texts that differ in so many words",
             .label = "proven", .decimals = 4, .bound = 1, .present = has_words),
        PAIR(right, NULL, NVDP_SCOPE_PAIR, -1, "share of right guesses",
             .label = "right %", .scale = 100, .decimals = 2),
        {NAMED("right_interval", NVDP_RESULT_INTERVAL, right_interval.low, 0, "interval of right"),
         .high = offsetof(struct nvdp_pair_attack, right_interval.high), .absent = NVDP_ABSENT_EACH,
         .label = "interval", .scale = 100, .decimals = 2},
        PAIR(states, NULL, NVDP_SCOPE_PAIR, -1, "right without noise",
             .label = "no noise %", .scale = 100, .decimals = 2),
        {NAMED("most", NVDP_RESULT_REAL, right_max, -1, "expected right of the best test"),
         .label = "at most %", .scale = 100, .decimals = 2, .bound = 1},
        PAIR(proven_right, NULL, NVDP_SCOPE_PAIR, -1, "proven upper bound of right for such texts",
             .label = "proven %", .scale = 100, .decimals = 2, .bound = 1, .present = has_words),
        {NAMED("held", NVDP_RESULT_COUNT, held[0], 0, "held-out samples of P and of Q"), .array = 2},
        {NAMED("hits", NVDP_RESULT_COUNT, hits[0], 0, "those that the test detects"), .array = 2},
        {NAMED("favours_q", NVDP_RESULT_FLAG, favors_q, 0, "the test detects Q")},
        PAIR(bounded, NULL, NVDP_SCOPE_PAIR, 0, "exact and most are upper bounds", .label = "bounds only"),
        PAIR(holds, NULL, NVDP_SCOPE_PAIR, 0, "no number exceeds its bound",
             .label = "bounds hold", .word = say_holds),
        {0}}};

const struct nvdp_result_table nvdp__result_pair_attacks = {
    .name = "pair_attacks", .help = "attacks on pairs of texts", .sized = true,
    .rows = (const struct nvdp_result_row[]){
        PAIRS(delta, NULL, NVDP_SCOPE_RUN, 0, "delta of all epsilons"),
        PAIRS(confidence, NULL, NVDP_SCOPE_RUN, 0, "simultaneous confidence"),
        PAIRS(releases, "samples", NVDP_SCOPE_RUN, 0, "samples per trial"),
        PAIRS(samples, "trials", NVDP_SCOPE_RUN, 0, "trials per text"),
        PAIRS(guess, NULL, NVDP_SCOPE_RUN, -1, "proven upper bound of right"),
        PAIRS(word_epsilon, "nats", NVDP_SCOPE_RUN, -1, "proven epsilon for texts that differ in one word"),
        PAIRS(word_guess, NULL, NVDP_SCOPE_RUN, -1, "proven upper bound of right for such texts"),
        PAIRS(weak, NULL, NVDP_SCOPE_RUN, 0, "nothing is right without noise"),
        PAIRS(holds, NULL, NVDP_SCOPE_RUN, 0, "no number exceeds its bound"),
        {"pairs", NVDP_RESULT_LIST, .scope = NVDP_SCOPE_PAIR, .help = "the pairs", .label = "",
         NVDP_RESULT_AT(struct nvdp_pair_attacks, pair), .indirect = true, .of = &pair_table,
         NVDP_RESULT_LENGTH(struct nvdp_pair_attacks, pairs)},
        {0}}};
/* clang-format on */

static bool add_promise(const struct nvdp__attacked *attacked, const void *found, json_t *object) {
    const double certified = ((const struct nvdp_pair_attacks *)found)->certified;
    return json_object_set_new(object, promise(attacked), nvdp__json_known(certified)) == 0;
}

static bool is_weak(const void *found) {
    return ((const struct nvdp_pair_attacks *)found)->weak;
}

static void print_head(const struct nvdp__attacked *attacked, const void *of, FILE *to) {
    const struct nvdp_pair_attacks *found = of;
    nvdp__print_row(to, "samples",
                    "%zu of each text%s; half choose the test, the other half measure it",
                    found->samples, found->releases > 1 ? ", each with several releases" : "");
    char text[NVDP__BOUND_TEXT];
    nvdp__print_row(
        to, "epsilon",
        "at delta %g; confidence of shown and of the interval: %g %% for all %zu pairs together",
        found->delta, 100 * found->confidence, found->pairs);
    if (isfinite(found->certified))
        nvdp__print_row(to, promise(attacked), "%s for any two texts",
                        nvdp__bound(text, found->certified));
    if (!isnan(found->guess))
        nvdp__print_row(to, "proven", "right at most %s of the time, for any two texts",
                        nvdp__share_bound(text, found->guess));
    if (!isnan(found->word_epsilon)) {
        nvdp__print_row(to, "per word", "%s for any two texts that differ in one word",
                        nvdp__bound(text, found->word_epsilon));
        nvdp__print_row(to, "", "right at most %s of the time, for any two such texts",
                        nvdp__share_bound(text, found->word_guess));
    }
    fputc('\n', to);
}

/* Reports the first pair above a proven limit: the sampler, densities, integral or proof is wrong, or it is chance. */
static void write_verdict(const struct nvdp__attacked *attacked, const void *of,
                          struct nvdp__writer *say) {
    const struct nvdp_pair_attacks *found = of;
    char text[6][NVDP__BOUND_TEXT];
    for (size_t i = 0; i < found->pairs; i++) {
        const struct nvdp_pair_attack *p = &found->pair[i];
        if (p->holds) continue;
        nvdp__append(say, "%s: VIOLATION: texts %zu and ", attacked->name, p->p);
        if (p->word > 0)
            nvdp__append(say, "the same with a word of text %zu as word %zu", p->q, p->word);
        else
            nvdp__append(say, "%zu", p->q);
        if (has_words(p))
            nvdp__append(say, ", which differ in %zu adjacent words by %zu,", p->changed[0],
                         p->changed[1]);
        nvdp__append(say,
                     " at delta %g: expected shown <= exact <= %s, found %s, %s, %s; and a "
                     "lower bound of right below its upper bounds, found %s, %s, %s; "
                     "confidence of shown and right: %g %%",
                     found->delta, p->proven < found->certified ? "proven" : promise(attacked),
                     nvdp__bound_below(text[0], p->shown), nvdp__bound(text[1], p->exact),
                     nvdp__bound(text[2], fmin(p->proven, found->certified)),
                     nvdp__bound_below(text[3], p->right_interval.low),
                     nvdp__bound(text[4], p->right_max),
                     nvdp__bound(text[5], isnan(p->proven_right) ? 1 : p->proven_right),
                     100 * found->confidence);
        return;
    }
}

static nvdp_status run(const struct nvdp__attacked *attacked, void *found) {
    struct nvdp_certificate certificate = NVDP_RESULT(struct nvdp_certificate);
    struct nvdp__run_options options;
    nvdp__auto(nvdp__run_close) struct nvdp__run opened = {0};
    struct nvdp__pair_words words;
    certificate.epsilon = INFINITY;
    if (nvdp_config_get(attacked->config, "run") != NULL) {
        NVDP_TRY(open_run(attacked, &options, &opened));
        NVDP_TRY(certify(attacked, opened.model, &certificate));
    }
    if (certificate.word.holds)
        words = (struct nvdp__pair_words){
            .data = opened.dataset,
            .model = opened.model,
            .clip = {.word = certificate.word.clip,
                     .text = certificate.radius,
                     .window = (double)opened.model->info.nvib.clip.window},
            .batch = options.batch};
    return nvdp__attack_pairs(attacked->ctx, attacked->posteriors,
                              certificate.word.holds ? &words : NULL,
                              isnan(attacked->claimed) ? certificate.epsilon : attacked->claimed,
                              attacked->config, found);
}

static void release(void *found) {
    nvdp_pair_attacks_free(found);
}

static const char *const pair_options[] = {NVDP__ATTACK_POSTERIORS_OPTIONS,
                                           "pair",
                                           "pairs",
                                           "samples",
                                           "claimed",
                                           "delta",
                                           "confidence",
                                           NULL};

const struct nvdp__attack nvdp__attack_row_pair = {
    .target = NVDP_ATTACK_POSTERIORS,
    .per_word = true,
    .right = "the more likely of two texts, mean over pairs",
    .options = pair_options,
    .size = sizeof(struct nvdp_pair_attacks),
    .run = run,
    .table = &nvdp__result_pair_attacks,
    .add = add_promise,
    .head = print_head,
    .weak = is_weak,
    .verdict = write_verdict,
    .release = release};
