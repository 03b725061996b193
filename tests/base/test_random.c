/* The statistical tests have fixed seeds. Each bound is stated with the chance that a correct
 * generator exceeds it ("false alarm") under a random seed, below 1e-4 each. */
#include "support.h"

#include <float.h>

#include "test_context.h"

enum { MANY = 1 << 20 };

static const struct nvdp__noise SEEDED = {.seed = 20240607};

static struct nvdp__stream seeded(uint64_t text) {
    return nvdp__stream_open(&SEEDED, NVDP__PURPOSE_GAUSS, 1, text);
}

/* Checks the known answers of Random123, kat_vectors, "philox4x32 10". */
Test(random, philox_known_answers) {
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t got[4];
        nvdp__philox_run(cases[i].counter, cases[i].key, 1, got);
        cr_assert_arr_eq(got, cases[i].want, sizeof got);
    }
}

Test(random, philox_runs_are_its_blocks) {
    const uint32_t key[2] = {0xa4093822, 0x299f31d0};
    for (size_t count = 0; count <= 50; count++) {
        const uint32_t counter[4] = {UINT32_MAX - 49, 7, 8, 9};
        uint32_t run[200];
        nvdp__philox_run(counter, key, count, run);
        for (size_t i = 0; i < count; i++) {
            const uint32_t at[4] = {counter[0] + (uint32_t)i, 7, 8, 9};
            uint32_t block[4];
            nvdp__philox_run(at, key, 1, block);
            cr_assert_arr_eq(block, run + 4 * i, sizeof block);
        }
    }
}

/* These values were computed from the definition in another language. They are fixed so that a
 * seed keeps its meaning in every version. */
Test(random, streams_stay_what_they_are) {
    struct nvdp__stream stream = nvdp__stream_open(&SEEDED, NVDP__PURPOSE_GAUSS, 3, 1234567890123);
    uint32_t first = nvdp__stream_u32(&stream);
    nvdp__stream_seek(&stream, 4000000000u);
    uint64_t far = nvdp__stream_u64(&stream);
    nvdp__stream_seek(&stream, 0);
    double normal = nvdp__stream_normal(&stream);
    cr_assert_eq(first, UINT32_C(0x658f75a3), "%08x", first);
    cr_assert_eq(far, UINT64_C(0xace7c2b20abc0130), "%016llx", (unsigned long long)far);
    cr_assert_float_eq(normal, 1.2442376868295493, 1e-14, "%.17g", normal);
}

Test(random, every_part_of_the_name_makes_another_stream) {
    const struct nvdp__noise other = {.seed = SEEDED.seed + 1};
    struct nvdp__stream streams[] = {
        nvdp__stream_open(&SEEDED, NVDP__PURPOSE_GAUSS, 0, 0),
        nvdp__stream_open(&other, NVDP__PURPOSE_GAUSS, 0, 0),
        nvdp__stream_open(&SEEDED, NVDP__PURPOSE_GAMMA, 0, 0),
        nvdp__stream_open(&SEEDED, NVDP__PURPOSE_GAUSS, 1, 0),
        nvdp__stream_open(&SEEDED, NVDP__PURPOSE_GAUSS, 0, 1),
        nvdp__stream_open(&SEEDED, NVDP__PURPOSE_GAUSS, 0, UINT64_C(1) << 32),
    };
    enum { STREAMS = sizeof streams / sizeof *streams };
    uint64_t words[STREAMS][4];
    for (int i = 0; i < STREAMS; i++) {
        for (int j = 0; j < 4; j++)
            words[i][j] = nvdp__stream_u64(&streams[i]);
        for (int j = 0; j < i; j++)
            cr_assert_arr_neq(words[i], words[j], sizeof words[i]);
    }
}

static unsigned char fixed_bytes[32] = {1, 2, 3, 4, 5, 6, 7, 8}, other_bytes[32] = {9};
static const struct nvdp__release_key FIXED_KEY = {fixed_bytes};

