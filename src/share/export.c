/* Implements nvdp export: draws the samples of every text once, rounds the samples and writes them to a file.
 *
 * The order of this file: run, texts, shape of the output, measurements, nvdp_export.  export_ledger.c counts the
 * release, export_write.c draws and writes it. */
#include "share/export.h"
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "encoder/encode.h"
#include "job/dp.h"
#include "mechanism/mechanism.h"
#include "model/model.h"
#include "options/result.h"
#include "rdp/options.h"
#include "rdp/pairs.h"
#include "share/ledger.h"
#include "share/reader.h"
#include "share/release.h"
#include "share/statement.h"
#include "share/summarize.h"
#include "text/batch.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include "train/run.h"
#include "train/sentence_run.h"
#include "train/training_options.h"
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- the run --- */

/* Sets the paths of ledger and key that the caller did not give. */
static void name_ledger(struct nvdp__export *export, struct nvdp__export_options *options) {
    if (options->ledger == NULL) options->ledger = export->count.path.text;
    export->count.key = nvdp__path_format("%s.key", options->ledger);
    if (options->ledger_key == NULL) options->ledger_key = export->count.key.text;
}

/* Sets the paths of the run of an encoder without training, and of the ledger in the run's folder, unless the caller
 * gave them.  The default folder depends on the encoder and on the folder of the file, but not on other options.  So
 * the samples of a text stay in one ledger as long as the files lie in one folder. */
static void name_paths(struct nvdp__export *export, struct nvdp__export_options *options) {
    if (options->vectors != NULL) { /* no run: samples and summaries of vectors have one ledger */
        const char *slash = strrchr(options->out, '/');
        if (options->no_ledger) return;
        export->count.path =
            nvdp__path_format("%.*svectors.ledger",
                              slash != NULL ? (int)(slash + 1 - options->out) : 0, options->out);
        name_ledger(export, options);
        return;
    }
    nvdp__autofree char *model = options->run == NULL ? realpath(options->model, NULL) : NULL;
    const char *name = model != NULL ? strrchr(model, '/') : NULL;
    const char *slash = strrchr(options->out, '/');
    export->from.made_run =
        nvdp__path_format("%.*s%s-%s", slash != NULL ? (int)(slash + 1 - options->out) : 0,
                          options->out, name != NULL ? name + 1 : "model", export->kind->folder);
    const struct nvdp__path other = nvdp__path_format(
        "%.*s%s-%s/ledger", slash != NULL ? (int)(slash + 1 - options->out) : 0, options->out,
        name != NULL ? name + 1 : "model", export->summary != NULL ? "sentence" : "summary");
    if (options->run == NULL && options->ledger == NULL && !options->no_ledger &&
        nvdp__exists(other.text))
        nvdp__log(
            export->ctx, NVDP_LOG_WARNING,
            "%s counts other releases by this encoder: if they are of these texts, name it with "
            "{ledger}, or the sums lack them",
            other.text);
    if (options->run == NULL) options->run = export->from.made_run.text;
    if (options->no_ledger) return;
    export->count.path = nvdp__path(options->run, "ledger");
    name_ledger(export, options);
}

/* Reads the public texts from which the center, or the map of the objective distill, was computed. The file states
 * center and map, which no noise protects. Fails if the file of public texts that the run names has changed. The owner
 * may declare, now or for the training, that the public texts are independent of the private texts. Then the texts are
 * not compared, and the file's statement depends on no comparison. */
