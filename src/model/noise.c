/* Replaces a user's tokens, word vectors or text states by tokens, vectors or states with noise,
 * for training and prediction on privatized texts (noise.h). The file has, in this order,
 * creation, the keys of a text's noise, mechanisms that give tokens (with a cache), and
 * mechanisms that give vectors. */
#include "model/noise.h"

#include "base/cache.h"
#include "dchi/dchi.h"
#include "sanitize/sanitize.h"
#include "tensor/ops.h"
#include "text/tokenizer.h"
#include <math.h>
#include <nvdp/version.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 14, SPLIT_SHIFT = 40, VERSION = 1 };
static const char kind[] = "drawn";

static const struct nvdp__token_row *mechanism_row(const struct nvdp__token_noise *noise) {
    return nvdp__token_row(noise->options.mechanism);
}

static bool gives_words(const struct nvdp__token_noise *noise) {
    return noise->read != NULL || mechanism_row(noise)->gives_vectors;
}

static bool gives_tokens(const struct nvdp__token_noise *noise) {
    return noise->sanitizer != NULL && !gives_words(noise);
}

static struct nvdp__sanitizer_options
sanitizer_options(const struct nvdp__token_noise_options *options) {
    struct nvdp__sanitizer_options sanitizer = options->sanitizer;
    sanitizer.mechanism = (enum nvdp__token_mechanism)options->mechanism;
    return sanitizer;
}

nvdp_status nvdp__token_noise_check(struct nvdp_context *ctx,
                                    const struct nvdp__token_noise_options *options) {
    const struct nvdp__sanitizer_options sanitizer = sanitizer_options(options);
    NVDP_TRY(nvdp__sanitizer_check(ctx, &sanitizer));
    if (options->mechanism == NVDP__NOISE_NONE && sanitizer.eta > 0)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "option {eta} or {epsilon} sets the noise of text privatization and needs "
            "{token-noise}, found none; the budget for texts that are given away later is "
            "{certified-epsilon}, the budget for the training texts {target-epsilon}");
    if (options->clip > 0 && !nvdp__token_row(options->mechanism)->on_sequence)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{noise-clip}: expected {token-noise} sequence-laplace, the only one that "
            "clips states, found %s",
            nvdp__text_noise_names[options->mechanism]);
    return NVDP_OK;
}

nvdp_status nvdp__token_noise_create(struct nvdp_context *ctx,
                                     const struct nvdp__token_noise_options *options, uint64_t seed,
                                     const char *model, const struct nvdp_tokenizer *tokenizer,
                                     struct nvdp__token_noise **out) {
    const struct nvdp__sanitizer_options sanitizer = sanitizer_options(options);
    nvdp__autoptr(nvdp__token_noise_free) struct nvdp__token_noise *made = NULL;
    NVDP_TRY(nvdp__token_noise_check(ctx, options));
    /* otherwise a text could contain the name of a token that gets no noise */
    if (!tokenizer->names_are_text)
        return nvdp__fail(ctx, NVDP_ERR_STATE,
                          "token noise: expected a tokenizer that reads names of special tokens "
                          "as text, found another one");
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    *made = (struct nvdp__token_noise){
        .ctx = ctx, .options = *options, .noise = {.seed = seed}, .tokenizer = tokenizer};
    if (!nvdp__token_row(options->mechanism)->on_sequence)
        NVDP_TRY(nvdp__sanitizer_create(ctx, &sanitizer, model, &made->sanitizer));
    return NVDP__HAND_OVER(out, made);
}

nvdp_status nvdp__token_noise_given(struct nvdp_context *ctx, size_t dim, nvdp__words_reader read,
                                    void *reader, struct nvdp__token_noise **out) {
    NVDP_TRY(NVDP__NEW(ctx, *out, 1));
    **out = (struct nvdp__token_noise){.ctx = ctx, .dim = dim, .read = read, .reader = reader};
    return NVDP_OK;
}

struct nvdp__public_texts *nvdp__token_noise_public(const struct nvdp__token_noise *noise) {
    if (noise == NULL || noise->sanitizer == NULL) return NULL;
    struct nvdp__public_texts *public = &noise->sanitizer->public[NVDP__OF_SENSITIVE];
    return public->keys.count > 0 ? public : NULL;
}

