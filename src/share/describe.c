/* Describes a file or directory as a JSON object, and prints such objects, for nvdp info.  The order: untrusted
 * text, files, directories, printing in full, printing in few lines. */
#include "base/escape.h"
#include "base/file.h"
#include "base/json.h"
#include "base/outdir.h"
#include "base/own.h"
#include "base/sentence.h"
#include "bert/checkpoint.h"
#include "bert/weights.h"
#include "mechanism/method.h"
#include "options/result.h"
#include "share/release.h"
#include "share/shards.h"
#include "train/run.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <nvdp/bert.h>
#include <nvdp/guarantee.h>
#include <nvdp/rdp.h>
#include <nvdp/share.h>
#include <nvdp/tokenizer.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_HEAD = 32, NAME_WIDTH = 28, LONGEST_NAME = 48, STEP = 2 };
static const size_t VOCABULARY_LIMIT = (size_t)64 << 20;

/* --- untrusted text from files --- */

json_t *nvdp__shown(const char *text) {
    char *copy = strdup(text);
    for (char *c = copy; c != NULL && *c != '\0'; c++)
        if (*c == '\n') *c = ' ';
    char *made = copy != NULL ? nvdp__escaped(NULL, nvdp__put_shown, copy) : NULL;
    json_t *value = made != NULL ? json_string(made) : NULL;
    free(copy);
    free(made);
    return value;
}

/* Copies a value and makes all of its strings printable. */
static json_t *shown_copy(const json_t *value) {
    if (json_is_string(value)) return nvdp__shown(json_string_value(value));
    if (json_is_array(value)) {
        json_t *array = json_array();
        size_t i;
        const json_t *item;
        json_array_foreach(value, i, item) {
            json_array_append_new(array, shown_copy(item));
        }
        return array;
    }
    if (json_is_object(value)) {
        json_t *object = json_object();
        const char *key;
        json_t *item;
        json_object_foreach((json_t *)value, key, item) {
            json_t *name = nvdp__shown(key);
            if (name != NULL)
                json_object_set_new(object, json_string_value(name), shown_copy(item));
            json_decref(name);
        }
        return object;
    }
    return json_deep_copy(value);
}

/* --- files --- */

static json_t *shape_json(int rank, const size_t *shape) {
    json_t *array = json_array();
    for (int d = 0; d < rank; d++) {
        json_array_append_new(array, json_integer((json_int_t)shape[d]));
    }
    return array;
}

static void set_count(json_t *object, const char *key, size_t count) {
    json_object_set_new(object, key, json_integer((json_int_t)count));
}

static nvdp_status no_memory(struct nvdp_context *ctx, const char *path) {
    return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path);
}

void nvdp__describe_start(json_t *object, const char *path, const char *kind) {
    struct stat info = {0};
    if (stat(path, &info) != 0) info.st_size = 0;
    json_object_set_new(object, "kind", nvdp__shown(kind));
    set_count(object, "bytes", (size_t)info.st_size);
}

void nvdp__describe_dataset(const char *name, int rank, const size_t *shape, const char *type,
                            void *array) {
    json_array_append_new(array, json_pack("{s:o,s:s,s:o}", "name", nvdp__shown(name), "type", type,
                                           "shape", shape_json(rank, shape)));
}

/* Returns the number that `text` states, or the text itself if it is not a number. */
static json_t *number_of(const char *text) {
    char *end;
    const double value = nvdp__strtod(text, &end);
    if (end == text || *end != '\0') return nvdp__shown(text);
    if (text[strspn(text, "-0123456789")] == '\0') return json_integer(strtoll(text, NULL, 10));
    return nvdp__json_number(value);
}

void nvdp__describe_attribute(json_t *object, const char *name, const char *value, bool number) {
    json_t *key = nvdp__shown(name);
    if (key != NULL)
        json_object_set_new(object, json_string_value(key),
                            number ? number_of(value) : nvdp__shown(value));
    json_decref(key);
}

nvdp_status nvdp__describe_begin(struct nvdp_context *ctx, const char *path, const char *kind,
                                 json_t *object, json_t **datasets, json_t **attributes) {
    nvdp__describe_start(object, path, kind);
    *datasets = json_array();
    *attributes = json_object();
    int failed = json_object_set_new(object, "datasets", *datasets);
    failed |= json_object_set_new(object, "attributes", *attributes);
    return failed != 0 ? no_memory(ctx, path) : NVDP_OK;
}