static nvdp_status read_public(struct nvdp__export *export) {
    const struct nvdp__export_options *options = export->options;
    const struct nvdp__model_info *info = &export->from.run.model->info;
    const struct nvdp__train_options *trained = &export->from.run.config;
    const struct nvdp__query_map *query = &export->from.query;
    struct nvdp__public_texts *public = &export->from.public;
    const bool distilled = query->decoder != NULL;
    const char *texts = options->model != NULL ? options->center
                        : query->texts != NULL ? query->texts
                                               : trained->input;
    const struct nvdp__encode_limits limits = {.config = &info->bert,
                                               .max_length = info->max_length,
                                               .directory = trained->model,
                                               .text_column = info->columns.text_column,
                                               .text_pair_column =
                                                   nvdp__export_sentence(options).pair_column,
                                               .public = public};
    nvdp__auto(nvdp__encode_input_release) struct nvdp__encode_input center = {0};
    bool same = false;
    if (query->center == NULL && options->public_independent)
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "{public-independent}: %s: expected a run with public texts, found one "
                          "of method %s",
                          options->run, nvdp_method_name(info->method));
    if (query->center == NULL) return NVDP_OK;
    export->from.query.independent =
        options->public_independent || trained->noise.sanitizer.public_independent;
    if (query->independent) return NVDP_OK;
    *public = (struct nvdp__public_texts){.ctx = export->ctx,
                                          .tokenizer = nvdp_model_tokenizer(export->from.run.model),
                                          .max_length = info->max_length,
                                          .path = texts};
    if (texts == NULL)
        return nvdp__fail(export->ctx, NVDP_ERR_INPUT,
                          "%s: the run does not state the file of its center, so its texts "
                          "cannot be compared with the texts to share; export with {model} and "
                          "{center}",
                          options->run);
    NVDP_TRY(nvdp__file_is(export->ctx, texts, query->texts_sha256, &same));
    if (!same)
        return nvdp__fail(
            export->ctx, NVDP_ERR_INPUT,
            "%s: the public texts of the %s are gone or changed, so they cannot be compared with "
            "the texts to share; put them back%s",
            texts, distilled ? "training" : "center",
            distilled
                ? ""
                : nvdp__with_options(export->ctx, ", or export with {model} and {center}").text);
    return nvdp__encode_input_read(export->ctx, texts, &limits, &center);
}

static nvdp_status check_grid(const struct nvdp__export *export) {
    const struct nvdp__clip_config *clip = &export->from.run.model->info.nvib.clip;
    if (export->options->grid != NVDP__GRID_FLOAT16 || !nvdp__clips_sequence(clip)) return NVDP_OK;
    return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                      "{grid}: expected fixed for a model with {clip-sequence} %g, whose bound "
                      "requires exact noise, found float16",
                      clip->sequence);
}

static nvdp_status open_run(struct nvdp__export *export) {
    struct nvdp__run_options config = {.run = export->options->run};
    NVDP_TRY(nvdp__run_open_bottleneck(export->ctx, &config, &export->from.run));
    const struct nvdp_model *model = export->from.run.model;
    if (!model->bottleneck.mechanism->private_)
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "%s: method %s adds no noise, so its embeddings cannot be given away; "
                          "train with another method",
                          export->options->run, nvdp_method_name(model->info.method));
    if (nvdp__method_row(model->info.method)->untrained)
        NVDP_TRY(nvdp__sentence_query_map(export->ctx, export->options->run, model,
                                          &export->from.query));
    if (export->options->model_out != NULL && !nvdp__method_row(model->info.method)->block)
        return nvdp__fail(
            export->ctx, NVDP_ERR_ARGUMENT,
            "%s: method %s has no sealed block, so there is no public part to write to %s",
            export->options->run, nvdp_method_name(model->info.method), export->options->model_out);
    if (model->info.nvib.query == NVDP__QUERY_CLEAN)
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "%s: a model with query clean reads un-noised states, so a sample alone "
                          "is not enough; train with {query} sampled",
                          export->options->run);
    return NVDP_OK;
}

/* --- the texts: splits of the task, or a file of the caller --- */

/* Returns the public texts to compare with; NULL if there is none. */
static struct nvdp__public_texts *compared(struct nvdp__export *export) {
    return export->from.public.path != NULL ? &export->from.public : NULL;
}

nvdp_status nvdp__export_next(struct nvdp__export_part *part, bool *more) {
    if (part->vectors.file != NULL) return nvdp__export_next_vectors(part, more);
    if (part->parts.path == NULL) {
        *more = part->begun = !part->begun;
        return NVDP_OK;
    }
    const size_t after = part->data != NULL ? part->first + part->data->count : 0;
    NVDP_TRY(nvdp__dataset_parts_next(&part->parts, &part->data));
    *more = part->data != NULL;
    part->first = *more ? after : 0;
    return NVDP_OK;
}

static void rewind_part(struct nvdp__export_part *part) {
    part->begun = part->content.begun = false;
    if (part->parts.path == NULL && part->vectors.file == NULL) return;
    nvdp__dataset_parts_rewind(&part->parts);
    nvdp_dataset_free(part->data);
    part->data = NULL;
}

void nvdp__export_rewind(struct nvdp__export *export) {
    for (size_t p = 0; p < NVDP__EXPORT_PARTS; p++)
        rewind_part(&export->from.part[p]);
    rewind_part(&export->from.joint);
}

