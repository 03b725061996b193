/* Implements nvdp export: draws the samples of every text once, rounds them and writes them to a file.
 *
 * The order of this file: run, texts, shape of the output, measurements, ledger with duplicates, the output without its
 * samples, memory for one batch, samples batch by batch. */
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "bert/encode_texts.h"
#include "job/dp.h"
#include "mechanism/method.h"
#include "rdp/options.h"
#include "rdp/pairs.h"
#include "share/duplicates.h"
#include "share/export_options.h"
#include "share/ledger.h"
#include "share/reader.h"
#include "share/release.h"
#include "share/sign.h"
#include "share/statement.h"
#include "text/batch.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include "train/options.h"
#include "train/run.h"
#include "train/sentence.h"
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SPLITS = 5,
    ALIGNMENT = 64,
    BATCH_VALUES =
        1 << 22 /* values in all samples of a batch; a text with more is a batch of its own */
};

/* The texts of one source: a split or the input file. */
struct part {
    struct nvdp_dataset *data;
    enum nvdp_split split;
};

struct export {
    struct nvdp_context *ctx;
    const struct nvdp__export_options *options;
    struct nvdp__run run;
    struct part part[SPLITS];
    size_t parts;
    size_t texts;
    struct nvdp__release_key key;
    struct nvdp__sign_key sign; /* set only if the file is signed */
    char *ledger, *ledger_key;  /* paths; NULL: no ledger */
    char *tokens;               /* how the ledger recognizes texts */
    nvdp__ledger_code code;     /* of the record of this export */
    bool counted, published;    /* the ledger has the record; the file has its name */
    bool judged;                /* a failure would depend on the values that were drawn */
    nvdp__text_hash *hash;      /* [N] hashes of the texts under the ledger's key */
    nvdp__text_hash *person,
        *look; /* [N] the same of the persons, and how names look; NULL: none */
    nvdp__text_hash receiver;
    struct nvdp__spent spent; /* the ledger's count of these texts, with this file; 0: no ledger */
    char *made_run;           /* path of the run that this export makes or reuses; NULL: none */
    struct nvdp__query_map query;
    struct nvdp__public_texts public; /* compared with the texts to share */
    struct nvdp__noise noise;
    struct nvdp__form form;      /* the form of the model's samples */
    struct nvdp_posteriors like; /* no rows: only the properties that all texts share */
    struct nvdp__release release;
    struct nvdp__release_grids grids;
    size_t longest_rows; /* rows of the longest sample */
    struct nvdp__release_facts facts;
    /* one batch */
    size_t batch_texts; /* max. texts per batch */
    struct nvdp__batch *batch;
    struct nvdp_posteriors *posteriors;
    char *scratch; /* [threads][scratch_bytes] */
    size_t scratch_bytes;
    void *z, *log_pi;  /* [rows of the batch, p], [rows]: int32_t, or float on grid float16 */
    size_t *first_row; /* [batch + 1] first row of each text of the batch, over all samples */
    size_t replaced;   /* texts in which numbers were replaced */
};

/* --- the run --- */

/* Names the run of an encoder without training.  One default folder per encoder and folder of files, and not per option,
 * keeps the samples of a text in one ledger as long as the files lie in one folder. */
static nvdp_status name_run(struct export *export, struct nvdp__export_options *options) {
    if (options->run != NULL) return NVDP_OK;
    char *model = realpath(options->model, NULL);
    const char *name = model != NULL ? strrchr(model, '/') : NULL;
    const char *slash = strrchr(options->out, '/');
    options->run = export->made_run = nvdp__format(
        export->ctx, "%.*s%s-sentence", slash != NULL ? (int)(slash + 1 - options->out) : 0,
        options->out, name != NULL ? name + 1 : "model");
    free(model);
    return NVDP__MADE(export->made_run);
}

/* Reads the public texts, from which the center or the map of the objective distill was computed: the file states the
 * center and the map, which no noise protects. Fails if the file of public texts that the run names has changed. If the
 * owner declares, now or for the training, that they are independent of the private texts, they are not compared: what
 * the file then states depends on no comparison. */
static nvdp_status read_public(struct export *export) {
    const struct nvdp__export_options *options = export->options;
    const struct nvdp__model_info *info = &export->run.model->info;
    const struct nvdp__train_options *trained = &export->run.config;
    const struct nvdp__query_map *query = &export->query;
    struct nvdp__public_texts *public = &export->public;
    const bool distilled = query->decoder != NULL;
    const char *texts = options->model != NULL ? options->center
                        : query->texts != NULL ? query->texts
                                               : trained->input;
    const struct nvdp__encode_limits limits = {.config = &info->bert,
                                               .max_length = info->max_length,
                                               .directory = trained->model,
                                               .text_column = info->columns.text_column,
                                               .public = public};
    nvdp__auto(nvdp__encode_input_release) struct nvdp__encode_input center = {0};
    bool same = false;
    if (query->center == NULL && options->public_independent)
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "{public-independent}: %s: expected a run with public texts, found one "
                          "of method %s",
                          options->run, nvdp_method_name(info->method));
    if (query->center == NULL) return NVDP_OK;
    export->query.independent =
        options->public_independent || trained->noise.sanitizer.public_independent;
    if (query->independent) return NVDP_OK;
    *public = (struct nvdp__public_texts){.ctx = export->ctx,
                                          .tokenizer = nvdp_model_tokenizer(export->run.model),
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

/* Fails if one of the texts to share is among the public texts. */
static nvdp_status check_public(const struct export *export) {
    return nvdp__public_texts_check(&export->public, export->options->model != NULL ? "{center}"
                                                     : export->query.decoder != NULL
                                                         ? "the public texts of the training"
                                                         : "the public texts of the center");
}

/* Makes that run, unless it exists. */
static nvdp_status make_run(struct export *export, const struct nvdp__export_options *options) {
    if (options->model == NULL) return NVDP_OK;
    const struct nvdp__sentence_options of = {.model = options->model,
                                              .center = options->center,
                                              .text_column = options->text_column,
                                              .reduce = options->reduce,
                                              .clip = options->clip,
                                              .epsilon = options->epsilon,
                                              .releases = options->samples,
                                              .batch = options->batch};
    return nvdp__sentence_run(export->ctx, &of, options->run);
}

/* Uses the ledger in the run's folder unless the caller names another. */
static nvdp_status find_ledger(struct export *export, struct nvdp__export_options *options) {
    struct nvdp_context *ctx = export->ctx;
    if (options->no_ledger) return NVDP_OK;
    export->ledger = options->ledger != NULL ? nvdp__strdup(ctx, options->ledger)
                                             : nvdp__join(ctx, options->run, "ledger");
    if (export->ledger == NULL) return NVDP_ERR_MEMORY;
    export->ledger_key = options->ledger_key != NULL ? nvdp__strdup(ctx, options->ledger_key)
                                                     : nvdp__format(ctx, "%s.key", export->ledger);
    options->ledger = export->ledger;
    options->ledger_key = export->ledger_key;
    return NVDP__MADE(export->ledger_key);
}

static nvdp_status open_run(struct export *export) {
    struct nvdp__run_options config = {.run = export->options->run};
    NVDP_TRY(nvdp__run_open_bottleneck(export->ctx, &config, &export->run));
    struct nvdp_model *model = export->run.model;
    if (export->options->insecure)
        model->dev.threads = 1; /* sums depend on how threads share them */
    if (!model->bottleneck.mechanism->private_)
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "%s: method %s adds no noise, so its embeddings cannot be given away; "
                          "train with another method",
                          export->options->run, nvdp_method_name(model->info.method));
    export->form = nvdp__model_form(model);
    if (nvdp__method_row(model->info.method)->untrained)
        NVDP_TRY(
            nvdp__sentence_query_map(export->ctx, export->options->run, model, &export->query));
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
    if (export->options->grid == NVDP__GRID_FLOAT16 && nvdp__clips_sequence(&model->info.nvib.clip))
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "{grid}: expected fixed for a model with {clip-sequence} %g, whose bound "
                          "requires exact noise, found float16",
                          model->info.nvib.clip.sequence);
    return NVDP_OK;
}

