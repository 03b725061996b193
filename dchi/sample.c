/* Draws of mechanisms: Laplace noise in R^d, then tokens by rejection sampling. */
#include "base/random.h"
#include "dchi/dchi.h"
#include "tensor/kernels.h"
#include "tensor/vector.h"

#include <omp.h>
#include <stdlib.h>

enum {
    KEPT_BYTES = 256 << 20,
    /* number of numbers in the points whose nearest tokens are found together */
    PERTURBED = 1 << 22
};

/* ---- the mechanisms with Laplace noise ---- */

const struct nvdp__token_row nvdp__token_row_laplace = {
    .citation = "laplace (a noisy vector in place of the token; Qu et al. 2021, Eq. 3)",
    .scale = "eta",
    .uses_eta = true,
    .gives_vectors = true,
    .nearest = NVDP_DCHI_LAPLACE_NEAREST,
    .unknown = 1,
    .place = 3};
const struct nvdp__token_row nvdp__token_row_laplace_nearest = {
    .citation = "laplace-nearest (the token nearest to the noisy vector; Feyisetan et al. 2020)",
    .scale = "eta",
    .uses_eta = true,
    .bound_of = "laplace",
    .unknown = INFINITY,
    .place = 2};
const struct nvdp__token_row nvdp__token_row_sequence_laplace = {
    .citation = "sequence-laplace (one noisy vector per text; Qu et al. 2021, section 3.2)",
    .scale = "eta",
    .uses_eta = true,
    .on_sequence = true,
    .unknown = INFINITY,
    .place = 5};

/* The source of randomness of one call. */
struct source {
    struct nvdp__release_key key;
    struct nvdp__noise noise;
};

static void close_source(struct source *source) {
    nvdp__release_key_wipe(&source->key);
}

static nvdp_status open_source(struct nvdp_context *ctx, const uint64_t *seed, struct source *out) {
    out->noise = (struct nvdp__noise){.seed = seed != NULL ? *seed : 0};
    if (seed != NULL) return NVDP_OK;
    NVDP_TRY(nvdp__release_key_create(ctx, &out->key));
    out->noise.release = &out->key;
    return NVDP_OK;
}

static nvdp_status find_places(struct nvdp_context *ctx, struct nvdp__dchi_scratch *scratch,
                               size_t texts, const size_t *offset, uint64_t first,
                               struct nvdp__token_place **out) {
    struct nvdp__token_place *place = NULL;
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__IN_BLOCK(PLACE, place, offset[texts])));
    for (size_t t = 0; t < texts; t++)
        for (size_t i = offset[t]; i < offset[t + 1]; i++)
            place[i] = (struct nvdp__token_place){first + t, (uint32_t)(i - offset[t])};
    *out = place;
    return NVDP_OK;
}

/* ---- Laplace noise in R^d ----
 *
 * Density ~ exp(-eta |N|) (Feyisetan et al. 2020; Qu et al. 2021, Eq. 3): N = r u, where u is uniform on the sphere (a
 * normal vector divided by its norm) and r has density ~ r^(d-1) exp(-eta r). r has the Gamma distribution of shape d
 * and scale 1/eta, which for integer d is the sum of d exponentials:
 *
 *     r  =  -1/eta log (U_1 ... U_d),    16 factors per logarithm: above 2^-848. */
static void add_noise(struct nvdp__stream *stream, double eta, size_t dim, const double *x,
                      double *noise, double *out) {
    double radius = 0, square = 0;
    while (square == 0) {
        nvdp__stream_normals_f64(stream, dim, noise);
        for (size_t k = 0; k < dim; k++)
            square += noise[k] * noise[k];
    }
    for (size_t k = 0; k < dim; k += 16) {
        double product = 1;
        for (size_t i = k; i < dim && i < k + 16; i++)
            product *= nvdp__stream_uniform(stream);
        radius -= log(product);
    }
    const double scale = radius / eta / sqrt(square);
    for (size_t k = 0; k < dim; k++)
        out[k] = x[k] + scale * noise[k];
}

static int32_t any_token(const struct nvdp_dchi *dchi, struct nvdp__stream *stream) {
    return (int32_t)nvdp__stream_below(stream, dchi->vectors->count);
}