void nvdp__token_noise_free(struct nvdp__token_noise *noise) {
    if (noise == NULL) return;
    nvdp__memory_release(&noise->memory);
    nvdp_sanitizer_free(noise->sanitizer);
    free(noise);
}

/* ---- keys of the noise; the user's tokens ---- */

static uint64_t text_number(enum nvdp_split split, uint64_t row) {
    return (uint64_t)split << SPLIT_SHIFT | row;
}

static bool is_marker(const struct nvdp_tokenizer *tokenizer, int32_t id) {
    static const enum nvdp_special specials[] = {NVDP_TOKEN_PAD, NVDP_TOKEN_CLS, NVDP_TOKEN_SEP,
                                                 NVDP_TOKEN_MASK};
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (id == nvdp_tokenizer_special(tokenizer, specials[i])) return true;
    return false;
}

/* Finds the user's tokens among ids [0, n). Writes their rows in the table and their positions
 * in ids, each [n], and returns their number. */
static size_t gather_tokens(const struct nvdp__token_noise *noise, size_t n, const int32_t *ids,
                            int32_t *token, int32_t *row) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_marker(noise->tokenizer, ids[i])) continue;
        token[found] = nvdp__sanitizer_token(noise->sanitizer, ids[i]);
        row[found++] = (int32_t)i;
    }
    return found;
}

/* ---- mechanisms that replace tokens by tokens ---- */

/* Replaces the tokens of texts [first, end). The texts are passed as all rows of the file in
 * this range; a row that is missing from the data set is passed as an empty text. */
static nvdp_status replace_tokens(struct nvdp__token_noise *noise, struct nvdp_dataset *dataset,
                                  size_t first, size_t end) {
    struct nvdp_context *ctx = noise->ctx;
    const int64_t *index = dataset->index;
    const size_t from = dataset->offset[first], count = dataset->offset[end] - from;
    const size_t rows = (size_t)(index[end - 1] - index[first]) + 1;
    int32_t *ids = dataset->ids + from;
    nvdp__autofree int32_t *token = NULL, *row = NULL;
    nvdp__autofree size_t *offset = NULL;
    size_t n = 0, at = 0;
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(offset, rows + 1), NVDP__ITEMS(token, count),
                          NVDP__ITEMS(row, count)));
    for (size_t i = first; i < end; i++) {
        const size_t start = dataset->offset[i] - from,
                     of_text = dataset->offset[i + 1] - from - start;
        while (at <= (size_t)(index[i] - index[first]))
            offset[at++] = n;
        const size_t found = gather_tokens(noise, of_text, ids + start, token + n, row + n);
        for (size_t k = n; k < n + found; k++)
            row[k] += (int32_t)start;
        n += found;
    }
    offset[rows] = n;
    NVDP_TRY(nvdp_dchi_sample(ctx, nvdp_sanitizer_dchi(noise->sanitizer), rows, offset, token,
                              &noise->noise.seed,
                              text_number(dataset->split, (uint64_t)index[first]), token));
    for (size_t i = 0; i < n; i++)
        ids[row[i]] = nvdp__sanitizer_piece(noise->sanitizer, token[i]);
    return NVDP_OK;
}

