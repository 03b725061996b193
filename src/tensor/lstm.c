/* Bidirectional LSTM layers over packed texts (Hochreiter & Schmidhuber 1997; forget gate: Gers,
 * Schmidhuber & Cummins 2000).
 *
 *     (i, f, g, o) = W x_t + b + U h_t-1       rows of W, b and U in this order
 *     c_t          = sigmoid(f) c_t-1 + sigmoid(i) tanh(g)
 *     h_t          = sigmoid(o) tanh(c_t)
 *
 * h and c are 0 before the first token of a text; the backward direction reads from the last
 * token to the first. One product computes W x + b for all tokens and both directions first
 * (dense.c). The rest depends on the previous step: a product of the rows of one position, and
 * the gates. One thread computes one direction of a few texts, from the first step to the last. */
#include "tensor/kernels.h"

/* U is packed so that the columns of a product are the four gates of UNITS units (forward) or
 * PANEL units (backward). The gates of a panel are then computed while its product is in the
 * cache. TEXTS texts share a panel. */
enum { UNITS = 16, GATES = 4, PANEL = 64, TEXTS = 16 };
enum { FORWARD, BACKWARD, DIRECTIONS };

/* ---- texts grouped by position ---- */

static int32_t *take_table(struct nvdp__arena *arena, size_t n) {
    return (int32_t *)(void *)nvdp__arena_take(arena, n);
}

void nvdp__steps_plan(struct nvdp__arena *arena, size_t max_rows, size_t longest,
                      struct nvdp__steps *steps) {
    steps->first = take_table(arena, longest + 1);
    steps->next = take_table(arena, longest + 1);
    steps->row = take_table(arena, max_rows);
    steps->place = take_table(arena, max_rows);
    steps->before[FORWARD] = take_table(arena, max_rows);
    steps->before[BACKWARD] = take_table(arena, max_rows);
}

/* Returns the number of rows at position t; 0 after the last position. */
static size_t rows_at(const struct nvdp__steps *steps, size_t t) {
    return t < steps->count ? (size_t)(steps->first[t + 1] - steps->first[t]) : 0;
}

void nvdp__steps_fill(size_t texts, const int32_t *offset, struct nvdp__steps *steps) {
    size_t longest = 0;
    for (size_t b = 0; b < texts; b++) {
        size_t tokens = (size_t)(offset[b + 1] - offset[b]);
        longest = nvdp__max(tokens, longest);
    }
    steps->texts = texts;
    steps->rows = (size_t)(offset[texts] - offset[0]);
    steps->count = longest;
    /* next[t] is the number of texts with more than t tokens, which is the rank of the first
     * text with t tokens. */
    memset(steps->next, 0, (longest + 1) * sizeof *steps->next);
    for (size_t b = 0; b < texts; b++)
        for (int32_t t = 0; t < offset[b + 1] - offset[b]; t++)
            steps->next[t]++;
    steps->first[0] = 0;
    for (size_t t = 0; t < longest; t++)
        steps->first[t + 1] = steps->first[t] + steps->next[t];
    for (size_t b = 0; b < texts; b++) {
        int32_t tokens = offset[b + 1] - offset[b];
        int32_t k = steps->next[tokens]++;
        for (int32_t t = 0; t < tokens; t++) {
            int32_t r = steps->first[t] + k;
            steps->row[r] = offset[b] + t;
            steps->place[offset[b] + t] = r;
            /* states have one row per direction: [2 rows, H] */
            steps->before[FORWARD][r] = t > 0 ? DIRECTIONS * (steps->first[t - 1] + k) : -1;
            steps->before[BACKWARD][r] =
                t + 1 < tokens ? DIRECTIONS * (steps->first[t + 1] + k) + BACKWARD : -1;
        }
    }
}

/* ---- U in panels ---- */

static size_t panel_floats(size_t units) {
    size_t forward = nvdp__blocks(units, UNITS) * units;
    size_t backward = nvdp__blocks(units, PANEL) * GATES * units;
    return nvdp__max(forward, backward) * PANEL;
}

size_t nvdp__lstm_scratch(size_t units, size_t max_texts) {
    return DIRECTIONS * (panel_floats(units) + max_texts * units);
}

