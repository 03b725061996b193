/* Describes a file or directory as a JSON object, and prints such objects, for nvdp info.  The order: untrusted
 * text, files, directories, printing in full, printing in few lines. */
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "encoder/checkpoint.h"
#include "encoder/encoder.h"
#include "mechanism/mechanism.h"
#include "options/result.h"
#include "share/release.h"
#include "text/task.h"
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
    nvdp__autofree char *copy = nvdp__strdup(NULL, text);
    for (char *c = copy; c != NULL && *c != '\0'; c++)
        if (*c == '\n') *c = ' ';
    nvdp__autofree char *made = copy != NULL ? nvdp__escaped(NULL, nvdp__put_shown, copy) : NULL;
    return made != NULL ? json_string(made) : NULL;
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
            nvdp__autoptr(json_decref) json_t *name = nvdp__shown(key);
            if (name != NULL)
                json_object_set_new(object, json_string_value(name), shown_copy(item));
        }
        return object;
    }
    return json_deep_copy(value);
}

/* --- files --- */

static nvdp_status no_memory(struct nvdp_context *ctx, const char *path) {
    return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path);
}

void nvdp__describe_start(json_t *object, const char *path, const char *kind) {
    struct stat info = {0};
    if (stat(path, &info) != 0) info.st_size = 0;
    json_object_update_new(object, json_pack("{s:o,s:I}", "kind", nvdp__shown(kind), "bytes",
                                             (json_int_t)info.st_size));
}

void nvdp__describe_dataset(const char *name, int rank, const size_t *shape, const char *type,
                            void *array) {
    json_t *extent = json_array();
    for (int d = 0; d < rank; d++)
        json_array_append_new(extent, json_integer((json_int_t)shape[d]));
    json_array_append_new(array, json_pack("{s:o,s:s,s:o}", "name", nvdp__shown(name), "type", type,
                                           "shape", extent));
}

