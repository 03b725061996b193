/* The words of a text, read off the vectors of its tokens (invert.h).  The Gaussians of nearest.c name the token of each
 * vector.  The named text is one of the first guesses, and its pieces are mixed with those that the mean vector tells:
 *
 *     E n_k  =  (1 - s) E n_k(mean)  +  s n_k(named),
 *
 * with the share s and the exponent of the densities that fit held-out public texts best.  Samples of one vector, or
 * whose vectors are not those of the tokens, are not named: s = 0. */
#include "attack/invert.h"
#include "base/own.h"
#include "rdp/pairs.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_TRIED = 60 };
static const double SHARES[] = {0, .25, .5, .75, 1};

static bool one_per_token(const struct nvdp__texts *corpus) {
    const struct nvdp_dataset *data = corpus->data;
    for (size_t i = 0; i < corpus->set->texts; i++)
        if (nvdp__rows(corpus->set, i) != data->offset[i + 1] - data->offset[i]) return false;
    return true;
}

void nvdp__row_reader_release(struct nvdp__row_reader *r) {
    nvdp__centroids_release(&r->centroids);
    free(r->score);
}

nvdp_status nvdp__row_reader_create(struct nvdp__inverter *v) {
    struct nvdp__text_attack *a = v->attack;
    struct nvdp__row_reader *r = &v->row_reader;
    if (v->rows == 1 || a->run.model == NULL || !one_per_token(&a->known) ||
        !one_per_token(&a->attacked))
        return NVDP_OK;
    NVDP_TRY(nvdp__centroids_create(a, "on tokens", &r->centroids));
    r->opened = true;
    return NVDP__NEW(a->ctx, r->score, NVDP__ROWS * r->centroids.known.count);
}

/* Returns the likeliest token of each vector. */
static int32_t best_of(const struct nvdp__tokens *tokens, const double *score) {
    size_t best = 0;
    for (size_t k = 1; k < tokens->count; k++)
        if (score[k] > score[best]) best = k;
    return tokens->id[best];
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
        named->offset[i + 1] = nvdp__min(nvdp__rows(sight->corpus->set, first + i), v->length);
    NVDP_TRY(nvdp__dataset_lay_out(a->ctx, named));
    for (size_t i = 0; i < n; i++) {
        const size_t rows = named->offset[i + 1] - named->offset[i];
        for (size_t from = 0; from < rows; from += NVDP__ROWS) {
            const size_t some = nvdp__min(rows - from, NVDP__ROWS);
            nvdp__centroids_score(a, sight->corpus, sight->observed, sight->seed, first + i, from,
                                  some, &r->centroids, r->score);
            for (size_t k = 0; k < some; k++)
                named->ids[named->offset[i] + from + k] =
                    best_of(&r->centroids.known, r->score + k * count);
        }
        /* the vectors of [CLS] and [SEP] are no words'; a cut text ends without [SEP] */
        named->ids[named->offset[i]] = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_CLS);
        if (rows == (size_t)nvdp__rows(sight->corpus->set, first + i))
            named->ids[named->offset[i] + rows - 1] =
                nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP);
    }
    return nvdp__reread(a->ctx, tokenizer, named, NULL, v->tokenizer, v->length, out);
}

/* Adds the squared errors for one held-out text, but for a term that does not depend on the share. */
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
    NVDP_TRY(NVDP__NEW(a->ctx, x, v->inputs));
    NVDP_TRY(NVDP__NEW(a->ctx, read, nvdp__max(held, 1) * pieces));
    NVDP_TRY(NVDP__NEW(a->ctx, count, pieces));
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