nvdp_status nvdp__export_scan(struct nvdp__export *export, struct nvdp__export_part *part) {
    export->from.digests.ctx = export->ctx;
    for (bool more;;) {
        NVDP_TRY(nvdp__export_next(part, &more));
        if (!more) return NVDP_OK;
        part->count += part->data->count;
        part->longest = nvdp__max(part->longest, part->data->longest);
        if (part != &export->from.joint)
            NVDP_TRY(nvdp__text_digests_add(&export->from.digests, part->data));
    }
}

/* Opens the input: as a whole, or, for a summary of many texts, in parts. */
static nvdp_status load_input(struct nvdp__export *export, const struct nvdp_dataset_config *config,
                              enum nvdp__label_use use, struct nvdp__public_texts *public,
                              struct nvdp__export_part *part) {
    const struct nvdp_tokenizer *tokenizer = nvdp_model_tokenizer(export->from.run.model);
    const char *input = export->options->input;
    NVDP_TRY(export->summary != NULL && nvdp__dataset_has_parts(config, input)
                 ? nvdp__dataset_parts_open(export->ctx, tokenizer, config, use, input, public,
                                            &part->parts)
                 : nvdp__dataset_load_rows(export->ctx, tokenizer, config, use, input, public,
                                           &part->data));
    return nvdp__export_scan(export, part);
}

/* Loads the splits that the option names, one part per split. */
static nvdp_status load_splits(struct nvdp__export *export,
                               const struct nvdp_dataset_config *config) {
    char *rest = NULL;
    nvdp__autofree char *names = nvdp__strdup(export->ctx, export->options->splits);
    NVDP_TRY(NVDP__MADE(names));
    for (char *name = strtok_r(names, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        enum nvdp_split split = NVDP_SPLIT_TRAIN;
        NVDP_TRY(nvdp__find_split(export->ctx, name, "", &split));
        for (size_t i = 0; i < export->from.parts; i++)
            if (export->from.part[i].split == split)
                return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT, "split '%s' is named twice",
                                  name);
        struct nvdp__export_part *part = &export->from.part[export->from.parts];
        NVDP_TRY(nvdp__dataset_load(export->ctx, nvdp_model_tokenizer(export->from.run.model),
                                    config, split, compared(export), &part->data));
        part->split = split;
        NVDP_TRY(nvdp__export_scan(export, part));
        nvdp__run_note_sample(export->ctx, &export->from.run, split, part->data->count);
        export->from.parts++;
    }
    return export->from.parts > 0 ? NVDP_OK
                                  : nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                                               "{splits}: expected at least one split, found none");
}

const char *nvdp__export_answers(const struct nvdp__export_options *options) {
    const bool beside = options->vectors != NULL && options->with_labels;
    if (!beside && options->summary.classes == NULL && options->summary.range == NULL) return NULL;
    return options->summary.label != NULL ? options->summary.label : "label";
}

struct nvdp__sentence_options nvdp__export_sentence(const struct nvdp__export_options *options) {
    return (struct nvdp__sentence_options){
        .model = options->model,
        .center = options->center,
        .text_column = options->text_column,
        .pair_column = options->summary.joint ? options->summary.pair : NULL,
        .reduce = options->reduce,
        .clip = options->clip,
        .epsilon = options->epsilon,
        .releases = options->samples,
        .batch = options->batch,
        .trained = options->summary.epsilon > 0};
}

/* Loads the texts to share. Fails if one of these texts is among the public texts. */
static nvdp_status load_texts(struct nvdp__export *export) {
    const struct nvdp__export_options *options = export->options;
    const char *answers = nvdp__export_answers(options);
    struct nvdp_dataset_config config = nvdp__run_dataset_config(&export->from.run, options->data);
    bool labeled = false;
    nvdp__summary_set_task(export, &config);
    config.id_column = options->person;
    config.limit = options->limit;
    config.limit_seed = options->seed;
    if (answers != NULL) config.label_column = answers;
    if (options->input != NULL) {
        NVDP_TRY(load_input(export, &config,
                            answers != NULL ? NVDP__LABELS_AS_TEXT : NVDP__LABELS_FOUND,
                            compared(export), &export->from.part[export->from.parts++]));
        config.text_column = options->summary.pair;
        if (options->summary.pair != NULL) /* the second texts of the rows */
            NVDP_TRY(load_input(export, &config, NVDP__LABELS_IGNORED, compared(export),
                                &export->from.part[export->from.parts++]));
        config.text_column = options->text_column;
        config.text_pair_column = options->summary.pair;
        if (options->summary.joint)
            NVDP_TRY(load_input(export, &config, NVDP__LABELS_IGNORED, NULL, &export->from.joint));
    } else {
        if (options->data == NULL)
            NVDP_TRY(nvdp__run_check_data(export->ctx, options->run, &export->from.run.config));
        NVDP_TRY(load_splits(export, &config));
    }
    for (size_t i = 0; i < export->from.parts; i++) {
        const struct nvdp__export_part *part = &export->from.part[i];
        export->from.texts += part->count;
        labeled = labeled || (part->data != NULL && part->data->label != NULL);
    }
    if (options->with_labels && !labeled)
        return nvdp__fail(export->ctx, NVDP_ERR_INPUT,
                          "labels were requested, but these texts have none");
    return nvdp__public_texts_check(&export->from.public, options->model != NULL ? "{center}"
                                                          : export->from.query.decoder != NULL
                                                              ? "the public texts of the training"
                                                              : "the public texts of the center");
}

