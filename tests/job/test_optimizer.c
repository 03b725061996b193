/* Compares the optimizer's single pass with a step of AdamW over every tensor, bit for bit. */
#include "job/optimizer.h"
#include "tests/support/plain_kernels.h"
#include "tests/support/support.h"

enum { ROWS = 60, DIM = 24, STEPS = 9 };
enum { LONG, TABLE, BIAS, FROZEN, JOINED, TENSORS };

/* Declares a matrix of more than one span, an embedding table, and small tensors. */
static void declare(struct nvdp__params *params, struct nvdp_context *ctx, unsigned table_flags) {
    const struct {
        const char *name;
        size_t rows, cols;
        unsigned flags;
    } table[TENSORS] = {
        [LONG] = {"long", 170, 100, NVDP__PARAM_DECAY | NVDP__PARAM_SET},
        [TABLE] = {"table", ROWS, DIM, NVDP__PARAM_DECAY | table_flags},
        [BIAS] = {"bias", 33, 1, 0},
        [FROZEN] = {"frozen", 40, 2, NVDP__PARAM_DECAY | NVDP__PARAM_FROZEN},
        [JOINED] = {"joined", 21, 1, NVDP__PARAM_JOINED},
    };
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    nvdp__params_init(params, ctx);
    for (size_t i = 0; i < TENSORS; i++) {
        size_t index;
        ok(nvdp__params_add(params, table[i].name, 2, table[i].rows, table[i].cols, table[i].flags,
                            &index));
    }
    ok(nvdp__params_allocate(params, true));
    for (size_t i = 0; i < TENSORS; i++)
        nvdp__params_normal(&dev, params, i, 0.5, 3);
}

struct setting {
    double weight_decay, clip_norm;
    int threads;
    double momentum;                /* SGD's */
    enum nvdp__optimizer_kind kind; /* AdamW or SGD */
    bool anchored; /* decay pulls towards the initial weights in the table's upper rows */
};

struct trainee {
    struct nvdp__device dev;
    struct nvdp__params params;
    struct nvdp__optimizer optimizer;
};

/* Returns an anchor with a different value for every weight; rows from ANCHORED on have their
 * present values. */
enum { ANCHORED = ROWS / 2 };
static float *make_anchor(const struct nvdp__params *params) {
    float *anchor = calloc(params->total, sizeof *anchor);
    cr_assert_not_null(anchor);
    for (size_t i = 0; i < params->total; i++)
        anchor[i] = 0.3f * (float)cos((double)i);
    size_t at = params->entry[TABLE].offset + ANCHORED * DIM;
    memcpy(anchor + at, params->value + at, (ROWS - ANCHORED) * DIM * sizeof *anchor);
    return support_keep(anchor);
}

static void begin_as(struct trainee *t, struct nvdp_context *ctx, const struct setting *s,
                     unsigned table_flags) {
    *t = (struct trainee){.dev = nvdp__device_cpu(ctx)};
    t->dev.threads = s->threads;
    declare(&t->params, ctx, table_flags);
    t->optimizer.kind = s->kind;
    t->optimizer.momentum = s->momentum;
    t->optimizer.adamw =
        (struct nvdp__adamw_options){.lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .adam_eps = 1e-8};
    t->optimizer.adamw.weight_decay = s->weight_decay;
    t->optimizer.adamw.clip_norm = s->clip_norm;
    ok(nvdp__optimizer_create(ctx, &t->params, &t->optimizer));
    if (s->anchored) t->optimizer.anchor = make_anchor(&t->params);
    support_keep_parts(*t);
}

static void begin(struct trainee *t, struct nvdp_context *ctx, const struct setting *s) {
    begin_as(t, ctx, s, NVDP__PARAM_ROWS);
}

/* Returns a value uniform in [-1, 1) that depends only on step, tensor and element. */
static float gradient_at(int step, size_t tensor, size_t i) {
    uint64_t x = ((uint64_t)step * 131 + tensor) * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 29)) * 0x94d049bb133111ebu;
    return (float)((double)(x >> 11) * 0x1p-52 - 1);
}

/* Returns whether a step uses a row: each step uses some rows, step 4 none, step 6 all if `all`;
 * many are never used. Row 5 is announced in step 1 with a gradient of zero. */
static bool uses(int step, size_t row, bool all) {
    if (step == 4) return false;
    if (step == 6 && all) return true;
    return row == (size_t)step || row == 2 * (size_t)step + 7 || (row == 3 && step % 2 == 0);
}