/* Describes an export.  Describes any other file of the format only by its kind and size. */
static nvdp_status describe_release(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__format *format, json_t *object) {
    nvdp_status status = NVDP_OK;
    struct nvdp__release release = {0};
    json_t *datasets = NULL, *attributes = NULL;
    status = nvdp__release_read(ctx, nvdp__formats, path, &release);
    if (status == NVDP_ERR_INPUT) {
        nvdp__describe_start(object, path, format->name);
        return NVDP_OK;
    }
    NVDP_TRY_OR_CLEAN(status);
    NVDP_TRY_OR_CLEAN(
        nvdp__describe_begin(ctx, path, nvdp__attributes_text(&release.attributes, "nvdp_format"),
                             object, &datasets, &attributes));
    NVDP_TRY_OR_CLEAN(nvdp__release_datasets(&release, nvdp__describe_dataset, datasets));
    nvdp__attributes_sort(&release.attributes);
    for (size_t i = 0; i < release.attributes.count; i++) {
        const struct nvdp__attribute *a = &release.attributes.item[i];
        nvdp__describe_attribute(attributes, a->name, a->text, a->type != NVDP__ATTRIBUTE_TEXT);
    }
    json_object_del(attributes, "nvdp_format");
    json_object_set_new(object, "container", json_string(format->name));
cleanup:
    nvdp__release_close(&release);
    return status;
}

static nvdp_status describe_vocabulary(struct nvdp_context *ctx, const char *path, json_t *object) {
    size_t pieces = 0, continuations = 0, longest = 0; /* longest: in bytes */
    size_t empty = 0, spaced = 0;                      /* lines that no vocabulary has */
    bool unknown = false;                              /* the file contains [UNK] */
    char *bytes = NULL;
    size_t count = 0;
    NVDP_TRY(nvdp__read_file(ctx, path, VOCABULARY_LIMIT, &bytes, &count));
    for (const char *line = bytes; line < bytes + count;) {
        const char *end = memchr(line, '\n', (size_t)(bytes + count - line));
        if (end == NULL) end = bytes + count;
        size_t size = (size_t)(end - line);
        if (size > 0 && line[size - 1] == '\r') size--;
        pieces++;
        empty += size == 0;
        spaced += memchr(line, ' ', size) != NULL || memchr(line, '\t', size) != NULL ||
                  memchr(line, '\0', size) != NULL;
        continuations += size > 2 && memcmp(line, "##", 2) == 0;
        if (size > longest) longest = size;
        unknown = unknown || (size == 5 && memcmp(line, "[UNK]", 5) == 0);
        line = end + 1;
    }
    free(bytes);
    if (!unknown || spaced > 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected HDF5, safetensors or a vocabulary with [UNK], found "
                          "another kind of file",
                          path);
    nvdp__describe_start(object, path, "vocabulary");
    set_count(object, "pieces", pieces);
    set_count(object, "continuations", continuations);
    set_count(object, "longest_bytes", longest);
    set_count(object, "empty_lines", empty);
    return NVDP_OK;
}

/* Describes a key by its kind only, without its secret or public part.  Returns false if the file is not a key. */
static bool describe_key(const char *path, const char *head, json_t *object) {
    static const char *const keys[][3] = {
        {"nvdp-key/1 ed25519 secret ", "nvdp-key/1", "secret: signs; its owner's alone"},
        {"nvdp-key/1 ed25519 public ", "nvdp-key/1", "public: tells who signed"},
        {"nvdp-ledger-key/1 ", "nvdp-ledger-key/1", "secret: of a ledger; its owner's alone"}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strncmp(head, keys[i][0], strlen(keys[i][0])) != 0) continue;
        nvdp__describe_start(object, path, keys[i][1]);
        json_object_set_new(object, "key", json_string(keys[i][2]));
        return true;
    }
    return false;
}

/* True if the file is a ledger, or was one: a file beside it has the ledger's key or its state. */
static bool is_ledger(struct nvdp_context *ctx, const char *path, const char *head) {
    static const char key_words[] = "nvdp-ledger-key/1 ";
    char *key = nvdp__format(ctx, "%s.key", path), *state = nvdp__format(ctx, "%s.state", path);
    char words[sizeof key_words] = "";
    FILE *file = key != NULL ? fopen(key, "rb") : NULL;
    const bool is =
        strncmp(head, "nvdp ledger/", 12) == 0 || (state != NULL && nvdp__exists(state)) ||
        (file != NULL && fgets(words, sizeof words, file) != NULL && strcmp(words, key_words) == 0);
    if (file != NULL) fclose(file);
    free(key);
    free(state);
    return is;
}