/* Opens the run and loads the texts, or loads vectors, which need neither. */
static nvdp_status open_source(struct nvdp__export *export) {
    const bool vectors = export->options->vectors != NULL;
    NVDP_TRY(vectors ? nvdp__export_open_vectors(export) : open_run(export));
    if (export->options->insecure)
        export->from.run.model->dev.threads = 1; /* rounding of sums depends on them */
    export->form = nvdp__model_form(export->from.run.model);
    NVDP_TRY(check_grid(export));
    if (vectors) return NVDP_OK;
    NVDP_TRY(read_public(export));
    return load_texts(export);
}

/* --- the shape of the output --- */

static nvdp_status plan(struct nvdp__export *export) {
    const bool persons = export->options->unit == NVDP__UNIT_PERSON;
    size_t samples = export->options->samples;
    struct nvdp_posteriors *like = &export->like;
    size_t count;
    like->dim = export->from.run.model->info.nvib.latent_dim;
    nvdp__model_describe(export->from.run.model, like);
    export->grids = nvdp__release_grids(like->clip_sequence);
    export->from.units = export->from.texts;
    if (persons) NVDP_TRY(nvdp__export_find_persons(export));
    const size_t units = export->from.units;
    if (!nvdp__mul(units, samples, &count) || count >= INT32_MAX)
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "samples: one file cannot hold %zu samples of %zu texts; export fewer",
                          samples, units);
    NVDP_TRY(NVDP__NEW(export->ctx, export->release.offset, count + 1));
    int64_t *offset = export->release.offset;
    for (size_t p = 0; p < export->from.parts; p++) {
        const struct nvdp_dataset *data = export->from.part[p].data;
        for (size_t i = 0; i < (persons ? units : data->count); i++) {
            size_t own = export->form.single ? 1 : data->offset[i + 1] - data->offset[i];
            size_t rows = nvdp__form_rows(&export->form, own);
            export->longest_rows = nvdp__max(export->longest_rows, rows);
            for (size_t s = 0; s < samples; s++, offset++)
                offset[1] = offset[0] + (int64_t)rows;
        }
    }
    bool hidden = like->policy == NVDP_LENGTH_HIDDEN;
    export->release.shape = (struct nvdp__embeddings_shape){
        .texts = units,
        .samples = samples,
        .dim = like->dim,
        .kappa = like->kappa,
        .policy = like->policy,
        .length = hidden ? like->length : 0,
        .sample_rows = hidden ? export->longest_rows : 0,
        .rows = (size_t)*offset,
        .weights = export->form.weights,
        .grid = nvdp__export_is_fixed(export) ? export->grids.type : NVDP__H5_F16,
        .z_exponent = export->grids.z.exponent,
        .log_pi_exponent = export->grids.log_pi.exponent,
    };
    return NVDP_OK;
}

/* --- measurements: divergences over pairs of the texts --- */

/* Appends the posteriors of one part. */
static void append(struct nvdp_posteriors *all, const struct nvdp_posteriors *more) {
    size_t row = all->offset[all->texts], rows = more->offset[more->texts];
    size_t values = rows * all->dim * sizeof(double);
    memcpy(all->mu + row * all->dim, more->mu, values);
    memcpy(all->logvar + row * all->dim, more->logvar, values);
    if (all->alpha != NULL) memcpy(all->alpha + row, more->alpha, rows * sizeof(double));
    for (size_t i = 0; i < more->texts; i++) {
        all->offset[all->texts + i + 1] = row + more->offset[i + 1];
        if (all->label != NULL)
            all->label[all->texts + i] = more->label != NULL ? more->label[i] : NAN;
    }
    all->texts += more->texts;
}

