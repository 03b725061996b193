/* Finds directories of runs and reads their files. Sections: training results, measurements, finding, choice of one
 * measurement per run; report_read() at the end. */
#include "report/parts.h"

#include "base/array.h"
#include "base/file.h"
#include "base/own.h"
#include "base/sentence.h"
#include <nvdp/guess.h>
#include <nvdp/measured.h>
#include <nvdp/rdp.h>

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers and texts in JSON --- */

/* A number of a run, and the place of the number in a file. */
struct field {
    size_t offset;
    struct report_place place;
};
#define FIELD(name) offsetof(struct report_run, name)

static const struct field in_config[] = {
    {FIELD(lambda_g), {{"lambda_g"}, -INFINITY, INFINITY, false}},
    {FIELD(lambda_d), {{"lambda_d"}, -INFINITY, INFINITY, false}},
    {FIELD(clip_sequence), {{"nvib", "clip_sequence"}, 0, INFINITY, false}},
};
static const double CERTIFIED_DELTA = 1e-5;
static const struct field in_result[] = {
    {FIELD(validation), {{"validation"}, -INFINITY, INFINITY, false}},
    {FIELD(seconds), {{"seconds"}, 0, INFINITY, false}},
    {FIELD(majority), {{"test", "majority"}, 0, 1, false}},
};
static const struct field in_training[] = {
    {FIELD(training_epsilon), {{"dp", "pld", "epsilon"}, 0, INFINITY, false}},
    {FIELD(training_delta), {{"dp", "delta"}, 0, 1, false}},
};
/* numbers of privacy.json other than quantities; the second is the worst exact epsilon of privatized texts */
static const struct field in_privacy[] = {
    {FIELD(how.population), {{"bdp", "published", "m"}, 0, INFINITY, false}},
    {FIELD(quantity[REPORT_EXACT_MAX]), {{"largest_epsilon", "high"}, 0, INFINITY, false}},
};
static const struct field in_how[] = {
    {FIELD(how.order), {{"order"}, 0, INFINITY, false}},
    {FIELD(how.texts), {{"n"}, 0, INFINITY, false}},
    {FIELD(how.delta), {{"bdp", "delta"}, 0, 1, false}},
    {FIELD(how.releases), {{"bdp", "releases"}, 0, INFINITY, false}},
};
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

/* Reads a number from `root`, the contents of the file `path`. If the number is missing, *out keeps its value. */
static nvdp_status take_number(struct nvdp_context *ctx, const char *path, const json_t *root,
                               const struct report_place *place, double *out) {
    const char *const *key = place->key;
    int last = 0;
    while (last < 2 && key[last + 1] != NULL) {
        root = json_object_get(root, key[last++]);
    }
    /* The writer prints "nan" if there were no tokens. */
    const char *text = json_string_value(json_object_get(root, key[last]));
    if (!place->needed && text != NULL && strcmp(text, "nan") == 0) return NVDP_OK;
    NVDP_TRY(nvdp__json_real(ctx, path, root, key[last], *out, place->min, place->max, out));
    if (!place->needed || !isnan(*out)) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: expected a number at '%s%s%s%s%s', found none; the file is not from "
                      "nvdp privacy",
                      path, key[0], key[1] != NULL ? "." : "", key[1] != NULL ? key[1] : "",
                      key[2] != NULL ? "." : "", key[2] != NULL ? key[2] : "");
}

static nvdp_status take(struct nvdp_context *ctx, const char *path, const json_t *root,
                        size_t count, const struct field *list, struct report_run *run) {
    for (size_t i = 0; i < count; i++)
        NVDP_TRY(
            take_number(ctx, path, root, &list[i].place, (double *)((char *)run + list[i].offset)));
    return NVDP_OK;
}

/* Reads the quantities of an object. */
static nvdp_status take_quantities(struct nvdp_context *ctx, const char *path, const json_t *root,
                                   enum report_source_of of, struct report_run *run) {
    for (int k = 0; k < REPORT_QUANTITIES; k++)
        if (report_quantities[k].of == of)
            NVDP_TRY(take_number(ctx, path, root, &report_quantities[k].place, &run->quantity[k]));
    return NVDP_OK;
}

/* Reads a text and replaces control characters. Returns "" if the member is missing. */
static nvdp_status take_text(struct nvdp_context *ctx, const struct report_run *run,
                             const json_t *from, const char *key, char **out) {
    const char *text = NULL;
    NVDP_TRY(nvdp__json_string(ctx, run->path, from, key, "", &text));
    *out = nvdp__plain_copy(ctx, text);
    return NVDP__MADE(*out);
}

