/* Reads the guarantee of a run from its records and writes it as the first line on the run's
 * privacy (include/nvdp/guarantee.h). The first part prints; the second reads run.json,
 * result.json and the measurements. */
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "job/dp.h"
#include "options/schema.h"
#include "rdp/options.h"
#include "train/run.h"

#include <math.h>
#include <nvdp/certificate.h>
#include <nvdp/guarantee.h>
#include <nvdp/method.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct nvdp_guarantee NOTHING = {.struct_size = sizeof NOTHING,
                                              .epsilon = INFINITY,
                                              .delta = NAN,
                                              .releases = 1,
                                              .clip = NAN,
                                              .information = NAN,
                                              .order = NAN,
                                              .largest = NAN,
                                              .infinite_share = NAN,
                                              .named = NAN,
                                              .training_epsilon = NAN,
                                              .training_delta = NAN,
                                              .training_mu = INFINITY,
                                              .named_bound = NAN};

/* Copies the caller's struct, which may be an older, shorter version. */
static struct nvdp_guarantee whole(const struct nvdp_guarantee *from) {
    struct nvdp_guarantee made = NOTHING;
    memcpy(&made, from, nvdp__min(from->struct_size, sizeof made));
    if (!(made.named_bound > 0))
        made.named_bound = nvdp__named_bound_of(NVDP_THEOREM_NONE, made.clip, (int)made.releases,
                                                made.numbers, made.epsilon, made.delta);
    return made;
}

bool nvdp_guarantee_is_useful(const struct nvdp_guarantee *of) {
    const struct nvdp_guarantee copy = whole(of);
    return copy.noise && nvdp__is_useful(copy.epsilon, copy.named_bound);
}

/* ---- as text ---- */

static void write_proven(const struct nvdp_guarantee *of, FILE *to) {
    char text[NVDP__PROVEN_TEXT], samples[NVDP__SAMPLES_TEXT];
    fputs(nvdp__proven_text(of->epsilon, of->delta, of->named_bound,
                            nvdp__samples_text(of->releases, samples), text),
          to);
}

static void write_measured(const struct nvdp_guarantee *of, FILE *to) {
    char text[NVDP__BOUND_TEXT];
    if (of->texts == 0) {
        fputs(" Nothing is measured yet.", to);
        return;
    }
    if (!of->partial)
        nvdp__fprintf(to, " Measured on %zu texts:", of->texts);
    else if (of->of_texts > of->texts)
        nvdp__fprintf(to, " Measured on %zu of %zu texts only:", of->texts, of->of_texts);
    else
        nvdp__fprintf(to, " Measured on a sample of %zu texts only:", of->texts);
    if (isinf(of->largest))
        nvdp__fprintf(to, " %s of the pairs are infinitely far apart",
                      nvdp__share_bound(text, of->infinite_share));
    else
        nvdp__fprintf(to, " two of them are up to %s nats apart", nvdp__bound(text, of->largest));
    nvdp__fprintf(to, " (one sample, order %g)", of->order);
    if (!isnan(of->named))
        nvdp__fprintf(to, ", and the text of a sample is named in %s of the tries",
                      nvdp__share_bound(text, of->named));
    fputc('.', to);
}

static void write_training(const struct nvdp_guarantee *of, FILE *to) {
    char epsilon[NVDP__BOUND_TEXT], delta[NVDP__BOUND_TEXT], mu[NVDP__BOUND_TEXT];
    if (isnan(of->training_epsilon)) {
        fputs(" Not covered: the texts that the encoder was trained on.", to);
        return;
    }
    if (isinf(of->training_epsilon)) {
        fputs(" The encoder was trained privately, as its owner states.", to);
        return;
    }
    nvdp__fprintf(to, " One training example (zero-out): epsilon %s at delta %s",
                  nvdp__bound(epsilon, of->training_epsilon),
                  nvdp__bound(delta, of->training_delta));
    if (isfinite(of->training_mu)) nvdp__fprintf(to, ", mu %s", nvdp__bound(mu, of->training_mu));
    fputs(", by private training (" NVDP__EXACT_ARITHMETIC("its") ").", to);
}

