/* The sample of each text: Gaussian vectors z and Dirichlet weights pi (Henderson & Fehr 2023;
 * NVDP, section 3.3, Eq. 6), and their gradients. Samples are drawn both in training and at test
 * time.
 *
 * The noise of a text comes from streams keyed by (seed, purpose, epoch, the text's index in the
 * data set). It depends neither on the other texts of the batch nor on the number of threads. */
#include "nvib/nvib.h"
#include "tensor/vector.h"

/* ---- vectors, reparameterized (Kingma & Welling 2014) ----
 *
 *     z_r = mu_i + exp(logvar_i/2) eps_r,   eps_r ~ N(0, I),  i the source of row r
 *     z_r = eps_r                           for rows of the prior and of padding
 *
 * Row r of a text takes its normals from block r ceil(dim/8) of the text's stream on. */

enum { CHUNK = 256, BLOCK_NORMALS = 8 };

/* Noise in full precision is added in double and rounded once, at the end (Mironov 2012). */
NVDP__CLONES static void gauss_shift_row(size_t n, const float *mu, const float *logvar,
                                         const double *eps, float *z) {
    for (size_t i = 0; i < n; i++) {
        double sd = nvdp__fast_exp(0.5f * logvar[i]);
        z[i] = (float)(mu[i] + sd * eps[i]);
    }
}

/* Computes one row of z; mu is NULL for a row of the prior or of padding. `given` is noise to use instead of the
 * stream, or NULL. */
static void gauss_row(struct nvdp__stream *stream, const float *given, size_t dim, const float *mu,
                      const float *logvar, float *z) {
    double eps[CHUNK];
    for (size_t first = 0; first < dim; first += CHUNK) {
        size_t n = nvdp__min(dim - first, CHUNK);
        if (given == NULL) nvdp__stream_normals_f64(stream, n, eps);
        for (size_t i = 0; i < n && given != NULL; i++) {
            eps[i] = given[first + i];
        }
        if (mu != NULL) gauss_shift_row(n, mu + first, logvar + first, eps, z + first);
        for (size_t i = 0; i < n && mu == NULL; i++) {
            z[first + i] = (float)eps[i];
        }
    }
}

/* Returns the index of the text to which a row belongs. */
static size_t row_text(size_t texts, const int32_t *offset, size_t row) {
    size_t low = 0;
    size_t high = texts;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *((size_t)offset[middle] <= row ? &low : &high) = middle;
    }
    return low;
}

void nvdp__gauss_sample(const struct nvdp__device *dev, const struct nvdp__draw *draw,
                        const struct nvdp__sample_rows *layout,
                        const struct nvdp__posterior *posterior, float *z) {
    size_t dim = posterior->dim;
    size_t blocks = nvdp__blocks(dim, BLOCK_NORMALS);   /* blocks of the stream per row */
    int team = nvdp__team(dev, 8 * layout->rows * dim); /* a normal takes about 8 operations */
#pragma omp parallel for num_threads(team)
    for (size_t r = 0; r < layout->rows; r++) {
        int32_t source = layout->src[r];
        const float *mu = source >= 0 ? posterior->mu + (size_t)source * dim : NULL;
        const float *logvar = source >= 0 ? posterior->logvar + (size_t)source * dim : NULL;
        const float *given = draw->eps != NULL ? draw->eps + r * dim : NULL;
        struct nvdp__stream stream = {0};
        if (given == NULL) {
            size_t b = row_text(layout->texts, layout->offset, r);
            stream = nvdp__stream_open(&draw->noise, draw->gauss, draw->epoch, layout->key[b]);
            nvdp__stream_seek(&stream, (uint32_t)((r - (size_t)layout->offset[b]) * blocks));
        }
        gauss_row(&stream, given, dim, mu, logvar, z + r * dim);
    }
}

/* Adds dz of one row to the gradients of the row's source:
 *     dmu     += dz
 *     dlogvar += dz exp(logvar/2) eps / 2 = dz (z - mu)/2 */
NVDP__CLONES static void gauss_backward_row(size_t n, const float *mu, const float *z,
                                            const float *dz, float *dmu, float *dlogvar) {
    for (size_t i = 0; i < n; i++) {
        dmu[i] += dz[i];
        dlogvar[i] += 0.5f * dz[i] * (z[i] - mu[i]);
    }
}