/* --- run.json, result.json, metrics.jsonl, sweep.json --- */

static nvdp_status read_config(struct nvdp_context *ctx, struct report_run *run) {
    NVDP_TRY(nvdp__json_read(ctx, nvdp__path(run->path, "run.json").text, &run->file));
    const json_t *config = run->config = json_object_get(run->file, "config");
    if (!json_is_object(config))
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s/run.json: expected a run of nvdp train, but the object 'config' is missing",
            run->path);
    NVDP_TRY(take_text(ctx, run, config, "task", &run->task));
    NVDP_TRY(take_text(ctx, run, config, "method", &run->method));
    NVDP_TRY(take_text(ctx, run, config, "data", &run->data));
    for (size_t end = strlen(run->data); end > 1 && run->data[end - 1] == '/'; end--)
        run->data[end - 1] = '\0';
    if (run->task[0] == '\0' || run->method[0] == '\0')
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s/run.json: expected 'task' and 'method' in 'config', found none",
                          run->path);
    const char *noise = json_string_value(json_object_get(config, "token_noise"));
    if (noise != NULL && strcmp(noise, "none") != 0) {
        NVDP_TRY(take_text(ctx, run, config, "token_noise", &run->sanitizer));
        NVDP_TRY(nvdp__json_real(ctx, run->path, config, "eta", NAN, 0, INFINITY, &run->eta));
    }
    if (!report_is_reference(run->method))
        NVDP_TRY(take(ctx, run->path, config, COUNT(in_config), in_config, run));
    if (report_is_gaussian(run->method)) run->lambda_d = NAN;
    if (!(run->clip_sequence > 0 && isfinite(run->clip_sequence))) run->clip_sequence = NAN;
    int64_t seed = 0; /* JSON integers are signed; the 64 bits are the same */
    NVDP_TRY(nvdp__json_int(ctx, run->path, config, "seed", 0, INT64_MIN, INT64_MAX, &seed));
    run->seed = (uint64_t)seed;
    NVDP_TRY(nvdp__json_int(ctx, run->path, config, "fold", 0, 0, INT64_MAX, &run->fold));
    return report_options(ctx, run);
}

/* Returns the certified epsilon. With a sequence clip, it follows from the clip, even for older runs. Otherwise it is
 * the value that training recorded at this delta. */
static double certified(const struct report_run *run, const json_t *result) {
    const double delta = CERTIFIED_DELTA;
    const json_t *nvib = json_object_get(run->config, "nvib");
    const char *weights = json_string_value(json_object_get(nvib, "weights"));
    const json_t *recorded = json_object_get(result, "certified");
    const bool alike = json_number_value(json_object_get(recorded, "delta")) == delta &&
                       json_integer_value(json_object_get(recorded, "releases")) == 1;
    if (!isnan(run->clip_sequence) &&
        (report_is_gaussian(run->method) || (weights != NULL && strcmp(weights, "constant") == 0)))
        return nvdp_gdp_epsilon(2 * run->clip_sequence, delta);
    return alike ? json_number_value(json_object_get(recorded, "epsilon")) : NAN;
}

/* Reads the proven guess bound and bits of one sample, which training recorded, or computes them from the clip of an
 * older run. */
static void take_guess(const json_t *result, struct report_run *run) {
    const json_t *recorded = json_object_get(result, "certified"), *guess;
    const double clip = run->clip_sequence;
    size_t i;
    if (!isnan(clip) && isfinite(run->quantity[REPORT_CERTIFIED])) {
        run->quantity[REPORT_GUESS] = nvdp_guess_bound(REPORT_GUESS_BASELINE, clip, 1, 0);
        run->quantity[REPORT_BITS] = nvdp_guess_information(clip, 1, 0) / M_LN2;
    }
    if (json_integer_value(json_object_get(recorded, "releases")) != 1) return;
    json_array_foreach(json_object_get(recorded, "guess"), i, guess) {
        if (json_number_value(json_object_get(guess, "baseline")) == REPORT_GUESS_BASELINE)
            run->quantity[REPORT_GUESS] = json_number_value(json_object_get(guess, "bound"));
    }
    if (json_is_number(json_object_get(recorded, "information_bits")))
        run->quantity[REPORT_BITS] =
            json_number_value(json_object_get(recorded, "information_bits"));
}

/* Computes the proven numbers per word for one sample, from the mu of all recorded samples and the radius of one
 * sample. */
