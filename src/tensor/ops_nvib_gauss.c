/* The Gaussian half of a sample: z = mu + exp(logvar/2) eps, reparameterised (Kingma & Welling
 * 2014). */
#include "tensor/ops_nvib.h"
#include "tensor/vector.h"

enum { CHUNK = 256, BLOCK_NORMALS = 8 };

/* Noise of full double precision is added in double; one rounding, at the end (Mironov 2012). */
NVDP__CLONES static void gauss_shift_row(size_t n, const float *mu, const float *logvar,
                                         const double *eps, float *z) {
    for (size_t i = 0; i < n; i++) {
        double sd = nvdp__fast_exp(0.5f * logvar[i]);
        z[i] = (float)(mu[i] + sd * eps[i]);
    }
}

static void finish(size_t n, const float *mu, const float *logvar, const double *eps, float *z) {
    if (mu != NULL) {
        gauss_shift_row(n, mu, logvar, eps, z);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        z[i] = (float)eps[i];
    }
}

static void drawn_row(struct nvdp__stream *stream, size_t dim, const float *mu, const float *logvar,
                      float *z) {
    double eps[CHUNK];
    for (size_t first = 0; first < dim; first += CHUNK) {
        size_t n = dim - first < CHUNK ? dim - first : CHUNK;
        nvdp__stream_normals_f64(stream, n, eps);
        finish(n, mu != NULL ? mu + first : NULL, mu != NULL ? logvar + first : NULL, eps,
               z + first);
    }
}

static void given_row(size_t dim, const float *mu, const float *logvar, const float *given,
                      float *z) {
    double eps[CHUNK];
    for (size_t first = 0; first < dim; first += CHUNK) {
        size_t n = dim - first < CHUNK ? dim - first : CHUNK;
        for (size_t i = 0; i < n; i++) {
            eps[i] = given[first + i];
        }
        finish(n, mu != NULL ? mu + first : NULL, mu != NULL ? logvar + first : NULL, eps,
               z + first);
    }
}

/* The text that a row lies in. */
static size_t text_of(size_t texts, const int32_t *offset, size_t row) {
    size_t low = 0;
    size_t high = texts;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if ((size_t)offset[middle] <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

void nvdp__gauss_sample(const struct nvdp__device *dev, const struct nvdp__noise *noise,
                        enum nvdp__purpose purpose, uint32_t epoch, size_t texts,
                        const int32_t *offset, const uint64_t *key, size_t dim, const int32_t *src,
                        const float *mu, const float *logvar, const float *eps, float *z) {
    size_t rows = (size_t)offset[texts];
    size_t blocks = nvdp__blocks(dim, BLOCK_NORMALS); /* of the stream, a row */
    int team = nvdp__team(dev, 8 * rows * dim);       /* a normal is some 8 operations */
#pragma omp parallel for num_threads(team)
    for (size_t r = 0; r < rows; r++) {
        const float *m = src[r] >= 0 ? mu + (size_t)src[r] * dim : NULL;
        const float *v = src[r] >= 0 ? logvar + (size_t)src[r] * dim : NULL;
        if (eps != NULL) {
            given_row(dim, m, v, eps + r * dim, z + r * dim);
            continue;
        }
        size_t b = text_of(texts, offset, r);
        struct nvdp__stream stream = nvdp__stream_open(noise, purpose, epoch, key[b]);
        nvdp__stream_seek(&stream, (uint32_t)((r - (size_t)offset[b]) * blocks));
        drawn_row(&stream, dim, m, v, z + r * dim);
    }
}

NVDP__CLONES static void gauss_backward_row(size_t n, const float *mu, const float *z,
                                            const float *dz, float *dmu, float *dlogvar) {
    for (size_t i = 0; i < n; i++) {
        dmu[i] += dz[i];
        dlogvar[i] += 0.5f * dz[i] * (z[i] - mu[i]);
    }
}

void nvdp__gauss_sample_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                                 const int32_t *src, const float *mu, const float *z,
                                 const float *dz, float *dmu, float *dlogvar) {
    int team = nvdp__team(dev, rows * dim);
    /* A token's rows are neighbours: whoever comes on the first of them takes them all. */
#pragma omp parallel for num_threads(team)
    for (size_t first = 0; first < rows; first++) {
        if (src[first] < 0 || (first > 0 && src[first - 1] == src[first])) continue;
        size_t t = (size_t)src[first] * dim;
        for (size_t r = first; r < rows && src[r] == src[first]; r++) {
            gauss_backward_row(dim, mu + t, z + r * dim, dz + r * dim, dmu + t, dlogvar + t);
        }
    }
}
