/* Draws samples of privacy losses (sampled_loss.h) and compares their tails with nvdp_exact_*. */
#include "sampled_loss.h"

#include <math.h>

/* Returns the part that does not depend on the sample. It uses long double because logarithms of
 * gamma functions cancel. */
static double constant_part(const struct drawn_pair *pair) {
    long double sum = 0, total[2] = {0, 0};
    for (size_t i = 0; i < pair->n; i++)
        sum -= log(pair->var[0][i] / pair->var[1][i]) / 2;
    for (size_t i = 0; i < pair->m; i++) {
        sum += lgammal(pair->alpha[1][i]) - lgammal(pair->alpha[0][i]);
        total[0] += pair->alpha[0][i];
        total[1] += pair->alpha[1][i];
    }
    if (pair->m > 0) sum += lgammal(total[0]) - lgammal(total[1]);
    return (double)sum;
}

/* Draws the log of a Gamma(a) variable: Gamma(a + 1) U^(1/a), the former by Marsaglia & Tsang
 * 2000. */
static double log_gamma_variable(struct nvdp__stream *stream, double a) {
    const double d = a + 2. / 3, c = 1 / sqrt(9 * d);
    double v, z;
    do {
        nvdp__stream_normals_f64(stream, 1, &z);
        v = 1 + c * z;
        v = v * v * v;
    } while (v <= 0 || log(nvdp__stream_uniform(stream)) > z * z / 2 + d * (1 - v + log(v)));
    return log(d * v) + log(nvdp__stream_uniform(stream)) / a;
}

static double draw(const struct drawn_pair *pair, struct nvdp__stream *stream, double loss) {
    double all = -INFINITY, shift = 0; /* logarithm of all weights, because each may underflow */
    for (size_t i = 0; i < pair->n; i++) {
        double z;
        nvdp__stream_normals_f64(stream, 1, &z);
        const double far = pair->mu[0][i] + z * sqrt(pair->var[0][i]) - pair->mu[1][i];
        loss += (far * far / pair->var[1][i] - z * z) / 2;
    }
    for (size_t i = 0; i < pair->m; i++) {
        const double weight = log_gamma_variable(stream, pair->alpha[0][i]);
        const double difference = pair->alpha[0][i] - pair->alpha[1][i];
        loss += difference * weight;
        shift += difference;
        const double largest = fmax(all, weight);
        all = largest + log(exp(all - largest) + exp(weight - largest));
    }
    return pair->m > 0 ? loss - shift * all : loss;
}

void sampled_losses(const struct drawn_pair *pair, struct nvdp__stream *stream, size_t count,
                    double *loss) {
    const double constant = constant_part(pair);
    for (size_t s = 0; s < count; s++)
        loss[s] = draw(pair, stream, constant);
}

bool sampled_losses_agree(const struct nvdp_exact_point *point, size_t count, const double *loss,
                          double floor) {
    const double n = (double)count;
    double sum = 0, squares = 0, above = 0;
    for (size_t s = 0; s < count; s++) {
        const double part = fmax(-expm1(point->epsilon - loss[s]), 0);
        sum += part;
        squares += part * part;
        above += loss[s] > point->epsilon;
    }
    const double mean = sum / n, share = above / n;
    return fabs(point->delta - mean) <= 4 * sqrt((squares / n - mean * mean) / n) + floor &&
           fabs(point->tpr - share) <= 4 * sqrt(share * (1 - share) / n) + floor;
}