static void take_word(const json_t *result, struct report_run *run) {
    const json_t *recorded = json_object_get(result, "certified"),
                 *word = json_object_get(recorded, "word");
    const double releases = json_number_value(json_object_get(recorded, "releases")),
                 mu = json_number_value(json_object_get(word, "mu")),
                 radius = json_number_value(json_object_get(word, "radius"));
    const json_int_t numbers = json_integer_value(json_object_get(recorded, "numbers"));
    if (!(releases >= 1) || !(mu > 0) || !(radius > 0) || numbers < 0) return;
    run->quantity[REPORT_WORD] = nvdp_gdp_epsilon(mu / sqrt(releases), CERTIFIED_DELTA);
    run->quantity[REPORT_WORD_GUESS] =
        nvdp_guess_bound(REPORT_GUESS_BASELINE, radius, 1, (size_t)numbers);
}

static json_int_t step_count(const json_t *root) {
    return json_integer_value(json_object_get(json_object_get(root, "dp"), "steps"));
}

static nvdp_status read_result(struct nvdp_context *ctx, struct report_run *run) {
    nvdp__autoptr(json_decref) json_t *root = NULL;
    json_t *value;
    const char *name;
    NVDP_TRY(nvdp__json_read(ctx, nvdp__path(run->path, "result.json").text, &root));
    /* Keeps the first two metrics in the order of the file. */
    json_object_foreach(json_object_get(json_object_get(root, "test"), "metrics"), name, value) {
        if (run->metrics == REPORT_METRICS) break;
        NVDP_TRY(nvdp__json_real(ctx, run->path, value, "mean", NAN, -INFINITY, INFINITY,
                                 &run->score[run->metrics]));
        if (run->metric_key == NULL) run->metric_key = nvdp__strdup(ctx, name);
        char **const metric = &run->metric[run->metrics++];
        *metric = nvdp__plain_copy(ctx, name);
        NVDP_TRY(NVDP__MADE(run->metric_key, *metric));
    }
    if (run->metrics == 0 || isnan(run->score[0]))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s/result.json: expected scores in 'test', 'metrics', found none",
                          run->path);
    NVDP_TRY(take(ctx, run->path, root, COUNT(in_result), in_result, run));
    if (!isnan(run->majority) && strcmp(run->metric_key, "accuracy") != 0) run->majority = 0;
    /* An earlier version wrote the epsilon of the finished steps, not of the planned steps, to result.json. */
    const bool planned = step_count(run->file) > step_count(root);
    NVDP_TRY(
        take(ctx, run->path, planned ? run->file : root, COUNT(in_training), in_training, run));
    if (json_is_true(json_object_get(json_object_get(root, "dp"), "insecure_seed")))
        run->training_epsilon = NAN; /* whoever knows the seed can remove the noise */
    if (!report_is_reference(run->method)) {
        run->quantity[REPORT_CERTIFIED] = certified(run, root);
        take_guess(root, run);
        take_word(root, run);
    }
    return NVDP_OK;
}

/* Reads sweep.json, which only runs of a sweep have. */
static nvdp_status read_sweep(struct nvdp_context *ctx, struct report_run *run) {
    static const char *const keys[] = {"label", "model"};
    char **const places[] = {&run->label, &run->model};
    nvdp__autoptr(json_decref) json_t *sweep = NULL;
    NVDP_TRY(nvdp__json_read_optional(ctx, run->path, "sweep.json", &sweep));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *text = json_string_value(json_object_get(sweep, keys[i]));
        if (text == NULL || text[0] == '\0') continue;
        *places[i] = nvdp__plain_copy(ctx, text);
        NVDP_TRY(NVDP__MADE(*places[i]));
    }
    return NVDP_OK;
}

/* Reads metrics.jsonl. Accepts a missing file, and an incomplete last line of a killed run. */
static nvdp_status read_metrics(struct nvdp_context *ctx, struct report_run *run) {
    const struct nvdp__path path = nvdp__path(run->path, "metrics.jsonl");
    nvdp__autoptr(fclose) FILE *file = NULL;
    nvdp__autofree char *line = NULL;
    size_t room = 0;
    if (!nvdp__exists(path.text)) return NVDP_OK;
    NVDP_TRY(nvdp__fopen_regular(ctx, path.text, &file));
    for (ssize_t size; (size = getline(&line, &room, file)) >= 0;) {
        nvdp__autoptr(json_decref) json_t *entry = json_loadb(line, (size_t)size, 0, NULL);
        const json_t *metrics = json_object_get(json_object_get(entry, "validation"), "metrics"),
                     *first = json_object_get(metrics, run->metric_key);
        const struct report_epoch epoch = {
            .epoch = (double)json_integer_value(json_object_get(entry, "epoch")),
            .validation = report_member_real(first, "mean"),
            .task_loss = report_member_real(entry, "task_loss")};
        if (strcmp(report_member_text(entry, "event"), "epoch") == 0)
            NVDP_TRY(NVDP__PUSH(ctx, run->epoch, run->epochs, run->epoch_capacity, epoch));
    }
    return NVDP_OK;
}

