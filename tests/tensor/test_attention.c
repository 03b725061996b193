/* Attention over packed texts in float32 against plain loops in double. */
#include "tensor_test.h"

#include <cblas.h>

/* One problem: layout, inputs as floats; rows of q and out end in `pad` unused floats. */
struct problem {
    struct ref_attention att;
    size_t q_rows, k_rows;
    size_t q_floats, kv_floats, out_floats, lse_floats;
    size_t longest_q, longest_k;
    float *q, *k, *v, *bias, *dout;
};

static struct problem make(size_t groups, const int32_t *q_offset, const int32_t *k_offset,
                           size_t heads, size_t head_dim, size_t pad, float rate, bool bias) {
    struct problem p = {.att =
                            test_attention(groups, q_offset, k_offset, heads, head_dim, pad, rate),
                        .q_rows = (size_t)q_offset[groups],
                        .k_rows = (size_t)k_offset[groups],
                        .longest_q = test_longest(groups, q_offset),
                        .longest_k = test_longest(groups, k_offset)};
    p.q_floats = p.q_rows * p.att.q_stride;
    p.kv_floats = p.k_rows * p.att.kv_stride;
    p.out_floats = p.q_rows * p.att.out_stride;
    p.lse_floats = p.q_rows * heads;
    p.q = test_floats(p.q_floats, 2);
    p.k = test_floats(p.kv_floats, 2);
    p.v = test_floats(p.kv_floats, 2);
    p.bias = bias ? test_floats(p.k_rows, 3) : NULL;
    p.dout = test_floats(p.out_floats, 1);
    return p;
}

struct result {
    float *out, *lse, *dq, *dk, *dv, *dbias;
};

static struct result run(const struct nvdp__device *dev, const struct problem *p) {
    struct result r = {
        test_zeros(p->out_floats), test_zeros(p->lse_floats),
        test_zeros(p->q_floats),   test_zeros(p->kv_floats),
        test_zeros(p->kv_floats),  p->bias != NULL ? test_floats(p->k_rows, 1) : NULL};
    float *scratch = test_zeros(
        op_attention_scratch(dev, NVDP__F32, p->longest_q, p->longest_k, p->att.head_dim));
    struct test_attention_data x = {p->q, p->k, p->v, p->dout, p->bias, r.out,
                                    r.dq, r.dk, r.dv, r.lse,   r.dbias};
    op_attention_forward(dev, NVDP__F32, &p->att, &x, scratch);
    op_attention_backward(dev, NVDP__F32, &p->att, &x, scratch);
    return r;
}

/* Scores reach about +-4 and lse a few more: exp turns their rounding, 5e-7 absolute, into as
 * large a relative error. Sums of products of such numbers stay below ten times the usual
 * tolerance. */
static void check_problem(const struct problem *p) {
    double *q = test_widen(p->q_floats, p->q), *k = test_widen(p->kv_floats, p->k);
    double *v = test_widen(p->kv_floats, p->v), *bias = test_widen(p->k_rows, p->bias);
    double *out = test_zeros64(p->out_floats), *lse = test_zeros64(p->lse_floats);
    double *dq = test_zeros64(p->q_floats), *dk = test_zeros64(p->kv_floats);
    double *dv = test_zeros64(p->kv_floats);
    double *dbias = p->bias != NULL ? test_zeros64(p->k_rows) : NULL;
    ref64_attention_forward(&p->att, q, k, v, bias, out, lse);
    ref64_attention_backward(&p->att, q, k, v, bias, out, lse, test_widen(p->out_floats, p->dout),
                             dq, dk, dv, dbias);
    struct result r[DEVICES];
    for (size_t d = 0; d < DEVICES; d++) {
        openblas_set_num_threads(test_devices[d].threads); /* as a context does */
        r[d] = run(&test_devices[d], p);
        test_close("out", p->out_floats, r[d].out, out, 10 * FLOAT_TOLERANCE);
        test_close("lse", p->lse_floats, r[d].lse, lse, 10 * FLOAT_TOLERANCE);
        test_close("dq", p->q_floats, r[d].dq, dq, 10 * FLOAT_TOLERANCE);
        test_close("dk", p->kv_floats, r[d].dk, dk, 10 * FLOAT_TOLERANCE);
        test_close("dv", p->kv_floats, r[d].dv, dv, 10 * FLOAT_TOLERANCE);
        if (dbias != NULL) test_close("dbias", p->k_rows, r[d].dbias, dbias, 10 * FLOAT_TOLERANCE);
    }
    struct result *a = &r[FAST_ONE], *b = &r[FAST_TWO];
    test_same("out", p->out_floats, a->out, b->out);
    test_same("dq", p->q_floats, a->dq, b->dq);
    test_same("dk", p->kv_floats, a->dk, b->dk);
    test_same("dv", p->kv_floats, a->dv, b->dv);
    if (dbias != NULL) test_same("dbias", p->k_rows, a->dbias, b->dbias);
}

