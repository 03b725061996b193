/* Records the texts on which a model was trained, and checks them before private training
 * (lineage.h). The file has, in this order, reading the records of earlier trainings, adding the
 * record of this run, the guarantee for given texts, and the description in words. */
#include "job/lineage.h"

#include "base/array.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "job/dp.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_RECORDED = 0 };             /* value of `windows` for any number */
static const char WORDS[] = "word_dp"; /* key of the guarantee of a private vocabulary */

/* --- from records --- */

/* Adds the guarantee of a training to its entry. */
static void add_promise(json_t *entry, const json_t *dp) {
    struct nvdp_dp_guarantee of;
    if (!nvdp__dp_promise(dp, true, &of)) return;
    json_object_set_new(entry, "dp", json_pack("[f,f]", of.epsilon, of.delta));
    if (json_is_array(json_object_get(dp, "own")))
        json_object_set(entry, "own", json_object_get(dp, "own"));
    if (!nvdp__dp_promise(dp, false, &of)) json_object_set_new(entry, "seed", json_true());
}

static bool was_private(const json_t *entry) {
    return json_object_get(entry, "dp") != NULL;
}

/* Returns true if nothing is recorded about the texts of an entry. */
static bool is_unknown(const json_t *entry) {
    const json_t *files = json_object_get(entry, "sha256");
    return files != NULL && json_array_size(files) == 0;
}

/* Reads `learned_from` of a run's record, with the guarantee of this run's training, and the
 * digests in the same folder. */