/* Fills a zeroed *run from a directory with run.json and result.json. Returns NVDP_ERR_INPUT, with the message
 * recorded, if a file is broken. */
static nvdp_status read_run(struct nvdp_context *ctx, const char *path, const char *name,
                            struct report_run *run) {
    for (int k = 0; k < REPORT_QUANTITIES; k++) {
        run->quantity[k] = NAN;
    }
    run->score[0] = run->score[1] = run->lambda_g = run->lambda_d = run->clip_sequence = NAN;
    run->validation = run->seconds = run->majority = run->eta = NAN;
    run->training_epsilon = run->training_delta = NAN;
    for (size_t i = 0; i < NVDP_EXACT_FPRS; i++)
        run->tpr[0][i] = run->tpr[1][i] = NAN;
    run->path = nvdp__strdup(ctx, path);
    run->name = nvdp__plain_copy(ctx, name);
    NVDP_TRY(NVDP__MADE(run->path, run->name));
    NVDP_TRY(read_sweep(ctx, run));
    NVDP_TRY(read_config(ctx, run));
    NVDP_TRY(read_result(ctx, run));
    NVDP_TRY(read_metrics(ctx, run));
    return report_command(ctx, run);
}

void report_run_release(struct report_run *run) {
    void *const owned[] = {
        run->name,       run->path,  run->task,      run->method,    run->data,
        run->label,      run->model, run->sanitizer, run->metric[0], run->metric[1],
        run->metric_key, run->epoch, run->command,   run->infinite,  run->infinite_published};
    json_decref(run->file);
    json_decref(run->variant);
    for (size_t k = 0; k < COUNT(owned); k++) {
        free(owned[k]);
    }
    for (size_t k = 0; k < run->candidates; k++) {
        free(run->candidate[k].path);
        json_decref(run->candidate[k].root);
    }
    free(run->candidate);
    *run = (struct report_run){0};
}

/* --- measurements of a finished run: privacy.json, reuse.json, attack.json --- */

static nvdp_status read_histogram(struct nvdp_context *ctx, const char *path, const json_t *from,
                                  struct report_run *run) {
    const json_t *histogram = json_object_get(from, "log10_alpha");
    const json_t *counts = json_object_get(histogram, "counts");
    size_t bins = json_array_size(counts);
    if (bins == 0) return NVDP_OK; /* a Gaussian mechanism has no pseudo-counts */
    if (bins != NVDP_ALPHA_BINS)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'log10_alpha': expected %d counts, found %zu", path,
                          NVDP_ALPHA_BINS, bins);
    NVDP_TRY(nvdp__json_real(ctx, path, histogram, "first", NVDP_ALPHA_FIRST, -100, 100,
                             &run->alpha_first));
    NVDP_TRY(nvdp__json_real(ctx, path, histogram, "width", NVDP_ALPHA_WIDTH, 1e-6, 100,
                             &run->alpha_width));
    for (size_t bin = 0; bin < bins; bin++) {
        run->alpha_count[bin] = json_number_value(json_array_get(counts, bin));
    }
    return NVDP_OK;
}

struct causes {
    double order, below;
    const json_t *list;
};

/* Prints the causes: "order 2.1: padding's logvar 58.6 %, tokens' logvar 44.1 % of the infinite pairs; finite below
 * order 1.585". */
static void print_causes(const void *of, FILE *to) {
    const struct causes *causes = of;
    const json_t *cause;
    size_t k;
    fprintf(to, "order %g: ", causes->order);
    json_array_foreach(causes->list, k, cause) {
        const char *component = json_string_value(json_object_get(cause, "component"));
        const char *quantity = json_string_value(json_object_get(cause, "quantity"));
        const double share = json_number_value(json_object_get(cause, "share"));
        fprintf(to, "%s%.32s's %.32s %s", k > 0 ? ", " : "", component != NULL ? component : "?",
                quantity != NULL ? quantity : "?", report_say_share(share).text);
    }
    fputs(" of the infinite pairs", to);
    if (causes->below > 1) fprintf(to, "; finite for orders below %.6g", causes->below);
}

