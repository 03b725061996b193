/* The options of nvdp export, and the checks of options and output paths that need no run. */
#include "share/export.h"

#include "base/file.h"
#include "rdp/options.h"
#include "share/release.h"
#include <string.h>
#include <sys/stat.h>

static const char *const grid_names[] = {
    [NVDP__GRID_FIXED] = "fixed", [NVDP__GRID_FLOAT16] = "float16", NULL};

static const char *const unit_names[] = {
    [NVDP__UNIT_TEXT] = "text", [NVDP__UNIT_PERSON] = "person", NULL};

static const char *const duplicates_names[] = {
    [NVDP__DUPLICATES_REFUSE] = "refuse", [NVDP__DUPLICATES_EACH] = "each", NULL};

#define AT(member) NVDP_OPTION_AT(struct nvdp__export_options, member)

static const struct nvdp_option option_rows[] = {
    {"run", NVDP_OPTION_TEXT, "RUN",
     "run directory; with --model the run to make or to use again, by default MODEL-sentence "
     "beside the output file; name one run for all files of the same texts, because its ledger "
     "counts them",
     NULL, AT(run), .traits = NVDP_TRAIT_POSITIONAL},
    {"model", NVDP_OPTION_TEXT, "DIR",
     "release the sentence embedding of this public encoder, without training: needs center, and "
     "clip-sequence or certified-epsilon; RUN is made or used again, by default MODEL-sentence "
     "beside the output file; whoever guesses a text can check the guess, as far as the noise "
     "allows",
     NULL, AT(model), .group = "An encoder without training:", .traits = NVDP_TRAIT_BASIC},
    NVDP__CENTER_ROW(AT(center), .traits = NVDP_TRAIT_BASIC),
    NVDP__PUBLIC_INDEPENDENT_ROW(AT(public_independent)),
    {"clip-sequence", NVDP_OPTION_REAL, "C",
     "scale every embedding to norm C, in standard deviations of the noise", "0", AT(clip),
     .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_NO_DEFAULT},
    {"certified-epsilon", NVDP_OPTION_REAL, "E",
     "choose C such that all samples of a text together have epsilon E at delta 1e-5", "0",
     AT(epsilon), .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_NO_DEFAULT},
    NVDP__REDUCE_ROW(AT(reduce)),
    NVDP__RELEASED_COLUMN_ROW(AT(text_column)),

    NVDP__VECTORS_ROWS(AT(vectors), AT(vectors_name), AT(vectors_source), AT(ids)),

    {"input", NVDP_OPTION_TEXT, "FILE",
     "texts to export, one per line or a table with the task's text columns (.tsv, .csv, .json, "
     "also .gz or .xz); a file with another name is a table if its first line has a tab or is the "
     "column's name; -: standard input, by the same rule",
     NULL, AT(input), .group = "Texts:", .traits = NVDP_TRAIT_BASIC},
    {"split", NVDP_OPTION_LIST, "NAMES", "splits of the task's data to export, such as train,dev",
     NULL, AT(splits), .traits = NVDP_TRAIT_BASIC},
    NVDP__MOVED_DATA_ROW(AT(data)),
    NVDP__LIMIT_ROW(AT(limit), .traits = NVDP_TRAIT_BASIC),

    NVDP__RELEASED_FILE_ROW(AT(out)),
    {"model-out", NVDP_OPTION_TEXT, "DIR",
     "also write the public part of the model, from which readers can start", NULL, AT(model_out),
     .traits = NVDP_TRAIT_NO_EFFECT},
    NVDP__MODEL_ID_ROW(AT(model_id)),
    {"samples", NVDP_OPTION_INTEGER, "S",
     "samples per text; each sample is a release and adds to the divergence", "1", AT(samples),
     .min = 1, .max = 65536, .traits = NVDP_TRAIT_BASIC},
    {"unit", NVDP_OPTION_CHOICE, "UNIT",
     "what has a sample: text or person; person needs --person, and --model or --vectors: the "
     "sample is the mean of the embeddings of all rows with the person's name, and all rows of a "
     "person together cost what one text costs",
     "text", AT(unit), .choices = unit_names, .traits = NVDP_TRAIT_BASIC},
    {"grid", NVDP_OPTION_CHOICE, "G",
     "number format: fixed (exact noise in whole steps, as the proof requires) or float16, for "
     "older readers",
     "fixed", AT(grid), .choices = grid_names},
    {"with-labels", NVDP_OPTION_FLAG, NULL, "write the labels into the file", NULL, AT(with_labels),
     .traits = NVDP_TRAIT_BASIC},
    {"label-column", NVDP_OPTION_TEXT, "NAME",
     "with vectors and with-labels: array of the labels; default: label", NULL, AT(summary.label)},
    {"classes", NVDP_OPTION_LIST, "A,B,...",
     "with vectors and with-labels: the labels are these classes, whose names the file states; "
     "default: numbers",
     NULL, AT(summary.classes)},
    {0},
};