static float row_gradient(int step, size_t i, bool all) {
    return uses(step, i / DIM, all) ? gradient_at(step, TABLE, i) : 0;
}

/* Proceeds like a step: gradients begin, rows are announced, gradients are written or added. */
static void backward(struct trainee *t, int step, bool all) {
    nvdp__grad_begin(&t->dev, &t->params);
    for (size_t tensor = 0; tensor < TENSORS; tensor++)
        for (size_t i = 0; tensor != TABLE && i < t->params.entry[tensor].count; i++) {
            float *to = t->params.grad + t->params.entry[tensor].offset + i;
            *to = (t->params.entry[tensor].flags & NVDP__PARAM_SET ? 0 : *to) +
                  gradient_at(step, tensor, i);
        }
    int32_t index[2 * ROWS + 1];
    size_t count = 0;
    for (int32_t r = 0; r < ROWS; r++)
        for (int twice = 0; twice < 2 && uses(step, (size_t)r, all); twice++)
            index[count++] = r;
    if (step == 1) index[count++] = 5;
    bool every = step == 6 && all;
    nvdp__grad_rows(&t->params, every ? 0 : count, every ? NULL : index);
    float *table = t->params.grad + t->params.entry[TABLE].offset;
    for (size_t i = 0; i < (size_t)ROWS * DIM; i++)
        table[i] += row_gradient(step, i, all);
}

static double factor_at(int step) {
    return step == 8 ? 0 : 1 - 0.1 * step;
}

static double step_once(struct trainee *t, int step, bool all) {
    double norm;
    backward(t, step, all);
    ok(nvdp__optimizer_step(&t->optimizer, &t->dev, &t->params, factor_at(step), &norm));
    return norm;
}

/* The dense reference: all gradients in full, one call per tensor. */
struct dense {
    float *g, *m, *v, *x;
};

static void dense_begin(struct dense *d, const struct trainee *t) {
    float **each[] = {&d->g, &d->m, &d->v, &d->x};
    for (size_t i = 0; i < 4; i++) {
        *each[i] = support_keep(calloc(t->params.total, sizeof(float)));
        cr_assert_not_null(*each[i]);
    }
    memcpy(d->x, t->params.value, t->params.total * sizeof *d->x);
}

static double dense_gradient(struct dense *d, const struct trainee *t, int step, bool all) {
    double squares = 0;
    for (size_t tensor = 0; tensor < TENSORS; tensor++) {
        const struct nvdp__param *entry = &t->params.entry[tensor];
        for (size_t i = 0; i < entry->count; i++) {
            float g = tensor == TABLE ? row_gradient(step, i, all) : gradient_at(step, tensor, i);
            d->g[entry->offset + i] = g;
            if (tensor != FROZEN) squares += (double)g * (double)g;
        }
    }
    return sqrt(squares);
}

/* Computes in double and rounds where the kernel stores a number; its two additional roundings
 * are below 2^-22 each. */
static void dense_descent(struct dense *d, const struct nvdp__optimizer *o,
                          const struct nvdp__adamw *opt, size_t at, size_t n) {
    for (size_t i = at; i < at + n; i++) {
        double from = o->anchor != NULL ? (double)o->anchor[i] : 0;
        d->m[i] = (float)(o->momentum * (double)d->m[i] + opt->grad_scale * (double)d->g[i]);
        d->x[i] = (float)((double)d->x[i] - opt->lr * opt->weight_decay * ((double)d->x[i] - from) -
                          opt->lr * (double)d->m[i]);
    }
}

/* norm: the optimizer's, which was checked; its last bit affects the clipping factor. */
static void dense_step(struct dense *d, const struct trainee *t, const struct setting *s, int step,
                       double norm) {
    const struct nvdp__optimizer *o = &t->optimizer;
    struct nvdp__adamw opt = {.lr = o->adamw.lr * factor_at(step),
                              .beta1 = o->adamw.beta1,
                              .beta2 = o->adamw.beta2,
                              .eps = o->adamw.adam_eps,
                              .bias1 = 1 - pow(o->adamw.beta1, step + 1),
                              .bias2 = 1 - pow(o->adamw.beta2, step + 1),
                              .grad_scale = 1};
    if (s->clip_norm > 0 && norm > s->clip_norm) opt.grad_scale = s->clip_norm / (norm + 1e-6);
    for (size_t tensor = 0; tensor < TENSORS; tensor++) {
        const struct nvdp__param *entry = &t->params.entry[tensor];
        size_t at = entry->offset;
        if (tensor == FROZEN) continue;
        opt.weight_decay = entry->flags & NVDP__PARAM_DECAY ? s->weight_decay : 0;
        if (s->kind == NVDP__OPTIMIZER_SGD) {
            dense_descent(d, o, &opt, at, entry->count);
            continue;
        }
        support_adamw_step(&t->dev, &opt, entry->count, d->g + at,
                           o->anchor != NULL ? o->anchor + at : NULL, d->m + at, d->v + at,
                           d->x + at);
    }
}