void nvdp__dchi_perturb(const struct nvdp_dchi *dchi, const struct nvdp__noise *noise, int threads,
                        size_t n, const struct nvdp__token_place *place, const int32_t *tokens,
                        double *scratch, double *out) {
    const size_t dim = dchi->vectors->dim;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n; i++) {
        struct nvdp__stream stream =
            nvdp__stream_open(noise, NVDP__PURPOSE_TOKEN, place[i].position, place[i].text);
        const int32_t x = tokens[i] < 0 ? any_token(dchi, &stream) : tokens[i];
        double row[NVDP__ROW_WIDEST];
        add_noise(&stream, dchi->eta, dim, nvdp__row(dchi->vectors, (size_t)x, row),
                  scratch + (size_t)omp_get_thread_num() * dim, out + i * dim);
    }
}

nvdp_status nvdp__dchi_perturb_texts(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                     struct nvdp__dchi_scratch *scratch, size_t texts,
                                     const size_t *offset, const int32_t *tokens,
                                     const uint64_t *seed, uint64_t first, double *out) {
    const int threads = nvdp_context_threads(ctx);
    nvdp__auto(close_source) struct source source = {0};
    struct nvdp__token_place *place = NULL;
    double *normals = NULL;
    if (nvdp__dchi_exact(dchi))
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "text privatization: expected a Laplace mechanism, the only kind that "
                          "outputs noisy vectors");
    NVDP_TRY(nvdp__dchi_check(ctx, dchi, offset[texts], tokens));
    NVDP_TRY(find_places(ctx, scratch, texts, offset, first, &place));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch,
                           NVDP__IN_BLOCK(NORMALS, normals, (size_t)threads * dchi->vectors->dim)));
    NVDP_TRY(open_source(ctx, seed, &source));
    nvdp__dchi_perturb(dchi, &source.noise, threads, offset[texts], place, tokens, normals, out);
    return NVDP_OK;
}

nvdp_status nvdp_dchi_perturb(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t texts,
                              const size_t *offset, const int32_t *tokens, const uint64_t *seed,
                              uint64_t first, double *out) {
    nvdp__auto(nvdp__dchi_scratch_release) struct nvdp__dchi_scratch scratch = {0};
    return nvdp__dchi_perturb_texts(ctx, dchi, &scratch, texts, offset, tokens, seed, first, out);
}

nvdp_status nvdp__sequence_check(struct nvdp_context *ctx, double eta, double clip, size_t dim) {
    if (!(eta > 0 && isfinite(eta)) || !(clip > 0) || dim < 1)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "sequence-laplace: expected a finite eta, a clip and a dimension above "
                          "0, found eta %g, clip %g and dimension %zu",
                          eta, clip, dim);
    return NVDP_OK;
}

/* hypot() has a relative error below 2^-52. The norm is increased by the errors of all calls and of the scaling, so
 * that rounding never moves the vector out of the ball. */
void nvdp__sequence_clip(size_t dim, double clip, const double *in, double *out) {
    double norm = 0;
    bool finite = true;
    for (size_t k = 0; k < dim; k++) {
        norm = hypot(norm, in[k]);
        finite = finite && isfinite(in[k]);
    }
    norm *= 1 + (double)(dim + 4) * 0x1p-52;
    for (size_t k = 0; k < dim; k++)
        out[k] = !finite ? 0 : norm > clip ? in[k] / norm * clip : in[k];
}

void nvdp__sequence_perturb(const struct nvdp__noise *noise, int threads, double eta, double clip,
                            size_t texts, size_t dim, const struct nvdp__token_place *place,
                            const double *in, double *scratch, double *out) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < texts; i++) {
        struct nvdp__stream stream =
            nvdp__stream_open(noise, NVDP__PURPOSE_TOKEN, place[i].position, place[i].text);
        nvdp__sequence_clip(dim, clip, in + i * dim, out + i * dim);
        add_noise(&stream, eta, dim, out + i * dim, scratch + (size_t)omp_get_thread_num() * dim,
                  out + i * dim);
    }
}

