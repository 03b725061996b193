/* Estimates the words of a text from the mean vector of its sample (invert.h), by ridge regression of the number of
 * each piece,
 *
 *     E n_k  =  r_k + U_k (x - m),     U  =  N'X (X'X + l tr(X'X)/p I)^-1,
 *
 * with X the centered mean vectors of the public texts, N the centered numbers of their pieces, and the penalty l that
 * fits held-out public texts best.  The regression needs no training, and far fewer pairs than the language model. 
 * Texts with similar vectors improve the estimate: their numbers are added to the map's estimate for the difference,
 *
 *     E n_k  =  sum_i w_i (n_ik + U_k (x - x_i)),     w_i  ~  exp(-|x - x_i|^2 / (2 p h)),
 *
 * with the width h that fits held-out public texts best.  An infinite width gives the regression. */
#include "attack/invert.h"
#include "base/own.h"
#include "rdp/pairs.h"
#include <cblas.h>
#include <math.h>
#include <stdlib.h>

/* texts that are compared with each sample */
enum { MAX_TEXTS = 100000 };
static const double PENALTIES[] = {1e-2, 1e-1, 1, 10, 1e4};
static const double WIDTHS[] = {INFINITY, .5, .2, .1, .05, .02};
static const double LEAST_WEIGHT = 1e-4; /* minimum, as a share of the nearest text's weight */

nvdp_status nvdp__piece_reader_create(struct nvdp_context *ctx, struct nvdp__memory *memory,
                                      size_t inputs, size_t pieces,
                                      const struct nvdp_dataset *known,
                                      struct nvdp__piece_reader *out) {
    const size_t texts = nvdp__min(known->count, MAX_TEXTS);
    *out = (struct nvdp__piece_reader){
        .inputs = inputs, .pieces = pieces, .known = known, .texts = texts};
    return NVDP__ARRAYS(ctx, memory, NVDP__ITEMS(out->vector, texts * inputs),
                        NVDP__ITEMS(out->between, inputs), NVDP__ITEMS(out->near, texts),
                        NVDP__ITEMS(out->map, pieces * inputs), NVDP__ITEMS(out->rate, pieces),
                        NVDP__ITEMS(out->mean, inputs), NVDP__ITEMS(out->gram, 2 * inputs * inputs),
                        NVDP__ITEMS(out->product, 2 * pieces * inputs));
}

void nvdp__piece_reader_read(const struct nvdp__piece_reader *r, size_t n, const float *x,
                             float *out) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)r->pieces, (int)r->inputs, 1,
                x, (int)r->inputs, r->map, (int)r->inputs, 0, out, (int)r->pieces);
}

/* --- texts with similar vectors --- */

void nvdp__piece_reader_compare(struct nvdp__piece_reader *r, const float *x) {
    for (size_t i = 0; i < r->texts; i++) {
        const float *of = r->vector + i * r->inputs;
        double sum = 0;
        for (size_t d = 0; d < r->inputs; d++)
            sum += (double)((x[d] - of[d]) * (x[d] - of[d]));
        r->near[i] = (struct nvdp__near){.distance = sum / (double)r->inputs, .text = i};
    }
    NVDP__SORT(r->near, r->texts, NVDP__UP(struct nvdp__near, distance),
               NVDP__UP(struct nvdp__near, text));
}

/* Sets the weights of texts.  Returns the number of weights that are not 0. */
static size_t set_weights(struct nvdp__piece_reader *r) {
    double sum = 0;
    size_t n = 0;
    for (; n < r->texts; n++) {
        struct nvdp__near *one = &r->near[n];
        one->weight = exp((r->near->distance - one->distance) / (2 * r->width));
        if (one->weight < LEAST_WEIGHT) break;
        sum += one->weight;
    }
    for (size_t k = 0; k < n; k++)
        r->near[k].weight /= sum;
    return n;
}

void nvdp__piece_reader_expect(struct nvdp__piece_reader *r, const float *x, float *read) {
    const bool all = isinf(r->width);
    const size_t n = all ? 0 : set_weights(r);
    memcpy(r->between, x, r->inputs * sizeof *x);
    for (size_t k = 0; k < n; k++)
        cblas_saxpy((int)r->inputs, -(float)r->near[k].weight,
                    r->vector + r->near[k].text * r->inputs, 1, r->between, 1);
    nvdp__piece_reader_read(r, 1, r->between, read);
    for (size_t k = 0; all && k < r->pieces; k++)
        read[k] += (float)r->rate[k];
    for (size_t k = 0; k < n; k++) {
        const size_t *offset = r->known->offset + r->near[k].text;
        for (size_t at = offset[0] + 1; at + 1 < offset[1]; at++)
            read[r->known->ids[at]] += (float)r->near[k].weight;
    }
}

