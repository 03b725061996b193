/* A run's options: what tells methods apart, and the command line that would make the run again. */
#include "experiments/report/parts.h"

#include <math.h>
#include <nvdp/train.h>
#include <stdlib.h>
#include <string.h>

bool nvdp__is_reference(const char *method) {
    return strcmp(method, "base") == 0 || strcmp(method, "reg") == 0;
}

/* run.json names some options otherwise than the command line. */
static const char *const other_name[][2] = {
    {"clip_mu_radius", "clip_mu"},
    {"text", "text_column"},
    {"pair", "text_pair_column"},
    {"label", "label_column"},
};

static const char *option_name(const char *key) {
    for (size_t i = 0; i < sizeof other_name / sizeof *other_name; i++) {
        if (strcmp(key, other_name[i][0]) == 0) return other_name[i][1];
    }
    return key;
}

/* Numbers are compared by value: a hand-made 1 is the 1.0 that the program writes. */
static json_t *comparable(json_t *value) {
    return json_is_number(value) ? json_real(json_number_value(value)) : json_incref(value);
}

/* All options in one object, members of nested ones included; those of the bottleneck on request.
 */
static void flatten(const json_t *config, bool bottleneck, json_t *to) {
    const char *key, *inner;
    json_t *value, *member;
    json_object_foreach((json_t *)config, key, value) {
        if (!json_is_object(value)) {
            json_object_set_new(to, key, comparable(value));
            continue;
        }
        if (!bottleneck && strcmp(key, "columns") != 0) continue;
        json_object_foreach(value, inner, member) {
            json_object_set_new(to, option_name(inner), comparable(member));
        }
    }
}

/* What nvdp train takes for options that are not given, with what the run's method and regulariser
 * imply. */
static nvdp_status defaults(struct nvdp_context *ctx, const struct nvdp__report_run *run,
                            bool bottleneck, json_t **out) {
    struct nvdp_train_config config = nvdp_train_config_default();
    const json_t *nvib = json_object_get(run->config, "nvib");
    const char *regularizer = json_string_value(json_object_get(nvib, "regularizer"));
    char *text = NULL;
    (void)nvdp_method_find(ctx, run->method,
                           &config.method); /* one we do not know implies nothing */
    if (regularizer != NULL && strcmp(regularizer, "kl") == 0)
        config.nvib.regularizer = NVDP_REGULARIZER_KL;
    nvdp_train_config_imply(&config);
    config.nvib.regularizer = nvdp_train_config_default().nvib.regularizer;
    NVDP_RETURN_IF_FAILED(nvdp_train_config_json(ctx, &config, &text));
    json_t *root = json_loads(text, 0, NULL);
    json_t *flat = json_object();
    free(text);
    if (root != NULL && flat != NULL) flatten(root, bottleneck, flat);
    bool good = root != NULL && flat != NULL;
    json_decref(root);
    if (good) {
        *out = flat;
        return NVDP_OK;
    }
    json_decref(flat);
    return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
}

/* The groups' own keys, and what changes no result. */
static const char *const no_difference[] = {"task",      "data",      "method",
                                            "lambda_g",  "lambda_d",  "seed",
                                            "out",       "overwrite", "checkpoint_seconds",
                                            "log_every", "cache",     "eval_batch"};
/* Without a bottleneck these have nothing to weigh. */
static const char *const of_the_bottleneck[] = {"kl_schedule", "kl_delay", "kl_ramp"};

nvdp_status nvdp__report_options(struct nvdp_context *ctx, struct nvdp__report_run *run) {
    bool bottleneck = !nvdp__is_reference(run->method);
    NVDP_RETURN_IF_FAILED(defaults(ctx, run, bottleneck, &run->variant));
    flatten(run->config, bottleneck, run->variant);
    for (size_t i = 0; i < sizeof no_difference / sizeof *no_difference; i++) {
        json_object_del(run->variant, no_difference[i]);
    }
    for (size_t i = 0; !bottleneck && i < sizeof of_the_bottleneck / sizeof *of_the_bottleneck;
         i++) {
        json_object_del(run->variant, of_the_bottleneck[i]);
    }
    return NVDP_OK;
}

/* --- the command line --- */

static void put_value(FILE *to, const json_t *value) {
    if (json_is_number(value)) {
        nvdp__put_real(to, json_number_value(value));
    } else if (json_is_string(value)) {
        nvdp__put_shell(to, json_string_value(value));
    }
}

static void put_option(FILE *to, const char *key, const json_t *value) {
    if (value == NULL || json_is_null(value) || json_is_false(value)) return;
    fputs(" --", to);
    for (const char *c = key; *c != '\0'; c++) {
        fputc(*c == '_' ? '-' : *c, to);
    }
    if (json_is_true(value)) return;
    fputc(' ', to);
    put_value(to, value);
}

static bool is_among(const char *key, size_t count, const char *const *names) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(key, names[i]) == 0) return true;
    }
    return false;
}

/* These come first, in this order; `out` and `seed` last. */
static const char *const leading[] = {"task", "data", "model", "method"};

static void put_command(FILE *to, const struct nvdp__report_run *run, json_t *flat,
                        const json_t *usual) {
    static const char *const placed[] = {"task",     "data",     "model", "method",
                                         "lambda_g", "lambda_d", "seed",  "out"};
    fputs("nvdp train", to);
    for (size_t i = 0; i < sizeof leading / sizeof *leading; i++) {
        put_option(to, leading[i], json_object_get(flat, leading[i]));
    }
    const json_t *g = json_object_get(flat, "lambda_g"), *d = json_object_get(flat, "lambda_d");
    if (!nvdp__is_reference(run->method) && g != NULL && json_equal(g, d)) {
        put_option(to, "lambda", g);
    } else if (!nvdp__is_reference(run->method)) {
        put_option(to, "lambda_g", g);
        put_option(to, "lambda_d", d);
    }
    const char *key;
    json_t *value;
    json_object_foreach(flat, key, value) {
        if (is_among(key, sizeof placed / sizeof *placed, placed)) continue;
        if (!json_equal(value, json_object_get(usual, key))) put_option(to, key, value);
    }
    fprintf(to, " --seed %llu", (unsigned long long)run->seed);
    put_option(to, "out", json_object_get(flat, "out"));
}

char *nvdp__report_command(struct nvdp_context *ctx, const struct nvdp__report_run *run) {
    bool bottleneck = !nvdp__is_reference(run->method);
    json_t *usual = NULL;
    if (defaults(ctx, run, bottleneck, &usual) != NVDP_OK) return NULL;
    json_t *flat = json_object();
    flatten(run->config, bottleneck, flat);
    struct nvdp__sheet sheet;
    if (nvdp__sheet_open(&sheet) != NULL && flat != NULL) put_command(sheet.to, run, flat, usual);
    char *text = nvdp__sheet_text(ctx, &sheet);
    json_decref(usual);
    json_decref(flat);
    return text;
}