void nvdp__gauss_sample_backward(const struct nvdp__device *dev,
                                 const struct nvdp__sample_rows *layout,
                                 const struct nvdp__posterior *posterior, const float *z,
                                 const float *dz, const struct nvdp__posterior *d) {
    const int32_t *src = layout->src;
    size_t dim = posterior->dim;
    /* The kappa rows of a token are adjacent: the iteration of the first row processes all kappa rows, in order. */
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, layout->rows, dim))
    for (size_t first = 0; first < layout->rows; first++) {
        if (src[first] < 0 || (first > 0 && src[first - 1] == src[first])) continue;
        size_t t = (size_t)src[first] * dim;
        for (size_t r = first; r < layout->rows && src[r] == src[first]; r++) {
            gauss_backward_row(dim, posterior->mu + t, z + r * dim, dz + r * dim, d->mu + t,
                               d->logvar + t);
        }
    }
}

/* ---- weights ----
 *
 *     pi = g / sum g,   g_r ~ Gamma(a_r/kappa, 1),   so that pi ~ Dirichlet(a/kappa, kappa times each)
 *
 * The same distribution results if rho ~ Dirichlet(a) is drawn over components and the weight of each component is
 * divided by Dirichlet(a_i/kappa, ...). Small pseudo-counts would draw zeros, so log g is drawn and normalized by
 * log-sum-exp, which keeps log pi finite. Pseudo-counts below 1e-29 could draw values below the range of float; log
 * g therefore stops at -1e30. */

/* Returns log g of row r and sets *alpha to the row's pseudo-count a_r/kappa. Pseudo-counts of the prior and of
 * padding are rounded to float, as those of tokens are. */
static double draw_row(const struct nvdp__draw *draw, const struct nvdp__form *form,
                       const struct nvdp__sample_rows *layout, const float *log_alpha, size_t r,
                       struct nvdp__stream *stream, double *alpha) {
    int32_t source = layout->src[r];
    double log_a =
        source >= 0 ? log_alpha[source] : log((double)(float)nvdp__form_alpha(form, source));
    *alpha = exp(form->kappa == 1 ? log_a : log_a - log(form->kappa));
    double log_g =
        draw->log_gamma != NULL ? draw->log_gamma[r] : nvdp__gamma_log_draw(stream, *alpha);
    return log_g < -1e30 ? -1e30 : log_g;
}

void nvdp__dirichlet_sample(const struct nvdp__device *dev, const struct nvdp__draw *draw,
                            const struct nvdp__form *form, const struct nvdp__sample_rows *layout,
                            const float *log_alpha, float *log_pi, float *dlogg) {
    int team = nvdp__team(dev, 128 * layout->rows); /* a draw takes about 128 operations */
#pragma omp parallel for schedule(dynamic) num_threads(team)
    for (size_t b = 0; b < layout->texts; b++) {
        size_t first = (size_t)layout->offset[b], end = (size_t)layout->offset[b + 1];
        struct nvdp__stream start = {0}, stream;
        if (draw->log_gamma == NULL)
            start = nvdp__stream_open(&draw->noise, draw->gamma, draw->epoch, layout->key[b]);
        /* Two passes over the same stream, one for the sum and one for the weights, use every log g in double
         * without storing it. */
        double alpha, top = -INFINITY, sum = 0;
        stream = start;
        for (size_t r = first; r < end; r++) {
            double log_g = draw_row(draw, form, layout, log_alpha, r, &stream, &alpha);
            if (log_g > top) {
                sum = sum * exp(top - log_g) + 1;
                top = log_g;
            } else {
                sum += exp(log_g - top);
            }
        }
        double total = top + log(sum);
        stream = start;
        for (size_t r = first; r < end; r++) {
            double log_g = draw_row(draw, form, layout, log_alpha, r, &stream, &alpha);
            log_pi[r] = (float)(log_g - total);
            if (dlogg == NULL) continue;
            double y = layout->src[r] >= 0 ? nvdp__gamma_implicit_log_gradient(alpha, log_g) : 0;
            dlogg[r] = y > 1e30 ? 1e30f : (float)y;
        }
    }
}

/* Uses d log pi_i / d log g_j = delta_ij - pi_j, then d log g_j / d log a_j:
 *     dlog a_j += dlogg_j (dlog pi_j - pi_j sum_i dlog pi_i) */
void nvdp__dirichlet_sample_backward(const struct nvdp__device *dev,
                                     const struct nvdp__sample_rows *layout, const float *log_pi,
                                     const float *dlogg, const float *dlog_pi, float *dlog_alpha) {
#pragma omp parallel for num_threads(nvdp__team(dev, 8 * layout->rows))
    for (size_t b = 0; b < layout->texts; b++) {
        double total = 0;
        for (int32_t r = layout->offset[b]; r < layout->offset[b + 1]; r++) {
            total += dlog_pi[r];
        }
        for (int32_t r = layout->offset[b]; r < layout->offset[b + 1]; r++) {
            if (layout->src[r] < 0) continue;
            double dlog_g = dlog_pi[r] - exp((double)log_pi[r]) * total;
            dlog_alpha[layout->src[r]] += (float)(dlogg[r] * dlog_g);
        }
    }
}
