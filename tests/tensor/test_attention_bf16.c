/* Attention with bfloat16 operands against the same formulas in double on the same operands. */
#include "bf16_test.h"

/* One problem: layout, inputs; rows hold `pad` elements more than they need. */
struct problem {
    struct ref_attention att;
    size_t q_rows, k_rows, q_count, kv_count, out_count, lse_count;
    nvdp__bf16 *q, *k, *v, *dout;
    float *bias;
};

static struct problem make(size_t groups, const int32_t *q_offset, const int32_t *k_offset,
                           size_t heads, size_t head_dim, size_t pad, float rate, bool bias) {
    struct problem p = {.att =
                            test_attention(groups, q_offset, k_offset, heads, head_dim, pad, rate),
                        .q_rows = (size_t)q_offset[groups],
                        .k_rows = (size_t)k_offset[groups]};
    p.q_count = p.q_rows * p.att.q_stride;
    p.kv_count = p.k_rows * p.att.kv_stride;
    p.out_count = p.q_rows * p.att.out_stride;
    p.lse_count = p.q_rows * heads;
    p.q = bf16_values(p.q_count, 2);
    p.k = bf16_values(p.kv_count, 2);
    p.v = bf16_values(p.kv_count, 2);
    p.dout = bf16_values(p.out_count, 1);
    p.bias = bias ? test_floats(p.k_rows, 3) : NULL;
    return p;
}

struct result {
    nvdp__bf16 *out, *dq, *dk, *dv;
    float *lse, *dbias;
};

static float *nan_floats(size_t n) {
    return (float *)(void *)bf16_nans(2 * n);
}

/* Fills everything written, the scratch too, with NaN first: no result may depend on earlier
 * contents. */
static struct result run(const struct nvdp__device *dev, const struct problem *p) {
    const struct ref_attention *att = &p->att;
    struct result r = {bf16_nans(p->out_count),  bf16_nans(p->q_count),
                       bf16_nans(p->kv_count),   bf16_nans(p->kv_count),
                       nan_floats(p->lse_count), p->bias != NULL ? nan_floats(p->k_rows) : NULL};
    float *scratch =
        nan_floats(op_attention_scratch(dev, NVDP__BF16, test_longest(att->groups, att->q_offset),
                                        test_longest(att->groups, att->k_offset), att->head_dim));
    struct test_attention_data x = {p->q, p->k, p->v, p->dout, p->bias, r.out,
                                    r.dq, r.dk, r.dv, r.lse,   r.dbias};
    op_attention_forward(dev, NVDP__BF16, att, &x, scratch);
    op_attention_backward(dev, NVDP__BF16, att, &x, scratch);
    return r;
}

struct expected {
    double *out, *lse, *dq, *dk, *dv, *dbias;
};

static struct expected in_double(const struct problem *p) {
    double *q = bf16_widen(p->q_count, p->q), *k = bf16_widen(p->kv_count, p->k);
    double *v = bf16_widen(p->kv_count, p->v);
    double *bias = test_widen(p->k_rows, p->bias);
    struct expected e = {test_zeros64(p->out_count), test_zeros64(p->lse_count),
                         test_zeros64(p->q_count),   test_zeros64(p->kv_count),
                         test_zeros64(p->kv_count),  test_zeros64(p->k_rows)};
    ref64_attention_forward(&p->att, q, k, v, bias, e.out, e.lse);
    ref64_attention_backward(&p->att, q, k, v, bias, e.out, e.lse,
                             bf16_widen(p->out_count, p->dout), e.dq, e.dk, e.dv, e.dbias);
    return e;
}

/* Compares rows [width] in rows of `stride` by the error's norm relative to the row's own, so
 * that a long text does not hide a short one. Elements between rows must be unchanged.
 *
 * Probabilities and their gradients are rounded before the products that read them, and results
 * after. These are two roundings of at most 2^-8 each, which add up where one term makes nearly
 * the whole row; those of many terms are independent and average out. A gradient that is zero in
 * exact arithmetic (one key) has float32's rounding: a part of the largest row. */
