/* Checks a summary (verify.h): that the noise is the noise of the stated epsilon, that the matrix can be a noisy sum of
 * rows, and the statement. */
#include "base/own.h"
#include "mechanism/mechanism.h"
#include "share/summarize.h"
#include "share/verify.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAIL = 8
}; /* standard deviations: an honest file fails with probability below 1e-14 for each entry or sum */
static const double MOST_STEPS = 1 << 24; /* maximum of the numbers of a file, in steps */

/* Takes the stated facts. Returns false if they do not describe a summary. */
static bool take_facts(struct nvdp__verify *v) {
    struct nvdp__summary_facts *of = &v->summary;
    const struct nvdp_shared *held = v->held;
    struct nvdp__release_facts *facts = &v->facts;
    if (nvdp_method_find(NULL, held->method, &v->info.method) != NVDP_OK) return false;
    *facts = (struct nvdp__release_facts){.info = &v->info,
                                          .summary = of,
                                          .texts = held->shape.texts,
                                          .samples = 1,
                                          .query = held->query,
                                          .insecure_seed = facts->insecure_seed,
                                          .grids = &v->grids,
                                          .training_epsilon = NAN,
                                          .form = {.single = true}};
    v->info.task.name = v->task;
    const bool stated = nvdp__summary_stated(&v->release.attributes, &v->info, facts);
    if (!nvdp__verify_text_is(v, "training_texts", nvdp__training_names[NVDP__TRAINING_MAYBE]))
        facts->training = NVDP__TRAINING_SOME;
    facts->counted = nvdp__verify_has(v, "ledger") && !nvdp__verify_text_is(v, "ledger", "none");
    v->found.counted = facts->counted;
    v->found.samples = 1;
    v->found.summary = true;
    return stated;
}

static void check_foreign(struct nvdp__verify *v) {
    static const char what[] = "the file states nothing that only samples have";
    const struct nvdp__attributes *list = &v->release.attributes;
    /* The kind of the file determines the parts of a summary, not the numbers of samples that the file states. */
    struct nvdp__model_info info = {.method = v->info.method, .task = v->info.task};
    struct nvdp__release_facts facts = v->facts;
    const char *other = NULL;
    info.nvib.clip.word = INFINITY;
    facts.info = &info;
    facts.lambda_g = facts.lambda_d = NAN;
    facts.label_names = v->held->label_names;
    for (size_t i = 0; i < list->count && other == NULL; i++)
        if (nvdp__release_lacks(&facts, list->item[i].name)) other = list->item[i].name;
    if (other != NULL)
        nvdp__verify_check(v, NVDP_VERDICT_NO, what, "a summary has no attribute '%.*s'",
                           NVDP__VERIFY_NAME, other);
    else
        nvdp__verify_check(v, NVDP_VERDICT_YES, what, "%zu attributes", list->count);
}

/* Checks that the kind and number of answers, the names of classes and the range of scores are consistent. */
static nvdp_status check_answers(struct nvdp__verify *v) {
    const struct nvdp__summary_facts *of = &v->summary;
    const char *kind = nvdp__answer_name(of);
    const bool stated = nvdp__verify_text_is(v, "answer_kind", kind),
               classes = strcmp(kind, "class") == 0;
    nvdp__auto(nvdp__class_names_release) struct nvdp__class_names stated_names = {0};
    NVDP_TRY(nvdp__class_names_read(v->ctx, v->held->label_names, &stated_names));
    const size_t answers = of->plan.answers, names = stated_names.count;
    const double low = nvdp__verify_real(v, "answer_low", NAN),
                 high = nvdp__verify_real(v, "answer_high", NAN);
    const bool ranged =
        of->scores ? low < high
                   : !nvdp__verify_has(v, "answer_low") && !nvdp__verify_has(v, "answer_high");
    const bool named = classes ? names >= 2 : !nvdp__verify_has(v, "label_names");
    const bool counted = answers == (classes ? (names > 2 ? names : 1) : of->scores);
    return nvdp__verify_check(
        v, nvdp__verdict(stated && named && counted && ranged),
        "answers, their kind, the names of classes and the range fit each other",
        "%zu numbers of kind '%s', %zu names of classes%s%s", answers, kind, names,
        stated ? "" : "; 'answer_kind' differs", ranged ? "" : "; the range does not fit");
}

static void check_noise(struct nvdp__verify *v) {
    const struct nvdp__summary *plan = &v->summary.plan;
    const char *other = nvdp__summary_differs(&v->release.attributes, &v->summary);
    nvdp__verify_check(v, nvdp__verdict(other == NULL),
                       "noise and weights are those of the stated epsilon, rows and widths",
                       other == NULL ? "standard deviations %.6g and %.6g, mu %s"
                                     : "standard deviations %.6g and %.6g, mu %s; '%s' differs",
                       plan->sigma, plan->sigma_off, nvdp__bound(plan->mu).text, other);
}