/* Compares tensor by tensor because padding belongs to no tensor. */
static void same(const char *what, const struct nvdp__params *params, const float *a,
                 const float *b) {
    for (size_t tensor = 0; tensor < TENSORS; tensor++) {
        const struct nvdp__param *entry = &params->entry[tensor];
        for (size_t i = entry->offset; i < entry->offset + entry->count; i++)
            cr_assert_eq(memcmp(a + i, b + i, sizeof *a), 0, "%s of '%s': element %zu: %a and %a",
                         what, entry->name, i - entry->offset, (double)a[i], (double)b[i]);
    }
}

static void expect_near(const char *what, const struct nvdp__params *params, const float *a,
                        const float *b) {
    for (size_t tensor = 0; tensor < TENSORS; tensor++) {
        const struct nvdp__param *entry = &params->entry[tensor];
        for (size_t i = entry->offset; i < entry->offset + entry->count; i++)
            near((double)a[i], (double)b[i], 1e-5, "%s of '%s'", what, entry->name);
    }
}

static void compare(const struct trainee *t, const struct dense *d) {
    if (t->optimizer.kind == NVDP__OPTIMIZER_SGD) {
        expect_near("value", &t->params, t->params.value, d->x);
        expect_near("momentum", &t->params, t->optimizer.m, d->m);
        return;
    }
    same("value", &t->params, t->params.value, d->x);
    same("first moment", &t->params, t->optimizer.m, d->m);
    same("second moment", &t->params, t->optimizer.v, d->v);
}

static void both_step(struct trainee *a, struct trainee *b, int step) {
    double norm = step_once(a, step, false), other = step_once(b, step, false);
    cr_assert_eq(norm, other);
}

static size_t idle_rows(const struct trainee *t) {
    size_t idle = 0;
    for (size_t r = 0; r < t->optimizer.rows; r++)
        idle += t->optimizer.span[t->optimizer.first_row + r].idle;
    return idle;
}

static void check(const struct setting *s, bool all) {
    struct nvdp_context *ctx = support_context();
    struct trainee t;
    struct dense d;
    begin(&t, ctx, s);
    dense_begin(&d, &t);
    for (int step = 0; step < STEPS; step++) {
        double norm = step_once(&t, step, all);
        double want = dense_gradient(&d, &t, step, all);
        near(norm, want, 1e-12 * want); /* sums of 2e4 terms in double */
        dense_step(&d, &t, s, step, norm);
        compare(&t, &d);
        if (step == 5) cr_assert_gt(idle_rows(&t), ROWS / 2, "rows are passed over");
        if (step == 6 && all) cr_assert_eq(idle_rows(&t), 0);
    }
}

Test(optimizer, equals_a_dense_pass) {
    for (int threads = 1; threads <= 2; threads++)
        for (int decay = 0; decay < 2; decay++)
            for (int clip = 0; clip < 2; clip++)
                for (int all = 0; all < 2; all++)
                    for (int anchored = 0; anchored < 2; anchored++) {
                        struct setting s = {decay * 0.1, clip * 1.0, threads,
                                            .anchored = anchored == 1};
                        check(&s, all == 1);
                    }
}

Test(optimizer, sgd_equals_a_dense_pass) {
    for (int i = 0; i < 64; i++) {
        struct setting s = {(i & 1) * 0.1, (i >> 1 & 1) * 1.0, 1 + (i >> 2 & 1),
                            .momentum = (i >> 3 & 1) * 0.9};
        s.kind = NVDP__OPTIMIZER_SGD;
        s.anchored = i >> 4 & 1;
        check(&s, i >> 5 & 1);
    }
}

/* Rows that never had a gradient and begin at their anchor stay there. The others move towards
 * theirs by a tenth of the rate per step, which adds float32 roundings of 6e-8 of weights below
 * 3. */
