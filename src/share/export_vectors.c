/* Vectors that another program computed, in place of texts and an encoder: the model, which is made from public
 * vectors; the ids, which identify the texts in the ledger; and the posteriors.
 *
 * The id stands for the text: the SHA-256 of the caller's id, or of the vector, is stored as the text's tokens. So all
 * code that identifies texts by tokens identifies ids. */
#include "base/array.h"
#include "base/file.h"
#include "base/own.h"
#include "nvib/nvib.h"
#include "share/export.h"
#include "text/batch.h"
#include "text/dataset.h"
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = crypto_hash_sha256_BYTES / sizeof(int32_t) };

/* --- options --- */

nvdp_status nvdp__export_check_vectors(struct nvdp_context *ctx,
                                       const struct nvdp__export_options *options) {
    const struct {
        const char *name;
        bool given;
    } texts[] = {{"run", options->run != NULL},
                 {"model", options->model != NULL},
                 {"input", options->input != NULL},
                 {"split", options->splits != NULL},
                 {"model-out", options->model_out != NULL},
                 {"limit", options->limit > 0},
                 {"task", options->summary.task != NULL},
                 {"text-pair-column", options->summary.pair != NULL}};
    if (options->vectors == NULL)
        return options->ids == NULL && options->vectors_name == NULL &&
                       options->vectors_source == NULL
                   ? NVDP_OK
                   : nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                                "options {ids}, {vectors-name} and {vectors-source} need "
                                "{vectors}");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].given)
            return nvdp__fail_option(ctx, NVDP_ERR_ARGUMENT, texts[i].name,
                                     ": %s: expected no such option beside vectors, which replace "
                                     "texts, their encoder and its run",
                                     options->vectors);
    if (options->center == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {vectors} needs {center}, a file of public vectors by the same "
                          "encoder");
    if (nvdp__same_file(options->center, options->vectors))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {center}: expected public vectors, found the file of {vectors}, "
                          "%s; the shared file states the mean of the center's vectors, which no "
                          "noise protects",
                          options->vectors);
    struct nvdp__query_map map;
    return options->vectors_source == NULL ? NVDP_OK
                                           : nvdp__source_text(ctx, options->vectors_source, &map);
}

/* --- the rows --- */

/* Makes a data set whose texts are the SHA-256 of ids, or of vectors [count, width] if `id` is NULL. */
static nvdp_status make_texts(struct nvdp_context *ctx, size_t count, size_t width, const float *x,
                              const char *const *id, bool labeled, struct nvdp_dataset **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *data = NULL;
    NVDP_TRY(nvdp__dataset_create(ctx, count, labeled, &data));
    for (size_t i = 0; i < count; i++) {
        data->index[i] = (int64_t)i;
        data->offset[i + 1] = TOKENS;
    }
    NVDP_TRY(nvdp__dataset_lay_out(ctx, data));
    for (size_t i = 0; i < count; i++) {
        const void *bytes = id != NULL ? (const void *)id[i] : (const void *)(x + i * width);
        const size_t size = id != NULL ? strlen(id[i]) : width * sizeof *x;
        crypto_hash_sha256((unsigned char *)(data->ids + TOKENS * i), bytes, size);
    }
    data->longest = 1; /* a vector is one state */
    return NVDP__HAND_OVER(out, data);
}

/* A vector scaled to length 1: `inverse` is the factor of the vector, and `along` is the component in a fixed direction
 * of length 1. */
struct line {
    double along, inverse;
    const float *x;
};

static nvdp_status sort_lines(struct nvdp_context *ctx, const struct nvdp__caller_vectors *of,
                              struct line **out) {
    const size_t d = of->width;
    NVDP_TRY(NVDP__NEW(ctx, *out, of->rows));
    for (size_t i = 0; i < of->rows; i++) {
        const float *x = of->x + i * d;
        const double length = sqrt(nvdp__dot_f64(d, x, x));
        double along = 0;
        for (size_t k = 0; k < d; k++)
            along += (double)x[k] * (k * k % 3 == 1 ? -1 : 1);
        const double inverse = length > 0 ? 1 / length : 0; /* a row of zeros is no public vector */
        (*out)[i] = (struct line){along * inverse / sqrt((double)d), inverse, x};
    }
    NVDP__SORT(*out, of->rows, NVDP__UP(struct line, along));
    return NVDP_OK;
}

/* Counts those of the vectors that are multiples of a public vector; `among`: all public vectors [public], sorted. In few
 * dimensions, different vectors have nearly the same direction, so rounding to float16 is not recognized there. */
static nvdp_status count_public(struct nvdp_context *ctx, const struct nvdp__caller_vectors *given,
                                const struct line *among, size_t public, size_t *found) {
    nvdp__autofree struct line *of = NULL;
    const size_t d = given->width;
    const double near = d > 3 ? 0x1p-10 : 0x1p-20;
    size_t first = 0;
    NVDP_TRY(sort_lines(ctx, given, &of));
    for (size_t i = 0; i < given->rows; i++) {
        bool same = false;
        while (first < public && among[first].along < of[i].along - near)
            first++;
        for (size_t j = first; !same && j < public && among[j].along <= of[i].along + near; j++) {
            double square = 0;
            for (size_t k = 0; k < d && square <= near * near; k++) {
                const double apart =
                    (double)of[i].x[k] * of[i].inverse - (double)among[j].x[k] * among[j].inverse;
                square += apart * apart;
            }
            same = square <= near * near;
        }
        *found += same;
    }
    return NVDP_OK;
}

