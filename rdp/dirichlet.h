/* Dirichlets in streaming form: totals first, then one component at a time, so that samples with
 * implied components (prior, padding, kappa) need no arrays. */
#ifndef NVDP_RDP_DIRICHLET_H
#define NVDP_RDP_DIRICHLET_H

struct nvdp__dirichlet {
    double order;
    double s;       /* order - 1 */
    double total_p; /* A_p */
    double total_q; /* A_q */
    double delta;   /* A_p - A_q, summed from the components */
    double k;       /* delta / A_p */
    double ratio_q; /* A_q / A_p = 1 - k */
    double ratio_c; /* A_c / A_p = 1 + s k; 0 for order infinity, where it is not used */
    double sum;
};

/* c = l p + (1-l) q, without cancellation where there need be none. Monotone in p and q. */
static inline double nvdp__far_point(double order, double p, double q) {
    double s = order - 1;
    return s < 0 ? order * p - s * q : p + s * (p - q);
}

/* Totals of the pseudo-counts, and the sum of their differences; an order from nvdp__order. */
struct nvdp__dirichlet nvdp__dirichlet_begin(double order, double total_p, double total_q,
                                             double delta);
/* Adds `count` components with pseudo-counts alpha_p, alpha_q, each split into kappa weights. */
void nvdp__dirichlet_add(struct nvdp__dirichlet *line, double alpha_p, double alpha_q, int kappa,
                         double count);
double nvdp__dirichlet_end(const struct nvdp__dirichlet *line);

#endif