/* ---- tokens ----
 *
 * P(y|x) is proportional to w_y = exp(-eta/2 d_y).  Proposals are drawn with weights v_y >= w_y that are
 * cheaper to compute, and y is accepted with probability w_y / v_y, computed from its exact distance.
 * Accepted tokens have the probabilities P(y|x) (rejection sampling, von Neumann 1951).
 *
 *     v_y  =  exp(-eta/2 l_y),   l_y <= d_y,
 *     l_y  =  (sqrt(max(0, (|z|^2 + |c_y|^2) (1 - b) - 2 z.c_y)) (1 - 2^-20)) / s
 *
 * with z, c_y and s as in nearest.c and z.c_y a float32 product, whose error is at most (d + 8) 2^-24 |z| |c_y| <= (d +
 * 8) 2^-25 (|z|^2 + |c_y|^2). b = 1.01 (d + 24) 2^-24 covers twice that and the rounding of the sum; 2^-20 covers the
 * rounding of root, difference and factor. Weights are rounded up to bfloat16, at most half a percent too large, so
 * usually 99 of 100 proposals are accepted. If an uneven table has a lower rate of acceptance, the distribution is
 * still P. After PROPOSALS rejections, the row is computed in double.
 *
 * A product is a sum in the order of the dimensions, whatever surrounds it, so draws do not depend on the batch. For
 * the same reason a large table keeps only the sum of the weights of every SPAN tokens: the weights of the span that
 * a draw falls into are recomputed. */
enum {
    SPAN = 64, /* a multiple of 16 */
    FOUR = 4,  /* number of sums that are computed together */
    PROPOSALS = 1000,
    /* number of proposals that are made together; with a large table, as many as fit MADE_BYTES */
    MADE = 192,
    MADE_BYTES = 256 << 20
};

/* Scratch buffers of one thread: the rows of a span, transposed, and products with these rows. */
struct span {
    float *rows;        /* [SPAN, dim] the rows of the span */
    float *panel;       /* [dim, SPAN] the rows, transposed */
    float square[SPAN]; /* |c|^2 */
    float dot[SPAN * SPAN];
    nvdp__bf16 weight[FOUR * SPAN];
};

/* Turns products into the bounds s l_y. */
NVDP__INLINE void bound_each(size_t n, float own, float keep, const float *square,
                             const unsigned char *comes_out, float *row) {
    for (size_t y = 0; y < n; y++) {
        float both = own + square[y];
        float left = both * keep - 2 * row[y];
        row[y] = sqrtf(left > 0 ? left : 0) * (1 - 0x1p-20F);
    }
    for (size_t y = 0; comes_out != NULL && y < n; y++)
        row[y] = comes_out[y] ? row[y] : INFINITY;
}

NVDP__INLINE void weigh_each(size_t n, float slope, float shift, const float *row,
                             nvdp__bf16 *weight) {
    for (size_t y = 0; y < n; y++) { /* the exponential has a relative error of at most 2e-7 */
        float w = row[y] < INFINITY ? nvdp__fast_exp(slope * (shift - row[y])) * (1 + 0x1p-20F) : 0;
        weight[y] = (nvdp__bf16)((nvdp__float_bits(w) + 0xffff) >> 16);
    }
}

/* A whole span has a constant length, so the loop has no remainder. */
NVDP__CLONES
static void bound_products(size_t n, float own, float keep, const float *restrict square,
                           const unsigned char *restrict comes_out, float *restrict row) {
    if (n == SPAN)
        bound_each(SPAN, own, keep, square, comes_out, row);
    else
        bound_each(n, own, keep, square, comes_out, row);
}

NVDP__CLONES
static void weigh(size_t n, float slope, float shift, const float *restrict row,
                  nvdp__bf16 *restrict weight) {
    if (n == SPAN)
        weigh_each(SPAN, slope, shift, row, weight);
    else
        weigh_each(n, slope, shift, row, weight);
}

static double weight_as_double(nvdp__bf16 weight) {
    return (double)nvdp__bfloat16_to_float(weight);
}

static size_t span_length(const struct nvdp_vectors *vectors, size_t span) {
    return nvdp__block_length(vectors->count, SPAN, span);
}

