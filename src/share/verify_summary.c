/* Checks a summary (verify.h): that its noise is that of the stated epsilon, that the matrix is one, and its statement. */
#include "mechanism/mechanism.h"
#include "share/summarize.h"
#include "share/verify.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAIL = 8
}; /* standard deviations: an honest file fails with probability below 1e-14 for each entry */

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
    nvdp__release_stated(&v->release.attributes, &v->info, facts);
    of->scores = nvdp__verify_text_is(v, "answer_kind", "score");
    facts->counted = nvdp__verify_has(v, "ledger") && !nvdp__verify_text_is(v, "ledger", "none");
    v->found.counted = facts->counted;
    v->found.samples = 1;
    v->found.summary = true;
    const struct nvdp__summary stated = of->plan;
    return nvdp__summary_plan(NULL, stated.units, stated.dim, stated.answers, of->epsilon,
                              of->delta, &of->plan) == NVDP_OK;
}

static void check_noise(struct nvdp__verify *v) {
    const struct nvdp__summary *plan = &v->summary.plan;
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
               {"synthetic_scale", nvdp__synthetic_scale(&v->summary)}};
    const char *other = NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const double stated = nvdp__verify_real(v, all[i].name, NAN);
        if (!(fabs(stated - all[i].value) <= 1e-9 * fabs(all[i].value)) && other == NULL)
            other = all[i].name;
    }
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

/* Checks the shape, the symmetry, and what is known of the entries: each adds at most 1 per row, the constant exactly alpha^2, a
 * row has one class. Rounding a row toward zero loses at most 2^(1 - bits) of an entry. */
static void check_matrix(struct nvdp__verify *v) {
    const struct nvdp__summary *plan = &v->summary.plan;
    const struct nvdp__embeddings_shape *shape = &v->held->shape;
    const double n = (double)plan->units, step = v->held->z_step;
    const double rounding = n * ldexp(1, 1 - plan->bits) + step;
    const size_t width = plan->width, y = width - plan->answers;
    const bool shaped = shape->dim == width && shape->samples == 1 && shape->grid == NVDP__H5_I32 &&
                        shape->z_exponent == plan->grid.exponent && !shape->weights &&
                        shape->rows == width + v->summary.rows &&
                        shape->texts == v->summary.rows + 1 && v->held->offset[1] == (int64_t)width;
    nvdp__verify_check(v, nvdp__verdict(shaped),
                       "the file has the matrix and the synthetic rows that it states",
                       "%zu vectors of %zu numbers in steps of 2^%d, for %zu + %zu of %zu",
                       shape->rows, shape->dim, shape->z_exponent, width, v->summary.rows, width);
    if (!shaped) return;
    double skew = 0, beyond = 0, off = 0;
    for (size_t i = 0; i < width; i++)
        for (size_t j = i; j < width; j++) {
            const double value = entry(v, i, j), sigma = j > i ? plan->sigma_off : plan->sigma;
            skew = fmax(skew, fabs(value - entry(v, j, i)));
            beyond = fmax(beyond, (fabs(value) - n - rounding) / sigma);
            if (i >= y && j > i) off = fmax(off, (fabs(value) - rounding) / sigma);
        }
    if (plan->alpha > 0)
        off = (fabs(entry(v, 0, 0) - plan->alpha * plan->alpha * n) - rounding) / plan->sigma;
    nvdp__verify_check(v, nvdp__verdict(skew == 0 && beyond < TAIL && off < TAIL),
                       "the matrix is symmetric, and its known entries differ by noise alone",
                       skew > 0 ? "it is not symmetric (by %.4g)"
                                : "known entries are off by at most %.4g standard deviations",
                       skew > 0 ? skew : fmax(off, 0));
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
    check_noise(v);
    check_matrix(v);
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