Test(optimizer, rows_at_their_anchor_stay) {
    struct nvdp_context *ctx = support_context();
    const struct setting s = {0.1, 1, 1, .anchored = true};
    struct trainee t;
    struct dense start;
    begin(&t, ctx, &s);
    dense_begin(&start, &t);
    double kept = 1;
    for (int step = 0; step < STEPS; step++) {
        step_once(&t, step, false);
        kept *= 1 - t.optimizer.adamw.lr * factor_at(step) * s.weight_decay;
    }
    size_t at = t.params.entry[TABLE].offset, untouched = 0;
    for (size_t r = 0; r < ROWS; r++) {
        if (t.params.use->ever[r]) continue;
        untouched++;
        for (size_t i = at + r * DIM; i < at + (r + 1) * DIM; i++) {
            double anchor = t.optimizer.anchor[i];
            double want = anchor + kept * ((double)start.x[i] - anchor);
            if (r >= ANCHORED)
                cr_assert_eq(t.params.value[i], start.x[i]);
            else
                near(t.params.value[i], want, 2e-6);
        }
    }
    cr_assert_gt(untouched, ROWS / 2);
}

/* With a clip above the norm, and gradients kept without nvdp__grad_begin, no row is idle. */
Test(optimizer, untracked_gradients_are_dense) {
    struct nvdp_context *ctx = support_context();
    const struct setting s = {0.1, 1e6, 2, .anchored = false};
    struct trainee t;
    struct dense d;
    begin(&t, ctx, &s);
    dense_begin(&d, &t);
    for (int step = 0; step < 3; step++) {
        double norm;
        dense_gradient(&d, &t, step, false);
        memcpy(t.params.grad, d.g, t.params.total * sizeof *d.g);
        ok(nvdp__optimizer_step(&t.optimizer, &t.dev, &t.params, factor_at(step), &norm));
        cr_assert_eq(idle_rows(&t), 0);
        dense_step(&d, &t, &s, step, norm);
        compare(&t, &d);
    }
    /* Rows that got moments before tracking began stay live. */
    double norm = step_once(&t, 3, false);
    dense_gradient(&d, &t, 3, false);
    dense_step(&d, &t, &s, 3, norm);
    compare(&t, &d);
}

/* The norm's sum is divided differently, so nothing is clipped here. */
static void flag_changes_nothing(enum nvdp__optimizer_kind kind) {
    struct nvdp_context *ctx = support_context();
    const struct setting s = {0.1, 0, 1, .momentum = 0.9, .kind = kind};
    struct trainee with, without;
    begin(&with, ctx, &s);
    begin_as(&without, ctx, &s, 0);
    cr_expect_eq(without.optimizer.rows, 0);
    for (int step = 0; step < STEPS; step++) {
        double norm = step_once(&with, step, true), other = step_once(&without, step, true);
        near(other, norm, 1e-12 * norm);
    }
    same("value", &with.params, with.params.value, without.params.value);
}

Test(optimizer, tables_without_the_flag_are_dense) {
    flag_changes_nothing(NVDP__OPTIMIZER_ADAMW);
    flag_changes_nothing(NVDP__OPTIMIZER_SGD);
}

/* As in a checkpoint only parameters and moments are kept; the anchor is recomputed. */
Test(optimizer, goes_on_after_restoring) {
    struct nvdp_context *ctx = support_context();
    const struct setting s = {0.1, 1, 2, .anchored = true};
    for (int stop = 1; stop < STEPS; stop++) {
        struct trainee whole, first, second;
        begin(&whole, ctx, &s);
        begin(&first, ctx, &s);
        begin(&second, ctx, &s);
        for (int step = 0; step < stop; step++)
            both_step(&whole, &first, step);
        size_t bytes = whole.params.total * sizeof(float);
        memcpy(second.params.value, first.params.value, bytes);
        memcpy(second.optimizer.m, first.optimizer.m, bytes);
        memcpy(second.optimizer.v, first.optimizer.v, bytes);
        second.optimizer.steps_taken = first.optimizer.steps_taken;
        nvdp__optimizer_restored(&second.optimizer, &second.params);
        for (int step = stop; step < STEPS; step++)
            both_step(&whole, &second, step);
        same("value", &whole.params, whole.params.value, second.params.value);
        same("first moment", &whole.params, whole.optimizer.m, second.optimizer.m);
        same("second moment", &whole.params, whole.optimizer.v, second.optimizer.v);
        cr_assert_gt(idle_rows(&second), ROWS / 2);
    }
}

