/* Expands the tasks, methods and lists of a grid into runs: merges the options of a task with those of a method, layer
 * by layer; enumerates every choice of values; names each run. */
#include "sweep/sweep.h"

#include "base/cache.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"

#include <ctype.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_RUNS = 10000,
    NAME_SIZE = 64,
    QUOTE_ROOM = 64,
    WHERE_SIZE = 512,
    DIGEST_DIGITS = 12,
    PART_SIZE = 160
};

/* One task with one method: the values that all its runs share. */
struct part {
    struct nvdp_context *ctx;
    const char *path, *task;
    const json_t *root, *method;
    const struct nvdp_config *known; /* the existing options */
    json_t *options;                 /* lists of values by option name */
    bool private_;
};

/* Keys of grid.json, and of a method's entry, that are not training options. */
static const char *const keys_of_file[] = {"tasks",   "methods", "data",   "per_task", "per_method",
                                           "privacy", "share",   "attack", "keep",     NULL};
static const char *const keys_of_entry[] = {"name", "method", NULL};
static const char *const no_keys[] = {NULL};

static bool is_listed(const char *key, const char *const *keys) {
    for (; *keys != NULL; keys++)
        if (strcmp(key, *keys) == 0) return true;
    return false;
}

/* --- training options: named as on the command line, with '-' or '_' --- */

/* Normalizes a name: "max-length" to "max_length", "lambdas" to "lambda". Returns false if the name is too long for any
 * option. */
static bool option_name(const char *given, char name[NAME_SIZE]) {
    size_t length = strlen(given);
    if (length >= NAME_SIZE) return false;
    for (size_t i = 0; i <= length; i++)
        name[i] = given[i] == '-' ? '_' : given[i];
    if (strcmp(name, "lambdas") == 0 || strcmp(name, "seeds") == 0) name[length - 1] = '\0';
    return true;
}

/* Returns the training option in `known` that a grid may set by this name (with '_' for '-'), or NULL. The sweep sets
 * out, task and method. Options of a single call are not allowed in a grid. */
static const struct nvdp_option *grid_option(const struct nvdp_config *known, const char *name) {
    static const char *const reserved[] = {"out", "task", "method", NULL};
    char other[NAME_SIZE];
    for (size_t i = 0; i < nvdp_config_count(known) && !is_listed(name, reserved); i++) {
        const struct nvdp_option *option = nvdp_config_option(known, i);
        if (option_name(option->name, other) && strcmp(name, other) == 0)
            return (option->traits & NVDP_TRAIT_UNSAVED) == 0 ? option : NULL;
    }
    return NULL;
}

/* Fails unless `value` has the option's type. `where` and `name` are for the message. */
static nvdp_status check_type(struct nvdp_context *ctx, const char *where,
                              const struct nvdp_option *option, const char *name,
                              const json_t *value) {
    const char *expected = "text", *text = json_string_value(value);
    bool good = text != NULL;
    switch (option->type) {
    case NVDP_OPTION_FLAG:
        expected = "true or false";
        good = json_is_boolean(value);
        break;
    case NVDP_OPTION_INTEGER:
    case NVDP_OPTION_SEED:
        expected = "a whole number";
        good = json_is_integer(value);
        break;
    case NVDP_OPTION_REAL: /* JSON has infinities as text */
        expected = "a number";
        good = json_is_number(value) ||
               (text != NULL && (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0));
        break;
    default:
        break;
    }
    if (good) return NVDP_OK;
    char found[QUOTE_ROOM] = "";
    size_t length = json_dumpb(value, found, sizeof found - 1, JSON_COMPACT | JSON_ENCODE_ANY);
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key '%s': expected %s, found %.*s", where, name,
                      expected, (int)(sizeof found - 1),
                      length > 0 && length < sizeof found ? found : "something else");
}

static nvdp_status layer_add(const struct part *part, const char *where, const char *key,
                             json_t *value, json_t *layer) {
    struct nvdp_context *ctx = part->ctx;
    char name[NAME_SIZE];
    nvdp__autoptr(json_decref) json_t *list = NULL;
    size_t i;
    const json_t *item;
    if (!option_name(key, name))
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: unknown key '%.*s...'", where, NAME_SIZE, key);
    const struct nvdp_option *option = grid_option(part->known, name);
    if (option == NULL) {
        struct nvdp__guess guess = {.word = key};
        for (size_t k = 0; k < nvdp_config_count(part->known); k++) {
            const char *text = nvdp_config_option(part->known, k)->name;
            if (option_name(text, name) && grid_option(part->known, name) != NULL)
                nvdp__guess(&guess, name);
        }
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: unknown key '%s'%s", where, key, guess.text);
    }
    if (json_object_get(layer, name) != NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key '%s' is given twice", where, key);
    if (json_is_array(value) && json_array_size(value) == 0)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: key '%s': expected a value or a list with at least one value, found an empty list",
            where, key);
    list = json_is_array(value) ? json_incref(value) : json_pack("[O]", value);
    json_array_foreach(list, i, item) {
        NVDP_TRY(check_type(ctx, where, option, name, item));
    }
    return json_object_set(layer, name, list) == 0 /* fails if `list` is NULL */
               ? NVDP_OK
               : nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
}

