/* Writes texts with the attacker's model (invert.h) by iterative unmasking: mask-predict (Ghazvininejad et al. 2019).
 * First all tokens are masked and predicted at once.  In each later round the least certain tokens are masked and
 * predicted again, given the others; their number falls linearly to zero. */
#include "attack/invert.h"
#include "base/random.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 8, TOGETHER = 32, SPECIALS = 2 };

struct candidate {
    size_t text; /* number of the text in its corpus */
    size_t n;
    int32_t *id;       /* [tries, length] */
    double *log_p;     /* [n] log p of each token when it was predicted */
    double log_length; /* log p of n tokens */
    bool sampled;      /* the first round draws tokens */
};

struct writer {
    struct nvdp__inverter *inverter;
    const struct nvdp__sight *sight;
    size_t first, texts, beam;
    /* Number of fills per candidate, stored one after the other in `id`. */
    size_t tries;
    struct candidate *candidate; /* [texts, beam] */
    double *length;              /* [texts, length] log p of each number of tokens */
    bool *asked;                 /* [length] places of a candidate */
    float *read;                 /* [texts * beam, pieces] expected numbers */
    size_t round;                /* round of the search; 0 without a search */
    struct request *request;     /* [texts * beam, length] requested tokens */
    struct nvdp__memory memory;
};

/* --- lengths --- */

/* Normalizes the answers at [CLS] of texts [from, from + n) over the possible numbers of tokens. */
static void read_lengths(struct writer *w, size_t from, size_t n) {
    const struct nvdp__inverter *v = w->inverter;
    const size_t pieces = v->bert.vocab_size, most = v->length - SPECIALS;
    for (size_t i = 0; i < n; i++) {
        const float *weight = v->model.heads.logits + i * pieces;
        double *to = w->length + (from + i) * v->length, sum = 0;
        for (size_t k = 1; k <= most; k++)
            sum += fmax((double)weight[k], (double)FLT_MIN);
        for (size_t k = 1; k <= most; k++)
            to[k] = log(fmax((double)weight[k], (double)FLT_MIN) / sum);
    }
}

static nvdp_status guess_lengths(struct writer *w) {
    static const struct nvdp__pass pass = {.training = false};
    struct nvdp__inverter *v = w->inverter;
    struct nvdp__pretrain_losses losses;
    const size_t together = nvdp__min(v->model.heads.block, TOGETHER);
    for (size_t from = 0; from < w->texts; from += together) {
        const size_t n = nvdp__min(w->texts - from, together);
        nvdp__inverter_clear(v);
        for (size_t i = 0; i < n; i++)
            nvdp__inverter_ask(v, nvdp__inverter_put(v, w->sight, w->first + from + i, 0, NULL), 0);
        NVDP_TRY(nvdp__inverter_run(v, &pass, &losses));
        read_lengths(w, from, n);
    }
    return NVDP_OK;
}

/* Further lengths must have at least this share of the likeliest length's probability. */
static const double MIN_SHARE = .05;

/* Gives the candidates of text i the likeliest lengths, one after the other.  If no more lengths are likely, or the
 * length is known, further candidates begin from drawn tokens. */
static void choose_lengths(struct writer *w, size_t i) {
    const struct nvdp__inverter *v = w->inverter;
    const struct nvdp_dataset *data =
        w->sight->corpus == &v->attack->known ? v->known : v->attacked;
    const size_t text = w->first + i, most = v->length - SPECIALS;
    double *left = w->length + i * v->length, largest = -INFINITY;
    size_t lengths = 0;
    for (size_t b = 0; b < w->beam; b++) {
        struct candidate *c = &w->candidate[i * w->beam + b];
        size_t best = 1;
        c->text = text;
        if (!v->guess_length) {
            c->n = data->offset[text + 1] - data->offset[text] - SPECIALS;
            c->sampled = b > 0;
            continue;
        }
        for (size_t k = 2; k <= most; k++)
            if (left[k] > left[best]) best = k;
        if (b == 0) largest = left[best];
        if (left[best] >= largest + log(MIN_SHARE)) {
            c->n = best;
            c->log_length = left[best];
            left[best] = -INFINITY;
            lengths++;
        } else {
            const struct candidate *same = &w->candidate[i * w->beam + b % nvdp__max(lengths, 1)];
            c->n = same->n;
            c->log_length = same->log_length;
            c->sampled = true;
        }
    }
}

