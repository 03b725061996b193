/* Norms of the gradients of single texts, and their weighted sum. With a_t the input of a linear
 * map in row t of a text, and b_t the gradient of its output,
 *
 *     dW       = sum_t b_t a_t^T
 *     |dW|^2   = sum_{t,t'} (a_t.a_t') (b_t.b_t')   (Goodfellow 2015; Li et al. 2022, section 4)
 *     db       = sum_t b_t
 *
 * The squared norm is computed from the two matrices of inner products or from dW itself, block
 * by block, whichever takes fewer products. A table of embeddings is a linear map of one-hot
 * rows: a_t.a_t' is 1 for equal ids and else 0. A tied table is also the matrix W of a layer and
 * adds 2 <dW, dE> = 2 sum_t (dW^T's row id_t).b_t. Gradients of vectors (biases, LayerNorm and
 * others) are stored per text.
 *
 * Products are summed in float32, and these sums are added in double. Start with
 * nvdp__per_example_linear(), then read nvdp__per_example_norms() and nvdp__per_example_add(). */
#include "tensor/per_example.h"

#include "tensor/kernels.h"
#include <omp.h>
#include <stdlib.h>

enum { PANEL = 64 };
/* Errors relative to sum_t |a_t| |b_t|: of float32 products (squared), and of rounding a
 * weighted row to bfloat16 or to float32. */
static const double SUM_ERROR = 0x1p-18, BF16_ROUNDING = 0x1p-9, F32_ROUNDING = 0x1p-24;
static const double ROUND_UP = 1 + 0x1p-20;

enum kind { LINEAR, VECTORS, EMBEDDING };

struct record {
    enum kind kind;
    struct nvdp__linear layer;
    bool bf16;
    struct nvdp__tensor x, dy;
    struct nvdp__linear below;        /* the layer of `recompute` */
    struct nvdp__recompute recompute; /* layer is NULL if x stayed in memory */
    float *vector, *grad;             /* [texts, count] gradients per text, [count] gradient */
    size_t count;
    struct nvdp__embedding tables;
    const int32_t *offset;
};

struct nvdp__per_example {
    size_t texts, max_texts, longest, widest;
    struct record *record;
    size_t records, max_records;
    float *store; /* output gradients, and gradients of vectors */
    size_t used, floats;
    /* [max_texts] squared norms, and upper bounds of their errors */
    double *square, *excess, *rounding;
    float *scratch; /* [threads, each] scratch buffers */
    size_t each;
    const char *fault;
    /* [total] gradients of the parameters; NULL after the check that the gradients are zero */
    const float *grad;
    size_t total;
};

/* ---- plan ---- */

static size_t whole_lines(size_t n) {
    return (n + NVDP__LINE - 1) / NVDP__LINE * NVDP__LINE;
}

/* The parts of a thread's scratch memory. */
struct scratch {
    float *gram[2]; /* [L, L] inner products of rows */
    float *wide[2]; /* [L, W]; the first buffer also holds packed words */
    nvdp__bf16 *rounded;
    float *panel; /* [PANEL, W] a block of dW */
};

static size_t scratch_floats(size_t longest, size_t widest) {
    size_t rows = whole_lines(longest);
    return 2 * rows * rows + 2 * rows * widest + rows * widest / 2 + PANEL * widest + NVDP__LINE;
}

static struct scratch thread_scratch(const struct nvdp__per_example *examples) {
    size_t rows = whole_lines(examples->longest), widest = examples->widest;
    float *at = examples->scratch + examples->each * (size_t)omp_get_thread_num();
    struct scratch s = {.gram = {at, at + rows * rows}};
    at += 2 * rows * rows;
    s.wide[0] = at;
    s.wide[1] = at + rows * widest;
    s.panel = at + 2 * rows * widest;
    s.rounded = (nvdp__bf16 *)(void *)(s.panel + PANEL * widest);
    return s;
}

static bool is_matrix(const struct nvdp__param *entry) {
    return (entry->flags & NVDP__PARAM_LINEAR) != 0;
}

/* Returns true for a table of embeddings, whose gradients are not copied; they are no wider than
 * the gradients of the layers. */
static bool is_table(const struct nvdp__param *entry) {
    return entry->rank == 2 && entry->shape[0] > 1 && !is_matrix(entry) &&
           (entry->flags & NVDP__PARAM_SHARED) == 0;
}