/* Computes the posteriors of the chosen texts.  The indices must be in ascending order. */
static nvdp_status infer_chosen(struct nvdp__export *export, const int64_t *chosen, size_t count,
                                struct nvdp_posteriors **out) {
    struct nvdp_model *model = export->from.run.model;
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *all = NULL;
    nvdp__autofree size_t *rows = NULL;
    size_t rows_of_part[NVDP__EXPORT_PARTS] = {0}, first = 0, tokens = 0;
    if (export->options->vectors != NULL)
        return nvdp__export_chosen_vectors(export, chosen, count, out);
    NVDP_TRY(NVDP__NEW(export->ctx, rows, count));
    for (size_t p = 0, k = 0; p < export->from.parts; p++) {
        const struct nvdp_dataset *data = export->from.part[p].data;
        for (; k < count && (size_t)chosen[k] < first + data->count; k++) {
            rows[k] = (size_t)chosen[k] - first;
            tokens += data->offset[rows[k] + 1] - data->offset[rows[k]];
            rows_of_part[p]++;
        }
        first += data->count;
    }
    NVDP_TRY(nvdp_posteriors_create(export->ctx, count, export->form.single ? count : tokens,
                                    export->like.dim, export->form.weights, &all));
    if (export->options->with_labels) NVDP_TRY(NVDP__NEW(export->ctx, all->label, count));
    nvdp__model_describe(model, all);
    all->texts = 0;
    for (size_t p = 0; p < export->from.parts; p++) {
        nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *subset = NULL;
        nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *part = NULL;
        if (rows_of_part[p] == 0) continue;
        NVDP_TRY(nvdp__dataset_select(export->ctx, export->from.part[p].data, rows_of_part[p],
                                      rows + all->texts, &subset));
        NVDP_TRY(nvdp_model_posteriors(export->ctx, model, subset, export->options->batch, &part));
        append(all, part);
    }
    return NVDP__HAND_OVER(out, all);
}

/* Makes the id that links this file to a public model and to other files of the release, random unless it is given or
 * the noise is seeded.  A digest of the model would confirm a guess about its training texts. */
static void make_id(const struct nvdp__export *export, char id[NVDP__MODEL_ID_DIGITS + 1]) {
    unsigned char bytes[NVDP__MODEL_ID_DIGITS / 2];
    if (export->options->model_id != NULL) {
        memcpy(id, export->options->model_id, NVDP__MODEL_ID_DIGITS + 1);
        return;
    }
    const struct nvdp__noise seeded = {.seed = export->options->seed};
    struct nvdp__stream stream = nvdp__stream_open(&seeded, NVDP__PURPOSE_MEASURE, 1, 0);
    if (export->options->insecure)
        nvdp__stream_words(&stream, sizeof bytes / 4, bytes);
    else
        randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(id, NVDP__MODEL_ID_DIGITS + 1, bytes, sizeof bytes);
}

/* Reads the guarantee of the run's training, which was made when the training ended.  Training without noise, or with
 * noise from a seed, has no guarantee, whatever the options requested. */
static nvdp_status read_promise(const struct nvdp__export *export,
                                struct nvdp__release_facts *facts) {
    struct nvdp_dp_guarantee promised;
    nvdp__autoptr(json_decref) json_t *result = NULL, *run = NULL;
    if (export->options->run != NULL) {
        NVDP_TRY(
            nvdp__json_read_optional(export->ctx, export->options->run, "result.json", &result));
        NVDP_TRY(nvdp__json_read_optional(export->ctx, export->options->run, "run.json", &run));
    }
    const bool is_private = nvdp__dp_promise(nvdp__dp_planned(result, run), false, &promised);
    facts->training_epsilon = is_private ? promised.epsilon : NAN;
    facts->training_delta = is_private ? promised.delta : NAN;
    return NVDP_OK;
}