Test(random, release_streams_differ_by_name_and_key) {
    const struct nvdp__release_key key = {other_bytes};
    const struct nvdp__noise one = {.release = &FIXED_KEY};
    const struct nvdp__noise two = {.release = &key};
    struct nvdp__stream streams[] = {
        nvdp__stream_open(&one, NVDP__PURPOSE_GAUSS, 0, 0),
        nvdp__stream_open(&two, NVDP__PURPOSE_GAUSS, 0, 0),
        nvdp__stream_open(&one, NVDP__PURPOSE_GAMMA, 0, 0),
        nvdp__stream_open(&one, NVDP__PURPOSE_GAUSS, 1, 0),
        nvdp__stream_open(&one, NVDP__PURPOSE_GAUSS, 0, 1),
        nvdp__stream_open(&one, NVDP__PURPOSE_GAUSS, 0, UINT64_C(1) << 32),
    };
    uint64_t first[6];
    for (int i = 0; i < 6; i++) {
        first[i] = nvdp__stream_u64(&streams[i]);
        for (int j = 0; j < i; j++)
            cr_assert_neq(first[i], first[j]);
    }
    struct nvdp__stream again = nvdp__stream_open(&one, NVDP__PURPOSE_GAUSS, 0, 0);
    cr_assert_eq(nvdp__stream_u64(&again), first[0]);
}

Test(random, release_keys_are_fresh_and_wiped) {
    struct nvdp__release_key one = {0}, two = {0};
    ok(nvdp__release_key_create(ctx, &one));
    ok(nvdp__release_key_create(ctx, &two));
    cr_assert_neq(memcmp(one.bytes, two.bytes, 32), 0); /* false alarm 2^-256 */
    nvdp__release_key_wipe(&one);
    nvdp__release_key_wipe(&two);
    nvdp__release_key_wipe(&two);
    cr_assert_null(one.bytes);
}

/* Seeking to block b gives the words from 16b on, from either source. */
static void check_seek(const struct nvdp__noise *noise) {
    uint32_t words[160];
    struct nvdp__stream stream = nvdp__stream_open(noise, NVDP__PURPOSE_GAMMA, 2, 3);
    for (int i = 0; i < 160; i++)
        words[i] = nvdp__stream_u32(&stream);
    for (uint32_t block = 10; block-- > 0;) {
        nvdp__stream_seek(&stream, block);
        for (int i = 0; i < 16; i++)
            cr_assert_eq(nvdp__stream_u32(&stream), words[16 * block + i]);
    }
}

Test(random, seek) {
    const struct nvdp__noise release = {.release = &FIXED_KEY};
    check_seek(&SEEDED);
    check_seek(&release);
}

/* Beyond the 32-bit counters a stream continues; it does not repeat. */
static void check_carry(const struct nvdp__noise *noise, uint64_t at) {
    struct nvdp__stream stream = nvdp__stream_open(noise, NVDP__PURPOSE_GAMMA, 2, 3);
    struct nvdp__stream start = stream;
    uint32_t first[16];
    for (int i = 0; i < 16; i++)
        first[i] = nvdp__stream_u32(&start);
    double crossing[32], again[32];
    stream.block = at - 1;
    struct nvdp__stream copy = stream;
    nvdp__stream_normals_f64(&stream, 32, crossing); /* 4 blocks at once */
    for (int i = 0; i < 32; i += 2) {
        nvdp__stream_normals_f64(&copy, 2, again + i); /* pair by pair */
    }
    cr_assert_arr_eq(crossing, again, sizeof again);
    copy.block = at;
    copy.used = copy.have = 0;
    uint32_t beyond[16];
    for (int i = 0; i < 16; i++)
        beyond[i] = nvdp__stream_u32(&copy);
    cr_assert_arr_neq(beyond, first, sizeof first);
    cr_assert_eq(copy.block, at + 1);
}

