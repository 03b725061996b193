/* Exact normals and their grid. Statistical tests have fixed seeds. A correct generator exceeds
 * each bound with a chance below 1e-4 under a random seed ("false alarm"). */
#include "base/exact_normal.h"
#include "support.h"

static const struct nvdp__noise SEEDED = {.seed = 20261122};
static const struct nvdp__rounding_grid FINE = {-10, 32767};

static struct nvdp__digits seeded(uint64_t text) {
    struct nvdp__digits digits;
    struct nvdp__stream stream = nvdp__stream_open(&SEEDED, NVDP__PURPOSE_EXACT, 0, text);
    nvdp__digits_open(&stream, &digits);
    return digits;
}

/* Puts digits before those of the stream. */
static void force(struct nvdp__digits *digits, size_t n, const uint64_t *word) {
    cr_assert_leq(n, NVDP__DIGIT_WORDS);
    digits->used = NVDP__DIGIT_WORDS - n;
    memcpy(digits->word + digits->used, word, n * sizeof *word);
}

/* the mass of [low, high), 0 <= low < high */
static double log_normal_mass(double low, double high) {
    return logl(erfcl((long double)low * M_SQRT1_2) - erfcl((long double)high * M_SQRT1_2)) -
           log(2);
}

static double normal_mass(double low, double high) {
    if (low < 0 && high > 0) return 1 - normal_mass(high, INFINITY) - normal_mass(-low, INFINITY);
    if (high <= 0) return normal_mass(-high, -low);
    return exp(log_normal_mass(low, high));
}

/* Pearson's statistic as a normal deviate (Wilson & Hilferty): false alarm at 4 is 3e-5. */
static double chi_square_deviate(size_t cells, const double *expected, const double *found) {
    double chi = 0, degrees = 0;
    for (size_t i = 0; i < cells; i++) {
        if (expected[i] < 5) continue;
        chi += (found[i] - expected[i]) * (found[i] - expected[i]) / expected[i];
        degrees++;
    }
    degrees -= 1;
    double scale = 2 / (9 * degrees);
    return (cbrt(chi / degrees) - (1 - scale)) / sqrt(scale);
}

/* --- the parts --- */

/* Returns exact_half's result for these digits; sets how many it used. */
static bool half_of(const uint64_t *word, size_t n, size_t *took) {
    struct nvdp__digits digits = seeded(1);
    force(&digits, n, word);
    bool is = nvdp__exact_half(&digits);
    *took = n - (NVDP__DIGIT_WORDS - digits.used);
    return is;
}

Test(exact_normal, half_counts_how_far_digits_fall) {
    const uint64_t H = UINT64_C(1) << 63;
    size_t took;
    cr_assert(half_of((uint64_t[]){H, 1, 1}, 3, &took));
    cr_assert_eq(took, 1);
    cr_assert_not(half_of((uint64_t[]){H - 1, H, 1}, 3, &took)); /* one digit below 1/2 */
    cr_assert_eq(took, 2);
    cr_assert(half_of((uint64_t[]){H - 1, H - 2, H - 1}, 3, &took)); /* two falling digits */
    cr_assert_eq(took, 3);
    cr_assert_not(half_of((uint64_t[]){9, 8, 7, 7 + 1}, 4, &took));
    cr_assert_eq(took, 4);
    /* a tie is decided by the next digits, those of the later number first */
    cr_assert(half_of((uint64_t[]){9, 9, 5, 7, H}, 5, &took));
    cr_assert_eq(took, 5);
    cr_assert_not(half_of((uint64_t[]){9, 9, 7, 5}, 4, &took));
    cr_assert_not(half_of((uint64_t[]){9, 9, 7, 7, 8, 2}, 6, &took));
    cr_assert_eq(took, 6);
}

Test(exact_normal, half_is_true_with_chance_exp_minus_half) {
    enum { N = 1 << 20 };
    struct nvdp__digits digits = seeded(2);
    double yes = 0, p = exp(-0.5);
    for (int i = 0; i < N; i++)
        yes += nvdp__exact_half(&digits);
    cr_assert_lt(fabs(yes - N * p), 4 * sqrt(N * p * (1 - p)));
}

/* For a given whole number k, compares how often a fraction is kept, and the places of the kept
 * ones, with the normal's own masses of the cells [k + j/16, k + (j+1)/16), out to 13 sigma. */
