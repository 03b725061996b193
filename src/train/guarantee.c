/* The guarantee of a run, and the run's measurements. The first part names, labels, reads and lists the privacy reports
 * of a run (run.h, include/nvdp/measured.h), because a run can have several reports with different options. The second
 * part reads the guarantee from the run's records and writes it as the first line about privacy
 * (include/nvdp/guarantee.h). */
#include "train/run.h"

#include "base/array.h"
#include "base/cache.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "job/dp.h"
#include "options/schema.h"
#include "rdp/options.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <nvdp/certificate.h>
#include <nvdp/guarantee.h>
#include <nvdp/measured.h>
#include <nvdp/method.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== the privacy reports of a run ==== */

/* The options on which a report depends, in addition to the options of the measures. */
static const char *const of_texts[] = {"split", "limit"};
enum { OF_TEXTS = sizeof of_texts / sizeof *of_texts };

/* Returns the i-th option on which a report depends, with *value NULL if it is unset or has its
 * default. Returns false beyond the last option. */
static bool setting(const struct nvdp_config *config, size_t i, const char **name,
                    const char **value) {
    struct nvdp__place place;
    if (i < OF_TEXTS) {
        *name = of_texts[i];
    } else {
        if (!nvdp__schema_row(&nvdp__privacy_schema, i - OF_TEXTS, &place)) return false;
        *name = place.row->name;
    }
    *value = NULL;
    for (size_t k = 0; *value == NULL && k < nvdp_config_count(config); k++) {
        const struct nvdp_option *row = nvdp_config_option(config, k);
        const char *found, *usual = row->default_value;
        if (strcmp(row->name, *name) != 0 || row->sets != NULL) continue;
        if (usual == NULL)
            usual = row->type == NVDP_OPTION_FLAG     ? "false"
                    : row->type == NVDP_OPTION_CHOICE ? row->choices[0]
                                                      : "";
        found = nvdp_config_get(config, *name);
        if (found != NULL && strcmp(found, usual) != 0) *value = found;
    }
    return true;
}