/* Resolves "lambda", which stands for lambda_g and lambda_d, against earlier layers.  A later layer replaces an earlier
 * layer. */
static nvdp_status settle_lambda(struct nvdp_context *ctx, const char *where, const json_t *layer,
                                 json_t *options) {
    bool both = json_object_get(layer, "lambda") != NULL;
    bool g = json_object_get(layer, "lambda_g") != NULL;
    bool d = json_object_get(layer, "lambda_d") != NULL;
    if (both && (g || d))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected either 'lambdas' or 'lambda_g' and 'lambda_d', found both",
                          where);
    if (both) {
        json_object_del(options, "lambda_g");
        json_object_del(options, "lambda_d");
    }
    if (g && d) json_object_del(options, "lambda");
    return NVDP_OK;
}

static nvdp_status put_layer(const struct part *part, const char *where, const json_t *object,
                             const char *const *skip, json_t *options) {
    const char *key;
    json_t *value;
    nvdp__autoptr(json_decref) json_t *layer = json_object();
    json_object_foreach((json_t *)object, key, value) {
        if (!is_listed(key, skip)) NVDP_TRY(layer_add(part, where, key, value, layer));
    }
    NVDP_TRY(settle_lambda(part->ctx, where, layer, options));
    if (json_object_update(options, layer) != 0)
        return nvdp__fail(part->ctx, NVDP_ERR_MEMORY, "out of memory");
    return NVDP_OK;
}

static nvdp_status put_override(const struct part *part, const char *key, const char *name,
                                json_t *options) {
    char where[WHERE_SIZE];
    const json_t *object = json_object_get(json_object_get(part->root, key), name);
    snprintf(where, sizeof where, "%s: %s.%s", part->path, key, name);
    return put_layer(part, where, object, no_keys, options);
}

static nvdp_status layers(const struct part *part, json_t **out) {
    char where[WHERE_SIZE];
    const char *label = sweep_grid_label(part->method), *name = sweep_grid_method(part->method);
    nvdp__autoptr(json_decref) json_t *options = json_object();
    if (options == NULL) return nvdp__fail(part->ctx, NVDP_ERR_MEMORY, "out of memory");
    NVDP_TRY(put_layer(part, part->path, part->root, keys_of_file, options));
    NVDP_TRY(put_override(part, "per_task", part->task, options));
    NVDP_TRY(put_override(part, "per_method", name, options));
    if (strcmp(label, name) != 0) NVDP_TRY(put_override(part, "per_method", label, options));
    snprintf(where, sizeof where, "%s: method '%s'", part->path, label);
    NVDP_TRY(put_layer(part, where, json_is_object(part->method) ? part->method : NULL,
                       keys_of_entry, options));
    return NVDP__HAND_OVER(out, options);
}

double sweep_run_number(const struct sweep_run *run, const char *option) {
    return strtod(nvdp_config_get(run->config, option), NULL);
}

/* --- names of runs: a name depends only on the resolved options, so a changed grid keeps its unchanged runs --- */

/* Options that have no effect on the result. */
static const char *const without_effect[] = {"out", "checkpoint_seconds", "log_every"};

static json_t *json_difference(const json_t *defaults, const json_t *object) {
    json_t *difference = json_object();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        const json_t *usual = json_object_get(defaults, key);
        if (usual != NULL && json_equal(usual, value)) continue;
        if (json_is_object(value) && json_is_object(usual))
            json_object_set_new(difference, key, json_difference(usual, value));
        else
            json_object_set(difference, key, value);
    }
    return difference;
}

/* Computes a digest of the options that differ from their defaults. So an option that a later version adds changes no
 * name. */