void nvdp__piece_reader_tell(struct nvdp__piece_reader *r, float *x, float *read) {
    for (size_t d = 0; d < r->inputs; d++)
        x[d] -= (float)r->mean[d];
    nvdp__piece_reader_compare(r, x);
    nvdp__piece_reader_expect(r, x, read);
}

/* --- the map --- */

/* Sums the products of vectors with each other, and of vectors with numbers of pieces. */
static void sum_up(struct nvdp__inverter *v, const struct nvdp__sight *sight, size_t n, float *x,
                   double *wide) {
    struct nvdp__piece_reader *r = &v->reader;
    const size_t p = r->inputs;
    memset(r->gram, 0, p * p * sizeof *r->gram);
    memset(r->product, 0, r->pieces * p * sizeof *r->product);
    memset(r->mean, 0, p * sizeof *r->mean);
    memset(r->rate, 0, r->pieces * sizeof *r->rate);
    for (size_t i = 0; i < n; i++) {
        nvdp__inverter_mean(v, sight, i, x);
        if (i < r->texts) memcpy(r->vector + i * p, x, p * sizeof *x);
        for (size_t d = 0; d < p; d++)
            r->mean[d] += wide[d] = (double)x[d];
        cblas_dsyr(CblasRowMajor, CblasLower, (int)p, 1, wide, 1, r->gram, (int)p);
        const size_t end = v->known->offset[i + 1] - 1;
        for (size_t k = v->known->offset[i] + 1; k < end; k++) {
            const size_t piece = (size_t)v->known->ids[k];
            cblas_daxpy((int)p, 1, wide, 1, r->product + piece * p, 1);
            r->rate[piece]++;
        }
    }
    for (size_t d = 0; d < p; d++)
        r->mean[d] /= (double)n;
    cblas_dsyr(CblasRowMajor, CblasLower, (int)p, -(double)n, r->mean, 1, r->gram, (int)p);
    cblas_dger(CblasRowMajor, (int)r->pieces, (int)p, -1, r->rate, 1, r->mean, 1, r->product,
               (int)p);
    for (size_t k = 0; k < r->pieces; k++)
        r->rate[k] /= (double)n;
    r->least = .5 / (double)n;
    for (size_t k = 0; k < r->texts * p; k++)
        r->vector[k] -= (float)r->mean[k % p];
}

/* Sets the map for a penalty. */
static bool solve(struct nvdp__piece_reader *r, double penalty) {
    double *factor = r->gram + r->inputs * r->inputs, *map = r->product + r->pieces * r->inputs;
    if (!nvdp__ridge(r->inputs, r->gram, penalty, false, r->pieces, r->product, factor, map))
        return false;
    for (size_t k = 0; k < r->pieces * r->inputs; k++)
        r->map[k] = (float)map[k];
    return true;
}

/* Returns the squared error of the estimated numbers for held-out text h, without a term that does not depend on the
 * estimate. */
static double squared_error(const struct nvdp__inverter *v, size_t h, const float *read) {
    const size_t *offset = v->known->offset + v->known->count - v->held + h;
    double sum = 0;
    for (size_t k = 0; k < v->reader.pieces; k++)
        sum += (double)read[k] * (double)read[k];
    for (size_t k = offset[0] + 1; k + 1 < offset[1]; k++)
        sum -= 2 * (double)read[v->known->ids[k]];
    return sum;
}

/* Chooses the width of the kernel. */
static nvdp_status choose_width(struct nvdp__inverter *v, const float *x, float *read) {
    enum { COUNT = sizeof WIDTHS / sizeof *WIDTHS };
    struct nvdp__piece_reader *r = &v->reader;
    double error[COUNT] = {0};
    size_t best = 0;
    for (size_t h = 0; h < v->held; h++) {
        nvdp__piece_reader_compare(r, x + h * r->inputs);
        for (size_t k = 0; k < COUNT; k++) {
            r->width = WIDTHS[k];
            nvdp__piece_reader_expect(r, x + h * r->inputs, read);
            error[k] += squared_error(v, h, read);
        }
        NVDP_TRY(nvdp__check_cancelled(v->attack->ctx, "attack: cancelled"));
    }
    for (size_t k = 1; k < COUNT; k++)
        if (error[k] < error[best]) best = k;
    r->width = WIDTHS[best];
    return NVDP_OK;
}