/* The options of every kind of release. */
const struct nvdp_option nvdp__release_options[] = {
    {"card", NVDP_OPTION_TEXT, "README.md",
     "also write a dataset card with the statement and instructions to load the file", NULL,
     AT(card), .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_NO_EFFECT},
    {"sign", NVDP_OPTION_TEXT, "KEYFILE",
     "sign the file with this secret key (nvdp verify --make-key KEYFILE makes one)", NULL,
     AT(sign), .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_NO_EFFECT | NVDP_TRAIT_UNSAVED},
    {"ledger", NVDP_OPTION_TEXT, "FILE",
     "ledger that counts the samples of every text before they are drawn; created if missing; "
     "default RUN/ledger",
     NULL, AT(ledger), .traits = NVDP_TRAIT_NO_EFFECT | NVDP_TRAIT_UNSAVED},
    {"ledger-key", NVDP_OPTION_TEXT, "KEYFILE",
     "secret key by which the ledger recognizes texts; created with the ledger; keep it to "
     "yourself; default: the ledger's name and .key",
     NULL, AT(ledger_key), .traits = NVDP_TRAIT_NO_EFFECT | NVDP_TRAIT_UNSAVED},
    {"no-ledger", NVDP_OPTION_FLAG, NULL, "do not count the samples; the file states this", NULL,
     AT(no_ledger), .traits = NVDP_TRAIT_NO_EFFECT},
    {"budget-samples", NVDP_OPTION_INTEGER, "N",
     "refuse the export if a text would have more than N samples in total in the ledger; 0: as "
     "many as the run was certified for, or else one",
     "0", AT(budget.samples), .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_NO_EFFECT},
    {"budget-epsilon", NVDP_OPTION_REAL, "E",
     "refuse the export if all samples of a text together have an epsilon above E at delta 1e-5; "
     "set with the first export and never raised, E is proven even if later exports depend on "
     "earlier samples; 0: the budget of the previous export",
     "0", AT(budget.epsilon), .traits = NVDP_TRAIT_NO_EFFECT},
    {"duplicates", NVDP_OPTION_CHOICE, "HOW",
     "texts that stand several times: refuse (no export if all rows of one text exceed the samples "
     "that the run was certified for) or each (draw each row, and count it); default: refuse for a "
     "run with certified-epsilon, certified-guess or word-epsilon, else each; a refusal shows that "
     "texts repeat, so a service must not relay it",
     "refuse", AT(duplicates), .choices = duplicates_names,
     .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_NO_EFFECT | NVDP_TRAIT_NO_DEFAULT},
    {"person", NVDP_OPTION_TEXT, "COLUMN",
     "column that names the person of each text, such as author or patient; the ledger adds up all "
     "texts of a person, and keeps no name; names count as written: Ann and ann are two persons; a "
     "text without a name is a person of its own; in a summary, and for export with --unit person, "
     "all rows of a person together count as one",
     NULL, AT(person), .traits = NVDP_TRAIT_NO_EFFECT},
    {"person-epsilon", NVDP_OPTION_REAL, "E",
     "refuse the export if all texts of a person together have an epsilon above E at delta 1e-5, "
     "all releases of the ledger included; set with the first export and never raised, E is proven "
     "even if later exports depend on earlier samples; 0: the budget of the previous export",
     "0", AT(person_epsilon), .traits = NVDP_TRAIT_NO_EFFECT},
    {"receiver", NVDP_OPTION_TEXT, "NAME",
     "who gets the file: the ledger then also shows the largest sum of a single receiver; budgets "
     "are of all receivers together, who may collude",
     NULL, AT(receiver), .traits = NVDP_TRAIT_NO_EFFECT | NVDP_TRAIT_UNSAVED},
    NVDP__OVERWRITE_ROW(AT(overwrite)),
    NVDP__TEXTS_PER_BATCH_ROW(AT(batch)),
    NVDP__INSECURE_SEED_ROW(AT(seed)),
    {0},
};