/* Sets the names of the label's classes; scores have none.  Leaves the names out if an attribute cannot hold them. */
static nvdp_status name_labels(struct nvdp__export *export) {
    enum { MAX_NAMES = 32 << 10 };
    const struct nvdp_task *task = &export->from.run.model->info.task;
    const char *const *labels = task->labels;
    nvdp__autofree const char **given = NULL;
    size_t classes = (size_t)task->classes;
    if (!export->options->with_labels || task->tags) return NVDP_OK;
    if (export->options->vectors != NULL) {
        NVDP_TRY(nvdp__list_split(export->ctx, export->options->summary.classes, &given, &classes));
        labels = given;
    }
    json_t *names = labels == NULL ? json_array() : nvdp__label_names(labels, classes);
    nvdp__autofree char *text = json_dumps(names, NVDP__LABEL_NAMES_FORM);
    json_decref(names);
    if (text == NULL) return nvdp__fail(export->ctx, NVDP_ERR_MEMORY, "out of memory");
    if (strlen(text) < MAX_NAMES) NVDP__HAND_OVER(&export->facts.label_names, text);
    return NVDP_OK;
}

/* Fills the facts that do not depend on the contents of the texts, including the certificate. */
static nvdp_status state_facts(struct nvdp__export *export) {
    const struct nvdp__export_options *options = export->options;
    struct nvdp__release_facts *facts = &export->facts;
    const bool persons = options->unit == NVDP__UNIT_PERSON;
    const bool untrained = nvdp__method_row(export->from.run.model->info.method)->untrained;
    *facts = (struct nvdp__release_facts){
        .info = &export->from.run.model->info,
        .form = export->form,
        .lambda_g = untrained ? NAN : export->from.run.config.lambda_g,
        .lambda_d = untrained ? NAN : export->from.run.config.lambda_d,
        .texts = persons ? export->from.units : export->from.texts,
        .persons = persons,
        .samples = options->samples,
        .labels = options->with_labels,
        .insecure_seed = options->insecure,
        .publish = options->publish,
        .grids = nvdp__export_is_fixed(export) ? &export->grids : NULL,
        .rows = export->longest_rows,
        .delta = options->delta,
        .bound_order = 1.1,
        .counted = !options->no_ledger,
        .query = export->from.query.center != NULL ? &export->from.query : NULL,
        .limits = {.struct_size = sizeof facts->limits},
        .summary = export->summary,
    };
    NVDP_TRY(name_labels(export));
    NVDP_TRY(read_promise(export, facts));
    if (export->summary != NULL) NVDP_TRY(nvdp__summary_training(export));
    NVDP_TRY(nvdp__creation_date(export->ctx, facts->created));
    make_id(export, facts->model_id);
    size_t train = 0; /* texts of the split train; an input file counts as none */
    for (size_t p = 0; options->input == NULL && p < export->from.parts; p++)
        if (export->from.part[p].split == NVDP_SPLIT_TRAIN)
            train += export->from.part[p].data->count;
    if (export->summary == NULL)
        facts->training = nvdp__determine_training(train, export->from.texts);
    NVDP_TRY(nvdp__model_limits(export->ctx, export->from.run.model, &facts->limits));
    NVDP_TRY(nvdp__release_certify(export->ctx, facts));
    if (nvdp__release_exposed(facts) > 0)
        nvdp__log(export->ctx, NVDP_LOG_NOTICE,
                  "the file states epsilon at delta %g, which is for each %s: for %zu %ss, this "
                  "delta alone would allow %.3g of them to be exposed on average; this mechanism "
                  "publishes no text, but also tell recipients epsilon at a delta below 1/N = %.3g "
                  "(nvdp privacy {certify} {delta}), or train with {certified-delta}",
                  facts->certificate.delta, nvdp__release_unit(facts), facts->texts,
                  nvdp__release_unit(facts), nvdp__release_exposed(facts),
                  1 / (double)facts->texts);
    return facts->certified && export->summary == NULL
               ? nvdp__release_fits_limits(export->ctx, &facts->limits, &export->grids)
               : NVDP_OK;
}

/* Measures pairs of at most measure_texts texts, chosen by the seed.  Does nothing for fewer than two texts, and for
 * persons, because the measurements are of single texts. */