/* --- rounds --- */

/* Weights below this share of the sum of the other weights are not drawn. */
static const double MIN_WEIGHT = 1e-6;
/* Numbers of pieces below this share of their mean are noise. */
static const double FLOOR = .02;

/* Power of the model's probability, and power of the weights from which tokens are drawn.  Both were chosen on public
 * questions, whose paraphrases were not among the known texts. */
static const double POWER = .3, SHARPNESS = 2;

/* Replaces the model's probability of each piece by a power of its ratio to the piece's probability anywhere. */
static void lift(const struct nvdp__inverter *v, float *given) {
    for (size_t k = 0; k < v->reader.pieces; k++)
        given[k] = powf(given[k] / (float)fmax(v->reader.rate[k], v->reader.least), (float)POWER);
}

/* Returns the weight of a piece: the expected number in the text, times the power of lift(). */
static double weigh(const struct nvdp__piece_reader *reader, const float *read, size_t k,
                    float lifted) {
    return fmax((double)read[k], FLOOR * fmax(reader->rate[k], reader->least)) * (double)lifted;
}

/* Chooses the token of an answer: the likeliest piece, or with `stream` a drawn piece (Gumbel's trick). */
static int32_t name(const struct nvdp__inverter *v, const float *given, const float *read,
                    struct nvdp__stream *stream, double *log_p) {
    const size_t pieces = nvdp_tokenizer_size(v->tokenizer);
    double sum = 0, best = -INFINITY, likely = 0;
    size_t found = 0;
    for (size_t k = 0; k < pieces; k++) {
        if (!v->ordinary[k]) continue;
        const double weight = weigh(&v->reader, read, k, given[k]);
        sum += weight;
        if (stream != NULL && weight < sum * MIN_WEIGHT) continue; /* hardly ever drawn */
        const double draw = stream == NULL
                                ? weight
                                : SHARPNESS * log(fmax(weight, (double)FLT_MIN)) -
                                      log(-log(fmax(nvdp__stream_uniform(stream), DBL_MIN)));
        if (!(draw > best)) continue;
        best = draw;
        found = k;
        likely = weight;
    }
    *log_p = log(fmax(likely, (double)FLT_MIN) / fmax(sum, (double)FLT_MIN));
    return (int32_t)found;
}

/* Masks the least certain places of a candidate, as many as the round asks for. `asked` [n] is a scratch buffer. */
static void put_masks(const struct candidate *c, size_t round, int32_t mask, bool *asked) {
    const size_t many = round == 0 ? c->n : c->n * (ROUNDS - round) / ROUNDS;
    for (size_t k = 0; k < c->n; k++)
        asked[k] = round == 0;
    for (size_t a = 0; a < many && round > 0; a++) {
        size_t least = c->n;
        for (size_t k = 0; k < c->n; k++)
            if (!asked[k] && (least == c->n || c->log_p[k] < c->log_p[least])) least = k;
        asked[least] = true;
    }
    for (size_t k = 0; k < c->n; k++)
        if (asked[k]) c->id[k] = mask;
}

/* A requested token, and the answers. */
struct request {
    size_t candidate, place;
    int32_t id[NVDP__TRIES];
    double log_p; /* log p of the last answer */
};

/* Adds the numbers of a candidate's pieces that are not masked. */
static void count(const struct nvdp__inverter *v, const struct candidate *c, float times,
                  float *read) {
    const int32_t mask = nvdp_tokenizer_special(v->tokenizer, NVDP_TOKEN_MASK);
    for (size_t k = 0; k < c->n; k++)
        if (c->id[k] != mask) read[c->id[k]] += times;
}