static const struct nvdp_option measure_rows[] = {
    NVDP__ORDER_ROW(AT(order), .group = "Privacy summary:"),
    {"publish-measured", NVDP_OPTION_FLAG, NULL,
     "write the privacy summary into the file; it is computed without noise, so it helps others to "
     "find out which texts these are",
     NULL, AT(publish), .traits = NVDP_TRAIT_BASIC},
    NVDP__BDP_DELTA_ROW(AT(delta)),
    {"measure-texts", NVDP_OPTION_INTEGER, "N", "measure on a seeded sample of at most N texts",
     "1000", AT(measure_texts), .unit = "texts"},
    {0},
};

nvdp_status nvdp__export_check_center(struct nvdp_context *ctx,
                                      const struct nvdp__export_options *options) {
    if (options->input == NULL || !nvdp__same_file(options->center, options->input)) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "option {center}: expected public texts, found the file of {input}, %s; "
                      "the shared file states the mean of the center's embeddings, which no "
                      "noise protects",
                      options->input);
}

static nvdp_status check_model(struct nvdp_context *ctx,
                               const struct nvdp__export_options *options) {
    if ((options->summary.label != NULL || options->summary.classes != NULL) &&
        (options->vectors == NULL || !options->with_labels))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "options {label-column} and {classes} need {vectors} and {with-labels}; "
                          "the labels of a run are those of its task");
    NVDP_TRY(nvdp__export_check_vectors(ctx, options));
    if (options->model == NULL && options->vectors == NULL) {
        if (options->run == NULL)
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "a run, RUN, or option {model} or {vectors} is needed");
        if (options->center != NULL || options->clip != 0 || options->epsilon != 0 ||
            options->reduce != 0)
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "options {center}, {clip-sequence}, {certified-epsilon} and {reduce} "
                              "need {model} or {vectors}; a trained run has its own");
        return NVDP_OK;
    }
    if (options->center == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {model} needs {center}, a file of public texts");
    if (!(options->clip >= 0 && options->clip < 1e6 && options->epsilon >= 0 &&
          options->epsilon < 1e6) ||
        (options->clip > 0) == (options->epsilon > 0))
        return nvdp__fail_option(ctx, NVDP_ERR_ARGUMENT,
                                 options->model != NULL ? "model" : "vectors",
                                 " needs exactly one of {clip-sequence} and {certified-epsilon}, "
                                 "above 0; found %g and %g",
                                 options->clip, options->epsilon);
    NVDP_TRY(nvdp__export_check_center(ctx, options));
    if (options->unit == NVDP__UNIT_PERSON && options->with_labels)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {unit} person excludes {with-labels}, because a label is that of "
                          "a row");
    if ((options->model != NULL && options->with_labels) || options->splits != NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {model} excludes {with-labels} and {split}, because the encoder "
                          "has no task; use {input}");
    return NVDP_OK;
}

nvdp_status nvdp__export_check(struct nvdp_context *ctx,
                               const struct nvdp__export_options *options) {
    const char *id = options->model_id;
    if (id != NULL && (strlen(id) != NVDP__MODEL_ID_DIGITS ||
                       strspn(id, "0123456789abcdef") != NVDP__MODEL_ID_DIGITS))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {model-id}: expected %d hexadecimal digits in lower case, found "
                          "'%.64s'",
                          NVDP__MODEL_ID_DIGITS, id);
    if (options->no_ledger && (options->ledger != NULL || options->ledger_key != NULL))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {no-ledger} excludes {ledger} and {ledger-key}");
    if (options->no_ledger && (options->budget.samples > 0 || options->budget.epsilon > 0))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {no-ledger} excludes a budget, because nothing is counted");
    const bool counted = options->person != NULL && options->summary.epsilon == 0 &&
                         options->unit == NVDP__UNIT_TEXT;
    if (options->no_ledger && (counted || options->receiver != NULL))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            counted
                ? "option {no-ledger} excludes {person} and {receiver}, because nothing is counted"
                : "option {no-ledger} excludes {receiver}, because nothing is counted");
    if (!(options->person_epsilon >= 0))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{person-epsilon}: expected a number of at least 0, found %g",
                          options->person_epsilon);
    if (options->person_epsilon > 0 && options->person == NULL)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "option {person-epsilon} needs {person}, the column that names the person "
            "of each text");
    if (!(options->budget.epsilon >= 0))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{budget-epsilon}: expected a number of at least 0, found %g",
                          options->budget.epsilon);
    return NVDP_OK;
}