static nvdp_status read_causes(struct nvdp_context *ctx, const char *path, const json_t *from,
                               char **out) {
    const json_t *why = json_object_get(from, "infinite_pairs");
    struct causes causes = {NAN, 0, json_object_get(why, "causes")};
    nvdp__autofree char *made = NULL;
    if (!json_is_object(why))
        return NVDP_OK; /* no infinite pairs, or written by an older version */
    NVDP_TRY(nvdp__json_real(ctx, path, why, "order", NAN, 0, INFINITY, &causes.order));
    NVDP_TRY(nvdp__json_real(ctx, path, why, "finite_below", 0, 0, INFINITY, &causes.below));
    NVDP_TRY(nvdp__printed(ctx, print_causes, &causes, &made));
    *out = nvdp__plain_copy(ctx, made);
    return NVDP__MADE(*out);
}

/* Reads the trade-off curves of nvdp privacy --exact. */
static nvdp_status read_trade_off(struct nvdp_context *ctx, const char *path, const json_t *exact,
                                  struct report_run *run) {
    static const char *const which[REPORT_TRADE_OFFS] = {"worst", "typical"};
    size_t k;
    const json_t *pair;
    json_array_foreach(json_object_get(exact, "pairs"), k, pair) {
        if (k >= REPORT_TRADE_OFFS) break; /* further pairs were requested by --pair */
        const char *found = json_string_value(json_object_get(pair, "which"));
        const json_t *points = json_object_get(pair, "trade_off");
        if (found == NULL || strcmp(found, which[k]) != 0 ||
            json_array_size(points) != NVDP_EXACT_FPRS)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: exact.pairs[%zu]: expected the %s pair with %d points in "
                              "'trade_off', found the pair '%s' with %zu points",
                              path, k, which[k], NVDP_EXACT_FPRS, found != NULL ? found : "",
                              json_array_size(points));
        for (size_t i = 0; i < NVDP_EXACT_FPRS; i++) {
            const json_t *point = json_array_get(points, i);
            double fpr = NAN;
            NVDP_TRY(nvdp__json_real(ctx, path, point, "fpr", NAN, 0, 1, &fpr));
            NVDP_TRY(nvdp__json_real(ctx, path, point, "tpr", NAN, 0, 1, &run->tpr[k][i]));
            if (fpr != nvdp_exact_fpr(i))
                return nvdp__fail(ctx, NVDP_ERR_INPUT,
                                  "%s: exact.pairs[%zu].trade_off[%zu]: expected 'fpr' %g, found "
                                  "%g",
                                  path, k, i, nvdp_exact_fpr(i), fpr);
        }
    }
    return NVDP_OK;
}

static const double ROUNDING = 1e-4; /* float32 means may exceed C by this share */
/* Reads the options with which a file was measured into run->how. */
static nvdp_status read_how(struct nvdp_context *ctx, const char *path, const json_t *root,
                            struct report_run *run) {
    const char *adjacency = NULL, *split = NULL;
    run->how = (struct report_measured){
        .order = NAN, .delta = NAN, .texts = NAN, .releases = 1, .population = NAN};
    NVDP_TRY(take(ctx, path, root, COUNT(in_how), in_how, run));
    NVDP_TRY(nvdp__json_string(ctx, path, root, "adjacency", "all", &adjacency));
    NVDP_TRY(
        nvdp__json_string(ctx, path, json_object_get(root, "settings"), "split", "dev", &split));
    snprintf(run->how.split, sizeof run->how.split, "%s", split);
    run->how.same_length = strcmp(adjacency, "same-length") == 0;
    run->how.drawn = json_is_object(json_object_get(root, "sample"));
    return NVDP_OK;
}