static nvdp_status take_list(struct nvdp_context *ctx, const char *directory, const json_t *record,
                             const json_t *dp, struct nvdp__lineage *out) {
    const json_t *found = json_object_get(record, NVDP__LINEAGE);
    const size_t count = json_array_size(found);
    /* a run of an earlier version: it saw some texts, and its start model may have seen others */
    out->list = count > 0 ? json_deep_copy(found) : json_pack("[{}]");
    if (out->list == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    if (count > 0) add_promise(json_array_get(out->list, count - 1), dp);
    return nvdp__seen_digests_read(ctx, directory, &out->digests, &out->digest_lists);
}

/* Reads the record of a model in DIR/model that nvdp train wrote. The guarantee includes steps
 * that are still to be done. */
static nvdp_status of_training(struct nvdp_context *ctx, const char *model,
                               struct nvdp__lineage *out) {
    nvdp__autoptr(json_decref) json_t *record = NULL, *result = NULL;
    const struct nvdp__path run = nvdp__path(model, "..");
    if (!nvdp__is_directory(run.text)) return NVDP_OK;
    NVDP_TRY(nvdp__json_read_optional(ctx, run.text, "run.json", &record));
    const char *format = json_string_value(json_object_get(record, "nvdp_format"));
    if (format == NULL || strcmp(format, "run/1") != 0) return NVDP_OK;
    NVDP_TRY(nvdp__json_read_optional(ctx, run.text, "result.json", &result));
    return take_list(ctx, run.text, record, nvdp__dp_planned(result, record), out);
}

/* Adds the pretraining in config.json and the trainings before the pretraining. If a pretraining
 * was private, its texts are not known. */
static nvdp_status add_pretraining(struct nvdp_context *ctx, const json_t *pretraining,
                                   json_t *list) {
    size_t k;
    const json_t *text;
    for (; json_is_object(pretraining);
         pretraining = json_object_get(json_object_get(pretraining, "init"), "pretraining")) {
        json_t *digests = json_array(), *files = json_array();
        json_array_foreach(json_object_get(pretraining, "text"), k, text) {
            json_array_append(digests, json_object_get(text, "sha256"));
            json_array_append(files, json_object_get(text, "name"));
        }
        json_t *entry = json_pack("{s:o,s:o}", "sha256", digests, "files", files);
        if (entry != NULL) add_promise(entry, json_object_get(pretraining, "dp"));
        if (json_array_insert_new(list, 0, entry) != 0)
            return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    }
    return NVDP_OK;
}

nvdp_status nvdp__lineage_read(struct nvdp_context *ctx, const char *model,
                               struct nvdp__lineage *out) {
    nvdp__auto(nvdp__lineage_release) struct nvdp__lineage made = {0};
    nvdp__autoptr(json_decref) json_t *record = NULL, *config = NULL;
    if (model != NULL && nvdp__is_directory(model)) {
        NVDP_TRY(nvdp__json_read_optional(ctx, model, "pretrain.json", &record));
        NVDP_TRY(nvdp__json_read_optional(ctx, model, "config.json", &config));
    }
    const json_t *pretraining = json_object_get(config, "nvdp_pretraining");
    if (record != NULL) {
        NVDP_TRY(take_list(ctx, model, record, json_object_get(pretraining, "dp"), &made));
        json_t *own = json_array_get(made.list, json_array_size(made.list) - 1);
        if (was_private(own) && json_object_get(own, "windows") == NULL)
            /* written by an earlier version */
            json_object_set_new(own, "windows", json_integer(NOT_RECORDED));
    } else if (config != NULL)
        NVDP_TRY(of_training(ctx, model, &made));
    if (made.list == NULL) {
        NVDP_TRY(NVDP__MADE(made.list = json_array()));
        NVDP_TRY(add_pretraining(ctx, pretraining, made.list));
    }
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

void nvdp__lineage_release(struct nvdp__lineage *lineage) {
    for (size_t i = 0; i < lineage->digest_lists; i++)
        nvdp__seen_digests_release(&lineage->digests[i]);
    free(lineage->digests);
    json_decref(lineage->list);
    *lineage = (struct nvdp__lineage){0};
}

void nvdp__lineage_vocabularies(struct nvdp__lineage *lineage) {
    for (size_t i = json_array_size(lineage->list); i-- > 0;) {
        json_t *entry = json_array_get(lineage->list, i), *words = json_object_get(entry, WORDS);
        if (json_is_true(json_object_get(entry, "vocabulary"))) continue;
        if (words == NULL) {
            json_array_remove(lineage->list, i);
            continue;
        }
        json_object_set(entry, "dp", words);
        json_object_set_new(entry, "vocabulary", json_string("private"));
        json_object_set_new(entry, "windows",
                            json_integer(json_array_size(words) > 0 ? 1 : NOT_RECORDED));
        json_object_del(entry, "own");
        json_object_del(entry, "seed");
        json_object_del(entry, "length");
    }
}

/* --- adding a training --- */

/* Returns the last two components of a path: a file and its folder. */
static const char *path_tail(const char *path) {
    const char *at = strrchr(path, '/');
    while (at != NULL && at > path && *--at != '/')
        ;
    return at == NULL || *at != '/' ? path : at + 1;
}

static nvdp_status add_digests(struct nvdp_context *ctx, struct nvdp__lineage *lineage,
                               const struct nvdp__seen_texts *texts, json_t *entry) {
    size_t capacity = lineage->digest_lists;
    NVDP_TRY(nvdp__reserve(ctx, &lineage->digests, &capacity, lineage->digest_lists + 1,
                           sizeof *lineage->digests));
    struct nvdp__seen_digests *own = &lineage->digests[lineage->digest_lists];
    NVDP_TRY(nvdp__seen_digests_make(ctx, texts, own));
    lineage->digest_lists++;
    json_object_set_new(entry, "digests", json_string(own->name));
    return NVDP_OK;
}

nvdp_status nvdp__lineage_add(struct nvdp_context *ctx, struct nvdp__lineage *lineage,
                              const char *run, struct nvdp__seen seen, bool vocabulary) {
    json_t *digests = json_array();
    for (size_t i = 0; i < seen.files; i++)
        json_array_append_new(digests, json_string(seen.sha256[i]));
    json_t *entry = json_pack("{s:s*,s:o}", "run", run, "sha256", digests);
    if (vocabulary) json_object_set_new(entry, "vocabulary", json_true());
    if (lineage->counts_words) json_object_set_new(entry, "counts_words", json_true());
    if (json_array_append_new(lineage->list, entry) != 0)
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < seen.files && seen.path != NULL; i++) {
        if (i == 0) json_object_set_new(entry, "files", json_array());
        json_array_append_new(json_object_get(entry, "files"),
                              json_string(path_tail(seen.path[i])));
    }
    return seen.texts != NULL ? add_digests(ctx, lineage, seen.texts, entry) : NVDP_OK;
}

void nvdp__lineage_divides(struct nvdp__lineage *lineage, size_t windows, size_t length) {
    json_t *own = json_array_get(lineage->list, json_array_size(lineage->list) - 1);
    json_object_set_new(own, "windows", json_integer((json_int_t)windows));
    if (length > 0) json_object_set_new(own, "length", json_integer((json_int_t)length));
}

void nvdp__lineage_words(struct nvdp__lineage *lineage, struct nvdp_dp_guarantee of) {
    json_t *own = json_array_get(lineage->list, json_array_size(lineage->list) - 1);
    json_object_set_new(
        own, WORDS, isfinite(of.epsilon) ? json_pack("[f,f]", of.epsilon, of.delta) : json_array());
}

nvdp_status nvdp__lineage_write(struct nvdp_context *ctx, const struct nvdp__lineage *lineage,
                                const char *directory) {
    return nvdp__seen_digests_write(ctx, directory, lineage->digests, lineage->digest_lists);
}

/* --- guarantee for given texts --- */

static bool has(const json_t *digests, const char *sha256) {
    size_t i;
    const json_t *digest;
    json_array_foreach(digests, i,
                       digest) if (json_is_string(digest) &&
                                   strcmp(json_string_value(digest), sha256) == 0) return true;
    return false;
}

bool nvdp__lineage_saw(const struct nvdp__lineage *lineage, const char *sha256) {
    size_t i;
    const json_t *entry;
    json_array_foreach(lineage->list, i, entry) {
        if (has(json_object_get(entry, "sha256"), sha256)) return true;
    }
    return false;
}

/* Returns the digests of an entry; NULL if only whole files can be compared. */
static const struct nvdp__seen_digests *entry_digests(const struct nvdp__lineage *lineage,
                                                      const json_t *entry) {
    const char *name = json_string_value(json_object_get(entry, "digests"));
    for (size_t i = 0; name != NULL && i < lineage->digest_lists; i++)
        if (strcmp(lineage->digests[i].name, name) == 0) return &lineage->digests[i];
    return NULL;
}

static nvdp_status refuse(struct nvdp_context *ctx, const json_t *entry, struct nvdp__seen seen,
                          const struct nvdp__overlap *overlap) {
    const char *run = json_string_value(json_object_get(entry, "run"));
    char texts[160] = "them";
    if (json_object_get(entry, "sha256") == NULL)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "private training: expected a start model whose run names the texts it saw, "
            "found one of an earlier version, that may have seen these (train it again, or begin "
            "from a public model)");
    if (overlap->rows > 0 && overlap->rows < seen.texts->rows)
        nvdp__snprintf(texts, sizeof texts, "%zu of these %zu texts (the first is text %zu)",
                       overlap->rows, seen.texts->rows, overlap->first + 1);
    return nvdp__fail(
        ctx, NVDP_ERR_ARGUMENT,
        "private training: expected a model to begin from that did not see these texts, or "
        "saw them privately, found that of %s, which was trained on %s without privacy, "
        "or with noise from a seed: what it learned of them stays, whatever noise is added "
        "now (train that with {dp-batch} and {target-epsilon}, begin from a public model, or leave "
        "those texts out)",
        run != NULL ? run : "a pretraining that its config.json names", texts);
}