/* --- the texts: splits of the task, or a file of the caller --- */

/* Returns the public texts to compare with; NULL: none. */
static struct nvdp__public_texts *compared(struct export *export) {
    return export->public.path != NULL ? &export->public : NULL;
}

static nvdp_status load_split(struct export *export, const struct nvdp_dataset_config *config,
                              const char *name) {
    enum nvdp_split split = NVDP_SPLIT_TRAIN;
    NVDP_TRY(nvdp__find_split(export->ctx, name, "", &split));
    for (size_t i = 0; i < export->parts; i++) {
        if (export->part[i].split == split)
            return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT, "split '%s' is named twice", name);
    }
    struct part *part = &export->part[export->parts];
    NVDP_TRY(nvdp__dataset_load_private(export->ctx, nvdp_model_tokenizer(export->run.model),
                                        config, split, compared(export), &part->data));
    part->split = split;
    export->parts++;
    return NVDP_OK;
}

static nvdp_status load_texts(struct export *export) {
    const struct nvdp__export_options *options = export->options;
    struct nvdp_dataset_config config = nvdp__run_dataset_config(&export->run, options->data);
    config.id_column = options->person;
    config.limit = options->limit;
    config.limit_seed = options->seed;
    char *rest = NULL;
    nvdp__autofree char *names = NULL;
    if (options->input != NULL) {
        NVDP_TRY(nvdp__dataset_load_private_file(
            export->ctx, nvdp_model_tokenizer(export->run.model), &config, options->input,
            compared(export), &export->part[0].data));
        export->parts = 1;
    } else {
        if (options->data == NULL)
            NVDP_TRY(nvdp__run_check_data(export->ctx, options->run, &export->run.config));
        names = nvdp__strdup(export->ctx, options->splits);
        if (names == NULL) return NVDP_ERR_MEMORY;
        for (char *name = strtok_r(names, ",", &rest); name != NULL;
             name = strtok_r(NULL, ",", &rest)) {
            NVDP_TRY(load_split(export, &config, name));
        }
        if (export->parts == 0)
            return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                              "{splits}: expected at least one split, found none");
    }
    bool labeled = false;
    for (size_t i = 0; i < export->parts; i++) {
        export->texts += export->part[i].data->count;
        labeled = labeled || export->part[i].data->label != NULL;
    }
    if (options->with_labels && !labeled)
        return nvdp__fail(export->ctx, NVDP_ERR_INPUT,
                          "labels were requested, but these texts have none");
    return NVDP_OK;
}

/* --- the shape of the output --- */

static bool fixed(const struct export *export) {
    return export->options->grid == NVDP__GRID_FIXED;
}

static nvdp_status plan(struct export *export) {
    size_t samples = export->options->samples;
    struct nvdp_posteriors *like = &export->like;
    size_t count;
    like->dim = export->run.model->info.nvib.latent_dim;
    nvdp__model_describe(export->run.model, like);
    export->grids = nvdp__release_grids(like->clip_sequence);
    if (!nvdp__mul(export->texts, samples, &count) || count >= INT32_MAX)
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "samples: one file cannot hold %zu samples of %zu texts; export fewer",
                          samples, export->texts);
    int64_t *offset = nvdp__calloc(export->ctx, count + 1, sizeof *offset);
    if (offset == NULL) return NVDP_ERR_MEMORY;
    export->release.offset = offset;
    for (size_t p = 0; p < export->parts; p++) {
        const struct nvdp_dataset *data = export->part[p].data;
        for (size_t i = 0; i < data->count; i++) {
            size_t own = export->form.single ? 1 : data->offset[i + 1] - data->offset[i];
            size_t rows = nvdp__form_rows(&export->form, own);
            if (rows > export->longest_rows) export->longest_rows = rows;
            for (size_t s = 0; s < samples; s++, offset++) {
                offset[1] = offset[0] + (int64_t)rows;
            }
        }
    }
    bool hidden = like->policy == NVDP_LENGTH_HIDDEN;
    export->release.shape = (struct nvdp__embeddings_shape){
        .texts = export->texts,
        .samples = samples,
        .dim = like->dim,
        .kappa = like->kappa,
        .policy = like->policy,
        .length = hidden ? like->length : 0,
        .sample_rows = hidden ? export->longest_rows : 0,
        .rows = (size_t)*offset,
        .weights = export->form.weights,
        .grid = fixed(export) ? export->grids.type : NVDP__H5_F16,
        .z_exponent = export->grids.z.exponent,
        .log_pi_exponent = export->grids.log_pi.exponent,
    };
    return NVDP_OK;
}

/* --- measurements: divergences over pairs of the texts --- */