/* Describes a ledger, with its sums if its key is beside it.  Its records cannot be read without the key. */
static nvdp_status describe_ledger(struct nvdp_context *ctx, const char *path, const char *head,
                                   json_t *object) {
    struct nvdp_ledger_summary found = NVDP_RESULT(struct nvdp_ledger_summary);
    char kind[] = "ledger/3", *key = nvdp__format(ctx, "%s.key", path);
    if (key == NULL) return NVDP_ERR_MEMORY;
    const bool readable = nvdp__exists(key) || strncmp(head, "nvdp ledger/", 12) != 0;
    const nvdp_status status = readable ? nvdp_ledger_summarize(ctx, path, key, &found) : NVDP_OK;
    free(key);
    if (status != NVDP_OK) return status;
    kind[sizeof kind - 2] = head[12];
    nvdp__describe_start(object, path, kind);
    return !readable || nvdp__result_put(object, &nvdp__result_ledger, NULL, &found)
               ? NVDP_OK
               : no_memory(ctx, path);
}

static nvdp_status describe_file(struct nvdp_context *ctx, const char *path, json_t *object) {
    unsigned char head[KEY_HEAD + 1] = {0};
    int fd = -1;
    if (!nvdp__exists(path) && is_ledger(ctx, path, ""))
        return describe_ledger(ctx, path, "", object);
    NVDP_TRY(nvdp__open_regular(ctx, path, &fd));
    ssize_t got = pread(fd, head, KEY_HEAD, 0);
    size_t size = got > 0 ? (size_t)got : 0;
    close(fd);
    if (describe_key(path, (const char *)head, object)) return NVDP_OK;
    if (is_ledger(ctx, path, (const char *)head))
        return describe_ledger(ctx, path, (const char *)head, object);
    const struct nvdp__format *format =
        nvdp__format_detect(nvdp__formats, path, head, nvdp__min(size, NVDP__FORMAT_HEAD));
    if (format != NULL)
        return format->describe != NULL ? format->describe(ctx, path, object)
                                        : describe_release(ctx, path, format, object);
    return describe_vocabulary(ctx, path, object);
}

/* --- directories --- */

/* Adds the number of lines in metrics.jsonl and the number of the last finished epoch. */
static nvdp_status read_metrics(struct nvdp_context *ctx, const char *directory, json_t *object) {
    char *line = NULL;
    size_t capacity = 0;
    size_t lines = 0;
    json_int_t epochs = 0;
    FILE *file = NULL;
    char *path = nvdp__join(ctx, directory, "metrics.jsonl");
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__exists(path) ? nvdp__fopen_regular(ctx, path, &file) : NVDP_OK;
    free(path);
    if (file == NULL) return status;
    for (ssize_t size; (size = getline(&line, &capacity, file)) >= 0; lines++) {
        json_t *entry =
            json_loadb(line, (size_t)size, 0, NULL); /* an incomplete last line is no error */
        const char *event = json_string_value(json_object_get(entry, "event"));
        if (event != NULL && strcmp(event, "epoch") == 0)
            epochs = json_integer_value(json_object_get(entry, "epoch"));
        json_decref(entry);
    }
    free(line);
    fclose(file);
    set_count(object, "metrics_lines", lines);
    json_object_set_new(object, "epochs_done", json_integer(epochs));
    return NVDP_OK;
}

/* Adds the bound that a sequence clip proves, from the configuration of a run or a model. */
static void add_bound(json_t *object, const char *method, const json_t *nvib) {
    static const double order = 1.1;
    const json_t *radius = json_object_get(nvib, "clip_sequence");
    const char *weights = json_string_value(json_object_get(nvib, "weights"));
    const struct nvdp__method *row = method != NULL ? nvdp__method_named(method) : NULL;
    bool shared =
        row != NULL && row->weights && (weights == NULL || strcmp(weights, "constant") != 0);
    bool none = method == NULL || (row != NULL && !row->mechanism->private_);
    if (!json_is_number(radius) || none) return;
    double bound = nvdp_renyi_sequence_bound(order, json_number_value(radius));
    json_object_set_new(
        object, "bound",
        json_pack("{s:f, s:o, s:s}", "order", order, "nats", nvdp__json_number(bound), "of",
                  shared ? "the vectors of one sample of any two texts; weights come on top"
                         : "one sample of any two texts, seen or not"));
}

/* Adds the command that finishes an interrupted run. */
static nvdp_status add_unfinished(struct nvdp_context *ctx, const char *path, json_t *object) {
    char *text = nvdp__format(ctx, "no result.json; finish it with: nvdp train --resume %s", path);
    NVDP_TRY(NVDP__MADE(text));
    json_object_set_new(object, "unfinished", nvdp__shown(text));
    free(text);
    return NVDP_OK;
}

