/* Implements nvdp summarize: the matrix of a collection with noise, and synthetic rows that are computed from it
 * (summarize.h).
 *
 * The order of this file: options, plan, the training of the encoder, the sum, the file's values, nvdp_summarize.
 * export.h has the stages that a summary shares with an export. */
#include "share/summarize.h"
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sentence.h"
#include "job/dp.h"
#include "job/lineage.h"
#include "options/result.h"
#include "rdp/options.h"
#include "share/export.h"
#include "share/reader.h"
#include "tensor/ops.h"
#include "text/dataset.h"
#include "text/task.h"
#include "train/linear.h"
#include "train/training_options.h"
#include <math.h>
#include <nvdp/summary.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- options --- */

#define AT(member) NVDP_OPTION_AT(struct nvdp__export_options, member)

static const struct nvdp_option option_rows[] = {
    {"run", NVDP_OPTION_TEXT, "RUN",
     "folder of the run to make or to use again, by default MODEL-summary beside the output file; "
     "its ledger counts the summaries of the same texts",
     NULL, AT(run), .traits = NVDP_TRAIT_POSITIONAL},
    {"model", NVDP_OPTION_TEXT, "DIR",
     "public encoder, whose sentence embedding of each text is summarized; or RUN/model of a base "
     "run: if it was trained privately, the file states what is proven of both",
     NULL, AT(model), .group = "Encoder:", .traits = NVDP_TRAIT_BASIC},
    NVDP__CENTER_ROW(AT(center), .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_REQUIRED),
    NVDP__PUBLIC_INDEPENDENT_ROW(AT(public_independent)),
    {"reduce", NVDP_OPTION_INTEGER, "K",
     "keep K principal directions of the public texts; the file states them; 0: all; default: as "
     "many as the number of rows and epsilon carry, or those of a run that exists",
     "0", AT(reduce), .max = 65536, .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_NO_DEFAULT},
    NVDP__RELEASED_COLUMN_ROW(AT(text_column)),

    {"input", NVDP_OPTION_TEXT, "FILE",
     "texts to summarize, one per line or a table (.tsv, .csv, .json, also .gz or .xz); -: "
     "standard input; the number of rows, or of persons with --person, is public",
     NULL, AT(input), .group = "Texts:", .traits = NVDP_TRAIT_BASIC},
    {"task", NVDP_OPTION_TEXT, "TASK",
     "task whose train file replaces --input; sst2, mrpc, stsb, rte, qqp, qnli, cola or mnli, "
     "whose "
     "columns, classes and range are public facts of the task, or tsv (your files), which needs "
     "the options for columns and answers",
     NULL, AT(summary.task), .traits = NVDP_TRAIT_BASIC},
    {"data", NVDP_OPTION_TEXT, "DIR", "folder of the task", NULL, AT(data),
     .traits = NVDP_TRAIT_BASIC},
    {"text-pair-column", NVDP_OPTION_TEXT, "NAME",
     "the rows are pairs, whose second text is in this column; summarized are the products and the "
     "absolute differences of the two embeddings, or the embedding of both texts together if the "
     "encoder is RUN/model of a task of pairs, and center then has pairs; a text in k pairs costs "
     "what k rows cost",
     NULL, AT(summary.pair), .traits = NVDP_TRAIT_BASIC},
    NVDP__LABEL_COLUMN_ROW(AT(summary.label), .traits = NVDP_TRAIT_BASIC),
    {"classes", NVDP_OPTION_TEXT, "A,B,...",
     "the labels are these classes; never computed from the rows, because a list of the labels "
     "that occur would reveal rare ones; a row with another label or none counts without one",
     NULL, AT(summary.classes), .traits = NVDP_TRAIT_BASIC},
    {"range", NVDP_OPTION_TEXT, "LOW,HIGH",
     "the labels are scores in this range; scores beyond it count as its ends", NULL,
     AT(summary.range), .traits = NVDP_TRAIT_BASIC},
    NVDP__LIMIT_ROW(AT(limit)),

    NVDP__VECTORS_ROWS(AT(vectors), AT(vectors_name), AT(vectors_source), AT(ids)),

    NVDP__RELEASED_FILE_ROW(AT(out)),
    {"summary-epsilon", NVDP_OPTION_REAL, "E",
     "epsilon of the replacement of any one row, its label included; with --person, of any one "
     "person, all rows included",
     "1", AT(summary.epsilon), .min = 1e-6, .max = 1000, .traits = NVDP_TRAIT_BASIC},
    {"summary-delta", NVDP_OPTION_REAL, "D", "delta of this epsilon", "1e-5", AT(summary.delta),
     .min = 1e-15, .max = .1, .traits = NVDP_TRAIT_BASIC},
    {"rows", NVDP_OPTION_INTEGER, "N",
     "synthetic rows to compute from the matrix; they cost no privacy", "1000", AT(summary.rows),
     .max = 10000000, .traits = NVDP_TRAIT_BASIC},
    {"dry-run", NVDP_OPTION_FLAG, NULL,
     "print what the summary would prove and how fine it would be; makes the run and its ledger, "
     "but draws, writes and counts no summary",
     NULL, AT(summary.dry_run), .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_NO_EFFECT},
    NVDP__MODEL_ID_ROW(AT(model_id)),
    {0},
};