/* Appends the posteriors of one part. */
static void append(struct nvdp_posteriors *all, const struct nvdp_posteriors *more) {
    size_t row = all->offset[all->texts];
    size_t rows = more->offset[more->texts];
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
static nvdp_status infer_chosen(struct export *export, const int64_t *chosen, size_t count,
                                struct nvdp_posteriors **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_model *model = export->run.model;
    struct nvdp_dataset *subset[SPLITS] = {0};
    struct nvdp_posteriors *part = NULL;
    struct nvdp_posteriors *all = NULL;
    size_t first = 0;
    size_t k = 0;
    size_t tokens = 0;
    size_t *rows = nvdp__calloc(export->ctx, count, sizeof *rows);
    if (rows == NULL) NVDP_TRY_OR_CLEAN(NVDP_ERR_MEMORY);
    for (size_t p = 0; p < export->parts; p++) {
        const struct nvdp_dataset *data = export->part[p].data;
        size_t n = 0;
        for (; k < count && (size_t)chosen[k] < first + data->count; k++) {
            rows[n++] = (size_t)chosen[k] - first;
        }
        NVDP_TRY_OR_CLEAN(nvdp_dataset_select(export->ctx, data, n, rows, &subset[p]));
        tokens += n > 0 ? subset[p]->offset[n] : 0;
        first += data->count;
    }
    NVDP_TRY_OR_CLEAN(nvdp_posteriors_create(export->ctx, count,
                                             export->form.single ? count : tokens, export->like.dim,
                                             export->form.weights, &all));
    if (export->options->with_labels) NVDP_TRY_OR_CLEAN(NVDP__NEW(export->ctx, all->label, count));
    nvdp__model_describe(model, all);
    all->texts = 0;
    for (size_t p = 0; p < export->parts; p++) {
        if (subset[p]->count == 0) continue;
        NVDP_TRY_OR_CLEAN(
            nvdp_model_posteriors(export->ctx, model, subset[p], export->options->batch, &part));
        append(all, part);
        nvdp_posteriors_free(part);
        part = NULL;
    }
    NVDP__HAND_OVER(out, all);
cleanup:
    free(rows);
    nvdp_posteriors_free(all);
    nvdp_posteriors_free(part);
    for (size_t p = 0; p < SPLITS; p++) {
        nvdp_dataset_free(subset[p]);
    }
    return status;
}

/* Makes the id that links this file to a public model and to other files of the release, random unless it is given or
 * the noise is seeded.  A digest of the model would confirm a guess about its training texts. */
static void make_id(const struct export *export, char id[NVDP__MODEL_ID_DIGITS + 1]) {
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

/* Reads the guarantee of the run's training, made when it ended.  Training without noise, or with noise from a seed,
 * has none, whatever its options asked for. */
static nvdp_status read_promise(const struct export *export, struct nvdp__release_facts *facts) {
    struct nvdp_dp_guarantee promised;
    json_t *result = NULL, *run = NULL;
    NVDP_TRY(nvdp__json_read_optional(export->ctx, export->options->run, "result.json", &result));
    nvdp_status status =
        nvdp__json_read_optional(export->ctx, export->options->run, "run.json", &run);
    const bool is_private = nvdp__dp_promise(nvdp__dp_planned(result, run), false, &promised);
    facts->training_epsilon = is_private ? promised.epsilon : NAN;
    facts->training_delta = is_private ? promised.delta : NAN;
    json_decref(result);
    json_decref(run);
    return status;
}

/* Determines from the splits whether all, some or possibly none of the texts were training texts. */
static enum nvdp__training training_of(const struct export *export) {
    size_t train = 0;
    if (export->options->input != NULL) return NVDP__TRAINING_MAYBE;
    for (size_t p = 0; p < export->parts; p++) {
        if (export->part[p].split == NVDP_SPLIT_TRAIN) train += export->part[p].data->count;
    }
    return train == 0               ? NVDP__TRAINING_MAYBE
           : train == export->texts ? NVDP__TRAINING_ALL
                                    : NVDP__TRAINING_SOME;
}

/* Names the classes of the labels; none for scores.  Too many names for an attribute are left out. */
static nvdp_status name_labels(struct export *export) {
    enum { MAX_NAMES = 32 << 10 };
    const struct nvdp_task *task = &export->run.model->info.task;
    if (!export->options->with_labels || task->tags) return NVDP_OK;
    json_t *names = task->labels == NULL ? json_array()
                                         : nvdp__label_names(task->labels, (size_t)task->classes);
    char *text = json_dumps(names, NVDP__LABEL_NAMES_FORM);
    json_decref(names);
    if (text == NULL) return nvdp__fail(export->ctx, NVDP_ERR_MEMORY, "out of memory");
    if (strlen(text) < MAX_NAMES)
        export->facts.label_names = text;
    else
        free(text);
    return NVDP_OK;
}

/* Fills the facts that do not depend on the contents of the texts, including the certificate. */
static nvdp_status state_facts(struct export *export) {
    const struct nvdp__export_options *options = export->options;
    struct nvdp__release_facts *facts = &export->facts;
    const bool untrained = nvdp__method_row(export->run.model->info.method)->untrained;
    *facts = (struct nvdp__release_facts){
        .info = &export->run.model->info,
        .form = export->form,
        .lambda_g = untrained ? NAN : export->run.config.lambda_g,
        .lambda_d = untrained ? NAN : export->run.config.lambda_d,
        .texts = export->texts,
        .samples = options->samples,
        .labels = options->with_labels,
        .insecure_seed = options->insecure,
        .publish = options->publish,
        .grids = fixed(export) ? &export->grids : NULL,
        .rows = export->longest_rows,
        .delta = options->delta,
        .bound_order = 1.1,
        .counted = !options->no_ledger,
        .query = export->query.center != NULL ? &export->query : NULL,
    };
    NVDP_TRY(name_labels(export));
    NVDP_TRY(read_promise(export, facts));
    nvdp__creation_date(facts->created);
    make_id(export, facts->model_id);
    facts->training = training_of(export);
    facts->limits.struct_size = sizeof facts->limits;
    NVDP_TRY(nvdp_model_limits(export->ctx, export->run.model, &facts->limits));
    NVDP_TRY(nvdp__release_certify(export->ctx, facts));
    if (nvdp__release_exposed(facts) > 0)
        nvdp__log(
            export->ctx, NVDP_LOG_NOTICE,
            "the file states epsilon at delta %g, which is for each text: for %zu texts, this "
            "delta alone would allow %.3g of them to be exposed on average; this mechanism "
            "publishes no text, but also tell recipients epsilon at a delta below 1/N = %.3g "
            "(nvdp privacy {certify} {delta}), or train with {certified-delta}",
            facts->certificate.delta, facts->texts, nvdp__release_exposed(facts),
            1 / (double)facts->texts);
    return facts->certified ? nvdp__release_fits_limits(export->ctx, &facts->limits, &export->grids)
                            : NVDP_OK;
}

/* Measures pairs of at most measure_texts texts, chosen by the seed.  Does nothing for fewer than two texts. */
static nvdp_status measure(struct export *export) {
    const struct nvdp__export_options *options = export->options;
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    const struct nvdp__noise seeded = {.seed = options->seed};
    struct nvdp__release_facts *facts = &export->facts;
    size_t count = options->measure_texts;
    if (count > export->texts) count = export->texts;
    if (count < 2) return NVDP_OK;
    nvdp__autofree int64_t *order = nvdp__calloc(export->ctx, export->texts, sizeof *order);
    if (order == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < export->texts; i++) {
        order[i] = (int64_t)i;
    }
    struct nvdp__stream stream = nvdp__stream_open(&seeded, NVDP__PURPOSE_MEASURE, 0, 0);
    if (count < export->texts) nvdp__stream_shuffle(&stream, export->texts, order);
    qsort(order, count, sizeof *order, nvdp__by_int64);
    NVDP_TRY(infer_chosen(export, order, count, &posteriors));
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    config.pairs.order = options->order;
    config.bdp.delta = options->delta;
    config.bdp.releases = (int)options->samples;
    /* shared by all samples, the chance that a bound fails stays at or below a tenth of delta */
    config.bdp.gamma = fmin(config.bdp.gamma, options->delta / 10) / (double)options->samples;
    facts->privacy.struct_size = sizeof facts->privacy;
    NVDP_TRY(nvdp__privacy_measure(export->ctx, posteriors, &config, NULL, &facts->privacy));
    NVDP_TRY(nvdp_linkage_measure(export->ctx, posteriors, config.bdp.releases, 0, options->seed,
                                  facts->privacy.linkage));
    facts->measured = true;
    facts->bound_order = options->order; /* the order of the measurements */
    return NVDP_OK;
}

/* --- the ledger --- */

/* Returns the number of samples per text that training promised. */
static uint64_t promised_samples(const struct export *export) {
    return export->run.config.certified_releases;
}

/* Returns true if the promise is for each row of a text. */
static bool draws_each(const struct export *export) {
    const struct nvdp__export_options *options = export->options;
    return options->own_duplicates ? options->duplicates == NVDP__DUPLICATES_EACH
                                   : !nvdp__has_budget(&export->run.config);
}

/* Fills in the guarantee of one sample. */
static void state_proven(const struct nvdp__release_facts *facts,
                         struct nvdp__ledger_release *release) {
    const struct nvdp_certificate *made = &facts->certificate;
    release->mu = facts->certified && made->theorem == NVDP_THEOREM_SEQUENCE
                      ? made->mu / sqrt((double)facts->samples)
                      : INFINITY;
    for (size_t k = 0; k < NVDP__LEDGER_ORDERS; k++) {
        release->divergence[k] =
            facts->certified
                ? nvdp__certified_divergence(&facts->limits, made->theorem, nvdp__ledger_orders[k])
                : INFINITY;
    }
}

/* Makes the ledger record of this export.  A path that is too long keeps its end, which has the file name. */
static struct nvdp__ledger_release record_of(const struct export *export) {
    const struct nvdp__export_options *options = export->options;
    struct nvdp__ledger_release release = {
        .texts = export->texts,
        .samples = options->samples,
        .budget = {options->budget.samples, options->budget.epsilon}};
    const size_t length = strlen(options->out), room = sizeof release.file - 1;
    memcpy(release.id, export->facts.model_id, sizeof release.id);
    nvdp__snprintf(release.file, sizeof release.file, "%s",
                   options->out + (length > room ? length - room : 0));
    state_proven(&export->facts, &release);
    return release;
}

/* Returns the numbers of the record that are not names. */
static struct nvdp__ledger_names numbers_of(const struct export *export) {
    const struct nvdp__release_facts *facts = &export->facts;
    return (struct nvdp__ledger_names){.person_epsilon = export->options->person_epsilon,
                                       .word_mu = nvdp__word_sample_mu(facts),
                                       .distance = facts->certified && export->form.weights
                                                       ? nvdp__release_weights_distance(facts) /
                                                             (double)facts->samples * (1 + 0x1p-50)
                                                       : 0,
                                       .each = draws_each(export)};
}

/* Adds the alternatives to the message if the run's folder cannot be written. */
static nvdp_status explain_failure(struct export *export, nvdp_status status) {
    char why[NVDP__MESSAGE_SIZE];
    if (status != NVDP_ERR_IO || export->options->own_ledger || access(export->ledger, W_OK) == 0)
        return status;
    nvdp__snprintf(why, sizeof why, "%s", nvdp_context_error(export->ctx));
    return nvdp__fail(export->ctx, status,
                      "%.1500s: the run's folder keeps the ledger that counts the samples of its "
                      "texts; use {ledger} FILE for a ledger elsewhere, or {no-ledger} for none, "
                      "which the shared file then states",
                      why);
}

/* Returns the name of the person of a text, or NULL. */
static const char *name_of(const struct export *export, size_t text) {
    const struct part *part = export->part;
    while (text >= part->data->count)
        text -= part++->data->count;
    return part->data->id != NULL ? part->data->id[text] : NULL;
}

/* Hashes the names of the persons and the receiver. */
static nvdp_status set_names(struct export *export, struct nvdp__ledger *ledger) {
    const struct nvdp__export_options *options = export->options;
    if (options->person != NULL && export->person == NULL)
        NVDP_TRY(NVDP__NEW(export->ctx, export->person, export->texts));
    if (options->person != NULL && export->look == NULL)
        NVDP_TRY(NVDP__NEW(export->ctx, export->look, export->texts));
    for (size_t i = 0; i < export->texts && export->look != NULL; i++) {
        NVDP_TRY(
            nvdp__ledger_name(ledger, NVDP__LEDGER_PERSON, name_of(export, i), export->person[i]));
        NVDP_TRY(nvdp__ledger_name(ledger, NVDP__LEDGER_LOOK, name_of(export, i), export->look[i]));
    }
    NVDP_TRY(nvdp__ledger_name(ledger, NVDP__LEDGER_RECEIVER, options->receiver, export->receiver));
    if (options->receiver != NULL && sodium_is_zero(export->receiver, sizeof export->receiver))
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "{receiver}: expected a name, found an empty one");
    struct nvdp__ledger_names names = numbers_of(export);
    names.person = (const nvdp__text_hash *)export->person;
    names.look = (const nvdp__text_hash *)export->look;
    names.receiver = options->receiver != NULL ? export->receiver : NULL;
    nvdp__ledger_set_names(ledger, &names);
    return NVDP_OK;
}

/* Opens and locks the ledger, and hashes the texts and names.  *out is NULL without a ledger. */
static nvdp_status open_ledger(struct export *export, struct nvdp__ledger **out) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    size_t text = 0;
    *out = NULL;
    if (export->ledger == NULL) return NVDP_OK;
    if (export->tokens == NULL)
        export->tokens =
            nvdp__format(export->ctx, "%s %zu", nvdp_model_tokenizer(export->run.model)->digest,
                         export->run.config.max_length);
    NVDP_TRY(NVDP__MADE(export->tokens));
    NVDP_TRY(
        explain_failure(export, nvdp__ledger_open(export->ctx, export->ledger, export->ledger_key,
                                                  export->tokens, &ledger)));
    NVDP_TRY(nvdp__ledger_of_run(ledger, export->options->run));
    if (export->hash == NULL) NVDP_TRY(NVDP__NEW(export->ctx, export->hash, export->texts));
    for (size_t p = 0; p < export->parts; p++) {
        const struct nvdp_dataset *data = export->part[p].data;
        for (size_t i = 0; i < data->count; i++) {
            nvdp__ledger_text(ledger, data->offset[i + 1] - data->offset[i],
                              data->ids + data->offset[i], data->types + data->offset[i],
                              export->hash[text++]);
        }
    }
    NVDP_TRY(set_names(export, ledger));
    NVDP__HAND_OVER(out, ledger);
    return NVDP_OK;
}

