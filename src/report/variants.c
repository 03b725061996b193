/* A run's options: run->variant has the options that distinguish methods, and report_command() returns the command line
 * that repeats the run. report_options() is the entry point. */
#include "report/parts.h"

#include "base/own.h"
#include "base/sentence.h"
#include <ctype.h>
#include <math.h>
#include <nvdp/train.h>
#include <stdlib.h>
#include <string.h>

bool report_method(const char *name, struct nvdp_method_info *out) {
    enum nvdp_method method;
    return nvdp_method_find(NULL, name, &method) == NVDP_OK &&
           nvdp_method_describe(NULL, method, out) == NVDP_OK;
}

bool report_is_reference(const char *method) {
    struct nvdp_method_info info = NVDP_RESULT(struct nvdp_method_info);
    return report_method(method, &info) && !info.is_private;
}

bool report_is_gaussian(const char *method) {
    struct nvdp_method_info info = NVDP_RESULT(struct nvdp_method_info);
    return report_method(method, &info) && info.is_private && !info.has_weights;
}

bool report_is_seeded(const struct report_run *run) {
    return run->sanitizer != NULL && (!run->sanitized || run->insecure_seed);
}

/* Copies all options in `config`, which has the form of run.json, into one flat object by name. On request, includes
 * the options of the bottleneck. `options` has the names and positions of options. */
static void flatten(const struct nvdp_config *options, const json_t *config, bool bottleneck,
                    json_t *to) {
    for (size_t i = 0; i < nvdp_config_count(options); i++) {
        const struct nvdp_option *option = nvdp_config_option(options, i);
        char key[64];
        snprintf(key, sizeof key, "%s", option->key != NULL ? option->key : option->name);
        for (char *c = key; *c != '\0'; c++) {
            if (*c == '-') *c = '_';
        }
        if (!bottleneck && (option->traits & NVDP_TRAIT_BOTTLENECK) != 0) continue;
        const json_t *from =
            option->parent == NULL ? config : json_object_get(config, option->parent);
        json_t *value = json_object_get(from, key);
        if (json_is_number(
                value)) /* a real number, so that a hand-written 1 equals the program's 1.0 */
            json_object_set_new(to, option->name, json_real(json_number_value(value)));
        else if (value != NULL)
            json_object_set(to, option->name, value);
    }
}

/* Returns the values that nvdp train uses for options that are not given, including values that the run's method,
 * regularizer and sequence clip imply. The caller frees them with nvdp_config_free(). */
static nvdp_status usual_options(struct nvdp_context *ctx, const struct report_run *run,
                                 struct nvdp_config **out) {
    const json_t *nvib = json_object_get(run->config, "nvib");
    const char *regularizer = json_string_value(json_object_get(nvib, "regularizer"));
    NVDP_TRY(nvdp_config_create(ctx, "train", out));
    (void)nvdp_config_set(*out, "method", run->method); /* an unknown method implies nothing */
    if (regularizer != NULL) (void)nvdp_config_set(*out, "regularizer", regularizer);
    if (!isnan(run->clip_sequence)) (void)nvdp_config_set(*out, "clip-sequence", "1");
    return NVDP_OK;
}