/* Reads "LOW,HIGH". */
static bool read_range(const char *text, double *low, double *high) {
    char *end = NULL;
    *low = nvdp__strtod(text, &end);
    if (end == text || *end != ',') return false;
    const char *second = end + 1;
    *high = nvdp__strtod(second, &end);
    return end != second && *end == '\0' && isfinite(*low) && isfinite(*high) && *low < *high;
}

static nvdp_status check(struct nvdp_context *ctx, const void *values) {
    const struct nvdp__export_options *options = values;
    const char *classes = options->summary.classes, *range = options->summary.range;
    double low, high;
    if (classes != NULL && range != NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{classes} and {range}: expected at most one");
    if (options->summary.label != NULL && classes == NULL && range == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{label-column}: expected {classes} A,B,... or {range} LOW,HIGH with it; "
                          "neither is computed from the rows, because it would reveal rare labels");
    if (range != NULL && !read_range(range, &low, &high))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{range}: expected LOW,HIGH with LOW below HIGH, such as 0,5, found '%s'",
                          range);
    NVDP_TRY(nvdp__export_check_vectors(ctx, options));
    const bool task = options->summary.task != NULL;
    if (task != (options->data != NULL) || (task && options->input != NULL))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{task} and {data}: expected both, in place of {input}, or none of them");
    if (options->vectors == NULL && (options->model == NULL || (options->input == NULL && !task)))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{model} and {input}, or {task}, are needed, or {vectors} in place of "
                          "all");
    if (options->summary.pair != NULL && !task && strcmp(options->input, "-") == 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{input}: expected a file, which is read for each text of a pair "
                          "({text-pair-column}), found standard input");
    NVDP_TRY(nvdp__export_check_center(ctx, options));
    return nvdp__export_check(ctx, options);
}

static const struct nvdp__section sections[] = {{.row = option_rows},
                                                {.row = nvdp__release_options}};
static const struct nvdp__schema schema = {.kind = "summarize",
                                           .size = sizeof(struct nvdp__export_options),
                                           .section = sections,
                                           .sections = 2,
                                           .check = check};

const struct nvdp__kind nvdp__kind_summarize = {"summarize", {&schema}};

/* An export whose values are a summary. */
struct summarizer {
    struct nvdp__export export; /* the first member: stages take a pointer to it */
    struct nvdp__summary_facts facts;
    const char **class_name; /* [classes] in the memory of the export */
    size_t classes;
    double resolution;
};

static struct summarizer *as_summarizer(struct nvdp__export *export) {
    return (struct summarizer *)export;
}

/* --- the plan: from options and the number of units alone --- */

/* Splits the list of classes. */
static nvdp_status read_classes(struct summarizer *to, const char *list) {
    struct nvdp_context *ctx = to->export.ctx;
    char *copy = NULL, *rest = NULL;
    const size_t size = strlen(list) + 1;
    NVDP_TRY(NVDP__ARRAYS(ctx, &to->export.memory, NVDP__ITEMS(copy, size),
                          NVDP__ITEMS(to->class_name, size)));
    memcpy(copy, list, size);
    for (char *name = strtok_r(copy, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        name += strspn(name, " "); /* a blank after a comma */
        for (size_t k = 0; k < to->classes; k++)
            if (strcmp(to->class_name[k], name) == 0)
                return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{classes}: '%s' is named twice", name);
        to->class_name[to->classes++] = name;
    }
    return to->classes >= 2
               ? NVDP_OK
               : nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                            "{classes}: expected at least two names, found '%s'", list);
}

/* Returns the length of the noise in the difference of two classes' means, for classes of average size.  Without
 * classes, returns the length of the noise in the mean of all rows. */