/* Warns of names of persons that look like other ones, of these texts or of earlier exports. */
static nvdp_status check_spelling(const struct export *export, const struct nvdp__ledger *ledger) {
    size_t alike = 0;
    NVDP_TRY(nvdp__ledger_alike_names(ledger, export->texts, &alike));
    if (alike > 0)
        nvdp__log(export->ctx, NVDP_LOG_WARNING,
                  "%zu of the names in column '%s' differ only by case, spaces or width from "
                  "another one, of these texts or of an earlier export; they count as other "
                  "persons",
                  alike, export->options->person);
    return NVDP_OK;
}

/* Says what a person's rows cost, and what the ledger cannot know: samples of other ledgers, other names of a person,
 * and missing names. */
static void note_limits(const struct export *export, const struct nvdp__ledger *ledger) {
    const struct nvdp__spent *spent = &export->spent;
    char bound[NVDP__BOUND_TEXT];
    if (spent->persons > 0 && spent->person_samples > export->options->samples)
        nvdp__log(export->ctx, NVDP_LOG_NOTICE,
                  "with this file, one person has up to %" PRIu64 " samples of %" PRIu64
                  " text%s; all of them together have epsilon %s at delta %g",
                  spent->person_samples, spent->person_texts, spent->person_texts == 1 ? "" : "s",
                  nvdp__bound(bound, spent->person_epsilon), NVDP__LEDGER_DELTA);
    if (nvdp__ledger_count(ledger) == 0)
        nvdp__log(export->ctx, NVDP_LOG_NOTICE,
                  "new ledger %s: samples that other ledgers count are not included; if one counts "
                  "these texts, name it with {ledger}",
                  export->ledger);
    if (spent->renamed > 0)
        nvdp__log(export->ctx, NVDP_LOG_WARNING,
                  "%" PRIu64 " text%s shared before under another person's name; all samples "
                  "of a text count for both persons",
                  spent->renamed, spent->renamed == 1 ? " was" : "s were");
    if (spent->unnamed > 0)
        nvdp__log(export->ctx, NVDP_LOG_NOTICE,
                  "earlier exports name persons, but %" PRIu64
                  " of these texts %s none: the sum of the person who wrote %s lacks these "
                  "samples; name the column with {person}",
                  spent->unnamed, spent->unnamed == 1 ? "has" : "have",
                  spent->unnamed == 1 ? "it" : "one");
}

