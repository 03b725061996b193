/* Makes a pair of exact.h from the numbers of two distributions, or from two texts. */
#include "base/own.h"
#include "rdp/exact.h"

#include <stdlib.h>

double nvdp_exact_strip(const struct nvdp_exact *e) {
    return e->unit * e->strip;
}

void nvdp_exact_free(struct nvdp_exact *e) {
    if (e == NULL) return;
    nvdp_exact_free(e->mirror);
    free(e->y);
    free(e->q0);
    free(e->s);
    free(e->large);
    free(e->p);
    free(e->q);
    free(e->a);
    free(e->v);
    free(e->d);
    free(e);
}

/* Converts everything from the loss L to h L. */
static void scale(struct nvdp_exact *e) {
    double largest = sqrt(e->quadratic), psi[3];
    for (size_t i = 0; i < e->n; i++)
        largest = fmax(largest, fmax(fabs(e->y[i]), sqrt(e->q0[i])));
    for (size_t i = 0; i < e->weights; i++) {
        nvdp__digammas(e->a[i], psi);
        largest = fmax(largest, fabs(e->v[i]) / e->a[i] * sqrt(e->a[i] + psi[1]));
    }
    if (!(largest > 0 && isfinite(largest))) return;
    /* limits: c is squared, and ranges from the inverse of the widest dimension's y to 1/h */
    const double h = e->unit = ldexp(1, -(int)fmin(fmax(ilogb(largest), -400), 500));
    for (size_t i = 0; i < e->n; i++) {
        e->y[i] *= h;
        e->q0[i] *= h * h;
    }
    for (size_t i = 0; i < e->wide; i++)
        e->s[i] *= h;
    for (size_t i = 0; i < e->weights; i++) {
        e->v[i] *= h;
        e->d[i] *= h;
    }
    e->all_v *= h;
    e->mean *= h;
    e->beta.value *= h;
    e->beta.size *= h;
    e->first *= h;
    e->quadratic *= h * h;
    e->strip /= h;
}

static nvdp_status check_numbers(struct nvdp_context *ctx, const char *name, size_t n,
                                 const double *value, bool positive) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(value[i]) || (positive && !(value[i] > 0)))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "exact loss: %s, entry %zu: expected a finite number%s, found %g",
                              name, i, positive ? " above 0" : "", value[i]);
    return NVDP_OK;
}

static void take_gaussians(struct nvdp_exact *e, size_t n, const double *mu_p, const double *var_p,
                           const double *mu_q, const double *var_q) {
    double sum = 0;
    for (int narrow = 0; narrow < 2; narrow++)
        for (size_t i = 0; i < n; i++) {
            const double ratio = var_p[i] / var_q[i], y = (var_p[i] - var_q[i]) / var_q[i];
            const double square = (mu_p[i] - mu_q[i]) * (mu_p[i] - mu_q[i]) / var_q[i];
            if ((y > 1) == (narrow == 1)) continue;
            if (y == 0) {
                e->quadratic += square;
                continue;
            }
            if (narrow == 0) e->s[e->wide++] = square;
            e->y[e->n] = y;
            e->q0[e->n++] = square * ratio;
            sum -= narrow == 0 ? log(ratio) : nvdp__log1pmx(y, ratio) - square;
            if (y > 0) e->strip = fmin(e->strip, 1 / y);
        }
    e->quadratic *= e->times;
    e->first = e->times * sum / 2 + e->quadratic / 2;
}

static void swap_weights(struct nvdp_exact *e, size_t i, size_t j) {
    double *const list[] = {e->a, e->v, e->d};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        const double kept = list[k][i];
        list[k][i] = list[k][j];
        list[k][j] = kept;
    }
}

static void take_weights(struct nvdp_exact *e, size_t n, const double *p, const double *q) {
    e->all = n;
    for (size_t i = 0; i < n; i++) {
        e->p[i] = p[i];
        e->q[i] = q[i];
        e->all_a += p[i];
        e->all_v += p[i] - q[i];
    }
    for (size_t i = 0; i < n; i++) {
        const size_t at = e->weights;
        if (p[i] == q[i]) {
            e->same += p[i];
            continue;
        }
        e->a[at] = p[i];
        e->v[at] = p[i] - q[i];
        e->d[at] = e->v[at] * e->all_a - e->all_v * p[i];
        nvdp__sized_add(&e->beta, nvdp__log_gamma(q[i]));
        nvdp__sized_add(&e->beta, -nvdp__log_gamma(p[i]));
        if (q[i] > p[i]) e->strip = fmin(e->strip, p[i] / (q[i] - p[i]));
        e->weights++;
        if (p[i] > e->a[0]) swap_weights(e, 0, at);
    }
    if (n < 2) e->weights = 0; /* the only weight is 1 */
    if (e->weights == 0) return;
    e->mean = nvdp_renyi_dirichlet(1, n, p, q);
    nvdp__sized_add(&e->beta, -nvdp__log_gamma(e->all_a - e->all_v));
    nvdp__sized_add(&e->beta, nvdp__log_gamma(e->all_a));
}

struct side {
    const double *mu, *var, *alpha;
};