static nvdp_status read_measures(struct nvdp_context *ctx, const char *path, const json_t *root,
                                 struct report_run *run) {
    const json_t *posterior = json_object_get(root, "posterior"), *from = root;
    const json_t *sanitizer = json_object_get(root, "sanitizer");
    const json_t *equal = json_object_get(root, "equal_length");
    if (sanitizer != NULL && json_is_object(equal)) from = equal;
    NVDP_TRY(read_how(ctx, path, root, run));
    NVDP_TRY(take_quantities(ctx, path, from, REPORT_OF_PRIVACY, run));
    NVDP_TRY(take(ctx, path, from, COUNT(in_privacy), in_privacy, run));
    NVDP_TRY(read_trade_off(ctx, path, json_object_get(root, "exact"), run));
    run->how.given_length = from == equal;
    NVDP_TRY(read_causes(ctx, path, root, &run->infinite));
    NVDP_TRY(read_causes(ctx, path, json_object_get(json_object_get(root, "bdp"), "published"),
                         &run->infinite_published));
    run->insecure_seed = json_is_true(json_object_get(sanitizer, "insecure_seed"));
    run->own_texts = json_is_true(json_object_get(sanitizer, "own_words")) ||
                     json_is_true(json_object_get(sanitizer, "own_choice"));
    if (sanitizer != NULL && run->sanitizer == NULL) {
        run->sanitized = true;
        NVDP_TRY(take_text(ctx, run, sanitizer, "mechanism", &run->sanitizer));
        NVDP_TRY(nvdp__json_real(ctx, path, sanitizer, "eta", NAN, 0, INFINITY, &run->eta));
    }
    /* Infinite if weights are shared: then there is no bound. */
    double *bound = &run->quantity[REPORT_BOUND];
    if (isinf(*bound)) *bound = NAN;
    if (!json_is_object(posterior))
        return NVDP_OK; /* written by an older version, or measured on texts */
    NVDP_TRY(take_quantities(ctx, path, posterior, REPORT_OF_POSTERIOR, run));
    return read_histogram(ctx, path, posterior, run);
}

/* Reads the mean of the first metric from results of nvdp reuse --json. */
static nvdp_status read_readers(struct nvdp_context *ctx, struct report_run *run) {
    static const char *const names[] = {"reuse.json", "attack.json"};
    static const enum report_quantity quantities[] = {REPORT_REUSE, REPORT_ATTACK};
    for (size_t i = 0; i < COUNT(names); i++) {
        nvdp__autoptr(json_decref) json_t *root = NULL;
        NVDP_TRY(nvdp__json_read_optional(ctx, run->path, names[i], &root));
        json_t *metrics = json_object_get(root, "metrics");
        const json_t *first = json_object_iter_value(json_object_iter(metrics));
        NVDP_TRY(nvdp__json_real(ctx, run->path, first, "mean", NAN, -INFINITY, INFINITY,
                                 &run->quantity[quantities[i]]));
    }
    return NVDP_OK;
}

/* Adds a complete measurement as a candidate. Records only the size of an incomplete measurement. */
static nvdp_status add_candidate(struct nvdp_context *ctx, const json_t *from,
                                 struct report_run *run) {
    nvdp__autoptr(json_decref) json_t *root = NULL;
    const char *name = json_string_value(json_object_get(from, "file"));
    nvdp__autofree char *path = nvdp__join(ctx, run->path, name);
    NVDP_TRY(NVDP__MADE(path));
    if (!json_is_true(json_object_get(from, "complete"))) {
        run->part = (size_t)json_integer_value(json_object_get(from, "texts"));
        run->part_of = (size_t)json_integer_value(json_object_get(from, "of_texts"));
        return NVDP_OK;
    }
    NVDP_TRY(nvdp__json_read(ctx, path, &root));
    NVDP_TRY(read_how(ctx, path, root, run));
    const bool exact = json_is_object(json_object_get(root, "exact"));
    NVDP_TRY(NVDP__PUSH(ctx, run->candidate, run->candidates, run->candidate_capacity,
                        (struct report_candidate){NULL, NULL, run->how, exact}));
    NVDP__HAND_OVER(&run->candidate[run->candidates - 1].path, path);
    return NVDP__HAND_OVER(&run->candidate[run->candidates - 1].root, root);
}

static nvdp_status find_measures(struct nvdp_context *ctx, struct report_run *run) {
    size_t i;
    const json_t *one;
    char *text = NULL;
    NVDP_TRY(nvdp_measured_list(ctx, run->path, &text));
    nvdp__autoptr(json_decref) json_t *all = nvdp__json_taken(text);
    json_array_foreach(all, i, one) {
        NVDP_TRY(add_candidate(ctx, one, run));
    }
    return NVDP_OK;
}

/* --- finding: DIR itself, DIR/runs/NAME, DIR/NAME; failures of a sweep in DIR/failed --- */

nvdp_status report_note(struct nvdp_context *ctx, struct report *report, const char *name,
                        const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    const int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    const struct report_note note = {.name = nvdp__plain_copy(ctx, name),
                                     .text = nvdp__plain_copy(ctx, text)};
    free(text);
    nvdp_status status = NVDP__MADE(note.name, note.text);
    if (status == NVDP_OK)
        status = NVDP__PUSH(ctx, report->note, report->notes, report->note_capacity, note);
    if (status != NVDP_OK) {
        free(note.name);
        free(note.text);
    }
    return status;
}