nvdp_status nvdp__piece_reader_fit(struct nvdp__inverter *v, const struct nvdp__sight *sight) {
    struct nvdp_context *ctx = v->attack->ctx;
    struct nvdp__piece_reader *r = &v->reader;
    const size_t n = v->known->count - v->held, p = r->inputs;
    nvdp__autofree float *x = NULL, *read = NULL;
    nvdp__autofree double *wide = NULL;
    double best = INFINITY, penalty = 0;
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(x, nvdp__max(v->held, 1) * p),
                          NVDP__ITEMS(read, r->pieces), NVDP__ITEMS(wide, p)));
    r->texts = nvdp__min(n, MAX_TEXTS);
    sum_up(v, sight, n, x, wide);
    for (size_t h = 0; h < v->held; h++) {
        nvdp__inverter_mean(v, sight, n + h, x + h * p);
        for (size_t d = 0; d < p; d++)
            x[h * p + d] -= (float)r->mean[d];
    }
    for (size_t k = 0; k < sizeof PENALTIES / sizeof *PENALTIES; k++) {
        if (!solve(r, PENALTIES[k])) continue;
        double found = 0; /* the errors of the map alone, for all held-out texts */
        r->width = INFINITY;
        for (size_t h = 0; h < v->held; h++) {
            nvdp__piece_reader_expect(r, x + h * p, read);
            found += squared_error(v, h, read);
        }
        NVDP_TRY(nvdp__check_cancelled(ctx, "attack: cancelled"));
        if (!(found < best)) continue;
        best = found;
        penalty = PENALTIES[k];
    }
    if (!isfinite(best) || !solve(r, penalty))
        return nvdp__fail(ctx, NVDP_ERR_NUMERIC,
                          "{public}: expected finite samples, from which words can be read");
    return choose_width(v, x, read);
}

/* ---- the vectors of tokens ---- */

/* Identifies the words of a text from the vectors of its tokens (invert.h).  The Gaussians of named.c identify the
 * token of each vector.  The identified text is one of the first guesses, and its pieces are mixed with the pieces
 * that are estimated from the mean vector:
 *
 *     E n_k  =  (1 - s) E n_k(mean)  +  s n_k(named),
 *
 * with the share s and the exponent of the densities that fit held-out public texts best.  If a sample has only one
 * vector, or its vectors do not belong to tokens, no tokens are identified: s = 0. */

enum { MAX_TRIED = 60 };
static const double SHARES[] = {0, .25, .5, .75, 1};

static bool one_per_token(const struct nvdp__texts *corpus) {
    const struct nvdp_dataset *data = corpus->data;
    for (size_t i = 0; i < corpus->set->texts; i++)
        if (nvdp__row_count(corpus->set, i) != data->offset[i + 1] - data->offset[i]) return false;
    return true;
}

nvdp_status nvdp__row_reader_create(struct nvdp__inverter *v) {
    struct nvdp__text_attack *a = v->attack;
    struct nvdp__row_reader *r = &v->row_reader;
    if (v->rows == 1 || a->run.model == NULL || !one_per_token(&a->known) ||
        !one_per_token(&a->attacked))
        return NVDP_OK;
    NVDP_TRY(nvdp__centroids_create(a, "on tokens", &r->centroids));
    r->opened = true;
    return NVDP__ATTACK_ARRAYS(a, NVDP__ITEMS(r->score, NVDP__ROWS * r->centroids.known.count));
}