nvdp_status nvdp_measured_name(struct nvdp_context *ctx, const struct nvdp_config *config,
                               const char *stem, char **out) {
    enum { LONGEST = 120 };
    const char *name, *value;
    char *made = NULL, hex[NVDP__DIGEST_HEX];
    size_t size = 0;
    FILE *to = open_memstream(&made, &size);
    for (size_t i = 0; to != NULL && setting(config, i, &name, &value); i++) {
        if (value == NULL) continue;
        const bool flag = strcmp(value, "true") == 0;
        nvdp__fprintf(to, flag ? "-%s" : "-%s-", name);
        static const char plain[] =
            ".0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        for (const char *c = flag ? "" : value; *c != '\0'; c++)
            fputc(strchr(plain, *c) != NULL ? *c : '_', to);
    }
    if (to == NULL || fclose(to) != 0) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    if (size > LONGEST) { /* long lists are replaced by a digest */
        struct nvdp__digest digest = nvdp__digest_begin();
        nvdp__digest_text(&digest, made);
        nvdp__digest_end(&digest, hex);
        nvdp__snprintf(made, size, "-%.12s", hex);
    }
    *out = nvdp__format(ctx, "%s%s.json", stem, made);
    free(made);
    return *out != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

void nvdp__measured_label(const struct nvdp_config *config, json_t *report) {
    const char *name, *value, *limit = nvdp_config_get(config, "limit");
    json_t *settings = json_object();
    for (size_t i = 0; setting(config, i, &name, &value); i++)
        if (value != NULL) json_object_set_new(settings, name, json_string(value));
    json_object_set_new(report, "settings", settings);
    const json_t *n = json_object_get(report, "n");
    if (n != NULL) {
        const size_t max_texts = limit != NULL ? (size_t)strtoull(limit, NULL, 10) : 0;
        json_object_set_new(
            report, "complete",
            json_boolean(max_texts == 0 || (size_t)json_integer_value(n) < max_texts));
    }
}

/* ---- reading ---- */

/* Accepts privacy.json and the names that nvdp_measured_name() makes. */
static int is_measurement(const struct dirent *entry) {
    static const char of_names[] =
        "-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const char *name = entry->d_name;
    const size_t length = strlen(name);
    return strcmp(name, "privacy.json") == 0 ||
           (strncmp(name, "privacy-", 8) == 0 && length > 13 && strspn(name, of_names) == length &&
            strcmp(name + length - 5, ".json") == 0);
}

static nvdp_status add_measurement(struct nvdp_context *ctx, const char *directory,
                                   const char *name, const json_t *run,
                                   struct nvdp__measurements *to) {
    nvdp__autofree char *copy = nvdp__strdup(ctx, name);
    nvdp__autoptr(json_decref) json_t *report = NULL;
    NVDP_TRY(NVDP__MADE(copy));
    NVDP_TRY(nvdp__json_read_optional(ctx, directory, name, &report));
    if (report == NULL) return NVDP_OK; /* the file was removed in the meantime */
    const json_t *releases = json_object_get(json_object_get(report, "bdp"), "releases");
    const json_t *complete = json_object_get(report, "complete");
    const json_t *config = json_object_get(run, "config"), *data = json_object_get(run, "data");
    /* True if the default split was measured, and training scored all texts of this split. */
    const bool whole = json_object_get(json_object_get(report, "settings"), "split") == NULL &&
                       json_integer_value(json_object_get(config, "limit_dev")) <= 0 &&
                       json_integer_value(json_object_get(config, "folds")) <= 0;
    struct nvdp__measurement made = {
        .name = copy,
        .report = report,
        .releases = json_is_number(releases) ? json_number_value(releases) : 1,
        .texts = (size_t)json_integer_value(json_object_get(report, "n")),
        .of_texts = whole ? (size_t)json_integer_value(json_object_get(data, "test_texts")) : 0,
        .main = strcmp(name, "privacy.json") == 0};
    made.single = made.releases == 1;
    made.complete =
        complete != NULL ? json_is_true(complete) : made.texts == 0 || made.texts >= made.of_texts;
    NVDP_TRY(NVDP__PUSH(ctx, to->list, to->count, to->capacity, made));
    copy = NULL;
    report = NULL;
    return NVDP_OK;
}

nvdp_status nvdp__measurements_read(struct nvdp_context *ctx, const char *directory,
                                    const json_t *run, struct nvdp__measurements *out) {
    struct dirent **entry = NULL;
    nvdp_status status = NVDP_OK;
    nvdp__auto(nvdp__measurements_release) struct nvdp__measurements made = {0};
    const int count = scandir(directory, &entry, is_measurement, NULL);
    if (count < 0) return nvdp__fail_errno(ctx, errno, "%s: cannot list the directory", directory);
    for (int i = 0; i < count; i++) {
        if (status == NVDP_OK)
            status = add_measurement(ctx, directory, entry[i]->d_name, run, &made);
        free(entry[i]);
    }
    free(entry);
    NVDP_TRY(status);
    NVDP__SORT(made.list, made.count, NVDP__DOWN(struct nvdp__measurement, complete),
               NVDP__DOWN(struct nvdp__measurement, single),
               NVDP__DOWN(struct nvdp__measurement, main),
               NVDP__UP(struct nvdp__measurement, name));
    return NVDP__HAND_OVER(out, made);
}

void nvdp__measurements_release(struct nvdp__measurements *all) {
    for (size_t i = 0; i < all->count; i++) {
        free(all->list[i].name);
        json_decref(all->list[i].report);
    }
    free(all->list);
    *all = (struct nvdp__measurements){0};
}

nvdp_status nvdp_measured_list(struct nvdp_context *ctx, const char *run, char **out) {
    nvdp__auto(nvdp__measurements_release) struct nvdp__measurements all = {0};
    nvdp__autoptr(json_decref) json_t *records = NULL, *list = json_array();
    NVDP_TRY(nvdp__json_read_optional(ctx, run, "run.json", &records));
    NVDP_TRY(nvdp__measurements_read(ctx, run, records, &all));
    for (size_t i = 0; i < all.count; i++) {
        const struct nvdp__measurement *at = &all.list[i];
        json_array_append_new(
            list, json_pack("{s:s, s:b, s:I, s:o, s:f, s:O?}", "file", at->name, "complete",
                            at->complete, "texts", (json_int_t)at->texts, "of_texts",
                            at->of_texts > 0 ? json_integer((json_int_t)at->of_texts) : json_null(),
                            "releases", at->releases, "settings",
                            json_object_get(at->report, "settings")));
    }
    *out = json_dumps(list, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (*out == NULL || json_array_size(list) != all.count)
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "measurements: out of memory");
    return NVDP_OK;
}

/* ==== the guarantee of a run ==== */

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
        made.named_bound = nvdp__older_named_bound(NVDP_THEOREM_NONE, made.clip, (int)made.releases,
                                                   made.numbers, made.epsilon, made.delta);
    return made;
}

bool nvdp__guarantee_is_useful(const struct nvdp_guarantee *of) {
    const struct nvdp_guarantee copy = whole(of);
    return copy.noise && nvdp__is_useful(copy.epsilon, copy.named_bound);
}

/* ---- as text ---- */