static void close_rows(const char *what, size_t rows, size_t width, size_t stride,
                       const nvdp__bf16 *got, const double *want) {
    double largest = 0;
    for (size_t r = 0; r < rows; r++)
        largest = fmax(largest, test_dot(width, want + r * stride, want + r * stride));
    for (size_t r = 0; r < rows; r++) {
        double error = 0;
        for (size_t i = 0; i < width; i++) {
            size_t at = r * stride + i;
            error += pow((double)nvdp__bfloat16_to_float(got[at]) - want[at], 2);
        }
        double size = sqrt(test_dot(width, want + r * stride, want + r * stride));
        cr_assert(sqrt(error) <= 2 * BF16_ROUNDING * size + 10 * FLOAT_TOLERANCE * sqrt(largest),
                  "%s: row %zu of %zu: error %.3g of %.3g (largest %.3g)", what, r, rows,
                  sqrt(error), size, sqrt(largest));
        for (size_t i = width; i < stride; i++)
            cr_assert_eq(got[r * stride + i], 0xffff, "%s: written between rows", what);
    }
}

/* lse and dbias are float32 throughout, compared as for attention in float32. */
static void compare(const struct problem *p, const struct result *r, const struct expected *e) {
    const struct ref_attention *att = &p->att;
    size_t width = att->heads * att->head_dim;
    close_rows("out", p->q_rows, width, att->out_stride, r->out, e->out);
    close_rows("dq", p->q_rows, width, att->q_stride, r->dq, e->dq);
    close_rows("dk", p->k_rows, width, att->kv_stride, r->dk, e->dk);
    close_rows("dv", p->k_rows, width, att->kv_stride, r->dv, e->dv);
    test_close("lse", p->lse_count, r->lse, e->lse, 10 * FLOAT_TOLERANCE);
    if (p->bias != NULL) test_close("dbias", p->k_rows, r->dbias, e->dbias, 10 * FLOAT_TOLERANCE);
}

static void check_problem(const struct problem *p) {
    struct expected e = in_double(p);
    struct result r[BF16_DEVICES];
    for (int d = 0; d < BF16_DEVICES; d++) {
        struct nvdp__device dev = bf16_device(d);
        r[d] = run(&dev, p);
        compare(p, &r[d], &e);
    }
    bf16_same("out", p->out_count, r[BF16_ONE].out, r[BF16_TWO].out);
    bf16_same("dq", p->q_count, r[BF16_ONE].dq, r[BF16_TWO].dq);
    bf16_same("dk", p->kv_count, r[BF16_ONE].dk, r[BF16_TWO].dk);
    bf16_same("dv", p->kv_count, r[BF16_ONE].dv, r[BF16_TWO].dv);
    test_same("lse", p->lse_count, r[BF16_ONE].lse, r[BF16_TWO].lse);
    if (p->bias != NULL) test_same("dbias", p->k_rows, r[BF16_ONE].dbias, r[BF16_TWO].dbias);
}

static void check(size_t groups, const int32_t *q_offset, const int32_t *k_offset, size_t heads,
                  size_t head_dim, size_t pad, float rate, bool bias) {
    const struct problem p = make(groups, q_offset, k_offset, heads, head_dim, pad, rate, bias);
    check_problem(&p);
}

/* Lengths 1, 2, 15, 16, 17, 31, 32, 33 in two orders: a text's queries and keys differ in
 * number. */
static const int32_t up[] = {0, 1, 3, 18, 34, 51, 82, 114, 147};
static const int32_t down[] = {0, 33, 65, 96, 113, 129, 144, 146, 147};

