/* Renyi divergence of two Laplace distributions in R^d, and the distribution of its loss.
 *
 * P has the density c exp(-eta |y - x|), Q the same around x'; s = eta |x - x'|.  In the prolate
 * spheroidal coordinates of the two centers,
 *
 *     xi  = (|y - x| + |y - x'|) / |x - x'|  >= 1,   nu = (|y - x| - |y - x'|) / |x - x'|  in [-1, 1],
 *     dy  ~ (xi^2 - nu^2) [(xi^2 - 1) (1 - nu^2)]^((d-3)/2) dxi dnu,
 *
 * P^l Q^(1-l) = c exp(-s/2 xi - (2l-1) s/2 nu).  With xi^2 - nu^2 = (xi^2 - 1) + (1 - nu^2) the integral is
 * a sum of two products of one-dimensional integrals, which are modified Bessel functions (DLMF 10.32.2,
 * 10.32.8).  With z = s/2, w = |2l-1| s/2, n = d/2 - 1 and the Wronskian (DLMF 10.28.2),
 *
 *     E e^((l-1) L)  =  z (z/w)^n [ K_{n+1}(z) I_n(w)  +  z/w K_n(z) I_{n+1}(w) ].
 *
 * For d = 1 this is Mironov 2017, Proposition 6.  It is evaluated without the values of Bessel functions:
 * with r_n = I_{n+1}/I_n and k = K_{n+1}/K_n,
 *
 *     E e^((l-1) L)  =  a e^G_n + (1-a) e^G_{n+1},     a = k(z) / (k(z) + r_n(z)),
 *     G_n            =  log w^-n I_n(w) - log z^-n I_n(z)  =  int_z^w r_n(x) dx          (DLMF 10.29.4),
 *
 * and l -> 1 gives E L = 2z [ a r_n(z) + (1-a) r_{n+1}(z) ].  Nothing cancels. */
#include "rdp/loss.h"

#include <gsl/gsl_sf_bessel.h>
#include <limits.h>
#include <stdlib.h>

/* r_n(x). For large q = sqrt(n^2 + x^2), the derivative of Debye's expansion of log x^-n I_n(x)
 * (DLMF 10.41.3), p = n/q:
 *
 *     r_n  =  x/(n+q) - x/(2 q^2) + x (5p^2 - 1)/(8 q^3) + x (12p^2 - 1 - 15p^4)/(8 q^4) + O(x q^-5),
 *
 * with a relative error below 1e-16. Otherwise its continued fraction (DLMF 10.33.1), started at
 * an order where the approximation of Amos 1974 is close. Its error shrinks by the product of
 * the r^2, about exp(-K^2/x). */
static double bessel_ratio(double n, double x) {
    const double far = 2e4, q = hypot(n, x), p = n / q * (n / q);
    if (q > far)
        return x / (n + q) +
               x / q / q * (-0.5 + (5 * p - 1) / (8 * q) + (12 * p - 1 - 15 * p * p) / (8 * q * q));
    const double steps = ceil(sqrt(40 * x)) + 20, top = n + steps;
    double r = x / (top + 0.5 + sqrt(x * x + (top + 1.5) * (top + 1.5)));
    for (double k = steps; k > 0; k--)
        r = 1 / (2 * (n + k) / x + r);
    return r;
}

/* The positive nodes of Gauss-Legendre with 20 points. */
static const double node[10] = {0.076526521133497338, 0.22778585114164507, 0.37370608871541955,
                                0.51086700195082713,  0.63605368072651502, 0.7463319064601508,
                                0.83911697182221878,  0.91223442825132595, 0.96397192727791381,
                                0.993128599185095};
static const double weight[10] = {0.15275338713072628,  0.14917298647260424, 0.1420961093183824,
                                  0.13168863844917689,  0.11819453196151861, 0.10193011981724071,
                                  0.083276741576704713, 0.06267204833410879, 0.040601429800386446,
                                  0.017614007139150893};

/* int_from^{from + width} r_n, accurate for any small width. The poles of r_n are at +-i j, with
 * j the zeros of J_n, above n + 2: panels of twice their distance have an error below 1e-17. */
static double integral(double n, double from, double width) {
    double sum = 0;
    for (double at = 0, end; at < width; at = end) {
        end = fmin(at + 2 * fmax(from + at, n + 1.5), width);
        const double half = (end - at) / 2, middle = from + (at + half);
        for (int k = 0; k < 10; k++)
            sum += half * weight[k] *
                   (bessel_ratio(n, middle - half * node[k]) +
                    bessel_ratio(n, middle + half * node[k]));
    }
    return sum;
}