static nvdp_status make(struct nvdp_context *ctx, size_t n, size_t m, const struct side *p,
                        const struct side *q, int times, int releases, struct nvdp_exact **out) {
    nvdp__autoptr(nvdp_exact_free) struct nvdp_exact *made = NULL;
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    made->strip = INFINITY;
    made->unit = 1;
    made->releases = releases;
    made->times = (double)times * releases;
    NVDP_TRY(NVDP__NEW(ctx, made->y, n));
    NVDP_TRY(NVDP__NEW(ctx, made->q0, n));
    NVDP_TRY(NVDP__NEW(ctx, made->s, n));
    NVDP_TRY(NVDP__NEW(ctx, made->large, 2 * n));
    NVDP_TRY(NVDP__NEW(ctx, made->p, m));
    NVDP_TRY(NVDP__NEW(ctx, made->q, m));
    NVDP_TRY(NVDP__NEW(ctx, made->a, m));
    NVDP_TRY(NVDP__NEW(ctx, made->v, m));
    NVDP_TRY(NVDP__NEW(ctx, made->d, m));
    take_gaussians(made, n, p->mu, p->var, q->mu, q->var);
    take_weights(made, m, p->alpha, q->alpha);
    scale(made);
    made->zero = nvdp__exact_derive(made, 0);
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

/* True if 1 - c y or a + c v cancels at c = -1. */
static bool is_narrow(size_t n, const double *p, const double *q, bool narrower) {
    for (size_t i = 0; i < n; i++)
        if (narrower ? p[i] < 1e-4 * q[i] : q[i] < 1e-4 * p[i]) return true;
    return false;
}

nvdp_status nvdp_exact_create(struct nvdp_context *ctx, size_t n, const double *mu_p,
                              const double *var_p, const double *mu_q, const double *var_q,
                              int times, size_t m, const double *alpha_p, const double *alpha_q,
                              int releases, struct nvdp_exact **out) {
    nvdp__autoptr(nvdp_exact_free) struct nvdp_exact *made = NULL;
    const struct side p = {mu_p, var_p, alpha_p}, q = {mu_q, var_q, alpha_q};
    if (times < 1 || releases < 1)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "exact loss: expected times and releases of at least 1, found %d times and %d releases",
            times, releases);
    NVDP_TRY(check_numbers(ctx, "mu of P", n, mu_p, false));
    NVDP_TRY(check_numbers(ctx, "mu of Q", n, mu_q, false));
    NVDP_TRY(check_numbers(ctx, "variance of P", n, var_p, true));
    NVDP_TRY(check_numbers(ctx, "variance of Q", n, var_q, true));
    NVDP_TRY(check_numbers(ctx, "pseudo-count of P", m, alpha_p, true));
    NVDP_TRY(check_numbers(ctx, "pseudo-count of Q", m, alpha_q, true));
    NVDP_TRY(make(ctx, n, m, &p, &q, times, releases, &made));
    if (is_narrow(n, var_p, var_q, true) || is_narrow(m, alpha_p, alpha_q, false))
        NVDP_TRY(make(ctx, n, m, &q, &p, times, releases, &made->mirror));
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

nvdp_status nvdp_exact_texts(struct nvdp_context *ctx, const struct nvdp_posteriors *set, size_t i,
                             size_t j, int releases, struct nvdp_exact **out) {
    nvdp_status status = NVDP_OK;
    if (i >= set->texts || j >= set->texts)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "exact loss: expected text numbers below %zu, found %zu and %zu",
                          set->texts, i, j);
    const size_t text[] = {i, j}, kappa = (size_t)set->kappa, dim = set->dim;
    const size_t rows = nvdp__max(nvdp__rows(set, i), nvdp__rows(set, j));
    const size_t components = set->alpha != NULL ? nvdp_sample_components(set, i) : 0;
    double *mu[2] = {NULL, NULL}, *var[2] = {NULL, NULL}, *alpha[2] = {NULL, NULL};
    const bool disjoint =
        set->policy == NVDP_LENGTH_PUBLIC && nvdp__rows(set, i) != nvdp__rows(set, j);
    for (int side = 0; side < 2; side++) {
        const size_t own = nvdp__rows(set, text[side]), first = set->offset[text[side]];
        NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, mu[side], rows * dim));
        NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, var[side], rows * dim));
        NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, alpha[side], components * kappa));
        for (size_t k = 0; k < rows * dim; k++) {
            mu[side][k] = k < own * dim ? set->mu[first * dim + k] : 0;
            var[side][k] = k < own * dim ? exp(set->logvar[first * dim + k]) : 1;
        }
        for (size_t k = 0; k < components * kappa; k++)
            alpha[side][k] =
                (k < kappa ? set->prior_alpha : nvdp__token_alpha(set, text[side], k / kappa - 1)) /
                set->kappa;
    }
    NVDP_TRY_OR_CLEAN(nvdp_exact_create(ctx, disjoint ? 0 : rows * dim, mu[0], var[0], mu[1],
                                        var[1], set->kappa, disjoint ? 0 : components * kappa,
                                        alpha[0], alpha[1], releases, out));
    (*out)->disjoint = disjoint;
cleanup:
    for (int side = 0; side < 2; side++) {
        free(mu[side]);
        free(var[side]);
        free(alpha[side]);
    }
    return status;
}