/* Adds the guarantee, which is printed first; adds nothing for an unfinished run. */
static nvdp_status add_guarantee(struct nvdp_context *ctx, const char *path, bool finished,
                                 json_t *object) {
    struct nvdp_guarantee found = NVDP_RESULT(struct nvdp_guarantee);
    char *line = NULL;
    if (!finished || nvdp_run_guarantee(ctx, path, &found) != NVDP_OK) return NVDP_OK;
    NVDP_TRY(nvdp_guarantee_line(ctx, &found, &line));
    json_object_set_new(object, "guarantee", json_string(line));
    free(line);
    return NVDP_OK;
}

/* Adds one line per file of measurements, and the whole report of the file that represents the run. */
static nvdp_status add_measurements(struct nvdp_context *ctx, const char *path, const json_t *run,
                                    json_t *object) {
    struct nvdp__measurements all = {0};
    NVDP_TRY(nvdp__measurements_read(ctx, path, run, &all));
    json_t *list = json_object();
    for (size_t i = 0; i < all.count; i++) {
        const struct nvdp__measurement *at = &all.list[i];
        char line[128], of[64] = "";
        if (!at->complete && at->of_texts > at->texts)
            nvdp__snprintf(of, sizeof of, " of %zu texts: not complete", at->of_texts);
        else
            nvdp__snprintf(of, sizeof of, " texts%s",
                           at->complete ? "" : ", a sample: not complete");
        nvdp__snprintf(line, sizeof line, "%zu%s", at->texts, of);
        json_object_set_new(list, at->name, json_string(line));
    }
    if (all.count > 0) {
        json_object_set_new(object, "measured", list);
        json_object_set_new(object, "privacy", shown_copy(all.list[0].report));
    } else {
        json_decref(list);
    }
    nvdp__measurements_release(&all);
    return NVDP_OK;
}

static nvdp_status describe_run(struct nvdp_context *ctx, const char *path, json_t *object) {
    static const char *const facts[] = {"created", "parameters", "steps",   "data",
                                        "config",  "software",   "hardware"};
    nvdp__autoptr(json_decref) json_t *run = NULL, *result = NULL;
    NVDP_TRY(nvdp__json_read_optional(ctx, path, "run.json", &run));
    NVDP_TRY(nvdp__json_read_optional(ctx, path, "result.json", &result));
    json_object_set_new(object, "kind", json_string("run directory"));
    NVDP_TRY(add_guarantee(ctx, path, result != NULL, object));
    json_object_set_new(object, "finished", json_boolean(result != NULL));
    if (result == NULL) NVDP_TRY(add_unfinished(ctx, path, object));
    NVDP_TRY(read_metrics(ctx, path, object));
    if (result != NULL) json_object_set_new(object, "result", shown_copy(result));
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        const json_t *fact = json_object_get(run, facts[i]);
        if (fact != NULL) json_object_set_new(object, facts[i], shown_copy(fact));
    }
    const json_t *config = json_object_get(run, "config");
    add_bound(object, json_string_value(json_object_get(config, "method")),
              json_object_get(config, "nvib"));
    if (result != NULL) NVDP_TRY(add_measurements(ctx, path, run, object));
    return NVDP_OK;
}

/* Adds properties of the weights and of the vocabulary, if they exist. */
static nvdp_status describe_members(struct nvdp_context *ctx, const char *directory,
                                    json_t *object) {
    char fingerprint[65];
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *tokenizer = NULL;
    nvdp__autoptr(nvdp__weights_close) struct nvdp__weights *weights = NULL;
    nvdp__autoptr(json_decref) json_t *pieces = json_object();
    nvdp__autofree char *model = NULL;
    nvdp__autofree char *vocabulary = nvdp__join(ctx, directory, "vocab.txt");
    NVDP_TRY(NVDP__MADE(pieces, vocabulary));
    if (nvdp__weights_find(NULL, directory, &model) == NVDP_OK) {
        size_t elements = 0;
        NVDP_TRY(nvdp__weights_open_file(ctx, model, &weights));
        NVDP_TRY(nvdp__weights_sha256(weights, fingerprint));
        for (size_t i = 0; i < nvdp__weights_count(weights); i++)
            elements += nvdp__weights_at(weights, i)->info.count;
        set_count(object, "tensors", nvdp__weights_count(weights));
        set_count(object, "elements", elements);
        json_object_set_new(object, "fingerprint", json_string(fingerprint));
    }
    if (nvdp__exists(vocabulary)) {
        NVDP_TRY(describe_file(ctx, vocabulary, pieces));
        json_object_set(object, "vocabulary", json_object_get(pieces, "pieces"));
    } else if (nvdp_tokenizer_load(NULL, directory, &tokenizer) == NVDP_OK) {
        set_count(object, "vocabulary", nvdp_tokenizer_size(tokenizer));
    }
    return NVDP_OK;
}

