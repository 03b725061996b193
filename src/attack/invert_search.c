/* Ranks guesses by the vectors of the guesses, and improves guesses (invert.h).
 *
 * The public texts whose samples are nearest compete with the model's candidates.  In each round, every candidate of a
 * text is changed.  Up to three adjacent tokens are replaced by as many masks, or one more or fewer if the length is
 * not public, and the model fills the masks with drawn tokens, in several ways.  Tokens that are unlikely given the
 * sample are replaced more often.  The candidates stay whose vectors are nearest to the sample, and whose words agree
 * with the words that are estimated from the sample.  The expected numbers of pieces, which weight the model's
 * probabilities, are the mean of two estimates: the estimate from the sample (invert_reader.c), and the estimate from
 * the candidate's vector, n_k + U_k (x - x(candidate)). */
#include "attack/invert.h"
#include "base/own.h"
#include "base/random.h"
#include "encoder/encode.h"
#include "rdp/likelihood.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_LENGTH = 512, BATCH = 32, MOST_REPLACED = 3, SPECIALS = 2 };
static const double LEAST = .05; /* weight of a token that is likely given the sample */
/* The rank of a guess is its agreement minus CLOSENESS log(1 - cosine).  At a cosine of .75, both terms have the same
 * weight.  Among guesses whose vectors almost equal the sample's vector, the cosine decides. */
static const double CLOSENESS = .25, LEAST_DISTANCE = 1e-6;

/* --- the victim's vectors of guesses --- */

bool nvdp__judge_embeds(const struct nvdp__judge *t) {
    return t->encoder != NULL || t->inverter->attack->run.model != NULL;
}

static void release_guesses(struct nvdp__judge *t) {
    nvdp_dataset_free(t->guesses.data);
    nvdp_posteriors_free(t->guesses.set);
    t->guesses = (struct nvdp__texts){0};
}

nvdp_status nvdp__judge_create(struct nvdp__judge *t, size_t group) {
    const struct nvdp__inverter *v = t->inverter;
    const size_t all = group * v->attack->options->beam, trials = all * NVDP__TRIES;
    NVDP_TRY(NVDP__ATTACK_ARRAYS(v->attack, NVDP__ITEMS(t->strings.start, trials),
                                 NVDP__ITEMS(t->text, trials), NVDP__ITEMS(t->of, trials),
                                 NVDP__ITEMS(t->seen, group * v->rows * v->inputs)));
    if (!nvdp__judge_embeds(t)) return NVDP_OK;
    return NVDP__ATTACK_ARRAYS(
        v->attack, NVDP__ITEMS(t->mean, (group + all + trials) * v->inputs),
        NVDP__ITEMS(t->read, all * v->bert.vocab_size),
        NVDP__ITEMS(t->told, group * v->bert.vocab_size), NVDP__ITEMS(t->tokens, group),
        NVDP__ITEMS(t->ids, trials * v->length), NVDP__ITEMS(t->trial, trials));
}

void nvdp__judge_release(struct nvdp__judge *t) {
    nvdp_encoder_free(t->encoder);
    release_guesses(t);
    free(t->strings.text);
}

nvdp_status nvdp__vectors_create(struct nvdp_context *ctx, size_t n, size_t dim,
                                 struct nvdp_posteriors **out) {
    NVDP_TRY(nvdp_posteriors_create(ctx, n, n, dim, false, out));
    for (size_t i = 0; i <= n; i++)
        (*out)->offset[i] = i;
    for (size_t k = 0; k < n * dim; k++)
        (*out)->logvar[k] = -300;
    return NVDP_OK;
}

nvdp_status nvdp__vectors_encode(struct nvdp_context *ctx, struct nvdp_encoder *encoder,
                                 const struct nvdp_dataset *data, struct nvdp_posteriors **out) {
    struct nvdp_encoder_info info = NVDP_RESULT(struct nvdp_encoder_info);
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *made = NULL;
    nvdp__autofree float *vector = NULL;
    NVDP_TRY(nvdp_encoder_describe(encoder, &info));
    NVDP_TRY(NVDP__NEW(ctx, vector, data->count * info.vector_size));
    NVDP_TRY(nvdp_encoder_run(ctx, encoder, data, NULL, vector));
    NVDP_TRY(nvdp__vectors_create(ctx, data->count, info.vector_size, &made));
    for (size_t k = 0; k < data->count * info.vector_size; k++)
        made->mu[k] = (double)vector[k];
    return NVDP__HAND_OVER(out, made);
}