static nvdp_status draw_tokens(struct nvdp__token_noise *noise, struct nvdp_dataset *dataset) {
    struct nvdp__meter meter;
    size_t tokens = 0;
    nvdp__meter_begin(&meter, noise->ctx, "privatize", "text", 0, dataset->count);
    for (size_t first = 0, end; first < dataset->count; first = end) {
        for (end = first + 1; end < dataset->count; end++)
            if (dataset->offset[end + 1] - dataset->offset[first] > CHUNK) break;
        NVDP_TRY(nvdp__check_cancelled(noise->ctx, "interrupted"));
        NVDP_TRY(replace_tokens(noise, dataset, first, end));
        tokens += dataset->offset[end] - dataset->offset[first];
        nvdp__meter_update(&meter, end, (double)tokens, "tok", NAN);
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

/* Returns the path of the file that caches the draws of a data set. The name is a digest of all
 * values that the draws depend on. */
static char *cache_path(const struct nvdp__token_noise *noise, const struct nvdp_dataset *dataset,
                        const char *cache) {
    const struct nvdp_dchi *dchi = nvdp_sanitizer_dchi(noise->sanitizer);
    const struct nvdp_vectors *vectors = dchi->vectors;
    const size_t texts = dataset->count;
    struct nvdp__digest digest = nvdp__digest_begin();
    nvdp__digest_text(&digest, NVDP_VERSION);
    nvdp__digest_number(&digest, VERSION);
    nvdp__digest_text(&digest, nvdp__text_noise_names[noise->options.mechanism]);
    nvdp__digest_bytes(&digest, &dchi->eta, sizeof dchi->eta);
    nvdp__digest_bytes(&digest, &dchi->p, sizeof dchi->p);
    nvdp__digest_bytes(&digest, dchi->sensitive, dchi->sensitive != NULL ? vectors->count : 0);
    nvdp__digest_number(&digest, vectors->dim);
    /* the same bytes as in nvdp__digest_bytes() of all rows */
    const uint64_t bytes = vectors->count * vectors->dim * sizeof(double);
    crypto_generichash_update(&digest.state, (const unsigned char *)&bytes, sizeof bytes);
    for (size_t row = 0; row < vectors->count; row++) {
        double scratch[NVDP__ROW_WIDEST];
        crypto_generichash_update(&digest.state,
                                  (const unsigned char *)nvdp__row(vectors, row, scratch),
                                  vectors->dim * sizeof(double));
    }
    for (size_t row = 0; row < vectors->count; row++)
        nvdp__digest_number(&digest,
                            (uint64_t)nvdp__sanitizer_piece(noise->sanitizer, (int32_t)row));
    nvdp__digest_text(&digest, noise->tokenizer->digest);
    NVDP__DIGEST_NUMBERS(&digest, noise->noise.seed, (uint64_t)dataset->split);
    nvdp__digest_bytes(&digest, dataset->offset, (texts + 1) * sizeof *dataset->offset);
    nvdp__digest_bytes(&digest, dataset->index, texts * sizeof *dataset->index);
    nvdp__digest_bytes(&digest, dataset->ids, dataset->offset[texts] * sizeof *dataset->ids);
    return nvdp__cache_digest_path(noise->ctx, cache, kind, &digest);
}

/* Writes the draws to the cache. A failure is a notice, not an error. */
static void keep_draws(struct nvdp_context *ctx, const char *cache, const char *path,
                       const struct nvdp_dataset *dataset) {
    nvdp_status status = nvdp__cache_make(ctx, cache);
    if (status == NVDP_OK)
        status = nvdp__cache_write(ctx, path, kind, VERSION, (const char *)dataset->ids,
                                   dataset->offset[dataset->count] * sizeof *dataset->ids);
    if (status != NVDP_OK)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "cannot cache the privatized tokens for other runs: %s",
                  nvdp_context_error(ctx));
}

nvdp_status nvdp__token_noise_texts(struct nvdp__token_noise *noise, struct nvdp_dataset *dataset,
                                    const char *cache) {
    struct nvdp_context *ctx = noise->ctx;
    const size_t all = dataset->offset[dataset->count], bytes = all * sizeof *dataset->ids;
    nvdp__autofree int32_t *was = NULL;
    nvdp__autofree char *path = NULL, *kept = NULL;
    size_t changed = 0, tokens = 0, size = 0;
    if (!gives_tokens(noise)) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(ctx, was, all));
    memcpy(was, dataset->ids, bytes);
    if (cache != NULL) {
        path = cache_path(noise, dataset, cache);
        NVDP_TRY(NVDP__MADE(path));
        NVDP_TRY(nvdp__cache_read(ctx, path, kind, VERSION, &kept, &size));
    }
    if (kept != NULL && size == bytes) {
        memcpy(dataset->ids, kept, bytes);
    } else {
        NVDP_TRY(draw_tokens(noise, dataset));
        if (path != NULL) keep_draws(ctx, cache, path, dataset);
    }
    for (size_t i = 0; i < all; i++) {
        changed += was[i] != dataset->ids[i];
        tokens += !is_marker(noise->tokenizer, was[i]);
    }
    nvdp__log(ctx, NVDP_LOG_INFO,
              "%s: a share of %.4f of %zu tokens was replaced by another token%s",
              nvdp__text_noise_names[noise->options.mechanism],
              (double)changed / (double)(tokens > 0 ? tokens : 1), tokens,
              kept != NULL ? " (read from the cache, drawn by an earlier run)" : "");
    return NVDP_OK;
}