static double noise_length(const struct nvdp__summary_facts *of, size_t classes) {
    const struct nvdp__summary *plan = &of->plan;
    const double unit = sqrt((double)plan->dim) * plan->sigma_off / (double)plan->units;
    if (classes == 0) return unit / (plan->alpha * plan->beta);
    return unit / (plan->beta * plan->tau) * (classes == 2 ? 2 : M_SQRT2 * (double)classes);
}

static nvdp_status plan(struct nvdp__export *export) {
    struct summarizer *of = as_summarizer(export);
    const struct nvdp__export_options *options = export->options;
    struct nvdp__summary_facts *facts = &of->facts;
    struct nvdp_posteriors *like = &export->like;
    if (options->person != NULL && options->own_duplicates &&
        options->duplicates == NVDP__DUPLICATES_REFUSE)
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "{duplicates}: refuse has no effect with {person}, because a person is "
                          "the unit, whatever texts are in the rows; {budget-epsilon} limits what "
                          "a text has in total");
    export->from.units = export->from.part[0].count;
    *facts = (struct nvdp__summary_facts){.epsilon = options->summary.epsilon,
                                          .delta = options->summary.delta,
                                          .persons = options->person != NULL,
                                          .pairs = options->summary.pair != NULL,
                                          .joint = options->summary.joint,
                                          .scores = options->summary.range != NULL,
                                          .rows = options->summary.rows};
    if (facts->scores) (void)read_range(options->summary.range, &facts->low, &facts->high);
    if (options->summary.classes != NULL) NVDP_TRY(read_classes(of, options->summary.classes));
    const bool answered = facts->scores || of->classes > 0;
    if (facts->persons) NVDP_TRY(nvdp__export_find_persons(export));
    like->dim = export->from.run.model->info.nvib.latent_dim;
    nvdp__model_describe(export->from.run.model, like);
    NVDP_TRY(nvdp__summary_plan(
        export->ctx, export->from.units, like->dim * (facts->joint ? 1 : export->from.parts),
        of->classes > 2 ? of->classes : answered, facts->epsilon, facts->delta, &facts->plan));
    of->resolution = noise_length(facts, of->classes);
    const size_t width = facts->plan.width, items = facts->rows + 1;
    export->longest_rows = 1;
    export->grids = (struct nvdp__release_grids){.type = NVDP__H5_I32, .z = facts->plan.grid};
    NVDP_TRY(NVDP__NEW(export->ctx, export->release.offset, items + 1));
    for (size_t i = 0; i < items; i++)
        export->release.offset[i + 1] = (int64_t)(width + i);
    export->release.shape = (struct nvdp__embeddings_shape){.texts = items,
                                                            .samples = 1,
                                                            .dim = width,
                                                            .kappa = 1,
                                                            .policy = NVDP_LENGTH_PUBLIC,
                                                            .rows = width + facts->rows,
                                                            .grid = NVDP__H5_I32,
                                                            .z_exponent = facts->plan.grid.exponent,
                                                            .summary = true};
    return NVDP_OK;
}

/* Sets the names of the classes in the file, and logs the resolution of the summary before anything is spent. */
static nvdp_status announce(struct nvdp__export *export) {
    static const double COARSE = .3; /* lengths of a row */
    const struct summarizer *of = as_summarizer(export);
    const struct nvdp__summary *plan = &of->facts.plan;
    if (of->classes > 0) {
        json_t *names = nvdp__label_names(of->class_name, of->classes);
        export->facts.label_names = json_dumps(names, NVDP__LABEL_NAMES_FORM);
        json_decref(names);
        NVDP_TRY(NVDP__MADE(export->facts.label_names));
    }
    nvdp__log(export->ctx, of->resolution > COARSE ? NVDP_LOG_WARNING : NVDP_LOG_NOTICE,
              "%zu %ss of %zu numbers at epsilon %g: the noise of %s has length %.2g, where a row "
              "has 1%s",
              plan->units, nvdp__unit_name(&of->facts), plan->dim, of->facts.epsilon,
              of->classes > 0 ? "the difference of two classes' means" : "the mean", of->resolution,
              of->resolution > COARSE
                  ? nvdp__with_options(export->ctx,
                                       "; use more rows, fewer numbers ({reduce}) or a "
                                       "larger epsilon")
                        .text
                  : "");
    return NVDP_OK;
}

/* --- the training of the encoder --- */