static void write_measured(const struct nvdp_guarantee *of, FILE *to) {
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
                      nvdp__share_bound(of->infinite_share).text);
    else
        nvdp__fprintf(to, " two of them are up to %s nats apart", nvdp__bound(of->largest).text);
    nvdp__fprintf(to, " (one sample, order %g)", of->order);
    if (!isnan(of->named))
        nvdp__fprintf(to, ", and the text of a sample is named in %s of the tries",
                      nvdp__share_bound(of->named).text);
    fputc('.', to);
}

static void write_training(const struct nvdp_guarantee *of, FILE *to) {
    if (isnan(of->training_epsilon)) {
        fputs(" Not covered: the texts that the encoder was trained on.", to);
        return;
    }
    if (isinf(of->training_epsilon)) {
        fputs(" The encoder was trained privately, as its owner states.", to);
        return;
    }
    nvdp__fprintf(to, " One training example (zero-out): epsilon %s at delta %s",
                  nvdp__bound(of->training_epsilon).text, nvdp__bound(of->training_delta).text);
    if (isfinite(of->training_mu)) nvdp__fprintf(to, ", mu %s", nvdp__bound(of->training_mu).text);
    fputs(", by private training (" NVDP__EXACT_ARITHMETIC("its") ").", to);
}

static void write_line(const void *guarantee, FILE *to) {
    const struct nvdp_guarantee copy = whole(guarantee), *of = &copy;
    if (of->token_noise)
        fputs(
            "No guarantee: this run draws the noise of its texts from its seed, and whoever knows "
            "the seed can remove the noise. nvdp privacy measures what unknown noise protects.",
            to);
    else if (!of->noise)
        nvdp__fprintf(to, "No guarantee: method %s adds no noise to what it makes of a text.",
                      of->method);
    else if (isfinite(of->epsilon)) {
        if (of->word.holds) nvdp__fprintf(to, "%s ", nvdp__word_text(&of->word, of->releases).text);
        fputs(nvdp__proven_text(of->epsilon, of->delta, of->named_bound,
                                nvdp__samples_text(of->releases).text)
                  .text,
              to);
    } else
        fputs("No guarantee over all texts (the preset certified gives one).", to);
    if (of->noise && !of->token_noise && !nvdp__guarantee_is_useful(of)) write_measured(of, to);
    write_training(of, to);
}

static void write_guesses(const void *guarantee, FILE *to) {
    const struct nvdp_guarantee copy = whole(guarantee), *of = &copy;
    if (nvdp__word_is_useful(&of->word) && of->word.guesses > 0) {
        nvdp__write_word(&of->word, of->releases, !nvdp__guarantee_is_useful(of), to);
        if (nvdp__guarantee_is_useful(of)) fputc(' ', to);
    }
    if (nvdp__guarantee_is_useful(of) && of->guesses > 0)
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

static void take_guesses(const json_t *list, size_t *guesses, struct nvdp_bounded_guess *to) {
    const json_t *guess;
    size_t i;
    json_array_foreach(list, i, guess) {
        if (*guesses < NVDP_GUESSES)
            to[(*guesses)++] = (struct nvdp_bounded_guess){number_at(guess, "baseline"),
                                                           number_at(guess, "bound")};
    }
}

static void take_word(const json_t *proven, struct nvdp_word_claim *to) {
    const json_t *phrase = json_object_get(proven, "phrase");
    if (!json_is_object(proven)) return;
    *to = (struct nvdp_word_claim){.holds = true,
                                   .clip = number_at(proven, "clip"),
                                   .window = number_at(proven, "window"),
                                   .mu = number_at(proven, "mu"),
                                   .epsilon = number_at(proven, "epsilon"),
                                   .delta = number_at(proven, "delta"),
                                   .radius = number_at(proven, "radius"),
                                   .phrase_mu = number_at(phrase, "mu"),
                                   .phrase_epsilon = number_at(phrase, "epsilon"),
                                   .phrase_radius = number_at(phrase, "radius")};
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
        to->named_bound = nvdp__older_named_bound(
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

nvdp_status nvdp__run_guarantee(struct nvdp_context *ctx, const char *run, json_t *record,
                                struct nvdp_guarantee *out) {
    struct nvdp_guarantee made = NOTHING;
    nvdp__autoptr(json_decref) json_t *records = json_incref(record), *result = NULL;
    nvdp__auto(nvdp__measurements_release) struct nvdp__measurements measured = {0};
    const char *name = NULL, *noise = NULL;
    enum nvdp_method method;
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (run == NULL) return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "run: expected one, found none");
    if (records == NULL) NVDP_TRY(nvdp__json_read_optional(ctx, run, "run.json", &records));
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
    return NVDP__GIVE(out, &made);
}

nvdp_status nvdp_run_guarantee(struct nvdp_context *ctx, const char *run,
                               struct nvdp_guarantee *out) {
    return nvdp__run_guarantee(ctx, run, NULL, out);
}