static float *direction_panels(const struct nvdp__lstm *lstm, size_t direction) {
    return lstm->scratch + direction * panel_floats(lstm->units);
}

/* Returns the gradient of c that is carried to the previous step, [2, texts, H]. */
static float *carried_gradient(const struct nvdp__lstm *lstm, size_t direction) {
    return lstm->scratch + DIRECTIONS * panel_floats(lstm->units) +
           direction * lstm->steps->texts * lstm->units;
}

/* Copies the columns of U^T of units [first, first + count), gate after gate, to `to` [H, 64]. */
static void pack_gates(size_t units, size_t first, size_t count, const float *u, float *to) {
    memset(to, 0, units * PANEL * sizeof *to);
    for (size_t g = 0; g < GATES; g++)
        for (size_t j = 0; j < count; j++) {
            const float *from = u + (g * units + first + j) * units;
            for (size_t l = 0; l < units; l++)
                to[l * PANEL + g * UNITS + j] = from[l];
        }
}

/* Copies the columns [first, first + count) of U to `to` [4H, 64]. */
static void pack_units(size_t units, size_t first, size_t count, const float *u, float *to) {
    memset(to, 0, GATES * units * PANEL * sizeof *to);
    for (size_t l = 0; l < GATES * units; l++)
        memcpy(to + l * PANEL, u + l * units + first, count * sizeof *to);
}

static void pack(const struct nvdp__device *dev, const struct nvdp__lstm *lstm, bool forward) {
    size_t units = lstm->units;
    size_t wide = forward ? UNITS : PANEL;
    size_t deep = forward ? units : GATES * units;
    size_t panels = nvdp__blocks(units, wide);
    int team = nvdp__team(dev, DIRECTIONS * GATES * units * units);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t i = 0; i < DIRECTIONS * panels; i++) {
        size_t d = i / panels, p = i % panels;
        float *to = direction_panels(lstm, d) + p * deep * PANEL;
        (forward ? pack_gates : pack_units)(units, p * wide, nvdp__block_length(units, wide, p),
                                            lstm->u[d], to);
    }
}

/* ---- gates ---- */

NVDP__INLINE float sigmoid(float x) {
    return 1.0f / (1.0f + nvdp__fast_exp(-x));
}

/* Addresses of the units of one row; `before` points to zeros if there is no previous step. */
struct cell {
    float *gate; /* i, f, g, o, H floats apart */
    float *c;
    const float *before; /* c of the previous step */
};

NVDP__INLINE void cell_forward(size_t n, size_t units, const float *restrict product,
                               struct cell at, float *restrict h) {
    float *restrict i = at.gate, *restrict f = i + units;
    float *restrict g = f + units, *restrict o = g + units;
#pragma omp simd
    for (size_t j = 0; j < n; j++) {
        i[j] = sigmoid(i[j] + product[j]);
        f[j] = sigmoid(f[j] + product[UNITS + j]);
        g[j] = nvdp__fast_tanh(g[j] + product[2 * UNITS + j]);
        o[j] = sigmoid(o[j] + product[3 * UNITS + j]);
        at.c[j] = f[j] * at.before[j] + i[j] * g[j];
        h[j] = o[j] * nvdp__fast_tanh(at.c[j]);
    }
}

/* Computes the gradients of one row. dh is the gradient of h. `carried` is the gradient of c:
 * from the next step on entry, for the previous step on return. The gates are replaced by the
 * gradients of their arguments. */
NVDP__INLINE void cell_backward(size_t n, size_t units, const float *restrict dh,
                                const float *restrict product, struct cell at,
                                float *restrict carried) {
    float *restrict i = at.gate, *restrict f = i + units;
    float *restrict g = f + units, *restrict o = g + units;
#pragma omp simd
    for (size_t j = 0; j < n; j++) {
        float dhj = dh[j] + product[j];
        float tc = nvdp__fast_tanh(at.c[j]);
        float dc = carried[j] + dhj * o[j] * (1 - tc * tc);
        float di = dc * g[j], df = dc * at.before[j], dg = dc * i[j], d_o = dhj * tc;
        carried[j] = dc * f[j];
        i[j] = di * i[j] * (1 - i[j]);
        f[j] = df * f[j] * (1 - f[j]);
        g[j] = dg * (1 - g[j] * g[j]);
        o[j] = d_o * o[j] * (1 - o[j]);
    }
}