static nvdp_status describe_model(struct nvdp_context *ctx, const char *path, json_t *object) {
    nvdp__autoptr(json_decref) json_t *config = NULL;
    struct nvdp_bert_config bert;
    NVDP_TRY(nvdp__json_read_optional(ctx, path, "config.json", &config));
    const char *format = json_string_value(json_object_get(config, "nvdp_format"));
    json_object_set_new(object, "kind",
                        format != NULL ? nvdp__shown(format) : json_string("model directory"));
    if (format == NULL) { /* the configuration of a reader has another format */
        NVDP_TRY(nvdp__bert_config_read(ctx, path, &bert));
        json_object_set_new(object, "model_type",
                            json_string(nvdp_model_type_name(bert.model_type)));
        set_count(object, "encoder_parameters", nvdp_bert_parameter_count(&bert));
    }
    if (nvdp__outdir_check_model(NULL, path) == NVDP_ERR_STATE)
        json_object_set_new(object, "unfinished",
                            json_string("the model of a run that has not ended"));
    NVDP_TRY(describe_members(ctx, path, object));
    const json_t *ours = json_object_get(config, "nvdp");
    add_bound(object, json_string_value(json_object_get(ours, "method")),
              json_object_get(ours, "nvib"));
    json_object_set_new(object, "config", shown_copy(config));
    return NVDP_OK;
}

static bool has(struct nvdp_context *ctx, const char *directory, const char *name) {
    char *path = nvdp__join(ctx, directory, name);
    bool there = path != NULL && nvdp__exists(path);
    free(path);
    return there;
}

/* Counts the entries of DIRECTORY/folder, and the entries that contain `file`. */
static nvdp_status count_entries(struct nvdp_context *ctx, const char *directory,
                                 const char *folder, const char *file, size_t *all, size_t *with) {
    char *path = nvdp__join(ctx, directory, folder);
    if (path == NULL) return NVDP_ERR_MEMORY;
    DIR *entries = opendir(path);
    *all = *with = 0;
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        char *inside = nvdp__format(ctx, "%s/%s", entry->d_name, file);
        *all += 1;
        *with += inside != NULL && has(ctx, path, inside);
        free(inside);
    }
    if (entries != NULL) closedir(entries);
    free(path);
    return NVDP_OK;
}

static nvdp_status describe_sweep(struct nvdp_context *ctx, const char *path, json_t *object) {
    size_t runs = 0, done = 0, failed = 0, unused = 0;
    json_t *grid = NULL;
    NVDP_TRY(nvdp__json_read_optional(ctx, path, "grid.json", &grid));
    json_t *copy = shown_copy(grid);
    json_decref(grid);
    NVDP_TRY(count_entries(ctx, path, "runs", "done.json", &runs, &done));
    NVDP_TRY(count_entries(ctx, path, "failed", "", &failed, &unused));
    json_object_set_new(object, "kind", json_string("sweep directory"));
    set_count(object, "runs", runs);
    set_count(object, "runs_done", done);
    set_count(object, "runs_failed", failed);
    json_object_set_new(object, "grid", copy);
    return NVDP_OK;
}

/* Describes a folder that nvdp train --folds wrote. */
static nvdp_status describe_folds(struct nvdp_context *ctx, const char *path, json_t *object) {
    size_t folds = 0, finished = 0, entries = 0;
    NVDP_TRY(count_entries(ctx, path, ".", "run.json", &entries, &folds));
    NVDP_TRY(count_entries(ctx, path, ".", "result.json", &entries, &finished));
    json_object_set_new(object, "kind", json_string("cross validation"));
    set_count(object, "folds", folds);
    set_count(object, "folds_finished", finished);
    return NVDP_OK;
}