/* Adds the texts of the input, which is read a further time. */
static nvdp_status read_seen(const struct nvdp__export *export, struct nvdp__seen_texts *texts) {
    const struct nvdp__export_options *options = export->options;
    nvdp__autoptr(nvdp__row_chunks_close) struct nvdp__row_chunks *chunks = NULL;
    const struct nvdp__rows *rows;
    struct stat info;
    size_t at = 0;
    if (stat(options->input, &info) != 0 || !S_ISREG(info.st_mode))
        return nvdp__fail(export->ctx, NVDP_ERR_INPUT,
                          "{input}: expected a regular file, because its texts are compared with "
                          "those that %s was trained on, found %s",
                          export->from.run.config.model, options->input);
    NVDP_TRY(nvdp__summary_rows(export, &chunks));
    do {
        NVDP_TRY(nvdp__row_chunks_next(chunks, &rows));
        for (size_t i = 0; i < rows->count; i++, at++) {
            const struct nvdp__text_row *row = &rows->row[i];
            NVDP_TRY(nvdp__seen_texts_add(export->ctx, texts, at, row->text.text, row->text.size));
            if (options->summary.pair != NULL)
                NVDP_TRY(
                    nvdp__seen_texts_add(export->ctx, texts, at, row->pair.text, row->pair.size));
        }
    } while (rows->count > 0);
    return NVDP_OK;
}

/* Sets the steps of the run's own training, if they are all that its guarantee counts. */
static nvdp_status take_steps(struct nvdp__export *export, const char *model) {
    const struct nvdp__release_facts *facts = &export->facts;
    nvdp__autoptr(json_decref) json_t *result = NULL, *record = NULL;
    const struct nvdp__path run = nvdp__path(model, "..");
    struct nvdp_dp_guarantee own;
    NVDP_TRY(nvdp__json_read_optional(export->ctx, run.text, "result.json", &result));
    NVDP_TRY(nvdp__json_read_optional(export->ctx, run.text, "run.json", &record));
    const json_t *dp = nvdp__dp_planned(result, record);
    if (!nvdp__dp_promise(dp, false, &own) || own.epsilon != facts->training_epsilon ||
        own.delta != facts->training_delta || json_object_get(dp, "start") != NULL ||
        json_object_get(dp, "vocabulary") != NULL)
        return NVDP_OK;
    export->summary->trained.noise = json_number_value(json_object_get(dp, "noise"));
    export->summary->trained.rate = json_number_value(json_object_get(dp, "sample_rate"));
    export->summary->trained.steps = (size_t)json_integer_value(json_object_get(dp, "steps"));
    return NVDP_OK;
}

nvdp_status nvdp__summary_training(struct nvdp__export *export) {
    struct nvdp_context *ctx = export->ctx;
    const char *input = export->options->input, *model = export->from.run.config.model;
    struct nvdp__release_facts *facts = &export->facts;
    nvdp__auto(nvdp__lineage_release) struct nvdp__lineage lineage = {0};
    nvdp__auto(nvdp__seen_texts_release) struct nvdp__seen_texts texts = {0};
    char sha256[NVDP__DIGEST_HEX];
    struct nvdp_dp_guarantee counted = {0};
    if (export->options->vectors != NULL) return NVDP_OK;
    NVDP_TRY(nvdp__lineage_read(ctx, model, &lineage));
    if (json_array_size(lineage.list) == 0) return NVDP_OK;
    NVDP_TRY(read_seen(export, &texts));
    NVDP_TRY(nvdp__file_sha256(ctx, input, sha256));
    const struct nvdp__seen these = {1, (const char(*)[NVDP__DIGEST_HEX])sha256, &input, &texts, 0},
                            any = {0};
    nvdp_status status = nvdp__lineage_promise(ctx, &lineage, these, false, &counted);
    if (status == NVDP_OK) status = nvdp__lineage_promise(NULL, &lineage, any, false, &counted);
    if (status == NVDP_ERR_ARGUMENT) { /* without privacy */
        facts->training = NVDP__TRAINING_SOME;
        return NVDP_OK;
    }
    NVDP_TRY(status);
    if (!(counted.epsilon > 0 || counted.delta > 0)) return NVDP_OK;
    facts->training_epsilon = counted.epsilon;
    facts->training_delta = counted.delta;
    return take_steps(export, model);
}

/* --- the sum --- */

bool nvdp__summary_answer(const struct nvdp__summary_facts *of, size_t classes,
                          const char *const *class_name, const char *answer, float *y) {
    const struct nvdp__summary *plan = &of->plan;
    memset(y, 0, plan->answers * sizeof *y);
    if (plan->answers == 0 || answer == NULL) return plan->answers == 0;
    if (of->scores) {
        char *end = NULL;
        const double score = nvdp__strtod(answer, &end);
        const bool known = end != answer && *end == '\0' && !isnan(score);
        const double at = (score - of->low) / (of->high - of->low);
        y[0] = known ? (float)(2 * fmax(0, fmin(1, at)) - 1) : 0;
        return known;
    }
    for (size_t k = 0; k < classes; k++) {
        if (strcmp(class_name[k], answer) != 0) continue;
        y[plan->answers == 1 ? 0 : k] = plan->answers == 1 && k == 0 ? -1 : 1;
        return true;
    }
    return false;
}