/* The rows of one position: `row` of states and of gates, which are 2H and 8H floats apart. The
 * first `known` rows have a previous step, whose c begins at `before`. */
struct rows {
    size_t count, known, units;
    float *gate, *c, *h;
    const float *before;
    const float *dh; /* in the backward pass */
    float *carried;
};

static const float zeros[PANEL];

NVDP__INLINE struct cell cell_at(const struct rows *at, size_t r) {
    size_t state = r * DIRECTIONS * at->units;
    return (struct cell){at->gate + GATES * state, at->c + state,
                         r < at->known ? at->before + state : zeros};
}

NVDP__CLONES
static void rows_forward(size_t n, const struct rows *at, const float *product) {
    for (size_t r = 0; r < at->count; r++) {
        float *h = at->h + r * DIRECTIONS * at->units;
        if (n == UNITS) /* the compiler knows this length */
            cell_forward(UNITS, at->units, product + r * PANEL, cell_at(at, r), h);
        else
            cell_forward(n, at->units, product + r * PANEL, cell_at(at, r), h);
    }
}

NVDP__CLONES
static void rows_backward(size_t n, const struct rows *at, const float *product) {
    for (size_t r = 0; r < at->count; r++)
        for (size_t j = 0; j < n; j += UNITS) {
            struct cell cell = cell_at(at, r);
            const float *dh = at->dh + r * DIRECTIONS * at->units + j;
            float *carried = at->carried + r * at->units + j;
            cell.gate += j, cell.c += j;
            if (r < at->known) cell.before += j;
            if (n - j >= UNITS)
                cell_backward(UNITS, at->units, dh, product + r * PANEL + j, cell, carried);
            else
                cell_backward(n - j, at->units, dh, product + r * PANEL + j, cell, carried);
        }
}

/* ---- one direction of a few texts ---- */

/* Returns the number of rows of position t that belong to texts [k, k + TEXTS) of the order. */
static size_t row_count(const struct nvdp__steps *steps, size_t t, size_t k) {
    size_t n = rows_at(steps, t);
    if (n <= k) return 0;
    return nvdp__min(n - k, TEXTS);
}

/* Returns the position that the direction reads before t; SIZE_MAX, a position without rows, if
 * t is the first position. */
static size_t before(size_t direction, size_t t) {
    return direction == FORWARD ? t - 1 : t + 1;
}

/* Computes the product [rows, 64] of the first `known` rows; the remaining rows become zeros. */
static void multiply(size_t rows, size_t known, size_t deep, const float *a, size_t stride,
                     const float *panel, float *product) {
    if (known > 0)
        nvdp__small_product((struct nvdp__small_product){known, PANEL, deep, 1, a, stride, 1, panel,
                                                         PANEL, product, PANEL});
    memset(product + known * PANEL, 0, (rows - known) * PANEL * sizeof *product);
}

static void texts_forward(const struct nvdp__lstm *lstm, size_t d, size_t k) {
    const struct nvdp__steps *steps = lstm->steps;
    size_t units = lstm->units, state = DIRECTIONS * units;
    float product[TEXTS * PANEL];
    for (size_t i = 0; i < steps->count; i++) {
        size_t t = d == FORWARD ? i : steps->count - 1 - i;
        size_t n = row_count(steps, t, k), last = before(d, t);
        if (n == 0) continue;
        size_t known = row_count(steps, last, k) < n ? row_count(steps, last, k) : n;
        size_t row = (size_t)steps->first[t] + k, at = row * state + d * units;
        size_t from = known > 0 ? ((size_t)steps->first[last] + k) * state + d * units : at;
        for (size_t p = 0; p < nvdp__blocks(units, UNITS); p++) {
            size_t j = p * UNITS;
            struct rows rows = {.count = n,
                                .known = known,
                                .units = units,
                                .gate = lstm->gates + (row * DIRECTIONS + d) * GATES * units + j,
                                .c = lstm->cell + at + j,
                                .h = lstm->out + at + j,
                                .before = lstm->cell + from + j};
            multiply(n, known, units, lstm->out + from, state,
                     direction_panels(lstm, d) + p * units * PANEL, product);
            rows_forward(nvdp__block_length(units, UNITS, p), &rows, product);
        }
    }
}

