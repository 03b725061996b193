/* Draws of mechanisms: Laplace noise in R^d, then tokens by rejection sampling. */
#include "base/random.h"
#include "dchi/dchi.h"
#include "tensor/ops.h"
#include "tensor/vector.h"

#include <omp.h>
#include <stdlib.h>

enum {
    KEPT_BYTES = 256 << 20,
    PERTURBED = 2048 /* points, a multiple of the blocks of nearest.c */
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

/* The source of randomness of a call. */
struct source {
    struct nvdp__release_key key;
    struct nvdp__noise noise;
};

static nvdp_status open_source(struct nvdp_context *ctx, const uint64_t *seed, struct source *out) {
    out->noise = (struct nvdp__noise){.seed = seed != NULL ? *seed : 0};
    if (seed != NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__release_key_create(ctx, &out->key));
    out->noise.release = &out->key;
    return NVDP_OK;
}

static nvdp_status find_places(struct nvdp_context *ctx, struct nvdp__dchi_scratch *scratch,
                               size_t texts, const size_t *offset, uint64_t first,
                               struct nvdp__token_place **out) {
    struct nvdp__token_place *place = NULL;
    NVDP_RETURN_IF_FAILED(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_PLACE, place, offset[texts]));
    for (size_t t = 0; t < texts; t++)
        for (size_t i = offset[t]; i < offset[t + 1]; i++)
            place[i] = (struct nvdp__token_place){first + t, (uint32_t)(i - offset[t])};
    *out = place;
    return NVDP_OK;
}

/* ---- Laplace noise in R^d ----
 *
 * Density ~ exp(-eta |N|) (Feyisetan et al. 2020; Qu et al. 2021, Eq. 3): N = r u, where u is
 * uniform on the sphere (a normal vector divided by its norm) and r has density ~ r^(d-1)
 * exp(-eta r). This is the Gamma distribution of shape d and scale 1/eta, for integer d the sum
 * of d exponentials:
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
        add_noise(&stream, dchi->eta, dim, nvdp_vectors_row(dchi->vectors, (size_t)x),
                  scratch + (size_t)omp_get_thread_num() * dim, out + i * dim);
    }
}

nvdp_status nvdp__dchi_perturb_texts(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                     struct nvdp__dchi_scratch *scratch, size_t texts,
                                     const size_t *offset, const int32_t *tokens,
                                     const uint64_t *seed, uint64_t first, double *out) {
    nvdp_status status = NVDP_OK;
    const int threads = nvdp_context_threads(ctx);
    struct source source = {0};
    struct nvdp__token_place *place = NULL;
    double *normals = NULL;
    if (nvdp__dchi_exact(dchi))
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "text privatization: expected a Laplace mechanism, the only kind that "
                          "outputs noisy vectors");
    NVDP_RETURN_IF_FAILED(nvdp__dchi_check(ctx, dchi, offset[texts], tokens));
    NVDP_TRY(find_places(ctx, scratch, texts, offset, first, &place));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_NORMALS, normals,
                           (size_t)threads * dchi->vectors->dim));
    NVDP_TRY(open_source(ctx, seed, &source));
    nvdp__dchi_perturb(dchi, &source.noise, threads, offset[texts], place, tokens, normals, out);
cleanup:
    nvdp__release_key_wipe(&source.key);
    return status;
}

nvdp_status nvdp_dchi_perturb(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t texts,
                              const size_t *offset, const int32_t *tokens, const uint64_t *seed,
                              uint64_t first, double *out) {
    struct nvdp__dchi_scratch scratch = {0};
    nvdp_status status =
        nvdp__dchi_perturb_texts(ctx, dchi, &scratch, texts, offset, tokens, seed, first, out);
    nvdp__dchi_scratch_release(&scratch);
    return status;
}

nvdp_status nvdp__sequence_check(struct nvdp_context *ctx, double eta, double clip, size_t dim) {
    if (!(eta > 0 && isfinite(eta)) || !(clip > 0) || dim < 1)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "sequence-laplace: expected a finite eta, a clip and a dimension above "
                          "0, found eta %g, clip %g and dimension %zu",
                          eta, clip, dim);
    return NVDP_OK;
}

/* hypot() has a relative error below 2^-52. The norm is increased by the errors of all calls and
 * of the scaling, so that rounding never leaves the ball. */
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