static size_t kept_floats(const struct nvdp__device *dev, size_t rows, size_t cols) {
    size_t each = nvdp__padded_rows(dev, rows) * cols;
    return whole_lines(nvdp__product_type(dev) == NVDP__BF16 ? (each + 1) / 2 : each);
}

nvdp_status nvdp__per_example_create(const struct nvdp__device *dev,
                                     const struct nvdp__params *params, size_t max_texts,
                                     size_t longest, size_t decoded,
                                     struct nvdp__per_example **out) {
    nvdp__autoptr(nvdp__per_example_free) struct nvdp__per_example *made =
        nvdp__calloc(dev->ctx, 1, sizeof *made);
    if (made == NULL) return NVDP_ERR_MEMORY;
    made->max_texts = max_texts;
    made->longest = longest;
    made->grad = params->grad;
    made->total = params->total;
    for (size_t i = 0; i < params->count; i++) {
        const struct nvdp__param *entry = &params->entry[i];
        size_t larger = entry->shape[0] > entry->shape[1] ? entry->shape[0] : entry->shape[1];
        if (is_matrix(entry) && 3 * larger > made->widest) made->widest = 3 * larger;
        if ((entry->flags & NVDP__PARAM_FROZEN) != 0) continue;
        made->max_records += 2;
        if (is_matrix(entry)) /* includes a float32 layer with one row per text */
            made->floats += kept_floats(dev, max_texts * longest, entry->shape[0]) +
                            whole_lines(nvdp__padded_rows(dev, max_texts) * entry->shape[0]);
        else if (is_table(entry) && (entry->flags & NVDP__PARAM_ROWS) != 0 && decoded > 0) {
            made->floats += kept_floats(dev, decoded, entry->shape[0]);
            if (larger > made->widest) made->widest = larger;
        } else if (!is_table(entry))
            made->floats += whole_lines(max_texts * entry->count);
    }
    made->each = scratch_floats(longest, made->widest);
    made->record = nvdp__calloc(dev->ctx, made->max_records + 1, sizeof *made->record);
    made->store = nvdp__calloc(dev->ctx, made->floats + 1, sizeof *made->store);
    made->square = nvdp__calloc(dev->ctx, 3 * max_texts, sizeof *made->square);
    made->scratch = nvdp__calloc(dev->ctx, (size_t)dev->threads * made->each, sizeof(float));
    NVDP_TRY(NVDP__MADE(made->record, made->store, made->square, made->scratch));
    made->excess = made->square + max_texts;
    made->rounding = made->excess + max_texts;
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

void nvdp__per_example_free(struct nvdp__per_example *examples) {
    if (examples == NULL) return;
    free(examples->record);
    free(examples->store);
    free(examples->square);
    free(examples->scratch);
    free(examples);
}

void nvdp__per_example_begin(struct nvdp__per_example *examples, size_t texts) {
    examples->texts = texts;
    examples->records = 0;
    examples->used = 0;
    examples->fault = texts > examples->max_texts ? "more texts than planned" : NULL;
    for (size_t i = 0; i < texts && examples->fault == NULL; i++)
        examples->square[i] = examples->excess[i] = examples->rounding[i] = 0;
}

size_t nvdp__per_example_texts(const struct nvdp__device *dev) {
    return dev->per_example->texts;
}

static struct record *add_record(struct nvdp__per_example *examples, enum kind kind) {
    if (examples->fault != NULL) return NULL;
    if (examples->records == examples->max_records) {
        examples->fault = "more operations than planned";
        return NULL;
    }
    struct record *record = &examples->record[examples->records++];
    *record = (struct record){.kind = kind};
    return record;
}

static float *take(struct nvdp__per_example *examples, size_t floats) {
    size_t at = examples->used;
    if (examples->fault == NULL && examples->floats - at < whole_lines(floats))
        examples->fault = "more output gradients than planned";
    if (examples->fault != NULL) return NULL;
    examples->used += whole_lines(floats);
    return examples->store + at;
}

/* Returns true if offset [texts+1] splits the rows into texts of the planned length. offset NULL
 * stands for one row per text. */
static bool splits(struct nvdp__per_example *examples, const int32_t *offset, size_t rows) {
    bool fits = offset != NULL ? (size_t)offset[examples->texts] == rows : rows == examples->texts;
    for (size_t i = 0; i < examples->texts && offset != NULL; i++)
        fits &= (size_t)(offset[i + 1] - offset[i]) <= examples->longest;
    if (!fits && examples->fault == NULL) examples->fault = "rows whose text is not known";
    return fits;
}

static size_t first_row(const int32_t *offset, size_t text) {
    return offset != NULL ? (size_t)offset[text] : text;
}

static size_t row_count(const int32_t *offset, size_t text) {
    return offset != NULL ? (size_t)(offset[text + 1] - offset[text]) : 1;
}

/* ---- small kernels ---- */

NVDP__CLONES
static void examples_widen(size_t n, const nvdp__bf16 *restrict x, float *restrict y) {
    for (size_t i = 0; i < n; i++)
        y[i] = nvdp__bfloat16_to_float(x[i]);
}

NVDP__CLONES
static double widened_square(size_t n, const nvdp__bf16 *restrict x) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        double v = (double)nvdp__bfloat16_to_float(x[i]);
        sum += v * v;
    }
    return sum;
}