/* Fails if a public vector is a multiple of a vector to share, even after rounding to float16, because a sample depends
 * on the direction alone. */
static nvdp_status compare(struct nvdp__export *export, const struct nvdp__caller_vectors *public) {
    struct nvdp__export_part *part = &export->from.part[0];
    nvdp__autofree struct line *among = NULL;
    size_t found = 0;
    NVDP_TRY(sort_lines(export->ctx, public, &among));
    nvdp__export_rewind(export);
    for (bool more;;) {
        NVDP_TRY(nvdp__export_next(part, &more));
        if (!more) break;
        NVDP_TRY(count_public(export->ctx, &part->vectors, among, public->rows, &found));
    }
    return found == 0
               ? NVDP_OK
               : nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                            "option {center}: %s: expected public vectors, found %zu of the %zu "
                            "vectors to share among them; the shared file states the mean of the "
                            "center's vectors, which no noise protects",
                            export->options->center, found, part->count);
}

/* Fails unless the public vectors have this width and are not 0. */
static nvdp_status check_public(const struct nvdp__export *export,
                                const struct nvdp__caller_vectors *public) {
    const char *path = export->options->center;
    const size_t width = export->from.part[0].vectors.width;
    if (public->width != width)
        return nvdp__fail(export->ctx, NVDP_ERR_INPUT,
                          "option {center}: %s: expected vectors of %zu numbers, as in {vectors}, "
                          "found %zu",
                          path, width, public->width);
    for (size_t i = 0; i < public->count; i++) {
        bool zero = true;
        for (size_t k = 0; k < width; k++)
            zero &= public->x[i * width + k] == 0;
        if (zero)
            return nvdp__fail(export->ctx, NVDP_ERR_INPUT,
                              "option {center}: %s: row %zu: expected finite numbers that are not "
                              "all 0, found others",
                              path, i);
    }
    return NVDP_OK;
}

/* Gives a data set pointers to the strings of a column. The column remains their owner. */
static nvdp_status lend(struct nvdp_context *ctx, size_t count,
                        const struct nvdp__string_column *column, const char ***out) {
    if (column->text == NULL) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(ctx, *out, count));
    memcpy(*out, column->text, count * sizeof **out);
    return NVDP_OK;
}

/* Sets the labels of samples: numbers of the classes in the list of the options, or scores without a list; NaN for an empty label. */
static nvdp_status read_labels(const struct nvdp__export *export, const char *const *answer,
                               float *label) {
    const struct nvdp__export_options *options = export->options;
    nvdp__autofree const char **name = NULL;
    size_t classes = 0;
    NVDP_TRY(nvdp__list_split(export->ctx, options->summary.classes, &name, &classes));
    for (size_t i = 0; i < export->from.texts; i++) {
        char *end = NULL;
        size_t k = 0;
        label[i] = NAN;
        if (answer[i][0] == '\0') continue;
        while (k < classes && strcmp(name[k], answer[i]) != 0)
            k++;
        label[i] = classes > 0 ? (float)k : (float)nvdp__strtod(answer[i], &end);
        if (classes > 0 ? k == classes : *end != '\0' || !isfinite(label[i]))
            return nvdp__fail(
                export->ctx, NVDP_ERR_INPUT, "%s: array '%s', row %zu: expected %s, found '%.60s'",
                options->vectors, nvdp__export_answers(options), i,
                classes > 0 ? nvdp__with_options(export->ctx, "one of {classes}").text
                            : nvdp__with_options(export->ctx, "a number, or names of all "
                                                              "labels by {classes}")
                                  .text,
                answer[i]);
    }
    return NVDP_OK;
}

/* Makes the texts of the rows that are in memory. */
static nvdp_status make_part(struct nvdp_context *ctx, bool labeled,
                             struct nvdp__export_part *part) {
    const struct nvdp__caller_vectors *given = &part->vectors;
    NVDP_TRY(
        make_texts(ctx, given->rows, given->width, given->x, given->id.text, labeled, &part->data));
    NVDP_TRY(lend(ctx, given->rows, &given->person, &part->data->id));
    return lend(ctx, given->rows, &given->label, &nvdp__dataset_storage(part->data)->answer);
}