/* ---- vectors ---- */

nvdp_status nvdp__token_noise_plan(struct nvdp__token_noise *noise, const struct nvdp__device *dev,
                                   size_t max_tokens, size_t max_texts, size_t dim) {
    const bool sequence = mechanism_row(noise)->on_sequence;
    const size_t rows = sequence ? max_texts : max_tokens;
    nvdp__memory_release(&noise->memory);
    if (gives_tokens(noise)) return NVDP_OK;
    if (noise->read != NULL)
        return NVDP__ARRAYS(noise->ctx, &noise->memory,
                            NVDP__ITEMS(noise->words, rows * noise->dim));
    noise->dim = sequence ? dim : nvdp_vectors_dim(nvdp_sanitizer_vectors(noise->sanitizer));
    return NVDP__ARRAYS(noise->ctx, &noise->memory, NVDP__ITEMS(noise->place, rows),
                        NVDP__ITEMS(noise->token, rows), NVDP__ITEMS(noise->row, rows),
                        NVDP__ITEMS(noise->point, rows * noise->dim),
                        NVDP__ITEMS(noise->words, rows * noise->dim),
                        NVDP__ITEMS(noise->scratch, (size_t)dev->threads * noise->dim));
}

nvdp_status nvdp__token_noise_words(struct nvdp__token_noise *noise, const struct nvdp__device *dev,
                                    const float *table, const struct nvdp__batch *batch,
                                    const float **words) {
    size_t n = 0;
    *words = NULL;
    if (!gives_words(noise)) return NVDP_OK;
    nvdp__rows_gather(dev, batch->tokens, noise->dim, batch->ids, table, noise->words);
    *words = noise->words;
    if (noise->read != NULL) return noise->read(noise->reader, batch, noise->words);
    for (size_t b = 0; b < batch->texts; b++) {
        const size_t from = (size_t)batch->offset[b], of_text = (size_t)batch->offset[b + 1] - from;
        const uint64_t text = text_number(batch->split, batch->key[b]);
        const size_t found =
            gather_tokens(noise, of_text, batch->ids + from, noise->token + n, noise->row + n);
        for (size_t k = 0; k < found; k++) {
            noise->row[n + k] += (int32_t)from;
            noise->place[n + k] = (struct nvdp__token_place){text, (uint32_t)k};
        }
        n += found;
    }
    nvdp__dchi_perturb(nvdp_sanitizer_dchi(noise->sanitizer), &noise->noise, dev->threads, n,
                       noise->place, noise->token, noise->scratch, noise->point);
    nvdp__rows_place(dev, n, noise->dim, noise->row, noise->point, noise->words);
    return NVDP_OK;
}

void nvdp__token_noise_states(struct nvdp__token_noise *noise, const struct nvdp__device *dev,
                              const struct nvdp__batch *batch, float *hidden) {
    const double clip = noise->options.clip > 0 ? noise->options.clip : INFINITY;
    if (!mechanism_row(noise)->on_sequence) return;
    nvdp__rows_widen(dev, batch->texts, noise->dim, batch->offset, hidden, noise->point);
    for (size_t b = 0; b < batch->texts; b++)
        noise->place[b] = (struct nvdp__token_place){text_number(batch->split, batch->key[b]), 0};
    nvdp__sequence_perturb(&noise->noise, dev->threads, noise->options.sanitizer.eta, clip,
                           batch->texts, noise->dim, noise->place, noise->point, noise->scratch,
                           noise->point);
    nvdp__rows_place(dev, batch->texts, noise->dim, batch->offset, noise->point, hidden);
}