/* Returns the values of usual_options() in one flat object. */
static nvdp_status defaults(struct nvdp_context *ctx, const struct nvdp_config *options,
                            bool bottleneck, json_t **out) {
    char *text = NULL;
    NVDP_TRY(nvdp_config_json(options, &text));
    nvdp__autoptr(json_decref) json_t *root = nvdp__json_taken(text), *flat = json_object();
    if (root == NULL || flat == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    flatten(options, root, bottleneck, flat);
    if (bottleneck) {
        json_object_set_new(flat, "regularizer", json_string("published"));
        json_object_set_new(flat, "clip-sequence", json_string("inf"));
    }
    return NVDP__HAND_OVER(out, flat);
}

/* Replaces the last `word` in the text; numbers match only as a whole. Takes ownership of the text. Returns NULL if
 * out of memory. */
static char *replaced(struct nvdp_context *ctx, char *text, const char *word, const char *by) {
    const char *found = NULL;
    size_t size = strlen(word);
    bool number = isdigit((unsigned char)word[0]) != 0;
    for (const char *at = text != NULL ? strstr(text, word) : NULL; at != NULL;
         at = strstr(at + 1, word)) {
        bool within =
            (at > text && isdigit((unsigned char)at[-1])) || isdigit((unsigned char)at[size]);
        if (!number || !within) found = at;
    }
    if (found == NULL) return text;
    char *made = nvdp__format(ctx, "%.*s%s%s", (int)(found - text), text, by, found + size);
    free(text);
    return made;
}

enum { DIGEST_DIGITS = 12 }; /* digits of the digest in names of sweeps */

/* Replaces task, seed and fold in the path of the base run, so that runs with different base runs have equal options.
 * "runs/sst2-base-s3-DIGEST" becomes "runs/{task}-base-s{seed}-*", as in grids, and "base/fold-2" becomes
 * "base/fold-{fold}". Removes the model, which is the model of the base run. */
static nvdp_status generalize_base(struct nvdp_context *ctx, struct report_run *run) {
    const char *path = json_string_value(json_object_get(run->variant, "from-base"));
    char seed[24], fold[32];
    if (path == NULL) return NVDP_OK;
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)run->seed);
    snprintf(fold, sizeof fold, "fold-%lld", (long long)run->fold);
    char *text = nvdp__strdup(ctx, path), *digest = text != NULL ? strrchr(text, '-') : NULL;
    if (digest != NULL && strlen(digest) == 1 + DIGEST_DIGITS &&
        strspn(digest + 1, "0123456789abcdef") == DIGEST_DIGITS)
        memcpy(digest + 1, "*", 2);
    if (run->fold > 0) text = replaced(ctx, text, fold, "fold-{fold}");
    text = replaced(ctx, text, run->task, "{task}");
    text = replaced(ctx, text, seed, "{seed}");
    if (text == NULL) return NVDP_ERR_MEMORY;
    json_object_set_new(run->variant, "from-base", json_string(text));
    json_object_del(run->variant, "model");
    free(text);
    return NVDP_OK;
}

/* Generalizes the path of the model. A run of a sweep has the grid's path, such as "tuned/{task}-{seed}". In the path
 * of another run, replaces eta if the model was pretrained for the run's noise: "adaptive/laplace-75" becomes
 * "adaptive/laplace-{eta}". */
static nvdp_status generalize_model(struct nvdp_context *ctx, struct report_run *run) {
    const char *path = json_string_value(json_object_get(run->variant, "model"));
    char eta[24];
    if (path != NULL && run->model != NULL) {
        json_object_set_new(run->variant, "model", json_string(run->model));
        return NVDP_OK;
    }
    if (path == NULL || run->sanitizer == NULL || !(run->eta > 0)) return NVDP_OK;
    snprintf(eta, sizeof eta, "%g", run->eta);
    char *text = replaced(ctx, nvdp__strdup(ctx, path), eta, "{eta}");
    if (text == NULL) return NVDP_ERR_MEMORY;
    json_object_set_new(run->variant, "model", json_string(text));
    free(text);
    return NVDP_OK;
}

/* Options that make no different method: they define groups, or are ignored. */
static const char *const no_difference[] = {"task",
                                            "data",
                                            "method",
                                            "lambda-g",
                                            "lambda-d",
                                            "seed",
                                            "fold",
                                            "certified-epsilon",
                                            "certified-delta",
                                            "certified-releases",
                                            "certified-guess"}; /* C replaces these options */

/* Returns the default of a training option as text. */
static const char *default_text(const struct nvdp_config *options, const char *name) {
    for (size_t i = 0; i < nvdp_config_count(options); i++) {
        const struct nvdp_option *option = nvdp_config_option(options, i);
        if (strcmp(option->name, name) == 0 && option->default_value != NULL)
            return option->default_value;
    }
    return "";
}

/* Replaces values that add nothing to a label by "": the encoder of the model, no private training, no preset. Removes
 * the noise of runs with a target epsilon, because the noise follows from that epsilon and the number of texts, which
 * differs between folds. */
static void silence_usual(const struct nvdp_config *options, json_t *variant) {
    static const char *const budget[] = {"target-epsilon", "dp-noise"};
    const char *encoder = json_string_value(json_object_get(variant, "encoder"));
    if (encoder != NULL && strcmp(encoder, default_text(options, "encoder")) == 0)
        json_object_set_new(variant, "encoder", json_string(""));
    if (json_number_value(json_object_get(variant, "target-epsilon")) > 0)
        json_object_set_new(variant, "dp-noise", json_string(""));
    for (size_t i = 0; i < sizeof budget / sizeof *budget; i++) {
        if (json_number_value(json_object_get(variant, budget[i])) == 0)
            json_object_set_new(variant, budget[i], json_string(""));
    }
    const json_t *preset = json_object_get(variant, "preset"); /* NULL without a preset */
    const char *name = nvdp__preset_name(json_string_value(preset));
    if (preset != NULL)
        json_object_set_new(variant, "preset", json_string(name != NULL ? name : ""));
}