/* Returns entry (i, j) of the matrix, in units of one row. */
static double entry(const struct nvdp__verify *v, size_t i, size_t j) {
    float value;
    nvdp__embeddings_values(v->held, i * v->held->shape.dim + j, 1, &value);
    return (double)value;
}

/* Checks the shape. Returns false if the matrix or synthetic rows are incomplete. */
static bool check_shape(struct nvdp__verify *v) {
    static const char what[] = "the file has the matrix and the synthetic rows that it states";
    const struct nvdp__summary *plan = &v->summary.plan;
    const struct nvdp__embeddings_shape *shape = &v->held->shape;
    const size_t width = plan->width;
    const int64_t items = nvdp__verify_whole(v, "items", 0);
    const bool shaped = nvdp__summary_is_shaped(v->held, &v->summary);
    if (shaped && items != (int64_t)v->summary.rows + 1)
        nvdp__verify_check(v, NVDP_VERDICT_NO, what,
                           "'items' is %lld, expected %zu: the matrix and the synthetic rows",
                           (long long)items, v->summary.rows + 1);
    else
        nvdp__verify_check(v, nvdp__verdict(shaped), what,
                           "%zu vectors of %zu numbers in steps of 2^%d, for %zu + %zu of %zu",
                           shape->rows, shape->dim, shape->z_exponent, width, v->summary.rows,
                           width);
    return shaped;
}

/* Returns by how many standard deviations of the noise the sum of diagonal entries [first, end) exceeds `most`.
 * Rounding toward zero only makes the sum smaller, so only the steps of the grid are added to the limit. */
static double excess(const struct nvdp__verify *v, size_t first, size_t end, double most) {
    const double count = (double)(end - first);
    double sum = 0;
    for (size_t i = first; i < end; i++)
        sum += entry(v, i, i);
    return end == first
               ? 0
               : (sum - most - count * v->held->z_step) / (sqrt(count) * v->summary.plan.sigma);
}

/* Returns by how many standard deviations of the noise the diagonal violates the limits of any n rows z = (alpha, beta
 * x, tau y) with norms of at most 1: entries are at least 0, and sums at most n, beta^2 n and tau^2 n. */
static double diagonal_fault(const struct nvdp__verify *v) {
    const struct nvdp__summary *plan = &v->summary.plan;
    const double n = (double)plan->units;
    const size_t width = plan->width, y = width - plan->answers;
    double most = excess(v, 0, width, n);
    most = fmax(most, excess(v, y - plan->dim, y, plan->beta * plan->beta * n));
    most = fmax(most, excess(v, y, width, plan->tau * plan->tau * n));
    for (size_t i = 0; i < width; i++)
        most = fmax(most, (-entry(v, i, i) - v->held->z_step) / plan->sigma);
    return most;
}

/* Checks the symmetry and the known limits of the entries: a unit adds at most 1 to an entry and exactly alpha^2 to the
 * constant, and a row has one class. Rounding a row toward zero loses at most 2^(1 - bits) of an entry. The rows of a
 * person together lose more, and their number is not public, so only an upper limit of the constant is known. */
static void check_matrix(struct nvdp__verify *v) {
    const struct nvdp__summary *plan = &v->summary.plan;
    const double n = (double)plan->units;
    const double rounding = n * ldexp(1, 1 - plan->bits) + v->held->z_step;
    const size_t width = plan->width, y = width - plan->answers;
    double skew = 0, beyond = diagonal_fault(v), off = 0;
    for (size_t i = 0; i < width; i++)
        for (size_t j = i; j < width; j++) {
            const double value = entry(v, i, j), sigma = j > i ? plan->sigma_off : plan->sigma;
            skew = fmax(skew, fabs(value - entry(v, j, i)));
            beyond = fmax(beyond, (fabs(value) - n - rounding) / sigma);
            if (i >= y && j > i) off = fmax(off, (fabs(value) - rounding) / sigma);
        }
    if (plan->alpha > 0) {
        const double more = entry(v, 0, 0) - plan->alpha * plan->alpha * n;
        off = ((v->summary.persons ? more : fabs(more)) - rounding) / plan->sigma;
    }
    nvdp__verify_check(v, nvdp__verdict(skew == 0 && beyond < TAIL && off < TAIL),
                       "the matrix is symmetric, and its known entries differ by noise alone",
                       skew > 0 ? "it is not symmetric (by %.4g)"
                                : "known entries are off by at most %.4g standard deviations",
                       skew > 0 ? skew : fmax(0, fmax(off, beyond)));
}

/* Returns whether y [answers], the answer of a synthetic row in units of tau, is a class or a score. `tolerance`
 * applies to each number. */
