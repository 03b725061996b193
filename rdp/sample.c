/* Renyi divergence of what two texts share: the plain form.
 *
 * NVDP paper Eq. 7 (a sample is pi ~ Dirichlet over all weights, and independently one Gaussian
 * vector a weight): the divergences add up,
 *     D = D_dirichlet(a_i/kappa, each kappa times) + kappa sum_i D_gaussian(i).
 * As printed, Eq. 7 swaps the two variances in sigma': its Gaussian part is that of D(Q'||Q).  Here
 * P comes first throughout.
 *
 * The prior's component is the same Gaussian in both samples (its part is 0), but its
 * pseudo-count takes part in the Dirichlet.  The same holds for padding against padding. */
#include "rdp/sample.h"
#include "rdp/dirichlet.h"
#include "rdp/gaussian.h"
#include "rdp/order.h"
#include <nvdp/rdp.h>
#include <string.h>

enum { BLOCK = 64 };

static size_t rows_of(const struct nvdp_posteriors *set, size_t i) {
    return set->offset[i + 1] - set->offset[i];
}

static size_t longer(size_t a, size_t b) {
    return a > b ? a : b;
}

size_t nvdp_sample_components(const struct nvdp_posteriors *posteriors, size_t i) {
    size_t tokens =
        posteriors->policy == NVDP_LENGTH_HIDDEN ? posteriors->length : rows_of(posteriors, i);
    return tokens + (posteriors->alpha != NULL ? 1 : 0);
}

/* Copies up to BLOCK entries from `first` on of a component's mean and variance; row NULL: padding.
 */
static void take(const double *mu, const double *logvar, size_t first, size_t n, double *to_mu,
                 double *to_var) {
    for (size_t k = 0; k < n; k++) {
        to_mu[k] = mu != NULL ? mu[first + k] : 0;
        to_var[k] = logvar != NULL ? exp(logvar[first + k]) : 1;
    }
}

static double component_gaussian(double order, const struct nvdp_posteriors *set, size_t i,
                                 size_t j, size_t c) {
    const double *mu[2] = {NULL, NULL};
    const double *logvar[2] = {NULL, NULL};
    size_t text[2] = {i, j};
    for (int side = 0; side < 2; side++) {
        if (c >= rows_of(set, text[side])) continue;
        size_t row = set->offset[text[side]] + c;
        mu[side] = set->mu + row * set->dim;
        logvar[side] = set->logvar + row * set->dim;
    }
    double mu_p[BLOCK], var_p[BLOCK], mu_q[BLOCK], var_q[BLOCK];
    double sum = 0;
    for (size_t first = 0; first < set->dim; first += BLOCK) {
        size_t n = set->dim - first < BLOCK ? set->dim - first : BLOCK;
        take(mu[0], logvar[0], first, n, mu_p, var_p);
        take(mu[1], logvar[1], first, n, mu_q, var_q);
        sum += nvdp__gaussian(order, n, mu_p, var_p, mu_q, var_q);
    }
    return sum;
}

static double token_alpha(const struct nvdp_posteriors *set, size_t i, size_t c) {
    return c < rows_of(set, i) ? set->alpha[set->offset[i] + c] : set->pad_alpha;
}

/* Components 0 (prior), 1..longest (tokens, or padding in one of them), the rest padding in both.
 */
double nvdp__sample_weights(double order, const struct nvdp_posteriors *set, size_t i, size_t j) {
    size_t longest = longer(rows_of(set, i), rows_of(set, j));
    double padding = 0;
    if (set->policy == NVDP_LENGTH_HIDDEN) padding = (double)(set->length - longest);
    double total_p = set->prior_alpha;
    double total_q = set->prior_alpha;
    double delta = 0;
    for (size_t c = 0; c < longest; c++) {
        double p = token_alpha(set, i, c);
        double q = token_alpha(set, j, c);
        total_p += p;
        total_q += q;
        delta += p - q;
    }
    total_p += padding * set->pad_alpha;
    total_q += padding * set->pad_alpha;
    struct nvdp__dirichlet line = nvdp__dirichlet_begin(order, total_p, total_q, delta);
    nvdp__dirichlet_add(&line, set->prior_alpha, set->prior_alpha, set->kappa, 1);
    nvdp__dirichlet_add(&line, set->pad_alpha, set->pad_alpha, set->kappa, padding);
    for (size_t c = 0; c < longest; c++) {
        nvdp__dirichlet_add(&line, token_alpha(set, i, c), token_alpha(set, j, c), set->kappa, 1);
    }
    return nvdp__dirichlet_end(&line);
}

double nvdp_renyi_texts(double order, const struct nvdp_posteriors *posteriors, size_t i,
                        size_t j) {
    order = nvdp__order(order);
    if (isnan(order)) return NAN;
    size_t rows_i = rows_of(posteriors, i);
    size_t rows_j = rows_of(posteriors, j);
    if (posteriors->policy == NVDP_LENGTH_PUBLIC && rows_i != rows_j) return INFINITY;
    size_t longest = longer(rows_i, rows_j);
    double sum = 0;
    for (size_t c = 0; c < longest && sum < INFINITY; c++) {
        sum += component_gaussian(order, posteriors, i, j, c);
    }
    sum *= posteriors->kappa;
    if (posteriors->alpha != NULL && sum < INFINITY) {
        sum += nvdp__sample_weights(order, posteriors, i, j);
    }
    return sum;
}