/* The memory of the sum.  No noise protects the sum, so this memory is overwritten at the end. */
struct sums {
    struct nvdp__memory memory;
    int64_t *sum; /* [entries] */
    int32_t *z;   /* [batch, D] */
    float *x, *y; /* [batch, d], [K] */
    size_t entries, numbers, vectors;
    size_t unknown; /* rows without a known answer */
    size_t beyond;  /* rows whose score was cut to the range */
};

static void wipe(struct sums *sums) {
    if (sums->sum != NULL) sodium_memzero(sums->sum, sums->entries * sizeof *sums->sum);
    if (sums->z != NULL) sodium_memzero(sums->z, sums->numbers * sizeof *sums->z);
    if (sums->x != NULL) sodium_memzero(sums->x, sums->vectors * sizeof *sums->x);
    nvdp__memory_release(&sums->memory);
}

/* Returns the parts from which x is made: the texts, both texts of pairs, or pairs as one text. */
static size_t list_parts(struct summarizer *of, struct nvdp__export_part *part[2]) {
    struct nvdp__export_source *from = &of->export.from;
    part[0] = of->facts.joint ? &from->joint : &from->part[0];
    part[1] = &from->part[1];
    return !of->facts.joint && from->parts > 1 ? 2 : 1;
}

/* Sets x of the rows [first, first + n) of the parts' texts. The means of texts are on a sphere whose radius is the
 * clip of the run. */
static nvdp_status set_vectors(struct summarizer *of, struct sums *sums, size_t first, size_t n) {
    struct nvdp__export *export = &of->export;
    const size_t p = export->like.dim, d = of->facts.plan.dim;
    const double radius = export->from.run.model->info.nvib.clip.sequence;
    struct nvdp__export_part *part[2];
    nvdp__autofree float *line = NULL;
    NVDP_TRY(NVDP__NEW(export->ctx, line, p));
    for (size_t k = 0, parts = list_parts(of, part); k < parts; k++) {
        NVDP_TRY(nvdp__export_infer(export, part[k], first, n));
        for (size_t i = 0; i < n; i++) {
            float *to = k == 0 ? sums->x + i * d : line;
            for (size_t j = 0; j < p; j++)
                to[j] = (float)(export->draw.posteriors->mu[i * p + j] / radius);
            if (k > 0) nvdp__join_pair(p, line, sums->x + i * d);
        }
    }
    return NVDP_OK;
}

/* Returns whether a known answer is a score beyond the range. */
static bool is_beyond(const struct nvdp__summary_facts *of, const char *answer) {
    char *end = NULL;
    const double score = of->scores ? nvdp__strtod(answer, &end) : NAN;
    return score < of->low || score > of->high;
}

/* Adds the rows [first, first + n) of the parts' texts. */
static nvdp_status add_batch(struct summarizer *of, struct sums *sums, size_t first, size_t n) {
    struct nvdp__export *export = &of->export;
    const struct nvdp__export_source *from = &export->from;
    const struct nvdp__summary *plan = &of->facts.plan;
    const struct nvdp__export_part *part = &from->part[0];
    const char *const *answer = nvdp__dataset_storage(part->data)->answer;
    NVDP_TRY(set_vectors(of, sums, first, n));
    for (size_t i = 0; i < n; i++) {
        const char *label = answer != NULL ? answer[first + i] : NULL;
        const bool known =
            nvdp__summary_answer(&of->facts, of->classes, of->class_name, label, sums->y);
        sums->unknown += !known;
        sums->beyond += known && is_beyond(&of->facts, label);
        nvdp__summary_row(
            plan, of->facts.persons ? from->rows_of[from->unit_of[part->first + first + i]] : 1,
            sums->x + i * plan->dim, sums->y, sums->z + i * plan->width);
    }
    nvdp__summary_add(plan, nvdp_context_threads(export->ctx), n, sums->z, sums->sum);
    return NVDP_OK;
}