/* Returns true if the training of an entry counts as having seen the texts. A private training
 * counts if it saw any of the texts, or if its texts cannot be compared one by one. If only a
 * published config.json records the training, its texts are as unknown as the texts of a model
 * from elsewhere. */
static bool saw(const struct nvdp__lineage *lineage, const json_t *entry, struct nvdp__seen seen,
                struct nvdp__overlap *overlap) {
    const struct nvdp__seen_digests *digests = entry_digests(lineage, entry);
    const json_t *files = json_object_get(entry, "sha256");
    bool file = files == NULL;
    *overlap = (struct nvdp__overlap){0};
    for (size_t i = 0; i < seen.files && !file; i++)
        file = has(files, seen.sha256[i]);
    if (digests == NULL || seen.texts == NULL)
        return file || (was_private(entry) && !is_unknown(entry));
    *overlap = nvdp__seen_digests_compare(digests, seen.texts);
    return file ||
           (was_private(entry) ? overlap->rows > 0 : nvdp__overlap_refuses(overlap, seen.texts));
}

/* Returns the max number of texts in an example: in a row, or in a window of consecutive texts,
 * where a word takes at least one token. */
static size_t example_text_count(struct nvdp__seen seen) {
    size_t most = 1;
    for (size_t at = 0; seen.texts != NULL && at < seen.texts->count; at++) {
        const struct nvdp__seen_text *text = &seen.texts->text[at];
        /* two special tokens, and one token of a text at each end */
        size_t tokens = 2 + 2, end = at + 1, last = seen.texts->count;
        if (seen.length > 0)
            for (; end < last && tokens <= seen.length; end++)
                tokens += seen.texts->text[end].words;
        else
            while (end < last && seen.texts->text[end].row == text->row)
                end++;
        most = nvdp__max(most, end - at);
    }
    return most;
}