/* Sums at most PANEL columns of x. */
NVDP__CLONES
static void sum_bf16_columns(size_t rows, size_t stride, size_t count, const nvdp__bf16 *restrict x,
                             float *restrict to) {
    double sum[PANEL] = {0};
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < count; c++)
            sum[c] += (double)nvdp__bfloat16_to_float(x[r * stride + c]);
    for (size_t c = 0; c < count; c++)
        to[c] = (float)sum[c];
}

NVDP__CLONES
static void examples_scale(size_t n, float a, float *x) {
    for (size_t i = 0; i < n; i++)
        x[i] *= a;
}

NVDP__CLONES
static void examples_scale_bf16(size_t n, float a, nvdp__bf16 *x) {
    for (size_t i = 0; i < n; i++)
        x[i] = nvdp__bfloat16_from_float(a * nvdp__bfloat16_to_float(x[i]));
}

/* ---- linear maps ---- */

/* Returns a text's rows in the form that the products read: rounded to bfloat16 if the products
 * round them. */
static struct nvdp__tensor as_used(struct nvdp__tensor rows, bool bf16, nvdp__bf16 *rounded) {
    if (!bf16 || rows.type == NVDP__BF16) return rows;
    for (size_t r = 0; r < rows.rows; r++)
        nvdp__round_row(rows.cols, (const float *)rows.data + r * rows.stride,
                        rounded + r * rows.cols);
    return (struct nvdp__tensor){NVDP__BF16, rows.rows, rows.cols, rows.cols, rounded};
}

static struct nvdp__tensor widened(struct nvdp__tensor rows, float *wide) {
    if (rows.type == NVDP__F32) return rows;
    for (size_t r = 0; r < rows.rows; r++)
        examples_widen(rows.cols, (const nvdp__bf16 *)rows.data + r * rows.stride,
                       wide + r * rows.cols);
    return nvdp__f32(rows.rows, rows.cols, wide);
}

/* Computes gram [n, n], with row stride ld = whole_lines(n): the inner products of the rows. */
static void inner_products(const struct nvdp__device *dev, struct nvdp__tensor rows, float *wide,
                           float *gram) {
    size_t n = rows.rows, ld = whole_lines(n);
    if (rows.type == NVDP__BF16 && nvdp__attention_fits_bf16(rows.cols)) {
        uint32_t *words = (uint32_t *)(void *)wide;
        nvdp__bf16_pack_transposed(dev->unit, n, rows.cols, rows.data, rows.stride, ld, words);
        nvdp__bf16_product(dev->unit,
                           (struct nvdp__bf16_product){n, ld, rows.cols, false, rows.data,
                                                       rows.stride, words, ld, gram, ld});
        return;
    }
    rows = widened(rows, wide);
    nvdp__gemm(dev, 1, NVDP__TRANSPOSE_B, rows, rows, 0,
               (struct nvdp__tensor){NVDP__F32, n, n, ld, gram});
}

/* Returns max(x, 0), because rounding may give a negative number. NaN stays NaN; fmax() would
 * drop it. */
static double not_negative(double x) {
    return x < 0 ? 0 : x;
}

static double row_square(struct nvdp__tensor x, size_t r) {
    const float *row = (const float *)x.data + r * x.stride;
    return x.type == NVDP__F32 ? nvdp__dot(x.cols, row, row)
                               : widened_square(x.cols, (const nvdp__bf16 *)x.data + r * x.stride);
}