static void check(size_t groups, const int32_t *q_offset, const int32_t *k_offset, size_t heads,
                  size_t head_dim, size_t pad, float rate, bool bias) {
    const struct problem p = make(groups, q_offset, k_offset, heads, head_dim, pad, rate, bias);
    check_problem(&p);
}

static const int32_t even[] = {0, 1, 8, 24, 41, 74};
static const int32_t other[] = {0, 7, 8, 25, 58, 74};
static const int32_t holes[] = {0, 0, 9, 9, 20, 20};

Test(attention, matches_double_over_shapes) {
    const size_t dims[] = {1, 7, 16, 17, 64};
    for (size_t i = 0; i < 5; i++)
        for (int bias = 0; bias < 2; bias++)
            for (int dropout = 0; dropout < 2; dropout++) {
                float rate = dropout ? 0.2f : 0;
                check(5, even, even, 2, dims[i], 0, rate, bias == 1);
                check(5, even, other, 3, dims[i], 5, rate, bias == 1);
            }
}

Test(attention, long_texts) {
    const int32_t offset[] = {0, 128, 141, 154};
    check(3, offset, offset, 2, 64, 0, 0.1f, true);
    const int32_t longer[] = {0, 150, 151};
    check(2, longer, longer, 2, 64, 0, 0.1f, true);
    check(3, offset, offset, 2, 32, 16, 0, false);
}

Test(attention, empty_groups) {
    check(5, holes, holes, 2, 16, 0, 0, true);
    check(5, even, holes, 2, 16, 0, 0, true);
    check(5, holes, even, 2, 16, 0, 0.1f, true);
    check(0, even, even, 2, 16, 0, 0, false);
}

/* A key whose bias is -inf takes no part; huge scores do not overflow. */
Test(attention, extreme_scores) {
    const int32_t offset[] = {0, 20};
    for (size_t d = 0; d < DEVICES; d++) {
        struct problem p = make(1, offset, offset, 1, 16, 0, 0, true);
        p.bias[3] = -INFINITY;
        p.bias[5] = 1e6f;
        struct result r = run(&test_devices[d], &p);
        for (size_t i = 0; i < 20; i++)
            for (size_t c = 0; c < 16; c++) {
                near(r.out[i * 16 + c], p.v[5 * 16 + c], 1e-6f);
                cr_assert_eq(r.dk[3 * 16 + c], 0);
            }
        cr_expect_eq(r.dbias[3], 0);
    }
}

struct shape {
    const struct ref_attention *att;
    double *q, *k, *v, *bias, *out, *lse, *dout;
    size_t out_count;
};

static double attention_value(void *user) {
    struct shape *s = user;
    ref64_attention_forward(s->att, s->q, s->k, s->v, s->bias, s->out, s->lse);
    return test_dot(s->out_count, s->out, s->dout);
}

static void check_gradient(float rate, bool with_bias) {
    const int32_t q_offset[] = {0, 3, 4};
    const int32_t k_offset[] = {0, 2, 7};
    struct problem p = make(2, q_offset, k_offset, 2, 3, 0, rate, with_bias);
    struct shape s = {&p.att,
                      test_widen(p.q_floats, p.q),
                      test_widen(p.kv_floats, p.k),
                      test_widen(p.kv_floats, p.v),
                      test_widen(p.k_rows, p.bias),
                      test_zeros64(p.out_floats),
                      test_zeros64(p.lse_floats),
                      test_widen(p.out_floats, p.dout),
                      p.out_floats};
    double *dq = test_zeros64(p.q_floats), *dk = test_zeros64(p.kv_floats);
    double *dv = test_zeros64(p.kv_floats), *dbias = test_zeros64(p.k_rows);
    attention_value(&s);
    ref64_attention_backward(s.att, s.q, s.k, s.v, s.bias, s.out, s.lse, s.dout, dq, dk, dv, dbias);
    gradcheck("q", p.q_floats, s.q, dq, attention_value, &s, GRADCHECK_TOLERANCE);
    gradcheck("k", p.kv_floats, s.k, dk, attention_value, &s, GRADCHECK_TOLERANCE);
    gradcheck("v", p.kv_floats, s.v, dv, attention_value, &s, GRADCHECK_TOLERANCE);
    if (with_bias)
        gradcheck("bias", p.k_rows, s.bias, dbias, attention_value, &s, GRADCHECK_TOLERANCE);
}

Test(attention, plain_backward_is_the_derivative) {
    check_gradient(0, false);
    check_gradient(0, true);
    check_gradient(0.3f, true);
}