static nvdp_status options_digest(const struct part *part, const struct nvdp_config *config,
                                  char hex[NVDP__DIGEST_HEX]) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *usual = NULL;
    char *given_text = NULL, *usual_text = NULL;
    NVDP_TRY(nvdp_config_create(part->ctx, "train", &usual));
    NVDP_TRY(nvdp_config_json(usual, &usual_text));
    nvdp__autoptr(json_decref) json_t *defaults = nvdp__json_taken(usual_text);
    NVDP_TRY(nvdp_config_json(config, &given_text));
    nvdp__autoptr(json_decref) json_t *object = nvdp__json_taken(given_text),
                                      *difference = json_difference(defaults, object);
    for (size_t i = 0; i < sizeof without_effect / sizeof without_effect[0]; i++)
        json_object_del(difference, without_effect[i]);
    nvdp__autofree char *text =
        json_dumps(difference, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (text == NULL) return nvdp__fail(part->ctx, NVDP_ERR_MEMORY, "out of memory");
    struct nvdp__digest digest = nvdp__digest_begin();
    nvdp__digest_text(&digest, text);
    nvdp__digest_end(&digest, hex);
    return NVDP_OK;
}

/* Writes the readable part of a name: regularizer, latent width and lambdas. */
static void readable(const struct sweep_run *run, char *part) {
    part[0] = '\0';
    if (!run->private_) return;
    const char *regularizer = nvdp_config_get(run->config, "regularizer");
    double latent = sweep_run_number(run, "latent-dim");
    double g = sweep_run_number(run, "lambda-g"), d = sweep_run_number(run, "lambda-d");
    char width[32] = "";
    if (latent > 0) snprintf(width, sizeof width, "-p%.0f", latent);
    int length =
        snprintf(part, PART_SIZE, "%s%s", strcmp(regularizer, "kl") == 0 ? "-kl" : "", width);
    if (g == d)
        snprintf(part + length, PART_SIZE - (size_t)length, "-l%g", g);
    else
        snprintf(part + length, PART_SIZE - (size_t)length, "-g%g-d%g", g, d);
}

/* --- options that do not matter --- */

/* Removes options that only bottlenecks have, so that a model without a bottleneck runs once per seed. */
static void drop_private(const struct nvdp_config *known, json_t *options) {
    void *next;
    void *at = json_object_iter(options);
    for (; at != NULL; at = next) {
        next = json_object_iter_next(options, at);
        const char *name = json_object_iter_key(at);
        const struct nvdp_option *option = grid_option(known, name);
        if (option != NULL && (option->traits & NVDP_TRAIT_BOTTLENECK) != 0)
            json_object_del(options, name);
    }
}

/* --- one run --- */

/* Returns the path for the task, or the path for all tasks. */
static json_t *task_path(const json_t *root, const char *key, const char *task) {
    json_t *paths = json_object_get(root, key);
    return json_is_object(paths) ? json_object_get(paths, task) : paths;
}

/* Returns true if the texts of a finished run are noised, according to its run.json. */
static bool is_noised(const char *run) {
    nvdp__autoptr(json_decref) json_t *record = NULL;
    (void)nvdp__json_read(NULL, nvdp__path(run, "run.json").text, &record);
    const char *noise =
        json_string_value(json_object_get(json_object_get(record, "config"), "token_noise"));
    return noise != NULL && strcmp(noise, "none") != 0;
}

/* Finds the run directory that matches a pattern with `*`, as in the names that sweeps give to runs. Among several
 * matches, takes the run without noised texts, so that a resumed grid with `token_noise` finds the same base run. */
static nvdp_status find_base(const struct part *part, const char *pattern, json_t *given) {
    glob_t found;
    bool good = glob(pattern, 0, NULL, &found) == 0;
    size_t count = good ? found.gl_pathc : 0, plain = 0;
    const char *base = count == 1 ? found.gl_pathv[0] : NULL;
    for (size_t i = 0; count > 1 && i < count; i++) {
        if (is_noised(found.gl_pathv[i])) continue;
        base = plain++ == 0 ? found.gl_pathv[i] : NULL;
    }
    if (base != NULL) json_object_set_new(given, "from_base", json_string(base));
    if (good) globfree(&found);
    if (base != NULL) return NVDP_OK;
    return nvdp__fail(part->ctx, NVDP_ERR_INPUT,
                      "%s: key 'from_base': %s: expected one run directory, found %zu", part->path,
                      pattern, count);
}

/* Returns the value of the option in braces in a path; NULL if the run does not have it. */
static const char *place_value(const json_t *given, const char *at, size_t *length,
                               char number[QUOTE_ROOM]) {
    char name[NAME_SIZE];
    const char *end = strchr(at, '}');
    if (end == NULL || (size_t)(end - at) > sizeof name) return NULL;
    snprintf(name, sizeof name, "%.*s", (int)(end - at - 1), at + 1);
    const json_t *value = json_object_get(given, name);
    *length = (size_t)(end - at) + 1;
    if (value == NULL && strcmp(name, "seed") == 0) return "1";
    if (json_is_string(value)) return json_string_value(value);
    if (!json_is_number(value)) return NULL;
    snprintf(number, QUOTE_ROOM, "%.15g", json_number_value(value));
    return number;
}