static bool same(const struct nvdp__written *a, const struct nvdp__written *b) {
    return a->n == b->n && memcmp(a->id, b->id, a->n * sizeof *a->id) == 0;
}

/* Sets t->guesses to the distinct candidates and their vectors.  Each text has `of_each` consecutive candidates. */
static nvdp_status embed(struct nvdp__judge *t, size_t n, size_t of_each,
                         const struct nvdp__written *written) {
    struct nvdp__text_attack *a = t->inverter->attack;
    struct nvdp_encoder_info info = NVDP_RESULT(struct nvdp_encoder_info);
    struct nvdp__guess_strings *all = &t->strings;
    if (t->encoder != NULL) NVDP_TRY(nvdp_encoder_describe(t->encoder, &info));
    const struct nvdp_tokenizer *tokenizer = t->encoder != NULL
                                                 ? nvdp_encoder_tokenizer(t->encoder)
                                                 : nvdp_model_tokenizer(a->run.model);
    const size_t length = t->encoder != NULL ? info.max_length : a->run.model->info.max_length;
    size_t count = 0;
    all->used = 0;
    for (size_t b = 0; b < n; b++) {
        size_t equal = b - b % of_each;
        while (equal < b && !same(&written[equal], &written[b]))
            equal++;
        t->of[b] = equal < b ? t->of[equal] : count;
        if (equal < b) continue;
        all->start[count++] = all->used;
        NVDP_TRY(nvdp__spell(a->ctx, t->inverter->tokenizer, written[b].n, written[b].id,
                             info.prompt, all));
    }
    for (size_t b = 0; b < count; b++)
        t->text[b] = all->text + all->start[b];
    release_guesses(t);
    NVDP_TRY(nvdp_dataset_from_texts(a->ctx, tokenizer, nvdp__min(length, MAX_LENGTH), count,
                                     t->text, NULL, &t->guesses.data));
    if (t->encoder != NULL)
        return nvdp__vectors_encode(a->ctx, t->encoder, t->guesses.data, &t->guesses.set);
    return nvdp_model_posteriors(a->ctx, a->run.model, t->guesses.data, BATCH, &t->guesses.set);
}

/* Returns the cosine of the concatenated vectors of a sample and of a guess; missing vectors are 0. */
static double cosine(struct nvdp__judge *t, size_t rows, const float *x, size_t guess) {
    struct nvdp__inverter *v = t->inverter;
    const struct nvdp__sight sight = {&t->guesses, NVDP__OBSERVED_STATES, 0, 0};
    const size_t dim = v->attack->known.set->dim, others = nvdp__inverter_rows(v, &sight, guess);
    double product = 0, length[2] = {0};
    nvdp__inverter_observe(v, &sight, guess, v->host);
    for (size_t r = 0; r < nvdp__max(rows, others); r++)
        for (size_t d = 0; d < dim; d++) {
            const double a = r < rows ? (double)x[r * v->inputs + d] : 0;
            const double b = r < others ? (double)v->host[r * v->inputs + d] : 0;
            product += a * b;
            length[0] += a * a;
            length[1] += b * b;
        }
    return length[0] > 0 && length[1] > 0 ? product / sqrt(length[0] * length[1]) : 0;
}

static void observe(struct nvdp__judge *t, const struct nvdp__sight *sight, size_t first,
                    size_t n) {
    const size_t one = t->inverter->rows * t->inverter->inputs;
    for (size_t i = 0; i < n; i++)
        nvdp__inverter_observe(t->inverter, sight, first + i, t->seen + i * one);
}

/* Sets the scores of candidates to their cosines, and writes the candidates' mean vectors.  Each of n texts has
 * `of_each` consecutive candidates. */
static nvdp_status rank(struct nvdp__judge *t, const struct nvdp__sight *sight, size_t first,
                        size_t n, size_t of_each, struct nvdp__written *written, float *mean) {
    struct nvdp__inverter *v = t->inverter;
    const struct nvdp__sight guesses = {&t->guesses, NVDP__OBSERVED_STATES, 0, 0};
    NVDP_TRY(embed(t, n, of_each, written));
    for (size_t b = 0; b < n; b++) {
        const size_t i = b / of_each;
        written[b].score = cosine(t, nvdp__inverter_rows(v, sight, first + i),
                                  t->seen + i * v->rows * v->inputs, t->of[b]);
        if (mean != NULL) nvdp__inverter_mean(v, &guesses, t->of[b], mean + b * v->inputs);
    }
    return NVDP_OK;
}