/* Reads the rows of a span. */
static void take_span(const struct nvdp_vectors *vectors, size_t span, struct span *of) {
    const size_t dim = vectors->dim, n = span_length(vectors, span), first = span * SPAN;
    const bool kept = vectors->centered != NULL;
    for (size_t j = 0; j < n; j++)
        of->square[j] = (float)(vectors->norm[first + j] * vectors->norm[first + j]);
    for (size_t j = 0; j < n && !kept; j++)
        nvdp__vectors_center_row(vectors, first + j, of->rows + j * dim);
    nvdp__small_transpose(n, dim, kept ? vectors->centered + first * dim : of->rows, dim, SPAN,
                          of->panel);
}

/* Computes the products of the vectors z [n, dim] of n <= SPAN tokens with the rows of the span: of->dot. */
static void multiply_span(const struct nvdp_vectors *vectors, size_t n, const float *z,
                          struct span *of) {
    const size_t dim = vectors->dim;
    nvdp__small_product(
        (struct nvdp__small_product){n, SPAN, dim, 1, z, dim, 1, of->panel, SPAN, of->dot, SPAN});
}

/* Turns the products row [SPAN] of token x into the bounds s l_y. */
static void bound_span(const struct nvdp_dchi *dchi, int32_t x, size_t span, const struct span *of,
                       float *row) {
    const struct nvdp_vectors *vectors = dchi->vectors;
    const double norm = vectors->norm[x], bound = 1.01 * ((double)vectors->dim + 24) * 0x1p-24;
    const size_t first = span * SPAN;
    bound_products(span_length(vectors, span), (float)(norm * norm), (float)fmax(1 - bound, 0),
                   of->square, dchi->sensitive != NULL ? dchi->sensitive + first : NULL, row);
    if (nvdp__comes_out(dchi, (size_t)x) && (size_t)x / SPAN == span) row[(size_t)x - first] = 0;
}

/* Bounds are at least 0, so their bits have the same order as the bounds. */
NVDP__CLONES
static float smallest_bound(size_t n, const float *row) {
    int32_t found = INT32_MAX;
    for (size_t y = 0; y < n; y++) {
        const int32_t bits = (int32_t)nvdp__float_bits(row[y]);
        found = bits < found ? bits : found;
    }
    return nvdp__bits_float((uint32_t)found);
}

/* Turns the bounds of a span into weights. */
static void weigh_span(const struct nvdp_dchi *dchi, size_t span, float shift, const float *row,
                       nvdp__bf16 *weight) {
    const struct nvdp_vectors *vectors = dchi->vectors;
    weigh(span_length(vectors, span), (float)fmin(dchi->eta / 2 / vectors->scale, 1e30), shift, row,
          weight);
}

/* Sums four rows of n weights, each in the order of the tokens. Four sums run together because each addition waits
 * for the one before. */
static void sum_weights(size_t n, const nvdp__bf16 *const *weight, double *sum) {
    double sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    for (size_t y = 0; y < n; y++) {
        sum0 += weight_as_double(weight[0][y]);
        sum1 += weight_as_double(weight[1][y]);
        sum2 += weight_as_double(weight[2][y]);
        sum3 += weight_as_double(weight[3][y]);
    }
    sum[0] = sum0;
    sum[1] = sum1;
    sum[2] = sum2;
    sum[3] = sum3;
}

/* Makes n proposals of tokens x [n] with vectors z [n, dim]. The first `others` tokens cannot be outputs: their
 * smallest bound is computed before their weights. For the other tokens, the smallest bound is 0. */