/* Returns |b^T a|^2, and sets *lengths to its upper bound sum_t |a_t| |b_t|. */
static double product_square(const struct nvdp__device *dev, struct nvdp__tensor a,
                             struct nvdp__tensor b, struct scratch s, double *lengths) {
    size_t n = a.rows, in = a.cols, out = b.cols;
    double square = 0;
    *lengths = 0;
    if (n == 1 || n * (in + out) > in * out)
        for (size_t t = 0; t < n; t++)
            *lengths += sqrt(row_square(a, t) * row_square(b, t));
    if (n == 1) return *lengths * *lengths;
    if (n * (in + out) <= in * out) {
        size_t ld = whole_lines(n);
        inner_products(dev, a, s.wide[0], s.gram[0]);
        inner_products(dev, b, s.wide[0], s.gram[1]);
        for (size_t t = 0; t < n; t++) {
            square += nvdp__dot(n, s.gram[0] + t * ld, s.gram[1] + t * ld);
            *lengths += sqrt(not_negative((double)s.gram[0][t * ld + t]) *
                             not_negative((double)s.gram[1][t * ld + t]));
        }
        return not_negative(square);
    }
    a = widened(a, s.wide[0]);
    b = widened(b, s.wide[1]);
    for (size_t at = 0; at < out; at += PANEL) {
        size_t count = nvdp__min(out - at, PANEL);
        nvdp__gemm(dev, 1, NVDP__TRANSPOSE_A, nvdp__col_slice(b, at, count), a, 0,
                   nvdp__f32(count, in, s.panel));
        square += nvdp__dot(count * in, s.panel, s.panel);
    }
    return square;
}

static void bias_sums(struct nvdp__tensor dy, float *db) {
    for (size_t c = 0; c < dy.cols; c += PANEL) {
        size_t count = nvdp__min(dy.cols - c, PANEL);
        if (dy.type == NVDP__F32)
            nvdp__column_sums(dy.rows, dy.stride, count, (const float *)dy.data + c, db + c);
        else
            sum_bf16_columns(dy.rows, dy.stride, count, (const nvdp__bf16 *)dy.data + c, db + c);
    }
}

static void keep_rows(struct nvdp__tensor from, struct nvdp__tensor to) {
    size_t size = from.type == NVDP__BF16 ? sizeof(nvdp__bf16) : sizeof(float);
    for (size_t r = 0; r < from.rows && from.data != to.data; r++)
        memcpy((char *)to.data + r * to.stride * size,
               (const char *)from.data + r * from.stride * size, from.cols * size);
}

void nvdp__per_example_linear(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                              struct nvdp__tensor x, struct nvdp__tensor dy) {
    struct nvdp__per_example *examples = dev->per_example;
    const int32_t *offset = layer->offset;
    struct nvdp__tensor kept = {dy.type, dy.rows, dy.cols, dy.cols, NULL};
    if (!splits(examples, offset, dy.rows)) return;
    float *biases = NULL;
    if (layer->db != NULL) {
        biases = nvdp__per_example_vectors(dev, layer->db, dy.cols);
        if (biases == NULL) return; /* the gradients do not fit the plan */
    }
    if (layer->dw != NULL) {
        bool padded = dy.type == NVDP__BF16; /* products of a float32 layer need no padding */
        size_t elements = (padded ? nvdp__padded_rows(dev, dy.rows) : dy.rows) * dy.cols;
        kept.data = layer->keep;
        if (kept.data == NULL)
            kept.data = take(examples, dy.type == NVDP__BF16 ? (elements + 1) / 2 : elements);
        struct record *record = kept.data != NULL ? add_record(examples, LINEAR) : NULL;
        if (record == NULL) return;
        record->layer = *layer;
        record->x = x;
        record->dy = kept;
        record->bf16 = dy.type == NVDP__BF16;
        record->offset = offset;
        if (layer->recompute != NULL) {
            record->below = *layer->recompute->layer;
            record->recompute = *layer->recompute;
            record->recompute.layer = &record->below;
        }
    }
    bool bf16 = dy.type == NVDP__BF16;
    int team = nvdp__team(dev, dy.rows * (x.cols + dy.cols));
#pragma omp parallel for num_threads(team) schedule(dynamic, 1)
    for (size_t i = 0; i < examples->texts; i++) {
        size_t first = first_row(offset, i), n = row_count(offset, i);
        struct nvdp__tensor b = nvdp__row_slice(dy, first, n);
        struct scratch s = thread_scratch(examples);
        double lengths;
        if (biases != NULL) bias_sums(b, biases + i * dy.cols);
        if (kept.data == NULL || n == 0) continue;
        keep_rows(b, nvdp__row_slice(kept, first, n));
        struct nvdp__tensor a = as_used(nvdp__row_slice(x, first, n), bf16, s.rounded);
        examples->square[i] += product_square(dev, a, b, s, &lengths);
        examples->excess[i] += SUM_ERROR * lengths * lengths;
        double rounding = (bf16 ? BF16_ROUNDING : F32_ROUNDING) * lengths;
        examples->rounding[i] += rounding * rounding;
    }
}