/* Chooses n tokens of one candidate from the model's answers, one after the other, once per try. */
static void answer(struct writer *w, size_t round, size_t n, struct request *request,
                   float *given) {
    struct nvdp__inverter *v = w->inverter;
    const struct nvdp__noise noise = {.seed = w->sight->seed};
    const size_t pieces = v->bert.vocab_size, number = request->candidate;
    const struct candidate *c = &w->candidate[number];
    float *read = w->read + number * pieces;
    for (size_t k = 0; k < n; k++)
        lift(v, given + k * pieces);
    count(v, c, -1, read);
    for (size_t t = 0; t < w->tries; t++) {
        const size_t draw = (w->round * w->beam + number % w->beam) * w->tries + t;
        for (size_t k = 0; k < n; k++) {
            struct nvdp__stream stream =
                nvdp__stream_open(&noise, NVDP__PURPOSE_CANDIDATE,
                                  (uint32_t)(draw * v->length + request[k].place), c->text);
            request[k].id[t] = name(v, given + k * pieces, read,
                                    c->sampled && round == 0 ? &stream : NULL, &request[k].log_p);
            read[request[k].id[t]]--;
        }
        for (size_t k = 0; k < n; k++)
            read[request[k].id[t]]++;
    }
    count(v, c, 1, read);
}

/* Asks for n tokens at once, at most model.heads.block, of consecutive candidates. */
static nvdp_status ask(struct writer *w, size_t round, size_t n, struct request *request) {
    static const struct nvdp__pass pass = {.training = false};
    struct nvdp__inverter *v = w->inverter;
    struct nvdp__pretrain_losses losses;
    nvdp__inverter_clear(v);
    for (size_t k = 0, start = 0; k < n; k++) {
        const struct candidate *c = &w->candidate[request[k].candidate];
        if (k == 0 || request[k].candidate != request[k - 1].candidate)
            start = nvdp__inverter_put(v, w->sight, c->text, c->n, c->id);
        nvdp__inverter_ask(v, start + 1 + request[k].place, 0);
    }
    NVDP_TRY(nvdp__inverter_run(v, &pass, &losses));
    for (size_t k = 0, end; k < n; k = end) {
        for (end = k + 1; end < n && request[end].candidate == request[k].candidate;)
            end++;
        answer(w, round, end - k, request + k, v->model.heads.logits + k * v->bert.vocab_size);
    }
    return nvdp__check_cancelled(v->attack->ctx, "attack: cancelled");
}

/* Predicts the masked tokens of all candidates. */
static nvdp_status fill(struct writer *w, size_t round) {
    const struct nvdp__inverter *v = w->inverter;
    struct request *request = w->request;
    const int32_t mask = nvdp_tokenizer_special(v->tokenizer, NVDP_TOKEN_MASK);
    const size_t block = v->model.heads.block;
    size_t n = 0, from = 0, texts = 0;
    for (size_t b = 0; b < w->texts * w->beam; b++)
        for (size_t k = 0; k < w->candidate[b].n; k++)
            if (w->candidate[b].id[k] == mask)
                request[n++] = (struct request){.candidate = b, .place = k};
    /* Every batch has at most `block` answers and TOGETHER candidates. */
    for (size_t k = 0; k <= n; k++) {
        const bool opens = k == from || k == n || request[k].candidate != request[k - 1].candidate;
        if (k > from && (k == n || k - from == block || (opens && texts == TOGETHER))) {
            NVDP_TRY(ask(w, round, k - from, request + from));
            from = k;
            texts = 0;
        }
        texts += opens || k == from;
    }
    for (size_t k = 0; k < n; k++) {
        const struct candidate *c = &w->candidate[request[k].candidate];
        for (size_t t = 0; t < w->tries; t++)
            c->id[t * v->length + request[k].place] = request[k].id[t];
        c->log_p[request[k].place] = request[k].log_p;
    }
    return NVDP_OK;
}

/* --- texts --- */