static nvdp_status measure(struct nvdp__export *export) {
    const struct nvdp__export_options *options = export->options;
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    const struct nvdp__noise seeded = {.seed = options->seed};
    struct nvdp__release_facts *facts = &export->facts;
    nvdp__autofree int64_t *order = NULL;
    const size_t count = nvdp__min(options->measure_texts, export->from.texts);
    if (count < 2 || facts->persons) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(export->ctx, order, export->from.texts));
    struct nvdp__stream stream = nvdp__stream_open(&seeded, NVDP__PURPOSE_MEASURE, 0, 0);
    nvdp__stream_permutation(&stream, export->from.texts, order);
    NVDP__SORT(order, count, NVDP__UP_ITEM(int64_t));
    NVDP_TRY(infer_chosen(export, order, count, &posteriors));
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    config.pairs.order = options->order;
    config.bdp.delta = options->delta;
    config.bdp.releases = (int)options->samples;
    /* All samples share the failure probability, so that it stays at or below a tenth of delta. */
    config.bdp.gamma = fmin(config.bdp.gamma, options->delta / 10) / (double)options->samples;
    facts->privacy.struct_size = sizeof facts->privacy;
    NVDP_TRY(nvdp__privacy_measure(export->ctx, posteriors, &config, NULL, &facts->privacy));
    NVDP_TRY(nvdp_linkage_measure(export->ctx, posteriors, config.bdp.releases, 0, options->seed,
                                  facts->privacy.linkage));
    NVDP_TRY(NVDP__NEW(export->ctx, export->privacy, 1));
    *export->privacy = facts->privacy;
    facts->measured = true;
    facts->bound_order = options->order; /* the order of the measurements */
    return NVDP_OK;
}

/* --- nvdp_export --- */

static const struct nvdp_result_kind export_kind = {
    .name = "export",
    .rows = &nvdp__result_export,
    .results = NVDP__OFFSETS(offsetof(struct nvdp_export_result, privacy))};

static void give_result(struct nvdp__export *export, struct nvdp_export_result *out) {
    struct stat info = {0};
    struct nvdp_export_result result = {
        .kind = &export_kind,
        .texts = export->from.texts,
        .units = export->facts.persons ? export->from.units : 0,
        .samples = export->release.shape.samples,
        .components = export->longest_rows / (size_t) export->release.shape.kappa,
        .dim = export->release.shape.dim,
        .bytes = stat(export->options->out, &info) == 0 ? (uint64_t)info.st_size : 0,
        .privacy = export->privacy,
        .spent_samples = export->count.spent.samples,
        .spent_epsilon = export->facts.counted ? export->count.spent.epsilon : NAN,
        .spent_delta = export->facts.counted ? NVDP__LEDGER_DELTA : NAN,
        .spent_word_epsilon =
            export->facts.counted ? nvdp__spent_word_epsilon(&export->count.spent) : NAN,
        .spent_proven_epsilon = export->count.spent.proven,
        .replaced = export->draw.replaced,
        .receivers = (size_t) export->count.spent.receivers,
        .receiver_epsilon =
            export->count.spent.receivers > 0 ? export->count.spent.receiver_epsilon : NAN,
        .receiver_person_epsilon =
            export->count.spent.receivers > 0 && export->count.spent.persons > 0
                ? export->count.spent.receiver_person_epsilon
                : NAN,
        .useful = export->facts.useful,
    };
    nvdp__spent_persons(&export->count.spent, &result.person);
    nvdp__statement(&export->facts, sizeof result.statement, result.statement);
    nvdp__snprintf(result.unit, sizeof result.unit, "%s", nvdp__release_unit(&export->facts));
    nvdp__snprintf(result.guarantee, sizeof result.guarantee, "%s", export->facts.guarantee);
    nvdp__snprintf(result.training_texts, sizeof result.training_texts, "%s",
                   nvdp__training_names[export->facts.training]);
    nvdp__snprintf(result.run, sizeof result.run, "%s", nvdp__export_run(export->options));
    export->privacy = NULL; /* the result owns it, and all that it points to */
    export->facts.privacy = (struct nvdp_privacy_report){0};
    NVDP__GIVE(out, &result);
}

static void close_part(struct nvdp__export_part *part) {
    nvdp_dataset_free(part->data);
    nvdp__dataset_parts_close(&part->parts);
    nvdp__caller_vectors_release(&part->vectors);
}

void nvdp__export_close(struct nvdp__export *export) {
    nvdp_result_free(&export->facts.privacy);
    free(export->privacy);
    free(export->draw.rowwise);
    nvdp__release_key_wipe(&export->draw.key);
    nvdp__sign_key_wipe(&export->sign);
    nvdp__release_close(&export->release);
    nvdp__batch_free(export->draw.batch);
    nvdp_posteriors_free(export->draw.posteriors);
    if (export->draw.scratch != NULL) /* contains samples before rounding, or their means: wiped */
        sodium_memzero(export->draw.scratch,
                       (size_t)nvdp_context_threads(export->ctx) * export->draw.scratch_bytes);
    nvdp__memory_release(&export->memory);
    free(export->facts.label_names);
    nvdp__query_map_release(&export->from.query);
    nvdp__public_texts_release(&export->from.public);
    nvdp__memory_release(&export->count.memory);
    nvdp__text_digests_release(&export->from.digests);
    for (size_t i = 0; i < NVDP__EXPORT_PARTS; i++)
        close_part(&export->from.part[i]);
    close_part(&export->from.joint);
    nvdp__run_close(&export->from.run);
}

