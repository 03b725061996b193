/* Normal deviates that are exact, and what they become on a grid.
 *
 * A deviate is sign (k + x) with x uniform digits that go on as long as somebody asks, so that a
 * released value round((mean + sigma eps)/step) has the very distribution of the rounded Gaussian,
 * tails included: no float generator's end (8.57 sigma for 53 bits), no gap between its values.  All of
 * it is comparisons of digits and products of integers: nothing rounds but what is meant to. */
#ifndef NVDP_SRC_BASE_EXACT_NORMAL_H
#define NVDP_SRC_BASE_EXACT_NORMAL_H

#include "base/random.h"

enum {
    NVDP__DIGITS =
        8, /* of 64 bits, most that a uniform has; a tie of all of them has chance 2^-512 */
    NVDP__DIGIT_WORDS = 512,
    NVDP__MEAN_BITS = 32,  /* of a step, of the means */
    NVDP__GRID_RANGE = 30, /* means within +-2^30 steps, deviations from 2^-30 to 2^30 steps */
};

/* Digits of a stream, many at a time. */
struct nvdp__digits {
    struct nvdp__stream stream;
    uint64_t word[NVDP__DIGIT_WORDS];
    size_t used; /* all of them in the beginning */
};
void nvdp__digits_open(const struct nvdp__stream *stream, struct nvdp__digits *digits);
void nvdp__digits_wipe(struct nvdp__digits *digits);
uint64_t nvdp__digits_next(struct nvdp__digits *digits);

/* On (0, 1); further digits are drawn when they are needed. */
struct nvdp__uniform {
    uint64_t digit[NVDP__DIGITS];
    int have;
};
uint64_t nvdp__uniform_digit(struct nvdp__digits *digits, struct nvdp__uniform *u, int i);

/* -(whole + fraction) or whole + fraction */
struct nvdp__exact_normal {
    struct nvdp__uniform fraction;
    uint32_t whole; /* below 1024 */
    bool negative;
};
void nvdp__exact_normal(struct nvdp__digits *digits, struct nvdp__exact_normal *out);
/* To the nearest double. */
double nvdp__exact_normal_value(const struct nvdp__exact_normal *normal);
/* Its parts, for tests: true with probability exp(-1/2); a fraction x, and whether it is kept beside
 * the whole number k, which has probability exp(-x (2k + x)/2). */
bool nvdp__exact_half(struct nvdp__digits *digits);
bool nvdp__exact_fraction(struct nvdp__digits *digits, uint32_t k, struct nvdp__uniform *x);

/* The multiples of 2^exponent from -limit to limit times it. */
struct nvdp__rounding_grid {
    int exponent;
    int32_t limit;
};
/* In units of 2^-NVDP__MEAN_BITS steps, towards zero, within +-2^30 steps: the mean that is released. */
int64_t nvdp__grid_mean(const struct nvdp__rounding_grid *grid, double mean);
/* Whether deviates of this standard deviation can be drawn: 2^-30 to 2^30 steps. */
bool nvdp__grid_takes(const struct nvdp__rounding_grid *grid, double sigma);
/* out = round((mean + sigma eps)/step), eps ~ N(0, 1) exact, beyond the limit the limit.  sigma NULL: all
 * are 1.  The deviates are drawn first, a block at a time, without a look at means or deviations; the
 * rounding has no branch but the one of chance 2^-32 that needs more digits. */
void nvdp__grid_draw(struct nvdp__digits *digits, const struct nvdp__rounding_grid *grid, size_t n,
                     const int64_t *mean, const double *sigma, int32_t *out);
/* The same of a given deviate. */
int32_t nvdp__grid_round(struct nvdp__digits *digits, const struct nvdp__rounding_grid *grid,
                         int64_t mean, double sigma, struct nvdp__exact_normal *normal);

#endif