/* ---- vectors and tables ---- */

bool nvdp__per_example_splits(const struct nvdp__device *dev, const int32_t *offset, size_t rows) {
    return splits(dev->per_example, offset, rows);
}

float *nvdp__per_example_vectors(const struct nvdp__device *dev, float *grad, size_t n) {
    struct nvdp__per_example *examples = dev->per_example;
    if (grad == NULL) return NULL; /* the parameters are not trained */
    float *vector = take(examples, examples->texts * n);
    struct record *record = vector != NULL ? add_record(examples, VECTORS) : NULL;
    if (record == NULL) return NULL;
    record->vector = vector;
    record->grad = grad;
    record->count = n;
    nvdp__zero(dev, examples->texts * n, vector);
    return vector;
}

float *nvdp__per_example_shared(const struct nvdp__device *dev, float *grad, size_t n) {
    const struct nvdp__per_example *examples = dev->per_example;
    for (size_t r = 0; r < examples->records && grad != NULL; r++)
        if (examples->record[r].kind == VECTORS && examples->record[r].grad == grad)
            return examples->record[r].vector;
    return nvdp__per_example_vectors(dev, grad, n);
}

/* Returns the squared norm of a table's gradient: rows with equal ids are added first. done [n]
 * is a scratch buffer. */
static double table_square(size_t n, size_t dim, const int32_t *ids, const float *dy,
                           int32_t *done) {
    double square = 0;
    memset(done, 0, n * sizeof *done);
    for (size_t t = 0; t < n; t++) {
        bool alone = true;
        for (size_t u = t + 1; u < n && !done[t]; u++) {
            if (ids[u] != ids[t]) continue;
            done[u] = 1;
            alone = false;
        }
        if (alone && !done[t]) square += nvdp__dot(dim, dy + t * dim, dy + t * dim);
        for (size_t c = 0; c < dim && !alone; c += PANEL) {
            size_t count = nvdp__min(dim - c, PANEL);
            double sum[PANEL] = {0};
            for (size_t u = t; u < n; u++)
                for (size_t k = 0; k < count && ids[u] == ids[t]; k++)
                    sum[k] += (double)dy[u * dim + c + k];
            for (size_t k = 0; k < count; k++)
                square += sum[k] * sum[k];
        }
    }
    return square;
}

void nvdp__per_example_embedding(const struct nvdp__device *dev,
                                 const struct nvdp__embedding *gradients, struct nvdp__tensor dy) {
    struct nvdp__per_example *examples = dev->per_example;
    const int32_t *offset = gradients->offset;
    if (!splits(examples, offset, dy.rows)) return;
    struct record *record = add_record(examples, EMBEDDING);
    if (record == NULL) return;
    record->tables = *gradients;
    record->dy = dy;
    record->offset = offset;
    int team = nvdp__team(dev, dy.rows * dy.cols);
#pragma omp parallel for num_threads(team) schedule(dynamic, 1)
    for (size_t i = 0; i < examples->texts; i++) {
        size_t first = first_row(offset, i), n = row_count(offset, i);
        const float *rows = (const float *)dy.data + first * dy.cols;
        int32_t *done = (int32_t *)(void *)thread_scratch(examples).wide[0];
        const int32_t *ids[] = {gradients->word != NULL ? gradients->ids : NULL,
                                gradients->position != NULL ? gradients->positions : NULL,
                                gradients->type != NULL ? gradients->types : NULL};
        for (size_t k = 0; k < 3; k++)
            if (ids[k] != NULL)
                examples->square[i] += table_square(n, dy.cols, ids[k] + first, rows, done);
    }
}