nvdp_status nvdp_sequence_laplace(struct nvdp_context *ctx, double eta, double clip, size_t texts,
                                  size_t dim, const double *in, const uint64_t *seed,
                                  uint64_t first, double *out) {
    nvdp_status status = NVDP_OK;
    const int threads = nvdp_context_threads(ctx);
    struct source source = {0};
    struct nvdp__token_place *place = NULL;
    double *scratch = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__sequence_check(ctx, eta, clip, dim));
    NVDP_TRY(NVDP__NEW(ctx, scratch, (size_t)threads * dim));
    NVDP_TRY(NVDP__NEW(ctx, place, texts));
    for (size_t i = 0; i < texts; i++)
        place[i].text = first + i;
    NVDP_TRY(open_source(ctx, seed, &source));
    nvdp__sequence_perturb(&source.noise, threads, eta, clip, texts, dim, place, in, scratch, out);
cleanup:
    nvdp__release_key_wipe(&source.key);
    free(place);
    free(scratch);
    return status;
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
 * with z, c_y and s as in nearest.c and z.c_y a float32 product, whose error is at most
 * (d + 8) 2^-24 |z| |c_y| <= (d + 8) 2^-25 (|z|^2 + |c_y|^2).  b = 1.01 (d + 24) 2^-24 covers twice that
 * and the rounding of the sum; 2^-20 covers the rounding of root, difference and factor.  Weights are
 * rounded up to bfloat16, at most half a percent too large, so usually 99 of 100 proposals are accepted.
 * If the table is so uneven that they are not, the distribution is still P; after PROPOSALS rejections
 * the row is computed in double.
 *
 * Rows of the products do not depend on other rows, so draws do not depend on the batch. */
enum { SPAN = 64, PROPOSALS = 1000, MADE = 192 };

NVDP__CLONES
static float nearest_bound(size_t n, float own, float keep, const double *norm,
                           const unsigned char *comes_out, float *row) {
    float smallest = INFINITY;
    for (size_t y = 0; y < n; y++) {
        float both = own + (float)(norm[y] * norm[y]);
        float square = both * keep - 2 * row[y];
        row[y] = sqrtf(square > 0 ? square : 0) * (1 - 0x1p-20F);
    }
    for (size_t y = 0; comes_out != NULL && y < n; y++)
        row[y] = comes_out[y] ? row[y] : INFINITY;
    for (size_t y = 0; y < n; y++)
        smallest = row[y] < smallest ? row[y] : smallest;
    return smallest;
}

NVDP__CLONES
static void weigh(size_t n, float slope, float shift, const float *row, nvdp__bf16 *weight) {
    for (size_t y = 0; y < n; y++) { /* the exponential has a relative error of at most 2e-7 */
        float w = row[y] < INFINITY ? nvdp__fast_exp(slope * (shift - row[y])) * (1 + 0x1p-20F) : 0;
        weight[y] = (nvdp__bf16)((nvdp__float_bits(w) + 0xffff) >> 16);
    }
}

static double weight_of(nvdp__bf16 weight) {
    return (double)nvdp__bfloat16_to_float(weight);
}

/* Makes a proposal from row, the products of x's vector with all rows, which it overwrites. */
static void make_proposal(const struct nvdp_dchi *dchi, int32_t x, float *row,
                          struct nvdp__proposal *made) {
    const struct nvdp_vectors *vectors = dchi->vectors;
    const size_t count = vectors->count;
    const double norm = vectors->norm[x], bound = 1.01 * ((double)vectors->dim + 24) * 0x1p-24;
    const bool own = nvdp__comes_out(dchi, (size_t)x);
    float shift = nearest_bound(count, (float)(norm * norm), (float)fmax(1 - bound, 0),
                                vectors->norm, dchi->sensitive, row);
    if (own) row[x] = shift = 0;
    weigh(count, (float)fmin(dchi->eta / 2 / vectors->scale, 1e30), shift, row, made->weight);
    made->shift = (double)shift / vectors->scale;
    made->sum[0] = 0;
    for (size_t y = 0, b = 0; y < count; y += SPAN, b++) {
        double sum = 0;
        for (size_t i = y; i < count && i < y + SPAN; i++)
            sum += weight_of(made->weight[i]);
        made->sum[b + 1] = made->sum[b] + sum;
    }
}

/* The token in whose share of the weights' sum the uniform falls. */
static size_t propose(const struct nvdp__proposal *from, size_t count, double uniform) {
    size_t low = 0, high = nvdp__blocks(count, SPAN), found = 0;
    double left = uniform * from->sum[high];
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        *(from->sum[middle] <= left ? &low : &high) = middle;
    }
    left -= from->sum[low];
    for (size_t y = low * SPAN; y < count && y < (low + 1) * SPAN; y++) {
        if (from->weight[y] == 0) continue;
        found = y; /* the last one if rounding leaves a remainder */
        if (left < weight_of(from->weight[y])) break;
        left -= weight_of(from->weight[y]);
    }
    return found;
}