Test(optimizer, restoring_without_a_table) {
    struct nvdp_context *ctx = support_context();
    const struct setting s = {0, 0, 1, .anchored = false};
    struct trainee t;
    begin_as(&t, ctx, &s, 0);
    nvdp__optimizer_restored(&t.optimizer, &t.params);
    cr_expect_null(t.params.use);
}

Test(optimizer, frozen_tensors_stay) {
    struct nvdp_context *ctx = support_context();
    const struct setting s = {0.1, 0, 1, .anchored = false};
    for (int frozen_table = 0; frozen_table < 2; frozen_table++) {
        struct trainee t;
        unsigned flags = frozen_table ? NVDP__PARAM_FROZEN : 0;
        begin_as(&t, ctx, &s, NVDP__PARAM_ROWS | flags);
        size_t tensor = frozen_table ? TABLE : FROZEN;
        size_t at = t.params.entry[tensor].offset;
        size_t bytes = t.params.entry[tensor].count * sizeof(float);
        nvdp__autofree float *before = malloc(bytes);
        cr_assert_not_null(before);
        memcpy(before, t.params.value + at, bytes);
        double norm = step_once(&t, 0, true);
        cr_expect_eq(memcmp(before, t.params.value + at, bytes), 0);
        for (size_t i = at; i < at + bytes / sizeof(float); i++)
            cr_assert(t.optimizer.m[i] == 0 && t.optimizer.v[i] == 0);
        double squares = 0;
        for (size_t i = 0; i < TENSORS; i++)
            for (size_t j = 0; i != tensor && i != FROZEN && j < t.params.entry[i].count; j++)
                squares += pow((double)nvdp__grad(&t.params, i)[j], 2);
        near(norm, sqrt(squares), 1e-12 * norm, "frozen ones do not count");
    }
}

/* A table whose rows are longer than a span is divided like any tensor. */
Test(optimizer, wide_tables_are_dense) {
    struct nvdp_context *ctx = support_context();
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    nvdp__auto(nvdp__params_release) struct nvdp__params params;
    nvdp__auto(nvdp__optimizer_release) struct nvdp__optimizer optimizer = {
        .adamw = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .adam_eps = 1e-8, .weight_decay = 0.5}};
    enum { WIDE = NVDP__SPAN + 1 };
    size_t table;
    nvdp__params_init(&params, ctx);
    ok(nvdp__params_add(&params, "t", 2, 3, WIDE, NVDP__PARAM_ROWS | NVDP__PARAM_DECAY, &table));
    ok(nvdp__params_allocate(&params, true));
    ok(nvdp__optimizer_create(ctx, &params, &optimizer));
    cr_expect_eq(optimizer.rows, 0);
    nvdp__params_fill(&dev, &params, table, 1);
    nvdp__grad_begin(&dev, &params);
    const int32_t index[] = {1};
    nvdp__grad_rows(&params, 1, index);
    nvdp__grad(&params, table)[WIDE] = 2;
    double norm;
    ok(nvdp__optimizer_step(&optimizer, &dev, &params, 1, &norm));
    cr_expect_eq(norm, 2);
    near(params.value[WIDE], 1 - 0.05 - 0.1, 1e-6);
    near(params.value[0], 1 - 0.05, 1e-6);
    near(params.value[3 * WIDE - 1], 1 - 0.05, 1e-6);
}

Test(optimizer, gradients_that_are_not_finite_change_nothing) {
    struct nvdp_context *ctx = support_context();
    const struct setting s = {0.1, 1, 2, .anchored = false};
    struct trainee t;
    struct dense d;
    begin(&t, ctx, &s);
    step_once(&t, 0, false);
    dense_begin(&d, &t);
    memcpy(d.m, t.optimizer.m, t.params.total * sizeof *d.m);
    memcpy(d.v, t.optimizer.v, t.params.total * sizeof *d.v);
    backward(&t, 1, false);
    nvdp__grad(&t.params, BIAS)[7] = NAN;
    double norm = 5;
    cr_assert_eq(nvdp__optimizer_step(&t.optimizer, &t.dev, &t.params, 1, &norm), NVDP_ERR_NUMERIC);
    cr_expect_eq(norm, 5);
    cr_expect_eq(t.optimizer.steps_taken, 1);
    compare(&t, &d);
}