/* Returns true if the training of an entry saw all files, and therefore the same documents or
 * rows. */
static bool saw_files(const json_t *entry, struct nvdp__seen seen) {
    const json_t *files = json_object_get(entry, "sha256");
    for (size_t i = 0; i < seen.files; i++)
        if (!has(files, seen.sha256[i])) return false;
    return true;
}

/* Returns the max number of examples in an entry's training that share texts with one example of
 * these texts. */
static double max_example_count(const json_t *entry, struct nvdp__seen seen) {
    const json_t *windows = json_object_get(entry, "windows"),
                 *length = json_object_get(entry, "length");
    const bool same = saw_files(entry, seen);
    if (same && seen.length > 0 && (size_t)json_integer_value(length) == seen.length) return 1;
    const double each = windows != NULL ? json_number_value(windows) : 1;
    if (each == NOT_RECORDED) return INFINITY;
    const bool within = same && (windows != NULL || seen.length == 0);
    return within ? each : each * (double)example_text_count(seen);
}

/* Returns a recorded guarantee. An empty record proves nothing. */
static struct nvdp_dp_guarantee recorded_guarantee(const json_t *dp) {
    if (json_array_size(dp) == 0) return (struct nvdp_dp_guarantee){INFINITY, 1};
    return (struct nvdp_dp_guarantee){json_number_value(json_array_get(dp, 0)),
                                      json_number_value(json_array_get(dp, 1))};
}

/* Returns the guarantee for a group of examples (Vadhan 2017, Lemma 2.2). */
static struct nvdp_dp_guarantee of_group(const json_t *dp, double examples) {
    const struct nvdp_dp_guarantee one = recorded_guarantee(dp);
    const double epsilon = one.epsilon, delta = one.delta;
    if (isinf(epsilon)) return one;
    if (examples == 1) return (struct nvdp_dp_guarantee){epsilon, delta};
    const double times = epsilon > 0 ? expm1(examples * epsilon) / expm1(epsilon) : examples;
    return (struct nvdp_dp_guarantee){examples * epsilon, delta > 0 ? fmin(times * delta, 1) : 0};
}

/* Logs for the owner why an entry is counted, or which texts of a training without privacy are
 * not counted. */
static void tell(struct nvdp_context *ctx, const json_t *entry, struct nvdp__seen seen,
                 const struct nvdp__overlap *overlap, const struct nvdp_dp_guarantee *of) {
    const char *run = json_string_value(json_object_get(entry, "run"));
    const char *name = run != NULL ? run : "a pretraining that its config.json names";
    if (of == NULL)
        nvdp__log(ctx, NVDP_LOG_NOTICE,
                  "private training: the model to begin from has seen %zu short texts (fewer than "
                  "%d words) in %s without privacy; what it knows of these is outside of the "
                  "statement",
                  overlap->rows, NVDP__SEEN_LONG, name);
    else if (overlap->rows > 0)
        nvdp__log(
            ctx, NVDP_LOG_NOTICE,
            "private training: %s saw %zu of these %zu texts (the first is text %zu; one text "
            "of a pair is enough); its own epsilon %s at delta %s is counted (this notice is for "
            "the owner of the texts: the statement does not say which texts, nor how many)",
            name, overlap->rows, seen.texts->rows, overlap->first + 1,
            nvdp__bound(of->epsilon).text, nvdp__bound(of->delta).text);
    else
        nvdp__log(
            ctx, NVDP_LOG_NOTICE,
            "private training: %s saw the same file, or its texts cannot be compared; its own "
            "epsilon %s at delta %s is counted",
            name, nvdp__bound(of->epsilon).text, nvdp__bound(of->delta).text);
}

