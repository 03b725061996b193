/* Exact normal deviates, and their rounding onto a grid.
 *
 * A deviate is sign (k + x), where x consists of uniform digits that are drawn on demand without
 * limit. A released value round((mean + sigma eps)/step) therefore has exactly the distribution
 * of the rounded Gaussian, including its tails. A floating-point generator would end at 8.57
 * sigma (for 53 bits) and leave gaps between its values. The code only compares digits and
 * multiplies integers, so the rounding to the grid is the only rounding. */
#ifndef NVDP_SRC_BASE_EXACT_NORMAL_H
#define NVDP_SRC_BASE_EXACT_NORMAL_H

#include "base/random.h"

enum {
    NVDP__DIGITS =
        /* max digits of a uniform number, 64 bits each; ties in all digits have probability
         * 2^-512 */
    8,
    NVDP__DIGIT_WORDS = 512,
    NVDP__MEAN_BITS = 32, /* number of fraction bits of the means, in steps */
    /* means lie within +-2^30 steps, standard deviations between 2^-30 and 2^30 steps */
    NVDP__GRID_RANGE = 30,
};

/* Digits of a random stream, which are drawn in blocks. */
struct nvdp__digits {
    struct nvdp__stream stream;
    uint64_t word[NVDP__DIGIT_WORDS];
    size_t used; /* number of words used; initially all words */
};
void nvdp__digits_open(const struct nvdp__stream *stream, struct nvdp__digits *digits);
void nvdp__digits_wipe(struct nvdp__digits *digits);
uint64_t nvdp__digits_next(struct nvdp__digits *digits);

/* A uniform number in (0, 1); further digits are drawn when needed. */
struct nvdp__uniform {
    uint64_t digit[NVDP__DIGITS];
    int have;
};
uint64_t nvdp__uniform_digit(struct nvdp__digits *digits, struct nvdp__uniform *u, int i);

/* The number whole + fraction, or -(whole + fraction). */
struct nvdp__exact_normal {
    struct nvdp__uniform fraction;
    uint32_t whole; /* below 1024 */
    bool negative;
};
void nvdp__exact_normal(struct nvdp__digits *digits, struct nvdp__exact_normal *out);
/* Returns the deviate, rounded to the nearest double. */
double nvdp__exact_normal_value(const struct nvdp__exact_normal *normal);
/* The steps of the algorithm, for tests. nvdp__exact_half() returns true with probability
 * exp(-1/2). nvdp__exact_fraction() draws a fraction x and accepts it for the integer k with
 * probability exp(-x (2k + x)/2). */
bool nvdp__exact_half(struct nvdp__digits *digits);
bool nvdp__exact_fraction(struct nvdp__digits *digits, uint32_t k, struct nvdp__uniform *x);

/* A grid: the multiples of 2^exponent from -limit to limit times 2^exponent. */
struct nvdp__rounding_grid {
    int exponent;
    int32_t limit;
};
/* Returns the mean in units of 2^-NVDP__MEAN_BITS steps, rounded toward zero and clamped to
 * +-2^30 steps. This is the mean that is released. */
int64_t nvdp__grid_mean(const struct nvdp__rounding_grid *grid, double mean);
/* Returns true if deviates of this standard deviation can be drawn: 2^-30 to 2^30 steps. */
bool nvdp__grid_takes(const struct nvdp__rounding_grid *grid, double sigma);
/* Computes out = round((mean + sigma eps)/step) with exact eps ~ N(0, 1), clamped to the grid's
 * limit. If sigma is NULL, all sigma are 1. The deviates are drawn first, one block at a time,
 * without reading means or deviations. The rounding has a single branch, taken with probability
 * 2^-32, for the case that more digits are needed. */
void nvdp__grid_draw(struct nvdp__digits *digits, const struct nvdp__rounding_grid *grid, size_t n,
                     const int64_t *mean, const double *sigma, int32_t *out);
/* Rounds the mean plus a given deviate in the same way. */
int32_t nvdp__grid_round(struct nvdp__digits *digits, const struct nvdp__rounding_grid *grid,
                         int64_t mean, double sigma, struct nvdp__exact_normal *normal);

#endif