/* Reads the next texts of all parts, which are texts of the same rows. */
static nvdp_status next_rows(struct summarizer *of, bool *more) {
    struct nvdp__export_source *from = &of->export.from;
    struct nvdp__export_part *part[2];
    NVDP_TRY(nvdp__export_next(&from->part[0], more));
    for (size_t k = 0, parts = list_parts(of, part); k < parts; k++) {
        bool also = *more;
        if (part[k] != &from->part[0]) NVDP_TRY(nvdp__export_next(part[k], &also));
        if (also != *more || (also && part[k]->data->count != from->part[0].data->count))
            return nvdp__fail(of->export.ctx, NVDP_ERR_INPUT,
                              "%s: expected both texts of each pair, found a change of the file",
                              of->export.options->input);
    }
    return NVDP_OK;
}

static nvdp_status add_texts(struct summarizer *of, struct sums *sums) {
    struct nvdp__export *export = &of->export;
    const struct nvdp__export_part *part = &export->from.part[0];
    const size_t count = part->count;
    struct nvdp__meter meter;
    size_t done = 0;
    nvdp__meter_begin(&meter, export->ctx, "summarize", "text", 0, count);
    nvdp__export_rewind(export);
    for (bool more;;) {
        NVDP_TRY(next_rows(of, &more));
        if (!more) break;
        for (size_t first = 0, n; first < part->data->count; first += n, done += n) {
            n = nvdp__min(part->data->count - first, export->draw.texts);
            NVDP_TRY(nvdp__check_cancelled(export->ctx, "summarize: cancelled"));
            NVDP_TRY(add_batch(of, sums, first, n));
            nvdp__meter_update(&meter, done + n, (double)(done + n), "text", NAN);
        }
    }
    nvdp__meter_end(&meter);
    nvdp__model_warn_replaced(export->from.run.model, export->draw.replaced, export->from.texts);
    if (sums->unknown > 0)
        nvdp__log(
            export->ctx, sums->unknown == count ? NVDP_LOG_WARNING : NVDP_LOG_NOTICE,
            "%zu of %zu rows have no known label, and count without one (this number is for the "
            "owner alone)",
            sums->unknown, count);
    if (sums->beyond > 0)
        nvdp__log(export->ctx, NVDP_LOG_WARNING,
                  "%zu of %zu scores are beyond {range}, and count as its ends (this number is for "
                  "the owner alone)",
                  sums->beyond, count);
    return NVDP_OK;
}

/* --- the values of the file --- */

static nvdp_status append(struct nvdp__export *export, size_t first, size_t rows, int32_t *z) {
    return export->release.format->append(&export->release, first, rows, z, NULL);
}

/* Writes the rows of the matrix, both triangles. */
static nvdp_status write_matrix(struct nvdp__export *export, const struct nvdp__summary *plan,
                                const int32_t *matrix) {
    const size_t width = plan->width;
    nvdp__autofree int32_t *whole = NULL;
    NVDP_TRY(NVDP__NEW(export->ctx, whole, width * width));
    for (size_t i = 0, at = 0; i < width; i++)
        for (size_t j = i; j < width; j++, at++)
            whole[i * width + j] = whole[j * width + i] = matrix[at];
    return append(export, 0, width, whole);
}

/* Writes the synthetic rows, which are functions of the matrix. */
static nvdp_status write_rows(struct summarizer *of, const int32_t *matrix) {
    struct nvdp__export *export = &of->export;
    const struct nvdp__summary *plan = &of->facts.plan;
    const size_t d = plan->dim, width = plan->width, answers = plan->answers;
    const size_t constant = plan->alpha > 0;
    const double scale = ldexp(nvdp__synthetic_scale(&of->facts), -plan->grid.exponent);
    struct nvdp__moments moments;
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    double *weight, *bias, *line;
    float *x;
    int32_t *z;
    if (of->facts.rows == 0) return NVDP_OK;
    NVDP_TRY(NVDP__ARRAYS(export->ctx, &memory, NVDP__ITEMS(weight, answers * d),
                          NVDP__ITEMS(bias, answers), NVDP__ITEMS(line, 2 * d), NVDP__ITEMS(x, d),
                          NVDP__ITEMS(z, width)));
    NVDP_TRY(nvdp__summary_moments(export->ctx, plan, of->facts.scores, matrix, &memory, &moments));
    NVDP_TRY(
        nvdp__summary_ridge(export->ctx, &moments, sqrt((double)d) * moments.noise, weight, bias));
    export->count.judged = false;
    for (size_t r = 0; r < of->facts.rows; r++) {
        NVDP_TRY(nvdp__check_cancelled(export->ctx, "summarize: cancelled"));
        const double y =
            nvdp__summary_synthetic(&moments, weight, bias, export->options->seed, r, line, x);
        memset(z, 0, width * sizeof *z);
        if (constant) z[0] = (int32_t)lround(scale * plan->alpha);
        for (size_t i = 0; i < d; i++)
            z[constant + i] = (int32_t)lround(scale * plan->beta * (double)x[i]);
        if (answers == 1) {
            const double answer = of->facts.scores ? fmax(-1, fmin(1, y)) : y == 0 ? -1 : 1;
            z[constant + d] = (int32_t)lround(scale * plan->tau * answer);
        } else if (answers > 1) {
            z[constant + d + (size_t)y] = (int32_t)lround(scale * plan->tau);
        }
        NVDP_TRY(append(export, width + r, 1, z));
    }
    return NVDP_OK;
}