/* Returns true if the private vocabulary of an entry is already counted: by the statement of
 * this training, or by a later entry that saw all files of the entry. */
static bool words_are_counted(const struct nvdp__lineage *lineage, size_t at) {
    const json_t *entry = json_array_get(lineage->list, at), *digest;
    if (!json_is_string(json_object_get(entry, "vocabulary"))) return false;
    bool counted = lineage->counts_words;
    for (size_t i = at + 1; i < json_array_size(lineage->list) && !counted; i++) {
        const json_t *later = json_array_get(lineage->list, i);
        size_t k;
        counted = json_is_true(json_object_get(later, "counts_words"));
        json_array_foreach(json_object_get(entry, "sha256"), k, digest) counted =
            counted && has(json_object_get(later, "sha256"), json_string_value(digest));
    }
    return counted;
}

/* Adds up the parts of the entries, each without what the entry counted for earlier ones. A
 * statement counts a part for each of its examples. The sum is therefore an upper bound for the
 * joint output of all entries, for an example that some or all of the entries saw. */
nvdp_status nvdp__lineage_promise(struct nvdp_context *ctx, const struct nvdp__lineage *lineage,
                                  struct nvdp__seen seen, bool seeded,
                                  struct nvdp_dp_guarantee *out) {
    size_t i;
    const json_t *entry;
    struct nvdp_dp_guarantee sum = {0, 0};
    json_array_foreach(lineage->list, i, entry) {
        struct nvdp__overlap overlap;
        const json_t *dp = json_object_get(entry, "dp"), *own = json_object_get(entry, "own");
        if (words_are_counted(lineage, i)) continue;
        if (!saw(lineage, entry, seen, &overlap)) {
            if (overlap.rows > 0) tell(ctx, entry, seen, &overlap, NULL);
            continue;
        }
        if (dp == NULL || (json_is_true(json_object_get(entry, "seed")) && !seeded))
            return refuse(ctx, entry, seen, &overlap);
        const struct nvdp_dp_guarantee of =
            of_group(own != NULL ? own : dp, max_example_count(entry, seen));
        tell(ctx, entry, seen, &overlap, &of);
        sum.epsilon += of.epsilon;
        sum.delta = fmin(sum.delta + of.delta, 1);
    }
    *out = sum;
    return NVDP_OK;
}

/* --- in words --- */

static void name_texts(FILE *to, const struct nvdp__lineage *lineage, const json_t *entry) {
    const json_t *files = json_object_get(entry, "files"), *file;
    const struct nvdp_dp_guarantee of = recorded_guarantee(json_object_get(entry, "dp"));
    const struct nvdp__seen_digests *digests = entry_digests(lineage, entry);
    const char *run = json_string_value(json_object_get(entry, "run"));
    size_t i;
    if (json_array_size(files) > 0)
        json_array_foreach(files, i, file)
            nvdp__fprintf(to, "%s%s", i > 0 ? " and " : "", json_string_value(file));
    else if (run != NULL)
        nvdp__fprintf(to, "the texts of the run %s", path_tail(run));
    else
        fputs("texts that are not recorded", to);
    if (digests != NULL && !was_private(entry))
        nvdp__fprintf(to, " (%zu different texts)", digests->count);
    if (!was_private(entry)) return;
    if (isinf(of.epsilon)) {
        fputs(" (a private vocabulary, of which nothing is proven for a whole text)", to);
        return;
    }
    nvdp__fprintf(to, " (epsilon %s at delta %s", nvdp__bound(of.epsilon).text,
                  nvdp__bound(of.delta).text);
    if (json_object_get(entry, "windows") != NULL) fputs(" for one example of a text", to);
    nvdp__fprintf(to, "%s)",
                  json_is_true(json_object_get(entry, "seed")) ? ", noise from a seed" : "");
}