/* Replaces "{task}", "{seed}", "{eta}" and other given options in a path, so that each run has its own base run, model
 * or folder. */
static nvdp_status fill_in(const struct part *part, const char *key, json_t *given) {
    const char *at = json_string_value(json_object_get(given, key));
    char number[QUOTE_ROOM];
    nvdp__autofree char *text = NULL;
    size_t size = 0;
    if (at == NULL) return NVDP_OK;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return nvdp__fail(part->ctx, NVDP_ERR_MEMORY, "out of memory");
    while (*at != '\0') {
        size_t length = 1;
        const char *value = *at == '{' ? place_value(given, at, &length, number) : NULL;
        if (value != NULL)
            fputs(value, out);
        else
            fputc(*at, out);
        at += value != NULL ? length : 1;
    }
    if (fclose(out) != 0) return nvdp__fail(part->ctx, NVDP_ERR_MEMORY, "out of memory");
    if (strcmp(key, "from_base") == 0 && strchr(text, '*') != NULL)
        return find_base(part, text, given);
    json_object_set_new(given, key, json_string(text));
    return NVDP_OK;
}

/* Fails if a required key is missing: there is no default. */
static nvdp_status check_needed(const struct part *part, const struct nvdp_config *config) {
    struct nvdp_context *ctx = part->ctx;
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *whole = NULL;
    if (nvdp_config_get(config, "data") == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'data': expected a folder for task '%s', found none", part->path,
                          part->task);
    if (nvdp_config_get(config, "model") == NULL && nvdp_config_get(config, "from-base") == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'model': expected the directory of a BERT, found none; or use "
                          "'from_base' to start from a run",
                          part->path);
    if (strcmp(part->task, "tsv") == 0 && (nvdp_config_get(config, "text-column") == NULL ||
                                           nvdp_config_get(config, "label-column") == NULL))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: task 'tsv' needs the keys 'text_column' and 'label_column'",
                          part->path);
    NVDP_TRY(nvdp_config_copy(config, &whole));
    nvdp_status status = nvdp_config_set(whole, "out", "runs");
    if (status == NVDP_OK) status = nvdp_config_check(whole);
    return status == NVDP_ERR_ARGUMENT ? nvdp__fail_prefix(ctx, NVDP_ERR_INPUT, part->path)
                                       : status;
}

/* Sets the options of a run: "lambda" first, so that lambda_g and lambda_d override it. */
static nvdp_status resolve(const struct part *part, const json_t *chosen, struct sweep_run *run) {
    static const char *const paths[] = {"from_base", "model", "data"};
    json_t *data = task_path(part->root, "data", part->task), *value;
    nvdp__autoptr(json_decref) json_t *given =
        json_pack("{s:s, s:s}", "task", part->task, "method", sweep_grid_method(part->method));
    const char *name;
    if (data != NULL) json_object_set(given, "data", data);
    if (!part->private_) json_object_set_new(given, "lambda", json_integer(0));
    value = json_object_get(chosen, "lambda");
    if (value != NULL) json_object_set(given, "lambda", value);
    json_object_foreach((json_t *)chosen, name, value) {
        json_object_set(given, name, value);
    }
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        NVDP_TRY(fill_in(part, paths[i], given));
    nvdp__autofree char *text = json_dumps(given, JSON_REAL_PRECISION(17));
    if (text == NULL) return nvdp__fail(part->ctx, NVDP_ERR_MEMORY, "out of memory");
    NVDP_TRY(nvdp_config_create(part->ctx, "train", &run->config));
    const nvdp_status status = nvdp_config_load_text(run->config, part->path, text);
    NVDP_TRY(status == NVDP_ERR_ARGUMENT ? NVDP_ERR_INPUT : status);
    return check_needed(part, run->config);
}