Test(random, counters_carry) {
    const struct nvdp__noise release = {.release = &FIXED_KEY};
    check_carry(&SEEDED, UINT64_C(1) << 30);
    check_carry(&SEEDED, UINT64_C(1) << 32);
    check_carry(&release, UINT64_C(1) << 32);
}

Test(random, normals_do_not_depend_on_how_they_are_asked_for) {
    enum { N = 5001 };
    static float whole[N], pieces[N];
    static double exact[N];
    struct nvdp__stream stream = seeded(9);
    nvdp__stream_normals(&stream, N, whole);
    stream = seeded(9);
    nvdp__stream_normals_f64(&stream, N, exact);
    stream = seeded(9);
    size_t step = 2;
    for (size_t done = 0; done < N; done += step, step += 2) {
        if (step > N - done) step = N - done;
        nvdp__stream_normals(&stream, step, pieces + done);
    }
    for (int i = 0; i < N; i++) {
        cr_assert_eq(whole[i], (float)exact[i]);
        cr_assert_eq(whole[i], pieces[i]);
    }
    stream = seeded(9);
    nvdp__stream_seek(&stream, 100);
    nvdp__stream_normals(&stream, 8, pieces);
    cr_assert_arr_eq(pieces, whole + 800, 8 * sizeof *whole);
    stream = seeded(9);
    cr_assert_eq(nvdp__stream_normal(&stream), exact[0]);
    cr_assert_eq(nvdp__stream_normal(&stream), exact[2]); /* cosines only */
}

Test(random, threads_do_not_matter) {
    enum { TEXTS = 64, EACH = 999 };
    static float serial[TEXTS][EACH], parallel[TEXTS][EACH];
    for (int t = 0; t < TEXTS; t++) {
        struct nvdp__stream stream = seeded((uint64_t)t);
        nvdp__stream_normals(&stream, EACH, serial[t]);
    }
#pragma omp parallel for num_threads(4) schedule(dynamic)
    for (int t = TEXTS - 1; t >= 0; t--) {
        struct nvdp__stream stream = seeded((uint64_t)t);
        nvdp__stream_normals(&stream, EACH, parallel[t]);
    }
    cr_assert_arr_eq(serial, parallel, sizeof serial);
}

/* Computes nvdp__box_muller's transform in plain libm calls. */
static void box_muller_reference(size_t pairs, const uint32_t *words, double *out) {
    for (size_t i = 0; i < pairs; i++) {
        uint64_t first = (uint64_t)words[4 * i + 1] << 32 | words[4 * i];
        uint64_t second = (uint64_t)words[4 * i + 3] << 32 | words[4 * i + 2];
        double u = (double)(first >> 11 | 1) * 0x1p-53;
        double v = (double)(second >> 11 | 1) * 0x1p-53;
        double radius = sqrt(-2 * log(u));
        out[2 * i] = radius * cos(2 * M_PI * v);
        out[2 * i + 1] = radius * sin(2 * M_PI * v);
    }
}

/* Both forms are within a few units in the last place of the formula. 1e-13 allows for libm's
 * argument 2 pi v, which is rounded before its cosine is taken (relative to the radius). */