static void texts_backward(const struct nvdp__lstm *lstm, const float *d_out, size_t d, size_t k) {
    const struct nvdp__steps *steps = lstm->steps;
    size_t units = lstm->units, state = DIRECTIONS * units;
    float product[TEXTS * PANEL];
    float *carried = carried_gradient(lstm, d) + k * units;
    memset(carried, 0, row_count(steps, 0, k) * units * sizeof *carried);
    for (size_t i = 0; i < steps->count; i++) {
        size_t t = d == FORWARD ? steps->count - 1 - i : i;
        size_t n = row_count(steps, t, k), last = before(d, t), next = before(!d, t);
        if (n == 0) continue;
        size_t known = row_count(steps, last, k) < n ? row_count(steps, last, k) : n;
        size_t read = row_count(steps, next, k) < n ? row_count(steps, next, k) : n;
        size_t row = (size_t)steps->first[t] + k, at = row * state + d * units;
        size_t from = known > 0 ? ((size_t)steps->first[last] + k) * state + d * units : at;
        size_t to = read > 0 ? (size_t)steps->first[next] + k : row;
        for (size_t p = 0; p < nvdp__blocks(units, PANEL); p++) {
            size_t j = p * PANEL;
            struct rows rows = {.count = n,
                                .known = known,
                                .units = units,
                                .gate = lstm->gates + (row * DIRECTIONS + d) * GATES * units + j,
                                .c = lstm->cell + at + j,
                                .before = lstm->cell + from + j,
                                .dh = d_out + at + j,
                                .carried = carried + j};
            multiply(n, read, GATES * units, lstm->gates + (to * DIRECTIONS + d) * GATES * units,
                     GATES * state, direction_panels(lstm, d) + p * GATES * units * PANEL, product);
            rows_backward(nvdp__block_length(units, PANEL, p), &rows, product);
        }
    }
}

/* Processes the longest texts first. The bits do not depend on the assignment of texts to
 * threads. */
static void for_texts(const struct nvdp__device *dev, const struct nvdp__lstm *lstm,
                      const float *d_out) {
    size_t items = DIRECTIONS * nvdp__blocks(lstm->steps->texts, TEXTS);
#pragma omp parallel for num_threads(                                                              \
    nvdp__team(dev, lstm->steps->rows * lstm->units * lstm->units)) schedule(dynamic)
    for (size_t i = 0; i < items; i++) {
        if (d_out == NULL)
            texts_forward(lstm, i % DIRECTIONS, i / DIRECTIONS * TEXTS);
        else
            texts_backward(lstm, d_out, i % DIRECTIONS, i / DIRECTIONS * TEXTS);
    }
}

void nvdp__lstm_forward(const struct nvdp__device *dev, const struct nvdp__lstm *lstm) {
    pack(dev, lstm, true);
    for_texts(dev, lstm, NULL);
}

void nvdp__lstm_backward(const struct nvdp__device *dev, const struct nvdp__lstm *lstm,
                         const float *d_out) {
    pack(dev, lstm, false);
    for_texts(dev, lstm, d_out);
}

void nvdp__lstm_backward_weight(const struct nvdp__device *dev, const struct nvdp__lstm *lstm,
                                size_t direction, float *earlier, float *du) {
    const struct nvdp__steps *steps = lstm->steps;
    size_t units = lstm->units, wide = GATES * units;
    struct nvdp__tensor gates = nvdp__f32(steps->rows, DIRECTIONS * wide, lstm->gates);
    nvdp__rows_gather(dev, steps->rows, units, steps->before[direction], lstm->out, earlier);
    nvdp__gemm(dev, 1, NVDP__TRANSPOSE_A, nvdp__col_slice(gates, direction * wide, wide),
               nvdp__f32(steps->rows, units, earlier), 0, nvdp__f32(wide, units, du));
}