static void write_line(const void *guarantee, FILE *to) {
    const struct nvdp_guarantee copy = whole(guarantee), *of = &copy;
    char word[NVDP__WORD_TEXT];
    if (of->token_noise)
        fputs(
            "No guarantee: this run draws the noise of its texts from its seed, and whoever knows "
            "the seed can remove the noise. nvdp privacy measures what unknown noise protects.",
            to);
    else if (!of->noise)
        nvdp__fprintf(to, "No guarantee: method %s adds no noise to what it makes of a text.",
                      of->method);
    else if (isfinite(of->epsilon)) {
        if (of->word.holds)
            nvdp__fprintf(to, "%s ", nvdp__word_text(&of->word, of->releases, word));
        write_proven(of, to);
    } else
        fputs("No guarantee over all texts (the preset certified gives one).", to);
    if (of->noise && !of->token_noise && !nvdp_guarantee_is_useful(of)) write_measured(of, to);
    write_training(of, to);
}

static void write_guesses(const void *guarantee, FILE *to) {
    const struct nvdp_guarantee copy = whole(guarantee), *of = &copy;
    if (nvdp__word_is_useful(&of->word) && of->word.guesses > 0) {
        nvdp__write_word(&of->word, of->releases, !nvdp_guarantee_is_useful(of), to);
        if (nvdp_guarantee_is_useful(of)) fputc(' ', to);
    }
    if (nvdp_guarantee_is_useful(of) && of->guesses > 0)
        nvdp__write_guesses(of->releases, of->clip, of->guesses, of->guess, to);
}

nvdp_status nvdp_guarantee_line(struct nvdp_context *ctx, const struct nvdp_guarantee *guarantee,
                                char **out) {
    return nvdp__printed(ctx, write_line, guarantee, out);
}

nvdp_status nvdp_guarantee_guesses(struct nvdp_context *ctx, const struct nvdp_guarantee *guarantee,
                                   char **out) {
    return nvdp__printed(ctx, write_guesses, guarantee, out);
}

/* ---- from a run's records ---- */

/* Returns a number, which may be stored as the text "inf"; NaN for anything else. */
static double number_at(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (json_is_number(value)) return json_number_value(value);
    return json_is_string(value) && strcmp(json_string_value(value), "inf") == 0 ? INFINITY : NAN;
}

static void take_guesses(const json_t *list, size_t *guesses, struct nvdp_guess *to) {
    const json_t *guess;
    size_t i;
    json_array_foreach(list, i, guess) {
        if (*guesses < NVDP_GUESSES)
            to[(*guesses)++] =
                (struct nvdp_guess){number_at(guess, "baseline"), number_at(guess, "bound")};
    }
}

static void take_word(const json_t *proven, struct nvdp_word_claim *to) {
    if (!json_is_object(proven)) return;
    to->holds = true;
    to->clip = number_at(proven, "clip");
    to->window = number_at(proven, "window");
    to->mu = number_at(proven, "mu");
    to->epsilon = number_at(proven, "epsilon");
    to->delta = number_at(proven, "delta");
    to->radius = number_at(proven, "radius");
    const json_t *phrase = json_object_get(proven, "phrase");
    to->phrase_mu = number_at(phrase, "mu");
    to->phrase_epsilon = number_at(phrase, "epsilon");
    to->phrase_radius = number_at(phrase, "radius");
    take_guesses(json_object_get(phrase, "guess"), &to->guesses, to->phrase_guess);
    to->guesses = 0;
    take_guesses(json_object_get(proven, "guess"), &to->guesses, to->guess);
}