/* Draws an output from the exact row in double; row [count] is scratch. */
static int32_t draw_exactly(const struct nvdp_dchi *dchi, int32_t x, struct nvdp__stream *stream,
                            double *row) {
    const size_t count = dchi->vectors->count;
    double left = nvdp__stream_uniform(stream) * (nvdp__comes_out(dchi, (size_t)x) ? 1 : dchi->p);
    size_t found = 0;
    nvdp__dchi_rows(dchi, 1, &x, row);
    for (size_t y = 0; y < count && left >= 0; y++) {
        if (!nvdp__comes_out(dchi, y) || exp(row[y]) <= 0) continue;
        left -= exp(row[y]);
        found = y; /* the last one if rounding leaves a remainder */
    }
    return (int32_t)found;
}

static int32_t draw(const struct nvdp_dchi *dchi, int32_t x, const struct nvdp__proposal *from,
                    struct nvdp__stream *stream, double *row) {
    const struct nvdp_vectors *vectors = dchi->vectors;
    const double *own = nvdp_vectors_row(vectors, (size_t)x);
    if (!nvdp__comes_out(dchi, (size_t)x) && nvdp__stream_uniform(stream) >= dchi->p) return x;
    for (size_t i = 0; i < PROPOSALS; i++) {
        const size_t y = propose(from, vectors->count, nvdp__stream_uniform(stream));
        const double d = nvdp__distance(vectors->dim, own, nvdp_vectors_row(vectors, y));
        if (nvdp__stream_uniform(stream) * weight_of(from->weight[y]) <=
            exp(dchi->eta / 2 * (from->shift - d)))
            return (int32_t)y;
    }
    return draw_exactly(dchi, x, stream, row);
}

void nvdp__dchi_forget(struct nvdp_dchi *dchi) {
    for (size_t x = 0; dchi->kept != NULL && x < dchi->vectors->count; x++)
        free(dchi->kept[x].sum); /* also frees the weights, which follow it */
    free(dchi->kept);
}

/* Caches a copy if there is room. */
static void keep(struct nvdp_dchi *dchi, const struct nvdp__proposal *made,
                 struct nvdp__proposal *kept) {
    const size_t count = dchi->vectors->count, sums = nvdp__blocks(count, SPAN) + 1;
    const size_t bytes = count * sizeof *made->weight + sums * sizeof *made->sum;
    if (dchi->kept_bytes + bytes > KEPT_BYTES) return;
    double *memory = malloc(bytes);
    if (memory == NULL) return; /* then it is computed again when needed */
    dchi->kept_bytes += bytes;
    *kept = (struct nvdp__proposal){(nvdp__bf16 *)(void *)(memory + sums), memory, made->shift};
    memcpy(kept->weight, made->weight, count * sizeof *kept->weight);
    memcpy(kept->sum, made->sum, sums * sizeof *kept->sum);
}

/* Positions with the same token form a list: head[x], then next[i], from the last to the first;
 * -1 ends it. */
struct lists {
    int64_t *head, *next;
    int32_t *distinct;
    size_t n;
};

static nvdp_status make_lists(struct nvdp_context *ctx, struct nvdp__dchi_scratch *scratch,
                              size_t count, size_t n, const int32_t *tokens, struct lists *lists) {
    NVDP_RETURN_IF_FAILED(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_HEAD, lists->head, count));
    NVDP_RETURN_IF_FAILED(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_NEXT, lists->next, n));
    NVDP_RETURN_IF_FAILED(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_DISTINCT, lists->distinct,
                                        count < n ? count : n));
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