/* Returns 2 <dW, dE> of a table that is also a layer's matrix: row v of dW is sum_m dy_m[v] x_m. */
static double tied_product(const struct nvdp__device *dev, const struct record *layer,
                           const struct record *table, size_t text, struct scratch s) {
    size_t m = row_count(layer->offset, text), n = row_count(table->offset, text);
    size_t first = first_row(layer->offset, text), token = first_row(table->offset, text);
    size_t dim = table->dy.cols;
    double product = 0;
    if (m == 0 || n == 0) return 0;
    struct nvdp__tensor x =
        widened(as_used(nvdp__row_slice(layer->x, first, m), layer->bf16, s.rounded), s.wide[0]);
    struct nvdp__tensor d = nvdp__f32(n, dim, (const float *)table->dy.data + token * dim);
    nvdp__gemm(dev, 1, NVDP__TRANSPOSE_B, x, d, 0, nvdp__f32(m, n, s.gram[0]));
    for (size_t r = 0; r < m; r++) {
        size_t at = (first + r) * layer->dy.stride;
        for (size_t t = 0; t < n; t++) {
            size_t id = (size_t)table->tables.ids[token + t];
            double dy =
                layer->bf16
                    ? (double)nvdp__bfloat16_to_float(((const nvdp__bf16 *)layer->dy.data)[at + id])
                    : (double)((const float *)layer->dy.data)[at + id];
            product += dy * (double)s.gram[0][r * n + t];
        }
    }
    return 2 * product;
}

static void add_tied(const struct nvdp__device *dev, const struct record *layer,
                     const struct record *table) {
    struct nvdp__per_example *examples = dev->per_example;
    int team = nvdp__team(dev, layer->x.rows * table->dy.cols);
#pragma omp parallel for num_threads(team) schedule(dynamic, 1)
    for (size_t i = 0; i < examples->texts; i++)
        examples->square[i] += tied_product(dev, layer, table, i, thread_scratch(examples));
}

/* ---- norms and sum ---- */

nvdp_status nvdp__per_example_norms(const struct nvdp__device *dev, double *square, double *norm) {
    struct nvdp__per_example *examples = dev->per_example;
    for (size_t i = 0; i < examples->total && examples->grad != NULL && examples->fault == NULL;
         i++)
        if (examples->grad[i] != 0)
            examples->fault = "a gradient was added to the sum without its norm";
    examples->grad = NULL;
    if (examples->fault != NULL)
        return nvdp__fail(dev->ctx, NVDP_ERR_STATE, "per-example gradients: %s", examples->fault);
    for (size_t r = 0; r < examples->records; r++) {
        const struct record *table = &examples->record[r];
        for (size_t k = 0; k < examples->records && table->kind == EMBEDDING; k++) {
            const struct record *layer = &examples->record[k];
            bool tied = layer->kind == LINEAR && layer->layer.dw == table->tables.word;
            if (tied) add_tied(dev, layer, table);
        }
    }
    int team = nvdp__team(dev, examples->used);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t i = 0; i < examples->texts; i++) {
        double sum = examples->square[i];
        for (size_t r = 0; r < examples->records; r++) {
            const struct record *record = &examples->record[r];
            const float *vector = record->vector + i * record->count;
            if (record->kind == VECTORS) sum += nvdp__dot(record->count, vector, vector);
        }
        sum = not_negative(sum);
        if (square != NULL) square[i] = sum;
        norm[i] = ROUND_UP * (sqrt(sum + examples->excess[i]) + sqrt(examples->rounding[i]));
    }
    return NVDP_OK;
}

bool nvdp__per_example_first(const struct nvdp__per_example *examples) {
    return examples->grad != NULL;
}

static void weigh_row(float weight, struct nvdp__tensor x, size_t r) {
    if (weight == 1) return;
    if (x.type == NVDP__F32) {
        float *row = (float *)x.data + r * x.stride;
        if (weight == 0)
            memset(row, 0, x.cols * sizeof *row);
        else
            examples_scale(x.cols, weight, row);
    } else {
        nvdp__bf16 *row = (nvdp__bf16 *)x.data + r * x.stride;
        if (weight == 0)
            memset(row, 0, x.cols * sizeof *row);
        else
            examples_scale_bf16(x.cols, weight, row);
    }
}

static void weigh_rows(const struct nvdp__device *dev, const int32_t *offset, const float *weight,
                       struct nvdp__tensor x) {
    int team = nvdp__team(dev, x.rows * x.cols);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t i = 0; i < dev->per_example->texts; i++)
        for (size_t r = 0; r < row_count(offset, i); r++)
            weigh_row(weight[i], x, first_row(offset, i) + r);
}