Test(exact_normal, fractions_have_the_normals_masses_far_out) {
    enum { N = 60000, CELLS = 16 };
    for (uint32_t k = 0; k <= 12; k++) {
        struct nvdp__digits digits = seeded(100 + k);
        struct nvdp__uniform x;
        double found[CELLS] = {0}, expected[CELLS], kept = 0;
        for (int i = 0; i < N; i++) {
            if (!nvdp__exact_fraction(&digits, k, &x)) continue;
            found[x.digit[0] >> 60]++;
            kept++;
        }
        /* density at k: the mass is e^(-k^2/2)/sqrt(2 pi) times the chance to be kept */
        double at = -0.5 * k * k - 0.5 * log(2 * M_PI);
        double p = exp(log_normal_mass(k, k + 1.0) - at);
        cr_assert_lt(fabs(kept - N * p), 4.2 * sqrt(N * p * (1 - p)), "k %u: %g of %g", k, kept,
                     N * p);
        for (int j = 0; j < CELLS; j++)
            expected[j] = kept * exp(log_normal_mass(k + j / 16.0, k + (j + 1) / 16.0) -
                                     log_normal_mass(k, k + 1.0));
        cr_assert_lt(fabs(chi_square_deviate(CELLS, expected, found)), 4.2, "k %u", k);
    }
}

/* Writes the digits that make the whole number k: true k times, false, true k (k - 1) times.
 * Their chance is e^(-k/2) (1 - e^(-1/2)) e^(-k (k-1)/2) = (1 - e^(-1/2)) e^(-k^2/2). `spoil`
 * makes one of the latter false. */
static size_t whole_number(uint32_t k, bool spoil, uint64_t *word) {
    const uint64_t H = UINT64_C(1) << 63;
    size_t n = 0;
    for (uint32_t i = 0; i < k; i++)
        word[n++] = H;
    word[n++] = H - 1;
    word[n++] = H;
    for (uint32_t i = 0; i < k * (k - 1); i++)
        word[n++] = H;
    if (spoil) {
        word[n - 1] = H - 1;
        word[n++] = H;
    }
    return n;
}

/* Such numbers come out to 12 sigma, and from no other digits than these: the fraction's and,
 * for each of its k + 1 trials, one that is not below it; then the sign. */
Test(exact_normal, whole_numbers_by_forced_digits) {
    for (uint32_t k = 0; k <= 12; k++) {
        uint64_t word[NVDP__DIGIT_WORDS];
        struct nvdp__exact_normal normal;
        struct nvdp__digits digits = seeded(3);
        size_t n = whole_number(k, false, word);
        const uint64_t fraction = UINT64_C(0x123456789abcdef0);
        word[n++] = fraction;
        for (uint32_t i = 0; i <= k; i++)
            word[n++] = UINT64_C(1) << 63;
        word[n++] = k % 2 ? UINT64_MAX : 0;
        force(&digits, n, word);
        nvdp__exact_normal(&digits, &normal);
        cr_assert_eq(digits.used, NVDP__DIGIT_WORDS);
        cr_assert_eq(normal.whole, k);
        cr_assert_eq(normal.fraction.digit[0], fraction);
        cr_assert_eq(normal.negative, k % 2);
        double value = nvdp__exact_normal_value(&normal);
        cr_assert_float_eq(fabs(value), k + (double)fraction * 0x1p-64, 1e-15 * (k + 1));
        int32_t out = nvdp__grid_round(&digits, &FINE, 0, 1, &normal);
        cr_assert_eq(out, (int32_t)lround(value * 1024));
        if (k < 2) continue;
        /* one false among the k (k - 1) starts again, with the digits of 1 + 0 */
        digits = seeded(3);
        n = whole_number(k, true, word);
        n += whole_number(1, false, word + n);
        const uint64_t rest[] = {0, 1, 1, 0};
        memcpy(word + n, rest, sizeof rest);
        n += 4;
        force(&digits, n, word);
        nvdp__exact_normal(&digits, &normal);
        cr_assert_eq(digits.used, NVDP__DIGIT_WORDS);
        cr_assert_eq(normal.whole, 1, "%u", normal.whole);
    }
}

/* --- the complete draw --- */

enum { MANY = 1 << 21 };