/* Says what texts cost that stand several times, and refuses them beyond the promise of the run, unless the caller gives a
 * budget, which the ledger keeps.  It needs no ledger. */
static nvdp_status check_duplicates(const struct export *export) {
    const struct nvdp__export_options *options = export->options;
    const struct nvdp__ledger_release release = record_of(export);
    const struct nvdp__ledger_names numbers = numbers_of(export);
    const struct nvdp__ledger_record row = {
        .release = &release, .word_mu = numbers.word_mu, .distance = numbers.distance};
    const bool budget = options->budget.samples > 0 || options->budget.epsilon > 0;
    const struct nvdp_dataset *part[SPLITS];
    struct nvdp__repeats repeats;
    for (size_t i = 0; i < export->parts; i++)
        part[i] = export->part[i].data;
    NVDP_TRY(nvdp__repeats_count(export->ctx, export->parts, part, &repeats));
    return nvdp__duplicates_check(export->ctx, &repeats, &row,
                                  budget || numbers.each ? 0 : promised_samples(export));
}

/* Fails early if the ledger will refuse the export.  The lock is not held afterwards, so begin_file() checks again
 * before it writes the record. */
static nvdp_status ask_ledger(struct export *export) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    struct nvdp__ledger_release release = record_of(export);
    const struct nvdp__spent *spent = &export->spent;
    NVDP_TRY(open_ledger(export, &ledger));
    if (ledger == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__ledger_check(ledger, &release, (const nvdp__text_hash *)export->hash,
                                promised_samples(export), &export->spent));
    NVDP_TRY(check_spelling(export, ledger));
    note_limits(export, ledger);
    if (spent->seen_before > 0)
        nvdp__log(export->ctx, NVDP_LOG_NOTICE,
                  "%" PRIu64 " of these texts %s %s; with this file, a text has up to %" PRIu64
                  " samples",
                  spent->seen_before, nvdp__spent_before(spent), spent->files, spent->samples);
    return NVDP_OK;
}

/* Warns of an export without a useful guarantee, before anything is written: of the file, or of all samples of a text that
 * the ledger counts.  The file does not state the latter. */
static nvdp_status warn(struct export *export) {
    const struct nvdp__release_facts *facts = &export->facts;
    const struct nvdp__spent *spent = &export->spent;
    char text[NVDP__SPENT_TEXT];
    NVDP_TRY(nvdp__release_guarantee(export->ctx, &export->facts));
    if (!facts->useful && !facts->word_useful) {
        nvdp__log(export->ctx, NVDP_LOG_WARNING, "%s", facts->guarantee);
        return NVDP_OK;
    }
    if (spent->samples <= facts->samples || nvdp__spent_is_useful(spent, !facts->useful))
        return NVDP_OK;
    nvdp__log(export->ctx, NVDP_LOG_WARNING,
              "no useful guarantee for all %" PRIu64 " samples of a text together: %s",
              spent->samples,
              isfinite(spent->epsilon)
                  ? nvdp__spent_text(spent->epsilon, nvdp__spent_word_epsilon(spent), text)
                  : "nothing is proven");
    return NVDP_OK;
}

/* --- the output without its samples --- */