static void take_certificate(const json_t *proven, struct nvdp_guarantee *to) {
    if (!json_is_object(proven)) return;
    to->epsilon = number_at(proven, "epsilon");
    to->delta = number_at(proven, "delta");
    to->releases = (size_t)json_integer_value(json_object_get(proven, "releases"));
    to->clip = number_at(proven, "clip");
    to->numbers = (size_t)json_integer_value(json_object_get(proven, "numbers"));
    to->information = number_at(proven, "information_bits") * M_LN2;
    const char *theorem = json_string_value(json_object_get(proven, "theorem"));
    to->named_bound = number_at(proven, "named_bound");
    if (isnan(to->named_bound))
        to->named_bound = nvdp__named_bound_of(
            theorem != NULL && strcmp(theorem, "a") == 0 ? NVDP_THEOREM_SEQUENCE
                                                         : NVDP_THEOREM_NONE,
            to->clip, (int)to->releases, to->numbers, to->epsilon, to->delta);
    take_guesses(json_object_get(proven, "guess"), &to->guesses, to->guess);
    take_word(json_object_get(proven, "word"), &to->word);
}

static void take_measured(const struct nvdp__measurement *from, struct nvdp_guarantee *to) {
    const json_t *rd = json_object_get(from->report, "rd");
    if (!json_is_object(rd)) return;
    const json_t *linkage = json_object_get(from->report, "linkage");
    to->texts = from->texts;
    to->partial = !from->complete;
    to->of_texts = from->of_texts;
    to->order = number_at(from->report, "order");
    to->infinite_share = number_at(from->report, "infinite_share");
    to->largest = number_at(json_object_get(rd, "sum"), "max");
    if (json_integer_value(json_object_get(linkage, "releases")) == 1)
        to->named = number_at(linkage, "first");
}

static void take_training(const json_t *dp, struct nvdp_guarantee *to) {
    struct nvdp_dp_guarantee promised;
    if (!nvdp__dp_promise(dp, false, &promised)) return;
    to->training_epsilon = promised.epsilon;
    to->training_delta = promised.delta;
    if (json_is_number(json_object_get(dp, "mu"))) to->training_mu = number_at(dp, "mu");
}

nvdp_status nvdp_run_guarantee(struct nvdp_context *ctx, const char *run,
                               struct nvdp_guarantee *out) {
    struct nvdp_guarantee made = NOTHING;
    nvdp__autoptr(json_decref) json_t *records = NULL, *result = NULL;
    nvdp__auto(nvdp__measurements_release) struct nvdp__measurements measured = {0};
    const char *name = NULL, *noise = NULL;
    enum nvdp_method method;
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (run == NULL) return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "run: expected one, found none");
    NVDP_TRY(nvdp__json_read_optional(ctx, run, "run.json", &records));
    NVDP_TRY(nvdp__json_read_optional(ctx, run, "result.json", &result));
    const json_t *config = json_object_get(records, "config");
    if (config == NULL || result == NULL)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            config == NULL ? "%s: expected a finished run, found no run.json with a configuration"
                           : "%s: expected a finished run, found one without result.json: "
                             "finish it with {resume}",
            run);
    NVDP_TRY(nvdp__measurements_read(ctx, run, records, &measured));
    NVDP_TRY(
        nvdp__json_string(ctx, run, config, "method", nvdp_method_name(NVDP_METHOD_BASE), &name));
    NVDP_TRY(nvdp_method_find(ctx, name, &method));
    NVDP_TRY(nvdp__json_string(ctx, run, config, "token_noise", "none", &noise));
    nvdp__snprintf(made.method, sizeof made.method, "%s", name);
    made.noise = nvdp_method_is_private(method);
    made.token_noise = strcmp(noise, "none") != 0;
    take_certificate(json_object_get(result, "certified"), &made);
    if (measured.count > 0) take_measured(measured.list, &made);
    take_training(nvdp__dp_planned(result, records), &made);
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}