/* Estimates the numbers of pieces from the samples of n texts, for each of `beam` candidates. */
static nvdp_status read_samples(struct writer *w) {
    struct nvdp__inverter *v = w->inverter;
    struct nvdp__piece_reader *r = &v->reader;
    nvdp__autofree float *x = NULL;
    NVDP_TRY(NVDP__NEW(v->attack->ctx, x, r->inputs));
    for (size_t i = 0; i < w->texts; i++) {
        float *read = w->read + i * w->beam * r->pieces;
        nvdp__inverter_mean(v, w->sight, w->first + i, x);
        nvdp__piece_reader_tell(r, x, read);
        for (size_t b = 1; b < w->beam; b++)
            memcpy(read + b * r->pieces, read, r->pieces * sizeof *read);
    }
    return NVDP_OK;
}

static void release(struct writer *w) {
    nvdp__memory_release(&w->memory);
}

/* Allocates candidates.  The caller owns their tokens. */
static nvdp_status reserve(struct writer *w) {
    const size_t all = w->texts * w->beam, length = w->inverter->length;
    double *log_p;
    NVDP_TRY(NVDP__ARRAYS(w->inverter->attack->ctx, &w->memory, NVDP__ITEMS(w->candidate, all),
                          NVDP__ITEMS(log_p, all * length), NVDP__ITEMS(w->request, all * length)));
    for (size_t b = 0; b < all; b++)
        w->candidate[b].log_p = log_p + b * length;
    return NVDP_OK;
}

nvdp_status nvdp__inverter_fill(struct nvdp__inverter *v, const struct nvdp__sight *sight,
                                size_t first, size_t n, size_t round, float *read,
                                struct nvdp__written *written) {
    nvdp__auto(release) struct writer w = {.inverter = v,
                                           .sight = sight,
                                           .first = first,
                                           .texts = n,
                                           .beam = v->attack->options->beam,
                                           .tries = NVDP__TRIES,
                                           .read = read,
                                           .round = round};
    NVDP_TRY(reserve(&w));
    for (size_t b = 0; b < n * w.beam; b++) {
        w.candidate[b].text = first + b / w.beam;
        w.candidate[b].n = written[b * w.tries].n;
        w.candidate[b].id = written[b * w.tries].id;
        w.candidate[b].sampled = true;
        for (size_t t = 1; t < w.tries; t++) {
            struct nvdp__written *copy = &written[b * w.tries + t];
            copy->n = w.candidate[b].n;
            copy->id = w.candidate[b].id + t * v->length;
            memcpy(copy->id, w.candidate[b].id, copy->n * sizeof *copy->id);
        }
    }
    return fill(&w, 0);
}

nvdp_status nvdp__inverter_write(struct nvdp__inverter *v, const struct nvdp__sight *sight,
                                 size_t first, size_t n, int32_t *ids,
                                 struct nvdp__written *written) {
    nvdp__auto(release) struct writer w = {.inverter = v,
                                           .sight = sight,
                                           .first = first,
                                           .texts = n,
                                           .beam = v->attack->options->beam,
                                           .tries = 1};
    const size_t all = n * w.beam;
    const int32_t mask = nvdp_tokenizer_special(v->tokenizer, NVDP_TOKEN_MASK);
    NVDP_TRY(reserve(&w));
    NVDP_TRY(NVDP__ARRAYS(v->attack->ctx, &w.memory, NVDP__ITEMS(w.length, n * v->length),
                          NVDP__ITEMS(w.asked, v->length),
                          NVDP__ITEMS(w.read, all * v->bert.vocab_size)));
    NVDP_TRY(read_samples(&w));
    if (v->guess_length) NVDP_TRY(guess_lengths(&w));
    for (size_t i = 0; i < n; i++)
        choose_lengths(&w, i);
    for (size_t b = 0; b < all; b++)
        w.candidate[b].id = ids + b * v->length;
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t b = 0; b < all; b++)
            put_masks(&w.candidate[b], round, mask, w.asked);
        NVDP_TRY(fill(&w, round));
    }
    for (size_t b = 0; b < all; b++) {
        const struct candidate *c = &w.candidate[b];
        double sum = c->log_length;
        for (size_t k = 0; k < c->n; k++)
            sum += c->log_p[k];
        written[b] = (struct nvdp__written){c->n, c->id, sum / (double)nvdp__max(c->n, 1)};
    }
    return NVDP_OK;
}