/* Zeroes the inputs of texts with weight 0, because 0 times NaN or infinity would otherwise add
 * NaN. */
static void clear_left_out(const struct nvdp__device *dev, const int32_t *offset,
                           const float *weight, struct nvdp__tensor x) {
    for (size_t i = 0; i < dev->per_example->texts; i++)
        for (size_t r = 0; weight[i] == 0 && r < row_count(offset, i); r++)
            weigh_row(0, x, first_row(offset, i) + r);
}

NVDP__CLONES
static void weigh_columns(size_t texts, size_t stride, size_t count, const float *restrict weight,
                          const float *restrict vector, float *restrict grad) {
    double sum[NVDP__COLUMNS] = {0};
    for (size_t i = 0; i < texts; i++) {
        double w = (double)weight[i];
        for (size_t c = 0; c < count && w != 0; c++)
            sum[c] += w * (double)vector[i * stride + c];
    }
    for (size_t c = 0; c < count; c++)
        grad[c] = (float)((double)grad[c] + sum[c]);
}

static void add_vectors(const struct nvdp__device *dev, const struct record *record,
                        const float *weight) {
    size_t blocks = nvdp__blocks(record->count, NVDP__COLUMNS), texts = dev->per_example->texts;
    int team = nvdp__team(dev, texts * record->count);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t b = 0; b < blocks; b++) {
        size_t at = b * NVDP__COLUMNS;
        weigh_columns(texts, record->count, nvdp__block_length(record->count, NVDP__COLUMNS, b),
                      weight, record->vector + at, record->grad + at);
    }
}

void nvdp__per_example_add(const struct nvdp__device *dev, const float *weight, bool first) {
    const struct nvdp__per_example *examples = dev->per_example;
    struct nvdp__device whole = *dev;
    whole.per_example = NULL;
    for (size_t r = 0; r < examples->records; r++) {
        struct record *record = &examples->record[r];
        if (record->kind == VECTORS) {
            add_vectors(dev, record, weight);
            continue;
        }
        weigh_rows(dev, record->offset, weight, record->dy);
        if (record->kind == EMBEDDING) {
            nvdp__embed_backward(&whole, &record->tables, record->dy);
            continue;
        }
        const struct nvdp__recompute *recompute = &record->recompute;
        if (recompute->layer != NULL) {
            nvdp__dense_forward(&whole, recompute->layer, recompute->x, recompute->y);
            nvdp__activation_forward(&whole, recompute->act, recompute->y, recompute->y);
            record->x = recompute->y;
        }
        clear_left_out(dev, record->offset, weight, record->x);
        record->layer.set &= first;
        record->layer.db = NULL;
        nvdp__dense_backward(&whole, &record->layer, record->x, record->dy, NVDP__NO_TENSOR, false);
    }
}

/* ---- noise ---- */

static void noisy_block(struct nvdp__stream *stream, size_t n, double sd, float *grad) {
    enum { CHUNK = 512 };
    double eps[CHUNK];
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t count = nvdp__min(n - at, CHUNK);
        nvdp__stream_normals_f64(stream, count, eps);
        for (size_t i = 0; i < count; i++)
            grad[at + i] = (float)((double)grad[at + i] + sd * eps[i]);
    }
}

void nvdp__gradient_noise(const struct nvdp__device *dev, const struct nvdp__params *params,
                          const struct nvdp__noise *noise, uint64_t step, double sd) {
    for (size_t i = 0; i < params->count; i++) {
        const struct nvdp__param *entry = &params->entry[i];
        float *grad = nvdp__grad(params, i);
        if (grad == NULL) continue;
        size_t blocks = nvdp__blocks(entry->count, NVDP__BLOCK);
        int team = nvdp__team(dev, 16 * entry->count);
#pragma omp parallel for num_threads(team) schedule(static)
        for (size_t b = 0; b < blocks; b++) {
            size_t at = b * NVDP__BLOCK;
            struct nvdp__stream stream =
                nvdp__stream_open(noise, NVDP__PURPOSE_DP_NOISE, (uint32_t)step,
                                  (step >> 32 << 40) + entry->offset + at);
            noisy_block(&stream, nvdp__block_length(entry->count, NVDP__BLOCK, b), sd, grad + at);
        }
    }
}