nvdp_status report_options(struct nvdp_context *ctx, struct report_run *run) {
    bool bottleneck = !report_is_reference(run->method);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *options = NULL;
    NVDP_TRY(usual_options(ctx, run, &options));
    NVDP_TRY(defaults(ctx, options, bottleneck, &run->variant));
    flatten(options, run->config, bottleneck, run->variant);
    for (size_t i = 0; i < sizeof no_difference / sizeof *no_difference; i++) {
        json_object_del(run->variant, no_difference[i]);
    }
    for (size_t i = 0; i < nvdp_config_count(options); i++) {
        const struct nvdp_option *option = nvdp_config_option(options, i);
        if ((option->traits & NVDP_TRAIT_NO_EFFECT) != 0)
            json_object_del(run->variant, option->name);
    }
    /* The size of the clip is a setting. The existence of a sequence clip, with its proof, makes another method. */
    if (bottleneck)
        json_object_set_new(run->variant, "clip-sequence",
                            json_string(isnan(run->clip_sequence) ? "" : "sequence clip"));
    silence_usual(options, run->variant);
    if (run->sanitizer != NULL) { /* the method's name and setting include the sanitizer */
        json_object_del(run->variant, "token-noise");
        json_object_del(run->variant, "eta");
    }
    NVDP_TRY(generalize_base(ctx, run));
    return generalize_model(ctx, run);
}

/* --- the command line --- */

static void put_option(FILE *to, const char *key, const json_t *value) {
    if (value == NULL || json_is_null(value) || json_is_false(value)) return;
    fprintf(to, " --%s", key);
    if (json_is_true(value)) return;
    fputc(' ', to);
    if (json_is_number(value))
        report_put_real(to, json_number_value(value));
    else
        nvdp__put_shell(to, json_string_value(value));
}

static bool is_among(const char *key, size_t count, const char *const *names) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(key, names[i]) == 0) return true;
    }
    return false;
}

/* These options come first, in this order. `out` and `seed` come last. */
static const char *const leading[] = {"task", "data", "model", "method"};

struct command {
    const struct report_run *run;
    json_t *flat, *usual;
};

static void print_command(const void *of, FILE *to) {
    static const char *const placed[] = {"task",     "data",     "model", "method",
                                         "lambda-g", "lambda-d", "seed",  "out"};
    const struct command *command = of;
    json_t *flat = command->flat, *value;
    const json_t *g = json_object_get(flat, "lambda-g"), *d = json_object_get(flat, "lambda-d");
    const char *key;
    fputs("nvdp train", to);
    for (size_t i = 0; i < sizeof leading / sizeof *leading; i++) {
        put_option(to, leading[i], json_object_get(flat, leading[i]));
    }
    if (!report_is_reference(command->run->method) && g != NULL && json_equal(g, d)) {
        put_option(to, "lambda", g);
    } else if (!report_is_reference(command->run->method)) {
        put_option(to, "lambda-g", g);
        put_option(to, "lambda-d", d);
    }
    json_object_foreach(flat, key, value) {
        if (is_among(key, sizeof placed / sizeof *placed, placed)) continue;
        if (!json_equal(value, json_object_get(command->usual, key))) put_option(to, key, value);
    }
    fprintf(to, " --seed %llu", (unsigned long long)command->run->seed);
    put_option(to, "out", json_object_get(flat, "out"));
}

nvdp_status report_command(struct nvdp_context *ctx, struct report_run *run) {
    bool bottleneck = !report_is_reference(run->method);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *options = NULL;
    nvdp__autoptr(json_decref) json_t *usual = NULL, *flat = json_object();
    NVDP_TRY(NVDP__MADE(flat));
    NVDP_TRY(usual_options(ctx, run, &options));
    NVDP_TRY(defaults(ctx, options, bottleneck, &usual));
    flatten(options, run->config, bottleneck, flat);
    return nvdp__printed(ctx, print_command, &(struct command){run, flat, usual}, &run->command);
}