/* Describes a folder that nvdp sanitize wrote.  Only its privacy.json has the format sanitized/. */
static nvdp_status describe_sanitized(struct nvdp_context *ctx, const char *path, json_t *object) {
    json_t *report = NULL;
    NVDP_TRY(nvdp__json_read_optional(ctx, path, "privacy.json", &report));
    const char *format = json_string_value(json_object_get(report, "nvdp_format"));
    const bool ours = format != NULL && strncmp(format, "sanitized/", 10) == 0;
    if (ours) {
        json_object_set_new(object, "kind", nvdp__shown(format));
        json_object_del(report, "nvdp_format");
        json_object_update_new(object, shown_copy(report));
    }
    json_decref(report);
    return ours ? NVDP_OK
                : nvdp__fail(ctx, NVDP_ERR_INPUT,
                             "%s: expected a run (run.json), a model or a reader (config.json), a "
                             "sweep (grid.json), folds (fold-1), the files of a release (.h5, "
                             ".safetensors or .parquet) or sanitized texts (privacy.json), found "
                             "none",
                             path);
}

/* Takes whether a ledger counts a file: of several files, whether it counts all. */
static void take_ledger(json_t *to, const struct nvdp__attributes *from, bool first) {
    const char *ledger = nvdp__attributes_text(from, "ledger");
    if (first || strcmp(ledger, "none") == 0 || *ledger == '\0')
        nvdp__describe_attribute(to, "ledger", ledger, false);
}

/* Describes the files of a release together: what they share, and the sum of their texts. */
static nvdp_status describe_shards(struct nvdp_context *ctx, const char *path, json_t *object) {
    nvdp__auto(nvdp__shards_close) struct nvdp__shards shards = {0};
    nvdp__auto(nvdp__release_close) struct nvdp__release release = {0};
    nvdp__autoptr(json_decref) json_t *attributes = json_object();
    size_t texts = 0;
    json_int_t bytes = 0;
    NVDP_TRY(nvdp__shards_open(ctx, path, &shards));
    for (size_t i = 0; i < shards.count; i++) {
        NVDP_TRY(nvdp__release_read(ctx, nvdp__formats, shards.path[i], &release));
        nvdp__describe_start(object, shards.path[i],
                             nvdp__attributes_text(&release.attributes, "nvdp_format"));
        bytes += json_integer_value(json_object_get(object, "bytes"));
        texts += strtoull(nvdp__attributes_text(&release.attributes, "texts"), NULL, 10);
        nvdp__attributes_sort(&release.attributes);
        for (size_t k = 0; i == 0 && k < release.attributes.count; k++) {
            const struct nvdp__attribute *a = &release.attributes.item[k];
            if (!nvdp__shard_attribute(a->name))
                nvdp__describe_attribute(attributes, a->name, a->text,
                                         a->type != NVDP__ATTRIBUTE_TEXT);
        }
        take_ledger(attributes, &release.attributes, i == 0);
        nvdp__release_close(&release);
    }
    json_object_del(attributes, "nvdp_format");
    set_count(attributes, "texts", texts);
    json_object_set_new(object, "bytes", json_integer(bytes));
    set_count(object, "files", shards.count);
    json_object_set(object, "attributes", attributes);
    return NVDP_OK;
}

static nvdp_status describe_directory(struct nvdp_context *ctx, const char *path, json_t *object) {
    if (has(ctx, path, "run.json")) return describe_run(ctx, path, object);
    if (has(ctx, path, "config.json")) return describe_model(ctx, path, object);
    if (has(ctx, path, "grid.json")) return describe_sweep(ctx, path, object);
    if (has(ctx, path, "fold-1/run.json")) return describe_folds(ctx, path, object);
    if (!has(ctx, path, "privacy.json") && nvdp__shards_in(path))
        return describe_shards(ctx, path, object);
    return describe_sanitized(ctx, path, object);
}

/* --- printing: rows of names and values, sections indented --- */

/* Recognizes upper bounds by their names.  They are rounded as in statements. */
static bool is_bound(const char *key) {
    static const char *const ends[] = {"epsilon", "bound"};
    static const char *const names[] = {"certificate_mu",
                                        "clip_sequence",
                                        "certificate_word_mu",
                                        "clip_word",
                                        "information_bits",
                                        "right",
                                        "delta",
                                        "start",
                                        "training_delta",
                                        "vocabulary",
                                        "weights_distance",
                                        "mu",
                                        "nats"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (strcmp(key, ends[i]) == 0 || nvdp__ends_with(key, ends[i])) return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(key, names[i]) == 0) return true;
    }
    return false;
}