static void make_proposals(const struct nvdp_dchi *dchi, int threads, struct span *spans, size_t n,
                           size_t others, const int32_t *x, const float *z,
                           struct nvdp__proposal *const *made) {
    const struct nvdp_vectors *vectors = dchi->vectors;
    const size_t dim = vectors->dim, count = nvdp__blocks(vectors->count, SPAN);
    for (size_t i = 0; i < n; i++)
        made[i]->bound = i < others ? INFINITY : 0;
    for (int pass = others == 0; pass < 2; pass++) {
        const size_t end = pass == 0 ? others : n;
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
        for (size_t s = 0; s < count; s++) {
            struct span *of = &spans[omp_get_thread_num()];
            const size_t n_rows = span_length(vectors, s);
            take_span(vectors, s, of);
            for (size_t first = 0; first < end; first += SPAN) {
                const size_t some = nvdp__min(end - first, SPAN);
                multiply_span(vectors, some, z + first * dim, of);
                for (size_t i = 0; i < some; i++)
                    bound_span(dchi, x[first + i], s, of, of->dot + i * SPAN);
                for (size_t i = 0; i < some && pass == 0; i++)
                    made[first + i]->sum[s + 1] = smallest_bound(n_rows, of->dot + i * SPAN);
                for (size_t i = 0; i < some && pass == 1; i += FOUR) {
                    const nvdp__bf16 *weight[FOUR];
                    double sum[FOUR];
                    for (size_t l = 0; l < FOUR; l++) { /* repeats the last row to fill four */
                        const size_t at = nvdp__min(i + l, some - 1);
                        const struct nvdp__proposal *to = made[first + at];
                        nvdp__bf16 *own =
                            to->weight != NULL ? to->weight + s * SPAN : of->weight + l * SPAN;
                        weigh_span(dchi, s, to->bound, of->dot + at * SPAN, own);
                        weight[l] = own;
                    }
                    sum_weights(n_rows, weight, sum);
                    for (size_t l = 0; l < FOUR && i + l < some; l++)
                        made[first + i + l]->sum[s + 1] = sum[l];
                }
            }
        }
        for (size_t i = 0; i < end; i++) {
            double *sum = made[i]->sum;
            for (size_t s = 0; s < count && pass == 0; s++)
                made[i]->bound = fminf(made[i]->bound, (float)sum[s + 1]);
            sum[0] = 0;
            for (size_t s = 0; s < count && pass == 1; s++)
                sum[s + 1] += sum[s];
            made[i]->shift = (double)made[i]->bound / vectors->scale;
        }
    }
}

/* Returns the weights of a span: the stored weights, or weights recomputed into of->weight. */
static const nvdp__bf16 *span_weights(const struct nvdp_dchi *dchi, int32_t x,
                                      const struct nvdp__proposal *from, size_t span,
                                      struct span *of) {
    float z[NVDP__ROW_WIDEST];
    if (from->weight != NULL) return from->weight + span * SPAN;
    nvdp__vectors_center_row(dchi->vectors, (size_t)x, z);
    take_span(dchi->vectors, span, of);
    multiply_span(dchi->vectors, 1, z, of);
    bound_span(dchi, x, span, of, of->dot);
    weigh_span(dchi, span, from->bound, of->dot, of->weight);
    return of->weight;
}

/* Returns the token in whose share of the weights' sum the uniform number falls, and the weight of this token. */
static size_t propose(const struct nvdp_dchi *dchi, int32_t x, const struct nvdp__proposal *from,
                      struct span *of, double uniform, double *weight) {
    const size_t count = dchi->vectors->count;
    size_t low = 0, high = nvdp__blocks(count, SPAN), found = 0;
    double left = uniform * from->sum[high];
    *weight = 0;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        *(from->sum[middle] <= left ? &low : &high) = middle;
    }
    left -= from->sum[low];
    const nvdp__bf16 *weights = span_weights(dchi, x, from, low, of);
    for (size_t i = 0; i < span_length(dchi->vectors, low); i++) {
        if (weights[i] == 0) continue;
        found = low * SPAN + i; /* the last token if rounding leaves a remainder */
        *weight = weight_as_double(weights[i]);
        if (left < *weight) break;
        left -= *weight;
    }
    return found;
}

/* Draws an output from the exact row in double; row [count] is a scratch buffer. */
static int32_t draw_exactly(const struct nvdp_dchi *dchi, int32_t x, struct nvdp__stream *stream,
                            double *row) {
    const size_t count = dchi->vectors->count;
    double left = nvdp__stream_uniform(stream) * (nvdp__comes_out(dchi, (size_t)x) ? 1 : dchi->p);
    size_t found = 0;
    nvdp__dchi_rows(dchi, 1, &x, row);
    for (size_t y = 0; y < count && left >= 0; y++) {
        if (!nvdp__comes_out(dchi, y) || exp(row[y]) <= 0) continue;
        left -= exp(row[y]);
        found = y; /* the last token if rounding leaves a remainder */
    }
    return (int32_t)found;
}