nvdp_status nvdp__export_next_vectors(struct nvdp__export_part *part, bool *more) {
    enum { NUMBERS = 1 << 18 }; /* numbers of a part */
    struct nvdp__caller_vectors *given = &part->vectors;
    part->first = part->data != NULL ? part->first + part->data->count : 0;
    const size_t n = nvdp__min(given->count - part->first, NUMBERS / given->width);
    nvdp_dataset_free(part->data);
    part->data = NULL;
    *more = n > 0;
    if (n > 0) {
        NVDP_TRY(nvdp__caller_vectors_rows(given, part->first, n));
        NVDP_TRY(make_part(part->ctx, false, part));
        nvdp__content_add(&part->content, part->data);
        return NVDP_OK;
    }
    return nvdp__content_end(&part->content)
               ? NVDP_OK
               : nvdp__fail(part->ctx, NVDP_ERR_INPUT,
                            "{vectors}: expected the same vectors whenever the file is read, found "
                            "others: the file changed meanwhile");
}

/* Opens the vectors to share, and their columns: a summary reads them in parts, samples need all of them. */
static nvdp_status read_rows(struct nvdp__export *export) {
    const struct nvdp__export_options *options = export->options;
    struct nvdp__export_part *part = &export->from.part[0];
    const struct nvdp__vector_names names = {.vectors = options->vectors_name,
                                             .id = options->ids,
                                             .label = nvdp__export_answers(options),
                                             .person = options->person};
    const bool parts = export->summary != NULL;
    part->ctx = export->ctx;
    NVDP_TRY((parts ? nvdp__caller_vectors_open : nvdp__caller_vectors_read)(
        export->ctx, options->vectors, &names, &part->vectors));
    if (!parts) NVDP_TRY(make_part(export->ctx, options->with_labels, part));
    NVDP_TRY(nvdp__export_scan(export, part));
    const struct nvdp__caller_vectors *given = &part->vectors;
    export->from.parts = 1;
    export->from.texts = part->count;
    if (options->with_labels) NVDP_TRY(read_labels(export, given->label.text, part->data->label));
    if (given->zeroed > 0)
        nvdp__log(export->ctx, NVDP_LOG_WARNING,
                  "%s: %zu of %zu rows have a number that is not finite, and count as 0 (this "
                  "number is for the owner alone)",
                  options->vectors, given->zeroed, given->count);
    return NVDP_OK;
}

nvdp_status nvdp__export_open_vectors(struct nvdp__export *export) {
    const struct nvdp__export_options *options = export->options;
    nvdp__auto(nvdp__caller_vectors_release) struct nvdp__caller_vectors public = {0};
    const struct nvdp__vector_names names = {.vectors = options->vectors_name};
    NVDP_TRY(read_rows(export));
    NVDP_TRY(nvdp__caller_vectors_read(export->ctx, options->center, &names, &public));
    NVDP_TRY(check_public(export, &public));
    if (!options->public_independent) NVDP_TRY(compare(export, &public));
    export->from.units = export->from.texts;
    if (export->summary != NULL && options->person != NULL)
        NVDP_TRY(nvdp__export_find_persons(export));
    if (export->summary != NULL)
        nvdp__summary_reduce(export, export->from.units, public.count, public.width);
    const struct nvdp__sentence_options of = nvdp__export_sentence(options);
    NVDP_TRY(nvdp__sentence_vectors(export->ctx, &of, public.count, public.width, public.x,
                                    &export->from.run, &export->from.query));
    export->from.query.independent = options->public_independent;
    export->from.query.given_ids = options->ids != NULL;
    return options->vectors_source == NULL
               ? NVDP_OK
               : nvdp__source_text(export->ctx, options->vectors_source, &export->from.query);
}

/* --- posteriors --- */

nvdp_status nvdp__export_infer_vectors(struct nvdp_model *model, struct nvdp__batch *batch,
                                       size_t n, const float *x) {
    nvdp__batch_clear(batch);
    for (size_t i = 0; i < n; i++) {
        nvdp__batch_put(batch, 0);
        nvdp__batch_end(batch, i);
    }
    batch->words = x;
    return nvdp__model_infer(model, batch);
}

nvdp_status nvdp__export_chosen_vectors(struct nvdp__export *export, const int64_t *chosen,
                                        size_t count, struct nvdp_posteriors **out) {
    struct nvdp_model *model = export->from.run.model;
    const struct nvdp__caller_vectors *from = &export->from.part[0].vectors;
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *made = NULL;
    nvdp__autoptr(nvdp__batch_free) struct nvdp__batch *batch = NULL;
    nvdp__autofree float *x = NULL;
    NVDP_TRY(NVDP__NEW(export->ctx, x, count * from->width));
    for (size_t i = 0; i < count; i++)
        memcpy(x + i * from->width, from->x + (size_t)chosen[i] * from->width,
               from->width * sizeof *x);
    NVDP_TRY(nvdp__batch_create(export->ctx, count, 1, &batch));
    NVDP_TRY(nvdp_posteriors_create(export->ctx, count, count, export->like.dim, false, &made));
    nvdp__model_describe(model, made);
    NVDP_TRY(nvdp__model_plan(model, count, 1, false));
    NVDP_TRY(nvdp__export_infer_vectors(model, batch, count, x));
    for (size_t i = 0; i <= count; i++)
        made->offset[i] = i;
    NVDP_TRY(nvdp__model_posterior(model, 0, made));
    return NVDP__HAND_OVER(out, made);
}