nvdp_status nvdp__summary_rowwise(struct nvdp__export *export) {
    struct nvdp_model *model = export->from.run.model;
    const struct nvdp_bert_config *bert = &model->info.bert;
    if (model->dev.bf16 != NULL || nvdp__context_precision(export->ctx) != NVDP_PRECISION_F32)
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "expected precision f32, in which the embedding of a text does not "
                          "depend on the other texts, found another one");
    NVDP_TRY(nvdp__rowwise_create(
        &model->dev,
        nvdp__max(nvdp__max(bert->intermediate_size, bert->hidden_size), bert->embedding_size),
        &export->draw.rowwise));
    model->dev.rowwise = export->draw.rowwise;
    return NVDP_OK;
}

/* Adds up the texts, draws the matrix, and writes the matrix and the synthetic rows. */
static nvdp_status draw(struct nvdp__export *export) {
    struct summarizer *of = as_summarizer(export);
    const struct nvdp__summary *plan = &of->facts.plan;
    nvdp__auto(wipe) struct sums sums = {.entries = nvdp__summary_entries(plan),
                                         .numbers = export->draw.texts * plan->width,
                                         .vectors = export->draw.texts * plan->dim};
    nvdp__autofree int32_t *matrix = NULL;
    NVDP_TRY(NVDP__ARRAYS(export->ctx, &sums.memory, NVDP__ITEMS(sums.sum, sums.entries),
                          NVDP__ITEMS(sums.z, sums.numbers), NVDP__ITEMS(sums.x, sums.vectors),
                          NVDP__ITEMS(sums.y, plan->answers + 1)));
    NVDP_TRY(NVDP__NEW(export->ctx, matrix, sums.entries));
    NVDP_TRY(nvdp__export_open_noise(export));
    NVDP_TRY(nvdp__summary_rowwise(export));
    NVDP_TRY(add_texts(of, &sums));
    NVDP_TRY(nvdp__summary_draw(export->ctx, plan, &export->draw.noise, sums.sum, matrix));
    NVDP_TRY(write_matrix(export, plan, matrix));
    export->count.judged = true; /* a failure of the estimates would depend on the matrix */
    return write_rows(of, matrix);
}

/* --- nvdp_summarize --- */

#define ROW(member, ...) NVDP_RESULT_ROW(struct nvdp_summary_result, member, __VA_ARGS__)