static int32_t draw(const struct nvdp_dchi *dchi, int32_t x, const struct nvdp__proposal *from,
                    struct nvdp__stream *stream, struct span *of, double *row) {
    const struct nvdp_vectors *vectors = dchi->vectors;
    double scratch[NVDP__ROW_WIDEST], weight;
    if (!nvdp__comes_out(dchi, (size_t)x) && nvdp__stream_uniform(stream) >= dchi->p) return x;
    const double *own = nvdp__row(vectors, (size_t)x, scratch);
    for (size_t i = 0; i < PROPOSALS; i++) {
        const size_t y = propose(dchi, x, from, of, nvdp__stream_uniform(stream), &weight);
        const double d = nvdp__distance_from(vectors, own, y);
        if (nvdp__stream_uniform(stream) * weight <= exp(dchi->eta / 2 * (from->shift - d)))
            return (int32_t)y;
    }
    return draw_exactly(dchi, x, stream, row);
}

void nvdp__dchi_forget(struct nvdp_dchi *dchi) {
    for (size_t x = 0; dchi->kept != NULL && x < dchi->vectors->count; x++)
        /* the weights lie in the same block after `sum`, so free(sum) also frees the weights */
        free(dchi->kept[x].sum);
    free(dchi->kept);
}

/* Caches a copy of the proposal if there is room. */
static void keep(struct nvdp_dchi *dchi, const struct nvdp__proposal *made,
                 struct nvdp__proposal *kept) {
    const size_t count = made->weight != NULL ? dchi->vectors->count : 0;
    const size_t sums = nvdp__blocks(dchi->vectors->count, SPAN) + 1;
    const size_t bytes = count * sizeof *made->weight + sums * sizeof *made->sum;
    if (dchi->kept_bytes + bytes > KEPT_BYTES) return;
    double *memory = malloc(bytes);
    if (memory == NULL) return; /* without a cached copy, the proposal is recomputed when needed */
    dchi->kept_bytes += bytes;
    *kept = *made;
    kept->sum = memory;
    memcpy(kept->sum, made->sum, sums * sizeof *kept->sum);
    if (count == 0) return;
    kept->weight = (nvdp__bf16 *)(void *)(memory + sums);
    memcpy(kept->weight, made->weight, count * sizeof *kept->weight);
}

/* Lists of the positions that have the same token: head[x], then next[i], from the last position to the first; -1
 * ends a list. */
struct lists {
    int64_t *head, *next;
    int32_t *distinct;
    size_t n;
};

static nvdp_status make_lists(struct nvdp_context *ctx, struct nvdp__dchi_scratch *scratch,
                              size_t count, size_t n, const int32_t *tokens, struct lists *lists) {
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__IN_BLOCK(HEAD, lists->head, count),
                           NVDP__IN_BLOCK(NEXT, lists->next, n),
                           NVDP__IN_BLOCK(DISTINCT, lists->distinct, count < n ? count : n)));
    for (size_t x = 0; x < count; x++)
        lists->head[x] = -1;
    for (size_t i = 0; i < n; i++) {
        if (tokens[i] < 0) continue;
        if (lists->head[tokens[i]] < 0) lists->distinct[lists->n++] = tokens[i];
        lists->next[i] = lists->head[tokens[i]];
        lists->head[tokens[i]] = (int64_t)i;
    }
    return NVDP_OK;
}

/* The proposals of up to `largest` distinct tokens: cached proposals, and fresh proposals, which use the arrays
 * below. */
struct proposals {
    size_t largest, sums;        /* max number of tokens; length of `sum` of a proposal */
    struct nvdp__proposal *made; /* [largest] proposal of each token */
    /* number of fresh proposals; the first `others` are for tokens that cannot be outputs */
    size_t n, others;
    struct nvdp__proposal **fresh; /* [n] fresh proposals */
    int32_t *x;                    /* [n] tokens of the fresh proposals */
    float *z;                      /* [n, dim] centered vectors of these tokens */
    double *sum;                   /* [n, sums] sums of the fresh proposals */
    nvdp__bf16 *weights;           /* [n, V]; NULL if weights are recomputed when needed */
};

