/* The LSTM layer of both directions: a plain version in double, loops as in the formulas, text
 * by text, whose gradients finite differences check; and the kernels against it. */
#include "tensor_test.h"

enum { DIRECTIONS = 2, GATES = 4, FORWARD = 0 };

/* A layer on texts of `in` numbers per token, rows in the batch's order. */
struct layer {
    size_t texts, rows, in, units;
    const int32_t *offset;
    double *x;               /* [rows, in] */
    double *w, *u, *b;       /* [2, 4H, in], [2, 4H, H], [2, 4H] */
    double *gate, *cell, *h; /* [2, rows, 4H], [2, rows, H], [rows, 2H] */
    double *weight;          /* [rows, 2H] of the sum that is differentiated */
    double *dx, *dw, *du, *db;
};

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* Returns the row that a direction reads before row r of a text [first, end); SIZE_MAX: none. */
static size_t before(size_t d, size_t r, size_t first, size_t end) {
    if (d == FORWARD) return r > first ? r - 1 : SIZE_MAX;
    return r + 1 < end ? r + 1 : SIZE_MAX;
}

static void plain_row(const struct layer *l, size_t d, size_t r, size_t last) {
    size_t units = l->units, wide = GATES * units;
    const double *u = l->u + d * wide * units, *w = l->w + d * wide * l->in;
    double *gate = l->gate + (d * l->rows + r) * wide;
    for (size_t i = 0; i < wide; i++) {
        double sum = l->b[d * wide + i] + test_dot(l->in, w + i * l->in, l->x + r * l->in);
        if (last != SIZE_MAX)
            sum += test_dot(units, u + i * units, l->h + (last * DIRECTIONS + d) * units);
        gate[i] = i / units == 2 ? tanh(sum) : sigmoid(sum);
    }
    for (size_t j = 0; j < units; j++) {
        double earlier = last != SIZE_MAX ? l->cell[(d * l->rows + last) * units + j] : 0;
        double c = gate[units + j] * earlier + gate[j] * gate[2 * units + j];
        l->cell[(d * l->rows + r) * units + j] = c;
        l->h[(r * DIRECTIONS + d) * units + j] = gate[3 * units + j] * tanh(c);
    }
}

static void plain_forward(const struct layer *l) {
    for (size_t t = 0; t < l->texts; t++) {
        size_t first = (size_t)l->offset[t], end = (size_t)l->offset[t + 1];
        for (size_t i = 0; i < end - first; i++) {
            plain_row(l, 0, first + i, before(0, first + i, first, end));
            plain_row(l, 1, end - 1 - i, before(1, end - 1 - i, first, end));
        }
    }
}

/* Turns dh and dc [H] of a row into those of the row before. */
static void plain_row_backward(const struct layer *l, size_t d, size_t r, size_t last, double *dh,
                               double *dc) {
    size_t units = l->units, wide = GATES * units;
    const double *gate = l->gate + (d * l->rows + r) * wide;
    double *da = test_zeros64(wide);
    for (size_t j = 0; j < units; j++) {
        double i = gate[j], f = gate[units + j], g = gate[2 * units + j], o = gate[3 * units + j];
        double tc = tanh(l->cell[(d * l->rows + r) * units + j]);
        double earlier = last != SIZE_MAX ? l->cell[(d * l->rows + last) * units + j] : 0;
        double dhj = dh[j] + l->weight[(r * DIRECTIONS + d) * units + j];
        double dcj = dc[j] + dhj * o * (1 - tc * tc);
        da[j] = dcj * g * i * (1 - i);
        da[units + j] = dcj * earlier * f * (1 - f);
        da[2 * units + j] = dcj * i * (1 - g * g);
        da[3 * units + j] = dhj * tc * o * (1 - o);
        dc[j] = dcj * f;
        dh[j] = 0;
    }
    for (size_t i = 0; i < wide; i++) {
        l->db[d * wide + i] += da[i];
        for (size_t k = 0; k < l->in; k++) {
            l->dw[(d * wide + i) * l->in + k] += da[i] * l->x[r * l->in + k];
            l->dx[r * l->in + k] += da[i] * l->w[(d * wide + i) * l->in + k];
        }
        for (size_t k = 0; last != SIZE_MAX && k < units; k++) {
            l->du[(d * wide + i) * units + k] += da[i] * l->h[(last * DIRECTIONS + d) * units + k];
            dh[k] += da[i] * l->u[(d * wide + i) * units + k];
        }
    }
}

static void plain_backward(const struct layer *l) {
    for (size_t t = 0; t < l->texts; t++)
        for (size_t d = 0; d < DIRECTIONS; d++) {
            size_t first = (size_t)l->offset[t], end = (size_t)l->offset[t + 1];
            double *dh = test_zeros64(l->units), *dc = test_zeros64(l->units);
            for (size_t i = 0; i < end - first; i++) {
                size_t r = d == FORWARD ? end - 1 - i : first + i;
                plain_row_backward(l, d, r, before(d, r, first, end), dh, dc);
            }
        }
}