nvdp_status nvdp__row_reader_name(struct nvdp__inverter *v, const struct nvdp__sight *sight,
                                  size_t first, size_t n, struct nvdp_dataset **out) {
    struct nvdp__text_attack *a = v->attack;
    struct nvdp__row_reader *r = &v->row_reader;
    const struct nvdp_tokenizer *tokenizer = nvdp_model_tokenizer(a->run.model);
    const size_t count = r->centroids.known.count;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *named = NULL;
    NVDP_TRY(nvdp__dataset_create(a->ctx, n, false, &named));
    for (size_t i = 0; i < n; i++)
        named->offset[i + 1] = nvdp__min(nvdp__row_count(sight->corpus->set, first + i), v->length);
    NVDP_TRY(nvdp__dataset_lay_out(a->ctx, named));
    for (size_t i = 0; i < n; i++) {
        const size_t rows = named->offset[i + 1] - named->offset[i];
        for (size_t from = 0; from < rows; from += NVDP__ROWS) {
            const size_t some = nvdp__min(rows - from, NVDP__ROWS);
            nvdp__centroids_score(a, sight->corpus, sight->observed, sight->seed, first + i, from,
                                  some, &r->centroids, r->score);
            for (size_t k = 0; k < some; k++)
                named->ids[named->offset[i] + from + k] =
                    r->centroids.known.id[nvdp__top(count, r->score + k * count)];
        }
        /* The vectors of [CLS] and [SEP] belong to no words.  A text that was cut ends without [SEP]. */
        named->ids[named->offset[i]] = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_CLS);
        if (rows == (size_t)nvdp__row_count(sight->corpus->set, first + i))
            named->ids[named->offset[i] + rows - 1] =
                nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP);
    }
    return nvdp__reread(a->ctx, tokenizer, named, NULL, v->tokenizer, v->length, out);
}

/* Adds the squared errors for one held-out text, without a term that does not depend on the share. */
static void add_errors(const struct nvdp__inverter *v, size_t text, const float *read,
                       const float *count, double *error) {
    const size_t *offset = v->known->offset + text;
    for (size_t s = 0; s < sizeof SHARES / sizeof *SHARES; s++) {
        double sum = 0;
        for (size_t k = 0; k < v->reader.pieces; k++)
            sum += pow(nvdp__row_reader_mix(SHARES[s], read[k], count[k]), 2);
        for (size_t k = offset[0] + 1; k + 1 < offset[1]; k++) {
            const int32_t id = v->known->ids[k];
            sum -= 2 * nvdp__row_reader_mix(SHARES[s], read[id], count[id]);
        }
        error[s] += sum;
    }
}

double nvdp__row_reader_mix(double share, float mean, float named) {
    return (1 - share) * (double)mean + share * (double)named;
}

void nvdp__row_reader_count(const struct nvdp_dataset *named, size_t i, size_t pieces,
                            float *count) {
    memset(count, 0, pieces * sizeof *count);
    for (size_t k = named->offset[i] + 1; k + 1 < named->offset[i + 1]; k++)
        count[named->ids[k]]++;
}

nvdp_status nvdp__row_reader_fit(struct nvdp__inverter *v, const struct nvdp__sight *sight) {
    struct nvdp__text_attack *a = v->attack;
    struct nvdp__row_reader *r = &v->row_reader;
    const size_t pieces = v->reader.pieces;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *named = NULL;
    nvdp__autofree float *x = NULL, *read = NULL, *count = NULL;
    double best = INFINITY, exponent = 1;
    r->share = 0;
    if (!r->opened || sight->observed == NVDP__OBSERVED_PRIOR) return NVDP_OK;
    const size_t held =
        nvdp__min(nvdp__min(v->held, v->known->count - r->centroids.known.texts), MAX_TRIED);
    const size_t first = v->known->count - held;
    NVDP_TRY(NVDP__ARRAYS(a->ctx, NULL, NVDP__ITEMS(x, v->inputs),
                          NVDP__ITEMS(read, nvdp__max(held, 1) * pieces),
                          NVDP__ITEMS(count, pieces)));
    for (size_t h = 0; h < held; h++) {
        nvdp__inverter_mean(v, sight, first + h, x);
        nvdp__piece_reader_tell(&v->reader, x, read + h * pieces);
    }
    for (size_t e = 0; e < NVDP__EXPONENTS && held > 0; e++) {
        double error[sizeof SHARES / sizeof *SHARES] = {0};
        nvdp__centroids_prepare(a, sight->observed, nvdp__exponents[e], &r->centroids);
        nvdp_dataset_free(named);
        named = NULL;
        NVDP_TRY(nvdp__row_reader_name(v, sight, first, held, &named));
        for (size_t h = 0; h < held; h++) {
            nvdp__row_reader_count(named, h, pieces, count);
            add_errors(v, first + h, read + h * pieces, count, error);
        }
        for (size_t s = 0; s < sizeof SHARES / sizeof *SHARES; s++) {
            if (!(error[s] < best)) continue;
            best = error[s];
            r->share = SHARES[s];
            exponent = nvdp__exponents[e];
        }
        NVDP_TRY(nvdp__check_cancelled(a->ctx, "attack: cancelled"));
    }
    nvdp__centroids_prepare(a, sight->observed, exponent, &r->centroids);
    return NVDP_OK;
}