Test(exact_normal, chi_square_on_a_grid) {
    enum { CELLS = 129 };
    const struct nvdp__rounding_grid grid = {-3, CELLS / 2}; /* eighths, to +-8 */
    static int32_t out[MANY];
    static int64_t mean[MANY];
    static double sigma[MANY];
    for (int variant = 0; variant < 3; variant++) {
        const double m = variant == 0 ? 0 : 0.3, s = variant < 2 ? 1 : 0.7318;
        double found[CELLS] = {0}, expected[CELLS];
        struct nvdp__digits digits = seeded(10 + (uint64_t)variant);
        for (int i = 0; i < MANY; i++) {
            mean[i] = nvdp__grid_mean(&grid, m);
            sigma[i] = s;
        }
        nvdp__grid_draw(&digits, &grid, MANY, mean, variant < 2 ? NULL : sigma, out);
        for (int i = 0; i < MANY; i++)
            found[out[i] + CELLS / 2]++;
        for (int j = 0; j < CELLS; j++) {
            double at = j - CELLS / 2;
            expected[j] = MANY * normal_mass(((at - 0.5) / 8 - m) / s, ((at + 0.5) / 8 - m) / s);
        }
        cr_assert_lt(fabs(chi_square_deviate(CELLS, expected, found)), 4.2, "variant %d", variant);
    }
}