Test(random, box_muller_against_libm) {
    enum { PAIRS = 100000 };
    nvdp__autofree uint32_t *words = malloc(4 * PAIRS * sizeof *words);
    double *got = malloc(2 * PAIRS * sizeof *got);
    nvdp__autofree double *want = malloc(2 * PAIRS * sizeof *want);
    struct nvdp__stream stream = seeded(1);
    for (int i = 0; i < 4 * PAIRS; i++)
        words[i] = nvdp__stream_u32(&stream);
    static const uint32_t edges[] = {0,          1,          0x7fffffff, 0x80000000, 0xffffffff,
                                     0x3fffffff, 0x40000000, 0xb504f333, 0x20000000, 0xe0000000};
    enum { EDGES = sizeof edges / sizeof *edges };
    for (int i = 0; i < EDGES * EDGES * EDGES; i++) {
        words[4 * i] = edges[i / EDGES % EDGES];
        words[4 * i + 1] = edges[i % EDGES];
        words[4 * i + 2] = edges[i / EDGES % EDGES];
        words[4 * i + 3] = edges[i / (EDGES * EDGES)];
    }
    nvdp__box_muller(PAIRS, words, got);
    box_muller_reference(PAIRS, words, want);
    for (int i = 0; i < 2 * PAIRS; i++) {
        double radius = hypot(want[i & ~1], want[i | 1]);
        cr_assert_leq(fabs(got[i] - want[i]), 1e-15 * radius * 4, "%d: %.17g, not %.17g", i, got[i],
                      want[i]);
        cr_assert(isfinite(got[i]) && fabs(got[i]) < 8.6);
    }
    free(got);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Computes Kolmogorov and Smirnov's statistic sqrt(n) max |F_n - F|, which exceeds x with chance
 * 2 exp(-2 x^2). */
static double kolmogorov_smirnov(size_t n, double *sample, double (*cdf)(double)) {
    double worst = 0;
    qsort(sample, n, sizeof *sample, compare);
    for (size_t i = 0; i < n; i++) {
        double f = cdf(sample[i]);
        worst = fmax(worst, fmax(f - (double)i / (double)n, (double)(i + 1) / (double)n - f));
    }
    return worst * sqrt((double)n);
}

static double normal_cdf(double x) {
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static double uniform_cdf(double x) {
    return x;
}

static const double KS_BOUND = 2.2252; /* false alarm 1e-4 */
static const double SIGMAS = 4.0;      /* false alarm 6.3e-5 */

static void check_normals(const struct nvdp__noise *noise) {
    nvdp__autofree double *sample = malloc(MANY * sizeof *sample);
    struct nvdp__stream stream = nvdp__stream_open(noise, NVDP__PURPOSE_GAUSS, 0, 0);
    nvdp__stream_normals_f64(&stream, MANY, sample);
    double moments[5] = {0}, within = 0, between = 0, squares = 0;
    int beyond = 0;
    for (int i = 0; i < MANY; i++) {
        double z = sample[i], power = 1;
        for (int m = 1; m <= 4; m++)
            moments[m] += (power *= z) / MANY;
        beyond += fabs(z) > 4;
        if (i % 2 == 0) within += z * sample[i + 1];
        if (i % 2 == 0) squares += (z * z - 1) * (sample[i + 1] * sample[i + 1] - 1);
        if (i > 1) between += z * sample[i - 2];
    }
    double s = SIGMAS / sqrt(MANY); /* the variances of z, z^2, z^3, z^4 are 1, 2, 15, 96 */
    cr_assert_lt(fabs(moments[1]), s, "mean %g", moments[1]);
    cr_assert_lt(fabs(moments[2] - 1), s * sqrt(2), "variance %g", moments[2]);
    cr_assert_lt(fabs(moments[3]), s * sqrt(15), "third moment %g", moments[3]);
    cr_assert_lt(fabs(moments[4] - 3), s * sqrt(96), "fourth moment %g", moments[4]);
    /* The cosine and sine branches are uncorrelated, and so are their squares (variance 4). */
    cr_assert_lt(fabs(within), SIGMAS * sqrt(MANY / 2));
    cr_assert_lt(fabs(squares), SIGMAS * sqrt(4.0 * MANY / 2));
    cr_assert_lt(fabs(between), SIGMAS * sqrt(MANY));
    double expected = MANY * erfc(4 * M_SQRT1_2); /* 66.4, Poisson; |error| < 4 sigma + 2 */
    cr_assert_lt(fabs(beyond - expected), SIGMAS * sqrt(expected) + 2, "%d beyond 4 sigma", beyond);
    double ks = kolmogorov_smirnov(MANY, sample, normal_cdf);
    cr_assert_lt(ks, KS_BOUND, "Kolmogorov-Smirnov %g", ks);
}

Test(random, normals_are_normal) {
    check_normals(&SEEDED);
}

Test(random, release_normals_are_normal) {
    const struct nvdp__noise release = {.release = &FIXED_KEY};
    check_normals(&release);
}

Test(random, uniforms_are_uniform_and_inside) {
    nvdp__autofree double *sample = malloc(MANY * sizeof *sample);
    struct nvdp__stream stream = seeded(2);
    for (int i = 0; i < MANY; i++) {
        sample[i] = nvdp__stream_uniform(&stream);
        cr_assert(sample[i] > 0 && sample[i] < 1);
    }
    cr_assert_lt(kolmogorov_smirnov(MANY, sample, uniform_cdf), KS_BOUND);
    memset(stream.buffer, 0, sizeof stream.buffer); /* the extreme words */
    stream.used = 0;
    cr_assert_eq(nvdp__stream_uniform(&stream), 0x1p-53);
    memset(stream.buffer, 0xff, sizeof stream.buffer);
    cr_assert_eq(nvdp__stream_uniform(&stream), 1 - 0x1p-53);
}

/* First draws of neighboring texts behave as independent, as a batch needs. */
Test(random, first_draws_across_texts_are_uniform) {
    enum { TEXTS = 100000 };
    nvdp__autofree double *sample = malloc(TEXTS * sizeof *sample);
    double product = 0;
    for (int t = 0; t < TEXTS; t++) {
        struct nvdp__stream stream = seeded((uint64_t)t);
        sample[t] = nvdp__stream_uniform(&stream);
        if (t > 0) product += (sample[t] - 0.5) * (sample[t - 1] - 0.5);
    }
    cr_assert_lt(fabs(product) * 12, SIGMAS * sqrt(TEXTS));
    cr_assert_lt(kolmogorov_smirnov(TEXTS, sample, uniform_cdf), KS_BOUND);
}

Test(random, below_has_no_bias) {
    struct nvdp__stream stream = seeded(3);
    enum { DRAWS = 300000 };
    int counts[6] = {0}, low = 0;
    for (int i = 0; i < DRAWS; i++) {
        counts[nvdp__stream_below(&stream, 6)]++;
        low += nvdp__stream_below(&stream, UINT64_C(3) << 62) < UINT64_C(1) << 62;
        cr_assert_eq(nvdp__stream_below(&stream, 1), 0);
    }
    double chi2 = 0;
    for (int i = 0; i < 6; i++)
        chi2 += pow(counts[i] - DRAWS / 6.0, 2) / (DRAWS / 6.0);
    cr_assert_lt(chi2, 25.75); /* 5 degrees of freedom: false alarm 1e-4 */
    /* A remainder of 2^64 would make this 1/2. */
    cr_assert_lt(fabs(low - DRAWS / 3.0), SIGMAS * sqrt(DRAWS * 2.0 / 9));
}

Test(random, shuffles_are_uniform_permutations) {
    struct nvdp__stream stream = seeded(4);
    enum { DRAWS = 240000 };
    int counts[256] = {0};
    for (int i = 0; i < DRAWS; i++) {
        int64_t items[4] = {0, 1, 2, 3};
        nvdp__stream_shuffle(&stream, 4, items);
        cr_assert_eq(1 << items[0] | 1 << items[1] | 1 << items[2] | 1 << items[3], 15);
        counts[items[0] | items[1] << 2 | items[2] << 4 | items[3] << 6]++;
    }
    double chi2 = 0;
    int seen = 0;
    for (int i = 0; i < 256; i++) {
        if (counts[i] == 0) continue;
        seen++;
        chi2 += pow(counts[i] - DRAWS / 24.0, 2) / (DRAWS / 24.0);
    }
    cr_assert_eq(seen, 24);
    cr_assert_lt(chi2, 59.0); /* 23 degrees of freedom: false alarm 5e-5 */
    nvdp__stream_shuffle(&stream, 0, NULL);
}