const struct nvdp_result_table nvdp__result_summary = {
    .name = "summary",
    .help = "a summary of a collection",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        ROW(guarantee, NULL, NVDP_SCOPE_FILE, 0, "the guarantee, or why there is no useful one"),
        ROW(useful, NULL, NVDP_SCOPE_FILE, 1, "the guarantee limits every attacker"),
        ROW(written, NULL, NVDP_SCOPE_FILE, 0, "the file was written: not a dry run"),
        ROW(unit, NULL, NVDP_SCOPE_FILE, 0, "what is replaced: a row, or a person with all rows",
            .label = "unit"),
        ROW(units, NULL, NVDP_SCOPE_FILE, 0, "rows or persons of the collection", .label = "units"),
        ROW(dim, NULL, NVDP_SCOPE_FILE, 0, "numbers of a vector", .label = "width"),
        ROW(answers, NULL, NVDP_SCOPE_FILE, 0,
            "numbers of an answer: 1 for two classes or a score, else the number of classes; 0: "
            "none"),
        ROW(width, NULL, NVDP_SCOPE_FILE, 0, "width of the matrix", .label = "matrix width"),
        ROW(rows, "rows", NVDP_SCOPE_FILE, 0, "synthetic rows", .label = "synthetic rows"),
        ROW(epsilon, "nats", NVDP_SCOPE_FILE, -1, "proven for the replacement of any one unit",
            .label = "epsilon", .bound = 1),
        ROW(delta, NULL, NVDP_SCOPE_FILE, 0, "its delta", .label = "delta"),
        ROW(mu, NULL, NVDP_SCOPE_FILE, -1, "its mu", .label = "mu", .bound = 1),
        ROW(epsilon_2, "nats", NVDP_SCOPE_FILE, -1, "epsilon of two units that change together",
            .label = "of 2 units", .bound = 1),
        ROW(epsilon_10, "nats", NVDP_SCOPE_FILE, -1, "epsilon of ten units", .label = "of 10 units",
            .bound = 1),
        ROW(noise, NULL, NVDP_SCOPE_FILE, -1, "standard deviation of the noise off the diagonal"),
        ROW(resolution, NULL, NVDP_SCOPE_FILE, -1,
            "length of the noise of the difference of two classes' means, or of the mean; a row "
            "has 1",
            .label = "noise of means", .decimals = 4),
        ROW(spent_samples, "releases", NVDP_SCOPE_TEXT, -1, "releases of a text by the ledger",
            .label = "releases so far", .absent = NVDP_ABSENT_OMITTED,
            NVDP_RESULT_IF(struct nvdp_summary_result, spent_samples)),
        ROW(spent_epsilon, "nats", NVDP_SCOPE_TEXT, -1,
            "largest epsilon of a text by the ledger, with all its rows and releases",
            .label = "their epsilon", .bound = 1, .absent = NVDP_ABSENT_OMITTED,
            NVDP_RESULT_IF(struct nvdp_summary_result, spent_samples)),
        ROW(run, NULL, NVDP_SCOPE_FILE, 0, "folder of the run"),
        ROW(bytes, "bytes", NVDP_SCOPE_FILE, 0, "size of the file", .label = "size",
            .scale = 1. / (1 << 20), .decimals = 3, .after = " MiB", .absent = NVDP_ABSENT_OMITTED,
            NVDP_RESULT_IF(struct nvdp_summary_result, bytes)),
        ROW(statement, NULL, NVDP_SCOPE_FILE, 0, "the statement in the file"),
        {0}}};

static const struct nvdp_result_kind summary_kind = {.name = "summary",
                                                     .rows = &nvdp__result_summary};

static void give_result(const struct summarizer *of, struct nvdp_summary_result *out) {
    const struct nvdp__export *export = &of->export;
    const struct nvdp__summary *plan = &of->facts.plan;
    const struct nvdp__release_facts *facts = &export->facts;
    const bool written = export->count.published;
    struct stat info = {0};
    struct nvdp_summary_result result = {
        .kind = &summary_kind,
        .written = written,
        .units = plan->units,
        .dim = plan->dim,
        .answers = plan->answers,
        .width = plan->width,
        .rows = of->facts.rows,
        .epsilon = facts->certified ? facts->certificate.epsilon : INFINITY,
        .delta = of->facts.delta,
        .mu = facts->certified ? plan->mu : INFINITY,
        .epsilon_2 = facts->certified ? facts->repeat[0].epsilon : INFINITY,
        .epsilon_10 = facts->certified ? facts->repeat[1].epsilon : INFINITY,
        .noise = plan->sigma_off,
        .resolution = of->resolution,
        .bytes = written && stat(export->options->out, &info) == 0 ? (uint64_t)info.st_size : 0,
        .useful = facts->useful,
        .spent_samples = export->count.spent.samples,
        .spent_epsilon = facts->counted ? export->count.spent.epsilon : NAN,
    };
    nvdp__statement(facts, sizeof result.statement, result.statement);
    nvdp__snprintf(result.guarantee, sizeof result.guarantee, "%s", facts->guarantee);
    nvdp__snprintf(result.unit, sizeof result.unit, "%s", nvdp__unit_name(&of->facts));
    nvdp__snprintf(result.run, sizeof result.run, "%s", nvdp__export_run(export->options));
    NVDP__GIVE(out, &result);
}

static const struct nvdp__export_kind kind = {.schema = &schema,
                                              .folder = "summary",
                                              .type = NVDP__LEDGER_SHARED,
                                              .choose = nvdp__summary_choose,
                                              .plan = plan,
                                              .measure = announce,
                                              .draw = draw};

static void close_summarizer(struct summarizer *of) {
    nvdp__export_close(&of->export);
}

nvdp_status nvdp_summarize(struct nvdp_context *ctx, const struct nvdp_config *config,
                           struct nvdp_summary_result *out) {
    nvdp__auto(close_summarizer) struct summarizer of = {.export = {.ctx = ctx}};
    of.export.summary = &of.facts;
    if (out != NULL) NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__export_do(&of.export, config, &kind));
    if (out != NULL) give_result(&of, out);
    return NVDP_OK;
}