static nvdp_status fill_columns(struct export *export) {
    struct nvdp__release *release = &export->release;
    const bool splits = export->options->input == NULL, labels = export->options->with_labels;
    const size_t texts = export->texts;
    size_t k = 0;
    NVDP_TRY(NVDP__NEW(export->ctx, release->id, texts));
    if (splits) NVDP_TRY(NVDP__NEW(export->ctx, release->split, texts));
    if (labels) NVDP_TRY(NVDP__NEW(export->ctx, release->label, texts));
    for (size_t p = 0; p < export->parts; p++) {
        const struct nvdp_dataset *data = export->part[p].data;
        for (size_t i = 0; i < data->count; i++, k++) {
            release->id[k] = data->index[i];
            if (splits) release->split[k] = export->part[p].split;
            if (labels) release->label[k] = data->label != NULL ? data->label[i] : NAN;
        }
    }
    return NVDP_OK;
}

/* Writes everything but the samples, then the record.  The ledger stays locked from the count, which the file
 * states, to the record.  A disk that is too full is found before. */
static nvdp_status begin_file(struct export *export) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    struct nvdp__ledger_release release = record_of(export);
    const uint64_t promise = promised_samples(export);
    NVDP_TRY(open_ledger(export, &ledger));
    if (ledger != NULL)
        NVDP_TRY(nvdp__ledger_check(ledger, &release, (const nvdp__text_hash *)export->hash,
                                    promise, &export->spent));
    NVDP_TRY(nvdp__release_guarantee(export->ctx, &export->facts));
    NVDP_TRY(nvdp__release_attributes(&export->release.attributes, &export->facts));
    if (export->options->sign != NULL)
        NVDP_TRY(nvdp__sign_prepare(&export->sign, &export->release.attributes));
    NVDP_TRY(fill_columns(export));
    NVDP_TRY(nvdp__release_create(&export->release,
                                  nvdp__format_of(nvdp__formats, export->options->out),
                                  export->options->out));
    NVDP_TRY(
        nvdp__check_room(export->ctx, export->options->out, nvdp__release_bytes(&export->release)));
    if (ledger == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__ledger_add(ledger, &release, (const nvdp__text_hash *)export->hash, promise,
                              &export->spent));
    nvdp__ledger_added(ledger, export->code);
    export->counted = true;
    return NVDP_OK;
}

/* --- the samples --- */

/* Allocates memory for one batch.  Large samples reduce the batch, to one text at least. */
static nvdp_status allocate(struct export *export) {
    struct nvdp_context *ctx = export->ctx;
    size_t dim = export->release.shape.dim;
    size_t per_text = export->longest_rows * dim * export->release.shape.samples;
    size_t fits = BATCH_VALUES / (per_text > 0 ? per_text : 1);
    size_t batch = export->options->batch;
    if (fits < 1) fits = 1;
    if (batch > fits) batch = fits;
    export->batch_texts = batch;
    size_t longest = 0;
    for (size_t p = 0; p < export->parts; p++) {
        if (export->part[p].data->longest > longest) longest = export->part[p].data->longest;
    }
    size_t threads = (size_t)nvdp_context_threads(ctx);
    size_t rows = batch * export->release.shape.samples * export->longest_rows;
    NVDP_TRY(nvdp__model_plan(export->run.model, batch, longest, false));
    NVDP_TRY(nvdp__batch_create(ctx, batch, longest, &export->batch));
    NVDP_TRY(nvdp_posteriors_create(ctx, batch, batch * (export->form.single ? 1 : longest), dim,
                                    export->form.weights, &export->posteriors));
    size_t in_double = export->longest_rows * (dim + 1) * sizeof(double);
    size_t bytes = fixed(export) ? nvdp__sampler_bytes(export->longest_rows, dim) : in_double;
    export->scratch_bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    export->scratch = nvdp__calloc(ctx, threads, export->scratch_bytes);
    export->z = nvdp__calloc(ctx, rows * dim, sizeof(float)); /* float or int32_t */
    export->log_pi = nvdp__calloc(ctx, rows, sizeof(float));
    export->first_row = nvdp__calloc(ctx, batch + 1, sizeof(size_t));
    NVDP_TRY(NVDP__MADE(export->scratch, export->z, export->log_pi, export->first_row));
    nvdp__model_describe(export->run.model, export->posteriors);
    return NVDP_OK;
}

/* Computes the posteriors of a part's texts [first, first + n), without any sampling in the model. */
static nvdp_status infer(struct export *export, const struct part *part, size_t first, size_t n) {
    struct nvdp_model *model = export->run.model;
    struct nvdp_posteriors *posteriors = export->posteriors;
    nvdp__batch_fill(export->batch, part->data, NULL, first, n);
    NVDP_TRY(nvdp__model_infer(model, export->batch));
    export->replaced += nvdp__model_replaced(model);
    posteriors->texts = n;
    for (size_t i = 0; i <= n; i++) {
        posteriors->offset[i] = export->form.single ? i : (size_t) export->batch->offset[i];
    }
    NVDP_TRY(nvdp__model_posterior(model, 0, posteriors));
    NVDP_TRY(nvdp_posteriors_check(export->ctx, posteriors, export->options->run));
    return fixed(export) ? nvdp__release_fits(export->ctx, posteriors, &export->grids) : NVDP_OK;
}

/* Draws sample s of text i of the batch.  `text` is the index of the text in the file. */
static void draw(struct export *export, size_t i, size_t s, size_t text) {
    size_t thread = (size_t)omp_get_thread_num();
    size_t rows = nvdp__release_rows(export->posteriors, i);
    size_t at = export->first_row[i] + s * rows;
    size_t dim = export->release.shape.dim;
    char *scratch = export->scratch + thread * export->scratch_bytes;
    const struct nvdp__sampler sampler = {export->posteriors, export->noise, (uint32_t)s};
    if (fixed(export)) {
        nvdp__sampler_draw_fixed(&sampler, &export->grids, i, text, scratch,
                                 (int32_t *)export->z + at * dim, (int32_t *)export->log_pi + at);
        return;
    }
    double *z = (double *)(void *)scratch;
    double *log_pi = z + export->longest_rows * dim;
    nvdp__sampler_draw(&sampler, i, text, z, log_pi);
    nvdp__grid_vectors(rows * dim, z, (float *)export->z + at * dim);
    nvdp__grid_log_weights(rows, log_pi, (float *)export->log_pi + at);
}

/* Computes, draws and writes one batch.  `text` is the index of its first text in the file. */
static nvdp_status release_batch(struct export *export, const struct part *part, size_t first,
                                 size_t n, size_t text) {
    size_t samples = export->release.shape.samples;
    NVDP_TRY(infer(export, part, first, n));
    for (size_t i = 0; i < n; i++) {
        export->first_row[i + 1] =
            export->first_row[i] + samples * nvdp__release_rows(export->posteriors, i);
    }
#pragma omp parallel for schedule(dynamic) num_threads(nvdp_context_threads(export->ctx))
    for (size_t k = 0; k < n * samples; k++) {
        draw(export, k / samples, k % samples, text + k / samples);
    }
    return export->release.format->append(&export->release,
                                          (size_t) export->release.offset[text * samples],
                                          export->first_row[n], export->z, export->log_pi);
}