nvdp_status nvdp__judge_compare(struct nvdp__judge *t, const struct nvdp__texts *corpus,
                                size_t first, size_t n, struct nvdp__written *written) {
    const struct nvdp__sight states = {corpus, NVDP__OBSERVED_STATES, 0, 0};
    observe(t, &states, first, n);
    return rank(t, &states, first, n, 1, written, NULL);
}

/* --- search --- */

void nvdp__judge_change(const struct nvdp__inverter *v, const struct nvdp__written *from,
                        const float *read, struct nvdp__stream *stream, struct nvdp__written *to) {
    const int32_t mask = nvdp_tokenizer_special(v->tokenizer, NVDP_TOKEN_MASK);
    const size_t n = from->n, most = v->length - SPECIALS;
    size_t out = 1 + nvdp__stream_below(stream, MOST_REPLACED), in = out, at = 0;
    double sum = 0, drawn;
    if (v->guess_length) {
        out = nvdp__stream_below(stream, MOST_REPLACED + 1);
        in = out + nvdp__stream_below(stream, 3);
        in = in > 0 ? in - 1 : 1;
    }
    out = nvdp__min(out, n);
    in = v->guess_length ? nvdp__min(in, most - (n - out)) : out;
    if (v->guess_length && n - out + in == 0) in = 1;
    for (size_t k = 0; k < n; k++)
        sum += fmax(1 - (double)read[from->id[k]], LEAST);
    drawn = sum * nvdp__stream_uniform(stream);
    for (; at + 1 < n; at++)
        if ((drawn -= fmax(1 - (double)read[from->id[at]], LEAST)) < 0) break;
    at -= nvdp__min(at, out > 0 ? nvdp__stream_below(stream, out) : 0);
    at = nvdp__min(at, n - out);
    /* Possibly after the last token. */
    if (out == 0 && nvdp__stream_below(stream, n + 1) == n) at = n;
    to->n = n - out + in;
    memcpy(to->id, from->id, at * sizeof *to->id);
    for (size_t k = 0; k < in; k++)
        to->id[at + k] = mask;
    memcpy(to->id + at + in, from->id + at + out, (n - at - out) * sizeof *to->id);
}

/* Replaces the worst candidate of a text by a better candidate that the text does not have yet. */
static void keep(size_t beam, size_t inputs, struct nvdp__written *kept, float *mean,
                 const struct nvdp__written *trial, const float *of_trial) {
    size_t worst = 0;
    for (size_t b = 0; b < beam; b++) {
        if (same(&kept[b], trial)) return;
        if (kept[b].score < kept[worst].score) worst = b;
    }
    if (!(trial->score > kept[worst].score)) return;
    kept[worst].n = trial->n;
    kept[worst].score = trial->score;
    memcpy(kept[worst].id, trial->id, trial->n * sizeof *trial->id);
    memcpy(mean + worst * inputs, of_trial, inputs * sizeof *mean);
}

double nvdp__judge_agreement(const struct nvdp__written *guess, size_t pieces, const float *told,
                             double tokens) {
    double common = 0;
    for (size_t k = 0; k < guess->n; k++) {
        const int32_t id = guess->id[k];
        size_t before = 0; /* earlier occurrences of the piece; texts are short */
        for (size_t j = 0; j < k; j++)
            before += guess->id[j] == id;
        if ((size_t)id < pieces) common += fmin(fmax((double)told[id] - (double)before, 0), 1);
    }
    return 2 * common / fmax((double)guess->n + tokens, 1);
}

/* Replaces the cosines of candidates by ranks.  Each text has `of_each` consecutive candidates. */
static void add_agreement(const struct nvdp__judge *t, size_t n, size_t of_each,
                          struct nvdp__written *written) {
    const size_t pieces = t->inverter->bert.vocab_size;
    for (size_t b = 0; b < n; b++) {
        const double distance = fmax(1 - written[b].score, LEAST_DISTANCE);
        const double agreement = nvdp__judge_agreement(
            &written[b], pieces, t->told + b / of_each * pieces, t->tokens[b / of_each]);
        written[b].score = agreement - CLOSENESS * log(distance);
    }
}

static void copy(const struct nvdp_dataset *from, size_t i, size_t length,
                 struct nvdp__written *to) {
    to->n = nvdp__min(from->offset[i + 1] - from->offset[i], length) - SPECIALS;
    memcpy(to->id, from->ids + from->offset[i] + 1, to->n * sizeof *to->id);
}