static nvdp_status describe(const struct part *part, const json_t *chosen, struct sweep_run *run) {
    char hex[NVDP__DIGEST_HEX], said[PART_SIZE];
    const char *name;
    json_t *list;
    run->private_ = part->private_;
    run->attack = json_string_value(task_path(part->root, "attack", part->task));
    run->label = nvdp__strdup(part->ctx, sweep_grid_label(part->method));
    run->task = nvdp__strdup(part->ctx, part->task);
    run->varied = json_object();
    NVDP_TRY(NVDP__MADE(run->label, run->task, run->varied));
    const char *model = json_string_value(json_object_get(chosen, "model"));
    if (model != NULL && strchr(model, '{') != NULL)
        NVDP_TRY(NVDP__MADE(run->model = nvdp__strdup(part->ctx, model)));
    json_object_foreach(part->options, name, list) {
        bool listed = json_array_size(list) > 1 && strncmp(name, "lambda", 6) != 0 &&
                      strcmp(name, "seed") != 0;
        if (listed) json_object_set(run->varied, name, json_object_get(chosen, name));
    }
    NVDP_TRY(options_digest(part, run->config, hex));
    readable(run, said);
    run->name = nvdp__format(part->ctx, "%s-%s%s-s%s-%.*s", run->task,
                             nvdp_config_get(run->config, "method"), said,
                             nvdp_config_get(run->config, "seed"), DIGEST_DIGITS, hex);
    return NVDP__MADE(run->name);
}

static nvdp_status add_run(const struct part *part, const json_t *chosen, size_t round,
                           struct sweep_grid *grid) {
    nvdp__auto(sweep_run_release) struct sweep_run run = {.round = round, .position = grid->count};
    NVDP_TRY(resolve(part, chosen, &run));
    NVDP_TRY(describe(part, chosen, &run));
    const struct sweep_run *known = NULL; /* an earlier run with the same options */
    for (size_t i = 0; i < grid->count && known == NULL; i++)
        if (strcmp(grid->run[i].name, run.name) == 0) known = &grid->run[i];
    if (known != NULL && strcmp(known->label, run.label) != 0)
        nvdp__log(part->ctx, NVDP_LOG_NOTICE,
                  "%s: a run of '%s' is the same as a run of '%s' and is done once: %s", part->path,
                  run.label, known->label, run.name);
    if (known != NULL) return NVDP_OK;
    if (grid->count == MAX_RUNS)
        return nvdp__fail(part->ctx, NVDP_ERR_INPUT, "%s: expected at most %d runs, found more",
                          part->path, MAX_RUNS);
    NVDP_TRY(
        nvdp__reserve(part->ctx, &grid->run, &grid->capacity, grid->count + 1, sizeof *grid->run));
    return NVDP__HAND_OVER(&grid->run[grid->count++], run);
}

/* --- all choices --- */

/* Returns the n-th choice; the last option changes fastest. *round is the index of its seed. */
static json_t *choose(const json_t *options, size_t n, size_t *round) {
    json_t *chosen = json_object();
    const char *name;
    json_t *list;
    size_t total = 1;
    json_object_foreach((json_t *)options, name, list) {
        total *= json_array_size(list);
    }
    json_object_foreach((json_t *)options, name, list) {
        total /= json_array_size(list);
        size_t digit = n / total % json_array_size(list);
        json_object_set(chosen, name, json_array_get(list, digit));
        if (strcmp(name, "seed") == 0) *round = digit;
    }
    return chosen;
}

static nvdp_status add_choices(const struct part *part, struct sweep_grid *grid) {
    const char *name;
    const json_t *list;
    size_t total = 1;
    json_object_foreach(part->options, name, list) {
        total *= json_array_size(list);
        if (total > MAX_RUNS)
            return nvdp__fail(part->ctx, NVDP_ERR_INPUT,
                              "%s: expected at most %d runs, found more for task '%s', method '%s'",
                              part->path, MAX_RUNS, part->task, sweep_grid_label(part->method));
    }
    for (size_t i = 0; i < total; i++) {
        size_t round = 0;
        nvdp__autoptr(json_decref) json_t *chosen = choose(part->options, i, &round);
        if (chosen == NULL) return nvdp__fail(part->ctx, NVDP_ERR_MEMORY, "out of memory");
        NVDP_TRY(add_run(part, chosen, round, grid));
    }
    return NVDP_OK;
}

nvdp_status sweep_grid_expand(struct nvdp_context *ctx, const char *path, const char *task,
                              const json_t *method, struct sweep_grid *grid) {
    enum nvdp_method id;
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *known = NULL;
    nvdp__autoptr(json_decref) json_t *options = NULL;
    struct part part = {
        .ctx = ctx, .path = path, .task = task, .root = grid->root, .method = method};
    NVDP_TRY(nvdp_method_find(ctx, sweep_grid_method(method), &id));
    NVDP_TRY(nvdp_config_create(ctx, "train", &known));
    part.known = known;
    NVDP_TRY(layers(&part, &options));
    part.options = options;
    part.private_ = nvdp_method_is_private(id);
    if (!part.private_) drop_private(known, options);
    return add_choices(&part, grid);
}