static nvdp_status release_all(struct export *export) {
    struct nvdp__meter meter;
    size_t done = 0;
    size_t batch = export->batch_texts;
    export->noise = (struct nvdp__noise){.seed = export->options->seed};
    if (!export->options->insecure) {
        NVDP_TRY(nvdp__release_key_create(export->ctx, &export->key));
        export->noise.release = &export->key;
    }
    nvdp__meter_begin(&meter, export->ctx, "export", "text", 0, export->texts);
    for (size_t p = 0; p < export->parts; p++) {
        size_t count = export->part[p].data->count;
        for (size_t first = 0; first < count; first += batch) {
            size_t n = nvdp__min(count - first, batch);
            NVDP_TRY(nvdp__check_cancelled(export->ctx, "export: cancelled"));
            NVDP_TRY(release_batch(export, &export->part[p], first, n, done));
            done += n;
            nvdp__meter_update(&meter, done, (double)done, "text", NAN);
        }
    }
    nvdp__meter_end(&meter);
    nvdp__model_warn_replaced(export->run.model, export->replaced, export->texts);
    return NVDP_OK;
}

/* --- the public part of the model: sealed block and classifier --- */

static nvdp_status write_public_model(const struct nvdp_model *model, const char *model_id,
                                      const char *directory) {
    const struct nvdp__model_info *info = &model->info;
    nvdp__autoptr(nvdp__reader_free) struct nvdp__reader *reader = NULL;
    /* the configuration lacks the feed-forward width, so take it from the weights */
    size_t inner = nvdp__params_find(&model->params, "nvdp.intermediate.dense.weight");
    struct nvdp__reader_shape shape = {
        .dim = info->nvib.latent_dim,
        .heads = info->nvib.latent_heads,
        .inner = inner != SIZE_MAX ? model->params.entry[inner].shape[0] : 0,
        .outputs = info->outputs,
        .act = info->bert.hidden_act,
        .eps = info->bert.layer_norm_eps,
        .pool = info->nvib.pool,
        .kappa = info->nvib.kappa,
        .weights = info->nvib.weights == NVDP__WEIGHTS_LEARNED,
        .residual = info->nvib.row_index == NVDP__ROW_INDEX_TRAINED,
        .regression = info->task.regression,
    };
    struct nvdp__reader_info metadata = {
        .task = info->task.name,
        .labels = info->task.labels,
        .model_id = model_id,
        .statement = "The sealed block and the classifier of a sender's model.  They were trained "
                     "on the sender's texts and labels; the divergences of a file of embeddings do "
                     "not cover what these weights reveal.",
    };
    NVDP_TRY(nvdp__reader_create(model->ctx, &shape, false, &reader));
    if (nvdp__reader_adopt(reader, &model->params) != reader->params.count)
        return nvdp__fail(model->ctx, NVDP_ERR_UNSUPPORTED,
                          "%s: a model of method %s has no public part", directory,
                          nvdp_method_name(info->method));
    return nvdp__reader_save(reader, &metadata, directory);
}

/* --- commit --- */

/* Commits the file and its card.  Removes an old card before the file gets its name and commits the new card
 * afterwards, so a card never describes another file. */
static nvdp_status publish(struct export *export) {
    const struct nvdp__export_options *options = export->options;
    nvdp__auto(nvdp__output_abort) struct nvdp__output card = {0};
    if (options->card != NULL) {
        NVDP_TRY(
            nvdp__card_write(&export->release, options->out, options->card, &export->facts, &card));
        if (options->overwrite) NVDP_TRY(nvdp__remove(export->ctx, card.path));
    }
    NVDP_TRY(nvdp__release_commit(&export->release, options->overwrite));
    export->published = true;
    if (options->card != NULL) NVDP_TRY(nvdp__output_commit(&card, options->overwrite));
    return NVDP_OK;
}

/* --- the end of the release, in the ledger --- */

/* Writes what another export of these texts costs, or "". */
static void format_way_on(struct export *export, size_t size, char *text) {
    struct nvdp__ledger *ledger = NULL;
    struct nvdp__ledger_release release = record_of(export);
    struct nvdp__spent spent;
    char epsilon[NVDP__SPENT_TEXT];
    text[0] = '\0';
    release.budget = (struct nvdp__budget){.samples = UINT64_MAX}; /* epsilon: as before */
    if (open_ledger(export, &ledger) == NVDP_OK &&
        nvdp__ledger_check(ledger, &release, (const nvdp__text_hash *)export->hash, 0, &spent) ==
            NVDP_OK)
        nvdp__snprintf(text, size,
                       "; %s %" PRIu64 " allows to export these texts again: all samples of a text "
                       "together would then have %s",
                       nvdp__as_option(export->ctx, "budget-samples").text, spent.samples,
                       nvdp__spent_text(spent.epsilon, nvdp__spent_word_epsilon(&spent), epsilon));
    nvdp__ledger_close(ledger);
}

/* Returns why the release counts although its file was not published, or NULL if it can be returned: then its samples
 * were only in memory and in a file without a name, and nothing that was computed from them decided about the end. */
static const char *why_counted(const struct export *export, nvdp_status status) {
    const struct nvdp__format *format = export->release.format;
    if (format == NULL || !nvdp__release_is_unnamed(&export->release))
        return "its incomplete file had a name, and could be read";
    if (export->judged) return "the samples themselves decided that it failed";
    if (status == NVDP_ERR_IO && format->compressed)
        return "the size of its file depends on the samples";
    return NULL;
}

/* Ends the release in the ledger: it was published, is returned, or counts.  The message of a failure says which. */
static nvdp_status settle(struct export *export, nvdp_status status) {
    char message[NVDP__MESSAGE_SIZE], way[512] = "";
    if (!export->counted) return status;
    const char *why = export->published ? NULL : why_counted(export, status);
    nvdp__snprintf(message, sizeof message, "%s", nvdp_context_error(export->ctx));
    if (!export->published) nvdp__release_close(&export->release); /* frees the room of its file */
    if (why == NULL &&
        nvdp__ledger_settle(export->ctx, export->ledger, export->ledger_key, export->tokens,
                            export->code, export->published) != NVDP_OK) {
        if (export->published)
            nvdp__log(export->ctx, NVDP_LOG_NOTICE,
                      "the ledger counts this export, but as unfinished: %s",
                      nvdp_context_error(export->ctx));
        why = "its ledger could not be written";
    }
    if (status == NVDP_OK) return NVDP_OK;
    if (export->published)
        return nvdp__fail(export->ctx, status, "%.1500s. The file was published and counted",
                          message);
    if (why == NULL)
        return nvdp__fail(export->ctx, status,
                          "%.1500s. Nothing was shared, and the ledger does not count this export",
                          message);
    format_way_on(export, sizeof way, way);
    return nvdp__fail(export->ctx, status, "%.1000s. The ledger counts this export, because %s%s",
                      message, why, way);
}