static nvdp_status reserve_proposals(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                     struct nvdp__dchi_scratch *scratch, size_t tokens,
                                     struct proposals *of) {
    const struct nvdp_vectors *vectors = dchi->vectors;
    const bool stores = vectors->centered != NULL || vectors->dim > NVDP__ROW_WIDEST;
    of->sums = nvdp__blocks(vectors->count, SPAN) + 1;
    of->largest =
        nvdp__min(tokens, stores ? MADE : nvdp__max(MADE_BYTES / (of->sums * sizeof *of->sum), 1));
    const size_t n = of->largest;
    if (stores)
        NVDP_TRY(
            NVDP__SCRATCH(ctx, scratch, NVDP__IN_BLOCK(WEIGHTS, of->weights, n * vectors->count)));
    return NVDP__SCRATCH(ctx, scratch, NVDP__IN_BLOCK(FLOATS, of->z, n * vectors->dim),
                         NVDP__IN_BLOCK(SUMS, of->sum, n * of->sums),
                         NVDP__IN_BLOCK(MADE, of->made, n), NVDP__IN_BLOCK(FRESH, of->fresh, n),
                         NVDP__IN_BLOCK(FRESH_TOKENS, of->x, n));
}

/* Takes the cached proposals of n tokens, and prepares the missing proposals. */
static void find_proposals(const struct nvdp_dchi *dchi, size_t n, const int32_t *token,
                           struct proposals *of) {
    const struct nvdp_vectors *vectors = dchi->vectors;
    of->n = of->others = 0;
    for (int comes_out = 0; comes_out < 2; comes_out++) {
        for (size_t d = 0; d < n; d++) {
            const size_t k = of->n, x = (size_t)token[d];
            if (nvdp__comes_out(dchi, x) != (comes_out != 0)) continue;
            of->made[d] = dchi->kept[x];
            if (of->made[d].sum != NULL) continue;
            nvdp__vectors_center_row(vectors, x, of->z + k * vectors->dim);
            of->made[d].weight = of->weights != NULL ? of->weights + k * vectors->count : NULL;
            of->made[d].sum = of->sum + k * of->sums;
            of->fresh[k] = &of->made[d];
            of->x[of->n++] = token[d];
        }
        if (!comes_out) of->others = of->n;
    }
}

static nvdp_status sample_exact(struct nvdp_context *ctx, struct nvdp_dchi *dchi,
                                struct nvdp__dchi_scratch *scratch, const struct source *source,
                                size_t n, const struct nvdp__token_place *place,
                                const int32_t *tokens, int32_t *out) {
    const size_t count = dchi->vectors->count;
    const int threads = nvdp_context_threads(ctx);
    struct lists lists = {0};
    struct proposals of = {0};
    struct span *spans = NULL;
    float *products = NULL; /* scratch buffers for the spans of all threads */
    double *rows = NULL;
    const size_t each = (size_t)SPAN * dchi->vectors->dim;
    NVDP_TRY(make_lists(ctx, scratch, count, n, tokens, &lists));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__IN_BLOCK(SPANS, spans, (size_t)threads),
                           NVDP__IN_BLOCK(PRODUCTS, products, (size_t)threads * 2 * each)));
    for (size_t t = 0; t < (size_t)threads; t++) {
        spans[t].rows = products + 2 * t * each;
        spans[t].panel = products + (2 * t + 1) * each;
    }
    NVDP_TRY(reserve_proposals(ctx, dchi, scratch, lists.n, &of));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__IN_BLOCK(ROWS, rows, (size_t)threads * count)));
    if (dchi->kept == NULL) NVDP_TRY(NVDP__NEW(ctx, dchi->kept, count));
    for (size_t first = 0, now; first < lists.n; first += now) {
        const int32_t *distinct = lists.distinct + first;
        NVDP_TRY(nvdp__check_cancelled(ctx, "cancelled"));
        now = nvdp__min(lists.n - first, of.largest);
        find_proposals(dchi, now, distinct, &of);
        make_proposals(dchi, threads, spans, of.n, of.others, of.x, of.z, of.fresh);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t d = 0; d < now; d++) {
            const size_t thread = (size_t)omp_get_thread_num();
            for (int64_t i = lists.head[distinct[d]]; i >= 0; i = lists.next[i]) {
                struct nvdp__stream stream = nvdp__stream_open(&source->noise, NVDP__PURPOSE_TOKEN,
                                                               place[i].position, place[i].text);
                out[i] = draw(dchi, distinct[d], &of.made[d], &stream, &spans[thread],
                              rows + thread * count);
            }
        }
        for (size_t i = 0; i < of.n; i++)
            keep(dchi, of.fresh[i], &dchi->kept[of.x[i]]);
    }
    return NVDP_OK;
}