static double value(void *user) {
    const struct layer *l = user;
    plain_forward(l);
    return test_dot(l->rows * DIRECTIONS * l->units, l->h, l->weight);
}

/* Float copies of the layer's operands. */
struct given {
    float *x, *w, *u, *b, *weight;
};

static struct layer make(size_t texts, const int32_t *offset, size_t in, size_t units,
                         struct given *given) {
    size_t rows = (size_t)offset[texts], wide = DIRECTIONS * GATES * units;
    *given = (struct given){test_floats(rows * in, 1), test_floats(wide * in, 0.4),
                            test_floats(wide * units, 0.4), test_floats(wide, 1),
                            test_floats(rows * DIRECTIONS * units, 1)};
    return (struct layer){.texts = texts,
                          .rows = rows,
                          .in = in,
                          .units = units,
                          .offset = offset,
                          .x = test_widen(rows * in, given->x),
                          .w = test_widen(wide * in, given->w),
                          .u = test_widen(wide * units, given->u),
                          .b = test_widen(wide, given->b),
                          .gate = test_zeros64(rows * wide),
                          .cell = test_zeros64(rows * DIRECTIONS * units),
                          .h = test_zeros64(rows * DIRECTIONS * units),
                          .weight = test_widen(rows * DIRECTIONS * units, given->weight),
                          .dx = test_zeros64(rows * in),
                          .dw = test_zeros64(wide * in),
                          .du = test_zeros64(wide * units),
                          .db = test_zeros64(wide)};
}

Test(lstm, plain_backward_is_the_derivative) {
    enum { TEXTS = 4, IN = 3, UNITS = 2, WIDE = DIRECTIONS * GATES * UNITS };
    static const int32_t offset[TEXTS + 1] = {0, 3, 4, 9, 11};
    struct given given;
    struct layer l = make(TEXTS, offset, IN, UNITS, &given);
    value(&l);
    plain_backward(&l);
    gradcheck("x", l.rows * IN, l.x, l.dx, value, &l, GRADCHECK_TOLERANCE);
    gradcheck("w", WIDE * IN, l.w, l.dw, value, &l, GRADCHECK_TOLERANCE);
    gradcheck("u", WIDE * UNITS, l.u, l.du, value, &l, GRADCHECK_TOLERANCE);
    gradcheck("b", WIDE, l.b, l.db, value, &l, GRADCHECK_TOLERANCE);
}

/* Computes two steps of one unit by hand: torch.nn.LSTM(1, 1, bidirectional=True) with weights
 * of 1/2 of the gates i, f, g, o in this order, and biases 0, 1, 0, 0, on the inputs 1, -1. */
Test(lstm, plain_forward_is_the_definition) {
    static const int32_t offset[] = {0, 2};
    struct given given;
    struct layer l = make(1, offset, 1, 1, &given);
    for (size_t i = 0; i < DIRECTIONS * GATES; i++) {
        l.w[i] = l.u[i] = 0.5;
        l.b[i] = i % GATES == 1;
    }
    l.x[0] = 1;
    l.x[1] = -1;
    plain_forward(&l);
    for (size_t d = 0; d < DIRECTIONS;
         d++) { /* the backward direction sees the inputs turned round */
        double x = d == 0 ? 1 : -1;
        double c1 = sigmoid(x / 2) * tanh(x / 2), h1 = sigmoid(x / 2) * tanh(c1);
        double a = (-x + h1) / 2;
        double c2 = sigmoid(a + 1) * c1 + sigmoid(a) * tanh(a), h2 = sigmoid(a) * tanh(c2);
        near(l.h[d == 0 ? 0 : 3], h1, 1e-15);
        near(l.h[d == 0 ? 2 : 1], h2, 1e-15);
    }
}

/* ---- the kernels ---- */

struct result {
    float *h, *dx, *dw, *du, *db; /* as in the plain layer */
};