/* --- nvdp_export --- */

void nvdp_export_result_free(struct nvdp_export_result *result) {
    if (result == NULL) return;
    nvdp_privacy_report_free(result->privacy);
    free(result->privacy);
    result->privacy = NULL;
}

static void give_result(const struct export *export, struct nvdp_privacy_report *privacy,
                        struct nvdp_export_result *out) {
    struct stat info = {0};
    struct nvdp_export_result result = {
        .texts = export->texts,
        .samples = export->release.shape.samples,
        .components = export->longest_rows / (size_t) export->release.shape.kappa,
        .dim = export->release.shape.dim,
        .bytes = stat(export->options->out, &info) == 0 ? (uint64_t)info.st_size : 0,
        .privacy = privacy,
        .spent_samples = export->spent.samples,
        .spent_epsilon = export->facts.counted ? export->spent.epsilon : NAN,
        .spent_delta = export->facts.counted ? NVDP__LEDGER_DELTA : NAN,
        .spent_word_epsilon =
            export->facts.counted ? nvdp__spent_word_epsilon(&export->spent) : NAN,
        .spent_proven_epsilon = export->spent.proven,
        .replaced = export->replaced,
        .receivers = (size_t) export->spent.receivers,
        .receiver_epsilon = NAN,
        .receiver_person_epsilon = NAN,
    };
    nvdp__spent_persons(&export->spent, &result.person);
    if (result.receivers > 0) result.receiver_epsilon = export->spent.receiver_epsilon;
    if (result.receivers > 0 && result.person.persons > 0)
        result.receiver_person_epsilon = export->spent.receiver_person_epsilon;
    nvdp__statement(&export->facts, sizeof result.statement, result.statement);
    result.useful = export->facts.useful;
    nvdp__snprintf(result.guarantee, sizeof result.guarantee, "%s", export->facts.guarantee);
    nvdp__snprintf(result.training_texts, sizeof result.training_texts, "%s",
                   nvdp__training_names[export->facts.training]);
    nvdp__snprintf(result.run, sizeof result.run, "%s", export->options->run);
    NVDP__GIVE(out, &result);
}

static void close_export(struct export *export) {
    nvdp_privacy_report_free(&export->facts.privacy);
    nvdp__release_key_wipe(&export->key);
    nvdp__sign_key_wipe(&export->sign);
    nvdp__release_close(&export->release);
    nvdp__batch_free(export->batch);
    nvdp_posteriors_free(export->posteriors);
    if (export->scratch != NULL) /* contains samples before rounding, or their means */
        sodium_memzero(export->scratch,
                       (size_t)nvdp_context_threads(export->ctx) * export->scratch_bytes);
    free(export->scratch);
    free(export->z);
    free(export->log_pi);
    free(export->first_row);
    free(export->ledger);
    free(export->ledger_key);
    free(export->tokens);
    free(export->made_run);
    nvdp__query_map_release(&export->query);
    nvdp__public_texts_release(&export->public);
    free(export->hash);
    free(export->person);
    free(export->look);
    free(export->facts.label_names);
    for (size_t i = 0; i < SPLITS; i++) {
        nvdp_dataset_free(export->part[i].data);
    }
    nvdp__run_close(&export->run);
}

nvdp_status nvdp_export(struct nvdp_context *ctx, const struct nvdp_config *config,
                        struct nvdp_export_result *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__export_options options;
    struct nvdp_privacy_report *privacy = NULL;
    struct export export = {
        .ctx = ctx, .options = &options, .release = {.ctx = ctx, .attributes.ctx = ctx}};
    NVDP_TRY_OR_CLEAN(nvdp__config_open(ctx, config, &nvdp__export_schema, &options));
    options.insecure = nvdp_config_is_set(config, "insecure-seed");
    if (options.insecure) nvdp__warn_insecure_seed(ctx);
    if (out != NULL) NVDP_TRY_OR_CLEAN(nvdp__can_give(ctx, out));
    options.own_ledger = options.ledger != NULL;
    options.own_duplicates = nvdp_config_is_set(config, "duplicates");
    NVDP_TRY_OR_CLEAN(name_run(&export, &options));
    NVDP_TRY_OR_CLEAN(find_ledger(&export, &options));
    NVDP_TRY_OR_CLEAN(nvdp__export_check_outputs(ctx, &options));
    if (options.sign != NULL)
        NVDP_TRY_OR_CLEAN(nvdp__sign_key_read(ctx, options.sign, &export.sign));
    NVDP_TRY_OR_CLEAN(make_run(&export, &options));
    NVDP_TRY_OR_CLEAN(open_run(&export));
    NVDP_TRY_OR_CLEAN(read_public(&export));
    NVDP_TRY_OR_CLEAN(load_texts(&export));
    NVDP_TRY_OR_CLEAN(check_public(&export));
    NVDP_TRY_OR_CLEAN(plan(&export));
    NVDP_TRY_OR_CLEAN(state_facts(&export));
    NVDP_TRY_OR_CLEAN(check_duplicates(&export));
    NVDP_TRY_OR_CLEAN(ask_ledger(&export));
    NVDP_TRY_OR_CLEAN(measure(&export));
    NVDP_TRY_OR_CLEAN(warn(&export));
    NVDP_TRY_OR_CLEAN(allocate(&export));
    if (out != NULL && export.facts.measured) {
        NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, privacy, 1));
        *privacy = export.facts.privacy;
    }
    NVDP_TRY_OR_CLEAN(begin_file(&export));
    NVDP_TRY_OR_CLEAN(release_all(&export));
    if (options.model_out != NULL)
        NVDP_TRY_OR_CLEAN(
            write_public_model(export.run.model, export.facts.model_id, options.model_out));
    NVDP_TRY_OR_CLEAN(nvdp__release_finish(&export.release));
    export.judged = options.sign != NULL; /* it fails for some values of Parquet files */
    if (options.sign != NULL) NVDP_TRY_OR_CLEAN(nvdp__sign(&export.sign, &export.release));
    export.judged = false;
    NVDP_TRY_OR_CLEAN(publish(&export));
    if (out != NULL) {
        give_result(&export, privacy, out);
        if (privacy != NULL) export.facts.privacy.pairs = NULL; /* the result owns it */
        privacy = NULL;
    }
cleanup:
    status = settle(&export, status);
    free(privacy);
    close_export(&export);
    return status;
}