/* Returns true if an earlier entry has the same description, which is then not repeated. */
static bool named_before(const struct nvdp__lineage *lineage, size_t entry) {
    const json_t *here = json_array_get(lineage->list, entry),
                 *files = json_object_get(here, "files");
    for (size_t i = 0; i < entry && json_array_size(files) > 0; i++) {
        const json_t *other = json_array_get(lineage->list, i);
        if (json_equal(json_object_get(other, "files"), files) &&
            json_equal(json_object_get(other, "sha256"), json_object_get(here, "sha256")) &&
            was_private(other) == was_private(here) &&
            (entry_digests(lineage, other) != NULL) == (entry_digests(lineage, here) != NULL))
            return true;
    }
    return false;
}

/* Writes the entries that are private (or are not), separated by commas, and returns their
 * number. `compared` selects entries whose texts were (or were not) compared one by one; NULL
 * selects all. */
static size_t name_all(FILE *to, const struct nvdp__lineage *lineage, size_t entries, bool private,
                       const bool *compared) {
    size_t named = 0;
    for (size_t i = 0; i < entries; i++) {
        const json_t *entry = json_array_get(lineage->list, i);
        if (was_private(entry) != private) continue;
        if (compared != NULL && (entry_digests(lineage, entry) != NULL) != *compared) continue;
        const bool names = to != NULL && (private || !named_before(lineage, i));
        if (names) fputs(named > 0 ? ", " : "", to);
        if (names) name_texts(to, lineage, entry);
        named++;
    }
    return named;
}

struct history {
    const struct nvdp__lineage *lineage;
    size_t entries;
    const char *model; /* the model from which the training began; NULL if there was none */
    bool own;
};

static void write_history(const void *of, FILE *to) {
    const struct history *text = of;
    const struct nvdp__lineage *lineage = text->lineage;
    const size_t entries = text->entries;
    const char *model = text->model;
    const bool own = text->own;
    static const bool by_text = true, by_file = false;
    const size_t open = name_all(NULL, lineage, entries, false, NULL),
                 private = name_all(NULL, lineage, entries, true, NULL),
                 compared = own ? name_all(NULL, lineage, entries, false, &by_text) : 0;
    if (model == NULL) {
        fputs("Training began from random weights", to);
        if (entries > 0) fputs(", with a vocabulary that was trained on ", to);
        name_all(to, lineage, entries, false, NULL);
    } else if (entries == 0) {
        nvdp__fprintf(to,
                      "Training began from %s, whose own training texts are not recorded: what it "
                      "knew of these examples is not covered",
                      path_tail(model));
    } else {
        nvdp__fprintf(to, "Training began from %s, which had learned without privacy from ",
                      path_tail(model));
        if (name_all(to, lineage, entries, false, NULL) == 0) fputs("nothing that is recorded", to);
    }
    fputc('.', to);
    if (compared > 0) {
        fputs(" None of these examples is among ", to);
        if (compared < open)
            name_all(to, lineage, entries, false, &by_text);
        else
            fputs("those texts", to);
        nvdp__fprintf(to,
                      " (compared by words), apart from texts of fewer than %d words. Not covered "
                      "is what it knew of these, and of an example that was changed or cut.",
                      NVDP__SEEN_LONG);
    }
    if (open > compared) {
        fputs(" Only whole files were compared with ", to);
        name_all(to, lineage, entries, false, compared > 0 ? &by_file : NULL);
        fputs(", and they differ from the file of these examples; single texts in both are not "
              "covered.",
              to);
    }
    if (private > 0) {
        fputs(" It had learned with privacy from ", to);
        name_all(to, lineage, entries, true, NULL);
        fputs(". Each of these trainings is counted if a text may be in both; what a training "
              "whose texts are not recorded knew of these examples is not covered.",
              to);
    }
    if (model != NULL && entries > 0) fputs(" Earlier training is not recorded.", to);
}

nvdp_status nvdp__lineage_sentences(struct nvdp_context *ctx, const struct nvdp__lineage *lineage,
                                    size_t entries, const char *model, bool own, char **out) {
    const struct history history = {lineage, entries, model, own};
    return nvdp__printed(ctx, write_history, &history, out);
}