static bool is_answer(const struct nvdp__verify *v, const double *y, double tolerance) {
    const size_t answers = v->summary.plan.answers;
    size_t ones = 0, zeros = 0;
    if (v->summary.scores) return fabs(y[0]) <= 1 + tolerance;
    if (answers == 1) return fabs(fabs(y[0]) - 1) <= tolerance;
    for (size_t k = 0; k < answers; k++) {
        ones += fabs(y[k] - 1) <= tolerance;
        zeros += fabs(y[k]) <= tolerance;
    }
    return answers == 0 || (ones == 1 && zeros == answers - 1);
}

/* Returns what is wrong with a synthetic row, or NULL. The numbers of the row are z times `synthetic_scale`, rounded to
 * the nearest step. */
static const char *fault_of_row(const struct nvdp__verify *v, const float *row, double *answer) {
    const struct nvdp__summary *plan = &v->summary.plan;
    const double step = v->held->z_step, scale = nvdp__synthetic_scale(&v->summary);
    const size_t width = plan->width, y = width - plan->answers;
    for (size_t i = 0; i < width; i++)
        if (!(fabs((double)row[i]) < MOST_STEPS * step)) return "a number has 2^24 steps or more";
    if (plan->alpha > 0 && !(fabs((double)row[0] - scale * plan->alpha) <= step))
        return "the constant is not that of a row";
    for (size_t k = y; k < width; k++)
        answer[k - y] = (double)row[k] / (scale * plan->tau);
    if (!is_answer(v, answer, step / (scale * plan->tau)))
        return v->summary.scores ? "the score is out of range" : "the answer is not one class";
    return NULL;
}

static nvdp_status check_rows(struct nvdp__verify *v) {
    const size_t width = v->summary.plan.width, rows = v->summary.rows;
    const char *fault = NULL;
    size_t at = 0;
    nvdp__autofree float *row = NULL;
    nvdp__autofree double *answer = NULL;
    NVDP_TRY(NVDP__NEW(v->ctx, row, width));
    NVDP_TRY(NVDP__NEW(v->ctx, answer, width));
    for (size_t r = 0; r < rows && fault == NULL; r++) {
        nvdp__embeddings_values(v->held, (width + r) * width, width, row);
        fault = fault_of_row(v, row, answer);
        at = r;
    }
    return nvdp__verify_check(v, nvdp__verdict(fault == NULL),
                              "synthetic rows have a row's constant and answers",
                              fault != NULL ? "row %zu: %s" : "%zu rows%s",
                              fault != NULL ? at : rows, fault != NULL ? fault : "");
}

nvdp_status nvdp__verify_summary(struct nvdp__verify *v) {
    nvdp__verify_check(v, NVDP_VERDICT_YES,
                       "the datasets have the shapes, types and ranges of the format",
                       "%zu vectors of %zu numbers", v->held->shape.rows, v->held->shape.dim);
    nvdp__verify_attributes(v);
    nvdp__verify_generator(v);
    if (!take_facts(v)) {
        nvdp__snprintf(v->found.guarantee, sizeof v->found.guarantee,
                       "No guarantee: the file does not state how its matrix was drawn.");
        return nvdp__verify_check(v, NVDP_VERDICT_NO, "the summary is described",
                                  "rows, widths, epsilon or delta are missing or impossible");
    }
    v->grids.z = v->summary.plan.grid;
    check_foreign(v);
    NVDP_TRY(check_answers(v));
    check_noise(v);
    if (check_shape(v)) {
        check_matrix(v);
        NVDP_TRY(check_rows(v));
    }
    nvdp__verify_check(
        v, NVDP_VERDICT_OPEN, "the synthetic rows follow from the matrix",
        "they are stated to; only the sender can show it. Who trusts the matrix alone "
        "can compute others");
    nvdp__verify_check(v, NVDP_VERDICT_OPEN, "the sender's ledger counts the file's samples",
                       v->facts.counted ? "stated; only the owner of the ledger can check it (%s)"
                                        : "the file states that no ledger counts it",
                       nvdp__as_option(v->ctx, "ledger").text);
    nvdp__verify_training(v);
    NVDP_TRY(nvdp__release_certify(v->ctx, &v->facts));
    NVDP_TRY(nvdp__release_guarantee(v->ctx, &v->facts));
    v->found.useful = v->facts.useful;
    nvdp__snprintf(v->found.guarantee, sizeof v->found.guarantee, "%s", v->facts.guarantee);
    v->found.certified = v->facts.certified;
    if (v->facts.certified) {
        v->found.epsilon = v->facts.certificate.epsilon;
        v->found.delta = v->facts.certificate.delta;
        v->found.mu = v->facts.certificate.mu;
        v->found.radius = nvdp__summary_guess(&v->summary.plan, 0);
    }
    nvdp__verify_statement(v);
    return NVDP_OK;
}