/* Turns a broken file into a note. Returns other errors. */
static nvdp_status forgive(struct nvdp_context *ctx, struct report *report, const char *name,
                           nvdp_status status) {
    if (status != NVDP_ERR_INPUT && status != NVDP_ERR_IO) return status;
    return report_note(ctx, report, name, "%s", nvdp_context_error(ctx));
}

static nvdp_status add_run(struct nvdp_context *ctx, struct report *report, const char *path,
                           const char *name) {
    nvdp__auto(report_run_release) struct report_run run = {0};
    if (!nvdp__has(path, "result.json"))
        return report_note(ctx, report, name, "unfinished, because result.json is missing");
    const nvdp_status status = read_run(ctx, path, name, &run);
    if (status != NVDP_OK) return forgive(ctx, report, name, status);
    NVDP_TRY(forgive(ctx, report, name, find_measures(ctx, &run)));
    NVDP_TRY(forgive(ctx, report, name, read_readers(ctx, &run)));
    NVDP_TRY(NVDP__PUSH(ctx, report->run, report->runs, report->run_capacity, run));
    run = (struct report_run){0}; /* the report owns it now */
    return NVDP_OK;
}

/* --- choice of one measurement per run --- */

/* Returns true for equal values. NaN means unknown, such as the delta of privatized texts, and equals every value. */
static bool agree(double a, double b) {
    return isnan(a) || isnan(b) || a == b;
}

static bool alike(const struct report_measured *a, const struct report_measured *b) {
    return agree(a->order, b->order) && agree(a->delta, b->delta) && a->releases == b->releases &&
           a->same_length == b->same_length && strcmp(a->split, b->split) == 0;
}

static bool unknown(const struct report_measured *how) {
    return isnan(how->order) || isnan(how->delta);
}

/* Returns the run's measurement with these options. Prefers a measurement with the exact loss, then a measurement of
 * all pairs, then the first. */
static const struct report_candidate *candidate_like(const struct report_run *run,
                                                     const struct report_measured *how) {
    const struct report_candidate *best = NULL;
    int rank = -1;
    for (size_t k = 0; k < run->candidates; k++) {
        const struct report_candidate *at = &run->candidate[k];
        const int found = alike(&at->how, how) ? 2 * at->exact + !at->how.drawn : -1;
        if (found > rank) best = at;
        if (found > rank) rank = found;
    }
    return best;
}

/* Returns the options with which most runs were measured; NULL if nothing is measured. */
static const struct report_measured *most_common(const struct report *report) {
    const struct report_measured *best = NULL;
    size_t highest = 0;
    for (size_t i = 0; i < report->runs; i++)
        for (size_t k = 0; k < report->run[i].candidates; k++) {
            const struct report_measured *how = &report->run[i].candidate[k].how;
            size_t count = 0;
            if (best != NULL && alike(best, how) && !unknown(best)) continue;
            for (size_t j = 0; j < report->runs; j++)
                count += candidate_like(&report->run[j], how) != NULL;
            if (count > highest ||
                (best != NULL && count == highest && unknown(best) && !unknown(how))) {
                highest = count;
                best = how;
            }
        }
    return best;
}

/* Notes why a run shows no measurement. */
static nvdp_status note_missing(struct nvdp_context *ctx, struct report *report,
                                const struct report_run *run, const struct report_measured *how) {
    if (how != NULL && run->candidates > 0)
        return report_note(
            ctx, report, run->name,
            "measurement not shown, because most runs were measured with other options than this "
            "one; expected order %g, delta %g, %g release%s, split %s",
            how->order, how->delta, how->releases, how->releases == 1 ? "" : "s", how->split);
    if (run->part > 0 && run->part_of > run->part)
        return report_note(ctx, report, run->name,
                           "not measured completely: %zu of its %zu texts were measured; to "
                           "measure all: nvdp privacy %s",
                           run->part, run->part_of, run->path);
    if (run->part > 0)
        return report_note(ctx, report, run->name,
                           "not measured completely: a sample of %zu texts was measured; to "
                           "measure all: nvdp privacy %s",
                           run->part, run->path);
    if (report_is_reference(report_method_name(run))) return NVDP_OK;
    return report_note(ctx, report, run->name,
                       "scored, but its privacy was not measured; to measure it: nvdp privacy %s",
                       run->path);
}