/* Does the export up to the publication of the file. A failure may leave a record in the ledger, which the caller
 * settles. */
static nvdp_status write_release(struct nvdp__export *export, const struct nvdp_config *config) {
    struct nvdp_context *ctx = export->ctx;
    struct nvdp__export_options *options = &export->chosen;
    nvdp_status (*const before_writing[])(struct nvdp__export *
                                          export) = {open_source,
                                                     export->kind->plan,
                                                     state_facts,
                                                     nvdp__export_check_duplicates,
                                                     nvdp__export_ask_ledger,
                                                     export->kind->measure,
                                                     nvdp__export_warn,
                                                     nvdp__export_allocate};
    NVDP_TRY(nvdp__config_open(ctx, config, export->kind->schema, options));
    options->insecure = nvdp_config_is_set(config, "insecure-seed");
    if (options->insecure) nvdp__warn_insecure_seed(ctx);
    options->own_ledger = options->ledger != NULL;
    options->own_reduce = nvdp_config_is_set(config, "reduce");
    options->own_column = nvdp_config_is_set(config, "text-column");
    options->own_duplicates = nvdp_config_is_set(config, "duplicates");
    if (export->summary != NULL) { /* one release; embeddings on the unit sphere */
        options->samples = 1;
        options->clip = 1;
    }
    if (options->vectors != NULL) options->input = options->vectors;
    name_paths(export, options);
    if (export->kind->choose != NULL) NVDP_TRY(export->kind->choose(export));
    NVDP_TRY(nvdp__export_check_outputs(ctx, options));
    if (options->sign != NULL) NVDP_TRY(nvdp__sign_key_read(ctx, options->sign, &export->sign));
    if (options->model != NULL) { /* makes the run of this encoder, unless it exists */
        const struct nvdp__sentence_options of = nvdp__export_sentence(options);
        NVDP_TRY(nvdp__sentence_run(ctx, &of, options->run));
    }
    for (size_t i = 0; i < sizeof before_writing / sizeof *before_writing; i++)
        NVDP_TRY(before_writing[i](export));
    if (options->summary.dry_run) return NVDP_OK;
    NVDP_TRY(nvdp__export_begin_file(export));
    NVDP_TRY(export->kind->draw(export));
    if (options->model_out != NULL)
        NVDP_TRY(nvdp__export_public_model(export->from.run.model, export->facts.model_id,
                                           options->model_out));
    NVDP_TRY(nvdp__release_finish(&export->release));
    /* Signing fails for some values of Parquet files. */
    export->count.judged = options->sign != NULL;
    if (options->sign != NULL) NVDP_TRY(nvdp__sign(&export->sign, &export->release));
    export->count.judged = false;
    return nvdp__export_publish(export);
}

nvdp_status nvdp__export_do(struct nvdp__export *export, const struct nvdp_config *config,
                            const struct nvdp__export_kind *kind) {
    export->kind = kind;
    export->options = &export->chosen;
    export->release.ctx = export->release.attributes.ctx = export->ctx;
    return nvdp__export_settle(export, write_release(export, config));
}

static nvdp_status draw_samples(struct nvdp__export *export) {
    return export->facts.persons ? nvdp__export_draw_persons(export) : nvdp__export_draw(export);
}

static const struct nvdp__export_kind samples_kind = {.schema = &nvdp__export_schema,
                                                      .folder = "sentence",
                                                      .type = NVDP__LEDGER_RELEASE,
                                                      .plan = plan,
                                                      .measure = measure,
                                                      .draw = draw_samples};

nvdp_status nvdp_export(struct nvdp_context *ctx, const struct nvdp_config *config,
                        struct nvdp_export_result *out) {
    nvdp__auto(nvdp__export_close) struct nvdp__export export = {.ctx = ctx};
    if (out != NULL) NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__export_do(&export, config, &samples_kind));
    if (out != NULL) give_result(&export, out);
    return NVDP_OK;
}