static struct result run(const struct nvdp__device *dev, const struct layer *l,
                         const struct given *given) {
    size_t rows = l->rows, units = l->units, wide = GATES * units, all = DIRECTIONS * wide;
    size_t longest = test_longest(l->texts, l->offset);
    struct result o = {test_zeros(rows * DIRECTIONS * units), test_zeros(rows * l->in),
                       test_zeros(all * l->in), test_zeros(all * units), test_zeros(all)};
    struct nvdp__steps steps = {0};
    struct nvdp__arena arena = {.base = test_zeros(1 << 12), .capacity = 1 << 12};
    nvdp__steps_plan(&arena, rows, longest, &steps);
    cr_assert_leq(arena.used, arena.capacity);
    nvdp__steps_fill(l->texts, l->offset, &steps);
    float *x = test_zeros(rows * l->in), *dx = test_zeros(rows * l->in);
    float *d_out = test_zeros(rows * DIRECTIONS * units), *earlier = test_zeros(rows * units);
    struct nvdp__lstm lstm = {.steps = &steps,
                              .units = units,
                              .u = {given->u, given->u + wide * units},
                              .gates = test_zeros(rows * all),
                              .cell = test_zeros(rows * DIRECTIONS * units),
                              .out = test_zeros(rows * DIRECTIONS * units),
                              .scratch = test_zeros(nvdp__lstm_scratch(units, l->texts))};
    nvdp__rows_gather(dev, rows, l->in, steps.row, given->x, x);
    op_linear_forward(dev, rows, l->in, all, x, given->w, given->b, lstm.gates);
    nvdp__lstm_forward(dev, &lstm);
    nvdp__rows_gather(dev, rows, DIRECTIONS * units, steps.place, lstm.out, o.h);
    nvdp__rows_gather(dev, rows, DIRECTIONS * units, steps.row, given->weight, d_out);
    nvdp__lstm_backward(dev, &lstm, d_out);
    for (size_t d = 0; d < DIRECTIONS; d++)
        nvdp__lstm_backward_weight(dev, &lstm, d, earlier, o.du + d * wide * units);
    op_linear_backward(dev, rows, l->in, all, x, given->w, lstm.gates, dx, false, o.dw, o.db);
    nvdp__rows_gather(dev, rows, l->in, steps.place, dx, o.dx);
    return o;
}

/* Batches with texts of one token, of equal length, and of more than a block; numbers of units
 * around the kernels' widths. */
static const struct {
    size_t texts, units, in, step; /* text b has 1 + b * step % 11 tokens */
} batches[] = {{1, 1, 1, 3},   {3, 5, 2, 0},  {40, 7, 3, 7},
               {18, 16, 4, 5}, {5, 70, 9, 3}, {2, 64, 1, 9}};

Test(lstm, kernels_are_the_plain_ones) {
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        size_t texts = batches[i].texts, units = batches[i].units, in = batches[i].in;
        int32_t offset[64] = {0};
        for (size_t b = 0; b < texts; b++)
            offset[b + 1] = offset[b] + 1 + (int32_t)(b * batches[i].step % 11);
        struct given given;
        struct layer l = make(texts, offset, in, units, &given);
        plain_forward(&l);
        plain_backward(&l);
        struct result one = run(&test_devices[FAST_ONE], &l, &given);
        struct result two = run(&test_devices[FAST_TWO], &l, &given);
        size_t wide = DIRECTIONS * GATES * units, states = l.rows * DIRECTIONS * units;
        /* States are near 1 and pass through at most eleven steps, each of which is a
         * contraction. */
        test_close("h", states, one.h, l.h, FLOAT_TOLERANCE);
        test_close("dx", l.rows * in, one.dx, l.dx, 3 * FLOAT_TOLERANCE);
        test_close("dw", wide * in, one.dw, l.dw, 3 * FLOAT_TOLERANCE);
        test_close("du", wide * units, one.du, l.du, 3 * FLOAT_TOLERANCE);
        test_close("db", wide, one.db, l.db, 3 * FLOAT_TOLERANCE);
        test_same("h", states, one.h, two.h);
        test_same("dx", l.rows * in, one.dx, two.dx);
        test_same("dw", wide * in, one.dw, two.dw);
        test_same("du", wide * units, one.du, two.du);
        test_same("db", wide, one.db, two.db);
    }
}

/* A text's states have the same bits whatever the other texts of the batch. */
Test(lstm, texts_do_not_see_each_other) {
    enum { TEXTS = 20, UNITS = 20, IN = 3 };
    int32_t offset[TEXTS + 1] = {0};
    for (int b = 0; b < TEXTS; b++)
        offset[b + 1] = offset[b] + 1 + b * 5 % 7;
    struct given given;
    struct layer l = make(TEXTS, offset, IN, UNITS, &given);
    struct result all = run(&test_devices[FAST_ONE], &l, &given);
    for (int b = 0; b < TEXTS; b++) {
        int32_t alone[] = {0, offset[b + 1] - offset[b]};
        struct layer part = l;
        struct given its = given;
        part.texts = 1;
        part.offset = alone;
        part.rows = (size_t)alone[1];
        its.x += offset[b] * IN;
        its.weight += (size_t)offset[b] * DIRECTIONS * UNITS;
        struct result one = run(&test_devices[FAST_ONE], &part, &its);
        /* BLAS computes the input products and may sum in another order, so test_same is too
         * strict. */
        test_close("h", part.rows * DIRECTIONS * UNITS, one.h,
                   test_widen(part.rows * DIRECTIONS * UNITS,
                              all.h + (size_t)offset[b] * DIRECTIONS * UNITS),
                   FLOAT_TOLERANCE);
    }
}