/* Refuses {unit} person for methods that give a text several vectors, because only one embedding per text can be averaged. */
static nvdp_status check_unit(struct nvdp_context *ctx,
                              const struct nvdp__export_options *options) {
    if (options->unit == NVDP__UNIT_TEXT) return NVDP_OK;
    if (options->person == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {unit} person needs {person}, the column that names the person "
                          "of each text");
    if (options->model == NULL && options->vectors == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {unit} person needs {model} or {vectors}, which give a text one "
                          "vector of bounded norm; the samples of a trained run, %s, have no such "
                          "mean",
                          options->run);
    if (options->publish)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {unit} person excludes {publish-measured}, because only single "
                          "texts are measured");
    return NVDP_OK;
}

static nvdp_status check(struct nvdp_context *ctx, const void *values) {
    const struct nvdp__export_options *options = values;
    NVDP_TRY(check_model(ctx, options));
    NVDP_TRY(check_unit(ctx, options));
    if (options->input == NULL && options->splits == NULL && options->vectors == NULL)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{input} or {splits}: expected exactly one of these options, found neither");
    if (!(options->order > 0))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{order}: expected a number above 0, found %g",
                          options->order);
    if (!(options->delta > 0 && options->delta < 1))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{delta}: expected a number from 0 to 1, found %g", options->delta);
    return nvdp__export_check(ctx, options);
}

static const struct nvdp__section sections[] = {
    {.row = option_rows}, {.row = nvdp__release_options}, {.row = measure_rows}};
const struct nvdp__schema nvdp__export_schema = {.kind = "export",
                                                 .size = sizeof(struct nvdp__export_options),
                                                 .section = sections,
                                                 .sections = 3,
                                                 .check = check};

const struct nvdp__kind nvdp__kind_export = {"export", {&nvdp__export_schema}};

/* --- paths --- */

static nvdp_status check_new(struct nvdp_context *ctx, const char *path) {
    struct stat info;
    return path == NULL || stat(path, &info) != 0 || info.st_size == 0
               ? NVDP_OK
               : nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: the file exists; use {overwrite}", path);
}

/* Refuses an ending of no format, such as .npz, because the file would be HDF5. A name without an ending is allowed,
 * and means HDF5. */
static nvdp_status check_ending(struct nvdp_context *ctx, const char *out) {
    const char *name = nvdp__file_name(out), *ending = strrchr(name, '.');
    char endings[NVDP__ENDINGS];
    if (ending == NULL || ending == name || ending[1] == '\0' || strcmp(ending, ".hdf5") == 0)
        return NVDP_OK;
    for (size_t i = 0; nvdp__formats[i] != NULL; i++)
        if (strcmp(ending, nvdp__formats[i]->extension) == 0) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{out}: %s: expected the ending %s, found %s", out,
                      nvdp__format_endings(endings), ending);
}

nvdp_status nvdp__export_check_outputs(struct nvdp_context *ctx,
                                       const struct nvdp__export_options *options) {
    const char *const made[] = {options->out, options->card};
    /* files to keep, above all the ledger, even with --overwrite */
    const char *const kept[] = {options->ledger, options->ledger_key, options->sign, options->input,
                                options->out};
    NVDP_TRY(check_ending(ctx, options->out));
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        NVDP_TRY(nvdp__check_parent_folder(ctx, made[i]));
        for (size_t k = 0; k < sizeof kept / sizeof *kept - (i == 0); k++)
            NVDP_TRY(nvdp__refuse_same(ctx, i == 0 ? "out" : "card", made[i], kept[k]));
    }
    if (options->overwrite) return NVDP_OK;
    NVDP_TRY(check_new(ctx, options->out));
    NVDP_TRY(check_new(ctx, options->card));
    if (options->model_out != NULL && !nvdp__directory_empty(options->model_out))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "%s: the output directory is not empty; use {overwrite}",
                          options->model_out);
    return NVDP_OK;
}