/* Estimates the pieces of n texts from their samples, whose mean vectors it centers.  Makes the nearest public texts
 * trials. */
static nvdp_status offer(struct nvdp__judge *t, const struct nvdp__sight *sight, size_t first,
                         size_t n, size_t of_each, float *x) {
    struct nvdp__inverter *v = t->inverter;
    struct nvdp__piece_reader *r = &v->reader;
    const double share = v->row_reader.share;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *named = NULL;
    if (share > 0) NVDP_TRY(nvdp__row_reader_name(v, sight, first, n, &named));
    for (size_t i = 0; i < n; i++) {
        float *told = t->told + i * r->pieces, *count = t->read;
        nvdp__piece_reader_tell(r, x + i * v->inputs, told);
        if (named != NULL) nvdp__row_reader_count(named, i, r->pieces, count);
        t->tokens[i] = 0;
        for (size_t k = 0; k < r->pieces; k++) {
            if (named != NULL) told[k] = (float)nvdp__row_reader_mix(share, told[k], count[k]);
            t->tokens[i] += (double)told[k];
        }
        t->tokens[i] = fmax(t->tokens[i], 1);
        for (size_t b = 0; b < of_each; b++) {
            struct nvdp__written *to = &t->trial[i * of_each + b];
            to->id = t->ids + (i * of_each + b) * v->length;
            if (b == 0 && named != NULL)
                copy(named, i, v->length, to);
            else
                copy(v->known, r->near[b % r->texts].text, v->length, to);
        }
    }
    return NVDP_OK;
}

nvdp_status nvdp__judge_search(struct nvdp__judge *t, const struct nvdp__sight *sight, size_t first,
                               size_t n, struct nvdp__written *written) {
    struct nvdp__inverter *v = t->inverter;
    const size_t beam = v->attack->options->beam, all = n * beam, inputs = v->inputs,
                 pieces = v->bert.vocab_size, trials = all * NVDP__TRIES;
    const struct nvdp__noise noise = {.seed = sight->seed};
    float *x = t->mean, *mean = x + n * inputs, *of_trial = mean + all * inputs;
    const bool searches = v->attack->options->search > 0;
    observe(t, sight, first, n);
    for (size_t i = 0; i < n; i++)
        nvdp__inverter_mean(v, sight, first + i, x + i * inputs);
    NVDP_TRY(offer(t, sight, first, n, beam * NVDP__TRIES, x));
    NVDP_TRY(rank(t, sight, first, all, beam, written, mean));
    add_agreement(t, all, beam, written);
    for (size_t round = 0; searches && round <= v->attack->options->search; round++) {
        for (size_t b = 0; b < all && round > 0; b++) {
            struct nvdp__stream stream = nvdp__stream_open(
                &noise, NVDP__PURPOSE_CANDIDATE,
                (uint32_t)((round * beam + b % beam + 1) * NVDP__TRIES * v->length - 1),
                first + b / beam);
            float *read = t->read + b * pieces, *off = of_trial + b * inputs;
            for (size_t d = 0; d < inputs; d++)
                off[d] = x[b / beam * inputs + d] + (float)v->reader.mean[d] - mean[b * inputs + d];
            nvdp__piece_reader_read(&v->reader, 1, off, read);
            for (size_t k = 0; k < written[b].n; k++)
                read[written[b].id[k]]++;
            for (size_t k = 0; k < pieces; k++)
                read[k] = (read[k] + t->told[b / beam * pieces + k]) / 2;
            t->trial[b * NVDP__TRIES].id = t->ids + b * NVDP__TRIES * v->length;
            nvdp__judge_change(v, &written[b], read, &stream, &t->trial[b * NVDP__TRIES]);
        }
        if (round > 0) NVDP_TRY(nvdp__inverter_fill(v, sight, first, n, round, t->read, t->trial));
        NVDP_TRY(rank(t, sight, first, trials, beam * NVDP__TRIES, t->trial, of_trial));
        add_agreement(t, trials, beam * NVDP__TRIES, t->trial);
        /* Keeps the best of all candidates and trials.  The length must be right if it is public. */
        for (size_t k = 0; k < trials; k++) {
            const size_t i = k / (beam * NVDP__TRIES) * beam;
            if (v->guess_length || t->trial[k].n == written[i].n)
                keep(beam, inputs, written + i, mean + i * inputs, &t->trial[k],
                     of_trial + k * inputs);
        }
    }
    return NVDP_OK;
}