static nvdp_status sample_exact(struct nvdp_context *ctx, struct nvdp_dchi *dchi,
                                struct nvdp__dchi_scratch *scratch, const struct source *source,
                                size_t n, const struct nvdp__token_place *place,
                                const int32_t *tokens, int32_t *out) {
    nvdp_status status = NVDP_OK;
    const struct nvdp_vectors *vectors = dchi->vectors;
    const size_t count = vectors->count, dim = vectors->dim, sums = nvdp__blocks(count, SPAN) + 1;
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    struct lists lists = {0};
    float *z = NULL, *dot = NULL;
    nvdp__bf16 *weights = NULL;
    double *sum = NULL, *rows = NULL;
    NVDP_TRY(make_lists(ctx, scratch, count, n, tokens, &lists));
    const size_t largest = nvdp__min(lists.n, MADE);
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_FLOATS, z, largest * dim));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_PRODUCTS, dot, largest * count));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_WEIGHTS, weights, largest * count));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_SUMS, sum, largest * sums));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_ROWS, rows, (size_t)dev.threads * count));
    if (scratch->rowwise == NULL) NVDP_TRY(nvdp__rowwise_create(&dev, dim, &scratch->rowwise));
    dev.rowwise = scratch->rowwise;
    if (dchi->kept == NULL) NVDP_TRY(NVDP__NEW(ctx, dchi->kept, count));
    for (size_t first = 0, now; first < lists.n; first += now) {
        struct nvdp__proposal made[MADE] = {0};
        size_t fresh = 0;
        for (now = 0; first + now < lists.n && now < MADE; now++) {
            const int32_t x = lists.distinct[first + now];
            if (dchi->kept[x].weight != NULL) {
                made[now] = dchi->kept[x];
                continue;
            }
            memcpy(z + fresh * dim, vectors->centered + (size_t)x * dim, dim * sizeof *z);
            made[now] = (struct nvdp__proposal){weights + fresh * count, sum + fresh * sums, 0};
            fresh++;
        }
        const struct nvdp__linear all = {
            .rows = fresh, .in = dim, .out = count, .w = vectors->centered};
        nvdp__dense_forward(&dev, &all, nvdp__f32(fresh, dim, z), nvdp__f32(fresh, count, dot));
#pragma omp parallel for schedule(dynamic, 1) num_threads(dev.threads)
        for (size_t d = 0; d < now; d++) {
            const int32_t x = lists.distinct[first + d];
            double *row = rows + (size_t)omp_get_thread_num() * count;
            if (made[d].weight != dchi->kept[x].weight)
                make_proposal(dchi, x, dot + (size_t)(made[d].weight - weights), &made[d]);
            for (int64_t i = lists.head[x]; i >= 0; i = lists.next[i]) {
                struct nvdp__stream stream = nvdp__stream_open(&source->noise, NVDP__PURPOSE_TOKEN,
                                                               place[i].position, place[i].text);
                out[i] = draw(dchi, x, &made[d], &stream, row);
            }
        }
        for (size_t d = 0; d < now; d++) {
            struct nvdp__proposal *kept = &dchi->kept[lists.distinct[first + d]];
            if (kept->weight == NULL) keep(dchi, &made[d], kept);
        }
    }
cleanup:
    return status;
}

static nvdp_status sample_nearest(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                  struct nvdp__dchi_scratch *scratch, const struct source *source,
                                  size_t n, const struct nvdp__token_place *place,
                                  const int32_t *tokens, int32_t *out) {
    const size_t dim = dchi->vectors->dim, block = nvdp__min(n, PERTURBED);
    const int threads = nvdp_context_threads(ctx);
    double *points = NULL, *normals = NULL;
    NVDP_RETURN_IF_FAILED(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_POINTS, points, block * dim));
    NVDP_RETURN_IF_FAILED(
        NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_NORMALS, normals, (size_t)threads * dim));
    for (size_t first = 0; first < n; first += block) {
        const size_t now = nvdp__min(n - first, block);
        nvdp__dchi_perturb(dchi, &source->noise, threads, now, place + first, tokens + first,
                           normals, points);
        NVDP_RETURN_IF_FAILED(
            nvdp__vectors_nearest(ctx, dchi->vectors, scratch, now, points, out + first));
    }
    return NVDP_OK;
}

nvdp_status nvdp__dchi_sample(struct nvdp_context *ctx, struct nvdp_dchi *dchi,
                              struct nvdp__dchi_scratch *scratch, size_t texts,
                              const size_t *offset, const int32_t *tokens, const uint64_t *seed,
                              uint64_t first, int32_t *out) {
    nvdp_status status = NVDP_OK;
    struct source source = {0};
    struct nvdp__token_place *place = NULL;
    const size_t n = offset[texts];
    int32_t *drawn = NULL;
    if (dchi->row->gives_vectors)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "text privatization: expected a mechanism that outputs tokens, found %s, "
                          "which outputs vectors",
                          nvdp__dchi_name(dchi->mechanism));
    NVDP_RETURN_IF_FAILED(nvdp__dchi_check(ctx, dchi, n, tokens));
    NVDP_TRY(find_places(ctx, scratch, texts, offset, first, &place));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_DRAWN, drawn, n));
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
cleanup:
    nvdp__release_key_wipe(&source.key);
    return status;
}

nvdp_status nvdp_dchi_sample(struct nvdp_context *ctx, struct nvdp_dchi *dchi, size_t texts,
                             const size_t *offset, const int32_t *tokens, const uint64_t *seed,
                             uint64_t first, int32_t *out) {
    struct nvdp__dchi_scratch scratch = {0};
    nvdp_status status =
        nvdp__dchi_sample(ctx, dchi, &scratch, texts, offset, tokens, seed, first, out);
    nvdp__dchi_scratch_release(&scratch);
    return status;
}