/* Selects for every run the measurement with the most common options, so that a table compares the same quantities. */
static nvdp_status choose_measures(struct nvdp_context *ctx, struct report *report) {
    const struct report_measured *how = most_common(report);
    for (size_t i = 0; i < report->runs; i++) {
        struct report_run *run = &report->run[i];
        const struct report_candidate *chosen = how != NULL ? candidate_like(run, how) : NULL;
        if (chosen == NULL) {
            NVDP_TRY(note_missing(ctx, report, run, how));
            continue;
        }
        const nvdp_status status = read_measures(ctx, chosen->path, chosen->root, run);
        run->measured = status == NVDP_OK;
        NVDP_TRY(forgive(ctx, report, run->name, status));
        double *bound = &run->quantity[REPORT_BOUND], max = run->quantity[REPORT_SUM_MAX];
        if (!(max > *bound * (1 + ROUNDING))) continue;
        NVDP_TRY(
            report_note(ctx, report, run->name,
                        "its largest divergence, %g, exceeds the proven bound for clip_sequence "
                        "%g, %g; one of the two is wrong, so the report shows no bound",
                        max, run->clip_sequence, *bound));
        *bound = NAN;
    }
    for (size_t i = 0; i < report->runs; i++)
        for (size_t k = 0; k < report->run[i].candidates; k++) {
            json_decref(report->run[i].candidate[k].root);
            report->run[i].candidate[k].root = NULL;
        }
    return NVDP_OK;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* Adds an entry of a folder if it is a run. In the folder runs/, notes folders that are not runs. */
static nvdp_status read_entry(struct nvdp_context *ctx, struct report *report,
                              const char *directory, const char *name) {
    const struct nvdp__path path = nvdp__path(directory, name);
    if (!nvdp__is_directory(path.text)) return NVDP_OK; /* a file among the runs */
    if (nvdp__has(path.text, "run.json")) return add_run(ctx, report, path.text, name);
    if (directory == report->directory) return NVDP_OK;
    return report_note(ctx, report, name, "not a run, or not yet started: run.json is missing");
}

/* Adds the error in failed/NAME.json of nvdp sweep as a note. */
static nvdp_status read_failure(struct nvdp_context *ctx, struct report *report,
                                const char *directory, const char *name) {
    if (!nvdp__ends_with(name, ".json")) return NVDP_OK;
    nvdp__autoptr(json_decref) json_t *root = NULL;
    const nvdp_status status = nvdp__json_read(ctx, nvdp__path(directory, name).text, &root);
    if (status != NVDP_OK) return forgive(ctx, report, name, status);
    const char *message = json_string_value(json_object_get(root, "message"));
    return report_note(ctx, report, name, "failed: %s",
                       message != NULL ? message : "the sweep recorded no reason");
}

nvdp_status report_each_entry(struct nvdp_context *ctx, struct report *report,
                              const char *directory,
                              nvdp_status (*read)(struct nvdp_context *, struct report *,
                                                  const char *, const char *)) {
    struct dirent **entry = NULL;
    int count = scandir(directory, &entry, visible, by_name);
    if (count < 0) return nvdp__fail_errno(ctx, errno, "%s: cannot list the directory", directory);
    nvdp_status status = NVDP_OK;
    for (int i = 0; i < count; i++) {
        if (status == NVDP_OK) status = read(ctx, report, directory, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    return status;
}

nvdp_status report_read(struct nvdp_context *ctx, struct report *report) {
    const char *directory = report->directory;
    if (!nvdp__is_directory(directory))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected a directory of runs, found no such directory", directory);
    if (nvdp__has(directory, "run.json")) {
        const char *slash = strrchr(directory, '/');
        const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : directory;
        NVDP_TRY(add_run(ctx, report, directory, name));
    } else {
        const struct nvdp__path runs = nvdp__path(directory, "runs"),
                                failed = nvdp__path(directory, "failed");
        if (nvdp__is_directory(runs.text))
            NVDP_TRY(report_each_entry(ctx, report, runs.text, read_entry));
        NVDP_TRY(report_each_entry(ctx, report, directory, read_entry));
        if (nvdp__is_directory(failed.text))
            NVDP_TRY(report_each_entry(ctx, report, failed.text, read_failure));
    }
    if (report->runs > 0 || report->analyses > 0) return choose_measures(ctx, report);
    if (report->notes > 0)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: expected finished runs, but all %zu are unfinished or broken; the first, %s: %s",
            directory, report->notes, report->note[0].name, report->note[0].text);
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: expected run directories (with run.json) in this directory or in its "
                      "folder runs, found none",
                      directory);
}