Test(attention_bf16, matches_double_over_shapes) {
    bf16_or_skip();
    const size_t dims[] = {32, 64, 96};
    for (size_t i = 0; i < 3; i++)
        for (int bias = 0; bias < 2; bias++)
            for (int dropout = 0; dropout < 2; dropout++) {
                float rate = dropout ? 0.2f : 0;
                check(8, up, up, 2, dims[i], 0, rate, bias == 1);
                check(8, up, down, 3, dims[i], 6, rate, bias == 1);
            }
}

/* Queries are processed in blocks of 128. */
Test(attention_bf16, texts_around_a_block_of_queries) {
    bf16_or_skip();
    const int32_t offset[] = {0, 127, 255, 384, 514};
    check(4, offset, offset, 2, 64, 0, 0, false);
    const int32_t other[] = {0, 130, 259, 387, 514};
    check(4, offset, other, 2, 32, 2, 0.1f, true);
}

Test(attention_bf16, long_texts) {
    bf16_or_skip();
    const int32_t offset[] = {0, 300, 303, 560};
    check(3, offset, offset, 2, 32, 0, 0.1f, true);
    const int32_t few[] = {0, 5, 305, 306};
    check(3, offset, few, 1, 64, 0, 0, true);
}

static const int32_t holes[] = {0, 0, 9, 9, 26, 26, 26, 26, 26};

Test(attention_bf16, empty_groups) {
    bf16_or_skip();
    check(8, holes, holes, 2, 32, 0, 0, true);
    check(8, up, holes, 2, 32, 0, 0, true);
    check(8, holes, up, 2, 64, 2, 0.1f, true);
    const int32_t none[2] = {0, 0};
    check(0, none, none, 2, 32, 0, 0, false);
    check(1, none, none, 2, 32, 0, 0.5f, true);
}

/* A text's results do not depend on the other texts of the batch. */
Test(attention_bf16, texts_do_not_see_one_another) {
    bf16_or_skip();
    struct problem all = make(8, up, up, 2, 32, 0, 0, true);
    struct nvdp__device dev = bf16_device(BF16_ONE);
    struct result together = run(&dev, &all);
    for (size_t g = 0; g < 8; g++) {
        struct problem one = all;
        size_t first = (size_t)up[g], rows = (size_t)up[g + 1] - first;
        size_t at = first * all.att.q_stride; /* no padding: all strides are the same */
        int32_t offset[2] = {0, (int32_t)rows};
        one.att.groups = 1;
        one.att.q_offset = one.att.k_offset = offset;
        one.q_rows = one.k_rows = rows;
        one.q_count = one.kv_count = one.out_count = rows * all.att.q_stride;
        one.lse_count = rows * all.att.heads;
        one.q += at, one.k += at, one.v += at, one.dout += at, one.bias += first;
        struct result alone = run(&dev, &one);
        bf16_same("out", one.out_count, alone.out, together.out + at);
        bf16_same("dq", one.q_count, alone.dq, together.dq + at);
        bf16_same("dk", one.kv_count, alone.dk, together.dk + at);
        bf16_same("dv", one.kv_count, alone.dv, together.dv + at);
        test_same("dbias", rows, alone.dbias, together.dbias + first);
    }
}

/* A key whose bias is -inf takes no part; huge scores do not overflow. */
Test(attention_bf16, extreme_scores) {
    bf16_or_skip();
    enum { N = 20, DIM = 32 };
    const int32_t offset[] = {0, N};
    struct problem p = make(1, offset, offset, 1, DIM, 0, 0, true);
    p.bias[3] = -INFINITY;
    p.bias[5] = 1e6f;
    struct nvdp__device dev = bf16_device(BF16_ONE);
    struct result r = run(&dev, &p);
    for (size_t i = 0; i < N; i++) {
        bf16_same("the one value", DIM, r.out + i * DIM, p.v + 5 * (size_t)DIM);
        for (size_t c = 0; c < DIM; c++)
            cr_assert_eq(nvdp__bfloat16_to_float(r.dk[3 * DIM + c]), 0);
    }
    cr_expect_eq(r.dbias[3], 0);
}
