/* Reads summaries for receivers (summarize.h, include/nvdp/summary.h): the facts of a file, its matrix and synthetic
 * rows, moments, and the linear reader that follows from them. */
#include "base/array.h"
#include "base/json.h"
#include "base/own.h"
#include "share/release.h"
#include "share/summarize.h"
#include <float.h>
#include <math.h>
#include <nvdp/summary.h>
#include <stdlib.h>
#include <string.h>

struct nvdp_collection {
    struct nvdp_context *ctx;
    struct nvdp_shared *held;
    struct nvdp__summary_facts facts;
    struct nvdp__class_names classes;
    char *statement;
    struct nvdp__moments moments;
    struct nvdp__memory memory; /* of the moments */
};

/* --- facts, for readers and for nvdp verify --- */

bool nvdp__summary_stated(const struct nvdp__attributes *list, struct nvdp__model_info *info,
                          struct nvdp__release_facts *facts) {
    struct nvdp__summary_facts *of = facts->summary;
    nvdp__release_stated(list, info, facts);
    of->scores = strcmp(nvdp__attributes_text(list, "answer_kind"), "score") == 0;
    of->persons = strcmp(nvdp__attributes_text(list, "unit"), "person") == 0;
    of->pairs = nvdp__attributes_get(list, "pair_features") != NULL;
    of->joint = strcmp(nvdp__attributes_text(list, "pair_features"), NVDP__PAIR_JOINT) == 0;
    const struct nvdp__summary stated = of->plan;
    if (of->pairs && !of->joint && stated.dim % 2 != 0) return false;
    return nvdp__summary_plan(NULL, stated.units, stated.dim, stated.answers, of->epsilon,
                              of->delta, &of->plan) == NVDP_OK;
}

const char *nvdp__summary_differs(const struct nvdp__attributes *list,
                                  const struct nvdp__summary_facts *facts) {
    const struct nvdp__summary *plan = &facts->plan;
    const struct {
        const char *name;
        double value;
    } all[] = {{"summary_mu", plan->mu},
               {"noise_diagonal", plan->sigma},
               {"noise_off_diagonal", plan->sigma_off},
               {"weight_constant", plan->alpha},
               {"weight_vector", plan->beta},
               {"weight_answer", plan->tau},
               {"bits", plan->bits},
               {"synthetic_scale", nvdp__synthetic_scale(facts)}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct nvdp__attribute *found = nvdp__attributes_get(list, all[i].name);
        if (found == NULL || !(fabs(found->real - all[i].value) <= 1e-9 * fabs(all[i].value)))
            return all[i].name;
    }
    return NULL;
}

bool nvdp__summary_is_shaped(const struct nvdp_shared *held,
                             const struct nvdp__summary_facts *facts) {
    const struct nvdp__embeddings_shape *shape = &held->shape;
    const size_t width = facts->plan.width;
    return shape->dim == width && shape->samples == 1 && shape->grid == NVDP__H5_I32 &&
           shape->z_exponent == facts->plan.grid.exponent && !shape->weights &&
           shape->rows == width + facts->rows && shape->texts == facts->rows + 1 &&
           held->offset[1] == (int64_t)width;
}

/* --- a file --- */

nvdp_status nvdp__class_names_read(struct nvdp_context *ctx, const char *text,
                                   struct nvdp__class_names *out) {
    if (text == NULL) return NVDP_OK;
    out->json = json_loads(text, 0, NULL);
    out->count = json_array_size(out->json);
    NVDP_TRY(NVDP__NEW(ctx, out->name, out->count));
    for (size_t i = 0; i < out->count; i++)
        out->name[i] = json_string_value(json_array_get(out->json, i));
    return NVDP_OK;
}

void nvdp__class_names_release(struct nvdp__class_names *of) {
    json_decref(of->json);
    free(of->name);
}

/* Takes the names of the classes. Checks that the names, or the range of scores, fit the numbers of an answer. */
static nvdp_status take_answers(const struct nvdp__release *release, struct nvdp_collection *to) {
    const struct nvdp__summary_facts *facts = &to->facts;
    const size_t answers = facts->plan.answers;
    if (facts->scores && answers == 1 && facts->low < facts->high) return NVDP_OK;
    NVDP_TRY(nvdp__class_names_read(to->ctx, to->held->label_names, &to->classes));
    const size_t classes = to->classes.count;
    bool named = !facts->scores && classes != 1;
    for (size_t i = 0; i < classes; i++)
        named = named && to->classes.name[i] != NULL;
    if (named && answers == (classes > 2 ? classes : classes == 2)) return NVDP_OK;
    return NVDP__BAD_FILE(release,
                          "attribute 'answers': expected %s, found %zu numbers for %zu names of "
                          "classes",
                          facts->scores ? "1 for scores, and 'answer_low' below 'answer_high'"
                                        : "1 for two classes, else one per class",
                          answers, classes);
}