static nvdp_status sample_nearest(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                  struct nvdp__dchi_scratch *scratch, const struct source *source,
                                  size_t n, const struct nvdp__token_place *place,
                                  const int32_t *tokens, int32_t *out) {
    const size_t dim = dchi->vectors->dim;
    const size_t block = nvdp__min(n, nvdp__max(PERTURBED / dim, 1));
    const int threads = nvdp_context_threads(ctx);
    double *points = NULL, *normals = NULL;
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__IN_BLOCK(POINTS, points, block * dim),
                           NVDP__IN_BLOCK(NORMALS, normals, (size_t)threads * dim)));
    for (size_t first = 0; first < n; first += block) {
        const size_t now = nvdp__min(n - first, block);
        nvdp__dchi_perturb(dchi, &source->noise, threads, now, place + first, tokens + first,
                           normals, points);
        NVDP_TRY(
            nvdp__vectors_nearest_reusing(ctx, dchi->vectors, scratch, now, points, out + first));
    }
    return NVDP_OK;
}

nvdp_status nvdp__dchi_sample(struct nvdp_context *ctx, struct nvdp_dchi *dchi,
                              struct nvdp__dchi_scratch *scratch, size_t texts,
                              const size_t *offset, const int32_t *tokens, const uint64_t *seed,
                              uint64_t first, int32_t *out) {
    nvdp__auto(close_source) struct source source = {0};
    struct nvdp__token_place *place = NULL;
    const size_t n = offset[texts];
    int32_t *drawn = NULL;
    if (dchi->row->gives_vectors)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "text privatization: expected a mechanism that outputs tokens, found %s, "
                          "which outputs vectors",
                          nvdp__dchi_name(dchi->mechanism));
    NVDP_TRY(nvdp__dchi_check(ctx, dchi, n, tokens));
    NVDP_TRY(find_places(ctx, scratch, texts, offset, first, &place));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__IN_BLOCK(DRAWN, drawn, n)));
    NVDP_TRY(open_source(ctx, seed, &source));
    const bool random = nvdp__dchi_uniform(dchi);
    if (!random && nvdp__dchi_exact(dchi))
        NVDP_TRY(sample_exact(ctx, dchi, scratch, &source, n, place, tokens, drawn));
    else if (!random)
        NVDP_TRY(sample_nearest(ctx, dchi, scratch, &source, n, place, tokens, drawn));
    for (size_t i = 0; i < n; i++) {
        if (!random && tokens[i] >= 0) continue;
        struct nvdp__stream stream =
            nvdp__stream_open(&source.noise, NVDP__PURPOSE_TOKEN, place[i].position, place[i].text);
        drawn[i] = any_token(dchi, &stream);
    }
    if (n > 0) memcpy(out, drawn, n * sizeof *out);
    return NVDP_OK;
}

nvdp_status nvdp_dchi_sample(struct nvdp_context *ctx, struct nvdp_dchi *dchi, size_t texts,
                             const size_t *offset, const int32_t *tokens, const uint64_t *seed,
                             uint64_t first, int32_t *out) {
    nvdp__auto(nvdp__dchi_scratch_release) struct nvdp__dchi_scratch scratch = {0};
    return nvdp__dchi_sample(ctx, dchi, &scratch, texts, offset, tokens, seed, first, out);
}