Test(optimizer, survives_every_failed_allocation) {
    struct nvdp_context *ctx = support_context();
    nvdp__auto(nvdp__params_release) struct nvdp__params params;
    declare(&params, ctx, NVDP__PARAM_ROWS);
    uint64_t k = 1;
    for (;; k++) {
        struct nvdp__optimizer optimizer = {0};
        nvdp__fail_allocation(ctx, k);
        nvdp_status status = nvdp__optimizer_create(ctx, &params, &optimizer);
        nvdp__fail_allocation(ctx, 0);
        nvdp__optimizer_release(&optimizer);
        if (status == NVDP_OK) break;
        cr_assert_eq(status, NVDP_ERR_MEMORY);
        cr_assert_lt(k, 100);
    }
    cr_expect_gt(k, 4, "moments, spans and partial sums");
}

/* With Muon, the matrices of linear maps take its step; all other tensors take AdamW's step as
 * without Muon. */
Test(optimizer, muon_for_linear_maps_alone) {
    const struct setting s = {.weight_decay = 0.1, .clip_norm = 0, .threads = 1};
    struct nvdp_context *ctx = support_context();
    struct trainee with, without;
    begin(&with, ctx, &s);
    begin(&without, ctx, &s);
    nvdp__optimizer_release(&with.optimizer);
    with.params.entry[LONG].flags |= NVDP__PARAM_LINEAR;
    with.optimizer.kind = NVDP__OPTIMIZER_MUON;
    with.optimizer.momentum = 0.9;
    ok(nvdp__optimizer_create(ctx, &with.params, &with.optimizer));
    support_keep_parts(with);
    cr_assert_eq(with.optimizer.matrices, 1);
    const struct nvdp__param *entry = &with.params.entry[LONG];
    const struct nvdp__matrix matrix = {
        .rows = entry->shape[0], .cols = entry->shape[1], .decays = true};
    nvdp__autofree float *room = calloc(nvdp__muon_scratch(1, &matrix), sizeof *room),
                         *m = calloc(entry->count, sizeof *m),
                         *x = malloc(entry->count * sizeof *x);
    cr_assert(room != NULL && m != NULL && x != NULL);
    memcpy(x, nvdp__value(&with.params, LONG), entry->count * sizeof *x);
    for (int step = 0; step < 3; step++) {
        both_step(&with, &without, step);
        const double lr = with.optimizer.adamw.lr * factor_at(step);
        const struct nvdp__muon opt = {
            .lr = lr, .momentum = 0.9, .weight_decay = 0.1, .grad_scale = 1};
        nvdp__muon_step(&with.dev, &opt, 1, &matrix, room, nvdp__grad(&with.params, LONG), m, x);
        cr_assert_arr_eq(nvdp__value(&with.params, LONG), x, entry->count * sizeof *x);
        for (size_t tensor = TABLE; tensor < TENSORS; tensor++)
            cr_assert_arr_eq(nvdp__value(&with.params, tensor),
                             nvdp__value(&without.params, tensor),
                             with.params.entry[tensor].count * sizeof *x);
    }
}

/* All tensors share one clipped gradient but have different rates: each has the bits of a run at
 * its rate. */
Test(optimizer, parts_have_rates_of_their_own) {
    const struct setting s = {.weight_decay = 0.1, .clip_norm = 1, .threads = 2};
    struct nvdp_context *ctx = support_context();
    const double rate[] = {0.01, 0.003, 0};
    struct trainee parts, alone[3];
    begin(&parts, ctx, &s);
    nvdp__optimizer_release(&parts.optimizer);
    parts.optimizer.rate[0] = (struct nvdp__rate){.tensor = TABLE, .lr = rate[1]};
    parts.optimizer.rate[1] = (struct nvdp__rate){.tensor = FROZEN, .lr = rate[2]};
    parts.optimizer.rates = 2;
    ok(nvdp__optimizer_create(ctx, &parts.params, &parts.optimizer));
    support_keep_parts(parts);
    for (int i = 0; i < 3; i++) {
        begin(&alone[i], ctx, &s);
        alone[i].optimizer.adamw.lr = rate[i];
    }
    for (int step = 0; step < STEPS; step++) {
        double norm = step_once(&parts, step, false);
        for (int i = 0; i < 3; i++)
            cr_assert_eq(step_once(&alone[i], step, false), norm);
        for (size_t tensor = 0; tensor < TENSORS; tensor++)
            cr_assert_arr_eq(nvdp__value(&parts.params, tensor),
                             nvdp__value(&alone[tensor < TABLE    ? 0
                                                : tensor < FROZEN ? 1
                                                                  : 2]
                                              .params,
                                         tensor),
                             parts.params.entry[tensor].count * sizeof(float));
    }
}
