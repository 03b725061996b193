/* Functions of one number, in double, without global state or error handlers. */
#ifndef NVDP_SRC_TENSOR_SPECIAL_H
#define NVDP_SRC_TENSOR_SPECIAL_H

/* log |Gamma(x)|; lgamma without its global sign. */
double nvdp__log_gamma(double x);
/* psi(x) = d log Gamma(x) / dx and psi'(x), for x > 0.  NaN for x <= 0 and NaN. */
double nvdp__digamma(double x);
double nvdp__trigamma(double x);

/* What is left of them for large x, without cancellation (x > 0):
 *     log Gamma(x) - x psi(x) + x   and   psi'(x) - 1/x. */
double nvdp__log_gamma_excess(double x);
double nvdp__trigamma_excess(double x);

#endif