nvdp_status nvdp__summary_take(struct nvdp__release *release, struct nvdp_collection **out) {
    nvdp__autoptr(nvdp_collection_free) struct nvdp_collection *made = NULL;
    NVDP_TRY(NVDP__NEW(release->ctx, made, 1));
    made->ctx = release->ctx;
    struct nvdp__model_info info = {0};
    struct nvdp__release_facts facts = {.info = &info, .summary = &made->facts};
    if (!release->shape.summary)
        return NVDP__BAD_FILE(release, "expected a summary of a collection, found %s",
                              "samples of texts");
    NVDP_TRY(nvdp__embeddings_take(release, NULL, NULL, &made->held));
    if (!nvdp__summary_stated(&release->attributes, &info, &facts))
        return NVDP__BAD_FILE(release, "expected the %s of a summary, found impossible ones",
                              "rows, widths, epsilon and delta");
    const struct nvdp__summary *plan = &made->facts.plan;
    if (!nvdp__summary_is_shaped(made->held, &made->facts))
        return NVDP__BAD_FILE(release,
                              "attribute 'vector_width': expected %zu rows of width %zu, which %zu "
                              "numbers, %zu of the answer and %zu synthetic rows have, found %zu "
                              "of width %zu",
                              plan->width + made->facts.rows, plan->width, plan->dim, plan->answers,
                              made->facts.rows, made->held->shape.rows, made->held->shape.dim);
    const char *other = nvdp__summary_differs(&release->attributes, &made->facts);
    if (other != NULL)
        return NVDP__BAD_FILE(release,
                              "attribute '%s': expected the value that follows from the stated "
                              "epsilon, rows and widths, found another one",
                              other);
    NVDP_TRY(take_answers(release, made));
    made->statement =
        nvdp__strdup(release->ctx, nvdp__attributes_text(&release->attributes, "statement"));
    NVDP_TRY(NVDP__MADE(made->statement));
    return NVDP__HAND_OVER(out, made);
}

nvdp_status nvdp_collection_read(struct nvdp_context *ctx, const char *path,
                                 struct nvdp_collection **out) {
    nvdp__auto(nvdp__release_close) struct nvdp__release release = {0};
    NVDP_TRY(nvdp__release_read(ctx, nvdp__formats, path, &release));
    return nvdp__summary_take(&release, out);
}

void nvdp_collection_free(struct nvdp_collection *summary) {
    if (summary == NULL) return;
    nvdp_shared_free(summary->held);
    nvdp__class_names_release(&summary->classes);
    nvdp__memory_release(&summary->memory);
    free(summary->statement);
    free(summary);
}

nvdp_status nvdp_collection_describe(struct nvdp_context *ctx,
                                     const struct nvdp_collection *summary,
                                     struct nvdp_collection_info *out) {
    const struct nvdp__summary_facts *facts = &summary->facts;
    const struct nvdp__summary *plan = &facts->plan;
    const struct nvdp_collection_info info = {.units = plan->units,
                                              .dim = plan->dim,
                                              .answers = plan->answers,
                                              .width = plan->width,
                                              .rows = facts->rows,
                                              .scores = facts->scores,
                                              .low = facts->scores ? facts->low : NAN,
                                              .high = facts->scores ? facts->high : NAN,
                                              .epsilon = facts->epsilon,
                                              .delta = facts->delta,
                                              .weight_constant = plan->alpha,
                                              .weight_vector = plan->beta,
                                              .weight_answer = plan->tau,
                                              .noise_diagonal = plan->sigma,
                                              .noise_off_diagonal = plan->sigma_off,
                                              .label_names = summary->held->label_names,
                                              .statement = summary->statement};
    NVDP_TRY(nvdp__can_give(ctx, out));
    return NVDP__GIVE(out, &info);
}

nvdp_status nvdp_collection_matrix(struct nvdp_context *ctx, const struct nvdp_collection *summary,
                                   double *matrix) {
    const size_t width = summary->facts.plan.width;
    const int32_t *steps = summary->held->z;
    (void)ctx;
    for (size_t k = 0; k < width * width; k++)
        matrix[k] = summary->held->z_step * steps[k];
    return NVDP_OK;
}