static int by_double(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov's test: sqrt(n) D exceeds 2.3 with chance 2 e^(-2 2.3^2) = 5e-5. */
Test(exact_normal, kolmogorov_smirnov) {
    enum { N = 1 << 19 };
    double largest = 0;
    nvdp__autofree double *value = calloc(N, sizeof *value);
    struct nvdp__digits digits = seeded(20);
    for (int i = 0; i < N; i++) {
        struct nvdp__exact_normal normal;
        nvdp__exact_normal(&digits, &normal);
        value[i] = nvdp__exact_normal_value(&normal);
    }
    qsort(value, N, sizeof *value, by_double);
    for (int i = 0; i < N; i++) {
        double p = 0.5 * erfc(-value[i] * M_SQRT1_2);
        largest = fmax(largest, fmax(p - (double)i / N, (double)(i + 1) / N - p));
    }
    cr_assert_lt(largest * sqrt(N), 2.3, "%g", largest * sqrt(N));
}

/* --- exact rounding --- */

static uint64_t mix(uint64_t *state) { /* SplitMix64 */
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Moves a deviate to the end of a cell, except for the last of `digits` digits. */
static void to_an_edge(int q, uint64_t significand, int64_t mean, struct nvdp__exact_normal *n,
                       int digits, uint64_t last) {
    typedef unsigned __int128 wide;
    int s = 84 - q;
    __int128 from = (n->negative ? -mean : mean) + (INT64_C(1) << 31);
    wide y = ((wide)n->whole << 64) + n->fraction.digit[0];
    __int128 cell = (from + (__int128)((wide)significand * y >> s)) >> 32;
    wide distance = (wide)((cell + 1) * ((__int128)1 << 32) - from);
    wide above = s > 64 ? distance << (s - 64) : distance;
    wide under = s > 64 ? significand : (wide)significand << (64 - s);
    if (above / under > 1000) return;
    n->whole = (uint32_t)(above / under);
    wide rest = above % under;
    for (int i = 0; i < digits; i++) {
        n->fraction.digit[i] = (uint64_t)((rest << 64) / under);
        rest = (rest << 64) % under;
    }
    n->fraction.digit[digits - 1] += last;
}

/* Draws 100,000 cases, half of them at an edge except for the last of up to 4 digits of 64 bits.
 * The rounded results are compared by the digest that tests/golden/exact_rounding.py computes
 * with rational numbers. */
Test(exact_normal, rounds_as_rational_arithmetic_does) {
    uint64_t state = 20261122, digest = UINT64_C(0xcbf29ce484222325);
    struct nvdp__digits digits = seeded(30);
    for (int i = 0; i < 100000; i++) {
        static const int exponents[] = {-10, -12, -16, 3};
        const struct nvdp__rounding_grid grid = {exponents[mix(&state) % 4], INT32_MAX};
        int q = (int)(mix(&state) % 61) - 30;
        if (i % 3 == 0) q = 10; /* sigma is 2^10 steps, the usual setting */
        uint64_t significand = (UINT64_C(1) << 52) | mix(&state) >> 12;
        if (i % 3 == 0 || q == 30) significand = UINT64_C(1) << 52;
        int64_t mean = (int64_t)mix(&state);
        mean >>= 1 + mix(&state) % 50;
        struct nvdp__exact_normal normal = {.whole = (uint32_t)(mix(&state) % 13)};
        normal.negative = mix(&state) & 1;
        normal.fraction.have = NVDP__DIGITS;
        for (int k = 0; k < NVDP__DIGITS; k++)
            normal.fraction.digit[k] = mix(&state);
        uint64_t choice = mix(&state);
        if (i % 2 == 0)
            to_an_edge(q, significand, mean, &normal, 1 + (int)(choice % 4), (choice >> 8) % 5 - 2);
        double sigma = ldexp((double)significand, q - 52 + grid.exponent);
        cr_assert(nvdp__grid_takes(&grid, sigma));
        int32_t out = nvdp__grid_round(&digits, &grid, mean, sigma, &normal);
        for (int k = 0; k < 4; k++) { /* FNV-1a */
            digest = (digest ^ ((uint32_t)out >> 8 * k & 255)) * UINT64_C(0x100000001b3);
        }
    }
    cr_assert_eq(digest, UINT64_C(0xbc31fca403ebba64), "%016llx", (unsigned long long)digest);
}

Test(exact_normal, means_are_kept_towards_zero) {
    cr_assert_eq(nvdp__grid_mean(&FINE, 1), INT64_C(1) << 42);
    cr_assert_eq(nvdp__grid_mean(&FINE, 0x1p-42), 1);
    cr_assert_eq(nvdp__grid_mean(&FINE, 0x1.fp-42), 1);
    cr_assert_eq(nvdp__grid_mean(&FINE, -0x1.fp-42), -1);
    cr_assert_eq(nvdp__grid_mean(&FINE, -0x1p-1074), 0);
    cr_assert_eq(nvdp__grid_mean(&FINE, 1e300), INT64_C(1) << 62);
    cr_assert_eq(nvdp__grid_mean(&FINE, -1e300), -(INT64_C(1) << 62));
    cr_assert(nvdp__grid_takes(&FINE, 1));
    cr_assert(nvdp__grid_takes(&FINE, 0x1p20));
    cr_assert_not(nvdp__grid_takes(&FINE, 0x1.001p20));
    cr_assert_not(nvdp__grid_takes(&FINE, 0x1p-41));
    cr_assert_not(nvdp__grid_takes(&FINE, NAN));
}

Test(exact_normal, ends_at_the_limit) {
    struct nvdp__digits digits = seeded(40);
    int64_t mean[4];
    int32_t out[4];
    for (int i = 0; i < 4; i++)
        mean[i] = nvdp__grid_mean(&FINE, i < 2 ? 500 : -1e9);
    nvdp__grid_draw(&digits, &FINE, 4, mean, NULL, out);
    cr_assert_eq(out[0], 32767);
    cr_assert_eq(out[3], -32767);
}

/* --- running time --- */

enum { VALUES = 4096, RUNS = 400 };

static void means_of(uint64_t *state, double norm, int64_t *mean) {
    for (int i = 0; i < VALUES; i++) {
        double unit = (double)(int64_t)mix(state) * 0x1p-63;
        mean[i] = nvdp__grid_mean(&FINE, norm * unit);
    }
}

/* The draws use the same digits for all means. */
Test(exact_normal, draws_do_not_depend_on_the_means) {
    static int64_t mean[VALUES];
    static int32_t out[VALUES];
    uint64_t state = 7, block = 0;
    size_t used = 0;
    for (int run = 0; run < 50; run++) {
        struct nvdp__digits digits = seeded(50);
        means_of(&state, run == 0 ? 0 : pow(10, run % 7 - 3), mean);
        nvdp__grid_draw(&digits, &FINE, VALUES, mean, NULL, out);
        if (run > 0) {
            cr_assert_eq(digits.used, used);
            cr_assert_eq(digits.stream.block, block);
        }
        used = digits.used;
        block = digits.stream.block;
    }
}

static size_t rank_of(size_t n, const double *value, size_t i) {
    size_t rank = 0;
    for (size_t j = 0; j < n; j++)
        rank += value[j] < value[i] || (value[j] == value[i] && j < i);
    return rank;
}

/* Computes Spearman's correlation of the norm of a text's means with the time of its draw, from
 * the same digits. For 400 unrelated pairs its standard deviation is 0.05. */
Test(exact_normal, time_is_uncorrelated_with_the_means) {
    static int64_t mean[VALUES];
    static int32_t out[VALUES];
    double norm[RUNS], seconds[RUNS], distance = 0;
    uint64_t state = 11;
    for (int run = 0; run < RUNS; run++) {
        struct nvdp__digits digits = seeded(60);
        struct timespec begin, end;
        norm[run] = (double)(mix(&state) >> 11) * 0x1p-53 * 30;
        means_of(&state, norm[run], mean);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        nvdp__grid_draw(&digits, &FINE, VALUES, mean, NULL, out);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        seconds[run] =
            (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    }
    for (size_t i = 0; i < RUNS; i++) {
        double d = (double)rank_of(RUNS, norm, i) - (double)rank_of(RUNS, seconds, i);
        distance += d * d;
    }
    double rho = 1 - 6 * distance / ((double)RUNS * ((double)RUNS * RUNS - 1));
    cr_assert_lt(fabs(rho), 0.25, "%g", rho);
}