/* Prints a value on one line: arrays as [a, b], objects as {a: 1, b: 2}.  `path` ends with the name of the value. */
static void print_value(const char *path, const json_t *value, FILE *to) {
    const char *dot = strrchr(path, '.'), *name = dot != NULL ? dot + 1 : path;
    char bound[NVDP__BOUND_TEXT];
    if (json_is_real(value) && is_bound(name)) {
        fputs(nvdp__bound(bound, json_real_value(value)), to);
    } else if (json_is_string(value)) {
        fputs(json_string_value(value), to);
    } else if (json_is_integer(value)) {
        nvdp__fprintf(to, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        double real = json_real_value(value);
        nvdp__fprintf(to, real == floor(real) && fabs(real) < 1e15 ? "%.0f" : "%.6g", real);
    } else if (json_is_array(value)) {
        size_t i;
        const json_t *item;
        fputc('[', to);
        json_array_foreach(value, i, item) {
            if (i > 0) fputs(", ", to);
            print_value(name, item, to);
        }
        fputc(']', to);
    } else if (json_is_object(value)) {
        const char *key;
        json_t *member;
        const char *before = "";
        fputc('{', to);
        json_object_foreach((json_t *)value, key, member) {
            nvdp__fprintf(to, "%s%s: ", before, key);
            print_value(key, member, to);
            before = ", ";
        }
        fputc('}', to);
    } else {
        fputs(json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "-", to);
    }
}

/* Returns true if every item has the members that print_table() needs. */
static bool is_table(const json_t *value) {
    size_t i;
    const json_t *row;
    json_array_foreach(value, i, row) {
        if (!json_is_string(json_object_get(row, "name")) ||
            !json_is_string(json_object_get(row, "type")))
            return false;
    }
    return json_array_size(value) > 0;
}

/* Prints one line per object.  The names form a left-aligned column. */
static void print_table(const json_t *rows, int indent, FILE *to) {
    size_t i;
    const json_t *row;
    int width = 0;
    json_array_foreach(rows, i, row) {
        int length = (int)strlen(json_string_value(json_object_get(row, "name")));
        if (length > width) width = length;
    }
    json_array_foreach(rows, i, row) {
        nvdp__fprintf(to, "%*s%-*s  %-5s ", indent, "", width,
                      json_string_value(json_object_get(row, "name")),
                      json_string_value(json_object_get(row, "type")));
        print_value("shape", json_object_get(row, "shape"), to);
        fputc('\n', to);
    }
}

/* Prints the values in one column, which moves right if a name is long. */
static void print_object(const json_t *object, int indent, FILE *to) {
    const char *key;
    json_t *value;
    int width = NAME_WIDTH - indent > 0 ? NAME_WIDTH - indent : 0;
    json_object_foreach((json_t *)object, key, value) {
        bool plain = !json_is_object(value) && !is_table(value);
        if (plain && strlen(key) < LONGEST_NAME && (int)strlen(key) > width)
            width = (int)strlen(key);
    }
    json_object_foreach((json_t *)object, key, value) {
        if (json_is_object(value) || is_table(value)) {
            nvdp__fprintf(to, "%*s%s\n", indent, "", key);
            if (json_is_object(value)) print_object(value, indent + STEP, to);
            if (is_table(value)) print_table(value, indent + STEP, to);
            continue;
        }
        nvdp__fprintf(to, "%*s%-*s ", indent, "", width, key);
        print_value(key, value, to);
        fputc('\n', to);
    }
}

/* --- printing in few lines --- */

/* The paths of keys that print_brief() prints, in this order.  A colon precedes the members to print on one line.
 * Every number is printed with its order or delta and its number of samples. */
static const char *const first_facts[] = {"guarantee",
                                          "kind",
                                          "bytes",
                                          "files",
                                          "finished",
                                          "unfinished",
                                          "epochs_done",
                                          "model_type",
                                          "config.architectures",
                                          "vocabulary",
                                          "elements",
                                          "config.hidden_size",
                                          "config.num_hidden_layers",
                                          "config.nvdp.method",
                                          "config.task",
                                          "config.model",
                                          "config.preset",
                                          "config.method",
                                          "config.lambda_g",
                                          "config.seed",
                                          "result.test.n",
                                          "result.test.metrics",
                                          "result.test.majority",
                                          "result.dp: pld.epsilon delta insecure_seed",
                                          "result.certified",
                                          "measured",
                                          "privacy.linkage.sentence",
                                          "privacy.scope",
                                          "privacy.exact: worst delta releases",
                                          "privacy.order",
                                          "privacy.infinite_share",
                                          "privacy.rd.sum: max mean",
                                          "privacy.bdp: best.epsilon delta releases",
                                          "bound",
                                          "runs",
                                          "runs_done",
                                          "runs_failed",
                                          "grid.tasks",
                                          "mechanism",
                                          "eta",
                                          "corpus.texts",
                                          "statement",
                                          "count",
                                          "datasets",
                                          "attributes.texts",
                                          "attributes.releases",
                                          "attributes.task",
                                          "attributes.method",
                                          "attributes.length_policy",
                                          "attributes.certificate",
                                          "attributes.certificate_epsilon",
                                          "attributes.certificate_delta",
                                          "attributes.certificate_word_epsilon",
                                          "attributes.training_texts",
                                          "attributes.ledger",
                                          "attributes.statement"};

static const json_t *value_at(const json_t *object, const char *path) {
    char key[LONGEST_NAME];
    const size_t length = strcspn(path, ".");
    nvdp__snprintf(key, sizeof key, "%.*s", (int)length, path);
    const json_t *value = json_object_get(object, key);
    return path[length] == '\0' || value == NULL ? value : value_at(value, path + length + 1);
}

static size_t lines_of(const json_t *value) {
    const char *key;
    json_t *member;
    size_t lines = is_table(value) ? json_array_size(value) : 0;
    json_object_foreach((json_t *)value, key, member) {
        lines += 1 + lines_of(member);
    }
    return lines;
}

/* Prints name and value of each member in `names` that exists, separated by commas.  `names` has a space before each
 * name. */
static void print_members(const json_t *value, const char *names, FILE *to) {
    const char *between = "";
    while (*names != '\0') {
        char name[LONGEST_NAME];
        const size_t length = strcspn(++names, " ");
        nvdp__snprintf(name, sizeof name, "%.*s", (int)length, names);
        names += length;
        const json_t *member = value_at(value, name);
        if (member == NULL) continue;
        nvdp__fprintf(to, "%s%s ", between, name);
        print_value(name, member, to);
        between = ", ";
    }
}

/* Prints only the first facts, each with its path, if the whole object needs many lines. */
static void print_brief(const json_t *object, FILE *to) {
    enum { FEW = 25 };
    if (lines_of(object) <= FEW) {
        print_object(object, STEP, to);
        return;
    }
    for (size_t i = 0; i < sizeof first_facts / sizeof first_facts[0]; i++) {
        char path[LONGEST_NAME];
        const size_t length = strcspn(first_facts[i], ":");
        nvdp__snprintf(path, sizeof path, "%.*s", (int)length, first_facts[i]);
        const json_t *value = value_at(object, path);
        if (value == NULL || json_is_null(value)) continue;
        nvdp__fprintf(to, "%*s%-*s ", STEP, "", NAME_WIDTH - STEP, path);
        if (first_facts[i][length] == ':')
            print_members(value, first_facts[i] + length + 1, to);
        else if (!is_table(value))
            print_value(path, value, to);
        fputc('\n', to);
        if (is_table(value)) print_table(value, 2 * STEP, to);
    }
    nvdp__fprintf(to, "%*s(%zu lines with --all)\n", STEP, "", lines_of(object));
}

/* --- nvdp_describe --- */

nvdp_status nvdp_describe(struct nvdp_context *ctx, const char *path, enum nvdp_description how,
                          char **out) {
    nvdp__autofree char *text = NULL;
    size_t size = 0;
    nvdp__autoptr(fclose) FILE *to = NULL;
    if (path == NULL) return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "path: expected one, found none");
    if (!nvdp__exists(path) && !is_ledger(ctx, path, ""))
        return nvdp__fail_errno(ctx, ENOENT, "%s: cannot read", path);
    nvdp__autoptr(json_decref) json_t *object = json_object();
    if (object == NULL) NVDP_TRY(no_memory(ctx, path));
    NVDP_TRY(nvdp__is_directory(path) ? describe_directory(ctx, path, object)
                                      : describe_file(ctx, path, object));
    bool whole = true;
    to = open_memstream(&text, &size);
    if (to == NULL) NVDP_TRY(no_memory(ctx, path));
    if (how != NVDP_DESCRIPTION_JSON) {
        nvdp__put_shown(to, path);
        fputc('\n', to);
        if (how == NVDP_DESCRIPTION_ALL)
            print_object(object, STEP, to);
        else
            print_brief(object, to);
    } else {
        whole = json_dumpf(object, to, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) == 0;
        fputc('\n', to);
    }
    whole = whole && ferror(to) == 0;
    whole = fclose(to) == 0 && whole;
    to = NULL;
    if (!whole) NVDP_TRY(no_memory(ctx, path));
    *out = text;
    text = NULL;
    return NVDP_OK;
}