double nvdp__laplace_k_ratio(size_t dim, double z) {
    double k = dim % 2 == 1 ? 1 : gsl_sf_bessel_K1_scaled(z) / gsl_sf_bessel_K0_scaled(z);
    for (double n = dim % 2 == 1 ? 0.5 : 1; n < (double)dim / 2 - 0.75; n++)
        k = 2 * n / z + 1 / k; /* DLMF 10.29.1 */
    return k;
}

double nvdp_renyi_laplace(double order, size_t dim, double distance) {
    order = nvdp__order(order);
    if (isnan(order) || dim < 1 || !(distance >= 0)) return NAN;
    if (isinf(order) || isinf(distance)) return distance;
    const double s = order - 1, z = distance / 2;
    if (fmax(order, 1) * distance < 1e-17) return order * distance * distance / (2 * (double)dim);
    const double n = (double)dim / 2 - 1, r = bessel_ratio(n, z);
    const double k = nvdp__laplace_k_ratio(dim, z), a = k / (k + r), b = r / (k + r);
    if (s == 0) return 2 * z * (a * r + b * bessel_ratio(n + 1, z));
    const double w = fabs(2 * order - 1) * z, sign = s < 0 ? -1 : 1;
    const double width = order < 0.5 ? 2 * order * z : 2 * fabs(s) * z; /* |w - z| */
    if (isinf(w)) return distance; /* at least 1e208: the difference is relatively negligible */
    const double g = sign * integral(n, fmin(w, z), width);
    const double h = sign * integral(n + 1, fmin(w, z), width);
    const double largest =
        fmax(g, h); /* differences g - h of 1e16 and more have no accurate digits */
    const double log_mean = fabs(g) < 0.5
                                ? log1p(a * expm1(g) + b * expm1(h))
                                : largest + log(a * exp(g - largest) + b * exp(h - largest));
    return fmin(fmax(log_mean / s, 0), distance);
}

/* ---- many distances ----
 *
 * D(s)/s is smooth, and its singularities lie on the imaginary axis or left of it. Chebyshev
 * interpolation at 20 points in [2^e, 2^(e+1)] has an error of (3 + sqrt 8)^-20 = 5e-16. */
enum { NODES = 20 };

static void interpolate(size_t dim, double order, int exponent, double *c) {
    double f[NODES];
    for (int i = 0; i < NODES; i++) {
        const double s = ldexp(1.5 + 0.5 * cos(M_PI * (i + 0.5) / NODES), exponent);
        f[i] = nvdp_renyi_laplace(order, dim, s) / s;
    }
    for (int k = 0; k < NODES; k++) {
        c[k] = 0;
        for (int i = 0; i < NODES; i++)
            c[k] += (k > 0 ? 2.0 : 1.0) / NODES * f[i] * cos(M_PI * k * (i + 0.5) / NODES);
    }
}

static double clenshaw(const double *c, double x) {
    double b1 = 0, b2 = 0;
    for (int k = NODES - 1; k > 0; k--) {
        const double b = c[k] + 2 * x * b1 - b2;
        b2 = b1;
        b1 = b;
    }
    return c[0] + x * b1 - b2;
}

nvdp_status nvdp__renyi_laplaces(struct nvdp_context *ctx, double order, size_t dim, size_t n,
                                 const double *distance, double *out) {
    const int threads = nvdp_context_threads(ctx);
    const bool largest = isinf(nvdp__order(order)) != 0;
    double *panel = NULL;
    int low = INT_MAX, high = INT_MIN;
    for (size_t i = 0; i < n && !largest; i++) {
        if (distance[i] == 0 || isinf(distance[i])) continue;
        const int exponent = ilogb(distance[i]);
        low = exponent < low ? exponent : low;
        high = exponent > high ? exponent : high;
    }
    const size_t panels = low > high ? 0 : (size_t)(high - low) + 1;
    NVDP_TRY(NVDP__NEW(ctx, panel, panels * NODES));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < panels; i++)
        interpolate(dim, order, low + (int)i, panel + i * NODES);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n; i++) {
        const double s = distance[i];
        out[i] = s;
        if (largest || s == 0 || isinf(s)) continue;
        const int exponent = ilogb(s);
        const double *c = panel + (size_t)(exponent - low) * NODES;
        out[i] = fmin(fmax(s * clenshaw(c, 2 * ldexp(s, -exponent) - 3), 0), s);
    }
    free(panel);
    return NVDP_OK;
}