void nvdp__describe_attribute(json_t *object, const char *name, const char *value, bool number) {
    nvdp__autoptr(json_decref) json_t *key = nvdp__shown(name);
    char *end = NULL;
    const double real = number ? nvdp__strtod(value, &end) : NAN;
    if (key == NULL) return;
    if (!number || end == value || *end != '\0')
        json_object_set_new(object, json_string_value(key), nvdp__shown(value));
    else
        json_object_set_new(object, json_string_value(key),
                            value[strspn(value, "-0123456789")] == '\0'
                                ? json_integer(strtoll(value, NULL, 10))
                                : nvdp__json_number(real));
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

/* Adds all attributes by name except nvdp_format, or those that all shards share. */
static void describe_attributes(json_t *to, struct nvdp__attributes *list, bool shared) {
    nvdp__attributes_sort(list);
    for (const struct nvdp__attribute *a = list->item; a < list->item + list->count; a++)
        if (!shared || !nvdp__shard_attribute(a->name))
            nvdp__describe_attribute(to, a->name, a->text, a->type != NVDP__ATTRIBUTE_TEXT);
    json_object_del(to, "nvdp_format");
}

/* Describes an export.  Describes any other file of the format only by its kind and size. */
static nvdp_status describe_release(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__format *format, json_t *object) {
    nvdp__auto(nvdp__release_close) struct nvdp__release release = {0};
    json_t *datasets = NULL, *attributes = NULL;
    const nvdp_status status = nvdp__release_read(ctx, nvdp__formats, path, &release);
    if (status == NVDP_ERR_INPUT) {
        nvdp__describe_start(object, path, format->name);
        return NVDP_OK;
    }
    NVDP_TRY(status);
    NVDP_TRY(nvdp__describe_begin(ctx, path,
                                  nvdp__attributes_text(&release.attributes, "nvdp_format"), object,
                                  &datasets, &attributes));
    NVDP_TRY(nvdp__release_datasets(&release, nvdp__describe_dataset, datasets));
    describe_attributes(attributes, &release.attributes, false);
    json_object_set_new(object, "container", json_string(format->name));
    return NVDP_OK;
}

static nvdp_status describe_vocabulary(struct nvdp_context *ctx, const char *path, json_t *object) {
    size_t pieces = 0, continuations = 0, longest = 0; /* `longest` in bytes */
    size_t empty = 0, spaced = 0;                      /* lines that no vocabulary has */
    bool unknown = false;                              /* the file contains [UNK] */
    nvdp__autofree char *bytes = NULL;
    size_t count = 0;
    if (nvdp__is_table(path) && !nvdp__ends_with(path, ".json"))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected HDF5, safetensors or a vocabulary, found a table of texts: "
                          "with its folder, nvdp train --task tsv --data FOLDER --dry-run counts "
                          "its texts, and the texts that stand several times",
                          path);
    NVDP_TRY(nvdp__read_file(ctx, path, VOCABULARY_LIMIT, &bytes, &count));
    for (const char *line = bytes, *end; line < bytes + count; line = end + 1) {
        end = memchr(line, '\n', (size_t)(bytes + count - line));
        if (end == NULL) end = bytes + count;
        size_t size = (size_t)(end - line);
        if (size > 0 && line[size - 1] == '\r') size--;
        pieces++;
        empty += size == 0;
        spaced += memchr(line, ' ', size) != NULL || memchr(line, '\t', size) != NULL ||
                  memchr(line, '\0', size) != NULL;
        continuations += size > 2 && memcmp(line, "##", 2) == 0;
        longest = nvdp__max(longest, size);
        unknown = unknown || (size == 5 && memcmp(line, "[UNK]", 5) == 0);
    }
    if (!unknown || spaced > 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected HDF5, safetensors or a vocabulary with [UNK], found "
                          "another kind of file",
                          path);
    nvdp__describe_start(object, path, "vocabulary");
    json_object_update_new(object,
                           json_pack("{s:I,s:I,s:I,s:I}", "pieces", (json_int_t)pieces,
                                     "continuations", (json_int_t)continuations, "longest_bytes",
                                     (json_int_t)longest, "empty_lines", (json_int_t)empty));
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

/* Returns true if the file is a ledger, or was a ledger: a file beside it is the ledger's key or state. */
static bool is_ledger(const char *path, const char *head) {
    static const char key_words[] = "nvdp-ledger-key/1 ";
    char words[sizeof key_words] = "";
    if (strncmp(head, "nvdp ledger/", 12) == 0 ||
        nvdp__exists(nvdp__path_format("%s.state", path).text))
        return true;
    nvdp__autoptr(fclose) FILE *file = fopen(nvdp__path_format("%s.key", path).text, "rb");
    return file != NULL && fgets(words, sizeof words, file) != NULL &&
           strcmp(words, key_words) == 0;
}

/* Describes a ledger.  Adds the ledger's sums if the key is beside the ledger; records cannot be read without it. */
static nvdp_status describe_ledger(struct nvdp_context *ctx, const char *path, const char *head,
                                   json_t *object) {
    struct nvdp_ledger_summary found = NVDP_RESULT(struct nvdp_ledger_summary);
    char kind[] = "ledger/3";
    const struct nvdp__path key = nvdp__path_format("%s.key", path);
    const bool readable = nvdp__exists(key.text) || strncmp(head, "nvdp ledger/", 12) != 0;
    if (readable) NVDP_TRY(nvdp_ledger_summarize(ctx, path, key.text, &found));
    kind[sizeof kind - 2] = head[12];
    nvdp__describe_start(object, path, kind);
    return !readable || json_object_update_new(
                            object, nvdp__result_json(&nvdp__result_ledger, NULL, &found)) == 0
               ? NVDP_OK
               : no_memory(ctx, path);
}

static nvdp_status describe_file(struct nvdp_context *ctx, const char *path, json_t *object) {
    unsigned char head[KEY_HEAD + 1] = {0};
    int fd = -1;
    if (!nvdp__exists(path) && is_ledger(path, "")) return describe_ledger(ctx, path, "", object);
    NVDP_TRY(nvdp__open_regular(ctx, path, &fd));
    ssize_t got = pread(fd, head, KEY_HEAD, 0);
    size_t size = got > 0 ? (size_t)got : 0;
    close(fd);
    if (describe_key(path, (const char *)head, object)) return NVDP_OK;
    if (is_ledger(path, (const char *)head))
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
    nvdp__autofree char *line = NULL;
    size_t capacity = 0, lines = 0;
    json_int_t epochs = 0;
    nvdp__autoptr(fclose) FILE *file = NULL;
    const struct nvdp__path path = nvdp__path(directory, "metrics.jsonl");
    if (!nvdp__exists(path.text)) return NVDP_OK;
    NVDP_TRY(nvdp__fopen_regular(ctx, path.text, &file));
    for (ssize_t size; (size = getline(&line, &capacity, file)) >= 0; lines++) {
        nvdp__autoptr(json_decref) json_t *entry =
            json_loadb(line, (size_t)size, 0, NULL); /* an incomplete last line is no error */
        const char *event = json_string_value(json_object_get(entry, "event"));
        if (event != NULL && strcmp(event, "epoch") == 0)
            epochs = json_integer_value(json_object_get(entry, "epoch"));
    }
    json_object_update_new(
        object, json_pack("{s:I,s:I}", "metrics_lines", (json_int_t)lines, "epochs_done", epochs));
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

/* Adds one line per file of measurements, and the whole report of the file that represents the run. */
static nvdp_status add_measurements(struct nvdp_context *ctx, const char *path, const json_t *run,
                                    json_t *object) {
    nvdp__auto(nvdp__measurements_release) struct nvdp__measurements all = {0};
    NVDP_TRY(nvdp__measurements_read(ctx, path, run, &all));
    nvdp__autoptr(json_decref) json_t *list = json_object();
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
    if (all.count > 0)
        json_object_update_new(object, json_pack("{s:O,s:o}", "measured", list, "privacy",
                                                 shown_copy(all.list[0].report)));
    return NVDP_OK;
}

static nvdp_status describe_run(struct nvdp_context *ctx, const char *path, json_t *object) {
    static const char *const facts[] = {"created", "parameters", "steps",   "data",
                                        "config",  "software",   "hardware"};
    struct nvdp_guarantee found = NVDP_RESULT(struct nvdp_guarantee);
    nvdp__autofree char *line = NULL, *next = NULL;
    nvdp__autoptr(json_decref) json_t *run = NULL, *result = NULL;
    NVDP_TRY(nvdp__json_read_optional(ctx, path, "run.json", &run));
    NVDP_TRY(nvdp__json_read_optional(ctx, path, "result.json", &result));
    json_object_set_new(object, "kind", json_string("run directory"));
    if (result != NULL && nvdp_run_guarantee(ctx, path, &found) == NVDP_OK) {
        NVDP_TRY(nvdp_guarantee_line(ctx, &found, &line)); /* this line is printed first */
        json_object_set_new(object, "guarantee", json_string(line));
    }
    json_object_set_new(object, "finished", json_boolean(result != NULL));
    if (result == NULL) {
        next = nvdp__format(ctx, "no result.json; finish it with: nvdp train --resume %s", path);
        NVDP_TRY(NVDP__MADE(next));
        json_object_set_new(object, "unfinished", nvdp__shown(next));
    }
    NVDP_TRY(read_metrics(ctx, path, object));
    if (result != NULL) json_object_set_new(object, "result", shown_copy(result));
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        const json_t *fact = json_object_get(run, facts[i]);
        if (fact != NULL) json_object_set_new(object, facts[i], shown_copy(fact));
    }
    const json_t *config = json_object_get(run, "config");
    add_bound(object, json_string_value(json_object_get(config, "method")),
              json_object_get(config, "nvib"));
    return result != NULL ? add_measurements(ctx, path, run, object) : NVDP_OK;
}

/* Adds properties of the weights and of the vocabulary, if they exist. */
static nvdp_status describe_members(struct nvdp_context *ctx, const char *directory,
                                    json_t *object) {
    char fingerprint[65];
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *tokenizer = NULL;
    nvdp__autoptr(nvdp__weights_close) struct nvdp__weight_files *weights = NULL;
    nvdp__autoptr(json_decref) json_t *pieces = json_object();
    nvdp__autofree char *model = NULL;
    const struct nvdp__path vocabulary = nvdp__path(directory, "vocab.txt");
    NVDP_TRY(NVDP__MADE(pieces));
    if (nvdp__weights_find(NULL, directory, &model) == NVDP_OK) {
        size_t elements = 0;
        NVDP_TRY(nvdp__weights_open_file(ctx, model, &weights));
        NVDP_TRY(nvdp__weights_sha256(weights, fingerprint));
        for (size_t i = 0; i < weights->count; i++)
            elements += weights->tensor[i].info.count;
        json_object_update_new(object, json_pack("{s:I,s:I,s:s}", "tensors",
                                                 (json_int_t)weights->count, "elements",
                                                 (json_int_t)elements, "fingerprint", fingerprint));
    }
    if (nvdp__exists(vocabulary.text)) {
        NVDP_TRY(describe_file(ctx, vocabulary.text, pieces));
        json_object_set(object, "vocabulary", json_object_get(pieces, "pieces"));
    } else if (nvdp_tokenizer_load(NULL, directory, &tokenizer) == NVDP_OK) {
        json_object_set_new(object, "vocabulary",
                            json_integer((json_int_t)nvdp_tokenizer_size(tokenizer)));
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
        json_object_update_new(
            object, json_pack("{s:s,s:I}", "model_type", nvdp__model_type_name(bert.model_type),
                              "encoder_parameters", (json_int_t)nvdp__bert_parameter_count(&bert)));
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

/* Counts the entries of DIRECTORY/folder, and the entries that contain `file`. */
static void count_entries(const char *directory, const char *folder, const char *file,
                          json_int_t *all, json_int_t *with) {
    const struct nvdp__path path = nvdp__path(directory, folder);
    nvdp__autoptr(closedir) DIR *entries = opendir(path.text);
    *all = *with = 0;
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        *all += 1;
        *with += nvdp__has(nvdp__path(path.text, entry->d_name).text, file);
    }
}

static nvdp_status describe_sweep(struct nvdp_context *ctx, const char *path, json_t *object) {
    json_int_t runs, done, failed, unused;
    nvdp__autoptr(json_decref) json_t *grid = NULL;
    NVDP_TRY(nvdp__json_read_optional(ctx, path, "grid.json", &grid));
    count_entries(path, "runs", "done.json", &runs, &done);
    count_entries(path, "failed", "", &failed, &unused);
    json_object_update_new(object, json_pack("{s:s,s:I,s:I,s:I,s:o}", "kind", "sweep directory",
                                             "runs", runs, "runs_done", done, "runs_failed", failed,
                                             "grid", shown_copy(grid)));
    return NVDP_OK;
}

/* Describes a folder that nvdp train --folds wrote. */
static nvdp_status describe_folds(struct nvdp_context *ctx, const char *path, json_t *object) {
    json_int_t folds, finished, entries;
    (void)ctx;
    count_entries(path, ".", "run.json", &entries, &folds);
    count_entries(path, ".", "result.json", &entries, &finished);
    json_object_update_new(object, json_pack("{s:s,s:I,s:I}", "kind", "cross validation", "folds",
                                             folds, "folds_finished", finished));
    return NVDP_OK;
}

/* Describes a folder that nvdp sanitize wrote, which is recognized by a privacy.json of format sanitized/. */
static nvdp_status describe_sanitized(struct nvdp_context *ctx, const char *path, json_t *object) {
    nvdp__autoptr(json_decref) json_t *report = NULL;
    char endings[NVDP__ENDINGS];
    NVDP_TRY(nvdp__json_read_optional(ctx, path, "privacy.json", &report));
    const char *format = json_string_value(json_object_get(report, "nvdp_format"));
    if (format == NULL || strncmp(format, "sanitized/", 10) != 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected a run (run.json), a model or a reader (config.json), a "
                          "sweep (grid.json), folds (fold-1), the files of a release (%s) or "
                          "sanitized texts (privacy.json), found none",
                          path, nvdp__format_endings(endings));
    json_object_set_new(object, "kind", nvdp__shown(format));
    json_object_del(report, "nvdp_format");
    json_object_update_new(object, shown_copy(report));
    return NVDP_OK;
}

/* Describes the files of a release together: common attributes, and the total number of texts. */
static nvdp_status describe_shards(struct nvdp_context *ctx, const char *path, json_t *object) {
    nvdp__auto(nvdp__shards_close) struct nvdp__shards shards = {0};
    nvdp__autoptr(json_decref) json_t *attributes = json_object();
    size_t texts = 0;
    json_int_t bytes = 0;
    NVDP_TRY(nvdp__shards_open(ctx, path, &shards));
    for (size_t i = 0; i < shards.count; i++) {
        nvdp__auto(nvdp__release_close) struct nvdp__release release = {0};
        NVDP_TRY(nvdp__release_read(ctx, nvdp__formats, shards.path[i], &release));
        nvdp__describe_start(object, shards.path[i],
                             nvdp__attributes_text(&release.attributes, "nvdp_format"));
        bytes += json_integer_value(json_object_get(object, "bytes"));
        texts += strtoull(nvdp__attributes_text(&release.attributes, "texts"), NULL, 10);
        if (i == 0) describe_attributes(attributes, &release.attributes, true);
        const char *ledger = nvdp__attributes_text(&release.attributes, "ledger");
        if (i == 0 || strcmp(ledger, "none") == 0 ||
            *ledger == '\0') /* does a ledger count all files? */
            nvdp__describe_attribute(attributes, "ledger", ledger, false);
    }
    json_object_set_new(attributes, "texts", json_integer((json_int_t)texts));
    json_object_update_new(object, json_pack("{s:I,s:I,s:O}", "bytes", bytes, "files",
                                             (json_int_t)shards.count, "attributes", attributes));
    return NVDP_OK;
}

static nvdp_status describe_directory(struct nvdp_context *ctx, const char *path, json_t *object) {
    if (nvdp__has(path, "run.json")) return describe_run(ctx, path, object);
    if (nvdp__has(path, "config.json")) return describe_model(ctx, path, object);
    if (nvdp__has(path, "grid.json")) return describe_sweep(ctx, path, object);
    if (nvdp__has(path, "fold-1/run.json")) return describe_folds(ctx, path, object);
    if (!nvdp__has(path, "privacy.json") && nvdp__shards_in(path))
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
    if (json_is_real(value) && is_bound(name)) {
        fputs(nvdp__bound(json_real_value(value)).text, to);
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

static size_t line_count(const json_t *value) {
    const char *key;
    json_t *member;
    size_t lines = is_table(value) ? json_array_size(value) : 0;
    json_object_foreach((json_t *)value, key, member) {
        lines += 1 + line_count(member);
    }
    return lines;
}

/* Prints only the first facts, with their paths, if the whole object needs many lines. */
static void print_brief(const json_t *object, FILE *to) {
    enum { FEW = 25 };
    if (line_count(object) <= FEW) {
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
        /* Names of members; a space precedes each name. */
        const char *names = first_facts[i] + length;
        const char *between = "";
        if (*names == ':')
            names++;
        else if (!is_table(value))
            print_value(path, value, to);
        while (*names != '\0') {
            char name[LONGEST_NAME];
            const size_t end = strcspn(++names, " ");
            nvdp__snprintf(name, sizeof name, "%.*s", (int)end, names);
            names += end;
            const json_t *member = value_at(value, name);
            if (member == NULL) continue;
            nvdp__fprintf(to, "%s%s ", between, name);
            print_value(name, member, to);
            between = ", ";
        }
        fputc('\n', to);
        if (is_table(value)) print_table(value, 2 * STEP, to);
    }
    nvdp__fprintf(to, "%*s(%zu lines with --all)\n", STEP, "", line_count(object));
}

/* --- nvdp_describe --- */

nvdp_status nvdp_describe(struct nvdp_context *ctx, const char *path, enum nvdp_description how,
                          char **out) {
    nvdp__autofree char *text = NULL;
    size_t size = 0;
    nvdp__autoptr(fclose) FILE *to = NULL;
    if (path == NULL) return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "path: expected one, found none");
    if (!nvdp__exists(path) && !is_ledger(path, ""))
        return nvdp__fail_errno(ctx, ENOENT, "%s: cannot read", path);
    nvdp__autoptr(json_decref) json_t *object = json_object();
    if (object == NULL) return no_memory(ctx, path);
    NVDP_TRY(nvdp__is_directory(path) ? describe_directory(ctx, path, object)
                                      : describe_file(ctx, path, object));
    bool whole = true;
    to = open_memstream(&text, &size);
    if (to == NULL) return no_memory(ctx, path);
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
    return !whole ? no_memory(ctx, path) : NVDP__HAND_OVER(out, text);
}