nvdp_status nvdp_collection_rows(struct nvdp_context *ctx, const struct nvdp_collection *summary,
                                 size_t first, size_t rows, float *x, float *y) {
    const struct nvdp__summary_facts *facts = &summary->facts;
    const struct nvdp__summary *plan = &facts->plan;
    const size_t width = plan->width, d = plan->dim, constant = plan->alpha > 0;
    const double unit = summary->held->z_step / nvdp__synthetic_scale(facts);
    if (first > facts->rows || rows > facts->rows - first)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "rows %zu to %zu: expected rows below %zu", first,
                          first + rows, facts->rows);
    for (size_t r = 0; r < rows; r++) {
        const int32_t *z = (const int32_t *)summary->held->z + (width + first + r) * width;
        const int32_t *answer = z + constant + d;
        size_t class = plan->answers == 1 && answer[0] > 0;
        for (size_t i = 0; i < d; i++)
            x[r * d + i] = (float)(unit / plan->beta * z[constant + i]);
        for (size_t k = 1; k < plan->answers; k++)
            if (answer[k] > answer[class]) class = k;
        y[r] = plan->answers == 0 ? NAN
               : facts->scores    ? (float)(facts->low + (facts->high - facts->low) / 2 *
                                                          (1 + unit / plan->tau * answer[0]))
                                  : (float)class;
    }
    return NVDP_OK;
}

/* --- what follows from the matrix --- */

/* Computes the moments once. */
static nvdp_status find_moments(struct nvdp_collection *of) {
    const struct nvdp__summary *plan = &of->facts.plan;
    const size_t width = plan->width;
    nvdp__autofree int32_t *matrix = NULL;
    if (of->moments.dim > 0) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(of->ctx, matrix, nvdp__summary_entries(plan)));
    for (size_t i = 0, at = 0; i < width; at += width - i, i++)
        memcpy(matrix + at, (const int32_t *)of->held->z + i * width + i,
               (width - i) * sizeof *matrix);
    return nvdp__summary_moments(of->ctx, plan, of->facts.scores, matrix, &of->memory,
                                 &of->moments);
}

nvdp_status nvdp_collection_moments(struct nvdp_context *ctx, struct nvdp_collection *summary,
                                    struct nvdp_collection_moments *out) {
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(find_moments(summary));
    const struct nvdp__moments *of = &summary->moments;
    const struct nvdp_collection_moments made = {.classes = of->classes,
                                                 .mean = of->mean,
                                                 .answer = of->answer,
                                                 .covariance = of->covariance,
                                                 .cross = of->cross,
                                                 .share = of->share,
                                                 .class_mean = of->class_mean,
                                                 .noise = of->noise};
    return NVDP__GIVE(out, &made);
}

const char *nvdp__summary_says(const struct nvdp_collection *of) {
    return of->statement;
}

size_t nvdp__summary_units(const struct nvdp_collection *of) {
    return of->facts.plan.units;
}

nvdp_status nvdp__summary_fit(struct nvdp_collection *of, const char *path,
                              struct nvdp__linear_reader *out) {
    const size_t answers = of->facts.plan.answers, d = of->facts.plan.dim;
    nvdp__auto(nvdp__linear_release) struct nvdp__linear_reader made = {
        .ctx = of->ctx, .pairs = of->facts.pairs, .joint = of->facts.joint};
    nvdp__autofree double *weight = NULL, *bias = NULL;
    if (answers == 0)
        return nvdp__fail(of->ctx, NVDP_ERR_INPUT,
                          "%s: expected a summary with answers, which a reader needs, found one "
                          "without classes or a range of scores",
                          path);
    if (of->held->query == NULL)
        return nvdp__fail(of->ctx, NVDP_ERR_INPUT,
                          "%s: attribute 'encoder' is missing: a reader could not be applied",
                          path);
    NVDP_TRY(find_moments(of));
    NVDP_TRY(NVDP__ARRAYS(of->ctx, NULL, NVDP__ITEMS(weight, answers * d),
                          NVDP__ITEMS(bias, answers), NVDP__ITEMS(made.weight, answers * d),
                          NVDP__ITEMS(made.bias, answers)));
    NVDP_TRY(nvdp__summary_ridge(of->ctx, &of->moments, sqrt((double)d) * of->moments.noise, weight,
                                 bias));
    for (size_t k = 0; k < answers * d; k++)
        made.weight[k] = (float)weight[k];
    for (size_t k = 0; k < answers; k++)
        made.bias[k] = (float)bias[k];
    NVDP_TRY(nvdp__linear_set_task(&made, of->classes.count, of->classes.name, of->facts.low,
                                   of->facts.high));
    NVDP__HAND_OVER(&made.query, *of->held->query);
    nvdp__query_map_free(of->held->query);
    of->held->query = NULL;
    return NVDP__HAND_OVER(out, made);
}
